"""Serves the home's own programs, `hearth ask` and `hearth mcp`: requests followed to their end, answers, undoing.

`HomeLine` follows requests at the desk of this process; the routes under `/v1/home/` offer the same to another one that
has the home's key (`home_link`).

Covered: asking, following, answering, undoing, plans, corrections. Not covered: who has the key (`serve.door`).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import CancelledError
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from hearth.agent import Agent
from hearth.errors import HearthError, NotFound, RequestError
from hearth.formats.plans import plan_from_json, plan_to_json, refusal_to_json
from hearth.protocols import Reply
from hearth.serve.desk import Caller, Desk, Errand
from hearth.serve.door import OWNERS_PROGRAM
from hearth.serve.programs.home_link import Question, Standing, Undone
from hearth.types import Plan, Step
from hearth.version import __version__

_KEPT = 1000
"""Requests that can still be asked about once they are done."""
_LOOK_S = 0.02
"""How often it is looked whether a question came."""
_MOST_WITHIN_S = 30.0
_MOST_DIGITS = 18


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Ask(_Body):
    text: str
    may_change: bool = False
    is_question: bool = False
    caller: Annotated[str, Field(max_length=100)] = "terminal"


class _Answer(_Body):
    id: str
    reply: Reply


class _Undo(_Body):
    id: str | None = None


class _Plan(_Body):
    text: str
    after_last: bool = True


class _Correct(_Body):
    id: str
    say: str = ""
    plan: dict[str, Any] | None = None


_Read = TypeVar("_Read", bound=_Body)


class HomeLine:
    """Requests of one desk by number. Used from one event loop."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._errands: dict[int, Errand] = {}

    async def status(self) -> dict[str, object]:
        """Return what goes on here."""
        view = self._desk.view
        return {"version": __version__, "n_waiting": len(view.turns), "is_asked": view.asked is not None}

    async def begin(self, text: str, caller: Caller, *, is_question: bool = False) -> int:
        """Put a request in line, and return its number; a question looks for its answer in the owner's things.

        Raises:
            RequestError: As `Desk.ask`.
        """
        plan = Plan((Step("find_answer", {"question": text.strip()}),), planner="owner") if is_question else None
        errand = self._desk.begin(text, caller, plan)
        self._errands[errand.number] = errand
        while len(self._errands) > _KEPT:
            del self._errands[next(iter(self._errands))]
        return errand.number

    async def standing(self, number: int, *, seen: str = "", within_s: float = 0.0) -> Standing:
        """Return how a request goes, as soon as it is done or asks another question than `seen`, or after a while.

        Raises:
            NotFound: No such request.
        """
        errand = self._errands.get(number)
        if errand is None:
            raise NotFound(f"no request has the number {number}; `hearth history` lists what was asked")
        ends = time.monotonic() + within_s
        done = asyncio.wrap_future(errand.done)
        while not done.done():
            asked = self._desk.view.asked
            if asked is not None and asked.turn == number and asked.id != seen:
                return Standing(state="asked", question=Question(id=asked.id, text=asked.text, rule=asked.rule))
            if all(turn.number != number for turn in self._desk.view.turns):
                await asyncio.wait([done])  # out of line: its end is told in a moment
                continue
            if (left := ends - time.monotonic()) <= 0:
                return self._on_its_way(number)
            await asyncio.wait([done], timeout=min(_LOOK_S, left))
        try:
            episode = done.result()
        except HearthError as error:
            return Standing(state="failed", fault=str(error), fault_kind=type(error).__name__)
        except (asyncio.CancelledError, CancelledError):
            return Standing(state="failed", fault="it was given up before it began", fault_kind="CancelledError")
        return Standing(state="done", episode=episode.id, status=episode.answer.status, answer=episode.answer.text)

    def _on_its_way(self, number: int) -> Standing:
        view = self._desk.view
        asked = view.asked
        if asked is not None and asked.turn == number:
            return Standing(state="asked", question=Question(id=asked.id, text=asked.text, rule=asked.rule))
        is_first = bool(view.turns) and view.turns[0].number == number
        return Standing(state="working" if is_first else "waiting")

    async def answer(self, id: str, reply: Reply) -> bool:
        """Answer a question; False when somebody else has."""
        return self._desk.answer(id, reply)

    async def undo(self, id: str | None) -> Undone:
        """Take back what an episode changed. Raises: NotFound."""
        report = await asyncio.wrap_future(self._desk.undo(id))
        return Undone(id=report.episode, undone=report.undone, kept=report.kept)

    async def plan(self, text: str, *, after_last: bool = True) -> dict[str, object]:
        """Return the plan for a request as `hearth plan --json` prints it; nothing runs.

        Args:
            after_last: Read it after what was said before; else it stands alone.
        Raises:
            RequestError: It is empty.
        """
        if not text.strip():
            raise RequestError("the request is empty; say what to do")
        return await asyncio.wrap_future(self._desk.use(lambda agent: _planned(agent, text.strip(), after_last)))

    async def correct(self, id: str, say: str, plan: Mapping[str, Any] | None) -> dict[str, object]:
        """Teach what an episode should have been; return the demonstration as `hearth correct --json` prints it.

        Raises:
            NotFound, RequestError, PlanError: Nothing was learnt.
        """
        right = None if plan is None else plan_from_json(plan)
        entry = await asyncio.wrap_future(self._desk.correct(id, say, right))
        return {"id": entry.id, "user_request": entry.demonstration.request, **plan_to_json(entry.demonstration.plan)}


def _planned(agent: Agent, text: str, after_last: bool) -> dict[str, object]:
    proposal = agent.plan(agent.request_after(text) if after_last else agent.request(text), agent.tools.specs)
    if isinstance(proposal, Plan):
        return {"user_request": text, **plan_to_json(proposal)}
    return {"user_request": text, "task_nodes": [], "refusal": refusal_to_json(proposal)}


class HomeApi:
    """The routes under `/v1/home/`."""

    def __init__(self, line: HomeLine) -> None:
        self._line = line

    def routes(self) -> list[BaseRoute]:
        """Return the routes; each wants the home's key, and no browser."""
        return [
            Route("/v1/home/status", _owners(self.status)),
            Route("/v1/home/requests", _owners(self.begin), methods=["POST"]),
            Route("/v1/home/requests/{number}", _owners(self.standing)),
            Route("/v1/home/answers", _owners(self.answer), methods=["POST"]),
            Route("/v1/home/undo", _owners(self.undo), methods=["POST"]),
            Route("/v1/home/plans", _owners(self.plan), methods=["POST"]),
            Route("/v1/home/corrections", _owners(self.correct), methods=["POST"]),
        ]

    async def status(self, request: Request) -> object:  # noqa: ARG002 - every route is handed the request
        """Say that it is up."""
        return await self._line.status()

    async def begin(self, request: Request) -> object:
        """Put a request in line."""
        asked = await _read(_Ask, request)
        caller = Caller(asked.caller, may_change=asked.may_change, is_owner=asked.caller == "terminal")
        return {"number": await self._line.begin(asked.text, caller, is_question=asked.is_question)}

    async def standing(self, request: Request) -> object:
        """Say how a request goes."""
        try:
            within_s = min(_seconds(request.query_params.get("within_s", "0")), _MOST_WITHIN_S)
        except ValueError:
            raise RequestError(f"within_s is no number: {request.query_params['within_s']!r}") from None
        seen = request.query_params.get("seen", "")
        text = request.path_params["number"]
        if not (text.isascii() and text.isdecimal()) or len(text) > _MOST_DIGITS:
            raise NotFound(f"no request has the number {text[:40]!r}; `hearth history` lists what was asked")
        found = await self._line.standing(int(text), seen=seen, within_s=within_s)
        return found.model_dump()

    async def answer(self, request: Request) -> object:
        """Take an answer."""
        given = await _read(_Answer, request)
        return {"counts": await self._line.answer(given.id, given.reply)}

    async def undo(self, request: Request) -> object:
        """Take back what was done."""
        return (await self._line.undo((await _read(_Undo, request)).id)).model_dump()

    async def plan(self, request: Request) -> object:
        """Plan, and run nothing."""
        asked = await _read(_Plan, request)
        return await self._line.plan(asked.text, after_last=asked.after_last)

    async def correct(self, request: Request) -> object:
        """Learn what should have been done."""
        given = await _read(_Correct, request)
        return await self._line.correct(given.id, given.say, given.plan)


def _seconds(text: str) -> float:
    """Raises: ValueError."""
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(text)
    return max(found, 0.0)


async def _read(kind: type[_Read], request: Request) -> _Read:
    """Raises: RequestError."""
    try:
        return kind.model_validate_json(await request.body())
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise RequestError(f"{'.'.join(map(str, first['loc'])) or 'the body'}: {first['msg']}") from None


def _owners(answer: Callable[[Request], Awaitable[object]]) -> Callable[[Request], Awaitable[Response]]:
    """Let the owner's programs alone in, and put what is raised into words that `home_link` raises again."""

    async def route(request: Request) -> Response:
        if request.scope.get("hearth.client") is not OWNERS_PROGRAM:
            return _fault(403, "DeniedError", "this address is for `hearth` itself, with the home's key")
        try:
            found: Any = await answer(request)
        except HearthError as error:
            return _fault(400, type(error).__name__, str(error))
        return JSONResponse(found)

    return route


def _fault(status: int, kind: str, message: str) -> JSONResponse:
    return JSONResponse({"kind": kind, "message": message}, status)
