"""The cloud worker of Sedna's `JointInferenceService`: serve a student by Sedna's own protocol, and nothing else.

`hearth cloud serve` with `sedna_service` speaks the same protocol beside everything else; this worker is for a pod that
Sedna starts, which gets a model file and a port and has neither tokens nor a database.

Covered: size and number of questions; one question at a time is planned, others wait. Not covered: who asks (Sedna's
protocol has no tokens: `deploy/` lets in the edge workers alone), TLS (the cluster's or a proxy's).
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hearth.errors import MissingExtraError, RegistryError, WireError
from hearth.formats.edge_protocol import PlanAsked, PlanGiven, Problem
from hearth.formats.plans import tools_from_json
from hearth_cloud.sedna.sedna_planning import Planning
from hearth_cloud.sedna.sedna_protocol import MAX_BODY_BYTES, PredictGiven, questions_of, routes_of

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

INSTALL_COMMAND = "pip install hearth-cloud"
_JSON = "application/json"
_KEEP_ALIVE_S = 30
_GRACE_S = 10


def answers(planning: Planning, asked: Sequence[PlanAsked]) -> PredictGiven:
    """Return a plan or refusal for each question; a question that brings its own tools is planned with these.

    Raises:
        WireError: Tools of a question are not described as tools are.
    """
    given: list[PlanGiven] = []
    for one in asked:
        try:
            tools = tools_from_json({"nodes": list(one.tools)}) if one.tools else None
        except RegistryError as error:
            raise WireError(f"the tools of {one.id!r}: {error}") from None
        given += planning.plans([one], tools)
    return PredictGiven(result=tuple(given))


def app_of(service: str, planning: Planning) -> Starlette:
    """Build the application that answers for `planning` under `/{service}`. Raises: MissingExtraError."""
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError:
        raise MissingExtraError("serving a model", INSTALL_COMMAND) from None
    lock = threading.Lock()

    def planned(body: bytes) -> bytes:
        with lock:
            asked = questions_of(body, dt.datetime.now(dt.UTC))
            return answers(planning, asked).model_dump_json().encode()

    async def info(_: Request) -> Response:
        return Response(routes_of(service).model_dump_json(), media_type=_JSON)

    async def health(_: Request) -> Response:
        return Response('{"status": "ok"}', media_type=_JSON)

    async def predict(request: Request) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                return _problem("size", f"more than {MAX_BODY_BYTES:,} bytes were sent; ask for fewer plans at once")
        try:
            return Response(await run_in_threadpool(planned, bytes(body)), media_type=_JSON)
        except WireError as error:
            return _problem("shape", str(error))

    return Starlette(
        routes=[
            Route(f"/{service}", info, methods=["GET"]),
            Route(f"/{service}/predict", predict, methods=["POST"]),
            Route("/healthz", health, methods=["GET"]),
        ]
    )


def _problem(code: str, detail: str) -> Response:
    from starlette.responses import Response

    status = 413 if code == "size" else 422
    body = Problem(code=code, detail=detail[:8_000]).model_dump_json()
    return Response(body, status_code=status, media_type=_JSON)


def serve(service: str, planning: Planning, host: str, port: int) -> None:
    """Serve until the process is told to stop. Raises: MissingExtraError."""
    app = app_of(service, planning)
    try:
        import uvicorn
    except ImportError:
        raise MissingExtraError("serving a model", INSTALL_COMMAND) from None
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GRACE_S,
        server_header=False,
    )
