"""Rule `quote-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import explain
from remit.rules.base import Case, Example, Fault, Rule


class QuoteMismatch(Rule):
    """A quote is not in the cited file.

    The quote is compared exactly, then with collapsed white space, then token by token within five lines of its
    location. Comments, line breaks and omitted lines may differ; one changed operator, name or digit makes it a
    mismatch. Finally the quote is searched for in the rest of the repository.
    """

    name = "quote-mismatch"
    code = "EVD004"
    needs = "repository"
    level = "L1"
    help = "Copy the lines from the file without changes. Mark omitted lines with a line `...`, and start the output of a program with `$ command`."
    prompt = "Copy quotes exactly. `...` may replace code in a quote. Quote a removed secret as it is shown."
    good = (
        Example(
            "review", edits=(("    return user.password == password\n```", "return  user.password  ==  password\n```"),)
        ),
        Example(
            "review",
            edits=(
                (
                    "    return user.password == password\n```",
                    "def check_password(user, password):\n# ...\n    return user.password == password\n```",
                ),
            ),
        ),
    )
    bad = (
        Example(
            "review",
            edits=(
                ("    return user.password == password\n```", "    return constant_time(user.secret, password)\n```"),
            ),
            expect=("quote-mismatch",),
        ),
        Example(
            "review",
            edits=(("    return user.password == password\n```", "    return user.password != password\n```"),),
            expect=("quote-mismatch",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for quote in case.evidence.quotes:
            if quote.outcome == "mismatch" and quote.fails:
                location = f"{quote.path}:{quote.line}" if quote.line else quote.path
                yield Fault(line=quote.at, message=f"the quote is not at {location}: {explain(quote)}")
