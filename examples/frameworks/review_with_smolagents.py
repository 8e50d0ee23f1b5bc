"""Review a folder with smolagents. The answer is checked against the files and against what the agent read."""

import sys
from pathlib import Path

from smolagents import LiteLLMModel, Model, ToolCallingAgent, tool

from remit.adapters.answer_check import AnswerCheck
from remit.adapters.smolagents import FinalAnswerCheck


def review(folder: Path, task: str, model: Model) -> str:
    """Return the answer to a task about the folder."""

    @tool
    def read_file(path: str) -> str:
        """Read a file of the project.

        Args:
            path: the path of the file
        """
        return (folder / path).read_text(encoding="utf-8")

    check = AnswerCheck(repo=folder, kind="review")
    agent = ToolCallingAgent(
        [read_file],
        model,
        instructions=check.instructions,
        final_answer_checks=[FinalAnswerCheck(check)],
        max_steps=6,
        verbosity_level=0,
    )
    return str(agent.run(task))


if __name__ == "__main__":
    print(review(Path(sys.argv[1]), sys.argv[2], LiteLLMModel("anthropic/claude-sonnet-5")))
