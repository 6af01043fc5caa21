"""The homes of a household in one process, behind one entrance."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from hearth import config
from hearth.errors import ConfigError
from hearth.protocols import Encoder
from hearth.serve import house
from hearth.serve.house import House
from hearth.serve.household import shared_lists
from hearth.serve.household.front import Dwelling, Front
from hearth.serve.household.members import MEMBERS_FILE, Members, Sessions
from hearth.serve.household.passkeys import Passkeys
from hearth.serve.household.shared_devices import with_borrowed
from hearth.serve.pages.page_parts import Templates
from hearth.serve.phones import authority
from hearth.serve.phones.phone_server import own_addresses


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
        lists, no_lists = shared_lists.agreed(own)
        lent, no_devices = with_borrowed(own)
        local = house.Address("127.0.0.1", 0)
        houses = {
            name: stack.enter_context(
                house.opened(folder, environ, local, encoder=encoder, is_household=True, settings=lent[name])
            )
            for name, folder in homes.items()
        }
        desks = {name: one.desk for name, one in houses.items()}
        stack.enter_context(shared_lists.following(lists, desks, homes, home))
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
    certificate = authority.certify(authority.opened(home, now), home, names, now)
    named = [name for name in names if not name[0].isdecimal()] or list(names)  # no passkeys for bare numbers
    return frozenset(f"{name}:{port}" for name in names), f"https://{named[0]}:{port}", certificate
