"""Which file of the checkout a written path means."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import evidence_of, shown
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.checking import Options, check_text
from remit.evidence.receipts import Receipt, ReceiptIndex
from remit.evidence.sources import Sources
from remit.workspace.file_index import FileIndex
from remit.workspace.files import WorkTree


def plant(root: Path, files: dict[str, int]) -> Path:
    """Write files with that many lines."""
    for path, lines in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x = 1\n" * lines)
    return root


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
    return plant(tmp_path, files)


def outcomes(text: str, tree: Path, document: str = "") -> list[str]:
    (verdict,) = check_text(
        text, str(tree / document) if document else "-", Options(), Sources(workspace=WorkTree(tree))
    )
    return [shown(reference) for reference in verdict.evidence.references]


# --- The end of a path


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("app.ts:12", "app.ts:12 abbreviated > web/src/app.ts:12"),
        ("src/app.ts:12", "src/app.ts:12 abbreviated > web/src/app.ts:12"),
        ("web/src/app.ts:12", "web/src/app.ts:12 verified"),
        (".../src/app.ts:12", "src/app.ts:12 abbreviated > web/src/app.ts:12"),
        ("…/app.ts:12", "app.ts:12 abbreviated > web/src/app.ts:12"),
        ("app.ts:41", "app.ts:41 out-of-range > web/src/app.ts:40"),
        ("p.ts:12", "p.ts:12 missing-file"),
        ("rc/app.ts:12", "rc/app.ts:12 missing-file > web/src/app.ts:12"),
        ("other/src/app.ts:12", "other/src/app.ts:12 missing-file > web/src/app.ts:12"),
        ("App.ts:12", "App.ts:12 missing-file > web/src/app.ts:12"),
        ("only_there.js:3", "only_there.js:3 missing-file"),
        ("x/only_there.js:3", "x/only_there.js:3 missing-file"),
        ("node_modules/x/only_there.js:3", "node_modules/x/only_there.js:3 unchecked"),
        ("api/node_modules/x/gone.js:3", "api/node_modules/x/gone.js:3 missing-file"),
        ("web/.../app.ts:12", "web/.../app.ts:12 abbreviated > web/src/app.ts:12"),
        ("api/.../app.ts:12", "api/.../app.ts:12 missing-file > web/src/app.ts:12"),
        ("web/...src/app.ts:12", "web/...src/app.ts:12 abbreviated > web/src/app.ts:12"),
        ("web/...lib/app.ts:12", "web/...lib/app.ts:12 missing-file > web/src/app.ts:12"),
        ("web/...c/app.ts:12", "web/...c/app.ts:12 missing-file > web/src/app.ts:12"),
        ("web/src/...src/app.ts:12", "web/src/...src/app.ts:12 missing-file > web/src/app.ts:12"),
        ("api/...rc/app.ts:12", "api/...rc/app.ts:12 missing-file > web/src/app.ts:12"),
        ("api/main.py:12", "api/main.py:12 unchecked > api/src/main.py:12"),
        ("README.md:3", "README.md:3 verified"),
    ],
)
def test_a_short_path_means_the_only_file_that_ends_with_it(written: str, expected: str, tree: Path) -> None:
    assert outcomes(f"see `{written}` there", tree) == [expected]


def test_a_path_that_several_files_end_with_is_ambiguous(tree: Path) -> None:
    (reference,) = evidence_of("see `index.ts:5` there", tree).references
    assert (reference.outcome, reference.candidates) == ("ambiguous", ("api/src/index.ts", "web/src/index.ts"))


def test_files_that_have_the_line_are_the_first_candidates(tree: Path) -> None:
    plant(tree, {"app/src/index.ts": 5})
    (reference,) = evidence_of("see `index.ts:25` there", tree).references
    expected = ("api/src/index.ts", "app/src/index.ts", "web/src/index.ts")
    assert (reference.outcome, reference.candidates) == ("ambiguous", expected)


def test_the_candidate_that_the_document_names_is_meant_only_if_it_has_the_line(tree: Path) -> None:
    text = "It starts in `web/src/index.ts`. See `index.ts:25` there."
    assert outcomes(text, tree) == ["index.ts:25 ambiguous"]
    text = "It starts in `web/src/index.ts`. See `index.ts:99` there."
    assert outcomes(text, tree) == ["index.ts:99 out-of-range > web/src/index.ts:10"]


def test_a_longer_abbreviation_elsewhere_does_not_name_a_candidate(tree: Path) -> None:
    plant(tree, {"lib/web/src/index.ts": 30})
    assert outcomes("`lib/web/src/../src/index.ts` and `src/index.ts:5`", tree)[-1] == "src/index.ts:5 ambiguous"


def test_a_line_that_no_candidate_has_is_out_of_range(tree: Path) -> None:
    (reference,) = evidence_of("see `index.ts:31` there", tree).references
    assert (reference.outcome, reference.why) == (
        "out-of-range",
        "none of the 2 files that end with this path has this line",
    )


@pytest.mark.parametrize(
    "other", ["It starts in `api/src/index.ts`.", "It starts in api/src/index.ts:1.", "```\napi/src/index.ts\n```"]
)
def test_the_candidate_that_the_document_names_in_full_is_meant(other: str, tree: Path) -> None:
    assert "index.ts:5 abbreviated > api/src/index.ts:5" in outcomes(f"{other}\n\nSee `index.ts:5` there.", tree)


def test_the_candidate_that_has_the_symbol_is_meant_even_if_another_is_named_in_full(tree: Path) -> None:
    (tree / "web/src/index.ts").write_text("x = 1\n" * 4 + "function startAll() {}\n" + "x = 1\n" * 5)
    text = "The server is `api/src/index.ts`.\n\nSee `index.ts:5` (`startAll`) and `index.ts:5` (`stopAll`)."
    first, second = outcomes(text, tree)
    assert first == "index.ts:5 abbreviated > web/src/index.ts:5"
    assert second == "index.ts:5 mismatch"


def test_two_candidates_that_the_document_names_in_full_stay_ambiguous(tree: Path) -> None:
    text = "Both `api/src/index.ts` and `web/src/index.ts` start it. See `index.ts:5` there."
    assert outcomes(text, tree) == ["index.ts:5 ambiguous"]


def test_the_candidate_that_the_agent_opened_is_meant(tree: Path) -> None:
    receipts = ReceiptIndex([Receipt(tool="Read", path="web/src/index.ts")], str(tree))
    sources = Sources(workspace=WorkTree(tree), receipts=receipts)
    (verdict,) = check_text("see `index.ts:5` there", "-", Options(), sources)
    assert [shown(one) for one in verdict.evidence.references] == ["index.ts:5 abbreviated > web/src/index.ts:5"]


def test_ignored_files_are_not_meant_by_a_short_path(tree: Path) -> None:
    import subprocess

    plant(tree, {"dist/bundle.js": 20, "notes/draft.txt": 20})
    (tree / ".gitignore").write_text("dist/\n")
    subprocess.run(["git", "init", "-q", tree], check=True)
    assert outcomes("`bundle.js:3` and `draft.txt:3`", tree) == [
        "bundle.js:3 missing-file",
        "draft.txt:3 abbreviated > notes/draft.txt:3",
    ]
    assert outcomes("`dist/bundle.js:3`", tree) == ["dist/bundle.js:3 verified"]


# --- The document's own folder


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("../notes.md:3", "docs/notes.md:3 verified"),
        ("../../web/src/app.ts:3", "web/src/app.ts:3 verified"),
        ("[the app](../../web/src/app.ts#L3)", "web/src/app.ts:3 verified"),
        ("plan.md:3", "docs/plans/plan.md:3 verified"),
        ("../../../app.ts:3", "../../../app.ts:3 outside"),
        ("README.md:3", "README.md:3 verified"),
    ],
)
def test_a_path_may_start_in_the_folder_of_the_document(written: str, expected: str, tree: Path) -> None:
    assert outcomes(f"see {written} there", tree, "docs/plans/plan.md") == [expected]


def test_a_path_upwards_is_outside_if_the_document_is_elsewhere(tree: Path) -> None:
    assert outcomes("see ../notes.md:3 there", tree) == ["../notes.md:3 outside"]


# --- Roots of other machines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/me/shop/web/src/app.ts:3", ["web/src/app.ts:3 verified"]),
        ("C:\\work\\shop\\web\\src\\app.ts:3", ["web/src/app.ts:3 verified"]),
        ("~/shop/web/src/app.ts:3", ["web/src/app.ts:3 verified"]),
        ("/web/src/app.ts:3", ["web/src/app.ts:3 verified"]),
        ("/web/src/ghost.ts:3", ["web/src/ghost.ts:3 missing-file"]),
        ("/README.md:3", ["README.md:3 verified"]),
        ("/etc/README.md:3", ["/etc/README.md:3 outside"]),
        ("/etc/hosts.txt:3", ["/etc/hosts.txt:3 outside"]),
        (
            "/home/me/shop/web/src/app.ts:3 and /home/me/shop/README.md:4",
            ["web/src/app.ts:3 verified", "README.md:4 verified"],
        ),
        (
            "/home/me/shop/web/src/app.ts:3 and /home/me/shop/web/ghost.ts:4",
            ["web/src/app.ts:3 verified", "web/ghost.ts:4 missing-file"],
        ),
        (
            "/home/me/shop/web/src/app.ts:3 and /home/me/other/ghost.ts:4",
            ["web/src/app.ts:3 verified", "/home/me/other/ghost.ts:4 outside"],
        ),
    ],
)
def test_a_root_of_another_machine_is_left_out(text: str, expected: list[str], tree: Path) -> None:
    assert outcomes(f"see {text} there", tree) == expected


def test_the_folder_of_a_transcript_is_left_out(tree: Path) -> None:
    receipts = ReceiptIndex([], str(tree), other_roots=["/build/42"])
    (verdict,) = check_text(
        "see `/build/42/README.md:3`", "-", Options(), Sources(workspace=WorkTree(tree), receipts=receipts)
    )
    assert [shown(one) for one in verdict.evidence.references] == ["README.md:3 verified"]


# --- Another code base


@pytest.mark.parametrize(
    "folder",
    [
        "/home/me/.cargo/registry/src/index.crates.io-19/log-0.1.3",
        "/home/me/go/pkg/mod/example.org/log@v1.2.0",
        "/usr/lib/python3/dist-packages/log",
        "/opt/app/node_modules/log",
    ],
)
def test_a_file_of_a_package_is_not_a_file_of_the_checkout(folder: str, tree: Path) -> None:
    text = f"`/home/me/work/web/src/app.ts:3`, [src]({folder}/web/src/app.ts#L3), `{folder}/web/src/index.ts:3`"
    assert [one.split()[-1] for one in outcomes(text, tree)] == ["verified", "unchecked", "unchecked"]
    result = f"# review-security Result\n\n**Status:** COMPLETED\n\n## Summary\n{text}\n"
    assert [one.split()[-1] for one in outcomes(result, tree)] == ["verified", "outside", "outside"]


def test_the_checkout_may_be_an_installed_package(tree: Path) -> None:
    text = "`/opt/venv/site-packages/web/src/app.ts:3` and `/opt/venv/site-packages/web/src/index.ts:3`"
    assert [one.split()[-1] for one in outcomes(text, tree)] == ["verified", "verified"]


@pytest.mark.parametrize(
    "path", ["/home/me/node_modules/../src/lie.ts:3", "../../node_modules/../secret.txt:3", "../node_modules/x/a.js:3"]
)
def test_a_path_upwards_from_a_package_is_outside(path: str, tree: Path) -> None:
    assert outcomes(f"`{path}`", tree)[0].split()[-1] == "outside"


def test_references_to_another_code_base_are_reported_once(tree: Path) -> None:
    text = "\n".join(f"- `engine/part_{number}.cc:{number + 1}`" for number in range(80))
    (verdict,) = check_text(text, "-", Options(select=("evidence",)), Sources(workspace=WorkTree(tree)))
    (violation,) = (one for one in verdict.violations if one.rule == "reference-missing-file")
    assert "these 80 references point to another code base: there is no engine/ here" in violation.message
    assert [one.outcome for one in verdict.evidence.references] == ["missing-file", *["unchecked"] * 79]


def test_missing_files_in_a_folder_of_the_checkout_are_reported_each(tree: Path) -> None:
    text = "\n".join(f"- `web/src/part_{number}.cc:{number + 1}`" for number in range(20))
    assert {one.split(" ")[1] for one in outcomes(text, tree)} == {"missing-file"}


def test_a_few_references_elsewhere_among_many_are_reported_each(tree: Path) -> None:
    held = "\n".join(f"- `web/src/app.ts:{number + 1}`" for number in range(20))
    lost = "\n".join(f"- `engine/part_{number}.ts:1`" for number in range(10))
    assert sum("missing-file" in one for one in outcomes(f"{held}\n\n{lost}", tree)) == 10


# --- Braces


def test_one_range_after_braces_belongs_to_a_file_that_has_it(tmp_path: Path) -> None:
    plant(tmp_path, {"src/bridge.h": 10, "src/bridge.mm": 300})
    assert outcomes("`src/bridge.{h,mm}` (lines 148-228)", tmp_path) == ["src/bridge.mm:148-228 verified"]
    assert len(outcomes("`src/bridge.{h,mm}` (lines 400-500)", tmp_path)) == 2


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


@given(st.integers(17, 60), paths)
def test_a_large_group_of_equal_names_is_searched_as_well(count: int, end: str) -> None:
    files = [f"d{number}/src/index.ts" for number in range(count)]
    assert FileIndex(files).ending_with("d3/src/index.ts") == ["d3/src/index.ts"]
    assert len(FileIndex(files).ending_with("src/index.ts")) == count
    assert FileIndex(files).ending_with("3/src/index.ts") == []


@given(st.lists(paths, max_size=30, unique=True), st.lists(paths, max_size=4))
def test_prepared_names_are_found_like_others(files: list[str], ends: list[str]) -> None:
    prepared = FileIndex(files)
    for group in (ends[:2], ends[1:], ends):
        prepared.prepare(end.rpartition("/")[2] for end in group)
        assert [prepared.ending_with(end) for end in ends] == [FileIndex(files).ending_with(end) for end in ends]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["ghost.ts:3", "src/ghost.ts:3", "lib/src/ghost.ts:3", ".../ghost.ts:3"]),
    st.lists(st.sampled_from(["a", "lib", "src", "web"]), max_size=4).map("/".join),
    st.sampled_from(["ghost.ts", "Ghost.ts", "xghost.ts", "ghost.ts.bak"]),
)
def test_more_files_never_turn_a_missing_file_into_a_verified_one(written: str, folder: str, name: str) -> None:
    """Only a file with exactly the written path verifies a reference; any other file at most makes it abbreviated."""
    import tempfile

    with tempfile.TemporaryDirectory() as root:
        base = plant(Path(root), {"README.md": 9})
        assert outcomes(f"see `{written}`", base)[0].split(" ")[1] == "missing-file"
        added = f"{folder}/{name}" if folder else name
        plant(base, {added: 9})
        outcome = outcomes(f"see `{written}`", base)[0].split(" ")[1]
    path = written.split(":", maxsplit=1)[0].removeprefix(".../")
    assert outcome == ("verified" if added == path else "abbreviated" if added.endswith(f"/{path}") else "missing-file")


# --- Paths of the machine, and paths that stand for any file


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("/etc/passwd:1", "/etc/passwd:1 outside"),
        ("/etc/app.conf:3", "etc/app.conf:3 verified"),
        ("/etc/conf.d/gone.conf:3", "/etc/conf.d/gone.conf:3 outside"),
        ("/web/src/app.ts:3", "web/src/app.ts:3 verified"),
        ("/web/src/gone.ts:3", "web/src/gone.ts:3 missing-file"),
    ],
)
def test_a_path_of_the_machine_is_outside_even_if_the_checkout_has_such_a_folder(
    written: str, expected: str, tree: Path
) -> None:
    plant(tree, {"etc/app.conf": 5, "docker/etc/passwd": 5})
    assert outcomes(f"see `{written}` there", tree) == [expected]


def test_a_leading_slash_before_one_path_does_not_make_another_one_relative(tree: Path) -> None:
    expected = ["web/src/app.ts:3 verified", "/etc/passwd:1 outside"]
    assert outcomes("`/web/src/app.ts:3` reads `/etc/passwd:1`", tree) == expected


@pytest.mark.parametrize(
    "text",
    [
        "`path/to/file.py:12`",
        "`/path/to/your/module.ts:10`",
        "`actions/xxx.ts:12`",
        "`your_file.py:3` and `some/file.py:4`",
        "for example `src/foo.py:12`",
        "the `file.py:12` format",
        "| File |\n|---|\n| `path/to/file.py` |",
        "```python\n# path/to/file.py:12\nreturn something_else(1)\n```",
    ],
)
def test_a_path_that_stands_for_any_file_is_not_a_reference(text: str, tree: Path) -> None:
    evidence = evidence_of(text, tree)
    assert (evidence.references, evidence.quotes) == ([], [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`foo.py:12` is wrong", "foo.py:12 missing-file"),
        ("for example `api/src/ghost.py:12`", "api/src/ghost.py:12 missing-file"),
        ("`yourself.py:3`", "yourself.py:3 missing-file"),
        ("`api/xxx_parser.py:3`", "api/xxx_parser.py:3 missing-file"),
        ("`api/maxxx.py:3`", "api/maxxx.py:3 missing-file"),
        ("for example `main.py:12`", "main.py:12 abbreviated > api/src/main.py:12"),
        ("`path/to/main.py:3`", "path/to/main.py:3 verified"),
        ("`path/to/main.py:30`", "path/to/main.py:30 out-of-range > path/to/main.py:9"),
    ],
)
def test_a_name_that_may_be_a_file_is_a_reference(text: str, expected: str, tree: Path) -> None:
    plant(tree, {"path/to/main.py": 9} if "path/to" in text else {})
    assert outcomes(text, tree) == [expected]


# --- Other machines, submodules and other code bases


def test_a_leading_slash_may_precede_the_end_of_a_path(tree: Path) -> None:
    assert outcomes("`/src/app.ts:3`", tree) == ["src/app.ts:3 abbreviated > web/src/app.ts:3"]
    assert outcomes("`/app.ts:3`", tree) == ["app.ts:3 abbreviated > web/src/app.ts:3"]


def test_two_files_of_the_root_make_their_folder_a_root(tree: Path) -> None:
    plant(tree, {"serve.py": 9, "main.py": 9})
    text = "`/home/user/shop/serve.py:3` and `/home/user/shop/main.py:4`"
    assert outcomes(text, tree) == ["serve.py:3 verified", "main.py:4 verified"]
    assert outcomes("`/home/user/shop/serve.py:3`", tree) == ["/home/user/shop/serve.py:3 outside"]


def test_a_file_of_another_repository_that_the_text_names_in_full_is_outside(tree: Path) -> None:
    text = "`/home/user/shop-tools/setup.sh` lines 3-4, `shop-tools/setup.sh:3`"
    assert [one.split(" > ")[0] for one in outcomes(text, tree)] == [
        "/home/user/shop-tools/setup.sh:3-4 outside",
        "shop-tools/setup.sh:3 unchecked",
    ]
    plant(tree, {"install.sh": 30})
    text = "`/home/user/shop-tools/install.sh` lines 3-4, `shop-tools/remove.sh:3` and `tools/install.sh:3`"
    assert [one.split(" ")[1] for one in outcomes(text, tree)] == ["outside", "missing-file", "missing-file"]
    # The checkout may be in a folder of another name.
    text = "`/home/user/shop-tools/install.sh:3`, `install.sh:3` and `shop-tools/install.sh:3`"
    assert "outside" not in {one.split(" ")[1] for one in outcomes(text, tree)}
    text = "| File |\n|---|\n| `~/shop-tools/remove.sh` |\n\nSee `shop-tools/remove.sh:3`."
    assert outcomes(text, tree)[-1] == "shop-tools/remove.sh:3 missing-file"
    text = "`/home/user/shop/install.sh:3` and `install.sh:3`"
    assert outcomes(text, tree) == ["install.sh:3 verified", "install.sh:3 verified"]


def test_a_file_of_a_submodule_that_is_not_checked_out_is_not_checked(tree: Path) -> None:
    (tree / "git/engine").mkdir(parents=True)
    (tree / ".gitmodules").write_text('[submodule "engine"]\n\tpath = git/engine\n\turl = x\n')
    text = "`git/engine/src/net.rs:3`, `net.rs:4`, `src/net.rs:5` and `ghost.rs:6`"
    expected = ["unchecked", "unchecked", "unchecked", "missing-file"]
    assert [one.split(" ")[1] for one in outcomes(text, tree)] == expected
    plant(tree, {"git/engine/README.md": 3})
    assert [one.split(" ")[1] for one in outcomes(text, tree)] == ["missing-file"] * 4


def test_a_name_alone_may_be_in_a_submodule_that_the_text_often_names(tree: Path) -> None:
    (tree / "vendor/mesh").mkdir(parents=True)
    (tree / ".gitmodules").write_text('[submodule "mesh"]\n\tpath = vendor/mesh\n\turl = x\n')
    files = ["vendor/mesh/a.rs", "vendor/mesh/b.rs", "vendor/mesh/c.rs", "ghost.rs", "ghost.py", "src/ghost.rs"]
    evidence = evidence_of("\n".join(f"- `{file}:3`" for file in files), tree)
    assert [one.outcome for one in evidence.references] == [*["unchecked"] * 4, *["missing-file"] * 2]
    assert evidence.references[3].why == "it may be in the submodule vendor/mesh, which is not checked out"


def test_lines_without_a_named_file_do_not_hide_another_code_base(tree: Path) -> None:
    files = ["bench/truth.py", "bench/metrics.py", "bench/io.py", "truth.py", "metrics.py", "other.py"]
    text = "#### A note\n**File**: `src/only.py:1`\n\n" + "The call at line 9999 is late.\n\n" * 9
    evidence = evidence_of(text + "\n".join(f"- `{file}:3`" for file in files), tree)
    lost = [one.outcome for one in evidence.references if one.path != "src/only.py"]
    assert lost == ["missing-file", *["unchecked"] * 5]


def test_references_to_another_code_base_with_relative_paths_are_reported_once(tree: Path) -> None:
    files = ["bench/truth.py", "bench/domain/metrics.py", "bench/io.py", "truth.py", "metrics.py", "io.py"]
    evidence = evidence_of("\n".join(f"- `{file}:{line}`" for line, file in enumerate(files, 3)), tree)
    assert [one.outcome for one in evidence.references] == ["missing-file", *["unchecked"] * 5]
    assert evidence.references[0].why == "these 6 references point to another code base: there is no bench/ here"


def test_another_code_base_may_have_a_folder_of_the_same_name(tree: Path) -> None:
    files = [f"web/bench/mod{number}.py" for number in range(8)] + ["truth.py", "metrics.py"]
    evidence = evidence_of("\n".join(f"- `{file}:{line}`" for line, file in enumerate(files, 3)), tree)
    assert [one.outcome for one in evidence.references] == ["missing-file", *["unchecked"] * 9]


def test_a_document_without_any_existing_file_is_reported_once(tree: Path) -> None:
    evidence = evidence_of("\n".join(f"- `part{number}/mod{number}.py:3`" for number in range(12)), tree)
    assert [one.outcome for one in evidence.references] == ["missing-file", *["unchecked"] * 11]
    assert "almost none of these files exists here" in evidence.references[0].why


def test_names_without_a_folder_of_which_none_exists_are_reported_once(tree: Path) -> None:
    lost = [f"- `mod{number}.ts:3`" for number in range(20)]
    held = [f"- `web/src/app.ts:{line}`" for line in (1, 2, 3)]
    assert claimed("\n".join(lost[:5]), tree) == ["missing-file", *["unchecked"] * 4]
    assert claimed("\n".join(lost[:4]), tree) == ["missing-file"] * 4
    assert claimed("\n".join(lost + held), tree).count("missing-file") == 20


def test_names_that_an_agent_invents_in_its_result_are_reported_each(tree: Path) -> None:
    lost = [f"- `mod{number}.py:3`" for number in range(60)]
    assert {one.outcome for one in evidence_of("\n".join(lost), tree).references} == {"missing-file"}


def claimed(text: str, tree: Path) -> list[str]:
    """Return the outcomes of the references of a text that is not a result."""
    (verdict,) = check_text(text, "-", Options(profile="claims"), Sources(workspace=WorkTree(tree)))
    return [one.outcome for one in verdict.evidence.references]


# --- Texts that look like paths


@pytest.mark.parametrize(
    "text",
    ["Marks items as disabled/enabled (lines 61-63)", "`users/{id}.json` (lines 4-8)", "see `users/{id}.json:4`"],
)
def test_words_with_a_slash_and_templates_are_not_files(text: str, tree: Path) -> None:
    assert outcomes(text, tree) == []


def test_a_path_with_an_unknown_ending_counts_in_a_column_if_a_file_ends_with_it(tree: Path) -> None:
    plant(tree, {"themes/login/login.ftl": 9})
    table = "| File | Use |\n|---|---|\n| {} | x |"
    assert outcomes(table.format("login/login.ftl"), tree)[0].startswith("login/login.ftl abbreviated")
    assert outcomes(table.format("other/other.ftl"), tree) == []


# --- A name that a file in the root has as well


def test_a_line_that_the_file_in_the_root_lacks_may_be_one_of_its_namesake(tmp_path: Path) -> None:
    tree = plant(tmp_path, {"build.kts": 9, "app/build.kts": 60})
    assert outcomes("`build.kts:31-45`", tree) == ["build.kts:31-45 abbreviated > app/build.kts:31"]
    assert outcomes("`build.kts:5`", tree) == ["build.kts:5 verified"]
    assert outcomes("`build.kts:70`", tree) == ["build.kts:70 out-of-range > build.kts:9"]
    assert outcomes("`./build.kts:31`", plant(tmp_path, {"web/build.kts": 40}))[0].split()[1] == "ambiguous"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("$lib/src/app.ts:12", "$lib/src/app.ts:12 abbreviated > web/src/app.ts:12"),
        ("@/src/app.ts:12", "@/src/app.ts:12 abbreviated > web/src/app.ts:12"),
        ("@/src/index.ts:5", "@/src/index.ts:5 ambiguous"),
        ("@/src/none.ts:12", "@/src/none.ts:12 missing-file"),
    ],
)
def test_a_path_may_start_with_the_name_of_a_folder_of_the_build_tool(written: str, expected: str, tree: Path) -> None:
    assert outcomes(f"`{written}`", tree) == [expected]


def test_the_end_of_a_name_is_suggested(tmp_path: Path) -> None:
    tree = plant(tmp_path, {"src/Overlay+HelperViews.swift": 9, "src/main.swift": 9})
    assert outcomes("`HelperViews.swift:3`", tree) == [
        "HelperViews.swift:3 missing-file > src/Overlay+HelperViews.swift:3"
    ]
    assert outcomes("`Views.swift:3`", tree) == ["Views.swift:3 missing-file"]


def test_the_tag_of_a_container_image_is_not_a_line(tree: Path) -> None:
    assert outcomes("It uses a bare `gotenberg/gotenberg:8` image.", tree) == []
    assert outcomes("It is in `docs/gotenberg:8`.", tree) == ["docs/gotenberg:8 missing-file"]


def test_a_file_that_the_text_calls_new_is_planned_wherever_it_is_named(tree: Path) -> None:
    table = "| File | Task |\n|---|---|\n| `web/src/limits.ts` | 1 |\n| `web/src/other.ts` | 2 |\n"
    text = f"Write `web/src/limits.ts` (new) first.\n\n{table}"
    assert outcomes(text, tree) == ["web/src/limits.ts planned", "web/src/other.ts missing-file"]
    assert outcomes(f"{text}\nSee `web/src/limits.ts:3`.", tree)[2] == "web/src/limits.ts:3 missing-file"


def test_paths_of_another_machine_may_have_another_layout(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / f"packages/core/src/{name}.c").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"packages/core/src/{name}.c").write_text("int x;\n")
    cited = [f"`/home/me/shop/src/{name}.c:1`" for name in ("one", "two", "three")]
    found = outcomes(", ".join(cited), tmp_path)
    assert found == [f"src/{name}.c:1 abbreviated > packages/core/src/{name}.c:1" for name in ("one", "two", "three")]
    # A leading slash stands for the root of the checkout.
    below = outcomes(", ".join(one.replace("/home/me/shop/", "/packages/core/") for one in cited), tmp_path)
    assert below == [f"packages/core/src/{name}.c:1 verified" for name in ("one", "two", "three")]
    # Two could be a coincidence.
    assert [one.split()[1] for one in outcomes(", ".join(cited[:2]), tmp_path)] == ["outside", "outside"]


@pytest.mark.parametrize("remark", ["Ignored return value", "Missing validation of the name"])
def test_a_row_that_begins_like_a_remark_on_a_file_is_accused(remark: str, tree: Path) -> None:
    text = f"| File | Finding |\n|---|---|\n| `old.ts` | {remark} |\n"
    assert outcomes(text, tree) == ["old.ts missing-file"]


@pytest.mark.parametrize("remark", ["**MOVED** to tools/x.ts", "renamed", "Deleted", "removed (unused)"])
def test_a_row_that_states_that_a_file_is_gone_is_not_accused(remark: str, tree: Path) -> None:
    assert outcomes(f"| File | Result |\n|---|---|\n| `old.ts` | {remark} |\n", tree) == ["old.ts planned"]
    assert outcomes("| File | Result |\n|---|---|\n| `old.ts` | slow |\n", tree) == ["old.ts missing-file"]


# --- A name that the root and the folder of the heading have


def test_a_name_below_a_heading_with_a_folder_may_be_that_of_the_folder(tmp_path: Path) -> None:
    root = plant(tmp_path, {"README.md": 40, "docs/api/README.md": 30, "docs/api/routes.md": 10})
    text = "## 3.1 docs/api/ — README.md, routes.md\n\n{}`README.md:{}` is out of date.\n"
    assert outcomes(text.format("", 11), root) == ["README.md:11 ambiguous"]
    assert outcomes(text.format("See docs/api/README.md. ", 11), root) == [
        "README.md:11 abbreviated > docs/api/README.md:11"
    ]
    assert outcomes(text.format("", 35), root) == ["README.md:35 verified"]
    assert outcomes("## The API\n\n`README.md:11` is out of date.\n", root) == ["README.md:11 verified"]
    assert outcomes("## docs/api/*.md\n\n`README.md:11` is out of date.\n", root) == ["README.md:11 verified"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("framework-.../src/main.py:12", ["framework-.../src/main.py:12 abbreviated > api/src/main.py:12"]),
        ("framework-…/src/main.py:12", ["src/main.py:12 abbreviated > api/src/main.py:12"]),
        ("ap.../src/index.ts:20", ["ap.../src/index.ts:20 abbreviated > api/src/index.ts:20"]),
        ("framework-.../src/main.py:120", ["framework-.../src/main.py:120 out-of-range"]),
        ("framework-.../src/nope.py:12", ["framework-.../src/nope.py:12 missing-file"]),
        ("framework-.../lib/main.py:12", ["framework-.../lib/main.py:12 missing-file"]),
        ("framework-.../main.py:12", ["framework-.../main.py:12 missing-file"]),
    ],
)
def test_the_name_of_a_folder_may_be_shortened(written: str, expected: list[str], tree: Path) -> None:
    found = map(shown, evidence_of(f"See `{written}`.", tree).references)
    assert [one.partition(" > ")[0] if "abbreviated" not in one else one for one in found] == expected
