"""The form that an agent fills in, and the detection of unfilled parts."""

from __future__ import annotations

import re

import pytest

from remit.contract.headings import block_key
from remit.contract.kinds import KINDS
from remit.contract.lines import Line
from remit.contract.parse import parse
from remit.contract.template import filled_lines, find_placeholders, template
from remit.rules.examples import sample_text


@pytest.mark.parametrize("kind", KINDS)
def test_a_form_reads_as_a_result_of_its_kind(kind: str) -> None:
    (document,) = parse(template(KINDS[kind]))
    assert document.result.agent == "[Agent Name]"
    assert document.result.extra == ()
    names = [block_key(block.heading) for block in document.result.findings if block.heading]
    assert names == [block.key for block in KINDS[kind].blocks if block.key != "tradeoffs"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_line_with_a_placeholder_is_found(kind: str) -> None:
    text = template(KINDS[kind])
    (document,) = parse(text)
    noticed = {line for words, line in filled_lines(document) if list(find_placeholders(words))}
    expected = {number for number, words in enumerate(text.split("\n"), 1) if re.search(r"\[[^\[\]]{2,}\]", words)}
    assert noticed == expected


@pytest.mark.parametrize(
    "words",
    [
        "[Agent Name]",
        "[agent name]",
        "[SUCCESS | PARTIAL | FAILED]",
        "- [Issue 2]: [Description] | Severity: [critical/important/minor]",
        "[0-100] - [Brief justification]",
        "1. [Recommended action 3]",
        "[...]",
        "[…]",
        "[TODO: say more]",
        "[TBD]",
        "[your answer]",
        "[insert the path]",
        "- [x] **File References Valid**: [what you did]",
        "`[path/to/file:line]`",
        "words [X] words",
    ],
)
def test_placeholders_of_this_and_other_templates_are_recognised(words: str) -> None:
    assert list(find_placeholders(words))


@pytest.mark.parametrize(
    "words",
    [
        "- [x] done",
        "- [ ] open",
        "[x] done",
        "see [1] and [2]",
        "[Name](https://example.com)",
        "[Name][ref]",
        "![Name](a.png)",
        "`app/[name]/page.tsx`",
        "app/[slug]/page.tsx",
        "items[name]",
        "`[name]`",
        "[note: this was read]",
        "[]",
        "[ ]",
        "\\[Name]",
        "Name",
    ],
)
def test_other_brackets_are_not_placeholders(words: str) -> None:
    assert list(find_placeholders(words)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_samples_contain_no_placeholders(kind: str) -> None:
    (document,) = parse(sample_text(kind))
    assert [words for words, _ in filled_lines(document) if list(find_placeholders(words))] == []


def test_in_fences_only_placeholders_of_the_form_are_found() -> None:
    body = "```\nlist[name]\n[name]\n[the quoted lines, copied exactly]\n```"
    (document,) = parse(f"## A Result\n\n### Findings\n{body}\n")
    found = [line for line in filled_lines(document) if list(find_placeholders(line.text))]
    assert found == [Line("[the quoted lines, copied exactly]", 7)]


@pytest.mark.parametrize("other", ["", " See [docs](docs/setup.md)."])
def test_a_box_inside_a_sentence_is_a_bracket(other: str) -> None:
    text = sample_text("generic").replace("### Next Steps\n", f"### Next Steps\nAll done [N] here.{other}\n\n", 1)
    (document,) = parse(text.replace("[N]", "[X]"))
    lines = [line.text for line in filled_lines(document)]
    assert any("[X]" in line for line in lines)
