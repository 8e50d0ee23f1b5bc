"""Read the fields of a definition. A field that Remit does not use is kept and is not an error."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from remit.contract.kinds import KINDS, slug
from remit.contract.profiles import PROFILES
from remit.errors import did_you_mean
from remit.registry.definition import CONTRACTS, ISOLATIONS, RUNNERS, Definition, Limits, Value, digest_of
from remit.registry.frontmatter import DefinitionDocument, MalformedYaml, YamlField, read_document
from remit.registry.tools import EVERY_TOOL, MAX_TOOLS, AllowList, find_tool, is_all_tools, nearest_tool, split_names

MAX_NAME = 64
MAX_TURNS = 10_000
#: The largest number of tokens, dollars or seconds.
MAX_AMOUNT = 1e12

#: Field -> its accepted spellings; the first is the canonical one.
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
    "contract": ("contract",),
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
#: Fields of Claude Code and other clients that Remit does not use. Some are similar to its own, but not mistakes.
_CLIENT = frozenset(
    {"effort", "permissionMode", "hooks", "initialPrompt", "memory", "background", "color"} | {"mode", "temperature"}
)
_BUDGET = ("turns", "tokens", "cost", "time")
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)?$")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


class DefinitionFile(NamedTuple):
    """The file of a definition."""

    plugin: str
    path: str
    #: The name of the file without its suffix: the name of a definition without the field `name`.
    stem: str


def read_definition(data: bytes, file: DefinitionFile, allowed: AllowList) -> Definition | None:
    """Read the definition in a file; None if it has no frontmatter. Raise MalformedYaml if it is invalid."""
    text, warnings = _decode(data)
    document = read_document(text, HONOURED)
    if document is None:
        return None
    return _Reader(document, allowed, [*warnings, *document.warnings]).definition(file, digest_of(text))


def from_toml(data: bytes) -> bytes:
    """Return a definition of Codex as Markdown with frontmatter. Raise MalformedYaml if it is invalid."""
    try:
        values = tomllib.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise MalformedYaml(1, f"it is not valid TOML: {error}") from error
    body = values.get("developer_instructions")
    if not isinstance(body, str):
        raise MalformedYaml(1, "a definition of Codex needs `developer_instructions`")
    # The model and other settings are names of Codex, which mean nothing elsewhere.
    fields = {name: values[name] for name in ("name", "description") if isinstance(values.get(name), str)}
    head = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items())
    return f"---\n{head}---\n\n{body}\n".encode()


def _decode(data: bytes) -> tuple[str, list[str]]:
    """Return the text of a file with `\\n` line ends and without a byte order mark, and the warnings."""
    try:
        text, warnings = data.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", "replace")
        warnings = ["it is not UTF-8: invalid bytes were replaced; save it as UTF-8"]
    return text.replace("\r\n", "\n").replace("\r", "\n"), warnings


def check_name(name: str) -> str | None:
    """Return why a text is not a valid name; None if it is valid."""
    if not name.strip() or not slug(name):
        return "a name needs at least one letter or digit"
    if len(name) > MAX_NAME:
        return f"the name has {len(name)} characters; at most {MAX_NAME} are allowed"
    if not name.isprintable():
        return f"the name {name!r} contains a line break or a control character"
    if "/" in name or "\\" in name:
        return f"the name {name!r} contains a slash; a name is not a path"
    return None


class _Reader:
    """Reads the fields of one document and collects warnings."""

    def __init__(self, document: DefinitionDocument, allowed: AllowList, warnings: list[str]) -> None:
        self._document = document
        self._allowed = allowed
        self._warnings = warnings
        self._unknown: list[str] = []
        set_fields = ((name, field) for name, field in document.fields.items() if field.value is not None)
        self._fields = {_CANONICAL[name]: field for name, field in set_fields if name in HONOURED}

    def definition(self, file: DefinitionFile, digest: str) -> Definition:
        self._warn_about_spellings()
        self._warn_about_empty_lists()
        tools, denied = self._tools()
        limits, turns = self._budget()
        if not self._document.body and self._text("runner") in ("", "model"):
            self._warnings.append("its body is empty, so the default prompt is used")
        return Definition(
            name=self._name(file.stem),
            plugin=file.plugin,
            path=file.path,
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
            contract=self._choice("contract", CONTRACTS),
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
        self._warn(field, f"{name!r} must be text; the field is not used")
        return ""

    def _warn(self, field: YamlField, text: str) -> None:
        self._warnings.append(f"line {field.line}: {text}")

    def _warn_about_spellings(self) -> None:
        """Warn about each unknown field that looks like a misspelt one."""
        for name, field in self._document.fields.items():
            if name not in HONOURED and name not in _CLIENT:
                near = _near_field(name[:64])
                if near:
                    self._warn(field, f"the field {name[:64]!r} is not used{near}")

    def _warn_about_empty_lists(self) -> None:
        """Warn about an empty field for tools, which grants the default tools."""
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

    def _choice(self, name: str, choices: Mapping[str, Any] | tuple[str, ...]) -> str | None:
        value = self._text(name)
        field = self._field(name)
        if not value or field is None or value in choices:
            return value or None
        near = did_you_mean(value[:64], choices) or f"; choose from {', '.join(choices)}"
        self._warn(field, f"there is no {name} {value[:64]!r}{near}; the field is not used")
        return None

    def _turns(self) -> int | None:
        field = self._field("max_turns")
        if field is None:
            return None
        number = _integer(field.value)
        if number is None or not 0 < number <= MAX_TURNS:
            raise MalformedYaml(
                field.line, f"max_turns must be a number from 1 to {MAX_TURNS}, not {_display(field.value)}"
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
                field.line,
                f"budget: {key} must be {forms.get(key, 'a whole number')}, not {_display(field.value[key])}",
            )
        amount = float(match[1]) * _SECONDS[match[2] or "s"]
        if not 0 < amount < MAX_AMOUNT:
            raise MalformedYaml(field.line, f"budget: {key} must be greater than 0 and less than {MAX_AMOUNT:,.0f}")
        return amount

    def _variables(self) -> dict[str, str | None]:
        field = self._field("input_vars")
        if field is None:
            return {}
        if isinstance(field.value, dict):
            return {name: value if isinstance(value, str) else None for name, value in field.value.items()}
        return dict.fromkeys(self._names("input_vars"))

    def _servers(self) -> list[str]:
        """Return the names of MCP servers. A definition can choose configured servers, but not define its own."""
        field = self._field("mcp_servers")
        if field is None or not isinstance(field.value, dict | list):
            return list(self._names("mcp_servers"))
        has_own = isinstance(field.value, dict) or any(isinstance(item, dict) for item in field.value)
        if has_own:
            self._warn(field, "MCP servers are started as configured in `mcp_servers`, not as described here")
        listed = [field.value] if isinstance(field.value, dict) else field.value
        return [
            name for item in listed for name in (item if isinstance(item, dict) else [item]) if isinstance(name, str)
        ]

    def _names(self, name: str) -> Iterator[str]:
        """Yield the names in a list, or in a text with commas."""
        field = self._field(name)
        value = field.value if field is not None else None
        listed = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
        yield from (entry.strip() for entry in listed if isinstance(entry, str) and entry.strip())

    def _tools(self) -> tuple[tuple[str, ...] | None, list[str]]:
        """Return the known tools that the definition lists (None if it has no list), and those that it denies."""
        lists: list[list[str]] = []
        denied: list[str] = []
        for name in ("allowed_tools", "tools", "allowed-tools"):
            field = self._field(name)
            if field is not None:
                tools, switched_off = self._listed(name, field)
                lists += [tools] if tools is not None else []
                denied += switched_off
        field = self._field("denied")
        if field is not None:
            denied += self._listed("disallowedTools", field)[0] or []
        if len(lists) > 1:
            self._warnings.append("it has several lists of tools: only tools that are in every list are granted")
            lists[0] = [tool for tool in lists[0] if all(tool in other for other in lists)]
        return (tuple(dict.fromkeys(lists[0])) if lists else None), denied

    def _listed(self, name: str, field: YamlField) -> tuple[list[str] | None, list[str]]:
        """Return the known tools of one list (None: all), and those that a mapping switches off."""
        off: list[str] = []
        if isinstance(field.value, dict):  # `read: true`, the format of other clients
            self._check_count(field)
            is_off = {key: str(value).lower() in ("false", "none") for key, value in field.value.items()}
            off = self._known_tools([key for key in is_off if is_off[key]], "disallowedTools", field)
            names = [key for key in is_off if not is_off[key]]
            return (self._known_tools(names, name, field) if names else None), off
        names = split_names(field.value) if isinstance(field.value, str) else _texts(field.value)
        self._check_count(YamlField(names, field.line))
        if any(is_all_tools(tool_name) for tool_name in names):
            return ([EVERY_TOOL] if name == "disallowedTools" else None), off
        return self._known_tools(names, name, field), off

    def _check_count(self, field: YamlField) -> None:
        if len(field.value) > MAX_TOOLS:
            raise MalformedYaml(field.line, f"{len(field.value)} tools; at most {MAX_TOOLS} are allowed")

    def _known_tools(self, names: list[str], field_name: str, field: YamlField) -> list[str]:
        tools = {tool_name: find_tool(tool_name, self._allowed.own) for tool_name in names}
        unknown = [tool_name for tool_name, tool in tools.items() if tool is None]
        custom = self._allowed.own
        listed = ", ".join(f"{tool_name[:MAX_NAME]!r}{nearest_tool(tool_name, custom)}" for tool_name in unknown)
        if unknown and field_name == "allowed_tools":
            raise MalformedYaml(field.line, f"allowed_tools: no such tool as {listed}")
        if unknown and field_name == "disallowedTools":
            self._warn(field, f"disallowedTools has no effect: no such tool as {listed}")
        elif unknown:
            self._warn(field, f"{field_name}: withheld, no such tool as {listed}")
        if field_name != "disallowedTools":
            self._unknown += unknown
        return [str(tool) for tool in tools.values() if tool is not None]


@lru_cache(maxsize=1024)
def _near_field(name: str) -> str:
    """Return `, did you mean 'tools'?` for a misspelt field."""
    return did_you_mean(name, HONOURED) if len(name) > 3 else ""


def _texts(value: Value) -> list[str]:
    """Return the items of a list as text."""
    return [item if isinstance(item, str) else _display(item) for item in value if item is not None]


def _line_of(warning: str) -> int:
    """Return the line of a warning; 0 if it has no line."""
    match = re.match(r"line (\d+)", warning)
    return int(match[1]) if match else 0


def _integer(value: Value) -> int | None:
    return int(value) if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value.strip()) else None


def _display(value: Value) -> str:
    return repr(value)[:64]
