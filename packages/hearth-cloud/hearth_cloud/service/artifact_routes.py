"""`/v1/adapter` and `/v1/blobs`: the artifacts on offer, and their bytes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import get_args

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from hearth.formats import edge_protocol
from hearth.formats.edge_protocol import Manifest, Problem, Profile
from hearth_cloud.problems import JSON, Fault
from hearth_cloud.service.access.admission import passed
from hearth_cloud.service.routing import PROBLEMS, Cloud, cloud_of, headers, profile_of
from hearth_cloud.statistics import artifacts

_PIECE_BYTES = 262_144
"""Bytes of a blob in memory for each reader."""
_RANGE = re.compile(r"bytes=(\d{1,15})-(\d{0,15})")


def router() -> APIRouter:
    """Build the router for `service.create_app`."""
    routes = APIRouter(prefix="/v1", responses=PROBLEMS)
    profile = {"name": "profile", "in": "query", "required": False, "schema": {"enum": list(get_args(Profile))}}

    @routes.get(
        "/adapter",
        response_model=Manifest,
        responses={404: {"model": Problem}},
        openapi_extra={"parameters": [*headers(edge_protocol.INSTANCE_HEADER), profile]},
    )
    async def adapter(request: Request) -> Response:
        """Return the newest adapter for a device profile, signed; its bytes are at `/v1/blobs/SHA256`."""
        storage = cloud_of(request).storage
        found = await run_in_threadpool(artifacts.newest, storage, "adapter", profile_of(request))
        if found is None:
            raise Fault(404, "no_adapter", "no adapter is offered for that profile")
        return Response(found, media_type=JSON)

    @routes.get(
        "/blobs/{sha256}",
        response_class=Response,
        responses={206: {"description": "A part of it"}, 404: {"model": Problem}, 416: {"model": Problem}},
        openapi_extra={"parameters": headers(edge_protocol.INSTANCE_HEADER, "Range")},
    )
    async def blobs(request: Request, sha256: str) -> Response:
        """Return bytes by their hash; a `Range` resumes a download that was cut off."""
        return await blob(cloud_of(request), passed(request).edge, sha256, request.headers.get("range", ""))

    return routes


async def blob(cloud: Cloud, edge: str, sha256: str, wanted: str) -> Response:
    """Return what is offered under a hash, or the wanted range of it; a malformed `Range` is ignored.

    Raises:
        Fault: 404: Nothing of that hash is offered, also where it is stored; 416; 429: Enough was sent today.
    """
    storage = cloud.storage
    is_hash = re.fullmatch(r"[0-9a-f]{64}", sha256)
    size = await run_in_threadpool(artifacts.offered_bytes, storage, sha256) if is_hash else None
    if size is None:
        raise Fault(404, "missing", "nothing of that hash is offered here, or no more; ask for the newest manifest")
    headers = {"accept-ranges": "bytes", "etag": f'"{sha256}"', "cache-control": "private, immutable"}
    match = _RANGE.fullmatch(wanted.replace(" ", ""))
    first, last = (int(match[1]), min(int(match[2] or size), size - 1)) if match else (0, size - 1)
    if match and (first >= size or last < first):
        fault = Fault(416, "range", f"it has {size:,} bytes; ask for a part of these").response()
        fault.headers["content-range"] = f"bytes */{size}"
        return fault
    if match:
        headers["content-range"] = f"bytes {first}-{last}/{size}"
    headers["content-length"] = str(last + 1 - first)
    await cloud.quotas.take(edge, "sent_bytes", min(_PIECE_BYTES, last + 1 - first))
    pieces = _pieces(cloud, edge, sha256, first, last)
    return StreamingResponse(pieces, 206 if match else 200, headers, "application/octet-stream")


async def _pieces(cloud: Cloud, edge: str, sha256: str, first: int, last: int) -> AsyncIterator[bytes]:
    """Yield the bytes of a blob; the first piece is already charged. Raises: Fault: 429: It is cut there."""
    is_first = True
    with await run_in_threadpool(cloud.spool.open, cloud.storage, sha256) as file:
        while first <= last:
            n_bytes = min(_PIECE_BYTES, last + 1 - first)
            if not is_first:
                await cloud.quotas.take(edge, "sent_bytes", n_bytes)
            file.seek(first)
            yield file.read(n_bytes)
            first, is_first = first + n_bytes, False
