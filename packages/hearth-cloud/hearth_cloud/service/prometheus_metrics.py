"""Metrics for Prometheus: counts and durations by route, code and teacher. No names of edges, no content."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)


class Numbers:
    """The metrics of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        own = self._registry
        self.requests = Counter("hearth_requests", "Requests answered.", ["route", "status"], registry=own)
        self.seconds = Histogram(
            "hearth_request_seconds", "From the first byte to the answer.", ["route"], registry=own, buckets=_SECONDS
        )
        self.received = Counter("hearth_received_bytes", "Bodies, inflated.", registry=own)
        self.problems = Counter("hearth_problems", "Requests not done, by code.", ["code"], registry=own)
        self.plans = Counter("hearth_plans", "Plans, by how they came about.", ["how"], registry=own)
        self.batch = Histogram(
            "hearth_batch_plans", "Plans made together.", registry=own, buckets=(1, 2, 4, 8, 16, 32, 64)
        )
        self.waiting = Gauge("hearth_waiting_plans", "Plans that wait.", registry=own, multiprocess_mode="livesum")
        self.demonstrations = Counter("hearth_demonstrations", "By what became of them.", ["outcome"], registry=own)
        self.pointers = Counter("hearth_pointers", "Edges' word on what waits there, by kind.", ["kind"], registry=own)
        self.two_agents = Counter("hearth_two_agents", "Requests of tokens that two agents use.", registry=own)

    def text(self) -> bytes:
        """Return the metrics of all processes in Prometheus' text format."""
        if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            every = CollectorRegistry()
            multiprocess.MultiProcessCollector(every)  # type: ignore[no-untyped-call]
            return generate_latest(every)
        return generate_latest(self._registry)
