"""Make the libraries of a check importable in a hook process, which runs without site-packages.

Only this installation decides where they are: a path from a file of the project could lead to code of the project.
"""

# Without pathlib, which takes as long to load as the whole gate.

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from importlib.metadata import Distribution, DistributionFinder
    from types import ModuleType

#: The packages that checks and settings import. Others of the environment stay out of the process: some of these
#: libraries load optional packages if they find them, and those would take longer to load than the check.
_LIBRARIES = frozenset(
    {"msgspec", "pyromark", "rapidfuzz", "yaml", "_yaml", "tree_sitter"}
    | {f"tree_sitter_{name}" for name in ("python", "javascript", "typescript", "go", "rust", "java", "c", "cpp")}
    | {f"tree_sitter_{name}" for name in ("c_sharp", "ruby", "php", "kotlin", "swift")}
)
#: Every check needs this one, so its folder shows where the others are.
_LANDMARK = "msgspec"


class _LibraryFinder:
    """Finds the libraries, and no other package, in one folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a top-level library; its submodules are found by its own path."""
        if path is not None or name not in _LIBRARIES:
            return None
        from importlib.machinery import PathFinder

        return PathFinder.find_spec(name, [self._folder], target)

    def find_distributions(self, context: DistributionFinder.Context) -> Iterable[Distribution]:
        """Return the metadata of installed packages, which holds Remit's version."""
        from importlib.metadata import DistributionFinder, MetadataPathFinder

        return MetadataPathFinder.find_distributions(DistributionFinder.Context(name=context.name, path=[self._folder]))


def make_libraries_importable() -> None:
    """Let this process import the libraries, unless it already can."""
    if any(isinstance(finder, _LibraryFinder) for finder in sys.meta_path):
        return
    if any(os.path.isdir(os.path.join(entry, _LANDMARK)) for entry in sys.path):
        return
    folder = _site_packages()
    if os.path.isdir(os.path.join(folder, _LANDMARK)):
        sys.meta_path.append(_LibraryFinder(folder))
        return
    import site  # late: it reads every .pth file, and only an unusual layout needs it

    site.main()


def make_all_importable() -> None:
    """Let this process import every package of its environment, after the others; telemetry needs many."""
    folder = _site_packages()
    if os.path.isdir(os.path.join(folder, _LANDMARK)) and folder not in sys.path:
        sys.path.append(folder)


def _site_packages() -> str:
    """Return the folder of packages of the virtual environment that this Python belongs to."""
    environment = os.path.dirname(os.path.dirname(sys.executable))
    if os.name == "nt":
        return os.path.join(environment, "Lib", "site-packages")
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    return os.path.join(environment, "lib", version, "site-packages")
