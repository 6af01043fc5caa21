"""Two samples of ordinary requests from public data, for measuring what masking hides in error."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

from hearth.formats.plans import read_jsonl

_REQUESTS = (
    ("ultratool/dev", 80),
    ("taskbench/dailylife", 80),
    ("taskbench/huggingface", 20),
    ("taskbench/multimedia", 20),
)


def request_texts(plans: Path) -> dict[str, str]:
    """Return ordinary requests by key; training saw none of them.

    Args:
        plans: The folder `plans` of the public data.
    """
    texts = {f"ultratool/dev:{n}": str(row["user_request"]) for n, row in read_jsonl(plans / "ultratool" / "dev.jsonl")}
    for domain in ("dailylife", "huggingface", "multimedia"):
        path = plans / "taskbench_requests" / domain / "user_requests.json"
        for number, row in read_jsonl(path):
            text = str(row["user_request"])
            if hashlib.sha256(text.encode()).digest()[0] % 5 == 0:
                texts[f"taskbench/{domain}:{number}"] = text
    return texts


def sampled_requests(plans: Path, seed: int) -> dict[str, dict[str, str]]:
    """Draw two samples of 200: 80 of UltraTool, 80 of daily life, 20 and 20 of the other two.

    `seen` was read while the forms were written, `fresh` only after the tagger was done.
    """
    texts = request_texts(plans)
    samples: dict[str, dict[str, str]] = {"seen": {}, "fresh": {}}
    for prefix, n in _REQUESTS:
        keys = sorted(key for key in texts if key.startswith(prefix))
        seen = random.Random(seed).sample(keys, n)  # noqa: S311 - a fixed draw
        samples["seen"] |= {key: texts[key] for key in seen}
        rest = [key for key in keys if key not in seen]
        samples["fresh"] |= {key: texts[key] for key in random.Random(seed + 1).sample(rest, n)}  # noqa: S311
    return samples
