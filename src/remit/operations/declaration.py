"""How an operation is declared, and what each surface makes of the declaration.

A field of an operation is an option of the command, an argument of the MCP tool and a field of the HTTP body. A field
that only some surfaces have names them: `described("The output format.", on=CLI)`.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from remit.errors import UsageError

Surface = Literal["cli", "mcp", "http"]
SURFACES: tuple[Surface, ...] = get_args(Surface)
CLI: tuple[Surface, ...] = ("cli",)
#: The surfaces that programs use.
PROGRAMS: tuple[Surface, ...] = ("mcp", "http")
_NAMES = {"mcp": "Arguments", "http": "Body"}
_USE = "use"
#: The keys of a JSON Schema whose value is a table of schemas by name.
_TABLES = ("properties", "$defs")

T = TypeVar("T", bound=msgspec.Struct)


class Use(NamedTuple):
    """Where a field is used, and how it is written on the command line."""

    surfaces: Sequence[Surface] = SURFACES
    #: Surfaces that require it although it has a default on others.
    required: Sequence[Surface] = ()
    #: The name of the option; empty: that of the field.
    option: str = ""
    #: The placeholder for the value in the help.
    metavar: str | None = None
    #: On the command line, it is an argument and not an option.
    is_argument: bool = False
    #: On the command line, the names of a list are one text with commas; else the option is repeated.
    is_split: bool = False
    #: On the command line, the option is a flag that sets this value.
    value: str | None = None
    #: On the command line, the value of the option when it is given without one.
    bare: str | None = None


class Field(NamedTuple):
    """A field of an operation on one surface."""

    name: str
    #: The declared type, without null where the surface requires a value.
    type: Any
    description: str
    use: Use
    #: `msgspec.NODEFAULT` if the surface requires a value.
    default: Any
    #: The limits of a number.
    least: Any = None
    most: Any = None

    @property
    def value_type(self) -> Any:
        """The type of a value: without its description and without null."""
        return _value_type(self.type)


def described(text: str, *, on: Sequence[Surface] = SURFACES, **more: Any) -> msgspec.Meta:
    """Return the description of a field, for `Annotated`. `more` are fields of `Use` and limits of `msgspec.Meta`."""
    use = Use(surfaces=on, **{name: more.pop(name) for name in Use._fields if name in more})
    return msgspec.Meta(description=text, extra={_USE: use}, **more)


Form = Annotated[Literal["text", "json"], described("The output format.", on=CLI, option="--format")]


def fields_on(operation: type[msgspec.Struct], surface: Surface) -> list[Field]:
    """Return the fields that an operation has on a surface."""
    return [field for field in _fields(operation, surface) if surface in field.use.surfaces]


def _fields(operation: type[msgspec.Struct], surface: Surface) -> list[Field]:
    fields = []
    for info in msgspec.structs.fields(operation):
        metas = _metas(info.type)
        description = next((meta.description for meta in metas if meta.description), "")
        use: Use = next((meta.extra[_USE] for meta in metas if meta.extra), Use())
        default = info.default if info.default_factory is msgspec.NODEFAULT else info.default_factory()
        type_ = info.type
        if surface in use.required:
            default = msgspec.NODEFAULT
            type_ = Annotated[(_value_type(type_), *metas)] if metas else _value_type(type_)
        limits = [[getattr(meta, name) for meta in metas if getattr(meta, name) is not None] for name in ("ge", "le")]
        least, most = (values[0] if values else None for values in limits)
        fields.append(Field(info.name, type_, description, use, default, least, most))
    return fields


def _metas(type_: Any) -> list[msgspec.Meta]:
    """Return the descriptions and limits of a type, and of the value of one that may be null."""
    if get_origin(type_) is Annotated:
        value, *metas = get_args(type_)
        return [meta for meta in metas if isinstance(meta, msgspec.Meta)] + _metas(value)
    if get_origin(type_) in (Union, types.UnionType):
        return [meta for member in get_args(type_) for meta in _metas(member)]
    return []


def _value_type(type_: Any) -> Any:
    while get_origin(type_) is Annotated:
        type_ = get_args(type_)[0]
    if get_origin(type_) in (Union, types.UnionType):
        members = [member for member in get_args(type_) if member is not type(None)]
        return _value_type(members[0]) if len(members) == 1 else functools.reduce(operator.or_, members)
    return type_


@functools.cache
def arguments_on(
    operation: type[msgspec.Struct], surface: Literal["mcp", "http"], in_path: str = ""
) -> type[msgspec.Struct]:
    """Return the type of what a program sends: the fields on its surface, without the one in the address."""
    fields: list[tuple[str, Any, Any]] = [
        (field.name, field.type, _default(field.default))
        for field in fields_on(operation, surface)
        if field.name != in_path
    ]
    return msgspec.defstruct(
        f"{operation.__name__}{_NAMES[surface]}",
        fields,
        kw_only=True,
        forbid_unknown_fields=True,
        module=operation.__module__,
        namespace={"__doc__": operation.__doc__},
    )


def _default(default: Any) -> Any:
    """Return a default that no two objects share."""
    if isinstance(default, list | dict) and default:
        return msgspec.field(default_factory=functools.partial(type(default), default))
    return default


def convert_arguments(
    operation: type[T], surface: Literal["mcp", "http"], arguments: Mapping[str, Any], *, strict: bool = True
) -> T:
    """Return the operation of decoded JSON. Raises UsageError if the arguments do not fit."""
    try:
        sent = msgspec.convert(arguments, arguments_on(operation, surface), strict=strict)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"the arguments do not fit: {error}") from error
    return operation_of(operation, sent)


def operation_of(operation: type[T], sent: msgspec.Struct, **in_path: Any) -> T:
    """Return the operation of what a program sent, and of what the address has."""
    return operation(**{name: getattr(sent, name) for name in sent.__struct_fields__}, **in_path)


def argument_schema(wanted: Any) -> dict[str, Any]:
    """Return the schema of arguments without what a model does not need: it is part of each conversation.

    A value that may be null may be left out, so its schema is that of the other values. The conversion accepts null.
    """
    schema = _shortened(object_schema(wanted))
    return {name: value for name, value in schema.items() if name != "description"}


def _shortened(schema: Any, *, is_table: bool = False) -> Any:
    """Shorten a schema; the keys of a table of schemas are names."""
    if isinstance(schema, list):
        return [_shortened(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if is_table:
        return {name: _shortened(one) for name, one in schema.items()}
    kept = {
        key: _shortened(value, is_table=key in _TABLES)
        for key, value in schema.items()
        if key != "title" and not (key == "required" and value == []) and not (key == "default" and not value)
    }
    choices = [one for one in kept.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        del kept["anyOf"]
        return {**kept, **choices[0]}
    return kept


def object_schema(wanted: Any) -> dict[str, Any]:
    """Return a JSON Schema whose root is an object, as MCP requires, and not a reference to one."""
    schema = msgspec.json.schema(wanted)
    definitions: dict[str, Any] = schema["$defs"]
    name = schema["$ref"].rpartition("/")[2]
    return {**definitions.pop(name), **({"$defs": definitions} if definitions else {})}
