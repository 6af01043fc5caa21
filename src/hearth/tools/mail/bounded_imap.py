"""An IMAP client that believes no size and reads no end: a hostile server costs a bounded number of lines and bytes.

Covered: a greeting or an answer of lines without end, a literal whose stated size is beyond any mail that is taken. Not
covered: a server that sends a few bytes a second (the call's own time ends it).
"""

from __future__ import annotations

from typing import Any, BinaryIO

from imapclient import IMAPClient
from imapclient.exceptions import IMAPClientAbortError
from imapclient.imap4 import IMAP4WithTimeout
from imapclient.tls import IMAP4_TLS

MAX_LITERAL_BYTES = 64_000_000
"""More than a mail of the greatest size that is fetched, with its headers."""
MAX_LINES = 200_000
"""Lines read on one connection: those of a fetch of 20 mails are some hundred."""


class BoundedFile:
    """What a server sends on one connection, up to `MAX_LINES` lines and literals of `MAX_LITERAL_BYTES`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._n_lines = 0

    def readline(self, limit: int) -> bytes:
        """Return the next line. Raises: IMAPClientAbortError: There were too many."""
        self._n_lines += 1
        if self._n_lines > MAX_LINES:
            raise IMAPClientAbortError(f"it sent more than {MAX_LINES:,} lines")
        return self._file.readline(limit)

    def read(self, size: int) -> bytes:
        """Return so many bytes. Raises: IMAPClientAbortError: It says more than any mail that is taken has."""
        if size > MAX_LITERAL_BYTES:
            raise IMAPClientAbortError(f"it announced {size:,} bytes at once; at most {MAX_LITERAL_BYTES:,} are read")
        return self._file.read(size)

    def close(self) -> None:
        self._file.close()


class _Plain(IMAP4WithTimeout):  # type: ignore[misc]  # the package has no types
    file: Any

    def open(self, *given: Any) -> None:
        super().open(*given)
        self.file = BoundedFile(self.file)


class _Secured(IMAP4_TLS):  # type: ignore[misc]  # the package has no types
    file: Any

    def open(self, *given: Any) -> None:
        super().open(*given)
        self.file = BoundedFile(self.file)


class BoundedClient(IMAPClient):  # type: ignore[misc]  # the package has no types
    """An `IMAPClient` whose connection is bounded from the greeting on."""

    def _create_IMAP4(self) -> _Plain | _Secured:  # noqa: N802 - the package's name for it
        connect_s = self._timeout.connect
        if self.ssl:
            return _Secured(self.host, self.port, self.ssl_context, connect_s)
        return _Plain(self.host, self.port, connect_s)

    def starttls(self, ssl_context: Any = None) -> Any:
        """Secure the connection, bounded as before."""
        said = super().starttls(ssl_context)
        self._imap.file = BoundedFile(self._imap.file)
        return said
