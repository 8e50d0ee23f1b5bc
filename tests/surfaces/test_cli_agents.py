"""`remit agents`, as a person or a script meets it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

import jsonschema
import pytest
from support.in_process import Remit, command_runner

from remit.registry import resolution
from remit.registry.definition import Brief
from remit.registry.tools import OFFERED
from remit.reports.layout import display_width, schema_of

BRIEF = [
    *("schema", "system", "system_from", "contract", "tools", "tools_from", "withheld", "model", "model_from"),
    *("max_turns", "max_turns_from", "limits", "definition", "warnings"),
]
SCOUT = "---\nname: scout\ndescription: Looks around\ntools: Read, Grep\nmodel: opus\nmax_turns: 7\n---\nLook around."


Write = Callable[..., Path]


@pytest.fixture
def remit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> Remit:
    """`remit("agents", "list")`, in a folder with nothing around it."""
    for name in list(os.environ):
        if name.startswith(("REMIT_", "GBRAIN_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(resolution, "_loaded", [])
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    return command_runner(monkeypatch, capsys)


@pytest.fixture
def folder(tmp_path: Path) -> Write:
    """Writes a folder of definitions."""

    def write(name: str, files: Mapping[str, str | bytes]) -> Path:
        for path, content in files.items():
            file = tmp_path / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    return write


# help


@pytest.mark.parametrize("words", ["agents", "agents list", "agents show", "agents explain", "agents check"])
def test_help_shows_examples(remit: Remit, words: str) -> None:
    ran = remit(*words.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"remit {words}" in ran.out.split("Examples:")[1]
    assert max(map(len, ran.out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("agents lst", "No such command 'lst'"),
        ("agents show", "Missing argument 'NAME'"),
        ("agents check", "Missing argument 'PATH'"),
        ("agents list --format yaml", "'yaml'"),
        ("agents explain scout --policy loose", "'loose'"),
        ("agents explain scout --var novalue", "--var takes NAME=VALUE, not 'novalue'"),
        ("agents explain scout --max-turns many", "'many'"),
        ("agents explain scout --max-turns 0", "max_turns must be from 1 to 10000, not 0"),
        ("agents check /no/such/folder", "/no/such/folder: no such file or folder"),
    ],
)
def test_a_wrong_use_is_one_line_and_exit_code_2(remit: Remit, words: str, said: str) -> None:
    ran = remit(*words.split())
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert [line for line in ran.err.splitlines() if line.startswith("remit: ")] == ran.err.splitlines()[-1:]


# list


def test_agents_alone_lists_them(remit: Remit) -> None:
    assert remit("agents") == remit("agents", "list")
    ran = remit("agents")
    assert (ran.code, ran.err) == (0, "")
    first, *rows, last = ran.out.splitlines()
    assert first == "built-in  11 definitions"
    assert len(rows) == 11
    assert last.startswith("`remit agents explain NAME`")


def test_the_list_shows_plugin_tools_digest_and_everything_that_is_odd(remit: Remit, folder: Write) -> None:
    left = folder("left", {"scout.md": SCOUT, "bad.md": "---\nname: a\nallowed_tools: [Raed]\n---\n", "note.md": "x"})
    right = folder(
        "right",
        {"scout.md": SCOUT, "odd.md": "---\nname: odd\ntools: Raed\n---\nb", "none.md": "---\ntools: []\n---\nb"},
    )
    ran = remit("agents", "list", "--plugin-path", f"{left}{os.pathsep}{right}{os.pathsep}relative")
    assert ran.code == 0
    assert ran.err.splitlines() == ["[plugins] loaded 'left' (1 subagents)", "[plugins] loaded 'right' (3 subagents)"]
    report = remit("agents", "list", "--plugin-path", str(left), "--format", "json").json
    text = " ".join(ran.out.split())
    digest = report["definitions"][0]["digest"].removeprefix("sha256:")[:12]
    for words in (
        "left 1 definition ",
        f"scout {digest} Read, Grep",
        "right 3 definitions",
        "warning: hidden by",
        "none ",
        "no tools",
        "no such tool as 'Raed', did you mean 'Read'?",
        "allowed_tools: no such tool as 'Raed', did you mean 'Read'?",
        "'relative' is not loaded: a relative path is not loaded",
        "which comes first; use 'right:scout'",
    ):
        assert words in text, words


def test_the_list_as_json_has_the_fixed_shape(remit: Remit, folder: Write) -> None:
    path = folder(
        "house", {"scout.md": SCOUT, "bad.md": "---\nname: a\nname: b\n---\n", "note.md": "x", "any.md": "---\n---\nb"}
    )
    ran = remit("agents", "list", "--plugin-path", str(path), "--format", "json")
    report = ran.json
    assert set(report) == {"schema", "definitions", "rejected", "skipped", "warnings"}
    assert report["schema"] == "remit.agents/1"
    one, two, *team = report["definitions"]
    assert list(two) == ["name", "plugin", "path", "tools", "withheld", "digest"]
    assert [two[key] for key in ("name", "plugin", "path", "tools", "withheld")] == [
        *("scout", "house", f"{path}/scout.md", ["Read", "Grep"], [])
    ]
    assert two["digest"].startswith("sha256:")
    assert (one["name"], one["tools"]) == ("any", None)
    assert {definition["plugin"] for definition in team} == {"built-in"}
    [rejected] = report["rejected"]
    assert list(rejected) == ["path", "line", "reason"]
    assert (rejected["path"], rejected["line"]) == (f"{path}/bad.md", 3)
    [skipped] = report["skipped"]
    assert list(skipped) == ["path", "reason"]
    assert skipped["path"] == f"{path}/note.md"


def test_the_path_of_the_environment_is_listed(remit: Remit, folder: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_PLUGIN_PATH", str(folder("house", {"scout.md": SCOUT})))
    assert remit("agents", "list", "--format", "json").json["definitions"][0]["name"] == "scout"
    other = str(folder("other", {"x.md": SCOUT.replace("scout", "other")}))
    first, second, *_ = remit("agents", "list", "--plugin-path", other, "--format", "json").json["definitions"]
    assert (first["name"], second["plugin"]) == ("other", "built-in"), "--plugin-path is instead, not beside"


# show


def test_show_has_the_fields_as_they_are_understood_and_the_body(remit: Remit, folder: Write) -> None:
    path = folder(
        "house",
        {
            "a.md": "---\nname: Scout\ndescription: Looks\ntools: View, Nope, Bash\ndisallowedTools: Write\n"
            "model: opus\nmaxTurns: 7\nkind: review\nbudget: {cost: 2, tokens: 500}\ncolor: red\n---\n\n"
            "Look.\n\n    Around.\n"
        },
    )
    ran = remit("agents", "show", "scout", "--plugin-path", str(path))
    assert ran.code == 0
    head, _, body = ran.out.partition("\n\n")
    assert body == "Look.\n\n    Around.\n"
    facts = {line.split()[0]: line.split(maxsplit=1)[1] for line in head.splitlines()[1:] if not line.startswith("   ")}
    assert head.splitlines()[0] == "Scout  house:Scout"
    assert (facts["tools"], facts["denied"], facts["withheld"]) == ("Read, Bash", "Write", "Nope")
    assert (facts["model"], facts["turns"], facts["kind"], facts["unused"]) == ("opus", "7", "review", "color")
    assert facts["limits"] == "500 tokens, $2"


def test_show_as_json_is_the_whole_definition(remit: Remit, folder: Write) -> None:
    path = folder("house", {"a.md": SCOUT})
    report = remit("agents", "show", "house:scout", "--plugin-path", str(path), "--format", "json").json
    assert report["schema"] == "remit.definition/1"
    expected = {"name": "scout", "plugin": "house", "tools": ["Read", "Grep"], "model": "opus", "body": "Look around."}
    assert expected.items() <= report.items()


def test_show_of_a_misspelt_name_suggests_the_right_one(remit: Remit) -> None:
    near, far = remit("agents", "show", "securty-auditor"), remit("agents", "show", "qqq")
    assert (near.code, near.out, far.code, far.out) == (2, "", 2, "")
    assert near.err == "remit: there is no definition 'securty-auditor', did you mean 'security-auditor'?\n"
    assert far.err == "remit: there is no definition 'qqq'; see `remit agents`\n"


# explain


def test_explain_shows_prompt_tools_and_sources_in_about_ten_lines(remit: Remit) -> None:
    ran = remit("agents", "explain", "security-auditor")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert len(lines) <= 12
    assert lines[0].startswith("security-auditor  built-in, sha256:")
    assert [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")] == [
        *("prompt", "result", "tools", "model", "turns", "limits")
    ]
    assert "kind review, profile v2" in ran.out
    assert "Bash" not in ran.out


def test_explain_names_the_job_as_source_of_every_option(remit: Remit, folder: Write) -> None:
    path = folder("house", {"a.md": SCOUT.replace("Look around.", "Look at {{what}}.")})
    words = ["agents", "explain", "scout", "--plugin-path", str(path)]
    own = ["--tools", "LS,Bash", "--model", "haiku", "--max-turns", "3", "--format", "json"]
    made = remit(*words, *own, "--var", "what=the=door").json
    assert (made["system"], made["system_from"]) == ("Look at the=door.", "definition")
    assert (made["tools"], made["tools_from"]) == (["LS", "Bash"], "job")
    assert (made["model"].partition(":")[0], made["model_from"]) == ("anthropic", "job")
    assert (made["max_turns"], made["max_turns_from"]) == (3, "job")
    made = remit(*words, "--system", "", "--format", "json").json
    assert (made["system"], made["system_from"]) == ("", "job")
    made = remit(*words, "--worker-tools", "Grep,brain_search", "--format", "json").json
    assert (made["tools"], made["withheld"]) == (["Grep"], ["Read"])
    made = remit(*words, "--tools", "", "--format", "json").json
    assert (made["tools"], made["tools_from"]) == ([], "job")


def test_explain_as_json_is_a_brief_that_keeps_its_schema(remit: Remit, folder: Write) -> None:
    path = folder("house", {"a.md": SCOUT})
    schema = schema_of(Brief)
    for name in ("scout", "code-explorer", "nobody"):
        made = remit("agents", "explain", name, "--plugin-path", str(path), "--format", "json").json
        jsonschema.validate(made, schema)
        assert set(BRIEF) <= set(made)
        assert [key for key in made if key in BRIEF] == BRIEF, "in the order of the design"
        assert {made[f"{part}_from"] for part in ("system", "tools", "model", "max_turns")} <= {
            *("job", "definition", "configuration", "default")
        }


def test_explain_of_an_unknown_name_warns_under_open_and_is_refused_under_strict(remit: Remit) -> None:
    ran = remit("agents", "explain", "securty-auditor")
    assert ran.code == 0
    assert ran.out.startswith("securty-auditor  no such definition: the defaults are used\n")
    assert "did you mean 'security-auditor'?" in ran.err
    ran = remit("agents", "explain", "securty-auditor", "--policy", "strict")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "remit: there is no definition 'securty-auditor', did you mean 'security-auditor'?\n"


def test_explain_without_a_name_is_a_job_without_a_definition(remit: Remit) -> None:
    ran = remit("agents", "explain")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("a job without a definition\n")
    assert remit("agents", "explain", "--format", "json").json["tools"] == [name for name in OFFERED if name != "Bash"]


def test_a_misspelt_tool_is_impossible_to_miss(remit: Remit, folder: Write) -> None:
    path = folder("house", {"a.md": SCOUT.replace("Grep", "Gerp")})
    ran = remit("agents", "explain", "scout", "--plugin-path", str(path))
    assert ran.code == 0
    assert "'Gerp', did you mean 'Grep'?" in ran.err
    assert "  withheld   Gerp\n" in ran.out
    path = folder("house", {"a.md": SCOUT.replace("Grep", "Gerp").replace("tools:", "allowed_tools:")})
    ran = remit("agents", "explain", "scout", "--plugin-path", str(path))
    assert (
        f"[plugins] rejected {f'{path}/a.md'!r}: line 4: allowed_tools: no such tool as 'Gerp', did you mean 'Grep'?"
        in ran.err
    )
    assert (ran.code, ran.out) == (1, "")
    assert "the definition 'scout' was rejected" in ran.err


def test_a_plugin_on_the_path_changes_the_prompt_of_an_agent(
    remit: Remit, folder: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = remit("agents", "explain", "security-auditor", "--format", "json").json
    path = folder("house", {"x.md": "---\nname: Security Auditor\ntools: Read\n---\nMine."})
    monkeypatch.setenv("REMIT_PLUGIN_PATH", str(path))
    after = remit("agents", "explain", "security-auditor", "--format", "json").json
    kept = remit("agents", "explain", "built-in:security-auditor", "--format", "json").json
    assert (after["system"], after["tools"], after["definition"]["plugin"]) == ("Mine.", ["Read"], "house")
    assert kept == before
    assert after["kind"] == before["kind"] == "review", "the name decides where the definition does not say"


# check


def test_check_of_good_definitions_ends_with_0(remit: Remit, folder: Write) -> None:
    path = folder("house", {"a.md": SCOUT, "README.md": "# x"})
    ran = remit("agents", "check", str(path))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1] == "1 loaded, 0 rejected, 1 skipped, 0 with warnings"


def test_check_of_a_rejected_definition_exits_1_and_names_the_line(remit: Remit, folder: Write) -> None:
    path = folder("house", {"a.md": SCOUT, "b.md": "---\nname: b\nallowed_tools: [Raed]\n---\nb", "c.md": SCOUT})
    ran = remit("agents", "check", str(path))
    assert ran.code == 1
    text = "".join(ran.out.split())  # a long path is broken anywhere
    said = f"rejected: {path}/b.md: line 3: allowed_tools: no such tool as 'Raed', did you mean 'Read'?"
    assert "".join(said.split()) in text
    hidden = f"'{path}/c.md' is not used: '{path}/a.md' already defines 'scout' in this plugin"
    assert "".join(hidden.split()) in text
    assert ran.out.splitlines()[-1] == "1 loaded, 1 rejected, 0 skipped, 0 with warnings"


def test_check_of_warnings_alone_ends_with_0_and_names_misspelt_fields_and_tools(remit: Remit, folder: Write) -> None:
    path = folder("house", {"a.md": "---\nname: a\ndiscription: x\ntools: Raed\nmodle: opus\n---\nb"})
    ran = remit("agents", "check", str(path))
    assert ran.code == 0
    text = " ".join(ran.out.split())
    for near in (
        "'discription' is not used, did you mean 'description'?",
        "'Raed', did you mean 'Read'?",
        "'modle' is not used, did you mean 'model'?",
    ):
        assert near in text
    assert ran.out.splitlines()[-1].endswith("1 with warnings")


def test_check_takes_a_plugin_a_folder_or_one_file(
    remit: Remit, folder: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder("house", {"agents/a.md": SCOUT, "x.txt": "", "remit.plugin.json": '{"name": "mine", "version": "1"}'})
    monkeypatch.chdir(path)
    plugin, plain, file, other = (
        remit("agents", "check", where, "--format", "json") for where in (".", "agents", "agents/a.md", "x.txt")
    )
    assert [ran.json["definitions"][0]["plugin"] for ran in (plugin, plain, file)] == ["mine", "agents", "agents"]
    assert file.json["definitions"][0]["path"] == "agents/a.md"
    assert (other.code, other.err) == (2, "remit: x.txt: a definition is a Markdown file (.md)\n")


def test_check_of_a_plugin_that_cannot_be_loaded_ends_with_1(remit: Remit, folder: Write) -> None:
    path = folder("house", {"agents/a.md": SCOUT, "remit.plugin.json": "{"})
    ran = remit("agents", "check", str(path), "--format", "json")
    assert (ran.code, ran.json["definitions"]) == (1, [])
    assert "remit.plugin.json is not JSON" in ran.json["warnings"][0]


def test_check_as_json_has_the_fixed_shape_and_every_warning_names_its_file(remit: Remit, folder: Write) -> None:
    path = folder("house", {"a.md": SCOUT.replace("Grep", "Gerp"), "b.md": "---js\n---\n", "c.md": "no"})
    ran = remit("agents", "check", str(path), "--format", "json")
    assert ran.code == 1
    assert set(ran.json) == {"schema", "definitions", "rejected", "skipped", "warnings"}
    assert ran.json["definitions"][0]["withheld"] == ["Gerp"]
    assert ran.json["rejected"][0]["line"] == 1
    assert ran.json["warnings"][0].startswith(f"'{path}/a.md': line 4: ")


def test_check_knows_the_tools_of_another_worker(remit: Remit, folder: Write) -> None:
    path = folder("house", {"a.md": "---\nname: a\nallowed_tools: [brain_search, Read]\n---\nb"})
    assert remit("agents", "check", str(path)).code == 1
    ran = remit("agents", "check", str(path), "--worker-tools", "brain_search,Read", "--format", "json")
    assert (ran.code, ran.json["definitions"][0]["tools"]) == (0, ["brain_search", "Read"])


# check --fix

FAULTY = (
    b"\xef\xbb\xbf---\r\nname: a\r\ndescription: Use for: caf\xc3\xa9 \xf0\x9f\x8e\x89\r\n"
    b"tools: View, MultiEdit, Bash(git:*), Nope\r\n# kept\r\n---\r\n\r\nBody: stays.\r\n"
)
MENDED = (
    '---\nname: a\ndescription: "Use for: café 🎉"\ntools: Read, Edit, Bash(git:*), Nope\n# kept\n---\n\nBody: stays.\n'
)


def test_fix_repairs_mechanical_errors_reports_them_and_is_idempotent(remit: Remit, folder: Write) -> None:
    path = folder("house", {"a.md": FAULTY})
    ran = remit("agents", "check", str(path), "--fix")
    assert ran.code == 0
    assert (path / "a.md").read_text(encoding="utf-8") == MENDED
    assert ran.err.splitlines() == [
        f"[fixed] '{path}/a.md': {words}"
        for words in (
            "removed the byte order mark",
            "changed line ends to \\n",
            "line 3: 'description': put the value in quotes",
            "changed 'View, MultiEdit, Bash(git:*), Nope' to 'Read, Edit, Bash(git:*), Nope'",
        )
    ]
    before = (path / "a.md").stat()
    again = remit("agents", "check", str(path), "--fix")
    assert (again.err, again.out) == ("", ran.out)
    assert (path / "a.md").stat().st_mtime_ns == before.st_mtime_ns
    assert (path / "a.md").stat().st_ino == before.st_ino


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_fix_keeps_the_rights_of_a_file(remit: Remit, folder: Write, mode: int) -> None:
    path = folder("house", {"a.md": FAULTY})
    (path / "a.md").chmod(mode)
    remit("agents", "check", str(path), "--fix")
    assert stat.S_IMODE((path / "a.md").stat().st_mode) == mode
    assert [file.name for file in path.iterdir()] == ["a.md"]


def test_fix_changes_no_meaning(remit: Remit, folder: Write) -> None:
    path = folder("house", {"a.md": FAULTY})
    words = ["agents", "show", "a", "--plugin-path", str(path), "--format", "json"]
    before = remit(*words).json
    remit("agents", "check", str(path), "--fix")
    after = remit(*words).json
    for field in ("digest", "warnings"):
        before.pop(field)
        after.pop(field)
    assert after == before


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf# Read me\r\n",
        b"\xef\xbb\xbf---\r\nname: caf\xe9\r\n---\r\n",
        b"---\r\nname: a\r\nname: b\r\n---\r\n",
        b"---js\r\n---\r\n",
        b"---\r\nname: never closed\r\n",
        b"---\r\nname: !!python/name:os.system\r\n---\r\n",
        SCOUT.encode(),
        b"",
    ],
)
def test_fix_does_not_change_other_files_unfixable_definitions_and_valid_ones(
    remit: Remit, folder: Write, data: bytes
) -> None:
    path = folder("house", {"a.md": data})
    ran = remit("agents", "check", str(path), "--fix")
    assert (path / "a.md").read_bytes() == data
    assert ran.err == ""


def test_fix_does_not_follow_a_link_outside_and_follows_one_inside(remit: Remit, folder: Write) -> None:
    outside = folder("outside", {"b.md": FAULTY})
    path = folder("house", {"lib/a.txt": FAULTY})
    (path / "out.md").symlink_to(outside / "b.md")
    (path / "in.md").symlink_to("lib/a.txt")
    assert remit("agents", "check", str(path), "--fix").code == 1
    assert (outside / "b.md").read_bytes() == FAULTY
    assert (path / "in.md").is_symlink()
    assert (path / "lib/a.txt").read_text(encoding="utf-8") == MENDED


def test_without_fix_nothing_is_written(remit: Remit, folder: Write) -> None:
    path = folder("house", {"a.md": FAULTY})
    assert remit("agents", "check", str(path)).err == ""
    assert (path / "a.md").read_bytes() == FAULTY


def test_fix_keeps_blank_lines_before_the_head_and_counts_lines_as_in_the_file(remit: Remit, folder: Write) -> None:
    path = folder("house", {"a.md": "\n\n---\nname: a\ndescription: b: c\n---\nBody"})
    assert "line 5: 'description'" in remit("agents", "check", str(path), "--fix").err
    assert (path / "a.md").read_text() == '\n\n---\nname: a\ndescription: "b: c"\n---\nBody'


# the screen


def test_no_line_is_wider_than_the_screen(remit: Remit, folder: Write) -> None:
    long, wide = "n" * 64, "日本語" * 21
    tools = ", ".join(["Read", *(f"mcp__{number}__{long}" for number in range(5))])
    files = {
        "long.md": f"---\nname: {long}\ndescription: {'word ' * 60}\ntools: {tools}\nmodel: {'m' * 150}\n"
        f"unknown_field_{long[:40]}: x\n---\n{'b' * 40}",
        "wide.md": f"---\nname: {wide}\ndescription: {wide * 5}\ntools: {wide}\n---\n短い",
        "bad.md": f"---\nname: x\nallowed_tools: [{long}]\n---\nb",
        "none.md": "x",
        "deep/" * 6 + "same.md": f"---\nname: {long}\n---\nb",
    }
    manifest = json.dumps({"name": long[:63] + "p", "version": "1." * 60, "agents": "."})
    path = folder("house", {**files, "remit.plugin.json": manifest})
    for words in (
        ["list", "--plugin-path", str(path)],
        ["check", str(path)],
        *(["show", name, "--plugin-path", str(path)] for name in (long, wide)),
        *(["explain", name, "--plugin-path", str(path)] for name in (long, wide, "z" * 300)),
        [
            "explain",
            long,
            "--plugin-path",
            str(path),
            "--system",
            "s" * 300,
            "--tools",
            f"Read,{wide},{long * 3}",
        ],
    ):
        ran = remit("agents", *words)
        assert ran.code in (0, 1), ran.err
        for line in ran.out.splitlines():
            assert display_width(line) <= 80, (words[0], line)
