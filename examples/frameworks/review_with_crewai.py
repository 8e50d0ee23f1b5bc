"""Review a folder with CrewAI. The answer is checked against the files and against what the agent read."""

import sys
from pathlib import Path

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool

from remit.adapters.answer_check import AnswerCheck
from remit.adapters.crewai import check_task


def review(folder: Path, task: str, model: BaseLLM | str) -> str:
    """Return the answer to a task about the folder."""

    @tool("read_file")
    def read_file(path: str) -> str:
        """Read a file of the project."""
        return (folder / path).read_text(encoding="utf-8")

    check = AnswerCheck(repo=folder, kind="review")
    reviewer = Agent(role="reviewer", goal="find weaknesses", backstory="", llm=model, tools=[read_file])
    work = Task(
        description=task,
        expected_output=check.instructions,
        agent=reviewer,
        guardrail=check_task(check),
    )
    return str(Crew(agents=[reviewer], tasks=[work]).kickoff().raw)


if __name__ == "__main__":
    print(review(Path(sys.argv[1]), sys.argv[2], "anthropic/claude-sonnet-5"))
