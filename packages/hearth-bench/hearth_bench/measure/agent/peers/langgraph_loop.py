# mypy: ignore-errors
# (the library it measures is not installed in Hearth's own environment)
"""Measure LangGraph's two-node loop (model, tools) with a scripted model and an empty tool.

With its SQLite checkpointer every step is durable (`durability="sync"`), each run in a thread of its own; with
`--no-checkpoints` nothing is written.
"""

from __future__ import annotations

import sqlite3
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from hearth_bench.measure.agent.peers.loop_clock import arguments, measure

is_durable = "--no-checkpoints" not in sys.argv
sys.argv = [argument for argument in sys.argv if argument != "--no-checkpoints"]
given = arguments()
calls: list[str] = []


def echo(text: str) -> str:
    """Say it again."""
    calls.append(text)
    return text


def model(state: MessagesState) -> dict[str, Any]:
    n_asked = sum(isinstance(message, AIMessage) for message in state["messages"])
    if n_asked >= given.steps:
        return {"messages": [AIMessage(content="done")]}
    call = {"name": "echo_0", "args": {"text": "x"}, "id": f"c{n_asked}", "type": "tool_call"}
    return {"messages": [AIMessage(content="", tool_calls=[call])]}


def where_next(state: MessagesState) -> str:
    return "tools" if state["messages"][-1].tool_calls else END


graph = StateGraph(MessagesState)
graph.add_node("model", model)
graph.add_node("tools", ToolNode([StructuredTool.from_function(echo, name=f"echo_{k}") for k in range(given.tools)]))
graph.add_edge(START, "model")
graph.add_conditional_edges("model", where_next, ["tools", END])
graph.add_edge("tools", "model")
path: Path = given.folder / "checkpoints.db"
connection = sqlite3.connect(path, check_same_thread=False)
app = graph.compile(checkpointer=SqliteSaver(connection) if is_durable else None)


def run(k: int) -> None:
    calls.clear()
    config: Any = {"configurable": {"thread_id": str(k)}, "recursion_limit": 3 * given.steps + 10}
    options: Any = {"durability": "sync"} if is_durable else {}
    state = app.invoke({"messages": [HumanMessage("say x")]}, config, **options)
    assert state["messages"][-1].content == "done"
    assert len(calls) == given.steps, calls


def n_bytes() -> int:
    if not is_durable:
        return 0
    connection.execute("PRAGMA wal_checkpoint(FULL)")
    return path.stat().st_size


names = ("langgraph", "langgraph-checkpoint-sqlite")
measure(run, n_bytes, given.steps, given.runs, {name: version(name) for name in names})
