"""Separate the options of a command from its operands."""

from __future__ import annotations

from remit.shell.words import Argument


class CommandOptions:
    """CommandOptions with their values (empty if they have none), and operands in order.

    `valued` are the short options, and `long_valued` the long ones, that take the next word as their value.
    """

    def __init__(self, args: list[Argument], valued: str = "", long_valued: tuple[str, ...] = ()) -> None:
        self.named: dict[str, list[str]] = {}
        self.operands: list[Argument] = []
        index = 0
        while index < len(args):
            text = args[index].text
            following = args[index + 1].text if index + 1 < len(args) else ""
            if text == "--":
                self.operands += args[index + 1 :]
                break
            if text.startswith("--"):
                name, sign, value = text.partition("=")
                # Most programs accept an abbreviated name.
                name = next((long for long in long_valued if len(name) > 3 and long.startswith(name)), name)
                takes_next = not sign and name in long_valued
                self._add(name, following if takes_next else value)
                index += takes_next
            elif text.startswith("-") and len(text) > 1:
                index += self._add_cluster(text, following, valued)
            else:
                self.operands.append(args[index])
            index += 1

    def _add_cluster(self, text: str, following: str, valued: str) -> int:
        """Add letters such as `-rn5`. Return 1 if the last one took the next word as its value."""
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
        self.named.setdefault(name, []).append(value)

    def has(self, *names: str) -> bool:
        """Return whether one of these options is set, also if it is abbreviated."""
        long = [name for name in self.named if name.startswith("--") and len(name) > 3]
        return any(name in self.named or any(name.startswith(option) for option in long) for name in names)

    def value(self, *names: str) -> str:
        """Return the last value of the first of these options that is set."""
        return next((self.named[name][-1] for name in names if name in self.named), "")

    def values(self, *names: str) -> list[str]:
        """Return all values of these options."""
        return [value for name in names for value in self.named.get(name, [])]

    def number(self, *names: str) -> int | None:
        """Return the value as a whole number without a sign."""
        value = self.value(*names)
        return int(value) if value.isdecimal() and len(value) < 9 else None
