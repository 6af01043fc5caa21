"""The demo: a believable owner with files in real formats, and a run that shows Hearth at work on them.

In: requests, shipped or the caller's own. Out: a worked-through home and one HTML report.
Here: `demo_home` (the invented owner's files), `day` (the owner's day in fourteen scenes, with a teacher that is asked
what the device cannot plan; or the requests of a file), `demo_run` (`hearth demo`, and what is installed beside it)
with `demo_options`. Plug-ins add scenes: video of the home is one, by `hearth-video`. The report is `serve.history`.
Not here: measurement; the demo shows, `hearth-bench` counts.
"""
