"""Commands about the cloud that a home joined: `hearth edge …`.

In: a command line and the home. Out: lines for a person or JSON.
Here: `edge_commands` (the group: state, waiting messages, send and fetch), `join_commands` (join, leave),
`run_commands` (the device's loop between requests, and its health), `give_command` (statistics for a prior).
Not here: the protocol, the outbox and masking (`hearth.edge`, `hearth.guard`), the service itself (`hearth-cloud`).
"""
