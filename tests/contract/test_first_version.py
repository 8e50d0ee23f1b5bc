"""Documents of the first version of the contract: accepted under `v1`, sent back under `v2`.

The originals are not part of the project. If they are next to it, the same tests check them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from remit.checking import Options, Verdict, check_text
from remit.contract.parse import parse
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree

ROOT = Path(__file__).resolve().parents[2]
ORIGINALS = sorted((ROOT.parent / "shared/seeds").glob("001*.txt"))
NEW_IN_V2 = {"confidence-breakdown", "checklist-missing", "confidence-justification"}

#: The code at the locations that the documents cite.
CODE = {
    "src/api/auth.ts": {45: "router.post('/login', loginHandler);", 89: "router.post('/refresh', refreshHandler);"},
    "src/validators/auth.ts": {23: "export function validateLogin(body: unknown) {"},
    "src/services/auth.ts": {
        8: "export class AuthService {",
        67: "  async authenticate(email: string, password: string) {",
        89: "throw new Error(`User ${email} not found in database`);",
    },
    "src/repositories/user.ts": {5: "export class UserRepository {", 34: "  findByEmail(email: string) {"},
    "src/middleware/jwt.ts": {15: "export function JWTMiddleware() {"},
    "src/config/auth.ts": {12: "export const auth = {};"},
    "src/config/jwt.ts": {
        5: "export const JWTConfig = {",
        8: "const JWT_SECRET = 'hardcoded-secret-key-123'; // CRITICAL",
    },
    "src/models/user.ts": {12: "export class UserModel {"},
    "src/routes/auth.ts": {78: "routes.use(auth);"},
    "src/routes/index.ts": {45: "routes.use(users);"},
    "src/services/index.ts": {8: "export * from './user';"},
    "src/services/user.ts": {8: "export class UserService {", 45: "  createUser() {", 89: "  login() {"},
    "src/repositories/product.ts": {8: "export class ProductRepository {"},
    "tests/services/user.test.ts": {1: "test('user', () => {});"},
}

OWN_ERROR = """\
## Backend Specialist Result

### Status
FAILED

### Summary
Unable to complete the task due to a missing tool.

### Error Details
| Aspect | Value |
|--------|-------|
| Type | MissingTool |
| Message | the compiler is not installed |
| Occurred At | src/config/auth.ts:12 |
| Recoverable | true |

### Attempted Actions
1. Looked for the compiler
2. Looked for another one
3. Asked the package manager

### Root Cause Analysis
The machine was set up without it.

### Recovery Options
1. Install it: one command
2. Use another machine: ask for one

### Blockers
- There is no compiler
  Resolution: install one
"""
OWN_SCORED = """\
## Code Explorer Result

### Status
SUCCESS

### Summary
Followed a login from its route to the stored session.

### Findings

#### Entry Points
| Entry | File:Line | Type |
|-------|-----------|------|
| POST /auth/login | `src/api/auth.ts:45` | route |

#### Execution Flow
1. Route → `src/api/auth.ts:45` (loginHandler)
2. Check → `src/validators/auth.ts:23` (validateLogin)
3. Answer ← a session

### Key References
| Item | Location | Relevance |
|------|----------|-----------|
| AuthService | `src/services/auth.ts:8` | where the work is done |

### Confidence
92 - every step was read

### Next Steps
1. Read `src/services/auth.ts`
"""


@pytest.fixture
def tree(tmp_path: Path) -> Sources:
    for name, lines in CODE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines.get(n, f"// {n}") + "\n" for n in range(1, 301)), encoding="utf-8")
    return Sources(workspace=WorkTree(tmp_path))


def verdicts(text: str, profile: str, sources: Sources) -> list[Verdict]:
    return check_text(text, options=Options(profile=profile), sources=sources)


def blocking(verdict: Verdict) -> set[str]:
    return {violation.rule for violation in verdict.violations if violation.level != "L3"}


def assert_behaves(scored: str, failed: str, sources: Sources) -> None:
    for verdict in verdicts(scored, "v1", sources):
        assert (verdict.verdict, blocking(verdict)) == ("accept", set())
    for verdict in verdicts(scored, "v2", sources):
        assert verdict.verdict == "revise"
        assert blocking(verdict) == NEW_IN_V2
    for profile in ("v1", "v2"):
        (verdict,) = verdicts(failed, profile, sources)
        assert (verdict.kind, verdict.verdict) == ("error", "accept")


def test_documents_of_the_first_version_are_accepted_under_v1_only(tree: Sources) -> None:
    assert_behaves(OWN_SCORED, OWN_ERROR, tree)


OWN = Path(__file__).parents[1] / "fixtures" / "first_version"


@pytest.mark.parametrize("kind", ["exploration", "design", "review", "implementation"])
def test_documents_of_the_first_version_are_accepted_without_a_checkout(kind: str) -> None:
    text = (OWN / f"{kind}.md").read_text(encoding="utf-8")
    assert_behaves(text, (OWN / "error.md").read_text(encoding="utf-8"), Sources())
    (verdict,) = verdicts(text, "v2", Sources())
    assert verdict.kind == kind
    assert len([violation for violation in verdict.violations if violation.level != "L3"]) == len(NEW_IN_V2)


def test_a_complete_review_with_partial_status_gets_advice_only() -> None:
    (verdict,) = verdicts((OWN / "review.md").read_text(encoding="utf-8"), "v1", Sources())
    advice = {violation.rule for violation in verdict.violations}
    assert {"partial-but-complete", "blockers-missing"} <= advice
    assert verdict.verdict == "accept"


def filled(template: str) -> str:
    values = {
        "Agent Name": "Backend Specialist",
        "error category": "a missing tool",
        "file:line or step": "src/config/auth.ts:12",
        "true/false": "true",
    }
    return re.sub(r"\[([^\[\]\n]+)\]", lambda found: values.get(found[1], found[1].lower() + " here"), template)


@pytest.mark.skipif(not ORIGINALS, reason="the original documents do not lie beside the project")
def test_the_original_examples_are_accepted_under_v1_only(tree: Sources) -> None:
    text = ORIGINALS[0].read_text(encoding="utf-8")
    documents = parse(text)
    assert [document.result.agent for document in documents] == [
        "[Agent Name]",
        "Code Explorer",
        "Code Architect",
        "Security Auditor",
        "Backend Specialist",
        "[Agent Name]",
    ]
    _, *scored, failed = [document.text for document in documents]
    for example in scored:
        assert_behaves(example, filled(failed), tree)
        assert_behaves(example, filled(failed), Sources())


@pytest.mark.skipif(not ORIGINALS, reason="the original documents do not lie beside the project")
def test_the_unfilled_original_form_is_sent_back(tree: Sources) -> None:
    text = ORIGINALS[0].read_text(encoding="utf-8")
    first = verdicts(text, "v1", tree)[0]
    assert first.verdict == "revise"
    assert "placeholder-left" in blocking(first)
