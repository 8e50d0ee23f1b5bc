"""The JSON shapes of `remit ledger`, `remit ledger calibration` and `remit tokens` as types, and their schemas."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from remit.ledger.calibration import Calibration
from remit.ledger.learned import DecidedOpinion
from remit.ledger.ledger_entries import LedgerEntry
from remit.merging.merge_data import LearnedNote
from remit.reports.scorecard_text import ScorecardShape

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class VerdictLine(LedgerEntry, kw_only=True):
    """A line of an export: a verdict."""

    schema: Literal["remit.ledger/1"] = "remit.ledger/1"
    type: Literal["verdict"] = "verdict"


class OpinionLine(DecidedOpinion, frozen=True, kw_only=True):
    """A line of an export: what an agent stated about a finding that a person decided."""

    schema: Literal["remit.ledger/1"] = "remit.ledger/1"
    type: Literal["opinion"] = "opinion"


class ScorecardsShape(msgspec.Struct, kw_only=True):
    """The scorecards of `remit ledger cards --format json`."""

    schema: Literal["remit.scorecards/1"] = "remit.scorecards/1"
    scorecards: list[ScorecardShape]


class WeightsShape(LearnedNote, frozen=True, kw_only=True):
    """The weights of `remit ledger weights --format json`."""

    schema: Literal["remit.weights/1"] = "remit.weights/1"


class AccessTokenShape(msgspec.Struct, kw_only=True):
    """A token of the server. Its text is only known when it is made."""

    id: int
    name: str
    role: Literal["viewer", "reviewer", "operator"]
    created: datetime
    expires: datetime | None
    used: datetime | None
    revoked: datetime | None


class AccessTokensShape(msgspec.Struct, kw_only=True):
    """The tokens of `remit tokens list --format json`."""

    schema: Literal["remit.tokens/1"] = "remit.tokens/1"
    tokens: list[AccessTokenShape]


def export_line(entry: LedgerEntry | DecidedOpinion) -> bytes:
    """Return an entry as a line of an export."""
    kind = VerdictLine if isinstance(entry, LedgerEntry) else OpinionLine
    fields = msgspec.structs.asdict(kind(**msgspec.structs.asdict(entry)))
    first = {name: fields.pop(name) for name in ("schema", "type")}
    return msgspec.json.encode({**first, **fields}) + b"\n"


#: Name of `remit dev schema` -> the types of the shape: any of them.
_SHAPES: dict[str, tuple[type, ...]] = {
    "ledger": (VerdictLine, OpinionLine),
    "scorecards": (ScorecardsShape,),
    "weights": (WeightsShape,),
    "calibration": (Calibration,),
    "tokens": (AccessTokensShape,),
}
LEDGER_SHAPES = tuple(_SHAPES)


def ledger_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a shape."""
    schemas, definitions = msgspec.json.schema_components(_SHAPES[name], ref_template="#/$defs/{name}")
    for shape in _SHAPES[name]:
        properties = definitions[shape.__name__]["properties"]
        constants = [constant for constant in ("schema", "type") if constant in properties]
        required = definitions[shape.__name__].setdefault("required", [])
        required[:0] = [constant for constant in constants if constant not in required]
    whole = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    return {"$schema": _DIALECT, **whole, "$defs": definitions}
