"""Programs by what they do. Special cases are in the module of each kind."""

from __future__ import annotations

#: Show whole files.
_READERS_TEXT = """
    cat less more bat batcat nl tac rev cut paste column fold fmt expand unexpand od xxd hexdump strings base64 zcat
    zless bzcat xzcat comm join cmp diff colordiff sdiff diff3 pr view most glow pygmentize iconv shuf
"""
READERS = frozenset(_READERS_TEXT.split())

#: Change or remove files.
_WRITERS_TEXT = """
    rm unlink shred touch truncate vi vim nvim nano emacs ed ex micro pico code gedit dos2unix unix2dos srm trash
"""
WRITERS = frozenset(_WRITERS_TEXT.split())

#: Rewrite the named files or all of them. Where options are listed, one of them is needed.
FORMATTERS: dict[str, tuple[str, ...]] = {
    "black": (),
    "isort": (),
    "mdformat": (),
    "pyupgrade": (),
    "rustfmt": (),
    "stylua": (),
    "swiftformat": (),
    "prettier": ("--write", "-w"),
    "eslint": ("--fix",),
    "stylelint": ("--fix",),
    "gofmt": ("-w",),
    "goimports": ("-w",),
    "shfmt": ("-w",),
    "autopep8": ("-i", "--in-place"),
    "autoflake": ("-i", "--in-place"),
    "yapf": ("-i", "--in-place"),
    "clang-format": ("-i",),
    "rubocop": ("-a", "-A", "--autocorrect", "--autocorrect-all"),
    "ktlint": ("-F", "--format"),
    "markdownlint": ("--fix", "-f"),
    "biome": ("--write", "--apply"),
    "tsc": ("--outDir",),
}

#: Run a project's tasks. Builds and tests write no source files; exceptions are in editors.py.
_RUNNERS_TEXT = """
    npm yarn pnpm bun make just task cargo go ruff pip pip3 uv poetry pipenv hatch pdm rye composer bundle gem dotnet
    gradle gradlew ./gradlew mvn ./mvnw terraform deno pre-commit turbo nx lerna rake mix sbt
"""
RUNNERS = frozenset(_RUNNERS_TEXT.split())

#: List or measure files: at most a line of each is shown.
_LISTING_TEXT = """
    wc md5sum sha1sum sha256sum sha512sum b2sum cksum sum file stat
"""
LISTING = frozenset(_LISTING_TEXT.split())

#: Change no file of the project, and show no content.
_HARMLESS_TEXT = """
    echo pwd true false : test [ [[ ls dir tree date cal whoami id groups uname hostname arch printenv export
    set shopt unalias sleep wait jobs fg bg kill pkill killall which type hash whereis basename dirname
    realpath readlink du df seq expr bc ps top htop free uptime nproc lscpu lsof pgrep netstat ss ip ifconfig ping dig
    nslookup host traceroute tput clear reset history man info help exit return break continue shift
    umask ulimit mkdir rmdir mktemp yes ssh ssh-add nc telnet
     helm minikube kind gh glab aws gcloud az heroku vercel fly psql mysql sqlite3 redis-cli mongosh createdb
    dropdb pg_isready pytest py.test tox nox mypy pyright flake8 pylint pycodestyle pydocstyle bandit shellcheck
    hadolint yamllint jsonlint jest vitest mocha ava karma cypress playwright rspec phpunit ctest ninja cmake bazel ant
    coverage hyperfine remit  node-gyp nvm pyenv rbenv asdf direnv systemctl journalctl service open xdg-open
    start say notify-send pbcopy tr dirs disown uuidgen brew conda mamba meson golangci-lint rails swift flutter
    lint-imports mkdocs sphinx-build times logger sync lsblk mount dmesg
"""
HARMLESS = frozenset(_HARMLESS_TEXT.split())

#: Programs that send commands to a database: it may run programs, and write files.
DATABASE_CLIENTS = frozenset({"psql", "mysql"})
#: Harmless programs that may write a file of the project with one of these words.
MOVING: dict[str, tuple[str, ...]] = {
    "aws": ("cp", "sync", "mv", "get-object"),
    "gcloud": ("cp", "rsync", "scp", "mv"),
    "az": ("download", "download-batch", "copy", "sync"),
    "gh": ("download", "clone"),
    "cmake": ("-E", "-P"),
    "ssh": ("localhost", "127.0.0.1", "::1"),
    "tree": ("-o",),
}

#: Options of harmless programs that name a file for their report.
REPORTS: dict[str, tuple[str, ...]] = {
    "pytest": ("--junitxml", "--junit-xml", "--report-log", "--html", "--resultlog"),
    "py.test": ("--junitxml", "--junit-xml", "--report-log", "--html", "--resultlog"),
    "coverage": ("-o", "--data-file"),
    "mypy": ("--junit-xml", "--any-exprs-report", "--html-report", "--xml-report", "--txt-report"),
    "flake8": ("--output-file", "--tee"),
    "pylint": ("--output",),
    "bandit": ("-o", "--output"),
    "jest": ("--outputFile",),
    "vitest": ("--outputFile",),
    "rspec": ("-o", "--out"),
    "phpunit": ("--log-junit", "--coverage-clover", "--testdox-text"),
    "ctest": ("-O", "--output-log", "--output-junit"),
    "hyperfine": ("--export-json", "--export-csv", "--export-markdown"),
}
#: Commands of sqlite3 that write files or run programs.
SQLITE_WRITES = (".output", ".once", ".excel", ".backup", ".save", ".clone", ".shell", ".system", "writefile(")

#: Commands of the shell that set variables.
NAMING = frozenset({"((", "read", "declare", "typeset", "local", "readonly", "unset", "getopts", "let", "printf"})

#: Programs with a separate handler, by its module.
_VIEWERS_TEXT = """
    head tail sed gsed awk gawk mawk nawk grep egrep fgrep zgrep rg ag ack ripgrep jq yq sort uniq find fd fdfind
"""
VIEWERS = frozenset(_VIEWERS_TEXT.split())
_EDITORS_TEXT = """
    cp mv ln install rsync scp chmod chown chgrp curl wget tar unzip zip gzip gunzip bzip2 bunzip2 xz unxz zstd tee
    sponge dd patch
"""
EDITORS = frozenset(_EDITORS_TEXT.split())
_INTERPRETERS_TEXT = """
    bash sh zsh dash ksh fish python python3 python2 pypy pypy3 perl ruby node php lua Rscript xargs parallel cd pushd
    popd chdir source . eval command export trap docker docker-compose podman kubectl
"""
INTERPRETERS = frozenset(_INTERPRETERS_TEXT.split())

#: Programs that run another one: how many words of their own follow their options.
WRAPPERS: dict[str, int] = {
    "sudo": 0,
    "doas": 0,
    "nohup": 0,
    "nice": 0,
    "ionice": 0,
    "stdbuf": 0,
    "timeout": 1,
    "env": 0,
    "exec": 0,
    "builtin": 0,
    "setsid": 0,
    "unbuffer": 0,
    "time": 0,
    "watch": 0,
    "xargs": 0,
}
#: The same for programs that also install what they run.
PACKAGE_RUNNERS: dict[str, int] = {"npx": 0, "bunx": 0, "uvx": 0, "pipx": 1}
#: Their options that take the next word as a value.
_VALUED = {
    "sudo": "ugp",
    "nice": "n",
    "ionice": "cn",
    "timeout": "sk",
    "env": "uC",
    "watch": "n",
    "npx": "p",
    "xargs": "InPLdsaE",
}


def wrapper_words(name: str, args: list[str]) -> int:
    """Return how many of the arguments belong to the wrapper itself."""
    valued = _VALUED.get(name, "")
    index = 0
    while index < len(args):
        text = args[index]
        if name == "env" and "=" in text and not text.startswith("-"):
            index += 1
        elif text.startswith("-") and len(text) > 1:
            index += 2 if text[-1] in valued and len(text) == 2 else 1
        else:
            break
    return index + (WRAPPERS[name] if name in WRAPPERS else PACKAGE_RUNNERS[name])
