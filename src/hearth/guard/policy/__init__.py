"""Policy: the owner's rules, the one question per plan, and standing answers.

In: rules of `hearth.toml`, a plan or call with its labels. Out: allow, ask or deny, with a reason.
Here: `rules` (compiles and checks them, each with its conditions on arguments, by patterns that end), `policy` (applies
them), `question` (what is asked, in plain words, and who answers), `consents` (always this, never this, and each yes of
one request).
Not here: what a single request licenses (`guard.capability`), settings in general (`hearth.config`).
"""
