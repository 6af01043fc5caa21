"""Take edges' statistics, judge them, and turn them into signed priors, one for each device profile.

In mode `plain` each edge's newest sums are kept and may be withdrawn; in mode `secret` only sums over groups of at
least `k` edges ever arrive here (`hearth_cloud.statistics.aggregation_rounds`), and stay. A prior is the sum of all
contributions that agree with the rest (`hearth_cloud.statistics.robust_merge`), reduced to each profile's own features,
with noise where settings say so, and signed.

Covered: other features, more or fewer demonstrations than allowed, impossible sums, sums that contradict the rest, the
same message again, fewer than `k` edges (no prior). Not covered: that an edge gives under two tokens; taking one edge
out of a secret sum (nobody can: that is the point).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hearth.edge.federation.secure_aggregation import Keys, Opened, alias_of
from hearth.errors import StatisticsError
from hearth.formats.edge_protocol import (
    Manifest,
    OpeningSent,
    Receipt,
    RoundAsked,
    RoundTold,
    SharesSent,
    StatisticsTerms,
    Turned,
)
from hearth.planning.ranking.candidates import Sequence_
from hearth.planning.ranking.features import ReadingOptions
from hearth.planning.ranking.statistics.device_profiles import PROFILES, ProfileName
from hearth.planning.ranking.statistics.statistics_codec import decode, encode, fingerprint_in
from hearth.planning.ranking.statistics.sufficient_statistics import Statistics
from hearth.planning.ranking.statistics.vector_layout import Layout, public_sequences
from hearth.planning.warm_start import Numbers
from hearth_cloud.cloud_settings import StatisticsSettings
from hearth_cloud.statistics import artifacts
from hearth_cloud.statistics.aggregation_rounds import Group, RoundRules, Rounds, row_of
from hearth_cloud.statistics.robust_merge import Merged, Noise, Terms, epsilon_of, noisy, refusal, robust
from hearth_cloud.statistics.shipped_statistics import Public
from hearth_cloud.storage.cloud_storage import Part, Storage

PLAIN = "plain"
_KIND = "statistics"
_SUM = "sum"
_RETRY_S = 30.0


@dataclass(frozen=True)
class Features:
    """The features that the edges' students use."""

    encoder: str = "all-MiniLM-L6-v2"
    n_inputs: int = 384
    readings: Mapping[ProfileName, ReadingOptions] | None = None
    sequences: tuple[Sequence_, ...] | None = None

    def of(self, profile: ProfileName) -> ReadingOptions:
        return self.profiles()[profile]

    def profiles(self) -> Mapping[ProfileName, ReadingOptions]:
        return self.readings or {name: options.reading for name, options in PROFILES.items()}

    def layout(self, profile: ProfileName) -> Layout:
        sequences = self.sequences if self.sequences is not None else public_sequences()
        return Layout(self.encoder, self.n_inputs, self.of(profile), tuple(sorted(sequences)))

    def fingerprint(self, profile: ProfileName) -> str:
        return self.layout(profile).fingerprint


class Desk:
    """The place where statistics come in and priors go out. May be used from several threads."""

    def __init__(
        self,
        storage: Storage,
        settings: StatisticsSettings,
        key: Ed25519PrivateKey,
        features: Features | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        public: Callable[[], Public] | None = None,
    ) -> None:
        """
        Args:
            features: The features that edges use; the shipped encoder and profiles when left out.
            public: Function that reads public demonstrations; called when the first prior is made.
        """
        self._storage, self._settings, self._key = storage, settings, key
        self._features = features or Features()
        self._monotonic = monotonic
        self._lock, self._publishing = threading.Lock(), threading.Lock()
        self._is_one_waiting = False
        self._read_public = public if settings.with_public else None
        self._public: Public | None = None
        self._published_s: float | None = None
        self._looked_at: dict[str, str] = {}
        self._fingerprints: dict[str, str] = {}
        """Fingerprints by blob."""
        self._layouts = {profile: self._features.layout(profile) for profile in self._features.profiles()}
        rules = RoundRules(settings.k, max(settings.group, settings.k), settings.gather_s, settings.turn_s)
        self._rounds = {name: Rounds(layout.n_values, rules, monotonic) for name, layout in self._layouts.items()}
        self._any: ProfileName = next(iter(self._layouts))
        self._alias: dict[str, tuple[ProfileName, str]] = {}
        """By edge: the profile and the name under which it takes part in a round."""

    @property
    def terms(self) -> StatisticsTerms:
        """Terms on which statistics are taken. Raises: StatisticsError: Nothing is taken."""
        s = self._settings
        if s.mode == "off":
            raise StatisticsError("this service takes no statistics; its keeper can turn that on under [statistics]")
        sequences = next(iter(self._layouts.values())).sequences if s.mode == "secret" else ()
        return StatisticsTerms(mode=s.mode, k=s.k, least=s.least, most=s.most, sequences=sequences)

    @property
    def _bounds(self) -> Terms:
        return Terms(most=self._settings.most, least=self._settings.least)

    # ── Plain ─────────────────────────────────────────────────────────────────────────────────────────────

    def take(self, edge: str, id: str, body: bytes) -> Receipt:
        """Take an edge's sums in place of those before. Sending the same again changes nothing.

        Raises:
            StatisticsError: They cannot be taken; says why.
        """
        self._check_mode("plain")
        sha256 = hashlib.sha256(body).hexdigest()
        with self._lock:
            before = next((part for part in self._plain() if part.edge == edge), None)
            if before is not None and before.blob == sha256:
                return Receipt(id=id, known=(id,))
            fingerprints = {self._features.fingerprint(profile) for profile in self._layouts}
            found = decode(body, fingerprints)
            reason = refusal(found, self._bounds)
            if found.n_edges != 1:
                reason = f"it says that it is of {found.n_edges} edges; an edge gives its own"
            if reason:
                return Receipt(id=id, refused=(Turned(id=id, reason=reason),))
            self._storage.put_round(PLAIN, "open", {})
            self._storage.drop_part(PLAIN, edge, _KIND)
            self._storage.put_part(PLAIN, edge, _KIND, id, {"n": found.n_demonstrations}, blob=self._put(body))
        return Receipt(id=id, accepted=(id,))

    def withdraw(self, edge: str) -> bool:
        """Exclude an edge's sums from now on; return whether there were any."""
        with self._lock:
            return self._storage.drop_part(PLAIN, edge, _KIND)

    def _plain(self) -> tuple[Part, ...]:
        return self._storage.parts(PLAIN, _KIND)

    def _put(self, body: bytes) -> str:
        return self._storage.put_blob(body)

    def _check_mode(self, mode: str) -> None:
        if self._settings.mode != mode:
            raise StatisticsError(
                f"statistics are taken in mode {self._settings.mode!r} here, not {mode!r}; ask `GET /v1/statistics`"
            )

    # ── Rounds ────────────────────────────────────────────────────────────────────────────────────────────

    def join(self, edge: str, asked: RoundAsked) -> RoundTold:
        """Join the next round. Raises: StatisticsError."""
        self._check_mode("secret")
        if asked.profile not in self._rounds:
            raise StatisticsError(f"there are no rounds for profile {asked.profile!r} here")
        keys = Keys(_bytes(asked.sealing), _bytes(asked.masking))
        alias = alias_of(keys)
        with self._lock:
            profile, former = self._alias.get(edge, (asked.profile, ""))
            if former and former != alias:
                self._rounds[profile].leave(former)
            rounds = self._rounds[asked.profile]
            if not (former == alias and rounds.is_waiting(alias)):
                rounds.join(alias, keys)
            self._alias[edge] = asked.profile, alias
            return self._told(edge)

    def told(self, edge: str) -> RoundTold:
        """Return the state of the edge's round."""
        self._check_mode("secret")
        with self._lock:
            return self._told(edge)

    def _told(self, edge: str) -> RoundTold:
        profile, alias = self._alias.get(edge, (self._any, ""))
        rounds = self._rounds[profile]
        group = rounds.group(alias)
        wait_s = min(_RETRY_S, self._settings.turn_s / 4)
        if group is None:
            state = "gathering" if rounds.is_waiting(alias) else "none"
            return RoundTold.model_validate({"state": state, "profile": profile, "retry_after_s": wait_s})
        everyone = {name: (_text(k.sealing), _text(k.masking)) for name, k in group.everyone.items()}
        return RoundTold(
            state=group.state,
            round=group.id,
            profile=profile,
            threshold=group.threshold,
            everyone=everyone if group.state == "shares" else {},
            boxes={source: _text(box) for source, box in group.boxes_for(alias).items()}
            if group.state == "rows" and alias in group.boxes
            else {},
            arrived=tuple(sorted(group.rows)) if group.state == "opening" else (),
            reason=group.reason,
            retry_after_s=wait_s,
        )

    def take_shares(self, edge: str, round: str, sent: SharesSent) -> RoundTold:
        """Take an edge's sealed shares. Raises: StatisticsError."""
        with self._lock:
            group, alias = self._group(edge, round)
            group.take_shares(alias, {name: _bytes(box) for name, box in sent.boxes.items()})
            return self._told(edge)

    def take_row(self, edge: str, round: str, body: bytes) -> RoundTold:
        """Take an edge's masked row. Raises: StatisticsError."""
        with self._lock:
            group, alias = self._group(edge, round)
            group.take_row(alias, row_of(body, group.n_values))
            return self._told(edge)

    def take_opening(self, edge: str, round: str, sent: OpeningSent) -> RoundTold:
        """Take the shares that an edge opens. Raises: StatisticsError."""
        seeds = {name: _bytes(share) for name, share in sent.seeds.items()}
        keys = {name: _bytes(share) for name, share in sent.keys.items()}
        with self._lock:
            group, alias = self._group(edge, round)
            group.take_opening(alias, Opened(seeds, keys))
            told = self._told(edge)
            self._keep_sums()
            return told

    def _group(self, edge: str, round: str) -> tuple[Group, str]:
        self._check_mode("secret")
        profile, alias = self._alias.get(edge, (self._any, ""))
        group = self._rounds[profile].group(alias)
        if group is None or group.id != round:
            raise StatisticsError("this edge takes no part in that round; join the next")
        return group, alias

    def _keep_sums(self) -> None:
        for profile, rounds in self._rounds.items():
            for group in rounds.sums():
                n_edges = len(group.openings) or len(group.rows)
                found = self._layouts[profile].statistics(rounds.take(group), n_edges)
                reason = refusal(found, self._bounds)
                if reason:
                    group.state, group.reason = "void", f"the sum cannot be: {reason}"
                    continue
                self._storage_sum(group.id, found)

    def _storage_sum(self, round: str, found: Statistics) -> None:
        serial = self._storage.last_serial(_SUM) + 1
        body = json.dumps({"round": round, "edges": found.n_edges, "n": found.n_demonstrations})
        self._storage.put_manifest(_SUM, serial, body, self._put(encode(found)))

    # ── Priors ────────────────────────────────────────────────────────────────────────────────────────────

    def contributions(self) -> Mapping[str, Statistics]:
        """Return all contributions, by edge or by round; each is read when it is accessed."""
        return _Read(self._storage, self._blobs(), None)

    def _blobs(self) -> dict[str, str]:
        found = {f"edge {part.edge}": part.blob for part in self._plain()}
        for _, body, blob in self._storage.manifests(_SUM):
            found[f"round {json.loads(body)['round']}"] = blob
        return found

    def publish(self, *, is_due: bool = False) -> tuple[Merged, tuple[Manifest, ...]]:
        """Make a prior for each profile from the contributions that agree; nothing where too few edges contributed.

        Args:
            is_due: Only if the last prior is old enough and contributions changed; for calls after each of them.
        """
        with self._lock:
            if is_due and self._is_one_waiting:
                return Merged(None, ()), ()  # another call is waiting and will include the new data
            self._is_one_waiting = is_due
        with self._publishing:
            self._is_one_waiting = False
            return self._publish(is_due)

    def _publish(self, is_due: bool) -> tuple[Merged, tuple[Manifest, ...]]:
        now_s, blobs = self._monotonic(), self._blobs()
        is_early = self._published_s is not None and now_s - self._published_s < self._settings.every_s
        if is_due and (is_early or blobs == self._looked_at):
            return Merged(None, ()), ()
        self._looked_at = blobs
        if self._public is None and self._read_public is not None:
            self._public = self._read_public()
        made: list[Manifest] = []
        first: Merged | None = None
        joining: Numbers = ()
        for profile in sorted(self._layouts, key=lambda name: self._features.of(name).n_random):
            public = self._public.given.seen_by(self._features.of(profile)) if self._public else None
            merged = robust(self._seen(blobs, profile), self._bounds, public)
            first = first or merged
            total = merged.statistics
            if total is None or total.n_edges < self._settings.k:
                continue
            whole, epsilon = self._whole(profile, total, public)
            if self._public is not None and not joining:
                joining = self._public.fitted(whole).joining
            made.append(self._signed(profile, replace(whole, joining=joining), epsilon))
        self._published_s = now_s if made else self._published_s
        return first or Merged(None, ()), tuple(made)

    def _whole(
        self, profile: ProfileName, total: Statistics, public: Statistics | None
    ) -> tuple[Statistics, float | None]:
        """Return the sum for a profile, and epsilon: edges' contributions, with noise if wanted, plus public statistics
        without."""
        s, epsilon = self._settings, None
        n_edges = total.n_edges
        if s.rho:
            total = noisy(total, Noise(s.rho, s.delta), s.most, self._layouts[profile].sequences)
            n_before = artifacts.n_offered(self._storage, "prior", profile)
            epsilon = epsilon_of(s.rho * (n_before + 1), s.delta)  # every prior before may hold the same edge
        return (replace(total.plus(public), n_edges=n_edges) if public is not None else total), epsilon

    def _seen(self, blobs: Mapping[str, str], profile: ProfileName) -> _Read:
        """Return the contributions a profile can use: sums of larger profiles, and of its own."""
        reading, profiles = self._features.of(profile), self._features.profiles()
        larger = {
            self._features.fingerprint(name) for name, one in profiles.items() if one.n_random >= reading.n_random
        }
        kept = {name: blob for name, blob in blobs.items() if self._fingerprint(blob) in larger}
        return _Read(self._storage, kept, reading)

    def _fingerprint(self, blob: str) -> str:
        if blob not in self._fingerprints:
            self._fingerprints[blob] = fingerprint_in(self._storage.read_blob(blob))
        return self._fingerprints[blob]

    def _signed(self, profile: ProfileName, total: Statistics, epsilon: float | None) -> Manifest:
        return artifacts.offer(
            *(self._storage, self._key, "prior", profile, encode(total)),
            fingerprint=total.fingerprint,
            n_edges=total.n_edges,
            n_demonstrations=total.n_demonstrations,
            epsilon=epsilon,
        )

    def prior(self, profile: ProfileName) -> str | None:
        """Return the newest manifest; None if there is none yet."""
        return artifacts.newest(self._storage, "prior", profile)


class _Read(Mapping[str, Statistics]):
    """Contributions, each read from storage when it is accessed, and not kept."""

    def __init__(self, storage: Storage, blobs: Mapping[str, str], reading: ReadingOptions | None) -> None:
        self._storage, self._blobs, self._reading = storage, blobs, reading

    def __getitem__(self, name: str) -> Statistics:
        found = decode(self._storage.read_blob(self._blobs[name]))
        return found if self._reading is None else found.seen_by(self._reading)

    def __iter__(self) -> Iterator[str]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise StatisticsError("a key or a share is not base64") from None
