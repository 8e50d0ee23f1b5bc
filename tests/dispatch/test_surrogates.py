"""Lone surrogates and NUL in the text of a model: the answer is kept, stored and sent back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from support.running import Play, both_providers, tools

from remit.dispatch.conversation import repair_surrogates
from remit.dispatch.event_writer import join_surrogates

pytest_plugins = ("support.running",)
FACE = "\N{GRINNING FACE}"
HIGH, LOW = "\ud83d", "\ude00"
LOST = "\N{REPLACEMENT CHARACTER}"
USED = {"input": 500, "output": 700}


@pytest.mark.anyio
@both_providers
async def test_a_surrogate_pair_in_two_chunks_is_joined(play: Play, model: str) -> None:
    said = f"ok {HIGH}{LOW} fine"
    async with play({"text": said, "chunks": len(said), "usage": USED}) as fleet:
        done = await fleet.run(model=model)
        told = "".join(event.data["text"] for event in await fleet.events(done.id) if event.kind == "text")
    assert (done.outcome, done.result, done.turns, done.output_tokens) == ("completed", f"ok {FACE} fine", 1, 700)
    assert told == f"ok {FACE} fine"


@pytest.mark.anyio
@both_providers
async def test_streamed_chunks_are_not_split_inside_a_character(
    play: Play, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.dispatch.event_writer._BATCH_CHARACTERS", 1)
    said = f"{HIGH}{LOW} " * 3
    async with play({"text": said, "chunks": len(said)}) as fleet:
        done = await fleet.run(model=model)
        told = [event.data["text"] for event in await fleet.events(done.id) if event.kind == "text"]
    assert told == [f"{FACE} "] * 3


@pytest.mark.anyio
@both_providers
async def test_an_answer_with_lone_surrogates_is_kept_and_the_conversation_continues(play: Play, model: str) -> None:
    turns = (tools(("Grep", {"pattern": f"a{HIGH}b\0c"}), text=f"one {LOW} two\0"), {"text": f"three {HIGH}"})
    async with play(*turns) as fleet:
        done = await fleet.run(model=model)
        [(arguments,)] = await fleet.rows("SELECT arguments FROM remit.tool_calls WHERE job = %s", done.id)
        sent = json.dumps(fleet.requests[-1].body, ensure_ascii=False)
        [(message,)] = await fleet.rows("SELECT message FROM remit.messages WHERE job = %s AND number = 1", done.id)
    assert (done.outcome, done.result, done.tool_calls) == ("completed", f"three {LOST}", 1)
    assert arguments == {"pattern": f"a{LOST}b{LOST}c"}
    assert f"one {LOST} two{LOST}" in sent
    assert f"one {LOST} two{LOST}" in [part.get("content") for part in message["parts"]]


@pytest.mark.anyio
@both_providers
async def test_a_tool_name_with_a_lone_surrogate_is_answered(play: Play, model: str) -> None:
    async with play(tools((f"Re{HIGH}ad", {"file_path": "a.py"})), {"text": "done"}) as fleet:
        done = await fleet.run(model=model)
    assert (done.outcome, done.result, done.turns) == ("completed", "done", 2)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r'{"a": "\ud83d\ude00"}', FACE),
        (r'{"a": "\uD83D\uDE00"}', FACE),
        (r'{"a": "\ud83d"}', LOST),
        (r'{"a": "\ude00\ud83d"}', LOST * 2),
        (r'{"a": "\ud83d\ud83d\ude00"}', LOST + FACE),
        (r'{"a": "\u0000"}', LOST),
        (r'{"a": "\\ud83d"}', r"\ud83d"),
        (r'{"a": "\\\ud83d"}', "\\" + LOST),
        (r'{"a": "\\\\u0000"}', r"\\u0000"),
        (f'{{"a": "{HIGH}{LOW} {LOW}"}}', f"{FACE} {LOST}"),
    ],
)
def test_escapes_in_arguments_keep_their_meaning_except_invalid_ones(written: str, meant: str) -> None:
    part = ToolCallPart("Read", written)
    repair_surrogates(ModelResponse(parts=[part]))
    assert part.args_as_dict() == {"a": meant}


def test_every_text_of_an_answer_can_be_stored() -> None:
    bad: dict[str, Any] = {f"key {LOW}": [f"{HIGH}{LOW}", {"deep": "\0"}, 1]}
    response = ModelResponse(
        parts=[
            TextPart(f"{HIGH}", provider_details=bad),
            ThinkingPart(f"hm {LOW}{HIGH}{LOW}", signature=f"s{HIGH}"),
            ToolCallPart(f"name{LOW}", {f"x{HIGH}": bad}, tool_call_id=f"id{LOW}"),
        ],
        model_name=f"m{HIGH}",
        provider_details=bad,
    )
    repair_surrogates(response)
    data = ModelMessagesTypeAdapter.dump_json([response])
    assert rb"\u0000" not in data
    thinking = response.parts[1]
    assert isinstance(thinking, ThinkingPart)
    assert thinking.content == f"hm {LOST}{FACE}"
    assert response.provider_details == {f"key {LOST}": [FACE, {"deep": LOST}, 1]}


def test_valid_text_stays_the_same_object() -> None:
    given = {"a": "plain", "b": ["é", FACE]}
    part = ToolCallPart("Read", given)
    repair_surrogates(ModelResponse(parts=[part]))
    assert part.args is given
    assert join_surrogates(f"{LOW}{HIGH}") == f"{LOW}{HIGH}"
