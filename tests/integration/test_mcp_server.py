"""What a client of the `mcp` package gets from a home, over HTTP and over standard input and output, in both eras."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from hearth.serve.programs import mcp_server
from tests import ROOT
from tests.served_home import ASKS, READS, Served, made, served, until

ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])
Use = Callable[[Client], Awaitable[Any]]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(made(tmp_path_factory.mktemp("mcp") / "home")) as running:
        yield running


@pytest.fixture(scope="module")
def tokens(up: Served) -> dict[str, str]:
    return {
        "reads": up.token("reads"),
        "changes": up.token("changes", may_change=True),
        "answers": up.token("answers", may_change=True, may_answer=True),
        "looks": up.token("looks", may_look=True),
    }


class User:
    """Answers questions in the client, and keeps them."""

    def __init__(self, action: str = "accept", content: dict[str, Any] | None = None) -> None:
        self.action = action
        self.content = content
        self.questions: list[str] = []

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        self.questions.append(params.message)
        assert set(params.requested_schema["properties"]) == {"approve"}
        return types.ElicitResult(action=self.action, content=self.content)  # type: ignore[arg-type]


def over_http(up: Served, token: str, use: Use, mode: str = "auto", user: User | None = None) -> Any:
    async def run() -> Any:
        headers = {"authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http:
            transport = streamable_http_client(f"{up.address}/mcp", http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=user, read_timeout_seconds=30) as client:
                return await use(client)

    return asyncio.run(run())


def over_stdio(
    home: Path, use: Use, mode: str = "auto", user: User | None = None, options: tuple[str, ...] = ()
) -> Any:
    async def run() -> Any:
        process = StdioServerParameters(
            command=sys.executable, args=["-m", "tests.mcp_home", str(home), *options], cwd=str(ROOT), env=environment()
        )
        async with Client(process, mode=mode, elicitation_callback=user, read_timeout_seconds=60) as client:
            return await use(client)

    return asyncio.run(run())


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


def call(name: str, **arguments: Any) -> Use:
    async def use(client: Client) -> Any:
        return await client.call_tool(name, arguments)

    return use


def do(request: str = ASKS) -> Use:
    return call("do", request=request)


@ERAS
def test_tools_and_resources(up: Served, tokens: dict[str, str], mode: str) -> None:
    async def use(client: Client) -> Any:
        tools = (await client.list_tools()).tools
        resources = (await client.list_resources()).resources
        status = await client.call_tool("status", {})
        history = await client.read_resource("hearth://history")
        ledger = await client.read_resource("hearth://ledger")
        return tools, resources, status, history.contents[0].text, ledger.contents[0].text  # type: ignore[union-attr]

    tools, resources, status, history, ledger = over_http(up, tokens["reads"], use, mode)
    assert [tool.name for tool in tools] == ["do", "plan", "ask_memory", "status"]
    assert [tool.annotations.read_only_hint for tool in tools] == [False, True, True, True]
    assert list(tools[0].input_schema["properties"]) == ["request"]
    assert {str(one.uri) for one in resources} == {"hearth://history", "hearth://ledger"}
    assert status.structured_content["is_asked"] is False
    assert isinstance(json.loads(history), list)
    assert json.loads(ledger) == {"whole": True, "entries": []}


def test_a_program_sees_what_it_asked_and_nothing_of_others_unless_it_may_look(
    up: Served, tokens: dict[str, str]
) -> None:
    async def use(client: Client) -> Any:
        asked = (await client.call_tool("do", {"request": READS})).structured_content
        history = await client.read_resource("hearth://history")
        return asked["episode"], [one["id"] for one in json.loads(history.contents[0].text)]  # type: ignore[union-attr]

    def episodes(token: str) -> list[str]:
        return over_http(up, tokens[token], use)[1]  # type: ignore[no-any-return]

    mine, seen = over_http(up, tokens["changes"], use)
    assert mine in seen
    assert mine not in episodes("reads")
    assert mine in episodes("looks")


@ERAS
def test_reading_asks_nothing(up: Served, tokens: dict[str, str], mode: str) -> None:
    user = User()
    done = over_http(up, tokens["answers"], do(READS), mode, user).structured_content
    assert done["status"] == "done"
    assert done["episode"]
    planned = over_http(up, tokens["reads"], call("plan", request=ASKS), mode).structured_content
    assert planned["task_nodes"][0]["task"] == "add_note"
    found = over_http(up, tokens["reads"], call("ask_memory", question="Who serviced the boiler?"), mode)
    assert found.structured_content["status"] == "done", found
    assert user.questions == []
    assert up.notes == []


@ERAS
def test_the_user_of_the_client_is_asked(up: Served, tokens: dict[str, str], mode: str) -> None:
    yes = User(content={"approve": True})
    done = over_http(up, tokens["answers"], do(), mode, yes).structured_content
    assert (done["status"], up.notes, len(yes.questions)) == ("done", ["boiler"], 1)
    assert "Boiler" in yes.questions[0]
    up.desk.undo(None).result(20)
    for no in (User(content={"approve": False}), User("decline"), User("cancel")):
        denied = over_http(up, tokens["answers"], do(), mode, no).structured_content
        assert (denied["status"], up.notes, len(no.questions)) == ("denied", [], 1)
    assert up.desk.view.turns == ()


@ERAS
def test_the_page_may_be_quicker(up: Served, tokens: dict[str, str], mode: str) -> None:
    class Slow(User):
        async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
            question = up.desk.view.asked
            assert question is not None
            assert up.desk.answer(question.id, "no")
            return await super().__call__(context, params)

    slow = Slow(content={"approve": True})
    denied = over_http(up, tokens["answers"], do(), mode, slow).structured_content
    assert (denied["status"], up.notes) == ("denied", [])


@ERAS
@pytest.mark.parametrize(("token", "user"), [("changes", User(content={"approve": True})), ("answers", None)])
def test_who_may_not_answer_waits_for_the_page(
    up: Served, tokens: dict[str, str], mode: str, token: str, user: User | None
) -> None:
    with up.answering("once") as asked:
        done = over_http(up, tokens[token], do(), mode, user).structured_content
    assert (asked[0].caller, done["status"], up.notes) == (token, "done", ["boiler"])
    assert user is None or user.questions == []
    up.desk.undo(None).result(20)


@ERAS
def test_who_only_reads_changes_nothing(up: Served, tokens: dict[str, str], mode: str) -> None:
    user = User(content={"approve": True})
    denied = over_http(up, tokens["reads"], do(), mode, user).structured_content
    assert (denied["status"], user.questions, up.notes) == ("denied", [], [])


def test_a_yes_counts_once(up: Served, tokens: dict[str, str]) -> None:
    """The call that holds an answer is sent again word for word: it is a new request, and asked about anew."""
    sent: list[bytes] = []

    async def keep(request: httpx2.Request) -> None:
        if b"approve" in request.content and b"inputResponses" in request.content:
            sent.append(request.content)
            kept.append(dict(request.headers))

    kept: list[dict[str, str]] = []

    async def run() -> None:
        headers = {"authorization": f"Bearer {tokens['answers']}"}
        hooks: Any = {"request": [keep]}
        async with httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False, event_hooks=hooks) as http:
            transport = streamable_http_client(f"{up.address}/mcp", http_client=http)
            user = User(content={"approve": True})
            async with Client(transport, elicitation_callback=user) as client:
                await client.call_tool("do", {"request": ASKS})

    asyncio.run(run())
    assert up.notes == ["boiler"]
    up.desk.undo(None).result(20)
    headers = {key: value for key, value in kept[0].items() if key != "content-length"}
    again = httpx.post(f"{up.address}/mcp", content=sent[0], headers=headers, timeout=30)
    assert "inputRequests" in again.text
    assert up.notes == []
    assert up.desk.answer(up.question().id, "no")
    until(lambda: None if up.desk.view.turns else True)


def test_a_question_that_its_client_forgot_makes_way(
    up: Served, tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def leave(client: Client) -> Any:
        return await client.session.call_tool("do", {"request": ASKS}, allow_input_required=True)

    over_http(up, tokens["answers"], leave, user=User())
    assert up.question().caller == "answers"
    monkeypatch.setattr(mcp_server, "_GIVEN_UP_S", 0.0)
    monkeypatch.setattr(mcp_server, "_WAIT_S", 0.05)
    assert over_http(up, tokens["reads"], do(READS)).structured_content["status"] == "done"
    assert up.notes == []


def test_without_a_token_there_is_nothing(up: Served) -> None:
    for headers in ({}, {"authorization": "Bearer wrong"}, {"cookie": "hearth=x", "origin": up.address}):
        assert httpx.post(f"{up.address}/mcp", json={}, headers=headers).status_code in (401, 403)
    with pytest.raises((MCPError, ExceptionGroup)):
        over_http(up, "wrong", do(READS))


def test_a_session_belongs_to_its_token(up: Served, tokens: dict[str, str]) -> None:
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    accepts = {"accept": "application/json, text/event-stream"}
    begun = httpx.post(f"{up.address}/mcp", json=first, headers={**accepts, **bearer(tokens["answers"])})
    session = {"mcp-session-id": begun.headers["mcp-session-id"]}
    asks = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    for token, code in (("answers", 200), ("reads", 404)):
        headers = {**accepts, **session, **bearer(tokens[token])}
        assert httpx.post(f"{up.address}/mcp", json=asks, headers=headers).status_code == code


INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_strange_messages_are_no_fault_of_ours(up: Served, tokens: dict[str, str]) -> None:
    calls: tuple[Any, ...] = (
        {},
        {"name": "do"},
        {"name": "do", "arguments": {"request": 7}},
        {"name": "x"},
        {"name": None},
        [],
        "x",
    )
    bodies: list[Any] = [None, [], {}, 7, "x", {"jsonrpc": "2.0", "id": [], "method": 3}]
    bodies += [{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params} for params in calls]
    accepts = {"accept": "application/json, text/event-stream"}
    for version in ("2026-07-28", "2025-06-18", "1999-01-01", "\u00ff"):
        headers = {**accepts, **bearer(tokens["answers"]), "mcp-protocol-version": version.encode("latin-1")}
        for body in bodies:
            answer = httpx.post(f"{up.address}/mcp", json=body, headers=headers)  # type: ignore[arg-type]
            assert answer.status_code < 500, (version, body, answer.text)
    assert up.notes == []


@ERAS
def test_over_stdio_with_an_agent_of_its_own(tmp_path: Path, mode: str) -> None:
    home = made(tmp_path / "home")
    user = User(content={"approve": True})

    async def use(client: Client) -> Any:
        done = await client.call_tool("do", {"request": ASKS})
        read = await client.call_tool("do", {"request": READS})
        empty = await client.call_tool("do", {"request": " "})
        return done.structured_content, read.structured_content, empty

    done, read, empty = over_stdio(home, use, mode, user)
    assert (done["status"], read["status"]) == ("done", "done")
    assert empty.is_error
    assert "a request has 1 to" in empty.content[0].text
    assert len(user.questions) == 1
    assert [path.stem for path in (home / "owner" / "notes").glob("*.md")] == ["boiler"]


@pytest.mark.parametrize(
    ("user", "options"), [(None, ()), (User(content={"approve": True}), ("--read-only",))], ids=["dumb", "read-only"]
)
def test_over_stdio_who_cannot_be_asked_changes_nothing(tmp_path: Path, user: User | None, options: tuple[str]) -> None:
    home = made(tmp_path / "home")
    assert over_stdio(home, do(), user=user, options=options).structured_content["status"] == "denied"
    assert not list((home / "owner").glob("notes/*.md"))


def test_over_stdio_the_home_that_is_up_is_asked(up: Served) -> None:
    user = User(content={"approve": True})
    done = over_stdio(up.house.home, do(), user=user).structured_content
    assert (done["status"], up.notes, len(user.questions)) == ("done", ["boiler"], 1)
    up.desk.undo(None).result(20)
    with up.answering("once") as asked:
        done = over_stdio(up.house.home, do()).structured_content
    assert (done["status"], asked[0].caller) == ("done", "MCP")
    up.desk.undo(None).result(20)
