"""Claude Agent SDK: hooks that check the answers of an agent and of its subagents.

ClaudeAgentOptions(hooks=check_hooks(AnswerCheck(repo=".")))
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from claude_agent_sdk import HookMatcher

from remit.adapters.answer_check import AnswerCheck, AnswerNotAccepted

if TYPE_CHECKING:
    from claude_agent_sdk.types import HookContext, HookEvent, HookInput, HookJSONOutput


def check_hooks(check: AnswerCheck, *, subagents_only: bool = False) -> dict[HookEvent, list[HookMatcher]]:
    """Return hooks for `ClaudeAgentOptions`.

    The first answer that is not accepted is sent back to the agent. The second one ends the session: the reason is the
    `stop_reason` of the result, and `on_verdict` has the verdict.
    """

    async def check_answer(stop: HookInput, tool_use: str | None, context: HookContext) -> HookJSONOutput:
        event = cast("dict[str, Any]", stop)
        transcript = Path(event.get("agent_transcript_path") or event["transcript_path"])
        answer = event.get("last_assistant_message") or ""
        attempt = 2 if event.get("stop_hook_active") else 1
        try:
            correction = check.correction(answer, transcript, attempt=attempt)
        except AnswerNotAccepted as error:
            return {"continue_": False, "stopReason": str(error), "systemMessage": str(error)}
        return {"decision": "block", "reason": correction} if correction is not None else {}

    hooks: dict[HookEvent, list[HookMatcher]] = {"SubagentStop": [HookMatcher(hooks=[check_answer])]}
    if not subagents_only:
        hooks["Stop"] = [HookMatcher(hooks=[check_answer])]
    return hooks
