"""Builds answers in the form of OpenAI's `/v1/responses`: one document, or the events that lead to it.

Covered: text in, text out, usage. Not covered: tools of the caller, reasoning, responses stored by id: each request
stands alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

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


class Asked(BaseModel):
    """What a client of `/v1/responses` sends; fields that have no effect here are taken."""

    model_config = ConfigDict(extra="ignore")
    model: str
    input: Annotated[str, Field(max_length=200_000)] | Annotated[list[_Item], Field(max_length=1000)]
    stream: bool = False

    @property
    def request(self) -> str:
        """The last words of the user."""
        if isinstance(self.input, str):
            return self.input
        said = (item for item in reversed(self.input) if item.type == "message" and item.role == "user")
        return next((words(item.content) for item in said), "")


def document(id: str, model: str, created: int, text: str | None, n_words: tuple[int, int]) -> dict[str, Any]:
    """Return a response.

    Args:
        text: The answer; None while there is none.
        n_words: Words asked and answered, which stand in for tokens.
    """
    item = [] if text is None else [_message(id, text)]
    n_in, n_out = n_words
    return {
        "id": f"resp_{id}",
        "object": "response",
        "created_at": created,
        "status": "in_progress" if text is None else "completed",
        "model": model,
        "output": item,
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
        if text is None
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


def closing(id: str, finished: dict[str, Any], text: str) -> Iterator[str]:
    """Yield the events of an answer, from its first piece to the whole document."""
    place = {"item_id": f"msg_{id}", "output_index": 0, "content_index": 0}
    empty = {**_message(id, ""), "status": "in_progress", "content": []}
    pieces = [text[k : k + CHUNK] for k in range(0, len(text), CHUNK)]
    rest: list[tuple[str, dict[str, Any]]] = [
        ("response.output_item.added", {"output_index": 0, "item": empty}),
        ("response.content_part.added", {**place, "part": _text("")}),
        *(("response.output_text.delta", {**place, "delta": piece, "logprobs": []}) for piece in pieces),
        ("response.output_text.done", {**place, "text": text, "logprobs": []}),
        ("response.content_part.done", {**place, "part": _text(text)}),
        ("response.output_item.done", {"output_index": 0, "item": _message(id, text)}),
        ("response.completed", {"response": finished}),
    ]
    for number, (kind, data) in enumerate(rest, 2):
        yield event(number, kind, data)


def failure(begun: dict[str, Any], message: str) -> str:
    """Return the event that ends a response which could not be made."""
    failed = {**begun, "status": "failed", "error": {"code": "server_error", "message": message}}
    return event(2, "response.failed", {"response": failed})


def event(number: int, kind: str, data: dict[str, Any]) -> str:
    """Return a server-sent event."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': number, **data})}\n\n"


def _message(id: str, text: str) -> dict[str, Any]:
    content = [_text(text)]
    return {"id": f"msg_{id}", "type": "message", "status": "completed", "role": "assistant", "content": content}


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
