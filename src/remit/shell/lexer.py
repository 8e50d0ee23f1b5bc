"""Split a command line into words, operators and redirections, with its here-documents and substitutions."""

from __future__ import annotations

from itertools import pairwise

from remit.shell.reading_time import READING, NotShell
from remit.shell.words import Token, Word

_OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "(", ")", "\n")
_REDIRECTIONS = ("&>>", "&>", "<<<", "<<-", "<<", ">>", ">|", ">&", "<&", "<>", ">", "<")
#: Reserved words after which a command begins.
OPENING_WORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "{", "!", "time"})
#: Tokens that are read without a budget, and how deep substitutions may be nested.
_MAX_TOKENS, _MAX_DEPTH = 4000, 24
#: A longer text in double brackets is read as a subshell.
_MAX_ARITHMETIC = 300
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_SUMS = _NAME | frozenset(" \t+-*%<>=!&|")
#: Where ordinary text of a word ends, unquoted and in double quotes.
_ORDINARY_END = frozenset(" \t\n;|&()<>\\'\"$`")
_QUOTED_END = frozenset('"\\$`')
#: A backslash at the end of a line joins it with the next one.
_CONTINUED = "\\\n"


class Lexer:
    """Splits a text. `found` has the tokens up to an error; `inner` the command lines of all substitutions."""

    def __init__(self, text: str, at: int = 0, depth: int = 0) -> None:
        self.text = text
        self.at = at
        self.depth = depth
        self.found: list[Token] = []
        self.inner: list[str] = []
        self._documents: list[tuple[Token, bool]] = []
        self.has_comment = False
        #: Whether a command begins here, so that `[[` and `((` are reserved words.
        self._starts_command = True

    def tokens(self, *, to_bracket: bool = False) -> list[Token]:
        """Return all tokens, or those before the bracket that closes one opened before the text."""
        tokens = self.found
        depth = 0
        while self._skip_blanks():
            if len(tokens) > _MAX_TOKENS:
                raise NotShell
            READING.spend_part()
            before = len(self.inner)
            if operator := self._starts(_REDIRECTIONS):
                tokens.append(self._redirection(operator, ""))
            elif operator := self._starts(_OPERATORS):
                depth += self._operator(operator)
                if to_bracket and depth < 0:
                    return tokens
                continue
            else:
                self._after_word(self._word())
            tokens[-1].inner += self.inner[before:]
        if to_bracket:
            raise NotShell
        self._read_documents()
        return tokens

    def _operator(self, operator: str) -> int:
        """Take an operator. Return by how much brackets are deeper after it."""
        if operator == "(" and self._starts_command:
            end = _arithmetic_end(self.text, self.at)
            if end:
                for text, quoted in (("((", False), (self.text[self.at + 2 : end - 2], True)):
                    word = Word()
                    word.add("text", text, quoted=quoted)
                    self.found.append(Token("word", word=word))
                self.at = end
                self._starts_command = False
                return 0
        self.at += len(operator)
        self.found.append(Token("operator", operator))
        self._starts_command = True
        if operator == "\n":
            self._read_documents()
        return (operator == "(") - (operator == ")")

    def _after_word(self, word: Word) -> None:
        """Add a word. Digits directly before a redirection are the number of its descriptor."""
        bare = word.bare or ""
        operator = self._starts(_REDIRECTIONS) if bare.isdecimal() else ""
        if operator and operator[0] in "<>":
            self.found.append(self._redirection(operator, bare))
            return
        self.found.append(Token("word", word=word))
        if self._starts_command and bare == "[[":
            start = self.at
            self._skip_test()
            inside = Word()
            inside.add("text", self.text[start : self.at], quoted=True)
            self.found.append(Token("word", word=inside))
        self._starts_command = self._starts_command and bare in OPENING_WORDS

    def _skip_blanks(self) -> bool:
        """Skip blanks, continued lines and a comment. Return whether text is left."""
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == "#":
                self.has_comment = True
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif letter in " \t":
                self.at += 1
            elif self.text.startswith(_CONTINUED, self.at):
                self.at += 2
            else:
                return True
        return False

    def _starts(self, signs: tuple[str, ...]) -> str:
        text, position = self.text, self.at
        if not text.startswith(signs, position) or text.startswith(("<(", ">("), position):
            return ""
        return next(sign for sign in signs if text.startswith(sign, position))

    def _skip_test(self) -> None:
        """Skip `[[ ... ]]`. It touches no file, but the substitutions in it run."""
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in " \t\n()<>|" or self.text.startswith("&&", self.at):
                if self.text.startswith(("<(", ">("), self.at):
                    self._substitution(Word(), quoted=False)
                else:
                    self.at += 2 if letter == "&" else 1
            elif letter in ";&#":
                break
            elif self.text.startswith(_CONTINUED, self.at):
                self.at += 2
            elif self._word().bare == "]]":
                return
        raise NotShell

    def _run_inside(self, text: str) -> None:
        """Add the substitutions of a text that is otherwise not a command line."""
        inside = Lexer(text, depth=self.depth)
        inside._quoted_text(Word(), "")
        self.inner += inside.inner

    def _redirection(self, operator: str, descriptor: str) -> Token:
        token = Token("redirection", operator)
        token.descriptor = descriptor
        self._starts_command = False
        self.at += len(operator)
        if not self._skip_blanks():
            raise NotShell
        token.target = self._word()
        if operator in ("<<", "<<-"):
            self._documents.append((token, operator == "<<-"))
        return token

    def _read_documents(self) -> None:
        """Read the here-documents that begin on this line."""
        for token, indented in self._documents:
            end = token.target.plain if token.target is not None else None
            if token.target is None or end is None:
                raise NotShell
            quoted = any(piece[2] for piece in token.target.pieces)
            lines: list[str] = []
            while self.at < len(self.text):
                line = self._document_line(joined=not quoted)
                if (line.lstrip("\t") if indented else line) == end:
                    break
                lines.append(line)
            token.body = "\n".join(lines)
            if not quoted:
                before = len(self.inner)
                self._run_inside(token.body)
                token.inner += self.inner[before:]
        self._documents = []

    def _document_line(self, *, joined: bool) -> str:
        """Return the next line; with `joined`, together with those that it continues on."""
        parts: list[str] = []
        while True:
            stop = self.text.find("\n", self.at)
            stop = len(self.text) if stop < 0 else stop
            line = self.text[self.at : stop]
            self.at = min(stop + 1, len(self.text))
            backslashes = len(line) - len(line.rstrip("\\"))
            if not joined or backslashes % 2 == 0 or self.at >= len(self.text):
                return "".join([*parts, line])
            parts.append(line[:-1])

    def _word(self) -> Word:
        word = Word()
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in " \t\n;|&()<>" and not self.text.startswith(("<(", ">("), self.at):
                break
            if word.pieces:
                READING.spend_part()
            self._piece(word, letter)
        if not word.pieces:
            raise NotShell
        return word

    def _piece(self, word: Word, letter: str) -> None:
        if letter == "\\":
            if self.at + 1 == len(self.text):
                raise NotShell
            if not self.text.startswith(_CONTINUED, self.at):
                word.add("text", self.text[self.at + 1], quoted=True)
            self.at += 2
        elif letter == "'":
            word.add("text", self._until("'", self.at + 1), quoted=True)
        elif letter == '"':
            self.at += 1
            word.add("text", "", quoted=True)
            self._quoted_text(word, '"')
        elif letter in "$`<>":
            self._substitution(word, quoted=False)
        else:
            word.add("text", self._run_of(_ORDINARY_END), quoted=False)

    def _run_of(self, ends: frozenset[str]) -> str:
        """Return the text from here to the next of these characters, at least one."""
        start = self.at
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] not in ends:
            self.at += 1
        return self.text[start : self.at]

    def _until(self, end: str, start: int) -> str:
        stop = self.text.find(end, start)
        if stop < 0:
            raise NotShell
        self.at = stop + len(end)
        return self.text[start:stop]

    def _quoted_text(self, word: Word, end: str) -> None:
        """Read text with variables and substitutions up to `end`, or all of it if that is empty."""
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == end:
                self.at += 1
                return
            READING.spend_part()
            if letter == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                if following != "\n":
                    word.add("text", following if following in '$`"\\' else letter + following, quoted=True)
                self.at += 2
            elif letter in "$`":
                self._substitution(word, quoted=True)
            else:
                word.add("text", self._run_of(_QUOTED_END), quoted=True)
        if end:
            raise NotShell

    def _substitution(self, word: Word, *, quoted: bool) -> None:
        """Read an expansion or a substitution, at most `_MAX_DEPTH` in each other."""
        if self.depth > _MAX_DEPTH:
            raise NotShell
        self.depth += 1
        self._expansion(word, quoted=quoted)
        self.depth -= 1

    def _expansion(self, word: Word, *, quoted: bool) -> None:
        text, start = self.text, self.at
        kind = "unknown"
        if text[start] == "`":
            self.inner.append(self._backquoted())
        elif text.startswith("$((", start):
            self._skip_arithmetic()
        elif text.startswith(("$(", "<(", ">("), start):
            self.inner.append(self._brackets(start + 2))
            kind = "unknown" if text[start] == "$" else "device"
        elif text.startswith("${", start):
            name = self._parameter(quoted=quoted)
            if name and _NAME.issuperset(name):
                word.add("variable", name, quoted=quoted)
                return
        elif text.startswith("$'", start) and not quoted:
            self._escaped(word)
            return
        elif text.startswith('$"', start) and not quoted:
            self.at += 1
            return
        else:
            self._variable(word, quoted=quoted)
            return
        word.add(kind, text[start : self.at], quoted=quoted)

    def _backquoted(self) -> str:
        """Return the command line between backquotes, without the backslashes that protect it."""
        parts: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            letter = self.text[self.at]
            following = self.text[self.at + 1 : self.at + 2]
            if letter == "`":
                self.at += 1
                return "".join(parts)
            if letter == "\\" and following in ("`", "\\", "$"):
                letter = following
                self.at += 1
            parts.append(letter)
            self.at += 1
        raise NotShell

    def _skip_arithmetic(self) -> None:
        """Skip `$((...))`. The substitutions in it run. What may be a subshell instead is not read."""
        self.at += 3
        depth = 2
        while self.at < len(self.text) and depth:
            letter = self.text[self.at]
            if letter in "$`":
                self._substitution(Word(), quoted=True)
                continue
            depth += (letter == "(") - (letter == ")")
            if letter in "'\"\\" or (depth == 1 and not self.text.startswith("))", self.at)):
                break
            self.at += 1
        if depth:
            raise NotShell

    def _parameter(self, *, quoted: bool) -> str:
        """Return what is in `${...}`: a name, or an expression, whose substitutions run."""
        start = self.at = self.at + 2
        if self.text[start : start + 1] in (" ", "\t", "\n", "|"):  # it runs a command
            raise NotShell
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == "}":
                break
            if letter == "\\":
                self.at += 2
            elif letter == '"':
                self.at += 1
                self._quoted_text(Word(), '"')
            elif letter == "'":
                if quoted:  # whether it quotes depends on the operator
                    raise NotShell
                self._until("'", self.at + 1)
            elif letter in "$`" or self.text.startswith(("<(", ">("), self.at):
                self._substitution(Word(), quoted=quoted)
            else:
                self.at += 1
        name = self.text[start : self.at]
        self.at += 1
        if self.at > len(self.text) or name.endswith("@P"):  # `@P` runs what is in the variable
            raise NotShell
        return name

    def _escaped(self, word: Word) -> None:
        """Read `$'...'`. Its value is unknown if it has escapes."""
        start = end = self.at + 2
        while end < len(self.text) and self.text[end] != "'":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            raise NotShell
        raw = self.text[start:end]
        if "\\" in raw:
            word.add("unknown", self.text[self.at : end + 1], quoted=True)
        else:
            word.add("text", raw, quoted=True)
        self.at = end + 1

    def _variable(self, word: Word, *, quoted: bool) -> None:
        end = self.at + 1
        while end < len(self.text) and self.text[end] in _NAME:
            end += 1
            if self.text[self.at + 1].isdigit():  # `$10` is `$1` and a 0
                break
        name = self.text[self.at + 1 : end]
        if self.text.startswith(_CONTINUED, end) and self.text[end + 2 : end + 3] not in (" ", "\t", "\n", ""):
            raise NotShell  # the name may go on in the next line
        if name:
            word.add("variable", name, quoted=quoted)
        elif self.text[end : end + 1] in tuple("@*#?$!-["):
            end += 1
            word.add("unknown", self.text[self.at : end], quoted=quoted)
        else:
            word.add("text", "$", quoted=quoted)
        self.at = end

    def _brackets(self, start: int) -> str:
        """Return the text up to the bracket that closes one before `start`."""
        inside = Lexer(self.text, start, self.depth)
        inside.tokens(to_bracket=True)
        self.at = inside.at
        return self.text[start : self.at - 1]


def _arithmetic_end(text: str, start: int) -> int:
    """Return where `((a > 3))` ends, or 0 if it may be a command in brackets: two words follow each other."""
    end = text.find("))", start, start + _MAX_ARITHMETIC)
    inside = text[start + 2 : end]
    if not text.startswith("((", start) or end < 0 or not inside or any(sign not in _SUMS for sign in inside):
        return 0
    for sign in "+-*%<>=!&|":
        inside = inside.replace(sign, " , ")
    adjacent = any(operand != "," and other != "," for operand, other in pairwise(inside.split()))
    return 0 if adjacent else end + 2
