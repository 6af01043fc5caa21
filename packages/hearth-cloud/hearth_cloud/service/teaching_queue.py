"""Teachers of plans behind one queue that batches questions arriving together.

A `Planning` gives one answer per question. A question it cannot plan gets a refusal, never an exception; where it
cannot answer at all (the model is down), it raises a `PlannerError`.

Covered: more questions than can be answered (refused at once, with the time to retry), clients that left, answers that
depend on the moment (cached for that minute only), a teacher that fails. Not covered: whether a plan is right, or what
it would do: the device checks every plan, and its guard rules on it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import datetime as dt
import hashlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar

from hearth.errors import MissingArgument, PlannerError
from hearth.formats import edge_protocol
from hearth.formats.edge_protocol import Manifest, PlanGiven, Refused
from hearth.formats.plans import faults, plan_to_json
from hearth.language.reading import why_unreadable
from hearth.learning.corrections import RecordedTeacher
from hearth.planning.arguments.schema_filler import Filler
from hearth.planning.llm import LanguagePlanner
from hearth.planning.ranking.features import FloatRows
from hearth.planning.ranking.ranker import PROFILES, ProfileName, Ranker, Ranking
from hearth.planning.ranking.sufficient_statistics import decode
from hearth.protocols import Encoder, LanguageModel
from hearth.types import Context, Plan, Refusal, Request, Step, ToolSpec
from hearth_cloud.problems import Fault
from hearth_cloud.service.prometheus_metrics import Numbers
from hearth_cloud.storage.cloud_storage import Storage

_N_TRIED = 6
_MOST_TOOLSETS = 256
_MOST_TOOLS = 20_000
"""Number of tools in all cached toolsets together."""
_MOST_TEXTS = 20_000
"""Number of cached vectors of tool texts, 1.5 kB each."""
_MOST_MISSING = 256
_LOOK_S = 30.0
"""Interval of looking for a newer prior."""


@dataclass(frozen=True, slots=True)
class Toolset:
    """The tools that an edge offers."""

    sha256: str
    tools: Mapping[str, ToolSpec]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question for a plan."""

    id: str
    request: Request
    offered: Toolset


class Planning(Protocol):
    """Makes plans; `plans` is called from one of `n_threads` threads of its own."""

    @property
    def name(self) -> str:
        """Name of the teacher, sent with every answer."""
        ...

    @property
    def n_threads(self) -> int: ...

    @property
    def gains_by_batches(self) -> bool: ...

    def plans(self, asked: Sequence[Asked]) -> list[PlanGiven]:
        """Return one answer for each question, in order. Raises: PlannerError: No answer can be given now."""
        ...


class Toolsets:
    """Toolsets that edges offered, by their hash; bounded, the least recently used go first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Toolset] = OrderedDict()
        self._n_tools = 0

    def get(self, sha256: str) -> Toolset | None:
        found = self._kept.get(sha256)
        if found is not None:
            self._kept.move_to_end(sha256)
        return found

    def keep(self, offered: Toolset) -> None:
        if offered.sha256 in self._kept:
            return
        self._kept[offered.sha256] = offered
        self._n_tools += len(offered.tools)
        while len(self._kept) > 1 and (len(self._kept) > _MOST_TOOLSETS or self._n_tools > _MOST_TOOLS):
            self._n_tools -= len(self._kept.popitem(last=False)[1].tools)


# ── Teachers ──────────────────────────────────────────────────────────────────────────────────────────────


class StudentTeacher:
    """A student of this service, possibly one merged from many edges. It reads and ranks many requests together.

    Reading releases the interpreter lock, ranking does not: while one thread ranks, the other reads.
    """

    n_threads = 2
    gains_by_batches = True

    def __init__(self, student: Ranker, filler: Filler | None, name: str = Ranker.name) -> None:
        """Plan with `student` as it is now; it must not be taught any more.

        Args:
            filler: Finds arguments; None leaves them all to the edge.
        """
        self.name = name
        self._student = student
        self._filler = filler
        self._ranking = threading.Lock()
        """Lock around ranking, since students are not thread-safe; reading needs none."""
        self._offerings: OrderedDict[str, Ranker] = OrderedDict()
        self._vectors: OrderedDict[str, FloatRows] = OrderedDict()

    @classmethod
    def open(cls, folder: Path, encoder: Encoder, arguments: str, cache: Path | None = None) -> StudentTeacher:
        """Load the student saved in `folder`. Raises: StoreError and its kinds."""
        student = Ranker.load(folder, encoder, {})
        return cls(student, filler_of(arguments, cache))

    def plans(self, asked: Sequence[Asked]) -> list[PlanGiven]:
        """See `Planning`."""
        found: dict[int, PlanGiven] = {}
        groups: dict[str, list[int]] = {}
        for row, one in enumerate(asked):
            refusal = _unreadable(one)
            if refusal is not None:
                found[row] = given(one.id, refusal, self.name)
            else:
                groups.setdefault(one.offered.sha256, []).append(row)
        rows = [row for mine in groups.values() for row in mine]
        readings = dict(zip(rows, self._student.read([asked[row].request.text for row in rows])))
        for mine in groups.values():
            with self._ranking:
                student = self._offering(asked[mine[0]].offered)
                rankings = student.rank_readings([readings[row] for row in mine])
            for row, ranking in zip(mine, rankings):
                found[row] = self._given(asked[row], ranking)
        return [found[row] for row in range(len(asked))]

    def _offering(self, offered: Toolset) -> Ranker:
        student = self._offerings.get(offered.sha256)
        if student is None:
            student = self._student.offering(offered.tools, self._vectors)
            self._offerings[offered.sha256] = student
            self._vectors |= student.text_vectors
            while len(self._vectors) > _MOST_TEXTS:
                self._vectors.popitem(last=False)
            while sum(len(one.tools) for one in self._offerings.values()) > _MOST_TOOLS and len(self._offerings) > 1:
                self._offerings.popitem(last=False)
        self._offerings.move_to_end(offered.sha256)
        return student

    def _given(self, one: Asked, ranking: Ranking) -> PlanGiven:
        tools = one.offered.tools
        likeliest = max((candidate.probability for candidate in ranking.candidates), default=0.0)
        for place, candidate in enumerate(ranking.candidates[:_N_TRIED]):
            steps, missing = self._filled([tools[name] for name in candidate.tools], one.request)
            for source, target in candidate.links:
                if source not in steps[target].needs():
                    steps[target] = replace(steps[target], after=(*steps[target].after, source))
            share = 1.0 if place == 0 else min(1.0, candidate.probability / max(likeliest, 1e-9))
            plan = Plan(tuple(steps), round(ranking.confidence * share, 4), self.name)
            if all(isinstance(fault, MissingArgument) for fault in faults(plan, tools)):
                return given(one.id, plan, self.name, missing=missing)
        return given(one.id, Refusal("out_of_scope", "no tool on offer serves this, as far as was learnt"), self.name)

    def _filled(self, specs: Sequence[ToolSpec], request: Request) -> tuple[list[Step], list[str]]:
        if self._filler is None:
            steps = [Step(spec.name) for spec in specs]
        else:
            filled = self._filler.fill(request.text, specs, request.now, Context())
            steps = [Step(spec.name, dict(one.arguments)) for spec, one in zip(specs, filled)]
        missing = [
            f"{spec.name}.{parameter.name}"
            for spec, step in zip(specs, steps)
            for parameter in spec.parameters
            if parameter.is_required and parameter.name not in step.arguments
        ]
        return steps, list(dict.fromkeys(missing))


class MergedTeacher:
    """A student of the newest prior made from edges' statistics. Service goes on while the next one is solved in a
    thread of its own."""

    n_threads = StudentTeacher.n_threads
    gains_by_batches = True

    def __init__(
        self,
        storage: Storage,
        encoder: Encoder,
        profile: ProfileName,
        filler: Filler | None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._storage, self._encoder, self._profile, self._filler = storage, encoder, profile, filler
        self._monotonic = monotonic
        self._teacher: StudentTeacher | None = None
        self._taking_up = threading.Lock()
        self._digest = ""
        self._next: Future[StudentTeacher | None] | None = self._solving()
        self._look_at = monotonic() + _LOOK_S

    @property
    def name(self) -> str:
        """Name of the prior it plans by; answers of another are not cached."""
        return self._teacher.name if self._teacher is not None else "merged"

    def plans(self, asked: Sequence[Asked]) -> list[PlanGiven]:
        """See `Planning`. Raises: StoreError."""
        teacher = self._newest_solved()
        if teacher is None:
            refusal = Refusal("out_of_scope", "too few devices gave what they learnt: nothing was merged yet")
            return [given(one.id, refusal, self.name) for one in asked]
        return teacher.plans(asked)

    def _newest_solved(self) -> StudentTeacher | None:
        """Return the current teacher, waiting only for the first one. Raises: StoreError."""
        with self._taking_up:
            if self._next is None and self._monotonic() >= self._look_at:
                self._look_at = self._monotonic() + _LOOK_S
                self._next = self._solving()
            if self._next is not None and (self._teacher is None or self._next.done()):
                found, self._next = self._next, None
                self._teacher = found.result() or self._teacher
            return self._teacher

    def _solving(self) -> Future[StudentTeacher | None]:
        """Start solving the newest prior in a daemon thread."""
        found: Future[StudentTeacher | None] = Future()

        def solve() -> None:
            try:
                found.set_result(self._newest())
            except BaseException as error:
                found.set_exception(error)

        threading.Thread(target=solve, name="solving", daemon=True).start()
        return found

    def _newest(self) -> StudentTeacher | None:
        """Solve the newest prior; None when there is no newer one. Raises: StoreError."""
        said = self._storage.manifest(f"prior {self._profile}")
        manifest = edge_protocol.read(Manifest, said.encode()) if said is not None else None
        if manifest is None or manifest.sha256 == self._digest:
            return None
        prior = decode(self._storage.read_blob(manifest.sha256))
        student = Ranker.of_prior(self._encoder, PROFILES[self._profile], prior)
        del prior  # the sums are large
        student.rank("ready")  # computes now what the first plan would need
        self._digest = manifest.sha256
        _give_back_memory()
        return StudentTeacher(student, self._filler, f"merged prior {manifest.serial}")


class ModelTeacher:
    """Language models behind an endpoint, asked in parallel."""

    gains_by_batches = False

    def __init__(self, models: Sequence[LanguageModel], encoder: Encoder | None = None) -> None:
        """`models` are as many as may be asked at once; `encoder` chooses which tools to describe when there are
        many."""
        self.name = models[0].name
        self.n_threads = len(models)
        self._free: SimpleQueue[tuple[LanguageModel, LanguagePlanner]] = SimpleQueue()
        for model in models:
            self._free.put((model, LanguagePlanner(model, encoder)))

    def plans(self, asked: Sequence[Asked]) -> list[PlanGiven]:
        """See `Planning`."""
        return [self._plan(one) for one in asked]

    def _plan(self, one: Asked) -> PlanGiven:
        model, planner = self._free.get()
        try:
            answer = planner.plan(one.request, Context(), one.offered.tools)
            return given(one.id, answer, self.name, n_tokens=getattr(model, "n_tokens", 0))
        finally:
            self._free.put((model, planner))


class Recorded:
    """Recorded plans, from a file of the plan format."""

    n_threads = 1
    gains_by_batches = False

    def __init__(self, path: Path) -> None:
        """Read the file. Raises: RequestError: The file cannot be read."""
        self._teacher = RecordedTeacher(path)
        self.name = self._teacher.name

    def plans(self, asked: Sequence[Asked]) -> list[PlanGiven]:
        """See `Planning`."""
        found = []
        for one in asked:
            (answer,) = self._teacher.label([one.request], one.offered.tools)
            found.append(given(one.id, answer, self.name))
        return found


def _give_back_memory() -> None:
    """Return freed memory to the system. Solving takes some 100 MB more than what is kept; glibc holds on to it unless
    told."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def filler_of(arguments: str, cache: Path | None = None) -> Filler | None:
    """Return the argument filler that the settings name; None leaves arguments to the edge."""
    if arguments == "edge":
        return None
    return Filler.open(cache, n_threads=1) if arguments == "reader" else Filler(None, None)


def given(
    id: str, answer: Plan | Refusal, teacher: str, *, n_tokens: int = 0, missing: Sequence[str] = ()
) -> PlanGiven:
    """Turn a plan or refusal into the message sent to an edge; ids of its evidence mean nothing to an edge and stay
    here."""
    if isinstance(answer, Refusal):
        told = Refused(kind=answer.kind, reason=answer.reason[:2000], missing=answer.missing[:32])
        return PlanGiven(id=id, refusal=told, teacher=teacher[:200], n_tokens=n_tokens)
    bare = replace(answer, rests_on=(), considered=())
    sure = min(max(answer.confidence or 0.0, 0.0), 1.0)
    short = tuple(name[:200] for name in missing[:_MOST_MISSING])
    return PlanGiven(
        id=id, plan=plan_to_json(bare), missing=short, confidence=sure, teacher=teacher[:200], n_tokens=n_tokens
    )


def _unreadable(one: Asked) -> Refusal | None:
    if reason := why_unreadable(one.request.text):
        return Refusal("unreadable", reason)
    if not one.offered.tools:
        return Refusal("out_of_scope", "no tools were offered")
    return None


# ── One queue ─────────────────────────────────────────────────────────────────────────────────────────────

Q = TypeVar("Q")
A = TypeVar("A")


@dataclass(slots=True)
class _Waiting(Generic[Q, A]):
    question: Q
    answer: asyncio.Future[A]


@dataclass(frozen=True, slots=True)
class QueueBounds:
    """How many questions are worked on and wait, and for how long."""

    n_threads: int
    n_waiting: int
    n_batch: int
    """Most questions that are worked on together."""
    batch_s: float
    """How long a batch waits for more of them."""
    wait_s: float


class Queue(Generic[Q, A]):
    """Answers questions in the order they came, in batches where the work gains by it."""

    def __init__(
        self,
        work: Callable[[Sequence[Q]], Sequence[A]],
        bounds: QueueBounds,
        numbers: Numbers,
    ) -> None:
        self._work, self._bounds = work, bounds
        self._numbers = numbers
        self._queue: asyncio.Queue[_Waiting[Q, A]] = asyncio.Queue()
        self._threads = ThreadPoolExecutor(bounds.n_threads, thread_name_prefix="teaching")
        self._tasks: list[asyncio.Task[None]] = []

    def __len__(self) -> int:
        """Return the number of waiting questions."""
        return self._queue.qsize()

    def start(self) -> None:
        """Start serving; call it within the event loop that asks."""
        self._tasks = [asyncio.create_task(self._serve()) for _ in range(self._bounds.n_threads)]

    async def stop(self) -> None:
        """Stop serving; waiting questions are answered with "ask again later"."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        while not self._queue.empty():
            waiting = self._queue.get_nowait()
            if not waiting.answer.done():
                waiting.answer.set_exception(_stopping())
        await asyncio.to_thread(self._threads.shutdown)

    async def ask(self, question: Q) -> A:
        """Ask a question and wait for its answer. Raises: Fault: 503: Too many wait, or the answer took too long. Also
        what the work raises."""
        if self._queue.qsize() >= self._bounds.n_waiting:
            raise Fault(503, "busy", f"{self._bounds.n_waiting} questions wait already; ask again later", 1.0)
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait(_Waiting(question, answer))
        self._numbers.waiting.set(self._queue.qsize())
        try:
            async with asyncio.timeout(self._bounds.wait_s):
                return await answer
        except TimeoutError:
            raise Fault(503, "busy", f"no answer within {self._bounds.wait_s:g} s; ask again later", 5.0) from None

    async def _serve(self) -> None:
        while True:
            batch = [await self._queue.get()]
            if self._bounds.n_batch > 1 and self._bounds.batch_s and self._queue.empty():
                await asyncio.sleep(self._bounds.batch_s)
            while len(batch) < self._bounds.n_batch and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            self._numbers.waiting.set(self._queue.qsize())
            batch = [one for one in batch if not one.answer.done()]  # drops questions whose client left
            if batch:
                await self._answer(batch)

    async def _answer(self, batch: Sequence[_Waiting[Q, A]]) -> None:
        self._numbers.batch.observe(len(batch))
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._threads, self._work, [one.question for one in batch])
        except asyncio.CancelledError:
            for one in batch:
                if not one.answer.done():
                    one.answer.set_exception(_stopping())
            raise
        except Exception as error:
            for one in batch:
                if not one.answer.done():
                    one.answer.set_exception(error)
            return
        for one, answer in zip(batch, answers):
            if not one.answer.done():
                one.answer.set_result(answer)


def _stopping() -> Fault:
    return Fault(503, "busy", "the service is stopping; ask again later", 5.0)


# ── Answers kept ──────────────────────────────────────────────────────────────────────────────────────────

_MOMENT = re.compile(r"\d{4}-\d\d|\d\d:\d\d|^-?P(\d|T)")


class Answers:
    """Cache of plans by masked request and tools. A plan that names a moment is valid only within the minute it was
    asked in."""

    def __init__(self, most: int, for_s: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._most, self._for_s, self._monotonic = most, for_s, monotonic
        self._kept: OrderedDict[str, tuple[float, PlanGiven]] = OrderedDict()

    def get(self, asked: Asked, teacher: str) -> PlanGiven | None:
        """Return the same teacher's cached answer under the new question's id."""
        for key in _keys(asked):
            kept = self._kept.get(key)
            if kept is not None and self._monotonic() < kept[0] and kept[1].teacher == teacher:
                self._kept.move_to_end(key)
                return kept[1].model_copy(update={"id": asked.id, "n_tokens": 0})
        return None

    def keep(self, asked: Asked, answer: PlanGiven) -> None:
        """Cache plans, and refusals that name what no tool serves; not what the teacher could not read."""
        if not self._most or (answer.refusal is not None and answer.refusal.kind == "unreadable"):
            return
        always, minute = _keys(asked)
        key = minute if _is_of_a_moment(answer) else always
        self._kept[key] = (self._monotonic() + self._for_s, answer)
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


def _keys(asked: Asked) -> tuple[str, str]:
    """Return the keys for answers that hold always, and for those of this minute."""
    said = f"{asked.offered.sha256} {asked.request.text}".encode("utf-8", "surrogatepass")
    always = hashlib.sha256(said)
    minute = always.copy()
    minute.update(f" {asked.request.now.replace(second=0, microsecond=0).isoformat()}".encode())
    return always.hexdigest(), minute.hexdigest()


def _is_of_a_moment(answer: PlanGiven) -> bool:
    return answer.plan is not None and any(
        _names_a_moment(argument.get("value"))
        for node in answer.plan.get("task_nodes", ())
        for argument in node.get("arguments", ())
    )


def _names_a_moment(value: object) -> bool:
    if isinstance(value, str):
        return bool(_MOMENT.search(value))
    if isinstance(value, Mapping):
        return any(map(_names_a_moment, value.values()))
    return isinstance(value, list) and any(map(_names_a_moment, value))


def request_of(id: str, text: str, now: dt.datetime) -> Request:
    return Request(text, now, id)


def unreachable(error: PlannerError, log_it: Callable[[str, BaseException], None]) -> Fault:
    """Return the fault an edge is told when the teacher fails, without the cause, which may name the service's own
    hosts."""
    log_it("teacher", error)
    return Fault(503, "busy", "the service's teacher cannot answer now; ask again later", 30.0)
