"""Hostile clients: whatever is sent, the service answers in its own words, keeps serving, and logs no content."""

from __future__ import annotations

import base64
import gzip
import io
import json
import logging
import resource
import socket
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import schemathesis
from cloud_fixtures import Clock, Serve, Served, serving
from hypothesis import HealthCheck, Phase, given, settings
from test_cloud_service import LINE, Counting, code, plan, sent

from hearth.formats import edge_protocol
from hearth_cloud.cloud_settings import CloudSettings, Limits, Service
from hearth_cloud.service.logs import start_logging
from hearth_cloud.storage.cloud_storage import Storage

SECRET = "Zanzibar-Quokka-4711"
"""Stands in everything hostile that is sent: found in a log, it fails the test."""


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """All that this process logs meanwhile, down to the least."""
    root, kept = logging.getLogger(), list(logging.getLogger().handlers)
    level, stream = root.level, io.StringIO()
    start_logging("debug", stream)
    yield stream
    root.handlers[:] = kept
    root.setLevel(level)
    logging.getLogger("uvicorn.access").disabled = False


# ── From the schema ───────────────────────────────────────────────────────────────────────────────────────


def test_nothing_that_the_schema_allows_or_forbids_is_a_fault(small_storage: Storage, log: io.StringIO) -> None:
    wide = CloudSettings(limits=Limits(requests_per_s=1e9, burst=10**9, demonstrations_per_day=10**9))
    small_storage.put_round("r", "open", {})
    with serving(wide, small_storage, teacher=Counting()) as served:
        token = served.token()
        schema = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
        told: list[int] = []

        n_operations = 0
        for result in schema.get_all_operations():
            operation: Any = result.ok()  # type: ignore[union-attr]
            n_operations += 1
            run_examples(operation, served, token, told)
        assert client_is_served(served, token)
    assert n_operations >= 9
    assert 200 in told
    assert any(status in told for status in (400, 409, 422))


def run_examples(operation: Any, served: Served, token: str, told: list[int]) -> None:
    """A bounded number of requests made from one operation's schema, half of them against it."""
    for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
        try:
            strategy = operation.as_strategy(generation_mode=mode)
        except Exception:
            continue  # nothing can be sent that this operation forbids

        @given(case=strategy)
        @settings(
            max_examples=4, derandomize=True, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        def holds(case: Any) -> None:
            headers = {"Authorization": f"Bearer {token}", edge_protocol.PROTOCOL_HEADER: "1"}
            response = case.call(base_url=served.url, headers=headers)
            told.append(response.status_code)
            assert response.status_code < 500, (case.method, case.path, response.text)
            if response.status_code >= 400:
                edge_protocol.read(edge_protocol.Problem, response.content)

        try:
            holds()
        except Exception as error:
            if "Unsatisfiable" in type(error).__name__:
                continue
            raise


def client_is_served(served: Served, token: str) -> bool:
    with served.client(token) as client:
        return client.get("/v1/tasks").status_code == 200


# ── By hand ───────────────────────────────────────────────────────────────────────────────────────────────


def body(**more: Any) -> bytes:
    return json.dumps(plan(request=f"mail {SECRET}") | more).encode()


DEEP = b'{"id": "a", "request": "x", "now": "2026-01-01T00:00:00Z", "tools": ' + b"[" * 100_000
MALFORMED: list[tuple[str, bytes, str, int]] = [
    ("no JSON", f"not json {SECRET}".encode(), "application/json", 422),
    ("empty", b"", "application/json", 422),
    ("a list", b"[]", "application/json", 422),
    ("nested deeply", DEEP, "application/json", 422),
    (
        "a surrogate",
        b'{"id": "a", "request": "\\ud800", "now": "2026-01-01T00:00:00Z", "tools": []}',
        "application/json",
        422,
    ),
    ("no UTF-8", b'{"id": "\xff\xfe"}', "application/json", 422),
    ("no zone", body(now="2026-01-01T00:00:00"), "application/json", 422),
    ("an id that leads elsewhere", body(id="../../etc/passwd"), "application/json", 422),
    ("a line break in the id", body(id="a\r\nSet-Cookie: x"), "application/json", 422),
    ("a tool without a name", body(tools=[{"desc": SECRET}]), "application/json", 422),
    ("a tool twice", body(tools=[{"id": SECRET}, {"id": SECRET}]), "application/json", 422),
    (
        "too many tools",
        body(tools=[{"id": f"t{k}"} for k in range(edge_protocol.MAX_TOOLS + 1)]),
        "application/json",
        422,
    ),
    ("parameters that are none", body(tools=[{"id": "a", "parameters": {"x": 1}}]), "application/json", 422),
    ("a request without end", body(request=SECRET * 1000), "application/json", 422),
    ("another kind", body(), "text/html", 415),
    ("no kind", body(), "", 415),
]


@pytest.mark.parametrize(
    ("sent_bytes", "kind", "status"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED]
)
def test_malformed(serve: Serve, log: io.StringIO, sent_bytes: bytes, kind: str, status: int) -> None:
    served = serve(teacher=Counting())
    with served.client(served.token()) as client:
        for path in ("/v1/plans", "/v1/demonstrations"):
            answer = client.post(path, content=sent_bytes, headers={"content-type": kind} if kind else {})
            assert answer.status_code in (status, 422), answer.text
            edge_protocol.read(edge_protocol.Problem, answer.content)
            assert SECRET not in answer.text
        assert client.post("/v1/plans", json=plan()).status_code == 200
    assert SECRET not in log.getvalue()
    assert '"event": "request"' in log.getvalue()


def test_nothing_of_what_goes_well_is_logged_either(serve: Serve, log: io.StringIO) -> None:
    served = serve(CloudSettings(service=Service(sedna_service="planner")), teacher=Counting())
    token = served.token()
    line = {**LINE, "user_request": f"mail {SECRET}", "id": SECRET}
    with served.client(token, SECRET, **{"User-Agent": SECRET, "Referer": SECRET}) as client:
        assert client.post("/v1/plans", json=plan(SECRET, f"mail {SECRET}")).status_code == 200
        assert client.post("/v1/demonstrations", json=sent(SECRET, line)).status_code == 200
        assert client.get(f"/v1/tasks?q={SECRET}").status_code == 200
        assert client.get(f"/{SECRET}").status_code == 404
        assert client.request(SECRET, "/v1/tasks").status_code in (400, 405)
    assert client.base_url
    said = log.getvalue()
    assert SECRET not in said
    assert token not in said
    for text in said.splitlines():
        json.loads(text)


@pytest.mark.parametrize("declares", [True, False])
def test_oversized(serve: Serve, declares: bool) -> None:
    served = serve(CloudSettings(limits=Limits(body_bytes=10_000)), teacher=Counting())
    huge = b" " * 5_000_000

    def drops() -> Iterator[bytes]:
        for start in range(0, len(huge), 1000):
            yield huge[start : start + 1000]

    with served.client(served.token()) as client:
        try:
            answer = client.post("/v1/plans", content=huge if declares else drops())
        except (httpx.WriteError, httpx.RemoteProtocolError):
            pass  # it did not read on
        else:
            assert (answer.status_code, code(answer)) == (413, "size")
    with served.client(served.token("attic")) as client:
        assert client.post("/v1/plans", json=plan()).status_code == 200


def bomb(n_bytes: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    piece = b" " * 1_000_000
    return b"".join(packer.compress(piece) for _ in range(n_bytes // len(piece))) + packer.flush()


@pytest.mark.parametrize(
    ("packed", "coding", "status"),
    [
        (lambda: bomb(500_000_000), "gzip", 413),
        (lambda: gzip.compress(bomb(50_000_000)), "gzip, gzip", 415),
        (b"\x1f\x8b\x08 nonsense", "gzip", 400),
        (gzip.compress(body())[:-20], "gzip", 400),
        (gzip.compress(body()) + b"more", "gzip", 400),
        (b"", "gzip", 400),
        (body(), "br", 415),
    ],
    ids=["bomb", "two bombs", "no gzip", "cut off", "more behind", "nothing", "another coding"],
)
def test_packed(serve: Serve, packed: bytes | Callable[[], bytes], coding: str, status: int) -> None:
    """Unpacked whole, the bombs would take 500 MB."""
    served = serve(teacher=Counting())
    content = packed if isinstance(packed, bytes) else packed()
    peak_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    headers = {"content-type": "application/json", "content-encoding": coding}
    with served.client(served.token()) as client:
        answer = client.post("/v1/plans", content=content, headers=headers)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak_before < 100_000  # kB
        assert answer.status_code == status, answer.text
        assert client.post("/v1/plans", json=plan()).status_code == 200


def test_a_body_that_arrives_drop_by_drop_is_not_waited_for(serve: Serve) -> None:
    served = serve(CloudSettings(limits=Limits(body_s=0.2)), teacher=Counting())
    head = (
        f"POST /v1/plans HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {served.token()}\r\n{edge_protocol.PROTOCOL_HEADER}: 1\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    )
    with socket.create_connection(("127.0.0.1", urlsplit(served.url).port or 0), 5) as line:
        line.sendall(head.encode())
        assert line.recv(100).startswith(b"HTTP/1.1 408")


def test_without_a_token_no_body_is_read(serve: Serve) -> None:
    served = serve(teacher=Counting())
    head = (
        f"POST /v1/plans HTTP/1.1\r\nHost: x\r\n{edge_protocol.PROTOCOL_HEADER}: 1\r\nContent-Length: 1000000\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", urlsplit(served.url).port or 0), 5) as line:
        line.sendall(head.encode())
        assert line.recv(100).startswith(b"HTTP/1.1 401")


def test_one_who_tries_many_tokens_is_slowed(serve: Serve, clock: Clock) -> None:
    served = serve(clock=clock)
    good = served.token()
    guesses = [base64.urlsafe_b64encode(bytes([k] * 32)).decode().rstrip("=") for k in range(105)]
    with served.client() as client:
        told = [client.get("/v1/tasks", headers={"Authorization": f"Bearer hearth_{g}"}).status_code for g in guesses]
    assert set(told) == {401, 429}
    with served.client(good) as client:
        assert client.get("/v1/tasks").status_code == 200


def test_a_replayed_message_changes_nothing(serve: Serve) -> None:
    served = serve()
    with served.client(served.token()) as client:
        first = client.post("/v1/demonstrations", json=sent("m1", LINE))
        again = client.post("/v1/demonstrations", json=sent("m1", LINE))
        forged = client.post("/v1/demonstrations", json=sent("m1", {**LINE, "user_request": "another"}))
    assert first.content == again.content
    assert (forged.status_code, code(forged)) == (409, "idempotency")
    assert served.storage.n_demonstrations() == 1


def test_one_edge_cannot_change_what_another_gave(serve: Serve) -> None:
    served = serve()
    with served.client(served.token("a")) as client:
        client.post("/v1/demonstrations", json=sent("m1", LINE))
    with served.client(served.token("b")) as client:
        client.post("/v1/demonstrations", json=sent("m1", {**LINE, "user_request": "mine"}))
    assert [json.loads(line)["user_request"] for edge, line in served.storage.demonstrations("a")] == [
        LINE["user_request"]
    ]


@pytest.mark.parametrize("line", [
    {"id": "x"},
    {"id": "x", "user_request": 5, "task_nodes": []},
    {"id": "x", "user_request": "a", "task_nodes": [{"task": ""}]},
    {"id": "x", "user_request": "a", "task_nodes": [{"task": "t" * 300}]},
    {"id": "x", "user_request": "a" * 5000, "task_nodes": [{"task": "t"}]},
    {"id": "x", "user_request": " ", "task_nodes": [{"task": "t"}]},
    {"id": "x", "user_request": "a", "task_nodes": [{"task": "t"}] * 65},
    {"id": "x", "user_request": "a", "task_nodes": [{"task": "t", "arguments": [{"name": "n", "value": "v" * 40_000}]}]},
    {"id": "x", "user_request": "a", "task_nodes": "[[[[", "tools": 7},
    {"id": True, "user_request": "a", "task_nodes": [{"task": "t"}]},
    {"user_request": "a", "task_nodes": [{"task": "t"}]},
])  # fmt: skip
def test_a_line_that_cannot_be_kept_is_turned_away_and_the_others_are_not(serve: Serve, line: dict[str, Any]) -> None:
    served = serve()
    with served.client(served.token()) as client:
        receipt = client.post("/v1/demonstrations", json=sent("m1", line, LINE)).json()
    assert receipt["accepted"] == ["d1"]
    assert len(receipt["refused"]) == 1
    assert len(receipt["refused"][0]["reason"]) < 200
