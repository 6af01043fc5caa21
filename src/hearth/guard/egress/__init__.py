"""Egress: the only door to the network, closed but for hosts the owner named.

In: requests of tools, models and the edge. Out: responses; every message in a hash-chained ledger before it is sent.
Here: `gateway` (the door: hosts, labels, budgets), `transport` (HTTP by a checked way), `audit_hook` (which addresses
are public, the way to one; refuses connections made past the door), `ledger` (the record and its chain), `masking_door`
(masks the parts of what leaves, and restores the reply; a remote model behind it), `speculative_reads` (results read
ahead, without network).
Not here: what identifies somebody (`guard.deidentify`); bytes are recorded as they leave.
"""
