"""Variables of a definition's body: `{{name}}` becomes a value. One pass, nothing is evaluated.

Only names that the definition declares or the job gives are variables; any other `{{…}}` is text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][\w.-]{0,63})\s*\}\}")
#: Characters that all values together may put into a body.
MAX_FILLED = 1024 * 1024


class Filled(NamedTuple):
    """A body with its variables filled in, and what did not fit together."""

    text: str
    missing: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    is_too_long: bool = False


def fill(body: str, declared: Mapping[str, str | None], given: Mapping[str, Any]) -> Filled:
    """Fill the variables of a body; one without a value stays as it is written."""
    said = {name: value for name, value in given.items() if value is not None}
    values = {name: _text(value) for name, value in {**declared, **said}.items() if value is not None}
    wanted = {match[1] for match in _VARIABLE.finditer(body)}
    missing = sorted(name for name in declared if name in wanted and name not in values)
    unused = sorted(name for name in said if name not in wanted)
    if sum(len(values.get(match[1], "")) for match in _VARIABLE.finditer(body)) > MAX_FILLED:
        return Filled(body, tuple(missing), tuple(unused), is_too_long=True)
    text = _VARIABLE.sub(lambda match: values.get(match[1], match[0]), body)
    return Filled(text, tuple(missing), tuple(unused))


def _text(value: Any) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # a value that JSON has no form for
        return str(value)
