"""Files of a project that decide what runs next: settings of Remit and of clients, hooks, servers, tasks.

This is the only list. Neither the gate nor a job lets anybody but a person write these files, wherever in a project
they are: a client that is started in a folder below obeys those of that folder.
"""

from __future__ import annotations

#: The clients that Remit supports, as they are named on the command line, in the order in which they are listed.
CLIENTS: tuple[str, ...] = ("claude-code", "codex", "copilot", "opencode")
#: Files, by their last name. Case is ignored.
FILES: tuple[str, ...] = (
    *("remit.toml", ".remit-dismissals.toml", ".mcp.json", ".claude.json", ".envrc"),
    *("opencode.json", "opencode.jsonc", ".aider.conf.yml", ".roomodes"),
    # Hooks of git.
    ".pre-commit-config.yaml",
    *("lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json"),
    *(".lefthook.yml", ".lefthook.yaml", ".lefthook.toml", ".lefthook.json"),
    # Continuous integration.
    *(".gitlab-ci.yml", "Jenkinsfile", ".travis.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml"),
)
#: Folders of clients, editors, hooks and continuous integration, with everything in them.
FOLDERS: tuple[str, ...] = (
    *(".claude-plugin", ".codex", ".cursor", ".gemini", ".opencode", ".roo", ".windsurf", ".zed"),
    *(".devcontainer", ".husky", ".circleci"),
)
#: Files and folders that decide, in a folder with others that do not.
PARTS: tuple[str, ...] = (
    *(".claude/settings*.json", ".claude/agents", ".claude/commands", ".claude/skills", ".claude/hooks"),
    ".claude/plugins",
    *(".github/hooks", ".github/agents", ".github/mcp.json", ".github/workflows", ".github/actions"),
    *(".clinerules/hooks", ".clinerules/workflows", ".kiro/hooks", ".kiro/settings", ".kiro/agents"),
    *(".vscode/mcp.json", ".vscode/tasks.json", ".vscode/settings.json"),
    ".git/hooks",
)
#: Every entry, as a path from the folder that it decides for. The last name may have a wildcard.
DECIDING: tuple[str, ...] = (*FILES, *FOLDERS, *PARTS)
#: The first names of the entries that are not files.
STARTS = frozenset({*FOLDERS, *(part.partition("/")[0] for part in PARTS)})
#: The files, in lower case.
FOLDED_FILES = frozenset(name.lower() for name in FILES)
#: Examples that git puts next to hooks, and that it does not run.
SAMPLE = ".sample"


def deciding_parts(name: str) -> list[str]:
    """Return a path from each folder that it may decide for: `a/.claude/agents/b.md` is `.claude/agents/b.md`."""
    parts = name.split("/")
    paths = ["/".join(parts[start:]) for start, part in enumerate(parts) if start and part.lower() in STARTS]
    if len(parts) > 1 and parts[-1].lower() in FOLDED_FILES:
        paths.append(parts[-1])
    return paths
