"""Suites: each measures one ability of Hearth and returns flat results, as `hearth bench` runs them.

In: a data set and options. Out: one document of flat results.
Here: `planning_suite`, `continual_suite` and room `q2a` (planning and learning; with `second_tier_training`,
`suite_measurements`, `measured_paths`), `recall_suite`, `answers_suite`, `preferences_suite` (memory), room `reading`
(questions over documents), `privacy_suite`, `prior_privacy_suite`, `injection_suite`, `bipia_suite` (guard).
Not here: formulas (`metrics`), printing (`report.terminal_tables`), one-off measurements (`measure`).
"""
