"""Find what a question tells about the people it is for, and remove what must not leave this device.

A question tells by what it asks for ("without nuts"). What tells of somebody's health or conviction counts for the
answer (`stated`) and stays here (`outgoing`); where nothing is left without it, nothing is sent.

Covered: known values of health and conviction, in any case and number; words of their family after "without"; clauses
that state an allergy, a diet, a condition; questions about somebody's own health.
Not covered: what is told between the lines; languages but English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hearth.edge.answers.food_ontology import CONDITIONS, DIETS, family_of, is_adjective, stems_of, terms_of
from hearth.language.text.normalize import folded

_CLAUSE = re.compile(
    r"(?<=[,.;!?])\s+|\s+(?=(?:because|since|as|given that|but|and) (?:i|we|my|he|she|they|\w+ (?:is|has))\b)", re.I
)
_WITHOUT = re.compile(
    r"\b(?:without|with no|that (?:has|have|contains?) no|free (?:of|from)|not containing|(?:which|that) (?:is|are) "
    r"not|avoiding|except)\s+(?:any )?[\w-]+(?:(?:,| or| and) [\w-]+)*|\b[\w-]+[- ]free\b",
    re.IGNORECASE,
)
_HEALTH = re.compile(
    r"\b(?:allerg\w*|intoleran\w*|diagnos\w*|symptoms?|prescri\w*|medic\w*|pills?|pregnan\w*|disease|illness|doctor"
    r"|diabet\w*|coeliac|celiac|asthma\w*|depress\w*|anxi\w*|cancer|hiv|therapy|therapist|surgery"
    r"|blood (?:pressure|sugar|test))\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:i|i'm|i’m|i've|me|my|mine|we|our|us|he|she|his|her|they|their)\b|\b[A-Z]\w+['’]s\b", re.IGNORECASE
)
_WHO = r"(?P<who{k}>(?!(?:what|who|which|how|where|when|why|this|that|it|there|food|cooking)\b)[a-z][\w'’-]{{0,40}}?)"
_END = r"(?=[,.;!?]|$| (?:what|which|how|where|and (?:i|we|he|she|they|[A-Z]\w+) )\b| (?:so|but|because|since)\b)"
_STATED = re.compile(
    r"(?:(?:,|;|\.)?\s*\b(?:since|because|as|and|but|given that|though|while)\b )?"
    rf"(?:\b{_WHO.format(k=1)}(?:'m|’m|'re|’re|'s|’s| am| is| are) (?:\w+ly )?"
    rf"(?:allergic to (?P<allergy>.{{1,80}}?){_END}|(?:an? )?(?P<state>[\w-]+?)s?{_END})"
    rf"|\b{_WHO.format(k=2)} (?:can['’]?t|cannot|can not|must not|may not|mustn['’]t) "
    rf"(?:have|eat|stand|tolerate|touch|drink) (?:any )?(?P<banned>.{{1,80}}?){_END}"
    rf"|\b{_WHO.format(k=3)} (?:have|has|['’]ve|['’]s got) an? (?P<kind>\w+) (?:allergy|intolerance)\b)",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(
    r"\b(?:without|with no|free (?:of|from)|avoiding|except)\s+(?:any )?(?P<what>[\w-]+(?:(?:,| or| and) [\w-]+)*)"
    r"|\b(?P<free>[\w-]+)[- ]free\b",
    re.IGNORECASE,
)


def stated(question: str) -> tuple[tuple[str, str, str], ...]:
    """Return the facts a question states about the people it is for. They count for the answer and do not leave.

    Covered: "I'm allergic to nuts", "Lotte can't have hazelnuts", "Ben is vegan", "without nuts", "nut-free".
    """
    found: dict[tuple[str, str, str], None] = {}
    for match in _STATED.finditer(question):
        who = match["who1"] or match["who2"] or match["who3"]
        subject = who if who.casefold() not in ("i", "we", "he", "she", "they") else "me"
        for value in (match["allergy"], match["banned"], match["kind"]):
            if value:
                found[subject, "allergic to", value.strip()] = None
        state = folded(match["state"] or "")
        if state in DIETS or state in CONDITIONS:
            found[subject, "diet" if state in DIETS else "health", state] = None
    for match in _LEFT_OUT.finditer(question):
        found["me", "avoids", (match["what"] or match["free"]).strip()] = None
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Hidden:
    """The words that would tell somebody's secrets."""

    terms: Sequence[str]
    kin: Sequence[str]
    """Kinds of the secrets, which tell of them only where they are to be left out."""

    @classmethod
    def of(cls, secrets: Sequence[str]) -> _Hidden:
        hidden = [" ".join(stems_of(secret)) for secret in secrets if stems_of(secret)]
        hidden += [term for secret in secrets if (term := family_of(secret))]
        return cls(hidden, [term for secret in secrets for term in terms_of(family_of(secret))])

    def is_left_out_of(self, text: str) -> bool:
        """Return whether a text tells none of them, and nothing of anybody's health."""
        words = f" {' '.join(stems_of(text))} "
        left_out = f" {' '.join(stem for match in _WITHOUT.finditer(text) for stem in stems_of(match.group()))} "
        if any(f" {term} " in left_out for term in self.kin):
            return False  # "without walnuts" tells of an allergy to nuts
        if any(f" {term} " in words for term in self.terms):
            return False
        return not (_HEALTH.search(text) and _OWN.search(text))


def outgoing(question: str, secrets: Sequence[str]) -> str:
    """Return the part of a question that may leave: without facts of health or conviction; empty when nothing may.

    Args:
        secrets: Values that must not leave, in any form (`nuts` is `Nut`, too): allergies, diets, conditions.
    """
    is_fine = _Hidden.of(secrets).is_left_out_of
    if is_fine(question):
        return question.strip()
    question = _STATED.sub(lambda match: match.group() if is_fine(match.group()) else " ", question)

    def said(match: re.Match[str]) -> str:
        return match.group() if is_fine(match.group()) else ""

    diets = "|".join(re.escape(secret.strip()) for secret in secrets if is_adjective(secret.strip()))
    bare = re.sub(rf"\b(?:{diets})s?\b ?", "", question, flags=re.IGNORECASE) if diets else question
    clauses = [_WITHOUT.sub(said, part) for part in _CLAUSE.split(bare)]
    kept = " ".join(part.strip(" ,;") for part in clauses if part.strip(" ,;.?!") and is_fine(part))
    kept = re.sub(r"\s+", " ", kept).strip(" ,;.")
    return kept if len(stems_of(kept)) >= 3 and is_fine(kept) else ""
