"""Files of a project that decide what runs next: settings of Remit and of clients, hooks, servers, tasks.

No job writes these files, wherever in a project they are: a client that is started in a folder below obeys those of
that folder.
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
#: The files, in lower case.
FOLDED_FILES = frozenset(name.lower() for name in FILES)
