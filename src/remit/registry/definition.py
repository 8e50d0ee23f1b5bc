"""The data types of the registry: definitions, plugins, requests and briefs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from remit.errors import UsageError, did_you_mean

#: A value of a definition: text, None, or a list or mapping of these.
Value = Any
Origin = Literal["job", "definition", "configuration", "default"]
Policy = Literal["open", "strict"]
POLICIES: tuple[Policy, ...] = ("open", "strict")
MODEL = "model"
RUNNERS = (MODEL, "command")
#: A runner that a job may use, but a definition may not.
ORCHESTRATOR = "orchestrator"
JOB_RUNNERS = (*RUNNERS, ORCHESTRATOR)
ISOLATIONS = ("worktree",)
#: The values of `contract`: no form, or a profile. The profile of an answer without a form is `claims`.
NO_CONTRACT = "none"
CONTRACTS = (NO_CONTRACT, "v2", "v1")
CLAIMS = "claims"
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][\w.-]{0,63})\s*\}\}")
#: The maximum number of characters of all values that are filled into a body.
MAX_FILLED = 1024 * 1024


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of a job, except turns; None: no limit."""

    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """A subagent as its file defines it."""

    name: str
    plugin: str
    path: str
    digest: str
    body: str
    description: str = ""
    #: None: not set, so the default tools of the worker are granted; empty: no tools.
    tools: tuple[str, ...] | None = None
    denied: tuple[str, ...] = ()
    #: Names in its lists that are not tools; never granted.
    unknown_tools: tuple[str, ...] = ()
    model: str | None = None
    max_turns: int | None = None
    kind: str | None = None
    profile: str | None = None
    #: `none`: its answer is not a report, so nothing is appended to its prompt, and only its claims are checked. The
    #: same holds for a definition that states neither this nor its kind, and is not of an agent of the contract.
    contract: str | None = None
    runner: str | None = None
    limits: Limits = Limits()
    #: Variables of the body, with their default or None.
    input_vars: dict[str, str | None] = {}
    expertise: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    isolation: str | None = None
    #: The name of a program in the configuration, for the runner `command`.
    command: str | None = None
    #: MCP servers of the configuration that it uses.
    mcp_servers: tuple[str, ...] = ()
    #: It came with a checkout, so it does not choose another provider.
    is_of_checkout: bool = False
    #: Fields that Remit does not use, as written.
    unused: dict[str, Value] = {}
    warnings: tuple[str, ...] = ()

    @property
    def qualified(self) -> str:
        """The unique name: `plugin:name`."""
        return f"{self.plugin}:{self.name}"


class Rejected(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file with an invalid definition."""

    path: str
    line: int | None
    reason: str
    #: The name that it keeps: no definition further right stands in.
    name: str = ""


class Skipped(msgspec.Struct, frozen=True):
    """A file without a definition."""

    path: str
    reason: str


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """A loaded folder of definitions."""

    name: str
    version: str | None
    path: str
    definitions: tuple[Definition, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()


class JobRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The request of a caller. An absent field and null mean the same; an empty text or list is a value."""

    prompt: str = ""
    subagent_def: str | None = None
    system: str | None = None
    allowed_tools: list[str] | str | None = None
    model: str | None = None
    max_turns: int | None = None
    input_vars: dict[str, Any] = {}
    kind: str | None = None
    profile: str | None = None
    #: `none`: no instructions on how to answer, and only the claims of the answer are checked. Or a profile.
    contract: str | None = None
    runner: str | None = None
    limits: Limits | None = None
    isolation: str | None = None
    command: str | None = None
    #: Files and folders that the job is about; they are passed to a program.
    scope: list[str] = []


class Source(msgspec.Struct, frozen=True):
    """The definition of a brief."""

    name: str
    plugin: str
    digest: str


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt, tools, model and limits of a job, with the source of each value. A job keeps its brief."""

    schema: Literal["remit.brief/1"] = "remit.brief/1"
    system: str
    system_from: Origin
    contract: str
    tools: tuple[str, ...]
    tools_from: Origin
    withheld: tuple[str, ...] = ()
    model: str
    model_from: Origin
    max_turns: int
    max_turns_from: Origin
    limits: Limits = Limits()
    limits_from: dict[str, Origin] = {}
    kind: str
    profile: str
    runner: str = "model"
    command: str | None = None
    isolation: str | None = None
    mcp_servers: tuple[str, ...] = ()
    definition: Source | None = None
    warnings: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The digest of everything except warnings."""
        return digest_of(msgspec.json.encode(msgspec.structs.replace(self, warnings=())))


def digest_of(data: bytes | str) -> str:
    """Return the SHA-256 digest of data, as it is stored and shown."""
    data = data.encode("utf-8", "replace") if isinstance(data, str) else data
    return "sha256:" + hashlib.sha256(data).hexdigest()


class FilledBody(NamedTuple):
    """A body with its variables filled in, variables without a value, and values without a variable."""

    text: str
    missing: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    is_too_long: bool = False


def fill_variables(body: str, declared: Mapping[str, str | None], values: Mapping[str, Any]) -> FilledBody:
    """Fill the variables of a body. `declared` has their defaults; a variable without a value is not replaced."""
    passed = {name: value for name, value in values.items() if value is not None}
    values = {name: _text(value) for name, value in {**declared, **passed}.items() if value is not None}
    names = {match[1] for match in _VARIABLE.finditer(body)}
    missing = sorted(name for name in declared if name in names and name not in values)
    unused = sorted(name for name in passed if name not in names)
    if sum(len(values.get(match[1], "")) for match in _VARIABLE.finditer(body)) > MAX_FILLED:
        return FilledBody(body, tuple(missing), tuple(unused), is_too_long=True)
    text = _VARIABLE.sub(lambda match: values.get(match[1], match[0]), body)
    return FilledBody(text, tuple(missing), tuple(unused))


def _text(value: Any) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # JSON cannot represent the value
        return str(value)


def as_request(request: JobRequest | Mapping[str, Any]) -> tuple[JobRequest, list[str]]:
    """Return the request in a mapping, and a message for each unknown key."""
    if isinstance(request, JobRequest):
        return request, []
    names = JobRequest.__struct_fields__
    unknown = [f"a job has no field {key!r}{did_you_mean(str(key), names)}" for key in request if key not in names]
    fields = {key: value for key, value in request.items() if key in names and value is not None}
    try:
        return msgspec.convert(fields, JobRequest), unknown
    except msgspec.ValidationError as error:
        raise UsageError(f"invalid fields of a job: {error}") from error
