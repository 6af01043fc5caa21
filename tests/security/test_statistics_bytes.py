"""Statistics from hostile hands: bombs, wrong sizes, wrong features, wrong numbers; nothing but a reason comes back."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.errors import StatisticsError
from hearth.planning.ranking.sufficient_statistics import MAGIC, MOST_RAW_BYTES, Statistics, decode, encode
from tests.merging_world import PUBLIC, edge

GIVEN = edge(1, 12).statistics(PUBLIC)
WHOLE = encode(GIVEN)


def parts(data: bytes = WHOLE) -> tuple[dict[str, Any], bytes]:
    _, n = struct.unpack_from("<8sI", data)
    return json.loads(data[12 : 12 + n]), data[12 + n :]


def put(header: object, body: bytes) -> bytes:
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<8sI", MAGIC, len(head)) + head + body


def changed(**fields: object) -> bytes:
    header, body = parts()
    return put({**header, **fields}, body)


def test_what_is_written_is_read_again() -> None:
    back = decode(WHOLE, {GIVEN.fingerprint})
    assert back.digest == GIVEN.digest
    assert encode(back) == WHOLE
    assert len(WHOLE) < GIVEN.sums.gram.nbytes


def test_no_byte_of_a_request_or_an_id_is_in_it() -> None:
    for word in (b"Ulm", b"pizza", b"d1000", b"please"):
        assert word not in WHOLE.replace(b"order_pizza", b"")


def test_other_features_are_refused_before_anything_is_unpacked() -> None:
    header, _ = parts()
    with pytest.raises(StatisticsError, match="expected is one of"):
        decode(put(header, b""), {"another; reading"})


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": 1}, "version 1"),
        ({"version": None}, "version None"),
        ({"n_words": 10**9}, "n_words"),
        ({"n_words": 0}, "n_words"),
        ({"n_words": 300}, "no part of"),
        ({"n_cosines": 1.5}, "n_cosines"),
        ({"n_demonstrations": -1}, "n_demonstrations"),
        ({"n_demonstrations": "12"}, "n_demonstrations"),
        ({"n_demonstrations": 11}, "sequences"),
        ({"n_rows": 10_000}, "rows"),
        ({"encoder": "../x y"}, "encoder"),
        ({"more": 1}, "more"),
        ({"tools": ["a b"]}, "tools"),
        ({"tools": []}, "number that they do not list"),
        ({"outputs": [[0, 0]] * 60_000}, "outputs"),
        ({"outputs": [[4, 0]]}, "names no output"),
        ({"outputs": [[3, -1]]}, "names no output"),
        ({"outputs": [[0, -1]]}, "names no output"),
        ({"outputs": [[2, 7]]}, "names no output"),
        ({"outputs": [[0, 0], [0, 0]]}, "size"),
        ({"sequences": [[[0], 12]]}, "as often"),
        ({"sequences": [[[], 12]]}, "no steps"),
        ({"sequences": [[[0] * 40, 12]]}, "more than 12"),
        ({"sequences": [[[0], -12]]}, "sequences"),
        ({"links": []}, "links"),
        ({"parts": []}, "parts"),
        ({"seed": -1}, "seed"),
        ({"seed": 5}, ""),
    ],
)
def test_a_header_that_is_not_right_is_refused_with_the_reason(fields: dict[str, object], reason: str) -> None:
    if fields == {"seed": 5}:
        with pytest.raises(StatisticsError, match="expected is one of"):
            decode(changed(**fields), {GIVEN.fingerprint})
        return
    with pytest.raises(StatisticsError, match=reason):
        decode(changed(**fields))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        b"\x80\x04\x95pickle",
        MAGIC,
        MAGIC + b"\xff\xff\xff\xff",
        put(b"{", b""),
        put(b"[" * 100_000, b""),
        put(b"NaN", b""),
        put(b"[]", b""),
        put({}, b""),
        WHOLE[:-1],
        WHOLE + b"\0",
        WHOLE[:200],
    ],
)
def test_bytes_that_are_no_statistics_are_refused(data: bytes) -> None:
    with pytest.raises(StatisticsError):
        decode(data)


def repacked(place: int, raw: bytes, kind: str | None = None) -> bytes:
    header, body = parts()
    bodies, start = [], 0
    for part in header["parts"]:
        bodies.append(body[start : start + part["n_bytes"]])
        start += part["n_bytes"]
    bodies[place] = raw
    header["parts"][place] = {"type": kind or header["parts"][place]["type"], "n_bytes": len(raw)}
    return put(header, b"".join(bodies))


@pytest.mark.parametrize("place", range(3))
def test_a_bomb_stops_at_the_size_that_was_said(place: int) -> None:
    bomb = zlib.compress(bytes(50_000_000), 9)
    assert len(bomb) < 60_000
    with pytest.raises(StatisticsError, match="another size"):
        decode(repacked(place, bomb))
    with pytest.raises(StatisticsError, match="damaged"):
        decode(repacked(place, b"no deflate"))
    with pytest.raises(StatisticsError, match="another size"):
        decode(repacked(place, zlib.compress(b"")))


def test_sizes_that_are_too_large_are_refused_before_they_are_made() -> None:
    header, body = parts()
    wide = {**header, "n_inputs": 8192}
    wide["parts"] = [{**part, "type": "i8"} for part in header["parts"]]
    with pytest.raises(StatisticsError, match=f"at most {MOST_RAW_BYTES}"):
        decode(put(wide, body))


def with_sums(**fields: object) -> Statistics:
    return replace(GIVEN, sums=replace(GIVEN.sums, **fields))  # type: ignore[arg-type]


FIRST = np.zeros_like(GIVEN.sums.moments)
FIRST[0, [output.startswith("n ") for output in GIVEN.sums.outputs].index(True)] = 1


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (with_sums(gram=GIVEN.sums.gram + 2**55), "larger than"),
        (with_sums(gram=-GIVEN.sums.gram), "negative"),
        (with_sums(gram=GIVEN.sums.gram * 4), "longer"),
        (with_sums(moments=-GIVEN.sums.moments * 9), "exceed"),
        (with_sums(moments=GIVEN.sums.moments[::-1].copy()), "exceed|same demonstrations"),
        (with_sums(mass=GIVEN.sums.mass + 1), "as often"),
        (replace(GIVEN, n_demonstrations=13, sums=replace(GIVEN.sums, n_rows=13)), "as many"),
        (with_sums(moments=GIVEN.sums.moments - FIRST), "same demonstrations"),
    ],
)
def test_sums_that_no_demonstrations_have_are_refused(wrong: Statistics, reason: str) -> None:
    with pytest.raises(StatisticsError, match=f"no demonstrations have such sums.*({reason})"):
        decode(encode(wrong))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_whatever_is_changed_gives_statistics_or_a_reason(data: st.DataObject) -> None:
    whole = bytearray(WHOLE)
    way = data.draw(st.sampled_from(["flip", "cut", "insert", "header"]))
    if way == "header":
        header, body = parts()
        field = data.draw(st.sampled_from(sorted(header)))
        json_values = st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
            max_leaves=6,
        )
        header[field] = data.draw(json_values)
        whole = bytearray(put(header, body))
    else:
        place = data.draw(st.integers(0, len(whole) - 1))
        if way == "flip":
            whole[place] ^= data.draw(st.integers(1, 255))
        elif way == "cut":
            del whole[place : place + data.draw(st.integers(1, 50))]
        else:
            whole[place:place] = data.draw(st.binary(min_size=1, max_size=50))
    try:
        found = decode(bytes(whole), {GIVEN.fingerprint})
    except StatisticsError:
        return
    assert encode(found)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_behind_the_magic_give_a_reason(data: bytes) -> None:
    with pytest.raises(StatisticsError):
        decode(MAGIC + data)
