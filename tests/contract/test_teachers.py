"""The contract of teachers rejects what breaks it. (Teachers that keep it: `tests/unit/learning/test_teacher.py`.)"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import pytest

from hearth.protocols import Teacher
from hearth.testing import ScriptedTeacher, check_teacher
from hearth.types import Parameter, Plan, Ref, Refusal, Request, Step, ToolSpec

TOOLS = {"find": ToolSpec("find", "Find.", (Parameter("query", "text", enum=("a", "b")),))}
GOOD = Plan((Step("find", {"query": "a"}),))
NO = Refusal("unreadable", "no", planner="x")


class Odd:
    """A teacher that answers as `answer` says."""

    def __init__(self, answer: Callable[[Request, Mapping[str, ToolSpec]], Plan | Refusal], name: str = "odd") -> None:
        self.name = name
        self._answer = answer

    def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
        for request in requests:
            yield self._answer(request, tools)


class Hasty(Odd):
    def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
        for request in list(requests):
            yield self._answer(request, tools)


class Curt(Odd):
    def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
        yield NO


class Wordy(Odd):
    def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
        yield from super().label(requests, tools)
        yield NO


def planned(plan: Plan) -> Odd:
    return Odd(lambda request, tools: plan if "find" in tools and request.text == "go" else NO)


def broken(request: Request, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
    raise OSError("the line is cut")


def test_a_teacher_that_keeps_it() -> None:
    check_teacher(planned(GOOD), TOOLS, ["go"])
    check_teacher(ScriptedTeacher({"go": GOOD}), TOOLS, ["go"])
    check_teacher(planned(Plan((Step("find"),))), TOOLS, ["go"])  # labels without arguments are labels


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        (Odd(lambda *_: NO, name=""), "has no name"),
        (Odd(broken), "raised OSError"),
        (Hasty(lambda *_: NO), "read ahead"),
        (Curt(lambda *_: NO), "gave no answer"),
        (Wordy(lambda *_: NO), "more answers than there were requests"),
        (Odd(lambda *_: Refusal("unreadable", " ")), "refused without a reason"),
        (Odd(lambda *_: GOOD), "planned something for a blank request"),
        (planned(Plan((Step("rocket"),))), "'rocket', which was not offered"),
        (planned(Plan((Step("find", {"colour": "red"}),))), "unknown argument 'colour'"),
        (planned(Plan((Step("find", {"query": "c"}),))), "is not one of"),
        (planned(Plan((Step("find", {"query": Ref(1)}), Step("find", {"query": Ref(0)})))), "wait for one another"),
        (planned(Plan(())), "without steps"),
    ],
)
def test_what_breaks_it_is_named(teacher: Teacher, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_teacher(teacher, TOOLS, ["go"])
