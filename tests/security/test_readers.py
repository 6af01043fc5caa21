"""A tool that only reads cannot carry the owner's data to its server: from the plan through the monitor to the door."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from hearth.config import Host, Network
from hearth.execution.executor import Executor
from hearth.formats.tool_signature import tool
from hearth.guard.egress.gateway import Egress
from hearth.guard.monitor import Monitor
from hearth.guard.policy.rules import Policy
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.storage.trace import Trace
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, FixedApprover, make_call
from hearth.types import Plan, Ref, Request, Step, StepResult


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"yes")

    def log_message(self, *args: object) -> None: ...


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.seen = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@tool(source="message")
def read_mail(about: str) -> str:
    """Read a mail."""
    return f"the code is 4711 ({about})"


@tool(source="web")
def look_up(text: str, port: int, call: CallContext) -> str:
    """Look something up on the web."""
    with httpx.Client(transport=call.egress.transport("look something up")) as client:
        return client.get(f"http://127.0.0.1:{port}/", params={"q": text}).text


TOOLS = {t.spec.name: t for t in (read_mail, look_up)}


def run(home: Path, network: Network, *steps: Step) -> tuple[tuple[StepResult, ...], Egress, Trace]:
    store = Store.open(home / "hearth.db")
    egress, trace = Egress(("127.0.0.1",), store, lambda: FIXED_NOW, network=network), Trace(store)
    folder, monitor = Folder(home / "owner", store), Monitor(TOOLS, Policy(), FixedApprover(True))

    def context(key: str, now: dt.datetime) -> CallContext:
        return make_call(key, now, workspace=folder.for_call(key), egress=egress)

    executor = Executor(monitor, trace, context, folder)
    plan = Plan(steps)
    assert monitor.rule(plan).verdict == "allow"
    egress.purpose = "e1"
    trace.begin(Request("x", FIXED_NOW), "e1")
    trace.planned("e1", plan, None, None, 0.0)
    results = executor.run("e1", plan, monitor.specs, FIXED_NOW)
    executor.close()
    return results, egress, trace


def test_the_owners_own_words_may_be_looked_up(home: Path, server: ThreadingHTTPServer) -> None:
    (result,), egress, trace = run(home, Network(), Step("look_up", {"text": "pizza", "port": server.server_port}))
    assert (result.status, result.value) == ("done", "yes")
    (sent,) = [entry for entry in egress.ledger.entries(episode="e1") if entry.kind == "sent"]
    (call,) = trace.calls("e1")
    assert call.started is not None
    assert call.started.ruling is not None
    assert (sent.step, sent.rule) == (0, call.started.ruling.rule)
    assert {name: set(label.sources) for name, label in call.started.labels.items()} == {
        "text": {"owner"},
        "port": {"owner"},
    }


@pytest.mark.parametrize("is_readable", [False, True])
def test_a_mail_may_be_looked_up_where_the_owner_says_so(
    home: Path, server: ThreadingHTTPServer, is_readable: bool
) -> None:
    server.seen.clear()  # type: ignore[attr-defined]
    network = Network(host={"127.0.0.1": Host(may_read=("message",))} if is_readable else {})
    steps = (
        Step("read_mail", {"about": "bank"}),
        Step("look_up", {"text": Ref(0), "port": server.server_port}),
    )
    (_, result), egress, trace = run(home, network, *steps)
    if is_readable:
        assert (result.status, len(server.seen)) == ("done", 1)  # type: ignore[attr-defined]
        return
    assert (result.status, result.error_kind) == ("failed", "EgressError")
    assert result.error == (
        "what look_up would send to '127.0.0.1' was made from message, which it may not read; nothing was sent. "
        'To let it, write may_read = ["message"] under [network.host."127.0.0.1"] in hearth.toml'
    )
    assert server.seen == []  # type: ignore[attr-defined]
    (refused,) = egress.ledger.entries(episode="e1")
    assert (refused.kind, refused.reason, refused.step, refused.n_bytes) == ("refused", result.error, 1, 0)
    started = trace.calls("e1")[1].started
    assert started is not None
    assert "message" in started.labels["text"].sources
