"""The limits that docs/explanation/limits.md states are those of the code.

Each claim of the page is a list item that ends in `<!-- check: NAME -->`, the name of a check in this file, or in
`<!-- by hand: REASON -->`. A check is handed the claim's text: numbers are read from there, so that a page that says
another number than the code fails. Not covered: claims that are checked by hand, and words around a checked fact.
"""

from __future__ import annotations

import ast
import datetime as dt
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from hearth import cli, tool
from hearth.agent import MAX_REPAIR_ROUNDS, UNDO_KEPT, Agent, make_home, shipped_demonstrations
from hearth.config import McpServer, Settings
from hearth.config.settings_edit import editable
from hearth.errors import HomeBusyError, RequestError, ToolError
from hearth.execution.results import MAX_NAMED
from hearth.guard.policy.question import YesApprover
from hearth.language.discourse.coreference import WITHIN
from hearth.language.reading import MAX_CHARACTERS, why_unreadable
from hearth.planning.deferral import Cascade
from hearth.protocols import Tool
from hearth.registry import load_tools
from hearth.serve.pages.memory_pages import _sought
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import ClosedEgress, HashEncoder, ScriptedPlanner
from hearth.tools.foreign import Connection
from hearth.types import Plan, Step
from tests import ROOT
from tests.security.test_field_labels import Home, card, mail
from tests.story import Hearth
from tests.story import hearth as hearth
from tests.story import home as home
from tests.story import learned_home as learned_home

PAGE = ROOT / "docs" / "explanation" / "limits.md"
RESULTS = ROOT / "packages" / "hearth-bench" / "results"
ITEM = re.compile(r"^\* (.+?)\s*<!-- (check|by hand): (.+?) -->$", re.M | re.S)
Check = Callable[[str, pytest.FixtureRequest], None]
CHECKS: dict[str, Check] = {}
REFUSED_WRONGLY = {"requests.json": "wrongly_refused", "bench_q2a.json": "refused_wrongly"}


def check(function: Check) -> Check:
    CHECKS[function.__name__] = function
    return function


def claims() -> dict[str, str]:
    """Text of each checked claim, by the name of its check."""
    return {name: " ".join(text.split()) for text, kind, name in ITEM.findall(PAGE.read_text()) if kind == "check"}


def number(text: str, around: str) -> int:
    """Return the number that stands at `N` in `around`; words of the claim frame it."""
    before, _, after = around.partition("N")
    found = re.search(re.escape(before) + r"(\d[\d,]*)" + re.escape(after), text)
    assert found, f"no number as in {around!r} in: {text}"
    return int(found[1].replace(",", ""))


def measured(file: str, *keys: str) -> float:
    """Return a number out of a result file; `keys` lead to it."""
    value = json.loads((RESULTS / file).read_text())
    for key in keys:
        value = value[key]
    return float(value)


def tenths(share: float) -> int:
    return round(10 * share)


def test_every_claim_names_a_check_or_says_why_there_is_none() -> None:
    items = re.findall(r"^\* ", PAGE.read_text(), re.M)
    found = ITEM.findall(PAGE.read_text())
    assert len(items) == len(found)
    assert sorted(name for _, kind, name in found if kind == "check") == sorted(CHECKS)


@pytest.mark.parametrize("name", claims())
def test_a_claim_holds(name: str, request: pytest.FixtureRequest) -> None:
    CHECKS[name](claims()[name], request)


def _wrong() -> Iterator[tuple[str, str]]:
    """Every claim with each of its numbers changed in turn."""
    for name, text in claims().items():
        for digits in re.finditer(r"\b\d[\d,]*", text):
            yield name, f"{text[: digits.start()]}{int(digits[0].replace(',', '')) + 1}{text[digits.end() :]}"


@pytest.mark.parametrize(("name", "text"), sorted(_wrong()))
def test_a_wrong_number_is_found(name: str, text: str, request: pytest.FixtureRequest) -> None:
    with pytest.raises(AssertionError):
        CHECKS[name](text, request)


def test_the_readme_says_what_was_measured() -> None:
    readme = (ROOT / "README.md").read_text()
    assert f"{len(shipped_demonstrations()):,} demonstrations" in readme
    rows = (
        ("150 requests", "requests.json", ("results", "blind_requests", "recall"), ""),
        ("242 instructions", "bench_q2a.json", (), "untaught."),
        ("the same, taught by each owner", "bench_q2a.json", (), "personal."),
    )
    for first, file, keys, prefix in rows:
        right, refused, wrong = (
            100 * measured(file, *keys, prefix + name) for name in ("right", REFUSED_WRONGLY[file], "wrong_side_effect")
        )
        assert re.search(rf"^\| {first}[^|]*\| {right:.0f} % \| {refused:.0f} % \| {wrong:.1f} % \|$", readme, re.M)
    served = ("results", "all", "served_requests")
    right, refused, wrong = (
        100 * measured("real_requests.json", *served, name) for name in ("good", "refused", "acts_wrongly")
    )
    n = f"{measured('real_requests.json', *served, 'n'):,.0f}"
    assert re.search(rf"^\| {n} requests[^|]*\| {right:.0f} % \| {refused:.0f} % \| {wrong:.1f} % \|$", readme, re.M)
    assert measured("requests.json", "results", "blind_requests", "recall", "n") == 150
    assert measured("bench_q2a.json", "personal.n") == 242


# ── What it understands ───────────────────────────────────────────────────────────────────────────────────


@check
def english(text: str, request: pytest.FixtureRequest) -> None:
    words = ["erinnere", "mich", "bitte", "morgen", "an", "den", "Zahnarzt"]
    assert "English" in why_unreadable(" ".join(words))
    least = number(text, "fewer than N words")
    assert "English" in why_unreadable(" ".join(words[:least]))
    assert why_unreadable(" ".join(words[: least - 1])) == ""


@check
def length(text: str, request: pytest.FixtureRequest) -> None:
    most = number(text, "at most N characters")
    assert most == MAX_CHARACTERS
    assert why_unreadable("word " * (most // 5)) == ""
    assert str(most)[:2] in why_unreadable("a " * (most // 2) + "a")


@check
def recalled(text: str, request: pytest.FixtureRequest) -> None:
    assert number(text, "the N that Hearth ships") == len(shipped_demonstrations())
    hearth: Hearth = request.getfixturevalue("hearth")
    ran = hearth("ask", "--yes", "translate the moon into a sonata")
    assert ran.code == 3
    assert "I can't do that yet." in ran.out or "I'm not sure what you mean" in ran.out


@check
def share_right(text: str, request: pytest.FixtureRequest) -> None:
    blind = measured("requests.json", "results", "blind_requests", "recall", "right")
    assert number(text, "demonstrations, N in 100 came out right") == round(100 * blind)
    assert number(text, "of these instructions N in 10 came out right") == tenths(
        measured("bench_q2a.json", "personal.right")
    )


@check
def conversation(text: str, request: pytest.FixtureRequest) -> None:
    assert dt.timedelta(minutes=number(text, "for N minutes")) == WITHIN
    hearth: Hearth = request.getfixturevalue("hearth")
    assert hearth("ask", "remind me to water the plants tomorrow at nine").code == 0
    assert "read as: remind me to water the plants Friday" in hearth("ask", "same for Friday").out
    assert "Taken back: “same for Friday”" in hearth("ask", "no, on Sunday").out


@check
def free_text(text: str, request: pytest.FixtureRequest) -> None:
    hearth: Hearth = request.getfixturevalue("hearth")
    asked = "add a note: the ladder is lent to Ben until May"
    planned = json.loads(hearth("plan", "--json", asked).out)
    said = [a["value"] for node in planned["task_nodes"] for a in node["arguments"] if a["name"] == "text"]
    assert said
    assert all(value in asked for value in said)


# ── What it does ──────────────────────────────────────────────────────────────────────────────────────────

_NO_TOOL = (
    ("weather", "weather forecast"),
    ("web pages", "web browse page url"),
    ("shopping", "shop buy order"),
    ("bookings", "book reserve"),
    ("payments", "pay transfer"),
    ("phone calls", "call phone dial"),
    ("messengers", "message sms chat"),
    ("playing music", "play music song"),
)


@check
def no_tools(text: str, request: pytest.FixtureRequest) -> None:
    names = _tool_names(request)
    for said, words in _NO_TOOL:
        assert said in text
        assert [name for name in names if set(name.split("_")) & set(words.split())] == []


@check
def no_triggers(text: str, request: pytest.FixtureRequest) -> None:
    names = _tool_names(request)
    assert [name for name in names if {"when", "if", "trigger", "schedule"} & set(name.split("_"))] == []
    tools = load_tools(request.getfixturevalue("tmp_path")).specs
    repeating = {name for name, spec in tools.items() if any(p.name == "repeat" for p in spec.parameters)}
    # An event that repeats is an entry: nothing is done by it.
    assert repeating == {"add_reminder", "add_event", "change_event"}


@check
def ringing(text: str, request: pytest.FixtureRequest) -> None:
    hearth: Hearth = request.getfixturevalue("hearth")
    assert hearth("ask", "remind me to water the plants tomorrow at nine").code == 0
    (entry,) = (request.getfixturevalue("home") / "owner" / "reminders").glob("*.ics")
    assert "VALARM" in entry.read_text()
    loop = (ROOT / "src" / "hearth" / "cli" / "edge_commands.py").read_text()
    by_itself = re.findall(r'\bPiece\(\("(\w+)", "([\w-]+)"(?:, "--at-most", "\d+")?\)', loop)
    assert by_itself == [("edge", "sync"), ("memory", "tend"), ("learn", "--fast")]  # nothing there rings
    rings = [path.stem for path in (ROOT / "src").rglob("*.py") if "Ringing(" in path.read_text()]
    assert rings == ["house"]
    notifiers = re.findall(
        r"^class (\w*Notifier)\b", (ROOT / "src/hearth/serve/background/ringing.py").read_text(), re.M
    )
    assert notifiers == ["Notifier", "DesktopNotifier"]


@check
def several_fit(text: str, request: pytest.FixtureRequest) -> None:
    assert number(text, "up to N of them") == MAX_NAMED
    hearth: Hearth = request.getfixturevalue("hearth")
    for day in ("tomorrow", "on Friday"):
        assert hearth("ask", "--yes", f"add lunch with Jonas {day} at noon").code == 0
    for agreeing in ([], ["--yes"]):
        ran = hearth("ask", *agreeing, "cancel lunch with Jonas")
        assert ran.code == 4
        assert "lunch with Jonas, tomorrow at 12:00; lunch with Jonas, Friday" in ran.out
    assert hearth("ask", "--yes", "cancel lunch with Jonas on Friday").code == 0
    asked = hearth("ask", "cancel lunch with Jonas")
    assert asked.code == 5  # now it is one, and nobody agreed


@check
def repairs(text: str, request: pytest.FixtureRequest) -> None:
    assert number(text, "at most N times") == MAX_REPAIR_ROUNDS


@check
def undo(text: str, request: pytest.FixtureRequest) -> None:
    assert dt.timedelta(days=number(text, "for N days")) == UNDO_KEPT


@check
def one_agent(text: str, request: pytest.FixtureRequest) -> None:
    folder = _made_home(request)
    with _opened(folder), pytest.raises(HomeBusyError), _opened(folder):
        pass


@check
def foreign_programs(text: str, request: pytest.FixtureRequest) -> None:
    seen = request.getfixturevalue("tmp_path") / "seen"
    look = f"import os; open({str(seen)!r}, 'w').write(f'{{os.getuid()}} {{os.listdir()}} {{sorted(os.environ)}}')"
    server = McpServer(command=(sys.executable, "-c", look), env=("HEARTH_NAMED",), timeout_s=20)
    with pytest.raises(ToolError):  # it looks and ends
        Connection("shop", server, {"HEARTH_NAMED": "1", "HEARTH_SECRET": "2"}).tools(ClosedEgress())
    assert seen.read_text().startswith(f"{os.getuid()} [] ")
    assert "HEARTH_NAMED" in seen.read_text()
    assert not {"HEARTH_SECRET", "PYTHONPATH", "HEARTH_HOME"} & set(ast.literal_eval(seen.read_text().split(" ", 2)[2]))


@check
def page(text: str, request: pytest.FixtureRequest) -> None:
    commands = set(cli.hearth.list_commands(_context()))
    assert commands.isdisjoint({"web", "app", "listen", "speak", "voice", "pair"})
    assert not any(importlib.util.find_spec(f"hearth.{room}") for room in ("voice", "web"))
    assert Settings().serve.host == "127.0.0.1"
    assert "ssl" not in (ROOT / "src" / "hearth" / "serve" / "door.py").read_text()


@check
def written_by_hand(text: str, request: pytest.FixtureRequest) -> None:
    assert all(editable(name) is None for name in ("mail.imap", "home.device", "rule", "policy"))
    assert editable("serve.port") is not None
    for kind in ("person", "day", "topic"):
        with pytest.raises(RequestError):
            _sought({"kind": kind, "what": "anything"})


@check
def linux(text: str, request: pytest.FixtureRequest) -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    assert [c for c in classifiers if c.startswith("Operating System")] == ["Operating System :: POSIX :: Linux"]
    assert "import fcntl" in (ROOT / "src" / "hearth" / "storage" / "database.py").read_text()  # not on Windows


# ── What it sees in home video ────────────────────────────────────────────────────────────────────────────


@check
def video_sizes(text: str, request: pytest.FixtureRequest) -> None:
    people = pytest.importorskip("hearth_video.experts.person_detector", reason="needs hearth-video")
    cannot = " ".join(people.PersonExpert.card.cannot)
    assert f"smaller than about {number(text, 'smaller than N pixels')} pixels or in the dark" in cannot
    most = ["no", "one", "two", "three", "four", "five", "six", "seven"][number(text, "beyond N people")]
    assert f"more than about {most} people at once" in cannot


# ── What it protects ──────────────────────────────────────────────────────────────────────────────────────


@check
def labels(text: str, request: pytest.FixtureRequest) -> None:
    with Store.open(request.getfixturevalue("tmp_path") / "hearth.db") as store:
        home = Home(store, Folder(request.getfixturevalue("tmp_path") / "owner", store))
        home.write("contacts/anna.vcf", card("anna", "Anna Weber", "anna@example.org"))
        home.run(Plan((Step("list_contacts"),)))  # the first look: her card is the owner's
        home.write("mail/cur/1.a:2,S", mail("anna@example.org"))
        (found,) = home.run(Plan((Step("find_mail"),)))
        assert found.fields["sender"].is_trusted
        home.write("mail/cur/2.b:2,S", mail("mallory@example.net"))
        (found,) = home.run(Plan((Step("find_mail"),)))
        assert not found.fields["sender"].is_trusted
        home.executor.close()


@check
def masked(text: str, request: pytest.FixtureRequest) -> None:
    row = "kinds of the settings: forms, tagger"
    whole = measured("privacy_messages.json", "rows", row, "documents_fully_masked")
    assert number(text, "default settings, N in 10") == tenths(1 - whole)


@check
def own_files(text: str, request: pytest.FixtureRequest) -> None:
    hearth: Hearth = request.getfixturevalue("hearth")
    note = request.getfixturevalue("home") / "owner" / "notes" / "concert.md"
    note.write_text("The Quillfeather concert is sold out.\n")
    assert hearth("memory", "add", "Ben said the Quillfeather concert is sold out").code == 0
    assert hearth("forget", "--topic", "the Quillfeather concert", "--yes").code == 0
    assert "Quillfeather" in note.read_text()
    assert hearth("memory", "search", "Quillfeather concert").out.count("Quillfeather") == 0


@check
def in_process(text: str, request: pytest.FixtureRequest) -> None:
    seen: list[int] = []

    @tool()
    def which_process() -> str:
        """Tell the process."""
        seen.append(os.getpid())
        return "told"

    with _opened(_made_home(request), which_process) as agent:
        agent.planner = Cascade([ScriptedPlanner({"go": Plan((Step("which_process"),), 1.0, "scripted")})])
        assert agent.run(agent.request("go")).answer.status == "done"
    assert seen == [os.getpid()]


@check
def at_rest(text: str, request: pytest.FixtureRequest) -> None:
    hearth: Hearth = request.getfixturevalue("hearth")
    folder: Path = request.getfixturevalue("tmp_path")
    assert hearth("memory", "add", "my locker is Quillfeather 48").code == 0
    kept = b"".join(path.read_bytes() for path in request.getfixturevalue("home").glob("hearth.db*"))
    assert b"Quillfeather" in kept
    archive = folder / "home.hearth"
    assert hearth("memory", "backup", "--new-key", str(folder / "key"), str(archive)).code == 0
    assert b"Quillfeather" not in archive.read_bytes()
    assert b"age-encryption.org" in archive.read_bytes()


_CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), 5).close()"
_DOOR = """
import socket, subprocess, sys
from hearth.errors import EgressError
from hearth.guard.egress.audit_hook import install_network_guard
listener = socket.create_server(("127.0.0.1", 0))
connect = {connect!r}.format(port=listener.getsockname()[1])
install_network_guard()
try:
    exec(connect)
except EgressError:
    print("own process: refused")
print("child process:", subprocess.run([sys.executable, "-c", connect]).returncode)
"""


@check
def door(text: str, request: pytest.FixtureRequest) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DOOR.format(connect=_CONNECT)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines() == ["own process: refused", "child process: 0"], done.stderr


# ── Shared ────────────────────────────────────────────────────────────────────────────────────────────────


def _context() -> click.Context:
    return click.Context(cli.hearth)


def _tool_names(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return tuple(load_tools(request.getfixturevalue("tmp_path")).specs)


def _made_home(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue("tmp_path") / "made"
    make_home(folder, {"name": "", "email": "", "time_zone": "Europe/Berlin", "country": ""})
    return folder


@contextmanager
def _opened(folder: Path, *tools: Tool) -> Iterator[Agent]:
    agent = Agent.open(folder, YesApprover(), environ=os.environ, encoder=HashEncoder(), extra_tools=tools)
    try:
        yield agent
    finally:
        agent.close()
