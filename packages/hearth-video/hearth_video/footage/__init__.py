"""Footage: recordings by camera and time, and an index, part of memory, of what experts see and hear in them.

In: files of the owner, which stay where they are. Out: sightings, words, sounds, through `hearth.protocols.Footage`.
Here: `library` (what tools ask), `recordings`, `indexing` (minute by minute), `heard`, `sightings`,
`people` (enrolled, with consent), `activities` (weights), `video_decode`, `audio_decode`, `pictures`,
`footage_retention` (age, and forgetting: the `hearth.protocols.Holder`).
Not here: models (`experts`), the tables' migrations (`hearth.storage.migrations`).
"""
