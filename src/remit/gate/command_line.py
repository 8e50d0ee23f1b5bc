"""Judge a command line by what it writes, searches, reads and runs.

A line that is not understood is allowed without a word: what it changed is compared afterwards.
"""

from __future__ import annotations

import os

from remit.gate.project_paths import classify, locate
from remit.gate.reads import ReadRequest, SearchRequest, judge_pattern, judge_reads, judge_search
from remit.gate.reverse_patch import allowed_revert
from remit.gate.ruling import Ruling, strictest
from remit.gate.tool_use import MAX_NAME_LENGTH
from remit.gate.writes import judge_shell_writes
from remit.globs import find_matches, is_glob
from remit.shell.interpret import read_command

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
#: Commands that the client asks a person about.
ASKED = ("remit gate declare", "remit dismiss", "remit install", "remit uninstall", "remit plan answer")


def judge_command(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    """Judge all that a command line does, as one call."""
    effects = read_command(call.text("command"), call.cwd or project)
    revert = _reverted(call, state, project)
    if revert is not None:
        return _with_grant(Ruling(3, None, _REVERT), call, effects, revert[1], revert=revert[0])
    rulings = [*_judge_scans(effects, settings), *_ask_person(effects)]
    rulings += judge_shell_writes(effects, call, settings, project)
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
    return _with_grant(strictest(rulings) or Ruling(), call, effects, granted)


def _reverted(call: ToolUse, state: SessionState, project: str) -> tuple[str, list[str]] | None:
    """Return the patch of the gate that a line applies, and its files."""
    if not call.text("command").lstrip().startswith("git apply"):
        return None
    return allowed_revert(call, state, os.path.join(project, ".remit/gate"), project)


def _with_grant(ruling: Ruling, call: ToolUse, effects: Effects, paths: list[str], *, revert: str = "") -> Ruling:
    """Let a ruling record, if it allows the call, which files the call may change."""
    count = ruling.apply
    flags: dict[str, object] = {
        "revert": revert,
        "opaque": effects.unknown,
        "git": effects.moves_checkout,
        "locks": any(program in PACKAGE_MANAGERS for program in effects.programs),
        "environment": any(program in _ENVIRONMENTS for program in effects.programs),
        "remit": any(program in ASKED for program in effects.programs),
    }

    def grant(state: SessionState) -> None:
        if count is not None:
            count(state)
        state.open_writer(call, paths, **flags)

    ruling.apply = grant
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


def _ask_person(effects: Effects) -> list[Ruling]:
    """Return the rulings for commands of Remit that are a person's word."""
    rulings = []
    for program in ASKED:
        if program in effects.programs:
            reason = f"`{program}` is a person's word. May the agent run it for you?"
            ruling = Ruling(2, "guarded-state", reason)
            ruling.asks_person = True
            rulings.append(ruling)
    return rulings


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
