"""The scorecards of agents, the comparison of two versions of one, and the calibration of their scores."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit.ledger.calibration import MIN_CURVE, MIN_RECALIBRATION, Calibration, calibrate
from remit.ledger.learned import decision_points
from remit.ledger.scorecards import Scorecard, compare
from remit.reports.calibration_chart import calibration_svg
from remit.store import ledger
from remit.surfaces.server.site import NotFound, choice_of, render, site_of

_TREND_DAYS = 30
#: The size of the drawing of a trend.
_WIDTH, _HEIGHT = 132, 28
#: Which score is compared with people's decisions.
SCORES = ("claimed", "checked")
_MAX_CACHED = 16


async def agent_list(request: Request) -> Response:
    """Show a scorecard for each agent, definition and model."""
    site = site_of(request)
    await ledger.fold(site.database)
    cards = await ledger.scorecards(site.database)
    trends = await ledger.trends(site.database, _TREND_DAYS)
    rows = [
        {
            "card": card,
            "id": version_id(card),
            "trend": trend_svg(trends.get((card.agent, card.definition, card.model), [])),
        }
        for card in cards
    ]
    return render(request, "agents.html", rows=rows, number=len({card.agent for card in cards}))


def version_id(card: Scorecard) -> str:
    """Return a text that names a version in an address: names of agents may contain anything."""
    return sha256("\t".join((card.agent, card.definition, card.model)).encode("utf-8", "replace")).hexdigest()[:32]


def trend_svg(shares: Sequence[float]) -> Markup:
    """Draw the share of results that were accepted at first try, day by day. The drawing contains only numbers."""
    if not shares:
        return Markup("")
    step = (_WIDTH - 4) / max(1, len(shares) - 1)
    points = [(2 + number * step, 2 + (_HEIGHT - 4) * (1 - share)) for number, share in enumerate(shares)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    label = f"accepted at first try: {shares[0]:.0%} on the first of {len(shares)} days, {shares[-1]:.0%} on the last"
    dot = f'<circle class="dot" cx="{points[-1][0]:.1f}" cy="{points[-1][1]:.1f}" r="2.2"/>'
    return Markup(  # noqa: S704 (numbers only)
        f'<svg class="trend" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        f'aria-label="{label}"><polyline class="curve" points="{line}" fill="none"/>{dot}</svg>'
    )


async def agent_comparison(request: Request) -> Response:
    """Compare two versions of an agent, the older one first."""
    site = site_of(request)
    names = (request.query_params.get("one", ""), request.query_params.get("other", ""))
    cards = {version_id(card): card for card in await ledger.scorecards(site.database)}
    chosen = [cards.get(name) for name in names]
    if any(card is None for card in chosen):
        raise NotFound("there is no such version; choose two on the page of agents")
    first, other = (card for card in chosen if card is not None)
    is_swapped = first.first_day is not None and other.first_day is not None and first.first_day > other.first_day
    before, after = (other, first) if is_swapped else (first, other)
    return render(request, "compare.html", before=before, after=after, changes=compare(before, after))


async def calibration_page(request: Request) -> Response:
    """Show how often findings with a score were confirmed."""
    site = site_of(request)
    agent = request.query_params.get("agent", "")[:200]
    score = choice_of(request, "score", SCORES) or SCORES[0]
    opinions = await ledger.decided_opinions(site.database)
    agents = sorted({opinion.agent for opinion in opinions if opinion.agent.isprintable()})
    points = decision_points(opinions, agent=agent or None, is_checked=score != SCORES[0])
    calibration = await asyncio.to_thread(_calibration, tuple(points))
    title = f"Calibration of {agent}" if agent else "Calibration"
    return render(
        request,
        "calibration.html",
        calibration=calibration,
        # The drawing escapes the title, and has neither scripts nor styles.
        drawing=Markup(calibration_svg(calibration, title=title)),  # noqa: S704
        agent=agent,
        agents=agents,
        score=score,
        scores=SCORES,
        min_curve=MIN_CURVE,
        min_recalibration=MIN_RECALIBRATION,
    )


@lru_cache(_MAX_CACHED)
def _calibration(points: tuple[tuple[float, bool], ...]) -> Calibration:
    """Return a calibration; the last ones are kept, because the resampling takes a while."""
    return calibrate(points)


ROUTES = (
    Route("/agents", agent_list),
    Route("/agents/compare", agent_comparison),
    Route("/calibration", calibration_page),
)
