"""The places that settings do not name: the home folder, the cache, the machine's time zone."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

KEY_FILE = "key.json"
"""Holds the key of an encrypted home, sealed (`storage.home_key`)."""


def has_key(home: Path) -> bool:
    """Return whether a home has a key: it is encrypted, or on its way there or back."""
    return (home / KEY_FILE).exists()


def home_folder(option: str | None, environ: Mapping[str, str]) -> Path:
    """Return the home folder: `--home`, else `$HEARTH_HOME`, else the platform's data directory."""
    chosen = (
        option
        or environ.get("HEARTH_HOME")
        or _platform_folder("XDG_DATA_HOME", ".local/share", "Library/Application Support", environ)
    )
    return Path(chosen).expanduser().absolute()


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of rebuildable files: `$HEARTH_CACHE`, else the platform's cache directory."""
    return Path(
        environ.get("HEARTH_CACHE") or _platform_folder("XDG_CACHE_HOME", ".cache", "Library/Caches", environ)
    ).expanduser()


def _platform_folder(variable: str, on_linux: str, on_macos: str, environ: Mapping[str, str]) -> Path:
    """Return Hearth's folder of one kind, by the XDG base directory specification, or as macOS places it."""
    if sys.platform == "darwin":
        return Path.home() / on_macos / "hearth"
    chosen = environ.get(variable, "")
    return (Path(chosen) if os.path.isabs(chosen) else Path.home() / on_linux) / "hearth"


def machine_zone(environ: Mapping[str, str]) -> ZoneInfo:
    """Return the machine's zone by its IANA name: `$TZ`, what /etc/localtime links to, /etc/timezone; else UTC."""
    with contextlib.suppress(OSError):
        names = [environ.get("TZ", "").removeprefix(":"), os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]]
        with contextlib.suppress(FileNotFoundError):
            names.append(Path("/etc/timezone").read_text(encoding="utf-8", errors="replace").strip())
        for name in names:
            if name:
                with contextlib.suppress(ZoneInfoNotFoundError, ValueError):
                    return ZoneInfo(name)
    return ZoneInfo("UTC")
