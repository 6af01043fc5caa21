"""Commands about learning: corrections, versions, skills, adapters and priors.

In: a command line and the home. Out: lines for a person or JSON, with progress bars.
Here: `learn_commands` (learn, versions, tasks, rollback, priors, quarantine, adapters of a local language model),
`teach_commands` (the right plan for a request, skills), `batch_commands` (a file of requests into a file of plans).
Not here: learning itself (`hearth.learning`); `hearth forget` is in `hearth.cli.memory`.
"""
