"""Three invented people, each with a home and a hundred requests in their own words.

In: the files beside this. Out: homes to write, requests with what must be true afterwards, two sides.
Here: `natural_people`; `PERSON.toml` (the home) and `PERSON_requests.jsonl`.
Not here: how an outcome is judged (`hearth_bench.scoring`), the measure (`hearth_bench.measure.planning`).
"""
