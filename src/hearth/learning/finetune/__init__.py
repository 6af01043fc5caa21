"""Tier two: an adapted encoder and a pointer over tools, trained on the device.

In: demonstrations. Out: a model file that the student adopts if the gate lets it.
Here: `second_tier` (train and use in a state), `trainer` (the run), `lessons` (what is trained on, synthetic requests
too), `pointer_training` (network and losses).
Needs the extra `train`. Not here: running the trained model, which needs no torch (`models.pointer`).
"""
