"""Record which cloud this device joined, under which identity, and keep the token that proves it.

The address, the service's key and this device's name for itself stand in the database (`edge_link`); the token stands
alone in the file `edge/token` of the home, which only the owner can read, and in no setting, log, message or ledger.
The database holds a keyed hash of the token: a token of another cloud is never sent to this one. The key is the one
shown and agreed to when joining: a service with another key is not believed later.

Covered: an address that anybody on the way could read; a token file that others can read; a kill while joining (one of
the clouds is joined, with its own token); a home that was copied to another machine or folder, which gets a name of its
own, so that the service notices two agents with one identity.
Not covered: a clone of a whole machine, folder and all (both have one name); who stands behind the key at the first
time (compare its fingerprint with what the service's keeper says); backups hold the token, encrypted.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import datetime as dt
import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from hearth.atomic_files import replacing, sync_folder
from hearth.config import Settings, host_and_port, parse_settings, read_settings
from hearth.config.settings_edit import TomlValue, with_values
from hearth.errors import ConfigError, StoreFullError, WireError
from hearth.guard.egress.audit_hook import as_address, is_local_name, is_public
from hearth.storage.database import Store

# ── The settings of a joined cloud ─────────────────────────────────────────────────────────────────────


def is_allowed(settings: Settings, entry: str) -> bool:
    """Say whether `host:port` may be reached already."""
    allowed = {host_and_port(one) for one in settings.network.allow}
    host, port = host_and_port(entry)
    return (host, port) in allowed or (host, 0) in allowed


def change(path: Path, entry: str, edge: Mapping[str, bool | Sequence[str]]) -> bool:
    """Let `entry` (`host:port`) be reached, and write `[edge]`; return whether anything had to be changed.

    Args:
        edge: Keys of `[edge]` with their values; none leaves the table as it is.
    Raises:
        ConfigError: The file is wrong, or cannot be changed without guessing: says what to write. StoreFullError.
    """
    before = read_settings(path)
    text = path.read_text(encoding="utf-8-sig")
    values: dict[tuple[str, ...], TomlValue | None] = {}
    if not is_allowed(before, entry):
        values[("network", "allow")] = [*before.network.allow, entry]
    now = before.edge.model_dump(mode="json")
    for key, value in edge.items():
        wanted = value if isinstance(value, bool) else list(value)
        if now[key] != wanted:
            values[("edge", key)] = wanted
    after = with_values(path, text, values)
    if after == text:
        return False
    parse_settings(after, path)
    with replacing(path, keeps_mode=True) as file:
        file.write(after.encode())
    return True


# ── Joining ────────────────────────────────────────────────────────────────────────────────────────────


MAX_TOKEN_CHARACTERS = 4096
_MACHINE_FILE = Path("/etc/machine-id")


@dataclass(frozen=True, slots=True)
class Joined:
    """The cloud this device joined."""

    url: str
    """The service's address, without a slash at its end."""
    server: str
    """The service's name for itself."""
    public_key: str
    """Ed25519, base64 of 32 bytes."""
    instance: str
    """This device's own name there, drawn at random."""
    joined_at: str
    heard_at: str = ""
    """Time of the last good answer, by this device's clock; empty when there was none since joining."""
    fault: str = ""
    """The last fault; empty when there was none."""

    @property
    def host(self) -> str:
        return httpx.URL(self.url).host


def checked_url(text: str) -> str:
    """Return a service's address in the form it is kept in.

    Raises:
        ConfigError: No address, or one that anybody on the way could read: only https, except on this machine and
            network.
    """
    try:
        url = httpx.URL(text.strip())
        host, port = url.host, url.port
    except (httpx.InvalidURL, TypeError, ValueError):
        url, host, port = httpx.URL(""), "", None
    if url.scheme not in ("http", "https") or not host or not 0 < (port or 443) < 65536:
        raise ConfigError(f"{text!r} is no address of a service; write one such as 'https://hearth.example.org'")
    if url.userinfo or url.query or url.fragment:
        raise ConfigError(f"{text!r} holds more than an address; leave out what is before @ or behind ? and #")
    private = is_local_name(host) and not is_public(host)
    if url.scheme == "http" and not private:
        raise ConfigError(
            f"plain http to {host!r} was refused, nothing was sent: anybody on the way could read the token; write "
            "'https://…' (http is for this machine and this house alone)"
        )
    shown = f"[{host}]" if as_address(host) is not None and ":" in host else host
    return f"{url.scheme}://{shown}{f':{port}' if port else ''}{url.path.rstrip('/')}"


def fingerprint(public_key: str) -> str:
    """Return the key's SHA-256 as people compare it: `4f1a 09c2 …`.

    Raises:
        WireError: It is no Ed25519 key.
    """
    try:
        raw = base64.b64decode(public_key, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 32:
        raise WireError(f"{public_key[:60]!r} is no Ed25519 key; expected 32 bytes in base64; this is no Hearth cloud")
    digest = hashlib.sha256(raw).hexdigest()[:32]
    return " ".join(digest[k : k + 4] for k in range(0, 32, 4))


# ── What is kept ──────────────────────────────────────────────────────────────────────────────────────────


def joined(store: Store, home: Path) -> Joined | None:
    """Return the cloud this device joined; None before. A home that was moved or copied since gets a new name."""
    rows = store.query("SELECT * FROM edge_link")
    if not rows:
        return None
    row = rows[0]
    instance = row["instance"]
    if row["machine"] != (machine := _machine(home)):
        instance = _drawn()
        with store.transaction() as cursor:
            cursor.execute("UPDATE edge_link SET instance = ?, machine = ?", (instance, machine))
    return Joined(
        row["url"], row["server"], row["public_key"], instance, row["joined_at"], row["heard_at"], row["fault"]
    )


def name_for(store: Store, home: Path, url: str, public_key: str) -> str:
    """Return this device's name at a service: the one it has there already, else a new one."""
    known = joined(store, home)
    if known is not None and (known.url, known.public_key) == (url, public_key):
        return known.instance
    return _drawn()


@dataclass(frozen=True, slots=True)
class Cloud:
    """A cloud that may be joined, as it said hello."""

    url: str
    server: str
    """The service's name for itself."""
    public_key: str


def join(store: Store, home: Path, cloud: Cloud, instance: str, token: str, now: dt.datetime) -> Joined:
    """Record a cloud as joined, replacing an earlier one, with its token.

    The token is written beside the old one, the database takes both over, then the file takes its place: after a kill
    in between, the next reader finishes that.

    Raises:
        ConfigError: A token that cannot be one. StoreError: Nothing was joined, or the token stands beside its place.
    """
    url, server, public_key = cloud.url, cloud.server, cloud.public_key
    fresh = _write_fresh(home, token)
    found = Joined(url, server, public_key, instance, now.isoformat(timespec="seconds"))
    with store.transaction() as cursor:
        before = cursor.execute("SELECT url, public_key, secret FROM edge_link").fetchone()
        same = before is not None and (before["url"], before["public_key"]) == (url, public_key)
        secret: bytes = before["secret"] if same else secrets.token_bytes(32)  # ids stay what they were there
        cursor.execute("DELETE FROM edge_link")
        cursor.execute("DELETE FROM outbox_pace")
        if before is not None and not same:  # what one cloud knew says nothing of another
            cursor.execute("DELETE FROM edge_taken")
            # What waited was masked and named for the other cloud; what is learnt here is noted anew for this one.
            cursor.execute("DELETE FROM outbox WHERE kind <> 'question' OR state <> 'waiting'")
        cursor.execute(
            "INSERT INTO edge_link (number, url, server, public_key, instance, machine, secret, token_mac, joined_at) "
            "VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(url, server[:200], public_key, found.instance, _machine(home)),
                *(secret, _mac(secret, token), found.joined_at),
            ),
        )
    _into_place(home, fresh)
    return found


def leave(store: Store, home: Path) -> int:
    """Forget the cloud, the token and everything that waits for it; return how many messages that were.

    Raises:
        StoreError: Only the token was forgotten.
    """
    for path in (token_file(home), _fresh_file(home)):
        path.unlink(missing_ok=True)
    with store.transaction() as cursor:
        n: int = cursor.execute("SELECT count(*) FROM outbox WHERE state = 'waiting'").fetchone()[0]
        for table in ("edge_link", "edge_taken", "outbox", "outbox_pace", "outbox_dropped", "cloud_answer"):
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - one of six names
    return n


def note_heard(store: Store, now: dt.datetime, fault: str = "") -> None:
    """Record that the cloud answered well now, or what was wrong."""
    with store.transaction() as cursor:
        if fault:
            cursor.execute("UPDATE edge_link SET fault = ?", (fault[:500],))
        else:
            cursor.execute("UPDATE edge_link SET fault = '', heard_at = ?", (now.isoformat(timespec="seconds"),))


def _drawn() -> str:
    return f"edge-{secrets.token_hex(12)}"


def _machine(home: Path) -> str:
    """Return a hash that identifies this machine and folder; it changes when the home is copied or moved."""
    try:
        machine = _MACHINE_FILE.read_text().strip()
    except OSError:
        machine = ""
    return hashlib.sha256(f"{machine}\n{home.resolve()}".encode(errors="surrogateescape")).hexdigest()


# ── The token ─────────────────────────────────────────────────────────────────────────────────────────────


def token_file(home: Path) -> Path:
    """Return the path of the token's file."""
    return home / "edge" / "token"


def checked_token(text: str) -> str:
    """Check a token that was typed or read. Raises: ConfigError: It cannot be one; the message does not hold it."""
    token = text.strip()
    if not token or len(token) > MAX_TOKEN_CHARACTERS or not token.isascii() or not token.isprintable() or " " in token:
        what = "empty" if not token else "no token"
        raise ConfigError(
            f"what was given as token is {what}; expected one line of letters and digits, as the service's keeper "
            "gave it to you"
        )
    return token


def kept_token(store: Store, home: Path) -> Callable[[], str]:
    """Return a function that reads the token when it is needed; no variable holds it for longer than a request.

    That function raises:
        ConfigError: There is none, others can read it, or it is not the one that this cloud was joined with.
    """

    def read() -> str:
        fresh = _fresh_file(home)
        if fresh.exists() and _is_joined_with(store, fresh):
            _into_place(home, fresh)  # a kill while joining had left it
        if _is_joined_with(store, token_file(home)):
            return _read(token_file(home))
        raise ConfigError(
            f"the token in {str(token_file(home))!r} is not the one that this cloud was joined with, nothing was sent; "
            "join again with `hearth edge join`"
        )

    return read


def finish(store: Store, home: Path) -> None:
    """Finish a joining that was killed after the database had it. Raises: ConfigError, StoreFullError."""
    if _fresh_file(home).exists() and _is_joined_with(store, _fresh_file(home)):
        _into_place(home, _fresh_file(home))


def _is_joined_with(store: Store, path: Path) -> bool:
    """Say whether a file holds the token of the joined cloud. Raises: ConfigError: It cannot be used."""
    token = _read(path)
    rows = store.query("SELECT secret, token_mac FROM edge_link")
    return bool(rows) and hmac.compare_digest(_mac(rows[0]["secret"], token), rows[0]["token_mac"])


def _mac(secret: bytes, token: str) -> bytes:
    return hmac.digest(secret, b"token " + token.strip().encode(), "sha256")


def _fresh_file(home: Path) -> Path:
    """Return the path where a token stands before the database knows of it."""
    return token_file(home).with_name("token.new")


def _write_fresh(home: Path, token: str) -> Path:
    """Write the token where only the owner can read it. Raises: ConfigError, StoreFullError: The old one stays."""
    path = _fresh_file(home)
    said = checked_token(token) + "\n"
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.unlink(missing_ok=True)
        with open(path, "w", encoding="ascii", opener=_private) as file:
            file.write(said)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        raise StoreFullError(f"cannot write {str(path)!r}: {error.strerror}; nothing was joined") from None
    return path


def _into_place(home: Path, fresh: Path) -> None:
    """Move the new token into its place. Raises: StoreFullError: It stays beside, where it is found, too."""
    try:
        fresh.replace(token_file(home))
        sync_folder(fresh.parent)
    except OSError as error:
        raise StoreFullError(
            f"cannot write {str(token_file(home))!r}: {error.strerror}; the cloud is joined, its token stands beside"
        ) from None


def _read(path: Path) -> str:
    """Read and check a token file. Raises: ConfigError."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise ConfigError(
            f"cannot read the cloud's token in {str(path)!r} ({error.strerror}); join again with `hearth edge join`"
        ) from None
    if mode & 0o077:
        raise ConfigError(
            f"others can read the cloud's token in {str(path)!r} (mode {mode:o}), nothing was sent; run "
            f"`chmod 600 {path}`, and ask for a new token if others use this machine"
        )
    return checked_token(text)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL, 0o600)
