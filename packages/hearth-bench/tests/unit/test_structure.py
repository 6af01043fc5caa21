"""The structure of a checkout in numbers: how large the planner is."""

from __future__ import annotations

import ast
from pathlib import Path

from hearth_bench.measure.structure import _planning


def test_the_planners_lines_and_patterns_are_counted_and_no_other_room_s(tmp_path: Path) -> None:
    texts = {
        "src/hearth/planning/one.py": 'import re\n\nA = re.compile("a")\nB = "a".split("b")\n',
        "src/hearth/planning/room/two.py": 'from hearth import patterns as re\n\nC = re.sub("a", "b", "c")\nre.escape("a")\n',
        "src/hearth/language/three.py": 'import re\n\nD = re.compile("d")\n',
    }
    files = {tmp_path / name: text for name, text in texts.items()}
    trees = {path: ast.parse(text) for path, text in files.items()}
    assert _planning(tmp_path, files, trees) == {"lines": 8, "regular_expressions": 2}
