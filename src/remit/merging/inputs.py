"""Read the inputs of a merge: results, SARIF files and earlier merges, distinguished by their content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from remit.checking import Options, Verdict, check_text
from remit.contract.result_data import STATUSES
from remit.errors import shorten_error
from remit.evidence.sources import Sources
from remit.merging.adjust import build_report, report_of
from remit.merging.content import AgentError
from remit.merging.merge_data import Merge, Report
from remit.merging.previous import read_merge, reports_of
from remit.merging.sarif.read import read_sarif

#: Enough of a JSON file to recognise its format.
_PEEK = 65536
#: A file with such a name is always a result: an agent may have written all of it.
_DOCUMENTS = (".md", ".markdown", ".txt")
#: The most characters of the reason why an agent failed.
MAX_ERROR = 600


class Input(NamedTuple):
    """The content of one file."""

    reports: list[Report]
    earlier: Merge | None = None


def read_input(
    data: bytes,
    name: str,
    options: Options,
    sources: Sources,
    categories: Mapping[str, str] | None = None,
) -> Input:
    """Read the reports of one file."""
    head = data[:_PEEK].removeprefix(b"\xef\xbb\xbf").lstrip()
    if name.endswith((".sarif", ".sarif.json")):
        return Input(read_sarif(data, name, sources.workspace, categories or {}))
    if head.startswith(b"{") and not name.endswith(_DOCUMENTS):
        if b'"remit.merge/1"' in head:
            earlier = read_merge(data, name)
            return Input(reports_of(earlier), earlier)
        if b'"runs"' in head or b"sarif" in head[:2000].lower():
            return Input(read_sarif(data, name, sources.workspace, categories or {}))
    verdicts = check_text(data, name, options, sources)
    return Input([build_report(verdict, sources.workspace) for verdict in verdicts])


def from_verdict(verdict: Verdict, sources: Sources) -> Input:
    """Return the input for a checked result."""
    return Input([build_report(verdict, sources.workspace)])


def read_report(data: bytes, sender: str, options: Options, sources: Sources, decision: str | None = None) -> Report:
    """Read what one subagent sent as one report under its sender's name; `decision` is the one made when it arrived.

    The text is never SARIF, an earlier merge or the report of another agent. Several results in it are one report: all
    their findings, with the worst verdict and status.
    """
    verdicts = check_text(data, f"{sender}.md", options, sources)
    if decision is not None:
        verdicts = [msgspec.structs.replace(verdict, verdict=decision) for verdict in verdicts]
    return report_of(verdicts, sender, sources.workspace)


def failed_report(agent: str, error: str = "", options: Sequence[str] = ()) -> Report:
    """Return the report of an agent that sent nothing, or nothing that can be read, with the reason if it is known."""
    return with_error(Report(agent=agent, status=STATUSES[-1], verdict=None), error, options)


def with_error(report: Report, error: str, options: Sequence[str] = ()) -> Report:
    """Return a report with the reason why its agent failed and what to do, unless it states a reason itself."""
    if not error or report.sections.errors:
        return report
    message = shorten_error(" ".join(error.split()), MAX_ERROR)
    errors = (AgentError(agent=report.agent, type="RunFailed", message=message, recovery_options=tuple(options)),)
    return msgspec.structs.replace(report, sections=msgspec.structs.replace(report.sections, errors=errors))
