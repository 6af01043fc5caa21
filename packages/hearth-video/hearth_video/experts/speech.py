"""Recognise English words in a sound, with their times and confidence.

Voice is found first (`hearth_video.experts.voice_activity`), then each stretch of it is recognised on its own, so that
the result for a stretch does not depend on what came before. Sound of any length is accepted; long recordings are given
in pieces (`hearth_video.footage.heard`), which keeps memory constant.

Covered: silence and noise (nothing is said), speech that goes on and on (cut at its faintest places), a sound that is
loud, faint or has a constant offset.
Not covered: any language but English; who speaks; two who speak at once; talk at ordinary distance from a camera's
microphone, of which less than half of the words may be right: short commands and key words fare better than talk.

Source:
    Huggins-Daines et al., PocketSphinx (2006), with its en-us model.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from hearth.errors import MissingExtraError
from hearth.protocols import ExpertCard
from hearth_video.experts.expert_values import SAMPLES_PER_S, Samples, Sound, Utterance
from hearth_video.experts.voice_activity import Voice, checked
from hearth_video.installed import INSTALL_COMMAND

_LOUDEST = 0.7
"""Peak to which each stretch is amplified, in parts of full scale."""
_MOST_GAIN = 30.0
_HISS = 0.001
"""Amplitude of the noise that is added, in parts of full scale."""
_PAST_WORDS = re.compile(r"[<\[+].*")
"""Marks of silence and noises in the recogniser's output."""
_VARIANT = re.compile(r"\(\d+\)$")
"""The number of a word's pronunciation variant."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    voice: Voice
    decoder: Any


class SpeechExpert:
    """Recognises words in a stretch of sound."""

    card = ExpertCard(
        name="speech",
        takes="a Sound, of any length",
        gives="an Utterance for each stretch of speech: words in small letters, start and end, how sure, in [0, 1]",
        extra="video",
        cpu_ms=240.0,
        memory_bytes=260_000_000,
        cannot=(
            "It knows English alone, and no name that is not in its dictionary.",
            "Of clear reading about one word in four is wrong; of talk across a room most are.",
            "It does not say who speaks, and takes the radio for somebody.",
            "It takes words it does not know for words that sound alike.",
        ),
    )
    """`cpu_ms` is for one second of speech; a second without a voice costs 4 ms."""

    def __init__(self) -> None:
        self._loaded: _Loaded | None = None

    def look(self, given: Sound) -> tuple[Utterance, ...]:
        """Return what is said, in order of time; nothing where nobody speaks or no word is known.

        Raises:
            MissingExtraError: The recogniser is not installed. ToolError: The samples are no sound of one channel.
        """
        samples = checked(given)
        if self._loaded is None:
            self._loaded = _load()
        found = []
        for part in self._loaded.voice.stretches(samples):
            first, last = int(part.start_s * SAMPLES_PER_S), int(part.end_s * SAMPLES_PER_S)
            words = _words(self._loaded.decoder, samples[first:last])
            if words:
                text = " ".join(word for word, _ in words)
                sure = float(np.mean([chance for _, chance in words]))
                found.append(Utterance(text, given.at_s + part.start_s, given.at_s + part.end_s, round(sure, 3)))
        return tuple(found)


def _load() -> _Loaded:
    try:
        import pocketsphinx
    except ImportError:
        raise MissingExtraError("recognising speech", INSTALL_COMMAND) from None
    settings = pocketsphinx.Config(cmn="batch", logfn=os.devnull, loglevel="FATAL")
    return _Loaded(Voice(), pocketsphinx.Decoder(settings))


def _words(decoder: Any, samples: Samples) -> list[tuple[str, float]]:
    """Return words with the probability that each is right."""
    centred = samples - samples.mean()
    loudest = float(np.abs(centred).max(initial=0.0))
    gain = min(_MOST_GAIN, _LOUDEST / loudest) if loudest > 0 else 1.0
    # Faint noise, the same each time: the recogniser was made for recordings, and goes astray on a silence of zeros.
    hiss = np.random.default_rng(0).standard_normal(len(samples)).astype(np.float32) * _HISS
    pcm = (np.clip(centred * gain + hiss, -1, 1) * 32767).astype("<i2").tobytes()
    decoder.start_utt()
    # The whole stretch at once, so that its loudness is levelled by itself alone, not by what was heard before.
    decoder.process_raw(pcm, full_utt=True)
    decoder.end_utt()
    if decoder.hyp() is None:
        return []
    heard = [(_VARIANT.sub("", one.word), min(1.0, float(one.prob))) for one in decoder.seg()]
    return [(word, chance) for word, chance in heard if not _PAST_WORDS.match(word)]
