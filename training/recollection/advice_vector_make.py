"""Make the mean vector of questions for advice.

    python -m training.recollection.advice_vector_make --data CLINC150.json

The mean of the sentence encoder's vectors of CLINC150's training questions that ask for a suggestion: what such a
question is whatever its matter, which the search for what the owner likes leaves out. Deterministic; no torch.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

from hearth.models.sentence_encoder import MiniLMEncoder

OUT = Path(__file__).parents[2] / "src" / "hearth" / "data" / "advice_vector.json"
ENDING = "_suggestion"
"""Of the intents whose questions are taken."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="CLINC150's `train`: pairs of text and intent")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    raw = given.data.read_bytes()
    texts = [text for text, intent in json.loads(raw)["train"] if intent.endswith(ENDING)]
    mean = MiniLMEncoder.open(n_threads=1).encode(texts).mean(axis=0)
    record = {
        "what": "mean vector of questions for advice",
        "vector": [round(float(value), 4) for value in mean],
        "n": len(texts),
        "data_sha256": hashlib.sha256(raw).hexdigest(),
        "licence": "made from questions of CLINC150 (CC BY 3.0)",
        "command": "python -m training.recollection.advice_vector_make --data clinc150.json",
    }
    given.out.write_text(json.dumps(record) + "\n")
    print(len(texts))


if __name__ == "__main__":
    main()
