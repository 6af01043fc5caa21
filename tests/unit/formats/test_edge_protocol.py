"""Messages between edge and cloud: shape, versions, signatures."""

import base64
import datetime as dt
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hearth.errors import WireError
from hearth.formats import edge_protocol
from hearth.formats.edge_protocol import Manifest, PlanAsked, PlanGiven, read

NOW = dt.datetime(2026, 9, 7, 8, 0, tzinfo=dt.timezone(dt.timedelta(hours=2)))


def public(key: Ed25519PrivateKey) -> str:
    return base64.b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


def manifest() -> Manifest:
    return Manifest(kind="prior", sha256="0" * 64, n_bytes=10, fingerprint="f", n_edges=3, serial=2, made=NOW)


def test_a_message_of_a_newer_peer_is_read() -> None:
    given = read(PlanGiven, b'{"id": "a1", "confidence": 0.5, "invented_later": [1]}')
    assert given.confidence == 0.5
    assert given.plan is None


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"", "the body"),
        (b"[]", "the body"),
        (b'{"id": "../x", "request": "a", "now": "2026-09-07T08:00:00Z", "tools": []}', "id"),
        (b'{"id": "x", "request": "", "now": "2026-09-07T08:00:00Z", "tools": []}', "request"),
        (b'{"id": "x", "request": "a", "now": "2026-09-07T08:00:00", "tools": []}', "now"),
        (b'{"id": "x", "request": "a", "now": "2026-09-07T08:00:00Z"}', "tools"),
    ],
)
def test_a_wrong_field_is_named(body: bytes, named: str) -> None:
    with pytest.raises(WireError, match=named):
        read(PlanAsked, body)


@pytest.mark.parametrize("n", ["-1", "100000001", "1e400", "9" * 400, "NaN", '"7"x'])
def test_a_count_that_would_break_a_budget_is_refused(n: str) -> None:
    with pytest.raises(WireError):
        read(PlanGiven, f'{{"id": "a", "n_tokens": {n}}}'.encode())


@pytest.mark.parametrize("field", ["serial", "n_bytes", "n_edges", "n_demonstrations"])
def test_a_number_no_database_holds_is_refused(field: str) -> None:
    said = json.loads(manifest().model_dump_json()) | {field: 2**63}
    with pytest.raises(WireError, match=field):
        read(Manifest, json.dumps(said).encode())


def test_a_signed_manifest_is_taken_and_survives_another_zone() -> None:
    key = Ed25519PrivateKey.generate()
    signed = manifest().signed(key)
    signed.check(public(key))
    again = read(Manifest, signed.model_copy(update={"made": NOW.astimezone(dt.UTC)}).model_dump_json().encode())
    again.check(public(key))


@pytest.mark.parametrize("change", [{"n_bytes": 11}, {"serial": 3}, {"sha256": "1" * 64}, {"signature": "AAAA"}])
def test_a_changed_manifest_is_refused(change: dict[str, object]) -> None:
    key = Ed25519PrivateKey.generate()
    signed = manifest().signed(key).model_copy(update=change)
    with pytest.raises(WireError, match="not signed"):
        signed.check(public(key))


def test_another_services_key_is_refused() -> None:
    signed = manifest().signed(Ed25519PrivateKey.generate())
    with pytest.raises(WireError, match="hearth edge join"):
        signed.check(public(Ed25519PrivateKey.generate()))


@pytest.mark.parametrize(
    ("model", "said", "is_right"),
    [
        (
            edge_protocol.RoundAsked,
            {"id": "a", "profile": "small", "sealing": "A" * 43 + "=", "masking": "B" * 43 + "="},
            True,
        ),
        (
            edge_protocol.RoundAsked,
            {"id": "a", "profile": "huge", "sealing": "A" * 43 + "=", "masking": "B" * 43 + "="},
            False,
        ),
        (
            edge_protocol.RoundAsked,
            {"id": "a", "profile": "small", "sealing": "short", "masking": "B" * 43 + "="},
            False,
        ),
        (edge_protocol.RoundTold, {"state": "none"}, True),
        (edge_protocol.RoundTold, {"state": "elsewhere"}, False),
        (edge_protocol.RoundTold, {"state": "rows", "boxes": {"0" * 32: "AAAA"}}, True),
        (edge_protocol.RoundTold, {"state": "rows", "boxes": {"kitchen": "AAAA"}}, False),
        (edge_protocol.SharesSent, {"id": "a", "boxes": {"0" * 32: "not base64!"}}, False),
        (edge_protocol.OpeningSent, {"id": "a", "seeds": {"0" * 32: "AAAA"}}, True),
        (edge_protocol.StatisticsTerms, {"mode": "plain", "k": 3, "least": 30, "most": 400}, True),
        (edge_protocol.StatisticsTerms, {"mode": "loud", "k": 3, "least": 30, "most": 400}, False),
        (edge_protocol.StatisticsTerms, {"mode": "plain", "k": 0, "least": 30, "most": 400}, False),
        (
            edge_protocol.StatisticsTerms,
            {"mode": "plain", "k": 3, "least": 3, "most": 4, "sequences": [["t"] * 13]},
            False,
        ),
    ],
)
def test_messages_of_statistics_are_checked(
    model: type[edge_protocol.Message], said: dict[str, object], is_right: bool
) -> None:
    if is_right:
        assert edge_protocol.read(model, json.dumps(said).encode())
    else:
        with pytest.raises(WireError):
            edge_protocol.read(model, json.dumps(said).encode())
