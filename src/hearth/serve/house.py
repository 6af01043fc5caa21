"""One process for a home: its agent, its page, its ring.

The socket is taken before anything else, so that a second process says at once that the first is there. Ending it, by
Ctrl-C or a signal, finishes the step that runs, answers an open question with no, and frees the home.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Route

from hearth import config
from hearth.config import Settings
from hearth.errors import ConfigError, MissingExtraError, StoreError
from hearth.guard.egress.gateway import Egress
from hearth.permissions import make_private
from hearth.protocols import CallContext, Encoder
from hearth.serve import phone_server
from hearth.serve.background import background_sync
from hearth.serve.background.background_sync import Letter, NewMail
from hearth.serve.background.index_building import reading_ahead
from hearth.serve.background.ringing import Aside, DesktopNotifier, Notifier, Ringing, hours_in, is_within
from hearth.serve.desk import Desk
from hearth.serve.door import KEYS_FILE, Application, Door, Keys, PhoneEntrance, Phones
from hearth.serve.pages.house_pages import OPEN, PHONE_COOKIE, HousePages, PhonePages, SettingsPage, Way
from hearth.serve.pages.memory_pages import MemoryPages
from hearth.serve.pages.page import PAGES, Page, PlanPages
from hearth.serve.pages.page_parts import Home, Templates
from hearth.serve.phone_server import BoundedHttp, PhoneServer, Pusher, Signer, Telling, own_addresses
from hearth.serve.programs.home_api import HomeApi, HomeLine
from hearth.serve.programs.home_link import announced
from hearth.serve.programs.openai_api import ClientTools, OpenAi
from hearth.storage.database import Store
from hearth.storage.fault_log import note_fault
from hearth.tools.pim.reminders import FOLDER

LOOPBACK = ("127.0.0.1", "::1", "localhost")
MCP_COMMAND = "pip install 'hearth-agent[mcp]'"
_MOST_CONNECTIONS = 600
_TICK_S = 1.0
_LOOK_EVERY_S = 15


@dataclass(frozen=True, slots=True)
class House:
    """What runs; made by `opened`."""

    home: Path
    address: str
    """Where the page is: `http://127.0.0.1:8470`."""
    link: str
    """The same with the key, for the owner's browser."""
    door: Door
    keys: Keys
    desk: Desk
    listening: socket.socket
    server: uvicorn.Server
    is_again: threading.Event
    """Set where the owner wants it started anew once `serve` ends."""
    voice: str = ""
    """Where voice satellites are answered: `127.0.0.1:10500`; empty: nowhere."""
    phones: str = ""
    """Where phones come in: `https://192.168.1.20:8471`; empty: nowhere."""
    closed: tuple[str, ...] = ()
    """Addresses that it wants beside its page and could not take, with the reason."""

    def serve(self) -> None:
        """Serve until the process, or `stop`, tells it to end. Raises: KeyboardInterrupt."""
        self.server.run(sockets=[self.listening])

    def stop(self) -> None:
        """End `serve`, from another thread."""
        self.server.should_exit = True


@dataclass(frozen=True, slots=True)
class Address:
    """Where a home's page listens; what is left out is as in the settings."""

    host: str = ""
    port: int | None = None
    """0 takes a free one."""


@contextlib.contextmanager
def opened(
    home: Path,
    environ: Mapping[str, str],
    at: Address = Address(),
    *,
    encoder: Encoder | None = None,
    is_household: bool = False,
    settings: Settings | None = None,
) -> Iterator[House]:
    """Open a home's agent with its page and its ring; both end with the block.

    Args:
        at: Instead of that in the settings.
        encoder: The shipped one by default.
        is_household: Its pages lead to the page where people sign out; an address beside its page that is taken keeps
            no others' home down.
        settings: In place of those in the home's file.
    Raises:
        ConfigError: The address is taken or is none; no home there. HomeBusyError: Another process has it.
    """
    settings = settings or config.read_settings(home / "hearth.toml")
    zone = settings.zone()
    now = functools.partial(dt.datetime.now, zone)
    with contextlib.ExitStack() as stack:
        wanted = settings.serve.port if at.port is None else at.port
        listening = stack.enter_context(
            listening_at(at.host or settings.serve.host, wanted, "--port (0 takes a free one)")
        )
        closed: list[str] = []
        others = closed if is_household else None
        said = settings.serve
        satellites = _beside(stack, "voice satellites", said.wyoming_host, said.wyoming_port, "wyoming_port", others)
        for_phones = _beside(stack, "phones", said.phones_host, said.phones_port, "phones_port", others)
        make_private(home)
        keys = Keys(home / KEYS_FILE)
        desk = Desk.open(home, environ, encoder=encoder, settings=settings)
        stack.callback(desk.close)
        store = stack.enter_context(Store.open(home / "hearth.db"))
        specs = desk.use(lambda agent: agent.tools.specs).result()
        call = desk.use(lambda agent: agent.call_context()).result()
        mail = NewMail(settings.serve.tell_mail, store, _mail_teller(settings, now))
        sync = stack.enter_context(background_sync.running(home, settings, call, desk.touch, mail))
        templates = Templates((*PAGES, ("Household", "/household")) if is_household else PAGES)
        idle = stack.enter_context(background_sync.learning_idly(home, desk, settings.serve.learn_after_s, now))
        ahead = stack.enter_context(reading_ahead(home, desk, call))
        sensed = stack.enter_context(background_sync.watching(home, environ, desk, now))
        parts = (sync, sensed, ahead, idle)
        seen = Home(
            home, store, specs, environ, now, call, lambda: tuple(one for part in parts for one in part.states), mail
        )
        page = Page(desk, seen, templates)
        phones = Phones(store)
        pusher = stack.enter_context(_pusher(home, settings, store, now))
        way = _way(home, settings, for_phones, pusher, now())
        phone_pages = PhonePages(templates, phones, now, way)
        names, address = _names(listening, settings)
        beside = _voice(desk, satellites, settings)
        is_again = threading.Event()

        def restart() -> None:
            is_again.set()
            server.should_exit = True

        settings_page = SettingsPage(desk, seen, templates, None if is_household else restart)
        of_home = (HousePages, PlanPages, MemoryPages)
        routes = [route for pages in of_home for route in pages(desk, seen, templates).routes()]
        client_tools = ClientTools()
        stack.enter_context(background_sync.letting_go(desk, client_tools))
        more = [*phone_pages.routes(), *routes, *settings_page.routes(), *OpenAi(desk, client_tools).routes()]
        application = _application(page, more, desk, home, beside)
        door = Door(application, keys, names, time.monotonic)
        page.behind(door)
        if way is not None and for_phones is not None:
            entrance = PhoneEntrance(PHONE_COOKIE, OPEN, lambda key: phones.of_key(key, now()))
            beside.append(_phone_server(application, keys, entrance, way, for_phones, home).lifespan)
        stack.enter_context(_ringing(home, settings, desk, call, pusher))
        stack.enter_context(announced(home, address))
        link = f"{address}/enter?key={keys.key}"
        voice = "{}:{}".format(*satellites.getsockname()[:2]) if satellites else ""
        server = uvicorn.Server(options_of(door))
        on_phones = way.address if way else ""
        yield House(home, address, link, door, keys, desk, listening, server, is_again, voice, on_phones, tuple(closed))


def _beside(
    stack: contextlib.ExitStack, who: str, host: str, port: int | None, key: str, closed: list[str] | None
) -> socket.socket | None:
    """Take an address beside the page, if the settings name a port under `key`; where it is taken, do without and note
    it in `closed`. Raises: ConfigError: It is taken, and there is no such list."""
    if port is None:
        return None
    try:
        return stack.enter_context(listening_at(host, port, f"`{key}` under [serve]"))
    except ConfigError as error:
        if closed is None:
            raise
        closed.append(f"{who}: {error}")
        return None


Lifespan = Callable[[object], contextlib.AbstractAsyncContextManager[None]]


def _application(page: Page, routes: list[BaseRoute], desk: Desk, home: Path, beside: list[Lifespan]) -> Starlette:
    """Join the page with what other programs speak; MCP where its package is installed.

    Args:
        routes: Of further pages and programs.
        beside: What runs while the page does; more may be added until it begins.
    """
    line = HomeLine(desk)
    routes = [*routes, *HomeApi(line).routes()]
    try:
        from hearth.serve.programs.mcp_server import McpOverHttp
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        absent = PlainTextResponse(f"{MissingExtraError('MCP', MCP_COMMAND)}\n", 501)
        routes.append(Route("/mcp", lambda _: absent, methods=["GET", "POST"]))
    else:
        mcp = McpOverHttp(home, line)
        routes += mcp.routes()
        beside.append(mcp.lifespan)

    @contextlib.asynccontextmanager
    async def lifespan(application: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for one in beside:
                await stack.enter_async_context(one(application))
            yield

    return page.application(routes, lifespan)


def _voice(desk: Desk, satellites: socket.socket | None, settings: Settings) -> list[Lifespan]:
    """What answers voice satellites, where the settings name a port for them. Raises: MissingExtraError."""
    if satellites is None:
        return []
    try:
        from hearth.serve.programs.wyoming_service import WyomingService
    except ModuleNotFoundError as error:
        if error.name != "wyoming":
            raise
        raise MissingExtraError("[serve] wyoming_port", "pip install 'hearth-agent[wyoming]'") from None
    return [WyomingService(HomeLine(desk), satellites, may_change=settings.serve.wyoming_may_change).lifespan]


def options_of(door: Application, certificate: Path | None = None, *, has_lifespan: bool = True) -> uvicorn.Config:
    """Return how everything here is served: bounded, and quiet about itself."""
    return uvicorn.Config(
        door,
        http=BoundedHttp,  # bounds a head that never ends
        h11_max_incomplete_event_size=32_768,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=2,
        ws="none",
        lifespan="auto" if has_lifespan else "off",
        ssl_certfile=certificate,
    )


# ── Phones ────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def _pusher(home: Path, settings: Settings, store: Store, now: Callable[[], dt.datetime]) -> Iterator[Pusher | None]:
    """Tell phones and an Apprise server what rings and is asked, where there are any, until the block ends.

    Raises:
        ConfigError: A file of ours is damaged.
    """
    said = settings.serve
    if said.phones_port is None and not said.apprise_url:
        yield None
        return
    egress = Egress.from_settings(settings, store, now)
    pusher = Pusher(
        Phones(store), egress, Signer(home), time.monotonic, Telling(said.phones_show_reminders, said.apprise_url)
    )
    with contextlib.closing(pusher):
        yield pusher


def _way(
    home: Path, settings: Settings, listening: socket.socket | None, pusher: Pusher | None, now: dt.datetime
) -> Way | None:
    """Return how phones come here; None: not at all. Raises: ConfigError: A file of ours is damaged."""
    if listening is None or pusher is None:
        return None
    allowed = frozenset(name.partition(":")[0].lower() for name in settings.network.allow)
    host, port = listening.getsockname()[:2]
    names = (host,) if host not in ("0.0.0.0", "::") else own_addresses(settings.serve.names)  # noqa: S104
    addresses = tuple(f"{f'[{name}]' if ':' in name else name}:{port}" for name in names or ("127.0.0.1",))
    return Way(addresses, phone_server.opened(home, now), pusher, lambda name: name.lower() in allowed)


def _phone_server(
    application: Starlette, keys: Keys, entrance: PhoneEntrance, way: Way, listening: socket.socket, home: Path
) -> PhoneServer:
    names = [address.rpartition(":")[0].strip("[]") for address in way.addresses]
    certificate = phone_server.certify(way.authority, home, names, dt.datetime.now(dt.UTC))
    door = Door(application, keys, frozenset(way.addresses), time.monotonic, entrance)
    return PhoneServer(options_of(door, certificate, has_lifespan=False), listening)


def listening_at(host: str, port: int, chosen_by: str) -> socket.socket:
    """Take an address. Raises: ConfigError: It is taken; `chosen_by` says how another is chosen."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"cannot listen at {host}:{port}: {error.strerror or error}; end the program that does, or choose "
            f"another with {chosen_by}"
        ) from None
    return listening


def _names(listening: socket.socket, settings: Settings) -> tuple[frozenset[str], str]:
    """Return the names by which a browser may ask for the page, and the page's address."""
    host, port = listening.getsockname()[:2]
    own = {f"[{host}]" if ":" in host else host, *settings.serve.names}
    if host in (*LOOPBACK, "0.0.0.0", "::"):  # noqa: S104 - compared, not listened at
        own |= {"127.0.0.1", "localhost", "[::1]"}
    names = frozenset(f"{name}:{port}".lower() for name in own) | frozenset(n.lower() for n in settings.serve.names)
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104
    return names, f"http://{shown}:{port}"


@contextlib.contextmanager
def _ringing(home: Path, settings: Settings, desk: Desk, call: CallContext, pusher: Pusher | None) -> Iterator[None]:
    """Ring reminders in a thread of its own until the block ends; phones hear of questions from it, too."""
    stopped = threading.Event()
    zone = settings.zone()

    def ring() -> None:
        while not stopped.wait(_TICK_S):
            try:
                if pusher is not None:
                    pusher.look(desk.view)
                n_dropped = ringing.n_dropped
                if ringing.tick(dt.datetime.now(zone)) or ringing.n_dropped > n_dropped:
                    desk.touch()
            except StoreError:
                continue  # a full disk, say: what did not ring rings once there is room
            except Exception as error:
                note_fault(home, error)

    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Store.open(home / "hearth.db"))
        notifiers: list[Notifier] = []
        if settings.serve.desktop:
            desktop = Aside(DesktopNotifier())
            stack.callback(desktop.close)
            notifiers.append(desktop)
        if pusher is not None:
            notifiers.append(pusher)
        look = functools.partial(_last_changed, home / "owner" / FOLDER)
        ringing = Ringing(store, call, look, notifiers, settings.serve.quiet_hours)
        thread = threading.Thread(target=ring, name="hearth-ringing")
        thread.start()
        stack.callback(thread.join)
        stack.callback(stopped.set)
        yield


def _mail_teller(settings: Settings, now: Callable[[], dt.datetime]) -> Callable[[Sequence[Letter]], None]:
    """What tells the desktop of mail that came, outside quiet hours."""
    desktop = DesktopNotifier()
    quiet = hours_in(settings.serve.quiet_hours)

    def tell(letters: Sequence[Letter]) -> None:
        if settings.serve.desktop and not is_within(quiet, now()):
            said = f"{len(letters)} new mails" if len(letters) > 1 else f"Mail from {letters[0].writer}"
            desktop.show(said, letters[-1].subject)

    return tell


def _last_changed(folder: Path) -> tuple[int, int]:
    """Return what differs once a reminder was changed: the folder's time, which a file put in place moves, and every
    some seconds anything, as other programs may write into a file where it stands."""
    with contextlib.suppress(OSError):
        return os.stat(folder).st_mtime_ns, int(time.time()) // _LOOK_EVERY_S
    return 0, 0
