"""Runs the steps of a plan that was allowed, and reads ahead while it is not known yet whether it is."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Literal, Protocol

from hearth.errors import (
    Ambiguous,
    BadResult,
    CancelledError,
    DeniedError,
    HearthError,
    NotFound,
    ToolCrashed,
    ToolTimeout,
    TransientToolError,
)
from hearth.execution.results import bind, unmet
from hearth.formats.plans import texts_in
from hearth.guard.decision import Occasion
from hearth.guard.egress.speculative_reads import Foreseen, ShutEgress
from hearth.guard.labels import Value, refs_in, run_order
from hearth.guard.monitor import Monitor
from hearth.language.tokens import called, stems
from hearth.protocols import CallContext, FileStat, Workspace
from hearth.storage.trace import CallRecord, StartedStep, Trace, UnfinishedEpisode
from hearth.storage.workspace import RollbackReport
from hearth.types import PUBLIC, Plain, Plan, Ruling, Step, StepResult, StepStatus, ToolSpec

# ── Executor ──────────────────────────────────────────────────────────────────────────────────────────────
# Run a plan: each step is recorded on disk before it starts and after it ends, and none is silently done twice.
#
# Steps that only read run in parallel; steps that change or send something run one at a time, in plan order, so that
# two of them never race for one file. Each has its own time limit; errors the tool marks transient are retried; a
# step that fails leaves the owner's files as before, because the executor itself rolls its changes back through the
# journal. After a crash `resume` rolls back half-done changes and runs them again under the same key; what was being
# sent and may have gone out is reported as `unknown`, never repeated.
#
# Covered: tools that raise, hang, return nonsense, or exit; Ctrl-C; a process killed anywhere. Not covered: changes a
# tool makes outside the workspace (a remote calendar) rely on its idempotency key; a hung tool's thread cannot be
# ended: it is cut off from the workspace and left behind.

# ── A workspace that can be cut off ────────────────────────────────────────────────────────────────────
# Give one call a workspace that can be cut off: after that, the call changes no file any more.
# A tool that hangs cannot be ended, only left behind. Its thread may wake up after its changes were rolled back, or
# after the same step was done in another way; what it then tries to write is refused. Covered: `write` and `delete`,
# also when one is going on while the leash is cut. Not covered: what the tool does outside its workspace.


class Leash:
    """A `protocols.Workspace` that works until it is cut."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._is_cut = False

    def cut(self, within_s: float) -> bool:
        """Let no write begin any more; return False when one is still going on after `within_s`."""
        is_quiet = self._lock.acquire(timeout=within_s)
        self._is_cut = True
        if is_quiet:
            self._lock.release()
        return is_quiet

    def _check(self) -> None:
        if self._is_cut:
            raise CancelledError("this call was stopped; nothing more is written for it")

    def write(self, path: str, data: bytes) -> None:
        with self._lock:
            self._check()
            self._workspace.write(path, data)

    def delete(self, path: str) -> None:
        with self._lock:
            self._check()
            self._workspace.delete(path)

    def read(self, path: str) -> bytes:
        return self._workspace.read(path)

    def exists(self, path: str) -> bool:
        return self._workspace.exists(path)

    def list(self, folder: str = "", pattern: str = "*") -> tuple[str, ...]:
        return self._workspace.list(folder, pattern)

    def modified(self, path: str) -> dt.datetime:
        return self._workspace.modified(path)

    def stat(self, path: str) -> FileStat:
        return self._workspace.stat(path)

    def real_path(self, path: str) -> str:
        return self._workspace.real_path(path)


# ── Running a plan ─────────────────────────────────────────────────────────────────────────────────────


MAX_PARALLEL = 4
"""Most steps that run in parallel."""
GRACE_S = 1.0
"""Time a changing step that is stopped may take to notice."""
MAX_RESUMES = 2
"""Most times a cut-off step is run again: one that always ends the process must not end every start."""
MAX_SLEEP_S = 0.5
"""Longest sleep at once: a Ctrl-C that comes in the very moment before it is seen at the next waking alone."""
RETRY_DELAY_S = 0.2
"""Wait before the second attempt; doubled before each further one."""


class Journal(Protocol):
    """Rolls back the changes of a call, and knows whose have been changed since; `storage.workspace.Folder` is one."""

    def rollback(self, key: str) -> RollbackReport: ...

    def as_left(self, keys: Collection[str]) -> frozenset[str]: ...


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long running a plan waits for a step."""

    grace_s: float = GRACE_S
    """Time a changing step that is stopped may take to notice."""
    retry_delay_s: float = RETRY_DELAY_S
    """Wait before the second attempt; doubled before each further one."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts that running a plan needs."""

    monitor: Monitor
    trace: Trace
    make_context: Callable[[str, dt.datetime], CallContext]
    journal: Journal
    pauses: Pauses
    idle: list[_Worker] = field(default_factory=list)


class Executor:
    """Runs plans that the monitor has allowed, one plan at a time."""

    def __init__(
        self,
        monitor: Monitor,
        trace: Trace,
        make_context: Callable[[str, dt.datetime], CallContext],
        journal: Journal,
        pauses: Pauses = Pauses(),
    ) -> None:
        """Set up the executor.

        Args:
            make_context: Makes a call's context from idempotency key and time; with a new `cancelled` each time.
        """
        self._parts = _Parts(monitor, trace, make_context, journal, pauses)
        self._current: _Run | None = None

    def run(
        self,
        episode_id: str,
        plan: Plan,
        tools: Mapping[str, ToolSpec],
        now: dt.datetime,
        done: Sequence[StepResult] = (),
    ) -> tuple[StepResult, ...]:
        """Run every step of `plan` that has no result yet.

        Args:
            episode_id: An episode begun in the trace; with the step's number it makes the idempotency key.
            now: `CallContext.now` of every step: when the request was made.
            done: Results there are already (of an earlier round, or from before a crash); they stand, whatever they
                say, and steps that need a result which is not "done" are skipped.
        Returns:
            One result per step, in plan order; failures are results, not exceptions.
        Raises:
            KeyboardInterrupt, CancelledError: The owner stopped it. Every step has its record; steps that were running
                were given a moment to end, and were rolled back where that was possible.
            StoreError: A record could not be written; nothing was started without one.
        """
        self._current = run = _Run(self._parts, episode_id, plan, tools, now, done)
        try:
            return run.complete()
        except (KeyboardInterrupt, CancelledError):
            run.stop()
            raise
        except BaseException:
            run.cut_off()
            raise
        finally:
            self._current = None

    def resume(self, left: UnfinishedEpisode, occasion: Occasion | None = None) -> tuple[StepResult, ...]:
        """Carry on an episode that a crash cut off.

        A step that was cut off is run again when it only reads, or when it changes something and its half-done changes
        could be rolled back; it becomes `unknown` when something else has changed the same files since, or when it may
        have sent something. A step that was cut off each time in `MAX_RESUMES` attempts to carry on is rolled back and
        not run any more. `StepResult.n_attempts` counts the attempt before the crash. What the owner agreed to is done
        without a question, if the things are as they were; the rest is asked about as it would be now.

        Args:
            occasion: The request, for the guard; without one nothing is known of it but its episode.
        Returns:
            One result per step; the existing ones when nothing may be run (no plan, or it was not allowed).
        """
        if left.plan is None or left.ruling is None or left.ruling.verdict != "allow":
            return left.results
        is_last = left.n_resumed >= MAX_RESUMES
        over = [result for started in left.started if (result := self._cut_off(started, is_last)) is not None]
        again = {started.step for started in left.started} - {result.step for result in over}
        if over:
            self._parts.trace.steps(left.id, finished=over, started=())
        if occasion is None:
            call = self._parts.make_context("", left.request.now)
            occasion = Occasion(left.request.now, call.workspace, left.id, call=call)
        ruling = self._parts.monitor.readmit(left.plan, left.ruling, occasion, self._past(left.id))
        if ruling.verdict != "allow":
            known = {result.step for result in (*left.results, *over)}
            rest = [index for index in range(len(left.plan.steps)) if index not in known]
            denied = [StepResult(k, "denied", error=ruling.reason, error_kind="DeniedError") for k in rest]
            self._parts.trace.steps(left.id, finished=denied, started=())
            over += denied
        tools = self._parts.monitor.specs
        results = self.run(left.id, left.plan, tools, left.request.now, (*left.results, *over))
        return tuple(replace(r, n_attempts=r.n_attempts + 1) if r.step in again else r for r in results)

    def _past(self, id: str) -> list[CallRecord]:
        """Return the calls that were made of an episode; of those whose changes others changed since, not what they
        acted on: it is not as this request left it."""
        calls = [call for call in self._parts.trace.calls(id) if call.started is not None]
        as_left = self._parts.journal.as_left([call.started.key for call in calls if call.started is not None])
        return [
            call
            if call.started is None or call.started.key in as_left
            else replace(call, started=replace(call.started, things=()))
            for call in calls
        ]

    def _cut_off(self, started: StartedStep, is_last: bool) -> StepResult | None:
        """Return the result of a step that must not be run again; None when it may, with its changes rolled back."""
        again = f"it was cut off {MAX_RESUMES + 1} times and is not tried any more; {started.tool} may be at fault"
        if started.effect == "none":
            failed = StepResult(started.step, "failed", error=again, error_kind="ToolCrashed", key=started.key)
            return failed if is_last else None
        spec = self._parts.monitor.specs.get(started.tool)
        if spec is None or not spec.is_idempotent:
            why = "cannot be repeated safely" if spec else "is not installed any more"
            error = f"it was cut off and may or may not have been done; {started.tool} {why}, so please check"
            return StepResult(started.step, "unknown", error=error, error_kind="ToolTimeout", key=started.key)
        conflicts = self._parts.journal.rollback(started.key).conflicts
        if conflicts:
            error = _in_the_way(started.tool, conflicts)
            return StepResult(started.step, "unknown", error=error, error_kind="Conflict", key=started.key)
        if is_last:
            error = f"{again}; its changes to your files were taken back, what it did elsewhere is not known"
            return StepResult(started.step, "unknown", error=error, error_kind="ToolCrashed", key=started.key)
        return None

    def cancel(self) -> None:
        """Stop the running plan from another thread: `run` raises CancelledError in its own."""
        run = self._current
        if run is not None:
            run.signals.put("cancel")

    def close(self) -> None:
        """Let the idle threads end. They are daemons: nothing waits for them at exit either way."""
        while self._parts.idle:
            self._parts.idle.pop().jobs.put(None)


# ── Steps that run ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True, eq=False)
class _Job:
    """One running step, with its outcome once `is_over`."""

    index: int
    spec: ToolSpec
    arguments: Mapping[str, Value]
    context: CallContext
    started: StartedStep
    leash: Leash | None
    deadline: float = 0.0
    worker: _Worker | None = None
    value: Value | None = None
    error: BaseException | None = None
    n_attempts: int = 0
    duration_ms: float = 0.0
    is_over: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """A step that waits for the owner's approval of its real values."""

    index: int
    arguments: Mapping[str, Value]
    context: CallContext
    ruling: Ruling


@dataclass(frozen=True, slots=True, eq=False)
class _Worker:
    """A daemon thread that runs one job at a time, so that a hung tool does not keep the process from ending."""

    jobs: SimpleQueue[tuple[_Run, _Job] | None] = field(default_factory=SimpleQueue)

    def start(self) -> _Worker:
        threading.Thread(target=self._work, name="hearth-step", daemon=True).start()
        return self

    def _work(self) -> None:
        while (item := self.jobs.get()) is not None:
            run, job = item
            following: _Job | None = job
            while following is not None:
                run.attempt(following)
                following = run.ended(following)
            del item, run, job, following  # while it waits it would hold on to all that the run held


@dataclass(eq=False)
class _Run:
    """One running plan.

    The worker that ends a step records it, starts what can start now, and goes on with the first of those itself, so
    that a chain of steps stays in one thread. The thread that called `Executor.run` sleeps meanwhile and watches the
    time limits. All state is changed under `_lock` only.
    """

    parts: _Parts
    episode_id: str
    plan: Plan
    tools: Mapping[str, ToolSpec]
    now: dt.datetime
    done: InitVar[Sequence[StepResult]]
    """Results there are already."""
    signals: SimpleQueue[Literal["look", "cancel"]] = field(default_factory=SimpleQueue, init=False)
    """Signals that wake the thread that called `run`: to look at what changed, or to stop."""

    def __post_init__(self, done: Sequence[StepResult]) -> None:
        self._results: dict[int, StepResult] = {result.step: result for result in done}
        self._unrecorded: list[StepResult] = []
        self._needs = [step.needs() for step in self.plan.steps]
        self._waiting = [index for index in run_order(self.plan, self._needs) if index not in self._results]
        self._running: dict[int, _Job] = {}
        self._questions: list[_Question] = []
        self._lock = threading.Lock()
        self._is_stopping = False
        self._failure: BaseException | None = None
        self._wakes_at = 0.0

    def complete(self) -> tuple[StepResult, ...]:
        """Start the steps that can start, and watch until nothing is left."""
        with self._lock:
            for job in self._advance():
                self._submit(job)
        while True:
            with self._lock:
                if self._failure is not None:
                    raise self._failure
                if not self._running and not self._questions:
                    return tuple(self._results[index] for index in sorted(self._results))
                self._wakes_at = min((job.deadline for job in self._running.values()), default=0.0)
                asked = self._questions.pop(0) if self._questions else None
            if asked is not None:
                self._put_question(asked)
                continue
            if self._is_cancelled_before(self._wakes_at):
                raise CancelledError("the run was stopped")
            self._give_up_late()

    def _put_question(self, asked: _Question) -> None:
        """Ask the owner, in the thread that called `run` and without the lock: running steps go on meanwhile."""
        ruling = self.parts.monitor.confirm(self.plan, asked.index, asked.arguments, asked.context, asked.ruling)
        with self._lock:
            if ruling.verdict == "allow":
                self._waiting.insert(0, asked.index)
            else:
                self._end(_denied(asked.index, ruling.reason))
            for job in self._advance():
                self._submit(job)

    def _advance(self) -> list[_Job]:
        """Return the jobs to start now, recorded with the steps that have ended; the caller hands them to workers."""
        jobs = self._next_jobs()
        if jobs or self._unrecorded:
            # One transaction: the end of a step and the start of the next are on disk before the next begins.
            started = [job.started for job in jobs]
            self.parts.trace.steps(self.episode_id, finished=self._unrecorded, started=started)
            self._unrecorded = []
        for job in jobs:
            job.deadline = time.monotonic() + job.spec.timeout_s
        return jobs

    # ── Starting ──────────────────────────────────────────────────────────────────────────────────────────

    def _next_jobs(self) -> list[_Job]:
        """Return steps to start now; those that cannot start at all get their result."""
        jobs: list[_Job] = []
        waiting, self._waiting = self._waiting, []
        is_changing = any(job.spec.effect != "none" for job in self._running.values())
        for index in waiting:
            if not self._needs[index] <= self._results.keys():
                self._waiting.append(index)
                continue
            spec = self.tools[self.plan.steps[index].tool]
            if blocking := [need for need in self._needs[index] if self._results[need].status != "done"]:
                tool = self.plan.steps[min(blocking)].tool
                self._end(
                    StepResult(index, "skipped", error=f"{tool} did not end well, and this needs it", n_attempts=0)
                )
            elif len(self._running) >= MAX_PARALLEL or (is_changing and spec.effect != "none"):
                self._waiting.append(index)
            else:
                try:
                    arguments = bind(self.plan, index, self._results, self.tools)
                except HearthError as error:
                    kind = type(error).__name__
                    self._end(StepResult(index, "failed", error=str(error), error_kind=kind, n_attempts=0))
                else:
                    job = self._admitted(index, spec, arguments)
                    if job is not None:
                        self._running[index] = job
                        jobs.append(job)
                        is_changing = is_changing or spec.effect != "none"
        return jobs

    def _admitted(self, index: int, spec: ToolSpec, arguments: Mapping[str, Value]) -> _Job | None:
        """Return the job of a step the monitor allows with these values; else record its question or its result."""
        context = self.parts.make_context(f"{self.episode_id}-{index}", self.now)
        context = context.serving(self.plan.steps[index].text)
        try:
            ruling = self.parts.monitor.admit(self.plan, index, arguments, context)
        except DeniedError as error:
            self._end(_denied(index, str(error)))
            return None
        except HearthError as error:  # what the step is about is not there, or is several things
            kind = type(error).__name__
            self._end(StepResult(index, "failed", error=str(error), error_kind=kind, n_attempts=0))
            return None
        if ruling.verdict == "ask":
            self._questions.append(_Question(index, arguments, context, ruling))
            return None
        if ruling.verdict == "deny":
            self._end(_denied(index, ruling.reason))
            return None
        return self._job(index, spec, arguments, context)

    def _job(self, index: int, spec: ToolSpec, arguments: Mapping[str, Value], context: CallContext) -> _Job:
        key = context.key
        leash = None
        if spec.effect != "none":
            leash = Leash(context.workspace)
            context = replace(context, workspace=leash)
        plain = {name: value.data for name, value in arguments.items()}
        labels = {name: value.label for name, value in arguments.items()}
        rulings = self.parts.monitor.rulings(self.plan)
        ruling = rulings[index] if index < len(rulings) else None
        things = self.parts.monitor.acts_on(self.plan, index) if spec.effect != "none" else ()
        tells = self.parts.monitor.tells(self.plan, index) if spec.effect != "none" else ()
        started = StartedStep(index, spec.name, key, plain, self.now, spec.effect, ruling, labels, things, tells)
        return _Job(index, spec, arguments, context, started, leash)

    def _submit(self, job: _Job) -> None:
        job.worker = self.parts.idle.pop() if self.parts.idle else _Worker().start()
        job.worker.jobs.put((self, job))

    # ── In a worker's thread ──────────────────────────────────────────────────────────────────────────────

    def attempt(self, job: _Job) -> None:
        """Call the tool, again after a transient failure, and leave the outcome in `job`."""
        began = time.perf_counter()
        delay_s = self.parts.pauses.retry_delay_s
        is_open = True
        while is_open:
            job.n_attempts += 1
            try:
                job.value = self.parts.monitor.call(self.plan, job.index, job.arguments, job.context)
                job.error = None
                is_open = False
            except TransientToolError as error:
                job.error = error
                is_open = job.n_attempts <= job.spec.n_retries and not job.context.cancelled.wait(delay_s)
                if is_open and job.leash is not None:
                    is_open = not self.parts.journal.rollback(job.started.key).conflicts
                delay_s *= 2
            except BaseException as error:  # whatever it is, the run must learn that this step is over
                job.error = error
                is_open = False
        job.duration_ms = (time.perf_counter() - began) * 1000

    def ended(self, job: _Job) -> _Job | None:
        """Record `job` and start what can start now; return the job its worker goes on with, if any."""
        with self._lock:
            job.is_over = True
            if self._running.get(job.index) is not job:
                return None  # given up on before; its worker has been told to end
            if self._is_stopping or self._failure is not None or job.context.cancelled.is_set():
                self.signals.put("look")
                return None
            following = None
            try:
                self._settle(job, CancelledError("it was stopped"))
                for next_job in self._advance():
                    if following is None:
                        following, next_job.worker = next_job, job.worker
                    else:
                        self._submit(next_job)
            except BaseException as error:  # a record that cannot be written, say: raised by `complete`
                self._failure = error
                following = None
            if following is None and job.worker is not None:
                self.parts.idle.append(job.worker)
            deadlines = [running.deadline for running in self._running.values()]
            if not deadlines or self._questions or self._failure is not None or min(deadlines) < self._wakes_at:
                self.signals.put("look")
            return following

    # ── Ending ────────────────────────────────────────────────────────────────────────────────────────────

    def _give_up_late(self) -> None:
        """Give results to jobs that have run out of time."""
        with self._lock:
            late = [j for j in self._running.values() if not j.is_over and time.monotonic() >= j.deadline]
            for job in late:
                job.context.cancelled.set()  # from here on its worker leaves it to us
        if not late:
            return
        self._await([job for job in late if job.leash is not None])
        with self._lock:
            for job in late:
                self._settle(job, ToolTimeout(f"{job.spec.name} did not answer within {job.spec.timeout_s:g} s"))
                self._release(job)
            for following in self._advance():
                self._submit(following)

    def _is_cancelled_before(self, until: float) -> bool:
        """Sleep until there is something to look at or `until` has come; return True when the run is to stop."""
        try:
            signal = self.signals.get(timeout=min(max(0.0, until - time.monotonic()), MAX_SLEEP_S))
        except Empty:
            return False
        return signal == "cancel"

    def _await(self, jobs: Sequence[_Job]) -> None:
        """Give jobs that were told to stop a moment to end."""
        until = time.monotonic() + self.parts.pauses.grace_s
        while any(not job.is_over for job in jobs) and time.monotonic() < until:
            self._is_cancelled_before(until)

    def _release(self, job: _Job) -> None:
        """Keep the worker of an ended job for the next one; one that hangs is told to end when it can."""
        assert job.worker is not None
        if job.is_over:
            self.parts.idle.append(job.worker)
        else:
            job.worker.jobs.put(None)

    def _settle(self, job: _Job, halted: HearthError) -> None:
        """Give `job` its result; `halted` is why it was told to stop, if it was."""
        self._end(self._result(job, job.is_over, halted))
        del self._running[job.index]

    def _result(self, job: _Job, is_over: bool, halted: HearthError) -> StepResult:
        status: StepStatus = "done"
        value, error, kind = job.value, "", ""
        if not is_over or job.error is not None:
            fault = halted if not is_over or job.context.cancelled.is_set() else job.error
            status, error = self._fault(job, is_over, fault)
            value, kind = None, type(fault).__name__
        return StepResult(
            step=job.index,
            status=status,
            value=value.data if value is not None else None,
            label=value.label if value is not None else PUBLIC,
            fields=value.fields if value is not None else {},
            whence=value.whence if value is not None else (),
            error=error,
            error_kind=kind,
            duration_ms=job.duration_ms,
            n_attempts=job.n_attempts,
            key=job.started.key,
            notices=(*job.context.notices, *(self._unmet(job) if status == "done" else ())),
        )

    def _unmet(self, job: _Job) -> tuple[str, ...]:
        """Return the parts of the plan that the result does not fulfil, for the owner to see."""
        if job.value is None:
            return ()
        return unmet(job.spec, job.arguments, job.value.data, {k: self._results[k] for k in self._needs[job.index]})

    def _fault(self, job: _Job, is_over: bool, fault: BaseException | None) -> tuple[StepStatus, str]:
        """Return status and message of a step that did not end well, after rolling its changes back."""
        text = str(fault)
        if isinstance(fault, DeniedError):
            return "denied", text
        if job.leash is None:
            return "failed", text
        # A tool that raises ToolTimeout itself says that it does not know either.
        is_declared = is_over and not isinstance(job.error, ToolCrashed | BadResult | CancelledError | ToolTimeout)
        if job.spec.effect == "send" and not is_declared:
            return "unknown", f"{text}; it may or may not have been done, so please check"
        if not job.leash.cut(self.parts.pauses.grace_s):
            return "unknown", f"{text}; it is still writing, so please check what it changed"
        conflicts = self.parts.journal.rollback(job.started.key).conflicts
        if conflicts:
            return "unknown", f"{text}; {_in_the_way(job.spec.name, conflicts)}"
        if not is_over:
            return "unknown", f"{text}; its changes to your files were taken back, what it did elsewhere is not known"
        return ("unknown" if isinstance(job.error, ToolTimeout) else "failed"), text

    def _end(self, result: StepResult) -> None:
        self._results[result.step] = result
        self._unrecorded.append(result)

    def stop(self) -> None:
        """Start nothing more, give running steps a moment to end, and record every step."""
        with self._lock:
            self._is_stopping = True
            jobs = [job for job in self._running.values() if job.worker is not None]
            for job in jobs:
                job.context.cancelled.set()
        self._await(jobs)
        with self._lock:
            for job in jobs:
                self._settle(job, CancelledError("it was stopped"))
                self._release(job)
            for index in range(len(self.plan.steps)):
                if index not in self._results:
                    error = "it was stopped before it began"
                    self._end(StepResult(index, "skipped", error=error, error_kind="CancelledError", n_attempts=0))
            self.parts.trace.steps(self.episode_id, finished=self._unrecorded, started=())

    def cut_off(self) -> None:
        """Start nothing more and keep running steps from the workspace; `resume` finds out what became of them."""
        with self._lock:
            self._is_stopping = True
            for job in self._running.values():
                job.context.cancelled.set()
                if job.leash is not None:
                    job.leash.cut(0)
                if job.worker is not None:
                    job.worker.jobs.put(None)


def _denied(index: int, reason: str) -> StepResult:
    return StepResult(index, "denied", error=reason, error_kind="DeniedError", n_attempts=0)


def _in_the_way(tool: str, conflicts: Sequence[str]) -> str:
    files = ", ".join(repr(path) for path in conflicts)
    return f"{tool} was cut off, and {files} changed since, so its changes could not be taken back; please check"


# ── Speculation ───────────────────────────────────────────────────────────────────────────────────────────
# Reads before a plan is settled: while a teacher is asked, and to tell which of several readings is about something.
#
# When the teacher's plan arrives, each of its calls that was made meanwhile has its result; the others are dropped.
# "Kill the dump run" may be an event, a reminder or a device: each reading's look-ups run, and the names it gives to
# tools are resolved; what is there decides, and the question names it. The planner sees none of the owner's records.
# The guard says which steps may be read ahead (`Monitor.foresee`): those that change and send nothing and need
# nobody's approval, with network access shut.
#
# Source:
#     Speculative execution of a draft while a better one is awaited, as in speculative decoding: Leviathan, Kalman &
#     Matias 2023, https://arxiv.org/abs/2211.17192. Here a wrong draft costs a read.
#
# Covered: tools that raise or hang while read ahead (the settled plan calls them again, or never), several requests
# in one process; names that tools resolve (devices, files, lists). Not covered: what a hung tool's thread holds: it
# is left behind, as in the executor; plans that name nothing; what only the network tells.

# ── While a teacher is asked ──────────────────────────────────────────────────────────────────────────


@dataclass(slots=True, eq=False)
class ReadAhead:
    """The reading steps of one plan, run in a thread of their own. Make it with `begin`, end it with `settle`."""

    monitor: Monitor
    plan: Plan
    tools: Mapping[str, ToolSpec]
    steps: frozenset[int]
    """The steps that may be read ahead."""
    make_context: Callable[[str, dt.datetime], CallContext]
    now: dt.datetime
    _foreseen: Foreseen = field(default_factory=Foreseen, init=False)
    _results: dict[int, StepResult] = field(default_factory=dict, init=False)
    _cancelled: threading.Event = field(default_factory=threading.Event, init=False)
    _current: int | None = field(default=None, init=False)
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._read, name="hearth-ahead", daemon=True)

    @classmethod
    def begin(
        cls,
        monitor: Monitor,
        plan: Plan,
        tools: Mapping[str, ToolSpec],
        occasion: Occasion,
        make_context: Callable[[str, dt.datetime], CallContext],
    ) -> ReadAhead | None:
        """Start reading ahead for `plan`; None where nothing may be read.

        Args:
            make_context: Makes a call's context from key and time; its network access is shut here.
        """
        steps = monitor.foresee(plan, occasion)
        if not steps:
            return None
        ahead = cls(monitor, plan, tools, steps, make_context, occasion.now)
        ahead._thread.start()
        return ahead

    def settle(self, plan: Plan | None) -> Foreseen:
        """End the reading; a running call is waited for where `plan`, the settled one, calls the same tool."""
        wanted = {step.tool for step in plan.steps} if plan is not None else set()
        self._cancelled.set()
        current = self._current
        if current is not None and (tool := self.plan.steps[current].tool) in wanted:
            self._thread.join(self.tools[tool].timeout_s)
        return self._foreseen

    def finish(self, within_s: float) -> Mapping[int, StepResult]:
        """Wait until all is read, and return the results by step; of what takes longer, what is there by then."""
        self._thread.join(within_s)
        return dict(self._results)

    def _read(self) -> None:
        results = self._results
        for index in run_order(self.plan):
            if self._cancelled.is_set():
                return
            if index not in self.steps or not self.plan.steps[index].needs() <= results.keys():
                continue
            self._current = index
            try:
                results[index] = self._result(index, results)
            except HearthError:
                pass  # the settled plan calls it again, and says what is wrong
            finally:
                self._current = None

    def _result(self, index: int, results: Mapping[int, StepResult]) -> StepResult:
        arguments = bind(self.plan, index, results, self.tools)
        context = self.make_context("", self.now)
        context = replace(context, words=self.plan.steps[index].text, egress=ShutEgress(), cancelled=threading.Event())
        value = self.monitor.call(self.plan, index, arguments, context)
        notices = tuple(context.notices)
        self._foreseen.keep(self.plan.steps[index].tool, arguments, value, notices)
        found = StepResult(index, "done", value=value.data, label=value.label, fields=value.fields, notices=notices)
        return replace(found, whence=value.whence)


# ── Looking up what is asked about ─────────────────────────────────────────────────────────────────────
# Looks up what a plan would change before the owner is asked, so that the question names the thing itself.
# "Cancel lunch with Jonas" is a search and a deletion. The search only reads and runs unasked anyway: it runs first,
# and what it finds stands in the question, also what an allowed step is given: a draft that is written unasked and
# then sent. Where it finds nothing, or several things, there is nothing to agree to: the plan ends there, and says
# so. So it does before anything is taken back for it, unless taking that back may bring what it looks for.
# Covered: reading steps that the guard lets run without a question, on this device. Not covered: what only the
# network tells; it is asked about in words, as planned, and again with the thing once that is known.


WITHIN_S = 10.0
"""How long the reading may take; what is not read by then is asked about in words."""


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What was read before the question."""

    things: Mapping[int, Mapping[str, Value]] = field(default_factory=dict)
    """By step, the arguments that refer to what was read: the things they turned out to be."""
    stuck: tuple[StepResult, ...] = ()
    """Where a step has nothing to act on: the results so far, its failure, and the steps after it as skipped."""


def look_up(
    monitor: Monitor,
    plan: Plan,
    tools: Mapping[str, ToolSpec],
    occasion: Occasion,
    make_context: Callable[[str, dt.datetime], CallContext],
    done: Sequence[StepResult] = (),
) -> LookedUp:
    """Read what the plan's changing steps refer to, where one of them is asked about or something is taken back first.
    What was read is kept: the plan itself does not read it again.

    Args:
        make_context: Makes a call's context from key and time.
        done: Results of steps that ran already.
    """
    known = {result.step: result for result in done if result.status == "done"}
    asking = {k for k, ruling in enumerate(monitor.judge(plan, occasion).steps) if ruling.verdict == "ask"}
    given = {k for k, step in enumerate(plan.steps) if step.refs() and (k in asking or _changes(step, tools))}
    is_asked = bool(asking or occasion.takes_back)
    ahead = ReadAhead.begin(monitor, plan, tools, occasion, make_context) if is_asked and given else None
    if ahead is None:
        return LookedUp()
    results = {**ahead.finish(WITHIN_S), **known}
    monitor.foreseen = ahead.settle(plan)
    things: dict[int, Mapping[str, Value]] = {}
    for index in run_order(plan):
        step = plan.steps[index]
        if index not in given or not step.needs() <= results.keys():
            continue
        context = make_context("", occasion.now)
        try:
            values = monitor.things_of(step, bind(plan, index, results, tools), context)
        except (NotFound, Ambiguous) as error:
            if occasion.restores if occasion.takes_back else index not in asking:
                continue  # it may be there once that is taken back; others are asked about
            return LookedUp(stuck=_stuck(plan, index, results, error))
        except HearthError:
            continue  # the call itself will say so; asked about in words
        things[index] = {name: value for name, value in values.items() if refs_in(step.arguments.get(name))}
    return LookedUp(things)


def _changes(step: Step, tools: Mapping[str, ToolSpec]) -> bool:
    return step.tool in tools and tools[step.tool].effect != "none"


def _stuck(plan: Plan, index: int, results: Mapping[int, StepResult], error: HearthError) -> tuple[StepResult, ...]:
    fault = StepResult(index, "failed", error=str(error), error_kind=type(error).__name__, n_attempts=0)
    rest = set(range(len(plan.steps))) - results.keys() - {index}
    skipped = [StepResult(k, "skipped", error=f"step {index + 1} was not done", n_attempts=0) for k in rest]
    return tuple(sorted([*results.values(), fault, *skipped], key=lambda result: result.step))


# ── Which reading is about something real ─────────────────────────────────────────────────────────────


NOTHING = 0.0
"""Something that the plan names is not there."""
LEAST_GROUNDED = 0.6
"""What another reading has to be more than: a record with one word of two is not what was named."""
WHOLE = 0.9
"""What a reading that takes something away has to reach: all but a small word of what is named."""
NOT_NAMED = -1.0
"""The plan names nothing that could be looked for."""
_WORDS = frozenset({"query", "name", "sender"})
"""Parameters of look-ups that hold what a thing is called."""
_SMALL = stems(
    "the a an my our your his her their that this these those of for to in on at by from with and or it he she they "
    "them me you i we one ones thing things all any anything everything something last next now then again please today"
)


def groundedness(
    monitor: Monitor,
    plan: Plan,
    tools: Mapping[str, ToolSpec],
    occasion: Occasion,
    make_context: Callable[[str, dt.datetime], CallContext],
) -> float:
    """Return how far what a plan names is there, in [0, 1]; `NOT_NAMED` where it names nothing.

    Args:
        make_context: Makes a call's context from key and time.
    """
    ahead = ReadAhead.begin(monitor, plan, tools, occasion, make_context)
    results: Mapping[int, StepResult] = {}
    if ahead is not None:
        results = ahead.finish(WITHIN_S)
        ahead.settle(None)
    context = make_context("", occasion.now)
    shares: list[float] = []
    for index in run_order(plan):
        step = plan.steps[index]
        if (said := said_of(step)) and index in results:
            shares.append(_share_named(said, results[index].value))
        elif said and tools[step.tool].effect == "none":
            return NOTHING  # the look-up failed
        elif _is_anything(plan, index, results):
            return NOTHING
        if not step.needs() <= results.keys():
            continue
        try:
            values = monitor.things_of(step, bind(plan, index, results, tools), context)
        except Ambiguous:
            continue
        except HearthError:
            return NOTHING
        shares += [1.0 for name, value in values.items() if value.things and isinstance(step.arguments.get(name), str)]
    return min(shares, default=NOT_NAMED)


def _is_anything(plan: Plan, index: int, results: Mapping[int, StepResult]) -> bool:
    """Return whether a look-up without a word found several things, of which another step wants the one."""
    found = results[index].value if index in results else None
    refs = [ref for step in plan.steps for ref in step.refs() if ref.step == index]
    is_one_wanted = any(ref.path and not ref.path[0].isdigit() for ref in refs)
    return not plan.steps[index].arguments and is_one_wanted and isinstance(found, list) and len(found) > 1


def said_of(step: Step) -> str:
    return " ".join(v for name, v in step.arguments.items() if name in _WORDS and isinstance(v, str))


def _share_named(said: str, found: Plain) -> float:
    """Return the share of the words that the record which has most of them has; 0 where nothing was found."""
    asked = stems(said) - _SMALL
    records = found if isinstance(found, list) else [found] if found is not None else []
    texts = [stems(" ".join(texts_in(record))) for record in records[:20]]
    shares = (sum(not text.isdisjoint(called(word)) for word in asked) / max(1, len(asked)) for text in texts)
    best = max(shares, default=NOTHING)
    return max(best, 0.1) if records else NOTHING
