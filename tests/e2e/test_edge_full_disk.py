"""A disk that is really full while an edge learns and sends: nothing is halved, nothing lost, nothing twice."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests import ROOT

SCRIPT = """
    import datetime as dt, http.server, sys, threading
    from pathlib import Path

    import httpx

    from hearth.edge import enrolment
    from hearth.edge.cloud_link import Link
    from hearth.edge.outbox import Outbox
    from hearth.edge.outbox import Sender
    from hearth.edge.outbox import Sharer
    from hearth.errors import LinkError, StoreError, StoreFullError
    from hearth.guard.egress.gateway import Egress
    from hearth.guard.deidentify.masker import Masker
    from hearth.guard.egress.masking_door import MaskingDoor
    from hearth.learning import demonstration_store as rows
    from hearth.learning.demonstration_store import Entry
    from hearth.storage.database import Store
    from hearth.types import Demonstration, Label, Plan, Step
    from tests.small_cloud import TOKEN, SmallCloud

    home = Path(sys.argv[1])
    cloud = SmallCloud()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            answer = cloud.handle(httpx.Request("POST", f"http://x{self.path}", headers=dict(self.headers), content=body))
            self.send_response(answer.status_code)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)
        def log_message(self, format, *arguments): ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    clock = lambda: dt.datetime.now(dt.UTC)
    store = Store.open(home / "hearth.db")
    enrolment.join(store, home, enrolment.Cloud(url, "small", cloud.public_key), "edge-1", TOKEN, clock())

    def learn(k):
        one = Demonstration(f"owner:{k:03d}", f"note word{k:03d}", Plan((Step("add_note", {"text": "x" * 300}),)), source="owner")
        with store.transaction() as cursor:
            rows.keep(cursor, [Entry(one, Label(frozenset({"owner"})))], None)

    def turn():
        with Link(url, Egress(["127.0.0.1"], store, clock), lambda: TOKEN, "edge-1") as link:
            return Sender(store, link, Sharer(store, link.host, MaskingDoor(Masker(())), {}), clock).turn(["demonstration"], is_patient=False)

    n = n_full = 0
    for round_ in range(12):
        for _ in range(3):
            learn(n)
            n += 1
        filler = home / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        with filler.open("r+b") as file:  # some pages are left: the disk fills up at another place each time
            file.truncate(max(0, filler.stat().st_size - 4096 * round_ * 3))
        for _ in range(2):
            try:
                turn()
            except StoreFullError:
                n_full += 1
            except StoreError as error:
                print(error, file=sys.stderr)
                raise
        filler.unlink()
    while Outbox(store, clock).head("demonstration", 1):
        turn()
    words = [line["user_request"] for line in cloud.taken.values()]
    assert words == [f"note word{k:03d}" for k in range(n)], words
    assert cloud.n_taken == n == len(store.query("SELECT 1 FROM demonstration"))
    assert not Egress(["127.0.0.1"], store, clock).ledger.verify().faults
    assert n_full >= 5, n_full
    print(n, n_full)
"""


def test_a_disk_that_is_full_loses_and_doubles_nothing(tmp_path: Path) -> None:
    script, home = tmp_path / "full.py", tmp_path / "home"
    script.write_text(textwrap.dedent(SCRIPT))
    home.mkdir()
    mount = f"mount -t tmpfs -o size=3m hearth {home}"
    if subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("a disk of its own needs the right to mount one")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"{mount} && exec {sys.executable} {script} {home}"],
        capture_output=True, text=True, check=False, timeout=100, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
