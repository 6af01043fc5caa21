"""Pages about what is held true and what was learnt: looked through, put right, rolled back, forgotten.

What is forgotten is shown first, and only what was shown goes. From a phone nothing is forgotten and no version put in
another's place.

Covered: facts, demonstrations, requests, all that holds some words; versions. Not covered: people, days and topics,
which `hearth forget` knows.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from hearth.agent import Agent
from hearth.errors import DeniedError, NotFound, RequestError
from hearth.formats.terminal_text import clean
from hearth.learning import unlearning
from hearth.learning.unlearning import Found, Receipt, Sought
from hearth.learning.versions.learned_state import Lineage, Offer, State, Version
from hearth.memory.answers.recollection import sentence
from hearth.memory.facts import FactStore
from hearth.serve.desk import Desk
from hearth.serve.pages.page_parts import MOST_DIGITS, Home, Templates, done_soon, fields, is_phone, number_in
from hearth.storage.database import Store

# ── Work for the desk's thread ─────────────────────────────────────────────────────────────────────────
# Work on what was learnt, for the desk's thread to do: roll back, forget. Each piece of work has a connection of its
# own to the home's database, so that the planner notices what changed, as it does when another process writes there.
# Covered: what is forgotten is what was shown; afterwards nothing of it is in the memory of the running agent. Not
# covered: learning (`learning_process`).


@contextlib.contextmanager
def opened_state(agent: Agent) -> Iterator[State]:
    """Open what an agent's home has learnt, beside the agent, which holds the home's lock."""
    with Store.open(agent.home / "hearth.db") as store:
        yield State.open(agent.home, agent.encoder, Offer(agent.tools.specs), store=store)


def rolled_back(agent: Agent, number: int) -> tuple[Version, tuple[str, ...]]:
    """Make a version plan again, as `State.rollback`. Raises: NotFound."""
    with opened_state(agent) as state:
        return state.rollback(number)


# ── Forgetting ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class WouldGo:
    """What would be forgotten, as it is shown."""

    groups: tuple[tuple[str, tuple[str, ...]], ...]
    """What it is, and its texts."""
    notes: tuple[str, ...]
    digest: str
    """Of all of it: only what was shown is forgotten."""


def would_go(agent: Agent, sought: Sought) -> WouldGo:
    """Say what would be forgotten; nothing is. Raises: NotFound: Nothing of that is held."""
    found = unlearning.find(agent.store, sought)
    if found.is_empty:
        raise NotFound("nothing of that is held; there is nothing to forget")
    groups = (
        ("Taught", [entry.demonstration.request for entry in found.demonstrations]),
        ("Remembered", [text for _, text in found.events]),
        ("Asked", [text for _, text in found.episodes]),
        ("With it", found.attached.said),
        *((held.holder.capitalize(), list(held.texts)) for held in found.held),
        ("Waits for the cloud", [text for _, text in found.questions]),
    )
    notes = [str(count) for held in found.held for count in held.counts if count.n]
    notes += [f"Stays: {held.stays}" for held in found.held if held.stays and not held.is_empty]
    if found.sent:
        notes.append(f"The bytes of {len(found.sent)} messages in the ledger; that they left stays.")
    if found.episodes:
        notes.append("What these requests changed in your files stays, and can no longer be undone by Hearth.")
    shown = tuple((name, tuple(map(clean, texts))) for name, texts in groups if texts)
    return WouldGo(shown, tuple(map(clean, notes)), _digest(found))


def forgotten(agent: Agent, sought: Sought, digest: str) -> Receipt:
    """Forget for good what `would_go` showed.

    Raises:
        RequestError: It is something else by now; nothing was forgotten.
    """
    with opened_state(agent) as state:
        found = unlearning.find(state.store, sought)
        if _digest(found) != digest:
            raise RequestError("this is not what was shown any more; look again, and then forget it")
        receipt = unlearning.forget(state, found)
    agent.reread()
    return receipt


def _digest(found: Found) -> str:
    held = [(one.holder, sorted(one.texts), [str(count) for count in one.counts]) for one in found.held]
    taught = sorted((entry.id, entry.digest) for entry in found.demonstrations)
    what = (taught, found.events, found.episodes, found.sent, found.attached, held, found.questions)
    return hashlib.sha256(repr(what).encode("utf-8", "surrogatepass")).hexdigest()[:32]


# ── The pages ──────────────────────────────────────────────────────────────────────────────────────────


_FEWEST_LETTERS = 3
"""Of words that all is forgotten by: fewer stand in nearly everything."""
_MOST_LETTERS = 200
_N_GONE_SHOWN = 8
CURVE_WIDTH, CURVE_HEIGHT = 640, 200
_MARGIN = 36


@dataclass(frozen=True, slots=True)
class Curve:
    """The learning curve, laid out: a point for each version that was judged."""

    points: tuple[tuple[float, float, int, float], ...]
    """Place, number and score of each."""
    line: str
    """The points as SVG takes them."""
    marks: tuple[tuple[float, str], ...]
    """Heights with their scores."""


class MemoryPages:
    """The routes of these pages, over one desk."""

    def __init__(self, desk: Desk, home: Home, templates: Templates) -> None:
        self._desk = desk
        self._home = home
        self._templates = templates

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/memory", self.memory),
            Route("/memory/form", self.form, methods=["POST"]),
            Route("/memory/amend", self.amend, methods=["POST"]),
            Route("/memory/end", self.end, methods=["POST"]),
            Route("/memory/confirm", self.confirm, methods=["POST"]),
            Route("/forget-fact", self.revoke, methods=["POST"]),
            Route("/learning", self.learning),
            Route("/learning/rollback", self.roll_back, methods=["POST"]),
            Route("/forget/look", self.look, methods=["POST"]),
            Route("/forget", self.forget, methods=["POST"]),
        ]

    # ── Facts ─────────────────────────────────────────────────────────────────────────────────────────────

    async def memory(self, request: Request) -> Response:
        """What is held true, of whom, since when; what waits for the owner's word."""
        words = request.query_params.get("q", "")
        on = request.query_params.get("on", "")
        then = self._day_after(on) if on else None
        store = FactStore(self._home.store)
        zone = self._home.now().tzinfo
        facts = [(fact, clean(sentence(fact, zone))) for fact in store.believed(as_of=then)]
        shown = [(fact, said) for fact, said in facts if all(w in said.casefold() for w in words.casefold().split())]
        proposed = [(fact, clean(sentence(fact, zone))) for fact in store.proposed()] if not on and not words else []
        return self._templates.page(
            "memory.html", "Memory", facts=shown, n_all=len(facts), words=words, on=on, proposed=proposed,
            is_computer=not is_phone(request),
        )  # fmt: skip

    async def form(self, request: Request) -> Response:
        """What a fact is put right with, and how it came to be held."""
        given = await fields(request)
        store, zone = FactStore(self._home.store), self._home.now().tzinfo
        history = store.history(_number(given))
        events = list(dict.fromkeys(event for fact in history for event in fact.events))
        marks = ", ".join("?" * len(events))
        rows = self._home.store.query(f"SELECT kind, text FROM event WHERE id IN ({marks})", events)  # noqa: S608 - question marks only
        return self._templates.piece(
            "fact_form.html", fact=history[-1], said=clean(sentence(history[-1], zone)), today=self._home.now().date(),
            history=[(fact, clean(sentence(fact, zone))) for fact in history],
            rests_on=[(row["kind"], clean(row["text"][:300])) for row in rows],
        )  # fmt: skip

    async def amend(self, request: Request) -> Response:
        """Put another value in the place of one that was wrong."""
        given = await fields(request)
        number, value, at = _number(given), " ".join(given.get("value", "").split()), self._home.now()
        fact = await done_soon(self._desk.use(lambda agent: agent.facts.amend(number, value, at)))
        return JSONResponse({"says": f"Held true now: {clean(sentence(fact, at.tzinfo))}.", "goto": "/memory"})

    async def end(self, request: Request) -> Response:
        """Say that a fact was so and is no longer, since a day."""
        given = await fields(request)
        number, at = _number(given), self._home.now()
        since = min(self._day(given.get("on", "")), at)
        fact = await done_soon(self._desk.use(lambda agent: agent.facts.end(number, since, at)))
        return JSONResponse({"says": f"It was so: {clean(sentence(fact, at.tzinfo))}.", "goto": "/memory"})

    async def confirm(self, request: Request) -> Response:
        """Hold true what was only proposed."""
        number, at = _number(await fields(request)), self._home.now()
        await done_soon(self._desk.use(lambda agent: agent.facts.promote(number, at)))
        return JSONResponse({"says": "Held true.", "goto": "/memory"})

    async def revoke(self, request: Request) -> Response:
        """Stop holding a fact true: it never was; what it rests on stays."""
        number, at = _number(await fields(request)), self._home.now()
        await done_soon(self._desk.use(lambda agent: agent.facts.revoke(number, at, "you said so on the page")))
        return JSONResponse({"says": "No longer held true."})

    def _day_after(self, text: str) -> dt.datetime:
        """Return a day's end. Raises: RequestError."""
        try:
            return self._day(text) + dt.timedelta(days=1)
        except OverflowError:
            raise RequestError(f"{text[:40]!r} is no day that ends; write one like 2026-11-19") from None

    def _day(self, text: str) -> dt.datetime:
        """Return a day's beginning. Raises: RequestError."""
        try:
            return dt.datetime.combine(dt.date.fromisoformat(text), dt.time(), self._home.now().tzinfo)
        except (ValueError, OverflowError):
            raise RequestError(f"{text[:40]!r} is no day; write it like 2026-11-19") from None

    # ── What was learnt ───────────────────────────────────────────────────────────────────────────────────

    async def learning(self, request: Request) -> Response:
        """What was taught, the versions made of it, and how good each was."""
        store = self._home.store
        rows = store.query("SELECT source, count(*) AS n FROM demonstration GROUP BY source ORDER BY n DESC")
        own = store.query(
            "SELECT id, request, source FROM demonstration WHERE source <> 'shipped' ORDER BY rowid DESC LIMIT 100"
        )
        lineage = Lineage(store)
        versions, current = lineage.versions(), lineage.current()
        return self._templates.page(
            "learning.html", "Learning", sources=rows, own=own, versions=versions, curve=curve_of(versions),
            current=current.number if current else None, width=CURVE_WIDTH, height=CURVE_HEIGHT,
            is_computer=not is_phone(request),
        )  # fmt: skip

    async def roll_back(self, request: Request) -> Response:
        """Make another version plan; what came after it is set aside, and comes back with a later one."""
        number = _number(await self._of_computer(request))
        version, lost = await done_soon(self._desk.use(lambda agent: rolled_back(agent, number)))
        more = f" {len(lost)} of its demonstrations were forgotten since." if lost else ""
        return JSONResponse({"says": f"Version {version.number} plans again.{more}", "goto": "/learning"})

    # ── Forgetting ────────────────────────────────────────────────────────────────────────────────────────

    async def look(self, request: Request) -> Response:
        """Show what would be forgotten, and ask."""
        given = await self._of_computer(request)
        sought = _sought(given)
        found = await done_soon(self._desk.use(lambda agent: would_go(agent, sought)))
        what, kind = given["what"], given["kind"]
        into = f"forget-{what}" if kind == "request" else "change"
        return self._templates.piece(
            "would_go.html", found=found, what=what, kind=kind, into=into, n_shown=_N_GONE_SHOWN
        )

    async def forget(self, request: Request) -> Response:
        """Forget for good what was shown."""
        given = await self._of_computer(request)
        sought, digest = _sought(given), given.get("digest", "")
        receipt = await done_soon(self._desk.use(lambda agent: forgotten(agent, sought, digest)))
        left = f" Still in {', '.join(receipt.found_in)}: remove it there by hand." if receipt.found_in else ""
        failed = f" {'; '.join(receipt.failed)}." if receipt.failed else ""
        says = f"Forgotten, {receipt.searched} files searched afterwards.{left}{failed}"
        return JSONResponse({"says": clean(says), "html": self._templates.fragment("forgotten.html", says=clean(says))})

    async def _of_computer(self, request: Request) -> dict[str, str]:
        """Return the fields. Raises: DeniedError: From a phone."""
        if is_phone(request):
            raise DeniedError("this is done at the computer itself, not from a phone")
        return await fields(request)


def _number(given: dict[str, str]) -> int:
    """Raises: NotFound."""
    text = given.get("id", "")
    number = number_in(text)
    if number is None:
        raise NotFound(f"{text[:MOST_DIGITS]!r} is none of these; reload the page")
    return number


def _sought(given: dict[str, str]) -> Sought:
    """Return what a form wants forgotten. Raises: RequestError, NotFound."""
    kind, what = given.get("kind", ""), given.get("what", "")
    match kind:
        case "demonstration":
            return Sought(demonstrations=(what,))
        case "request":
            return Sought(episode=what)
        case "fact":
            return Sought(events=(f"fact:{_number({'id': what})}",))
        case "words" if _FEWEST_LETTERS <= len(what.strip()) <= _MOST_LETTERS:
            return Sought(matching=what.strip())
        case "words":
            raise RequestError(f"words to forget by have {_FEWEST_LETTERS} to {_MOST_LETTERS} letters")
    raise RequestError(f"{kind[:40]!r} cannot be forgotten here; `hearth forget` knows people, days and topics, too")


# ── The curve ─────────────────────────────────────────────────────────────────────────────────────────────


def curve_of(versions: Sequence[Version]) -> Curve | None:
    """Lay out the scores of versions; None with fewer than two that were judged."""
    judged = [(v.number, float(score)) for v in versions if isinstance(score := v.record.get("node_f1"), int | float)]
    if len(judged) < 2:
        return None
    low = math.floor(10 * min(score for _, score in judged)) / 10
    low = min(low, 0.9)
    first, last = judged[0][0], judged[-1][0]

    def height(score: float) -> float:
        return round(CURVE_HEIGHT - _MARGIN - (score - low) / (1 - low) * (CURVE_HEIGHT - 2 * _MARGIN), 1)

    points = tuple(
        (round(_MARGIN + (n - first) / (last - first) * (CURVE_WIDTH - 2 * _MARGIN), 1), height(score), n, score)
        for n, score in judged
    )
    marks = tuple((height(score), f"{score:.2f}") for score in (low, (low + 1) / 2, 1.0))
    return Curve(points, " ".join(f"{x},{y}" for x, y, _, _ in points), marks)
