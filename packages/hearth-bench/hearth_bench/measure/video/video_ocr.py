"""Measure the reading of text in pictures: character error rate and cost on lines drawn in known words.

    python -m hearth_bench.measure.video.video_ocr          writes results/video_ocr.json

Receipts, labels and letters of six lines, drawn by Pillow in three fonts; clean, with noise, blurred, turned by a few
degrees, upside down, and in print of 20, 14, 10 and 8 pixels. Scored with and without spaces, which the reader leaves
out. Drawn print is cleaner than a photo of a crumpled receipt. The floor reads nothing: an error rate of 1.
"""

from __future__ import annotations

import hashlib
import resource
import time
from collections.abc import Callable

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from hearth_bench.measure.result_file import write_result
from hearth_video.experts.expert_values import Frame, Pixels
from hearth_video.experts.ocr import OcrExpert

SEED = 0
FONTS = ("DejaVuSans.ttf", "DejaVuSerif.ttf", "DejaVuSansMono.ttf")
TEXTS = (
    ("Corner Bakery", "2 rolls 3.40", "1 oat bread 4.95", "Total EUR 8.35", "Paid by card", "Thank you for coming"),
    ("Take one tablet in the morning", "Keep out of reach", "Batch 4471-B", "Best before 08/2027", "20 mg", "Dr Weiss"),
    (
        "Dear Mr Doyle",
        "your meter will be read",
        "on 14 January 2027",
        "between 8:00 and 12:00",
        "Kind regards",
        "Town Works",
    ),
)


def drawn(lines: tuple[str, ...], font: str, size_px: int) -> Image.Image:
    image = Image.new("RGB", (size_px * 24, size_px * 2 * (len(lines) + 1)), (245, 244, 240))
    face = ImageFont.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/{font}", size_px)
    for k, text in enumerate(lines):
        ImageDraw.Draw(image).text((size_px, size_px + k * 2 * size_px), text, font=face, fill=(25, 25, 30))
    return image


def noisy(image: Image.Image) -> Image.Image:
    clean = np.asarray(image).astype(np.float64)
    pixels = clean + np.random.default_rng(SEED).standard_normal(clean.shape) * 25
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def errors(truth: str, read: str) -> int:
    row = list(range(len(read) + 1))
    for i, one in enumerate(truth, 1):
        before, row = row, [i]
        for j, other in enumerate(read, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (one != other)))
    return row[-1]


def main() -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    views: dict[str, tuple[int, Callable[[Image.Image], Image.Image]]] = {
        "24_px": (24, lambda image: image),
        "24_px_noise": (24, noisy),
        "24_px_blurred": (24, lambda image: image.filter(ImageFilter.GaussianBlur(1.5))),
        "24_px_turned_5_degrees": (24, lambda image: image.rotate(5, expand=True, fillcolor=(245, 244, 240))),
        "24_px_upside_down": (24, lambda image: image.rotate(180)),
        "14_px": (14, lambda image: image),
        "10_px": (10, lambda image: image),
        "8_px": (8, lambda image: image),
    }
    expert, results = OcrExpert(), dict[str, object]()
    expert.look(Frame(np.asarray(drawn(TEXTS[0], FONTS[0], 24)), 0.0))
    for name, (size_px, view) in views.items():
        n = n_wrong = n_letters = n_letters_wrong = 0
        began = time.process_time()
        pictures: list[tuple[tuple[str, ...], Pixels]] = [
            (lines, np.asarray(view(drawn(lines, font, size_px)))) for font in FONTS for lines in TEXTS
        ]
        for lines, pixels in pictures:
            truth = "\n".join(lines)
            read = "\n".join(line.text for line in expert.look(Frame(pixels, 0.0)))
            n, n_wrong = n + len(truth), n_wrong + errors(truth, read)
            plain, plain_read = ("".join(text.split()) for text in (truth, read))
            n_letters, n_letters_wrong = n_letters + len(plain), n_letters_wrong + errors(plain, plain_read)
        results[name] = {
            "n_characters": n,
            "character_error_rate": round(n_wrong / n, 4),
            "character_error_rate_without_spaces": round(n_letters_wrong / n_letters, 4),
            "cpu_ms": round((time.process_time() - began) * 1000 / len(pictures)),
        }
    results["floor_reads_nothing"] = {"character_error_rate": 1.0}
    results["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    results["data_sha256"] = hashlib.sha256(repr(TEXTS).encode()).hexdigest()
    write_result("video_ocr", results, seed=SEED, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - wall)


if __name__ == "__main__":
    main()
