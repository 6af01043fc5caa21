"""OpenAI's protocol over the home's desk, with plans over the functions that a program brings."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import os
import re
import secrets
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from hearth.config import cache_folder
from hearth.errors import ConfigError, HearthError, RequestError
from hearth.language.reading import Utterance
from hearth.language.thesaurus import POLITE, QUESTIONS
from hearth.planning.arguments.schema_filler import Filled, Filler
from hearth.serve.desk import Caller, Desk
from hearth.serve.door import Client
from hearth.tools.foreign import one_line, parameters_of
from hearth.types import Context, Episode, Parameter, ToolSpec

# ── Client tools ──────────────────────────────────────────────────────────────────────────────────────────
# Plans over the tools that a program brings with its request: which to call with what, from the words it sent alone.
#
# Nothing of the home goes into a call, nothing of it is changed, and nothing runs here: the program gets back what it
# could have read out of its own words, runs its tool by its own rules, and hands the result in to be told. So no rule
# of the owner's is asked. What fits none of its tools is Hearth's own request.
#
# Covered: several calls in one request; a required value that is not said is asked for. Not covered: a call that
# takes another's result, values that must be worked out, objects, a request that wants a tool of the program's and
# one of Hearth's.

MOST_TOOLS = 128
_MOST_PARAMETERS = 64
_MOST_CLAUSES = 12
_LEAST_SURE = 0.5
"""Least chance at which a value is taken: one that is more likely wrong is asked for, or left out where it may be."""
_NEEDS = re.compile(r"To call (\S+) I need to know .+\.")
_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset({"a", "an", "the"})
_LEADING = _ARTICLES | {"in", "at", "on", "for", "to", "from", "it's"}
_MOST_BARE_WORDS = 5


class Function(BaseModel):
    """A tool as the program describes it."""

    name: str = Field(min_length=1, max_length=64)
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Named(BaseModel):
    name: str = ""


class Choice(BaseModel):
    """The one function that is to be called, in either form of the protocol; other kinds of choice have no effect."""

    type: str = ""
    name: str = ""
    function: _Named | None = None


ToolChoice = Literal["none", "auto", "required"] | Choice | None


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the program is asked to make."""

    id: str
    name: str
    arguments: str
    """As JSON."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a program lets be called."""

    functions: tuple[Function, ...] = ()
    choice: Literal["none", "auto", "required"] = "auto"
    named: str = ""
    """The one function that is to be called; empty: whichever fits."""
    is_parallel: bool = True
    """False: one call at a time."""

    @classmethod
    def of(cls, functions: Sequence[Function], choice: ToolChoice, is_parallel: bool | None) -> Offer:
        """Read what the protocol says. Raises: RequestError: The function that is to be called is not offered."""
        if not isinstance(choice, Choice):
            return cls(tuple(functions), choice or "auto", "", is_parallel is not False)
        named = choice.name or (choice.function.name if choice.function else "")
        if named and all(one.name != named for one in functions):
            raise RequestError(f"the tool {named!r} is to be called and is not among the tools offered")
        return cls(tuple(functions), "auto", named, is_parallel is not False)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was said and done since the user asked for what stands open."""

    text: str
    """The last words of the user."""
    before: str = ""
    """The words with which the user began, where the last ones answer a question about them; else empty."""
    answers: tuple[tuple[str, str], ...] = ()
    """What the program was asked about them, and what the user said to it; `text` is the last."""
    results: tuple[str, ...] = ()
    """What the calls made since brought, in their order."""

    @classmethod
    def of(cls, messages: Sequence[tuple[str, str]]) -> Exchange:
        """Read a conversation, as roles and words."""
        of_user = [k for k, (role, _) in enumerate(messages) if role == "user"]
        if not of_user:
            return cls("")
        first, answers = of_user[-1], list[tuple[str, str]]()
        for earlier, k in zip(reversed(of_user[:-1]), reversed(of_user)):
            role, said = messages[k - 1]
            question = said.rpartition("\n")[2]
            if role != "assistant" or not _NEEDS.fullmatch(question) or not messages[earlier][1].strip():
                break
            first, answers = earlier, [(question, messages[k][1]), *answers]
        results = tuple(text for role, text in messages[first + 1 :] if role == "tool")
        return cls(messages[of_user[-1]][1], messages[first][1] if answers else "", tuple(answers), results)


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """What the program is told next: calls to make, or words."""

    text: str = ""
    calls: tuple[Call, ...] = field(default=())


class ClientTools:
    """Plans over programs' tools. May be used from several threads; the reader is loaded when it is first needed."""

    def __init__(self) -> None:
        self._opening = threading.Lock()
        self._filler: Filler | None = None
        self._last_s = time.monotonic()

    def turn(self, said: Exchange, offer: Offer) -> ToolTurn | None:
        """Return what comes next; None where no tool of the program's fits, so that the request is Hearth's own."""
        if offer.choice == "none" or not offer.functions or not said.text.strip():
            return ToolTurn(_told(said.results)) if said.results else None
        wanted = self._wanted(said, offer)
        if said.answers and _question(wanted) == said.answers[-1][0]:
            said = Exchange(said.text)  # it answers nothing: a request of its own
            wanted = self._wanted(said, offer)
        left = wanted[len(said.results) :]
        if not offer.is_parallel:
            left = left[:1]
        if not left:
            return ToolTurn(_told(said.results)) if said.results else None
        if question := _question(left):
            return ToolTurn("\n".join(filter(None, (_told(said.results), question))))
        return ToolTurn(calls=tuple(_planned_call(spec, filled) for spec, filled in left))

    def _wanted(self, said: Exchange, offer: Offer) -> list[tuple[ToolSpec, Filled]]:
        """Return the calls that are asked for, clause by clause where several clauses ask for some."""
        specs = _specs(offer)
        if not specs:
            return []
        filler = self._opened()
        if not filler.is_trained:
            return []  # without the reader nobody can say which fits
        now = dt.datetime.now().astimezone()
        text = said.before or said.text
        parts = [act.text for act in Utterance(text, now).acts]
        if 1 < len(parts) <= _MOST_CLAUSES:
            asked = [(part, filler.asked_for(part, specs)) for part in parts]
            if sum(bool(names) for _, names in asked) > 1:
                return [call for part, names in asked for call in _filled(filler, part, said, names, specs, now)]
        names = filler.asked_for(text, specs)
        if not names and (offer.named or offer.choice == "required"):
            chances = filler.match(text, specs)
            names = (max(zip(chances, specs), key=lambda one: one[0])[1].name,)
        return _filled(filler, text, said, names, specs, now)

    @property
    def last_s(self) -> float:
        """When a program's functions were last planned over, by the monotonic clock."""
        return self._last_s

    def rest(self) -> None:
        """Hand the reader's memory back; the next request opens it again."""
        with self._opening:
            self._filler = None

    def _opened(self) -> Filler:
        with self._opening:
            self._last_s = time.monotonic()
            if self._filler is None:
                self._filler = Filler.open(cache_folder(os.environ), is_referring=False)
            return self._filler


def _specs(offer: Offer) -> list[ToolSpec]:
    """Return the functions that a plan can express, each name once."""
    found: dict[str, ToolSpec] = {}
    for one in offer.functions:
        if offer.named and one.name != offer.named:
            continue
        try:
            parameters = parameters_of(one.parameters or {})
        except ConfigError:
            continue
        if len(parameters) <= _MOST_PARAMETERS:
            text = one_line(one.description or "") or one_line(one.name)
            found.setdefault(one.name, ToolSpec(one.name, text, parameters, returns="text", source="web"))
    return list(found.values())


def _filled(
    filler: Filler, text: str, said: Exchange, names: Sequence[str], specs: Sequence[ToolSpec], now: dt.datetime
) -> list[tuple[ToolSpec, Filled]]:
    """Return the calls with what the text gives them; where that is not enough, with the answers beside it."""
    by_name = {spec.name: spec for spec in specs}
    steps = [by_name[name] for name in names]
    calls = [(spec, _sure(spec, one)) for spec, one in zip(steps, filler.fill(text, steps, now, Context()))]
    for k, (spec, one) in enumerate(calls):
        answers = [(q, answer) for q, answer in said.answers if _NEEDS.sub(r"\1", q) == spec.name]
        if one.missing and answers:
            talk = "\n".join([f"user: {text}", *(f"agent: {q}\nuser: {answer}" for q, answer in answers)])
            (filled,) = filler.fill(talk, [spec], now, Context())
            found, answer = _sure(spec, filled), answers[-1][1]
            is_bare = bool(found.missing) and not filler.asked_for(answer, specs)
            calls[k] = spec, _with_bare(spec, found, answer) if is_bare else found
    return [one for k, one in enumerate(calls) if one not in calls[:k]]  # one answer for two of them makes them one


def _with_bare(spec: ToolSpec, filled: Filled, answer: str) -> Filled:
    """Take a short answer that the reader made nothing of as the one text that was asked for."""
    said = [word for word in answer.split() if word.casefold().strip(",.!?") not in POLITE]
    while said and said[0].casefold() in _LEADING:
        del said[0]
    asked = [p for p in spec.parameters if p.name in filled.missing]
    if len(asked) != 1 or asked[0].type != "text" or asked[0].enum or not 0 < len(said) <= _MOST_BARE_WORDS:
        return filled
    return replace(filled, arguments={**filled.arguments, asked[0].name: " ".join(said).strip(",.!?")}, missing=())


def _sure(spec: ToolSpec, filled: Filled) -> Filled:
    """Leave out what is not surely said: words that only ask ("how") or name the tool or what it takes ("the weather"),
    and what is more likely wrong than right.
    """
    names = " ".join([spec.name, *(p.name for p in spec.parameters)])
    empty = QUESTIONS | POLITE | _ARTICLES | set(_WORD.findall(names.casefold().replace("_", " ")))

    def holds(one: Parameter) -> bool:
        value = filled.arguments.get(one.name)
        is_word = not isinstance(value, str) or bool(one.enum) or not empty.issuperset(_WORD.findall(value.casefold()))
        return value is not None and is_word and filled.confidences.get(one.name, 1.0) >= _LEAST_SURE

    kept = {p.name: filled.arguments[p.name] for p in spec.parameters if holds(p)}
    missing = tuple(p.name for p in spec.parameters if p.is_required and p.name not in kept)
    return replace(filled, arguments=kept, missing=missing)


def _question(calls: Sequence[tuple[ToolSpec, Filled]]) -> str:
    """Return what has to be known before the calls can be made; empty where everything is."""
    for spec, filled in calls:
        if filled.missing:
            return f"To call {spec.name} I need to know {_listed([name.replace('_', ' ') for name in filled.missing])}."
    return ""


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _planned_call(spec: ToolSpec, filled: Filled) -> Call:
    arguments = json.dumps(dict(filled.arguments), ensure_ascii=False)
    return Call(f"call_{secrets.token_hex(8)}", spec.name, arguments)


def _told(results: Sequence[str]) -> str:
    """Return what the calls brought, in words, one a line."""
    return "\n".join(_in_words(one) for one in results)


def _in_words(result: str) -> str:
    """Return a record as `name: value, …`, a list of them as lines, and anything else as it is."""
    try:
        found = json.loads(result)
    except (ValueError, RecursionError):
        return result.strip()
    rows = found if isinstance(found, list) else [found]
    return "\n".join(_row(one) for one in rows)


def _row(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_plain(one)}" for name, one in value.items())
    return _plain(value)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# ── OpenAI api ────────────────────────────────────────────────────────────────────────────────────────────
# Answers programs that speak OpenAI's protocol: Hearth as a model that knows its owner's things and may act.
#
# `GET /v1/models`, `POST /v1/chat/completions` and `POST /v1/responses`, whole or in a stream. The last message of
# the user is the request and stands alone. What would change something asks on the page, where the program may ask
# for changes at all.
#
# Functions that the program brings are planned over first ("Client tools"); what fits none of them is Hearth's own
# request.
#
# Covered: the calls with texts, functions, streams, usage, errors in the protocol's form. Not covered: other kinds of
# tools, pictures, sampling: such fields are taken and have no effect.

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
