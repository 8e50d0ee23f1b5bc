"""What a command line is made of: words, operators, and redirections with the word that they go to."""

from __future__ import annotations


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
