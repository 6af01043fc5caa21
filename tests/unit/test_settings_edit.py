"""One setting changed in the owner's own text: exactly that, or nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hearth.config import parse_settings, read_settings
from hearth.config.settings_edit import changed, editable, named, typed, write
from hearth.errors import ConfigError, Conflict, HearthError, NotFound, RequestError

TEXT = """\
# My settings

[owner]
name = "Mira"   # me # really
time_zone = "Europe/Berlin"

[network]
allow = [  # hosts
    "a.example",   # one
    "b.example",
]

[serve]
quiet_hours = "22:00-07:00"

[[rule]]
tools = ["add_note"]
ruling = "allow"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "hearth.toml"
    file.write_text(TEXT)
    file.chmod(0o640)
    return file


def after(path: Path, name: str, said: str | None) -> str:
    setting = named(name)
    return changed(path, setting, None if said is None else typed(setting, said)).text


@pytest.mark.parametrize(
    ("name", "said", "old", "new"),
    [
        ("owner.name", "Jo", 'name = "Mira"   # me # really', 'name = "Jo"   # me # really'),
        ("owner.name", 'a "quoted" # [x]', 'name = "Mira"', 'name = "a \\"quoted\\" # [x]"'),
        ("serve.quiet_hours", "", 'quiet_hours = "22:00-07:00"\n', ""),
        ("serve.port", "9000", '07:00"\n', '07:00"\nport = 9000\n'),
        ("serve.desktop", "no", '07:00"\n', '07:00"\ndesktop = false\n'),
        ("network.connect_s", "2.5", "]\n\n[serve]", "]\nconnect_s = 2.5\n\n[serve]"),
    ],
)
def test_only_the_line_of_the_setting_changes(path: Path, name: str, said: str, old: str, new: str) -> None:
    assert after(path, name, said) == TEXT.replace(old, new)


def test_what_is_put_behind_a_list_leaves_its_lines_and_their_comments(path: Path) -> None:
    assert after(path, "network.allow", "a.example\nb.example\nc.example") == TEXT.replace(
        '    "b.example",\n', '    "b.example",\n    "c.example",\n'
    )


def test_a_list_over_several_lines_is_replaced_whole(path: Path) -> None:
    text = after(path, "network.allow", "c.example\n\n d.example:993 \n")
    assert parse_settings(text, path).network.allow == ("c.example", "d.example:993")
    assert text.startswith("# My settings\n\n[owner]")
    assert text.endswith('[[rule]]\ntools = ["add_note"]\nruling = "allow"\n')


def test_a_table_that_is_not_there_is_put_at_the_end(path: Path) -> None:
    text = after(path, "memory.whole_days", "30")
    assert text == TEXT + "\n[memory]\nwhole_days = 30\n"
    assert parse_settings(text, path).rule[0].tools == ("add_note",)
    assert parse_settings(after(path, "network.budget.bytes_per_day", "5"), path).network.budget.bytes_per_day == 5


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("owner.time_zone", "Mars/Olympus"),
        ("serve.quiet_hours", "always"),
        ("serve.port", "70000"),
        ("network.allow", "*.example"),
        ("mask.kinds", "shoe_size"),
        ("learning.risk", "7"),
    ],
)
def test_what_the_file_would_not_take_is_refused(path: Path, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match="nothing was changed"):
        after(path, name, said)
    assert path.read_text() == TEXT


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("serve.port", "many"), ("serve.port", "nan"), ("serve.port", "inf"), ("serve.port", "9" * 6000),
        ("serve.desktop", "maybe"), ("owner.name", "a\nb"), ("owner.name", "a\x00b"), ("owner.name", "x" * 5001),
        ("owner.name", "\ud800"), ("network.allow", "a\u202eb"), ("owner.name", "Mira"),
    ],
)  # fmt: skip
def test_what_is_no_value_is_refused(path: Path, name: str, said: str) -> None:
    with pytest.raises(RequestError):
        after(path, name, said)


@pytest.mark.parametrize(
    "name",
    [
        "policy.add_note.ruling", "rule.0.ruling", "mcp.servers.x.command", "tools.x.y", "home.device", "mail.imap",
        "owner", "", ".", "owner.", "owner.name.x", "network.host.x.private", "owner.__class__", "a" * 200,
        "calendar.subscription", "serve.model_config", "home.scene.x", "home.mqtt.password_env", "home.assistant.token_file",
        "mail.imap.password_file", "models.language.api_key_env",
    ],
)  # fmt: skip
def test_what_has_a_place_of_its_own_is_not_changed_here(name: str) -> None:
    with pytest.raises(NotFound):
        named(name)


@pytest.mark.parametrize(
    "text",
    [
        'owner = {name = "Mira"}\n',
        'owner.name = "Mira"\n',
        '["owner"]\nname = "Mira"\n',
        '[owner]\n"name" = "Mira"\n',
        '[serve]\nnames = [\n"""\n[owner]\n"""]\n',
        "[serve]\nnames = ['''\n[owner]\nname = 1\n''']\n",
    ],
)
def test_a_file_written_otherwise_is_changed_rightly_or_not_at_all(path: Path, text: str) -> None:
    path.write_text(text)
    before = read_settings(path)
    try:
        found = parse_settings(after(path, "owner.name", "Jo"), path)
    except HearthError as error:
        assert "nothing was changed" in str(error)  # noqa: PT017 - either outcome is right
        return
    assert found.owner.name == "Jo"
    assert found.model_dump(exclude={"owner"}) == before.model_dump(exclude={"owner"})


def test_it_is_written_as_shown_with_its_mode_and_not_over_what_changed_since(path: Path) -> None:
    setting = named("owner.name")
    change = changed(path, setting, "Jo")
    path.write_text(TEXT + "# by hand\n")
    with pytest.raises(Conflict, match="changed meanwhile"):
        write(path, change, change.digest)
    again = changed(path, setting, "Jo")
    with pytest.raises(Conflict):
        write(path, again, change.digest)
    write(path, again, again.digest)
    assert path.read_text() == TEXT.replace("Mira", "Jo") + "# by hand\n"
    assert os.stat(path).st_mode & 0o777 == 0o640
    assert [one.name for one in path.parent.iterdir()] == ["hearth.toml"]


def test_each_change_is_taken_back_to_the_very_text(path: Path) -> None:
    setting = named("serve.port")
    first = changed(path, setting, 9000)
    write(path, first, first.digest)
    second = changed(path, setting, None)
    write(path, second, second.digest)
    assert path.read_text() == TEXT


def test_kinds_follow_the_settings_themselves() -> None:
    assert (editable("serve.phones_port") or named("serve.port")).kind == "int"
    assert named("learning.profile").choices == ("small", "medium", "large")
    assert "email" in named("mask.kinds").choices
