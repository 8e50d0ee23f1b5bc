"""The options of a command, told apart from its operands."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.shell.words import Argument


class Options:
    """Options with their values (empty text: none), and operands in order."""

    def __init__(self, args: list[Argument], valued: str = "", long_valued: tuple[str, ...] = ()) -> None:
        self.given: dict[str, list[str]] = {}
        self.operands: list[Argument] = []
        at = 0
        while at < len(args):
            text = args[at].text
            following = args[at + 1].text if at + 1 < len(args) else ""
            if text == "--":
                self.operands += args[at + 1 :]
                break
            if text.startswith("--"):
                name, sign, value = text.partition("=")
                # Most programs take the beginning of a name for all of it.
                name = next((whole for whole in long_valued if len(name) > 3 and whole.startswith(name)), name)
                takes = not sign and name in long_valued
                self._add(name, following if takes else value)
                at += takes
            elif text.startswith("-") and len(text) > 1:
                at += self._cluster(text, following, valued)
            else:
                self.operands.append(args[at])
            at += 1

    def _cluster(self, text: str, following: str, valued: str) -> int:
        """`-rn5`: letters, the last of which may take the rest or the next word; 1 if it took the next."""
        for index, letter in enumerate(text[1:], 1):
            if letter in valued:
                self._add("-" + letter, text[index + 1 :] or following)
                return int(index + 1 == len(text))
            self._add("-" + letter, text[index + 1 :] if letter.isdigit() else "")
            if letter.isdigit():
                self._add("-number", text[index:])
                break
        return 0

    def _add(self, name: str, value: str) -> None:
        self.given.setdefault(name, []).append(value)

    def has(self, *names: str) -> bool:
        """Whether one of them was given, also by the beginning of a long one."""
        begun = [name for name in self.given if name.startswith("--") and len(name) > 3]
        return any(name in self.given or any(name.startswith(one) for one in begun) for name in names)

    def value(self, *names: str) -> str:
        """The last value given for one of them."""
        return next((self.given[name][-1] for name in names if name in self.given), "")

    def values(self, *names: str) -> list[str]:
        """All values given for them."""
        return [value for name in names for value in self.given.get(name, [])]

    def number(self, *names: str) -> int | None:
        """A whole number, without a sign."""
        value = self.value(*names)
        return int(value) if value.isdecimal() and len(value) < 9 else None
