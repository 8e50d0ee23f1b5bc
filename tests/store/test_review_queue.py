"""Two reviewers never get the same item, and a decision that is sent twice is stored once."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from support.fleet import Store

from remit.errors import UsageError
from remit.ledger.items import ItemOpinion, NewItem
from remit.store import ledger
from remit.store import review_queue as queue
from remit.store.database import Database
from remit.store.review_queue import AlreadyDecided, ItemFilter, ItemTaken


def item(number: int, **fields: Any) -> NewItem:
    opinion = ItemOpinion(agent="qa-engineer", category="error-handling", confidence=80, claimed=90)
    values: dict[str, Any] = {
        "key": f"finding-{number}",
        "kind": "finding",
        "rank": 3,
        "source": "plan",
        "title": f"finding {number}",
        "body": {"finding": {"id": f"QA-{number}"}},
        "agents": ("qa-engineer",),
        "project": "/shop",
        "fingerprint": f"f{number}",
        "severity": "important",
        "category": "error-handling",
        "path": "app/cart.py",
        "line": number,
        "confidence": 80.0,
        "opinions": (opinion,),
    }
    return NewItem(**(values | fields))


def test_many_reviewers_get_different_items(store: Store) -> None:
    async def work(database: Database) -> list[int]:
        await queue.add_items(database, [item(number) for number in range(12)])
        got = await asyncio.gather(*(queue.next_item(database, f"reviewer {n}") for n in range(12)))
        assert await queue.next_item(database, "one too many") is None
        return [one.id for one in got if one is not None]

    got = store.run(work)

    assert len(got) == len(set(got)) == 12


def test_the_worst_item_is_next_and_a_reviewer_keeps_a_locked_item(store: Store) -> None:
    async def work(database: Database) -> tuple[str, str, str]:
        await queue.add_items(database, [item(1), item(2, rank=0, severity="critical"), item(3)])
        first = await queue.next_item(database, "ann")
        again = await queue.next_item(database, "ann")
        other = await queue.next_item(database, "bob")
        assert first
        assert again
        assert other
        return first.title, again.title, other.title

    assert store.run(work) == ("finding 2", "finding 2", "finding 1")


def test_a_lock_that_has_ended_is_given_to_another_reviewer(store: Store) -> None:
    async def work(database: Database) -> None:
        (only,) = await queue.add_items(database, [item(1)])
        assert await queue.next_item(database, "ann", seconds=-1)
        got = await queue.next_item(database, "bob")
        assert got
        assert got.id == only
        assert got.locked_by == "bob"
        assert not await queue.renew_lock(database, only, "ann")
        assert await queue.renew_lock(database, only, "bob")
        with pytest.raises(ItemTaken, match="locked by bob"):
            await queue.decide(database, uuid4(), only, "confirm", "ann")
        with pytest.raises(ItemTaken):
            await queue.lock_item(database, only, "ann")
        await queue.release_lock(database, only, "bob")
        assert (await queue.lock_item(database, only, "ann")).locked_by == "ann"

    store.run(work)


def test_a_repeated_decision_is_stored_once(store: Store) -> None:
    async def work(database: Database) -> None:
        one, other = await queue.add_items(database, [item(1), item(2)])
        name = uuid4()
        stored = await asyncio.gather(
            *(queue.decide(database, name, one, "reject", "ann", "only in tests") for _ in range(5))
        )
        assert sorted(decision.is_repeated for decision in stored) == [False, True, True, True, True]
        assert len(await queue.history(database, item=one)) == 1
        assert (await queue.get_item(database, one)).note == "only in tests"
        with pytest.raises(UsageError, match="already used"):
            await queue.decide(database, name, one, "confirm", "ann")
        with pytest.raises(UsageError, match="already used for item"):
            await queue.decide(database, name, other, "reject", "ann")

    store.run(work)


def test_the_second_of_two_decisions_is_refused(store: Store) -> None:
    async def work(database: Database) -> None:
        (one,) = await queue.add_items(database, [item(1)])
        outcomes = await asyncio.gather(
            *(queue.decide(database, uuid4(), one, "confirm", who) for who in ("ann", "bob")), return_exceptions=True
        )
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AlreadyDecided", "ReviewDecision"]
        refused = next(outcome for outcome in outcomes if isinstance(outcome, AlreadyDecided))
        assert refused.decision.verb == "confirm"

    store.run(work)


@pytest.mark.parametrize(
    ("verb", "state", "dismissal"),
    [("confirm", "confirmed", ""), ("reject", "rejected", "pending"), ("unsure", "unsure", ""), ("skip", "open", "")],
)
def test_each_decision_can_be_undone(store: Store, verb: queue.Verb, state: str, dismissal: str) -> None:
    async def work(database: Database) -> None:
        (one,) = await queue.add_items(database, [item(1)])
        decision = await queue.decide(database, uuid4(), one, verb, "ann")
        assert ((await queue.get_item(database, one)).state, decision.dismissal) == (state, dismissal)
        undone = [await queue.undo(database, decision.id, "ann") for _ in range(2)]
        assert [one.is_repeated for one in undone] == [False, True]
        found = await queue.get_item(database, one)
        assert (found.state, found.decision, found.locked_by) == ("open", None, "ann")
        assert await queue.next_item(database, "ann")
        assert await queue.decide(database, uuid4(), one, "confirm", "ann")

    store.run(work)


def test_the_decision_of_another_reviewer_is_undone_with_a_note_only(store: Store) -> None:
    async def work(database: Database) -> None:
        (one,) = await queue.add_items(database, [item(1)])
        decision = await queue.decide(database, uuid4(), one, "confirm", "ann")
        for note in ("", "  "):
            with pytest.raises(UsageError, match="the decision is one of ann"):
                await queue.undo(database, decision.id, "bob", note=note)
        assert (await queue.get_item(database, one)).state == "confirmed"
        assert (await queue.undo(database, decision.id, "bob", note="it was the wrong file")).undone

    store.run(work)


def test_undoing_an_old_decision_does_not_reopen_a_newer_one(store: Store) -> None:
    async def work(database: Database) -> None:
        (one,) = await queue.add_items(database, [item(1)])
        unsure = await queue.decide(database, uuid4(), one, "unsure", "ann")
        await queue.decide(database, uuid4(), one, "confirm", "bob")
        await queue.undo(database, unsure.id, "ann")
        assert (await queue.get_item(database, one)).state == "confirmed"

    store.run(work)


def test_a_skipped_item_goes_to_the_others(store: Store) -> None:
    async def work(database: Database) -> None:
        (one,) = await queue.add_items(database, [item(1)])
        await queue.decide(database, uuid4(), one, "skip", "ann")
        assert await queue.next_item(database, "ann") is None
        assert (await queue.progress(database, reviewer="ann")).skipped == 1
        assert await queue.next_item(database, "ann", with_skipped=True)
        await queue.release_lock(database, one, "ann")
        assert await queue.next_item(database, "bob")

    store.run(work)


def test_the_same_finding_of_a_later_report_is_the_same_item(store: Store) -> None:
    async def work(database: Database) -> None:
        (one,) = await queue.add_items(database, [item(1)])
        assert await queue.add_items(database, [item(1, title="now worse", severity="critical", rank=1)]) == [one]
        assert (await queue.get_item(database, one)).title == "now worse"
        await queue.decide(database, uuid4(), one, "confirm", "ann")
        assert await queue.add_items(database, [item(1, title="after the decision")]) == []
        assert (await queue.get_item(database, one)).title == "now worse"
        assert (await queue.progress(database)).total == 1

    store.run(work)


def test_filters_and_pages_select_items(store: Store) -> None:
    async def work(database: Database) -> None:
        items = [item(n, rank=n % 3, plan=n % 2 or None, severity=("minor", "critical")[n % 2]) for n in range(10)]
        await queue.add_items(database, [*items, item(20, path="lib/x.py", agents=("bandit",), kind="conflict")])
        every: list[queue.ReviewItem] = []
        while page := await queue.list_items(
            database, after=(every[-1].rank, every[-1].id) if every else None, limit=4
        ):
            every += page
        assert len(every) == len({one.id for one in every}) == 11
        assert [one.rank for one in every] == sorted(one.rank for one in every)
        for wanted, number in [
            (ItemFilter(severity="critical"), 5),
            (ItemFilter(plan=1), 5),
            (ItemFilter(path="lib/"), 1),
            (ItemFilter(agent="bandit", kind="conflict"), 1),
            (ItemFilter(project="/other"), 0),
            (ItemFilter(state="confirmed"), 0),
            (ItemFilter(state=None, category="error-handling"), 11),
        ]:
            assert len(await queue.list_items(database, wanted)) == number, wanted
        assert (await queue.progress(database, ItemFilter(severity="critical"))).open == 5

    store.run(work)


def test_decisions_are_what_is_learned_from(store: Store) -> None:
    async def work(database: Database) -> None:
        ids = await queue.add_items(database, [item(number) for number in range(6)])
        for number, verb in zip(ids, ("confirm", "confirm", "reject", "unsure", "skip"), strict=False):
            await queue.decide(database, uuid4(), number, verb, "ann")  # type: ignore[arg-type]
        learned = await ledger.decided_opinions(database)
        assert [(one.item, one.is_confirmed, one.claimed) for one in learned] == [
            (ids[0], True, 90.0),
            (ids[1], True, 90.0),
            (ids[2], False, 90.0),
        ]
        (card,) = await ledger.scorecards(database)
        assert (card.agent, card.confirmed, card.rejected) == ("qa-engineer", 2, 1)

    store.run(work)


def test_a_new_critical_finding_makes_one_notice(store: Store) -> None:
    async def work(database: Database) -> None:
        await queue.add_items(database, [item(1, severity="critical", rank=1), item(2)])
        await queue.add_items(database, [item(1, severity="critical", rank=1)])

    store.run(work)

    assert [row["kind"] for row in store.rows("SELECT kind FROM remit.outbox")] == ["critical"]


def test_a_decision_needs_a_uuid_an_item_and_a_known_verb(store: Store) -> None:
    async def work(database: Database) -> None:
        (one,) = await queue.add_items(database, [item(1)])
        for wrong, message in [
            (("x", one, "confirm"), "must be a UUID"),
            ((uuid4(), one + 1, "confirm"), "no review item"),
            ((uuid4(), one, "approve"), "unknown decision"),
        ]:
            with pytest.raises(UsageError, match=message):
                await queue.decide(database, *wrong, "ann")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="no decision"):
            await queue.undo(database, uuid4(), "ann")

    store.run(work)
