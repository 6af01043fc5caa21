"""Finds the sentences of a text that state something, and how sure they are: leaves out questions, quotations,
suppositions, jokes, reports of what others said and messages to be written."""

from __future__ import annotations

from collections.abc import Iterator

from hearth import patterns as re

HEDGED = 0.6
"""Factor for the confidence of a statement with "I think" or "probably"."""
_QUOTED = re.compile(
    r"\"[^\"]*(?:\"|$)|“[^”]*(?:”|$)|«[^»]*(?:»|$)|(?<!\w)['‘][^'’]{2,}['’](?!\w)|^>.*$|```.*?(?:```|$)", re.M | re.S
)
_SENTENCE_END = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bProf)(?<!\be\.g)(?<!\bi\.e)([.!?]+)(?=\s|$)|\n+"
)
ASKS = re.compile(
    r"(?:who|whom|whose|what|where|when|why|how|which|do|does|did|is|are|am|was|were|can|could|would|will|shall|should|"
    r"may|might|has|had|have (?:you|i|we|they)|isn't|aren't|wasn't|don't (?:i|you|we|they)|doesn't|didn't|won't|can't|"
    r"couldn't|wouldn't|haven't|hasn't|shouldn't)\b(?!:)",
    re.I,
)
UNREAL = re.compile(
    r"\b(?:if|whether|unless|suppose|supposing|imagine|pretend|pretending|as though|as if|wish|wished|hypothetically|"
    r"were i|in (?:the|a|my|this) (?:story|game|dream|film|movie|novel|book|play|role)|once upon|let's say|dreamt|"
    r"dreamed|used to|lest|otherwise)\b",
    re.I,
)
_JOKES = re.compile(
    r"\b(?:kidding|joking|haha+|lol|yeah,? right|as if|sarcasm|sarcastic|not really)\b|/s\b|[😂🤣😜😉]", re.I
)
_REPORTS = re.compile(
    r"\b(?:says?|said|saying|tells?|told|claims?|claimed|thinks|heard|hears|reckons?|according to|apparently|"
    r"reportedly|allegedly|believes|states?|stated|mentioned|insists|insisted|argues|suggests|assumes|assumed|"
    r"rumou?r|quoted?|writes that|wrote that|wrote)\b",
    re.I,
)
_DOUBTS = re.compile(
    r"(?:i|we) (?:am not sure|are not sure|do not think|do not believe|doubt|do not know|wonder|forgot)\b", re.I
)
_TELLS = re.compile(
    r"(?:please )?(?:tell|text|write|e-?mail|mail|send|message|reply|respond|answer|say|translate|draft|forward|ask|"
    r"search|find|delete|read|quote|post|tweet|dictate|type|summari[sz]e|look|rewrite|correct|proofread|compose|inform|"
    r"let \w+ know)\b",
    re.I,
)
_OPENERS = re.compile(
    r"(?:(?:please )?(?:remember|note|keep in mind|bear in mind|know|be aware)(?: that|:)"
    r"|(?:please )?don't forget(?: that|:)"
    r"|(?:please )?do not forget(?: that|:)|remind me that|for (?:the record|your information),?|fyi[:,]?|by the way,?|"
    r"just so you know,?|you should know(?: that)?,?|(?:hey|hi|hello|ok|okay|oh|well|so|also|and|but|actually|honestly|"
    r"anyway|please|yes|no|look|listen|hearth)\b[,!]?|to be clear,?|in fact,?|as you know,?|i (?:want|need) you to know"
    r"(?: that)?|did i mention that|turns out(?: that)?|it turns out(?: that)?|the truth is(?: that)?|from now on,?|"
    r"personally,?|generally,?|in general,?)\s+",
    re.I,
)
_HEDGES = re.compile(
    r"(?:(?:i|we) (?:think|guess|believe|suppose|reckon|seem to remember|am pretty sure|am fairly sure)(?: that)?"
    r"|maybe|"
    r"perhaps|probably|possibly|i might be wrong,? but)\b,?\s+",
    re.I,
)
_SURE = re.compile(r"(?:i|we) (?:know|am sure|am certain|must say|have to say)(?: that)?\s+", re.I)
_HEDGE_INSIDE = re.compile(
    r"\b(?:probably|maybe|perhaps|possibly|might be|i think|i guess|sort of|kind of|supposedly)\s+", re.I
)
_CONTRACTIONS = (
    (re.compile(r"\b(i)['’]m\b", re.I), r"\1 am"),
    (re.compile(r"\b(you|we|they)['’]re\b", re.I), r"\1 are"),
    (re.compile(r"\b(i|you|we|they)['’]ve\b", re.I), r"\1 have"),
    (re.compile(r"\b(i|you|he|she|we|they)['’]d\b", re.I), r"\1 would"),
    (re.compile(r"\b(i|you|he|she|we|they)['’]ll\b", re.I), r"\1 will"),
    (re.compile(r"\b(he|she|it|that|name)['’]s\b", re.I), r"\1 is"),
    (re.compile(r"\bcan['’]?t\b|\bcannot\b", re.I), "can not"),
    (re.compile(r"\bwon['’]t\b", re.I), "will not"),
    (re.compile(r"n['’]t\b", re.I), " not"),
    (re.compile(r"[’]"), "'"),
)


def statements(text: str) -> Iterator[tuple[str, float, bool]]:
    """Yield the sentences that state something, with how sure they are; the flag is False if only the people it names
    may be read (a message to be written)."""
    plain = _QUOTED.sub(" … ", text)
    for sentence, end in _sentences(plain):
        is_told = _TELLS.match(sentence) is not None
        if "?" in end or _JOKES.search(sentence) or "…" in sentence[:3]:
            continue
        said, confidence = _opened(sentence)
        if said and not ASKS.match(said) and not UNREAL.search(said) and not _DOUBTS.match(said):
            if is_told or _TELLS.match(said):
                head, colon, _ = said.partition(":")
                yield _SAID_TO.split(head, maxsplit=1)[0], confidence, False
                if colon:
                    return
            elif not _REPORTS.search(said):
                if hedge := _HEDGE_INSIDE.search(said):
                    said, confidence = said[: hedge.start()] + said[hedge.end() :], confidence * HEDGED
                yield said, confidence, True


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    for mark in _SENTENCE_END.finditer(text):
        yield text[at : mark.start()].strip(), mark.group()
        at = mark.end()
    yield text[at:].strip(), ""


def _opened(sentence: str) -> tuple[str, float]:
    """Remove what leads into a sentence ("remember that", "I think"), and write its contractions out."""
    confidence = 1.0
    if ASKS.match(sentence):
        return "", confidence
    for pattern, written in _CONTRACTIONS:
        sentence = pattern.sub(written, sentence)
    while True:
        if found := _OPENERS.match(sentence) or _SURE.match(sentence):
            sentence = sentence[found.end() :]
        elif found := _HEDGES.match(sentence):
            sentence, confidence = sentence[found.end() :], HEDGED
        else:
            return sentence.strip(), confidence


_SAID_TO = re.compile(r"\b(?:that|i|we|it)\b", re.I)
