"""Text that looks like a reference and is not one, next to files that exist."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import evidence_in, write

FILES = (
    *("src/app.py", "src/store.py", "src/server.js", "src/web/view.tsx", "docs/guide.md", "README.md", "package.json"),
    *(
        "config/app.yml",
        "docker-compose.yml",
        "scripts/deploy.sh",
        "main.go",
        "lib/cache.rs",
        "style.css",
        "k8s/deploy.yaml",
    ),
    *("nginx.conf", "app.py", "server.py", "data/users.csv", "std/x.cpp", "Dockerfile"),
)
#: Where a text is placed: alone, in a list below a file, in a row of a file, and below a label that names a file.
PLACES = (
    "{}",
    "- `src/store.py`\n  - {}",
    "| File | Note |\n|---|---|\n| src/store.py | {} |",
    "**File:** `src/store.py`\n\n{}",
)
#: Images, ports, times, ratios, scores, counts, versions, sections, labels, hosts, addresses, keys, lengths.
DECOYS = r"""
The image `nginx:1.25` is pulled
`redis:7-alpine` and `postgres:16`
`ghcr.io/acme/app:1.2.3`
FROM python:3.12-slim
image: acme/app:12
`quay.io/acme/server.py:12`
`localhost:5000/acme/app:3`
`registry.gitlab.com/acme/app/web:42`
The server `src/app.py` listens on port 8080
`src/app.py` binds `0.0.0.0:8000`
curl http://localhost:3000/src/app.py:12
`src/server.js` (port 3000)
`src/server.js` on :8080
`src/server.js` listens :443
`src/app.py` runs at 10:30
`src/app.py` ran 10:30-11:00
`src/app.py` took 0:45
meeting 12:15 about src/app.py
`src/app.py` [10:15:30] started
2024-01-02 10:15:30 src/app.py started
ratio 16:9 in `src/web/view.tsx`
`src/app.py` scores 8/10
`src/app.py` 8/10
`src/app.py`: 8/10
`src/app.py` (8/10)
`src/app.py` (7-10)/10
src/app.py 85%
`src/app.py` coverage 85-90%
`src/app.py` (85-90%)
`src/app.py` (10-20 ms)
`src/app.py` (10–20 users)
`src/app.py` (3-5 days)
`src/app.py` (2-3h)
`src/app.py` [1-2 weeks]
`src/app.py` (2024-2025)
`src/app.py` (v1-v2)
`src/app.py` requires >=1.2,<2
`package.json`: "react": "^18.2.0"
Step 3:12 of the plan changes src/app.py
Step 3: 12 files in `src/app.py`
Phase 2:10 `src/app.py`
`docs/guide.md` 2024-01-02
`docs/guide.md` (2024-01-02)
`docs/guide.md`: 2024
`src/app.py` - 12 tests
`src/app.py`: 12 tests
`src/app.py` (12 tests)
`src/app.py` (12)
`src/app.py` - 120 lines
`src/app.py` ~120 lines
`src/app.py` (~120 lines)
`src/app.py` (120 LOC)
`src/app.py` (120-150 lines)
`src/app.py` (~120-150 LOC)
`src/app.py` (100–200 lines)
`src/app.py` 100-200 lines long
`src/app.py`: 300 lines
`src/app.py`: ~300
lines of code: 120 in src/app.py
`src/app.py` has lines of code: 120
`src/app.py`, 120 lines of code
`src/app.py` +12 -3
`src/app.py` | 12 +++---
`src/app.py` (+12/-3)
`src/app.py` (+12, -3 lines)
`src/app.py` +120 lines
`src/app.py` (lines: 120)
`src/app.py` (total lines 120)
`src/app.py` is 120 lines
`src/app.py` has line 80 columns wide
`src/app.py` max line length 120
`src/app.py`: line length 120
`src/app.py` line-height: 12
line 80 characters in `src/app.py`
`src/app.py` L2 cache
`src/app.py` uses the L2 cache
`src/app.py` (L2 cache)
`lib/cache.rs`: L1/L2 cache
`lib/cache.rs` L1 and L2
`nginx.conf` is an L7 proxy
`src/app.py` L1 regularization
`src/app.py` L2 norm
`src/app.py` L10n strings
page 3 of docs/paper.pdf
page 12 of docs/guide.md
`docs/guide.md` page 12
`docs/guide.md`, p. 12
`docs/guide.md` section 3:12
`docs/guide.md` §12
`docs/guide.md` chapter 12
`docs/guide.md` (pp. 10-20)
`docs/guide.md` #12
`docs/guide.md#12-setup`
[guide](docs/guide.md#12)
[guide](docs/guide.md#12-setup)
John 3:16 in docs/guide.md
Genesis 1:1-5
Matthew 5:3-12 quoted
`src/app.py`: H3, M2, L1
`src/app.py` fixes #12
`src/app.py` (#12)
`src/app.py` (PR #12)
`src/app.py` closes #12-#15
`src/app.py` @12
src/app.py@1.2.3
acme/app@12
acme/app#12
`src/app.py` v12
arn:aws:s3:::bucket/src/app.py:12
arn:aws:lambda:us-east-1:123456789012:function:app:12
arn:aws:iam::123:role/app
deployment.apps/app:3
pod/app-7d9f:8080
svc/app:80
k8s/deploy.yaml: replicas: 3
`k8s/deploy.yaml`: replicas 3
npm:react@18.2.0:12
pkg:npm/acme/app@1.2.3
`lodash@4.17.21:12`
user@example.com:12
`std::vector:12`
std::x:12
std/x::y:12
00:1A:2B:3C:4D:5E
fe80::1:12
[::1]:12
::ffff:10.0.0.1:80
10.0.0.1:8080 app.py
$12:30 in src/app.py
€10-20 for src/app.py
1. e4:5 chess in src/app.py
:smile:12
:1234:
U+1F600 in src/app.py
HEAD~3:12
HEAD@{2}:12
main:12
origin/main:src/
git show main:12
refs/heads/main:12
stash@{0}:12
https://example.com:8080/src/app.py#L12
https://example.com/src/app.py:12?x=1
[x](https://example.com:8080/app.py)
http://src/app.py:8080
ftp://host/src/app.py:21
ws://localhost:9000/app.py:3
s3://bucket/src/app.py:12
jdbc:postgresql://db:5432/app
mongodb://db:27017/app.py
file.name:12
key:12
timeout: 30
`replicas:3`
`ports: 8080:80`
`- "8080:80"`
`docker-compose.yml`: `8080:80`
`docker-compose.yml` maps 8080:80
`docker-compose.yml` (8080:80)
`docker-compose.yml` ports 3000-3010
`docker-compose.yml` exposes `:5432`
`config/app.yml`: `timeout:30`
`config/app.yml` sets max: 12
TODO label:3 in `src/app.py`
priority:1 area:2
- [ ] `src/app.py` est:3h
0 12 * * 1-5 src/app.py
`*/5 * * * *` src/app.py
cron `0 3 * * 1` runs `scripts/deploy.sh`
`style.css` padding: 12px 16px
`style.css` z-index:10
`style.css` flex: 1 1 12
`style.css` (12px-16px)
`style.css` aspect-ratio: 16/9
`style.css` 100-200
`style.css` font-weight: 400-700
#123456 in style.css
`style.css` #12
C:12
D:\src
Error: listen EADDRINUSE :::3000
java.lang.NullPointerException: 12
INFO 2024-01-02 app.py: 12 items
[INFO] server.py - 12 requests
127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /app.py:12 HTTP/1.0" 200 2326
GET /api/users:12 200
POST /v1/messages:batch 12
`GET /src/app.py:12`
/api/v1/users:12
/users/12:edit
projects/acme/locations/us:12
projects/p/secrets/s/versions:12
sha256:12ab34
md5:12
`app.py` sha256:1234567890
chr1:12345-67890
chrX:100-200 data/users.csv
GRCh38:1:12
doi:10.1000/182:12
ISBN 978-3-16-148410-0:12
RFC 2616:12
RFC-2616/12:3
CVE-2024-1234:12
CWE-79:12
OWASP A1:2021
A03:2021 in `src/app.py`
`src/app.py` A03:2021
`src/app.py` (A03:2021)
`src/app.py` OWASP A1:2021 - Injection
CVSS:3.1/AV:N/AC:L
`src/app.py` CVSS 3.1/10
es2020:12
python3.12:3
py:12
ts:12
C++:20
c++17:12
x86:64
UTF-8:12
utf-8:1
1:1 mapping src/app.py
1:N relation in `src/app.py`
m:n
1-to-1 in src/app.py
12:1
3:2:1
0.5:1
50/50
24/7 src/app.py
and/or:12
input/output:3
km/h:12
TCP/IP:80
CI/CD:12
A/B:12
true/false:1
AM/PM 10:30
N/A:12
w/o:1
`src/app.py` 12/20 done
`src/app.py` (12/20)
src/app.py 12/20
Tests: 12 passed, 3 failed in src/app.py
`src/app.py` 12 passed
src/app.py .......... [ 12%]
src/app.py::test_a PASSED [ 12%]
`src/app.py` → 12
`src/app.py` => 12
`src/app.py` = 12
`src/app.py` x12
`src/app.py` ×12
`src/app.py` (x12)
`src/app.py` (12x)
`src/app.py` 12 times
`src/app.py` 1st
`src/app.py` (1st line)
first line 12 words of src/app.py
`src/app.py` line-by-line 12
on-line 12 src/app.py
`src/app.py` pipeline 12
`src/app.py` timeline 12-18
`src/app.py` deadline 12
`src/app.py` baseline 12
`src/app.py` online: 12
`src/app.py` guideline 12
`src/app.py` inline 12
`src/app.py` outline 12
headline 12
`src/app.py` 行数 120
`src/app.py` 共120行
`src/app.py`（共 120 行）
`src/app.py` 120 行代码
`src/app.py`：120行
`src/app.py` 约 100-200 行
`src/app.py` 300行以上
`src/app.py` 총 120줄
`src/app.py` (120줄)
The line 1.x is kept; see [the guide](src/app.py).
[The guide](src/app.py) is for the line 1.x.
`src/app.py` line 1.x, lines 2.x and 3.4
`src/app.py`: line 2.x and `src/app.py:1.x`
La línea 1.x sigue en mantenimiento ([guía](src/app.py)).
[La guía](src/app.py), línea 1.x, y las líneas 1.x y 2.x
La ligne 2.x est maintenue, voir [le guide](src/app.py).
[Le guide](src/app.py), ligne 2.x
A linha 1.4 é mantida; veja [o guia](src/app.py).
[O guia](src/app.py) (linha 1.x)
Die Zeile 3.x wird gepflegt: [Anleitung](src/app.py)
`src/app.py` 120 Zeilen
`src/app.py` (120 Zeilen)
`src/app.py` (100-200 Zeilen)
`src/app.py` 120 lignes
`src/app.py` 120 líneas
`src/app.py` (120 linhas)
`src/app.py` 120 строк
`src/app.py` (120 строк)
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tree"), dict.fromkeys(FILES, "value = 1\n" * 300))


def lines_in(text: str, tree: Path) -> list[str]:
    """Return the references with a line, and the quotes."""
    evidence = evidence_in(text, tree)
    references = [claim.text for claim in evidence.references if claim.line is not None]
    return [*references, *(claim.path for claim in evidence.quotes)]


@pytest.mark.parametrize("place", PLACES)
def test_text_that_is_not_a_reference_is_not_taken_for_one(place: str, tree: Path) -> None:
    decoys = [line for line in DECOYS.strip().split("\n") if "|" not in place or "|" not in line]
    assert {decoy: cited for decoy in decoys if (cited := lines_in(place.format(decoy), tree))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "`src/app.py` (7-10)",
        "`src/app.py` (12-18), 3/4 of it",
        "`src/app.py` (L2024-L2025)",
        "`src/app.py` line 80 is long",
        "`src/app.py` L2",
        "`src/app.py` (L2)",
        "`src/app.py` (L2/L3)",
        "`src/app.py` L12 cache",
        "src/no_such_tool:3",
        "`docker-compose.yml:12` and `:5432`",
        "`src/app.py` 第100-200行",
        "`src/app.py`：12行目",
    ],
)
def test_text_that_is_similar_and_is_a_reference_is_read(text: str, tree: Path) -> None:
    assert lines_in(text, tree) != []
