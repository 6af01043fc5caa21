"""Test doubles for every protocol, and the contracts that a tool, a planner or a workspace must keep.

A plug-in's own tests call `check_tool`, `check_planner` or `check_workspace`; each raises AssertionError with what was
found, what the contract says and how to keep it. The doubles are deterministic and touch neither disk nor network. Not
covered: whether a tool does what its description says, speed, and effects outside the workspace.
"""

from hearth.testing.doubles import (
    FIXED_NOW,
    ClosedEgress,
    FixedApprover,
    InMemoryMemory,
    InMemoryWorkspace,
    ScriptedExpert,
    ScriptedFootage,
    ScriptedPlanner,
    ScriptedSensor,
    ScriptedTeacher,
    make_call,
)
from hearth.testing.planner_contract import check_planner, check_teacher
from hearth.testing.seam_contracts import check_expert, check_footage, check_sensor, check_workspace
from hearth.testing.tool_contract import check_tool

__all__ = [
    "FIXED_NOW",
    "ClosedEgress",
    "FixedApprover",
    "InMemoryMemory",
    "InMemoryWorkspace",
    "ScriptedExpert",
    "ScriptedFootage",
    "ScriptedPlanner",
    "ScriptedSensor",
    "ScriptedTeacher",
    "check_expert",
    "check_footage",
    "check_planner",
    "check_sensor",
    "check_teacher",
    "check_tool",
    "check_workspace",
    "make_call",
]
