"""Join is a semilattice, and no path of values loses a source."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.errors import BadReference, Cycle, UnknownTool
from hearth.execution.results import bind
from hearth.guard.decision import Labelling, Records
from hearth.guard.labels import PlannedStep, join_all, origins, predict, refs_in, run_order
from hearth.testing import make_call
from hearth.types import (
    OWNER,
    PUBLIC,
    Argument,
    FieldOrigin,
    Label,
    Parameter,
    Plain,
    Plan,
    Ref,
    Step,
    StepResult,
    ToolSpec,
)

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


@settings(max_examples=60)
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


@settings(max_examples=60)
@given(plans())
def test_the_label_at_call_time_is_the_predicted_one(plan: Plan) -> None:
    """Bound and labelled as the executor and the monitor do, with tools that declare no field apart."""
    found = predict(plan, SPECS)
    labelling = Labelling(SPECS, Records())
    results: dict[int, StepResult] = {}
    for index in run_order(plan):
        arguments = bind(plan, index, results, SPECS)
        assert {name: value.label for name, value in arguments.items()} == found[index].arguments
        result = labelling.labelled(SPECS[plan.steps[index].tool], {"field": "x"}, arguments, make_call())
        assert result.label == found[index].result
        results[index] = StepResult(index, "done", result.data, result.label, fields=result.fields)


@settings(max_examples=60)
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
    step = PlannedStep(plan, 3, SPECS)
    assert origins(step, "x") == ("web (web)", "message (message)")
    assert origins(step, "y") == ()


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


# ── Fields ────────────────────────────────────────────────────────────────────────────────────────────────

SOURCES = ("device", "contacts", "message", "web", "file")
FIELDS = ("a", "b", "c")
PARAMETERS = ("x", "y", "z")


@st.composite
def tools(draw: st.DrawFn) -> dict[str, ToolSpec]:
    """Tools whose fields declare origins of every kind."""
    found = {}
    for name in ("t0", "t1", "t2"):
        origins = {}
        for part in draw(st.sets(st.sampled_from(FIELDS))):
            made_of = draw(st.none() | st.lists(st.sampled_from(PARAMETERS), unique=True, max_size=2).map(tuple))
            same_as = draw(st.just("") | st.sampled_from([f for f in FIELDS if f != part]))
            origins[part] = FieldOrigin(draw(st.sampled_from(["", *SOURCES])), made_of, same_as)
        for part, origin in list(origins.items()):  # one step of `same_as` is followed
            if origin.same_as in origins and origins[origin.same_as].same_as:
                del origins[part]
        found[name] = ToolSpec(
            name,
            "",
            tuple(Parameter(p, "any", is_required=False) for p in PARAMETERS),
            source=draw(st.sampled_from(SOURCES)),
            unconfirmed=draw(st.sampled_from(["", "", "file"])),
            fields=dict.fromkeys(FIELDS, "text"),
            returns="Thing",
            origins=origins,
        )
    return found


@st.composite
def field_plans(draw: st.DrawFn) -> Plan:
    steps: list[Step] = []
    for k in range(draw(st.integers(1, 7))):
        earlier = st.integers(0, k - 1) if k else st.nothing()
        ref = st.builds(Ref, earlier, st.sampled_from([(), ("a",), ("b",), ("c",), ("0", "a"), ("b", "0")]))
        value: st.SearchStrategy[Argument] = st.recursive(
            st.just("literal") | ref if k else st.just("literal"),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("kl"), inner, max_size=2),
            max_leaves=4,
        )
        steps.append(
            Step(draw(st.sampled_from(["t0", "t1", "t2"])), draw(st.dictionaries(st.sampled_from(PARAMETERS), value)))
        )
    return Plan(tuple(steps))


def reached(plan: Plan, specs: dict[str, ToolSpec], k: int, part: str) -> frozenset[str]:
    """Every source on some declared path into a field (or the whole) of step `k`: the definition, spelled out."""
    step, spec = plan.steps[k], specs[plan.steps[k].tool]
    if part:
        declared = spec.origins.get(part, FieldOrigin())
        declared = spec.origins.get(declared.same_as, FieldOrigin()) if declared.same_as else declared
        own = {declared.source or spec.source}
        flows = PARAMETERS if declared.made_of is None else declared.made_of
        if spec.unconfirmed and declared.made_of != () and not (declared.source and spec.unconfirmed == ""):
            own.add(spec.unconfirmed)
    else:
        own = {spec.source, *(o.source for o in spec.origins.values() if o.source and not o.same_as)} - {""}
        own |= {spec.unconfirmed} - {""}
        flows = PARAMETERS
    found = frozenset(own)
    for name in flows:
        if name in step.arguments:
            found |= reached_by(plan, specs, step.arguments[name])
    return found


def reached_by(plan: Plan, specs: dict[str, ToolSpec], value: Argument) -> frozenset[str]:
    if isinstance(value, Ref):
        return reached(plan, specs, value.step, next((p for p in value.path if not p.isdigit()), ""))
    refs = refs_in(value)
    return frozenset({"owner"}).union(*(reached_by(plan, specs, ref) for ref in refs))


@settings(max_examples=60)
@given(tools(), field_plans())
def test_no_path_through_fields_loses_a_source(specs: dict[str, ToolSpec], plan: Plan) -> None:
    found = predict(plan, specs)
    for index, step in enumerate(plan.steps):
        for name, value in step.arguments.items():
            label = found[index].arguments[name]
            assert reached_by(plan, specs, value) <= label.sources
            assert label.sources <= found[index].result.sources
        assert reached(plan, specs, index, "") <= found[index].result.sources


MADE: Plain = [{"a": "some text", "b": ["a@example.org"], "c": {"k": "deep"}}]
"""What every tool returns: a list of one record with nested values."""


@settings(max_examples=60, deadline=None)
@given(tools(), field_plans())
def test_real_values_carry_what_was_predicted_and_no_less(specs: dict[str, ToolSpec], plan: Plan) -> None:
    """Bound and labelled step by step as the executor and the monitor do."""
    found = predict(plan, specs)
    labelling = Labelling(specs, Records())
    results: dict[int, StepResult] = {}
    for index, step in enumerate(plan.steps):
        arguments = bind(plan, index, results, specs)
        for name, value in arguments.items():
            assert reached_by_real(plan, specs, step.arguments[name]) <= value.label.sources
            assert value.label.sources <= found[index].arguments[name].sources
        result = labelling.labelled(specs[step.tool], MADE, arguments, make_call())
        assert result.label.sources <= found[index].result.sources
        results[index] = StepResult(index, "done", MADE, result.label, fields=result.fields)


def reached_by_real(plan: Plan, specs: dict[str, ToolSpec], value: Argument) -> frozenset[str]:
    """The same where nothing is known of the records: they have no id, so `unconfirmed` does not show."""
    certain = {name: replace(spec, unconfirmed="") for name, spec in specs.items()}
    return reached_by(plan, certain, value)
