"""The interface between Sedna and its workers: the environment variables it sets, the protocol of the big model (`POST
/{service}/predict`), and the report to the node's local controller.

Written from Sedna 0.7: names are looked up as they are and in capitals, as its `Context` does. A question is a text, or
an object shaped as `edge_protocol.PlanAsked`; an answer is shaped as `edge_protocol.PlanGiven`.

Covered: shape, number and size of questions and answers. Not covered: who asks (Sedna's protocol has no tokens: a
network policy must say who may), and what an answer contains (`formats.plans` and the guard check plans).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field

from hearth.errors import ConfigError, EgressError, HearthError, WireError
from hearth.formats import edge_protocol
from hearth.formats.edge_protocol import Message, PlanAsked, PlanGiven

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES = 4_000_000
DEFAULT_PORT = 5000
"""Port of a big model, unless `BIG_MODEL_BIND_PORT` or `BIG_MODEL_PORT` says otherwise."""
LC_SERVER = "http://127.0.0.1:9100"
_MAX_REPORT_TRIES = 3
_TIMEOUT_S = 10.0
_NOT_LOCAL = ("s3", "http", "https")

Kind = Literal["train", "eval", "deploy", "inference"]
Status = Literal["completed", "failed", "running"]


# ── The environment of a worker ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment variables that Sedna and the manifest set for a worker."""

    values: Mapping[str, str]

    def get(self, name: str, default: str = "") -> str:
        """Return the variable of that name or, as Sedna allows, of that name in capitals; an empty one counts as
        unset."""
        return self.values.get(name) or self.values.get(name.upper()) or default

    def needed(self, name: str, what: str) -> str:
        """Return a required variable. Raises: ConfigError: Not set."""
        if value := self.get(name):
            return value
        raise ConfigError(f"the environment variable {name} is not set; it says {what}, and Sedna sets it")

    def path(self, name: str, what: str) -> Path:
        """Return a variable as a path on this machine. Raises: ConfigError: Not set, or an address elsewhere."""
        return self._local(name, self.needed(name, what))

    def paths(self, name: str, what: str) -> tuple[Path, ...]:
        """Return a variable as several paths, separated as Sedna does. Raises: ConfigError."""
        return tuple(self._local(name, part) for part in self.needed(name, what).split(";") if part)

    def _local(self, name: str, value: str) -> Path:
        if urlsplit(value).scheme in _NOT_LOCAL:
            raise ConfigError(
                f"{name} is {value!r}; a worker reads and writes paths, and Sedna's storage initializer fetches what "
                "it reads. Let outputDir name a folder of the node, or of a volume in the template"
            )
        return Path(value)

    def number(self, name: str, default: float, least: float, most: float) -> float:
        """Return a variable as a number. Raises: ConfigError: No number, or out of range."""
        text = self.get(name)
        try:
            value = float(text) if text else default
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise ConfigError(f"{name} is {text!r}; expected a number from {least:g} to {most:g}")
        return value

    def is_true(self, name: str) -> bool:
        return self.get(name).lower() == "true"

    @property
    def prefix(self) -> str:
        """Mount point of the node's folders in a worker; empty where they are not mounted."""
        return self.get("DATA_PATH_PREFIX").rstrip("/")

    def on_node(self, path: Path) -> str:
        """Translate a path in the container to the node's, from which Sedna's local controller copies."""
        text = str(path)
        return text.removeprefix(self.prefix) if self.prefix and text.startswith(f"{self.prefix}/") else text

    def in_container(self, url: str) -> Path:
        """Translate a path of the node to its place in the container; one already translated is unchanged."""
        if not self.prefix or url.startswith(f"{self.prefix}/"):
            return Path(url)
        return Path(f"{self.prefix}/{url.lstrip('/')}")

    @property
    def worker(self) -> str:
        return self.get("WORKER_NAME", "hearth-worker")

    @property
    def service(self) -> str:
        return self.get("SERVICE_NAME", self.get("JOB_NAME", "hearth"))


# ── The big model's protocol ──────────────────────────────────────────────────────────────────────────────


class PredictAsked(Message):
    """The body of `POST /{service}/predict`."""

    data: Annotated[tuple[Any, ...], Field(max_length=edge_protocol.MAX_BATCH)]
    callback: str | None = None
    """Name of a function of Sedna's to run on the answer; it is not run."""


class PredictGiven(Message):
    """The answer to `PredictAsked`: one result per question, in order."""

    result: Annotated[tuple[PlanGiven, ...], Field(max_length=edge_protocol.MAX_BATCH)]


class Routes(Message):
    """The answer to `GET /{service}`, by which a client checks that the service is there."""

    infos: tuple[dict[str, str], ...]


def routes_of(service: str) -> Routes:
    return Routes(
        infos=(
            {"path": f"/{service}", "name": "model_info"},
            {"path": f"/{service}/predict", "name": "predict"},
        )
    )


def questions_of(body: bytes, now: dt.datetime) -> tuple[PlanAsked, ...]:
    """Parse the questions in a request to the big model.

    Args:
        now: Time for questions that carry none; with time zone.
    Raises:
        WireError: Too large, no JSON, or of another shape.
    """
    if len(body) > MAX_BODY_BYTES:
        raise WireError(f"the request has {len(body):,} bytes; at most {MAX_BODY_BYTES:,} are read; ask for fewer")
    asked = edge_protocol.read(PredictAsked, body)
    if asked.callback:
        raise WireError(f"the request names the callback {asked.callback!r}; none is run here; leave it out")
    return tuple(_question(item, place, now) for place, item in enumerate(asked.data))


def _question(item: Any, place: int, now: dt.datetime) -> PlanAsked:
    if isinstance(item, str):
        item = {"request": item}
    if not isinstance(item, dict):
        raise WireError(f"data.{place} is a {type(item).__name__}; expected a request as a text or an object")
    text = str(item.get("request", item.get("user_request", "")))
    whole = {"id": request_id(text), "now": now.isoformat(), "tools": [], **item, "request": text}
    try:
        return edge_protocol.read(PlanAsked, json.dumps(whole).encode("utf-8", "surrogatepass"))
    except WireError as error:
        raise WireError(f"data.{place}: {error}") from None


def request_id(text: str) -> str:
    """Derive an id from the request; equal requests get equal ids."""
    return f"r{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class BigModel:
    """A client of a big model, as Sedna's `ModelClient`."""

    http: httpx.Client
    """Client that goes through the egress gateway."""
    url: str
    """`http://host:port/service`."""

    def predict(self, asked: Sequence[PlanAsked]) -> tuple[PlanGiven, ...]:
        """Ask, once.

        Raises:
            WireError: The answer has another shape or another number of results. EgressError: Nothing was sent.
            HearthError: It could not be reached, or refused.
        """
        import httpx

        body = {"data": [one.model_dump(mode="json") for one in asked], "callback": None}
        try:
            answer = self.http.post(f"{self.url}/predict", json=body)
        except httpx.HTTPError as error:
            raise HearthError(
                f"the big model at {self.url!r} was not reached: {error or type(error).__name__}"
            ) from None
        if answer.status_code != 200:
            raise HearthError(f"the big model at {self.url!r} answered {answer.status_code}; expected 200")
        given = edge_protocol.read(PredictGiven, answer.content)
        if len(given.result) != len(asked):
            raise WireError(f"the big model was asked {len(asked)} and answered {len(given.result)}")
        return given.result


# ── Reports ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Told:
    """What a worker tells of its work."""

    kind: Kind
    status: Status
    owner_kind: str
    results: Sequence[Mapping[str, object]] = ()
    info: Mapping[str, object] | None = None


def report(env: Environment, http: httpx.Client, told: Told) -> str:
    """Tell the node's local controller the outcome of the work, as Sedna's workers do.

    Returns:
        Empty, or the reason why the report failed; the work is done all the same.
    """
    import httpx

    message: dict[str, object] = {
        "name": env.worker,
        "namespace": env.get("NAMESPACE", "default"),
        "ownerName": env.get("JOB_NAME", env.get("SERVICE_NAME", "hearth")),
        "ownerKind": told.owner_kind,
        "kind": told.kind,
        "status": told.status,
    }
    if told.results:
        message["results"] = [dict(one) for one in told.results]
    if told.info:
        message["ownerInfo"] = dict(told.info)
    url = f"{env.get('LC_SERVER', LC_SERVER).rstrip('/')}/sedna/workers/{env.worker}/info"
    fault = ""
    for _ in range(_MAX_REPORT_TRIES):
        try:
            answer = http.post(url, json=message, timeout=_TIMEOUT_S)
        except EgressError as error:
            return str(error)
        except httpx.HTTPError as error:
            fault = str(error) or type(error).__name__
            continue
        if answer.status_code == 200:
            return ""
        fault = f"it answered {answer.status_code}"
    return f"the local controller at {url!r} was not told: {fault}"
