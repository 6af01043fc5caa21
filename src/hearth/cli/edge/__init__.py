"""Commands about the cloud that a home joined: `hearth edge …`.

In: a command line and the home. Out: lines for a person or JSON.
Here: `edge_commands` (join, leave, statistics for a prior, state, waiting messages, send and fetch), `run_commands`
(the device's loop between requests, and its health).
Not here: the protocol, the outbox and masking (`hearth.edge`, `hearth.guard`), the service itself (`hearth-cloud`).
"""
