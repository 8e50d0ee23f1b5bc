"""Keep the lines of an output that may show the outcome of a run, a commit or a push."""

from __future__ import annotations

from remit.evidence.commands import only_reads
from remit.lazy import lazy_pattern

#: How much of an output and of a line is looked at, and how many lines are kept.
_MAX_OUTPUT = 2_000_000
MAX_LINE = 300
_MAX_FIRST = 40
_MAX_LAST = 80
_KEPT_END = 3

#: The escape sequences of a terminal.
_ESCAPES = lazy_pattern(
    r"\[[0-9;]{1,12}m|\[m(?![\w-])|\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)?|[@-Z\\^_])"
)
#: Files that may have the output of a run.
_LOG_FILE = lazy_pattern(r"\.(?:log|txt|out|output|err|json|xml)\b|/tmp/|/dev/shm/")
#: Parts of the lines of an output that may show an outcome, in any case, ...
_TELLING = tuple(
    """
    pass|fail|error|success|succeed|not found|no tests|problem|formatted|built|build|finished|nothing to commit|rejected
    |up-to-date|->|***|exit|status|runs,|tests,|examples,|tests run|issues|offenses|code|fatal|cannot|recognized
    |missing script|skip|ignored|pending|todo|no test|no-source|1..0
    """.replace("\n    ", "")
    .strip()
    .split("|")
)
#: ... and what is only telling as a word, at the end of a line, or before a number or a hash.
_TELLING_WORD = lazy_pattern(
    r"\bok\b|\brc\b|warnings?$|=\d|ran \d+ tests?|> task \S*test\b|\[[^\]\n]{1,200} [0-9a-f]{7,40}\]"
)


def kept_output(command: str, output: str) -> str:
    """Return the lines of an output that may show the outcome of a run, a commit or a push; bounded."""
    if command and only_reads(command) and not _LOG_FILE.search(command):
        return ""
    first: list[str] = []
    last: list[str] = []
    lines = without_escapes(output[-_MAX_OUTPUT:]).split("\n")
    # A progress display overwrites its line.
    lines = [(line.rstrip("\r").rpartition("\r")[2] if "\r" in line else line)[:MAX_LINE] for line in lines]
    for number, line in enumerate(lines):
        if not (number >= len(lines) - _KEPT_END or _is_telling(line.lower())):
            continue
        if len(first) < _MAX_FIRST:
            first.append(line)
        else:
            last.append(line)
            if len(last) > 2 * _MAX_LAST:
                del last[:_MAX_LAST]
    return "\n".join((*first, *last[-_MAX_LAST:])).strip("\n")


def _is_telling(lower: str) -> bool:
    return any(part in lower for part in _TELLING) or _TELLING_WORD.search(lower) is not None


def without_escapes(output: str) -> str:
    """Return an output without colours, links and movements of the cursor: `1 failed` may be printed in red."""
    return _ESCAPES.sub("", output) if "\x1b" in output or "[m" in output or "[0m" in output else output


def kept_log(path: str, content: str) -> str | None:
    """Return these lines of a file that a call showed, if it may have the output of a run; else None."""
    return kept_output("", content) if _LOG_FILE.search(path) and not path.endswith((".json", ".xml")) else None
