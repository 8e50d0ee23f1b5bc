"""What an agent's details say, taken apart: the risk, the fix, what it also says, other words, and quoted code.

The line that repeats the finding's own title is left out. Details are an agent's words: they are read line by
line and never obeyed, so whatever does not look like a part is one of the other words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from remit.merging.model import Opinion

#: What is beyond this in one opinion's details was not meant to be read.
_MAX_READ = 20_000
_LABEL = re.compile(
    r"\s*(?:[-*+]\s+)?[*_]{0,3}(?:(risk|リスク|风险)|(fix|修正|修复)|(also))[*_]{0,3}\s*[:：]\s*[*_]{0,3}\s*(.*)",
    re.IGNORECASE,
)
_FENCE = ("```", "~~~")
_MARKS = "#*_ \t"


class Told(NamedTuple):
    """The parts; each is empty where there is none."""

    risk: str
    fix: str
    also: str
    words: str
    code: str


def told(opinion: Opinion) -> Told:
    """The parts of what one agent says of a finding."""
    parts: dict[str, list[str]] = {"risk": [], "fix": [], "also": [], "words": [], "code": []}
    repeated = {_bare(opinion.title), _bare(f"{opinion.id}: {opinion.title}")}
    now, in_code = "words", False
    for line in opinion.details[:_MAX_READ].split("\n"):
        if line.lstrip().startswith(_FENCE):
            in_code, now = not in_code, "words"
        elif in_code:
            parts["code"].append(line)
        elif not line.strip():
            now = "words"
            parts[now].append("")
        elif label := _LABEL.match(line):
            now = ("risk", "fix", "also")[next(at for at in range(3) if label[at + 1])]
            parts[now].append(label[4])
        elif _bare(line) not in repeated:
            parts[now].append(line)
    return Told(
        risk=" ".join(parts["risk"]).strip(),
        fix=" ".join(parts["fix"]).strip(),
        also="; ".join(filter(None, parts["also"])),
        words=re.sub(r"\n{3,}", "\n\n", "\n".join(parts["words"])).strip(),
        code="\n".join(parts["code"]).strip("\n"),
    )


def _bare(line: str) -> str:
    return line.strip(_MARKS).lower()
