"""The whole of Hearth in one readable function: `Agent.run`.

Everything else here opens a home, puts the parts together and hands them what they need. One agent per home: a second
one is refused while the first runs.
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import cast

from hearth import config
from hearth.config import Settings
from hearth.errors import CancelledError, ConfigError, HearthError, NotFound, PlannerError, RegistryError, ToolError
from hearth.execution.executor import (
    LEAST_GROUNDED,
    MAX_RESUMES,
    NOT_NAMED,
    NOTHING,
    WHOLE,
    Executor,
    ReadAhead,
    groundedness,
    look_up,
)
from hearth.execution.repair import Repairer
from hearth.execution.results import compose, reword
from hearth.formats.plans import check_plan, only_reads, read_demonstrations
from hearth.guard.decision import Occasion, Records, Rights
from hearth.guard.egress.gateway import Egress
from hearth.guard.injection import InjectionReader, said_by_model
from hearth.guard.monitor import Monitor
from hearth.guard.policy.request_words import Owner
from hearth.guard.policy.rules import Policy
from hearth.guard.policy.warrant import KnownTools, Warrant, with_unsaid
from hearth.language.discourse.coreference import (
    Reading,
    done_to_record,
    read_after,
    shown_again,
    takes_back,
    with_records,
)
from hearth.language.discourse.deeds_told import put_in, tells_too
from hearth.language.discourse.plain_request import on_its_list, plainly
from hearth.language.discourse.relative_anchors import NamedAnchor, copied_in, lead_of, named_anchor
from hearth.language.reading import (
    MAX_CHARACTERS,
    Utterance,
    beyond_tools,
    read,
    states_in_a_clause,
    why_unreadable,
    without_manner,
)
from hearth.language.thesaurus import Spelling
from hearth.language.tokens import NONE_HAS_ALL
from hearth.memory.answers.home_answers import LEAST_OWN, HomeAnswers
from hearth.memory.answers.question_answering import WordReader
from hearth.memory.answers.recollection import Recollection
from hearth.memory.event_memory import EventMemory
from hearth.memory.fact_extraction import ASKED, Told, facts_in, known_from, learn_from
from hearth.memory.facts import FactStore
from hearth.memory.forgetting import retention_of, tend_a_little
from hearth.memory.inquiry.answer_reading import AnswerReader, asks_yes_or_no
from hearth.memory.inquiry.answer_telling import card_meant, cards_of
from hearth.memory.search.passage_store import EMBED_BATCH
from hearth.memory.search.search_words import keys_of, telling_words, times_named
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.permissions import make_private
from hearth.planning.arguments import alignment
from hearth.planning.deferral import Cascade, Draft, cascade_of
from hearth.planning.dialogue.amendments import (
    asked_next_free,
    either_asked,
    events_between,
    in_the_other_half,
    joined,
    lacking_on_card,
    nearest_rhythm,
    next_free,
    refused_deed,
    reminders_of_days,
    said_directly,
    swallowed,
    to_those_told,
    turned_to_told,
    whether_free,
    with_copied,
    with_deeds_in_words,
    with_each_day,
    with_each_device,
    with_each_time,
    with_her_named,
    with_lead,
    with_put_in,
    with_state_asked,
    with_told,
    without_contradictions,
    without_echoes,
    without_told_filters,
)
from hearth.planning.dialogue.answer_steps import (
    FIND,
    DatedThing,
    dated_thing,
    day_in,
    event_on,
    loses_words,
    when_asked,
    why_undated,
    with_answer,
    with_date,
)
from hearth.planning.dialogue.fallbacks import (
    ASK_CLOUD,
    Beyond,
    Grounds,
    asked_beyond_card,
    asked_beyond_device,
    asked_beyond_listed,
    asked_beyond_nothing,
    asked_elsewhere,
    asked_of_clock,
    asked_of_cloud,
    asked_of_footage,
    asked_of_memory,
    event_told,
    events_then,
    first_alone,
    got_things,
    is_called_just,
    is_entitled,
    is_misplaced,
    is_of_found_things,
    left_open,
    may_restore,
    named_share,
    names_no_field,
    other_queries,
    replied_to,
    says_only_a_name,
    taken_off,
    takes_away,
    ticked_on_list,
    ticked_reminder,
    ticked_thing,
    to_newest_of_thread,
    told_to_memory,
    with_named_file,
    with_named_note,
    with_said_title,
)
from hearth.planning.dialogue.kept_answers import is_sure, with_listed_answer, with_noted_answer
from hearth.planning.retrieval.recall_planner import RecallPlanner, as_typed
from hearth.protocols import Approver, CallContext, Encoder, Footage, LanguageModel, Planner, Tool
from hearth.registry import ENTITIES, FOOTAGE, Part, Tools, blamed, load_parts, load_tools, second_footage
from hearth.storage.database import HomeLock, Store
from hearth.storage.fault_log import note_fault
from hearth.storage.trace import CallRecord, Trace, UnfinishedEpisode
from hearth.storage.workspace import Folder, Home
from hearth.tools import abilities
from hearth.tools.memory import LEAST_SURE
from hearth.tools.notes import list_names, lists_with
from hearth.types import (
    OWNER,
    OWNERS_WORD,
    Answer,
    Context,
    Demonstration,
    Entity,
    Episode,
    Plain,
    Plan,
    Record,
    Refusal,
    Request,
    Ruling,
    Step,
    StepResult,
    ToolSpec,
)

MAX_REPAIR_ROUNDS = 2
"""How often the rest of a plan is planned anew after a failed step, before it is reported plainly."""
_WORLDLY = 0.8
"""Score of "nothing" in the heads from which on a question is one about the world: 3 % of 300 questions about homes do
so, and 65 % of those that people asked of the world and that their form would have put to the owner's things."""
_LIKELY_OWN = LEAST_SURE
"""Least chance of an answer in the owner's things at which a question that only names one of them is put to them; from
there on an answer is told without doubt."""
_PROBABLY_OWN = 0.5
"""Chance that people ask so of their own things from which on a question for yes or no is put to them."""
_MAYBE_OWN = 0.3
"""The same for a question that no tool serves: told with doubt, what the owner's things say beats "I can't do that". Of
34 questions that people ask of the world, four reached it in two homes that spoke of their matter."""
_SURE_ORDER = 0.9
"""Chance from which on what may answer a question is a request of its own."""
_LEAST_TAKING = 0.1
"""Least chance of another reading after which something is gone."""
_LOOK_UPS = {"find_events": ("EventId", "start"), "find_reminders": ("ReminderId", "at")}
"""What finds things that take place, with the type of their ids and the field that says when."""
"""Finds the thing that a time is counted from."""
_A_PROGRAM = "a program"
"""Who asked, where a program did and its name is not told."""
NOTHING_TO_CHANGE = "nothing to change"
"""The rule named where a plan ended before the question."""
LEARN_BATCH = 256
"""Demonstrations embedded at once while learning: small enough that progress moves, large enough to be quick."""
UNDO_KEPT = dt.timedelta(days=30)
"""How long a change can be taken back: older before-images are dropped."""
OWNER_FOLDERS = ("calendar", "reminders", "contacts", "mail", "notes", "documents")


@dataclass(frozen=True, slots=True)
class UndoReport:
    """What `Agent.undo` took back of an episode, and what it had to leave."""

    episode: str
    undone: tuple[str, ...]
    kept: tuple[str, ...]
    notices: tuple[str, ...] = ()
    """What the tools said of it beside: whom a server may write to again."""


@dataclass(frozen=True, slots=True)
class Planners:
    """What plans for a home: the cascade, and the parts of it that are used on their own."""

    cascade: Cascade
    encoder: Encoder
    recall: RecallPlanner
    model: LanguageModel | None
    """It also words answers; None where the settings name none."""
    language: Planner | None
    """The planner that asks `model`."""


class Agent:
    """One owner's agent on one home folder. Make it with `Agent.open`, end it with `close`."""

    def __init__(self, home: Home, tools: Tools, planners: Planners, monitor: Monitor, egress: Egress) -> None:
        """Put the parts together; see `open`."""
        self.opened = home
        self.home, self.settings, self.store = home.path, home.settings, home.store
        settings, store, environ = home.settings, home.store, home.environ
        self.tools = tools
        self.planner = planners.cascade
        self.encoder = encoder = planners.encoder
        self.recall = planners.recall
        self.model = planners.model
        self.monitor = monitor
        self.egress = egress
        self.clock = home.clock
        self.proposed: Plan | None = None
        """The plan that is being ruled on, before anything of it is done."""
        self.trace = Trace(store)
        country = settings.owner.country
        self.memory = EventMemory(store, encoder, lambda text, now: times_named(text, now, country))
        self.facts = FactStore(store)
        cache = home.cache
        self._word_reader = WordReader(cache)
        self.home_answers = HomeAnswers(store, encoder, AnswerReader(cache))
        self.recollection = Recollection(self.memory, self.facts, self._word_reader, self.home_answers)
        self._naming = load_parts(ENTITIES)
        self.footage, footage_faults = _opened_footage(store, self.memory, settings)
        self._faults = dict.fromkeys((*tools.faults, *self._naming.faults, *footage_faults))
        self._naming_faults: dict[str, str] = {}
        self.folder = Folder(home.path / "owner", store)
        self._tool_settings = {**settings.for_tools(environ), abilities.SETTINGS: abilities.abilities(tools.specs)}
        self._known_tools = KnownTools(tools.specs)
        self._resources = home.resources
        self.executor = Executor(monitor, self.trace, self._call_context, self.folder)
        self.repairer = Repairer(planners.cascade, lambda plan: check_plan(plan, tools.specs), planners.language)

    @property
    def faults(self) -> tuple[str, ...]:
        """Plug-ins and what others learnt that were left out, each with the reason and what to do; more may come with
        every request."""
        of_prior = self.recall.remembered.prior_fault
        return (*self._faults, *self._naming_faults.values(), *([of_prior] if of_prior else []))

    # ── The one flow ──────────────────────────────────────────────────────────────────────────────────────

    def run(self, request: Request, plan: Plan | None = None, rights: Rights = "all") -> Episode:
        """Plan a request, rule on the plan, run it, repair it, answer, remember.

        Everything that happens is recorded as it happens: a process killed anywhere leaves a record from which
        `recover` carries on.

        Args:
            plan: What the owner chose by a button, say; nothing is planned then.
            rights: What whoever asks may do. Of others than the owner nothing is remembered or learnt.
        Raises:
            KeyboardInterrupt, CancelledError: The owner stopped it; it is closed and not carried on later.
            StoreError: The home's disk is full, say; nothing was done without a record.
            MissingExtraError, ConfigError: A part that the settings name is not installed, or cannot be used.
        """
        episode_id = self._new_id(request.now)
        self.monitor.rights = rights
        if rights != "all" and not request.asked_by:
            request = replace(request, asked_by=_A_PROGRAM)
        try:
            return self._run(request, episode_id, plan)
        except (KeyboardInterrupt, CancelledError):
            self._close_stopped(episode_id)
            raise
        except HearthError:
            raise
        except Exception as error:
            return self._failed(request, episode_id, note_fault(self.home, error))
        finally:
            self.monitor.foreseen, self.monitor.rights, self.proposed = None, "all", None

    def _run(self, request: Request, episode_id: str, chosen: Plan | None) -> Episode:
        started = time.perf_counter()
        self.trace.begin(request, episode_id)
        self.egress.purpose = episode_id
        proposal: Plan | Refusal
        if chosen is not None:
            proposal = check_plan(chosen, self.tools.specs)
        else:
            proposal = self.plan(request, self.tools.specs, reads_ahead=self.settings.planning.reads_ahead)
            proposal = self._with_what_is_then(request, proposal)
        planning_ms = (time.perf_counter() - started) * 1000
        plan, refusal = (proposal, None) if isinstance(proposal, Plan) else (None, proposal)
        self.proposed = plan
        ruling, undone, results = self._ruled(request, plan, episode_id) if plan else (None, "", ())
        self.proposed = None
        self.trace.planned(episode_id, plan, refusal, ruling, planning_ms)

        rounds = 0
        if plan and ruling and (ruling.verdict == "allow" or results):
            results = results or self.executor.run(episode_id, plan, self.tools.specs, request.now)
            while rounds < MAX_REPAIR_ROUNDS:
                repaired = self._repaired(request, plan, results)
                if (
                    repaired is None
                    or (again := self._ruled_again(request, repaired, plan, results)).verdict != "allow"
                ):
                    break
                plan, rounds, ruling = repaired, rounds + 1, ruling if ruling.verdict == "allow" else again
                self.trace.planned(episode_id, plan, None, ruling, planning_ms)
                results = self.executor.run(episode_id, plan, self.tools.specs, request.now, done=results)

        answer = compose(plan, refusal, ruling, results, self.tools.specs, request.now, is_owners=not request.asked_by)
        if self.model is not None and _words_answers(self.model, self.settings, plan):
            answer = reword(answer, request.text, self.model, results)
        if_free = whether_free(plan, request.text, results, request.now) if plan else ""
        lacking = self._lacking(request, plan, results) if plan else ""
        later = self._said_later(request, plan, results) if plan else ""
        told = f"In your calendar: {answer.text}" if later else answer.text
        answer = replace(answer, text="\n".join(filter(None, (undone, if_free, lacking, told, later))))
        episode = Episode(
            id=episode_id,
            request=request,
            plan=plan,
            refusal=refusal,
            ruling=ruling,
            results=results,
            answer=answer,
            disclosures=self.egress.disclosures(episode_id),
            duration_ms=(time.perf_counter() - started) * 1000,
            planning_ms=planning_ms,
            rounds=rounds,
            asked=self.monitor.take_asked(),
        )
        if self.monitor.rights == "all" and not request.is_pressed:
            kind = ASKED if self._only_asks(episode) else "request"
            self.memory.remember(request.text, kind=kind, at=request.now, label=OWNER, key=episode_id)
            self._learn_facts(episode)
        self.trace.finish(episode)  # last: it forces what was written before it to the disk, too
        return episode

    def _lacking(self, request: Request, plan: Plan, results: Sequence[StepResult]) -> str:
        """That the card which was looked up has no such value; nothing of a birthday of which only the year is open."""
        said = lacking_on_card(plan, request.text, results)
        shown = results[0].value if said and results else None
        name = shown.get("name") if isinstance(shown, Mapping) else None
        card = card_meant(name, cards_of(self.call_context())) if isinstance(name, str) else None
        known = ("birthday",) if card is not None and card.birth is not None else ()
        return lacking_on_card(plan, request.text, results, known) if said else ""

    def _said_later(self, request: Request, plan: Plan, results: Sequence[StepResult]) -> str:
        """What a mail says instead of the time of the one event that was told, where the owner asked for it."""
        told = event_told(plan, results)
        if told is None or self.monitor.rights != "all" or not Utterance.of(request, Context()).asked.is_question:
            return ""
        with suppress(HearthError):
            return self.home_answers.later_word(told, self.call_context())
        return ""

    def _ruled(self, request: Request, plan: Plan, id: str) -> tuple[Ruling, str, tuple[StepResult, ...]]:
        """Rule on a plan, and take back what an allowed one is done in the place of; denied where that cannot be done.

        Returns:
            The ruling; what was taken back, in words; results, where the plan ended before there was a question, as
            what it would change was not found or is several things.
        """
        if request.revises and not plan.steps:
            return (*self._in_place_of(request, plan, Ruling("allow", "you asked to take it back")), ())
        occasion = self.occasion(request, plan, id)
        if request.revises:
            before = self.trace.episode(request.revises)
            restores = before.plan is not None and may_restore(before.plan, plan, self.tools.specs)
            occasion = replace(occasion, takes_back=before.request.typed, restores=restores)
        foreseen = self.monitor.foreseen
        found = look_up(self.monitor, plan, self.tools.specs, occasion, self._call_context)
        if found.stuck:
            return Ruling("deny", "there was nothing to agree to", NOTHING_TO_CHANGE), "", found.stuck
        self.monitor.foreseen = self.monitor.foreseen or foreseen
        ruling = self.monitor.rule(plan, occasion=occasion, things=found.things)
        return (*self._in_place_of(request, plan, ruling), ()) if request.revises else (ruling, "", ())

    def _ruled_again(self, request: Request, plan: Plan, before: Plan, results: tuple[StepResult, ...]) -> Ruling:
        """Rule on what a repair goes on with; its question names what is looked up for it, too."""
        occasion = self.occasion(request, plan)
        found = look_up(self.monitor, plan, self.tools.specs, occasion, self._call_context, results)
        if found.stuck:
            return Ruling("deny", "there was nothing to agree to", NOTHING_TO_CHANGE)
        return self.monitor.rule(plan, extends=before, things=found.things)

    def _in_place_of(self, request: Request, plan: Plan, ruling: Ruling) -> tuple[Ruling, str]:
        """Take back what an allowed plan is done in the place of."""
        if ruling.verdict != "allow":
            return ruling, ""
        try:
            report = self.undo(request.revises)
        except NotFound:
            return ruling, "" if plan.steps else "That was taken back already."
        if report.kept:
            return Ruling("deny", f"what I did before could not be taken back ({'; '.join(report.kept)})"), ""
        calls = self.trace.calls(request.revises)
        self.monitor.took_back(plan, [id for call in calls if call.started is not None for id in call.started.things])
        before = self.trace.episode(request.revises).request
        return ruling, "\n".join((f"Taken back: “{before.typed}”.", *(f"Note: {one}" for one in report.notices)))

    def plan(self, request: Request, tools: Mapping[str, ToolSpec], *, reads_ahead: bool = False) -> Plan | Refusal:
        """A checked plan or an honest refusal. A planner that breaks is a refusal, too.

        Args:
            reads_ahead: While the teacher is asked, begin what the device's own plan would read; else nothing runs.
        """
        if request.revises and not request.text:
            return Plan((), planner=OWNERS_WORD)
        if len(request.text) > MAX_CHARACTERS:  # before anything reads it
            return Refusal("unreadable", why_unreadable(request.text))
        if takes_back(request.text):  # what it takes back, the owner's alone, is found before
            return Refusal("out_of_scope", "There is nothing that I can take back.")
        taught = self.recall.taught_words()
        if self.monitor.rights == "all":  # how words are read would tell others what stands in the owner's things
            taught |= self.home_answers.passages.said(Spelling.shipped().strange(request.text, taught))
        said = read(request, self.context(), taught)
        try:
            found = self._planned(said, tools, reads_ahead=reads_ahead)
        except PlannerError as error:
            return Refusal("out_of_scope", f"I could not plan this: {error}")
        found = as_typed(found, said, tools)
        return self._asked_as_typed(found, said) if isinstance(found, Plan) and said.mended.typed else found

    def _planned(self, said: Utterance, tools: Mapping[str, ToolSpec], *, reads_ahead: bool = False) -> Plan | Refusal:
        """Plan what was read; its words are still as they were mended."""
        if (whole := self._with_what_is_beside(said, tools)) is not None:
            return whole
        text, manner = without_manner(said.text)
        said = said.saying(text)
        draft = self._drafted(said, tools)
        if reason := self._beyond(said, draft.best):
            return Refusal("out_of_scope", reason)
        found = self._settled(draft, said, tools, reads_ahead=reads_ahead)
        found = to_those_told(said, found, tools) or self._read_otherwise(said, found, tools)
        found = self._by_its_date(said, found, tools) or found
        found = said_directly(said, found, tools) or found
        found = either_asked(said, found, tools) or found
        if reason := nearest_rhythm(said, found, tools):
            return Refusal("out_of_scope", reason)
        found = without_contradictions(found, said, tools)
        if isinstance(found, Refusal):
            return found
        if (parts := swallowed(found, said)) is not None:
            first, then = (self._planned(said.saying(part), tools) for part in parts)
            both = joined(first, then, tools) if isinstance(first, Plan) and isinstance(then, Plan) else None
            found = both or found
        found = replace(found, unserved=(*found.unserved, manner)) if manner else found
        found = with_her_named(found, said)
        found = with_each_device(with_state_asked(found, said, tools), said, tools)
        found = with_each_time(with_each_day(found, said, tools), said, tools)
        found = with_deeds_in_words(without_echoes(found, tools), said)
        found = turned_to_told(without_told_filters(found, said, tools), said)
        return with_records(self._with_the_one_named(said, found, tools), said.records, tools)

    def _with_what_is_beside(self, said: Utterance, tools: Mapping[str, ToolSpec]) -> Plan | None:
        """Plan a request without what it says beside (a time before a thing, who gets a copy, who is told, where it is
        put), and add that; None where it says nothing such, or that does not fit the plan."""
        if (lead := lead_of(said)) is not None:
            before = self._planned(said.saying(lead.rest), tools)
            if isinstance(before, Plan) and (whole := with_lead(before, lead, said.now, tools)) is not None:
                return whole
        if (copied := copied_in(said)) is not None:
            before = self._planned(said.saying(copied.rest), tools)
            if isinstance(before, Plan) and (whole := with_copied(before, copied, tools)) is not None:
                return whole
        if (told := tells_too(said)) is not None:
            before = self._planned(said.saying(told.rest), tools)
            if isinstance(before, Plan) and (whole := with_told(before, told, tools)) is not None:
                return whole
        if (put := put_in(said)) is not None:
            before = self._planned(said.saying(put.rest), tools)
            if isinstance(before, Plan) and (whole := with_put_in(before, put, tools)) is not None:
                return whole
        return None

    def _with_the_one_named(self, said: Utterance, plan: Plan, tools: Mapping[str, ToolSpec]) -> Plan:
        """The plan that writes about the one of several things whose title the request says, if no other fits, and
        that answers the newest mail of a thread."""
        if self.monitor.rights != "all" or plan.planner != self.recall.name or said.records:
            return plan
        for place in left_open(plan, tools):
            seen = self._looked_up(said, plan.steps[place])
            records = seen.value if seen is not None and isinstance(seen.value, list) else []
            narrowed = with_said_title(said.text, plan, place, records) if len(records) > 1 else None
            one = self._looked_up(said, narrowed.steps[place]) if narrowed is not None else None
            if narrowed is not None and one is not None and isinstance(one.value, list) and len(one.value) == 1:
                plan = narrowed
        for place in replied_to(plan):
            seen = self._looked_up(said, plan.steps[place])
            records = seen.value if seen is not None and isinstance(seen.value, list) else []
            plan = to_newest_of_thread(plan, place, records) or plan
        return plan

    def _settled(
        self, draft: Draft, request: Utterance, tools: Mapping[str, ToolSpec], *, reads_ahead: bool
    ) -> Plan | Refusal:
        """Choose between the draft and what a teacher plans; while one is asked, what the draft reads may begin."""
        ahead = self._read_ahead(request, draft.best) if reads_ahead and draft.asks_teacher else None
        found: Plan | Refusal | None = None
        try:
            found = self.planner.settle(draft, request, request.context, tools)
            if isinstance(found, Plan) and found.planner != self.recall.name:  # this device makes nothing up
                found = with_unsaid(found, request, tools)
        finally:
            settled = found if isinstance(found, Plan) else None
            self.monitor.foreseen = ahead.settle(settled) if ahead is not None else None
        teacher = self.planner.teacher
        if isinstance(found, Refusal) and teacher is not None and found.planner == teacher.name:
            return said_by_model(found, request.text)
        return found

    def _read_otherwise(
        self, request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]
    ) -> Plan | Refusal:
        """Let memory, the recordings and the things that are there serve what the planner did not, or read amiss."""
        found = refused_deed(request, found, tools, self.recall.name) or found
        found = self._of_its_time(request, found, tools) or found
        found = self._of_memory(request, found, tools) or found
        found = asked_of_clock(request, found, tools) or found
        rooms = self.footage.rooms() if self.footage is not None else ()
        found = asked_of_footage(request, found, rooms, tools) or found
        found = self._sending_what_is_named(request, found, tools) or (
            self._of_named_things(request, found, tools) or found
        )
        found = ticked_reminder(request.text, found, tools) or found
        found = self._of_a_list(request, found, tools) or found
        found = with_answer(request, found, request.context, tools) or found
        found = with_noted_answer(request, found, request.context, tools) or found
        found = self._with_value_on_list(request, found, tools) or found
        found = self._next_free(request, found, tools) or found
        found = shown_again(request, found, tools) or done_to_record(request, found, tools) or found
        return refused_deed(request, found, tools, self.recall.name) or found

    def _with_value_on_list(
        self, request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]
    ) -> Plan | None:
        """The plan that puts a value on a list which is only named, where the owner's things surely say it."""
        plan = with_listed_answer(request, found, request.context, tools)
        answer = self._looked_up(request, plan.steps[0]) if plan is not None else None
        return plan if answer is not None and is_sure(answer.value) else None

    def _by_its_date(
        self, said: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]
    ) -> Plan | Refusal | None:
        """The plan of a reminder that counts from a date in the owner's things ("a day before the MOT is due"), or of
        an event on such a date. A question for the time where they do not surely say it."""
        thing = dated_thing(said, found, tools)
        if not isinstance(thing, DatedThing):
            return thing
        answer = self._looked_up(said, Step(FIND, {"question": thing.question}))
        if answer is None:
            return when_asked(tool=thing.tool)
        who = said.context.owner if thing.whose == "my" else thing.whose
        card = card_meant(who, cards_of(self.call_context())) if who else None
        birth = card.birth if card is not None else None
        day = day_in(answer, thing, birth, said.now)
        if day is None:
            return when_asked(why_undated(answer, thing), thing.tool)
        if thing.title:
            return with_date(event_on(day, thing), thing, said, answer, tools) or when_asked(tool=thing.tool)
        if day + thing.anchor.length <= said.now:
            return when_asked("The time that you named has passed.")
        plan = self._planned(said.saying(thing.on(day)), tools)
        if not isinstance(plan, Plan) or loses_words(plan, thing, said):
            return when_asked()
        return with_date(plan, thing, said, answer, tools) or when_asked()

    def _with_what_is_then(self, request: Request, found: Plan | Refusal) -> Plan | Refusal:
        """Let a plan that lists the events of whole days list the reminders, too, that are due then, and one that tells
        whether hours are free the events between them. "At 7" is in the evening where nothing is on in the morning."""
        if isinstance(found, Refusal) or not found.steps:
            return found
        specs = self.tools.specs
        other = in_the_other_half(found, Utterance.of(request, self.context()), specs)
        if other is not None and self._finds(request, other) and not self._finds(request, found):
            return other
        asked = (*reminders_of_days(found, request, specs), *events_between(found, request, specs))
        due = tuple(step for step in asked if (one := self._looked_up(request, step)) is not None and one.value)
        return check_plan(replace(found, steps=(*found.steps, *due)), self.tools.specs) if due else found

    def _finds(self, request: Request, plan: Plan) -> bool:
        """Whether the first step of a plan that only reads finds anything now."""
        seen = self._looked_up(request, plan.steps[0])
        return seen is not None and bool(seen.value)

    def _looked_up(self, said: Request, step: Step) -> StepResult | None:
        """What one step finds that only reads; None where the owner's rules do not let it be read unasked."""
        plan = Plan((step,))
        ahead = ReadAhead.begin(self.monitor, plan, self.tools.specs, self.occasion(said, plan), self._call_context)
        return ahead.finish(self.tools.specs[step.tool].timeout_s).get(0) if ahead is not None else None

    def _beyond(self, request: Utterance, best: Plan | Refusal | None) -> str:
        """Return what to say of a request that no tool should be made to serve; empty where the owner taught one to."""
        if isinstance(best, Plan) and any(":" in id for id in best.rests_on):  # the ids of what is taught at home
            return ""
        return beyond_tools(request.text, request.slots)

    def _read_ahead(self, request: Request, plan: Plan | Refusal | None) -> ReadAhead | None:
        if not isinstance(plan, Plan):
            return None
        occasion = self.occasion(request, plan)
        return ReadAhead.begin(self.monitor, plan, self.tools.specs, occasion, self._call_context)

    def _of_its_time(self, request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
        """The plan to look for events at the time that is said, if there are any; the first alone where it says no
        end."""
        plan = events_then(request, found, tools)
        seen = self._looked_up(request, plan.steps[0]) if plan is not None else None
        if plan is None or seen is None or not isinstance(seen.value, list) or not seen.value:
            return None
        return first_alone(plan, seen.value)

    def _next_free(
        self, request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]
    ) -> Plan | Refusal | None:
        """The plan that tells of the next evening, say, that is free, where one is asked for."""
        asked = asked_next_free(request, found, tools)
        seen = self._looked_up(request, asked[0]) if asked is not None else None
        if asked is None or seen is None or not isinstance(seen.value, list):
            return None
        return next_free(asked[1], seen.value, request.now, found, tools)

    def _of_memory(self, request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
        """The plan to ask memory or the cloud, or to keep what states a fact, where no planner knew better."""
        if isinstance(found, Refusal) and found.planner == OWNERS_WORD:
            return None
        if (plan := asked_of_memory(request, found, tools, self._grounds(request, found, tools))) is not None:
            return plan
        if (plan := asked_of_cloud(request, found, tools)) is not None:
            return plan
        return self._told(request, found, tools)

    def _grounds(self, request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Grounds:
        """What speaks for and against asking the owner's things. What a model planned stands, as does what changes
        something; and where a cloud may be asked, nothing sends it a question that would have stayed here."""
        told_of = {fact.subject for fact in self.facts.believed()}
        if (by := request.said_by) is not None and self.memory.said_by(by.name, 1):
            told_of.add(by.name)
        if isinstance(found, Plan) and not (found.planner == self.recall.name and only_reads(found, tools)):
            return Grounds(told_of)
        is_worldly = self.recall.nothing_meant(request) >= _WORLDLY
        likely_own = self.home_answers.own_chance(request.question)
        own_chance = 0.0 if is_worldly else likely_own
        is_filmed = self.footage is not None and bool(self.footage.rooms())
        worked_out = ""
        with suppress(HearthError):
            worked_out = self.home_answers.works_out(request.question, self.call_context())
        if isinstance(found, Plan) or ASK_CLOUD in tools:
            return Grounds(told_of, own_chance=own_chance, worked_out=worked_out, is_filmed=is_filmed)
        misplaced = found.kind == "needs" and is_misplaced(found)
        # What people ask of the world in the same words is asked here, too, where the owner's things answer it.
        is_elsewhere = is_worldly and likely_own < LEAST_OWN
        names_own = self._names_own(request, is_misplaced=misplaced, is_worldly=is_elsewhere)
        return Grounds(told_of, names_own, is_worldly, own_chance, worked_out, is_filmed)

    def _drafted(self, request: Utterance, tools: Mapping[str, ToolSpec]) -> Draft:
        """What the device finds by itself. What the owner states of somebody is kept here, and what a fact answers is
        answered here, so no teacher is asked."""
        draft = self.planner.draft(request, request.context, tools)
        if not draft.asks_teacher or draft.best is None:
            return draft
        is_told = self._told(request, draft.best, tools) is not None
        is_settled = is_told or self._is_held(request, draft.best, tools)
        return replace(draft, asks_teacher=False) if is_settled else draft

    def _is_held(self, request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> bool:
        """Whether memory would be asked, and holds a fact that answers the whole question."""
        if not self.recollection.holds_answer(request.text, now=request.now):
            return False
        plan = self._of_memory(request, found, tools)
        return plan is not None and all(step.tool != ASK_CLOUD for step in plan.steps)

    @staticmethod
    def _told(request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
        """The plan to keep what the request states; None where it states nothing, or what was found stands."""
        plan = told_to_memory(request, found, tools)
        return plan if plan is not None and facts_in(request.with_names, request.now) else None

    def _of_named_things(
        self, request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]
    ) -> Plan | Refusal | None:
        """The likeliest other reading of a request whose things are there, where what was found names what is not:
        "kill the dump run" is an event, if one is called so. None where what was found stands."""
        if request.records or not self._may_be_read_otherwise(request, found):
            return None
        best = self._groundedness(request, found) if isinstance(found, Plan) else NOTHING
        if best in (NOT_NAMED, 1.0):
            return None
        slots = request.slots
        seeks = other_queries(request.text, found, slots) if isinstance(found, Plan) else []
        least, chosen = max(best, LEAST_GROUNDED), None
        for reading in (*seeks, *self.recall.readings(request, tools, found)):
            if isinstance(reading, Refusal):
                return chosen or reading  # it lacks a value, which is asked for
            if not is_of_found_things(reading, found, tools) or not self._does_the_same(request, reading):
                continue
            if says_only_a_name(reading, found):
                continue
            if takes_away(reading, tools) and reading not in seeks and reading.confidence < _LEAST_TAKING:
                continue
            here = self._groundedness(request, reading)
            here *= 1.0 if reading in seeks else named_share(request.text, reading, slots)
            if here > least and (here >= WHOLE or not takes_away(reading, tools)):
                least, chosen = here, reading
        return chosen

    def _sending_what_is_named(
        self, request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]
    ) -> Plan | None:
        """The plan that sends the document, or the text of the note, which is there by the name that would be written;
        None where there is neither."""
        sent = with_named_file(request, found, tools)
        noted = with_named_note(request, found, tools)
        records = self._records_of(request, noted, "find_notes")
        if noted is not None and is_called_just(noted, records, self._records_of(request, sent or found, "find_files")):
            return noted
        if sent is not None and self._groundedness(request, sent) >= WHOLE:
            return sent
        if noted is None or (sent is None and self._groundedness(request, cast("Plan", found)) >= WHOLE):
            return None  # the document that it was planned to send is there
        return noted if is_entitled(noted, records) else None

    def _records_of(self, request: Request, plan: Plan | Refusal | None, tool: str) -> Sequence[object]:
        """What the first look-up of a plan by a tool finds; nothing where it has none, or may not read unasked."""
        steps = plan.steps if isinstance(plan, Plan) else ()
        step = next((one for one in steps if one.tool == tool), None)
        seen = self._looked_up(request, step) if step is not None else None
        return seen.value if seen is not None and isinstance(seen.value, list) else ()

    def _of_a_list(
        self, request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]
    ) -> Plan | Refusal | None:
        """The plan that ticks off what stands on a list and is no reminder, or a question where it is both; None where
        what was found stands."""
        if self.monitor.rights != "all" or request.records:
            return None
        if things := got_things(request.text, found, tools):
            return self._taken_off(request, things, tools)
        if not self._may_be_read_otherwise(request, found):
            return None
        thing = ticked_thing(request.text, found)
        with suppress(HearthError):
            lists = list(lists_with([thing], self.call_context()).values()) if thing else []
            if len(lists) != 1 or self._looked_up(request, Step("read_list", {"list": lists[0]})) is None:
                return None  # what stands there is not told where the owner's rules do not let it be read unasked
            seen = self._looked_up(request, Step("find_reminders", {"query": thing}))
            return ticked_on_list(thing, lists, bool(seen.value), found, tools) if seen is not None else None
        return None

    def _taken_off(self, request: Utterance, things: Sequence[str], tools: Mapping[str, ToolSpec]) -> Plan | None:
        """The plan that takes what was got off the one list where all of it stands; None where it stands on none."""
        with suppress(HearthError):
            on = [list(lists_with([thing], self.call_context()).values()) for thing in things]
            name = on[0][0] if len(on[0]) == 1 and all(one == on[0] for one in on) else ""
            if name and self._looked_up(request, Step("read_list", {"list": name})) is not None:
                return taken_off(things, name, tools)
        return None

    def _does_the_same(self, request: Request, reading: Plan) -> bool:
        """Whether a reading of what revises a request does the same as that with other values; True of any other."""
        done = self.trace.episode(request.revises).plan if request.revises else None
        same = [step.tool for step in done.steps] if done is not None else []
        return not same or [step.tool for step in reading.steps] == same

    def _may_be_read_otherwise(self, request: Utterance, found: Plan | Refusal) -> bool:
        if isinstance(found, Refusal):
            return found.kind == "out_of_scope" and found.planner == self.recall.name and not request.forbids
        effects = {self.tools.specs[step.tool].effect for step in found.steps if step.tool in self.tools.specs}
        return found.planner == self.recall.name and effects != {"none"}

    def _groundedness(self, request: Request, plan: Plan) -> float:
        if any(step.tool not in self.tools.specs for step in plan.steps):
            return NOTHING
        return groundedness(self.monitor, plan, self.tools.specs, self.occasion(request, plan), self._call_context)

    def _repaired(self, request: Request, plan: Plan, results: Sequence[StepResult]) -> Plan | None:
        """The plan that goes on where a step failed, or where nothing was found; None where nothing can be done."""
        if any(result.status == "failed" for result in results):
            repaired = self.repairer.repair(request, self.context(), plan, results, self.tools.specs)
            if repaired is not None:
                return repaired
        return self._asked_elsewhere(Utterance.of(request, Context()), plan, results)

    def _asked_elsewhere(self, request: Utterance, plan: Plan, results: Sequence[StepResult]) -> Plan | None:
        """The plan that asks everything the owner has, where a look-up found nothing, a card that hardly answers, or
        no such device."""
        if (asked := asked_elsewhere(request, plan, results, self.tools.specs)) is not None:
            return asked
        beyond = asked_beyond_card(request, plan, results, self.tools.specs)
        if beyond is not None and names_no_field(request.text):
            return beyond
        if (instead := asked_beyond_device(request, plan, results, self.tools.specs)) is not None:
            # "Is the roof insured" asks of no device, even where nothing else answers it.
            if self.home_answers.own_chance(request.question) >= LEAST_OWN:
                return instead
            beyond = beyond or instead
        beyond = beyond or asked_beyond_nothing(request, plan, results, self.tools.specs)
        with suppress(HearthError):
            found = self.home_answers.find_answer(request.question, self.call_context()) if beyond else None
            if found is not None and found.kind != "unknown" and found.chance >= _MAYBE_OWN:
                return beyond
        names = self._named_on_cards()
        if (more := asked_beyond_listed(request, plan, results, self.tools.specs, names)) is not None:
            return self._where_more_is_said(request, more)
        return None

    def _where_more_is_said(self, request: Utterance, beyond: Beyond) -> Plan | None:
        """The plan that asks everything, if the answer says something of the words that a look-up leaves open, or what
        was looked up does not tell what is asked for."""
        if beyond.is_beside or self._says_only_whose(beyond):
            return beyond.plan
        with suppress(HearthError):
            found = self.home_answers.find_answer(request.question, self.call_context())
            told = " ".join((found.value, *(f"{one.where} {one.quote}" for one in found.witnesses[:1])))
            if found.kind != "unknown" and found.chance >= _MAYBE_OWN and beyond.is_said_by(told):
                return beyond.plan
        return None

    def _says_only_whose(self, beyond: Beyond) -> bool:
        """Return whether an event that was found says nothing of a question but somebody's name: the choir practice of
        Maureen is not her dentist's appointment."""
        names = self._named_on_cards()
        said = beyond.asked - beyond.open
        return bool(said) and said <= names and not beyond.open <= names

    def _named_on_cards(self) -> set[str]:
        return keys_of(" ".join(one.title for one in self.home_answers.passages.all(("contact",))))

    def _asked_as_typed(self, plan: Plan, said: Utterance) -> Plan:
        """The plan whose question of the owner's things is asked in the words typed, where those stand there: "deli" is
        no misspelt "Delhi"."""

        def asked(step: Step) -> Step:
            question = step.arguments.get("question")
            if step.tool != FIND or not isinstance(question, str):
                return step
            typed = said.as_typed(question)
            words = sorted(set(telling_words(typed)) - set(telling_words(question)))
            is_theirs = bool(words) and self.home_answers.passages.holds_all(words)
            return replace(step, arguments={**step.arguments, "question": typed}) if is_theirs else step

        return replace(plan, steps=tuple(map(asked, plan.steps)))

    def _names_own(self, said: Utterance, *, is_misplaced: bool = False, is_worldly: bool = False) -> bool:
        """Whether a request asks for something that the owner's things say, or names one of them by its title and one
        says something to it: "the weather in Oslo" is no question about a mail on the weather. Of none where the folder
        cannot be read."""
        call = self.call_context()
        with suppress(HearthError):
            naming = self.home_answers.names_thing(said.text, call.workspace, call.now.tzinfo)
            is_named = said.asks_for_value or said.names_matter
            is_polar = not is_named and asks_yes_or_no(said.text)
            is_asked = is_named or (said.asked.is_question and not is_polar)
            # Of what is asked by yes or no much is a request: "can you order me a taxi".
            is_of_own = is_polar and not is_worldly and self.home_answers.own_chance(said.question) > _PROBABLY_OWN
            if not (is_misplaced or is_asked or is_of_own or naming != "not"):
                return False
            found = self.home_answers.find_answer(said.question, call)
            # What is named by all its words is meant, so even a doubtful answer, told as one, beats a refusal.
            is_enough = (is_asked and not is_worldly) or is_of_own
            least = 0.0 if naming == "wholly" else _MAYBE_OWN if is_enough else _LIKELY_OWN
            return found.kind != "unknown" and found.chance >= (_LIKELY_OWN if is_misplaced else least)
        return False

    def _only_asks(self, episode: Episode) -> bool:
        """Return whether a request only wanted to know something, or to have it written, or was refused, and tells
        nothing itself: "note down the wifi password" says no password."""
        steps = episode.plan.steps if episode.plan is not None else ()
        text = episode.request.text
        is_telling = states_in_a_clause(text) or facts_in(text, episode.request.now)
        is_asked = any(step.tool == FIND for step in steps)
        return not is_telling and (is_asked or all(self.tools.specs[step.tool].effect == "none" for step in steps))

    def _learn_facts(self, episode: Episode) -> None:
        """Hold true what the request itself says, unless the owner said no to it; never what was found or answered."""
        request = episode.request
        if episode.plan is not None and any(step.tool == "remember" for step in episode.plan.steps):
            request = replace(request, text=Utterance.of(request, self.context()).with_names)
        # Most requests say nothing: the contacts are looked at for the others only.
        if episode.answer.status != "denied" and facts_in(request.text, request.now):
            people = [(e.name, *e.aliases) for e in self.context().entities if e.kind == "person"]
            known = known_from(self.facts, people, is_month_first=self.settings.owner.country == "US")
            learn_from(self.facts, Told(episode.id, request.text, "request", request.now, OWNER), known)

    def tend(self) -> None:
        """Look after memory and footage for a moment, once the owner has the answer; what is not done now is left."""
        with suppress(HearthError, KeyboardInterrupt):
            tend_a_little(self.store, self.memory, retention_of(self.settings.memory), self.clock())
            next(self.home_answers.passages.embed(EMBED_BATCH), None)
            if self.footage is not None:
                self._tend(self.footage)

    def reread(self) -> None:
        """Let go of what is held in RAM of memory, which was changed beside this agent; the planner and the passages
        notice themselves."""
        self.memory.reread()

    def _tend(self, footage: Footage) -> None:
        try:
            with blamed("letting go of old home video"):
                footage.tend(self.clock())
        except RegistryError as error:  # said, as what should go stays
            self._faults[str(error)] = None

    # ── What the parts are handed ─────────────────────────────────────────────────────────────────────────

    def request(self, text: str, *, id: str = "") -> Request:
        """A request said now, on its own."""
        return self._request(text, (), id)

    def request_after(self, text: str, *, id: str = "") -> Request:
        """A request said now, in a conversation: "same for tomorrow" or "the second one" mean what was before."""
        return self._request(text, self.trace.episodes(3, is_owners=True), id)

    def pressed(self, says: str) -> Request:
        """The press of a button now, with what it does in words; its plan is handed to `run`."""
        return Request("", self.clock(), said=says)

    def _request(self, text: str, recent: Sequence[Episode], id: str) -> Request:
        now = self.clock()
        if not text or len(text) > MAX_CHARACTERS:
            return Request(text, now, id)
        plain = plainly(text)
        lists = list_names(self.call_context()) if "list" in plain.lower() else ()
        plain = on_its_list(plain, recent, now, lists)
        said = Utterance(plain, now, context=self.context())
        meant = read_after(said, recent, self.tools.specs)
        if meant.may_be_order and self._is_order(Request(plain, now)):
            meant = Reading(plain)
        if not meant.records and not meant.revises:
            meant = self._counted_from(meant, said.saying(meant.text))
        typed = text if meant.text != text else ""
        return Request(meant.text, now, id, said=typed, records=meant.records, revises=meant.revises)

    def _is_order(self, request: Request) -> bool:
        """Whether a request is surely served by itself."""
        found = self.plan(request, self.tools.specs)
        return isinstance(found, Plan) and found.confidence >= _SURE_ORDER

    def _counted_from(self, meant: Reading, said: Utterance) -> Reading:
        """Read a time that counts from an event or a reminder which the request names: "an hour before the dentist".
        Unchanged where none or several are called so, or the owner's rules do not let them be read unasked."""
        if (told := tells_too(said)) is not None:
            counted = self._counted_from(Reading(told.rest), said.saying(told.rest))
            return meant if counted.text == told.rest else replace(counted, text=f"{counted.text} and {told.text}")
        anchor = named_anchor(said)
        if anchor is None:
            return meant
        for tool, query in anchor.looked_up.items():
            named = self._only_named(said, tool, query, anchor)
            kind, when = _LOOK_UPS[tool]
            id, at = named.get("id"), named.get(when)
            if isinstance(id, str) and isinstance(at, str):
                if not anchor.moves:
                    return Reading(anchor.said_from(dt.datetime.fromisoformat(at)))
                moved = anchor if kind == "EventId" else anchor.as_reminder(query)
                called = moved.words or "the event"
                return Reading(moved.said_from(dt.datetime.fromisoformat(at)), (Record(kind, id, called),))
        return Reading(anchor.order) if anchor.order else meant

    def _only_named(self, said: Utterance, tool: str, query: str, anchor: NamedAnchor) -> Mapping[str, Plain]:
        """Return the one record that a look-up surely finds; nothing where it finds none or several."""
        asked = {"query": query, "start": anchor.start, "end": anchor.end}
        step = Step(tool, {name: value for name, value in asked.items() if value})
        found = self._looked_up(said, step) if tool in self.tools.specs else None
        if found is None or any(one.startswith(NONE_HAS_ALL) for one in found.notices):
            return {}
        records = [one for one in found.value if isinstance(one, dict)] if isinstance(found.value, list) else []
        if not query:  # "my 3 o'clock" is what begins then, and not what goes on
            records = [one for one in records if one.get("start") == anchor.start]
        return records[0] if len(records) == 1 else {}

    def context(self) -> Context:
        """What planners may see: the owner, the names the owner knows, the country; never contents."""
        owner, call = self.settings.owner, self.call_context()
        entities = tuple(entity for part in self._naming.loaded for entity in self._named_by(part, call))
        return Context(owner.name, entities, owner.country)

    def _named_by(self, part: Part, call: CallContext) -> tuple[Entity, ...]:
        """The names that a part knows; none, and a fault, where it fails: planning goes on without them."""
        self._naming_faults.pop(part.name, None)
        try:
            with blamed(f"{part.name!r} of {part.origin}"):
                found = tuple(cast("Iterable[Entity]", part.invoke(call)))
                if strange := [one for one in found if not isinstance(one, Entity)]:
                    raise TypeError(f"it names {strange[0]!r}, which is no Entity")
                return found
        except HearthError as error:
            self._naming_faults[part.name] = str(error)
            return ()

    def occasion(self, request: Request, plan: Plan, id: str = "") -> Occasion:
        """What the guard may know of a request: when it was asked, the contacts, what it licenses."""
        call = self._call_context(id, request.now)
        used = [self.tools.specs[step.tool] for step in plan.steps if step.tool in self.tools.specs]
        if all(spec.effect == "none" and spec.source != "web" for spec in used):
            return Occasion(request.now, call.workspace, id, call=call)  # what only reads here needs no licence
        if request.is_pressed:
            return Occasion(request.now, call.workspace, id, call=call)  # the button says what it does, and no more
        book = self.monitor.known_addresses(call)
        owner = Owner(frozenset({self.settings.owner.email.lower()} - {""}), book.names, book.roles)
        warrant = Warrant.of(request, self._known_tools, owner, plan)
        return Occasion(request.now, call.workspace, id, warrant, call)

    def call_context(self) -> CallContext:
        """What a call would get now, for looking things up that no tool is called for."""
        return self._call_context("", self.clock())

    def _call_context(self, key: str, now: dt.datetime) -> CallContext:
        return CallContext(
            key=key,
            now=now,
            workspace=self.folder.for_call(key),
            memory=self.recollection,
            egress=self.egress,
            settings=self._tool_settings,
            cancelled=threading.Event(),
            footage=self.footage,
        )

    # ── Learning the shipped demonstrations ───────────────────────────────────────────────────────────────

    @property
    def n_demonstrations(self) -> int:
        return len(self.recall)

    @property
    def n_to_learn(self) -> int:
        """How many shipped demonstrations wait to be learnt: all of them when the shipped file is another one."""
        known = self.store.query("SELECT value FROM meta WHERE name = 'shipped'")
        return 0 if known and known[0][0] == _shipped_hash() else len(shipped_demonstrations())

    def learn_shipped(self) -> Iterator[int]:
        """Learn the shipped demonstrations; yields how many are done, so that the caller can show it.

        Stopped in the middle, it begins anew next time; the owner's own demonstrations are never touched.
        """
        shipped = shipped_demonstrations()
        self.recall.remove(*self.recall.ids(source="shipped"))
        for start in range(0, len(shipped), LEARN_BATCH):
            self.recall.add(shipped[start : start + LEARN_BATCH])
            yield from range(start + 1, min(start + LEARN_BATCH, len(shipped)) + 1)
        alignment.release_lessons()
        with self.store.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('shipped', ?)", (_shipped_hash(),))

    # ── After a crash, and taking back ────────────────────────────────────────────────────────────────────

    def recover(self, approver: Approver | None = None) -> tuple[str, ...]:
        """Carry on what a killed process left: finish or report each open episode. What the owner agreed to is done to
        the very things; what has changed since is asked about again.

        Args:
            approver: Who is asked; by default whoever answers for this agent's requests.
        Returns:
            What became of each, a line each.
        """
        usual, self.monitor.approver = self.monitor.approver, approver or self.monitor.approver
        try:
            lines = tuple(self._recovered(left) for left in self.trace.unfinished())
        finally:
            self.monitor.approver = usual
        self.folder.prune(UNDO_KEPT)  # not before: an open episode may need old entries, the clock may have jumped
        return lines

    def _recovered(self, left: UnfinishedEpisode) -> str:
        """Carry on one open episode, and say what became of it."""
        self.egress.purpose = left.id
        self.trace.resuming(left.id)
        try:
            occasion = self.occasion(left.request, left.plan, left.id) if left.plan else None
            if occasion is not None:
                occasion = replace(occasion, left_over=left.request.typed)
            results = self.executor.resume(left, occasion)
        except HearthError:
            raise
        except Exception as error:  # a fault of Hearth's must not stop every start
            fault = note_fault(self.home, error)
            if left.n_resumed >= MAX_RESUMES:
                self._failed(left.request, left.id, fault, is_last=True)
            return f"{left.id} failed: I could not carry on with “{left.request.typed}”: {fault}"
        refusal = None if left.plan else left.refusal or Refusal("unreadable", "it was cut off before it was planned")
        answer = self._finish_left(left, results, refusal)
        return f"{left.id} {answer.status}: {answer.text}"

    def _finish_left(self, left: UnfinishedEpisode, results: tuple[StepResult, ...], refusal: Refusal | None) -> Answer:
        answer = compose(
            left.plan,
            refusal,
            left.ruling,
            results,
            self.tools.specs,
            left.request.now,
            is_owners=not left.request.asked_by,
        )
        self.trace.finish(
            Episode(
                id=left.id,
                request=left.request,
                plan=left.plan,
                refusal=refusal,
                ruling=left.ruling,
                results=results,
                answer=answer,
                disclosures=self.egress.disclosures(left.id),
                planning_ms=left.planning_ms,
                asked=self.monitor.take_asked(),
            )
        )
        return answer

    def _close_stopped(self, id: str) -> None:
        """End the record of an episode the owner stopped. With a step in doubt it stays open: `recover` looks at it."""
        for left in self.trace.unfinished():
            if left.id == id and not left.started:
                known = {result.step for result in left.results}
                rest = [k for k in range(len(left.plan.steps)) if k not in known] if left.plan else []
                error = "it was stopped before it began"
                results = (
                    *left.results,
                    *(StepResult(k, "skipped", error=error, error_kind="CancelledError", n_attempts=0) for k in rest),
                )
                refusal = None if left.plan else Refusal("unreadable", "you stopped it before it was planned")
                self._finish_left(left, tuple(sorted(results, key=lambda r: r.step)), refusal)

    def _failed(self, request: Request, id: str, fault: str, *, is_last: bool = False) -> Episode:
        """The answer to a request at which Hearth itself failed. What was done stays done, recorded and can be undone;
        a step in doubt stays open, and `recover` looks at it, unless this was the last time.
        """
        left = next((one for one in self.trace.unfinished() if one.id == id), None)
        text = f"I could not finish this: {fault}. `hearth history {id}` says what was done."
        answer = Answer(text, "failed")
        results = left.results if left is not None else ()
        plan, ruling = (left.plan, left.ruling) if left is not None else (None, None)
        refusal = None if plan is not None else Refusal("out_of_scope", text)
        asked = self.monitor.take_asked()
        episode = Episode(id, request, plan, refusal, ruling, results, answer, self.egress.disclosures(id), asked=asked)
        if left is not None and (is_last or not left.started):
            self.trace.finish(episode)
        return episode

    def undo(self, id: str | None) -> UndoReport:
        """Take back what episode `id` changed, last step first; without `id`, the last episode that changed something.

        Raises:
            NotFound: No such episode, or nothing to take back.
        """
        episode_id = self._last_change() if id is None else id
        undone: list[str] = []
        kept: list[str] = []
        notices: list[str] = []
        for call in reversed(self.trace.calls(episode_id)):
            if call.started is None or call.result is None or call.is_undone or call.started.effect == "none":
                continue
            name = call.started.tool.replace("_", " ")
            if call.result.status != "done":
                continue
            if call.started.effect == "send":
                kept.append(f"{name}: what was sent cannot be called back")
                continue
            ruling = self.monitor.rule_undo(call, self.trace.episode(episode_id).request.typed, self.call_context())
            if ruling.verdict != "allow":
                kept.append(f"{name}: {ruling.reason}")
                break  # as below
            paths: tuple[str, ...] = ()
            context = self._undo_context(call)
            try:
                paths = self.folder.undo(call.started.key)
                self.monitor.undo(call.started.tool, call.started.arguments, call.result.value, context)
            except ToolError as error:
                done = f"{', '.join(paths)} put back, but " if paths else ""
                kept.append(f"{name}: {done}{error}")
                break  # earlier steps may be what this one was made from: leave them, too
            self.trace.mark_undone(episode_id, call.started.step)
            if call.started.tool == "remember":
                self._unlearn_facts(episode_id)
            notices += context.notices
            undone.append("; ".join([f"{name} ({', '.join(paths) or 'outside the home folder'})", *context.notices]))
        if not undone and not kept:
            raise NotFound(
                f"episode {episode_id!r} changed nothing that is left to undo; `hearth history` lists episodes"
            )
        return UndoReport(episode_id, tuple(undone), tuple(kept), tuple(notices))

    def _unlearn_facts(self, event: str) -> None:
        """Revoke what rests on nothing but a request that was taken back."""
        for fact in self.facts.from_event(event):
            if fact.is_believed and fact.events == (event,):
                self.facts.revoke(fact.id, self.clock(), "you took back what it rests on")

    def _undo_context(self, call: CallRecord) -> CallContext:
        assert call.started is not None
        return self._call_context(call.started.key, call.started.at)

    def _last_change(self) -> str:
        for episode in self.trace.episodes(limit=100):
            for call in self.trace.calls(episode.id):
                is_open = call.result is not None and call.result.status == "done" and not call.is_undone
                if call.started is not None and is_open and call.started.effect == "change":
                    return episode.id
        raise NotFound("nothing is left to undo among the last 100 episodes")

    # ── Making and ending one ─────────────────────────────────────────────────────────────────────────────

    def refuse(self, request: Request, reason: str) -> Episode:
        """Record a request that could not be read, with the reason as its answer."""
        episode_id = self._new_id(request.now)
        refusal = Refusal("unreadable", reason)
        answer = compose(None, refusal, None, (), self.tools.specs, request.now)
        episode = Episode(episode_id, request, None, refusal, None, (), answer)
        self.trace.begin(request, episode_id)
        self.trace.finish(episode)
        return episode

    def _new_id(self, now: dt.datetime) -> str:
        """An id that no episode has: in a long run several episodes of one second draw the same letters."""
        id = new_id(now)
        while self.trace.has(id):
            id = new_id(now)
        return id

    def rest(self) -> None:
        """Hand back the memory of what the first question opens (90 MB); the next one opens it again, in 300 ms."""
        self._word_reader.rest()
        self.home_answers.rest()

    def close(self) -> None:
        """Give the home free. Safe to call twice."""
        self.executor.close()
        self._resources.close()

    @classmethod
    def open(
        cls,
        home: Path,
        approver: Approver,
        *,
        environ: Mapping[str, str],
        clock: Callable[[], dt.datetime] | None = None,
        encoder: Encoder | None = None,
        extra_tools: Iterable[Tool] = (),
        settings: Settings | None = None,
    ) -> Agent:
        """Open the home at `home` and put the parts together.

        Args:
            clock: The time in the owner's zone; the machine's by default.
            encoder: The shipped one by default.
            extra_tools: Beside built-ins, plug-ins and the home's own.
            settings: In place of those in the home's file: with what others of a household share, say.
        Raises:
            ConfigError: No home there, or wrong settings. HomeBusyError: Another agent runs on it.
            StoreError: The database is damaged, full or locked. MissingExtraError: The encoder's weights are absent.
        """
        settings = settings or config.read_settings(home / "hearth.toml")
        zone = settings.zone()
        clock = clock or (lambda: dt.datetime.now(zone))
        with ExitStack() as stack:
            stack.enter_context(HomeLock(home))
            store = stack.enter_context(Store.open(home / "hearth.db"))
            at = Home(home, settings, store, environ, clock, stack)
            foreign, faults = _foreign_tools(at)
            tools = load_tools(home, (*extra_tools, *_cloud_answers(at), *foreign))
            tools = replace(tools, faults=(*tools.faults, *faults))
            policy = _policy(settings, tools, home)
            egress = Egress.from_settings(settings, store, clock)
            encoder = encoder or MiniLMEncoder.open(at.cache)
            monitor = Monitor(tools.by_name, policy, approver, Records.of(store), InjectionReader.of(encoder), clock)
            planners = _planners(at, egress, encoder)
            return cls(replace(at, resources=stack.pop_all()), tools, planners, monitor, egress)


def _planners(home: Home, egress: Egress, encoder: Encoder) -> Planners:
    """Open what plans. Raises: ConfigError, MissingExtraError: A model that the settings name cannot be used."""
    recall = RecallPlanner(encoder, home.store, home.cache)
    model = _language_model(home, egress)
    language: Planner | None = None
    if model is not None:
        from hearth.planning.llm import planner_of  # as in `_language_model`

        assert home.settings.models.language is not None
        language = planner_of(model, encoder, home.settings.models.language.samples, recall)
    teacher = _cloud(home, egress) or language
    return Planners(cascade_of(home.settings, home.store, recall, teacher), encoder, recall, model, language)


def _opened_footage(store: Store, memory: EventMemory, settings: Settings) -> tuple[Footage | None, list[str]]:
    """The home's video, where a package that understands it is installed and can be used, and what is wrong with it."""
    parts = load_parts(FOOTAGE)
    faults = list(parts.faults)
    if len(parts.loaded) > 1:
        faults.append(second_footage(parts.loaded))
    try:
        return (cast("Footage", parts.loaded[0].invoke(store, memory, settings)) if parts.loaded else None), faults
    except RegistryError as error:
        return None, [*faults, str(error)]


def _policy(settings: Settings, tools: Tools, home: Path) -> Policy:
    """Raises: ConfigError: A rule is wrong; says also what was not loaded, as the rule may be about its tools."""
    try:
        return Policy.of(settings, tools.specs, str(home / "hearth.toml"))
    except ConfigError as error:
        raise ConfigError("\n".join([str(error), *(f"not loaded: {fault}" for fault in tools.faults)])) from None


def _language_model(home: Home, egress: Egress) -> LanguageModel | None:
    chosen = home.settings.models.language
    if chosen is None:
        return None
    from hearth.guard.egress.masking_door import open_masked  # most starts need none of it

    model = open_masked(chosen, home, egress)
    if (close := getattr(model, "close", None)) is not None:  # one in this process has no connections
        home.resources.callback(close)
    return model


def _cloud(home: Home, egress: Egress) -> Planner | None:
    """The cloud this home joined, where the owner lets it teach; it goes before a language model."""
    if not home.settings.edge.teaches:
        return None
    from hearth.edge.cloud_teacher import open_teacher  # as above

    teacher = open_teacher(home, egress)
    if teacher is not None:
        home.resources.callback(teacher.close)
    return teacher


def _cloud_answers(home: Home) -> tuple[Tool, ...]:
    """The tool that asks the cloud this home joined, where the owner lets it answer."""
    if not home.settings.edge.answers:
        return ()
    from hearth.edge.ask_cloud import answering_tool  # as above

    found = answering_tool(home)
    return () if found is None else (found,)


def _foreign_tools(home: Home) -> tuple[tuple[Tool, ...], tuple[str, ...]]:
    """The accepted tools of other programs, where the owner named some, and what was left out."""
    if not home.settings.mcp.servers:
        return (), ()
    from hearth.tools.foreign import foreign_tools  # as above

    return foreign_tools(home.path, home.settings, home.environ)


def _words_answers(model: LanguageModel, settings: Settings, plan: Plan | None) -> bool:
    """Never an answer that joins what is held true of the owner: no mask hides what one is allergic to."""
    chosen = settings.models.language
    if plan is not None and any(step.tool == ASK_CLOUD for step in plan.steps):
        return False
    return chosen is not None and chosen.answers and not getattr(model, "writes_plans", False)


# ── Homes, records, demonstrations ────────────────────────────────────────────────────────────────────────


def make_home(home: Path, owner: Mapping[str, str]) -> None:
    """Make a home folder with starter settings.

    Args:
        owner: `name`, `email`, `time_zone`, `country`; each may be empty.
    Raises:
        ConfigError: A value is wrong, or there is a home already; nothing was written.
    """
    path = home / "hearth.toml"
    if path.exists():
        raise ConfigError(f"{str(home)!r} is a home already; edit its hearth.toml")
    text = config.STARTER.format(**{key: json.dumps(value, ensure_ascii=False) for key, value in owner.items()})
    config.parse_settings(text, path)
    make_private(home)
    for folder in OWNER_FOLDERS:
        (home / "owner" / folder).mkdir(parents=True, exist_ok=True)
    (home / "tools").mkdir(exist_ok=True)
    temporary = path.with_suffix(".toml.new")
    temporary.touch(mode=0o600)
    temporary.write_text(text)
    temporary.replace(path)


@contextmanager
def open_trace(home: Path) -> Iterator[Trace]:
    """The record of a home, for reading, also while an agent runs on it."""
    if not (home / "hearth.db").exists():
        raise ConfigError(f"no record in {str(home)!r}; make a home there with `hearth init`")
    with Store.open(home / "hearth.db") as store:
        yield Trace(store)


def replayed(episode: Episode, tools: Mapping[str, ToolSpec]) -> Answer:
    """The answer composed again from the recorded results; calls nothing."""
    plan = episode.plan
    return compose(
        plan,
        episode.refusal,
        episode.ruling,
        episode.results,
        tools,
        episode.request.now,
        is_owners=not episode.request.asked_by,
    )


@functools.cache
def shipped_demonstrations() -> tuple[Demonstration, ...]:
    """The demonstrations that come with Hearth."""
    with as_file(files("hearth.data") / "demonstrations.jsonl") as path:
        return tuple(read_demonstrations(path))


def _shipped_hash() -> str:
    return hashlib.sha256((files("hearth.data") / "demonstrations.jsonl").read_bytes()).hexdigest()


def new_id(now: dt.datetime) -> str:
    """An episode's id: the time it was asked and four random letters, so that ids sort and are short to type."""
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
