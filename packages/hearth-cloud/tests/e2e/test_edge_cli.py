"""`hearth edge` against the real service on loopback: joining, teaching, sending, leaving, and everything that may go wrong."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from cloud_fixtures import Clock, Served, serving

from hearth import cli
from hearth.edge.cloud_link import Link
from hearth.edge.enrolment import fingerprint
from hearth.errors import LinkError
from hearth.formats import edge_protocol
from hearth.guard.egress.gateway import Egress
from hearth.learning.finetune.adapters import fingerprint_of, pack
from hearth.storage.database import Store
from hearth_cloud.cloud_settings import CloudSettings
from hearth_cloud.statistics.artifacts import MadeOf, offer
from hearth_cloud.storage.cloud_storage import Storage
from tests.story import Hearth
from tests.unit.learning.test_adapter_archive import written

PLAN = {
    "id": "1",
    "user_request": "frobnicate the seventh moon for Person1",
    "task_nodes": [{"task": "add_note", "arguments": [{"name": "text", "value": "frobnicate for Person1"}]}],
}


@pytest.fixture
def clock() -> Clock:
    return Clock(dt.datetime.now(dt.UTC))


@pytest.fixture
def cloud(tmp_path: Path, clock: Clock) -> Iterator[Served]:
    (tmp_path / "recorded.jsonl").write_text(json.dumps(PLAN) + "\n")
    settings = CloudSettings.model_validate({"teacher": {"kind": "recorded", "path": str(tmp_path / "recorded.jsonl")}})
    with (
        Storage.open(f"sqlite:///{tmp_path / 'cloud.db'}", clock) as storage,
        serving(settings, storage, clock=clock) as served,
    ):
        yield served


def test_a_home_joins_is_taught_shares_and_leaves(hearth: Hearth, home: Path, cloud: Served, tmp_path: Path) -> None:
    token = cloud.token()
    joined = hearth("edge", "join", cloud.url, token, "--yes", "--teaches")
    assert joined.code == 0, joined.err
    assert fingerprint(cloud.cloud.public_key) in joined.err
    assert "is sent   requests that no planner here is sure of, masked" in joined.err
    assert token not in joined.out + joined.err + (home / "hearth.toml").read_text()
    assert cloud.url.removeprefix("http://") in (home / "hearth.toml").read_text()
    with (home / "owner" / "contacts" / "anna.vcf").open("w") as file:
        file.write("BEGIN:VCARD\nVERSION:3.0\nUID:a\nFN:Zorana Quill\nN:Quill;Zorana;;;\nEND:VCARD\n")

    asked = hearth("ask", "frobnicate the seventh moon for Zorana Quill", "--yes", "--json")
    episode = json.loads(asked.out)
    assert episode["plan"]["planner"] == "cloud:127.0.0.1"
    assert episode["plan"]["task_nodes"][0]["arguments"][0]["value"] == "frobnicate for Zorana Quill"
    assert episode["left_the_device"]
    assert json.loads(hearth("edge", "status", "--json").out)["heard_at"]  # a plan is hearing of it, too

    corrected = hearth("correct", episode["id"], "--say", "add a note: the moon is done")
    assert corrected.code == 0, corrected.err
    waits = hearth("edge", "sync")
    assert (waits.code, "demonstration: 1 waiting until you agree" in waits.err) == (0, True)
    status = json.loads(hearth("edge", "status", "--json").out)
    assert status["kinds"]["demonstration"]["waiting"] == 1
    sent = hearth("edge", "sync", "--share", "demonstrations", "--json")
    assert json.loads(sent.out)["n_delivered"] == 1
    with sqlite3.connect(tmp_path / "cloud.db") as connection:
        lines = [row[0] for row in connection.execute("SELECT line FROM demonstration")]
    connection.close()
    assert len(lines) == 1
    assert "Person1" in lines[0]

    ledger = hearth("ledger", "show", "--bytes", "100000").out
    for name in ("Zorana", "Quill", token):
        assert all(
            name not in line for line in ledger.splitlines() if not line.strip().startswith(("Person", "person"))
        )
    assert hearth("ledger", "verify").code == 0

    looked = {one["part"]: one for one in json.loads(hearth("doctor", "--json").out)}
    assert looked["cloud"]["ok"]
    assert cloud.url in looked["cloud"]["says"]
    (home / "edge" / "token").chmod(0o644)
    assert "chmod 600" in hearth("doctor").out

    left = hearth("edge", "leave", "--yes")
    assert left.code == 0
    assert not (home / "edge" / "token").exists()
    assert hearth("edge", "status").code == 4


def test_a_token_may_come_from_a_file_or_the_environment(
    hearth: Hearth, home: Path, cloud: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(cloud.token() + "\n")
    given = fingerprint(cloud.cloud.public_key)
    joined = hearth("edge", "join", cloud.url, "--yes", "--token-file", str(tmp_path / "token"), "--fingerprint", given)
    assert joined.code == 0, joined.err
    monkeypatch.setenv("HEARTH_EDGE_TOKEN", (tmp_path / "token").read_text())
    again = hearth("edge", "join", cloud.url, "--yes", "--json")
    assert json.loads(again.out) == {
        "url": cloud.url, "server": cloud.settings.service.name, "fingerprint": given, "changed_settings": False
    }  # fmt: skip
    assert not json.loads(hearth("edge", "status", "--json").out)["fault"]


@pytest.mark.parametrize(
    ("statistics", "said"),
    [
        ({"mode": "plain", "owners": "one"}, "exact sums, for the devices of one owner alone"),
        ({"mode": "secret", "epsilon": 2.0}, "no more than epsilon 2 and delta 1e-06 say"),
        ({"mode": "off"}, ""),
    ],
)
def test_joining_says_what_others_can_tell(
    hearth: Hearth, tmp_path: Path, clock: Clock, statistics: dict[str, object], said: str
) -> None:
    settings = CloudSettings.model_validate({"statistics": statistics})
    with (
        Storage.open(f"sqlite:///{tmp_path / 'cloud.db'}", clock) as storage,
        serving(settings, storage, clock=clock) as served,
    ):
        joined = hearth("edge", "join", served.url, served.token(), "--yes")
    assert joined.code == 0, joined.err
    assert said in joined.err
    assert ("  merges " in joined.err) == bool(said)


def test_joining_says_what_answers_need(hearth: Hearth, home: Path, tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "answers.jsonl").write_text('{"question": "what is Ulm", "text": "A town."}\n')
    settings = CloudSettings.model_validate({"answers": {"kind": "recorded", "path": str(tmp_path / "answers.jsonl")}})
    with (
        Storage.open(f"sqlite:///{tmp_path / 'cloud.db'}", clock) as storage,
        serving(settings, storage, clock=clock) as served,
    ):
        joined = hearth("edge", "join", served.url, served.token(), "--yes")
        assert "until you write `answers = true` under [edge]" in joined.err
        with (home / "hearth.toml").open("a") as file:
            file.write("\n[edge]\nanswers = true\n")
        assert "`answers = true`" not in hearth("edge", "join", served.url, served.token("again"), "--yes").err


def test_what_is_not_agreed_to_sends_no_token(hearth: Hearth, home: Path, cloud: Served) -> None:
    before = (home / "hearth.toml").read_text()
    refused = hearth("edge", "join", cloud.url, cloud.token())
    assert (refused.code, "was not allowed" in refused.err) == (5, True)
    wrong = hearth("edge", "join", cloud.url, "hearth_secret", "--yes", "--fingerprint", "dead beef")
    assert wrong.code == 5
    assert "the token was not sent and nothing was joined" in wrong.err
    assert (home / "hearth.toml").read_text() == before
    assert not (home / "edge" / "token").exists()


@pytest.mark.parametrize(
    ("url", "token", "code", "said"),
    [
        ("http://hearth.example.org", "t", 78, "plain http to 'hearth.example.org' was refused"),
        ("nonsense", "t", 78, "no address of a service"),
        ("http://127.0.0.1:9", "t", 1, "was not reached"),
        (None, "hearth_unknown", 1, "ask for a new one"),
        (None, "two words", 78, "expected one line"),
    ],
)
def test_what_cannot_be_joined_changes_nothing(
    hearth: Hearth, home: Path, cloud: Served, url: str | None, token: str, code: int, said: str
) -> None:
    before = (home / "hearth.toml").read_text()
    refused = hearth("edge", "join", url or cloud.url, token, "--yes")
    assert (refused.code, said in refused.err) == (code, True), refused.err
    assert (home / "hearth.toml").read_text() == before
    assert hearth("edge", "sync").code == 4


def test_a_revoked_token_keeps_what_waits(hearth: Hearth, home: Path, cloud: Served, clock: Clock) -> None:
    hearth("edge", "join", cloud.url, cloud.token(), "--yes", "--share", "demonstrations")
    asked = hearth("ask", "what time is it", "--json")
    hearth("correct", json.loads(asked.out)["id"], "--say", "add a note: asked for the time")
    cloud.storage.revoke("kitchen")
    clock.wait(10)  # for some seconds the service believes it
    held = hearth("edge", "sync")
    assert held.code == 6
    assert "the token has run out or was withdrawn" in held.err
    assert json.loads(hearth("edge", "status", "--json").out)["kinds"]["demonstration"]["waiting"] == 1


def test_two_agents_with_one_identity_are_noticed(
    hearth: Hearth, home: Path, cloud: Served, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    hearth("edge", "join", cloud.url, cloud.token(), "--yes", "--share", "demonstrations")
    copied = shutil.copytree(home, tmp_path / "copied")
    asked = hearth("ask", "what time is it", "--json")
    hearth("correct", json.loads(asked.out)["id"], "--say", "add a note: asked for the time")
    assert cli.run(["--home", str(copied), "edge", "sync", "--take", "prior"]) in (0, 6)
    held = hearth("edge", "sync")
    assert held.code == 6
    assert "another device uses the same identity" in held.err
    status = json.loads(hearth("edge", "status", "--json").out)
    assert status["kinds"]["demonstration"]["waiting"] == 1
    assert "another device" in status["fault"]
    mine, others = (json.loads(_status(path, capfd))["instance"] for path in (home, copied))
    assert mine != others


def _status(home: Path, capfd: pytest.CaptureFixture[str]) -> str:
    capfd.readouterr()
    assert cli.run(["--home", str(home), "edge", "status", "--json"]) == 0
    return capfd.readouterr().out


def test_watching_sends_what_comes_until_it_is_stopped(
    hearth: Hearth, home: Path, cloud: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    hearth("edge", "join", cloud.url, cloud.token(), "--yes", "--share", "demonstrations", "--take", "prior")
    asked = json.loads(hearth("ask", "what time is it", "--json").out)
    hearth("correct", asked["id"], "--say", "add a note: asked for the time")
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("hearth.cli.edge_commands.time.sleep", sleep)
    watched = hearth("edge", "sync", "--watch", "--every", "50")
    assert watched.code == 130
    assert "1 delivered." in watched.out
    assert all(45 <= wait_s <= 55 for wait_s in waits)


# ── An adapter of the service's ───────────────────────────────────────────────────────────────────────────


def test_an_adapter_is_fetched_when_the_owner_says_so_and_taken_by_nobody_else(
    hearth: Hearth, home: Path, cloud: Served, tmp_path: Path
) -> None:
    hearth("edge", "join", cloud.url, cloud.token(), "--yes")
    data, record = pack(written(tmp_path / "made"))
    for profile in get_args(edge_protocol.Profile):
        model = fingerprint_of(record, profile)
        offer(cloud.storage, cloud.cloud.key, "adapter", profile, data, MadeOf(model))

    def fetched(*arguments: str) -> tuple[int, dict[str, str]]:
        done = hearth("edge", "sync", "--json", *arguments)
        return done.code, {one["kind"]: one["fault"] or one["sha256"] for one in json.loads(done.out)["fetched"]}

    assert fetched() == (0, {})
    code, said = fetched("--take", "adapter")
    assert (code, 'kind = "huggingface"' in said["adapter"]) == (6, True)
    assert hearth("adapters", "take", "--base", str(home)).code == 4  # none was fetched
    (home / "models" / "tiny").mkdir(parents=True)
    with (home / "hearth.toml").open("a") as settings:
        settings.write('\n[models.language]\nkind = "huggingface"\npath = "models/tiny"\n')
    assert fetched("--take", "adapter") == (0, {"adapter": hashlib.sha256(data).hexdigest()})
    assert "hearth adapters take" in hearth("edge", "sync", "--take", "adapter").out
    assert "hearth adapters take" in hearth("edge", "status").out
    assert json.loads(hearth("adapters", "list", "--json").out) == []

    other = hearth("adapters", "take")
    assert (other.code, "which" in other.err and "--base" in other.err) == (78, True), other.err
    (file,) = (home / "edge" / "taken").iterdir()
    file.write_bytes(data[:-1] + b"x")
    assert "is not what was fetched" in hearth("adapters", "take").err
    assert json.loads(hearth("adapters", "list", "--json").out) == []


# ── Versions, with the real service ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("there", "here", "said"),
    [((1, 1), (1, 3), ""), ((1, 3), (1, 1), ""), ((2, 3), (1, 1), "1 to 1"), ((1, 1), (2, 3), "2 to 3")],
)
def test_old_and_new_of_edge_and_service(
    cloud: Served,
    monkeypatch: pytest.MonkeyPatch,
    store: Store,
    there: tuple[int, int],
    here: tuple[int, int],
    said: str,
) -> None:
    monkeypatch.setattr(edge_protocol, "OLDEST", there[0])
    monkeypatch.setattr(edge_protocol, "VERSION", there[1])
    door = Egress(["127.0.0.1"], store, lambda: dt.datetime.now(dt.UTC))
    token = cloud.token()
    with Link(cloud.url, door, lambda: token, "edge-1", versions=here) as link:
        if not said:
            assert link.tasks().k >= 1
            assert link.hello().newest == there[1]
            return
        with pytest.raises(LinkError, match=f"{said}.*bring the older side up to date") as caught:
            link.tasks()
        assert caught.value.code == "protocol"


def test_without_a_home_it_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--home", str(tmp_path / "none"), "edge", "status"]) == 78
    assert "hearth init" in capfd.readouterr().err
