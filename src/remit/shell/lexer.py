"""A command line in the shell's own pieces: words, operators, redirections, here-documents, substitutions."""

from __future__ import annotations

from itertools import pairwise

_OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "(", ")", "\n")
_REDIRECTIONS = ("&>>", "&>", "<<<", "<<-", "<<", ">>", ">|", ">&", "<&", "<>", ">", "<")
_MOST_TOKENS = 4000
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_SUMS = _NAME | frozenset(" \t+-*%<>=!&|")


class NotShell(Exception):
    """A quote or bracket without its end, or more words than anybody types: not a command line."""


def _arithmetic(text: str, at: int) -> int:
    """Where `((a > 3))` ends; 0 if it is none: two words beside each other are a command in brackets."""
    end = text.find("))", at)
    inside = text[at + 2 : end]
    if not text.startswith("((", at) or end < 0 or not inside or any(sign not in _SUMS for sign in inside):
        return 0
    for sign in "+-*%<>=!&|":
        inside = inside.replace(sign, " , ")
    words = inside.split()
    beside = any(one != "," and other != "," for one, other in pairwise(words))
    return 0 if beside else end + 2


def _sum(text: str) -> str:
    """What stands in `$((...))`; brackets that close more than it opens make it something else."""
    depth = 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            raise NotShell
    return text


class Lexer:
    """Splits a line; `inner` are the command lines of its substitutions."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("\\\n", "")
        self.at = 0
        self.inner: list[str] = []
        self._waiting: list[tuple[Token, str, bool, bool]] = []

    def tokens(self, *, to_bracket: bool = False) -> list[Token]:
        """All of them, or those before a bracket that closes what was opened earlier."""
        found: list[Token] = []
        depth = 0
        while self._skip_blanks():
            if len(found) > _MOST_TOKENS:
                raise NotShell
            before = len(self.inner)
            if operator := self._starts(_REDIRECTIONS):
                found.append(self._redirection(operator, ""))
            elif operator := self._starts(_OPERATORS):
                depth += self._operator(operator, found)
                if to_bracket and depth < 0:
                    return found
                continue
            else:
                self._after_word(self._word(), found)
            found[-1].inner = self.inner[before:]
        if to_bracket:
            raise NotShell
        self._here_documents()
        return found

    def _operator(self, operator: str, found: list[Token]) -> int:
        """Take an operator; by how much brackets are deeper after it."""
        if operator == "(" and (found[-1:] == [] or found[-1].kind == "operator"):
            end = _arithmetic(self.text, self.at)
            if end:
                self.at = end
                return 0
        self.at += len(operator)
        found.append(Token("operator", operator))
        if operator == "\n":
            self._here_documents()
        return (operator == "(") - (operator == ")")

    def _after_word(self, word: Word, found: list[Token]) -> None:
        """Digits before a redirection are the number of a descriptor."""
        digits = word.bare or ""
        operator = self._starts(_REDIRECTIONS) if digits.isdecimal() else ""
        if operator and self.text[self.at : self.at + 1] in ("<", ">"):
            found.append(self._redirection(operator, digits))
            return
        found.append(Token("word", word=word))
        if word.bare == "[[":
            self._skip_test()

    def _skip_blanks(self) -> bool:
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif letter in " \t\r":
                self.at += 1
            else:
                return True
        return False

    def _starts(self, known: tuple[str, ...]) -> str:
        substitution = self.text.startswith(("<(", ">("), self.at)
        return "" if substitution else next((sign for sign in known if self.text.startswith(sign, self.at)), "")

    def _skip_test(self) -> None:
        """`[[ ... ]]` touches no file; what is substituted in it runs all the same."""
        self._run_inside(self._until("]]", self.at))

    def _run_inside(self, text: str) -> None:
        """Of this text only the substitutions count."""
        inside = Lexer(text)
        inside.quoted_text(Word(), "")
        self.inner += inside.inner

    def _redirection(self, operator: str, descriptor: str) -> Token:
        token = Token("redirection", operator)
        token.descriptor = descriptor
        self.at += len(operator)
        if not self._skip_blanks():
            raise NotShell
        token.target = self._word()
        if operator in ("<<", "<<-"):
            quoted = any(piece[2] for piece in token.target.pieces)
            self._waiting.append((token, token.target.plain or "", operator == "<<-", quoted))
        return token

    def _here_documents(self) -> None:
        for token, end, indented, quoted in self._waiting:
            lines = []
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.at : stop]
                self.at = min(stop + 1, len(self.text))
                if (line.lstrip("\t") if indented else line) == end:
                    break
                lines.append(line)
            token.body = "\n".join(lines)
            if not quoted:
                before = len(self.inner)
                self._run_inside(token.body)
                token.inner = token.inner + self.inner[before:]
        self._waiting = []

    def _word(self) -> Word:
        word = Word()
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in " \t\r\n;|&()<>" and not self.text.startswith(("<(", ">("), self.at):
                break
            self._piece(word, letter)
        if not word.pieces:
            raise NotShell
        return word

    def _piece(self, word: Word, letter: str) -> None:
        if letter == "\\":
            word.add("text", self.text[self.at + 1 : self.at + 2], quoted=True)
            self.at += 2
        elif letter == "'":
            word.add("text", self._until("'", self.at + 1), quoted=True)
        elif letter == '"':
            self.at += 1
            word.add("text", "", quoted=True)
            self.quoted_text(word, '"')
        elif letter in "$`" or letter in "<>":
            self._substitution(word, quoted=False)
        else:
            word.add("text", letter, quoted=False)
            self.at += 1

    def _until(self, end: str, start: int) -> str:
        stop = self.text.find(end, start)
        if stop < 0:
            raise NotShell
        self.at = stop + len(end)
        return self.text[start:stop]

    def quoted_text(self, word: Word, end: str) -> None:
        """Text in which variables and substitutions count, up to its end (empty: all of it)."""
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == end:
                self.at += 1
                return
            if letter == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                word.add("text", following if following in '$`"\\' else letter + following, quoted=True)
                self.at += 2
            elif letter in "$`":
                self._substitution(word, quoted=True)
            else:
                word.add("text", letter, quoted=True)
                self.at += 1
        if end:
            raise NotShell

    def _substitution(self, word: Word, *, quoted: bool) -> None:
        text, at = self.text, self.at
        if text[at] == "`":
            self.inner.append(self._until("`", at + 1).replace("\\`", "`"))
            word.add("unknown", "", quoted=quoted)
        elif text.startswith("$((", at):
            self._run_inside(_sum(self._until("))", at + 3)))
            word.add("unknown", "", quoted=quoted)
        elif text.startswith(("$(", "<(", ">("), at):
            self.inner.append(self._brackets(at + 2))
            word.add("device" if text[at] != "$" else "unknown", "", quoted=quoted)
        elif text.startswith("${", at):
            self._parameter(word, quoted=quoted)
        elif text.startswith("$'", at) and not quoted:
            self._escaped(word)
        elif text.startswith('$"', at) and not quoted:
            self.at += 1
        else:
            self._variable(word, quoted=quoted)

    def _parameter(self, word: Word, *, quoted: bool) -> None:
        """`${name}`, or more than a name, in which substitutions run, too."""
        start = self.at + 2
        self.at = start
        self.quoted_text(Word(), "}")
        name = self.text[start : self.at - 1]
        if name.endswith("@P"):  # it runs what stands in the variable
            raise NotShell
        kind = "variable" if name and _NAME.issuperset(name) else "unknown"
        word.add(kind, name if kind == "variable" else "", quoted=quoted)

    def _escaped(self, word: Word) -> None:
        """`$'...'`: what its escapes stand for is not worked out."""
        start = end = self.at + 2
        while end < len(self.text) and self.text[end] != "'":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            raise NotShell
        self.at = end + 1
        raw = self.text[start:end]
        word.add("unknown" if "\\" in raw else "text", "" if "\\" in raw else raw, quoted=True)

    def _variable(self, word: Word, *, quoted: bool) -> None:
        end = self.at + 1
        while end < len(self.text) and self.text[end] in _NAME:
            end += 1
        name = self.text[self.at + 1 : end]
        if name:
            word.add("variable", name, quoted=quoted)
        elif self.text[end : end + 1] in tuple("@*#?$!-"):
            word.add("unknown", "", quoted=quoted)
            end += 1
        else:
            word.add("text", "$", quoted=quoted)
        self.at = end

    def _brackets(self, start: int) -> str:
        """The text up to the bracket that closes one opened before `start`: quotes and here-documents are respected."""
        inside = Lexer(self.text)
        inside.at = start
        inside.tokens(to_bracket=True)
        self.at = inside.at
        return self.text[start : self.at - 1]


class Word:
    """A word: pieces of text, variables (by name) and what only the shell knows. Quoted text has no wildcards."""

    __slots__ = ("pieces",)

    def __init__(self) -> None:
        self.pieces: list[tuple[str, str, bool]] = []

    def add(self, kind: str, text: str, *, quoted: bool) -> None:
        """Append a piece: `text`, `variable` or `unknown`."""
        if self.pieces and kind == "text" and self.pieces[-1][0] == "text" and self.pieces[-1][2] == quoted:
            text = self.pieces.pop()[1] + text
        self.pieces.append((kind, text, quoted))

    @property
    def plain(self) -> str | None:
        """Its text, if it has no other pieces."""
        return (
            "".join(text for _, text, _ in self.pieces) if all(kind == "text" for kind, _, _ in self.pieces) else None
        )

    @property
    def bare(self) -> str | None:
        """Its text, if nothing of it is quoted: only then may it be a keyword."""
        return self.plain if not any(quoted for _, _, quoted in self.pieces) else None


class Token:
    """A word, an operator, or a redirection with the word it goes to."""

    __slots__ = ("body", "descriptor", "inner", "is_walked", "kind", "target", "text", "word")

    def __init__(self, kind: str, text: str = "", word: Word | None = None) -> None:
        self.kind = kind
        self.text = text
        self.word = word
        self.target: Word | None = None
        #: The text of a here-document.
        self.body = ""
        #: The number before a redirection, if one is given.
        self.descriptor = ""
        #: The command lines of its substitutions, and whether they have been read where it stands.
        self.inner: list[str] = []
        self.is_walked = False
