"""`cloud.toml`: what the service offers, who teaches, and how much one edge may ask. Settings are checked; a wrong one
gives a message that names the key and the fix. Secrets are never written in the file: keys ending in `_env` name an
environment variable.

Paths are relative to the folder of the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from hearth.config import parse_toml, secret
from hearth.errors import ConfigError

FILE = "cloud.toml"
_MAX_FILE_BYTES = 100_000

Count = Annotated[int, Field(ge=0, strict=True)]
Some = Annotated[int, Field(ge=1, strict=True)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Service(_Table):
    """Address, storage and processes of the service."""

    host: str = "127.0.0.1"
    """Address to listen at; `0.0.0.0` for all addresses of this machine."""
    port: int = Field(default=8420, ge=0, le=65535, strict=True)
    """Port to listen at; 0 takes any free one."""
    name: str = Field(default="hearth cloud", min_length=1, max_length=100)
    """Name of the service that edges are shown."""
    database: str = "sqlite:///cloud.db"
    """`sqlite:///FILE`, or `postgresql://USER@HOST/NAME`."""
    database_env: str = ""
    """Environment variable that holds the database's address, used instead of `database` when the address has a
    password."""
    objects: str = ""
    """Object store for priors, adapters and sums: `s3://BUCKET/PREFIX` (any S3-compatible store; credentials from the
    environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`), or `file:///FOLDER`; empty: they lie in the database."""
    objects_endpoint: str = ""
    """Address of an S3-compatible store that is not Amazon's: `https://HOST`."""
    redis: str = ""
    """Redis or Valkey that counts requests per second over all replicas: `redis://HOST/0`; empty: each process counts
    by itself, and so it does while Redis does not answer."""
    redis_env: str = ""
    """Environment variable that holds that address, used instead of `redis` when it has a password."""
    key_file: str = "cloud.key"
    """File of the key that signs priors; made by `hearth cloud init`."""
    tls_cert_file: str = ""
    """PEM file of the TLS certificate; empty: no TLS here, so a proxy in front must provide it."""
    tls_key_file: str = ""
    """PEM file of the certificate's key, if it is not in the same file."""
    workers: Some = 1
    """Number of processes that serve; each holds a teacher of its own."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks of the proxies in front, whose word on the client's address (`X-Forwarded-For`) counts."""
    metrics: bool = Field(default=True, strict=True)
    """Publish metrics at `/metrics`, readable by anyone."""
    sedna_service: str = Field(default="", pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,62})?$")
    """Name under which Sedna's joint inference finds the service: `POST /NAME/predict`; empty: not offered. Sedna's
    clients carry no token, so set a name only where the network admits nobody but Sedna's workers."""
    pointers: bool = Field(default=False, strict=True)
    """Accept `POST /v1/pointers` from KubeEdge's router, which carries no token: how much waits at which edge. It is
    only counted and logged; nothing depends on it."""
    shutdown_s: Seconds = 10.0
    """Time that running requests have to finish after the service was told to stop."""


class TeacherSettings(_Table):
    """The teacher that answers `POST /v1/plans`."""

    kind: Literal["none", "model", "merged", "student", "recorded"] = "none"
    """`model`: an OpenAI-compatible endpoint; `merged`: a student made from the edges' statistics as soon as there is a
    prior, which contains nobody's words; `student`: a student that this service has in a folder; `recorded`: a file in
    the plan format."""
    base_url: str = ""
    """`model` only: address of the endpoint, up to `/v1`."""
    base_url_env: str = ""
    """`model` only: environment variable that holds that address, used instead of `base_url`."""
    model: str = ""
    """`model` only: the model's name at that endpoint."""
    api_key_env: str = ""
    """`model` only: environment variable that holds the key."""
    timeout_s: Seconds = 60.0
    """`model` only: time limit for one answer."""
    parallel: Annotated[int, Field(ge=1, le=64, strict=True)] = 4
    """`model` only: number of questions asked at the same time."""
    path: str = ""
    """`student`: its folder; `recorded`: the file."""
    profile: Literal["small", "medium", "large"] = "large"
    """`merged` only: device profile of the prior to use; a smaller one is quicker and knows a little less."""
    arguments: Literal["edge", "finders", "reader"] = "finders"
    """`merged` and `student` only: who fills the arguments of calls. `edge` leaves them all to the device, which knows
    the owner's own words; `finders` fills dates, numbers and the like; `reader` also reads words, and takes several
    times as long."""

    @model_validator(mode="after")
    def _is_whole(self) -> TeacherSettings:
        needed = {"model": ("base_url", "model"), "student": ("path",), "recorded": ("path",)}.get(self.kind, ())
        for key in needed:
            if not getattr(self, key) and not (key == "base_url" and self.base_url_env):
                raise ValueError(f"key {key!r} is missing; a teacher of kind {self.kind!r} needs it")
        return self


class AnswersSettings(_Table):
    """The source that answers `POST /v1/answers`."""

    kind: Literal["none", "model", "recorded"] = "none"
    """`model`: an OpenAI-compatible endpoint; `recorded`: a file of lines `{"question", "text", "items"}`."""
    base_url: str = ""
    """`model` only: address of the endpoint, up to `/v1`."""
    base_url_env: str = ""
    """`model` only: environment variable that holds that address, used instead of `base_url`."""
    model: str = ""
    """`model` only: the model's name at that endpoint."""
    api_key_env: str = ""
    """`model` only: environment variable that holds the key."""
    timeout_s: Seconds = 60.0
    """`model` only: time limit for one answer."""
    parallel: Annotated[int, Field(ge=1, le=64, strict=True)] = 4
    """`model` only: number of questions asked at the same time."""
    path: str = ""
    """`recorded` only: the file."""

    @model_validator(mode="after")
    def _is_whole(self) -> AnswersSettings:
        needed = {"model": ("base_url", "model"), "recorded": ("path",)}.get(self.kind, ())
        for key in needed:
            if not getattr(self, key) and not (key == "base_url" and self.base_url_env):
                raise ValueError(f"key {key!r} is missing; answers of kind {self.kind!r} need it")
        return self


class Limits(_Table):
    """Limits on how much one edge may ask. Those per second are counted by each process alone, those per day over
    all."""

    requests_per_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 20.0
    """Requests per second in the long run; more are answered with 429."""
    burst: Some = 40
    """Requests allowed at once after a pause."""
    at_once: Some = 16
    """Requests of one edge under way at the same time; more are answered with 429."""
    plans_per_day: Count = 5_000
    """Plans per day that the teacher makes; answers from the cache are free."""
    answers_per_day: Count = 1_000
    """General-knowledge answers per day."""
    demonstrations_per_day: Count = 10_000
    """Demonstration lines per day, new or not."""
    new_tools_per_day: Count = 5_000
    """Descriptions of tools per day that this process does not know yet: each costs the teacher some work."""
    received_bytes_per_day: Count = 500_000_000
    """Bytes of request bodies per day, decompressed."""
    sent_bytes_per_day: Count = 2_000_000_000
    """Bytes of priors and adapters sent per day."""
    body_bytes: Some = 2_000_000
    """Size limit of one request body, both as sent and decompressed."""
    statistics_bytes: Some = 64_000_000
    """Size limit of one body of `/v1/statistics`, both as sent and decompressed."""
    header_s: Seconds = 10.0
    """Time in which the head of a request must arrive, from the connection or its first byte on."""
    body_s: Seconds = 30.0
    """Time in which one request must arrive."""
    send_s: Seconds = 60.0
    """Time in which a quarter of a megabyte of an answer must be taken; a slower reader's connection is cut."""
    connections: Some = 4_096
    """Connections to one process; beyond that, those go first that have waited longest without a request."""
    waiting: Some = 256
    """Number of plans that may wait for the teacher; more are answered with 503."""
    wait_s: Seconds = 60.0
    """Longest time that one may wait."""
    batch: Annotated[int, Field(ge=1, le=256, strict=True)] = 16
    """Largest number of plans made together, where the teacher works better on several."""
    batch_ms: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] = 4.0
    """Time that the first plan of a batch waits for others."""
    cached_plans: Count = 4_096
    """Number of answers cached by masked request and tools; 0 caches none."""
    cached_s: Seconds = 86_400.0
    """Time that answers stay in the cache. One that names a date or an hour is kept only for the minute it was asked
    in."""


class TasksSettings(_Table):
    """The task knowledge base."""

    k: Some = 3
    """Tasks that fewer edges share are told to nobody."""


class StatisticsSettings(_Table):
    """The statistics that edges may contribute, and the prior that is made of them."""

    mode: Literal["off", "secret", "plain"] = "off"
    """`secret`: this service sees only sums over at least `k` edges, never those of one edge; `plain`: it sees each
    edge's sums, and can judge each."""
    owners: Literal["one", "many"] = "many"
    """`one`: all edges are one owner's, and priors are exact sums, from which an edge's part can be told; `many`: every
    prior has noise that hides everything an edge ever gave, and is made of `founders` edges or more."""
    k: Annotated[int, Field(ge=2, le=1_000, strict=True)] = 5
    """Least number of edges: fewer are never summed, and no prior is made from fewer."""
    group: Annotated[int, Field(ge=2, le=1_000, strict=True)] = 8
    """`secret` only: number of edges in one round; as many as exceed `k` may leave without making the round void."""
    gather_s: Seconds = 3_600.0
    """`secret` only: time that a round waits for edges."""
    turn_s: Seconds = 600.0
    """`secret` only: time that each turn of a round waits for the slowest edge."""
    least: Annotated[int, Field(ge=1, strict=True)] = 30
    """Least number of demonstrations: sums over fewer are refused."""
    most: Annotated[int, Field(ge=1, le=100_000, strict=True)] = 400
    """Largest number of demonstrations that one edge may count for in each contribution."""
    founders: Some = 1_000
    """`owners = "many"` only: least number of edges in a prior; of fewer, the noise leaves nothing."""
    epsilon: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] = 4.0
    """`owners = "many"` only: privacy loss (with `delta`) of everything an edge gave, over all priors ever made; then
    no more are made."""
    delta: Annotated[float, Field(gt=0, lt=0.01)] = 1e-6
    """`owners = "many"` only: the delta that belongs to `epsilon`."""
    priors: Annotated[int, Field(ge=1, le=1_000, strict=True)] = 2
    """`owners = "many"` only: number of priors that share `epsilon`."""
    with_public: bool = Field(default=True, strict=True)
    """Use the demonstrations that Hearth is shipped with: they are part of every prior, set how a beginner weighs
    evidence, and are used to judge what edges contribute. Costs half a minute of computing for each prior."""
    every_s: Seconds = 3_600.0
    """Least time between two priors."""
    workers: Count = 0
    """`owners = "many"` only: number of processes that merge, each below 600 MB; 0: the service's own process does."""
    ray: str = ""
    """`owners = "many"` only: address of a Ray cluster that merges instead (`ray://HOST:10001`), which has
    `hearth-cloud` installed and reaches database and object store."""

    @model_validator(mode="after")
    def _holds_to_public_acts(self) -> StatisticsSettings:
        if self.mode != "off" and self.owners == "many" and not self.with_public:
            raise ValueError(
                'owners = "many" needs with_public = true: its priors are held to what public requests mean'
            )
        return self


class CloudSettings(_Table):
    """A whole `cloud.toml`."""

    service: Service = Service()
    teacher: TeacherSettings = TeacherSettings()
    answers: AnswersSettings = AnswersSettings()
    limits: Limits = Limits()
    tasks: TasksSettings = TasksSettings()
    statistics: StatisticsSettings = StatisticsSettings()
    _folder: Path = PrivateAttr(default=Path("."))

    @property
    def folder(self) -> Path:
        """Folder of the file; its paths are relative to it."""
        return self._folder

    def path(self, written: str) -> Path:
        """Return a path from the file as an absolute path."""
        return (self._folder / Path(written).expanduser()).resolve()

    def redis_url(self, environ: Mapping[str, str] = os.environ) -> str:
        """Return Redis' address; empty where there is none. Raises: ConfigError: The variable is not set."""
        service = self.service
        return secret("redis_env", service.redis_env, "[service]", environ) if service.redis_env else service.redis

    def database_url(self, environ: Mapping[str, str] = os.environ) -> str:
        """Return the database's address, with an absolute path for SQLite. Raises: ConfigError: The variable is not
        set."""
        service = self.service
        url = service.database
        if service.database_env:
            url = secret("database_env", service.database_env, "[service]", environ)
        name, _, path = url.partition(":///")
        if name == "sqlite" and path and path != ":memory:":
            return f"sqlite:///{self.path(path)}"
        return url


def parse_cloud_settings(text: str, path: Path) -> CloudSettings:
    """Check the text of a `cloud.toml`; `path` is named in messages. Raises: ConfigError."""
    settings = parse_toml(CloudSettings, text, path)
    return settings_in(settings, path.parent)


def settings_in(settings: CloudSettings, folder: Path) -> CloudSettings:
    """Return the same settings with paths relative to `folder`."""
    settings = settings.model_copy()
    settings._folder = folder
    return settings


def read_cloud_settings(folder: Path) -> CloudSettings:
    """Read the `cloud.toml` of a folder. Raises: ConfigError: Missing, unreadable, or wrong; names the key."""
    path = folder / FILE
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise ConfigError(f"{path} has {path.stat().st_size} bytes; expected at most {_MAX_FILE_BYTES}")
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"no {FILE} in {str(folder)!r}; make one with `hearth cloud init {folder}`") from None
    except OSError as error:
        raise ConfigError(f"cannot read {str(path)!r}: {error.strerror}; mend its permissions") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8") from None
    return parse_cloud_settings(text, path)


STARTER = """\
# Settings of `hearth cloud serve`. Every key is described in docs/reference/cloud.md.

[service]
host = "127.0.0.1"   # "0.0.0.0" to be reached from other machines; put TLS before it then
port = 8420
database = "sqlite:///cloud.db"

[teacher]
kind = "none"        # "model", "merged", "student" or "recorded"

[tasks]
k = 3                # tasks that fewer edges share are told to nobody
"""
