"""Keep a home's learned state on disk: killed at any moment, it is as before the change or as after it.

`State` joins the database (demonstrations, versions: the truth) with the folder `learned/` (the student's files, which
can always be made again from the demonstrations). Files are written under a fresh name first; the one commit that names
them makes the new version count, together with the demonstrations that go with it. Files that no version names are
removed.

A demonstration given by `teach` waits for the next version but counts from the next request on; `learn` makes a version
of all that waits, if the gate lets it. One process at a time opens a state.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from hearth.atomic_files import replacing
from hearth.config import read_settings
from hearth.errors import RegistryError, StatisticsError, StoreError
from hearth.formats.plan_json import read_graph, read_tools, tool_to_json
from hearth.learning import demonstration_store as rows
from hearth.learning import tier_files
from hearth.learning.demonstration_store import Buffer, Checked, Contradiction, Entry, Refused, as_entry
from hearth.learning.tasks import (
    Allocation,
    Frontier,
    Task,
    allocate,
    by_sample,
    grouped,
)
from hearth.learning.versions import promotion_gate
from hearth.learning.versions.lineage import Lineage, Version
from hearth.learning.versions.promotion_gate import Verdict
from hearth.learning.versions.version_report import Described, Progress, describe, scores_of, silent
from hearth.planning.ranking.ranker import Student
from hearth.planning.ranking.ranker_options import StudentOptions
from hearth.planning.ranking.statistics import prior_file
from hearth.planning.ranking.statistics.device_profiles import PROFILES
from hearth.planning.ranking.statistics.sufficient_statistics import Statistics
from hearth.planning.ranking.statistics.vector_layout import public_tools
from hearth.planning.warm_start import beside
from hearth.protocols import Encoder, Proposer
from hearth.storage.database import HomeLock, Store
from hearth.types import Demonstration, ToolSpec

__all__ = ["Described", "Progress", "Report", "State", "silent"]

Graph = frozenset[tuple[str, str]]

N_AT_ONCE = 200
"""Most waiting demonstrations that are taken up when a state is opened; more wait for `learn`, which shows progress."""
_OWN = ("student-", "pointer-", "prior-")
"""Prefixes of the names of folders that belong to versions."""
_N_ADAPTERS = 2
"""Number of trained second tiers kept, the newest; a rollback to an older one does without it."""
_N_READ = 32
"""Requests read at once: few enough that progress moves."""
_N_JUDGED_NEW = 150
_N_NEAREST = 15


@dataclass(frozen=True, slots=True)
class Report:
    """Outcome of `State.learn`."""

    version: int | None
    """The version made; None when none was."""
    n_learnt: int
    """Number of demonstrations that are new in it."""
    refused: tuple[Refused, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    n_known: int = 0
    """Number given again, word for word."""
    verdict: Verdict | None = None
    """The gate's verdict; None when there was nothing to judge."""
    new_tools: tuple[str, ...] = ()
    new_tasks: tuple[str, ...] = ()
    cpu_s: float = 0.0
    notes: tuple[str, ...] = field(default=())
    """Further notes for a person."""


class State:
    """The learned state of one folder. Make it with `State.open`, end it with `close`. Not thread-safe."""

    def __init__(
        self,
        folder: Path,
        store: Store,
        encoder: Encoder,
        tools: Mapping[str, ToolSpec],
        graph: Graph | None,
        options: StudentOptions | None,
        resources: ExitStack,
    ) -> None:
        self.folder = folder
        self.store = store
        self.tools = dict(tools)
        self.graph = graph
        self.buffer = Buffer(store)
        self.lineage = Lineage(store)
        self.encoder = encoder
        self._options = options
        self._student: Student | None = None
        self._resources = resources

    @classmethod
    def open(
        cls,
        folder: Path,
        encoder: Encoder,
        *,
        tools: Mapping[str, ToolSpec] | None = None,
        graph: Graph | None = None,
        more_tools: Mapping[str, ToolSpec] | None = None,
        store: Store | None = None,
        options: StudentOptions | None = None,
    ) -> State:
        """Open a home, or any folder (made when it is not there).

        Args:
            tools: Tools that can be planned with; kept in `tools.json` unless the folder is a home, whose tools are its
                own. By default those in `tools.json`.
            graph: Links that are possible; kept in `graph.json`, and read from there when left out.
            more_tools: Offered beside a home's own, and kept in `tools.json`.
            store: The folder's database when the caller has it open; the caller then holds the folder's lock.
        Raises:
            RegistryError: No tools were given, and none are kept. HomeBusyError: Another process has the folder.
            StoreError: The database is damaged, full or locked.
        """
        with ExitStack() as stack:
            if store is None:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                stack.enter_context(HomeLock(folder))
                store = stack.enter_context(Store.open(folder / "hearth.db"))
            is_home = (folder / "hearth.toml").exists()
            if options is None and is_home:
                profile = read_settings(folder / "hearth.toml").learning.profile
                options = PROFILES[profile] if profile != "large" else None
            kept = read_tools(folder / "tools.json") if (folder / "tools.json").exists() else {}
            if not is_home and tools is not None:
                kept = dict(tools)
            kept = {**kept, **(more_tools or {})}
            if tools is None and not kept:
                raise RegistryError(f"{str(folder)!r} knows no tools yet; give them with --tools tool_desc.json")
            if kept:
                _write_json(folder / "tools.json", {"nodes": [tool_to_json(spec) for spec in kept.values()]})
            if graph is not None:
                links = [{"source": source, "target": target} for source, target in sorted(graph)]
                _write_json(folder / "graph.json", {"links": links})
            elif (folder / "graph.json").exists():
                graph = read_graph(folder / "graph.json")
            offered = {**kept, **(tools or {})}
            state = cls(folder, store, encoder, offered, graph, options, stack.pop_all())
        state._sweep()
        state.erase()
        return state

    def close(self) -> None:
        """Release the folder. Closing twice does no harm."""
        self._resources.close()

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ── The student ───────────────────────────────────────────────────────────────────────────────────────

    @property
    def student(self) -> Student:
        """Return the student that plans now: the current version and what waits; made at first need."""
        if self._student is None:
            self._student = self._made()
        return self._student

    def _made(self) -> Student:
        student = self._of_version(self.lineage.current())
        have = self.buffer.ids()
        members = self.lineage.members(self._number())
        student.remove(*(id for id in student.ids if have.get(id) != members.get(id)))
        waiting = [id for id in have if have[id] != members.get(id)]
        if len(waiting) <= N_AT_ONCE:
            self._teach(student, self.buffer.of(waiting).values())
        return student

    def _number(self) -> int | None:
        current = self.lineage.current()
        return current.number if current else None

    def _adapter(self) -> str:
        current = self.lineage.current()
        return current.adapter if current else ""

    def _blank(self) -> Student:
        return Student(self.encoder, self.tools, self._options, self.graph)

    def _of_version(self, version: Version | None) -> Student:
        """Return a version's student, from its files or, where these are gone or damaged, its demonstrations."""
        if version is None:
            return self._blank()
        files = self.path(version.folder)
        if version.folder and files.exists():
            try:
                proposer, prior = self.proposer_of(version.adapter), self.prior_of(version)
                student = Student.load(files, self.encoder, self.tools, self.graph, proposer, prior)
                if self._options is None or student.options == self._options:
                    return student
            except (StoreError, StatisticsError):
                pass  # damaged, or of another encoder: the demonstrations suffice
        student = self._blank()
        student.take_prior(self.prior_of(version))
        self._teach(student, self.buffer.of(self.lineage.members(version.number)).values())
        self.adopt(student, version.adapter)
        student.renew()
        return student

    def prior_of(self, version: Version | None) -> Statistics | None:
        """Return the prior of a version; None where it had none, or its file is gone or damaged."""
        name = str(version.record.get("prior", "")) if version is not None else ""
        try:
            return (
                prior_file.read(self.path(name)).seen_by((self._options or StudentOptions()).reading) if name else None
            )
        except (StoreError, StatisticsError):
            return None

    def proposer_of(self, adapter: str) -> Proposer | None:
        """Open the trained tier two of that name; None for no name, or when its files are gone or damaged."""
        if not adapter or not self.path(adapter).exists():
            return None
        return tier_files.opened(self.path(adapter), self.tools, self.graph)

    def adopt(self, student: Student, adapter: str) -> str:
        """Give `student` the proposals of a trained tier two, or none; return the name of the one used."""
        proposer = self.proposer_of(adapter)
        student.adopt(proposer, tier_files.held(self.path(adapter)) if proposer is not None else {})
        return adapter if proposer is not None else ""

    def path(self, name: str) -> Path:
        """Return the path of a version's files."""
        return self.folder / "learned" / name

    def _teach(self, student: Student, entries: Iterable[Entry], progress: Progress = silent) -> None:
        """Teach the student, a few demonstrations at a time."""
        shown = [e.demonstration for e in entries if e.demonstration.plan.steps]
        for start in range(0, len(shown), _N_READ):
            student.learn(shown[start : start + _N_READ])
            progress("learning", min(start + _N_READ, len(shown)), len(shown))

    def set_tools(self, tools: Mapping[str, ToolSpec]) -> None:
        """Offer these tools from now on."""
        self.tools = dict(tools)
        if self._student is not None:
            self._student.set_tools(tools)

    # ── Teaching: at once ─────────────────────────────────────────────────────────────────────────────────

    def teach(self, demonstrations: Iterable[Demonstration | Entry]) -> Checked:
        """Take in demonstrations that count from the next request on; the next `learn` makes a version of them.

        Raises:
            StoreError: Nothing was taken in.
        """
        checked = self.buffer.check(map(as_entry, demonstrations), self.tools)
        student = self.student
        self.buffer.quarantine(checked.touched, self.tools)
        self.buffer.keep(checked.entries)
        self._teach(student, checked.entries)
        return checked

    # ── Learning: a version ───────────────────────────────────────────────────────────────────────────────

    def learn(
        self,
        demonstrations: Iterable[Demonstration | Entry] = (),
        progress: Progress = silent,
        *,
        reason: str = "",
        must_pass: bool = True,
    ) -> Report:
        """Make a version of what is given and what waits, if the gate lets it; else the old version stays.

        Stopped in the middle (Ctrl-C, kill), what was given waits, and the next call carries on.

        Args:
            must_pass: False promotes whatever the gate says; its verdict is in the report.
        Raises:
            StoreError: Nothing was learnt; what was given waits if it was written.
        """
        started_s = time.process_time()
        checked = self.buffer.check(map(as_entry, demonstrations), self.tools)
        self.buffer.quarantine(checked.touched, self.tools)
        self.buffer.hold(checked.entries)
        student = self.student
        self._student = None  # until all is done: an exception leaves it to be made again from what is on disk
        current = self._number()
        old = self.lineage.members(current)
        held = self.buffer.set_aside("waiting")
        waiting = self.buffer.of(id for id, digest in self.buffer.ids().items() if old.get(id) != digest)
        fresh = list({**waiting, **{e.id: e for e in held}}.values())
        base = Report(None, 0, checked.refused, checked.contradictions, checked.n_known)
        have = self.buffer.ids()
        if not fresh and old == have:
            self._student = student
            return replace(base, cpu_s=time.process_time() - started_s)
        before = self._before(student, fresh, current)
        known_tools = _tools_of(self.buffer.of(old).values())
        known = {id for id in waiting.keys() & set(student.ids) if waiting[id] in fresh}
        self._teach(student, [e for e in fresh if e.id not in known], progress)
        progress("settling", 0, 1)
        student.renew()
        progress("settling", 1, 1)
        members = {**have, **{e.id: e.digest for e in fresh}}
        made = self.describe(student, members, before.keys(), progress)
        verdict = self._judged(made, before, fresh, known_tools, current)
        new_tools = tuple(sorted(_tools_of(fresh) - known_tools))
        if fresh and verdict is not None and not verdict.is_promoted and must_pass:
            return self._turned_away(base, fresh, verdict, progress, started_s)
        number = self.promote(
            student, members, made, fresh, parent=current, reason=reason or _reason(fresh), verdict=verdict,
            cpu_s=time.process_time() - started_s, adapter=self._adapter(),
        )  # fmt: skip
        self._student = student
        names = {task.name for task in self.lineage.tasks(current)} if current else set()
        return replace(
            base,
            version=number,
            n_learnt=len(fresh),
            verdict=verdict,
            new_tools=new_tools,
            new_tasks=tuple(task.name for task in made.tasks if task.name not in names) if current else (),
            cpu_s=time.process_time() - started_s,
        )

    def take_prior(
        self, prior: Statistics | None, progress: Progress = silent, *, reason: str = "", must_pass: bool = True
    ) -> Report:
        """Make a version that begins with a prior of others' learning, or (None) without one, if the gate lets it.

        The home's own demonstrations stay the same in it; what waits keeps waiting. Shipped demonstrations that were
        taught here count once: they are taken out of a prior that holds them, too.
        Not covered: shipped demonstrations that are learnt after the prior was taken.

        Raises:
            StatisticsError: It is over other features; nothing was changed. StoreError: Nothing was changed.
        """
        started_s = time.process_time()
        version = self.lineage.current()
        current = version.number if version is not None else None
        student = self._of_version(version)
        if prior is not None and (shipped := self._shipped(student)):
            prior = beside(prior, student.statistics(public_tools(), ids=shipped))
        if (student.prior.digest if student.prior else "") == (prior.digest if prior else ""):
            return Report(None, 0, notes=("it is the prior that is used already",) if prior else ("there is none",))
        student.take_prior(prior)
        progress("settling", 0, 1)
        student.renew()
        progress("settling", 1, 1)
        self._student = None
        members = self.lineage.members(current)
        before = {id: score for id, score in self._scores(current).items() if id in student.ids}
        made = self.describe(student, members, before.keys(), progress)
        verdict = self._judged(made, before, (), _tools_of(self.buffer.of(members).values()), current)
        if verdict is not None:
            verdict = self._as_good(verdict)
        if verdict is not None and not verdict.is_promoted and must_pass:
            return Report(None, 0, verdict=verdict, cpu_s=time.process_time() - started_s)
        number = self.promote(
            student, members, made, (), parent=current, reason=reason or _prior_reason(prior), verdict=verdict,
            cpu_s=time.process_time() - started_s, adapter=self._adapter(),
        )  # fmt: skip
        return Report(number, 0, verdict=verdict, cpu_s=time.process_time() - started_s)

    def _shipped(self, student: Student) -> frozenset[str]:
        """Return ids of the shipped demonstrations that the student was taught."""
        held = self.store.query("SELECT id FROM demonstration WHERE source = 'shipped'")
        return frozenset(row["id"] for row in held) & frozenset(student.ids)

    def _scores(self, number: int | None) -> Mapping[str, float]:
        return self.lineage.samples(number) if number is not None else {}

    @staticmethod
    def _as_good(verdict: Verdict) -> Verdict:
        """Promote a prior where nothing got worse: its gain is in what was not taught here, so no sample shows it."""
        is_harmless = not any(change.is_worse for change in verdict.changes)
        if verdict.is_promoted or not is_harmless or verdict.after < verdict.before - promotion_gate.ALLOWED_LOSS:
            return verdict
        return replace(verdict, is_promoted=True, reason="no task got worse, and others' knowledge is new")

    def _before(self, student: Student, fresh: Sequence[Entry], current: int | None) -> dict[str, float]:
        """Return the old version's scores: its own samples as recorded, some new ones as it would plan them."""
        if current is None:
            return {}
        known = set(student.ids)
        scores = {id: score for id, score in self.lineage.samples(current).items() if id in known}
        chosen = set(promotion_gate.drawn((e.id for e in fresh if e.demonstration.plan.steps), _N_JUDGED_NEW))
        mine = {e.id: e.demonstration for e in fresh if e.id in chosen}
        strange = [id for id in mine if id not in known]
        if strange:
            rankings = student.rank_readings(student.read([mine[id].request for id in strange]))
            scores.update(scores_of(strange, rankings, mine))
        taught = [id for id in mine if id in known]
        scores.update(scores_of(taught, student.rank_left_out(taught), mine))
        return scores

    def describe(
        self, student: Student, members: Mapping[str, str], also: Iterable[str], progress: Progress
    ) -> Described:
        """Describe a version: tasks, samples, scores, start of unseen tasks. Args: also: Ids judged in any case."""
        return describe(student, sorted(members.keys() & set(student.ids)), also, progress)

    def _judged(
        self,
        made: Described,
        before: Mapping[str, float],
        fresh: Sequence[Entry],
        known_tools: frozenset[str],
        current: int | None,
    ) -> Verdict | None:
        if current is None:
            return None
        owner_taught = any(e.demonstration.source == "owner" for e in fresh)
        is_new = owner_taught or bool(_tools_of(fresh) - known_tools)
        ids = sorted(before.keys() & made.scores.keys())
        old_tasks = self.lineage.tasks(current)
        groups = grouped(old_tasks, ids, promotion_gate.LEAST_SAMPLES)
        others = {e.id for e in fresh if e.demonstration.source != "owner"}
        return promotion_gate.judge(before, made.scores, groups, taught_new=is_new, fresh=others)

    def _turned_away(
        self, base: Report, fresh: Sequence[Entry], verdict: Verdict, progress: Progress, started_s: float
    ) -> Report:
        """Set the batch aside and keep the old version; the owner's part is tried alone, and counts in any case."""
        reason = f"the gate refused it: {verdict.reason}"
        owners = [e for e in fresh if e.demonstration.source == "owner"]
        others = [e for e in fresh if e.demonstration.source != "owner"]
        have, members = self.buffer.ids(), self.lineage.members(self._number())
        counted = [e.id for e in others if have.get(e.id) == e.digest]
        before = [self.buffer.former(id, members[id]) for id in counted if id in members]
        with self.store.transaction() as cursor:
            rows.take_out(cursor, counted, "refused", reason)
            rows.hold(cursor, others, "refused", reason)
            rows.keep(cursor, [e for e in before if e is not None], self._number())
            rows.keep(cursor, owners, None)
        refused = (*base.refused, *(Refused(e.id, reason) for e in others))
        notes = (f"{len(owners)} of your own count as examples, outside any version",) if owners and not others else ()
        report = replace(base, refused=refused, verdict=verdict, notes=notes, cpu_s=time.process_time() - started_s)
        if not owners or not others:
            return report
        again = self.learn((), progress)
        return replace(
            again,
            refused=refused,
            contradictions=base.contradictions,
            n_known=base.n_known,
            cpu_s=time.process_time() - started_s,
            notes=(f"refused {len(others)} others: {verdict.reason}", *again.notes),
        )

    def promote(
        self,
        student: Student,
        members: Mapping[str, str],
        made: Described,
        fresh: Sequence[Entry],
        *,
        parent: int | None,
        reason: str,
        verdict: Verdict | None,
        cpu_s: float,
        adapter: str = "",
        tier_two: Mapping[str, object] | None = None,
    ) -> int:
        """Write the files, then commit the version with its demonstrations."""
        name = f"student-{secrets.token_hex(4)}"
        student.save(self.path(name))
        record = {**made.record(len(members)), "cpu_s": round(cpu_s, 2)}
        if student.prior is not None:
            record["prior"] = prior_file.keep(self.path(""), student.prior)
        if verdict is not None:
            record["gate"] = verdict.to_json()
        if tier_two:
            record["tier_two"] = dict(tier_two)
        with self.store.transaction() as cursor:
            number = self.lineage.add(
                cursor, members, parent=parent, at=dt.datetime.now(dt.UTC), reason=reason, adapter=adapter,
                record=record, samples=made.scores, tasks=made.tasks,
            )  # fmt: skip
            rows.keep(cursor, fresh, number)
            self.lineage.make_current(cursor, number, name)
        self._sweep()
        return number

    def save(self) -> None:
        """Write the files of the current version again, when they are gone or were made by another Hearth."""
        version = self.lineage.current()
        if version is None or (version.folder and self.path(version.folder).exists()):
            return
        name = f"student-{secrets.token_hex(4)}"
        student = self._of_version(version)
        student.save(self.path(name))
        with self.store.transaction() as cursor:
            self.lineage.make_current(cursor, version.number, name)
        self._sweep()

    def write_without(
        self, gone: Iterable[str], progress: Progress = silent, *, keeps_adapter: bool
    ) -> tuple[str, Described]:
        """Write files of the current version without some demonstrations, as if they had never been seen.

        Args:
            keeps_adapter: False drops the trained tier two, which saw them.
        Returns:
            The folder name for `make_current`, and the version's tasks and scores as they are then.
        """
        version = self.lineage.current()
        student = self._of_version(version)
        student.remove(*gone)
        if not keeps_adapter:
            student.adopt(None, {})
        student.renew()
        name = f"student-{secrets.token_hex(4)}"
        student.save(self.path(name))
        members = self.lineage.members(version.number if version else None)
        kept = {id: digest for id, digest in members.items() if id not in gone}
        judged = self.lineage.samples(version.number) if version else {}
        return name, self.describe(student, kept, judged, progress)

    def refresh(self) -> None:
        """Pick up changes on disk: the student is made again at its next use, unnamed files are removed."""
        self._student = None
        self._sweep()

    def erase(self) -> None:
        """Finish a pending forgetting: rewrite the database, so that no page holds what was deleted."""
        if self.store.query("SELECT 1 FROM meta WHERE name='erase'"):
            self.store.rewrite()
            with self.store.transaction() as cursor:
                cursor.execute("DELETE FROM meta WHERE name='erase'")
            self.store.erase_traces()

    def _sweep(self) -> None:
        """Remove files that no version names: left by a killed process, or replaced by a newer version."""
        root = self.folder / "learned"
        if not root.exists():
            return
        versions = self.lineage.versions()
        trained = list(dict.fromkeys(v.adapter for v in versions if v.adapter))[-_N_ADAPTERS:]
        priors = {str(v.record.get("prior", "")) for v in versions}
        named = {*(v.folder for v in versions), *trained, self._adapter(), *priors}
        for path in root.iterdir():
            if path.name.startswith(_OWN) and path.name not in named:
                path.unlink(missing_ok=True) if path.is_file() else shutil.rmtree(path, ignore_errors=True)

    # ── Going back ────────────────────────────────────────────────────────────────────────────────────────

    def rollback(self, number: int, progress: Progress = silent) -> tuple[Version, tuple[str, ...]]:
        """Make version `number` the current one again: its demonstrations, its weights.

        What came after is set aside, not forgotten; what waits keeps waiting.

        Returns:
            The version, and ids of its demonstrations that are no longer held.
        Raises:
            NotFound: No such version. StoreError: Nothing was changed.
        """
        target = self.lineage.version(number)
        now, then = self.lineage.members(self._number()), self.lineage.members(number)
        have = self.buffer.ids()
        out = [id for id, digest in now.items() if have.get(id) == digest and then.get(id) != digest]
        gone = set(out)
        back: list[Entry] = []
        lost: list[str] = []
        for id, digest in then.items():
            if have.get(id) == digest:
                continue
            entry = self.buffer.former(id, digest)
            lost.append(id) if entry is None else back.append(entry)
        student = self._of_version(self.lineage.current())
        self._student = None
        student.remove(*(id for id in student.ids if have.get(id) != now.get(id) or id in gone))
        student.take_prior(self.prior_of(target))
        self._teach(student, back, progress)
        self.adopt(student, target.adapter)
        student.renew()
        name = f"student-{secrets.token_hex(4)}"
        student.save(self.path(name))
        with self.store.transaction() as cursor:
            rows.take_out(cursor, out, "rolled back", f"rolled back to version {number}")
            rows.keep(cursor, back, number)
            self.lineage.make_current(cursor, number, name)
        self._sweep()
        return target, tuple(lost)

    # ── Tasks ─────────────────────────────────────────────────────────────────────────────────────────────

    def tasks(self) -> tuple[Task, ...]:
        """Return the tasks of the current version, largest first."""
        number = self._number()
        return self.lineage.tasks(number) if number is not None else ()

    def allocate(self, request: str) -> Allocation:
        """Return the task a request belongs to, and whether it is of an unseen task."""
        version = self.lineage.current()
        frontier = version.record.get("frontier") if version else None
        bound = Frontier(**frontier) if isinstance(frontier, dict) else None  # type: ignore[arg-type]
        student = self.student
        (reading,) = student.read([request])
        return allocate(student.nearest(reading, _N_NEAREST), by_sample(self.tasks()), bound)


def _tools_of(entries: Iterable[Entry]) -> frozenset[str]:
    return frozenset(step.tool for e in entries for step in e.demonstration.plan.steps)


def _prior_reason(prior: Statistics | None) -> str:
    if prior is None:
        return "began again without what others learnt"
    return f"began with what {prior.n_edges} devices learnt"


def _reason(fresh: Sequence[Entry]) -> str:
    sources = Counter(e.demonstration.source for e in fresh)
    named = ", ".join(f"{n} from {source}" for source, n in sorted(sources.items()))
    return f"learnt {named}" if named else "what was taken out is learnt no more"


def _write_json(path: Path, document: object) -> None:
    """Write at once or not at all; a file that has this content already is left alone."""
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    try:
        whole = text.encode()
    except UnicodeEncodeError:  # half a surrogate pair in a name
        whole = (json.dumps(document, indent=1) + "\n").encode()
    with contextlib.suppress(OSError):
        if path.read_bytes() == whole:
            return
    with replacing(path) as file:
        file.write(whole)
