"""Review a folder with Google's Agent Development Kit. The answer is checked against the files and what was read."""

import asyncio
import sys
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.runners import InMemoryRunner

from remit.adapters.answer_check import AnswerCheck
from remit.adapters.google_adk import run


async def review(folder: Path, task: str, model: BaseLlm | str) -> str:
    """Return the answer to a task about the folder."""

    def read_file(path: str) -> str:
        """Read a file of the project."""
        return (folder / path).read_text(encoding="utf-8")

    check = AnswerCheck(repo=folder, kind="review")
    agent = LlmAgent(name="reviewer", model=model, instruction=lambda _: check.instructions, tools=[read_file])
    async with InMemoryRunner(agent) as runner:
        session = await runner.session_service.create_session(app_name=runner.app_name, user_id="me")
        return await run(runner, task, user_id="me", session_id=session.id, check=check)


if __name__ == "__main__":
    print(asyncio.run(review(Path(sys.argv[1]), sys.argv[2], "gemini-3-pro")))
