"""Encrypts the owner's files, and what was learnt, file by file with age (X25519).

Any age opens them with their key, which lies sealed in the home's key file. A file that is not encrypted, or not to
this home, is read as it is.

Covered: a file that was cut off or changed. Not covered: names, sizes and times of files; files above `MAX_BYTES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hearth.config.folders import has_key
from hearth.errors import MissingExtraError, ToolError

try:
    import pyrage
except ModuleNotFoundError:
    raise MissingExtraError("an encrypted folder", "pip install 'hearth-agent[encryption]'") from None

MAGIC = b"age-encryption.org/v1\n"
MAX_BYTES = 64_000_000
"""Largest file that is encrypted; larger ones cannot be read by any tool."""


class Seal:
    """Seals and opens the content of files."""

    def __init__(self, identities: Sequence[str], *, is_on: bool = True) -> None:
        """Set up.

        Args:
            identities: Keys in age's form; content is sealed for the first, and opened by any.
            is_on: False seals nothing any more, and still opens.
        """
        self._identities = [pyrage.x25519.Identity.from_str(one) for one in identities]
        self._recipients = [one.to_public() for one in self._identities[:1]] if is_on else []

    def sealed(self, content: bytes, max_bytes: int | None = MAX_BYTES) -> bytes:
        if not self._recipients or (max_bytes is not None and len(content) > max_bytes):
            return content
        return bytes(pyrage.encrypt(content, self._recipients))

    def opened(self, raw: bytes, path: str) -> bytes:
        """Return the content of a file. Raises: ToolError: It was sealed for this home, and was changed or cut off."""
        if not raw.startswith(MAGIC):
            return raw
        try:
            return bytes(pyrage.decrypt(raw, self._identities))
        except pyrage.DecryptError as error:
            if "matching key" in str(error):
                return raw  # somebody else's
            raise ToolError(
                f"{path!r} was cut off or changed since it was encrypted; restore it from a backup"
            ) from None

    def is_newest(self, raw: bytes) -> bool:
        """Say whether content is sealed for the key in use."""
        if not raw.startswith(MAGIC):
            return False
        try:
            pyrage.decrypt(raw, self._identities[:1])
        except pyrage.DecryptError:
            return False
        return True

    def opens(self, raw: bytes) -> bool:
        """Say whether content is sealed for this home, by whichever key."""
        if not raw.startswith(MAGIC):
            return False
        try:
            pyrage.decrypt(raw, self._identities)
        except pyrage.DecryptError as error:
            return "matching key" not in str(error)
        return True


def new_identity() -> str:
    """Make a key for files, in age's own form."""
    return str(pyrage.x25519.Identity.generate())


def seal_of(home: Path, *, is_owners: bool = True) -> Seal | None:
    """Return what seals the files of a home; None where none of them ever was. Raises: HomeKeyError.

    Args:
        is_owners: The files of the owner's folder, which are sealed where the owner wants it; False for those that
            Hearth alone reads.
    """
    if not has_key(home):
        return None
    from hearth.storage.home_key import home_key

    key = home_key(home)
    return Seal(key.files, is_on=key.is_on and (key.with_files or not is_owners)) if key.files else None
