"""No format of any command shows a key that a file of the checkout has."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.in_process import Remit, command_runner
from support.verify_commands import commit, make_project

KEY = "AKIA" + "Z3QHXK5VJ2N7WLPD"
OTHER = "AKIA" + "M4RTYB6WK3P8XNQE"
CONFIG = f'import os\n\nREGION = "eu"\nAWS_KEY = "{KEY}"\nconnect(AWS_KEY)\n'
#: Quotes that differ from the line with the key, in all the ways in which a report shows the line of the file.
TEXT = f"""\
`src/settings.py:4`:

```python
AWS_KEY = "{OTHER}"
```

`src/settings.py:3` is `AWS_KEY = "{OTHER}"`, and `src/settings.py:1` has `AWS_KEY = load("{OTHER}")`.

`AWS_KEYS` in `src/settings.py:2`, `src/setings.py:4`, `src/settings.py:94` and `settings.py:4-40` (AWS_KEY).
"""
RESULT = f"""\
## SECURITY-AUDITOR RESULT

**Status**: SUCCESS

### Findings

| ID | File:Line | Severity | Confidence | Issue |
|---|---|---|---|---|
| SEC-001 | src/settings.py:4 | CRITICAL | 95 | A key is in the code |
| SEC-002 | src/settings.py:5 | HIGH | 90 | The key is used |

#### SEC-001

{TEXT}

### Confidence

**Score**: 90
"""
COMMANDS = [
    *(("verify", "page.md", "--format", form) for form in ("text", "json", "markdown", "sarif", "github")),
    *(("verify", "page.md", "--strict", "--all", "--format", form) for form in ("text", "markdown")),
    ("verify", "page.md", "--explain", "4"),
    ("verify", "page.md", "--fix"),
    *(("check", "result.md", "--format", form) for form in ("text", "json", "github")),
    *(("merge", "result.md", "other.md", "--format", form) for form in ("text", "json", "markdown", "html", "sarif")),
]


@pytest.fixture
def remit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    project = make_project(tmp_path, monkeypatch)
    (project / "src").mkdir(exist_ok=True)
    (project / "src/settings.py").write_text(CONFIG)
    commit(project, f"Use {KEY}")
    (project / "page.md").write_text(TEXT)
    for name in ("result.md", "other.md"):
        (project / name).write_text(RESULT)
    return command_runner(monkeypatch, capsys)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_format_of_a_command_shows_a_key_of_a_file(remit: Remit, words: tuple[str, ...]) -> None:
    ran = remit(*words)
    assert ran.out
    assert KEY not in ran.out + ran.err
