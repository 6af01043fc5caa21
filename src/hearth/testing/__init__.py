"""Test doubles for every protocol, and the contracts that a tool, a planner or a workspace must keep.

In: a plug-in's part. Out: nothing, or AssertionError with what was found, what the contract says and how to keep it.
Here: `doubles` (deterministic, without disk or network), `contracts` (`check_tool`, `check_planner`, `check_teacher`,
`check_workspace`, `check_footage`, `check_holder`, `check_expert`, `check_sensor`), `recorded_cloud` (a cloud that
answers from a file, a process of its own).
Not covered: whether a tool does what its description says, speed, and effects outside the workspace.
"""

from hearth.testing.contracts import (
    check_expert,
    check_footage,
    check_holder,
    check_planner,
    check_sensor,
    check_teacher,
    check_tool,
    check_workspace,
)
from hearth.testing.doubles import (
    FIXED_NOW,
    ClosedEgress,
    FixedApprover,
    HashEncoder,
    InMemoryMemory,
    InMemoryWorkspace,
    ScriptedDependent,
    ScriptedExpert,
    ScriptedFootage,
    ScriptedHolder,
    ScriptedPlanner,
    ScriptedSensor,
    ScriptedSound,
    ScriptedTeacher,
    make_call,
)

__all__ = [
    "FIXED_NOW", "ClosedEgress", "FixedApprover", "HashEncoder", "InMemoryMemory", "InMemoryWorkspace",
    "ScriptedDependent", "ScriptedExpert", "ScriptedFootage", "ScriptedHolder", "ScriptedPlanner", "ScriptedSensor",
    "ScriptedSound", "ScriptedTeacher", "check_expert", "check_footage", "check_holder", "check_planner",
    "check_sensor", "check_teacher", "check_tool", "check_workspace", "make_call",
]  # fmt: skip
