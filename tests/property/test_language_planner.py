"""Whatever a model says, the language planner gives a checked plan, a refusal with a reason, or a PlannerError."""

from __future__ import annotations

import datetime as dt
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.errors import PlannerError
from hearth.formats.plans import faults
from hearth.models.llm.scripted import ScriptedModel
from hearth.planning.llm import LanguagePlanner
from hearth.types import Context, Parameter, Plan, Refusal, Request, ToolSpec

TOOLS = {
    "find": ToolSpec("find", "Find things.", (Parameter("query", "text"),), "list[Thing]", {"id": "ThingId"}),
    "drop": ToolSpec(
        "drop",
        "Drop a thing.",
        (
            Parameter("thing", "ThingId"),
            Parameter("at", "datetime", is_required=False),
            Parameter("n", "integer", "", False),
        ),
        effect="change",
    ),
    "write": ToolSpec(
        "write", "Write to someone.", (Parameter("to", "list[EmailAddress]", is_sink=True),), effect="send"
    ),
}
TEXT = "drop a@example.org at nine"

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["<node-0.id>", "<node-1>", "<node-0.nope>", "\\<node-0>", "a@example.org", "b@example.org", "2026-11-20"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
ARGUMENTS = st.fixed_dictionaries({"name": st.sampled_from(["query", "thing", "at", "n", "to", "x"]), "value": VALUES})
NODES = st.fixed_dictionaries(
    {"task": st.sampled_from([*TOOLS, "fly"]), "arguments": st.lists(ARGUMENTS | VALUES, max_size=3)}
)
REPLIES = st.fixed_dictionaries(
    {"outcome": st.sampled_from(["plan", "plan", "plan", "needs", "out_of_scope", "x"])},
    optional={
        "reason": st.text(max_size=10) | VALUES,
        "missing": st.lists(st.sampled_from(["drop.thing", "drop.", ".", "x"])) | VALUES,
        "unserved": st.lists(st.text(max_size=5)) | VALUES,
        "nearest_tool": st.sampled_from([*TOOLS, "", "fly"]) | VALUES,
        "task_steps": st.lists(st.text(max_size=5)) | VALUES,
        "task_nodes": st.lists(NODES | VALUES, max_size=3) | st.lists(NODES, max_size=3),
    },
).map(json.dumps)


@settings(deadline=None, max_examples=100)
@given(st.lists(REPLIES | st.text(), min_size=2, max_size=2))
def test_every_reply_is_survived(replies: list[str]) -> None:
    request = Request(TEXT, dt.datetime(2026, 11, 20, 18, 30, tzinfo=dt.UTC))
    outcome: Plan | Refusal | str
    try:
        outcome = LanguagePlanner(ScriptedModel(replies)).plan(request, Context(), TOOLS)
    except PlannerError as error:
        outcome = str(error)
    if isinstance(outcome, str):
        assert "gave no usable plan" in outcome
        assert outcome.isprintable()
    elif isinstance(outcome, Plan):
        assert outcome.steps
        assert faults(outcome, TOOLS) == ()
        for step in outcome.steps:
            if step.tool == "write":
                assert "b@example.org" not in str(step.arguments)
    else:
        assert outcome.reason.strip()
        assert set(outcome.missing) <= {"drop.thing"}
