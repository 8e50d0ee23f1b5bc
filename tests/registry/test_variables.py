"""`{{name}}` in a body becomes a value, once, and nothing is evaluated."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit import resolve
from remit.errors import UsageError
from remit.registry.definition import MAX_FILLED, fill_variables
from remit.testing import registry


def told(declared: object, body: str, /, **values: Any) -> Any:
    team = registry({"name": "a", "input_vars": declared, "body": body})
    return resolve({"subagent_def": "a", "input_vars": values}, registry=team)


def test_a_declared_variable_is_filled_in_everywhere() -> None:
    made = told(["topic", "depth"], "On {{topic}}, {{ topic }} to {{depth}}.", topic="tea", depth="3")
    assert (made.system, made.warnings) == ("On tea, tea to 3.", ())


def test_a_variable_that_the_job_gives_need_not_be_declared() -> None:
    assert told([], "On {{topic}}.", topic="tea").system == "On tea."


def test_variables_may_be_declared_as_text_a_list_or_a_table_with_defaults() -> None:
    assert told("a, b", "{{a}}{{b}}", a="1", b="2").system == "12"
    made = told({"a": "one", "b": None}, "{{a}}-{{b}}", b="2")
    assert (made.system, made.warnings) == ("one-2", ())
    assert told({"a": "one"}, "{{a}}", a="two").system == "two"


def test_a_value_that_looks_like_a_variable_is_not_filled_again() -> None:
    made = told(["a", "b"], "{{a}} {{b}}", a="{{b}}", b="{{a}} \\1 \\g<0>")
    assert made.system == "{{b}} {{a}} \\1 \\g<0>"


def test_braces_that_are_not_a_variable_stay_as_they_are() -> None:
    body = "{{ user.name }} {{#if x}} {topic} {{{topic}}} ${{ secrets.X }} {{a b}} {{}}"
    made = told(["topic"], body, topic="T")
    assert made.system == body.replace("{{topic}}", "T")
    assert made.warnings == ()


def test_a_missing_variable_is_named_and_stays_as_it_is_written() -> None:
    made = told(["topic", "depth"], "On {{topic}} to {{depth}}.", topic="tea")
    assert made.system == "On tea to {{depth}}."
    assert made.warnings == ("the variable 'depth' has no value; it is not replaced",)


def test_an_unused_declared_variable_needs_no_value() -> None:
    assert told(["topic"], "Nothing.").warnings == ()


def test_an_unused_value_is_reported_with_the_nearest_variable() -> None:
    made = told(["topic"], "On {{topic}}.", topic="tea", topik="x")
    assert made.warnings == ("the variable 'topik' has a value, but does not occur in the text, did you mean 'topic'?",)


def test_null_means_that_the_default_is_used() -> None:
    assert told({"topic": "tea"}, "On {{topic}}.", topic=None).system == "On tea."
    assert "'topic' has no value" in told(["topic"], "On {{topic}}.", topic=None).warnings[0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (1.5, "1.5"),
        (True, "true"),
        (["ü", 1], '["ü", 1]'),
        ({"a": {"b": None}}, '{"a": {"b": null}}'),
        ("", ""),
        ({(1, 2): 3}, "{(1, 2): 3}"),
    ],
)
def test_a_value_that_is_not_text_is_written_as_json(value: object, text: str) -> None:
    assert told(["v"], "<{{v}}>", v=value).system == f"<{text}>"


def test_variables_are_not_filled_into_the_jobs_own_system() -> None:
    team = registry({"name": "a", "input_vars": ["v"], "body": "{{v}}"})
    made = resolve({"subagent_def": "a", "system": "own {{v}}", "input_vars": {"v": 1}}, registry=team)
    assert made.system == "own {{v}}"
    assert "'v' has a value, but does not occur" in made.warnings[0]


def test_a_large_value_is_fine_and_values_that_are_too_large_together_are_refused() -> None:
    assert len(told(["v"], "{{v}}", v="x" * 1_000_000).system) == 1_000_000
    with pytest.raises(UsageError, match="input_vars are too long"):
        told(["v"], "{{v}}" * 100, v="x" * (MAX_FILLED // 50))
    assert told([], "Nothing.", v="x" * (MAX_FILLED * 2)).system == "Nothing.", "what is not used costs nothing"


@given(body=st.text(alphabet="{}ab .\n"), values=st.dictionaries(st.sampled_from(["a", "b", "ab"]), st.text("{}ab")))
def test_filling_replaces_exactly_the_variables_that_have_a_value(body: str, values: dict[str, str]) -> None:
    filled = fill_variables(body, {}, values)
    if not any(f"{{{{{name}}}}}" in body.replace(" ", "").replace("\n", "") for name in values):
        assert filled.text == body
    assert set(filled.unused) <= set(values)
    assert filled.missing == ()
