"""A small tree to check claims against, and a result that contains the claims."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from remit.contract.kinds import KINDS
from remit.contract.parse import parse, parse_whole
from remit.evidence.find_code import CodeFinder
from remit.evidence.gather import Asked, gather
from remit.evidence.model import Checked, CodeFacts, Evidence
from remit.evidence.sources import Sources
from remit.workspace.files import SourceFile, Workspace, WorkTree

_APP = {
    1: '"""The way in."""',
    3: "import hmac",
    5: "from src import store",
    12: "def login(name, password):",
    13: '    """Let a user in."""',
    14: "    user = store.find_user(name)",
    15: "    if user is None or not check_password(user, password):",
    16: "        return None",
    17: "    return open_session(user)",
    22: "def check_password(user, password):",
    23: "    return hmac.compare_digest(user.password, password)",
    31: "def open_session(user):",
    32: "    token = new_token()",
    33: "    SESSIONS[token] = user",
    34: "    return token",
    40: "SESSIONS = {}",
}
_STORE = {
    1: "USERS = {}",
    8: "class Store:",
    14: "def find_user(name):",
    15: "    return USERS.get(name)",
    30: "# the end",
}

#: Path -> its number of lines and the text of some of them; the others are blank.
FILES: dict[str, tuple[int, dict[int, str]]] = {
    "src/app.py": (40, _APP),
    "src/store.py": (30, _STORE),
    "src/__init__.py": (3, {1: '"""The shop."""'}),
    "src/empty.py": (0, {}),
    "src/auth/login.ts": (60, {45: "export async function authenticate(user: User) {"}),
    "src/user.service.spec.ts": (20, {3: "describe('users', () => {"}),
    "src/cart.cpp": (50, {12: "void Cart::add(Item item) {"}),
    "include/shop/cart.hpp": (20, {4: "class Cart {"}),
    "src/lib.rs": (30, {7: "pub fn parse(text: &str) -> Ast {"}),
    "src/main/java/com/acme/shop/Cart.java": (90, {57: "    public void add(Item item) {"}),
    "src/routes/+page.svelte": (20, {}),
    "src/routes/blog/[slug]/+page.server.ts": (20, {}),
    "src/routes/[id=integer]/+page.ts": (20, {}),
    "app/[slug]/page.tsx": (30, {}),
    "app/(shop)/cart/[id]/page.tsx": (30, {}),
    "app/@modal/(.)photo/[id]/page.tsx": (30, {}),
    "app/routes/users.$id.edit.tsx": (30, {}),
    "cmd/server/main.go": (40, {9: "func main() {", 21: "func (s *Server) Listen(port int) error {"}),
    "lib/shop/cart.rb": (40, {12: "  def add(item)"}),
    "packages/@acme/ui/src/Button.tsx": (40, {}),
    "tests/test_app.py": (20, {5: "def test_login():"}),
    "scripts/deploy.sh": (20, {1: "#!/bin/sh", 3: "set -eu", 4: "rsync -a dist/ host:/srv/shop"}),
    "bin/deploy": (10, {1: "#!/bin/sh"}),
    "config/app.yaml": (20, {3: "timeout: 30", 4: "retries:", 5: "  - first", 6: "  - second"}),
    "docs/Release Notes.md": (20, {}),
    "docs/設計.md": (20, {}),
    "docs/はじめに/概要.md": (20, {}),
    "vendor/jquery-3.6.0.min.js": (12, {}),
    ".github/workflows/ci.yml": (40, {12: "  test:"}),
    ".env": (5, {}),
    ".env.local": (5, {}),
    ".gitignore": (5, {}),
    "Dockerfile": (20, {12: "RUN make"}),
    "Makefile": (20, {3: "test:"}),
    "docker-compose.yml": (20, {}),
    "package.json": (30, {}),
    "README.md": (50, {}),
    "go.mod": (9, {}),
}


def plant(root: Path) -> Path:
    """Write the small tree to a folder."""
    return write(
        root,
        {
            path: "".join(f"{lines.get(number, '')}\n" for number in range(1, count + 1))
            for path, (count, lines) in FILES.items()
        },
    )


HEAD = "## Some Agent Result\n\n### Status\nSUCCESS\n\n### Summary\nLooked at it. Found it.\n\n### Findings\n\n"


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Write files, by path, to a folder and return it."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8", newline="")
    return root


def numbered(count: int) -> str:
    """Return a file with this many lines, each with its number."""
    return "".join(f"value_{number} = {number}\n" for number in range(1, count + 1))


def evidence_of(body: str, tree: Path | Workspace | None, *, kind: str = "generic", head: str = HEAD) -> Evidence:
    """Return the evidence for a result with this body: a strict text."""
    (document,) = parse(head + body)
    return gather(document, KINDS[kind], Sources(workspace=_workspace(tree)))


def evidence_in(text: str, tree: Path | Workspace | None, path: str = "", asked: Asked = Asked("document")) -> Evidence:  # noqa: B008 (frozen)
    """Return the evidence for a text that is not a result, in a file of the tree if it has a path."""
    (document,) = parse_whole(text)
    return gather(document, KINDS["generic"], Sources(workspace=_workspace(tree)), path, asked)


def _workspace(tree: Path | Workspace | None) -> Workspace | None:
    return WorkTree(tree) if isinstance(tree, Path) else tree


def format_expected(path: str, line: int | None, end_line: int | None = None) -> str:
    """Return a location as the expectations write it."""
    return path if line is None else f"{path}:{line}" + (f"-{end_line}" if end_line is not None else "")


def location(checked: Checked) -> str:
    """Return the cited location: `path:line-last`."""
    return format_expected(checked.path, checked.line, checked.end_line)


def shown(checked: Checked) -> str:
    """Return `path:line outcome`, with `> path:line` if something was found."""
    target = f" > {format_expected(checked.found.path, checked.found.line)}" if checked.found is not None else ""
    return f"{location(checked)} {checked.outcome}{target}"


def references(body: str, tree: Path | Workspace | None, **options: str) -> list[str]:
    """Return the references of a result, each as `path:line outcome > found`."""
    return [shown(checked) for checked in evidence_of(body, tree, **options).references]


def quotes(body: str, tree: Path | Workspace | None, **options: str) -> list[str]:
    """Return the quotes of a result, each as `path:line outcome > found`."""
    return [shown(checked) for checked in evidence_of(body, tree, **options).quotes]


def look(code: str, lines: list[str], line: int | None, end_line: int | None = None, path: str = "a.py") -> CodeFacts:
    """Return where code is in a file with these lines."""
    return CodeFinder().look(code, SourceFile(path, "\n".join([*lines, ""]).encode()), line, end_line)
