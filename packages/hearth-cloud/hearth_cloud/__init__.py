"""Hearth's cloud: the service that teaches edges, merges what they learnt, and the workers of Sedna's jobs.

In: masked requests, demonstrations and statistics of edges. Out: plans, answers, signed priors and adapters. Adds
`hearth cloud` and `hearth sedna`.
Here: rooms `service` (HTTP), `statistics` (priors), `storage` (SQL), `migrations`, `sedna`, `cli`; `cloud_settings`
(`cloud.toml`), `outbound` (HTTP to named hosts only), `problems` (errors as answers).
Not here: the edge's side (`hearth.edge`) and the messages of both (`hearth.formats.edge_protocol`).
"""

__version__ = "0.2.0"
