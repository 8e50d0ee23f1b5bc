"""Recognise code that the text proposes: it is to be written, so it is not a quote.

The nearest label above a fence decides (`**Fix:**`, `**Current code:**`), else the headings above it.
"""

from __future__ import annotations

from remit.contract.parse import Document
from remit.evidence.document_kind import WORK_STEP
from remit.evidence.heading_tree import HEADING, HeadingTree
from remit.evidence.heading_words import (
    CHANGE_HEADING,
    CHANGING_HEADING,
    EXAMPLES,
    EXISTING,
    INSERTION,
    INSTALLATION,
    PLANNED_HEADING,
    PROPOSED_HEADING,
    PROPOSING_HEADING,
    REPORTS_FINDINGS,
    STATES_PROBLEM,
    TASK_HEADING,
)
from remit.evidence.proposal_words import (
    ASKS_FOR_CHANGE,
    CURRENT,
    FIX_LABEL,
    INSTRUCTION,
    INTRODUCES_EXISTING,
    INTRODUCTION,
    LABEL_FORM,
    LINE_ENDS_WITH_COLON,
    LOCATION_LABEL,
    NEUTRAL_LABEL,
    ORDERED_ENTRY,
    PROPOSED_LABEL,
)
from remit.evidence.removals import (
    AS_FOUND,
    BEFORE_LABEL,
    CHANGED_HEADING,
    DONE_HEADING,
    IS_DONE,
    PAST_LABEL,
    PROBLEM,
    STATES_NOW,
    states_fixed,
)
from remit.lazy import lazy_pattern

_CODE_SPAN = lazy_pattern(r"`[^`\n]*+`")
_BOLD = lazy_pattern(r"\*\*[^*\n]{1,60}\*\*[:：]?")
_ASSIGNS = lazy_pattern(r"(?<![=!<>])=(?!=)")
_LABEL = lazy_pattern(r"[\s>\-+\d.)]*+(?:\*\*[^*\n]{1,60}\*\*|__[^_\n]{1,60}__|[A-Z][\w ]{0,30}[:：]\s*$)")
_FENCE = lazy_pattern(r"\s*(?:>\s?)*(?:[-*+\d.)]+\s+)?(`{3,}|~{3,})", words=("`", "~"))
#: A step of a plan that is still to be done.
_STEP = lazy_pattern(r"\s*[-*+]\s\[ \]\s")
#: At most this many lines above a fence are searched for its label.
_REACH = 12
#: At most this many lines above a list entry are searched for the label of its list.
_MAX_LIST = 200
#: At most this many lines of a section are searched for its status.
_MAX_SECTION = 80
_MAX_LINE = 2_000
#: A sentence above a fence has at most this many lines; at most this many fences follow each other below one label.
_MAX_WRAPPED = 3
_MAX_JOINED = 3
_MAX_FENCE = 80
#: The words of a bold label up to its colon.
_HEAD = lazy_pattern(r"[\s>\-+\d.)]*+\*\*[^*\n]{1,60}(?:[:：]\*\*|\*\*\s?[:：])(?=\s)")
_LINE = lazy_pattern(r":\d|#L\d")
_SENTENCE_ENDS = lazy_pattern(r"[.!?:]\s|[。！？：]")
_STARTS_ENTRY = lazy_pattern(r"(\s*)(?:[-*+]\s|\d{1,9}[.)]\s)")
#: A line that does not continue the one above it.
_STARTS = lazy_pattern(r"\s*(?:[-*+]\s|\d{1,9}[.)]\s|\*\*|>|\|)")


class Proposals:
    """The labels and headings of one document."""

    def __init__(self, document: Document, path: str = "", *, is_own: bool = False) -> None:
        """Read the headings of a document; `path` is its file, whose name may call it a plan.

        `is_own`: it is a document of the checkout, and not the report of an agent.
        """
        self._document = document
        self._is_own = is_own
        self.headings = HeadingTree(document, path)
        self.kind = self.headings.kind
        #: For each heading whether it or one above it states that a change was made, and whether its section does.
        self._done: dict[int, bool] = {}
        self._fixed: dict[int, bool] = {}

    def is_proposed(self, line: int, *, has_line: bool) -> bool:
        """Return whether the code of the fence at a line is proposed. `has_line`: its location has a line."""
        line = self._first_of_fences(line)
        for number in range(line - 1, max(0, line - _REACH), -1):
            text = self._document.line_text(number)
            if not text.strip(" \t>"):
                continue
            if _FENCE.match(text) or HEADING.match(text):
                break
            if LABEL_FORM.match(text) and PROPOSED_LABEL.match(text):
                return True
            if LINE_ENDS_WITH_COLON.match(text):
                if INSTRUCTION.match(text) or INTRODUCTION.match(text):
                    return True
                if self._introduces_existing(text):
                    return False
            if _STEP.match(text):
                return True
            if _LABEL.match(text):
                if EXISTING.search(text) and not LOCATION_LABEL.match(text):
                    return False
                if has_line or not _STARTS_ENTRY.match(text):
                    break  # the label of an entry does not end the search: one of the whole list may be above it
        return self._under_proposal(line, has_line=has_line)

    def shows_old(self, line: int) -> bool:
        """Return whether the line above a fence is a label of the code before a change: `**Before:**`."""
        return bool(BEFORE_LABEL.match(self._sentence_above(line)))

    def shows_new(self, line: int) -> bool:
        """Return whether the line above a fence is a label of the code after a change: `**After:**`."""
        return bool(PROPOSED_LABEL.match(self._sentence_above(line)))

    def may_be_before_fix(self, line: int) -> bool:
        """Return whether a fence may show code before a fix that was made: in a text that reports a fix."""
        return self.kind.reports_fix and not self.kind.is_result and not self.shows_existing(line)

    def may_be_replaced(self, line: int) -> bool:
        """Return whether a fence may show code before a change: not in a result, nor below a label of current code."""
        if not self.kind.reports_changes or self.shows_existing(line):
            return False
        return not AS_FOUND.search(self._sentence_above(line))

    def is_neutral(self, line: int) -> bool:
        """Return whether the line above a fence is a label of code as it is or as it is to become, not in a plan."""
        above = next((text for at in (line - 1, line - 2) if (text := self._document.line_text(at)).strip()), "")
        return not self.kind.is_plan and bool(NEUTRAL_LABEL.match(above))

    def _first_of_fences(self, line: int) -> int:
        """Return the line of the first of several fences with nothing between them: one label is above them all."""
        for _ in range(_MAX_JOINED):
            end = next((at for at in (line - 1, line - 2) if self._document.line_text(at).strip(" \t>")), 0)
            if end < 1 or not _FENCE.match(self._document.line_text(end)):
                break
            rows = range(end - 1, max(0, end - _MAX_FENCE), -1)
            start = next((at for at in rows if _FENCE.match(self._document.line_text(at))), None)
            if start is None:
                break
            line = start
        return line

    def _sentence_above(self, line: int) -> str:
        """Return the line above a fence, with the lines before it that it continues."""
        at = next((at for at in (line - 1, line - 2) if self._document.line_text(at).strip()), 0)
        parts = [self._document.line_text(at)] if at > 0 else []
        while parts and len(parts) < _MAX_WRAPPED and not _STARTS.match(parts[-1]):
            before = self._document.line_text(at - len(parts))
            if not before.strip() or _FENCE.match(before) or HEADING.match(before):
                break
            parts.append(before)
        before = " ".join(part[:_MAX_LINE].strip() for part in reversed(parts[1:])) + " "
        ends = [found.end() for found in _SENTENCE_ENDS.finditer(before)]
        return (before[ends[-1] if ends else 0 :] + (parts[0][:_MAX_LINE] if parts else "")).lstrip()

    def may_be_proposed(self, line: int, *, has_line: bool = True, is_found: bool = False) -> bool:
        """Return whether the text above a fence may ask for a change: then code that is not there is new.

        `is_found`: it is elsewhere in its file.
        """
        above = self._sentence_above(line)
        if LINE_ENDS_WITH_COLON.match(above) and self._introduces_existing(above):
            return False
        if ASKS_FOR_CHANGE.search(_CODE_SPAN.sub("`x`", above)):
            return True
        at = self.headings.index_above(line)
        label = self._label_above(line)
        shows_existing = any(map(self._is_label_of_existing, (above, label)))
        heading = self.headings.text(at)
        if not shows_existing and (CHANGE_HEADING.match(heading) or CHANGING_HEADING.match(heading)):
            return True
        may_be_work = self.kind.describes_work or (self.kind.is_research and not has_line)
        may_be_work = may_be_work and not is_found and not AS_FOUND.search(above) and not STATES_NOW.search(above)
        is_work = self.kind.plans_work or may_be_work
        if is_work and not shows_existing and not self._is_below_existing(at, line):
            return True
        if PROPOSED_LABEL.match(self._list_label(line, is_nested=not has_line and not shows_existing)):
            return True
        if self.headings.has_above(at, EXAMPLES) or (not shows_existing and self._is_below_proposal(at)):
            return True
        if not shows_existing and self._is_below_order(at, has_line=has_line, above=above):
            return True
        return bool(FIX_LABEL.match(label))

    def may_be_sketch(self, line: int) -> bool:
        """Return whether code without a line may be a sketch or a design, in a document of the checkout.

        Nothing may state that the code is there: no heading or label of existing code, and no sentence with a colon.
        """
        if not self._is_own or self.kind.is_result or self._is_below_existing(self.headings.index_above(line), line):
            return False
        above = self._sentence_above(line)
        is_introduced = LINE_ENDS_WITH_COLON.match(above) is not None and not above.startswith(("**", "__"))
        labels = (above, self._label_above(line))
        states_it = is_introduced or AS_FOUND.search(above) or STATES_NOW.search(above)
        return not (states_it or any(map(self._is_label_of_existing, labels)))

    def _is_below_order(self, at: int, *, has_line: bool, above: str) -> bool:
        """Return whether a heading is above code that is to be inserted, or above an example without a line.

        `above` is the line above the code: an entry that is an order below a heading that proposes something.
        """
        chain = list(self.headings.chain(at))
        is_order = not has_line and not self.kind.is_result and ORDERED_ENTRY.match(above) is not None
        if is_order and any(map(PROPOSED_HEADING.match, chain)):
            return True
        if self.kind.is_plan and any(map(INSERTION.match, chain)) and not any(map(EXISTING.search, chain)):
            return True
        is_example = self.kind.reports_changes and INSTALLATION.match(self.headings.text(at)) is not None
        return not has_line and (is_example or self._is_below_label(at))

    def _is_below_label(self, at: int) -> bool:
        """Return whether a bold label alone proposes what is below: directly above the first heading of a section.

        The section is that of the heading or of one above it, but not that of the title.
        """
        if self.kind.is_result:
            return False
        while at >= 0:
            text = self.headings.text(at)
            if any(one.search(text) for one in (CURRENT, EXISTING, STATES_PROBLEM)) or REPORTS_FINDINGS.match(text):
                return False
            line = self.headings.line_above_children(at).strip()
            if _BOLD.fullmatch(line) and PROPOSED_HEADING.match(line.strip("*:：")):
                return True
            at = self.headings.parent(at)
        return False

    def _label_above(self, line: int) -> str:
        """Return the nearest label above a fence, or the fence or heading that is nearer."""
        texts = (self._document.line_text(number) for number in range(line - 1, max(0, line - _REACH), -1))
        return next((text for text in texts if any(one.match(text) for one in (_FENCE, HEADING, _LABEL))), "")

    def _list_label(self, line: int, *, is_nested: bool) -> str:
        """Return the line above the list whose entry is directly above a fence, or an empty string.

        With `is_nested`, it may also be an entry that the list belongs to.
        """
        at = next((at for at in (line - 1, line - 2) if self._document.line_text(at).strip()), 0)
        if not (entry := _STARTS_ENTRY.match(self._document.line_text(at))):
            return ""
        is_code, depth = False, entry.end(1)
        for number in range(at - 1, max(0, at - _MAX_LIST), -1):
            text = self._document.line_text(number)
            is_code ^= (is_mark := bool(_FENCE.match(text)))
            if is_code or is_mark:
                continue
            if (entry := _STARTS_ENTRY.match(text)) and entry.end(1) < depth:  # the entry that the list belongs to
                depth = entry.end(1)
                if is_nested and PROPOSED_LABEL.match(text):
                    return text
            elif text.strip() and not text[0].isspace() and not entry:
                return "" if HEADING.match(text) else text
        return ""

    def _is_below_existing(self, at: int, line: int) -> bool:
        """Return whether a heading above a fence, except the title, or the words above it are on the code as it is."""
        if self.shows_existing(line):
            return True
        for text in self.headings.chain(at):
            if WORK_STEP.match(text):  # `Task 3: Move the existing tools`
                return False
            if any(one.search(text) for one in (CURRENT, EXISTING, STATES_PROBLEM)):
                return True
        return False

    def shows_existing(self, line: int) -> bool:
        """Return whether the sentence, the label or the heading above a fence calls its code the current one."""
        above = self._sentence_above(line)
        if LINE_ENDS_WITH_COLON.match(above) and self._introduces_existing(above):
            return True
        label = self._label_above(line)
        if WORK_STEP.match(label) or _FENCE.match(label):
            return False
        return CURRENT.search(self._head_of(label)) is not None

    def _introduces_existing(self, text: str) -> bool:
        """Return whether a line introduces code as it is; `today` in `day = today` is not about time in a plan."""
        if "=" in text and self.kind.is_plan and not self.kind.is_result:
            text = _CODE_SPAN.sub(lambda span: "`x`" if _ASSIGNS.search(span[0]) else span[0], text[:_MAX_LINE])
        return INTRODUCES_EXISTING.match(text) is not None

    def _follows_sentence(self, line: int) -> bool:
        """Return whether a blank line and the end of a sentence are above a fence: nothing introduces the code."""
        sentence, above, gap = (self._document.line_text(line - back).strip(" \t>") for back in (2, 3, 1))
        return not gap and sentence.endswith((".", "。")) and bool(" " in sentence or above)

    def is_past(self, line: int) -> bool:
        """Return whether the fence at a line shows code as it was before a change that the text reports as made."""
        above = next(filter(str.strip, (self._document.line_text(line - back) for back in (1, 2))), "")
        if self.kind.is_historical or PAST_LABEL.match(above):
            return True
        at = self.headings.index_above(line)
        is_changed = at >= 0 and bool(CHANGED_HEADING.match(self.headings.text(at)))
        is_changed |= not self.kind.is_result and self.headings.has_above(at, CHANGED_HEADING)
        if (is_changed or self.kind.reports_fix) and BEFORE_LABEL.match(above):
            return True
        if at not in self._done:
            is_problem = self.kind.reports_fix and self.headings.has_above(at, PROBLEM)
            self._done[at] = is_problem or self.headings.has_above(at, DONE_HEADING)
        return self._done[at] or (not self.kind.is_result and self._may_be_fixed(at, line))

    def _may_be_fixed(self, at: int, line: int) -> bool:
        """Return whether the section or the title reports a fix, and nothing calls the code the existing one."""
        if not self.kind.reports_one_fix and not self._states_fixed(at):
            return False
        above, heading = self._sentence_above(line), self.headings.text(at)
        is_now = AS_FOUND.search(above) or AS_FOUND.search(heading) or STATES_NOW.search(above)
        return not is_now and not self.shows_existing(line)

    def _states_fixed(self, at: int) -> bool:
        """Return whether each status in the section below a heading states that its problem is fixed."""
        if at not in self._fixed:
            self._fixed[at] = at >= 0 and states_fixed(self.headings.section(at, _MAX_SECTION))
        return self._fixed[at]

    def _is_below_proposal(self, at: int) -> bool:
        """Return whether a heading, or one above it, proposes something; one on the code as it is ends the search.

        The title of the document is not counted: it is above all of its code.
        """
        for text in self.headings.chain(at):
            if CURRENT.search(text) or IS_DONE.search(text) or REPORTS_FINDINGS.match(text):
                return False
            if PROPOSING_HEADING.search(text):
                return True
            if EXISTING.search(text) or STATES_PROBLEM.search(text):
                return False
        return False

    def _under_proposal(self, line: int, *, has_line: bool) -> bool:
        """Return whether a heading above a line proposes code: the nearest if a line is cited, else all.

        In a plan, `Changes required` further above does, too, and so does code that no sentence introduces.
        """
        nearest = at = self.headings.index_above(line)
        if at >= 0 and not has_line and TASK_HEADING.match(self.headings.text(at)):
            return True
        while at >= 0:
            text = self.headings.text(at)
            if EXISTING.search(text) or IS_DONE.search(text):
                return False
            decides = PROPOSED_HEADING if at == nearest or not has_line else PLANNED_HEADING
            if decides.match(text):
                return True
            if has_line and not self.kind.is_plan:
                return False
            at = self.headings.parent(at)
        return self.kind.is_plan and (not has_line or self._follows_sentence(line))

    def _is_label_of_existing(self, text: str) -> bool:
        """Return whether a line is a label of code as it is: `**Vulnerable code** (src/app.py:12):`."""
        return bool(_LABEL.match(text) and EXISTING.search(self._head_of(text))) and not LOCATION_LABEL.match(text)

    def _head_of(self, label: str) -> str:
        """Return a label without the sentence after it: `**Mechanism**: calls the existing route`; not in a result."""
        found = None if self.kind.is_result or LOCATION_LABEL.match(label) else _HEAD.match(label)
        return found[0] if found and not _LINE.search(label, found.end()) else label
