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
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hearth import config
from hearth.config import Settings
from hearth.errors import ConfigError, MissingExtraError, StoreError
from hearth.permissions import make_private
from hearth.protocols import CallContext, Encoder
from hearth.serve.desk import Desk
from hearth.serve.door import KEYS_FILE, Door, Keys
from hearth.serve.page import Home, Page
from hearth.serve.programs.home_api import HomeApi, HomeLine
from hearth.serve.programs.home_link import announced
from hearth.serve.programs.openai_api import OpenAi
from hearth.serve.ringing import Aside, DesktopNotifier, Ringing
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
    desk: Desk
    listening: socket.socket
    server: uvicorn.Server
    voice: str = ""
    """Where voice satellites are answered: `127.0.0.1:10500`; empty: nowhere."""

    def serve(self) -> None:
        """Serve until the process, or `stop`, tells it to end. Raises: KeyboardInterrupt."""
        self.server.run(sockets=[self.listening])

    def stop(self) -> None:
        """End `serve`, from another thread."""
        self.server.should_exit = True


@contextlib.contextmanager
def opened(
    home: Path,
    environ: Mapping[str, str],
    *,
    host: str = "",
    port: int | None = None,
    encoder: Encoder | None = None,
) -> Iterator[House]:
    """Open a home's agent with its page and its ring; both end with the block.

    Args:
        host, port: Instead of those in the settings.
        encoder: The shipped one by default.
    Raises:
        ConfigError: The address is taken or is none; no home there. HomeBusyError: Another process has it.
    """
    settings = config.read_settings(home / "hearth.toml")
    zone = settings.zone()
    now = functools.partial(dt.datetime.now, zone)
    with contextlib.ExitStack() as stack:
        wanted = settings.serve.port if port is None else port
        listening = stack.enter_context(_listening(host or settings.serve.host, wanted, "--port (0 takes a free one)"))
        satellites = stack.enter_context(_for_satellites(settings))
        make_private(home)
        keys = Keys(home / KEYS_FILE)
        desk = Desk.open(home, environ, encoder=encoder)
        stack.callback(desk.close)
        store = stack.enter_context(Store.open(home / "hearth.db"))
        specs = desk.use(lambda agent: agent.tools.specs).result()
        call = desk.use(lambda agent: agent.call_context()).result()
        page = Page(desk, Home(home, store, specs, environ, now, call))
        names, address = _names(listening, settings)
        application = _application(page, desk, home, _voice(desk, satellites, settings))
        door = Door(application, keys, names, time.monotonic)
        page.behind(door)
        stack.enter_context(_ringing(home, settings, desk, call))
        stack.enter_context(announced(home, address))
        link = f"{address}/enter?key={keys.key}"
        voice = "{}:{}".format(*satellites.getsockname()[:2]) if satellites else ""
        yield House(home, address, link, door, desk, listening, uvicorn.Server(_options(door)), voice)


Lifespan = Callable[[object], contextlib.AbstractAsyncContextManager[None]]


def _application(page: Page, desk: Desk, home: Path, beside: list[Lifespan]) -> Starlette:
    """Join the page with what other programs speak; MCP where its package is installed.

    Args:
        beside: What runs while the page does.
    """
    line = HomeLine(desk)
    routes = [*OpenAi(desk).routes(), *HomeApi(line).routes()]
    try:
        from hearth.serve.programs.mcp_server import McpOverHttp
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        routes.append(Route("/mcp", _no_mcp, methods=["GET", "POST"]))
    else:
        mcp = McpOverHttp(home, line)
        routes += mcp.routes()
        beside = [*beside, mcp.lifespan]

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


async def _no_mcp(request: Request) -> Response:  # noqa: ARG001 - every route is handed the request
    return PlainTextResponse(f"{MissingExtraError('MCP', MCP_COMMAND)}\n", 501)


def _options(door: Door) -> uvicorn.Config:
    return uvicorn.Config(
        door,
        http="h11",  # bounds a head that never ends
        h11_max_incomplete_event_size=32_768,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=2,
        ws="none",
    )


def _listening(host: str, port: int, chosen_by: str) -> socket.socket:
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


@contextlib.contextmanager
def _for_satellites(settings: Settings) -> Iterator[socket.socket | None]:
    if settings.serve.wyoming_port is None:
        yield None
        return
    host, port = settings.serve.wyoming_host, settings.serve.wyoming_port
    with _listening(host, port, "`wyoming_port` under [serve]") as listening:
        yield listening


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
def _ringing(home: Path, settings: Settings, desk: Desk, call: CallContext) -> Iterator[None]:
    """Ring reminders in a thread of its own until the block ends."""
    stopped = threading.Event()
    zone = settings.zone()

    def ring() -> None:
        while not stopped.wait(_TICK_S):
            try:
                n_dropped = ringing.n_dropped
                if ringing.tick(dt.datetime.now(zone)) or ringing.n_dropped > n_dropped:
                    desk.touch()
            except StoreError:
                continue  # a full disk, say: what did not ring rings once there is room
            except Exception as error:
                note_fault(home, error)

    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Store.open(home / "hearth.db"))
        notifiers = [Aside(DesktopNotifier())] if settings.serve.desktop else []
        for notifier in notifiers:
            stack.callback(notifier.close)
        look = functools.partial(_last_changed, home / "owner" / FOLDER)
        ringing = Ringing(store, call, look, notifiers, settings.serve.quiet_hours)
        thread = threading.Thread(target=ring, name="hearth-ringing")
        thread.start()
        stack.callback(thread.join)
        stack.callback(stopped.set)
        yield


def _last_changed(folder: Path) -> tuple[int, int]:
    """Return what differs once a reminder was changed: the folder's time, which a file put in place moves, and every
    some seconds anything, as other programs may write into a file where it stands."""
    with contextlib.suppress(OSError):
        return os.stat(folder).st_mtime_ns, int(time.time()) // _LOOK_EVERY_S
    return 0, 0
