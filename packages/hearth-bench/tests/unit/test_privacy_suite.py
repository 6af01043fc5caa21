"""python -m pytest packages/hearth-bench/tests/unit/test_privacy_suite.py: the privacy suite and `hearth mask`, on texts of our own."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from hearth.cli.root import run
from hearth.config import MASK_KINDS
from hearth.errors import RequestError
from hearth.guard.deidentify.masker import Masker
from hearth.guard.deidentify.names import OwnerNames, OwnName
from hearth_bench.report.terminal_tables import privacy_lines
from hearth_bench.suites.privacy_suite import (
    Gold,
    Sample,
    leaks,
    measure_privacy,
    measure_privacylens,
    measure_row,
    read_samples,
    round_trips,
)


def document(text: str, *spans: tuple[str, str]) -> dict[str, object]:
    found = [
        {"entity_type": kind, "entity_value": value, "start_position": text.index(value), "end_position": text.index(value) + len(value)}
        for kind, value in spans
    ]  # fmt: skip
    return {"full_text": text, "spans": found, "template_id": 7}


DOCUMENTS = [
    document("call 030 23125 123 now", ("PHONE_NUMBER", "030 23125 123")),
    document("write to a@b.example, Mia", ("EMAIL_ADDRESS", "a@b.example"), ("PERSON", "Mia")),
    document("nothing here"),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "pii.json"
    path.write_text(json.dumps(DOCUMENTS))
    return path


def test_the_numbers_are_those_of_the_definitions(data: Path) -> None:
    row = measure_row(read_samples(data), Masker(MASK_KINDS))
    assert row["masked_share"] == pytest.approx(2 / 3, abs=1e-3)
    assert (row["structured_recall"], row["structured_precision"], row["char_precision"]) == (1.0, 1.0, 1.0)
    assert row["documents_fully_masked"] == pytest.approx(2 / 3, abs=1e-3)
    assert row["by_type"]["PERSON"] == {"n": 1, "recall": 0.0, "typed_recall": 0.0}
    floor = measure_row(read_samples(data), None)
    assert (floor["masked_share"], floor["chars_per_s"], floor["structured_precision"]) == (0.0, None, None)


def test_an_identifier_where_none_is_costs_precision() -> None:
    row = measure_row([Sample("the PIN: 4821", ())], Masker(MASK_KINDS))
    assert (row["structured_precision"], row["char_precision"]) == (0.0, 0.0)


def test_a_known_name_that_leaves_is_a_leak() -> None:
    samples = [Sample("call Mia", (Gold(5, 8, "PERSON"),)), Sample("call nobody", ())]
    known = [OwnName("Mia", "person")]
    assert leaks(samples, Masker(["email"]), known) == (1, 1)
    assert leaks(samples, Masker(names=OwnerNames(known)), known) == (0, 1)


def test_round_trips_are_counted() -> None:
    assert round_trips(iter(["call Mia", "\ud800"]), Masker()) == (2, 2)


def test_the_whole_measurement_has_its_flat_keys_and_a_floor(data: Path) -> None:
    found = measure_privacy(data, None, n_fuzzed=20)
    for key in ("masked_share", "structured_recall", "structured_precision", "leak_rate", "roundtrip_exact", "chars_per_s", "by_type"):  # fmt: skip
        assert key in found
    assert found["roundtrip_exact"] == 1.0
    assert next(iter(found["rows"])) == "floor: nothing masked"
    assert "pii.json: 3 texts" in privacy_lines({**found})[0]


def test_sensitive_items_are_looked_for_in_what_would_be_sent(tmp_path: Path) -> None:
    way = {
        "user_name": "Ada Quill",
        "user_instruction": "write a mail",
        "executable_trajectory": "The patient Ada Quill of room 4 pays by 4111 1111 1111 1111.",
        "sensitive_info_items": ["Patient Ada Quill is ill."],
    }
    path = tmp_path / "lens.json"
    path.write_text(json.dumps([{"trajectory": way}]))
    rows = measure_privacylens(path, None)
    assert rows["floor: nothing masked"]["leaked"] == 1.0
    assert rows["forms, profile"]["leaked"] == 0.0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "holds no text"),
        ("{", "expected a JSON list"),
        ('[{"full_text": "a"}]', "spans"),
        (
            '[{"full_text": "a", "spans": [{"entity_type": "X", "start_position": 0, "end_position": 9}]}]',
            "from 0 to 9",
        ),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(RequestError, match=said):
        read_samples(path)


# ── hearth mask ───────────────────────────────────────────────────────────────────────────────────────────


def test_what_would_leave_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--home", str(tmp_path / "none"), "mask", "--no-tagger", "write a@b.example, call 030 23125 123"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "write mail1@masked.example, call +1 202 555 0100\n"
    assert "a@b.example" in shown.err
    assert run(["--home", str(tmp_path / "none"), "mask", "--no-tagger", "--json", "--kinds", "phone", "a@b.example 030 23125 123"]) == 0  # fmt: skip
    document = json.loads(capsys.readouterr().out)
    assert document["text"] == "a@b.example +1 202 555 0100"
    assert document["stand_ins"] == [{"stand_in": "+1 202 555 0100", "kind": "phone", "stands_for": "030 23125 123"}]
    assert document["comes_back"] is True


def test_a_text_that_needs_no_masking_is_told_from_no_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["--home", str(tmp_path / "none"), "mask", "--no-tagger"]
    assert run([*command, "water the plants"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err.strip()) == ("water the plants\n", "Nothing in this text needs masking.")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" \n")))
    assert run(command) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "there is no text to mask; give one, or a file: hearth mask - < FILE" in shown.err


def test_an_unknown_kind_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--home", str(tmp_path / "none"), "mask", "--kinds", "fone", "x"]) == 2
    assert "unknown kind 'fone'" in capsys.readouterr().err


def test_the_names_of_a_home_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "home"
    (home / "owner" / "contacts").mkdir(parents=True)
    (home / "hearth.toml").write_text('[owner]\nname = "Ada Quill"\ncountry = "DE"\n')
    (home / "owner" / "contacts" / "a.vcf").write_text("BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Mia Berger\r\nEND:VCARD\r\n")
    assert run(["--home", str(home), "mask", "--no-tagger", "Mia and ada met"]) == 0
    assert capsys.readouterr().out == "Person1 and person2 met\n"
