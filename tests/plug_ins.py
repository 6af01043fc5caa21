"""Small distributions with entry points, as an installer leaves them in a folder of the path."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, PathDistribution
from pathlib import Path

Points = Mapping[str, Mapping[str, str]]
"""Entry points by group: name -> `module:attribute`."""


def installed_in(
    folder: Path,
    points: Points,
    *,
    name: str = "acme",
    version: str = "1.0",
    modules: Mapping[str, str] | None = None,
    needs: tuple[str, ...] = (),
) -> tuple[EntryPoint, ...]:
    """Install a distribution into a folder.

    Args:
        modules: Its modules by name, with their text.
        needs: What it requires.
    Returns:
        Its entry points.
    """
    record = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    record.mkdir(parents=True)
    required = "".join(f"Requires-Dist: {one}\n" for one in needs)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}")
    (record / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{key} = {at}\n" for key, at in parts.items()) for group, parts in points.items()
        )
    )
    for module, text in (modules or {}).items():
        (folder / f"{module}.py").write_text(text)
    return tuple(PathDistribution(record).entry_points)
