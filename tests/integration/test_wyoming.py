"""What a client of the `wyoming` package gets from a home that is up."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from wyoming.asr import Transcript
from wyoming.client import AsyncTcpClient
from wyoming.event import Event
from wyoming.handle import Handled, NotHandled
from wyoming.info import Describe, Info
from wyoming.intent import Recognize
from wyoming.ping import Ping, Pong

from hearth.errors import ConfigError
from hearth.serve.house import Address, opened
from hearth.serve.programs import wyoming_service
from tests.served_home import ASKS, READS, Served, made, served, until


def speaking(home: Path, *, may_change: bool) -> Path:
    text = (home / "hearth.toml").read_text()
    more = f"wyoming_port = 0\nwyoming_may_change = {str(may_change).lower()}\n"
    (home / "hearth.toml").write_text(text.replace("[serve]\n", f"[serve]\n{more}"))
    return home


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(speaking(made(tmp_path_factory.mktemp("voice") / "home"), may_change=True)) as running:
        yield running


def port(up: Served) -> int:
    return int(up.house.voice.rpartition(":")[2])


def said(up: Served, *events: Event) -> list[Event]:
    """What is answered to events on one connection."""

    async def run() -> list[Event]:
        async with AsyncTcpClient("127.0.0.1", port(up), read_timeout=20) as client:
            answers = []
            for event in events:
                await client.write_event(event)
                answer = await client.read_event()
                assert answer is not None
                answers.append(answer)
            return answers

    return asyncio.run(run())


def test_it_says_what_it_is(up: Served) -> None:
    info, pong = said(up, Describe().event(), Ping(text="hello").event())
    (program,) = Info.from_event(info).handle
    assert (program.name, program.models[0].languages) == ("hearth", ["en"])
    assert Pong.from_event(pong).text == "hello"


def test_what_is_said_is_done(up: Served) -> None:
    told, recognised, refused, empty = said(
        up, Transcript(READS).event(), Recognize(READS).event(), Transcript("sing").event(), Transcript(" ").event()
    )
    assert Handled.is_type(told.type)
    assert Handled.is_type(recognised.type)
    assert NotHandled.is_type(refused.type)
    assert "no plan is scripted" in (NotHandled.from_event(refused).text or "")
    assert NotHandled.is_type(empty.type)


def test_a_change_waits_for_the_page(up: Served) -> None:
    with up.answering("once") as asked:
        (done,) = said(up, Transcript(ASKS).event())
    assert (asked[0].caller, done.type, up.notes) == ("voice", "handled", ["boiler"])
    up.desk.undo(None).result(20)


def test_nobody_at_the_page(up: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wyoming_service, "PATIENCE_S", 0.2)
    (asked,) = said(up, Transcript(ASKS).event())
    assert "on Hearth's page" in (Handled.from_event(asked).text or "")
    (later,) = said(up, Transcript(READS).event())
    assert "takes longer" in (Handled.from_event(later).text or "")
    assert up.desk.answer(up.question().id, "no")
    until(lambda: None if up.desk.view.turns else True)
    assert up.notes == []


def test_what_is_no_event_ends_its_connection_alone(up: Served) -> None:
    huge = 10**12
    bodies = [
        b"\n",
        b"[]\n",
        b"{}\n",
        b"null\n",
        b"\xff\xff\n",
        b'{"type": 7}\n',
        b"x" * 200_000,
        b'{"type": "transcript"}\n',
        b"[" * 50_000 + b"\n",
    ]
    bodies += [f'{{"type": "transcript", "{key}": {huge}}}\n'.encode() for key in ("data_length", "payload_length")]
    bodies += [b'{"type": "transcript", "data_length": "x"}\n', b'{"type": "transcript", "data": []}\n']
    for body in bodies:
        with socket.create_connection(("127.0.0.1", port(up)), 10) as stream:
            stream.sendall(body)
            stream.shutdown(socket.SHUT_WR)
            stream.settimeout(10)
            with contextlib.suppress(ConnectionResetError):
                assert stream.recv(100) == b"", body
    assert said(up, Ping().event())[0].type == "pong"


def test_only_so_many_at_once(up: Served) -> None:
    streams = [socket.create_connection(("127.0.0.1", port(up)), 10) for _ in range(wyoming_service.MOST_CONNECTIONS)]
    try:
        with socket.create_connection(("127.0.0.1", port(up)), 10) as one_more:
            one_more.settimeout(10)
            assert one_more.recv(1) == b""
    finally:
        for stream in streams:
            stream.close()
    until(lambda: True if said_quietly(up) else None)


def said_quietly(up: Served) -> bool:
    """Whether there is room again."""

    async def run() -> bool:
        async with AsyncTcpClient("127.0.0.1", port(up), read_timeout=5) as client:
            try:
                await client.write_event(Ping().event())
                return await client.read_event() is not None
            except OSError:
                return False

    return asyncio.run(run())


def test_it_only_reads_unless_told(tmp_path: Path) -> None:
    with served(speaking(made(tmp_path / "home"), may_change=False)) as running:
        (denied,) = said(running, Transcript(ASKS).event())
        assert "may only read" in (Handled.from_event(denied).text or "")
        assert running.notes == []


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    home = speaking(made(tmp_path / "home"), may_change=False)
    with socket.create_server(("127.0.0.1", 0)) as other:
        text = (home / "hearth.toml").read_text()
        (home / "hearth.toml").write_text(text.replace("wyoming_port = 0", f"wyoming_port = {other.getsockname()[1]}"))
        with pytest.raises(ConfigError, match="wyoming_port"), opened(home, {}, Address(port=0)):
            pass
