"""Drafts: what is planned for a request as it comes, and what is learnt of how the data are written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from hearth.planning.plan_drafting import Drafter, listed_share
from hearth.planning.ranking.features import ReadingOptions
from hearth.planning.ranking.ranker import Candidate, Ranker, RankerOptions, Ranking
from hearth.testing import HashEncoder
from hearth.types import Argument, Context, Demonstration, Parameter, Plan, Ref, Step, ToolSpec

OPTIONS = RankerOptions(reading=ReadingOptions(n_cosines=64, n_words=64), n_fit=60)
TOOLS = {
    name: ToolSpec(name, f"{name} it.", (Parameter("what", "text"),) if name != "rest" else ())
    for name in ("find", "buy", "sell", "rest")
}
WORDS = ("apples", "pears", "plums", "figs", "nuts", "tea")


@dataclass(frozen=True)
class Found:
    arguments: Mapping[str, Argument]
    missing: tuple[str, ...] = ()


class Finder:
    """Finds a word after "the"; prefers the tool it was told to."""

    def __init__(self, wanted: str = "", *, is_trained: bool = True) -> None:
        self.wanted, self.is_trained = wanted, is_trained

    def fill(self, text: str, steps: Sequence[ToolSpec], now: dt.datetime | None, context: Context) -> list[Found]:
        words = text.split()
        what = words[words.index("the") + 1] if "the" in words else None
        return [
            Found({}, ("what",) if spec.parameters else ()) if what is None
            else Found({"what": Ref(k - 1) if k else what} if spec.parameters else {})
            for k, spec in enumerate(steps)
        ]  # fmt: skip

    def match(self, text: str, tools: Sequence[ToolSpec]) -> list[float]:
        return [0.0 if spec.name == self.wanted else -20.0 for spec in tools]

    def asked_for(self, text: str, tools: Sequence[ToolSpec]) -> list[str]:
        return [spec.name for word in text.split() for spec in tools if spec.name == word]


def shown(verbs: Sequence[str], links: str, listed: bool = False) -> list[Demonstration]:
    found = []
    for k, word in enumerate(WORDS * 4):
        steps = []
        for place, verb in enumerate(verbs):
            before: Argument = Ref(place - 1) if links == "references" and place else word
            steps.append(Step(verb, {"what": before}, (place - 1,) if links == "order" and place else ()))
        request = f"{' and '.join(verbs)} the {word} number {k}"
        found.append(Demonstration(f"{verbs}{k}", request, Plan(tuple(steps)), tuple(verbs) if listed else ()))
    return found


def taught(demonstrations: Sequence[Demonstration]) -> Ranker:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn(demonstrations)
    return ranker


def drafted(drafter: Drafter, text: str, listed: tuple[str, ...] = ()) -> Plan:
    (ranking,) = drafter.rank([text], [listed], TOOLS)
    return drafter.draft(ranking, text, None, TOOLS).plan


def test_links_are_references_where_those_taught_are() -> None:
    demonstrations = shown(["find", "buy"], "references")
    drafter = Drafter(taught(demonstrations), Finder(), demonstrations)
    plan = drafted(drafter, "find and buy the apples number 9")
    assert drafter.links_by_reference
    assert [(step.tool, step.arguments, step.after) for step in plan.steps] == [
        ("find", {"what": "apples"}, ()),
        ("buy", {"what": Ref(0)}, ()),
    ]
    assert plan.rests_on
    assert 0 < plan.confidence <= 1


def test_links_are_the_students_where_no_reference_says_them() -> None:
    demonstrations = shown(["find", "buy"], "order")
    drafter = Drafter(taught(demonstrations), None, demonstrations)
    assert not drafter.links_by_reference
    assert [step.after for step in drafted(drafter, "find and buy the figs number 3").steps] == [(), (0,)]


def test_single_calls_are_judged_by_their_texts_too() -> None:
    demonstrations = [*shown(["buy"], "order"), *shown(["find"], "order")]
    ranker = taught(demonstrations)
    text = "buy the figs number 3"
    assert [s.tool for s in drafted(Drafter(ranker, Finder(is_trained=False), demonstrations), text).steps] == ["buy"]
    assert [s.tool for s in drafted(Drafter(ranker, Finder("sell"), demonstrations), text).steps] == ["sell"]
    assert [s.tool for s in drafted(Drafter(ranker, Finder("sell"), demonstrations), text, ("buy", "find")).steps] == [
        "buy"
    ]


def test_of_tools_offered_those_asked_for_are_called_each_as_often() -> None:
    demonstrations = [*shown(["buy"], "order"), *shown(["find"], "order")]
    drafter = Drafter(taught(demonstrations), Finder(), demonstrations)
    plan = drafted(drafter, "buy the figs then sell and buy nuts", ("find", "sell", "buy"))
    assert [step.tool for step in plan.steps] == ["buy", "sell", "buy"]
    assert drafted(drafter, "sing the song", ("find", "sell")).steps == ()


def test_longer_plans_are_not_judged_so() -> None:
    demonstrations = shown(["find", "buy"], "order")
    drafter = Drafter(taught(demonstrations), Finder("sell"), demonstrations)
    assert not drafter.is_single
    assert [s.tool for s in drafted(drafter, "find and buy the figs number 3").steps] == ["find", "buy"]


def test_only_listed_tools_are_planned_and_a_list_that_is_the_plan_is_taken() -> None:
    demonstrations = shown(["find", "buy"], "order")
    free = Drafter(taught(demonstrations), None, demonstrations)
    assert {step.tool for step in drafted(free, "find and buy the figs", ("sell",)).steps} == {"sell"}
    listing = shown(["find", "buy"], "order", listed=True)
    whole = Drafter(taught(listing), None, listing)
    assert whole.listed_is_plan
    assert [step.tool for step in drafted(whole, "whatever", ("sell", "rest", "buy")).steps] == ["sell", "rest", "buy"]


def test_few_lists_say_nothing() -> None:
    listing = shown(["find", "buy"], "order", listed=True)
    assert listed_share(listing) == 1.0
    assert listed_share(listing[:5]) == 0.0
    assert listed_share(shown(["find"], "order")) == 0.0


def test_what_is_missing_is_said_and_nothing_likely_is_no_step() -> None:
    drafter = Drafter(taught([]), Finder())
    ranking = Ranking((Candidate(("buy", "rest"), (), 1.0),), 0.7, ())
    draft = drafter.draft(ranking, "buy and rest", None, TOOLS)
    assert draft.missing == ("buy.what",)
    assert [dict(step.arguments) for step in draft.plan.steps] == [{}, {}]
    assert drafter.draft(Ranking((), 0.0, ()), "hello", None, TOOLS).plan.steps == ()


@pytest.mark.parametrize("listed", [(), ("find", "buy")])
def test_rankings_keep_the_order_of_requests(listed: tuple[str, ...]) -> None:
    demonstrations = [*shown(["buy"], "order"), *shown(["find"], "order")]
    drafter = Drafter(taught(demonstrations), None, demonstrations)
    texts = [f"{verb} the {word} number 1" for word in WORDS for verb in ("buy", "find")]
    rankings = drafter.rank(texts, [listed, ()] * len(WORDS), TOOLS)
    assert [r.candidates[0].tools[0] for r in rankings] == ["buy", "find"] * len(WORDS)
