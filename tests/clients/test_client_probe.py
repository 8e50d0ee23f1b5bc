"""The test session of `remit doctor` leaves nothing in the project."""

from __future__ import annotations

from pathlib import Path

from remit.clients.setup.client_probe import ProbeCall, scripted_model


def test_the_state_of_the_test_session_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / ".remit/gate"
    folder.mkdir(parents=True)
    (folder / "ses_mine.json").write_text("{}", encoding="utf-8")
    (folder / "ses_gone.json").symlink_to(folder / "removed while the doctor looks.json")
    before = set(folder.iterdir())
    with scripted_model(tmp_path, ProbeCall("edit", "path", {})) as model:
        named = model.call["input"]["path"]
        # A hook that was killed while it replaced the state of a long session leaves the old file too.
        for name in ("ses_test.json", "ses_test.json.old", "ses_test.lock"):
            (folder / name).write_text(named, encoding="utf-8")
    assert set(folder.iterdir()) == before
