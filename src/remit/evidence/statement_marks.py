"""Find the sentences that may state finished work, quickly: by parts of words that each statement of a kind has.

The expressions of `statement_words` decide. A text without a mark cannot match them, so they need not be tried: the
marks are a superset of what they match, which a test proves with generated texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

#: The outcome of a run. `succe`: succeeds, success, successful.
OUTCOMES = (
    *("pass", "succe", "green", "clean", "ok", "fine", "happy", "compil", "built", "builds", "correctly", "again"),
    *("fail", "broken", "is red", "are red", "error", "issue", "problem", "warning", "violation", "offense"),
    *("complaint", "regression", "✅", "✔", "✓", "☑"),
    *(
        "成功",
        "通",
        "全绿",
        "失败",
        "错误",
        "问题",
        "报错",
        "合格",
        "パス",
        "グリーン",
        "失敗",
        "エラー",
        "問題",
        "警告",
    ),
)
#: What the outcome is of, besides a number and a heading about tests.
SUBJECTS = (
    *("test", "suite", "spec", "jest", "mocha", "jasmine", "karma", "cypress", "playwright", "phpunit", "pest", "bats"),
    *("prove", "tox", "nox", "busted", "behave", "make", "cargo", "package", "webpack", "build", "compil", "bundling"),
    *("lint", "ruff", "flake8", "black", "prettier", "biome", "clippy", "rubocop", "check", "detekt", "phpstan"),
    *("psalm", "isort", "bandit", "go vet", "gofmt", "pre-commit", "formatt", "static analysis", "typ", "mypy"),
    *("pyright", "tsc", "gate", "validation"),
    *("测试", "用例", "单测", "テスト", "构建", "编译", "打包", "ビルド", "コンパイル", "检查", "リント", "静的解析"),
    *("类型", "型", "チェック"),
)
#: A command that was run.
RAN = (
    *("ran", "executed", "verified", "confirmed", "tested", "checked", "ve run", "also run", "now run", "just run"),
    *("运行了", "执行了", "跑了"),
)
#: A change, a commit or a push that was made, or a file that was read.
VERBS = (
    *("implemented", "fixed", "updated", "changed", "modified", "edited", "refactored", "patched", "rewrote"),
    *("rewritten", "adjusted", "extended", "improved", "corrected", "replaced", "wired", "simplified", "bumped"),
    *("converted", "migrated", "applied", "reworked", "tweaked", "optimi", "registered", "resolved", "moved"),
    *("inlined", "deduplicated", "created", "added", "wrote", "written", "generated", "introduced", "renamed"),
    *("deleted", "committed", "made a commit", "pushed", "read", "reviewed", "inspected", "examined", "looked"),
    *("went through", "studied"),
    *(
        "修复",
        "修改",
        "更新",
        "重构",
        "实现",
        "调整",
        "优化",
        "替换",
        "改写",
        "添加",
        "新增",
        "创建",
        "新建",
        "编写",
        "生成",
    ),
    *("删除", "移除", "删掉", "提交", "推送", "阅读", "查看", "读取", "审查"),
    *(
        "修正",
        "変更",
        "実装",
        "編集",
        "リファクタリング",
        "置き換え",
        "改修",
        "追加",
        "作成",
        "削除",
        "コミット",
        "プッシュ",
    ),
    *("読み", "確認"),
)
#: Work that was given to another agent.
DELEGATED = ("agent",)
#: A block of code, which may have the output of a run.
FENCES = ("```", "~~~")

#: Letters that an expression which ignores case takes for others.
_FOLDS = (("ſ", "s"), ("İ", "i"), ("ı", "i"), ("K", "k"))
_DIGITS = frozenset("0123456789")


class SentenceMarks(NamedTuple):
    """What a sentence may state."""

    #: An outcome, with something that it may be of.
    has_outcome: bool
    #: An outcome, of which only a heading about tests can say what it is of.
    has_bare_outcome: bool
    has_run: bool
    has_verb: bool
    has_agent: bool


class TextMarks(NamedTuple):
    """The marks that a text has, of each kind."""

    outcomes: tuple[str, ...]
    ran: tuple[str, ...]
    verbs: tuple[str, ...]
    agents: tuple[str, ...]
    #: The numbers of the lines, from 0, that may have a statement, or that begin or end a block of code.
    lines: frozenset[int]

    def of_sentence(self, sentence: str) -> SentenceMarks:
        """Return what a sentence of the text may state."""
        lower = folded(sentence)
        has_outcome = _has_outcome(lower, self.outcomes)
        has_subject = has_outcome and (_has_number(lower) or _has(lower, SUBJECTS))
        return SentenceMarks(
            has_outcome and has_subject,
            has_outcome and not has_subject,
            _has(lower, self.ran),
            _has(lower, self.verbs),
            _has(lower, self.agents),
        )


def folded(text: str) -> str:
    """Return a text in which a mark can be found in upper and lower case. It has as many lines."""
    if not text.isascii():
        for letter, plain in _FOLDS:
            if letter in text:
                text = text.replace(letter, plain)
    return text.lower()


def marks_of(text: str) -> TextMarks | None:
    """Return the marks of a text; None if it states nothing."""
    lower = folded(text)
    plain = _without_emphasis(lower)
    versions = (lower, plain) if plain else (lower,)
    kinds = _ASCII if lower.isascii() else _ALL
    present = [tuple([mark for mark in marks if mark in lower or mark in plain]) for marks in kinds]
    if not any(present):
        return None
    lines: set[int] = set()
    for version in versions:
        for mark in chain.from_iterable(present):
            lines.update(lines_with(version, mark))
    outcomes, ran, verbs, agents, _ = present
    return TextMarks(outcomes, ran, verbs, agents, frozenset(lines))


def _without_emphasis(text: str) -> str:
    """Remove marks of emphasis, which may be in a word: `pa**ss**ed`. Lines without such a mark are empty."""
    if "**" not in text and "__" not in text and "~~" not in text:
        return ""
    return "\n".join(
        [
            line.replace("**", "").replace("__", "").replace("~~", "")
            if "**" in line or "__" in line or "~~" in line
            else ""
            for line in text.split("\n")
        ]
    )


def lines_with(text: str, mark: str) -> Iterator[int]:
    """Yield the numbers of the lines, from 0, that have a mark."""
    number = counted = 0
    start = text.find(mark)
    while start >= 0:
        number += text.count("\n", counted, start)
        counted = start
        yield number
        end = text.find("\n", start)
        start = text.find(mark, end) if end >= 0 else -1


def _has(lower: str, marks: tuple[str, ...]) -> bool:
    for mark in marks:  # noqa: SIM110 (`any` takes twice as long)
        if mark in lower:
            return True
    return False


def _has_outcome(lower: str, marks: tuple[str, ...]) -> bool:
    """Return whether there is a mark of an outcome. `ok` must begin a word: `token` and `looked` have it, too."""
    for mark in marks:  # noqa: SIM110 (as above)
        if mark in lower and (mark != "ok" or _begins_word(lower, mark)):
            return True
    return False


def _begins_word(lower: str, mark: str) -> bool:
    position = lower.find(mark)
    while position > 0 and lower[position - 1].isalpha():
        position = lower.find(mark, position + 1)
    return position >= 0


def _has_number(lower: str) -> bool:
    """Return whether there is a digit, of any script: an expression takes each for one."""
    return not _DIGITS.isdisjoint(lower) or (not lower.isascii() and any(map(str.isdecimal, lower)))


_ALL = (OUTCOMES, RAN, VERBS, DELEGATED, FENCES)
_ASCII = tuple(tuple(mark for mark in marks if mark.isascii()) for marks in _ALL)
#: The marks of a text that is read whole.
EVERY = TextMarks(OUTCOMES, RAN, VERBS, DELEGATED, frozenset())
