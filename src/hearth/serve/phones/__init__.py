"""Phones of the owner, let in over the home's own network, each with a key of its own.

In: invitations from the page, a phone's first visit, what rings and what is asked. Out: certificates, notifications.
Here: `authority` (certificates that phones trust once it is installed), `paired` (which phones are let in),
`phone_server` (the second entrance, with TLS), `web_push` (encryption), `pushing`
(what notifications say).
Not here: who may come in (`serve.door`), what pages show (`serve.pages`).
"""
