"""Detect instructions inside data: find the sentence of a mail, page or file that speaks to the assistant.

Each text is cut into short pieces; each piece gets the sentence encoder's vector and a few signs of wording, and a
small head scores how much it reads like an instruction. A text is as suspicious as its worst piece. The head is
`data/detector.npz`; how it was made: `data/detector.json` and `training.injection_classifier_train`.

Covered: requests for other tasks, orders about the answer, code to be added, "ignore what was said before", in any
place of a text; letters that look like others, invisible characters. Not covered: instructions in other languages than
English, in pictures, spread thinly over many sentences, or worded just as a person writes to a person ("please send
Anna the contract"): those the labels and the policy must stop. A clever stranger gets past any such detector.
"""

from __future__ import annotations

import io
import math
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from hearth import patterns as re
from hearth.errors import ConfigError
from hearth.protocols import Encoder

Vectors = NDArray[np.float32]

MAX_PIECES = 96
"""Most pieces of one result that are embedded: those with the most suspicious wording, whole texts first."""
MAX_TEXT_CHARACTERS = 200_000
"""Longer texts are read only at their beginning and end, half of this length each."""
MAX_PIECE_CHARACTERS = 320
_MAX_PIECE_WORDS = 45
_MIN_LETTERS = 5


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence, line or cell of a text."""

    text: str
    """Text without invisible characters and letters that only look like Latin ones."""
    start: int
    """Position of its first character in the original text."""
    end: int


# ── Pieces ────────────────────────────────────────────────────────────────────────────────────────────────

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһԛԝАВЕНІЈКМОРСТХЅοαεικρυΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aeopcyxijsdhqwABEHIJKMOPCTXSoaeikpuABEZHIKMNOPTYX"
)
_BREAK = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[a-z][.!?])(?=[A-Z][a-z])|[\r\n]+|\s*\|+\s*|\t+|\s{4,}")
_WRAP = re.compile(r"\r?\n[ \t>|]*(?=[^\s>|])")
_MAX_WRAPPED = 84
"""A longer line was not wrapped by a mail program."""
_MIN_WRAPPED = 44
_ENDS = tuple(".!?:;…|>`{}")
_LEAD = re.compile(r"^[\s>*#•·\-–—=_~+]+|[\s>*#•·\-–—=_~]+$")
_TAGS = range(0xE0020, 0xE007F)
_LETTER = re.compile(r"[^\W\d_]")


_SIGNATURES = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\W+(?:\w+\W+){0,4}(?:previous|prior|above|earlier|preceding"
    r"|foregoing|original|your)\W+(?:\w+\W+){0,3}(?:instructions?|directions?|directives?|prompts?|guidelines"
    r"|programming)\b|<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|\[/?INST\]|<</?SYS>>|###\s*(?:system"
    r"|instruction)\b|\b(?:system|developer|jailbreak|dan) (?:prompt|mode) (?:is|override|enabled|activated)\b|\b"
    r"(?:your|the|its) system prompt\b|\b(?:note|message|notice|attention|instructions?|reminder)\W+(?:to|for)?\W*"
    r"(?:\w+\W+){0,2}(?:ai|a\.i\.|llms?|language models?|chatbots?|ai assistants?|ai agents?)\b",
    re.IGNORECASE,
)
"""Wordings of well-known attacks; they need no head."""


def plain(text: str) -> str:
    """Return `text` as it reads: compatibility forms and look-alikes as Latin letters, invisible characters removed."""
    if text.isascii():
        return text
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).translate(_LOOKALIKES)


def hidden_text(text: str) -> str:
    """Return text written in Unicode's invisible tag characters, which nobody sees and a model may read."""
    if text.isascii():
        return ""
    return "".join(chr(ord(c) - 0xE0000) for c in text if ord(c) in _TAGS)


def pieces(text: str) -> Iterator[Piece]:
    """Yield the sentences, lines and cells of a text, in order; long ones in overlapping stretches."""
    text = _unwrapped(text)
    place = 0
    for match in _BREAK.finditer(text):
        yield from _cut(text, place, match.start())
        place = match.end()
    yield from _cut(text, place, len(text))


def _unwrapped(text: str) -> str:
    """Replace the line ends that a mail program put into a sentence with spaces; the length stays."""
    if "\n" not in text:
        return text
    parts: list[str] = []
    place = begin = 0
    for match in _WRAP.finditer(text):
        line = text[begin : match.start()].strip()
        after = text[match.end()]
        is_wrap = after.islower() or len(line) >= _MIN_WRAPPED
        if is_wrap and line and len(line) <= _MAX_WRAPPED and not line.endswith(_ENDS) and after not in "-*•#|":
            parts += [text[place : match.start()], " "]
            # Blanks would end a piece, so what is left out is replaced by invisible characters at the start of the next
            # line.
            parts.append("\u2060" * (match.end() - match.start() - 1))
            place = match.end()
        begin = match.end()
    parts.append(text[place:])
    return "".join(parts)


def _cut(text: str, start: int, end: int) -> Iterator[Piece]:
    raw = text[start:end]
    if len(raw) <= MAX_PIECE_CHARACTERS:
        yield from _piece(raw, start)
        return
    words = list(re.finditer(r"\S{1,80}", raw))
    for first in range(0, len(words), _MAX_PIECE_WORDS * 2 // 3):
        last = min(first + _MAX_PIECE_WORDS, len(words))
        yield from _piece(raw[words[first].start() : words[last - 1].end()], start + words[first].start())
        if last == len(words):
            return


def _piece(raw: str, start: int) -> Iterator[Piece]:
    readable = _LEAD.sub("", plain(raw))
    if len(_LETTER.findall(readable)) >= _MIN_LETTERS and " " in readable:
        yield Piece(readable, start, start + len(raw))


# ── Signs of wording ──────────────────────────────────────────────────────────────────────────────────────

_VERBS = frozenset(
    """accept act add address advise amend analyze analyse announce answer append apply argue arrange ask assess attach
    augment begin blend book brainstorm break build buy calculate call cancel carry change check choose claim
    classify collect combine compare compile complete compose compute conclude conduct confirm conjugate
    consider construct convert copy correct craft create debug decode define delete demonstrate describe design
    determine develop devise disclose discuss display disregard download draft elaborate embed employ encode
    encourage end enhance ensure enter establish estimate evaluate execute explain explore express extend
    extract fetch fill find finish fix forget format formulate forward fuse generate get give go group guide
    highlight hint identify ignore illustrate implement imagine include incorporate infer inform insert install
    instruct integrate interpret introduce invent investigate invite keep leak leave list load locate look make
    mark mention merge mix modify move name notify offer open optimize organize outline output override
    paraphrase perform persuade plan point post predict prepare present pretend print produce promote propose
    prove provide publish put query quote rank rate read rearrange recite recommend refer refuse rename render
    repeat rephrase replace reply report represent request reset respond restate return reveal reverse review
    rewrite run save say schedule scramble search select send set share shorten show shuffle simplify simulate
    solve sort speak spell split start state stop store suggest summarize summarise supply swap switch take
    tease teach tell test transcribe transfer transform translate turn type unlock unsubscribe update upload use
    utilize verify visit warn work write""".split()  # noqa: SIM905 - two hundred quoted words are harder to read
)
_MAKES = frozenset(
    """analyze analyse answer brainstorm classify compare compose compute conjugate convert craft create define describe
    design develop draft elaborate evaluate explain generate identify illustrate list name outline paraphrase predict
    produce provide rank recommend rephrase respond rewrite solve state suggest summarize summarise tell translate
    write""".split()  # noqa: SIM905 - as above
)
_FIRST = re.compile(
    r"^(?:(?:please|kindly|now|then|also|next|and|first|finally|always|never|just|instead|simply|additionally|do not"
    r"|don't|you must|you should|you need to|you will|make sure (?:to|that you)|be sure to|remember to|can you|could "
    r"you|would you|will you|i want you to|i need you to|i would like you to|let us|let's)[\s,:]+)*([a-z]+)"
)
_SIGNS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        r"\?[\"'”’)]*$",
        r"^(?:what|who|whom|whose|which|when|where|why|how)\b",
        r"^(?:is|are|was|were|do|does|did|has|have|can|could|will|would|should|may)\b",
        r"^(?:can|could|would|will) you\b",
        r"\b(?:i|i'm|i've|i'll|i'd|me|my|mine|myself)\b",
        r"\b(?:we|us|our|ours|we're|we've|we'll|let's)\b",
        r"\b(?:you|your|yours|you're|yourself)\b",
        r"\b(?:he|she|they|him|them|his|her|their)\b",
        r"\b(?:it|this|that|these|those|here|there)\b",
        r"\byour (?:\w+ )?(?:response|answer|reply|output|summary|explanation|message|text|words)s?\b",
        r"\byour (?:\w+ )?(?:code|codebase|implementation|solution|program|script|algorithm|application|project)\b",
        r"\b(?:response|answer|reply|output)s?\b",
        r"\b(?:the|a) (?:user|reader|owner|recipient|human)s?\b|\busers\b|\breaders\b",
        r"\b(?:ai|a\.i\.|assistant|assistants|chatbot|language models?|llm|gpt|agent|bot)\b",
        r"\b(?:prompt|system|instructions?|directive|guidelines|restrictions|developer mode|tool|tools|function)\b",
        r"\b(?:ignore|disregard|forget|override|bypass|instead|regardless|previous|above|earlier|prior)\b",
        r"\bsystem\s*[:>\]]|\[/?inst\]|<\|?\w+\|?>|###|\bassistant\s*:|\buser\s*:|\bhuman\s*:|begin|end of",
        r"```|`\w|\b(?:import|def|return|sudo|curl|wget|exec|eval|print)\b[ (]|[{}();]\s*$|\w+\.\w+\(",
        r"\b(?:code|snippet|script|function|program|algorithm|command|python|javascript|sql)\b",
        r"https?://|www\.|\b\w+\.(?:com|net|org|example|xyz)\b",
        r"\S@\S+\.\w",
        r"\b(?:password|passwords|credentials|secret|secrets|token|tokens|api key|code|pin|bank|contacts)\b",
        r"\b(?:forward|send|email|bcc|post|upload|share|copy|transfer)\b",
        r"\b(?:today|tomorrow|tonight|yesterday|monday|tuesday|wednesday|thursday|friday|saturday|sunday|week|month)\b",
        r"\b(?:january|february|march|april|june|july|august|september|october|november|december|\d\d?:\d\d|am|pm)\b",
        r"\b(?:attached|attachment|enclosed|unsubscribe|click|subscription|account|order|invoice|regards|thanks|dear)\b",
        r"[\"“'‘][^\"”]{4,}[\"”'’]",
        r":\s*$|:\s",
        r"^(?:please|kindly)\b|\bplease\b",
        r"\b(?:poem|essay|story|speech|letter|article|song|joke|recipe|summary|paragraph|sentence|headline|word|words)\b",
        r"\b(?:translate|translation|french|german|spanish|italian|japanese|russian|chinese|latin|english)\b",
        r"\b(?:capital|theory|history|meaning|difference|causes|functions?|definition|process|concept|importance)\b",
        r"\b(?:of|between|in|for|with|about|to) (?:an?|the)\b",
        r"\b(?:every|each|all|any|only|must|never|always)\b",
        r"\d",
        r"[€$£%]",
        r"^[\"'“‘]",
        r"[A-Z]{4,}",
    )
)
_CASED = frozenset({len(_SIGNS) - 1})
N_SIGNS = len(_SIGNS) + 8


def signs(text: str) -> Vectors:
    """Return the signs of wording, shape [N_SIGNS]: who is spoken to, with which verb first, about what."""
    lower = text.lower()
    first = _FIRST.match(lower)
    verb = first[1] if first else ""
    words = lower.split()
    found = [1.0 if sign.search(text if k in _CASED else lower) else 0.0 for k, sign in enumerate(_SIGNS)]
    n = max(len(words), 1)
    is_verb = verb in _VERBS
    letters = sum(c.isalpha() or c == " " for c in text) / max(len(text), 1)
    found += [
        float(is_verb),
        float(verb in _MAKES),
        float(is_verb and not (found[4] or found[5])),
        float(bool(found[1]) and not (found[4] or found[5] or found[6] or found[8])),
        min(math.log(n), 4.0) / 2,
        float(n < 4),
        1.0 - letters,
        float(any(w[:1].isupper() for w in text.split()[1:])),
    ]
    return np.array(found, np.float32)


# ── The detector ──────────────────────────────────────────────────────────────────────────────────────────

N_KIN = 2
ALIEN = 0.3
"""Similarity assumed between a piece and the rest of its text where there is hardly any rest."""
_FEWEST_OTHERS = 2


@dataclass(frozen=True, slots=True)
class Judgement:
    """Result for one text: how much it reads like an instruction."""

    score: float
    """Score of its most suspicious piece, in log-odds; above the detector's threshold it is flagged."""
    piece: Piece | None
    """The most suspicious piece; None when the text holds no sentence at all."""


@dataclass(frozen=True, slots=True)
class Head:
    """The fitted head: a linear part and a layer of rectified units beside it."""

    weights: Vectors
    """Weights of the linear part, shape [dim + N_SIGNS + N_KIN]."""
    hidden: Vectors
    """Weights of the rectified units, shape [dim + N_SIGNS + N_KIN, units]."""
    hidden_bias: Vectors
    out: Vectors
    """Weights from the units to the score, shape [units]."""
    bias: float
    sign_weights: Vectors
    """Weights of the signs alone, for choosing among too many pieces; shape [N_SIGNS]."""
    threshold: float

    def score(self, rows: Vectors) -> Vectors:
        """Score how much each row of `features` speaks for an instruction, shape [n]."""
        units = np.maximum(rows @ self.hidden + self.hidden_bias, 0)
        return np.asarray(rows @ self.weights + units @ self.out + self.bias, np.float32)

    def save(self) -> dict[str, NDArray[np.generic]]:
        """Return the head as arrays of one file, in half precision."""
        arrays = (self.weights, self.hidden, self.hidden_bias, self.out, self.sign_weights)
        names = ("weights", "hidden", "hidden_bias", "out", "sign_weights")
        return {
            **{name: array.astype(np.float16) for name, array in zip(names, arrays)},
            "bias": np.array(self.bias, np.float32),
            "threshold": np.array(self.threshold, np.float32),
        }

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Head:
        """Make a head from what `save` returned."""
        names = ("weights", "hidden", "hidden_bias", "out", "sign_weights")
        weights, hidden, hidden_bias, out, sign_weights = (arrays[name].astype(np.float32) for name in names)
        return cls(weights, hidden, hidden_bias, out, float(arrays["bias"]), sign_weights, float(arrays["threshold"]))


def kinship(vectors: Vectors) -> Vectors:
    """Measure how near each piece is to the mean of the others, and to the nearest; shape [n, 2].

    Text that was injected mostly speaks of something else.
    """
    n = len(vectors)
    if n <= _FEWEST_OTHERS:
        return np.full((n, N_KIN), ALIEN, np.float32)
    rest = (vectors.sum(axis=0) - vectors) / (n - 1)
    to_rest = (vectors * rest).sum(axis=1) / np.maximum(np.linalg.norm(rest, axis=1), 1e-6)
    among = vectors @ vectors.T
    np.fill_diagonal(among, -1.0)
    return np.stack([to_rest, among.max(axis=1)], axis=1).astype(np.float32)


def features(vectors: Vectors, wording: Vectors, kin: Vectors) -> Vectors:
    """Return the head's input, shape [n, dim + N_SIGNS + N_KIN]; scaled so that one ridge suits all parts."""
    return np.concatenate([4.0 * vectors, 0.7 * wording, 2.0 * (kin - ALIEN)], axis=1)


def detector_version() -> int:
    """By which kept verdicts are known as those of what judges today: a checksum of the head, and of this module, every
    line of which may decide. Below 2**32."""
    head = (files("hearth.data") / "detector.npz").read_bytes()
    return zlib.crc32((files("hearth.models") / "injection_classifier.py").read_bytes(), zlib.crc32(head))


class Detector:
    """Judges texts with a sentence encoder and a fitted head. May be used from several threads at once."""

    def __init__(self, encoder: Encoder, head: Head) -> None:
        self._encoder = encoder
        self._head = head
        self.threshold = head.threshold

    @classmethod
    def open(cls, encoder: Encoder) -> Detector:
        """Open the shipped head on `encoder`. Raises: ConfigError: The head was fitted to another encoder."""
        with as_file(files("hearth.data") / "detector.npz") as path:
            raw = path.read_bytes()
        with np.load(io.BytesIO(raw), allow_pickle=False) as file:
            head = Head.of(file)
        if head.weights.shape != (encoder.dim + N_SIGNS + N_KIN,):
            raise ConfigError(
                f"the detector's head has {head.weights.size} weights, this encoder needs "
                f"{encoder.dim + N_SIGNS + N_KIN}; install Hearth again"
            )
        return cls(encoder, head)

    def verdict(self, text: str, least: float) -> tuple[bool, bool]:
        """Judge a text that is long kept.

        Returns:
            Whether it reads like an instruction; whether no sentence of it does from a score of `least` on when it is
            read by itself (`is_within`).
        """
        short = _shortened(text)
        found = list(pieces(short))
        if not found or len(found) > MAX_PIECES or hidden_text(text) or _signed(short) is not None:
            judged = self.judge([text])[0]
            return self.is_flagged(judged), not found and judged.score < 0
        vectors = self._encoder.encode([piece.text for piece in found])
        wording = np.stack([signs(piece.text) for piece in found])
        together = self._head.score(features(vectors, wording, kinship(vectors))).max()
        apart = self._head.score(features(vectors, wording, np.full((len(found), N_KIN), ALIEN, np.float32))).max()
        return bool(together > self.threshold), float(apart) <= least

    def judge(self, texts: Sequence[str]) -> tuple[Judgement, ...]:
        """Judge each text by its worst piece; at most `MAX_PIECES` pieces of all texts together are looked at."""
        found = [list(pieces(_shortened(text))) for text in texts]
        signed = [_signed(_shortened(text)) for text in texts]
        wording = [np.stack([signs(p.text) for p in ps]) if ps else np.zeros((0, N_SIGNS), np.float32) for ps in found]
        if sum(map(len, found)) > MAX_PIECES:
            found, wording = self._chosen(found, wording)
        vectors = self._encoder.encode([p.text for ps in found for p in ps])
        judged: list[Judgement] = []
        begin = 0
        for text, ps, marks, known in zip(texts, found, wording, signed):
            own = vectors[begin : begin + len(ps)]
            begin += len(ps)
            if secret := hidden_text(text):
                judged.append(Judgement(math.inf, Piece(secret, 0, len(text))))
            elif known is not None:
                judged.append(Judgement(math.inf, known))
            elif not ps:
                judged.append(Judgement(-math.inf, None))
            else:
                scores = self._head.score(features(own, marks, kinship(own)))
                worst = int(scores.argmax())
                judged.append(Judgement(float(scores[worst]), ps[worst]))
        return tuple(judged)

    def is_flagged(self, judgement: Judgement) -> bool:
        return judgement.score > self.threshold

    def _chosen(
        self, found: Sequence[list[Piece]], wording: Sequence[Vectors]
    ) -> tuple[list[list[Piece]], list[Vectors]]:
        """Return the pieces of the most suspicious wording, in their order."""
        suspicion = np.concatenate([marks @ self._head.sign_weights for marks in wording])
        kept = np.zeros(len(suspicion), bool)
        kept[np.argsort(-suspicion, kind="stable")[:MAX_PIECES]] = True
        ends = np.cumsum([len(ps) for ps in found])
        masks = np.split(kept, ends[:-1])
        chosen = [[p for p, is_kept in zip(ps, mask) if is_kept] for ps, mask in zip(found, masks)]
        return chosen, [marks[mask] for marks, mask in zip(wording, masks)]


def is_within(sentence: str, text: str) -> bool:
    """Return whether a sentence is judged by pieces that are judged in a text, too, and by nothing else."""
    found = [piece.text for piece in pieces(sentence)]
    is_alone = len(found) <= _FEWEST_OTHERS and _signed(sentence) is None and not hidden_text(sentence)
    return is_alone and {piece.text for piece in pieces(_shortened(text))}.issuperset(found)


def _signed(text: str) -> Piece | None:
    """Find words that are known from attacks; None when there are none."""
    match = _SIGNATURES.search(plain(text))
    if match is None:
        return None
    line = match.string[match.start() : match.end() + MAX_PIECE_CHARACTERS // 4]
    return Piece(" ".join(line.split()), match.start(), match.end())


def _shortened(text: str) -> str:
    """Shorten a text that is too long to be read whole to its beginning and its end."""
    half = MAX_TEXT_CHARACTERS // 2
    return text if len(text) <= 2 * half else f"{text[:half]}\n{text[-half:]}"
