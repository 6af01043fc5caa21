"""Takes the pictures of the page that the documentation shows: `python -m tests.docs.screenshots`.

Needs Chromium and Playwright. A demo home is made in a temporary folder and asked a few things; its page is drawn in light
and in dark, wide and narrow.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, sync_playwright

from hearth import cli
from hearth.serve import house
from hearth.serve.desk import Caller
from hearth.serve.house import House
from tests import ROOT

IMAGES = ROOT / "docs" / "images"
SAID = ("what do I have on tomorrow?", "no, on friday", "what is the wifi password at the allotment?")
ASKED = "delete the note about the tram posters"


def main() -> None:
    """Write the pictures into docs/images."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        assert (
            cli.run(["demo", "--keep", str(home), "--limit", "1", "--report", str(Path(folder) / "report.html")]) == 0
        )
        with house.opened(home, {}, port=0) as up:
            options = uvicorn.Config(up.door, log_level="warning", ws="none", lifespan="off")
            server = uvicorn.Server(options)
            thread = threading.Thread(target=server.run, kwargs={"sockets": [up.listening]})
            thread.start()
            try:
                for text in SAID:
                    up.desk.ask(text, Caller("page", is_owner=True)).result(60)
                up.desk.ask(ASKED, Caller("page", is_owner=True))
                with sync_playwright() as play:
                    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
                    browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                    take(browser, up, "page.png", 900, 720)
                    take(browser, up, "page-narrow.png", 390, 720, is_dark=True)
                    browser.close()
            finally:
                server.should_exit = server.force_exit = True
                thread.join()


def take(browser: Browser, up: House, name: str, width: int, height: int, *, is_dark: bool = False) -> None:
    """Draw the conversation with its question."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if is_dark else "light"
    )
    page = context.new_page()
    page.goto(up.link)
    page.locator(".question").wait_for()
    page.locator(".question .buttons").scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    page.screenshot(path=IMAGES / name)


if __name__ == "__main__":
    main()
