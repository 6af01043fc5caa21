"""What the first question opens is handed back when nobody asks, and opened again by the next one."""

from __future__ import annotations

import time
from pathlib import Path

from hearth.agent import Agent
from hearth.serve.background.background_sync import AFTER_S, Resting
from hearth.serve.desk import Caller
from hearth.serve.programs.openai_api import ClientTools, Exchange, Function, Offer
from hearth.types import Plan, Step
from tests.served_home import READS, Served, made, served

RENT = "how much is the rent"
WEATHER = Offer((Function(name="get_weather", description="The weather of a city"),))


def n_open(up: Served) -> int:
    def count(agent: Agent) -> int:
        home = agent.home_answers
        opened = (agent._word_reader._reader, home._reader._reader, home._questions and home._questions._encoder)
        return sum(one is not None for one in opened)

    return up.desk.use_later(count).result(20)


def test_readers_are_handed_back_once_it_is_quiet_and_open_again(tmp_path: Path) -> None:
    home = made(tmp_path / "home")
    (home / "owner" / "notes" / "rent.md").write_text("The rent is 900 euros a month, due on the first.\n")
    with served(home, {RENT: Plan((Step("find_answer", {"question": RENT}),))}) as up:
        tools = ClientTools()
        resting = Resting(up.desk, tools)

        def ask() -> str:
            return up.desk.ask(RENT, Caller("page", is_owner=True)).result(30).answer.text

        first = ask()
        tools.turn(Exchange("weather in Rome"), WEATHER)
        assert "900" in first
        assert n_open(up) > 0
        assert tools._filler is not None
        now = time.monotonic()
        assert not resting.look(now + AFTER_S - 60), "somebody asked a moment ago"
        assert resting.look(now + AFTER_S + 1)
        assert n_open(up) == 0
        assert tools._filler is None
        assert not resting.look(now + 3 * AFTER_S), "nothing was asked since"
        assert ask() == first
        assert n_open(up) > 0


def test_a_desk_with_a_request_is_never_quiet(tmp_path: Path) -> None:
    with served(made(tmp_path / "home")) as up:
        tools = ClientTools()
        before = up.desk.last_s
        up.desk.ask(READS, Caller("page", is_owner=True)).result(20)
        assert before <= up.desk.last_s <= time.monotonic()
        assert not Resting(up.desk, tools).look(time.monotonic())
