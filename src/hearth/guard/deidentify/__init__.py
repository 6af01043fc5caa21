"""Masking: what identifies somebody is replaced before a text leaves, and put back into the reply.

In: texts and the owner's own names. Out: texts with pseudonyms, and the way back.
Here: `masker` (joins all finders), `pattern_finders`, `number_runs`, `alphanumeric_ids`, `phones`, `postal_addresses`
(data by their form), `names` (of people, places and firms), `owners_mask` (a home's names and the trained tagger),
`pseudonyms` (stand-ins).
Not here: the door that alone calls this room (`guard.egress.masking_door`), the trained tagger (`models.ner`), what
of a demonstration is shared (`edge`).
"""
