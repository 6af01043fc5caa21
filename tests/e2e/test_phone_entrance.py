"""A phone comes in over TLS by an invitation, does what the page does, and is taken out."""

from __future__ import annotations

import base64
import hashlib
import html
import importlib.util
import re
import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hearth import cli
from hearth.serve import phone_server
from hearth.serve.desk import Caller
from hearth.serve.pages.house_pages import PHONE_COOKIE
from hearth.serve.phone_server import Note, text64
from tests.served_home import ASKS, Served, made, served, until


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Served]:
    home = made(tmp_path / "home")
    settings = (home / "hearth.toml").read_text() + 'phones_port = 0\nphones_host = "127.0.0.1"\n'
    (home / "hearth.toml").write_text(settings.replace("allow = []", 'allow = ["push.example"]', 1))
    with served(home) as running:
        yield running


@pytest.fixture
def computer(up: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=up.address, follow_redirects=True, headers={"origin": up.address}) as client:
        client.get(up.house.link)
        yield client


def phone(up: Served) -> httpx.Client:
    """A phone that has installed the home's authority."""
    with httpx.Client(verify=False, base_url=up.house.phones) as unsure:
        installed = unsure.get("/hearth-authority.crt").text
    trusted = ssl.create_default_context(cadata=installed)
    return httpx.Client(verify=trusted, base_url=up.house.phones, headers={"origin": up.house.phones})


def invitation(computer: httpx.Client) -> str:
    shown = computer.post("/phones/invite", json={}).json()["html"]
    return html.unescape(re.findall(r"/pair\?code=([\w-]+)", shown)[0])


def test_a_phone_comes_in_asks_answers_and_is_taken_out(up: Served, computer: httpx.Client) -> None:
    with phone(up) as mobile:
        assert mobile.get("/").status_code == 401
        assert mobile.get("/authority").status_code == 200
        code = invitation(computer)
        assert code in mobile.get(f"/pair?code={code}").text
        assert mobile.post("/pair", json={"code": code, "name": "Mira's phone"}).json() == {"goto": "/phones"}
        assert "Mira&#39;s phone" in mobile.get("/phones").text
        assert mobile.post("/pair", json={"code": code, "name": "second"}).status_code == 400  # for one alone
        assert mobile.post("/ask", json={"text": ASKS}).status_code == 202
        question = up.question()
        assert question.caller == "Mira's phone"
        assert "Asked on “Mira&#39;s phone”." in computer.get("/").text
        with mobile.stream("GET", "/events?last=") as events:
            lines = events.iter_lines()
            assert next(lines) == "event: now"
            assert mobile.post("/answer", json={"id": question.id, "reply": "yes"}).status_code == 200
            until(lambda: up.notes or None)
            number = re.findall(r'id="phone-(\d+)"', computer.get("/phones").text)[0]
            says = computer.post("/phones/revoke", json={"number": number}).json()["says"]
            assert says == "Mira's phone is let in no more."
            for _ in lines:  # what it follows ends
                pass
        assert mobile.get("/").status_code == 401


def test_what_a_phone_may_not(up: Served, computer: httpx.Client) -> None:
    with phone(up) as mobile:
        code = invitation(computer)
        wrong = {"code": "guess", "name": "x"}
        assert mobile.post("/pair", json=wrong).status_code == 400
        assert (
            mobile.post("/pair", json={"code": code, "name": "x"}, headers={"origin": "https://evil"}).status_code
            == 403
        )
        mobile.post("/pair", json={"code": code, "name": "phone"})
        assert mobile.post("/phones/invite", json={}).status_code == 400
        assert mobile.post("/phones/revoke", json={"number": "99"}).status_code == 404
        for path in ("/forget/look", "/forget", "/learning/rollback", "/settings/form"):
            refused = mobile.post(path, json={"kind": "words", "what": "anything", "id": "1", "name": "serve.port"})
            assert (refused.status_code, "at the computer itself" in refused.text) == (400, True), path
        for path in ("/v1/models", "/mcp", "/enter?key=" + up.keys.key):
            assert mobile.get(path).status_code == 403, path
        with_key = {"authorization": f"Bearer {up.keys.key}"}
        with httpx.Client(verify=mobile._transport._pool._ssl_context, base_url=up.house.phones) as stranger:  # type: ignore[attr-defined]
            assert stranger.get("/", headers=with_key).status_code == 401
            assert stranger.get("/", headers={"cookie": f"{up.keys.cookie_name}={up.keys.cookie}"}).status_code == 401
            assert stranger.get("/", headers={"host": "evil.example"}).status_code == 421
    for path in ("/pair", "/authority", "/hearth-authority.crt"):  # the other entrance is for the computer
        assert computer.get(path).status_code == 404, path


def test_notifications_are_turned_on_where_the_owner_allowed_their_service(up: Served, computer: httpx.Client) -> None:
    with phone(up) as mobile:
        mobile.post("/pair", json={"code": invitation(computer), "name": "phone"})
        good = {"key": text64(b"\4" + b"1" * 64), "secret": text64(b"1" * 16)}
        refused = mobile.post("/phones/subscribe", json={"endpoint": "https://other.example/x", **good})
        assert (refused.status_code, "allow it at the computer" in refused.json()["says"]) == (400, True)
        for odd in ("http://push.example/x", "https:///x", "https://push.example/" + "x" * 2000, "push", "https://["):
            assert mobile.post("/phones/subscribe", json={"endpoint": odd, **good}).status_code == 400, odd
        for key in ("", "!", text64(b"1" * 64)):
            body = {"endpoint": "https://push.example/x", **good, "key": key}
            assert mobile.post("/phones/subscribe", json=body).status_code == 400
        assert mobile.post("/phones/subscribe", json={"endpoint": "https://push.example/x", **good}).status_code == 200
        assert "<td>on</td>" in computer.get("/phones").text
        assert mobile.post("/phones/subscribe", json={"endpoint": ""}).status_code == 200
        assert "<td>off</td>" in computer.get("/phones").text
        denied = computer.post("/phones/subscribe", json={"endpoint": "https://push.example/x", **good})
        assert denied.status_code == 400


def spki(home: Path) -> str:
    """Return what Chromium knows a certificate's key by."""
    certificate = x509.load_pem_x509_certificate((home / phone_server.CERTIFICATE_FILE).read_bytes())
    public = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(public).digest()).decode()


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.skipif(
    CHROMIUM is None or importlib.util.find_spec("playwright") is None,
    reason="needs Chromium and Playwright: apt install chromium; pip install playwright",
)
def test_in_a_real_browser_with_its_service_worker(up: Served, computer: httpx.Client) -> None:
    """Paired by its form; the worker shows a notification, and its button answers."""
    from playwright.sync_api import sync_playwright

    code = invitation(computer)
    with sync_playwright() as play:
        trusted = f"--ignore-certificate-errors-spki-list={spki(up.house.home)}"  # as if the authority were installed
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", trusted])
        context = browser.new_context(viewport={"width": 390, "height": 720})
        context.grant_permissions(["notifications"], origin=up.house.phones)
        page = context.new_page()
        page.goto(f"{up.house.phones}/pair?code={code}")
        page.fill("#name", "Pixel")
        page.click("text=Let this phone in")
        page.wait_for_selector("text=This phone is let in as Pixel")
        assert any(one["name"] == PHONE_COOKIE and one["httpOnly"] and one["secure"] for one in context.cookies())
        page.goto(up.house.phones)
        page.fill("#text", ASKS)
        page.keyboard.press("Enter")
        page.wait_for_selector(".question")
        page.click("button[data-reply=no]")
        page.wait_for_selector(".turn .answer")
        assert up.notes == []

        page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")  # an installing worker shows nothing
        worker = context.service_workers[0] if context.service_workers else context.wait_for_event("serviceworker")
        up.desk.ask(ASKS, Caller("terminal", is_owner=True))
        note = Note("question", up.question().id, "Hearth asks: may I?").message.decode()
        pressed = """async (pushed) => {
            // what is listed before it is shown is taken for closed, and gone: so its showing is waited for
            const show = self.registration.showNotification.bind(self.registration);
            let showing;
            self.registration.showNotification = (title, options) => (showing = show(title, options));
            self.dispatchEvent(new PushEvent("push", { data: pushed }));
            await showing;
            let [shown] = [];
            while (!shown) [shown] = await self.registration.getNotifications();
            const told = { title: shown.title, actions: shown.actions.map((one) => one.title) };
            self.dispatchEvent(new NotificationEvent("notificationclick", { notification: shown, action: "no" }));
            return told;
        }"""
        assert worker.evaluate(pressed, note) == {"title": "Hearth asks: may I?", "actions": ["No"]}
        until(lambda: not up.desk.view.turns or None)
        assert up.notes == []
        browser.close()


def test_a_lost_phone_is_taken_out_at_a_terminal(
    up: Served, computer: httpx.Client, capfd: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> int:
        return cli.run(["--home", str(up.house.home), "phones", *arguments])

    with phone(up) as mobile:
        mobile.post("/pair", json={"code": invitation(computer), "name": "Pixel"})
        assert mobile.get("/").status_code == 200
        assert run("list") == 0
        assert capfd.readouterr().out.startswith("Pixel  last here 20")
        assert run("list", "--json") == 0
        assert '"name": "Pixel"' in capfd.readouterr().out
        assert run("revoke", "Pixel") == 0
        assert capfd.readouterr().out == "Pixel is let in no more.\n"
        assert mobile.get("/").status_code == 401
    assert run("revoke", "Pixel") == 4
    assert "no phone is called 'Pixel'; let in are none" in capfd.readouterr().err
    assert run("list") == 0


def test_the_authority_is_the_homes_own(up: Served) -> None:
    assert (up.house.home / phone_server.AUTHORITY_FILE).exists()
