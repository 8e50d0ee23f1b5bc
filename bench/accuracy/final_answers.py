"""Send final answers over public transcripts through the Stop hook, and count which are sent back.

`final_answers.jsonl` has one answer on each line: `id`, `kind` (`honest` or `contradicted`), `transcript_repo`,
`transcript_commit`, `transcript_path`, `cwd_repo` and `cwd_commit` (or null), `cut_after_line`, `answer` and `why`. The
repositories are bare copies below a folder: `OWNER+NAME/repo`. For each row, a checkout of `cwd_repo` (or an empty
repository) gets the install of the mode verify, and its own hook command gets the events of a prompt and of the answer.

`python bench/accuracy/final_answers.py --mirrors DIR [--only ID]`
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

ROWS = Path(__file__).with_name("final_answers.jsonl")
_SECONDS = 120
_ROLLOUT = "rollout-"


class Outcome(NamedTuple):
    """What the hook did with an answer: it was sent back, or the person was told something."""

    is_sent_back: bool
    words: str


def git_directory(mirrors: Path, repository: str) -> Path:
    """Return the git directory of the copy of `owner/name`."""
    folder = mirrors / repository.replace("/", "+")
    found = next((path for path in (folder / "repo", folder) if (path / "HEAD").is_file()), None)
    if found is None:
        raise FileNotFoundError(f"{folder}: there is no copy of {repository}")
    return found


def git(*arguments: str, cwd: Path | None = None) -> bytes:
    """Return what git prints."""
    return subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True).stdout


def checkout(mirrors: Path, row: dict[str, Any], folder: Path) -> None:
    """Make the folder of the session: a checkout of its repository, or an empty one."""
    if row["cwd_repo"] is None:
        git("init", "--quiet", str(folder))
        return
    source = git_directory(mirrors, row["cwd_repo"])
    chosen = row["cwd_commit"]
    git("clone", "--quiet", "--shared", "--no-checkout", str(source), str(folder))
    # The largest files of a copy may be absent: the others are written.
    subprocess.run(
        ["git", "checkout", "--quiet", "--force", "--detach", chosen],
        cwd=folder,
        check=False,
        stderr=subprocess.DEVNULL,
    )
    if not any(path.name != ".git" for path in folder.iterdir()):
        raise FileNotFoundError(f"{row['cwd_repo']}: {chosen} has no files that can be written")


def write_transcript(mirrors: Path, row: dict[str, Any], folder: Path) -> Path:
    """Write the transcript up to a line, those of its subagents, and the answer as its last message."""
    source, name = git_directory(mirrors, row["transcript_repo"]), Path(row["transcript_path"])
    commit = row["transcript_commit"]
    lines = git("-C", str(source), "show", f"{commit}:{name.as_posix()}").split(b"\n")[: row["cut_after_line"]]
    path = folder / name.name
    said = {"role": "assistant", "content": [{"type": "text", "text": row["answer"]}]}
    last = [] if name.name.startswith(_ROLLOUT) else [json.dumps({"type": "assistant", "message": said}).encode()]
    path.write_bytes(b"\n".join([*lines, *last]) + b"\n")
    below = (name.with_suffix("") / "subagents").as_posix()
    for entry in git("-C", str(source), "ls-tree", "--name-only", commit, f"{below}/").decode().split("\n"):
        if entry.endswith(".jsonl"):
            target = path.with_suffix("") / "subagents" / Path(entry).name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(git("-C", str(source), "show", f"{commit}:{entry}"))
    return path


def answer_of(mirrors: Path, row: dict[str, Any]) -> Outcome:
    """Return what the Stop hook of a new install in mode verify answers."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        project = folder / "project"
        checkout(mirrors, row, project)
        transcript = write_transcript(mirrors, row, folder)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("REMIT_", "GIT_", "CLAUDE_"))}
        environment = {**kept, "HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "state")}
        (folder / "home").mkdir()
        install = [sys.executable, "-m", "remit", "install", "claude-code", "--mode", "verify", "--yes"]
        install += ["--project", str(project)]
        subprocess.run(install, check=True, capture_output=True, env=environment, cwd=project)
        common = {"session_id": "session", "cwd": str(project), "transcript_path": str(transcript)}
        send(project, "UserPromptSubmit", {**common, "prompt": "Go on."}, environment)
        fields = {"stop_hook_active": False, "background_tasks": [], "last_assistant_message": row["answer"]}
        reply = send(project, "Stop", {**common, **fields}, environment)
        return Outcome(reply.get("decision") == "block", str(reply.get("reason") or reply.get("systemMessage") or ""))


def send(project: Path, event: str, fields: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
    """Run the hook command that the install wrote for an event."""
    settings = [project / ".claude/settings.local.json", project / ".claude/settings.json"]
    hooks = next(
        found["hooks"] for path in settings if path.is_file() and "hooks" in (found := json.loads(path.read_text()))
    )
    (hook,) = hooks[event][0]["hooks"]
    command = [hook["command"], *hook["args"]] if "args" in hook else ["sh", "-c", hook["command"]]
    payload = json.dumps({**fields, "hook_event_name": event}).encode()
    environment = {**environment, "CLAUDE_PROJECT_DIR": str(project)}
    done = subprocess.run(
        command, input=payload, env=environment, cwd=project, check=True, capture_output=True, timeout=_SECONDS
    )
    reply: dict[str, Any] = json.loads(done.stdout) if done.stdout.strip() else {}
    return reply


def main() -> None:
    """Print each row that is wrong, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--mirrors", type=Path, required=True, help="the folder with the copies of the repositories")
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--only", action="append", default=[], help="the id of a row; may be given again")
    chosen = parser.parse_args()
    rows = [json.loads(line) for line in chosen.rows.read_text("utf-8").splitlines() if line.strip()]
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if chosen.only and row["id"] not in chosen.only:
            continue
        try:
            outcome = answer_of(chosen.mirrors, row)
        except (OSError, subprocess.SubprocessError, StopIteration, ValueError) as error:
            counts[row["kind"], "not built"] += 1
            print(f"{row['id']}  {row['kind']}  not built: {error}", flush=True)
            continue
        state = "sent back" if outcome.is_sent_back else "passed"
        counts[row["kind"], state] += 1
        words = " ".join(outcome.words.split())[:400]
        print(f"{row['id']}  {row['kind']}  {state}  {words}".rstrip(), flush=True)
    for kind in ("honest", "contradicted"):
        total = sum(count for (name, _), count in counts.items() if name == kind)
        print(f"{kind}: {counts[kind, 'sent back']} of {total} sent back, {counts[kind, 'not built']} not built")


if __name__ == "__main__":
    main()
