"""Ianvs jobs, run without Ianvs: the same files, calls and columns.

In: a `benchmarkingjob.yaml` with its files. Out: a workspace of results and Ianvs' rank table.
Here: `job` with `job_files` and `job_data` (read and checked), `ianvs_modules` (algorithm files), `paradigms` (single
task, incremental, lifelong, joint inference), `samples`, `job_runner`, `case_outcome`, `rank`; room `cases`
(processes).
Not here: Ianvs itself; `measure.cloud.ianvs_beside` compares with it.
"""
