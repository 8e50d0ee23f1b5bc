"""The operation `audit`: what did the assistants say that was not so?"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec

from remit.clients.setup.target import display_home
from remit.clients.transcripts.auditing import audit
from remit.clients.transcripts.find import TranscriptFile, default_folders, find_transcripts
from remit.deciding_files import CLIENTS
from remit.errors import UsageError
from remit.operations.declaration import CLI, described
from remit.reports.audit_report import ALL_OUTCOMES, AuditOutcome, AuditReport
from remit.workspace.safe_git import root_above

Client: TypeAlias = Literal[CLIENTS]  # type: ignore[valid-type] # the names are those of the only list
_SECONDS = {"h": 3600, "d": 86_400, "w": 7 * 86_400}
_PERIOD = re.compile(r"(\d{1,5})([hdw])")


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions whose statements are compared with their record."""

    paths: Annotated[list[str], described("", on=CLI, metavar="[PATH]...", is_argument=True)] = []
    since: Annotated[
        str | None,
        described("Only transcripts written since then: 12h, 30d, 4w or a date.", on=CLI, metavar="TIME"),
    ] = None
    client: Annotated[
        Client | None,
        described("Only the sessions of this client; default: all.", on=CLI),
    ] = None
    project: Annotated[
        str | None,
        described("Only the sessions in this folder or below it.", on=CLI, metavar="PATH"),
    ] = None
    unseen: Annotated[bool, described("List also the statements that no call of the record shows.", on=CLI)] = False
    all: Annotated[bool, described("List every statement, with the reason of its outcome.", on=CLI)] = False
    limit: Annotated[
        int,
        msgspec.Meta(ge=0),
        described("List at most this many statements on a terminal; 0: all.", on=CLI, metavar="NUMBER"),
    ] = 50
    form: Annotated[
        Literal["text", "json", "markdown", "html"], described("The output format.", on=CLI, option="--format")
    ] = "text"


def audit_sessions(wanted: Audit, progress: Callable[[str], None] = lambda _: None) -> AuditReport:
    """Read the transcripts and return what their own records contradict."""
    paths = [Path(path).expanduser() for path in wanted.paths]
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise UsageError(f"{', '.join(missing)}: there is no such file or folder")
    clients = (wanted.client,) if wanted.client else CLIENTS
    since = since_time(wanted.since)
    files = find_transcripts(paths, clients, since)
    outcomes: tuple[AuditOutcome, ...] = ("contradicted", "unseen") if wanted.unseen else ("contradicted",)
    project = str(Path(wanted.project).expanduser()) if wanted.project else ""
    listed = ALL_OUTCOMES if wanted.all else outcomes
    report = audit(files, progress, outcomes=listed, clients=clients, project=project)
    _describe_scope(report, wanted, paths, clients, since)
    return report


def _describe_scope(
    report: AuditReport, wanted: Audit, paths: list[Path], clients: tuple[str, ...], since: float
) -> None:
    """Add where was searched, and what the options left out, if nothing was found."""
    scope = report.scope
    starts = paths or [folder for client in clients for folder in default_folders(client)]
    scope.places = [display_home(str(start)) for start in starts]
    options = {"--client": wanted.client, "--project": wanted.project}
    scope.filters = [f"{option} {value}" for option, value in options.items() if value]
    if report.files:
        return
    scope.project_place = next((path for path in wanted.paths if root_above(Path(path).expanduser())), "")
    if since:
        scope.since = wanted.since or ""
        found = (entry for entry in find_transcripts(paths, clients) if isinstance(entry, TranscriptFile))
        scope.older = sum(entry.written < since for entry in found)


def since_time(text: str | None, now: float | None = None) -> float:
    """Return the time that `30d` or `2026-01-31` means, in seconds since 1970; 0 for none."""
    if text is None:
        return 0.0
    if (period := _PERIOD.fullmatch(text.strip())) is not None:
        return (time.time() if now is None else now) - int(period[1]) * _SECONDS[period[2]]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()  # without a time zone, it is local
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"--since {text!r}: write 12h, 30d, 4w or a date such as 2026-01-31") from error
