"""Answers programs that speak OpenAI's protocol: Hearth as a model that knows its owner's things and may act.

`GET /v1/models`, `POST /v1/chat/completions` and `POST /v1/responses`, whole or in a stream. The last message of the
user is the request and stands alone. What would change something asks on the page, where the program may ask for
changes at all.

Functions that the program brings are planned over first (`client_tools`); what fits none of them is Hearth's own
request.

Covered: the calls with texts, functions, streams, usage, errors in the protocol's form. Not covered: other kinds of
tools, pictures, sampling: such fields are taken and have no effect.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from hearth.errors import HearthError
from hearth.serve.desk import Caller, Desk
from hearth.serve.door import Client
from hearth.serve.programs.client_tools import (
    MOST_TOOLS,
    Call,
    ClientTools,
    Exchange,
    Function,
    Offer,
    ToolChoice,
    ToolTurn,
)
from hearth.types import Episode

# ── Answers as `/v1/responses` ─────────────────────────────────────────────────────────────────────────
# Builds answers in the form of OpenAI's `/v1/responses`: one document, or the events that lead to it.
# Covered: text in, text out, functions of the caller, usage. Not covered: other kinds of tools, reasoning, responses
# stored by id: each request brings what it goes on from.


CHUNK = 40
"""Characters of a piece of a streamed answer."""


class Part(BaseModel):
    """A part of a message; only texts are read."""

    type: str
    text: str = ""


Content = Annotated[str, Field(max_length=200_000)] | list[Part] | None


def words(content: Content) -> str:
    """Return the text of a message that is a text, or a list of parts."""
    if isinstance(content, list):
        return "\n".join(part.text for part in content if part.type in ("text", "input_text"))
    return content or ""


class _Item(BaseModel):
    type: str = "message"
    role: str = ""
    content: Content = None
    output: Content = None


class _OwnTool(BaseModel):
    type: str
    name: str = Field(default="", max_length=64)
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Asked(BaseModel):
    """What a client of `/v1/responses` sends; fields that have no effect here are taken."""

    model: str
    input: Annotated[str, Field(max_length=200_000)] | Annotated[list[_Item], Field(max_length=1000)]
    stream: bool = False
    tools: list[_OwnTool] | None = Field(default=None, max_length=MOST_TOOLS)
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
        "output": [] if turn is None else [_call(c) for c in turn.calls] or [_output_message(id, turn.text)],
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
    empty = {**_output_message(id, ""), "status": "in_progress", "content": []}
    pieces = [text[k : k + CHUNK] for k in range(0, len(text), CHUNK)]
    return [
        ("response.output_item.added", {"output_index": 0, "item": empty}),
        ("response.content_part.added", {**place, "part": _text("")}),
        *(("response.output_text.delta", {**place, "delta": piece, "logprobs": []}) for piece in pieces),
        ("response.output_text.done", {**place, "text": text, "logprobs": []}),
        ("response.content_part.done", {**place, "part": _text(text)}),
        ("response.output_item.done", {"output_index": 0, "item": _output_message(id, text)}),
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


def _output_message(id: str, text: str) -> dict[str, Any]:
    content = [_text(text)]
    return {"id": f"msg_{id}", "type": "message", "status": "completed", "role": "assistant", "content": content}


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


# ── The protocol ───────────────────────────────────────────────────────────────────────────────────────


MODEL = "hearth"
_WORKING_S = 5.0
"""How often a stream says that it lives, while a request runs or its question stands."""


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content = None


class _Tool(BaseModel):
    type: str
    function: Function | None = None


class _StreamOptions(BaseModel):
    include_usage: bool = False


class _Completion(BaseModel):
    model: str
    messages: list[_Message] = Field(min_length=1, max_length=1000)
    stream: bool = False
    stream_options: _StreamOptions | None = None
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
        return Exchange.of([(m.role, words(m.content)) for m in self.messages])

    @property
    def offer(self) -> Offer:
        """The caller's functions. Raises: RequestError."""
        functions = [one.function for one in self.tools or () if one.type == "function" and one.function]
        return Offer.of(functions, self.tool_choice, self.parallel_tool_calls)


_Asked = TypeVar("_Asked", _Completion, Asked)


@dataclass(frozen=True, slots=True)
class _Answered:
    """What goes back to the program, and its id."""

    id: str
    turn: ToolTurn


class _Refused(Exception):
    """Holds the answer to a request that cannot be taken."""

    def __init__(self, answer: JSONResponse) -> None:
        super().__init__()
        self.answer = answer


class OpenAi:
    """The protocol's routes over one desk."""

    def __init__(self, desk: Desk, client_tools: ClientTools) -> None:
        self._desk = desk
        self._client_tools = client_tools
        self._one_reads = asyncio.Lock()

    def routes(self) -> list[BaseRoute]:
        """Return the routes; the door before them has looked at the token."""
        return [
            Route("/v1/models", self.models),
            Route("/v1/models/{id}", self.model),
            Route("/v1/chat/completions", self.complete, methods=["POST"]),
            Route("/v1/responses", self.respond, methods=["POST"]),
        ]

    async def models(self, request: Request) -> Response:  # noqa: ARG002 - every route is handed the request
        """List the one model."""
        return JSONResponse({"object": "list", "data": [_described()]})

    async def model(self, request: Request) -> Response:
        """Describe a model."""
        if request.path_params["id"] != MODEL:
            return _unknown_model(request.path_params["id"])
        return JSONResponse(_described())

    async def complete(self, request: Request) -> Response:
        """Do what the last message of the user asks, and answer."""
        try:
            asked = _read(_Completion, await request.body())
            done = await self._begin(asked, request)
        except _Refused as refused:
            return refused.answer
        if asked.stream:
            is_counted = asked.stream_options is not None and asked.stream_options.include_usage
            return StreamingResponse(_chunks(done, asked.request, is_counted), media_type="text/event-stream")
        try:
            answered = await done
        except HearthError as error:
            return _error(503, str(error), "server_error")
        turn = answered.turn
        choice = {
            "index": 0,
            "message": _message(turn),
            "finish_reason": "tool_calls" if turn.calls else "stop",
            "logprobs": None,
        }
        head = _head(answered.id, "chat.completion")
        return JSONResponse({**head, "choices": [choice], "usage": _usage(asked.request, turn)})

    async def respond(self, request: Request) -> Response:
        """Do what the last words of the input ask, and answer as a response."""
        try:
            asked = _read(Asked, await request.body())
            done = await self._begin(asked, request)
        except _Refused as refused:
            return refused.answer
        if asked.stream:
            return StreamingResponse(_events(done, asked.request), media_type="text/event-stream")
        try:
            answered = await done
        except HearthError as error:
            return _error(503, str(error), "server_error")
        return JSONResponse(_response(answered.id, int(time.time()), asked.request, answered.turn))

    async def _begin(self, asked: _Completion | Asked, request: Request) -> asyncio.Future[_Answered]:
        """Plan over the program's functions, or put the request in line. Raises: _Refused."""
        if asked.model != MODEL:
            raise _Refused(_unknown_model(asked.model))
        client: Client | None = request.scope.get("hearth.client")
        caller = Caller(client.name if client else "page", may_change=client is None or client.may_change)
        try:
            turn = await self._over_clients_tools(asked)
            if turn is not None:
                return asyncio.ensure_future(_at_once(turn))
            return asyncio.ensure_future(_of_desk(self._desk.ask(asked.request, caller)))
        except HearthError as error:
            raise _Refused(_error(400, str(error), "invalid_value")) from None

    async def _over_clients_tools(self, asked: _Completion | Asked) -> ToolTurn | None:
        """Raises: RequestError."""
        exchange, offer = asked.exchange, asked.offer
        if not offer.functions and not exchange.results:
            return None
        async with self._one_reads:
            return await asyncio.to_thread(self._client_tools.turn, exchange, offer)


async def _at_once(turn: ToolTurn) -> _Answered:
    return _Answered(secrets.token_hex(8), turn)


async def _of_desk(asked: Future[Episode]) -> _Answered:
    """Raises: HearthError."""
    episode = await asyncio.wrap_future(asked)
    return _Answered(episode.id, ToolTurn(episode.answer.text))


def _read(kind: type[_Asked], body: bytes) -> _Asked:
    """Raises: _Refused: The body is not what the protocol says."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the body"
        raise _Refused(_error(400, f"{place}: {first['msg']}", "invalid_value")) from None


async def _until_done(done: asyncio.Future[_Answered]) -> AsyncIterator[str]:
    """Yield a comment now and then, so that nobody hangs up."""
    while not done.done():
        await asyncio.wait([done], timeout=_WORKING_S)
        if not done.done():
            yield ": working\n\n"


async def _chunks(done: asyncio.Future[_Answered], text: str, is_counted: bool) -> AsyncIterator[str]:
    """Yield a completion in pieces."""
    async for comment in _until_done(done):
        yield comment
    try:
        answered = done.result()
    except HearthError as error:
        yield f"data: {json.dumps({'error': {'message': str(error), 'type': 'server_error'}})}\n\n"
        return
    head = _head(answered.id, "chat.completion.chunk")
    for delta, reason in _deltas(answered.turn):
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        yield f"data: {json.dumps({**head, 'choices': [choice]})}\n\n"
    if is_counted:
        yield f"data: {json.dumps({**head, 'choices': [], 'usage': _usage(text, answered.turn)})}\n\n"
    yield "data: [DONE]\n\n"


def _deltas(turn: ToolTurn) -> list[tuple[dict[str, Any], str | None]]:
    """Return what each chunk adds, and why the last one is the last."""
    if turn.calls:
        calls = [{"index": k, **_called(call)} for k, call in enumerate(turn.calls)]
        first = {"role": "assistant", "content": None}
        return [(first, None), *(({"tool_calls": [call]}, None) for call in calls), ({}, "tool_calls")]
    pieces = [turn.text[k : k + CHUNK] for k in range(0, len(turn.text), CHUNK)]
    first = {"role": "assistant", "content": ""}
    return [(first, None), *(({"content": piece}, None) for piece in pieces), ({}, "stop")]


def _message(turn: ToolTurn) -> dict[str, Any]:
    if not turn.calls:
        return {"role": "assistant", "content": turn.text, "refusal": None}
    calls = [_called(call) for call in turn.calls]
    return {"role": "assistant", "content": None, "refusal": None, "tool_calls": calls}


def _called(call: Call) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


async def _events(done: asyncio.Future[_Answered], text: str) -> AsyncIterator[str]:
    """Yield a response as events."""
    id, created = secrets.token_hex(8), int(time.time())  # the episode's own is known at its end only
    begun = _response(id, created, text, None)
    for event in opening(begun):
        yield event
    async for comment in _until_done(done):
        yield comment
    try:
        turn = done.result().turn
    except HearthError as error:
        yield failure(begun, str(error))
        return
    for event in closing(id, _response(id, created, text, turn), turn):
        yield event


def _response(id: str, created: int, asked: str, turn: ToolTurn | None) -> dict[str, Any]:
    n_words = (_n_words(asked), _n_words(_answer(turn)) if turn else 0)
    return document(id, MODEL, created, turn, n_words)


def _head(id: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{id}", "object": kind, "created": int(time.time()), "model": MODEL}


def _described() -> dict[str, Any]:
    return {"id": MODEL, "object": "model", "created": 0, "owned_by": "this home"}


def _usage(asked: str, turn: ToolTurn) -> dict[str, int]:
    n_in, n_out = _n_words(asked), _n_words(_answer(turn))
    return {"prompt_tokens": n_in, "completion_tokens": n_out, "total_tokens": n_in + n_out}


def _answer(turn: ToolTurn) -> str:
    return " ".join((turn.text, *(f"{call.name} {call.arguments}" for call in turn.calls)))


def _n_words(text: str) -> int:
    """Words in the place of tokens: nothing here is counted in tokens, but clients want numbers."""
    return len(text.split())


def _unknown_model(name: str) -> JSONResponse:
    return _error(404, f"the model {name!r} is not here; {MODEL!r} is", "model_not_found")


def _error(status: int, message: str, code: str) -> JSONResponse:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)
