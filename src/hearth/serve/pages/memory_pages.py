"""Pages about what is held true and what was learnt: looked through, put right, rolled back, forgotten.

What is forgotten is shown first, and only what was shown goes. From a phone nothing is forgotten and no version put in
another's place.

Covered: facts, demonstrations, requests, all that holds some words; versions. Not covered: people, days and topics,
which `hearth forget` knows.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from hearth.errors import DeniedError, NotFound, RequestError
from hearth.learning.unlearning import Sought
from hearth.learning.versions.lineage import Lineage, Version
from hearth.memory.answers.recollection import sentence
from hearth.memory.facts.fact_store import FactStore
from hearth.serve import learned_work
from hearth.serve.desk import Desk
from hearth.serve.pages.page_parts import MOST_DIGITS, Home, Templates, done_soon, fields, number_in
from hearth.terminal import clean

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
            is_computer=not _is_phone(request),
        )  # fmt: skip

    async def form(self, request: Request) -> Response:
        """What a fact is put right with, and how it came to be held."""
        given = await fields(request)
        store, zone = FactStore(self._home.store), self._home.now().tzinfo
        history = store.history(_number(given))
        events = list(dict.fromkeys(event for fact in history for event in fact.events))
        marks = ", ".join("?" * len(events))
        rows = self._home.store.query(f"SELECT kind, text FROM event WHERE id IN ({marks})", events)  # noqa: S608 - question marks only
        return self._shown(
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
            is_computer=not _is_phone(request),
        )  # fmt: skip

    async def roll_back(self, request: Request) -> Response:
        """Make another version plan; what came after it is set aside, and comes back with a later one."""
        number = _number(await self._of_computer(request))
        version, lost = await done_soon(self._desk.use(lambda agent: learned_work.rolled_back(agent, number)))
        more = f" {len(lost)} of its demonstrations were forgotten since." if lost else ""
        return JSONResponse({"says": f"Version {version.number} plans again.{more}", "goto": "/learning"})

    # ── Forgetting ────────────────────────────────────────────────────────────────────────────────────────

    async def look(self, request: Request) -> Response:
        """Show what would be forgotten, and ask."""
        given = await self._of_computer(request)
        sought = _sought(given)
        found = await done_soon(self._desk.use(lambda agent: learned_work.would_go(agent, sought)))
        what, kind = given["what"], given["kind"]
        into = f"forget-{what}" if kind == "request" else "change"
        return self._shown("would_go.html", found=found, what=what, kind=kind, into=into, n_shown=_N_GONE_SHOWN)

    async def forget(self, request: Request) -> Response:
        """Forget for good what was shown."""
        given = await self._of_computer(request)
        sought, digest = _sought(given), given.get("digest", "")
        receipt = await done_soon(self._desk.use(lambda agent: learned_work.forgotten(agent, sought, digest)))
        left = f" Still in {', '.join(receipt.found_in)}: remove it there by hand." if receipt.found_in else ""
        failed = f" {'; '.join(receipt.failed)}." if receipt.failed else ""
        says = f"Forgotten, {receipt.searched} files searched afterwards.{left}{failed}"
        return JSONResponse({"says": clean(says), "html": self._templates.fragment("forgotten.html", says=clean(says))})

    async def _of_computer(self, request: Request) -> dict[str, str]:
        """Return the fields. Raises: DeniedError: From a phone."""
        if _is_phone(request):
            raise DeniedError("this is done at the computer itself, not from a phone")
        return await fields(request)

    def _shown(self, template: str, **values: object) -> Response:
        return JSONResponse({"html": self._templates.fragment(template, **values)})


def _is_phone(request: Request) -> bool:
    return request.scope.get("hearth.phone") is not None


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
