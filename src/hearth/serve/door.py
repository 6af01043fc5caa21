"""Who may come in to a home that is up: programs by a token, browsers, phones that are paired."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import hmac
import json
import secrets
import sqlite3
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from hearth.atomic_files import replacing
from hearth.errors import ConfigError, NotFound, RequestError
from hearth.storage.database import Store

# ── Paired ────────────────────────────────────────────────────────────────────────────────────────────────
# Remembers which phones are let in: each has a key of its own, of which only the digest is kept.
#
# A phone is let in by an invitation, a code that the page shows as a picture, good for one phone and ten minutes.
# Taking a phone out counts at its next request, and ends what it follows.

INVITED_S = 600.0
MOST_PHONES = 20
MOST_NAME_CHARACTERS = 60
_SEEN_EVERY = dt.timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Subscription:
    """Where a phone's browser takes notifications, and the keys that it alone can open them with."""

    endpoint: str
    receiver_key: str
    """Its public key, base64url (`p256dh`)."""
    receiver_secret: str
    """What it shares with the sender, base64url (`auth`)."""


@dataclass(frozen=True, slots=True)
class Phone:
    """A phone that is let in."""

    number: int
    name: str
    added_at: str
    seen_at: str
    subscription: Subscription | None = None


class Phones:
    """The phones of one home. Safe to use from any thread and process."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, name: str, now: dt.datetime) -> str:
        """Let a phone in, and return its key; only the digest is kept.

        Raises:
            RequestError: The name is empty, too long or taken, or there are too many phones.
        """
        said = " ".join(name.split())
        known = self.listed()
        if not said or len(said) > MOST_NAME_CHARACTERS or any(one.name == said for one in known):
            raise RequestError(
                f"the name {said[:MOST_NAME_CHARACTERS]!r} is empty, longer than {MOST_NAME_CHARACTERS} characters or "
                "taken; choose another"
            )
        if len(known) >= MOST_PHONES:
            raise RequestError(f"{MOST_PHONES} phones are let in already; take one out first")
        key = secrets.token_urlsafe(32)
        at = now.isoformat(timespec="seconds")
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT INTO phone (name, digest, added_at, seen_at) VALUES (?, ?, ?, ?)",
                (said, _key_digest(key), at, at),
            )
        return key

    def listed(self) -> tuple[Phone, ...]:
        """Return those that are let in, the oldest first."""
        return tuple(_phone(row) for row in self._store.query("SELECT * FROM phone ORDER BY number"))

    def of_key(self, key: str, now: dt.datetime) -> Phone | None:
        """Return the phone that a key belongs to; None when none does, or it was taken out."""
        rows = self._store.query("SELECT * FROM phone WHERE digest = ?", (_key_digest(key),))
        if not rows:
            return None
        phone = _phone(rows[0])
        if now - dt.datetime.fromisoformat(phone.seen_at) > _SEEN_EVERY:
            with self._store.transaction() as cursor:
                seen = now.isoformat(timespec="seconds")
                cursor.execute("UPDATE phone SET seen_at = ? WHERE number = ?", (seen, phone.number))
        return phone

    def is_in(self, number: int) -> bool:
        """Return whether a phone is still let in."""
        return bool(self._store.query("SELECT 1 FROM phone WHERE number = ?", (number,)))

    def revoke(self, number: int) -> Phone:
        """Let a phone in no more, and return it. Raises: NotFound."""
        rows = self._store.query("SELECT * FROM phone WHERE number = ?", (number,))
        if not rows:
            raise NotFound(f"no phone has the number {number}; it was taken out already")
        with self._store.transaction() as cursor:
            cursor.execute("DELETE FROM phone WHERE number = ?", (number,))
        return _phone(rows[0])

    def subscribe(self, number: int, subscription: Subscription | None) -> None:
        """Note where a phone takes notifications; None: nowhere."""
        told = (subscription.endpoint, subscription.receiver_key, subscription.receiver_secret) if subscription else ()
        with self._store.transaction() as cursor:
            cursor.execute(
                "UPDATE phone SET endpoint = ?, receiver_key = ?, receiver_secret = ? WHERE number = ?",
                (*(told or (None, None, None)), number),
            )


class Invitations:
    """The one invitation that is open. Not kept: a new start of the process ends it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Count time by `clock`, in seconds."""
        self._clock = clock
        self._open: tuple[str, float] | None = None

    def invite(self) -> str:
        """Return the code of a new invitation; the one before ends."""
        self._open = secrets.token_urlsafe(16), self._clock() + INVITED_S
        return self._open[0]

    def is_open(self, code: str) -> bool:
        """Return whether a code invites somebody now."""
        if self._open is None or self._clock() > self._open[1]:
            return False
        return hmac.compare_digest(code.encode("utf-8", "replace"), self._open[0].encode())

    def close(self) -> None:
        """End the invitation: somebody came."""
        self._open = None


def _key_digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def _phone(row: sqlite3.Row) -> Phone:
    taken = Subscription(row["endpoint"], row["receiver_key"], row["receiver_secret"]) if row["endpoint"] else None
    return Phone(row["number"], row["name"], row["added_at"], row["seen_at"], taken)


# ── Door ──────────────────────────────────────────────────────────────────────────────────────────────────
# Lets in who belongs here: browsers with the home's key, programs with a token; others see nothing.
#
# Every request passes `Door` before any page. It turns away names that are not this home's (DNS rebinding), changes
# that another site's page sends (CSRF), bodies that are too large, and guessing. What goes out may not run scripts of
# others, be framed, or be kept in caches.
#
# Covered: names, origins, keys, tokens with rights, sizes, guessing slowed. Phones have a door of their own, with TLS
# (`serve.phone_server`). Not covered: encryption of this one (put a proxy with TLS before it, or use the loopback
# address); several owners on one home.

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

KEYS_FILE = "serve.keys"
"""In the home: the key and the digests of tokens."""
MOST_BODY_BYTES = 1_000_000
MOST_ATTACHED_BYTES = 20_000_000
"""Of a file that is attached."""
BODY_WITHIN_S = 30.0
"""How long a body may take to arrive; an attached file longer."""
MOST_GUESSES = 20
"""Wrong keys in a minute that are told so; a key of 256 bits is not found by guessing."""
_GUESS_S = 60.0
_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
SAFE = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Client:
    """A program that was given a token."""

    name: str
    may_change: bool
    """True: what it asks for may change things, once you agree; False: it only reads."""
    digest: str
    may_answer: bool = False
    """True: you may agree in the program itself (MCP), too; False: only on the page or at a terminal."""
    may_look: bool = False
    """True: it may list everything that was asked, and all that left; False: of its own requests alone."""


OWN_NAMES = ("page", "terminal", "hearth", "voice")
"""What Hearth calls its own surfaces: a program with such a name could pass for one."""
OWNERS_PROGRAM = Client("hearth", may_change=True, digest="", may_answer=True, may_look=True)
"""The owner's own command line, which shows the home's key."""


class Keys:
    """The home's key for browsers and the tokens of programs, in a file that only the owner may read."""

    def __init__(self, path: Path) -> None:
        """Read the file, or make it with a new key. Raises: ConfigError: It is damaged."""
        self._path = path
        if not path.exists():
            self._write(secrets.token_urlsafe(32), ())
        self.key, self.clients = self._read()

    def _read(self) -> tuple[str, tuple[Client, ...]]:
        try:
            found = json.loads(self._path.read_text())
            clients = (
                Client(
                    str(c["name"]),
                    c["may_change"] is True,
                    str(c["digest"]),
                    c.get("may_answer") is True,
                    c.get("may_look") is True,
                )
                for c in found["clients"]
            )
            return str(found["key"]), tuple(clients)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{str(self._path)!r} cannot be read ({error}); delete it, and `hearth up` makes a new key: browsers "
                "and programs then need the new one"
            ) from None

    def _write(self, key: str, clients: tuple[Client, ...]) -> None:
        rows = [
            {"name": c.name, "may_change": c.may_change, "may_answer": c.may_answer, "may_look": c.may_look}
            | {"digest": c.digest}
            for c in clients
        ]
        self._path.touch(mode=0o600)
        with replacing(self._path, keeps_mode=True) as file:
            file.write(json.dumps({"key": key, "clients": rows}, indent=1).encode())

    def add(self, name: str, *, may_change: bool, may_answer: bool = False, may_look: bool = False) -> str:
        """Give a program a token, and return it; only its digest is kept. Raises: ConfigError: The name is taken."""
        if not name.strip() or name in OWN_NAMES or any(client.name == name for client in self.clients):
            raise ConfigError(f"the name {name!r} is empty or taken; choose another, or revoke that one first")
        token = f"hearth-{secrets.token_urlsafe(32)}"
        self.clients = (*self.clients, Client(name, may_change, _digest(token), may_answer, may_look))
        self._write(self.key, self.clients)
        return token

    def revoke(self, name: str) -> None:
        """Take a program's token back; it is let in no more. Raises: NotFound."""
        kept = tuple(client for client in self.clients if client.name != name)
        if len(kept) == len(self.clients):
            names = ", ".join(repr(client.name) for client in self.clients) or "none"
            raise NotFound(f"no program is called {name!r}; known are {names}")
        self.clients = kept
        self._write(self.key, kept)

    def client_of(self, token: str) -> Client | None:
        """Return the program that a token belongs to, as the file is now: a revoked one is none at once."""
        try:
            self.key, self.clients = self._read()
        except ConfigError:  # the file is gone or damaged: nobody but the owner, by the key known so far
            return None
        digest = _digest(token)
        return next((one for one in self.clients if hmac.compare_digest(one.digest, digest)), None)

    @property
    def cookie_name(self) -> str:
        """Another for each home: browsers share cookies among all ports of an address, and a second home would sign the
        first one's browser out."""
        return f"hearth-{hashlib.sha256(self.key.encode()).hexdigest()[:12]}"

    @property
    def cookie(self) -> str:
        """What a browser keeps once it showed the key: it does not give the key away."""
        return hmac.new(self.key.encode(), b"cookie", hashlib.sha256).hexdigest()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class PhoneEntrance:
    """How a door knows phones."""

    cookie: str
    """Name of the cookie that holds a phone's key."""
    open_paths: tuple[str, ...]
    """What a phone sees before it is let in."""
    of_key: Callable[[str], Phone | None]


class Door:
    """The application behind its door (ASGI)."""

    def __init__(
        self,
        application: Application,
        keys: Keys,
        hosts: frozenset[str],
        clock: Callable[[], float],
        phones: PhoneEntrance | None = None,
    ) -> None:
        """Guard an application.

        Args:
            hosts: Names with port by which it may be asked for, `127.0.0.1:8470`.
            clock: Seconds, for counting guesses.
            phones: This door is for phones alone: neither the home's key nor a token opens it.
        """
        self._application = application
        self._keys = keys
        self._hosts = hosts
        self._clock = clock
        self._phones = phones
        self._guesses: list[float] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer why not."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = headers_of(scope)
        why = self._why_not(scope, headers)
        if why is not None:
            await said(send, *why)
            return
        await self._application(scope, bounded_body(receive, _most_bytes(scope)), hardened_by_headers(send))

    def _why_not(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        if headers.get("host", "").lower() not in self._hosts:
            return 421, "This name is not mine. Add it to `names` under [serve] in hearth.toml if it should be."
        try:
            size = int(headers.get("content-length", "0"))
        except ValueError:
            return 400, "The content-length is no number."
        if not 0 <= size <= _most_bytes(scope):
            return 413, f"At most {_most_bytes(scope):,} bytes are taken."
        if scope["path"].startswith("/static/"):
            return None
        if self._phones is not None:
            return self._why_no_phone(self._phones, scope, headers)
        if headers.get("authorization"):
            return self._why_no_program(scope, headers["authorization"])
        if scope["method"] not in SAFE and not self._is_own_page(headers):
            return 403, "Only this page itself may change something here."
        if scope["path"] == "/enter":
            return None
        return self._why_no_browser(headers)

    def _why_no_program(self, scope: Scope, authorization: str) -> tuple[int, str] | None:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(_digest(token), _digest(self._keys.key)):
            scope["hearth.client"] = OWNERS_PROGRAM
            return None
        client = self._keys.client_of(token) if scheme.lower() == "bearer" else None
        if client is None:
            return self._wrong("This token is not known here; `hearth clients add NAME` makes one.")
        path = scope["path"]
        if path != "/mcp" and (not path.startswith("/v1/") or path.startswith("/v1/home/")):
            return 403, "With a token there are /v1/models, /v1/chat/completions, /v1/responses and /mcp."
        scope["hearth.client"] = client
        return None

    def _why_no_phone(self, entrance: PhoneEntrance, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        scope["hearth.phones"] = True
        if scope["method"] not in SAFE and not self._is_own_page(headers):
            return 403, "Only this page itself may change something here."
        if scope["path"] in entrance.open_paths:
            return None
        if scope["path"] in ("/mcp", "/enter") or scope["path"].startswith("/v1/"):
            return 403, "This entrance is for phones; programs use the other one."
        given = cookies_in(headers, entrance.cookie)
        phone = next((found for one in given if (found := entrance.of_key(one)) is not None), None)
        if phone is None:
            unknown = "This phone is not let in: scan the picture on the page Phones of the computer."
            return self._wrong(unknown) if given else (401, unknown)
        scope["hearth.phone"] = phone
        return None

    def _why_no_browser(self, headers: dict[str, str]) -> tuple[int, str] | None:
        given = cookies_in(headers, self._keys.cookie_name)
        own = self._keys.cookie.encode()
        if any(hmac.compare_digest(one.encode("utf-8", "replace"), own) for one in given):
            return None
        unknown = "Open the link that `hearth up` prints: it holds the key of this home."
        return self._wrong(unknown) if given else (401, unknown)

    def _wrong(self, why: str) -> tuple[int, str]:
        """Count a wrong key. The right one is let in all the same: who guesses shuts nobody out."""
        now = self._clock()
        self._guesses = [at for at in self._guesses if now - at < _GUESS_S][-MOST_GUESSES:]
        self._guesses.append(now)
        return (429, "Too many wrong keys; try again in a minute.") if len(self._guesses) > MOST_GUESSES else (401, why)

    def _is_own_page(self, headers: dict[str, str]) -> bool:
        """A change comes from a page of this origin: browsers send where it comes from, and cannot be made to lie."""
        origin = headers.get("origin", "")
        is_same_site = headers.get("sec-fetch-site", "same-origin") == "same-origin"
        return is_same_site and origin.partition("://")[2].lower() in self._hosts

    def is_key(self, given: str) -> bool:
        """Return whether a browser shows the home's key."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._keys.key.encode())

    @property
    def cookie(self) -> tuple[str, str]:
        """What a browser that showed the key keeps: a name and a value."""
        return self._keys.cookie_name, self._keys.cookie


def headers_of(scope: Scope) -> dict[str, str]:
    """Return the headers by name in small letters; several cookies as one."""
    headers: dict[str, str] = {}
    for key, value in scope["headers"]:
        name, text = key.decode("latin-1").lower(), value.decode("latin-1")
        headers[name] = f"{headers[name]}; {text}" if name == "cookie" and name in headers else text
    return headers


def cookies_in(headers: dict[str, str], name: str) -> list[str]:
    """Return the cookies of a name. By hand: other programs on this machine share the cookies of its name, and one odd
    one would hide ours."""
    pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return [value.strip('"') for found, _, value in pairs if found == name]


def _most_bytes(scope: Scope) -> int:
    return MOST_ATTACHED_BYTES if scope["path"] in ("/attach", "/video/enroll") else MOST_BODY_BYTES


def bounded_body(receive: Receive, most_bytes: int) -> Receive:
    """A body in pieces may not be larger than one that says its size, nor come for ever."""
    within_s = BODY_WITHIN_S * max(1.0, most_bytes / (5 * MOST_BODY_BYTES))
    taken = 0
    is_whole = False
    ends: float | None = None

    async def bounded() -> Message:
        nonlocal taken, is_whole, ends
        if is_whole:  # what is waited for now is that the other side hangs up
            return await receive()
        ends = ends or asyncio.get_running_loop().time() + within_s
        try:
            async with asyncio.timeout_at(ends):
                message = await receive()
        except TimeoutError:
            late = f"A body arrives within {within_s:.0f} s."
            raise HTTPException(408, late, {"connection": "close"}) from None
        is_whole = not message.get("more_body", False)
        taken += len(message.get("body", b""))
        if taken > most_bytes:
            raise HTTPException(413, f"At most {most_bytes:,} bytes are taken.")
        return message

    return bounded


def hardened_by_headers(send: Send) -> Send:
    """Send with headers that keep scripts of others, frames and caches away."""

    async def hardened(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {key.lower() for key, _ in message.get("headers", [])}
            more = [(key, value) for key, value in _HEADERS if key not in own]
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await send(message)

    return hardened


async def said(send: Send, status: int, text: str) -> None:
    """Answer with a line of text."""
    hardened = hardened_by_headers(send)
    head = [(b"content-type", b"text/plain; charset=utf-8")]
    await hardened({"type": "http.response.start", "status": status, "headers": head})
    await hardened({"type": "http.response.body", "body": f"{text}\n".encode()})
