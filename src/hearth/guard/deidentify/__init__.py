"""Masking: what identifies somebody is replaced before a text leaves, and put back into the reply.

In: texts and the owner's own names. Out: texts with pseudonyms, and the way back.
Here: `masker` (joins all finders), `pattern_finders`, `number_runs`, `alphanumeric_ids`, `phones`, `postal_addresses`
(data by their form), `names` (of people, places and firms), `name_tagging`
(strangers' names, by the trained tagger), `pseudonyms` (stand-ins), `masked_llm` (a remote model
behind the mask).
Not here: sending (`guard.egress`), the trained tagger (`models.ner`), what of a demonstration is shared (`edge`).
"""
