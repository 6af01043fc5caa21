"""Guard: nothing happens that the owner's policy does not allow.

In: plans, calls and bytes that would leave. Out: rulings with a reason, labelled results, masked texts, the ledger.
Here: `monitor` (the only caller of tools), `decision` (one judgement of a plan or call), `referents` (which thing an
argument names), `labels` (where data come from, through every step), `injection` (strangers' words as marked
quotations, and what of them reads like an order); rooms `policy` (rules, questions, what a request licenses),
`deidentify` (masking), `egress` (the only door to the network). The guard watches planners and tools, so none of them
can import it. Rules are exact tool names; the default is to ask or to deny. Not here: the tools, and how a plan is
made.
"""
