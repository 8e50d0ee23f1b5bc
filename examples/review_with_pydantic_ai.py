"""Review a folder with Pydantic AI. The answer is checked against the files and against what the agent read."""

import asyncio
import sys
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.models import Model

from remit.adapters.answer_check import AnswerCheck
from remit.adapters.pydantic_ai import check_output


async def review(folder: Path, task: str, model: Model | str) -> str:
    """Return the answer to a task about the folder."""

    def read_file(path: str) -> str:
        """Read a file of the project."""
        return (folder / path).read_text(encoding="utf-8")

    check = AnswerCheck(repo=folder, kind="review")
    agent = Agent(model, instructions=check.instructions, tools=[read_file])
    agent.output_validator(check_output(check))
    return (await agent.run(task)).output


if __name__ == "__main__":
    print(asyncio.run(review(Path(sys.argv[1]), sys.argv[2], "anthropic:claude-sonnet-5")))
