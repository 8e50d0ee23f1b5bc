"""smolagents: a check of the final answer.

CodeAgent(tools, model, final_answer_checks=[FinalAnswerCheck(AnswerCheck(repo="."))])
"""

from __future__ import annotations

from collections.abc import Iterator

from smolagents import ActionStep, AgentMemory, MultiStepAgent

from remit.adapters.answer_check import AgentCall, AnswerCheck, AnswerNotAccepted


class FinalAnswerCheck:
    """Checks the final answer of an agent.

    The first answer that is not accepted is sent back to the model. After the second one the run is interrupted: the
    agent raises an AgentError, because it does not pass on the errors of a check. `rejected` is the reason.
    """

    __name__ = "remit"

    def __init__(self, check: AnswerCheck) -> None:
        self._check = check
        self.rejected: AnswerNotAccepted | None = None

    def __call__(self, answer: object, memory: AgentMemory, agent: MultiStepAgent) -> bool:
        """Return whether the answer is accepted; raise ValueError with the correction, which the model reads."""
        self.rejected = None
        steps = [step for step in memory.steps if isinstance(step, ActionStep)]
        sent_back = sum(f"Check {self.__name__} failed" in str(step.error) for step in steps if step.error)
        try:
            correction = self._check.correction(answer, tool_calls(steps), attempt=sent_back + 1)
        except AnswerNotAccepted as error:
            self.rejected = error
            agent.interrupt()
            raise
        if correction is not None:
            raise ValueError(correction)
        return True


def tool_calls(steps: list[ActionStep]) -> Iterator[AgentCall]:
    """Yield the tool calls of a run, without those of the final answer."""
    for step in steps:
        for call in step.tool_calls or []:
            if call.name != "final_answer":
                output = "\n".join(filter(None, (step.observations, step.code_action)))
                failed = step.error is not None and "Check " not in str(step.error)
                yield AgentCall(call.name, call.arguments, output, failed=failed)
