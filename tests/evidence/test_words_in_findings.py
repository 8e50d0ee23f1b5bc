"""Words that excuse a claim elsewhere do not excuse a finding that happens to contain them."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import evidence_of, plant


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("tree"))


INVENTED = "src/nope.py:12"


@pytest.mark.parametrize(
    "text",
    [
        f"IDOR: deleted users can still log in ({INVENTED}).",
        f"- Issue: dropped packets are never counted, see {INVENTED}",
        f"The job reads already deleted rows again in {INVENTED}.",
        f"Tokens (removed by logout) stay valid in {INVENTED}.",
        f"- Deleted users can still log in ({INVENTED}).",
        f"Missing validation `{INVENTED}` lets anyone in.",
        f"- Missing auth check {INVENTED}",
        f"`{INVENTED}` crashes if the file does not exist.",
        f'- {INVENTED} swallows "no such file" errors.',
        f"#### Deleted user pages leak data\n\nThe query in {INVENTED} is not filtered.",
        f"#### Removed component is still imported\n\nThe import in {INVENTED} fails.",
    ],
)
def test_an_invented_location_is_accused(text: str, tree: Path) -> None:
    assert [one.outcome for one in evidence_of(text, tree).references] == ["missing-file"]


@pytest.mark.parametrize(
    "text",
    [
        f"- Removed the check in {INVENTED}.",
        f"The handler was deleted ({INVENTED}).",
        f"Cleanup: removed {INVENTED}",
        f"- {INVENTED} (deleted in 2.0)",
        f"`{INVENTED}` does not exist.",
        f"#### Deleted files (2)\n\nThe query was in {INVENTED}.",
        f"| File | Note |\n|---|---|\n| {INVENTED} | Deleted in 2.0 |",
    ],
)
def test_what_the_text_itself_calls_gone_is_not(text: str, tree: Path) -> None:
    assert "missing-file" not in [one.outcome for one in evidence_of(text, tree).references]


@pytest.mark.parametrize(
    "above",
    [
        "The check in src/app.py:14, matching the specification, is:",
        "The result becomes wrong in src/app.py:14:",
        "This parallels the bug in src/app.py:14:",
        "A bad pattern (src/app.py:14):",
        "The check after the first call, src/app.py:14, is:",
        "#### Review of fixes\n\nThe check in src/app.py:14 is:",
        "#### Findings and recommendations\n\n##### Wrong value\n\nThe check in src/app.py:14 is:",
    ],
)
def test_an_altered_quote_is_accused(above: str, tree: Path) -> None:
    code = (tree / "src/app.py").read_text(encoding="utf-8").splitlines()[13]
    for shown, outcome in ((code, "verified"), (code.replace("find_user", "drop_user"), "mismatch")):
        evidence = evidence_of(f"{above}\n\n```python\n{shown}\n```\n", tree)
        assert [one.outcome for one in evidence.quotes] == [outcome]
