"""All claims of a document in one list: places, names, quotes, commands, changed files and test runs.

Each one has the sentence for people and agents that states why it has its outcome.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from remit.evidence.judge import ACCUSING, HOLDING, judge
from remit.evidence.model import (
    OUTCOMES,
    Checked,
    CheckedStatement,
    ClaimKind,
    Difference,
    Evidence,
    Location,
    Outcome,
    Then,
    format_location,
)

__all__ = ["ACCUSING", "HOLDING", "ClaimEntry", "claims_of", "claims_text", "count_outcomes"]
#: How a summary calls the outcomes of claims; all accusations that fail are "wrong".
_PLURAL: dict[str, str] = {"exists": "exist"}


class ClaimEntry(msgspec.Struct, frozen=True):
    """One claim as reports list it."""

    kind: ClaimKind
    text: str
    at: int
    outcome: Outcome
    path: str = ""
    line: int | None = None
    end_line: int | None = None
    name: str = ""
    #: The stable word for the reason, and the sentence.
    reason: str = ""
    why: str = ""
    found: Location | None = None
    found_end: int | None = None
    then: Then | None = None
    #: The first line of a quote that differs from the file.
    difference: Difference | None = None
    fails: bool = False


def claims_of(evidence: Evidence) -> list[ClaimEntry]:
    """Return every claim of a document, in document order. A quote and its location are one claim: the quote."""
    listed = [_of_checked(checked) for checked in evidence.checked if not checked.has_quote]
    for change in evidence.changes:
        fails = change.outcome in ACCUSING
        listed.append(
            ClaimEntry(
                kind="change",
                text=f"{change.path} {change.claim}",
                at=change.at,
                outcome=change.outcome,
                path=change.path,
                reason="change" if change.why else "",
                why=change.why,
                fails=fails,
            )
        )
    listed += [_of_statement(checked) for checked in evidence.statements]
    return sorted(listed, key=lambda entry: entry.at)


def _of_statement(checked: CheckedStatement) -> ClaimEntry:
    """Return what was done as a claim: what states no file is a run."""
    statement = checked.statement
    return ClaimEntry(
        kind="change" if statement.path else "run",
        text=statement.text,
        at=statement.at,
        outcome=checked.outcome,
        path=statement.path,
        reason=checked.reason,
        why=checked.why,
        fails=checked.fails,
    )


def _of_checked(checked: Checked) -> ClaimEntry:
    claim, judgement = checked.claim, checked.judgement
    unseen = " · never opened" if checked.opened == "no" and checked.outcome != "missing-file" else ""
    text = claim.display_text
    if claim.kind == "quote":
        text = f"quote from {format_location(Location(claim.path, claim.line), claim.end_line)}"
        unseen = f" · {checked.match}" if checked.match in ("annotated", "condensed") else unseen
    return ClaimEntry(
        kind=claim.kind,
        text=text,
        at=claim.at,
        outcome=judgement.outcome,
        path=checked.path,
        line=claim.line,
        end_line=claim.end_line,
        name=claim.name,
        reason=judgement.reason,
        why=f"{explain(checked)}{unseen}".removeprefix(" · "),
        found=judgement.found,
        found_end=judgement.found_end,
        then=checked.then,
        difference=checked.difference,
        fails=judgement.fails,
    )


def count_outcomes(listed: Sequence[ClaimEntry]) -> dict[Outcome, int]:
    """Return the number of claims of each outcome that occurs, in the order of the table of outcomes."""
    counts = Counter(entry.outcome for entry in listed)
    return {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]}


def summary_parts(listed: Sequence[ClaimEntry]) -> list[tuple[str, str]]:
    """Return the parts of the summary line with the outcome that they are about: `12 verified`, `1 wrong`.

    Claims that fail are outdated or wrong; others that do not hold are not failing.
    """
    counts: dict[str, int] = dict.fromkeys((*HOLDING_ORDER, "outdated", "wrong", "not failing", "unchecked"), 0)
    for entry in listed:
        if entry.outcome in ACCUSING:
            word = "not failing" if not entry.fails else "outdated" if entry.outcome == "outdated" else "wrong"
        else:
            word = entry.outcome
        counts[word] = counts.get(word, 0) + 1
    return [
        (f"{count} {_PLURAL.get(word, word) if count != 1 else word}", word) for word, count in counts.items() if count
    ]


#: A sentence names at most this many of the files that may be meant.
_MAX_CANDIDATES = 2
#: A longer subject of a commit is cut.
_MAX_SUBJECT = 72
HOLDING_ORDER = ("verified", "exists", "planned")


def claims_text(listed: Sequence[ClaimEntry]) -> str:
    """Return `41 claims: 12 verified, 25 exist, 2 outdated, 1 wrong, 3 not failing`, or `no claims found`."""
    if not listed:
        return "no claims found"
    number = len(listed)
    parts = ", ".join(part for part, _ in summary_parts(listed))
    return f"{number:,} claim{'s' if number != 1 else ''}: {parts}"


_FIXED = {
    "large": "the file is larger than 10 MB",
    "binary": "the file is not text",
    "special": "it is not a regular file",
    "forbidden": "the file is not readable",
    "submodule": "the file is in a submodule",
    "dangling": "it is a symbolic link whose target does not exist",
    "comments-only": "the code consists of comments only",
    "too-large-to-compare": "the quotes are too large or too many to compare",
    "cannot-be-known": "the checkout cannot show it",
    "planned": "this design creates it",
    "location-only": "",
    "code-not-compared": "the code was not compared",
    "name-not-compared": "a use of this name is near the line, perhaps of something else",
    "definition-not-compared": "the name is in the file, and no definition of it is known there",
    "name-is-there": "the name is there",
    "definition-is-there": "the definition is there",
    "quote-is-there": "the quote is there",
    "quote-condensed": "the quote leaves out code without a mark",
    "line-zero": "lines are counted from 1",
    "is-folder": "it is a folder",
    "hidden-characters": "the location contains invisible characters",
    "outside": "the path is outside the checkout",
    "command-missing": "the project does not define this command",
    "test-missing": "there is no such test",
}


def explain(checked: Checked) -> str:
    """Return why a claim has its outcome, in one sentence without a full stop; empty if there is nothing to say."""
    reason = checked.reason
    if reason in _FIXED:
        return _FIXED[reason]
    if reason == "no-such-file":
        return _of_missing(checked)
    if reason == "outdated":
        return _of_history(checked)
    if reason.startswith("name-") or reason == "definition-elsewhere":
        return _of_name(checked)
    return _of_quote(checked) if reason.startswith("quote-") else _of_file(checked)


def _of_missing(checked: Checked) -> str:
    """Return that there is no such file, and how much of its folder is here."""
    if "/" not in checked.claim.path.strip("/"):
        return "no file has this name"
    folders = {
        "all": "there is no such file in this folder",
        "some": "there is no such file; only some of its folders are here",
        "none": "there is no such file, and none of its folders is here",
    }
    return folders[checked.facts.folders]


def _of_file(checked: Checked) -> str:
    claim, facts = checked.claim, checked.facts
    sentences = {
        "several-files": f"several files end with this path: {_listed(facts.candidates)}",
        "other-code-base": f"most references of this text are below {facts.elsewhere}/, which is not in this checkout",
        "large": "the file is too large to be read",
        "binary": "the file is not text",
        "special": "it is not a regular file",
        "forbidden": "the file cannot be read",
        "submodule": "it is in a submodule",
        "dangling": "it is a symbolic link whose target does not exist",
        "range-backwards": f"the range runs backwards from {claim.line} to {claim.end_line}",
    }
    return sentences.get(checked.reason) or _of_length(checked)


def _listed(candidates: Sequence[str]) -> str:
    """Return the first candidates, and a mark if there are more."""
    return ", ".join([*candidates[:_MAX_CANDIDATES], *(["…"] if len(candidates) > _MAX_CANDIDATES else [])])


def _of_length(checked: Checked) -> str:
    count = checked.facts.line_count or 0
    if len(checked.facts.candidates) > 1:
        return f"none of the {len(checked.facts.candidates)} files that end with this path has this line"
    name = checked.facts.name
    is_gone = checked.outcome == "out-of-range" and name is not None and name.line is None and not name.is_near
    absent = f"; `{_name_of(checked)}` does not occur in it" if is_gone and "plain" not in checked.claim.notes else ""
    return f"the file has {count} line{'s' if count != 1 else ''}{absent}"


def _name_of(checked: Checked) -> str:
    return checked.claim.name.replace("|", "` or `")


def _of_name(checked: Checked) -> str:
    name = _name_of(checked)
    if checked.reason == "name-nowhere":
        return f"`{name}` exists nowhere in this checkout"
    if checked.reason == "name-not-in-file":
        return f"`{name}` does not occur in the file"
    line = checked.found.line if checked.found is not None else None
    return f"`{name}` is {'defined ' if checked.reason == 'definition-elsewhere' else ''}at line {line}"


def _of_quote(checked: Checked) -> str:
    code, location = checked.facts.code, checked.found
    if checked.reason == "quote-elsewhere":
        return f"the quote is at line {location.line if location is not None else '?'}"
    if code is None or code.similarity is None or location is None:
        return "the file does not contain these lines"
    share = min(code.similarity, 0.99)  # not 100 %: it differs
    why = f"the file does not contain these lines; line {location.line} is the most similar ({share:.0%})"
    difference = code.difference
    if code.found_lines is not None:
        count, first, last = code.found_lines
        if count < code.quoted_lines:
            why += f"; its first {'line is' if count == 1 else f'{count} lines are'} at {_lines(first, last)}"
    if difference is None:
        return why
    if not difference.actual:
        return f"{why}; none of these lines is like `{difference.quoted}`"
    return f"{why}; the quote has `{difference.quoted}`, but line {difference.line} is `{difference.actual}`"


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _of_history(checked: Checked) -> str:
    then, location = checked.then, checked.found
    if then is None:
        return "it was true when it was written"
    is_gone = checked.facts.state == "missing"
    verb = "changed" if not is_gone else "renamed" if location is not None else "removed"
    changed = f", {verb} in {then.changed_in[:9]}" if then.changed_in else ""
    if changed and then.subject:
        subject = then.subject if len(then.subject) <= _MAX_SUBJECT else f"{then.subject[: _MAX_SUBJECT - 1].rstrip()}…"
        changed += f' "{subject}"'
    if then.is_file_only:
        today = f"; now {format_location(location)}" if location is not None else ""
        return f"the file was in {then.commit[:9]} ({then.date[:10]}) without what is stated{changed}{today}"
    today = f"; now at {format_location(location)}" if location is not None else ""
    return f"{_of_gone_name(checked)}true in {then.commit[:9]} ({then.date[:10]}){changed}{today}"


def _of_gone_name(checked: Checked) -> str:
    """Return that the name of an outdated claim is not at its place any more; empty if it is, or has no file."""
    claim, facts = checked.claim, checked.facts
    if claim.kind != "name" or facts.state != "file" or facts.name is None:
        return ""
    name = _name_of(checked)
    reason = judge(claim, facts).reason
    if reason in ("name-elsewhere", "definition-elsewhere") and claim.line is not None:
        place = f" {'defined ' * (reason == 'definition-elsewhere')}at line {claim.line}"
    else:
        place = f" in {checked.file}" if facts.name.line is None and not facts.name.is_near else ""
    return f"`{name}` is no longer{place}: " if place else ""


def statement_message(checked: CheckedStatement) -> str:
    """Return the sentence of a text with the proof that it is not so."""
    return f'"{checked.statement.text}": {checked.why}'


def suggestion(checked: Checked) -> str:
    """Return `; did you mean a/b.py:12?`, or an empty string."""
    return f"; did you mean {format_location(checked.found, checked.found_end)}?" if checked.found else ""
