"""`EndpointTeacher` with a real HTTP server on loopback that speaks the OpenAI API."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from hearth.guard.egress import Egress
from hearth.guard.mask import Masker
from hearth.guard.masked_model import MaskedModel
from hearth.guard.owner_names import OwnerNames, OwnName
from hearth.learn.teacher import Budget, EndpointTeacher, Limits
from hearth.models.remote import RemoteModel
from hearth.store import Store
from hearth.testing import FIXED_NOW, check_teacher
from hearth.types import Parameter, Plan, Refusal, Request, ToolSpec

TOOLS = {
    "draft_mail": ToolSpec(
        "draft_mail", "Draft a mail.", (Parameter("to", "EmailAddress"), Parameter("text", "text")), effect="change"
    )
}
NAMES = OwnerNames([OwnName("Mia Berger", "person"), OwnName("Mia", "person")])


class Server:
    """Answers each question with what `answer` makes of its user message; keeps what it was sent."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.received.append(asked)
                status = outer.statuses.pop(0) if outer.statuses else 200
                body = json.dumps(outer.reply(json.loads(asked["messages"][1]["content"])["request"])).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def reply(self, request: str) -> dict[str, Any]:
        word = next((w for w in request.split() if "@" in w), "")
        arguments = [{"name": "to", "value": word}, {"name": "text", "value": "hello"}]
        plan = {"outcome": "plan", "task_nodes": [{"task": "draft_mail", "arguments": arguments}]}
        return self.completion(json.dumps(plan))

    def completion(self, content: str) -> dict[str, Any]:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        return {
            "id": "c",
            "choices": [choice],
            "usage": {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42},
        }

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


Make = Callable[..., EndpointTeacher]


@pytest.fixture
def teacher(server: Server, store: Store) -> Iterator[Make]:
    """A teacher behind the server, through the door for the hosts in `allow`."""
    with contextlib.ExitStack() as stack:

        def make(allow: Sequence[str] = ("127.0.0.1",), limits: Limits | None = None) -> EndpointTeacher:
            egress = Egress(allow, store, lambda: FIXED_NOW)
            model = RemoteModel(server.url, "tiny", "", egress.transport("teacher"), sleep=lambda _: None)
            stack.callback(model.close)
            budget = Budget(store, "tiny", limits or Limits(), lambda: FIXED_NOW)
            return EndpointTeacher(MaskedModel(model, Masker(names=NAMES)), budget)

        yield make


def ask(teacher: EndpointTeacher, *texts: str) -> list[Plan | Refusal]:
    return list(teacher.label([Request(text, FIXED_NOW) for text in texts], TOOLS))


def test_what_leaves_is_masked_and_written_down(server: Server, store: Store, teacher: Make) -> None:
    (answer,) = ask(teacher(), "write mia@berger.example hello from Mia")
    assert isinstance(answer, Plan)
    assert answer.steps[0].arguments == {"to": "mia@berger.example", "text": "hello"}
    (row,) = store.query("SELECT host, payload, reason FROM disclosure WHERE kind = 'sent'")
    assert (row["host"], row["reason"]) == ("127.0.0.1", "teacher")
    for left in (row["payload"].decode(), json.dumps(server.received)):
        assert "mia@berger.example" not in left
        assert "Mia" not in left
        assert "masked.example" in left


def test_a_host_that_is_not_allowed_is_not_asked(server: Server, store: Store, teacher: Make) -> None:
    answers = ask(teacher([]), *["write a@b.example x"] * 5)
    assert all(isinstance(answer, Refusal) and answer.planner == "" for answer in answers)
    assert "is not a host Hearth may reach" in answers[0].reason  # type: ignore[union-attr]
    assert server.received == []
    assert store.query("SELECT count(*) FROM disclosure WHERE kind <> 'refused'")[0][0] == 0


def test_passing_trouble_is_tried_again_and_tokens_are_the_servers(server: Server, store: Store, teacher: Make) -> None:
    server.statuses = [500, 429]
    one = teacher()
    (answer,) = ask(one, "write a@b.example x")
    assert isinstance(answer, Plan)
    assert len(server.received) == 3
    (row,) = store.query("SELECT day, n_calls, n_tokens FROM teacher_use")
    assert tuple(row) == ("2026-11-20", 1, 42)


def test_the_budget_closes_the_line(server: Server, store: Store, teacher: Make) -> None:
    answers = ask(teacher(limits=Limits(n_calls=2)), *["write a@b.example x"] * 5)
    assert [isinstance(answer, Plan) for answer in answers] == [True, True, False, False, False]
    assert len(server.received) == 2


def test_the_contract(server: Server, store: Store, teacher: Make) -> None:
    check_teacher(teacher(), TOOLS, ["write a@b.example x"])
