"""Propagates labels with the data: no step, field or argument has fewer sources than the values it was made from.

Pure functions over a plan and its tools. A result has one label for the whole and one for each field that its tool
declares separately (`ToolSpec.origins`): `<node-2.sender>` carries the label of the sender, not of the mail. `predict`
says before anything runs which labels values will carry; the monitor computes those of real values by the same join.

The nature of a record is known only when it is read: a sender may be in the owner's contacts, a note may have been made
through Hearth. `predict` therefore gives two labels, the worst and the best there can be.

Covered: flows through arguments, fields, nested lists and records; several records join into one label per field. Not
covered: what a step reveals by running at all (a plan is fixed before any result is seen, so a result decides whether a
later step runs only by failing); which of several records was chosen, when a stranger's text decided a search.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from types import MappingProxyType

from hearth.errors import BadReference, Cycle, UnknownTool
from hearth.formats.plan_validation import dependence_order
from hearth.types import (
    ANYONE,
    OWNER,
    PUBLIC,
    TRUSTED_SOURCES,
    Argument,
    Effect,
    FieldOrigin,
    Label,
    Plain,
    Plan,
    Ref,
    Referent,
    Step,
    ToolSpec,
    Whence,
)

NO_FIELDS: Mapping[str, Label] = MappingProxyType({})
VOUCHED_TYPES = frozenset({"EmailAddress", "PhoneNumber"})
"""Types of values that the contact book can vouch for."""


@dataclass(frozen=True, slots=True)
class Value:
    """Plain data with its label: what the monitor takes and returns."""

    data: Plain
    label: Label
    fields: Mapping[str, Label] = field(default_factory=lambda: NO_FIELDS)
    """Labels of its fields where they differ from `label`."""
    files: tuple[str, ...] = ()
    """For a value that stands for recipients: the files they would get."""
    things: tuple[Referent, ...] = ()
    """The things that the value names, in the order of `data`, which then holds their ids."""
    is_open: bool = False
    """Which thing the value names is not known yet; `data` holds the words."""
    whence: tuple[Whence, ...] = ()
    """The records of strangers that it comes from, as far as they are known."""

    def field_label(self, name: str) -> Label:
        """Return the label of one field; for one not declared separately, that of the whole."""
        return self.fields.get(name, self.label)


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step of a plan, with the tools the plan is made of."""

    plan: Plan
    index: int
    tools: Mapping[str, ToolSpec]

    @property
    def step(self) -> Step:
        return self.plan.steps[self.index]

    @property
    def spec(self) -> ToolSpec:
        return self.tools[self.step.tool]

    def is_sink(self, name: str) -> bool:
        """Return whether an argument decides where data goes."""
        parameter = self.spec.parameter(name)
        return parameter is not None and parameter.is_sink


@dataclass(frozen=True, slots=True)
class StepLabels:
    """The labels a step will have at worst."""

    arguments: Mapping[str, Label]
    """By parameter name."""
    result: Label
    best: Mapping[str, Label] = field(default_factory=lambda: NO_FIELDS)
    """For arguments that may turn out more trustworthy once the record is read: their label in that case."""
    declared: Mapping[str, Label] = field(default_factory=lambda: NO_FIELDS)
    """For arguments from records that count as the owner's only if they are known: their label in that case."""

    def expected(self, name: str) -> Label:
        """Return the label of an argument if every record is what its tool declares, as the owner may assume."""
        return self.declared.get(name, self.arguments[name])

    def may_turn_out_trusted(self, name: str) -> bool:
        """Return whether the argument counts as a stranger's only until its record is known."""
        return name in self.best and self.best[name].is_trusted


PUBLIC_SOURCES = frozenset({"web"})
"""Sources whose results anyone may read; those of all others are for this device alone."""


def join_all(labels: Iterable[Label]) -> Label:
    """The least label that is at least as restrictive as each; `PUBLIC` if there is none."""
    return reduce(Label.join, labels, PUBLIC)


@cache
def label_of(source: str) -> Label:
    """The label of data from one source."""
    return Label(frozenset({source}), ANYONE if source in PUBLIC_SOURCES else frozenset())


@cache
def _label_of_all(sources: frozenset[str]) -> Label:
    return join_all(label_of(source) for source in sorted(sources))


def vouched(label: Label) -> Label:
    """Return `label` for a value found in the owner's own contacts: a stranger may have named it, but cannot own it.

    This is the one place where a source is removed from a label; only the monitor calls it, after looking the value up.
    A suspicion that the text around it was an instruction stays.
    """
    return Label((label.sources & (TRUSTED_SOURCES | {"injection"})) | {"contacts"}, label.readers)


# ── Results ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ResultLabels:
    """Labels of one result: of the whole, and of the fields that differ."""

    whole: Label
    fields: Mapping[str, Label]


def result_labels(
    spec: ToolSpec, arguments: Mapping[str, Label], sources: frozenset[str] | None = None
) -> ResultLabels:
    """Compute the labels of a result from its origin and everything it was made from.

    Args:
        sources: The known sources of its records, instead of the tool's own source. A stranger's record taints all its
            fields, except those made of nothing (`made_of=()`): an id is only a key, whoever chose it.
    """
    origin = label_of(spec.source) if sources is None else _label_of_all(sources or frozenset({spec.source}))
    made_of = join_all(arguments.values())
    whole = made_of.join(origin)
    if not spec.origins:
        return ResultLabels(whole, NO_FIELDS)
    taint = origin if sources is not None and not origin.is_trusted else PUBLIC
    fields: dict[str, Label] = {}
    for name in _named(spec):
        declared = spec.origins.get(_followed(spec, name))
        parts = declared.made_of if declared is not None else None
        own = label_of(declared.source) if declared is not None and declared.source else origin
        if parts != ():
            own = own.join(taint)
        inputs = made_of if parts is None else join_all(arguments[part] for part in parts if part in arguments)
        fields[name] = inputs.join(own)
    whole = join_all((whole, *fields.values()))
    return ResultLabels(whole, fields)


@cache
def _names(fields: tuple[str, ...], origins: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*fields, *origins)))


def _named(spec: ToolSpec) -> tuple[str, ...]:
    """The fields with a label of their own: all, so that one without a declaration does not take the join."""
    return _names(tuple(spec.fields), tuple(spec.origins))


def _followed(spec: ToolSpec, name: str) -> str:
    """The field whose declaration counts for `name`."""
    declared = spec.origins.get(name)
    return declared.same_as if declared is not None and declared.same_as else name


def with_vouched(spec: ToolSpec, labels: ResultLabels, names: Iterable[str]) -> ResultLabels:
    """Return `labels` after the contact book vouched for all values of the fields `names`, and those that follow
    them."""
    wanted = frozenset(names)
    fields = {
        name: vouched(label) if _followed(spec, name) in wanted else label for name, label in labels.fields.items()
    }
    return ResultLabels(labels.whole, fields)


def vouchable(spec: ToolSpec) -> tuple[str, ...]:
    """Fields whose values the contact book can vouch for."""
    return tuple(name for name, kind in spec.fields.items() if item_type(kind) in VOUCHED_TYPES)


def acted_on(spec: ToolSpec, arguments: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the ids of the things that a call acts on: records, files, devices; not where it sends to."""
    return tuple(
        one.id
        for name, value in arguments.items()
        if (parameter := spec.parameter(name)) is None or item_type(parameter.type) not in ("EmailAddress", "Url")
        for one in value.things
    )


def told(arguments: Mapping[str, Value]) -> tuple[str, ...]:
    """Return whom servers write to by themselves when the things of a call are changed."""
    return tuple(dict.fromkeys(one for value in arguments.values() for thing in value.things for one in thing.told))


def effect_on(spec: ToolSpec, arguments: Mapping[str, Value]) -> Effect:
    """Return the effect of a call on these things: a change that a server tells others of is sent."""
    return "send" if spec.effect == "change" and told(arguments) else spec.effect


def item_type(kind: str) -> str:
    """The `X` of `list[X]`, else `kind` itself."""
    return kind[5:-1] if kind.startswith("list[") else kind


# ── Plans ─────────────────────────────────────────────────────────────────────────────────────────────────


def refs_in(value: Argument) -> tuple[Ref, ...]:
    """Every reference in one argument, in order."""
    if isinstance(value, Ref):
        return (value,)
    return Step("", {"": value}).refs() if isinstance(value, list | dict) else ()


def field_of(ref: Ref) -> str:
    """The field of the result that a reference points at; empty for the whole. Positions in a list are not fields."""
    return next((part for part in ref.path if not part.lstrip("-").isdigit()), "")


def label_at(ref: Ref, results: Mapping[int, ResultLabels]) -> Label:
    """The label of what a reference points at."""
    labels = results[ref.step]
    return labels.fields.get(field_of(ref), labels.whole)


def argument_label(step: Step, name: str, results: Mapping[int, ResultLabels]) -> Label:
    """Compute the label of one argument, given the labels of the results it may refer to."""
    value = step.arguments[name]
    if isinstance(value, Ref):
        return label_at(value, results)
    return reduce(Label.join, (label_at(ref, results) for ref in refs_in(value)), literal_label(step, name))


def literal_label(step: Step, name: str) -> Label:
    """Return the label of the literals in one argument: read in the owner's request, as planners see nothing a stranger
    wrote, or made up by a planner that is not this device's."""
    return label_of(step.unsaid[name]) if name in step.unsaid else OWNER


def predict(plan: Plan, tools: Mapping[str, ToolSpec]) -> tuple[StepLabels, ...]:
    """Predict the labels of every step by following its references.

    Raises:
        UnknownTool: A step calls a tool that is not in `tools`.
        BadReference: A reference points outside the plan.
        Cycle: Steps wait for each other.
    """
    worst: dict[int, ResultLabels] = {}
    best: dict[int, ResultLabels] = {}
    declared: dict[int, ResultLabels] = {}
    found: dict[int, StepLabels] = {}
    for index in run_order(plan):
        step = plan.steps[index]
        spec = tools.get(step.tool)
        if spec is None:
            raise UnknownTool(f"step {index} calls {step.tool!r}, which is no tool", step=index)
        arguments = {name: argument_label(step, name, worst) for name in step.arguments}
        is_sure = all(worst[ref.step] is best[ref.step] is declared[ref.step] for ref in step.refs())
        if is_sure and not (spec.unconfirmed or spec.origins or vouchable(spec)):
            # Nothing here could be found to be better or worse than it is: most steps of most plans.
            worst[index] = best[index] = declared[index] = result_labels(spec, arguments)
            found[index] = StepLabels(arguments, worst[index].whole, NO_FIELDS, NO_FIELDS)
            continue
        at_best = {name: argument_label(step, name, best) for name in step.arguments}
        as_declared = {name: argument_label(step, name, declared) for name in step.arguments}
        worst[index] = _worst_result(spec, arguments)
        best[index] = _best_result(spec, at_best)
        declared[index] = result_labels(spec, as_declared)
        found[index] = StepLabels(
            arguments, worst[index].whole, _differing(at_best, arguments), _differing(as_declared, arguments)
        )
    return tuple(found[index] for index in range(len(plan.steps)))


def _differing(labels: Mapping[str, Label], others: Mapping[str, Label]) -> Mapping[str, Label]:
    return {name: label for name, label in labels.items() if label != others[name]} or NO_FIELDS


def _worst_result(spec: ToolSpec, arguments: Mapping[str, Label]) -> ResultLabels:
    if not spec.unconfirmed:
        return result_labels(spec, arguments)
    return result_labels(spec, arguments, frozenset({spec.source, spec.unconfirmed}))


def _best_result(spec: ToolSpec, arguments: Mapping[str, Label]) -> ResultLabels:
    labels = result_labels(spec, arguments)
    names = vouchable(spec)
    if not names:
        return labels
    if not spec.origins:
        labels = ResultLabels(labels.whole, dict.fromkeys(spec.fields, labels.whole))
    return with_vouched(spec, labels, names)


def run_order(plan: Plan, needs: Sequence[frozenset[int]] | None = None) -> tuple[int, ...]:
    """Order the steps so that each comes after those it needs; otherwise as given.

    Args:
        needs: `Step.needs` of each step, where the caller has them.
    Raises:
        BadReference: A step needs one that does not exist.
        Cycle: Steps wait for each other.
    """
    found = [step.needs() for step in plan.steps] if needs is None else needs
    for index, before in enumerate(found):
        if absent := [k for k in before if not 0 <= k < len(plan.steps)]:
            raise BadReference(f"step {index} needs step {absent[0]}, which is not in the plan", step=index)
    order = dependence_order(found)
    if waiting := sorted(set(range(len(found))).difference(order)):
        circle = ", ".join(f"{index} ({plan.steps[index].tool})" for index in waiting)
        raise Cycle(f"steps {circle} wait for each other", step=waiting[0])
    return tuple(order)


def origins(planned: PlannedStep, name: str) -> tuple[str, ...]:
    """Name an argument's untrusted sources and the steps they enter by, in words: `sender of find_mail (message)`."""
    seen: set[tuple[int, str]] = set()
    waiting = [(ref.step, field_of(ref)) for ref in refs_in(planned.step.arguments[name])]
    found = [f"the plan ({source})" for given, source in planned.step.unsaid.items() if given == name]
    while waiting:
        k, part = waiting.pop(0)
        if (k, part) in seen:
            continue
        seen.add((k, part))
        step = planned.plan.steps[k]
        spec = planned.tools[step.tool]
        declared = spec.origins.get(_followed(spec, part)) if part else None
        sources = _own_sources(spec, declared, is_whole=not part)
        if strangers := sorted(sources - TRUSTED_SOURCES):
            what = f"{part.replace('_', ' ')} of " if part in spec.origins else ""
            found.append(f"{what}{step.tool} ({', '.join(strangers)})")
        parts = declared.made_of if declared is not None else None
        for parameter, value in step.arguments.items():
            if parts is None or parameter in parts:
                if parameter in step.unsaid:
                    found.append(f"{parameter} of {step.tool} ({step.unsaid[parameter]})")
                waiting.extend((ref.step, field_of(ref)) for ref in refs_in(value))
    return tuple(dict.fromkeys(found))


def _own_sources(spec: ToolSpec, declared: FieldOrigin | None, *, is_whole: bool) -> frozenset[str]:
    """Sources that a tool itself may add to a field, or to the whole of its result."""
    found = {declared.source if declared is not None and declared.source else spec.source}
    if spec.unconfirmed and (declared is None or declared.made_of != ()):
        found.add(spec.unconfirmed)
    if is_whole:
        found.update(origin.source for origin in spec.origins.values() if origin.source)
    return frozenset(found)
