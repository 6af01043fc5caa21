"""What a home has learnt: the versions on disk, which is in use, and from what each was made."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hearth.atomic_files import write_bytes
from hearth.errors import MissingExtraError, NotFound, RegistryError, StoreError, ToolError
from hearth.formats.plans import read_graph, read_tools, tool_to_json
from hearth.learning import demonstration_store as rows
from hearth.learning.demonstration_store import Buffer, Checked, Contradiction, Entry, Refused, as_entry
from hearth.learning.versions import promotion_gate
from hearth.learning.versions.promotion_gate import (
    JUDGE,
    Described,
    Progress,
    Rehearsal,
    Task,
    Verdict,
    describe,
    grouped,
    node_f1,
    scored,
    silent,
    tasks_of,
)
from hearth.planning import tool_heads
from hearth.planning.deferral import CONFIDENT
from hearth.planning.owner_macros import OWNERS
from hearth.planning.ranking import sufficient_statistics
from hearth.planning.retrieval.episodic_index import Remembered
from hearth.planning.tool_heads import HeadPrior
from hearth.protocols import Encoder, Proposal, Proposer
from hearth.storage.database import HomeLock, Store, opened_bytes, sealed_bytes
from hearth.types import Demonstration, Plain, ToolSpec

# ── Lineage ───────────────────────────────────────────────────────────────────────────────────────────────
# Keep the versions of what was learnt: which demonstrations, which parent, which scores, when and why.
#
# A version is the set of demonstrations it was made from. Because learning is exact, that set suffices to rebuild its
# weights to the last bit; no version has files of them. Each version records what it added to and removed from its
# parent, so a long life costs a few dozen bytes a demonstration.

_CURRENT = "learned_version"
_LAST_NUMBER = 2**63 - 1
"""Largest number that SQLite can hold."""


@dataclass(frozen=True, slots=True)
class Version:
    """One state of what was learnt."""

    number: int
    parent: int | None
    at: dt.datetime
    reason: str
    """Reason why it was made, for a person."""
    n_added: int
    n_removed: int
    adapter: str = ""
    """Folder name of its tier two; empty without one."""
    record: Mapping[str, Plain] = field(default_factory=dict)
    """Measurements when it was made: `n`, `node_f1`, `cpu_s`, …"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Difference between two versions."""

    a: Version
    b: Version
    added: tuple[str, ...]
    """Ids that `b` knows and `a` does not."""
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    """Ids that both know with another content."""
    scores: Mapping[str, tuple[float | None, float | None]]
    """Scores by task, in `a` and in `b`; None where a version has no such task."""


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version that is to be recorded."""

    parent: int | None
    at: dt.datetime
    reason: str
    adapter: str
    """Name of its second tier; empty without one."""
    record: Mapping[str, object]
    samples: Mapping[str, float]
    """Id → score of the demonstrations it was judged on."""
    tasks: Sequence[Task]


class Lineage:
    """The versions in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def current(self) -> Version | None:
        """Return the version that plans now; None before anything was learnt."""
        rows = self._store.query("SELECT value FROM meta WHERE name=?", (_CURRENT,))
        return self.version(int(rows[0][0])) if rows else None

    def versions(self) -> tuple[Version, ...]:
        """Return all versions, oldest first."""
        return tuple(_version(row) for row in self._store.query(f"{_SELECT} ORDER BY version.number"))

    def version(self, number: int) -> Version:
        """Return one version. Raises: NotFound: No such version; names those there are."""
        is_number = 0 < number <= _LAST_NUMBER
        rows = self._store.query(f"{_SELECT} WHERE version.number=?", (number,)) if is_number else []
        if not rows:
            (last,) = self._store.query("SELECT max(number) FROM version")
            known = f"the last is {last[0]}; see `hearth learn history`" if last[0] else "nothing was learnt yet"
            raise NotFound(f"no version {number}; {known}")
        return _version(rows[0])

    def members(self, number: int | None) -> dict[str, str]:
        """Return id → digest of the demonstrations a version was made from; none for None."""
        path: list[int] = []
        while number is not None:
            path.append(number)
            rows = self._store.query("SELECT parent FROM version WHERE number=?", (number,))
            number = rows[0][0] if rows else None
        found: dict[str, str] = {}
        for each in reversed(path):
            changes = self._store.query(
                "SELECT id, digest, is_added FROM version_change WHERE version=? ORDER BY is_added, number", (each,)
            )
            for row in changes:
                if row["is_added"]:
                    found[row["id"]] = row["digest"]
                elif found.get(row["id"]) == row["digest"]:
                    del found[row["id"]]
        return found

    def samples(self, number: int) -> dict[str, float]:
        """Return id → score of the demonstrations a version was judged on."""
        (row,) = self._store.query("SELECT samples_json FROM version WHERE number=?", (number,))
        return dict(json.loads(row[0]))

    def tasks(self, number: int) -> tuple[Task, ...]:
        """Return the tasks of a version, with their scores."""
        (row,) = self._store.query("SELECT tasks_json FROM version WHERE number=?", (number,))
        return tuple(Task.from_json(data) for data in json.loads(row[0]))

    def compare(self, a: int, b: int) -> Comparison:
        """Compare two versions. Raises: NotFound."""
        first, second = self.version(a), self.version(b)
        mine, theirs = self.members(a), self.members(b)
        scores = [{task.name: task.score for task in self.tasks(number)} for number in (a, b)]
        names = sorted({*scores[0], *scores[1]})
        return Comparison(
            first,
            second,
            tuple(sorted(theirs.keys() - mine.keys())),
            tuple(sorted(mine.keys() - theirs.keys())),
            tuple(sorted(id for id in mine.keys() & theirs.keys() if mine[id] != theirs[id])),
            {name: (scores[0].get(name), scores[1].get(name)) for name in names},
        )

    # ── Writing, inside the transaction that makes the version the current one ────────────────────────────

    def add(self, cursor: sqlite3.Cursor, members: Mapping[str, str], new: NewVersion) -> int:
        """Record a version, not yet the current one; return its number."""
        before = self.members(new.parent)
        cursor.execute(
            "INSERT INTO version (parent, at, reason, adapter, record_json, samples_json, tasks_json)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                new.parent,
                new.at.isoformat(timespec="seconds"),
                new.reason,
                new.adapter,
                json.dumps(dict(new.record)),
                json.dumps({id: round(score, 6) for id, score in sorted(new.samples.items())}),
                json.dumps([task.to_json() for task in new.tasks], ensure_ascii=False),
            ),
        )
        number = int(cursor.lastrowid or 0)
        gone = [(number, id, digest, 0) for id, digest in sorted(before.items()) if members.get(id) != digest]
        come = [(number, id, digest, 1) for id, digest in sorted(members.items()) if before.get(id) != digest]
        cursor.executemany(
            "INSERT INTO version_change (version, id, digest, is_added) VALUES (?, ?, ?, ?)", [*gone, *come]
        )
        return number

    def make_current(self, cursor: sqlite3.Cursor, number: int) -> None:
        """Make version `number` the one that plans, from the commit on."""
        cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_CURRENT, str(number)))


_SELECT = (
    "SELECT version.number, parent, at, reason, adapter, record_json,"
    " (SELECT count(*) FROM version_change c WHERE c.version=version.number AND is_added=1) AS n_added,"
    " (SELECT count(*) FROM version_change c WHERE c.version=version.number AND is_added=0) AS n_removed FROM version"
)


def _version(row: sqlite3.Row) -> Version:
    number, parent, at, reason, adapter, record, n_added, n_removed = row
    moment = dt.datetime.fromisoformat(at)
    return Version(number, parent, moment, reason, n_added, n_removed, adapter, json.loads(record))


# ── The learning curve ─────────────────────────────────────────────────────────────────────────────────
# Draw the learning curve: the score of each version and the number of its demonstrations.


def draw(versions: Sequence[Version], path: Path) -> None:
    """Write a PNG (or the format the name's ending says: SVG, PDF).

    Raises:
        NotFound: There is no version yet. StoreError: The file cannot be written, or its ending is unknown.
    """
    if not versions:
        raise NotFound("nothing was learnt yet, so there is no curve; `hearth learn` makes the first version")
    try:  # a quarter of a second to import, for this one command
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ModuleNotFoundError:
        raise MissingExtraError("the picture of the curve", "pip install 'hearth-agent[plots]'") from None

    numbers = [version.number for version in versions]
    scores = [_number(version, "node_f1") for version in versions]
    counts = [_number(version, "n") for version in versions]
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(numbers, scores, marker="o", color="tab:blue", label="Node-F1 of samples judged as if not taught")
    for version in versions:
        if version.parent is not None and version.parent != version.number - 1:
            axes.axvline(version.number, color="0.8", linestyle=":", zorder=0)
    axes.set_xlabel("version")
    axes.set_ylabel("Node-F1")
    axes.set_ylim(0, 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    beside = axes.twinx()
    beside.bar(numbers, counts, width=0.5, color="tab:orange", alpha=0.25, label="demonstrations")
    beside.set_ylabel("demonstrations")
    beside.yaxis.set_major_locator(MaxNLocator(integer=True))
    lines = [axes.get_legend_handles_labels(), beside.get_legend_handles_labels()]
    axes.legend(
        [h for handles, _ in lines for h in handles], [t for _, texts in lines for t in texts], loc="lower right"
    )
    axes.set_title("What was learnt")
    try:
        figure.savefig(path, dpi=120, metadata={"Software": None} if path.suffix.lower() == ".png" else None)
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot write the picture {str(path)!r}: {error}; name a .png or .svg file") from None


def _number(version: Version, name: str) -> float:
    value = version.record.get(name)
    return float(value) if isinstance(value, int | float) else float("nan")


# ── Tier files ────────────────────────────────────────────────────────────────────────────────────────────
# The files of a trained tier two: the model, and what it proposed for demonstrations held back from it.

_HELD = "held.json"


def opened_tier(
    folder: Path, tools: Mapping[str, ToolSpec], graph: frozenset[tuple[str, str]] | None
) -> Proposer | None:
    """Open the trained model in `folder`; None when it is damaged: the rest plans without it."""
    from hearth.models.pointer import Pointer  # with onnxruntime's session, for those who trained one

    try:
        return Pointer.open(folder, tools, graph=graph)
    except StoreError:
        return None


def tier_fault(folder: Path) -> str:
    """Say what is wrong with the files of a trained model: "gone", "damaged", or nothing."""
    if not folder.exists():
        return "gone"
    from hearth.models.pointer import read_record

    try:
        read_record(folder)
    except StoreError:
        return "damaged"
    return ""


def tier_proposals(folder: Path) -> dict[str, Proposal]:
    """Return the model's proposals for demonstrations it had not learnt, by id."""
    try:
        data: Any = json.loads(opened_bytes(folder / _HELD))
        return {
            id: Proposal(
                tools,
                tuple((tuple(sequence), log) for sequence, log in sequences),
                {(a, b): value for a, b, value in links},
            )
            for id, (tools, sequences, links) in data.items()
        }
    except (OSError, ToolError, ValueError, TypeError, AttributeError):
        return {}


def write_held(folder: Path, proposals: Mapping[str, Proposal]) -> None:
    data = {
        id: [dict(p.tools), [[list(s), log] for s, log in p.sequences], [[*pair, v] for pair, v in p.link.items()]]
        for id, p in sorted(proposals.items())
    }
    write_bytes(folder / _HELD, sealed_bytes(folder / _HELD, json.dumps(data).encode()))


# ── Learned state ─────────────────────────────────────────────────────────────────────────────────────────
# Keep a home's learned state on disk: killed at any moment, it is as before the change or as after it.
#
# `State` is the database (demonstrations, versions: the truth). What plans is solved from the demonstrations that
# count, to the last bit the same whenever that is done, so a version has no files of its own but a prior and a
# trained tier two (`learning.versions.drafting`), in the folder `learned/`. These are written under a fresh name
# first; the one commit that names them makes the version count. Files that no version names are removed.
#
# A demonstration given by `teach` waits for the next version but counts from the next request on; `learn` makes a
# version of all that waits, if the gate lets it. The gate asks how the planner of the home would plan its own
# demonstrations and some of those shipped, before and after. One process at a time opens a state.

__all__ = ["Described", "Progress", "Report", "State", "silent"]

Graph = frozenset[tuple[str, str]]

_OWN = ("student-", "pointer-", "prior-")
"""Prefixes of the names of what lies in `learned/`; an older Hearth kept students there."""
_N_ADAPTERS = 2
"""Number of trained second tiers kept, the newest; a rollback to an older one does without it."""
_N_JUDGED, _N_JUDGED_SHIPPED, _N_JUDGED_NEW = 100, 50, 40
"""Most demonstrations on which versions are compared: of one's own, shipped, new."""


@dataclass(frozen=True, slots=True)
class Report:
    """Outcome of `State.learn`."""

    version: int | None
    """The version made; None when none was."""
    n_learnt: int
    """Number of demonstrations that are new in it; of the first one, where nothing else is, of those shipped."""
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


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be planned with."""

    tools: Mapping[str, ToolSpec] | None = None
    """Kept in `tools.json` unless the folder is a home, whose tools are its own. By default those in `tools.json`."""
    graph: Graph | None = None
    """Links that are possible; kept in `graph.json`, and read from there when left out."""
    more_tools: Mapping[str, ToolSpec] | None = None
    """Offered beside a home's own, and kept in `tools.json`."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """Why a version is promoted, and what it rests on beside its demonstrations."""

    parent: int | None
    reason: str
    verdict: Verdict | None
    """The gate's; None where there was nothing to compare with."""
    cpu_s: float
    """What it took to learn it."""
    adapter: str = ""
    """Name of the trained second tier, if any."""
    prior: str = ""
    """Name of the prior of others' learning, if any."""
    tier_two: Mapping[str, object] | None = None
    """Record of the training, where this is what is new."""


@dataclass(frozen=True, slots=True)
class _Before:
    """How the version before plans what the next one is judged by."""

    scores: Mapping[str, float]
    is_new_to_it: bool = False
    """True when more of what is new was not planned at all than was planned otherwise."""
    otherwise: Mapping[str, float] = field(default_factory=dict)
    """Ids of what is new and was planned otherwise, with the plan's confidence."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """What would be learnt, planned with before any of it is kept."""

    planner: Rehearsal
    made: Described
    verdict: Verdict | None
    """None where nothing stood before."""
    tools_before: frozenset[str]


@dataclass(eq=False)
class State:
    """The learned state of one folder. Make it with `State.open`, end it with `close`. Not thread-safe."""

    folder: Path
    store: Store
    encoder: Encoder
    tools: dict[str, ToolSpec]
    graph: Graph | None
    _resources: ExitStack

    def __post_init__(self) -> None:
        self.buffer = Buffer(self.store)
        self.lineage = Lineage(self.store)

    @classmethod
    def open(cls, folder: Path, encoder: Encoder, offer: Offer = Offer(), *, store: Store | None = None) -> State:
        """Open a home, or any folder (made when it is not there).

        Args:
            store: The folder's database when the caller has it open; the caller then holds the folder's lock.
        Raises:
            RegistryError: No tools were given, and none are kept. HomeBusyError: Another process has the folder.
            StoreError: The database is damaged, full or locked.
        """
        tools, graph = offer.tools, offer.graph
        with ExitStack() as stack:
            if store is None:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                stack.enter_context(HomeLock(folder))
                store = stack.enter_context(Store.open(folder / "hearth.db"))
            kept = read_tools(folder / "tools.json") if (folder / "tools.json").exists() else {}
            if not (folder / "hearth.toml").exists() and tools is not None:
                kept = dict(tools)
            kept = {**kept, **(offer.more_tools or {})}
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
            state = cls(folder, store, encoder, offered, graph, stack.pop_all())
        state.sweep()
        state.erase()
        sufficient_statistics.renew_prior(state.path(""), tool_heads.prior_in(state.store), encoder)
        return state

    def close(self) -> None:
        """Release the folder. Closing twice does no harm."""
        self._resources.close()

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def path(self, name: str) -> Path:
        """Return the path of a version's files."""
        return self.folder / "learned" / name

    def digest(self) -> str:
        """Return a SHA-256 of all that plans; empty when nothing was taught."""
        remembered = Remembered(self.encoder, self.store)
        return remembered.digest() if len(remembered) else ""

    def lost_tier(self) -> str:
        """Tell a person why the trained tier two takes no part any more; empty when it does, or there is none."""
        current = self.lineage.current()
        what = tier_fault(self.path(current.adapter)) if current is not None and current.adapter else ""
        return f"tier two takes no part: its files are {what}; `hearth learn --tier two` trains another" if what else ""

    # ── Teaching: at once ─────────────────────────────────────────────────────────────────────────────────

    def teach(self, demonstrations: Iterable[Demonstration | Entry]) -> Checked:
        """Take in demonstrations that count from the next request on; the next `learn` makes a version of them.

        Raises:
            StoreError: Nothing was taken in.
        """
        checked = self.buffer.check(map(as_entry, demonstrations), self.tools)
        self.buffer.quarantine(checked.touched, self.tools)
        self.buffer.keep(checked.entries)
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
        version, have = self.lineage.current(), self.buffer.ids()
        old = self._members(version)
        held = self.buffer.set_aside("waiting")
        waiting = self.buffer.of(id for id, digest in have.items() if old.get(id) != digest)
        fresh = list({**waiting, **{e.id: e for e in held}}.values())
        base = Report(None, 0, checked.refused, checked.contradictions, checked.n_known)
        if not fresh and old == have and (version is not None or not have):
            return replace(base, cpu_s=time.process_time() - started_s)
        members = {**have, **{e.id: e.digest for e in fresh}}
        trial = self._tried(old, [id for id in old if id not in members], fresh, progress)
        verdict, made = trial.verdict, trial.made
        if fresh and verdict is not None and not verdict.is_promoted and must_pass:
            turned = self._turned_away(base, fresh, old, verdict, progress)
            return replace(turned, cpu_s=time.process_time() - started_s)
        cpu_s = time.process_time() - started_s
        said = _reason(fresh) if fresh or version is not None else "what ships"
        number = self.promote(members, made, fresh, self._on_top(reason or said, verdict, cpu_s))
        trial.planner.write_supposed()
        return replace(
            base,
            version=number,
            n_learnt=len(fresh) or len(members) * (version is None),
            verdict=verdict,
            new_tools=tuple(sorted(_tools_of(fresh) - trial.tools_before)),
            new_tasks=self._new_tasks(made, version),
            cpu_s=time.process_time() - started_s,
        )

    def _new_tasks(self, made: Described, before: Version | None) -> tuple[str, ...]:
        """Return the tasks that a version has and the one before had not; none of a home's first."""
        if before is None:
            return ()
        names = {task.name for task in self.lineage.tasks(before.number)}
        return tuple(task.name for task in made.tasks if task.name not in names)

    def _tried(self, old: Mapping[str, str], gone: Sequence[str], fresh: Sequence[Entry], progress: Progress) -> _Trial:
        """Plan with what would be learnt, and judge it where something stood before.

        Args:
            old: The current version's demonstrations, id → digest; `gone` of them are held no longer.
        """
        version = self.lineage.current()
        was, would_be = self._as_of(old), self._as_of(old)
        would_be.suppose((e.demonstration for e in fresh), gone)
        is_judged = bool(old) and (bool(fresh) or version is not None)
        before = self._before(was, would_be, fresh, version, progress) if is_judged else _Before({})
        made = self._described(would_be, before.scores, progress)
        verdict = self._judged(made, before, fresh, was.tools(), version) if is_judged else None
        return _Trial(would_be, made, verdict, was.tools())

    def _members(self, version: Version | None) -> dict[str, str]:
        """Return id → digest of what a version plans from: its demonstrations and all that are shipped now."""
        members = self.lineage.members(version.number if version else None)
        have, shipped = self.buffer.ids(), self._shipped()
        return {**members, **{id: digest for id, digest in have.items() if id in shipped}}

    def _shipped(self) -> set[str]:
        return {row["id"] for row in self.store.query("SELECT id FROM demonstration WHERE source='shipped'")}

    def _as_of(self, members: Mapping[str, str], heads: HeadPrior | None = None) -> Rehearsal:
        """Return what plans from these demonstrations, and no others; one that is no longer held is left out.

        Args:
            heads: In place of those that the home plans with now.
        """
        have = self.buffer.ids()
        former = [self.buffer.former(id, digest) for id, digest in members.items() if have.get(id) != digest]
        found = Rehearsal(self.encoder, self.store, self.tools, heads)
        found.suppose(
            (entry.demonstration for entry in former if entry is not None),
            [id for id, digest in have.items() if members.get(id) != digest],
        )
        return found

    def _before(
        self, was: Rehearsal, would_be: Rehearsal, fresh: Sequence[Entry], version: Version | None, progress: Progress
    ) -> _Before:
        """Judge the old version: by its own samples, some new ones as it plans them, and those it knows that are most
        like them and planned with other tools, where harm is likeliest."""
        if version is not None and version.record.get("judged_by") == JUDGE:
            recorded, sample = self.lineage.samples(version.number), self._sample(self.lineage.tasks(version.number))
            scores = {id: score for id, score in recorded.items() if id in sample}
        else:
            scores = dict(self._described(was, (), progress).scores)
        chosen = set(promotion_gate.drawn((e.id for e in fresh), _N_JUDGED_NEW))
        mine = [e.demonstration for e in fresh if e.id in chosen]
        known = set(was.ids) - {e.id for e in fresh}
        rivals = would_be.rivals([one.id for one in mine]) & known
        scores |= scored(was, sorted(rivals - scores.keys()), progress)
        otherwise, n_unplanned = {}, 0
        for one in mine:
            tried = was.tried(one)
            scores[one.id] = node_f1(tried.tools, [step.tool for step in one.plan.steps])
            if scores[one.id] < 1.0 and tried.tools:
                otherwise[one.id] = tried.confidence
            n_unplanned += scores[one.id] < 1.0 and not tried.tools
        return _Before(scores, n_unplanned > len(otherwise), otherwise)

    def _described(self, rehearsal: Rehearsal, also: Iterable[str], progress: Progress) -> Described:
        """Describe what plans: tasks, samples, scores, start of unseen tasks. Args: also: Ids judged in any case."""
        tasks = tasks_of(rehearsal, sorted(rehearsal.ids))
        return describe(rehearsal, tasks, self._sample(tasks) | set(also), progress)

    def _sample(self, tasks: Sequence[Task]) -> set[str]:
        """Choose the demonstrations that versions are judged by: the same again while tasks stay the same."""
        shipped, chosen = self._shipped(), set()
        for n, is_shipped in ((_N_JUDGED, False), (_N_JUDGED_SHIPPED, True)):
            mine = {task.name: [id for id in task.members if (id in shipped) == is_shipped] for task in tasks}
            chosen |= set(promotion_gate.choose(mine, n))
        return chosen

    def _judged(
        self,
        made: Described,
        before: _Before,
        fresh: Sequence[Entry],
        known_tools: frozenset[str],
        version: Version | None,
    ) -> Verdict:
        is_approved = any(e.demonstration.source in OWNERS for e in fresh)
        is_new = is_approved or before.is_new_to_it or bool(_tools_of(fresh) - known_tools)
        ids = sorted(before.scores.keys() & made.scores.keys())
        new = {e.id for e in fresh}
        old_tasks = self.lineage.tasks(version.number) if version is not None else _without(made.tasks, new)
        groups = grouped(old_tasks, ids, promotion_gate.LEAST_SAMPLES)
        others = {e.id for e in fresh if e.demonstration.source != "owner"}
        denied = {id for id, confidence in before.otherwise.items() if confidence >= CONFIDENT}
        return promotion_gate.judge(before.scores, made.scores, groups, taught_new=is_new, fresh=others, denied=denied)

    def _turned_away(
        self, base: Report, fresh: Sequence[Entry], old: Mapping[str, str], verdict: Verdict, progress: Progress
    ) -> Report:
        """Set the batch aside and keep the old version; the owner's part is tried alone, and counts in any case."""
        reason = f"the gate refused it: {verdict.reason}"
        owners = [e for e in fresh if e.demonstration.source == "owner"]
        others = [e for e in fresh if e.demonstration.source != "owner"]
        have, current = self.buffer.ids(), self.lineage.current()
        counted = [e.id for e in others if have.get(e.id) == e.digest]
        before = [self.buffer.former(id, old[id]) for id in counted if id in old]
        with self.store.transaction() as cursor:
            rows.take_out(cursor, counted, "refused", reason)
            rows.hold(cursor, others, "refused", reason)
            rows.keep(cursor, [e for e in before if e is not None], current.number if current else None)
            rows.keep(cursor, owners, None)
        refused = (*base.refused, *(Refused(e.id, reason) for e in others))
        notes = (f"{len(owners)} of your own count as examples, outside any version",) if owners and not others else ()
        report = replace(base, refused=refused, verdict=verdict, notes=notes)
        if not owners or not others:
            return report
        again = self.learn((), progress)
        told = (f"refused {len(others)} others: {verdict.reason}", *again.notes)
        return replace(again, refused=refused, contradictions=base.contradictions, n_known=base.n_known, notes=told)

    def _on_top(self, reason: str, verdict: Verdict | None, cpu_s: float) -> Promotion:
        """Return why a version is promoted that keeps the current one's prior and tier two."""
        current = self.lineage.current()
        if current is None:
            return Promotion(None, reason, verdict, cpu_s)
        prior = str(current.record.get("prior", ""))
        return Promotion(current.number, reason, verdict, cpu_s, current.adapter, prior)

    def promote(self, members: Mapping[str, str], made: Described, fresh: Sequence[Entry], why: Promotion) -> int:
        """Commit a version with its demonstrations; it plans from then on. Returns: Its number."""
        record = {**made.record(len(members)), "judged_by": JUDGE, "cpu_s": round(why.cpu_s, 2)}
        if why.prior:
            record["prior"] = why.prior
        if why.verdict is not None:
            record["gate"] = why.verdict.to_json()
        if why.tier_two:
            record["tier_two"] = dict(why.tier_two)
        with self.store.transaction() as cursor:
            now = dt.datetime.now(dt.UTC)
            version = NewVersion(why.parent, now, why.reason, why.adapter, record, made.scores, made.tasks)
            number = self.lineage.add(cursor, members, version)
            rows.keep(cursor, fresh, number)
            self.lineage.make_current(cursor, number)
        self.sweep()
        return number

    def promote_with(self, why: Promotion, progress: Progress = silent, heads: HeadPrior | None = None) -> int:
        """Commit a version of the current one's demonstrations with another prior or tier two.

        Args:
            heads: Those of the other prior, by which the version is judged.
        """
        members = self._members(self.lineage.current())
        return self.promote(members, self._described(self._as_of(members, heads), (), progress), (), why)

    def described_without(self, gone: Iterable[str], progress: Progress = silent) -> Described:
        """Describe the current version as it would be, had it never seen some demonstrations."""
        current, out = self.lineage.current(), set(gone)
        members = {id: digest for id, digest in self._members(current).items() if id not in out}
        judged = self.lineage.samples(current.number) if current is not None else ()
        return self._described(self._as_of(members), judged, progress)

    def erase(self) -> None:
        """Finish a pending forgetting: rewrite the database, so that no page holds what was deleted."""
        if self.store.query("SELECT 1 FROM meta WHERE name='erase'"):
            self.store.rewrite()
            with self.store.transaction() as cursor:
                cursor.execute("DELETE FROM meta WHERE name='erase'")
            self.store.erase_traces()

    def sweep(self) -> None:
        """Remove files that no version names: left by a killed process, or of an adapter that newer ones replaced."""
        root = self.folder / "learned"
        if not root.exists():
            return
        versions, current = self.lineage.versions(), self.lineage.current()
        trained = list(dict.fromkeys(v.adapter for v in versions if v.adapter))[-_N_ADAPTERS:]
        named = {*trained, *(str(v.record.get("prior", "")) for v in versions), current.adapter if current else ""}
        for path in root.iterdir():
            if path.name.startswith(_OWN) and tool_heads.prior_of(path.name) not in named:
                path.unlink(missing_ok=True) if path.is_file() else shutil.rmtree(path, ignore_errors=True)

    # ── Going back ────────────────────────────────────────────────────────────────────────────────────────

    def rollback(self, number: int) -> tuple[Version, tuple[str, ...]]:
        """Make version `number` the current one again: its demonstrations, and so all that plans.

        What came after is set aside, not forgotten; what waits keeps waiting.

        Returns:
            The version, and ids of its demonstrations that are no longer held.
        Raises:
            NotFound: No such version. StoreError: Nothing was changed.
        """
        target, current = self.lineage.version(number), self.lineage.current()
        now = self.lineage.members(current.number if current else None)
        then, have, shipped = self.lineage.members(number), self.buffer.ids(), self._shipped()
        out = [id for id, digest in now.items() if have.get(id) == digest != then.get(id) and id not in shipped]
        former = {id: self.buffer.former(id, digest) for id, digest in then.items() if have.get(id) != digest}
        with self.store.transaction() as cursor:
            rows.take_out(cursor, out, "rolled back", f"rolled back to version {number}")
            rows.keep(cursor, [entry for entry in former.values() if entry is not None], number)
            self.lineage.make_current(cursor, number)
        self.sweep()
        return target, tuple(id for id, entry in former.items() if entry is None)

    # ── Tasks ─────────────────────────────────────────────────────────────────────────────────────────────

    def tasks(self) -> tuple[Task, ...]:
        """Return the tasks of the current version, largest first."""
        current = self.lineage.current()
        return self.lineage.tasks(current.number) if current is not None else ()


def _tools_of(entries: Iterable[Entry]) -> frozenset[str]:
    return frozenset(step.tool for e in entries for step in e.demonstration.plan.steps)


def _without(tasks: Sequence[Task], ids: set[str]) -> list[Task]:
    return [replace(task, members=tuple(id for id in task.members if id not in ids)) for task in tasks]


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
    write_bytes(path, whole)
