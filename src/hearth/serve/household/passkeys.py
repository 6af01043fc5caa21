"""Signing in with a passkey: a key that stays in a person's device, which answers a challenge.

Covered: adding one, signing in, a challenge that is answered once and soon, a copied key (its count goes back). Not
covered: what kind of device it is; addresses by number, for which browsers make no passkeys.

Source:
    W3C Web Authentication, level 3; checked by the package `webauthn`.
"""

from __future__ import annotations

import json
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
_MOST_OPEN = 100


class Passkeys:
    """The passkeys of one household at one address."""

    def __init__(self, members: Members, origin: str, clock: Callable[[], float]) -> None:
        """Check passkeys for `origin`, `https://hearth.local:8470`."""
        self._members = members
        self._origin = origin
        self._host = origin.partition("://")[2].rpartition(":")[0]
        self._clock = clock
        self._open: dict[bytes, tuple[str, float]] = {}
        """Challenges, each with for whom (empty: whoever signs in) and until when."""

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
            authenticator_selection=asked,
        )
        self._remember(options.challenge, member.name)
        return options_to_json(options)

    def add(self, member: Member, answer: str) -> None:
        """Keep a new passkey. Raises: DeniedError: It does not answer the challenge; nothing was kept."""
        challenge = self._answered(answer, member.name)
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
        made = Passkey(
            bytes_to_base64url(found.credential_id), bytes_to_base64url(found.credential_public_key), found.sign_count
        )
        self._members.set_passkey(member.name, made)

    def asking(self) -> str:
        """Return what a browser needs to sign somebody in, as JSON."""
        options = generate_authentication_options(
            rp_id=self._host, user_verification=UserVerificationRequirement.REQUIRED
        )
        self._remember(options.challenge, "")
        return options_to_json(options)

    def who(self, answer: str) -> Member:
        """Return who signs in. Raises: DeniedError: Nobody of this household."""
        challenge = self._answered(answer, "")
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
        self._members.set_passkey(member.name, replace(key, n_signed=found.new_sign_count))
        return member

    def _remember(self, challenge: bytes, name: str) -> None:
        now = self._clock()
        self._open = {one: told for one, told in self._open.items() if told[1] > now}
        while len(self._open) >= _MOST_OPEN:
            del self._open[next(iter(self._open))]
        self._open[challenge] = name, now + CHALLENGE_S

    def _answered(self, answer: str, name: str) -> bytes:
        """Return the challenge that is answered, which is then over. Raises: DeniedError: None that is open."""
        try:
            said = json.loads(base64url_to_bytes(json.loads(answer)["response"]["clientDataJSON"]))
            challenge = base64url_to_bytes(said["challenge"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise DeniedError("that is no passkey's answer; try again") from None
        told = self._open.pop(challenge, None)
        if told is None or told[0] != name or told[1] <= self._clock():
            raise DeniedError("this took too long, or was answered already; try again")
        return challenge
