"""The list of jobs, and the page of one job: its tree, result and verdict, transcript, brief and cost."""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

import msgspec
import pyromark
from markupsafe import Markup, escape
from psycopg.rows import DictRow
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Token
from pygments.util import ClassNotFound
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit.operations.jobs import cancel_job, retry_job
from remit.reports.job_text import event_lines
from remit.reports.layout import plain_lines
from remit.secrets.scan import redact
from remit.store import dashboard, jobs
from remit.store.dashboard import JobFilter, TranscriptRows
from remit.store.events import Event
from remit.store.jobs import Job, Outcome, State
from remit.surfaces.server.page_formats import one_line, plain, tone
from remit.surfaces.server.site import (
    Site,
    before_of,
    choice_of,
    number_of,
    render,
    see_other,
    site_of,
    words_of,
)

#: Characters of one message, and lines of one result, that a page shows.
_MAX_TEXT = 50_000
_MAX_LINES = 5_000
_EVENT_COLUMNS = 200
#: Claims whose code has the colours of its language.
_MAX_COLOURED = 100
#: Parts of a message that are text, and how they are labelled.
_TEXTS = {
    "user-prompt": "Caller",
    "text": "Agent",
    "thinking": "Thoughts",
    "retry-prompt": "Correction",
    "system-prompt": "System",
}


class CallView(msgspec.Struct, kw_only=True):
    """A tool call of a transcript."""

    name: str
    summary: str
    arguments: Any
    output: str
    is_failed: bool
    state: str
    length: int = 0
    seconds: float | None = None


class MessageView(msgspec.Struct, kw_only=True):
    """A message of a transcript, or the tool calls of one turn."""

    speaker: str
    text: str
    calls: list[CallView] = []
    at: datetime | None = None
    #: Tokens that the model read and wrote for it.
    tokens: tuple[int, int] | None = None
    is_open: bool = False


class LineView(msgspec.Struct, kw_only=True):
    """A line of a result, and the violations and claims that are about it."""

    number: int
    text: str
    violations: list[dict[str, Any]] = []
    claims: list[dict[str, Any]] = []


class ReportView(msgspec.Struct, kw_only=True):
    """The verdict on the last result of a job."""

    verdict: str | None = None
    violations: list[dict[str, Any]] = []
    #: References with the code that they cite, as far as it was stored.
    references: list[dict[str, Any]] = []
    commit: str | None = None


def conversation_of(job: Job, transcript: TranscriptRows) -> list[MessageView]:
    """Return the messages of a job with their calls; the task is open, and the last message while the job runs."""
    calls: dict[str, list[CallView]] = {}
    for row in transcript.calls:  # the key of a call has its turn, since providers may use an id again
        calls.setdefault(str(row["call"]).partition(":")[2], []).append(_call(row))
    views = [MessageView(speaker="Task", text=redact(job.prompt[: 2 * _MAX_TEXT])[:_MAX_TEXT], at=job.created)]
    for row in transcript.messages:
        views.extend(_message_views(row, calls, is_first=row["number"] == 0))
    if rest := [call for waiting in calls.values() for call in waiting]:  # of a program, or of an answer to come
        views.append(MessageView(speaker="Tools", text="", calls=rest))
    views[0].is_open = True
    views[-1].is_open = views[-1].is_open or job.state != "finished" or not views[-1].text
    return views


def _message_views(row: DictRow, calls: dict[str, list[CallView]], *, is_first: bool) -> Iterable[MessageView]:
    message = row["message"] if isinstance(row["message"], dict) else {}
    parts = [part for part in message.get("parts", ()) if isinstance(part, dict)]
    made = [part for part in parts if part.get("part_kind") == "tool-call"]
    waiting = [calls.get(str(part.get("tool_call_id") or part.get("tool_name"))) for part in made]
    views_of_calls = [call_views.pop(0) for call_views in waiting if call_views]
    texts = [
        MessageView(speaker=_TEXTS[kind], text=_text(part.get("content")), at=row["created"])
        for part in parts
        if (kind := str(part.get("part_kind"))) in _TEXTS and not (is_first and kind == "user-prompt")
    ]
    views = [view for view in texts if view.text.strip()]
    if views_of_calls and views:
        views[-1].calls = views_of_calls
    elif views_of_calls:
        views = [MessageView(speaker="Agent", text="", calls=views_of_calls, at=row["created"])]
    if views and message.get("kind") == "response":
        views[-1].tokens = _tokens(message.get("usage"))
    return views


def _tokens(usage: object) -> tuple[int, int] | None:
    read, written = (usage.get(f"{name}_tokens") for name in ("input", "output")) if isinstance(usage, dict) else (0, 0)
    return (read, written) if isinstance(read, int) and isinstance(written, int) and read + written else None


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content[:_MAX_TEXT]
    if isinstance(content, list):
        return "\n".join(filter(None, map(_text, content)))[:_MAX_TEXT]
    return str(content.get("content") or content.get("text") or "")[:_MAX_TEXT] if isinstance(content, dict) else ""


def _call(row: DictRow) -> CallView:
    arguments = row["arguments"]
    values = arguments.values() if isinstance(arguments, dict) else [arguments]
    summary = " ".join(" ".join(str(value).split()) for value in values)[:160]
    seconds = (row["finished"] - row["started"]).total_seconds() if row["finished"] is not None else None
    return CallView(
        name=row["name"],
        summary=summary,
        arguments=arguments,
        output=row["output"] or "",
        is_failed=row["is_failed"],
        state=row["state"],
        length=row["length"] or 0,
        seconds=seconds,
    )


#: The fields of stored data that pages use: earlier versions did not store all of them.
_VIOLATION = {"rule": "", "code": "", "level": "", "line": 0, "message": "", "help": ""}
_REFERENCE: dict[str, Any] = {
    "text": "",
    "path": "",
    "line": None,
    "end_line": None,
    "outcome": "",
    "at": 0,
    "why": "",
    "found": None,
    "code": None,
}
_BRIEF: dict[str, Any] = {
    "system": "",
    "system_from": "",
    "contract": "",
    "tools": [],
    "tools_from": "",
    "withheld": [],
    "model": "",
    "model_from": "",
    "max_turns": "",
    "max_turns_from": "",
    "limits": {},
    "definition": None,
}


def brief_view(stored: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a stored brief with all fields that the page shows, or None if it was removed."""
    return {**_BRIEF, **stored} if stored is not None else None


def report_of(results: Sequence[Mapping[str, Any]]) -> ReportView:
    """Return the verdict on the last result. Reports of earlier versions have no references."""
    if not results:
        return ReportView()
    report = results[-1]["report"] if isinstance(results[-1]["report"], dict) else {}
    return ReportView(
        verdict=results[-1]["verdict"],
        violations=_entries(report.get("violations"), _VIOLATION),
        references=_references(report),
        commit=_commit(report),
    )


def _references(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    references = _entries(report.get("references"), _REFERENCE)
    for number, reference in enumerate(references):
        path = str(reference["path"]) if number < _MAX_COLOURED else ""
        reference["lines"] = excerpt(reference["code"], path)
    return references


def _commit(report: Mapping[str, Any]) -> str | None:
    commit = report.get("commit")
    return commit if isinstance(commit, str) and commit else None


def _entries(value: object, defaults: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{**defaults, **entry} for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def marked_lines(document: str, report: ReportView) -> list[LineView]:
    """Return the lines of a result with what the report states about each."""
    lines = [LineView(number=number, text=text) for number, text in enumerate(document.split("\n")[:_MAX_LINES], 1)]
    for violation in report.violations:
        line = violation.get("line")
        if isinstance(line, int) and 0 < line <= len(lines):
            lines[line - 1].violations.append(violation)
    for number, reference in enumerate(report.references, 1):
        line = reference.get("at")
        if isinstance(line, int) and 0 < line <= len(lines):
            lines[line - 1].claims.append({**reference, "number": number})
    return lines


def event_texts(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return events with a time and one line of text each; events without a text are left out."""
    texts = []
    for event in events:
        text = plain_lines(event_lines(event, _EVENT_COLUMNS))
        words = " ".join(text.split())[9:]  # without the time
        if words and event.kind != "text":
            texts.append({"at": event.at, "kind": event.kind, "text": words})
    return texts


STATES: tuple[str, ...] = get_args(State)
OUTCOMES: tuple[str, ...] = get_args(Outcome)
VERDICTS = ("accept", "revise", "reject")


def job_filter_of(request: Request) -> JobFilter:
    """Return which jobs a request asks for."""
    agent = request.query_params.get("agent", "")[:200]
    return JobFilter(
        state=choice_of(request, "state", STATES),
        verdict=choice_of(request, "verdict", VERDICTS),
        outcome=choice_of(request, "outcome", OUTCOMES),
        agent=agent if agent and agent.isprintable() else None,
        words=words_of(request),
    )


async def job_list(request: Request) -> Response:
    """List jobs by page, the newest first."""
    site, wanted = site_of(request), job_filter_of(request)
    rows, after = await dashboard.page_of_jobs(site.database, wanted, before_of(request))
    return render(
        request,
        "jobs.html",
        rows=rows,
        wanted=wanted,
        after=after,
        is_first=before_of(request) is None,
        agents=await dashboard.agent_names(site.database),
        searched=dashboard.MAX_SEARCHED,
        choices={"state": STATES, "verdict": VERDICTS, "outcome": OUTCOMES},
    )


async def job_page(request: Request) -> Response:
    """Show one job."""
    site = site_of(request)
    job = await jobs.get(site.database, number_of(request))
    results = await dashboard.results_of(site.database, job.id)
    transcript = await dashboard.transcript_of(site.database, job.id)
    report = report_of(results)
    document = results[-1]["document"] if results else job.result or ""
    return render(
        request,
        "job.html",
        job=job,
        tree=await dashboard.tree_of(site.database, job),
        plan=await dashboard.plan_of_job(site.database, job.id),
        brief=await _brief(site, job),
        report=report,
        lines=marked_lines(document, report),
        document=rendered(document, report.references, report.violations),
        earlier=[{**row, "violations": report_of([row]).violations} for row in results[:-1]],
        correction=difference(results[-2]["document"], document) if len(results) > 1 else (),
        conversation=conversation_of(job, transcript),
        receipts=transcript.receipts,
        events=event_texts(await dashboard.last_events(site.database, job.id)),
        can_retry=_can_retry(job),
    )


async def _brief(site: Site, job: Job) -> dict[str, Any] | None:
    row = await site.database.row("jobs.brief", digest=job.brief)
    return brief_view(row["brief"] if row else None)


def _can_retry(job: Job) -> bool:
    return job.state == "finished" and (job.outcome != "completed" or job.verdict == "revise")


async def cancel(request: Request) -> Response:
    """Cancel a job and show it again."""
    site, number = site_of(request), number_of(request)
    await cancel_job(site.database, site.settings, number)
    return see_other(f"/jobs/{number}")


async def retry(request: Request) -> Response:
    """Continue a job that did not complete, or let it correct its result, and show it again."""
    site, number = site_of(request), number_of(request)
    await retry_job(site.database, number)
    return see_other(f"/jobs/{number}")


ROUTES = (
    Route("/jobs", job_list),
    Route("/jobs/{number:number}", job_page),
    Route("/jobs/{number:number}/cancel", cancel, methods=["POST"]),
    Route("/jobs/{number:number}/retry", retry, methods=["POST"]),
)


_READER = pyromark.Markdown(options=pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_TASKLISTS)
#: Longer results are shown as lines only.
MAX_DOCUMENT = 60_000
#: Longer code keeps one colour: the expressions of a lexer can take long on hostile code.
_MAX_CODE, _MAX_CODE_LINE = 8_000, 300
_BLOCKS = {
    "Paragraph": "p",
    "BlockQuote": "blockquote",
    "Item": "li",
    "Table": "table",
    "TableHead": "tr",
    "TableRow": "tr",
    "Emphasis": "em",
    "Strong": "strong",
}
#: A result begins with a heading of level 2 below the heading of the page and of the section.
_HEADINGS = {f"H{level}": f"h{min(level + 1, 6)}" for level in range(1, 7)}
#: Where claims and violations of a line are written that no text of the line has.
_ENDS = ("</p>", "</li>", "</td></tr>", *(f"</{tag}>" for tag in _HEADINGS.values()))
_COLOURS: tuple[tuple[Any, str], ...] = (
    (Token.Comment, "comment"),
    (Token.Literal.String, "string"),
    (Token.Literal.Number, "number"),
    (Token.Keyword, "keyword"),
    (Token.Operator.Word, "keyword"),
    (Token.Name.Function, "name"),
    (Token.Name.Class, "name"),
    (Token.Name.Decorator, "name"),
)


class _Writer:
    """Writes the events of a Markdown text as HTML."""

    def __init__(self, text: str, claims: Iterable[Mapping[str, Any]], violations: Iterable[Mapping[str, Any]]) -> None:
        data = text.encode()
        self._starts = [0, *(position + 1 for position, byte in enumerate(data) if byte == 0x0A)]
        self._waiting: dict[int, list[Mapping[str, Any]]] = {}
        for claim in claims:
            self._waiting.setdefault(int(claim["at"]), []).append(claim)
        self._notes: dict[int, list[Mapping[str, Any]]] = {}
        for violation in violations:
            self._notes.setdefault(int(violation["line"]), []).append(violation)
        self._pieces: list[Markup] = []
        self._closing: list[Markup] = []
        self._cell = "td"
        #: The info string of the code block that is open.
        self._fence: str | None = None

    def line_of(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def write(self, text: str) -> Markup:
        for event, place in _READER.events_with_range(text):
            first, last = self.line_of(place["start"]), self.line_of(max(place["start"], place["end"] - 1))
            if isinstance(event, str):
                self._break(event)
            else:
                ((kind, value),) = event.items()
                self._event(kind, value, first, last)
        return Markup("").join(self._pieces)

    def _break(self, kind: str) -> None:
        self._pieces.append(
            {"SoftBreak": Markup("\n"), "HardBreak": Markup("<br>"), "Rule": Markup("<hr>")}.get(kind, Markup(""))
        )

    def _event(self, kind: str, value: Any, first: int, last: int) -> None:
        if kind == "Start":
            self._start(value)
        elif kind == "End":
            self._end(first, last)
        elif kind == "TaskListMarker":
            self._pieces.append(Markup("☑ ") if value else Markup("☐ "))
        elif kind == "Text" and self._fence is not None:
            self._code_block(str(value), first)
        elif kind == "Code":
            self._pieces.append(Markup("<code>{}</code>").format(self._marked(str(value), first, last)))
        else:  # text, and markup, which is shown as text
            self._pieces.append(self._marked(str(value), first, last))

    def _start(self, value: Any) -> None:
        kind: str
        details: Any
        kind, details = (value, None) if isinstance(value, str) else next(iter(value.items()))
        opening, closing = Markup(""), Markup("")
        if kind == "Heading":
            tag = _HEADINGS[details["level"]]
            opening, closing = Markup("<{}>").format(tag), Markup("</{}>").format(tag)
        elif kind == "CodeBlock":
            self._fence = str(details.get("Fenced", "")) if isinstance(details, dict) else ""
        elif kind == "List":
            tag = "ul" if details is None else "ol"
            opening = (
                Markup('<ol start="{}">').format(int(details))
                if details not in (None, 1)
                else Markup("<{}>").format(tag)
            )
            closing = Markup("</{}>").format(tag)
        elif kind == "TableCell":
            opening, closing = Markup("<{}>").format(self._cell), Markup("</{}>").format(self._cell)
        elif kind in _BLOCKS:
            self._cell = "th" if kind == "TableHead" else "td"
            opening = (
                Markup('<div class="table"><table class="rows">')
                if kind == "Table"
                else Markup("<{}>").format(_BLOCKS[kind])
            )
            closing = Markup("</table></div>") if kind == "Table" else Markup("</{}>").format(_BLOCKS[kind])
        self._pieces.append(opening)
        self._closing.append(closing)

    def _end(self, first: int, last: int) -> None:
        self._fence = None
        closing = self._closing.pop()
        if closing == "</tr>":  # what no cell has is written into the last one
            closing = self._pieces.pop() + closing
        if closing.endswith(_ENDS):  # a claim in words that no single text has
            for line in range(first, last + 1):
                self._pieces.extend(_mark(claim) for claim in self._waiting.pop(line, ()))
                self._pieces.extend(map(_note, self._notes.pop(line, ())))
        self._pieces.append(closing)

    def _code_block(self, code: str, first: int) -> None:
        name = (self._fence or "").split()[0:1]
        lines = []
        for number, line in enumerate(coloured_lines(code.rstrip("\n"), language=name[0] if name else ""), first):
            marks = [_mark(claim) for claim in self._waiting.pop(number, ())]
            lines.append(line + Markup("").join([*marks, *map(_note, self._notes.pop(number, ()))]))
        self._pieces.append(Markup('<pre class="block"><code>{}</code></pre>').format(Markup("\n").join(lines)))

    def _marked(self, text: str, first: int, last: int) -> Markup:
        """Return a text with the claims of its lines that it contains as links."""
        for line in range(first, last + 1):
            for claim in self._waiting.get(line, ()):
                before, words, after = text.partition(claim["text"]) if claim["text"] else (text, "", "")
                if words:
                    self._waiting[line].remove(claim)
                    return escape(plain(before)) + _mark(claim, plain(words)) + self._marked(after, first, last)
        return escape(plain(text))


def _mark(claim: Mapping[str, Any], words: str = "") -> Markup:
    """Return a claim as a link to its details; without its words, its outcome."""
    shown = (
        Markup("{}<small>{}</small>").format(words, one_line(claim["outcome"])) if words else one_line(claim["outcome"])
    )
    return Markup('<a class="claim {}" href="#claim-{}" title="{}">{}</a>').format(
        tone(claim["outcome"]), claim["number"], one_line(claim.get("why") or claim["outcome"]), shown
    )


def _note(violation: Mapping[str, Any]) -> Markup:
    """Return a violation as a note below its line."""
    return Markup('<span class="note {}">{} {}: {}</span>').format(
        tone(violation["level"]),
        one_line(violation["level"]),
        one_line(violation["rule"]),
        one_line(violation["message"]),
    )


def rendered(
    document: str, claims: Iterable[Mapping[str, Any]], violations: Iterable[Mapping[str, Any]] = ()
) -> Markup | None:
    """Return a result as HTML with its claims and violations in place, or None if it is too long."""
    if not document.strip() or len(document) > MAX_DOCUMENT:
        return None
    numbered = [{**claim, "number": number} for number, claim in enumerate(claims, 1)]
    return _Writer(document, filter(_has_line("at"), numbered), filter(_has_line("line"), violations)).write(document)


def _has_line(field: str) -> Callable[[Mapping[str, Any]], bool]:
    """Return whether an entry has a line: what is stored may be of another version."""
    return lambda entry: isinstance(entry.get(field), int)


def coloured_lines(code: str, *, path: str = "", language: str = "") -> list[Markup]:
    """Return the lines of code, each as HTML with the colours of its language."""
    lines = code.split("\n")
    lexer = _lexer(path, language)
    if lexer is None or len(code) > _MAX_CODE or max(map(len, lines)) > _MAX_CODE_LINE:
        return [escape(plain(line)) for line in lines]
    pieces: list[list[Markup]] = [[]]
    for kind, text in lexer.get_tokens(code):
        colour = next((name for parent, name in _COLOURS if kind in parent), "")
        for number, part in enumerate(text.split("\n")):
            if number:
                pieces.append([])
            if part:
                pieces[-1].append(_coloured(part, colour))
    return [Markup("").join(line) for line in pieces[: len(lines)]]


def _coloured(text: str, colour: str) -> Markup:
    return Markup('<span class="hl-{}">{}</span>').format(colour, plain(text)) if colour else escape(plain(text))


def _lexer(path: str, language: str) -> Lexer | None:
    """Return the lexer of a file's name or of a language; it keeps white space, so that lines stay lines."""
    options: Mapping[str, Any] = {"stripnl": False, "ensurenl": False}
    try:
        return get_lexer_by_name(language, **options) if language else get_lexer_for_filename(path, **options)
    except (ClassNotFound, ValueError):
        return None


def excerpt(code: Mapping[str, Any] | None, path: str) -> list[Markup]:
    """Return the lines of stored code in colours."""
    return coloured_lines(str(code["text"]), path=path) if code else []


def difference(before: str, after: str, limit: int = 2_000) -> Sequence[tuple[str, str]]:
    """Return the lines of a correction, each with its sign; nothing if the texts are equal or too long to compare."""
    old, new = before.split("\n"), after.split("\n")
    if before == after or max(len(old), len(new)) > limit:
        return ()
    lines = difflib.unified_diff(old, new, lineterm="", n=2)
    return [
        ("@" if line.startswith("@@") else line[0], "" if line.startswith("@@") else line[1:])
        for line in list(lines)[2:]
        if line
    ]
