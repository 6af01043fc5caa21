"""`EndpointTeacher` with a real HTTP server on loopback that speaks the OpenAI API."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from hearth.guard.deidentify.masker import Masker
from hearth.guard.deidentify.names import OwnerNames, OwnName
from hearth.guard.egress.gateway import Egress
from hearth.guard.egress.masking_door import MaskedModel, MaskingDoor
from hearth.learning.corrections import Budget, EndpointTeacher, Limits
from hearth.models.llm.openai_endpoint import Endpoint, Patience, RemoteModel
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, check_teacher
from hearth.types import Parameter, Plan, Refusal, Request, ToolSpec
from tests.model_server import ModelServer

TOOLS = {
    "draft_mail": ToolSpec(
        "draft_mail", "Draft a mail.", (Parameter("to", "EmailAddress"), Parameter("text", "text")), effect="change"
    )
}
NAMES = OwnerNames([OwnName("Mia Berger", "person"), OwnName("Mia", "person")])


class Server(ModelServer):
    """Answers each request with a plan that writes to the address in it."""

    def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        request = json.loads(messages[1]["content"])["request"]
        word = next((w for w in request.split() if "@" in w), "")
        arguments = [{"name": "to", "value": word}, {"name": "text", "value": "hello"}]
        plan = {"outcome": "plan", "task_nodes": [{"task": "draft_mail", "arguments": arguments}]}
        return self.completion(json.dumps(plan))


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
            patience = Patience(sleep=lambda _: None)
            model = RemoteModel(Endpoint(server.url, "tiny"), egress.transport("teacher"), patience)
            stack.callback(model.close)
            budget = Budget(store, "tiny", limits or Limits(), lambda: FIXED_NOW)
            return EndpointTeacher(MaskedModel(model, MaskingDoor(Masker(names=NAMES))), budget)

        yield make


def ask(teacher: EndpointTeacher, *texts: str) -> list[Plan | Refusal]:
    return list(teacher.label([Request(text, FIXED_NOW) for text in texts], TOOLS))


def test_what_leaves_is_masked_and_written_down(server: Server, store: Store, teacher: Make) -> None:
    (answer,) = ask(teacher(), "write mia@berger.example hello from Mia")
    assert isinstance(answer, Plan)
    assert answer.steps[0].arguments == {"to": "mia@berger.example", "text": "hello"}
    (row,) = store.query("SELECT host, payload, reason FROM disclosure WHERE kind = 'sent'")
    assert (row["host"], row["reason"]) == ("127.0.0.1", "teacher")
    for left in (row["payload"].decode(), b"".join(server.received).decode()):
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
