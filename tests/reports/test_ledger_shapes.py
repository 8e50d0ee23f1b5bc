"""`remit dev schema` describes what `remit ledger`, `remit ledger calibration` and `remit tokens` print."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

import jsonschema
import msgspec
import pytest

from remit.ledger.calibration import calibrate
from remit.ledger.learned import DecidedOpinion, learn
from remit.ledger.ledger_entries import LedgerEntry
from remit.ledger.scorecards import Scorecard, Sums
from remit.reports.ledger_shapes import (
    LEDGER_SHAPES,
    AccessTokenShape,
    AccessTokensShape,
    ScorecardsShape,
    export_line,
    ledger_schema,
)
from remit.reports.scorecard_text import scorecard_shape

AT = datetime(2026, 3, 2, tzinfo=UTC)
OPINION = DecidedOpinion(item=1, agent="bandit", confidence=90, is_confirmed=True, at=AT)
CARD = Scorecard(agent="a", definition="d", model="m", first_day=date(2026, 3, 2), last_day=None, sums=Sums(results=3))
TOKEN = AccessTokenShape(id=1, name="ci", role="viewer", created=AT, expires=None, used=None, revoked=AT)
VALUES = {
    "ledger": [export_line(LedgerEntry(key="k", source="job", verdict="accept")), export_line(OPINION)],
    "scorecards": [msgspec.json.encode(ScorecardsShape(scorecards=[scorecard_shape(CARD)]))],
    "weights": [msgspec.json.encode({"schema": "remit.weights/1", **msgspec.structs.asdict(learn([OPINION] * 3))})],
    "calibration": [msgspec.json.encode(calibrate([(0.9, number % 3 > 0) for number in range(n)])) for n in (3, 300)],
    "tokens": [msgspec.json.encode(AccessTokensShape(tokens=[TOKEN]))],
}


@pytest.mark.parametrize("name", LEDGER_SHAPES)
def test_the_schema_fits_what_is_printed(name: str) -> None:
    schema = ledger_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    for value in VALUES[name]:
        whole = json.loads(value)
        jsonschema.validate(whole, schema)
        assert whole["schema"] == f"remit.{name}/1"
        for broken in ({**whole, "schema": "remit.other/1"}, {key: whole[key] for key in whole if key != "schema"}):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(broken, schema)


def test_a_line_of_an_export_starts_with_its_schema_and_can_be_read_again() -> None:
    line = export_line(OPINION)
    assert line.startswith(b'{"schema":"remit.ledger/1","type":"opinion",')
    assert msgspec.json.decode(line, type=DecidedOpinion) == OPINION
