"""Two people under one roof: each sees their own home alone, however they came in."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from hearth import cli
from hearth.errors import ConfigError, DeniedError, NotFound, RequestError
from hearth.memory.facts import NewFact
from hearth.serve import house, members, served
from hearth.serve.desk import Caller
from hearth.serve.door import KEYS_FILE, Keys
from hearth.serve.members import CHALLENGE_S, MEMBERS_FILE, Members, Passkey, Passkeys, Sessions
from hearth.serve.pages.page import PAGES
from hearth.serve.served import Household
from hearth.testing import HashEncoder
from tests.e2e.test_page_quality import THEMES, violations
from tests.served_home import ASKS, READS, made, scripted, until

MIRA, JO = "correct horse", "battery staple"
SECRET = "Jo's diary about the surprise"


@dataclass(frozen=True, slots=True)
class World:
    homes: Household
    members: Members
    folder: Path

    @contextlib.contextmanager
    def browser(self, name: str = "", password: str = "") -> Iterator[httpx.Client]:
        """A browser, signed in where a name is given."""
        with httpx.Client(base_url=self.homes.address, headers={"origin": self.homes.address}) as client:
            if name:
                assert client.post("/sign-in", json={"name": name, "password": password}).json() == {"goto": "/"}
            yield client

    def notes(self, name: str) -> list[str]:
        return sorted(path.stem for path in (self.homes.houses[name].home / "owner" / "notes").glob("*.md"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("household")
    for name in ("mira", "jo"):
        made(folder / name)
    known = Members(folder / "mira" / MEMBERS_FILE)
    known.add("Mira", folder / "mira", MIRA)
    known.add("Jo", folder / "jo", JO)
    with served.opened(folder / "mira", os.environ, host="127.0.0.1", port=0, encoder=HashEncoder(384)) as homes:
        for one in homes.houses.values():
            one.desk.use(scripted).result()
        thread = threading.Thread(target=homes.serve)
        thread.start()
        try:
            until(lambda: (homes.front.started and all(one.server.started for one in homes.houses.values())) or None)
            homes.houses["Jo"].desk.ask(SECRET, Caller("page", is_owner=True)).result(20)
            yield World(homes, known, folder)
        finally:
            homes.stop()
            thread.join(20)


def test_one_homes_setting_keeps_no_others_down(tmp_path: Path) -> None:
    with house.listening_at("127.0.0.1", 0, "") as taken:
        port = taken.getsockname()[1]
        known = Members(tmp_path / "mira" / MEMBERS_FILE)
        for name, password in (("Mira", MIRA), ("Jo", JO)):
            made(tmp_path / name.lower())
            known.add(name, tmp_path / name.lower(), password)
        settings = tmp_path / "jo" / "hearth.toml"
        own = f'phones_host = "127.0.0.1"\nphones_port = {port}\nwyoming_host = "127.0.0.1"\nwyoming_port = {port}\n'
        settings.write_text(re.sub(r"(?m)^\[serve\]\n|\Z", f"[serve]\n{own}", settings.read_text(), count=1))
        opening = served.opened(tmp_path / "mira", os.environ, host="127.0.0.1", port=0, encoder=HashEncoder(384))
        with opening as homes:
            assert set(homes.houses) == {"Mira", "Jo"}
            assert [why.partition(": ")[0] for why in homes.closed] == [
                "Jo's home, for voice satellites",
                "Jo's home, for phones",
            ]
            assert f"cannot listen at 127.0.0.1:{port}" in homes.closed[1]
        with pytest.raises(ConfigError, match="cannot listen"), house.opened(tmp_path / "jo", os.environ):
            pass  # alone, it says so and does not start


def test_nobody_sees_anothers_home(world: World) -> None:
    with world.browser("mira", MIRA) as mira, world.browser("Jo", JO) as jo:
        for _, path in PAGES:
            assert SECRET not in mira.get(path).text.replace("&#39;", "'"), path
        assert SECRET in jo.get("/").text.replace("&#39;", "'")
        episode = world.homes.houses["Jo"].desk.use(lambda agent: agent.trace.episodes(1)[0].id).result(20)
        assert jo.get(f"/history/{episode}").status_code == 200
        assert mira.get(f"/history/{episode}").status_code == 404
        assert mira.post("/ask", json={"text": ASKS}).status_code == 202
        question = until(lambda: world.homes.houses["Mira"].desk.view.asked)
        assert jo.post("/answer", json={"id": question.id, "reply": "yes"}).status_code == 409
        for path in ("/change/form", "/change"):
            assert jo.post(path, json={"id": question.id, "tool-0": "current_time"}).status_code == 409, path
        assert mira.post("/answer", json={"id": question.id, "reply": "yes"}).status_code == 200
        until(lambda: world.notes("Mira") or None)
        assert world.notes("Jo") == []
        assert "Household" in mira.get("/").text


def test_nobody_puts_right_or_forgets_what_anothers_home_holds(world: World) -> None:
    jos = world.homes.houses["Jo"].desk
    number = jos.use(lambda agent: agent.facts.add(NewFact("me", "lives in", "Ghent"), agent.clock()).id).result(20)
    episode = jos.use(lambda agent: agent.trace.episodes(1)[0].id).result(20)
    with world.browser("Mira", MIRA) as mira:
        tries: dict[str, dict[str, str]] = {
            "/memory/form": {"id": str(number)},
            "/memory/amend": {"id": str(number), "value": "Mira's"},
            "/memory/end": {"id": str(number), "on": "2026-01-01"},
            "/forget-fact": {"id": str(number)},
            "/correct/form": {"id": episode},
            "/correct/plan": {"id": episode, "tool-0": "current_time"},
            "/forget/look": {"kind": "request", "what": episode},
            "/forget": {"kind": "fact", "what": str(number), "digest": "0" * 32},
        }
        for path, body in tries.items():
            assert mira.post(path, json=body).status_code == 404, path
    held = jos.use(lambda agent: [fact.value for fact in agent.facts.believed()]).result(20)
    assert held == ["Ghent"]
    with world.browser() as nobody:
        for path, body in tries.items():
            assert nobody.post(path, json=body).status_code == 401, path


def test_who_is_not_signed_in_sees_the_way_in_alone(world: World) -> None:
    with world.browser() as nobody:
        for _, path in PAGES:
            answer = nobody.get(path)
            assert (answer.status_code, answer.headers["location"], answer.text) == (303, "/sign-in", ""), path
        assert nobody.post("/ask", json={"text": ASKS}).status_code == 401
        assert nobody.get("/household").headers["location"] == "/sign-in"
        for path in ("/household/challenge", "/household/passkey"):
            assert nobody.post(path, json={"answer": "{}"}).status_code == 403
        assert nobody.get("/sign-in").status_code == 200
        assert "default-src 'none'" in nobody.get("/").headers["content-security-policy"]


@pytest.mark.parametrize(
    "headers",
    [
        {"cookie": "hearth-member=guess"},
        {"cookie": "hearth-member=; hearth-member="},
        {"authorization": "Bearer guess"},
    ],
)
def test_neither_guesses_nor_a_homes_own_key_open_the_entrance(world: World, headers: dict[str, str]) -> None:
    keys = Keys(world.folder / "jo" / KEYS_FILE)
    with world.browser() as nobody:
        assert nobody.get("/history", headers=headers).status_code in (303, 401)
        assert nobody.get("/history", headers={"cookie": f"{keys.cookie_name}={keys.cookie}"}).status_code == 303
        assert nobody.get("/v1/home/status", headers={"authorization": f"Bearer {keys.key}"}).status_code == 401
    with world.browser("Mira", MIRA) as mira:  # nor leads it into another home
        mixed = f"{keys.cookie_name}={keys.cookie}; hearth-member={mira.cookies['hearth-member']}"
        assert SECRET not in mira.get("/", headers={"cookie": mixed}).text.replace("&#39;", "'")
        assert mira.get(f"/enter?key={keys.key}").status_code == 404


def test_names_and_origins_are_looked_at(world: World) -> None:
    with world.browser("Mira", MIRA) as mira:
        assert mira.get("/", headers={"host": "evil.example"}).status_code == 421
        assert mira.post("/ask", json={"text": READS}, headers={"origin": "http://evil.example"}).status_code == 403
        assert mira.post("/ask", json={"text": READS}, headers={"sec-fetch-site": "cross-site"}).status_code == 403
        assert mira.post("/sign-in", content=b"x" * 200_000).status_code == 413
        for body in (b"", b"[]", b'{"name": 1}', b"\xff"):
            assert mira.post("/sign-in", content=body).status_code == 400


def test_a_programs_token_leads_to_its_own_home(world: World) -> None:
    token = Keys(world.folder / "jo" / KEYS_FILE).add("cook book", may_change=False)
    with httpx.Client(base_url=world.homes.address, headers={"authorization": f"Bearer {token}"}) as program:
        assert program.get("/v1/models").status_code == 200
        body = {"model": "hearth", "messages": [{"role": "user", "content": READS}]}
        n_before = len(world.homes.houses["Mira"].desk.use(lambda agent: agent.trace.episodes(100)).result(20))
        assert program.post("/v1/chat/completions", json=body).status_code == 200
        n_after = len(world.homes.houses["Mira"].desk.use(lambda agent: agent.trace.episodes(100)).result(20))
        assert n_after == n_before
        assert program.get("/").status_code == 403


def test_who_is_let_in_under_anothers_name_does_not_come_into_their_home(world: World) -> None:
    token = Keys(world.folder / "jo" / KEYS_FILE).add("wall clock", may_change=False)
    other = "long password of the other"
    world.members.remove("Jo")
    try:
        with httpx.Client(base_url=world.homes.address, headers={"authorization": f"Bearer {token}"}) as program:
            assert program.get("/v1/models").status_code == 401
        world.members.add("Jo", world.folder / "other", other)
        with world.browser("Jo", other) as jo:
            for _, path in PAGES:
                answer = jo.get(path)
                assert (answer.status_code, "your home is not up" in answer.text) == (404, True), path
            assert jo.post("/ask", json={"text": ASKS}).status_code == 404
        with httpx.Client(base_url=world.homes.address, headers={"authorization": f"Bearer {token}"}) as program:
            assert program.get("/v1/models").status_code == 401
        world.members.remove("Jo")
    finally:
        world.members.add("Jo", world.folder / "jo", JO)
    with world.browser("Jo", JO) as jo:  # who comes back comes home
        assert SECRET in jo.get("/").text.replace("&#39;", "'")
    with httpx.Client(base_url=world.homes.address, headers={"authorization": f"Bearer {token}"}) as program:
        assert program.get("/v1/models").status_code == 200


def test_guessing_is_slowed_for_one_name_alone(world: World) -> None:
    with world.browser() as guesser:
        said = [guesser.post("/sign-in", json={"name": "JO", "password": f"guess {k}"}).status_code for k in range(7)]
        assert said == [401] * 5 + [429] * 2
        for name in ("Jo", " Jo ", "Ｊo"):
            assert guesser.post("/sign-in", json={"name": name, "password": JO}).status_code == 429
        unknown = guesser.post("/sign-in", json={"name": "nobody", "password": "x" * 5000})
        assert (unknown.status_code, unknown.json()["says"]) == (401, "This name and password do not go together.")
        assert guesser.post("/sign-in", json={"name": "Mira", "password": MIRA}).status_code == 200


def test_guesses_side_by_side_are_no_more_than_one_after_another(world: World) -> None:
    with world.browser() as guesser, ThreadPoolExecutor(12) as pool:
        said = pool.map(
            lambda k: guesser.post("/sign-in", json={"name": "Ines", "password": f"guess {k}"}).status_code, range(12)
        )
        assert sorted(said) == [401] * 5 + [429] * 7


def test_signed_out_nothing_more_is_told(world: World) -> None:
    with world.browser("Mira", MIRA) as mira:
        with mira.stream("GET", "/events?last=") as events:
            lines = events.iter_lines()
            assert next(lines) == "event: now"
            key = mira.cookies["hearth-member"]
            assert mira.post("/household/sign-out", json={}).json() == {"goto": "/sign-in"}
            world.homes.houses["Mira"].desk.ask("a word in private", Caller("page", is_owner=True)).result(20)
            assert "private" not in "".join(lines)
        assert mira.get("/", headers={"cookie": f"hearth-member={key}"}).status_code == 303


def test_another_password_or_none_signs_out(world: World) -> None:
    with world.browser("Mira", MIRA) as mira:
        world.members.set_password("mira", "another horse")
        assert mira.get("/").status_code == 303
    world.members.set_password("Mira", MIRA)


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.skipif(
    CHROMIUM is None or importlib.util.find_spec("playwright") is None,
    reason="needs Chromium and Playwright: apt install chromium; pip install playwright",
)
def test_a_passkey_in_a_real_browser(world: World) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(bypass_csp=True)  # axe is put into the page
        page = context.new_page()
        devices = page.context.new_cdp_session(page)
        devices.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
            "isUserVerified": True, "automaticPresenceSimulation": True,
        }  # fmt: skip
        devices.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        page.goto(world.homes.address)
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            assert violations(page) == []
        page.fill("#name", "Mira")
        page.fill("#password", MIRA)
        page.keyboard.press("Enter")
        page.wait_for_selector("#say")
        page.click("nav >> text=Household")
        page.click("text=Add a passkey on this device")
        page.wait_for_selector("text=From now on you may sign in with this passkey.")
        assert violations(page) == []
        page.click("text=Sign out")
        page.wait_for_selector("#password")
        page.click("text=With a passkey")
        page.wait_for_selector("#say")
        mira = world.members.named("Mira")
        assert mira is not None
        assert len(mira.passkeys) == 1
        assert mira.passkeys[0].n_signed > 0
        browser.close()
    world.members.set_password("Mira", MIRA)
    again = world.members.named("Mira")
    assert again is not None
    assert again.passkeys == ()


# ── Its parts ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def known(tmp_path: Path) -> Members:
    found = Members(tmp_path / MEMBERS_FILE)
    found.add("Mira", tmp_path / "mira", MIRA)
    return found


def test_the_file_is_its_owners_alone_and_holds_no_password(known: Members, tmp_path: Path) -> None:
    path = tmp_path / MEMBERS_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert MIRA not in path.read_text()
    assert "$argon2id$" in path.read_text()
    assert known.by_password("MIRA", MIRA) == known.named("mira")
    assert known.by_password("Mira", "wrong password") is None
    path.write_text('{"members": [{"name": ""}]}')
    with pytest.raises(ConfigError, match="mend or delete it"):
        known.listed()


@pytest.mark.parametrize(
    ("name", "home", "password"),
    [
        ("mira", "other", "long enough"),
        ("Ｍira", "other", "long enough"),
        ("", "other", "long enough"),
        ("x" * 61, "other", "long enough"),
        ("a\x00b", "other", "long enough"),
        ("Jo", "mira", "long enough"),
        ("Jo", "other", "short"),
        ("Jo", "other", "x" * 1001),
    ],
)
def test_odd_people_are_refused(known: Members, tmp_path: Path, name: str, home: str, password: str) -> None:
    with pytest.raises(RequestError):
        known.add(name, tmp_path / home, password)
    assert [one.name for one in known.listed()] == ["Mira"]


def test_names_with_and_without_accents_are_two_peoples(known: Members, tmp_path: Path) -> None:
    jose = known.add("Jose", tmp_path / "jose", "long enough")
    accented = known.add("José", tmp_path / "accented", "long enough, too")
    assert known.named("JOSE") == jose
    assert known.named("JOSE\u0301") == accented
    with pytest.raises(RequestError):
        known.add("Jose\u0301", tmp_path / "other", "long enough")


def test_a_session_ends_by_time_and_with_its_person(known: Members) -> None:
    now = [0.0]
    sessions = Sessions(known, lambda: now[0])
    mira = known.named("Mira")
    assert mira is not None
    key = sessions.begin(mira)
    assert sessions.of_key(key) == mira
    now[0] = members.SESSION_S + 1
    assert sessions.of_key(key) is None
    other = sessions.begin(mira)
    known.remove("mira")
    assert sessions.of_key(other) is None
    with pytest.raises(NotFound, match="nobody here is called 'Mira'"):
        known.remove("Mira")


@pytest.mark.parametrize(
    "answer",
    ["", "{}", "[]", '{"response": {"clientDataJSON": "!"}}', '{"response": {"clientDataJSON": "e30"}}', "[" * 9000],
)
def test_what_is_no_passkeys_answer_signs_nobody_in(known: Members, answer: str) -> None:
    with pytest.raises(DeniedError, match="no passkey's answer"):
        Passkeys(known, "http://localhost:1", lambda: 0.0).who(answer)


def test_a_passkey_is_one_persons(known: Members, tmp_path: Path) -> None:
    known.add("Jo", tmp_path / "jo", MIRA)
    known.set_passkey("Mira", Passkey("k", "x", 0))
    known.set_passkey("Mira", Passkey("k", "x", 1))  # her own, that signed once more
    with pytest.raises(RequestError, match="another person's here"):
        known.set_passkey("Jo", Passkey("k", "y", 0))


def test_a_challenge_is_answered_once_soon_and_for_whom_it_was(known: Members) -> None:
    now = [0.0]
    passkeys = Passkeys(known, "http://localhost:1", lambda: now[0])
    mira = known.named("Mira")
    assert mira is not None

    def answer(options: str) -> str:
        told = json.dumps({"challenge": json.loads(options)["challenge"], "type": "webauthn.get"})
        return json.dumps({"id": "x", "response": {"clientDataJSON": front_64(told)}})

    added = answer(passkeys.adding(mira))
    with pytest.raises(DeniedError, match="took too long, or was answered"):
        passkeys.who(added)  # was made for adding
    asked = answer(passkeys.asking())
    for _ in range(1_000):
        passkeys.asking()  # whoever reaches the entrance may ask: that ends nobody's sign-in
    with pytest.raises(DeniedError, match="not known here"):
        passkeys.who(asked)
    passkeys._use_up(passkeys._asked(asked, ""))
    with pytest.raises(DeniedError, match="took too long, or was answered"):
        passkeys.who(asked)
    other = Passkeys(known, "http://localhost:1", lambda: now[0])
    with pytest.raises(DeniedError, match="took too long, or was answered"):
        other.who(answer(passkeys.asking()))  # of another entrance, or of this one before it was started anew
    late = answer(passkeys.asking())
    now[0] = CHALLENGE_S + 1
    with pytest.raises(DeniedError, match="took too long"):
        passkeys.who(late)
    for k in range(members.MOST_PASSKEYS):
        known.set_passkey("Mira", Passkey(f"k{k}", "x", 0))
    with pytest.raises(RequestError, match="10 passkeys already"):
        known.set_passkey("Mira", Passkey("one more", "x", 0))


def front_64(text: str) -> str:
    from hearth.serve.phone_server import text64

    return text64(text.encode())


def test_the_commands_say_what_they_do(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    home, password = made(tmp_path / "home"), tmp_path / "password"
    password.write_text("long enough\n")

    def run(*arguments: str) -> int:
        return cli.run(["--home", str(home), "household", *arguments])

    assert run("up") == 78
    assert "nobody lives here yet" in capfd.readouterr().err
    assert run("add", "Mira", "--password-file", str(password)) == 0
    assert "Mira lives here" in capfd.readouterr().out
    assert run("add", "Jo", "--home-of", str(tmp_path / "none"), "--password-file", str(password)) == 78
    assert run("list", "--json") == 0
    assert json.loads(capfd.readouterr().out)[0]["name"] == "Mira"
    assert run("password", "mira", "--password-file", str(password)) == 0
    assert run("remove", "mira") == 0
    assert run("remove", "mira") == 4
    assert served.COOKIE == "hearth-member"
