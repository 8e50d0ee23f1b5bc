"""What the fields of a definition mean. A field that means nothing here is kept, never an error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from remit.contract.kinds import KINDS, slug
from remit.contract.profiles import PROFILES
from remit.errors import did_you_mean
from remit.registry.frontmatter import DefinitionDocument, MalformedYaml, Value, YamlField, read_document
from remit.registry.model import ISOLATIONS, RUNNERS, Definition, Limits, digest_of
from remit.registry.tools import EVERY_TOOL, MAX_TOOLS, AllowList, find_tool, is_all_tools, nearest_tool, split_names

MAX_NAME = 64
MAX_TURNS = 10_000
#: Tokens, money or seconds.
MAX_AMOUNT = 1e12

#: Field -> the spellings it is found under; the first is ours.
SPELLINGS: dict[str, tuple[str, ...]] = {
    "name": ("name",),
    "description": ("description",),
    "tools": ("tools",),
    "allowed_tools": ("allowed_tools",),
    "allowed-tools": ("allowed-tools",),
    "denied": ("disallowedTools", "disallowed_tools", "disallowed-tools"),
    "model": ("model",),
    "max_turns": ("max_turns", "maxTurns", "max-turns"),
    "kind": ("kind",),
    "profile": ("profile",),
    "runner": ("runner",),
    "budget": ("budget",),
    "input_vars": ("input_vars", "inputVars"),
    "expertise": ("expertise",),
    "skills": ("skills",),
    "isolation": ("isolation",),
    "command": ("command",),
    "mcp_servers": ("mcpServers", "mcp_servers"),
}
_CANONICAL = {spelling: name for name, spellings in SPELLINGS.items() for spelling in spellings}
HONOURED = frozenset(_CANONICAL)
#: Claude Code's and other clients' own fields that mean nothing here; some are near to ours, but no mistake.
_CLIENT = frozenset(
    {"effort", "permissionMode", "hooks", "initialPrompt", "memory", "background", "color"} | {"mode", "temperature"}
)
_BUDGET = ("turns", "tokens", "cost", "time")
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)?$")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


class Origin(NamedTuple):
    """Where a definition's text comes from."""

    plugin: str
    path: str
    #: The file's name without its ending, for a definition that does not say its name.
    stem: str


def read_definition(data: bytes, origin: Origin, allowed: AllowList) -> Definition | None:
    """The definition in a file; None if it has no frontmatter. Malformed: it cannot be one."""
    text, warnings = decode_definition(data)
    document = read_document(text, HONOURED)
    if document is None:
        return None
    return _Reader(document, allowed, [*warnings, *document.warnings]).definition(origin, digest_of(text))


def decode_definition(data: bytes) -> tuple[str, list[str]]:
    """A file's text with `\\n` line ends and without a byte order mark, and what was wrong with it."""
    try:
        text, warnings = data.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", "replace")
        warnings = ["it is not UTF-8: unreadable bytes were replaced; save it as UTF-8"]
    return text.replace("\r\n", "\n").replace("\r", "\n"), warnings


def check_name(name: str) -> str | None:
    """Why a text cannot be a name; None: it can."""
    if not name.strip() or not slug(name):
        return "a name needs at least one letter or digit"
    if len(name) > MAX_NAME:
        return f"a name of {len(name)} characters: at most {MAX_NAME}"
    if not name.isprintable():
        return f"the name {name!r} holds a line break or a control character"
    if "/" in name or "\\" in name:
        return f"the name {name!r} holds a slash: a name is no path"
    return None


class _Reader:
    """Reads the fields of one document, noting what is odd about them."""

    def __init__(self, document: DefinitionDocument, allowed: AllowList, warnings: list[str]) -> None:
        self._document = document
        self._allowed = allowed
        self._warnings = warnings
        self._unknown: list[str] = []
        said = ((name, field) for name, field in document.fields.items() if field.value is not None)
        self._fields = {_CANONICAL[name]: field for name, field in said if name in HONOURED}

    def definition(self, origin: Origin, digest: str) -> Definition:
        self._spellings()
        self._empty_lists()
        tools, denied = self._tools()
        limits, turns = self._budget()
        if not self._document.body and self._text("runner") in ("", "model"):
            self._warnings.append("its body is empty: the default prompt is used")
        return Definition(
            name=self._name(origin.stem),
            plugin=origin.plugin,
            path=origin.path,
            digest=digest,
            body=self._document.body,
            description=self._text("description"),
            tools=tools,
            denied=tuple(denied),
            unknown_tools=tuple(self._unknown),
            model=self._text("model") or None,
            max_turns=self._turns() or turns,
            kind=self._choice("kind", KINDS),
            profile=self._choice("profile", PROFILES),
            runner=self._choice("runner", RUNNERS),
            limits=limits,
            input_vars=self._variables(),
            expertise=tuple(self._names("expertise")),
            skills=tuple(self._names("skills")),
            isolation=self._choice("isolation", ISOLATIONS),
            command=self._text("command") or None,
            mcp_servers=tuple(self._servers()),
            unused={name: field.value for name, field in self._document.fields.items() if name not in HONOURED},
            warnings=tuple(sorted(self._warnings, key=_line_of)),
        )

    def _field(self, name: str) -> YamlField | None:
        return self._fields.get(name)

    def _text(self, name: str) -> str:
        field = self._field(name)
        if field is None:
            return ""
        if isinstance(field.value, str):
            return field.value.strip()
        self._warn(field, f"{name!r} must be text and is not used")
        return ""

    def _warn(self, field: YamlField, words: str) -> None:
        self._warnings.append(f"line {field.line}: {words}")

    def _spellings(self) -> None:
        """Name each field that looks like a misspelt one of ours."""
        for name, field in self._document.fields.items():
            if name not in HONOURED and name not in _CLIENT:
                near = _near_field(name[:64])
                if near:
                    self._warn(field, f"the field {name[:64]!r} is not used{near}")

    def _empty_lists(self) -> None:
        """An empty list of tools that means all of them is worth a word."""
        for name in ("tools", "allowed_tools", "allowed-tools"):
            field = self._document.fields.get(name)
            if field is not None and field.value is None:
                self._warn(field, f"{name} is empty, so the worker's default tools are granted; write [] for none")

    def _name(self, stem: str) -> str:
        field = self._field("name")
        if field is not None and not isinstance(field.value, str):
            raise MalformedYaml(field.line, "the name must be text")
        name = field.value.strip() if field is not None else stem
        line = field.line if field is not None else 1
        if why := check_name(name):
            raise MalformedYaml(line, why)
        return name

    def _choice(self, name: str, known_values: Mapping[str, Any] | tuple[str, ...]) -> str | None:
        value = self._text(name)
        field = self._field(name)
        if not value or field is None or value in known_values:
            return value or None
        near = did_you_mean(value[:64], known_values) or f"; known are {', '.join(known_values)}"
        self._warn(field, f"there is no {name} {value[:64]!r}{near}; the field is not used")
        return None

    def _turns(self) -> int | None:
        field = self._field("max_turns")
        if field is None:
            return None
        number = _whole(field.value)
        if number is None or not 0 < number <= MAX_TURNS:
            raise MalformedYaml(
                field.line, f"max_turns must be a number from 1 to {MAX_TURNS}, not {_shown(field.value)}"
            )
        return number

    def _budget(self) -> tuple[Limits, int | None]:
        field = self._field("budget")
        if field is None:
            return Limits(), None
        if not isinstance(field.value, dict):
            self._warn(field, f"a budget is a mapping of {', '.join(_BUDGET)}; the field is not used")
            return Limits(), None
        for key in field.value:
            if key not in _BUDGET:
                self._warn(field, f"a budget has no {key[:64]!r}{did_you_mean(key[:64], _BUDGET)}")
        amounts = {key: self._amount(field, key) for key in _BUDGET if field.value.get(key) is not None}
        tokens, turns = (int(amounts[key]) if key in amounts else None for key in ("tokens", "turns"))
        if turns is not None and turns > MAX_TURNS:
            raise MalformedYaml(field.line, f"budget: turns must be at most {MAX_TURNS}, not {turns}")
        return Limits(tokens=tokens, cost=amounts.get("cost"), seconds=amounts.get("time")), turns

    def _amount(self, field: YamlField, key: str) -> float:
        text = str(field.value[key]).strip().replace("_", "").lstrip("$")
        match = _TIME.match(text)
        if match is None or (match[2] and key != "time") or (key in ("turns", "tokens") and "." in text):
            forms = {"time": "seconds, or 90s, 10m, 2h", "cost": "an amount of money"}
            raise MalformedYaml(
                field.line, f"budget: {key} must be {forms.get(key, 'a whole number')}, not {_shown(field.value[key])}"
            )
        amount = float(match[1]) * _SECONDS[match[2] or "s"]
        if not 0 < amount < MAX_AMOUNT:
            raise MalformedYaml(field.line, f"budget: {key} must be more than nothing")
        return amount

    def _variables(self) -> dict[str, str | None]:
        field = self._field("input_vars")
        if field is None:
            return {}
        if isinstance(field.value, dict):
            return {name: value if isinstance(value, str) else None for name, value in field.value.items()}
        return dict.fromkeys(self._names("input_vars"))

    def _servers(self) -> list[str]:
        """The names of MCP servers; a definition can choose one of the worker's, not bring its own."""
        field = self._field("mcp_servers")
        if field is None or not isinstance(field.value, dict | list):
            return list(self._names("mcp_servers"))
        described = isinstance(field.value, dict) or any(isinstance(one, dict) for one in field.value)
        if described:
            self._warn(
                field, "MCP servers are started as the configuration says (`mcp_servers`), not as described here"
            )
        listed = [field.value] if isinstance(field.value, dict) else field.value
        return [name for one in listed for name in (one if isinstance(one, dict) else [one]) if isinstance(name, str)]

    def _names(self, name: str) -> Iterator[str]:
        """A list, or text with commas."""
        field = self._field(name)
        value = field.value if field is not None else None
        listed = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
        yield from (one.strip() for one in listed if isinstance(one, str) and one.strip())

    def _tools(self) -> tuple[tuple[str, ...] | None, list[str]]:
        """What the definition lists, known names only; None: it does not say. And what it takes away."""
        lists: list[list[str]] = []
        denied: list[str] = []
        for name in ("allowed_tools", "tools", "allowed-tools"):
            field = self._field(name)
            if field is not None:
                listed, refused = self._listed(name, field)
                lists += [listed] if listed is not None else []
                denied += refused
        field = self._field("denied")
        if field is not None:
            denied += self._listed("disallowedTools", field)[0] or []
        if len(lists) > 1:
            self._warnings.append("it lists its tools more than once: only what every list has is granted")
            lists[0] = [tool for tool in lists[0] if all(tool in other for other in lists)]
        return (tuple(dict.fromkeys(lists[0])) if lists else None), denied

    def _listed(self, name: str, field: YamlField) -> tuple[list[str] | None, list[str]]:
        """The known tools of one list (None: all), and those that a mapping switches off."""
        off: list[str] = []
        if isinstance(field.value, dict):  # `read: true`, as other clients write it
            self._check_count(field)
            chosen = {key: str(value).lower() for key, value in field.value.items()}
            off = self._known(
                [key for key, said in chosen.items() if said in ("false", "none")], "disallowedTools", field
            )
            written = [key for key, said in chosen.items() if said not in ("false", "none")]
            return (self._known(written, name, field) if written else None), off
        written = split_names(field.value) if isinstance(field.value, str) else _texts(field.value)
        self._check_count(YamlField(written, field.line))
        if any(is_all_tools(one) for one in written):
            return ([EVERY_TOOL] if name == "disallowedTools" else None), off
        return self._known(written, name, field), off

    def _check_count(self, field: YamlField) -> None:
        if len(field.value) > MAX_TOOLS:
            raise MalformedYaml(field.line, f"{len(field.value)} tools: at most {MAX_TOOLS}")

    def _known(self, written: list[str], name: str, field: YamlField) -> list[str]:
        found = {one: find_tool(one, self._allowed.own) for one in written}
        strange = [one for one, tool in found.items() if tool is None]
        own = self._allowed.own
        told = ", ".join(f"{one[:MAX_NAME]!r}{nearest_tool(one, own)}" for one in strange)
        if strange and name == "allowed_tools":
            raise MalformedYaml(field.line, f"allowed_tools: no such tool as {told}")
        if strange and name == "disallowedTools":
            self._warn(field, f"disallowedTools takes nothing away: no such tool as {told}")
        elif strange:
            self._warn(field, f"{name}: withheld, there is no such tool as {told}")
        if name != "disallowedTools":
            self._unknown += strange
        return [str(tool) for tool in found.values() if tool is not None]


@lru_cache(maxsize=1024)
def _near_field(name: str) -> str:
    """`, did you mean 'tools'?` for a field that is nearly one of ours."""
    return did_you_mean(name, HONOURED) if len(name) > 3 else ""


def _texts(value: Value) -> list[str]:
    """The items of a list; one that is no text is told as it is."""
    return [item if isinstance(item, str) else _shown(item) for item in value if item is not None]


def _line_of(warning: str) -> int:
    """The line that a warning speaks of; none comes first."""
    match = re.match(r"line (\d+)", warning)
    return int(match[1]) if match else 0


def _whole(value: Value) -> int | None:
    return int(value) if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value.strip()) else None


def _shown(value: Value) -> str:
    return repr(value)[:64]
