"""Commands of the home that lives: `hearth up`, and the tokens of other programs.

In: a command line. Out: a process that serves until it is ended; tokens, shown once.
Here: `up_command`, `client_commands`, `phone_commands`, `household_commands`, `mcp_commands`, `asking` (requests and
corrections go to the `hearth up` that has the home, else to an agent here).
Not here: what is served (`hearth.serve`).
"""
