"""Hearth as it lives in the house: a page, a ring, and the protocols that other programs speak.

In: requests from browsers, programs and `hearth ask`, answers to questions. Out: pages, events, notifications.
Here: `desk` (one thread that owns the agent, for all surfaces), `door` (who may come in), `page` (what a browser
gets), `ringing` (reminders, each once), `programs` (protocols of other programs), `episode_report` and `plan_layout`
(one episode, one run, as HTML).
Not here: what an agent does with a request; a surface never decides what is allowed.
"""
