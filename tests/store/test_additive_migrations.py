"""A migration only adds, so that workers of the version before it can keep working: the upgrade is a rolling one."""

from __future__ import annotations

import re

import pytest

from remit.store.migrate import Migration, migrations

#: What breaks a running worker of the version before.
REMOVALS = re.compile(
    r"\b(DROP\s+(?:TABLE|COLUMN|SCHEMA|VIEW|TYPE|FUNCTION|SEQUENCE|DEFAULT)|RENAME|TRUNCATE|SET\s+NOT\s+NULL"
    r"|ALTER\s+COLUMN\s+\w+\s+(?:SET\s+DATA\s+)?TYPE|REVOKE)\b",
    re.IGNORECASE,
)
#: A new column that old INSERT statements do not name needs a default, or may be null.
ADDED = re.compile(r"\bADD\s+(?:COLUMN\s+)?(?:IF\s+NOT\s+EXISTS\s+)?(\w+)\s+([^,;]+)", re.IGNORECASE)
COMMENT = re.compile(r"--[^\n]*")


def problems(text: str) -> list[str]:
    """Return what in a migration would break a worker of the version before it."""
    sql = COMMENT.sub("", text)
    found = [" ".join(match[0].split()) for match in REMOVALS.finditer(sql)]
    for name, definition in ADDED.findall(sql):
        words = definition.upper()
        is_column = name.upper() not in ("CONSTRAINT", "PRIMARY", "UNIQUE")
        if is_column and "NOT NULL" in words and "DEFAULT" not in words and "GENERATED" not in words:
            found.append(f"{name} is NOT NULL without a default")
    return found


@pytest.mark.parametrize("step", migrations(), ids=lambda step: f"{step.number:04}")
def test_a_migration_only_adds(step: Migration) -> None:
    assert problems(step.sql) == []


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE remit.slots;",
        "ALTER TABLE remit.jobs DROP COLUMN deaths",
        "ALTER TABLE remit.jobs RENAME COLUMN deaths TO lost",
        "ALTER TABLE remit.jobs ALTER COLUMN error SET NOT NULL",
        "ALTER TABLE remit.jobs ALTER COLUMN deaths TYPE bigint",
        "ALTER TABLE remit.jobs ADD COLUMN tenant text NOT NULL",
        "ALTER TABLE remit.jobs ADD COLUMN a text, ADD tenant text NOT NULL",
    ],
)
def test_a_migration_that_breaks_old_workers_is_found(sql: str) -> None:
    assert problems(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE remit.jobs ADD COLUMN tenant text NOT NULL DEFAULT ''",
        "ALTER TABLE remit.jobs ADD COLUMN tenant text",
        "CREATE TABLE remit.things (id bigint PRIMARY KEY, name text NOT NULL)",
        "-- DROP TABLE remit.jobs would lose everything\nCREATE INDEX i ON remit.jobs (id)",
    ],
)
def test_a_migration_that_adds_is_accepted(sql: str) -> None:
    assert problems(sql) == []
