from __future__ import annotations

import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolboxes import SECRET, Bench, ask

from remit.dispatch.tools.tool_types import spill_name


@pytest.mark.process
def test_output_beyond_the_limit_is_in_a_readable_file(bench: Bench) -> None:
    bench.write("long.txt", "".join(f"match {number}\n" for number in range(1_000)))
    box = bench.box(characters=3_000)
    got = ask(box, "Grep", pattern="match", output_mode="content", key="call 1/a")
    assert len(got.text) <= 3_000
    kept = bench.spill / spill_name("call 1/a")
    assert f'file_path="{kept}"]' in got.text
    assert (stat.S_IMODE(kept.stat().st_mode), stat.S_IMODE(bench.spill.stat().st_mode)) == (0o600, 0o700)
    assert kept.read_text().splitlines()[-1] == "long.txt:1000:match 999"
    offset = int(got.text.rpartition("offset=")[2].split()[0])
    rest = ask(box, "Read", file_path=str(kept), offset=offset)
    assert rest.text.startswith(f"{offset:>6}\tlong.txt:{offset}:")
    assert got.text.splitlines()[-2].startswith(f"long.txt:{offset - 1}:")


@pytest.mark.parametrize("name", ["../outside/secret.txt", "other.md", "deep/x.txt", "link.txt", ""])
def test_nothing_else_of_the_spill_folder_is_readable(bench: Bench, name: str) -> None:
    bench.spill.mkdir()
    (bench.spill / "other.md").write_text(SECRET)
    (bench.spill / "link.txt").symlink_to(bench.outside / "secret.txt")
    got = ask(bench.box(), "Read", file_path=f"{bench.spill}/{name}")
    assert got.failed
    assert SECRET not in got.text


def test_kept_output_cannot_be_written_or_searched(bench: Bench) -> None:
    bench.spill.mkdir()
    (bench.spill / "k.txt").write_text("kept")
    path = f"{bench.spill}/k.txt"
    assert ask(bench.box(), "Read", file_path=path).text == "     1\tkept"
    assert ask(bench.box(), "Write", file_path=path, content="x").failed
    assert ask(bench.box(), "Grep", path=path, pattern="kept").failed
    assert (bench.spill / "k.txt").read_text() == "kept"


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_key_gives_a_safe_unique_name(one: str, other: str) -> None:
    name = spill_name(one)
    assert name.isascii()
    assert name.replace("_", "a").replace("-", "a").removesuffix(".txt").isalnum()
    assert len(name) <= 120
    assert (name == spill_name(other)) == (one == other and bool(one))


@pytest.mark.process
def test_an_unusable_spill_folder_is_reported(bench: Bench) -> None:
    bench.spill.symlink_to(bench.outside)
    bench.write("long.txt", "match\n" * 1_000)
    got = ask(bench.box(characters=2_000), "Grep", pattern="match", output_mode="content", key="k")
    assert "could not be stored" in got.text
    assert not (bench.outside / "k.txt").exists()
