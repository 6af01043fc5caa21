"""Who is let in, and what goes out with every answer."""

from __future__ import annotations

import stat
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hearth.errors import ConfigError, NotFound
from hearth.serve.door import MOST_BODY_BYTES, MOST_GUESSES, Door, Keys

HOST = "127.0.0.1:8470"
ORIGIN = {"origin": f"http://{HOST}"}


class World:
    """An application that says whom it sees, behind its door."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.n_seen = 0
        self.keys = Keys(folder / "serve.keys")
        every = ["GET", "POST"]
        routes = [Route(path, self.say, methods=every) for path in ("/", "/enter", "/v1/models", "/static/page.css")]
        self.door = Door(Starlette(routes=routes), self.keys, frozenset({HOST}), lambda: self.now)

    async def say(self, request: Request) -> Response:
        await request.body()
        self.n_seen += 1
        client = request.scope.get("hearth.client")
        return PlainTextResponse(client.name if client else "page")

    async def ask(
        self, path: str = "/", method: str = "GET", headers: dict[str, str] | None = None, body: bytes = b""
    ) -> httpx.Response:
        transport = httpx.ASGITransport(app=self.door)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            return await client.request(method, path, headers=headers, content=body)

    @property
    def browser(self) -> dict[str, str]:
        return {"cookie": f"{self.keys.cookie_name}={self.keys.cookie}"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_with_the_cookie_a_browser_sees_the_page_and_without_it_nothing(world: World) -> None:
    assert (await world.ask(headers=world.browser)).text == "page"
    refused = await world.ask()
    assert (refused.status_code, world.n_seen) == (401, 1)
    assert "the link that `hearth up` prints" in refused.text
    assert (await world.ask(headers={"cookie": f"{world.keys.cookie_name}=guess"})).status_code == 401
    assert (await world.ask(headers={"cookie": "=; ;;=,"})).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8470", ""])
async def test_another_name_is_turned_away_also_with_the_cookie(world: World, host: str) -> None:
    assert (await world.ask(headers={**world.browser, "host": host})).status_code == 421
    assert world.n_seen == 0


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (ORIGIN, 200),
        ({**ORIGIN, "sec-fetch-site": "same-origin"}, 200),
        ({}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:8471"}, 403),
        ({**ORIGIN, "sec-fetch-site": "cross-site"}, 403),
    ],
)
async def test_only_the_page_itself_changes_something(world: World, headers: dict[str, str], status: int) -> None:
    assert (await world.ask(method="POST", headers={**world.browser, **headers})).status_code == status
    assert world.n_seen == (status == 200)


async def test_a_token_opens_the_protocols_and_no_page_until_it_is_revoked(world: World) -> None:
    token = world.keys.add("cook book", may_change=False)
    program = {"authorization": f"Bearer {token}"}
    assert (await world.ask("/v1/models", headers=program)).text == "cook book"
    assert (await world.ask("/", headers=program)).status_code == 403
    assert (await world.ask("/v1/home/status", headers=program)).status_code == 403
    assert (await world.ask("/v1/models", headers={"authorization": "Bearer wrong"})).status_code == 401
    assert (await world.ask("/v1/models", headers={"authorization": f"Basic {token}"})).status_code == 401
    world.keys.revoke("cook book")
    assert (await world.ask("/v1/models", headers=program)).status_code == 401


async def test_the_homes_own_command_line_is_let_in_by_the_key(world: World) -> None:
    assert (await world.ask("/v1/models", headers={"authorization": f"Bearer {world.keys.key}"})).text == "hearth"


async def test_guessing_is_slowed_and_shuts_nobody_out(world: World) -> None:
    wrong = {"authorization": "Bearer no"}
    for _ in range(MOST_GUESSES):
        assert (await world.ask("/v1/models", headers=wrong)).status_code == 401
    assert (await world.ask("/v1/models", headers=wrong)).status_code == 429
    assert (await world.ask("/v1/models", headers={"authorization": f"Bearer {world.keys.key}"})).status_code == 200
    assert (await world.ask(headers=world.browser)).status_code == 200
    world.now += 61
    assert (await world.ask("/v1/models", headers=wrong)).status_code == 401


@pytest.mark.parametrize("before", ['prefs={"theme":"dark"}; ', "a[b]=c; ", "x=a b; ", "_ga; ", "hearth=other; "])
async def test_cookies_of_other_programs_on_this_machine_hide_nothing(world: World, before: str) -> None:
    assert (await world.ask(headers={"cookie": before + world.browser["cookie"]})).status_code == 200


async def test_another_home_at_another_port_leaves_its_browser_signed_in(world: World, tmp_path: Path) -> None:
    other = Keys(tmp_path / "other.keys")
    browser = httpx.Cookies({world.keys.cookie_name: world.keys.cookie})
    browser.set(other.cookie_name, other.cookie)
    both = "; ".join(f"{name}={value}" for name, value in browser.items())
    assert (await world.ask(headers={"cookie": both})).status_code == 200


async def test_without_its_file_only_the_owner_is_let_in(world: World, tmp_path: Path) -> None:
    token = world.keys.add("x", may_change=False)
    (tmp_path / "serve.keys").unlink()
    assert (await world.ask("/v1/models", headers={"authorization": f"Bearer {token}"})).status_code == 401
    assert (await world.ask(headers=world.browser)).status_code == 200


async def test_bodies_are_bounded_by_what_they_say_and_by_what_they_are(world: World) -> None:
    own = {**world.browser, **ORIGIN}
    assert (await world.ask(method="POST", headers=own, body=b"x" * (MOST_BODY_BYTES + 1))).status_code == 413
    assert (await world.ask(method="POST", headers={**own, "content-length": "no"}, body=b"x")).status_code == 400
    assert world.n_seen == 0
    pieces = iter([b"x" * 600_000, b"x" * 600_000])
    heard: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": next(pieces, b""), "more_body": True}

    async def send(message: dict[str, object]) -> None:
        heard.append(message)

    headers = [(b"host", HOST.encode()), *((k.encode(), v.encode()) for k, v in own.items())]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers, "query_string": b"", "raw_path": b"/"}
    await world.door(scope, receive, send)  # type: ignore[arg-type]
    assert (heard[0]["status"], world.n_seen) == (413, 0)


async def test_nothing_of_others_runs_in_what_goes_out_and_nothing_is_kept(world: World) -> None:
    for answer in (await world.ask(headers=world.browser), await world.ask()):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_file_is_the_owners_alone_and_holds_no_token(world: World, tmp_path: Path) -> None:
    token = world.keys.add("x", may_change=True)
    path = tmp_path / "serve.keys"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token not in path.read_text()
    assert [(c.name, c.may_change) for c in Keys(path).clients] == [("x", True)]
    with pytest.raises(ConfigError, match="'x' is empty or taken"):
        world.keys.add("x", may_change=False)
    with pytest.raises(NotFound, match="no program is called 'y'; known are 'x'"):
        world.keys.revoke("y")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"key": "k", "clients": [{"name": 1}]}', "\x00"])
def test_a_damaged_file_is_said_and_how_to_go_on(tmp_path: Path, text: str) -> None:
    (tmp_path / "serve.keys").write_text(text)
    with pytest.raises(ConfigError, match="delete it, and `hearth up` makes a new key"):
        Keys(tmp_path / "serve.keys")
