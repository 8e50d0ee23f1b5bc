"""Review a folder with LangChain. The answer is checked against the files and against what the agent read."""

import sys
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel

from remit.adapters.answer_check import AnswerCheck
from remit.adapters.langchain import CheckedAnswer


def review(folder: Path, task: str, model: BaseChatModel | str) -> str:
    """Return the answer to a task about the folder."""

    def read_file(path: str) -> str:
        """Read a file of the project."""
        return (folder / path).read_text(encoding="utf-8")

    check = AnswerCheck(repo=folder, kind="review")
    agent = create_agent(model, [read_file], system_prompt=check.instructions, middleware=[CheckedAnswer(check)])
    return str(agent.invoke({"messages": [("user", task)]})["messages"][-1].text)


if __name__ == "__main__":
    print(review(Path(sys.argv[1]), sys.argv[2], "anthropic:claude-sonnet-5"))
