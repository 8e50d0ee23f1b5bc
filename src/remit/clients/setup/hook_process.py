"""The command line of the hook process, for clients that run hooks in a shell, and its test."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: The path of the hook process ends with this.
ENTRY = "remit/surfaces/hooks/entry.py"
_SECONDS = 60.0
#: No answer is longer.
MAX_ANSWER_BYTES = 4 * 1024 * 1024
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


class NoAnswer(Exception):
    """The hook did not answer; the message has the reason."""


@contextmanager
def scratch_project() -> Iterator[Path]:
    """Make a project for a test of hooks, in a separate folder."""
    with tempfile.TemporaryDirectory(prefix="remit-self-test-") as folder:
        project = Path(folder).resolve() / "project"
        project.mkdir()
        (project / "app.py").write_text("ANSWER = 42\n", encoding="utf-8")
        # It also ends the search for a configuration file, so that no other one is found.
        (project / "remit.toml").write_text('[gate]\nmode = "standard"\n', encoding="utf-8")
        yield project


def payload_text(payload: Mapping[str, Any], project: Path) -> str:
    """Return a payload as JSON, with the paths of a project for @PROJECT@ and @HOME@."""
    return json.dumps(payload).replace("@PROJECT@", str(project)).replace("@HOME@", str(project.parent / "home"))


def run_hook(command: Sequence[str], text: str, project: Path, seconds: float = _SECONDS) -> bytes:
    """Start a hook in a scratch project as the client does, and return its output."""
    variables = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    # The user's folder for states must not keep anything of a scratch project.
    settings = {"CLAUDE_PROJECT_DIR": str(project), "XDG_STATE_HOME": str(project.parent / "state")}
    try:
        done = subprocess.run(
            command,
            input=text.encode(),
            capture_output=True,
            cwd=project,
            env=variables | settings,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NoAnswer(f"no answer within {error.timeout:g} s") from error
    except (OSError, ValueError) as error:
        raise NoAnswer(f"{command[0]} cannot be started: {getattr(error, 'strerror', None) or error}") from error
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise NoAnswer(f"exit code {done.returncode}: {last[:200]}")
    return done.stdout[:MAX_ANSWER_BYTES]


def decode_answer(data: bytes) -> dict[str, Any]:
    """Return the answer in the output of a hook; without output, an empty one."""
    try:
        answer = json.loads(data) if data.strip() else {}
    except ValueError:
        raise NoAnswer(f"the answer is not JSON: {data[:80]!r}") from None
    if not isinstance(answer, dict):
        raise NoAnswer(f"the answer is not an object: {data[:80]!r}")
    return answer


def denial_problem(client: str, event: str, payload: Mapping[str, Any], marks: Sequence[str]) -> str:
    """Describe why the hook process does not deny an edit of code; "" if it does.

    `payload` is such an edit, with @PROJECT@ for the project; a denial contains one of the `marks`.
    """
    with scratch_project() as project:
        try:
            answer = decode_answer(run_hook(hook_command(event, client), payload_text(payload, project), project))
        except NoAnswer as error:
            return str(error)
    shown = json.dumps(answer)
    return "" if any(mark in shown for mark in marks) else f"an edit of code was not denied: {shown[:200]}"
