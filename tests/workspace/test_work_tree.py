"""The files of a work tree, including special files and links."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remit.workspace import files
from remit.workspace.files import MAX_FILE, Absent, SourceFile, WorkTree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small tree."""
    shop = tmp_path / "shop"
    (shop / "app").mkdir(parents=True)
    (shop / "app" / "cart.py").write_text("one\ntwo\n")
    (shop / "README").write_text("read me\n")
    (tmp_path / "secret.txt").write_text("secret\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret.py").write_text("secret\n")
    return shop


def why(root: Path, written: str) -> str:
    """Return the text of a file, or the reason why it cannot be read."""
    found = WorkTree(root).read(written)
    return found.why if isinstance(found, Absent) else found.text


@pytest.mark.parametrize(
    "written", ["app/cart.py", "./app/cart.py", "app/../app/cart.py", "app\\cart.py", "{root}/app/cart.py"]
)
def test_a_file_is_found_by_every_way_of_writing_its_path(root: Path, written: str) -> None:
    found = WorkTree(root).read(written.format(root=root))
    assert isinstance(found, SourceFile)
    assert (found.path, found.lines) == ("app/cart.py", ["one", "two"])


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("app/none.py", "missing"),
        ("none/cart.py", "missing"),
        ("README/cart.py", "missing"),
        ("App/cart.py", "missing"),
        ("app/CART.py", "missing"),
        ("a\0b", "missing"),
        ("x" * 5000, "missing"),
        ("app", "folder"),
        ("app/", "folder"),
        (".", "folder"),
        ("../secret.txt", "outside"),
        ("app/../../secret.txt", "outside"),
        ("/etc/hostname", "outside"),
        ("~/secret.txt", "outside"),
    ],
)
def test_an_unreadable_path_is_returned_with_its_reason(root: Path, written: str, expected: str) -> None:
    assert why(root, written) == expected


@pytest.mark.parametrize("written", [".git/config", ".git", ".GIT/config", "vendor/lib/.git/config"])
def test_files_of_git_are_outside_in_any_folder(root: Path, written: str) -> None:
    for folder in (root / ".git", root / "vendor" / "lib" / ".git"):
        folder.mkdir(parents=True)
        (folder / "config").write_text("[core]\n")
    assert why(root, written) == "outside"
    assert WorkTree(root).paths == ["README", "app/cart.py"]


def test_names_with_spaces_and_line_breaks_are_read(root: Path) -> None:
    for name in ("two words.py", "line\nbreak.py", "tab\there.py", "-dash.py", "quote'\".py"):
        (root / name).write_text(name)
        assert why(root, name) == name


@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
@pytest.mark.parametrize("written", ["NFC", "NFD"])
def test_composed_and_decomposed_letters_are_the_same_name(root: Path, on_disk: str, written: str) -> None:
    (root / unicodedata.normalize(on_disk, "Zoë")).mkdir()
    (root / unicodedata.normalize(on_disk, "Zoë") / unicodedata.normalize(on_disk, "café.py")).write_text("here")
    assert why(root, unicodedata.normalize(written, "Zoë/café.py")) == "here"


def test_both_forms_of_a_name_can_exist_at_once(root: Path) -> None:
    (root / "café.py").write_text("composed")
    (root / unicodedata.normalize("NFD", "café.py")).write_text("decomposed")
    if len(list(root.iterdir())) != 4:
        pytest.skip("this disk takes both forms for one name")
    assert why(root, "café.py") == "composed"
    assert why(root, unicodedata.normalize("NFD", "café.py")) == "decomposed"


def test_a_name_that_is_not_utf_8_is_listed_and_harms_nothing(root: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.py")).write_text("x")
    except OSError as error:
        pytest.skip(f"this disk takes no such name: {error}")
    tree = WorkTree(root)
    assert len(tree.paths) == 3
    assert all(isinstance(tree.read(path), SourceFile) for path in tree.paths)


def test_a_link_inside_is_followed(root: Path) -> None:
    (root / "link.py").symlink_to("app/cart.py")
    (root / "chain.py").symlink_to("link.py")
    (root / "folder").symlink_to("app")
    (root / "absolute.py").symlink_to(root / "app" / "cart.py")
    (root / "here").symlink_to(".")
    for written in ("link.py", "chain.py", "folder/cart.py", "absolute.py", "here/here/app/cart.py"):
        assert why(root, written) == "one\ntwo\n"
    assert why(root, "folder") == "folder"
    assert why(root, "here") == "folder"


def test_a_link_that_leads_out_is_outside(root: Path) -> None:
    (root / "up.txt").symlink_to("../secret.txt")
    (root / "absolute.txt").symlink_to(root.parent / "secret.txt")
    (root / "nowhere").symlink_to("/no/such/place")
    (root / "chain.txt").symlink_to("up.txt")
    (root / "root").symlink_to("/")
    for written in ("up.txt", "absolute.txt", "nowhere", "chain.txt", "root/etc/hostname"):
        assert why(root, written) == "outside"


def test_all_paths_below_an_outside_folder_get_the_same_reason(root: Path) -> None:
    (root / "out").symlink_to("../other")
    assert why(root, "out/secret.py") == "outside"
    assert why(root, "out/no-such-file.py") == "outside"


def test_a_folder_outside_is_not_listed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "out").symlink_to("../other")
    listed: list[str] = []
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: listed.append(os.path.realpath(folder)) or real(folder))
    assert why(root, "out/secret.py") == "outside"
    assert listed == [str(root)]


def test_a_link_into_git_is_outside(root: Path) -> None:
    for folder in (root / ".git", root / "vendor" / ".git"):
        folder.mkdir(parents=True)
        (folder / "config").write_text("[core]\n")
    (root / "config").symlink_to(".git/config")
    (root / "deep").symlink_to("vendor/.git/config")
    (root / "folder").symlink_to("vendor/.git")
    for written in ("config", "deep", "folder", "folder/config"):
        assert why(root, written) == "outside"


def test_a_link_to_the_git_file_of_a_worktree_is_outside(root: Path) -> None:
    (root / ".git").write_text("gitdir: /elsewhere\n")
    (root / "link").symlink_to(".git")
    assert why(root, "link") == "outside"
    assert ".git" not in WorkTree(root).paths


def test_a_link_to_a_missing_file_is_there_and_what_is_below_it_is_missing(root: Path) -> None:
    (root / "real").mkdir()
    (root / "manual.html").symlink_to("build/index.html")
    (root / "chain.html").symlink_to("manual.html")
    (root / "folder").symlink_to("real")
    (root / "out.html").symlink_to("../build/index.html")
    assert {why(root, name) for name in ("manual.html", "chain.html")} == {"dangling"}
    assert {why(root, name) for name in ("folder/index.html", "manual.html/x")} == {"missing"}
    assert why(root, "out.html") == "outside"


def test_a_loop_of_links_is_missing(root: Path, in_time: None) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "self").symlink_to("self")
    for written in ("a", "b", "self", "a/x.py"):
        assert why(root, written) == "missing"


def test_a_pipe_does_not_block(root: Path, in_time: None) -> None:
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("pipe")
    assert why(root, "pipe") == "special"
    assert why(root, "link") == "special"
    assert "pipe" not in WorkTree(root).paths


def test_a_socket_is_not_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert why(root, "socket") == "special"


def test_a_device_is_not_read(root: Path, in_time: None) -> None:
    try:
        os.mknod(root / "zero", 0o20666, os.makedev(1, 5))
        (root / "zero").open("rb").close()
    except OSError as error:
        pytest.skip(f"devices cannot be made and opened here: {error}")
    assert why(root, "zero") == "special"


@contextmanager
def _without_privileges() -> Iterator[Path]:
    """Read a folder outside pytest's own (which only its owner may enter) as an unprivileged user."""
    folder = Path(tempfile.mkdtemp(prefix="remit-")).resolve()
    folder.chmod(0o755)
    was_root = os.geteuid() == 0
    try:
        yield folder
    finally:
        if was_root:
            os.seteuid(0)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        shutil.rmtree(folder)


def _lose_privileges() -> None:
    if os.geteuid() == 0:
        os.seteuid(65534)


def test_a_file_that_may_not_be_read_is_forbidden_and_exists() -> None:
    with _without_privileges() as folder:
        (folder / "secret.py").write_text("secret")
        (folder / "secret.py").chmod(0)
        (folder / "closed").mkdir()
        (folder / "closed" / "a.py").write_text("a")
        (folder / "closed").chmod(0)
        _lose_privileges()
        tree = WorkTree(folder)
        assert tree.read("secret.py") == Absent("secret.py", "forbidden")
        assert tree.read("closed/a.py") == Absent("closed/a.py", "forbidden")
        assert tree.read("closed") == Absent("closed", "folder")
        assert tree.exists("secret.py")
        assert tree.paths == ["secret.py"]


def test_a_file_of_ten_megabytes_is_read_and_a_larger_one_is_not(root: Path) -> None:
    (root / "most.txt").write_bytes(b"a" * MAX_FILE)
    (root / "more.txt").write_bytes(b"a" * (MAX_FILE + 1))
    with (root / "huge.bin").open("wb") as file:
        file.truncate(1 << 40)
    assert len(why(root, "most.txt")) == MAX_FILE
    assert why(root, "more.txt") == "large"
    assert why(root, "huge.bin") == "large"


def test_a_file_that_grows_while_it_is_read_is_large(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "log.txt").write_bytes(b"a" * 100)
    real = os.fstat

    def grown(opened: int) -> os.stat_result:
        about = real(opened)
        with (root / "log.txt").open("ab") as file:
            file.write(b"a" * 100)
        return about

    monkeypatch.setattr(files, "MAX_FILE", 150)
    monkeypatch.setattr(os, "fstat", grown)
    assert why(root, "log.txt") == "large"


def test_a_file_with_a_nul_near_its_start_is_binary(root: Path) -> None:
    (root / "image.png").write_bytes(b"\x89PNG\0")
    (root / "utf16.txt").write_bytes("text".encode("utf-16"))
    (root / "late.txt").write_bytes(b"a" * 8192 + b"\0")
    assert why(root, "image.png") == "binary"
    assert why(root, "utf16.txt") == "binary"
    assert why(root, "late.txt").startswith("aaa")


def test_a_file_that_vanishes_after_it_was_listed_is_missing(root: Path) -> None:
    tree = WorkTree(root)
    assert tree.read("app/none.py") == Absent("app/none.py", "missing")  # the folder is known now
    assert "app/cart.py" in tree.paths
    (root / "app" / "cart.py").unlink()
    assert tree.read("app/cart.py") == Absent("app/cart.py", "missing")


def test_a_folder_that_vanishes_while_the_tree_is_listed_is_left_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def scandir(folder: str) -> object:
        if Path(folder) == root / "app":
            Path(folder).rename(root.parent / "gone")
        return real(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    assert WorkTree(root).paths == ["README"]


def test_unreadable_files_exist(root: Path) -> None:
    (root / "image.png").write_bytes(b"\0")
    os.mkfifo(root / "pipe")
    tree = WorkTree(root)
    there = [name for name in ("README", "image.png", "pipe", "app", "none", "../secret.txt") if tree.exists(name)]
    assert there == ["README", "image.png", "pipe"]


def test_links_and_special_files_are_not_listed(root: Path) -> None:
    (root / "link").symlink_to("README")
    (root / "folder").symlink_to("app")
    os.mkfifo(root / "pipe")
    assert WorkTree(root).paths == ["README", "app/cart.py"]


def test_skipped_directories_are_not_listed_but_cited_files_are_read(root: Path) -> None:
    names = ("node_modules/x/index.js", "app/__pycache__/a.txt", ".venv/lib/b.py", ".gitignore", "build/c.py")
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / ".gitignore").write_text("build/\n")
    (root / ".venv" / "pyvenv.cfg").write_text("home = /usr\n")
    assert WorkTree(root).paths == [".gitignore", "README", "app/cart.py", "build/c.py"]
    assert [why(root, name) for name in names[:3]] == list(names[:3])


def test_a_root_that_is_a_virtual_environment_is_listed(root: Path) -> None:
    (root / "pyvenv.cfg").write_text("home = /usr\n")
    assert WorkTree(root).paths == ["README", "app/cart.py", "pyvenv.cfg"]


def test_paths_are_found_by_their_last_part_in_any_case(root: Path) -> None:
    (root / "lib").mkdir()
    (root / "lib" / "Cart.py").write_text("")
    assert WorkTree(root).index.by_folded_name["cart.py"] == ["app/cart.py", "lib/Cart.py"]


def test_no_more_files_are_listed_than_the_limit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LISTED", 3)
    for number in range(9):
        (root / f"{number}.py").write_text("")
    assert len(WorkTree(root).paths) == 3


def test_a_file_is_read_once_and_memory_stays_within_its_limit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abcde":
        (root / name).write_text(name * 1000)
    tree = WorkTree(root)
    assert tree.read("a") is tree.read("./a")
    monkeypatch.setattr(files, "MAX_CACHE", 2500)
    for name in "abcde":
        tree.read(name)
    assert list(tree._cache) == ["d", "e"]
    assert tree._cached == 2 * 1200
    assert why(root, "a") == "a" * 1000


def test_a_root_named_through_a_link_has_both_names(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    tree = WorkTree(link)
    assert tree.root == root
    assert isinstance(tree.read(f"{link}/app/cart.py"), SourceFile)
    assert isinstance(tree.read(f"{root}/app/cart.py"), SourceFile)
    assert tree.read(f"{link}/../secret.txt") == Absent(f"{link}/../secret.txt", "outside")


def test_a_relative_root_is_the_folder_it_names(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root.parent)
    tree = WorkTree(Path("shop"))
    monkeypatch.chdir("/")
    assert isinstance(tree.read(f"{root}/app/cart.py"), SourceFile)
