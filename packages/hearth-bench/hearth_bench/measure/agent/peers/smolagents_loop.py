# mypy: ignore-errors
# (the library it measures is not installed in Hearth's own environment)
"""Measure smolagents' tool-calling loop with a scripted model and an empty tool, silent; it writes no record."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from smolagents import LogLevel, Model, Tool, ToolCallingAgent
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

from hearth_bench.measure.agent.peers.loop_clock import arguments, measure

given = arguments()
calls: list[str] = []


class Empty(Tool):
    description = "Say it again."
    inputs = {"text": {"type": "string", "description": "What to say."}}  # noqa: RUF012 - the library's own form
    output_type = "string"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__()

    def forward(self, text: str) -> str:
        calls.append(text)
        return text


class Scripted(Model):
    """Model that calls the tool a given number of times, then gives its answer."""

    def __init__(self) -> None:
        super().__init__(model_id="scripted")
        self.n_asked = 0

    def generate(self, messages: Any, **_: Any) -> ChatMessage:
        self.n_asked += 1
        is_last = self.n_asked > given.steps
        name, values = ("final_answer", {"answer": "done"}) if is_last else ("echo_0", {"text": "x"})
        function = ChatMessageToolCallFunction(arguments=values, name=name)
        call = ChatMessageToolCall(function=function, id=f"c{self.n_asked}", type="function")
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


model = Scripted()
tools = [Empty(f"echo_{k}") for k in range(given.tools)]
agent = ToolCallingAgent(tools=tools, model=model, max_steps=given.steps + 1, verbosity_level=LogLevel.OFF)


def run(_: int) -> None:
    model.n_asked = 0
    calls.clear()
    answer = agent.run("say x")
    assert answer == "done", answer
    assert len(calls) == given.steps, calls


measure(run, lambda: 0, given.steps, given.runs, {"smolagents": version("smolagents")})
