"""Keep the versions of what was learnt: which demonstrations, which parent, which scores, when and why.

A version is the set of demonstrations it was made from. Because learning is exact, that set suffices to rebuild its
weights to the last bit; no version has files of them. Each version records what it added to and removed from its
parent, so a long life costs a few dozen bytes a demonstration.
"""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hearth.errors import MissingExtraError, NotFound, StoreError
from hearth.learning.tasks import Task
from hearth.storage.database import Store
from hearth.types import Plain

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
