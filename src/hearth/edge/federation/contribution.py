"""Give away what was learnt here: sums over masked demonstrations, in secret rounds or plainly, as the service asks.

The sums are computed anew from masked requests (`edge.share_policy`), so that no name is in a feature, not even hashed;
only of plans whose every tool is public (`planning.ranking.statistics.vector_layout.public_tools`, this device's own
list). Shipped demonstrations are not given: everybody has them. With fewer demonstrations than the service's minimum,
or this device's own (`LEAST`), nothing leaves.

In `secret` mode each demonstration is given once and cannot be taken back, as nobody can see its part of the sum; it is
recorded as given before its row leaves, so that a kill in between loses it rather than gives it twice. In `plain` mode
the newest sums replace those before, and `withdraw` removes them.

Covered: a service that asks for too few edges or demonstrations; names that are not public; a round that is void.
Not covered: what sums of few demonstrations tell (`docs/explanation/merging.md`); a service that makes up the other
edges of a round.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hearth.edge.cloud_link import Link
from hearth.edge.federation.secure_aggregation import Keys, Participant
from hearth.edge.share_policy import Shareable, Sharer
from hearth.errors import PlanError, RequestError, StatisticsError
from hearth.formats import edge_protocol
from hearth.formats.plan_json import demonstration_from_json
from hearth.planning.ranking.calibration.weight_fitting import digest
from hearth.planning.ranking.ranker import Student
from hearth.planning.ranking.statistics.statistics_codec import encode
from hearth.planning.ranking.statistics.sufficient_statistics import Statistics
from hearth.planning.ranking.statistics.vector_layout import Layout, public_tools
from hearth.storage.database import Store
from hearth.types import Demonstration

LEAST = 30
"""Fewest demonstrations with which anything leaves, whatever a service asks for."""
LEAST_EDGES = 3
"""Fewest edges in a secret sum."""
_SHIPPED = ("shipped",)
_ROUNDS = "/v1/statistics/rounds"


@dataclass(frozen=True, slots=True)
class Given:
    """Outcome of a contribution."""

    n_demonstrations: int
    n_edges: int
    """Number of edges in the sum that the service saw; 1 where it was given plainly."""
    reason: str = ""
    """Reason why nothing was given; empty when something was."""


def learn_masked(student: Student, store: Store, sharer: Sharer, *, is_fresh: bool) -> dict[str, tuple[str, str]]:
    """Teach a blank student the home's demonstrations, masked. Maps the student's ids to id and digest here.

    Args:
        is_fresh: Only those that were not given in secret before.
    """
    known = {(row[0], row[1]) for row in store.query("SELECT id, digest FROM statistics_given")} if is_fresh else set()
    rows = store.query("SELECT id, digest, source FROM demonstration WHERE source NOT IN (?) ORDER BY id", _SHIPPED)
    found: list[Demonstration] = []
    learnt: dict[str, tuple[str, str]] = {}
    for row in rows:
        if (row["id"], row["digest"]) in known:
            continue
        masked = sharer.shareable(f"s{len(learnt)}", row["id"], row["digest"])
        if not isinstance(masked, Shareable):
            continue
        try:
            found.append(demonstration_from_json(json.loads(masked.payload)))
        except (ValueError, PlanError, RequestError):
            continue
        learnt[found[-1].id] = (row["id"], row["digest"])
    student.learn(found)
    return learnt


@dataclass(frozen=True, slots=True)
class Pace:
    """How a device waits for the others of a round."""

    clock: Callable[[], dt.datetime]
    wait: Callable[[float], None]
    """Sleeps for that many seconds."""
    give_up_s: float = 7_200.0
    """How long a round may take in all."""


def give(
    link: Link,
    store: Store,
    student: Student,
    sharer: Sharer,
    profile: edge_protocol.Profile,
    pace: Pace,
) -> Given:
    """Give what was learnt here, as the service asks for it.

    Args:
        student: Blank, of this device's profile and the home's encoder.
    Raises:
        LinkError: The service was not reached, or refused. StatisticsError: A round was not as it should be.
    """
    terms = link.ask("GET", "/v1/statistics", edge_protocol.StatisticsTerms, reason="statistics")
    if terms.owners == "many" and terms.epsilon is None:
        return Given(0, 0, "the service merges many owners' devices and does not say what noise hides them")
    if terms.mode == "secret" and terms.k < LEAST_EDGES:
        return Given(0, 0, f"the service sums {terms.k} edges; this device asks for {LEAST_EDGES} and gave nothing")
    learnt = learn_masked(student, store, sharer, is_fresh=terms.mode == "secret")
    allowed = public_tools()
    layout = None
    if terms.mode == "secret":
        sequences = tuple(sorted(one for one in terms.sequences if allowed.issuperset(one)))
        if len(sequences) != len(terms.sequences):
            return Given(0, 0, "the service names tools that are not public; update Hearth, or ask its keeper")
        layout = Layout(student.encoder_name, student.reader.dim, student.options.reading, sequences)
    chosen = _chosen(student, allowed, layout, terms.most)
    found = student.statistics(allowed, ids=chosen)
    if found.n_demonstrations < max(terms.least, LEAST):
        reason = f"{found.n_demonstrations} demonstrations can be given, {max(terms.least, LEAST)} are needed"
        return Given(0, 0, f"{reason}: sums of fewer would say too much about each")
    if layout is None:
        return _plainly(link, found)
    given = [learnt[id] for id in chosen]
    return _Turn(link, store, layout, found, given, profile, pace).run()


def _chosen(student: Student, allowed: frozenset[str], layout: Layout | None, most: int) -> list[str]:
    """Return ids of at most `most` demonstrations that may be given, chosen by their hash."""
    listed = set(layout.sequences) if layout is not None else None
    sequences = {id: student.taught(id).sequence for id in student.ids}
    fits = [id for id, one in sequences.items() if allowed.issuperset(one) and (listed is None or one in listed)]
    return sorted(fits, key=digest)[:most]


def _plainly(link: Link, found: Statistics) -> Given:
    id = f"s{found.digest[:32]}"
    receipt = link.give("/v1/statistics", id, encode(found))
    refused = next((one.reason for one in receipt.refused), "")
    return Given(0, 0, f"the service did not take it: {refused}") if refused else Given(found.n_demonstrations, 1)


@dataclass(eq=False)
class _Turn:
    """The part of one edge in one round."""

    link: Link
    store: Store
    layout: Layout
    found: Statistics
    given: Sequence[tuple[str, str]]
    """Ids and digests of what the sums are over."""
    profile: edge_protocol.Profile
    pace: Pace
    _edge: Participant = field(default_factory=lambda: Participant(least=LEAST_EDGES), init=False)
    _n_edges: int = field(default=0, init=False)

    def run(self) -> Given:
        """Take turn after turn until the round is over or time runs out."""
        keys, give_up_s = self._edge.keys, self.pace.give_up_s
        asked = edge_protocol.RoundAsked(
            id=_id(), profile=self.profile, sealing=_text(keys.sealing), masking=_text(keys.masking)
        )
        told = self._post("", asked)
        done: set[str] = set()
        waited_s = 0.0
        while told.state not in ("done", "void", "none"):
            if told.state not in done and told.state != "gathering":
                done.add(told.state)
                told = self._step(told)
                continue
            if waited_s >= give_up_s:
                return Given(0, 0, f"the round was not over after {waited_s:.0f} s; nothing was seen of this device")
            pause_s = max(min(told.retry_after_s, give_up_s - waited_s), 0.1)
            self.pace.wait(pause_s)
            waited_s += pause_s
            told = self.link.ask("GET", _ROUNDS, edge_protocol.RoundTold, reason="statistics")
        if told.state != "done":
            return Given(0, 0, told.reason or "the service has ended the round; nothing was seen")
        return Given(self.found.n_demonstrations, self._n_edges)

    def _step(self, told: edge_protocol.RoundTold) -> edge_protocol.RoundTold:
        edge = self._edge
        if told.state == "shares":
            edge.round_id = told.round
            everyone = {name: Keys(_raw(a), _raw(b)) for name, (a, b) in told.everyone.items()}
            boxes = edge.share(everyone, told.threshold)
            return self._post(f"/{told.round}/shares", edge_protocol.SharesSent(id=_id(), boxes=_texts(boxes)))
        if told.state == "rows":
            hidden = edge.hide(self.layout.row(self.found), {name: _raw(box) for name, box in told.boxes.items()})
            self._note()
            body = hidden.astype("<u8").tobytes()
            path = f"{_ROUNDS}/{told.round}/row"
            return self.link.ask("POST", path, edge_protocol.RoundTold, reason="statistics", body=body)
        seeds, keys = edge.open(told.arrived)
        self._n_edges = len(told.arrived)
        return self._post(
            f"/{told.round}/opening", edge_protocol.OpeningSent(id=_id(), seeds=_texts(seeds), keys=_texts(keys))
        )

    def _note(self) -> None:
        at = self.pace.clock().isoformat(timespec="seconds")
        with self.store.transaction() as cursor:
            cursor.executemany(
                "INSERT OR REPLACE INTO statistics_given (id, digest, at) VALUES (?, ?, ?)",
                [(id, sha256, at) for id, sha256 in sorted(self.given)],
            )

    def _post(self, path: str, message: edge_protocol.Message) -> edge_protocol.RoundTold:
        body = message.model_dump_json().encode()
        return self.link.ask("POST", f"{_ROUNDS}{path}", edge_protocol.RoundTold, reason="statistics", body=body)


def withdraw(link: Link) -> bool:
    """Take what was given plainly out of all later priors; return whether there was any. Raises: LinkError."""
    return bool(link.ask("DELETE", "/v1/statistics", edge_protocol.Receipt, reason="statistics").accepted)


def _id() -> str:
    return f"s{secrets.token_hex(8)}"


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _texts(many: Mapping[str, bytes]) -> dict[str, str]:
    return {name: _text(data) for name, data in many.items()}


def _raw(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise StatisticsError("the service told a key or a share that is not base64; the round is left") from None
