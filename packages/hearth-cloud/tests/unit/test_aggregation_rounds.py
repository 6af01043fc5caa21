"""Rounds of secret sums: gathering, random groups, turns that wait and end, void rounds."""

from __future__ import annotations

import random
from collections.abc import Collection

import numpy as np
import pytest

from hearth.edge.federation.secure_aggregation import Keys, Opened, Participant, Row
from hearth.errors import StatisticsError
from hearth_cloud.statistics.aggregation_rounds import Group, RoundRules, Rounds, row_of

RULES = RoundRules(k=3, size=4, gather_s=60, turn_s=10, kept_s=100)
N = 8


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def rounds(rules: RoundRules = RULES) -> tuple[Rounds, Clock]:
    clock = Clock()
    return Rounds(N, rules, clock, random.Random(1)), clock


def keys(number: int) -> Keys:
    return Keys(bytes([number]) * 32, bytes([100 + number]) * 32)


def row(number: int) -> Row:
    return np.full(N, number, dtype=np.uint64)


def gathered(n_edges: int) -> tuple[Rounds, Clock, dict[str, Participant]]:
    found, clock = rounds()
    edges = {}
    for k in range(n_edges):
        edges[f"e{k}"] = Participant("?", f"e{k}", 3)
        found.join(f"e{k}", edges[f"e{k}"].keys)
    clock.now_s = 60
    for edge, participant in edges.items():
        group = found.group(edge)
        if group is not None:
            participant.round_id = group.id
    return found, clock, edges


def group_of(found: Rounds, edge: str) -> Group:
    group = found.group(edge)
    assert group is not None
    return group


def shared(found: Rounds, edges: dict[str, Participant], without: Collection[str] = ()) -> None:
    for edge, participant in edges.items():
        group = group_of(found, edge)
        if edge not in without:
            group.take_shares(edge, participant.share(group.everyone, group.threshold))


def sent(found: Rounds, edges: dict[str, Participant], without: Collection[str] = ()) -> None:
    for number, (edge, participant) in enumerate(edges.items()):
        group = group_of(found, edge)
        if edge not in without:
            group.take_row(edge, participant.hide(row(number), group.boxes_for(edge)))


def opened(found: Rounds, edges: dict[str, Participant], without: Collection[str] = ()) -> None:
    for edge, participant in edges.items():
        group = group_of(found, edge)
        if edge not in without:
            group.take_opening(edge, Opened(*participant.open(list(group.rows))))


def test_a_round_goes_on_as_soon_as_all_have_come() -> None:
    found, _, edges = gathered(4)
    assert group_of(found, "e0").state == "shares"
    shared(found, edges)
    assert group_of(found, "e0").state == "rows"
    sent(found, edges)
    assert group_of(found, "e0").state == "opening"
    opened(found, edges)
    (group,) = found.sums()
    assert found.take(group).tolist() == [0 + 1 + 2 + 3] * N
    assert found.sums() == []
    assert group_of(found, "e0").state == "done"


def test_those_who_leave_are_waited_for_and_then_left_out() -> None:
    found, clock, edges = gathered(7)
    shared(found, edges, {"e6"})
    assert group_of(found, "e0").state == "shares"
    clock.now_s += 10
    assert group_of(found, "e0").state == "rows"
    edges.pop("e6")
    sent(found, edges, {"e1"})
    numbers = sum(number for number, edge in enumerate(edges) if edge != "e1")
    clock.now_s += 10
    edges.pop("e1")
    opened(found, edges, {"e2"})
    clock.now_s += 10
    (group,) = found.sums()
    assert sorted(group.rows) == ["e0", "e2", "e3", "e4", "e5"]
    assert found.take(group).tolist() == [numbers] * N


@pytest.mark.parametrize("turn", ["shares", "rows", "opening"])
def test_too_few_make_a_round_void_and_nothing_is_kept(turn: str) -> None:
    found, clock, edges = gathered(4)
    gone = {"e0", "e1"}
    shared(found, edges, gone if turn == "shares" else set())
    if turn != "shares":
        sent(found, edges, gone if turn == "rows" else set())
    if turn == "opening":
        opened(found, edges, gone)
    clock.now_s += 10
    group = group_of(found, "e2")
    assert (group.state, group.sum, group.rows) == ("void", None, {})
    assert "nothing was seen" in group.reason
    found.join("e2", keys(9))
    assert found.is_waiting("e2")


def test_too_few_edges_are_not_grouped_and_wait_on() -> None:
    found, clock = rounds()
    for k in range(2):
        found.join(f"e{k}", keys(k))
    clock.now_s = 61
    assert found.group("e0") is None
    assert found.is_waiting("e0")
    found.join("e2", keys(2))
    clock.now_s = 122
    assert group_of(found, "e0").everyone.keys() == {"e0", "e1", "e2"}


def test_groups_are_drawn_by_lot_and_none_is_too_small() -> None:
    found, clock = rounds()
    for k in range(11):
        found.join(f"e{k:02}", keys(k))
    clock.now_s = 60
    groups = {id(group_of(found, f"e{k:02}")): group_of(found, f"e{k:02}") for k in range(11)}
    assert sorted(len(group.everyone) for group in groups.values()) == [5, 6]
    assert all(group.threshold > len(group.everyone) / 2 and group.threshold >= 3 for group in groups.values())
    assert [set(g.everyone) for g in groups.values()] != [{f"e{k:02}" for k in range(6)}, {f"e{k:02}" for k in (6, 10)}]


def test_joining_again_shows_new_keys_until_there_is_a_group() -> None:
    found, clock = rounds()
    for k in range(3):
        found.join(f"e{k}", keys(k))
    found.join("e0", keys(7))
    clock.now_s = 60
    assert group_of(found, "e0").everyone["e0"] == keys(7)
    with pytest.raises(StatisticsError, match="not over"):
        found.join("e0", keys(8))


def test_keys_that_are_none_or_anothers_are_refused() -> None:
    found, _ = rounds()
    found.join("e0", keys(1))
    for wrong, reason in (
        (Keys(b"short", keys(2).masking), "32 bytes"),
        (Keys(keys(2).sealing, keys(2).sealing), "different"),
        (keys(1), "another edge"),
    ):
        with pytest.raises(StatisticsError, match=reason):
            found.join("e1", wrong)


def test_what_comes_out_of_turn_or_is_no_part_of_it_is_refused() -> None:
    found, _, edges = gathered(4)
    group = group_of(found, "e0")
    with pytest.raises(StatisticsError, match="takes no part"):
        group.take_shares("x", {})
    with pytest.raises(StatisticsError, match="at 'shares'"):
        group.take_row("e0", row(1))
    boxes = edges["e0"].share(group.everyone, group.threshold)
    with pytest.raises(StatisticsError, match="every other edge"):
        group.take_shares("e0", {"e1": boxes["e1"]})
    with pytest.raises(StatisticsError, match="bytes each"):
        group.take_shares("e0", dict.fromkeys(boxes, b"?"))
    group.take_shares("e0", boxes)
    group.take_shares("e0", dict.fromkeys(boxes, bytes(len(boxes["e1"]))))  # sent again: the first counts
    assert group.boxes["e0"] == boxes
    shared(found, {name: edge for name, edge in edges.items() if name != "e0"})
    group = group_of(found, "e0")
    with pytest.raises(StatisticsError, match="8 numbers"):
        group.take_row("e0", row(1)[:-1])
    sent(found, edges)
    group = group_of(found, "e0")
    seeds, _ = edges["e0"].open(list(group.rows))
    with pytest.raises(StatisticsError, match="shares are needed"):
        group.take_opening("e0", Opened({}, {}))
    with pytest.raises(StatisticsError, match="66 bytes"):
        group.take_opening("e0", Opened(dict.fromkeys(seeds, b"?"), {}))


def test_a_late_edge_finds_its_round_over_and_old_rounds_are_let_go() -> None:
    found, clock, edges = gathered(4)
    shared(found, edges)
    sent(found, edges)
    opened(found, edges)
    (group,) = found.sums()
    found.take(group)
    with pytest.raises(StatisticsError, match="at 'done'"):
        group.take_row("e0", row(1))
    clock.now_s += 101
    assert found.group("e0") is None


def test_a_row_from_bytes_has_its_length() -> None:
    assert row_of(row(7).tobytes(), N).tolist() == [7] * N
    for wrong in (b"", row(7).tobytes()[:-1], row(7).tobytes() + b"\0"):
        with pytest.raises(StatisticsError, match="64 bytes"):
            row_of(wrong, N)
