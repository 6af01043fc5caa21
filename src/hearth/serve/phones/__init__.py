"""Phones of the owner, let in over the home's own network, each with a key of its own.

In: invitations from the page, a phone's first visit, what rings and what is asked. Out: certificates, notifications.
Here: `paired` (which phones are let in), `phone_server` (the second entrance, with TLS, its certificates and bounds),
`pushing` (what notifications say, and their encryption).
Not here: who may come in (`serve.door`), what pages show (`serve.pages`).
"""
