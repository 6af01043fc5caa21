"""The doubles and the real parts keep the same contracts, and each contract rejects what breaks it."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import httpx
import pytest

from hearth.errors import EgressError, NotFound, ToolError
from hearth.formats.tool_signature import tool
from hearth.protocols import CallContext, Cause, Planner, Tool, Workspace
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import (
    FIXED_NOW,
    ClosedEgress,
    FixedApprover,
    InMemoryMemory,
    InMemoryWorkspace,
    ScriptedPlanner,
    check_planner,
    check_tool,
    check_workspace,
    make_call,
)
from hearth.types import OWNER, Context, Offer, Plan, Ref, Refusal, Request, Ruling, Step, ToolSpec

# ── Workspaces ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_double_and_the_real_folder_are_workspaces(home: Path) -> None:
    numbers = itertools.count()
    stores: list[Store] = []

    def make() -> Workspace:
        folder = home / str(next(numbers))
        stores.append(Store.open(folder / "hearth.db"))
        return Folder(folder / "owner", stores[-1]).for_call("k")

    check_workspace(InMemoryWorkspace)
    check_workspace(make)
    for store in stores:
        store.close()


class Forgetful(InMemoryWorkspace):
    def write(self, path: str, data: bytes) -> None:
        super().write(path, data[:100])


class Open(InMemoryWorkspace):
    def read(self, path: str) -> bytes:
        return b"" if ".." in path else super().read(path)


class Unsorted(InMemoryWorkspace):
    def list(self, folder: str = "", pattern: str = "*") -> tuple[str, ...]:
        return super().list(folder, pattern)[::-1]


@pytest.mark.parametrize("make", [Forgetful, Open, Unsorted])
def test_check_workspace_rejects(make: Callable[[], Workspace]) -> None:
    with pytest.raises(AssertionError):
        check_workspace(make)


def test_the_in_memory_workspace_takes_files_and_times() -> None:
    workspace = InMemoryWorkspace({"a.txt": "text", "b.bin": b"\0"})
    assert workspace.read("a.txt") == b"text"
    workspace.times["a.txt"] = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    assert workspace.modified("a.txt") == dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


# ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Note:
    id: str
    at: dt.datetime
    birthday: dt.date | None
    tags: list[str] = field(default_factory=list)


@tool(effect="change")
def keep(text: str, call: CallContext, kind: Literal["a", "b"] = "a", count: int = 1) -> list[Note]:
    """Keep a text.

    Args:
        text: What.
        kind: Which.
        count: How often.
    """
    if not text.strip() or len(text) > 1000:
        raise ToolError("say what to keep")
    call.workspace.write(f"{call.key}.txt", f"{text} {kind} {count}".encode())
    call.memory.remember(text, kind=kind, at=call.now, label=OWNER, key=call.key)
    return [Note(call.key, call.now, None, [kind])]


def test_a_good_tool_passes_and_its_result_comes_back() -> None:
    call = make_call(workspace=InMemoryWorkspace({"other.txt": "o"}))
    result = check_tool(keep, {"text": "milk", "count": 2}, call)
    assert result == [{"id": "k1", "at": FIXED_NOW.isoformat(), "birthday": None, "tags": ["a"]}]
    assert call.workspace.list() == ("other.txt",), "the checks run on copies"


counter = itertools.count()


@tool(effect="change")
def random_name(text: str, call: CallContext) -> str:
    """Keep.

    Args:
        text: What.
    """
    call.workspace.write(f"{next(counter)}.txt", text.encode())
    return text


@tool()
def random_result(text: str) -> str:
    """Say.

    Args:
        text: What.
    """
    return f"{text}{next(counter)}"


@tool()
def hidden_write(text: str, call: CallContext) -> str:
    """Look.

    Args:
        text: What.
    """
    call.workspace.write("a.txt", text.encode())
    return text


@tool()
def hidden_memory(text: str, call: CallContext) -> str:
    """Look.

    Args:
        text: What.
    """
    return call.memory.remember(text, kind="k", at=call.now, label=OWNER, key=text)


@tool(effect="change")
def doubled_memory(text: str, call: CallContext) -> str:
    """Keep.

    Args:
        text: What.
    """
    call.memory.remember(text, kind="k", at=call.now, label=OWNER, key=str(next(counter)))
    return text


@tool()
def mutating(items: list[str]) -> list[str]:
    """Sort.

    Args:
        items: What.
    """
    items.append("x")
    return items


@tool()
def crashing(text: str) -> str:
    """Read.

    Args:
        text: A number.
    """
    return str(int(text))


@tool(effect="change")
def half_done(text: str, call: CallContext) -> str:
    """Keep.

    Args:
        text: What.
    """
    call.workspace.write("a.txt", b"half")
    if text != "x":
        raise ToolError("no")
    return text


@tool()
def wrong_type(text: str) -> int:
    """Count.

    Args:
        text: What.
    """
    return text  # type: ignore[return-value]


@tool()
def wrong_field(text: str) -> Note:
    """Make.

    Args:
        text: What.
    """
    return Note(text, "not a time", None)  # type: ignore[arg-type]


@tool()
def no_list(text: str) -> list[str]:
    """List.

    Args:
        text: What.
    """
    return text  # type: ignore[return-value]


@tool()
def fewer_fields(text: str) -> Note:
    """Make.

    Args:
        text: What.
    """
    return {"id": text}  # type: ignore[return-value]


@tool()
def undescribed(text: str) -> str:
    """Say."""
    return text


@tool(name="two words")
def ill_named(text: str) -> str:
    """Say.

    Args:
        text: What.
    """
    return text


@tool(effect="send", is_idempotent=False, n_retries=2)
def resending(text: str) -> str:
    """Send.

    Args:
        text: What.
    """
    return text


@tool(effect="send")
def sends_twice(text: str, call: CallContext) -> str:
    """Send.

    Args:
        text: What.
    """
    sent = call.workspace.read("sent") if call.workspace.exists("sent") else b""
    call.workspace.write("sent", sent + b"x")
    return text


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (random_name, "wrote different files"),
        (random_result, "not deterministic"),
        (hidden_write, r"effect 'none' but changed \['a.txt'\]"),
        (hidden_memory, "effect 'none' but remembered"),
        (doubled_memory, "remembered twice under one key"),
        (crashing, r"raised ValueError: .*a tool raises ToolError"),
        (half_done, r"raised ToolError but changed \['a.txt'\]"),
        (wrong_type, "returned '1'; declared integer"),
        (wrong_field, "for field 'at'; declared datetime"),
        (no_list, "declared list"),
        (fewer_fields, r"returned the fields \['id'\]"),
        (undescribed, "parameter 'text' has no description"),
        (ill_named, "is not an identifier"),
        (resending, "is not idempotent but is retried"),
        (sends_twice, r"same key twice changed \['sent'\]"),
    ],
)
def test_check_tool_rejects(broken: Tool, fault: str) -> None:
    text = "x" if broken is half_done else "1"
    with pytest.raises(AssertionError, match=fault):
        check_tool(broken, {"text": text}, make_call())


def test_check_tool_rejects_a_mutated_argument_and_wrong_use() -> None:
    with pytest.raises(AssertionError, match="mutated its arguments"):
        check_tool(mutating, {"items": ["a"]}, make_call())
    with pytest.raises(AssertionError, match=r"given \['other'\] which the tool does not take"):
        check_tool(keep, {"text": "x", "other": 1}, make_call())
    with pytest.raises(AssertionError, match=r"needs a value for the required \['text'\]"):
        check_tool(keep, {}, make_call())


# ── Planners ──────────────────────────────────────────────────────────────────────────────────────────────

SPECS = {"keep": keep.spec, "crashing": crashing.spec}
KEEP = Step("keep", {"text": "milk"})


def test_a_good_planner_passes() -> None:
    plan = Plan((KEEP, Step("crashing", {"text": Ref(0, ("id",))}, after=(0,))), 0.5)
    check_planner(ScriptedPlanner({}), Context(), SPECS)
    check_planner(OnlyWith(SPECS, plan), Context(), SPECS, ("keep milk",))


class OnlyWith:
    """Plans the same for every text that is not blank, when the tools are there."""

    name = "only"

    def __init__(self, tools: Mapping[str, ToolSpec], plan: Plan) -> None:
        self._tools = tools
        self._plan = plan

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        if request.text.strip() and tools == self._tools:
            return self._plan
        return Refusal("unreadable", "nothing to do")


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        (Plan(()), "without steps"),
        (Plan((KEEP,), confidence=1.5), "confidence 1.5"),
        (Plan((Step("unknown"),)), "calls 'unknown', which was not offered"),
        (Plan((Step("keep", {"text": "x", "colour": "red"}),)), "unknown argument 'colour'"),
        (Plan((Step("keep", {"text": "x", "kind": "c"}),)), "is not one of"),
        (Plan((Step("keep", {}),)), "lacks the required keep.text"),
        (Plan((Step("keep", {"text": Ref(3)}),)), r"refers to steps \[3\] of 1"),
        (Plan((Step("keep", {"text": Ref(0)}),)), r"refers to steps \[0\] of 1"),
        (
            Plan((Step("keep", {"text": Ref(1)}), Step("keep", {"text": Ref(0)}))),
            r"steps \[0, 1\] wait for one another",
        ),
    ],
)
def test_check_planner_rejects_unsound_plans(plan: Plan, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        check_planner(OnlyWith(SPECS, plan), Context(), SPECS, ("keep milk",))


class Fickle:
    name = "fickle"

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        return Refusal("unreadable", f"no {next(counter)}")


class Crashing:
    name = "crashing"

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        raise ZeroDivisionError


class Eager:
    name = "eager"

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        return Plan((KEEP,))


class Mutating:
    name = "mutating"

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        assert isinstance(tools, dict)
        tools.pop("keep", None)
        return Refusal("unreadable", "no")


class Silent:
    name = "silent"

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        return Refusal("unreadable", "")


class Nameless(Silent):
    name = ""


@pytest.mark.parametrize(
    ("planner", "fault"),
    [
        (Fickle(), "not deterministic"),
        (Crashing(), "raised ZeroDivisionError"),
        (Eager(), "for a blank request"),
        (Mutating(), "mutated its inputs"),
        (Silent(), "refused without a reason"),
        (Nameless(), "has no name"),
    ],
)
def test_check_planner_rejects(planner: Planner, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        check_planner(planner, Context(), dict(SPECS))


# ── The other doubles ─────────────────────────────────────────────────────────────────────────────────────


def test_the_scripted_planner_answers_from_its_script() -> None:
    planner = ScriptedPlanner({"a": Plan((KEEP,)), "b": Refusal("needs", "when?", offer=Offer("keep", "keep it"))})
    assert planner.plan(Request("a", FIXED_NOW), Context(), {}) == Plan((KEEP,))
    assert isinstance(planner.plan(Request("c", FIXED_NOW), Context(), {}), Refusal)
    assert [request.text for request in planner.requests] == ["a", "c"]


def test_the_closed_egress_lets_nothing_out() -> None:
    egress = ClosedEgress()
    with pytest.raises(EgressError, match=r"closed for host 'example.org'"):
        httpx.Client(transport=egress.transport("test")).get("https://example.org/")
    with pytest.raises(EgressError, match=r"'mail.example.org'"), egress.permit("mail.example.org", 993, "test"):
        pass
    with pytest.raises(EgressError, match="nothing was sent"):
        egress.record("example.org", b"x", "test")
    with pytest.raises(EgressError, match="nothing was sent"):
        egress.on_behalf(Cause(0, "look")).spent("example.org", 1, "test")
    with pytest.raises(EgressError, match=r"closed for host 'example.org'"):
        httpx.Client(transport=egress.transport("test", is_web=True)).get("https://example.org/")
    assert egress.tls("example.org").check_hostname


def test_the_fixed_approver_keeps_the_questions() -> None:
    approver = FixedApprover(answer=False)
    ruling = Ruling("ask", "it sends")
    assert approver.approve("Send it?", ruling) == "no"
    assert FixedApprover(answer=True).approve("Send it?", ruling) == "once"
    assert FixedApprover("never").approve("Send it?", ruling) == "never"
    assert approver.questions == [("Send it?", ruling)]


def test_the_in_memory_memory() -> None:
    memory = InMemoryMemory()
    for key, text in (("a", "red shoes"), ("b", "red hat"), ("a", "blue")):
        assert memory.remember(text, kind="n", at=FIXED_NOW, label=OWNER, key=key) == key
    assert [hit.id for hit in memory.search("my red shoes")] == ["a", "b"]
    memory.forget("a")
    assert [hit.id for hit in memory.search("red shoes")] == ["b"]
    with pytest.raises(NotFound):
        memory.forget("a")


def test_a_made_call_is_empty_closed_and_serialisable() -> None:
    call = make_call(key="k7", settings={"mail": {"host": ""}})
    assert (call.key, call.now, call.workspace.list()) == ("k7", FIXED_NOW, ())
    assert json.dumps(call.settings["mail"]) == '{"host": ""}'
    assert not call.cancelled.is_set()
    assert call.memory.search("x") == ()
