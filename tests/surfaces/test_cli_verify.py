"""`remit verify` as a person or a script uses it: every option, every format, every exit code."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from support.in_process import Remit, command_runner
from support.verify_commands import TOTAL, git, make_project

from remit.checking import Options, check_text
from remit.evidence.sources import open_sources
from remit.reports.layout import schema_of
from remit.reports.shapes import CheckShape
from remit.surfaces.cli import printing
from remit.verifying import OPTIONS


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_project(tmp_path, monkeypatch)


@pytest.fixture
def remit(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    return command_runner(monkeypatch, capsys)


class TestText:
    def test_the_failing_claims_are_listed_with_the_nearest_truth_and_then_counted(self, remit: Remit) -> None:
        ran = remit("verify", "notes.md", "--repo", ".")
        assert (ran.code, ran.err) == (1, "")
        assert ran.out.splitlines() == [
            "notes.md:4  missing-file  src/app/price.py:9  there is no such file in this folder → src/app/prices.py",
            "notes.md:4  out-of-range  src/app/prices.py:80  the file has 5 lines",
            "4 claims: 1 verified, 1 exists, 2 wrong",
            "checked against . (--repo), the files on disk",
        ]

    def test_each_line_of_a_list_is_shown_with_its_own_text(self, remit: Remit) -> None:
        text = b"`src/app/prices.py:1,3,99` and `src/app/prices.py` lines `2`, `4` and `77`, `README.md` line `1`"
        ran = remit("verify", "-", "--all", given=text)
        shown = [line.split("  ")[1:3] for line in ran.lines if line.startswith("-:1 ")]
        assert [what for outcome, what in shown if outcome == "exists"] == [
            *("src/app/prices.py:1", "src/app/prices.py:3", "src/app/prices.py:2", "src/app/prices.py:4"),
            "README.md line 1",
        ]
        wrong = [what for outcome, what in shown if outcome == "out-of-range"]
        assert wrong == ["src/app/prices.py:99", "src/app/prices.py:77"]
        found = remit("verify", "-", "--format", "json", given=text).json["results"][0]["claims"]
        assert sorted(one["text"] for one in found) == sorted(what for _, what in shown)

    def test_a_line_in_its_own_column_is_shown_with_its_file(self, remit: Remit) -> None:
        table = b"| File | Line |\n|---|---|\n| `src/app/prices.py` | 2, 50 |\n"
        ran = remit("verify", "-", given=table)
        assert ran.lines[0] == "-:3  out-of-range  src/app/prices.py:50  the file has 5 lines"

    def test_of_a_range_that_ends_just_past_the_end_the_part_that_exists_is_suggested(self, remit: Remit) -> None:
        text = b"`src/app/prices.py:2-7`"
        assert remit("verify", "-", given=text).out.splitlines()[0].endswith(" → src/app/prices.py:2-5")
        (violation,) = remit("verify", "-", "--format", "json", given=text).json["results"][0]["violations"]
        assert violation["message"].endswith("; did you mean src/app/prices.py:2-5?")

    def test_a_wrong_quote_and_its_location_are_one_claim(self, remit: Remit) -> None:
        text = TOTAL.replace("```python", "```python\n# src/app/cart.py:31").replace("sum", "max").encode()
        ran = remit("verify", "-", given=text)
        assert ran.out.count("mismatch") == 1
        assert "\n1 claim: 1 wrong\n" in ran.out
        summary = remit("verify", "-", "--format", "json", given=text).json["summary"]
        assert (summary["claims"], summary["claims_by_outcome"]) == (1, {"mismatch": 1})
        assert "\n1 claim: 1 wrong\n" in remit("verify", "-", "--all", given=text).out

    def test_a_right_quote_and_its_location_are_one_claim(self, remit: Remit) -> None:
        text = TOTAL.replace("```python", "```python\n# src/app/cart.py:31").encode()
        assert remit("verify", "-", given=text).out.startswith("1 claim: 1 verified\n")
        short = text.replace(b"src/app/cart", b"cart")
        assert remit("verify", "-", given=short).out.startswith("1 claim: 1 verified\n")

    def test_two_quotes_of_one_location_are_two_claims(self, remit: Remit) -> None:
        text = (
            "- `src/app/prices.py:4`: Code match: `def discount(pence, code):`, Code match: `def discount(pence, cod):`"
        )
        ran = remit("verify", "-", given=text.encode())
        assert "\n2 claims: 1 verified, 1 wrong\n" in ran.out

    def test_a_text_whose_claims_hold_exits_0(self, remit: Remit) -> None:
        ran = remit("verify", "-", given=b"See `src/app/cart.py:4`.")
        assert ran.code == 0
        assert ran.out.startswith("1 claim: 1 exists\n")

    def test_a_text_without_claims_is_not_called_verified(self, remit: Remit) -> None:
        ran = remit("verify", "-", given=b"Everything was checked and is fine.")
        assert ran.code == 0
        assert ran.lines[0] == "no claims found"
        assert ran.lines[1].startswith("a claim is, for example, `src/app.py:12`, ")
        assert "verified" not in ran.out
        (result,) = remit("verify", "-", "--format", "json", given=b"Everything was checked and is fine.").json[
            "results"
        ]
        assert (result["verdict"], result["note"]) == ("accept", "no claims found: nothing was compared")

    @pytest.mark.parametrize("given", [b"", b" \n", b"Nothing is cited here."])
    def test_required_claims_that_are_missing_exit_1(self, remit: Remit, given: bytes) -> None:
        assert remit("verify", "-", given=given).code == 0
        ran = remit("verify", "-", "--require-claims", given=given)
        assert (ran.code, ran.out.splitlines()[0]) == (1, "no claims found")

    def test_one_of_many_texts_without_claims_is_named(self, remit: Remit, project: Path) -> None:
        (project / "good.md").write_text("`src/app/cart.py:4`")
        (project / "empty.md").write_text("Nothing.")
        ran = remit("verify", "good.md", "empty.md")
        assert ran.code == 0
        assert ran.out.splitlines()[:2] == ["empty.md  no claims found", "1 claim: 1 exists"]
        assert remit("verify", "good.md", "empty.md", "--require-claims").code == 1

    @pytest.mark.parametrize("form", ["json", "sarif", "github", "markdown"])
    def test_every_format_states_why_a_text_without_claims_exits_1(self, remit: Remit, form: str) -> None:
        ran = remit("verify", "-", "--require-claims", "--format", form, given=b"Nothing is cited here.")
        assert (ran.code, ran.err) == (1, "remit: no claims found in -\n")
        assert "no claims found" in ran.out or form == "json"

    def test_sarif_has_a_notification_for_each_text_without_required_claims(self, remit: Remit, project: Path) -> None:
        (project / "good.md").write_text("`src/app/cart.py:4`")
        (project / "empty.md").write_text("Nothing.")
        words = ("verify", "good.md", "empty.md", "--format", "sarif")
        (call,) = json.loads(remit(*words, "--require-claims").out)["runs"][0]["invocations"]
        (note,) = call["toolExecutionNotifications"]
        assert (call["executionSuccessful"], call["exitCode"], note["level"]) == (True, 1, "error")
        assert note["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "empty.md"
        assert "invocations" not in json.loads(remit(*words).out)["runs"][0]

    def test_required_claims_that_exist_exit_0(self, remit: Remit) -> None:
        assert remit("verify", "-", "--require-claims", given=b"`src/app/cart.py:4`").code == 0

    def test_every_problem_of_a_text_is_listed_in_a_pipe(self, remit: Remit) -> None:
        given = "\n".join(f"- `src/app/none{number}.py:1`" for number in range(70)).encode()
        out = remit("verify", "-", given=given).out
        assert out.count("missing-file  src") == 70
        assert "\n70 claims: 70 wrong\n" in out

    def test_an_unknown_transcript_is_not_checked_and_leads_to_no_accusation(self, remit: Remit, project: Path) -> None:
        (project / "notes.jsonl").write_text('{"kind": "something else"}\n')
        ran = remit("verify", "-", "--transcript", "notes.jsonl", given=b"See `src/app/cart.py:4`.")
        assert (ran.code, ran.out.splitlines()[0]) == (0, "1 claim: 1 exists")
        assert "not checked: " in ran.out

    def test_an_altered_quote_is_shown_with_the_line_of_the_text_and_of_the_code(self, remit: Remit) -> None:
        given = b"`src/app/prices.py:5`:\n```python\n    return pence * CODES[code] // 1000\n```\n"
        out = remit("verify", "-", given=given).out
        assert (
            "the quote has `return pence * CODES[code] // 1000`, but line 5 is `return pence * CODES[code] // 100`"
            in out
        )
        table = remit("verify", "-", "--format", "markdown", given=given).out
        assert "`return pence * CODES[code] // 1000` is `return pence * CODES[code] // 100`" in table

    def test_every_claim_can_be_shown(self, remit: Remit) -> None:
        out = remit("verify", "notes.md", "--all").out
        assert "notes.md:3  verified  src/app/cart.py:4  the name is there\n" in out
        assert "notes.md:3  exists  src/app/prices.py:4  the line exists\n" in out
        assert "notes.md:4  missing-file  src/app/price.py:9  " in out

    def test_no_title_section_or_form_is_required(self, remit: Remit) -> None:
        for text in ("src/app/cart.py:4", "## Testing Results\n\n`src/app/cart.py:4`", "> `src/app/cart.py:4`"):
            assert remit("verify", "-", given=text.encode()).out.startswith("1 claim: 1 exists\n"), text

    def test_a_title_in_the_middle_does_not_hide_what_is_above_it(self, remit: Remit) -> None:
        text = "Above: `src/app/no.py:1`.\n\n## QA Engineer Result\n\n### Status\nSUCCESS\n\n`src/app/cart.py:4`\n"
        ran = remit("verify", "-", given=text.encode())
        assert ran.lines[0].startswith("-:1  missing-file  src/app/no.py:1  ")
        assert "2 claims: 1 exists, 1 wrong" in ran.out

    @pytest.mark.parametrize("frame", ["```markdown\n{}\n```\n", "~~~md\n{}\n~~~"])
    def test_a_text_inside_a_markdown_fence_is_read_with_its_lines(self, remit: Remit, frame: str) -> None:
        ran = remit("verify", "-", given=frame.format("One\n\n`src/app/no.py:1`").encode())
        assert ran.out.startswith("-:4  missing-file")

    def test_an_indented_commit_message_is_read(self, remit: Remit) -> None:
        assert remit("verify", "-", given=b"    Fix the cart\n\n    See src/app/cart.py:4\n").out.startswith("1 claim:")

    def test_a_folder_is_every_markdown_and_text_file_in_it(self, remit: Remit, project: Path) -> None:
        (project / "notes").mkdir()
        (project / "notes/README.md").write_text("`src/app/cart.py:4`")
        (project / "notes/plan.txt").write_text("src/app/cart.py:5")
        (project / "notes/data.json").write_text('{"at": "src/app/none.py:5"}')
        (project / "notes/.hidden.md").write_text("`src/app/none.py:5`")
        assert remit("verify", "notes").out.startswith("2 claims: 2 exist\n")

    def test_nothing_of_a_text_reaches_the_terminal_raw(self, remit: Remit) -> None:
        given = "`src/app/\x1b[31mred.py:3` and src/\u202ex.py:1\n".encode()
        for form in ("text", "github", "markdown"):
            out = remit("verify", "-", "--all", "--format", form, given=given).out
            assert "\x1b" not in out, form
            assert "\u202e" not in out, form


class TestRepository:
    def test_a_path_is_relative_to_the_document_if_it_leads_up(self, remit: Remit, project: Path) -> None:
        (project / "docs").mkdir()
        (project / "docs/page.md").write_text("[a](../src/app/cart.py#L4) [b](../src/none.py#L1) [c](../../x.py#L1)")
        found = remit("verify", "docs/page.md", "--format", "json").json["results"][0]["claims"]
        assert [(one["text"], one["outcome"]) for one in found] == [
            ("../src/app/cart.py#L4", "exists"),
            ("../src/none.py#L1", "missing-file"),
            ("../../x.py#L1", "missing-file"),
        ]

    def test_repo_names_the_checkout(self, remit: Remit, tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        ran = remit("verify", "notes.md", "--repo", str(tmp_path / "other"))
        assert "4 claims: 4 not failing" in ran.out

    def test_rev_names_the_commit(self, remit: Remit, project: Path) -> None:
        (project / "src/app/cart.py").unlink()
        first = git(project, "rev-parse", "HEAD")
        assert remit("verify", "-", given=b"`src/app/cart.py:4`").code == 1
        ran = remit("verify", "-", "--rev", "HEAD", given=b"`src/app/cart.py:4`")
        assert ran.code == 0
        assert ran.words.endswith(f"commit {first[:12]} (--rev)")

    def test_an_unknown_rev_is_one_line_and_2(self, remit: Remit) -> None:
        ran = remit("verify", "notes.md", "--rev", "nosuch")
        assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)

    def test_a_transcript_that_contradicts_the_text_is_reported(self, remit: Remit, project: Path) -> None:
        (project / "session.jsonl").write_text(
            json.dumps({"type": "user", "cwd": str(project), "message": {"role": "user", "content": "look"}}) + "\n"
        )
        ran = remit("verify", "-", "--transcript", "session.jsonl", given=b"See `src/app/cart.py:4`.")
        assert ran.code == 1
        assert "no-tool-calls" in ran.out


class TestFormats:
    def test_json_has_the_shape_of_a_check_with_the_profile_claims(self, remit: Remit) -> None:
        ran = remit("verify", "notes.md", "--format", "json")
        jsonschema.validate(ran.json, schema_of(CheckShape))
        (result,) = ran.json["results"]
        assert (ran.code, ran.json["schema"], result["profile"]) == (1, "remit.check/1", "claims")
        assert result["revision"] is None
        outcomes = ["verified", "exists", "missing-file", "out-of-range"]
        assert [one["outcome"] for one in result["references"]] == outcomes
        assert [one["outcome"] for one in result["claims"]] == outcomes
        summary = ran.json["summary"]
        assert (summary["claims"], summary["claims_by_outcome"]) == (4, dict.fromkeys(outcomes, 1))
        assert "fixes" not in ran.json

    def test_json_of_a_text_without_claims_counts_none(self, remit: Remit) -> None:
        summary = remit("verify", "-", "--format", "json", given=b"Fine.").json["summary"]
        assert (summary["claims"], summary["claims_by_outcome"], summary["accept"]) == (0, {}, 1)

    def test_sarif_has_a_result_for_each_violation_at_its_line_of_the_document(self, remit: Remit) -> None:
        ran = remit("verify", "notes.md", "--format", "sarif")
        (run,) = ran.json["runs"]
        assert (ran.code, ran.json["version"]) == (1, "2.1.0")
        places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
        assert [place["artifactLocation"]["uri"] for place in places] == ["notes.md", "notes.md"]
        assert [place["region"]["startLine"] for place in places] == [4, 4]
        rules = run["tool"]["driver"]["rules"]
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            assert result["level"] == "error"

    def test_github_has_a_workflow_command_for_each_violation(self, remit: Remit) -> None:
        ran = remit("verify", "notes.md", "--format", "github")
        assert ran.code == 1
        assert [line.partition(",title")[0] for line in ran.out.splitlines()] == ["::error file=notes.md,line=4"] * 2

    def test_markdown_is_a_table_in_which_nothing_of_the_text_is_rendered(self, remit: Remit) -> None:
        given = b"`src/a|b.py:3` and [x](src/no.py:1) `@someone/team.py:1`"
        ran = remit("verify", "-", "--format", "markdown", given=given)
        rows = [line for line in ran.out.splitlines() if line.startswith("| `")]
        assert ran.out.startswith("**❌ ")
        for row in rows:
            assert len(row.replace("\\|", "").split("|")) == 6
            outside_code = "".join(row.replace("\\|", "").split("`")[::2])
            assert not {"@", "[", "<"} & set(outside_code)

    def test_markdown_of_a_text_that_holds(self, remit: Remit) -> None:
        out = remit("verify", "-", "--format", "markdown", given=b"`src/app/cart.py:4`").out
        assert out.splitlines()[0] == "**✅ 1 claim: 1 exists**"

    def test_an_unknown_format_is_one_line_and_2(self, remit: Remit) -> None:
        assert remit("verify", "notes.md", "--format", "html").code == 2


class TestCommit:
    """A text is checked against the files on disk, or the commit of --rev. The commit that it states is its date."""

    @pytest.fixture
    def first(self, project: Path) -> str:
        """The first commit; in the second one the cart has moved."""
        first = git(project, "rev-parse", "HEAD")
        git(project, "mv", "src/app/cart.py", "src/app/basket.py")
        git(project, "commit", "-q", "-m", "move")
        return first

    def test_what_exists_only_on_disk_holds_for_any_commit_that_the_text_states(self, remit: Remit, first: str) -> None:
        text = f"---\ngit_commit: {first}\n---\n`src/app/basket.py:4`\n"
        ran = remit("verify", "-", given=text.encode())
        assert (ran.code, ran.lines[0]) == (0, "1 claim: 1 exists")

    def test_a_commit_in_the_text_but_not_in_the_frontmatter_is_not_taken(self, remit: Remit, first: str) -> None:
        text = f"# Notes\n\ncommit: {first}\n\n`src/app/cart.py:4`\n"
        assert remit("verify", "-", given=text.encode()).code == 1

    def test_a_permalink_is_looked_up_at_its_own_commit(self, remit: Remit, first: str) -> None:
        link = f"[the cart](https://github.com/o/r/blob/{first}/src/app/cart.py#L4)"
        text = f"{link} is now `src/app/basket.py:4`."
        ran = remit("verify", "-", "--rev", "HEAD", given=text.encode())
        assert (ran.code, ran.lines[0]) == (0, "2 claims: 2 exist")

    def test_a_permalink_to_a_line_or_file_that_the_commit_does_not_have_fails(self, remit: Remit, first: str) -> None:
        for path, outcome in (("src/app/cart.py#L900", "out-of-range"), ("src/app/basket.py#L4", "missing-file")):
            ran = remit("verify", "-", given=f"https://github.com/o/r/blob/{first}/{path}".encode())
            assert ran.code == 1
            assert ran.lines[0].startswith(f"-:1  {outcome}  https://github.com/o/r/blob/")
            assert ran.lines[1] == "1 claim: 1 wrong"

    def test_the_label_of_a_permalink_is_not_a_second_reference(self, remit: Remit, first: str) -> None:
        text = f"[`cart.py:4`](https://github.com/o/r/blob/{first}/src/app/cart.py#L4)"
        assert remit("verify", "-", given=text.encode()).out.startswith("1 claim: 1 exists\n")

    def test_a_quote_below_a_permalink_is_compared_at_its_commit(self, remit: Remit, first: str) -> None:
        link = f"https://github.com/o/r/blob/{first}/src/app/cart.py#L4-L6"
        text = f"{link}\n```python\ndef add(cart, line):\n    cart.lines.append(line)\n```\n"
        ran = remit("verify", "-", "--rev", "HEAD", given=text.encode())
        assert (ran.code, ran.out.splitlines()[0]) == (0, "1 claim: 1 verified")

    def test_rev_has_priority(self, remit: Remit, first: str) -> None:
        text = f"---\ngit_commit: {first}\n---\n`src/app/cart.py:4`"
        ran = remit("verify", "-", "--rev", "HEAD", given=text.encode())
        assert ran.code == 1
        assert ran.words.endswith("(--rev)")

    def test_no_git_process_is_left_after_a_check(self, first: str, project: Path) -> None:
        sources = open_sources(project)
        link = f"https://github.com/o/r/blob/{first}/src/app/cart.py#L4"
        check_text(f"---\ncommit: {first}\n---\n{link}", "-", OPTIONS, sources)
        assert sources.commits is not None
        opened = [commit for commit in sources.commits._opened.values() if commit is not None]
        assert opened
        assert [commit._objects._processes for commit in opened] == [{}] * len(opened)

    def test_a_subagent_cannot_choose_the_commit_of_its_report(self, first: str, project: Path) -> None:
        text = f"---\ncommit: {first}\n---\n`src/app/cart.py:4`"
        for profile in ("claims", "v2"):
            (verdict,) = check_text(text, "-", Options(profile=profile), open_sources(project))
            assert [one.outcome for one in verdict.evidence.references] == ["missing-file"]

    def test_a_link_to_another_repository_without_a_line_is_not_a_claim(self, remit: Remit) -> None:
        link = "https://github.com/o/other/blob/main/src/x.py"
        assert remit("verify", "-", given=f"As in {link}.".encode()).out.startswith("no claims found\n")

    def test_json_states_the_commit_of_rev_and_when_a_claim_held(self, remit: Remit, project: Path, first: str) -> None:
        (result,) = remit("verify", "-", "--rev", first, "--format", "json", given=b"`src/app/cart.py:4`").json[
            "results"
        ]
        assert (result["revision"], [one["outcome"] for one in result["claims"]]) == (first, ["exists"])
        (project / "page.md").write_text("`src/app/cart.py:4`\n")
        (result,) = remit("verify", "page.md", "--format", "json").json["results"]
        (claim,) = result["claims"]
        assert (claim["outcome"], set(claim["then"])) == ("outdated", {"commit", "date"})
        assert claim["found"]["path"] == "src/app/basket.py"

    def test_without_history_the_report_states_once_that_it_is_missing(
        self, remit: Remit, project: Path, tmp_path: Path
    ) -> None:
        git(project, "commit", "-q", "--allow-empty", "-m", "two")
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{project}", str(tmp_path / "shallow"))
        for name in ("one.md", "two.md"):
            (tmp_path / "shallow" / name).write_text("`src/app/none.py:1`\n")
        words = ("verify", str(tmp_path / "shallow/one.md"), str(tmp_path / "shallow/two.md"))
        problem = "the history is missing: the clone is shallow"
        assert remit(*words).out.count(problem) == 1
        assert problem in remit(*words, "--format", "json").json["results"][0]["history_problem"]
        assert problem in remit(*words, "--format", "markdown").out

    def test_a_folder_without_git_has_no_commits(self, remit: Remit, tmp_path: Path) -> None:
        (tmp_path / "plain/src").mkdir(parents=True)
        (tmp_path / "plain/src/a.py").write_text("x\n")
        given = b"---\ncommit: 0123456789abcdef\n---\n`src/a.py:1`"
        assert remit("verify", "-", "--repo", str(tmp_path / "plain"), given=given).code == 0


class TestHostileInput:
    def test_binary_data_is_rejected_with_the_reason(self, remit: Remit, project: Path) -> None:
        (project / "image.md").write_bytes(b"\x89PNG\x00\x00" + bytes(range(256)) * 20)
        ran = remit("verify", "image.md")
        assert ran.code == 1
        first = "image.md:1  unreadable  the document cannot be read: it is binary data, not text"
        assert ran.out.splitlines()[0] == first
        assert "no claims" not in ran.out

    def test_a_huge_file_is_rejected_with_the_reason(self, remit: Remit, project: Path) -> None:
        (project / "huge.md").write_text("`src/app/cart.py:4` " * 100_000)
        ran = remit("verify", "huge.md")
        assert ran.code == 1
        assert "it is larger than 1,024 KiB" in " ".join(ran.out.split())

    def test_a_missing_file_is_one_line_and_2(self, remit: Remit) -> None:
        ran = remit("verify", "none.md")
        assert (ran.code, ran.out, ran.err) == (2, "", "remit: none.md: no such file or folder\n")

    def test_a_folder_without_texts_is_one_line_and_2(self, remit: Remit) -> None:
        ran = remit("verify", "src")
        assert (ran.code, len(ran.err.splitlines())) == (2, 1)

    def test_many_permalinks_to_unknown_commits_take_no_time(self, remit: Remit) -> None:
        links = " ".join(f"https://github.com/o/r/blob/{number:040x}/src/x.py#L1" for number in range(5_000))
        start = time.monotonic()
        assert remit("verify", "-", given=links.encode()).code == 0
        assert time.monotonic() - start < 20


def test_check_with_the_profile_claims_gives_the_same_outcomes(remit: Remit) -> None:
    ran = remit("check", "notes.md", "--profile", "claims", "--format", "json")
    assert ran.code == 1
    assert ran.json["results"] == remit("verify", "notes.md", "--format", "json").json["results"]


def test_check_requires_claims_on_request(remit: Remit) -> None:
    given = b"## Release Helper Result\n\n### Status\nSUCCESS\n\nNothing is cited.\n"
    words = ("check", "-", "--profile", "claims")
    ran = remit(*words, given=given)
    assert ran.code == 0
    assert ran.out.splitlines()[0].endswith("· no claims found")
    assert remit(*words, "--require-claims", given=given).code == 1


def test_the_verdict_line_of_a_result_with_claims_does_not_state_that_claims_are_missing(remit: Remit) -> None:
    ran = remit("check", "-", "--profile", "claims", given=b"`src/app/cart.py:4`")
    assert "no claims found" not in ran.out


def test_the_python_function_takes_a_text_or_a_path(project: Path) -> None:
    import remit as package

    assert package.verify("See `src/app/cart.py:4`", repo=project).accepted
    assert not package.verify(project / "notes.md", repo=project).accepted
    assert package.verify(b"", repo=project).accepted


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_work_that_takes_long_is_shown_and_the_line_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(printing, "_SLOW", 0.0)
    with printing.SlowNotice() as notice:
        notice.update("checking a.md")
        deadline = time.monotonic() + 20
        while "a.md" not in terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.001)
        notice.update("checking b.md")
    assert "checking a.md …" in terminal.getvalue()
    assert terminal.getvalue().endswith("checking b.md …\r\x1b[K")


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with printing.SlowNotice() as notice:
        notice.update("checking a.md")
    assert terminal.getvalue() == ""


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
def test_an_interrupt_while_waiting_for_input_is_one_line_and_130(project: Path) -> None:
    waiting = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    waiting += "import sys; sys.argv[0]='remit'; import remit.operations.documents as documents; "
    waiting += "found = documents.open_sources; "
    waiting += "documents.open_sources = lambda *a, **k: (found(*a, **k), print('ready', flush=True))[0]; "
    waiting += "from remit.surfaces.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", waiting, "verify", "-"],
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err.decode().split("\n") == ["", "remit: interrupted", ""]
