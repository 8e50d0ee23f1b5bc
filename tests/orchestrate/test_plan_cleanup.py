"""Files of plans in the data folder are removed with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.running import Fleet, Play

from remit.dispatch.finish import remove_orphans
from remit.store import jobs

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio


async def made(fleet: Fleet, state: str = "finished") -> int:
    """Create a very old plan."""
    [(number,)] = await fleet.rows(
        "INSERT INTO remit.plans (name, digest, document, workspace, state, finished)"
        " VALUES ('x', 'sha256:x', '{}', '/', %s, now() - interval '90 days') RETURNING id",
        state,
    )
    return int(number)


def kept(data: Path, *names: str) -> None:
    for name in names:
        folder = data / name
        folder.mkdir(parents=True)
        (folder / "1.md").write_text("what it brought", encoding="utf-8")


async def test_results_are_removed_with_their_plans(play: Play, tmp_path: Path) -> None:
    data = tmp_path / "kept"
    async with play() as fleet:
        old, waiting = await made(fleet), await made(fleet, "waiting")
        gone, here, spilled = f"results/plan-{old}", f"results/plan-{waiting}", f"spill/plan-{old}"
        kept(data, gone, here, spilled, "results/notes", "spill/plan-x")
        await remove_orphans(fleet.database, data, is_shared=False)
        assert (data / gone).is_dir(), "its plan still exists"
        await jobs.prune(fleet.database, 30)
        await remove_orphans(fleet.database, data, is_shared=False)
    left = sorted(str(one.relative_to(data)) for one in data.glob("*/*"))
    assert left == sorted([here, "results/notes", "spill/plan-x"])


async def test_results_without_a_plan_are_kept_in_a_shared_store(play: Play, tmp_path: Path) -> None:
    async with play() as fleet:
        kept(tmp_path, "results/plan-77")
        await remove_orphans(fleet.database, tmp_path, is_shared=True)
        assert (tmp_path / "results/plan-77").is_dir()


async def test_a_link_in_the_place_of_results_is_not_followed(play: Play, tmp_path: Path) -> None:
    kept(tmp_path, "elsewhere/precious")
    (tmp_path / "results").mkdir()
    (tmp_path / "results/plan-77").symlink_to(tmp_path / "elsewhere")
    async with play() as fleet:
        await remove_orphans(fleet.database, tmp_path, is_shared=False)
    assert (tmp_path / "elsewhere/precious/1.md").is_file()
