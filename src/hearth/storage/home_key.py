"""Keeps the key of an encrypted home, sealed in `key.json`: a passphrase, the system's keyring or a code opens it.

A master key of 32 random bytes seals the keys of the database (SQLCipher, 256 bits) and of the owner's files (age,
X25519). The master key itself lies in `key.json` once for each way to open it: under a passphrase (scrypt, 128 MB),
under a secret in the system's keyring, under a recovery code that is shown once. While a key is being changed the old
one stays beside the new, so that a home is readable at every moment.

Covered: a wrong passphrase, a damaged `key.json`, a keyring that is not there, a process that is asked at its terminal.
Not covered: a machine that is running and unlocked: whoever reads this process's memory has the keys.
"""

from __future__ import annotations

import base64
import contextlib
import getpass
import hashlib
import json
import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import BaseModel, ConfigDict, ValidationError

from hearth.atomic_files import replacing
from hearth.config.setting_tables import KEY_FILE, has_key
from hearth.errors import HomeKeyError, MissingExtraError, RequestError, ToolError

PASSPHRASE = "HEARTH_HOME_PASSPHRASE"  # noqa: S105 - the name of a variable
"""Variable that holds the passphrase, for services and scripts."""
LEAST_PASSPHRASE = 8
N_TRIES = 3
_SCRYPT = {"n": 1 << 17, "r": 8, "p": 1, "maxmem": 256 << 20, "dklen": 32}
_KEYRING = "hearth"
"""Name of the service in the system's keyring."""
_ABOUT = b"hearth home key 1"
_CACHE: dict[Path, tuple[str, HomeKey]] = {}
"""By home: the text of the key file and what opened it, so that a process asks once."""

Way = Literal["passphrase", "keyring", "recovery"]


class _Wrap(BaseModel):
    """The master key under one secret."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    by: Way
    salt: str = ""
    """Of the passphrase, in base64; for the keyring, the name of its entry."""
    sealed: str


class _KeyFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    version: Literal[1]
    is_on: bool
    """False while the home is being decrypted."""
    with_files: bool
    """Whether the owner's folder is encrypted, too."""
    is_turning: bool
    """Something may still be under an older key, or under none."""
    wraps: tuple[_Wrap, ...]
    keys: str
    """The database's and the files' keys, under the master key."""


@dataclass(frozen=True, slots=True)
class HomeKey:
    """The keys of a home, the one in use first; an older one follows while it is being changed."""

    master: bytes
    database: tuple[str, ...]
    """In hex."""
    files: tuple[str, ...]
    """In age's own form."""
    is_on: bool = True
    with_files: bool = False
    is_turning: bool = False
    ways: tuple[Way, ...] = ()


# ── Making and writing ────────────────────────────────────────────────────────────────────────────────────


def new_master() -> bytes:
    return secrets.token_bytes(32)


def new_database_key() -> str:
    return secrets.token_hex(32)


def wraps_for(master: bytes, passphrase: str | None) -> tuple[tuple[_Wrap, ...], str]:
    """Seal a master key under a passphrase, or under a secret in the system's keyring where that is None.
    Returns: The sealed keys, and the recovery code that opens one of them.
    Raises: RequestError: The passphrase is too short, or no keyring keeps the secret. MissingExtraError."""
    code = "-".join(base64.b32encode(secrets.token_bytes(5)).decode() for _ in range(5))
    return (
        _in_keyring(master) if passphrase is None else _under_passphrase(master, passphrase),
        _Wrap(by="recovery", sealed=_seal(_of_code(code), master)),
    ), code


def write(home: Path, key: HomeKey, wraps: Sequence[_Wrap] | None = None) -> HomeKey:
    """Put the key file in place of the one there was, whole or not at all.

    Args:
        wraps: The ways to open it; those there are by default.
    Raises:
        StoreError: As it was before.
    """
    kept = tuple(wraps) if wraps is not None else _read(home).wraps
    sealed = {"database": key.database, "files": key.files, "state": _state(key)}
    keys = _seal(key.master, json.dumps(sealed).encode())
    document = _KeyFile(
        version=1, is_on=key.is_on, with_files=key.with_files, is_turning=key.is_turning, wraps=kept, keys=keys
    )
    path = home / KEY_FILE
    with replacing(path, "write the key") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(document.model_dump_json(indent=1).encode())
    return _opened(home, key.master)


def _state(of: HomeKey | _KeyFile) -> list[bool]:
    """What the key file says in plain of how far the home is turned; sealed beside the keys, so that a change shows."""
    return [of.is_on, of.with_files, of.is_turning]


def remove(home: Path) -> None:
    """Remove the key of a home that is decrypted, and its secret in the keyring."""
    for wrap in _read(home).wraps:
        if wrap.by == "keyring":
            with contextlib.suppress(Exception):  # whatever a back end of the keyring raises, it is of no use any more
                _keyring().delete_password(_KEYRING, wrap.salt)
    (home / KEY_FILE).unlink()
    _CACHE.pop(home.absolute(), None)


# ── Opening ───────────────────────────────────────────────────────────────────────────────────────────────


def home_key(home: Path) -> HomeKey:
    """Open a home's key: by the keyring, by $HEARTH_HOME_PASSPHRASE, or by asking at the terminal; once in a process.

    Raises:
        HomeKeyError: Nothing here opens it; says what would.
    """
    known = _CACHE.get(home.absolute())
    text = _text(home)
    if known is not None and known[0] == text:
        return known[1]
    if known is not None:  # written anew, by a change of key in another process, or here
        with contextlib.suppress(HomeKeyError):
            return _opened(home, known[1].master)
    document = _read(home)
    for wrap in document.wraps:
        if wrap.by == "keyring" and (secret := _from_keyring(wrap.salt)) is not None:
            with contextlib.suppress(InvalidTag):
                return _opened(home, _unseal(secret, wrap.sealed))
    for said in _secrets(home):
        master = _by_words(document, said)
        if master is not None:
            return _opened(home, master)
    raise HomeKeyError(
        f"nothing here opens the key of {str(home)!r}: the passphrase is wrong; mind capitals and the keyboard's "
        "language, or give the recovery code instead"
    )


def forget(home: Path) -> None:
    """Forget the opened key in this process: the next to need it asks again."""
    _CACHE.pop(home.absolute(), None)


def ways(home: Path) -> tuple[Way, ...]:
    """Return the ways to open a home's key, without opening it. Raises: HomeKeyError: The file is damaged."""
    return tuple(wrap.by for wrap in _read(home).wraps)


def _secrets(home: Path) -> Iterator[str]:
    """Yield what may open the key: from the environment, else as the owner types it. Raises: HomeKeyError."""
    if PASSPHRASE in os.environ:
        yield os.environ[PASSPHRASE]
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise HomeKeyError(
            f"{str(home)!r} is encrypted, and nobody can be asked for its passphrase here: run this at a terminal, set "
            f"{PASSPHRASE}, or keep the key in the system's keyring (`hearth encrypt --keyring --new-key`)"
        )
    for number in range(N_TRIES):
        if number:
            print("This does not open it.", file=sys.stderr)
        yield getpass.getpass(f"Passphrase of {home}: ", stream=sys.stderr)


def _by_words(document: _KeyFile, said: str) -> bytes | None:
    """Return the master key where these words are the passphrase or the recovery code."""
    for wrap in document.wraps:
        with contextlib.suppress(InvalidTag):
            if wrap.by == "passphrase":
                return _unseal(_of_passphrase(said, base64.b64decode(wrap.salt)), wrap.sealed)
            if wrap.by == "recovery" and len(said) > LEAST_PASSPHRASE:
                return _unseal(_of_code(said), wrap.sealed)
    return None


def _opened(home: Path, master: bytes) -> HomeKey:
    text = _text(home)
    document = _read(home)
    try:
        keys: Mapping[str, list[Any]] = json.loads(_unseal(master, document.keys))
        is_changed = keys.get("state", _state(document)) != _state(document)  # none in a file of version 0.2
    except InvalidTag:
        is_changed = True
    if is_changed:
        raise HomeKeyError(f"the key in {str(home / KEY_FILE)!r} is not the one it was; restore a backup of it")
    state, by = (document.is_on, document.with_files, document.is_turning), tuple(wrap.by for wrap in document.wraps)
    found = HomeKey(master, tuple(keys["database"]), tuple(keys["files"]), *state, by)
    _CACHE[home.absolute()] = (text, found)
    return found


def _text(home: Path) -> str:
    try:
        return (home / KEY_FILE).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise HomeKeyError(f"cannot read {str(home / KEY_FILE)!r}: {error}; restore a backup of it") from None


def _read(home: Path) -> _KeyFile:
    try:
        return _KeyFile.model_validate_json(_text(home))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise HomeKeyError(
            f"{str(home / KEY_FILE)!r} is damaged ({where}: {first['msg']}); without it an encrypted home cannot be "
            "opened: restore a backup of it"
        ) from None


# ── Secrets ───────────────────────────────────────────────────────────────────────────────────────────────


def check_passphrase(passphrase: str) -> None:
    """Raises: RequestError: It is too short."""
    if len(passphrase) < LEAST_PASSPHRASE:
        raise RequestError(
            f"the passphrase has {len(passphrase)} characters; take {LEAST_PASSPHRASE} or more, better four words"
        )


def _under_passphrase(master: bytes, passphrase: str) -> _Wrap:
    check_passphrase(passphrase)
    salt = secrets.token_bytes(16)
    return _Wrap(
        by="passphrase", salt=base64.b64encode(salt).decode(), sealed=_seal(_of_passphrase(passphrase, salt), master)
    )


def _in_keyring(master: bytes) -> _Wrap:
    name, secret = f"home-{secrets.token_hex(6)}", secrets.token_bytes(32)
    try:
        _keyring().set_password(_KEYRING, name, base64.b64encode(secret).decode())
    except MissingExtraError:
        raise
    except Exception as error:  # each back end has errors of its own
        said = str(error).partition("\n")[0].partition(". ")[0]
        raise RequestError(f"the system's keyring keeps nothing here ({said}); use a passphrase instead") from None
    if _from_keyring(name) != secret:
        raise RequestError("the system's keyring does not give back what it was given; use a passphrase instead")
    return _Wrap(by="keyring", salt=name, sealed=_seal(secret, master))


def _from_keyring(name: str) -> bytes | None:
    """Return a secret of the system's keyring; None where there is no keyring, or it holds none of that name."""
    try:
        found = _keyring().get_password(_KEYRING, name)
    except Exception:  # no extra, no keyring, or it is locked: another way may open the key
        return None
    return base64.b64decode(found) if found else None


def _keyring() -> Any:
    try:
        import keyring
    except ModuleNotFoundError:
        raise MissingExtraError("the system's keyring", "pip install 'hearth-agent[encryption]'") from None
    return keyring


def _of_passphrase(said: str, salt: bytes) -> bytes:
    return hashlib.scrypt(said.encode("utf-8", "surrogatepass"), salt=salt, **_SCRYPT)


def _of_code(code: str) -> bytes:
    """The secret of a recovery code, which is 200 random bits: no slow function is needed."""
    letters = "".join(c for c in code.upper() if c.isalnum())
    return hashlib.sha256(b"hearth recovery code" + letters.encode("utf-8", "surrogatepass")).digest()


def _seal(secret: bytes, data: bytes) -> str:
    nonce = secrets.token_bytes(12)
    return base64.b64encode(nonce + AESGCM(secret).encrypt(nonce, data, _ABOUT)).decode()


def _unseal(secret: bytes, sealed: str) -> bytes:
    """Raises: InvalidTag: Another secret, or it was changed."""
    try:
        raw = base64.b64decode(sealed)
        return AESGCM(secret).decrypt(raw[:12], raw[12:], _ABOUT)
    except ValueError:  # no base64, or too short
        raise InvalidTag from None


# ── Files sealed by it ─────────────────────────────────────────────────────────────────────────────────
# Encrypts the owner's files, and what was learnt, file by file with age (X25519).
# Any age opens them with their key, which lies sealed in the home's key file. A file that is not encrypted, or not to
# this home, is read as it is.
# Covered: a file that was cut off or changed. Not covered: names, sizes and times of files; files above `MAX_BYTES`.


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

    key = home_key(home)
    return Seal(key.files, is_on=key.is_on and (key.with_files or not is_owners)) if key.files else None
