"""Reports on runs, made from their files alone.

In: a job's workspace, a suite's result, files of plans. Out: HTML, Markdown, CSV, PNG, a comparison.
Here: `runs` (reads them), `html_report` with `report_figures`, `result_figures` (pictures of a document),
`terminal_tables`, `run_comparison` (two runs, and how sure the difference is).
Not here: measuring; nothing is computed anew.
"""
