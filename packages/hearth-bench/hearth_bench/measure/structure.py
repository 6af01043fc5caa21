"""The structure of a checkout in numbers: lines, rooms, circles, names, functions, patterns, docstrings, the wheel.

    python -m hearth_bench.measure.structure [--before CHECKOUT]

Writes `structure.json`; `--before` measures another checkout of this project in the same way, such as a worktree of an
earlier commit. Files are read as text, nothing of them runs, but the wheel of the core is built.

Not covered: imports by name at run time (`import_module`, entry points), whether a room's name says what it holds.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from hearth_bench.measure.result_file import ROOT, write_result

MAX_FILES, MAX_LINES = 12, 4_000
"""Of one folder, files in its sub-folders aside."""
MAX_COMPLEXITY, MAX_PARAMETERS = 20, 6
_RELATIVE = re.compile(r"(What|Whether|Of|That|Which|How|Who|Whose|Whom|Where|When|Why)\b")
_PATTERN_CALLS = frozenset({"compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"})
_READ_TEXT = ("language", "formats")
"""The core's folders whose work is to read text."""
_BRANCHES = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp, ast.comprehension)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m hearth_bench.measure.structure", description=__doc__)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="measure this one beside it")
    chosen = parser.parse_args(arguments)
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    results = {"now": structure_of(ROOT)}
    if chosen.before is not None:
        results["before"] = structure_of(chosen.before.resolve())
    write_result("structure", results, seed=0, cpu_s=time.process_time() - cpu_s, wall_s=time.perf_counter() - wall_s)
    return 0


def structure_of(checkout: Path) -> dict[str, object]:
    """Measure the sources below a checkout: `src`, `packages` without their tests, `benchmarks`, `training`."""
    files = {path: path.read_text(encoding="utf-8") for path in sorted(_sources(checkout))}
    trees = {path: ast.parse(text) for path, text in files.items()}
    core = [path for path in files if path.is_relative_to(checkout / "src")]
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    circles = _circles(_imports(checkout, trees))
    return {
        "commit": _commit(checkout),
        "n_files": len(files),
        "lines": _lines_by_part(checkout, files),
        "n_core_files": len(core),
        "core_lines": sum(len(files[path].splitlines()) for path in core),
        "folders_too_large": _too_large(checkout, files),
        "n_circles": len(circles),
        "circles": [sorted(circle) for circle in circles],
        "names_twice": sorted(
            name for name, n in Counter(p.name for p in files if p.name != "__init__.py").items() if n > 1
        ),
        "planning": _planning(checkout, files, trees),
        "n_core_dependencies": len(project["dependencies"]),
        "core_wheel": _wheel(checkout),
        **_functions(checkout, trees),
        **_patterns(checkout / "src" / "hearth", trees),
        **_docstrings(trees),
    }


def _sources(checkout: Path) -> Iterator[Path]:
    for part in ("src", "packages", "benchmarks", "training"):
        for path in (checkout / part).rglob("*.py"):
            if "tests" not in path.relative_to(checkout).parts:
                yield path


def _commit(checkout: Path) -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=checkout, capture_output=True, text=True)
    return done.stdout.strip()


def _lines_by_part(checkout: Path, files: Mapping[Path, str]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for path, text in files.items():
        parts = path.relative_to(checkout).parts
        found["/".join(parts[:2]) if parts[0] in ("src", "packages") else parts[0]] += len(text.splitlines())
    return dict(sorted(found.items()))


def _planning(checkout: Path, files: Mapping[Path, str], trees: Mapping[Path, ast.Module]) -> dict[str, int]:
    """Count the lines and the regular expressions of the planner's rooms; the grammar of times lies elsewhere."""
    ours = [path for path in files if path.is_relative_to(checkout / "src" / "hearth" / "planning")]
    n_patterns = sum(_writes_pattern(node) for path in ours for node in ast.walk(trees[path]))
    return {"lines": sum(len(files[path].splitlines()) for path in ours), "regular_expressions": n_patterns}


def _too_large(checkout: Path, files: Mapping[Path, str]) -> dict[str, dict[str, int]]:
    """Return folders of more than 12 files or 4,000 lines, those of their sub-folders aside."""
    n_files: Counter[Path] = Counter()
    n_lines: Counter[Path] = Counter()
    for path, text in files.items():
        n_files[path.parent] += path.name != "__init__.py"
        n_lines[path.parent] += len(text.splitlines())
    return {
        str(folder.relative_to(checkout)): {"files": n_files[folder], "lines": n_lines[folder]}
        for folder in sorted(n_files)
        if n_files[folder] > MAX_FILES or n_lines[folder] > MAX_LINES
    }


def _module(checkout: Path, path: Path) -> str:
    parts = list(path.relative_to(checkout).with_suffix("").parts)
    parts = parts[2:] if parts[0] == "packages" else parts[1:] if parts[0] == "src" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(checkout: Path, trees: Mapping[Path, ast.Module]) -> dict[str, set[str]]:
    """Return module -> modules it imports, wherever in the file: at the top, in functions, for type checking."""
    modules = {_module(checkout, path): tree for path, tree in trees.items()}
    found: dict[str, set[str]] = defaultdict(set)
    for name, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    wanted = f"{node.module}.{alias.name}"
                    found[name].add(wanted if wanted in modules else node.module)
            elif isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names}
    return {name: {other for other in found[name] if other in modules and other != name} for name in modules}


def _circles(imports: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the groups of modules that import one another.

    Source:
        Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1972.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    circles: list[set[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(imports[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            circle = set()
            while name not in circle:
                circle.add(stack.pop())
            if len(circle) > 1:
                circles.append(circle)

    for name in sorted(imports):
        if name not in index:
            visit(name)
    return circles


def _wheel(checkout: Path) -> dict[str, int]:
    """Build the core's wheel; return its size and that of what benchmarks alone need."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, str(checkout)]
        subprocess.run(command, check=True, capture_output=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            of_bench = sum(one.file_size for one in archive.infolist() if one.filename.startswith("hearth/bench/data/"))
            return {"bytes": wheel.stat().st_size, "benchmark_data_bytes": of_bench}


def _functions(checkout: Path, trees: Mapping[Path, ast.Module]) -> dict[str, object]:
    """Count functions, and name those that are too complex or take too many parameters, the worst first."""
    found = [
        (f"{path.relative_to(checkout).as_posix()}:{node.name}", node)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    complexities = Counter(dict(_above(((name, _complexity(node)) for name, node in found), MAX_COMPLEXITY)))
    parameters = Counter(dict(_above(((name, _n_parameters(node)) for name, node in found), MAX_PARAMETERS)))
    return {
        "n_functions": len(found),
        "n_too_complex": len(complexities),
        "worst_complexity": max(_complexity(node) for _, node in found),
        "too_complex": dict(complexities.most_common()),
        "n_many_parameters": len(parameters),
        "many_parameters": dict(parameters.most_common()),
    }


def _above(counted: Iterable[tuple[str, int]], most: int) -> Iterator[tuple[str, int]]:
    """Yield what is above `most`; a name that was there already gets a number."""
    names: Counter[str] = Counter()
    for name, n in counted:
        if n > most:
            names[name] += 1
            yield name if names[name] == 1 else f"{name} {names[name]}", n


def _n_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return len(function.args.args) + len(function.args.kwonlyargs)


def _complexity(function: ast.AST) -> int:
    n_branches = sum(isinstance(node, _BRANCHES) for node in ast.walk(function))
    return 1 + n_branches + sum(len(node.values) - 1 for node in ast.walk(function) if isinstance(node, ast.BoolOp))


def _patterns(core: Path, trees: Mapping[Path, ast.Module]) -> dict[str, object]:
    """Count the places of the core where a regular expression is written, all and outside the rooms that read text."""
    by_room: Counter[str] = Counter()
    for path, tree in trees.items():
        if path.is_relative_to(core):
            n = sum(_writes_pattern(node) for node in ast.walk(tree))
            by_room[path.relative_to(core).parts[0]] += n
    outside = sum(n for room, n in by_room.items() if room not in _READ_TEXT)
    return {
        "n_patterns": sum(by_room.values()),
        "n_patterns_elsewhere": outside,
        "patterns_by_room": {room: n for room, n in by_room.most_common() if n},
    }


def _writes_pattern(node: ast.AST) -> bool:
    """Return whether a node calls `re.compile` or its like; methods of what was compiled are not counted again."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    called = node.func
    return isinstance(called.value, ast.Name) and called.value.id == "re" and called.attr in _PATTERN_CALLS


def _docstrings(trees: Mapping[Path, ast.Module]) -> dict[str, float]:
    """Count docstrings, those of attributes too, that open with a relative word."""
    said = [
        node.value.value.strip()
        for tree in trees.values()
        for parent in ast.walk(tree)
        if isinstance(parent, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for node in parent.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    n_relative = sum(bool(_RELATIVE.match(text)) for text in said)
    return {"n_docstrings": len(said), "relative_openings_percent": round(100 * n_relative / max(len(said), 1), 1)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
