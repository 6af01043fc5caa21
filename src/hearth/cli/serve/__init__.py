"""Commands of the home that lives: `hearth up`, and the tokens of other programs.

In: a command line. Out: a process that serves until it is ended; tokens, shown once.
Here: `up_command`, `client_commands`. Not here: what is served (`hearth.serve`).
"""
