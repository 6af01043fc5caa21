"""Forgetting demonstrations, and every version, score, task, skill and adapter that was made of them.

The weights that plan are no rows of this holder: `learning.unlearning` has them solved anew without what goes, and
describes the current version with them in the same commit. A trained tier two that saw it cannot be taken apart and is
dropped until the next learning, and so are adapters of language students.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hearth.errors import NotFound
from hearth.learning.demonstration_store import Buffer, Entry, entry_of
from hearth.learning.versions.learned_state import Lineage
from hearth.learning.versions.promotion_gate import JUDGE, Described, Task, without
from hearth.models.llm.openai_endpoint import ADAPTERS
from hearth.protocols import Count, Held, Wanted
from hearth.storage.database import Store


@dataclass(frozen=True, slots=True)
class Resting:
    """What was made of demonstrations."""

    versions: tuple[int, ...]
    """Versions that were made of some, or judged on some."""
    adapters: frozenset[str]
    """Trained tiers of versions that held any of it: what they keep of it cannot be taken out."""
    skills: tuple[int, ...]
    """Skills proposed from any of it, and those accepted whose demonstrations are among it."""
    n_language: int
    """Adapters of a local language model."""


@dataclass(slots=True)
class TaughtHolder:
    """A `protocols.Holder` of demonstrations, as they count and as they are set aside."""

    store: Store
    named: Sequence[str] = ()
    """Ids that the owner named."""
    source: str = ""
    """Where the owner wants all forgotten from (`teacher`, `owner`, …)."""
    name: str = "demonstrations"

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:  # noqa: ARG002 - the seam's
        """Find the demonstrations that are named, come from the source, hold the words, or came from `events`.

        Raises:
            NotFound: One that is named is nowhere.
        """
        buffer = Buffer(self.store)
        ids = dict.fromkeys(self.named)
        if words:
            ids |= dict.fromkeys(buffer.find(matching=words))
        if self.source:
            ids |= dict.fromkeys(buffer.find(source=self.source))
        for event in events:
            ids |= dict.fromkeys(buffer.find(episode=event))
        held = {(entry.id, entry.digest): entry for id in ids for entry in self._entries(id)}
        if missing := set(self.named) - {id for id, _ in held}:
            raise NotFound(f"no demonstration {min(missing)!r}; it may have been forgotten already")
        found = tuple(held.values())
        came_from = dict.fromkeys(entry.episode for entry in found if entry.episode)
        count = Count(len(found), "demonstration", "demonstrations")
        texts = tuple(entry.demonstration.request for entry in found)
        return Held(self.name, (count,), texts, tuple(came_from), rows=found or None)

    def _entries(self, id: str) -> list[Entry]:
        found = []
        for table in ("demonstration", "set_aside"):
            found += [entry_of(row) for row in self.store.query(f"SELECT * FROM {table} WHERE id=?", (id,))]  # noqa: S608 - one of two names
        return found

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Remove them, what was measured with them, and the skills and tiers made of them."""
        gone = frozenset(entry.id for entry in entries_of(held))
        resting = self.resting_on(held)
        _rewrite_versions(cursor, gone, resting.versions)
        cursor.executemany("UPDATE version SET adapter='' WHERE adapter=?", [(name,) for name in resting.adapters])
        for table in ("version_change", "demonstration", "set_aside"):
            cursor.executemany(f"DELETE FROM {table} WHERE id=?", [(id,) for id in gone])  # noqa: S608 - of three names
        cursor.executemany("DELETE FROM skill WHERE number=?", [(number,) for number in resting.skills])

    def sweep(self, home: Path, held: Held) -> None:
        """Remove adapters of a local language model that learnt any of it."""
        adapters = home / ADAPTERS
        if not entries_of(held) or not adapters.is_dir():
            return
        from hearth.learning.finetune.adapters import Adapters  # for homes that teach a local model

        Adapters(adapters).forget(entry.id for entry in entries_of(held))

    def resting_on(self, held: Held) -> Resting:
        """Find what was made of what was found."""
        gone = frozenset(entry.id for entry in entries_of(held))
        if not gone:
            return Resting((), frozenset(), (), 0)
        lineage = Lineage(self.store)
        saw = {v.adapter for v in lineage.versions() if v.adapter and gone & lineage.members(v.number).keys()}
        return Resting(self._versions(gone), frozenset(saw), self._skills(gone), self._n_language(gone))

    def _versions(self, gone: frozenset[str]) -> tuple[int, ...]:
        changes = "SELECT version FROM version_change WHERE id=?"
        touched = {int(row["version"]) for id in gone for row in self.store.query(changes, (id,))}
        for row in self.store.query("SELECT number, samples_json, tasks_json FROM version"):
            members = {id for task in json.loads(row["tasks_json"]) for id in Task.from_json(task).members}
            if gone & (members | json.loads(row["samples_json"]).keys()):
                touched.add(row["number"])
        return tuple(sorted(touched))

    def _skills(self, gone: frozenset[str]) -> tuple[int, ...]:
        found = []
        for row in self.store.query("SELECT number, evidence_json, demonstrations_json FROM skill"):
            rests = {*json.loads(row["evidence_json"]).get("rests_on", ()), *json.loads(row["demonstrations_json"])}
            if rests & gone:
                found.append(int(row["number"]))
        return tuple(found)

    def _n_language(self, gone: frozenset[str]) -> int:
        adapters = self.store.path.parent / ADAPTERS
        if not adapters.is_dir():
            return 0
        from hearth.learning.finetune.adapters import Adapters  # as above

        return len(Adapters(adapters).that_learnt(gone))


def entries_of(held: Held) -> tuple[Entry, ...]:
    """Return the demonstrations that were found."""
    return held.rows if isinstance(held.rows, tuple) else ()


def describe_anew(cursor: sqlite3.Cursor, number: int, made: Described, n: int) -> None:
    """Describe the current version as it would have been had it never seen what is forgotten.

    Args:
        n: Demonstrations it is made of now.
    """
    (row,) = cursor.execute("SELECT record_json FROM version WHERE number=?", (number,)).fetchall()
    record = {**json.loads(row["record_json"]), **made.record(n), "judged_by": JUDGE, "rewritten": True}
    _write_version(cursor, number, {id: round(n, 6) for id, n in sorted(made.scores.items())}, made.tasks, record)


def _rewrite_versions(cursor: sqlite3.Cursor, gone: frozenset[str], versions: Sequence[int]) -> None:
    """Take `gone` out of these versions: their samples, their tasks, and what was measured with them."""
    sequences = {}
    for table in ("set_aside", "demonstration"):
        for row in cursor.execute(f"SELECT * FROM {table}").fetchall():  # noqa: S608 - one of two names
            if row["id"] not in gone:
                sequences[row["id"]] = tuple(step.tool for step in entry_of(row).demonstration.plan.steps)
    for number in versions:
        row = cursor.execute("SELECT samples_json, tasks_json, record_json FROM version WHERE number=?", (number,))
        samples, tasks, record = (json.loads(text) for text in row.fetchone())
        scores = {id: n for id, n in samples.items() if id not in gone}
        for measured in ("gate", "frontier", "node_f1"):
            record.pop(measured, None)
        if scores:
            record["node_f1"] = round(sum(scores.values()) / len(scores), 4)
        record.update(n_judged=len(scores), rewritten=True)
        kept = without([Task.from_json(data) for data in tasks], gone, sequences, scores)
        _write_version(cursor, number, scores, kept, record)


def _write_version(
    cursor: sqlite3.Cursor,
    number: int,
    scores: Mapping[str, float],
    tasks: Sequence[Task],
    record: Mapping[str, object],
) -> None:
    told = json.dumps([task.to_json() for task in tasks], ensure_ascii=False)
    cursor.execute(
        "UPDATE version SET samples_json=?, tasks_json=?, record_json=? WHERE number=?",
        (json.dumps(scores), told, json.dumps(record), number),
    )
