"""Texts for measuring injection detection: public attacks and contexts, ordinary mail, and attacks put into texts."""

from __future__ import annotations

import email
import email.policy
import json
import random
import re
from collections.abc import Sequence
from email.message import Message
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.errors import RequestError
from hearth.models.injection_classifier import (
    Vectors,
)
from hearth.protocols import Encoder
from hearth.tools.mail.mime import text_of_html

POSITIONS = ("begin", "middle", "end")


def read_attacks(path: Path) -> dict[str, list[str]]:
    """Read attacks by type: a JSON object of lists of texts, as BIPIA's `*_attack_*.json`.

    Raises:
        RequestError: The file cannot be read, or has another form.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise RequestError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{str(path)!r} is no JSON in UTF-8: {error}") from None
    is_right = isinstance(data, dict) and all(
        isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts) for texts in data.values()
    )
    if not is_right or not data:
        raise RequestError(f"{str(path)!r}: expected a JSON object of types of attacks, each a list of texts")
    return {str(kind): list(texts) for kind, texts in data.items()}


def read_contexts(path: Path) -> list[str]:
    """Read texts to put attacks into: JSON lines with a `context`, a text or a list of lines, as BIPIA's `*.jsonl`.

    Raises:
        RequestError: The file cannot be read, or has another form; names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise RequestError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except ValueError as error:
        raise RequestError(f"{str(path)!r} is not UTF-8: {error}") from None
    found: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            context = json.loads(line)["context"]
        except (ValueError, RecursionError, KeyError, TypeError):
            raise RequestError(f"{str(path)!r}, line {number}: expected a JSON object with a `context`") from None
        text = "\n".join(map(str, context)) if isinstance(context, list) else context
        if not isinstance(text, str) or not text.strip():
            raise RequestError(f"{str(path)!r}, line {number}: `context` is {context!r:.60}; expected a text")
        found.append(text)
    if not found:
        raise RequestError(f"{str(path)!r} holds no context; expected one JSON object per line")
    return found


def read_mails(folder: Path) -> list[str]:
    """Read the text of every mail in a folder of `*.txt` (RFC 5322), by name, skipping mails without text."""
    found = (mail_text(path.read_bytes()) for path in sorted(folder.glob("*.txt")))
    return [text for text in found if text.strip()]


def mail_text(raw: bytes) -> str:
    """Return the plain text of a mail, or the text of its HTML if it has no other."""
    message: Message = email.message_from_bytes(raw, policy=email.policy.compat32)
    found: dict[str, list[str]] = {"plain": [], "html": []}
    for part in message.walk():
        if part.get_content_maintype() == "text" and part.get_content_subtype() in found:
            payload = part.get_payload(decode=True)
            if isinstance(payload, bytes):
                found[part.get_content_subtype()].append(payload.decode("utf-8", "replace"))
    return "\n".join(found["plain"]) or "\n".join(text_of_html(text) for text in found["html"])


def inserted(context: str, attack: str, position: str, draw: random.Random) -> str:
    """Insert `attack` into `context`: on lines of its own at the `begin` or `end`, else between two sentences."""
    if position == "begin":
        return f"{attack}\n{context}"
    if position == "end":
        return f"{context}\n{attack}"
    breaks = [match.end() for match in re.finditer(r"[.!?]\s+|\n+", context)] or [len(context)]
    place = draw.choice(breaks)
    gap = "" if context[:place].endswith((" ", "\n")) else " "
    return f"{context[:place]}{gap}{attack} {context[place:]}"


class RememberingEncoder:
    """An encoder that embeds each text once; satisfies `protocols.Encoder`."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._known: dict[str, NDArray[np.float16]] = {}
        self.dim = encoder.dim

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode as the wrapped encoder does, rounded to half precision."""
        new = sorted({text for text in texts if text not in self._known}, key=len)
        for start in range(0, len(new), 2000):
            part = new[start : start + 2000]
            self._known.update(zip(part, self._encoder.encode(part).astype(np.float16)))
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        return np.stack([self._known[text] for text in texts]).astype(np.float32)

    def keep(self, path: Path) -> None:
        """Write the embeddings, so that another run can reuse them."""
        texts = json.dumps(list(self._known)).encode()
        vectors = np.stack(list(self._known.values())) if self._known else np.zeros((0, self.dim), np.float16)
        np.savez(path, texts=np.frombuffer(texts, np.uint8), vectors=vectors)

    def recall(self, path: Path) -> None:
        """Load what `keep` wrote; vectors of another size are ignored."""
        with np.load(path, allow_pickle=False) as file:
            if file["vectors"].shape[1:] == (self.dim,):
                self._known.update(zip(json.loads(file["texts"].tobytes()), file["vectors"]))


def roc_auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return how often a positive scores above a negative, ties counted half (Mann and Whitney 1947)."""
    ordered = np.sort(np.asarray(negative, float))
    below = np.searchsorted(ordered, positive, "left").sum() + np.searchsorted(ordered, positive, "right").sum()
    return float(below / 2 / len(positive) / len(ordered))
