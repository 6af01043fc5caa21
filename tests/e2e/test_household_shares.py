"""Two people under one roof share a list and a device, and nothing else."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hearth.serve import served
from hearth.serve.desk import Caller
from hearth.serve.members import MEMBERS_FILE, Members
from hearth.serve.served import Household
from hearth.testing import HashEncoder
from hearth.types import Plan, Step
from tests.assistant_server import TOKEN, AssistantServer, running_assistant
from tests.served_home import made, scripted, until

PLANS = {
    "put milk on the shopping list": Plan(
        (Step("add_to_list", {"list": "shopping", "items": ["milk"]}),), 1.0, "scripted"
    ),
    "put wine on the shopping list": Plan(
        (Step("add_to_list", {"list": "presents", "items": ["wine"]}),), 1.0, "scripted"
    ),
    "milk is bought": Plan((Step("remove_from_list", {"list": "shopping", "items": ["milk"]}),), 1.0, "scripted"),
    "light": Plan((Step("turn_on", {"device": "ceiling lamp"}),), 1.0, "scripted"),
    "door": Plan((Step("unlock_door", {"device": "front door"}),), 1.0, "scripted"),
}
OWNER = Caller("page", is_owner=True)


@dataclass(frozen=True, slots=True)
class World:
    homes: Household
    assistant: AssistantServer

    def ask(self, who: str, text: str) -> str:
        """Ask, agreeing to what is asked."""
        desk = self.homes.houses[who].desk
        done = desk.ask(text, OWNER)
        until(lambda: True if done.done() or desk.view.asked is not None else None)
        if desk.view.asked is not None:
            assert desk.answer(desk.view.asked.id, "once")
        return done.result(20).answer.status

    def list_of(self, who: str, name: str = "shopping") -> str:
        path = self.homes.houses[who].home / "owner" / "notes" / f"{name}.md"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(served, "TICK_S", 0.05)
    monkeypatch.setenv("ASSISTANT", TOKEN)
    with running_assistant() as assistant:
        port = assistant.port
        mira, jo = made(tmp_path / "mira"), made(tmp_path / "jo")
        text = (mira / "hearth.toml").read_text().replace("allow = []", f'allow = ["127.0.0.1:{port}"]')
        (mira / "hearth.toml").write_text(
            text + f'\n[home.assistant]\nurl = "http://127.0.0.1:{port}"\ntoken_env = "ASSISTANT"\nconfirm_s = 2.0\n'
            '[[home.device]]\nname = "ceiling lamp"\nkind = "lamp"\nentity = "light.ceiling"\n'
            '[[home.device]]\nname = "front door"\nkind = "lock"\nentity = "lock.front_door"\n'
            '[share.Jo]\nlists = ["shopping", "secret"]\ndevices = ["ceiling lamp"]\n'
        )
        with (jo / "hearth.toml").open("a") as file:
            file.write('\n[share.Mira]\nlists = ["shopping"]\n')
        known = Members(mira / MEMBERS_FILE)
        known.add("Mira", mira, "correct horse")
        known.add("Jo", jo, "battery staple")
        with served.opened(mira, os.environ, host="127.0.0.1", port=0, encoder=HashEncoder(384)) as homes:
            for one in homes.houses.values():
                one.desk.use(lambda agent: scripted(agent, PLANS)).result()
            thread = threading.Thread(target=homes.serve)
            thread.start()
            try:
                until(lambda: homes.front.started or None)
                yield World(homes, assistant)
            finally:
                homes.stop()
                thread.join(20)


def test_a_shared_list_is_alike_in_both_homes_and_others_are_not(world: World) -> None:
    assert "the list 'secret' of Mira: Jo does not share it with Mira" in world.homes.unshared
    assert world.ask("Mira", "put milk on the shopping list") == "done"
    until(lambda: "- [ ] milk" in world.list_of("Jo") or None)
    assert world.ask("Mira", "put wine on the shopping list") == "done"
    assert world.ask("Jo", "milk is bought") == "done"
    until(lambda: "milk" not in world.list_of("Mira") or None)
    assert world.list_of("Jo", "presents") == ""
    mira = world.homes.houses["Mira"].desk
    known = mira.use(lambda agent: agent.monitor._records.provenance.of("notes", "shopping")).result()
    assert known is not None
    assert "message" in known.sources, "what another put there is not the owner's word"


def test_by_hand_and_at_once_nothing_is_lost(world: World) -> None:
    for who, item in (("Mira", "rice"), ("Jo", "salt")):
        folder = world.homes.houses[who].home / "owner" / "notes"
        folder.mkdir(exist_ok=True)
        (folder / "shopping.md").write_text(f"# Shopping\n\n- [ ] {item}\n")
    for who in ("Mira", "Jo"):
        until(lambda who=who: all(one in world.list_of(who) for one in ("rice", "salt")) or None)  # type: ignore[misc]


@pytest.mark.companions
def test_a_lent_device_is_used_by_its_name_and_the_others_are_not(world: World) -> None:
    assert world.ask("Jo", "light") == "done"
    assert world.assistant.called == [("light/turn_on", {}, ["light.ceiling"])]
    assert world.ask("Jo", "door") != "done"
    assert len(world.assistant.called) == 1
    assert world.ask("Mira", "door") == "done"
