"""The head of a definition is read as written, without guessing, and an error has its location."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remit.registry.fields import HONOURED, DefinitionFile, read_definition
from remit.registry.frontmatter import (
    MAX_DEPTH,
    MAX_VALUES,
    DefinitionDocument,
    MalformedYaml,
    RefusedYaml,
    read_document,
    trim_body,
)
from remit.registry.tools import OFFERED, AllowList
from remit.testing import definition


def read(head: str, body: str = "Body.") -> DefinitionDocument:
    document = read_document(f"---\n{head}\n---\n{body}", HONOURED)
    assert document is not None
    return document


def values(head: str) -> dict[str, object]:
    return {name: field.value for name, field in read(head).fields.items()}


def fault(text: str) -> MalformedYaml:
    with pytest.raises(MalformedYaml) as raised:
        read_document(text, HONOURED)
    return raised.value


# values


@pytest.mark.parametrize(
    "written",
    [
        "on",
        "yes",
        "no",
        "true",
        "1.10",
        "0x10",
        "0o7",
        "010",
        "1e3",
        "2024-01-02",
        "12:30:00",
        ".inf",
        "1_000",
        "=",
        "<<x",
    ],
)
def test_a_plain_value_is_the_text_that_was_written(written: str) -> None:
    assert values(f"field: {written}") == {"field": written}


@pytest.mark.parametrize("key", ["on", "yes", "1.10", "null", "2024-01-02", "~"])
def test_a_fields_name_is_the_text_that_was_written(key: str) -> None:
    assert values(f"{key}: x") == {key: "x"}


@pytest.mark.parametrize("written", ["", "null", "Null", "NULL", "~", "# only a comment"])
def test_null_in_its_plain_forms_is_nothing(written: str) -> None:
    assert values(f"field: {written}") == {"field": None}


@pytest.mark.parametrize(
    ("written", "text"), [('"null"', "null"), ("'~'", "~"), ('""', ""), ("''", ""), ("nUll", "nUll")]
)
def test_null_in_quotes_is_text(written: str, text: str) -> None:
    assert values(f"field: {written}") == {"field": text}


def test_lists_and_mappings_are_read_in_both_styles() -> None:
    head = "a: [x, 'y, z', ~]\nb:\n  - 1.0\n  - k: v\nc: {on: off}\nd:\n- p"
    assert values(head) == {
        "a": ["x", "y, z", None],
        "b": ["1.0", {"k": "v"}],
        "c": {"on": "off"},
        "d": ["p"],
    }


def test_block_scalars_keep_or_fold_their_lines() -> None:
    assert values("a: |\n  one\n  two: three\nb: >\n  one\n  two\nc: |-\n  x\n\nd: >-\n  y\n  z") == {
        "a": "one\ntwo: three\n",
        "b": "one two\n",
        "c": "x",
        "d": "y z",
    }


def test_each_field_knows_its_line() -> None:
    fields = read("\n# a comment\na: 1\nb: |\n  x\n  y\nc: 2").fields
    assert {name: field.line for name, field in fields.items()} == {"a": 4, "b": 5, "c": 8}


# where the head begins and ends


def test_a_file_without_frontmatter_is_not_a_definition() -> None:
    for text in (
        "",
        "\n\n",
        "# Readme\n",
        "Text\n---\nname: a\n---\n",
        "----\nname: a\n----\n",
        " ---\nname: a\n---\n",
        "--\n",
    ):
        assert read_document(text, HONOURED) is None, text


def test_an_empty_head_and_an_empty_body_are_read() -> None:
    for text in ("---\n---\n", "---\n---", "---\n\n\n---\n\n \n", "---\n# nothing\n---\n"):
        assert read_document(text, HONOURED) == DefinitionDocument({}, "")


def test_three_dots_close_the_head_too() -> None:
    document = read_document("---\nname: a\n...\nBody\n---\nmore", HONOURED)
    assert document is not None
    assert document.body == "Body\n---\nmore"


def test_the_first_closing_line_counts_and_later_ones_are_body() -> None:
    assert read("name: a", "One\n\n---\n\nTwo\n").body == "One\n\n---\n\nTwo"
    document = read_document("---  \nname: a\n---\t\nx", HONOURED)
    assert document is not None
    assert document.body == "x"


@pytest.mark.parametrize("opening", ["---js", "---json", "---toml", "---yaml"])
def test_a_head_marked_with_a_language_is_refused_and_never_run(opening: str) -> None:
    error = fault(f"{opening}\nmodule.exports = {{}}\n---\nBody")
    assert error.line == 1
    assert opening in str(error)


def test_an_unclosed_head_is_reported_with_its_line() -> None:
    error = fault("\n\n---\nname: a\n\nBody\n")
    assert (error.line, str(error)) == (3, "line 3: the frontmatter is not closed: end it with a line ---")


# faults


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("---\nname: a\nname: b\n---\n", 3, 1, "'name' occurs twice (also on line 2)"),
        ("---\nname: a\nbudget:\n  k: 1\n  k: 2\n---\n", 5, 3, "'k' occurs twice (also on line 4)"),
        ("\n\n---\na: 1\na: 2\n---\n", 5, 1, "(also on line 4)"),
        ("---\nname: [a, b\n---\n", 3, None, "a list is opened with ["),
        ("---\nname: {a: b\n---\n", 3, None, "a mapping is opened with {"),
        ('---\nname: "a\n---\n', None, None, "a quote is opened and not closed"),
        ("---\njust words\n---\n", 2, 1, "one `field: value` per line"),
        ("---\n- a\n- b\n---\n", 2, 1, "one `field: value` per line"),
        ("---\nname: a\n[x]: b\n---\n", 3, None, "a field's name must be plain text"),
        ("---\ntools: [a,\n  b\x07]\n---\n", 3, None, "a control character (number 7)"),
        ("---\nname: !!python/object/apply:os.system [id]\n---\n", 2, 7, "YAML tags (!) are not read"),
        ("---\nname: !x y\n---\n", 2, 7, "YAML tags (!) are not read"),
        ("---\nname: &a x\n---\n", 2, 7, "anchors and aliases"),
        ("---\na: b\nname: *a\n---\n", 3, 7, "anchors and aliases"),
        ("---\n&a name: x\n---\n", 2, 1, "anchors and aliases"),
        ("---\n--- !!map\nname: x\n---\n", None, None, "YAML tags"),
    ],
)
def test_an_error_has_line_column_and_advice(text: str, line: int | None, column: int | None, words: str) -> None:
    error = fault(text)
    assert words in str(error)
    if line is not None:
        assert error.line == line
    if column is not None:
        assert str(error).startswith(f"line {line}, column {column}: ")


@pytest.mark.parametrize("before", ["", "\ufeff", "\n\n", "\ufeff\r\n\r\n", "\r\n \r\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_are_counted_as_in_the_file_with_any_text_before_the_head(before: str, end: str) -> None:
    data = (before + end.join(["---", "name: a", "model: x", "model: é", "---", "b"])).encode()
    with pytest.raises(MalformedYaml) as raised:
        read_definition(data, DefinitionFile("p", "x.md", "x"), AllowList(OFFERED))
    first = before.count("\n") + 4
    assert raised.value.line == first
    assert str(raised.value).startswith(f"line {first}, column 1: 'model' occurs twice (also on line {first - 1})")


def test_columns_count_characters_not_bytes() -> None:
    assert str(fault("---\nx: {日本: &a 1}\n---\n")).startswith("line 2, column 9: ")


def test_a_bomb_of_aliases_is_refused_before_anything_is_built() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    with pytest.raises(RefusedYaml, match="anchors and aliases"):
        read("\n".join(lines))


def test_a_value_may_be_nested_so_deep_and_no_deeper() -> None:
    deep = MAX_DEPTH - 1
    assert values("a: " + "[" * deep + "]" * deep)
    with pytest.raises(RefusedYaml, match="nested more than 16 levels deep"):
        read("a: " + "[" * (deep + 1) + "]" * (deep + 1))
    with pytest.raises(MalformedYaml):
        read("a: " + "[" * 100_000)
    with pytest.raises(MalformedYaml):
        read("a: " + "{a: " * 50_000)


def test_the_number_of_values_is_limited() -> None:
    assert values(f"a: [{', '.join(['x'] * (MAX_VALUES - 3))}]")
    with pytest.raises(RefusedYaml, match="more than 10000 values"):
        read(f"a: [{', '.join(['x'] * MAX_VALUES)}]")


@pytest.mark.parametrize(
    "head",
    [
        "a:\n" * 80_000,
        "a: b: c\n" * 30_000,
        "".join(f"a{number}: b: c\n" for number in range(20_000)),
        "<example>" * 20_000,
        "description: <example>\n" * 10_000,
        "description: x: " + "(" * 200_000,
        "tools: " + "Read " * 50_000,
        "tools: " + "(" * 200_000,
        "? " * 100_000,
        "- " * 100_000,
        "'" * 200_000,
        "\t" * 200_000,
        "x: |\n" + " " * 200_000,
        "x: " + "- " * 100_000,
        "\n" * 200_000,
        "#" * 200_000,
        "{{" * 100_000,
    ],
    ids=lambda head: head[:12].encode().decode("ascii").replace("\n", "/"),
)
def test_hostile_heads_come_back(head: str) -> None:
    said = ""
    try:
        read_definition(f"---\n{head}\n---\nb".encode(), DefinitionFile("p", "x.md", "x"), AllowList(OFFERED))
    except MalformedYaml as error:
        said = str(error)
    assert len(said) < 1000


_ALPHABET = st.one_of(
    st.sampled_from(list("-.:#\n\r\t '\"[]{}|>&*!%@`,?~<=\x85\u2028\ufeffé🎉\x00\x1b")), st.characters()
)
_HEADS = st.lists(
    st.sampled_from(
        ["name: ", "tools:", "- ", "<example>", "</example>", "---", "...", "a: b: c", "\n", "  ", "\n---\n"]
    )
    | st.text(_ALPHABET, max_size=8),
    max_size=15,
).map("".join)


@given(text=_HEADS, is_closed=st.booleans())
@example(text="name: \ud83c\udf89 x: y", is_closed=True)
@example(text="", is_closed=False)
def test_any_text_is_read_or_is_malformed_and_nothing_else(text: str, is_closed: bool) -> None:
    whole = f"---\n{text}\n---\nbody\n" if is_closed else text
    whole = whole.encode("utf-8", "replace").decode()
    line = 1
    try:
        read_document(whole, HONOURED)
    except MalformedYaml as error:
        line = error.line
    assert 1 <= line <= whole.count("\n") + 1 + sum(map(whole.count, "\r\x85\u2028\u2029"))


@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_definition_or_none_or_malformed(data: bytes) -> None:
    for whole in (data, b"---\n" + data + b"\n---\nbody"):
        try:
            found = read_definition(whole, DefinitionFile("p", "x.md", "x"), AllowList(OFFERED))
        except MalformedYaml:
            continue
        assert found is None or found.name


@given(text=st.text(alphabet="a \n\t\x0b\x85\u3000"))
def test_trimming_takes_blank_lines_around_a_text_and_nothing_else(text: str) -> None:
    lines = text.split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip()]
    assert trim_body(text) == ("\n".join(lines[filled[0] : filled[-1] + 1]) if filled else "")


# colons in plain values, and what people paste into descriptions


def test_a_colon_in_a_plain_value_is_read_with_a_warning_that_names_the_line() -> None:
    document = read("name: a\ndescription: Checks things. Triggers on: 'x', 'y'\ntools: Read")
    assert document.fields["description"].value == "Checks things. Triggers on: 'x', 'y'"
    assert document.fields["tools"].value == "Read"
    assert document.warnings == ("line 3: 'description' is not valid YAML and is read as plain text: put it in quotes",)


@pytest.mark.parametrize(
    "text", ["tea: 🎉 party", "é: ü", 'a "quoted: word" \\n here', "日本: 語", "x: \u2028 y", "a: \x9f b"]
)
def test_any_character_may_be_next_to_the_colon(text: str) -> None:
    if text.isprintable():
        assert read(f"description: {text}").fields["description"].value == text
    else:
        assert "description" in read(f"description: {text}").fields


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("argument-hint: [file] [line]", "argument-hint"),
        ("color: @blue", "color"),
        ("note: `x`", "note"),
        ("note: %x", "note"),
        ("tools: *", "tools"),
        ("description: **Bold** words", "description"),
    ],
)
def test_a_plain_value_with_a_mark_that_yaml_wants_for_itself_is_read_with_a_warning(head: str, name: str) -> None:
    document = read(f"{head}\nmodel: opus")
    assert document.fields[name].value == head.partition(": ")[2]
    assert document.fields["model"].value == "opus"
    assert len(document.warnings) == 1


CONVERSATION = """\
name: a
description: Use this agent when tests fail. Examples:

<example>
Context: the build broke
user: "Why is CI red?"
assistant: "I will ask the agent"
<commentary>
tools: none of this is a field
</commentary>
</example>

<example>
user: "And now?"
</example>
tools: Read, Grep
model: opus
"""


def test_conversations_pasted_below_a_description_belong_to_it() -> None:
    document = read(CONVERSATION)
    assert list(document.fields) == ["name", "description", "tools", "model"]
    text = document.fields["description"].value
    assert text.startswith("Use this agent when")
    assert 'user: "And now?"' in text
    assert (document.fields["tools"].value, document.fields["tools"].line) == ("Read, Grep", 17)


def test_indented_conversations_are_read_too() -> None:
    head = "\n".join(
        f"  {line}" if line.startswith(("<", "Context", "user", "assistant", "tools: none")) else line
        for line in CONVERSATION.split("\n")
    )
    document = read(head)
    assert document.fields["tools"].value == "Read, Grep"
    assert "Why is CI red?" in document.fields["description"].value


def test_an_example_that_is_never_closed_swallows_no_field() -> None:
    document = read("name: a\ndescription: Like <example> this: one\ntools: Read\nmodel: opus")
    assert document.fields["tools"].value == "Read"
    assert document.fields["model"].value == "opus"


def test_a_description_in_one_line_with_written_line_ends_stays_as_it_is() -> None:
    text = r"Use it when: x.\n\n<example>\nuser: 'go'\nassistant: 'yes'\n</example>"
    assert read(f"name: a\ndescription: {text}").fields["description"].value == text


@pytest.mark.parametrize(
    "head",
    [
        "budget:\n  k: 1\n  k: 2",
        "tools: [Read, Grep: x",
        'name: "a" b: c',
        "tools: {a: b: c}",
        "name: a: b\n  more",
        "max_turns: a: b\n- c",
    ],
)
def test_what_a_field_of_ours_means_is_never_guessed(head: str) -> None:
    with pytest.raises(MalformedYaml):
        read(head)


def test_a_field_of_others_that_is_not_yaml_is_kept_as_text_with_a_warning() -> None:
    document = read("name: a\nhooks:\n  on: x\n  on: y\ntools: Read")
    assert document.fields["hooks"].value == "on: x\non: y"
    assert document.fields["tools"].value == "Read"
    assert [words.partition(" is ")[0] for words in document.warnings] == ["line 3: 'hooks'"]


def test_what_is_refused_is_not_read_line_by_line_either() -> None:
    with pytest.raises(RefusedYaml):
        read("hooks: !!python/name:os.system\nname: a")


def test_tabs_after_a_colon_are_read_and_tabs_as_indent_are_reported() -> None:
    assert read("name:\tscout\ntools:\tRead").fields["name"].value == "scout"
    assert "indent with spaces" in str(fault("---\nbudget:\n\ttokens: 1\nname: a\n---\n"))


# names and fields


@pytest.mark.parametrize("name", ["a", "Code Explorer", "日本語", "a.b_c-d", "x" * 64, "on", "1.10", "team:scout"])
def test_a_name_may_be_any_printable_text(name: str) -> None:
    assert definition({"name": name}).name == name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x" * 65, "the name has 65 characters; at most 64"),
        ("a\nb", "contains a line break or a control character"),
        ("a\x1b[31mb", "contains a line break or a control character"),
        ("a\u202eb", "contains a line break or a control character"),
        ("../evil", "contains a slash"),
        ("a\\b", "contains a slash"),
        ("", "at least one letter or digit"),
        ("-- --", "at least one letter or digit"),
    ],
)
def test_a_name_that_could_do_harm_is_refused_with_the_reason(name: str, words: str) -> None:
    with pytest.raises(Exception, match=words) as raised:
        definition({"name": name})
    assert str(raised.value).isprintable()


def test_a_name_that_is_not_text_is_refused_with_its_line() -> None:
    with pytest.raises(Exception, match="line 2: the name must be text"):
        definition("---\nname: [a]\n---\nb")


def test_every_field_is_understood() -> None:
    found = definition(
        "---\nname: a\ndescription: >\n  Does\n  things.\ntools: [Read, Bash(git log:*), mcp__hub__list]\n"
        "disallowedTools: Write\nmodel: opus\nmaxTurns: 12\nkind: review\nprofile: v1\nrunner: command\n"
        "budget:\n  tokens: 1_000\n  cost: $2.50\n  time: 10m\n  turns: 9\ninput_vars: {topic: tea}\n"
        "expertise: security, data\nskills: [one, two]\ncolor: red\nhooks: {a: [b]}\n---\nBody."
    )
    assert found.description == "Does things."
    assert found.tools == ("Read", "Bash(git log:*)", "mcp__hub__list")
    assert (found.denied, found.model, found.max_turns) == (("Write",), "opus", 12)
    assert (found.kind, found.profile, found.runner) == ("review", "v1", "command")
    assert (found.limits.tokens, found.limits.cost, found.limits.seconds) == (1000, 2.5, 600)
    assert (found.input_vars, found.expertise, found.skills) == ({"topic": "tea"}, ("security", "data"), ("one", "two"))
    assert found.unused == {"color": "red", "hooks": {"a": ["b"]}}
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("max_turns: many", "max_turns must be a number from 1 to 10000, not 'many'"),
        ("max_turns: 0", "max_turns must be a number from 1 to 10000"),
        ("max_turns: 10001", "max_turns must be a number from 1 to 10000"),
        ("budget: {tokens: 1.5}", "budget: tokens must be a whole number, not '1.5'"),
        ("budget: {time: 2d}", "budget: time must be seconds, or 90s, 10m, 2h, not '2d'"),
        ("budget: {cost: -1}", "budget: cost must be an amount of money"),
        ("budget: {cost: 0}", "budget: cost must be greater than 0"),
        ("budget: {turns: 10001}", "budget: turns must be at most 10000"),
        ("tools: [" + ", ".join(f"t{n}" for n in range(201)) + "]", "201 tools; at most 200"),
        ("tools: {" + ", ".join(f"t{n}: true" for n in range(201)) + "}", "201 tools; at most 200"),
    ],
)
def test_a_limit_that_cannot_be_meant_rejects_the_definition_with_its_line(line: str, words: str) -> None:
    with pytest.raises(Exception, match="not a definition: line 3: ") as raised:
        definition(f"---\nname: a\n{line}\n---\nb")
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("kind: reviw", "there is no kind 'reviw', did you mean 'review'?; the field is not used"),
        ("profile: v7", "there is no profile 'v7'"),
        ("runner: shell", "there is no runner 'shell'; choose from model, command"),
        ("budget: 5", "a budget is a mapping of turns, tokens, cost, time"),
        ("budget: {token: 5}", "a budget has no 'token', did you mean 'tokens'?"),
        ("discription: x", "the field 'discription' is not used, did you mean 'description'?"),
        ("max_turn: 5", "the field 'max_turn' is not used, did you mean 'max_turns'?"),
        ("allowed_tool: Read", "the field 'allowed_tool' is not used, did you mean 'allowed_tools'?"),
        ("model: [a]", "'model' must be text; the field is not used"),
    ],
)
def test_a_slip_is_a_warning_with_its_line_and_a_suggestion(line: str, words: str) -> None:
    [warning] = definition(f"---\nname: a\n{line}\n---\nb").warnings
    assert warning.startswith("line 3: ")
    assert words in warning


@pytest.mark.parametrize(
    "field",
    ["color: red", "effort: high", "permissionMode: plan", "hooks: {}", "memory: user", "id: 7"],
)
def test_fields_of_other_clients_are_kept_and_no_warning(field: str) -> None:
    found = definition(f"---\nname: a\n{field}\n---\nb")
    assert (list(found.unused), found.warnings) == ([field.partition(":")[0]], ())


# tools as people write them


@pytest.mark.parametrize(
    ("written", "tools"),
    [
        ("Read, Grep,Glob", ("Read", "Grep", "Glob")),
        ("Read Grep Glob", ("Read", "Grep", "Glob")),
        ("[Read, Grep]", ("Read", "Grep")),
        ("\n  - Read\n  - Grep", ("Read", "Grep")),
        ("|\n  Read\n  Grep", ("Read", "Grep")),
        ("read, GREP, web_fetch, Web Search", ("Read", "Grep", "WebFetch", "WebSearch")),
        ("Task, MultiEdit, View, KillBash", ("Agent", "Edit", "Read", "KillShell")),
        ("Bash(git:*), Bash(npm run test:*)", ("Bash(git:*)", "Bash(npm run test:*)")),
        ("Bash(a, b), Read", ("Bash(a, b)", "Read")),
        ("mcp__x__y, mcp__x, 'mcp__x__*'", ("mcp__x__y", "mcp__x")),
        ("Read, Read, read", ("Read",)),
        ("{read: true, bash: false, grep: true}", ("Read", "Grep")),
        ("*", None),
        ('"*"', None),
        ("all", None),
        ("All tools", None),
        ("[Read, '*']", None),
        ("[]", ()),
        ('""', ()),
        ("null", None),
    ],
)
def test_tools_are_understood_in_every_form(written: str, tools: tuple[str, ...] | None) -> None:
    assert definition(f"---\nname: a\ntools: {written}\n---\nb").tools == tools


def test_a_tool_that_is_switched_off_in_a_table_is_taken_away() -> None:
    found = definition("---\nname: a\ntools:\n  write: false\n  bash: false\n---\nb")
    assert (found.tools, found.denied) == (None, ("Write", "Bash"))


def test_an_unknown_name_in_allowed_tools_rejects_and_in_tools_is_withheld_with_the_nearest() -> None:
    with pytest.raises(Exception, match="line 3: allowed_tools: no such tool as 'Raed', did you mean 'Read'") as raised:
        definition("---\nname: a\nallowed_tools: [Raed, Grep]\n---\nb")
    assert "'Grep'" not in str(raised.value)
    for field in ("tools", "allowed-tools"):
        found = definition(f"---\nname: a\n{field}: [Raed, Grep]\n---\nb")
        assert (found.tools, found.unknown_tools) == (("Grep",), ("Raed",))
        assert f"line 3: {field}: withheld, no such tool as 'Raed', did you mean 'Read'?" in (found.warnings)


def test_a_list_of_unknown_tools_grants_no_tools() -> None:
    assert definition("---\nname: a\ntools: postgres, docker\n---\nb").tools == ()


def test_tools_listed_twice_are_what_both_lists_have() -> None:
    found = definition("---\nname: a\ntools: Read, Grep\nallowed_tools: [Grep, LS]\n---\nb")
    assert found.tools == ("Grep",)
    assert "only tools that are in every list are granted" in found.warnings[0]


def test_an_unknown_name_in_disallowed_tools_removes_nothing_and_warns() -> None:
    found = definition("---\nname: a\ndisallowedTools: Bsah\n---\nb")
    assert "has no effect: no such tool as 'Bsah', did you mean 'Bash'?" in found.warnings[0]


def test_bytes_that_are_not_utf_8_are_replaced_with_a_warning() -> None:
    found = read_definition(b"---\nname: a\n---\ncaf\xe9", DefinitionFile("p", "x.md", "x"), AllowList(OFFERED))
    assert found is not None
    assert found.body == "caf\ufffd"
    assert found.warnings == ("it is not UTF-8: invalid bytes were replaced; save it as UTF-8",)


def test_without_a_name_it_is_the_files() -> None:
    found = read_definition(
        b"---\ndescription: x\n---\nb", DefinitionFile("p", "q/code-scout.md", "code-scout"), AllowList([])
    )
    assert found is not None
    assert found.name == "code-scout"
