"""The failure policy: one decision, its limits and its sentences, for plans, the gate and the notices."""

from __future__ import annotations

import pytest

from remit.failure_policy import (
    FALLBACK_FILES,
    FALLBACK_LINES,
    MAX_CORRECTIONS,
    MAX_RETRIES,
    STEPS,
    can_correct,
    can_retry,
    explain_step,
    instructions,
    next_step,
    reduce_scope,
)
from remit.gate.rule_texts import RULES
from remit.gate.settings import LIMITS


@pytest.mark.parametrize(
    ("critical", "loads_context", "retries", "has_fallback", "step"),
    [
        (True, False, 0, False, "retry"),
        (True, True, 0, False, "retry"),
        (True, True, 1, False, "fall-back"),
        (True, True, 1, True, "gap"),
        (True, False, 1, False, "escalate"),
        (True, False, 4, False, "escalate"),
        (False, True, 0, False, "retry"),
        (False, True, 1, False, "fall-back"),
        (False, True, 0, True, "gap"),
        (False, False, 0, False, "gap"),
    ],
)
def test_next_step_depends_on_importance_purpose_and_earlier_steps(
    critical: bool, loads_context: bool, retries: int, has_fallback: bool, step: str
) -> None:
    values = {"critical": critical, "loads_context": loads_context}
    assert next_step(**values, retries=retries, has_fallback=has_fallback) == step


@pytest.mark.parametrize(
    ("critical", "loads_context", "step"),
    [(True, False, "escalate"), (True, True, "fall-back"), (False, True, "fall-back"), (False, False, "gap")],
)
def test_failure_that_is_not_recoverable_is_not_retried(critical: bool, loads_context: bool, step: str) -> None:
    assert next_step(critical=critical, loads_context=loads_context, retries=0, is_recoverable=False) == step


def test_one_correction_and_one_retry_are_allowed() -> None:
    assert (MAX_CORRECTIONS, MAX_RETRIES) == (1, 1)
    assert [can_correct(submissions) for submissions in (1, 2)] == [True, False]
    assert [can_retry(retries) for retries in (0, 1)] == [True, False]


def test_every_step_has_a_reason() -> None:
    reasons = [explain_step(step, "it ended with timeout", 1) for step in STEPS]
    assert all(reason.startswith("it ended with timeout; it ") for reason in reasons)
    assert reasons[-1] == "it ended with timeout; it is critical and has failed 2 times"


def test_instructions_begin_with_the_retry_until_it_is_used() -> None:
    first, second = instructions("scout", 0), instructions("scout", 1)
    assert first.startswith("Send scout the task again, once, with a reduced scope. ")
    assert first.endswith(second)
    assert second.startswith("if it was to load context, ")
    assert second.endswith("if it is critical, ask the user.")


def test_instructions_leave_out_the_retry_of_a_failure_that_is_not_recoverable() -> None:
    assert instructions("scout", 0, is_recoverable=False) == instructions("scout", 1)


def test_instructions_keep_braces_of_a_name() -> None:
    assert "Send {agent} the task" in instructions("{agent}", 0)


def test_gate_and_plans_share_the_limits_of_a_fallback_read() -> None:
    assert (LIMITS["fallback_files"], LIMITS["fallback_lines"]) == (FALLBACK_FILES, FALLBACK_LINES) == (3, 200)
    assert next(text for name, _, text in RULES if name == "delegation-first").endswith("3 files, 200 lines")


@pytest.mark.parametrize(
    ("scope", "reduced", "text"),
    [
        (("a.py", "b.py", "c.py"), ("a.py", "b.py"), "only a.py, b.py; not c.py"),
        (("src",), ("src",), "only the most important part in src: at most three files, and state what was left out"),
        ((), (), "only the most important part: at most three files, and state what was left out"),
    ],
)
def test_retry_has_half_of_the_scope(scope: tuple[str, ...], reduced: tuple[str, ...], text: str) -> None:
    assert reduce_scope(scope) == (reduced, text)
