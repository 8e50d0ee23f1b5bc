"""How pages write the texts of agents."""

from __future__ import annotations

from remit.surfaces.server.page_formats import emphasized, task_line, text_parts


def test_blocks_of_code_are_separated_from_text() -> None:
    text = "Look:\n```python\na = 1\n\n``` b\n```\n\n**Fix**: remove it\n```\nno end"
    assert text_parts(text) == [
        (False, "Look:"),
        (True, "a = 1\n\n``` b"),
        (False, "**Fix**: remove it"),
        (True, "no end"),
    ]
    assert text_parts("") == []
    assert text_parts("plain") == [(False, "plain")]


def test_only_emphasis_becomes_markup() -> None:
    assert emphasized("**Risk**: a <b>x</b> & **<script>**") == (
        "<b>Risk</b>: a &lt;b&gt;x&lt;/b&gt; &amp; <b>&lt;script&gt;</b>"
    )
    assert emphasized("2 ** 3 ** 4\n**not\nclosed**") == "2 ** 3 ** 4\n**not\nclosed**"


def test_a_list_shows_the_beginning_of_a_task_without_secrets() -> None:
    token = "ghp_" + "aB3d" * 9
    assert task_line(f"deploy\n  with {token} now") == "deploy with [GitHub token removed] now"
    cut = task_line("x" * 140 + f" {token}" + " y" * 100)
    assert len(cut) <= 162
    assert cut.endswith(" …"), "it ends after a word"
    assert "aB3d" not in cut, "it is removed before the text is cut"
