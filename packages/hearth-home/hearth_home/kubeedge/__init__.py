"""The node's own broker, where the home runs under KubeEdge.

In: the hint that the cloud has something new. Out: how much waits here, as numbers only.
Here: `sync_listener` (an entry point of `hearth.listeners`), `twin_reporter` (the messages of `hearth edge point`).
Not here: device twins (`hearth_home.device_twins`), Kubernetes objects (`deploy/kubeedge`).
"""
