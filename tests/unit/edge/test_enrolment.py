"""Joining: which addresses are taken, whose key, where the token stands, and what is changed in hearth.toml."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from hearth.config import Settings, parse_settings
from hearth.config.settings_edit import with_values
from hearth.edge import enrolment
from hearth.edge.cloud_teacher import open_link
from hearth.edge.enrolment import (
    Cloud,
    change,
    checked_token,
    checked_url,
    fingerprint,
    join,
    joined,
    kept_token,
    leave,
    name_for,
)
from hearth.edge.outbox import put
from hearth.errors import ConfigError, LinkError, StoreFullError, WireError
from hearth.storage.database import Store
from hearth.storage.workspace import Home
from hearth.testing import FIXED_NOW
from tests.small_cloud import URL, DoorTo, SmallCloud

KEY = base64.b64encode(b"k" * 32).decode()


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://hearth.example.org/", "https://hearth.example.org"),
        ("HTTPS://Hearth.Example.org:8443/base/", "https://hearth.example.org:8443/base"),
        ("http://127.0.0.1:8420", "http://127.0.0.1:8420"),
        ("http://[::1]:8420", "http://[::1]:8420"),
        ("http://192.168.1.7", "http://192.168.1.7"),
        ("http://nas.local:80/", "http://nas.local"),
    ],
)
def test_addresses_that_are_taken(text: str, url: str) -> None:
    assert checked_url(text) == url


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("http://hearth.example.org", "anybody on the way could read the token"),
        ("http://93.184.216.34", "anybody on the way could read the token"),
        ("ftp://hearth.example.org", "no address of a service"),
        ("hearth.example.org", "no address of a service"),
        ("", "no address of a service"),
        ("https://", "no address of a service"),
        ("https://me:secret@hearth.example.org", "holds more than an address"),
        ("https://hearth.example.org/?token=x", "holds more than an address"),
        ("https://hearth.example.org:99999999", "no address of a service"),
    ],
)
def test_addresses_that_are_not(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        checked_url(text)


def test_a_fingerprint_is_of_the_key_and_of_nothing_else() -> None:
    assert fingerprint(KEY) == "5e31 8f8c f9cb e249 a308 12b8 ca13 2d69"
    assert fingerprint(KEY) != fingerprint(base64.b64encode(b"l" * 32).decode())


@pytest.mark.parametrize("text", ["", "!!", base64.b64encode(b"short").decode(), "A" * 1000])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(WireError, match="no Ed25519 key"):
        fingerprint(text)


# ── What is kept ──────────────────────────────────────────────────────────────────────────────────────────


def joined_at(store: Store, home: Path, url: str = "https://a.example", key: str = KEY) -> enrolment.Joined:
    return join(store, home, Cloud(url, "A", key), name_for(store, home, url, key), "token-1", FIXED_NOW)


def test_a_token_is_for_the_owner_alone_and_nowhere_else(store: Store, home: Path) -> None:
    assert joined(store, home) is None
    found = joined_at(store, home)
    path = enrolment.token_file(home)
    assert path.stat().st_mode & 0o777 == 0o600
    assert kept_token(store, home)() == "token-1"
    store.erase_traces()
    assert b"token-1" not in (home / "hearth.db").read_bytes()
    assert joined(store, home) == found


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_token_that_others_can_read_is_not_used(store: Store, home: Path, mode: int) -> None:
    joined_at(store, home)
    enrolment.token_file(home).chmod(mode)
    with pytest.raises(ConfigError, match=r"others can read.*nothing was sent.*chmod 600") as caught:
        kept_token(store, home)()
    assert "token-1" not in str(caught.value)


def test_without_its_token_a_home_says_what_to_do(store: Store, home: Path) -> None:
    joined_at(store, home)
    enrolment.token_file(home).unlink()
    with pytest.raises(ConfigError, match="join again with `hearth edge join`"):
        kept_token(store, home)()


class KilledError(BaseException):
    """What nothing catches."""


def killed(monkeypatch: pytest.MonkeyPatch, store: Store, home: Path, where: str, url: str, token: str) -> None:
    """Join, and be killed at `where`."""

    def kill(*_: object, **__: object) -> None:
        raise KilledError

    name = name_for(store, home, url, KEY)
    with monkeypatch.context() as patch:
        patch.setattr(enrolment, {"before": "_machine", "after": "_into_place"}[where], kill)
        with pytest.raises(KilledError):
            join(store, home, Cloud(url, "B", KEY), name, token, FIXED_NOW)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("where", ["before", "after"])
def test_killed_while_joining_one_cloud_is_joined_with_its_own_token(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch, where: str, is_first: bool
) -> None:
    if not is_first:
        joined_at(store, home, URL)
    killed(monkeypatch, store, home, where, "https://b.example", "token-2")
    found = joined(store, home)
    if where == "before" and is_first:
        assert found is None
        assert not enrolment.token_file(home).exists()
    else:
        assert found is not None
        says = {"before": (URL, "token-1"), "after": ("https://b.example", "token-2")}[where]
        assert (found.url, kept_token(store, home)()) == says
    enrolment.finish(store, home)
    assert enrolment.token_file(home).exists() is (where == "after" or not is_first)
    again = join(store, home, Cloud("https://b.example", "B", KEY), "edge-9", "token-3", FIXED_NOW)
    assert (joined(store, home), kept_token(store, home)()) == (again, "token-3")
    assert [path.name for path in (home / "edge").iterdir()] == ["token"]


def test_what_was_left_undone_is_finished_without_anybody_who_sends(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(monkeypatch, store, home, "after", URL, "token-2")
    assert not enrolment.token_file(home).exists()
    enrolment.finish(store, home)
    assert enrolment.token_file(home).read_text() == "token-2\n"


def test_the_token_of_another_cloud_is_not_sent(store: Store, home: Path) -> None:
    cloud = SmallCloud()
    joined_at(store, home, URL)
    enrolment.token_file(home).write_text("token-of-another\n")
    link = open_link(Home(home, Settings(), store, {}), DoorTo(cloud))
    assert link is not None
    with (
        link,
        pytest.raises(LinkError, match="not the one that this cloud was joined with, nothing was sent") as caught,
    ):
        link.tasks()
    assert caught.value.code == "closed"
    assert "token-of-another" not in str(caught.value)
    assert cloud.requests == []


def test_leaving_removes_what_a_kill_left(store: Store, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(monkeypatch, store, home, "before", URL, "token-2")
    assert (home / "edge" / "token.new").stat().st_mode & 0o077 == 0
    leave(store, home)
    assert list((home / "edge").iterdir()) == []


@pytest.mark.parametrize("text", ["", "  ", "two words", "line\nbreak", "ключ", "x" * 5000, "tab\tbed"])
def test_what_cannot_be_a_token_is_refused_without_being_said(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked_token(text)
    assert not text.strip() or text not in str(caught.value)


def test_a_token_that_cannot_be_written_joins_nothing(store: Store, home: Path) -> None:
    (home / "edge").write_text("in the way")
    with pytest.raises(StoreFullError, match="nothing was joined"):
        joined_at(store, home)
    assert joined(store, home) is None


def test_joined_again_it_keeps_its_name_and_the_ids_it_makes(store: Store, home: Path) -> None:
    first = joined_at(store, home)
    secret = store.query("SELECT secret FROM edge_link")[0][0]
    assert joined_at(store, home).instance == first.instance
    assert store.query("SELECT secret FROM edge_link")[0][0] == secret


def test_another_service_gets_another_name_and_other_ids(store: Store, home: Path) -> None:
    first = joined_at(store, home)
    secret = store.query("SELECT secret FROM edge_link")[0][0]
    second = joined_at(store, home, "https://b.example")
    assert second.instance != first.instance
    assert store.query("SELECT secret FROM edge_link")[0][0] != secret


def test_a_home_that_lies_elsewhere_has_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    with Store.open(home / "hearth.db") as store:
        first = joined_at(store, home)
        assert joined(store, home) == first
    elsewhere = home.rename(home.with_name("elsewhere"))
    with Store.open(elsewhere / "hearth.db") as store:
        copied = joined(store, elsewhere)
        assert copied is not None
        assert copied.instance != first.instance
        assert joined(store, elsewhere) == copied, "and keeps that one"
        (tmp_path / "machine").write_text("another machine")
        monkeypatch.setattr(enrolment, "_MACHINE_FILE", tmp_path / "machine")
        again = joined(store, elsewhere)
        assert again is not None
        assert again.instance != copied.instance


def test_a_way_that_is_open_never_carries_the_token_of_another_cloud(store: Store, home: Path) -> None:
    cloud = SmallCloud()
    joined_at(store, home, URL)
    with open_link(Home(home, Settings(), store, {}), DoorTo(cloud)) as link:  # type: ignore[union-attr]
        joined_at(store, home, "https://b.example")
        n = len(cloud.requests)
        with pytest.raises(LinkError, match="left"):
            link.tasks()
    assert len(cloud.requests) == n


def test_leaving_forgets_everything(store: Store, home: Path) -> None:
    joined_at(store, home)
    with store.transaction() as cursor:
        put(cursor, "question", "q-1", b"{}", FIXED_NOW)
        cursor.execute("INSERT INTO cloud_answer (form, answer, at) VALUES ('f', x'00', 'now')")
    assert leave(store, home) == 1
    assert not store.query("SELECT 1 FROM cloud_answer")
    assert joined(store, home) is None
    assert not enrolment.token_file(home).exists()
    assert not store.query("SELECT 1 FROM outbox")
    assert leave(store, home) == 0


# ── hearth.toml ───────────────────────────────────────────────────────────────────────────────────────────

ENTRY = "cloud.example:443"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# mine\n[owner]\nname = 'Mara'\n",
        "[network]\n",
        "[network]\nconnect_s = 5\n\n[owner]\nname = 'x'\n",
        "[network]\nallow = []   # none\n",
        '[network]\nallow = ["a.example"]\n[network.budget]\nusd_per_day = 1\n',
        "[network]\nallow = [ 'a.example', \"b.example:80\", ]\n",
        '[network]   # the door\nallow = [\n  "a.example",\n  "b.example",\n]\n',
        "network = {allow = []}\n",
        "network.allow = []\n",
        '[network]\nallow = ["a.example",  # home\n  "b.example"]\n',
        "[edge]\nteaches = false   # not yet\n",
        "edge = {teaches = false}\n",
    ],
)
def test_a_host_is_let_in_and_the_rest_stays_as_it_was_written(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hearth.toml"
    path.write_text(text)
    path.chmod(0o600)
    before = parse_settings(text, path)
    assert change(path, ENTRY, {"teaches": True, "share": ["demonstrations"]})
    after = parse_settings(path.read_text(), path)
    assert after.network.allow == (*before.network.allow, ENTRY)
    assert after.edge.teaches
    assert after.edge.share == ("demonstrations",)
    assert after.owner == before.owner
    assert after.network.budget == before.network.budget
    assert all(line in path.read_text() for line in text.splitlines() if line.startswith("#"))
    assert path.stat().st_mode & 0o777 == 0o600
    assert not change(path, ENTRY, {"teaches": True}), "what is so already is not written again"


@pytest.mark.parametrize("text", ['[network]\nallow = ["cloud.example"]\n', f'[network]\nallow = ["{ENTRY}"]\n'])
def test_a_host_that_may_be_reached_changes_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hearth.toml"
    path.write_text(text)
    assert not change(path, ENTRY, {})
    assert path.read_text() == text


def test_what_would_have_to_be_guessed_is_left_to_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "hearth.toml"
    path.write_text(text := '[mcp]\nservers.x.command = "run"\n')
    with pytest.raises(
        ConfigError, match=r"nothing was changed; write command = \"go\" under \[mcp.servers.z\] yourself"
    ):
        with_values(path, text, {("mcp", "servers", "z", "command"): "go"})
    assert path.read_text() == text


def test_a_folder_that_cannot_be_written_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "hearth.toml"
    path.write_text("[network]\nallow = []\n")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreFullError, match="it is as before"):
        change(path, ENTRY, {})
    assert path.read_text() == "[network]\nallow = []\n"
    assert [one.name for one in tmp_path.iterdir()] == ["hearth.toml"]
