"""The options of commands, and how they print: coloured on a terminal, plain otherwise."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, get_args, get_origin

import click
import msgspec

from remit.errors import UsageError
from remit.operations.declaration import Field, fields_on
from remit.registry.tools import split_names
from remit.removed import instead_of
from remit.reports.formats import format_json
from remit.reports.layout import Line, Piece, cut_width, escape_control, escape_json

#: Seconds after which a command that is still working reports what it does.
_SLOW = 1.0
#: The words of a style -> the codes of a terminal
_CODES = {"bold": "1", "dim": "2", "underline": "4", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def columns() -> int:
    """Return the width of the output in characters."""
    try:
        width = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size().columns
    except (ValueError, OSError):
        width = 80
    return max(40, min(width, 140))


def terminal_columns() -> int | None:
    """Return the width of the terminal; None for a pipe, in which no line is wrapped."""
    return columns() if sys.stdout.isatty() else None


def can_ask(form: str) -> bool:
    """Return whether a person at a terminal can answer a question of a command that prints text."""
    return form == "text" and sys.stdin.isatty() and sys.stdout.isatty()


def print_lines(lines: Iterable[Line]) -> None:
    """Print styled lines, with colours on a terminal."""
    if not sys.stdout.isatty():
        for line in lines:
            sys.stdout.write("".join(piece.text for piece in line).rstrip() + "\n")
        sys.stdout.flush()  # later messages on standard error must come after this
        return
    has_colours = not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("dumb", "unknown")
    for line in lines:
        click.echo("".join(_styled(piece) if has_colours else piece.text for piece in line), color=True)


def _styled(piece: Piece) -> str:
    codes = ";".join(_CODES[word] for word in piece.style.split())
    return f"\x1b[{codes}m{piece.text}\x1b[0m" if codes else piece.text


def print_text(text: str) -> None:
    """Print a text in UTF-8: as it is, or for a terminal without what a terminal obeys."""
    if text and sys.stdout.isatty():
        is_json = text.lstrip()[:1] in ("{", "[")
        text = escape_json(text) if is_json else "\n".join(map(escape_control, text.split("\n")))
    if text:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()


def print_parts(parts: Iterable[str]) -> None:
    """Print a text that comes in parts, as `print_text` does; for a pipe, without keeping all of it in memory."""
    if sys.stdout.isatty():
        print_text("".join(parts))
        return
    last = ""
    for last in filter(None, parts):
        sys.stdout.write(last)
    sys.stdout.write("" if not last or last.endswith("\n") else "\n")
    sys.stdout.flush()


class ListFirst(click.Group):
    """A group of commands whose default is `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Pass options without a command to `list`."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


class Words(click.Choice[str]):
    """The words that an option takes; for one that left the product, the error says what stands in for it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word."""
        if value not in self.choices and (instead := instead_of("words", str(value))):
            self.fail(f"there is no {value!r}. {instead}", param, ctx)
        return super().convert(value, param, ctx)


def form_option(*forms: str) -> Callable[..., Any]:
    """Return the option `--format`. The first form is the default; without forms, they are text and JSON."""
    names = forms or ("text", "json")
    return click.option(
        "--format", "form", type=Words(names), default=names[0], show_default=True, help="The output format."
    )


def print_answer(form: str, shape: Any, readable: Iterable[Line] | str) -> None:
    """Print an answer as JSON, or what a person reads."""
    if form == "json":
        print_text(format_json(shape))
    elif isinstance(readable, str):
        print_text(readable)
    else:
        print_lines(readable)


class SlowNotice:
    """Shows on the terminal what a command is doing, once it has taken a second, and removes the line at its end."""

    def __init__(self) -> None:
        self._text = ""
        self._is_shown = False
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._timer = threading.Timer(_SLOW, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            if self._is_shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
            self._is_shown, self._timer = False, None

    def update(self, text: str) -> None:
        """Change the text."""
        with self._lock:
            self._text = text
            if self._is_shown:
                self._write()

    def _show(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._is_shown = True
                self._write()

    def _write(self) -> None:
        sys.stderr.write(f"\r\x1b[K{cut_width(escape_control(self._text), columns() - 2)} …")
        sys.stderr.flush()


T = TypeVar("T", bound=msgspec.Struct)


def operation_options(operation: type[T]) -> Callable[[Callable[[T], int]], Callable[..., int]]:
    """Return a decorator that adds the options of an operation, and calls the command with the operation."""
    fields = fields_on(operation, "cli")

    def decorate(command: Callable[[T], int]) -> Callable[..., int]:
        @functools.wraps(command)
        def run(**values: Any) -> int:
            return command(operation(**{field.name: _read_value(field, values[field.name]) for field in fields}))

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
        if field.use.bare is not None:
            settings |= {"is_flag": False, "flag_value": field.use.bare}
    return click.option(field.use.option or f"--{field.name.replace('_', '-')}", field.name, **settings)


def _click_type(field: Field) -> tuple[Any, bool]:
    """Return the type of a value for click, and whether several are given."""
    kind = field.value_type
    if get_origin(kind) is list:
        return click.STRING, not field.use.is_split
    if get_origin(kind) is dict:
        return click.STRING, True
    if get_origin(kind) is Literal:
        return Words(get_args(kind)), False
    if kind is int and (field.least, field.most) != (None, None):
        return click.IntRange(field.least, field.most), False
    return (kind if kind in (int, float) else click.STRING), False


def _read_value(field: Field, value: Any) -> Any:
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
