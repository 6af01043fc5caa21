"""`cloud.toml`: what the service offers, who teaches, and what one edge may ask of it; checked, or a message that names
the key and the fix. Secrets are never written in it: keys ending in `_env` name an environment variable.

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
    """Where it listens and what it keeps."""

    host: str = "127.0.0.1"
    """Address to listen at; `0.0.0.0` for all of this machine."""
    port: int = Field(default=8420, ge=0, le=65535, strict=True)
    """0 takes any free one."""
    name: str = Field(default="hearth cloud", min_length=1, max_length=100)
    """What edges are told they speak with."""
    database: str = "sqlite:///cloud.db"
    """`sqlite:///FILE`, or `postgresql://USER@HOST/NAME`."""
    database_env: str = ""
    """Environment variable that holds the database's address, instead of `database`: one with a password."""
    key_file: str = "cloud.key"
    """The key that priors are signed with; made by `hearth cloud init`."""
    tls_cert_file: str = ""
    """PEM file of its certificate; empty: no TLS here, a proxy before it has to."""
    tls_key_file: str = ""
    """PEM file of the certificate's key, where it is not in the same file."""
    workers: Some = 1
    """Processes that serve; each holds a teacher of its own."""
    metrics: bool = Field(default=True, strict=True)
    """Tell numbers at `/metrics`, to anyone who asks."""
    sedna_service: str = Field(default="", pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,62})?$")
    """Name under which Sedna's joint inference finds it: `POST /NAME/predict`; empty: not at all. Sedna's clients carry
    no token, so name one only where the network lets none but its workers in."""
    pointers: bool = Field(default=False, strict=True)
    """Take `POST /v1/pointers` from KubeEdge's router, which carries no token: how much waits at which edge. It is
    counted and logged, and nothing rests on it."""
    shutdown_s: Seconds = 10.0
    """How long requests under way may take after it was told to stop."""


class TeacherSettings(_Table):
    """Who answers `POST /v1/plans`."""

    kind: Literal["none", "model", "merged", "student", "recorded"] = "none"
    """`model`: an OpenAI-compatible endpoint; `merged`: a student of what edges' statistics say, as soon as there is a
    prior, which knows nobody's words; `student`: one that this service has in a folder; `recorded`: a file in the plan
    format."""
    base_url: str = ""
    """Of `model`: up to `/v1`."""
    model: str = ""
    """Of `model`: its name there."""
    api_key_env: str = ""
    """Of `model`: environment variable that holds the key."""
    timeout_s: Seconds = 60.0
    """Of `model`: how long one answer may take."""
    parallel: Annotated[int, Field(ge=1, le=64, strict=True)] = 4
    """Of `model`: questions under way at once."""
    path: str = ""
    """Of `student`: its folder; of `recorded`: the file."""
    profile: Literal["small", "medium", "large"] = "large"
    """Of `merged`: of which prior; a smaller one is quicker and knows a little less."""
    arguments: Literal["edge", "finders", "reader"] = "finders"
    """Of `merged` and `student`: who fills the arguments of calls. `edge` leaves them all to the device, which knows
    the owner's own words; `finders` fills dates, numbers and the like; `reader` reads words, too, and takes several
    times as long."""

    @model_validator(mode="after")
    def _is_whole(self) -> TeacherSettings:
        needed = {"model": ("base_url", "model"), "student": ("path",), "recorded": ("path",)}.get(self.kind, ())
        for key in needed:
            if not getattr(self, key):
                raise ValueError(f"key {key!r} is missing; a teacher of kind {self.kind!r} needs it")
        return self


class AnswersSettings(_Table):
    """Who answers `POST /v1/answers`."""

    kind: Literal["none", "model", "recorded"] = "none"
    """`model`: an OpenAI-compatible endpoint; `recorded`: a file of lines `{"question", "text", "items"}`."""
    base_url: str = ""
    """Of `model`: up to `/v1`."""
    model: str = ""
    """Of `model`: its name there."""
    api_key_env: str = ""
    """Of `model`: environment variable that holds the key."""
    timeout_s: Seconds = 60.0
    """Of `model`: how long one answer may take."""
    parallel: Annotated[int, Field(ge=1, le=64, strict=True)] = 4
    """Of `model`: questions under way at once."""
    path: str = ""
    """Of `recorded`: the file."""

    @model_validator(mode="after")
    def _is_whole(self) -> AnswersSettings:
        needed = {"model": ("base_url", "model"), "recorded": ("path",)}.get(self.kind, ())
        for key in needed:
            if not getattr(self, key):
                raise ValueError(f"key {key!r} is missing; answers of kind {self.kind!r} need it")
        return self


class Limits(_Table):
    """What one edge may ask of it. Counted for each process by the second, for all of them by the day."""

    requests_per_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 20.0
    """On the long run; more is answered with 429."""
    burst: Some = 40
    """At once, after a rest."""
    plans_per_day: Count = 5_000
    """Those that the teacher makes; answers that were kept cost nothing."""
    answers_per_day: Count = 1_000
    """Of general knowledge."""
    demonstrations_per_day: Count = 10_000
    """Lines, whether they are new or not."""
    new_tools_per_day: Count = 5_000
    """Descriptions of tools that this process has not kept: each costs the teacher some work."""
    received_bytes_per_day: Count = 500_000_000
    """Of request bodies, inflated."""
    sent_bytes_per_day: Count = 2_000_000_000
    """Of priors and adapters."""
    body_bytes: Some = 2_000_000
    """Of one request, as it is sent and once inflated."""
    statistics_bytes: Some = 64_000_000
    """Of one body of `/v1/statistics`, as it is sent and once inflated."""
    body_s: Seconds = 30.0
    """How long one request may take to arrive."""
    waiting: Some = 256
    """Plans that may wait for the teacher; more are answered with 503."""
    wait_s: Seconds = 60.0
    """How long one may wait."""
    batch: Annotated[int, Field(ge=1, le=256, strict=True)] = 16
    """Plans made together, where the teacher gains by it."""
    batch_ms: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] = 4.0
    """How long the first of a batch waits for others."""
    cached_plans: Count = 4_096
    """Answers kept by masked request and tools; 0 keeps none."""
    cached_s: Seconds = 86_400.0
    """For so long. An answer that names a date or an hour is kept for the minute it was asked in."""


class TasksSettings(_Table):
    """The task knowledge base."""

    k: Some = 3
    """Tasks fewer edges share are told to nobody."""


class StatisticsSettings(_Table):
    """What edges may give of what they learnt, and what is made of it."""

    mode: Literal["off", "secret", "plain"] = "secret"
    """`secret`: this service sees sums over at least `k` edges, never one edge's; `plain`: it sees each edge's sums,
    and can judge each."""
    k: Annotated[int, Field(ge=2, le=1_000, strict=True)] = 5
    """Fewer edges are never summed, and no prior is made of fewer."""
    group: Annotated[int, Field(ge=2, le=1_000, strict=True)] = 8
    """Of `secret`: edges in one round; as many as may leave without voiding it are above `k`."""
    gather_s: Seconds = 3_600.0
    """Of `secret`: how long a round waits for edges."""
    turn_s: Seconds = 600.0
    """Of `secret`: how long each of its turns waits for the slowest."""
    least: Annotated[int, Field(ge=1, strict=True)] = 30
    """Demonstrations below which an edge's sums are refused."""
    most: Annotated[int, Field(ge=1, le=100_000, strict=True)] = 400
    """Demonstrations that one edge may count for, each time it gives."""
    rho: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Zero-concentrated privacy loss of each prior for all that one edge gave at once; 0 adds no noise."""
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-6
    """With which the manifest's epsilon goes."""
    with_public: bool = Field(default=True, strict=True)
    """Know the demonstrations that Hearth is shipped with: they are in every prior, say how a beginner weighs evidence,
    and judge what edges give. Costs half a minute of computing for each prior."""
    every_s: Seconds = 3_600.0
    """A new prior is made at most so often."""


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
        """Where the file is; its paths are relative to it."""
        return self._folder

    def path(self, written: str) -> Path:
        """A path of the file, absolute."""
        return (self._folder / Path(written).expanduser()).resolve()

    def database_url(self, environ: Mapping[str, str] = os.environ) -> str:
        """Where the database is, SQLite's file absolute. Raises: ConfigError: The variable is not set."""
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
    """The same settings with paths relative to `folder`."""
    settings = settings.model_copy()
    settings._folder = folder
    return settings


def read_cloud_settings(folder: Path) -> CloudSettings:
    """The `cloud.toml` of a folder. Raises: ConfigError: Missing, unreadable, or wrong; names the key."""
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
