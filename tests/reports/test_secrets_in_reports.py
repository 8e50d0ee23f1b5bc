"""No report shows the secret that a finding is about."""

from __future__ import annotations

from pathlib import Path

import pytest
from merge_samples import finding, merge_of

from remit.reports.layout import plain_lines
from remit.reports.merge.html import merge_html
from remit.reports.merge.markdown import merge_markdown
from remit.reports.merge.sarif import merge_sarif
from remit.reports.merge.text import merge_text_lines
from remit.workspace.files import WorkTree

KEY = "AKIA" + "Z3QHXK5VJ2N7WLPD"


@pytest.mark.parametrize("form", ["text", "html", "markdown", "sarif"])
def test_the_line_of_a_secret_is_cited_without_it(tmp_path: Path, form: str) -> None:
    (tmp_path / "a.py").write_text(f'aws_key = "{KEY}"\nconnect(host)\n')
    tree = WorkTree(tmp_path)
    rows = [finding(f"{line}", title=f"T{line}", place=("a.py", line, None), category="security") for line in (1, 2)]
    merge = merge_of(*rows)
    report = {
        "text": lambda: plain_lines(merge_text_lines(merge, 80, tree)),
        "html": lambda: merge_html(merge, tree),
        "markdown": lambda: merge_markdown(merge, tree),
        "sarif": lambda: str(merge_sarif(merge, version="1", workspace=tree)),
    }[form]()
    assert KEY not in report
    assert "connect(host)" in report
    assert "a.py" in report
