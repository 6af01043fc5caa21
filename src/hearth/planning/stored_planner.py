"""Loads what a home has learned as a planner, at the first request, so that a start without need of it costs nothing.

The files are those of the version that plans now (`learning.learned_state` writes them); what was taught since then
counts, what was forgotten does not. Missing or damaged files are a planner's failure, which the cascade handles.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hearth.errors import HearthError, PlanError, PlannerError
from hearth.formats.plan_json import plan_from_json
from hearth.protocols import Encoder, Proposer
from hearth.storage.database import Store
from hearth.types import Context, Demonstration, Effect, Plan, Refusal, Request, ToolSpec

if TYPE_CHECKING:
    from hearth.planning.learned_planner import LearnedPlanner
    from hearth.planning.ranking.statistics.sufficient_statistics import Statistics

_N_TAUGHT_SINCE = 200
"""Number of demonstrations taught since the version was made that are learned at once; more wait for `hearth learn`."""
_LEAST_CONFIDENCE: Mapping[Effect, float] = {"none": 0.7, "change": 0.8, "send": 0.9}
"""Least confidence by effect; higher than usual, as retrieval, which knows the tools better, has refused."""
_N_REFUSED = 300
"""Number of refused requests that are read to tell what is strange: reading them takes some ms each."""


class StoredPlanner:
    """Satisfies `protocols.Planner` with the learned state of a home. Not thread-safe."""

    name = "student"

    def __init__(self, home: Path, store: Store, encoder: Encoder, cache: Path | None = None) -> None:
        """Keep the home; nothing is read yet."""
        self._home = home
        self._store = store
        self._encoder = encoder
        self._cache = cache
        self._planner: LearnedPlanner | None = None

    @property
    def is_taught(self) -> bool:
        """Return whether there is a version that plans."""
        return bool(self._store.query("SELECT 1 FROM version WHERE folder <> ''"))

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """Plan as `LearnedPlanner.plan` does. Raises: PlannerError: Nothing was learned, or files cannot be read."""
        if self._planner is None:
            self._planner = self._loaded(tools)
        return self._planner.plan(request, context, tools)

    def _loaded(self, tools: Mapping[str, ToolSpec]) -> LearnedPlanner:
        from hearth.planning.arguments.schema_filler import Filler  # these bring in what most starts do not need
        from hearth.planning.learned_planner import LearnedPlanner
        from hearth.planning.ranking.ranker import Student

        rows = self._store.query(
            "SELECT folder, adapter, json_extract(record_json, '$.prior') AS prior FROM version WHERE folder <> ''"
        )
        if not rows:
            raise PlannerError("nothing was learnt yet; run `hearth learn`")
        folder, adapter = self._home / "learned" / rows[0][0], rows[0][1]
        try:
            proposer = self._proposer(self._home / "learned" / adapter, tools) if adapter else None
            prior = self._prior(self._home / "learned" / rows[0]["prior"]) if rows[0]["prior"] else None
            student = Student.load(folder, self._encoder, tools, proposer=proposer, prior=prior)
        except HearthError as error:
            raise PlannerError(f"what was learnt cannot be used: {error}; `hearth learn` makes it anew") from error
        known = {row[0] for row in self._store.query("SELECT id FROM demonstration")}
        student.remove(*(id for id in student.ids if id not in known))
        waiting = self._waiting()
        if 0 < len(waiting) <= _N_TAUGHT_SINCE:
            student.learn(waiting)
        return LearnedPlanner(student, Filler.open(self._cache), self._refused(), least_confidence=_LEAST_CONFIDENCE)

    def _proposer(self, folder: Path, tools: Mapping[str, ToolSpec]) -> Proposer | None:
        from hearth.models.pointer import Pointer

        try:
            return Pointer.open(folder, tools)
        except HearthError:
            return None  # the student weighs the rest without it

    def _prior(self, path: Path) -> Statistics | None:
        from hearth.planning.ranking.statistics import prior_file

        try:
            return prior_file.read(path)
        except HearthError:
            return None  # the student then knows only what was taught here

    def _waiting(self) -> list[Demonstration]:
        rows = self._store.query(
            "SELECT id, request, plan_json, source, now FROM demonstration WHERE version IS NULL ORDER BY id LIMIT ?",
            (_N_TAUGHT_SINCE + 1,),
        )
        found = []
        for row in rows:
            try:
                plan = plan_from_json(json.loads(row["plan_json"]))
            except (ValueError, PlanError):
                continue
            now = dt.datetime.fromisoformat(row["now"]) if row["now"] else None
            found.append(Demonstration(row["id"], row["request"], plan, source=row["source"], now=now))
        return found

    def _refused(self) -> dict[str, str]:
        rows = self._store.query(
            "SELECT id, request FROM demonstration WHERE json_extract(plan_json, '$.task_nodes[0]') IS NULL "
            "ORDER BY id LIMIT ?",
            (_N_REFUSED,),
        )
        return {row[0]: row[1] for row in rows}
