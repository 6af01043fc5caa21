"""`hearth.toml`: every fault names file, key and fix."""

from __future__ import annotations

import os
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hearth.config import STARTER, cache_folder, home_folder, known_keys, read_settings
from hearth.errors import ConfigError


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "hearth.toml"
    path.write_text(text)
    return path


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    settings = read_settings(
        write(
            tmp_path,
            """
            [owner]
            name = "Mira"
            time_zone = "Europe/Berlin"
            [policy.add_event]
            ruling = "allow"
            reason = "mine"
            [mail]
            sync_s = 5
            [mail.smtp]
            host = "localhost"
            port = 2525
            password_env = "P"
            [models.language]
            base_url = "http://127.0.0.1:1/v1"
            model = "m"
            [network]
            allow = ["localhost:2525"]
            [tools.lamp]
            address = "10.0.0.2"
            key_env = "LAMP"
            """,
        )
    )
    assert settings.policy["add_event"].ruling == "allow"
    assert settings.zone() == ZoneInfo("Europe/Berlin")
    tables = settings.for_tools({"P": "secret", "LAMP": "k"})
    smtp = tables["mail"]["smtp"]
    assert isinstance(smtp, dict)
    assert (smtp["password"], smtp["port"], tables["lamp"]) == ("secret", 2525, {"address": "10.0.0.2", "key": "k"})
    assert "password_env" not in smtp


def test_an_empty_file_is_a_home_with_defaults(tmp_path: Path) -> None:
    settings = read_settings(write(tmp_path, ""))
    assert settings.network.allow == ()
    assert settings.policy == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[owner]\nname=3", r"hearth\.toml: owner\.name = 3: Input should be a valid string"),
        ("[ownr]\nname='a'", r"unknown key 'ownr'; did you mean 'owner'\?"),
        ("[owner]\nemial='x'", r"unknown key 'owner\.emial'; did you mean 'email'\?"),
        ("[policy.send_mail]\nruling='yes'", r"policy\.send_mail\.ruling = 'yes': Input should be 'allow', 'ask' or"),
        ("[policy.send_mail]\nruling='ask'\nreazon='x'", r"'policy\.send_mail\.reazon'; did you mean 'reason'\?"),
        ("[policy]\nsend_mail='ask'", r"policy\.send_mail is a table; write \[policy\.send_mail\]"),
        ("a=", r"Invalid value .*; mend that line"),
        ("[mail.smtp]\nhost='x'", r"key 'mail\.smtp\.port' is missing; add it"),
        ("[mail.smtp]\nhost='x'\nport=99999", r"mail\.smtp\.port = 99999: Input should be less than or equal"),
        ("[mail.smtp]\nhst='x'\nport=1", r"did you mean 'host'\?"),
        ("[owner]\ntime_zone='Berlin'", r"'Berlin' is not a time zone; write one such as 'Europe/Berlin'"),
        ("[owner]\ncountry='de'", r"'de' is not a country code; write two capitals such as 'DE'"),
        ("[network]\nallow=['*.x']", r"network\.allow = \['\*\.x'\]: '\*\.x' is not a host; write an exact name"),
        ("[network]\nallow=['127.1']", r"is an address in a form that programs read differently; write it as"),
        ("[network]\nallow=['0x7f000001']", r"is an address in a form that programs read differently"),
        ("[network]\nallow=['аpple.com']", r"letters that can pass for others; .* write it as 'xn--pple-43d\.com'"),
        ("[network]\nallow=['a\u202eb.com']", r"holds letters that no host name has; type the name anew"),
        ("[network]\nconnect_s=0", r"network\.connect_s = 0: Input should be greater than 0"),
        ("[network.budget]\nbytes_per_day=-1", r"network\.budget\.bytes_per_day = -1: Input should be greater than"),
        (
            "[network.budget]\nbytes_a_day=1",
            r"unknown key 'network\.budget\.bytes_a_day'; did you mean 'bytes_per_day'\?",
        ),
        (
            "[network]\nallow=['nas.local']\n[network.host.'nas.local']\nprivat=true",
            r"unknown key 'network\.host\.nas\.local\.privat'; did you mean 'private'\?",
        ),
        (
            "[network]\nallow=['nas.local']\n[network.host.'nsa.local']\nprivate=true",
            r"\[network\.host\.\"nsa\.local\"\] is about a host that is not allowed; did you mean 'nas\.local'\?",
        ),
        ("[network.host.'a b']\nprivate=true", r"\[network\] 'a b' is not a host; write an exact name"),
        ("[network.host.'nas.local:80']\nprivate=true", r"names a port; write the name alone"),
        ("[zzzzzz]\n", r"unknown key 'zzzzzz'; known keys: owner, policy"),
        ("[models.language]\nmodel='a'", r"\[models\.language\] key 'base_url' is missing; a model of kind 'openai'"),
        ("[models.language]\nkind='llamacpp'", r"key 'path' is missing; a model of kind 'llamacpp' needs it"),
        ("[models.language]\nkind='ollama'", r"models\.language\.kind = 'ollama': Input should be 'openai', 'hugg"),
        (
            "[models.language]\nkind='llamacpp'\npath='a.gguf'\nadapter='current'",
            r"an adapter needs kind = 'huggingface', not 'llamacpp'",
        ),
    ],
)
def test_faults_name_key_and_fix(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_settings(write(tmp_path, text))


def test_a_missing_or_unreadable_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="make a home there with `hearth init`"):
        read_settings(tmp_path / "hearth.toml")
    (tmp_path / "hearth.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot read"):
        read_settings(tmp_path / "hearth.toml")


def test_wrong_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "hearth.toml").write_bytes("[owner]\nname = 'Jörg'".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"not UTF-8 text .* at byte 17"):
        read_settings(tmp_path / "hearth.toml")


def test_secrets_are_resolved_or_named(tmp_path: Path) -> None:
    settings = read_settings(write(tmp_path, "[calendar]\nurl='https://x'\npassword_env='CAL'"))
    with pytest.raises(ConfigError, match=r"\[calendar\] password_env names the environment variable 'CAL', which"):
        settings.for_tools({})
    secret = tmp_path / "secret"
    settings = read_settings(write(tmp_path, f"[calendar]\nurl='https://x'\npassword_file='{secret}'"))
    with pytest.raises(ConfigError, match="cannot read"):
        settings.for_tools({})
    secret.write_text("pw\n")
    assert settings.for_tools({})["calendar"]["password"] == "pw"


def test_home_and_cache_come_from_option_then_environment(tmp_path: Path) -> None:
    assert home_folder(str(tmp_path), {"HEARTH_HOME": "/elsewhere"}) == tmp_path
    assert home_folder(None, {"HEARTH_HOME": str(tmp_path)}) == tmp_path
    assert home_folder(None, {}).name == "hearth"
    assert cache_folder({"HEARTH_CACHE": str(tmp_path)}) == tmp_path


def test_the_starter_file_is_valid(tmp_path: Path) -> None:
    text = STARTER.format(name='"A"', email='""', time_zone='""', country='"DE"')
    assert read_settings(write(tmp_path, text)).policy["add_reminder"].ruling == "allow"


def test_known_keys_follow_the_tables() -> None:
    assert "smtp" in known_keys(("mail",))
    assert known_keys(("policy", "any_tool")) == ["ruling", "reason"]
    assert known_keys(("tools", "x")) == []


def test_a_settings_file_that_is_no_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "hearth.toml"
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="it is no plain file; expected a text file"):
        read_settings(path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match="it is no plain file"):
        read_settings(path)


def test_a_settings_file_that_is_too_large_or_too_deep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hearth.toml"
    path.write_text("#" * 1_000_001)
    with pytest.raises(ConfigError, match="it has 1000001 bytes; expected a text file of at most 1000000 bytes"):
        read_settings(path)
    path.write_text("a = " + "[" * 100_000)
    with pytest.raises(ConfigError, match="nested too deeply"):
        read_settings(path)
