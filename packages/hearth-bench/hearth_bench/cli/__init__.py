"""Commands of `hearth bench` and `hearth fleet`.

In: a command line. Out: tables, JSON, result files and reports.
Here: `bench_commands` (the group and its measurements), `job_commands` (Ianvs jobs), `report_commands` (report,
compare), `fleet_commands` (the simulated fleet).
Not here: the measurements themselves (`suites`, `ianvs`, `fleet`, `report`).
"""
