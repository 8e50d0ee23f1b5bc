"""Sentences for people and agents: why a claim has its outcome, and how often such an accusation is right."""

from __future__ import annotations

from remit.evidence.model import Checked, CheckedStatement, format_location

_FIXED = {
    "large": "the file is larger than 10 MB",
    "binary": "the file is not text",
    "special": "it is not a regular file",
    "forbidden": "the file is not readable",
    "submodule": "the file is in a submodule",
    "comments-only": "the code consists of comments only",
    "too-large-to-compare": "the quotes are too large or too many to compare",
    "cannot-be-known": "the checkout cannot show it",
    "planned": "this design creates it",
    "location-only": "",
    "code-not-compared": "the code was not compared",
    "name-not-compared": "a use of this name is near the line, perhaps of something else",
    "name-is-there": "the name is there",
    "definition-is-there": "the definition is there",
    "quote-is-there": "the quote is there",
    "line-zero": "lines are counted from 1",
    "missing-in-folder": "there is no such file in this folder",
    "missing-below-folder": "there is no such file; only some of its folders are here",
    "missing-folders": "there is no such file, and none of its folders is here",
    "missing-name": "no file has this name",
    "missing-path": "there is no such file",
    "missing-link": "the link leads to no file",
    "is-folder": "it is a folder",
    "hidden-characters": "the location contains invisible characters",
    "outside": "the path is outside the checkout",
    "outside-machine": "the path is one of a machine, not of the checkout",
    "quote-missing-file": "there is no such file",
    "command-missing": "the project does not define this command",
    "test-missing": "there is no such test",
    "commit-missing": "the repository has no such commit",
}


def explain(checked: Checked) -> str:
    """Return why a claim has its outcome, in one sentence without a full stop; empty if there is nothing to say."""
    reason = checked.reason
    if reason in _FIXED:
        return _FIXED[reason]
    if reason.startswith("outdated"):
        return _of_history(checked)
    if reason.startswith("name-") or reason == "definition-elsewhere":
        return _of_name(checked)
    return _of_quote(checked) if reason.startswith("quote-") else _of_file(checked)


def statement_message(checked: CheckedStatement) -> str:
    """Return the sentence of a text with the proof that it is not so."""
    return f'"{checked.statement.text}": {checked.why}'


def _of_file(checked: Checked) -> str:
    claim, facts = checked.claim, checked.facts
    sentences = {
        "several-files": f"several files end with this path: {', '.join(facts.candidates)}",
        "other-code-base": f"most references of this text are below {facts.elsewhere}/, which is not in this checkout",
        "other-repository": facts.elsewhere,
        "range-backwards": f"the range runs backwards from {claim.line} to {claim.end_line}",
    }
    return sentences.get(checked.reason) or _of_length(checked)


def _of_length(checked: Checked) -> str:
    count = checked.facts.line_count or 0
    if len(checked.facts.candidates) > 1:
        return f"none of the {len(checked.facts.candidates)} files that end with this path has this line"
    return f"the file has {count} line{'s' if count != 1 else ''}"


def _of_name(checked: Checked) -> str:
    name = checked.claim.name.replace("|", " or ")
    if checked.reason == "name-nowhere":
        return f"`{name}` exists nowhere in this checkout"
    if checked.reason == "name-not-in-file":
        return f"`{name}` does not occur in the file"
    line = checked.found.line if checked.found is not None else None
    return f"`{name}` is {'defined ' if checked.reason == 'definition-elsewhere' else ''}at line {line}"


def _of_quote(checked: Checked) -> str:
    code, found = checked.facts.code, checked.found
    if checked.reason == "quote-elsewhere":
        return f"the quote is at line {found.line if found is not None else '?'}"
    if checked.reason == "quote-in-other-file":
        return f"the quote is in {format_location(found)}" if found is not None else "the quote is in another file"
    if code is None or code.similarity is None or found is None:
        return "the file does not contain these lines"
    share = min(code.similarity, 0.99)  # not 100 %: it differs
    why = f"the file does not contain these lines; line {found.line} is the most similar ({share:.0%})"
    difference = code.difference
    if difference is None:
        return why
    if not difference.actual:
        return f"{why}; none of these lines is like `{difference.quoted}`"
    return f"{why}; the quote has `{difference.quoted}`, but line {difference.line} is `{difference.actual}`"


def _of_history(checked: Checked) -> str:
    then, found = checked.then, checked.found
    if then is None:
        return "it was true when it was written"
    changed = f", changed in {then.changed_in[:9]}" if then.changed_in else ""
    today = f"; now at {format_location(found)}" if found is not None else ""
    return f"true in {then.commit[:9]} ({then.date[:10]}){changed}{today}"


def suggestion(checked: Checked) -> str:
    """Return `; did you mean a/b.py:12?`, or an empty string."""
    return f"; did you mean {format_location(checked.found, checked.found_end)}?" if checked.found else ""
