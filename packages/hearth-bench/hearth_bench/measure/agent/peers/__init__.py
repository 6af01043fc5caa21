"""The same loop in other frameworks, each run by its own Python.

In: a number of steps. Out: one line of JSON with times.
Here: `loop_clock` (the same clock for all, standard library only), `hearth_loop`, `langgraph_loop`, `smolagents_loop`,
`presidio_speed` (masking), `requirements.txt` and `run.sh`.
Not here: the comparison (`measure.agent.agent_loop`, `measure.guard.masking_speed`).
"""
