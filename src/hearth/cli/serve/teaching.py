"""Where a correction goes: to an agent of this process, or to the `hearth up` that has the home."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hearth import errors
from hearth.cli.invocation import known_tools

if TYPE_CHECKING:
    from hearth.agent import Agent
    from hearth.serve.programs.home_link import HomeLink
    from hearth.types import Episode, Plan, ToolSpec


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
