"""`remit uninstall claude-code` after a session of the real client: nothing of Remit is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_client import Stage, git, staged
from scripts import BAD, GOOD, call, delegate, does, reads, says

_PATHS = ("README.md", "shop/prices.py", "shop/config.py", "shop/mail.py")
_WORK = [
    does(*(call(f"one_{at}", "Read", file_path=path) for at, path in enumerate(_PATHS[:3]))),
    does(call("last", "Read", file_path=_PATHS[3])),
    does(delegate("bad", "code-explorer", "trace-badly", run_in_background=False)),
    says("Done."),
]
_CONVERSATIONS = {
    "first-with-hooks": _WORK,
    "then-without": _WORK[:2] + _WORK[3:],
    "trace-badly": [reads("bad", GOOD), says(BAD), says(BAD)],
}
_HOOKS = '{"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}'
_SHARED = '{ "permissions": {"allow": ["Bash(ls:*)"]},\n\t"hooks": ' + _HOOKS + "}"
#: The form in which an install writes settings; another form is not kept.
_OWN = '{\n    "env": {\n        "A": "1"\n    },\n    "spinnerTipsEnabled": false\n}\n'


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file and folder of a project except git's, with mode and content."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
        if ".git" not in path.relative_to(folder).parts
    }


@pytest.mark.parametrize("settings", [{}, {"settings.json": _SHARED, "settings.local.json": _OWN}], ids=["new", "own"])
def test_uninstalling_leaves_no_trace(client: None, tmp_path: Path, settings: dict[str, str]) -> None:
    with staged(tmp_path, _CONVERSATIONS) as stage:
        for name, text in settings.items():
            (stage.project / ".claude").mkdir(exist_ok=True)
            (stage.project / ".claude" / name).write_text(text, encoding="utf-8")
        before, status = tree(stage.project), git(stage.project, "status", "--porcelain")

        stage.remit("install", "claude-code", "--mode", "orchestrator", "--yes")
        _session(stage, "first-with-hooks")
        assert "lookup-files" in stage.results("first-with-hooks")["toolu_last"]

        stage.remit("uninstall", "claude-code", "--yes")
        assert tree(stage.project) == before
        assert git(stage.project, "status", "--porcelain") == status
        assert not (stage.home / ".local").exists()  # digests of the gate's files; the rest there is the client's

        _session(stage, "then-without")
        assert "def receipt" in stage.results("then-without")["toolu_last"]


def _session(stage: Stage, prompt: str) -> None:
    with stage.talk() as talk:
        talk.say(prompt)
