"""Reads attributes by their noun (name, address, size, code, birthday), with the form each value must have."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator

from hearth.memory.facts.fact_dates import birthday_said, birthday_text
from hearth.memory.facts.fact_names import NAME
from hearth.memory.facts.verb_rules import ARTICLE, MAX_VALUE_WORDS, PLAIN, Known, Read, Subject, trimmed

_KINDS_OF_VALUE: tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...] = (
    (re.compile(r"(?:full |first |last |real |middle )?name"), re.compile(rf"(?P<v>{NAME})"), "name"),
    (re.compile(r"nickname"), re.compile(rf"(?P<v>{NAME})"), "called"),
    (
        re.compile(r"(?:private |work |home |new )?(?:e-?mail|e-?mail address)"),
        re.compile(r"(?P<v>[^\s@]+@[^\s@]+\.\w+)"),
        "email",
    ),
    (
        re.compile(
            r"(?:private |work |home |new |mobile )?(?:phone|mobile|telephone|phone number|number|mobile number)"
        ),
        re.compile(r"(?P<v>\+?[\d(][\d ()/-]{4,}\d)"),
        "phone",
    ),
    (re.compile(r"(?:home |postal |new )?address"), re.compile(r"(?P<v>[^?]*\d[^?]*)"), "address"),
    (re.compile(r"(?P<w>favou?rite [a-z][a-z -]*)"), re.compile(r"(?!not )(?P<v>.+)"), "favourite"),
    (re.compile(r"(?P<w>[a-z -]*size)"), re.compile(r"(?:an? )?(?P<v>\d[\d.,½/]*|X{0,3}[SML]|small|medium|large)"), ""),
    (re.compile(r"(?P<w>height|weight|waist|inseam|chest)"), re.compile(r"(?P<v>\d.*)"), ""),
    (
        re.compile(r"(?P<w>[a-z -]*(?:number|code|pin|passphrase|iban|plate|combination))"),
        re.compile(r"(?P<v>(?=.*\d)[\w .:/-]{1,40})"),
        "",
    ),
    (
        re.compile(r"(?P<w>[a-z -]*(?:password|username|login|handle))"),
        re.compile(r"(?P<v>(?=\S*[\d_@.!#$%*-])\S{2,60})"),
        "",
    ),
    (
        re.compile(r"(?P<w>blood (?:type|group))"),
        re.compile(r"(?P<v>(?:A|B|AB|0|O)[+-]?(?: (?:positive|negative))?)"),
        "",
    ),
    (re.compile(r"job|profession|occupation"), re.compile(r"(?P<v>[a-z][\w -]{2,40})"), "job"),
    (re.compile(r"(?:mother tongue|native language|first language)"), re.compile(r"(?P<v>[A-Z]\w+)"), "speaks"),
    (re.compile(r"nationality"), re.compile(r"(?P<v>[A-Z]\w+)"), "nationality"),
    (re.compile(r"car"), re.compile(r"(?:a|an|the) (?P<v>.*[A-Z].*)"), "car"),
    (re.compile(r"home ?town"), re.compile(r"(?P<v>[A-Z].+)"), "from"),
    (re.compile(r"time ?zone"), re.compile(r"(?P<v>[A-Z].+)"), "time zone"),
)
"""Rules for attributes: noun, the form of its value, relation ("": the noun itself)."""


def attributes(owner: Subject, what: str, value: str, now: dt.datetime, known: Known) -> Iterator[Read]:
    """Read the fact in "`owner`'s `what` is `value`"; none if the value does not have the right form."""
    if what == "birthday":
        said = {"today": f"{now.date()}"[5:], "tomorrow": f"{(now + dt.timedelta(days=1)).date()}"[5:]}.get(
            trimmed(value) or value.strip(" .")
        )
        relative = said and (None, int(said[:2]), int(said[3:]))
        date = relative or birthday_said(value, is_month_first=known.is_month_first)
        if date:
            yield Read(owner.name, "birthday", birthday_text(*date), PLAIN * owner.confidence)
        return
    for noun, form, relation in _KINDS_OF_VALUE:
        named = noun.fullmatch(what)
        if named is None:
            continue
        whole = value.strip(" .,!")
        found = form.fullmatch(trimmed(value)) or form.fullmatch(whole)
        if found is not None:
            said = found["v"].strip()
            if relation == "favourite":
                said = ARTICLE.sub("", said, count=1) if ARTICLE.match(said) else said
                relation = named["w"].replace("favor", "favour")
            if len(said.split()) <= MAX_VALUE_WORDS + 3:
                yield Read(owner.name, relation or named["w"].strip(), said, PLAIN * owner.confidence)
        return
