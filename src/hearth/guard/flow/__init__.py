"""Information flow: where data come from and who may read them, through every step.

In: results of tools and values built from them. Out: labels that the policy and the door judge by.
Here: `labels` (propagation), `memory_labels`, `provenance` (records that Hearth made), `trusted_contacts` (addresses
the owner knows), `injection` (text that reads like an order), `spotlighting` (strangers' words as marked quotations),
`result_validation` (plain data of the declared type).
Not here: rules about labels (`guard.policy`), the trained detector (`models.injection_classifier`).
"""
