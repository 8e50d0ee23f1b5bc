"""A scratch project with a scratch home folder, in which command lines run under the gate's hooks."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remit.clients.hooks.compiled import COMPILER, SCHEMA, environment, stamp, write_compiled
from remit.clients.hooks.hook_events import handle_event
from remit.gate import project_paths
from remit.gate.session import SessionState
from remit.gate.session_store import read_session

DATA = Path(__file__).parent / "data"
SESSION = "scratch-session"
_SECONDS = 20
_EVIL_PYTHON = "open('src/app.py', 'w').write('x')\n"
_EVIL_SHELL = "#!/bin/sh\ntouch src/new.py\necho x > src/app.py\n"
FILES = {
    "README.md": "# Shop\n\ninstall it\n",
    "src/app.py": "VALUE = 1\n\n\ndef value():\n    return VALUE\n",
    "src/util.py": "def double(number):\n    return 2 * number\n",
    "tests/test_app.py": "def test_value():\n    assert True\n",
    "docs/specs/spec.md": "# Spec\n\nOne line.\n",
    "remit.toml": "",
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
    "package.json": '{"name": "shop", "version": "1.0.0", "scripts": {"evil": "sh scripts/evil.sh"}}\n',
    "Makefile": "all:\n\t@true\nevil:\n\tsh scripts/evil.sh\n",
    ".gitignore": "build/\n.remit/\n*.pyc\n__pycache__/\n",
    ".claude/settings.json": '{"hooks": {}}\n',
    ".claude/agents/helper.md": "---\nname: helper\n---\nHelp.\n",
    "scripts/test.sh": "#!/bin/sh\nexit 0\n",
    "scripts/build.js": "",
    "scripts/check.py": "",
    "manage.py": "",
    "dev.py": "",
    "run": "#!/bin/sh\n",
    "bin/rails": "#!/bin/sh\n",
    "scripts/evil.sh": _EVIL_SHELL,
    "scripts/evil.py": _EVIL_PYTHON,
    "scripts/evil.js": "require('fs').writeFileSync('src/app.py', 'x')\n",
    "scripts/evil.sed": "w src/app.py\n",
    "scripts/evil.awk": 'BEGIN { print 1 > "src/app.py" }\n',
    "scripts/evil.cmake": 'file(WRITE src/app.py "x")\n',
    "scripts/bin/ls": _EVIL_SHELL,
    "scripts/bin/git": _EVIL_SHELL,
    "scripts/bin/git-status": _EVIL_SHELL,
    "scripts/hooks/pre-commit": _EVIL_SHELL,
    "scripts/parts/run": _EVIL_SHELL,
    "scripts/Makefile": "evil:\n\techo x > ../src/app.py\n",
    "scripts/package.json": '{"scripts": {"evil": "touch ../src/new.py"}}\n',
    "scripts/.gitconfig": "[alias]\n\tst = !touch src/new.py\n",
    "scripts/git/config": "[alias]\n\tst = !touch src/new.py\n",
    "scripts/curlrc": "output = src/app.py\nurl = file:///etc/hostname\n",
    "scripts/Evil.java": (
        "class Evil { public static void main(String[] a) throws Exception "
        '{ new java.io.FileWriter("src/app.py").close(); } }\n'
    ),
    "scripts/evil.c": "int main(void) { return 0; }\n",
    "scripts/evil.ninja": "rule r\n  command = touch src/new.py\nbuild x: r\n",
    "scripts/evil.patch": "--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 2\n",
}
_HOME = {".claude/settings.json": "{}\n", ".gitconfig": "[user]\n\tname = dev\n\temail = dev@localhost\n"}


def corpus(name: str) -> dict[str, list[str]]:
    """Return the command lines of a corpus, by kind."""
    return tomllib.loads((DATA / f"{name}.toml").read_text(encoding="utf-8"))


class ScratchProject:
    """A committed project, the hooks of a session in it, and command lines that really run."""

    def __init__(self, root: Path, gate: dict[str, Any] | None = None) -> None:
        self.root = root
        self.path = root / "shop"
        self.home = root / "home"
        self.calls = 0
        self.has_run = False
        self.session = SESSION
        for name, text in FILES.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            if text.startswith("#!"):
                file.chmod(0o755)
        for name, text in _HOME.items():
            file = self.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (self.path / "src/empty").mkdir()
        self.shell("git init -q -b main && git add -A && git commit -q -m first && git branch old")
        (self.path / "src/app.py").write_text(FILES["src/app.py"] + "# two\n")
        self.shell("git commit -q -a -m second; tar cf scripts/evil.tar src; zip -q -r scripts/evil.zip src; true")
        self.shell("git add -A; git commit -q -m archives; git format-patch -q -1 --stdout HEAD~1 > /dev/null; true")
        (self.path / "src/app.py").write_text(FILES["src/app.py"] + "# two\n# uncommitted\n")
        self.compile(gate or {})

    def compile(self, gate: dict[str, Any]) -> None:
        """Write the settings as `remit install` would compile them."""
        values = {
            "schema": SCHEMA,
            "gate": {"tools": {"code-explorer": ["Read", "Grep", "Glob", "Bash"]}, **gate},
            "contract": {},
            "always": [],
            "prompts": {},
            "profile": "v2",
            "environment": environment(),
            "stamps": [stamp(COMPILER)],
        }
        write_compiled(str(self.path), values)

    @property
    def folder(self) -> Path:
        return self.path / ".remit/gate"

    @property
    def state(self) -> SessionState:
        found = read_session(str(self.folder), SESSION)
        assert found is not None
        return found

    def shell(self, line: str) -> str:
        """Run a command line and return its output; processes that it leaves behind are ended."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "OSTYPE": "linux",
        }
        process = subprocess.Popen(
            ["bash", "-c", line],
            cwd=self.path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            output = b""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        return output.decode("utf-8", "replace")

    def hook(self, event: str, tool: str, tool_input: dict[str, Any], call: str, **fields: Any) -> dict[str, Any]:
        payload = {
            "session_id": self.session,
            "cwd": str(self.path),
            "hook_event_name": event,
            "tool_name": tool,
            "tool_input": tool_input,
            "tool_use_id": call,
            **fields,
        }
        return handle_event(payload, project=str(self.path), mode="orchestrator") or {}

    def before(self, line: str, **fields: Any) -> tuple[str, dict[str, Any]]:
        """Announce a command line. Return the id of the call and the answer."""
        self.calls += 1
        call = f"toolu_{self.calls}"
        return call, self.hook("PreToolUse", "Bash", {"command": line}, call, **fields)

    def after(self, call: str, line: str, output: str = "", **fields: Any) -> dict[str, Any]:
        return self.hook("PostToolUse", "Bash", {"command": line}, call, tool_response={"stdout": output}, **fields)

    def run(self, line: str, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Run a command line unless it is denied. Return the answers before and after it."""
        call, first = self.before(line, **fields)
        self.has_run = decision_of(first) not in ("deny", "ask")
        if not self.has_run:
            return first, {}
        return first, self.after(call, line, self.shell(line), **fields)

    @contextlib.contextmanager
    def new_session(self) -> Iterator[None]:
        """Use another session, which starts with a full budget."""
        self.session = f"{SESSION}-{self.calls}"
        yield
        self.session = SESSION


def decision_of(answer: dict[str, Any]) -> str:
    """Return the decision before a call: deny, ask, warn or allow."""
    specific = answer.get("hookSpecificOutput", {})
    decision = specific.get("permissionDecision", "")
    return decision or ("warn" if "additionalContext" in specific else "allow")


def told_person(answer: dict[str, Any]) -> str:
    """Return what the person reads."""
    return str(answer.get("systemMessage", ""))


def use_as_home(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the scratch home folder. Folders of pytest are temporary ones, in which the gate lets everybody write."""
    is_scratch = project_paths._is_scratch
    monkeypatch.setattr(project_paths, "_is_scratch", lambda real: is_scratch(real) and not real.startswith(str(root)))
    monkeypatch.setenv("HOME", str(root / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
