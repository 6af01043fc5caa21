"""Who but the owner can read or change a file: its own rights, those of every folder on the way to it, and the disk.

Covered: modes and owners, symlinks followed to what they lead to, folders that everybody may write.
Not covered: access control lists, other mounts, root.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path


def is_shared(path: Path) -> bool:
    """Return whether somebody but the owner (or root) can write the file or folder, or owns it. Raises: OSError."""
    status = path.stat()
    return bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)) or status.st_uid not in (0, os.geteuid())


def replaceable_at(path: Path) -> str:
    """Return the folder where somebody else could put another file in the place of `path`, symlinks followed; empty
    where nobody can. In a folder like `/tmp`, whose files only their owners may rename, nobody can.

    Raises:
        OSError: It, or a folder on the way, cannot be looked at.
    """
    real = path.resolve(strict=True)
    for folder in real.parents:
        status = folder.stat()
        is_open = status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX
        if is_open or status.st_uid not in (0, os.geteuid()):
            return str(folder)
    return ""


def make_private(folder: Path) -> None:
    """Make a folder, or close one that is there to everybody but the owner. Raises: OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


def openings(home: Path) -> tuple[str, ...]:
    """Say what of a home others can get at, each with what to do; empty where nothing is open.

    A home that nobody else may enter needs no rights of its own inside.
    """
    status = home.stat()
    found = []
    if status.st_uid != os.geteuid():
        found.append(f"{home} belongs to another user; do `chown -R $USER {home}`")
    if status.st_mode & 0o077:
        can = "change" if status.st_mode & 0o022 else "read"
        found.append(f"others can {can} what is in {home}; do `chmod 700 {home}`")
    if where := replaceable_at(home):
        found.append(
            f"others can put another home in its place, because they may write {where}; do `chmod o-w {where}`"
        )
    return tuple(found)


def is_disk_encrypted(path: Path) -> bool:
    """Return whether the system says that the disk below a file is encrypted (Linux, dm-crypt); False where it does not
    tell: other systems and ways."""
    try:
        device = path.stat().st_dev
    except OSError:
        return False
    waiting, seen = [Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")], 0
    while waiting and seen < 100:  # a volume may lie on others
        block, seen = waiting.pop(), seen + 1
        with contextlib.suppress(OSError):
            if (block / "dm" / "uuid").read_text().startswith("CRYPT-"):
                return True
        with contextlib.suppress(OSError):
            waiting += (block / "slaves").iterdir()
    return False
