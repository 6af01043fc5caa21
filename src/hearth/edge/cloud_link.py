"""Send requests to the cloud, one at a time through the egress gateway, and check every answer.

Every fault is a `LinkError` whose code says what to do with the message: `away` and the service's `busy` or `rate` are
tried again later, `size` and `shape` are never sent again as they are, `token`, `identity`, `quarantined` and
`protocol` wait until somebody acts, `closed` means that this device's own gateway kept it in. Requests are compressed
with gzip; the ledger holds them readable. Nothing here decides when to send, or what.

Covered: expired and revoked tokens, redirects (never followed: the token would go along), HTML pages instead of JSON,
answers that are too large, cut off, of another shape or about another message; `Retry-After` in seconds or as a date,
which is read against the server's own clock; a service that speaks other versions of the protocol.
Not covered: whether what a well-formed answer says is true, runnable or wise.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import email.utils
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import httpx

from hearth.errors import ConfigError, EgressError, LinkError, WireError
from hearth.formats import edge_protocol
from hearth.guard.egress.gateway import is_sending_masked
from hearth.guard.egress.transport import PACK
from hearth.protocols import Egress

MAX_ANSWER_BYTES = 2_000_000
"""Limit for any answer but a blob."""
_PACKED_FROM_BYTES = 400
_MAX_RETRY_AFTER_S = 86_400.0
_MAX_SAID = 300
"""Most characters of the service's message that are shown to the owner."""

M = TypeVar("M", bound=edge_protocol.Message)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: httpx.Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class _Message:
    """One message to the service."""

    method: str
    path: str
    reason: str
    """What it is for, as the ledger names it."""
    id: str = ""
    body: bytes = b""
    media: str = "application/json"
    with_token: bool = True

    def headers(self) -> dict[str, str]:
        headers = {"accept": "application/json", "accept-encoding": "gzip"}
        if self.id:
            headers[edge_protocol.IDEMPOTENCY_HEADER] = self.id
        if self.body:
            headers["content-type"] = self.media
        return headers


@dataclass(eq=False)
class Link:
    """A connection to one cloud; nothing is sent before something is asked. Close it to give connections back. Several
    threads may use it."""

    url: str
    """As `enrolment.checked_url` gives it."""
    egress: Egress
    token: Callable[[], str] | None = field(repr=False)
    """Reads the token; None sends none."""
    instance: str
    """This device's own name."""
    timeout_s: float = field(default=20.0, kw_only=True)
    versions: tuple[int, int] = field(default=(edge_protocol.OLDEST, edge_protocol.VERSION), kw_only=True)
    """Oldest and newest protocol spoken here."""
    notice: str = field(default="", init=False)
    """The service's notice with its last answer (`edge_protocol.NOTICE_HEADER`)."""

    def __post_init__(self) -> None:
        self.host = httpx.URL(self.url).host
        self._version = self.versions[1]
        self._clients: dict[str, httpx.Client] = {}

    def close(self) -> None:
        """Give connections back."""
        while self._clients:
            self._clients.popitem()[1].close()

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ── What can be asked ─────────────────────────────────────────────────────────────────────────────────

    def hello(self) -> edge_protocol.Hello:
        """Ask the service who it is, and settle which version of the protocol is spoken. Sends no token.

        Raises:
            LinkError: Not reached, no Hearth cloud, or no version that both speak.
        """
        newest = self.versions[1]
        for version in range(newest, self.versions[0] - 1, -1):
            self._version = version
            try:
                answer = self._sent(_Message("GET", "/v1/hello", "joining", with_token=False))
            except LinkError as error:
                if error.status == 426 and version > self.versions[0]:
                    continue
                raise
            said = self._read(edge_protocol.Hello, answer)
            spoken = min(newest, said.newest)
            if spoken < max(self.versions[0], said.oldest):
                raise self._no_version(f"it speaks {said.oldest} to {said.newest}")
            self._version = spoken
            return said
        raise AssertionError("unreachable: the last version either answers or raises")

    def tasks(self) -> edge_protocol.TasksGiven:
        """Return tasks that enough edges share. Raises: LinkError."""
        return self._read(edge_protocol.TasksGiven, self._call(_Message("GET", "/v1/tasks", "tasks")))

    def plan(self, asked: edge_protocol.PlanAsked) -> edge_protocol.PlanGiven:
        """Ask for a plan for a masked request; its cost is recorded. Raises: EgressError, LinkError: See `_post`."""
        return self.plan_of(asked.id, asked.model_dump_json().encode())

    def plan_of(self, id: str, body: bytes) -> edge_protocol.PlanGiven:
        """Like `plan`, for a message that is already serialised. Raises: EgressError, LinkError: See `_post`."""
        given = self._about(id, self._read(edge_protocol.PlanGiven, self._post("/v1/plans", "planning", id, body)))
        self.egress.spent(self.host, given.n_tokens, "cloud: planning")
        return given

    def answer(self, asked: edge_protocol.AnswerAsked) -> edge_protocol.AnswerGiven:
        """Ask a masked general question; its cost is recorded. Raises: EgressError, LinkError: See `_post`."""
        answer = self._post("/v1/answers", "answering", asked.id, asked.model_dump_json().encode())
        given = self._about(asked.id, self._read(edge_protocol.AnswerGiven, answer))
        self.egress.spent(self.host, given.n_tokens, "cloud: answering")
        return given

    def give(self, path: str, id: str, body: bytes) -> edge_protocol.Receipt:
        """Send for good (to `/v1/demonstrations`, `/v1/statistics`) and return the receipt.

        Raises:
            EgressError, LinkError: See `_post`.
        """
        reason = path.rpartition("/")[2]
        if reason == "statistics":  # sums, without words
            answer = self._call(_Message("POST", path, reason, id, body, "application/octet-stream"))
        else:
            answer = self._post(path, reason, id, body)
        return self._about(id, self._read(edge_protocol.Receipt, answer))

    def ask(self, method: str, path: str, model: type[M], *, reason: str, body: bytes = b"") -> M:
        """Send any other message of the protocol and return the answer, read as `model`. Raises: LinkError."""
        return self._read(model, self._call(_Message(method, path, reason, body=body)))

    def manifest(self, kind: str, profile: str = "") -> edge_protocol.Manifest | None:
        """Return the manifest of this kind (`prior`, `adapter`); None where there is nothing yet. Raises: LinkError.

        Args:
            profile: This device's profile, where there is an artifact for each.
        """
        path = f"/v1/{kind}?profile={profile}" if profile else f"/v1/{kind}"
        try:
            return self._read(edge_protocol.Manifest, self._call(_Message("GET", path, "fetching")))
        except LinkError as error:
            if error.status == 404:
                return None
            raise

    @contextlib.contextmanager
    def blob(self, sha256: str, start: int = 0) -> Iterator[tuple[int, Iterator[bytes]]]:
        """Open a blob and yield its chunks with their offset: `start`, or 0 where the service cannot resume.

        Raises:
            LinkError: Also while they are read.
        """
        headers = {"accept": "application/octet-stream", "accept-encoding": "identity"}
        if start:
            headers["range"] = f"bytes={start}-"
        message = _Message("GET", f"/v1/blobs/{sha256}", "fetching")
        with self._faults_said(), self._opened(message, headers) as response:
            if response.status_code == 206 and _begins_at(response.headers.get("content-range", "")) == start:
                yield start, response.iter_bytes()
            elif response.status_code == 200:
                yield 0, response.iter_bytes()
            elif response.status_code == 416:
                raise LinkError(f"{self.host!r} has fewer bytes than were fetched already", code="shape", status=416)
            else:
                raise self._turned_away(_Answer(response.status_code, response.headers, _read_up_to(response)))

    # ── Sending ───────────────────────────────────────────────────────────────────────────────────────────

    def _post(self, path: str, reason: str, id: str, body: bytes) -> _Answer:
        """Send what was made of the owner's words.

        Raises:
            EgressError: It did not come through the masking door; nothing was sent. LinkError.
        """
        if not is_sending_masked():
            raise EgressError(
                f"what {reason} would send to {self.host!r} was not masked, nothing was sent; hand its texts to "
                "guard.egress.masking_door, and send within `sending`"
            )
        return self._call(_Message("POST", path, reason, id, body))

    def _call(self, message: _Message) -> _Answer:
        """Send; where the service speaks another version, agree on one and send once more. Raises: LinkError."""
        try:
            return self._sent(message)
        except LinkError as error:
            tried = self._version
            if error.status != 426 or self.versions[0] == self.versions[1]:
                raise
            self.hello()
            if self._version == tried:
                raise
            return self._sent(message)

    def _sent(self, message: _Message) -> _Answer:
        with self._faults_said(), self._opened(message, message.headers()) as response:
            answer = _Answer(response.status_code, response.headers, _read_up_to(response))
        if not 200 <= answer.status < 300:
            raise self._turned_away(answer)
        return answer

    @contextlib.contextmanager
    def _opened(self, message: _Message, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        own = {
            edge_protocol.PROTOCOL_HEADER: str(self._version),
            edge_protocol.INSTANCE_HEADER: self.instance,
            "user-agent": "hearth",
        }
        if self.token is not None and message.with_token:
            own["authorization"] = f"Bearer {self.token()}"
        if message.reason not in self._clients:
            transport = self.egress.transport(f"cloud: {message.reason}")
            self._clients[message.reason] = httpx.Client(
                transport=transport, trust_env=False, follow_redirects=False, timeout=self.timeout_s
            )
        client = self._clients[message.reason]
        packs = len(message.body) >= _PACKED_FROM_BYTES
        request = client.build_request(
            message.method, self.url + message.path, headers={**headers, **own}, content=message.body or None,
            extensions={PACK: packs, "timeout": httpx.Timeout(self.timeout_s).as_dict()},
        )  # fmt: skip
        response = client.send(request, stream=True)
        self.notice = response.headers.get(edge_protocol.NOTICE_HEADER, "")[:60]
        try:
            yield response
        finally:
            response.close()

    @contextlib.contextmanager
    def _faults_said(self) -> Iterator[None]:
        """Turn connection faults into `LinkError`; a store that cannot record what leaves still raises StoreError."""
        try:
            yield
        except (EgressError, ConfigError) as error:  # also the token's file, the owner's file of authorities
            raise LinkError(str(error), code="closed") from None
        except httpx.HTTPError as error:
            what = " ".join(str(error).split())[:_MAX_SAID] or type(error).__name__
            raise LinkError(
                f"the cloud {self.host!r} was not reached ({what}); it is tried again", code="away"
            ) from None

    # ── Reading ───────────────────────────────────────────────────────────────────────────────────────────

    def _read(self, model: type[M], answer: _Answer) -> M:
        said = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if said not in ("application/json", ""):
            raise LinkError(
                f"{self.host!r} answered with {said[:60]!r} where JSON was expected; is it a Hearth cloud, or does a "
                "log-in page stand in between?",
                code="away",
                status=answer.status,
            )
        try:
            return edge_protocol.read(model, answer.body)
        except WireError as error:
            raise LinkError(f"{self.host!r} was not understood: {error}", code="away", status=answer.status) from None

    def _about(self, id: str, given: _Identified) -> _Identified:
        if given.id != id:
            raise LinkError(f"{self.host!r} answered about {given.id!r} when {id!r} was sent", code="away", status=200)
        return given

    def _turned_away(self, answer: _Answer) -> LinkError:
        status = answer.status
        if 300 <= status < 400:
            where = answer.headers.get("location", "")[:_MAX_SAID]
            return LinkError(
                f"{self.host!r} sends on to {where!r}; that was not followed, as the token would go along; if the "
                "service has moved, join it there: `hearth edge join`",
                code="redirect",
                status=status,
            )
        try:
            problem = edge_protocol.read(edge_protocol.Problem, answer.body)
        except WireError:
            problem = edge_protocol.Problem(code="unknown", detail="")
        if status == 426:
            return self._no_version(problem.detail)
        code = problem.code if problem.code != "unknown" else _CODES.get(status, "busy" if status >= 500 else "shape")
        said = f": {problem.detail[:_MAX_SAID]}" if problem.detail else ""
        advice = _ADVICE.get(code, "")
        return LinkError(
            f"{self.host!r} answered with status {status}{said}{f'; {advice}' if advice else ''}",
            code=code,
            status=status,
            retry_after_s=_retry_after_s(answer.headers, problem),
        )

    def _no_version(self, said: str) -> LinkError:
        oldest, newest = self.versions
        return LinkError(
            f"{self.host!r} speaks no version of the protocol that is spoken here ({oldest} to {newest})"
            f"{f': {said[:_MAX_SAID]}' if said else ''}; what waits is kept; bring the older side up to date: "
            "`pip install --upgrade hearth-agent`",
            code="protocol",
            status=426,
        )


_Identified = TypeVar("_Identified", edge_protocol.PlanGiven, edge_protocol.AnswerGiven, edge_protocol.Receipt)

_CODES = {
    400: "shape", 401: "token", 403: "token", 404: "missing", 405: "missing", 408: "busy", 409: "identity", 413: "size",
    422: "shape", 425: "busy", 429: "rate",
}  # fmt: skip
_ADVICE = {
    "token": "the token has run out or was withdrawn: ask for a new one, then `hearth edge join`; what waits is kept",
    "identity": "another device uses the same identity: each needs a token of its own, then `hearth edge join`",
    "quarantined": "the service set this device aside; ask its keeper; what waits is kept",
    "missing": "check the address; is it a Hearth cloud?",
}


def _read_up_to(response: httpx.Response) -> bytes:
    """Read the body. Raises: LinkError: It is too large."""
    parts: list[bytes] = []
    n_bytes = 0
    for chunk in response.iter_bytes():
        parts.append(chunk)
        n_bytes += len(chunk)
        if n_bytes > MAX_ANSWER_BYTES:
            raise LinkError(
                f"{response.request.url.host!r} answered with over {MAX_ANSWER_BYTES:,} bytes; the rest was not read",
                code="away",
                status=response.status_code,
            )
    return b"".join(parts)


def _retry_after_s(headers: httpx.Headers, problem: edge_protocol.Problem) -> float | None:
    """Return how long the service asks to wait; a date is counted from the service's own clock, which may be wrong."""
    said = headers.get("retry-after", "").strip()
    wait_s: float | None = problem.retry_after_s
    if said.isascii() and said.isdigit():
        wait_s = float(said[:9])
    elif said:
        until, now = _moment(said), _moment(headers.get("date", ""))
        if until is not None and now is not None:
            wait_s = (until - now).total_seconds()
    return None if wait_s is None else min(max(wait_s, 0.0), _MAX_RETRY_AFTER_S)


def _moment(text: str) -> dt.datetime | None:
    try:
        found = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)


def _begins_at(content_range: str) -> int:
    """Return the first byte of a content range such as `bytes 5-9/10`; -1 where it names none."""
    unit, _, rest = content_range.strip().partition(" ")
    first = rest.partition("-")[0]
    return int(first) if unit == "bytes" and first.isascii() and first.isdigit() and len(first) < 16 else -1
