"""Review a folder with the Claude Agent SDK. The answer is checked against the files and the transcript."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from remit.adapters.answer_check import AnswerCheck
from remit.adapters.claude_agent_sdk import check_hooks


async def review(folder: Path, task: str, **options: Any) -> str | None:
    """Return the answer to a task about the folder."""
    check = AnswerCheck(repo=folder, kind="review")
    session = ClaudeAgentOptions(
        cwd=folder,
        system_prompt=check.instructions,
        allowed_tools=["Read", "Grep", "Glob"],
        hooks=check_hooks(check),
        **options,
    )
    async for message in query(prompt=task, options=session):
        if isinstance(message, ResultMessage):
            return message.result
    return None


if __name__ == "__main__":
    print(asyncio.run(review(Path(sys.argv[1]), sys.argv[2])))
