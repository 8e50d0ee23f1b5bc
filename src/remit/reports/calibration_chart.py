"""A calibration as text and as SVG. The SVG has neither styles nor scripts, so any page can show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from remit.ledger.calibration import Calibration, CurvePoint, recalibrated
from remit.reports.layout import Line, Piece

#: The plot in characters.
_COLUMNS, _ROWS = 51, 16
#: The plot in pixels: its size, and the place of the square from (0, 0) to (1, 1).
_WIDTH, _HEIGHT = 480, 440
_LEFT, _TOP, _SIDE = 56, 40, 360
#: Recalibrated scores in one line.
_PAIRS = 6


def calibration_lines(calibration: Calibration) -> list[Line]:
    """Return the plot, the parts of the Brier score and the rates of the bands as lines."""
    confirmed, decisions = calibration.confirmed, calibration.decisions
    share = f", {_percent(confirmed / decisions)} confirmed" if decisions else ""
    interval = f" (95 %: {_interval(calibration.interval.low, calibration.interval.high)})" if decisions else ""
    lines: list[Line] = [[Piece(f"{decisions} decision{'s' * (decisions != 1)}{share}", "bold"), Piece(interval)]]
    if calibration.note:
        lines.append([Piece(calibration.note, "yellow")])
    if calibration.curve:
        lines += [[], *_plot(calibration.curve)]
    if calibration.brier is not None:
        brier = calibration.brier
        lines += [
            [],
            [
                Piece(f"Brier score {brier.score:.4f}", "bold"),
                Piece(
                    f" = reliability {brier.reliability:.4f} - resolution {brier.resolution:.4f}"
                    f" + uncertainty {brier.uncertainty:.4f}"
                ),
            ],
        ]
    return [*lines, [], *_band_table(calibration), *_recalibration(calibration)]


def _recalibration(calibration: Calibration) -> Iterator[Line]:
    """Yield what scores should have been, between the lowest and the highest score that was decided about."""
    known = calibration.recalibration
    if not known:
        return
    yield []
    yield [Piece("recalibrated: a score, and what it should have been", "bold")]
    scores = [percent / 100 for percent in range(0, 101, 5) if known[0][0] <= percent / 100 <= known[-1][0]] or [
        known[0][0]
    ]
    pairs = [f"{100 * score:.0f} → {100 * (recalibrated(calibration, score) or 0.0):.0f}" for score in scores]
    for start in range(0, len(pairs), _PAIRS):
        yield [Piece("  ".join(f"{pair:<10}" for pair in pairs[start : start + _PAIRS]).rstrip())]


def _plot(curve: tuple[CurvePoint, ...]) -> Iterator[Line]:
    """Yield the curve (o), its band (:) and the diagonal (.), the highest rate first."""
    rows = [[" "] * _COLUMNS for _ in range(_ROWS)]
    for column in range(_COLUMNS):
        score = column / (_COLUMNS - 1)
        rows[_row(score)][column] = "."
        near = _near(curve, score)
        if near is None:
            continue
        for level in range(_row(near.high), _row(near.low) + 1):
            rows[level][column] = ":"
        rows[_row(near.rate)][column] = "o"
    for number, row in enumerate(rows):
        label = {0: "100 %", (_ROWS - 1) // 2: " 50 %", _ROWS - 1: "  0 %"}.get(number, "     ")
        yield [Piece(f"{label} │", "dim"), Piece("".join(row))]
    yield [Piece("      └" + "─" * _COLUMNS, "dim")]
    yield [Piece("       0" + "score".center(_COLUMNS - 4) + "100", "dim")]
    yield [Piece("       o confirmed   : 95 % band   . a calibrated score", "dim")]


def _row(rate: float) -> int:
    return round((1 - rate) * (_ROWS - 1))


def _near(curve: tuple[CurvePoint, ...], score: float) -> CurvePoint | None:
    """Return the point of the curve at a score, between its first and its last point."""
    if not curve[0].score - 0.01 <= score <= curve[-1].score + 0.01:
        return None
    return min(curve, key=lambda point: abs(point.score - score))


def _band_table(calibration: Calibration) -> Iterator[Line]:
    yield [Piece(f"{'score':<33}{'decisions':>10}{'confirmed':>11}   95 % interval", "bold")]
    highest = 100.0
    for band in calibration.bands:
        name = f"{band.name} ({band.above:g} to {highest:g})"
        highest = band.above
        if not band.decisions:
            yield [Piece(f"{name:<33}{'0':>10}{'-':>11}", "dim")]
            continue
        rate = _percent(band.confirmed / band.decisions)
        interval = _interval(band.interval.low, band.interval.high)
        yield [Piece(f"{name:<33}{band.decisions:>10}{rate:>11}   {interval}")]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def calibration_svg(calibration: Calibration, *, title: str = "Calibration") -> str:
    """Return a reliability diagram. Its parts have classes, so that a page can choose their colours."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="calibration" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-labelledby="calibration-title calibration-text">'
    )
    parts = [
        head,
        f'<title id="calibration-title">{escape(title)}</title>',
        f'<desc id="calibration-text">{escape(_description(calibration))}</desc>',
        *_axes(title),
        *(_drawn(calibration.curve) if calibration.curve else _no_curve(calibration.note)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _description(calibration: Calibration) -> str:
    texts = [f"{calibration.confirmed} of {calibration.decisions} findings were confirmed."]
    if calibration.note:
        texts.append(f"{calibration.note}.")
    texts += [
        f"Score {100 * point.score:.0f}: {_percent(point.rate)} ({_interval(point.low, point.high)})."
        for point in _some(calibration.curve or ())
    ]
    return " ".join(texts)


def _some(curve: tuple[CurvePoint, ...]) -> Iterable[CurvePoint]:
    """Return up to six points of the curve, with its first and its last."""
    if len(curve) <= 6:
        return curve
    return (curve[round(number * (len(curve) - 1) / 5)] for number in range(6))


def _axes(title: str) -> Iterator[str]:
    bottom, right = _TOP + _SIDE, _LEFT + _SIDE
    yield f'<text class="title" x="{_LEFT}" y="24" font-size="15" fill="currentColor">{escape(title)}</text>'
    yield (
        f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" fill="none" '
        'stroke="currentColor" stroke-opacity="0.35"/>'
    )
    for number in range(0, 101, 25):
        x, y = _x(number / 100), _y(number / 100)
        yield (
            f'<text class="tick" x="{x:g}" y="{bottom + 18}" font-size="12" text-anchor="middle" '
            f'fill="currentColor">{number}</text>'
        )
        yield (
            f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:g}" font-size="12" text-anchor="end" '
            f'fill="currentColor">{number} %</text>'
        )
    yield (
        f'<line class="diagonal" x1="{_LEFT}" y1="{bottom}" x2="{right}" y2="{_TOP}" stroke="currentColor" '
        'stroke-opacity="0.5" stroke-dasharray="4 4"/>'
    )
    yield (
        f'<text class="axis" x="{_LEFT + _SIDE // 2}" y="{bottom + 36}" font-size="12" text-anchor="middle" '
        'fill="currentColor">score</text>'
    )


def _drawn(curve: tuple[CurvePoint, ...]) -> Iterator[str]:
    upper = [f"{_x(point.score):.1f},{_y(point.high):.1f}" for point in curve]
    lower = [f"{_x(point.score):.1f},{_y(point.low):.1f}" for point in reversed(curve)]
    yield f'<polygon class="band" points="{" ".join((*upper, *lower))}" fill="#3b82f6" fill-opacity="0.18"/>'
    line = " ".join(f"{_x(point.score):.1f},{_y(point.rate):.1f}" for point in curve)
    yield f'<polyline class="curve" points="{line}" fill="none" stroke="#3b82f6" stroke-width="2"/>'
    most = max(point.decisions for point in curve)
    for point in curve:
        radius = 1.5 + 3.5 * (point.decisions / most) ** 0.5
        yield (
            f'<circle class="dot" cx="{_x(point.score):.1f}" cy="{_y(point.rate):.1f}" r="{radius:.1f}" '
            f'fill="#3b82f6"><title>score {100 * point.score:g}: {_percent(point.rate)}, '
            f"{point.decisions} decisions</title></circle>"
        )


def _no_curve(note: str) -> Iterator[str]:
    yield (
        f'<text class="note" x="{_LEFT + _SIDE // 2}" y="{_TOP + _SIDE // 2}" font-size="13" text-anchor="middle" '
        f'fill="currentColor">{escape(note)}</text>'
    )


def _x(score: float) -> float:
    return _LEFT + _SIDE * score


def _y(rate: float) -> float:
    return _TOP + _SIDE * (1 - rate)
