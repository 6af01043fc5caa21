"""Measure few-shot planning of a language model on Q2A: no example, examples by chance, the nearest ones.

    python -m hearth_bench.measure.learning.few_shot                                       the scripted endpoint
    python -m hearth_bench.measure.learning.few_shot --base-url http://127.0.0.1:11434/v1 --model NAME [--k 4]

Without an address a scripted endpoint answers over real HTTP: it repeats the plan of the last example it is shown, and
refuses where it is shown none. That is no language model but the least that examples alone give: the floor of each row.
With an address any OpenAI-compatible endpoint is measured, and `results/few_shot_MODEL.json` is written.
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

from hearth.models.llm.openai_endpoint import Endpoint, RemoteModel
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.testing.recorded_cloud import served_here, tell
from hearth_bench.data.q2a_instructions import OWNERS
from hearth_bench.measure.result_file import write_result
from hearth_bench.suites.q2a.few_shot_suite import CHOICES, Choosing, measure_few_shot
from hearth_bench.suites.q2a.q2a_suite import OwnerRun

_NOTHING = json.dumps({"outcome": "out_of_scope", "reason": "I was shown no example."})


def repeated(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the last example's answer: what the scripted endpoint says."""
    told = [str(one["content"]) for one in messages if one["role"] == "assistant"]
    return told[-1] if told else _NOTHING


@contextmanager
def scripted_endpoint() -> Iterator[str]:
    """Serve a chat model that repeats the last example on this machine; yields its base URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
            choice["message"] = {"role": "assistant", "content": repeated(asked["messages"])}
            said = json.dumps({"id": "c", "choices": [choice], "usage": {"total_tokens": 0}}).encode()
            tell(self, 200, said)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with served_here(Handler) as address:
        yield f"{address}/v1"


def measure(base_url: str, model: str, api_key: str, *, k: int, n_each: int, seed: int) -> dict[str, object]:
    """Measure every choice of examples with a model behind an address."""
    encoder = MiniLMEncoder.open()
    runs = [OwnerRun.of(owner, n_each) for owner in OWNERS]
    remote = RemoteModel(Endpoint(base_url, model, api_key), httpx.HTTPTransport())
    try:
        results = {
            choice: measure_few_shot(remote, encoder, runs, "dev", Choosing(choice, k, seed)).numbers()
            for choice in CHOICES
        }
    finally:
        remote.close()
    return {
        "model": model,
        "k": k,
        "split": "dev",
        "owners": list(OWNERS),
        "choices": results,
        "oracle": {"right": 1.0},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", default="", help="up to and with /v1; without it the scripted endpoint")
    parser.add_argument("--model", default="repeats the last example")
    parser.add_argument("--api-key-env", default="", metavar="NAME", help="variable that holds the key")
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="only the first N of each owner")
    given = parser.parse_args()
    began, cpu = time.perf_counter(), time.process_time()
    key = os.environ.get(given.api_key_env, "") if given.api_key_env else ""
    name = "few_shot"
    if given.base_url:
        results = measure(given.base_url, given.model, key, k=given.k, n_each=given.limit, seed=0)
        name += "_" + re.sub(r"[^a-z0-9]+", "_", given.model.lower()).strip("_")
    else:
        with scripted_endpoint() as url:
            results = measure(url, given.model, key, k=given.k, n_each=given.limit, seed=0)
    write_result(name, results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - began)


if __name__ == "__main__":
    main()
