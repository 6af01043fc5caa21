"""A cloud in memory that keeps the protocol, and breaks it where a test says so; a door that leads to it alone."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import gzip
import hashlib
import json
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hearth.formats import edge_protocol
from hearth.protocols import Cause

TOKEN = "hearth_small-cloud-token"
URL = "http://127.0.0.1:8420"
AWAY = "away"
LOST = "lost"
"""Faults: no connection; an effect whose answer is lost."""
Fault = str | httpx.Response | Callable[[httpx.Response], httpx.Response]


class SmallCloud:
    """Takes demonstrations once each, in order; `faults` are used up by the next requests, one each."""

    def __init__(self, oldest: int = edge_protocol.OLDEST, newest: int = edge_protocol.VERSION) -> None:
        self.key = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
        self.oldest, self.newest = oldest, newest
        self.requests: list[httpx.Request] = []
        self.bodies: list[dict[str, Any]] = []
        self.taken: dict[str, dict[str, Any]] = {}
        """Demonstrations by id, in the order they came."""
        self.n_taken = 0
        """How often one had its effect."""
        self.breaks_on: set[str] = set()
        """Texts: a request that holds one is answered with 500."""
        self.turns_away: dict[str, str] = {}
        """Text → why a demonstration that holds it is refused."""
        self.most_bytes = 1_000_000
        self.faults: list[Fault] = []
        self.plans: list[dict[str, Any]] = []
        """Of the next plans: `PlanGiven` without its id."""
        self.knows_tools: set[str] = set()
        self.manifests: dict[str, edge_protocol.Manifest] = {}
        self.blobs: dict[str, bytes] = {}
        self.resumes = True

    @property
    def public_key(self) -> str:
        raw = self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return base64.b64encode(raw).decode()

    def offer(self, kind: str, data: bytes, serial: int = 1, **changes: Any) -> edge_protocol.Manifest:
        """Offer bytes as the newest of a kind, signed; `changes` come after the signature."""
        sha256 = hashlib.sha256(data).hexdigest()
        made = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
        said = {
            "kind": kind,
            "sha256": sha256,
            "n_bytes": len(data),
            "fingerprint": "f",
            "serial": serial,
            "made": made,
        }
        manifest = edge_protocol.Manifest.model_validate(said).signed(self.key).model_copy(update=changes)
        self.manifests[kind], self.blobs[manifest.sha256] = manifest, data
        return manifest

    # ── Answering ─────────────────────────────────────────────────────────────────────────────────────────

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        fault = self.faults.pop(0) if self.faults else None
        if fault == AWAY:
            raise httpx.ConnectError("connection refused")
        if isinstance(fault, httpx.Response):
            return fault
        answer = self._answer(request)
        if fault == LOST:
            raise httpx.ReadError("the connection was cut")
        return fault(answer) if callable(fault) else answer

    def _answer(self, request: httpx.Request) -> httpx.Response:
        said = int(request.headers.get(edge_protocol.PROTOCOL_HEADER, "0"))
        if not self.oldest <= said <= self.newest:
            return problem(426, "protocol", f"{self.oldest} to {self.newest} are spoken here")
        path = request.url.path
        if path == "/v1/hello":
            assert "authorization" not in request.headers, "the token was sent before the key was agreed to"
            return told(
                edge_protocol.Hello(
                    server="small cloud", oldest=self.oldest, newest=self.newest, public_key=self.public_key,
                    features=("plans", "demonstrations"),
                )
            )  # fmt: skip
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return problem(401, "token", "this token is not known, or has run out")
        if path == "/v1/tasks":
            return told(edge_protocol.TasksGiven(tasks=(), k=3))
        if path.startswith("/v1/blobs/"):
            return self._blob(request, path.rpartition("/")[2])
        if request.method == "GET":
            manifest = self.manifests.get(path.rpartition("/")[2])
            return told(manifest) if manifest else problem(404, "missing", "nothing yet")
        return self._take(request, path)

    def _take(self, request: httpx.Request, path: str) -> httpx.Response:
        raw = request.content
        if request.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        if len(raw) > self.most_bytes:
            return problem(413, "size", f"at most {self.most_bytes} bytes")
        if any(text in raw.decode() for text in self.breaks_on):
            return problem(500, "fault", "a fault of the service")
        if path == "/v1/statistics":
            id = request.headers[edge_protocol.IDEMPOTENCY_HEADER]
            self.taken[id] = {"sums": raw}
            return told(edge_protocol.Receipt(id=id, accepted=(id,)))
        body = json.loads(raw)
        self.bodies.append(body)
        assert request.headers[edge_protocol.IDEMPOTENCY_HEADER] == body["id"]
        if path == "/v1/plans":
            return self._plan(body)
        accepted, known, refused = [], [], []
        for line in body["demonstrations"]:
            why = next((why for text, why in self.turns_away.items() if text in json.dumps(line)), "")
            if line["id"] in self.taken:
                known.append(line["id"])
            elif why:
                refused.append(edge_protocol.Turned(id=line["id"], reason=why))
            else:
                self.taken[line["id"]] = line
                self.n_taken += 1
                accepted.append(line["id"])
        return told(
            edge_protocol.Receipt(id=body["id"], accepted=tuple(accepted), known=tuple(known), refused=tuple(refused))
        )

    def _plan(self, body: dict[str, Any]) -> httpx.Response:
        if body["tools"]:
            self.knows_tools.add(edge_protocol.tools_hash(body["tools"]))
        elif body.get("tools_sha256") not in self.knows_tools:
            return problem(409, "tools", "not known here")
        given = self.plans.pop(0) if self.plans else {"refusal": {"kind": "out_of_scope", "reason": "nothing known"}}
        return told(edge_protocol.PlanGiven.model_validate({"id": body["id"], **given}))

    def _blob(self, request: httpx.Request, sha256: str) -> httpx.Response:
        data = self.blobs[sha256]
        wanted = request.headers.get("range", "")
        start = int(wanted.removeprefix("bytes=").removesuffix("-") or 0)
        if not start or not self.resumes:
            return httpx.Response(200, content=data)
        headers = {"content-range": f"bytes {start}-{len(data) - 1}/{len(data)}"}
        return httpx.Response(206, content=data[start:], headers=headers)


class DoorTo:
    """A `protocols.Egress` that leads to one cloud, and keeps what was spent."""

    def __init__(self, cloud: SmallCloud) -> None:
        self.cloud = cloud
        self.spent_tokens: list[int] = []

    def transport(self, reason: str, *, is_web: bool = False) -> httpx.BaseTransport:
        return httpx.MockTransport(self.cloud.handle)

    @contextlib.contextmanager
    def permit(self, host: str, port: int, reason: str) -> Iterator[None]:
        yield

    def record(self, host: str, payload: bytes, reason: str, *, tls: str = "") -> None: ...

    def tls(self, host: str) -> ssl.SSLContext:
        raise NotImplementedError

    def spent(self, host: str, n_tokens: int, reason: str) -> None:
        self.spent_tokens.append(n_tokens)

    def on_behalf(self, cause: Cause) -> DoorTo:
        return self


def told(message: edge_protocol.Message) -> httpx.Response:
    return httpx.Response(200, content=message.model_dump_json().encode(), headers={"content-type": "application/json"})


def problem(status: int, code: str, detail: str, **headers: str) -> httpx.Response:
    body = edge_protocol.Problem(code=code, detail=detail).model_dump_json().encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, content=body, headers={"content-type": "application/json", **named})
