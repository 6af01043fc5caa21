"""The HTTP service that edges talk to.

In: requests of joined edges. Out: plans, answers, receipts, manifests and blobs; logs and metrics without content.
Here: `service` (the application and most routes), `statistics_routes`, `artifact_routes`, `access` (what each
request must pass), `routing` (what routes share), `spool` (blobs as files), `teaching_queue` (teachers of plans),
`general_answers`, `prometheus_metrics`, `logs`.
Not here: what is kept (`storage`), how priors are made (`statistics`).
"""
