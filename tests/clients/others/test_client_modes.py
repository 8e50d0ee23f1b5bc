"""Sessions of the real Codex, Copilot CLI and opencode: they know only the mode `verify`, which denies nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from drivers import DRIVERS, FALSE, Driver
from npm_client import SPEC, Json, NpmStage, does, dumped, git, says, staged
from support.shop_reports import INVENTED

pytestmark = pytest.mark.process

#: More than a quick lookup.
_FILES = ("shop/orders.py", "shop/cart.py", "shop/auth.py", "README.md", "shop/prices.py")
_BAD = f"The refund is at `{INVENTED}`."


def conversations(driver: Driver) -> dict[str, list[Json]]:
    return {
        "code-as-usual": [
            does(*(driver.read(f"read_{number}", path) for number, path in enumerate(_FILES))),
            does(driver.edit("edit", "shop/mail.py", "Mail to customers", "Mail to all customers")),
            does(driver.edit("spec", SPEC, "reciept", "bill")),
            does(driver.shell("shell", "sed -i s/cart/card/ README.md")),
            *driver.delegate("look-around", agent=driver.own_agent),
            does(driver.read("again", "shop/orders.py")),
            says(FALSE),
            says("Nothing was run."),
        ],
        "look-around": [
            does(driver.read("inside", "shop/orders.py")),
            says(_BAD),
            says("There is no refund."),
        ],
    }


class Session(NamedTuple):
    driver: Driver
    stage: NpmStage
    status: str
    log: Json

    def results(self) -> dict[str, str]:
        return self.driver.results(self.stage, "code-as-usual")

    def turns(self, marker: str) -> list[list[Json]]:
        return self.driver.turns(self.stage, marker)


@pytest.fixture(scope="module", params=DRIVERS, ids=lambda driver: driver.client)
def verified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Yield a session that was held with an install, after the uninstall."""
    folder = tmp_path_factory.mktemp(request.param.client)
    driver = request.param(folder / "shop")
    with staged(driver.client, folder, conversations(driver)) as stage:
        driver.configure(stage)
        before = stage.everything()
        stage.remit("install", driver.client, "--yes")
        driver.approve(stage)
        driver.converse(stage, "code-as-usual")
        stage.recorded.extend(stage.server.requests)
        status = stage.remit("gate", "status", "--since", "1d")
        log = json.loads(stage.remit("gate", "log", "--denied", "--format", "json"))
        stage.remit("uninstall", driver.client, "--yes")
        after = {path: data for path, data in stage.everything().items() if not path.startswith(driver.own_files)}
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        assert changed == {"shop/mail.py", SPEC, "README.md"}  # the session's own changes, and nothing of the install
        yield Session(driver, stage, status, log)


def assert_work_was_done(session: Session) -> None:
    found = session.results()
    for number, path in enumerate(_FILES):
        first = git(session.stage.project, "show", f"HEAD:{path}").splitlines()[0]
        assert dumped(first)[1:-1] in found[f"read_{number}"].replace("\\\\", "\\")
    assert "shop" in found["again"]
    diff = git(session.stage.project, "diff")
    assert "+The customer gets a bill by mail." in diff
    assert "Mail to all customers" in diff
    assert "README.md" in diff


def test_verify_denies_nothing(verified: Session) -> None:
    assert_work_was_done(verified)
    assert "remit (" not in "".join(verified.results().values())
    assert {one["rule"] for one in verified.log["decisions"]} == {"final-claims"}  # an answer, and no call


def test_verify_sends_a_false_report_back_and_asks_for_no_form(verified: Session) -> None:
    asked = verified.turns("look-around")
    assert len(asked) == 3
    assert "How to answer" not in dumped(asked[0])
    assert INVENTED in dumped(asked[2][-1])
    assert "reference-missing-file" in dumped(asked[2][-1])
    arrived = verified.results()["look-around"]
    assert "There is no refund." in arrived
    assert INVENTED not in arrived


def test_verify_sends_a_false_answer_back_once_and_counts_it(verified: Session) -> None:
    requests = verified.turns("code-as-usual")
    assert dumped(requests[-1]).count("remit (final-claims)") == 1
    assert "shop/refunds.py" in dumped(requests[-1][-1])
    assert verified.status.startswith("2 untrue statements were stopped, 0 got through")
