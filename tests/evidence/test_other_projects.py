"""Files that the text calls files of another project, each with the closest claim about this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.checking import Options, check_text
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree

ROOT = "The model is `mesh-api` (`/home/ann/code/mesh-api`).\n\n"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout") / "tree-0"
    (root / "src").mkdir(parents=True)
    (root / "src/cart.rs").write_text("let x = 1;\n" * 40)
    (root / "src/types.rs").write_text("let x = 1;\n" * 40)
    (root / "Cargo.toml").write_text('[package]\nname = "shop"\n')
    return root


def answers(text: str, tree: Path, document: str = "src/cart.rs") -> list[str]:
    path = str(tree / document) if document else "-"
    (verdict,) = check_text(text, path, Options(), Sources(workspace=WorkTree(tree)))
    return [one.outcome for one in verdict.evidence.references]


@pytest.mark.parametrize(
    "text",
    [
        f"{ROOT}The loop of mesh-api (`src/stream.rs:19`) is simple.\n",
        f"{ROOT}Here `mesh-api`\nuses a list (`src/stream.rs:19`).\n",
        "Copied from `~/work/meshwork/src/pool.rs:9`.\n\nHere `meshwork` does it in `src/stream.rs:19`.\n",
        "Read in `../mesh-api/docs/a.md`. `mesh-api` starts at `src/stream.rs:19`.\n",
        "Files of `/home/ann/x.org/MeshApi/`:\n\n- **`src/stream.rs`** (lines 2-9):\n  - reads\n\n- `src/main.rs:4`\n",
        "- `mesh_io-2.0.1` source in our cache: `full.rs` (proven),\n  `src/stream.rs:3-9` (a call).\n",
    ],
    ids=["clause", "two lines", "marked word", "folder beside this one", "list below its folder", "release"],
)
def test_a_file_of_another_project_is_not_checked(text: str, tree: Path) -> None:
    found = answers(text, tree)
    assert "missing-file" not in found
    assert "unchecked" in found
    assert "missing-file" in answers(text, tree, "")  # the answer of an agent


@pytest.mark.parametrize(
    "text",
    [
        f"{ROOT}It is simple. The loop (`src/stream.rs:19`) is ours.\n",
        "The loop of mesh-api (`src/stream.rs:19`) is simple.\n",
        "Copied from `~/work/meshwork/src/pool.rs:9`.\n\nThis meshwork of calls is in `src/stream.rs:19`.\n",
        "In `/home/ann/code/shop-main/src/cart.rs:3`, shop-main reads `src/stream.rs:3`.\n",
        "**Repository:** `/home/ann/code/my-store`\n\nHere my-store reads `src/stream.rs:3`.\n",
        "- `shop-2.0.1` source: `full.rs` (proven), `src/stream.rs:3-9` (a call).\n",
        "```\n/home/ann/code/my-store: ok\n```\n\nHere my-store reads `src/stream.rs:3`.\n",
        "Run `cd ~/code/my-store` first.\n\nHere my-store reads `src/stream.rs:3`.\n",
        "In `/home/ann/code/tree-0`, tree-0 reads `src/stream.rs:3`.\n",
        f"{ROOT}In mesh-api (`src/cart.rs:3`) it is. So mesh-api reads `src/stream.rs:3`.\n",
        f"{ROOT}We call mesh-api from our client in `src/stream.rs:3`.\n",
    ],
    ids=[
        *("next sentence", "no folder", "common word", "own folder on another machine", "label", "own release"),
        *("output", "command", "folder of the checkout", "another file is here", "our client"),
    ],
)
def test_a_file_of_this_project_is_missing(text: str, tree: Path) -> None:
    assert "missing-file" in answers(text, tree)


def test_a_file_that_is_here_is_checked_under_any_name(tree: Path) -> None:
    assert answers(f"{ROOT}As in mesh-api (`src/cart.rs:19`).\n", tree) == ["verified"]
    assert answers(f"{ROOT}As in mesh-api (`src/cart.rs:190`).\n", tree) == ["out-of-range"]


def test_a_result_has_to_name_files_of_this_project(tree: Path) -> None:
    head = "## Code Reviewer Result\n\n### Status\nSUCCESS\n\n### Findings\n\n"
    assert "missing-file" in answers(f"{head}{ROOT}The loop of mesh-api (`src/stream.rs:19`) is simple.\n", tree)
