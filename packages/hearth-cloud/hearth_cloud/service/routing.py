"""Shared parts of all routes: the running service's components, reading a request and answering it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from hearth.errors import WireError
from hearth.formats import edge_protocol
from hearth.formats.edge_protocol import AnswerAsked, AnswerGiven, PlanGiven, Problem
from hearth_cloud.cloud_settings import CloudSettings
from hearth_cloud.problems import JSON, Fault
from hearth_cloud.service.access.admission import passed
from hearth_cloud.service.access.limits import Quotas
from hearth_cloud.service.logs import Log
from hearth_cloud.service.prometheus_metrics import Numbers
from hearth_cloud.service.spool import Spool
from hearth_cloud.service.teaching_queue import Answers, Asked, Planning, Queue, Toolsets
from hearth_cloud.statistics.signing import public_key_of
from hearth_cloud.storage.cloud_storage import Storage

_LONG_BYTES = 32_000
"""Messages from here on are read in a thread: one of two megabytes takes some 20 ms."""


@dataclass(frozen=True)
class Cloud:
    """The components of a running service; kept in `request.app.state.cloud`."""

    settings: CloudSettings
    storage: Storage
    key: Ed25519PrivateKey
    """Key that signs priors."""
    numbers: Numbers
    log: Log
    quotas: Quotas
    toolsets: Toolsets
    kept: Answers
    teacher: Planning | None
    plans: Queue[Asked, PlanGiven] | None
    answers: Queue[AnswerAsked, AnswerGiven | None] | None
    spool: Spool
    monotonic: Callable[[], float]
    """Seconds from any origin."""

    @property
    def public_key(self) -> str:
        """Public key, as edges keep it: Base64 of 32 bytes."""
        return public_key_of(self.key)


def cloud_of(request: Request) -> Cloud:
    """Return the components of the service that a request came to."""
    found = request.app.state.cloud
    assert isinstance(found, Cloud)
    return found


PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem, "description": text}
    for code, text in {
        400: "Not what it says it is",
        401: "No token that holds",
        409: "Contradicts what was sent before",
        413: "Too large",
        422: "Of another shape",
        426: "Another version of the protocol",
        429: "Too much, for now or today",
        503: "Busy",
    }.items()
}


def takes(model: type[edge_protocol.Message]) -> dict[str, Any]:
    """Describe, for the OpenAPI schema, a body that the route reads itself."""
    return {"requestBody": {"required": True, "content": {JSON: {"schema": model.model_json_schema()}}}}


def headers(*more: str) -> list[dict[str, Any]]:
    version: dict[str, Any] = {"type": "integer", "minimum": edge_protocol.OLDEST, "maximum": edge_protocol.VERSION}
    found = [{"name": edge_protocol.PROTOCOL_HEADER, "in": "header", "required": True, "schema": version}]
    return found + [{"name": name, "in": "header", "required": False, "schema": {"type": "string"}} for name in more]


def profile_of(request: Request) -> edge_protocol.Profile:
    """Return the device profile that a request names; the largest by default. Raises: Fault: 422."""
    said = request.query_params.get("profile", "large")
    for profile in get_args(edge_protocol.Profile):
        if said == profile:
            found: edge_protocol.Profile = profile
            return found
    raise Fault(
        422, "shape", f"{said[:40]!r} is no profile; expected one of {', '.join(get_args(edge_protocol.Profile))}"
    )


def told(message: edge_protocol.Message) -> Response:
    return Response(message.model_dump_json(), media_type=JSON)


async def read(request: Request, model: type[edge_protocol.M]) -> edge_protocol.M:
    """Read the message that a request carries, a long one in a thread. Raises: Fault: 415, 422."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise Fault(415, "shape", f"Content-Type is not {JSON}; send JSON, and say so")
    try:
        body = passed(request).body
        if len(body) > _LONG_BYTES:
            return await run_in_threadpool(edge_protocol.read, model, body)
        return edge_protocol.read(model, body)
    except WireError as error:
        raise Fault(422, "shape", str(error)) from None


def key_of(request: Request, id: str) -> str:
    """Return the key under which a message takes effect only once: its header, or else its own id. Raises: Fault:
    400."""
    key = request.headers.get(edge_protocol.IDEMPOTENCY_HEADER, id)
    if not edge_protocol.is_id(key):
        raise Fault(
            400, "shape", f"{edge_protocol.IDEMPOTENCY_HEADER} is no id; expected up to 100 of A-Z, a-z, 0-9, . _ : -"
        )
    return key
