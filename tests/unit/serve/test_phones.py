"""Phones: certificates that vouch for home networks alone, keys that are taken back, notifications that say nothing."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import ssl
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hearth.errors import ConfigError, NotFound, RequestError
from hearth.serve import phone_server
from hearth.serve.background.ringing import Ring
from hearth.serve.desk import Asked, View
from hearth.serve.door import INVITED_S, MOST_PHONES, Invitations, Phones, Subscription
from hearth.serve.phone_server import ASKED_FOR_S, MOST_BYTES, Pusher, Signer, Telling, bytes64, encrypted, text64
from hearth.storage.database import Store

NOW = dt.datetime(2026, 11, 23, 9, tzinfo=dt.UTC)

# ── Certificates ──────────────────────────────────────────────────────────────────────────────────────────


def shaken_hands(server: Path, trusted: bytes, name: str) -> bool:
    """Whether a client that trusts an authority accepts a server's certificate for a name."""
    ours, theirs = ssl.create_default_context(cadata=trusted.decode()), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(server)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ours.wrap_bio(to_client, to_server, server_hostname=name)
    host = theirs.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (client, host):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
    return True


def test_a_phone_that_trusts_the_authority_accepts_the_home(tmp_path: Path) -> None:
    now = dt.datetime.now(dt.UTC)
    made = phone_server.opened(tmp_path, now)
    path = phone_server.certify(made, tmp_path, ["192.168.1.20", "mira.local", "bank.example"], now)
    assert shaken_hands(path, made.pem, "192.168.1.20")
    assert shaken_hands(path, made.pem, "mira.local")
    assert not shaken_hands(path, made.pem, "192.168.1.21")
    assert not shaken_hands(path, made.pem, "bank.example")
    for file in (phone_server.AUTHORITY_FILE, phone_server.CERTIFICATE_FILE):
        assert stat.S_IMODE((tmp_path / file).stat().st_mode) == 0o600
    assert b"PRIVATE" not in made.pem


def test_its_key_in_wrong_hands_opens_no_bank(tmp_path: Path) -> None:
    now = dt.datetime.now(dt.UTC)
    made = phone_server.opened(tmp_path, now)
    for name, is_held in (("bank.example", False), ("8.8.8.8", False), ("x.local", True)):
        key = ec.generate_private_key(ec.SECP256R1())
        forged = phone_server._leaf(made, key, [name], now)
        phone_server._write(tmp_path / "forged.pem", forged, key)
        assert shaken_hands(tmp_path / "forged.pem", made.pem, name) is is_held, name


def test_a_certificate_is_kept_until_it_ends_or_names_change(tmp_path: Path) -> None:
    made = phone_server.opened(tmp_path, NOW)

    def certified(names: list[str], now: dt.datetime) -> bytes:
        return phone_server.certify(made, tmp_path, names, now).read_bytes()

    first = certified(["192.168.1.20"], NOW)
    assert certified(["192.168.1.20"], NOW + dt.timedelta(days=300)) == first
    second = certified(["192.168.1.20"], NOW + dt.timedelta(days=350))
    assert second != first
    assert certified(["192.168.1.33"], NOW + dt.timedelta(days=350)) != second
    days = x509.load_pem_x509_certificate(first).not_valid_after_utc - NOW
    assert days < dt.timedelta(days=398)
    assert phone_server.opened(tmp_path, NOW).fingerprint == made.fingerprint
    (tmp_path / phone_server.AUTHORITY_FILE).unlink()
    other = phone_server.opened(tmp_path, NOW)
    assert phone_server.certify(other, tmp_path, ["192.168.1.33"], NOW).read_bytes() != second


def test_without_a_name_it_may_vouch_for_there_is_no_certificate(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none of '8.8.8.8', 'bank.example' is a private address"):
        phone_server.certify(phone_server.opened(tmp_path, NOW), tmp_path, ["8.8.8.8", "bank.example"], NOW)


def test_damaged_files_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / phone_server.AUTHORITY_FILE).write_text("-----BEGIN NONSENSE")
    with pytest.raises(ConfigError, match="delete it, and `hearth up` makes a new one"):
        phone_server.opened(tmp_path, NOW)
    (tmp_path / "serve.push.pem").write_text("x")
    with pytest.raises(ConfigError, match="turn notifications on again"):
        Signer(tmp_path)


# ── Phones that are let in ────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def phones(tmp_path: Path) -> Iterator[Phones]:
    with Store.open(tmp_path / "hearth.db") as store:
        yield Phones(store)


def test_a_phone_is_known_by_its_key_until_it_is_taken_out(phones: Phones, tmp_path: Path) -> None:
    key = phones.add("  Mira's   phone ", NOW)
    phone = phones.of_key(key, NOW)
    assert phone is not None
    assert phone.name == "Mira's phone"
    assert key.encode() not in (tmp_path / "hearth.db").read_bytes()
    assert phones.of_key("guess", NOW) is None
    phones.of_key(key, NOW + dt.timedelta(hours=1))
    assert phones.listed()[0].seen_at == "2026-11-23T10:00:00+00:00"
    assert phones.revoke(phone.number).name == "Mira's phone"
    assert phones.of_key(key, NOW) is None
    assert not phones.is_in(phone.number)
    with pytest.raises(NotFound, match="taken out already"):
        phones.revoke(phone.number)
    again = phones.of_key(phones.add("Mira's phone", NOW), NOW)
    assert again is not None
    assert again.number != phone.number  # what follows the old one ends


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "taken"])
def test_odd_names_are_refused(phones: Phones, name: str) -> None:
    phones.add("taken", NOW)
    with pytest.raises(RequestError, match="choose another"):
        phones.add(name, NOW)


def test_there_are_not_too_many(phones: Phones) -> None:
    for k in range(MOST_PHONES):
        phones.add(f"phone {k}", NOW)
    with pytest.raises(RequestError, match="take one out first"):
        phones.add("one more", NOW)


def test_an_invitation_is_for_one_and_ends() -> None:
    now = [0.0]
    invitations = Invitations(lambda: now[0])
    assert not invitations.is_open("")
    first, second = invitations.invite(), invitations.invite()
    assert (invitations.is_open(first), invitations.is_open(second)) == (False, True)
    now[0] = INVITED_S + 1
    assert not invitations.is_open(second)
    third = invitations.invite()
    invitations.close()
    assert not invitations.is_open(third)


# ── Notifications ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_example_of_the_standard() -> None:
    """RFC 8291, appendix A."""
    private = int.from_bytes(bytes64("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"), "big")
    body = encrypted(
        b"When I grow up, I want to be a watermelon",
        bytes64("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"),
        bytes64("BTBZMqHH6r4Tts7J_aSIgg"),
        salt=bytes64("DGv6ra1nlYgDCS1FRnbzlw"),
        sender=ec.derive_private_key(private, ec.SECP256R1()),
        size=41,
    )
    assert text64(body) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
        "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


class Browser:
    """A phone's browser, and the push service of its maker."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.secret = b"0123456789abcdef"
        self.requests: list[httpx.Request] = []
        self.status = 201
        self.came = threading.Event()

    @property
    def subscription(self) -> Subscription:
        return Subscription("https://push.example/to/1", text64(self.point), text64(self.secret))

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.came.set()
        return httpx.Response(self.status)

    def transport(self, reason: str, *, is_web: bool = False) -> httpx.BaseTransport:
        assert reason in ("web push", "apprise")
        return httpx.MockTransport(self.answer)

    def opened(self, body: bytes) -> dict[str, str]:
        """Decrypt, written after the RFC and not after the code."""
        salt, sender, ciphertext = body[:16], body[21:86], body[86:]
        assert body[16:21] == b"\x00\x00\x10\x00\x41"
        shared = self.key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
        seed = HKDF(hashes.SHA256(), 32, self.secret, b"WebPush: info\x00" + self.point + sender).derive(shared)
        key = HKDF(hashes.SHA256(), 16, salt, b"Content-Encoding: aes128gcm\x00").derive(seed)
        nonce = HKDF(hashes.SHA256(), 12, salt, b"Content-Encoding: nonce\x00").derive(seed)
        found: dict[str, str] = json.loads(AESGCM(key).decrypt(nonce, ciphertext, None).rstrip(b"\0")[:-1])
        return found

    def next(self) -> dict[str, str]:
        assert self.came.wait(20)
        self.came.clear()
        return self.opened(self.requests[-1].read())


@pytest.fixture
def browser() -> Browser:
    return Browser()


class World:
    def __init__(self, phones: Phones, browser: Browser, home: Path, *, shows: bool) -> None:
        self.now = 0.0
        key = phones.add("phone", NOW)
        found = phones.of_key(key, NOW)
        assert found is not None
        self.phone = found
        phones.subscribe(found.number, browser.subscription)
        self.signer = Signer(home)
        self.pusher = Pusher(phones, browser, self.signer, lambda: self.now, Telling(shows))  # type: ignore[arg-type]


RING = Ring(7, "r", "gynaecologist", NOW, is_late=False)


@pytest.mark.parametrize("shows", [False, True])
def test_a_lock_screen_says_what_the_owner_wants_it_to(
    phones: Phones, browser: Browser, tmp_path: Path, shows: bool
) -> None:
    world = World(phones, browser, tmp_path, shows=shows)
    world.pusher.tell(RING)
    note = browser.next()
    assert note == {"kind": "ring", "id": "7", "title": "gynaecologist" if shows else "A reminder", "body": "09:00"}
    asked = Asked("a1", "write Ana that I am ill", "Send a mail to Ana: I am ill", "page", 1, is_owners=True)
    world.pusher.look(View(1, asked=asked))
    world.now = ASKED_FOR_S + 1
    world.pusher.look(View(2, asked=asked))
    world.pusher.look(View(3, asked=asked))
    told = browser.next()
    assert (told["kind"], told["id"]) == ("question", "a1")
    assert "ill" not in json.dumps(told)
    assert "Ana" not in json.dumps(told)
    world.pusher.close()
    assert len(browser.requests) == 2  # once each
    assert len({len(request.read()) for request in browser.requests}) == 1  # sizes tell nothing


def test_who_answers_at_once_is_not_told_on_the_phone(phones: Phones, browser: Browser, tmp_path: Path) -> None:
    world = World(phones, browser, tmp_path, shows=False)
    world.pusher.look(View(1, asked=Asked("a1", "x", "y", "page", 1)))
    world.now = ASKED_FOR_S + 1
    world.pusher.look(View(2))
    world.pusher.look(View(3, asked=Asked("a2", "x", "y", "page", 2)))
    world.pusher.close()
    assert browser.requests == []


def test_signed_for_the_service_by_the_homes_own_key(phones: Phones, browser: Browser, tmp_path: Path) -> None:
    world = World(phones, browser, tmp_path, shows=False)
    world.pusher.try_out()
    browser.next()
    world.pusher.close()
    header = browser.requests[0].headers["authorization"]
    token, public = header.removeprefix("vapid t=").split(", k=")
    head, claims, signature = token.split(".")
    assert json.loads(bytes64(head)) == {"typ": "JWT", "alg": "ES256"}
    assert json.loads(bytes64(claims))["aud"] == "https://push.example"
    signed = bytes64(signature)
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), bytes64(public))
    both = encode_dss_signature(int.from_bytes(signed[:32], "big"), int.from_bytes(signed[32:], "big"))
    key.verify(both, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    assert Signer(tmp_path).public == public == world.signer.public


def test_a_browser_that_takes_no_more_is_left_alone(phones: Phones, browser: Browser, tmp_path: Path) -> None:
    world = World(phones, browser, tmp_path, shows=False)
    browser.status = 410
    world.pusher.tell(RING)
    browser.next()
    world.pusher.close()
    assert phones.listed()[0].subscription is None


def test_an_address_that_is_none_keeps_nothing_from_the_others(
    phones: Phones, browser: Browser, tmp_path: Path
) -> None:
    phones.add("broken", NOW)
    wrong = dataclasses.replace(browser.subscription, endpoint="https://push.example/\x7f")
    phones.subscribe(1, wrong)
    world = World(phones, browser, tmp_path, shows=False)
    for _ in range(2):
        world.pusher.tell(RING)
        assert browser.next()["id"] == "7"
    world.pusher.close()


def test_an_apprise_server_hears_the_same_and_its_faults_stop_nothing(
    phones: Phones, browser: Browser, tmp_path: Path
) -> None:
    url = "http://127.0.0.1:8000/notify/hearth"
    pusher = Pusher(phones, browser, Signer(tmp_path), lambda: 0.0, Telling(False, url))  # type: ignore[arg-type]
    browser.status = 500
    for k in range(2):
        pusher.tell(RING)
        assert browser.came.wait(20), k
        browser.came.clear()
    pusher.try_out()  # for phones alone
    pusher.close()
    assert [str(request.url) for request in browser.requests] == [url, url]
    told = json.loads(browser.requests[0].read())
    assert told == {"title": "A reminder", "body": "09:00", "type": "info", "format": "text"}


def test_what_cannot_be_encrypted_is_refused() -> None:
    with pytest.raises(RequestError, match="at most"):
        encrypted(b"x" * (MOST_BYTES + 1), b"", b"")
    with pytest.raises(RequestError, match="no point on P-256"):
        encrypted(b"x", b"\x04" + b"1" * 64, b"0" * 16)
