"""The service's part in secure aggregation: which edges take part in which group, its progress, and the sum.

Edges gather until `gather_s` has passed; then they are shuffled into groups of at least `k`, each a round of its own
(`edge.federation` describes a round). A group that loses too many edges is void: nothing of it is
seen, and its edges may join the next. Random groups make it possible to judge secret sums: a poisoner spoils only the
group it fell into, whose sum contradicts the others and is set aside (`docs/decisions/0011-secret-sums-in-groups.md`).

All state is in the storage, and each turn of an edge is one transaction on its group's row: any process of the service
may take any turn, and one that is killed loses nothing that it acknowledged. Rows lie there as blobs until they are
summed, one after the other; so no process holds more than one. Nothing here waits: each call, and `advance` every few
seconds, brings a group up to the time that all processes share.

Covered: two processes at one group; a killed process, also while it sums (`unsummed` finds the group again); groups
that all edges have left. Not covered: the storage's owner sees what this service sees: masked rows and opened shares,
until the group's sum is made.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
import random
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import sqlalchemy as sa

from hearth.edge.federation import SEALED_BYTES, Keys, Opened, Row, alias_of, total
from hearth.errors import StatisticsError
from hearth_cloud.storage.cloud_storage import NewPart, Part, Round, RoundEnd, Storage

State = Literal["shares", "rows", "opening", "summing", "done", "void"]
WORKING: tuple[State, ...] = ("shares", "rows", "opening", "summing")
_OVER: tuple[State, ...] = ("done", "void")
_SHARE_BYTES = 66
_KEYS, _SHARES, _ROW, _OPENING = "keys", "shares", "row", "opening"
_LEFT = (_SHARES, _ROW, _OPENING)
"""Parts that a group is done with once it has ended."""
_LOBBY = "lobby "
_KILLED_S = 60.0
"""Time after which whoever sums a group is taken for killed."""


@dataclass(frozen=True, slots=True)
class RoundRules:
    """Parameters of rounds."""

    k: int = 5
    """Least number of edges in a sum."""
    size: int = 8
    """Least size of a group at its start, where there are enough edges, so that some may leave."""
    gather_s: float = 3_600.0
    """Time that edges have to join before groups are made."""
    turn_s: float = 600.0
    """Time that each turn of a group waits for its slowest edge."""
    kept_s: float = 86_400.0
    """Time that a finished group can still be queried."""


@dataclass(frozen=True)
class Group:
    """One round of one group, as it stands. Edges are known by their aliases."""

    id: str
    profile: str
    threshold: int
    n_values: int
    began: dt.datetime
    state: State
    reason: str = ""
    everyone: Mapping[str, Keys] = field(default_factory=dict)
    edges: Mapping[str, str] = field(default_factory=dict)
    """Names of the edges, by alias."""
    boxes: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    """Sealed boxes by sender, then by recipient."""
    rows: Mapping[str, str] = field(default_factory=dict)
    """Blobs of the rows that arrived."""
    openings: Mapping[str, Opened] = field(default_factory=dict)

    def check_turn(self, state: State, alias: str) -> None:
        """Check that an edge may act now. Raises: StatisticsError: It is another's turn, or this edge takes no part."""
        if alias not in self.everyone:
            raise StatisticsError("this edge takes no part in that round; join the next")
        if self.state != state:
            raise StatisticsError(f"the round is at {self.state!r}, not at {state!r}; ask where it is")

    def boxes_for(self, alias: str) -> dict[str, bytes]:
        """Return the boxes that the other edges sealed for this one."""
        return {source: sealed[alias] for source, sealed in self.boxes.items() if source != alias}

    def check_shares(self, alias: str, boxes: Mapping[str, bytes]) -> None:
        """Check an edge's sealed shares. Raises: StatisticsError: Not one for each other edge, or of another length."""
        self.check_turn("shares", alias)
        if boxes.keys() != self.everyone.keys() - {alias}:
            raise StatisticsError("shares are needed for every other edge of the round, and for no one else")
        if any(len(box) != SEALED_BYTES for box in boxes.values()):
            raise StatisticsError(f"sealed shares have {SEALED_BYTES} bytes each")

    def check_row(self, alias: str, body: bytes) -> None:
        """Check an edge's masked row. Raises: StatisticsError: It gave no shares, or the row has another length."""
        self.check_turn("rows", alias)
        if alias not in self.boxes:
            raise StatisticsError("this edge gave no shares; join the next round")
        row_of(body, self.n_values)

    def check_opening(self, alias: str, opened: Opened) -> None:
        """Check the shares an edge opens. Raises: StatisticsError: Not of those edges that it is about."""
        self.check_turn("opening", alias)
        gone = self.boxes.keys() - self.rows.keys()
        if alias not in self.rows:
            raise StatisticsError("the row of this edge did not arrive; join the next round")
        if opened.seeds.keys() != self.rows.keys() or opened.keys.keys() != gone:
            raise StatisticsError("shares are needed of every edge's seed whose row arrived, and of the others' keys")
        if any(len(share) != _SHARE_BYTES for share in (*opened.seeds.values(), *opened.keys.values())):
            raise StatisticsError(f"shares have {_SHARE_BYTES} bytes each")

    def advanced(self, now: dt.datetime, turn_s: float) -> Group:
        """Return the group at its next turn when all edges have come or, when time is up, if those that came are
        enough; else the round is void."""
        turns: dict[State, tuple[Mapping[str, object], Mapping[str, object], State]] = {
            "shares": (self.boxes, self.everyone, "rows"),
            "rows": (self.rows, self.boxes, "opening"),
            "opening": (self.openings, self.rows, "summing"),
        }
        if self.state not in turns:
            return self
        came, due, next_ = turns[self.state]
        if came.keys() != due.keys() and (now - self.began).total_seconds() < turn_s:
            return self
        if len(came) < self.threshold:
            reason = f"{len(came)} of {self.threshold} edges that are needed came in time; nothing was seen"
            return replace(self, state="void", reason=reason, began=now)
        return replace(self, state=next_, began=now)

    @property
    def about(self) -> dict[str, Any]:
        """What is kept of the group itself; the rest are its parts."""
        return {
            "profile": self.profile,
            "threshold": self.threshold,
            "n_values": self.n_values,
            "began": self.began.isoformat(),
            "reason": self.reason,
        }

    @classmethod
    def of(cls, round: Round, parts: Sequence[Part]) -> Group:
        """Read a group from what was kept."""
        a = round.about
        of_kind: dict[str, dict[str, Part]] = {kind: {} for kind in (_KEYS, *_LEFT)}
        for part in parts:
            of_kind[part.kind][part.id] = part
        return cls(
            round.id,
            a["profile"],
            a["threshold"],
            a["n_values"],
            dt.datetime.fromisoformat(a["began"]),
            round.state,  # type: ignore[arg-type]
            a["reason"],
            {alias: _keys(part) for alias, part in sorted(of_kind[_KEYS].items())},
            {alias: part.edge for alias, part in of_kind[_KEYS].items()},
            {alias: _bytes_of(part.about) for alias, part in of_kind[_SHARES].items()},
            {alias: part.blob for alias, part in of_kind[_ROW].items()},
            {
                alias: Opened(_bytes_of(part.about["seeds"]), _bytes_of(part.about["keys"]))
                for alias, part in of_kind[_OPENING].items()
            },
        )


@dataclass(frozen=True, slots=True)
class Place:
    """Where an edge stands: in a group, waiting for one, or neither."""

    profile: str
    alias: str
    group: Group | None = None
    is_waiting: bool = False


class Rounds:
    """All groups of a service. May be used from several threads and processes."""

    def __init__(
        self, storage: Storage, n_values: Mapping[str, int], rules: RoundRules, lot: random.Random | None = None
    ) -> None:
        """
        Args:
            n_values: Length of a row, by profile.
            lot: Random source for shuffling; seeded in tests.
        """
        self._storage, self._n_values, self.rules = storage, n_values, rules
        self._lot: random.Random = lot or random.SystemRandom()

    # ── An edge's turns ───────────────────────────────────────────────────────────────────────────────────────

    def join(self, edge: str, profile: str, keys: Keys) -> None:
        """Wait for a group. An edge that joins again with other keys leaves what it was in.

        Raises:
            StatisticsError: A key is invalid or another edge's, or the edge's group is still at work.
        """
        if len(keys.sealing) != 32 or len(keys.masking) != 32 or keys.sealing == keys.masking:
            raise StatisticsError("two different keys of 32 bytes each were expected")
        self._gather(profile)
        alias = alias_of(keys)
        with self._storage.begin() as connection:
            lobby = self._lobby(connection, profile)
            before = self._storage.parts_of(edge, _KEYS, connection)
            group = next((part for part in before if not part.round.startswith(_LOBBY) and part.id == alias), None)
            if group is not None:
                at = self._storage.locked_round(connection, group.round)
                if at is not None and at.state not in _OVER:
                    raise StatisticsError("this edge takes part in a round that is not over; carry on with that one")
            waiting = self._storage.parts(lobby.id, _KEYS, connection)
            if not waiting:
                now = self._storage.shared_now(connection)
                self._storage.put_round(lobby.id, "gathering", {"since": now.isoformat()}, connection)
            others = {key for part in waiting if part.edge != edge for key in part.about.values()}
            said = {"sealing": to_text(keys.sealing), "masking": to_text(keys.masking)}
            if others & set(said.values()):
                raise StatisticsError("another edge shows one of these keys; make new ones")
            for part in before:
                if part.round.startswith(_LOBBY):
                    self._storage.drop_parts(connection, part.round, (_KEYS,), edge)
            self._storage.put_part(NewPart(lobby.id, edge, _KEYS, alias, said), connection)

    def place(self, edge: str) -> Place:
        """Return where an edge stands now."""
        found = self._storage.parts_of(edge, _KEYS)
        waits = next((part for part in found if part.round.startswith(_LOBBY)), None)
        if waits is not None:
            self._gather(waits.round.removeprefix(_LOBBY))
            found = self._storage.parts_of(edge, _KEYS)
            waits = next((part for part in found if part.round.startswith(_LOBBY)), None)
        if waits is not None:
            return Place(waits.round.removeprefix(_LOBBY), waits.id, None, True)
        newest = next((part for part in found if not part.round.startswith(_LOBBY)), None)
        if newest is None:
            return Place("", "")
        with self._storage.begin() as connection:
            group = self._locked(connection, newest.round)
        return Place(group.profile, newest.id, group) if group is not None else Place("", "")

    def take_shares(self, edge: str, round: str, boxes: Mapping[str, bytes]) -> None:
        """Take an edge's sealed shares. Raises: StatisticsError."""
        with self._storage.begin() as connection:
            group, alias = self._turn(connection, edge, round)
            if alias in group.boxes:
                return  # sent again
            group.check_shares(alias, boxes)
            said = {name: to_text(box) for name, box in boxes.items()}
            self._storage.put_part(NewPart(round, edge, _SHARES, alias, said), connection)
            self._locked(connection, round)

    def take_row(self, edge: str, round: str, body: bytes) -> None:
        """Take an edge's masked row. Raises: StatisticsError."""
        with self._storage.begin() as connection:
            group, alias = self._turn(connection, edge, round)
        if alias in group.rows:
            return
        group.check_row(alias, body)
        with self._storage.storing(body) as (connection, sha256):
            group, alias = self._turn(connection, edge, round)
            group.check_row(alias, body)
            self._storage.put_part(NewPart(round, edge, _ROW, alias, {}, sha256), connection)
            self._locked(connection, round)

    def take_opening(self, edge: str, round: str, opened: Opened) -> Group | None:
        """Take the shares an edge opens; return the group if its sum is to be made now. Raises: StatisticsError."""
        with self._storage.begin() as connection:
            group, alias = self._turn(connection, edge, round)
            if alias in group.openings:
                return None
            group.check_opening(alias, opened)
            said = {
                "seeds": {name: to_text(share) for name, share in opened.seeds.items()},
                "keys": {name: to_text(share) for name, share in opened.keys.items()},
            }
            self._storage.put_part(NewPart(round, edge, _OPENING, alias, said), connection)
            group = self._locked(connection, round) or group
            return group if group.state == "summing" else None

    # ── The groups ────────────────────────────────────────────────────────────────────────────────────────────

    def advance(self) -> None:
        """Bring all groups up to the time, those that nobody asks for, too; forget those that ended long ago."""
        for profile in self._n_values:
            self._gather(profile)
        for round in self._storage.rounds(*WORKING):
            with self._storage.begin() as connection:
                self._locked(connection, round.id)
        for round in self._storage.rounds(*_OVER):
            ended = dt.datetime.fromisoformat(round.about["began"])
            with self._storage.begin() as connection:
                if (self._storage.shared_now(connection) - ended).total_seconds() > self.rules.kept_s:
                    self._storage.drop_round(connection, round.id)

    def unsummed(self) -> list[Group]:
        """Return groups whose sum nobody makes: whoever began was killed."""
        found = []
        for round in self._storage.rounds("summing"):
            with self._storage.begin() as connection:
                group = self._locked(connection, round.id)
                now = self._storage.shared_now(connection)
            if group is not None and group.state == "summing" and _age_s(group, now) > _KILLED_S:
                found.append(group)
        return found

    def total(self, group: Group) -> Row:
        """Return a group's sum; its rows are read one after the other. Raises: StatisticsError: The round is void."""
        rows = _Rows(self._storage, group)
        return total(group.id, group.everyone, list(group.boxes), rows, group.openings, group.threshold)

    def end(self, group: Group, body: str, data: bytes) -> bool:
        """Keep a group's sum and drop what it was made of; return False if somebody else did."""
        summed = ("sum", body, data)
        given = [group.edges[alias] for alias in group.rows]
        return self._storage.close_round(group.id, "summing", RoundEnd("done", group.about, _LEFT, summed, given))

    def void(self, group: Group, reason: str) -> bool:
        """End a group without a sum; return False if it ended otherwise."""
        about = replace(group, reason=reason).about
        return self._storage.close_round(group.id, group.state, RoundEnd("void", about, _LEFT))

    def _gather(self, profile: str) -> None:
        """Make groups of those who wait, if it is time."""
        if not self._storage.parts(_LOBBY + profile, _KEYS):
            return
        with self._storage.begin() as connection:
            lobby = self._lobby(connection, profile)
            waiting = self._storage.parts(lobby.id, _KEYS, connection)
            now = self._storage.shared_now(connection)
            since = dt.datetime.fromisoformat(lobby.about["since"]) if "since" in lobby.about else now
            if not waiting or (now - since).total_seconds() < self.rules.gather_s:
                return
            self._storage.put_round(lobby.id, "gathering", {"since": now.isoformat()}, connection)
            if len(waiting) < self.rules.k:
                return
            self._make_groups(connection, profile, list(waiting), now)
            self._storage.drop_parts(connection, lobby.id, (_KEYS,))

    def _make_groups(self, connection: sa.Connection, profile: str, waiting: list[Part], now: dt.datetime) -> None:
        self._lot.shuffle(waiting)
        n_groups = max(1, len(waiting) // max(self.rules.size, self.rules.k))
        for members in (waiting[place::n_groups] for place in range(n_groups)):
            threshold = max(self.rules.k, len(members) // 2 + 1)
            group = Group(secrets.token_hex(8), profile, threshold, self._n_values[profile], now, "shares")
            self._storage.put_round(group.id, group.state, group.about, connection)
            for part in members:
                self._storage.put_part(NewPart(group.id, part.edge, _KEYS, part.id, part.about), connection)

    def _lobby(self, connection: sa.Connection, profile: str) -> Round:
        """Return where the edges of a profile wait; nobody else changes it until the transaction ends."""
        self._storage.ensure_round(connection, _LOBBY + profile)
        found = self._storage.locked_round(connection, _LOBBY + profile)
        assert found is not None
        return found

    def _turn(self, connection: sa.Connection, edge: str, round: str) -> tuple[Group, str]:
        """Return an edge's group and its alias there. Raises: StatisticsError: It takes no part in it."""
        newest = next(
            (part for part in self._storage.parts_of(edge, _KEYS, connection) if not part.round.startswith(_LOBBY)),
            None,
        )
        group = self._locked(connection, round) if newest is not None and newest.round == round else None
        if group is None or newest is None:
            raise StatisticsError("this edge takes no part in that round; join the next")
        return group, newest.id

    def _locked(self, connection: sa.Connection, id: str) -> Group | None:
        """Return a group, brought up to the time; nobody else changes it until the transaction ends."""
        round = self._storage.locked_round(connection, id)
        if round is None:
            return None
        group = Group.of(round, self._storage.parts(id, connection=connection))
        while True:
            now = self._storage.shared_now(connection)
            next_ = group.advanced(now, self.rules.turn_s)
            if next_ == group:
                return group
            group = next_
            self._storage.put_round(group.id, group.state, group.about, connection)
            if group.state == "void":
                self._storage.drop_parts(connection, group.id, _LEFT)


class _Rows(Mapping[str, Row]):
    """Rows of a group, each read when it is accessed, and not kept."""

    def __init__(self, storage: Storage, group: Group) -> None:
        self._storage, self._group = storage, group

    def __getitem__(self, alias: str) -> Row:
        return row_of(self._storage.read_blob(self._group.rows[alias]), self._group.n_values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._group.rows)

    def __len__(self) -> int:
        return len(self._group.rows)


def row_of(body: bytes, n_values: int) -> Row:
    """Parse a row from untrusted bytes. Raises: StatisticsError: It has another length."""
    if len(body) != 8 * n_values:
        raise StatisticsError(f"a row of {n_values} numbers, {8 * n_values} bytes, was expected, got {len(body)} bytes")
    return np.frombuffer(body, dtype="<u8").astype(np.uint64)


def body_of(round: str, profile: str, n_edges: int, n_demonstrations: int) -> str:
    """Return what is kept of a sum beside its bytes."""
    return json.dumps({"round": round, "profile": profile, "edges": n_edges, "n": n_demonstrations})


def _age_s(group: Group, now: dt.datetime) -> float:
    return (now - group.began).total_seconds()


def _keys(part: Part) -> Keys:
    return Keys(from_text(part.about["sealing"]), from_text(part.about["masking"]))


def _bytes_of(said: Mapping[str, str]) -> dict[str, bytes]:
    return {name: from_text(text) for name, text in said.items()}


def to_text(data: bytes) -> str:
    """Write bytes as base64."""
    return base64.b64encode(data).decode()


def from_text(text: str) -> bytes:
    """Read bytes that came as base64. Raises: StatisticsError: They are not."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise StatisticsError("a key or a share is not base64") from None
