"""Read the tool of a SARIF run and its rules: title, severity, score and category of a result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from remit.contract.findings import Severity
from remit.contract.kinds import slug
from remit.merging.adjust import UNSCORED
from remit.merging.sarif.values import MAX_HEAD, MAX_NAME, as_dict, as_list, as_number, as_text, item_at

MAX_TITLE = 300
_MAX_TAGS = 100
_MAX_FILLED = 50

_LEVELS: dict[str, Severity] = {"error": "critical", "warning": "important", "note": "minor", "none": "minor"}
#: Tools that report everything as an error: their level does not grade a finding.
_UNGRADED = frozenset({"ruff", "golangci-lint"})
_CERTAINTY = {"very-high": 95.0, "high": 90.0, "medium": 70.0, "low": 50.0}
#: Tags that are categories; the first of these that a rule carries counts.
_TAGS = ("security", "performance", "testing", "documentation", "architecture", "quality")
#: For rules without such a tag; the keys are as in the configured table.
_KNOWN_TOOLS = {
    **dict.fromkeys(("bandit/*", "semgrep*/*", "codeql/*", "gosec/*", "brakeman/*", "ruff/S"), "security"),
    "ruff/D": "documentation",
    "ruff/PERF": "performance",
    "ruff/*": "quality",
}

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{\d+\}")
_TEMPLATE = re.compile(r"\{\w*\}")
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\(\d+\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


class SarifTool:
    """The tool of a run: its name, its rules and its messages."""

    def __init__(self, tool: dict[str, Any], stem: str) -> None:
        driver = as_dict(tool.get("driver"))
        self.name = slug(as_text(driver.get("name"), MAX_NAME)) or stem
        components = [driver, *map(as_dict, as_list(tool.get("extensions")))]
        self._rules, *self._packs = ([as_dict(rule) for rule in as_list(each.get("rules"))] for each in components)
        rules = (rule for pack in (*reversed(self._packs), self._rules) for rule in reversed(pack))
        self._by_id = {as_text(rule.get("id")): rule for rule in rules}
        self._strings = as_dict(driver.get("globalMessageStrings"))

    def rule(self, result: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the id and the rule of a result, found by its index or its id."""
        reference = as_dict(result.get("rule"))
        name = as_text(result.get("ruleId")) or as_text(reference.get("id"))
        rules = item_at(self._packs, as_dict(reference.get("toolComponent")).get("index")) or self._rules
        rule = as_dict(item_at(rules, result.get("ruleIndex")) or item_at(rules, reference.get("index")))
        own = as_text(rule.get("id"))
        if name and name != own and not (own and name.startswith(f"{own}/")):
            rule = self._by_id.get(name) or self._by_id.get(name.rpartition("/")[0]) or {}
        return as_text(name or own, MAX_NAME), rule

    def message(self, result: dict[str, Any], rule: dict[str, Any], limit: int) -> str:
        """Return the message of a result, with placeholders filled in and links replaced by their text."""
        message = as_dict(result.get("message"))
        text = as_text(message.get("text"), limit)
        for strings in (as_dict(rule.get("messageStrings")), self._strings):
            text = text or as_text(as_dict(strings.get(as_text(message.get("id")))).get("text"), limit)
        arguments = [as_text(argument, 1_000) for argument in as_list(message.get("arguments"))]
        if arguments:
            values = {"{{": "{", "}}": "}", **{f"{{{at}}}": argument for at, argument in enumerate(arguments)}}
            text = _PLACEHOLDER.sub(lambda found: values.get(found[0], found[0]), text, count=_MAX_FILLED)
        return as_text(_LINK.sub(r"\1", text), limit)


def result_title(message: str, rule: dict[str, Any]) -> str:
    """Return the rule's short description, else the first sentence of the message."""
    short = as_text(as_dict(rule.get("shortDescription")).get("text"), MAX_HEAD)
    if not short.strip() or _TEMPLATE.search(short):
        short = _SENTENCE_END.split(as_text(message.strip(), MAX_HEAD).partition("\n")[0], maxsplit=1)[0]
    return as_text(" ".join(short.split()), MAX_TITLE)


def result_severity(result: dict[str, Any], rule: dict[str, Any], tool: str) -> Severity:
    """Return the severity of a result: from its security score, else from its level, else from its rule's level."""
    for bag in (as_dict(result.get("properties")), as_dict(rule.get("properties"))):
        score = as_number(bag.get("security-severity"))
        if score is not None:
            return "critical" if score >= 9 else "important" if score >= 4 else "minor"
    level = result.get("level")
    if not (isinstance(level, str) and level in _LEVELS):
        is_fault = result.get("kind", "fail") == "fail"
        level = as_text(as_dict(rule.get("defaultConfiguration")).get("level")) if is_fault else "none"
    return "important" if level == "error" and tool in _UNGRADED else _LEVELS.get(level, "important")


def result_score(result: dict[str, Any], rule: dict[str, Any]) -> tuple[float, bool]:
    """Return the tool's score from 0 to 100, and whether it gave none."""
    rank, own = result.get("rank"), as_dict(result.get("properties"))
    if not isinstance(rank, str) and (score := as_number(rank)) is not None:
        return score, False
    for value in (own.get("confidence"), own.get("issue_confidence"), as_dict(rule.get("properties")).get("precision")):
        if isinstance(value, str) and value.lower() in _CERTAINTY:
            return _CERTAINTY[value.lower()], False
        if (score := as_number(value)) is not None:
            return score * 100 if score <= 1 else score, False  # a fraction or a percentage
    return UNSCORED, True


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
