"""Git for tools: as `remit.workspace.safe_git` runs it, and limited in time and output.

Beyond its settings: no signature is checked (that runs a program the repository names), and paths are never patterns.
"""

from __future__ import annotations

from pathlib import Path

from remit.dispatch.tools.calling import Call
from remit.dispatch.tools.model import Refused
from remit.dispatch.tools.processes import Ran, run
from remit.workspace.safe_git import command, environment, root_above, without_filters

_SETTINGS = {
    "core.alternateRefsCommand": "",
    "diff.orderFile": "/dev/null",
    "gpg.program": "false",
    "log.showSignature": "false",
    "submodule.recurse": "false",
}
_MAX_POINTER = 4_096


async def git(call: Call, *arguments: str) -> bytes:
    """What a git command prints in the workspace; refused, with git's words, if it fails."""
    ran = await git_ran(call, *arguments)
    if ran.status is None:
        raise call.too_long()
    if ran.status:
        said = (ran.complaint.splitlines() or ["it failed"])[0].removeprefix("fatal: ")[:300]
        raise Refused(f"git: {said}. Check the rev and the path (GitLog and Glob show what there is).")
    return ran.output


async def git_ran(call: Call, *arguments: str) -> Ran:
    """A git command in the workspace, with its outcome."""
    root = call.ground.root
    await call.in_thread(lambda: check_own(root))
    filters = await call.in_thread(lambda: without_filters(root))
    known = environment(root, _SETTINGS | filters) | {"GIT_LITERAL_PATHSPECS": "1"}
    try:
        return await run(
            command(root, *arguments),
            environment=known,
            folder=root,
            seconds=call.seconds_left,
            most=call.limits.kept_bytes,
        )
    except FileNotFoundError as error:
        raise Refused("git is not installed on this host. Go on without its history.") from error


def check_own(root: Path) -> None:
    """Refuse a workspace that neither is nor lies in a checkout, or in one that borrows another's repository."""
    place = root_above(root)
    if place is None:
        raise Refused("The workspace is not a git checkout: there is no history. Go on without it.")
    own = place / ".git"
    borrowed = own.is_symlink() or (own / "commondir").exists() if own.is_dir() else linked_home(place) is None
    if borrowed:
        raise Refused("The workspace's .git leads to a repository that does not know it. Go on without its history.")


def linked_home(root: Path) -> Path | None:
    """The repository of a linked work tree or submodule at a root, if it says itself that the root is its own.

    A `.git` file alone proves nothing: whoever writes one could point it at any repository of the host.
    """
    pointer = root / ".git"
    if pointer.is_symlink() or not pointer.is_file():
        return None
    home = _pointed(pointer, "gitdir:")
    if home is None:
        return None
    back = _pointed(home / "gitdir", "")
    if back is not None and back == pointer.resolve():
        shared = _pointed(home / "commondir", "")
        return shared if shared is not None and home.parent == shared / "worktrees" else None
    inside = next((above for above in root.parents if (above / ".git" / "modules") in home.parents), None)
    return home if inside is not None and not (inside / ".git").is_symlink() else None


def _pointed(pointer: Path, mark: str) -> Path | None:
    """The path that a file of git's holds, resolved."""
    try:
        with pointer.open("rb") as file:
            text = file.read(_MAX_POINTER).decode("utf-8", "surrogateescape")
    except OSError:
        return None
    if not text.startswith(mark) or "\0" in text:
        return None
    return (pointer.parent / text.removeprefix(mark).strip()).resolve()
