"""`--attest`: the statement fits the specification, names exactly what was checked, and claims only what holds."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

import remit as package
from remit.errors import RemitError
from remit.surfaces.cli.group import remit
from remit.testing import project, result

_URI = {"type": "string", "pattern": "^[a-z][a-z0-9+.-]*:"}
_DIGESTS = {
    "type": "object",
    "minProperties": 1,
    "properties": {
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "gitCommit": {"type": "string", "pattern": "^([0-9a-f]{40}|[0-9a-f]{64})$"},
    },
    "additionalProperties": {"type": "string"},
}
_DESCRIPTOR = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "uri": _URI,
        "digest": _DIGESTS,
        "content": {"type": "string"},
        "downloadLocation": _URI,
        "mediaType": {"type": "string"},
        "annotations": {"type": "object"},
    },
    "anyOf": [{"required": ["uri"]}, {"required": ["digest"]}, {"required": ["content"]}],
}
#: The in-toto Statement v1 with the Simple Verification Result v0.2, written from the specification.
SPECIFICATION = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["_type", "subject", "predicateType", "predicate"],
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "subject": {
            "type": "array",
            "minItems": 1,
            "items": {**_DESCRIPTOR, "required": ["digest"]},
        },
        "predicateType": {"const": "https://in-toto.io/attestation/svr/v0.2"},
        "predicate": {
            "type": "object",
            "required": ["verifier", "timeCreated", "properties"],
            "properties": {
                "verifier": {
                    "type": "object",
                    "required": ["id", "policies"],
                    "properties": {"id": _URI, "policies": {"type": "array", "items": _DESCRIPTOR}},
                },
                "timeCreated": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"},
                "properties": {"type": "array", "items": {"type": "string"}},
            },
        },
    },
}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with the sample project, in which the command runs."""
    root = tmp_path / "shop"
    for source in project().rglob("*"):
        if source.is_file() and "__pycache__" not in source.parts:
            target = root / source.relative_to(project())
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    for words in (["init", "-q"], ["add", "."], ["-c", "commit.gpgsign=false", "commit", "-qm", "start"]):
        git(root, *words)
    monkeypatch.chdir(root)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    return root


def git(root: Path, *words: str) -> str:
    who = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
    return subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def run(*words: str) -> Result:
    return CliRunner().invoke(remit, words, standalone_mode=False)


def attested(*words: str, code: int | None = None) -> dict[str, Any]:
    """Return the statement of a command, which fits the specification."""
    ran = run(*words, "--attest", "statement.json")
    assert ran.exception is None, ran.exception
    assert code is None or ran.return_value == code
    found: dict[str, Any] = json.loads(Path("statement.json").read_text(encoding="utf-8"))
    jsonschema.validate(found, SPECIFICATION)
    names = [one["name"] for one in found["subject"]]
    assert len(set(names)) == len(names)
    return found


def properties(found: dict[str, Any]) -> set[str]:
    return set(found["predicate"]["properties"])


def test_a_statement_names_the_document_the_commit_the_verifier_and_the_policy(shop: Path) -> None:
    Path("answer.md").write_text(result("review"), encoding="utf-8")
    found = attested("check", "answer.md", "--kind", "review", code=0)
    digest = hashlib.sha256(Path("answer.md").read_bytes()).hexdigest()
    head = git(shop, "rev-parse", "HEAD")
    assert found["subject"] == [
        {"name": "answer.md", "digest": {"sha256": digest}},
        {"name": f"commit {head[:12]}", "digest": {"gitCommit": head}},
    ]
    verifier = found["predicate"]["verifier"]
    assert verifier["id"] == f"pkg:pypi/remit@{package.__version__}"
    assert found["predicate"]["timeCreated"] == "2026-01-01T00:00:00Z"
    assert {"REMIT_ACCEPTED_V2", "REMIT_CLAIMS_VERIFIED"} <= properties(found)
    (policy,) = verifier["policies"]
    content = policy["annotations"]["remit_policy"]
    encoded = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert policy["digest"] == {"sha256": hashlib.sha256(encoded).hexdigest()}
    assert content["rules"]["EVD001"] == "L1"


def test_the_same_input_gives_the_same_bytes(shop: Path) -> None:
    Path("answer.md").write_text(result("review"), encoding="utf-8")
    attested("check", "answer.md")
    first = Path("statement.json").read_bytes()
    attested("check", "answer.md")
    assert Path("statement.json").read_bytes() == first


def test_another_policy_has_another_digest(shop: Path) -> None:
    Path("answer.md").write_text(result("review"), encoding="utf-8")
    digests = {
        attested("check", "answer.md", *options)["predicate"]["verifier"]["policies"][0]["digest"]["sha256"]
        for options in ([], ["--profile", "v1"], ["--ignore", "EVD010"], ["--override", "confidence-reason=by a tool"])
    }
    assert len(digests) == 4


def test_what_does_not_hold_is_not_claimed(shop: Path) -> None:
    Path("bad.md").write_text("See `app/invented.py:3`.", encoding="utf-8")
    Path("good.md").write_text("See `app/login.py:1`.", encoding="utf-8")
    Path("empty.md").write_text("Nothing is cited here.", encoding="utf-8")
    assert properties(attested("verify", "bad.md", code=1)) == set()
    held = {"REMIT_ACCEPTED_CLAIMS", "REMIT_CLAIMS_VERIFIED", "REMIT_NO_VIOLATIONS"}
    assert properties(attested("verify", "good.md", code=0)) == held
    assert "REMIT_CLAIMS_VERIFIED" not in properties(attested("verify", "empty.md"))
    assert properties(attested("verify", "good.md", "bad.md", code=1)) == set(), "a property holds for all subjects"


def test_a_choice_of_rules_is_not_the_profile(shop: Path) -> None:
    Path("answer.md").write_text(result("review"), encoding="utf-8")
    found = properties(attested("check", "answer.md", "--kind", "review", "--select", "EVD001", code=0))
    assert "REMIT_ACCEPTED_CUSTOM" in found
    assert "REMIT_ACCEPTED_V2" not in found


def test_a_verdict_that_hides_likely_accusations_is_not_one_of_the_profile(shop: Path) -> None:
    Path("good.md").write_text("See `app/login.py:1`.", encoding="utf-8")
    found = properties(attested("verify", "good.md", "--only", "certain", code=0))
    assert "REMIT_ACCEPTED_CUSTOM" in found
    assert "REMIT_ACCEPTED_CLAIMS" not in found
    assert "REMIT_ACCEPTED_CLAIMS" in properties(attested("verify", "good.md", "--only", "likely", code=0))


def test_a_changed_checkout_is_not_the_commit(shop: Path) -> None:
    Path("good.md").write_text("See `app/login.py:1`.", encoding="utf-8")
    with Path("app/login.py").open("a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    ran = run("verify", "good.md", "--attest", "statement.json")
    assert "app/login.py differs from it" in ran.stderr
    found = json.loads(Path("statement.json").read_text(encoding="utf-8"))
    assert [set(one["digest"]) for one in found["subject"]] == [{"sha256"}]
    named = attested("verify", "good.md", "--rev", "HEAD")
    assert named["subject"][1]["digest"] == {"gitCommit": git(shop, "rev-parse", "HEAD")}


def test_outside_of_a_repository_the_document_is_the_subject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("note.md").write_text("See `note.md:1`.", encoding="utf-8")
    assert [one["name"] for one in attested("verify", "note.md")["subject"]] == ["note.md"]


def test_standard_input_is_a_subject(shop: Path) -> None:
    ran = CliRunner().invoke(remit, ["verify", "-", "--attest", "s.json"], input="See `app/login.py:1`.")
    assert ran.exit_code == 0
    found = json.loads(Path("s.json").read_text(encoding="utf-8"))
    assert found["subject"][0]["digest"]["sha256"] == hashlib.sha256(b"See `app/login.py:1`.").hexdigest()


def test_a_merge_names_its_inputs_and_its_report(shop: Path) -> None:
    for name in ("one", "two"):
        Path(f"{name}.md").write_text(result("review"), encoding="utf-8")
    found = attested("merge", "one.md", "two.md", "--format", "json", "--output", "merged.json")
    subjects = {one["name"]: one["digest"] for one in found["subject"]}
    report = hashlib.sha256(Path("merged.json").read_bytes()).hexdigest()
    assert subjects["merged.json"] == {"sha256": report}
    assert {"one.md", "two.md", "merged.json"} < set(subjects)
    policy = found["predicate"]["verifier"]["policies"][0]["annotations"]["remit_policy"]
    assert policy["merge"]["threshold"] == 80
    merged = json.loads(Path("merged.json").read_text(encoding="utf-8"))
    severities = {one["severity"] for one in merged["findings"]}
    assert ("REMIT_MERGE_SUCCESS" in properties(found)) is (merged["status"] == "SUCCESS")
    assert ("REMIT_NO_CRITICAL_FINDINGS" in properties(found)) is (
        merged["status"] == "SUCCESS" and "critical" not in severities
    )


def test_findings_that_were_left_out_are_not_called_absent(shop: Path) -> None:
    Path("one.md").write_text(result("review"), encoding="utf-8")
    assert run("merge", "one.md", "--format", "json", "--output", "merged.json").exception is None
    found = properties(attested("merge", "one.md", "--baseline", "merged.json"))
    assert not any(name.startswith(("REMIT_NO_CRITICAL", "REMIT_NO_MINOR")) for name in found)


def test_a_merge_with_a_failed_agent_claims_no_absence(shop: Path) -> None:
    Path("one.md").write_text(result("review"), encoding="utf-8")
    found = properties(attested("merge", "one.md", "--expect", "somebody-else"))
    assert not any("_NO_" in name or name == "REMIT_MERGE_SUCCESS" for name in found)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["verify", "good.md", "--fix"], "run --attest afterwards"),
        (["verify", "large.md"], "more than 1,048,576 bytes"),
        (["verify", "good.md", "--attest", "no/such/folder/s.json"], "cannot be written"),
    ],
)
def test_what_cannot_be_attested_is_refused(shop: Path, words: list[str], reason: str) -> None:
    Path("good.md").write_text("See `app/login.py:1`.", encoding="utf-8")
    Path("large.md").write_text("x" * (2 << 20), encoding="utf-8")
    ran = run(*words) if "--attest" in words else run(*words, "--attest", "s.json")
    assert isinstance(ran.exception, RemitError)
    assert reason in str(ran.exception)
    assert not Path("s.json").exists()


@pytest.mark.parametrize("given", ["soon", "1e9", "9" * 30])
def test_a_wrong_time_is_refused(shop: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", given)
    Path("good.md").write_text("See `app/login.py:1`.", encoding="utf-8")
    ran = run("verify", "good.md", "--attest", "s.json")
    assert "SOURCE_DATE_EPOCH must be" in str(ran.exception)
