"""Remembers who lives here: a name, a home, a password's digest, passkeys; and who is signed in.

Passwords are kept by Argon2id alone. Whoever is taken out, or changes their password, is signed out everywhere.

Covered: adding, taking out, new passwords, sessions that end. Not covered: guessing (`front` slows it); the homes' own
files, which belong to whoever runs the process.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hearth.atomic_files import replacing
from hearth.errors import ConfigError, NotFound, RequestError
from hearth.language.text.exact_names import same_name

MEMBERS_FILE = "household.json"
LEAST_PASSWORD = 8
MOST_PASSWORD = 1000
SESSION_S = 14 * 86_400.0
MOST_PASSKEYS = 10
_HASHER = PasswordHasher()
_NOBODY = _HASHER.hash(secrets.token_hex(16))
"""Verified where the name is unknown, so that the time taken tells nothing."""


@dataclass(frozen=True, slots=True)
class Passkey:
    """A key that a person's device keeps."""

    id: str
    """base64url, as browsers write it."""
    public_key: str
    """base64url, COSE."""
    n_signed: int
    """What the device counted; one that goes back was copied."""


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody who lives here."""

    name: str
    home: Path
    digest: str
    """Of the password, by Argon2id."""
    passkeys: tuple[Passkey, ...] = ()

    @property
    def handle(self) -> bytes:
        """What a device knows the person by; it does not tell the name."""
        return hashlib.sha256(f"hearth member {self.home}".encode()).digest()


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _PasskeyRow(_Row):
    id: str
    public_key: str
    n_signed: int = 0


class _MemberRow(_Row):
    name: str = Field(min_length=1, max_length=60)
    home: str
    digest: str
    passkeys: tuple[_PasskeyRow, ...] = ()


class _File(_Row):
    members: tuple[_MemberRow, ...] = ()


class Members:
    """The people in one file, read anew each time: what the command line changes counts at once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def listed(self) -> tuple[Member, ...]:
        """Return all. Raises: ConfigError: The file is damaged."""
        if not self._path.exists():
            return ()
        try:
            found = _File.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            raise ConfigError(
                f"{str(self._path)!r} cannot be read, or holds what Hearth did not write there; mend or delete it"
            ) from None
        return tuple(
            Member(m.name, Path(m.home), m.digest, tuple(Passkey(k.id, k.public_key, k.n_signed) for k in m.passkeys))
            for m in found.members
        )

    def named(self, name: str) -> Member | None:
        """Return the one of that name (`same_name`)."""
        return next((one for one in self.listed() if same_name(one.name) == same_name(name)), None)

    def add(self, name: str, home: Path, password: str) -> Member:
        """Let somebody live here. Raises: RequestError: The name or home is taken, the password unusable."""
        said = " ".join(name.split())
        members = self.listed()
        if not said or len(said) > 60 or not said.isprintable() or self.named(said) is not None:
            raise RequestError(f"the name {name[:60]!r} is empty, too long or taken; choose another")
        if other := next((one for one in members if one.home == home), None):
            raise RequestError(f"{str(home)!r} is the home of {other.name!r}; each has their own (--home-of)")
        member = Member(said, home, _digest(password))
        self._write((*members, member))
        return member

    def remove(self, name: str) -> Member:
        """Let somebody live here no more; their home stays where it is. Raises: NotFound."""
        member = self._known(name)
        self._write(tuple(one for one in self.listed() if one.name != member.name))
        return member

    def set_password(self, name: str, password: str) -> None:
        """Give somebody a new password, and take their passkeys back. Raises: NotFound, RequestError."""
        self._put(replace(self._known(name), digest=_digest(password), passkeys=()))

    def set_passkey(self, name: str, passkey: Passkey) -> None:
        """Add a passkey, or note how often it signed. Raises: NotFound, RequestError: There are too many, or it is
        another member's: whoever signs in with it would be taken for one of the two."""
        member = self._known(name)
        if any(key.id == passkey.id for one in self.listed() if one.name != member.name for key in one.passkeys):
            raise RequestError("this passkey is another person's here; make one of your own")
        others = tuple(one for one in member.passkeys if one.id != passkey.id)
        if len(others) >= MOST_PASSKEYS:
            raise RequestError(f"{member.name} has {MOST_PASSKEYS} passkeys already; a new password takes them back")
        self._put(replace(member, passkeys=(*others, passkey)))

    def by_password(self, name: str, password: str) -> Member | None:
        """Return who proves to be that person; takes as long for a name that is unknown."""
        member = self.named(name)
        try:
            _HASHER.verify(member.digest if member else _NOBODY, password[:MOST_PASSWORD])
        except (VerificationError, InvalidHashError):
            return None
        return member

    def _known(self, name: str) -> Member:
        member = self.named(name)
        if member is None:
            known = ", ".join(repr(one.name) for one in self.listed()) or "nobody"
            raise NotFound(f"nobody here is called {name!r}; there is {known}")
        return member

    def _put(self, member: Member) -> None:
        self._write(tuple(member if one.name == member.name else one for one in self.listed()))

    def _write(self, members: tuple[Member, ...]) -> None:
        rows = [
            {
                "name": m.name,
                "home": str(m.home),
                "digest": m.digest,
                "passkeys": [{"id": k.id, "public_key": k.public_key, "n_signed": k.n_signed} for k in m.passkeys],
            }
            for m in members
        ]
        self._path.touch(mode=0o600)
        with replacing(self._path, keeps_mode=True) as file:
            file.write(json.dumps({"members": rows}, indent=1).encode())


def _digest(password: str) -> str:
    """Raises: RequestError."""
    if not LEAST_PASSWORD <= len(password) <= MOST_PASSWORD:
        raise RequestError(f"a password has {LEAST_PASSWORD} to {MOST_PASSWORD} characters, not {len(password)}")
    return _HASHER.hash(password)


@dataclass(frozen=True, slots=True)
class _Session:
    name: str
    digest: str
    """Of the password then: another one ends the session."""
    ends_s: float


class Sessions:
    """Who is signed in, by a key that their browser keeps; forgotten when the process ends."""

    def __init__(self, members: Members, clock: Callable[[], float]) -> None:
        """Count time by `clock`, in seconds."""
        self._members = members
        self._clock = clock
        self._open: dict[str, _Session] = {}

    def begin(self, member: Member) -> str:
        """Sign somebody in, and return the key."""
        self._open = {key: one for key, one in self._open.items() if one.ends_s > self._clock()}
        key = secrets.token_urlsafe(32)
        self._open[_hashed(key)] = _Session(member.name, member.digest, self._clock() + SESSION_S)
        return key

    def of_key(self, key: str) -> Member | None:
        """Return who is signed in by a key."""
        session = self._open.get(_hashed(key))
        if session is None or session.ends_s <= self._clock():
            return None
        member = self._members.named(session.name)
        return member if member is not None and member.digest == session.digest else None

    def end(self, key: str) -> None:
        """Sign out."""
        self._open.pop(_hashed(key), None)


def _hashed(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
