"""Metrics: pure functions from predictions and truths to numbers, each as its source defines it.

In: plans, steps, arguments, confidences. Out: numbers.
Here: `plan_metrics` (plans, learning over time, confidence), `step_metrics` (steps in words), `argument_f1`,
`taskbench` (from TaskBench's own files).
Not here: files of plans (`scoring`), which metrics a suite reports (`suites`).
"""
