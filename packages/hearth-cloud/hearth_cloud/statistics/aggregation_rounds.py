"""The service's part in secure aggregation: which edges take part in which group, its progress, and the sum.

Edges gather until `gather_s` has passed; then they are shuffled into groups of at least `k`, each a round of its own
(`edge.federation.secure_aggregation` describes a round). A group that loses too many edges is void: nothing of it is
seen, and its edges may join the next. Random groups make it possible to judge secret sums: a poisoner spoils only the
group it fell into, whose sum contradicts the others and is set aside (`docs/decisions/0011-secret-sums-in-groups.md`).

State is kept in memory of one process: a service that ends in the middle voids its rounds, and no edge has revealed
anything. Nothing here waits; every call brings the states up to the given time. Not thread-safe.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from hearth.edge.federation.secure_aggregation import SEALED_BYTES, Keys, Opened, Row, total
from hearth.errors import StatisticsError

State = Literal["gathering", "shares", "rows", "opening", "done", "void"]
_SHARE_BYTES = 66


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


@dataclass
class Group:
    """One round of one group."""

    id: str
    everyone: Mapping[str, Keys]
    threshold: int
    n_values: int
    began_s: float
    state: State = "shares"
    reason: str = ""
    boxes: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Sealed boxes by sender, then by recipient."""
    rows: dict[str, Row] = field(default_factory=dict)
    openings: dict[str, Opened] = field(default_factory=dict)
    sum: Row | None = None

    def check_turn(self, state: State, edge: str) -> None:
        """Check that an edge may act now. Raises: StatisticsError: It is another's turn, or this edge takes no part."""
        if edge not in self.everyone:
            raise StatisticsError("this edge takes no part in that round; join the next")
        if self.state != state:
            raise StatisticsError(f"the round is at {self.state!r}, not at {state!r}; ask where it is")

    def boxes_for(self, edge: str) -> dict[str, bytes]:
        """Return the boxes that the other edges sealed for this one."""
        return {source: sealed[edge] for source, sealed in self.boxes.items() if source != edge}

    def take_shares(self, edge: str, boxes: Mapping[str, bytes]) -> None:
        """Take an edge's sealed shares. Raises: StatisticsError: Not one for each other edge, or of another length."""
        self.check_turn("shares", edge)
        if boxes.keys() != self.everyone.keys() - {edge}:
            raise StatisticsError("shares are needed for every other edge of the round, and for no one else")
        if any(len(box) != SEALED_BYTES for box in boxes.values()):
            raise StatisticsError(f"sealed shares have {SEALED_BYTES} bytes each")
        self.boxes.setdefault(edge, dict(boxes))

    def take_row(self, edge: str, row: Row) -> None:
        """Take an edge's masked row. Raises: StatisticsError: It gave no shares, or the row has another length."""
        self.check_turn("rows", edge)
        if edge not in self.boxes:
            raise StatisticsError("this edge gave no shares; join the next round")
        if row.shape != (self.n_values,):
            raise StatisticsError(f"a row of {self.n_values} numbers was expected, got {row.size}")
        self.rows.setdefault(edge, row)

    def take_opening(self, edge: str, opened: Opened) -> None:
        """Take the shares an edge opens. Raises: StatisticsError: Not of those edges that it is about."""
        self.check_turn("opening", edge)
        gone = self.boxes.keys() - self.rows.keys()
        if edge not in self.rows:
            raise StatisticsError("the row of this edge did not arrive; join the next round")
        if opened.seeds.keys() != self.rows.keys() or opened.keys.keys() != gone:
            raise StatisticsError("shares are needed of every edge's seed whose row arrived, and of the others' keys")
        if any(len(share) != _SHARE_BYTES for share in (*opened.seeds.values(), *opened.keys.values())):
            raise StatisticsError(f"shares have {_SHARE_BYTES} bytes each")
        self.openings.setdefault(edge, opened)

    def advance(self, now_s: float, turn_s: float) -> None:
        """Go on to the next turn when all edges have come or, when time is up, if those that came are enough; else the
        round is void."""
        came: Mapping[str, object]
        if self.state == "shares":
            came, due = self.boxes, set(self.everyone)
        elif self.state == "rows":
            came, due = self.rows, set(self.boxes)
        elif self.state == "opening":
            came, due = self.openings, set(self.rows)
        else:
            return
        is_late = now_s - self.began_s >= turn_s
        if not is_late and came.keys() != due:
            return
        self.began_s = now_s
        if len(came) < self.threshold:
            self._end("void", f"{len(came)} of {self.threshold} edges that are needed came in time; nothing was seen")
        elif self.state == "shares":
            self.state = "rows"
        elif self.state == "rows":
            self.state = "opening"
        else:
            self._finish()

    def _finish(self) -> None:
        try:
            self.sum = total(self.id, self.everyone, list(self.boxes), self.rows, self.openings, self.threshold)
        except StatisticsError as error:
            self._end("void", str(error))
            return
        self._end("done", "")

    def _end(self, state: State, reason: str) -> None:
        self.state, self.reason = state, reason
        if state == "void":
            self.rows.clear()
        self.openings.clear()


class Rounds:
    """All groups of one layout."""

    def __init__(
        self, n_values: int, rules: RoundRules, clock_s: Callable[[], float], lot: random.Random | None = None
    ) -> None:
        """
        Args:
            clock_s: Seconds that never go back.
            lot: Random source for shuffling; seeded in tests.
        """
        self.n_values, self.rules = n_values, rules
        self._clock_s = clock_s
        self._lot: random.Random = lot or random.SystemRandom()
        self._waiting: dict[str, Keys] = {}
        self._since_s = 0.0
        self._groups: dict[str, Group] = {}
        self._group_of: dict[str, str] = {}

    def join(self, edge: str, keys: Keys) -> None:
        """Wait for a group. An edge that joins again before its group is formed replaces its keys.

        Raises:
            StatisticsError: A key is invalid or another edge's, or the edge's group is still at work.
        """
        self.advance()
        group = self.group(edge)
        if group is not None and group.state not in ("done", "void"):
            raise StatisticsError("this edge takes part in a round that is not over; carry on with that one")
        if len(keys.sealing) != 32 or len(keys.masking) != 32 or keys.sealing == keys.masking:
            raise StatisticsError("two different keys of 32 bytes each were expected")
        others = {key for other, k in self._waiting.items() if other != edge for key in (k.sealing, k.masking)}
        if {keys.sealing, keys.masking} & others:
            raise StatisticsError("another edge shows one of these keys; make new ones")
        if not self._waiting:
            self._since_s = self._clock_s()
        self._group_of.pop(edge, None)
        self._waiting[edge] = keys

    def leave(self, edge: str) -> None:
        """Stop waiting; a group that has formed goes on without the edge."""
        self._waiting.pop(edge, None)

    def is_waiting(self, edge: str) -> bool:
        return edge in self._waiting

    def group(self, edge: str) -> Group | None:
        """Return the edge's newest group; None while it waits for one, or never joined."""
        self.advance()
        id = self._group_of.get(edge)
        return self._groups.get(id) if id is not None else None

    def sums(self) -> list[Group]:
        """Return finished groups whose sum was not taken yet."""
        self.advance()
        return [group for group in self._groups.values() if group.sum is not None]

    def take(self, group: Group) -> Row:
        """Return a group's sum and drop it here."""
        assert group.sum is not None
        found, group.sum = group.sum, None
        group.rows.clear()
        return found

    def advance(self) -> None:
        """Bring all groups up to the current time."""
        now_s = self._clock_s()
        if self._waiting and now_s - self._since_s >= self.rules.gather_s:
            self._since_s = now_s
            if len(self._waiting) >= self.rules.k:
                self._make_groups(now_s)
        for group in list(self._groups.values()):
            group.advance(now_s, self.rules.turn_s)
            is_over = group.state in ("done", "void") and group.sum is None
            if is_over and now_s - group.began_s > self.rules.kept_s:
                del self._groups[group.id]

    def _make_groups(self, now_s: float) -> None:
        edges = sorted(self._waiting)
        self._lot.shuffle(edges)
        n_groups = max(1, len(edges) // max(self.rules.size, self.rules.k))
        for members in (edges[place::n_groups] for place in range(n_groups)):
            everyone = {edge: self._waiting[edge] for edge in sorted(members)}
            threshold = max(self.rules.k, len(members) // 2 + 1)
            id = secrets.token_hex(8)
            self._groups[id] = Group(id, everyone, threshold, self.n_values, now_s)
            self._group_of.update(dict.fromkeys(members, id))
        self._waiting.clear()


def row_of(body: bytes, n_values: int) -> Row:
    """Parse a row from untrusted bytes. Raises: StatisticsError: It has another length."""
    if len(body) != 8 * n_values:
        raise StatisticsError(f"a row of {n_values} numbers, {8 * n_values} bytes, was expected, got {len(body)} bytes")
    return np.frombuffer(body, dtype="<u8").astype(np.uint64)
