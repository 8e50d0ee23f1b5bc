"""Review a folder with the OpenAI Agents SDK. The answer is checked against the files and what the agent read."""

import asyncio
import sys
from pathlib import Path

from agents import Agent, Model, function_tool

from remit.adapters.answer_check import AnswerCheck
from remit.adapters.openai_agents import run


async def review(folder: Path, task: str, model: Model | str) -> str:
    """Return the answer to a task about the folder."""

    @function_tool
    def read_file(path: str) -> str:
        """Read a file of the project."""
        return (folder / path).read_text(encoding="utf-8")

    check = AnswerCheck(repo=folder, kind="review")
    agent = Agent(name="reviewer", model=model, instructions=check.instructions, tools=[read_file])
    result = await run(agent, task, check=check)
    return str(result.final_output)


if __name__ == "__main__":
    print(asyncio.run(review(Path(sys.argv[1]), sys.argv[2], "gpt-5.5")))
