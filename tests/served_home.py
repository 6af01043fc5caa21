"""A home that is up on a port of its own, with plans written down beforehand: shared by the tests of protocols."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hearth.agent import Agent, _shipped_hash, make_home
from hearth.planning.deferral import Cascade
from hearth.protocols import Reply
from hearth.serve.desk import Asked, Desk
from hearth.serve.door import KEYS_FILE, Keys
from hearth.serve.house import Address, House, opened
from hearth.storage.database import Store
from hearth.testing import HashEncoder, ScriptedPlanner
from hearth.types import Plan, Step

PLANS = {
    "what time is it": Plan((Step("current_time"),), 1.0, "scripted"),
    "note the boiler": Plan((Step("add_note", {"title": "Boiler", "text": "Serviced in May"}),), 1.0, "scripted"),
}
"""One request that only reads, and one that is asked about."""
T = TypeVar("T")
ASKS = "note the boiler"
READS = "what time is it"


@dataclass(frozen=True, slots=True)
class Served:
    """A home that is up."""

    house: House
    keys: Keys

    @property
    def address(self) -> str:
        return self.house.address

    @property
    def desk(self) -> Desk:
        return self.house.desk

    @property
    def notes(self) -> list[str]:
        """File names of the notes in the home."""
        return sorted(path.stem for path in (self.house.home / "owner" / "notes").glob("*.md"))

    def token(
        self, name: str = "program", *, may_change: bool = False, may_answer: bool = False, may_look: bool = False
    ) -> str:
        keys = Keys(self.house.home / KEYS_FILE)
        return keys.add(name, may_change=may_change, may_answer=may_answer, may_look=may_look)

    def question(self) -> Asked:
        """Wait for the question that comes."""
        return until(lambda: self.desk.view.asked)

    @contextlib.contextmanager
    def answering(self, reply: Reply) -> Iterator[list[Asked]]:
        """Answer the next question as the owner would on the page, while the block runs."""
        seen: list[Asked] = []

        def answer() -> None:
            seen.append(self.question())
            assert self.desk.answer(seen[0].id, reply)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield seen
        finally:
            thread.join(20)


def until(look: Callable[[], T | None], within_s: float = 120.0) -> T:
    """Return what `look` finds as soon as it finds something."""
    ends = time.monotonic() + within_s
    while (found := look()) is None:
        assert time.monotonic() < ends, "nothing came"
        time.sleep(0.002)
    return found


def made(home: Path) -> Path:
    """Make a home that has nothing to learn and shows nothing on the desktop."""
    make_home(home, {"name": "Mira", "email": "mira@example.org", "time_zone": "Europe/Berlin", "country": "DE"})
    with (home / "hearth.toml").open("a") as settings:
        settings.write("\n[serve]\ndesktop = false\n")
    with Store.open(home / "hearth.db") as store, store.transaction() as cursor:
        cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('shipped', ?)", (_shipped_hash(),))
    return home


@contextlib.contextmanager
def served(home: Path, plans: Mapping[str, Plan] = PLANS) -> Iterator[Served]:
    """Serve a home by uvicorn from a thread, until the block ends."""
    with opened(home, os.environ, Address(port=0), encoder=HashEncoder(384)) as house:
        house.desk.use(lambda agent: scripted(agent, plans)).result()
        thread = threading.Thread(target=house.serve)
        thread.start()
        try:
            until(lambda: house.server.started or None)
            yield Served(house, Keys(home / KEYS_FILE))
        finally:
            house.stop()
            thread.join(20)


def scripted(agent: Agent, plans: Mapping[str, Plan] = PLANS) -> None:
    """Let an agent plan by the script alone."""
    agent.planner = Cascade([ScriptedPlanner(plans)], confident=0.0)
