"""What a merge puts into words: all that one agent says of a finding, and why a score is as low as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remit.merging.model import Opinion

#: Before what an agent says of the same finding a second time.
ALSO = "Also: "
#: Agents that are named in a reason; one that more share has more than one reader can weigh.
_MAX_NAMED = 3


def all_words(ordered: Sequence[Opinion]) -> str:
    """The details of the first opinion, and what the others add: a title or a paragraph is told once."""
    best, *others = ordered
    told = [best.details] if best.details else []
    seen = {_head(best), *_paragraphs(best.details)}
    for other in sorted(others, key=lambda other: (other.id, other.title, other.details, other.evidence)):
        parts = [_head(other), *_paragraphs(other.details)]
        parts += [f"Evidence failed: {other.evidence}"] if other.evidence and other.evidence != best.evidence else []
        new = [part for part in dict.fromkeys(parts) if part not in seen]
        seen.update(new)
        told += new
    return "\n\n".join(told)


def _head(opinion: Opinion) -> str:
    return ALSO + (f"{opinion.id}: {opinion.title}" if opinion.id else opinion.title)


def _paragraphs(details: str) -> list[str]:
    """The parts that can be left out alone; code that is fenced may have empty lines, so it stays whole."""
    if "```" in details or "~~~" in details:
        return [details]
    return [part for part in details.split("\n\n") if part.strip()]


def causes(opinions: Sequence[Opinion]) -> str:
    """Why scores are lower than claimed, or were taken for granted, in brackets; empty if they are as given."""
    told = [(opinion.agent, cause) for opinion in opinions if (cause := ", ".join(_cause(opinion)))]
    if not told:
        return ""
    if len(opinions) == 1:
        return f" ({told[0][1]})"
    more = f"; and {len(told) - _MAX_NAMED} more" if len(told) > _MAX_NAMED else ""
    return f" ({'; '.join(f'{agent}: {cause}' for agent, cause in told[:_MAX_NAMED])}{more})"


def _cause(opinion: Opinion) -> Iterator[str]:
    if "unscored" in opinion.flags:
        yield "no score given"
    if opinion.claimed_confidence is not None:
        yield f"claimed {opinion.claimed_confidence:g}"
    if opinion.evidence:
        yield f"evidence failed: {opinion.evidence}"
    elif "relocated" in opinion.flags:
        yield "its place had to be corrected"
