"""A server of mail that never ends, or says sizes that nobody has."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

imapclient = pytest.importorskip("imapclient")

from imapclient.exceptions import IMAPClientAbortError  # noqa: E402 - after the check that it is installed

from hearth.tools.mail import bounded_imap  # noqa: E402
from hearth.tools.mail.bounded_imap import MAX_LITERAL_BYTES, BoundedClient, BoundedFile  # noqa: E402


@contextmanager
def served(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """Serve one connection on this machine, and give the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def once() -> None:
            connection, _ = server.accept()
            with connection:
                try:
                    answer(connection)
                except OSError:
                    return

        thread = threading.Thread(target=once, daemon=True)
        thread.start()
        yield server.getsockname()[1]
    thread.join(10)


def client_of(port: int) -> BoundedClient:
    return BoundedClient("127.0.0.1", port, ssl=False, timeout=imapclient.SocketTimeout(5, 5))


def test_lines_without_end_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_imap, "MAX_LINES", 100)

    def flood(connection: socket.socket) -> None:
        connection.sendall(b"* OK hi\r\n")
        connection.recv(100)
        while True:
            connection.sendall(b"* OK more\r\n" * 100)

    with served(flood) as port, pytest.raises(IMAPClientAbortError, match="more than 100 lines"):
        client_of(port)


def test_a_size_that_nobody_has_is_not_believed() -> None:
    def liar(connection: socket.socket) -> None:
        connection.sendall(b"* OK [CAPABILITY IMAP4rev1] hi\r\n")
        for _ in range(3):
            tag, _, said = connection.recv(1000).partition(b" ")
            if said.startswith(b"UID FETCH"):
                connection.sendall(b"* 1 FETCH (UID 1 BODY[] {99999999999}\r\nx")
                return
            connection.sendall(b"* CAPABILITY IMAP4rev1\r\n" + tag + b" OK done\r\n")

    with served(liar) as port:
        client = client_of(port)
        client.login("a", "b")
        client._imap.state = "SELECTED"
        with pytest.raises(IMAPClientAbortError, match="announced 99,999,999,999 bytes"):
            client.fetch([1], ["BODY.PEEK[]"])
        client.shutdown()


def test_what_is_within_the_bounds_is_read() -> None:
    file = BoundedFile(io.BytesIO(b"* OK hi\r\nbody"))
    assert file.readline(100) == b"* OK hi\r\n"
    assert file.read(4) == b"body"
    with pytest.raises(IMAPClientAbortError):
        file.read(MAX_LITERAL_BYTES + 1)
