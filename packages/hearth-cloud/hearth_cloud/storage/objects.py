"""Bytes outside the database: objects in any S3-compatible store, in a folder, or (for tests) in memory.

An object is written once under a name that is never used again, and read whole. What is in it is checked by whoever
reads it (`Storage.read_blob` compares its hash), so half an object is noticed. Nothing here lists or guesses names: the
database knows them all.

Covered: a store that is slow or gone (`StoreError` after the time limits below), a name that is not there. Not covered:
encryption and access to the bucket, which the store's own settings do; connections are the library's own, past the
network door of Hearth's own process.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import from_url

from hearth.errors import ConfigError, NotFound, StoreError

_CONNECT, _ANSWER = "5s", "60s"
_RETRIES, _RETRY_FOR_S = 3, 30.0


class Objects:
    """The objects of one service. May be used from several threads."""

    def __init__(self, store: obstore.store.ObjectStore) -> None:
        """Use `open`; or hand over any store of the library's."""
        self._store = store

    @classmethod
    def open(cls, url: str, endpoint: str = "") -> Objects:
        """Open a store; nothing is asked of it yet.

        Args:
            url: `s3://BUCKET/PREFIX` (credentials from the environment, as for all S3 clients), `gs://`, `az://`,
                `file:///FOLDER`, `memory:///`.
            endpoint: Address of an S3-compatible store that is not Amazon's.
        Raises:
            ConfigError: No such address.
        """
        options: dict[str, object] = {}
        if url.startswith(("s3:", "gs:", "az:")):
            options["client_options"] = {
                "connect_timeout": _CONNECT,
                "timeout": _ANSWER,
                "allow_http": endpoint.startswith("http://"),
            }
            options["retry_config"] = {
                "max_retries": _RETRIES,
                "retry_timeout": dt.timedelta(seconds=_RETRY_FOR_S),
            }
        if endpoint:
            options["endpoint"] = endpoint
        elif url.startswith("file:"):
            options["mkdir"] = True
        try:
            return cls(from_url(url, **options))  # type: ignore[call-overload]
        except (BaseError, ValueError, TypeError) as error:
            raise ConfigError(
                f"objects under [service] cannot be opened ({_said(error)}); expected 's3://BUCKET/PREFIX', with "
                "`objects_endpoint` for a store that is not Amazon's, or 'file:///FOLDER'"
            ) from None

    def put(self, name: str, data: bytes) -> None:
        """Write an object. Raises: StoreError: It may or may not be there."""
        try:
            obstore.put(self._store, name, data)
        except BaseError as error:
            raise _as_ours(error) from None

    def get(self, name: str) -> bytes:
        """Read an object. Raises: NotFound, StoreError."""
        try:
            return bytes(obstore.get(self._store, name).bytes())
        except (NotFoundError, FileNotFoundError):
            raise NotFound(f"no object {name!r} in the object store; it was deleted there") from None
        except BaseError as error:
            raise _as_ours(error) from None

    def drop(self, names: Sequence[str]) -> None:
        """Delete objects, those that are there. Raises: StoreError: Some may be left."""
        for name in names:
            try:
                obstore.delete(self._store, name)
            except (NotFoundError, FileNotFoundError):
                continue
            except BaseError as error:
                raise _as_ours(error) from None

    def ping(self) -> None:
        """Check that the store answers and may be read. Raises: StoreError."""
        try:
            obstore.head(self._store, "hearth-is-here")
        except (NotFoundError, FileNotFoundError):
            return
        except BaseError as error:
            raise _as_ours(error) from None


def _as_ours(error: BaseError) -> StoreError:
    return StoreError(f"the service's object store failed ({_said(error)}); check that it runs and may be reached")


def _said(error: Exception) -> str:
    """Return an error's first line, short: the rest of it repeats requests."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
