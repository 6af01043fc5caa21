"""Training of the shipped activity weights, on a drawn body: no film of people is shipped or needed.

In: a seed. Out: statistics of activities in `hearth_video`'s data.
Here: `drawn_body` (a body that moves, seen by a camera), `activity_train`
(`python -m hearth_video.train.activity_train`).
Not here: activities an owner teaches (`footage.activities`), DAHLIA (`hearth_video.dahlia`).
"""
