"""The options of a command, from the declaration of its operation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import click
import msgspec

from remit.errors import UsageError
from remit.operations.declaration import Field, fields_on
from remit.registry.tools import split_names

T = TypeVar("T", bound=msgspec.Struct)


def operation_options(operation: type[T]) -> Callable[[Callable[[T], int]], Callable[..., int]]:
    """Return a decorator that adds the options of an operation, and calls the command with the operation."""
    fields = fields_on(operation, "cli")

    def decorate(command: Callable[[T], int]) -> Callable[..., int]:
        @functools.wraps(command)
        def run(**values: Any) -> int:
            return command(operation(**{field.name: _read(field, values[field.name]) for field in fields}))

        decorated: Callable[..., int] = run
        for field in reversed(fields):
            decorated = _parameter(field)(decorated)
        return decorated

    return decorate


def _parameter(field: Field) -> Callable[[Callable[..., int]], Callable[..., int]]:
    is_required = field.default is msgspec.NODEFAULT
    kind, is_repeated = _click_type(field)
    if field.use.is_argument:
        count = -1 if is_repeated else 1
        return click.argument(field.name, type=kind, nargs=count, required=is_required, metavar=field.use.metavar)
    about = field.description.removesuffix(".") + ", separated by commas." * field.use.is_split
    settings: dict[str, Any] = {"help": about.rstrip(".") + ".", "required": is_required}
    if field.value_type is bool or field.use.value is not None:
        settings |= {"is_flag": True}
    elif is_repeated:
        settings |= {"multiple": True, "type": kind, "metavar": field.use.metavar}
    else:
        default = None if is_required else field.default
        is_shown = default not in (None, "")
        settings |= {"type": kind, "metavar": field.use.metavar, "default": default, "show_default": is_shown}
    return click.option(field.use.option or f"--{field.name.replace('_', '-')}", field.name, **settings)


def _click_type(field: Field) -> tuple[Any, bool]:
    """Return the type of a value for click, and whether several are given."""
    kind = field.value_type
    if get_origin(kind) is list:
        return click.STRING, not field.use.is_split
    if get_origin(kind) is dict:
        return click.STRING, True
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind)), False
    return (kind if kind in (int, float) else click.STRING), False


def _read(field: Field, value: Any) -> Any:
    """Return the value of a field from what click read."""
    if field.use.value is not None:
        return field.use.value if value else field.default
    if get_origin(field.value_type) is dict:
        return dict(_pair(field, text) for text in value)
    if get_origin(field.value_type) is list:
        if field.use.is_split:
            return split_names(value) if value is not None else None
        return list(value)
    return value


def _pair(field: Field, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{field.use.option} {text!r}: write {field.use.metavar}")
    return name.strip(), value


def path_of(text: str | None) -> Path | None:
    """Return the path of an option."""
    return Path(text) if text is not None else None
