"""Policy: the owner's rules, the one question per plan, and standing answers.

In: rules of `hearth.toml`, a plan or call with its labels. Out: allow, ask or deny, with a reason.
Here: `rules` (compiles and checks them), `policy` (applies them), `conditions` (a rule's condition on an argument),
`question` (what is asked, in plain words), `approval` (who answers), `consents` (always this, never this), `safe_regex`
(patterns that end).
Not here: what a single request licenses (`guard.capability`), settings in general (`hearth.config`).
"""
