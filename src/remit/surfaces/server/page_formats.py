"""How pages write times, amounts and states. Templates use these functions as filters; the templates escape."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from remit.reports.layout import escape_control
from remit.secrets.scan import redact

_GOOD, _WARN, _BAD, _LIVE = "good", "warn", "bad", "live"
#: State, outcome, verdict or severity -> its colour. Others have none.
TONES: Mapping[str, str] = {
    **dict.fromkeys(("accept", "accepted", "completed", "confirm", "confirmed", "allow", "verified", "done"), _GOOD),
    **dict.fromkeys(("exists", "continue", "SUCCESS", "alive", "sent back and corrected"), _GOOD),
    **dict.fromkeys(("revise", "waiting", "escalated", "cancelled", "max-turns", "budget", "ask", "warn"), _WARN),
    **dict.fromkeys(("relocated", "outdated", "unseen"), _WARN),
    **dict.fromkeys(("important", "review", "retry", "PARTIAL", "returned", "L2"), _WARN),
    **dict.fromkeys(("reject", "rejected", "error", "failed", "timeout", "refused", "truncated", "deny"), _BAD),
    **dict.fromkeys(
        (
            "contradicted",
            "mismatch",
            "missing-file",
            "out-of-range",
            "critical",
            "stuck",
            "FAILED",
            "L1",
            "sent back",
        ),
        _BAD,
    ),
    **dict.fromkeys(("running", "live"), _LIVE),
}
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
#: Characters of a task in a list. Queries return more, so that no secret is cut off before it is recognised.
_TASK_COLUMNS = 160
_EMPHASIS = re.compile(r"\*\*(?=\S)([^*\n]{1,200})(?<=\S)\*\*")


def tone(word: object) -> str:
    """Return the colour of a state."""
    return TONES.get(str(word), "")


def ago(time: datetime | None) -> str:
    """Return how long ago a time is, such as `3 min`."""
    return duration((datetime.now(UTC) - time).total_seconds()) if time is not None else ""


def duration(seconds: float | None) -> str:
    """Return a duration in its two largest units."""
    if seconds is None:
        return ""
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return f"{max(0.0, seconds):.1f} s" if 0 < seconds < 10 else f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s" if whole < 10 * _MINUTE else f"{whole // _MINUTE} min"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def between(start: datetime | None, end: datetime | None) -> str:
    """Return the time from a start to an end, or until now."""
    return duration(((end or datetime.now(UTC)) - start).total_seconds()) if start is not None else ""


def stamp(time: datetime | None) -> str:
    """Return a time in the server's time zone, to the second."""
    return f"{time.astimezone():%Y-%m-%d %H:%M:%S}" if time is not None else ""


def iso(time: datetime | None) -> str:
    """Return a time for a machine."""
    return time.astimezone(UTC).isoformat(timespec="seconds") if time is not None else ""


def money(amount: float | None) -> str:
    """Return an amount in dollars; small amounts with four digits."""
    if amount is None:
        return "–"
    return f"${float(amount):,.2f}" if not amount or abs(amount) >= 0.1 else f"${float(amount):.4f}"


def count(number: float | None) -> str:
    """Return a number with separators; large ones in thousands or millions."""
    if number is None:
        return "–"
    if number >= 10_000_000:
        return f"{number / 1_000_000:.1f} M"
    return f"{number / 1000:.1f} k" if number >= 100_000 else f"{number:,.0f}"


def percent(share: float | None) -> str:
    """Return a share in percent."""
    return "–" if share is None else f"{share:.0%}" if share in (0, 1) else f"{share:.1%}"


def plain(text: object) -> str:
    """Return a text without the control characters that could reorder or hide it."""
    return "\n".join(map(escape_control, str(text).split("\n")))


def text_parts(text: object) -> list[tuple[bool, str]]:
    """Return the parts of a Markdown text in order: whether each is a block of code, and its lines."""
    parts: list[tuple[bool, list[str]]] = [(False, [])]
    for line in str(text).split("\n"):
        is_code = parts[-1][0]
        if line.strip().startswith("```") and (not is_code or line.strip() == "```"):
            parts.append((not is_code, []))
        else:
            parts[-1][1].append(line)
    joined = [(is_code, "\n".join(lines).strip("\n")) for is_code, lines in parts]
    return [(is_code, part) for is_code, part in joined if part.strip()]


def emphasized(text: object) -> Markup:
    """Return a text in which `**words**` are emphasized; everything else is escaped."""
    pieces = _EMPHASIS.split(plain(text))
    return Markup("").join(
        Markup("<b>{}</b>").format(piece) if number % 2 else piece for number, piece in enumerate(pieces)
    )


def one_line(text: object) -> str:
    """Return a text as one line."""
    return escape_control(" ".join(str(text).split()))


def task_line(text: object) -> str:
    """Return the beginning of a task as one line without secrets, which the task itself must contain."""
    line = one_line(redact(str(text)))
    return line if len(line) <= _TASK_COLUMNS else line[:_TASK_COLUMNS].rpartition(" ")[0] + " …"


def as_json(value: Any) -> str:
    """Return a value as indented JSON."""
    return plain(json.dumps(value, indent=2, ensure_ascii=False, default=str))


FILTERS: dict[str, Callable[..., Any]] = {
    "ago": ago,
    "as_json": as_json,
    "between": between,
    "count": count,
    "duration": duration,
    "emphasized": emphasized,
    "iso": iso,
    "money": money,
    "one_line": one_line,
    "percent": percent,
    "plain": plain,
    "stamp": stamp,
    "task_line": task_line,
    "text_parts": text_parts,
    "tone": tone,
}
