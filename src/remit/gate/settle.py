"""After a call: what it really did, against what it was granted."""

from __future__ import annotations

from remit.gate.decide import SHELLS, with_fault_policy
from remit.gate.model import Decision
from remit.gate.ruling import Ruling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.model import ToolUse
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings


def settle(
    call: ToolUse,
    response: object,
    duration: float | None,
    state: SessionState,
    settings: GateSettings,
    project: str,
    *,
    failed: bool = False,
) -> Decision:
    """Compare a call that was made (`duration` in seconds) with its grant; warn if it was more than that.

    A read that took too long closes the window. A call that failed counts nothing.
    """

    def judge() -> Ruling:
        return _settle(call, response, duration, state, settings, project, failed=failed)

    return with_fault_policy(judge, call, state, settings, after=True)


def _settle(
    call: ToolUse,
    response: object,
    duration: float | None,
    state: SessionState,
    settings: GateSettings,
    project: str,
    *,
    failed: bool,
) -> Ruling:
    grant = state.pending.pop(call.tool_use_id, None) if call.tool_use_id and not call.agent_id else None
    if grant is None:
        return Ruling()
    paths: dict[str, int] = grant["paths"] if isinstance(grant.get("paths"), dict) else {}
    if grant.get("kind") == "edit":
        return Ruling() if failed else _settle_edit(paths, grant, response, state, settings, project)
    if failed:
        for name, lines in paths.items():
            state.window.take_back(name, lines, whole=True)
        return Ruling()
    slow = _slow(paths, duration, state, settings)
    return slow or _settle_read(call, paths, response, state)


def _slow(paths: dict[str, int], duration: float | None, state: SessionState, settings: GateSettings) -> Ruling | None:
    most = settings.limits["seconds"]
    # Inverted, so that what is no number at all is not slow.
    if not isinstance(duration, int | float) or not duration >= most:
        return None
    state.window.closed = f"a direct read took {duration:.0f} s, and each must take less than {most} s"
    return Ruling(2, "lookup-time", state.window.closed + ": the window is closed", paths=tuple(paths))


def _settle_read(call: ToolUse, paths: dict[str, int], response: object, state: SessionState) -> Ruling:
    granted = sum(paths.values())
    real = _lines_shown(call, response)
    if real is None or not paths:
        return Ruling()
    last = list(paths)[-1]
    if real < granted and len(paths) == 1:
        state.window.take_back(last, granted - real, whole=False)
    if real <= granted:
        return Ruling()
    state.window.add(last, real - granted)
    reason = f"{real} lines were read where {granted} had been granted; they are counted"
    return Ruling(2, "lookup-lines", reason, paths=tuple(paths), lines=real)


def _lines_shown(call: ToolUse, response: object) -> int | None:
    """How many lines the orchestrator saw, if the response says so."""
    known: dict[str, Any] = response if isinstance(response, dict) else {}
    if call.tool in SHELLS:
        return _count(known.get("stdout"))
    file = known.get("file")
    if isinstance(file, dict):
        text = _count(file.get("content"))
        return text if text is not None else _whole(file.get("numLines"))
    return _whole(known.get("numLines"))


def _count(text: object) -> int | None:
    """The lines of a text; the client counts an empty one after the last line end, which is none."""
    if not isinstance(text, str):
        return None
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _settle_edit(
    paths: dict[str, int],
    grant: dict[str, Any],
    response: object,
    state: SessionState,
    settings: GateSettings,
    project: str,
) -> Ruling:
    from remit.gate.paths import locate, read_text
    from remit.gate.trivial_edit import changed_lines, digest
    from remit.gate.writes import LARGEST

    name = next(iter(paths), "")
    text = read_text(locate(name, project, project).real, LARGEST)
    if text is not None and digest(text) == grant.get("after"):
        return Ruling()
    original = response.get("originalFile") if isinstance(response, dict) else None
    many = "something else"
    if isinstance(original, str) and text is not None and len(original) <= LARGEST:
        count = changed_lines(original, text)
        many = f"{count} lines" if count is not None else f"more than {settings.limits['edit_lines']} lines"
    if name not in state.reverts:
        state.reverts.append(name)
    reason = (
        f"{name}: {paths.get(name)} changed lines were announced, and {many} changed. Tell the user, and offer to "
        f"revert it: git checkout -- {name}"
    )
    state.warn(reason)
    return Ruling(2, "trivial-edit", reason, paths=(name,))
