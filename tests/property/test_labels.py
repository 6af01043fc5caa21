"""Join is a semilattice, and no path of values loses a source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.errors import BadReference, Cycle, UnknownTool
from hearth.guard.labels import join_all, origins, predict, result_label, run_order
from hearth.types import OWNER, PUBLIC, Argument, Label, Plan, Ref, Step, ToolSpec

names = st.sampled_from(["owner", "device", "contacts", "message", "web", "file"])
labels = st.builds(
    Label, st.frozensets(names, max_size=4), st.one_of(st.none(), st.frozensets(st.sampled_from("abcd"), max_size=3))
)
SPECS = {source: ToolSpec(source, "", source=source) for source in ("device", "contacts", "message", "web", "file")}


@given(labels, labels, labels)
def test_join_laws(a: Label, b: Label, c: Label) -> None:
    assert a.join(b.join(c)) == a.join(b).join(c)
    assert a.join(b) == b.join(a)
    assert a.join(a) == a
    assert a.join(PUBLIC) == a
    both = a.join(b)
    assert a.sources <= both.sources
    assert a.readers is None or (both.readers is not None and both.readers <= a.readers)


@given(st.lists(labels, max_size=5))
def test_join_all_is_the_least_upper_bound(many: list[Label]) -> None:
    joined = join_all(many)
    assert all(joined.join(label) == joined for label in many)
    assert joined.sources == frozenset().union(*(label.sources for label in many))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Random DAGs whose steps stand in any order, with references nested in lists and records."""
    n_steps = draw(st.integers(1, 8))
    place = draw(st.permutations(range(n_steps)))
    steps: list[Step | None] = [None] * n_steps
    for k in range(n_steps):
        earlier = st.sampled_from([place[i] for i in range(k)]) if k else st.nothing()
        value: st.SearchStrategy[Argument] = st.one_of(
            st.just("literal"),
            st.builds(Ref, earlier, st.just(("field",))),
            st.lists(st.builds(Ref, earlier), min_size=1, max_size=2),
            st.builds(lambda ref: {"inner": [ref, 1]}, st.builds(Ref, earlier)),
        )
        arguments = draw(st.dictionaries(st.sampled_from("xyz"), value if k else st.just("literal"), max_size=3))
        after = tuple(draw(st.sets(earlier, max_size=2))) if k else ()
        steps[place[k]] = Step(draw(st.sampled_from(sorted(SPECS))), arguments, after)
    return Plan(tuple(step for step in steps if step is not None))


@given(plans())
def test_no_path_of_values_loses_a_source(plan: Plan) -> None:
    found = predict(plan, SPECS)
    for index, step in enumerate(plan.steps):
        assert step.tool in found[index].result.sources
        for name in step.arguments:
            argument = found[index].arguments[name]
            assert argument.sources <= found[index].result.sources
            assert (found[index].result.readers is None) <= (argument.readers is None)
        reached, waiting = set(), [ref.step for ref in step.refs()]
        while waiting:
            k = waiting.pop()
            if k not in reached:
                reached.add(k)
                waiting.extend(ref.step for ref in plan.steps[k].refs())
        for k in reached:
            assert plan.steps[k].tool in found[index].result.sources
        # and none is invented
        literals = any(
            isinstance(v, str | list | dict) for k in {index, *reached} for v in plan.steps[k].arguments.values()
        )
        assert found[index].result.sources - {"owner"} == {plan.steps[k].tool for k in {index, *reached}}
        assert literals or "owner" not in found[index].result.sources


@given(plans())
def test_the_label_at_call_time_is_the_predicted_one(plan: Plan) -> None:
    found = predict(plan, SPECS)
    for index, step in enumerate(plan.steps):
        assert result_label(SPECS[step.tool], found[index].arguments.values()) == found[index].result


@given(plans())
def test_run_order_puts_each_step_after_those_it_needs(plan: Plan) -> None:
    order = run_order(plan)
    assert sorted(order) == list(range(len(plan.steps)))
    for index, step in enumerate(plan.steps):
        assert all(order.index(k) < order.index(index) for k in step.needs())


def test_what_the_web_gives_is_public_and_everything_else_is_for_this_device() -> None:
    web, mail = predict(Plan((Step("web"), Step("message"))), SPECS)
    assert web.result == Label(frozenset({"web"}))
    assert mail.result == Label(frozenset({"message"}), frozenset())


def test_a_literal_is_the_owner_s() -> None:
    (found,) = predict(Plan((Step("device", {"x": "text", "y": ["a", "b"]}),)), SPECS)
    assert found.arguments == {"x": OWNER, "y": OWNER}


def test_origins_name_the_steps_strangers_enter_by() -> None:
    plan = Plan(
        (
            Step("message"),
            Step("web"),
            Step("contacts", {"x": Ref(0)}),
            Step("device", {"x": [Ref(2), Ref(1)], "y": "a"}),
        )
    )
    assert origins(plan, 3, "x", SPECS) == ("web (web)", "message (message)")
    assert origins(plan, 3, "y", SPECS) == ()


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ([Step("nope")], UnknownTool),
        ([Step("device", {"x": Ref(1)})], BadReference),
        ([Step("device", {}, after=(-1,))], BadReference),
        ([Step("device", {"x": Ref(0)})], Cycle),
    ],
)
def test_a_plan_that_cannot_be_read_has_no_labels(steps: list[Step], error: type[Exception]) -> None:
    with pytest.raises(error):
        predict(Plan(tuple(steps)), SPECS)
