"""Demonstrations, found by how much a request is like theirs."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import hashlib
import itertools
import json
import re
import struct
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearth.formats.plans import plan_from_json, plan_to_json
from hearth.language.thesaurus import MARKS, all_concepts, concepts
from hearth.models.intent_classifier import IntentClassifier, shipped_classifier
from hearth.planning.adaptation import POLITE, words_of
from hearth.planning.arguments.alignment import (
    LESSON_VERSION,
    SLOT_WORDS,
    Lesson,
    LessonStep,
    Result,
    Token,
    flat,
    form_of,
    lesson_from_json,
    lesson_to_json,
    lessons_of,
)
from hearth.planning.arguments.alignment import Said as SaidWords
from hearth.planning.tool_heads import (
    CLASSIFIER_SHARE,
    HeadPrior,
    Said,
    ToolHeads,
    prior_in,
    read_taken,
    shipped_prior,
    shipped_tools,
)
from hearth.protocols import Encoder
from hearth.storage.database import Store
from hearth.types import Demonstration, ToolSpec

# ── Similarity ────────────────────────────────────────────────────────────────────────────────────────────
# Measures how similar two requests are in what they ask for, whatever they are about.
#
# A request's form is a unit vector: its sentence embedding, with every value said in it replaced by a stand-in,
# beside its concepts (`language.thesaurus`). The product of two is their likeness, in [0, 1] for any two requests
# that ask for the same kind of thing. Not covered: meaning beyond the encoder's and the thesaurus's.

_KINDS = (*MARKS, *(kind + n for kind in SLOT_WORDS for n in ("", "2")))
_WEIGHTS = {"lead": 1.3, "thing": 1.2, "do": 0.8, "has": 0.7}
_COMMON = {
    "lead:ask": 0.7,
    "lead:find": 0.8,
    "do:find": 0.6,
    "do:add": 0.7,
    "do:make": 0.7,
    "has:?": 0.5,
    **{f"has:{mark}": 0.4 for mark in MARKS[1:]},
}
"""Factors of concepts that many requests share, which say less."""
_CONCEPT_SHARE = 0.6
"""Share of the concepts in the squared length of a form; the embedding has the rest."""


class Likeness:
    """Turns requests, lessons and tools into forms. Deterministic."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        names = [*all_concepts(), *(f"has:{kind}" for kind in _KINDS)]
        self._place = {name: index for index, name in enumerate(names)}
        self._weight = np.array(
            [_WEIGHTS[name.partition(":")[0]] * _COMMON.get(name, 1.0) for name in names], dtype=np.float32
        )
        self.dim = encoder.dim + len(names)

    def of_requests(self, texts: Sequence[str], tokens: Sequence[Sequence[Token]]) -> NDArray[np.float32]:
        """Return forms of requests or clauses, shape [n, dim]; `tokens` hold places in the text beside them."""
        forms = [form_of(text, mine) for text, mine in zip(texts, tokens)]
        return self._forms(forms, [concepts([token.word for token in mine]) for mine in tokens])

    def of_lessons(self, lessons: Sequence[Lesson]) -> NDArray[np.float32]:
        """Return forms of lessons without the values said in them, shape [n, dim]."""
        return self._forms([lesson.form for lesson in lessons], [_signs(lesson) for lesson in lessons])

    def of_tools(self, tools: Iterable[ToolSpec]) -> NDArray[np.float32]:
        """Return forms of the tools' names and descriptions, shape [n, dim]."""
        texts = [f"{spec.name.replace('_', ' ')}: {spec.description}" for spec in tools]
        return self._forms(texts, [concepts(re.findall(r"[a-z'-]+", text.lower())) for text in texts])

    def vectors_in(self, forms: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the sentence vectors that forms hold, shape [n, encoder dim]."""
        return forms[:, : self._encoder.dim] / np.float32(np.sqrt(1 - _CONCEPT_SHARE))

    def _forms(self, texts: Sequence[str], signs: Sequence[Iterable[str]]) -> NDArray[np.float32]:
        embedded = self._encoder.encode(texts)
        marked = np.zeros((len(texts), len(self._place)), dtype=np.float32)
        for row, names in enumerate(signs):
            marked[row, [self._place[name] for name in names if name in self._place]] = 1.0
        marked *= self._weight
        lengths = np.linalg.norm(marked, axis=1, keepdims=True)
        marked /= np.where(lengths > 0, lengths, 1.0)
        forms = np.hstack([embedded * np.sqrt(1 - _CONCEPT_SHARE), marked * np.sqrt(_CONCEPT_SHARE)])
        return np.ascontiguousarray(forms, dtype=np.float32)


def _signs(lesson: Lesson) -> set[str]:
    """Return the concepts of the words of asking, and the kinds of all values."""
    words = list(lesson.words)
    kinds = {name for name in concepts(words) if name.startswith("has:")}
    for step in lesson.steps:
        for source in flat(step.sources):
            if isinstance(source, SaidWords):
                for place in range(source.first, source.last):
                    if not words[place].startswith("<"):
                        words[place] = "something"
    return {name for name in concepts(words) if not name.startswith("has:")} | kinds


# ── Episodic index ────────────────────────────────────────────────────────────────────────────────────────
# Indexes every demonstration as lessons: their forms in one matrix, kept in the owner's database.
#
# What is added counts at once and is on disk when `add` returns; what is removed leaves nothing behind. Starting
# reads only forms and tool names (ten thousand demonstrations well under 0.3 s); lessons are read when they are
# needed.

_HEADER = struct.Struct("<HIHHI")
"""Header: version, fingerprint of the encoder, number of lessons, bytes of their tool names, checksum of the rest."""
_OTHER_ENCODER = (
    "the prior {!r} of other devices was made with another encoder than this home's, so I plan without it; "
    "`hearth learn prior FILE` takes one made with this encoder, `hearth learn prior --remove` takes it away"
)
SHIPPED = "shipped"
_MANY_READ = 400
_ROOM = 128
"""Least number of rows for which room is made at once."""
_PROBE = "the same words always have the same vector"


@dataclass(frozen=True, slots=True)
class Row:
    """One lesson, as a row of the matrix."""

    id: str
    number: int
    """Number of the lesson within the demonstration."""
    tools: tuple[str, ...]
    """Tools of its steps."""
    leaves: tuple[str, ...]
    """Tools whose results no other step uses: what was asked for."""
    is_part: bool
    """True for one clause of a longer request."""
    has_outside: bool
    """True when it uses the result of another clause."""
    is_long: bool
    """True for a whole request of several clauses."""
    reads: int
    """Hash of its words: requests that read the same share it."""


class _Vectors:
    """Rows of numbers with room for some more: adding a few copies these few."""

    def __init__(self, width: int, kind: type[np.floating]) -> None:
        self._held = np.zeros((0, width), dtype=kind)
        self._n = 0

    @property
    def rows(self) -> NDArray[Any]:
        """The rows, shape [n, width]; not to be written."""
        return self._held[: self._n]

    def add(self, rows: NDArray[Any]) -> None:
        n = self._n + len(rows)
        if n > len(self._held):
            held = np.zeros((n + max(_ROOM, n // 16), self._held.shape[1]), dtype=self._held.dtype)
            held[: self._n] = self.rows
            self._held = held
        self._held[self._n : n] = rows
        self._n = n

    def keep(self, places: Sequence[int]) -> None:
        """Leave out all rows but some; of the others nothing stays in memory."""
        self._held, self._n = np.ascontiguousarray(self._held[places]), len(places)


class _Places:
    """Where rows stand: by what was asked for, by tools, words and sources, oldest first."""

    def __init__(self) -> None:
        self.n = 0
        self.by_leaf: dict[str, list[int]] = {}
        self.by_tool: dict[str, list[int]] = {}
        """Clauses, if a request has several."""
        self.by_words: dict[int, list[int]] = {}
        self.by_source: dict[str, list[int]] = {}
        """Whole requests."""
        self.whole: dict[str, int] = {}
        """Per demonstration its whole request."""
        self.of_own_tools: dict[str, Row] = {}
        """Per demonstration its whole request, where it has a tool that does not ship."""

    def add(self, rows: Sequence[Row], source_of: Callable[[str], str]) -> None:
        """Add the rows that follow; those of one demonstration come together."""
        for k, row in enumerate(rows):
            place = self.n + k
            self.by_words.setdefault(row.reads, []).append(place)
            if not row.number:
                self.whole[row.id] = place
                self.by_source.setdefault(source_of(row.id), []).append(place)
                if not shipped_tools().issuperset(row.tools):
                    self.of_own_tools[row.id] = row
            for leaf in dict.fromkeys(row.leaves):
                self.by_leaf.setdefault(leaf, []).append(place)
            if not row.is_long or not has_parts(rows, k):
                for tool in dict.fromkeys(row.tools):
                    self.by_tool.setdefault(tool, []).append(place)
        self.n += len(rows)


def has_parts(rows: Sequence[Row], place: int) -> bool:
    """Return whether rows of the request's clauses follow."""
    return place + 1 < len(rows) and rows[place + 1].id == rows[place].id


class Remembered:
    """Demonstrations searchable by similarity. Not thread-safe for writing."""

    def __init__(
        self,
        encoder: Encoder,
        store: Store | None,
        prior: HeadPrior | None = None,
        classifier: IntentClassifier | None = None,
    ) -> None:
        self.likeness = Likeness(encoder)
        self._encoder = encoder
        self._prior = prior
        self._classifier = classifier
        self.rows: list[Row] = []
        self._store = store
        self._sources: dict[str, str] = {}
        self._texts: dict[str, tuple[str, str, str | None]] = {}
        """Of what is in memory alone: id → (request, plan JSON, now)."""
        self._digests: dict[str, str] = {}
        """With a store: digest of each demonstration as it was read there."""
        self._forms = _Vectors(self.likeness.dim, np.float32)
        self._lessons: dict[str, tuple[Lesson, ...]] = {}
        self._places: _Places | None = None
        self._said = _Vectors(encoder.dim, np.float16)
        """Per row the sentence vector of its plain words."""
        self._heads: ToolHeads | None = None
        self._prior_name = ""
        """Name of the prior of others' that the home took; empty for what ships."""
        self.prior_fault = ""
        """Why the heads do not begin with it, once they were needed, in words for the owner; empty when they do."""
        self._by_text: dict[int, dict[str, None]] | None = None
        self._beside: dict[frozenset[str], list[str]] = {}
        """By sources, the requests from all others."""
        probe = np.round(encoder.encode([_PROBE])[0], 1).astype(np.int8).tobytes()
        self.fingerprint = zlib.crc32(" ".join(all_concepts()).encode(), zlib.crc32(probe))
        self.is_long = np.zeros(0, dtype=np.bool_)
        """Per row, whether it is a whole request of several clauses."""
        self.refers = np.zeros(0, dtype=np.bool_)
        """Per row, whether it uses the result of another clause."""
        self._left_out = ""
        """Id of the demonstration that is left out just now."""
        self._is_supposing = False
        """Whether something is counted as taught or forgotten that the store does not hold so."""
        self.n_changes = 0
        """Counter that grows with every change, so that derived data can be rebuilt."""
        self._version = 0
        if store is not None:
            self._version = self._version_of(store)
            self._load(store)

    def __len__(self) -> int:
        return len(self._sources)

    def ids(self, source: str | None = None) -> tuple[str, ...]:
        """Return ids of all demonstrations, or of those from one source (`shipped`, `owner`, …)."""
        return tuple(id for id, from_ in self._sources.items() if source is None or from_ == source)

    def ids_beside(self, sources: Collection[str]) -> tuple[str, ...]:
        """Return ids of all demonstrations that are not from these sources."""
        return tuple(id for id, source in self._sources.items() if source not in sources)

    # ── Adding and removing ───────────────────────────────────────────────────────────────────────────────

    def add(self, demonstrations: Iterable[Demonstration]) -> set[str]:
        """Learn demonstrations; one with a known id replaces the older one.

        All are on disk, or none, when this returns or raises.

        Returns:
            The tools of which something was learned or forgotten.
        """
        return self._taken(demonstrations, is_kept=self._store is not None)

    def suppose(self, demonstrations: Iterable[Demonstration], gone: Sequence[str] = ()) -> None:
        """Count demonstrations as learned, and others as forgotten, in memory alone: the store stays as it is.

        From then on, what others teach there is not read, and nothing that they forget or change ends what is supposed.
        """
        self._is_supposing = True
        self._drop([id for id in gone if id in self._sources])
        self._taken(demonstrations, is_kept=False)
        self._changed()

    def write_supposed(self) -> None:
        """Write the forms of what was supposed and is in the store by now, so that they need not be made again."""
        found = []
        for id, (request, plan, _) in self._texts.items():
            first = self.place_of(id)
            places = slice(first, first + len(self._lessons[id]))
            blob = self._packed(self._lessons[id], self._forms.rows[places], self._said.rows[places])
            found.append((plan, blob, id, request))
        with self._require_store().transaction() as cursor:
            cursor.executemany("UPDATE demonstration SET plan_json=?, vector=? WHERE id=? AND request=?", found)

    def _taken(self, demonstrations: Iterable[Demonstration], *, is_kept: bool) -> set[str]:
        fresh = {d.id: d for d in demonstrations}
        if not fresh:
            return set()
        lessons, forms, plain, texts = _explained(list(fresh.values()), self.likeness, self._encoder)
        if is_kept:
            self._write(fresh.values(), lessons, texts, forms, plain)
        tools = self._drop([id for id in fresh if id in self._sources])
        if not is_kept:
            self._texts.update(texts)
        else:
            for start in range(0, len(fresh), 400):
                self._digests |= self._digests_of(self._require_store(), list(fresh)[start : start + 400])
        self._forms.add(forms.astype(np.float16).astype(np.float32))
        self._said.add(plain)
        n_before = len(self.rows)
        self._forget_requests({d.source for d in fresh.values()})
        for id, many in lessons.items():
            self._sources[id] = fresh[id].source
            self.rows += _rows(id, many)
            self._lessons[id] = many
        self._changed(n_before)
        self._hear(list(lessons))
        self._teach(range(n_before, len(self.rows)))
        return tools.union(*(row.tools for row in self.rows[n_before:]))

    def _write(
        self,
        fresh: Iterable[Demonstration],
        lessons: Mapping[str, Sequence[Lesson]],
        texts: Mapping[str, tuple[str, str, str | None]],
        forms: NDArray[np.float32],
        plain: NDArray[np.float16],
    ) -> None:
        added = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        rows = []
        start = 0
        for d in fresh:
            end = start + len(lessons[d.id])
            blob = self._packed(lessons[d.id], forms[start:end], plain[start:end])
            rows.append((d.id, *texts[d.id][:2], d.source, texts[d.id][2], blob, added))
            start = end
        with self._require_store().transaction() as cursor:
            cursor.executemany(
                # Not REPLACE, which would drop the other columns.
                "INSERT INTO demonstration (id, request, plan_json, source, now, vector, added) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET request=excluded.request, "
                "plan_json=excluded.plan_json, source=excluded.source, now=excluded.now, vector=excluded.vector",
                rows,
            )

    def remove(self, ids: Sequence[str]) -> set[str]:
        """Forget demonstrations; unknown ids are ignored.

        Returns:
            The tools of which something was forgotten.
        """
        known = [id for id in dict.fromkeys(ids) if id in self._sources]
        if not known:
            return set()
        if self._store is not None:
            with self._store.transaction() as cursor:
                cursor.executemany("DELETE FROM demonstration WHERE id = ?", [(id,) for id in known])
        tools = self._drop(known)
        self._changed()
        return tools

    def _drop(self, ids: Sequence[str]) -> set[str]:
        if not ids:
            return set()
        gone = set(ids)
        if self._heads is not None:
            self._heads.forget(_key(row) for row in self.rows if row.id in gone)
        tools = {tool for row in self.rows if row.id in gone for tool in row.tools}
        kept = [index for index, row in enumerate(self.rows) if row.id not in gone]
        self._forms.keep(kept)
        self._said.keep(kept)
        self.rows = [self.rows[index] for index in kept]
        self.is_long, self.refers, self._places = self.is_long[kept], self.refers[kept], None
        self._forget_requests({self._sources[id] for id in gone})
        for same in (self._by_text or {}).values():
            for id in gone & same.keys():
                del same[id]
        for id in gone:
            self._sources.pop(id, None)
            self._digests.pop(id, None)
            self._texts.pop(id, None)
            self._lessons.pop(id, None)
        return tools

    def _forget_requests(self, sources: Collection[str]) -> None:
        """Read requests again when next needed, where those from some sources are others."""
        self._beside = {own: found for own, found in self._beside.items() if own.issuperset(sources)}

    def _changed(self, first: int = 0) -> None:
        """Count rows anew from `first` on in what is derived from them; those before have not moved."""
        first = min(first, len(self.is_long))  # fewer, where what was taught before broke off
        fresh = self.rows[first:]
        self.is_long = np.append(self.is_long[:first], np.array([row.is_long for row in fresh], dtype=np.bool_))
        self.refers = np.append(self.refers[:first], np.array([row.has_outside for row in fresh], dtype=np.bool_))
        if self._places is not None and first == self._places.n:
            self._places.add(fresh, self.source_of)
        else:
            self._places = None
        self.n_changes += 1

    # ── On disk ───────────────────────────────────────────────────────────────────────────────────────────

    def _packed(self, lessons: Sequence[Lesson], forms: NDArray[np.float32], plain: NDArray[np.float16]) -> bytes:
        names = "|".join(_name_of(row) for row in _rows("", lessons)).encode()
        body = names + forms.astype(np.float16).tobytes() + plain.tobytes()
        return _HEADER.pack(LESSON_VERSION, self.fingerprint, len(lessons), len(names), zlib.crc32(body)) + body

    def refresh(self) -> set[str]:
        """Read what another process taught or forgot meanwhile, and return the tools concerned."""
        if self._store is None or (version := self._version_of(self._store)) == self._version:
            return set()
        self._version = version
        if self._heads is not None and prior_in(self._store) != self._prior_name:
            self._heads = None
        there = self._digests_of(self._store)
        supposed = self._texts if self._is_supposing else {}
        before = [id for id in self._sources if id not in supposed]
        tools = self._drop([id for id in before if there.get(id) != self._digests.get(id, "")])
        may_be_new = set(before) if self._is_supposing else there
        new = [id for id in there if id not in self._sources and id in may_be_new]  # as taught: the newest counts
        n_before = len(self.rows)
        for start in range(0, len(new), 400):
            self._load(self._store, new[start : start + 400])
        if tools or new:
            self._teach(range(n_before, len(self.rows)))
            self._hear(new)
            self._changed()
        return tools.union(*(row.tools for row in self.rows[n_before:]))

    def _digests_of(self, store: Store, ids: Sequence[str] = ()) -> dict[str, str]:
        """Return digests of what is stored, of some ids or all, oldest first."""
        chosen = f" WHERE id IN ({','.join('?' * len(ids))})" if ids else ""
        query = f"SELECT id, coalesce(digest, '') FROM demonstration{chosen} ORDER BY rowid"  # noqa: S608 - question marks only
        return {row[0]: row[1] for row in store.query(query, tuple(ids))}

    def _version_of(self, store: Store) -> int:
        """Return a number that changes when another connection writes."""
        return int(store.query("PRAGMA data_version")[0][0])

    def _load(self, store: Store, ids: Sequence[str] = ()) -> None:
        """Read forms and tool names, of some ids or all.

        Demonstrations aligned by an older Hearth or encoder, or whose vectors are damaged, are aligned anew.
        """
        wanted = ids or [row[0] for row in store.query("SELECT id FROM demonstration ORDER BY rowid")]
        stale: list[str] = []
        forms, said = [], []
        # Some at a time: of all at once, the memory that was needed for a moment stays with the process (25 MB).
        for start in range(0, len(wanted), _MANY_READ):
            of_forms, of_words = self._read_vectors(store, wanted[start : start + _MANY_READ], stale)
            forms.append(of_forms)
            said.append(of_words)
        if wanted:
            self._forms.add(np.vstack(forms))
            self._said.add(np.vstack(said))
        self._beside = {}
        self._changed()
        for start in range(0, len(stale), 200):
            self.add(self._as_written(id) for id in stale[start : start + 200])

    def _read_vectors(
        self, store: Store, ids: Sequence[str], stale: list[str]
    ) -> tuple[NDArray[np.float32], NDArray[np.float16]]:
        """Add rows of `ids` and return their vectors: of their forms and of their plain words; what was aligned by
        another Hearth, or is damaged, is added to `stale`."""
        width, plain_width = self.likeness.dim * 2, self._encoder.dim * 2
        forms: list[bytes] = []
        plain: list[bytes] = []
        marks = ",".join("?" * len(ids))
        for id, source, blob, digest in store.query(
            f"SELECT id, source, vector, coalesce(digest, '') FROM demonstration WHERE id IN ({marks}) ORDER BY rowid",  # noqa: S608 - question marks only
            tuple(ids),
        ):
            rows = self._unpacked(id, blob, width + plain_width)
            if rows is None:
                stale.append(id)
                continue
            self._sources[id], self._digests[id] = source, digest
            self.rows += rows
            end = len(blob) - len(rows) * plain_width
            forms.append(blob[end - len(rows) * width : end])
            plain.append(blob[end:])
        packed = np.frombuffer(b"".join(forms), dtype=np.float16).reshape(-1, self.likeness.dim)
        read = np.frombuffer(b"".join(plain), dtype=np.float16).reshape(-1, self._encoder.dim)
        return packed.astype(np.float32), read

    def _unpacked(self, id: str, blob: bytes | None, width: int) -> list[Row] | None:
        """Return the rows of a demonstration; None where its vectors are of another Hearth or encoder, or damaged."""
        if blob is None or len(blob) < _HEADER.size:
            return None
        version, fingerprint, n_lessons, n_names, checksum = _HEADER.unpack_from(blob)
        if (version, fingerprint) != (LESSON_VERSION, self.fingerprint):
            return None
        if len(blob) != _HEADER.size + n_names + n_lessons * width or zlib.crc32(blob[_HEADER.size :]) != checksum:
            return None
        names = blob[_HEADER.size : _HEADER.size + n_names].decode()
        return [_row_of(id, number, name) for number, name in enumerate(names.split("|"))]

    def _as_written(self, id: str) -> Demonstration:
        (row,) = self._require_store().query(
            "SELECT request, plan_json, source, now FROM demonstration WHERE id = ?", (id,)
        )
        now = dt.datetime.fromisoformat(row["now"]) if row["now"] else None
        plan = plan_from_json(json.loads(row["plan_json"]))
        return Demonstration(id, row["request"], plan, source=row["source"], now=now)

    def _require_store(self) -> Store:
        assert self._store is not None
        return self._store

    # ── Reading ───────────────────────────────────────────────────────────────────────────────────────────

    def likenesses(self, forms: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the similarity of each row to each of `forms`, shape [rows, n]; -1 for rows that are left out."""
        likeness: NDArray[np.float32] = (forms @ self._forms.rows.T).T  # this way round BLAS reads the matrix once
        likeness[[k for k, _ in self._rows_left_out()]] = -1.0
        return likeness

    @contextlib.contextmanager
    def leaving_out(self, id: str) -> Iterator[set[str]]:
        """Answer as if one demonstration had not been learned; its tools are given."""
        self._left_out = id
        try:
            yield {tool for _, row in self._rows_left_out() for tool in row.tools}
        finally:
            self._left_out = ""

    def is_left_out(self, id: str) -> bool:
        """Return whether one demonstration is left out just now."""
        return id == self._left_out

    def _rows_left_out(self) -> list[tuple[int, Row]]:
        if self._left_out not in self._sources:
            return []
        first = self.place_of(self._left_out)
        found = itertools.takewhile(lambda row: row.id == self._left_out, self.rows[first:])
        return list(enumerate(found, first))

    def place_of(self, id: str) -> int:
        """Return the row of a demonstration's whole request. Raises: KeyError: It is not remembered."""
        return self._standing().whole[id]

    def _standing(self) -> _Places:
        if self._places is None:
            self._places = _Places()
            self._places.add(self.rows, self.source_of)
        return self._places

    def nearest(self, ids: Sequence[str], n: int) -> list[list[tuple[str, float]]]:
        """Return for each demonstration the `n` others most similar to it, with their likeness, nearest first."""
        whole = np.array([k for k, row in enumerate(self.rows) if not row.number], dtype=np.int64)
        likeness = self._forms.rows[[self.place_of(id) for id in ids]] @ self._forms.rows[whole].T
        found = []
        for id, mine in zip(ids, likeness, strict=True):
            near = [(self.rows[whole[k]].id, float(mine[k])) for k in np.argsort(-mine, kind="stable")[: n + 1]]
            found.append([(other, alike) for other, alike in near if other != id][:n])
        return found

    def vector(self, id: str) -> NDArray[np.float64]:
        """Return the sentence vector of a demonstration's request. Raises: KeyError: It is not remembered."""
        return np.asarray(self._said.rows[self.place_of(id)], dtype=np.float64)

    def of_own_tools(self) -> Mapping[str, Row]:
        """Return by id the whole requests with a tool that does not ship: all that is known of it was taught here."""
        return self._standing().of_own_tools

    def vectors(self, id: str) -> NDArray[np.float32]:
        """Return the sentence vectors of a demonstration's lessons, shape [n_lessons, dim]. Raises: KeyError."""
        first = self.place_of(id)
        rows = itertools.takewhile(lambda row: row.id == id, self.rows[first:])
        return self._said.rows[first : first + sum(1 for _ in rows)].astype(np.float32)

    @property
    def left_out(self) -> str:
        """Return the id of the demonstration that is left out just now; empty when none is."""
        return self._left_out

    def tools_of(self, id: str) -> tuple[str, ...]:
        """Return the tools of a demonstration's plan, in order. Raises: KeyError: It is not remembered."""
        return self.rows[self.place_of(id)].tools

    def meant(self, said: Said) -> list[Mapping[str, float]]:
        """Return how much the heads find each tool meant by requests."""
        return self.heads().scores(said, [_key(row) for _, row in self._rows_left_out()])

    def digest(self) -> str:
        """Return a SHA-256 of all that plans, weights and forms; the order of learning does not matter."""
        place, weights = self.heads().solved()
        found = hashlib.sha256(json.dumps(place).encode())
        found.update(weights.tobytes())
        for k in sorted(range(len(self.rows)), key=lambda k: (self.rows[k].id, self.rows[k].number)):
            found.update(repr(self.rows[k]).encode(errors="surrogatepass"))
            found.update(self._forms.rows[k].tobytes() + self._said.rows[k].tobytes())
        return found.hexdigest()

    def lesson(self, row: Row) -> Lesson:
        return self.lessons(row.id)[row.number]

    def lessons(self, id: str) -> tuple[Lesson, ...]:
        """Return the lessons of one demonstration."""
        found = self._lessons.get(id)
        if found is None:
            found = self._lessons[id] = self._read([id])[id]
        return found

    def heads(self) -> ToolHeads:
        """Return the heads, which know all that is remembered; taught at first need, then kept up to date."""
        if self._heads is None:
            taken = self._joined_heads()
            prior = self._fitting(self._prior, taken, shipped_prior())
            is_foreign = taken is not None and not taken.fits(self._encoder)
            self.prior_fault = _OTHER_ENCODER.format(self._prior_name) if is_foreign else ""
            classifier = self.classifier if prior is not None else None
            if prior is not None and classifier is None:  # a damaged one: the weights speak alone
                prior = replace(prior, weights=prior.weights / (1 - CLASSIFIER_SHARE))
            self._heads = ToolHeads(self._encoder.dim, prior, classifier)
            self._teach(range(len(self.rows)))
        return self._heads

    @functools.cached_property
    def classifier(self) -> IntentClassifier | None:
        """What is known of intents before anything is taught here; None with another encoder than it was made with."""
        prior = self._fitting(self._prior, shipped_prior())
        return self._classifier or shipped_classifier() if prior is not None else None

    def _fitting(self, *priors: HeadPrior | None) -> HeadPrior | None:
        """Return the first prior that was made with this encoder."""
        return next((prior for prior in priors if prior is not None and prior.fits(self._encoder)), None)

    def _joined_heads(self) -> HeadPrior | None:
        """Return the heads of the prior that the home took, if it has one."""
        if self._store is None:
            return None
        self._prior_name = prior_in(self._store)
        return read_taken(self._store.path.parent / "learned", self._prior_name)

    def _teach(self, places: Iterable[int]) -> None:
        """Teach single requests and clauses to the heads, without those that the shipped heads know."""
        if self._heads is None:
            return
        knows_shipped = self._heads.has_prior
        chosen = [
            k
            for k in places
            if not self.rows[k].is_long and not (knows_shipped and self.source_of(self.rows[k].id) == SHIPPED)
        ]
        if chosen:
            self.fetch(self.rows[k].id for k in chosen)
            lessons = [self.lesson(self.rows[k]) for k in chosen]
            vectors = self._said.rows[chosen].astype(np.float32)
            said = Said([one.plain for one in lessons], vectors, [one.words for one in lessons])
            self._heads.teach([_key(self.rows[k]) for k in chosen], said, [self.rows[k].leaves for k in chosen])

    def is_owners(self, place: int) -> bool:
        """Return whether the owner taught a row: a correction."""
        return self.source_of(self.rows[place].id) == "owner"

    def source_of(self, id: str) -> str:
        """Return where a demonstration came from; empty when it is not remembered."""
        return self._sources.get(id, "")

    def near(
        self, text: str, form: NDArray[np.float32], sources: Collection[str], n: int
    ) -> list[tuple[Demonstration, NDArray[np.float32]]]:
        """Return demonstrations near a request, oldest first, each with its form.

        These are the `n` from some sources with the most similar forms, and the newest in the very same words (a form
        leaves out what was said).
        """
        by_source = self._standing().by_source
        own = sorted(itertools.chain(*(by_source.get(source, ()) for source in sources)))
        places = np.array([k for k in own if self.rows[k].id != self._left_out], dtype=np.int64)
        if not len(places):
            return []
        likeness = self._forms.rows[places] @ form
        alike = (id for id in self._in_words().get(said_as(text), {}) if id != self._left_out)
        same = sorted(self.place_of(id) for id in alike if self.source_of(id) in sources)
        corrected = [k for k in same if self.is_owners(k)]
        chosen = sorted({*places[np.argsort(-likeness, kind="stable")[:n]].tolist(), *same[-1:], *corrected[-1:]})
        known = {one.id: one for one in self.demonstrations([self.rows[k].id for k in chosen])}
        return [(known[self.rows[k].id], self._forms.rows[k]) for k in chosen if self.rows[k].id in known]

    def _in_words(self) -> dict[int, dict[str, None]]:
        """Return ids of what was taught here by the words of its requests; built when first needed, then kept."""
        if self._by_text is None:
            self._by_text = {}
            for one in self.demonstrations(self.ids_beside((SHIPPED,))):
                self._by_text.setdefault(said_as(one.request), {})[one.id] = None
        return self._by_text

    def _hear(self, ids: Sequence[str]) -> None:
        """Add the words of what was taught, if words are indexed."""
        if self._by_text is not None:
            for one in self.demonstrations([id for id in ids if self.source_of(id) != SHIPPED]):
                self._by_text.setdefault(said_as(one.request), {})[one.id] = None

    def taught(self, sources: Collection[str]) -> list[Demonstration]:
        """Return the demonstrations from some sources, oldest first."""
        chosen = (id for id, source in self._sources.items() if source in sources and id != self._left_out)
        return self.demonstrations(list(chosen))

    def demonstration(self, id: str) -> Demonstration:
        """Return one demonstration. Raises: KeyError: It is not remembered."""
        for found in self.demonstrations([id]):
            return found
        raise KeyError(id)

    def demonstrations(self, ids: Sequence[str]) -> list[Demonstration]:
        """Return demonstrations as stored, in the order of `ids`, without those that another process forgot."""
        found = {id: self._texts[id] for id in ids if id in self._texts}
        if self._store is not None:
            kept = [id for id in ids if id not in found]
            for start in range(0, len(kept), 400):
                some = kept[start : start + 400]
                marks = ",".join("?" * len(some))
                query = f"SELECT id, request, plan_json, now FROM demonstration WHERE id IN ({marks})"  # noqa: S608 - question marks only
                found |= {row[0]: (row[1], row[2], row[3]) for row in self._store.query(query, tuple(some))}
        return [
            Demonstration(id, request, plan_from_json(json.loads(plan)), source=self.source_of(id), now=_moment(now))
            for id, (request, plan, now) in ((id, found[id]) for id in ids if id in found)
        ]

    def requests_beside(self, sources: Collection[str]) -> list[str]:
        """Return the requests of all demonstrations that are not from these sources."""
        own = frozenset(sources)
        if own in self._beside:
            return self._beside[own]
        found = [self._texts[id][0] for id in self._texts if self._sources[id] not in sources]
        if self._store is not None:
            marks = ",".join("?" * len(sources))
            query = f"SELECT id, request FROM demonstration WHERE source NOT IN ({marks})"  # noqa: S608 - question marks only
            known = self._sources.keys() - self._texts.keys()
            found += [str(row[1]) for row in self._store.query(query, tuple(sources)) if row[0] in known]
        self._beside[own] = found
        return found

    def that_read(self, words: Sequence[str]) -> list[int]:
        """Return the rows that read exactly like this, newest first."""
        return self._standing().by_words.get(reads_as(words), [])[::-1]

    def newest_with(self, tool: str, n: int) -> list[Lesson]:
        """Return at most `n` lessons with a step of `tool`, newest first: clauses if a request has several."""
        chosen = [self.rows[index] for index in self._standing().by_tool.get(tool, [])[: -n - 2 : -1]]
        chosen = [row for row in chosen if row.id != self._left_out][:n]
        self.fetch(row.id for row in chosen)
        return [self.lesson(row) for row in chosen]

    def sample(self, n_per_tool: int, n: int) -> list[Lesson]:
        """Return at most `n` lessons, the newest few of each tool."""
        n_of: dict[str, int] = {}
        chosen: list[Row] = []
        for index in range(len(self.rows) - 1, -1, -1):
            row = self.rows[index]
            if len(chosen) == n:
                break
            if any(n_of.get(tool, 0) < n_per_tool for tool in row.leaves) and not (
                row.is_long and has_parts(self.rows, index)
            ):
                chosen.append(row)
                for tool in row.leaves:
                    n_of[tool] = n_of.get(tool, 0) + 1
        self.fetch(row.id for row in chosen)
        return [self.lesson(row) for row in chosen]

    def with_leaf(self, tool: str) -> list[int]:
        """Return rows that were asked for `tool`, oldest first."""
        return self._standing().by_leaf.get(tool, [])

    def fetch(self, ids: Iterable[str]) -> None:
        """Read the lessons of many demonstrations at once."""
        wanted = [id for id in dict.fromkeys(ids) if id not in self._lessons]
        for start in range(0, len(wanted), 400):
            self._lessons.update(self._read(wanted[start : start + 400]))

    def _read(self, ids: Sequence[str]) -> dict[str, tuple[Lesson, ...]]:
        plans = [(id, self._texts[id][1]) for id in ids if id in self._texts]
        if self._store is not None and (kept := [id for id in ids if id not in self._texts]):
            marks = ",".join("?" * len(kept))
            query = f"SELECT id, plan_json FROM demonstration WHERE id IN ({marks})"  # noqa: S608 - question marks only
            plans += [(row["id"], row["plan_json"]) for row in self._store.query(query, kept)]
        return {id: _lessons_in(id, plan) for id, plan in plans}


def _explained(
    fresh: Sequence[Demonstration], likeness: Likeness, encoder: Encoder
) -> tuple[
    dict[str, tuple[Lesson, ...]], NDArray[np.float32], NDArray[np.float16], dict[str, tuple[str, str, str | None]]
]:
    """Return what demonstrations teach, by their ids, the forms and plain vectors of all that, and what is written of
    each: (request, plan JSON, now)."""
    lessons = {d.id: lessons_of(d) for d in fresh}
    # Each demonstration by itself: rounding in a batch would leave a trace of one in the vectors of others.
    forms = np.vstack([likeness.of_lessons(many) for many in lessons.values()])
    said = [encoder.encode([one.plain for one in many]) for many in lessons.values()]
    texts = {d.id: (d.request, _stored(d, lessons[d.id]), d.now.isoformat() if d.now else None) for d in fresh}
    return lessons, forms, np.vstack(said).astype(np.float16), texts


def _lessons_in(id: str, plan: str) -> tuple[Lesson, ...]:
    """Return the lessons of a demonstration as they stand beside its stored plan."""
    return tuple(lesson_from_json(id, data) for data in json.loads(plan)["lessons"])


def _stored(demonstration: Demonstration, lessons: Sequence[Lesson]) -> str:
    """Return the plan in the plan format, with its lessons beside it."""
    data = plan_to_json(demonstration.plan)
    return json.dumps({**data, "lessons": [lesson_to_json(lesson) for lesson in lessons]}, ensure_ascii=False)


def leaves_of(steps: Sequence[LessonStep]) -> tuple[str, ...]:
    """Return the tools whose results no other step uses: what was asked for."""
    used = {s.step for step in steps for s in flat(step.sources) if isinstance(s, Result)}
    return tuple(step.tool for k, step in enumerate(steps) if k not in used)


def _key(row: Row) -> str:
    return f"{row.id}/{row.number}"


def _rows(id: str, lessons: Sequence[Lesson]) -> list[Row]:
    rows = []
    for number, lesson in enumerate(lessons):
        leaves = leaves_of(lesson.steps)
        tools = tuple(step.tool for step in lesson.steps)
        rows.append(
            Row(
                id,
                number,
                tools,
                leaves,
                lesson.is_part,
                lesson.has_outside,
                lesson.n_clauses > 1,
                reads_as(lesson.words),
            )
        )
    return rows


def reads_as(words: Sequence[str]) -> int:
    """Hash a request's form."""
    return zlib.crc32("\0".join(words).encode("utf-8", "surrogatepass"))


def said_as(text: str) -> int:
    """Hash a request's words, without the polite ones."""
    return zlib.crc32(" ".join(word for word in words_of(text)[0] if word not in POLITE).encode("utf-8", "replace"))


def _name_of(row: Row) -> str:
    flags = "p" * row.is_part + "o" * row.has_outside + "l" * row.is_long
    return f"{flags};{row.reads:x};{','.join(row.tools)};{','.join(row.leaves)}"


def _row_of(id: str, number: int, name: str) -> Row:
    flags, reads, tools, leaves = name.split(";")
    return Row(id, number, _split(tools), _split(leaves), "p" in flags, "o" in flags, "l" in flags, int(reads, 16))


def _split(names: str) -> tuple[str, ...]:
    return tuple(names.split(",")) if names else ()


def _moment(text: str | None) -> dt.datetime | None:
    return dt.datetime.fromisoformat(text) if text else None
