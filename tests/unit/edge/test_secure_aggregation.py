"""Secret sums: exact, for those whose rows came; nothing for fewer than the threshold; nothing for a curious service."""

from __future__ import annotations

import contextlib
import hmac
import itertools

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from hearth.edge.federation import (
    KEY_BYTES,
    SEALED_BYTES,
    Keys,
    Opened,
    Participant,
    Row,
    fingerprint,
    joined,
    pair_mask,
    split,
    stream,
    total,
)
from hearth.errors import StatisticsError

N = 50


def rows_of(n_edges: int) -> dict[str, Row]:
    drawn = np.random.default_rng(1)
    signed = {f"e{k}": drawn.integers(-(2**62), 2**62, N) for k in range(n_edges)}
    return {edge: row.view(np.uint64) for edge, row in signed.items()}


def begun(n_edges: int, least: int = 3) -> tuple[dict[str, Participant], dict[str, Keys]]:
    edges = {f"e{k}": Participant("r1", f"e{k}", least) for k in range(n_edges)}
    return edges, {name: edge.keys for name, edge in edges.items()}


def run(n_edges: int, threshold: int, never_shared: set[str], never_sent: set[str], never_opened: set[str]) -> Row:
    edges, everyone = begun(n_edges)
    rows = rows_of(n_edges)
    boxes = {name: edge.share(everyone, threshold) for name, edge in edges.items() if name not in never_shared}
    hidden = {
        name: edges[name].hide(rows[name], {other: mine[name] for other, mine in boxes.items() if other != name})
        for name in boxes
        if name not in never_sent
    }
    opened = {name: Opened(*edges[name].open(list(hidden))) for name in hidden if name not in never_opened}
    return total("r1", everyone, list(boxes), hidden, opened, threshold)


@pytest.mark.parametrize(
    ("never_shared", "never_sent", "never_opened"),
    [
        (set(), set(), set()),
        ({"e0"}, set(), set()),
        (set(), {"e1"}, set()),
        (set(), set(), {"e2"}),
        ({"e0"}, {"e1"}, {"e2"}),
    ],
)
def test_the_sum_of_those_who_sent_is_exact(
    never_shared: set[str], never_sent: set[str], never_opened: set[str]
) -> None:
    came = [row for name, row in rows_of(7).items() if name not in never_shared | never_sent]
    expected = np.sum(came, axis=0, dtype=np.uint64)
    assert np.array_equal(run(7, 4, never_shared, never_sent, never_opened), expected)


def test_fewer_than_the_threshold_give_no_sum() -> None:
    with pytest.raises(StatisticsError, match="4 are needed"):
        run(6, 4, {"e0"}, set(), {"e1", "e2", "e3"})
    with pytest.raises(StatisticsError, match="4 of those who shared are needed"):
        run(6, 4, {"e0"}, {"e1", "e2"}, set())
    with pytest.raises(StatisticsError, match="4 are needed; the round is left"):
        run(6, 4, {"e0", "e1", "e2"}, set(), set())


def test_a_hidden_row_tells_nothing_of_the_row() -> None:
    edges, everyone = begun(4)
    boxes = {name: edge.share(everyone, 3) for name, edge in edges.items()}
    sent = {other: mine["e0"] for other, mine in boxes.items() if other != "e0"}
    zeros = np.zeros(20_000, dtype=np.uint64)
    hidden = edges["e0"].hide(zeros, sent)
    assert len(np.unique(hidden)) == len(hidden)
    ones = np.unpackbits(hidden.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 0.005


def test_an_edge_shows_both_halves_of_nobody() -> None:
    edges, everyone = begun(4)
    boxes = {name: edge.share(everyone, 3) for name, edge in edges.items()}
    edge = edges["e0"]
    edge.hide(rows_of(4)["e0"], {other: mine["e0"] for other, mine in boxes.items() if other != "e0"})
    seeds, keys = edge.open(["e0", "e1", "e2"])
    assert (set(seeds), set(keys)) == ({"e0", "e1", "e2"}, {"e3"})
    with pytest.raises(StatisticsError, match="opened once"):
        edge.open(["e0", "e1", "e3"])


@pytest.mark.parametrize("arrived", [["e0", "e1"], ["e1", "e2", "e3"], ["e0", "e1", "x"]])
def test_an_edge_opens_only_for_enough_known_edges_and_its_own_row(arrived: list[str]) -> None:
    edges, everyone = begun(4)
    boxes = {name: edge.share(everyone, 3) for name, edge in edges.items()}
    edge = edges["e0"]
    with pytest.raises(StatisticsError, match="after the rows"):
        edge.open(["e0", "e1", "e2"])
    edge.hide(rows_of(4)["e0"], {other: mine["e0"] for other, mine in boxes.items() if other != "e0"})
    with pytest.raises(StatisticsError, match="nothing is opened"):
        edge.open(arrived)


def test_an_edge_leaves_a_round_that_is_not_as_it_should_be() -> None:
    edges, everyone = begun(4)
    edge = edges["e0"]
    two_alike = {**everyone, "e1": everyone["e2"]}
    for wrong, threshold, reason in (
        ({"e0": everyone["e0"], "e1": everyone["e1"]}, 2, "2 edges take part"),
        ({**everyone, "e0": everyone["e1"]}, 3, "does not have this edge"),
        (two_alike, 3, "show one key"),
        (everyone, 2, "not safe"),
        (everyone, 5, "not safe"),
    ):
        with pytest.raises(StatisticsError, match=reason):
            edge.share(wrong, threshold)
    edge.share(everyone, 3)
    with pytest.raises(StatisticsError, match="given in this round already"):
        edge.share(everyone, 3)
    with pytest.raises(ValueError, match="no secret"):
        Participant("r", "e", 1)


def test_a_half_of_the_edges_can_never_be_the_threshold() -> None:
    edges, everyone = begun(9)
    with pytest.raises(StatisticsError, match="not safe"):
        edges["e0"].share(everyone, 4)


def test_shares_of_strangers_or_for_others_are_refused() -> None:
    edges, everyone = begun(4)
    boxes = {name: edge.share(everyone, 3) for name, edge in edges.items()}
    row = rows_of(4)["e0"]
    with pytest.raises(StatisticsError, match="takes no part"):
        edges["e0"].hide(row, {"x": b"?"})
    with pytest.raises(StatisticsError, match="cannot be opened"):
        edges["e0"].hide(row, {"e1": boxes["e1"]["e2"], "e2": boxes["e2"]["e0"]})
    with pytest.raises(StatisticsError, match="cannot be opened"):
        edges["e1"].hide(row, {"e2": b"short", "e3": boxes["e3"]["e1"]})


def test_a_row_is_sent_once() -> None:
    edges, everyone = begun(3)
    with pytest.raises(StatisticsError, match="after the shares"):
        edges["e0"].hide(rows_of(3)["e0"], {})
    boxes = {name: edge.share(everyone, 3) for name, edge in edges.items()}
    mine = {other: sealed["e0"] for other, sealed in boxes.items() if other != "e0"}
    edges["e0"].hide(rows_of(3)["e0"], mine)
    with pytest.raises(StatisticsError, match="sent once"):
        edges["e0"].hide(rows_of(3)["e0"], mine)


def test_a_wrong_share_voids_the_round_rather_than_giving_a_wrong_sum() -> None:
    edges, everyone = begun(4)
    rows = rows_of(4)
    boxes = {name: edge.share(everyone, 3) for name, edge in edges.items()}
    sent = {name: edges[name].hide(rows[name], {o: b[name] for o, b in boxes.items() if o != name}) for name in edges}
    hidden = {name: row for name, row in sent.items() if name != "e3"}
    opened = {name: Opened(*edges[name].open(list(hidden))) for name in hidden}
    assert total("r1", everyone, list(boxes), hidden, opened, 3) is not None
    seeds = {**opened["e1"].seeds, "e0": bytes(66)}
    with pytest.raises(StatisticsError, match="do not belong together"):
        total("r1", everyone, list(boxes), hidden, {**opened, "e1": Opened(seeds, opened["e1"].keys)}, 3)
    keys = {"e3": bytes(65) + b"\x01"}
    with pytest.raises(StatisticsError, match=r"do not belong together|do not give its key"):
        total("r1", everyone, list(boxes), hidden, {**opened, "e1": Opened(opened["e1"].seeds, keys)}, 3)


def test_any_threshold_of_shares_gives_the_secret_and_fewer_do_not() -> None:
    secret = bytes(range(KEY_BYTES))
    shares = split(secret, [1, 2, 3, 4, 5], 3)
    for chosen in itertools.combinations(shares, 3):
        assert joined({place: shares[place] for place in chosen}, 3) == secret
    with pytest.raises(StatisticsError, match="3 are needed"):
        joined({1: shares[1], 2: shares[2]}, 3)
    with contextlib.suppress(StatisticsError):
        assert joined({1: shares[1], 2: shares[2]}, 2) != secret
    for places, threshold in (([1, 2], 3), ([0, 1], 2), ([1, 1], 2), ([1, 2], 0)):
        with pytest.raises(ValueError, match="threshold"):
            split(secret, places, threshold)


def test_the_stream_is_chacha20() -> None:
    """RFC 8439, appendix A.1, test vector 1: key and nonce of zeros."""
    assert stream(bytes(32), 2).tobytes().hex() == "76b8e0ada0f13d90405d6ae55386bd28"


def test_sealed_shares_have_one_length_and_rows_a_fingerprint() -> None:
    edges, everyone = begun(3)
    assert {len(box) for box in edges["e0"].share(everyone, 3).values()} == {SEALED_BYTES}
    row = rows_of(2)
    assert fingerprint(row["e0"]) == fingerprint(row["e0"].copy()) != fingerprint(row["e1"])


# ── Against published vectors ─────────────────────────────────────────────────────────────────────────────

ALICE = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
BOB = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
AGREED = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
"""RFC 7748, section 6.1."""


def hkdf(secret: bytes, info: bytes) -> bytes:
    """RFC 5869 with SHA-256, without salt, one block; by its text."""
    extracted = hmac.digest(bytes(32), secret, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


def test_masks_are_the_stream_of_chacha20() -> None:
    """RFC 8439, appendix A.1, vectors 1 and 2: key and nonce of zeros, blocks 0 and 1."""
    first = (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    )
    second = (
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
    )
    assert stream(bytes(32), 16).astype("<u8").tobytes().hex() == first + second


def test_two_edges_agree_on_a_mask_by_x25519_and_hkdf() -> None:
    alice, bob = map(X25519PrivateKey.from_private_bytes, (ALICE, BOB))
    expected = stream(hkdf(AGREED, b"hearth mask 1 r1"), N)
    for mine, theirs in ((alice, bob), (bob, alice)):
        shown = theirs.public_key().public_bytes_raw()
        assert pair_mask(mine, shown, "r1", N).tolist() == expected.tolist()


def test_shares_are_points_of_a_polynomial() -> None:
    """The example of Shamir's method in Wikipedia: 1234 + 166 x + 94 x², threshold 3."""
    points = {1: 1494, 2: 1942, 3: 2578, 4: 3402, 5: 4414, 6: 5614}
    shares = {place: value.to_bytes(66, "big") for place, value in points.items()}
    for chosen in itertools.combinations(points, 3):
        assert joined({place: shares[place] for place in chosen}, 3) == (1234).to_bytes(KEY_BYTES, "big")


def test_a_row_is_hidden_as_the_paper_says() -> None:
    """Bonawitz et al. 2017, figure 4, round 2: y = x + PRG(b) + Σ over v above u of PRG(s) − Σ over v below u."""
    edges, everyone = begun(4)
    boxes = {name: edge.share(everyone, 3) for name, edge in edges.items()}
    row = rows_of(4)["e1"]
    hidden = edges["e1"].hide(row, {other: mine["e1"] for other, mine in boxes.items() if other != "e1"})
    expected = row + stream(edges["e1"]._own, N)
    for other, sign in (("e0", -1), ("e2", 1), ("e3", 1)):
        secret = edges["e1"]._masking.exchange(X25519PublicKey.from_public_bytes(everyone[other].masking))
        mask = stream(hkdf(secret, b"hearth mask 1 r1"), N)
        expected = expected + mask if sign > 0 else expected - mask
    assert hidden.tolist() == expected.tolist()
