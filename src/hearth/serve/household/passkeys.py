"""Signing in with a passkey: a key that stays in a person's device, which answers a challenge.

Covered: adding one, signing in, a challenge that is answered once and soon, a copied key (its count goes back). Not
covered: what kind of device it is; addresses by number, for which browsers make no passkeys.

Source:
    W3C Web Authentication, level 3; checked by the package `webauthn`.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import replace

from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from hearth.errors import DeniedError
from hearth.serve.household.members import Member, Members, Passkey

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
            rp_id=self._host,
            challenge=self._challenge(""),
            user_verification=UserVerificationRequirement.REQUIRED,
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
