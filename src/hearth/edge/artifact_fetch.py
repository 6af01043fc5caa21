"""Fetch what the cloud offers by its hash, and accept it only when signed by the key this device joined with.

A manifest says what there is (`prior`, `adapter`); the bytes come from `/v1/blobs/SHA256`, and a broken download is
resumed. They lie under `edge/taken/` of the home and are applied only by the owner's `hearth learn prior` and `hearth
adapters take`, behind their gate; nothing is ever pushed.

Covered: another size, another hash, another signature, a manifest that is older than one taken before (even a signed
one: a replay), a kill at any moment (a half file is resumed or thrown away), a full disk, more bytes than announced, a
file changed after it was taken (`taken` checks its hash again), a device whose profile has changed (priors of other
features are numbered apart). Not covered: whether what was signed is any good, which the gate decides; whether it fits
this device's features, which `learn` decides.
"""

from __future__ import annotations

import datetime as dt
import errno
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hearth.atomic_files import sync_folder
from hearth.edge.cloud_link import Link
from hearth.errors import LinkError, StoreFullError, WireError
from hearth.formats import edge_protocol
from hearth.storage.database import Store

TakenKind = Literal["prior", "adapter"]
MAX_BYTES: Mapping[TakenKind, int] = {"prior": 2_000_000_000, "adapter": edge_protocol.MAX_ADAPTER_BYTES}
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Taken:
    """Something of the cloud's that lies here, whole and signed."""

    path: Path
    manifest: edge_protocol.Manifest


def taken(store: Store, home: Path, kind: TakenKind) -> Taken | None:
    """Return the last artifact fetched of this kind, its hash and signature checked again; None where there is none.

    Raises:
        WireError: It is not what was fetched: changed, cut off or gone.
    """
    rows = store.query("SELECT manifest_json, public_key FROM edge_taken, edge_link WHERE edge_taken.kind = ?", (kind,))
    if not rows:
        return None
    manifest = edge_protocol.read(edge_protocol.Manifest, str(rows[0]["manifest_json"]).encode())
    manifest.check(rows[0]["public_key"])
    path = folder(home) / manifest.sha256
    if not _is_whole(path, manifest):
        raise WireError(f"the {kind} in {str(path)!r} is not what was fetched; fetch it again with `hearth edge sync`")
    return Taken(path, manifest)


@dataclass(frozen=True, slots=True)
class Wanted:
    """An artifact that is to be fetched."""

    kind: TakenKind
    profile: str = ""
    """This device's profile; the service chooses when left out."""
    most_bytes: int | None = None
    """Larger ones are not taken; `MAX_BYTES` where left out."""


def fetch(
    link: Link, store: Store, home: Path, wanted: Wanted, public_key: str, clock: Callable[[], dt.datetime]
) -> Taken | None:
    """Fetch the cloud's artifact of this kind if it is newer than the one here; None where the cloud has none.

    Called again after an interruption, it resumes where it stopped.

    Raises:
        LinkError: Not reached, or cut off. WireError: Not signed, older than before, or not the bytes that were
            announced; what lies here stays. StoreFullError: No space; what lies here stays.
    """
    kind = wanted.kind
    manifest = link.manifest(kind, wanted.profile)
    if manifest is None:
        return None
    manifest.check(public_key)
    if manifest.kind != kind:
        raise WireError(f"asked for was: {kind}, offered was: {manifest.kind}; nothing was taken")
    before = store.query("SELECT serial, sha256, manifest_json FROM edge_taken WHERE kind = ?", (kind,))
    known = (before[0]["serial"], before[0]["sha256"]) if before else (-1, "")
    if (
        before
        and edge_protocol.read(edge_protocol.Manifest, str(before[0]["manifest_json"]).encode()).fingerprint
        != manifest.fingerprint
    ):
        known = (-1, "")  # numbered apart: this device's profile has changed
    if (manifest.serial, manifest.sha256) != known and manifest.serial <= known[0]:
        raise WireError(
            f"the {kind} offered has the number {manifest.serial}, and number {known[0]} was taken before; an older "
            "one is not taken; ask the service's keeper"
        )
    most_bytes = MAX_BYTES[kind] if wanted.most_bytes is None else wanted.most_bytes
    if manifest.n_bytes > most_bytes:
        raise WireError(f"the {kind} has {manifest.n_bytes:,} bytes, at most {most_bytes:,} are taken; it stays there")
    path = folder(home) / manifest.sha256
    if not _is_whole(path, manifest):
        _download(link, manifest, path)
    at = clock().isoformat(timespec="seconds")
    with store.transaction() as cursor:
        cursor.execute(
            "INSERT OR REPLACE INTO edge_taken (kind, serial, sha256, manifest_json, at) VALUES (?, ?, ?, ?, ?)",
            (kind, manifest.serial, manifest.sha256, manifest.model_dump_json(), at),
        )
    _sweep(store, home)
    return Taken(path, manifest)


def folder(home: Path) -> Path:
    """Return the folder of fetched artifacts."""
    return home / "edge" / "taken"


def _download(link: Link, manifest: edge_protocol.Manifest, path: Path) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        have = part.stat().st_size if part.exists() else 0
        if have > manifest.n_bytes:
            part.unlink()
            have = 0
        if have < manifest.n_bytes:
            _carry_on(link, manifest, part, have)
        if not _is_whole(part, manifest):
            part.unlink(missing_ok=True)
            raise WireError(
                f"the bytes of the {manifest.kind} are not those its manifest says (SHA-256 {manifest.sha256[:12]}…); "
                "they were thrown away; try again, and ask the service's keeper if it stays so"
            )
        part.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFullError(
                f"no space left for the {manifest.kind} ({manifest.n_bytes:,} bytes) in {str(path.parent)!r}; what was "
                "there stays; make room and try again"
            ) from None
        raise StoreFullError(f"cannot write {str(part)!r}: {error.strerror}; what was there stays") from None


def _carry_on(link: Link, manifest: edge_protocol.Manifest, part: Path, have: int) -> None:
    """Fetch the bytes that are missing. Raises: LinkError: Cut off; what came is kept."""
    try:
        with link.blob(manifest.sha256, have) as (start, chunks), open(part, "ab" if start else "wb") as file:
            n_bytes = start
            try:
                for chunk in chunks:
                    n_bytes += len(chunk)
                    if n_bytes > manifest.n_bytes:
                        raise WireError(
                            f"more bytes came than the {manifest.kind}'s manifest says ({manifest.n_bytes:,}); the "
                            "rest was not read"
                        )
                    file.write(chunk)
            finally:
                file.flush()
                os.fsync(file.fileno())
    except LinkError as error:
        if error.status == 416:
            part.unlink(missing_ok=True)
        raise
    except WireError:
        part.unlink(missing_ok=True)
        raise
    if n_bytes < manifest.n_bytes:
        raise LinkError(
            f"the {manifest.kind} was cut off after {n_bytes:,} of {manifest.n_bytes:,} bytes; it is carried on next "
            "time",
            code="away",
        )


def _is_whole(path: Path, manifest: edge_protocol.Manifest) -> bool:
    """Say whether a file has the announced size and hash."""
    try:
        if path.stat().st_size != manifest.n_bytes:
            return False
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
    except FileNotFoundError:
        return False
    return digest.hexdigest() == manifest.sha256


def _sweep(store: Store, home: Path) -> None:
    """Remove files that the database no longer names."""
    named = {row[0] for row in store.query("SELECT sha256 FROM edge_taken")}
    for path in folder(home).iterdir():
        if path.name.removesuffix(".part") not in named:
            path.unlink(missing_ok=True)
