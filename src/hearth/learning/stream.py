"""Learn from the stream: judge finished requests, ask teachers where it pays, and learn from the answers in one batch.

Each request is settled by one transaction (demonstration, agreement, what was looked at): killed at any point, the next
run carries on with the next request, and nothing is asked or counted twice. The gathered demonstrations wait in the
buffer; the last stage makes a version of them, if the gate lets it.

Teachers are asked about requests that went wrong, were not planned, or were planned unsurely, and about a random sample
of the others, to learn how often sure plans are wrong.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hearth import config
from hearth.config import Settings
from hearth.edge.cloud_teacher import open_teacher
from hearth.errors import PlannerError
from hearth.guard.egress.gateway import Egress
from hearth.learning import corrections as harvesting
from hearth.learning import demonstration_store as rows
from hearth.learning.corrections import (
    Budget,
    EndpointTeacher,
    FirstOf,
    Harvest,
    Limits,
    MeteredTeacher,
    Origin,
    OwnerTeacher,
    RecordedTeacher,
    entry_from,
    harvest,
)
from hearth.learning.demonstration_store import Entry, why_not, why_touched
from hearth.learning.versions.learned_state import State
from hearth.learning.versions.promotion_gate import Progress
from hearth.planning.deferral import (
    CONFIDENT,
    Agreements,
    Comparison,
    Costs,
    comparison,
    costs_of,
    is_drawn,
    is_sure,
    learn_threshold,
)
from hearth.planning.deferral import note as note_agreement
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.protocols import Encoder, Planner, Teacher
from hearth.storage.workspace import Folder, Home
from hearth.tools.pim.contacts import entities
from hearth.types import Context, Episode, Plan, Refusal, ToolSpec


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """Options for learning from the stream."""

    settled_after: dt.timedelta = dt.timedelta(days=1)
    """Time a finished request must stand before it is learnt from."""
    compared_share: float = 0.05
    """Share of the planned requests that are given to the teacher at random."""
    confident: float = CONFIDENT
    """Confidence from which a plan is not asked about, until a better threshold is known."""
    costs: Costs = field(default_factory=Costs)


@dataclass(frozen=True, slots=True)
class LoopReport:
    """Outcome of a run of the stream."""

    n_looked_at: int
    n_done: int
    """Requests that were done and stood, now to be learnt from."""
    n_asked: int
    n_answered: int
    n_agreed: int
    """Number of compared plans that were the teacher's."""
    n_compared: int
    unasked: str = ""
    """Reason why the teacher was not asked to the end; empty when it was."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Progress of the run; the last stage carries the report."""

    name: str
    done: int
    total: int
    report: LoopReport | None = None


def gather_waiting(
    state: State,
    teacher: Teacher | None,
    *,
    now: dt.datetime,
    options: LoopOptions | None = None,
    planner: Planner | None = None,
    context: Context | None = None,
) -> Iterator[Stage]:
    """Gather what can be learnt from the requests in the state's store: what was done, and the teacher's answers.

    It waits in the buffer for the next `State.learn`.

    Args:
        teacher: None asks nobody: only what was done and stood is gathered.
        now: With time zone.
        planner: Its plans are compared with the teacher's too.
        context: What planners may see, for `planner`.
    Yields:
        A stage after each request; the last one has the report.
    Raises:
        StoreError: What was settled before stays so.
    """
    found = harvest(state.store, state.tools, now, (options or LoopOptions()).settled_after)
    run = _Run(state, options or LoopOptions(), planner, context or Context())
    run.keep(found)
    n = len(found.verdicts)
    yield Stage("looking", n, n)
    questions = run.chosen(found) if teacher is not None else []
    for k, (episode, by_lot) in enumerate(questions, 1):
        assert teacher is not None
        run.ask(teacher, episode, by_lot)
        if run.unasked:
            break
        yield Stage("asking", k, len(questions))
    report = LoopReport(n, len(found.entries), run.n_asked, run.n_answered, run.n_agreed, run.n_compared, run.unasked)
    yield Stage("gathered", n, n, report)


class _Run:
    """One run's counts, and the steps each request goes through."""

    def __init__(self, state: State, options: LoopOptions, planner: Planner | None, context: Context) -> None:
        self._state = state
        self._options = options
        self._planner = planner
        self._context = context
        self._thresholds: dict[str, float | None] = {}
        self.n_asked = self.n_answered = self.n_agreed = self.n_compared = 0
        self.unasked = ""

    def keep(self, found: Harvest) -> None:
        """Take in what was done and stood; record what is never learnt from."""
        entries = {entry.demonstration.id: entry for entry in (*found.entries, *found.touched)}
        for verdict in found.verdicts:
            if verdict.kind in ("success", "teacher", "no"):
                entry = entries.get(f"{verdict.kind}:{verdict.episode}")
                self._settle(verdict.episode, entry, (), verdict.kind)

    def chosen(self, found: Harvest) -> list[tuple[Episode, bool]]:
        """Choose the requests to ask about, each with whether it was drawn at random."""
        reasons = {verdict.episode: verdict.reason for verdict in found.verdicts}
        chosen = [(episode, True) for episode in found.settled if self._is_drawn(episode)]
        for episode in found.questions:
            plan, drawn = episode.plan, self._is_drawn(episode)
            went_wrong = plan is None or reasons[episode.id] != harvesting.ONLY_READ
            if went_wrong or drawn or (plan is not None and not self._is_sure(plan)):
                chosen.append((episode, drawn))
        return chosen

    def _is_drawn(self, episode: Episode) -> bool:
        key = f"{episode.request.now.isoformat()} {episode.request.text}"
        return is_drawn(key, self._options.compared_share)

    def ask(self, teacher: Teacher, episode: Episode, drawn: bool) -> None:
        """Ask the teacher about one request and settle it."""
        state = self._state
        proposed = [episode.plan] if episode.plan is not None else []
        if self._planner is not None:
            try:
                answer = self._planner.plan(episode.request, self._context, state.tools)
            except PlannerError:
                pass  # it has no answer for this one
            else:
                proposed += [answer] if isinstance(answer, Plan) else []
        label = _answer(teacher, episode, state.tools)
        if isinstance(label, Refusal) and label.kind != "out_of_scope" and not label.planner:
            self.unasked = label.reason  # nobody was asked: the rest waits for another time
            return
        self.n_asked += 1
        if isinstance(label, Refusal) and label.kind != "out_of_scope":
            self._settle(episode.id, None, (), harvesting.UNANSWERED)
            return
        self.n_answered += 1
        by = label.planner or teacher.name
        entry = None
        if isinstance(label, Plan) and not label.unserved:
            origin = Origin(f"teacher:{episode.id}", "teacher", episode.id)
            entry = entry_from(episode.request, label, by, origin, state.tools)
        compared = [self._compared(plan, by, label, episode, drawn) for plan in proposed]
        self.n_compared += len(compared)
        self.n_agreed += sum(one.is_right for one in compared)
        self._settle(episode.id, entry, compared, "asked")

    def _compared(self, plan: Plan, by: str, label: Plan | Refusal, episode: Episode, drawn: bool) -> Comparison:
        share = max(self._options.compared_share, 1e-6) if self._is_sure(plan) else 1.0
        made = comparison(episode.request, plan, by, label, self._state.tools)
        return replace(made, share=share, is_drawn=drawn, episode=episode.id)

    def _is_sure(self, plan: Plan) -> bool:
        if plan.planner not in self._thresholds:
            outcomes = Agreements(self._state.store).outcomes(plan.planner)
            self._thresholds[plan.planner] = learn_threshold(outcomes, self._options.costs)
        return is_sure(plan, self._thresholds[plan.planner], self._options.confident)

    def _settle(
        self, episode: str, entry: Entry | None, compared: tuple[Comparison, ...] | list[Comparison], outcome: str
    ) -> None:
        """Settle everything about one request in one transaction."""
        strange = why_touched(entry, self._state.tools) if entry is not None else ""
        if entry is not None and not strange and why_not(entry, self._state.tools):
            entry = None
        with self._state.store.transaction() as cursor:
            if entry is not None:
                rows.hold(cursor, [entry], "quarantined" if strange else "waiting", strange)
            for one in compared:
                note_agreement(cursor, one)
            harvesting.note(cursor, episode, outcome)


def _answer(teacher: Teacher, episode: Episode, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
    """Return the teacher's answer; a teacher that breaks counts as not asked."""
    try:
        for label in teacher.label([episode.request], tools):
            return label
    except PlannerError as error:
        return Refusal("unreadable", str(error))
    return Refusal("unreadable", f"the teacher {teacher.name!r} gave no answer at all")


# ── Who teaches ────────────────────────────────────────────────────────────────────────────────────────
# Gathers what a home's requests teach, asking its teacher within its budget, for the next learning run.
# Covered: who teaches (a file, the model in [models.teacher], the joined cloud, the model in [models.language]), each
# after the owner's own word. Not covered: learning what was gathered (`learned_state`).


def gather(
    state: State, folder: Path, encoder: Encoder, progress: Progress, recorded: Path | None = None
) -> LoopReport | None:
    """Gather what the home's requests teach, asking its teacher within its budget, for the next learning run.
    Args: recorded: A file that answers instead of the teacher.
    Raises: ConfigError, RequestError: The teacher's settings or file cannot be used; nothing was asked."""
    settings = config.read_settings(folder / "hearth.toml")
    now = dt.datetime.now(settings.zone())
    context = _context(state, folder, settings)
    options = LoopOptions(
        dt.timedelta(hours=settings.learning.settled_after_h),
        settings.learning.compared_share,
        settings.planning.ask_below,
        costs_of(settings),
    )
    report: LoopReport | None = None
    with _teacher(state, folder, settings, encoder, context, recorded) as teacher:
        planner = RecallPlanner(encoder, state.store, config.cache_folder(os.environ)) if teacher else None
        for stage in gather_waiting(state, teacher, now=now, options=options, planner=planner, context=context):
            progress(stage.name, stage.done, max(stage.total, 1))
            report = stage.report
    return report


@contextlib.contextmanager
def _teacher(
    state: State, folder: Path, settings: Settings, encoder: Encoder, context: Context, recorded: Path | None
) -> Iterator[Teacher | None]:
    """Open a teacher: the file, else the model in [models.teacher], else the joined cloud where [edge] lets it teach,
    else the model in [models.language]; each comes after what the owner taught for the same words. None without any."""
    from hearth.guard.egress.masking_door import MaskedModel, leaves_device, open_masked  # most runs need no model
    from hearth.models.llm.openai_endpoint import RemoteModel

    owner = OwnerTeacher(state.store)
    language = settings.models.language
    if language is not None and language.adapter:
        language = None  # the model is a student itself
    chosen = settings.models.teacher or language
    if recorded is not None:
        yield FirstOf([owner, RecordedTeacher(recorded)])
        return
    said, zone = settings.learning, settings.zone()

    def clock() -> dt.datetime:
        return dt.datetime.now(zone)

    egress = Egress.from_settings(settings, state.store, clock)
    home = Home(folder, settings, state.store, os.environ)
    limits = Limits(
        said.questions_per_day,
        said.tokens_per_day,
        said.usd_per_day,
        usd_per_million_tokens=said.usd_per_million_tokens,
    )
    if settings.models.teacher is None:
        cloud = open_teacher(home, egress, context)
        if cloud is not None:
            with contextlib.closing(cloud):
                yield FirstOf([owner, MeteredTeacher(cloud, Budget(state.store, cloud.name, limits, clock))])
            return
    if chosen is None:
        yield None
        return
    where = "[models.teacher]" if settings.models.teacher else "[models.language]"
    model = open_masked(chosen, home, egress, where=where, reason="teacher")
    budget = Budget(state.store, f"{chosen.kind}:{chosen.base_url or chosen.path} {chosen.model}", limits, clock)
    with contextlib.ExitStack() as stack:
        if isinstance(model, RemoteModel | MaskedModel):
            stack.callback(model.close)
        told = Context() if leaves_device(chosen) else context
        yield FirstOf([owner, EndpointTeacher(model, budget, encoder, told, said.answers_per_question)])


def _context(state: State, folder: Path, settings: Settings) -> Context:
    names = entities(Folder(folder / "owner", state.store).for_call(""))
    return Context(settings.owner.name, names, settings.owner.country)


def gathered_lines(report: LoopReport) -> list[str]:
    """Format what gathering did, for a person."""
    lines = []
    if report.n_done:
        lines.append(f"{report.n_done} of your requests were done and not taken back: learnt from")
    if report.n_asked:
        agreed = f", who agreed with {report.n_agreed} of {report.n_compared} plans" if report.n_compared else ""
        lines.append(f"{report.n_answered} of {report.n_asked} questions were answered by the teacher{agreed}")
    if report.unasked:
        lines.append(report.unasked)
    return lines
