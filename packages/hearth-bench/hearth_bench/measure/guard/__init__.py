"""Measurements of the guard: what it costs, and what masking and the detector of injections find.

In: calls, labelled messages, attacks. Out: microseconds, recall, precision.
Here: `guard_cost` with `guard_calls` and `warrant_calls`, `masking_speed`, `masked_plans` (plans of masked requests),
`injection_detection`.
Not here: attacks on whole requests (`suites.injection_suite`), leaks per kind (`suites.privacy_suite`).
"""
