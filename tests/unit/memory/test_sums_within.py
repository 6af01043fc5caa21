"""Amounts of one sentence or list are added where they are parts of one sum, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hearth.memory.inquiry.answer_reading import Reading
from hearth.memory.inquiry.sums_within import items_of, sum_answer
from hearth.memory.search.passage_store import Candidate, Passage
from hearth.tools.memory import LEAST_SURE

BOILER = "The valve came to £48.00, the call-out £60.00 and the new gasket £7.50."
SWEEP = (
    "Hi, see you then. The sweep is £65, same as last time. A new cowl is £41 and £30 to fix. Please clear the hearth."
)
MUGS = "We would like 24 mugs at £31 each for the shop, plus delivery £18."
LIST = "For the roof:\n- slates £220\n- battens £35.50\nSee you on Monday."


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (BOILER, [48, 60, 7.5]),
        (MUGS, [744, 18]),
        ("It is 24 x £31 and £6 for the box.", [744, 6]),
        ("That's £31 x 24.", [744]),
        ("Three pots at £12, two bowls for £9 each.", [36, 18]),
        ("Two bags for £9, string £2.", [9, 2]),
        ("Slates £220\nbattens £35.50", [220, 35.5]),
        ("Room 12 at £80, breakfast £9.", [80, 9]),
        ("Cabin 12 at £80 and breakfast £9.", [80, 9]),
        ("Flight 204 at £90 and bag £30", [90, 30]),
        ("2x £1.50 rolls, 4 x £0.80 tea", [3, 3.2]),
        ("3 nights at £80, breakfast £9.", [240, 9]),
        ("1 pot at £12, string £2.", [12, 2]),
        ("I owe Tomasz £20 for posts and £35 for wire.", [20, 35]),
        ("We spent £40 on paint and £9 on brushes.", [40, 9]),
    ],
)
def test_amounts_of_one_sum(text: str, values: list[float]) -> None:
    assert [item.value for item in items_of(text)] == values


@pytest.mark.parametrize(
    "text",
    [
        "The valve is £48 or £60 with fitting.",
        "The rent is £340 a month and the deposit £680.",
        "It cost £48 instead of £60.",
        "Mugs are £31 each, delivery £18.",
        "The valve £48, the gasket £7.50, total £55.50.",
        "The valve £48, the gasket €7.50.",
        "The policy is £214, the excess £150.",
        "The bill is £120, of which £20 is for parts.",
        "£100 for the stall, less £20 for members.",
        "A stall is £20-£30, a table £5.",
        "Nothing was paid.",
        "We raised £400 at the fair and spent £150 on paint.",
        "The awning is £420, £120 deposit paid in March.",
        "The awning is £420, I paid £120 in March.",
        "I paid £120 in March, the awning is £420.",
        "Tomasz owes me £20 for posts and I owe him £35.",
        "The book is £35 and the voucher £20.",
        "Bus 42 for £2 each, lunch £5.",
        "12 June at £80, breakfast £9.",
        "Size 12 shoes at £30, laces £2.",
        "2x £1.50 rolls, 4 x 80p tea",
    ],
)
def test_amounts_that_are_not_added(text: str) -> None:
    assert items_of(text) == ()


def reading(text: str, answer: str, chance: float = 0.9) -> Reading:
    passage = Passage("m", "mail", "message", "Bill", "Sam", None, text, 1, "mail/cur/m")
    start = passage.read.index(answer)
    return Reading(Candidate(passage, 1.0, 0.5), answer, start, 0.5, (), chance)


@pytest.mark.parametrize(
    ("question", "text", "answer", "value"),
    [
        ("how much does Sam want altogether", BOILER, "£7.50", "£115.50 (£48.00 + £60.00 + £7.50)"),
        ("how much do the mugs come to", MUGS, "£31", "£744.00 (24 × £31.00)"),
        ("how much is it for the mugs with delivery", MUGS, "£31", "£762.00 (24 × £31.00 + £18.00)"),
        ("what are the valve and the gasket together in total", BOILER, "£48.00", "£55.50 (£48.00 + £7.50)"),
        ("what does the roof come to in all", LIST, "£220", "£255.50 (£220.00 + £35.50)"),
        (
            "what do the sweeping, the cowl and the fixing come to all told",
            SWEEP,
            "£65",
            "£136.00 (£65.00 + £41.00 + £30.00)",
        ),
        ("what do the cowl and the fixing come to all told", SWEEP, "£41", "£71.00 (£41.00 + £30.00)"),
        ("what will his visit come to all told", SWEEP, "£65", "£136.00 (£65.00 + £41.00 + £30.00)"),
    ],
)
def test_a_sum_that_is_asked_for(question: str, text: str, answer: str, value: str) -> None:
    found = sum_answer(question, [reading(text, answer)])
    assert found is not None
    assert (found.kind, found.value) == ("amount", value)


def test_a_sum_of_what_a_stranger_states_is_doubted() -> None:
    one = reading(BOILER, "£7.50")
    of_known = sum_answer("how much does Sam want altogether", [one])
    of_stranger = sum_answer("how much does Sam want altogether", [replace(one, is_strangers=True)])
    assert of_known is not None
    assert of_known.chance >= LEAST_SURE
    assert of_stranger is not None
    assert of_stranger.chance < LEAST_SURE


@pytest.mark.parametrize(
    ("question", "one"),
    [
        ("how much is the valve", reading(BOILER, "£48.00")),
        ("what is the call-out in total", reading(BOILER, "£60.00")),
        ("how much does Sam want and when", reading(BOILER, "£60.00")),
        ("how much does Sam want altogether", reading(BOILER, "£60.00", 0.01)),
        ("how much does Sam want altogether", reading(f"“{BOILER}”", f"“{BOILER}”")),
        ("what does the roof come to in all", reading(f"{LIST}\nTotal: £260", "£220")),
        ("what will his visit come to all told", reading(f"{SWEEP} That is £130 in all.", "£65")),
        ("how much is the sweep and the visit", reading(SWEEP, "£65")),
    ],
)
def test_no_sum_that_is_not_asked_for_or_not_made(question: str, one: Reading) -> None:
    assert sum_answer(question, [one]) is None
