"""The owner's folder: sandboxed, atomic, journalled, undoable (first part: what a path may look like)."""

from __future__ import annotations

from hearth.errors import SandboxError

N_MAX_NAME_BYTES = 255
N_MAX_PATH_BYTES = 4000
TEMPORARY_PREFIX = ".hearth-tmp-"


def path_parts(path: str) -> tuple[str, ...]:
    """The names of a relative path, without `.` and doubled slashes.

    Raises:
        SandboxError: Empty, absolute, with `..`, a NUL, a name that is too long or not Unicode, or a reserved name.
    """
    if not isinstance(path, str) or "\0" in path:
        raise SandboxError(f"{path!r} is not a file path; expected text without NUL, relative to the owner's folder")
    if path.startswith("/"):
        raise SandboxError(f"{path!r} is an absolute path; give one relative to the owner's folder")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if not parts:
        raise SandboxError(f"{path!r} names no file; give a path relative to the owner's folder")
    if ".." in parts:
        raise SandboxError(f"{path!r} leaves the owner's folder by '..'; give a path below it")
    try:
        n_bytes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        raise SandboxError(f"{path!r} is not valid Unicode; rename the file") from None
    if max(n_bytes) > N_MAX_NAME_BYTES or sum(n_bytes) + len(parts) > N_MAX_PATH_BYTES:
        raise SandboxError(
            f"{path[:60] + '…'!r} is too long; a name has at most {N_MAX_NAME_BYTES} bytes, a path {N_MAX_PATH_BYTES}"
        )
    if any(part.startswith(TEMPORARY_PREFIX) for part in parts):
        raise SandboxError(f"{path!r} is reserved for unfinished writes; choose a name without {TEMPORARY_PREFIX!r}")
    return parts


def folder_parts(folder: str) -> tuple[str, ...]:
    """As `path_parts`, where an empty text (or `.`) is the owner's folder itself."""
    return () if folder in ("", ".", "./") else path_parts(folder)
