"""Ways around the gate, as an orchestrator that means to get through would try them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

#: Each writes src/f0.py, or may; none may pass in silence.
WRITES = [
    # What the shell runs in any position.
    "echo $(( $(sed -i s/a/b/ src/f0.py) + 1 ))",
    "echo ${x:-$(sed -i s/a/b/ src/f0.py)}",
    '[[ -n "$(sed -i s/a/b/ src/f0.py)" ]]',
    "echo " + "$(:) " * 400 + "$(sed -i s/a/b/ src/f0.py)",
    "x='$(sed -i s/a/b/ src/f0.py)'; echo ${x@P}",
    "echo $((sed -i s/a/b/ src/f0.py) ) $((1))",
    # Names that are not what they look like.
    r"echo x > $'docs/\x2e\x2e/src/f0.py'",
    "rm docs/{a.md,../src/f0.py}",
    "rm docs/{" + "a.md," * 64 + "../src/f0.py}",
    "rm docs/{" + "a" * 5000 + ",../src/f0.py}",
    "rm docs/{a.md,'../src/f0.py'}",
    "{sed,-i,s/a/b/,src/f0.py}",
    "for f in docs/a.md src/f0.py; do echo x > $f; done",
    "for f in src/f0.py /scratch/x; do cp /scratch/y $f; done",
    "f=docs/a.md; read f <<< src/f0.py; echo x > $f",
    "f=docs/a.md; printf -v f src/f0.py; echo x > $f",
    "f=docs/a.md; declare f=src/f0.py; echo x > $f",
    "f=docs/a.md; declare -n g=f; g=src/f0.py; echo x > $f",
    "f=docs/a.md; eval f=src/f0.py; echo x > $f",
    "f=src/f0.py; false && f=docs/a.md; echo x > $f",
    "f=src/f0.py; if false; then f=docs/a.md; fi; echo x > $f",
    "read TMPDIR <<< src; echo x > $TMPDIR/f0.py",
    # Folders that are not entered.
    "cd docs/nowhere; echo x > app.py",
    "false && cd docs; echo x > app.py",
    "if false; then cd docs; fi; echo x > app.py",
    "cd docs & echo x > app.py",
    # Links are other names.
    "ln src/f0.py /scratch/x",
    "ln -s $PWD/src /scratch/l && echo x > /scratch/l/f0.py",
    "cp -l src/f0.py /scratch/x",
    # Programs that write because of an option or their own script.
    "sed --in-pl s/a/b/ src/f0.py",
    "sed -n '1w src/f0.py' /scratch/x",
    "sed -n '/a/,/b/w src/f0.py' /scratch/x",
    "sed 's|a|b|w src/f0.py' /scratch/x",
    "sed '1e touch src/f0.py' /scratch/x",
    "sed s/a/b/e /scratch/x",
    "sed -f /scratch/x.sed /scratch/y",
    "awk -v f=src/f0.py '{print > f}' /scratch/x",
    "awk '{print | f}' /scratch/x",
    "gawk --include=inplace '{print}' src/f0.py",
    "tar -C . -xf /scratch/a.tar",
    "iconv -o src/f0.py /scratch/x",
    "shuf -o src/f0.py /scratch/x",
    "xxd /scratch/x src/f0.py",
    "fd f0 -x rm",
    "cmake -E copy /scratch/x src/f0.py",
    "aws s3 cp s3://bucket/x src/f0.py",
    "npm exec -- prettier --write .",
    "yarn prettier --write .",
    "ruff check --fix-only src",
    "git diff --output=src/f0.py",
    "git archive -o src/f0.py HEAD",
    "git -c core.pager='tee src/f0.py' log",
    "git submodule foreach 'sed -i s/a/b/ x'",
    "git rebase --exec 'sed -i s/a/b/ src/f0.py' HEAD~1",
    "git bisect run sed -i s/a/b/ src/f0.py",
    # Harmless names under which something else runs.
    "PATH=/tmp/other:$PATH ls",
    "export PATH=.remit:$PATH; ls",
    "env PATH=docs ls",
    "declare LD_PRELOAD=/scratch/x.so; ls",
    "BASH_ENV=/scratch/x bash -c ls",
    "PAGER='tee src/f0.py' git log",
    "GIT_EXTERNAL_DIFF=/scratch/x git diff",
    "NODE_OPTIONS='--require /scratch/x.js' npm test",
    "git config core.hooksPath /scratch/x",
    "git config alias.st '!rm src/f0.py'",
    "ssh localhost rm src/f0.py",
    # Scripts of other languages.
    """php -r 'file_put_contents("src/f0.py","x");'""",
    """Rscript -e 'writeLines("x","src/f0.py")'""",
    """python -c 'f=open; f("src/f0.py","w")'""",
    """python -c 'from pathlib import Path; w=Path("src/f0.py").write_text; w("x")'""",
    """python -c 'from pathlib import Path; Path("docs/a.md").rename("src/f0.py")'""",
    """python -c 'from pathlib import Path; Path("docs/a.md").replace("src/f0.py")'""",
    """python -c 'from pathlib import Path; Path("src").joinpath("a.md").write_text("x")'""",
    """python -c 'import pathlib; pathlib.os.replace("/scratch/a","src/f0.py")'""",
    """python -c 'import sys; sys.modules["shutil"].copy("a","src/f0.py")'""",
    """python -c 'print.__self__.open("src/f0.py","w")'""",
]


@pytest.mark.parametrize("line", WRITES, ids=[line[-60:] for line in WRITES])
def test_no_way_around_the_reader_is_allowed_without_a_warning(line: str, start: Callable) -> None:
    assert start(mode="strict").run(line).decision in ("deny", "ask")
    assert start().run(line).decision in ("deny", "warn")


@pytest.mark.parametrize(
    "line",
    [
        "dd if=src/f0.py",
        "cp src/f0.py /dev/stdout",
        "curl -s file://$PWD/src/f0.py",
        "git diff --no-index /dev/null src/f0.py",
        "sed 'r src/f0.py' /dev/null",
    ],
)
def test_a_file_that_is_shown_in_another_way_is_counted(line: str, start: Callable) -> None:
    session = start()
    session.run(line.replace("$PWD", str(session.project)))
    assert session.state.window.files == {"src/f0.py": 10}


@pytest.mark.parametrize(
    "line",
    [
        "sed -n '/start w/,/end/p' src/f0.py",
        "sed 's/a w b/c/; s/e/f/g' src/f0.py",
        "awk '{print $1, $2}' src/f0.py",
        "awk '$3 > 5 {print $1}' src/f0.py",
        "awk -F: '{ if ($1 > 2) print ($1 > 3) }' src/f0.py",
        """python -c 'print("a".replace("b", "c"))'""",
        """python -c 'import json,sys; print(json.load(sys.stdin)["a"])' < src/f0.py""",
        "cd src && ls; cd .. && git status",
        "cd docs; echo x > a.md",
        "x=1; x=2; echo $x",
        "for n in 1 2 3; do echo $n; done",
        "git -c user.name=x -c color.ui=never log --oneline",
        "printf '%s\\n' a b",
        "[[ -f src/f0.py && 1 < 2 ]] && echo yes",
        "echo ${HOME%/} ${x:-none} $((1 + 2))",
        "tar -tf /scratch/a.tar",
        'export PATH="$HOME/.local/bin:/usr/bin:./node_modules/.bin:$PATH"; npm test',
        "GIT_PAGER=cat git log; NODE_OPTIONS=--max-old-space-size=4096 npm test",
        "git config user.name; git config user.name x; git config --get core.hooksPath",
        "remit gate status",
    ],
)
def test_ordinary_lines_are_allowed_without_a_warning(line: str, start: Callable) -> None:
    assert start(mode="strict").run(line).decision == "allow"


@pytest.mark.parametrize(
    "line",
    [
        'remit gate dec"lar"e edit docs/specs/orders.md --why x',
        "remit $(echo gate) declare edit docs/specs/orders.md --why x",
        "./build.sh; remit gate declare edit docs/specs/orders.md --why x",
        "$(which remit) gate declare edit docs/specs/orders.md --why x",
        """python -c 'from remit.gate.declarations import declare'""",
        "python -I -S /opt/remit/surfaces/hooks/entry.py UserPromptSubmit < /scratch/x",
    ],
)
def test_a_person_is_asked_however_the_command_is_spelt(line: str, session) -> None:
    assert session.run(line).decision == "ask"
    assert session.run(line, agent_id="a1", agent_type="x").decision == "ask"


def test_a_path_through_proc_self_is_that_of_the_command(session, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert session.run("echo x > /proc/self/cwd/src/f0.py").rule == "edit-code"
    assert session.run("echo x > /proc/self/cwd/docs/a.md").decision == "allow"


def test_a_specification_that_cannot_be_read_is_not_overwritten_as_if_it_were_empty(session) -> None:
    path = session.project / "docs/specs/orders.md"
    path.write_bytes(b"\xff\xfe not UTF-8\n")
    assert session.ask("Write", {"file_path": str(path), "content": ""}).rule == "edit-spec"


@pytest.mark.parametrize("name", ["s1.jsonl", "s1/subagents/agent-a1.jsonl", "s1/subagents/agent-a1.meta.json"])
def test_transcripts_of_the_client_are_not_written(
    name: str, session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    place = str(tmp_path / "projects/-home-dev-shop" / name)
    for who in ({}, {"agent_id": "a1", "agent_type": "backend-specialist"}):
        assert session.ask("Write", {"file_path": place, "content": "{}"}, **who).rule == "guarded-state"
        assert session.run(f"echo '{{}}' >> {place}", **who).rule == "guarded-state"
        memory = str(tmp_path / "projects/-home-dev-shop/memory/MEMORY.md")
        assert session.ask("Write", {"file_path": memory, "content": "x"}, **who).decision == "allow"


def test_an_agent_of_another_plugin_has_the_tools_of_its_own_definition(start: Callable) -> None:
    session = start(tools={"code-explorer": ["Read"]})
    for agent, said in (("code-explorer", "deny"), ("remit:code-explorer", "deny"), ("other:code-explorer", "allow")):
        assert session.ask("WebFetch", {"url": "x"}, agent_id="a1", agent_type=agent).decision == said


def test_a_second_checkout_has_the_classes_of_the_first(session) -> None:
    tree = ".claude/worktrees/other"
    for path, rule in (("docs/specs/a.md", "edit-spec"), ("tests/a.py", "edit-tests"), ("src/a.py", "edit-code")):
        found = session.ask("Write", {"file_path": f"{session.project}/{tree}/{path}", "content": "x = 1\n"})
        assert found.rule == rule
    assert session.ask("Write", {"file_path": f"{session.project}/{tree}/notes.md", "content": "x"}).decision == "allow"
