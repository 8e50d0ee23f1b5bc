"""Deviations from the canonical form that are accepted: section 3 of the contract."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import verdicts
from verdicts import SAMPLE_TREE, verdict

from remit.checking import check_text
from remit.contract.kinds import KINDS
from remit.contract.parse import parse
from remit.contract.render import to_json
from remit.contract.result_data import Justification, Result
from remit.rules.examples import sample_text

REVIEW = sample_text("review")


def broken(text: str | bytes) -> list[str]:
    return verdicts.broken(text, SAMPLE_TREE)


def result(text: str | bytes) -> Result:
    (document,) = parse(text)
    return document.result


EXPECTED = result(REVIEW)


def sections(text: str) -> list[str]:
    """Split a sample into its title and its sections."""
    return re.split(r"^(?=### )", text, flags=re.MULTILINE)


class TestTolerance:
    """Section 3 of the contract, one case in each test."""

    def test_the_order_of_sections_is_free(self) -> None:
        title, *own = sections(REVIEW)
        backwards = title + "".join(part.rstrip() + "\n\n" for part in reversed(own))
        assert result(backwards) == EXPECTED
        assert broken(backwards) == []

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_title_may_have_level_one_or_two(self, kind: str) -> None:
        level_1 = sample_text(kind).replace("## ", "# ", 1)
        assert result(level_1) == result(sample_text(kind))
        assert broken(level_1) == []

    def test_a_heading_of_level_three_is_not_a_title(self) -> None:
        assert "title-missing" in broken(REVIEW.replace("## Security", "### Security", 1))

    @pytest.mark.parametrize(("section", "block"), [("#", "##"), ("##", "###"), ("##", "##"), ("####", "#####")])
    def test_sections_and_blocks_may_have_any_level(self, section: str, block: str) -> None:
        other = re.sub(r"^#### ", f"{block} ", REVIEW, flags=re.MULTILINE)
        other = re.sub(r"^### ", f"{section} ", other, flags=re.MULTILINE)
        assert result(other) == EXPECTED
        assert broken(other) == []

    def test_a_status_may_be_on_the_line_of_its_heading(self) -> None:
        inline = REVIEW.replace("### Status\nSUCCESS", "### Status: SUCCESS")
        assert result(inline) == EXPECTED
        assert broken(inline) == []

    def test_bold_text_may_replace_headings(self) -> None:
        bold = re.sub(r"^(#{3,4}) (.*)$", r"**\2**\n", REVIEW, flags=re.MULTILINE)
        assert result(bold) == EXPECTED
        assert broken(bold) == []

    def test_a_bold_name_and_its_value_may_share_a_line(self) -> None:
        bold = REVIEW.replace("### Status\nSUCCESS", "**Status:** SUCCESS")
        assert result(bold) == EXPECTED
        assert broken(bold) == []

    def test_a_repeated_bold_name_is_ambiguous_and_not_a_heading(self) -> None:
        twice = REVIEW.replace("### Status\nSUCCESS", "**Status:** SUCCESS\n\n**Status:** PARTIAL")
        assert "status-missing" in broken(twice)

    def test_a_bold_name_is_not_a_heading_if_that_heading_exists(self) -> None:
        both = REVIEW.replace("Both can be fixed", "**Status**: both can be fixed")
        assert result(both).status == "SUCCESS"

    def test_a_bold_title_inside_a_section_is_not_the_title(self) -> None:
        untitled = REVIEW.replace("## Security Auditor Result\n\n", "").replace(
            "Both can", "\n\n**Final Result**\n\nBoth can"
        )
        assert result(untitled).agent == ""
        assert result(untitled).status == "SUCCESS"

    @pytest.mark.parametrize(
        "heading", ["### Issues (if any)", "### Issues (optional):", "### 4. Issues", "### ISSUES"]
    )
    def test_words_in_brackets_after_a_heading_are_ignored(self, heading: str) -> None:
        text = REVIEW.replace(
            "### Next Steps", f"{heading}\n- Slow: twice (app/login.py:19) | Severity: minor\n\n### Next Steps"
        )
        assert [issue.title for issue in result(text).issues] == ["Slow"]
        assert broken(text) == []

    @pytest.mark.parametrize(
        "written",
        [
            "success",
            "Success",
            "SUCCESS ✅",
            "✅ SUCCESS",
            "[SUCCESS]",
            "SUCCESS (all files read)",
            "**SUCCESS**",
            "`success`",
        ],
    )
    def test_a_status_in_another_form_violates_status_form_only(self, written: str) -> None:
        text = REVIEW.replace("### Status\nSUCCESS", f"### Status\n{written}")
        assert result(text).status == "SUCCESS"
        assert broken(text) == ["status-form"]
        assert verdict(text).accepted

    @pytest.mark.parametrize("fence", ["```markdown", "```md", "```", "~~~markdown", "````markdown", "```text"])
    def test_a_result_may_be_wrapped_in_a_fence(self, fence: str) -> None:
        text = sample_text("exploration")
        wrapped = f"{fence}\n{text}{fence.rstrip('markdowntex')}\n"
        assert result(wrapped) == result(text)
        assert broken(wrapped) == []

    @pytest.mark.parametrize("kind", ["review", "implementation"])
    def test_fences_of_the_same_length_are_allowed_inside_the_wrap(self, kind: str) -> None:
        wrapped = f"Here is my result:\n\n```markdown\n{sample_text(kind)}```\n\nThat was it.\n"
        assert result(wrapped) == result(sample_text(kind))
        assert broken(wrapped) == []

    def test_a_bare_fence_after_the_last_heading_of_a_wrapped_result_is_an_example(self) -> None:
        text = sample_text("generic").replace("1. Tag the release", "1. Tag the release\n\n```\ngit tag v1\n```")
        wrapped = f"```markdown\n{text}```\n"
        assert result(wrapped) == result(text)

    def test_several_wrapped_results_are_each_found(self) -> None:
        wrapped = "".join(
            f"### {kind}\n\n```markdown\n{sample_text(kind)}```\n\n" for kind in ("review", "generic", "error")
        )
        found = parse(wrapped)
        assert [document.result for document in found] == [
            result(sample_text(k)) for k in ("review", "generic", "error")
        ]

    def test_text_before_and_after_a_result_is_ignored(self) -> None:
        text = f"I have finished the review.\n\n- one thing\n\n{REVIEW}\n# Afterwards\n\nAnything else?\n"
        assert result(text) == EXPECTED
        assert broken(text) == []

    def test_lines_are_file_lines_even_after_leading_text(self) -> None:
        faulty = REVIEW.replace("### Status\nSUCCESS", "### Status\nDONE")
        (alone,) = verdict(faulty).violations
        (after,) = verdict("One.\n\nTwo.\n\n" + faulty).violations
        assert after.line == alone.line + 4

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_frame_of_a_client_may_indent_every_line(self, kind: str) -> None:
        indented = "".join(f"  {line}".rstrip(" ") for line in sample_text(kind).splitlines(keepends=True))
        framed = f"<tools-used-before-summary>Read, Grep</tools-used-before-summary>\n{indented}"
        assert result(framed) == result(sample_text(kind))
        assert broken(framed) == []

    @pytest.mark.parametrize("width", [1, 3, 4, 8])
    def test_the_frame_may_have_any_width(self, width: int) -> None:
        framed = "".join(" " * width + line for line in REVIEW.splitlines(keepends=True))
        assert result(framed) == EXPECTED

    def test_a_single_indented_title_is_a_title(self) -> None:
        assert result("    " + REVIEW) == EXPECTED

    def test_each_of_several_results_in_a_file_is_checked(self) -> None:
        faulty = sample_text("generic").replace("### Status\nSUCCESS", "### Status\nDONE")
        verdicts = check_text(f"{REVIEW}\n{faulty}\n{sample_text('error')}")
        assert [found.agent for found in verdicts] == ["security-auditor", "release-helper", "backend-specialist"]
        assert [found.verdict for found in verdicts] == ["accept", "revise", "accept"]

    def test_a_json_document_is_read(self) -> None:
        assert result(to_json(EXPECTED)) == EXPECTED
        assert broken(to_json(EXPECTED)) == []

    def test_a_json_list_may_contain_several_results(self) -> None:
        texts = b"[" + to_json(EXPECTED) + b", " + to_json(result(sample_text("error"))) + b"]"
        assert [document.result for document in parse(texts)] == [EXPECTED, result(sample_text("error"))]

    def test_a_json_document_may_be_in_a_fence(self) -> None:
        assert result(b"\n```json\n" + to_json(EXPECTED) + b"\n```\n") == EXPECTED

    def test_underlined_headings_are_headings(self) -> None:
        text = REVIEW.replace("## Security Auditor Result", "Security Auditor Result\n=======================")
        text = text.replace("### Status\n", "Status\n------\n").replace("### Summary\n", "Summary\n---\n")
        assert result(text) == EXPECTED
        assert broken(text) == []

    def test_repeated_sections_are_joined(self) -> None:
        again = REVIEW + "\n### Next Steps\n1. And rest\n"
        assert result(again).next_steps == ("Fix SEC-001 before the next release", "And rest")

    def test_two_different_statuses_are_not_a_status(self) -> None:
        assert "status-unknown" in broken(REVIEW + "\n### Status\nFAILED\n")

    def test_repeated_findings_keep_all_their_blocks(self) -> None:
        again = REVIEW + "\n### Findings\n\nMore words.\n\n#### Dependencies\n- none\n"
        names = [block.heading for block in result(again).findings]
        assert names == ["", "Issues Detected", "Issue Details", "Compliance Check", "Dependencies"]

    @pytest.mark.parametrize("fence", ["```", "```markdown", "~~~"])
    def test_a_title_inside_a_fence_of_a_result_is_not_another_result(self, fence: str) -> None:
        quoted = f"{fence}\n## Other Agent Result\n\n### Status\nFAILED\n{fence[:3]}\n"
        text = sample_text("implementation").replace(
            "#### Implementation Notes", f"{quoted}\n#### Implementation Notes"
        )
        assert result(text).agent == "Backend Specialist"
        assert result(text).status == "SUCCESS"

    def test_a_title_inside_a_fence_in_a_list_is_not_another_result(self) -> None:
        text = (
            sample_text("generic")
            + "2. Example:\n   ```\n   ## Other Agent Result\n   ```\n3. ```\n   # Third Result\n   ```\n"
        )
        assert result(text).agent == "Release Helper"

    def test_a_fence_that_begins_in_a_list_item_does_not_hide_the_next_result(self) -> None:
        text = sample_text("generic") + "2. ```\n   git tag\n   ```\n\n" + REVIEW
        assert [document.result.agent for document in parse(text)] == ["Release Helper", "Security Auditor"]

    def test_an_unknown_section_is_kept_and_not_checked(self) -> None:
        text = REVIEW + "\n### Acknowledgements\nThanks.\n"
        assert [extra.heading for extra in result(text).extra] == ["Acknowledgements"]
        assert broken(text) == []

    @pytest.mark.parametrize(
        "edit",
        [
            pytest.param(("\n### ", "\n---\n\n### "), id="rules between sections"),
            pytest.param(("- [x]", "- ✅"), id="boxes with signs"),
            pytest.param(("90 - every", "90% - every"), id="a score in per cent"),
            pytest.param(("90 - every", "90/100 - every"), id="a score of a hundred"),
            pytest.param(("90 - every", "**90** - every"), id="a score in bold"),
            pytest.param(("### Summary", "### 2. Summary"), id="a numbered heading"),
            pytest.param(("### Key References", "### Key References:"), id="a colon after a heading"),
            pytest.param(("Security Auditor Result", "security-auditor Result"), id="an agent as a slug"),
        ],
    )
    def test_small_deviations_are_accepted(self, edit: tuple[str, str]) -> None:
        assert REVIEW.replace(*edit) != REVIEW
        assert broken(REVIEW.replace(*edit)) == []

    @pytest.mark.parametrize("status", ["DONE", "PARTIAL SUCCESS", "SUCCESSFUL", "SUCCESS | PARTIAL", "not SUCCESS"])
    def test_other_words_are_not_a_status(self, status: str) -> None:
        assert broken(REVIEW.replace("### Status\nSUCCESS", f"### Status\n{status}")) == ["status-unknown"]

    def test_a_heading_of_the_same_level_ends_a_result(self) -> None:
        (document,) = parse(f"{REVIEW}\n## What else I did\n\n### Status\nFAILED\n")
        assert document.result.status == "SUCCESS"

    def test_bold_inside_findings_is_not_a_section(self) -> None:
        text = REVIEW.replace("**Fix**: use the secrets module", "**Fix**: use the secrets module\n**Confidence**: 12")
        assert broken(text) == []
        without = (
            sample_text("review")
            .split("### Confidence\n")[0]
            .replace("**Risk**: a stranger", "**Confidence**: 95\n**Risk**: a stranger")
        )
        assert "confidence-missing" in broken(without)


LANGUAGES = Path(__file__).parents[1] / "fixtures" / "languages"


class TestLanguages:
    """Headings, columns, labels and boxes in Japanese and Chinese; enum words stay English."""

    @pytest.mark.parametrize("path", sorted(LANGUAGES.glob("*.md")), ids=lambda path: path.stem)
    def test_a_whole_document_in_another_language_is_accepted(self, path: Path) -> None:
        found = verdict(path.read_text(encoding="utf-8"), SAMPLE_TREE)
        assert [violation.rule for violation in found.violations] == []
        assert found.kind == path.stem.split("_")[1]

    @pytest.mark.parametrize("path", sorted(LANGUAGES.glob("*.md")), ids=lambda path: path.stem)
    def test_no_part_of_a_translated_document_is_unknown(self, path: Path) -> None:
        assert result(path.read_text(encoding="utf-8")).extra == ()

    def test_labels_in_another_language_are_read(self) -> None:
        read = result((LANGUAGES / "japanese_review.md").read_text(encoding="utf-8"))
        assert [(issue.title, issue.severity) for issue in read.issues] == [("記録がない", "minor")]
        assert read.justification == Justification(
            score=90.0,
            evidence_count=2.0,
            method="ファイルを読んだ",
            blind_spots="設定から読み込まれるコード",
        )
        read = result((LANGUAGES / "japanese_error.md").read_text(encoding="utf-8"))
        assert [(blocker.text, blocker.resolution) for blocker in read.blockers] == [
            ("テストが動かない", "道具を入れる")
        ]
