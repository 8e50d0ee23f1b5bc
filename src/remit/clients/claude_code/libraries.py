"""Where the libraries of a check stand, for a Python that was started without its own paths.

Told by this installation alone: a file of the project could name a folder of the project, and have its code run.
"""

# pathlib takes as long to load as all of the gate.

from __future__ import annotations

import os
import sys

#: Stands beside the others, and is always needed.
_SIGN = "msgspec"


def make_reachable() -> None:
    """Put the folder of the libraries at the end of `sys.path`, unless it is there."""
    if any(os.path.isdir(os.path.join(entry, _SIGN)) for entry in sys.path):
        return
    folder = _of_environment()
    if os.path.isdir(os.path.join(folder, _SIGN)):
        sys.path.append(folder)
        return
    import site  # late: it looks into each .pth file; only an unusual layout needs it

    site.main()


def _of_environment() -> str:
    """The folder of a virtual environment whose program runs here."""
    above = os.path.dirname(os.path.dirname(sys.executable))
    if os.name == "nt":
        return os.path.join(above, "Lib", "site-packages")
    return os.path.join(above, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
