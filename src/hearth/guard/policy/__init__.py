"""Policy: what the owner's rules allow, what a single request licenses, and the one question about the rest.

In: rules of `hearth.toml`, the request, a plan or call with its labels. Out: allow, ask or deny, with a reason.
Here: `rules` (compiles, checks and applies them, each with its conditions on arguments, by patterns that end),
`question` (what is asked, in plain words, who answers, and each yes that stands), `warrant` (what the owner's words
license, and values that a plan adds to them), `request_words` (the owner's words, records in results and the meaning of
parameters, compared exactly).
Not here: labels of data (`guard.labels`), settings in general (`hearth.config`).
"""
