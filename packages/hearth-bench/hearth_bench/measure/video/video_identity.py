"""Measure who is recognised on the gallery's test photos, with the train photos enrolled.

    python -m hearth_bench.measure.video.video_identity                    writes results/video_identity.json
    python -m hearth_bench.measure.video.video_identity --calibrate DIR    distances by face width, of DIR/PERSON/PHOTO

Known faces must be right, and no unknown face accepted. Each test photo is shown unchanged, turned by quarters, and
shrunk so that faces are 60, 40 and 28 pixels wide; and again with each person left out of those enrolled, so that their
own face must stay unknown. Faces are told apart by their place in the photo. The floor names nobody; `nearest` names
the nearest person whatever the distance.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from hearth_bench.measure.result_file import write_result
from hearth_video.experts.expert_values import Box, Face, Frame, Pixels
from hearth_video.experts.identity import IdentityExpert, Known, Verdict, distance, verdict

GALLERY = Path(os.environ.get("HEARTH_DATA", "../shared/data")) / "media" / "faces" / "knn_examples"
TRUTH: dict[str, dict[tuple[float, float], str]] = {
    "alex_lacamoire1.jpg": {(0.0, 0.0): "alex_lacamoire"},
    "johnsnow_test1.jpg": {(0.0, 0.0): "kit_harington"},
    "kit_with_rose.jpg": {(0.24, 0.25): "rose_leslie", (0.59, 0.21): "kit_harington"},
    "obama1.jpg": {(0.0, 0.0): "obama"},
    "obama_and_biden.jpg": {(0.41, 0.37): "biden", (0.62, 0.35): "obama", (0.84, 0.80): ""},
}
"""Truth by photo: the place of each face, in fractions of width and height, and whose it is.

Empty: nobody who is enrolled (a child in the corner). A photo with one face needs no place.
"""
WIDTHS_PX = (60, 40, 28)
RIGHT, UNKNOWN, WRONG, UNSEEN = "right", "unknown", "wrong", "not_found"


def photo(path: Path) -> Pixels:
    return np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))


def look(expert: IdentityExpert, pixels: Pixels) -> tuple[Face, ...]:
    height, width = pixels.shape[:2]
    return expert.look((Frame(pixels, 0.0), Box(0, 0, width, height)))


def smaller(pixels: Pixels, scale: float) -> Pixels:
    size = (max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale)))
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS))


def enrolled(expert: IdentityExpert, folder: Path) -> list[Known]:
    people = []
    for person in sorted(path for path in folder.iterdir() if path.is_dir()):
        found = [look(expert, photo(path)) for path in sorted(person.iterdir())]
        people.append(Known(person.name, np.stack([faces[0].vector for faces in found if len(faces) == 1])))
    return people


def by_place(faces: Sequence[Face], pixels: Pixels, name: str, n_quarters: int = 0) -> list[tuple[str, Face | None]]:
    """Return the true name of each face in the photo with the face found at its place."""
    truth = TRUTH[name]
    if len(truth) == 1:
        return [(next(iter(truth.values())), faces[0] if faces else None)]
    height, width = pixels.shape[:2]
    paired = []
    for (x, y), who in truth.items():
        for _ in range(n_quarters):
            x, y = y, 1 - x
        at = [(face.box.left + face.box.right) / 2 / width - x for face in faces]
        down = [(face.box.top + face.box.bottom) / 2 / height - y for face in faces]
        near = [rank for rank in range(len(faces)) if abs(at[rank]) < 0.08 and abs(down[rank]) < 0.08]
        paired.append((who, faces[near[0]] if near else None))
    return paired


def judged(who: str, said: Verdict) -> str:
    if said.name == who:
        return RIGHT
    return UNKNOWN if not said.name else WRONG


def nearest(face: Face, people: Sequence[Known]) -> Verdict:
    return Verdict(min(people, key=lambda person: distance(face.vector, person)).name, 1.0)


def count(rows: Sequence[tuple[str, Face | None]], people: Sequence[Known]) -> dict[str, dict[str, int]]:
    """Count the verdicts on faces of known people and of strangers."""
    found = {
        f"{kind}_{how}": {RIGHT: 0, UNKNOWN: 0, WRONG: 0, UNSEEN: 0}
        for kind in ("known", "strangers")
        for how in ("verdict", "nearest")
    }
    names = {person.name for person in people}
    for who, face in rows:
        is_known = who in names
        for how in ("verdict", "nearest"):
            counted = found[f"{'known' if is_known else 'strangers'}_{how}"]
            if face is None:
                counted[UNSEEN] += 1
                continue
            said = verdict([face], people) if how == "verdict" else nearest(face, people)
            counted[judged(who if is_known else "", said)] += 1
    return found


def measure() -> dict[str, object]:
    expert = IdentityExpert()
    people = enrolled(expert, GALLERY / "train")
    views: dict[str, list[tuple[str, Face | None]]] = {}
    costs = []
    for name in sorted(TRUTH):
        pixels = photo(GALLERY / "test" / name)
        began = time.process_time()
        whole = look(expert, pixels)
        costs.append((time.process_time() - began) * 1000)
        views.setdefault("as_is", []).extend(by_place(whole, pixels, name))
        for n_quarters in (1, 2, 3):
            turned = np.ascontiguousarray(np.rot90(pixels, n_quarters))
            views.setdefault("turned", []).extend(by_place(look(expert, turned), turned, name, n_quarters))
        for width_px in WIDTHS_PX:
            small = smaller(pixels, width_px / max(face.box.width for face in whole))
            views.setdefault(f"faces_{width_px}_px", []).extend(by_place(look(expert, small), small, name))
    left_out = {
        view: [
            count([row for row in rows if row[0] == person.name], [p for p in people if p.name != person.name])
            for person in people
        ]
        for view, rows in views.items()
    }
    strangers = {
        view: {
            how: {
                verdict: sum(counted[f"strangers_{how}"][verdict] for counted in all_counted)
                for verdict in (RIGHT, WRONG, UNSEEN)
            }
            for how in ("verdict", "nearest")
        }
        for view, all_counted in left_out.items()
    }
    n_known = sum(1 for who, _ in views["as_is"] if who)
    return {
        "data_sha256": fingerprint(GALLERY),
        "n_enrolled": len(people),
        "n_photos_enrolled": int(sum(len(person.vectors) for person in people)),
        "asked": {"known_right": n_known, "strangers_named": 0},
        "oracle": {"known_right": n_known, "strangers_named": 0},
        "floor_names_nobody": {"known_right": 0, "strangers_named": 0},
        "test_photos": {view: count(rows, people) for view, rows in views.items()},
        "each_person_left_out": strangers,
        "cpu_ms_per_photo_median": round(float(np.median(costs)), 1),
    }


def fingerprint(folder: Path) -> str:
    """Hash the names and bytes of all files in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def as_video(pixels: Pixels) -> Pixels:
    """Add the artefacts of compression."""
    packed = io.BytesIO()
    Image.fromarray(pixels).save(packed, "JPEG", quality=60)
    return np.asarray(Image.open(packed).convert("RGB"))


def calibrate(folder: Path) -> dict[str, object]:
    """Measure distances between photos of the same person and of different people, the first photo being shrunk."""
    expert = IdentityExpert()
    rows: list[tuple[str, Pixels, Face]] = []
    for path in sorted(folder.glob("*/*")):
        pixels = photo(path)
        faces = look(expert, pixels)
        if len(faces) == 1:
            rows.append((path.parent.name, pixels, faces[0]))
    result: dict[str, object] = {
        "data_sha256": fingerprint(folder),
        "n_people": len({who for who, _, _ in rows}),
        "n_photos": len(rows),
    }
    sayings: list[tuple[float, bool]] = []
    for width_px in (0, 60, 40, 28, 20):
        same: list[float] = []
        other: list[float] = []
        qualities: list[float] = []
        for place, (who, pixels, face) in enumerate(rows):
            seen: Sequence[Face] = (face,)
            if width_px:
                small = as_video(smaller(pixels, width_px / face.box.width))
                room = np.full((int(width_px * 7.5), small.shape[1], 3), 128, np.uint8)
                room[: small.shape[0]] = small[: len(room)]
                seen = expert.look((Frame(room, 0.0), Box(0, 0, room.shape[1], room.shape[0] * 0.85)))
            if not seen:
                continue
            qualities.append(seen[0].quality)
            sayings.append(said_of(seen[0], place, rows))
            for rank, (whose, _, against) in enumerate(rows):
                if rank != place:
                    apart = float(np.linalg.norm(seen[0].vector - against.vector))
                    (same if whose == who else other).append(apart)
        result[f"width_{width_px or 'full'}"] = {
            "quality": round(float(np.mean(qualities)), 2),
            "same": [round(float(v), 3) for v in (np.mean(same), np.std(same), *np.percentile(same, (50, 95, 100)))],
            "other": [round(float(v), 3) for v in (np.mean(other), np.std(other), *np.percentile(other, (0, 0.1, 50)))],
        }
    result["probabilities"] = reliability(sayings)
    return result


def said_of(face: Face, place: int, rows: Sequence[tuple[str, Pixels, Face]]) -> tuple[float, bool]:
    """Return the likeliest name's probability, and whether that name is right.

    Every second person is enrolled with up to three other photos, so half of the faces are strangers'.
    """
    people = sorted({who for who, _, _ in rows})[::2]
    known = []
    for name in people:
        photos = [other.vector for rank, (who, _, other) in enumerate(rows) if who == name and rank != place][:3]
        if photos:
            known.append(Known(name, np.stack(photos)))
    said = verdict([face], known)
    best = said.name or nearest(face, known).name
    return said.probability, best == rows[place][0]


def reliability(sayings: Sequence[tuple[float, bool]]) -> list[dict[str, float]]:
    """Return how often names were right, by the stated probability."""
    table = []
    for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 0.99), (0.99, 1.01)):
        inside = [(p, right) for p, right in sayings if low <= p < high]
        if inside:
            said, right = np.mean(inside, axis=0)
            table.append(
                {"from": low, "n": len(inside), "said": round(float(said), 3), "right": round(float(right), 3)}
            )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calibrate", type=Path, metavar="DIR")
    chosen = parser.parse_args()
    wall, cpu = time.perf_counter(), time.process_time()
    results = calibrate(chosen.calibrate) if chosen.calibrate else measure()
    name = "video_identity_calibration" if chosen.calibrate else "video_identity"
    write_result(name, results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - wall)


if __name__ == "__main__":
    main()
