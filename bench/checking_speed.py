"""How fast results are read and checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from measure import Bench, medians, ratio, seconds

from remit.checking import check_text
from remit.contract.kinds import KINDS
from remit.contract.parse import parse
from remit.evidence.document import segments
from remit.evidence.gather import gather
from remit.evidence.sentences import read_sentences
from remit.evidence.sources import Sources
from remit.rules.examples import sample_text

_DIGIT = re.compile(r"\d")
_ROW = "| QA-{0:03} | The name of customer {0} is kept whole | `shop/account.py:{0}` | Minor | 80 |\n"
_LAST_ROW = "| SEC-002 | Passwords compared in variable time | `app/login.py:19` | Minor | 85 |\n"


@cache
def review(size: int) -> str:
    """A faultless review of about `size` bytes: the sample with further findings."""
    text = sample_text("review")
    number = max(0, size - len(text)) // len(_ROW.format(100))
    rows = "".join(_ROW.format(index) for index in range(1, number + 1))
    return text.replace(_LAST_ROW, _LAST_ROW + rows).replace("- Minor: 1", f"- Minor: {number + 1}")


@cache
def real_review() -> str:
    """The review among the examples."""
    path = Path(__file__).resolve().parent.parent / "examples/results/review-security.md"
    return path.read_text(encoding="utf-8")


@cache
def per_byte() -> list[float]:
    """Seconds for each byte of the smallest review, of one of 10 KB and of one of 1 MB, measured alternately."""
    texts = [review(size) for size in (1_000, 10_000, 1_000_000)]
    taken = medians([partial(check_text, text) for text in texts], repeats=3)
    return [time / len(text) for time, text in zip(taken, texts, strict=True)]


def floor(text: str) -> float:
    """Parsing, splitting into segments and one search for each: what a check that finds nothing has to do."""

    def searched() -> None:
        for document in parse(text):
            for segment in segments(document):
                _DIGIT.search(segment.text)

    return ratio(searched, lambda: parse(text))


def _explained() -> list[str]:
    """State where the time goes."""
    text = review(5 << 10)
    (document,) = parse(text)
    kind, sources = KINDS["review"], Sources()
    parts: list[Callable[[], object]] = [
        partial(check_text, text),
        partial(parse, text),
        partial(gather, document, kind, sources),
        partial(read_sentences, document.text),
    ]
    whole, parsing, claims, stated = (1000 * time for time in medians(parts))
    pieces = sum(1 for _ in segments(document))
    return [
        f"a check of {len(text) / 1024:.1f} KB: {whole:.1f} ms",
        f"  {parsing:5.1f} ms  parsing",
        f"  {claims - stated:5.1f} ms  claims of each kind, in every written form, in {pieces} segments",
        f"  {stated:5.1f} ms  statements of work that was done",
        f"  {whole - parsing - claims:5.1f} ms  rules and the rest",
        "no part stands out: a segment takes about ten steps of one or two microseconds each",
    ]


def benches() -> list[Bench]:
    """Reading and checking."""
    five, real = review(5 << 10), real_review()
    return [
        Bench(
            f"full check of a {len(five) / 1024:.1f} KB review",
            "parsing it alone",
            "x",
            2.5,
            lambda: ratio(lambda: check_text(five), lambda: parse(five)),
            _explained,
        ),
        Bench(
            f"full check of examples/results/review-security.md ({len(real) / 1024:.1f} KB)",
            "parsing it alone",
            "x",
            2.5,
            lambda: ratio(lambda: check_text(real), lambda: parse(real)),
        ),
        Bench(
            "these checks, their floor: segments, one search each", "parsing it alone", "x", None, lambda: floor(five)
        ),
        Bench("checks of that 5 KB review", "a second", "/s", None, lambda: 1 / seconds(lambda: check_text(five))),
        Bench(
            "cost of a byte in 1 MB",
            "cost of a byte in 10 KB",
            "x",
            1.5,
            lambda: per_byte()[2] / per_byte()[1],
        ),
        Bench(
            "cost of a byte in 1 MB",
            "cost of a byte in the smallest review",
            "x",
            1.5,
            lambda: per_byte()[2] / per_byte()[0],
        ),
    ]
