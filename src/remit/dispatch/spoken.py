"""What a model said, made fit to be stored and sent again: half characters and character zero are in no text.

A provider may cut an answer between the two halves of a character; where they meet again, they are that character.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from remit.store.storable import storable

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
#: In JSON text, as tools' arguments are: what an escape means that is no half of a pair, and not itself escaped.
_ESCAPES = re.compile(
    r"\\\\|(?P<pair>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u(?P<half>[dD][89a-fA-F][0-9a-fA-F]{2}|0000)"
)


def made_whole(response: ModelResponse) -> None:
    """Mend an answer where it is: it is stored, its calls are run, and the model gets it back."""
    for part in response.parts:
        _mend(part)
        if isinstance(given := getattr(part, "args", None), str):
            part.args = _ESCAPES.sub(lambda found: "\\ufffd" if found["half"] else found[0], given)  # type: ignore[union-attr]
    _mend(response, "parts")


def joined(text: str) -> str:
    """A text with the halves of characters that meet in it put together."""
    return _PAIR.sub(lambda found: found[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def is_cut(text: str) -> bool:
    """Whether a text ends in the middle of a character."""
    return "\ud800" <= text[-1:] <= "\udbff"


def _mend(said: Any, *but: str) -> None:
    for field in fields(said):
        value = getattr(said, field.name) if field.name not in but else None
        if isinstance(value, str | dict | list) and (whole := _whole(value)) != value:
            setattr(said, field.name, whole)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return storable(joined(value))
    if isinstance(value, dict):
        return {_whole(name): _whole(inner) for name, inner in value.items()}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value
