"""Files that decide what runs next are found wherever they are."""

from __future__ import annotations

from pathlib import Path

from remit.dispatch.tools.deciding import deciding_entries


def test_deciding_files_are_found_in_every_folder(tmp_path: Path) -> None:
    for name in ("a/b/.claude/settings.json", "a/REMIT.toml", "c/.mcp.json", ".git/remit.toml", "d/plain.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "c")
    assert sorted(deciding_entries(tmp_path)) == ["a/REMIT.toml", "a/b/.claude", "c/.mcp.json"]
