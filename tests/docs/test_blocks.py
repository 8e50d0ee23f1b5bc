"""Run, load or check every fenced block of the documentation, by its language."""

from __future__ import annotations

import ast
import configparser
import contextlib
import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import click
import jsonschema
import psycopg
import pytest
import yaml
from pages import ROOT, Block, Page, all_pages
from support.commands import write_program
from support.model_process import model_process

from remit.checking import Options, Verdict, check_text
from remit.configuration import load
from remit.errors import UsageError
from remit.evidence.grammar import references_in
from remit.evidence.receipts import read_receipts
from remit.evidence.sources import Sources, open_sources
from remit.gate.settings import from_configuration
from remit.orchestrate.plan_file import read_plan
from remit.registry import resolution
from remit.registry.definition import Brief
from remit.registry.plugin_root import PluginRoot
from remit.registry.plugins import load_plugin
from remit.registry.tools import OFFERED, AllowList
from remit.reports.job_text import JobShape
from remit.reports.layout import schema_of
from remit.reports.shapes import CheckShape, result_schema
from remit.surfaces.cli.group import remit
from remit.surfaces.server.api_routes import OPERATIONS, openapi_document
from remit.testing import definition

pytestmark = pytest.mark.process

#: Pages whose blocks of text are not run: drawings, and the commands of a release.
SHOWN_ONLY = frozenset({"docs/architecture.md", "RELEASING.md"})
#: Set-up commands. They are not run; the files and commands that they name must exist.
SET_UP = (
    "remit serve --",
    "python3 dev.py ",
    "python3 -m pip install ",
    "python3 tests/support/model_server.py ",
    "export ",
    "curl ",
)
NOTES = frozenset(
    {"agents", "definition", "file", "model", "no references", "plan", "plugin", "program", "references", "refused"}
    | {"rejected", "repo", "revise", "warned"}
)
#: The scripts of the models, for blocks with a note `model: NAME`.
MODELS = ROOT / "tests/docs/models"
#: Times, which differ between two runs of a job.
_WHEN = re.compile(r"\b(?:20\d\d-\d\d-\d\d )?\d\d:\d\d:\d\d\b|\b\d+\.\d s\b")
#: The path of the reader's folder in the pages.
HOME = "/home/you/project"
#: Prefixes of variables that blocks must not inherit from the environment of the tests.
FOREIGN = ("GIT_", "REMIT_", "GBRAIN_", "ANTHROPIC_", "OPENAI_")

#: Generated pages. Their examples come from the code and are tested with it.
PAGES = [page for page in all_pages() if page.blocks]

AUTHOR = ("-c", "user.name=A Reader", "-c", "user.email=reader@example.com", "-c", "commit.gpgsign=false")
_EXIT = re.compile(r"^\[exit (\d+)\]$")


@pytest.fixture
def folder(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout like the reader's: the examples, and `remit` on the PATH."""
    home = tmp_path / "project"
    programs = tmp_path / "bin"
    programs.mkdir()
    shutil.copytree(ROOT / "examples", home / "examples", ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    write_program(programs / "remit")
    for name in [name for name in os.environ if name.startswith(FOREIGN) or name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(resolution, "_loaded", [])  # a registry of this page's own
    for arguments in (["init", "--quiet"], ["add", "."], [*AUTHOR, "commit", "--quiet", "--message", "the shop"]):
        subprocess.run(["git", *arguments], cwd=home, check=True, capture_output=True)
    own = str(Path(sys.executable).parent)  # where ruff is, as in the reader's environment
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), own, os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("REMIT_DATABASE_URL", address)  # without it each command starts a server and stops it again
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(home)
    return home


class Stage:
    """The scripted models of one page: started when a block first needs them, kept for the rest."""

    def __init__(self, stack: contextlib.ExitStack, folder: Path) -> None:
        self._stack = stack
        self._folder = folder
        self._models: dict[str, str] = {}

    def variables(self, block: Block) -> dict[str, str]:
        """Return the environment variables of a block's commands."""
        name = block.notes.get("model")
        if name is None:
            return {}
        if name not in self._models:
            script = json.loads((MODELS / f"{name}.json").read_text(encoding="utf-8"))
            self._models[name] = self._stack.enter_context(model_process(script, self._folder.parent)).url
        return {"ANTHROPIC_BASE_URL": self._models[name], "ANTHROPIC_API_KEY": "none", "TZ": "UTC"}


@pytest.fixture
def stage(folder: Path) -> Iterator[Stage]:
    with contextlib.ExitStack() as stack:
        yield Stage(stack, folder)


@pytest.mark.skipif(os.name == "nt", reason="the blocks are written for a POSIX shell")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_a_page_is_true(page: Page, folder: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    left_out: list[str] = []
    for block in page.blocks:
        assert set(block.notes) <= NOTES, f"{block}: unknown note {block.notes}"
        assert block.language in TESTERS, f"{block}: blocks in {block.language or 'no language'!r} cannot be tested"
        if "file" in block.notes:
            file = folder / block.notes["file"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        with monkeypatch.context() as own:
            for name, value in stage.variables(block).items():
                own.setenv(name, value)
            left_out += TESTERS[block.language](block, folder) or ()
    if left_out:
        pytest.skip(
            f"the other commands of this page are true; for root without bubblewrap, {', '.join(left_out)} "
            "prints that the sandbox is WRONG"
        )


def run_console(block: Block, folder: Path) -> list[str]:
    """Run the commands of a block and compare their output. Return those that cannot be compared here."""
    left_out = []
    for command, expected, code in sessions(block):
        if command.startswith(SET_UP):
            assert_set_up(command, block)
            continue
        if command.startswith("remit doctor") and os.geteuid() == 0 and shutil.which("bwrap") is None:
            left_out.append(f"`{command}`")
            continue
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name not in _hidden_variables(command)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        output = [line.rstrip().replace(str(folder), HOME) for line in done.stdout.splitlines()]
        assert fits(timeless(output), timeless(expected)), f"{block}: $ {command}\nprints\n{done.stdout}"
        ended = done.returncode if done.returncode >= 0 else 128 - done.returncode  # as a shell reports it
        assert ended == code, f"{block}: $ {command}\nends with {ended}"
    return left_out


def _hidden_variables(command: str) -> set[str]:
    """Return the variables that a command must not see: `remit doctor`, unfiltered, shows the database's address."""
    return {"REMIT_DATABASE_URL"} if command.endswith("remit doctor") else set()


def timeless(lines: list[str]) -> list[str]:
    """Return output without its times."""
    return [_WHEN.sub("then", line) for line in lines]


def sessions(block: Block) -> Iterator[tuple[str, list[str], int]]:
    """Yield each command of a block, its output and its exit code."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, *lines = part.rstrip("\n").split("\n")
        while command.endswith("\\"):
            command = command[:-1] + lines.pop(0).removeprefix("> ")
        found = _EXIT.match(lines[-1]) if lines else None
        yield command, [line.rstrip() for line in (lines[:-1] if found else lines)], int(found[1]) if found else 0
    assert block.text.startswith("$ "), f"{block}: a console block begins with `$ `"


def fits(output: list[str], expected: list[str]) -> bool:
    """Return whether output matches a block; a line `...` matches any lines. A cut line may be cut elsewhere."""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else _line(line) + r"\n" for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in output)) is not None


def _line(shown: str) -> str:
    return f"{re.escape(shown[:-1].rstrip())}.*…" if shown.endswith(" …") else re.escape(shown)


def assert_set_up(command: str, block: Block) -> None:
    if command.startswith("python3 dev.py "):
        assert command.split()[2] in dev_commands(), f"{block}: dev.py has no command {command.split()[2]!r}"
    elif command.startswith("python3 -m pip install "):
        named = re.findall(r"\[([\w,]+)\]", command)
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert all(set(group.split(",")) <= set(extras["optional-dependencies"]) for group in named), str(block)
    elif command.startswith("curl "):
        address = re.search(r"http://127\.0\.0\.1:8321(/\S*)", command)
        paths = openapi_document(OPERATIONS, "1")["paths"]
        assert address, f"{block}: the address of the server is missing"
        method = "post" if " -d " in command else "get"
        assert any(method in paths[path] for path in paths if path == address[1]), f"{block}: no operation {address[1]}"
    else:
        for word in shlex.split(command):
            assert "/" not in word or "=" in word or (ROOT / word).is_file(), f"{block}: there is no {word}"


def dev_commands() -> set[str]:
    """Return the commands of dev.py, from its table."""
    tree = ast.parse((ROOT / "dev.py").read_text(encoding="utf-8"))
    tables = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and "COMMANDS" in ast.unparse(node).split("=")[0] and node.value
    ]
    assert tables, "dev.py has no table COMMANDS"
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return {node.id for table in tables for node in ast.walk(table) if isinstance(node, ast.Name)} & defined


def run_python(block: Block, folder: Path) -> None:
    if "program" in block.notes:  # a console block runs it, from its file
        compile(block.text, str(block), "exec")
        return
    if block.text.startswith(">>> "):
        test = doctest.DocTestParser().get_doctest(block.text, {}, str(block), block.page, block.line)
        output: list[str] = []
        doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=output.append)
        assert not output, "".join(output)
        return
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.text], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{block}: {done.stderr}"


def load_toml(block: Block, folder: Path) -> None:
    if "plan" in block.notes:
        load_plan(block, folder)
        return
    name = "pyproject.toml" if "[tool.remit" in block.text else "remit.toml"
    place = folder / f"line-{block.line}"
    place.mkdir()
    (place / name).write_text(block.text, encoding="utf-8")
    is_named = block.notes.get("file") not in (None, "", "remit.toml", "pyproject.toml")
    why = refusal(place, {"REMIT_CONFIG": str(place / name)} if is_named else {})
    if "refused" in block.notes:
        assert why is not None, f"{block}: it is not refused"
    else:
        assert why is None, f"{block}: {why}"


def load_plan(block: Block, folder: Path) -> None:
    """Check that a block is a plan, or is refused with this message; `plan: FILE` names the file with the same text."""
    if file := block.notes["plan"]:
        assert (ROOT / file).read_text(encoding="utf-8") == block.text, f"{block}: it is not {file}"
    written = folder / f"line-{block.line}.toml"
    written.write_text(block.text, encoding="utf-8")
    if "refused" in block.notes:
        with pytest.raises(UsageError) as raised:
            read_plan(written)
        assert block.notes["refused"] in str(raised.value), str(block)
    else:
        read_plan(written, resolution.open_registry("", AllowList(OFFERED)))


def refusal(place: Path, variables: Mapping[str, str]) -> str | None:
    """Return why the configuration in a folder is refused, or None."""
    try:
        settings = load(place, variables)
        from_configuration(settings)
        Options(
            profile=settings["profile"],
            kinds=settings["agents.kinds"],
            overrides=tuple(settings["check.overrides"].items()),
            select=tuple(settings["check.select"]),
            ignore=tuple(settings["check.ignore"]),
        ).validated().without_ignored_l1()
    except UsageError as error:
        return str(error)
    return None if any(value.source != "default" for value in settings.values.values()) else "it sets nothing"


def load_json(block: Block, _: Path) -> None:
    value = json.loads(block.text)
    shapes = {"remit.check/1": CheckShape, "remit.brief/1": Brief, "remit.job/1": JobShape}
    schemas = {"remit.result/1": result_schema, **{name: partial(schema_of, shape) for name, shape in shapes.items()}}
    named = value.get("schema") if isinstance(value, dict) else None
    if named in schemas:
        jsonschema.validate(value, schemas[named]())
    elif named == "remit.receipts/1":
        read_receipts(block.text.encode(), str(block))
    else:
        assert named is None, f"{block}: nothing knows the schema {named!r}"


def load_yaml(block: Block, _: Path) -> None:
    """Check that the hooks of a configuration of pre-commit exist."""
    offered = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    (source,) = yaml.safe_load(block.text)["repos"]
    assert {hook["id"] for hook in source["hooks"]} <= offered, str(block)


def load_jsonl(block: Block, _: Path) -> None:
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        assert isinstance(json.loads(line), dict), f"{block.page}:{number}: not an object"


def check_markdown(block: Block, folder: Path) -> None:
    """Check a result or, by its note, a definition."""
    if {"definition", "rejected", "warned"} & set(block.notes):
        check_definition(block)
    else:
        check_result(block, folder)


def check_result(block: Block, folder: Path) -> None:
    """Check that a result is accepted with `repo` as its checkout, or violates exactly the rules of `revise`."""
    wanted = sorted(name.strip() for name in block.notes.get("revise", "").split(",") if name.strip())
    repo = block.notes.get("repo")
    verdicts = check_text(block.text, sources=open_sources(folder / repo) if repo else Sources())
    broken = sorted(name for verdict in verdicts for name in blocking(verdict))
    assert broken == wanted, f"{block}: {[v.message for verdict in verdicts for v in verdict.violations]}"
    assert {verdict.verdict for verdict in verdicts} == {"revise" if wanted else "accept"}, str(block)


def check_definition(block: Block) -> None:
    """Check that a definition loads as its note states; `definition: FILE` names the file with the same text."""
    if file := block.notes.get("definition"):
        assert (ROOT / file).read_text(encoding="utf-8") == block.text, f"{block}: it is not {file}"
    if "rejected" in block.notes:
        with pytest.raises(UsageError) as raised:
            definition(block.text)
        assert block.notes["rejected"] in str(raised.value), str(block)
        return
    warnings = " · ".join(definition(block.text).warnings)
    assert block.notes["warned"] in warnings if "warned" in block.notes else not warnings, f"{block}: {warnings}"


def blocking(verdict: Verdict) -> list[str]:
    """Return the rules that block a result: L1, and L2 without an override."""
    excused = {override.rule for override in verdict.overrides}
    return [v.rule for v in verdict.violations if v.level == "L1" or (v.level == "L2" and v.rule not in excused)]


def read_text(block: Block, folder: Path) -> None:
    """Build trees of plugins, and check that forms, separated by two blanks, are references or not."""
    for note, is_one in (("references", True), ("no references", False)):
        for form in re.split(r" {2,}|\n", block.text.strip()) if note in block.notes else ():
            found = references_in(form, lambda path: path in ("my notes/to do.md", "Dockerfile"))
            assert bool(found) is is_one, f"{block}: {form!r} is read as {found}"
            assert all(written.line for written in found), f"{block}: {form!r} has no line"
    if "plugin" in block.notes:
        load_tree(block, folder)
    if {"references", "no references", "plugin"} & set(block.notes):
        return
    assert block.page in SHOWN_ONLY, f"{block}: a block that is only shown can be wrong; give it a language"


def load_tree(block: Block, folder: Path) -> None:
    """Create and load a plugin drawn as a tree: its name and its agents are those of the note."""
    above: dict[int, Path] = {-1: folder / f"line-{block.line}"}
    for line in block.text.rstrip().split("\n"):
        entry, _, content = line.strip().partition("  ")
        depth = len(line) - len(line.lstrip())
        parent = above[max(indent for indent in above if indent < depth)]
        above[depth] = parent / entry.rstrip("/")
        if entry.endswith("/"):
            above[depth].mkdir(parents=True)
        else:
            agent = "" if entry == "README.md" else "---\ndescription: drawn\n---\nHello.\n"
            above[depth].write_text(content.strip() or agent, encoding="utf-8")
        above = {indent: path for indent, path in above.items() if indent <= depth}
    plugin = load_plugin(PluginRoot(str(above[0])), AllowList(OFFERED))
    assert plugin.name == block.notes["plugin"], f"{block}: it is called {plugin.name}"
    assert ", ".join(one.name for one in plugin.definitions) == block.notes["agents"], f"{block}: {plugin}"
    assert not plugin.rejected, f"{block}: {plugin.rejected}"


def read_unit(block: Block, _: Path) -> None:
    """Check that a unit of systemd can be read, and that its commands are commands of remit."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(block.text)
    words = shlex.split(parser["Service"]["ExecStart"])
    assert words[0].endswith("/remit"), str(block)
    found = remit.get_command(click.Context(remit), words[1])
    assert found is not None, str(block)
    found.make_parser(click.Context(found)).parse_args(words[2:])


def check_sql(block: Block, _: Path) -> None:
    """Check that the server of the page accepts the statements."""
    with psycopg.connect(os.environ["REMIT_DATABASE_URL"], autocommit=True) as connection:
        for statement in filter(str.strip, block.text.split(";\n")):
            connection.execute(statement.encode())


TESTERS: dict[str, Callable[[Block, Path], list[str] | None]] = {
    "console": run_console,
    "python": run_python,
    "toml": load_toml,
    "json": load_json,
    "jsonl": load_jsonl,
    "yaml": load_yaml,
    "markdown": check_markdown,
    "text": read_text,
    "ini": read_unit,
    "sql": check_sql,
}


@pytest.mark.parametrize(
    ("output", "expected", "fit"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a", "b"], ["a"], False),
        (["a"], ["a", "b"], False),
        (["a", "b", "c"], ["...", "c"], True),
        (["a", "b", "c"], ["a", "...", "c"], True),
        (["a", "c"], ["a", "...", "c"], True),
        (["a", "b"], ["..."], True),
        (["a", "b"], ["...", "a"], False),
        ([], [], True),
        (["a"], [], False),
        (["a long line …"], ["a long …"], True),
        (["a long line"], ["a long …"], False),
    ],
)
def test_output_fits_only_what_is_shown(output: list[str], expected: list[str], fit: bool) -> None:
    assert fits(output, expected) is fit
