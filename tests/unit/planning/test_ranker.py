"""The ranker: taught in any order, corrected, made to forget, offered new tools."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from hearth.language.request_sketch import request_features
from hearth.language.values.slots import find_slots
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.arguments.alignment import form_of, tokens_of
from hearth.planning.ranking.features import (
    ENDS,
    FEATURES,
    HALF,
    Counts,
    Evidence,
    Grounds,
    Reader,
    ReadingOptions,
    Sequence_,
    candidates,
    features,
    set_of,
)
from hearth.planning.ranking.ranker import Candidate, Ranker, RankerOptions, Ranking
from hearth.planning.ranking.weight_fitting import chance, fit_logistic, fit_weigher, leave_out_groups
from hearth.planning.tool_heads import shipped_prior
from hearth.protocols import Proposal
from hearth.testing import FIXED_NOW, HashEncoder
from hearth.types import Context, Demonstration, Plan, Step, ToolSpec

OPTIONS = RankerOptions(reading=ReadingOptions(n_cosines=128, n_words=512), n_fit=60)
WORDS = {
    "find_train": ("find a train to Ulm", "Find trains between two towns."),
    "book_train": ("book the train seat", "Book a seat on a train."),
    "cancel_train": ("cancel the train ticket", "Cancel a train ticket."),
    "check_weather": ("tell me the weather forecast", "Weather forecast of a place."),
    "set_alarm": ("wake me with an alarm", "Set an alarm clock."),
    "order_pizza": ("order a large pizza", "Order food from a restaurant."),
}
TOOLS = {name: ToolSpec(name, description) for name, (_, description) in WORDS.items()}


def demonstration(id: str, *tools: str, ending: str = "") -> Demonstration:
    request = ", then ".join(WORDS[tool][0] for tool in tools) + ending
    steps = tuple(Step(tool, after=(k - 1,) if k else ()) for k, tool in enumerate(tools))
    return Demonstration(id, request, Plan(steps), task_steps=tuple(WORDS[tool][0] for tool in tools))


def lessons(n: int = 60, seed: int = 0) -> list[Demonstration]:
    drawn = random.Random(seed)
    plans = [
        ("find_train", "book_train"),
        ("check_weather",),
        ("check_weather", "set_alarm"),
        ("find_train",),
        ("cancel_train",),
        ("set_alarm", "order_pizza"),
    ]
    return [
        demonstration(f"d{k}", *plans[k % len(plans)], ending=f" please, {drawn.choice('abcdefgh')} {k}")
        for k in range(n)
    ]


@pytest.fixture(scope="module")
def taught() -> Ranker:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn(lessons())
    return ranker


def first(ranker: Ranker, text: str) -> tuple[str, ...]:
    return ranker.rank(text).candidates[0].tools


@pytest.mark.parametrize("tools", [("find_train", "book_train"), ("check_weather",), ("set_alarm", "order_pizza")])
def test_what_was_taught_is_planned(taught: Ranker, tools: tuple[str, ...]) -> None:
    ranking = taught.rank(demonstration("x", *tools, ending=" please").request)
    assert ranking.candidates[0].tools == tools
    assert ranking.candidates[0].links == tuple(pairwise(range(len(tools))))
    assert 0.5 < ranking.confidence <= 1
    assert ranking.rests_on
    assert all(id.startswith("d") for id in ranking.rests_on)


def test_probabilities_of_candidates_are_ordered_and_at_most_one(taught: Ranker) -> None:
    found = taught.rank("find a train to Ulm").candidates
    assert sum(c.probability for c in found) <= 1 + 1e-9
    rest = [c.probability for c in found[1:]]
    assert rest == sorted(rest, reverse=True)
    assert len({c.tools for c in found}) == len(found)


def test_tools_never_seen_together_are_put_together(taught: Ranker) -> None:
    wanted = {"cancel_train", "order_pizza"}
    found = taught.rank("cancel the train ticket, then order a large pizza").candidates
    assert any(set(c.tools) == wanted for c in found[:6])


def test_teaching_in_another_order_and_in_pieces_gives_the_same_plans(taught: Ranker) -> None:
    other = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    mixed = lessons()
    random.Random(5).shuffle(mixed)
    for start in range(0, len(mixed), 7):
        other.learn(mixed[start : start + 7])
        other.settle()
    assert other.difference(taught) < 1e-6
    for text in ("find a train to Ulm, then book the train seat", "order a large pizza"):
        a, b = taught.rank(text), other.rank(text)
        assert a.candidates[0].tools == b.candidates[0].tools
        assert a.confidence == pytest.approx(b.confidence, abs=1e-4)


def test_forgotten_is_as_if_never_taught() -> None:
    with_it, without = Ranker(HashEncoder(48), TOOLS, OPTIONS), Ranker(HashEncoder(48), TOOLS, OPTIONS)
    secret = demonstration("secret", "order_pizza", "cancel_train", "set_alarm")
    with_it.learn([*lessons(), secret])
    assert with_it.heads.column("l order_pizza > cancel_train") is not None
    with_it.rank("anything")
    with_it.remove("secret", "unknown")
    without.learn(lessons())
    assert with_it.heads.column("l order_pizza > cancel_train") is None
    assert np.array_equal(with_it.heads.statistics()[0], without.heads.statistics()[0])
    assert with_it.difference(without) < 1e-6
    mine, theirs = with_it.rank(secret.request), without.rank(secret.request)
    assert mine.candidates[0].tools == theirs.candidates[0].tools
    assert {c.tools: c.probability for c in mine.candidates} == pytest.approx(
        {c.tools: c.probability for c in theirs.candidates}, abs=1e-4
    )
    assert mine.confidence == pytest.approx(theirs.confidence, abs=1e-6)
    assert len(with_it) == len(without) == 60


def test_one_demonstration_counts_at_once(taught: Ranker) -> None:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn(lessons())
    request = "do the usual friday thing"
    new = replace(demonstration("n", "order_pizza", "check_weather"), request=request, task_steps=())
    assert first(ranker, request) != ("order_pizza", "check_weather")
    ranker.learn([new])
    assert first(ranker, request) == ("order_pizza", "check_weather")


def test_a_known_id_replaces_the_older_demonstration() -> None:
    ranker, other = Ranker(HashEncoder(48), TOOLS, OPTIONS), Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn([demonstration("same", "find_train"), *lessons()])
    ranker.learn([demonstration("same", "order_pizza")])
    other.learn([demonstration("same", "order_pizza"), *lessons()])
    assert len(ranker) == 61
    assert ranker.difference(other) < 1e-6


def test_a_tool_added_today_is_chosen_today(taught: Ranker) -> None:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn(lessons())
    new = ToolSpec("water_plants", "Water the garden plants with the sprinkler.")
    ranker.set_tools({**TOOLS, "water_plants": new})
    names = [tool for c in ranker.rank("water the garden plants with the sprinkler").candidates[:3] for tool in c.tools]
    assert "water_plants" in names


def test_tools_taken_away_are_in_no_plan() -> None:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn(lessons())
    ranker.set_tools({name: spec for name, spec in TOOLS.items() if name != "book_train"})
    for candidate in ranker.rank("find a train to Ulm, then book the train seat").candidates:
        assert "book_train" not in candidate.tools


def test_untaught_it_goes_by_the_texts_of_tools() -> None:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranking = ranker.rank("weather forecast of a place")
    assert "check_weather" in ranking.candidates[0].tools
    assert ranking.rests_on == ()


def test_nothing_to_choose_from_is_no_plan() -> None:
    ranker = Ranker(HashEncoder(48), {}, OPTIONS)
    assert ranker.rank("anything").candidates == ()
    assert ranker.rank("anything").confidence == 0.0


def test_a_graph_forbids_links() -> None:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS, graph=frozenset({("find_train", "book_train")}))
    ranker.learn(lessons())
    for candidate in ranker.rank("wake me with an alarm, then order a large pizza").candidates:
        assert all(link == ("find_train", "book_train") for link in pairwise(candidate.tools))


def test_neighbours_alone_and_heads_alone_plan_too() -> None:
    for options in (replace(OPTIONS, use_heads=False, n_free=0), replace(OPTIONS, use_neighbours=False)):
        ranker = Ranker(HashEncoder(48), TOOLS, options)
        ranker.learn(lessons())
        assert first(ranker, "find a train to Ulm, then book the train seat please") == ("find_train", "book_train")


def test_an_empty_plan_is_passed_over() -> None:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn([Demonstration("e", "who will win the war", Plan(()))])
    assert len(ranker) == 0


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "n_acts"),
    [
        ("", 1),
        ("call Anna", 1),
        ("Buy milk, eggs, bread and butter today", 1),
        ("Please book a table for two, and then send me the address", 2),
        ("Find my flight to Oslo. Cancel the hotel room now! Tell Ben about it soon", 3),
    ],
)
def test_a_request_is_cut_into_acts_as_at_home(text: str, n_acts: int) -> None:
    (reading,) = Reader(HashEncoder(48), OPTIONS.reading).read([text])
    assert reading.n_acts == len(reading.acts) == n_acts
    assert len(reading.vectors) == len(reading.words) == (1 if n_acts == 1 else 1 + n_acts)


def test_the_features_are_those_of_the_heads_at_home_in_whole_numbers() -> None:
    encoder = MiniLMEncoder.open()
    prior = shipped_prior()
    assert prior is not None
    text = "remind me to water the plants tomorrow at nine"
    slots = find_slots(text, FIXED_NOW, Context())
    tokens = tokens_of(text, slots)
    vectors = encoder.encode([form_of(text, tokens)])
    home = request_features(vectors, [[token.word for token in tokens]], prior.projection, prior.phases)
    reader = Reader(encoder)
    rows = reader.features(reader.read([text]))
    assert np.array_equal(rows, np.rint(rows))
    assert rows / HALF == pytest.approx(home, abs=0.006)


def test_a_reading_does_not_depend_on_company() -> None:
    reader = Reader(HashEncoder(48), OPTIONS.reading)
    texts = ["call Anna", "", "book a table, then tell Ben and Eve about it 42"]
    for text, together in zip(texts, reader.read(texts)):
        (alone,) = reader.read([text])
        assert np.array_equal(alone.vectors, together.vectors)
        assert np.array_equal(alone.words, together.words)
        assert np.array_equal(reader.features([alone]), reader.features([together]))


# ── Candidates and weighing ───────────────────────────────────────────────────────────────────────────────


def evidence(**changes: object) -> Evidence:
    links = [(a, b) for a in ("a", "b", "c", ENDS) for b in ("a", "b", "c", ENDS)]
    given = Evidence(
        {"a": 0, "b": 1, "c": 2},
        np.array([0.9, 0.8, 0.1]),
        np.zeros(3),
        np.zeros(3),
        np.zeros((1, 3)),
        np.zeros((1, 3)),
        np.full(3, 0.5),
        np.array([0.9 if link == ("b", "a") else 0.1 for link in links], dtype=np.float32),
        {link: column for column, link in enumerate(links)},
        {2: 0.9},
        [("c",)],
        [(("c",), 1.0)],
        0.5,
        np.zeros(3),
    )
    return replace(given, **changes)  # type: ignore[arg-type]


def signs_of(found: list[Sequence_], given: Evidence, counts: Counts) -> list[dict[str, float]]:
    return [dict(zip(FEATURES, row)) for row in features(found, Grounds(given, counts))]


def test_the_likeliest_set_comes_in_its_likeliest_order() -> None:
    assert candidates(Grounds(evidence(), Counts()), 1) == [("c",), ("b", "a"), ("a", "b")]


def test_where_a_tool_is_said_decides_an_order_that_links_leave_open() -> None:
    given = evidence(predicted=np.full(16, 0.1, dtype=np.float32), said=np.array([0.0, 1.0, 0.5]))
    assert candidates(Grounds(given, Counts()), 1)[1:] == [("a", "b"), ("b", "a")]


def test_a_left_out_sequence_taught_once_is_no_known_one() -> None:
    counts = Counts()
    counts.add(("c",))
    mine = evidence(left_out=("c",))
    assert ("c",) not in candidates(Grounds(mine, counts), 0)
    assert signs_of([("c",)], mine, counts)[0]["known"] == 0
    assert signs_of([("c",)], evidence(), counts)[0]["known"] == 1


def test_signs_of_sequences_do_not_depend_on_company() -> None:
    found: list[Sequence_] = [("a",), ("b", "a"), ("a", "b"), ("a", "b", "c"), ("a", "c", "a")]
    counts = Counts()
    counts.add(("b", "a"))
    together = signs_of(found, evidence(), counts)
    assert [signs_of([one], evidence(), counts)[0] for one in found] == together
    assert together[1]["order_log"] > together[2]["order_log"]
    assert together[1]["links_new"] == 0
    assert together[4]["tools_fit"] == pytest.approx(0.8 - 0.8)  # a tool used twice is wanted once


def test_a_trained_model_has_its_say() -> None:
    proposal = Proposal({"a": 0.9, "c": 0.8}, ((("a", "c"), -0.1), (("a",), -3.0)), {("a", "c"): -0.2})
    given = evidence(proposal=proposal)
    assert ("a", "c") in candidates(Grounds(given, Counts()), 0)
    first, second, other = signs_of([("a", "c"), ("a",), ("b",)], given, Counts())
    assert first["beam_log"] > second["beam_log"] > other["beam_log"]
    assert first["trained_fit"] > second["trained_fit"] > other["trained_fit"]
    assert (first["beam_first"], second["beam_first"], other["beam"]) == (1, 0, 0)
    assert signs_of([("a", "c")], evidence(), Counts())[0]["beam_log"] == 0


def test_tools_a_trained_model_makes_up_are_in_no_candidate() -> None:
    given = evidence(proposal=Proposal({"x": 0.9}, ((("a", "x"), -0.1), ((), -0.2)), {}))
    assert all(tool in "abc" for sequence in candidates(Grounds(given, Counts()), 3) for tool in sequence)


def test_counts_go_back_to_nothing() -> None:
    counts = Counts()
    counts.add(("a", "b", "a"))
    counts.add(("b",))
    counts.add(("a", "b", "a"), -1)
    once = Counts()
    once.add(("b",))
    assert counts == once


def test_the_set_of_a_sequence_has_no_order() -> None:
    assert set_of(("b", "a", "b")) == ("a", "b")


def test_weights_find_what_tells_right_from_wrong() -> None:
    drawn = np.random.default_rng(0)
    groups, right = [], []
    for _ in range(200):
        x = drawn.normal(size=(5, 3))
        groups.append(x)
        right.append(int((x[:, 1] + 0.1 * drawn.normal(size=5)).argmax()))
    weigher = fit_weigher(groups, right)
    assert weigher.weights[1] > 5 * max(abs(weigher.weights[0]), abs(weigher.weights[2]))
    p = weigher.probabilities(groups[0])
    assert p.sum() == pytest.approx(1)
    assert int(p.argmax()) == right[0]


def test_weights_without_a_group_are_near_those_fitted_without_it() -> None:
    drawn = np.random.default_rng(5)
    groups = [drawn.normal(size=(6, 4)) for _ in range(80)]
    right = [int((group @ [1.0, -1.0, 0.5, 0.0] + drawn.gumbel(size=6)).argmax()) for group in groups]
    free = np.array([True, True, True, False])
    whole = fit_weigher(groups, right, free=free)
    quick = leave_out_groups(whole, groups, right, free)
    moved = off = 0.0
    for k, without in enumerate(quick):
        exact = fit_weigher([*groups[:k], *groups[k + 1 :]], [*right[:k], *right[k + 1 :]], free=free)
        mine = without.probabilities(groups[k])[right[k]]
        moved += abs(whole.probabilities(groups[k])[right[k]] - mine)
        off += abs(exact.probabilities(groups[k])[right[k]] - mine)
        assert without.weights[3] == 0.0
    assert off < 0.1 * moved


def test_chances_are_calibrated() -> None:
    drawn = np.random.default_rng(0)
    x = drawn.normal(size=(4000, 1))
    truth = 1 / (1 + np.exp(-2 * x[:, 0] - 0.5))
    found = chance(fit_logistic(x, list(drawn.random(4000) < truth), penalty=1e-4), x)
    assert np.abs(found - truth).mean() < 0.03


# ── Odd lessons ───────────────────────────────────────────────────────────────────────────────────────────


def test_contradicting_teachers_are_both_kept_and_the_more_frequent_is_followed() -> None:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn(lessons())
    request = "do the usual friday thing"
    for id, tools in (("a", ("set_alarm",)), ("b", ("order_pizza",)), ("c", ("order_pizza",))):
        ranker.learn([replace(demonstration(id, *tools), request=request, task_steps=())])
    found = ranker.rank(request)
    assert found.candidates[0].tools == ("order_pizza",)
    assert ("set_alarm",) in [candidate.tools for candidate in found.candidates]
    assert set(found.rests_on) == {"a", "b", "c"}
    ranker.remove("b", "c")
    assert first(ranker, request) == ("set_alarm",)


def test_of_one_id_twice_in_a_batch_the_last_counts() -> None:
    ranker, other = Ranker(HashEncoder(48), TOOLS, OPTIONS), Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn([demonstration("same", "find_train"), *lessons(), demonstration("same", "order_pizza")])
    other.learn([*lessons(), demonstration("same", "order_pizza")])
    assert len(ranker) == 61
    assert ranker.difference(other) < 1e-6


def test_a_tool_not_on_offer_waits_until_it_is() -> None:
    ranker = Ranker(HashEncoder(48), {n: t for n, t in TOOLS.items() if n != "order_pizza"}, OPTIONS)
    ranker.learn(lessons())
    assert "order_pizza" not in first(ranker, "wake me with an alarm, then order a large pizza please")
    ranker.set_tools(TOOLS)
    assert first(ranker, "wake me with an alarm, then order a large pizza please") == ("set_alarm", "order_pizza")


def test_a_huge_request_is_read_in_no_time() -> None:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn(lessons())
    huge = "find a train to Ulm, then book the train seat. " * 220_000
    assert len(huge) > 10_000_000
    assert ranker.rank(huge).candidates
    ranker.learn([replace(lessons()[0], id="huge", request=huge)])
    assert len(ranker) == 61


def test_a_tenth_of_random_labels_does_little_harm() -> None:
    drawn = random.Random(3)
    right = lessons(120)
    poisoned = [demonstration(d.id, *drawn.sample(sorted(TOOLS), 2)) if k % 10 == 0 else d for k, d in enumerate(right)]
    poisoned = [replace(d, request=r.request) for d, r in zip(poisoned, right)]
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn(poisoned)
    asked = lessons(30, seed=9)
    wrong = [d for d in asked if first(ranker, d.request) != tuple(step.tool for step in d.plan.steps)]
    assert len(wrong) <= 2


def test_expected_f1_weighs_candidates_by_what_they_share() -> None:
    ab, ac, d = (Candidate(tools, (), p) for tools, p in ((("a", "b"), 0.5), (("c", "a"), 0.3), (("d",), 0.2)))
    ranking = Ranking((ab, ac, d), 0.4, ())
    assert ranking.expected_f1() == pytest.approx(0.5 + 0.3 * 0.5)
    assert Ranking((), 0.0, ()).expected_f1() == 0.0
