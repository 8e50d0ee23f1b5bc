"""A session of the client in a small project, in which subagents start, stop and report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from remit.clients.hooks import results
from remit.clients.hooks.compiling import compile_project
from remit.clients.hooks.hook_events import handle_event
from remit.clients.hooks.results import KeptResult
from remit.gate.session import SessionState
from remit.gate.session_store import read_session
from remit.rules.examples import TREE, sample_text

PAYLOADS = Path(__file__).parents[1] / "fixtures/claude_code/payloads"
SESSION = "9f3279c5-453e-45ba-9d76-6896353ab6a1"
GOOD = sample_text("exploration")
#: A file that does not exist.
INVENTED = GOOD.replace("app/store.py:14", "app/nowhere.py:14")
#: One violation of level L2, which is corrected at most once.
VAGUE = GOOD.replace("90 - every cited line was opened and read", "90")
READ = ("app/login.py", "app/session.py", "app/store.py")
Answer = dict[str, Any] | None


class Client:
    """Send events to the hooks as the client does, and return the answers."""

    mode = "orchestrator"

    def __init__(self, home: Path, gate: str = "") -> None:
        self.project = home / "shop"
        shutil.copytree(TREE, self.project)
        (self.project / ".git").mkdir()
        (self.project / "remit.toml").write_text(gate)
        self.folder = str(self.project / ".remit/gate")
        self.transcripts = home / "projects/shop" / SESSION / "subagents"
        self.transcripts.mkdir(parents=True)
        compile_project(self.project)

    def ask(self, captured: str, **fields: Any) -> Answer:
        """Return a recorded event with these fields changed; None removes a field."""
        payload = json.loads((PAYLOADS / f"{captured}.json").read_text())
        payload |= {
            "session_id": SESSION,
            "cwd": str(self.project),
            "transcript_path": self.session_transcript,
            **fields,
        }
        return handle_event(
            {key: value for key, value in payload.items() if value is not None},
            project=str(self.project),
            mode=self.mode,
        )

    @property
    def session_transcript(self) -> str:
        return str(self.transcripts.parent) + ".jsonl"

    def transcript(self, agent_id: str, *, call: str = "", parent: str = "", read: tuple[str, ...] = READ) -> Path:
        """Write the transcript of a run, and the metadata of its launch next to it."""
        path = self.transcripts / f"agent-{agent_id}.jsonl"
        task = {"type": "user", "message": {"role": "user", "content": "Look at the login"}}
        lines = [task, *(line for file in read for line in self._read(file))]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        if call:
            meta = {"toolUseId": call, **({"parentAgentId": parent} if parent else {})}
            path.with_suffix(".meta.json").write_text(json.dumps(meta))
        return path

    def _read(self, file: str) -> list[dict[str, Any]]:
        text = (self.project / file).read_text().splitlines()
        shown = "\n".join(f"{number}\t{line}" for number, line in enumerate(text, 1))
        use = {"type": "tool_use", "id": file, "name": "Read", "input": {"file_path": str(self.project / file)}}
        result = {"type": "tool_result", "tool_use_id": file, "content": shown}
        common = {"cwd": str(self.project), "sessionId": SESSION}
        return [
            {**common, "type": "assistant", "message": {"role": "assistant", "content": [use]}},
            {**common, "type": "user", "message": {"role": "user", "content": [result]}},
        ]

    def calls(self, *calls: tuple[str, dict[str, Any], str]) -> None:
        """Add calls to the transcript of the session: the tool, its input and its output."""
        lines: list[dict[str, Any]] = []
        common = {"cwd": str(self.project), "sessionId": SESSION}
        for number, (tool, given, output) in enumerate(calls):
            use: dict[str, Any] = {"type": "tool_use", "id": f"main_{tool}_{number}", "name": tool, "input": given}
            result: dict[str, Any] = {"type": "tool_result", "tool_use_id": use["id"], "content": output}
            result |= {"is_error": True} if output.startswith("Exit code") else {}
            lines.append({**common, "type": "assistant", "message": {"role": "assistant", "content": [use]}})
            lines.append({**common, "type": "user", "message": {"role": "user", "content": [result]}})
        with Path(self.session_transcript).open("a") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in lines)

    def answer(self, text: str, **fields: Any) -> Answer:
        """Stop with a final answer."""
        return self.ask("Stop", last_assistant_message=text, background_tasks=[], **fields)

    def launch(self, call: str, agent: str = "code-explorer", **fields: Any) -> Answer:
        tool_input = {"description": "look", "prompt": "Look at the login", "subagent_type": agent}
        return self.ask("PreToolUse.Agent", tool_use_id=call, tool_input=tool_input, **fields)

    def start(self, agent_id: str, agent: str = "code-explorer") -> Answer:
        return self.ask("SubagentStart", agent_id=agent_id, agent_type=agent)

    def stop(self, agent_id: str, report: str | None, agent: str = "code-explorer", **fields: Any) -> Answer:
        path = self.transcripts / f"agent-{agent_id}.jsonl"
        fields = {"agent_transcript_path": str(path), "stop_hook_active": False, **fields}
        return self.ask("SubagentStop", agent_id=agent_id, agent_type=agent, last_assistant_message=report, **fields)

    def stop_again(self, agent_id: str, report: str | None, agent: str = "code-explorer") -> Answer:
        """Stop again after a correction."""
        return self.stop(agent_id, report, agent, stop_hook_active=True)

    def response(self, agent_id: str, report: str, agent: str = "code-explorer") -> dict[str, Any]:
        captured = json.loads((PAYLOADS / "PostToolUse.Agent.completed.json").read_text())
        found: dict[str, Any] = captured["tool_response"] | {"agentId": agent_id, "agentType": agent}
        found["content"][-1]["text"] = report
        return found

    def done(self, call: str, run: str, report: str, agent: str = "code-explorer", **fields: Any) -> Answer:
        """Return the call of the Agent tool."""
        response = self.response(run, report, agent)
        return self.ask("PostToolUse.Agent.completed", tool_use_id=call, tool_response=response, **fields)

    def run(self, call: str, agent_id: str, *reports: str, agent: str = "code-explorer") -> list[Answer]:
        """Run a delegation in the foreground, from launch to end."""
        self.launch(call, agent)
        self.transcript(agent_id, call=call)
        self.start(agent_id, agent)
        answer = [self.stop(agent_id, reports[0], agent)]
        answer += [self.stop_again(agent_id, report, agent) for report in reports[1:]]
        return [*answer, self.done(call, agent_id, reports[-1], agent)]

    @property
    def state(self) -> SessionState:
        found = read_session(self.folder, SESSION)
        assert found is not None
        return found

    def delegation(self, call: str) -> str:
        return self.state.delegations[call].state

    @property
    def kept(self) -> list[KeptResult]:
        return results.list_results(self.folder, SESSION)

    @property
    def outcomes(self) -> list[str]:
        return [kept.outcome for kept in self.kept]


def is_block(answer: Answer) -> bool:
    return answer is not None and answer.get("decision") == "block"


def output_of(answer: Answer) -> dict[str, Any]:
    assert answer is not None
    found: dict[str, Any] = answer["hookSpecificOutput"]["updatedToolOutput"]
    return found


def notice_of(answer: Answer) -> str:
    [block] = output_of(answer)["content"]
    assert block["type"] == "text"
    return str(block["text"])


def context_of(answer: Answer) -> str:
    return str((answer or {}).get("hookSpecificOutput", {}).get("additionalContext", ""))
