"""What was done is told to whom the owner names, in the owner's words."""

from __future__ import annotations

import pytest

from hearth.language.discourse.deeds_told import put_in, said_of_plan, said_of_step, tells_too, told_of_deed
from hearth.language.reading import Utterance
from hearth.testing import FIXED_NOW
from hearth.types import Answer, Context, Entity, Episode, Plain, Plan, Ref, Request, Step, StepResult

START = "2026-12-04T06:30:00+00:00"
ADDED = Plan((Step("add_event", {"title": 'run "easy" with femi', "start": START}),))
FOUND = Step("find_events", {"query": "vet"})
MOVED = Plan((FOUND, Step("move_event", {"event": Ref(0, ("id",)), "start": START})))
POINTED = Plan((Step("move_event", {"event": "e1", "start": START}),))
CANCELLED = Plan((FOUND, Step("cancel_event", {"event": Ref(0, ("id",))})))
LISTED = Plan((Step("add_to_list", {"list": "camping", "items": ["rope", "pegs"]}),))
LOOKED = Plan((FOUND,))


def after(plan: Plan, text: str, *, is_done: bool = True, request: str = "move the vet to 4 December 2026") -> str:
    value: Plain = {"id": "e1", "title": "VET (from a stranger's file)", "start": START}
    status = "done" if is_done else "failed"
    results = tuple(StepResult(k, status, value=value) for k in range(len(plan.steps)))  # type: ignore[arg-type]
    return told_of_deed(text, Episode("e", Request(request, FIXED_NOW), plan, None, None, results, Answer("", "done")))


@pytest.mark.parametrize(
    ("plan", "text", "told"),
    [
        (ADDED, "cool, let femi know", 'tell femi "run easy: Friday 4 December at 06:30"'),
        (ADDED, "great. can you let Ida Berg know please", 'tell Ida Berg "run easy with femi: Friday 4 December at 06:30"'),
        (MOVED, "tell priya", 'tell priya "vet is now on Friday 4 December at 06:30"'),
        (MOVED, "tell Ida Berg please", 'tell Ida Berg "vet is now on Friday 4 December at 06:30"'),
        (CANCELLED, "tell ida please", 'tell ida "vet is cancelled"'),
        (POINTED, "and let Ida know about that", 'tell Ida "vet is now on Friday 4 December at 06:30"'),
        (CANCELLED, "ok let Ida and Bo know", 'tell Ida and Bo "vet is cancelled"'),
        (LISTED, "let Ida know too", 'tell Ida "on the camping list now: rope, pegs"'),
    ],
)  # fmt: skip
def test_what_was_done_is_told(plan: Plan, text: str, told: str) -> None:
    assert after(plan, text) == told


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (ADDED, "let femi know I'm late"),
        (ADDED, "let femi know that it is on Friday"),
        (ADDED, "let me know"),
        (ADDED, "let him know"),
        (ADDED, "tell femi a joke"),
        (ADDED, "tell femi sorry"),
        (LOOKED, "let femi know"),
    ],
)
def test_nothing_is_made_up(plan: Plan, text: str) -> None:
    assert after(plan, text) == ""


def test_what_failed_is_not_told() -> None:
    assert after(ADDED, "let femi know", is_done=False) == ""


KNOWN = Context(entities=(Entity("Lucy Dent", "person", ("Lucy",)), Entity("Bo Lind", "person", ("Bo",))))


@pytest.mark.parametrize(
    ("text", "rest", "whom"),
    [
        ("move the haircut to Friday and let Lucy know", "move the haircut to Friday", "Lucy"),
        ("cancel the drill, and tell Bo please", "cancel the drill", "Bo"),
        ("push my 1pm with Lucy to 2 and let her know", "push my 1pm with Lucy to 2", "Lucy"),
        ("push lunch with Lucy and Bo to 2 and let her know", "", ""),
        ("push lunch to 2 and let him know", "", ""),
        ("move the haircut to Friday and let Lucy know I'm late", "", ""),
        ("let Lucy know", "", ""),
    ],
)
def test_who_is_told_of_what_the_same_request_asks_for(text: str, rest: str, whom: str) -> None:
    found = tells_too(Utterance(text, FIXED_NOW, context=KNOWN))
    assert (("", "") if found is None else (found.rest, found.whom)) == (rest, whom)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (ADDED, (0, "run easy: Friday 4 December at 06:30")),
        (MOVED, (1, "vet is now on Friday 4 December at 06:30")),
        (Plan((FOUND, Step("move_event", {"event": Ref(0, ("id",)), "start": "2026-12-04T00:00:00+00:00"}))), (1, "vet is now on Friday 4 December")),
        (CANCELLED, (1, "vet is cancelled")),
        (Plan((Step("find_events", {"query": "Femi"}), MOVED.steps[1])), (1, "it is now on Friday 4 December at 06:30")),
        (LOOKED, None),
        (Plan((Step("add_event", {"title": "run", "start": Ref(0, ("start",))}),)), None),
    ],
)  # fmt: skip
def test_what_a_plan_will_do_is_told(plan: Plan, said: tuple[int, str] | None) -> None:
    assert said_of_plan(plan, "move the vet", "femi") == said


def test_what_a_step_does_is_told_by_what_the_owner_said() -> None:
    assert said_of_step(ADDED, 0, "run with femi", "femi") == "run easy: Friday 4 December at 06:30"
    assert said_of_step(LOOKED, 0, "find the vet", "femi") == ""


@pytest.mark.parametrize(
    ("text", "rest", "day"),
    [
        ("tea with Bo on 4 December 2026 at 3, put it in", "tea with Bo on 4 December 2026 at 3", "2026-12-04"),
        ("mail Bo: it is done by the 4 December 2026. and pop that in my diary for that day", "mail Bo: it is done by the 4 December 2026", "2026-12-04"),
        ("mail Bo that it is done and put it in the calendar please", "mail Bo that it is done", ""),
        ("mail Bo that it is done and put it in the shed", None, ""),
        ("put it in", None, ""),
        ("tea with Bo on friday, put the kettle on", None, ""),
        ("tea with Bo and put it on", "tea with Bo", ""),
        ("tell Kev the hall is free on Friday so he can put it on", None, ""),
        ("tell Kev the hall is free on Friday so he can put it in the diary", None, ""),
        ("tell Kev the parcel is here and he should put it in", None, ""),
        ("tell Kev the parcel is here, put it in", None, ""),
        ("tell Kev to bring the bulb and put it in", None, ""),
    ],
)  # fmt: skip
def test_a_second_order_for_the_calendar_ends_a_request(text: str, rest: str | None, day: str) -> None:
    found = put_in(Utterance(text, FIXED_NOW, context=KNOWN))
    assert (found and found.rest) == rest
    if found is not None:
        assert str(found.day.views["start"] if found.day is not None else "")[:10] == day


def test_a_long_request_is_read_in_time_for_what_it_ends_in() -> None:
    long = "tell x " + "and " * 4_000 + "z"
    assert put_in(Utterance(long, FIXED_NOW, context=KNOWN)) is None
    found = put_in(Utterance(f"{long} and put it in the diary", FIXED_NOW, context=KNOWN))
    assert found is not None
    assert (found.rest, found.text) == (long, "and put it in the diary")
