"""Anthropic's protocol: POST /v1/messages."""

from __future__ import annotations

import json

from support.wire import Call, Fault, Json, Reply, frame, pieces, plain

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Messages:
    """The messages endpoint."""

    def opening(self, body: Json) -> tuple[str, str]:
        users = (plain(message["content"]) for message in body.get("messages", []) if message["role"] == "user")
        return plain(body.get("system")), next(users, "")

    def turn(self, body: Json) -> int:
        return sum(message.get("role") == "assistant" for message in body.get("messages", []))

    def answer(self, reply: Reply) -> Json:
        content: list[Json] = [{"type": "text", "text": reply.text}] if reply.text else []
        content += [{**_tool_use(call), "input": _arguments(call)} for call in reply.calls]
        return {**_message(reply), "content": content, **_end(reply), "usage": _usage(reply)}

    def events(self, reply: Reply) -> list[bytes]:
        start = {**_message(reply), "content": [], "stop_reason": None, "usage": {**_usage(reply), "output_tokens": 1}}
        found: list[Json] = [{"type": "message_start", "message": start}, {"type": "ping"}]
        blocks: list[tuple[Json, list[Json]]] = []
        if reply.text:
            deltas: list[Json] = [{"type": "text_delta", "text": piece} for piece in pieces(reply.text, reply.chunks)]
            blocks.append(({"type": "text", "text": ""}, deltas))
        for call in reply.calls:
            deltas = [
                {"type": "input_json_delta", "partial_json": piece} for piece in pieces(call.arguments, reply.chunks)
            ]
            blocks.append(({**_tool_use(call), "input": {}}, deltas))
        for index, (block, deltas) in enumerate(blocks):
            found.append({"type": "content_block_start", "index": index, "content_block": block})
            found += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            found.append({"type": "content_block_stop", "index": index})
        found.append({"type": "message_delta", "delta": _end(reply), "usage": _usage(reply)})
        found.append({"type": "message_stop"})
        return [frame(event, event["type"]) for event in found]

    def error(self, fault: Fault) -> Json:
        kind = fault.kind or _KINDS.get(fault.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": fault.message}, "request_id": "req_scripted"}

    def error_event(self, fault: Fault) -> bytes:
        return frame(self.error(fault), "error")


def _message(reply: Reply) -> Json:
    return {"id": f"msg_{reply.id}", "type": "message", "role": "assistant", "model": reply.model}


def _tool_use(call: Call) -> Json:
    return {"type": "tool_use", "id": call.id, "name": call.name}


def _arguments(call: Call) -> object:
    try:
        return json.loads(call.arguments)
    except ValueError:
        return call.arguments


def _end(reply: Reply) -> Json:
    end: Json = {"stop_reason": reply.stop, "stop_sequence": None}
    if reply.stop == "refusal":
        end["stop_details"] = {"type": "refusal", "category": None, "explanation": reply.text or None}
    return end


def _usage(reply: Reply) -> Json:
    return {
        "input_tokens": reply.usage.input,
        "output_tokens": reply.usage.output,
        "cache_read_input_tokens": reply.usage.cache_read,
        "cache_creation_input_tokens": reply.usage.cache_write,
    }
