"""Facts: subject, relation, value, read from the owner's words and kept with source and validity.

In: sentences. Out: facts believed, proposed, replaced or revoked.
Here: `fact_extraction` (finds sentences that state something, and reads them), `fact_rules` (verbs, nouns and forms of
values) and `fact_dates`; `relations` (the closed vocabulary), `fact_store`, `grounding` (checks a model's
claims).
Not here: a language model that proposes facts (`learning.llm`), answers (`memory.answers`).
"""
