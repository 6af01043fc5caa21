"""Asks a home: by an agent opened here, or through the `hearth up` that has it already."""

from __future__ import annotations

import contextlib
import select
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from hearth import errors
from hearth.cli.invocation import Invocation, Progress, known_tools, opened_agent
from hearth.errors import CancelledError, HearthError, StoreError
from hearth.formats.terminal_text import clean, drop_typed_ahead, short
from hearth.guard.policy.question import ANSWERS, PROMPT, UNFORESEEN

if TYPE_CHECKING:
    from hearth.agent import Agent, UndoReport
    from hearth.learning.versions.learned_state import State
    from hearth.protocols import Reply
    from hearth.serve.programs.home_link import HomeLink, Question, Standing
    from hearth.types import Episode, Plan, Refusal, ToolSpec

MANY_NEW = 200
"""Number of new files above which they are read before the first request, with a bar."""
_WAIT_S = 10.0
_LOOK_S = 0.3
"""How often it is looked whether a question was answered elsewhere, while the terminal waits for an answer."""


class AskingHere:
    """Requests and corrections to an agent that this process opened."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.home = agent.home
        self.specs = agent.tools.specs

    def read_first(self) -> None:
        """Read new files before the first request, where they are many and a person at a terminal can see how far it
        is; Ctrl-C leaves the rest for later, and the request is answered from what was read."""
        if not sys.stderr.isatty():
            return
        answers, call = self._agent.home_answers, self._agent.call_context()
        n_new = answers.n_new(call.workspace)
        if n_new <= MANY_NEW:
            return
        click.echo(f"{n_new:,} of your files are new, and are read first; Ctrl-C leaves the rest for later.", err=True)
        try:
            with Progress(sys.stderr).stage("Reading files", n_new) as show:
                for _ in answers.refresh(call.workspace, call.now.tzinfo):
                    show(1)
        except KeyboardInterrupt:
            click.echo("\nThe rest is read later; `hearth memory tend` reads all of it.", err=True)
        except StoreError as error:
            click.echo(f"hearth: the rest could not be read: {clean(str(error))}", err=True)

    def ask(self, text: str) -> Episode:
        """Do it here; what tools print goes to standard error, which is not the answer's."""
        with contextlib.redirect_stdout(sys.stderr):
            return self._agent.run(self._agent.request_after(text))

    def refusals(self, episode: Episode) -> tuple[str, ...]:
        """Return why something was kept from leaving."""
        return self._agent.egress.refusals(episode.id)

    def teach(self, episode: Episode) -> bool:
        """Learn from what was done in place of the request before; say whether anything was."""
        from hearth.learning.corrections import learn_revision

        return bool(learn_revision(self._state(), self._agent.recall, self.episode(episode.request.revises), episode))

    def correct(self, episode: Episode, say: str | None, plan: Plan | None) -> tuple[str, Plan]:
        """Teach `plan`, else the plan of `say`, else that nothing should have been done.

        Returns:
            The demonstration's id and plan.
        Raises:
            RequestError, PlanError: Nothing was learnt.
        """
        from hearth.learning.corrections import correct

        right = plan if say is None else _said(self._agent, episode, say)
        entry = correct(self._state(), self._agent.recall, episode, right, self.specs)
        return entry.id, entry.demonstration.plan

    def _state(self) -> State:
        from hearth.learning.versions.learned_state import Offer, State

        return State.open(self.home, self._agent.encoder, Offer(self.specs), store=self._agent.store)

    def undo(self, id: str | None) -> UndoReport:
        with contextlib.redirect_stdout(sys.stderr):
            return self._agent.undo(id)

    def episode(self, id: str) -> Episode:
        """Return an episode of the record. Raises: NotFound."""
        return self._agent.trace.episode(id)

    def history(self, limit: int) -> tuple[Episode, ...]:
        return self._agent.trace.episodes(limit)

    def tend(self) -> None:
        """Look after the home once the owner has the answer."""
        self._agent.tend()


class AskingUp:
    """Requests to the `hearth up` that has the home; its questions are answered here or on its page."""

    def __init__(self, home: Path, link: HomeLink, *, yes: bool) -> None:
        self.home = home
        self._link = link
        self._yes = yes
        self.specs = known_tools(home).specs

    def read_first(self) -> None:
        """Do nothing: `hearth up` reads new files while nobody asks."""

    def ask(self, text: str) -> Episode:
        """Have it done there, and read the record of it."""
        number = self._link.begin(text, may_change=self._yes or sys.stdin.isatty())
        ended = self._followed(number)
        if ended.state == "failed":
            raise HearthError(f"`hearth up` could not do it: {ended.fault}")
        return self.episode(ended.episode)

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

        with Store.open(self.home / "hearth.db") as store:
            found = Ledger(store).entries(episode=episode.id)
            return tuple(dict.fromkeys(entry.reason for entry in found if entry.kind == "refused"))

    def teach(self, episode: Episode) -> bool:  # noqa: ARG002 - as of `AskingHere`
        """Do nothing: `hearth up` has learnt already."""
        return False

    def correct(self, episode: Episode, say: str | None, plan: Plan | None) -> tuple[str, Plan]:
        """Teach as `AskingHere.correct` does, there."""
        from hearth.formats.plans import plan_from_json, plan_to_json

        if say is not None and not say.strip():
            raise errors.RequestError("--say is empty; say what should have been said, or give --nothing")
        found = self._link.correct(episode.id, say or "", plan_to_json(plan) if plan else None)
        return str(found["id"]), plan_from_json(found)

    def undo(self, id: str | None) -> UndoReport:
        from hearth.agent import UndoReport

        report = self._link.undo(id)
        return UndoReport(report.id, report.undone, report.kept)

    def episode(self, id: str) -> Episode:
        from hearth.agent import open_trace  # brings in all of an agent: not for `hearth --help`

        with open_trace(self.home) as trace:
            return trace.episode(id)

    def history(self, limit: int) -> tuple[Episode, ...]:
        from hearth.agent import open_trace

        with open_trace(self.home) as trace:
            return trace.episodes(limit)

    def tend(self) -> None:
        """Do nothing: `hearth up` looks after the home."""


Asking: TypeAlias = AskingHere | AskingUp
"""Where a command's requests and corrections go."""


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
    from hearth.formats.plans import plan_from_json, refusal_from_json

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


def _said(agent: Agent, episode: Episode, text: str) -> Plan:
    """Plan another request as if said at the same time. Raises: RequestError."""
    from hearth.types import Plan, Request

    proposal = agent.plan(Request(text, episode.request.now), agent.tools.specs)
    if isinstance(proposal, Plan) and not proposal.unserved:
        return proposal
    reason = "a part of it is not served" if isinstance(proposal, Plan) else proposal.reason
    raise errors.RequestError(f"{text!r} is not planned either ({reason}); give the plan itself: --plan FILE")


# ── What is said to the chat itself ────────────────────────────────────────────────────────────────────


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
            _why(home.home, _needed(last))
        else:
            click.echo(HELP)
    except errors.HearthError as error:
        click.echo(f"hearth: {clean(str(error))}", err=True)


def _needed(last: str) -> str:
    if not last:
        raise errors.RequestError("nothing was asked in this chat yet; `hearth history` lists what was asked before")
    return last


def _why(home: Path, id: str) -> None:
    from hearth.cli.why_command import explained, record_of

    for one in explained(record_of(home, id)):
        if one.says:
            click.echo(clean(f"{one.title}: {' '.join(one.says)}"))


def _undo(home: Asking) -> None:
    report = home.undo(None)
    click.echo(f"“{clean(short(home.episode(report.episode).request.text, 70))}”")
    say_undone(report)


def say_undone(report: UndoReport) -> None:
    """Print what was taken back and what was not."""
    for line in report.undone:
        click.echo(f"  undone: {clean(line)}")
    for line in report.kept:
        click.echo(f"  not undone: {clean(line)}")


def _correct(home: Asking, id: str, say: str) -> None:
    from hearth.formats.terminal_text import plan_lines

    episode = home.episode(id)
    _, plan = home.correct(episode, say or None, None)
    click.echo(f"Learnt: “{clean(short(episode.request.text, 70))}” means")
    for line in plan_lines(plan, home.specs) if plan.steps else ["nothing is to be done"]:
        click.echo(f"  {clean(line)}")
    click.echo("What was done then stays done; /undo takes it back.")


def _history(home: Asking) -> None:
    episodes = home.history(_N_HISTORY)
    for episode in reversed(episodes):
        click.echo(f"{episode.request.now:%H:%M}  {episode.answer.status:<8} {clean(short(episode.request.typed, 70))}")
    if not episodes:
        click.echo("Nothing was asked yet.")
