"""Hearth as it lives in the house: a page, a ring, and the protocols that other programs speak.

In: requests from browsers, programs and `hearth ask`, answers to questions. Out: pages, events, notifications.
Here: `desk` (one thread that owns the agent, for all surfaces), `door` (who may come in), `pages` (what a browser
gets), `phones` (an entrance for them), `ringing` (reminders, each once), `programs` (protocols of other programs),
`background` (mail, sensors, learning while it is quiet), `episode_report` (one episode as HTML), `history_view` (many,
on the page and as a file).
Not here: what an agent does with a request; a surface never decides what is allowed.
"""
