"""Several people under one roof: each with a home of their own, one place to sign in.

In: names with passwords, passkeys. Out: each person's own pages, from their own home.
Here: `members` (who lives here and how they prove it), `passkeys` (signing in without a password), `front` (one
entrance that leads everybody to their own home), `served` (their homes in one process).
Not here: what is in a home. Homes share nothing: no list, no device, no rule is another's.
"""
