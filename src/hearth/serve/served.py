"""Several people under one roof: one entrance that leads everybody to their own home, and what homes share."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import TimeoutError as Late
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from hearth import config
from hearth.agent import Agent
from hearth.config import HomeDevice, Settings
from hearth.errors import ConfigError, DeniedError, HearthError
from hearth.formats.terminal_text import clean
from hearth.language.tokens import by_same_name, fold, same_name
from hearth.protocols import Encoder
from hearth.serve import house, phone_server
from hearth.serve.desk import Desk
from hearth.serve.door import (
    SAFE,
    Application,
    Keys,
    Message,
    Receive,
    Scope,
    Send,
    bounded_body,
    cookies_in,
    hardened_by_headers,
    headers_of,
    said,
)
from hearth.serve.house import House
from hearth.serve.members import MEMBERS_FILE, Member, Members, Passkeys, Sessions
from hearth.serve.pages.page_parts import Templates, fields
from hearth.serve.pages.page_parts import field as form_field
from hearth.serve.phone_server import own_addresses
from hearth.storage.database import Store
from hearth.storage.fault_log import note_fault
from hearth.tools.notes import ROOT, ListItem, list_items, put_list_items

# ── Shared things ─────────────────────────────────────────────────────────────────────────────────────────
# What people of a household share: devices that are lent, and lists that are kept alike.

# ── Devices lent ───────────────────────────────────────────────────────────────────────────────────────
# Lends connected devices between people of a household: by the lender's rule, exact names, nothing else. A borrowed
# device is among the borrower's, who speaks with it over the lender's connection; the borrower's own rules say what
# runs, asks or is denied. Covered: devices on a broker, twins, entities of Home Assistant. Not covered: devices that
# are only written down, two people with different brokers, seeing in the lender's history what a borrower switched.


def with_borrowed(settings: Mapping[str, Settings]) -> tuple[dict[str, Settings], tuple[str, ...]]:
    """Return everybody's settings with what is lent to them, and why other things that are named are not.

    Args:
        settings: By the name of each person.
    """
    found = dict(settings)
    refused: list[str] = []
    known = by_same_name(settings)
    for lender, own in settings.items():
        for other, share in own.share.items():
            borrower = known.get(same_name(other))
            if borrower is None or borrower == lender:
                continue  # said where lists are agreed
            for name in share.devices:
                devices = [one for one in own.home.device if same_name(one.name) == same_name(name)]
                if len(devices) != 1:
                    n = "there is no" if not devices else "there is more than one"
                    refused.append(f"the device {name!r} of {lender}: {n} [[home.device]] of that name")
                    continue
                lent = _lent(found[borrower], own, devices[0])
                if isinstance(lent, str):
                    refused.append(f"the device {name!r} of {lender} for {borrower}: {lent}")
                else:
                    found[borrower] = lent
    return found, tuple(refused)


def _lent(to: Settings, own: Settings, device: HomeDevice) -> Settings | str:
    """Return somebody's settings with a device of another's, or why it is not lent."""
    if any((fold(one.room), fold(one.name)) == (fold(device.room), fold(device.name)) for one in to.home.device):
        return "they have one of that name in that room already"
    home = to.home
    if device.entity and own.home.assistant is not None:
        theirs = own.home.assistant
        if home.assistant is None:
            home = home.model_copy(update={"assistant": theirs.model_copy(update={"entities": (device.entity,)})})
        elif home.assistant.url != theirs.url:
            return "they have another Home Assistant"
        elif home.assistant.entities:
            entities = tuple(dict.fromkeys((*home.assistant.entities, device.entity)))
            home = home.model_copy(update={"assistant": home.assistant.model_copy(update={"entities": entities})})
        parts = urlsplit(theirs.url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 8123)
    elif (device.mqtt or device.twin) and own.home.mqtt is not None:
        broker = own.home.mqtt
        if home.mqtt is None:
            home = home.model_copy(update={"mqtt": broker.model_copy(update={"discover": False})})
        elif (home.mqtt.host, home.mqtt.port) != (broker.host, broker.port):
            return "they have another broker"
        host, port = broker.host, broker.port or (8883 if broker.security == "tls" else 1883)
    else:
        return "it is not connected, so there is nothing to lend"
    network = to.network
    hosts = {**network.host, **({host: own.network.host[host]} if host in own.network.host else {})}
    allow = tuple(dict.fromkeys((*network.allow, f"{f'[{host}]' if ':' in host else host}:{port}")))
    network = network.model_copy(update={"allow": allow, "host": hosts})
    home = home.model_copy(update={"device": (*home.device, device)})
    return to.model_copy(update={"home": home, "network": network})


# ── Lists kept alike ───────────────────────────────────────────────────────────────────────────────────
# Keeps lists that people of a household share alike: what one puts on or takes off, the others find so.
# Each person has a list of their own, in their own home; what is shared is the items. A list is shared where both
# people name it for each other, and among more than two only where each names it for each. What others put on it is
# noted as another person's words, not the owner's.
# Covered: changes on several sides at once (all are taken over; what somebody takes off is off), a home whose agent
# waits for an answer (it follows later), a process that is killed in between, a list that somebody deleted (it comes
# back: who wants it no more stops sharing it). Not covered: the order of items, lines that are no items, undoing what
# others did.


TICK_S = 1.0
WAITS_S = 2.0
"""How long a home is waited for; one that is at work follows later."""
MOST_ITEMS = 500
"""Of a shared list; one with more is not followed."""
LOOK_EVERY = 15
"""How many ticks pass until homes are looked into although nothing shows a change."""
KEY = "shared-lists"
_STATE = "shared_lists"
_OTHERS = frozenset({"message"})

Items = dict[str, ListItem]


@dataclass(frozen=True, slots=True)
class SharedList:
    """A list and who shares it."""

    name: str
    people: tuple[str, ...]

    @property
    def key(self) -> str:
        return json.dumps([same_name(self.name), *self.people])


def agreed_lists(settings: Mapping[str, Settings]) -> tuple[tuple[SharedList, ...], tuple[str, ...]]:
    """Return the lists that people share, and why others that somebody names are not.

    Args:
        settings: By the name of each person.
    """
    said: dict[str, dict[str, set[str]]] = {}
    names: dict[str, str] = {}
    refused: list[str] = []
    known = by_same_name(settings)
    for person, own in settings.items():
        for other, share in own.share.items():
            if (them := known.get(same_name(other))) is None or them == person:
                refused.append(f"[share.{other}] of {person}: nobody else of that name lives here")
                continue
            for name in share.lists:
                names.setdefault(same_name(name), name)
                said.setdefault(same_name(name), {}).setdefault(person, set()).add(them)
    lists: list[SharedList] = []
    for key, wants in said.items():
        mutual = {a: {b for b in bs if a in wants.get(b, ())} for a, bs in wants.items()}
        for person, others in wants.items():
            for one_sided in sorted(others - mutual[person]):
                refused.append(f"the list {names[key]!r} of {person}: {one_sided} does not share it with {person}")
        left = {person for person, others in mutual.items() if others}
        while left:
            group = _reached(min(left), mutual)
            left -= group
            gaps = [(a, b) for a, b in itertools.combinations(sorted(group), 2) if b not in mutual[a]]
            if gaps:
                a, b = gaps[0]
                refused.append(f"the list {names[key]!r}: {a} and {b} would see each other's, and do not share it")
            else:
                lists.append(SharedList(names[key], tuple(sorted(group))))
    return tuple(lists), tuple(refused)


def _reached(start: str, mutual: Mapping[str, set[str]]) -> set[str]:
    found, rest = {start}, [start]
    while rest:
        new = mutual.get(rest.pop(), set()) - found
        found |= new
        rest += new
    return found


def merged_lists(shared: Items, before: Items, now: Items) -> Items:
    """Return the shared items after one person's changes: from what they had to what they have now."""
    after = {key: item for key, item in shared.items() if key in now or key not in before}
    for key, item in now.items():
        was = before.get(key)
        if was is None or was.is_done != item.is_done:
            after[key] = replace(item, text=after[key].text) if key in after else item
    return after


class SharedLists:
    """Lists of several homes; `tick` it about once a second."""

    def __init__(
        self, lists: tuple[SharedList, ...], desks: Mapping[str, Desk], homes: Mapping[str, Path], store: Store
    ):
        """Follow them.

        Args:
            store: Where it is kept what each home was seen to have.
        """
        self._lists = lists
        self._desks = desks
        self._homes = homes
        self._store = store
        self._changed: dict[str, int] = {}
        self._n_ticks = 0

    def tick(self) -> None:
        """Take over what anybody changed. Raises: StoreError."""
        self._n_ticks += 1
        times = {name: _modified(home) for name, home in self._homes.items()}
        if times == self._changed and self._n_ticks % LOOK_EVERY:
            return
        is_whole = [self._follow(one) for one in self._lists]
        self._changed = times if all(is_whole) else {}

    def _follow(self, one: SharedList) -> bool:
        """Bring the homes of one list together; say whether all could be reached."""
        state = self._state()
        mine = state.get(one.key, {})
        shared = _read(mine.get("", []))
        found: dict[str, Items] = {}
        for person in one.people:
            had = _read(mine.get(person, []))
            now = self._use(person, one.name, None, had)
            if now is None:
                continue
            found[person] = now
            shared = merged_lists(shared, had, now)
        mine = {**mine, "": _write(shared), **{person: _write(items) for person, items in found.items()}}
        self._keep(state, one, mine)
        for person, items in found.items():
            if items != shared and len(shared) <= MOST_ITEMS and self._use(person, one.name, shared, items) is not None:
                mine = {**mine, person: _write(shared)}
        self._keep(state, one, mine)
        return len(found) == len(one.people)

    def _use(self, person: str, name: str, items: Items | None, had: Items) -> Items | None:
        """Read somebody's list, or with `items` write it where it still is as it was read; None: not now."""

        def work(agent: Agent) -> Items | None:
            call = replace(agent.call_context(), key=KEY, workspace=agent.folder.for_call(KEY))
            now = list_items(name, call)
            if now is not None and len(now) > MOST_ITEMS:
                return None  # left as it is, rather than cut
            if items is None:
                return had if now is None else now
            if now is not None and now != had:
                return None
            records = put_list_items(name, items, call)
            agent.folder.settle(KEY)
            agent.monitor.note_origin("notes", records, _OTHERS, call.now)
            return items

        doing = self._desks[person].use(work)
        try:
            return doing.result(WAITS_S)
        except Late:
            doing.cancel()
            return None
        except HearthError:
            return None

    def _state(self) -> dict[str, dict[str, list[list[object]]]]:
        rows = self._store.query("SELECT value FROM meta WHERE name = ?", (_STATE,))
        try:
            found = json.loads(rows[0]["value"]) if rows else {}
        except ValueError:
            found = {}
        return found if isinstance(found, dict) else {}

    def _keep(
        self, state: dict[str, dict[str, list[list[object]]]], one: SharedList, mine: dict[str, list[list[object]]]
    ) -> None:
        if state.get(one.key) == mine:
            return
        state[one.key] = mine
        with self._store.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_STATE, json.dumps(state)))


def _read(rows: list[list[object]]) -> Items:
    return {str(key): ListItem(str(text), bool(is_done)) for key, text, is_done in rows}


def _write(items: Items) -> list[list[object]]:
    return [[key, item.text, item.is_done] for key, item in items.items()]


def _modified(home: Path) -> int:
    """Return the latest change of a home's notes."""
    latest = 0
    with contextlib.suppress(OSError):
        folder = home / "owner" / ROOT
        latest = max((path.stat().st_mtime_ns for path in (folder, *folder.glob("*.md"))), default=0)
    return latest


@contextlib.contextmanager
def following_lists(
    lists: tuple[SharedList, ...], desks: Mapping[str, Desk], homes: Mapping[str, Path], kept_in: Path
) -> Iterator[None]:
    """Keep shared lists alike until the block ends."""
    stopped = threading.Event()

    def follow() -> None:
        with Store.open(kept_in / "hearth.db") as store:
            shared = SharedLists(lists, desks, homes, store)
            while not stopped.wait(TICK_S):
                try:
                    shared.tick()
                except HearthError:
                    continue  # a full disk, say
                except Exception as error:
                    note_fault(kept_in, error)

    if not lists:
        yield
        return
    thread = threading.Thread(target=follow, name="hearth-shared-lists")
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


# ── Served ────────────────────────────────────────────────────────────────────────────────────────────────
# The homes of a household in one process, behind one entrance.

# ── The entrance ───────────────────────────────────────────────────────────────────────────────────────
# One entrance for a household: whoever signs in is led to their own home, and sees nothing of another's. It looks at
# names, origins and sizes as every door does, slows guessing, and hands a request on to the door of the home of whoever
# is signed in, with that home's own key; what the browser sends of keys and names of its own is left out.
# Covered: signing in and out, by password and passkey; programs with a token of one of the homes; a stream that ends
# when its person signs out. Not covered: what homes share (nothing); people on the same account of the machine, who
# can read each other's files.


COOKIE = "hearth-member"
_YEAR_S = 31_536_000
_MOST_GUESSES = 5
_GUESS_S = 60.0
_AT_ONCE = 2
"""Passwords that are looked at at once: each takes 64 MB and a twentieth of a second."""
_OWN = ("/sign-in", "/household", "/static/")
_MOST_BODY_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class Dwelling:
    """A home behind the entrance."""

    home: Path
    """The folder it was opened from: a name may come to be another person's, of another home, while this one is up."""
    door: Application
    keys: Keys
    address: str
    """Under which its own door knows itself: `http://127.0.0.1:40001`."""


@dataclass
class Front:
    """The application of the entrance (ASGI)."""

    members: Members
    sessions: Sessions
    passkeys: Passkeys
    dwellings: Mapping[str, Dwelling]
    """By the name of who lives there."""
    templates: Templates
    hosts: frozenset[str]
    clock: Callable[[], float]
    is_tls: bool = False
    _guesses: dict[str, list[float]] = field(default_factory=dict)
    _looking: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    def __post_init__(self) -> None:
        static = files("hearth.serve") / "static"
        handlers = {HearthError: self._refused}
        self._own = Starlette(
            routes=[
                Route("/sign-in", self.sign_in, methods=["GET", "POST"]),
                Route("/sign-in/passkey", self.passkey, methods=["POST"]),
                Route("/sign-in/challenge", self.challenge, methods=["POST"]),
                Route("/household", self.household),
                Route("/household/sign-out", self.sign_out, methods=["POST"]),
                Route("/household/challenge", self.new_challenge, methods=["POST"]),
                Route("/household/passkey", self.add_passkey, methods=["POST"]),
                Mount("/static", StaticFiles(directory=str(static))),
            ],
            exception_handlers=cast("Mapping[Any, Any]", handlers),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lead a request where it belongs, or answer why not."""
        if scope["type"] != "http":
            return
        headers = headers_of(scope)
        if headers.get("host", "").lower() not in self.hosts:
            await said(send, 421, "This name is not mine.")
            return
        origin = headers.get("origin", "").partition("://")[2].lower()
        is_program = bool(headers.get("authorization"))
        is_own = origin in self.hosts and headers.get("sec-fetch-site", "same-origin") == "same-origin"
        if not is_program and scope["method"] not in SAFE and not is_own:
            await said(send, 403, "Only this page itself may change something here.")
            return
        if is_program:
            await self._for_program(scope, receive, send, headers["authorization"])
            return
        key = next(iter(cookies_in(headers, COOKIE)), "")
        member = await run_in_threadpool(self.sessions.of_key, key) if key else None
        path = scope["path"]
        if path in _OWN or path.startswith(tuple(f"{one.rstrip('/')}/" for one in _OWN)):
            scope["hearth.member"], scope["hearth.session"] = member, key
            await self._own(scope, bounded_body(receive, _MOST_BODY_BYTES), hardened_by_headers(send))
        elif member is None and scope["method"] == "GET":
            await RedirectResponse("/sign-in", 303)(scope, receive, hardened_by_headers(send))
        elif member is None:
            await said(send, 401, "Sign in first.")
        elif path == "/enter" or (dwelling := self._dwelling_of(member)) is None:
            await said(send, 404, "There is no such page, or your home is not up; start the household again.")
        else:
            own = [(b"cookie", f"{dwelling.keys.cookie_name}={dwelling.keys.cookie}".encode())]
            with suppress(ConnectionAbortedError, ClientDisconnect):
                await dwelling.door(_led(scope, dwelling, own), receive, self._while_signed_in(send, key))

    def _dwelling_of(self, member: Member) -> Dwelling | None:
        """Return the home of a person who lives here now; None where it is not up."""
        return next((one for one in self.dwellings.values() if one.home == member.home), None)

    async def _for_program(self, scope: Scope, receive: Receive, send: Send, authorization: str) -> None:
        token = authorization.partition(" ")[2]
        lived_in = {one.home for one in await run_in_threadpool(self.members.listed)}
        for dwelling in self.dwellings.values():
            if dwelling.home in lived_in and await run_in_threadpool(dwelling.keys.client_of, token) is not None:
                await dwelling.door(_led(scope, dwelling, []), receive, send)
                return
        await said(send, 401, "This token is not known here; `hearth clients add NAME` makes one.")

    def _while_signed_in(self, send: Send, key: str) -> Send:
        """Send nothing more once the person signed out: a stream ends there."""

        async def sending(message: Message) -> None:
            is_stream = message["type"] == "http.response.body" and message.get("more_body")
            if is_stream and await run_in_threadpool(self.sessions.of_key, key) is None:
                await send({"type": "http.response.body", "body": b""})
                raise ConnectionAbortedError("signed out")
            await send(message)

        return sending

    # ── Its own pages ─────────────────────────────────────────────────────────────────────────────────────

    async def sign_in(self, request: Request) -> Response:
        """Ask for name and password, and sign in."""
        if request.method == "GET":
            if request.scope["hearth.member"] is not None:
                return RedirectResponse("/household", 303)
            return self.templates.page("sign_in.html", "Sign in")
        given = await fields(request)
        name, password = given.get("name", ""), given.get("password", "")
        where = f"{same_name(name)[:60]} {request.client.host if request.client else ''}"
        async with self._looking:
            if self._is_guessing(where):  # asked here, as guesses may come side by side
                return JSONResponse({"says": "Too many wrong passwords; try again in a minute."}, 429)
            self._guesses.setdefault(where, []).append(self.clock())  # until it proves right
            member = await run_in_threadpool(self.members.by_password, name, password)
        if member is None:
            return JSONResponse({"says": "This name and password do not go together."}, 401)
        self._guesses.pop(where, None)
        return self._signed_in(member)

    async def challenge(self, request: Request) -> Response:  # noqa: ARG002 - every route is handed the request
        """Begin signing in with a passkey."""
        return JSONResponse({"options": self.passkeys.asking()})

    async def passkey(self, request: Request) -> Response:
        """Sign in with a passkey."""
        return self._signed_in(self.passkeys.who(await form_field(request, "answer")))

    async def household(self, request: Request) -> Response:
        """Say who is signed in, and offer a passkey and the way out."""
        member = request.scope["hearth.member"]
        if member is None:
            return RedirectResponse("/sign-in", 303)
        return self.templates.page("household.html", "Household", member=member)

    async def sign_out(self, request: Request) -> Response:
        """Sign out here."""
        self.sessions.end(request.scope["hearth.session"])
        answer = JSONResponse({"goto": "/sign-in"})
        answer.delete_cookie(COOKIE)
        return answer

    async def new_challenge(self, request: Request) -> Response:
        """Begin adding a passkey."""
        return JSONResponse({"options": self.passkeys.adding(self._who(request))})

    async def add_passkey(self, request: Request) -> Response:
        """Keep a new passkey."""
        self.passkeys.add(self._who(request), await form_field(request, "answer"))
        return JSONResponse({"says": "From now on you may sign in with this passkey."})

    def _who(self, request: Request) -> Member:
        """Raises: DeniedError: Nobody is signed in."""
        member: Member | None = request.scope["hearth.member"]
        if member is None:
            raise DeniedError("sign in first")
        return member

    def _signed_in(self, member: Member) -> Response:
        answer = JSONResponse({"goto": "/"})
        key = self.sessions.begin(member)
        answer.set_cookie(COOKIE, key, max_age=_YEAR_S, httponly=True, secure=self.is_tls, samesite="strict")
        return answer

    def _is_guessing(self, where: str) -> bool:
        now = self.clock()
        self._guesses = {
            one: late for one, times in self._guesses.items() if (late := [at for at in times if now - at < _GUESS_S])
        }
        return len(self._guesses.get(where, ())) >= _MOST_GUESSES

    async def _refused(self, request: Request, error: Exception) -> Response:
        status = 403 if isinstance(error, DeniedError) else 400
        if request.method == "GET":
            return self.templates.fault(clean(str(error)), status)
        return JSONResponse({"says": clean(str(error))}, status)


def _led(scope: Scope, dwelling: Dwelling, own: list[tuple[bytes, bytes]]) -> Scope:
    """Return the request as the home's own door takes it."""
    kept = [(name, value) for name, value in scope["headers"] if name not in (b"host", b"cookie", b"origin")]
    host = dwelling.address.partition("://")[2].encode()
    had_origin = any(name == b"origin" for name, _ in scope["headers"])
    origin = [(b"origin", dwelling.address.encode())] if had_origin else []
    return {**scope, "headers": [*kept, (b"host", host), *origin, *own]}


# ── The homes ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Household:
    """What runs; made by `opened`."""

    address: str
    """Where people sign in."""
    houses: Mapping[str, House]
    """By the name of who lives there."""
    front: uvicorn.Server
    listening: socket.socket
    unshared: tuple[str, ...] = ()
    """What somebody wants to share and is not shared, with the reason."""

    @property
    def closed(self) -> tuple[str, ...]:
        """Addresses that homes want beside their pages and could not take: whose, for whom, with the reason."""
        return tuple(f"{name}'s home, for {why}" for name, one in self.houses.items() for why in one.closed)

    def serve(self) -> None:
        """Serve all until `stop`. Ctrl-C is for the caller: the servers run in a thread of their own."""
        ended = threading.Event()

        def run() -> None:
            try:
                asyncio.run(self._serve_all())
            finally:
                ended.set()

        thread = threading.Thread(target=run, name="hearth-household")
        thread.start()
        try:
            ended.wait()  # not `join`, which an interrupt would leave believing that the thread has ended
        finally:
            self.stop()
            thread.join()

    def stop(self) -> None:
        """End `serve`, from another thread."""
        for server in (self.front, *(one.server for one in self.houses.values())):
            server.should_exit = True

    async def _serve_all(self) -> None:
        servers = [(self.front, self.listening), *((one.server, one.listening) for one in self.houses.values())]
        await asyncio.gather(*(server.serve(sockets=[listening]) for server, listening in servers))


@contextlib.contextmanager
def opened(
    home: Path, environ: Mapping[str, str], *, host: str, port: int, encoder: Encoder | None = None
) -> Iterator[Household]:
    """Open the homes of everybody who lives here; all end with the block.

    Args:
        home: Where the household's file lies.
        host: Beside the loopback address, the entrance speaks TLS with the home's own authority.
        encoder: The shipped one by default.
    Raises:
        ConfigError: Nobody lives here; an address is taken; a home is none. HomeBusyError: A process has one of them.
    """
    members = Members(home / MEMBERS_FILE)
    if not members.listed():
        raise ConfigError("nobody lives here yet; `hearth household add NAME` lets somebody")
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(house.listening_at(host, port, "--port (0 takes a free one)"))
        homes = {one.name: one.home for one in members.listed()}
        own = {name: config.read_settings(folder / "hearth.toml") for name, folder in homes.items()}
        lists, no_lists = agreed_lists(own)
        lent, no_devices = with_borrowed(own)
        local = house.Address("127.0.0.1", 0)
        houses = {
            name: stack.enter_context(
                house.opened(folder, environ, local, encoder=encoder, is_household=True, settings=lent[name])
            )
            for name, folder in homes.items()
        }
        desks = {name: one.desk for name, one in houses.items()}
        stack.enter_context(following_lists(lists, desks, homes, home))
        is_tls = host not in house.LOOPBACK
        hosts, address, certificate = _entrance(home, listening, is_tls=is_tls)
        dwellings = {name: Dwelling(homes[name], one.door, one.keys, one.address) for name, one in houses.items()}
        clock = time.monotonic
        sessions, passkeys = Sessions(members, clock), Passkeys(members, address, clock)
        front = Front(members, sessions, passkeys, dwellings, Templates(()), hosts, clock, is_tls)
        server = uvicorn.Server(house.options_of(front, certificate, has_lifespan=False))
        yield Household(address, houses, server, listening, (*no_lists, *no_devices))


def _entrance(home: Path, listening: socket.socket, *, is_tls: bool) -> tuple[frozenset[str], str, Path | None]:
    """Return the names of the entrance, its address, and its certificate where it speaks TLS."""
    host, port = listening.getsockname()[:2]
    if not is_tls:
        return frozenset({f"{host}:{port}", f"localhost:{port}"}), f"http://localhost:{port}", None
    names: tuple[str, ...] = own_addresses(()) if host in ("0.0.0.0", "::") else (host,)  # noqa: S104 - compared, not listened at
    now = dt.datetime.now(dt.UTC)
    certificate = phone_server.certify(phone_server.opened(home, now), home, names, now)
    named = [name for name in names if not name[0].isdecimal()] or list(names)  # no passkeys for bare numbers
    return frozenset(f"{name}:{port}" for name in names), f"https://{named[0]}:{port}", certificate
