"""The operation `audit`: what do the sessions of the assistants show?"""

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
from remit.clients.transcripts.find import default_folders, find_transcripts
from remit.deciding_files import CLIENTS
from remit.errors import UsageError
from remit.operations.declaration import CLI, described
from remit.reports.audit_report import AuditReport

Client: TypeAlias = Literal[CLIENTS]  # type: ignore[valid-type] # the names are those of the only list
_SECONDS = {"h": 3600, "d": 86_400, "w": 7 * 86_400}
_PERIOD = re.compile(r"(\d{1,5})([hdw])")


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions that are read."""

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
    all: Annotated[bool, described("Name also the sessions without a fact.", on=CLI)] = False
    form: Annotated[Literal["text", "json"], described("The output format.", on=CLI, option="--format")] = "text"


def audit_sessions(wanted: Audit, progress: Callable[[str], None] = lambda _: None) -> AuditReport:
    """Read the transcripts and return the facts of their sessions."""
    paths = [Path(path).expanduser() for path in wanted.paths]
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise UsageError(f"{', '.join(missing)}: there is no such file or folder")
    clients = (wanted.client,) if wanted.client else CLIENTS
    files = find_transcripts(paths, clients, since_time(wanted.since))
    project = str(Path(wanted.project).expanduser()) if wanted.project else ""
    report = audit(files, progress, clients=clients, project=project)
    starts = paths or [folder for client in clients for folder in default_folders(client)]
    report.searched = ", ".join(display_home(str(start)) for start in starts)
    report.searched += f" since {wanted.since}" if wanted.since else ""
    return report


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
