"""Read the name next to a place: `` `total()` in `shop/cart.py:34` ``, `shop/cart.py:34 (total)`, a Symbol column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from keyword import kwlist

import msgspec
from msgspec.structs import replace

from remit.contract.headings import fold
from remit.evidence.document import Segment
from remit.evidence.file_names import has_known_ending
from remit.lazy import lazy_pattern
from remit.workspace.definitions import SEPARATOR

# --- The words that decide whether a name belongs to a place

#: What a name may be called: `the total method`.
_KINDS = (
    r"(?:function|method|class|struct|interface|enum|trait|type|constant|const|variable|field|property|component|hook|"
    r"handler|macro|constructor|helper|getter|setter|record|module)"
)
#: Words after which a name is the one that is defined: `class Cart`, `def total`.
_DEFINERS = r"\b(?:def|class|function|func|fn|fun|struct|interface|enum|trait|method|protocol|record)\s[`*_\"']{0,3}$"
_TYPES = ("class", "struct", "interface", "enum", "trait", "protocol", "record")
#: Words before a name that change nothing.
_LEADING = rf"(?:(?:the|a|an|its|in|inside|within|async|static|public|private|{_KINDS}|def|func|fn|fun)\s++){{0,4}}"
#: Words between a name and the place after it.
_LINES = r"(?:lines?\s\d{1,7}(?:\s?[-–]\s?\d{1,7})?\s(?:of|in)\s)?"
_STATES = (
    r"(?:(?:which|that|is|are|was|were|lives|sits|located|found|defined|declared|implemented|introduced|starts|begins|"
    r"starting|here)\s++){0,4}"
)
_WHERE = rf"(?:in|at|on|of|from|inside|within|under|@|see|around|near)\s++(?:the\s++)?(?:file\s++|module\s++)?{_LINES}"
_ASIDE = rf"(?:(?:see|in|at|from|file|line|here|def|definition|source|src|cf\.)[:：]?\s++){{0,3}}{_LINES}"
#: Words directly before a name that is not at the place: it is proposed or denied.
_NOT_THERE = lazy_pattern(
    r"(?:\b(?:no|not|without|never|lacks?|missing|add|adding|create|introduce|implement|extract|write|needs?|new|"
    r"instead\sof|rather\sthan|replaced?\s(?:\w{1,20}\s)?(?:by|with)|(?:should|must|could)\s(?:be|call|use))\s"
    r"(?:(?:a|an|the|any|to|new|direct|separate|shared|helper|function|method)\s){0,3}|"
    r"(?:新增|新建|添加|抽出|抽取|追加|移除|删除|削除|改为|替换为)\s?)[`*_\"']{0,3}$",
    re.IGNORECASE,
)
#: Words after a name that is not there.
_NOT_YET = lazy_pattern(
    r"[`*_\"')）]{0,4}\s(?:(?:is|are|was)\s)?(?:missing|absent|gone|not\b|never\b|should\b|must\b|could\b|needs?\sto|"
    r"to\sbe|does\snot|doesn't|isn't|removed|deleted)",
    re.IGNORECASE,
)
#: Words before `function x` that say that it is used, not defined.
_USES = lazy_pattern(
    r"\b(?:calls?|calling|called|invok\w{1,5}|us(?:es|ing|ed?)|imports?|imported|instances?|extends|returns?|of|to|by|"
    r"from)\s(?:(?:the|a|an)\s)?$",
    re.IGNORECASE,
)
_SAYS_DEFINED = lazy_pattern(r"\b(?:defined|declared)\b|定义|定義", re.IGNORECASE)
_DEFINES = lazy_pattern(rf"{_DEFINERS}|\b(?:defines|declares)\s", re.IGNORECASE)
_DEFINER = lazy_pattern(_DEFINERS, re.IGNORECASE)
#: Words of code that are not names; before brackets, this holds only for the first ones.
_NOT_CALLED = frozenset(("if", "for", "while", "switch", "catch", "return", "function"))
_NOT_NAMES = (
    _NOT_CALLED
    | frozenset(kwlist)
    | frozenset(
        """
        true false null nil undefined NaN this self super void int str string bool boolean float double char number
        object array any unknown never let const var func fn def new delete typeof case throw public private protected
        static final abstract interface struct enum package use readme README TODO FIXME GET POST PUT PATCH DELETE
        """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
    )
)
#: Words without code marks that are not names, in lower case.
_NOT_PLAIN = frozenset(
    """
    line lines file files pass fail yes high medium low critical info warning error todo fixme get post put patch head
    """.split()  # noqa: SIM905 (as above)
)
#: Columns that name what is at the location of their row. Plain words are names in the first ones.
_CLASSES = frozenset(("class", "classes", "类", "クラス"))
_NAMING = _CLASSES | frozenset(
    (
        *("function", "functions", "method", "methods", "symbol", "symbols"),
        *("函数", "方法", "符号", "関数", "メソッド", "シンボル"),
    )
)
_LISTING = frozenset(
    (
        *("name", "names", "item", "items", "entry"),
        *("名称", "名前", "項目", "项目"),
    )
)
_JOINING = frozenset(("or", "and", "s"))

# --- The forms

_PART = r"[A-Za-z_$][A-Za-z0-9_$]*+"
_BARE_NAME = rf"~?{_PART}(?>(?:(?:\.|::|#|->)~?{_PART}){{0,8}})[?!]?"
_NAME = r"[~$]?[^\W\d][\w$]*+(?>(?:(?:\.|::|#|->|\\)[~$]?[^\W\d][\w$]*+){0,8})[?!]?"
#: The content of code marks: a name with type arguments and arguments, or a declaration.
_CODE = lazy_pattern(rf"[@&*.#:]{{0,2}}(?P<name>{_NAME})(?:<[^<>`]{{0,80}}>)?(?P<call>\(.{{0,160}}\))?[;:]?$")
_MODIFIER = (
    r"(?:pub(?:\(\w{1,20}\))?|public|private|protected|internal|static|final|async|export|default|abstract|override|"
    r"virtual|inline|unsafe|extern|open|data|sealed|declare)\s++"
)
_DECLARATION = lazy_pattern(
    rf"(?:{_MODIFIER}){{0,5}}(?:def|class|function\*?|func|fn|fun|struct|interface|enum|trait|type|const|let|var|val|"
    rf"module|object|record|impl|protocol)\s++(?:\([^()`]{{0,80}}\)\s?)?(?P<name>{_NAME})(?![\w$])"
)
_SIGNATURE = lazy_pattern(rf"(?:{_MODIFIER}){{1,5}}(?:[\w<>\[\],.?]{{1,60}}\s++){{0,2}}(?P<name>{_NAME})\(")
_SPAN_BEFORE = lazy_pattern(r"(?<!`)`([^`\n]{1,200})`[*_\"')\]]{0,3}$")
_SPAN_AFTER = lazy_pattern(r"[*_\"'\[]{0,3}`([^`\n]{1,200})`(?!`)")
_BARE_BEFORE = lazy_pattern(rf"(?<![\w./`\\$@{{-])({_BARE_NAME})(\([^()`\n]{{0,80}}\))?[*_]{{0,3}}$")
_BARE_AFTER = lazy_pattern(rf"\*{{0,3}}({_BARE_NAME})(\([^()`\n]{{0,80}}\))?(?![\w/`-]|\.\w|\*(?!\*))")
#: A name that a sign joins to a path: `shop/cart.py:Cart.total`, `shop/cart.py#total()`. Tests are read elsewhere.
ATTACHED = lazy_pattern(rf"(?:::?|#)(?!:|[Tt]est)({_BARE_NAME})(\([^()`\n]{{0,80}}\))?(?![\w/:-]|\.\w)")
#: `camelCase`, `snake_case`, `Dotted.name`, `HTTPServer`.
_LIKE_A_NAME = lazy_pattern(
    r"[a-z$_][\w$]*[a-z0-9][A-Z][a-z]|[A-Z]{4,}[a-z]{3}|[A-Za-z0-9]\w*_\w|_[a-z]\w+$|"
    r"[\w$]{2,}(?:\.|::|#|->)(?![A-Z]+$)[A-Za-z_]\w"
)
#: Words with several capitals, which may be products as well: `CartService`, `GitHub`, `SQLite`, `macOS`, `ASP.NET`.
_CAPITALS = lazy_pattern(r"[\w$]*[a-z0-9][A-Z]|[A-Z]{2,}[a-z]{2}|[\w$]{2,}\.[A-Z]")
_PLAIN_WORD = lazy_pattern(r"[A-Za-z][A-Za-z0-9]{2,40}$")
_SHOUTED = lazy_pattern(r"[A-Z]{2,40}$")
#: The code of a diagnosis, and a hash: `E501`, `TS2532`, `a1b2c3d`.
_RULE_OR_HASH = lazy_pattern(r"[A-Z]{1,6}\d{2,6}$|(?=[a-f]*\d)[0-9a-f]{7,40}$")
#: The endings of built files that programs are called by: `shop.elf` is not the `elf` of `shop`.
_BUILT_ENDINGS = (".elf", ".exe", ".dll", ".dylib", ".wasm", ".jar", ".apk", ".whl")
#: What a program prints after a place: `tests/test_app.py:5: AssertionError`.
_PRINTED = lazy_pattern(r"\w{0,60}(?:Error|Exception|Warning)$")

#: What a join may begin with. The test is fast, and most characters fail it.
_JOIN_STARTS = r"(?=[\s,(（\[:：@|—–→⇒\-=定位在はの的`*_\"'<]|$)"
_JOIN_BEFORE = lazy_pattern(
    rf"{_JOIN_STARTS}(?:\s{_KINDS}s?)?(?:(?P<word>,?\s++{_STATES}{_WHERE}|\s?(?:定义在|定義在|定义于|位于|在|は|の|的)\s?)|"
    rf"(?P<bracket>\s?[(（\[]\s?{_STATES}{_ASIDE})|"
    r"(?P<sign>\s*+(?:[:：@|—–→⇒]|->|=>|(?<=\s)-)\s*+)|(?P<nothing>\s{0,2}))[`*_\"'<]{0,4}$",
    re.IGNORECASE,
)
_JOIN_AFTER = lazy_pattern(
    rf"[`*_\"'>\]]{{0,4}}[)）]?[`*_\"']{{0,3}}(?:(?P<bracket>\s?[(（\[]\s?{_LEADING})|"
    rf"(?P<word>,?\s++(?:in|of|at|inside|within|defines|declares|exports|contains|implements|calls|uses|is)\s++{_LEADING}|"
    r"\s?(?:中的|里的|内の|にある|の|的|中|里)\s?)|"
    rf"(?P<sign>\s*+(?:[:：@—–→⇒]|->|=>|(?<=\s)-(?=\s))\s*+{_LEADING})|"
    r"(?P<nothing>\s{1,2}(?:(?:def|class|func|function|fn)\s)?))",
    re.IGNORECASE,
)
#: Another place next to a name, with which the name may be joined more closely.
_PLACE = r"[\w./\\@+-]{1,200}\.[A-Za-z]\w{0,8}(?::|#L)\d"
_PLACE_AHEAD = lazy_pattern(
    rf"[`*_\"')]{{0,4}}(?:(?P<close>\s?[(（\[]|\s(?:in|at)\s|\s?@\s?)|\s?[:—–]\s?|\s-\s)[`*_\[(]{{0,3}}{_PLACE}"
)
_PLACE_BEHIND = lazy_pattern(
    rf"{_PLACE}[\d:,-]{{0,20}}[`*_\"')]{{0,3}}(?:(?P<close>\s?[(（\[])|[:：]\s|\s[—–-]\s|\s)[`*_\"']{{0,3}}$"
)
#: A link, and the beginning of one that has the place as its target.
_LINK = lazy_pattern(r"\[([^\[\]\n]{1,200})\]\([^()\s]{1,400}\)$")
_LINK_BEFORE = lazy_pattern(r"\[([^\[\]\n]{1,200})\]\($")
#: A new name of something, or a call from one to the other: `old` → `new`.
_ARROW_BEFORE = lazy_pattern(r"`([^`\n]{1,80})`\s?(?:→|⇒|->|=>)\s?[*_]{0,2}$")
_SEPARATORS = lazy_pattern(r"\s*(?:[,/、&+]|<br\s?/?>|\s(?:and|or|和|と)\s)\s*")
_CELL_SPAN = lazy_pattern(r"`([^`\n]{1,200})`")
_CELL_REST = lazy_pattern(rf"(?>(?:[\s,/、&+*_()\[\]:-]|and|or|和|と|<br\s?/?>|{_KINDS}s?)*)$", re.IGNORECASE)
_CELL_ARGUMENTS = lazy_pattern(r"\([^()]{0,80}\)")
_WORD = lazy_pattern(r"[^\W_]+")
_PATH_WORD = lazy_pattern(r"[\w$]+")
_MAY_NAME = lazy_pattern(r"[^\W\d]|[`$]")
_LOOK_BACK, _LOOK_AHEAD = 200, 260
#: How far the words before a place or a name are looked at that join, deny, define or use it.
_LONGEST_JOIN, _LONGEST_DENIAL, _LONGEST_WORDS = 120, 90, 40
_MAX_NAMES = 6
_MIN_BARE = 4
#: The rank of a column: the smaller, the smaller is what it names.
_SMALL, _CLASS, _LISTED = 1, 2, 3


class NameMention(msgspec.Struct, frozen=True):
    """A name next to a place. Several names are joined with `|`: one of them is enough."""

    name: str
    #: Whether it is written as code: in code marks, or with the brackets of a call.
    is_code: bool = True
    #: Whether it is a plain word: it is a name only if the file defines it.
    is_plain: bool = False
    #: Whether the clause states that it is defined there.
    is_defined: bool = False


class _Candidate(msgspec.Struct, frozen=True):
    """A name next to a place, and the number of characters between them."""

    mention: NameMention
    gap: int


def name_beside(text: str, start: int, end: int, path: str = "", since: int = 0) -> NameMention | None:
    """Return the name directly before or after the place from `start` to `end`; the nearest of several.

    `path` is the path of the place, if the text names its file elsewhere, and `since` the end of the place before it.
    """
    place = path or text[start:end].rpartition("](")[2]
    label, start, end = _link_around(text, start, end)
    mention = _label_name(label, place) if label else None
    if mention is None and (attached := ATTACHED.match(text, end)) is not None:
        mention = _bare_mention(attached, place)
        mention = replace(mention, is_code=not mention.is_plain) if mention is not None else None
    if mention is not None:
        return mention
    before = _before(text, start, place) if not since or _MAY_NAME.search(text, since, start) else None
    candidates = [candidate for candidate in (before, _after(text, end, place)) if candidate is not None]
    nearest = min(candidates, key=lambda candidate: (candidate.mention.is_plain, candidate.gap), default=None)
    return nearest.mention if nearest is not None else None


def _link_around(text: str, start: int, end: int) -> tuple[str, int, int]:
    """Return the label of the link whose target is the place, and where the link starts and ends."""
    link = _LINK.match(text, start, end)
    if link is not None:
        return link[1], start, end
    opening = _LINK_BEFORE.search(text, max(0, start - _LOOK_BACK), start)
    if opening is None:
        return "", start, end
    return opening[1], opening.start(), end + text.startswith(")", end)


def _label_name(label: str, place: str) -> NameMention | None:
    """Return the name that is the label of a link: `[total()](shop/cart.py#L34)`."""
    span = _SPAN_AFTER.match(label)
    if span is not None:
        return _code_mention(span[1], place)
    bare = _BARE_AFTER.match(label)
    return _bare_mention(bare, place) if bare is not None and bare.end() == len(label.rstrip("* ")) else None


def _before(text: str, start: int, place: str) -> _Candidate | None:
    lead = text[max(0, start - _LOOK_BACK) : start]
    join = _JOIN_BEFORE.search(lead, max(0, len(lead) - _LONGEST_JOIN))
    if join is None:
        return None
    span = _SPAN_BEFORE.search(lead, 0, join.start())
    match = span or _BARE_BEFORE.search(lead, 0, join.start())
    if match is None or (span is None and join["nothing"] is not None and not match[2]):
        return None
    head = lead[: match.start()]
    if _NOT_THERE.search(head, max(0, len(head) - _LONGEST_DENIAL)) or _belongs_to(_PLACE_BEHIND.search(head), join):
        return None
    definer = _DEFINER.search(head, max(0, len(head) - _LONGEST_WORDS))
    says_defined = _SAYS_DEFINED.search(join[0]) is not None
    mention = _code_mention(span[1], place) if span is not None else _bare_mention(match, place)
    if mention is not None and mention.name.startswith("_") and head.rstrip(" *`").endswith("/"):
        return None  # the end of a name: `total_cents` / `_euros`
    is_open = mention is None or mention.is_plain
    if span is None and is_open and definer is not None and _may_be_plain(match[1]):
        # `class Cart in ...` names it; `function body at ...` and `class diagram in ...` do not.
        is_type = match[1][0].isupper() and definer[0].lower().startswith(_TYPES)
        mention = NameMention(match[1], is_code=False) if says_defined or is_type else mention
    if mention is None:
        return None
    arrow = _ARROW_BEFORE.search(head) if span is not None else None
    if arrow is not None and (old := _code_mention(arrow[1], place)) is not None:
        mention = replace(mention, name=f"{mention.name}|{old.name}")
    is_defined = says_defined or (
        definer is not None and not _USES.search(head, max(0, definer.start() - _LONGEST_WORDS), definer.start())
    )
    mention = replace(mention, is_defined=mention.is_defined or is_defined)
    return _Candidate(mention, len(join[0].strip("`*_")))


def _after(text: str, end: int, place: str) -> _Candidate | None:
    rest = text[end : end + _LOOK_AHEAD]
    join = _JOIN_AFTER.match(rest)
    if join is None:
        return None
    span = _SPAN_AFTER.match(rest, join.end())
    match = span or _BARE_AFTER.match(rest, join.end())
    if match is None or _NOT_YET.match(rest, match.end()) or _belongs_to(_PLACE_AHEAD.match(rest, match.end()), join):
        return None
    is_defined = _DEFINES.search(join[0]) is not None
    if span is not None:
        mention = _code_mention(span[1], place)
    elif join["nothing"] is not None and not match[2] and not is_defined:
        return None
    else:
        mention = _bare_after(match, join, rest, place, is_defined=is_defined)
    if mention is None:
        return None
    return _Candidate(replace(mention, is_defined=mention.is_defined or is_defined), len(join[0].strip("`*_")))


def _bare_after(
    match: re.Match[str], join: re.Match[str], rest: str, place: str, *, is_defined: bool
) -> NameMention | None:
    """Return a name without code marks after a place; in brackets, it may be a plain word."""
    following = rest[match.end() :].lstrip("*_ ")[:1]
    bracket = join["bracket"]
    if bracket is None and (following in (":", "：") or _PRINTED.match(match[1])):
        return None
    mention = _bare_mention(match, place)
    is_alone = bracket is not None and (is_defined or not bracket.strip(" (（[")) and following in (")", "）", "]", ",")
    if mention is None and is_alone and _may_be_plain(match[1]):
        return NameMention(match[1], is_code=False, is_plain=True)
    return mention


def _belongs_to(other: re.Match[str] | None, join: re.Match[str]) -> bool:
    """Return whether a name belongs to the other place next to it, because it is joined more closely with that one."""
    if other is None or join["bracket"] is not None or join["word"] is not None:
        return False
    return other["close"] is not None or (join["sign"] or "").strip()[:1] not in (":", "：", "@")


def _code_mention(code: str, place: str) -> NameMention | None:
    """Return the name in code marks; None for other code: `x == 1`, `true`, `--force`, `src/app.py`."""
    written = code.strip()
    declared = _DECLARATION.match(written) or _SIGNATURE.match(written)
    if declared is not None:
        mention = _mention(declared["name"], place, is_call=True)
        return replace(mention, is_defined=True) if mention is not None else None
    match = _CODE.match(written)
    if match is None or not _is_one_call(match["call"] or "()"):
        return None
    return _mention(match["name"], place, is_call=match["call"] is not None)


def _is_one_call(brackets: str) -> bool:
    """Return whether the first bracket is closed by the last one: `(a, b(c))`, not `(a) + b(c)`."""
    depth = 0
    for position, character in enumerate(brackets, 1):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return position == len(brackets)
    return False


def _bare_mention(match: re.Match[str], place: str) -> NameMention | None:
    """Return a name without code marks: it is called, or written like a name. It is plain if it may be a product."""
    if match[2]:
        return _mention(match[1], place, is_call=True)
    is_name = _LIKE_A_NAME.match(match[1]) is not None
    if len(match[1]) < _MIN_BARE or match[1].lower() in _NOT_PLAIN or not (is_name or _CAPITALS.match(match[1])):
        return None
    mention = _mention(match[1], place, is_call=False)
    return replace(mention, is_code=False, is_plain=mention.is_plain or not is_name) if mention is not None else None


def _mention(name: str, place: str, *, is_call: bool) -> NameMention | None:
    last = SEPARATOR.split(name)[-1].strip("$~?!")
    if name in (_NOT_CALLED if is_call else _NOT_NAMES) or len(last) < 2 or _RULE_OR_HASH.match(name):
        return None
    if not is_call and "::" not in name and (has_known_ending(name) or name.endswith(_BUILT_ENDINGS)):
        return None
    # `TODO` is often no name, and `cart` next to `shop/cart.py:34` may be its module.
    is_plain = not is_call and (_SHOUTED.match(name) is not None or last in _PATH_WORD.findall(place))
    return NameMention(name.strip("?!~"), is_code=not is_plain, is_plain=is_plain)


def _may_be_plain(name: str) -> bool:
    return _PLAIN_WORD.match(name) is not None and name.lower() not in _NOT_NAMES | _NOT_PLAIN


# --- Rows of tables


def name_of_row(cells: Sequence[Segment], location: Segment) -> NameMention | None:
    """Return the name in a Symbol, Function, Class, Method, Name or Item column of the row of a place."""
    named: list[tuple[int, NameMention]] = []
    for cell in cells:
        rank = _rank_of_column(cell.column) if cell is not location and len(cell.text) <= _LOOK_AHEAD else 0
        mention = _name_in_cell(cell.text.strip(), location.text, rank) if rank else None
        if mention is not None:
            named.append((rank, mention))
    return min(named, key=lambda entry: entry[0])[1] if named else None


@lru_cache(maxsize=256)  # each row of a table has the same columns
def _rank_of_column(column: str) -> int:
    """Return the rank of a column; 0 if it does not name what is at the location."""
    words = {fold(word) for word in _WORD.findall(column)} - _JOINING
    if not words or not words <= _NAMING | _LISTING:
        return 0
    return _LISTED if words <= _LISTING else _CLASS if words <= _CLASSES | _LISTING else _SMALL


def _name_in_cell(text: str, place: str, rank: int) -> NameMention | None:
    """Return the names that are all of a cell; None if it states something else."""
    spans = _CELL_SPAN.findall(text)
    if spans:
        is_more = _CELL_REST.match(_CELL_SPAN.sub("", text)) is None
        mentions = [None] if is_more else [_code_mention(span, place) for span in spans[:_MAX_NAMES]]
    else:
        parts = _SEPARATORS.split(_CELL_ARGUMENTS.sub("()", text.strip("* ")))
        mentions = [_cell_word(part.strip("* "), place, rank) for part in parts[:_MAX_NAMES]]
    names = [mention for mention in mentions if mention is not None]
    if not names or len(names) < len(mentions):
        return None
    return NameMention(
        "|".join(mention.name for mention in names),
        is_code=all(mention.is_code for mention in names),
        is_plain=all(mention.is_plain for mention in names),
    )


def _cell_word(word: str, place: str, rank: int) -> NameMention | None:
    match = _BARE_AFTER.match(word)
    if match is None or match.end() != len(word):
        return None
    mention = _bare_mention(match, place)
    if (mention is None or mention.is_plain) and rank != _LISTED and _may_be_plain(word):
        # `login` and `CartService` in a column Function are names; `Authentication` there may be a remark.
        is_remark = mention is None and rank == _SMALL and word[0].isupper()
        return NameMention(word, is_code=False, is_plain=is_remark)
    return mention
