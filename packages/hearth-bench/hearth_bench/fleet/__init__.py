"""A simulated fleet: many owners for a month, each with a device, and one cloud.

In: habits made of Q2A's instructions, and a seed. Out: one document, with its table, pictures and CSV.
Here: `simulation` (the run) with `simulation_parts`; `habits` and `paraphrases` (what owners ask), `simulated_edge`
(one device), `fleet_prior` (merged statistics), `encoded_texts`, `fleet_report`, `fleet_figures`.
Not here: real edges and their links (`hearth.edge`, `measure.cloud`).
"""
