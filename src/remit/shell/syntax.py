"""Group the tokens of a command line into commands: what runs, in which order, and which operators join it."""

from __future__ import annotations

from remit.shell.lexer import OPENING_WORDS, Lexer
from remit.shell.reading_time import NotShell
from remit.shell.words import Token, Word

#: A longer line, or one with more substitutions, is not read.
_MAX_LENGTH = 100_000
_MAX_SUBSTITUTIONS = 400
#: How deep subshells may be nested.
_MAX_DEPTH = 24
_KEYWORDS = OPENING_WORDS | {"fi", "done", "}", "esac"}
#: Reserved words that begin what is not read.
_UNREAD = frozenset({"select", "function", "coproc"})
#: Operators after which a line break has no meaning.
_CONTINUING = ("&&", "||", "|", "|&")


class Node:
    """A simple command, a part of a compound command such as `then` or `for x in a b`, a subshell or a function.

    `operator` is the one before it, `terminator` the one after it; both are empty at the ends of a line.
    """

    def __init__(self, operator: str = "") -> None:
        self.operator = operator
        self.terminator = ""
        #: Reserved words before it.
        self.keywords: list[str] = []
        #: Assignments, the program and its arguments.
        self.words: list[Word] = []
        self.redirections: list[Token] = []
        #: Command lines that run before it, for `$(...)`, `<(...)` and backquotes.
        self.substitutions: list[str] = []
        #: The commands of a subshell or of a function's body; None for other commands.
        self.body: list[Node] | None = None
        #: Whether it defines a function: the body runs when the function is called.
        self.is_function = False
        #: The name of the function.
        self.name = ""

    @property
    def keyword(self) -> str:
        """`for`, or a reserved word of syntax that is not read, if the node begins with one."""
        first = self.words[0].bare if self.words else None
        return first if first is not None and (first == "for" or first in _UNREAD) else ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added to it."""
        return self.body is None and not (self.keywords or self.words or self.redirections or self.is_function)


class Script:
    """The commands of a line. `problem` states what was not understood, and is empty if all was."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.has_comment = False
        self.problem = ""

    def give_up(self, problem: str) -> None:
        """Record the first thing that was not understood."""
        self.problem = self.problem or problem


def parse(text: str) -> Script:
    """Parse a command line, as far as it can be read. Never raises."""
    script = Script()
    if len(text) > _MAX_LENGTH:
        script.give_up("it is too long")
        return script
    if "\r" in text:
        script.give_up("it has a carriage return")
    lexer = Lexer(text)
    try:
        lexer.tokens()
    except NotShell:
        script.give_up("a quote or bracket has no end, or it is too long")
    script.has_comment = lexer.has_comment
    if len(lexer.inner) > _MAX_SUBSTITUTIONS:
        script.give_up(f"it has more than {_MAX_SUBSTITUTIONS} substitutions")
    else:
        _Parser(script).run(lexer.found)
    return script


class _Parser:
    """Builds the nodes of a script from tokens."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.nodes: list[Node] = []
        self.node = Node()
        #: The open subshells and function bodies: the nodes before each, its own, and the open braces around it.
        self.stack: list[tuple[list[Node], Node, int]] = []
        #: The open braces of the innermost subshell or function body.
        self.braces = 0
        #: The number of open `case` commands.
        self.cases = 0

    def run(self, tokens: list[Token]) -> None:
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.kind != "operator":
                if self._begins_case(token):
                    index = self._case(tokens, index)
                    continue
                self._add(token)
            elif token.text == ";;" and self.cases:
                self._end(";")
                index = self._pattern(tokens, index + 1) - 1
            elif token.text == "(":
                following = tokens[index + 1] if index + 1 < len(tokens) else None
                index += self._open(is_closed=following is not None and following.text == ")")
            elif token.text == ")":
                self._close()
            else:
                self._end(token.text)
            index += 1
        self._end("")
        while self.stack:
            self.script.give_up("a bracket has no end")
            self._close()
            self._end("")
        self.script.nodes = self.nodes

    def _begins_case(self, token: Token) -> bool:
        bare = token.word.bare if token.word is not None else None
        return bare == "case" and not self.node.words and not self.node.redirections

    def _case(self, tokens: list[Token], index: int) -> int:
        """Read `case WORD in PATTERN)`. Return the position of the first token of the first list of commands."""
        self.node.keywords.append("case")
        subject, index = tokens[index + 1 : index + 2], index + 2
        while index < len(tokens) and tokens[index].text == "\n":
            index += 1
        word = tokens[index].word if index < len(tokens) else None
        if not subject or subject[0].word is None or word is None or word.bare != "in":
            self.script.give_up("a `case` cannot be read")
            return index
        self.node.substitutions += subject[0].inner
        self.cases += 1
        return self._pattern(tokens, index + 1)

    def _pattern(self, tokens: list[Token], index: int) -> int:
        """Skip the patterns before a list of commands. Return the position after their bracket, or that of `esac`."""
        self._end(";")
        while index < len(tokens) and tokens[index].text in ("\n", "&"):
            index += 1
        word = tokens[index].word if index < len(tokens) else None
        if word is not None and word.bare == "esac":
            return index
        if index < len(tokens) and tokens[index].text == "(":
            index += 1
        while index < len(tokens) and (tokens[index].word is not None or tokens[index].text == "|"):
            self.node.substitutions += tokens[index].inner
            index += 1
        if index >= len(tokens) or tokens[index].text != ")":
            self.script.give_up("a `case` cannot be read")
            return index
        if self.node.substitutions:
            self.node.keywords.append("then")
        return self._after_breaks(tokens, index + 1)

    def _after_breaks(self, tokens: list[Token], index: int) -> int:
        """Return the position of the next token that is not a line break."""
        self._end(";")
        while index < len(tokens) and tokens[index].text == "\n":
            index += 1
        return index

    def _add(self, token: Token) -> None:
        """Add a word or a redirection to the current command."""
        node = self.node
        word = token.word
        bare = word.bare if word is not None else None
        if bare == "esac" and not node.words:
            self.cases = max(0, self.cases - 1)
        if bare is not None and len(node.words) == 2 and self._is_header(bare):
            self._end(";")
            node = self.node
        node.substitutions += token.inner
        if bare in ("{", "}") and not node.words and not node.redirections and self._brace(bare):
            return
        if word is None:
            node.redirections.append(token)
        elif node.body is not None and bare not in _KEYWORDS:
            self.script.give_up("a word follows a bracket")
            node.words.append(word)
        elif bare is not None and bare in _KEYWORDS and not node.words and not node.redirections:
            node.keywords.append(bare)
        else:
            node.words.append(word)

    def _brace(self, brace: str) -> bool:
        """Count a brace. Return whether it begins or ends the body of a function."""
        node = self.node
        if brace == "{":
            if node.is_function and node.body is None:
                self._push(node)
                return True
            self.braces += 1
            return False
        if self.braces or not self.stack or not self.stack[-1][1].is_function:
            self.braces = max(0, self.braces - 1)
            return False
        self._close()
        return True

    def _is_header(self, following: str) -> bool:
        """Return whether the current words are `for x` before `do`, or `function f` before its body."""
        return (self.node.keyword, following) in (("for", "do"), ("function", "{"))

    def _open(self, *, is_closed: bool) -> int:
        """Open a subshell, or skip the brackets of `name()`. Return how many more tokens were used."""
        node = self.node
        names = 2 if node.keyword == "function" else 1
        if is_closed and len(node.words) == names and not node.redirections:
            node.name = node.words[-1].text
            node.words, node.is_function = [], True  # its body follows
            return 1
        if node.words or node.redirections or node.body is not None:
            self.script.give_up("a bracket is not expected here")
            self._end(";")
            node = self.node
        self._push(node)
        return 0

    def _push(self, node: Node) -> None:
        """Begin the body of a subshell or a function."""
        if len(self.stack) >= _MAX_DEPTH:
            self.script.give_up("brackets are nested too deeply")
            return
        self.stack.append((self.nodes, node, self.braces))
        self.nodes, self.node, self.braces = [], Node("("), 0

    def _close(self) -> None:
        """Close a subshell or the body of a function. Redirections may follow."""
        self._end("")
        if not self.stack:
            self.script.give_up("a bracket is not expected here")
            self.node.operator = ")"
            return
        body = self.nodes
        self.nodes, self.node, self.braces = self.stack.pop()
        self.node.body = body

    def _end(self, operator: str) -> None:
        """End the current command and begin the next one."""
        node = self.node
        if node.is_empty:
            if not (operator == "\n" and node.operator in _CONTINUING):
                node.operator = operator
            return
        if node.keyword == "function" and len(node.words) == 2:
            node.name = node.words[-1].text
            node.words, node.is_function = [], True
            return  # its body follows, perhaps in the next line
        if node.is_function and node.body is None:
            if operator == "\n" and not node.words:
                return
            self.script.give_up("a function without braces")
        if node.keyword in _UNREAD:
            self.script.give_up(f"it has a `{node.keyword}`")
        node.terminator = operator
        self.nodes.append(node)
        self.node = Node(operator)
