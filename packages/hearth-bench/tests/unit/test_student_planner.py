"""python -m pytest packages/hearth-bench/tests/unit/test_student_planner.py"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from hearth.models.llm.scripted import HashEncoder
from hearth.planning.arguments.schema_filler import Filled, Filler
from hearth.planning.ranking.ranker import Student
from hearth.planning.ranking.statistics.device_profiles import PROFILES
from hearth.testing import FIXED_NOW, check_planner
from hearth.types import Argument, Context, Demonstration, Parameter, Plan, Ref, Refusal, Request, Step, ToolSpec
from hearth_bench.baselines.student_planner import LearnedPlanner
from hearth_bench.baselines.task_scope import LEAST_TAUGHT, Scope

TOOLS = {
    spec.name: spec
    for spec in (
        ToolSpec("water_plants", "Water the plants.", (Parameter("room", "text", "Which room"),), effect="change"),
        ToolSpec("play_music", "Play music of an artist.", (Parameter("artist", "text", "Whose music"),)),
        ToolSpec("read_meter", "Read the meter.", returns="number"),
        ToolSpec("send_reading", "Send a reading.", (Parameter("reading", "number", "What was read"),), effect="send"),
    )
}
SHOWN = {
    "water_plants": "water the plants in the {} please",
    "play_music": "play music by {} now",
    "read_meter": "what does the meter in the {} say",
}
WORDS = ("kitchen", "bathroom", "cellar", "garden", "attic", "hall", "office", "balcony", "garage", "porch")


class Fixed:
    """Fills by name; what is not named is missing."""

    def __init__(self, values: Mapping[str, Argument], confidence: float = 1.0) -> None:
        self.values = dict(values)
        self.confidence = confidence
        self.asked: list[tuple[str, ...]] = []

    def fill(self, text: str, steps: Sequence[ToolSpec], now: dt.datetime | None, context: Context) -> Sequence[Filled]:
        self.asked.append(tuple(spec.name for spec in steps))
        filled = []
        for spec in steps:
            mine = {p.name: self.values[p.name] for p in spec.parameters if p.name in self.values}
            lacking = tuple(p.name for p in spec.parameters if p.name not in mine)
            filled.append(Filled(mine, dict.fromkeys(mine, self.confidence), lacking))
        return filled


def demonstrations() -> list[Demonstration]:
    return [
        Demonstration(f"{tool}-{word}", form.format(word), Plan((Step(tool),)))
        for tool, form in SHOWN.items()
        for word in WORDS
    ]


@pytest.fixture
def student() -> Student:
    student = Student(HashEncoder(dim=256), TOOLS, PROFILES["small"])
    student.learn(demonstrations())
    return student


ALL: dict[str, Argument] = {"room": "kitchen", "artist": "Bach", "reading": 3.5}


def plan(planner: LearnedPlanner, text: str) -> Plan | Refusal:
    return planner.plan(Request(text, FIXED_NOW), Context(), TOOLS)


def test_what_was_taught_is_planned_filled_and_checked(student: Student) -> None:
    answer = plan(LearnedPlanner(student, Fixed(ALL)), "water the plants in the den please")
    assert isinstance(answer, Plan)
    assert [(step.tool, step.arguments) for step in answer.steps] == [("water_plants", {"room": "kitchen"})]
    assert answer.planner == "student"
    assert answer.rests_on
    assert answer.rests_on[0].startswith("water_plants-")
    assert 0.5 <= answer.confidence <= 1


def test_the_least_sure_argument_lowers_the_confidence(student: Student) -> None:
    text = "water the plants in the den please"
    sure, unsure = plan(LearnedPlanner(student, Fixed(ALL)), text), plan(LearnedPlanner(student, Fixed(ALL, 0.5)), text)
    assert isinstance(sure, Plan)
    assert isinstance(unsure, Plan)
    assert unsure.confidence == pytest.approx(sure.confidence / 2, abs=1e-4)


def test_a_missing_value_is_asked_for(student: Student) -> None:
    answer = plan(LearnedPlanner(student, Fixed({})), "water the plants please")
    assert answer == Refusal(
        "needs", "Which room? I need to know that to water plants.", ("water_plants.room",), None, "student"
    )


def test_a_task_never_taught_is_refused(student: Student) -> None:
    answer = plan(LearnedPlanner(student, Fixed(ALL)), "zebra quantum harmonica festival")
    assert answer == Refusal("out_of_scope", "I have not learnt to do that yet.", planner="student")


def test_without_regard_to_scope_it_is_planned_as_well_as_can_be(student: Student) -> None:
    sure = {"none": 0.0, "change": 0.0, "send": 0.0}
    planner = LearnedPlanner(student, Fixed(ALL), least_confidence=sure, knows_scope=False)  # type: ignore[arg-type]
    assert isinstance(plan(planner, "zebra quantum harmonica festival"), Plan)


def test_one_example_counts_at_once(student: Student) -> None:
    text = "zebra quantum harmonica festival"
    planner = LearnedPlanner(student, Fixed(ALL))
    plan(planner, text)
    student.learn([Demonstration("new", text, Plan((Step("read_meter"),)))])
    answer = plan(planner, text)
    assert isinstance(answer, Plan)
    assert [step.tool for step in answer.steps] == ["read_meter"]
    student.remove("new")
    assert isinstance(plan(planner, text), Refusal)


def test_a_candidate_that_does_not_check_gives_way(student: Student) -> None:
    """The value the filler found is no text; nothing that does not check comes out."""
    filler = Fixed({"room": Ref(7, ()), "artist": "Bach"})
    answer = plan(LearnedPlanner(student, filler), "water the plants in the den please")
    assert ("water_plants",) in filler.asked
    assert not isinstance(answer, Plan) or all(step.tool != "water_plants" for step in answer.steps)


def test_links_without_data_become_an_order() -> None:
    student = Student(HashEncoder(dim=256), TOOLS, PROFILES["small"])
    two = Plan((Step("read_meter"), Step("water_plants", {"room": "hall"}, after=(0,))))
    student.learn([Demonstration(f"d{k}", f"read the meter and water the {w}", two) for k, w in enumerate(WORDS)])
    planner = LearnedPlanner(student, Fixed(ALL))
    answer = plan(planner, "read the meter and water the den")
    assert isinstance(answer, Plan)
    assert [(step.tool, step.after) for step in answer.steps] == [("read_meter", ()), ("water_plants", (0,))]


def test_what_sends_must_be_surer(student: Student) -> None:
    planner = LearnedPlanner(student, Fixed(ALL), least_confidence={"none": 0.0, "change": 1.01, "send": 1.01})
    answer = plan(planner, "water the plants in the den please")
    assert not isinstance(answer, Plan) or answer.steps[0].tool != "water_plants"


def test_the_contract_of_planners(student: Student) -> None:
    texts = [d.request for d in demonstrations()[:3]]
    check_planner(LearnedPlanner(student, Filler(None, None)), Context(), TOOLS, texts)


def test_an_untaught_student_refuses_or_plans_by_texts_alone() -> None:
    answer = plan(
        LearnedPlanner(Student(HashEncoder(dim=256), TOOLS, PROFILES["small"]), Fixed(ALL)), "play music of an artist"
    )
    assert isinstance(answer, Plan | Refusal)


# ── Scope ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_few_taught_requests_are_refused_for_being_strange(student: Student) -> None:
    scope = Scope(student)
    fresh = student.read([form.format("den") for form in SHOWN.values()])
    assert all(scope.is_known(one) for one in fresh)
    known = [scope.is_known(student.taught(id).reading) for id in student.ids]
    assert sum(known) / len(known) >= 0.95


def test_with_few_demonstrations_nothing_is_strange() -> None:
    student = Student(HashEncoder(dim=256), TOOLS, PROFILES["small"])
    student.learn(demonstrations()[: LEAST_TAUGHT - 1])
    scope = Scope(student)
    assert scope.is_wide
    assert scope.is_known(student.read(["zebra quantum harmonica festival"])[0])


def test_refused_requests_teach_what_is_strange(student: Student) -> None:
    """Requests as near to the demonstrations as others, told apart only by what was refused."""
    form = "water the plants in the {} please robot zoo"
    refused = dict(zip(map(str, range(40)), student.read([form.format(f"{w} {k}") for k in range(4) for w in WORDS])))
    near = student.read([form.format("den")])[0]
    assert Scope(student).is_known(near)
    assert not Scope(student, refused).is_known(near)
    assert Scope(student, refused).is_known(student.read(["water the plants in the den please"])[0])


def test_the_scope_follows_what_is_learnt_and_forgotten(student: Student) -> None:
    planner = LearnedPlanner(student, Fixed(ALL))
    first = planner.scope
    student.learn([replace(demonstrations()[0], id="one more")])
    assert planner.scope is first
    student.remove("one more", demonstrations()[0].id)
    assert planner.scope is not first
