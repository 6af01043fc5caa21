"""Takes the pictures of the page that the documentation shows: `python -m tests.docs.screenshots`.

Needs Chromium, Playwright and Pillow. A demo home is made in a temporary folder and asked a few things; its page is drawn
in light and in dark, wide and narrow, and every other page in one picture.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from pathlib import Path

import uvicorn
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from hearth import cli
from hearth.serve import house
from hearth.serve.background.learning_process import learn_aside
from hearth.serve.desk import Caller
from hearth.serve.house import House
from hearth.serve.pages.page import PAGES
from tests import ROOT

IMAGES = ROOT / "docs" / "images"
SAID = ("what do I have on tomorrow?", "no, on friday", "what is the wifi password at the allotment?")
WIDTH, HEIGHT, N_COLUMNS = 900, 640, 3
_SAYS_INSTEAD = """pairs => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode())
    for (const [old, now] of pairs) walker.currentNode.data = walker.currentNode.data.replaceAll(old, now);
}"""
"""Says paths of the machine that draws as anybody's."""
ASKED = "delete the note about the tram posters"


def main() -> None:
    """Write the pictures into docs/images."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        assert (
            cli.run(["demo", "--keep", str(home), "--limit", "1", "--report", str(Path(folder) / "report.html")]) == 0
        )
        with (home / "hearth.toml").open("a") as settings:
            settings.write('\n[serve]\nphones_port = 0\nphones_host = "127.0.0.1"\n')
            settings.write('\n[learning]\nprofile = "small"\n')
        with house.opened(home, {}, house.Address(port=0)) as up:
            options = uvicorn.Config(up.door, log_level="warning", ws="none", lifespan="off")
            server = uvicorn.Server(options)
            thread = threading.Thread(target=server.run, kwargs={"sockets": [up.listening]})
            thread.start()
            try:
                owner = Caller("page", is_owner=True)
                said = [up.desk.ask(text, owner).result(60) for text in SAID]
                learnt(up)  # two versions, so that there is a curve
                up.desk.correct(said[-1].id, SAID[0]).result(60)
                learnt(up)
                up.desk.ask(ASKED, owner)
                with sync_playwright() as play:
                    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
                    browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                    take(browser, up, "page.png", 900, 720)
                    take(browser, up, "page-narrow.png", 390, 720, is_dark=True)
                    take_form(browser, up, "page-form.png")
                    assert up.desk.view.asked is not None
                    up.desk.answer(up.desk.view.asked.id, "no")
                    take_all(browser, up, Path(folder))
                    browser.close()
            finally:
                server.should_exit = server.force_exit = True
                thread.join()


def learnt(up: House) -> None:
    """Make a version of what was taught."""
    learn_aside(up.home, os.environ, frozenset(), lambda: False)


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


def take_form(browser: Browser, up: House, name: str) -> None:
    """Draw the form in which what is asked about is changed."""
    page = browser.new_context(viewport={"width": 900, "height": 720}).new_page()
    page.goto(up.link)
    page.click(".question [data-into=change]")
    page.locator("#change form").scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    page.screenshot(path=IMAGES / name)


def take_all(browser: Browser, up: House, folder: Path) -> None:
    """Draw every page but the conversation, small, side by side."""
    pages = [path for _, path in PAGES if path != "/"]
    page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page()
    page.goto(up.link)
    sheet = Image.new("RGB", (N_COLUMNS * WIDTH // 2, -(-len(pages) // N_COLUMNS) * HEIGHT // 2), "white")
    for k, path in enumerate(pages):
        page.goto(f"{up.address}{path}")
        if path == "/today":
            page.wait_for_selector("text=Waits for your answer")
        if path == "/phones":
            page.click("text=Add a phone")
            page.wait_for_selector(".steps img")
        page.wait_for_timeout(300)
        page.evaluate(_SAYS_INSTEAD, [[str(up.home), "~/hearth"], [str(Path.home()), "~"]])
        page.screenshot(path=folder / "one.png")
        with Image.open(folder / "one.png") as drawn:
            half = drawn.convert("RGB").resize((WIDTH // 2, HEIGHT // 2), Image.Resampling.LANCZOS)
        sheet.paste(half, (k % N_COLUMNS * WIDTH // 2, k // N_COLUMNS * HEIGHT // 2))
    sheet.quantize(200).save(IMAGES / "pages.png", optimize=True)


if __name__ == "__main__":
    main()
