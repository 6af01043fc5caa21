"""Masking: what identifies somebody is replaced before a text leaves, and put back into the reply.

In: texts and the owner's own names. Out: texts with pseudonyms, and the way back.
Here: `masker` (joins all finders, stand-ins and the way back, a home's mask; data by their form, postal addresses),
`names` (of people, places and firms), `identifier_finders` (by cues, numbers, keys).
Not here: the door that alone calls this room (`guard.egress.masking_door`), the trained tagger (`models.ner`), what of
a demonstration is shared (`edge`).
"""
