"""The guard under attack: worlds, tasks and replayed calls.

In: AgentDojo's suites, or Hearth's own guard tasks. Out: worlds with right calls, attacks and checks.
Here: `replay` (right calls, and those of a planner that a stranger controls), `agentdojo` and `agentdojo_tools` (extra
`agentdojo`), `guard_tasks`, `guard_world` and `hearth_worlds` (Hearth's own tools).
Not here: the rates (`suites.injection_suite`), the guard (`hearth.guard`).
"""
