"""The commit that a text states is its date; a permalink is checked at its own commit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from corpus.tree import numbered, shown, write

from remit.checking import Options, Verdict, check_text
from remit.evidence.claims import explain
from remit.evidence.revisions import choose_revision, links_in
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


@pytest.mark.parametrize(
    "head", ["---\ngit_commit: {}\n---\n\n", "---\ncommit: {}\n---\n\n", "# Review\n\n**Commit:** {}\n\n"]
)
def test_a_text_that_states_a_commit_is_checked_against_the_files_on_disk(head: str, shop: tuple[Path, str]) -> None:
    root, first = shop
    result = verdict(head.format(first[:9]) + "See `src/app.py:30`.", root)
    assert result.revision.commit is None
    (checked,) = (claim for claim in result.evidence.references if claim.line == 30)
    assert (checked.outcome, checked.then and checked.then.commit) == ("outdated", first)
    assert (
        verdict(head.format(first[:9]) + "See `src/app.py:50`.", root).evidence.references[-1].outcome == "out-of-range"
    )
    with_sources = open_sources(root)
    assert choose_revision(head.format(first[:9]), with_sources)[1] == first
    assert choose_revision(head.format("deadbeefcafe"), with_sources)[0].absent == "deadbeefcafe"
    with_sources.close()


def test_a_permalink_is_checked_at_its_commit(shop: tuple[Path, str]) -> None:
    root, first = shop
    address = f"https://github.com/acme/shop/blob/{first}/src/app.py"
    claims = verdict(f"[it]({address}#L30) and {address}#L50", root).evidence.references
    assert [(claim.line, claim.outcome, claim.commit) for claim in claims] == [
        (30, "exists", first),
        (50, "out-of-range", first),
    ]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("https://github.com/other/tool/blob/0123456789abcdef/src/app.py#L3", "another repository: other/tool"),
        ("https://github.com/acme/shop/blob/0123456789abcdef/src/app.py#L3", "has no commit 0123456789ab"),
    ],
)
def test_a_link_that_is_not_of_this_repository_is_unchecked(address: str, why: str, shop: tuple[Path, str]) -> None:
    (claim,) = verdict(f"See {address}.", shop[0]).evidence.references
    assert (claim.outcome, claim.is_elsewhere) == ("unchecked", True)
    assert why in explain(claim)


def test_a_link_to_a_tag_is_checked_at_its_commit(shop: tuple[Path, str]) -> None:
    root, first = shop
    git(root, "tag", "v1.2.0", first)
    address = "https://github.com/acme/shop/blob/v1.2.0/src/app.py"
    claims = verdict(f"[it]({address}#L30) and {address}#L50", root).evidence.references
    assert [(claim.line, claim.outcome, claim.commit) for claim in claims] == [
        (30, "exists", first),
        (50, "out-of-range", first),
    ]


@pytest.mark.parametrize("name", ["v1.3.0", "1.3.0-rc.1", "shop-v2.0.1"])
def test_a_link_to_a_release_that_the_repository_does_not_have_is_unchecked(name: str, shop: tuple[Path, str]) -> None:
    text = f"[app.py:30](https://github.com/acme/shop/blob/{name}/src/app.py#L30)"
    claims = verdict(text, shop[0], with_history=False).evidence.references
    assert {claim.outcome for claim in claims} == {"unchecked"}
    assert f"the repository has no tag {name}" in explain(claims[0])


def test_a_link_to_a_branch_with_a_label_is_a_reference_to_the_checkout(shop: tuple[Path, str]) -> None:
    text = "[app.py:30](https://github.com/acme/shop/blob/main/src/app.py#L30)"
    assert [shown(claim) for claim in verdict(text, shop[0], with_history=False).evidence.references] == [
        "src/app.py:30 out-of-range"
    ]


def test_the_parts_of_a_permalink_are_read() -> None:
    text = "x [a](https://gitlab.com/acme/shop/-/blob/0123456789abcdef/src/a%20b.py#L12-18)."
    (link,) = links_in(text)
    assert (link.repository, link.commit, link.path) == ("acme/shop", "0123456789abcdef", "src/a b.py")
    assert (link.line, link.end_line, text[link.start : link.end]) == (12, 18, text[2:-1])
