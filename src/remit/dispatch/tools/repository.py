"""Git for tools: as `remit.workspace.safe_git` runs it, and limited in time and output.

Beyond its settings: no signature is checked (that runs a program the repository names), paths are never patterns, and
git reads nothing outside of the repository's own folder. Its words are not passed on: they may quote any file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from remit.dispatch.tools.calling import Call
from remit.dispatch.tools.model import Refused
from remit.dispatch.tools.processes import Ran, run
from remit.workspace.git_folder import linked_home, what_leads_out
from remit.workspace.safe_git import (
    SWITCHABLE,
    GitStopped,
    command,
    environment,
    found_by_git,
    root_above,
    switched_off,
)

_SETTINGS = {
    "core.alternateRefsCommand": "",
    "diff.orderFile": "/dev/null",
    "gpg.program": "false",
    "log.showSignature": "false",
    "submodule.recurse": "false",
}
#: How long git may take to list what the repository configures.
_LISTING_SECONDS = 10.0
#: What git complains of, and what is said of it. No part of git's words but a number is shown.
_COMPLAINTS = (
    (r"has only (\d+) lines?", "the file has only {} lines"),
    (r"(?i)(needed a single|unknown|bad) revision|ambiguous argument|unknown commit", "there is no such commit"),
    (r"does not exist in|exists on disk, but not in|no such path", "there is no such file in that commit"),
    (r"bad file|not a valid object name|could not get object info", "there is no such file in that commit"),
    (r"not a git repository", "the workspace's .git is no repository"),
    (r"dubious ownership", "the checkout belongs to another user, so git does not trust it"),
    (r"bad config|bad numeric config|unable to parse|unable to access", "the repository's configuration is damaged"),
    (r"could not open object name list|invalid object name", "the repository's blame.ignoreRevsFile cannot be used"),
)


async def git(call: Call, *arguments: str) -> bytes:
    """What a git command prints in the workspace; refused, with the reason, if it fails."""
    ran = await git_ran(call, *arguments)
    if ran.status is None:
        raise call.too_long()
    if ran.status:
        raise Refused(f"git: {_said(ran)}. Check the rev and the path (GitLog and Glob show what there is).")
    return ran.output


def _said(ran: Ran) -> str:
    first = next((line for line in ran.complaint.splitlines() if line.startswith(("fatal:", "error:"))), "")[:1_000]
    for pattern, words in _COMPLAINTS:
        if found := re.search(pattern, first):
            return words.format(*found.groups())
    return f"it failed with exit code {ran.status}"


async def git_ran(call: Call, *arguments: str, share: float = 1.0) -> Ran:
    """A git command in the workspace, with its outcome; it may take a share of the time that the call has left."""
    root = call.ground.root
    await call.in_thread(lambda: check_own(root, call))
    listed = await _run(call, SWITCHABLE, {}, min(_LISTING_SECONDS, call.seconds_left / 2))
    if listed.status is None:
        raise Refused("git took too long to read the repository's configuration and was stopped. Go on without it.")
    if listed.dropped:
        raise Refused("The repository's configuration is too large for git to be run safely. Go on without it.")
    try:
        settings = _SETTINGS | switched_off(listed.output)
    except GitStopped as error:
        raise Refused(f"git was not run: {error}. Go on without it.") from error
    return await _run(call, arguments, settings, call.seconds_left * share)


async def _run(call: Call, arguments: tuple[str, ...], settings: Mapping[str, str], seconds: float) -> Ran:
    """Git on the event loop: a repository that makes it wait takes no thread."""
    root = call.ground.root
    try:
        return await run(
            command(root, *arguments),
            environment=environment(root, settings) | {"GIT_LITERAL_PATHSPECS": "1"},
            folder=root,
            seconds=seconds,
            most=call.limits.kept_bytes,
        )
    except FileNotFoundError as error:
        raise Refused("git is not installed on this host. Go on without its history.") from error


def check_own(root: Path, call: Call) -> None:
    """Refuse a workspace that neither is nor lies in a checkout, or in one whose repository leads elsewhere."""
    place = root_above(root)
    if place is None:
        raise Refused("The workspace is not a git checkout: there is no history. Go on without it.")
    own = place / ".git"
    home = None if own.is_symlink() or (own / "commondir").exists() else own if own.is_dir() else linked_home(place)
    if home is None or found_by_git(root) != str(place):
        raise Refused("The workspace's .git leads to a repository that does not know it. Go on without its history.")
    if why := what_leads_out(home, call.check):
        raise Refused(f"The repository's git folder {why}, so it is not used. Go on without its history.")
