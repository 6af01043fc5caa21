"""Remembers who lives here: a name, a home, a password's digest, passkeys; and who is signed in.

Passwords are kept by Argon2id alone. Whoever is taken out, or changes their password, is signed out everywhere.

Covered: adding, taking out, new passwords, sessions that end. Not covered: guessing (`served` slows it); the homes' own
files, which belong to whoever runs the process.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import AuthenticatorSelectionCriteria, ResidentKeyRequirement, UserVerificationRequirement

from hearth.atomic_files import replacing
from hearth.errors import ConfigError, DeniedError, NotFound, RequestError
from hearth.language.tokens import same_name

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

    __pydantic_config__ = ConfigDict(extra="forbid")
    id: str
    """base64url, as browsers write it."""
    public_key: str
    """base64url, COSE."""
    n_signed: int = 0
    """What the device counted; one that goes back was copied."""


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody who lives here."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    name: Annotated[str, Field(min_length=1, max_length=60)]
    home: Path
    digest: str
    """Of the password, by Argon2id."""
    passkeys: tuple[Passkey, ...] = ()

    @property
    def handle(self) -> bytes:
        """What a device knows the person by; it does not tell the name."""
        return hashlib.sha256(f"hearth member {self.home}".encode()).digest()


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    members: tuple[Member, ...] = ()


class Members:
    """The people in one file, read anew each time: what the command line changes counts at once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def listed(self) -> tuple[Member, ...]:
        """Return all. Raises: ConfigError: The file is damaged."""
        if not self._path.exists():
            return ()
        try:
            return _File.model_validate_json(self._path.read_bytes()).members
        except (OSError, ValidationError):
            raise ConfigError(
                f"{str(self._path)!r} cannot be read, or holds what Hearth did not write there; mend or delete it"
            ) from None

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
        self._path.touch(mode=0o600)
        with replacing(self._path, keeps_mode=True) as file:
            file.write(_File(members=members).model_dump_json(indent=1).encode())


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


# ── Passkeys ───────────────────────────────────────────────────────────────────────────────────────────
# Signing in with a passkey: a key that stays in a person's device, which answers a challenge.
# Covered: adding one, signing in, a challenge that is answered once and soon, a copied key (its count goes back). Not
# covered: what kind of device it is; addresses by number, for which browsers make no passkeys.
# Source:
#     W3C Web Authentication, level 3; checked by the package `webauthn`.


CHALLENGE_S = 300.0
_MAC_BYTES = 32


class Passkeys:
    """The passkeys of one household at one address."""

    def __init__(self, members: Members, origin: str, clock: Callable[[], float]) -> None:
        """Check passkeys for `origin`, `https://hearth.local:8470`."""
        self._members = members
        self._origin = origin
        self._host = origin.partition("://")[2].rpartition(":")[0]
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        """Signs challenges, so that none is kept: nobody can push out others' by asking for many."""
        self._answers: dict[bytes, int] = {}
        """Challenges that were answered rightly, each with the second until when it would hold."""

    def adding(self, member: Member) -> str:
        """Return what the person's browser needs to make a passkey, as JSON."""
        asked = AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
        )
        options = generate_registration_options(
            rp_id=self._host,
            rp_name="Hearth",
            user_name=member.name,
            user_id=member.handle,
            challenge=self._challenge(member.name),
            authenticator_selection=asked,
        )
        return options_to_json(options)

    def add(self, member: Member, answer: str) -> None:
        """Keep a new passkey. Raises: DeniedError: It does not answer the challenge. RequestError: It is another
        person's, or there are too many. Nothing was kept then."""
        challenge = self._asked(answer, member.name)
        try:
            found = verify_registration_response(
                credential=answer,
                expected_challenge=challenge,
                expected_rp_id=self._host,
                expected_origin=self._origin,
                require_user_verification=True,
            )
        except (WebAuthnException, ValueError, KeyError, TypeError) as error:
            raise DeniedError(f"this passkey was not taken ({type(error).__name__}); try again") from None
        self._use_up(challenge)
        made = Passkey(
            bytes_to_base64url(found.credential_id), bytes_to_base64url(found.credential_public_key), found.sign_count
        )
        self._members.set_passkey(member.name, made)

    def asking(self) -> str:
        """Return what a browser needs to sign somebody in, as JSON."""
        options = generate_authentication_options(
            rp_id=self._host, challenge=self._challenge(""), user_verification=UserVerificationRequirement.REQUIRED
        )
        return options_to_json(options)

    def who(self, answer: str) -> Member:
        """Return who signs in. Raises: DeniedError: Nobody of this household."""
        challenge = self._asked(answer, "")
        try:
            id = str(json.loads(answer)["id"])
            member, key = next((one, key) for one in self._members.listed() for key in one.passkeys if key.id == id)
            found = verify_authentication_response(
                credential=answer,
                expected_challenge=challenge,
                expected_rp_id=self._host,
                expected_origin=self._origin,
                credential_public_key=base64url_to_bytes(key.public_key),
                credential_current_sign_count=key.n_signed,
                require_user_verification=True,
            )
        except (WebAuthnException, ValueError, KeyError, TypeError, StopIteration):
            raise DeniedError("this passkey is not known here; sign in with your password") from None
        self._use_up(challenge)
        self._members.set_passkey(member.name, replace(key, n_signed=found.new_sign_count))
        return member

    def _challenge(self, name: str) -> bytes:
        """Make a challenge for somebody, or for whoever signs in (no name): random bytes, until when, MAC."""
        body = secrets.token_bytes(16) + int(self._clock() + CHALLENGE_S).to_bytes(8, "big")
        return body + self._mac(body, name)

    def _mac(self, body: bytes, name: str) -> bytes:
        return hmac.digest(self._secret, body + name.encode(), "sha256")

    def _asked(self, answer: str, name: str) -> bytes:
        """Return the challenge that is answered. Raises: DeniedError: None that holds, or answered rightly before."""
        try:
            said = json.loads(base64url_to_bytes(json.loads(answer)["response"]["clientDataJSON"]))
            challenge = base64url_to_bytes(said["challenge"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise DeniedError("that is no passkey's answer; try again") from None
        body, mac = challenge[:-_MAC_BYTES], challenge[-_MAC_BYTES:]
        is_ours = hmac.compare_digest(mac, self._mac(body, name)) and len(body) > 16
        if not is_ours or int.from_bytes(body[16:], "big") <= self._clock() or challenge in self._answers:
            raise DeniedError("this took too long, or was answered already; try again")
        return challenge

    def _use_up(self, challenge: bytes) -> None:
        now = self._clock()
        self._answers = {one: until for one, until in self._answers.items() if until > now}
        self._answers[challenge] = int.from_bytes(challenge[16:-_MAC_BYTES], "big")
