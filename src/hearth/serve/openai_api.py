"""Answers programs that speak OpenAI's protocol: Hearth as a model that knows its owner's things and may act.

`GET /v1/models`, `POST /v1/chat/completions`, whole or in a stream. The last message of the user is the request; the
conversation is the home's own, so that "the second one" means what was said before here. What would change something
asks on the page, where the program may ask for changes at all.

Covered: the two calls with texts, streams, usage, errors in the protocol's form. Not covered: tools of the caller,
pictures, sampling: such fields are taken and have no effect; `/v1/responses`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from hearth.errors import HearthError
from hearth.serve.desk import Caller, Desk
from hearth.serve.door import Client
from hearth.types import Episode

MODEL = "hearth"
_CHUNK = 40
"""Characters of a piece of a streamed answer."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: str
    text: str = ""


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[str, Field(max_length=200_000)] | list[_Part] | None = None

    @property
    def text(self) -> str:
        """The words of the message."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type in ("text", "input_text"))
        return self.content or ""


class _StreamOptions(BaseModel):
    model_config = ConfigDict(extra="ignore")
    include_usage: bool = False


class _Completion(BaseModel):
    model_config = ConfigDict(extra="ignore")
    model: str
    messages: list[_Message] = Field(min_length=1, max_length=1000)
    stream: bool = False
    stream_options: _StreamOptions | None = None


class OpenAi:
    """The protocol's routes over one desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[BaseRoute]:
        """Return the routes; the door before them has looked at the token."""
        return [
            Route("/v1/models", self.models),
            Route("/v1/models/{id}", self.model),
            Route("/v1/chat/completions", self.complete, methods=["POST"]),
        ]

    async def models(self, request: Request) -> Response:  # noqa: ARG002 - every route is handed the request
        """List the one model."""
        return JSONResponse({"object": "list", "data": [_described()]})

    async def model(self, request: Request) -> Response:
        """Describe a model."""
        if request.path_params["id"] != MODEL:
            return _error(404, f"the model {request.path_params['id']!r} is not here; {MODEL!r} is", "model_not_found")
        return JSONResponse(_described())

    async def complete(self, request: Request) -> Response:
        """Do what the last message of the user asks, and answer."""
        try:
            asked = _Completion.model_validate_json(await request.body())
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "the body"
            return _error(400, f"{place}: {first['msg']}", "invalid_value")
        if asked.model != MODEL:
            return _error(404, f"the model {asked.model!r} is not here; {MODEL!r} is", "model_not_found")
        text = next((m.text for m in reversed(asked.messages) if m.role == "user"), "")
        client: Client | None = request.scope.get("hearth.client")
        caller = Caller(client.name if client else "page", may_change=client is None or client.may_change)
        try:
            done = asyncio.wrap_future(self._desk.ask(text, caller))
        except HearthError as error:
            return _error(400, str(error), "invalid_value")
        if asked.stream:
            is_counted = asked.stream_options is not None and asked.stream_options.include_usage
            return StreamingResponse(_stream(done, text, is_counted), media_type="text/event-stream")
        try:
            episode = await done
        except HearthError as error:
            return _error(500, str(error), "server_error")
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": episode.answer.text, "refusal": None},
            "finish_reason": "stop",
            "logprobs": None,
        }
        head = _head(episode.id, "chat.completion")
        return JSONResponse({**head, "choices": [choice], "usage": _usage(text, episode.answer.text)})


async def _stream(done: asyncio.Future[Episode], text: str, is_counted: bool) -> AsyncIterator[str]:
    """Yield a comment now and then while it works, so that nobody hangs up, and the answer in pieces."""
    while not done.done():
        await asyncio.wait([done], timeout=5.0)
        if not done.done():
            yield ": working\n\n"
    try:
        episode = done.result()
    except HearthError as error:
        yield f"data: {json.dumps({'error': {'message': str(error), 'type': 'server_error'}})}\n\n"
        return
    head = _head(episode.id, "chat.completion.chunk")
    answer = episode.answer.text
    pieces = [answer[k : k + _CHUNK] for k in range(0, len(answer), _CHUNK)]
    deltas: list[tuple[dict[str, str], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": piece}, None) for piece in pieces] + [({}, "stop")]
    for delta, reason in deltas:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        yield f"data: {json.dumps({**head, 'choices': [choice]})}\n\n"
    if is_counted:
        yield f"data: {json.dumps({**head, 'choices': [], 'usage': _usage(text, answer)})}\n\n"
    yield "data: [DONE]\n\n"


def _head(id: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{id}", "object": kind, "created": int(time.time()), "model": MODEL}


def _described() -> dict[str, Any]:
    return {"id": MODEL, "object": "model", "created": 0, "owned_by": "this home"}


def _usage(asked: str, answered: str) -> dict[str, int]:
    """Words in the place of tokens: nothing here is counted in tokens, but clients want numbers."""
    n_in, n_out = len(asked.split()), len(answered.split())
    return {"prompt_tokens": n_in, "completion_tokens": n_out, "total_tokens": n_in + n_out}


def _error(status: int, message: str, code: str) -> JSONResponse:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)
