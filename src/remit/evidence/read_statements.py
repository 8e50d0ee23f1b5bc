"""Read what a text states that was done: runs, changes, files that were read, and work of other agents.

A statement is about the past and of the author. Intentions, questions, conditions, instructions, denials and the words
of others are left out. English, Chinese and Japanese. Whether a statement is true is judged elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from remit.contract.feedback import agent_title
from remit.evidence import statement_words as words
from remit.evidence.file_names import EXTENSIONS
from remit.evidence.find_runs import find_runs
from remit.evidence.model import Act, Check, WorkStatement
from remit.evidence.run_outcomes import line_counts, read_outcome
from remit.evidence.stated_exceptions import exception_of
from remit.evidence.statement_marks import EVERY, SentenceMarks, marks_of
from remit.lazy import lazy_pattern

#: A longer text is cut, and a longer line is not read.
_MAX_TEXT = 400_000
_MAX_LINE = 4_000
_MAX_STATEMENTS = 2_000
#: A title of the whole text makes no plan of what is below the other headings.
_MIN_PLAN = 2
#: A shorter title states nothing; its marks count as a word.
_MIN_HEADING = 4
_MAX_PATHS = 20

_FENCE = lazy_pattern(r"\s*(`{3,}|~{3,})")
_HEADING = lazy_pattern(r"\s{0,3}#{1,6}\s+(.*)$|\s*\*\*([^*\n]{1,80}?)[:：]?\*\*[:：]?\s*$|([^\n`|.。]{1,60})[:：]\s*$")
_MARKER = lazy_pattern(r"[ \t]*(?:(?:[-+*•]|\d{1,3}[.)])[ \t]+(?:\[[xX]\][ \t]+)?)?")
_OPEN_BOX = lazy_pattern(r"[ \t]*(?:[-+*]|\d{1,3}[.)])[ \t]+\[ \]")
#: A link to a file of the project.
_LINK = lazy_pattern(r"\[[^\]\[\n]{1,200}\]\(([\w@+./-]{1,250})(?::\d{1,7}(?:[-:]\d{1,7})?)?(?:#[^)\s]{0,40})?\)")
_WEB_LINK = lazy_pattern(r"\[([^\]\[\n]{1,200})\]\(https?://[^)\s]{1,500}\)")
_SPANS = lazy_pattern(r"(`[^`\n]{1,300}`)")
#: Underscores inside a word or a path are not emphasis: `apps/web/__tests__/page.test.tsx`.
_EMPHASIS = lazy_pattern(r"\*\*|~~|(?<![\w/\\.-])__(?=\S)(?P<strong>[^\n]{1,300}?)(?<=[^\s\\])__(?![\w/\\]|\.\w)")
_SENTENCE_END = lazy_pattern(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\d)[.!?](?=[\s\"')*]|$)|(?<=\d)[.!?](?=\s|$)|[。！？]"
)
_CODE = lazy_pattern(r"`([^`\n]{1,300})`")
_QUOTED = lazy_pattern(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|「[^」\n]{1,200}」|『[^』\n]{1,200}』")
_PATH = lazy_pattern(
    r"(?<![\w/@:.`-])(?:\.{0,2}/)?(?:[\w@.+()\[\]-]+/)*[\w@+-][\w@.+-]*\.([A-Za-z][A-Za-z0-9]{0,9})(?::\d+(?:-\d+)?)?(?![\w/(])"
)
_WHOLE_PATH = lazy_pattern(r"[\w@./\\~+()\[\]-]{1,250}$")
_LINES = lazy_pattern(r"(?::\d+(?:[-:]\d+)*|#L\d+(?:-L?\d+)?)$")
_USUAL_FILES = frozenset({"Dockerfile", "Makefile", "Gemfile", "Rakefile", "Procfile", "justfile", "CMakeLists.txt"})
_PROMPT = lazy_pattern(r"^\s*[$>%❯]\s+(\S.*)$", re.MULTILINE)
_HASH = lazy_pattern(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b")
_RATIO = lazy_pattern(r"(?<![\w/.])(\d{1,6}(?:,\d{3})*)\s?/\s?(\d{1,6}(?:,\d{3})*)(?![\w/])")
#: `47 of the 48 tests`, `47/48 passed`, and `all but one of the 48 tests`.
_SHARE = lazy_pattern(
    r"(?<![\w.,/-])(?:(?P<but>all but|all except)\s)?(?P<first>\d{1,6}(?:,\d{3})*|one|two|three)"
    r"(?:\s?/\s?|\s(?:out )?of\s(?:(?:the|our|its|all|these)\s)?)(?P<all>\d{1,6}(?:,\d{3})*)(?![\w/])"
    r"(?=(?:\s[\w-]{1,20}){0,3}?\s(?:tests?|specs?|cases|checks|pass|passed|passing|green)\b)",
    re.IGNORECASE,
)
_SMALL_NUMBERS = {"one": 1, "two": 2, "three": 3}
_NUMBER_OF = lazy_pattern(
    r"(?<![\w.,/-])(\d{1,3}(?:,\d{3})+|\d{1,7})\s?(?:(?:unit|integration|existing|total|of the|regression|e2e"
    r"|go|rust)\s)?"
    r"(?:tests?(?!\s(?:suites?|files?|cases?|classes|modules))"
    r"|specs?|test cases|checks|个测试|项测试|条测试|个用例|件のテスト|個のテスト|件|個)",
    re.IGNORECASE,
)
_NUMBER_AFTER = lazy_pattern(
    r"(?<![\w.,/-])(\d{1,3}(?:,\d{3})+|\d{1,7})\s?(?:pass(?:ed|ing)?|successful)\b", re.IGNORECASE
)
_IN_BRACKETS = lazy_pattern(r"[(（](\d{1,3}(?:,\d{3})+|\d{1,7})[)）]")


class _Line(NamedTuple):
    at: int
    text: str
    #: The nearest heading or label above.
    heading: str
    is_heading: bool = False


def read_statements(text: str, agents: Iterable[str] = ()) -> list[WorkStatement]:
    """Return what a text states that was done, in order. `agents` are names that a delegation may have."""
    names = [(name, agent_pattern(name)) for name in dict.fromkeys(agents)]
    statements: list[WorkStatement] = []
    text = text[:_MAX_TEXT]
    marks = marks_of(text) if not names else EVERY
    if marks is None:
        return []
    for line in _prose(text, statements, None if names else marks.lines):
        for sentence in sentences(line.text):
            marked = marks.of_sentence(sentence)
            statements += _of_sentence(sentence, line, marked)
            if names or marked.has_agent:
                statements += _delegations(sentence, line.at, names)
        if len(statements) >= _MAX_STATEMENTS:
            break
    return sorted(dict.fromkeys(statements[:_MAX_STATEMENTS]), key=lambda statement: statement.at)


def sentences(line: str) -> Iterator[str]:
    """Yield the sentences of a line. A dot inside a name is not an end."""
    start = 0
    for end in _SENTENCE_END.finditer(line):
        if line.count("`", start, end.start()) % 2:
            continue  # inside a code span
        yield line[start : end.end()].strip()
        start = end.end()
    if line[start:].strip():
        yield line[start:].strip()


def _prose(text: str, statements: list[WorkStatement], marked: Container[int] | None) -> Iterator[_Line]:
    """Yield the lines that may state something; the statements of blocks of code are added to the list.

    `marked` has the numbers of these lines, from 0; None: all.
    """
    body: list[str] = []
    fence, first, heading, depth = "", 0, "", 0
    for number, line in enumerate(text.split("\n"), 1):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence):
                statements += _of_fence("\n".join(body), first, heading)
                fence = ""
            else:
                body.append(line)
            continue
        if mark:
            fence, body, first = mark[1], [], number + 1
            continue
        head = _HEADING.match(line) if len(line) < 200 else None
        if head:
            level = len(line) - len(line.lstrip("#")) if head[1] else 7
            is_in_plan = level > depth and words.is_plan(heading)
            if not is_in_plan or (head[1] and depth < _MIN_PLAN):
                heading, depth = head[head.lastindex or 0], level
            title = _title(number, line, head, heading)
            if title is not None and (marked is None or number - 1 in marked):
                yield title
            continue
        if marked is not None and number - 1 not in marked:
            continue
        if not line.strip() or line.lstrip().startswith((">", "<!--")) or len(line) > _MAX_LINE:
            continue
        if words.is_plan(heading) or _OPEN_BOX.match(line):
            continue
        yield _Line(number, _plain(line), heading)
    if fence and body:
        statements += _of_fence("\n".join(body), first, heading)


def _title(number: int, line: str, head: re.Match[str], heading: str) -> _Line | None:
    """Return what a heading, or a paragraph in bold, may state; None for a label."""
    if head[1]:
        return _Line(number, head[1], "", is_heading=True) if len(line.split()) >= _MIN_HEADING else None
    is_label = not head[2] or line.rstrip(" \t*").endswith((":", "："))
    return None if is_label or words.is_plan(heading) else _Line(number, _plain(line), "")


def _plain(line: str) -> str:
    """Return a line without the marks of lists, tables and emphasis."""
    stripped = line.strip()
    if stripped.startswith("|"):
        line = " : ".join(cell.strip() for cell in stripped.strip("|").split("|") if cell.strip(" -:"))
    marker = _MARKER.match(line)
    text = _WEB_LINK.sub(r"\1", _LINK.sub(r"`\1`", line[marker.end() :] if marker else line))
    return "".join(
        part if part.startswith("`") else _EMPHASIS.sub(_emphasized, part) for part in _SPANS.split(text)
    ).strip()


def _emphasized(mark: re.Match[str]) -> str:
    return mark["strong"] or ""


def _of_fence(text: str, line: int, heading: str) -> list[WorkStatement]:
    """Return the run that a block of code shows: the output of a runner, below its prompt or a heading about tests."""
    prompt = _PROMPT.search(text[:2_000])
    command = " ".join(prompt[1].split()) if prompt else ""
    runs = find_runs(command) if command else ()
    if not runs and not words.TESTS_HEADING.search(heading):
        return []
    checks = runs[-1].checks if runs else frozenset[Check]({"test"})
    check: Check = "test" if "test" in checks else next(iter(sorted(checks)))
    outcome = read_outcome(text[:20_000], runs[-1] if runs and runs[-1].runners else None, check)
    if outcome.passed is None:
        return []
    counts = tuple((name, number) for name, number in outcome.counts if name != "total")
    return [WorkStatement("run", outcome.line, line, check, outcome.passed, counts, command=command)]


def _of_sentence(sentence: str, line: _Line, marks: SentenceMarks) -> Iterator[WorkStatement]:
    has_runs = marks.has_outcome or (marks.has_bare_outcome and words.TESTS_HEADING.search(line.heading) is not None)
    if not (has_runs or marks.has_run or marks.has_verb) or sentence.endswith(("?", "？")):
        return
    masked = _masked(sentence)
    runs = list(_runs(sentence, masked, line)) if has_runs else []
    yield from runs
    if marks.has_run:
        yield from _commands(sentence, masked, line, runs)
    if marks.has_verb:
        yield from _changes(sentence, masked, line, is_first=not runs or words.OWN.match(masked) is not None)


def _masked(sentence: str) -> str:
    """Return a sentence of the same length without the words of others and without what code marks hide."""
    masked = _without_quotes(sentence)
    return _CODE.sub(lambda code: "`" + _masked_code(code[1]) + "`", masked)


def _masked_code(code: str) -> str:
    """Return code of the same length in which a command keeps its words, and a name of a file has none."""
    return "_" * len(code) if "/" in code and " " not in code else re.sub(r"[^\w./ -]", "_", code)


def _without_quotes(sentence: str) -> str:
    """Return a sentence of the same length without the words of others."""
    return _QUOTED.sub(lambda quote: " " * len(quote[0]), sentence)


# Runs


class _Verdict(NamedTuple):
    """A predicate of a sentence: `pass`, `is clean`, `2 failed`."""

    start: int
    end: int
    passed: bool


def _runs(sentence: str, masked: str, line: _Line) -> Iterator[WorkStatement]:
    """Yield the checks of a sentence with their outcome. A later outcome of the same check has priority."""
    statements: dict[tuple[Check, str], WorkStatement] = {}
    previous = 0
    verdicts = _verdicts(masked)
    admits = any(words.is_asserted(masked, *admission.span()) for admission in words.ADMITTED.finditer(masked)) and any(
        verdict.passed for verdict in verdicts
    )
    for verdict in verdicts:
        is_stated = words.is_asserted(masked, verdict.start, verdict.end)
        is_stated = is_stated and not words.is_conditional(masked, verdict.start, verdict.end)
        subjects = _subjects(sentence, masked, previous, verdict, line.heading)
        previous = verdict.end
        if not is_stated:
            continue
        for check, name in subjects:
            around = masked[max(0, verdict.start - 60) : verdict.end + 20]
            is_part = words.PART.search(masked) is not None and words.EVERY.search(around) is None
            # What else failed is stated, too, so the outcome is not that of everything.
            is_part = is_part or words.SHARE.search(around) is not None or (admits and verdict.passed)
            is_part = is_part or words.NUMBERED.search(masked) is not None or _is_ratio_of_some(masked)
            is_part = is_part or words.REST.search(around) is not None
            is_part = is_part or words.EXCEPT.search(masked, 0, verdict.start) is not None
            counts = _counts(masked, check, passed=verdict.passed)
            has_failures = dict(counts).get("failed", 0) > 0 or words.EXCEPT.search(masked, verdict.end) is not None
            has_passed = verdict.passed and not has_failures
            statements[check, name] = WorkStatement(
                "run",
                sentence,
                line.at,
                check,
                has_passed,
                counts,
                command=_command_of(sentence, check) or name,
                is_part=is_part,
                exception="" if has_passed or check != "test" else _exception(sentence, masked, verdict),
            )
    yield from statements.values()


def _exception(sentence: str, masked: str, verdict: _Verdict) -> str:
    """Return the words for what failed, if a sentence states that only this failed."""
    if verdict.passed:
        excepted = words.EXCEPT.search(masked, verdict.end)
        return exception_of(sentence[excepted.end() :]) if excepted else ""
    only = words.ONLY.search(masked, max(0, verdict.start - 60), verdict.start)
    if only is None:
        return ""
    return exception_of(sentence[only.end() : verdict.start]) or exception_of(sentence[verdict.end :])


def _verdicts(masked: str) -> list[_Verdict]:
    verdicts = [_Verdict(match.start(), match.end(), passed=True) for match in words.PASSED.finditer(masked)]
    good = [(verdict.start, verdict.end) for verdict in verdicts]
    bad = (_Verdict(match.start(), match.end(), passed=False) for match in words.FAILED.finditer(masked))
    verdicts += [
        verdict for verdict in bad if not any(start < verdict.end and verdict.start < end for start, end in good)
    ]
    label = masked.find(" : ")  # the first cell of a row names what the others are about
    if label >= 0 and any(verdict.start > label for verdict in verdicts):
        verdicts = [verdict for verdict in verdicts if verdict.start > label]
    return sorted(verdicts)


def _subjects(sentence: str, masked: str, previous: int, verdict: _Verdict, heading: str) -> list[tuple[Check, str]]:
    """Return what the outcome is of: tests, a build, a linter; with the name of the program if there is one."""
    words_of_verdict = masked[verdict.start : verdict.end]
    left = masked[max(previous, verdict.start - 120) : verdict.start]
    subjects = _named(left) or _named(words_of_verdict)
    if not subjects and words.NEUTRAL.search(left or words_of_verdict):
        subjects = _named(masked[: verdict.start])
    if not subjects and verdict.passed and (after := words.LISTED.match(masked, verdict.end)):
        subjects = _named(after[0])
    if not subjects and words_of_verdict[:4].lower() == "pass" and words.COUNTED.search(left):
        return [("test", "")]
    if not subjects and words.TESTS_HEADING.search(heading) and _is_of_tests(masked, verdict):
        return _checks_of_commands(sentence) or [("test", "")]
    if not subjects and words.ALL_CHECKS.search(left):
        return [("command", "")]
    return subjects


def _checks_of_commands(sentence: str) -> list[tuple[Check, str]]:
    """Return what the last command in code marks checks: `go vet ./...` below a heading about tests is a linter."""
    runs = [run for code in _CODE.finditer(sentence) for run in find_runs(code[1])]
    return [(check, "") for check in sorted(runs[-1].checks)] if runs else []


def _is_of_tests(masked: str, verdict: _Verdict) -> bool:
    """Return whether an outcome below a heading about tests is that of the tests: it has a number, or no subject."""
    around = masked[max(0, verdict.start - 12) : verdict.end + 12]
    return bool(line_counts(around)) or words.NO_SUBJECT.match(masked[: verdict.start]) is not None


def _named(text: str) -> list[tuple[Check, str]]:
    names: dict[Check, str] = {}
    for subject in words.SUBJECT.finditer(text):
        check: Check = next(kind for kind in ("build", "lint", "types", "test") if subject[kind])
        name = words.RUNNERS_OF_LANGUAGES.get(
            subject[0].lower(), subject[0].lower() if words.PROGRAM.fullmatch(subject[0]) else ""
        )
        names[check] = name or names.get(check, "")
    return list(names.items())


def _counts(masked: str, check: Check, *, passed: bool) -> tuple[tuple[str, int], ...]:
    """Return the numbers of tests that a sentence states."""
    if check != "test":
        return ()
    counts = {name: number for name, number in line_counts(masked).items() if name in ("passed", "failed")}
    if share := _share(masked):
        passes, total = share
        counts["passed"] = passes
        if passes < total:
            counts["total"] = total
    elif ratio := _RATIO.search(masked):
        counts.setdefault("passed", _integer(ratio[1]))
    if passed and "passed" not in counts:
        number = _NUMBER_AFTER.search(masked) or _NUMBER_OF.search(masked) or _IN_BRACKETS.search(masked)
        if number:
            counts["passed"] = _integer(number[1])
    return tuple(sorted(counts.items()))


def _is_ratio_of_some(masked: str) -> bool:
    """Return whether a sentence states that some of the tests passed: `17/18`."""
    ratio = _RATIO.search(masked)
    return ratio is not None and _integer(ratio[1]) < _integer(ratio[2])


def _share(masked: str) -> tuple[int, int] | None:
    """Return how many tests of how many passed, if a sentence states it as a share: `47 of the 48 tests pass`."""
    share = _SHARE.search(masked)
    if share is None:
        return None
    first = _SMALL_NUMBERS.get(share["first"].lower()) or _integer(share["first"])
    total = _integer(share["all"])
    passes = total - first if share["but"] else first
    return (passes, total) if 0 <= passes <= total else None


def _integer(text: str) -> int:
    return int(text.replace(",", ""))


def _command_of(sentence: str, check: Check) -> str:
    """Return the command in code marks that runs such a check."""
    for code in _CODE.finditer(sentence):
        if any(check in run.checks or check == "command" for run in find_runs(code[1])):
            return code[1]
    return ""


def _commands(sentence: str, masked: str, line: _Line, runs: list[WorkStatement]) -> Iterator[WorkStatement]:
    """Yield the commands that the author states to have run."""
    for verb in words.RAN.finditer(masked):
        if not words.is_asserted(masked, verb.start(), verb.start() + 1) or not _is_own(
            masked, verb.start(), may_continue=True
        ):
            continue
        rest = sentence[verb.end() : verb.end() + 200]
        code = _CODE.match(rest.lstrip("*_ "))
        command = code[1] if code else ""
        checks = _named(masked[verb.end() : verb.end() + 40]) if not command else []
        if command and any(run.command == command for run in runs):
            continue
        if command and (" " in command or find_runs(command)):
            started = find_runs(command)
            check: Check = (
                "command" if not started else "test" if "test" in started[-1].checks else sorted(started[-1].checks)[0]
            )
            yield WorkStatement("run", sentence, line.at, check, command=command)
        elif checks and not any(run.check == checks[0][0] for run in runs):
            yield WorkStatement("run", sentence, line.at, checks[0][0], command=checks[0][1])


# Changes


def _changes(sentence: str, masked: str, line: _Line, *, is_first: bool) -> Iterator[WorkStatement]:
    """Yield the changes, commits and pushes of a sentence, and the files that the author states to have read."""
    if words.DATED.search(line.heading):
        return  # what happened on that day, not in this session
    paths = list(_paths(sentence))
    verbs = sorted(words.verbs(masked))
    if not paths and not any(verb.is_work or verb.act in ("committed", "pushed") for verb in verbs):
        return
    has_own = False
    for number, verb in enumerate(verbs):
        end = verbs[number + 1].start if number + 1 < len(verbs) else len(masked)
        begin = verbs[number - 1].end if number else 0
        is_passive = words.PASSIVE.search(masked[max(0, verb.start - 40) : verb.start]) is not None
        left = masked[: verb.start]
        may_continue = (has_own or is_first) and not (line.is_heading and ":" in left)
        is_own = verb.is_marked or is_passive or _is_own(masked, verb.start, may_continue=may_continue)
        if not is_own or not words.is_asserted(masked, verb.start, verb.end, is_change=True):
            continue
        if (
            is_passive
            and verb.act in ("committed", "pushed")
            and "been" not in masked[max(0, verb.start - 40) : verb.start]
        ):
            continue  # `is committed` is a state
        if words.ABOUT_OWN.search(left):
            continue
        explicit = words.OWN_BEFORE.search(left) is not None or (verb.is_marked and (verb.is_after or _is_own_zh(left)))
        has_own = True
        region = (begin, verb.start) if is_passive or verb.is_after else (verb.end, end)
        named = _objects(masked, region, paths, is_before=is_passive or verb.is_after)
        statement = _change(sentence, line, verb, named, is_explicit=explicit)
        if statement is not None:
            yield statement


def _change(
    sentence: str, line: _Line, verb: words.Verb, named: tuple[str, ...], *, is_explicit: bool
) -> WorkStatement | None:
    act = verb.act
    if act == "read":
        return WorkStatement("read", sentence, line.at, paths=named) if named and is_explicit else None
    if act in ("committed", "pushed"):
        commit = _HASH.search(sentence)
        return WorkStatement("change", sentence, line.at, act=act, commit=commit[0] if commit else "")
    is_label = sentence.rstrip("*_ ").endswith((":", "："))  # what is below it states what was done
    if not named and (is_label or not (is_explicit and verb.is_work)):
        return None
    if sentence[verb.start : verb.end].lower() in ("renamed", "moved"):
        named = named[-1:]
    edited: Act = "edited" if not named else act
    return WorkStatement("change", sentence, line.at, act=edited, paths=named[:_MAX_PATHS])


def _is_own(masked: str, start: int, *, may_continue: bool) -> bool:
    """Return whether the author is who did it: `I added`, or the sentence begins with the verb or goes on with it."""
    left = masked[:start]
    if words.OWN_BEFORE.search(left):
        return True
    return may_continue and words.CONTINUED.search(left) is not None


def _is_own_zh(left: str) -> bool:
    """Return whether the author is the subject of a Chinese verb: it is named, or the sentence has no subject."""
    return "我" in left or words.NO_SUBJECT_ZH.match(left) is not None


def _objects(
    masked: str, region: tuple[int, int], paths: list[tuple[int, int, str]], *, is_before: bool
) -> tuple[str, ...]:
    """Return the files that a verb is about: directly after it, or with a preposition of place."""
    start, end = region
    objects: list[str] = []
    for first, last, path in paths:
        if not start <= first < end:
            continue
        between = masked[last:end] if is_before else masked[start:first]
        if is_before:
            is_object = len(between) < 60 and not words.CUT.search(between)
        else:
            is_object = not words.CUT.search(between) or words.PLACED.search(between) is not None
        if is_object:
            objects.append(path)
    return tuple(dict.fromkeys(objects))


def _paths(sentence: str) -> Iterator[tuple[int, int, str]]:
    """Yield the files that a sentence names, with their places."""
    spans: list[tuple[int, int]] = []
    for code in _CODE.finditer(sentence):
        spans.append(code.span())
        if path := _file_name(code[1].strip()):
            yield code.start(), code.end(), path
    for match in _PATH.finditer(sentence):
        if any(start <= match.start() < end for start, end in spans):
            continue
        if match[1].lower() in EXTENSIONS and (path := _file_name(match[0])):
            yield match.start(), match.end(), path


def _file_name(text: str) -> str:
    """Return the path that a text is; empty for any other text."""
    path = _LINES.sub("", text).strip()
    if not _WHOLE_PATH.match(path) or path.endswith(("/", "()", ".")) or "://" in path:
        return ""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    stem, dot, ending = name.rpartition(".")
    is_file = name in _USUAL_FILES or (bool(dot) and bool(stem or "/" in path) and ending.lower() in EXTENSIONS)
    return (
        path.replace("\\", "/").removeprefix("./").removeprefix("~/")
        if is_file and path.lower() not in words.NOT_FILES
        else ""
    )


# Delegations


def agent_pattern(agent: str) -> re.Pattern[str]:
    """Return an expression for statements that an agent did something, or was asked to."""
    parts = [re.escape(word) for word in agent_title(agent).split()]
    name = r"[ _-]".join(parts)
    if len(parts) == 1 or agent in words.CLIENTS_AGENTS:  # words of the language, unless they are marked as a name
        name = rf"(?:`{name}`|{name}(?= (?:sub)?agent\b|\s?(?:エージェント|代理|智能体)))"
    return re.compile(
        rf"(?:\b{words.TASKED}\b[^.\n]{{0,80}}?{name}|{name}`?(?: (?:sub)?agent)?[^.\n]{{0,20}}? {words.REPORTED}\b|"
        rf"{words.BEFORE_ZH}`?{name}|{name}`?(?:{words.AFTER}))",
        re.IGNORECASE,
    )


def _delegations(sentence: str, line_number: int, names: list[tuple[str, re.Pattern[str]]]) -> Iterator[WorkStatement]:
    stated = _without_quotes(sentence)
    known = [name for name, pattern in names if pattern.search(stated)]
    other = words.DELEGATED.search(stated)
    if other and not known:
        known = [other["agent"]]
    if known and not words.UNASSERTED.search(words.NO_FAILURES.sub("", sentence)):
        yield from (WorkStatement("delegation", sentence, line_number, agent=name) for name in known)
