"""Work on what was learnt, for the desk's thread to do: roll back, forget.

Each piece of work has a connection of its own to the home's database, so that the planner notices what changed, as it
does when another process writes there.

Covered: what is forgotten is what was shown; afterwards nothing of it is in the memory of the running agent. Not
covered: learning (`learning_process`).
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from hearth.agent import Agent
from hearth.errors import NotFound, RequestError
from hearth.learning import unlearning
from hearth.learning.learned_state import Offer, State
from hearth.learning.unlearning import Found, Receipt, Sought
from hearth.learning.versions.lineage import Version
from hearth.storage.database import Store
from hearth.terminal import clean


@contextlib.contextmanager
def opened_state(agent: Agent) -> Iterator[State]:
    """Open what an agent's home has learnt, beside the agent, which holds the home's lock."""
    with Store.open(agent.home / "hearth.db") as store:
        yield State.open(agent.home, agent.encoder, Offer(agent.tools.specs), store=store)


def rolled_back(agent: Agent, number: int) -> tuple[Version, tuple[str, ...]]:
    """Make a version plan again, as `State.rollback`. Raises: NotFound."""
    with opened_state(agent) as state:
        return state.rollback(number)


# ── Forgetting ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class WouldGo:
    """What would be forgotten, as it is shown."""

    groups: tuple[tuple[str, tuple[str, ...]], ...]
    """What it is, and its texts."""
    notes: tuple[str, ...]
    digest: str
    """Of all of it: only what was shown is forgotten."""


def would_go(agent: Agent, sought: Sought) -> WouldGo:
    """Say what would be forgotten; nothing is. Raises: NotFound: Nothing of that is held."""
    found = unlearning.find(agent.store, sought)
    if found.is_empty:
        raise NotFound("nothing of that is held; there is nothing to forget")
    groups = (
        ("Taught", [entry.demonstration.request for entry in found.demonstrations]),
        ("Remembered", [text for _, text in found.events]),
        ("Asked", [text for _, text in found.episodes]),
        ("With it", found.attached.said),
        *((held.holder.capitalize(), list(held.texts)) for held in found.held),
        ("Waits for the cloud", [text for _, text in found.questions]),
    )
    notes = [str(count) for held in found.held for count in held.counts if count.n]
    notes += [f"Stays: {held.stays}" for held in found.held if held.stays and not held.is_empty]
    if found.sent:
        notes.append(f"The bytes of {len(found.sent)} messages in the ledger; that they left stays.")
    if found.episodes:
        notes.append("What these requests changed in your files stays, and can no longer be undone by Hearth.")
    shown = tuple((name, tuple(map(clean, texts))) for name, texts in groups if texts)
    return WouldGo(shown, tuple(map(clean, notes)), _digest(found))


def forgotten(agent: Agent, sought: Sought, digest: str) -> Receipt:
    """Forget for good what `would_go` showed.

    Raises:
        RequestError: It is something else by now; nothing was forgotten.
    """
    with opened_state(agent) as state:
        found = unlearning.find(state.store, sought)
        if _digest(found) != digest:
            raise RequestError("this is not what was shown any more; look again, and then forget it")
        receipt = unlearning.forget(state, found)
    agent.reread()
    return receipt


def _digest(found: Found) -> str:
    held = [(one.holder, sorted(one.texts), [str(count) for count in one.counts]) for one in found.held]
    taught = sorted((entry.id, entry.digest) for entry in found.demonstrations)
    what = (taught, found.events, found.episodes, found.sent, found.attached, held, found.questions)
    return hashlib.sha256(repr(what).encode("utf-8", "surrogatepass")).hexdigest()[:32]
