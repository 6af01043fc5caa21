"""What others say is the right plan: the owner, by correcting, and a teacher, who is asked."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from hearth.errors import HearthError, NotFound, PlanError, PlannerError, RequestError
from hearth.formats.plans import check_plan, only_reads, plan_to_json
from hearth.guard.injection import INJECTION
from hearth.guard.labels import PlannedStep, origins, predict
from hearth.guard.policy.warrant import source_of
from hearth.language.values.identifying import is_iban, is_luhn
from hearth.learning import demonstration_store as rows
from hearth.learning.demonstration_store import Entry, Refused, entry_of, hold, read_entries, why_not
from hearth.learning.versions.learned_state import State
from hearth.models.llm.scripted import ScriptedModel
from hearth.planning.deferral import comparison
from hearth.planning.deferral import note as note_agreement
from hearth.planning.llm import MAX_REPLY_CHARACTERS, LanguagePlanner
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.protocols import Encoder, LanguageModel, SamplingModel, Teacher
from hearth.storage.database import Store
from hearth.storage.trace import CallRecord, Trace
from hearth.types import (
    UNTRUSTED_SOURCES,
    Context,
    Demonstration,
    Episode,
    Label,
    Plain,
    Plan,
    Refusal,
    Request,
    ToolSpec,
)

# ── Teacher ───────────────────────────────────────────────────────────────────────────────────────────────
# Provide teachers, which say which plan is right. Each gives an answer per request, in order, and never raises.
#
# A `Plan` has passed its check against the tools. A refusal of kind `out_of_scope` says that no tool serves the
# request; one of any other kind says that this teacher has no answer, and why: nothing is learnt from it. Where
# nobody was asked (the budget is spent, the model is down) its `planner` is empty: the request may be asked about
# again.
#
# * `EndpointTeacher` asks any language model, within a budget that outlives the process.
# * `RecordedTeacher` reads a file; `OwnerTeacher` gives the owner's corrections.
# * `MeteredTeacher` holds any other to the budget; `FirstOf` asks several in turn.
#
# Covered: prose, nothing, unknown tools, cycles, oversized and contradicting answers, a model that cannot be reached,
# a budget that is spent, a process that is killed between question and answer (it counts as asked). Not covered:
# whether a checked plan is right, and what the requests reveal: a model on another machine is wrapped in a mask
# (`guard.egress.masking_door`).

_N_FAILURES = 3
"""Failures in a row after which the model is not asked again: it is down, or its answers are of no use."""
_CHARACTERS_PER_TOKEN = 3
"""Assumed where a server does not count tokens: few, so that the estimate is high."""


# ── What asking may cost ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Limits:
    """Most that one teacher may cost a day. Each question is counted before it is sent."""

    n_calls: int = 100
    n_tokens: int = 1_000_000
    usd: float = 1.0
    usd_per_call: float = 0.0
    usd_per_million_tokens: float = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    """Cost so far today."""

    n_calls: int = 0
    n_tokens: int = 0
    usd: float = 0.0


class BudgetSpent(PlannerError):
    """Today's budget is used up; nothing was sent."""


class Budget:
    """Use of one teacher by day, kept in the store."""

    def __init__(self, store: Store, teacher: str, limits: Limits, clock: Callable[[], dt.datetime]) -> None:
        """Open the budget. `clock` gives the owner's time: a day begins at the owner's midnight."""
        self._store = store
        self._teacher = teacher
        self._limits = limits
        self._clock = clock

    def spent(self) -> Spent:
        """Return today's cost."""
        rows = self._store.query(
            "SELECT n_calls, n_tokens, usd FROM teacher_use WHERE day = ? AND teacher = ?",
            (self._today(), self._teacher),
        )
        return Spent(*rows[0]) if rows else Spent()

    def take(self, n_tokens: int) -> Spent:
        """Count a call of about `n_tokens` as made; pass the result to `correct` once the real number is known.

        Raises:
            BudgetSpent: It would go beyond a limit; nothing was counted.
        """
        limits, so_far = self._limits, self.spent()
        price = Spent(1, n_tokens, limits.usd_per_call + n_tokens * limits.usd_per_million_tokens / 1e6)
        for name, used, more, most in (
            ("n_calls", so_far.n_calls, price.n_calls, limits.n_calls),
            ("n_tokens", so_far.n_tokens, price.n_tokens, limits.n_tokens),
            ("usd", so_far.usd, price.usd, limits.usd),
        ):
            if used + more > most + 1e-9:
                why = _IN_WORDS[name].format(used=used, most=most)
                raise BudgetSpent(
                    f"the teacher {self._teacher!r} was not asked: {why} today; raise {_BUDGET_KEYS[name]} "
                    "under [learning] in hearth.toml, or learn on tomorrow"
                )
        self._add(price)
        return price

    def correct(self, taken: Spent, n_tokens: int) -> None:
        """Replace the estimate with the server's own count."""
        more = n_tokens - taken.n_tokens
        self._add(Spent(0, more, more * self._limits.usd_per_million_tokens / 1e6))

    def _add(self, more: Spent) -> None:
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT INTO teacher_use (day, teacher, n_calls, n_tokens, usd) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (day, teacher) DO UPDATE SET n_calls = n_calls + excluded.n_calls, "
                "n_tokens = n_tokens + excluded.n_tokens, usd = usd + excluded.usd",
                (self._today(), self._teacher, more.n_calls, more.n_tokens, more.usd),
            )

    def _today(self) -> str:
        return self._clock().date().isoformat()


_IN_WORDS = {
    "n_calls": "{used} of {most} questions were asked",
    "n_tokens": "{used:,} of {most:,} tokens were used",
    "usd": "{used:.4f} of {most:.2f} USD were spent",
}
_BUDGET_KEYS = {"n_calls": "questions_per_day", "n_tokens": "tokens_per_day", "usd": "usd_per_day"}


class MeteredModel:
    """A `protocols.LanguageModel` whose every call is counted against a budget before it is made."""

    def __init__(self, model: LanguageModel, budget: Budget) -> None:
        self.name = model.name
        self.has_answered = True
        """True when the last call brought an answer."""
        self._model = model
        self._budget = budget

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        """Complete like the wrapped model. Raises: BudgetSpent: Nothing was sent. PlannerError."""
        taken = self._taken(messages, schema)
        text = self._model.complete(messages, schema)
        self._answered(taken, [text])
        return text

    def sample(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None, n: int = 1
    ) -> tuple[str, ...]:
        """Sample like the wrapped model, or complete once. Raises: BudgetSpent: Nothing was sent. PlannerError."""
        if not isinstance(self._model, SamplingModel):
            return (self.complete(messages, schema),)
        taken = self._taken(messages, schema)
        texts = self._model.sample(messages, schema, n)
        self._answered(taken, texts)
        return texts

    def _taken(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None) -> Spent:
        asked = sum(len(message.get("content", "")) for message in messages) + len(json.dumps(schema or ""))
        self.has_answered = False
        return self._budget.take(asked // _CHARACTERS_PER_TOKEN + 1)

    def _answered(self, taken: Spent, texts: Sequence[str]) -> None:
        self.has_answered = True
        counted = getattr(self._model, "n_tokens", 0)
        answered = sum(min(len(text), MAX_REPLY_CHARACTERS) // _CHARACTERS_PER_TOKEN for text in texts)
        self._budget.correct(taken, counted or taken.n_tokens + answered)


# ── A language model ──────────────────────────────────────────────────────────────────────────────────────


class EndpointTeacher:
    """A `protocols.Teacher` on any language model; answers follow a JSON schema, are checked, and repaired once."""

    def __init__(
        self,
        model: LanguageModel,
        budget: Budget,
        encoder: Encoder | None = None,
        context: Context | None = None,
        n_answers: int = 1,
    ) -> None:
        """Prepare the teacher; nothing is asked yet.

        Args:
            encoder: Chooses which tools the model is told of, when there are many.
            context: Names the owner knows; the model is told those that a request mentions.
            n_answers: Number of answers drawn from a model that can give several; all are learnt from, by how often
                each came.
        """
        self.name = model.name
        self._model = MeteredModel(model, budget)
        self._drawing = _Drawing(self._model, n_answers)
        self._planner = LanguagePlanner(self._drawing, encoder)
        self._context = context or Context()
        self._n_failures = 0
        self._last = ""

    def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
        """Label requests, as the module says. A request is asked about when its answer is taken, not before."""
        for request in requests:
            if self._n_failures >= _N_FAILURES:
                yield _no_answer(f"{self.name!r} was not asked any more: {self._last}")
                continue
            try:
                answer = self._answer(request, tools)
                self._n_failures = 0
            except PlannerError as error:
                self._n_failures = _N_FAILURES if isinstance(error, BudgetSpent) else self._n_failures + 1
                self._last = str(error)
                answer = _no_answer(self._last, self.name if self._model.has_answered else "")
            yield answer

    def _answer(self, request: Request, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """Ask the model. Raises: PlannerError: No usable answer, or unreachable. BudgetSpent: Not asked."""
        answer = self._likeliest(replace(request, id=""), self._context, tools)
        return _checked(answer, tools, self.name) if isinstance(answer, Plan) else replace(answer, planner=self.name)

    def _likeliest(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """Return the plan whose tools came most often among the answers drawn, with the others' tools in `considered`.
        Raises: see `_answer`."""
        self._drawing.others = None
        first = self._planner.plan(request, context, tools)
        plans = [first] if isinstance(first, Plan) else []
        drawn: tuple[str, ...] = self._drawing.others or ()  # set while the planner asked
        for text in drawn:
            try:
                other = LanguagePlanner(ScriptedModel([text])).plan(request, context, tools)
            except PlannerError:
                continue  # not usable: the others count
            plans += [other] if isinstance(other, Plan) else []
        votes = Counter(_tools_of(plan) for plan in plans)
        if not isinstance(first, Plan) or len(votes) < 2:
            return first
        best = max(plans, key=lambda plan: votes[_tools_of(plan)])  # of equals the first
        return replace(best, considered=_considered(_tools_of(best), votes))


class _Drawing:
    """A `protocols.LanguageModel` that draws several answers to the first question about a request."""

    def __init__(self, model: MeteredModel, n: int) -> None:
        self.name = model.name
        self._model = model
        self._n = n
        self.others: tuple[str, ...] | None = None
        """Further answers drawn beside the one given; None before the first question."""

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        """Return the first of the answers. Raises: PlannerError."""
        if self._n == 1 or self.others is not None:
            return self._model.complete(messages, schema)
        first, *others = self._model.sample(messages, schema, self._n)
        self.others = tuple(others)
        return first


def _checked(plan: Plan, tools: Mapping[str, ToolSpec], teacher: str) -> Plan | Refusal:
    try:
        return replace(check_plan(plan, tools), planner=teacher)
    except PlanError as error:
        return _no_answer(f"the plan cannot be used: {error}", teacher)


def _no_answer(reason: str, teacher: str = "") -> Refusal:
    return Refusal("unreadable", reason, planner=teacher)


# ── What is on record ─────────────────────────────────────────────────────────────────────────────────────


class RecordedTeacher:
    """A `protocols.Teacher` that reads a JSONL file in the plan format; requests are told apart by their words."""

    def __init__(self, path: Path) -> None:
        """Read the file whole.

        Raises:
            RequestError: It cannot be read, or holds no line at all.
        """
        entries, faults = read_entries(path)
        self.faults: tuple[Refused, ...] = tuple(faults)
        """Lines that were skipped."""
        self.name = f"file:{path.name}"
        self._entries: dict[str, list[Entry]] = {}
        for entry in entries:
            self._entries.setdefault(words_of(entry.demonstration.request), []).append(entry)

    def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
        """Label requests, as the module says. Of several plans for one the commonest counts, then the first."""
        for request in requests:
            yield _of_entries(self._entries.get(words_of(request.text), []), tools, self.name)


class OwnerTeacher:
    """A `protocols.Teacher` that knows the owner's corrections."""

    name = "owner"

    def __init__(self, store: Store) -> None:
        self._store = store

    def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
        """Label requests, as the module says. Of several corrections of one request the newest counts."""
        for request in requests:
            rows = self._store.query(
                "SELECT * FROM demonstration WHERE source = 'owner' AND request = ? COLLATE NOCASE "
                "ORDER BY added DESC, rowid DESC LIMIT 1",
                (request.text.encode("utf-8", "replace").decode(),),
            )
            yield _of_entries([entry_of(row) for row in rows], tools, self.name)


def words_of(request: str) -> str:
    """Return the words of a request, whatever their case and spaces: requests with the same words are the same."""
    return " ".join(request.casefold().split())


def _of_entries(entries: Sequence[Entry], tools: Mapping[str, ToolSpec], teacher: str) -> Plan | Refusal:
    reason = "no plan is on record for that request"
    plans: dict[str, Plan] = {}
    n_of = Counter[str]()
    shares = dict[tuple[str, ...], float]()
    for entry in entries:
        if fault := why_not(entry, tools):
            reason = fault
            continue
        plan = entry.demonstration.plan
        nodes = json.dumps(plan_to_json(plan)["task_nodes"], sort_keys=True)
        n_of[nodes] += 1
        plans.setdefault(nodes, plan)
        held = entry.held_likely or ((_tools_of(plan), 1.0),)
        for names, share in held:
            shares[names] = shares.get(names, 0.0) + share
    if not plans:
        return _no_answer(reason, teacher)
    best = plans[max(plans, key=lambda nodes: n_of[nodes])]  # of equals the first
    return replace(best, planner=teacher, considered=_considered(_tools_of(best), shares))


def _tools_of(plan: Plan) -> tuple[str, ...]:
    return tuple(step.tool for step in plan.steps)


def _considered(
    chosen: tuple[str, ...], shares: Mapping[tuple[str, ...], float]
) -> tuple[tuple[tuple[str, ...], float], ...]:
    """Return a value for `Plan.considered`; empty where only the chosen plan was held likely."""
    total, mine = sum(shares.values()), shares.get(chosen, 0.0)
    others = sorted(
        ((names, n / total) for names, n in shares.items() if names != chosen and n), key=lambda one: -one[1]
    )
    return ((chosen, mine / total), *others) if others and mine else ()


class MeteredTeacher:
    """A `protocols.Teacher` whose every question is counted against a budget before it is asked."""

    def __init__(self, teacher: Teacher, budget: Budget) -> None:
        """Wrap a teacher, which may count its last answer's tokens in `n_tokens`."""
        self.name = teacher.name
        self._teacher = teacher
        self._budget = budget

    def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
        """Label requests, as the module says."""
        for request in requests:
            try:
                taken = self._budget.take(len(request.text) // _CHARACTERS_PER_TOKEN + 1)
            except BudgetSpent as error:
                yield _no_answer(str(error))
                continue
            answer = next(iter(self._teacher.label([request], tools)))
            if answer.planner:
                self._budget.correct(taken, getattr(self._teacher, "n_tokens", 0) or taken.n_tokens)
            yield answer


class FirstOf:
    """A `protocols.Teacher` made of others: the first with an answer counts; a later one is asked only without."""

    def __init__(self, teachers: Sequence[Teacher]) -> None:
        """Take the teachers in the order they are asked: those that cost nothing first."""
        self.name = " | ".join(teacher.name for teacher in teachers) or "nobody"
        self._teachers = tuple(teachers)

    def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
        """Label requests, as the module says."""
        for request in requests:
            answer: Plan | Refusal = _no_answer("there is no teacher")
            for teacher in self._teachers:
                answer = next(iter(teacher.label([request], tools)))
                if isinstance(answer, Plan) or answer.kind == "out_of_scope":
                    break
            yield answer


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a demonstration comes from."""

    id: str
    """Its own id."""
    source: str
    episode: str = ""
    """The request it was learnt from."""


def entry_from(request: Request, plan: Plan, teacher: str, origin: Origin, tools: Iterable[str] = ()) -> Entry:
    """Make an entry from a teacher's plan."""
    bare = replace(plan, confidence=0.0, expected_f1=None, planner="", rests_on=(), offer=None, considered=())
    demonstration = Demonstration(origin.id, request.text, bare, tuple(tools), origin.source, request.now)
    label = Label(frozenset({"owner", "teacher"} if origin.source == "teacher" else {"owner"}))
    candidates: Plain = [{"tools": list(names), "share": round(share, 4)} for names, share in plan.considered]
    return Entry(demonstration, label, teacher, candidates or None, origin.episode)


# ── Corrections ───────────────────────────────────────────────────────────────────────────────────────────
# Harvest demonstrations from finished requests: only those that stood, and none that a stranger's text had a hand in.
#
# A request is learnt from when the owner corrected it, or when its plan changed or sent something, ended well, was
# not taken back and was not asked again differently for a while. A request that only reads proves nothing, as nobody
# objects to a wrong answer that goes unnoticed; a teacher is asked about it.
#
# Covered: refusals, denials, failures, repairs, parts left out, undone and corrected episodes, recipients that come
# from a message or a page, words that look like passwords, keys, card or account numbers. Not covered: secrets in no
# form known here, and plans the owner let pass although they were wrong.

# ── The harvest of requests ────────────────────────────────────────────────────────────────────────────


ONLY_READ = "it only read something"
UNANSWERED = "unanswered"
"""Outcome of a question to which the teacher gave no usable answer."""
_N_ATTEMPTS = 3
N_LOOKED_THROUGH = 1000
"""Number of newest episodes considered; older ones had their chance."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decision on one finished request."""

    episode: str
    kind: Literal["success", "teacher", "waiting", "question", "no"]
    """`success`: learn its plan. `teacher`: the same, a model planned it. `waiting`: it must stand a while longer.
    `question`: a teacher could say what would have been right. `no`: never."""
    reason: str


@dataclass(frozen=True, slots=True)
class Harvest:
    """Judgement of the newest episodes."""

    entries: tuple[Entry, ...]
    """Demonstrations to be learnt."""
    settled: tuple[Episode, ...]
    """Episodes the demonstrations come from."""
    questions: tuple[Episode, ...]
    """Episodes to ask a teacher about, oldest first."""
    touched: tuple[Entry, ...]
    """Demonstrations with a stranger's text in a place that matters: to be quarantined."""
    verdicts: tuple[Verdict, ...]
    """Decisions on every episode that was not looked at before, oldest first."""


def harvest(
    store: Store, tools: Mapping[str, ToolSpec], now: dt.datetime, settled_after: dt.timedelta = dt.timedelta(days=1)
) -> Harvest:
    """Judge the finished requests that were not judged for good before. Writes nothing: see `note`.

    Args:
        now: With time zone.
        settled_after: Time a finished request must stand.
    """
    trace = Trace(store)
    episodes = trace.episodes(N_LOOKED_THROUGH, is_owners=True)[::-1]
    judged = {row[0] for row in store.query("SELECT episode FROM looked_at WHERE outcome NOT LIKE 'unanswered%'")}
    corrected = {row[0] for row in store.query("SELECT episode FROM demonstration WHERE source = 'owner'")}
    corrected |= {row[0] for row in store.query("SELECT episode FROM set_aside WHERE source = 'owner'")}
    entries, settled, questions, touched, verdicts = [], [], [], [], []
    for place, episode in enumerate(episodes):
        if episode.id in judged:
            continue
        if episode.id in corrected:
            verdict = Verdict(episode.id, "no", "the owner corrected it")
        else:
            verdict = judge(episode, trace.calls(episode.id), tools, now, settled_after, episodes[place + 1 :])
        verdicts.append(verdict)
        if verdict.kind == "no" and episode.plan is not None and (sources := _strange_sources(episode, tools)):
            origin = Origin(f"no:{episode.id}", "success", episode.id)
            entry = entry_from(episode.request, episode.plan, "success", origin, tools)
            touched.append(replace(entry, label=Label(entry.label.sources | sources, frozenset())))
        if verdict.kind == "question":
            questions.append(episode)
        elif verdict.kind in ("success", "teacher"):
            assert episode.plan is not None
            settled.append(episode)
            by = episode.plan.planner if verdict.kind == "teacher" else "success"
            origin = Origin(f"{verdict.kind}:{episode.id}", verdict.kind, episode.id)
            entries.append(entry_from(episode.request, episode.plan, by, origin, tools))
    return Harvest(tuple(entries), tuple(settled), tuple(questions), tuple(touched), tuple(verdicts))


def _barred(episode: Episode) -> str:
    """Return why a request must never be learnt, whatever came of it."""
    if episode.refusal is not None and episode.refusal.kind == "unreadable":
        return "it could not be read"
    if episode.request.is_pressed:
        return "a button was pressed"
    if secret := secret_in(_said(episode)):
        return f"it holds what looks like {secret}"
    is_denied = episode.ruling is not None and episode.ruling.verdict != "allow"
    return "it was not allowed" if is_denied else ""


def _doubt(episode: Episode, plan: Plan, calls: Sequence[CallRecord]) -> str:
    """Return why it is doubtful that the plan was right, from what came of it."""
    if episode.rounds or any(step.replaces is not None for step in plan.steps):
        return "it was mended after a step had failed"
    if any(call.is_undone for call in calls):
        return "it was taken back"
    if plan.unserved:
        return "a part of it was not served"
    is_done = episode.answer.status == "done" and all(result.status == "done" for result in episode.results)
    return "" if is_done else "it did not end well"


def _is_planned_otherwise(episode: Episode, plan: Plan, later: Iterable[Episode]) -> bool:
    again = next((e for e in later if words_of(e.request.text) == words_of(episode.request.text)), None)
    return again is not None and again.plan is not None and _nodes(again.plan) != _nodes(plan)


def judge(
    episode: Episode,
    calls: Sequence[CallRecord],
    tools: Mapping[str, ToolSpec],
    now: dt.datetime,
    settled_after: dt.timedelta,
    later: Iterable[Episode] = (),
) -> Verdict:
    """Decide on one finished request that the owner did not correct."""
    plan, verdict = episode.plan, partial(Verdict, episode.id)
    if fault := _barred(episode):
        return verdict("no", fault)
    if plan is None:
        return verdict("question", "it was not planned")
    if fault := _strange(plan, tools) or _suspected(episode, tools):
        return verdict("no", fault)
    if doubt := _doubt(episode, plan, calls):
        return verdict("question", doubt)
    if only_reads(plan, tools):
        return verdict("question", ONLY_READ)
    if _is_planned_otherwise(episode, plan, later):
        return verdict("question", "it was asked again and planned otherwise")
    if now - episode.request.now < settled_after:
        return verdict("waiting", "it may still be taken back or corrected")
    return verdict("teacher" if source_of(plan.planner) else "success", "it was done and stood")


def _strange(plan: Plan, tools: Mapping[str, ToolSpec]) -> str:
    """Return why a plan cannot be the owner's wish (a recipient that strangers name, a tool that is gone), or ""."""
    try:
        found = next(_from_strangers(plan, tools), None)
    except PlanError as error:
        return f"its plan no longer fits the tools: {error}"
    if found is None:
        return ""
    by = ", ".join(origins(PlannedStep(plan, found[0], tools), found[1]))
    return f"who gets what was taken from a stranger's text: {by}"


def _from_strangers(plan: Plan, tools: Mapping[str, ToolSpec]) -> Iterator[tuple[int, str, frozenset[str]]]:
    """Yield step, argument and strangers where they say where something goes. Raises: PlanError: It fits no tools."""
    for index, (step, label) in enumerate(zip(plan.steps, predict(plan, tools))):
        for name, of_argument in label.arguments.items():
            parameter = tools[step.tool].parameter(name)
            if parameter is not None and parameter.is_sink and (by := of_argument.sources & UNTRUSTED_SOURCES):
                yield index, name, by


def _suspected(episode: Episode, tools: Mapping[str, ToolSpec]) -> str:
    """Return a reason if text that reads like an instruction went into a changing or sending step; empty otherwise."""
    assert episode.plan is not None
    for result in episode.results:
        spec = tools.get(episode.plan.steps[result.step].tool)
        if INJECTION in result.label.sources and spec is not None and spec.effect != "none":
            return f"text that reads like an instruction went into {spec.name}"
    return ""


def _strange_sources(episode: Episode, tools: Mapping[str, ToolSpec]) -> frozenset[str]:
    """Return the strangers who had a hand in a plan that can still be made; none where that is not its fault."""
    assert episode.plan is not None
    if _suspected(episode, tools):
        return frozenset({INJECTION})
    try:
        return frozenset[str]().union(*(by for *_, by in _from_strangers(episode.plan, tools)))
    except PlanError:
        return frozenset()


def note(cursor: sqlite3.Cursor, episode: str, outcome: str) -> None:
    """Record that a request need not be looked at again; after `unanswered` it is, a few times."""
    at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    if outcome == UNANSWERED:
        rows = cursor.execute("SELECT outcome FROM looked_at WHERE episode = ?", (episode,)).fetchall()
        n = int(rows[0][0].rpartition(" ")[2]) + 1 if rows and rows[0][0].startswith(UNANSWERED) else 1
        outcome = f"{UNANSWERED} {n}" if n < _N_ATTEMPTS else "no"
    cursor.execute("INSERT OR REPLACE INTO looked_at (episode, outcome, at) VALUES (?, ?, ?)", (episode, outcome, at))


def _nodes(plan: Plan) -> object:
    return plan_to_json(plan)["task_nodes"]


def _said(episode: Episode) -> str:
    plan = json.dumps(plan_to_json(episode.plan), ensure_ascii=False) if episode.plan else ""
    return f"{episode.request.text}\n{plan}"


# ── Secrets ───────────────────────────────────────────────────────────────────────────────────────────────

_NAMED = re.compile(
    r"(?i)\b(?:pass ?words?|pass ?phrase|passwort|passcode|pin(?: code| number)?|tan|secret|api[ _-]?keys?|"
    r"access[ _-]?keys?|(?:access |auth |bearer )?tokens?|cvv|cvc|security code)\b\W{0,3}(?:is|was|=|:|to|ist)?\W{0,3}"
    r"(?=\S*\d|\S*[!@#$%^&*_~+=]\S)\S{3,}"
)
_KEYS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[\w-]{8,}\.[\w-]{8,}\.|\bAKIA[0-9A-Z]{12,}|"
    r"\b(?:sk|pk|ghp|gho|xox[abp])[-_][\w-]{12,}"
)
_CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b")
_WORD = re.compile(r"[A-Za-z0-9+/_=-]{20,}")


def secret_in(text: str) -> str:
    """Name the kind of secret a text seems to hold; empty when none."""
    if _NAMED.search(text):
        return "a password or code"
    if _KEYS.search(text):
        return "a key"
    if any(_is_card(match[0]) for match in _CARD.finditer(text)):
        return "the number of a card"
    if any(_is_iban(match[0]) for match in _IBAN.finditer(text)):
        return "the number of an account"
    if any(_is_random(match[0]) for match in _WORD.finditer(text)):
        return "a key"
    return ""


def _is_card(text: str) -> bool:
    return is_luhn(text) and len({int(c) for c in text if c.isdecimal()}) > 1


def _is_iban(text: str) -> bool:
    plain = text.replace(" ", "")
    return 15 <= len(plain) <= 34 and is_iban(plain)


def _is_random(word: str) -> bool:
    """Say whether a word looks random: letters of both cases and digits, more evenly mixed than in any real word."""
    kinds = (any(c.islower() for c in word), any(c.isupper() for c in word), any(c.isdigit() for c in word))
    counts = Counter(word)
    bits = -sum(n / len(word) * math.log2(n / len(word)) for n in counts.values())
    return all(kinds) and bits > 3.8


# ── A correction ───────────────────────────────────────────────────────────────────────────────────────
# Learn the owner's corrections: they count from the next request on.
# A correction replaces what was learnt from the same request before. Covered: plans that cannot be run, requests that
# hold secrets, a process killed in the middle (the correction counts or does not). Not covered: undoing what the
# wrong plan did; `hearth undo` does that.


OWNER = "owner"


def correct(
    state: State, recall: RecallPlanner, episode: Episode, plan: Plan | None, tools: Mapping[str, ToolSpec]
) -> Entry:
    """Teach the plan that would have been right for a finished request.

    Args:
        plan: None when nothing should have been done.
    Returns:
        The demonstration.
    Raises:
        PlanError: The plan cannot be run; nothing was learnt.
        RequestError: It may not be learnt from; nothing was learnt.
        StoreError: Nothing was learnt.
    """
    if episode.request.is_pressed:
        raise RequestError(f"{episode.id!r} was the press of a button, not said in words; nothing was learnt from it")
    steps = check_plan(plan, tools) if plan is not None else Plan(())
    origin = Origin(f"{OWNER}:{episode.id}", OWNER, episode.id)
    entry = entry_from(episode.request, replace(steps, unserved=(), ignored=()), OWNER, origin, tools)
    if secret := secret_in(episode.request.text):
        raise RequestError(f"the request of {episode.id!r} holds what looks like {secret}; nothing was learnt from it")
    if plan is not None and (fault := why_not(entry, tools)):
        raise RequestError(f"{fault}; nothing was learnt")
    former = _former(state, recall, episode, entry.id)
    with state.store.transaction() as cursor:
        rows.take_out(cursor, former, "replaced", f"the owner corrected {episode.id}")
        cursor.execute("UPDATE set_aside SET why='replaced' WHERE why='waiting' AND episode=?", (episode.id,))
        rows.keep(cursor, [entry], None)
        note(cursor, episode.id, "corrected")
        if episode.plan is not None:
            answer = steps if plan is not None else Refusal("out_of_scope", "nothing should have been done")
            made = comparison(episode.request, episode.plan, OWNER, answer, tools)
            note_agreement(cursor, replace(made, episode=episode.id))
    recall.remove(*former)
    recall.add([entry.demonstration])
    return entry


def learn_revision(state: State, recall: RecallPlanner, before: Episode, revised: Episode) -> bool:
    """Learn from a request that was done with other tools in place of the last one: "no, as a reminder".

    Other values for the same tools teach nothing: the owner has changed their mind, and was understood.

    Args:
        before: What was asked first; it teaches the plan of `revised`.
    Returns:
        Whether anything was learnt; nothing is where `correct` refuses.
    """
    if revised.plan is None or not revised.plan.steps or revised.answer.status != "done":
        return False
    if before.plan and {step.tool for step in before.plan.steps} == {step.tool for step in revised.plan.steps}:
        return False
    with suppress(HearthError):  # a secret in it, say
        correct(state, recall, before, revised.plan, state.tools)
        return True
    return False


def _former(state: State, recall: RecallPlanner, episode: Episode, own: str) -> list[str]:
    """Return ids of demonstrations from this request or with its words, that are neither owner's nor shipped."""
    words = words_of(episode.request.text)
    recall.refresh()
    others = [id for id in recall.remembered.ids_beside(("shipped", OWNER)) if id != own]
    found = []
    for start in range(0, len(others), 400):
        some = others[start : start + 400]
        query = f"SELECT id, request, episode FROM demonstration WHERE id IN ({','.join('?' * len(some))})"  # noqa: S608 - question marks only
        rows = state.store.query(query, some)
        found += [one["id"] for one in rows if one["episode"] == episode.id or words_of(one["request"]) == words]
    return found


# ── Quarantine ─────────────────────────────────────────────────────────────────────────────────────────
# Quarantine demonstrations that a stranger may have had a hand in: kept apart, shown, and learnt only once released.
# They lie in `set_aside` under `quarantined`, apart from those that count or wait; no version, index or neighbour
# search ever sees them. Covered: release and dropping by the owner, after seeing the whole plan; forgetting finds
# them like any other. Not covered: an owner who releases without reading.


RELEASED = Label(frozenset({"owner"}), frozenset())
"""Label of a demonstration that its owner has read and released."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A demonstration in quarantine, with the reason."""

    entry: Entry
    reason: str


class Quarantine:
    """The quarantined demonstrations in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> tuple[Quarantined, ...]:
        """Return everything in quarantine, oldest first."""
        rows = self._store.query("SELECT * FROM set_aside WHERE why='quarantined' ORDER BY number")
        return tuple(Quarantined(entry_of(row), row["reason"]) for row in rows)

    def one(self, id: str) -> Quarantined:
        """Return the demonstration of that id, the newest of several. Raises: NotFound."""
        found = [kept for kept in self.all() if kept.entry.id == id]
        if not found:
            raise NotFound(f"no demonstration {id!r} is in quarantine; `hearth learn quarantine` lists what is")
        return found[-1]

    def release(self, id: str, tools: Mapping[str, ToolSpec]) -> Entry:
        """Release one, on the owner's word: it waits for the next `hearth learn`.

        Raises:
            NotFound: It is not in quarantine. RequestError: It could not be learnt in any case; says why.
        """
        entry = replace(self.one(id).entry, label=RELEASED)
        if fault := why_not(entry, tools):
            raise RequestError(f"{fault}; it stays in quarantine, or drop it")
        with self._store.transaction() as cursor:
            cursor.execute("DELETE FROM set_aside WHERE id=? AND why='quarantined'", (id,))
            hold(cursor, [entry], "waiting", "")
        return entry

    def drop(self, id: str) -> int:
        """Remove it for good; return how many there were of that id. Raises: NotFound."""
        self.one(id)
        with self._store.transaction() as cursor:
            n = cursor.execute("DELETE FROM set_aside WHERE id=? AND why='quarantined'", (id,)).rowcount
        self._store.erase_traces()
        return int(n)
