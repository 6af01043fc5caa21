"""Commands about home video and the people in it.

In: a command line and the home. Out: lines for a person or JSON.
Here: `video_commands` (recordings, indexing, who was seen), `activity_commands` (activities of one's own clips),
`people_commands` (`hearth people`: enrol with consent, forget).
Not here: looking itself (`footage`, `experts`).
"""
