"""Draw walks that were taken (`walks.json`) as pictures of text, a line for each room, into the architecture's page.

    python -m hearth_bench.measure.walk_pictures          draws what was measured last

A room stands below the one that first called into it, with its files in the order of their first calls. A module beside
the rooms (`agent`, `registry`) is a room of its own.

Not covered: later calls; in which order the lines of two threads would run.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from hearth_bench.measure.result_file import RESULTS, ROOT

PAGE = ROOT / "docs" / "explanation" / "architecture.md"
PICTURES = {
    "request": ("ask",),
    "correction": ("correct", "forget"),
    "question": ("question",),
    "prior": ("prior",),
}
"""Mark on the page → the walks of its picture."""
TITLES = {"correct": "hearth correct", "forget": "hearth forget"}
"""What stands above a walk that shares its picture."""
MOST_LINES, WIDTH = 50, 120
"""Of a picture: what one screen holds."""
_AT_THE_FILES = 40
_BETWEEN = re.compile(r"(<!-- walk: (\w+) -->\n).*?(<!-- end -->)", re.S)


@dataclass(frozen=True, slots=True)
class Walks:
    """The files of each walk in the order of their first calls, each with the file that called it."""

    entered: dict[str, list[tuple[str, str]]]

    @classmethod
    def read(cls, path: Path) -> Walks:
        results = json.loads(path.read_text())["results"]
        wanted = [name for names in PICTURES.values() for name in names]
        return cls({name: [(file, by) for file, by in results[name]["entered"]] for name in wanted})


@dataclass(slots=True)
class _Room:
    """A line of a picture, and those below it."""

    name: str
    files: list[str] = field(default_factory=list)
    below: list[_Room] = field(default_factory=list)


def picture(entered: list[tuple[str, str]]) -> str:
    """Draw one walk."""
    rooms: dict[str, _Room] = {}
    roots: list[_Room] = []
    for file, by in entered:
        name = _room(file)
        if name not in rooms:
            above = rooms.get(_room(by)) if by else None  # None: what ran before the walk began called it
            rooms[name] = _Room(name)
            (above.below if above is not None else roots).append(rooms[name])
        if Path(file).stem not in ("__init__", name):
            rooms[name].files.append(Path(file).stem)
    return "\n".join(line for root in roots for line in _lines(root, "", ""))


def _room(file: str) -> str:
    """Return the room of a file in dots; of a module beside the rooms, itself."""
    parts = Path(file).with_suffix("").parts
    return ".".join(parts[:-1]) if len(parts) > 1 else parts[0]


def _lines(room: _Room, lead: str, below: str) -> list[str]:
    head = f"{lead}{room.name}".ljust(_AT_THE_FILES) if room.files else f"{lead}{room.name}"
    drawn = textwrap.wrap(", ".join(room.files), WIDTH - _AT_THE_FILES - 1)
    inner = (below + "│" * bool(room.below)).ljust(_AT_THE_FILES)
    lines = [f"{head} {drawn[0]}" if drawn else head]
    lines += [f"{inner} {more}" for more in drawn[1:]]
    for place, one in enumerate(room.below):
        is_last = place == len(room.below) - 1
        lines += _lines(one, f"{below}{'└─ ' if is_last else '├─ '}", f"{below}{'   ' if is_last else '│  '}")
    return lines


def drawn(walks: Walks, mark: str) -> str:
    """Return the picture of a mark, of one walk or of several below each other."""
    parts = [(TITLES.get(name, ""), picture(walks.entered[name])) for name in PICTURES[mark]]
    return "\n\n".join(f"{title}\n{shown}" if title else shown for title, shown in parts)


def with_pictures(page: str, walks: Walks) -> str:
    """Return a page with each marked place drawn anew."""
    return _BETWEEN.sub(lambda at: f"{at[1]}```text\n{drawn(walks, at[2])}\n```\n{at[3]}", page)


def main() -> int:
    PAGE.write_text(with_pictures(PAGE.read_text(), Walks.read(RESULTS / "walks.json")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
