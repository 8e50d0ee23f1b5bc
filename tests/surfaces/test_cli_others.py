"""The commands other than `check` and `merge`, as a person or a script uses them."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.in_process import run_each, run_here
from support.waiting import until

from remit import __version__
from remit.configuration import SETTINGS, load
from remit.contract.kinds import KINDS
from remit.contract.profiles import PROFILES
from remit.dispatch.health import HealthFact, health_facts
from remit.dispatch.worker_settings import load_settings
from remit.reports.layout import schema_of
from remit.reports.shapes import CheckShape
from remit.rules.catalog import NAMES, every_rule, find
from remit.rules.examples import sample_text
from remit.surfaces.cli import doctor, printing
from remit.surfaces.cli.group import COMMANDS, FRONT, GROUPS

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(path.stem for path in (ROOT / "src/remit/rules/samples").glob("*.md"))


# rules


def test_the_list_of_rules_has_a_line_for_each_no_wider_than_the_screen(tmp_path: Path) -> None:
    ran = run_here(tmp_path, "rules")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    for rule in every_rule():
        assert sum(line.startswith(f"  {rule.code} {rule.level} {rule.name} ") for line in lines) == 1
    assert lines[-1].startswith(f"{len(every_rule())} rules")
    assert max(map(len, lines)) <= 80


def test_a_rule_is_explained_by_its_name_and_by_its_code_alike(tmp_path: Path) -> None:
    name, code, small, typo, wild = run_each(
        tmp_path,
        ["rules", "confidence-arithmetic"],
        ["rules", "CNF005"],
        ["rules", "cnf005"],
        ["rules", "confidence-arithmetics"],
        ["rules", "zzz"],
    )
    assert name.code == 0
    assert name.out == code.out == small.out
    for words in ("confidence-arithmetic  CNF005", "What to do: ", "good example", "bad example", "v1 "):
        assert words in name.out
    assert (typo.code, typo.out, typo.err.count("\n")) == (2, "", 1)
    assert "did you mean 'confidence-arithmetic'?" in typo.err
    assert (wild.code, wild.out, wild.err.count("\n")) == (2, "", 1)
    assert "did you mean" not in wild.err


def test_rules_as_json_are_the_catalogue(tmp_path: Path) -> None:
    every, one = run_each(tmp_path, ["rules", "--format", "json"], ["rules", "RES002", "--format", "json"])
    report = json.loads(every.out)
    assert report["schema"] == "remit.rules/1"
    assert [rule["rule"] for rule in report["rules"]] == list(NAMES)
    keys = ["rule", "code", "family", "since", "needs", "levels", "summary", "why", "help", "requires"]
    assert all(list(rule) == keys for rule in report["rules"])
    assert [rule["rule"] for rule in json.loads(one.out)["rules"]] == ["status-missing"]


# convert and schema


@pytest.fixture(scope="session")
def converted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str, str]]:
    """Each sample in canonical Markdown, as JSON, and that JSON in Markdown again."""
    folder = tmp_path_factory.mktemp("converted")
    for name in SAMPLES:
        (folder / f"{name}.md").write_text(sample_text(name), encoding="utf-8")
    first = run_each(
        folder, *(["convert", f"{name}.md", "--to", form] for name in SAMPLES for form in ("markdown", "json"))
    )
    assert {(ran.code, ran.err) for ran in first} == {(0, "")}
    for name, ran in zip(SAMPLES, first[1::2], strict=True):
        (folder / f"{name}.json").write_text(ran.out, encoding="utf-8")
    again = run_each(folder, *(["convert", f"{name}.json", "--to", "markdown"] for name in SAMPLES))
    rows = zip(first[::2], first[1::2], again, strict=True)
    return dict(zip(SAMPLES, ((a.out, b.out, c.out) for a, b, c in rows), strict=True))


@pytest.mark.parametrize("name", SAMPLES)
def test_markdown_to_json_and_back_is_the_canonical_form_to_the_byte(
    name: str, converted: dict[str, tuple[str, str, str]]
) -> None:
    canonical, _, again = converted[name]
    assert canonical
    assert again == canonical


@pytest.mark.parametrize("name", SAMPLES)
def test_the_json_form_of_each_sample_keeps_the_printed_schema(
    name: str, converted: dict[str, tuple[str, str, str]], result_schema: Any
) -> None:
    jsonschema.validate(json.loads(converted[name][1]), result_schema)


def test_several_results_become_a_list_and_come_back_as_one_file(tmp_path: Path) -> None:
    (tmp_path / "two.md").write_text(sample_text("review") + "\n" + sample_text("error"), encoding="utf-8")
    canonical, data = run_each(
        tmp_path, ["convert", "two.md", "--to", "markdown"], ["convert", "two.md", "--to", "json"]
    )
    first, _ = json.loads(data.out)
    assert first["agent"] == "Security Auditor"
    again = run_here(tmp_path, "convert", "-", "--to", "markdown", given=data.out.encode())
    assert (again.code, again.err) == (0, "")
    assert again.out == canonical.out


def test_a_file_without_a_result_is_refused_in_one_line_by_convert(tmp_path: Path) -> None:
    (tmp_path / "chat.md").write_text("Sure, I will have a look.\n")
    (tmp_path / "other.json").write_text('{"name": "shop"}')
    (tmp_path / "latin.md").write_bytes(b"## Caf\xe9 Result\n")
    (tmp_path / "empty.md").write_bytes(b"")
    names = ("chat.md", "other.json", "latin.md", "empty.md", "nosuch.md", ".")
    for name, ran in zip(names, run_each(tmp_path, *(["convert", n, "--to", "json"] for n in names)), strict=True):
        assert (ran.code, ran.out) == (2, ""), name
        assert ran.err.startswith(f"remit: {name}: ")
        assert ran.err.count("\n") == 1


@pytest.fixture(scope="session")
def result_schema(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The schema of a result, as it is printed."""
    schema = json.loads(run_here(tmp_path_factory.mktemp("empty"), "prompt", "--schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def test_the_report_on_every_example_keeps_its_schema() -> None:
    ran = run_here(ROOT, "check", "examples/results", "--format", "json")
    assert (ran.code, ran.err) == (1, "")
    report = json.loads(ran.out)
    assert {result["path"] for result in report["results"]} >= {
        str(path.relative_to(ROOT)) for path in (ROOT / "examples/results").glob("*.md")
    }
    jsonschema.validate(report, schema_of(CheckShape))


# prompt


def test_the_prompt_of_every_kind_and_profile_names_only_rules_that_exist(tmp_path: Path) -> None:
    pairs = [(kind, profile) for kind in KINDS for profile in PROFILES]
    answers = run_each(tmp_path, *(["prompt", "--kind", kind, "--profile", profile] for kind, profile in pairs))
    for (kind, profile), ran in zip(pairs, answers, strict=True):
        assert (ran.code, ran.err) == (0, ""), (kind, profile)
        rules = re.findall(r"^- ([a-z]+(?:-[a-z]+)+): ", ran.out.split("## Rules")[1].split("````")[0], re.MULTILINE)
        assert len(rules) > (10 if PROFILES[profile].only is None else 1), (kind, profile, rules)
        for name in rules:
            assert find(name).level_in(profile) is not None, (kind, profile, name)


def test_a_prompt_is_for_the_configured_profile_and_an_unknown_kind_is_one_line(tmp_path: Path) -> None:
    variables = {"REMIT_PROFILE": "v1"}
    data, typo = run_each(tmp_path, ["prompt", "--format", "json"], ["prompt", "--kind", "desing"], variables=variables)
    report = json.loads(data.out)
    assert list(report) == ["schema", "kind", "profile", "text"]
    assert (report["schema"], report["kind"], report["profile"]) == ("remit.prompt/1", "generic", "v1")
    assert (typo.code, typo.out, typo.err.count("\n")) == (2, "", 1)
    assert "did you mean 'design'?" in typo.err


# doctor


#: Without bubblewrap, `doctor` finds the sandbox of a worker WRONG that runs as root.
needs_sandbox_as_root = pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("bwrap") is None, reason="bubblewrap is not installed, and this is root"
)


def unbroken(text: str) -> str:
    """A text without the places where a line may have been broken."""
    return "".join(text.split())


@needs_sandbox_as_root
def test_doctor_shows_the_source_of_each_value(tmp_path: Path) -> None:
    (tmp_path / "remit.toml").write_text('[check]\nignore = ["CNF", "raw-dump"]\n')
    variables = {"REMIT_PROFILE": "v1", "REMIT_PROFIL": "v1", "REMIT_CONFIG": "remit.toml"}
    lines = (["doctor"], ["doctor", "--all"], ["doctor", "--format", "json"])
    text, whole, data = run_each(tmp_path, *lines, variables=variables)
    assert {(ran.code, ran.err) for ran in (text, whole, data)} == {(0, "")}
    report = json.loads(data.out)
    assert (report["schema"], report["version"]) == ("remit.doctor/1", __version__)
    settings = {row["key"]: (row["value"], row["source"]) for row in report["settings"]}
    file = str(tmp_path / "remit.toml")
    assert settings["profile"] == ("v1", "REMIT_PROFILE")
    assert settings["check.ignore"] == (["CNF", "raw-dump"], file)
    assert settings["merge.threshold"] == (75, "default")
    assert report["unknown_variables"] == ["REMIT_PROFIL"]
    assert unbroken(f"configuration file: {file}") in unbroken(text.out)
    for ran in (text, whole):
        assert re.search(r"^profile +v1 +from REMIT_PROFILE$", ran.out, re.MULTILINE)
        assert re.search(r"^check.ignore +CNF, raw-dump +from remit.toml$", ran.out, re.MULTILINE)
        assert "unknown environment variable REMIT_PROFIL: it has no effect" in ran.out
        assert max(map(len, ran.out.splitlines())) <= 80
    assert re.search(r"^check.select +\(none\) +from default$", whole.out, re.MULTILINE)
    assert re.search(r"^merge.threshold +75 +from default$", whole.out, re.MULTILINE)
    assert "from default" not in text.out
    assert text.out.splitlines()[-1] == f"{len(SETTINGS) - 2} settings have their default; see `remit doctor --all`"


@needs_sandbox_as_root
def test_doctor_lists_the_checks_first_and_marks_failures(tmp_path: Path) -> None:
    agents = tmp_path / "plugin" / "agents"
    agents.mkdir(parents=True)
    (tmp_path / "plugin" / "remit.plugin.json").write_text(
        '{"name": "mine", "version": "1.0.0", "plugin_version": "remit-plugin-v1"}'
    )
    for name in "abcd":
        (agents / f"{name}.md").write_text("---\nname: [\n---\n")
    variables = {"REMIT_PLUGIN_PATH": str(tmp_path / "plugin"), "REMIT_DATABASE_URL": "postgresql://127.0.0.1:1/none"}
    ran = run_here(tmp_path, "doctor", variables=variables)
    assert ran.code == 1
    health, _, settings = ran.out.partition("\n\n")
    marks = dict(re.findall(r"^(ok|note|WRONG) +(\S+)", health, re.MULTILINE))
    assert set(marks) == {"ok", "note", "WRONG"}
    assert [line for line in health.splitlines() if line.startswith("WRONG definitions 11 definitions from 2 plugins;")]
    assert "WRONG database" in health
    assert health.splitlines()[-1] == "problems: definitions, database"
    told = " ".join(health.split())
    assert "a.md', " in told
    assert "d.md" not in told
    assert "and 1 more; " in told
    assert "`remit agents list` shows the reasons" in told
    assert "configuration file" in settings


@needs_sandbox_as_root
def test_doctor_finds_a_folder_wrong_in_which_no_database_can_be_made(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    below = run_here(tmp_path, "doctor", variables={"REMIT_STATE": str(file / "below")})
    fine = run_here(tmp_path, "doctor", variables={"REMIT_STATE": str(tmp_path / "not" / "yet")})
    assert (below.code, fine.code) == (1, 0)
    told = f"cannot be created, because {file} is not a folder; set REMIT_STATE to another folder"
    assert unbroken(told) in unbroken(below.out)
    assert unbroken("not created yet, the first job creates it") in unbroken(fine.out)
    assert not (tmp_path / "not").exists()


@needs_sandbox_as_root
def test_doctor_finds_a_folder_wrong_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REMIT_DATABASE_URL", raising=False)
    monkeypatch.setenv("REMIT_STATE", str(tmp_path / "data"))
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not (path == tmp_path and mode & os.W_OK) and may(path, mode))

    async def look() -> list[HealthFact]:
        configured = load()
        return [fact async for fact in health_facts(configured, load_settings(configured))]

    (database,) = [fact for fact in asyncio.run(look()) if fact.what == "database"]
    assert database.level == "bad"
    assert f"cannot be created, because {tmp_path} is not writable;" in database.words


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_doctor_shows_on_a_terminal_which_client_it_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, wanted = Terminal(), "checking whether copilot runs the hooks …"

    def facts(name: str) -> Iterator[HealthFact]:
        if name == "copilot":
            until(lambda: wanted in terminal.getvalue())  # the session of a slow client
        yield HealthFact(name, "good", "it runs the hooks")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMIT_STATE", str(tmp_path / "data"))
    monkeypatch.setattr(doctor, "client_facts", facts)
    monkeypatch.setattr(printing, "_SLOW", 0.0)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", printed := io.StringIO())
    doctor.doctor_command.main(["--format", "json"], standalone_mode=False)
    assert {"what": "copilot", "level": "good", "words": "it runs the hooks"} in json.loads(printed.getvalue())["facts"]
    assert terminal.getvalue().endswith("\r\x1b[K")  # nothing of it stays


@needs_sandbox_as_root
@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (
            "postgresql://remit:s3cr%2Ft@127.0.0.1:1/none?password=s3cr%2Ft&sslmode=require",
            "postgresql://remit:***@127.0.0.1:1/none?sslmode=require",
        ),
        ("postgresql://remit:my@s3crt@127.0.0.1:1/none", "postgresql://remit:***@127.0.0.1:1/none"),
        ("postgresql://remit:my/s3crt@127.0.0.1:1/none", "postgresql://remit:***@127.0.0.1:1/none"),
        ("postgresql://127.0.0.1:1/none?sslpassword=s3crt", "postgresql://127.0.0.1:1/none"),
        ("host=127.0.0.1 port=1 password='my s3crt'", "port=1"),
        ("s3crt", "***"),
    ],
    ids=["encoded", "an at sign", "a slash", "a key", "pairs", "no address"],
)
def test_doctor_does_not_show_the_password_of_a_database(tmp_path: Path, address: str, shown: str) -> None:
    variables = {"REMIT_DATABASE_URL": address}
    for ran in run_each(tmp_path, ["doctor"], ["doctor", "--format", "json"], variables=variables):
        assert "s3cr" not in ran.out
        assert shown in unbroken(ran.out)


# the rest


def test_the_version_is_printed(tmp_path: Path) -> None:
    assert run_here(tmp_path, "--version") == (0, f"remit {__version__}\n", "")


def test_the_help_of_every_command_has_a_description_and_examples(tmp_path: Path) -> None:
    pages = run_each(tmp_path, ["--help"], ["-h"], ["help"], *([name, "--help"] for name in COMMANDS))
    assert pages[0] == pages[1] == pages[2]
    for ran in pages:
        assert (ran.code, ran.err) == (0, "")
        assert "Examples:" in ran.out
    for name, ran in zip(COMMANDS, pages[3:], strict=True):
        assert f"remit {name}" in ran.out.split("Examples:")[1]


def test_remit_alone_shows_its_help_and_ends_with_2(tmp_path: Path) -> None:
    ran = run_here(tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "Commands:" in ran.err


def test_the_first_page_of_help_explains_eight_commands_and_names_the_others_in_a_line_for_each_group(
    tmp_path: Path,
) -> None:
    page = run_here(tmp_path, "--help").out
    assert max(map(len, page.splitlines())) <= 80
    assert len(page.splitlines()) <= 40
    assert list(FRONT) == ["check", "merge", "verify", "install", "run", "review", "audit", "serve"]
    for name, (_, line) in FRONT.items():
        assert re.search(rf"^  {name} +{re.escape(line)}$", page, re.MULTILINE), name
        assert re.search(rf"^    remit {name}\b", page, re.MULTILINE), f"no example of {name}"
    for title, commands in GROUPS.items():
        assert re.search(rf"^  {title} +{', '.join(commands)}$", page, re.MULTILINE), title


def test_help_all_lists_every_command_with_a_line(tmp_path: Path) -> None:
    page = run_here(tmp_path, "help", "all").out
    for name, (_, line) in {
        **FRONT,
        **{name: about for group in GROUPS.values() for name, about in group.items()},
    }.items():
        assert re.search(rf"^  {name} +{re.escape(line)}$", page, re.MULTILINE), name
    for ran, wanted in zip(
        run_each(tmp_path, ["help", "jobs", "logs"], ["help", "plan", "run"], ["help", "jbos"]),
        ("Usage: remit jobs logs ", "Usage: remit plan run ", ""),
        strict=True,
    ):
        assert ran.out.startswith(wanted)
        assert (ran.code == 0) is bool(wanted)
