"""Use the cloud as a teacher: it reads a masked request and tool descriptions; its plan is checked here.

`CloudTeacher` plans while the owner waits (it is the last planner the cascade asks) and labels requests for learning.
When the cloud is away for a day, this costs one failed attempt now and then; what nobody could plan meanwhile waits in
the outbox, and the cloud's later answer is found by the next `hearth learn`.

Covered: plans with unknown tools, unknown or ill-typed arguments, cycles, too many steps, unknown pseudonyms, answers
about another question; values of the owner's that a plan leaves open are filled here, from the owner's own words. A
plan that passes is judged by the guard like any other: a recipient must come from the owner. Not covered: a runnable
plan that is not what the owner meant; names of tools and options of their parameters leave as they are; how much is
asked and when.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hearth.edge import enrolment, outbox
from hearth.edge.cloud_link import Link
from hearth.errors import ConfigError, EgressError, LinkError, PlanError, PlannerError, WireError
from hearth.formats import edge_protocol
from hearth.formats.plans import check_plan, plan_from_json, texts_in, tool_to_json
from hearth.guard.egress.masking_door import Masked, MaskingDoor, Part, sending
from hearth.planning.arguments.schema_filler import Filler, Filling
from hearth.planning.dialogue.amendments import question_about
from hearth.protocols import Egress
from hearth.storage.database import Store
from hearth.storage.workspace import Home
from hearth.types import OWNER, PUBLIC, Argument, Context, Plan, Refusal, Request, Step, ToolSpec

# ── Answers kept ───────────────────────────────────────────────────────────────────────────────────────
# Keep the cloud's answers by masked request, so that the same question is not asked, paid for and disclosed twice.
# "Call Anna" and "call Ben" leave the device as one masked form, so one answer serves both: the plan is kept as it
# came, with pseudonyms, and gets the owner's own values when it is read. An answer with a date, or with a time of day
# that the request does not contain, is right for its day only and is not kept.
# Covered: tools that changed since (their hash is part of the form), answers that are old, a record that grows.
# Not covered: a cloud that would answer better by now; `KEPT` bounds for how long. Forgetting anything empties the
# record: a form is masked, but what a mask missed must not outlive it.


KEPT = dt.timedelta(days=30)
N_KEPT = 2_000
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}|\b\d{1,2}:\d{2}\b")


class Answered:
    """Answers of one cloud to masked forms."""

    def __init__(self, store: Store, host: str) -> None:
        """Open the record for one cloud; answers of other hosts are not used."""
        self._store = store
        self._host = host

    def find(self, asked: edge_protocol.PlanAsked, now: dt.datetime) -> edge_protocol.PlanGiven | None:
        """Return the answer to the same form, under this question's id; None if there is none or it is too old."""
        rows = self._store.query("SELECT answer, at FROM cloud_answer WHERE form = ?", (self._form(asked),))
        if not rows or not dt.timedelta(0) <= now - dt.datetime.fromisoformat(rows[0]["at"]) <= KEPT:
            return None
        try:
            given = edge_protocol.read(edge_protocol.PlanGiven, rows[0]["answer"])
        except WireError:  # written by another version
            return None
        return given.model_copy(update={"id": asked.id, "n_tokens": 0})

    def keep(self, asked: edge_protocol.PlanAsked, given: edge_protocol.PlanGiven, now: dt.datetime) -> None:
        """Keep a plan, or the answer that no tool serves the request, unless it holds a date or time of its own."""
        if given.plan is None and (given.refusal is None or given.refusal.kind != "out_of_scope"):
            return
        said = set(_MOMENT.findall(asked.request))
        if any(set(_MOMENT.findall(text)) - said for text in texts_in(given.plan)):
            return
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT OR REPLACE INTO cloud_answer (form, answer, at) VALUES (?, ?, ?)",
                (self._form(asked), given.model_dump_json().encode(), now.isoformat()),
            )
            cursor.execute(
                "DELETE FROM cloud_answer WHERE form NOT IN (SELECT form FROM cloud_answer ORDER BY at DESC LIMIT ?)",
                (N_KEPT,),
            )

    def _form(self, asked: edge_protocol.PlanAsked) -> str:
        words = " ".join(asked.request.split())
        parts = json.dumps([self._host, words, asked.tools_sha256])
        return hashlib.sha256(parts.encode(errors="surrogatepass")).hexdigest()


# ── The teacher ────────────────────────────────────────────────────────────────────────────────────────


_FIRST_REST_S = 15.0
_LONGEST_REST_S = 900.0
"""Pauses after a failure, doubled each time: the cloud is not asked, so the owner does not wait in vain."""
_N_FAILURES = 3
"""Failures in a row after which nothing more is labelled."""
_MAX_SAID = 500
_MAX_UNSERVED = 8
_COMES_BACK = ("away", "busy", "rate")
"""Faults that pass by themselves."""


@dataclass(frozen=True, slots=True)
class _Question:
    asked: edge_protocol.PlanAsked
    """The question with its tools given by hash only."""
    tools: tuple[dict[str, Any], ...]
    masked: Masked


@dataclass(frozen=True, slots=True)
class Completing:
    """What finds values that a plan leaves open."""

    filling: Filling
    context: Context = field(default_factory=Context)
    """What it may know when requests are labelled."""


class CloudTeacher:
    """A `protocols.Teacher` and a `protocols.Planner`. Close it to give connections back."""

    def __init__(
        self,
        link: Link,
        door: MaskingDoor,
        *,
        store: Store | None = None,
        completing: Completing | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the teacher; nothing is asked yet.

        Args:
            store: Holds questions nobody could answer, and the answers to earlier ones (`answered`); None keeps
                neither.
            completing: Finds values that a plan leaves open; without one the owner is asked for them.
            clock: Seconds from any origin; replaced in tests.
        """
        self.name = f"cloud:{link.host}"
        self.n_tokens = 0
        """Tokens of the last question and its answer, as the cloud counted them."""
        self._link = link
        self._door = door
        self._store = store
        self._answered = Answered(store, link.host) if store is not None else None
        self._filling = completing.filling if completing is not None else None
        self._context = completing.context if completing is not None else Context()
        self._clock = clock
        self._rests_until_s = 0.0
        self._n_failures = 0
        self._fault = ""
        self._knows_tools = True

    def close(self) -> None:
        """Give connections back."""
        self._link.close()

    # ── The two seams ─────────────────────────────────────────────────────────────────────────────────────

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """Return the cloud's plan in the owner's own values, checked; or its refusal.

        Raises:
            PlannerError: Not reached, or its answer cannot be used; where the cloud is only away, the question waits.
        """
        question = self._question(request, tools)
        if (known := self._said_before(question)) is not None:
            return self._read(known, question, request, context, tools)
        if (left_s := self._rests_until_s - self._clock()) > 0:
            self._keep(question)
            raise PlannerError(f"{self.name!r} is not asked for another {left_s:.0f} s: {self._fault}")
        try:
            given = self._asked(question)
        except LinkError as error:
            if error.code in _COMES_BACK:
                self._keep(question)
            raise PlannerError(f"{self.name!r} has no answer: {error}") from None
        return self._read(given, question, request, context, tools)

    def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
        """Label requests as in `protocols.Teacher`. The cloud's answer to a question that had waited is used first."""
        for request in requests:
            question: _Question | None = None
            try:
                question = self._question(request, tools)
                given = self._said_later(question) or self._said_before(question)
                if given is None and self._n_failures >= _N_FAILURES:
                    yield Refusal("unreadable", f"{self.name!r} was not asked any more: {self._fault}")
                    continue
                answer = self._read(given or self._asked(question), question, request, self._context, tools)
            except LinkError as error:
                if question is not None and error.code in _COMES_BACK:
                    self._keep(question)
                yield Refusal("unreadable", f"{self.name!r} has no answer: {error}")
                continue
            except PlannerError as error:
                answer = Refusal("unreadable", str(error), planner=self.name)
            yield answer

    # ── Asking ────────────────────────────────────────────────────────────────────────────────────────────

    def _question(self, request: Request, tools: Mapping[str, ToolSpec]) -> _Question:
        """Mask the request. The same words at the same time give the same question, with the same id."""
        if not request.text.strip():
            raise PlannerError("there is nothing to ask the cloud: the request is empty")
        nodes: list[dict[str, Any]] = [
            dict(tool_to_json(spec)) for spec in list(tools.values())[: edge_protocol.MAX_TOOLS]
        ]
        described = [text for node in nodes for text in (node["desc"], *(p["desc"] for p in node["parameters"]))]
        try:
            masked = self._door.masked([Part(request.text, OWNER), *(Part(text, PUBLIC) for text in described)])
        except EgressError as error:
            raise PlannerError(f"{self.name!r} was not asked: {error}") from error
        rest = iter(masked.texts[1:])
        for node in nodes:
            node["desc"] = next(rest)
            for parameter in node["parameters"]:
                parameter["desc"] = next(rest)
        text, now, digest = masked.texts[0][:4_000], request.now, edge_protocol.tools_hash(nodes)
        id = hashlib.sha256("\n".join((text, now.isoformat(), digest)).encode(errors="surrogatepass")).hexdigest()
        try:
            asked = edge_protocol.PlanAsked(id=f"q-{id[:40]}", request=text, now=now, tools=(), tools_sha256=digest)
        except ValueError:
            raise PlannerError(
                "the request cannot be put to the cloud: it is no text, or its time has no zone"
            ) from None
        return _Question(asked, tuple(nodes), masked)

    def _asked(self, question: _Question) -> edge_protocol.PlanGiven:
        """Ask the cloud. Raises: LinkError: After it, the cloud is not asked for a while."""
        try:
            try:
                if not self._knows_tools:
                    raise LinkError("the tools go along", code="tools", status=409)
                with sending(question.masked.values):
                    given = self._link.plan(question.asked)
            except LinkError as error:
                if error.code not in ("tools", "shape"):
                    raise
                with sending(question.masked.values):
                    given = self._link.plan(_whole(question))
                self._knows_tools = error.code == "tools"  # a cloud that cannot read the hash gets the tools each time
        except LinkError as error:
            self._n_failures += 1
            self._fault = str(error)
            self._note_heard(question, self._fault)
            rest_s = min(_LONGEST_REST_S, _FIRST_REST_S * 2.0 ** min(self._n_failures - 1, 10))
            self._rests_until_s = self._clock() + max(rest_s, error.retry_after_s or 0.0)
            raise
        self._n_failures, self._rests_until_s = 0, 0.0
        self.n_tokens = given.n_tokens
        self._note_heard(question)
        return given

    def _note_heard(self, question: _Question, fault: str = "") -> None:
        """Record for `hearth edge status` that the cloud answered, or what was wrong."""
        if self._store is not None:
            enrolment.note_heard(self._store, question.asked.now, fault)

    def _said_before(self, question: _Question) -> edge_protocol.PlanGiven | None:
        """Return the cloud's earlier answer to the same masked form."""
        found = self._answered.find(question.asked, question.asked.now) if self._answered is not None else None
        if found is not None:
            self.n_tokens = 0
        return found

    def _remember(self, question: _Question, given: edge_protocol.PlanGiven) -> None:
        """Keep an answer that could be used, for the next question of the same form."""
        if self._answered is not None:
            self._answered.keep(question.asked, given, question.asked.now)

    def _keep(self, question: _Question) -> None:
        """Put the question in the outbox, to wait."""
        if self._store is not None:
            body = _whole(question).model_dump_json().encode()
            with self._store.transaction() as cursor:
                now = question.asked.now
                outbox.put(cursor, "question", question.asked.id, body, now, question.masked.values)

    def _said_later(self, question: _Question) -> edge_protocol.PlanGiven | None:
        """Return the cloud's answer to a question that waited. Raises: PlannerError: It cannot be read."""
        if self._store is None:
            return None
        found = outbox.Outbox(self._store, lambda: question.asked.now).answer_to(question.asked.id)
        try:
            return edge_protocol.read(edge_protocol.PlanGiven, found) if found is not None else None
        except WireError as error:
            raise PlannerError(str(error)) from None

    # ── Reading the answer ────────────────────────────────────────────────────────────────────────────────

    def _read(
        self,
        given: edge_protocol.PlanGiven,
        question: _Question,
        request: Request,
        context: Context,
        tools: Mapping[str, ToolSpec],
    ) -> Plan | Refusal:
        """Check the answer and put the owner's values back. Raises: PlannerError: It cannot be used."""
        if given.plan is None:
            if given.refusal is None:
                raise PlannerError(f"{self.name!r} answered with neither a plan nor a refusal")
            said = given.refusal
            known = {f"{spec.name}.{p.name}" for spec in tools.values() for p in spec.parameters}
            missing = tuple(name for name in said.missing if name in known)
            reason = " ".join(said.reason.split())[:_MAX_SAID] or "the cloud knows no plan for it"
            refusal = question.masked.unmask_answer(Refusal(said.kind, reason, missing, planner=self.name))
            assert isinstance(refusal, Refusal)
            self._remember(question, given)
            return refusal
        try:
            plan = plan_from_json(given.plan)
            steps = tuple(Step(step.tool, step.arguments, step.after, step.text[:_MAX_SAID]) for step in plan.steps)
            bare = Plan(steps, given.confidence, self.name, unserved=plan.unserved[:_MAX_UNSERVED])
            restored = question.masked.unmask_answer(bare)
            assert isinstance(restored, Plan)
            whole = self._completed(restored, request, context, tools)
            checked = whole if isinstance(whole, Refusal) else check_plan(whole, tools)
            self._remember(question, given)
            return checked
        except PlanError as error:
            raise PlannerError(f"the plan of {self.name!r} cannot be used: {error}") from None

    def _completed(
        self, plan: Plan, request: Request, context: Context, tools: Mapping[str, ToolSpec]
    ) -> Plan | Refusal:
        """Fill required values the plan leaves open from the owner's words; where these lack them, ask."""
        specs = [tools.get(step.tool) for step in plan.steps]
        known = [spec for spec in specs if spec is not None]
        open_ = [(k, p.name) for k, spec in enumerate(specs) if spec for p in spec.parameters if _is_open(plan, k, p)]
        if not open_ or len(known) < len(specs):
            return plan
        filled = self._filling.fill(request.text, known, request.now, context) if self._filling is not None else []
        steps = list(plan.steps)
        missing: list[tuple[str, str]] = []
        for k, name in open_:
            found: Mapping[str, Argument] = filled[k].arguments if filled else {}
            if name in found:
                steps[k] = replace(steps[k], arguments={**steps[k].arguments, name: found[name]})
            else:
                missing.append((steps[k].tool, name))
        if missing:
            names = tuple(dict.fromkeys(f"{tool}.{name}" for tool, name in missing))
            return Refusal("needs", question_about(missing, tools), names, planner=self.name)
        return replace(plan, steps=tuple(steps))


def _is_open(plan: Plan, k: int, parameter: Any) -> bool:
    return parameter.is_required and parameter.name not in plan.steps[k].arguments


def _whole(question: _Question) -> edge_protocol.PlanAsked:
    return question.asked.model_copy(update={"tools": question.tools, "tools_sha256": None})


def open_link(home: Home, egress: Egress) -> Link | None:
    """Open a link to the cloud this home joined; None where it joined none."""
    store, path = home.store, home.path
    joined = enrolment.joined(store, path)
    if joined is None:
        return None
    kept = enrolment.kept_token(store, path)

    def token() -> str:
        """Return the token, but never that of another cloud that was joined while this link was open."""
        now = enrolment.joined(store, path)
        if now is None or (now.url, now.public_key) != (joined.url, joined.public_key):
            raise ConfigError(f"this home left {joined.url} meanwhile; nothing was sent; start this command anew")
        return kept()

    return Link(joined.url, egress, token, joined.instance, timeout_s=home.settings.edge.timeout_s)


def open_teacher(home: Home, egress: Egress, context: Context | None = None) -> CloudTeacher | None:
    """Open the cloud this home joined as its teacher; None without one, or where the owner does not let it teach."""
    link = open_link(home, egress) if home.settings.edge.teaches else None
    if link is None:
        return None
    door = MaskingDoor.of_owner(home)
    completing = Completing(_LateFiller(home.cache), context or Context())
    return CloudTeacher(link, door, store=home.store, completing=completing)


class _LateFiller:
    """A `Filler` that is opened when it is first needed: most starts ask the cloud nothing."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._filler: Filler | None = None

    def fill(self, text: str, steps: Sequence[ToolSpec], now: dt.datetime | None, context: Context) -> Sequence[Any]:
        if self._filler is None:
            self._filler = Filler.open(self._cache)
        return self._filler.fill(text, steps, now, context)
