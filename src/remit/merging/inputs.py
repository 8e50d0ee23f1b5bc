"""Read the inputs of a merge: results, SARIF files and earlier merges, distinguished by their content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from remit.checking import Options, Verdict, check_text
from remit.evidence.sources import Sources
from remit.merging.adjust import build_report
from remit.merging.model import Merge, Report
from remit.merging.previous import read_merge, reports_of
from remit.merging.sarif.read import read_sarif

#: Enough of a JSON file to recognise its format.
_PEEK = 65536


class Input(NamedTuple):
    """The content of one file."""

    reports: list[Report]
    earlier: Merge | None = None


def read_input(
    data: bytes, name: str, options: Options, sources: Sources, categories: Mapping[str, str] | None = None
) -> Input:
    """Read the reports of one file."""
    head = data[:_PEEK].removeprefix(b"\xef\xbb\xbf").lstrip()
    if name.endswith((".sarif", ".sarif.json")):
        return Input(read_sarif(data, name, sources.workspace, categories or {}))
    if head.startswith(b"{"):
        if b'"remit.merge/1"' in head:
            earlier = read_merge(data, name)
            return Input(reports_of(earlier), earlier)
        if b'"runs"' in head or b"sarif" in head[:2000].lower():
            return Input(read_sarif(data, name, sources.workspace, categories or {}))
    return Input([build_report(verdict, sources.workspace) for verdict in check_text(data, name, options, sources)])


def from_verdict(verdict: Verdict, sources: Sources) -> Input:
    """Return the input for a checked result."""
    return Input([build_report(verdict, sources.workspace)])
