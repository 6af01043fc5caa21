"""The page: what a browser gets of a home, and what it sends.

Whole pages come from templates; what goes on is told by server-sent events, a fragment at a time, so that a plan fills
as it runs and a question appears by itself. Everything shown is escaped by the templates: strangers' text stays text.

Covered: talking, questions, undoing, today, the ledger, rules, the doctor. Not covered: who may come in (`serve.door`);
forms that say a plan (`plan_pages`); memory and learning (`memory_pages`); phones away from home.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, cast

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Lifespan

from hearth import config
from hearth.agent import Agent
from hearth.doctor import examine
from hearth.errors import HearthError, NotFound, RequestError
from hearth.formats.terminal_text import clean, plan_lines
from hearth.guard.egress.ledger import Ledger
from hearth.learning import skills
from hearth.learning.skills import Skill
from hearth.memory.answers.recollection import sentence
from hearth.memory.facts.fact_store import Fact
from hearth.memory.inquiry.asking_mails import waiting_for
from hearth.memory.routines import propose_routines
from hearth.protocols import CallContext, Reply, Witness
from hearth.serve.desk import MAX_REQUEST_CHARACTERS, Caller, Desk, View
from hearth.serve.door import Door
from hearth.serve.episode_report import ShownEpisode, picture_of, shown_episode
from hearth.serve.history_view import history_view
from hearth.serve.pages.page_parts import MOST_DIGITS, Home, Templates, caller_of, done_soon, field, fields, number_in
from hearth.serve.phones.paired import Phone, Phones
from hearth.serve.ringing import EndedRing, Ring, end, open_rings, ring_on, snooze
from hearth.tools.pim.calendar import find_events
from hearth.tools.pim.reminders import find_reminders, still_due
from hearth.tools.pim.servers.subscriptions import FeedState, feeds_of, states
from hearth.types import Episode, Plan, Step

_N_TALK = 20
_N_HISTORY = 200
_N_FULL = 20
"""Of the history, how many are shown in full."""
_N_LEDGER = 100
_N_WAITING, _N_SUGGESTED, _N_LETTERS = 10, 5, 5
_MOST_BYTES_SHOWN = 4000
_LOOK_EVERY_S = 0.05
"""How often the events look whether something changed: a comparison while nothing does."""
_LOOK_FOR_PHONE_S = 1.0
"""How soon a phone that was taken out hears nothing more."""
_REPLIES: Mapping[str, Reply] = {"yes": "once", "always": "always", "no": "no", "never": "never"}
PAGES = (
    ("Talk", "/"), ("Today", "/today"), ("Memory", "/memory"), ("Learning", "/learning"), ("History", "/history"),
    ("Home", "/home"), ("Video", "/video"), ("Skills", "/skills"), ("What left", "/ledger"), ("Rules", "/rules"),
    ("Phones", "/phones"), ("Settings", "/settings"), ("Doctor", "/doctor"),
)  # fmt: skip
"""Title and path of each page, as the head of every page names them."""


@dataclass(frozen=True, slots=True)
class TalkTurn:
    """A finished request as the conversation shows it."""

    shown: ShownEpisode
    can_undo: bool
    is_undone: bool
    asked_by: str = ""
    """The program that asked it, which is no part of the owner's conversation; empty: the owner."""


class Page:
    """The routes of the page, over one desk."""

    def __init__(self, desk: Desk, home: Home, templates: Templates) -> None:
        self._desk = desk
        self._templates = templates
        self._home = home
        self._door: Door | None = None

    def application(self, more: list[BaseRoute], lifespan: Lifespan[Starlette] | None = None) -> Starlette:
        """Return the application, with further routes beside the page's, and what runs beside them."""
        static = files("hearth.serve") / "static"
        routes: list[BaseRoute] = [
            Route("/", self.talk),
            Route("/enter", self.enter),
            Route("/events", self.events),
            Route("/today", self.today),
            Route("/today/more", self.today_more),
            Route("/ledger", self.ledger),
            Route("/rules", self.rules),
            Route("/rules/try", self.try_rules, methods=["POST"]),
            Route("/history", self.history),
            Route("/history/{id}", self.one),
            Route("/doctor", self.doctor),
            Route("/ask", self.ask, methods=["POST"]),
            Route("/answer", self.answer, methods=["POST"]),
            Route("/drop", self.drop, methods=["POST"]),
            Route("/undo", self.undo, methods=["POST"]),
            Route("/ring", self.ring, methods=["POST"]),
            Route("/mail/seen", self.mail_seen, methods=["POST"]),
            Mount("/static", StaticFiles(directory=str(static)), name="static"),
            *more,
        ]
        handlers = {HearthError: self._refused, 404: self._unknown}
        return Starlette(routes=routes, exception_handlers=cast("Mapping[Any, Any]", handlers), lifespan=lifespan)

    def behind(self, door: Door) -> None:
        """Learn of the door, which knows the key that `/enter` is shown."""
        self._door = door

    async def _refused(self, request: Request, error: Exception) -> Response:
        """Say what went wrong: on a page to who turned to one, as data to a script."""
        status = 404 if isinstance(error, NotFound) else 400
        if request.method == "GET":
            return self._templates.fault(clean(str(error)), status)
        return JSONResponse({"says": clean(str(error))}, status)

    async def _unknown(self, request: Request, error: Exception) -> Response:  # noqa: ARG002
        return self._templates.fault("There is no such page.", 404)

    # ── Coming in ─────────────────────────────────────────────────────────────────────────────────────────

    async def enter(self, request: Request) -> Response:
        """Take the key from the link, give the browser its cookie, and go on to the page without the key."""
        if self._door is None or not self._door.is_key(request.query_params.get("key", "")):
            return Response("This is not the key of this home; open the link that `hearth up` prints.\n", 401)
        answer = RedirectResponse("/", 303)
        name, value = self._door.cookie
        answer.set_cookie(name, value, max_age=31_536_000, httponly=True, samesite="strict")
        return answer

    # ── Talking ───────────────────────────────────────────────────────────────────────────────────────────

    async def talk(self, request: Request) -> Response:  # noqa: ARG002 - every route is handed the request
        """The conversation, with what goes on now."""
        episodes = self._home.trace.episodes(_N_TALK)
        turns = [self._turn(episode) for episode in reversed(episodes)]
        return self._templates.page("talk.html", "Talk", turns=turns, now=self._now_html(self._desk.view))

    async def ask(self, request: Request) -> Response:
        """Put a request in line; the events tell how it goes."""
        self._desk.ask(await field(request, "text"), caller_of(request)).add_done_callback(_read_fault)
        return JSONResponse({}, 202)

    async def answer(self, request: Request) -> Response:
        """Answer the question that stands; who is second is told so."""
        given = await fields(request)
        reply = _REPLIES.get(given.get("reply", ""))
        if reply is None:
            raise HearthError(f"the answer {given.get('reply', '')!r} is not known; expected {', '.join(_REPLIES)}")
        if not self._desk.answer(given.get("id", ""), reply):
            return JSONResponse({"says": "That was answered already, or is asked no more."}, 409)
        return JSONResponse({})

    async def drop(self, request: Request) -> Response:
        """Take a request out of line that waits for its turn."""
        number = number_in(await field(request, "turn"))
        if number is None or not self._desk.drop(number):
            return JSONResponse({"says": "That one runs already, or is over."}, 409)
        return JSONResponse({"says": "Taken out of line."})

    async def undo(self, request: Request) -> Response:
        """Take back what an episode changed."""
        report = await done_soon(self._desk.undo(await field(request, "id")))
        kept = f" Not taken back: {'; '.join(report.kept)}." if report.kept else ""
        says = f"Taken back: {'; '.join(report.undone) or 'nothing'}.{kept}"
        return JSONResponse({"says": clean(says), "html": self._html_of(self._home.trace.episode(report.episode))})

    async def mail_seen(self, request: Request) -> Response:  # noqa: ARG002 - every route is handed the request
        """Let the mail that is told of be seen."""
        if self._home.mail is not None:
            self._home.mail.seen()
        self._desk.touch()
        return JSONResponse({})

    async def ring(self, request: Request) -> Response:
        """End a ring, with its reminder marked as done where it is still due, or let it ring again later."""
        given = await fields(request)
        try:
            number, minutes = int(given.get("number", "")[:MOST_DIGITS]), int(given.get("minutes", "0")[:MOST_DIGITS])
        except ValueError:
            raise HearthError(f"{given!r} names no ring; reload the page") from None
        ring = next((one for one in open_rings(self._home.store) if one.number == number), None)
        if ring is None:
            return JSONResponse({"says": "That one is over already."}, 409)
        if minutes:
            snooze(self._home.store, number, self._home.now() + dt.timedelta(minutes=min(max(minutes, 1), 1440)))
        elif not (ended := end(self._home.store, number)):
            return JSONResponse({"says": "That one is over already."}, 409)
        elif await run_in_threadpool(
            still_due, replace(self._home.call, now=self._home.now()), [(ring.reminder, ring.due)]
        ):
            self._complete(ring, ended, caller_of(request))
        self._desk.touch()
        return JSONResponse({})

    def _complete(self, ring: Ring, ended: Sequence[EndedRing], caller: Caller) -> None:
        """Mark a ring's reminder as done; where that is refused or fails, it rings on. Raises: RequestError."""

        def look(done: Future[Episode]) -> None:
            if done.cancelled() or done.exception() is not None or done.result().answer.status != "done":
                ring_on(self._home.store, ended)
                self._desk.touch()

        plan = Plan((Step("complete_reminder", {"reminder": ring.reminder}),), planner="page")
        try:
            self._desk.carry_out(f"“{ring.text}” is done", plan, caller).add_done_callback(look)
        except HearthError:
            ring_on(self._home.store, ended)
            raise

    async def events(self, request: Request) -> Response:
        """Tell a browser what changes, from now on."""
        return StreamingResponse(self._changes(request), media_type="text/event-stream")

    async def _changes(self, request: Request) -> AsyncIterator[str]:
        known = self._known(request.query_params.get("last", ""))
        told: object = None
        version = -1
        phone: Phone | None = request.scope.get("hearth.phone")
        looked = 0.0
        while True:
            if phone is not None and time.monotonic() - looked > _LOOK_FOR_PHONE_S:
                looked = time.monotonic()
                if not Phones(self._home.store).is_in(phone.number):
                    return
            view = self._desk.view
            is_going_on = bool(view.turns) and view.asked is None  # a plan fills; while a question stands nothing does
            if view.version != version or is_going_on:
                html = self._now_html(view)
                if html != told:
                    yield _event("now", {"html": html})
                    told = html
            if view.version != version:
                for episode in self._finished_since(known):
                    known.add(episode.id)
                    yield _event("turn", {"id": episode.id, "html": self._html_of(episode)})
                version = view.version
            await asyncio.sleep(_LOOK_EVERY_S)

    def _known(self, last: str) -> set[str]:
        """Return the requests that a browser has, by the last of them."""
        ids = [episode.id for episode in self._home.trace.episodes(_N_TALK)]
        return set(ids[ids.index(last) :]) if last in ids else set()

    def _finished_since(self, known: set[str]) -> list[Episode]:
        """Return what came after all that is known: also where the last of it was forgotten meanwhile."""
        found = itertools.takewhile(lambda episode: episode.id not in known, self._home.trace.episodes(_N_TALK))
        return list(found)[::-1]

    def _now_html(self, view: View) -> str:
        """What goes on: rings, the question, the request with its plan so far, what waits."""
        picture = None
        if view.asked is not None and view.asked.plan is not None:
            picture = picture_of(view.asked.plan, (), self._home.specs)
        elif view.turns:
            left = next(iter(self._home.trace.unfinished()), None)
            if left is not None and left.plan is not None:
                picture = picture_of(left.plan, left.results, self._home.specs)
        zone = self._home.now().tzinfo
        rings = [(ring, ring.due.astimezone(zone)) for ring in open_rings(self._home.store)]
        letters = self._home.mail.letters if self._home.mail is not None else ()
        newest = letters[::-1][:_N_LETTERS]
        return self._templates.fragment(
            "now.html", view=view, picture=picture, rings=rings, letters=newest, n_mails=len(letters)
        )

    def _turn(self, episode: Episode) -> TalkTurn:
        calls = self._home.trace.calls(episode.id)
        changed = [c for c in calls if c.started is not None and c.started.effect == "change" and c.result is not None]
        done = [c for c in changed if c.result is not None and c.result.status == "done"]
        return TalkTurn(
            shown_episode(0, episode, self._home.specs),
            can_undo=any(not call.is_undone for call in done),
            is_undone=bool(done) and all(call.is_undone for call in done),
            asked_by=episode.request.asked_by,
        )

    def _html_of(self, episode: Episode) -> str:
        return self._templates.fragment("turn.html", turn=self._turn(episode))

    # ── Looking ───────────────────────────────────────────────────────────────────────────────────────────

    async def today(self, request: Request) -> Response:  # noqa: ARG002
        """What comes: today's and tomorrow's events, open reminders."""
        found = self._desk.use(lambda agent: _day(agent.call_context()))
        synced = self._home.sync_states()
        try:
            events, reminders, feeds = await done_soon(found)
        except HearthError:
            return self._templates.page("today.html", "Today", waits=True, events=[], reminders=[], synced=synced)
        return self._templates.page(
            "today.html", "Today", waits=False, events=events, reminders=reminders, now=self._home.now(),
            synced=synced, feeds=feeds,
        )  # fmt: skip

    async def today_more(self, request: Request) -> Response:  # noqa: ARG002
        """Who waits for an answer, and what is suggested: a piece of the page, as reading the mails takes a moment."""
        specs = self._home.specs

        def look(agent: Agent) -> tuple[list[Witness], Sequence[Skill], Sequence[Fact]]:
            call = agent.call_context()
            waiting = [one.witness for one in waiting_for(call, agent.home_answers.passages)]
            proposed = skills.propose(agent.store, specs, call.now)
            propose_routines(agent.store, agent.facts, call.now.tzinfo or dt.UTC, call.now)
            return waiting, proposed, agent.facts.proposed()

        waiting, proposed, facts = await done_soon(self._desk.use(look))
        zone = self._home.now().tzinfo
        repeated = [[clean(line) for line in plan_lines(skill.plan, specs)] for skill in proposed[:_N_SUGGESTED]]
        shown = [(clean(one.where), clean(one.quote)) for one in waiting[:_N_WAITING]]
        html = self._templates.fragment(
            "today_more.html", waiting=shown, n_more=len(waiting) - len(shown), repeated=repeated,
            facts=[clean(sentence(fact, zone)) for fact in facts[:_N_SUGGESTED]],
        )  # fmt: skip
        return HTMLResponse(html)

    async def ledger(self, request: Request) -> Response:  # noqa: ARG002
        """What left this device, byte by byte, and whether the record of it is whole."""

        def read() -> tuple[list[Any], Any]:
            record = Ledger(self._home.store)
            latest = list(record.entries(after=max(0, record.head().count - _N_LEDGER)))
            return [(e, _payload(e.payload)) for e in reversed(latest)], record.verify()

        entries, verdict = await run_in_threadpool(read)
        return self._templates.page("ledger.html", "What left", entries=entries, verdict=verdict)

    async def rules(self, request: Request) -> Response:  # noqa: ARG002
        """Which rule holds for which tool."""
        settings = await run_in_threadpool(config.read_settings, self._home.folder / "hearth.toml")
        asks = [s for s in self._home.specs.values() if s.effect != "none" and s.name not in settings.policy]
        return self._templates.page("rules.html", "Rules", settings=settings, asks=asks)

    async def try_rules(self, request: Request) -> Response:
        """Say which rule would decide about a request, and why; nothing runs and nobody is asked."""
        text = (await field(request, "text")).strip()
        if not text or len(text) > MAX_REQUEST_CHARACTERS:
            raise RequestError(f"a request has 1 to {MAX_REQUEST_CHARACTERS:,} characters; say what to try")
        steps, says = await done_soon(self._desk.use(lambda agent: _judged(agent, text)))
        return self._templates.piece("judged.html", text=text, steps=steps, says=says)

    async def history(self, request: Request) -> Response:
        """What was asked and done, the newest first."""
        words = request.query_params.get("q", "").casefold().split()
        found = await run_in_threadpool(self._home.trace.episodes, _N_HISTORY)
        shown = [e for e in found if all(w in f"{e.request.typed} {e.answer.text}".casefold() for w in words)]
        view = history_view(shown, self._home.specs, n_full=_N_FULL, leads_to="/history/")
        view = replace(view, words=" ".join(words))
        return self._templates.page("history.html", "History", frame="base.html", heading="History", view=view)

    async def one(self, request: Request) -> Response:
        """One request, whole."""
        episode = self._home.trace.episode(request.path_params["id"])
        return self._templates.page("one.html", "One request", turn=self._turn(episode))

    async def doctor(self, request: Request) -> Response:  # noqa: ARG002
        """Whether everything works."""
        findings = await run_in_threadpool(examine, self._home.folder, self._home.environ)
        return self._templates.page("doctor.html", "Doctor", findings=findings)


def _judged(agent: Agent, text: str) -> tuple[list[tuple[str, str, str]], str]:
    """Return verdict, tool and reason of each step of a request's plan, and what is said of the whole."""
    request = agent.request(text)
    proposal = agent.plan(request, agent.tools.specs)
    if not isinstance(proposal, Plan):
        return [], f"No plan, so no rule was tried: {clean(proposal.reason)}"
    judgement = agent.monitor.judge(proposal, occasion=agent.occasion(request, proposal))
    steps: list[tuple[str, str, str]] = [
        (ruling.verdict, step.tool, clean(f"{ruling.reason} [{ruling.rule}]"))
        for step, ruling in zip(proposal.steps, judgement.steps)
    ]
    return steps, ""


@dataclass(frozen=True, slots=True)
class ShownFeed:
    """A published calendar as the page tells it; its address may be a secret."""

    name: str
    host: str
    n_events: int
    fault: str
    fetched: dt.datetime | None


def _day(call: CallContext) -> tuple[list[Any], list[Any], list[ShownFeed]]:
    """Read two days' events, each with the published calendar it is of, all open reminders, and these calendars."""
    start = call.now.replace(hour=0, minute=0, second=0, microsecond=0)
    known = states(call)
    feeds = feeds_of(call.settings)
    found = find_events(call, start=start, end=start + dt.timedelta(days=2))
    names = {feed.name for feed in feeds}
    events = [(event, name if (name := event.id.partition(":")[0]) in names else "") for event in found]
    shown = []
    for feed in feeds:
        state = known.get(feed.name, FeedState())
        shown.append(ShownFeed(feed.name, clean(feed.host), state.n_events, clean(state.fault), state.fetched_at))
    return events, find_reminders(call), shown


def _payload(payload: bytes | None) -> str:
    if payload is None:
        return "what was in it was forgotten"
    return clean(payload[:_MOST_BYTES_SHOWN].decode("utf-8", "backslashreplace"))


def _event(name: str, data: Mapping[str, str]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def _read_fault(done: Future[Episode]) -> None:
    """A request that failed has said so in its record; what has no record is told by the next look at the page."""
    done.exception()
