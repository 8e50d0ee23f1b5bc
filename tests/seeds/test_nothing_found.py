"""N3: "nothing was found" is a valid answer of every kind and in every form, checked with `remit check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from remit.contract.kinds import KINDS, Kind
from remit.rules.examples import TREE
from remit.surfaces.cli.group import remit

FORMS = [kind for kind in KINDS.values() if kind.name != "error"]
NOTHING = "Nothing was found. `app/` and `tests/` were searched for a rate limit."
SCORES = """### Confidence
90 - every file was searched
verified_confidence: 90
inferred_confidence: 90

### Confidence Justification
**Score**: 90
**Evidence Count**: 0
**Verification Method**: searched each folder
**Potential Blind Spots**: code that is loaded by configuration

### Verification Completed
- [x] **File References Valid**: none is cited
- [x] **Code Snippets Accurate**: none is quoted
- [x] **No Hallucinated Paths**: the folders were listed
- [x] **Evidence Documented**: the searches are named

### Next Steps
1. Ask for another name
"""
REFERENCES = "| Item | Location | Relevance |\n| --- | --- | --- |\n"


def blocks(kind: Kind, rows: str) -> str:
    """Return the required blocks of a kind; `rows`: `empty`, `none` (a row "none") or `None.` (a sentence)."""
    parts = []
    for spec in kind.blocks:
        columns = [column.name for column in spec.columns]
        table = f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}\n" if columns and rows != "None." else ""
        row = f"| none |{' - |' * (len(columns) - 1)}\n" if table and rows == "none" else ""
        parts.append(f"#### {spec.name}\n{table}{row}{'' if table else 'None.'}\n")
    return "\n".join(parts) or "None.\n"


def document(kind: Kind, form: str, summary: str = NOTHING) -> str:
    agent = kind.agents[0] if kind.agents else "anybody"
    findings, references = {
        "empty tables": (blocks(kind, "empty"), REFERENCES),
        "a missing section": ("", ""),
        "None.": (blocks(kind, "None."), "None.\n"),
        "a row none": (blocks(kind, "none"), f"{REFERENCES}| none | n/a | nothing was found |\n"),
        "the searched folder": (blocks(kind, "empty"), f"{REFERENCES}| searched | `app/` | it has no rate limit |\n"),
    }[form]
    parts = [f"## {agent} Result\n", "### Status\nSUCCESS\n", f"### Summary\n{summary}\n"]
    parts += [f"### Findings\n\n{findings}"] if findings else []
    parts += [f"### Key References\n{references}"] if references or form == "empty tables" else []
    return "\n".join([*parts, SCORES])


def check(text: str, tmp_path: Path, *options: str) -> dict[str, Any]:
    file = tmp_path / "answer.md"
    file.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(remit, ["check", str(file), "--repo", str(TREE), "--format", "json", *options])
    assert done.exit_code in (0, 1), done.output
    shape: dict[str, Any] = json.loads(done.output)["results"][0]
    return shape


@pytest.mark.parametrize("form", ["empty tables", "a missing section", "None.", "a row none", "the searched folder"])
@pytest.mark.parametrize("kind", FORMS, ids=lambda kind: kind.name)
def test_n3_nothing_was_found_is_accepted(kind: Kind, form: str, tmp_path: Path) -> None:
    for profile in ("v2", "v1"):
        result = check(document(kind, form), tmp_path, "--profile", profile)
        assert [one["rule"] for one in result["violations"] if one["level"] != "L3"] == [], (
            profile,
            document(kind, form),
        )
        assert (result["verdict"], result["kind"]) == ("accept", kind.name)


@pytest.mark.parametrize(
    "summary",
    [
        "No such code was found in `app/`. All folders were searched.",
        "There is no rate limit. `app/` and `tests/` were searched.",
        "I could not find any rate limit. I searched all of `app/`.",
        "A rate limit does not exist in `app/`. No other folder has code.",
        "The search for `rate_limit` gave no matches. `app/` and `tests/` were read.",
        "`app/` に該当する処理は見つかりませんでした。",
        "在 `app/` 中没有找到限流代码。",
    ],
)
def test_n3_the_summary_states_it_in_its_own_words(summary: str, tmp_path: Path) -> None:
    result = check(document(KINDS["exploration"], "a missing section", summary), tmp_path)
    assert result["verdict"] == "accept", result["violations"]


def test_n3_a_summary_that_does_not_say_so_does_not_excuse_missing_parts(tmp_path: Path) -> None:
    text = document(KINDS["exploration"], "a missing section", "The login was explored. It has two steps.")
    assert {one["rule"] for one in check(text, tmp_path)["violations"]} >= {"findings-missing", "references-missing"}


def test_n3_a_result_with_content_needs_its_references(tmp_path: Path) -> None:
    text = document(KINDS["exploration"], "empty tables", "No issues were found. The login has one entry.")
    row = "| Entry | File:Line | Type |\n| --- | --- | --- |\n"
    cited = text.replace(
        "| Entry | File:Line | Type |\n| --- | --- | --- |\n", row + "| login | `app/login.py:7` | function |\n"
    )
    assert cited != text
    assert "references-missing" in {one["rule"] for one in check(cited, tmp_path)["violations"]}
    generic = document(KINDS["generic"], "a missing section", "No issues were found. The login has one entry.")
    cited = generic.replace("### Confidence\n", "### Findings\n\nThe entry is `app/login.py:7`.\n\n### Confidence\n", 1)
    assert "references-missing" in {one["rule"] for one in check(cited, tmp_path)["violations"]}


def test_n3_what_must_hold_still_holds(tmp_path: Path) -> None:
    text = document(KINDS["exploration"], "the searched folder").replace("`app/` |", "`app/legacy.py:1` |")
    assert [one["rule"] for one in check(text, tmp_path)["violations"]] == ["reference-missing-file"]
    bare = document(KINDS["exploration"], "empty tables").partition("### Confidence\n")[0]
    assert {one["rule"] for one in check(bare, tmp_path)["violations"]} >= {"confidence-missing", "checklist-missing"}
