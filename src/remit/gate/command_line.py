"""What the rules say of a command line: its writes, searches and reads, once the shell reader has told them."""

# pathlib takes as long to load as all of the gate.

from __future__ import annotations

import os

from remit.gate.delegations import judge_subagent_write
from remit.gate.model import LONGEST_NAME
from remit.gate.paths import classify, is_guarded, locate
from remit.gate.reads import ReadRequest, SearchRequest, judge_pattern, judge_reads, judge_search
from remit.gate.ruling import Ruling, worst
from remit.gate.writes import judge_shell_writes, judge_write
from remit.globs import find_matches, is_glob
from remit.shell.interpret import read_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.model import ToolUse
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.shell.command import Effects

#: Programs whose only work is to look for weaknesses.
_SCANNERS_TEXT = """
    bandit semgrep gitleaks trufflehog trufflehog3 trivy snyk grype pip-audit safety nuclei nikto nmap zap-cli zap.sh
    zap-baseline.py brakeman gosec checkov tfsec detect-secrets osv-scanner govulncheck bundler-audit bundle-audit
    dependency-check retire wapiti sqlmap horusec git-secrets kube-bench kubesec codeql lynis
"""
SCANNERS = frozenset(_SCANNERS_TEXT.split())
#: Programs of which one subcommand is a scan.
_AUDITS = frozenset({"npm audit", "yarn audit", "pnpm audit", "cargo audit", "composer audit", "docker scout"})

#: Commands of ours that change the gate itself, or speak to it in a client's name; `?`: which one, is not known.
_OF_THE_GATE = ("remit install", "remit uninstall", "remit hook", "remit ?")
#: In a line that is not understood these words mean that it may do the same by another way.
_OUR_PARTS = ("remit.gate", "remit.clients", "remit.surfaces", "remit.__main__", "hooks/entry.py")


def judge_command(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    """All that a command line does, judged together: it is one call."""
    effects = read_command(call.text("command"), call.cwd or project)
    rulings = [*_scans(effects, settings)]
    rulings += judge_shell_writes(effects.writes, effects.restores, call, state, settings, project)
    if effects.unknown:
        rulings.append(_not_understood(effects, settings))
    rulings += _words_for_a_person(call, effects)
    reads: list[ReadRequest] = []
    for search in effects.searches:
        said, found = judge_search(SearchRequest(*search), call, settings, project)
        rulings += said
        reads += found
    for pattern in effects.patterns:
        noted = judge_pattern(pattern, settings, single=True)
        rulings += [noted] if noted else []
    for path, lines, first in effects.reads:
        said, found = _expanded(path, lines, first, call, settings, project)
        rulings += said
        reads += found
    if reads:
        rulings.append(judge_reads(reads, call, state, settings, project))
        _count_with(rulings)
    return worst(rulings) or Ruling()


def _count_with(rulings: list[Ruling]) -> None:
    """Whatever ruling decides, the reads are counted if the call is let through."""
    counted = rulings[-1].apply
    for ruling in rulings:
        if ruling.level in (2, 3) or not ruling.level:
            ruling.apply = counted


def _scans(effects: Effects, settings: GateSettings) -> list[Ruling]:
    auditor = settings.agent("security")
    for program in effects.programs:
        if program in SCANNERS or program in _AUDITS or program.partition(" ")[0] in SCANNERS:
            reason = f"{program} is a security scan: that is the work of {auditor}"
            return [Ruling(1, "security-alone", reason, delegate_to=auditor)]
    return []


def _declaration() -> Ruling:
    ruling = Ruling(2, "declare", "a declaration is a person's to make: may an agent make this one for you?")
    ruling.asks = True
    return ruling


def _change_of_the_gate(program: str) -> Ruling:
    reason = f"`{program}` changes what holds the agents: may one of them run that for you?"
    ruling = Ruling(2, "guarded-state", reason)
    ruling.asks = True
    return ruling


def _not_understood(effects: Effects, settings: GateSettings) -> Ruling:
    agent = settings.agent("backend")
    strict = settings.mode == "strict"
    reason = f"what this command line writes cannot be told ({effects.why}). " + (
        f"Delegate it to {agent}, or use plain commands with plain names of files"
        if strict
        else "If it changes code, delegate it"
    )
    ruling = Ruling(1 if strict else 2, "edit-code", reason, delegate_to=agent)
    ruling.detail = f" (the program: {effects.detail!r})" if effects.detail else ""
    return ruling


def _expanded(
    path: str, lines: int | None, first: int, call: ToolUse, settings: GateSettings, project: str
) -> tuple[list[Ruling], list[ReadRequest]]:
    """A name with wildcards as the files that it matches; more than a few are a bulk search."""
    if not is_glob(path) or os.path.lexists(locate(path, call.cwd, project).real):
        return [], [ReadRequest(path, lines, first)]
    parts = path.split("/")
    fixed = next(at for at, part in enumerate(parts) if is_glob(part))
    root = locate("/".join(parts[:fixed]) or ("/" if fixed else "."), call.cwd, project)
    most = settings.limits["search_files"]
    found = find_matches(root.real, "/".join(parts[fixed:]), most + 1)
    if found is not None and len(found) <= most:
        return [], [ReadRequest(one, lines, first) for one in found]
    root.name += "/_"
    if classify(root, settings) == "state":
        return [], []
    explorer = settings.agent("explore")
    reason = f"this reads more than {most} files at once. Delegate the reading to {explorer}"
    return [Ruling(1, "bulk-search", reason, delegate_to=explorer, paths=(root.name[:-2],))], []


def judge_subagent_command(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    """A subagent's command line: files that others write, and what no orchestrator of its own may touch either."""
    effects = read_command(call.text("command"), call.cwd or project)
    asked = _words_for_a_person(call, effects)
    if asked:
        return asked[0]
    places = [(path, locate(path, call.cwd, project)) for path in effects.writes]
    for _, place in places:
        if is_guarded(place, settings, project):
            return judge_write(place.name[:LONGEST_NAME], "guarded", settings, by_shell=True)
    names = [
        place.name[:LONGEST_NAME]
        for path, place in places
        if place.inside and not os.path.isdir(place.real) and not is_glob(path)
    ]
    return judge_subagent_write(call, state, names)


def _words_for_a_person(call: ToolUse, effects: Effects) -> list[Ruling]:
    """Commands of ours that are a person's to give."""
    text = call.text("command")
    asked = [_change_of_the_gate(program) for program in _OF_THE_GATE if program in effects.programs]
    if "remit gate declare" in effects.programs or (effects.unknown and "gate" in text and "declare" in text):
        asked.append(_declaration())
    if effects.unknown and any(part in text for part in _OUR_PARTS):
        asked.append(_change_of_the_gate("a part of remit"))
    return asked
