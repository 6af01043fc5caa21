"""Cases of a job, each run in a process of its own.

In: one case as a file. Out: its outcome as a file.
Here: `job_case` (the case), `case_process` (the process's side), `local_processes` (the engine, and its interface),
`ray_engine` (a Ray cluster; extra `ray`).
Not here: which cases there are (`ianvs.job`), their order and ranks (`ianvs.job_runner`, `ianvs.rank`).
"""
