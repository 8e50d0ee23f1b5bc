"""The operations on the contract: explain a rule, return the instructions for a result."""

from __future__ import annotations

from typing import Annotated

import msgspec

from remit.checking import Options
from remit.configuration import Configuration
from remit.contract.kinds import KINDS
from remit.operations.declaration import CLI, PROGRAMS, Form, described
from remit.operations.documents import Profile
from remit.reports.rules import PromptShape
from remit.rules.instructions import instructions


class ExplainRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule."""

    name: Annotated[
        str | None,
        described("Its name or code, such as `reference-missing` or EVD001.", required=PROGRAMS, is_argument=True),
    ] = None
    form: Form = "text"


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """Which instructions."""

    kind: Annotated[str, described(f"The kind of result: {', '.join(KINDS)}.")] = "generic"
    profile: Profile = None
    agent: Annotated[str, described("The agent that signs its result with this name.", metavar="NAME")] = ""
    schema: Annotated[bool, described("Print the JSON Schema of a result instead.", on=CLI)] = False
    form: Form = "text"


def prompt_shape(wanted: Prompt, configured: Configuration) -> PromptShape:
    """Return the instructions for a kind of result."""
    profile = wanted.profile or configured["profile"]
    Options(kind=wanted.kind, profile=profile).validated()
    return PromptShape(kind=wanted.kind, profile=profile, text=instructions(wanted.kind, profile, wanted.agent))
