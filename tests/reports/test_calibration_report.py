"""The plot has no style and no script, shows every band, and states what is missing."""

from __future__ import annotations

import random
import re
from xml.etree import ElementTree

from remit.ledger.calibration import calibrate
from remit.ledger.learned import DecidedOpinion, learn
from remit.ledger.scorecards import Scorecard, Sums, compare
from remit.reports.calibration_chart import calibration_lines, calibration_svg
from remit.reports.layout import plain_lines
from remit.reports.scorecard_text import difference_lines, learned_lines, scorecard_lines

SVG = "{http://www.w3.org/2000/svg}"


def drawn(number: int) -> list[tuple[float, bool]]:
    chance = random.Random(4)
    return [(score := chance.randrange(50, 100) / 100, chance.random() < score - 0.2) for _ in range(number)]


def test_the_picture_is_valid_and_passes_a_strict_policy() -> None:
    text = calibration_svg(calibrate(drawn(300)), title='<script>alert("x")</script>')
    root = ElementTree.fromstring(text)

    assert not re.search(r"\bstyle=|<style|<script|\bon\w+=|javascript:|<foreignObject|href", text)
    assert {"band", "curve", "dot", "diagonal", "frame", "tick"} <= {node.get("class") for node in root.iter()}
    assert root.find(f"{SVG}title").text == '<script>alert("x")</script>'  # type: ignore[union-attr]
    assert "Score 50:" in str(root.find(f"{SVG}desc").text)  # type: ignore[union-attr]


def test_the_curve_is_inside_the_frame_and_rises() -> None:
    root = ElementTree.fromstring(calibration_svg(calibrate(drawn(300))))
    line = next(node for node in root.iter() if node.get("class") == "curve")
    points = [tuple(map(float, point.split(","))) for point in str(line.get("points")).split()]

    assert all(56 <= x <= 416 and 40 <= y <= 400 for x, y in points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)


def test_too_few_decisions_have_a_note_instead_of_a_curve() -> None:
    text = calibration_svg(calibrate(drawn(20)))

    assert "20 decisions: a curve needs at least 50" in text
    assert 'class="curve"' not in text


def test_the_text_has_the_plot_the_score_and_the_bands() -> None:
    text = plain_lines(calibration_lines(calibrate(drawn(300))))

    assert "300 decisions" in text
    assert "Brier score" in text
    assert "resolution" in text
    assert text.count("o") > 20
    assert "certain (95 to 100)" in text
    assert "ask for clarification (0 to 60)" in text
    assert max(map(len, text.split("\n"))) <= 80


def test_the_text_of_no_decisions_states_that() -> None:
    text = plain_lines(calibration_lines(calibrate([])))

    assert text.startswith("0 decisions\n0 decisions: a curve needs at least 50")


def test_scorecards_are_a_table() -> None:
    sums = Sums(results=10, accepted=8, first_tries=9, accepted_first=6, claims=200, invented=3, cost=4.0)
    card = Scorecard(
        agent="qa\x1b[31m",
        definition="sha256:0123456789abcdef",
        model="anthropic:m",
        sums=sums,
        confirmed=3,
        rejected=1,
    )
    text = plain_lines(scorecard_lines([card]))

    assert "0123456789ab m" in text
    assert "67 %" in text
    assert "75 % of 4" in text
    assert "$0.500" in text
    assert "\x1b" not in text
    assert plain_lines(scorecard_lines([])) == "no results are recorded yet"


def test_a_comparison_marks_what_chance_may_explain() -> None:
    earlier = Scorecard(agent="a", definition="1", model="m", sums=Sums(first_tries=10, accepted_first=5))
    other = Scorecard(agent="a", definition="2", model="m", sums=Sums(first_tries=10, accepted_first=6))
    text = plain_lines(difference_lines(compare(earlier, other)))

    assert "0.5 -> 0.6" in text
    assert "better ?" in text


def test_learned_weights_have_their_sample_sizes() -> None:
    opinions = [DecidedOpinion(item=1, agent="qa", category="style", confidence=80, is_confirmed=True)]
    text = plain_lines(learned_lines(learn(opinions)))

    assert "qa/style" in text
    assert "1 of 1 confirmed" in text
    assert "2 agents" in text
    assert "+10 points" in text
