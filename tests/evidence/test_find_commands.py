"""Commands are looked up in the files of their tools, tests in test files."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from remit.contract.parse import parse_whole
from remit.evidence.document import segments
from remit.evidence.find_commands import CommandFacts, CommandFinder
from remit.evidence.model import Claim
from remit.evidence.read_commands import command_claims
from remit.workspace.files import WorkTree


def read(text: str) -> list[Claim]:
    pieces = [segment for document in parse_whole(text) for segment in segments(document)]
    return [claim for segment in pieces for claim in command_claims(segment)]


def write(root: Path, files: dict[str, str]) -> WorkTree:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return WorkTree(root)


def package(*scripts: str, **more: object) -> str:
    return json.dumps({"scripts": dict.fromkeys(scripts, "vite build"), **more})


def look(tree: WorkTree, text: str, folder: str = "") -> CommandFacts:
    """The facts about the only claim of a text."""
    (claim,) = read(text if "`" in text else f"Run `{text}`.")
    return CommandFinder(tree).find(claim, folder)


def known(tree: WorkTree, text: str, folder: str = "") -> bool | None:
    return look(tree, text, folder).is_known


# package.json


def test_a_script_of_package_json_exists(tmp_path: Path) -> None:
    tree = write(tmp_path, {"package.json": package("build", "test:e2e")})
    assert look(tree, "npm run build") == CommandFacts(is_known=True, where="package.json")
    assert look(tree, "npm run test:e2") == CommandFacts(False, "package.json", "test:e2e")
    for line in ("npm test", "pnpm run lint", "pnpm test", "yarn lint", "yarn workspace web lint"):
        assert known(tree, line) is False, line


def test_without_any_file_of_the_tool_nothing_is_known(tmp_path: Path) -> None:
    tree = write(tmp_path, {"main.go": "package main"})
    for line in ("npm run x", "make x", "cargo run --bin x"):
        assert look(tree, line) == CommandFacts(), line


def test_a_stated_folder_decides(tmp_path: Path) -> None:
    tree = write(tmp_path, {"package.json": package("lint"), "web/package.json": package("dev"), "web/src/a.ts": ""})
    assert look(tree, "cd web && npm run dev").where == "web/package.json"
    assert look(tree, "npm --prefix web run lint") == CommandFacts(False, "web/package.json")
    assert known(tree, "cd web/src && npm run dev") is True
    # The folder has no package.json: something may make one there.
    assert known(tree, "cd web/src && npm run build") is None


def test_a_folder_is_also_looked_up_from_the_document(tmp_path: Path) -> None:
    tree = write(tmp_path, {"apps/web/package.json": package("dev"), "package.json": package()})
    assert known(tree, "cd web && npm run dev", "apps") is True
    assert known(tree, "cd web && npm run lint", "apps") is False
    assert known(tree, "cd ../apps/web && npm run lint", "apps") is False


def test_a_folder_that_is_not_here_is_another_project(tmp_path: Path) -> None:
    tree = write(tmp_path, {"package.json": package("dev", name="@acme/Shop-Front")})
    assert known(tree, "cd other && npm run lint") is None
    assert known(tree, "cd /srv/other && npm run lint") is None
    assert known(tree, "cd other && npm run dev") is True
    assert known(tree, "cd shop-front && npm run lint") is False
    assert known(tree, f"cd {tmp_path.name} && npm run lint") is False


def test_without_a_folder_the_script_of_any_package_counts(tmp_path: Path) -> None:
    tree = write(tmp_path, {"package.json": package("lint"), "packages/ui/package.json": package("storybook")})
    assert look(tree, "npm run storybook").where == "packages/ui/package.json"
    assert look(tree, "npm run lint", "packages/ui").where == "package.json"
    assert look(tree, "npm run bench", "packages/ui") == CommandFacts(False, "packages/ui/package.json")
    assert known(tree, "cd packages/ui && pnpm -w run lint") is True
    assert known(tree, "npm run storybook -w @acme/ui") is True
    assert known(tree, "npm run bench --workspace ui") is False


def test_a_package_of_an_example_does_not_decide(tmp_path: Path) -> None:
    tree = write(tmp_path, {"examples/a/package.json": package("dev"), ".tools/package.json": package("dev")})
    assert known(tree, "npm run lint") is None
    tree = write(tmp_path, {"web/package.json": package("dev")})
    assert look(WorkTree(tmp_path), "npm run lint") == CommandFacts(False, "web/package.json")


def test_a_program_of_a_dependency_is_foreign(tmp_path: Path) -> None:
    scripts = {"check": "cross-env CI=1 tsc -p . && biome lint src", "dev": "vite dev"}
    development = {"vitest": "1", "@changesets/cli": "2", "@nestjs/cli": "1"}
    tree = write(
        tmp_path,
        {
            "package.json": json.dumps({"scripts": scripts, "devDependencies": development, "bin": {"shop": "a.js"}}),
            "cli/package.json": json.dumps({"name": "@acme/shopctl", "bin": "cli.js"}),
        },
    )
    for name in ("vitest", "changeset", "nest", "tsc", "biome", "shop", "shopctl"):
        assert look(tree, f"yarn {name}").is_foreign, name
        assert look(tree, f"yarn run {name}").is_foreign, name
        assert look(tree, f"npm run {name}").is_known is False, name
    # `lint` is an argument of a program, not a program.
    assert look(tree, "pnpm lint").is_known is False
    assert look(tree, "pnpm test").is_known is False


def test_npm_starts_server_js_without_a_script(tmp_path: Path) -> None:
    tree = write(tmp_path, {"package.json": package()})
    assert known(tree, "npm start") is False
    assert known(write(tmp_path, {"server.js": ""}), "npm start") is None
    assert known(tree, "npm run env") is None


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"scripts": ', "[" * 100_000])
def test_a_package_json_that_cannot_be_read_decides_nothing(tmp_path: Path, text: str) -> None:
    assert known(write(tmp_path, {"package.json": text}), "npm run build") is None


@pytest.mark.parametrize(
    "text", ['{"scripts": []}', '{"scripts": {"a": 1}, "bin": 3, "dependencies": "x"}', "\ufeff{}"]
)
def test_odd_values_in_package_json_declare_nothing(tmp_path: Path, text: str) -> None:
    assert known(write(tmp_path, {"package.json": text}), "yarn build") is False


# make

MAKEFILE = """\
-include local.mk
include mk/common.mk # shared
flags := a:b
image = shop:latest
ifdef CI
.PHONY: all \\
  clean
all build: $(OBJECTS)
\tnot: a target
install:: all
grouped other&: x
release: VERSION = 1
%.o: %.c
docs-%: docs
$(BIN)/tool: x
$(info a note: hidden)
# comment: hidden
"""


def test_the_targets_of_a_makefile_exist(tmp_path: Path) -> None:
    tree = write(
        tmp_path, {"Makefile": MAKEFILE, "mk/common.mk": "lint:\n\truff\ninclude mk/deep.mk\n", "mk/deep.mk": "deep:\n"}
    )
    for name in ("all", "build", "clean", "install", "grouped", "other", "release", "lint", "deep"):
        assert look(tree, f"make {name}") == CommandFacts(is_known=True, where="Makefile"), name
    for name in ("flags", "image", "ifdef", "hidden", "not", "lnit"):
        assert known(tree, f"make {name}") is False, name
    assert look(tree, "make lnit").suggestion == "lint"
    for name in ("main.o", "docs-html", "out/tool"):
        assert known(tree, f"make {name}") is None, name


@pytest.mark.parametrize(
    "line", ["include $(RULES)", "include missing.mk", "$(eval $(call rule,a))", ".DEFAULT:\n\techo", "%: Makefile"]
)
def test_a_makefile_that_computes_targets_decides_nothing(tmp_path: Path, line: str) -> None:
    assert known(write(tmp_path, {"Makefile": f"all:\n{line}\n"}), "make lint") is None


@pytest.mark.parametrize("name", ["CMakeLists.txt", "configure.ac", "Makefile.in", "lint", "lint.c", "lint/a.txt"])
def test_make_may_build_what_no_rule_names(tmp_path: Path, name: str) -> None:
    assert known(write(tmp_path, {"Makefile": "all:\n", name: ""}), "make lint") is None


def test_make_uses_the_folder_and_the_file_that_are_stated(tmp_path: Path) -> None:
    tree = write(tmp_path, {"Makefile": "all:\n", "docs/Makefile": "html:\n", "docs/a/x.rst": "", "ci.mk": "check:\n"})
    assert known(tree, "make -C docs html") is True
    assert known(tree, "make -C docs all") is False
    assert known(tree, "cd docs/a && make all") is None
    assert known(tree, "make -f ci.mk check") is True
    assert known(tree, "make -f ci.mk bundle") is False
    assert known(tree, "make -f gone.mk bundle") is False
    assert known(tree, "make html") is True


def test_a_folder_that_the_text_names_may_be_where_make_runs(tmp_path: Path) -> None:
    tree = write(tmp_path, {"Makefile": "all:\n", "site/docs/Makefile": "%:\n\tsphinx-build\n"})
    assert known(tree, "Go to `site/docs` and run `make html`.") is None
    assert known(tree, "Run `make html`.") is False


def test_included_files_that_include_each_other_are_read_once(tmp_path: Path) -> None:
    tree = write(tmp_path, {"Makefile": "include a.mk\n", "a.mk": "include Makefile\ninclude a.mk\nlint:\n"})
    assert known(tree, "make lint") is True
    assert known(tree, "make test") is False


# Programs and modules


def test_python_runs_modules_of_the_project(tmp_path: Path) -> None:
    files = ("src/shop/__init__.py", "src/shop/server.py", "src/shop/fast.pyx", "jobs/daily.py", "http/__init__.py")
    deep = ("services/pay/setup.py", "services/pay/pay/__init__.py", "bench/django/__init__.py")
    tree = write(tmp_path, dict.fromkeys((*files, *deep), "") | {"pyproject.toml": ""})
    for name in ("shop", "shop.server", "shop.fast", "jobs.daily", "pay"):
        assert known(tree, f"python -m {name}") is True, name
    assert look(tree, "python -m shop.sever") == CommandFacts(False, "src/shop/__init__.py", "shop.server")
    assert look(tree, "python -m jobs.weekly").is_known is False
    assert look(tree, "python -m pay.worker").is_known is False
    for name in ("http.server", "pytest", "django.core", "venv"):
        assert look(tree, f"python -m {name}", "bench/x").is_foreign, name
    assert look(tree, "cd gone && python -m shop.sever").is_foreign


def test_cargo_runs_programs_of_any_package_of_the_workspace(tmp_path: Path) -> None:
    tree = write(
        tmp_path,
        {
            "Cargo.toml": '[workspace]\nmembers = ["a"]\n',
            "a/Cargo.toml": '[package]\nname = "shop"\n[[bin]]\nname = "importer"\npath = "x.rs"\n',
            "a/src/bin/export.rs": "",
            "a/src/bin/audit/main.rs": "",
            "docs/b.md": "",
        },
    )
    for name in ("shop", "importer", "export", "audit"):
        assert known(tree, f"cargo run --bin {name}") is True, name
    assert look(tree, "cargo run --bin exports") == CommandFacts(False, "Cargo.toml", "export")
    unreadable = write(tmp_path, {"a/Cargo.toml": "[target.'cfg(a)'not'b]"})
    assert known(unreadable, "cargo run --bin exports") is None
    assert known(write(tmp_path, {"Cargo.toml": "["}), "cargo run --bin exports") is None


# Tests

TEST_FILE = """\
from base import test_shared, Base

class TestCart:
    def test_adds(self): ...

class TestDerived(Base):
    async def test_own(self): ...

class TestPlain(unittest.TestCase):
    pass

def test_login(): ...
"""


def test_a_test_is_defined_in_its_file(tmp_path: Path) -> None:
    tree = write(tmp_path, {"tests/test_auth.py": TEST_FILE})
    for name in ("test_login", "TestCart", "TestCart::test_adds", "TestDerived::test_own"):
        assert look(tree, f"See `tests/test_auth.py::{name}`.") == CommandFacts(True, "tests/test_auth.py"), name
    assert look(tree, "`tests/test_auth.py::test_logi`") == CommandFacts(False, "tests/test_auth.py", "test_login")
    assert known(tree, "`tests/test_auth.py::TestCart::test_gone`") is False
    assert known(tree, "`tests/test_auth.py::TestPlain::test_gone`") is False
    assert known(tree, "`tests/test_auth.py::TestDerived::test_inherited`") is None
    assert known(tree, "`tests/test_auth.py::test_shared`") is None
    assert known(tree, "`tests/test_auth.py` (`test_gone`)") is False


def test_the_file_of_a_test_is_found_like_other_paths(tmp_path: Path) -> None:
    tree = write(
        tmp_path, {"api/tests/test_auth.py": TEST_FILE, "web/tests/test_auth.py": "", "api/tests/test_b.py": ""}
    )
    assert known(tree, "`tests/test_auth.py::test_login`") is True
    assert look(tree, "`tests/test_auth.py::test_login`", "web") == CommandFacts(False, "web/tests/test_auth.py")
    moved = look(tree, "`api/unit/test_auth.py::test_login`")
    assert moved == CommandFacts(False, suggestion="api/tests/test_auth.py::test_login")
    assert look(tree, "`tests/test_gone.py::test_login`") == CommandFacts(is_known=False)
    assert known(tree, "`/etc/test_auth.py::test_login`") is None
    (tmp_path / "test_data.py").write_bytes(b"\0")
    assert known(WorkTree(tmp_path), "`test_data.py::test_login`") is None


def test_a_file_with_tests_that_are_not_written_in_it_decides_nothing(tmp_path: Path) -> None:
    tree = write(tmp_path, {"test_a.py": "from base import *\n", "test_b.py": "globals()[name] = make()\n"})
    assert known(tree, "`test_a.py::test_login`") is None
    assert known(tree, "`test_b.py::test_login`") is None


def test_tests_of_other_languages_are_words_of_their_file(tmp_path: Path) -> None:
    tree = write(tmp_path, {"auth_test.go": "func TestLogin(t *testing.T) {}\n"})
    assert known(tree, "`auth_test.go` — `TestLogin`") is True
    assert known(tree, "`auth_test.go` — `TestLog`") is False


def test_a_method_is_looked_up_in_the_file_of_its_class(tmp_path: Path) -> None:
    tree = write(
        tmp_path,
        {
            "src/test/java/shop/CartTest.java": "class CartTest {\n  void adds() {}\n}\nclass InnerTest {}\n",
            "src/test/java/shop/DerivedIT.java": "class DerivedIT extends Base {}\n",
            "test/user_login_test.rb": 'class UserLoginTest < Base\n  test "expired session" do\n',
        },
    )
    assert look(tree, "`CartTest#adds`") == CommandFacts(True, "src/test/java/shop/CartTest.java")
    assert known(tree, "`shop.CartTest#adds`") is True
    assert known(tree, "`CartTest#gone`") is False
    assert known(tree, "`InnerTest#adds`") is True
    assert known(tree, "`InnerTest#gone`") is False
    assert known(tree, "`GoneTest#adds`") is False
    assert known(tree, "`DerivedIT#inherited`") is None
    assert known(tree, "`UserLoginTest#test_expired_session`") is None
    assert known(write(tmp_path / "other", {"a.py": ""}), "`GoneTest#adds`") is None
    (tmp_path / "BinTest.java").write_bytes(b"\0")
    assert known(WorkTree(tmp_path), "`BinTest#adds`") is None


# Claims that are not commands, and limits


def test_a_claim_that_names_no_command_is_not_known(tmp_path: Path) -> None:
    (claim,) = read("Run `make all`.")
    finder = CommandFinder(write(tmp_path, {"Makefile": "all:\n"}))
    for code in ("make 'all", "ls all"):
        other = Claim("command", "x", 1, claim.segment, name="all", code=code)
        assert finder.find(other) == CommandFacts()
    assert finder.find(Claim("path", "x", 1, claim.segment)) == CommandFacts()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("Makefile", "a" + " " * 900_000 + "b: c\n", "make x"),
        ("Makefile", "$(A)%x:\n" * 100_000, "make x"),
        ("Makefile", "include a.mk " * 70_000, "make x"),
        ("Makefile", "$(" * 400_000 + ":", "make x"),
        ("package.json", json.dumps({"scripts": {"a": "npx " * 200_000}}), "yarn x"),
        ("test_a.py", "class " * 150_000, "`test_a.py::test_x`"),
        ("test_a.py", "class A" + " " * 900_000, "`test_a.py::test_x`"),
    ],
)
def test_a_hostile_file_is_read_in_linear_time(tmp_path: Path, path: str, text: str, line: str) -> None:
    tree = write(tmp_path, {path: text})
    started = time.process_time()
    look(tree, line)
    assert time.process_time() - started < 5


@pytest.mark.slow
def test_many_missing_commands_are_looked_up_in_linear_time(tmp_path: Path) -> None:
    rules = "".join(f"target-{number}:\n" for number in range(5_000))
    tree = write(tmp_path, {"Makefile": rules, "test_a.py": "def test_a(): ...\n" * 20_000})
    claims = read("\n\n".join(f"`make missing-{number}` and `test_a.py::test_{number}`" for number in range(3_000)))
    finder = CommandFinder(tree)
    started = time.process_time()
    assert {finder.find(claim).is_known for claim in claims} == {False}
    assert len(claims) == 6_000
    assert time.process_time() - started < 20


def test_a_file_that_is_too_large_decides_nothing(tmp_path: Path) -> None:
    assert known(write(tmp_path, {"Makefile": "all:\n" + "#" * 1_000_000}), "make x") is None
    assert known(write(tmp_path, {"test_a.py": "#" * 1_000_001}), "`test_a.py::test_x`") is None
