"""`hearth cloud` as a person uses it: a folder, tokens, a process that serves and stops in order."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import httpx
import pytest
from cloud_fixtures import serving as in_process

from hearth.cli.root import run
from hearth.edge import enrolment
from hearth.errors import ConfigError
from hearth.formats import edge_protocol
from hearth_cloud.cloud_settings import CloudSettings, parse_cloud_settings, read_cloud_settings
from hearth_cloud.service.service import create_app
from hearth_cloud.statistics.artifacts import newest
from hearth_cloud.statistics.signing import make_key, read_key
from hearth_cloud.storage.cloud_storage import Storage
from tests.unit.learning.test_adapter_archive import RECORD, written

LINE = {"id": "d1", "user_request": "lamp on", "task_nodes": [{"task": "lamp_on", "arguments": []}]}


@pytest.fixture
def service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = tmp_path / "cloud"
    assert run(["cloud", "init", str(folder)]) == 0
    capsys.readouterr()
    return folder


def hearth(folder: Path, *arguments: str) -> int:
    return run(["cloud", "--folder", str(folder), *arguments])


# ── Setting up ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_is_made_once_and_its_key_is_for_its_owner_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cloud"
    assert run(["cloud", "init", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "hearth cloud --folder" in said
    key = (folder / "cloud.key").read_bytes()
    assert (folder / "cloud.key").stat().st_mode & 0o077 == 0
    assert run(["cloud", "init", str(folder)]) == 0
    assert (folder / "cloud.key").read_bytes() == key
    assert read_cloud_settings(folder).tasks.k == 3


def test_a_token_is_shown_once_and_kept_as_a_hash(service: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hearth(service, "token", "new", "kitchen", "--days", "30") == 0
    token = capsys.readouterr().out.strip()
    assert len(token) == 50
    assert token.encode() not in (service / "cloud.db").read_bytes()
    assert hearth(service, "token", "new", "kitchen") == 78
    assert "--replace" in capsys.readouterr().err
    assert hearth(service, "token", "new", "kitchen", "--replace") == 0
    capsys.readouterr()
    assert hearth(service, "token", "list", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert sorted(row["state"] for row in rows) == ["holds", "revoked"]
    assert hearth(service, "token", "revoke", "kitchen") == 0
    assert hearth(service, "token", "list") == 0
    assert "holds" not in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["../x"], ["a b"], ["x", "--days", "0"], ["x", "--days", "99999"], ["x" * 64]])
def test_a_token_for_nobody(service: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert hearth(service, "token", "new", *arguments) == 78
    assert "expected" in capsys.readouterr().err


def test_an_edge_nobody_knows(service: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hearth(service, "token", "revoke", "attic") == 4
    assert hearth(service, "forget", "attic", "--yes") == 4
    assert "token list" in capsys.readouterr().err


def test_no_folder_of_a_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hearth(tmp_path, "serve") == 78
    assert "hearth cloud init" in capsys.readouterr().err


def test_a_service_is_checked_without_serving(service: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hearth(service, "check") == 0
    assert "Ready: database at version" in capsys.readouterr().out
    with (service / "cloud.toml").open("a") as file:
        file.write("[answers]\nkind = 'recorded'\npath = 'none.jsonl'\n")
    assert hearth(service, "check") != 0
    assert "none.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize("table", ["teacher", "answers"])
@pytest.mark.parametrize(
    ("base_url", "said"),
    [
        ("localhost:11434", "scheme"),
        ("http://", "scheme"),
        ("http://me:pw@127.0.0.1/v1", "holds a user name or password"),
        ("http://127.0.0.1:99999/v1", "is not an address"),
        ("http://[::1/v1", "is not an address"),
    ],
)
def test_a_wrong_address_of_a_model_names_its_key_and_file(
    service: Path, capsys: pytest.CaptureFixture[str], table: str, base_url: str, said: str
) -> None:
    (service / "cloud.toml").write_text(f'[{table}]\nkind = "model"\nbase_url = "{base_url}"\nmodel = "m"\n')
    assert hearth(service, "check") == 78
    fault = capsys.readouterr().err
    assert f"base_url in [{table}] of cloud.toml" in fault
    assert said in fault
    assert "models.language" not in fault
    assert "pw" not in fault


def test_a_right_address_of_a_model_is_taken(service: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (service / "cloud.toml").write_text('[answers]\nkind = "model"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
    assert hearth(service, "check") == 0


def test_nobody_else_reads_the_database(service: Path) -> None:
    assert (service / "cloud.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_certificate_that_is_none(service: Path, capsys: pytest.CaptureFixture[str], text: str | None) -> None:
    if text is not None:
        (service / "x.pem").write_text(text)
    settings = (service / "cloud.toml").read_text()
    (service / "cloud.toml").write_text(settings.replace("[service]", "[service]\ntls_cert_file = 'x.pem'"))
    assert hearth(service, "serve", "--port", "0") == 78
    said = capsys.readouterr().err
    assert "tls_cert_file 'x.pem'" in said
    assert "Serving" not in said


def test_without_the_extra_the_command_is_told(
    service: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    assert hearth(service, "serve") == 78
    assert "pip install hearth-cloud" in capsys.readouterr().err


# ── Settings ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[servce]", "did you mean 'service'"),
        ("[limits]\nplans_per_days = 1", "did you mean 'plans_per_day'"),
        ("[service]\nport = 99999", "service.port"),
        ('[service]\nport = "8420"', "service.port"),
        ('[service]\nsedna_service = "../x"', "sedna_service"),
        ("[limits]\nrequests_per_s = nan", "requests_per_s"),
        ("[tasks]\nk = 0", "tasks.k"),
        ('[teacher]\nkind = "model"', "'base_url' is missing"),
        ('[teacher]\nkind = "oracle"', "teacher.kind"),
        ('[answers]\nkind = "recorded"', "'path' is missing"),
        ("[service\n", "mend that line"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=r"cloud\.toml") as fault:
        parse_cloud_settings(text, tmp_path / "cloud.toml")
    assert said in str(fault.value)


def test_paths_and_addresses_of_the_database(tmp_path: Path) -> None:
    settings = parse_cloud_settings('[service]\ndatabase = "sqlite:///x.db"', tmp_path / "cloud.toml")
    assert settings.database_url({}) == f"sqlite:///{tmp_path / 'x.db'}"
    secret = parse_cloud_settings('[service]\ndatabase_env = "DB"', tmp_path / "cloud.toml")
    assert secret.database_url({"DB": "postgresql://a:b@c/d"}) == "postgresql://a:b@c/d"
    with pytest.raises(ConfigError, match="DB"):
        secret.database_url({})
    assert CloudSettings().service.host == "127.0.0.1"


def test_the_teachers_address_may_be_a_secret(tmp_path: Path) -> None:
    text = '[teacher]\nkind = "model"\nbase_url_env = "TEACHER"\nmodel = "m"\n'
    settings = parse_cloud_settings(text, tmp_path / "cloud.toml")
    with Storage.open(f"sqlite:///{tmp_path / 'cloud.db'}") as storage:
        key = make_key(tmp_path / "cloud.key")
        app = create_app(settings, storage, key=key, environ={**os.environ, "TEACHER": "http://127.0.0.1:9/v1"})
        assert app.state.cloud.plans is not None
        with pytest.raises(ConfigError, match="TEACHER"):
            create_app(settings, storage, key=key, environ={})


def test_a_key_that_others_can_read_or_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "cloud.key"
    with pytest.raises(ConfigError, match="cloud init"):
        read_key(path)
    key = make_key(path)
    assert read_key(path).private_bytes_raw() == key.private_bytes_raw()
    with pytest.raises(ConfigError, match="nothing was replaced"):
        make_key(path)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_key(path)
    path.write_text("no key")
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="Ed25519"):
        read_key(path)


# ── Serving ───────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "hearth", "cloud", "--folder", str(folder), "serve", "--port", "0", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        while line and not line.startswith("Serving at http://127.0.0.1:"):
            line = process.stderr.readline()
        assert line, "it did not serve"
        yield line.split()[2].rstrip(";"), process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(10)
        process.stderr.close()  # type: ignore[union-attr]


def started(process: subprocess.Popen[str], workers: int) -> list[str]:
    """The log's lines up to the one by which the last of `workers` says that it has started."""
    assert process.stderr is not None
    lines: list[str] = []
    while sum('"started"' in line for line in lines) < workers:
        line = process.stderr.readline()
        assert line, f"it ended before {workers} had started: {lines!r}"
        lines.append(line)
    return lines


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_service_is_started_serves_and_stops_in_order(
    service: Path, capsys: pytest.CaptureFixture[str], workers: int
) -> None:
    with (service / "cloud.toml").open("a") as file:
        file.write("\n[statistics]\nmode = 'off'\n")
    text = (service / "cloud.toml").read_text().replace("[service]", f"[service]\nworkers = {workers}")
    (service / "cloud.toml").write_text(text)
    hearth(service, "token", "new", "kitchen")
    token = capsys.readouterr().out.strip()
    headers = {"Authorization": f"Bearer {token}", edge_protocol.PROTOCOL_HEADER: "1"}
    with serving(service) as (url, process):
        with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=20) as client:
            lines = started(process, workers)  # one that is still starting when told to stop has nothing to stop
            assert client.get("/readyz").status_code == 200
            receipt = client.post("/v1/demonstrations", json={"id": "m1", "demonstrations": [LINE]})
            assert receipt.json()["accepted"] == ["d1"]
            assert "hearth_requests_total" in client.get("/metrics").text
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGTERM)
        assert process.stderr is not None
        log = "".join(lines) + process.stderr.read()
    events = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert sum(event["event"] == "stopped" for event in events) == workers
    assert "lamp on" not in log
    with Storage.open(f"sqlite:///{service / 'cloud.db'}") as storage:
        assert storage.n_demonstrations() == 1


def test_a_port_that_is_taken(service: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert hearth(service, "serve", "--port", str(taken.getsockname()[1])) == 78
    assert "another host or port" in capsys.readouterr().err


# ── What it is known by, what it offers ───────────────────────────────────────────────────────────────────


def test_its_keeper_sees_the_fingerprint_that_a_device_is_shown(
    service: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hearth(service, "fingerprint") == 0
    said = capsys.readouterr().out.strip()
    assert len(said.split()) == 8
    for command in (["cloud", "init", str(service)], ["cloud", "--folder", str(service), "check"]):
        assert run(command) == 0
        assert said in capsys.readouterr().out
    settings = read_cloud_settings(service)
    key = read_key(settings.path(settings.service.key_file))
    with Storage.open(settings.database_url()) as storage, in_process(settings, storage, key=key) as served:
        told = edge_protocol.read(
            edge_protocol.Hello,
            httpx.get(f"{served.url}/v1/hello", headers={edge_protocol.PROTOCOL_HEADER: "1"}).content,
        )
    assert enrolment.fingerprint(told.public_key) == said  # what `hearth edge join` shows
    (service / "cloud.key").chmod(0o644)
    assert hearth(service, "fingerprint") == 78
    assert said not in capsys.readouterr().out


def test_an_adapter_is_offered_signed_and_numbered(service: Path, tmp_path: Path) -> None:
    adapter = written(tmp_path / "adapter")
    assert hearth(service, "offer", str(adapter), "--profile", "small") == 0
    assert hearth(service, "offer", str(adapter)) == 0
    settings = read_cloud_settings(service)
    key = read_key(settings.path(settings.service.key_file)).public_key().public_bytes_raw()
    with Storage.open(settings.database_url()) as storage:
        found = {profile: newest(storage, "adapter", profile) for profile in get_args(edge_protocol.Profile)}
    manifests = {
        name: edge_protocol.read(edge_protocol.Manifest, (said or "").encode()) for name, said in found.items()
    }
    assert {name: one.serial for name, one in manifests.items()} == {"small": 2, "medium": 1, "large": 1}
    for name, one in manifests.items():
        one.check(base64.b64encode(key).decode())
        assert (one.kind, one.fingerprint) == ("adapter", f"lora {'b' * 64} {name}")


def test_what_is_no_adapter_is_not_offered(service: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    whole = written(tmp_path / "whole", replace(RECORD, method="full"))
    for folder, said in (
        (tmp_path / "empty", "record.json"),
        (tmp_path / "none", "record.json"),
        (whole, "whole model"),
    ):
        assert hearth(service, "offer", str(folder)) == 78
        assert said in capsys.readouterr().err
    assert hearth(service, "offer", str(whole), "--profile", "huge") == 2
    with Storage.open(read_cloud_settings(service).database_url()) as storage:
        assert newest(storage, "adapter", "large") is None
