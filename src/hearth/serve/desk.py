"""Owns the agent in one thread, so that a page, programs and a terminal share one conversation.

A home has one agent and an agent one caller at a time: what is asked waits in line. A question is put to whoever looks;
the first answer counts, and a request from one place may be approved at another. Nobody answering is no.

Covered: requests in order, questions with one answer, undoing, correcting, a question left standing, ending in the
middle. Not covered: who may ask (`serve.door`); what is allowed (`guard`).
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from hearth.agent import Agent, UndoReport
from hearth.config import Settings
from hearth.errors import RequestError
from hearth.guard.decision import Rights
from hearth.learning import corrections, skills
from hearth.learning.demonstration_store import Entry, entry_of
from hearth.learning.skills import Skill
from hearth.learning.versions.learned_state import Offer, State
from hearth.protocols import Encoder, Reply
from hearth.storage.fault_log import note_fault
from hearth.types import Episode, Plan, Request, Ruling

ANSWER_WITHIN_S = 1800.0
"""How long a question stands; then nobody answered, and nothing is done."""
WITHIN_OTHERS_S = 180.0
"""How long a program's question stands where others wait in line: it may have hung up, and they wait as long."""
MAX_WAITING = 20
"""Most requests that wait in line; more are turned away, so that no program can fill the queue."""
MAX_OF_A_PROGRAM = 3
"""Most requests of one program in line, so that the owner is always heard."""
MAX_REQUEST_CHARACTERS = 20_000

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a browser, the command line, or a program with a token."""

    name: str
    may_change: bool = True
    """False is never asked about a change."""
    is_owner: bool = False
    """True may do what the owner's rules allow, in the owner's conversation. What others want changed is always put to
    the owner, each of their requests stands alone, and nothing is learnt from it."""

    @property
    def rights(self) -> Rights:
        """What the guard lets this caller do."""
        if self.is_owner:
            return "all"
        return "asks" if self.may_change else "reads"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that waits for its answer."""

    id: str
    request: str
    text: str
    caller: str
    turn: int
    """Number of the request that it is about."""
    rule: str = ""
    """Name of the rule that asks."""
    is_owners: bool = False
    """True: the owner asked, on the page or at a terminal; False: a program of that name."""
    episode: str = ""
    """Of the request."""
    plan: Plan | None = None
    """What is asked about, where nothing of it was done yet and the owner may put another plan in its place."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A request on its way."""

    number: int
    text: str
    caller: Caller
    state: Literal["waiting", "working", "asked"]
    plan: Plan | None = None
    """What is done, where it is chosen already."""
    is_agreed: bool = False
    """The owner chose the plan by a button that does just that: the press is the yes."""
    instead_of: str = ""
    """The episode whose question was answered with this plan."""


LEFT_OVER = Turn(0, "what I was doing when I was stopped", Caller("Hearth", is_owner=True), "working")


@dataclass(frozen=True, slots=True)
class Errand:
    """A request in line, for whoever follows it to its end."""

    number: int
    done: Future[Episode]


@dataclass(frozen=True, slots=True)
class View:
    """What is going on now; `version` grows with every change of it."""

    version: int
    turns: tuple[Turn, ...] = ()
    """The first is worked on, the others wait."""
    asked: Asked | None = None


class Desk:
    """One agent for many surfaces. Safe to call from any thread; end it with `close`."""

    def __init__(self) -> None:
        """Make a desk without an agent; `open` gives it one."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hearth-desk")
        self._changed = threading.Condition()
        self._view = View(0)
        self._replies: dict[str, Reply] = {}
        self._n_turns = 0
        self._in_line: dict[int, Future[Episode]] = {}
        """Requests that were not begun yet."""
        self._n_works = 0
        """Pieces of work with the agent that were given and are not over, beside requests."""
        self._last_s = time.monotonic()
        self._is_closing = False
        self._agent: Agent | None = None

    @classmethod
    def open(
        cls, home: Path, environ: Mapping[str, str], *, encoder: Encoder | None = None, settings: Settings | None = None
    ) -> Desk:
        """Open the home's agent in the desk's own thread.

        Args:
            settings: As for `Agent.open`.
        Raises:
            HearthError: As `Agent.open`; nothing is left open.
        """
        desk = cls()
        try:
            desk._thread.submit(desk._open_agent, home, environ, encoder, settings).result()
        except BaseException:
            desk.close()
            raise
        desk._thread.submit(desk._recover)
        return desk

    def _open_agent(
        self, home: Path, environ: Mapping[str, str], encoder: Encoder | None, settings: Settings | None
    ) -> None:
        self._agent = Agent.open(home, self, environ=environ, encoder=encoder, settings=settings)
        for _ in self._agent.learn_shipped() if self._agent.n_to_learn else ():
            pass
        if self._agent.trace.unfinished():
            with self._changed:
                self._show(replace(self._view, turns=(LEFT_OVER,)))

    def _recover(self) -> None:
        """Carry on what a stopped process left, before anything else; what has to be asked again is put here."""
        try:
            self._opened().recover()
        except Exception as error:  # it stays open, and the next start tries again
            note_fault(self._opened().home, error)
        finally:
            self._leave(LEFT_OVER)

    # ── What callers do ───────────────────────────────────────────────────────────────────────────────────

    @property
    def view(self) -> View:
        """What is going on now."""
        return self._view

    @property
    def last_s(self) -> float:
        """When the last request was over, by the monotonic clock; now, while there is one."""
        return time.monotonic() if self._view.turns else self._last_s

    @property
    def quiet_s(self) -> float:
        """Seconds since the last request was over; 0 while there is one."""
        return 0.0 if self._view.turns else time.monotonic() - self._last_s

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits for the agent beside the piece of work that it does: what can wait lets it go."""
        return bool(self._view.turns) or self._n_works > 1 or self._is_closing

    @property
    def is_free(self) -> bool:
        """Whether nothing goes on that somebody waits for: no request, and no other piece of work."""
        return not (self._view.turns or self._n_works or self._is_closing)

    def ask(self, text: str, caller: Caller) -> Future[Episode]:
        """Put a request in line, read after what was said before.

        Raises:
            RequestError: It is empty or too long, or too many wait; nothing was asked.
        """
        return self.begin(text, caller).done

    def begin(
        self, text: str, caller: Caller, plan: Plan | None = None, *, is_agreed: bool = False, instead_of: str = ""
    ) -> Errand:
        """Put a request in line, with its plan where it is chosen already, and return what follows it.

        Args:
            is_agreed, instead_of: See `Turn`.
        Raises:
            RequestError: As `ask`.
        """
        said = text.strip()
        if not said or len(said) > MAX_REQUEST_CHARACTERS:
            raise RequestError(
                f"a request has 1 to {MAX_REQUEST_CHARACTERS:,} characters, not {len(said):,}; say it in fewer words"
            )
        with self._changed:
            if not caller.is_owner and sum(t.caller.name == caller.name for t in self._view.turns) >= MAX_OF_A_PROGRAM:
                raise RequestError(f"{MAX_OF_A_PROGRAM} requests of {caller.name!r} wait already; ask again after them")
            if len(self._view.turns) >= MAX_WAITING:
                raise RequestError(f"{MAX_WAITING} requests wait already; ask again when some are done")
            self._n_turns += 1
            turn = Turn(self._n_turns, said, caller, "waiting", plan, is_agreed, instead_of)
            done: Future[Episode] = Future()
            self._in_line[turn.number] = done
            self._show(replace(self._view, turns=(*self._view.turns, turn)))
        self._thread.submit(self._take_up, turn)
        done.add_done_callback(lambda ended: self._leave(turn) if ended.cancelled() else None)
        return Errand(turn.number, done)

    def drop(self, number: int) -> bool:
        """Take a request out of line that was not begun; False when it runs, or is over."""
        with self._changed:
            done = self._in_line.pop(number, None)
            if done is None or not done.set_running_or_notify_cancel():
                return False
            rest = tuple(turn for turn in self._view.turns if turn.number != number)
            self._show(replace(self._view, turns=rest))
        done.set_exception(RequestError("it was taken out of line before it began; ask again if you want it"))
        return True

    def carry_out(self, text: str, plan: Plan, caller: Caller) -> Future[Episode]:
        """Put a plan in line that the owner chose by a button; `text` says it in words. Raises: As `ask`."""
        return self.begin(text, caller, plan, is_agreed=True).done

    def change(self, id: str, plan: Plan, caller: Caller) -> Future[Episode] | None:
        """Answer a question with another plan for the same request: nothing of the first is done, and the new one is
        put to the owner like any other. None when the question was answered already, or is gone.

        Raises:
            RequestError: Too many wait, or a program asks; the question stands.
        """
        with self._changed:
            asked = self._view.asked
            if asked is None or asked.id != id:
                return None
            if asked.plan is None:
                raise RequestError("this question is answered with yes or no; say anew what you want")
            errand = self.begin(asked.request, caller, plan, instead_of=asked.episode)
            self.answer(id, "no")
            return errand.done

    def answer(self, id: str, reply: Reply) -> bool:
        """Answer a question; False when it was answered already, or is gone."""
        with self._changed:
            if self._view.asked is None or self._view.asked.id != id:
                return False
            self._replies[id] = reply
            self._show(replace(self._view, asked=None))
            return True

    def undo(self, id: str | None) -> Future[UndoReport]:
        """Take back what an episode changed, as `Agent.undo`. Raises: RequestError: Something else goes on."""
        if self._view.turns:
            raise RequestError("a request is being worked on, or waits for your answer; then take back what you want")
        return self.use(lambda agent: agent.undo(id))

    def correct(self, id: str, say: str, plan: Plan | None = None) -> Future[Entry]:
        """Teach what should have been done in place of an episode's request: `plan`, else the plan of `say`.

        Without either, that nothing should have been done.
        """
        return self.use(lambda agent: _corrected(agent, id, say.strip(), plan))

    def accept_skill(self, number: int, name: str) -> Future[Skill]:
        """Install a proposed skill under a name; it counts from the next request on. Raises: As `skills.accept`."""
        return self.use(lambda agent: _accepted(agent, number, name))

    def remove_skill(self, name: str) -> Future[Skill]:
        """Take a skill away. Raises: NotFound."""
        return self.use(lambda agent: _removed(agent, name))

    def use(self, work: Callable[[Agent], _Result]) -> Future[_Result]:
        """Do a piece of work with the agent, after what waits before it."""
        with self._changed:
            self._n_works += 1
        given = self.use_later(work)

        def over(_: object) -> None:
            with self._changed:
                self._n_works -= 1

        given.add_done_callback(over)
        return given

    def use_later(self, work: Callable[[Agent], _Result]) -> Future[_Result]:
        """Do the same for nobody who waits: what is being done is not ended for it."""
        return self._thread.submit(self._with_agent, work)

    def touch(self) -> None:
        """Let those who look know that something changed."""
        with self._changed:
            self._show(self._view)

    def close(self) -> None:
        """Answer what is asked with nobody, finish the request that runs, drop those that wait, free the home."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.submit(self._close_agent)
        self._thread.shutdown(wait=True)

    # ── What the desk's thread does ───────────────────────────────────────────────────────────────────────

    def _take_up(self, turn: Turn) -> None:
        """Run a request whose turn it is, unless it was dropped or given up meanwhile."""
        with self._changed:
            done = self._in_line.pop(turn.number, None)
        if done is None or not done.set_running_or_notify_cancel():
            return
        try:
            episode = self._run(turn)
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(episode)

    def _run(self, turn: Turn) -> Episode:
        agent = self._opened()
        turn = replace(turn, state="working")
        with self._changed:
            self._show(replace(self._view, turns=(turn, *self._view.turns[1:])))
        try:
            if self._is_closing:
                raise RequestError("Hearth is going down; ask again when it is up")
            episode = agent.run(_request(agent, turn), turn.plan, turn.caller.rights)
            if before := turn.instead_of or episode.request.revises:
                corrections.learn_revision(_state(agent), agent.recall, agent.trace.episode(before), episode)
        finally:
            self._leave(turn)
            with self._changed:
                if not self._is_closing:
                    self._thread.submit(agent.tend)  # after this, so that nobody waits for it
        return episode

    def _leave(self, turn: Turn) -> None:
        """Take a request out of line: it is done, or whoever asked gave it up before it began."""
        with self._changed:
            self._last_s = time.monotonic()
            rest = tuple(other for other in self._view.turns if other.number != turn.number)
            self._show(replace(self._view, turns=rest, asked=None if turn.state != "waiting" else self._view.asked))

    def approve(self, question: str, ruling: Ruling) -> Reply:
        """Show a question, and wait for its answer; `nobody` for callers that may not change anything. As a
        `protocols.Approver`, in the desk's thread."""
        turn = self._view.turns[0] if self._view.turns else None
        if turn is None or not turn.caller.may_change:
            return "nobody"
        if turn.is_agreed:
            return "once"
        caller, agent = turn.caller, self._opened()
        running = next(iter(agent.trace.unfinished()[::-1]), None)
        asked = Asked(
            secrets.token_hex(8), turn.text, question, caller.name, turn.number, ruling.rule, caller.is_owner,
            running.id if running is not None else "", agent.proposed if caller.is_owner else None,
        )  # fmt: skip
        began = time.monotonic()
        with self._changed:
            waiting = (replace(turn, state="asked"), *self._view.turns[1:])
            self._show(replace(self._view, turns=waiting, asked=asked))
            while asked.id not in self._replies and not self._is_closing:
                is_short = not caller.is_owner and len(self._view.turns) > 1
                left = began + (WITHIN_OTHERS_S if is_short else ANSWER_WITHIN_S) - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            reply = self._replies.pop(asked.id, "nobody")
            self._show(replace(self._view, turns=(turn, *self._view.turns[1:]), asked=None))
        return reply

    def _show(self, view: View) -> None:
        """Take a new view; the caller holds the lock."""
        self._view = replace(view, version=self._view.version + 1)
        self._changed.notify_all()

    def _opened(self) -> Agent:
        if self._agent is None:
            raise RequestError("no home is open at this desk; start it with `hearth up`")
        return self._agent

    def _with_agent(self, work: Callable[[Agent], _Result]) -> _Result:
        found = work(self._opened())
        self.touch()
        return found

    def _close_agent(self) -> None:
        if self._agent is not None:
            self._agent.close()


def _accepted(agent: Agent, number: int, name: str) -> Skill:
    skill = skills.accept(_state(agent), number, name)
    marks = ", ".join("?" * len(skill.demonstrations))
    rows = agent.store.query(f"SELECT * FROM demonstration WHERE id IN ({marks})", skill.demonstrations)  # noqa: S608
    agent.recall.add([entry_of(row).demonstration for row in rows])
    return skill


def _removed(agent: Agent, name: str) -> Skill:
    skill = skills.remove(agent.store, name)
    agent.recall.remove(*skill.demonstrations)
    return skill


def _request(agent: Agent, turn: Turn) -> Request:
    """Return what is asked: in the owner's conversation, where it is not a program's and no plan was chosen."""
    if turn.instead_of:
        return replace(agent.trace.episode(turn.instead_of).request, now=agent.clock())
    if not turn.caller.is_owner:
        return replace(agent.request(turn.text), asked_by=turn.caller.name)
    if turn.is_agreed:
        return agent.pressed(turn.text)
    return agent.request_after(turn.text) if turn.plan is None else agent.request(turn.text)


def _state(agent: Agent) -> State:
    return State.open(agent.home, agent.encoder, Offer(agent.tools.specs), store=agent.store)


def _corrected(agent: Agent, id: str, say: str, plan: Plan | None) -> Entry:
    """Raises: NotFound, RequestError, PlanError: Nothing was learnt."""
    episode = agent.trace.episode(id)
    if plan is None and say:
        proposal = agent.plan(Request(say, episode.request.now), agent.tools.specs)
        if not isinstance(proposal, Plan) or proposal.unserved:
            reason = "a part of it is not served" if isinstance(proposal, Plan) else proposal.reason
            raise RequestError(f"{say!r} is not planned either ({reason}); say it in other words")
        plan = proposal
    return corrections.correct(_state(agent), agent.recall, episode, plan, agent.tools.specs)
