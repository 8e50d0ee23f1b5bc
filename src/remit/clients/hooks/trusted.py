"""The settings that a person has confirmed. Hooks obey a changed file only after `remit gate trust`.

The digests of the configuration are recorded at `<project>/.remit/gate/trusted.json`: by `remit install`, by
`remit gate trust`, and by the first compilation of a project that has no record yet.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from remit.clients.hooks.compiled import folder_of, read_compiled
from remit.configuration import settings_digests
from remit.errors import EnvironmentBroken
from remit.gate.file_versions import read_bytes
from remit.gate.record_store import make_private
from remit.workspace.atomic_write import replace_file

FILE = "trusted.json"
SCHEMA = "remit.trusted/1"
_MAX_BYTES = 100_000


def confirm_settings(project: Path) -> list[str]:
    """Record the settings as they are now. Return their files."""
    digests = _digests(project)
    folder = folder_of(str(project))
    make_private(folder)
    data = json.dumps({"schema": SCHEMA, "settings": digests}, ensure_ascii=True).encode("ascii")
    replace_file(Path(folder, FILE), data, mode=0o600, sync=False)
    return sorted(path for path, digest in digests.items() if digest)


def unconfirmed_settings(project: Path) -> list[str]:
    """Return the configuration files that differ from those that a person confirmed; the first time, confirm them."""
    recorded = _recorded(project)
    if recorded is None:
        with suppress(EnvironmentBroken, OSError):  # who writes the compiled file reports the same problem
            confirm_settings(project)
        return []
    now = _digests(project)
    return sorted(path for path in {*now, *recorded} if now.get(path, "") != recorded.get(path, ""))


def _digests(project: Path) -> dict[str, str]:
    """Return the digests by paths relative to the project, so that it can be moved."""
    found = settings_digests(project.absolute())
    return {os.path.relpath(path, project.absolute()): digest for path, digest in found.items()}


def _recorded(project: Path) -> dict[str, str] | None:
    try:
        values: Any = json.loads(read_bytes(os.path.join(folder_of(str(project)), FILE), _MAX_BYTES) or b"")
    except (ValueError, RecursionError):
        # If only this record was removed, the confirmed settings are not known any more. An earlier version had none.
        compiled = read_compiled(str(project))
        return None if compiled is None or "notice" not in compiled else {}
    settings = values.get("settings") if isinstance(values, dict) else None
    return {str(path): str(digest) for path, digest in settings.items()} if isinstance(settings, dict) else {}


def notice(files: list[str]) -> str:
    """Return the message for the user about files that are not obeyed."""
    names = ", ".join(files)
    return (
        f"{names} changed since you confirmed the settings, so the settings confirmed before stay effective. Look at "
        "the change; then restore the file, or confirm it with `remit gate trust`"
    )
