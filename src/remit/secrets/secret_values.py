"""Judge what follows the beginning of a secret: where a private key ends, and whether a named value is a secret.

Tool output is mostly source code, and a subagent quotes from it: a type, a variable or an example must stay.
"""

from __future__ import annotations

import re

from remit.lazy import lazy_pattern

BEGIN = lazy_pattern(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_EDGE = lazy_pattern(r"-----(?:BEGIN |(?P<end>END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)|END )")
#: The longest private key, including the prefixes of its lines.
MAX_KEY = 32_768
_BREAK = lazy_pattern(r"\n|\\n")
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
_AFTER = frozenset("\r\t \"',;)")
#: The prefix of a line ends with one of these.
_PREFIX_ENDS = ("", *"-+:|>→\"'")
_HEADER = lazy_pattern(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ")
#: A shorter line belongs to a key only as its last line: a multiple of four characters, with the same prefix.
_FULL_LINE = 20
_QUARTET = 4
#: Headers and empty lines between the lines of a key; inside a string literal each line counts twice.
_MAX_BETWEEN = 12

_NAME = (
    r"(?P<core>(?<![A-Za-z])pass|passw(?:or)?d|passwort|passphrase|passcode|(?<![A-Za-z])pwd|_pwd|client[_-]?secret"
    r"|secret(?:[_-]?(?:access[_-]?)?key(?:[_-]?base)?|[_-]?token|[_-]?value)?|token(?:[_-]?secret)?|auth[_-]?token"
    r"|(?:api|access|account|auth|encryption|encrypt|signing|master|private|license|licence|app|admin|consumer|service"
    r"|shared|storage|subscription|role|deploy|integration|ingest|write|server|session|hmac|jwt|crypto)[_-]?key"
    r"|credentials?|(?<![A-Za-z])auth|_auth)"
)
#: Between name and value: a quote (escaped in a string), a bracket, a type, an operator. `(?<!=)` and `(?!=)`: not a
#: comparison.
_BETWEEN = r"(?:[_-]?\d{1,2})?\\{0,3}[\"'`]?\]?[ \t]{0,8}(?:=>|:=|(?<![=!<>])=(?!=)|:(?!:))[ \t]{0,8}"
#: What follows the keyword of every named value, in lower case: the rest of its name and what `_BETWEEN` starts with.
NAME_AND_OPERATOR = lazy_pattern(r"[a-z_-]{3,24}+\d{0,2}\\{0,3}[\"'`]?\]?[ \t]{0,8}[=:]")
_VALUE = (
    r"(?:[rbfu]?(?:\"\"(?=\")|''(?='))?(?P<quote>\\{0,3}[\"'`])(?P<quoted>[^\"'`\n]{4,500})(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;&<>(){}\[\]|]{4,500}))"
)
#: The beginning or the whole of a value that stands for one.
_PLACEHOLDER = lazy_pattern(
    r"(?i)[$<{%*\[(#]|\.{2}|…|(?:x{3,}|\*{3,}|-+|_+|0+|1234\d*)$|(?:your|my|the|some|an?|insert|replace|enter|put)[-_ ]"
    r"|(?:none|null|nil|true|false|undefined|required|optional|string|text|example|sample|dummy|fake|placeholder"
    r"|change-?_?me|redacted|removed|hidden|masked|todo|tbd|n/?a|empty|default|prompt|stdin|file|env|vault|keychain|value)\b"
)
_HAS_VARIABLE = lazy_pattern(
    r"\$\{|\{\{|\$\(|#\{|%\(|<[a-z_ -]+>|\*\*\*|\{[a-z_.]+\}|(?i:example|placeholder|redacted)"
)
#: Names of types and algorithms that have digits.
_TYPE = lazy_pattern(
    r"(?i)(?:u?int|float|uint|i|u|f|char|varchar|text|utf|sha|md|base|rsa|aes|ed|hs|rs|es|bcrypt|argon|uuid|v|http|oauth|"
    r"x|s|r|t|p|a|b|str)[-_]?\d{1,4}(?:[-_.]\w{1,12})?[?!]?$"
)
#: Words with separators, and no digit: the name of a thing.
_WORDS = lazy_pattern(r"_*[A-Za-z]+(?:[-_./:+ ]+[A-Za-z]+)*[-_.:?!/]*$")
_ATTRIBUTE = lazy_pattern(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+$")
#: A name with its namespace in PHP.
_QUALIFIED = lazy_pattern(r"(?:\\[A-Za-z_]+)+(?:::[A-Za-z_]\w*)?$")
_IDENTIFIER = lazy_pattern(r"[A-Za-z_$][\w$]*$")
_LOCATION = lazy_pattern(r"(?:\.{0,2}/[\w.-]+(?:/|$)|~/|[A-Za-z]:\\|[a-z+]{2,12}:(?://|[a-z]))")
#: The value of `PWD`, the current folder.
_FOLDER = lazy_pattern(r"(?:~|\.{0,2})(?:/[\w.:@+~-]*)+$|[A-Za-z]:[\\/][\w.@+~\\/-]*$")
#: Parts next to `PWD=` or `Password=` in a connection string, in which any word is a password.
_CONNECTION_KEYS = frozenset(
    {"uid", "user id", "userid", "server", "data source", "driver", "dsn", "database", "initial catalog", "provider"}
)
_CONNECTION_REACH = 160
_WHOLE_KEY = lazy_pattern(r"[A-Za-z0-9+/]{32,}={0,2}$")
_MIN_QUOTED = 6
_MIN_LONG_WORD = 20
_MIN_NUMBER = 6
_MIN_RANDOM = 40


def named_value_pattern() -> re.Pattern[str]:
    """Return the pattern for a name of a secret and the value after it."""
    return lazy_pattern(_NAME + _BETWEEN + _VALUE, re.IGNORECASE | re.ASCII)


def judge_named_value(match: re.Match[str]) -> tuple[int, int] | None:
    """Return where the secret is in a match; None if its value is code, a placeholder or an ordinary word."""
    name, quoted, bare = match["core"], match["quoted"], match["bare"]
    is_password = "pass" in name.lower()
    if quoted is not None:
        # The name may be the end of a text, and the quoted part the code after it: `partition("PWD=")[2]`.
        start = match.start()
        line = match.string[max(0, start - _CONNECTION_REACH) : start].rpartition("\n")[2]
        is_open = line.count(match.string[match.start("quoted") - 1]) % 2 == 1
        is_code = is_open and quoted[0] in ")]" and quoted[1:2] in tuple("[.,):;")
        return match.span("quoted") if not is_code and _is_secret(quoted, is_password=is_password) else None
    value = bare.rstrip(".:")
    after = match.string[match.end() : match.end() + 1]
    if (after and after in "([{<") or not value or _is_folder(match):
        return None  # a call, an index, or the beginning of something longer
    is_given = _is_variable(match) or _is_in_connection_string(match)
    if is_given and not _PLACEHOLDER.match(value) and not _HAS_VARIABLE.search(value):
        return match.span("bare")
    if _ATTRIBUTE.match(value) or _QUALIFIED.match(value) or (_IDENTIFIER.match(value) and _names_itself(value)):
        return None
    if _is_secret(value, is_password=is_password):
        return match.start("bare"), match.start("bare") + len(value)
    return None


def _is_folder(match: re.Match[str]) -> bool:
    """Return whether a match is `PWD=` with the current folder."""
    is_whole = not match.string[max(0, match.start() - 1) : match.start()].isalnum()
    is_path = match["core"].lower() == "pwd" and _FOLDER.match(match["bare"]) is not None
    return is_path and is_whole and not _is_in_connection_string(match)


def _is_in_connection_string(match: re.Match[str]) -> bool:
    """Return whether `PWD=value` is a part of a connection string: `Server=db;UID=sa;PWD=value`."""
    if match["core"].lower() not in ("pwd", "password") or _ATTRIBUTE.match(match["bare"]):
        return False
    text, start, end = match.string, match.start(), match.end()
    before = text[max(0, start - _CONNECTION_REACH) : start].rpartition("\n")[2].rstrip(" ")
    after = text[end : end + _CONNECTION_REACH].partition("\n")[0]
    parts = before.split(";") if before.endswith(";") else []
    parts[:1] = [re.split(r"[\"'(]", part)[-1] for part in parts[:1]]  # without the code before the string
    parts += after.split(";") if after.startswith(";") else []
    return any(part.partition("=")[0].strip(" ").lower() in _CONNECTION_KEYS for part in parts if "=" in part)


def _is_variable(match: re.Match[str]) -> bool:
    """Return whether a match is an assignment of the environment: `DB_PASSWORD=value`, in capitals, without spaces."""
    text, start = match.string, match.start()
    while start and (text[start - 1].isalnum() or text[start - 1] == "_") and match.start() - start < 60:
        start -= 1
    head = text[start : match.start("bare")]
    return head.endswith("=") and head.isupper() and " " not in head and not _names_itself(match["bare"])


def _names_itself(value: str) -> bool:
    """Return whether a value is the name of a variable, such as `db_password` or `TOKEN2`."""
    lowered = value.lower()
    return any(word in lowered for word in ("pass", "pwd", "secret", "token", "key", "cred", "auth"))


def _is_secret(value: str, *, is_password: bool) -> bool:
    if len(value) < _MIN_QUOTED or any(map(str.isspace, value)):
        return False
    if _HAS_VARIABLE.search(value) or _TYPE.match(value):
        return False
    if _PLACEHOLDER.match(value) and not _is_random(value):
        return False
    if _WHOLE_KEY.match(value):
        return True
    if _LOCATION.match(value):
        return False
    if value.isdigit():
        return is_password and len(value) >= _MIN_NUMBER
    if _WORDS.match(value):
        return value.isalpha() and len(value) >= _MIN_LONG_WORD and not value.islower() and not value.isupper()
    return not (_IDENTIFIER.match(value) and _names_itself(value))


def _is_random(value: str) -> bool:
    """Return whether a value that begins like a placeholder is too long and too mixed for one, as a key of Django."""
    return (
        len(value) >= _MIN_RANDOM
        and not value.startswith(("<", "[", "("))
        and all(any(map(kind, value)) for kind in (str.isdigit, str.islower, str.isupper))
    )


def end_of_key(text: str, begun: int) -> int:
    """Return the end of the key whose first line ends at `begun`. Its last line may be missing: output may be cut.

    This takes linear time in total: nothing beyond the next line that starts or ends a key is searched.
    """
    limit = min(len(text), begun + MAX_KEY)
    edge = _EDGE.search(text, begun, limit)
    if edge is not None and edge["end"]:
        return edge.end()
    return _end_of_lines(text, begun, edge.start() if edge else limit)


def _end_of_lines(text: str, begun: int, limit: int) -> int:
    """Return the end of the lines that look like those of a key. Headers and empty lines count if such lines follow."""
    end = start = begun
    before = between = 0
    while start < limit:
        match = _BREAK.search(text, start, limit)
        stop = match.start() if match else limit
        first, last = _data(text, start, stop)
        if last - first >= _FULL_LINE:
            end, before, between = stop, first - start, -1
        elif last > first and (last - first) % _QUARTET == 0 and end > begun and abs(first - start - before) <= 1:
            return stop
        elif between > _MAX_BETWEEN or not _is_header_or_empty(text[start:stop]):
            return end
        between += 1
        start = match.end() if match else limit
    return end


def _data(text: str, start: int, stop: int) -> tuple[int, int]:
    """Return the span of base64 characters at the end of a line, without the quotes and marks after them."""
    while stop > start and text[stop - 1] in _AFTER:
        stop -= 1
    first = stop
    while first > start and text[first - 1] in _BASE64:
        first -= 1
    return first, stop


def _is_header_or_empty(line: str) -> bool:
    """Return whether a line is a header, or empty apart from the prefix that all lines have."""
    last = line.rstrip()[-1:]
    return bool(_HEADER.search(line)) or last in _PREFIX_ENDS or last.isdigit()
