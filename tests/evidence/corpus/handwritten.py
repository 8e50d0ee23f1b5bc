"""Handwritten samples of results, with the expected references in the small tree.

Each sample is a part of a result as models write them, with the location and the outcome of each reference;
`> location` is the suggested or found location. There must be no other references.
"""

from __future__ import annotations

from typing import NamedTuple


class Sample(NamedTuple):
    """A text and its references in order."""

    text: str
    expected: tuple[str, ...] = ()


def _right(text: str, *locations: str) -> Sample:
    return Sample(text, tuple(f"{location} verified" for location in locations))


ENGLISH = (
    _right("The handler in `src/app.py:12` calls the store (`src/store.py:14`).", "src/app.py:12", "src/store.py:14"),
    _right("Passwords are compared in src/app.py:22-23, in constant time.", "src/app.py:22-23"),
    _right("See src/app.py:12:5 for the call.", "src/app.py:12"),
    _right("I verified this by reading src/app.py (lines 12-17).", "src/app.py:12-17"),
    _right("The bug is on line 14 of `src/app.py`; nothing else is affected.", "src/app.py:14"),
    _right("at line 12 in src/app.py", "src/app.py:12"),
    _right("In src/app.py, lines 12 and 13, the user is looked up.", "src/app.py:12", "src/app.py:13"),
    _right("Look at src/app.py:12 and :15 for both branches.", "src/app.py:12", "src/app.py:15"),
    _right("`src/app.py:12`–`18` is the whole function.", "src/app.py:12-18"),
    _right("The whole function is `src/app.py` L12-L17.", "src/app.py:12-17"),
    _right("src/app.py L12 opens the session", "src/app.py:12"),
    _right("**src/app.py:12** - the entry point", "src/app.py:12"),
    _right("**Location:** `src/app.py`, line 12", "src/app.py:12"),
    _right("**File:** src/app.py **Line:** 12", "src/app.py:12"),
    _right("- File: `src/app.py` (Line 12)", "src/app.py:12"),
    _right("Login (src/app.py#L12-L17) never logs a failure.", "src/app.py:12-17"),
    _right("Compare src/app.py#L12 with src/store.py#L14.", "src/app.py:12", "src/store.py:14"),
    _right("Two callers: src/app.py:14, tests/test_app.py:5.", "src/app.py:14", "tests/test_app.py:5"),
    _right("src/app.py:12,22,31 define the three functions", "src/app.py:12", "src/app.py:22", "src/app.py:31"),
    _right(
        "Starting at src/app.py:12 → src/store.py:14 → src/app.py:31",
        "src/app.py:12",
        "src/store.py:14",
        "src/app.py:31",
    ),
    _right("1. Request arrives -> src/app.py:12 -> src/store.py:14", "src/app.py:12", "src/store.py:14"),
    _right("It runs from line 12 to line 17 in src/app.py.", "src/app.py:17"),
    _right("\"src/app.py:12\" and 'src/store.py:14' are the only two.", "src/app.py:12", "src/store.py:14"),
    _right("The only caller (see src/app.py:14) passes a name.", "src/app.py:14"),
    _right("src/app.py:12 — 3 arguments, one of them unused", "src/app.py:12"),
    _right("src/app.py:12 - 2 of 3 callers are wrong", "src/app.py:12"),
    _right("`src/app.py:12`: 3 problems", "src/app.py:12"),
    _right("I read `src/app.py` around line 12 and found nothing odd.", "src/app.py:12"),
    _right("`src/app.py`:12 and `src/store.py`:14", "src/app.py:12", "src/store.py:14"),
    _right("(./src/app.py:12)", "src/app.py:12"),
    _right("src/../src/app.py:12 is the same file", "src/app.py:12"),
    _right("Both src/{app,store}.py:14 matter.", "src/app.py:14", "src/store.py:14"),
    _right("Line 12 of src/app.py, line 14 of src/store.py", "src/app.py:12", "src/store.py:14"),
    _right("The 12th line of src/app.py defines it.", "src/app.py:12"),
    _right("> src/app.py:12 is quoted here", "src/app.py:12"),
    _right("None (see src/app.py:12)", "src/app.py:12"),
    _right("* src/app.py:12\n* src/store.py:14", "src/app.py:12", "src/store.py:14"),
    _right("- top\n  - nested src/app.py:12\n    - deeper src/store.py:14", "src/app.py:12", "src/store.py:14"),
    _right("##### What src/app.py:12 does\n\nNothing.", "src/app.py:12"),
    _right("Hardcoded in src/auth/login.ts:45.", "src/auth/login.ts:45"),
    _right("<details><summary>src/app.py:12</summary></details>", "src/app.py:12"),
    _right("Ranges such as src/app.py:12–17 and src/app.py:22—23", "src/app.py:12-17", "src/app.py:22-23"),
    _right("- **File**: `src/app.py`\n- **Lines**: 12-17\n- **Function**: login", "src/app.py:12-17"),
    _right("**File:** src/app.py\n**Line:** 12", "src/app.py:12"),
    Sample("- **File**: `src/app.py`\n- **Line**: 99", ("src/app.py:99 out-of-range > src/app.py:40",)),
    Sample("src/app.py, line 41 is past the end", ("src/app.py:41 out-of-range > src/app.py:40",)),
    Sample("src/app.py:38-41", ("src/app.py:38-41 out-of-range > src/app.py:38",)),
    Sample("src/app.py:0 is no line", ("src/app.py:0 out-of-range > src/app.py:1",)),
    Sample("src/app.py:17-12 runs backwards", ("src/app.py:17-12 out-of-range > src/app.py:17",)),
    Sample("src/empty.py:1", ("src/empty.py:1 out-of-range",)),
    Sample("src/ap.py:12 is misspelt", ("src/ap.py:12 missing-file > src/app.py:12",)),
    Sample("app.py:12 lacks its folder", ("app.py:12 abbreviated > src/app.py:12",)),
    Sample("Src/App.py:12 has the wrong case", ("Src/App.py:12 missing-file > src/app.py:12",)),
    Sample("../shop/src/app.py:12", ("../shop/src/app.py:12 outside",)),
    Sample("/etc/passwd:1 and /etc/hosts.txt:1", ("/etc/passwd:1 outside", "/etc/hosts.txt:1 outside")),
    Sample(".git/config:3", (".git/config:3 outside",)),
    Sample("~/.ssh/config:2", ("~/.ssh/config:2 outside",)),
    Sample("src/app.py:4000000000", ("src/app.py:999999999 out-of-range > src/app.py:40",)),
)

TOOLS = (
    _right('  File "src/app.py", line 12, in login', "src/app.py:12"),
    _right("at authenticate (src/auth/login.ts:45:17)", "src/auth/login.ts:45"),
    _right("at async Promise.all (index 0) src/auth/login.ts:45:17", "src/auth/login.ts:45"),
    _right("src/app.py:12:5: E501 Line too long (130 > 120)", "src/app.py:12"),
    _right("src/app.py:12: error: Incompatible types  [arg-type]", "src/app.py:12"),
    _right("src/auth/login.ts(45,17): error TS2304: Cannot find name", "src/auth/login.ts:45"),
    _right("src/auth/login.ts(45): warning", "src/auth/login.ts:45"),
    _right("src\\cart.cpp(12): error C2065: undeclared", "src/cart.cpp:12"),
    _right("  --> src/lib.rs:7:12", "src/lib.rs:7"),
    _right("cmd/server/main.go:21:2: undefined: port", "cmd/server/main.go:21"),
    _right("::warning file=src/app.py,line=12,col=5::unused", "src/app.py:12"),
    _right("src/app.py:12:def login(name, password):", "src/app.py:12"),
    _right("FAILED tests/test_app.py:5 - AssertionError", "tests/test_app.py:5"),
    _right("tests/test_app.py:5: AssertionError", "tests/test_app.py:5"),
    _right("lib/shop/cart.rb:12:in `add'", "lib/shop/cart.rb:12"),
    _right("HEAD:src/app.py:12", "src/app.py:12"),
    _right("./src/app.py:12:3", "src/app.py:12"),
    _right("code -g src/app.py:12:3", "src/app.py:12"),
    Sample(
        "at com.acme.shop.Cart.add(Cart.java:57)",
        ("Cart.java:57 abbreviated > src/main/java/com/acme/shop/Cart.java:57",),
    ),
)

LINKS = (
    _right("[src/app.py:12](src/app.py#L12)", "src/app.py:12"),
    _right("The entry is [app.py:12](src/app.py#L12).", "src/app.py:12"),
    _right(
        "See [`login`](src/app.py#L12-L17) and [the store](src/store.py#L14).", "src/app.py:12-17", "src/store.py:14"
    ),
    _right("[app.py line 12](./src/app.py)", "src/app.py:12"),
    _right("[line 12](src/app.py) of the handler", "src/app.py:12"),
    _right("[app.py](src/app.py):12", "src/app.py:12"),
    _right("[src/app.py](src/app.py), line 12", "src/app.py:12"),
    _right("[app.py:12](https://github.com/acme/shop/blob/4f2a/src/app.py#L12)", "src/app.py:12"),
    _right("[src/app.py:12-17](https://github.com/acme/shop/blob/main/src/app.py#L12-L17)", "src/app.py:12-17"),
    _right("[page](app/(shop)/cart/[id]/page.tsx#L12)", "app/(shop)/cart/[id]/page.tsx:12"),
    _right('[app.py:12](src/app.py#L12 "The login")', "src/app.py:12"),
    Sample("https://github.com/acme/shop/blob/main/src/ghost.py"),
    Sample("See the [guide](https://example.com/guide.html#L12) first."),
    Sample("[app.py:12](src/app.py#L99)", ("src/app.py:99 out-of-range > src/app.py:40",)),
    Sample("[ghost.py:3](src/ghost.py#L3)", ("src/ghost.py:3 missing-file",)),
)

NAMES = (
    _right("The job is defined in `.github/workflows/ci.yml:12`.", ".github/workflows/ci.yml:12"),
    _right(
        "Secrets in `.env:3` and `.env.local:4`, ignored by `.gitignore:2`.", ".env:3", ".env.local:4", ".gitignore:2"
    ),
    _right("`Makefile:3` runs what `Dockerfile:12` builds.", "Makefile:3", "Dockerfile:12"),
    _right("Makefile line 3, Dockerfile line 12", "Makefile:3", "Dockerfile:12"),
    _right("bin/deploy:1 is a shell script", "bin/deploy:1"),
    _right(
        "package.json:12, go.mod:3, docker-compose.yml:4, README.md:1",
        "package.json:12",
        "go.mod:3",
        "docker-compose.yml:4",
        "README.md:1",
    ),
    _right(
        "app/[slug]/page.tsx:12 and app/(shop)/cart/[id]/page.tsx:5",
        "app/[slug]/page.tsx:12",
        "app/(shop)/cart/[id]/page.tsx:5",
    ),
    _right("The route (app/(shop)/cart/[id]/page.tsx:5) is dynamic.", "app/(shop)/cart/[id]/page.tsx:5"),
    _right("`app/@modal/(.)photo/[id]/page.tsx:3` intercepts it", "app/@modal/(.)photo/[id]/page.tsx:3"),
    _right(
        "src/routes/+page.svelte:12, src/routes/blog/[slug]/+page.server.ts:4",
        "src/routes/+page.svelte:12",
        "src/routes/blog/[slug]/+page.server.ts:4",
    ),
    _right("`src/routes/[id=integer]/+page.ts:4`", "src/routes/[id=integer]/+page.ts:4"),
    _right("app/routes/users.$id.edit.tsx:7", "app/routes/users.$id.edit.tsx:7"),
    _right("packages/@acme/ui/src/Button.tsx:12 is exported as @acme/ui", "packages/@acme/ui/src/Button.tsx:12"),
    _right(
        "`docs/Release Notes.md:12` and `docs/Release Notes.md#L3-L5`",
        "docs/Release Notes.md:12",
        "docs/Release Notes.md:3-5",
    ),
    _right("`docs/Release Notes.md`, line 12", "docs/Release Notes.md:12"),
    _right(
        "src/user.service.spec.ts:3 and vendor/jquery-3.6.0.min.js:2",
        "src/user.service.spec.ts:3",
        "vendor/jquery-3.6.0.min.js:2",
    ),
    _right("src\\auth\\login.ts:45", "src/auth/login.ts:45"),
    _right("`.\\src\\auth\\login.ts:45:3`", "src/auth/login.ts:45"),
    _right("src/\\_\\_init\\_\\_.py:1", "src/__init__.py:1"),
    _right(
        "include/shop/cart.hpp:4 declares what src/cart.cpp:12 defines", "include/shop/cart.hpp:4", "src/cart.cpp:12"
    ),
    Sample("C:\\Users\\me\\shop\\src\\app.py:12", ("src/app.py:12 verified",)),
    Sample("bin/undeploy:1", ("bin/undeploy:1 missing-file > bin/deploy:1",)),
    Sample("app/[id]/page.tsx:12", ("app/[id]/page.tsx:12 missing-file > app/(shop)/cart/[id]/page.tsx:12",)),
    Sample("docs/Release Note.md:12 and Jenkinsfile:3", ("Note.md:12 missing-file",)),
)

JAPANESE = (
    _right("ログイン処理は `src/app.py:12` にある。", "src/app.py:12"),
    _right("ログイン処理はsrc/app.py:12にあり、src/store.py:14を呼ぶ。", "src/app.py:12", "src/store.py:14"),
    _right("src/app.py の12行目で関数を定義している。", "src/app.py:12"),
    _right("src/app.pyの12〜17行目を参照。", "src/app.py:12-17"),
    _right("`src/app.py` の 12 行目と 22 行目", "src/app.py:12", "src/app.py:22"),
    _right("src/app.py（12行目）と src/store.py（14行目）", "src/app.py:12", "src/store.py:14"),
    _right("「src/app.py:12」を確認済み", "src/app.py:12"),
    _right("参照：src/app.py：12", "src/app.py:12"),
    _right(
        "設計はdocs/設計.md:3、概要はdocs/はじめに/概要.md:4に書かれている。",
        "docs/設計.md:3",
        "docs/はじめに/概要.md:4",
    ),
    _right("src/app.pyの12行目とsrc/store.pyの14行目が関係する。", "src/app.py:12", "src/store.py:14"),
    _right("CIの設定は.github/workflows/ci.yml:12です。", ".github/workflows/ci.yml:12"),
    _right("12行目（src/app.py）", "src/app.py:12"),
    Sample("src/app.pyの99行目", ("src/app.py:99 out-of-range > src/app.py:40",)),
    Sample("処理は12:30に始まり、比率は3:1である。"),
)

CHINESE = (
    _right("登录逻辑位于 src/app.py 第 12 行。", "src/app.py:12"),
    _right("登录逻辑位于src/app.py第12行，存储位于src/store.py第14行。", "src/app.py:12", "src/store.py:14"),
    _right("在 `src/app.py` 的第12-17行", "src/app.py:12-17"),
    _right("见 src/app.py:12。", "src/app.py:12"),
    _right("参考文件src/app.py:12和src/store.py:14。", "src/app.py:12", "src/store.py:14"),
    _right("src/app.py 文件的第12行和第22行", "src/app.py:12", "src/app.py:22"),
    _right("位置：`src/app.py`，行号：12", "src/app.py:12"),
    _right("第12行（`src/app.py`）", "src/app.py:12"),
    Sample("src/app.py 第99行", ("src/app.py:99 out-of-range > src/app.py:40",)),
    Sample("比例为 16:9，时间是 10:15。"),
)

DECOYS = tuple(
    Sample(text)
    for text in (
        "Start it with `docker run -p 8080:80 acme/shop:12` on node:20 behind nginx:1.25.",
        "The server listens on localhost:8080 and talks to redis:6379 and db.internal:5432.",
        "It took from 10:15 to 10:45:30 on 2024-01-02T10:15:30Z, a ratio of 3:1.",
        "Use `std::vector<int>::iterator` or `crate::parser::parse` instead.",
        "The setting `timeout:30` and `replicas: 3` in the chart",
        "The module github.com/acme/shop/cart.go:12 is not vendored.",
        "Python:3.12, Node.js:20 and Next.js 14 are supported; see acme/shop#12.",
        "Cover goes from 85% to 90%, and/or:2, read/write:1.",
        "```\nsrc/ghost.py:12 inside a fence\n```",
        "    src/ghost.py:12 inside indented code",
        "> ```\n> src/ghost.py:12 inside a fence in a quote\n> ```",
        "- item\n\n  ```\n  src/ghost.py:12 inside a fence in a list\n  ```",
        "- item\n  ```\n  src/ghost.py:12 in a fence that is never closed",
        "The class `App\\Models\\User` and the namespace App::Models::User:12",
        "src/ghost.py is named without a line, and so is `src/app.py`.",
        "see line 12 above, lines 3-4 below, and #L12",
    )
)

TABLES = (
    _right(
        "| Item | Location | Relevance |\n|---|---|---|\n"
        "| a | `src/app.py:12`, `src/store.py:14` | two |\n"
        "| b | src/app.py:12; src/store.py:14<br>tests/test_app.py:5 | three |\n"
        "| c | src/app.py | bare |\n"
        "| d | [app.py](src/app.py) | bare link |\n"
        "| e | src/app.py: 12 | space |\n"
        "| f | `src/app.py` (lines 12-17) | words |\n"
        "| g | src/app.py:12, 22 | list |\n"
        "| h | src/app.py#L12 | hash |\n",
        "src/app.py:12",
        "src/store.py:14",
        "src/app.py:12",
        "src/store.py:14",
        "tests/test_app.py:5",
        "src/app.py",
        "src/app.py",
        "src/app.py:12",
        "src/app.py:12-17",
        "src/app.py:12",
        "src/app.py:22",
        "src/app.py:12",
    ),
    _right(
        "| Issue | File | Line |\n|---|---|---|\n"
        "| a | src/app.py | 12 |\n| b | `src/store.py` | 14-15 |\n| c | src/app.py | 12, 22 |\n",
        "src/app.py:12",
        "src/store.py:14-15",
        "src/app.py:12",
        "src/app.py:22",
    ),
    Sample(
        "| Issue | File | Line |\n|---|---|---|\n| a | src/app.py | 99 |\n",
        ("src/app.py:99 out-of-range > src/app.py:40",),
    ),
    _right("| File | Lines | Purpose |\n|---|---|---|\n| src/app.py | 400 | a count |\n", "src/app.py"),
    _right("| ファイル | 説明 |\n|---|---|\n| src/app.py | 入口 |\n", "src/app.py"),
    _right("| 文件:行 | 描述 |\n|---|---|\n| src/app.py:12 | 入口 |\n", "src/app.py:12"),
    Sample("| File | Purpose |\n|---|---|\n| N/A | none |\n| - | none |\n| various | none |\n| src/**/*.py | glob |\n"),
    Sample(
        "| File | Purpose |\n|---|---|\n| src/ | all |\n| src/ghost.py | none |\n",
        ("src missing-file > src/__init__.py", "src/ghost.py missing-file"),
    ),
    Sample("| Entry | Note |\n|---|---|\n| src/app.py | bare, but in no column for places |\n"),
    _right("| Path | Location |\n|---|---|\n| src/app.py | src/store.py:14 |\n", "src/app.py", "src/store.py:14"),
)

SYMBOLS = (
    _right("1. Compare → `src/app.py:22` (check_password)", "src/app.py:22"),
    _right("src/app.py:17 (`check_password()`) is five lines off", "src/app.py:17"),
    _right("src/cart.cpp:12 (Cart::add)", "src/cart.cpp:12"),
    _right("cmd/server/main.go:21 (Server.Listen)", "cmd/server/main.go:21"),
    _right("src/app.py:12 (login(name, password))", "src/app.py:12"),
    _right(
        "src/app.py:12 (new), src/store.py:14 (see below), src/app.py:22 (critical)",
        "src/app.py:12",
        "src/store.py:14",
        "src/app.py:22",
    ),
    _right("src/app.py:12,31 (open_session)", "src/app.py:12", "src/app.py:31"),
    _right(
        "| Entry | File:Line | Type |\n|---|---|---|\n| `login()` | `src/app.py:12` | function |\n", "src/app.py:12"
    ),
    _right(
        "| Entry | File:Line | Type |\n|---|---|---|\n| `find_user()` | src/app.py:31, src/store.py:14 | x |\n",
        "src/app.py:31",
        "src/store.py:14",
    ),
    Sample("src/app.py:28 (check_password) is six lines off", ("src/app.py:28 relocated > src/app.py:22",)),
    Sample("src/app.py:5 (check_password): the definition is preferred", ("src/app.py:5 relocated > src/app.py:22",)),
    Sample("src/app.py:2 (open_session)", ("src/app.py:2 relocated > src/app.py:31",)),
    Sample("src/app.py:99 (open_session)", ("src/app.py:99 relocated > src/app.py:31",)),
    Sample("src/app.py:12 (log_in)", ("src/app.py:12 mismatch",)),
    Sample("src/app.py:12 (`new`)", ("src/app.py:12 mismatch",)),
    Sample("src/app.py:12 (main)", ("src/app.py:12 verified",)),
    Sample("src/app.py:12 (main())", ("src/app.py:12 mismatch",)),
    Sample("src/app.py:99 (log_in)", ("src/app.py:99 out-of-range > src/app.py:40",)),
    Sample("src/ghost/app.py:12 (check_password)", ("src/ghost/app.py:12 missing-file > src/app.py:15",)),
    Sample(
        "| Entry | File:Line | Type |\n|---|---|---|\n| `logon()` | `src/app.py:12` | function |\n",
        ("src/app.py:12 mismatch",),
    ),
)

SAMPLES: dict[str, tuple[Sample, ...]] = {
    "English": ENGLISH,
    "tools": TOOLS,
    "links": LINKS,
    "names": NAMES,
    "Japanese": JAPANESE,
    "Chinese": CHINESE,
    "decoys": DECOYS,
    "tables": TABLES,
    "symbols": SYMBOLS,
}
