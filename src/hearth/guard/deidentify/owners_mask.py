"""The mask of one home: the owner's names as they are now, the kinds chosen, and the shipped tagger if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hearth.config import Settings
from hearth.guard.deidentify.masker import Masker, Tag
from hearth.guard.deidentify.names.contact_names import OwnerNames, OwnName, gathered
from hearth.language.text.span import Found
from hearth.models.ner import TAGGER_FILE, Tagger
from hearth.protocols import Workspace

_KINDS = {"identifier": "account"}
"""Kinds of the tagger → the names masking has for them."""


def shipped_tag(cache_dir: Path | None = None) -> Tag | None:
    """The tagger that comes with Hearth, loaded on first use; None if its file is missing.

    Raises:
        ConfigError, MissingExtraError: (on use) Its file is damaged, or the encoder's weights are absent.
    """
    if not TAGGER_FILE.exists():
        return None

    def tag(texts: Sequence[str]) -> list[list[Found]]:
        return [
            [Found(span.start, span.end, _KINDS.get(span.kind, span.kind), "tagger") for span in spans]
            for spans in Tagger.shipped(cache_dir).spans(texts)
        ]

    return tag


class OwnersMask:
    """The mask for one home and one destination, with the owner's names as they are now."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        kinds: Sequence[str],
        *,
        tag: Tag | None = None,
        names: Sequence[OwnName] = (),
    ) -> None:
        """Keep the settings; nothing is read yet.

        Args:
            tag: A trained tagger; see `Masker`.
            names: Names to find beside those of contacts, calendar and settings.
        """
        self._workspace = workspace
        self._settings = settings
        self._kinds = tuple(kinds)
        self._tag = tag
        self._more = tuple(names)
        self._names: tuple[tuple[OwnName, ...], OwnerNames] | None = None

    def masker(self) -> Masker:
        """Read the names again; the finder is rebuilt only if they changed."""
        names = (*gathered(self._workspace, self._settings), *self._more)
        if self._names is None or self._names[0] != names:
            self._names = (names, OwnerNames(names, self._settings.mask.keep))
        return Masker(
            self._kinds,
            names=self._names[1],
            tag=self._tag,
            country=self._settings.owner.country,
            keep=self._settings.mask.keep,
        )
