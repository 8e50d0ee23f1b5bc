"""Quoted code: at the cited lines, elsewhere in the file, in another file, altered, or nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from corpus.tree import evidence_of, look, plant, quotes, shown, write
from hypothesis import given
from hypothesis import strategies as st

from remit.checking import check_text
from remit.evidence import find_code
from remit.evidence.claims import explain
from remit.evidence.model import CodeFacts, Difference, Location
from remit.evidence.quote_text import quote_readings
from remit.evidence.receipts import Receipt
from remit.evidence.sources import open_sources
from remit.workspace.files import MAX_FILE

CODE = "    user = store.find_user(name)\n    if user is None or not check_password(user, password):"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("tree"))


def fence(code: str, info: str = "python") -> str:
    return f"```{info}\n{code}\n```"


def at(location: str, code: str) -> str:
    return f"{location}:\n{fence(code)}"


SHOP = """\
def start(name, port=8000):
    shop = find_shop(name)
    shop.reload()
    shop.start()
    result = open_door(name)
    status = result.get("status")
    log(status)

    return {
        "message": f"Shop {name} started",
        "status": status,
    }
"""


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (
            "def start(name, ...):\n    shop = find_shop(name)\n    shop.start()\n    raise Exit(1, 2, 3)",
            "its first 3 lines are at lines 1-4; none of these lines is like `raise Exit(1, 2, 3)`",
        ),
        (
            "shop = find_shop(name)\nshop.reload()\nresult = open_doors(names)\nlog(status)",
            (
                "its first 2 lines are at lines 2-3; "
                "the quote has `result = open_doors(names)`, but line 5 is `result = open_door(name)`"
            ),
        ),
        (
            "def begin(name, port=8000):\n    shop = find_shop(name)\n    shop.reload()\n    shop.start()",
            "the quote has `def begin(name, port=8000):`, but line 1 is `def start(name, port=8000):`",
        ),
        (
            "shop.start()\nresult = open_door\nlog(status)\nreturn status",
            "its first line is at line 4; the quote has `result = open_door`, but line 5 is `result = open_door(name)`",
        ),
    ],
    ids=["the last line", "a line in the middle", "the first line", "a line that goes on"],
)
def test_the_first_quoted_line_that_is_not_in_order_is_shown_with_those_that_were_found(
    code: str, sentence: str, tmp_path: Path
) -> None:
    write(tmp_path, {"shop.py": SHOP})
    (quote,) = evidence_of(at("shop.py:1-12", code), tmp_path).quotes
    assert quote.outcome == "mismatch"
    assert explain(quote).partition("%); ")[2] == sentence


def test_an_altered_operator_of_two_signs_is_one_altered_token() -> None:
    lines = ["function open(a, b) {", "  if (a && b) {", "    start(a);", "  }", "}"]
    facts = look("if (a || b) {\n  start(a);\n}", lines, 1, 5, path="a.ts")
    assert (facts.place, facts.changed_tokens, facts.quoted_lines) == ("nowhere", 1, 3)


# --- At the cited lines


@pytest.mark.parametrize(
    "code",
    [
        # White space
        CODE,
        CODE.replace("    ", "\t"),
        CODE.replace("    ", ""),
        CODE.replace(" ", "  "),
        CODE.replace("\n", "\n\n"),
        # A part of a line
        "user = store.find_user(name)",
        "store.find_user(name)",
        # Line numbers
        "14 | user = store.find_user(name)\n15 | if user is None or not check_password(user, password):",
        "14: user = store.find_user(name)\n15: if user is None or not check_password(user, password):",
        "  14\tuser = store.find_user(name)\n  15\tif user is None or not check_password(user, password):",
        "14→    user = store.find_user(name)\n15→    if user is None or not check_password(user, password):",
        "> 14 │     user = store.find_user(name)\n  15 │     if user is None or not check_password(user, password):",
        "L14: user = store.find_user(name)",
        "14  user = store.find_user(name)\n15  if user is None or not check_password(user, password):",
        '13 |     """Let a user in."""\n...\n16 |         return None',
        # A side of a diff
        "- user = store.find_user(name)\n+ user = store.find(name)",
        "-    user = store.find(name)\n+    user = store.find_user(name)",
        '@@ -13,3 +13,3 @@ login\n     """Let a user in."""\n-    user = store.find_user(name)\n+    user = find(name)',
        "--- a/src/app.py\n+++ b/src/app.py\n@@ -14 +14 @@\n-    user = store.find_user(name)\n+    user = find(name)",
        # Ellipses
        "def login(name, password):\n    ...\n    return open_session(user)",
        "def login(name, password):\n    # ... existing code ...\n    return open_session(user)",
        "def login(name, password):\n    // ...\n    return open_session(user)",
        "def login(name, password):\n[...]\n    return open_session(user)",
        "def login(name, password):\n    …\n    return open_session(user)",
        "...\n    user = store.find_user(name)\n...",
        # Typography
        "user = store.find_user(name)".replace(" ", "\u00a0"),
        "user = store.find\\_user(name)",
    ],
)
def test_a_faithful_quote_is_verified(code: str, tree: Path) -> None:
    assert quotes(at("src/app.py:14", code), tree) == ["src/app.py:14 verified"]


@pytest.mark.parametrize(
    "code",
    [
        "launch(the_missiles, now=True)",
        "    user = store.find_user(email)\n    if user is None:\n        raise Unknown(email)",
        "return open_session(user)\n    ...\ndef login(name, password):",
        "    user = store.find_user(name)\n    grant_everything(user)",
        "def login(name, passwort):\n    ...\n    return open_session(user)",
        "...state,\nuser = store.find_user(name)",
        "find_use",
    ],
)
def test_a_wrong_quote_is_a_mismatch_of_the_quote_and_of_its_location(code: str, tree: Path) -> None:
    evidence = evidence_of(at("src/app.py:14", code), tree)
    assert [(claim.kind, claim.outcome) for claim in evidence.checked] == [("place", "mismatch"), ("quote", "mismatch")]


def test_a_quote_up_to_five_lines_off_is_verified_with_its_line(tree: Path) -> None:
    line = "    user = store.find_user(name)"
    for cited, outcome in (
        ("14", "verified"),
        ("12-17", "verified"),
        *((cited, "verified > src/app.py:14") for cited in ("9", "13", "15", "19", "3-9")),
        *((cited, "relocated > src/app.py:14") for cited in ("1", "8", "20", "40", "3-8")),
    ):
        assert quotes(at(f"src/app.py:{cited}", line), tree) == [f"src/app.py:{cited} {outcome}"]
    function = "\n".join((tree / "src/app.py").read_text(encoding="utf-8").split("\n")[11:34])
    for cited, outcome in (("12", ""), ("20", ""), ("34", ""), ("39", " > src/app.py:12")):
        assert quotes(at(f"src/app.py:{cited}", function), tree) == [f"src/app.py:{cited} verified{outcome}"]
    assert quotes(at("src/app.py:40", function), tree) == ["src/app.py:40 relocated > src/app.py:12"]


def test_a_list_marker_is_not_read_as_a_removed_line(tree: Path) -> None:
    assert quotes(at("config/app.yaml:4", "retries:\n  - first\n  - second"), tree) == ["config/app.yaml:4 verified"]
    assert look(" timeout: 30\n- fake", ["timeout: 30"], 1, path="a.yaml").place == "nowhere"


def test_a_location_without_a_line_is_the_whole_file(tree: Path) -> None:
    for code, outcome in (
        (CODE, "verified"),
        (CODE.replace("name", "nome"), "mismatch > src/app.py:14"),
        ("return USERS.get(name)", "mismatch > src/app.py:16"),
    ):
        assert quotes(fence(code, "python src/app.py"), tree) == [f"src/app.py {outcome}"]


# --- Altered


def test_a_quote_with_one_letter_changed_is_a_mismatch_that_shows_both_lines(tree: Path) -> None:
    altered = "if user is None or not check_pasword(user, password):"
    (quote,) = evidence_of(at("src/app.py:15", altered), tree).quotes
    actual = altered.replace("pasword", "password")
    assert (quote.outcome, quote.match, quote.reason) == ("mismatch", "altered", "quote-differs")
    assert quote.similarity is not None
    assert 0.9 <= quote.similarity < 1
    assert quote.difference == Difference(altered, actual, 15)
    assert explain(quote).endswith(f"the quote has `{altered}`, but line 15 is `{actual}`")


@pytest.mark.parametrize(
    ("line", "quoted"),
    [
        ("11 => Some(Jack)", "77 => Some(Jack)"),
        ("retries = 3", "retries = 30"),
        ("if left == right:", "if left != right:"),
        ("timeout = 1.5", "timeout = 1"),
        ("send(chat, '*Error: the cart is empty*');", "send(chat, '*Fault...*');"),
        ("run(one, two)", "run(two, one)"),
    ],
)
def test_one_changed_token_is_a_mismatch(line: str, quoted: str) -> None:
    lines = ["match ace {", f"    {line}", "    _ => None", "}"]
    for path in ("a.rs", "a.py", "a.ts"):
        assert look(line, lines, 2, path=path).place == "cited"
        assert look(quoted, lines, 2, path=path).place == "nowhere"
        assert look(f"{lines[0]}\n    {quoted}\n{lines[2]}", lines, 1, 4, path=path).place == "nowhere"


def test_similar_lines_are_shown_within_fifty_lines(tmp_path: Path) -> None:
    lines = [""] * 200
    lines[99] = "value = compute(first, second)"
    write(tmp_path, {"a.py": "\n".join(lines)})
    wrong = "value = computing(first, other)"
    for cited, target in ((50, " > a.py:100"), (150, " > a.py:100"), (49, "")):
        assert quotes(at(f"a.py:{cited}", wrong), tmp_path) == [f"a.py:{cited} mismatch{target}"]
    assert quotes(at("a.py:100", "zzzzzzzzzzzz"), tmp_path) == ["a.py:100 mismatch"]
    (quote,) = evidence_of(at("a.py:90", wrong), tmp_path).quotes
    assert "line 100 is the most similar" in explain(quote)


def test_of_equally_similar_lines_the_nearest_is_shown(tmp_path: Path) -> None:
    lines = [""] * 20
    lines[5] = lines[9] = "value = compute(first, second)"
    write(tmp_path, {"a.py": "\n".join(lines)})
    assert quotes(at("a.py:10", "value = compute(first, secund)"), tmp_path) == ["a.py:10 mismatch > a.py:10"]


def test_a_long_quote_is_compared_with_windows_that_share_lines(tmp_path: Path) -> None:
    lines = [f"the value of number {number} is computed here = {number * 7919 % 10007}" for number in range(1, 1001)]
    write(tmp_path, {"a.py": "\n".join(lines)})
    quoted = lines[300:600]
    quoted[150] = "this one line has been changed by somebody"
    every = [line.replace("computed", "complted") for line in lines[300:600]]
    for cited, code in ((301, quoted), (400, quoted), (301, every), (304, every)):
        assert quotes(at(f"a.py:{cited}", "\n".join(code)), tmp_path) == [f"a.py:{cited} mismatch > a.py:301"]


# --- Elsewhere


def test_a_moved_quote_is_relocated_to_the_nearest_match_in_the_file(tmp_path: Path) -> None:
    lines = [f"x{number} = {number}" for number in range(1, 101)]
    for number in (10, 50, 90):
        lines[number - 1] = "the_same_line_again(1, 2)"
    write(tmp_path, {"a.py": "\n".join(lines)})
    for cited, line in ((30, 10), (31, 50), (99, 90)):
        expected = f"a.py:{cited} relocated > a.py:{line}"
        assert quotes(at(f"a.py:{cited}", "the_same_line_again(1, 2)"), tmp_path) == [expected]


def test_a_quote_of_fewer_than_ten_characters_is_not_searched_for_elsewhere(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "\n" * 99 + "abcd = efgh\nabcd = efghi\n", "b.py": "pass\n"})
    assert quotes(at("a.py:100", "abcd = efgh"), tmp_path) == ["a.py:100 verified"]
    assert quotes(at("a.py:1", "abcd = efgh"), tmp_path) == ["a.py:1 mismatch"]
    assert quotes(at("a.py:1", "abcd = efghi"), tmp_path) == ["a.py:1 relocated > a.py:101"]
    assert quotes(at("b.py:1", "abcd = efghi"), tmp_path) == ["b.py:1 mismatch"]


@pytest.mark.parametrize("cited", ["src/app.py:0", "src/app.py:41", "src/app.py:99", "src/app.py:17-12"])
def test_a_quote_makes_a_line_that_is_out_of_range_relocated(cited: str, tree: Path) -> None:
    for code, line in (("SESSIONS = {}", 40), ('"""The way in."""', 1)):
        evidence = evidence_of(at(cited, code), tree)
        assert [shown(claim) for claim in evidence.checked] == [f"{cited} relocated > src/app.py:{line}"] * 2


def test_a_range_past_the_end_stays_out_of_range_with_a_correct_quote(tree: Path) -> None:
    evidence = evidence_of(at("src/app.py:38-50", "SESSIONS = {}"), tree)
    assert [claim.outcome for claim in evidence.checked] == ["out-of-range", "verified"]


def test_a_wrong_quote_leaves_a_line_out_of_range(tree: Path) -> None:
    evidence = evidence_of(at("src/app.py:99", "launch(the_missiles, now=True)"), tree)
    assert [claim.outcome for claim in evidence.checked] == ["out-of-range", "out-of-range"]


@pytest.mark.parametrize("kind", ["binary", "huge", "pipe"])
def test_an_invented_quote_from_a_file_that_cannot_be_read_is_unchecked_and_supports_no_score(
    kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.py"
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.write_bytes(b"\0\1\2" if kind == "binary" else b"x = 1\n" * (MAX_FILE // 6 + 1))
    sources = open_sources(tmp_path, records=[Receipt(tool="Read", path="a.py")])
    (verdict,) = check_text(at("a.py:3", "launch(the_missiles, now=True)"), sources=sources)
    assert [claim.outcome for claim in verdict.evidence.checked] == ["unchecked", "unchecked"]
    assert verdict.evidence.supported == 0


def test_code_of_comments_only_is_unchecked_and_its_location_is_not_called_verified(tree: Path) -> None:
    claims = evidence_of(at("src/app.py:14", "# looks the user up\n# and nothing else"), tree).checked
    assert [(claim.outcome, claim.reason) for claim in claims] == [
        ("exists", "code-not-compared"),
        ("unchecked", "comments-only"),
    ]


# --- Omitted lines: only within the cited lines, or five around them


def test_lines_are_omitted_without_a_mark_only_near_the_cited_ones(tmp_path: Path) -> None:
    code = ["try:", "    load(path)", *(f"step{number}()" for number in range(100)), "except OSError:", "    pass"]
    quote = ["try:", "    load(path)", "except OSError:", "    pass"]
    assert look("\n".join(quote), code, 1, 104).match == "condensed"
    assert look("\n".join(quote), code, 1, 4).place != "cited"
    assert look("\n".join([*quote[:2], "...", *quote[2:]]), code, 1, 4).place == "cited"


def test_a_condensed_quote_thirty_lines_away_is_not_verified() -> None:
    lines = ["def one():", "    total = 0", *["    total += 1"] * 60, "    return total"]
    text = "def one():\n    total = 0\n    return total"
    assert look(text, lines, 1, 63).place == "cited"
    for cited in (31, 63):
        assert look(text, lines, cited).place != "cited"


def test_a_condensed_quote_starts_near_its_line_even_if_its_last_line_is_there() -> None:
    head = ["def load_settings(path):", "    settings = read_settings(path)", "    check_settings(settings, path)"]
    steps, tail = [f"    step{number}(settings)" for number in range(40)], ["    return finish(settings, path)"]
    code, quote = [*head, *steps, *tail], "\n".join([*head, *tail])
    assert look(quote, code, 1).place == "cited"
    far = look(quote, code, len(code))
    assert (far.place, far.found) == ("file", Location("a.py", 1))


POOL = [
    "pool = Pool(",
    "    url=url,",
    "    most=5,  # few",
    "    least=0,",
    "    wait=30,",
    ")",
    "one = (",
    "    pool,",
]
HOOKS = [
    "  const [glow, setGlow] = useState(() => {",
    "    const saved = store.get('glow');",
    "    return saved ? Number(saved) : firstGlow;",
    "  });",
    "",
    "  const [rate, setRate] = useState(() => {",
    "    const saved = store.get('rate');",
    "    return saved ? Number(saved) : firstRate;",
    "  });",
    "",
    "  const onGlow = useCallback((value) => {",
    "    setGlow(value);",
    "  }, []);",
]
CASES = [
    *("switch (role) {", '  case "guest":', '    grant(user, "read", false);', "    audit(user);", "    break;"),
    *('  case "admin":', '    grant(user, "read", true);', "    break;", "}"),
]


@pytest.mark.parametrize(
    ("path", "lines", "quoted", "place"),
    [
        # The comma before omitted elements may be left out
        ("a.py", POOL, ["pool = Pool(", "    url=url,", "    most=5", ")"], "cited"),
        ("a.py", POOL, ["pool = Pool(", "    url=url", ")"], "cited"),
        ("a.py", POOL, ["pool = Pool(", "    url=url,", "    most=6", ")"], "nowhere"),
        ("a.py", POOL, ["pool = Pool(", "    url=url", "    most=5,", ")"], "nowhere"),
        # Joined lines
        ("a.py", POOL, ["pool = Pool( url=url, least=0, )"], "cited"),
        ("a.py", POOL, ["pool = Pool( least=0, url=url, )"], "nowhere"),
        # The bracket that ends many blocks is that of the quoted one
        ("a.ts", HOOKS, [*HOOKS[:4], "", "// and the handler", *HOOKS[10:]], "cited"),
        ("a.ts", HOOKS, [*HOOKS[5:9], *HOOKS[10:]], "cited"),
        ("a.ts", HOOKS, [*HOOKS[:2], HOOKS[7], HOOKS[3], *HOOKS[10:]], "nowhere"),
        ("a.ts", HOOKS, [HOOKS[0], *HOOKS[6:9], *HOOKS[10:]], "nowhere"),
        # A line of another case does not verify an altered one
        ("a.ts", CASES, [*CASES[:3], CASES[4]], "cited"),
        ("a.ts", CASES, [*CASES[:2], CASES[6], CASES[7]], "nowhere"),
        # A quoted block that is empty is empty
        ("a.js", ["try {", "  save();", "} catch (e) {", "  log(e);", "}"], ["} catch (e) {", "}"], "cited"),
        ("a.js", ["try {", "  save();", "} catch (e) {", "  log(e);", "}"], ["} catch (e) {}"], "nowhere"),
        ("a.js", ["try {", "  save();", "} catch (e) {", "}"], ["} catch (e) {}"], "cited"),
        ("a.py", ["run(", "    a,", ")"], ["run()"], "nowhere"),
        # Dots stand for a part of a line or string
        ("a.js", ["send(chat, '*Error: the cart is empty*');"], ["send(chat, '*Error...*');"], "cited"),
        ("a.js", ["send(chat, '*Error: the cart is empty*');"], ["send(user, '*Error...*');"], "nowhere"),
        ("a.py", ['raise Failed("the buffer is too small")'], ['raise Failed("...too small")'], "cited"),
        ("a.py", ['raise Failed("the buffer is too small")'], ['raise Failed("...too large")'], "nowhere"),
        ("a.rs", ["match run() {", "    Ok(v) => {", "        v", "    }", "}"], ["Ok(v) => { /* ... */ }"], "cited"),
        # A comma before a closing bracket belongs to the line break; that of a tuple does not
        ("a.js", ["state = {", "    pages: [", "        1,", "    ],", "}"], ["state = { pages: [1] }"], "cited"),
        ("a.py", ["pair = (1,)"], ["pair = (1)"], "nowhere"),
        # Semicolons and quotation marks matter only where they do in the language
        ("a.ts", ["let a = open()"], ["let a = open();"], "cited"),
        ("a.rs", ["let a = open()", "run(a)"], ["let a = open();", "run(a)"], "nowhere"),
        ("a.py", ['strategies = {"mock": Mock}'], ["strategies = {'mock': Mock}"], "cited"),
        ("a.go", ['strategies = {"mock": Mock}'], ["strategies = {'mock': Mock}"], "nowhere"),
        ("a.py", ['run("a" + b + "c")'], ["run('a\" + b + \"c')"], "nowhere"),
        # A remark in a language with few rules
        ("CMakeLists.txt", ['set(ROOT "D:/lib")'], ['set(ROOT "D:/lib")  # a fixed path'], "cited"),
        ("CMakeLists.txt", ['set(ROOT "D:/lib")'], ['set(ROOT "E:/lib")  # a fixed path'], "nowhere"),
    ],
)
def test_what_may_be_left_out_of_a_quote_and_what_may_not(
    path: str, lines: list[str], quoted: list[str], place: str
) -> None:
    assert look("\n".join(quoted), lines, 1, len(lines), path).place == place


def test_the_head_of_one_function_above_the_body_of_another_is_altered() -> None:
    lines = [
        *("func Task(op Op) bool {", "\tnote := lower(trim(op.Note))"),
        *('\treturn has(note, "task") && !has(note, "none")', "}", ""),
        *("func External(op Op) bool {", "\tnote := lower(trim(op.Note))", '\treturn has(note, "external")', "}"),
    ]
    for first, last in ((6, 8), (1, 9), (None, None)):
        assert look("\n".join((lines[0], *lines[6:8])), lines, first, last, path="pay.go").place == "nowhere"
    assert look("\n".join(lines[5:8]), lines, 6, 8, path="pay.go").place == "cited"


# --- Readings and properties


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("a\n\n  b  c", [["a\nb c"]]),
        ("1 | a\n2 | b", [["1 | a\n2 | b"], ["a\nb"], ["| a\n| b"]]),
        ("2 | a\n1 | b", [["2 | a\n1 | b"]]),
        ("a\n...\nb", [["a", "b"]]),
        ("...args,\nb", [["...args,\nb"]]),
        ("-a\n+b\n c", [["-a\n+b\nc"], ["a\nc"], ["b\nc"]]),
        ("- a\n- b", [["- a\n- b"], ["a\nb"]]),
        ("...\n…", []),
    ],
)
def test_a_text_has_these_readings(text: str, readings: list[list[str]]) -> None:
    assert quote_readings(text) == readings


@given(st.text(max_size=300))
def test_any_text_has_readings_without_blank_pieces(text: str) -> None:
    assert all(pieces and all(map(str.strip, pieces)) for pieces in quote_readings(text))


TEXT = st.text(st.sampled_from("abcdefgxyz_ =()+*.,:\"'0123456789{}[]"), min_size=3, max_size=40)


@st.composite
def file_and_run(draw: st.DrawFn) -> tuple[list[str], int, int]:
    lines = draw(st.lists(st.one_of(TEXT, st.just("")), min_size=1, max_size=40))
    first = draw(st.integers(1, len(lines)))
    last = draw(st.integers(first, min(len(lines), first + 6)))
    while first < last and not lines[last - 1].strip():
        last -= 1
    while first < last and not lines[first - 1].strip():
        first += 1
    return lines, first, last


@given(file_and_run())
def test_lines_quoted_at_their_location_are_verified(case: tuple[list[str], int, int]) -> None:
    lines, first, last = case
    text = "\n".join(lines[first - 1 : last])
    if quote_readings(text):
        for location in ((first, last), (first, None), (last, None), (None, None)):
            assert look(text, lines, *location).place == "cited", (text, location)


COMMON = ["else:", "return None", "try:", ")", "}", "pass", "end"]


@given(st.lists(st.sampled_from(COMMON), min_size=60, max_size=120), st.data())
def test_a_quote_far_from_the_cited_line_is_relocated_even_if_one_of_its_lines_is_common(
    around: list[str], data: st.DataObject
) -> None:
    first = data.draw(st.integers(1, len(around)))
    quoted = ["unique_name = compute(1)", *data.draw(st.lists(st.sampled_from(COMMON), max_size=3))]
    quoted.insert(data.draw(st.integers(0, len(quoted))), "other_name = compute(2)")
    quoted = data.draw(st.sampled_from([quoted, [data.draw(st.sampled_from(COMMON)), *quoted]]))
    lines = [*around[: first - 1], *quoted, *around[first - 1 :]]
    last = first + len(quoted) - 1
    line = data.draw(st.integers(1, len(lines)).filter(lambda line: line < first - 5 or line > last + 5))
    code = look("\n".join(quoted), lines, line)
    assert (code.place, code.found) == ("file", Location("a.py", first))


@given(file_and_run(), st.text(st.sampled_from("äöüßÄÖÜéèà"), min_size=10, max_size=60))
def test_text_that_is_not_in_the_file_is_never_verified(case: tuple[list[str], int, int], other: str) -> None:
    lines, first, last = case
    mixed = "\n".join([*lines[first - 1 : last][:1], other])
    assert {look(text, lines, first, last).place for text in (other, mixed)} == {"nowhere"}
    assert look(other, lines, None).place == "nowhere"


# --- Limits


@pytest.mark.parametrize("limit", ["MAX_SCANNED", "MAX_COMPARED"])
def test_the_cost_of_all_quotes_of_a_result_is_limited(limit: str, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_code, limit, 0)
    body = at("src/app.py:14", CODE) + "\n\n" + at("src/app.py:15", "launch(the_missiles, now=True)")
    evidence = evidence_of(body, tree)
    assert [(claim.outcome, claim.reason) for claim in evidence.quotes] == [
        ("verified", "quote-is-there"),
        ("unchecked", "too-large-to-compare"),
    ]
    assert [claim.outcome for claim in evidence.references] == ["verified", "exists"]


def test_the_search_for_similar_lines_is_limited(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "\n\n".join(at("src/app.py:14", f"user = store.find_{name}(name)") for name in ("users", "u"))
    assert all(quote.found is not None for quote in evidence_of(body, tree).quotes)
    monkeypatch.setattr(find_code, "MAX_GUESSED", 1)
    quotes_found = evidence_of(body, tree).quotes
    assert [(quote.outcome, quote.found is not None) for quote in quotes_found] == [
        ("mismatch", True),
        ("mismatch", False),
    ]


# --- Removed secrets

SECRET = "q8Zr0Vt5Lm2Xw9Kd7Hs3Np6B"
SIGN = f"""import jwt

LIMIT = 3

def sign(user):
    JWT_SECRET = '{SECRET}'
    return jwt.encode(user, JWT_SECRET)
"""


def quoted(code: str) -> CodeFacts:
    return look(code, SIGN.split("\n"), 6)


@pytest.mark.parametrize("mark", ["[named secret removed]", "[aws secret key removed]"])
def test_the_mark_of_a_removed_secret_matches_the_secret(mark: str) -> None:
    facts = quoted(f"JWT_SECRET = '{mark}'\nreturn jwt.encode(user, JWT_SECRET)")
    assert (facts.place, facts.match) == ("cited", "whitespace")


@pytest.mark.parametrize(
    "code",
    ["JWT_KEY = '[named secret removed]'", "LIMIT = [named secret removed]", "def [named secret removed](user):"],
)
def test_the_mark_of_a_removed_secret_matches_nothing_else(code: str) -> None:
    assert quoted(code).place == "nowhere"


def test_a_quote_with_a_mark_shows_no_secret_of_the_file() -> None:
    facts = quoted("JWT_SECRET = '[named secret removed]' + user.name")
    assert facts.place == "nowhere"
    assert facts.difference is not None
    assert SECRET not in facts.difference.actual
