"""Measure the monitor around a call, judging a plan, many rules, and remembered origins.

These are sections of `hearth_bench.measure.guard.guard_cost`.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from hearth.config import OrderedRule, When
from hearth.formats.tool_signature import FunctionTool, Sink, tool
from hearth.guard.decision import Occasion, Records
from hearth.guard.labels import Origin, Value, label_of, predict
from hearth.guard.monitor import Monitor, checked
from hearth.guard.policy.question import RefusingApprover
from hearth.guard.policy.rules import Circumstances, Policy, Rule
from hearth.guard.policy.warrant import KnownTools, Warrant
from hearth.guard.referents import Referents
from hearth.registry import load_tools
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import InMemoryWorkspace, make_call
from hearth.types import OWNER, EmailAddress, FieldOrigin, Plan, Ref, Request, Step

N_ROUNDS = 30
N_CALLS = 200
FOLDERS_SETTLE_S = 3.5
"""After this long without a change, what a folder holds is kept."""


@dataclass(frozen=True, slots=True)
class Mail:
    id: str
    sender: EmailAddress
    subject: str
    text: str


MAILS = tuple(Mail(f"m{k}", EmailAddress("anna@example.org"), f"Subject {k}", "Some words. " * 20) for k in range(10))


@tool()
def look_up(name: str) -> str:
    """Look something up."""
    return f"{name}@example.org"


@tool(source="message", origins={"id": FieldOrigin("device", ()), "sender": FieldOrigin("message")})
def find_mails(query: str) -> list[Mail]:
    """Find mails."""
    return list(MAILS)


@tool(source="message", origins={"id": FieldOrigin("device", ()), "sender": FieldOrigin("message")})
def read_mail(id: str) -> Mail:
    """Read a mail."""
    return MAILS[0]


@tool(effect="send")
def post(to: Annotated[list[EmailAddress], Sink], text: str = "") -> int:
    """Post a text."""
    return len(to)


TOOLS: Mapping[str, FunctionTool] = {t.spec.name: t for t in (look_up, find_mails, read_mail, post)}
SPECS = {name: t.spec for name, t in TOOLS.items()}


def per_call_us(function: Callable[[], object], n_calls: int = N_CALLS) -> dict[str, float]:
    """Return the CPU time of one call: the median of many rounds, and the slowest of them."""
    costs = []
    function()
    for _ in range(N_ROUNDS):
        began = time.process_time()
        for _ in range(n_calls):
            function()
        costs.append((time.process_time() - began) / n_calls * 1e6)
    return {"median_us": round(statistics.median(costs), 2), "worst_round_us": round(max(costs), 2)}


def monitor() -> dict[str, object]:
    """Measure the whole of `Monitor.call` with a tool that returns at once."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "hearth.db") as store:
        records = Records.of(store)
        card = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{0}\r\nFN:Name {0}\r\nEMAIL:{0}@example.org\r\nEND:VCARD\r\n"
        cards = {f"contacts/{k}.vcf": card.format(name) for k, name in enumerate(["anna", *map(str, range(200))])}
        context = replace(make_call(), workspace=InMemoryWorkspace(cards))
        contacts = OrderedRule(tools=("post",), ruling="allow", when={"to": When(contact=True)})
        policies = {
            "allowed_by_name": Policy({"post": Rule("allow")}),
            "allowed_by_condition": Policy.from_settings({}, SPECS, [contacts]),
            "allowed_after_100_rules": Policy.from_settings({}, SPECS, [*_other_rules(100), contacts]),
        }
        plain = Value(["anna@example.org"], OWNER)
        strange = Value(["anna@example.org"], OWNER.join(label_of("message")))
        text = Value("hello", OWNER)
        rows: dict[str, object] = {}
        for name, policy in policies.items():
            guard = Monitor(TOOLS, policy, RefusingApprover(), records)
            plan = Plan(
                (Step("look_up", {"name": "Anna"}), Step("find_mails", {"query": "x"}), _post(["anna@example.org"]))
            )
            _allow(guard, plan, context)
            if name == "allowed_by_name":
                look = {"name": Value("Anna", OWNER)}
                rows["read_text"] = per_call_us(lambda: guard.call(plan, 0, look, context))  # noqa: B023
                find = {"query": Value("x", OWNER)}
                rows["read_10_mails_type_check_alone"] = per_call_us(lambda: checked(list(MAILS), SPECS["find_mails"]))
                one = Plan((Step("read_mail", {"id": "m0"}),))
                _allow(guard, one, context)
                read = {"id": Value("m0", OWNER)}
                rows["read_1_mail"] = per_call_us(lambda: guard.call(one, 0, read, context))  # noqa: B023
                rows["read_10_mails"] = per_call_us(lambda: guard.call(plan, 1, find, context))  # noqa: B023
            send = {"to": plain, "text": text}
            rows[f"send_{name}"] = per_call_us(lambda: guard.call(plan, 2, send, context))  # noqa: B023
        guard = Monitor(TOOLS, policies["allowed_by_name"], RefusingApprover(), records)
        plan = Plan((Step("find_mails", {"query": "x"}), _post([Ref(0, ("sender",))])))
        _allow(guard, plan, context)
        send = {"to": strange, "text": text}
        rows["send_to_a_vouched_sender"] = per_call_us(lambda: guard.call(plan, 1, send, context))
        request = Request("post hello to anna@example.org", context.now)
        warrant = Warrant.of(request, KnownTools(SPECS), None, plan)
        guard.rule(again := Plan(plan.steps), occasion=Occasion(context.now, context.workspace, "e", warrant))
        rows["admit_with_warrant"] = per_call_us(lambda: guard.admit(again, 1, send, context))
        return rows


def judging() -> dict[str, object]:
    """Measure judging a plan before it runs: labels predicted, every step ruled on."""
    specs = load_tools(None).specs
    plan = Plan(
        (
            Step("find_mail", {"query": "keys"}),
            Step("find_contact", {"name": "Anna"}),
            Step("draft_mail", {"to": [Ref(1, ("email",))], "text": Ref(0, ("text",))}),
            Step("send_mail", {"draft": Ref(2, ("id",))}),
        )
    )
    rules = Policy.from_settings(
        {}, specs, [OrderedRule(tools=("draft_mail",), ruling="allow", when={"to": When(contact=True)})]
    )
    return {
        "predict_4_steps": per_call_us(lambda: predict(plan, specs)),
        "judge_4_steps": per_call_us(lambda: rules.judge(plan, specs)),
    }


def referents() -> dict[str, object]:
    """Measure finding what an argument names, and judging it, with the home's files in the cache of the system."""
    tools = load_tools(None).by_name
    inner = ("BEGIN:VEVENT", "UID:e{0}", "SUMMARY:Event {0}", "DTSTART:20261201T1200{1:02}", "END:VEVENT")
    event = "\r\n".join(("BEGIN:VCALENDAR", *inner, "END:VCALENDAR", ""))
    with tempfile.TemporaryDirectory() as name, Store.open(Path(name) / "hearth.db") as store:
        root = Path(name) / "owner"
        for k in range(200):
            for path, text in ((f"documents/{k % 10}/{k}.txt", "x"), (f"calendar/e{k}.ics", event.format(k, k % 60))):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
        time.sleep(FOLDERS_SETTLE_S)
        context = replace(make_call(), workspace=Folder(root, store).for_call("k"))
        policy = Policy({name: Rule("allow") for name in ("draft_mail", "delete_file", "cancel_event")})
        guard, found = Monitor(tools, policy, RefusingApprover()), Referents(tools)
        rows: dict[str, object] = {}
        for label, tool_name, arguments in (
            ("an_address", "draft_mail", {"to": ["Anna <Anna@Example.ORG>"], "text": "hello"}),
            ("a_file_by_its_path", "delete_file", {"path": "documents/3/3.txt"}),
            ("a_file_by_its_name_of_200", "delete_file", {"path": "3.txt"}),
            ("an_event_of_200", "cancel_event", {"event": "e3"}),
        ):
            given = {name: Value(value, OWNER) for name, value in arguments.items()}  # type: ignore[arg-type]
            plan = Plan((Step(tool_name, arguments),))  # type: ignore[arg-type]
            guard.rule(plan)
            rows[f"resolve_{label}"] = per_call_us(lambda: found.of_call(tool_name, given, context), 20)  # noqa: B023
            rows[f"resolve_and_judge_{label}"] = per_call_us(lambda: guard.admit(plan, 0, given, context), 20)  # noqa: B023
        cached = replace(context, workspace=InMemoryWorkspace({"documents/3/3.txt": "x"}))
        given = {"path": Value("documents/3/3.txt", OWNER)}
        guard.rule(plan := Plan((Step("delete_file", {"path": "documents/3/3.txt"}),)))
        rows["resolve_and_judge_beside_the_disk"] = per_call_us(lambda: guard.admit(plan, 0, given, cached))
        return rows


def rules() -> dict[str, object]:
    """Measure checking and trying many rules."""
    rows: dict[str, object] = {}
    for n in (100, 1000, 10_000):
        many = _other_rules(n)
        began = time.process_time()
        policy = Policy.from_settings({}, SPECS, many)
        rows[f"check_{n}"] = {"ms": round((time.process_time() - began) * 1000, 1)}
        values = {"to": Value(["nobody@example.org"], OWNER)}
        began = time.process_time()
        for _ in range(10):
            policy.judge_call(SPECS["post"], values, Circumstances())
        rows[f"try_{n}"] = {"ms": round((time.process_time() - began) * 100, 3)}
    return rows


def provenance() -> dict[str, object]:
    """Measure remembering what went into a record, and looking it up among many."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "hearth.db") as store:
        known = Records.of(store).provenance
        now = make_call().now
        known.note("notes", {f"n{k}": Origin(frozenset({"owner"})) for k in range(10_000)}, now)
        numbers = iter(range(10_000_000))
        return {
            "of_10000": per_call_us(lambda: known.of("notes", "n5000")),
            "note": per_call_us(lambda: known.note("notes", {f"x{next(numbers)}": Origin(frozenset({"owner"}))}, now)),
        }


def _post(to: list[object]) -> Step:
    return Step("post", {"to": to, "text": "hello"})  # type: ignore[dict-item]


def _allow(guard: Monitor, plan: Plan, context: object) -> None:
    call = make_call() if context is None else context
    ruling = guard.rule(plan, occasion=Occasion(call.now, call.workspace, "e"))  # type: ignore[attr-defined]
    assert ruling.verdict == "allow", ruling


def _other_rules(n: int) -> list[OrderedRule]:
    return [
        OrderedRule(tools=("post",), ruling="allow", when={"to": When(one_of=(f"person{k}@example.net",))})
        for k in range(n)
    ]
