"""A small teacher for the demo home: a process of its own with recorded plans, joined as any cloud is.

Only this machine reaches it, it ends with the run, and what goes to it passes the mask, the door and the ledger.
"""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

import httpx

from hearth import config
from hearth.edge import enrolment
from hearth.edge.cloud_link import Link
from hearth.errors import HearthError
from hearth.guard.egress.gateway import Egress
from hearth.storage.database import Store

DAY_DATA = files("hearth.demo") / "data" / "day"
"""What the day needs: a PDF, a photo, a voice, tools, a teacher's plans."""
_ENDS_S = 5.0


@contextmanager
def teacher_joined(home: Path) -> Iterator[str]:
    """Start the teacher and join it; yields its address.

    Args:
        home: A demo home that no agent has open.
    Raises:
        HearthError: It did not start, or could not be joined; the home works without.
    """
    with as_file(DAY_DATA / "teacher.json") as script:
        process = subprocess.Popen(
            [sys.executable, "-m", "hearth.testing.recorded_cloud", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield _joined(home, process)
        finally:
            _end(process)


def _joined(home: Path, process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    if not line:
        raise HearthError(f"the teacher did not start: {process.stderr.read().strip()[-300:]}")
    said = json.loads(line)
    url, token = enrolment.checked_url(said["url"]), said["token"]
    entry = httpx.URL(url).netloc.decode()
    enrolment.change(home / "hearth.toml", entry, {"teaches": True, "answers": True})
    settings = config.read_settings(home / "hearth.toml")
    with Store.open(home / "hearth.db") as store:
        door = Egress.from_settings(settings, store, lambda: dt.datetime.now(settings.zone()))
        with Link(url, door, None, "joining") as link:
            hello = link.hello()
        name = enrolment.name_for(store, home, url, hello.public_key)
        now = dt.datetime.now(settings.zone())
        enrolment.join(store, home, enrolment.Cloud(url, hello.server, hello.public_key), name, token, now)
    return url


def _end(process: subprocess.Popen[str]) -> None:
    """End the teacher: it ends by itself when its input does."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    try:
        process.wait(_ENDS_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
