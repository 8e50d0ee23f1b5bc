"""Handwritten parts of results as models write them, with every reference in the small tree and its outcome.

A location without an outcome exists; `> location` is the suggested or found one. There must be no other references.
"""

from __future__ import annotations

from typing import NamedTuple

from remit.evidence.model import OUTCOMES


class Sample(NamedTuple):
    """A text and its references in order."""

    text: str
    expected: tuple[str, ...]


_TEXTS: dict[str, str] = {
    # English
    "The handler in `src/app.py:12` calls the store (`src/store.py:14`).": "src/app.py:12, src/store.py:14",
    "Passwords are compared in src/app.py:22-23, in constant time.": "src/app.py:22-23",
    "I verified this by reading src/app.py (lines 12-17).": "src/app.py:12-17",
    "The bug is on line 14 of `src/app.py`; nothing else is affected.": "src/app.py:14",
    "Look at src/app.py:12 and :15 for both branches.": "src/app.py:12, src/app.py:15",
    "**Location:** `src/app.py`, line 12": "src/app.py:12",
    "**File:** src/app.py **Line:** 12": "src/app.py:12",
    "Two callers: src/app.py:14, tests/test_app.py:5.": "src/app.py:14, tests/test_app.py:5",
    "Starting at src/app.py:12 → src/store.py:14 → src/app.py:31": "src/app.py:12, src/store.py:14, src/app.py:31",
    "It runs from line 12 to line 17 in src/app.py.": "src/app.py:17",
    "src/app.py:12 — 3 arguments, one of them unused": "src/app.py:12",
    "`src/app.py:12`: 3 problems": "src/app.py:12",
    "Both src/{app,store}.py:14 matter.": "src/app.py:14, src/store.py:14",
    "> src/app.py:12 is quoted here": "src/app.py:12",
    "None (see src/app.py:12)": "src/app.py:12",
    "- top\n  - nested src/app.py:12\n    - deeper src/store.py:14": "src/app.py:12, src/store.py:14",
    "##### What src/app.py:12 does\n\nNothing.": "src/app.py:12",
    "<details><summary>src/app.py:12</summary></details>": "src/app.py:12",
    "../shop/src/app.py:12": "../shop/src/app.py:12 missing-file",
    "/etc/passwd:1 and /etc/hosts.txt:1": "/etc/passwd:1 missing-file, /etc/hosts.txt:1 missing-file",
    "~/.ssh/config:2": "~/.ssh/config:2 missing-file",
    # Tools
    '  File "src/app.py", line 12, in login': "src/app.py:12",
    "at authenticate (src/auth/login.ts:45:17)": "src/auth/login.ts:45",
    "at async Promise.all (index 0) src/auth/login.ts:45:17": "src/auth/login.ts:45",
    "src/app.py:12:5: E501 Line too long (130 > 120)": "src/app.py:12",
    "src/app.py:12: error: Incompatible types  [arg-type]": "src/app.py:12",
    "src/auth/login.ts(45,17): error TS2304: Cannot find name": "src/auth/login.ts:45",
    "src/auth/login.ts(45): warning": "src/auth/login.ts:45",
    "src\\cart.cpp(12): error C2065: undeclared": "src/cart.cpp:12",
    "  --> src/lib.rs:7:12": "src/lib.rs:7",
    "cmd/server/main.go:21:2: undefined: port": "cmd/server/main.go:21",
    "::warning file=src/app.py,line=12,col=5::unused": "src/app.py:12",
    "src/app.py:12:def login(name, password):": "src/app.py:12",
    "FAILED tests/test_app.py:5 - AssertionError": "tests/test_app.py:5",
    "tests/test_app.py:5: AssertionError": "tests/test_app.py:5",
    "lib/shop/cart.rb:12:in `add'": "lib/shop/cart.rb:12",
    "HEAD:src/app.py:12": "src/app.py:12",
    "./src/app.py:12:3": "src/app.py:12",
    "code -g src/app.py:12:3": "src/app.py:12",
    "at com.acme.shop.Cart.add(Cart.java:57)": "Cart.java:57 verified > src/main/java/com/acme/shop/Cart.java:57",
    # Links
    "The entry is [app.py:12](src/app.py#L12).": "src/app.py:12",
    "See [`login`](src/app.py#L12-L17) and [the store](src/store.py#L14).": (
        "src/app.py:12-17 verified, src/store.py:14"
    ),
    "[page](app/(shop)/cart/[id]/page.tsx#L12)": "app/(shop)/cart/[id]/page.tsx:12",
    "https://github.com/acme/shop/blob/main/src/ghost.py": "",
    "[ghost.py:3](src/ghost.py#L3)": "src/ghost.py:3 missing-file",
    # Names
    "Secrets in `.env:3` and `.env.local:4`, ignored by `.gitignore:2`.": ".env:3, .env.local:4, .gitignore:2",
    "`Makefile:3` runs what `Dockerfile:12` builds.": "Makefile:3, Dockerfile:12",
    "package.json:12, go.mod:3, docker-compose.yml:4, README.md:1": (
        "package.json:12, go.mod:3, docker-compose.yml:4, README.md:1"
    ),
    "The route (app/(shop)/cart/[id]/page.tsx:5) is dynamic.": "app/(shop)/cart/[id]/page.tsx:5",
    "src/routes/+page.svelte:12, src/routes/blog/[slug]/+page.server.ts:4": (
        "src/routes/+page.svelte:12, src/routes/blog/[slug]/+page.server.ts:4"
    ),
    "`docs/Release Notes.md:12` and `docs/Release Notes.md#L3-L5`": (
        "docs/Release Notes.md:12, docs/Release Notes.md:3-5"
    ),
    "src\\auth\\login.ts:45": "src/auth/login.ts:45",
    "C:\\Users\\me\\shop\\src\\app.py:12": "src/app.py:12",
    "app/[id]/page.tsx:12": "app/[id]/page.tsx:12 missing-file > app/(shop)/cart/[id]/page.tsx:12",
    "docs/Release Note.md:12 and Jenkinsfile:3": "Note.md:12 missing-file",
    # Japanese
    "ログイン処理はsrc/app.py:12にあり、src/store.py:14を呼ぶ。": "src/app.py:12, src/store.py:14",
    "src/app.py（12行目）と src/store.py（14行目）": "src/app.py:12, src/store.py:14",
    "CIの設定は.github/workflows/ci.yml:12です。": ".github/workflows/ci.yml:12",
    "処理は12:30に始まり、比率は3:1である。": "",
    # Chinese
    "登录逻辑位于src/app.py第12行，存储位于src/store.py第14行。": "src/app.py:12, src/store.py:14",
    "位置：`src/app.py`，行号：12": "src/app.py:12",
    "比例为 16:9，时间是 10:15。": "",
    # Decoys
    "Start it with `docker run -p 8080:80 acme/shop:12` on node:20 behind nginx:1.25.": "",
    "The server listens on localhost:8080 and talks to redis:6379 and db.internal:5432.": "",
    "The class `App\\Models\\User` and the namespace App::Models::User:12": "",
    "see line 12 above, lines 3-4 below, and #L12": "",
    # Tables
    (
        "| Item | Location | Relevance |\n"
        "|---|---|---|\n"
        "| a | `src/app.py:12`, `src/store.py:14` | two |\n"
        "| b | src/app.py:12; src/store.py:14<br>tests/test_app.py:5 | three |\n"
        "| c | src/app.py | bare |\n"
        "| d | [app.py](src/app.py) | bare link |\n"
        "| e | src/app.py: 12 | space |\n"
        "| f | `src/app.py` (lines 12-17) | words |\n"
        "| g | src/app.py:12, 22 | list |\n"
        "| h | src/app.py#L12 | hash |\n"
    ): (
        "src/app.py:12, src/store.py:14, src/app.py:12, src/store.py:14, tests/test_app.py:5, src/app.py, "
        "src/app.py, src/app.py:12, src/app.py:12-17, src/app.py:12, src/app.py:22, src/app.py:12"
    ),
    (
        "| Issue | File | Line |\n"
        "|---|---|---|\n"
        "| a | src/app.py | 12 |\n"
        "| b | `src/store.py` | 14-15 |\n"
        "| c | src/app.py | 12, 22 |\n"
    ): ("src/app.py:12, src/store.py:14-15, src/app.py:12, src/app.py:22"),
    "| Issue | File | Line |\n|---|---|---|\n| a | src/app.py | 99 |\n": "src/app.py:99 out-of-range",
    "| File | Lines | Purpose |\n|---|---|---|\n| src/app.py | 400 | a count |\n": "src/app.py",
    "| ファイル | 説明 |\n|---|---|\n| src/app.py | 入口 |\n": "src/app.py",
    "| 文件:行 | 描述 |\n|---|---|\n| src/app.py:12 | 入口 |\n": "src/app.py:12",
    "| File | Purpose |\n|---|---|\n| N/A | none |\n| - | none |\n| various | none |\n| src/**/*.py | glob |\n": "",
    "| File | Purpose |\n|---|---|\n| src/ | all |\n| src/ghost.py | none |\n": "src, src/ghost.py missing-file",
    "| Entry | Note |\n|---|---|\n| src/app.py | bare, but in no column for places |\n": "",
    "| Path | Location |\n|---|---|\n| src/app.py | src/store.py:14 |\n": "src/app.py, src/store.py:14",
    # Symbols
    "1. Compare → `src/app.py:22` (check_password)": "src/app.py:22 verified",
    "src/app.py:17 (`check_password()`) is five lines off": "src/app.py:17 verified",
    "src/cart.cpp:12 (Cart::add)": "src/cart.cpp:12 verified",
    "cmd/server/main.go:21 (Server.Listen)": "cmd/server/main.go:21 verified",
    "| Entry | File:Line | Type |\n|---|---|---|\n| `logon()` | `src/app.py:12` | call |": "src/app.py:12 mismatch",
    "src/app.py:12 (new), src/store.py:14 (see below)": "src/app.py:12, src/store.py:14",
    "src/app.py:12 (main)": "src/app.py:12",
    "| Function | File:Line |\n|---|---|\n| `login()` | `src/app.py:12` |\n": "src/app.py:12 verified",
    "src/app.py:28 (check_password) is six lines off": "src/app.py:28 relocated > src/app.py:22",
    "src/app.py:5 (check_password): the definition is preferred": "src/app.py:5 relocated > src/app.py:22",
    "src/app.py:2 (open_session)": "src/app.py:2 relocated > src/app.py:31",
    "src/app.py:99 (open_session)": "src/app.py:99 relocated > src/app.py:31",
    "src/app.py:12 (log_in)": "src/app.py:12 mismatch",
    "src/app.py:12 (main())": "src/app.py:12 mismatch",
    "src/app.py:99 (log_in)": "src/app.py:99 out-of-range",
    "src/ghost/app.py:12 (check_password)": "src/ghost/app.py:12 missing-file > src/app.py:12",
    "| Function | File:Line |\n|---|---|\n| `logon()` | `src/app.py:12` |\n": "src/app.py:12 mismatch",
}


def _expected(text: str) -> tuple[str, ...]:
    outcomes = text.split(", ") if text else []
    return tuple(outcome if OUTCOMES.keys() & outcome.split() else f"{outcome} exists" for outcome in outcomes)


SAMPLES = tuple(Sample(text, _expected(expected)) for text, expected in _TEXTS.items())
