#!/usr/bin/env python3
"""Convert the rules of gitleaks into the data of `remit.secrets`: `python3 tools/secret_rules.py gitleaks.toml COMMIT`.

gitleaks (MIT) maintains the rules: https://github.com/gitleaks/gitleaks, `config/gitleaks.toml`. The expressions are
those of Go. The conversion moves flags to where Python reads them, limits every repetition so that a search takes
linear time, leaves out the text before a name, which is not needed to find it, and accepts any character after a
secret that cannot belong to it.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parents[1] / "src/remit/secrets/gitleaks.json"
#: Rules whose match is not a secret, that need more than a line, or that `secret_kinds` has in a stricter form.
LEFT_OUT = frozenset(
    [
        "generic-api-key",
        "private-key",
        "jwt",
        "jwt-base64",
        "kubernetes-secret-yaml",
        "curl-auth-header",
        "curl-auth-user",
        "pkcs12-file",
        "hashicorp-tf-password",
        "flutterwave-public-key",
        "lob-pub-api-key",
        "mailgun-pub-key",
        "new-relic-user-api-id",
        "sendbird-access-id",
        "sumologic-access-id",
    ]
)
#: One alternative of a rule is any commit.
REPLACED = {"sourcegraph-access-token": [(r"|[a-fA-F0-9]{40})", ")")]}
#: The whole match is the secret, although it has groups.
GROUP = {"microsoft-teams-webhook": {"group": 0}}
_BEFORE_NAME = r"[\w.-]{0,50}?"
_BESIDE_NAME = r"(?:[ \t\w.-]{0,20})"
_AFTER = (r"""(?:[\x60'"\s;]|\\[nr]|$)""", r"(?![A-Za-z0-9_])")
#: The most characters of an unlimited repetition.
_MOST = 200
_FLAG = re.compile(r"\(\?i\)")


def scoped_flags(pattern: str) -> str:
    """Return an expression in which `(?i)` in the middle is a group `(?i:...)` up to the end of the group around it."""
    lead = "(?i)" if pattern.startswith("(?i)") else ""
    text = pattern.removeprefix("(?i)")
    while found := _FLAG.search(text):
        end = _group_end(text, found.end())
        inside = text[found.end() : end]
        text = f"{text[: found.start()]}(?i:{inside}){text[end:]}"
    return lead + text


def _group_end(text: str, start: int) -> int:
    """Return where the group ends that contains `start`; an alternative at its level would change the meaning."""
    depth, in_class, index = 0, False, start
    while index < len(text):
        one = text[index]
        if one == "\\":
            index += 1
        elif in_class:
            in_class = one != "]"
        elif one == "[":
            in_class = True
        elif one == "(":
            depth += 1
        elif one == ")":
            if not depth:
                return index
            depth -= 1
        elif one == "|" and not depth:
            raise ValueError(f"an alternative after a flag: {text}")
        index += 1
    return index


def limited(pattern: str) -> str:
    """Return an expression without unlimited repetitions."""
    found, in_class, index = [], False, 0
    while index < len(pattern):
        one = pattern[index]
        if one == "\\":
            found.append(pattern[index : index + 2])
            index += 2
            continue
        if in_class:
            in_class = one != "]"
        elif one == "[":
            in_class = True
        elif one in "*+" and pattern[index - 1 : index] != "(":
            one = f"{{{'0' if one == '*' else '1'},{_MOST}}}"
        elif one == "{" and (open_ended := re.match(r"\{(\d+),\}", pattern[index:])):
            one = f"{{{open_ended[1]},{int(open_ended[1]) + _MOST}}}"
            index += open_ended.end() - 1
        found.append(one)
        index += 1
    return "".join(found)


def converted(rule: dict[str, Any]) -> dict[str, Any]:
    """Return one rule for Python: id, expression, keywords, reach, and for a rule with a name the least entropy."""
    pattern = rule["regex"]
    for old, new in (*REPLACED.get(rule["id"], ()), _AFTER):
        pattern = pattern.replace(old, new)
    has_name = _BESIDE_NAME in pattern
    pattern = pattern.replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\z", r"\Z").replace(_BEFORE_NAME, "")
    pattern = limited(scoped_flags(pattern))
    re.compile(pattern, re.ASCII)
    reach = re._parser.parse(pattern).getwidth()[1]  # type: ignore[attr-defined]  # noqa: SLF001 (there is no public way)
    entropy = {"entropy": rule["entropy"]} if has_name and "entropy" in rule else {}
    group = {"group": rule["secretGroup"]} if "secretGroup" in rule else GROUP.get(rule["id"], {})
    return {
        "id": rule["id"],
        "regex": pattern,
        "keywords": [word.lower() for word in rule["keywords"]],
        "reach": reach,
        **entropy,
        **group,
    }


def main(arguments: list[str]) -> None:
    """Convert a configuration of gitleaks, and write the data."""
    warnings.simplefilter("error")
    source, commit = arguments
    rules = tomllib.loads(Path(source).read_text("utf-8"))["rules"]
    kept = [converted(rule) for rule in rules if rule["id"] not in LEFT_OUT and not rule["id"].endswith("-client-id")]
    about = {"source": "https://github.com/gitleaks/gitleaks", "commit": commit, "licence": "MIT, see LICENSE.gitleaks"}
    lines = ",\n".join(json.dumps(rule) for rule in kept)
    TARGET.write_text(f'{json.dumps(about)[:-1]}, "rules": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(kept)} rules")


if __name__ == "__main__":
    main(sys.argv[1:])
