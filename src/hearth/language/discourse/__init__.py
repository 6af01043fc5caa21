"""What is said across requests, and in a roundabout way: each becomes a request as it is meant, in plain words.

In: an utterance, the episodes before it. Out: a fuller request, the records that it points at, what is said beside it.
Here: `plain_request` (corrections, remarks, tags, "louder", "the list"; after a question back), `coreference` (after
the last request), `relative_anchors` ("an hour before the dentist", reminders and copies said with something else,
"tell her that she can come").
Not here: which tool is meant, and what becomes of a plan (`planning`); what may be read unasked (`guard`).
"""
