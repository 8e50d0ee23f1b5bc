"""OpenAI's protocols: POST /v1/responses and POST /v1/chat/completions."""

from __future__ import annotations

import itertools
import json

from support.wire import Call, Fault, Json, Reply, frame, pieces, plain

_CREATED = 1_700_000_000
_SYSTEM = ("system", "developer")
_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {
    401: "invalid_api_key",
    404: "model_not_found",
    429: "rate_limit_exceeded",
    500: "server_error",
    503: "server_is_overloaded",
    529: "server_is_overloaded",
}
_CHAT_STOPS = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "stop"}
#: A message between agents of Codex: the task of a subagent, or its answer.
_TASK = "agent_message"
_INCOMPLETE = {"max_tokens": "max_output_tokens", "content_filter": "content_filter"}


class Chat:
    """The chat completions endpoint."""

    def opening(self, body: Json) -> tuple[str, str]:
        return _opening(body.get("messages", []))

    def turn(self, body: Json) -> int:
        return sum(message.get("role") == "assistant" for message in body.get("messages", []))

    def answer(self, reply: Reply) -> Json:
        refused = reply.stop == "refusal"
        message: Json = {
            "role": "assistant",
            "content": None if refused else reply.text or None,
            "refusal": reply.text or "refused" if refused else None,
        }
        if reply.calls:
            message["tool_calls"] = [_chat_call(call) for call in reply.calls]
        choice = {"index": 0, "message": message, "finish_reason": _chat_stop(reply), "logprobs": None}
        return {**_chat_head(reply, "chat.completion"), "choices": [choice], "usage": _chat_usage(reply)}

    def events(self, reply: Reply) -> list[bytes]:
        said = "refusal" if reply.stop == "refusal" else "content"
        text = reply.text or ("refused" if reply.stop == "refusal" else "")
        deltas: list[Json] = [{"role": "assistant", "content": ""}]
        deltas += [{said: piece} for piece in pieces(text, reply.chunks) if piece]
        for index, call in enumerate(reply.calls):
            deltas.append({"tool_calls": [{"index": index, **_chat_call(call, arguments="")}]})
            deltas += [
                {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
                for piece in pieces(call.arguments, reply.chunks)
            ]
        head = _chat_head(reply, "chat.completion.chunk")
        choices: list[Json] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        choices.append({"index": 0, "delta": {}, "finish_reason": _chat_stop(reply)})
        found = [frame({**head, "choices": [choice]}) for choice in choices]
        return [*found, frame({**head, "choices": [], "usage": _chat_usage(reply)}), b"data: [DONE]\n\n"]

    def error(self, fault: Fault) -> Json:
        return _error(fault)

    def error_event(self, fault: Fault) -> bytes:
        return frame(_error(fault))


class Responses:
    """The responses endpoint, which pydantic-ai's `openai:` models use."""

    def opening(self, body: Json) -> tuple[str, str]:
        """Return the system prompt, and all user messages before the first answer: a client adds more."""
        items = _items(body)
        system, _ = _opening(items)
        first = itertools.takewhile(lambda item: item.get("role") != "assistant" and not _is_call(item), items)
        users = [_asked(item) for item in first if item.get("role") == "user" or item.get("type") == _TASK]
        return "\n".join(filter(None, (plain(body.get("instructions")), system))), "\n".join(users)

    def turn(self, body: Json) -> int:
        """Count consecutive items of the model as one turn."""
        said = [item.get("role") == "assistant" or _is_call(item) for item in _items(body)]
        return sum(ours for ours, _ in itertools.groupby(said))

    def answer(self, reply: Reply) -> Json:
        incomplete = _INCOMPLETE.get(reply.stop)
        return {
            **_response_head(reply),
            "status": "incomplete" if incomplete else "completed",
            "incomplete_details": {"reason": incomplete} if incomplete else None,
            "output": [item for item, _, _ in _output(reply)],
            "usage": _response_usage(reply),
        }

    def events(self, reply: Reply) -> list[bytes]:
        begun = {**_response_head(reply), "status": "in_progress", "output": [], "usage": None}
        found: list[Json] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
        ]
        for index, (item, empty, inner) in enumerate(_output(reply)):
            place = {"output_index": index}
            found.append({"type": "response.output_item.added", **place, "item": empty})
            found += [{**event, **place, "item_id": item["id"]} for event in inner]
            found.append({"type": "response.output_item.done", **place, "item": item})
        whole = self.answer(reply)
        found.append({"type": f"response.{whole['status']}", "response": whole})
        return [frame({**event, "sequence_number": at}, event["type"]) for at, event in enumerate(found)]

    def error(self, fault: Fault) -> Json:
        return _error(fault)

    def error_event(self, fault: Fault) -> bytes:
        error = _error(fault)["error"]
        return frame({"type": "error", **{key: error[key] for key in ("code", "message", "param")}}, "error")


def _opening(messages: list[Json]) -> tuple[str, str]:
    system = [plain(message.get("content")) for message in messages if message.get("role") in _SYSTEM]
    users = (message for message in messages if message.get("role") == "user")
    return "\n".join(system), plain(next(users, {}).get("content"))


def _error(fault: Fault) -> Json:
    default = "invalid_request_error" if fault.status < 500 else "server_error"
    kind = fault.kind or _KINDS.get(fault.status, default)
    code = fault.code or _CODES.get(fault.status)
    return {"error": {"message": fault.message, "type": kind, "param": None, "code": code}}


def _chat_head(reply: Reply, kind: str) -> Json:
    return {"id": f"chatcmpl-{reply.id}", "object": kind, "created": _CREATED, "model": reply.model}


def _chat_stop(reply: Reply) -> str:
    return _CHAT_STOPS.get(reply.stop, reply.stop)


def _chat_call(call: Call, *, arguments: str | None = None) -> Json:
    text = call.arguments if arguments is None else arguments
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text}}


def _chat_usage(reply: Reply) -> Json:
    usage = reply.usage
    return {
        "prompt_tokens": usage.whole_input,
        "completion_tokens": usage.output,
        "total_tokens": usage.whole_input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
    }


def _asked(item: Json) -> str:
    """Return the text of a user's message, or of a task from another agent, which the client passes on unread."""
    blocks = item.get("content")
    tasks = (
        [str(one["encrypted_content"]) for one in blocks if "encrypted_content" in one]
        if item.get("type") == _TASK and isinstance(blocks, list)
        else []
    )
    return "\n".join([plain(blocks), *tasks])


def _items(body: Json) -> list[Json]:
    given = body.get("input", [])
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _is_call(item: Json) -> bool:
    return item.get("type") == "reasoning" or str(item.get("type", "")).endswith("_call")


def _response_head(reply: Reply) -> Json:
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": _CREATED,
        "model": reply.model,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _response_usage(reply: Reply) -> Json:
    usage = reply.usage
    return {
        "input_tokens": usage.whole_input,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.whole_input + usage.output,
    }


def _output(reply: Reply) -> list[tuple[Json, Json, list[Json]]]:
    """Return each item of the output: complete, at its start, and the events between."""
    found = [_message_item(reply)] if reply.text or reply.stop == "refusal" else []
    return found + [_call_item(call, reply.chunks) for call in reply.calls]


def _message_item(reply: Reply) -> tuple[Json, Json, list[Json]]:
    refused = reply.stop == "refusal"
    name, key, text = (
        ("refusal", "refusal", reply.text or "refused") if refused else ("output_text", "text", reply.text)
    )
    logs: Json = {} if refused else {"logprobs": []}
    extra: Json = {} if refused else {"annotations": [], **logs}
    base = {"id": f"msg_{reply.id}", "type": "message", "role": "assistant"}
    part: Json = {"type": name, key: text, **extra}
    inner: list[Json] = [{"type": "response.content_part.added", "part": {**part, key: ""}}]
    inner += [{"type": f"response.{name}.delta", "delta": piece, **logs} for piece in pieces(text, reply.chunks)]
    inner.append({"type": f"response.{name}.done", key: text, **logs})
    inner.append({"type": "response.content_part.done", "part": part})
    done: Json = {**base, "status": "completed", "content": [part]}
    return done, {**base, "status": "in_progress", "content": []}, [{**event, "content_index": 0} for event in inner]


def _call_item(call: Call, chunks: int) -> tuple[Json, Json, list[Json]]:
    if call.name == "tool_search":  # its arguments are an object, and it has no events between
        search: Json = {"id": f"tsc_{call.id}", "type": "tool_search_call", "call_id": call.id, "execution": "client"}
        whole: Json = {**search, "status": "completed", "arguments": json.loads(call.arguments)}
        return whole, {**search, "status": "in_progress", "arguments": {}}, []
    if call.is_custom:  # free text instead of JSON arguments
        item: Json = {"id": f"ctc_{call.id}", "type": "custom_tool_call", "call_id": call.id, "name": call.name}
        kind = "response.custom_tool_call_input"
        given: list[Json] = [{"type": f"{kind}.delta", "delta": piece} for piece in pieces(call.arguments, chunks)]
        given.append({"type": f"{kind}.done", "input": call.arguments})
        return {**item, "status": "completed", "input": call.arguments}, {**item, "input": ""}, given
    base = {"id": f"fc_{call.id}", "type": "function_call", "call_id": call.id, "name": call.name}
    if call.namespace:
        base["namespace"] = call.namespace
    kind = "response.function_call_arguments"
    inner: list[Json] = [{"type": f"{kind}.delta", "delta": piece} for piece in pieces(call.arguments, chunks)]
    inner.append({"type": f"{kind}.done", "arguments": call.arguments})
    done: Json = {**base, "status": "completed", "arguments": call.arguments}
    return done, {**base, "status": "in_progress", "arguments": ""}, inner
