"""Builds answers in the form of OpenAI's `/v1/responses`: one document, or the events that lead to it.

Covered: text in, text out, functions of the caller, usage. Not covered: other kinds of tools, reasoning, responses
stored by id: each request brings what it goes on from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from hearth.serve.programs.client_tools import MOST_TOOLS, Call, Exchange, Function, Offer, ToolChoice, ToolTurn

CHUNK = 40
"""Characters of a piece of a streamed answer."""


class Part(BaseModel):
    """A part of a message; only texts are read."""

    model_config = ConfigDict(extra="ignore")
    type: str
    text: str = ""


Content = Annotated[str, Field(max_length=200_000)] | list[Part] | None


def words(content: Content) -> str:
    """Return the text of a message that is a text, or a list of parts."""
    if isinstance(content, list):
        return "\n".join(part.text for part in content if part.type in ("text", "input_text"))
    return content or ""


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: str = "message"
    role: str = ""
    content: Content = None
    output: Content = None


class _Tool(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: str
    name: str = Field(default="", max_length=64)
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Asked(BaseModel):
    """What a client of `/v1/responses` sends; fields that have no effect here are taken."""

    model_config = ConfigDict(extra="ignore")
    model: str
    input: Annotated[str, Field(max_length=200_000)] | Annotated[list[_Item], Field(max_length=1000)]
    stream: bool = False
    tools: list[_Tool] | None = Field(default=None, max_length=MOST_TOOLS)
    tool_choice: ToolChoice = None
    parallel_tool_calls: bool | None = None

    @property
    def request(self) -> str:
        """The last words of the user."""
        return self.exchange.text

    @property
    def exchange(self) -> Exchange:
        """What was said and done from the last words of the user on."""
        if isinstance(self.input, str):
            return Exchange(self.input)
        return Exchange.of([(_role(item), words(item.output or item.content)) for item in self.input])

    @property
    def offer(self) -> Offer:
        """The caller's functions. Raises: RequestError."""
        tools = [one for one in self.tools or () if one.type == "function" and one.name]
        functions = [Function(name=t.name, description=t.description, parameters=t.parameters) for t in tools]
        return Offer.of(functions, self.tool_choice, self.parallel_tool_calls)


def _role(item: _Item) -> str:
    return "tool" if item.type == "function_call_output" else item.role if item.type == "message" else ""


def document(id: str, model: str, created: int, turn: ToolTurn | None, n_words: tuple[int, int]) -> dict[str, Any]:
    """Return a response.

    Args:
        turn: The answer, or calls of the caller's functions; None while there is neither.
        n_words: Words asked and answered, which stand in for tokens.
    """
    n_in, n_out = n_words
    return {
        "id": f"resp_{id}",
        "object": "response",
        "created_at": created,
        "status": "in_progress" if turn is None else "completed",
        "model": model,
        "output": [] if turn is None else [_call(c) for c in turn.calls] or [_message(id, turn.text)],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "parallel_tool_calls": False,
        "previous_response_id": None,
        "temperature": None,
        "text": {"format": {"type": "text"}},
        "tool_choice": "none",
        "tools": [],
        "top_p": None,
        "truncation": "disabled",
        "usage": None
        if turn is None
        else {
            "input_tokens": n_in,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": n_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": n_in + n_out,
        },
    }


def opening(begun: dict[str, Any]) -> Iterator[str]:
    """Yield the events before the answer is known."""
    yield event(0, "response.created", {"response": begun})
    yield event(1, "response.in_progress", {"response": begun})


def closing(id: str, finished: dict[str, Any], turn: ToolTurn) -> Iterator[str]:
    """Yield the events of an answer or of calls, from the first piece to the whole document."""
    rest = [event for place, call in enumerate(turn.calls) for event in _calling(place, call)] or _saying(id, turn.text)
    rest.append(("response.completed", {"response": finished}))
    for number, (kind, data) in enumerate(rest, 2):
        yield event(number, kind, data)


_Events = list[tuple[str, dict[str, Any]]]


def _saying(id: str, text: str) -> _Events:
    place = {"item_id": f"msg_{id}", "output_index": 0, "content_index": 0}
    empty = {**_message(id, ""), "status": "in_progress", "content": []}
    pieces = [text[k : k + CHUNK] for k in range(0, len(text), CHUNK)]
    return [
        ("response.output_item.added", {"output_index": 0, "item": empty}),
        ("response.content_part.added", {**place, "part": _text("")}),
        *(("response.output_text.delta", {**place, "delta": piece, "logprobs": []}) for piece in pieces),
        ("response.output_text.done", {**place, "text": text, "logprobs": []}),
        ("response.content_part.done", {**place, "part": _text(text)}),
        ("response.output_item.done", {"output_index": 0, "item": _message(id, text)}),
    ]


def _calling(index: int, call: Call) -> _Events:
    item = _call(call)
    place = {"item_id": item["id"], "output_index": index}
    begun = {**item, "status": "in_progress", "arguments": ""}
    return [
        ("response.output_item.added", {"output_index": index, "item": begun}),
        ("response.function_call_arguments.delta", {**place, "delta": call.arguments}),
        ("response.function_call_arguments.done", {**place, "name": call.name, "arguments": call.arguments}),
        ("response.output_item.done", {"output_index": index, "item": item}),
    ]


def failure(begun: dict[str, Any], message: str) -> str:
    """Return the event that ends a response which could not be made."""
    failed = {**begun, "status": "failed", "error": {"code": "server_error", "message": message}}
    return event(2, "response.failed", {"response": failed})


def event(number: int, kind: str, data: dict[str, Any]) -> str:
    """Return a server-sent event."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': number, **data})}\n\n"


def _call(call: Call) -> dict[str, Any]:
    head = {"id": f"fc_{call.id}", "type": "function_call", "status": "completed", "call_id": call.id}
    return {**head, "name": call.name, "arguments": call.arguments}


def _message(id: str, text: str) -> dict[str, Any]:
    content = [_text(text)]
    return {"id": f"msg_{id}", "type": "message", "status": "completed", "role": "assistant", "content": content}


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
