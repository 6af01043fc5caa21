"""Workers of Sedna's jobs: lifelong learning and joint inference, by Sedna's own protocols.

In: Sedna's environment variables, its data sets and model files. Out: models, evaluations, inferences, reports.
Here: `sedna_protocol` (variables, big model's protocol, reports), `sedna_dataset`, `sedna_model` (one file, no
pickle), `sedna_training` (train, evaluate), `sedna_planning` (infer, little model), `big_model` (the cloud's server).
Not here: Kubernetes objects (`deploy/kubeedge/sedna`), Ianvs (`hearth-bench`).
"""
