"""The guard judges what is really touched: 300 ways to name 30 things, each past no rule, and each twin let through."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest

import hearth
from hearth.config import parse_settings
from hearth.errors import Ambiguous, Conflict, DeniedError, HearthError, NotFound, RegistryError
from hearth.formats.record_places import canonical_url
from hearth.formats.tool_signature import FunctionTool, Names, tool
from hearth.guard.decision import Occasion, Records
from hearth.guard.labels import Value
from hearth.guard.monitor import Monitor
from hearth.guard.policy.question import RefusingApprover
from hearth.guard.policy.rules import Policy
from hearth.guard.referents import Referents
from hearth.protocols import Approver, CallContext
from hearth.registry import load_tools, unresolved_parameters
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, FixedApprover, make_call
from hearth.types import OWNER, Plain, Plan, Ref, Referent, Ruling, Step
from hearth_home.tools import home as home_tools

TOOLS = {**load_tools(None).by_name, **{one.spec.name: one for one in home_tools.TOOLS}}
DEVICES: list[Plain] = [
    {"name": name, "room": room, "kind": kind}
    for name, room, kind in (
        ("front door", "hall", "lock"),
        ("garden gate", "garden", "lock"),
        ("garage door", "garage", "door"),
        ("ceiling lamp", "kitchen", "lamp"),
        ("reading lamp", "bedroom", "lamp"),
        ("radiator", "bathroom", "heating"),
        ("shutters", "bedroom", "blinds"),
        ("radio", "kitchen", "speaker"),
    )
]
SCENES: dict[str, Plain] = {
    "film night": {"ceiling lamp": "off"},
    "evening": {
        "the front door": "locked",
        "lamp in the bedroom": 40,
        "radio": 20,
        "radiator": 23,
        "shutters": "closed",
        "garage door": "closed",
    },
    "dark": {"ceiling lamp": "off", "bedroom reading lamp": "off"},
    "stale": {"lava lamp": "on"},
}


class World:
    """A home with files, symlinks, mails, events and devices, and a monitor with the owner's rules."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        for path, text in FILES.items():
            self.write(path, text)
        for path, target in {"documents/taxes": "tax", "documents/a.txt": "tax/2025.txt", "documents/d": "."}.items():
            (folder.root / path).symlink_to(target)

    def write(self, path: str, text: str) -> None:
        file = self.folder.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def call(self, key: str = "k") -> CallContext:
        settings: dict[str, Mapping[str, Plain]] = {
            "owner": {"email": "me@mine.example"},
            "home": {"device": DEVICES, "scene": SCENES},
        }
        return make_call(key=key, workspace=self.folder.for_call(key), settings=settings)

    def monitor(self, rules: str, approver: Approver | None = None, records: Records | None = None) -> Monitor:
        settings = parse_settings(rules, Path("hearth.toml"))
        policy = Policy.of(settings, {name: one.spec for name, one in TOOLS.items()})
        return Monitor(TOOLS, policy, approver or RefusingApprover(), records)

    def ruling(self, monitor: Monitor, tool: str, arguments: Mapping[str, Plain]) -> Ruling:
        """How a plan of one call, with these words, is ruled on; and if it may run, how its call is."""
        plan = Plan((Step(tool, dict(arguments)),), 1.0)  # type: ignore[arg-type]
        call = self.call()
        ruled = monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
        if ruled.verdict == "deny":
            return ruled
        try:
            return monitor.admit(plan, 0, {name: Value(value, OWNER) for name, value in arguments.items()}, call)
        except HearthError as error:  # nothing is found, or more than one thing: nothing is done
            return Ruling("deny", str(error), "failed")


def _event(uid: str, title: str, start: str, rule: str = "") -> str:
    lines = [f"UID:{uid}", f"SUMMARY:{title}", f"DTSTART:{start}", *([rule] if rule else [])]
    return "\r\n".join(["BEGIN:VCALENDAR", "BEGIN:VEVENT", *lines, "END:VEVENT", "END:VCALENDAR", ""])


FILES = {
    "documents/tax/2025.txt": "secret",
    "documents/tax/2024/return.txt": "secret",
    "documents/tax/list.txt": "secret",
    "documents/letters/2023.txt": "a letter",
    "documents/letters/council.txt": "a letter",
    "documents/list.txt": "milk",
    "documents/ideas.md": "an idea",
    "calendar/dentist.ics": _event("dentist", "Dentist", "20261124T091500"),
    "calendar/choir.ics": _event("choir", "Choir", "20261124T190000", "RRULE:FREQ=WEEKLY"),
    "calendar/mila.ics": _event("mila", "Mila's birthday", "20261125T150000"),
    "contacts/a.vcf": "BEGIN:VCARD\r\nUID:anna\r\nFN:Anna Berg\r\nEMAIL:anna@berg.example\r\nEND:VCARD\r\n",
    "contacts/b.vcf": "BEGIN:VCARD\r\nUID:ben\r\nFN:Ben Ash\r\nEMAIL:ben@ash.example\r\nEND:VCARD\r\n",
    "notes/diary.md": "# Diary\n\ndear\n",
    "notes/shopping.md": "# Shopping list\n\n- [ ] milk\n",
    "notes/gifts.md": "# Gifts\n\n- [ ] lamp\n",
}


def _paths(real: str, name: str) -> list[str]:
    """Ten spellings of one file."""
    inner = real.removeprefix("documents/")
    return [
        real,
        inner,
        f"./{inner}",
        f" {real} ",
        real.replace("/", "//"),
        f"documents/d/{inner}",
        f"documents/./{inner}",
        inner.replace("tax/", "taxes/", 1) if inner.startswith("tax/") else f"documents/d/d/{inner}",
        name,
        name.rpartition(".")[0],
    ]


def _addresses(address: str, name: str) -> list[str]:
    local, _, host = address.partition("@")
    wide = "".join(chr(ord(c) + 0xFEE0) for c in host.partition(".")[0])
    return [
        address,
        f"{local}@{host.upper()}",
        f"{local.title()}@{host.title()}",
        f" {address} ",
        f"{name} <{address}>",
        f'"{name}" <{address.upper()}>',
        f"<{address}>",
        f"{local}@{wide}.{host.partition('.')[2]}",
        f"{local}@{host[:2]}\u00ad{host[2:]}",
        f"{address}.",
    ]


def _said(*words: str) -> list[str]:
    return [*words]


Row = tuple[str, str, str, list[str], Mapping[str, Plain]]
"""Tool, argument, the owner's rule on it, ten spellings of one thing, other arguments."""

THINGS: list[Row] = [
    *(
        (tool, "path", f"{{ matches = '{pattern}' }}", _paths(real, name), {})
        for tool, pattern, real, name in (
            ("delete_file", "documents/tax/.*", "documents/tax/2025.txt", "2025.txt"),
            ("delete_file", "documents/tax/.*", "documents/tax/2024/return.txt", "return.txt"),
            ("delete_file", "tax/.*", "documents/tax/2025.txt", "2025.txt"),
            ("read_file", "documents/tax/.*", "documents/tax/2025.txt", "2025.txt"),
            ("read_file", "documents/letters/.*", "documents/letters/council.txt", "council.txt"),
            ("delete_file", "documents/ideas.md", "documents/ideas.md", "ideas.md"),
            ("copy_file", "documents/tax/2024/.*", "documents/tax/2024/return.txt", "return.txt"),
            ("read_file", ".*return[.]txt", "documents/tax/2024/return.txt", "return.txt"),
            ("read_text", "documents/tax/.*", "documents/tax/2025.txt", "2025.txt"),
        )
    ),
    *(
        (tool, "path", "{ one_of = ['documents/letters/council.txt'] }", _paths("documents/letters/council.txt", "council.txt"), extra)
        for tool, extra in (("copy_file", {"to": "b.txt"}), ("move_file", {"to": "letters/c.txt"}), ("delete_file", {}))
    ),
    *(
        (tool, "to", "{ matches = 'documents/tax/.*' }", ["tax/new.txt", "documents/tax/new.txt", "./tax/new.txt", "taxes/new.txt", "d/tax/new.txt", "tax//new.txt", "taxes/./new.txt", " tax/new.txt", "d/d/taxes/new.txt", "tax/"], {"path": "ideas.md"})
        for tool in ("copy_file", "move_file")
    ),
    (
        "write_file",
        "path",
        "{ matches = 'documents/tax/.*' }",
        ["tax/new.txt", "documents/tax/new.txt", "./tax/new.txt", "taxes/new.txt", "d/tax/new.txt", "tax//new.txt", "taxes/deep/new.txt", " tax/new.txt", "d/d/taxes/new.txt", "a.txt"],
        {"text": "x"},
    ),
    *(
        ("draft_mail", "to", rule, _addresses(address, name), {"text": "hi"})
        for rule, address, name in (
            ("{ one_of = ['mallory@evil.example'] }", "mallory@evil.example", "Mal Lory"),
            ("{ matches = '.*@evil[.]example' }", "mallory@evil.example", "Mal Lory"),
            ("{ matches = 'ben@ash[.]example' }", "ben@ash.example", "Ben Ash"),
            ("{ contact = false }", "who@else.example", "Anna Berg"),
        )
    ),
    *(
        (tool, "device", f"{{ one_of = ['{ruled}'] }}", spellings, extra)
        for tool, ruled, spellings, extra in (
            ("unlock_door", "front door", _said("front door", "the front door", "Front Door", "FRONT DOOR", "the hall door", "hall door", "hall/front door", "the door in the hall", "door hall", "front"), {}),
            ("unlock_door", "hall/front door", _said("front door", "my front door", "Front Door", "FRONT DOOR", "the hall door", "hall door", "hall/front door", "hall front door", "front lock", "the lock in the hall"), {}),
            ("lock_door", "garden gate", _said("garden gate", "GARDEN GATE", "the garden door", "door in the garden", "the garden gate", "garden/garden gate", "garden lock", "the gate in the garden", "our garden gate", "all doors"), {}),
            ("unlock_door", "Garage Door", _said("garage door", "the garage door", "Garage Door", "garage/garage door", "GARAGE DOOR", "the door of the garage", "garage", "our garage door", "the garage", "garage door please"), {}),
            ("turn_off", "ceiling lamp", _said("ceiling lamp", "the kitchen light", "kitchen lamp", "Ceiling Lamp", "kitchen/ceiling lamp", "all lights", "the lamp in the kitchen", "the ceiling light", "every lamp", "kitchen ceiling lamp"), {}),
            ("set_brightness", "bedroom reading lamp", _said("reading lamp", "bedroom lamp", "the reading light", "the bedroom light", "all lamps", "Reading Lamp", "bedroom/reading lamp", "the lamp in the bedroom", "lights", "bedroom reading lamp"), {"percent": 10}),
            ("set_volume", "radio", _said("radio", "the radio", "speaker", "the speaker", "kitchen radio", "kitchen/radio", "Radio", "music", "the music in the kitchen", "the stereo"), {"percent": 10}),
            ("close_blinds", "shutters", _said("shutters", "blinds", "the blinds", "all blinds", "bedroom shutters", "the shutters in the bedroom", "bedroom/shutters", "Shutters", "bedroom blinds", "curtains"), {}),
            ("set_temperature", "radiator", _said("radiator", "heating", "the heating", "bathroom", "bathroom radiator", "the heating in the bathroom", "bathroom/radiator", "Radiator", "all heating", "thermostat"), {"temperature": 20}),
        )
    ),
    ("start_scene", "scene", "{ one_of = ['film night'] }", _said("film night", "Film Night", "the film night scene", "film night mode", "my film night", "FILM NIGHT", "film nights", "the film night", "film night scene", " film night "), {}),
    ("cancel_event", "event", "{ matches = '.*Dentist.*' }", _said("dentist"), {}),
    ("delete_note", "note", "{ one_of = ['diary'] }", _said("diary", "Diary", "DIARY", " diary", "diary ", "Diary.", "DiARY", "diary!", "diary", "Diary?"), {}),
    ("remove_from_list", "list", "{ one_of = ['shopping'] }", _said("shopping", "Shopping", "the shopping list", "my shopping list", "SHOPPING", "shopping list", "our shopping list", "Shopping list", " shopping ", "the shopping"), {"items": ["milk"]}),
]  # fmt: skip
TWINS: list[tuple[str, str, str, str, Mapping[str, Plain]]] = [
    ("delete_file", "path", "{ matches = 'documents/tax/.*' }", "2023.txt", {}),
    ("delete_file", "path", "{ matches = 'documents/tax/.*' }", "documents/list.txt", {}),
    ("read_file", "path", "{ matches = 'documents/tax/.*' }", "ideas", {}),
    ("copy_file", "to", "{ matches = 'documents/tax/.*' }", "letters/taxes.txt", {"path": "ideas.md"}),
    ("write_file", "path", "{ matches = 'documents/tax/.*' }", "taxi/new.txt", {"text": "x"}),
    ("draft_mail", "to", "{ one_of = ['mallory@evil.example'] }", "Anna Berg <Anna@Berg.example>", {"text": "hi"}),
    ("draft_mail", "to", "{ contact = false }", "ANNA@BERG.EXAMPLE", {"text": "hi"}),
    ("unlock_door", "device", "{ one_of = ['front door'] }", "the garage door", {}),
    ("turn_off", "device", "{ one_of = ['ceiling lamp'] }", "the bedroom light", {}),
    ("cancel_event", "event", "{ matches = '.*Dentist.*' }", "mila", {}),
    ("delete_note", "note", "{ one_of = ['diary'] }", "gifts", {}),
    ("remove_from_list", "list", "{ one_of = ['shopping'] }", "gifts", {"items": ["lamp"]}),
]


def _rule(tool: str, argument: str, condition: str) -> str:
    return f'[policy.{tool}]\nruling = "allow"\n[[rule]]\ntools = ["{tool}"]\nwhen.{argument} = {condition}\nruling = "deny"\n'


@pytest.fixture
def world(folder: Folder) -> World:
    return World(folder)


def _given(tool: str, argument: str, said: str, more: Mapping[str, Plain]) -> dict[str, Plain]:
    parameter = TOOLS[tool].spec.parameter(argument)
    assert parameter is not None
    return {argument: [said] if parameter.type.startswith("list[") else said, **more}


def test_thirty_things_in_three_hundred_spellings() -> None:
    assert len(THINGS) >= 30
    assert sum(len(row[3]) for row in THINGS) >= 300


@pytest.mark.parametrize("row", THINGS, ids=lambda row: f"{row[0]} {row[3][0]} {row[2]}")
def test_no_spelling_of_a_thing_gets_past_a_rule_that_denies_it(world: World, row: Row) -> None:
    name, argument, condition, spellings, more = row
    monitor = world.monitor(_rule(name, argument, condition))
    rulings = {one: world.ruling(monitor, name, _given(name, argument, one, more)) for one in spellings}
    assert [one for one, ruling in rulings.items() if ruling.verdict != "deny"] == []
    not_found = [one for one, ruling in rulings.items() if ruling.rule == "failed"]
    assert len(not_found) <= len(rulings) // 5, not_found  # else this would show little


@pytest.mark.parametrize("row", TWINS, ids=lambda row: f"{row[0]} {row[3]}")
def test_other_things_are_not_refused(world: World, row: tuple[str, str, str, str, Mapping[str, Plain]]) -> None:
    name, argument, condition, said, more = row
    monitor = world.monitor(_rule(name, argument, condition))
    assert world.ruling(monitor, name, _given(name, argument, said, more)).verdict == "allow"


def test_what_is_left_out_is_judged_as_the_thing_that_is_then_meant(world: World) -> None:
    monitor = world.monitor(_rule("close_blinds", "device", "{ one_of = ['shutters'] }"))
    assert world.ruling(monitor, "close_blinds", {}).verdict == "deny"
    monitor = world.monitor(_rule("close_blinds", "device", "{ one_of = ['front door'] }"))
    assert world.ruling(monitor, "close_blinds", {}).verdict == "allow"


@pytest.mark.parametrize(
    ("rule", "change", "verdict"),
    [
        ("when.percent = { min = 60 }", {}, "allow"),
        ("when.percent = { min = 60 }", {"change": "to"}, "allow"),
        ("when.percent = { min = 60 }", {"change": "up_by"}, "deny"),
        ("when.percent = { min = 60 }", {"change": "down_by"}, "allow"),
        ("when.percent = { max = 20 }", {"change": "up_by"}, "allow"),
        ("when.percent = { max = 20 }", {"change": "down_by"}, "deny"),
        ("when.percent = { one_of = [100] }", {"change": "up_by"}, "deny"),
        ('when.percent = { min = 60 }\nwhen.change = { one_of = ["up_by"] }', {"change": "up_by"}, "allow"),
        ('when.percent = { min = 30 }\nwhen.change = { one_of = ["up_by"] }', {"change": "up_by"}, "deny"),
    ],
)
def test_a_level_is_reached_by_no_step_past_a_rule_that_denies_it(
    world: World, rule: str, change: Mapping[str, Plain], verdict: str
) -> None:
    rules = f'[policy.set_volume]\nruling = "allow"\n[[rule]]\ntools = ["set_volume"]\n{rule}\nruling = "deny"\n'
    given = {"percent": 40, "device": "radio", **change}
    assert world.ruling(world.monitor(rules), "set_volume", given).verdict == verdict


def test_a_rule_that_allows_up_to_a_level_allows_no_step(world: World) -> None:
    rules = '[[rule]]\ntools = ["set_temperature"]\nwhen.temperature = { max = 22 }\nruling = "allow"\n'
    steps: dict[str, Mapping[str, Plain]] = {
        "allow": {"temperature": 21},
        "deny": {"temperature": 2, "change": "up_by"},
    }
    assert {
        verdict: world.ruling(world.monitor(rules), "set_temperature", step).verdict for verdict, step in steps.items()
    } == {"allow": "allow", "deny": "deny"}, "the step is asked about, and nobody is there"
    small = rules.replace("max = 22 }", 'max = 2 }\nwhen.change = { one_of = ["up_by"] }')
    assert world.ruling(world.monitor(small), "set_temperature", steps["deny"]).verdict == "allow"


@pytest.mark.parametrize("title", ["DENTIST ", "Den\u200btist", "D\u0435ntist", "\uff24entist", " Dentist\u00a0"])
def test_no_way_to_write_a_title_passes_a_rule_about_it(world: World, title: str) -> None:
    world.write("calendar/x.ics", _event("x", title, "20261126T091500"))
    monitor = world.monitor(_rule("cancel_event", "event", "{ one_of = ['Dentist'] }"))
    assert world.ruling(monitor, "cancel_event", {"event": "x"}).verdict == "deny"
    assert world.ruling(monitor, "cancel_event", {"event": "mila"}).verdict == "allow"


def test_a_pattern_that_denies_a_title_denies_it_in_any_case(world: World) -> None:
    world.write("calendar/x.ics", _event("x", "DENTIST", "20261126T091500"))
    monitor = world.monitor(_rule("cancel_event", "event", "{ matches = 'Dent.*' }"))
    assert world.ruling(monitor, "cancel_event", {"event": "x"}).verdict == "deny"


@pytest.mark.parametrize(
    ("written", "rule", "path", "verdict"),
    [
        ("documents/tax/a\nb.txt", "{ matches = 'documents/tax/.*' }", "documents/tax/a\nb.txt", "deny"),
        ("documents/ste\u0301/x.txt", "{ matches = 'documents/st\u00e9/.*' }", "x.txt", "deny"),
        ("documents/st\u00e9/x.txt", "{ matches = 'documents/ste\u0301/.*' }", "x.txt", "deny"),
        ("documents/ste\u0301/x.txt", "{ one_of = ['documents/st\u00e9/x.txt'] }", "x.txt", "deny"),
        ("documents/st/x.txt", "{ matches = 'documents/st\u00e9/.*' }", "x.txt", "allow"),
    ],
)
def test_a_name_with_a_line_in_it_or_with_accents_apart_passes_no_rule(
    world: World, written: str, rule: str, path: str, verdict: str
) -> None:
    world.write(written, "secret")
    assert (
        world.ruling(world.monitor(_rule("delete_file", "path", rule)), "delete_file", {"path": path}).verdict
        == verdict
    )


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("my IBAN is", "deny"),
        ("Hi\n\nmy IBAN is\n\nNora", "deny"),
        ("my I\u200bBAN is", "deny"),
        ("my name is", "allow"),
    ],
)
def test_a_pattern_that_denies_a_text_denies_it_on_any_line(world: World, text: str, verdict: str) -> None:
    monitor = world.monitor(_rule("draft_mail", "text", "{ matches = '.*IBAN.*' }"))
    assert world.ruling(monitor, "draft_mail", {"to": ["ben@ash.example"], "text": text}).verdict == verdict


def test_a_pattern_that_allows_is_read_as_it_stands(world: World) -> None:
    rules = '[[rule]]\ntools = ["draft_mail"]\nwhen.text = { matches = "Thanks.*" }\nruling = "allow"\n'
    verdicts = [
        world.ruling(world.monitor(rules), "draft_mail", {"to": ["ben@ash.example"], "text": text}).verdict
        for text in ("Thanks a lot", "Thanks\nand pay to DE89")
    ]
    assert verdicts == ["allow", "deny"]  # the second is asked about, and nobody is there


def test_a_yes_to_what_is_found_is_no_yes_to_what_a_rule_of_its_own_asks_about(world: World) -> None:
    """The question could not say which file; the owner has a rule that asks about these files."""
    rule = "name = 'tax'\ntools = ['delete_file']\nruling = 'ask'\nreason = 'these are tax papers'\n"
    monitor = world.monitor(f"[[rule]]\n{rule}when.path = {{ matches = 'documents/tax/.*' }}\n", FixedApprover("once"))
    call = world.call()
    plan = Plan((Step("find_files", {"query": "2025"}), Step("delete_file", {"path": Ref(0, ("path",))})), 1.0)
    monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    found = monitor.admit(plan, 1, {"path": Value("documents/tax/2025.txt", OWNER)}, call)
    assert (found.verdict, found.rule) == ("ask", "rule 'tax'")
    assert monitor.admit(plan, 1, {"path": Value("documents/letters/2023.txt", OWNER)}, call).verdict == "allow"
    said = Plan((Step("delete_file", {"path": "documents/tax/2025.txt"}),), 1.0)  # the question named it
    monitor.rule(said, occasion=Occasion(call.now, call.workspace, "e", None, call))
    assert monitor.admit(said, 0, {"path": Value("documents/tax/2025.txt", OWNER)}, call).verdict == "allow"


def test_a_rule_that_allows_heeds_no_name_that_other_things_have_too(world: World) -> None:
    rules = '[policy.delete_file]\nruling = "deny"\n[[rule]]\ntools = ["delete_file"]\nwhen.path = { one_of = ["list.txt"] }\nruling = "allow"\n'
    monitor = world.monitor(rules)
    assert world.ruling(monitor, "delete_file", {"path": "list.txt"}).verdict == "allow"  # documents/list.txt
    assert world.ruling(monitor, "delete_file", {"path": "tax/list.txt"}).verdict == "deny"


def test_the_tool_is_handed_the_thing(world: World) -> None:
    monitor = world.monitor('[policy.delete_file]\nruling = "allow"\n')
    plan = Plan((Step("delete_file", {"path": "documents/a.txt"}),), 1.0)
    call = world.call()
    monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    words = {"path": Value("documents/a.txt", OWNER)}
    assert monitor.admit(plan, 0, words, call).verdict == "allow"
    (world.folder.root / "documents/a.txt").unlink()
    (world.folder.root / "documents/a.txt").symlink_to("list.txt")  # swapped after it was judged
    value = monitor.call(plan, 0, words, call).data
    assert isinstance(value, dict)
    assert value["path"] == "documents/tax/2025.txt"
    assert (world.folder.root / "documents/list.txt").exists()


# ── Consents ──────────────────────────────────────────────────────────────────────────────────────────────


def _run(world: World, monitor: Monitor, tool: str, arguments: Mapping[str, Plain], key: str) -> str:
    plan = Plan((Step(tool, dict(arguments)),), 1.0)  # type: ignore[arg-type]
    call = world.call(key)
    ruled = monitor.rule(plan, occasion=Occasion(call.now, call.workspace, key, None, call))
    if ruled.verdict != "allow":
        return ruled.verdict
    try:
        monitor.call(plan, 0, {name: Value(value, OWNER) for name, value in arguments.items()}, call)
    except DeniedError:
        return "deny"
    return "done"


def test_always_for_one_file_is_no_yes_to_another_of_its_name(world: World) -> None:
    with Store.open(world.folder.root.parent / "consents.db") as store:
        records, approver = Records.of(store), FixedApprover("always")
        monitor = world.monitor("", approver, records)
        assert _run(world, monitor, "delete_file", {"path": "documents/list.txt"}, "1") == "done"
        assert len(approver.questions) == 1
        nobody = world.monitor("", FixedApprover("nobody"), records)
        assert _run(world, nobody, "delete_file", {"path": "list.txt"}, "2") == "deny"  # now tax/list.txt
        assert (world.folder.root / "documents/tax/list.txt").exists()
        world.write("documents/list.txt", "eggs")
        assert _run(world, nobody, "delete_file", {"path": "./list.txt"}, "3") == "done"


def test_always_without_naming_the_device_holds_for_the_devices_that_were_meant(world: World) -> None:
    records, approver = Records(), FixedApprover("always")
    monitor = world.monitor("", approver, records)
    assert _run(world, monitor, "close_blinds", {}, "1") == "done"
    nobody = world.monitor("", FixedApprover("nobody"), records)
    assert _run(world, nobody, "close_blinds", {"device": "the shutters in the bedroom"}, "2") == "done"
    assert _run(world, nobody, "close_blinds", {}, "3") == "done"
    DEVICES.append({"name": "curtains", "room": "office", "kind": "blinds"})
    try:
        assert _run(world, nobody, "close_blinds", {}, "4") == "deny"  # one more would be closed now
    finally:
        DEVICES.pop()


def test_never_said_of_words_before_still_holds_for_the_thing(world: World) -> None:
    records = Records()
    spec = TOOLS["delete_file"].spec
    records.consents.keep(spec, {"path": Value("2025.txt", OWNER)}, "deny", frozenset(), FIXED_NOW)
    monitor = world.monitor('[policy.delete_file]\nruling = "allow"\n', records=records)
    assert world.ruling(monitor, "delete_file", {"path": "tax/2025.txt"}).verdict == "deny"
    assert world.ruling(monitor, "delete_file", {"path": "2023.txt"}).verdict == "allow"


# ── What changes between yes and call ─────────────────────────────────────────────────────────────────────


def test_a_thing_that_changed_since_the_yes_is_asked_about_again(world: World) -> None:
    approver = FixedApprover("once")
    monitor = world.monitor("", approver)
    plan = Plan((Step("delete_file", {"path": "2025.txt"}),), 1.0)
    call = world.call()
    assert monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call)).verdict == "allow"
    (world.folder.root / "documents/tax/2025.txt").rename(world.folder.root / "documents/letters/2025.txt")
    (world.folder.root / "documents/a.txt").unlink()
    ruling = monitor.admit(plan, 0, {"path": Value("2025.txt", OWNER)}, call)
    assert ruling.verdict == "ask"
    assert ruling.reason == "'path' was 'tax/2025.txt' when you agreed, and is 'letters/2025.txt' now"
    final = monitor.confirm(plan, 0, {"path": Value("2025.txt", OWNER)}, call, ruling)
    assert final.verdict == "allow"
    assert monitor.admit(plan, 0, {"path": Value("2025.txt", OWNER)}, call).verdict == "allow"


def test_an_event_with_another_title_is_asked_about_again(world: World) -> None:
    monitor = world.monitor("", FixedApprover("once"))
    plan = Plan((Step("cancel_event", {"event": "dentist"}),), 1.0)
    call = world.call()
    monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    assert monitor.admit(plan, 0, {"event": Value("dentist", OWNER)}, call).verdict == "allow"
    world.write("calendar/dentist.ics", FILES["calendar/dentist.ics"].replace("SUMMARY:Dentist", "SUMMARY:Wedding"))
    ruling = monitor.admit(plan, 0, {"event": Value("dentist", OWNER)}, call)
    assert "was '“Dentist”, Tue 24 Nov 2026 09:15' when you agreed, and is '“Wedding”," in ruling.reason


def test_what_the_plan_itself_changed_needs_no_second_yes(world: World) -> None:
    monitor = world.monitor("", FixedApprover("once"))
    later = "2026-11-24T11:00:00+01:00"
    steps = (Step("move_event", {"event": "dentist", "start": later}), Step("cancel_event", {"event": "dentist"}))
    plan, call = Plan(steps, 1.0), world.call()
    monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    monitor.call(plan, 0, {"event": Value("dentist", OWNER), "start": Value(later, OWNER)}, call)
    assert monitor.admit(plan, 1, {"event": Value("dentist", OWNER)}, replace(call, key="k2")).verdict == "allow"


# ── Resolvers that misbehave ──────────────────────────────────────────────────────────────────────────────


def _with_resolver(resolve: Callable[..., object]) -> FunctionTool:
    def touch(thing, call):  # type: ignore[no-untyped-def]
        """Touch a thing.

        Args:
            thing: Which.
        """
        return thing

    touch.__annotations__ = {"thing": Annotated[str, Names(resolve)], "call": CallContext, "return": str}  # type: ignore[arg-type]
    return tool(effect="change")(touch)


def _raises(*_: object) -> object:
    raise ValueError("bug")


def _two(*_: object) -> object:
    raise Ambiguous("2 things are called 'x': a, b; say which one")


def _writes(value: object, call: CallContext, given: object) -> object:
    call.workspace.write("documents/list.txt", b"gone")
    return Referent(str(value))


def _sends(value: object, call: CallContext, given: object) -> object:
    with call.egress.permit("evil.example", 443, "look"):
        return Referent(str(value))


@pytest.mark.parametrize(
    ("resolve", "kind", "words"),
    [
        (_raises, "ToolCrashed", "failed with ValueError while it looked for what is meant"),
        (_two, "Ambiguous", "say which one"),
        (_writes, "SandboxError", "nothing is written before the call"),
        (_sends, "EgressError", "nothing is sent"),
        (lambda *_: Referent(""), "ToolCrashed", "expected a Referent"),
        (lambda *_: "words", "ToolCrashed", "expected a Referent"),
        (lambda *_: Referent("x", sets_off=(Step("y", {"z": Ref(0)}),)), "ToolCrashed", "expected literals"),
        (lambda *_: time.sleep(5), "ToolTimeout", "did not find what is meant within 0.2 s"),
    ],
)
def test_a_resolver_that_misbehaves_does_nothing_and_is_named(
    world: World, resolve: Callable[..., object], kind: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearth.guard.referents.RESOLVE_S", 0.2)
    one = _with_resolver(resolve)
    monitor = Monitor({"touch": one}, Policy(), FixedApprover("once"))
    plan, call = Plan((Step("touch", {"thing": "x"}),), 1.0), world.call()
    assert monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call)).verdict == "allow"
    with pytest.raises(Exception, match=words) as caught:
        monitor.admit(plan, 0, {"thing": Value("x", OWNER)}, call)
    assert type(caught.value).__name__ == kind
    assert (world.folder.root / "documents/list.txt").read_text() == "milk"


def test_what_can_only_be_told_by_the_call_itself_passes_no_rule(world: World) -> None:
    one = _with_resolver(lambda *_: None)
    for ruling, verdict in (("deny", "deny"), ("ask", "ask"), ("allow", "ask")):
        rules = f'[[rule]]\ntools = ["touch"]\nwhen.thing = {{ one_of = ["y"] }}\nruling = "{ruling}"\n'
        policy = Policy.of(parse_settings(rules, Path("hearth.toml")), {"touch": one.spec})
        monitor = Monitor({"touch": one}, policy, RefusingApprover())
        decision = monitor.explain_call("touch", {"thing": Value("x", OWNER)}, world.call())
        assert decision.ruling.verdict == verdict, ruling


# ── What loads ────────────────────────────────────────────────────────────────────────────────────────────


def test_every_shipped_tool_that_changes_or_sends_resolves_what_it_names() -> None:
    assert {name: unresolved_parameters(one) for name, one in TOOLS.items() if unresolved_parameters(one)} == {}


def test_a_tool_that_changes_a_thing_it_does_not_resolve_is_not_loaded() -> None:
    @hearth.tool(effect="change")
    def paint(wall: str, text: str = "") -> str:
        """Paint a wall."""
        return wall + text

    with pytest.raises(RegistryError, match=r"does not say which thing 'wall' names; annotate it"):
        load_tools(None, [paint])

    @hearth.tool()
    def look_at(wall: str) -> str:
        """Look at a wall."""
        return wall

    assert "look_at" in load_tools(None, [look_at]).by_name


def test_a_value_of_a_step_is_resolved_when_it_is_known(world: World) -> None:
    """A name that a result brings is judged as the thing, too."""
    monitor = world.monitor(_rule("delete_file", "path", "{ matches = 'documents/tax/.*' }"))
    plan = Plan((Step("find_files", {"query": "2025"}), Step("delete_file", {"path": Ref(0, ("0", "name"))})), 1.0)
    call = world.call()
    assert monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call)).verdict == "allow"
    assert monitor.admit(plan, 1, {"path": Value("2025.txt", OWNER)}, call).verdict == "deny"
    assert monitor.admit(plan, 1, {"path": Value("2023.txt", OWNER)}, call).verdict == "allow"


# ── Two records of one name, and one that was found before ───────────────────────────────────────────────


def test_two_events_under_one_id_are_told_apart_by_nobody_but_the_owner(world: World) -> None:
    """A file somebody sent takes the id of an event of yours; its title is what you then ask for."""
    world.write("calendar/an_invitation.ics", _event("dentist", "Lunch with Ben", "20261125T120000"))
    monitor = world.monitor('[policy.cancel_event]\nruling = "allow"\n')
    ruling = world.ruling(monitor, "cancel_event", {"event": "dentist"})
    assert ruling.verdict == "deny"
    assert "hold different events under the id 'dentist'" in ruling.reason
    world.write("calendar/an_invitation.ics", FILES["calendar/dentist.ics"])  # a copy of it is no other event
    assert world.ruling(monitor, "cancel_event", {"event": "dentist"}).verdict == "allow"


def test_two_lists_of_one_name_are_asked_about(world: World) -> None:
    world.write("notes/a.md", "# My party list\n\n- [ ] lamp\n")
    world.write("notes/b.md", "# Party\n\n- [ ] lamp\n")
    monitor = world.monitor('[policy.add_to_list]\nruling = "allow"\n')
    ruling = world.ruling(monitor, "add_to_list", {"list": "party", "items": ["cake"]})
    assert (ruling.verdict, ruling.rule) == ("deny", "failed")
    assert "several lists are called 'party': 'a', 'b'" in ruling.reason


@pytest.mark.parametrize(
    ("tool", "words", "path"),
    [
        ("cancel_event", {"event": "dentist"}, "calendar/dentist.ics"),
        ("delete_contact", {"contact": "anna"}, "contacts/a.vcf"),
        ("delete_note", {"note": "Diary"}, "notes/diary.md"),
        ("complete_reminder", {"reminder": "call"}, "reminders/call.ics"),
    ],
)
def test_a_record_found_before_is_read_anew(
    world: World, monkeypatch: pytest.MonkeyPatch, tool: str, words: dict[str, Plain], path: str
) -> None:
    """A record is found again in its file alone, and everywhere once anything was added, moved or changed."""
    todo = FILES["calendar/dentist.ics"].replace("VEVENT", "VTODO").replace("UID:dentist", "UID:call")
    world.write("reminders/call.ics", todo)
    for folder in {world.folder.root / name for name in ("calendar", "contacts", "notes", "reminders")}:
        os.utime(folder, ns=(0, 0))
    later_ns = time.time_ns() + 60_000_000_000
    monkeypatch.setattr("hearth.storage.workspace.time.time_ns", lambda: later_ns)
    found = Referents(TOOLS)
    given = {name: Value(value, OWNER) for name, value in words.items()}

    def name() -> str:
        (value,) = found.of_call(tool, given, world.call()).values.values()
        return value.things[0].name

    first = name()
    assert name() == first
    file = world.folder.root / path
    text = file.read_text()
    other = text.replace("Dentist", "Doctor").replace("Anna", "Hanna").replace("# Diary\n\ndear", "# diary!")
    file.write_text(other)  # in place: the folder does not change
    assert name() != first
    file.write_text(text.replace("UID:", "UID:x").replace("# Diary", "# Else"))
    with pytest.raises(NotFound):
        name()
    file.rename(file.with_stem("zzz"))
    file.with_stem("zzz").write_text(text)
    assert name() == first


# ── Between judging and calling ────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tool", "words", "path", "other"),
    [
        ("delete_file", {"path": "documents/list.txt"}, "documents/list.txt", "documents/tax/list.txt"),
        ("delete_note", {"note": "trip"}, "notes/trip.md", "notes/zzz.md"),
    ],
)
def test_nothing_of_a_like_name_takes_the_place_of_what_is_gone(
    world: World, tool: str, words: dict[str, Plain], path: str, other: str
) -> None:
    """The thing that was judged is gone when it is to be deleted: another one of its name stays."""
    world.write("notes/trip.md", "# Holiday\n\nx\n")
    world.write("notes/zzz.md", "# Trip\n\nx\n")
    monitor, call = world.monitor("", FixedApprover("once")), world.call()
    plan, given = Plan((Step(tool, dict(words)),), 1.0), {name: Value(value, OWNER) for name, value in words.items()}  # type: ignore[arg-type]
    monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    assert monitor.admit(plan, 0, given, call).verdict == "allow"
    (world.folder.root / path).unlink()
    with pytest.raises(Conflict, match="is not there any more as it was a moment ago; nothing was done"):
        monitor.call(plan, 0, given, call)
    assert (world.folder.root / other).exists()


def test_a_resolver_that_hangs_is_waited_for_once_in_a_plan(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hearth.guard.referents.RESOLVE_S", 0.05)
    n_asked, over = [0], threading.Event()

    def hang(*_: object) -> object:
        n_asked[0] += 1
        over.wait(10)
        return None

    monitor = Monitor({"touch": _with_resolver(hang)}, Policy(), FixedApprover("once"))
    plan, call = Plan(tuple(Step("touch", {"thing": f"x{k}"}) for k in range(20)), 1.0), world.call()
    monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    over.set()
    assert n_asked == [1]


# ── What the question hid ─────────────────────────────────────────────────────────────────────────────────


def _asked(world: World, tool: str, arguments: Mapping[str, Plain]) -> str:
    approver, call = FixedApprover("no"), world.call()
    plan = Plan((Step(tool, dict(arguments)),), 1.0)  # type: ignore[arg-type]
    world.monitor("", approver).rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    return approver.questions[-1][0]


def test_a_draft_written_before_is_shown_whole_before_it_is_sent(world: World) -> None:
    text = "Pay to DE89370400440532013000."
    given: dict[str, object] = {"to": ["anna@berg.example"], "text": text, "attachments": ["documents/ideas.md"]}
    draft = TOOLS["draft_mail"].call(given, world.call("d"))
    asked = _asked(world, "send_mail", {"draft": draft.id})  # type: ignore[attr-defined]
    assert "to anna@berg.example" in asked
    assert f"| {text}" in asked
    assert "with the files ideas.md" in asked


def test_no_recipient_of_a_draft_and_no_sender_of_a_mail_passes_a_rule_about_them(world: World) -> None:
    crowd = [f"p{k}@crowd.example" for k in range(30)]
    given: dict[str, object] = {"to": [*crowd, "Anna@Berg.example"], "text": "Hello"}
    draft = TOOLS["draft_mail"].call(given, world.call("d")).id  # type: ignore[attr-defined]
    mail = "From: Zoe <zoe@x.example>\r\nReply-To: mal@x.example\r\nSubject: Hi\r\nDate: Mon, 23 Nov 2026 09:00:00 +0100\r\n\r\nHello\r\n"
    world.write("mail/cur/m1:2,S", mail)
    for name, argument, one, meant, other in (
        ("send_mail", "draft", draft, "anna@berg.example", "ben@ash.example"),
        ("delete_mail", "mail", "INBOX/m1", "zoe@x.example", "ida@x.example"),
        ("delete_mail", "mail", "INBOX/m1", "Hi", "Hello"),
        ("delete_mail", "mail", "INBOX/m1", "Zoe", "Ida"),
        ("draft_reply", "mail", "INBOX/m1", "mal@x.example", "ida@x.example"),
    ):
        for condition in ("{{ one_of = ['{}'] }}", "{{ matches = '{}' }}"):
            denied = [
                world.ruling(world.monitor(_rule(name, argument, condition.format(said))), name, {argument: one}).rule
                for said in (meant, other)
            ]
            assert denied[0] == "rule 1", (name, condition)
            assert denied[1] != "rule 1", (name, condition)


def test_what_is_passed_on_is_shown_with_its_text_its_files_and_where_it_came_from(world: World) -> None:
    head = (
        "From: Zoe <mal@evil.example>\r\nSubject: Hi\r\nDate: Mon, 23 Nov 2026 09:00:00 +0100\r\nMIME-Version: 1.0\r\n"
    )
    parts = "--b\r\n\r\nPay 9 EUR\r\n--b\r\nContent-Disposition: attachment; filename=p.txt\r\n\r\nx\r\n--b--\r\n"
    world.write("mail/cur/m1:2,S", f"{head}Content-Type: multipart/mixed; boundary=b\r\n\r\n{parts}")
    asked = _asked(world, "draft_forward", {"mail": "INBOX/m1", "to": ["anna@berg.example"]})
    for said in ("mal@evil.example", "| Pay 9 EUR", "with the files p.txt"):
        assert said in asked
    assert "Pay 9 EUR" not in _asked(world, "delete_mail", {"mail": "INBOX/m1"})


EVIL = '"mal@evil.example" (not in your contacts)'
ANNA = '"anna@berg.example" ("Anna Berg" in your contacts)'


def _letter(world: World, head: str) -> None:
    date = "Date: Mon, 23 Nov 2026 09:00:00 +0100"
    world.write(
        "mail/cur/m1:2,S", f"From: Anna Berg <anna@berg.example>\r\nSubject: Hi\r\n{date}\r\n{head}\r\nhello\r\n"
    )


@pytest.mark.parametrize(
    ("head", "goes_to"),
    [
        ("", ANNA),
        ("Reply-To: anna@berg.example\r\n", ANNA),
        ("Reply-To: mal@evil.example\r\n", EVIL),
        ("Reply-To: Anna <anna@berg.example>, Anna <mal@evil.example>\r\n", f"{ANNA}, {EVIL}"),
    ],
)
def test_a_question_about_a_reply_names_whom_it_goes_to(world: World, head: str, goes_to: str) -> None:
    _letter(world, head)
    asked = _asked(world, "draft_reply", {"mail": "INBOX/m1", "text": "yes"})
    assert f'anna@berg.example"; it goes to {goes_to}\n' in asked
    assert 'mail: "“Hi” from Anna Berg, ' in asked
    assert "it goes to" not in _asked(world, "delete_mail", {"mail": "INBOX/m1"})


def test_a_reply_that_goes_elsewhere_by_now_is_asked_about_again(world: World) -> None:
    _letter(world, "")
    monitor, call = world.monitor("", FixedApprover("once")), world.call()
    plan = Plan((Step("draft_reply", {"mail": "INBOX/m1", "text": "yes"}),), 1.0)
    given = {"mail": Value("INBOX/m1", OWNER), "text": Value("yes", OWNER)}
    monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    assert monitor.admit(plan, 0, given, call).verdict == "allow"
    _letter(world, "Reply-To: mal@evil.example\r\n")
    ruling = monitor.admit(plan, 0, given, call)
    assert ruling.verdict == "ask"
    assert "where an answer goes was 'anna@berg.example' and is 'mal@evil.example'" in ruling.reason


def test_another_text_in_a_draft_is_asked_about_again(world: World) -> None:
    given: dict[str, object] = {"to": ["anna@berg.example"], "text": "Hello", "subject": "Lunch"}
    draft = TOOLS["draft_mail"].call(given, world.call("d")).id  # type: ignore[attr-defined]
    monitor, call = world.monitor("", FixedApprover("once")), world.call()
    plan = Plan((Step("send_mail", {"draft": draft}),), 1.0)
    monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    (file,) = (world.folder.root / "mail/.Drafts/cur").iterdir()
    file.write_bytes(file.read_bytes().replace(b"Hello", b"Goodbye"))
    ruling = monitor.admit(plan, 0, {"draft": Value(draft, OWNER)}, call)
    assert ruling.verdict == "ask"
    assert "is not what it was when you agreed: what goes with it was 'Hello' and is 'Goodbye'" in ruling.reason


def test_a_record_whose_id_looks_like_an_address_is_shown_by_its_name(world: World) -> None:
    todo = FILES["calendar/dentist.ics"].replace("VEVENT", "VTODO").replace("UID:dentist", "UID:x@evil.example")
    world.write("reminders/x.ics", "\r\n".join(line for line in todo.split("\r\n") if "DTSTART" not in line))
    asked = _asked(world, "delete_reminder", {"reminder": "x@evil.example"})
    assert 'reminder: "“Dentist”"\n' in asked


def test_a_contact_passes_no_rule_that_names_it_by_its_address_or_what_it_is_called(world: World) -> None:
    card = FILES["contacts/a.vcf"].replace("EMAIL", "NICKNAME:mum\r\nEMAIL")
    world.write("contacts/a.vcf", card)
    for said, verdict in (("Mum", "deny"), ("ANNA@berg.example", "deny"), ("anna berg", "deny"), ("Ben Ash", "allow")):
        rules = _rule("delete_contact", "contact", f"{{ one_of = ['{said}'] }}")
        assert world.ruling(world.monitor(rules), "delete_contact", {"contact": "anna"}).verdict == verdict, said


def test_a_scene_is_shown_with_what_it_sets(world: World) -> None:
    assert "ceiling lamp: off" in _asked(world, "start_scene", {"scene": "film night"})


@pytest.mark.parametrize(
    ("tool", "condition", "allowed"),
    [
        ("lock_door", "when.device = { one_of = ['front door'] }", "garden gate"),
        ("lock_door", "when.device = { one_of = ['garage door'] }", "garden gate"),
        ("set_brightness", "when.device = { one_of = ['bedroom reading lamp'] }", "ceiling lamp"),
        ("turn_on", "when.device = { matches = '.*reading lamp' }", "ceiling lamp"),
        ("turn_on", "when.device = { one_of = ['radio'] }", "ceiling lamp"),
        ("set_volume", "when.percent = { min = 15 }", "{ min = 25 }"),
        ("set_temperature", "when.temperature = { min = 22 }", "{ min = 24 }"),
        ("close_blinds", "when.device = { one_of = ['shutters'] }", "blinds of the neighbour"),
    ],
)
def test_no_scene_passes_a_rule_on_what_it_sets(world: World, tool: str, condition: str, allowed: str) -> None:
    other = (
        f"{condition.partition('=')[0]}= {allowed}"
        if "min" in allowed
        else f"when.device = {{ one_of = ['{allowed}'] }}"
    )
    for verdict in ("deny", "ask"):
        for when, expected in ((condition, verdict), (other, "allow")):
            rules = (
                f"[policy.start_scene]\nruling = 'allow'\n[[rule]]\ntools = ['{tool}']\n{when}\nruling = '{verdict}'"
            )
            approver = FixedApprover("once")
            ruling = world.ruling(world.monitor(rules, approver), "start_scene", {"scene": "evening"})
            assert ruling.verdict == ("allow" if expected == "ask" else expected), (when, ruling)
            assert len(approver.questions) == (expected == "ask"), when
    assert world.ruling(world.monitor(rules), "start_scene", {"scene": "film night"}).verdict == "allow"


def test_what_a_tool_asks_by_default_is_not_asked_of_a_scene_that_is_allowed(world: World) -> None:
    rules = "[policy.start_scene]\nruling = 'allow'"
    assert world.ruling(world.monitor(rules), "start_scene", {"scene": "evening"}).verdict == "allow"
    denied = f"{rules}\n[policy.lock_door]\nruling = 'deny'"
    assert "it is part of 'evening'" in world.ruling(world.monitor(denied), "start_scene", {"scene": "evening"}).reason
    assert world.ruling(world.monitor(denied), "start_scene", {"scene": "film night"}).verdict == "allow"


def test_what_was_never_to_be_done_is_done_by_no_scene_and_counts_as_done_by_one(world: World) -> None:
    records = Records()
    assert world.ruling(world.monitor("", FixedApprover("never"), records), "turn_off", {"device": "ceiling lamp"})
    rules = "[policy.start_scene]\nruling = 'allow'\n"
    monitor = world.monitor(rules, None, records)
    assert world.ruling(monitor, "start_scene", {"scene": "film night"}).verdict == "deny"
    rates = "[[rule]]\ntools = ['turn_off']\nmore_than = { calls = 1, per = 'hour' }\nruling = 'deny'"
    monitor, call = world.monitor(rules + rates), world.call()
    plan = Plan((Step("start_scene", {"scene": "film night"}),), 1.0)
    scene = {"scene": Value("film night", OWNER)}
    for k in range(2):
        ruled = monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
        assert (ruled.verdict == "allow") == (k == 0), ruled
        if ruled.verdict == "allow":
            monitor.call(plan, 0, scene, world.call(f"s{k}"))


@pytest.mark.parametrize(("n_allowed", "verdict"), [(1, "deny"), (2, "allow")])
def test_what_one_scene_sets_is_counted_within_it(world: World, n_allowed: int, verdict: str) -> None:
    allow = "[policy.start_scene]\nruling = 'allow'\n[policy.turn_off]\nruling = '{}'\n"
    rate = f"{{ calls = {n_allowed}, per = 'hour' }}"
    for rules in (
        f"{allow.format('allow')}[[rule]]\ntools = ['turn_off']\nmore_than = {rate}\nruling = 'deny'",
        f"{allow.format('deny')}[[rule]]\ntools = ['turn_off']\nat_most = {rate}\nruling = 'allow'",
    ):
        assert world.ruling(world.monitor(rules), "start_scene", {"scene": "dark"}).verdict == verdict


def test_an_always_for_a_scene_holds_for_what_it_sets_now(world: World) -> None:
    records = Records()
    always = FixedApprover("always")
    monitor, call = world.monitor("", always, records), world.call()
    plan = Plan((Step("start_scene", {"scene": "film night"}),), 1.0)
    assert monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call)).verdict == "allow"
    monitor.call(plan, 0, {"scene": Value("film night", OWNER)}, world.call("s"))
    assert world.ruling(world.monitor("", None, records), "start_scene", {"scene": "film night"}).verdict == "allow"
    before = dict(SCENES)
    try:
        SCENES["film night"] = {"ceiling lamp": "off", "the front door": "locked"}
        asked = world.monitor("", FixedApprover("no"), records)
        assert world.ruling(asked, "start_scene", {"scene": "film night"}).verdict == "deny"
    finally:
        SCENES.update(before)


def test_a_scene_found_by_a_step_passes_no_rule_either(world: World) -> None:
    rules = "[policy.start_scene]\nruling = 'allow'\n[policy.lock_door]\nruling = '{}'"
    plan = Plan((Step("find_notes", {"query": "Diary"}), Step("start_scene", {"scene": Ref(0, ("title",))})), 1.0)
    for verdict, expected in (("deny", "deny"), ("ask", "ask"), ("allow", "allow")):
        monitor, call = world.monitor(rules.format(verdict), FixedApprover("once")), world.call()
        monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
        assert monitor.admit(plan, 1, {"scene": Value("evening", OWNER)}, call).verdict == expected
        assert monitor.admit(plan, 1, {"scene": Value("film night", OWNER)}, call).verdict == "allow"


def test_a_scene_that_names_what_is_gone_is_refused(world: World) -> None:
    rules = "[policy.start_scene]\nruling = 'allow'"
    assert "lava lamp" in world.ruling(world.monitor(rules), "start_scene", {"scene": "stale"}).reason


def test_a_scene_with_what_only_the_broker_knows_passes_no_rule_on_devices(world: World) -> None:
    rules = "[policy.start_scene]\nruling = 'allow'\n[[rule]]\ntools = ['{}']\nwhen.device = {{ one_of = ['x'] }}\nruling = 'deny'"
    call = world.call()
    home: dict[str, Plain] = {
        "device": DEVICES,
        "scene": {"stale": {"lava lamp": "on"}},
        "mqtt": {"host": "broker.example"},
    }
    call = replace(call, settings={**call.settings, "home": home})
    for tool_name, expected in (("turn_on", "deny"), ("turn_off", "allow")):
        plan = Plan((Step("start_scene", {"scene": "stale"}),), 1.0)
        monitor = world.monitor(rules.format(tool_name))
        ruled = monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
        assert ruled.verdict == expected, ruled


def test_a_file_is_shown_by_where_it_is_and_not_by_what_it_was_called(world: World) -> None:
    asked = _asked(world, "delete_file", {"path": "a.txt"})  # a link to tax/2025.txt
    assert 'path: "tax/2025.txt"' in asked
    assert "a.txt" not in asked


def test_a_file_that_would_be_replaced_is_said_to_be_there(world: World) -> None:
    asked = _asked(world, "write_file", {"path": "list.txt", "text": "x"})
    assert 'path: "list.txt": "is there already and would be replaced"' in asked
    assert "replaced" not in _asked(world, "write_file", {"path": "new.txt", "text": "x"})


def test_a_file_that_came_to_be_there_since_the_yes_is_not_replaced_without_another(world: World) -> None:
    monitor, call = world.monitor("", FixedApprover("once")), world.call()
    plan = Plan((Step("write_file", {"path": "new.txt", "text": "x"}),), 1.0)
    monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    arguments = {"path": Value("new.txt", OWNER), "text": Value("x", OWNER)}
    assert monitor.admit(plan, 0, arguments, call).verdict == "allow"
    world.write("documents/new.txt", "yours")
    ruling = monitor.admit(plan, 0, arguments, call)
    assert (ruling.verdict, "would be replaced" in ruling.reason) == ("ask", True)


def test_an_event_is_shown_by_title_and_time_and_not_by_its_id(world: World) -> None:
    asked = _asked(world, "cancel_event", {"event": "choir#20261124T190000"})
    assert "Choir" in asked
    assert "Tue 24 Nov 2026 19:00" in asked
    assert "choir#" not in asked


def test_a_long_title_does_not_push_away_what_tells_a_thing_from_others(world: World) -> None:
    world.write("calendar/long.ics", _event("long", "Lunch " * 500, "20261124T091500"))
    assert "Tue 24 Nov 2026 09:15" in _asked(world, "cancel_event", {"event": "long"})


@pytest.mark.parametrize(
    "said",
    [
        '"anna"@berg.example',
        "MAILTO:anna@berg.example",
        'Anna <"anna"@berg.example>',
        "anna(x)@berg.example",
        "anna@[berg.example]",
        "anna@berg.example?subject=x",
        "an\u00adna@berg.example",
        "anna\u200b@berg.example",
        "anna@ber\u200bg.example",
        "anna+news@berg.example",
    ],
)
def test_no_way_to_write_an_address_passes_a_rule_about_it(world: World, said: str) -> None:
    monitor = world.monitor(_rule("draft_mail", "to", "{ one_of = ['anna@berg.example'] }"))
    assert world.ruling(monitor, "draft_mail", {"to": [said], "text": "hi"}).verdict == "deny"
    assert world.ruling(monitor, "draft_mail", {"to": ["ben@ash.example"], "text": "hi"}).verdict == "allow"


@pytest.mark.parametrize(
    ("said", "one"),
    [
        ("HTTPS://Evil.example:443", "https://evil.example/"),
        ("http://evil.example:80/a?b#c", "http://evil.example/a?b#c"),
        ("https://evil.example.:8443/", "https://evil.example:8443/"),
    ],
)
def test_a_web_address_has_one_spelling(said: str, one: str) -> None:
    assert canonical_url(said) == one
    with pytest.raises(ValueError, match="is no host"):
        canonical_url("https://%65vil.example/")
