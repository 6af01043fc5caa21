"""Score arguments: which arguments a plan names, and whether their values are right; pure functions.

Counts are pooled over all arguments of all samples, as in TaskBench, but predicted calls are first matched to the gold
ones (the k-th call of a tool with the k-th), so that a reference is right when it leads to the same call. A value is
right when it is one that the data accept, ignoring case, spacing and the way of writing a number; an argument that the
data accept as `""` may be left out, and is then not counted. Of several calls of one tool those that are wholly right
are matched first. TaskBench's own score, which compares texts, is `taskbench_argument_f1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hearth.formats.plans import encode_argument
from hearth.types import Argument, Parameter, Ref, Step, ToolSpec
from hearth_bench.metrics.plan_metrics import pooled_set_f1

_NUMBER = re.compile(r"[+-]?(?=\.?\d)(\d+|\d{1,3}(,\d{3})+)?(\.\d+)?(e[+-]?\d{1,2})?(?<=\d)")


@dataclass(frozen=True, slots=True)
class GoldCall:
    """A call in the data."""

    tool: str
    right: Mapping[str, tuple[Argument, ...]]
    """Right values by argument; the one written in the plan is first."""


@dataclass(slots=True)
class Tally:
    """Counts from which an F1 is computed."""

    n_right: int = 0
    n_predicted: int = 0
    n_gold: int = 0

    @property
    def f1(self) -> float | None:
        """F1 of the counts; None where there is nothing to score."""
        total = self.n_predicted + self.n_gold
        return 2 * self.n_right / total if total else None


@dataclass(slots=True)
class _Tallies:
    names: Tally = field(default_factory=Tally)
    values: Tally = field(default_factory=Tally)

    def add(self, is_gold: bool, is_predicted: bool, is_right: bool) -> None:
        for tally, both in ((self.names, is_gold and is_predicted), (self.values, is_right)):
            tally.n_gold += is_gold
            tally.n_predicted += is_predicted
            tally.n_right += both


def is_boolean(parameter: Parameter | None) -> bool:
    """Return whether a parameter is yes or no: boolean, or with exactly the options `true` and `false`."""
    if parameter is None:
        return False
    return parameter.type.lower() == "boolean" or {e.lower() for e in parameter.enum} == {"true", "false"}


def argument_scores(
    predicted: Sequence[Sequence[Step]], gold: Sequence[Sequence[GoldCall]], tools: Mapping[str, ToolSpec]
) -> dict[str, float | None]:
    """Score the arguments of plans; a key is None where the data hold nothing of its kind.

    Returns:
        `arg_name_f1 arg_value_f1`, the same of `_optional`, `_boolean`, `_reference` and `_plain` (neither boolean nor
        reference) arguments, `boolean_false_accuracy` (share of gold "no" answered "no"), `call_exact` (share of gold
        calls with all names and values right and none more), `calls_exact` (share of samples with all calls so and no
        call more), `taskbench_arg_name_f1`, `taskbench_arg_value_f1`, `n_arguments`, `n_calls`.
    """
    if len(predicted) != len(gold):
        raise ValueError(f"{len(predicted)} plans for {len(gold)} samples; expected as many")
    kinds = {kind: _Tallies() for kind in ("", "_optional", "_boolean", "_reference", "_plain")}
    no = Tally()
    n_calls = n_exact = n_whole = 0
    for steps, calls in zip(predicted, gold):
        exact = [(call, _add_call(made, call, place, tools, kinds, no)) for made, call, place in _pairs(steps, calls)]
        n_calls += len(calls)
        n_exact += sum(is_exact for call, is_exact in exact if call is not None)
        n_whole += all(is_exact for _, is_exact in exact)
    found: dict[str, float | None] = {}
    for kind, tallies in kinds.items():
        found[f"arg_name_f1{kind}"] = tallies.names.f1
        found[f"arg_value_f1{kind}"] = tallies.values.f1
    return {
        **found,
        "boolean_false_accuracy": no.n_right / no.n_gold if no.n_gold else None,
        "call_exact": n_exact / n_calls if n_calls else None,
        "calls_exact": n_whole / len(gold) if gold else None,
        "taskbench_arg_name_f1": taskbench_argument_f1(predicted, gold, with_values=False),
        "taskbench_arg_value_f1": taskbench_argument_f1(predicted, gold, with_values=True),
        "n_arguments": float(kinds[""].names.n_gold),
        "n_calls": float(n_calls),
    }


def taskbench_argument_f1(
    predicted: Sequence[Sequence[Step]], gold: Sequence[Sequence[GoldCall]], *, with_values: bool
) -> float | None:
    """Return the pooled F1 of `tool-argument` or `tool-argument-value` texts, each counted once per sample.

    A tool called twice with the same argument counts once; values are compared as texts. A reference's value is the
    name of the tool it leads to, as the source converts its own data.

    Source:
        TaskBench `evaluate.py`, `argument_task_argname_binary_f1` and `…_value_…` (https://arxiv.org/abs/2311.18760).
    """
    ours = [_texts([(s.tool, s.arguments) for s in steps], with_values) for steps in predicted]
    theirs = [_texts([(c.tool, {n: v[0] for n, v in c.right.items()}) for c in calls], with_values) for calls in gold]
    return pooled_set_f1(ours, theirs)


def is_value_right(value: Argument, accepted: Iterable[Argument], place: Mapping[int, int] | None = None) -> bool:
    """Return whether a value is one of those accepted.

    Args:
        place: Gold step of each predicted step, to follow references; None compares them unchanged.
    """
    mine = _normal(value, place)
    return any(mine == _normal(other, None) for other in accepted)


def _kinds_of(parameter: Parameter | None, sample: Argument) -> tuple[str, ...]:
    """Return the tallies that an argument counts in."""
    kind = "_boolean" if is_boolean(parameter) else "_reference" if _has_ref(sample) else "_plain"
    is_optional = parameter is not None and not parameter.is_required
    return ("", kind, "_optional") if is_optional else ("", kind)


def _add_call(
    made: Step | None,
    call: GoldCall | None,
    place: Mapping[int, int],
    tools: Mapping[str, ToolSpec],
    kinds: Mapping[str, _Tallies],
    no: Tally,
) -> bool:
    """Count one call, and return whether it is wholly right."""
    given = made.arguments if made else {}
    wanted = call.right if call else {}
    tool = tools.get(made.tool if made else call.tool if call else "")
    is_exact = made is not None and call is not None
    for name in {**wanted, **given}:
        if name not in given and "" in wanted[name]:
            continue
        is_gold, is_predicted = name in wanted, name in given
        is_right = is_gold and is_predicted and is_value_right(given[name], wanted[name], place)
        is_exact &= is_right
        # An argument's kind follows from its gold value, or from the predicted one if there is none.
        sample = wanted[name][0] if is_gold else given[name]
        its_kinds = _kinds_of(tool.parameter(name) if tool else None, sample)
        for key in its_kinds:
            kinds[key].add(is_gold, is_predicted, is_right)
        if "_boolean" in its_kinds and is_gold and _normal(sample, None) == _normal(False, None):
            no.n_gold += 1
            no.n_right += is_right
    return is_exact


def _pairs(
    steps: Sequence[Step], calls: Sequence[GoldCall]
) -> list[tuple[Step | None, GoldCall | None, dict[int, int]]]:
    """Match predicted calls to gold calls of the same tool, wholly right ones first and then in order; a call without a
    partner is paired with None."""
    waiting: dict[str, list[int]] = {}
    for index, call in enumerate(calls):
        waiting.setdefault(call.tool, []).append(index)
    place: dict[int, int] = {}
    for index, step in enumerate(steps):
        able = waiting.get(step.tool, [])
        right = next((k for k in able if len(able) > 1 and _is_wholly_right(step, calls[k])), None)
        if right is not None:
            place[index] = right
            able.remove(right)
    for index, step in enumerate(steps):
        if index not in place and waiting.get(step.tool):
            place[index] = waiting[step.tool].pop(0)
    pairs: list[tuple[Step | None, GoldCall | None, dict[int, int]]] = [
        (step, calls[place[index]] if index in place else None, place) for index, step in enumerate(steps)
    ]
    met = set(place.values())
    return pairs + [(None, call, place) for index, call in enumerate(calls) if index not in met]


def _is_wholly_right(step: Step, call: GoldCall) -> bool:
    """Return whether a call without references is right."""
    return not step.refs() and all(
        is_value_right(step.arguments[name], call.right[name])
        if name in step.arguments and name in call.right
        else name not in step.arguments and "" in call.right[name]
        for name in {**call.right, **step.arguments}
    )


def _has_ref(value: Argument) -> bool:
    if isinstance(value, list):
        return any(map(_has_ref, value))
    if isinstance(value, dict):
        return any(map(_has_ref, value.values()))
    return isinstance(value, Ref)


def _normal(value: Argument, place: Mapping[int, int] | None) -> Any:
    """Convert a value so that equal values compare equal: numbers and booleans by value, texts without case and outer
    punctuation."""
    if isinstance(value, Ref):
        return ("ref", value.step if place is None else place.get(value.step, -1), value.path)
    if isinstance(value, list):
        return ("list", tuple(_normal(item, place) for item in value))
    if isinstance(value, dict):
        return ("dict", tuple(sorted((key, repr(_normal(item, place))) for key, item in value.items())))
    if value is None:
        return ("none",)
    text = " ".join(str(value).casefold().split()).strip(" .,;:!?\"'")
    if text in ("true", "false"):
        return ("truth", text)
    if _NUMBER.fullmatch(text):
        return ("number", float(text.replace(",", "")))
    return ("text", text)


def _texts(calls: Sequence[tuple[str, Mapping[str, Argument]]], with_values: bool) -> list[str]:
    names = [tool for tool, _ in calls]
    found = []
    for tool, arguments in calls:
        for name, value in arguments.items():
            if isinstance(value, Ref) and 0 <= value.step < len(names):
                text = names[value.step]
            else:
                text = str(encode_argument(value))
            found.append(f"{tool}-{name}-{text}" if with_values else f"{tool}-{name}")
    return found
