"""Define the messages between an edge and its cloud, protocol version 1, and how they are signed.

Both sides read with these models and nothing else. A newer peer may add fields: they are ignored. Fields an older peer
may leave out have a default. Every request carries `Hearth-Protocol: N`; a server answers one below `OLDEST` or above
`VERSION` with 426 and says which it speaks. A request that changes something carries its `id` also as
`Idempotency-Key`: sent again, it has its effect once and the same answer.

Covered: shape, length, ranges of every field; that a manifest was signed by the key an edge joined with. Not covered:
whether a plan is runnable or wise (`formats.plans`, the guard), whether a request was masked before
(`guard.deidentify.masker`: a server cannot know), who sent it (tokens are the service's).
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from hearth.errors import WireError

VERSION, OLDEST = 1, 1
"""Newest and oldest protocol spoken here."""
PROTOCOL_HEADER = "Hearth-Protocol"
IDEMPOTENCY_HEADER = "Idempotency-Key"
NOTICE_HEADER = "Hearth-Notice"
"""Header for a notice a service adds to any answer: `two-agents` where another agent uses the same token, too."""
INSTANCE_HEADER = "Hearth-Instance"
"""Header for a name (`Id`) an edge drew for itself on joining. Where two edges use one token in turn, each answer says
so (`NOTICE_HEADER`), and a request that would change something gets 409 with the code `identity`: nobody knows whose it
is."""
MAX_TOOLS = 512
MAX_TEXT = 8_000
"""Most characters of any free text."""
MAX_BATCH = 256
MAX_TOKENS = 100_000_000
"""Most tokens of one answer: a budget counts them."""
MAX_ADAPTER_BYTES = 100_000_000
"""Largest adapter a service offers and an edge takes."""
MAX_COUNT = 2**53
"""Largest whole number that is the same in every JSON and fits every database."""

_ID = r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}"
Id = Annotated[str, Field(pattern=f"^{_ID}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, Field(max_length=MAX_TEXT)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def is_id(text: str) -> bool:
    """Say whether the text is an `Id`."""
    return re.fullmatch(_ID, text) is not None


class Message(BaseModel):
    """Anything that is sent between edge and cloud."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Problem(Message):
    """The body of every answer that is no success."""

    code: Annotated[str, Field(pattern=r"^[a-z_]{2,40}$")]
    """For programs: `protocol`, `token`, `quota`, `rate`, `size`, `shape`, `busy`, `no_teacher`, `quarantined` …"""
    detail: Text
    """For people: what happened, what was expected, what to do."""
    retry_after_s: Annotated[float, Field(ge=0, le=86_400)] | None = None
    """Seconds until it may be sent again; None: never as it is."""


class Hello(Message):
    """`GET /v1/hello`: the service introduces itself."""

    server: Text
    oldest: int
    newest: int
    public_key: str
    """Ed25519, base64 of 32 bytes; manifests are signed with its private key."""
    features: tuple[str, ...] = ()
    """Services offered: `plans`, `answers`, `statistics`, `prior`, `adapter`, `tasks`, `demonstrations`."""


# ── Teaching ──────────────────────────────────────────────────────────────────────────────────────────────


class PlanAsked(Message):
    """`POST /v1/plans`."""

    id: Id
    request: Annotated[str, Field(min_length=1, max_length=4_000)]
    """Masked by the edge."""
    now: AwareDatetime
    tools: Annotated[tuple[dict[str, Any], ...], Field(max_length=MAX_TOOLS)]
    """Tool descriptions, as `nodes` of a `tool_desc.json`."""
    tools_sha256: Sha256 | None = None
    """Hash (`tools_hash`) of tools sent before; `tools` is then empty. A service that does not know the hash answers
    409 with code `tools`, and the tools are sent once."""


def tools_hash(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the hash for `PlanAsked.tools_sha256`: that of the tools' canonical JSON."""
    said = json.dumps(tools, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


class Refused(Message):
    """A planner's refusal to plan; as `types.Refusal`."""

    kind: Literal["needs", "out_of_scope", "unreadable"]
    reason: Text
    missing: Annotated[tuple[str, ...], Field(max_length=32)] = ()


class PlanGiven(Message):
    """The answer to `PlanAsked`: a plan or a refusal. An edge checks the plan like any other."""

    id: Id
    plan: dict[str, Any] | None = None
    """One object of the plan format."""
    refusal: Refused | None = None
    missing: Annotated[tuple[Annotated[str, Field(max_length=200)], ...], Field(max_length=256)] = ()
    """`tool.parameter` of each required value of the plan that is left to the edge, which knows its owner's words."""
    confidence: Share = 0.0
    teacher: Annotated[str, Field(max_length=200)] = ""
    """Name of the model that answered."""
    n_tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS)] = 0


class AnswerAsked(Message):
    """`POST /v1/answers`: a question of general knowledge."""

    id: Id
    question: Annotated[str, Field(min_length=1, max_length=4_000)]
    """Masked by the edge."""
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en"


class Item(Message):
    """One of several things an answer proposes: a dish, a place, a film."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    text: Text = ""
    tags: Annotated[tuple[Annotated[str, Field(max_length=60)], ...], Field(max_length=64)] = ()
    """Ingredients, needs or surroundings in plain words: an edge compares them with what it knows of its owner."""


class AnswerGiven(Message):
    """The answer to `AnswerAsked`."""

    id: Id
    text: Text
    items: Annotated[tuple[Item, ...], Field(max_length=64)] = ()
    """Items, best first; the cloud ranks them without knowing the owner."""
    teacher: Annotated[str, Field(max_length=200)] = ""
    n_tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS)] = 0


# ── What edges give ───────────────────────────────────────────────────────────────────────────────────────


class DemonstrationsSent(Message):
    """`POST /v1/demonstrations`: masked requests with their plans, for the task knowledge base."""

    id: Id
    demonstrations: Annotated[tuple[dict[str, Any], ...], Field(min_length=1, max_length=MAX_BATCH)]
    """Lines of the plan format; each with an `id` of the edge's own choosing that never changes."""


class Turned(Message):
    """An item that was refused."""

    id: str
    reason: Text


class Receipt(Message):
    """Outcome of a sending; every id sent is in exactly one of the three."""

    id: Id
    accepted: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    """Ids that had been accepted before: nothing was done again."""
    refused: tuple[Turned, ...] = ()


MAX_POINTER_BYTES = 511
"""Largest pointer: KubeEdge's device twins and EventBus are for values below 512 bytes."""


class Pointer(Message):
    """`POST /v1/pointers`: how much waits at an edge, where only a few hundred bytes pass (KubeEdge's EventBus).

    It announces what the edge sends by itself over HTTPS, and holds none of it. Nobody signs it: it is only counted,
    and nothing relies on it.
    """

    edge: Id
    """The name the edge drew for itself on joining (`INSTANCE_HEADER`), not its owner's."""
    kind: Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]
    waiting: Annotated[int, Field(ge=0, le=10_000_000)]
    at: AwareDatetime

    def to_bytes(self) -> bytes:
        """Encode the pointer. Raises: WireError: It would be too large."""
        body = self.model_dump_json().encode()
        if len(body) > MAX_POINTER_BYTES:
            raise WireError(f"a pointer has {len(body)} bytes; at most {MAX_POINTER_BYTES} pass")
        return body


# ── What edges take ───────────────────────────────────────────────────────────────────────────────────────


class Manifest(Message):
    """`GET /v1/prior`, `GET /v1/adapter`: what may be fetched at `/v1/blobs/SHA256`, signed."""

    kind: Literal["prior", "adapter"]
    sha256: Sha256
    n_bytes: Annotated[int, Field(ge=1, le=MAX_COUNT)]
    fingerprint: Annotated[str, Field(max_length=200)]
    """Fingerprint of the features it fits, or for an adapter of the model; an edge with others does not use it."""
    n_edges: Annotated[int, Field(ge=0, le=MAX_COUNT)] = 0
    n_demonstrations: Annotated[int, Field(ge=0, le=MAX_COUNT)] = 0
    epsilon: Annotated[float, Field(ge=0)] | None = None
    """Privacy loss of everything one edge gave, in this and all priors before; None: no noise was added."""
    delta: Annotated[float, Field(ge=0, lt=1)] | None = None
    """The δ that belongs to `epsilon`."""
    serial: Annotated[int, Field(ge=0, le=MAX_COUNT)] = 0
    """Serial number that grows with each; an edge never goes back to a lower one, so an old one cannot be replayed."""
    made: AwareDatetime
    signature: str = ""
    """Ed25519 over `to_sign()`, base64."""

    def to_sign(self) -> bytes:
        """Return the canonical bytes that are signed."""
        left_out = {"signature", "made"} | ({"delta"} if self.delta is None else set())
        body = {"v": 1, **self.model_dump(mode="json", exclude=left_out)}
        body["made"] = self.made.astimezone(dt.UTC).isoformat()
        return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()

    def signed(self, key: Ed25519PrivateKey) -> Manifest:
        """Return the manifest with its signature."""
        return self.model_copy(update={"signature": base64.b64encode(key.sign(self.to_sign())).decode()})

    def check(self, public_key: str) -> None:
        """Check the signature. Raises: WireError: It was not signed by the holder of `public_key` (base64)."""
        try:
            key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
            key.verify(base64.b64decode(self.signature, validate=True), self.to_sign())
        except (InvalidSignature, ValueError):
            raise WireError(
                f"the {self.kind} {self.sha256[:12]}… is not signed by the service this device joined; it was not "
                "taken; if the service has a new key, join it again with `hearth edge join`"
            ) from None


class TaskEntry(Message):
    """A task of the knowledge base."""

    name: Text
    tools: tuple[str, ...]
    n_demonstrations: Annotated[int, Field(ge=0)]
    n_edges: Annotated[int, Field(ge=0)]


class TasksGiven(Message):
    """`GET /v1/tasks`. Only tasks that at least `k` edges share are told."""

    tasks: tuple[TaskEntry, ...]
    k: Annotated[int, Field(ge=1)]


# ── Statistics ────────────────────────────────────────────────────────────────────────────────────────────

Profile = Literal["small", "medium", "large"]
Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{43}=$")]
"""Base64 of 32 bytes."""
Alias = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
"""Name of an edge in a round: a hash of the keys it shows there. Other edges see no real name."""
Sealed = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/=]{1,400}$")]
"""Base64 of a share, sealed or not."""
ToolSequence = Annotated[tuple[Annotated[str, Field(max_length=100)], ...], Field(min_length=1, max_length=12)]


class StatisticsTerms(Message):
    """`GET /v1/statistics`: what may be given, and how."""

    mode: Literal["secret", "plain"]
    """`secret`: in rounds, where the service sees sums over at least `k` edges; `plain`: at `POST /v1/statistics`."""
    k: Annotated[int, Field(ge=1)]
    least: Annotated[int, Field(ge=1)]
    """Fewest demonstrations that are taken: fewer would say too much about each."""
    most: Annotated[int, Field(ge=1)]
    """Most demonstrations that one edge may count for, each time."""
    sequences: Annotated[tuple[ToolSequence, ...], Field(max_length=20_000)] = ()
    """Sequences of public tools: only these have a place in secret sums."""
    owners: Literal["one", "many"] = "one"
    """`one`: sums are exact, for the devices of one owner; `many`: they are hidden in noise."""
    founders: Annotated[int, Field(ge=0)] = 0
    """`many`: least number of edges in a prior."""
    epsilon: Annotated[float, Field(gt=0)] | None = None
    """`many`: privacy loss, with `delta`, of everything an edge gives, over all priors."""
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None


class RoundAsked(Message):
    """`POST /v1/statistics/rounds`: an edge asks to take part in the next round."""

    id: Id
    profile: Profile
    sealing: Key
    masking: Key


class RoundTold(Message):
    """`GET /v1/statistics/rounds`: the state of the edge's round, and what the edge needs for its turn."""

    state: Literal["none", "gathering", "shares", "rows", "opening", "done", "void"]
    round: Annotated[str, Field(max_length=100)] = ""
    profile: Profile = "large"
    threshold: Annotated[int, Field(ge=0)] = 0
    everyone: Annotated[dict[Alias, tuple[Key, Key]], Field(max_length=1_000)] = {}
    """Keys of all who take part, for sealing and for masking. Sent at `shares`."""
    boxes: Annotated[dict[Alias, Sealed], Field(max_length=1_000)] = {}
    """Shares that others sealed for this edge. Sent at `rows`."""
    arrived: Annotated[tuple[Alias, ...], Field(max_length=1_000)] = ()
    """Edges whose rows came. Sent at `opening`."""
    reason: Text = ""
    """Reason why the round is void."""
    retry_after_s: Annotated[float, Field(ge=0, le=86_400)] = 60.0
    """Seconds until the edge should ask again."""


class SharesSent(Message):
    """`POST /v1/statistics/rounds/ROUND/shares`."""

    id: Id
    boxes: Annotated[dict[Alias, Sealed], Field(max_length=1_000)]


class OpeningSent(Message):
    """`POST /v1/statistics/rounds/ROUND/opening`."""

    id: Id
    seeds: Annotated[dict[Alias, Sealed], Field(max_length=1_000)]
    keys: Annotated[dict[Alias, Sealed], Field(max_length=1_000)] = {}


M = TypeVar("M", bound=Message)


def read(model: type[M], body: bytes) -> M:
    """Read a message from untrusted bytes.

    Raises:
        WireError: It is no JSON, or not of the message's shape; names the first field that is wrong.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise WireError(f"a {model.__name__} was expected, and {where} is not right: {first['msg']}") from None
