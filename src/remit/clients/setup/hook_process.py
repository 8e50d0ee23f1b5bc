"""The command line of the hook process, for clients that run hooks in a shell, and its test."""

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


def answer_of(event: str, client: str, payload: Mapping[str, Any], project: Path) -> dict[str, Any]:
    """Start the hook process as the client does, in a scratch project with its own folder above, and return its answer.

    Raises OSError or ValueError if there is no valid answer.
    """
    variables = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    # The user's folder for states must not keep anything of a scratch project.
    variables["XDG_STATE_HOME"] = str(project.parent / "state")
    done = subprocess.run(
        hook_command(event, client),
        input=json.dumps(payload).encode(),
        capture_output=True,
        cwd=project,
        env=variables,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise OSError(f"exit code {done.returncode}: {done.stderr.decode('utf-8', 'replace').strip()[-200:]}")
    answer = json.loads(done.stdout) if done.stdout.strip() else {}
    if not isinstance(answer, dict):
        raise ValueError("the answer is not an object")
    return answer


def denial_problem(client: str, event: str, payload: Mapping[str, Any], marks: Sequence[str]) -> str:
    """Describe why the hook process does not deny an edit of code; "" if it does.

    `payload` is such an edit, with @PROJECT@ for the project; a denial contains one of the `marks`.
    """
    with tempfile.TemporaryDirectory(prefix="remit-self-test-") as folder:
        project = Path(folder).resolve() / "project"
        project.mkdir()
        (project / "app.py").write_text("ANSWER = 42\n", encoding="utf-8")
        # It also ends the search for a configuration file, so that no other one is found.
        (project / "remit.toml").write_text('[gate]\nmode = "standard"\n', encoding="utf-8")
        text = json.dumps(payload).replace("@PROJECT@", str(project))
        try:
            answer = answer_of(event, client, json.loads(text), project)
        except subprocess.TimeoutExpired:
            return f"no answer within {_SECONDS:g} s"
        except (OSError, ValueError) as error:
            return str(error)
    shown = json.dumps(answer)
    return "" if any(mark in shown for mark in marks) else f"an edit of code was not denied: {shown[:200]}"
