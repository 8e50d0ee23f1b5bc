"""Read the tool of a SARIF run and its rules: title, severity, score and category of a result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from remit.configuration import parse_toml
from remit.contract.findings import Severity
from remit.contract.kinds import slug
from remit.merging.merge_data import UNSCORED_TOOL
from remit.merging.sarif.values import MAX_HEAD, MAX_NAME, as_dict, as_list, as_number, as_text, item_at

MAX_TITLE = 300
_MAX_TAGS = 100
_MAX_FILLED = 50
_MAX_AROUND_ID = 20

#: The level alone never makes a finding critical: many linters report everything as an error.
_LEVELS: dict[str, Severity] = {"error": "important", "warning": "minor", "note": "minor", "none": "minor"}
_CERTAINTY = {"very-high": 95.0, "high": 85.0, "medium": 70.0, "low": 50.0}
#: Properties in which tools state a severity in words.
_SEVERITY_KEYS = ("severity", "issue_severity", "problem.severity", "impact", "risk", "priority", "level")
_CRITICAL = frozenset({"critical", "blocker"})
#: Some rules have a word instead of a number as `security-severity`.
_SECURITY_WORDS: dict[str, Severity] = {
    "critical": "critical",
    "high": "important",
    "medium": "important",
    "moderate": "important",
    "low": "minor",
}
#: Tags that are categories; the first of these that a rule carries counts.
_TAGS = ("security", "performance", "testing", "documentation", "architecture", "quality")
#: For rules without such a tag; the keys are as in the configured table.
_KNOWN_TOOLS = {
    **dict.fromkeys(("bandit/*", "semgrep*/*", "codeql/*", "gosec/*", "brakeman/*", "ruff/S"), "security"),
    **dict.fromkeys(("zizmor/*", "secret-scan/*", "gitleaks/*", "trivy/*", "checkov/*"), "security"),
    **dict.fromkeys(("oxlint/*", "eslint/*", "shellcheck/*", "hadolint/*", "clippy/*"), "quality"),
    **dict.fromkeys(("golangci-lint/*", "rubocop/*", "phpstan/*", "detekt/*"), "quality"),
    "golangci-lint/gosec": "security",
    "rubocop/Security/*": "security",
    "ruff/D": "documentation",
    "ruff/PERF": "performance",
    "ruff/*": "quality",
}

_WEAKNESS = re.compile(r"\bcwe-0*(\d{1,5})\b", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{\d+\}")
_TEMPLATE = re.compile(r"\{\w*\}")
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\(\d+\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


class SarifTool:
    """The tool of a run: its name, its rules and its messages."""

    def __init__(self, tool: dict[str, Any], stem: str, taxonomies: Sequence[object] = ()) -> None:
        driver = as_dict(tool.get("driver"))
        self.name = slug(as_text(driver.get("name"), MAX_NAME)) or stem
        components = [driver, *map(as_dict, as_list(tool.get("extensions")))]
        self._rules, *self._packs = ([as_dict(rule) for rule in as_list(each.get("rules"))] for each in components)
        rules = (rule for pack in (*reversed(self._packs), self._rules) for rule in reversed(pack))
        self._by_id = {as_text(rule.get("id")): rule for rule in rules}
        self._strings = as_dict(driver.get("globalMessageStrings"))
        self._families = [as_list(family.get("taxa")) for family in map(as_dict, taxonomies)]
        self._own_taxa, *self._extension_taxa = (as_list(each.get("taxa")) for each in components)
        self._taxa = {
            (as_text(family.get("name"), MAX_NAME).upper(), as_text(taxon.get("id"), MAX_NAME)): _short_text(taxon)
            for family in [*map(as_dict, taxonomies), *components]
            for taxon in map(as_dict, as_list(family.get("taxa")))
        }

    def rule(self, result: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the id and the rule of a result, found by its index or its id."""
        reference = as_dict(result.get("rule"))
        name = as_text(result.get("ruleId")) or as_text(reference.get("id"))
        rules = item_at(self._packs, as_dict(reference.get("toolComponent")).get("index")) or self._rules
        rule = as_dict(item_at(rules, result.get("ruleIndex")) or item_at(rules, reference.get("index")))
        rule_id = as_text(rule.get("id"))
        if name and name != rule_id and not (rule_id and name.startswith(f"{rule_id}/")):
            rule = self._by_id.get(name) or self._by_id.get(name.rpartition("/")[0]) or {}
        return as_text(name or rule_id, MAX_NAME), rule

    def taxon_at(self, taxon: dict[str, Any]) -> str:
        """Return the id of a taxon that is named by its index in a taxonomy; empty if it is not there."""
        component, index = as_dict(taxon.get("toolComponent")), taxon.get("index")
        position = component.get("index", 0)
        families = [item_at(self._families, position), item_at(self._extension_taxa, position)]
        families = families if component else [self._own_taxa, *families]
        ids = (as_text(as_dict(item_at(as_list(family), index)).get("id"), MAX_NAME) for family in families)
        return next(filter(None, ids), "")

    def taxon_title(self, family: str, name: str) -> str:
        """Return the short description of a taxon; empty if the file does not have it."""
        return self._taxa.get((family.upper(), name), "")

    def message(self, result: dict[str, Any], rule: dict[str, Any], limit: int) -> str:
        """Return the message of a result, with placeholders filled in and links replaced by their text."""
        message = as_dict(result.get("message"))
        text = as_text(message.get("text"), limit)
        for strings in (as_dict(rule.get("messageStrings")), self._strings):
            text = text or as_text(as_dict(strings.get(as_text(message.get("id")))).get("text"), limit)
        text = text or as_text(message.get("markdown"), limit)
        arguments = [as_text(argument, 1_000) for argument in as_list(message.get("arguments"))]
        text = text or ", ".join(filter(None, arguments[:_MAX_FILLED]))  # its string is in another file
        if arguments:
            values = {"{{": "{", "}}": "}", **{f"{{{index}}}": argument for index, argument in enumerate(arguments)}}
            text = _PLACEHOLDER.sub(lambda match: values.get(match[0], match[0]), text, count=_MAX_FILLED)
        return as_text(_LINK.sub(r"\1", text), limit)


def _short_text(descriptor: dict[str, Any]) -> str:
    text = as_text(as_dict(descriptor.get("shortDescription")).get("text"), MAX_NAME)
    return " ".join((text or as_text(descriptor.get("name"), MAX_NAME)).split())


def result_title(message: str, rule: dict[str, Any], name: str = "", tool: str = "") -> str:
    """Return the rule's short description, else the first sentence of the message.

    A description that only repeats the rule's id or the tool, such as `Semgrep Finding: x.y`, or has placeholders is
    not a title.
    """
    short = as_text(as_dict(rule.get("shortDescription")).get("text"), MAX_HEAD)
    repeats = any(
        word and word.lower() in short.lower() and len(short) <= len(word) + _MAX_AROUND_ID for word in (name, tool)
    )
    if not short.strip() or _TEMPLATE.search(short) or (repeats and message.strip()):
        short = _SENTENCE_END.split(as_text(message.strip(), MAX_HEAD).partition("\n")[0], maxsplit=1)[0]
    return as_text(" ".join(short.split()), MAX_TITLE)


class _SeverityTable(NamedTuple):
    """The severities of rules and weaknesses, from `severities.toml`."""

    rules: dict[Severity, list[str]]
    style: list[str]
    weaknesses: dict[int, Severity]


@cache
def _severities() -> _SeverityTable:
    table = parse_toml((files("remit.merging.sarif") / "severities.toml").read_text("utf-8"))
    words: tuple[Severity, ...] = ("critical", "important", "minor")
    weaknesses = {number: word for word in words for number in table["cwe"][word]}
    rules = {word: table["rules"][word] for word in words}
    return _SeverityTable(rules, table["rules"]["style"], weaknesses)


def _matching(tool: str, name: str, patterns: Iterable[str]) -> Iterator[str]:
    """Yield the patterns that match a rule. Rules of ruff from flake8-bandit have the numbers of bandit."""
    same = re.fullmatch(r"S([1-7]\d\d)", name) if tool == "ruff" else None
    full = f"bandit/B{same[1]}" if same else f"{tool}/{name.removeprefix(f'{tool}/')}"
    return (pattern for pattern in patterns if fnmatchcase(full, pattern))


@cache
def _severity_of_rule(tool: str, name: str) -> Severity | None:
    matches = (
        (len(pattern), word) for word, known in _severities().rules.items() for pattern in _matching(tool, name, known)
    )
    return max(matches, default=(0, None), key=lambda match: match[0])[1]


@cache
def is_style(tool: str, name: str) -> bool:
    """Return whether a rule is about style, which is never more than minor."""
    return any(_matching(tool, name, _severities().style))


def _severity_of_weakness(bags: Sequence[dict[str, Any]], rule: dict[str, Any]) -> Severity | None:
    """Return the severity of the worst weakness (CWE) that a result or its rule names."""
    texts = [bag.get("cwe") for bag in bags]
    texts += [tag for bag in bags for tag in as_list(bag.get("tags"))[:_MAX_TAGS]]
    texts += [as_dict(as_dict(each).get("target")).get("id") for each in as_list(rule.get("relationships"))[:_MAX_TAGS]]
    named = (match for text in texts if isinstance(text, str) and (match := _WEAKNESS.search(text[:MAX_NAME])))
    known = {_severities().weaknesses.get(int(match[1])) for match in named}
    return next((word for word in ("critical", "important", "minor") if word in known), None)


def result_severity(result: dict[str, Any], rule: dict[str, Any], tool: str = "", name: str = "") -> Severity:
    """Return the severity of a result: by its rule, else from its security score, its weakness, or its level."""
    if is_style(tool, name):
        return "minor"
    bags = (as_dict(result.get("properties")), as_dict(rule.get("properties")))
    is_scored = any(bag.get("security-severity") is not None for bag in bags)
    known = _severity_of_rule(tool, name) or (None if is_scored else _severity_of_weakness(bags, rule))
    if known == "critical" and result.get("level") == "note":
        return "important"
    return known or _stated_severity(result, rule)


def _stated_severity(result: dict[str, Any], rule: dict[str, Any]) -> Severity:
    """Return the severity that a tool states: its security score, else its own words, else the level."""
    bags = (as_dict(result.get("properties")), as_dict(rule.get("properties")))
    for stated in (bag.get("security-severity") for bag in bags):
        if (score := as_number(stated)) is not None:
            return "critical" if score >= 9 else "important" if score >= 4 else "minor"
        if isinstance(stated, str) and (word := stated.strip().lower()) in _SECURITY_WORDS:
            return _SECURITY_WORDS[word]
    if any(_states_critical(bag) for bag in bags):
        return "critical"
    level = result.get("level")
    if not (isinstance(level, str) and level in _LEVELS):
        is_fault = result.get("kind", "fail") == "fail"
        level = as_text(as_dict(rule.get("defaultConfiguration")).get("level")) if is_fault else "none"
    return _LEVELS.get(level, "minor")


def _states_critical(bag: dict[str, Any]) -> bool:
    stated = [bag[key] for key in list(bag)[:_MAX_TAGS] if key in _SEVERITY_KEYS or key.lower().endswith("severity")]
    words = stated + as_list(bag.get("tags"))[:_MAX_TAGS]
    return any(isinstance(word, str) and word.lower() in _CRITICAL for word in words)


def result_score(result: dict[str, Any], rule: dict[str, Any]) -> tuple[float, bool]:
    """Return the tool's score from 0 to 100, and whether it gave none."""
    rank, properties = result.get("rank"), as_dict(result.get("properties"))
    if not isinstance(rank, str) and (score := as_number(rank)) is not None:
        return score, False
    stated = as_dict(rule.get("properties")).get("precision")
    for value in (
        properties.get("precision"),
        properties.get("confidence"),
        properties.get("issue_confidence"),
        stated,
    ):
        if isinstance(value, str) and value.lower() in _CERTAINTY:
            return _CERTAINTY[value.lower()], False
        if (score := as_number(value)) is not None:
            return score * 100 if score <= 1 else score, False  # a fraction or a percentage
    return UNSCORED_TOOL, True


class CategoryMap:
    """The categories of a tool's rules; each rule is looked up once."""

    def __init__(self, configured: Mapping[str, str]) -> None:
        self._tables = (configured, _KNOWN_TOOLS)
        self._known: dict[tuple[str, str], list[str | None]] = {}

    def of(self, tool: str, name: str, result: dict[str, Any], rule: dict[str, Any]) -> str:
        """Return the category of a result: configured, else from a tag, else the default of its tool."""
        if (tool, name) not in self._known:
            self._known[tool, name] = [_find_category(table, tool, name) for table in self._tables]
        configured, usual = self._known[tool, name]
        properties = (as_dict(rule.get("properties")), as_dict(result.get("properties")))
        tags = {as_text(tag, MAX_NAME).lower() for each in properties for tag in as_list(each.get("tags"))[:_MAX_TAGS]}
        tagged = next((tag for tag in _TAGS if tag in tags), None)
        return (configured or tagged or usual or "general").lower()


def _find_category(table: Mapping[str, str], tool: str, rule: str) -> str | None:
    """Return the category of a rule: by its name, else by the longest key that is its family or a matching pattern."""
    names = (f"{tool}/{rule}", rule)
    for name in names:
        if name in table:
            return table[name]
    family = re.match(r"[A-Za-z]*", rule)
    families = (f"{tool}/{family[0]}", family[0]) if family else ()
    keys = [key for key in table if key in families or any(fnmatchcase(name, key) for name in names)]
    return table[max(keys, key=lambda key: (len(key), key))] if keys else None
