"""The device's side of edge and cloud: joining a cloud, sending what waits for it, fetching what it offers.

In: masked requests, demonstrations and statistics. Out: plans, answers, priors and adapters of the joined cloud.
Here: `enrolment` (which cloud), `cloud_link` (one request at a time, answers checked; signed downloads),
`cloud_teacher` (and answers kept), `ask_cloud` (questions of general knowledge), `outbox` (what waits, masked, and
sending it), `federation` (sums of many homes, hidden in the total), `scheduler` (work between requests).
Not here: the service (`hearth-cloud`), message formats (`formats.edge_protocol`), the door and the mask (`guard`).
"""
