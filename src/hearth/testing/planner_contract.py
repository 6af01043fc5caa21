"""Check the contracts of planners and teachers."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence

from hearth.protocols import Planner, Teacher
from hearth.testing.doubles import FIXED_NOW
from hearth.types import Context, Plan, Refusal, Request, ToolSpec


def check_planner(
    planner: Planner, context: Context, tools: Mapping[str, ToolSpec], requests: Sequence[str] = ()
) -> None:
    """Check `planner` against what the agent relies on.

    Checked for empty, huge, binary-like and foreign texts and for `requests`, with `tools` and with none: it answers
    with a refusal that gives a reason or with a structurally sound plan, never with an exception; blank text and an
    empty tool set are refused; the same input gives the same output; the inputs are not mutated.

    Raises:
        AssertionError: The contract is broken; names the planner and the request.
    """
    assert planner.name, f"{type(planner).__name__} has no name; the answer and the trace show it"
    hostile = (
        "",
        " \n\t ",
        "remind me " * 12_000,
        "\0\x01\ufffd\x7f" * 50,
        "\ud800",
        "提醒我明天九点浇水",
        "<node-0.id>",
    )
    for text in (*hostile, *requests):
        for offered in (tools, {}):
            request = Request(text=text, now=FIXED_NOW)
            kept = copy.deepcopy((request, context, dict(offered)))
            where = f"{planner.name}.plan({text[:40]!r}, {len(offered)} tools)"
            try:
                reply = planner.plan(request, context, offered)
                again = planner.plan(request, context, offered)
            except Exception as error:
                raise AssertionError(f"{where} raised {type(error).__name__}: {error}; return a Refusal") from error
            assert (request, context, dict(offered)) == kept, f"{where} mutated its inputs"
            assert reply == again, f"{where} is not deterministic: {reply!r}, then {again!r}"
            if isinstance(reply, Refusal):
                assert reply.reason.strip(), f"{where} refused without a reason"
                continue
            assert text.strip(), f"{where} planned something for a blank request; refuse it as 'unreadable'"
            _check_structure(reply, offered, where)


def _check_structure(plan: Plan, tools: Mapping[str, ToolSpec], where: str, *, is_filled: bool = True) -> None:
    assert plan.steps, f"{where} gave a plan without steps; return a Refusal"
    assert 0.0 <= plan.confidence <= 1.0, f"{where} gave confidence {plan.confidence!r}; expected 0 to 1"
    for index, step in enumerate(plan.steps):
        spec = tools.get(step.tool)
        assert spec is not None, f"{where}: step {index} calls {step.tool!r}, which was not offered"
        for name, value in step.arguments.items():
            parameter = spec.parameter(name)
            assert parameter is not None, f"{where}: step {index} gives {step.tool} an unknown argument {name!r}"
            assert not parameter.enum or not isinstance(value, str) or value in parameter.enum, (
                f"{where}: step {index}: {name}={value!r} is not one of {parameter.enum}"
            )
        for parameter in spec.parameters:
            assert not (is_filled and parameter.is_required) or parameter.name in step.arguments, (
                f"{where}: step {index} lacks the required {step.tool}.{parameter.name}"
            )
        wrong = [k for k in step.needs() if not 0 <= k < len(plan.steps) or k == index]
        assert not wrong, f"{where}: step {index} refers to steps {wrong} of {len(plan.steps)}"
    waiting = {index: set(step.needs()) for index, step in enumerate(plan.steps)}
    while ready := {index for index, needs in waiting.items() if not needs & waiting.keys()}:
        waiting = {index: needs for index, needs in waiting.items() if index not in ready}
    assert not waiting, f"{where}: steps {sorted(waiting)} wait for one another"


# ── What a teacher must keep ───────────────────────────────────────────────────────────────────────────


def check_teacher(teacher: Teacher, tools: Mapping[str, ToolSpec], requests: Sequence[str] = ()) -> None:
    """Check `teacher` against what learning relies on.

    Checked for empty, huge, binary-like and foreign texts and for `requests`, with `tools` and with none: one answer
    per request, in order, taken one at a time; each is a structurally sound plan of offered tools or a refusal that
    gives a reason, never an exception; a blank request gets no plan; the inputs are not mutated.

    Raises:
        AssertionError: The contract is broken; names the teacher and the request.
    """
    assert teacher.name, f"{type(teacher).__name__} has no name; agreement is recorded under it"
    texts = ["", " \n ", "remind me " * 12_000, "\0\x01\ufffd" * 50, "\ud800", "提醒我明天九点浇水", *requests]
    asked = [Request(text, FIXED_NOW) for text in texts]
    for offered in (tools, {}):
        kept = copy.deepcopy((asked, dict(offered)))
        n_read = 0

        def reading() -> Iterator[Request]:
            nonlocal n_read
            for request in asked:
                n_read += 1
                yield request

        answers = iter(teacher.label(reading(), offered))
        for place, text in enumerate(texts):
            where = f"{teacher.name}.label({text[:40]!r}, {len(offered)} tools)"
            try:
                answer = next(answers)
            except StopIteration:
                raise AssertionError(f"{where} gave no answer; give one per request") from None
            except Exception as error:
                raise AssertionError(f"{where} raised {type(error).__name__}: {error}; return a Refusal") from error
            assert n_read <= place + 1, f"{where} read ahead; a request is asked about when its answer is taken"
            if isinstance(answer, Refusal):
                assert answer.reason.strip(), f"{where} refused without a reason"
                continue
            assert text.strip(), f"{where} planned something for a blank request"
            _check_structure(answer, offered, where, is_filled=False)
        assert next(answers, None) is None, f"{teacher.name} gave more answers than there were requests"
        assert (asked, dict(offered)) == kept, f"{teacher.name}.label mutated its inputs"
