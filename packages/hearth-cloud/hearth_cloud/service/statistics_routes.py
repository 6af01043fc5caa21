"""`/v1/statistics` and `/v1/prior`: the statistics that edges contribute, and the prior that is made of them."""

from __future__ import annotations

import os
from typing import Any, get_args

import anyio
from fastapi import APIRouter, FastAPI, Request, Response
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from hearth.config import cache_folder
from hearth.errors import HearthError, StatisticsError
from hearth.formats import edge_protocol
from hearth.formats.edge_protocol import (
    Manifest,
    OpeningSent,
    Problem,
    Profile,
    Receipt,
    RoundAsked,
    RoundTold,
    SharesSent,
    StatisticsTerms,
)
from hearth_cloud.cloud_settings import CloudSettings
from hearth_cloud.problems import JSON, Fault
from hearth_cloud.service.access.admission import check_only_agent, passed
from hearth_cloud.service.routing import PROBLEMS, Cloud, cloud_of, headers, key_of, profile_of, read, takes, told
from hearth_cloud.statistics.shipped_statistics import Public
from hearth_cloud.statistics.statistics_desk import Desk, PriorMaking
from hearth_cloud.statistics.workers import InTurn, Processes, RayWorkers, Workers
from hearth_cloud.storage.cloud_storage import Storage
from hearth_cloud.storage.storage_place import StoragePlace

BINARY = "application/octet-stream"
_N_AT_DESK = 2
"""Threads that look at statistics; more would only hold the threads that everything else needs."""


def desk_of(app: FastAPI) -> Desk:
    """Return the service's desk for statistics, made when it is first needed."""
    state = app.state
    if not isinstance(getattr(state, "statistics", None), Desk):
        cloud: Cloud = state.cloud
        workers = workers_of(cloud.settings, cloud.storage)
        making = PriorMaking(shipped, workers)
        state.statistics = Desk(cloud.storage, cloud.settings.statistics, cloud.key, making=making)
    found = state.statistics
    assert isinstance(found, Desk)
    return found


def workers_of(settings: CloudSettings, storage: Storage) -> Workers:
    """Return who adds contributions up, as settings say. Raises: MissingExtraError: Ray is named and not installed."""
    s = settings.statistics
    if not s.ray and not s.workers:
        return InTurn(storage)
    place = StoragePlace.of(settings)
    return RayWorkers(place, s.ray) if s.ray else Processes(place, s.workers)


def shipped() -> Public:
    """Read the demonstrations every Hearth is shipped with, by the shipped encoder; takes half a minute."""
    from hearth.models.sentence_encoder import MiniLMEncoder  # imported late: only needed where priors are made

    return Public.shipped(MiniLMEncoder.open(cache_folder(os.environ)))


def router() -> APIRouter:
    """Build the router for `service.create_app`."""
    routes = APIRouter(prefix="/v1", responses=PROBLEMS)
    own = headers(edge_protocol.INSTANCE_HEADER)
    with_key = headers(edge_protocol.INSTANCE_HEADER, edge_protocol.IDEMPOTENCY_HEADER)
    _add_plain(routes, own, with_key)
    _add_rounds(routes, own)
    return routes


def _add_plain(routes: APIRouter, own: list[dict[str, Any]], with_key: list[dict[str, Any]]) -> None:
    @routes.get("/statistics", response_model=StatisticsTerms, openapi_extra={"parameters": own})
    async def terms(request: Request) -> Response:
        """Tell what may be contributed, and how."""
        return told(await _at_desk(request, lambda desk: desk.terms))

    @routes.post("/statistics", response_model=Receipt, openapi_extra=_bytes_body() | {"parameters": with_key})
    async def give(request: Request) -> Response:
        """Take an edge's sums in place of those it gave before; mode `plain` only."""
        check_only_agent(request)
        edge, body = passed(request).edge, passed(request).body
        id = key_of(request, "statistics")
        receipt = await _at_desk(request, lambda desk: desk.take(edge, id, body))
        return _then_publish(request, told(receipt)) if receipt.accepted else told(receipt)

    @routes.delete("/statistics", response_model=Receipt, openapi_extra={"parameters": own})
    async def withdraw(request: Request) -> Response:
        """Take this edge's sums out of every prior that is made from now on; mode `plain` only."""
        check_only_agent(request)
        edge = passed(request).edge
        was = await _at_desk(request, lambda desk: desk.withdraw(edge))
        return told(Receipt(id="statistics", accepted=("statistics",) if was else ()))

    @routes.get(
        "/prior",
        response_model=Manifest,
        responses={404: {"model": Problem}},
        openapi_extra={
            "parameters": [
                *own,
                {"name": "profile", "in": "query", "required": False, "schema": {"enum": list(get_args(Profile))}},
            ]
        },
    )
    async def prior(request: Request) -> Response:
        """Return the newest prior for a device profile, signed; its bytes are at `/v1/blobs/SHA256`."""
        profile = profile_of(request)
        found = await _at_desk(request, lambda desk: desk.prior(profile))
        if found is None:
            raise Fault(404, "no_prior", "no prior was made yet: too few devices gave statistics")
        return Response(found, media_type=JSON)


def _add_rounds(routes: APIRouter, own: list[dict[str, Any]]) -> None:
    @routes.post("/statistics/rounds", response_model=RoundTold, openapi_extra=takes(RoundAsked) | {"parameters": own})
    async def join(request: Request) -> Response:
        """Take part in the next round; mode `secret` only."""
        check_only_agent(request)
        edge, asked = passed(request).edge, await read(request, RoundAsked)
        return told(await _at_desk(request, lambda desk: desk.join(edge, asked)))

    @routes.get("/statistics/rounds", response_model=RoundTold, openapi_extra={"parameters": own})
    async def now(request: Request) -> Response:
        """Tell the state of this edge's round."""
        edge = passed(request).edge
        return told(await _at_desk(request, lambda desk: desk.told(edge)))

    @routes.post(
        "/statistics/rounds/{round}/shares",
        response_model=RoundTold,
        openapi_extra=takes(SharesSent) | {"parameters": own},
    )
    async def shares(request: Request, round: str) -> Response:
        """Take sealed shares for the other edges."""
        edge, sent = passed(request).edge, await read(request, SharesSent)
        return told(await _at_desk(request, lambda desk: desk.take_shares(edge, round, sent)))

    @routes.post(
        "/statistics/rounds/{round}/row", response_model=RoundTold, openapi_extra=_bytes_body() | {"parameters": own}
    )
    async def row(request: Request, round: str) -> Response:
        """Take the masked row: whole numbers of 8 bytes, little-endian."""
        edge, body = passed(request).edge, passed(request).body
        return told(await _at_desk(request, lambda desk: desk.take_row(edge, round, body)))

    @routes.post(
        "/statistics/rounds/{round}/opening",
        response_model=RoundTold,
        openapi_extra=takes(OpeningSent) | {"parameters": own},
    )
    async def opening(request: Request, round: str) -> Response:
        """Take the shares that remove the masks from the sum."""
        edge, sent = passed(request).edge, await read(request, OpeningSent)
        return _then_publish(request, told(await _at_desk(request, lambda desk: desk.take_opening(edge, round, sent))))


async def _at_desk(request: Request, ask: Any) -> Any:
    """Ask the desk, and turn its refusal into a 409. Raises: Fault: 409 for what cannot be taken as it is."""
    state = request.app.state
    if not hasattr(state, "at_desk"):
        state.at_desk = anyio.CapacityLimiter(_N_AT_DESK)
    try:
        return await anyio.to_thread.run_sync(lambda: ask(desk_of(request.app)), limiter=state.at_desk)
    except StatisticsError as error:
        raise Fault(409, "statistics", str(error)) from None


def _then_publish(request: Request, answer: Response) -> Response:
    """Return the answer; after it was sent, publish a new prior if one is due, which takes its time."""
    answer.background = BackgroundTask(publish_due, cloud_of(request), desk_of(request.app))
    return answer


async def publish_due(cloud: Cloud, desk: Desk) -> None:
    """Make a prior if one is due, and log which contributions were set aside."""
    try:
        found, made = await run_in_threadpool(desk.publish, is_due=True)
    except HearthError as error:
        cloud.log.failed("prior", error)
        return
    for one in found.judged:
        if one.reason:
            cloud.log.event("quarantined", edge=one.edge, reason=one.reason[:200])
    for manifest in made:
        cloud.log.event("prior", serial=manifest.serial, edges=manifest.n_edges, bytes=manifest.n_bytes)


def _bytes_body() -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {BINARY: {"schema": {"type": "string", "format": "binary"}}}}}
