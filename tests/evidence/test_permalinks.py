"""A permalink into this repository is checked at its own commit; no other link with a scheme is a claim."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from corpus.tree import numbered, write

from remit.checking import Options, Verdict, check_text
from remit.evidence.sources import open_sources


def git(root: Path, *arguments: str) -> str:
    """Run git without the user's settings."""
    calm = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", *arguments]
    return subprocess.run(command, cwd=root, env=os.environ | calm, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A checkout in which `src/app.py` had 40 lines in the first commit and has 10 now."""
    root = write(tmp_path_factory.mktemp("shop"), {"src/app.py": numbered(40)})
    git(root, "init", "--quiet")
    git(root, "remote", "add", "origin", "https://github.com/acme/shop.git")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "first")
    first = git(root, "rev-parse", "HEAD").strip()
    write(root, {"src/app.py": numbered(10)})
    git(root, "commit", "--quiet", "--all", "--message", "second")
    return root, first


def verdict(text: str, root: Path, *, with_history: bool = True) -> Verdict:
    sources = open_sources(root)
    try:
        (only,) = check_text(text, "-", Options(profile="claims", with_history=with_history), sources)
    finally:
        sources.close()
    return only


def test_a_permalink_is_checked_at_its_commit(shop: tuple[Path, str]) -> None:
    root, first = shop
    address = f"https://github.com/acme/shop/blob/{first}/src/app.py"
    claims = verdict(f"[it]({address}#L30) and {address}#L50", root).evidence.references
    assert [(claim.line, claim.outcome, claim.commit) for claim in claims] == [
        (30, "exists", first),
        (50, "out-of-range", first),
    ]


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/other/tool/blob/0123456789abcdef/src/app.py#L3",
        "https://github.com/acme/shop/blob/v1.2.0/src/app.py#L3",
        "https://github.com/acme/shop/blob/main/src/app.py#L3",
    ],
)
def test_a_link_that_names_no_commit_of_this_repository_is_no_claim(address: str, shop: tuple[Path, str]) -> None:
    text = f"See {address}, [it]({address}) and [src/app.py:90]({address})."
    assert verdict(text, shop[0]).evidence.references == []


def test_the_end_of_a_sentence_and_percent_signs_are_no_part_of_a_permalink(shop: tuple[Path, str]) -> None:
    root, first = shop
    (claim,) = verdict(f"It is in https://github.com/acme/shop/blob/{first}/src/%61pp.py.", root).evidence.references
    assert (claim.file, claim.outcome) == ("src/app.py", "exists")
