"""The one place where texts that leave are masked: callers hand it parts and send what it gives; it restores replies.

    masked = door.masked([Part(question, OWNER)])
    with sending(masked.values):                      # the ledger notes what each stand-in stands for
        reply = link.answer(AnswerAsked(question=masked.text, …))
    text = masked.restore(reply.text, link.host)

A part is masked by its label: in what Hearth or a tool wrote (`PUBLIC`) only the owner's own names are replaced, in
anything else all that identifies somebody. A part without a label is refused, and so is everything when masking
fails. Nobody outside the guard calls the masker (`tests/contract/test_masking_door.py`).

Not covered: what a text tells without naming anybody (`guard.deidentify.masker` says what is not found); which host may
be reached, and what may be sent unmasked (`gateway`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hearth.errors import EgressError, HearthError
from hearth.guard.deidentify.masker import Masked, Masker, OwnersMask, shipped_tag
from hearth.guard.deidentify.names import OwnName
from hearth.guard.egress.gateway import sending
from hearth.storage.open_home import Home
from hearth.types import PUBLIC, Label

__all__ = ["Masked", "MaskingDoor", "Part", "sending"]


@dataclass(frozen=True, slots=True)
class Part:
    """A text that is to leave."""

    text: str
    label: Label
    kind: str = ""
    """One of `config.MASK_KINDS` where the whole text is such a value; it is replaced whatever its form."""


class MaskingDoor:
    """Masks what leaves for one destination, always with the owner's names as they are now."""

    def __init__(self, mask: OwnersMask | Masker) -> None:
        self._mask = mask

    @classmethod
    def of_owner(
        cls,
        home: Home,
        *,
        kinds: Sequence[str] | None = None,
        names: Iterable[tuple[str, str]] = (),
        is_tagged: bool = True,
    ) -> MaskingDoor:
        """Open the door of a home.

        Args:
            kinds: What to replace; `[mask] kinds` by default.
            names: Further names to find, each with its kind.
            is_tagged: Whether the trained tagger finds, too, where it is installed.
        """
        chosen = home.settings.mask.kinds if kinds is None else kinds
        more = [OwnName(text, kind) for text, kind in names]
        tag = shipped_tag(home.cache) if is_tagged else None
        return cls(OwnersMask(home.workspace(), home.settings, chosen, tag=tag, names=more))

    @classmethod
    def of_nobody(cls, cache: Path | None, kinds: Sequence[str], *, is_tagged: bool = True) -> MaskingDoor:
        """Open the door without a home: nothing is known of its owner; data are found by form and by the tagger."""
        return cls(Masker(kinds, tag=shipped_tag(cache) if is_tagged else None))

    def masked(self, parts: Sequence[Part]) -> Masked:
        """Mask the texts of one conversation: the same value has the same stand-in in all of them.

        Raises:
            EgressError: A part has no label, or masking failed; nothing is to be sent.
        """
        for part in parts:
            if not isinstance(part, Part) or not isinstance(part.label, Label):
                raise EgressError(
                    f"{part!r:.100} was handed to the mask without a label, nothing was sent; give a Part with the "
                    "label of its text"
                )
        try:
            return self._mask.masker().mask(
                *(part.text for part in parts),
                told=[part.label == PUBLIC for part in parts],
                kinds=[part.kind for part in parts],
            )
        except HearthError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {str(error)[:200]}"
            raise EgressError(f"nothing was sent, since masking failed ({said})") from error
