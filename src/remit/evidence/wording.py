"""Words for people about what was found."""

from __future__ import annotations

from remit.evidence.model import Place, Reference


def shown(place: Place) -> str:
    """A place as people write it."""
    return f"{place.path}:{place.line}" if place.line else place.path


def suggestion(reference: Reference) -> str:
    """`; did you mean a/b.py:12?`, or nothing."""
    return f"; did you mean {shown(reference.found)}?" if reference.found else ""
