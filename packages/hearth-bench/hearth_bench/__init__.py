"""Hearth measured: metrics as their sources define them, data sets in the plan format, and suites that join the two.

In: data sets, plans, Ianvs jobs. Out: result files, reports, the scorecard. Adds `hearth bench` and `hearth fleet`.
Here: rooms `metrics`, `scoring`, `data`, `suites` (one ability each), `measure` (programs that write results),
`injection` (the guard under attack), `ianvs` (jobs), `fleet` (simulated edges), `report`, `cli`.
Not here: anything an agent needs; nothing imports this distribution.
"""

__version__ = "0.2.0"
