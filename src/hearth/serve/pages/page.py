"""The page itself: talking, looking back, correcting and changing plans."""

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
from typing import Any, Literal, cast

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
from hearth.errors import HearthError, NotFound, PlanError, RequestError
from hearth.formats.plans import (
    MAX_DEPTH,
    MAX_STEPS,
    canonical,
    check_plan,
    decode_argument,
    encode_argument,
    fits,
    renumbered,
)
from hearth.formats.terminal_text import clean, plan_lines
from hearth.guard.egress.ledger import Ledger
from hearth.learning import skills
from hearth.learning.demonstration_store import Entry
from hearth.learning.skills import Skill
from hearth.memory.answers.recollection import sentence
from hearth.memory.event_memory import propose_routines
from hearth.memory.facts import Fact
from hearth.memory.inquiry.asking_mails import waiting_for
from hearth.protocols import CallContext, Reply, Witness
from hearth.serve.background.ringing import EndedRing, Ring, end, open_rings, ring_on, snooze
from hearth.serve.desk import MAX_REQUEST_CHARACTERS, Caller, Desk, View
from hearth.serve.door import Door, Phone, Phones
from hearth.serve.history import ShownEpisode, history_view, picture_of, shown_episode
from hearth.serve.pages.page_parts import MOST_DIGITS, Home, Templates, caller_of, done_soon, field, fields, number_in
from hearth.tools.pim.calendar import find_events
from hearth.tools.pim.reminders import find_reminders, still_due
from hearth.tools.pim.servers.subscriptions import FeedState, feeds_of, states
from hearth.types import Argument, Episode, Parameter, Plan, Ref, Step, ToolSpec

# ── Page ──────────────────────────────────────────────────────────────────────────────────────────────────
# The page: what a browser gets of a home, and what it sends.
#
# Whole pages come from templates; what goes on is told by server-sent events, a fragment at a time, so that a plan
# fills as it runs and a question appears by itself. Everything shown is escaped by the templates: strangers' text
# stays text.
#
# Covered: talking, questions, undoing, today, the ledger, rules, the doctor. Not covered: who may come in
# (`serve.door`); forms that say a plan ("Plan pages"); memory and learning (`memory_pages`); phones away from home.

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


# ── Plan pages ────────────────────────────────────────────────────────────────────────────────────────────
# Forms that say a plan: what should have been done, and what should be done in place of what is asked about.
#
# A correction teaches and does nothing. A plan put in the place of a question's is checked, ruled on and asked about
# like any other: the form is no yes.
#
# Covered: corrections in words, by form, or that nothing should have been done. Not covered: who may come in
# (`serve.door`).

# ── A plan as a form ───────────────────────────────────────────────────────────────────────────────────
# A plan as a form made from the tools' schemas, and the plan that a filled form says.
# Each step is a part of the form: its tool, and a field for each parameter by type. A field left empty is left out;
# the result of an earlier step is written as in a plan, `<node-0.email>`.
# Covered: every tool, arguments of any shape (what no field can hold is shown as JSON), steps added, removed, given
# another tool. Not covered: whether the plan can be run (`formats.plans`) or may be (`guard`).


PLANNER = "owner's form"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the form, for one parameter."""

    name: str
    """As it is sent: `arg-0-title`."""
    label: str
    about: str
    kind: Literal["line", "text", "list", "choice", "json"]
    value: str
    is_required: bool
    choices: tuple[str, ...] = ()
    """For `choice`: what it may be."""
    results: tuple[tuple[str, str], ...] = ()
    """Results of earlier steps that fit: as written, and in words."""


@dataclass(frozen=True, slots=True)
class StepPart:
    """The part of the form for one step."""

    number: int
    tool: str
    """Empty: none was chosen yet."""
    about: str
    fields: tuple[Field, ...]
    """Of what is required or given."""
    more: tuple[Field, ...]
    """Of what may be given."""
    after: str
    """Steps it waits for though it uses nothing of theirs: `0,2`."""


# ── From a plan to its form ───────────────────────────────────────────────────────────────────────────────


def parts_of(plan: Plan, tools: Mapping[str, ToolSpec]) -> tuple[StepPart, ...]:
    """Return the parts of a plan's form; one part without a tool for a plan without steps."""
    return tuple(_part(k, step, plan, tools) for k, step in enumerate(plan.steps or (Step(""),)))


def _part(k: int, step: Step, plan: Plan, tools: Mapping[str, ToolSpec]) -> StepPart:
    spec = tools.get(step.tool)
    after = ",".join(map(str, step.after))
    if spec is None:
        return StepPart(k, "", "", (), (), after)
    shown: list[Field] = []
    more: list[Field] = []
    for parameter in spec.parameters:
        field = _field(k, parameter, step.arguments.get(parameter.name), plan, tools)
        (shown if parameter.is_required or field.value else more).append(field)
    return StepPart(k, spec.name, clean(spec.description), tuple(shown), tuple(more), after)


def _field(k: int, parameter: Parameter, value: Argument, plan: Plan, tools: Mapping[str, ToolSpec]) -> Field:
    kind, text = _written(parameter, value)
    results = []
    for earlier, step in enumerate(plan.steps[:k]):
        source = tools.get(step.tool)
        if source is not None:
            whole: dict[tuple[str, ...], str] = {(): source.returns}
            whole |= {(name,): type_ for name, type_ in source.fields.items()}
            for path, given in whole.items():
                if fits(given, parameter.type):
                    said = (
                        f"{path[0].replace('_', ' ')} of step {earlier + 1}"
                        if path
                        else f"result of step {earlier + 1}"
                    )
                    results.append((str(Ref(earlier, path)), said))
    choices = parameter.enum or (("yes", "no") if canonical(parameter.type) == "boolean" else ())
    if kind == "choice" and text and text not in choices:
        choices = (text, *choices)  # what the plan says is shown, also where it is wrong
    return Field(
        name=f"arg-{k}-{parameter.name}",
        label=parameter.name.replace("_", " "),
        about=clean(parameter.description),
        kind=kind,
        value=text,
        is_required=parameter.is_required,
        choices=choices,
        results=tuple(results),
    )


def _empty(parameter: Parameter) -> Literal["line", "text", "list", "choice"]:
    """Return the kind of field for a parameter that has no value yet."""
    kind = canonical(parameter.type)
    if parameter.enum or kind == "boolean":
        return "choice"
    if kind.startswith("list["):
        return "list"
    return "text" if kind in ("text", "any") else "line"


def _written(parameter: Parameter, value: Argument) -> tuple[Literal["line", "text", "list", "choice", "json"], str]:
    """Return the kind of field that can hold a value, and the value as it stands in it."""
    if value is None:
        return _empty(parameter), ""
    kind = canonical(parameter.type)
    is_closed = bool(parameter.enum) or kind == "boolean"
    plain = encode_argument(value)
    if kind.startswith("list["):
        items = plain if isinstance(plain, list) else [plain]
        if all(isinstance(item, str) and item.strip() == item and item and "\n" not in item for item in items):
            return "list", "\n".join(map(str, items))
    elif is_closed and not isinstance(value, Ref | list | dict):
        text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
        return "choice", text
    elif isinstance(plain, str):
        is_line = kind not in ("text", "any") and "\n" not in plain
        return ("line" if is_line or isinstance(value, Ref) else "text"), plain
    elif isinstance(value, int | float) and kind in ("integer", "number"):
        return "line", str(value)
    return "json", json.dumps(plain, ensure_ascii=False)


# ── From a form to its plan ───────────────────────────────────────────────────────────────────────────────


def plan_in(given: Mapping[str, str], tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan that a form says; a step whose tool was not chosen has an empty one.

    Raises:
        PlanError: It has too many steps, or a field holds no JSON where that was asked for.
    """
    steps: list[Step] = []
    while (tool := given.get(f"tool-{len(steps)}")) is not None:
        if len(steps) == MAX_STEPS:
            raise PlanError(f"the form has more than {MAX_STEPS} steps; split the request")
        k = len(steps)
        spec = tools.get(tool)
        arguments: dict[str, Argument] = {}
        for parameter in spec.parameters if spec is not None else ():
            text = given.get(f"arg-{k}-{parameter.name}", "").replace("\r\n", "\n")
            if text.strip():
                is_json = given.get(f"kind-{k}-{parameter.name}") == "json"
                arguments[parameter.name] = _read(parameter, text, is_json=is_json)
        after = tuple(int(one) for one in given.get(f"after-{k}", "").split(",") if _is_step(one))
        steps.append(Step(tool if spec is not None else "", arguments, after))
    return Plan(tuple(steps), 1.0, PLANNER)


def _is_step(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_STEPS))


def _read(parameter: Parameter, text: str, *, is_json: bool) -> Argument:
    kind = canonical(parameter.type)
    plain: Any = text
    if is_json:
        try:
            plain = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"{parameter.name!r} is no JSON ({error}); it takes a {parameter.type}") from None
        if _is_deep(plain):
            raise PlanError(f"{parameter.name!r} is nested deeper than {MAX_DEPTH} levels; flatten it")
    elif kind.startswith("list["):
        plain = [line.strip() for line in text.splitlines() if line.strip()]
    elif kind == "boolean" and text in ("yes", "no"):
        plain = text == "yes"
    elif kind not in ("text", "any"):
        plain = text.strip()
    return decode_argument(plain)


def _is_deep(plain: Any) -> bool:
    """Return whether lists and records lie in each other too deep for what walks through them."""
    level = [plain]
    for _ in range(MAX_DEPTH + 2):
        level = [
            inner
            for one in level
            if isinstance(one, list | dict)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(level)


def shaped(plan: Plan, what: str) -> Plan:
    """Return the plan with a step more (`add`), or without one (`remove-2`); what used its result is left empty."""
    if what == "add":
        return replace(plan, steps=(*plan.steps, Step("")))
    verb, _, number = what.partition("-")
    if verb != "remove" or not _is_step(number) or int(number) >= len(plan.steps):
        return plan
    gone = int(number)
    place = {k: k - (k > gone) for k in range(len(plan.steps)) if k != gone}
    steps = []
    for k, step in enumerate(plan.steps):
        if k != gone:
            kept = _without(step, gone)
            strays = {n: n for n in kept.needs() if n not in place}  # to no step: the check says so
            steps.append(renumbered(kept, {**strays, **place}))
    return replace(plan, steps=tuple(steps))


def _without(step: Step, gone: int) -> Step:
    """Return a step that needs nothing of another one."""
    arguments = {n: v for n, v in step.arguments.items() if gone not in Step("", {n: v}).needs()}
    return replace(step, arguments=arguments, after=tuple(k for k in step.after if k != gone))


# ── The pages ──────────────────────────────────────────────────────────────────────────────────────────


_OVER = "That was answered already, or is asked no more."


class PlanPages:
    """The routes of these forms, over one desk."""

    def __init__(self, desk: Desk, home: Home, templates: Templates) -> None:
        self._desk = desk
        self._home = home
        self._templates = templates

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/correct", self.correct, methods=["POST"]),
            Route("/correct/form", self.correction_form, methods=["POST"]),
            Route("/correct/plan", self.correct_by_form, methods=["POST"]),
            Route("/change/form", self.change_form, methods=["POST"]),
            Route("/change", self.change, methods=["POST"]),
        ]

    # ── Corrections ───────────────────────────────────────────────────────────────────────────────────────

    async def correct(self, request: Request) -> Response:
        """Learn what should have been understood, in other words; without any, that nothing should have been done."""
        given = await fields(request)
        return _learnt(await done_soon(self._desk.correct(given.get("id", ""), given.get("say", ""))))

    async def correction_form(self, request: Request) -> Response:
        """What should have been done, as a form: at first, what was."""
        given = await fields(request)
        episode = self._home.trace.episode(given.get("id", ""))
        return self._form(given, episode.plan, f"wrong-{episode.id}", "/correct/plan", "Learn that")

    async def correct_by_form(self, request: Request) -> Response:
        """Learn the plan that the form says."""
        given = await fields(request)
        plan = check_plan(plan_in(given, self._home.specs), self._home.specs)
        return _learnt(await done_soon(self._desk.correct(given.get("id", ""), "", plan)))

    # ── In the place of what is asked about ───────────────────────────────────────────────────────────────

    async def change_form(self, request: Request) -> Response:
        """What is asked about, as a form."""
        given = await fields(request)
        asked = self._desk.view.asked
        if asked is None or asked.id != given.get("id", ""):
            return JSONResponse({"says": _OVER}, 409)
        if asked.plan is None:
            raise RequestError("this question is answered with yes or no; say anew what you want")
        return self._form(given, asked.plan, "change", "/change", "Do it this way")

    async def change(self, request: Request) -> Response:
        """Do this in the place of what is asked about, which is answered with no."""
        given = await fields(request)
        plan = check_plan(plan_in(given, self._home.specs), self._home.specs)
        done = self._desk.change(given.get("id", ""), plan, caller_of(request))
        if done is None:
            return JSONResponse({"says": _OVER}, 409)
        done.add_done_callback(lambda ended: None if ended.cancelled() else ended.exception())
        return JSONResponse({"says": "Changed."})

    def _form(self, given: dict[str, str], plan: Plan | None, into: str, to: str, does: str) -> Response:
        """Return a plan's form, or the form that was sent in the shape that was asked for."""
        if "tool-0" in given:
            plan = shaped(plan_in(given, self._home.specs), given.get("shape", ""))
        is_change = to == "/change"
        return self._templates.piece(
            "plan_form.html", parts=parts_of(plan or Plan(()), self._home.specs), tools=sorted(self._home.specs),
            id=given["id"], into=into, to=to, to_shape="/change/form" if is_change else "/correct/form", does=does,
            heading="What should I do?" if is_change else "What should I have done?",
            about="You are asked again before it is done." if is_change else "This teaches, and does nothing now.",
        )  # fmt: skip


def _learnt(entry: Entry) -> Response:
    did = ", then ".join(step.tool.replace("_", " ") for step in entry.demonstration.plan.steps) or "do nothing"
    return JSONResponse({"says": clean(f"Learnt: I will {did} next time.")})
