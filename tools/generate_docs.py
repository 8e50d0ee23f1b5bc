"""Generate the pages that come from the code: rules, the built-in team, the plugin.

`generate()` returns every page by its path, so that a test can compare them with the committed ones.
`--check` writes nothing and lists the pages that are missing, different or stale.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import plugin_package

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from remit.checking import Options, check_text  # noqa: E402 (the path must be known first)
from remit.contract.profiles import LEVELS, PROFILES  # noqa: E402
from remit.registry.plugins import built_in_team  # noqa: E402
from remit.rules.base import Example, Rule, Violation  # noqa: E402
from remit.rules.catalog import every_rule  # noqa: E402
from remit.rules.examples import example_sources, example_text, sample_text  # noqa: E402

RULES = Path("docs/rules")
TEAM = Path("docs/team.md")
TREE = "../../src/remit/rules/samples/tree"

FAMILIES = {
    "result": "The document as a whole: is it complete, in a form that a program can read?",
    "confidence": "Scores: are they numbers, do they add up, are they justified?",
    "kinds": "What each kind of result requires in addition to the common form.",
    "evidence": "Claims checked against the checkout and the receipts.",
}
NEEDS = {
    "document": "",
    "repository": "needs the checkout (`--repo`)",
    "receipts": "needs receipts (`--transcript` or `--receipts`)",
    "runs": "needs receipts (`--transcript` or `--receipts`) or `--rerun`",
    "changes": "needs receipts (`--transcript` or `--receipts`) or a snapshot in them",
}
#: What the agent of an example did, by the name in the example.
DEEDS = {
    "everything": "that read all files, wrote its changes and ran the tests, which passed",
    "nothing": "that made no tool call",
    "no-run": "that read all files, wrote its changes and ran nothing",
    "failed-run": "that read all files, wrote its changes and ran the tests, which failed",
    "only-read": "that read all files and did nothing else",
    "no-session": "that read all files but `app/session.py` and ran the tests, which passed",
    "no-store": "that read all files but `app/store.py` and ran the tests, which passed",
}

#: A line of an example is cut here, and a run of added or removed lines after this many.
WIDTH = 110
RUN = 4


def generate() -> dict[Path, str]:
    """Return every generated page by its path from the root of the project."""
    pages = {RULES / "index.md": index()}
    pages |= {RULES / f"{rule.name}.md": page(rule) for rule in every_rule()}
    pages[TEAM] = team()
    pages |= plugin_package.package_files()
    return pages


def index() -> str:
    """Return the page that lists all rules by family."""
    lines = ["# Rules", "", _note(), ""]
    families = len({rule.family() for rule in every_rule()})
    lines += [
        f"{len(every_rule())} rules in {families} families, each with its level in the profile `v2` and others:",
        "",
    ]
    lines += [f"- **{level}**: {meaning}" for level, meaning in LEVELS.items()]
    lines += ["- **off**: not part of this profile", ""]
    of_claims = ", ".join(f"`{rule.name}`" for rule in every_rule() if rule.level_in("claims"))
    lines += textwrap.wrap(
        f"The profile `claims` has only {of_claims}.", WIDTH, break_on_hyphens=False, break_long_words=False
    )
    lines += ["", f"The examples are edits of samples without faults, checked against [a small project]({TREE})."]
    for family, about in FAMILIES.items():
        rules = sorted((rule for rule in every_rule() if rule.family() == family), key=lambda rule: rule.code)
        if rules:
            lines += ["", f"## {family}", "", about, ""]
            lines += [
                f"- {rule.code} [{rule.name}]({rule.name}.md) ({_levels(rule)}): {rule.summary()}" for rule in rules
            ]
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def page(rule: type[Rule]) -> str:
    """Return the page of one rule."""
    facts = [f"`{rule.code}`", f"level {_levels(rule)}", *filter(None, [NEEDS[rule.needs]])]
    if rule.since != "0.1":
        facts.append(f"since {rule.since}")
    if rule.requires:
        facts.append("skipped after " + ", ".join(f"[{name}]({name}.md)" for name in rule.requires))
    lines = [f"# {rule.name}", "", rule.summary(), rule.rationale(), "", " · ".join(facts)]
    lines += ["", f"**What to do:** {rule.help}"]
    shown = next((bad for bad in rule.bad if rule.name in {found.rule for found in violations_of(bad)}), None)
    if shown:
        lines += ["", "## Example", "", *_example(shown)]
    return "\n".join(lines).rstrip() + "\n"


def _levels(rule: type[Rule]) -> str:
    """Return the level in the default profile, and in others where it differs. The index has those of `claims`."""
    usual = rule.level_in("v2") or "off"
    others = {profile: rule.level_in(profile) or "off" for profile in PROFILES if profile != "claims"}
    return ", ".join([usual, *(f"{level} in {profile}" for profile, level in others.items() if level != usual)])


def _note(source: str = "src/remit/rules") -> str:
    return f"<!-- Generated from {source}. -->"


def _sample(kind: str) -> str:
    return f"../../src/remit/rules/samples/{kind}.md"


def _example(example: Example) -> Iterator[str]:
    kind = example.kind
    by = f", sent by an agent {DEEDS[example.receipts]}" if example.receipts else ""
    by += f", when {example.agent} was asked" if example.agent else ""
    by += "" if example.profile == "v2" else f", under profile {example.profile}"
    rows = list(_changes(example))
    change = " with this change" if rows else ""
    yield f"[{kind.capitalize()} sample]({_sample(kind)}){change}{by}{':' if rows else '.'}"
    yield ""
    if rows:
        fence = "````" if any("```" in row for row in rows) else "```"
        yield from (f"{fence}diff", *rows, fence, "")
    yield from _violation_lines(example)


def _changes(example: Example) -> Iterator[str]:
    """Yield the lines that an example removes from its sample and adds to it."""
    before, after = sample_text(example.kind).splitlines(), example_text(example).splitlines()
    run, last = 0, ""
    for row in list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]:
        if row.startswith("@@"):
            continue
        run = run + 1 if row[:1] == last else 1
        last = row[:1]
        if run == RUN + 1:
            yield f"{last}… (more of the same)"
        elif run <= RUN and row.strip("+- "):
            yield row.rstrip() if len(row) <= WIDTH else f"{row[:WIDTH]} …"


def _violation_lines(example: Example) -> Iterator[str]:
    """Yield a line for each violation in an example."""
    for violation in violations_of(example):
        yield f"- `{violation.rule}` ({violation.level}), line {violation.line}: {violation.message}"


def violations_of(example: Example) -> list[Violation]:
    """Return the violations in an example, checked against the samples' own tree and receipts."""
    verdicts = check_text(
        example_text(example),
        "-",
        Options(profile=example.profile, agent=example.agent or None),
        example_sources(example),
    )
    return [violation for verdict in verdicts for violation in verdict.violations]


def team() -> str:
    """Return the page on the subagents that come with Remit."""
    lines = ["# The built-in team", "", _note("src/remit/registry/team"), ""]
    lines += [
        "These subagents come with Remit. They come after every plugin of the plugin path, so a definition with the"
    ]
    lines += [
        "same name in a plugin [replaces them](definitions.md#names). `remit agents show NAME` prints the whole prompt,"
    ]
    lines += ["and `remit agents explain NAME` the prompt, tools and limits of a job.", ""]
    heads = ["agent", "kind", "model", "turns", "tools", "expertise"]
    lines += [_row(heads), _row(["---"] * len(heads))]
    members = built_in_team().definitions
    for one in members:
        link = f"[{one.name}](../src/remit/registry/team/{Path(one.path).name})"
        tools = "every tool" if one.tools is None else ", ".join(one.tools) or "none"
        facts = [one.kind or "–", one.model or "–", str(one.max_turns or "–"), tools, ", ".join(one.expertise) or "–"]
        lines.append(_row([link, *facts]))
    lines += ["", "## Which tasks to send to which agent", ""]
    lines += [f"- **{one.name}**: {one.description.replace(chr(10), ' ')}" for one in members]
    return "\n".join(lines) + "\n"


def stale() -> list[Path]:
    """Return the files in the generated folder that are no longer generated."""
    known = generate()
    there = [file for file in sorted((ROOT / RULES).rglob("*")) if file.is_file()]
    return [file.relative_to(ROOT) for file in there if file.relative_to(ROOT) not in known]


def differences() -> list[str]:
    """Return a line for each page that is not up to date."""
    found = []
    for path, text in generate().items():
        file = ROOT / path
        if not file.is_file():
            found.append(f"{path} is missing")
        elif file.read_text(encoding="utf-8") != text:
            found.append(f"{path} is out of date")
    return found + [f"{path} is stale: nothing generates it" for path in stale()]


def main() -> int:
    """Write the pages, or only compare them."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is out of date")
    if parser.parse_args().check:
        found = differences()
        print(*found or ["all generated pages are up to date"], sep="\n")
        return 1 if found else 0
    for path in stale():
        (ROOT / path).unlink()
        print(f"removed {path}")
    for path, text in generate().items():
        file = ROOT / path
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
            print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
