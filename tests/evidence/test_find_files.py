"""Which file of the checkout a written path means, whether it has the line, and what is suggested if it does not."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from corpus.tree import evidence_in, evidence_of, numbered, plant, references, shown, write
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.checking import Options, check_text
from remit.evidence import find_files
from remit.evidence.claims import explain
from remit.evidence.receipts import Receipt, ReceiptIndex
from remit.evidence.sources import Sources
from remit.workspace.file_index import FileIndex
from remit.workspace.files import MAX_FILE, WorkTree


def lines(files: dict[str, int]) -> dict[str, str]:
    """Return files with that many lines."""
    return {path: numbered(count) for path, count in files.items()}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "README.md": 9,
        "web/src/app.ts": 40,
        "web/src/index.ts": 10,
        "api/src/index.ts": 30,
        "api/src/main.py": 50,
        "api/node_modules/x/only_there.js": 50,
        "docs/plans/plan.md": 5,
        "docs/notes.md": 20,
    }
    return write(tmp_path, lines(files))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("small"))


def outcomes(text: str, tree: Path, document: str = "") -> list[str]:
    """Return the outcomes of the references of a text, without what was found."""
    return [claim.outcome for claim in evidence_in(text, tree, document and str(tree / document)).references]


# --- 1. As written, and the lines of the file


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("src/app.py:1", "src/app.py:1 exists"),
        ("src/app.py:40", "src/app.py:40 exists"),
        ("src/app.py:1-40", "src/app.py:1-40 exists"),
        ("src/app.py:3-3", "src/app.py:3-3 exists"),
        ("src/app.py:41", "src/app.py:41 out-of-range"),
        ("src/app.py:38-50", "src/app.py:38-50 out-of-range"),
        ("src/app.py:40-41", "src/app.py:40-41 out-of-range > src/app.py:40"),
        ("src/app.py:0", "src/app.py:0 out-of-range"),
        ("src/app.py:0-3", "src/app.py:0-3 out-of-range"),
        ("src/app.py:3-2", "src/app.py:3-2 out-of-range"),
        ("src/empty.py:1", "src/empty.py:1 out-of-range"),
        ("src/empty.py:0", "src/empty.py:0 out-of-range"),
        ("./src/app.py:1", "src/app.py:1 exists"),
        ("src/../src/app.py:1", "src/app.py:1 exists"),
        ("src/auth/../app.py:1", "src/app.py:1 exists"),
        ("src\\app.py:1", "src/app.py:1 exists"),
        ("../app.py:1", "../app.py:1 missing-file"),
        ("src/../../app.py:1", "src/../../app.py:1 missing-file"),
        ("/etc/hosts.txt:1", "/etc/hosts.txt:1 missing-file"),
        ("~/app.py:1", "~/app.py:1 missing-file"),
        (".git/config:1", ".git/config:1 missing-file"),
        ("src/.GIT/config:1", "src/.GIT/config:1 missing-file"),
        ("C:\\app.py:1", "C:/app.py:1 missing-file"),
        ("src/App.py:1", "src/App.py:1 missing-file > src/app.py:1"),
        ("SRC/app.py:1", "SRC/app.py:1 missing-file > src/app.py:1"),
        ("src/ap.py:12", "src/ap.py:12 missing-file > src/app.py:12"),
        ("src/application.py:1", "src/application.py:1 missing-file"),
        ("src/auth:1", "src/auth:1 missing-file > src/auth/login.ts:1"),
        ("lib/app.py:99", "lib/app.py:99 missing-file > src/app.py"),
        ("src/app.py/x.py:1", "src/app.py/x.py:1 missing-file"),
    ],
)
def test_a_reference_has_this_outcome(written: str, expected: str, small: Path) -> None:
    assert references(f"see `{written}` there", small) == [expected]


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("src/app.py:99", "the file has 40 lines"),
        ("src/app.py:0", "lines are counted from 1"),
        ("src/app.py:9-3", "the range runs backwards from 9 to 3"),
        ("src/ghost.py:1", "there is no such file in this folder"),
        ("src/auth:1", "it is a folder"),
        ("../x.py:1", "the path is outside the checkout"),
    ],
)
def test_an_outcome_has_a_sentence(written: str, why: str, small: Path) -> None:
    (claim,) = evidence_of(written, small).references
    assert explain(claim) == why


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (b"", 0),
        (b"\n", 1),
        (b"a", 1),
        (b"a\nb", 2),
        (b"a\r\nb\r\n", 2),
        (b"a\rb\n", 1),
        (b"a\x0cb\x0bc\xe2\x80\xa8d\n", 1),
        (b"\xff\xfe bytes\n", 1),
    ],
)
def test_lines_are_counted_as_in_the_contract(content: bytes, count: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(content)
    for line in range(1, 4):
        assert outcomes(f"a.py:{line}", tmp_path) == ["exists" if line <= count else "out-of-range"]


def test_files_that_cannot_be_read_are_unchecked(tmp_path: Path) -> None:
    (tmp_path / "binary.py").write_bytes(b"\0" * 10)
    with (tmp_path / "large.py").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    claims = evidence_of("binary.py:1 large.py:1", tmp_path).references
    assert [(claim.outcome, claim.reason) for claim in claims] == [("unchecked", "binary"), ("unchecked", "large")]


def test_a_file_of_a_submodule_that_is_not_checked_out_is_unchecked(tree: Path) -> None:
    (tree / "git/engine").mkdir(parents=True)
    (tree / ".gitmodules").write_text('[submodule "engine"]\n\tpath = git/engine\n\turl = x\n')
    assert outcomes("`git/engine/src/net.rs:3` and `git/other/net.rs:3`", tree) == ["unchecked", "missing-file"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_followed_only_inside_the_checkout(tmp_path: Path) -> None:
    write(tmp_path, {"outside/a.py": "x\n", "root/real.py": "x\n"})
    root = tmp_path / "root"
    (root / "link.py").symlink_to("real.py")
    (root / "out.py").symlink_to("../outside/a.py")
    (root / "dir").symlink_to("../outside")
    assert outcomes("link.py:1 out.py:1 dir/a.py:1", root) == ["exists", "missing-file", "missing-file"]
    other = tmp_path / "other"
    other.symlink_to(root)
    assert references(f"{root.resolve()}/real.py:1 {other}/real.py:1", other) == ["real.py:1 exists"] * 2


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_to_a_missing_file_is_unchecked(tmp_path: Path) -> None:
    (tmp_path / "manual.html").symlink_to("build/index.html")
    (tmp_path / "out.html").symlink_to("../elsewhere/index.html")
    claims = evidence_of(
        "[manual](manual.html), `./manual.html`, manual.html:3 and [out](out.html)", tmp_path
    ).references
    assert [(claim.outcome, claim.reason) for claim in claims] == [
        *[("unchecked", "dangling")] * 3,
        ("missing-file", "outside"),
    ]
    assert explain(claims[0]) == "it is a symbolic link whose target does not exist"


def test_an_absolute_path_inside_the_checkout_becomes_relative(small: Path) -> None:
    root = small.resolve()
    expected = ["src/app.py:12 exists", f"{root}/../x.py:1 missing-file"]
    assert references(f"{root}/src/app.py:12 and {root}/../x.py:1", small) == expected


def test_ignored_files_count_as_written_and_are_not_meant_by_a_short_path(tree: Path) -> None:
    write(tree, {".gitignore": "dist/\n", **lines({"dist/bundle.js": 20, "notes/draft.txt": 20})})
    subprocess.run(["git", "init", "-q", tree], check=True)
    assert outcomes("`dist/bundle.js:3`, `bundle.js:3` and `draft.txt:3`", tree) == [
        *("exists", "missing-file", "exists")
    ]


def test_without_a_repository_references_are_found_and_unchecked() -> None:
    texts = references("src/app.py:12 and Dockerfile:3 and ../x.py:1", None)
    assert texts == ["src/app.py:12 unchecked", "../x.py:1 unchecked"]


def test_a_folder_without_a_line_exists(tmp_path: Path) -> None:
    write(tmp_path, lines({"src/auth/login.ts": 1, "web/src/views/list.ts": 1}))
    assert references("| File |\n|---|\n| src/auth/ |\n| src/views/ |\n| src/ghost/ |\n", tmp_path) == [
        "src/auth exists",
        "src/views exists > web/src/views",
        "src/ghost missing-file",
    ]


# --- 2. The folder of the document


@pytest.mark.parametrize(
    ("written", "file", "outcome"),
    [
        ("../notes.md:3", "docs/notes.md", "exists"),
        ("../../web/src/app.ts:3", "web/src/app.ts", "exists"),
        ("[the app](../../web/src/app.ts#L3)", "web/src/app.ts", "exists"),
        ("plan.md:3", "docs/plans/plan.md", "exists"),
        ("README.md:3", "README.md", "exists"),
        ("../ghost.md:3", "docs/ghost.md", "missing-file"),
        ("../../../app.ts:3", "../../../app.ts", "missing-file"),
    ],
)
def test_a_path_may_start_in_the_folder_of_the_document(written: str, file: str, outcome: str, tree: Path) -> None:
    (claim,) = evidence_in(f"see {written} there", tree, str(tree / "docs/plans/plan.md")).references
    assert (claim.file, claim.outcome) == (file, outcome)


def test_a_link_prefers_the_folder_of_the_document_to_the_root(tree: Path) -> None:
    write(tree, lines({"docs/README.md": 30}))
    (link,) = evidence_in("[it](README.md#L20)", tree, str(tree / "docs/notes.md")).references
    assert (link.file, link.outcome) == ("docs/README.md", "exists")
    assert outcomes("see ../notes.md:3 there", tree) == ["missing-file"]


# --- 3. Roots of other machines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/me/shop/web/src/app.ts:3", "web/src/app.ts exists"),
        ("C:\\work\\shop\\web\\src\\app.ts:3", "web/src/app.ts exists"),
        ("~/shop/web/src/app.ts:3", "web/src/app.ts exists"),
        ("/web/src/app.ts:3", "web/src/app.ts exists"),
        ("/web/src/ghost.ts:3", "web/src/ghost.ts missing-file"),
        ("/README.md:3", "README.md exists"),
        (".../src/app.ts:12", "web/src/app.ts exists"),
        ("…/app.ts:12", "web/src/app.ts exists"),
        ("/src/app.ts:3", "web/src/app.ts exists"),
        ("/etc/README.md:3", "/etc/README.md missing-file"),
        ("/etc/hosts.txt:3", "/etc/hosts.txt missing-file"),
        ("/home/me/shop/web/src/app.ts:3 and /home/me/shop/README.md:4", "web/src/app.ts exists, README.md exists"),
        (
            "/home/me/shop/web/src/app.ts:3 and /home/me/shop/web/ghost.ts:4",
            "web/src/app.ts exists, web/ghost.ts missing-file",
        ),
        (
            "/home/me/shop/web/src/app.ts:3 and /home/me/other/ghost.ts:4",
            "web/src/app.ts exists, /home/me/other/ghost.ts missing-file",
        ),
    ],
)
def test_a_root_of_another_machine_is_left_out(text: str, expected: str, tree: Path) -> None:
    claims = evidence_of(f"see {text} there", tree).references
    assert ", ".join(f"{claim.file} {claim.outcome}" for claim in claims) == expected


def test_the_folder_of_a_transcript_is_left_out(tree: Path) -> None:
    sources = Sources(workspace=WorkTree(tree), receipts=ReceiptIndex([], str(tree), other_roots=["/build/42"]))
    (verdict,) = check_text("see `/build/42/README.md:3`", "-", Options(), sources)
    assert [(claim.file, claim.outcome) for claim in verdict.evidence.references] == [("README.md", "exists")]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("/etc/passwd:1", "missing-file"),
        ("/etc/app.conf:3", "exists"),
        ("/etc/conf.d/gone.conf:3", "missing-file"),
        ("/web/src/gone.ts:3", "missing-file"),
        ("../node_modules/x/a.js:3", "missing-file"),
        ("/home/me/node_modules/../src/lie.ts:3", "missing-file"),
    ],
)
def test_a_path_of_the_machine_is_outside_even_if_the_checkout_has_such_a_folder(
    written: str, expected: str, tree: Path
) -> None:
    write(tree, lines({"etc/app.conf": 5, "docker/etc/passwd": 5}))
    assert outcomes(f"`/web/src/app.ts:3` reads `{written}`", tree) == ["exists", expected]


def test_paths_of_another_machine_may_have_another_layout(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    write(tmp_path, {f"packages/core/src/{name}.c": "int x;\n" for name in names})
    cited = [f"`/home/me/shop/src/{name}.c:1`" for name in names]
    assert outcomes(", ".join(cited), tmp_path) == ["exists"] * 3
    assert outcomes(", ".join(cited[:2]), tmp_path) == ["missing-file"] * 2, "two could be a coincidence"


# --- 4. The end of a path


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("app.ts:12", "app.ts:12 exists > web/src/app.ts:12"),
        ("src/app.ts:12", "src/app.ts:12 exists > web/src/app.ts:12"),
        ("web/src/app.ts:12", "web/src/app.ts:12 exists"),
        ("app.ts:41", "app.ts:41 out-of-range"),
        ("p.ts:12", "p.ts:12 missing-file"),
        ("rc/app.ts:12", "rc/app.ts:12 missing-file > web/src/app.ts:12"),
        ("other/src/app.ts:12", "other/src/app.ts:12 missing-file > web/src/app.ts:12"),
        ("App.ts:12", "App.ts:12 missing-file > web/src/app.ts:12"),
        ("only_there.js:3", "only_there.js:3 missing-file"),
        ("x/only_there.js:3", "x/only_there.js:3 missing-file"),
        ("api/node_modules/x/gone.js:3", "api/node_modules/x/gone.js:3 missing-file"),
        ("web/.../app.ts:12", "web/.../app.ts:12 exists > web/src/app.ts:12"),
        ("api/.../app.ts:12", "api/.../app.ts:12 missing-file > web/src/app.ts:12"),
        ("$lib/src/app.ts:12", "$lib/src/app.ts:12 exists > web/src/app.ts:12"),
        ("@/src/app.ts:12", "@/src/app.ts:12 exists > web/src/app.ts:12"),
        ("@/src/index.ts:5", "@/src/index.ts:5 unchecked"),
        ("README.md:3", "README.md:3 exists"),
    ],
)
def test_a_short_path_means_the_only_file_that_ends_with_it(written: str, expected: str, tree: Path) -> None:
    assert references(f"see `{written}` there", tree) == [expected]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["ghost.ts:3", "src/ghost.ts:3", "lib/src/ghost.ts:3", ".../ghost.ts:3"]),
    st.lists(st.sampled_from(["a", "lib", "src", "web"]), max_size=4).map("/".join),
    st.sampled_from(["ghost.ts", "Ghost.ts", "xghost.ts", "ghost.ts.bak"]),
)
def test_only_a_file_with_exactly_the_written_path_exists(written: str, folder: str, name: str) -> None:
    """Any other file at most makes the reference abbreviated."""
    path, added = written.removesuffix(":3").removeprefix(".../"), f"{folder}/{name}".lstrip("/")
    with tempfile.TemporaryDirectory() as root:
        assert outcomes(f"see `{written}`", Path(root)) == ["missing-file"]
        (outcome,) = outcomes(f"see `{written}`", write(Path(root), lines({added: 9})))
    is_end = added.endswith(f"/{path}")
    assert outcome == ("exists" if added == path else "exists" if is_end else "missing-file")


def test_a_path_that_several_files_end_with_is_ambiguous_if_one_has_the_line(tree: Path) -> None:
    write(tree, lines({"app/src/index.ts": 5}))
    every = ("api/src/index.ts", "app/src/index.ts", "web/src/index.ts")
    for line in (3, 25):
        (claim,) = evidence_of(f"see `index.ts:{line}` there", tree).references
        assert (claim.outcome, claim.candidates) == ("unchecked", every)
    (claim,) = evidence_of("see `index.ts:31` there", tree).references
    assert (claim.outcome, explain(claim)) == (
        "out-of-range",
        "none of the 3 files that end with this path has this line",
    )


@pytest.mark.parametrize(
    ("other", "line", "expected"),
    [
        ("It starts in `api/src/index.ts`.", 5, "exists > api/src/index.ts:5"),
        ("It starts in api/src/index.ts:1.", 5, "exists > api/src/index.ts:5"),
        ("```\napi/src/index.ts\n```", 5, "exists > api/src/index.ts:5"),
        ("It starts in `web/src/index.ts`.", 25, "unchecked"),
        ("It starts in `web/src/index.ts`.", 99, "out-of-range"),
        ("Both `api/src/index.ts` and `web/src/index.ts` start it.", 5, "unchecked"),
    ],
)
def test_the_candidate_that_the_document_names_in_full_is_meant_if_it_has_the_line(
    other: str, line: int, expected: str, tree: Path
) -> None:
    assert references(f"{other}\n\nSee `index.ts:{line}` there.", tree)[-1] == f"index.ts:{line} {expected}"


def test_the_candidate_that_the_agent_opened_is_meant(tree: Path) -> None:
    receipts = ReceiptIndex([Receipt(tool="Read", path="web/src/index.ts")], str(tree))
    sources = Sources(workspace=WorkTree(tree), receipts=receipts)
    (verdict,) = check_text("see `index.ts:5` there", "-", Options(), sources)
    assert [shown(claim) for claim in verdict.evidence.references] == ["index.ts:5 exists > web/src/index.ts:5"]


def test_the_candidate_that_has_the_name_or_the_quote_is_meant(tree: Path) -> None:
    (tree / "web/src/index.ts").write_text("x = 1\n" * 4 + "function startAll() {}\n" + "x = 1\n" * 5)
    texts = references("See `index.ts:5` (`startAll`).\n\n`index.ts:5`:\n```ts\nfunction startAll() {}\n```", tree)
    assert texts[0] == "index.ts:5 verified > web/src/index.ts:5"
    (quote,) = evidence_of("`index.ts:5`:\n```ts\nfunction startAll() {}\n```", tree).quotes
    assert (quote.file, quote.outcome) == ("web/src/index.ts", "verified")


def test_a_line_that_the_file_in_the_root_lacks_may_be_one_of_its_namesake(tmp_path: Path) -> None:
    tree = write(tmp_path, lines({"build.kts": 9, "app/build.kts": 60}))
    assert references("`build.kts:31-45`", tree) == ["build.kts:31-45 exists > app/build.kts:31"]
    assert outcomes("`build.kts:5` and `build.kts:70`", tree) == ["exists", "out-of-range"]
    assert outcomes("`./build.kts:31`", write(tmp_path, lines({"web/build.kts": 40}))) == ["unchecked"]


# --- Another code base


def test_references_to_another_code_base_are_unchecked_in_a_text_and_accused_in_a_result(tree: Path) -> None:
    text = "\n".join(f"- `engine/part_{number}.cc:{number + 1}`" for number in range(80))
    claims = evidence_in(text, tree).references
    assert {(claim.outcome, claim.reason) for claim in claims} == {("unchecked", "other-code-base")}
    assert "most references of this text are below engine/" in explain(claims[0])
    assert {claim.outcome for claim in evidence_of(text, tree).references} == {"missing-file"}


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"- `web/src/part_{number}.cc:{number + 1}`" for number in range(20)),
        "\n".join(f"- `engine/part_{number}.cc:1`\n- `web/src/app.ts:{number + 1}`" for number in range(20)),
        "\n".join(f"- `engine/part_{number}.cc:1`" for number in range(3)),
    ],
    ids=["in a folder of the checkout", "half of them", "few"],
)
def test_missing_files_are_reported_each_unless_most_share_a_folder_that_is_not_here(text: str, tree: Path) -> None:
    assert set(outcomes(text, tree)) - {"exists"} == {"missing-file"}


# --- Planned files

DESIGN = """#### Implementation Map
| Component | File | Action |
|---|---|---|
| clock | `{path}` | {action} |
| app | `src/app.py` | Modify |

The clock (`{path}:3`) is new.
"""


@pytest.mark.parametrize(
    ("path", "action", "kind", "expected"),
    [
        ("src/clock.py", "Create", "design", ["planned", "exists", "planned"]),
        ("src/clock.py", "新規", "design", ["planned", "exists", "planned"]),
        ("src/clock.py", "Modify", "design", ["missing-file", "exists", "missing-file"]),
        ("src/clock.py", "Delete", "design", ["missing-file", "exists", "missing-file"]),
        ("src/clock.py", "Create", "exploration", ["missing-file", "exists", "missing-file"]),
        ("src/store.py", "Create", "design", ["exists", "exists", "exists"]),
        ("../clock.py", "Create", "design", ["missing-file", "exists", "missing-file"]),
    ],
)
def test_files_that_a_design_creates_are_planned(
    path: str, action: str, kind: str, expected: list[str], small: Path
) -> None:
    body = DESIGN.format(path=path, action=action)
    assert [claim.outcome for claim in evidence_of(body, small, kind=kind).references] == expected


# --- Suggestions


def test_suggestions_prefer_the_path_with_the_most_common_parts(tmp_path: Path) -> None:
    write(tmp_path, lines({"a/models/user.py": 1, "b/models/user.py": 1, "b/user.py": 1, "src/Login+Views.swift": 9}))
    for written, suggestion in (
        ("b/model/user.py:1", "b/user.py:1"),
        ("c/models/user.py:1", "b/models/user.py:1"),
        ("src/a/models/User.py:9", "a/models/user.py"),
        ("Views.swift:3", "src/Login+Views.swift:3"),
    ):
        assert references(written, tmp_path) == [f"{written} missing-file > {suggestion}"]


@pytest.mark.parametrize(
    ("written", "suggestion"),
    [
        ("src/shop/client/tlil.py:1", "src/shop/client/till.py:1"),  # not the one of the server
        ("src/shop/client/tills.py:1", "src/shop/client/till.py:1"),  # not the one that is called so elsewhere
        ("lib/shop/server/till.py:1", "src/shop/server/till.py:1"),
        ("lib/ledger.py:1", "src/ledger.py:1"),  # the only file of this name
        ("api/shelf/index.md:1", ""),
        ("api/legder.py:1", ""),
    ],
)
def test_a_similar_name_in_the_same_folder_comes_first_and_a_foreign_path_is_not_suggested(
    tmp_path: Path, written: str, suggestion: str
) -> None:
    names = ("client/till.py", "server/till.py", "server/tills.py")
    write(tmp_path, lines({**{f"src/shop/{name}": 1 for name in names}, "src/ledger.py": 1, "docs/index.md": 1}))
    (tmp_path / "api").mkdir()
    (tmp_path / "api/key.py").write_text("x = 1\n")
    assert references(written, tmp_path) == [f"{written} missing-file" + f" > {suggestion}" * bool(suggestion)]


def test_a_folder_with_a_line_suggests_its_main_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        lines({f"{path}": 1 for path in ("pkg/a.py", "pkg/__init__.py", "web/a.ts", "web/index.ts", "o/b.py")}),
    )
    for folder, suggested in (("pkg", "pkg/__init__.py"), ("web", "web/index.ts"), ("o", "o/b.py")):
        assert references(f"`{folder}/:1`", tmp_path) == [f"{folder}:1 missing-file > {suggested}:1"]
        table = f"| File | Line |\n|---|---|\n| {folder}/ | 1 |\n"
        assert references(table, tmp_path) == [f"{folder}:1 missing-file > {suggested}:1"]


def test_the_number_of_suggestions_is_limited(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_files, "MAX_GUESSES", 1)
    suggested = [claim.found is not None for claim in evidence_of("src/sture.py:1 src/appp.py:1", small).references]
    assert sorted(suggested) == [False, True]


def test_of_too_many_equal_names_the_first_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_files, "MAX_COMPARISONS", 0)
    write(tmp_path, lines({"c/a/x.py": 1, "c/b/x.py": 1}))
    assert references("c/e/b/x.py:1", tmp_path) == ["c/e/b/x.py:1 missing-file > c/a/x.py:1"]


# --- Odd names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See `account:member/list.ts:4`.", "account:member/list.ts:4 exists"),
        ("See api/handlers/account:member/list.ts:4-9", "api/handlers/account:member/list.ts:4-9 exists"),
        ("See `app/(group)/[id]/page.tsx:4`", "app/(group)/[id]/page.tsx:4 exists"),
        ("See `@scope/core/index.ts:4`", "@scope/core/index.ts:4 exists"),
        ("See My page.md:4", "My page.md:4 exists"),
        ("See docs/My page.md, line 4", "docs/My page.md:4 exists"),
        ("See `Bob's notes, part 2.md:4`", "Bob's notes, part 2.md:4 exists"),
        ("See `comms.tsp` L4", "comms.tsp:4 exists"),
        ("| File | Note |\n|---|---|\n| account:member/list.ts | x |", "account:member/list.ts exists"),
        ("| File | Note |\n|---|---|\n| docs/My page.md | x |", "docs/My page.md exists"),
        # A longer text that names no file is not a path
        ("Note:src/app.py:4", "src/app.py:4 exists"),
        ("account:other/list.ts:4", "other/list.ts:4 missing-file"),
        ("The page.md:4", "page.md:4 missing-file"),
        ("`comms.other` L4 and state.value:4", ""),
    ],
)
def test_a_path_goes_on_over_an_odd_character_if_there_is_such_a_file(text: str, expected: str, tmp_path: Path) -> None:
    files = (
        *("api/handlers/account:member/list.ts", "web/app/(group)/[id]/page.tsx", "packages/@scope/core/index.ts"),
        *("docs/My page.md", "docs/Bob's notes, part 2.md", "specs/api/comms.tsp", "src/app.py"),
    )
    write(tmp_path, lines(dict.fromkeys(files, 40)))
    assert [cited.partition(" > ")[0] for cited in references(text, tmp_path)] == ([expected] if expected else [])


@pytest.mark.skipif(os.name == "nt", reason="such names are not allowed there")
def test_unusual_names_on_disk_are_handled(tmp_path: Path) -> None:
    odd = ("new\nline.py", "bell\x07.py", "right\u202eleft.py", " space.py", "quote'.py", "é.py", "e\u0301f.py")
    write(tmp_path, {name: "unmistakable_line = 1\n" if name == odd[0] else "x\n" for name in odd})
    text = "`newline.py:1`, é.py:1, e\u0301.py:1, `quote'.py:1`, right\u202eleft.py:1, éf.py:1"
    assert outcomes(text, tmp_path) == ["missing-file", "exists", "exists", "exists", "missing-file", "exists"]


# --- The index of names

names = st.sampled_from(["a", "b", "index.ts", "main.py", "vendor", "node_modules"])
paths = st.lists(names, min_size=1, max_size=5).map("/".join)


@given(st.lists(paths, max_size=60, unique=True), paths)
def test_the_index_finds_what_a_plain_search_finds(files: list[str], end: str) -> None:
    hidden = {"vendor", "node_modules"}
    expected = [
        path
        for path in files
        if (path == end or path.endswith(f"/{end}"))
        and (hidden.isdisjoint(path.split("/")[:-1]) or not hidden.isdisjoint(end.split("/")))
    ]
    assert FileIndex(files).ending_with(end) == sorted(expected)
    prepared = FileIndex(files)
    prepared.prepare([end.rpartition("/")[2]])
    assert prepared.ending_with(end) == sorted(expected)


@given(st.integers(17, 60))
def test_a_large_group_of_equal_names_is_searched_as_well(count: int) -> None:
    files = [f"d{number}/src/index.ts" for number in range(count)]
    assert FileIndex(files).ending_with("d3/src/index.ts") == ["d3/src/index.ts"]
    assert len(FileIndex(files).ending_with("src/index.ts")) == count
    assert FileIndex(files).ending_with("3/src/index.ts") == []
