"""Add very many contributions up as a tree of pieces: each is small, each is kept, and only what changed is done again.

A contribution belongs to the leaf that its hashed name says; a leaf judges each of its contributions alone, by what is
public, and adds those that are taken up, for every profile that can use them. A node above adds sixteen sums. Each
piece reads one contribution (or sum) at a time, so none needs more memory than a few of them, however many there are.
The sum is the same to the last bit as adding all one after the other.

Pieces are kept in the storage under a hash of what went in: a merge that was killed goes on where it was, and one more
contribution costs one leaf and the nodes above it. What an edge takes back, and an edge that is forgotten, deletes the
pieces it was in at once (`Storage.drop_part`, `Storage.drop_edge`).

Not covered: judging contributions by each other, which needs all of them at once (`robust_merge.robust`).
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hearth.errors import StatisticsError
from hearth.planning.ranking.features import ReadingOptions
from hearth.planning.ranking.sufficient_statistics import Statistics, decode, encode
from hearth_cloud.statistics.robust_merge import Judged, Merged, Seen, Terms, judged_alone
from hearth_cloud.statistics.workers import Workers
from hearth_cloud.storage.cloud_storage import Piece, Storage, path_of

_LEAF = 64
"""Contributions of a leaf, on average at most."""
_FAN = 16
_JUDGED = ""
"""In place of a profile: what was found out about the contributions of a leaf. It is kept last, so where it is there,
the sums are."""


@dataclass(frozen=True)
class Rules:
    """How contributions are judged and which sums are wanted; the same for all leaves of a merge."""

    terms: Terms
    anchor: Seen | None
    """What is public, in the features of the smallest profile."""
    readings: Mapping[str, ReadingOptions]
    """Features of each profile."""

    @property
    def profiles(self) -> list[str]:
        """Return the profiles, the smallest first."""
        return sorted(self.readings, key=lambda name: self.readings[name].n_words)

    @property
    def key(self) -> str:
        said = [repr(self.terms.__class__), self.terms.most, self.terms.least, self.terms.least_explained]
        said += [sorted(self.terms.tools or ()), sorted((name, repr(one)) for name, one in self.readings.items())]
        found = hashlib.sha256(json.dumps(said).encode())
        if self.anchor is not None:
            found.update(self.anchor.gram.tobytes())
            found.update(self.anchor.moments.tobytes())
        return found.hexdigest()


@dataclass(frozen=True)
class Leaf:
    """A piece of contributions."""

    path: str
    key: str
    blobs: tuple[tuple[str, str], ...]
    """Name and blob of each contribution."""
    rules: Rules


@dataclass(frozen=True)
class Node:
    """A piece of sums of one profile."""

    path: str
    profile: str
    key: str
    blobs: tuple[str, ...]


def merged_in_pieces(
    storage: Storage, workers: Workers, contributions: Mapping[str, str], rules: Rules
) -> dict[str, Merged]:
    """Return the sum of the contributions that are taken, by profile.

    Args:
        contributions: Blob of each contribution, by name.
    Raises:
        StoreError: What is done so far is kept.
    """
    depth = _depth(len(contributions))
    known, kept = storage.pieces(), set[tuple[str, str]]()
    leaves = _leaves(contributions, depth, rules)
    due = [leaf for leaf in leaves if not _is_there(known, leaf.path, leaf.key)]
    for _ in workers.run(add_leaf, due):
        pass
    known = storage.pieces()
    judged = [Judged(*one) for leaf in leaves for one in known[leaf.path, _JUDGED].about["judged"]]
    kept |= {(leaf.path, _JUDGED) for leaf in leaves}
    sums = {
        (leaf.path, profile): known[leaf.path, profile]
        for leaf in leaves
        for profile in rules.readings
        if (leaf.path, profile) in known and known[leaf.path, profile].key == leaf.key
    }
    for length in range(depth - 1, -1, -1):
        kept |= sums.keys()
        sums = _level(storage, workers, sums, length)
    kept |= sums.keys()
    storage.drop_pieces(kept)
    judged.sort(key=lambda one: one.edge)
    found = {}
    for profile in rules.readings:
        piece = sums.get(("", profile))
        found[profile] = Merged(decode(storage.read_blob(piece.blob)) if piece else None, tuple(judged))
    return found


def add_leaf(storage: Storage, leaf: Leaf) -> None:
    """Judge a leaf's contributions and add those up that are taken; keep the sums."""
    totals: dict[str, Statistics] = {}
    judged = []
    for name, blob in leaf.blobs:
        try:
            one = decode(storage.read_blob(blob))
        except StatisticsError as error:
            judged.append(Judged(name, None, f"it cannot be read: {error}"))
            continue
        seen = {}
        for profile in reversed(leaf.rules.profiles):  # the largest first: each is the image of the one before
            if leaf.rules.readings[profile].n_words <= one.reading.n_words:
                one = seen[profile] = one.seen_by(leaf.rules.readings[profile])
        said = judged_alone(name, one, leaf.rules.terms, leaf.rules.anchor)
        judged.append(said)
        if said.reason:
            continue
        for profile, image in seen.items():
            totals[profile] = totals[profile].plus(image) if profile in totals else image
    for profile, total in totals.items():
        storage.put_piece(leaf.path, profile, leaf.key, {}, encode(total))
    about = {"judged": [[one.edge, one.explained, one.reason] for one in judged]}
    storage.put_piece(leaf.path, _JUDGED, leaf.key, about, None)


def add_node(storage: Storage, node: Node) -> None:
    """Add the sums of the pieces below; keep the sum."""
    total = decode(storage.read_blob(node.blobs[0]))
    for blob in node.blobs[1:]:
        total = total.plus(decode(storage.read_blob(blob)))
    storage.put_piece(node.path, node.profile, node.key, {}, encode(total))


def _level(
    storage: Storage, workers: Workers, below: Mapping[tuple[str, str], Piece], length: int
) -> dict[tuple[str, str], Piece]:
    """Add the sums of one level to those of the level above, whose paths have this length."""
    groups: dict[tuple[str, str], list[Piece]] = defaultdict(list)
    for (path, profile), piece in sorted(below.items()):
        groups[path[:length], profile].append(piece)
    known = storage.pieces()
    nodes = [
        Node(path, profile, _digest(piece.key for piece in pieces), tuple(piece.blob for piece in pieces))
        for (path, profile), pieces in groups.items()
    ]
    due = [node for node in nodes if known.get((node.path, node.profile), _NONE).key != node.key]
    for _ in workers.run(add_node, due):
        pass
    known = storage.pieces()
    return {(node.path, node.profile): known[node.path, node.profile] for node in nodes}


def _leaves(contributions: Mapping[str, str], depth: int, rules: Rules) -> list[Leaf]:
    by_path: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, blob in sorted(contributions.items()):
        by_path[path_of(_edge_in(name))[:depth]].append((name, blob))
    rules_key = rules.key
    return [
        Leaf(path, _digest([rules_key, *(f"{name} {blob}" for name, blob in several)]), tuple(several), rules)
        for path, several in sorted(by_path.items())
    ]


def _edge_in(name: str) -> str:
    """Return the edge that a contribution is named after, under which the storage finds its pieces."""
    return name.removeprefix("edge ")


def _is_there(known: Mapping[tuple[str, str], Piece], path: str, key: str) -> bool:
    return known.get((path, _JUDGED), _NONE).key == key


def _depth(n: int) -> int:
    depth = 0
    while n > _LEAF * _FAN**depth:
        depth += 1
    return depth


def _digest(several: Iterable[str] | Sequence[str]) -> str:
    return hashlib.sha256("\n".join(several).encode()).hexdigest()


_NONE = Piece("", {}, "")
