"""Make the lessons and vectors of the texts that ship: `python -m training.shipped_vectors_make` (a minute).

The shipped demonstrations explained, and the forms of their lessons, each read by itself. Writes
src/hearth/data/shipped_lessons.jsonl.gz and shipped_vectors.npy; make them again whenever the demonstrations or how
they are explained have changed (a test says so).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hearth.agent import shipped_demonstrations
from hearth.models.sentence_encoder import SHIPPED, MiniLMEncoder, ShippedVectors
from hearth.planning.arguments import alignment
from hearth.planning.arguments.alignment import explain

_FOLDER = Path(__file__).parents[1] / "src" / "hearth" / "data"


def main() -> None:
    demonstrations = shipped_demonstrations()
    lessons = [lesson for one in demonstrations for lesson in explain(one)]
    texts = sorted({text for lesson in lessons for text in (lesson.form, lesson.plain)})
    encoder = MiniLMEncoder.open(is_afresh=True)
    vectors = np.vstack([encoder.encode([text]) for text in texts])
    made = ShippedVectors.of(texts, vectors)
    np.save(_FOLDER / SHIPPED, made.rows)
    (_FOLDER / alignment.LESSONS_FILE).write_bytes(alignment.packed_lessons(demonstrations))
    for path in (_FOLDER / SHIPPED, _FOLDER / alignment.LESSONS_FILE):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
