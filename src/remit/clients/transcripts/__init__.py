"""Transcripts of clients as receipts. Several agents may write one transcript: a path can select the lines of one.

The readers are loaded when a transcript is read, because hooks and commands that read none import this module, too.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from remit.evidence.receipts import Transcript

_MARK = "#agent="


def of_agent(path: str, agent: str) -> str:
    """Return the path of a transcript, limited to one agent."""
    return f"{path}{_MARK}{agent}"


def split_agent(path: str) -> tuple[str, str]:
    """Return the file and the agent of such a path; "" for all agents."""
    file, mark, agent = path.rpartition(_MARK)
    return (file, agent) if mark and "/" not in agent else (path, "")


def read_transcripts(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Transcript]:
    """Yield the transcripts in order; raise UsageError at one that cannot be read. A path may be one of `of_agent`."""
    for path in paths:
        from remit.clients.transcripts.reading import read_transcript  # late: few checks have a transcript

        name = os.fspath(path)
        file, agent = split_agent(name)
        yield read_transcript(file, agent, name=name)
