"""Give away what was learnt here: sums over masked demonstrations, in secret rounds or plainly, as the service asks.

The sums are computed anew from masked requests (`edge.outbox`), so that no name is in a feature, not even hashed;
only of plans whose every tool is public (`planning.ranking.sufficient_statistics.public_tools`, this device's own
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
import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from hearth.edge.cloud_link import Link
from hearth.edge.outbox import Shareable, Sharer
from hearth.errors import PlanError, RequestError, StatisticsError
from hearth.formats import edge_protocol
from hearth.formats.plans import demonstration_from_json
from hearth.planning.ranking.ranker import Ranker
from hearth.planning.ranking.sufficient_statistics import Layout, Statistics, encode, public_tools
from hearth.planning.ranking.weight_fitting import digest
from hearth.storage.database import Store
from hearth.types import Demonstration

# ── Rows under masks ───────────────────────────────────────────────────────────────────────────────────
# Take part in a secure sum: an edge's row leaves it under masks that cancel in the total, so nobody sees it. Four
# turns. *Keys*: every edge shows two X25519 public keys. *Shares*: each splits its second private key and the seed of
# its own mask among all (Shamir), sealed for each of them with the first keys. *Row*: it sends its row plus its own
# mask plus one mask for each other edge, agreed with the second keys; one of the two adds it, the other subtracts it.
# *Opening*: for edges whose rows came, the others show their shares of the own mask's seed; for edges that shared but
# whose row did not come, their shares of the key, so that the masks left in others' rows can be removed. Never both for
# one edge. With fewer than `threshold` edges at any turn there is no sum, and nothing is seen.
# Source:
#     Bonawitz et al. 2017, Practical secure aggregation for privacy-preserving machine learning, figure 4 (the
#     variant
#     against honest but curious servers), https://doi.org/10.1145/3133956.3133982; Shamir 1979.
# Covered: rows are seen by nobody; edges that leave at any turn; shares that are malformed, from strangers or sent
# twice; a service that asks for both halves of one edge, or to open for fewer than the threshold; a service that
# tells of fewer than `threshold` edges. Not covered: a service that makes up edges of its own, or tells edges
# different lists (the paper's other variant needs keys that vouch for edges: here the service's tokens do that); an
# edge that sends a wrong row (`hearth_cloud.statistics.robust_merge` judges sums).


Row = NDArray[np.uint64]
"""Whole numbers modulo 2⁶⁴."""
KEY_BYTES = 32
SEALED_BYTES = 12 + 2 * 66 + 16
"""Size of the shares for one other edge: nonce, two shares, tag."""
_PRIME = 2**521 - 1
"""Shares are numbers below it: a key of 32 bytes fits, and so does a share in 66."""
_SHARE_BYTES = 66


def stream(key: bytes, n: int) -> Row:
    """Return `n` numbers of a cipher's stream, the same for the same key (ChaCha20, RFC 8439; keys are used once)."""
    cipher = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    return np.frombuffer(cipher.update(bytes(8 * n)), dtype="<u8").astype(np.uint64)


# ── Shamir ────────────────────────────────────────────────────────────────────────────────────────────────


def split(secret: bytes, places: Sequence[int], threshold: int) -> dict[int, bytes]:
    """Split a secret into a share per place (1 and above); any `threshold` shares restore it, fewer tell nothing."""
    if not 1 <= threshold <= len(set(places)) or min(places) < 1:
        raise ValueError(
            f"threshold {threshold!r} must be from 1 to the number of places, which begin at 1: {places!r}"
        )
    factors = [int.from_bytes(secret, "big"), *(secrets.randbelow(_PRIME) for _ in range(threshold - 1))]
    found = {}
    for place in places:
        value = 0
        for factor in reversed(factors):
            value = (value * place + factor) % _PRIME
        found[place] = value.to_bytes(_SHARE_BYTES, "big")
    return found


def joined(shares: Mapping[int, bytes], threshold: int, n_bytes: int = KEY_BYTES) -> bytes:
    """Restore a secret from its shares.

    Raises:
        StatisticsError: Too few, or what they give is no secret of that length: one of them is wrong.
    """
    if len(shares) < threshold:
        raise StatisticsError(f"{len(shares)} shares came, {threshold} are needed; nothing is opened")
    chosen = sorted(shares.items())[:threshold]
    secret = 0
    for place, share in chosen:
        over, under = 1, 1
        for other, _ in chosen:
            if other != place:
                over, under = over * other % _PRIME, under * (other - place) % _PRIME
        secret = (secret + int.from_bytes(share, "big") * over * pow(under, -1, _PRIME)) % _PRIME
    try:
        return secret.to_bytes(n_bytes, "big")
    except OverflowError:
        raise StatisticsError("the shares do not belong together; nothing is opened") from None


# ── An edge ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Keys:
    """An edge's two public keys, 32 bytes each."""

    sealing: bytes
    """Key that seals shares for this edge."""
    masking: bytes


def alias_of(keys: Keys) -> str:
    """Return an edge's name in a round, a hash of its keys that does not tell who it is."""
    return hashlib.sha256(keys.sealing + keys.masking).hexdigest()[:32]


class Participant:
    """One edge in one round. Keep it in memory only; to leave a round, drop it."""

    def __init__(self, round_id: str = "", edge: str = "", least: int = 3) -> None:
        """Make the keys of a round.

        Args:
            round_id: Set it before `share` where it is not known yet.
            edge: Its name among the others; by default that of its keys.
            least: With fewer edges than this the row does not leave; the edge's own bound, whatever a service says.
        """
        if least < 2:
            raise ValueError(f"least {least!r} must be at least 2: a sum of one is no secret")
        self.round_id, self.least = round_id, least
        self._sealing, self._masking = X25519PrivateKey.generate(), X25519PrivateKey.generate()
        self.edge = edge or alias_of(self.keys)
        self._own = secrets.token_bytes(KEY_BYTES)
        self._everyone: dict[str, Keys] = {}
        self._threshold = 0
        self._shares: dict[str, tuple[bytes, bytes]] = {}
        self._has_sent = self._has_opened = False

    @property
    def keys(self) -> Keys:
        return Keys(self._sealing.public_key().public_bytes_raw(), self._masking.public_key().public_bytes_raw())

    def share(self, everyone: Mapping[str, Keys], threshold: int) -> dict[str, bytes]:
        """Return sealed shares for every other edge.

        Raises:
            StatisticsError: Too few edges; two with one key; a threshold that half of them could reach; mine missing.
        """
        if self._everyone:
            raise StatisticsError("shares were given in this round already; wait for the next")
        if everyone.get(self.edge) != self.keys:
            raise StatisticsError("the list of edges does not have this edge as it is; the round is left")
        if len(everyone) < self.least:
            raise StatisticsError(f"{len(everyone)} edges take part, this one asks for {self.least}; the round is left")
        if not max(self.least, len(everyone) // 2 + 1) <= threshold <= len(everyone):
            raise StatisticsError(f"a threshold of {threshold} of {len(everyone)} edges is not safe; the round is left")
        shown = [key for keys in everyone.values() for key in (keys.sealing, keys.masking)]
        if len(set(shown)) != len(shown):
            raise StatisticsError("two edges show one key; the round is left")
        self._everyone, self._threshold = dict(sorted(everyone.items())), threshold
        places = {edge: place for place, edge in enumerate(self._everyone, 1)}
        keys = split(self._masking.private_bytes_raw(), list(places.values()), threshold)
        seeds = split(self._own, list(places.values()), threshold)
        self._shares[self.edge] = keys[places[self.edge]], seeds[places[self.edge]]
        return {
            edge: self._sealed(edge, keys[place] + seeds[place]) for edge, place in places.items() if edge != self.edge
        }

    def hide(self, row: Row, sealed: Mapping[str, bytes]) -> Row:
        """Return the row under its masks.

        Args:
            sealed: By edge, what those who shared sealed for this one; the others have left.
        Raises:
            StatisticsError: Too few are left; shares of strangers, or that cannot be opened.
        """
        if self._has_sent or not self._everyone:
            raise StatisticsError("a row is sent once in a round, after the shares; wait for the next round")
        for edge, box in sealed.items():
            if edge == self.edge or edge not in self._everyone:
                raise StatisticsError(f"shares of {edge!r} came, which takes no part; the round is left")
            self._shares[edge] = self._unsealed(edge, box)
        if len(self._shares) < self._threshold:
            raise StatisticsError(f"{len(self._shares)} edges shared, {self._threshold} are needed; the round is left")
        self._has_sent = True
        hidden = np.asarray(row, dtype=np.uint64) + stream(self._own, len(row))
        for edge in self._shares:
            if edge != self.edge:
                mask = pair_mask(self._masking, self._everyone[edge].masking, self.round_id, len(row))
                hidden = hidden + mask if self.edge < edge else hidden - mask
        return hidden

    def open(self, arrived: Sequence[str]) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """Return shares of the mask seeds of edges whose rows arrived, and of the keys of those whose did not.

        Raises:
            StatisticsError: Too few rows arrived; strangers; asked for twice.
        """
        came = set(arrived)
        if self._has_opened or not self._has_sent:
            raise StatisticsError("a round is opened once, after the rows; wait for the next round")
        if not came <= self._shares.keys() or self.edge not in came or len(came) < self._threshold:
            raise StatisticsError(
                f"rows of {len(came)} edges are said to have arrived, {self._threshold} of those who shared are "
                "needed; nothing is opened"
            )
        self._has_opened = True
        seeds = {edge: both[1] for edge, both in self._shares.items() if edge in came}
        keys = {edge: both[0] for edge, both in self._shares.items() if edge not in came}
        return seeds, keys

    def _sealed(self, edge: str, plain: bytes) -> bytes:
        nonce = secrets.token_bytes(12)
        key = self._box_key(edge)
        return nonce + ChaCha20Poly1305(key).encrypt(nonce, plain, self._said(self.edge, edge))

    def _unsealed(self, edge: str, box: bytes) -> tuple[bytes, bytes]:
        try:
            plain = ChaCha20Poly1305(self._box_key(edge)).decrypt(box[:12], box[12:], self._said(edge, self.edge))
        except (InvalidTag, ValueError):
            raise StatisticsError(f"the shares of {edge!r} cannot be opened; the round is left") from None
        if len(plain) != 2 * _SHARE_BYTES:
            raise StatisticsError(f"the shares of {edge!r} have another length; the round is left")
        return plain[:_SHARE_BYTES], plain[_SHARE_BYTES:]

    def _box_key(self, edge: str) -> bytes:
        return _agreed(self._sealing, self._everyone[edge].sealing, f"hearth shares 1 {self.round_id}")

    def _said(self, source: str, target: str) -> bytes:
        return f"{self.round_id}\n{source}\n{target}".encode()


def _agreed(mine: X25519PrivateKey, theirs: bytes, info: str) -> bytes:
    """Derive the key that two edges share (X25519, RFC 7748; HKDF-SHA-256, RFC 5869)."""
    try:
        shared = mine.exchange(X25519PublicKey.from_public_bytes(theirs))
    except ValueError:
        raise StatisticsError("an edge shows a key that is none; the round is left") from None
    return HKDF(hashes.SHA256(), KEY_BYTES, None, info.encode()).derive(shared)


def pair_mask(mine: X25519PrivateKey, theirs: bytes, round_id: str, n: int) -> Row:
    """Return the mask two edges agree on."""
    return stream(_agreed(mine, theirs, f"hearth mask 1 {round_id}"), n)


# ── The total ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Opened:
    """Shares that one edge showed at the end."""

    seeds: Mapping[str, bytes]
    keys: Mapping[str, bytes]


def total(
    round_id: str,
    everyone: Mapping[str, Keys],
    shared: Sequence[str],
    rows: Mapping[str, Row],
    opened: Mapping[str, Opened],
    threshold: int,
) -> Row:
    """Return the sum of the rows that arrived, with the masks removed.

    Args:
        everyone: All who showed keys. shared: Those who gave shares. opened: By edge whose row arrived.
    Raises:
        StatisticsError: Too few rows or openings; shares that do not belong together.
    """
    if len(rows) < threshold or len(opened) < threshold:
        raise StatisticsError(
            f"{len(rows)} rows and {len(opened)} openings came, {threshold} are needed; the round is void"
        )
    places = {edge: place for place, edge in enumerate(sorted(everyone), 1)}
    n = len(next(iter(rows.values())))
    found = np.zeros(n, dtype=np.uint64)
    for edge in sorted(rows):
        found += rows[edge]
        seed = joined({places[e]: one.seeds[edge] for e, one in opened.items() if edge in one.seeds}, threshold)
        found -= stream(seed, n)
    for gone in sorted(set(shared) - rows.keys()):
        secret = joined({places[e]: one.keys[gone] for e, one in opened.items() if gone in one.keys}, threshold)
        key = X25519PrivateKey.from_private_bytes(secret)
        if key.public_key().public_bytes_raw() != everyone[gone].masking:
            raise StatisticsError(f"the shares of {gone!r} do not give its key; the round is void")
        for edge in sorted(rows):
            mask = pair_mask(key, everyone[edge].masking, round_id, n)
            found = found - mask if edge < gone else found + mask
    return found


def fingerprint(row: Row) -> str:
    """Hash a row, for logs and tests."""
    return hashlib.sha256(np.ascontiguousarray(row).tobytes()).hexdigest()


# ── What a home gives ──────────────────────────────────────────────────────────────────────────────────


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


def learn_masked(ranker: Ranker, store: Store, sharer: Sharer, *, is_fresh: bool) -> dict[str, tuple[str, str]]:
    """Teach a blank ranker the home's demonstrations, masked. Maps the ranker's ids to id and digest here.

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
    ranker.learn(found)
    return learnt


@dataclass(frozen=True, slots=True)
class Pace:
    """How a device waits for the others of a round."""

    clock: Callable[[], dt.datetime]
    wait: Callable[[float], None]
    """Sleeps for that many seconds."""
    give_up_s: float = 7_200.0
    """How long a round may take in all."""


def give(link: Link, store: Store, ranker: Ranker, sharer: Sharer, profile: edge_protocol.Profile, pace: Pace) -> Given:
    """Give what was learnt here, as the service asks for it.

    Args:
        ranker: Blank, of this device's profile and the home's encoder.
    Raises:
        LinkError: The service was not reached, or refused. StatisticsError: A round was not as it should be.
    """
    terms = link.ask("GET", "/v1/statistics", edge_protocol.StatisticsTerms, reason="statistics")
    if terms.owners == "many" and terms.epsilon is None:
        return Given(0, 0, "the service merges many owners' devices and does not say what noise hides them")
    if terms.mode == "secret" and terms.k < LEAST_EDGES:
        return Given(0, 0, f"the service sums {terms.k} edges; this device asks for {LEAST_EDGES} and gave nothing")
    learnt = learn_masked(ranker, store, sharer, is_fresh=terms.mode == "secret")
    allowed = public_tools()
    layout = None
    if terms.mode == "secret":
        sequences = tuple(sorted(one for one in terms.sequences if allowed.issuperset(one)))
        if len(sequences) != len(terms.sequences):
            return Given(0, 0, "the service names tools that are not public; update Hearth, or ask its keeper")
        layout = Layout(ranker.encoder_name, ranker.reader.dim, ranker.options.reading, sequences)
    chosen = _chosen(ranker, allowed, layout, terms.most)
    found = ranker.statistics(allowed, ids=chosen)
    if found.n_demonstrations < max(terms.least, LEAST):
        reason = f"{found.n_demonstrations} demonstrations can be given, {max(terms.least, LEAST)} are needed"
        return Given(0, 0, f"{reason}: sums of fewer would say too much about each")
    if layout is None:
        return _plainly(link, found)
    given = [learnt[id] for id in chosen]
    return _Turn(link, store, layout, found, given, profile, pace).run()


def _chosen(ranker: Ranker, allowed: frozenset[str], layout: Layout | None, most: int) -> list[str]:
    """Return ids of at most `most` demonstrations that may be given, chosen by their hash."""
    listed = set(layout.sequences) if layout is not None else None
    sequences = {id: ranker.taught(id).sequence for id in ranker.ids}
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
