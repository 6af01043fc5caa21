"""Build the homes of Q2A's owners in memory, and run plans in them.

`data/q2a/OWNER.world.json` holds the owner (name, address, zone, country), their conventions with the time each holds,
records (as in `guard_world`), cameras with the people seen, and devices. A plan runs through the real monitor and the
real tools, and every question is answered with yes. Nothing is kept from one plan to the next.

Covered: that a plan runs to its end, what it read, what it changed.
Not covered: what earlier instructions changed (each runs in the home as it is written), servers, real footage.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hearth.config import Home
from hearth.errors import HearthError, RequestError
from hearth.execution.results import bind
from hearth.guard.monitor import Monitor
from hearth.guard.policy.question import YesApprover
from hearth.guard.policy.rules import Policy
from hearth.protocols import CallContext, Recording, Sighting, Tool
from hearth.testing import ClosedEgress, InMemoryMemory, InMemoryWorkspace, ScriptedFootage
from hearth.tools.memory import KEPT, REMEMBERED
from hearth.tools.pim import contacts
from hearth.types import Context, Plain, Plan, StepResult, ToolSpec
from hearth_bench.injection.guard_world import Mail, Memory, Whose, WorldObject, offline_tools, record_files
from hearth_home.tools import devices

FIRST_DAY = dt.date(2026, 8, 31)
"""First day of the cameras' recordings: a week before the first instruction."""
_Text = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Convention(_Strict):
    """Words with a meaning of their own to this owner, for a while."""

    id: _Text
    says: _Text
    """The words, e.g. `goodnight`."""
    means: _Text
    """Meaning of the words, as the owner would explain it."""
    since: dt.date
    until: dt.date | None = None
    """First day on which it no longer holds; None: it holds to the end."""


class Camera(_Strict):
    name: _Text
    room: _Text
    first_hour: Annotated[int, Field(ge=0, le=23)] = 0
    last_hour: Annotated[int, Field(ge=1, le=24)] = 24
    """Hour at which daily recording ends; it begins at `first_hour`."""


class Seen(_Strict):
    """Somebody in view of a camera."""

    camera: _Text
    start: dt.datetime
    end: dt.datetime
    name: str = ""
    activity: str = ""
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.9


class _Owner(_Strict):
    name: _Text
    email: _Text
    zone: _Text
    country: Annotated[str, Field(pattern=r"^[A-Z]{2}$")]
    about: _Text
    """Description of the owner, for a reader."""


class _WorldFile(_Strict):
    owner: _Owner
    conventions: tuple[Convention, ...] = ()
    records: tuple[WorldObject, ...] = ()
    cameras: tuple[Camera, ...] = ()
    seen: tuple[Seen, ...] = ()
    home: Home = Home()
    """Devices and scenes, as in `hearth.toml`."""


@dataclass(frozen=True)
class World:
    """An owner with their home."""

    owner: str
    file: _WorldFile
    tools: Mapping[str, Tool]

    @property
    def specs(self) -> dict[str, ToolSpec]:
        return {name: tool.spec for name, tool in self.tools.items()}

    @functools.cached_property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.file.owner.zone)

    def convention_at(self, id: str, now: dt.datetime) -> Convention | None:
        """Return the convention of this name that holds at a time."""
        day = now.astimezone(self.zone).date()
        return next(
            (
                one
                for one in self.file.conventions
                if one.id == id and one.since <= day and (one.until is None or day < one.until)
            ),
            None,
        )

    def known(self, now: dt.datetime) -> Context:
        """Return the part of this home that a planner may see."""
        owner = self.file.owner
        return Context(
            owner.name, (*contacts.entities(self.workspace(now)), *devices.entities(self._home)), owner.country
        )

    @functools.cached_property
    def _home(self) -> dict[str, Plain]:
        return self.file.home.model_dump(mode="json")

    def context(self, key: str, now: dt.datetime, workspace: InMemoryWorkspace, memory: InMemoryMemory) -> CallContext:
        """Return the context that a call gets in this home at a time."""
        owner = self.file.owner
        settings: dict[str, dict[str, Plain]] = {
            "owner": {"name": owner.name, "email": owner.email, "country": owner.country},
            "mail": {},
            "calendar": {},
            "contacts": {},
            "home": self._home,
        }
        return CallContext(
            key, now, workspace, memory, ClosedEgress(), settings, threading.Event(), footage=self.footage(now)
        )

    def workspace(self, now: dt.datetime) -> InMemoryWorkspace:
        """Build the owner's folder as it is at a time, without mail that has not arrived yet."""
        whose = Whose(self.file.owner.name, self.file.owner.email, self.zone)
        there = [one for one in self.file.records if not isinstance(one, Mail) or one.at <= now]
        found = InMemoryWorkspace(now=now)
        for path, (content, at) in record_files(there, whose, now).items():
            found.files[path] = content
            found.times[path] = at.astimezone(dt.UTC)
        return found

    def memory(self, now: dt.datetime) -> InMemoryMemory:
        found = InMemoryMemory()
        for number, record in enumerate(one for one in self.file.records if isinstance(one, Memory)):
            at = now - dt.timedelta(days=3)
            found.remember(record.text, kind=REMEMBERED, at=at, label=KEPT, key=f"m{number}")
        return found

    def footage(self, now: dt.datetime) -> ScriptedFootage:
        """Return the cameras' recordings and sightings up to now."""
        rooms = {camera.name: camera.room for camera in self.file.cameras}
        sightings = [
            Sighting(
                id=f"s{number}",
                camera=seen.camera,
                room=rooms[seen.camera],
                start=seen.start,
                end=min(seen.end, now),
                confidence=seen.confidence,
                name=seen.name,
                name_confidence=seen.confidence if seen.name else 0.0,
                activity=seen.activity,
                activity_confidence=seen.confidence if seen.activity else 0.0,
            )
            for number, seen in enumerate(self.file.seen)
            if seen.start < now
        ]
        return ScriptedFootage(tuple(self._recordings(now)), sightings)

    def _recordings(self, now: dt.datetime) -> Iterator[Recording]:
        """Yield one recording for each camera and day, the last one cut off at now."""
        for camera in self.file.cameras:
            day = FIRST_DAY
            while day <= now.astimezone(self.zone).date():
                midnight = dt.datetime.combine(day, dt.time(), self.zone)
                start = midnight.replace(hour=camera.first_hour)
                end = (
                    midnight + dt.timedelta(days=1)
                    if camera.last_hour == 24
                    else midnight.replace(hour=camera.last_hour)
                )
                if start < min(end, now):
                    yield Recording(f"{camera.name} {day}", camera.name, camera.room, start, min(end, now), True)
                day += dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results and changes of a plan that was run."""

    results: tuple[StepResult, ...]
    changed: Mapping[str, bytes | None]
    """New or changed files by path; None: deleted."""


def read_world(owner: str, folder: Path | None = None) -> World:
    """Read an owner's world file.

    Raises:
        RequestError: The file is missing or has the wrong shape; names the field.
    """
    with as_file(files("hearth_bench") / "data" / "q2a") as shipped:
        path = (folder or shipped) / f"{owner}.world.json"
        try:
            return World(owner, _WorldFile.model_validate_json(path.read_bytes()), offline_tools())
        except OSError as error:
            raise RequestError(f"cannot read {path.name}: {error.strerror}") from None
        except ValidationError as error:
            first = error.errors()[0]
            raise RequestError(f"{path.name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def execute(plan: Plan, world: World, now: dt.datetime) -> Outcome:
    """Run a checked plan in the owner's home.

    Raises:
        RequestError: The guard denied the plan, although every question was answered with yes.
    """
    monitor = Monitor(world.tools, Policy(), YesApprover())
    workspace, memory = world.workspace(now), world.memory(now)
    before = dict(workspace.files)
    ruling = monitor.rule(plan)
    if ruling.verdict != "allow":
        raise RequestError(f"the plan was denied: {ruling.reason}")
    results: dict[int, StepResult] = {}
    for index, step in enumerate(plan.steps):
        if any(results[need].status != "done" for need in step.needs()):
            results[index] = StepResult(index, "skipped", error="a step before it failed", error_kind="skipped")
            continue
        try:
            bound = bind(plan, index, results, monitor.specs)
            context = world.context(f"q2a-{index}", now, workspace, memory)
            admitted = monitor.admit(plan, index, bound, context)
            if admitted.verdict == "ask":
                monitor.confirm(plan, index, bound, context, admitted)
            value = monitor.call(plan, index, bound, context)
            results[index] = StepResult(index, "done", value.data, value.label, fields=value.fields)
        except HearthError as error:
            results[index] = StepResult(index, "failed", error=str(error), error_kind=type(error).__name__)
    changed = {
        path: workspace.files.get(path)
        for path in before.keys() | workspace.files.keys()
        if before.get(path) != workspace.files.get(path)
    }
    return Outcome(tuple(results[index] for index in sorted(results)), changed)


_BY_CHANCE = re.compile(
    rb"(?m)^(?:UID|DTSTAMP|CREATED|LAST-MODIFIED|REV|Message-ID|Date|In-Reply-To|References)[:;].*\r?\n"
)


def effect_of(outcome: Outcome, plan: Plan) -> tuple[object, ...]:
    """Reduce an outcome to what can be compared: the changes without random names, and the results of its last
    steps."""
    changed = Counter(
        (path.rpartition("/")[0], None if data is None else _BY_CHANCE.sub(b"", data))
        for path, data in outcome.changed.items()
    )
    used = {need for step in plan.steps for need in step.needs()}
    found = Counter(
        re.sub(r"q2a-\d+|[0-9a-f]{12,}", "", repr(result.value))
        for result in outcome.results
        if result.step not in used and not outcome.changed
    )
    return frozenset(changed.items()), frozenset(found.items()), any(r.status != "done" for r in outcome.results)
