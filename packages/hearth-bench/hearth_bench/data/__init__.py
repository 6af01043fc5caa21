"""Data sets: public ones in their own layouts, and those written for Hearth.

In: files. Out: demonstrations, tools, graphs, messages, homes of invented owners.
Here: `datasets` (the plan format), `public_data` (TaskBench, NesTools and others), `q2a_instructions` and `q2a_homes`
(six owners over eight weeks), `request_corpus` (what real people said to assistants), `natural_homes` (three people
with homes, asking in their own words), `labelled_messages` and `sampled_requests` (for masking), `injection_texts` (for
the detector of injections), and the files with their cards.
Not here: the public data themselves (their folder is `$HEARTH_DATA`), worlds to attack (`hearth_bench.injection`).
"""
