"""Verdicts as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from remit.checking import Verdict
from remit.reports.shapes import check_shape


def check_json(verdicts: Sequence[Verdict], repository: str | None = None) -> str:
    """The report in the shape `remit.check/1`."""
    return pretty(check_shape(verdicts, repository))


def pretty(value: Any) -> str:
    """JSON for people and programs: indented, keys as given, non-ASCII as it is."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
