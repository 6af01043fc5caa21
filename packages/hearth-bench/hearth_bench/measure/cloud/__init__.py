"""Measurements of edge and cloud: faults between them, the service under load, the worth of a teacher.

In: a service on this machine. Out: rates, latencies, what arrived and what it cost.
Here: `edge_faults`, `service_load`, `service_soak` (a day), `teacher_cost`, `answer_fusion`, `ianvs_beside` (Ianvs
itself).
Not here: a fleet's learning (`hearth_bench.fleet`, `measure.learning`).
"""
