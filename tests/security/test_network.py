"""What passes the door over real sockets: TLS, redirects, rebinding, bombs, slow servers, budgets, readers of data."""

from __future__ import annotations

import datetime as dt
import gzip
import ssl
import subprocess
import sys
import textwrap
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
import trustme

from hearth.config import Budget, Host, Network
from hearth.errors import ConfigError, EgressError, StoreFullError
from hearth.guard.egress.audit_hook import is_local_name, is_public, normal
from hearth.guard.egress.gateway import Egress, sending
from hearth.guard.egress.ledger import Entry, Ledger
from hearth.protocols import Cause
from hearth.storage.database import Store
from hearth.types import OWNER, PUBLIC, Label

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)
NAMES = ("api.example.org", "other.example.org")
BOMB = gzip.compress(bytes(8_000_000))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def do_GET(self) -> None:
        seen: list[tuple[str, dict[str, str]]] = self.server.seen  # type: ignore[attr-defined]
        seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
        name, _, rest = self.path.lstrip("/").partition("/")
        if name == "to":
            self.answer(b"", ("Location", rest.replace("!", "://")), status=302)
        elif name == "gzip":
            self.answer(gzip.compress(b"hello" * 3), ("Content-Encoding", "gzip"))
        elif name == "deflate":
            self.answer(zlib.compress(b"hello"), ("Content-Encoding", "deflate"))
        elif name == "raw-deflate":
            self.answer(zlib.compress(b"hello", wbits=-15), ("Content-Encoding", "deflate"))
        elif name == "broken":
            self.answer(b"hello", ("Content-Encoding", "gzip"))
        elif name == "br":
            self.answer(b"hello", ("Content-Encoding", "br"))
        elif name == "bomb":
            self.answer(BOMB, ("Content-Encoding", "gzip"))
        elif name == "large":
            self.answer(bytes(2_000_000))
        elif name == "chunks":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for _ in range(40):
                self.drip(b"%x\r\n%s\r\n" % (50_000, bytes(50_000)))
            self.drip(b"0\r\n\r\n")
        elif name == "slow":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            for _ in range(1000):
                if not self.drip(b"x"):
                    return
                time.sleep(0.02)
        elif name == "slow-head":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            for _ in range(1000):
                if not self.drip(b"y"):
                    return
                time.sleep(0.02)
        else:
            self.answer(b"ok")

    def drip(self, data: bytes) -> bool:
        try:
            self.wfile.write(data)
        except OSError:
            self.close_connection = True
            return False
        return True

    def answer(self, body: bytes, *headers: tuple[str, str], status: int = 200) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.drip(body)

    def log_message(self, *args: object) -> None: ...


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are what is tested."""


class World:
    """Servers with certificates of an authority of our own, and a door in front of them."""

    def __init__(self, folder: Path) -> None:
        self.ca = trustme.CA()
        self.ca_file = folder / "ca.pem"
        self.ca.cert_pem.write_to_path(str(self.ca_file))
        self.names: list[str | None] = []
        past = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
        self.secure = self.start(self.ca.issue_cert(*NAMES))
        self.expired = self.start(self.ca.issue_cert(*NAMES, not_after=past))
        self.misnamed = self.start(self.ca.issue_cert("elsewhere.example.org"))
        self.plain = self.start(None)

    def start(self, certificate: trustme.LeafCert | None) -> Server:
        server = Server(("127.0.0.1", 0), Handler)
        server.seen = []  # type: ignore[attr-defined]
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            certificate.configure_cert(context)
            context.sni_callback = lambda _s, name, _c: self.names.append(name)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server

    def stop(self) -> None:
        for server in (self.secure, self.expired, self.misnamed, self.plain):
            server.shutdown()
            server.server_close()

    def host(self, **changes: object) -> Host:
        return Host(private=True, ca_file=str(self.ca_file)).model_copy(update=changes)

    def door(self, store: Store, network: Network | None = None, addresses: Sequence[str] = ("127.0.0.1",)) -> Egress:
        known = network or Network(host={name: self.host() for name in NAMES}, total_s=5)
        allow = (*NAMES, "localhost", "127.0.0.1")
        egress = Egress(allow, store, lambda: NOW, network=known, resolve=lambda _h, _p: addresses)
        egress.purpose = "e1"
        return egress

    def url(self, path: str = "", host: str = NAMES[0]) -> str:
        return f"https://{host}:{self.secure.server_port}/{path}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("world"))
    yield world
    world.stop()


@pytest.fixture(autouse=True)
def _nothing_seen(world: World) -> None:
    for server in (world.secure, world.expired, world.misnamed, world.plain):
        server.seen.clear()  # type: ignore[attr-defined]
    world.names.clear()


def seen(server: Server) -> list[tuple[str, dict[str, str]]]:
    return server.seen  # type: ignore[attr-defined, no-any-return]


def client(egress: Egress, *, is_web: bool = False) -> httpx.Client:
    return httpx.Client(transport=egress.transport("test", is_web=is_web), follow_redirects=True, timeout=5)


def entries(egress: Egress, kind: str = "sent") -> list[Entry]:
    return [entry for entry in egress.ledger.entries() if entry.kind == kind]


# ── TLS ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_authority_named_for_a_host_is_trusted_and_tls_is_written_down(world: World, store: Store) -> None:
    egress = world.door(store)
    with client(egress) as http:
        assert http.get(world.url("a")).text == "ok"
        assert http.get(world.url("b")).text == "ok"
    assert world.names == [NAMES[0]], "one connection, and the server was asked for by its name"
    assert [head["host"] for _, head in seen(world.secure)] == [f"{NAMES[0]}:{world.secure.server_port}"] * 2
    (opened,), (first, second) = entries(egress, "opened"), entries(egress)
    assert opened.number < first.number < second.number
    assert first.tls.startswith("TLSv1.3 TLS_")
    assert (first.host, first.port, first.address) == (NAMES[0], world.secure.server_port, "127.0.0.1")


@pytest.mark.parametrize("which", ["unknown authority", "expired", "another name", "another host's authority"])
def test_a_certificate_that_is_not_right_ends_it_and_nothing_is_sent(world: World, store: Store, which: str) -> None:
    hosts = {name: world.host() for name in NAMES}
    server = {"expired": world.expired, "another name": world.misnamed}.get(which, world.secure)
    if which == "unknown authority":
        hosts[NAMES[0]] = world.host(ca_file="")
    elif which == "another host's authority":
        del hosts[NAMES[0]]
        hosts[NAMES[0]] = Host(private=True)
    egress = world.door(store, Network(host=hosts))
    with client(egress) as http, pytest.raises(httpx.ConnectError, match="certificate verify failed"):
        http.post(f"https://{NAMES[0]}:{server.server_port}/", content=b"secret")
    assert (seen(server), entries(egress)) == ([], [])


def test_an_authority_that_cannot_be_used_is_said(world: World, store: Store, tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("no certificate")
    for name in ("absent.pem", "no.pem"):
        egress = world.door(store, Network(host={NAMES[0]: world.host(ca_file=str(tmp_path / name))}))
        with (
            client(egress) as http,
            pytest.raises(ConfigError, match=r'\[network\.host\."api\.example\.org"\] ca_file'),
        ):
            http.get(world.url())


def test_libraries_get_the_same_checks(world: World, store: Store) -> None:
    context = world.door(store).tls(NAMES[0])
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_plain_http_goes_to_this_house_alone(world: World, store: Store) -> None:
    egress = world.door(store)
    with client(egress) as http:
        assert http.get(f"http://127.0.0.1:{world.plain.server_port}/").text == "ok"
    egress = world.door(store, Network())
    with client(egress) as http, pytest.raises(EgressError, match=r"plain http to 'api\.example\.org' was refused"):
        http.get(f"http://{NAMES[0]}:{world.plain.server_port}/")
    egress = world.door(store, addresses=("93.184.216.34",))
    with client(egress) as http, pytest.raises(EgressError, match="plain http to 'localhost' was refused"):
        http.get("http://localhost/")


# ── Where it may lead ─────────────────────────────────────────────────────────────────────────────────────

PUBLIC_ADDRESSES = ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::5db8:d822"]
INSIDE = [
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "169.254.0.1", "100.64.0.1", "0.0.0.0"),
    *("192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16", "100.100.100.200"),
    *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::127.0.0.1"),
    *("::ffff:93.184.216.34", "::ffff:10.0.0.1", "2002:7f00:1::", "2002:c0a8:101::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
    *("64:ff9b:1::a00:1", "2001:0:5db8:d822:0:0:80ff:fffe", "fe80::5efe:10.0.0.1", "2606:2800::5efe:7f00:1"),
    *("2130706433", "0x7f.1", "0177.0.0.1", "127.1", "", "name.example"),
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC_ADDRESSES)
def test_addresses_out_in_the_internet(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_that_lead_inside(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    ("host", "compared"),
    [
        ("API.Example.org.", "api.example.org"),
        ("fe80::1%eth0", "fe80::1"),
        (b"FE80::1%3", "fe80::1"),
        ("api.example.org%.evil.example", "api.example.org%.evil.example"),
        ("127.0.0.1%a.evil.example", "127.0.0.1%a.evil.example"),
        (None, ""),
    ],
)
def test_only_an_ipv6_address_has_a_zone_that_is_left_out(host: object, compared: str) -> None:
    assert normal(host) == compared


@pytest.mark.parametrize(
    ("name", "is_local"),
    [
        *[(name, True) for name in ("nas", "nas.local", "localhost", "a.home.arpa", "10.0.0.1", "::1", "x.internal")],
        *[(name, False) for name in ("example.org", "local.example.org", "notlocal", "a.locals", "", "2130706433")][:2],
        ("a.locals", False),
        ("", False),
    ],
)
def test_names_that_say_themselves_that_they_are_of_the_house(name: str, is_local: bool) -> None:
    assert is_local_name(name) is is_local


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1"])
def test_a_public_name_that_leads_inside_is_refused(world: World, store: Store, address: str) -> None:
    egress = world.door(store, Network(), (address,))
    with client(egress) as http, pytest.raises(EgressError, match="which is not out in the internet") as caught:
        http.get(world.url())
    assert 'write private = true under [network.host."api.example.org"]' in str(caught.value)
    assert entries(egress) == []


def test_one_address_inside_among_public_ones_is_refused(world: World, store: Store) -> None:
    egress = world.door(store, Network(), ("93.184.216.34", "10.0.0.1"))
    with client(egress) as http, pytest.raises(EgressError, match=r"leads to '10\.0\.0\.1'"):
        http.get(world.url())


def test_an_address_found_on_the_web_never_leads_inside(world: World, store: Store) -> None:
    egress = world.door(store)
    for url in (world.url(), f"https://127.0.0.1:{world.secure.server_port}/", "https://localhost/"):
        with (
            client(egress, is_web=True) as http,
            pytest.raises(EgressError, match="found on the web may not lead there"),
        ):
            http.get(url)
    with client(egress, is_web=True) as http, pytest.raises(EgressError, match="plain http"):
        http.get(f"http://127.0.0.1:{world.plain.server_port}/")
    assert (seen(world.secure), seen(world.plain)) == ([], [])


def test_a_name_that_changes_between_look_ups_is_looked_up_once(world: World, store: Store) -> None:
    answers = [("127.0.0.1",), ("10.0.0.1",), ("10.0.0.1",)]
    asked: list[str] = []

    def rebinding(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return answers[len(asked) - 1]

    network = Network(host={NAMES[0]: world.host()})
    egress = Egress(NAMES, store, lambda: NOW, network=network, resolve=rebinding)
    with client(egress) as http:
        assert http.get(world.url()).text == "ok"
    assert asked == [NAMES[0]]
    assert entries(egress)[0].address == "127.0.0.1"


def test_a_resolver_that_waits_is_given_up(world: World, store: Store) -> None:
    waiting = threading.Event()

    def slow(host: str, port: int) -> Sequence[str]:
        waiting.wait(5)
        return ("127.0.0.1",)

    network = Network(host={NAMES[0]: world.host()}, connect_s=0.1)
    egress = Egress(NAMES, store, lambda: NOW, network=network, resolve=slow)
    with (
        client(egress) as http,
        pytest.raises(EgressError, match=r"the look-up of 'api\.example\.org' took longer than"),
    ):
        http.get(world.url())
    waiting.set()
    assert entries(egress) == []


def test_a_name_without_an_address_is_said(world: World, store: Store) -> None:
    egress = world.door(store, addresses=())
    with client(egress) as http, pytest.raises(EgressError, match="has no address, nothing was sent"):
        http.get(world.url())


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("https://api.example.org@evil.example/", "holds a user name or password"),
        ("https://me:pass@api.example.org/", "holds a user name or password"),
        ("https://аpi.example.org/", r"'xn--.*' port 443 is not a host"),
        ("https://api.example.org.evil.example/", "is not a host Hearth may reach"),
        ("https://2130706433/", "is not a host Hearth may reach"),
        ("https://0x7f.1/", "is not a host Hearth may reach"),
        ("https://0177.0.0.1/", r"Invalid IPv4 address: '0177\.0\.0\.1'"),
        ("https://[::ffff:127.0.0.1]/", "is not a host Hearth may reach"),
        ("https://evil.example#@api.example.org/", r"'evil\.example' port 443 is not a host"),
        ("ftp://api.example.org/", "has the scheme 'ftp'"),
    ],
)
def test_addresses_that_look_like_an_allowed_one(world: World, store: Store, url: str, what: str) -> None:
    egress = world.door(store)
    with egress.transport("t") as transport, pytest.raises((EgressError, httpx.InvalidURL), match=what):
        transport.handle_request(httpx.Request("GET", url))
    assert entries(egress) == entries(egress, "opened") == []


def test_a_name_with_a_dot_at_its_end_or_in_capitals_is_the_same(world: World, store: Store) -> None:
    with client(world.door(store)) as http:
        assert http.get(world.url(host="API.Example.org")).text == "ok"
        assert http.get(world.url(host="api.example.org.")).text == "ok"


def test_another_host_in_the_head_is_refused(world: World, store: Store) -> None:
    egress = world.door(store)
    with client(egress) as http, pytest.raises(EgressError, match=r"names 'evil\.example' as its host"):
        http.get(world.url(), headers={"Host": "evil.example"})
    assert entries(egress) == []


# ── Redirects ─────────────────────────────────────────────────────────────────────────────────────────────

SECRETS = {"Authorization": "Bearer s3cret", "X-Api-Key": "k3y", "Cookie": "a=b", "X-Auth-Token": "t0ken"}


def test_passwords_and_keys_follow_a_redirect_to_no_other_host(world: World, store: Store) -> None:
    egress = world.door(store)
    target = world.url("end", NAMES[1]).replace("://", "!")
    with client(egress) as http:
        assert http.get(world.url(f"to/{target}"), headers=SECRETS).text == "ok"
    (_, first), (path, second) = seen(world.secure)
    assert path == "/end"
    assert {name.lower() for name in SECRETS} <= first.keys()
    assert not {name.lower() for name in SECRETS} & second.keys()
    assert all(value.encode() not in (entry.payload or b"") for entry in entries(egress) for value in SECRETS.values())


def test_passwords_and_keys_follow_a_redirect_on_the_same_host(world: World, store: Store) -> None:
    target = world.url("end").replace("://", "!")
    with client(world.door(store)) as http:
        http.get(world.url(f"to/{target}"), headers={"X-Api-Key": "k3y"})
    assert [head["x-api-key"] for _, head in seen(world.secure)] == ["k3y", "k3y"]


@pytest.mark.parametrize(
    "target", ["https!evil.example/", "http!api.example.org/", "https!127.0.0.1:1/", "file!/etc/passwd"]
)
def test_a_redirect_is_checked_like_a_request(world: World, store: Store, target: str) -> None:
    network = Network(host={NAMES[0]: world.host(private=False)})
    egress = Egress(NAMES, store, lambda: NOW, network=network, resolve=lambda _h, _p: ("127.0.0.1",))
    egress._hosts[NAMES[0]] = world.host()
    with client(egress) as http, pytest.raises((EgressError, httpx.ConnectError, httpx.UnsupportedProtocol)):
        http.get(world.url(f"to/{target}"))
    assert len(entries(egress)) == 1 or target.startswith("http!")


# ── Answers ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "text"), [("gzip", "hello" * 3), ("deflate", "hello"), ("raw-deflate", "hello"), ("x", "ok")]
)
def test_answers_are_unpacked(world: World, store: Store, path: str, text: str) -> None:
    with client(world.door(store)) as http:
        answer = http.get(world.url(path))
        assert (answer.text, "content-encoding" in answer.headers) == (text, False)
        assert http.get(world.url("again")).text == "ok", "the connection is used again"
    assert len(world.names) == 1


@pytest.mark.parametrize(
    ("path", "error", "what"),
    [
        ("bomb", EgressError, "answered with more than 1000000 bytes; the rest was not read; if that is right, raise"),
        ("large", EgressError, "answered with more than 1000000 bytes"),
        ("chunks", EgressError, "answered with more than 1000000 bytes"),
        ("br", EgressError, "answered packed as 'br', which was not asked for"),
        ("broken", httpx.DecodingError, "is not packed as it says"),
        ("slow", httpx.TimeoutException, "longer than total_s|timed out"),
        ("slow-head", httpx.TimeoutException, "longer than total_s|timed out"),
    ],
)
def test_answers_that_are_too_large_or_too_slow_end(
    world: World, store: Store, path: str, error: type[Exception], what: str
) -> None:
    slow = path.startswith("slow")
    network = Network(host={NAMES[0]: world.host()}, answer_bytes=1_000_000, total_s=0.3 if slow else 5)
    with client(world.door(store, network)) as http, pytest.raises(error, match=what):
        http.get(world.url(path))


def test_a_server_that_never_shakes_hands_is_given_up(world: World, store: Store) -> None:
    import socket

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        egress = world.door(store, Network(host={NAMES[0]: world.host()}, connect_s=0.2))
        with client(egress) as http, pytest.raises(httpx.ConnectTimeout):
            http.get(f"https://{NAMES[0]}:{listening.getsockname()[1]}/")
    assert (len(entries(egress, "opened")), entries(egress)) == (1, [])


def test_a_server_that_hangs_up_is_said_in_httpx_words(world: World, store: Store) -> None:
    with client(world.door(store)) as http, pytest.raises(httpx.RequestError):
        http.get(f"https://{NAMES[0]}:{world.plain.server_port}/")


# ── The ledger ────────────────────────────────────────────────────────────────────────────────────────────


def test_on_a_full_disk_nothing_leaves(world: World, store: Store) -> None:
    egress = world.door(store)
    with client(egress) as http:
        http.get(world.url("first"))
        n_pages = store.query("PRAGMA page_count")[0][0]
        store.query(f"PRAGMA max_page_count={n_pages}")
        with pytest.raises(StoreFullError, match="no space left"):
            [http.post(world.url(f"full{k}"), content=bytes(5000)) for k in range(40)]
    n_written = len(entries(egress))
    assert len(seen(world.secure)) == n_written < 41
    store.query("PRAGMA max_page_count=1000000")
    assert egress.ledger.verify().is_whole


def test_what_was_kept_from_leaving_is_written_down_with_its_reason(world: World, store: Store) -> None:
    egress = world.door(store, Network(budget=Budget(bytes_per_day=0)))
    refused: list[str] = []
    with client(egress) as http:
        for url in ("https://evil.example/", "http://api.example.org/", world.url()):
            with pytest.raises(EgressError) as caught:
                http.get(url)
            refused.append(str(caught.value))
    with pytest.raises(EgressError) as caught, egress.permit("mail.example.org", 993, "x"):
        pytest.fail("the block ran")
    refused.append(str(caught.value))
    assert [(e.kind, e.reason, e.n_bytes, e.episode) for e in egress.ledger.entries()] == [
        ("refused", reason, 0, "e1") for reason in refused
    ]
    assert egress.disclosures("e1") == ()
    assert egress.refusals("e1") == tuple(dict.fromkeys(refused))
    assert egress.refusals("") == egress.refusals("e2") == ()
    assert egress.ledger.verify().is_whole


def test_what_stand_ins_stood_for_is_written_down(world: World, store: Store) -> None:
    egress = world.door(store)
    stands_for = {"Tom Baker": "Xanthippe", "Étienne": "Zoë", "not there": "x"}
    with client(egress) as http, sending(stands_for):
        http.post(world.url(), json={"content": "ask Tom Baker and Étienne"})
    with client(egress) as http:
        http.post(world.url(), json={"content": "ask Tom Baker"})
    assert [entry.stands_for for entry in entries(egress)] == [{"Tom Baker": "Xanthippe", "Étienne": "Zoë"}, {}]


# ── Who may read it ───────────────────────────────────────────────────────────────────────────────────────

MAIL = Label(frozenset({"message"}), frozenset())
CARD = Label(frozenset({"contacts", "owner"}), frozenset())


@pytest.mark.parametrize(
    ("cause", "network", "own", "is_let_out"),
    [
        (Cause(0, "look", "none", "default", PUBLIC), {}, (), True),
        (Cause(0, "look", "none", "default", OWNER), {}, (), True),
        (Cause(0, "look", "none", "default", MAIL), {}, (), False),
        (Cause(0, "look", "none", "default", CARD), {}, (), False),
        (Cause(0, "look", "none", "default", MAIL.join(OWNER)), {"may_read": ("message",)}, (), True),
        (Cause(0, "look", "none", "default", MAIL.join(CARD)), {"may_read": ("message",)}, (), False),
        (Cause(0, "look", "none", "default", Label(frozenset({"message"}), frozenset({NAMES[0]}))), {}, (), True),
        (Cause(0, "look", "none", "default", Label(frozenset({"web"}), None)), {}, (), True),
        (Cause(0, "look", "none", "default", MAIL), {}, (NAMES[0],), True),
        (Cause(0, "send_mail", "send", "policy.send_mail", MAIL), {}, (), True),
    ],
)
def test_data_leave_for_those_who_may_read_them(
    world: World, store: Store, cause: Cause, network: dict[str, object], own: tuple[str, ...], is_let_out: bool
) -> None:
    settings = Network(host={NAMES[0]: world.host(**network)})
    egress = Egress(NAMES, store, lambda: NOW, network=settings, own=own, resolve=lambda _h, _p: ("127.0.0.1",))
    door = egress.on_behalf(cause)
    with httpx.Client(transport=door.transport("look it up")) as http:
        if is_let_out:
            assert http.get(world.url()).text == "ok"
            assert [(e.step, e.rule) for e in entries(egress)] == [(0, cause.rule)]
        else:
            with pytest.raises(
                EgressError, match=r"which it may not read; nothing was sent\. To let it, write may_read"
            ):
                http.get(world.url())
            with pytest.raises(EgressError, match="may not read"), door.permit(NAMES[0], 993, "x"):
                pytest.fail("the block ran")
            with pytest.raises(EgressError, match="may not read"):
                door.record(NAMES[0], b"x", "x")
            with sending({"[X]": "y"}):
                assert http.get(world.url()).text == "ok"


# ── Budgets ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_budget_of_bytes_ends_for_a_host_and_for_all(world: World, tmp_path: Path) -> None:
    moment = [NOW]

    def door(store: Store, of_host: int | None, of_all: int | None) -> Egress:
        hosts = {NAMES[0]: world.host(bytes_per_day=of_host), NAMES[1]: world.host()}
        network = Network(host=hosts, budget=Budget(bytes_per_day=of_all))
        return Egress(NAMES, store, lambda: moment[0], network=network, resolve=lambda _h, _p: ("127.0.0.1",))

    def post(egress: Egress, n_bytes: int, host: str = NAMES[0]) -> None:
        with client(egress) as http:
            http.post(world.url(host=host), content=bytes(n_bytes))

    with Store.open(tmp_path / "hearth.db") as store:
        egress = door(store, 1000, 4000)
        post(egress, 500)
        with pytest.raises(
            EgressError, match=r"the day's budget for api\.example\.org is used up: \d+ of 1000"
        ) as caught:
            post(egress, 500)
        assert 'bytes_per_day in [network.host."api.example.org"]' in str(caught.value)
        post(egress, 2000, NAMES[1])
    with Store.open(tmp_path / "hearth.db") as store:  # started anew
        egress = door(store, 1000, 4000)
        with pytest.raises(EgressError, match="is used up"):
            post(egress, 500)
        with pytest.raises(EgressError, match="the day's budget for all hosts together is used up"):
            post(egress, 2000, NAMES[1])
        moment[0] = NOW - dt.timedelta(days=400)  # set back, the clock gives nothing back
        with pytest.raises(EgressError, match="is used up"):
            post(egress, 500)
        moment[0] = NOW + dt.timedelta(days=1)
        post(egress, 500)
        assert egress.ledger.verify().is_whole
    assert len(seen(world.secure)) == 3


@pytest.mark.parametrize(
    ("budget", "of_host", "what"),
    [
        (
            {"tokens_per_day": 100},
            {},
            r"all hosts together is used up: 120 of 100 \(tokens_per_day in \[network\.budget\]\)",
        ),
        ({"usd_per_day": 0.001}, {}, r"0\.0012 of 0\.001 \(usd_per_day"),
        ({}, {"tokens_per_day": 120}, r"api\.example\.org is used up: 120 of 120 \(tokens_per_day"),
        ({"tokens_per_day": 1000, "usd_per_day": 1.0}, {"tokens_per_day": 1000}, ""),
    ],
)
def test_tokens_and_money_are_counted(
    world: World, store: Store, budget: dict[str, float], of_host: dict[str, int], what: str
) -> None:
    hosts = {NAMES[0]: world.host(usd_per_million_tokens=10.0, **of_host)}
    egress = world.door(store, Network(host=hosts, budget=Budget.model_validate(budget)))
    with client(egress) as http:
        http.get(world.url())
        egress.spent(NAMES[0], 120, "language model")
        egress.spent(NAMES[0], 0, "nothing")
        (used,) = entries(egress, "used")
        assert (used.n_tokens, used.usd, used.n_bytes, used.episode) == (120, 0.0012, 0, "e1")
        if what:
            with pytest.raises(EgressError, match=what):
                http.get(world.url())
        else:
            assert http.get(world.url()).text == "ok"
    assert [d.n_bytes > 0 for d in egress.disclosures("e1")] == [True] * (1 if what else 2)


def test_a_library_is_held_to_the_budget_too(world: World, store: Store) -> None:
    egress = world.door(store, Network(budget=Budget(bytes_per_day=10)))
    with egress.permit(NAMES[0], 993, "mail"):
        egress.record(NAMES[0], b"12345678", "mail", tls="TLSv1.3 X")
        with pytest.raises(EgressError, match=r"8 of 10 \(bytes_per_day .* and 8 more are wanted; nothing was sent"):
            egress.record(NAMES[0], b"12345678", "mail")
    (entry,) = entries(egress)
    assert (entry.port, entry.tls) == (993, "TLSv1.3 X")


# ── Killed ────────────────────────────────────────────────────────────────────────────────────────────────

SENDING = """
    import datetime as dt, itertools, sys
    from pathlib import Path
    import httpx
    from hearth.guard.egress.gateway import Egress
    from hearth.storage.database import Store
    store = Store.open(Path(sys.argv[2]) / "hearth.db")
    egress = Egress(["127.0.0.1"], store, lambda: dt.datetime.now(dt.UTC))
    print("ready", flush=True)
    with httpx.Client(transport=egress.transport("test")) as client:
        for number in itertools.count():
            client.get(f"http://127.0.0.1:{sys.argv[1]}/number-{number}")
"""


@pytest.mark.parametrize("after_s", [0.02, 0.1, 0.3])
def test_killed_while_sending_nothing_was_seen_that_is_not_written_down(
    world: World, tmp_path: Path, after_s: float
) -> None:
    command = [sys.executable, "-c", textwrap.dedent(SENDING), str(world.plain.server_port), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        while not seen(world.plain):
            time.sleep(0.005)
        time.sleep(after_s)
        process.kill()
    with Store.open(tmp_path / "hearth.db") as store:
        ledger = Ledger(store)
        verdict = ledger.verify()
        assert verdict.is_whole, verdict
        written = b"".join(entry.payload or b"" for entry in ledger.entries())
        assert all(f"GET {path} ".encode() in written for path, _ in seen(world.plain))
