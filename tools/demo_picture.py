"""Write docs/demo.svg: what `remit demo` prints at its end with the recorded model.

python tools/demo_picture.py
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from remit.demo.review import DemoResult, demo_lines

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/demo.svg"
COLUMNS = 80
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
    """Return the last screen of a demonstration as a picture of a terminal, without any font from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text("$ python3 dev.py run\n…"))
    for line in demo_lines(result, REPORT, COLUMNS):
        text = Text(no_wrap=True)
        for piece in line:
            text.append(piece.text, piece.style)
        console.print(text)
    svg = console.export_svg(title="remit demo", theme=_THEME, unique_id="remit-demo")
    svg = _FONT_FACES.sub("", svg).replace("Fira Code, monospace", _FONTS)
    return "\n".join(line.rstrip() for line in svg.split("\n")) + "\n"


def main() -> None:
    """Play the recording and write the picture."""
    command = [sys.executable, "-m", "remit", "demo", "--recorded", "--format", "json"]
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("REMIT_")}
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True)
    PICTURE.write_text(picture(msgspec.convert(json.loads(done.stdout), DemoResult)), encoding="utf-8")


if __name__ == "__main__":
    main()
