"""Shorten a long result for an orchestrator: every section keeps its beginning, and the rest stays in a file."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.tokens import estimate_tokens

#: A result with more tokens is shortened to about this number.
MAX_TOKENS = 2_000
#: Sections that a shortened result has at most.
_MAX_SECTIONS = 40
#: A line is cut after this number of characters.
_MAX_LINE = 600


def shorten_result(text: str, source: str) -> str:
    """Return a result with at most about `MAX_TOKENS` tokens. `source` states where the complete text is."""
    if len(text) <= MAX_TOKENS or estimate_tokens(text) <= MAX_TOKENS:
        return text
    sections = list(_sections(text.split("\n")))
    kept = sections[:_MAX_SECTIONS]
    sizes = [estimate_tokens("\n".join(section)) for section in kept]
    share = _share(sizes)
    parts = [_beginning(section, size, share, source) for section, size in zip(kept, sizes, strict=True)]
    left_out = len(sections) - len(kept)
    return "\n".join([*parts, *([f"[{left_out} more sections: {source}]"] if left_out else [])])


def _sections(lines: list[str]) -> Iterator[list[str]]:
    """Yield the lines of each section, from its heading on. A heading inside a fence begins no section."""
    section: list[str] = []
    is_fenced = False
    for line in lines:
        is_fenced ^= line.lstrip().startswith("```")
        if line.startswith("#") and not is_fenced and section:
            yield section
            section = []
        section.append(line)
    yield section


def _share(sizes: list[int]) -> int:
    """Return the tokens for each section, so that the short ones are complete and the long ones share the rest."""
    budget, waiting = MAX_TOKENS, len(sizes)
    for size in sorted(sizes):
        if size > budget // waiting:
            return budget // waiting
        budget, waiting = budget - size, waiting - 1
    return MAX_TOKENS


def _beginning(section: list[str], size: int, share: int, source: str) -> str:
    """Return the first lines of a section that fit into its share, at least its heading."""
    if size <= share:
        return "\n".join(section)
    lines: list[str] = []
    used = 0
    for line in section:
        short = line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]} …"
        used += estimate_tokens(f"{short}\n")
        if lines and used > share:
            break
        lines.append(short)
    fence = ["```"] if sum(line.lstrip().startswith("```") for line in lines) % 2 else []
    return "\n".join([*lines, *fence, f"[{len(section) - len(lines)} more lines of this section: {source}]"])
