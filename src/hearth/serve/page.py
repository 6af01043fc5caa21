"""The page: what a browser gets of a home, and what it sends.

Whole pages come from templates; what goes on is told by server-sent events, a fragment at a time, so that a plan fills
as it runs and a question appears by itself. Everything shown is escaped by the templates: strangers' text stays text.

Covered: talking, questions, undoing, correcting, today, memory, learning, the ledger, rules, the doctor.
Not covered: who may come in (`serve.door`); phones away from home.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, cast

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Lifespan

from hearth import config
from hearth.doctor import examine
from hearth.errors import HearthError, NotFound
from hearth.guard.egress.ledger import Ledger
from hearth.learning.versions.lineage import Lineage
from hearth.memory.answers.recollection import sentence
from hearth.memory.facts.fact_store import FactStore
from hearth.protocols import CallContext, Reply
from hearth.serve.desk import Caller, Desk, View
from hearth.serve.door import COOKIE, Door
from hearth.serve.episode_report import ShownEpisode, picture_of, shown_episode
from hearth.serve.ringing import Ring, end, open_rings, snooze
from hearth.storage.database import Store
from hearth.storage.trace import Trace
from hearth.terminal import clean
from hearth.tools.pim.calendar import find_events
from hearth.tools.pim.reminders import find_reminders, still_due
from hearth.types import Episode, Plan, Step, ToolSpec

_N_TALK = 20
_N_HISTORY = 200
_N_LEDGER = 100
_MOST_BYTES_SHOWN = 4000
_LOOK_EVERY_S = 0.05
"""How often the events look whether something changed: a comparison while nothing does."""
_PAGE_WAITS_S = 3.0
"""How long a page waits for the agent, which may be waiting for an answer itself."""
_REPLIES: Mapping[str, Reply] = {"yes": "once", "always": "always", "no": "no", "never": "never"}
_BROWSER = Caller("page", is_owner=True)

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class TalkTurn:
    """A finished request as the conversation shows it."""

    shown: ShownEpisode
    can_undo: bool
    is_undone: bool


@dataclass(frozen=True, slots=True)
class Home:
    """What the pages read: the home's folder and database, the tools, the time."""

    folder: Path
    store: Store
    specs: Mapping[str, ToolSpec]
    environ: Mapping[str, str]
    now: Callable[[], dt.datetime]
    call: CallContext
    """What a call would get; its folder is read."""

    @property
    def trace(self) -> Trace:
        """The record of what was asked and done."""
        return Trace(self.store)


class Page:
    """The routes of the page, over one desk."""

    def __init__(self, desk: Desk, home: Home) -> None:
        self._desk = desk
        self._home = home
        loader = jinja2.PackageLoader("hearth.serve")
        self._templates = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
        self._templates.filters["moment"] = lambda at: f"{at:%a} {at.day} {at:%b}, {at:%H:%M}"
        self._door: Door | None = None

    def application(self, more: list[BaseRoute], lifespan: Lifespan[Starlette] | None = None) -> Starlette:
        """Return the application, with further routes beside the page's, and what runs beside them."""
        static = files("hearth.serve") / "static"
        routes: list[BaseRoute] = [
            Route("/", self.talk),
            Route("/enter", self.enter),
            Route("/events", self.events),
            Route("/today", self.today),
            Route("/memory", self.memory),
            Route("/learning", self.learning),
            Route("/ledger", self.ledger),
            Route("/rules", self.rules),
            Route("/history", self.history),
            Route("/history/{id}", self.one),
            Route("/doctor", self.doctor),
            Route("/ask", self.ask, methods=["POST"]),
            Route("/answer", self.answer, methods=["POST"]),
            Route("/undo", self.undo, methods=["POST"]),
            Route("/correct", self.correct, methods=["POST"]),
            Route("/ring", self.ring, methods=["POST"]),
            Route("/forget-fact", self.forget_fact, methods=["POST"]),
            Mount("/static", StaticFiles(directory=str(static)), name="static"),
            *more,
        ]
        handlers = {HearthError: _refused, 404: _unknown}
        return Starlette(routes=routes, exception_handlers=cast("Mapping[Any, Any]", handlers), lifespan=lifespan)

    def behind(self, door: Door) -> None:
        """Learn of the door, which knows the key that `/enter` is shown."""
        self._door = door

    # ── Coming in ─────────────────────────────────────────────────────────────────────────────────────────

    async def enter(self, request: Request) -> Response:
        """Take the key from the link, give the browser its cookie, and go on to the page without the key."""
        if self._door is None or not self._door.is_key(request.query_params.get("key", "")):
            return Response("This is not the key of this home; open the link that `hearth up` prints.\n", 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, self._door.cookie, max_age=31_536_000, httponly=True, samesite="strict")
        return answer

    # ── Talking ───────────────────────────────────────────────────────────────────────────────────────────

    async def talk(self, request: Request) -> Response:  # noqa: ARG002 - every route is handed the request
        """The conversation, with what goes on now."""
        episodes = self._home.trace.episodes(_N_TALK)
        turns = [self._turn(episode) for episode in reversed(episodes)]
        return self._page("talk.html", "Talk", turns=turns, now=self._now_html(self._desk.view))

    async def ask(self, request: Request) -> Response:
        """Put a request in line; the events tell how it goes."""
        self._desk.ask(await _field(request, "text"), _BROWSER).add_done_callback(_read_fault)
        return JSONResponse({}, 202)

    async def answer(self, request: Request) -> Response:
        """Answer the question that stands; who is second is told so."""
        given = await _fields(request)
        reply = _REPLIES.get(given.get("reply", ""))
        if reply is None:
            raise HearthError(f"the answer {given.get('reply', '')!r} is not known; expected {', '.join(_REPLIES)}")
        if not self._desk.answer(given.get("id", ""), reply):
            return JSONResponse({"says": "That was answered already, or is asked no more."}, 409)
        return JSONResponse({})

    async def undo(self, request: Request) -> Response:
        """Take back what an episode changed."""
        report = await self._done(self._desk.undo(await _field(request, "id")))
        kept = f" Not taken back: {'; '.join(report.kept)}." if report.kept else ""
        says = f"Taken back: {'; '.join(report.undone) or 'nothing'}.{kept}"
        return JSONResponse({"says": clean(says), "html": self._turn_html(report.episode)})

    async def correct(self, request: Request) -> Response:
        """Learn what should have been understood."""
        given = await _fields(request)
        plan: Plan = await self._done(self._desk.correct(given.get("id", ""), given.get("say", "")))
        did = ", then ".join(step.tool.replace("_", " ") for step in plan.steps) or "do nothing"
        return JSONResponse({"says": f"Learnt: I will {did} next time."})

    async def ring(self, request: Request) -> Response:
        """End a ring, with its reminder marked as done where it is still due, or let it ring again later."""
        given = await _fields(request)
        try:
            number, minutes = int(given.get("number", "")), int(given.get("minutes", "0"))
        except ValueError:
            raise HearthError(f"{given!r} names no ring; reload the page") from None
        ring = next((one for one in open_rings(self._home.store) if one.number == number), None)
        if ring is None:
            return JSONResponse({"says": "That one is over already."}, 409)
        if minutes:
            snooze(self._home.store, number, self._home.now() + dt.timedelta(minutes=min(max(minutes, 1), 1440)))
        elif not end(self._home.store, number):
            return JSONResponse({"says": "That one is over already."}, 409)
        elif await run_in_threadpool(self._is_still_due, ring):
            done = Plan((Step("complete_reminder", {"reminder": ring.reminder}),), planner="page")
            self._desk.carry_out(f"“{ring.text}” is done", done, _BROWSER).add_done_callback(_read_fault)
        self._desk.touch()
        return JSONResponse({})

    def _is_still_due(self, ring: Ring) -> bool:
        call = replace(self._home.call, now=self._home.now())
        return bool(still_due(call, [(ring.reminder, ring.due)]))

    async def events(self, request: Request) -> Response:
        """Tell a browser what changes, from now on."""
        return StreamingResponse(self._changes(request), media_type="text/event-stream")

    async def _changes(self, request: Request) -> AsyncIterator[str]:
        known = request.query_params.get("last", "")
        told: object = None
        version = -1
        while True:
            view = self._desk.view
            if view.version != version or view.turns:
                html = self._now_html(view)
                if html != told:
                    yield _event("now", {"html": html})
                    told = html
            if view.version != version:
                for episode in self._finished_since(known):
                    known = episode.id
                    yield _event("turn", {"id": episode.id, "html": self._html_of(episode)})
                version = view.version
            await asyncio.sleep(_LOOK_EVERY_S)

    def _finished_since(self, id: str) -> list[Episode]:
        found = []
        for episode in self._home.trace.episodes(_N_TALK):
            if episode.id == id:
                break
            found.append(episode)
        return found[::-1]

    def _now_html(self, view: View) -> str:
        """What goes on: rings, the question, the request with its plan so far, what waits."""
        picture = None
        if view.turns:
            left = next(iter(self._home.trace.unfinished()), None)
            if left is not None and left.plan is not None:
                picture = picture_of(left.plan, left.results, self._home.specs)
        zone = self._home.now().tzinfo
        rings = [(ring, ring.due.astimezone(zone)) for ring in open_rings(self._home.store)]
        return self._templates.get_template("now.html").render(view=view, picture=picture, rings=rings)

    def _turn(self, episode: Episode) -> TalkTurn:
        calls = self._home.trace.calls(episode.id)
        changed = [c for c in calls if c.started is not None and c.started.effect == "change" and c.result is not None]
        done = [c for c in changed if c.result is not None and c.result.status == "done"]
        return TalkTurn(
            shown_episode(0, episode, self._home.specs),
            can_undo=any(not call.is_undone for call in done),
            is_undone=bool(done) and all(call.is_undone for call in done),
        )

    def _html_of(self, episode: Episode) -> str:
        return self._templates.get_template("turn.html").render(turn=self._turn(episode))

    def _turn_html(self, id: str) -> str:
        return self._html_of(self._home.trace.episode(id))

    # ── Looking ───────────────────────────────────────────────────────────────────────────────────────────

    async def today(self, request: Request) -> Response:  # noqa: ARG002
        """What comes: today's and tomorrow's events, open reminders."""
        found = self._desk.use(lambda agent: _day(agent.call_context()))
        try:
            events, reminders = await self._done(found)
        except HearthError:
            return self._page("today.html", "Today", waits=True, events=[], reminders=[])
        return self._page("today.html", "Today", waits=False, events=events, reminders=reminders, now=self._home.now())

    async def memory(self, request: Request) -> Response:
        """What is held true, of whom, since when."""
        words = request.query_params.get("q", "").casefold().split()
        zone = self._home.now().tzinfo or dt.UTC
        facts = [(fact, sentence(fact, zone)) for fact in FactStore(self._home.store).believed()]
        shown = [(fact, said) for fact, said in facts if all(word in said.casefold() for word in words)]
        return self._page("memory.html", "Memory", facts=shown, n_all=len(facts), words=" ".join(words))

    async def forget_fact(self, request: Request) -> Response:
        """Stop holding a fact true; what it rests on stays, and `hearth forget` removes that, too."""
        text = await _field(request, "id")
        if not text.isdecimal() or len(text) > 18:
            raise NotFound(f"{text!r} is no fact; reload the page")
        at = self._home.now()
        await self._done(self._desk.use(lambda agent: agent.facts.revoke(int(text), at, "you said so on the page")))
        return JSONResponse({"says": "No longer held true."})

    async def learning(self, request: Request) -> Response:  # noqa: ARG002
        """What was taught, and the versions made of it."""
        rows = self._home.store.query("SELECT source, count(*) AS n FROM demonstration GROUP BY source ORDER BY n DESC")
        own = self._home.store.query(
            "SELECT id, request FROM demonstration WHERE source <> 'shipped' ORDER BY rowid DESC LIMIT 100"
        )
        versions = Lineage(self._home.store).versions()
        return self._page("learning.html", "Learning", sources=rows, own=own, versions=versions)

    async def ledger(self, request: Request) -> Response:  # noqa: ARG002
        """What left this device, byte by byte, and whether the record of it is whole."""

        def read() -> tuple[list[Any], Any]:
            record = Ledger(self._home.store)
            latest = list(record.entries(after=max(0, record.head().count - _N_LEDGER)))
            return [(e, _payload(e.payload)) for e in reversed(latest)], record.verify()

        entries, verdict = await run_in_threadpool(read)
        return self._page("ledger.html", "What left", entries=entries, verdict=verdict)

    async def rules(self, request: Request) -> Response:  # noqa: ARG002
        """Which rule holds for which tool."""
        settings = await run_in_threadpool(config.read_settings, self._home.folder / "hearth.toml")
        asks = [s for s in self._home.specs.values() if s.effect != "none" and s.name not in settings.policy]
        return self._page("rules.html", "Rules", settings=settings, asks=asks)

    async def history(self, request: Request) -> Response:
        """What was asked and done, the newest first."""
        words = request.query_params.get("q", "").casefold().split()
        found = await run_in_threadpool(self._home.trace.episodes, _N_HISTORY)
        shown = [e for e in found if all(w in f"{e.request.typed} {e.answer.text}".casefold() for w in words)]
        return self._page("history.html", "History", episodes=shown, words=" ".join(words), clean=clean)

    async def one(self, request: Request) -> Response:
        """One request, whole."""
        episode = self._home.trace.episode(request.path_params["id"])
        return self._page("one.html", "One request", turn=self._turn(episode))

    async def doctor(self, request: Request) -> Response:  # noqa: ARG002
        """Whether everything works."""
        findings = await run_in_threadpool(examine, self._home.folder, self._home.environ)
        return self._page("doctor.html", "Doctor", findings=findings)

    def _page(self, template: str, title: str, **values: object) -> HTMLResponse:
        return HTMLResponse(self._templates.get_template(template).render(title=title, **values))

    async def _done(self, work: Future[_Result]) -> _Result:
        """Wait for the desk a little; while it waits for an answer itself, say so and drop the work.

        Raises:
            HearthError: As the work; or it was not begun.
        """
        done, _ = await asyncio.wait([asyncio.wrap_future(work)], timeout=_PAGE_WAITS_S)
        if not done and work.cancel():
            raise HearthError("another request is being worked on, or waits for your answer; then try again")
        return await asyncio.wrap_future(work)


def _day(call: Any) -> tuple[list[Any], list[Any]]:
    """Read two days' events and all open reminders."""
    start = call.now.replace(hour=0, minute=0, second=0, microsecond=0)
    return find_events(call, start=start, end=start + dt.timedelta(days=2)), find_reminders(call)


def _payload(payload: bytes | None) -> str:
    if payload is None:
        return "what was in it was forgotten"
    return clean(payload[:_MOST_BYTES_SHOWN].decode("utf-8", "backslashreplace"))


def _event(name: str, data: Mapping[str, str]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


async def _fields(request: Request) -> dict[str, str]:
    """Read the body, an object of texts. Raises: HearthError."""
    try:
        given = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise HearthError(f"the body is no JSON ({error})") from None
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise HearthError("the body is no object of texts")
    return given


async def _field(request: Request, name: str) -> str:
    given = await _fields(request)
    if name not in given:
        raise HearthError(f"the body lacks {name!r}")
    return given[name]


def _read_fault(done: Future[Episode]) -> None:
    """A request that failed has said so in its record; what has no record is told by the next look at the page."""
    done.exception()


async def _refused(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return JSONResponse({"says": clean(str(error))}, 404 if isinstance(error, NotFound) else 400)


async def _unknown(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return Response("There is no such page.\n", 404)
