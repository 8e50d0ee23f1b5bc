"""SARIF 2.1.0 of any tool, read as reports: one for each run, every result held against the checkout.

Nothing in the file is trusted. It is opened level by level, so that a broken result costs only itself and a
file made to fill the memory does not; what is missing or of a wrong type is taken as not said.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

import msgspec

from remit.contract.findings import Severity
from remit.contract.kinds import slug
from remit.errors import UsageError
from remit.evidence.model import Outcome, Quote
from remit.evidence.quotes import MIN_MOVED, Quotes
from remit.evidence.references import shown_path
from remit.merging.adjust import UNSCORED, penalty, verified
from remit.merging.model import Opinion, Report, Sighting
from remit.workspace.files import Absent, SourceFile, Workspace
from remit.workspace.paths import normal

MAX_BYTES = 64 * 1024 * 1024
MAX_RUNS = 1_000
#: Results of one file that are read; a run that has more is PARTIAL.
MAX_RESULTS = 100_000
MAX_TITLE = 300
MAX_DETAILS = 20_000
#: As much of a text as a title is looked for in.
_MAX_HEAD = 1_000
_MAX_NAME = 200
_MAX_PATH = 2_048
_MAX_LINE = 2**31 - 1
_MAX_BASES = 16
_MAX_TAGS = 100
_MAX_FILLED = 50
#: A rule's words stand in each of its results: together they must not outgrow the file by far.
_MAX_WORDS = 64 * 1024 * 1024
#: Characters in which snippets are counted to make fingerprints.
_MAX_COUNTED = 1024 * 1024 * 1024

_LEVELS: dict[str, Severity] = {"error": "critical", "warning": "important", "note": "minor", "none": "minor"}
#: Tools that call everything an error: the word says nothing of how bad a finding is.
_UNGRADED = frozenset({"ruff", "golangci-lint"})
_CERTAINTY = {"very-high": 95.0, "high": 90.0, "medium": 70.0, "low": 50.0}
#: Tags that are categories; the first of these that a rule carries counts.
_TAGS = ("security", "performance", "testing", "documentation", "architecture", "quality")
#: For rules without such a tag; keys as in the configured table.
_KNOWN_TOOLS = {
    **dict.fromkeys(("bandit/*", "semgrep*/*", "codeql/*", "gosec/*", "brakeman/*", "ruff/S"), "security"),
    "ruff/D": "documentation",
    "ruff/PERF": "performance",
    "ruff/*": "quality",
}

_SURROGATE = re.compile(rb"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[dD][89a-fA-F][\da-fA-F]{2}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]+:")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{\d+\}")
_TEMPLATE = re.compile(r"\{\w*\}")
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\(\d+\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")

T = TypeVar("T")
_Fields = dict[str, msgspec.Raw]


def read_sarif(data: bytes, name: str, workspace: Workspace | None, categories: Mapping[str, str]) -> list[Report]:
    """One report for each run of a SARIF file."""
    return open_sarif(data, name, workspace, categories)[0]


def open_sarif(
    data: bytes, name: str, workspace: Workspace | None, categories: Mapping[str, str]
) -> tuple[list[Report], Counter[str]]:
    """One report for each run, and how many results were left out, by reason.

    A key of `categories` is a rule, `tool/rule`, a family of rules (the letters they begin with) or a pattern.
    """
    if len(data) > MAX_BYTES:
        raise UsageError(f"{name}: {len(data) >> 20} MiB of SARIF, at most {MAX_BYTES >> 20} are read: split it")
    log = _opened(_as_utf8(data), _Fields)
    runs = _opened(log.get("runs"), list[msgspec.Raw]) if log is not None else None
    if log is None or runs is None:
        raise UsageError(f"{name}: not SARIF: it is no JSON object with a list of runs")
    version = _opened(log.get("version"), str)
    if version and not version.startswith("2.1."):
        raise UsageError(f"{name}: SARIF {version[:20]!r} is not read, only 2.1.0")
    if len(runs) > MAX_RUNS:
        raise UsageError(f"{name}: {len(runs)} runs, at most {MAX_RUNS} are read: split it")
    stem = slug(PurePath(name).stem[:_MAX_NAME]) or "unknown"
    reader = _Reader(workspace, categories, stem)
    reports = [reader.report(_opened(run, _Fields) or {}) for run in runs]
    return reports or [Report(agent=stem, status="FAILED", verdict=None)], reader.left_out


def _as_utf8(data: bytes) -> bytes:
    """The file without a byte order mark, bytes that are no text, and halves of characters."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    data = data.decode(encoding, "replace").encode("utf-8", "replace")
    return _SURROGATE.sub(lambda found: found[0] if len(found[0]) == 12 else b"\\ufffd", data)


def _opened(raw: bytes | msgspec.Raw | None, kind: type[T]) -> T | None:
    """One level of the file; None if it is not there, broken, or of another kind."""
    try:
        return msgspec.json.decode(raw, type=kind) if raw is not None else None
    except (ValueError, RecursionError):
        return None


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object, most: int = MAX_DETAILS) -> str:
    if not isinstance(value, str):
        return ""
    return value if len(value) <= most else value[: most - 1] + "…"


def _number(value: object) -> float | None:
    """A number, also one that is written as a string."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number <= 100 else None


def _at(values: list[Any], index: object) -> Any:
    """The value at an index that may be anything."""
    return values[index] if type(index) is int and 0 <= index < len(values) else None


class _Tool:
    """The tool of a run: its name, its rules and its messages."""

    def __init__(self, tool: dict[str, Any], stem: str) -> None:
        driver = _dict(tool.get("driver"))
        self.name = slug(_text(driver.get("name"), _MAX_NAME)) or stem
        components = [driver, *map(_dict, _list(tool.get("extensions")))]
        self._rules, *self._packs = ([_dict(rule) for rule in _list(each.get("rules"))] for each in components)
        rules = (rule for pack in (*reversed(self._packs), self._rules) for rule in reversed(pack))
        self._by_id = {_text(rule.get("id")): rule for rule in rules}
        self._strings = _dict(driver.get("globalMessageStrings"))

    def rule(self, result: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The id and the rule of a result, found by its index or its id."""
        reference = _dict(result.get("rule"))
        name = _text(result.get("ruleId")) or _text(reference.get("id"))
        rules = _at(self._packs, _dict(reference.get("toolComponent")).get("index")) or self._rules
        rule = _dict(_at(rules, result.get("ruleIndex")) or _at(rules, reference.get("index")))
        own = _text(rule.get("id"))
        if name and name != own and not (own and name.startswith(f"{own}/")):
            rule = self._by_id.get(name) or self._by_id.get(name.rpartition("/")[0]) or {}
        return _text(name or own, _MAX_NAME), rule

    def message(self, result: dict[str, Any], rule: dict[str, Any], most: int) -> str:
        """What a result says, its placeholders filled in and its links made words."""
        message = _dict(result.get("message"))
        text = _text(message.get("text"), most)
        for strings in (_dict(rule.get("messageStrings")), self._strings):
            text = text or _text(_dict(strings.get(_text(message.get("id")))).get("text"), most)
        arguments = [_text(argument, 1_000) for argument in _list(message.get("arguments"))]
        if arguments:
            values = {"{{": "{", "}}": "}", **{f"{{{at}}}": argument for at, argument in enumerate(arguments)}}
            text = _PLACEHOLDER.sub(lambda found: values.get(found[0], found[0]), text, count=_MAX_FILLED)
        return _text(_LINK.sub(r"\1", text), most)


class _Places:
    """The paths of a run's artifacts."""

    def __init__(self, bases: dict[str, Any], artifacts: list[Any], workspace: Workspace | None) -> None:
        self._bases = bases
        self._artifacts = artifacts
        self._workspace = workspace
        self._known: dict[tuple[str, str], str] = {}

    def path(self, location: dict[str, Any]) -> str | None:
        """The path relative to the checkout; one that leads outside stays absolute."""
        if not _text(location.get("uri")):
            location = _dict(_dict(_at(self._artifacts, location.get("index"))).get("location"))
        key = (_text(location.get("uri"), _MAX_PATH), _text(location.get("uriBaseId"), _MAX_NAME))
        if key not in self._known:
            self._known[key] = self._resolved(*key)
        return self._known[key] or None

    def _resolved(self, uri: str, base: str) -> str:
        below, seen = uri, set[str]()
        while uri and not _ABSOLUTE.match(uri) and base in self._bases and base not in seen:
            if len(seen) == _MAX_BASES or len(uri) > _MAX_PATH:
                break
            seen.add(base)
            here = _dict(self._bases[base])
            below, above = uri, _text(here.get("uri"), _MAX_PATH)
            uri = f"{above.rstrip('/')}/{uri}" if above else uri
            base = _text(here.get("uriBaseId"), _MAX_NAME)
        path, workspace = _text(_decoded(uri), _MAX_PATH), self._workspace
        if workspace is not None and seen and _ABSOLUTE.match(path) and normal(path, str(workspace.root)) is None:
            # A base is where the files lay when the tool ran; on another machine it stands for the checkout.
            moved = normal(_decoded(below), str(workspace.root))
            path = moved if moved and workspace.exists(moved) else path
        outside = _SCHEME.match(path) or (workspace is None and path.startswith("/"))
        return path if outside else shown_path(path, workspace)


def _decoded(uri: str) -> str:
    """The path that a URI stands for; one of another scheme is left alone."""
    if not uri.lower().startswith("file:"):
        return uri if _SCHEME.match(uri) else unquote(uri)
    path = unquote(uri[5:])
    if path.startswith("//"):
        host, _, rest = path[2:].partition("/")
        path = f"/{rest}" if host.lower() in ("", "localhost") else path
    return path


class _Claim(NamedTuple):
    """A result as the tool states it: its score and place not yet held against the checkout."""

    stated: Sighting
    snippet: str
    is_broken: bool


class _Reader:
    """Reads the runs of one file, within limits that hold for all of them together."""

    def __init__(self, workspace: Workspace | None, categories: Mapping[str, str], stem: str) -> None:
        self.left_out: Counter[str] = Counter()
        self._workspace = workspace
        self._categories = categories
        self._looked_up: dict[tuple[str, str], list[str | None]] = {}
        self._stem = stem
        self._quotes = Quotes(workspace) if workspace is not None else None
        self._results = MAX_RESULTS
        self._words = _MAX_WORDS
        self._counted = _MAX_COUNTED

    def report(self, run: _Fields) -> Report:
        """What one run brings."""
        tool = _Tool(_opened(run.get("tool"), dict) or {}, self._stem)
        bases, artifacts = _opened(run.get("originalUriBaseIds"), dict), _opened(run.get("artifacts"), list)
        places = _Places(bases or {}, artifacts or [], self._workspace)
        results = _opened(run.get("results"), list[msgspec.Raw])
        left_out: Counter[str] = Counter()
        claims = list(self._claims(results or [], tool, places, left_out))
        self.left_out += left_out
        calls = map(_dict, _opened(run.get("invocations"), list) or [])
        failed = any(call.get("executionSuccessful") is False for call in calls)
        whole = results is not None and not left_out["unreadable"] + left_out["over the limit"]
        return Report(
            agent=tool.name,
            status="FAILED" if failed else "SUCCESS" if whole else "PARTIAL",
            verdict=None,
            sightings=tuple(self._sightings(claims)),
        )

    def _claims(
        self, results: list[msgspec.Raw], tool: _Tool, places: _Places, left_out: Counter[str]
    ) -> Iterator[_Claim]:
        taken = results[: self._results]
        self._results -= len(taken)
        left_out["over the limit"] += len(results) - len(taken)
        for raw in taken:
            result = _opened(raw, dict)
            why = "unreadable" if result is None else _no_finding(result)
            if result is None or why:
                left_out[why] += 1
            else:
                yield self._claim(result, tool, places)

    def _claim(self, result: dict[str, Any], tool: _Tool, places: _Places) -> _Claim:
        name, rule = tool.rule(result)
        message = tool.message(result, rule, MAX_DETAILS if self._words > 0 else _MAX_HEAD)
        locations = (_dict(_dict(each).get("physicalLocation")) for each in _list(result.get("locations")))
        physical = next((found for found in locations if found), {})
        line, end_line, is_broken = _region(physical)
        score, unscored = _score(result, rule)
        title = _title(message, rule) or name or "a result without a message"
        sighting = Sighting(
            opinion=Opinion(
                agent=tool.name,
                id=name,
                severity=_severity(result, rule, tool.name),
                confidence=score,
                line=line,
                title=title,
                details=self._details(message if message != title else "", rule),
            ),
            path=places.path(_dict(physical.get("artifactLocation"))),
            end_line=end_line,
            category=self._category(tool.name, name, result, rule),
            verified=None,
            unscored=unscored,
            flags=("needs-review",) if result.get("kind") in ("open", "review") else (),
        )
        return _Claim(sighting, _snippet(physical), is_broken)

    def _details(self, message: str, rule: dict[str, Any]) -> str:
        if self._words <= 0:
            return ""
        more = (_text(_dict(rule.get(key)).get("text")) for key in ("fullDescription", "help"))
        words = [message, next((text for text in more if text and text not in message), "")]
        details = _text("\n\n".join(filter(None, words)))
        self._words -= len(details)
        return details

    def _category(self, tool: str, name: str, result: dict[str, Any], rule: dict[str, Any]) -> str:
        properties = (_dict(rule.get("properties")), _dict(result.get("properties")))
        tags = {_text(tag, _MAX_NAME).lower() for each in properties for tag in _list(each.get("tags"))[:_MAX_TAGS]}
        tagged = next((tag for tag in _TAGS if tag in tags), None)
        if (tool, name) not in self._looked_up:
            tables = (self._categories, _KNOWN_TOOLS)
            self._looked_up[tool, name] = [_looked_up(table, tool, name) for table in tables]
        configured, usual = self._looked_up[tool, name]
        return (configured or tagged or usual or "general").lower()

    def _sightings(self, claims: list[_Claim]) -> Iterator[Sighting]:
        """By file, so that each is read once even where all of them do not fit in memory."""
        workspace, quotes = self._workspace, self._quotes
        for claim in sorted(claims, key=lambda claim: claim.stated.path or ""):
            if workspace is None or quotes is None or claim.stated.path is None:
                yield claim.stated
            else:
                yield self._settled(claim, workspace.read(claim.stated.path), quotes)

    def _settled(self, claim: _Claim, file: SourceFile | Absent, quotes: Quotes) -> Sighting:
        stated, said, end_line = claim.stated, claim.stated.opinion, claim.stated.end_line
        quote = Quote(path=stated.path or "", line=said.line, end_line=end_line, at=0, text=claim.snippet)
        outcome = _outcome(claim, file, quote, quotes)
        line = said.line
        if outcome == "relocated" and quote.found is not None and quote.found.line is not None:
            end_line = quote.found.line + end_line - line if end_line is not None and line is not None else None
            line = quote.found.line
        confidence = max(0.0, said.confidence - penalty([outcome]))
        return msgspec.structs.replace(
            stated,
            opinion=msgspec.structs.replace(said, line=line, confidence=confidence),
            end_line=end_line,
            verified=verified([outcome]),
            fingerprint=self._fingerprint(quote, file) if outcome in ("verified", "relocated") else "",
        )

    def _fingerprint(self, quote: Quote, file: SourceFile | Absent) -> str:
        """Of a snippet that stands exactly once in its file, made as for the quotes of results."""
        code = " ".join(quote.text.split())
        if not isinstance(file, SourceFile) or len(code.replace(" ", "")) < MIN_MOVED or self._counted < 0:
            return ""
        self._counted -= len(file.text)
        once = file.collapsed.text.count(code) == 1
        return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()[:16] if once else ""


def _no_finding(result: dict[str, Any]) -> str:
    """Why a result is no finding; empty: it is one."""
    if result.get("kind") in ("pass", "notApplicable"):
        return "no fault"
    if result.get("baselineState") == "absent":
        return "gone"
    suppressions = [each for each in _list(result.get("suppressions")) if isinstance(each, dict)]
    accepted = all(each.get("status") in (None, "accepted") for each in suppressions)
    return "suppressed" if suppressions and accepted else ""


def _region(physical: dict[str, Any]) -> tuple[int | None, int | None, bool]:
    """First line, last line if it is another, and whether the region makes no sense."""
    region = physical.get("region")
    start, end = _dict(region).get("startLine"), _dict(region).get("endLine")
    if start is None and end is None:
        return None, None, region is not None and not isinstance(region, dict)
    line, last = (each if type(each) is int and 0 < each <= _MAX_LINE else None for each in (start, end))
    if line is None or (end is not None and last is None):
        return line, None, True
    if last is not None and last > line and _dict(region).get("endColumn") == 1:
        last -= 1  # it ends before the first character of that line
    return line, last if last is not None and last > line else None, last is not None and last < line


def _snippet(physical: dict[str, Any]) -> str:
    """The code that a result quotes; of a very long one the first lines."""
    text = _dict(_dict(physical.get("region")).get("snippet")).get("text")
    if not isinstance(text, str):
        return ""
    return text if len(text) <= MAX_DETAILS else text[:MAX_DETAILS].rpartition("\n")[0]


def _title(message: str, rule: dict[str, Any]) -> str:
    short = _text(_dict(rule.get("shortDescription")).get("text"), _MAX_HEAD)
    if not short.strip() or _TEMPLATE.search(short):
        short = _SENTENCE_END.split(_text(message.strip(), _MAX_HEAD).partition("\n")[0], maxsplit=1)[0]
    return _text(" ".join(short.split()), MAX_TITLE)


def _severity(result: dict[str, Any], rule: dict[str, Any], tool: str) -> Severity:
    for bag in (_dict(result.get("properties")), _dict(rule.get("properties"))):
        score = _number(bag.get("security-severity"))
        if score is not None:
            return "critical" if score >= 9 else "important" if score >= 4 else "minor"
    level = result.get("level")
    if not (isinstance(level, str) and level in _LEVELS):
        is_fault = result.get("kind", "fail") == "fail"
        level = _text(_dict(rule.get("defaultConfiguration")).get("level")) if is_fault else "none"
    return "important" if level == "error" and tool in _UNGRADED else _LEVELS.get(level, "important")


def _score(result: dict[str, Any], rule: dict[str, Any]) -> tuple[float, bool]:
    """How sure the tool is, 0 to 100, and whether it does not say."""
    rank, own = result.get("rank"), _dict(result.get("properties"))
    if not isinstance(rank, str) and (score := _number(rank)) is not None:
        return score, False
    for said in (own.get("confidence"), own.get("issue_confidence"), _dict(rule.get("properties")).get("precision")):
        if isinstance(said, str) and said.lower() in _CERTAINTY:
            return _CERTAINTY[said.lower()], False
        if (score := _number(said)) is not None:
            return score * 100 if score <= 1 else score, False  # a share or per cent
    return UNSCORED, True


def _looked_up(table: Mapping[str, str], tool: str, rule: str) -> str | None:
    """The category of a rule: by its name, else by the longest key that is its family or a pattern for it."""
    names = (f"{tool}/{rule}", rule)
    for name in names:
        if name in table:
            return table[name]
    family = re.match(r"[A-Za-z]*", rule)
    families = (f"{tool}/{family[0]}", family[0]) if family else ()
    keys = [key for key in table if key in families or any(fnmatchcase(name, key) for name in names)]
    return table[max(keys, key=lambda key: (len(key), key))] if keys else None


def _outcome(claim: _Claim, file: SourceFile | Absent, quote: Quote, quotes: Quotes) -> Outcome:
    """What is at the place of a result; its snippet, if there is one, decides."""
    if isinstance(file, Absent):
        failed: dict[str, Outcome] = {"outside": "outside", "missing": "missing-file", "folder": "missing-file"}
        return failed.get(file.why, "unchecked")
    # An empty file has a first line for tools that report on the whole of it.
    last = quote.end_line or quote.line or 1
    inside = not claim.is_broken and last <= max(1, len(file.lines))
    if not quote.text.strip():
        return "verified" if inside else "out-of-range"
    is_there = quotes.check(quote, file)
    if inside:
        return quote.outcome if is_there else "mismatch"
    return "relocated" if is_there and quote.found is not None else "out-of-range"
