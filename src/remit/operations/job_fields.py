"""The fields of a job: what `remit run`, the HTTP API and the MCP server take."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from remit.operations.declaration import CLI, PROGRAMS, Form, described
from remit.registry.definition import Limits

_Words = Annotated[list[str], described("", on=CLI, required=CLI, metavar="[AGENT] TASK", is_argument=True)]


class TreeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a job and its children."""

    tree_max_tokens: Annotated[int | None, described("The maximum number of tokens of this job and its children.")] = (
        None
    )
    tree_max_cost: Annotated[float | None, described("The maximum cost in dollars of this job and its children.")] = (
        None
    )
    tree_max_turns: Annotated[
        int | None, described("The maximum number of model calls of this job and its children.")
    ] = None
    tree_max_seconds: Annotated[
        float | None, described("The maximum duration in seconds of this job and its children.")
    ] = None


class Run(TreeLimits, frozen=True, kw_only=True):
    """A job to run."""

    words: _Words = []
    task: Annotated[str, described("The prompt.", on=PROGRAMS, required=PROGRAMS)] = ""
    agent: Annotated[str | None, described("The definition; null: the job has none.", on=PROGRAMS)] = None
    repo: Annotated[
        str | None, described("The folder to work in; default: that of the command or the server.", metavar="PATH")
    ] = None
    model: Annotated[str | None, described("The model, as provider:model or a short name.")] = None
    system: Annotated[str | None, described("A system prompt instead of the definition's.")] = None
    allowed_tools: Annotated[
        list[str] | None,
        described("Tools instead of the definition's.", option="--tools", metavar="NAMES", is_split=True),
    ] = None
    kind: Annotated[
        str | None,
        described("The kind of the result; default: that of the definition, or by the agent's name."),
    ] = None
    profile: Annotated[
        str | None, described("The profile that the result is checked with; default: the definition's.")
    ] = None
    contract: Annotated[
        Literal["none"] | None,
        described(
            "Append no instructions on how to answer, and check only the claims.", option="--no-contract", value="none"
        ),
    ] = None
    contract_version: Annotated[
        Literal["v2", "v1"] | None,
        described("Ask for a report under this version of the contract.", on=CLI, option="--contract"),
    ] = None
    max_turns: Annotated[int | None, described("The maximum number of model calls.")] = None
    input_vars: Annotated[
        dict[str, str], described("A value for a variable.", option="--var", metavar="NAME=VALUE")
    ] = {}
    limits: Annotated[Limits | None, described("The limits of the job.", on=PROGRAMS)] = None
    max_tokens: Annotated[int | None, described("The maximum number of tokens.", on=CLI)] = None
    max_cost: Annotated[float | None, described("The maximum cost in dollars.", on=CLI)] = None
    max_seconds: Annotated[float | None, described("The maximum duration in seconds.", on=CLI)] = None
    isolation: Annotated[Literal["worktree"] | None, described("Work in a separate git worktree.")] = None
    policy: Annotated[
        Literal["open", "strict"] | None, described("Warn about unknown names, or refuse them.", on=CLI)
    ] = None
    open: Annotated[bool, described("Accept an AGENT whose name looks like a typo.", on=CLI)] = False
    plugin_path: Annotated[
        str | None, described("Folders of definitions, separated as in PATH.", on=CLI, metavar="PATH")
    ] = None
    allow_tools: Annotated[
        list[str] | None,
        described("The worker's tools.", on=CLI, option="--worker-tools", metavar="NAMES", is_split=True),
    ] = None
    queue: Annotated[str, described("The queue of the job.")] = "default"
    priority: Annotated[int, described("Higher comes first.")] = 0
    key: Annotated[str | None, described("An idempotency key: at most one job has it, until that job fails.")] = None
    parent: Annotated[int | None, described("The parent job.")] = None
    detach: Annotated[bool, described("Put the job into the queue and return.", on=CLI)] = False
    form: Form = "text"


class Submit(Run, frozen=True, kw_only=True):
    """A job to submit. For programs the policy is always `strict`: unknown definitions and tools are refused."""

    delay: Annotated[float, described("Seconds to wait before the job may start.", on=PROGRAMS)] = 0
