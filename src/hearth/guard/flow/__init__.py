"""Information flow: where data come from and who may read them, through every step.

In: results of tools and values built from them. Out: labels that the policy and the door judge by.
Here: `labels` (propagation), `provenance` (records that Hearth made, memories, addresses the owner knows), `injection`
(strangers' words as marked quotations, and what of them reads like an order), `result_validation` (plain data of the
declared type).
Not here: rules about labels (`guard.policy`), the trained detector (`models.injection_classifier`).
"""
