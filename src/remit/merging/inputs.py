"""Read the inputs of a merge: results, SARIF files and earlier merges, distinguished by their content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from remit.checking import Options, Verdict, check_text, looks_like_path
from remit.contract.result_data import STATUSES
from remit.errors import UsageError, shorten_error
from remit.evidence.sources import Sources
from remit.merging.adjust import build_report, report_of
from remit.merging.content import AgentError
from remit.merging.earlier import read_merge
from remit.merging.merge_data import Merge, Report
from remit.merging.sarif.read import read_sarif

#: Enough of a JSON file to recognise its format.
_PEEK = 65536
#: A file with such a name is always a result: an agent may have written all of it.
_DOCUMENTS = (".md", ".markdown", ".txt")
#: The most characters of the reason why an agent failed.
MAX_ERROR = 600


class Named(NamedTuple):
    """The bytes of a document and its name, by which SARIF and results are distinguished."""

    name: str
    data: bytes


#: A result as text or bytes, a file, a named document, a verdict, a report that was judged before, or an earlier merge.
Mergeable = str | bytes | Path | Named | Verdict | Report | Merge


def read_inputs(
    results: Iterable[Mergeable], options: Options, sources: Sources, categories: Mapping[str, str]
) -> list[Merge | list[Report]]:
    """Return the earlier merges, and the reports of the other inputs.

    Among others, an input that cannot be parsed is one failed agent: the rest is merged.
    """
    everything = list(results)
    inputs: list[Merge | list[Report]] = []
    for result in everything:
        if isinstance(result, Merge):
            inputs.append(result)
        elif isinstance(result, Report):
            inputs.append([result])
        elif isinstance(result, Verdict):
            inputs.append([build_report(result, sources.workspace)])
        else:
            document = _named(result)
            try:
                inputs.append(_read(document, options, sources, categories))
            except UsageError as error:
                if len(everything) == 1:
                    raise
                inputs.append([failed_report(document.name, str(error))])
    return inputs


def _named(result: str | bytes | Path | Named) -> Named:
    if isinstance(result, Named):
        return result
    if isinstance(result, bytes):
        return Named("-", result)
    if isinstance(result, str) and not looks_like_path(result):
        return Named("-", result.encode("utf-8", "replace"))
    try:
        return Named(str(result), Path(result).read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{result}: {getattr(error, 'strerror', None) or error}") from error


def _read(document: Named, options: Options, sources: Sources, categories: Mapping[str, str]) -> Merge | list[Report]:
    name, data = document
    head = data[:_PEEK].removeprefix(b"\xef\xbb\xbf").lstrip()
    if name.endswith((".sarif", ".sarif.json")):
        return read_sarif(data, name, sources.workspace, categories)
    if head.startswith(b"{") and not name.endswith(_DOCUMENTS):
        if b'"remit.merge/' in head:
            return read_merge(data, name)
        if b'"runs"' in head or b"sarif" in head[:2000].lower():
            return read_sarif(data, name, sources.workspace, categories)
    return [build_report(verdict, sources.workspace) for verdict in check_text(data, name, options, sources)]


def read_report(data: bytes, sender: str, options: Options, sources: Sources, decision: str | None = None) -> Report:
    """Read what one subagent sent as one report under its sender's name; `decision` is the one made when it arrived.

    The text is never SARIF, an earlier merge or the report of another agent. Several results in it are one report: all
    their findings, with the worst verdict and status.
    """
    verdicts = check_text(data, f"{sender}.md", options, sources)
    if decision is not None:
        verdicts = [msgspec.structs.replace(verdict, verdict=decision) for verdict in verdicts]
    return report_of(verdicts, sender, sources.workspace)


def failed_report(agent: str, error: str = "", options: Sequence[str] = (), *, is_final: bool = False) -> Report:
    """Return the report of an agent that sent nothing, or nothing that can be read, with the reason if it is known."""
    return with_error(Report(agent=agent, status=STATUSES[-1], verdict=None), error, options, is_final=is_final)


def with_error(report: Report, error: str, options: Sequence[str] = (), *, is_final: bool = False) -> Report:
    """Return a report with the reason why its agent failed and what to do, unless it states a reason itself.

    `is_final`: it was started again before, so that it is not to be retried.
    """
    recoverable = "false" if is_final else ""
    errors = report.sections.errors
    if not errors and (error or is_final):
        message = shorten_error(" ".join(error.split()), MAX_ERROR) or "it failed again"
        errors = (
            AgentError(
                agent=report.agent,
                type="RunFailed",
                message=message,
                recoverable=recoverable,
                recovery_options=tuple(options),
            ),
        )
    elif errors and is_final:
        errors = tuple(msgspec.structs.replace(each, recoverable=recoverable) for each in errors)
    return msgspec.structs.replace(report, sections=msgspec.structs.replace(report.sections, errors=errors))
