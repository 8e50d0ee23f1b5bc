"""Commands that only a person gives: what they confirm, decide or publish is a person's word.

A client asks before an agent runs one, in every mode. The record of the call then shows the command that it was asked
about: outside of a client, the commands need a terminal or a token (`remit.surfaces.cli.person`).
"""

from __future__ import annotations

import time

from remit.gate.session_store import list_sessions, read_session

#: A call without an end is over after this time.
_LONGEST_CALL = 660.0
#: The commands, by their first words.
PERSON_COMMANDS: tuple[str, ...] = (
    *("remit plan answer", "remit dismiss", "remit restore"),
    "remit gate trust",
)
#: The name that a command had in version 0.1.
_OLD_NAMES = {"remit answer": "remit plan answer"}
#: The last word of each, by which a line that is not understood may name it.
_BY_WORD = {name.rpartition(" ")[2]: name for name in PERSON_COMMANDS}
_FEW = 4


def commands_of_a_person(programs: list[str], text: str, *, is_understood: bool) -> list[str]:
    """Return the commands of a person that a line runs, or may run if it is not understood."""
    named = [
        new if program == old or program.startswith(f"{old} ") else program
        for program in programs
        for old, new in _OLD_NAMES.items()
    ]
    commands = [
        name for name in PERSON_COMMANDS if any(program == name or program.startswith(f"{name} ") for program in named)
    ]
    return commands or ([] if is_understood else _mentioned(text))


def _mentioned(text: str) -> list[str]:
    """Return the first command of a person that the words of a line, with any signs between them, may name."""
    words = "".join(letter if letter.isalnum() or letter == "-" else " " for letter in text).split()
    for index, word in enumerate(words):
        following = words[index + 1 : index + _FEW] if word == "remit" else ()
        for follower in following:
            if follower in _BY_WORD:
                return [_BY_WORD[follower]]
    return []


def has_consent(folder: str, command: str) -> bool:
    """Return whether a client has asked about a call that runs this command, and the call runs now.

    A call that a person refuses is not one that runs: the client does not start it, and its record ends.
    """
    now = time.time()
    for name in list_sessions(folder, now - _LONGEST_CALL):
        state = read_session(folder, name)
        for writer in state.writers if state is not None else ():
            if not writer.end and writer.at > now - _LONGEST_CALL and command in writer.person.split(", "):
                return True
    return False
