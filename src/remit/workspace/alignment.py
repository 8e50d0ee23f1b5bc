"""Align the lines of two versions of a file."""

from __future__ import annotations

from rapidfuzz.distance import Indel

#: What differs is not aligned if the product of both lengths is larger.
_MAX_PRODUCT = 400_000_000


def align_lines(old: list[str], new: list[str]) -> dict[int, int]:
    """Return which lines of a text are unchanged in another one: index in the new text by index in the old one."""
    short = min(len(old), len(new))
    start = next((n for n in range(short) if old[n] != new[n]), short)
    end = next((n for n in range(short - start) if old[-1 - n] != new[-1 - n]), short - start)
    same = {n: n for n in range(start)} | {len(old) - 1 - n: len(new) - 1 - n for n in range(end)}
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    if before and after and len(before) * len(after) <= _MAX_PRODUCT:
        for part in Indel.opcodes(before, after):
            if part.tag == "equal":
                same |= {
                    start + part.src_start + n: start + part.dest_start + n
                    for n in range(part.src_end - part.src_start)
                }
    return same
