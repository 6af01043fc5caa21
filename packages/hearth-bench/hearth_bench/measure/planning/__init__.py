"""Measurements of planning: right plans, size, speed.

In: requests with their right plans. Out: shares right, and what a plan costs.
Here: `requests` (our own requests), `real_requests` (what real people said), `natural_requests` (three people in homes
of their own, run and judged by what became of it), `correction_reach` (what one correction changes),
`deferral_streams` (when to ask the teacher), `speed`, `nested_split` (files of two data sets), `client_functions`
(that a program brings), `conversations`.
Not here: arguments of unseen tools (`training.span_extractor_measure`), measurements that users run
(`suites.planning_suite`, `suites.q2a.q2a_suite`).
"""
