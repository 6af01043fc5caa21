"""Lessons of the demonstrations that ship, explained once (`training.shipped_vectors_make`), so that no home has to.

A new home learns some seven thousand demonstrations: to explain them takes most of the time, to find them here a tenth.
Known by a hash of the whole demonstration: one that differs in anything is explained as ever.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
from collections.abc import Iterable
from importlib.resources import files

from hearth.formats.plan_json import plan_to_json
from hearth.planning.arguments.alignment import LESSON_VERSION, Lesson, explain, lesson_from_json, lesson_to_json
from hearth.types import Demonstration

FILE = "shipped_lessons.jsonl.gz"


def lessons_of(demonstration: Demonstration) -> tuple[Lesson, ...]:
    """Return a demonstration's lessons, as `explain` does."""
    line = _lines().get(_key(demonstration)) if demonstration.source == "shipped" else None
    if line is None:
        return explain(demonstration)
    return tuple(lesson_from_json(demonstration.id, one) for one in json.loads(line))


def packed(demonstrations: Iterable[Demonstration]) -> bytes:
    """Return the file: the version of lessons, then a line each of key and lessons."""
    lines = [str(LESSON_VERSION)]
    for one in demonstrations:
        lessons = json.dumps([lesson_to_json(lesson) for lesson in explain(one)], separators=(",", ":"))
        lines.append(f"{_key(one)} {lessons}")
    return gzip.compress("\n".join(lines).encode(), mtime=0)


@functools.cache
def _lines() -> dict[str, str]:
    """Return the lessons of each key as they stand in the file; none of another version."""
    version, *lines = gzip.decompress((files("hearth.data") / FILE).read_bytes()).decode().split("\n")
    return dict(line.split(" ", 1) for line in lines) if version == str(LESSON_VERSION) else {}


def _key(demonstration: Demonstration) -> str:
    plan = json.dumps(plan_to_json(demonstration.plan), sort_keys=True)
    told = f"{demonstration.id}\n{demonstration.now}\n{demonstration.request}\n{plan}"
    return hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=8).hexdigest()
