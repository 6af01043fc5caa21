"""Access tokens of edges: 32 random bytes shown once, stored only as a hash, with an expiry, revocable.

A checked token is trusted for a few seconds without looking again, so a revocation takes effect after at most
`BELIEVED_S` in every process. A hash without salt is enough: nobody guesses 256 random bits.

Covered: tokens that are unknown, expired, revoked, oversized or no tokens; two agents that use one token by turns. Not
covered: a token that was stolen and is used alone; a second agent that never meets the first (see `Storage.seen`);
brute force, which the size of a token prevents.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from hearth.errors import ConfigError
from hearth_cloud.problems import Fault
from hearth_cloud.storage.cloud_storage import Storage, TokenRow

BELIEVED_S = 5.0
_SEEN_AGAIN_S = 60.0
"""Interval of writing down that an agent is still active."""
_MOST_KNOWN = 10_000
_FORM = re.compile(r"hearth_[A-Za-z0-9_-]{43}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
MOST_DAYS = 3650


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new token, as it is shown once."""

    text: str
    id: str
    expires: dt.datetime | None


def issue(storage: Storage, edge: str, days: int | None, *, replaces: bool = False) -> NewToken:
    """Make a token for an edge; a new edge is created.

    Args:
        days: Until it expires; None: never.
        replaces: Revoke those it has. Whoever comes next with the new one is its one agent, whatever is still done
            with an old one while that is believed.
    Raises:
        ConfigError: No name of an edge, or it has a token that holds.
    """
    if not NAME.fullmatch(edge):
        raise ConfigError(f"{edge!r} is no name for an edge; expected letters, digits, '.', '_' and '-', at most 63")
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise ConfigError(f"a token for {days} days was asked for; expected 1 to {MOST_DAYS}")
    now = storage.now()
    held = [row for row in storage.tokens() if row.edge == edge and state_of(row, now) == "holds"]
    if held and not replaces:
        raise ConfigError(
            f"{edge!r} has a token that holds; give another device a name of its own, or use --replace to revoke it"
        )
    if replaces and held:
        storage.revoke(edge)
    text = f"hearth_{secrets.token_urlsafe(32)}"
    expires = now + dt.timedelta(days=days) if days is not None else None
    id = secrets.token_hex(8)
    storage.add_token(id, edge, hash_of(text), expires)
    return NewToken(text, id, expires)


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def state_of(row: TokenRow, now: dt.datetime) -> str:
    """Return `holds`, `revoked` or `expired`."""
    if row.revoked is not None:
        return "revoked"
    return "expired" if row.expires is not None and row.expires <= now else "holds"


@dataclass(slots=True)
class _Known:
    row: TokenRow | None
    until: float


@dataclass(slots=True)
class _Agent:
    instance: str
    written: float
    are_two: bool


class Tokens:
    """Checks tokens. May query the database; use a thread where `known` returns None."""

    def __init__(self, storage: Storage, monotonic: Callable[[], float]) -> None:
        self._storage = storage
        self._monotonic = monotonic
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._agents: OrderedDict[str, _Agent] = OrderedDict()
        """Agents by token."""

    def known(self, authorization: str) -> TokenRow | None:
        """Return the token of a header, if it was checked a moment ago; None means that `check` has to look."""
        known = self._known.get(_hash_in(authorization))
        if known is None or known.row is None or self._monotonic() >= known.until:
            return None
        return self._checked(known.row)

    def check(self, authorization: str) -> TokenRow:
        """Return the token of a header. Raises: Fault: 401, and what to do. StoreError."""
        hash = _hash_in(authorization)
        known = self._known.get(hash)
        if known is None or self._monotonic() >= known.until:
            known = _Known(self._storage.token_by_hash(hash), self._monotonic() + BELIEVED_S)
            _keep(self._known, hash, known)
        if known.row is None:
            raise _no_token("the token is not known here")
        return self._checked(known.row)

    def _checked(self, row: TokenRow) -> TokenRow:
        state = state_of(row, self._storage.now())
        if state != "holds":
            raise _no_token(f"the token of {row.edge!r} {'was revoked' if state == 'revoked' else 'has expired'}")
        return row

    def is_same_agent(self, token: str, instance: str) -> bool | None:
        """Say whether the token has only this agent, if `note` need not write anything; None means that `note` must be
        asked."""
        agent = self._agents.get(token)
        if agent is None or agent.instance != instance or self._monotonic() - agent.written >= _SEEN_AGAIN_S:
            return None
        return not agent.are_two

    def note(self, token: str, instance: str) -> bool:
        """Note which agent uses a token (its id); return whether it is the only one."""
        before = self._agents.get(token)
        are_two = self._storage.seen(token, instance) or (before is not None and before.are_two)
        _keep(self._agents, token, _Agent(instance, self._monotonic(), are_two))
        return not are_two


def _keep(kept: OrderedDict[str, object] | OrderedDict, key: str, value: object) -> None:  # type: ignore[type-arg]
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > _MOST_KNOWN:
        kept.popitem(last=False)


def _hash_in(authorization: str) -> str:
    """Return the hash of the token in a header. Raises: Fault: 401: There is no token in the header."""
    kind, _, token = authorization.strip().partition(" ")
    if kind.lower() != "bearer" or not _FORM.fullmatch(token.strip()):
        raise _no_token("no token of an edge was sent" if not token else "what was sent is no token of an edge")
    return hash_of(token.strip())


def _no_token(what: str) -> Fault:
    return Fault(
        401,
        "token",
        f"{what}; expected `Authorization: Bearer hearth_…`; ask the service's keeper for one "
        "(`hearth cloud token new NAME`), then `hearth edge join`",
    )
