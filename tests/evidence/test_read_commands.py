"""Commands and tests are read from code marks, shell fences and sentences; placeholders are not claims."""

from __future__ import annotations

import time

import pytest

from remit.contract.parse import parse_whole
from remit.evidence.document import segments
from remit.evidence.model import Claim, ClaimKind
from remit.evidence.read_commands import command_claims, command_of
from remit.workspace.command_lines import ToolCommand, read_command


def read(text: str, kind: ClaimKind = "command") -> list[Claim]:
    pieces = [segment for document in parse_whole(text) for segment in segments(document)]
    return [claim for segment in pieces for claim in command_claims(segment) if claim.kind == kind]


def commands(text: str) -> list[tuple[str, str]]:
    """The folder and the name of each command."""
    return [(claim.path, claim.name) for claim in read(text)]


def fence(code: str, language: str = "bash") -> str:
    return f"# Guide\n\n```{language}\n{code}\n```\n"


# Commands


@pytest.mark.parametrize(
    ("line", "runner", "names"),
    [
        ("npm run build", "npm", ["build"]),
        ("npm run-script build:web", "npm", ["build:web"]),
        ("npm test -- --watch", "npm", ["test"]),
        ("npm t", "npm", ["test"]),
        ("npm start", "npm", ["start"]),
        ("pnpm lint", "pnpm", ["lint"]),
        ("pnpm run lint", "pnpm", ["lint"]),
        ("pnpm -r --parallel run lint", "pnpm", ["lint"]),
        ("pnpm recursive run lint", "pnpm", ["lint"]),
        ("yarn dev", "yarn", ["dev"]),
        ("yarn run dev", "yarn", ["dev"]),
        ("yarn workspace @app/web build", "yarn", ["build"]),
        ("yarn workspaces foreach -A run build", "yarn", ["build"]),
        ("yarn workspaces run build", "yarn", ["build"]),
        ("make lint test", "make", ["lint", "test"]),
        ("gmake -j 8 DEBUG=1 all", "make", ["all"]),
        ("make VERBOSE=1 install DESTDIR=/tmp/x", "make", ["install"]),
        ("cargo run --bin importer -- --all", "cargo", ["importer"]),
        ("cargo +nightly run --bin=importer", "cargo", ["importer"]),
        ("python -m shop.server", "python", ["shop.server"]),
        ("python3.12 -W error -m shop.server", "python", ["shop.server"]),
    ],
)
def test_the_name_that_a_command_runs_is_read(line: str, runner: str, names: list[str]) -> None:
    claims = read(f"Run `{line}` first.")
    assert [claim.name for claim in claims] == names
    assert {command.runner for claim in claims if (command := command_of(claim))} == {runner}


@pytest.mark.parametrize(
    "line",
    [
        *("npm install", "npm ci", "npm run", "npm publish", "npm run build --if-present", "npm exec vitest"),
        *("pnpm install", "pnpm dlx create-vite", "pnpm add react", "pnpm exec tsc", "pnpm --unknown value build"),
        *("yarn", "yarn add react", "yarn install", "yarn dlx sb", "yarn workspaces list"),
        *("make", "make -j8", "make CC=clang", "just deploy", "task build", "tox -e lint", "nox -s x", "bun run dev"),
        *("uv sync", "uv run python", "uv run python scripts/a.py", "uv run -", "poetry install", "poetry add run"),
        *("cargo run", "cargo test --bin", "cargo install --bin importer shop", "python app.py -m x", "python -V"),
        *("docker compose exec web npm run dev", "echo npm run dev", "npx npm-run-all build"),
    ],
)
def test_a_command_of_the_tool_itself_is_not_a_claim(line: str) -> None:
    assert commands(f"Run `{line}` first.") == []


@pytest.mark.parametrize(
    "line",
    [
        *("npm run <script>", "npm run [name]", "npm run test:*", "npm run test:...", "npm run $SCRIPT", "npm run …"),
        *("make X", "make TARGET", "make <target>-debug", "make build-<name>", "make dev|prod", "npm run {dev,build}"),
        *("make RECIPE", "npm run test:xxx", "npm run your-script"),
        *("python -m path/to/module", "cargo run --bin <name>", "make $(TARGETS)"),
    ],
)
def test_a_placeholder_is_not_a_claim(line: str) -> None:
    assert commands(f"Run `{line}` first.") == []


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("npm run build", ""),
        ("cd web && npm run build", "web"),
        ("(cd web/app; npm run build)", "web/app"),
        ("npm --prefix web run build", "web"),
        ("npm run build --prefix=web", "web"),
        ("cd apps && npm -C web run build", "apps/web"),
        ("sudo env CI=1 npm run build", ""),
        ("yarn --cwd web build", "web"),
        ("pnpm -C web build", "web"),
        ("make -C web build", "web"),
        ("cd a/../web && npm run build | tee log.txt", "web"),
    ],
)
def test_the_folder_of_a_command_is_read(line: str, folder: str) -> None:
    assert commands(f"Run `{line}`.") == [(folder, "build")]


@pytest.mark.parametrize("line", ["cd $HOME && npm run build", "cd ~/shop && make all", "cd - && make all"])
def test_a_command_in_a_folder_that_is_not_known_is_not_a_claim(line: str) -> None:
    assert commands(f"Run `{line}`.") == []


def test_a_command_of_a_workspace_may_run_in_any_package() -> None:
    assert read_command(["pnpm", "--filter", "web", "build"]) == [ToolCommand("pnpm", "build", in_packages=True)]
    assert read_command(["npm", "run", "build", "-w", "web"])[0].in_packages
    assert read_command(["make", "-f", "tools/build.mk", "all"]) == [ToolCommand("make", "all", file="tools/build.mk")]
    assert read_command(["npm", "run", "build"]) == [ToolCommand("npm", "build", is_script=True)]


def test_every_command_of_a_line_is_a_claim() -> None:
    claims = read("First `npm run build && make lint; make deploy | tee log`.")
    assert [claim.name for claim in claims] == ["build", "lint", "deploy"]
    assert [claim.code for claim in claims] == ["npm run build", "make lint", "make deploy"]
    assert {claim.text for claim in claims} == {"npm run build && make lint; make deploy | tee log"}


def test_a_claim_has_the_place_of_its_words() -> None:
    claim = read("Title\n\nThen run `$ npm run build` again.")[0]
    assert claim.at == 3
    assert claim.segment.text[claim.start : claim.end] == claim.text == "npm run build"
    assert read("| Step | ToolCommand |\n|---|---|\n| build | `make all` |")[0].at == 3
    assert read("Run <code>make all</code>.")[0].name == "all"


def test_text_outside_code_marks_is_not_a_command() -> None:
    assert commands("Please make sure that you run npm run build, then just do it.") == []
    assert commands("Both `a` make sure `b` and `c` make changes `d`.") == []


# Fences


def test_lines_of_a_shell_fence_are_commands() -> None:
    claims = read(fence("# make no\nnpm ci\nnpm run build  # make none\n\nmake lint"))
    assert [(claim.name, claim.at) for claim in claims] == [("build", 6), ("lint", 8)]
    assert claims[0].segment.text[claims[0].start : claims[0].end] == claims[0].text


@pytest.mark.parametrize(
    "language", ["sh", "shell", "zsh", "console", "shell-session", "Bash", "{.bash}", 'sh title="x"']
)
def test_the_names_of_shells_are_known(language: str) -> None:
    assert commands(fence("make lint", language)) == [("", "lint")]


@pytest.mark.parametrize("language", ["", "text", "yaml", "python", "make", "dockerfile"])
def test_a_fence_that_is_not_of_a_shell_is_not_read(language: str) -> None:
    assert commands(fence("make lint", language)) == []
    assert read(fence("pytest tests/test_a.py::test_b", language), "test") == []


@pytest.mark.parametrize("prompt", ["$", "%", "(venv) $", "user@host:~/shop$", "PS C:\\shop>", "❯"])
def test_with_prompts_only_lines_with_a_prompt_are_commands(prompt: str) -> None:
    text = fence(f"{prompt} npm run build\n> shop@1.0.0 build\nmake output\n{prompt} make lint", "")
    assert [(claim.name, claim.at) for claim in read(text)] == [("build", 4), ("lint", 7)]


def test_a_fence_keeps_its_folder_until_the_next_one() -> None:
    assert commands(fence("cd web\nnpm run build\nnpm run lint") + fence("npm run dev")) == [
        ("web", "build"),
        ("web", "lint"),
        ("", "dev"),
    ]


def test_lines_that_each_change_the_folder_start_in_the_root() -> None:
    assert commands(fence("cd web && npm run build\ncd api && npm run lint\nnpm run dev")) == [
        ("web", "build"),
        ("api", "lint"),
        ("", "dev"),
    ]
    assert commands(fence("cd web\ncd api && npm run lint\nnpm run dev"))[1:] == [("", "dev")]
    assert commands(fence("cd web\nnpm run build\ncd web\nnpm run lint")) == [("web", "build"), ("web", "lint")]
    assert commands(fence("cd web\ncd ..\nmake all")) == [(".", "all")]


def test_a_folder_that_is_not_known_ends_the_claims_of_a_fence() -> None:
    assert commands(fence("make all\ncd $DIR\nmake lint")) == [("", "all")]


def test_a_command_goes_on_after_a_backslash_and_inside_quotes() -> None:
    text = fence('npm run \\\n  build\ngit commit -m "first\nmake second\n"\nmake lint')
    assert [(claim.name, claim.at) for claim in read(text)] == [("build", 4), ("lint", 9)]


def test_a_quote_that_is_not_closed_hides_no_line() -> None:
    assert commands(fence("echo it's\nmake lint")) == [("", "lint")]
    assert commands(fence("echo 'a \\' # b\nmake lint")) == [("", "lint")]
    assert commands(fence('echo a \\\' b "c \\" d" # it\'s\nmake lint')) == [("", "lint")]


def test_the_lines_of_a_here_document_are_not_commands() -> None:
    text = fence("cat > Makefile <<'EOF'\nmake inner\nEOF\nmake lint")
    assert [(claim.name, claim.at) for claim in read(text)] == [("lint", 7)]
    assert commands(fence("cat <<EOF\nmake lint")) == [("", "lint")]


def test_a_fence_in_a_list_is_read_at_its_line() -> None:
    claim = read("1. Build:\n   ```bash\n   make all\n   ```\n")[0]
    assert (claim.name, claim.at) == ("all", 3)


# Tests


def read_tests(text: str) -> list[tuple[str, str]]:
    return [(claim.path, claim.name) for claim in read(text, "test")]


@pytest.mark.parametrize(
    ("text", "path", "name"),
    [
        ("See tests/test_x.py::test_y.", "tests/test_x.py", "test_y"),
        ("`tests/test_x.py::TestCart::test_y[eu-1]` fails.", "tests/test_x.py", "TestCart::test_y"),
        ("`tests\\unit\\test_x.py::test_y`", "tests/unit/test_x.py", "test_y"),
        ("`test_login` in `tests/test_auth.py` covers it.", "tests/test_auth.py", "test_login"),
        ("test_login from tests/test_auth.py", "tests/test_auth.py", "test_login"),
        ("`tests/test_auth.py` (`test_login`)", "tests/test_auth.py", "test_login"),
        ("- `tests/test_auth.py`: `TestLogin`", "tests/test_auth.py", "TestLogin"),
        ("`auth_test.go` — `TestLogin`", "auth_test.go", "TestLogin"),
        ("`AuthTest.php` (`testLogin()`)", "AuthTest.php", "testLogin"),
        ("Run `LoginTest#rejectsExpired`.", "", "LoginTest#rejectsExpired"),
        ("Run `mvn test -Dtest=com.shop.CartIT#adds`.", "", "com.shop.CartIT#adds"),
    ],
)
def test_a_test_is_read_with_its_file(text: str, path: str, name: str) -> None:
    assert read_tests(text) == [(path, name)]


def test_several_tests_of_a_file_are_read() -> None:
    text = "`tests/test_auth.py` (`test_login`, `test_logout` and `test_expired`)"
    assert [name for _, name in read_tests(text)] == ["test_login", "test_logout", "test_expired"]


def test_a_test_in_a_shell_fence_is_read_once() -> None:
    claim = read(fence("make all\npytest tests/test_x.py::TestCart::test_y -v"), "test")[0]
    assert (claim.name, claim.at) == ("TestCart::test_y", 5)
    assert claim.segment.text[claim.start : claim.end] == "tests/test_x.py::TestCart::test_y"
    assert len(read_tests(fence("pytest tests/test_x.py::TestCart::test_y -v"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "`src/auth.py::login`",
        "`std::test::helper`",
        "`tests/conftest.py::client`",
        "`tests/test_file.py::test_function`",
        "`path/to/test_x.py::test_y`",
        "`User#name` and `Cart#test`",
        "LoginTest#rejects outside code marks",
        "[`tests/test_auth.py`](test_auth.py)",
        "test_login in the module auth.py",
        "`test_login` in `tests/test_auth.py:12`",
        "[site](https://example.com/LoginTest#rejects)",
    ],
)
def test_what_is_not_a_test_is_not_a_claim(text: str) -> None:
    assert read_tests(text) == []


# Limits


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        fence("make a\n" + "echo 'a\n" * 20_000),
        fence("make a\n" + "cat <<EOF\n" * 20_000),
        fence("make a \\\n" * 20_000),
        fence("$ cd a\n$ make b\n" * 5_000),
        "`make " * 50_000,
        "test_a in " * 50_000,
        "tests/test_a.py (" * 30_000,
        "a.py::" * 50_000,
        "a/" * 100_000 + "test.py",
        "test" * 50_000,
        "`" + "A.B$" * 70 + "Test#x` " * 2_000,
    ],
)
def test_a_hostile_text_is_read_in_linear_time(text: str) -> None:
    started = time.process_time()
    read(text)
    assert time.process_time() - started < 10
