"""Connections to an SMTP server whose answers end: in lines, in bytes and in time.

Covered: an answer of too many lines or bytes, one that comes a byte at a time, many slow ones.
Not covered: what the server does with a mail that it took.
"""

from __future__ import annotations

import smtplib
import time

MAX_REPLY_LINES = 200
"""A server with many extensions tells of some twenty."""
MAX_REPLY_BYTES = 64_000
_MORE = b"-"


class BoundedSMTP(smtplib.SMTP):
    """An SMTP connection that ends one that does not answer properly."""

    answer_s: float = 30.0
    """Longest that one answer may take, the greeting included: some servers keep strangers waiting."""
    ends_at_s: float = float("inf")
    """Monotonic time by which every answer must be there."""

    def getreply(self) -> tuple[int, bytes]:
        """Read one answer. Raises: SMTPServerDisconnected: It is too long, comes too slowly, or there is none."""
        return _reply(self, min(self.ends_at_s, time.monotonic() + self.answer_s))


class BoundedSMTPOverTLS(smtplib.SMTP_SSL):
    """The same, over TLS from the start."""

    answer_s: float = 30.0
    """As `BoundedSMTP.answer_s`."""
    ends_at_s: float = float("inf")
    """As `BoundedSMTP.ends_at_s`."""

    def getreply(self) -> tuple[int, bytes]:
        """As `BoundedSMTP.getreply`."""
        return _reply(self, min(self.ends_at_s, time.monotonic() + self.answer_s))


def _reply(connection: smtplib.SMTP, until_s: float) -> tuple[int, bytes]:
    """Read one answer, which must be there whole by a monotonic time."""
    sock = connection.sock
    if sock is None:
        raise smtplib.SMTPServerDisconnected("please run connect() first")
    if connection.file is None:
        connection.file = sock.makefile("rb")
    timeout_s = sock.gettimeout()
    said: list[bytes] = []
    code, n_bytes, is_over = -1, 0, False
    try:
        while not is_over:
            line = b""
            while not line.endswith(b"\n"):
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    raise smtplib.SMTPServerDisconnected("its answer did not come in time")
                sock.settimeout(left_s)
                byte = connection.file.read(1)
                if not byte:
                    raise smtplib.SMTPServerDisconnected("it ended the connection")
                line, n_bytes = line + byte, n_bytes + 1
                if n_bytes > MAX_REPLY_BYTES or len(said) >= MAX_REPLY_LINES:
                    raise smtplib.SMTPServerDisconnected("its answer does not end")
            said.append(line[4:].strip(b" \t\r\n"))
            code = int(line[:3]) if line[:3].isdigit() else -1
            is_over = code == -1 or line[3:4] != _MORE
        sock.settimeout(timeout_s)
    except OSError as error:
        connection.close()
        if isinstance(error, smtplib.SMTPServerDisconnected):
            raise
        raise smtplib.SMTPServerDisconnected(f"its answer did not come: {error}") from None
    return code, b"\n".join(said)
