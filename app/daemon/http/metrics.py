"""Figures for Prometheus."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from paceline.engine.sequence import Finished

if TYPE_CHECKING:
    from paceline.daemon.host import Host

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


class Meters:
    """Counts what the routes do, in a registry of its own."""

    def __init__(self, host: "Host") -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_EngineState(host))

        def counter(name: str, text: str, labels: Sequence[str] = ()) -> Counter:
            return Counter(f"paceline_{name}", text, labels, registry=self._registry)

        self._requests = counter("requests", "Requests to the models, by route and outcome", ("route", "outcome"))
        self._answers = counter("answers", "Answers of the engine, by what ended them", ("reason",))
        self._prompt = counter("prompt_tokens", "Tokens of prompts")
        self._cached = counter("cached_tokens", "Tokens of prompts that were found in the cache")
        self._predicted = counter("predicted_tokens", "Tokens of answers")
        self._drafted = counter("drafted_tokens", "Tokens that were drafted")
        self._accepted = counter("accepted_tokens", "Drafted tokens that stood")
        self._prompt_time = counter("prompt_seconds", "Time spent reading prompts")
        self._predicted_time = counter("predicted_seconds", "Time spent on answers")
        self._in_flight = Gauge("paceline_requests_in_flight", "Requests being served", registry=self._registry)
        self._duration = Histogram(
            "paceline_request_seconds",
            "Time from a request's last byte to its answer's",
            ("route",),
            registry=self._registry,
            buckets=SECONDS,
        )

    @contextmanager
    def request(self, route: str) -> Iterator[Callable[[str, Sequence[Finished]], None]]:
        """Around a request. What it yields takes the outcome, and how the streams ended that did."""
        began = time.perf_counter()

        def note(outcome: str, ends: Sequence[Finished]) -> None:
            self._requests.labels(route, outcome).inc()
            self._duration.labels(route).observe(time.perf_counter() - began)
            for end in ends:
                self._count(end)

        with self._in_flight.track_inprogress():
            yield note

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)

    def _count(self, end: Finished) -> None:
        stats = end.stats
        self._answers.labels(end.reason).inc()
        self._prompt.inc(stats.prompt_tokens)
        self._cached.inc(stats.cached_tokens)
        self._predicted.inc(stats.predicted_tokens)
        self._drafted.inc(stats.drafted)
        self._accepted.inc(stats.accepted)
        self._prompt_time.inc(stats.prompt_ms / 1000)
        self._predicted_time.inc(stats.predicted_ms / 1000)


class _EngineState:
    """What the engine says about itself when it is asked; nothing but `loaded` while there is none."""

    def __init__(self, host: "Host") -> None:
        self._host = host

    def collect(self) -> Iterator[Metric]:
        """A collector of prometheus_client."""
        service = self._host.loaded
        yield GaugeMetricFamily("paceline_loaded", "Whether the models are in memory", value=float(service is not None))
        if service is None:
            return
        status = service.status()
        for name, text, value in (
            ("queue", "Requests that wait for a place", status.waiting),
            ("running", "Requests that are computed", status.running),
            ("cells", "Tokens that fit into the context", status.cells),
            ("cells_used", "Tokens in the context", status.cells_used),
            ("parked", "Conversations parked in main memory", status.parked),
            ("parked_bytes", "Main memory they take", status.parked_bytes),
        ):
            yield GaugeMetricFamily(f"paceline_{name}", text, value=float(value))
