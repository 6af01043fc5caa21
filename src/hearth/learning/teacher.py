"""Provide teachers, which say which plan is right. Each gives an answer per request, in order, and never raises.

A `Plan` has passed its check against the tools. A refusal of kind `out_of_scope` says that no tool serves the request;
one of any other kind says that this teacher has no answer, and why: nothing is learnt from it. Where nobody was asked
(the budget is spent, the model is down) its `planner` is empty: the request may be asked about again.

* `EndpointTeacher` asks any language model, within a budget that outlives the process.
* `RecordedTeacher` reads a file; `OwnerTeacher` gives the owner's corrections.
* `MeteredTeacher` holds any other to the budget; `FirstOf` asks several in turn.

Covered: prose, nothing, unknown tools, cycles, oversized and contradicting answers, a model that cannot be reached, a
budget that is spent, a process that is killed between question and answer (it counts as asked). Not covered: whether a
checked plan is right, and what the requests reveal: a model on another machine is wrapped in a mask
(`guard.egress.masking_door`).
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hearth.errors import PlanError, PlannerError
from hearth.formats.plan_json import plan_to_json
from hearth.formats.plan_validation import check_plan
from hearth.learning.demonstration_store import Entry, Refused, entry_of, read_entries, why_not
from hearth.models.llm.scripted import ScriptedModel
from hearth.planning.llm.json_planner import MAX_REPLY_CHARACTERS, LanguagePlanner
from hearth.protocols import Encoder, LanguageModel, SamplingModel, Teacher
from hearth.storage.database import Store
from hearth.types import Context, Demonstration, Label, Plain, Plan, Refusal, Request, ToolSpec

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
                    f"the teacher {self._teacher!r} was not asked: {why} today; raise {_KEYS[name]} "
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
_KEYS = {"n_calls": "questions_per_day", "n_tokens": "tokens_per_day", "usd": "usd_per_day"}


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
