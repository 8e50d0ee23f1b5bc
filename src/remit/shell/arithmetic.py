"""Recognise expansions in which the shell evaluates the value of a variable.

In arithmetic, in a subscript and in an indirect reference, the shell evaluates what a variable contains. A value such
as `a[$(command)]` then runs a command. Only values that are certainly numbers are safe.
"""

from __future__ import annotations

from remit.shell.words import ShellState, Word

PROBLEM = "it calculates with a value that is not known"
_NAME_START = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME = _NAME_START | frozenset("0123456789")
_SAFE_SIGNS = frozenset(" \t\n0123456789+-*/%<>=!&|^~?:,()")
#: Comparisons of `[[ ]]` and `test` that evaluate their operands.
_COMPARISONS = ("-eq", "-ne", "-lt", "-le", "-gt", "-ge")


def is_calculated(word_text: str) -> bool:
    """Return whether the source of an expansion always yields a number: a calculation, a length, a status."""
    return word_text.startswith(("$((", "${#")) or word_text in ("$?", "$#", "$$", "$!")


def problem_of(word: Word, state: ShellState) -> str:
    """Return why the expansions of a word may run a command, or an empty text."""
    for kind, text, _ in word.pieces:
        if kind != "unknown":
            continue
        if text.startswith("$((") and not is_safe(text[3:-2], state):
            return PROBLEM
        if text == "$[" or (text.startswith("${") and not _is_safe_parameter(text[2:-1], state)):
            return PROBLEM
    return ""


def is_safe(expression: str, state: ShellState) -> bool:
    """Return whether all values in an arithmetic expression are numbers."""
    at = 0
    while at < len(expression):
        sign = expression[at]
        if sign == "$" and expression[at + 1 : at + 2] in ("#", "?", "$", "!"):
            at += 2
            continue
        if sign == "$" and expression[at + 1 : at + 2] == "{":
            end = expression.find("}", at)
            inside = expression[at + 2 : end] if end > 0 else ""
            if not (inside.startswith("#") or state.is_numeric(inside)):
                return False
            at = end + 1
            continue
        if sign == "$":
            at += 1
            sign = expression[at : at + 1]
            if sign not in _NAME_START:
                return False
        if sign in _NAME_START:
            end = at
            while end < len(expression) and expression[end] in _NAME:
                end += 1
            if not state.is_numeric(expression[at:end]):
                return False
            at = end
        elif sign in _SAFE_SIGNS:
            at += 1
        else:
            return False
    return True


def _is_safe_parameter(text: str, state: ShellState) -> bool:
    """Return whether `${...}` evaluates no value as a reference, a subscript or an offset."""
    if text.startswith("!"):
        return False
    at = 1 if text.startswith("#") else 0
    while at < len(text) and text[at] in _NAME:
        at += 1
    if text[at : at + 1] == "[":
        end = text.find("]", at)
        subscript = text[at + 1 : end] if end > 0 else "?"
        if subscript not in ("@", "*") and not is_safe(subscript, state):
            return False
        at = end + 1
    rest = text[at:]
    if rest.startswith(":") and rest[1:2] not in ("-", "=", "+", "?"):
        return is_safe(rest[1:], state)
    return True


def is_safe_test(text: str, state: ShellState) -> bool:
    """Return whether the comparisons of a test `[[ ... ]]` evaluate numbers only."""
    words = text.split()
    for at, word in enumerate(words):
        if word in _COMPARISONS:
            operands = words[at - 1 : at] + words[at + 1 : at + 2]
            if not all(is_safe(operand.strip("\"'"), state) for operand in operands):
                return False
        elif word in ("-v", "-R") and not all(name.isidentifier() for name in words[at + 1 : at + 2]):
            return False
    return True
