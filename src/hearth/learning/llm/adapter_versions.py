"""Keep the versions of a language student: each a folder with its record; one of them is current, or none.

    FOLDER/1/  2/  3/      adapters as `learning.llm.distillation` writes them
    FOLDER/current.json    the number that plans, and those before it

A version becomes current only through the gate: judged on demonstrations held back from it, beside the current one.
Covered: a crash at any point leaves the old current one and no half version; a version that learnt something forgotten
is removed with its files, and the last one that never saw it becomes current. Not covered: two processes that change
the same folder (the home's lock keeps them apart).
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hearth.errors import ConfigError, NotFound, PlannerError, RequestError, StoreError
from hearth.learning.llm import adapter_archive
from hearth.learning.llm.distillation import (
    LanguageRecord,
    Lessons,
    distill,
    folder_sha256,
    move,
    read_record,
    write_record,
)
from hearth.learning.llm.prompts import LanguageOptions
from hearth.learning.versions import promotion_gate
from hearth.models.llm.huggingface import CURRENT, HuggingFaceModel, check_speaks_alike
from hearth.planning.llm.line_planner import CompactPlanner
from hearth.protocols import GrammarModel
from hearth.types import Context, Demonstration, Plan, Request, ToolSpec

N_HELD = 40
"""Most demonstrations held back to judge a version by; at most a fifth of them."""
_NOON = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
"""Time assumed for a demonstration without one."""


@dataclass(frozen=True, slots=True)
class AdapterVersion:
    number: int
    folder: Path
    record: LanguageRecord
    is_current: bool


@dataclass(frozen=True, slots=True)
class Distilled:
    """Outcome of teaching: the version, and whether it plans now."""

    version: AdapterVersion
    verdict: promotion_gate.Verdict


class Adapters:
    """The versions below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    # ── What there is ─────────────────────────────────────────────────────────────────────────────────────

    def versions(self) -> tuple[AdapterVersion, ...]:
        """Return all versions, oldest first. Raises: ConfigError: A record cannot be read."""
        past = self._past()
        return tuple(
            AdapterVersion(number, self._of(number), read_record(self._of(number)), past[-1:] == [number])
            for number in self._numbers()
        )

    def version(self, number: int) -> AdapterVersion:
        """Return one version. Raises: NotFound: No such version; names those there are."""
        if number not in self._numbers():
            known = ", ".join(map(str, self._numbers())) or "none"
            raise NotFound(f"no adapter {number}; there are: {known}")
        return AdapterVersion(number, self._of(number), read_record(self._of(number)), self._past()[-1:] == [number])

    def current(self) -> AdapterVersion | None:
        """Return the version that plans; None: the base alone does."""
        past = self._past()
        return self.version(past[-1]) if past else None

    # ── Making one ────────────────────────────────────────────────────────────────────────────────────────

    def distil(
        self,
        base: str | Path,
        lessons: Lessons,
        *,
        options: LanguageOptions | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Distilled:
        """Teach a new version, going on from the current one when its base is the same, and judge it.

        Raises:
            As `learning.llm.distillation.distill`; nothing of the version is left then.
        """
        now = self.current()
        goes_on = now is not None and now.record.base == str(base) and now.record.method == "lora"
        known = _by_id([*lessons.replay, *lessons.new])
        tasks = tasks_of(known.values(), lessons.tools)
        held = _held(lessons.new, known, tasks, now.record if goes_on and now is not None else None)
        new, replay = ([d for d in some if d.id not in held] for some in (lessons.new, lessons.replay))
        number = self._next()
        distill(
            base,
            replace(lessons, new=new, replay=replay),
            self._of(number),
            options=options,
            start_from=now.folder if goes_on and now is not None else None,
            progress=progress,
        )
        return self._judged(number, [known[id] for id in sorted(held)], tasks, lessons.tools, base)

    def move(
        self,
        number: int,
        base: str | Path,
        buffer: Sequence[Demonstration],
        tools: Mapping[str, ToolSpec],
        *,
        progress: Callable[[int, int], object] | None = None,
    ) -> Distilled:
        """Make version `number` anew on another base, from its demonstrations still in `buffer`, and judge it.

        Raises:
            NotFound: No such version. RequestError: Nothing of what it learnt is kept. As
                `learning.llm.distillation.move`.
        """
        old = self.version(number)
        known = _by_id(buffer)
        if not known.keys() & set(old.record.ids):
            raise RequestError(f"nothing of what adapter {number} learnt is still kept; teach the new base anew")
        tasks = tasks_of(known.values(), tools)
        held = [known[id] for id in sorted(known.keys() - old.record.seen)[:N_HELD]]
        made = self._next()
        move(old.folder, base, buffer, tools, self._of(made), progress=progress)
        return self._judged(made, held, tasks, tools, base)

    def take(self, file: Path, base: Path, buffer: Sequence[Demonstration], tools: Mapping[str, ToolSpec]) -> Distilled:
        """Make a version of a packed adapter that was made elsewhere on the same model, and judge it by `buffer`.

        Raises:
            ConfigError: It is none, was made on another model, or speaks in another form. MissingExtraError.
            PlannerError: It wrote not a single plan. StoreFullError. Nothing of the version is left then.
        """
        record = adapter_archive.read_packed(file)
        if not base.is_dir() or folder_sha256(base) != record.base_sha256:
            raise ConfigError(
                f"the adapter was made on the model {record.base[:100]!r} (SHA-256 {record.base_sha256[:12]}…), which "
                f"{str(base)!r} is not; name the folder of that model with --base"
            )
        now = self.current()
        known = _by_id(buffer)
        tasks = tasks_of(known.values(), tools)
        unseen = known.keys() - (now.record.seen if now else frozenset()) or known.keys()
        able = {name: [id for id in ids if id in unseen] for name, ids in tasks.items()}
        held = [known[id] for id in sorted(promotion_gate.choose(able, min(N_HELD, len(unseen))))]
        number = self._next()
        adapter_archive.unpack(file, self._of(number), str(base))
        try:
            check_speaks_alike(self._of(number), base)
            return self._judged(number, held, tasks, tools, base)
        except BaseException:
            shutil.rmtree(self._of(number))
            raise

    def _judged(
        self,
        number: int,
        held: Sequence[Demonstration],
        tasks: Mapping[str, Sequence[str]],
        tools: Mapping[str, ToolSpec],
        base: str | Path,
    ) -> Distilled:
        """Judge a version beside the one that plans; if the gate lets it, it plans from now on."""
        made, before = self.version(number), self.current()
        after = scores(_opened(made), held, tools)
        old = scores(_opened(before) if before else HuggingFaceModel.open(base), held, tools, may_fail=True)
        verdict = promotion_gate.judge(old, after, tasks, taught_new=True)
        measured = {"node_f1_before": verdict.before, "node_f1": verdict.after, "n": float(verdict.n)}
        rounded = {name: round(value, 4) for name, value in measured.items()}
        write_record(made.folder, replace(made.record, scores=rounded, held=tuple(d.id for d in held)))
        if verdict.is_promoted:
            self.promote(number)
        return Distilled(self.version(number), verdict)

    # ── Which one plans ───────────────────────────────────────────────────────────────────────────────────

    def promote(self, number: int) -> None:
        """Make `number` the version that plans; the owner may do so against the gate. Raises: NotFound."""
        self.version(number)
        self._write([*(n for n in self._past() if n != number), number])

    def rollback(self, number: int | None = None) -> AdapterVersion | None:
        """Let the version before the current one plan again, or `number`; None: the base alone.

        Raises:
            NotFound: Nothing is current, or no such version.
        """
        past = self._past()
        if number is not None:
            self.promote(number)
        elif not past:
            raise NotFound(
                "no adapter plans, so there is none to roll back; `hearth adapters list` shows what there is"
            )
        else:
            self._write(past[:-1])
        return self.current()

    def forget(self, ids: Iterable[str]) -> tuple[int, ...]:
        """Remove each version that learnt one of `ids`, or went on from such a one; return which."""
        wanted = frozenset(ids)
        gone: list[int] = []
        for version in self.versions():
            if wanted & version.record.seen or version.record.parent in map(str, gone):
                gone.append(version.number)
        self._write([n for n in self._past() if n not in gone])  # first: the version that plans must not miss its files
        for number in gone:
            shutil.rmtree(self._of(number))
        for version in self.versions():
            if wanted & set(version.record.held):
                held = tuple(id for id in version.record.held if id not in wanted)
                write_record(version.folder, replace(version.record, held=held))
        return tuple(gone)

    # ── Files ─────────────────────────────────────────────────────────────────────────────────────────────

    def _of(self, number: int) -> Path:
        return self._folder / str(number)

    def _numbers(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        return sorted(int(path.name) for path in self._folder.iterdir() if path.name.isdecimal() and path.is_dir())

    def _next(self) -> int:
        return max([*self._numbers(), *self._past(), 0]) + 1

    def _past(self) -> list[int]:
        """Return the numbers that were current, the present one last."""
        try:
            return [int(n) for n in json.loads((self._folder / CURRENT).read_bytes())["past"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"cannot read {str(self._folder / CURRENT)!r} ({error}); remove it, then `hearth adapters promote`"
            ) from None

    def _write(self, past: Sequence[int]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        beside = self._folder / ".current.new"
        beside.write_text(json.dumps({"past": list(past)}) + "\n")
        beside.replace(self._folder / CURRENT)


def scores(
    model: GrammarModel,
    demonstrations: Sequence[Demonstration],
    tools: Mapping[str, ToolSpec],
    *,
    may_fail: bool = False,
) -> dict[str, float]:
    """Return the Node-F1 of the plan that `model` writes for each demonstration, by id; no plan counts as an empty one.

    Args:
        may_fail: Whether a model that writes not a single plan is scored, too: one that was not taught yet.
    Raises:
        PlannerError: It wrote not a single plan.
    """
    planner = CompactPlanner(model)
    found, n_written = dict[str, float](), 0
    failed: PlannerError | None = None
    for d in demonstrations:
        offered = {name: tools[name] for name in d.tools if name in tools} or tools
        try:
            plan = planner.plan(Request(d.request, d.now or _NOON), Context(), offered)
            n_written += 1
        except PlannerError as error:
            plan, failed = Plan(()), error
        planned = [step.tool for step in plan.steps] if isinstance(plan, Plan) else []
        found[d.id] = promotion_gate.node_f1(planned, [step.tool for step in d.plan.steps])
    if failed is not None and not n_written and not may_fail:
        raise failed
    return found


def tasks_of(demonstrations: Iterable[Demonstration], tools: Mapping[str, ToolSpec]) -> dict[str, list[str]]:
    """Group ids by the domain of the plan's first tool, or by that tool where tools have no domains."""
    tasks: dict[str, list[str]] = {}
    for d in demonstrations:
        first = tools[d.plan.steps[0].tool] if d.plan.steps else None
        tasks.setdefault((first.domain or first.name) if first else "(none)", []).append(d.id)
    return tasks


def _held(
    new: Sequence[Demonstration],
    known: Mapping[str, Demonstration],
    tasks: Mapping[str, Sequence[str]],
    before: LanguageRecord | None,
) -> frozenset[str]:
    """Choose ids to judge by, from all tasks: those `before` held back, none it learnt, at most a fifth of the new."""
    learnt = before.seen if before else frozenset()
    able = {name: [id for id in ids if id not in learnt] for name, ids in tasks.items()}
    chosen = promotion_gate.choose(able, min(N_HELD, len(known) // 5))
    earlier = frozenset(before.held) & known.keys() if before else frozenset()
    fresh = {d.id for d in new} - earlier
    return (
        earlier
        | (frozenset(chosen) - fresh)
        | frozenset(promotion_gate.drawn(fresh & frozenset(chosen), len(fresh) // 5))
    )


def _by_id(demonstrations: Sequence[Demonstration]) -> dict[str, Demonstration]:
    return {d.id: d for d in demonstrations}


def _opened(version: AdapterVersion) -> HuggingFaceModel:
    if version.record.method == "full":
        return HuggingFaceModel.open(version.folder)
    base = Path(version.record.base) if Path(version.record.base).is_dir() else version.record.base
    return HuggingFaceModel.open(base, adapter=version.folder)
