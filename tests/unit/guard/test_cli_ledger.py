"""`hearth ledger`: what it shows, how it ends, and what it says of a ledger that is not whole."""

from __future__ import annotations

import base64
import datetime as dt
import json
from pathlib import Path

import pytest

from hearth.cli import run
from hearth.guard.egress.ledger import Draft, Ledger
from hearth.storage.database import Store

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)


@pytest.fixture
def filled(home: Path) -> Path:
    with Store.open(home / "hearth.db") as store:
        ledger = Ledger(store, lambda: NOW)
        ledger.append(Draft("opened", "api.example.org", "language model", port=443, episode="e1"))
        ledger.append(
            Draft(
                "sent",
                "api.example.org",
                "language model",
                b"POST / HTTP/1.1\r\n\r\nask [NAME_1]\x1b[31m",
                120,
                {"[NAME_1]": "Zoë"},
                port=443,
                address="93.184.216.34",
                tls="TLSv1.3 X",
                rule="default",
                episode="e1",
                step=1,
            )
        )
        ledger.append(Draft("used", "api.example.org", "answer", n_tokens=1200, usd=0.012, episode="e1"))
        ledger.append(Draft("sent", "dav.example.org", "read your calendar", b"x", 1, episode="e2"))
        with store.transaction() as cursor:
            ledger.erase(cursor, [4], "forgotten by the owner")
        ledger.seal()
    return home


def said(capsys: pytest.CaptureFixture[str], home: Path, *arguments: str, code: int = 0) -> str:
    assert run(["--home", str(home), "ledger", *arguments]) == code
    return capsys.readouterr().out


def test_each_entry_is_shown_with_who_what_when_why_how(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, filled, "show", "--bytes", "100").splitlines() == [
        "    1  2026-11-20 09:30:00  opened  api.example.org:443",
        "       why: language model · request e1",
        "    2  2026-11-20 09:30:00  sent  api.example.org:443 (93.184.216.34)  120 bytes  TLSv1.3 X",
        "       why: language model · request e1 · step 2 · rule default",
        "       [NAME_1] stood for Zoë",
        "       | POST / HTTP/1.1",
        "       | ",
        "       | ask [NAME_1]·[31m",
        "    3  2026-11-20 09:30:00  used  api.example.org  1200 tokens, 0.0120 USD",
        "       why: answer · request e1",
        "    4  2026-11-20 09:30:00  sent  dav.example.org  1 bytes",
        "       why: read your calendar · request e2",
        "       what was in it was forgotten",
        "    5  2026-11-20 09:30:00  erased",
        "       why: forgotten by the owner",
    ]


def test_one_request_the_latest_ones_and_json(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "dav.example.org" not in said(capsys, filled, "show", "--episode", "e1")
    assert said(capsys, filled, "show", "--limit", "1").startswith("    5  ")
    assert "… and 22 bytes more (--bytes 36)" in said(capsys, filled, "show", "--episode", "e1", "--bytes", "14")
    documents = json.loads(said(capsys, filled, "show", "--json", "--bytes", "1000"))
    assert [d["number"] for d in documents] == [1, 2, 3, 4, 5]
    assert base64.b64decode(documents[1]["payload_base64"]).endswith(b"ask [NAME_1]\x1b[31m")
    assert (documents[1]["stands_for"], documents[3]["is_forgotten"]) == ({"[NAME_1]": "Zoë"}, True)


def test_a_request_that_is_not_there(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--home", str(filled), "ledger", "show", "--episode", "nope"]) == 4
    assert "no episode 'nope'" in capsys.readouterr().err


def test_a_home_where_nothing_left(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(home / "hearth.db"):
        pass
    assert said(capsys, home, "show") == "Nothing has left this device.\n"
    assert said(capsys, home, "verify").startswith("Whole: 0 entries")


def test_no_home_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--home", str(tmp_path / "no"), "ledger", "verify"]) == 78
    assert "make a home there with `hearth init`" in capsys.readouterr().err


def test_a_whole_ledger_and_its_export(filled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = said(capsys, filled, "verify")
    assert whole.startswith("Whole: 5 entries, none of them changed, missing or added.\n  1 entry had their bytes")
    target = str(tmp_path / "out.jsonl")
    head = said(capsys, filled, "export", target).splitlines()[-1].removeprefix("head ")
    assert head in whole
    assert said(capsys, filled, "verify", "--file", target, "--head", head).startswith("Whole: 5 entries")
    assert json.loads(said(capsys, filled, "export", target, "--json")) == {"file": target, "count": 5, "head": head}
    document = json.loads(said(capsys, filled, "verify", "--json", "--head", head))
    assert (document["whole"], document["n_entries"], document["head"]) == (True, 5, head)


def test_a_broken_ledger_names_the_first_broken_entry(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(filled / "hearth.db") as store, store.transaction() as cursor:
        cursor.execute("UPDATE disclosure SET host='evil.example' WHERE number=2")
        cursor.execute("DELETE FROM disclosure WHERE number=4")
    broken = said(capsys, filled, "verify", code=1)
    assert broken.startswith("Broken: 3 faults, the first at entry 2.\n  entry 2: it, or the hash of the one before it")
    assert "  entry 5: entry 4 is missing before it\n" in broken
    assert json.loads(said(capsys, filled, "verify", "--json", code=1))["faults"][0]["number"] == 2


@pytest.mark.parametrize("head", ["x", "5", f"5:{'0' * 63}"])
def test_a_head_that_is_none_is_a_wrong_command_line(
    filled: Path, head: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, filled, "verify", "--head", head, code=2)
    said(capsys, filled, "verify", "--head", f"2:{'0' * 64}", code=1)


def test_a_file_that_is_not_there_or_no_export(
    filled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, filled, "verify", "--file", str(tmp_path / "no.jsonl"), code=4)
    (tmp_path / "x.jsonl").write_bytes(b"\x00\xff{\n[[[[")
    said(capsys, filled, "verify", "--file", str(tmp_path / "x.jsonl"), code=1)
    said(capsys, filled, "export", str(tmp_path / "no" / "x"), code=74)
    said(capsys, filled, "export", str(tmp_path), code=2)
