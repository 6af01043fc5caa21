"""Artifacts that edges may download: bytes with a signed manifest, numbered separately for each kind and device
profile.

The newest `N_KEPT` of each are kept, so that a running download can finish while the next is made; older ones are
deleted with their bytes. Only bytes that one of these manifests names can be downloaded: not another edge's
contribution, not the sum of a round.

Covered: two processes that offer at once (one is numbered after the other), an offer that is cut off (all of it or
nothing). Not covered: access control beyond tokens: every edge whose token is valid may download.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hearth.errors import StoreLockedError
from hearth.formats.edge_protocol import Manifest, Profile
from hearth_cloud.storage.cloud_storage import Storage

OfferedKind = Literal["prior", "adapter"]
N_KEPT = 3
_N_TRIES = 5
_PLACES = tuple(f"{kind} {profile}" for kind in get_args(OfferedKind) for profile in get_args(Profile))


@dataclass(frozen=True, slots=True)
class MadeOf:
    """What an artifact was made of, as its manifest says."""

    fingerprint: str
    """Of the model or the features it fits."""
    n_edges: int = 0
    n_demonstrations: int = 0
    epsilon: float | None = None
    """Privacy of its noise; None without noise."""
    delta: float | None = None


def offer(
    storage: Storage,
    key: Ed25519PrivateKey,
    kind: OfferedKind,
    profile: Profile,
    body: bytes,
    made_of: MadeOf,
) -> Manifest:
    """Store bytes, sign a manifest for them, and offer them as the newest of their kind.

    Raises:
        StoreError: Nothing new is offered.
    """
    place = f"{kind} {profile}"
    for _ in range(_N_TRIES):
        serial = storage.last_serial(place) + 1
        manifest = Manifest(
            kind=kind,
            sha256=storage.put_blob(body),
            n_bytes=len(body),
            fingerprint=made_of.fingerprint,
            n_edges=made_of.n_edges,
            n_demonstrations=made_of.n_demonstrations,
            epsilon=made_of.epsilon,
            delta=made_of.delta,
            serial=serial,
            made=storage.now(),
        ).signed(key)
        try:
            storage.put_manifest(place, serial, manifest.model_dump_json(), manifest.sha256, keeps=N_KEPT)
            return manifest
        except sa.exc.IntegrityError:
            continue  # another process took that number, or deleted the same bytes
    raise StoreLockedError(f"others offer a {kind} again and again; try again")


def newest(storage: Storage, kind: OfferedKind, profile: Profile) -> str | None:
    """Return the newest manifest, as it was signed; None if there is none yet."""
    return storage.manifest(f"{kind} {profile}")


def n_offered(storage: Storage, kind: OfferedKind, profile: Profile) -> int:
    """Return the number of artifacts ever offered, including deleted ones."""
    return storage.last_serial(f"{kind} {profile}")


def offered_bytes(storage: Storage, sha256: str) -> int | None:
    """Return the size in bytes of what is offered under this hash; None if nothing is."""
    return storage.named_size(sha256, _PLACES)
