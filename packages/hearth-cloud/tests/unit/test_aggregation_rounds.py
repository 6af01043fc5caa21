"""Rounds of secret sums: gathering, random groups, turns that wait and end, void rounds, processes that end or work at
once. On SQLite; what several processes do at once on PostgreSQL, too."""

from __future__ import annotations

import random
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cloud_fixtures import Clock

from hearth.edge.federation import Keys, Opened, Participant, Row, alias_of
from hearth.errors import StatisticsError
from hearth_cloud.statistics.aggregation_rounds import Group, RoundRules, Rounds, row_of
from hearth_cloud.storage.cloud_storage import GIVEN, Storage

RULES = RoundRules(k=3, size=4, gather_s=60, turn_s=10, kept_s=100)
N = 8
PROFILE = "small"


class Town:
    """Edges with the keys of a round, and a service that is a new process each time it is asked."""

    def __init__(self, storage: Storage, clock: Clock, n_edges: int) -> None:
        self.storage, self.clock = storage, clock
        self.edges = {f"e{k:02}": Participant("?", least=3) for k in range(n_edges)}
        for edge in (*self.edges, "x"):
            storage.add_token(edge, edge, edge.ljust(64, "0"), None)

    @property
    def rounds(self) -> Rounds:
        return Rounds(self.storage, {PROFILE: N}, RULES, random.Random(1))

    def joined(self) -> Town:
        for edge, participant in self.edges.items():
            self.rounds.join(edge, PROFILE, participant.keys)
        self.clock.wait(60)
        return self

    def group(self, edge: str) -> Group:
        place = self.rounds.place(edge)
        group = place.group
        assert group is not None, place
        self.edges[edge].round_id = group.id
        return group

    def shares(self, edge: str) -> dict[str, bytes]:
        group = self.group(edge)
        return self.edges[edge].share(group.everyone, group.threshold)

    def share(self, without: Collection[str] = ()) -> None:
        for edge in self.edges.keys() - set(without):
            self.rounds.take_shares(edge, self.group(edge).id, self.shares(edge))

    def send(self, without: Collection[str] = ()) -> None:
        for edge in sorted(self.edges.keys() - set(without)):
            group, participant = self.group(edge), self.edges[edge]
            hidden = participant.hide(row(int(edge[1:])), group.boxes_for(participant.edge))
            self.rounds.take_row(edge, group.id, hidden.tobytes())

    def open(self, without: Collection[str] = ()) -> list[Group]:
        done = []
        for edge in sorted(self.edges.keys() - set(without)):
            group = self.group(edge)
            opened = Opened(*self.edges[edge].open(list(group.rows)))
            done += [self.rounds.take_opening(edge, group.id, opened)]
        return [group for group in done if group is not None]

    def sum(self, group: Group) -> list[int]:
        return [int(number) for number in self.rounds.total(group)]


def keys(number: int) -> Keys:
    return Keys(bytes([number]) * 32, bytes([100 + number]) * 32)


def row(number: int) -> Row:
    return np.full(N, number, dtype=np.uint64)


def test_a_round_goes_on_as_soon_as_all_have_come(small_storage: Storage, clock: Clock) -> None:
    town = Town(small_storage, clock, 4).joined()
    assert town.group("e00").state == "shares"
    town.share()
    assert town.group("e00").state == "rows"
    town.send()
    assert town.group("e00").state == "opening"
    (group,) = town.open()
    assert town.sum(group) == [0 + 1 + 2 + 3] * N
    assert town.rounds.end(group, "{}", b"sum")
    assert not town.rounds.end(group, "{}", b"sum")  # somebody else did
    assert town.group("e00").state == "done"
    assert {part.edge for part in small_storage.parts(GIVEN)} == set(town.edges)
    assert not small_storage.parts(group.id, "row")
    assert small_storage.drop_unused_blobs() == 0


def test_those_who_leave_are_waited_for_and_then_left_out(small_storage: Storage, clock: Clock) -> None:
    town = Town(small_storage, clock, 7).joined()
    town.share({"e06"})
    assert town.group("e00").state == "shares"
    clock.wait(10)
    assert town.group("e00").state == "rows"
    town.send({"e06", "e01"})
    clock.wait(10)
    assert town.open({"e06", "e01", "e02"}) == []
    clock.wait(10)
    assert town.group("e00").state == "summing"
    clock.wait(61)  # nobody does: the process that should have was killed
    (group,) = town.rounds.unsummed()
    assert {group.edges[alias] for alias in group.rows} == {"e00", "e02", "e03", "e04", "e05"}
    assert town.sum(group) == [0 + 2 + 3 + 4 + 5] * N


@pytest.mark.parametrize("turn", ["shares", "rows", "opening"])
def test_too_few_make_a_round_void_and_nothing_is_kept(small_storage: Storage, clock: Clock, turn: str) -> None:
    town = Town(small_storage, clock, 4).joined()
    gone = {"e00", "e01"}
    town.share(gone if turn == "shares" else set())
    if turn != "shares":
        town.send(gone if turn == "rows" else set())
    if turn == "opening":
        town.open(gone)
    clock.wait(10)
    group = town.group("e02")
    assert group.state == "void"
    assert "nothing was seen" in group.reason
    assert {part.kind for part in small_storage.parts(group.id)} == {"keys"}
    assert small_storage.drop_unused_blobs() == 0
    town.rounds.join("e02", PROFILE, keys(9))
    assert town.rounds.place("e02").is_waiting


def test_a_group_that_all_have_left_ends_by_itself(small_storage: Storage, clock: Clock) -> None:
    town = Town(small_storage, clock, 4).joined()
    town.rounds.advance()
    (round,) = small_storage.rounds("shares")
    clock.wait(11)
    town.rounds.advance()
    assert [one.id for one in small_storage.rounds("void")] == [round.id]
    clock.wait(101)
    town.rounds.advance()
    assert not small_storage.rounds("void")


def test_too_few_edges_are_not_grouped_and_wait_on(small_storage: Storage, clock: Clock) -> None:
    town = Town(small_storage, clock, 3)
    for k in range(2):
        town.rounds.join(f"e{k:02}", PROFILE, keys(k))
    clock.wait(61)
    assert town.rounds.place("e00").is_waiting
    town.rounds.join("e02", PROFILE, keys(2))
    clock.wait(61)
    assert town.group("e00").edges.keys() == {alias_of(keys(k)) for k in range(3)}


def test_groups_are_drawn_by_lot_and_none_is_too_small(small_storage: Storage, clock: Clock) -> None:
    town = Town(small_storage, clock, 11).joined()
    groups = {town.group(edge).id: town.group(edge) for edge in town.edges}
    members = [sorted(group.edges.values()) for group in groups.values()]
    assert sorted(map(len, members)) == [5, 6]
    assert all(group.threshold > len(group.everyone) / 2 and group.threshold >= 3 for group in groups.values())
    assert members[0] != sorted(town.edges)[::2]


def test_joining_again_shows_new_keys_until_there_is_a_group(small_storage: Storage, clock: Clock) -> None:
    town = Town(small_storage, clock, 3)
    for k in range(3):
        town.rounds.join(f"e{k:02}", PROFILE, keys(k))
    town.rounds.join("e00", PROFILE, keys(7))
    clock.wait(60)
    assert alias_of(keys(7)) in town.group("e00").everyone
    with pytest.raises(StatisticsError, match="not over"):
        town.rounds.join("e00", PROFILE, keys(7))
    town.rounds.join("e00", PROFILE, keys(8))  # an edge that began anew leaves the round
    assert town.rounds.place("e00").is_waiting


def test_keys_that_are_none_or_anothers_are_refused(small_storage: Storage, clock: Clock) -> None:
    town = Town(small_storage, clock, 2)
    town.rounds.join("e00", PROFILE, keys(1))
    for wrong, reason in (
        (Keys(b"short", keys(2).masking), "32 bytes"),
        (Keys(keys(2).sealing, keys(2).sealing), "different"),
        (keys(1), "another edge"),
    ):
        with pytest.raises(StatisticsError, match=reason):
            town.rounds.join("e01", PROFILE, wrong)


def test_what_comes_out_of_turn_or_is_no_part_of_it_is_refused(small_storage: Storage, clock: Clock) -> None:
    town = Town(small_storage, clock, 4).joined()
    id = town.group("e00").id
    with pytest.raises(StatisticsError, match="takes no part"):
        town.rounds.take_shares("x", id, {})
    with pytest.raises(StatisticsError, match="at 'shares'"):
        town.rounds.take_row("e00", id, row(1).tobytes())
    boxes = town.shares("e00")
    one = next(iter(boxes))
    with pytest.raises(StatisticsError, match="every other edge"):
        town.rounds.take_shares("e00", id, {one: boxes[one]})
    with pytest.raises(StatisticsError, match="bytes each"):
        town.rounds.take_shares("e00", id, dict.fromkeys(boxes, b"?"))
    town.rounds.take_shares("e00", id, boxes)
    town.rounds.take_shares("e00", id, dict.fromkeys(boxes, bytes(len(boxes[one]))))  # sent again: the first counts
    assert town.group("e00").boxes[town.edges["e00"].edge] == boxes
    town.share({"e00"})
    with pytest.raises(StatisticsError, match="8 numbers"):
        town.rounds.take_row("e00", id, row(1)[:-1].tobytes())
    town.send()
    seeds, _ = town.edges["e00"].open(list(town.group("e00").rows))
    with pytest.raises(StatisticsError, match="shares are needed"):
        town.rounds.take_opening("e00", id, Opened({}, {}))
    with pytest.raises(StatisticsError, match="66 bytes"):
        town.rounds.take_opening("e00", id, Opened(dict.fromkeys(seeds, b"?"), {}))


def test_a_late_edge_finds_its_round_over_and_old_rounds_are_let_go(small_storage: Storage, clock: Clock) -> None:
    town = Town(small_storage, clock, 4).joined()
    town.share()
    town.send()
    (group,) = town.open()
    town.rounds.end(group, "{}", b"sum")
    with pytest.raises(StatisticsError, match="at 'done'"):
        town.rounds.take_opening("e00", group.id, Opened({}, {"x": b""}))
    clock.wait(101)
    town.rounds.advance()
    assert town.rounds.place("e00").group is None


def test_edges_that_come_at_once_make_one_set_of_groups_and_one_sum(storage: Storage, clock: Clock) -> None:
    """On both databases: each edge asks another process, all at the same time, turn by turn."""
    town = Town(storage, clock, 6)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda edge: town.rounds.join(edge, PROFILE, town.edges[edge].keys), town.edges))
        clock.wait(60)
        groups = {group.id: group for group in threads.map(town.group, town.edges)}
        assert len(groups) == 1
        boxes = {edge: town.shares(edge) for edge in town.edges}
        list(threads.map(lambda edge: town.rounds.take_shares(edge, town.group(edge).id, boxes[edge]), town.edges))
        list(threads.map(lambda edge: town.send(town.edges.keys() - {edge}), town.edges))
        ended = [
            group for found in threads.map(lambda e: town.open(town.edges.keys() - {e}), town.edges) for group in found
        ]
        assert len(ended) == 1
        assert town.sum(ended[0]) == [0 + 1 + 2 + 3 + 4 + 5] * N
        assert sum(threads.map(lambda _: town.rounds.end(ended[0], "{}", b"sum"), range(4))) == 1


def test_a_row_from_bytes_has_its_length() -> None:
    assert row_of(row(7).tobytes(), N).tolist() == [7] * N
    for wrong in (b"", row(7).tobytes()[:-1], row(7).tobytes() + b"\0"):
        with pytest.raises(StatisticsError, match="64 bytes"):
            row_of(wrong, N)
