"""Run Remit on the corpus, and write its figures to `figures.json` and to the table of `HISTORY.md`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import mutations  # noqa: E402 (the path must be known first)
import remit_answers  # noqa: E402
import score  # noqa: E402

PAGE = HERE / "HISTORY.md"
_MARK = "<!-- figures of bench/accuracy -->\n\n"
_TABLE = re.compile(re.escape(_MARK) + r".*?\n\n", re.DOTALL)


def generated_figures() -> list[score.Figure]:
    """Return the figures on generated quotes."""
    accepted, accused = remit_answers.generated_quotes()
    number = mutations.NUMBER
    return [
        score.Figure("generated-altered", "generated quotes with one changed token, accepted", accepted, number, -0.01),
        score.Figure("generated-faithful", "generated faithful quotes, accused", accused, number, -0.05),
    ]


def main() -> int:
    """Write the figures."""
    answers = score.read_answers(json.loads(remit_answers.answers()))
    found: dict[str, object] = {}
    for name in ("all", "classes", "adversarial", "blind"):
        rows = score.figures(score.read_labels(only="" if name == "all" else name), answers)
        if name == "all":
            rows += generated_figures()
        found[name] = {row.name: [row.hits, row.total] for row in rows}
        if name == "all":
            before, after = _TABLE.split(PAGE.read_text(encoding="utf-8"), maxsplit=1)
            PAGE.write_text(f"{before}{_MARK}{score.table(rows)}\n\n{after}", encoding="utf-8")
    found["mistakes"] = score.mistakes(score.read_labels(), answers)
    (HERE / "figures.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {HERE / 'figures.json'} and {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
