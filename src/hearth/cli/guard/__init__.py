"""Commands about the guard: what may happen, what left the device, what would be masked.

In: a command line and the home. Out: lines for a person or JSON.
Here: `policy_commands` (rules and standing answers), `ledger_commands` (the record of what left, and a text as the
cloud would see it), `encrypt_commands`.
Not here: rulings, the ledger's chain, the finders of personal data (`hearth.guard`).
"""
