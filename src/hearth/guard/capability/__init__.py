"""Least privilege for one request: a call may do what the owner's words license.

In: the request, the plan, what tools returned so far. Out: a warrant that admits a call or asks about it.
Here: `warrant` (the plan, as a judge), `unsaid` (values a plan adds to the words), `evidence` (where a value may come
from), `record_extraction` (records in results), `parameter_roles` (meaning of parameters), `request_words` (the
owner's words, numbers and moments, compared exactly).
Not here: the owner's standing rules (`guard.policy`), labels of data (`guard.flow`).
"""
