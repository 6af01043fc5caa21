"""The link to a cloud: every way an answer can be wrong, versions, and that the token goes nowhere else."""

from __future__ import annotations

import datetime as dt
import gzip
import http.server
import json
import threading

import httpx
import pytest

from hearth.config import Network
from hearth.edge.cloud_link import MAX_ANSWER_BYTES, Link, _moment
from hearth.errors import LinkError
from hearth.formats import edge_protocol
from hearth.guard.egress.gateway import Egress, sending
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, ClosedEgress
from tests.small_cloud import AWAY, LOST, TOKEN, URL, DoorTo, SmallCloud, problem

HTML = {"content-type": "text/html; charset=utf-8"}
JSON = {"content-type": "application/json"}


def token() -> str:
    return TOKEN


def link_to(cloud: SmallCloud, versions: tuple[int, int] = (edge_protocol.OLDEST, edge_protocol.VERSION)) -> Link:
    return Link(URL, DoorTo(cloud), token, "edge-1", versions=versions)


def send(link: Link) -> edge_protocol.Receipt:
    body = {"id": "b-1", "demonstrations": [{"id": "d-1", "user_request": "water the plants"}]}
    with sending({}):
        return link.give("/v1/demonstrations", "b-1", json.dumps(body).encode())


def test_what_is_sent_says_who_and_which_version() -> None:
    cloud = SmallCloud()
    assert send(link_to(cloud)).accepted == ("d-1",)
    headers = cloud.requests[0].headers
    assert headers["hearth-protocol"] == "1"
    assert headers["hearth-instance"] == "edge-1"
    assert headers["idempotency-key"] == "b-1"


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (AWAY, "away", "was not reached"),
        (LOST, "away", "was not reached"),
        (problem(401, "token", "revoked yesterday"), "token", r"revoked yesterday.*ask for a new one.*edge join"),
        (problem(403, "quarantined", "odd statistics"), "quarantined", "set this device aside"),
        (problem(409, "identity", "two agents"), "identity", "another device uses the same identity"),
        (problem(413, "size", "at most 100 bytes"), "size", "at most 100 bytes"),
        (problem(422, "shape", "no such field"), "shape", "no such field"),
        (problem(426, "protocol", "7 to 9"), "protocol", r"1 to 1.*7 to 9.*up to date"),
        (problem(429, "rate", "slower"), "rate", "slower"),
        (problem(500, "fault", "broken"), "fault", "status 500"),
        (httpx.Response(502, content=b"<html>", headers=HTML), "busy", "status 502"),
        (httpx.Response(404, content=b"", headers=HTML), "missing", "is it a Hearth cloud"),
        (httpx.Response(200, content=b"<html>log in</html>", headers=HTML), "away", r"text/html.*log-in page"),
        (httpx.Response(200, content=b'{"id": "b-1", "acc', headers=JSON), "away", "Receipt was expected"),
        (httpx.Response(200, content=b'{"id": "b-2"}', headers=JSON), "away", "answered about 'b-2'"),
        (httpx.Response(200, content=b"[" * 100_000, headers=JSON), "away", "Receipt was expected"),
        (httpx.Response(200, content=b" " * (MAX_ANSWER_BYTES + 1), headers=JSON), "away", "over 2,000,000 bytes"),
        (
            httpx.Response(307, headers={"location": "https://elsewhere.example/v1"}),
            "redirect",
            r"'https://elsewhere.example/v1'.*token would go along",
        ),
    ],
)
def test_a_wrong_answer_is_said(fault: httpx.Response | str, code: str, said: str) -> None:
    cloud = SmallCloud()
    cloud.faults = [fault]
    with pytest.raises(LinkError, match=said) as caught:
        send(link_to(cloud))
    assert caught.value.code == code
    assert TOKEN not in str(caught.value)
    assert len(cloud.requests) == 1, "nothing is sent again, or elsewhere, by the link itself"


@pytest.mark.parametrize(
    ("headers", "body", "wait_s"),
    [
        ({"retry-after": "7"}, None, 7.0),
        ({}, 3.5, 3.5),
        ({"retry-after": "99999999"}, None, 86_400.0),
        # the service's clock is a day off: its date counts from its own
        ({"retry-after": "Sat, 21 Nov 2026 08:01:00 GMT", "date": "Sat, 21 Nov 2026 08:00:00 GMT"}, None, 60.0),
        ({"retry-after": "Sat, 21 Nov 2026 08:01:00 GMT"}, None, None),
        ({"retry-after": "soon"}, None, None),
        ({"retry-after": "-5"}, None, None),
    ],
)
def test_when_it_may_be_tried_again(headers: dict[str, str], body: float | None, wait_s: float | None) -> None:
    cloud = SmallCloud()
    said = edge_protocol.Problem(code="rate", detail="", retry_after_s=body).model_dump_json().encode()
    cloud.faults = [httpx.Response(429, content=said, headers={**JSON, **headers})]
    with pytest.raises(LinkError) as caught:
        send(link_to(cloud))
    assert caught.value.retry_after_s == wait_s


# ── Versions ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("here", "there", "spoken"), [((1, 1), (1, 1), 1), ((1, 3), (1, 1), 1), ((1, 3), (2, 5), 3), ((1, 2), (2, 2), 2)]
)
def test_the_newest_version_both_speak_is_spoken(here: tuple[int, int], there: tuple[int, int], spoken: int) -> None:
    cloud = SmallCloud(*there)
    link = link_to(cloud, here)
    link.hello()
    send(link)
    assert cloud.requests[-1].headers["hearth-protocol"] == str(spoken)


def test_a_newer_edge_finds_out_by_itself_that_the_service_is_older() -> None:
    cloud = SmallCloud(1, 1)
    assert send(link_to(cloud, (1, 4))).accepted == ("d-1",)
    assert cloud.n_taken == 1


@pytest.mark.parametrize(("here", "there"), [((1, 1), (2, 3)), ((3, 4), (1, 2))])
def test_without_a_common_version_nothing_is_sent(here: tuple[int, int], there: tuple[int, int]) -> None:
    cloud = SmallCloud(*there)
    with pytest.raises(LinkError, match="what waits is kept; bring the older side up to date") as caught:
        send(link_to(cloud, here))
    assert caught.value.code == "protocol"
    assert not cloud.taken


# ── The real door ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_closed_door_keeps_it_here() -> None:
    with pytest.raises(LinkError, match="nothing was sent") as caught:
        send(Link(URL, ClosedEgress(), token, "edge-1"))
    assert caught.value.code == "closed"


def test_the_ledger_holds_packed_bodies_readable_and_counts_what_was_sent(store: Store) -> None:
    got: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["content-encoding"] == "gzip"
            got.append(self.rfile.read(int(self.headers["content-length"])))
            said = b'{"id": "b-1", "accepted": ["d-1"]}'
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None: ...

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    door = Egress(["127.0.0.1"], store, lambda: FIXED_NOW, network=Network(allow=("127.0.0.1",)))
    body = json.dumps({"id": "b-1", "demonstrations": ["ask Person1 about the plants"] * 100}).encode()
    with (
        Link(f"http://127.0.0.1:{server.server_address[1]}", door, token, "edge-1") as link,
        sending({"Person1": "Anna"}),
    ):
        assert link.give("/v1/demonstrations", "b-1", body).accepted == ("d-1",)
    thread.join()
    server.server_close()
    assert gzip.decompress(got[0]) == body
    (sent,) = [entry for entry in door.ledger.entries() if entry.kind == "sent"]
    assert sent.payload is not None
    assert body in sent.payload
    assert b"(secret)" in sent.payload
    assert TOKEN.encode() not in sent.payload
    assert sent.stands_for == {"Person1": "Anna"}
    assert sent.n_bytes < len(body) // 4
    assert sent.reason == "cloud: demonstrations"


def test_plain_http_to_the_internet_is_refused_at_the_door_too(store: Store) -> None:
    door = Egress(["cloud.example.org"], store, lambda: FIXED_NOW, resolve=lambda host, port: ["93.184.216.34"])
    with pytest.raises(LinkError, match="plain http") as caught:
        send(Link("http://cloud.example.org", door, token, "edge-1"))
    assert caught.value.code == "closed"


def test_a_used_up_budget_keeps_it_here(store: Store) -> None:
    network = Network.model_validate({"allow": ["127.0.0.1"], "budget": {"bytes_per_day": 0}})
    door = Egress(["127.0.0.1"], store, lambda: FIXED_NOW, network=network)
    with pytest.raises(LinkError, match="budget") as caught:
        send(Link("http://127.0.0.1:9", door, token, "edge-1"))
    assert caught.value.code == "closed"


def test_a_moment_without_a_zone_is_utc() -> None:
    assert _moment("Sat, 21 Nov 2026 08:01:00 -0000") == dt.datetime(2026, 11, 21, 8, 1, tzinfo=dt.UTC)
