"""Generate the pages that come from the code: rules, the built-in team, the plugin.

`generate()` returns every page by its path, so that a test can compare them with the committed ones.
`--check` writes nothing and lists the pages that are missing, different or stale.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

import plugin_package

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from remit.contract.profiles import LEVELS, PROFILES  # noqa: E402 (the path must be known first)
from remit.registry.plugins import built_in_team  # noqa: E402
from remit.rules.base import Rule  # noqa: E402
from remit.rules.catalog import every_rule  # noqa: E402

RULES = Path("docs/rules.md")
TEAM = Path("docs/team.md")
CHANGELOG = Path("CHANGELOG.md")
REMOVED = ROOT / "src/remit/removed.toml"
#: Between these lines of the changelog is the table of what left.
MARKS = ("<!-- removed.toml -->\n", "<!-- end of removed.toml -->")

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
    "changes": "needs receipts (`--transcript` or `--receipts`) or a snapshot in them",
}


def generate() -> dict[Path, str]:
    """Return every generated page by its path from the root of the project."""
    pages = {RULES: rules_page()}
    pages[TEAM] = team()
    pages[CHANGELOG] = changelog()
    pages |= plugin_package.package_files()
    return pages


def rules_page() -> str:
    """Return the page on all rules, by family."""
    lines = [
        "# Rules",
        "",
        _note(),
        "",
        "Each rule with its level in the profile `v2`, and in others where it differs:",
        "",
    ]
    lines += [f"- **{level}**: {meaning}" for level, meaning in LEVELS.items()]
    lines += ["- **off**: not part of this profile", ""]
    of_claims = ", ".join(f"`{rule.name}`" for rule in every_rule() if rule.level_in("claims"))
    lines += textwrap.wrap(
        f"The profile `claims` has only {of_claims}.", 110, break_on_hyphens=False, break_long_words=False
    )
    for family, about in FAMILIES.items():
        lines += ["", f"## {family}", "", about]
        for rule in sorted((rule for rule in every_rule() if rule.family() == family), key=lambda rule: rule.code):
            lines += ["", *_rule(rule)]
    return "\n".join(lines) + "\n"


def _rule(rule: type[Rule]) -> Iterator[str]:
    """Yield the lines on one rule."""
    facts = [f"`{rule.code}`", _levels(rule), *filter(None, [NEEDS[rule.needs]])]
    yield from (
        f"### {rule.name}",
        "",
        f"{' · '.join(facts)} · {rule.summary()} {' '.join(rule.rationale().split())}".rstrip(),
    )
    yield from ("", f"**What to do:** {rule.help}")


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _levels(rule: type[Rule]) -> str:
    """Return the level in the default profile, and in others where it differs. The index has those of `claims`."""
    usual = rule.level_in("v2") or "off"
    others = {profile: rule.level_in(profile) or "off" for profile in PROFILES if profile != "claims"}
    return ", ".join([usual, *(f"{level} in {profile}" for profile, level in others.items() if level != usual)])


def _note(source: str = "src/remit/rules") -> str:
    return f"<!-- Generated from {source}. -->"


def changelog() -> str:
    """Return the changelog with the table of what left and what is there instead."""
    before, rest = (ROOT / CHANGELOG).read_text(encoding="utf-8").split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    lines = [_row(["what left", "instead"]), _row(["---", "---"])]
    for kind, names in tomllib.loads(REMOVED.read_text(encoding="utf-8")).items():
        mark = "remit " if kind in ("commands", "options") else ""
        lines += [
            _row([f"`{mark}{name}`".replace("|", "\\|"), text.replace("|", "\\|")]) for name, text in names.items()
        ]
    return "".join([before, MARKS[0], "\n", *(f"{line}\n" for line in lines), "\n", MARKS[1], after])


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


def differences() -> list[str]:
    """Return a line for each page that is not up to date."""
    found = []
    for path, text in generate().items():
        file = ROOT / path
        if not file.is_file():
            found.append(f"{path} is missing")
        elif file.read_text(encoding="utf-8") != text:
            found.append(f"{path} is out of date")
    return found


def main() -> int:
    """Write the pages, or only compare them."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is out of date")
    if parser.parse_args().check:
        found = differences()
        print(*found or ["all generated pages are up to date"], sep="\n")
        return 1 if found else 0
    for path, text in generate().items():
        file = ROOT / path
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
            print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
