"""`hearth cloud serve` as an ASGI application: plans, answers, demonstrations, tasks, statistics and priors for edges.

`admission` lets requests in and counts them, `teaching_queue` and `general_answers` answer, `storage` keeps. What the
service may see is described in docs/howto/cloud.md. Nothing that was asked or answered is logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fastapi import APIRouter, FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from hearth.config import cache_folder, secret
from hearth.errors import HearthError, PlannerError, RegistryError, StoreError, WireError
from hearth.formats import edge_protocol
from hearth.formats.edge_protocol import (
    AnswerAsked,
    AnswerGiven,
    DemonstrationsSent,
    Hello,
    PlanAsked,
    PlanGiven,
    Problem,
    Receipt,
    TasksGiven,
)
from hearth.formats.plans import tools_from_json
from hearth.models.llm.openai_endpoint import Endpoint, Patience, RemoteModel, url_of
from hearth.protocols import Encoder, LanguageModel
from hearth.version import __version__
from hearth_cloud.cloud_settings import FILE, AnswersSettings, CloudSettings, TeacherSettings
from hearth_cloud.outbound import NamedHosts
from hearth_cloud.problems import JSON, Fault
from hearth_cloud.sedna import sedna_protocol
from hearth_cloud.service import artifact_routes, statistics_routes
from hearth_cloud.service.access.admission import POINTERS, Books, EntryRules, Gate, check_only_agent, passed
from hearth_cloud.service.access.limits import Quotas
from hearth_cloud.service.access.shared_rates import RequestRates
from hearth_cloud.service.general_answers import Answering, ModelAnswers, RecordedAnswers
from hearth_cloud.service.logs import Log
from hearth_cloud.service.prometheus_metrics import Numbers
from hearth_cloud.service.routing import PROBLEMS, Cloud, cloud_of, headers, key_of, read, takes, told
from hearth_cloud.service.spool import Spool
from hearth_cloud.service.teaching_queue import (
    Answers,
    Asked,
    MergedTeacher,
    ModelTeacher,
    Planning,
    Queue,
    QueueBounds,
    Recorded,
    StudentTeacher,
    Toolset,
    Toolsets,
    filler_of,
    request_of,
    unreachable,
)
from hearth_cloud.statistics.signing import read_key
from hearth_cloud.storage import knowledge
from hearth_cloud.storage.access_tokens import Tokens
from hearth_cloud.storage.cloud_storage import Storage
from hearth_cloud.storage.storage_place import StoragePlace

_WRITE_S = 2.0
_TIDY_S = 3600.0
_MERGE_S = 10.0
"""Interval of looking whether a prior is due."""
_ANSWERS_KEPT_DAYS = 2
"""Only receipts of demonstrations are kept, 0.3 kB each: plans and answers are made again, and a demonstration that was
taken is known by its own id for ever. A device tries again within the hour; one that was off for longer is told
`known`."""
_COUNTS_KEPT_DAYS = 30
_UNUSED_S = 3_600.0
"""Age at which nobody is about to name a blob any more."""
_POINTED = ("demonstration", "statistics", "question")
"""Kinds of messages that a pointer may name; any other is counted as `other`."""


@dataclass(frozen=True, slots=True)
class Teachers:
    """Who plans for devices, and who answers their general questions."""

    planning: Planning | None = None
    answering: Answering | None = None


def create_app(
    settings: CloudSettings,
    storage: Storage | None = None,
    *,
    teachers: Teachers = Teachers(),
    key: Ed25519PrivateKey | None = None,
    monotonic: Callable[[], float] = time.monotonic,
    environ: Mapping[str, str] = os.environ,
) -> FastAPI:
    """Build the application.

    Args:
        storage: When left out, opened as the settings say and closed with the application.
        teachers: As the settings say where left out.
        key: Read from the settings' file when left out.
        monotonic: Seconds from any origin; replaced in tests.
    Raises:
        ConfigError: Settings that cannot be used. StoreError: The database, or the student, cannot be opened.
        MissingExtraError. RequestError: A recorded file cannot be read.
    """
    owned = storage is None
    storage = storage or StoragePlace.of(settings, environ).open()
    teacher = teachers.planning or _teacher(settings, storage, environ)
    answering = teachers.answering or _answering(settings, environ)
    key = key or read_key(settings.path(settings.service.key_file))
    cloud = _parts(settings, storage, teacher, answering, key, monotonic)

    @contextlib.asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        async with _running(app):
            yield
        if owned:
            storage.close()

    app = FastAPI(
        title="Hearth cloud",
        version=__version__,
        description="Plans, answers, tasks and priors for Hearth's devices. Requests carry `Hearth-Protocol`.",
        lifespan=running,
        docs_url=None,
        redoc_url=None,
        exception_handlers={HTTPException: _answer_http},
    )
    app.state.cloud = cloud
    app.include_router(_open_routes(settings))
    app.include_router(_edge_routes())
    app.include_router(statistics_routes.router())
    app.include_router(artifact_routes.router())
    if settings.service.sedna_service:
        app.include_router(_sedna_routes(settings.service.sedna_service))
    if settings.service.pointers:
        app.include_router(_pointer_routes())
    tokens = Tokens(storage, monotonic)
    rates = RequestRates.of(settings.limits, settings.redis_url(environ), monotonic, cloud.log)
    app.state.rates = rates
    rules, books = EntryRules(tokens, cloud.quotas, rates), Books(cloud.numbers, cloud.log)
    app.add_middleware(Gate, settings, rules, books, monotonic)
    return app


def _parts(
    settings: CloudSettings,
    storage: Storage,
    teacher: Planning | None,
    answering: Answering | None,
    key: Ed25519PrivateKey,
    monotonic: Callable[[], float],
) -> Cloud:
    numbers, limits = Numbers(), settings.limits
    most = {
        "plans": limits.plans_per_day,
        "answers": limits.answers_per_day,
        "demonstrations": limits.demonstrations_per_day,
        "received_bytes": limits.received_bytes_per_day,
        "sent_bytes": limits.sent_bytes_per_day,
        "new_tools": limits.new_tools_per_day,
    }
    return Cloud(
        settings,
        storage,
        key,
        numbers,
        Log(),
        Quotas(storage, most),
        Toolsets(),
        Answers(limits.cached_plans, limits.cached_s, monotonic),
        teacher,
        _plan_queue(teacher, settings, numbers) if teacher is not None else None,
        _answer_queue(answering, settings, numbers) if answering is not None else None,
        Spool(),
        monotonic,
    )


@contextlib.asynccontextmanager
async def _running(app: FastAPI) -> AsyncIterator[None]:
    cloud: Cloud = app.state.cloud
    queues = [queue for queue in (cloud.plans, cloud.answers) if queue is not None]
    for queue in queues:
        queue.start()
    task = asyncio.create_task(_tend(app))
    cloud.log.event("started", version=__version__, features=",".join(features(cloud)))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        for queue in queues:
            await queue.stop()
        with contextlib.suppress(StoreError):
            await cloud.quotas.write()
        cloud.spool.close()
        await app.state.rates.close()
        cloud.log.event("stopped")


async def _tend(app: FastAPI) -> None:
    """Write down usage every few seconds; make a prior that is due, also one that a process which ended owed; delete
    what is old every hour."""
    cloud: Cloud = app.state.cloud
    tidy_at = cloud.monotonic()
    merge_at, merging = tidy_at + _MERGE_S, None
    while True:
        await asyncio.sleep(_WRITE_S)
        try:
            await cloud.quotas.write()
            if cloud.monotonic() >= tidy_at:
                tidy_at = cloud.monotonic() + _TIDY_S
                await run_in_threadpool(tidy, cloud.storage)
            if cloud.monotonic() >= merge_at and (merging is None or merging.done()):
                merge_at = cloud.monotonic() + _MERGE_S
                merging = asyncio.create_task(_merge(app))  # beside this loop: it may take half a minute
        except StoreError as error:
            cloud.log.failed("tending", error)


async def _merge(app: FastAPI) -> None:
    cloud: Cloud = app.state.cloud
    if cloud.settings.statistics.mode == "off":
        return
    try:
        desk = await run_in_threadpool(statistics_routes.desk_of, app)
        await run_in_threadpool(desk.tend)
    except HearthError as error:
        cloud.log.failed("rounds", error)
        return
    await statistics_routes.publish_due(cloud, desk)


def tidy(storage: Storage) -> None:
    """Delete receipts of repeated messages, and counts, that are too old to matter. Raises: StoreError."""
    storage.drop_answers(storage.now() - dt.timedelta(days=_ANSWERS_KEPT_DAYS))
    storage.drop_used((storage.now() - dt.timedelta(days=_COUNTS_KEPT_DAYS)).date().isoformat())
    storage.drop_agents()
    storage.drop_unused_blobs(unused_s=_UNUSED_S)
    storage.drop_loose_objects()
    storage.give_back()


def features(cloud: Cloud) -> tuple[str, ...]:
    """Return the features offered, as `Hello` tells them."""
    found = ["plans"] if cloud.plans is not None else []
    found += ["answers"] if cloud.answers is not None else []
    found += ["demonstrations", "tasks"]
    if cloud.settings.statistics.mode != "off":
        found += ["statistics", "prior"]
    return (*found, "adapter")


# ── Routes ────────────────────────────────────────────────────────────────────────────────────────────────


def _open_routes(settings: CloudSettings) -> APIRouter:
    routes = APIRouter()

    @routes.get("/healthz", responses={200: {"description": "The process answers."}})
    async def healthz() -> dict[str, str]:
        """Say that the process answers."""
        return {"status": "ok"}

    @routes.get("/readyz", responses={503: {"model": Problem}})
    async def readyz(request: Request) -> dict[str, str]:
        """Say whether the database answers, too."""
        try:
            await run_in_threadpool(cloud_of(request).storage.ping)
        except StoreError as error:
            cloud_of(request).log.failed("readyz", error)
            raise Fault(503, "busy", "the database does not answer", 5.0) from None
        return {"status": "ready"}

    if settings.service.metrics:

        @routes.get("/metrics", response_class=Response)
        async def metrics(request: Request) -> Response:
            """Return metrics for Prometheus."""
            text = await run_in_threadpool(cloud_of(request).numbers.text)
            return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    @routes.get(
        "/v1/hello", response_model=Hello, responses={426: PROBLEMS[426]}, openapi_extra={"parameters": headers()}
    )
    async def hello(request: Request) -> Response:
        """Tell the service's name, protocol versions and features."""
        cloud = cloud_of(request)
        return told(
            Hello(
                server=settings.service.name,
                oldest=edge_protocol.OLDEST,
                newest=edge_protocol.VERSION,
                public_key=cloud.public_key,
                features=features(cloud),
            )
        )

    return routes


def _edge_routes() -> APIRouter:
    routes = APIRouter(prefix="/v1", responses=PROBLEMS)
    own = headers(edge_protocol.INSTANCE_HEADER)

    @routes.post("/plans", response_model=PlanGiven, openapi_extra=takes(PlanAsked) | {"parameters": own})
    async def plans(request: Request) -> Response:
        """Return a plan for a masked request, or a refusal."""
        return told(await planned(cloud_of(request), passed(request).edge, await read(request, PlanAsked)))

    @routes.post("/answers", response_model=AnswerGiven, openapi_extra=takes(AnswerAsked) | {"parameters": own})
    async def answers(request: Request) -> Response:
        """Answer a masked question of general knowledge."""
        cloud, asked = cloud_of(request), await read(request, AnswerAsked)
        if cloud.answers is None:
            raise Fault(404, "no_teacher", "this service answers no questions; name who does under [answers]")
        await cloud.quotas.take(passed(request).edge, "answers")
        try:
            answer = await cloud.answers.ask(asked)
        except PlannerError as error:
            raise unreachable(error, cloud.log.failed) from None
        if answer is None:
            raise Fault(404, "no_answer", "nothing is known here of that")
        return told(answer)

    with_key = headers(edge_protocol.INSTANCE_HEADER, edge_protocol.IDEMPOTENCY_HEADER)

    @routes.post(
        "/demonstrations", response_model=Receipt, openapi_extra=takes(DemonstrationsSent) | {"parameters": with_key}
    )
    async def demonstrations(request: Request) -> Response:
        """Take masked requests with their plans into the task knowledge base, each once."""
        check_only_agent(request)
        cloud, edge, body = cloud_of(request), passed(request).edge, passed(request).body
        sent = await read(request, DemonstrationsSent)
        await cloud.quotas.take(edge, "demonstrations", len(sent.demonstrations))
        key = key_of(request, sent.id)
        receipt, is_again = await run_in_threadpool(knowledge.take, cloud.storage, edge, key, sent, body)
        if not is_again:
            counts = Receipt.model_validate_json(receipt)
            for outcome, n in (("accepted", len(counts.accepted)), ("known", len(counts.known))):
                cloud.numbers.demonstrations.labels(outcome).inc(n)
            cloud.numbers.demonstrations.labels("refused").inc(len(counts.refused))
        return Response(receipt, media_type=JSON)

    @routes.get("/tasks", response_model=TasksGiven, openapi_extra={"parameters": own})
    async def tasks(request: Request) -> Response:
        """Return tasks that enough edges share."""
        cloud = cloud_of(request)
        return told(await run_in_threadpool(knowledge.tasks, cloud.storage, cloud.settings.tasks.k))

    return routes


async def planned(cloud: Cloud, edge: str, asked: PlanAsked) -> PlanGiven:
    """Plan an edge's request from the cache or by the teacher. Raises: Fault."""
    if cloud.plans is None or cloud.teacher is None:
        raise Fault(404, "no_teacher", "this service makes no plans; name who does under [teacher] in its cloud.toml")
    offered = await toolset(cloud, edge, asked)
    question = Asked(asked.id, request_of(asked.id, asked.request, asked.now), offered)
    kept = cloud.kept.get(question, cloud.teacher.name)
    if kept is not None:
        cloud.numbers.plans.labels("cached").inc()
        return kept
    await cloud.quotas.take(edge, "plans")
    try:
        answer = await cloud.plans.ask(question)
    except PlannerError as error:
        raise unreachable(error, cloud.log.failed) from None
    cloud.kept.keep(question, answer)
    cloud.numbers.plans.labels("refused" if answer.refusal is not None else "made").inc()
    return answer


async def toolset(cloud: Cloud, edge: str, asked: PlanAsked) -> Toolset:
    """Return the tools that were offered, by their hash where they are known. Raises: Fault: 409, 422, 429."""
    if asked.tools_sha256 and not asked.tools:
        sha256 = asked.tools_sha256
    else:
        sha256 = await run_in_threadpool(edge_protocol.tools_hash, asked.tools)
    found = cloud.toolsets.get(sha256)
    if found is not None:
        return found
    if asked.tools_sha256 and not asked.tools:
        raise Fault(409, "tools", "tools of that hash are not known here (any more); send them whole once")
    await cloud.quotas.take(edge, "new_tools", len(asked.tools))
    try:
        found = Toolset(sha256, await run_in_threadpool(tools_from_json, {"nodes": list(asked.tools)}))
    except RegistryError:
        raise Fault(
            422, "shape", "tools are not as nodes of a tool_desc.json: id, desc, parameters, ids once"
        ) from None
    cloud.toolsets.keep(found)
    return found


def _pointer_routes() -> APIRouter:
    """Build the route for pointers that KubeEdge's router forwards from edges: counted and logged, without a token;
    nothing depends on them."""
    routes = APIRouter()

    @routes.post(POINTERS, include_in_schema=False, status_code=204)
    async def pointer(request: Request) -> Response:
        cloud, body = cloud_of(request), passed(request).body
        if len(body) > edge_protocol.MAX_POINTER_BYTES:
            raise Fault(
                413, "size", f"a pointer has at most {edge_protocol.MAX_POINTER_BYTES} bytes, this has {len(body)}"
            )
        try:
            said = edge_protocol.read(edge_protocol.Pointer, body)
        except WireError as error:
            raise Fault(422, "shape", str(error)) from None
        kind = said.kind if said.kind in _POINTED else "other"
        cloud.numbers.pointers.labels(kind).inc()
        cloud.log.event("pointer", edge=said.edge, kind=kind, waiting=said.waiting)
        return Response(status_code=204)

    return routes


def _sedna_routes(service: str) -> APIRouter:
    """Build the routes by which Sedna's joint inference asks a big model: `POST /{service}/predict`, without a
    token."""
    routes = APIRouter()

    @routes.get(f"/{service}", include_in_schema=False)
    async def about() -> Response:
        return told(sedna_protocol.routes_of(service))

    @routes.post(f"/{service}/predict", include_in_schema=False)
    async def predict(request: Request) -> Response:
        cloud = cloud_of(request)
        try:
            asked = sedna_protocol.questions_of(passed(request).body, dt.datetime.now(dt.UTC))
        except WireError as error:
            raise Fault(422, "shape", str(error)) from None
        edge = f"sedna.{service}"
        given = await asyncio.gather(*(planned(cloud, edge, one) for one in asked))
        return told(sedna_protocol.PredictGiven(result=tuple(given)))

    return routes


async def _answer_http(_: Request, error: Exception) -> Response:
    """Answer requests that Starlette itself rejects: no such address, no such method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return Fault(404, "missing", "there is nothing at that address; /openapi.json tells what there is").response()
    answer = Fault(error.status_code, "method" if error.status_code == 405 else "shape", str(error.detail)).response()
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer


# ── Teachers, as the settings name them ───────────────────────────────────────────────────────────────────


def _teacher(settings: CloudSettings, storage: Storage, environ: Mapping[str, str]) -> Planning | None:
    chosen = settings.teacher
    if chosen.kind == "merged":
        filler = filler_of(chosen.arguments, cache_folder(environ))
        return MergedTeacher(storage, _encoder(environ), chosen.profile, filler)
    if chosen.kind == "student":
        return StudentTeacher.open(
            settings.path(chosen.path), _encoder(environ), chosen.arguments, cache_folder(environ)
        )
    if chosen.kind == "recorded":
        return Recorded(settings.path(chosen.path))
    if chosen.kind == "model":
        models = [_model(chosen, "[teacher]", environ) for _ in range(chosen.parallel)]
        return ModelTeacher(models, _encoder(environ))
    return None


def _answering(settings: CloudSettings, environ: Mapping[str, str]) -> Answering | None:
    chosen = settings.answers
    if chosen.kind == "recorded":
        return RecordedAnswers(settings.path(chosen.path))
    if chosen.kind == "model":
        models = [_model(chosen, "[answers]", environ) for _ in range(chosen.parallel)]
        return ModelAnswers(models)
    return None


def _encoder(environ: Mapping[str, str]) -> Encoder:
    from hearth.models.sentence_encoder import MiniLMEncoder  # imported late: not needed without a teacher

    return MiniLMEncoder.open(cache_folder(environ), n_threads=1)  # teachers read in threads of their own


def _model(chosen: TeacherSettings | AnswersSettings, table: str, environ: Mapping[str, str]) -> LanguageModel:
    """Open a language model from the settings. Raises: ConfigError: Its address or key cannot be used; names the key of
    `cloud.toml`."""
    named = f"{table} of {FILE}"
    key = secret("api_key_env", chosen.api_key_env, named, environ) if chosen.api_key_env else ""
    url = secret("base_url_env", chosen.base_url_env, named, environ) if chosen.base_url_env else chosen.base_url
    way = NamedHosts(url_of(url, named))
    return RemoteModel(Endpoint(url, chosen.model, key, named), way, Patience(chosen.timeout_s))


def _plan_queue(teacher: Planning, settings: CloudSettings, numbers: Numbers) -> Queue[Asked, PlanGiven]:
    limits = settings.limits
    bounds = QueueBounds(
        # Where several processes plan in parallel, a second thread in each has no core of its own.
        n_threads=1 if teacher.gains_by_batches and settings.service.workers > 1 else teacher.n_threads,
        n_waiting=limits.waiting,
        n_batch=limits.batch if teacher.gains_by_batches else 1,
        batch_s=limits.batch_ms / 1000,
        wait_s=limits.wait_s,
    )
    return Queue(teacher.plans, bounds, numbers)


def _answer_queue(
    answering: Answering, settings: CloudSettings, numbers: Numbers
) -> Queue[AnswerAsked, AnswerGiven | None]:
    limits = settings.limits
    bounds = QueueBounds(answering.n_threads, limits.waiting, n_batch=1, batch_s=0.0, wait_s=limits.wait_s)
    return Queue(lambda asked: [answering.answer(one) for one in asked], bounds, numbers)
