"""Several people under one roof: each with a home of their own, one place to sign in.

In: names with passwords, passkeys. Out: each person's own pages, from their own home.
Here: `members` (who lives here and how they prove it, by password or passkey), `served` (one entrance that leads
everybody to their own home; their homes in one process), `shared_things` (devices lent, lists kept alike).
Not here: what is in a home. Homes share nothing else: no rule is another's.
"""
