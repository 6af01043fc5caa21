"""Make the vectors of the texts that ship: `python -m training.shipped_vectors_make` (a minute).

The forms of the shipped demonstrations, whole and clause by clause, each read by itself. Writes
src/hearth/data/shipped_vectors.npy; make it again whenever the demonstrations or how forms are made have changed
(a test says so).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hearth.agent import shipped_demonstrations
from hearth.models.encoder.sentence_encoder import MiniLMEncoder
from hearth.models.encoder.shipped_vectors import FILE, ShippedVectors
from hearth.planning.arguments.alignment import explain

_OUT = Path(__file__).parents[1] / "src" / "hearth" / "data" / FILE


def main() -> None:
    lessons = [lesson for one in shipped_demonstrations() for lesson in explain(one)]
    texts = sorted({text for lesson in lessons for text in (lesson.form, lesson.plain)})
    encoder = MiniLMEncoder.open(is_afresh=True)
    vectors = np.vstack([encoder.encode([text]) for text in texts])
    made = ShippedVectors.of(texts, vectors)
    np.save(_OUT, made.rows)
    print(f"{len(made):,} texts, {_OUT.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
