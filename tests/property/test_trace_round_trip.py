"""Whatever an episode holds, the trace gives it back; also from a file opened anew."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.storage.database import Store
from hearth.storage.trace import StartedStep, Trace
from hearth.types import (
    Answer,
    Asked,
    Disclosure,
    Episode,
    Evidence,
    Label,
    Offer,
    Plan,
    Ref,
    Refusal,
    Request,
    Ruling,
    Step,
    StepResult,
)

texts = st.text(max_size=12)
raw_texts = st.text(st.characters(codec=None), max_size=12)  # lone surrogates too: a request in a wrong encoding
names = st.text("abcxyz_", min_size=1, max_size=6)
floats = st.floats(0, 1e9)
zones = st.sampled_from([dt.UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kathmandu"), ZoneInfo("America/New_York")])
moments = st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2100, 1, 1), timezones=zones)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | raw_texts
plain = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
offers = st.none() | st.builds(Offer, names, texts)
labels = st.builds(Label, st.frozensets(names, max_size=3), st.none() | st.frozensets(names, max_size=2))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    steps = []
    for index in range(draw(st.integers(1, 5))):
        earlier = st.integers(0, index - 1) if index else st.nothing()
        refs = st.builds(Ref, earlier, st.lists(names, max_size=2).map(tuple))
        looks_like_a_ref = st.from_regex(r"\A\\{0,2}<node-\d(\.a)?>\Z")
        values = st.recursive(
            leaves | refs | looks_like_a_ref,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
            max_leaves=5,
        )
        steps.append(
            Step(
                draw(names),
                draw(st.dictionaries(names, values, max_size=3)),
                tuple(draw(st.lists(earlier, max_size=2 if index else 0, unique=True))),
                draw(texts),
                draw(st.none() | earlier),
            )
        )
    ids = st.lists(texts, max_size=2).map(tuple)
    return Plan(tuple(steps), draw(st.floats(0, 1)), draw(texts), draw(ids), draw(ids), draw(ids), draw(offers))


@st.composite
def episodes(draw: st.DrawFn, id: str = "e") -> Episode:
    results = st.builds(
        StepResult,
        st.integers(0, 50),
        st.sampled_from(["done", "failed", "skipped", "denied", "unknown"]),
        plain,
        labels,
        raw_texts,
        names,
        floats,
        st.integers(1, 5),
        texts,
        st.lists(raw_texts, max_size=2).map(tuple),
        fields=st.dictionaries(names, labels, max_size=2),
    )
    unique = draw(st.lists(results, max_size=5, unique_by=lambda result: result.step))
    return Episode(
        id,
        draw(st.builds(Request, raw_texts, moments, raw_texts)),
        draw(st.none() | plans()),
        draw(
            st.none()
            | st.builds(
                Refusal,
                st.sampled_from(["out_of_scope", "needs", "unreadable"]),
                texts,
                st.tuples(texts),
                offers,
                texts,
            )
        ),
        draw(st.none() | st.builds(Ruling, st.sampled_from(["allow", "ask", "deny"]), texts, texts)),
        tuple(sorted(unique, key=lambda result: result.step)),
        draw(
            st.builds(
                Answer,
                raw_texts,
                st.sampled_from(["done", "partly", "refused", "needs", "denied", "failed"]),
                st.lists(st.builds(Evidence, st.integers(0, 50), texts, texts), max_size=2).map(tuple),
            )
        ),
        tuple(draw(st.lists(st.builds(Disclosure, names, st.integers(0, 1 << 40), texts, moments), max_size=2))),
        draw(floats),
        draw(floats),
        draw(st.integers(0, 2)),
        draw(st.lists(st.builds(Asked, texts, st.sampled_from(["once", "never", "nobody"])), max_size=2).map(tuple)),
    )


@pytest.fixture(scope="module")
def open_store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "hearth.db") as store:
        yield store


numbers = itertools.count()


@settings(max_examples=80)
@given(episode=episodes(), n_recorded=st.integers(0, 5), n_started=st.integers(0, 5))
def test_an_episode_read_back_equals_the_one_finished(
    open_store: Store, episode: Episode, n_recorded: int, n_started: int
) -> None:
    id = f"e{next(numbers)}"
    episode = dataclasses.replace(episode, id=id)
    trace = Trace(open_store)
    trace.begin(episode.request, id)
    trace.planned(id, episode.plan, episode.refusal, episode.ruling, episode.planning_ms)
    begun = tuple(
        StartedStep(r.step, "t", r.key, {"v": r.value}, episode.request.now, "none")
        for r in episode.results[:n_started]
    )
    trace.steps(id, finished=(), started=begun)
    trace.steps(id, finished=episode.results[:n_recorded], started=())
    left = next(e for e in Trace(open_store).unfinished() if e.id == id)
    assert (left.request, left.plan, left.refusal, left.ruling) == (
        episode.request, episode.plan, episode.refusal, episode.ruling,
    )  # fmt: skip
    assert left.results == episode.results[:n_recorded]
    assert left.started == begun[n_recorded:]
    trace.finish(episode)
    found = Trace(open_store).episode(id)
    assert found == episode
    assert found.request.now.tzinfo == episode.request.now.tzinfo
