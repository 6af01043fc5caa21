"""Commands about memory, and `hearth forget`.

In: a command line and the home. Out: lines for a person or JSON.
Here: `memory_commands` (add, search, ask; facts and their sources; maintenance, export, backup, restore, import),
`forget_command`.
Not here: storage, search and answers (`hearth.memory`), forgetting itself (`hearth.learning.unlearning`).
"""
