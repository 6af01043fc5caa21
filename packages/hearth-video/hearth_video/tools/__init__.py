"""Tools for home video, sound and text in pictures.

In: a room, a period, perhaps a name. Out: sightings and words as plain data, pictures where asked for.
Here: `video` and `listening` (entry points of `hearth.tools`), `people_seen` (sightings in words), `recorded_time`
(the room and period that a request means).
Not here: the index (`footage`), enrolling (`hearth people`).
"""
