"""The language of a file, by its name or its first line. Reviews report per language which files were read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from remit.regular_files import read_regular

_ENDINGS = {
    "Python": "py pyi pyw",
    "JavaScript": "js mjs cjs jsx",
    "TypeScript": "ts mts cts tsx",
    "Vue": "vue",
    "Svelte": "svelte",
    "Go": "go",
    "Rust": "rs",
    "Java": "java",
    "Kotlin": "kt kts",
    "Scala": "scala sc",
    "Groovy": "groovy gradle",
    "C": "c h",
    "C++": "cc cpp cxx hh hpp hxx",
    "C#": "cs",
    "F#": "fs fsx",
    "Objective-C": "m mm",
    "Swift": "swift",
    "Dart": "dart",
    "Ruby": "rb rake gemspec",
    "PHP": "php",
    "Perl": "pl pm",
    "Lua": "lua",
    "R": "r",
    "Julia": "jl",
    "Elixir": "ex exs",
    "Erlang": "erl hrl",
    "Haskell": "hs",
    "OCaml": "ml mli",
    "Clojure": "clj cljs cljc",
    "Zig": "zig",
    "Solidity": "sol",
    "Shell": "sh bash zsh ksh",
    "PowerShell": "ps1 psm1",
    "SQL": "sql",
    "HTML": "html htm",
    "CSS": "css scss sass less",
    "Terraform": "tf tfvars",
    "Protocol Buffers": "proto",
    "GraphQL": "graphql gql",
    "YAML": "yml yaml",
    "JSON": "json jsonc json5",
    "TOML": "toml",
    "XML": "xml xsd",
    "Markdown": "md markdown mdx",
    "Text": "txt rst adoc",
}
_BY_ENDING = {ending: name for name, endings in _ENDINGS.items() for ending in endings.split()}
_BY_NAME = {
    "dockerfile": "Dockerfile",
    "containerfile": "Dockerfile",
    "makefile": "Make",
    "gnumakefile": "Make",
    "rakefile": "Ruby",
    "gemfile": "Ruby",
    "jenkinsfile": "Groovy",
    "cmakelists.txt": "CMake",
}
#: Names of languages in fences that are not endings: `python`, `golang`.
_BY_TAG = {
    **{name.lower(): name for name in _ENDINGS},
    **dict.fromkeys(("objc", "objectivec"), "Objective-C"),
    **dict.fromkeys(("docker", "dockerfile"), "Dockerfile"),
    **dict.fromkeys(("make", "makefile"), "Make"),
    "golang": "Go",
    "csharp": "C#",
    "fsharp": "F#",
    "hcl": "Terraform",
    "protobuf": "Protocol Buffers",
    "cmake": "CMake",
}
#: Languages whose code is written with the name of another one of the group.
_RELATED = (
    frozenset({"JavaScript", "TypeScript", "Vue", "Svelte", "HTML"}),
    frozenset({"C", "C++", "Objective-C"}),
)
#: The interpreters in the first line of a script without an ending.
_BY_INTERPRETER = {
    **dict.fromkeys(("sh", "bash", "dash", "ksh"), "Shell"),
    "python": "Python",
    "node": "JavaScript",
    "ruby": "Ruby",
    "perl": "Perl",
    "php": "PHP",
    "lua": "Lua",
}
_SHEBANG = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-S\s+)?)?(?:\S*/)?([a-z]+)[\d.]*(?:\s|$)")
_MAX_HEAD = 128
OTHER = "other"
#: Prose and data: the first line of a report does not list them among the files that were not reviewed.
NOT_CODE = frozenset({"Markdown", "Text", "JSON", "TOML", "XML", OTHER})


def language_of(path: str) -> str:
    """Return the language of a file; `other` if its name does not show it."""
    name = path.rpartition("/")[2].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name.startswith("dockerfile.") or name.endswith(".dockerfile"):
        return "Dockerfile"
    return _BY_ENDING.get(name.rpartition(".")[2], OTHER) if "." in name else OTHER


def is_written_in(path: str, language: str) -> bool:
    """Return whether a file is of the type that a fence names, by an ending or a name: `py`, `python`, `c++`."""
    written_in = language_of(path)
    if written_in == OTHER:
        return path.lower().endswith(f".{language}")
    name = _BY_TAG.get(language) or language_of(f"x.{language}")
    return name == written_in or any(name in group and written_in in group for group in _RELATED)


def languages_of(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return the language of each file of a checkout. Of a file whose name has no ending, the first line is read."""
    languages = {path: language_of(path) for path in paths}
    for path, language in languages.items():
        if language == OTHER and "." not in path.rpartition("/")[2]:
            languages[path] = _by_first_line(root / path)
    return languages


def _by_first_line(path: Path) -> str:
    """Return the language of a script; `other` for everything else. A link is not followed."""
    head = read_regular(path, _MAX_HEAD) or b""
    match = _SHEBANG.match(head)
    return _BY_INTERPRETER.get(match[1].decode(), OTHER) if match else OTHER
