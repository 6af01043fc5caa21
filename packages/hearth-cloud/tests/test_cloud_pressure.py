"""The service under pressure: silent connections, slow heads and readers, bombs, many at once; and its real proxy."""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import io
import json
import select
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from cloud_fixtures import Serve, Served, wait_until
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from test_cloud_hostile import bomb
from test_cloud_hostile import log as log
from test_cloud_service import Counting, plan

from hearth.formats import edge_protocol
from hearth_cloud.cloud_settings import CloudSettings, Limits, Service
from hearth_cloud.problems import Fault
from hearth_cloud.service.access.limits import AtOnce
from hearth_cloud.statistics.artifacts import MadeOf, offer
from tests import ROOT


def line_to(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", urlsplit(served.url).port or 0), 5)


def is_ended(line: socket.socket) -> bool:
    """Whether the other side ended the connection; waits for some seconds."""
    try:
        return line.recv(100) == b""
    except ConnectionResetError:
        return True


# ── Connections ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "said", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"], ids=["nothing", "a word", "no end"]
)
def test_who_does_not_finish_a_head_is_not_waited_for(serve: Serve, said: bytes) -> None:
    served = serve(CloudSettings(limits=Limits(header_s=0.2)))
    with line_to(served) as line:
        line.sendall(said)
        assert is_ended(line)
    with line_to(served) as line:  # nor is one who has asked before
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert line.recv(1000).startswith(b"HTTP/1.1 200")
        line.sendall(said or b"G")
        while not is_ended(line):
            pass


def test_silent_connections_make_room_for_those_that_ask(serve: Serve) -> None:
    served = serve(CloudSettings(limits=Limits(connections=8)))
    with contextlib.ExitStack() as open_:
        silent = [open_.enter_context(line_to(served)) for _ in range(30)]
        with served.client() as client:
            assert client.get("/healthz").status_code == 200
        assert is_ended(silent[0])  # the oldest went


def test_a_reader_that_stops_is_cut_off(serve: Serve) -> None:
    served = serve(CloudSettings(limits=Limits(send_s=0.3)))
    data = bytes(20_000_000)
    sha256 = offer(served.storage, served.cloud.key, "prior", "large", data, MadeOf("f")).sha256
    head = f"GET /v1/blobs/{sha256} HTTP/1.1\r\nHost: x\r\n{edge_protocol.PROTOCOL_HEADER}: 1\r\n"
    with line_to(served) as line:
        line.sendall(f"{head}Authorization: Bearer {served.token()}\r\n\r\n".encode())
        wait_until(lambda: not served.server.server_state.connections)
    with served.client(served.token("attic")) as client:
        assert len(client.get(f"/v1/blobs/{sha256}").content) == len(data)


# ── Bodies ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_bomb_is_charged_to_who_sends_it_before_it_is_unpacked(serve: Serve, log: io.StringIO) -> None:
    served = serve(CloudSettings(limits=Limits(received_bytes_per_day=1_500_000)), teacher=Counting())
    packed = bomb(50_000_000)
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    with served.client(served.token("kitchen")) as client:
        answers = [client.post("/v1/statistics", content=packed, headers=headers) for _ in range(3)]
        assert {answer.status_code for answer in answers} <= {413, 429}
        assert answers[-1].status_code == 429
        assert "received bytes were used today" in answers[-1].text
    with served.client(served.token("attic")) as client:
        assert client.post("/v1/plans", json=plan()).status_code == 200
    told = [json.loads(line) for line in log.getvalue().splitlines()]
    refused = [one for one in told if one.get("status") in (413, 429)]
    assert {one["edge"] for one in refused} == {"kitchen"}  # a refused request is named after who sent it, too


def test_a_packed_body_costs_its_size_alone(serve: Serve) -> None:
    served = serve(teacher=Counting())
    body = json.dumps(plan() | {"request": "abc " * 900}).encode()
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    with served.client(served.token()) as client:
        assert client.post("/v1/plans", content=gzip.compress(body), headers=headers).status_code == 200
    assert sum(n for (_, _, kind), n in served.cloud.quotas._unwritten.items() if kind == "received_bytes") in (
        len(body),
        0,
    )


def test_one_edge_has_only_so_many_under_way(serve: Serve) -> None:
    served = serve(CloudSettings(limits=Limits(at_once=3, body_s=120.0)), teacher=Counting())
    token = served.token()
    head = (
        f"POST /v1/plans HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n{edge_protocol.PROTOCOL_HEADER}: 1\r\n"
        "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n"
    )
    with contextlib.ExitStack() as open_:
        lines = [open_.enter_context(line_to(served)) for _ in range(3)]
        for line in lines:
            line.sendall(head.encode())

        def is_refused() -> bool:
            with served.client(token) as client:
                answer = client.post("/v1/plans", json=plan())
            return answer.status_code == 429 and "requests at once" in answer.text

        wait_until(is_refused)
        with served.client(served.token("attic")) as client:
            assert client.post("/v1/plans", json=plan()).status_code == 200
        for line in lines:
            line.sendall(b"{}        ")
            assert line.recv(100).startswith(b"HTTP/1.1 422")
    with served.client(token) as client:
        assert client.post("/v1/plans", json=plan()).status_code == 200


def test_all_together_have_a_bound_too() -> None:
    counting = AtOnce(3, 5, "requests")
    counting.enter("a", 3)
    counting.enter("b", 2)
    with pytest.raises(Fault, match="too many requests are under way"):
        counting.enter("b")
    with pytest.raises(Fault, match="more than 3 requests at once"):
        counting.enter("a")
    counting.leave("a", 3)
    counting.leave("b", 0)
    counting.enter("b")
    assert counting._n == {"b": 3}


# ── The proxy ─────────────────────────────────────────────────────────────────────────────────────────────


def certificate(folder: Path) -> Path:
    """A certificate for this machine with its key, as HAProxy reads them."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "hearth.pem"
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(made.public_bytes(Encoding.PEM) + pem)
    return path


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


@pytest.fixture
def proxied(serve: Serve, tmp_path: Path) -> Iterator[tuple[Served, int, ssl.SSLContext]]:
    """A service behind the proxy that is deployed, with its own file; only addresses differ."""
    program = shutil.which("haproxy")
    if program is None:
        pytest.skip("no HAProxy on this machine: `apt-get install haproxy`")
    served = serve(CloudSettings(service=Service(proxies=("127.0.0.1",))), teacher=Counting())
    port, pem = free_port(), certificate(tmp_path)
    said = (ROOT / "deploy" / "proxy" / "haproxy.cfg").read_text()
    for deployed, here in (
        (":8443", f"127.0.0.1:{port}"),
        ("/etc/haproxy/tls/hearth.pem", str(pem)),
        ("server-template cloud 16", "server cloud1"),
        ('"${HEARTH_CLOUD_HOST}:8420"', urlsplit(served.url).netloc),
        ("maxconn 20000", "maxconn 400"),
        ("http-request 10s", "http-request 500ms"),
    ):
        assert deployed in said, deployed
        said = said.replace(deployed, here)
    (tmp_path / "haproxy.cfg").write_text(said)
    process = subprocess.Popen(
        [program, "-db", "-f", str(tmp_path / "haproxy.cfg")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    context = ssl.create_default_context(cafile=str(pem))

    def answers() -> bool:
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        try:
            with httpx.Client(verify=context, trust_env=False) as client:
                return client.get(f"https://localhost:{port}/healthz").status_code == 200
        except httpx.HTTPError:
            return False

    try:
        wait_until(answers)
        yield served, port, context
    finally:
        process.terminate()
        process.wait(10)
        assert process.stderr is not None
        process.stderr.close()


def test_the_deployed_proxy_serves_and_bounds(proxied: tuple[Served, int, ssl.SSLContext], log: io.StringIO) -> None:
    served, port, context = proxied
    said = {edge_protocol.PROTOCOL_HEADER: "1", "Authorization": f"Bearer {served.token()}"}
    with httpx.Client(base_url=f"https://localhost:{port}", headers=said, verify=context, trust_env=False) as client:
        assert client.post("/v1/plans", json=plan()).status_code == 200
        assert client.get("/metrics").status_code == 404  # for the cluster, not for homes
        with contextlib.ExitStack() as open_:
            lines = []
            for _ in range(80):  # over what one address may hold; each says nothing
                with contextlib.suppress(ConnectionResetError):
                    lines.append(open_.enter_context(socket.create_connection(("127.0.0.1", port), 5)))
            assert client.post("/v1/plans", json=plan()).status_code == 200
            wait_until(lambda: len(lines) - len(select.select(lines, (), (), 0)[0]) <= 64)  # those told something ended
        with contextlib.ExitStack() as open_:
            late: list[ssl.SSLSocket] = []

            def let_in() -> bool:
                """The proxy counts the lines of before until it has seen that they ended."""
                with contextlib.suppress(OSError):
                    late.append(open_.enter_context(tls_line(port, context)))
                return bool(late)

            wait_until(let_in)
            late[0].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")  # and no end
            assert b" 408 " in late[0].recv(300)


def tls_line(port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
    """A line to the proxy that waits 5 s at most; OSError where the proxy lets none in."""
    bare = socket.create_connection(("127.0.0.1", port), 5)
    try:
        return context.wrap_socket(bare, server_hostname="localhost")
    except OSError:
        bare.close()
        raise


def test_the_service_believes_only_its_proxies(serve: Serve, log: io.StringIO) -> None:
    """Who claims another address is counted by the real one, unless a proxy says so."""
    served = serve(CloudSettings(limits=Limits()))
    statuses = []
    with served.client("wrong") as client:
        for k in range(250):  # wherever a minute ends among them, one of two minutes has more than it may
            statuses.append(client.get("/v1/tasks", headers={"x-forwarded-for": f"10.0.0.{k}"}).status_code)
    assert 429 in statuses
    assert threading.active_count() < 60
