"""Measurements of learning over time: what it brings, costs and forgets.

In: streams of demonstrations. Out: curves, gains, the cost of poison, noise and secrecy.
Here: `tier_one` and `tier_two` (the student's parts), `lifelong` (learning, gate, rollback), `prior_gain` (what a new
edge gains), `language_student` (a small model taught to plan), `fleet_recall` and `fleet_sureness` (a fleet's
requests).
Not here: measurements that users run (`suites.continual_suite`).
"""
