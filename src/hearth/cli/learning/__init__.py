"""Commands about learning: corrections, versions, skills, adapters and priors.

In: a command line and the home. Out: lines for a person or JSON, with progress bars.
Here: `learn_commands` (learn, versions, tasks, rollback, priors, quarantine), `correct_command` (the right plan for a
request), `skill_commands`, `adapter_commands` (a local language model).
Not here: learning itself (`hearth.learning`); `hearth forget` is in `hearth.cli.memory`.
"""
