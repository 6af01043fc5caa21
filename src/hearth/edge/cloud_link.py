"""The link to the joined cloud: one request at a time with its answer checked, and signed downloads."""

from __future__ import annotations

import contextlib
import datetime as dt
import email.utils
import errno
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

import httpx

from hearth.atomic_files import sync_folder
from hearth.errors import ConfigError, EgressError, LinkError, StoreFullError, WireError
from hearth.formats import edge_protocol
from hearth.guard.egress.gateway import is_sending_masked
from hearth.guard.egress.transport import PACK
from hearth.protocols import Egress
from hearth.storage.database import Store

# ── Cloud link ────────────────────────────────────────────────────────────────────────────────────────────
# Send requests to the cloud, one at a time through the egress gateway, and check every answer.
#
# Every fault is a `LinkError` whose code says what to do with the message: `away` and the service's `busy` or `rate`
# are tried again later, `size` and `shape` are never sent again as they are, `token`, `identity`, `quarantined` and
# `protocol` wait until somebody acts, `closed` means that this device's own gateway kept it in. Requests are
# compressed with gzip; the ledger holds them readable. Nothing here decides when to send, or what.
#
# Covered: expired and revoked tokens, redirects (never followed: the token would go along), HTML pages instead of
# JSON, answers that are too large, cut off, of another shape or about another message; `Retry-After` in seconds or as
# a date, which is read against the server's own clock; a service that speaks other versions of the protocol. Not
# covered: whether what a well-formed answer says is true, runnable or wise.

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


# ── Artifact fetch ────────────────────────────────────────────────────────────────────────────────────────
# Fetch what the cloud offers by its hash, and accept it only when signed by the key this device joined with.
#
# A manifest says what there is (`prior`, `adapter`); the bytes come from `/v1/blobs/SHA256`, and a broken download is
# resumed. They lie under `edge/taken/` of the home and are applied only by the owner's `hearth learn prior` and
# `hearth adapters take`, behind their gate; nothing is ever pushed.
#
# Covered: another size, another hash, another signature, a manifest that is older than one taken before (even a
# signed one: a replay), a kill at any moment (a half file is resumed or thrown away), a full disk, more bytes than
# announced, a file changed after it was taken (`taken` checks its hash again), a device whose profile has changed
# (priors of other features are numbered apart). Not covered: whether what was signed is any good, which the gate
# decides; whether it fits this device's features, which `learn` decides.

TakenKind = Literal["prior", "adapter"]
MAX_BYTES: Mapping[TakenKind, int] = {"prior": 2_000_000_000, "adapter": edge_protocol.MAX_ADAPTER_BYTES}
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Taken:
    """Something of the cloud's that lies here, whole and signed."""

    path: Path
    manifest: edge_protocol.Manifest


def taken(store: Store, home: Path, kind: TakenKind) -> Taken | None:
    """Return the last artifact fetched of this kind, its hash and signature checked again; None where there is none.

    Raises:
        WireError: It is not what was fetched: changed, cut off or gone.
    """
    rows = store.query("SELECT manifest_json, public_key FROM edge_taken, edge_link WHERE edge_taken.kind = ?", (kind,))
    if not rows:
        return None
    manifest = edge_protocol.read(edge_protocol.Manifest, str(rows[0]["manifest_json"]).encode())
    manifest.check(rows[0]["public_key"])
    path = artifact_folder(home) / manifest.sha256
    if not _is_whole(path, manifest):
        raise WireError(f"the {kind} in {str(path)!r} is not what was fetched; fetch it again with `hearth edge sync`")
    return Taken(path, manifest)


@dataclass(frozen=True, slots=True)
class Wanted:
    """An artifact that is to be fetched."""

    kind: TakenKind
    profile: str = ""
    """This device's profile; the service chooses when left out."""
    most_bytes: int | None = None
    """Larger ones are not taken; `MAX_BYTES` where left out."""


def fetch(
    link: Link, store: Store, home: Path, wanted: Wanted, public_key: str, clock: Callable[[], dt.datetime]
) -> Taken | None:
    """Fetch the cloud's artifact of this kind if it is newer than the one here; None where the cloud has none.

    Called again after an interruption, it resumes where it stopped.

    Raises:
        LinkError: Not reached, or cut off. WireError: Not signed, older than before, or not the bytes that were
            announced; what lies here stays. StoreFullError: No space; what lies here stays.
    """
    kind = wanted.kind
    manifest = link.manifest(kind, wanted.profile)
    if manifest is None:
        return None
    manifest.check(public_key)
    if manifest.kind != kind:
        raise WireError(f"asked for was: {kind}, offered was: {manifest.kind}; nothing was taken")
    before = store.query("SELECT serial, sha256, manifest_json FROM edge_taken WHERE kind = ?", (kind,))
    known = (before[0]["serial"], before[0]["sha256"]) if before else (-1, "")
    if (
        before
        and edge_protocol.read(edge_protocol.Manifest, str(before[0]["manifest_json"]).encode()).fingerprint
        != manifest.fingerprint
    ):
        known = (-1, "")  # numbered apart: this device's profile has changed
    if (manifest.serial, manifest.sha256) != known and manifest.serial <= known[0]:
        raise WireError(
            f"the {kind} offered has the number {manifest.serial}, and number {known[0]} was taken before; an older "
            "one is not taken; ask the service's keeper"
        )
    most_bytes = MAX_BYTES[kind] if wanted.most_bytes is None else wanted.most_bytes
    if manifest.n_bytes > most_bytes:
        raise WireError(f"the {kind} has {manifest.n_bytes:,} bytes, at most {most_bytes:,} are taken; it stays there")
    path = artifact_folder(home) / manifest.sha256
    if not _is_whole(path, manifest):
        _download(link, manifest, path)
    at = clock().isoformat(timespec="seconds")
    with store.transaction() as cursor:
        cursor.execute(
            "INSERT OR REPLACE INTO edge_taken (kind, serial, sha256, manifest_json, at) VALUES (?, ?, ?, ?, ?)",
            (kind, manifest.serial, manifest.sha256, manifest.model_dump_json(), at),
        )
    _sweep(store, home)
    return Taken(path, manifest)


def artifact_folder(home: Path) -> Path:
    """Return the folder of fetched artifacts."""
    return home / "edge" / "taken"


def _download(link: Link, manifest: edge_protocol.Manifest, path: Path) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        have = part.stat().st_size if part.exists() else 0
        if have > manifest.n_bytes:
            part.unlink()
            have = 0
        if have < manifest.n_bytes:
            _carry_on(link, manifest, part, have)
        if not _is_whole(part, manifest):
            part.unlink(missing_ok=True)
            raise WireError(
                f"the bytes of the {manifest.kind} are not those its manifest says (SHA-256 {manifest.sha256[:12]}…); "
                "they were thrown away; try again, and ask the service's keeper if it stays so"
            )
        part.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFullError(
                f"no space left for the {manifest.kind} ({manifest.n_bytes:,} bytes) in {str(path.parent)!r}; what was "
                "there stays; make room and try again"
            ) from None
        raise StoreFullError(f"cannot write {str(part)!r}: {error.strerror}; what was there stays") from None


def _carry_on(link: Link, manifest: edge_protocol.Manifest, part: Path, have: int) -> None:
    """Fetch the bytes that are missing. Raises: LinkError: Cut off; what came is kept."""
    try:
        with link.blob(manifest.sha256, have) as (start, chunks), open(part, "ab" if start else "wb") as file:
            n_bytes = start
            try:
                for chunk in chunks:
                    n_bytes += len(chunk)
                    if n_bytes > manifest.n_bytes:
                        raise WireError(
                            f"more bytes came than the {manifest.kind}'s manifest says ({manifest.n_bytes:,}); the "
                            "rest was not read"
                        )
                    file.write(chunk)
            finally:
                file.flush()
                os.fsync(file.fileno())
    except LinkError as error:
        if error.status == 416:
            part.unlink(missing_ok=True)
        raise
    except WireError:
        part.unlink(missing_ok=True)
        raise
    if n_bytes < manifest.n_bytes:
        raise LinkError(
            f"the {manifest.kind} was cut off after {n_bytes:,} of {manifest.n_bytes:,} bytes; it is carried on next "
            "time",
            code="away",
        )


def _is_whole(path: Path, manifest: edge_protocol.Manifest) -> bool:
    """Say whether a file has the announced size and hash."""
    try:
        if path.stat().st_size != manifest.n_bytes:
            return False
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
    except FileNotFoundError:
        return False
    return digest.hexdigest() == manifest.sha256


def _sweep(store: Store, home: Path) -> None:
    """Remove files that the database no longer names."""
    named = {row[0] for row in store.query("SELECT sha256 FROM edge_taken")}
    for path in artifact_folder(home).iterdir():
        if path.name.removesuffix(".part") not in named:
            path.unlink(missing_ok=True)
