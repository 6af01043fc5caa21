"""The structure of a small checkout is counted, and what is too large is named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hearth_bench.measure import structure

PLAIN = 'def few(a, b):\n    """Add."""\n    return a + b\n'
MANY = "def many(a, b, c, d, *, e, f, g):\n    return a\n\n\nclass B:\n    def many(self, b, c, d, e, f, g):\n        return b\n"
BRANCHES = "def wide(a):\n" + "".join(f"    if a == {k}:\n        return {k}\n" for k in range(20)) + "    return 0\n"
PATTERNS = "import re\nWORD = re.compile('a')\nFOUND = WORD.match('a') or re.search('b', 'b') or re.escape('c')\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout without a wheel."""
    monkeypatch.setattr(structure, "_wheel", lambda _: {})
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["a", "b"]\n')
    for name, text in {
        "src/hearth/plain.py": PLAIN,
        "src/hearth/language/words.py": PATTERNS,
        "src/hearth/tools/mail.py": PATTERNS + MANY,
        "packages/hearth-x/hearth_x/wide.py": BRANCHES + PATTERNS,
        "packages/hearth-x/tests/test_x.py": BRANCHES,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def test_functions_that_are_too_large_are_named(checkout: Path) -> None:
    found = structure.structure_of(checkout)
    assert (found["n_functions"], found["n_too_complex"], found["n_many_parameters"]) == (4, 1, 2)
    assert found["too_complex"] == {"packages/hearth-x/hearth_x/wide.py:wide": 21}
    assert found["many_parameters"] == {"src/hearth/tools/mail.py:many": 7, "src/hearth/tools/mail.py:many 2": 7}


def test_patterns_are_counted_where_they_are_written(checkout: Path) -> None:
    """Of the core alone; those of the rooms that read text are counted, too, and left out of the second number."""
    found = structure.structure_of(checkout)
    assert (found["n_patterns"], found["n_patterns_elsewhere"]) == (4, 2)
    assert found["patterns_by_room"] == {"language": 2, "tools": 2}


def test_the_planners_lines_and_patterns_are_counted_and_no_other_rooms(checkout: Path) -> None:
    (checkout / "src/hearth/planning").mkdir()
    (checkout / "src/hearth/planning/one.py").write_text(PATTERNS)
    assert structure.structure_of(checkout)["planning"] == {"lines": 3, "regular_expressions": 2}
