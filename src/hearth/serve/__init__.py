"""Hearth as it lives in the house: a page, a ring, and the protocols that other programs speak.

In: requests from browsers, programs and `hearth ask`, answers to questions. Out: pages, events, notifications.
Here: `desk` (one thread that owns the agent, for all surfaces), `door` (who may come in, and phones that are paired),
`phone_server` (an entrance for phones, and what is pushed to them), `house` (all of a home that is up), `members` and
`served` (several people under one roof, and what their homes share), `history` (episodes as HTML, on the page and as a
file); rooms `pages` (what a browser gets), `programs` (protocols of other programs), `background` (mail, sensors,
reminders, learning while it is quiet).
Not here: what an agent does with a request; a surface never decides what is allowed.
"""
