"""Heads: which tool a request means, solved exactly from what people said.

In: sentence vectors and words of requests. Out: how much each tool, nothing or talk is meant.
Here: `tool_heads` (the prior that ships, what is taught at home in its dual),
`taken_heads` (those of a prior of others that a home took).
Not here: the evidence beside them (`retrieval`), and how the prior is made (`training.tool_heads_train`).
"""
