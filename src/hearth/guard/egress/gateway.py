"""Controls the only way to the network: closed except for the hosts the owner named, with every message recorded.

`Egress.transport` is for code that speaks HTTP through httpx; `Egress.permit` lets a library that opens its own sockets
(IMAP, SMTP) reach one host and port while its block runs. `guard.egress.audit_hook` makes the interpreter itself refuse
every other connection.

Covered: hosts and ports; each hop of a redirect; a public name that leads to a private address, at the first look-up or
at a later one; plain HTTP to anything public; data that its label keeps from the host, unless masked; budgets of bytes,
tokens and money, also after a restart and with the clock set back. Not covered: what `guard.egress.audit_hook` does not
see, bytes of TLS and TCP themselves in the counts, a clock set forward, what a look-up tells the system's name server,
and what a permitted host does with what it gets.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hearth.config import Host, Network, Settings, host_and_port
from hearth.errors import ConfigError, EgressError, StoreError
from hearth.guard.egress.audit_hook import (
    Permit,
    Way,
    as_address,
    is_local_name,
    is_public,
    look_up,
    normal,
    permitted,
    permitted_port,
)
from hearth.guard.egress.ledger import Draft, Ledger
from hearth.protocols import Cause
from hearth.storage.database import Store
from hearth.types import Disclosure, Label

if TYPE_CHECKING:
    import ssl

    import httpx

MAX_COUNTED_TOKENS = 1_000_000_000
"""What a server says an answer cost counts for at most so much: no answer costs more, and sums stay within SQLite's."""
_NO_CAUSE = Cause()
_stand_ins: ContextVar[Mapping[str, str] | None] = ContextVar("hearth_stand_ins", default=None)


@contextlib.contextmanager
def sending(stands_for: Mapping[str, str]) -> Iterator[None]:
    """Mark what this thread sends while the block runs as masked: the ledger notes the values of its stand-ins.

    Args:
        stands_for: Stand-in → value, as `masking_door.MaskingDoor` gave them.
    """
    token = _stand_ins.set(dict(stands_for))
    try:
        yield
    finally:
        _stand_ins.reset(token)


def is_sending_masked() -> bool:
    """Return whether this thread is within `sending`."""
    return _stand_ins.get() is not None


# ── The door ──────────────────────────────────────────────────────────────────────────────────────────────


class Egress:
    """A `protocols.Egress` for the hosts the owner allows.

    `purpose` is the id of the episode on whose behalf things leave; it is recorded with each disclosure.
    """

    def __init__(
        self,
        allow: Iterable[str],
        store: Store,
        clock: Callable[[], dt.datetime],
        *,
        network: Network | None = None,
        own: Iterable[str] = (),
        resolve: Callable[[str, int], Sequence[str]] = look_up,
    ) -> None:
        """Open the door for `allow` (`host` or `host:port`, exact names).

        Args:
            network: Limits, budgets and settings of hosts; its `allow` is ignored.
            own: Hosts that hold the owner's own data anyway: mail, calendar and contact servers, the home's broker.
            resolve: Finds the addresses of a host; replaced in tests.
        Raises:
            ConfigError: An entry is not a plain host name.
        """
        try:
            self._allowed = frozenset(host_and_port(text) for text in allow)
        except ValueError as error:
            raise ConfigError(f"[network] allow: {error}") from None
        self.limits = network or Network()
        self._hosts = {host_and_port(name)[0]: host for name, host in self.limits.host.items()}
        self._own = frozenset(map(normal, own))
        self._clock = clock
        self._resolve = resolve
        self._lock = threading.Lock()
        self._tls: dict[str, ssl.SSLContext] = {}
        self.ledger = Ledger(store, clock)
        self.purpose = ""

    @classmethod
    def from_settings(cls, settings: Settings, store: Store, clock: Callable[[], dt.datetime]) -> Egress:
        """Make the egress that `hearth.toml` describes. Raises: ConfigError."""
        own = (settings.mail.imap, settings.mail.smtp, settings.home.mqtt)
        servers = [server.host for server in own if server]
        urls = [collection.url for collection in (settings.calendar, settings.contacts) if collection.url]
        urls += [settings.home.assistant.url] if settings.home.assistant else []
        servers += [urlsplit(url if "//" in url else f"//{url}").hostname or "" for url in urls]
        return cls(settings.network.allow, store, clock, network=settings.network, own=servers)

    # ── The seam ──────────────────────────────────────────────────────────────────────────────────────────

    def transport(self, reason: str, *, is_web: bool = False) -> httpx.BaseTransport:
        """See `protocols.Egress`. Each redirect is checked as a new request; no proxy of the environment is used."""
        return _transport(self, reason, _NO_CAUSE, is_web)

    def permit(self, host: str, port: int, reason: str) -> contextlib.AbstractContextManager[None]:
        """See `protocols.Egress`. Holds for this thread (and task) only; the opening is recorded, with 0 bytes."""
        return self._permitted(host, port, reason, _NO_CAUSE)

    def record(self, host: str, payload: bytes, reason: str, *, tls: str = "") -> None:
        """See `protocols.Egress`."""
        self._record(host, payload, reason, tls, _NO_CAUSE)

    def tls(self, host: str) -> ssl.SSLContext:
        """See `protocols.Egress`. Raises: ConfigError: The owner's file of authorities cannot be used."""
        import ssl  # most starts send nothing

        import certifi

        ca_file = self._particulars(normal(host)).ca_file
        with self._lock:
            if ca_file not in self._tls:
                context = ssl.create_default_context()
                context.load_verify_locations(cafile=certifi.where())  # a small system may have none of its own
                if ca_file:
                    _trust(context, ca_file, host)
                self._tls[ca_file] = context
            return self._tls[ca_file]

    def spent(self, host: str, n_tokens: int, reason: str) -> None:
        """See `protocols.Egress`."""
        self._spent(host, n_tokens, reason, _NO_CAUSE)

    def on_behalf(self, cause: Cause) -> EgressOnBehalf:
        """See `protocols.Egress`."""
        return EgressOnBehalf(self, cause)

    def disclosures(self, purpose: str) -> tuple[Disclosure, ...]:
        """List what left on behalf of one episode, in order."""
        found = self.ledger.entries(episode=purpose) if purpose else ()
        return tuple(
            Disclosure(e.host, e.n_bytes, e.reason, dt.datetime.fromisoformat(e.at))
            for e in found
            if e.kind in ("sent", "permitted")
        )

    def refusals(self, purpose: str) -> tuple[str, ...]:
        """List the reasons why something was kept from leaving on behalf of one episode, each once."""
        found = self.ledger.entries(episode=purpose) if purpose else ()
        return tuple(dict.fromkeys(entry.reason for entry in found if entry.kind == "refused"))

    # ── What the seam rests on ────────────────────────────────────────────────────────────────────────────

    def way(self, wanted: Way) -> Way:
        """Check a way: its host, the budget and who may read the data; nothing is looked up yet.

        Raises:
            EgressError: Refused, and why; nothing was sent.
        """
        with self._refusals_noted(wanted.host, wanted.port, wanted.cause):
            name = self._checked(wanted.host, wanted.port, wanted.cause)
            is_private_fine = not wanted.is_web and self._is_private_fine(name)
            if not wanted.is_tls and not is_private_fine:
                raise _readable_by_all(name)
        return replace(wanted, host=name, is_private_fine=is_private_fine)

    @contextlib.contextmanager
    def opened(self, way: Way) -> Iterator[tuple[str, ...]]:
        """Look the host up once and let this thread connect to the addresses found while the block runs.

        The opening is recorded before the look-up, because that is a message, too.

        Raises:
            EgressError: It leads where it may not. StoreError: It could not be recorded; nothing was sent.
        """
        self._write(Draft("opened", way.host, way.reason, port=way.port), way.cause)
        with self._refusals_noted(way.host, way.port, way.cause):
            addresses = self._checked_addresses(way)
        with permitted(Permit(way.host, way.port, True, frozenset(addresses))):
            yield addresses

    def _checked_addresses(self, way: Way) -> tuple[str, ...]:
        addresses = self._looked_up(way)
        if not addresses:
            raise EgressError(f"{way.host!r} has no address, nothing was sent; check its name and the network")
        strange = [address for address in addresses if not is_public(address)]
        if strange and not way.is_private_fine:
            advice = "an address found on the web may not lead there"
            if not way.is_web:
                advice = f'if it is right, write private = true under [network.host."{way.host}"] in hearth.toml'
            raise EgressError(
                f"{way.host!r} leads to {strange[0]!r}, which is not out in the internet; nothing was sent; {advice}"
            )
        if not way.is_tls and len(strange) < len(addresses):
            raise _readable_by_all(way.host)
        return addresses

    def _looked_up(self, way: Way) -> tuple[str, ...]:
        """Resolve in a thread of its own, because a resolver that waits cannot be ended otherwise. Raises: EgressError:
        It took too long."""
        found: list[Sequence[str]] = []
        if as_address(way.host) is not None:
            return (way.host,)
        thread = threading.Thread(
            target=lambda: found.append(self._resolve(way.host, way.port)), daemon=True, name="look-up"
        )
        thread.start()
        thread.join(self.limits.connect_s)
        if thread.is_alive():
            raise EgressError(
                f"the look-up of {way.host!r} took longer than {self.limits.connect_s:g} s, nothing was sent; check "
                "the network, or raise connect_s under [network] in hearth.toml"
            )
        return tuple(found[0]) if found else ()

    def send(self, way: Way, payload: bytes, n_bytes: int, address: str, tls: str) -> None:
        """Record what is about to be sent; it may be sent when this returns.

        Raises:
            EgressError: It is over the budget. StoreError: It could not be recorded. Nothing may be sent.
        """
        with self._refusals_noted(way.host, way.port, way.cause):
            draft = Draft("sent", way.host, way.reason, payload, n_bytes, port=way.port, address=address, tls=tls)
            self._write(draft, way.cause)

    @contextlib.contextmanager
    def _permitted(self, host: str, port: int, reason: str, cause: Cause) -> Iterator[None]:
        with self._refusals_noted(host, port, cause):
            name = self._checked(host, port, cause)
        self._write(Draft("permitted", name, reason, port=port), cause)
        with permitted(Permit(name, port, self._is_private_fine(name))):
            yield

    def _record(self, host: str, payload: bytes, reason: str, tls: str, cause: Cause) -> None:
        name = normal(host)
        port = permitted_port(name)
        with self._refusals_noted(name, port, cause):
            self._check_readers(name, cause)
            self._write(Draft("sent", name, reason, payload, len(payload), port=port, tls=tls), cause)

    def _spent(self, host: str, n_tokens: int, reason: str, cause: Cause) -> None:
        name, n_tokens = normal(host), min(n_tokens, MAX_COUNTED_TOKENS)
        usd = n_tokens * self._particulars(name).usd_per_million_tokens / 1e6
        if n_tokens > 0:
            self.ledger.append(
                Draft(
                    *("used", name, reason), n_tokens=n_tokens, usd=usd, rule=cause.rule, episode=self.purpose,
                    step=cause.step,
                )
            )  # fmt: skip

    @contextlib.contextmanager
    def _refusals_noted(self, host: str, port: int, cause: Cause) -> Iterator[None]:
        """Record what was kept from leaving, and why; if that cannot be recorded, it is kept all the same."""
        try:
            yield
        except EgressError as error:
            refused = Draft("refused", normal(host), str(error), port=port, rule=cause.rule, episode=self.purpose)
            with contextlib.suppress(StoreError):
                self.ledger.append(replace(refused, step=cause.step))
            raise

    def _checked(self, host: str, port: int, cause: Cause) -> str:
        name = normal(host)
        if (name, port) not in self._allowed and (name, 0) not in self._allowed:
            known = ", ".join(sorted(f"{h}:{p}" if p else h for h, p in self._allowed)) or "none"
            raise EgressError(
                f"{name!r} port {port} is not a host Hearth may reach, nothing was sent; allowed: {known}. "
                f'To allow it, add "{name}" to `allow` under [network] in hearth.toml'
            )
        self._check_readers(name, cause)
        self._check_budget(name, 0)
        return name

    def _check_readers(self, host: str, cause: Cause) -> None:
        """Refuse data that the host may not read, unless masked or sent by a step that the owner's word covers."""
        if cause.effect != "none" or host in self._own or is_sending_masked():
            return
        kept = _kept_from(host, cause.label, self._particulars(host).may_read)
        if kept:
            sources = ", ".join(sorted(kept))
            raise EgressError(
                f"what {cause.tool or 'this'} would send to {host!r} was made from {sources}, which it may not read; "
                f'nothing was sent. To let it, write may_read = ["{sorted(kept)[0]}"] under [network.host."{host}"] in '
                "hearth.toml"
            )

    def _check_budget(self, host: str, n_bytes: int) -> None:
        today = self._clock().date().isoformat()
        own = self._particulars(host)
        for budget, name, where in (
            (self.limits.budget, "", "[network.budget]"),
            (own, host, f'[network.host."{host}"]'),
        ):
            limits = (budget.bytes_per_day, budget.tokens_per_day, budget.usd_per_day)
            if limits == (None, None, None):
                continue
            used = self.ledger.used_since(today, name)
            kinds = zip(("bytes_per_day", "tokens_per_day", "usd_per_day"), limits, used, (n_bytes, 0, 0), strict=True)
            for key, limit, spent, more in kinds:
                if limit is not None and (spent + more > limit or (not more and spent >= limit)):
                    raise EgressError(
                        f"the day's budget for {name or 'all hosts together'} is used up: {spent:g} of {limit:g} "
                        f"({key} in {where}){f', and {more} more are wanted' if more else ''}; nothing was sent; wait "
                        "for tomorrow or raise it in hearth.toml"
                    )

    def _write(self, draft: Draft, cause: Cause) -> None:
        stand_ins = _stand_ins.get() or {}
        stands_for = {name: value for name, value in stand_ins.items() if _holds(draft.payload, name)}
        with self._lock:  # two threads must not both take the last of the budget
            if draft.n_bytes:
                self._check_budget(draft.host, draft.n_bytes)
            self.ledger.append(
                replace(draft, stands_for=stands_for, rule=cause.rule, episode=self.purpose, step=cause.step)
            )

    def _particulars(self, host: str) -> Host:
        return self._hosts.get(host, _NO_HOST)

    def _is_private_fine(self, host: str) -> bool:
        return is_local_name(host) or self._particulars(host).private


@dataclass(frozen=True, slots=True)
class EgressOnBehalf:
    """A `protocols.Egress` for one call: what it sends is checked against the labels of what the call was given."""

    egress: Egress
    cause: Cause

    def transport(self, reason: str, *, is_web: bool = False) -> httpx.BaseTransport:
        return _transport(self.egress, reason, self.cause, is_web)

    def permit(self, host: str, port: int, reason: str) -> contextlib.AbstractContextManager[None]:
        return self.egress._permitted(host, port, reason, self.cause)

    def record(self, host: str, payload: bytes, reason: str, *, tls: str = "") -> None:
        self.egress._record(host, payload, reason, tls, self.cause)

    def tls(self, host: str) -> ssl.SSLContext:
        return self.egress.tls(host)

    def spent(self, host: str, n_tokens: int, reason: str) -> None:
        self.egress._spent(host, n_tokens, reason, self.cause)

    def on_behalf(self, cause: Cause) -> EgressOnBehalf:
        return EgressOnBehalf(self.egress, cause)


_NO_HOST = Host()


def _transport(egress: Egress, reason: str, cause: Cause, is_web: bool) -> httpx.BaseTransport:
    from hearth.guard.egress.transport import (
        CheckedTransport,  # httpx costs a start 0.2 s, and most starts send nothing
    )

    return CheckedTransport(egress, reason, cause, is_web=is_web)


def _kept_from(host: str, label: Label, may_read: Sequence[str]) -> frozenset[str]:
    """The sources of `label` that `host` may not read. The owner was told that this plan uses the owner's own words."""
    if label.readers is None or host in label.readers:
        return frozenset()
    return label.sources - {"owner", "web", *may_read}


def _readable_by_all(host: str) -> EgressError:
    return EgressError(
        f"plain http to {host!r} was refused, nothing was sent: anybody on the way could read it; write https://"
    )


def _holds(payload: bytes, stand_in: str) -> bool:
    return stand_in.encode() in payload or json.dumps(stand_in)[1:-1].encode() in payload


def _trust(context: ssl.SSLContext, ca_file: str, host: str) -> None:
    try:
        context.load_verify_locations(cafile=Path(ca_file).expanduser())
    except OSError as error:  # ssl.SSLError is one
        raise ConfigError(
            f'[network.host."{host}"] ca_file: cannot use {ca_file!r} ({error.strerror or error}); expected a PEM file '
            "with the certificate of an authority"
        ) from None
