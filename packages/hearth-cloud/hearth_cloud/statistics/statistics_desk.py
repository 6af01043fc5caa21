"""Take edges' statistics, judge them, and turn them into signed priors, one for each device profile.

Any process of the service may do any of it: all state is in the storage, and one process at a time merges.

In mode `plain` each edge's newest sums are kept and may be withdrawn; in mode `secret` only sums over groups of at
least `k` edges ever arrive here (`hearth_cloud.statistics.aggregation_rounds`), and stay. A prior is the sum of all
contributions that agree with the rest (`hearth_cloud.statistics.robust_merge`), reduced to each profile's own features,
with noise where settings say so, and signed.

Covered: other features, more or fewer demonstrations than allowed, impossible sums, sums that contradict the rest, the
same message again, fewer than `k` edges (no prior). Not covered: that an edge gives under two tokens; taking one edge
out of a secret sum (nobody can: that is the point).
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hearth.edge.federation import Keys, Opened
from hearth.errors import StatisticsError, StoreError
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
from hearth.learning.versions.drafting import Numbers
from hearth.planning.ranking.features import ReadingOptions, Sequence_
from hearth.planning.ranking.ranker import PROFILES, ProfileName
from hearth.planning.ranking.sufficient_statistics import (
    Layout,
    Statistics,
    decode,
    encode,
    fingerprint_in,
    public_sequences,
)
from hearth_cloud.cloud_settings import StatisticsSettings
from hearth_cloud.statistics import artifacts, private_sums
from hearth_cloud.statistics.aggregation_rounds import Group, RoundRules, Rounds, body_of, from_text, to_text
from hearth_cloud.statistics.merging import Rules, merged_in_pieces
from hearth_cloud.statistics.private_sums import Budget
from hearth_cloud.statistics.public_acts import share_of
from hearth_cloud.statistics.robust_merge import Merged, Seen, Terms, evidence_of, noisy, refusal, robust, shared
from hearth_cloud.statistics.shipped_statistics import Public
from hearth_cloud.statistics.workers import InTurn, Workers
from hearth_cloud.storage.cloud_storage import GIVEN, NewPart, Storage

PLAIN = "plain"
_KIND = "statistics"
_SUM = "sum"
_MERGED = "merged"
_MERGING, _TENDING = "merging", "tending rounds"
_LEASE_S = 60.0
"""Time for which one process of all replicas may merge, renewed while it does; so long a killed one holds the others
up."""
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


@dataclass(frozen=True, slots=True)
class PriorMaking:
    """What priors are made with, beside the contributions."""

    public: Callable[[], Public] | None = None
    """Reads public demonstrations; called when the first prior is made."""
    workers: Workers | None = None
    """Who adds contributions of many owners up; this process when left out."""


class Desk:
    """The place where statistics come in and priors go out. May be used from several threads."""

    def __init__(
        self,
        storage: Storage,
        settings: StatisticsSettings,
        key: Ed25519PrivateKey,
        features: Features | None = None,
        making: PriorMaking = PriorMaking(),
    ) -> None:
        """
        Args:
            features: The features that edges use; the shipped encoder and profiles when left out.
        """
        self._storage, self._settings, self._key = storage, settings, key
        self._features = features or Features()
        self._workers = making.workers or InTurn(storage)
        self._lock, self._publishing = threading.Lock(), threading.Lock()
        self._is_one_waiting = False
        self._holder = secrets.token_hex(8)
        self._read_public = making.public if settings.with_public else None
        self._public: Public | None = None
        self._layouts = {profile: self._features.layout(profile) for profile in self._features.profiles()}
        rules = RoundRules(settings.k, max(settings.group, settings.k), settings.gather_s, settings.turn_s)
        n_values: dict[str, int] = {name: layout.n_values for name, layout in self._layouts.items()}
        self._rounds = Rounds(storage, n_values, rules)

    @property
    def terms(self) -> StatisticsTerms:
        """Terms on which statistics are taken. Raises: StatisticsError: Nothing is taken."""
        s = self._settings
        if s.mode == "off":
            raise StatisticsError("this service takes no statistics; its keeper can turn that on under [statistics]")
        sequences = next(iter(self._layouts.values())).sequences if s.mode == "secret" else ()
        said = StatisticsTerms(mode=s.mode, k=s.k, least=s.least, most=s.most, sequences=sequences, owners=s.owners)
        if s.owners == "one":
            return said
        return said.model_copy(update={"founders": s.founders, "epsilon": s.epsilon, "delta": s.delta})

    @property
    def _bounds(self) -> Terms:
        tools = frozenset(next(iter(self._layouts.values())).tools)
        return Terms(most=self._settings.most, least=self._settings.least, tools=tools)

    # ── Plain ─────────────────────────────────────────────────────────────────────────────────────────────

    def take(self, edge: str, id: str, body: bytes) -> Receipt:
        """Take an edge's sums in place of those before. Sending the same again changes nothing.

        Raises:
            StatisticsError: They cannot be taken; says why.
        """
        self._check_mode("plain")
        sha256 = hashlib.sha256(body).hexdigest()
        before = self._storage.part(PLAIN, edge, _KIND)
        if before is not None and before.blob == sha256:
            return Receipt(id=id, known=(id,))
        fingerprints = {self._features.fingerprint(profile): profile for profile in self._layouts}
        found = decode(body, fingerprints)
        reason = refusal(found, self._bounds)
        if found.n_edges != 1:
            reason = f"it says that it is of {found.n_edges} edges; an edge gives its own"
        if reason:
            return Receipt(id=id, refused=(Turned(id=id, reason=reason),))
        about = {"n": found.n_demonstrations, "profile": fingerprints[found.fingerprint]}
        self._storage.replace_part(NewPart(PLAIN, edge, _KIND, id, about), body)
        return Receipt(id=id, accepted=(id,))

    def withdraw(self, edge: str) -> bool:
        """Exclude an edge's sums from now on; return whether there were any."""
        return self._storage.drop_part(PLAIN, edge, _KIND)

    def _check_mode(self, mode: str) -> None:
        if self._settings.mode != mode:
            raise StatisticsError(
                f"statistics are taken in mode {self._settings.mode!r} here, not {mode!r}; ask `GET /v1/statistics`"
            )

    # ── Rounds ────────────────────────────────────────────────────────────────────────────────────────────

    def join(self, edge: str, asked: RoundAsked) -> RoundTold:
        """Join the next round. Raises: StatisticsError."""
        self._check_mode("secret")
        if asked.profile not in self._layouts:
            raise StatisticsError(f"there are no rounds for profile {asked.profile!r} here")
        if self._settings.owners == "many" and self._has_given(edge):
            raise StatisticsError("this edge has given its part: noise hides what each gives once, so it gives once")
        self._rounds.join(edge, asked.profile, Keys(from_text(asked.sealing), from_text(asked.masking)))
        return self.told(edge)

    def _has_given(self, edge: str) -> bool:
        """Whether a sum holds this edge's part."""
        return self._storage.part(GIVEN, edge, GIVEN) is not None

    def told(self, edge: str) -> RoundTold:
        """Return the state of the edge's round."""
        self._check_mode("secret")
        place = self._rounds.place(edge)
        wait_s = min(_RETRY_S, self._settings.turn_s / 4)
        group, alias = place.group, place.alias
        if group is None:
            state = "gathering" if place.is_waiting else "none"
            profile = place.profile or next(iter(self._layouts))
            return RoundTold.model_validate({"state": state, "profile": profile, "retry_after_s": wait_s})
        everyone = {name: (to_text(k.sealing), to_text(k.masking)) for name, k in group.everyone.items()}
        said = {
            "state": "opening" if group.state == "summing" else group.state,
            "round": group.id,
            "profile": group.profile,
            "threshold": group.threshold,
            "everyone": everyone if group.state == "shares" else {},
            "boxes": {source: to_text(box) for source, box in group.boxes_for(alias).items()}
            if group.state == "rows" and alias in group.boxes
            else {},
            "arrived": tuple(sorted(group.rows)) if group.state in ("opening", "summing") else (),
            "reason": group.reason,
            "retry_after_s": wait_s,
        }
        return RoundTold.model_validate(said)

    def take_shares(self, edge: str, round: str, sent: SharesSent) -> RoundTold:
        """Take an edge's sealed shares. Raises: StatisticsError."""
        self._check_mode("secret")
        self._rounds.take_shares(edge, round, {name: from_text(box) for name, box in sent.boxes.items()})
        return self.told(edge)

    def take_row(self, edge: str, round: str, body: bytes) -> RoundTold:
        """Take an edge's masked row. Raises: StatisticsError."""
        self._check_mode("secret")
        self._rounds.take_row(edge, round, body)
        return self.told(edge)

    def take_opening(self, edge: str, round: str, sent: OpeningSent) -> RoundTold:
        """Take the shares that an edge opens. Raises: StatisticsError."""
        self._check_mode("secret")
        seeds = {name: from_text(share) for name, share in sent.seeds.items()}
        keys = {name: from_text(share) for name, share in sent.keys.items()}
        group = self._rounds.take_opening(edge, round, Opened(seeds, keys))
        if group is not None:
            self._sum(group)
        return self.told(edge)

    def tend(self) -> None:
        """Bring rounds that nobody asks for up to the time, and make sums that a killed process began; for calls every
        few seconds by each process, of which one at a time does it. Raises: StoreError."""
        if self._settings.mode != "secret" or not self._storage.lease(_TENDING, self._holder, _LEASE_S):
            return
        self._rounds.advance()
        for group in self._rounds.unsummed():
            self._sum(group)

    def _sum(self, group: Group) -> None:
        """Make the sum of a round whose edges have opened it."""
        n_edges = len(group.openings) or len(group.rows)
        try:
            found = self._layouts[_profile(group)].statistics(self._rounds.total(group), n_edges)
            reason = refusal(found, self._bounds)
        except StatisticsError as error:
            self._rounds.void(group, str(error))
            return
        if reason:
            self._rounds.void(group, f"the sum cannot be: {reason}")
            return
        self._rounds.end(group, body_of(group.id, group.profile, n_edges, found.n_demonstrations), encode(found))

    # ── Priors ────────────────────────────────────────────────────────────────────────────────────────────

    def contributions(self) -> Mapping[str, Statistics]:
        """Return all contributions, by edge or by round; each is read when it is accessed."""
        return _Read(self._storage, {name: blob for name, (_, blob) in self._given().items()}, None)

    def _given(self) -> dict[str, tuple[str, str]]:
        """Return the profile and the blob of each contribution."""
        found = {}
        for part in self._storage.parts(PLAIN, _KIND):
            found[f"edge {part.edge}"] = self._profile_said(part.about, part.blob), part.blob
        for _, body, blob in self._storage.manifests(_SUM):
            said = json.loads(body)
            found[f"round {said['round']}"] = self._profile_said(said, blob), blob
        return found

    def _profile_said(self, about: Mapping[str, Any], blob: str) -> str:
        """Return the profile of a contribution; of one kept by an older version, which did not note it, from within."""
        if "profile" in about:
            return str(about["profile"])
        fingerprint = fingerprint_in(self._storage.read_blob(blob))
        return next((name for name in self._layouts if self._features.fingerprint(name) == fingerprint), "")

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
            if not self._storage.lease(_MERGING, self._holder, _LEASE_S):
                return Merged(None, ()), ()  # another process merges; what is due after it is found at the next look
            with self._leased(_MERGING):
                return self._publish(is_due)

    @contextlib.contextmanager
    def _leased(self, name: str) -> Iterator[None]:
        """Keep a lease while a block runs, and end it."""
        is_over = threading.Event()

        def renew() -> None:
            while not is_over.wait(_LEASE_S / 4):
                with contextlib.suppress(StoreError):
                    self._storage.lease(name, self._holder, _LEASE_S)

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
            self._storage.put_note(name, "")

    def _publish(self, is_due: bool) -> tuple[Merged, tuple[Manifest, ...]]:
        given = self._given()
        digest = hashlib.sha256(json.dumps(sorted(given.items())).encode()).hexdigest() if given else ""
        if is_due and (self._is_early() or digest == self._storage.note(_MERGED)):
            return Merged(None, ()), ()
        if self._public is None and self._read_public is not None:
            self._public = self._read_public()
        merged = self._merged(given)
        totals = {name: one.statistics for name, one in merged.items() if one.statistics is not None}
        enough = {name: total for name, total in totals.items() if total.n_edges >= self._least_edges}
        if not self._storage.lease(_MERGING, self._holder, _LEASE_S):
            raise StoreError("this process was taken for killed while it merged; another goes on")
        made = self._made(enough)
        self._storage.put_note(_MERGED, digest)  # last: a kill before this is made good by the next look
        return next(iter(merged.values())), made

    def _is_early(self) -> bool:
        """Whether the newest prior is too young for another."""
        said = [artifacts.newest(self._storage, "prior", profile) for profile in self._layouts]
        made = [Manifest.model_validate_json(one).made for one in said if one is not None]
        return bool(made) and self._storage.now() - max(made) < dt.timedelta(seconds=self._settings.every_s)

    @property
    def _least_edges(self) -> int:
        """Fewest edges of a prior. Where each costs privacy, the next one waits for twice as many as the one before."""
        if self._settings.owners == "one":
            return self._settings.k
        said = [artifacts.newest(self._storage, "prior", profile) for profile in self._layouts]
        before = [Manifest.model_validate_json(one).n_edges for one in said if one is not None]
        return max(self._settings.k, self._settings.founders, *(2 * n for n in before))

    def _merged(self, given: Mapping[str, tuple[str, str]]) -> dict[ProfileName, Merged]:
        """Return the sum of what is taken for each profile, the smallest first.

        One owner's devices judge each other. Of many owners each is judged alone, in pieces.
        """
        readings: dict[str, ReadingOptions] = {name: self._features.of(name) for name in self._profiles}
        if self._settings.owners == "many":
            smallest = self._shown(self._profiles[0])
            rules = Rules(self._bounds, Seen.of(smallest) if smallest is not None else None, readings)
            blobs = {name: blob for name, (_, blob) in given.items()}
            found = merged_in_pieces(self._storage, self._workers, blobs, rules)
            return {name: found[name] for name in self._profiles}
        return {name: robust(self._seen(given, name), self._bounds, self._shown(name)) for name in self._profiles}

    @property
    def _profiles(self) -> list[ProfileName]:
        return sorted(self._layouts, key=lambda name: self._features.of(name).n_words)

    def _shown(self, profile: ProfileName) -> Statistics | None:
        return self._public.given.seen_by(self._features.of(profile)) if self._public else None

    def _made(self, totals: Mapping[ProfileName, Statistics]) -> tuple[Manifest, ...]:
        """Sign a prior of each sum; with noise on each where there are many owners, while their budget lasts.

        An edge may be in the sums of all profiles, so these share what a publication costs.
        """
        s, epsilon, rho = self._settings, None, 0.0
        budget = Budget(s.epsilon, s.delta, s.priors)
        if s.owners == "many":
            if not totals or not private_sums.is_left(self._storage, budget):
                return ()
            epsilon, rho = private_sums.spend(self._storage, budget), budget.rho / len(self._layouts)
        made: list[Manifest] = []
        joining: Numbers = ()
        for profile, total in totals.items():
            hidden = noisy(total, rho, s.most, self._layouts[profile].sequences) if rho else total
            public = self._shown(profile)
            if rho and public is not None and self._public is not None:
                share = share_of(evidence_of(hidden), evidence_of(public), self._public.acts)
                if not share:
                    continue  # the smallest share of it would still move a public act to a stronger effect
                hidden = shared(hidden, share)
            whole = replace(hidden.plus(public), n_edges=total.n_edges) if public is not None else hidden
            if self._public is not None and not joining:
                joining = self._public.fitted(whole).joining
            made.append(self._signed(profile, replace(whole, joining=joining), epsilon))
        return tuple(made)

    def _seen(self, given: Mapping[str, tuple[str, str]], profile: ProfileName) -> _Read:
        """Return the contributions a profile can use: sums of larger profiles, and of its own."""
        larger = self._profiles[self._profiles.index(profile) :]
        kept = {name: blob for name, (of, blob) in given.items() if of in larger}
        return _Read(self._storage, kept, self._features.of(profile))

    def _signed(self, profile: ProfileName, total: Statistics, epsilon: float | None) -> Manifest:
        delta = self._settings.delta if epsilon is not None else None
        made_of = artifacts.MadeOf(total.fingerprint, total.n_edges, total.n_demonstrations, epsilon, delta)
        return artifacts.offer(self._storage, self._key, "prior", profile, encode(total), made_of)

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


def _profile(group: Group) -> ProfileName:
    (name,) = (one for one in PROFILES if one == group.profile)
    return name
