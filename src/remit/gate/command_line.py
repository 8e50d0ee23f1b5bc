"""Judge a command line by what it writes, searches, reads and runs."""

from __future__ import annotations

import os

from remit.gate.delegations import judge_subagent_write, may_write
from remit.gate.person_commands import commands_of_a_person
from remit.gate.project_paths import classify, is_guarded, locate
from remit.gate.reads import ReadRequest, SearchRequest, judge_pattern, judge_reads, judge_search
from remit.gate.reverse_patch import allowed_revert
from remit.gate.ruling import Ruling, strictest
from remit.gate.tool_use import MAX_NAME_LENGTH
from remit.gate.writes import judge_shell_writes, judge_write
from remit.globs import find_matches, is_glob
from remit.shell.interpret import read_command
from remit.shell.programs.lists import INTERPRETERS, RUNNERS
from remit.shell.programs.table import TASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.gate.tool_use import ToolUse
    from remit.shell.command import Effects

#: Programs that only look for weaknesses.
_SCANNERS_TEXT = """
    bandit semgrep gitleaks trufflehog trufflehog3 trivy snyk grype pip-audit safety nuclei nikto nmap zap-cli zap.sh
    zap-baseline.py brakeman gosec checkov tfsec detect-secrets osv-scanner govulncheck bundler-audit bundle-audit
    dependency-check retire wapiti sqlmap horusec git-secrets kube-bench kubesec codeql lynis
"""
SCANNERS = frozenset(_SCANNERS_TEXT.split())
#: Subcommands that are scans.
_AUDITS = frozenset({"npm audit", "yarn audit", "pnpm audit", "cargo audit", "composer audit", "docker scout"})

_REVERT = "a change without permission is reverted"
#: Programs that make environments, in which packages are installed.
_ENVIRONMENTS = ("python -m venv", "python -m virtualenv", "virtualenv", "tox", "python -m tox")
#: Programs that rewrite lock files.
PACKAGE_MANAGERS = frozenset(
    {"npm", "yarn", "pnpm", "bun", "uv", "poetry", "pdm", "pipenv", "cargo", "go", "bundle", "composer", "mix", "deno"}
)
#: Commands that change the gate or report to it as a client does; with `?` the command is not known.
_GATE_COMMANDS = ("remit install", "remit uninstall", "remit hook", "remit ?")
#: Commands of a person that change guarded files.
_CHANGING = ("remit dismiss", "remit restore", "remit gate trust")
#: Programs that run tasks and scripts of the project, which may write anything.
_TASKS = RUNNERS | INTERPRETERS | {TASK}
#: In a line that is not understood, these words mean that it may do the same in another way.
_GATE_PARTS = (
    *("remit.gate", "remit.clients", "remit.surfaces", "remit.__main__", "hooks/entry.py"),
    "remit.store",
)
#: Programs that send commands to a database, which may run programs and change verdicts.
_DATABASE_CLIENTS = frozenset({"psql", "pgcli", "usql", "pg_dump", "pg_restore", "createuser", "dropdb", "createdb"})
#: The path of hooks on a server: only the client calls it.
_HOOK_PATH = "/hooks/claude-code"
#: Where the embedded database listens.
_DATABASE_FOLDER = ".remit/postgres"


def judge_command(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    """Judge all that a command line does, as one call."""
    effects = read_command(call.text("command"), call.cwd or project)
    revert = _reverted(call, state, project)
    if revert is not None:
        return _with_grant(Ruling(3, None, _REVERT), call, effects, revert[1], settings, revert=revert[0])
    rulings = [*_judge_scans(effects, settings)]
    rulings += judge_shell_writes(effects, call, settings, project)
    if effects.unknown:
        rulings.append(_not_understood(effects, settings))
    asked = _ask_person(call, effects, settings)
    always = [ruling for ruling in asked if ruling.asks_always]
    if always and not settings.may("deny"):  # a denial would have no effect, and hide the question
        return _with_grant(always[0], call, effects, [], settings)
    rulings += asked
    reads: list[ReadRequest] = []
    for search in effects.searches:
        more_rulings, more_reads = judge_search(SearchRequest(*search), call, settings, project)
        rulings += more_rulings
        reads += more_reads
    for pattern in effects.patterns:
        ruling = judge_pattern(pattern, settings, single=True)
        rulings += [ruling] if ruling else []
    for path, lines, first in effects.reads:
        more_rulings, more_reads = _expanded(path, lines, first, call, settings, project)
        rulings += more_rulings
        reads += more_reads
    if reads:
        rulings.append(judge_reads(reads, call, state, settings, project))
        _count_with(rulings)
    granted = [locate(path, call.cwd, project).name[:MAX_NAME_LENGTH] for path in effects.writes]
    return _with_grant(strictest(rulings) or Ruling(), call, effects, granted, settings)


def _reverted(call: ToolUse, state: SessionState, project: str) -> tuple[str, list[str]] | None:
    """Return the patch of the gate that a line applies, and its files."""
    if not call.text("command").lstrip().startswith("git apply"):
        return None
    return allowed_revert(call, state, os.path.join(project, ".remit/gate"), project)


def _with_grant(
    ruling: Ruling, call: ToolUse, effects: Effects, paths: list[str], settings: GateSettings, *, revert: str = ""
) -> Ruling:
    """Let a ruling record, if it allows the call, which files the call may change."""
    count = ruling.apply
    # A subagent without a tool that writes has no permission for what its line is seen to write.
    names = None if may_write(call, settings) else [] if call.agent_id else paths
    flags: dict[str, object] = {
        "revert": revert,
        "opaque": effects.unknown,
        "git": effects.moves_checkout,
        "locks": any(program in PACKAGE_MANAGERS for program in effects.programs),
        "environment": any(program in _ENVIRONMENTS for program in effects.programs),
        "remit": any(program in effects.programs for program in (*_GATE_COMMANDS, *_CHANGING)),
        "person": ", ".join(_person_commands(call, effects)),
        "declares": "remit gate declare" in effects.programs or (effects.unknown and "declare" in call.text("command")),
    }

    def grant(state: SessionState) -> None:
        if count is not None:
            count(state)
        state.open_writer(call, names, **flags)

    ruling.apply = grant
    is_task = any(program in _TASKS for program in effects.programs)
    ruling.writes = not revert and (effects.unknown or names is None or bool(effects.writes) or is_task)
    return ruling


def _count_with(rulings: list[Ruling]) -> None:
    """Count the reads with each ruling that can allow the call."""
    counted = rulings[-1].apply
    for ruling in rulings:
        if ruling.level in (2, 3) or not ruling.level:
            ruling.apply = counted


def _judge_scans(effects: Effects, settings: GateSettings) -> list[Ruling]:
    auditor = settings.agent("security")
    for program in effects.programs:
        if program in SCANNERS or program in _AUDITS or program.partition(" ")[0] in SCANNERS:
            reason = f"{program} is a security scan. Delegate it to {auditor}"
            return [Ruling(1, "security-alone", reason, delegate_to=auditor)]
    return []


def _declaration() -> Ruling:
    ruling = Ruling(2, "declare", "only a person makes declarations. May the agent make this one for you?")
    ruling.asks_person = True
    return ruling


def _change_of_the_gate(program: str, *, always: bool = False) -> Ruling:
    reason = f"`{program}` changes how agents are controlled. May the agent run it for you?"
    ruling = Ruling(2, "guarded-state", reason)
    ruling.asks_person, ruling.asks_always = True, always
    return ruling


def _word_of_a_person(program: str) -> Ruling:
    reason = f"`{program}` is for a person: it confirms, decides or publishes. May the agent run it for you?"
    ruling = Ruling(2, "guarded-state", reason)
    ruling.asks_person = ruling.asks_always = True
    return ruling


def _change_of_the_database(program: str) -> Ruling:
    reason = (
        f"`{program}` sends commands to a database, which the gate does not understand: they can run programs, and "
        "change what Remit has stored. May the agent run it?"
    )
    ruling = Ruling(2, "guarded-state", reason)
    ruling.asks_person = ruling.asks_always = True
    return ruling


def _not_understood(effects: Effects, settings: GateSettings) -> Ruling:
    agent = settings.agent("backend")
    reason = (
        f"the gate does not understand what this command line does: {effects.why}. "
        f"If it changes code, delegate it to {agent}"
    )
    ruling = Ruling(2, "edit-code", reason, delegate_to=agent)
    ruling.tells_person = True
    ruling.detail = f" (the program: {effects.detail!r})" if effects.detail else ""
    return ruling


def _expanded(
    path: str, lines: int | None, first: int, call: ToolUse, settings: GateSettings, project: str
) -> tuple[list[Ruling], list[ReadRequest]]:
    """Return the reads of the files that a name with wildcards matches. More than a few are a bulk search."""
    if not is_glob(path) or os.path.lexists(locate(path, call.cwd, project).real):
        return [], [ReadRequest(path, lines, first)]
    parts = path.split("/")
    fixed = next(index for index, part in enumerate(parts) if is_glob(part))
    root = locate("/".join(parts[:fixed]) or ("/" if fixed else "."), call.cwd, project)
    limit = settings.limits["search_files"]
    matches = find_matches(root.real, "/".join(parts[fixed:]), limit + 1)
    if matches is not None and len(matches) <= limit:
        return [], [ReadRequest(match, lines, first) for match in matches]
    root.name += "/_"
    if classify(root, settings) == "state":
        return [], []
    explorer = settings.agent("explore")
    reason = f"this reads more than {limit} files at once. Delegate the reading to {explorer}"
    return [Ruling(1, "bulk-search", reason, delegate_to=explorer, paths=(root.name[:-2],))], []


def judge_subagent_command(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    """Judge a subagent's command line by the files that other subagents write and by the files of Remit."""
    effects = read_command(call.text("command"), call.cwd or project)
    asked = _ask_person(call, effects, settings)
    if asked:
        asked.sort(key=lambda ruling: not ruling.asks_always)
        return _with_grant(asked[0], call, effects, [], settings)
    revert = _reverted(call, state, project)
    if revert is not None:
        return _with_grant(Ruling(3, None, _REVERT), call, effects, revert[1], settings, revert=revert[0])
    targets = [(path, locate(path, call.cwd, project)) for path in effects.writes]
    for path, target in targets:
        if is_guarded(target, settings, project, whole=path in effects.removes):
            return judge_write(target.name[:MAX_NAME_LENGTH], "guarded", settings, by_shell=True)
    names = [
        target.name[:MAX_NAME_LENGTH]
        for path, target in targets
        if target.inside and not os.path.isdir(target.real) and not is_glob(path)
    ]
    return _with_grant(judge_subagent_write(call, state, names), call, effects, names, settings)


def _ask_person(call: ToolUse, effects: Effects, settings: GateSettings) -> list[Ruling]:
    """Return the rulings for commands of Remit that need a person's consent."""
    text = call.text("command")
    asks_always = settings.mode == "verify"  # reports and effects are judged by what the client's events state
    named = [program for program in _GATE_COMMANDS if program in effects.programs]
    asked = [_change_of_the_gate(program, always=asks_always) for program in named]
    if "remit gate declare" in effects.programs or (effects.unknown and "gate" in text and "declare" in text):
        asked.append(_declaration())
    asked += [_word_of_a_person(program) for program in _person_commands(call, effects)]
    clients = [program for program in effects.programs if program in _DATABASE_CLIENTS]
    runs_code = effects.unknown or any(program in _TASKS for program in effects.programs)
    names_database = _DATABASE_FOLDER in text and runs_code and settings.mode != "observe"
    if names_database or (clients and effects.unknown and settings.may("deny")):
        asked.append(_change_of_the_database(clients[0] if clients else "a program"))
    if _HOOK_PATH in text:
        asked.append(_change_of_the_gate("an event of the client", always=asks_always))
    if effects.unknown and any(part in text for part in _GATE_PARTS):
        asked.append(_change_of_the_gate("a part of remit"))
    return asked


def _person_commands(call: ToolUse, effects: Effects) -> list[str]:
    return commands_of_a_person(effects.programs, call.text("command"), is_understood=not effects.unknown)
