"""Measurements of planning: right plans, size, speed.

In: requests with their right plans. Out: shares right, and what a plan costs.
Here: `requests` (whole requests), `tier_one`, `tier_two`, `recall_at_size`, `deferral_streams` (when to ask the
teacher), `slot_speed`, `encoder_cost`, `metric_speed`, `hostile_texts` (made to be slow), `nested_split` (files of two
data sets).
Not here: arguments of unseen tools (`training.span_extractor_measure`), measurements that users run
(`suites.planning_suite`, `suites.q2a_suite`).
"""
