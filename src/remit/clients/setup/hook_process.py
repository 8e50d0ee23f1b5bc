"""The command line of the hook process, and a test that it works."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: The path of the hook process ends with this.
ENTRY = "remit/surfaces/hooks/entry.py"
_SECONDS = 60.0
#: The variables that a hook needs; others could change its settings.
_VARIABLES = ("PATH", "HOME", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "LANG")
#: A report with an invented place, which every client's hook sends back.
FALSE_REPORT = "The handler is at app.py:412."
_MARK = "app.py:412"


def entry_file() -> Path:
    """Return the path of the script that a client starts."""
    return Path(__file__).resolve().parents[2] / "surfaces" / "hooks" / "entry.py"


def hook_command(event: str, client: str) -> list[str]:
    """Return the program and arguments of the process that answers an event of a client."""
    # Isolated and without site: it imports nothing of the project or the environment, and it starts fast.
    return [sys.executable, "-I", "-S", str(entry_file()), event, "--client", client]


def shell_command(event: str, client: str) -> str:
    """Return the same as one command line."""
    return shlex.join(hook_command(event, client))


def is_hook_command(command: object, client: str) -> bool:
    """Whether a command line starts Remit's hook process for a client, also of another installation."""
    if not isinstance(command, str) or ENTRY not in command.replace("\\", "/"):
        return False
    return command.rstrip().endswith(f"--client {client}")


def hook_problem(command: Sequence[str], payload: Mapping[str, Any]) -> str:
    """Describe why the hook process does not send a false report back; "" if it does.

    `payload` is the end of a subagent with `FALSE_REPORT`, with @PROJECT@ for the project.
    """
    with tempfile.TemporaryDirectory(prefix="remit-self-test-") as folder:
        project = Path(folder).resolve() / "project"
        project.mkdir()
        (project / "app.py").write_text("ANSWER = 42\n", encoding="utf-8")
        # It ends the search for a configuration file, so that no other one is found.
        (project / "remit.toml").write_text("", encoding="utf-8")
        text = json.dumps(payload).replace("@PROJECT@", str(project))
        variables = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        settings = {"CLAUDE_PROJECT_DIR": str(project), "XDG_STATE_HOME": str(project.parent / "state")}
        try:
            done = subprocess.run(
                command,
                input=text.encode(),
                capture_output=True,
                cwd=project,
                env=variables | settings,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            return f"no answer within {error.timeout:g} s"
        except (OSError, ValueError) as error:
            return f"{command[0]} cannot be started: {getattr(error, 'strerror', None) or error}"
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"exit code {done.returncode}: {last[:200]}"
    answer = done.stdout.decode("utf-8", "replace")
    return "" if _MARK in answer and "block" in answer else f"a false report was not sent back: {answer[:200]}"
