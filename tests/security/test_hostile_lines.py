"""Hostile command lines really run in a scratch project: no protected file changes without a report."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from scratch_project import ScratchProject, corpus, told_person, use_as_home

from remit.gate.settings import GateSettings

pytestmark = [pytest.mark.process, pytest.mark.slow]

LINES = corpus("hostile")


def test_there_are_many_techniques() -> None:
    assert len(LINES) >= 10
    assert sum(map(len, LINES.values())) >= 300


@pytest.mark.parametrize("technique", LINES)
def test_no_effect_on_a_protected_file_is_unreported(
    technique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_as_home(tmp_path, monkeypatch)
    shop = ScratchProject(tmp_path)
    clean = CleanCopy(shop)
    unreported = {}
    for line in LINES[technique]:
        with shop.new_session():
            first, after = shop.run(line)
        if not shop.has_run:
            continue
        changed = [name for name in clean.restore() if _is_protected(name)]
        if changed and not told_person(after) and not told_person(first):
            unreported[line] = changed[:3]
    assert unreported == {}


class CleanCopy:
    """A copy of the scratch folders, from which only those files are restored that a line has changed."""

    def __init__(self, shop: ScratchProject) -> None:
        self.shop = shop
        self.copy = shop.root / "clean"
        for folder in (shop.path, shop.home):
            shutil.copytree(folder, self.copy / folder.name, symlinks=True)
        self.stats = self._stats()

    def restore(self) -> list[str]:
        """Restore both folders. Return the files that had changed, without git's and the gate's own."""
        found = self._stats()
        differing = [name for name in self.stats.keys() | found.keys() if self.stats.get(name) != found.get(name)]
        changed = [name for name in differing if self._content(self.shop.root, name) != self._content(self.copy, name)]
        for name in sorted(differing, reverse=True):  # what is below a folder comes before it
            self._remove(self.shop.root / name)
        for name in sorted(name for name in self.stats if name in differing):
            self._put_back(name)
        self.stats = self._stats()
        project, client = f"{self.shop.path.name}/", f"{self.shop.home.name}/.claude/"
        names = [name.removeprefix(project) for name in changed if name.startswith(project)]
        names += [f"~/{name.removeprefix(client)}" for name in changed if name.startswith(client)]
        return sorted(name for name in names if not name.startswith((".git/", ".remit/gate/")))

    def _stats(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {}
        waiting = [self.shop.path, self.shop.home]
        while waiting:
            folder = waiting.pop()
            if folder == self.shop.folder:  # the gate's own records go on, and each line has its own session
                continue
            if not folder.exists():
                continue
            folder.chmod(folder.stat().st_mode | 0o700)
            for entry in os.scandir(folder):
                about = entry.stat(follow_symlinks=False)
                name = os.path.relpath(entry.path, self.shop.root)
                if entry.is_dir(follow_symlinks=False):
                    found[name] = (0, 0, about.st_mode)
                    waiting.append(Path(entry.path))
                else:
                    found[name] = (about.st_ctime_ns, about.st_ino, about.st_mode)
        return found

    def _content(self, root: Path, name: str) -> object:
        path = root / name
        mode = path.lstat().st_mode if os.path.lexists(path) else stat.S_IFDIR
        if stat.S_ISDIR(mode):
            return None
        if stat.S_ISLNK(mode):
            return path.readlink()
        return (mode & 0o7777, path.read_bytes() if stat.S_ISREG(mode) else stat.S_IFMT(mode))

    def _remove(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def _put_back(self, name: str) -> None:
        source, target = self.copy / name, self.shop.root / name
        if not source.is_symlink() and source.is_dir():
            target.mkdir(exist_ok=True, parents=True)
            shutil.copystat(source, target)
        else:
            target.parent.mkdir(exist_ok=True, parents=True)
            shutil.copy2(source, target, follow_symlinks=False)


def _is_protected(name: str) -> bool:
    """Return whether a file of the project is protected, by the documented classes and the project's .gitignore."""
    if name.startswith(("~", ".git/")) or "/.git/" in name:
        return False
    is_prose = name.endswith(".md") and not name.startswith((".claude/", "docs/specs/"))
    is_ignored = name.endswith(".pyc") or "__pycache__" in name or name.startswith("build/")
    is_state = name.startswith(GateSettings().paths["state"][0].removesuffix("**"))
    # What a compiler makes is output wherever it is.
    return not (is_prose or is_ignored or is_state) and not name.endswith(("nohup.out", ".o", ".class"))
