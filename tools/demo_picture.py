"""Write the pictures of a terminal in docs: the end of `remit demo` with the recorded model, and other commands.

python tools/demo_picture.py
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path

import msgspec
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from remit.demo.demo_review import DemoResult, demo_lines

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/demo.svg"
COLUMNS = 80
#: Commands on the examples whose whole output is a picture, by its file.
COMMANDS = {
    "audit.svg": "remit audit examples/transcripts",
    "verify.svg": "remit verify examples/texts/audit.md",
}
#: Where the report is written in a project.
REPORT = Path(".remit/demo/report.html")
_FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_FONT_FACES = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)
#: Colours that can be read on the background: black, red, green, yellow, blue, magenta, cyan, white.
_COLOURS = [
    *((27, 31, 36), (255, 123, 114), (126, 231, 135), (242, 204, 96)),
    *((121, 192, 255), (210, 168, 255), (118, 227, 234), (230, 237, 243)),
]
_THEME = TerminalTheme((13, 17, 23), (230, 237, 243), _COLOURS, _COLOURS)


def picture(result: DemoResult) -> str:
    """Return the last screen of a demonstration as a picture of a terminal."""
    lines = [Text("$ python3 dev.py run demo\n…")]
    for line in demo_lines(result, REPORT, COLUMNS):
        text = Text(no_wrap=True)
        for piece in line:
            text.append(piece.text, piece.style)
        lines.append(text)
    return terminal(lines, "remit demo")


def picture_of_command(command: str) -> str:
    """Return what a command prints on a terminal, in a checkout of the examples, as a picture."""
    with tempfile.TemporaryDirectory() as folder:
        copy_examples(Path(folder))
        own, others = pty.openpty()
        fcntl.ioctl(others, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
        arguments = [sys.executable, "-m", *command.split()]
        with subprocess.Popen(arguments, cwd=folder, env=_environment(), stdout=others, stdin=others) as done:
            os.close(others)
            output = b"".join(_parts(own))
        os.close(own)
        assert done.returncode in (0, 1), command
    return terminal([Text(f"$ {command}"), Text.from_ansi(output.decode().replace("\r\n", "\n").rstrip())], command)


def copy_examples(folder: Path) -> None:
    """Make a checkout of the examples."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for git in ("init --quiet", "add .", "-c user.name=A -c user.email=a@example.com commit --quiet -m shop"):
        subprocess.run(["git", *git.split()], cwd=folder, check=True)


def _parts(terminal_end: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(terminal_end, 65_536)
        except OSError:  # the last process has closed the terminal
            return
        if not part:
            return
        yield part


def terminal(lines: list[Text], title: str) -> str:
    """Return lines as a picture of a terminal, without any font from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in [*lines, Text()]:  # the last line of a picture is cut at its lower edge
        console.print(line)
    svg = console.export_svg(title=title, theme=_THEME, unique_id=re.sub(r"\W+", "-", title))
    svg = _FONT_FACES.sub("", svg).replace("Fira Code, monospace", _FONTS)
    return "\n".join(line.rstrip() for line in svg.split("\n")) + "\n"


def _environment() -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("REMIT_", "GIT_"))}
    return environment | {"TERM": "xterm-256color", "TZ": "UTC", "COLUMNS": str(COLUMNS)}


def main() -> None:
    """Play the recording, run the commands and write the pictures."""
    command = [sys.executable, "-m", "remit", "demo", "--recorded", "--format", "json"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, env=_environment(), stdout=subprocess.PIPE, check=True)
    PICTURE.write_text(picture(msgspec.convert(json.loads(done.stdout), DemoResult)), encoding="utf-8")
    for name, shown in COMMANDS.items():
        (ROOT / "docs" / name).write_text(picture_of_command(shown), encoding="utf-8")


if __name__ == "__main__":
    main()
