"""The prompt and tools of a job, and where each part comes from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remit import JobRequest, resolve
from remit.contract.kinds import KINDS
from remit.contract.profiles import PROFILES
from remit.errors import ConfigurationError, UsageError
from remit.registry.definition import Brief
from remit.registry.model_names import TABLE
from remit.registry.resolution import RequestRefused
from remit.registry.tools import ALIASES, CATALOGUE, OFFERED, AllowList, find_tool
from remit.reports.layout import schema_of
from remit.rules.instructions import instructions
from remit.testing import registry

#: The tools that are granted without a list of tools.
UNASKED = tuple(name for name in OFFERED if name != "Bash")
#: As the design fixes them.
KEYS = (
    *("schema", "system", "system_from", "contract", "tools", "tools_from", "withheld", "model", "model_from"),
    *("max_turns", "max_turns_from", "limits", "definition", "warnings"),
)


def of(head: str, body: str = "Body.", /, **job: Any) -> Any:
    """The brief of a job for a definition with these lines in its head."""
    options = {name: job.pop(name) for name in ("policy", "allow_tools") if name in job}
    team = registry(f"---\nname: one\n{head}\n---\n{body}")
    return resolve({"subagent_def": "one", **job}, registry=team, **options)


# where each field comes from


def test_each_field_is_the_jobs_then_the_definitions_then_the_configurations_then_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    head = "tools: Read\nmodel: opus\nmax_turns: 7\nbudget: {tokens: 70, cost: 0.7, time: 70}"
    own = {
        "system": "Job.",
        "allowed_tools": ["LS"],
        "model": "haiku",
        "max_turns": 5,
        "limits": {"tokens": 50, "cost": 0.5, "seconds": 50},
    }
    settings = {
        "REMIT_ALLOW_TOOLS": "Read,LS,Glob",
        "REMIT_MODEL": "gpt-9",
        "REMIT_MAX_TURNS": "9",
        "REMIT_LIMITS_TOKENS": "90",
        "REMIT_LIMITS_COST": "0.9",
        "REMIT_LIMITS_SECONDS": "90",
    }

    def parts(made: Any) -> list[Any]:
        limits = msgspec.structs.astuple(made.limits), set(made.limits_from.values())
        return [made.tools, made.tools_from, made.model, made.model_from, made.max_turns, made.max_turns_from, *limits]

    default = parts(of(""))
    assert default == [UNASKED, "default", TABLE["sonnet"], "default", 30, "default", (None, None, None), {"default"}]
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    origin = "configuration"
    assert parts(of("")) == [
        *(("Read", "LS", "Glob"), origin, "openai:gpt-9", origin, 9, origin, (90, 0.9, 90), {origin})
    ]
    origin = "definition"
    assert parts(of(head)) == [*(("Read",), origin, TABLE["opus"], origin, 7, origin, (70, 0.7, 70), {origin})]
    assert parts(of(head, "Body.", **own)) == [
        *(("LS",), "job", TABLE["haiku"], "job", 5, "job", (50, 0.5, 50), {"job"})
    ]


def test_each_limit_is_chosen_alone() -> None:
    made = of("budget: {tokens: 70, time: 1.5m}", limits={"tokens": 50})
    assert (made.limits.tokens, made.limits.cost, made.limits.seconds) == (50, None, 90)
    assert made.limits_from == {"tokens": "job", "cost": "default", "seconds": "definition"}


def test_the_turns_of_a_budget_count_if_max_turns_is_absent() -> None:
    assert of("budget: {turns: 12}").max_turns == 12
    assert of("max_turns: 4\nbudget: {turns: 12}").max_turns == 4
    assert of("maxTurns: 6").max_turns == 6


def test_an_empty_system_of_the_job_wins_over_the_body() -> None:
    made = of("input_vars: topic", "About {{topic}}.", system="")
    assert (made.system, made.system_from) == ("", "job")
    assert made.warnings == (), "the variables of a body that is not used need no value"


def test_null_in_a_job_means_absent() -> None:
    nothing = dict.fromkeys(name for name in JobRequest.__struct_fields__ if name != "subagent_def")
    assert of("tools: Read\nmodel: opus", "Body.", **nothing) == of("tools: Read\nmodel: opus")
    assert of("tools: Read", allowed_tools=None).tools_from == "definition"


def test_null_in_a_definition_means_absent() -> None:
    for null in ("", "null", "~", "Null"):
        made = of(f"tools: {null}\nallowed_tools: {null}\nmodel: {null}\nmax_turns: {null}\nbudget: {null}")
        assert (made.tools_from, made.model_from, made.max_turns_from) == ("default", "default", "default")
        empty = "is empty, so the worker's default tools are granted; write [] for none"
        assert [empty in words for words in made.warnings] == [True, True], "no list and an empty list are not the same"


@pytest.mark.parametrize("field", ["tools", "allowed_tools", "allowed-tools"])
def test_an_empty_list_of_tools_grants_no_tools(field: str) -> None:
    made = of(f"{field}: []")
    assert (made.tools, made.tools_from, made.warnings) == ((), "definition", ())


def test_an_empty_list_in_the_job_grants_no_tools() -> None:
    assert (of("tools: Read", allowed_tools=[]).tools, of("tools: Read", allowed_tools="").tools) == ((), ())


def test_the_jobs_tools_may_be_text_as_in_a_definition() -> None:
    assert of("", allowed_tools="read, Bash(git log:*)").tools == ("Read", "Bash(git log:*)")


@pytest.mark.parametrize(
    ("system", "text"), [("\r\n\r\n a\r\n\r\nb \r\n\t\r\n", " a\n\nb "), ("a\rb", "a\nb"), (" \n", "")]
)
def test_the_system_prompt_has_lf_line_ends_and_no_blank_lines_around_it(system: str, text: str) -> None:
    assert of("", system=system).system == text


def test_a_body_with_crlf_is_sent_with_lf_and_has_the_digest_of_one_with_lf() -> None:
    unix = "---\nname: a\n---\n\n  indented\n\nend\n\n"
    made = [resolve({"subagent_def": "a"}, registry=registry(text)) for text in (unix, unix.replace("\n", "\r\n"))]
    assert made[0].system == "  indented\n\nend"
    assert made[0] == made[1]
    assert made[0].digest == made[1].digest


# models


@pytest.mark.parametrize("name", ["haiku", "sonnet", "opus", "Opus"])
def test_short_names_of_models_are_looked_up_in_the_table(name: str) -> None:
    made = of(f"model: {name}")
    assert (made.model, made.model_from) == (TABLE[name.lower()], "definition")


def test_inherit_means_that_the_next_source_in_order_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of("model: inherit").model_from == "default"
    assert of("model: opus", model="inherit").model == TABLE["opus"]
    monkeypatch.setenv("REMIT_MODEL", "haiku")
    made = of("model: inherit")
    assert (made.model, made.model_from) == (TABLE["haiku"], "configuration")


def test_the_models_table_of_the_configuration_adds_names_and_changes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_CONFIG", "remit.toml")
    Path("remit.toml").write_text(
        '[models]\nsonnet = "bedrock:claude-x"\nfast = "groq:llama"\ninherit = "openai:gpt-5"\n'
    )
    assert of("model: sonnet").model == of("").model == "bedrock:claude-x"
    assert of("model: fast").model == "groq:llama"
    assert of("model: inherit").model == "openai:gpt-5"
    assert of("model: opus").model == TABLE["opus"]


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("claude-opus-4", "anthropic:claude-opus-4"),
        ("gpt-5", "openai:gpt-5"),
        ("openrouter:x/y", "openrouter:x/y"),
        ("llama", "llama"),
    ],
)
def test_another_model_is_given_its_maker_where_that_can_be_known(name: str, full: str) -> None:
    assert of("", model=name).model == full


# how to answer


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", KINDS)
def test_kind_and_profile_decide_the_part_on_how_to_answer(kind: str, profile: str) -> None:
    made = of(f"kind: {kind}\nprofile: {profile}")
    assert (made.kind, made.profile, made.contract) == (kind, profile, instructions(kind, profile, agent="one"))
    other = of("", kind=kind, profile=profile)
    assert other.contract == made.contract


def test_the_kind_is_the_jobs_then_the_definitions_then_the_names_then_generic() -> None:
    team = registry("---\nname: QA Engineer\n---\nb", "---\nname: qa-engineer-2\nkind: design\n---\nb")
    assert resolve({"subagent_def": "qa-engineer"}, registry=team).kind == "review"
    assert resolve({"subagent_def": "qa-engineer-2"}, registry=team).kind == "design"
    assert resolve({"subagent_def": "qa-engineer-2", "kind": "document"}, registry=team).kind == "document"
    assert of("").kind == "generic"


def test_the_configuration_may_give_an_agent_its_kind_and_every_job_its_profile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("remit.toml").write_text('profile = "v1"\n[agents.kinds]\none = "review"\n')
    made = of("")
    assert (made.kind, made.profile, made.contract) == ("review", "v1", instructions("review", "v1", agent="one"))
    assert of("profile: v1").profile == "v1"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('profile = "v3"', "profile: there is no 'v3'"),
        ('[agents.kinds]\none = "reviw"', "agents.kinds: there is no 'reviw', did you mean 'review'?"),
        ("max_turns = 0", "max_turns must be from 1 to"),
        ('policy = "strickt"', "there is no policy 'strickt', did you mean 'strict'?"),
    ],
)
def test_a_setting_that_no_brief_can_be_made_with_is_refused_by_its_name(
    line: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_CONFIG", "remit.toml")
    Path("remit.toml").write_text(line + "\n")
    with pytest.raises(UsageError, match="^" + words.replace("?", r"\?").replace(".", r"\.")):
        of("")


def test_a_faulty_setting_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_PROFILE", "v3")
    with pytest.raises(ConfigurationError):
        of("")


# the allow-list


def test_a_tool_that_this_worker_does_not_offer_is_withheld_and_named() -> None:
    made = of("tools: Read, WebSearch, Raed")
    assert (made.tools, set(made.withheld)) == (("Read",), {"WebSearch", "Raed"})
    told = "\n".join(made.warnings)
    assert "the tool 'WebSearch' is not allowed by this worker" in told
    assert "'Raed', did you mean 'Read'?" in told


def test_a_tool_of_the_job_outside_the_allow_list_is_dropped_with_a_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = of("", allowed_tools=["Read", "Bash", "Grpe"], allow_tools=["Read", "Grep"])
    assert (made.tools, made.withheld) == (("Read",), ("Bash", "Grpe"))
    assert capsys.readouterr().err.splitlines() == [
        "[resolve] the tool 'Bash' is not allowed by this worker; it is withheld",
        "[resolve] the tool 'Grpe' is unknown, did you mean 'Grep'? It is withheld",
    ]


def test_a_worker_may_offer_further_tools_and_a_definition_may_list_them() -> None:
    team = registry("---\nname: a\ntools: Read, brain_search\n---\nb")
    assert resolve({"subagent_def": "a"}, registry=team).tools == ("Read",)
    made = resolve({"allowed_tools": ["brain_search"]}, allow_tools=["brain_search"])
    assert (made.tools, made.warnings) == (("brain_search",), ())


def test_disallowed_tools_are_taken_from_the_list_or_from_everything() -> None:
    assert of("tools: Read, Bash, Edit\ndisallowedTools: Bash, Edit").tools == ("Read",)
    assert "Write" not in of("disallowedTools: [Write]").tools
    assert of("disallowedTools: [Write]").tools_from == "definition"
    assert of("disallowedTools: '*'").tools == ()


def test_a_disallowed_server_takes_its_tools_away_and_a_disallowed_part_the_whole() -> None:
    offered = ["Read", "Bash", "mcp__git__log", "mcp__hub"]
    assert of("disallowedTools: mcp__git, mcp__hub__delete", allow_tools=offered).tools == ("Read", "Bash")
    assert of("disallowedTools: mcp__git__*, Bash(rm:*)", allow_tools=offered).tools == ("Read", "mcp__hub")


def test_a_pattern_is_never_widened() -> None:
    assert of("tools: Bash", allow_tools=["Bash(git:*)"]).tools == ("Bash(git:*)",)
    assert of("tools: Bash(npm:*)", allow_tools=["Bash(git:*)"]).tools == ()
    assert of("tools: Bash(git:*)", allow_tools=["Bash"]).tools == ("Bash(git:*)",)


def test_a_server_and_all_of_its_tools_are_one() -> None:
    for offered in ("mcp__hub", "mcp__hub__*"):
        for asked in ("mcp__hub", "mcp__hub__*", "mcp__hub__list"):
            assert of(f"tools: [{asked!r}]", allow_tools=[offered]).tools == (asked,)
        assert of("tools: mcp__other__x", allow_tools=[offered]).tools == ()
        assert of("tools: mcp__hub2__x", allow_tools=[offered]).tools == ()


def test_the_servers_of_a_brief_are_those_that_a_source_names() -> None:
    offered = ["Read", "mcp__hub", "mcp__docs"]
    assert of("tools: Read, mcp__hub__list", allow_tools=offered).mcp_servers == ("hub",)
    assert of("tools: mcp__hub\nmcpServers: docs, hub", allow_tools=offered).mcp_servers == ("docs", "hub")
    assert of("", allow_tools=offered).mcp_servers == (), "allowed is not asked for"
    assert of("mcpServers: docs", allow_tools=offered).mcp_servers == ("docs",)
    assert of("tools: Read", allow_tools=offered, allowed_tools=["mcp__docs__x"]).mcp_servers == ("docs",)
    assert of("tools: mcp__hub__list", allow_tools=["Read"]).mcp_servers == ()
    idle = of("tools: Read\nmcpServers: docs", allow_tools=offered)
    assert "no tool of the MCP server 'docs' is granted; add 'mcp__docs' to the list of tools" in idle.warnings
    assert not [one for one in of("tools: mcp__docs\nmcpServers: docs", allow_tools=offered).warnings if "MCP" in one]


def test_the_allow_list_may_be_given_as_text() -> None:
    assert of("", allow_tools="Read, Bash(git:*)").tools == ("Read", "Bash(git:*)")


def test_every_tool_in_the_allow_list_is_every_tool_that_a_worker_has() -> None:
    asked = {"allowed_tools": list(OFFERED)}
    assert of("", allow_tools=["*"], **asked).tools == of("", allow_tools="all", **asked).tools == OFFERED
    assert of("", allow_tools=["*", "brain_search"]).tools == (*UNASKED, "brain_search")
    assert of("", allow_tools=["", " "]).tools == ()


@pytest.mark.parametrize("head", ["", "tools:", "tools: '*'", "disallowedTools: Edit", "tools: {edit: false}"])
def test_bash_is_granted_only_if_it_is_named(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for offered in (None, ["*"], ["all", "brain_search"]):
        assert "Read" in of(head, allow_tools=offered).tools
        assert "Bash" not in of(head, allow_tools=offered).tools
    assert "Bash" not in resolve({"prompt": "go", "subagent_def": "no such one"}, registry=registry()).tools
    for named in (["Read", "Bash"], ["*", "bash"], ["Read", "Shell"]):
        assert "Bash" in of(head, allow_tools=named).tools, "the worker's own list names it"
    only = of(head, allow_tools=["*", "Bash(git log:*)"]).tools
    assert [name for name in only if name.startswith("Bash")] == ["Bash(git log:*)"], "no more than is named"
    monkeypatch.setenv("REMIT_ALLOW_TOOLS", "Read,Bash")
    assert of(head).tools == ("Read", "Bash")


def test_who_names_bash_gets_it_where_the_worker_has_it() -> None:
    assert of("tools: Read, Bash").tools == ("Read", "Bash")
    assert of("tools: {bash: true}").tools == ("Bash",)
    assert of("", allowed_tools=["Bash"]).tools == ("Bash",)
    assert of("disallowedTools: Edit", allowed_tools=["Bash"]).tools == ("Bash",)
    assert of("tools: Bash", allow_tools=["Read"]).tools == ()


def test_an_empty_allow_list_grants_nothing() -> None:
    made = of("tools: Read", allow_tools=[], allowed_tools=["Read"])
    assert (made.tools, made.withheld) == ((), ("Read",))


_TOOLS = st.sampled_from(
    [
        *CATALOGUE,
        *ALIASES,
        *("read", "web_fetch", "Bash(git:*)", "Bash(npm test)", "bash(git:*)", "Read(src/**)", "mcp__a", "mcp__a__*"),
        *("mcp__a__b", "mcp__b__c", "brain_search", "Raed", "*", "all", "no such tool", "", " ", "(", "a\x1b[1m", "é"),
    ]
)
_NAMES = st.lists(_TOOLS, max_size=6)


def _covers(whole: AllowList, tool: str) -> bool:
    read = find_tool(tool, whole.own)
    return read is not None and whole.granted(read) == (read,)


@given(
    listed=st.none() | _NAMES,
    second=st.none() | _NAMES,
    denied=st.none() | _NAMES,
    asked=st.none() | _NAMES,
    offered=_NAMES,
    policy=st.sampled_from(["open", "strict"]),
)
@example(listed=["Bash"], second=None, denied=None, asked=["Bash(git:*)"], offered=["Bash(npm test)"], policy="open")
@example(listed=None, second=None, denied=None, asked=[" "], offered=[""], policy="open")
@example(listed=["mcp__a"], second=None, denied=["mcp__a__b"], asked=None, offered=["mcp__a"], policy="open")
def test_nothing_ever_exceeds_the_allow_list(
    listed: list[str] | None,
    second: list[str] | None,
    denied: list[str] | None,
    asked: list[str] | None,
    offered: list[str],
    policy: str,
) -> None:
    fields = {"name": "a", "body": "b", "tools": listed, "allowed-tools": second, "disallowedTools": denied}
    team = registry({name: value for name, value in fields.items() if value is not None})
    job = {"subagent_def": "a", "allowed_tools": asked}
    try:
        made = resolve(job, registry=team, policy=policy, allow_tools=offered)
    except RequestRefused:
        assert policy == "strict"
        return
    allowed = AllowList(offered)
    assert all(_covers(allowed, tool) for tool in made.tools)
    assert not set(made.tools) & set(made.withheld)
    definition = team.get("a")
    assert definition is not None
    bounded_by_definition = policy == "strict" or asked is None
    if bounded_by_definition and definition.tools is not None:
        assert all(_covers(AllowList(definition.tools), tool) for tool in made.tools)
    if bounded_by_definition and definition.denied:
        named = [tool.name for tool in (find_tool(one, allowed.own) for one in definition.denied) if tool]
        assert not any(_covers(AllowList(named), tool) for tool in made.tools)
    if asked is not None:
        assert all(_covers(AllowList(asked), tool) for tool in made.tools)
        assert made.tools_from == "job"


# the policies


@pytest.mark.parametrize(
    ("head", "job", "words"),
    [
        ("", {"subagent_def": "on"}, "there is no definition 'on'"),
        ("", {"allowed_tools": ["Read", "Grpe"]}, "the tool 'Grpe' is unknown, did you mean 'Grep'?"),
        ("", {"allowed_tools": ["WebFetch"]}, "the tool 'WebFetch' is not allowed by this worker"),
        ("tools: Read, Grpe", {}, "the tool 'Grpe' is unknown"),
        ("tools: Read, Grpe", {"allowed_tools": ["Read"]}, "the tool 'Grpe' is unknown"),
        ("tools: WebFetch", {}, "the tool 'WebFetch' is not allowed by this worker"),
        ("", {"alowed_tools": ["Read"]}, "a job has no field 'alowed_tools', did you mean 'allowed_tools'?"),
        ("input_vars: topic", {}, "the variable 'topic' has no value"),
    ],
)
def test_strict_refuses_what_open_warns_of(
    head: str, job: dict[str, Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RequestRefused) as refused:
        of(head, "About {{topic}}.", policy="strict", **job)
    assert words in str(refused.value)
    assert refused.value.exit_code == 2
    made = of(head, "About {{topic}}.", policy="open", **job)
    [what] = re.findall(r"'[^']+'", words)[:1]
    assert what in capsys.readouterr().err
    assert made.system.startswith(("About", "You are a subagent"))


def test_open_prints_every_warning_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    made = of("tools: Read, Grpe\ncolour_: red\ntool: x", "Body.", modle="x", allowed_tools=["Nothing"])
    assert len(made.warnings) == 4
    assert capsys.readouterr().err == "".join(f"[resolve] {words}\n" for words in made.warnings)


def test_strict_names_every_reason_at_once() -> None:
    with pytest.raises(RequestRefused) as refused:
        resolve({"subagent_def": "x", "allowed_tools": ["Nope", "WebFetch"]}, registry=registry(), policy="strict")
    assert all(f"'{name}'" in str(refused.value) for name in ("x", "Nope", "WebFetch"))


def test_strict_grants_what_job_definition_and_worker_agree_on() -> None:
    made = of("tools: Read, Grep, Bash(git:*)", allowed_tools=["Bash", "Read", "LS"], policy="strict")
    assert made.tools == ("Bash(git:*)", "Read")
    assert made.withheld == ("LS",)
    assert of("", allowed_tools=["LS"], policy="strict").tools == ("LS",)
    assert of("tools: []", allowed_tools=["LS"], policy="strict").tools == ()


def test_strict_takes_disallowed_tools_from_the_jobs_too() -> None:
    assert of("disallowedTools: Bash", allowed_tools=["Bash", "Read"], policy="strict").tools == ("Read",)
    assert of("disallowedTools: Bash", allowed_tools=["Bash", "Read"], policy="open").tools == ("Bash", "Read")


def test_the_policy_of_the_configuration_holds_where_the_caller_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_POLICY", "strict")
    with pytest.raises(RequestRefused):
        resolve({"subagent_def": "x"}, registry=registry())
    assert resolve({"subagent_def": "x"}, registry=registry(), policy="open").definition is None


def test_an_unknown_policy_is_named() -> None:
    with pytest.raises(UsageError, match="there is no policy 'opne', did you mean 'open'"):
        resolve({}, registry=registry(), policy="opne")


@given(name=st.text(alphabet=st.characters(), max_size=200))
@example(name="")
@example(name=":")
@example(name="a:b:c")
@example(name="x" * 100_000)
@example(name="../../etc/passwd")
@example(name="\x1b]0;title\x07")
@example(name="\ud800")
def test_under_open_no_name_of_a_definition_can_make_a_job_fail(name: str) -> None:
    made = resolve({"subagent_def": name, "prompt": name, "system": name}, registry=registry("---\nname: a\n---\nb"))
    assert made.system_from == "job"
    assert made.digest.startswith("sha256:")
    assert all(words.isprintable() for words in made.warnings)


# requests


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"max_turns": 0}, "max_turns must be from 1 to 10000, not 0"),
        ({"max_turns": 10_001}, "max_turns must be from 1 to 10000"),
        ({"max_turns": "5"}, "invalid fields of a job: "),
        ({"system": 5}, "invalid fields of a job: "),
        ({"allowed_tools": [1]}, "invalid fields of a job: "),
        ({"kind": "reviw"}, "there is no kind 'reviw', did you mean 'review'"),
        ({"profile": "v9"}, "there is no profile 'v9'"),
        ({"runner": "modle"}, "there is no runner 'modle', did you mean 'model'"),
        ({"limits": {"tokens": -1}}, "limits: tokens must be greater than 0 and less than 1,000,000,000,000, not -1"),
        ({"limits": {"seconds": 0}}, "limits: seconds must be greater than 0"),
        ({"limits": {"cost": float("nan")}}, "limits: cost must be greater than 0"),
        ({"limits": {"token": 1}}, "invalid fields of a job: "),
    ],
)
@pytest.mark.parametrize("policy", ["open", "strict"])
def test_a_value_that_makes_no_sense_is_refused_under_either_policy(
    job: dict[str, Any], words: str, policy: str
) -> None:
    with pytest.raises(UsageError) as refused:
        resolve(job, registry=registry(), policy=policy)
    assert words in str(refused.value)


def test_a_request_may_be_a_job_request_or_a_mapping_alike() -> None:
    team = registry("---\nname: a\ntools: Read\n---\nb")
    job = {"prompt": "p", "subagent_def": "a", "max_turns": 3}
    assert resolve(JobRequest(**job), registry=team) == resolve(job, registry=team)


# the brief


def test_a_brief_as_json_has_the_fixed_keys_and_keeps_the_printed_schema() -> None:
    schema = schema_of(Brief)
    for made in (of("tools: Read, Nope\nbudget: {cost: 1}"), resolve({}, registry=registry())):
        data = msgspec.json.decode(msgspec.json.encode(made))
        assert set(KEYS) <= set(data)
        assert data["schema"] == "remit.brief/1"
        assert data["definition"] is None or list(data["definition"]) == ["name", "plugin", "digest"]
        jsonschema.validate(data, schema)
    assert set(KEYS) <= set(schema["$defs"]["Brief"]["properties"])


def test_equal_briefs_have_one_digest_with_any_warnings() -> None:
    made = of("tools: Read")
    assert made.digest == of("tools: Read").digest
    assert made.digest == msgspec.structs.replace(made, warnings=("anything",)).digest
    assert made.digest == of("tools: Read", strange_field=1).digest
    assert made.digest == msgspec.json.decode(msgspec.json.encode(made), type=type(made)).digest


@pytest.mark.parametrize("field", [name for name in of("").__struct_fields__ if name not in ("warnings", "schema")])
def test_briefs_that_differ_in_anything_but_warnings_have_different_digests(field: str) -> None:
    made = of("tools: Read")
    value = getattr(made, field)
    other = {
        "limits": msgspec.structs.replace(made.limits, tokens=1),
        "limits_from": {**made.limits_from, "tokens": "job"},
        "definition": None,
        "max_turns": 29,
        "tools": ("Read", "LS"),
        "withheld": ("x",),
    }
    changed = msgspec.structs.replace(made, **{field: other.get(field, f"{value}!")})
    assert changed.digest != made.digest


def test_a_brief_carries_the_name_plugin_and_digest_of_its_definition_and_not_the_task() -> None:
    team = registry("---\nname: Code Scout\n---\nbody")
    made = resolve({"subagent_def": "code-scout", "prompt": "secret task"}, registry=team)
    definition = team.get("code-scout")
    assert definition is not None
    assert made.definition is not None
    assert msgspec.structs.astuple(made.definition) == ("Code Scout", "testing", definition.digest)
    assert b"secret task" not in msgspec.json.encode(made)


def test_text_that_no_json_can_hold_is_replaced_so_that_the_brief_can_be_stored() -> None:
    made = of("", system="a\ud800b", model="\ud800", allowed_tools=["\ud800"])
    assert (made.system, made.model, made.withheld) == ("a?b", "?", ("?",))
    assert msgspec.json.encode(made)
