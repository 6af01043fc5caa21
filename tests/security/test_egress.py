"""The only door: an allowed and a refused row for each way out, against a real server on this machine."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from hearth.errors import ConfigError, EgressError
from hearth.guard.egress.gateway import Egress
from hearth.storage.database import Store
from hearth.types import Disclosure

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)


class Echo(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", "http://" + self.path.removeprefix("/to/"))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer()

    def answer(self) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args: object) -> None: ...


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        server.daemon_threads = True
        server.seen = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "hearth.db") as store:
        yield store


def door(store: Store, *allow: str) -> Egress:
    egress = Egress(allow, store, lambda: NOW)
    egress.purpose = "episode-1"
    return egress


def seen(server: ThreadingHTTPServer) -> list[str]:
    return server.seen  # type: ignore[attr-defined, no-any-return]


# ── The transport ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_allowed_host_is_reached_and_what_left_is_written_down(server: ThreadingHTTPServer, store: Store) -> None:
    port = server.server_port
    egress = door(store, "127.0.0.1")
    with httpx.Client(transport=egress.transport("ask the model")) as client:
        headers = {"Authorization": "Bearer s3cret"}
        response = client.post(f"http://127.0.0.1:{port}/x?q=1", content=b"hello out there", headers=headers)
    assert response.text == "ok"
    (found,) = egress.disclosures("episode-1")
    (row,) = store.query("SELECT payload FROM disclosure WHERE kind = 'sent'")
    assert found == Disclosure("127.0.0.1", found.n_bytes, "ask the model", NOW)
    payload: bytes = row["payload"]
    assert payload.startswith(b"POST /x?q=1 HTTP/1.1\r\n")
    assert payload.endswith(b"\r\n\r\nhello out there")
    assert b"s3cret" not in payload
    assert found.n_bytes == len(payload) + len("Bearer s3cret") - len("(secret)")


def test_a_host_that_is_not_allowed_is_not_reached(server: ThreadingHTTPServer, store: Store) -> None:
    n_before = len(seen(server))
    egress = door(store, "mail.example.org", "api.example.org:8443")
    with httpx.Client(transport=egress.transport("leak")) as client, pytest.raises(EgressError) as raised:
        client.post(f"http://127.0.0.1:{server.server_port}/leak", content=b"secret")
    assert str(raised.value) == (
        f"'127.0.0.1' port {server.server_port} is not a host Hearth may reach, nothing was sent; allowed: "
        'api.example.org:8443, mail.example.org. To allow it, add "127.0.0.1" to `allow` under [network] in hearth.toml'
    )
    assert len(seen(server)) == n_before
    assert egress.disclosures("episode-1") == ()


@pytest.mark.parametrize("offset", [0, 1])
def test_a_port_in_the_policy_is_the_only_port(server: ThreadingHTTPServer, store: Store, offset: int) -> None:
    egress = door(store, f"127.0.0.1:{server.server_port + offset}")
    with httpx.Client(transport=egress.transport("ports")) as client:
        if offset:
            with pytest.raises(EgressError):
                client.get(f"http://127.0.0.1:{server.server_port}/port")
        else:
            assert client.get(f"http://127.0.0.1:{server.server_port}/port").text == "ok"


@pytest.mark.parametrize("target", ["127.0.0.1", "localhost"])
def test_each_hop_of_a_redirect_is_checked(server: ThreadingHTTPServer, store: Store, target: str) -> None:
    port = server.server_port
    egress = door(store, "127.0.0.1")
    with httpx.Client(transport=egress.transport("follow"), follow_redirects=True) as client:
        url = f"http://127.0.0.1:{port}/to/{target}:{port}/end"
        if target == "127.0.0.1":
            assert client.get(url).text == "ok"
            assert len(egress.disclosures("episode-1")) == 2
        else:
            with pytest.raises(EgressError, match="'localhost'"):
                client.get(url)
            assert len(egress.disclosures("episode-1")) == 1


def test_nothing_leaves_that_cannot_be_written_down(server: ThreadingHTTPServer, store: Store) -> None:
    egress = door(store, "127.0.0.1")
    n_before = len(seen(server))
    store.close()
    with httpx.Client(transport=egress.transport("x")) as client, pytest.raises(Exception, match="closed database"):
        client.get(f"http://127.0.0.1:{server.server_port}/unseen")
    assert len(seen(server)) == n_before


# ── Permits ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_permit_is_for_allowed_hosts_and_is_written_down(store: Store) -> None:
    egress = door(store, "Mail.Example.org.")
    with egress.permit("mail.example.org", 993, "fetch mail"):
        egress.record("mail.example.org", b"A1 LOGIN", "fetch mail")
    with (
        pytest.raises(EgressError, match=r"'example\.org' port 993 is not a host"),
        egress.permit("example.org", 993, "x"),
    ):
        pytest.fail("the block ran")
    assert [(d.host, d.n_bytes) for d in egress.disclosures("episode-1")] == [
        ("mail.example.org", 0),
        ("mail.example.org", 8),
    ]
    assert egress.disclosures("another") == ()


@pytest.mark.parametrize("entry", ["*.example.org", "https://example.org", "", "a b", "me@example.org", "host:99999"])
def test_only_exact_names_can_be_allowed(store: Store, entry: str) -> None:
    with pytest.raises(ConfigError, match=r"is not a host; write an exact name"):
        door(store, entry)


@pytest.mark.parametrize("entry", ["::1", "[::1]:8080", "10.0.0.7", "nas", "mail.example.org:993"])
def test_names_and_addresses_can_be_allowed(store: Store, entry: str) -> None:
    door(store, entry)


# ── The interpreter's own check (in a process of its own: it cannot be taken back) ──────────────────────────

PROLOGUE = """
    import datetime as dt, socket, sys, tempfile, threading
    from pathlib import Path
    import httpx
    from hearth.errors import EgressError
    from hearth.guard.egress.gateway import Egress
    from hearth.guard.egress.audit_hook import install_network_guard
    from hearth.storage.database import Store
    port = int(sys.argv[1])
    store = Store.open(Path(sys.argv[2]) / "hearth.db")
    egress = Egress(["127.0.0.1", "localhost"], store, lambda: dt.datetime.now(dt.UTC))
    install_network_guard()
    install_network_guard()

    def refused(act):
        try:
            act()
        except EgressError as error:
            assert "nothing was sent" in str(error), error
            return True
        return False

    def connect(address=("127.0.0.1", port), family=socket.AF_INET):
        with socket.socket(family) as s:
            s.settimeout(2)
            s.connect(address)
"""
SCRIPTS = {
    "connect": "assert refused(connect)\nwith egress.permit('127.0.0.1', port, 'x'): connect()\nassert refused(connect)",
    "connect_ex": """
        def act():
            with socket.socket() as s:
                assert s.connect_ex(("127.0.0.1", port)) == 0
        assert refused(act)
        with egress.permit('127.0.0.1', port, 'x'): act()
    """,
    "another port": "with egress.permit('127.0.0.1', port + 1, 'x'): assert refused(connect)",
    "a name that leads to the address": "with egress.permit('localhost', port, 'x'): connect()",
    "an address the name does not lead to": """
        with egress.permit('localhost', port, 'x'):
            assert refused(lambda: connect(("127.0.0.2", port)))
    """,
    "another thread has no permit": """
        found = []
        with egress.permit('127.0.0.1', port, 'x'):
            thread = threading.Thread(target=lambda: found.append(refused(connect)))
            thread.start(); thread.join()
        assert found == [True]
    """,
    "udp": """
        def act(send):
            with socket.socket(type=socket.SOCK_DGRAM) as s:
                send(s)
        for send in (lambda s: s.sendto(b"x", ("127.0.0.1", port)), lambda s: s.sendmsg([b"x"], [], 0, ("127.0.0.1", port))):
            assert refused(lambda: act(send))
            with egress.permit('127.0.0.1', port, 'x'): act(send)
    """,
    "ipv6": "assert refused(lambda: connect(('::1', port), socket.AF_INET6))",
    "looking up a name": """
        for look_up in (lambda: socket.getaddrinfo("secret.example.org", 443), lambda: socket.gethostbyname("x.example.org"),
                        lambda: socket.gethostbyaddr("host.example.org"), lambda: socket.create_connection(("a.example", 1))):
            assert refused(look_up)
        socket.getaddrinfo("127.0.0.1", port)
        socket.getaddrinfo("localhost", port)
        with egress.permit('localhost', port, 'x'):
            assert refused(lambda: socket.getaddrinfo("secret.example.org", 443))
            assert refused(lambda: socket.getaddrinfo("localhost%.secret.example.org", 443))
        assert refused(lambda: socket.getaddrinfo("127.0.0.1%secret.example.org", 443))
        assert refused(lambda: socket.getaddrinfo("localhost%secret.example.org", 443))
    """,
    "a bare http client": """
        assert refused(lambda: httpx.get(f"http://127.0.0.1:{port}/bare", trust_env=False))
        with httpx.Client(transport=egress.transport("x")) as client:
            assert client.get(f"http://127.0.0.1:{port}/guarded").text == "ok"
        assert refused(connect)
    """,
    "a public name that leads inside": """
        real = socket.getaddrinfo
        socket.getaddrinfo = lambda host, *rest, **more: real(
            "127.0.0.1" if str(host).startswith("mail.") else host, *rest, **more)
        egress = Egress(["mail.example.org", "mail.local"], store, lambda: dt.datetime.now(dt.UTC))
        with egress.permit("mail.example.org", port, "x"): assert refused(connect)
        with egress.permit("mail.local", port, "x"): connect()
    """,
    "sockets of this machine that are no network": """
        a, b = socket.socketpair()
        a.sendmsg([b"x"]); assert b.recv(1) == b"x"
    """,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_interpreter_refuses_connections_without_a_permit(
    name: str, server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    script = textwrap.dedent(PROLOGUE) + textwrap.dedent(SCRIPTS[name]) + "\nstore.close()\nprint('all as expected')\n"
    command = [sys.executable, "-W", "error", "-c", script, str(server.server_port), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "all as expected\n", done.stderr
    assert "/bare" not in seen(server)
