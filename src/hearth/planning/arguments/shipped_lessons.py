"""Lessons of the demonstrations that ship, explained once (`training.shipped_vectors_make`), so that no home has to.

A new home learns some seven thousand demonstrations: to explain them takes most of the time, to find them here a tenth.
Known by a hash of the whole demonstration: one that differs in anything is explained as ever, and so are all where the
file is damaged or missing.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable
from importlib.resources import files

from hearth.formats.plan_json import plan_to_json
from hearth.planning.arguments.alignment import LESSON_VERSION, Lesson, explain, lesson_from_json, lesson_to_json
from hearth.types import Demonstration

FILE = "shipped_lessons.jsonl.gz"


def lessons_of(demonstration: Demonstration) -> tuple[Lesson, ...]:
    """Return a demonstration's lessons, as `explain` does."""
    line = _lines().get(_key(demonstration)) if demonstration.source == "shipped" else None
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return tuple(lesson_from_json(demonstration.id, one) for one in json.loads(line or ""))
    return explain(demonstration)


def release() -> None:
    """Give back the memory of the file (5 MB): a home learns from it once."""
    _lines.cache_clear()


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
    try:
        version, *lines = gzip.decompress((files("hearth.data") / FILE).read_bytes()).decode().split("\n")
    except (OSError, EOFError, ValueError, zlib.error):
        return {}
    pairs = (line.partition(" ") for line in lines)
    return {key: lessons for key, _, lessons in pairs} if version == str(LESSON_VERSION) else {}


def _key(demonstration: Demonstration) -> str:
    plan = json.dumps(plan_to_json(demonstration.plan), sort_keys=True)
    told = f"{demonstration.id}\n{demonstration.now}\n{demonstration.request}\n{plan}"
    return hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=8).hexdigest()
