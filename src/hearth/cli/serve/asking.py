"""Asks a home: by an agent opened here, or through the `hearth up` that has it already."""

from __future__ import annotations

import contextlib
import select
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from hearth import errors
from hearth.cli.invocation import Invocation, known_tools, opened_agent
from hearth.errors import CancelledError, HearthError
from hearth.formats.terminal_text import clean, drop_typed_ahead, short
from hearth.guard.policy.question import ANSWERS, PROMPT, UNFORESEEN

if TYPE_CHECKING:
    from pathlib import Path

    from hearth.agent import Agent, UndoReport
    from hearth.protocols import Reply
    from hearth.serve.programs.home_link import HomeLink, Question, Standing
    from hearth.types import Episode, Plan, Refusal, ToolSpec


_WAIT_S = 10.0
_LOOK_S = 0.3
"""How often it is looked whether a question was answered elsewhere, while the terminal waits for an answer."""


class Asking(Protocol):
    """Where a command's requests go."""

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools of the home."""
        ...

    def ask(self, text: str) -> Episode:
        """Do what `text` asks, in the conversation of the home."""
        ...

    def refusals(self, episode: Episode) -> tuple[str, ...]:
        """Return why something was kept from leaving."""
        ...

    def teach(self, episode: Episode) -> bool:
        """Learn from what was done in place of the request before; say whether anything was."""
        ...

    def undo(self, id: str | None) -> UndoReport:
        """Take back what an episode changed."""
        ...

    def typed(self, id: str) -> str:
        """Return the words of an episode's request."""
        ...

    def correct(self, id: str, say: str) -> list[str]:
        """Teach that an episode's request means what `say` does, or nothing; return the plan's lines.

        Raises:
            RequestError, PlanError: Nothing was learnt.
        """
        ...

    def history(self, limit: int) -> tuple[Episode, ...]:
        """Return what was asked last, the newest first."""
        ...

    def why(self, id: str) -> list[str]:
        """Say how an answer came about."""
        ...

    def tend(self) -> None:
        """Look after the home once the owner has the answer."""
        ...


class AskingHere:
    """Requests to an agent that this process opened."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.specs = agent.tools.specs

    def ask(self, text: str) -> Episode:
        """Do it here; what tools print goes to standard error, which is not the answer's."""
        with contextlib.redirect_stdout(sys.stderr):
            return self._agent.run(self._agent.request_after(text))

    def refusals(self, episode: Episode) -> tuple[str, ...]:
        return self._agent.egress.refusals(episode.id)

    def teach(self, episode: Episode) -> bool:
        from hearth.learning.corrections import learn_revision
        from hearth.learning.learned_state import Offer, State

        agent = self._agent
        before = agent.trace.episode(episode.request.revises)
        state = State.open(agent.home, agent.encoder, Offer(agent.tools.specs), store=agent.store)
        return bool(learn_revision(state, agent.recall, before, episode))

    def undo(self, id: str | None) -> UndoReport:
        with contextlib.redirect_stdout(sys.stderr):
            return self._agent.undo(id)

    def typed(self, id: str) -> str:
        return self._agent.trace.episode(id).request.text

    def correct(self, id: str, say: str) -> list[str]:

        return _corrected(TeachingHere(self._agent), id, say)

    def history(self, limit: int) -> tuple[Episode, ...]:
        return self._agent.trace.episodes(limit)

    def why(self, id: str) -> list[str]:
        return _why(self._agent.home, id)

    def tend(self) -> None:
        self._agent.tend()


class AskingUp:
    """Requests to the `hearth up` that has the home; its questions are answered here or on its page."""

    def __init__(self, home: Path, link: HomeLink, *, yes: bool) -> None:
        self._home = home
        self._link = link
        self._yes = yes
        self.specs = known_tools(home).specs

    def ask(self, text: str) -> Episode:
        """Have it done there, and read the record of it."""
        number = self._link.begin(text, may_change=self._yes or sys.stdin.isatty())
        ended = self._followed(number)
        if ended.state == "failed":
            raise HearthError(f"`hearth up` could not do it: {ended.fault}")
        from hearth.agent import open_trace  # brings in all of an agent: not for `hearth --help`

        with open_trace(self._home) as trace:
            return trace.episode(ended.episode)

    def _followed(self, number: int) -> Standing:
        seen = ""
        told = False
        try:
            while (now := self._link.standing(number, seen=seen, within_s=_WAIT_S)).state not in ("done", "failed"):
                if now.question is not None and now.question.id != seen:
                    seen = now.question.id
                    self._put(number, now.question)
                elif now.state == "waiting" and not told:
                    click.echo("Another request is not done yet; this one waits for it.", err=True)
                    told = True
        except KeyboardInterrupt:
            if seen:
                self._link.answer(seen, "no")
            raise CancelledError("stopped waiting; what `hearth up` has begun it finishes, see its page") from None
        return now

    def _put(self, number: int, question: Question) -> None:
        """Put a question to the terminal, unless the owner said yes beforehand."""
        reply: Reply | None
        if self._yes:
            reply = "nobody" if question.rule == UNFORESEEN else "once"
        else:
            reply = self._typed_reply(number, question)
        if reply is None or not self._link.answer(question.id, reply):
            click.echo("Answered elsewhere.", err=True)

    def _typed_reply(self, number: int, question: Question) -> Reply | None:
        """Return what is typed; None when the question was answered elsewhere meanwhile."""
        drop_typed_ahead(sys.stdin)
        click.echo(f"{clean(question.text)}\n{PROMPT}", err=True, nl=False)
        while True:
            if select.select([sys.stdin], [], [], _LOOK_S)[0]:
                line = sys.stdin.readline()
                reply = ANSWERS.get(line.strip().lower()) if line else "no"
                if reply is not None:
                    return reply
                click.echo("Please answer y, a, n or never: ", err=True, nl=False)
                continue
            standing = self._link.standing(number)
            if standing.question is None or standing.question.id != question.id:
                click.echo(err=True)
                return None

    def refusals(self, episode: Episode) -> tuple[str, ...]:
        from hearth.guard.egress.ledger import Ledger
        from hearth.storage.database import Store

        with Store.open(self._home / "hearth.db") as store:
            found = Ledger(store).entries(episode=episode.id)
            return tuple(dict.fromkeys(entry.reason for entry in found if entry.kind == "refused"))

    def teach(self, episode: Episode) -> bool:  # noqa: ARG002 - the seam's
        """Do nothing: `hearth up` has learnt already."""
        return False

    def undo(self, id: str | None) -> UndoReport:
        from hearth.agent import UndoReport

        report = self._link.undo(id)
        return UndoReport(report.id, report.undone, report.kept)

    def typed(self, id: str) -> str:
        from hearth.agent import open_trace  # brings in all of an agent: not for `hearth --help`

        with open_trace(self._home) as trace:
            return trace.episode(id).request.text

    def correct(self, id: str, say: str) -> list[str]:

        return _corrected(TeachingUp(self._home, self._link), id, say)

    def history(self, limit: int) -> tuple[Episode, ...]:
        from hearth.agent import open_trace  # brings in all of an agent: not for `hearth --help`

        with open_trace(self._home) as trace:
            return trace.episodes(limit)

    def why(self, id: str) -> list[str]:
        return _why(self._home, id)

    def tend(self) -> None:
        """Do nothing: `hearth up` looks after the home."""


def _why(home: Path, id: str) -> list[str]:
    from hearth.cli.why_command import explained, record_of

    return [f"{one.title}: {' '.join(one.says)}" for one in explained(record_of(home, id)) if one.says]


def _corrected(home: Teaching, id: str, say: str) -> list[str]:
    from hearth.formats.terminal_text import plan_lines

    _, plan = home.teach(home.episode(id), say or None, None)
    return plan_lines(plan, home.specs) if plan.steps else ["nothing is to be done"]


@contextlib.contextmanager
def asking(invocation: Invocation, *, yes: bool) -> Iterator[Asking]:
    """Ask the `hearth up` that has the home; without one, an agent of this process."""
    link = link_to(invocation.home)
    if link is None:
        with opened_agent(invocation, yes=yes) as agent:
            yield AskingHere(agent)
        return
    with contextlib.closing(link):
        yield AskingUp(invocation.home, link, yes=yes)


def planned(
    invocation: Invocation, text: str, tools: Mapping[str, ToolSpec] | None
) -> tuple[Plan | Refusal, Mapping[str, ToolSpec]]:
    """Plan a request with the home's tools, in the `hearth up` that has it or here; with other tools always here.

    Returns:
        The plan or why there is none, and the tools it was made with.
    Raises:
        HomeBusyError: Other tools were given, and `hearth up` has the home.
    """
    link = link_to(invocation.home) if tools is None else None
    if link is None:
        with opened_agent(invocation, yes=False) as agent:
            specs = tools or agent.tools.specs
            return agent.plan(agent.request(text), specs), specs
    from hearth.formats.plan_json import plan_from_json, refusal_from_json

    with contextlib.closing(link):
        found = link.plan(text, after_last=False)
    refusal = found.get("refusal")
    made = refusal_from_json(refusal) if isinstance(refusal, dict) else plan_from_json(found)
    return made, known_tools(invocation.home).specs


def link_to(home: Path) -> HomeLink | None:
    """Return a line to the `hearth up` that has a home; None when none has."""
    if not (home / "serve.json").exists():
        return None  # most often so: the modules that reach it need not be loaded
    from hearth.serve.programs.home_link import HomeLink

    return HomeLink.to(home)


# ── Where a correction goes ────────────────────────────────────────────────────────────────────────────
# Where a correction goes: to an agent of this process, or to the `hearth up` that has the home.


class Teaching(Protocol):
    """Where a correction goes."""

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools of the home."""
        ...

    def episode(self, id: str) -> Episode:
        """Return what is corrected. Raises: NotFound."""
        ...

    def teach(self, episode: Episode, say: str | None, plan: Plan | None) -> tuple[str, Plan]:
        """Teach `plan`, else the plan of `say`, else that nothing should have been done.

        Returns:
            The demonstration's id and plan.
        Raises:
            RequestError, PlanError: Nothing was learnt.
        """
        ...


class TeachingHere:
    """Corrections of an agent that this process opened."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.specs = agent.tools.specs

    def episode(self, id: str) -> Episode:
        return self._agent.trace.episode(id)

    def teach(self, episode: Episode, say: str | None, plan: Plan | None) -> tuple[str, Plan]:
        from hearth.learning.corrections import correct as teach
        from hearth.learning.learned_state import Offer, State

        agent = self._agent
        right = plan if say is None else _said(agent, episode, say)
        state = State.open(agent.home, agent.encoder, Offer(agent.tools.specs), store=agent.store)
        entry = teach(state, agent.recall, episode, right, agent.tools.specs)
        return entry.id, entry.demonstration.plan


class TeachingUp:
    """Corrections through the `hearth up` that has the home."""

    def __init__(self, home: Path, link: HomeLink) -> None:
        self._home = home
        self._link = link
        self.specs = known_tools(home).specs

    def episode(self, id: str) -> Episode:
        from hearth.agent import open_trace  # brings in all of an agent: not for `hearth --help`

        with open_trace(self._home) as trace:
            return trace.episode(id)

    def teach(self, episode: Episode, say: str | None, plan: Plan | None) -> tuple[str, Plan]:
        from hearth.formats.plan_json import plan_from_json, plan_to_json

        if say is not None and not say.strip():
            raise errors.RequestError("--say is empty; say what should have been said, or give --nothing")
        found = self._link.correct(episode.id, say or "", plan_to_json(plan) if plan else None)
        return str(found["id"]), plan_from_json(found)


def _said(agent: Agent, episode: Episode, text: str) -> Plan:
    """Plan another request as if said at the same time. Raises: RequestError."""
    from hearth.types import Plan, Request

    proposal = agent.plan(Request(text, episode.request.now), agent.tools.specs)
    if isinstance(proposal, Plan) and not proposal.unserved:
        return proposal
    reason = "a part of it is not served" if isinstance(proposal, Plan) else proposal.reason
    raise errors.RequestError(f"{text!r} is not planned either ({reason}); give the plan itself: --plan FILE")


# ── What is said to the chat itself ────────────────────────────────────────────────────────────────────
# What is said to `hearth chat` itself: take back, correct, look back.


_N_HISTORY = 10
HELP = """\
  /undo            take back what was changed last; again, the change before it
  /wrong WORDS     that was wrong: WORDS are what I should have understood; without them, nothing was to be done
  /history         what was asked lately
  /why             how the last answer came about
  an empty line    ends"""


def is_aside(line: str) -> bool:
    """Say whether a line is to the chat itself."""
    return line.startswith("/") or line.strip().lower() in ("undo", "help")


def answer_aside(home: Asking, line: str, last: str) -> None:
    """Do what a line to the chat itself says; what cannot be done is said, and the chat goes on.

    Args:
        last: Id of the last request of this chat; empty: there was none.
    """
    word, _, rest = line.strip().removeprefix("/").partition(" ")
    try:
        if word.lower() == "undo":
            _undo(home)
        elif word.lower() == "wrong":
            _correct(home, _needed(last), rest.strip())
        elif word.lower() == "history":
            _history(home)
        elif word.lower() == "why":
            for said in home.why(_needed(last)):
                click.echo(clean(said))
        else:
            click.echo(HELP)
    except errors.HearthError as error:
        click.echo(f"hearth: {clean(str(error))}", err=True)


def _needed(last: str) -> str:
    if not last:
        raise errors.RequestError("nothing was asked in this chat yet; `hearth history` lists what was asked before")
    return last


def _undo(home: Asking) -> None:
    report = home.undo(None)
    click.echo(f"“{clean(short(home.typed(report.episode), 70))}”")
    for line in report.undone:
        click.echo(f"  undone: {clean(line)}")
    for line in report.kept:
        click.echo(f"  not undone: {clean(line)}")


def _correct(home: Asking, id: str, say: str) -> None:
    lines = home.correct(id, say)
    click.echo(f"Learnt: “{clean(short(home.typed(id), 70))}” means")
    for line in lines:
        click.echo(f"  {clean(line)}")
    click.echo("What was done then stays done; /undo takes it back.")


def _history(home: Asking) -> None:
    episodes = home.history(_N_HISTORY)
    for episode in reversed(episodes):
        click.echo(f"{episode.request.now:%H:%M}  {episode.answer.status:<8} {clean(short(episode.request.typed, 70))}")
    if not episodes:
        click.echo("Nothing was asked yet.")
