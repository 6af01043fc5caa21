"""Measurements of the agent's loop: its cost per step, its start, the worth of reading ahead.

In: scripted planners and empty tools. Out: milliseconds and bytes, beside other frameworks'.
Here: `agent_loop`, `cold_start`, `reading_ahead`; room `peers` (the other frameworks).
Not here: whether plans are right (`measure.planning`).
"""
