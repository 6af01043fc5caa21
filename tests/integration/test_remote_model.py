"""RemoteModel against a real HTTP server on loopback that speaks the OpenAI API and misbehaves to order."""

from __future__ import annotations

import datetime as dt
import email.utils
import http.server
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from hearth.errors import ConfigError, EgressError, PlannerError
from hearth.guard.egress.gateway import MAX_COUNTED_TOKENS, Egress
from hearth.models.llm.openai_endpoint import MAX_REPLY_BYTES, Endpoint, Patience, RemoteModel
from hearth.planning.llm import LanguagePlanner
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import Context, Parameter, Plan, Request, ToolSpec

KEY = "sk-test-0123456789abcdef"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
ASK = [{"role": "system", "content": "You plan."}, {"role": "user", "content": "Größe 🙂 und \ud800?"}]


@dataclass
class Step:
    """One reply of the server."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    act: Callable[[http.server.BaseHTTPRequestHandler], None] | None = None


def chat(content: object, finish: str = "stop", **message: object) -> Step:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    return Step(body=json.dumps({"id": "c1", "object": "chat.completion", "choices": [choice]}).encode())


def error(status: int, message: str, headers: dict[str, str] | None = None) -> Step:
    return Step(status, json.dumps({"error": {"message": message, "type": "x"}}).encode(), headers or {})


class Server:
    """Gives its steps in turn, the last one again and again; keeps what it was sent."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.received: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.closing = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                outer.received.append((self.path, dict(self.headers), json.loads(data)))
                step = outer.steps.pop(0) if len(outer.steps) > 1 else outer.steps[0]
                if step.act is not None:
                    step.act(self)
                    return
                self.send_response(step.status)
                for name, value in step.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(step.body)))
                self.end_headers()
                self.wfile.write(step.body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def model(server: Server, clock: Clock) -> Iterator[RemoteModel]:
    model = RemoteModel(
        Endpoint(server.url, "tiny", KEY), httpx.HTTPTransport(), Patience(sleep=clock.sleep, clock=clock)
    )
    yield model
    model.close()


def fault(model: RemoteModel, schema: dict[str, object] | None = None) -> str:
    with pytest.raises(PlannerError) as caught:
        model.complete(ASK, schema)
    text = str(caught.value)
    assert KEY not in text
    assert text.isprintable()
    assert len(text) < 600
    return text


# ── Answers ───────────────────────────────────────────────────────────────────────────────────────────────


def test_happy_path(server: Server, model: RemoteModel, clock: Clock) -> None:
    server.steps = [chat('{"a": 1}')]
    assert model.complete(ASK, SCHEMA) == '{"a": 1}'
    assert model.name == "tiny"
    ((path, headers, body),) = server.received
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {
        "model": "tiny",
        "messages": ASK,
        "stream": False,
        "temperature": 0,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
        },
    }
    assert clock.slept == []


def test_without_schema_or_key(server: Server) -> None:
    server.steps = [chat([{"type": "text", "text": "Hello "}, {"type": "text", "text": "you"}])]
    model = RemoteModel(Endpoint(f"{server.url}/", "tiny"), httpx.HTTPTransport())
    assert model.complete(ASK) == "Hello you"
    model.close()
    ((path, headers, body),) = server.received
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers
    assert "response_format" not in body


def test_schema_unsupported_falls_back_once_and_remembers(server: Server, model: RemoteModel) -> None:
    refused = error(400, "response_format type json_schema is not supported")
    server.steps = [refused, chat('{"a": 2}'), chat('{"a": 3}')]
    assert model.complete(ASK, SCHEMA) == '{"a": 2}'
    assert model.complete(ASK, SCHEMA) == '{"a": 3}'
    kinds = [body["response_format"]["type"] for _, _, body in server.received]
    assert kinds == ["json_schema", "json_object", "json_object"]
    told = server.received[1][2]["messages"]
    assert told[0]["role"] == "system"
    assert told[0]["content"].startswith("You plan.")
    assert json.dumps(SCHEMA) in told[0]["content"]
    assert told[1:] == ASK[1:]


def test_no_json_mode_at_all(server: Server, model: RemoteModel) -> None:
    server.steps = [error(400, "no json_schema"), error(422, "no json_object"), chat('{"a": 4}')]
    assert model.complete(ASK[1:], SCHEMA) == '{"a": 4}'
    last = server.received[-1][2]
    assert "response_format" not in last
    assert json.dumps(SCHEMA) in last["messages"][0]["content"]


def test_a_request_that_is_wrong_in_every_form_changes_nothing(server: Server, model: RemoteModel) -> None:
    server.steps = [error(400, "context too long")]
    assert "did not accept the request (status 400: context too long)" in fault(model, SCHEMA)
    assert len(server.received) == 3
    server.steps = [chat("{}")]
    model.complete(ASK, SCHEMA)
    assert server.received[-1][2]["response_format"]["type"] == "json_schema"


def test_a_model_without_temperature(server: Server, model: RemoteModel) -> None:
    server.steps = [error(400, "Unsupported value: 'temperature' does not support 0"), chat("{}"), chat("{}")]
    model.complete(ASK, SCHEMA)
    model.complete(ASK, SCHEMA)
    assert ["temperature" in body for _, _, body in server.received] == [True, False, False]
    assert {body["response_format"]["type"] for _, _, body in server.received} == {"json_schema"}


def drawn(*texts: str) -> Step:
    choices = [{"message": {"content": text}, "finish_reason": "stop"} for text in texts]
    return Step(body=json.dumps({"choices": choices}).encode())


def test_several_answers_are_drawn_at_once(server: Server, model: RemoteModel) -> None:
    server.steps = [drawn("{}", "", "[]")]
    assert model.sample(ASK, SCHEMA, 3) == ("{}", "[]"), "one that is empty is skipped"
    body = server.received[0][2]
    assert body["n"] == 3
    assert body["temperature"] > 0


def test_a_server_that_does_not_know_n_gives_one_answer(server: Server, model: RemoteModel) -> None:
    server.steps = [error(400, "Unrecognized request argument supplied: n"), chat("{}")]
    assert model.sample(ASK, SCHEMA, 3) == ("{}",)
    assert ["n" in body for _, _, body in server.received] == [True, False]
    server.steps = [drawn("", "")]
    with pytest.raises(PlannerError, match="empty answer"):
        model.sample(ASK, SCHEMA, 2)


# ── Trying again ──────────────────────────────────────────────────────────────────────────────────────────


def test_429_waits_as_long_as_it_is_told(server: Server, model: RemoteModel, clock: Clock) -> None:
    server.steps = [error(429, "slow down", {"Retry-After": "7"}), chat("ok")]
    assert model.complete(ASK) == "ok"
    assert clock.slept == [7.0]


def test_429_with_a_date(server: Server, model: RemoteModel, clock: Clock) -> None:
    server.steps = [error(429, "", {"Retry-After": email.utils.formatdate(time.time() + 20, usegmt=True)}), chat("ok")]
    assert model.complete(ASK) == "ok"
    assert 15 < clock.slept[0] <= 20


@pytest.mark.parametrize("header", ["soon", "-5", "", "Mon, 99 Foo 9999999999 00:00:00 GMT"])
def test_429_with_nonsense_backs_off_by_itself(server: Server, model: RemoteModel, clock: Clock, header: str) -> None:
    server.steps = [error(429, "", {"Retry-After": header}), chat("ok")]
    assert model.complete(ASK) == "ok"
    assert clock.slept == [0.5]


@pytest.mark.parametrize("header", ["3600", "9" * 400])
def test_429_longer_than_the_deadline_is_reported_at_once(
    server: Server, model: RemoteModel, clock: Clock, header: str
) -> None:
    server.steps = [error(429, "quota used up", {"Retry-After": header})]
    assert "is over its limit (status 429: quota used up); try again in" in fault(model)
    assert clock.slept == []
    assert len(server.received) == 1


def test_429_without_end(server: Server, model: RemoteModel, clock: Clock) -> None:
    server.steps = [error(429, "busy")]
    assert "try again later" in fault(model)
    assert len(server.received) == 3


def test_500_then_well(server: Server, model: RemoteModel, clock: Clock) -> None:
    server.steps = [error(500, "oops"), Step(503, b"<html>down</html>"), chat("ok")]
    assert model.complete(ASK) == "ok"
    assert clock.slept == [0.5, 1.0]


def test_500_without_end(server: Server, model: RemoteModel) -> None:
    server.steps = [Step(500, f"<h1>\x1b[31mkey {KEY}</h1>".encode() + b"x" * 5000)]
    message = fault(model)
    assert "failed (status 500: <h1> [31mkey ***</h1>xxx" in message
    assert len(server.received) == 3


def test_connection_dropped_then_well(server: Server, model: RemoteModel, clock: Clock) -> None:
    def drop(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)

    server.steps = [Step(act=drop), chat("ok")]
    assert model.complete(ASK) == "ok"
    assert clock.slept == [0.5]


def test_nobody_there(clock: Clock) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = RemoteModel(
        Endpoint(f"http://127.0.0.1:{port}/v1", "tiny", KEY),
        httpx.HTTPTransport(),
        Patience(sleep=clock.sleep, clock=clock),
    )
    message = fault(model)
    assert f"cannot reach the language model at 'http://127.0.0.1:{port}/v1'" in message
    assert "after 3 attempts; check that it runs and that base_url in [models.language] is right" in message
    model.close()


# ── Time and size ─────────────────────────────────────────────────────────────────────────────────────────


def test_hang(server: Server) -> None:
    def hang(handler: http.server.BaseHTTPRequestHandler) -> None:
        server.closing.wait(5)
        handler.close_connection = True

    server.steps = [Step(act=hang)]
    model = RemoteModel(Endpoint(server.url, "tiny", KEY), httpx.HTTPTransport(), Patience(0.2))
    assert "did not answer within 0.2 s; raise timeout_s in [models.language]" in fault(model)
    assert len(server.received) == 1
    model.close()


def test_dribble(server: Server) -> None:
    def dribble(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        try:
            while not server.closing.wait(0.03):
                handler.wfile.write(b" ")
        except OSError:
            handler.close_connection = True

    server.steps = [Step(act=dribble)]
    model = RemoteModel(Endpoint(server.url, "tiny", KEY), httpx.HTTPTransport(), Patience(0.25))
    assert "did not answer within 0.25 s" in fault(model)
    model.close()


def test_no_time_left_after_waiting(server: Server, clock: Clock) -> None:
    server.steps = [error(500, "oops")]
    model = RemoteModel(
        Endpoint(server.url, "tiny", KEY), httpx.HTTPTransport(), Patience(1.0, sleep=clock.sleep, clock=clock)
    )
    assert "failed (status 500: oops)" in fault(model)
    assert clock.slept == [0.5]
    model.close()


def test_endless_answer(server: Server, model: RemoteModel) -> None:
    server.steps = [Step(body=b" " * (MAX_REPLY_BYTES + 1))]
    assert "sent more than 4,000,000 bytes" in fault(model)


# ── Answers that are none ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>hello</html>",
        b"{}",
        b'{"choices": 3}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"error": "no"}',
        b"null",
    ],
)
def test_no_chat_completion(server: Server, model: RemoteModel, body: bytes) -> None:
    server.steps = [Step(body=body)]
    message = fault(model)
    assert "answered with no chat completion" in message
    assert "base_url in [models.language]" in message


def test_empty_choices(server: Server, model: RemoteModel) -> None:
    server.steps = [Step(body=b'{"choices": []}')]
    assert "gave no choices" in fault(model)


def test_empty_content_says_why(server: Server, model: RemoteModel) -> None:
    server.steps = [chat(None, refusal=f"I will not\nuse {KEY}")]
    assert "gave an empty answer (I will not use ***)" in fault(model)
    server.steps = [chat("  ", finish="content_filter")]
    assert "gave an empty answer (content_filter)" in fault(model)


def test_cut_off(server: Server, model: RemoteModel) -> None:
    server.steps = [chat('{"a": [1, 2', finish="length")]
    assert "was cut off after 11 characters; raise the server's output limit" in fault(model)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "refused the key (status 401: Incorrect API key provided: ***); check api_key_env"),
        (403, "refused the key (status 403"),
        (404, "knows no model 'tiny' or no such address (status 404"),
        (418, "did not accept the request (status 418"),
        (301, "answered with status 301"),
    ],
)
def test_refused_without_retry(server: Server, model: RemoteModel, clock: Clock, status: int, words: str) -> None:
    server.steps = [error(status, f"Incorrect API key provided: {KEY}", {"Location": "http://127.0.0.1:9/elsewhere"})]
    assert words in fault(model)
    assert len(server.received) == 1
    assert clock.slept == []


# ── Settings and the door ─────────────────────────────────────────────────────────────────────────────────


def test_closed_door() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise EgressError("the host 'models.example' is not in [network] allow")

    model = RemoteModel(Endpoint("https://models.example/v1", "tiny", KEY), httpx.MockTransport(refuse))
    assert "was not asked: the host 'models.example' is not in [network] allow" in fault(model)
    model.close()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("models.example/v1", "has the scheme '' and the host ''; expected an address such as"),
        ("ftp://models.example/v1", "has the scheme 'ftp' and the host 'models.example'"),
        ("", "has the scheme '' and the host ''"),
        ("http://[::1/v1", "is not an address"),
        ("https://me:hunter2@models.example/v1", "holds a user name or password; take it out"),
    ],
)
def test_unusable_address(url: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RemoteModel(Endpoint(url, "tiny"), httpx.HTTPTransport())
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-ключ", "sk-\x7f"])
def test_unusable_key(key: str) -> None:
    with pytest.raises(ConfigError, match="holds a line break or a character that no key has") as caught:
        RemoteModel(Endpoint("http://127.0.0.1:1/v1", "tiny", key), httpx.HTTPTransport())
    assert key not in str(caught.value)


def test_nothing_shows_the_key(server: Server, model: RemoteModel) -> None:
    assert KEY not in repr(model)
    assert "tiny" in repr(model)


# ── With the planner ──────────────────────────────────────────────────────────────────────────────────────


def test_a_plan_over_http_with_one_repair(server: Server, model: RemoteModel) -> None:
    tools = {"ring": ToolSpec("ring", "Ring a bell.", (Parameter("times", "integer"),))}

    def answer(times: object) -> Step:
        arguments = [{"name": "times", "value": times}]
        return chat(json.dumps({"outcome": "plan", "task_nodes": [{"task": "ring", "arguments": arguments}]}))

    server.steps = [answer("often"), answer(3)]
    request = Request("ring the bell three times", dt.datetime(2026, 11, 20, tzinfo=dt.UTC))
    plan = LanguagePlanner(model).plan(request, Context(), tools)
    assert isinstance(plan, Plan)
    assert plan.steps[0].arguments == {"times": 3}
    assert plan.planner == "language:tiny"
    first, second = (body for _, _, body in server.received)
    assert first["response_format"]["json_schema"]["schema"]["properties"]["outcome"]["enum"][0] == "plan"
    assert "'times' is 'often'; expected a whole number" in second["messages"][-1]["content"]


def test_a_cost_beyond_all_sense_counts_for_the_most_and_the_answer_stands(server: Server, tmp_path: Path) -> None:
    reply = json.loads(chat("yes").body) | {"usage": {"total_tokens": 10**30}}
    server.steps = [Step(body=json.dumps(reply).encode())]
    with Store.open(tmp_path / "hearth.db") as store:
        egress = Egress((), store, lambda: FIXED_NOW)
        model = RemoteModel(Endpoint(server.url, "m"), httpx.HTTPTransport(), egress=egress)
        assert model.complete(ASK[:1]) == "yes"
        model.close()
        assert next(iter(egress.ledger.entries())).n_tokens == MAX_COUNTED_TOKENS
