"""How to install an extra. The place that Remit was installed from has it: a checkout, or an index of packages."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from urllib.parse import unquote, urlsplit

_FROM_HERE = "direct_url.json"
#: Package -> the extra that installs it
_PACKAGES = {
    **dict.fromkeys(("anyio", "psycopg", "psycopg_pool", "procrastinate", "pydantic_ai"), "run"),
    **dict.fromkeys(("httptools", "starlette", "uvicorn"), "serve"),
    **dict.fromkeys(("mcp", "mcp_types"), "mcp"),
}


def missing_extra(error: ModuleNotFoundError) -> str:
    """Return the extra whose package was not found; empty for any other module."""
    return _PACKAGES.get(str(error.name).partition(".")[0], "")


def install_command(extra: str, origin: str | None = None) -> str:
    """Return the command that installs an extra. `origin` describes the place; default: that of this installation."""
    try:
        source = json.loads(origin or distribution("remit").read_text(_FROM_HERE) or "{}")
    except (PackageNotFoundError, ValueError):
        source = {}
    url = str(source.get("url") or "")
    if "dir_info" in source and urlsplit(url).scheme == "file":
        editable = "-e " if source["dir_info"].get("editable") else ""
        return f"pip install {editable}'{unquote(urlsplit(url).path)}[{extra}]'"
    if "vcs_info" in source:
        version = source["vcs_info"]
        return f"pip install 'remit[{extra}] @ {version.get('vcs')}+{url}@{version.get('commit_id')}'"
    return f"pip install 'remit[{extra}] @ {url}'" if url else f"pip install 'remit[{extra}]'"


def need_of(extra: str) -> str:
    """Return what is missing, and how to install it, for a message."""
    return f"the extra `{extra}`: {install_command(extra)}"
