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

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from hearth.config import LanguageModelSettings
from hearth.errors import EgressError, HearthError, PlannerError, UnknownStandInError
from hearth.guard.deidentify.masker import Masked, Masker, OwnersMask, shipped_tag
from hearth.guard.deidentify.names import OwnName
from hearth.guard.egress.gateway import sending
from hearth.protocols import Egress, LanguageModel, SamplingModel
from hearth.storage.workspace import Home
from hearth.types import OWNER, PUBLIC, Label

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


# ── A remote model behind the door ─────────────────────────────────────────────────────────────────────
# Masks what a language model on another machine reads, and puts the owner's own values back into its answers.
# `open_masked` is the one place that opens a language model; it decides whether the model's input is masked, and
# which kinds. All input of a remote model goes through the `MaskedModel` it returns: plans that are asked for,
# answers that are reworded, demonstrations that are labelled. The ledger notes, beside the bytes that left, which
# value each stand-in replaced.
# Covered: every message of a conversation, texts inside JSON one by one; values that were read in a request, which are
# left out where its mask touches their words; replies in JSON or in words; the owner's names also in the system message
# (descriptions of skills). Not covered: names of tools and the options of their
# parameters, which a plan needs as they are; how much is asked and when.


def leaves_device(chosen: LanguageModelSettings) -> bool:
    """Return whether input for this model is sent to another machine."""
    return chosen.kind == "openai" and (urlsplit(chosen.base_url).hostname or "") not in (
        "localhost",
        "127.0.0.1",
        "::1",
    )


def open_masked(
    chosen: LanguageModelSettings,
    home: Home,
    egress: Egress,
    *,
    where: str = "[models.language]",
    reason: str = "language model",
) -> LanguageModel:
    """Open the model that `chosen` names; mask it if it is on another machine, unless the owner says otherwise.

    Args:
        where, reason: See `models.llm.openai_endpoint.open_language_model`.
    Raises:
        ConfigError: No such model, or an address, key or file that cannot be used. MissingExtraError.
    """
    from hearth.models.llm.openai_endpoint import open_language_model  # most starts need none of it

    model = open_language_model(chosen, home.path, egress, home.environ, where=where, reason=reason)
    kinds = chosen.mask
    if kinds is None:
        kinds = home.settings.mask.kinds if leaves_device(chosen) else ()
    if not kinds or getattr(model, "writes_plans", False):  # a model trained to plan is on this machine
        return model
    return MaskedModel(model, MaskingDoor.of_owner(home, kinds=kinds))


class MaskedModel:
    """A `protocols.LanguageModel` and `SamplingModel` around a model that reads only stand-ins."""

    def __init__(self, model: LanguageModel, door: MaskingDoor) -> None:
        self.name = model.name
        self._model = model
        self._door = door

    @property
    def n_tokens(self) -> int:
        """Tokens of the last answer and its question, as the server counted them."""
        return int(getattr(self._model, "n_tokens", 0))

    def close(self) -> None:
        """Close connections."""
        close = getattr(self._model, "close", None)
        if close is not None:
            close()

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        """Complete as the model does.

        Raises:
            PlannerError: As the model does. UnknownStandInError: Its answer names a stand-in that it was not given.
        """
        sent, masked = self._masked(messages)
        with sending(masked.values):
            reply = self._model.complete(sent, schema)
        return self._restored(reply, masked)

    def sample(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None, n: int = 1
    ) -> tuple[str, ...]:
        """Sample as the model does, without answers naming unknown stand-ins. Raises: PlannerError, as `complete`."""
        if not isinstance(self._model, SamplingModel):
            return (self.complete(messages, schema),)
        sent, masked = self._masked(messages)
        with sending(masked.values):
            replies = self._model.sample(sent, schema, n)
        restored: list[str] = []
        fault: UnknownStandInError | None = None
        for reply in replies:
            try:
                restored.append(self._restored(reply, masked))
            except UnknownStandInError as error:
                fault = error
        if fault is not None and not restored:
            raise fault
        return tuple(restored)

    def _masked(self, messages: Sequence[Mapping[str, str]]) -> tuple[list[dict[str, str]], Masked]:
        """Mask the messages; the same conversation gets the same stand-ins, however often it is sent.

        Raises:
            PlannerError: Masking failed, or a message has no role to be masked by; nothing is sent.
        """
        read = _as_read(messages)
        try:
            read = [self._without_masked_values(message) for message in read]
            parts = [Part(text, _label(message)) for message in read for text in _leaves(message)]
            masked = self._door.masked(parts)
        except EgressError as error:
            raise PlannerError(f"{self.name!r} was not asked: {error}") from error
        rest = iter(masked.texts)
        return [{**message, "content": _filled(message, rest)} for message in read], masked

    def _without_masked_values(self, message: Mapping[str, str]) -> Mapping[str, str]:
        """Leave out of a question's "values" those whose words are masked in its "request", and all of the same kind.

        Alone, such a value would not always be found: "4217" is a code only beside "the code is", and one of a kind may
        have been read with the help of another (a day with its time).
        """
        document = _document(message.get("content", "")) if _is_own(message) else None
        values = document.get("values") if isinstance(document, dict) else None
        if not isinstance(document, dict) or not isinstance(values, list) or "request" not in document:
            return message
        request = str(document["request"])
        masked = self._door.masked([Part(request, _label(message))]).values.values()
        hidden = [span for value in masked for span in _spans_of(value, request)]
        gone = {value["kind"] for value in values if _touches(_spans_of(value["said"], request), hidden)}
        kept = [value for value in values if value["kind"] not in gone]
        return {**message, "content": json.dumps({**document, "values": kept}, ensure_ascii=False)}

    def _restored(self, reply: str, masked: Masked) -> str:
        """Put the owner's values back into the reply. Raises: UnknownStandInError."""
        start, end = reply.find("{"), reply.rfind("}")
        if 0 <= start < end:
            try:
                document = json.loads(reply[start : end + 1])
            except (ValueError, RecursionError):
                document = None
            if isinstance(document, dict):
                whole = json.dumps(_mapped(document, masked, self.name), ensure_ascii=False)
                before, after = (masked.restore(part, self.name) for part in (reply[:start], reply[end + 1 :]))
                return f"{before}{whole}{after}"
        return masked.restore(reply, self.name)


_LABELS = {"system": PUBLIC, "user": OWNER, "assistant": Label(frozenset({"model"}), frozenset())}
"""Role of a message → the label of its texts."""


def _label(message: Mapping[str, str]) -> Label:
    role = message.get("role", "")
    if role not in _LABELS:
        raise EgressError(f"a message has the role {role!r}, which no label is known for; known: {', '.join(_LABELS)}")
    return _LABELS[role]


# ── Texts inside messages ─────────────────────────────────────────────────────────────────────────────────


def _spans_of(words: str, text: str) -> list[tuple[int, int]]:
    """Return every place of `words` in a text."""
    return [found.span() for found in re.finditer(re.escape(words), text)] if words else []


def _touches(spans: Sequence[tuple[int, int]], hidden: Sequence[tuple[int, int]]) -> bool:
    """Return whether one of the spans has a letter in common with what is hidden; True where there is none to tell."""
    return not spans or any(start < b and a < end for start, end in spans for a, b in hidden)


_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[^\W\d_])")


def _as_read(messages: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Prepare messages for masking: from a model's first answer on, replace `\\n` and other escapes in those that are
    not JSON, because in `\\nAnna` the name would not be found."""
    read: list[Mapping[str, str]] = []
    is_answered = False
    for message in messages:
        is_answered = is_answered or message.get("role") == "assistant"
        content = message.get("content", "")
        if is_answered and _document(content) is None:
            message = {**message, "content": _ESCAPE.sub(" ", content)}
        read.append(message)
    return read


def _leaves(message: Mapping[str, str]) -> list[str]:
    """The texts of a message: each string of a JSON document; otherwise the whole message."""
    content = message.get("content", "")
    document = _document(content)
    return _strings(document, is_own=_is_own(message)) if document is not None else [content]


def _is_own(message: Mapping[str, str]) -> bool:
    """Return whether Hearth made the JSON of a message; an assistant message is the model's, unmasked."""
    return message.get("role") != "assistant"


def _document(content: str) -> object | None:
    """Parse the JSON object or list that a message is; None when it is neither."""
    if content[:1] not in ("{", "["):
        return None
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict | list) else None


_OWN_KEYS = frozenset({"now", "weekday", "time_zone", "kind", "rule"})
"""Keys whose values Hearth itself makes: a moment, a rule."""


def _strings(value: object, *, is_own: bool) -> list[str]:
    """The texts to mask; in Hearth's own JSON the keys are not among them."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item, is_own=is_own)]
    if isinstance(value, dict) and is_own:
        return [t for key, item in value.items() if key not in _OWN_KEYS for t in _strings(item, is_own=True)]
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *_strings(item, is_own=False))]
    return []


def _filled(message: Mapping[str, str], texts: Iterator[str]) -> str:
    """The content of a message with its texts replaced, in order, by `texts`."""
    document = _document(message.get("content", ""))
    if document is None:
        return next(texts)
    return json.dumps(_replaced(document, texts, is_own=_is_own(message)), ensure_ascii=False)


def _replaced(value: object, texts: Iterator[str], *, is_own: bool) -> object:
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, list):
        return [_replaced(item, texts, is_own=is_own) for item in value]
    if isinstance(value, dict) and is_own:
        return {key: item if key in _OWN_KEYS else _replaced(item, texts, is_own=True) for key, item in value.items()}
    if isinstance(value, dict):
        return {next(texts): _replaced(item, texts, is_own=False) for key, item in value.items()}
    return value


def _mapped(value: object, masked: Masked, who: str) -> object:
    if isinstance(value, str):
        return masked.restore(value, who)
    if isinstance(value, list):
        return [_mapped(item, masked, who) for item in value]
    if isinstance(value, dict):
        return {masked.restore(key, who): _mapped(item, masked, who) for key, item in value.items()}
    return value
