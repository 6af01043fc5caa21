"""Measurements of the guard: what it costs, and what masking does to plans.

In: calls, texts, requests. Out: microseconds, and plans that masking changed.
Here: `guard_cost` with `guard_calls` and `warrant_calls`, `masking_speed`, `masked_plans` (plans of masked requests),
`hostile_inputs` (damaged files that must not stop an answer), `hostile_requests` (damaged requests through the agent),
`blind_attacks` (attacks by somebody who knew no rule), `encryption_cost`.
Not here: the trained tagger and detector (`training`), attacks on whole requests (`suites.injection_suite`), leaks per
kind (`suites.privacy_suite`).
"""
