"""Only the monitor calls tools: read from the source itself."""

from __future__ import annotations

import ast

from tests import ROOT

SOURCES = [ROOT / "src" / "hearth", *sorted((ROOT / "packages").glob("*/hearth_*"))]
MONITOR = "src/hearth/guard/monitor.py"
ALLOWED = {
    MONITOR,  # the only caller
    "src/hearth/testing/contracts.py",  # contract tests call the tool under test
    # Both measure what happens without a guard; nothing but benchmarks may import them.
    "packages/hearth-bench/hearth_bench/injection/guard_tasks.py",
    "packages/hearth-bench/hearth_bench/measure/guard/guard_calls.py",
}
DEFINITIONS = {
    "src/hearth/formats/tool_signature.py",  # FunctionTool.call forwards to the function it wraps
}


def tool_calls(source: str) -> list[int]:
    """Lines that call a tool: any `x.call(…)` where x is not the monitor, and `tool.undo(…)`, `tool.function(…)`."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        said = ast.unparse(node.func.value).lower()
        if (node.func.attr == "call" and not said.endswith("monitor")) or (
            node.func.attr in ("undo", "function") and "tool" in said
        ):
            lines.append(node.lineno)
    return lines


def test_nothing_but_the_monitor_calls_a_tool() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for source in SOURCES
        for path in source.rglob("*.py")
        if str(path.relative_to(ROOT)) not in ALLOWED | DEFINITIONS
        for line in tool_calls(path.read_text())
    }
    assert not found, f"tools are called outside guard/monitor.py: {sorted(found)}; go through Monitor.call"


def test_the_monitor_does() -> None:
    assert len(tool_calls((ROOT / MONITOR).read_text())) == 2


def test_the_search_finds_what_it_should_and_no_more() -> None:
    assert tool_calls("tool.call(a, c)\nself._tools[n].undo(a, r, c)\nx.call(a, c)\nt = my_tool.function(x)") == [
        1,
        2,
        3,
        4,
    ]
    assert tool_calls("self._monitor.call(p, 0, a, c)\nself.folder.undo(key)\nagent.undo(id)\nf.function(1)") == []
