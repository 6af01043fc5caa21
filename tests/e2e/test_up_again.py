"""`hearth up`, started anew from its own page: with what was changed there, and as before where that cannot be."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from tests.served_home import made, until


def change(browser: httpx.Client, name: str, value: str) -> None:
    shown = browser.post("/settings/try", json={"name": name, "value": value}).json()["html"]
    digest = re.findall(r'data-digest="(\w+)"', shown)[0]
    said = browser.post("/settings/set", json={"name": name, "value": value, "digest": digest})
    assert said.status_code == 200
    assert browser.post("/settings/restart", json={}).status_code == 200


def page(browser: httpx.Client) -> str | None:
    try:
        return browser.get("/settings").text
    except httpx.HTTPError:
        return None


def test_a_change_counts_after_starting_anew_and_a_bad_one_is_taken_back(tmp_path: Path) -> None:
    home = made(tmp_path / "home")
    command = [sys.executable, "-m", "hearth", "--home", str(home), "up", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            link = process.stdout.readline().split(": ", 1)[1].strip()
            base = link.partition("/enter")[0]
            with httpx.Client(base_url=base, headers={"origin": base}, follow_redirects=True) as browser:
                browser.get(link)
                change(browser, "serve.quiet_hours", "22:00-07:00")
                assert process.stdout.readline().strip().endswith(link), "the same address, the same key"
                until(lambda: page(browser))
                good = (home / "hearth.toml").read_text()
                assert "22:00-07:00" in good
                change(browser, "serve.host", "203.0.113.7")
                assert process.stdout.readline().strip().endswith(link)
                until(lambda: page(browser))
                assert (home / "hearth.toml").read_text() == good
        finally:
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()
        assert process.wait(20) == 0
    assert "the settings are as they were before" in said
