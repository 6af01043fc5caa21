"""The checks that every request passes first: protocol version, token, the agent's own name, rate, size. Each answer
and its duration are counted and logged here, once, without content.

Order: version (426), token (401), two agents (409 where something would change), rate and requests at once (429), body
(413, 415, 408, 400) with its bytes charged to the edge's memory and day as they come (429, 503). So nobody without a
token makes this service read a body, and nobody makes it unpack more than is charged to them.

Covered: all of these, and a fault in the code behind (500; the log gets its kind and place, the client nothing). Not
covered: the other daily quotas, which the routes check once they know what is asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.errors import StoreError
from hearth.formats import edge_protocol
from hearth_cloud.cloud_settings import CloudSettings
from hearth_cloud.problems import Fault
from hearth_cloud.service.access.limits import AtOnce, Bodies, Held, Quotas
from hearth_cloud.service.access.shared_rates import RequestRates
from hearth_cloud.service.logs import Log
from hearth_cloud.service.prometheus_metrics import Numbers
from hearth_cloud.storage.access_tokens import Tokens
from hearth_cloud.storage.cloud_storage import TokenRow

_OPEN = ("/healthz", "/readyz", "/metrics", "/openapi.json")
"""Paths that anybody may request, in any version."""
_FREE = ("/v1/hello",)
"""Paths that need no token, only the right protocol version."""
_STATISTICS = "/v1/statistics"
POINTERS = "/v1/pointers"
_MOST_AT_ONCE = 1_024
"""Requests of all edges under way in this process; more are told to come again."""


@dataclass(frozen=True, slots=True)
class Passed:
    """The facts known of a request that was admitted; kept in `request.state.passed`."""

    edge: str
    """Name of the edge; empty where no token is asked for."""
    body: bytes
    is_only_agent: bool = True


@dataclass(frozen=True, slots=True)
class EntryRules:
    """What a request must keep to that is let in."""

    tokens: Tokens
    quotas: Quotas
    rates: RequestRates


@dataclass(frozen=True, slots=True)
class Books:
    """Where it is written what came of requests."""

    numbers: Numbers
    log: Log


class Gate:
    """ASGI middleware that admits or refuses requests."""

    def __init__(
        self,
        app: ASGIApp,
        settings: CloudSettings,
        rules: EntryRules,
        books: Books,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._tokens, self._quotas, rates = rules.tokens, rules.quotas, rules.rates
        self._numbers, self._log = books.numbers, books.log
        self._limits = settings.limits
        name = settings.service.sedna_service
        self._tokenless = (f"/{name}", f"/{name}/predict") if name else ()
        if settings.service.pointers:
            self._tokenless = (*self._tokenless, POINTERS)
        self._monotonic = monotonic
        self._edges, self._strangers = rates.edges, rates.strangers
        self._at_once = AtOnce(self._limits.at_once, _MOST_AT_ONCE, "requests")
        self._bodies = Bodies(
            rules.quotas, max(self._limits.statistics_bytes, self._limits.body_bytes), self._limits.body_s
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = self._monotonic()
        answer = _Answer(send)
        try:
            passed = await self._let_in(scope, receive, answer)
            if passed is None:
                return  # the client has left
            answer.are_two = not passed.is_only_agent
            scope.setdefault("state", {})["passed"] = passed
            await self._app(scope, _once(passed.body, receive), answer.send)
        except Fault as fault:
            self._numbers.problems.labels(fault.code).inc()
            await _say(fault, scope, receive, answer)
        except StoreError as error:
            self._log.failed("store", error)
            await _say(
                Fault(503, "busy", "the service's database is busy; ask again later", 2.0), scope, receive, answer
            )
        except Exception as error:
            self._log.failed("request", error)
            await _say(
                Fault(500, "fault", "a fault of the service; its keeper finds it in the log"), scope, receive, answer
            )
        finally:
            if answer.held is not None:
                answer.held.leave()
            if answer.counted:
                self._at_once.leave(answer.counted)
            self._tell(scope, answer, began)

    async def _let_in(self, scope: Scope, receive: Receive, answer: _Answer) -> Passed | None:
        """Check a request and admit it; who sent it stands in `answer`, also where it is refused. Raises: Fault."""
        path, headers = scope["path"], Headers(scope=scope)
        if path in _OPEN:
            return Passed("", b"")
        if path in self._tokenless:
            await self._strangers.take(_address(scope))
            self._count(f"address {_address(scope)}", answer)
            body = await self._body(path, headers, receive, answer)
            return None if body is None else Passed("", body)
        _check_version(headers)
        if path in _FREE:
            await self._strangers.take(_address(scope))
            return Passed("", b"")
        token = await self._token(headers, scope)
        answer.edge = token.edge
        only = await self._is_only_agent(token.id, headers)
        if not only:
            self._numbers.two_agents.inc()
        await self._edges.take(token.edge)
        self._count(f"edge {token.edge}", answer)
        body = await self._body(path, headers, receive, answer)
        return None if body is None else Passed(token.edge, body, only)

    async def _token(self, headers: Headers, scope: Scope) -> TokenRow:
        """Check the token of a request. Raises: Fault: 401; 429 where too many of these come from one address."""
        authorization = headers.get("authorization", "")
        try:
            found = self._tokens.known(authorization)
            return found if found is not None else await run_in_threadpool(self._tokens.check, authorization)
        except Fault:
            await self._strangers.take(_address(scope))
            raise

    async def _is_only_agent(self, token: str, headers: Headers) -> bool:
        """Say whether only one agent uses the token. Raises: Fault: 400: The agent's name is not valid."""
        instance = headers.get(edge_protocol.INSTANCE_HEADER, "")
        if not instance:
            return True
        if not edge_protocol.is_id(instance):
            raise Fault(
                400,
                "shape",
                f"{edge_protocol.INSTANCE_HEADER} is no name; expected up to 100 of A-Z, a-z, 0-9, . _ : -",
            )
        same = self._tokens.is_same_agent(token, instance)
        return same if same is not None else await run_in_threadpool(self._tokens.note, token, instance)

    def _count(self, name: str, answer: _Answer) -> None:
        self._at_once.enter(name)
        answer.counted = name

    async def _body(self, path: str, headers: Headers, receive: Receive, answer: _Answer) -> bytes | None:
        limits = self._limits
        most = limits.statistics_bytes if path.startswith(_STATISTICS) else limits.body_bytes
        answer.held = self._bodies.held(answer.edge)
        body = await self._bodies.read(receive, headers, most, answer.held)
        self._numbers.received.inc(len(body or b""))
        return body

    def _tell(self, scope: Scope, answer: _Answer, began: float) -> None:
        route = getattr(scope.get("route"), "path", "")
        label = route or (scope["path"] if scope["path"] in (*_OPEN, *_FREE, *self._tokenless) else "other")
        seconds = self._monotonic() - began
        self._numbers.requests.labels(label, answer.status).inc()
        self._numbers.seconds.labels(label).observe(seconds)
        self._log.event(
            "request",
            method=scope["method"] if scope["method"] in _METHODS else "other",
            route=label,
            status=answer.status,
            ms=round(seconds * 1000, 1),
            edge=answer.edge,
            sent_bytes=answer.n_bytes,
        )


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class _Answer:
    """Passes the response on, and notes its status and size, and what the request holds until it is over."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.n_bytes = 0
        self.are_two = False
        self.edge = ""
        self.counted = ""
        self.held: Held | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.are_two:
                MutableHeaders(scope=message)[edge_protocol.NOTICE_HEADER] = "two-agents"
        elif message["type"] == "http.response.body":
            self.n_bytes += len(message.get("body", b""))
        await self._send(message)


async def _say(fault: Fault, scope: Scope, receive: Receive, answer: _Answer) -> None:
    if not answer.status:  # otherwise a response has begun, and the connection is cut
        await fault.response()(scope, receive, answer.send)


def _once(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body that was read already, then whatever comes."""
    left: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return again


def _check_version(headers: Headers) -> None:
    """Check the protocol version. Raises: Fault: 426."""
    said = headers.get(edge_protocol.PROTOCOL_HEADER, "")
    if not (
        said.isascii()
        and said.isdigit()
        and len(said) < 6
        and edge_protocol.OLDEST <= int(said) <= edge_protocol.VERSION
    ):
        spoken = (
            f"{edge_protocol.OLDEST}"
            if edge_protocol.OLDEST == edge_protocol.VERSION
            else f"{edge_protocol.OLDEST} to {edge_protocol.VERSION}"
        )
        raise Fault(
            426,
            "protocol",
            f"{edge_protocol.PROTOCOL_HEADER} is missing or no version spoken here; expected {spoken}; bring the older "
            "side up to date: `pip install --upgrade hearth-agent`",
        )


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def passed(request: Request) -> Passed:
    """Return what admission found out about a request."""
    found = request.state.passed
    assert isinstance(found, Passed)
    return found


def check_only_agent(request: Request) -> None:
    """Refuse a change while two agents use one token. Raises: Fault: 409: Two agents use this token."""
    if not passed(request).is_only_agent:
        raise Fault(
            409,
            "identity",
            "two agents use this token by turns, so nothing of either is taken; give each a token of its own: "
            "`hearth cloud token new NAME`, and `--replace` for this one",
        )
