"""An operation is declared once: a new field of it appears on every surface."""

from __future__ import annotations

import inspect
import json
from typing import Annotated, Any, Literal

import click
import msgspec
import pytest
from click.testing import CliRunner

import remit
from remit.errors import UsageError
from remit.operations.declaration import (
    CLI,
    PROGRAMS,
    SURFACES,
    argument_schema,
    arguments_on,
    convert_arguments,
    described,
    fields_on,
)
from remit.operations.documents import Check, Verify
from remit.operations.job_fields import Run
from remit.operations.jobs import Answer, Cancel, JobNumber, ListJobs, ListQuestions
from remit.operations.merge import MergeDocuments
from remit.operations.served import OPERATIONS, TOOLS
from remit.surfaces.cli.group import remit as commands
from remit.surfaces.cli.printing import operation_options
from remit.surfaces.server.api_routes import openapi_document

#: Operation -> its command
COMMANDS: dict[type[msgspec.Struct], str] = {
    Verify: "verify",
    Check: "check",
    MergeDocuments: "merge",
    Run: "run",
    Cancel: "jobs cancel",
    JobNumber: "jobs retry",
    ListJobs: "jobs list",
    ListQuestions: "plan questions",
    Answer: "plan answer",
}


class Bake(msgspec.Struct, frozen=True, kw_only=True):
    """A cake."""

    name: Annotated[str, described("What it is called.")]
    colours: Annotated[list[str], described("Its colours.", option="--colour")] = []
    oven: Annotated[Literal["gas", "electric"], described("Which oven.")] = "gas"
    eggs: Annotated[int, described("How many eggs.", ge=1)] = 1
    notes: Annotated[dict[str, str], described("A note.", option="--note", metavar="WHO=TEXT")] = {}
    form: Annotated[str, described("The output format.", on=CLI, option="--format")] = "text"
    text: Annotated[str | None, described("The recipe.", on=PROGRAMS, required=["http"])] = None


class BakeBetter(Bake, frozen=True, kw_only=True):
    """A cake with one field more."""

    is_iced: Annotated[bool, described("Whether it has icing.")] = False


def command_of(operation: type[msgspec.Struct]) -> click.Command:
    @click.command("bake")
    @operation_options(operation)
    def bake(wanted: msgspec.Struct) -> int:
        click.echo(msgspec.json.encode(wanted))
        return 0

    return bake


def options_of(command: click.Command) -> set[str]:
    return {str(parameter.name) for parameter in command.params}


def properties_of(schema: dict[str, Any]) -> set[str]:
    return set(schema["properties"])


def http_fields(operation: type[msgspec.Struct]) -> set[str]:
    """Return the fields of a body in the OpenAPI document."""
    entry = OPERATIONS[0]._replace(arguments=operation)
    document = openapi_document([entry], "1")
    return properties_of(document["components"]["schemas"][f"{operation.__name__}Body"])


def test_a_new_field_appears_on_every_surface() -> None:
    for fields_of in (
        lambda operation: options_of(command_of(operation)),
        lambda operation: properties_of(argument_schema(arguments_on(operation, "mcp"))),
        http_fields,
    ):
        assert fields_of(BakeBetter) - fields_of(Bake) == {"is_iced"}


def test_a_description_is_the_same_on_every_surface() -> None:
    shown = {str(one.name): one.help for one in command_of(Bake).params if isinstance(one, click.Option)}
    schema = argument_schema(arguments_on(Bake, "mcp"))["properties"]
    assert shown["oven"] == schema["oven"]["description"] == "Which oven."


def test_a_field_of_one_surface_is_only_there() -> None:
    assert "form" in options_of(command_of(Bake))
    assert "form" not in properties_of(argument_schema(arguments_on(Bake, "mcp"))) | http_fields(Bake)
    assert "text" not in options_of(command_of(Bake))
    assert arguments_on(Bake, "http").__struct_defaults__ != arguments_on(Bake, "mcp").__struct_defaults__
    with pytest.raises(UsageError, match="text"):
        convert_arguments(Bake, "http", {"name": "a"})


def test_options_become_the_operation() -> None:
    words = ["--name", "a", "--colour", "red", "--colour", "blue", "--eggs", "3", "--note", "ann=less sugar"]
    ran = CliRunner().invoke(command_of(BakeBetter), [*words, "--is-iced"], catch_exceptions=False)
    given = json.loads(ran.output)
    assert (given["colours"], given["eggs"], given["oven"], given["is_iced"]) == (["red", "blue"], 3, "gas", True)
    assert given["notes"] == {"ann": "less sugar"}
    sent = convert_arguments(BakeBetter, "mcp", {"name": "a", "eggs": "3", "is_iced": True}, strict=False)
    assert (sent.eggs, sent.is_iced) == (3, True)
    for wrong in ({"eggs": 0}, {"oven": "wood"}, {"sugar": 1}):
        with pytest.raises(UsageError, match="do not fit"):
            convert_arguments(BakeBetter, "mcp", {"name": "a", **wrong})


@pytest.mark.parametrize("operation", COMMANDS, ids=COMMANDS.values())
def test_a_command_has_the_fields_of_its_operation(operation: type[msgspec.Struct]) -> None:
    command: click.Command | None = commands
    for word in COMMANDS[operation].split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    assert options_of(command) - {"config"} == {field.name for field in fields_on(operation, "cli")}


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_has_the_fields_of_its_operation(name: str) -> None:
    operation = TOOLS[name].arguments
    schema = argument_schema(arguments_on(operation, "mcp"))
    assert properties_of(schema) == {field.name for field in fields_on(operation, "mcp")}


@pytest.mark.parametrize("entry", [one for one in OPERATIONS if one.address], ids=lambda one: one.address.name)
def test_an_address_has_the_fields_of_its_operation(entry: Any) -> None:
    document = openapi_document([entry], "1")
    ((path, methods),) = document["paths"].items()
    described = methods[entry.address.method.lower()]
    shown = {one["name"] for one in described.get("parameters", ()) if one["in"] == "query"}
    if "requestBody" in described:
        body = described["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        shown |= properties_of(document["components"]["schemas"][body])
    in_path = {entry.address.in_path} if "{" in path else set()
    assert shown | in_path == {field.name for field in fields_on(entry.arguments, "http")}


@pytest.mark.parametrize(
    ("function", "operation"), [(remit.check, Check), (remit.verify, Verify), (remit.merge, MergeDocuments)]
)
def test_a_function_has_the_fields_that_all_surfaces_have(function: Any, operation: type[msgspec.Struct]) -> None:
    shared = {field.name for field in fields_on(operation, "cli") if set(field.use.surfaces) == set(SURFACES)}
    assert shared <= set(inspect.signature(function).parameters)
