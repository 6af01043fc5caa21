"""Make up people, organisations, places, addresses and numbers that fill the tagger's sentence forms.

Values are drawn from Faker's word lists of some sixty countries, from Hearth's own words and patterns
(`data/tagger_words.txt`) and from chains of letters learnt from both, so that the tagger must read shape and context,
not a list of names. The same seed and version of Faker give the same values. Extra `train`: Faker (MIT).
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from hearth.errors import MissingExtraError

try:
    from faker import Faker
except ModuleNotFoundError:
    raise MissingExtraError("making examples for the tagger", "pip install 'hearth-agent[train]'") from None

WORDS_FILE = Path(__file__).parents[1] / "data" / "tagger_words.txt"
KIND_OF_SLOT = {
    **dict.fromkeys(("Person", "Who", "First", "Last", "Formal", "Title", "Handle"), "person"),
    "Org": "organisation",
    "Place": "place",
    **dict.fromkeys(("Addr", "AddrLines", "Street", "StreetNo", "Corner", "Zip"), "address"),
    "Group": "group",
    "Job": "title",
    "Age": "age",
    "Date": "date",
    **dict.fromkeys(("Card", "Iban", "Phone", "Email", "Url", "Code", "Ip"), "identifier"),
}
"""Kind of each slot's value; values of other slots are never marked."""

_LOCALES = {
    "en": "en_US en_US en_GB en_GB en_CA en_AU en_NZ en_IE en_IN en_PH en_KE en_NG",
    "de": "de_DE de_AT de_CH",
    "fr": "fr_FR fr_BE fr_CH fr_CA",
    "es": "es_ES es_MX es_AR es_CO es_CL",
    "it": "it_IT it_CH",
    "other": "nl_NL nl_BE pt_PT pt_BR da_DK sv_SE no_NO fi_FI is_IS et_EE lt_LT lv_LV pl_PL cs_CZ sk_SK hu_HU ro_RO "
    "hr_HR sl_SI bs_BA sq_AL tr_TR ga_IE az_AZ id_ID fil_PH vi_VN sw zu_ZA tw_GH yo_NG mt_MT lb_LU",
    "script": "el_GR el_CY ru_RU uk_UA bg_BG sr_BA ar_SA he_IL fa_IR hi_IN ja_JP zh_CN zh_TW ko_KR hy_AM ka_GE th_TH",
}
_SHARES = {"en": 0.42, "de": 0.07, "fr": 0.06, "es": 0.06, "it": 0.05, "other": 0.3, "script": 0.04}
"""Shares of the origins of values in an English sentence."""
_AT_HOME = 0.75
"""Share of values from the text's own country in texts of another language than English."""
_PARTS = {
    "name": 90,
    "first_name": 70,
    "last_name": 70,
    "city": 60,
    "street_name": 60,
    "company": 36,
    "country": 14,
    "job": 16,
    "address": 30,
    "postcode": 10,
}
"""Number of values of each part drawn from a country."""
_CHAINS = {
    "first": ("first_name", "first"),
    "last": ("last_name", "last"),
    "place": ("city", "place"),
    "org": ("company", "app"),
}
"""Faker's part and Hearth's words that each chain reads."""

_SLOT = re.compile(r"\{([^{}]+)\}")
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_LETTERS, _DIGITS = "ABCDEFGHIJKLMNOPRSTUVWXYZ", "0123456789"


def chosen(form: str, rng: random.Random) -> str:
    """Take one of each `[this|that]` in the form; choices may be nested."""
    while True:
        inner = _CHOICE.search(form)
        if inner is None:
            return form
        form = form[: inner.start()] + rng.choice(inner[1].split("|")) + form[inner.end() :]


class Chain:
    """Makes words that look like those it has read: each letter is drawn by the three before it."""

    def __init__(self, words: Sequence[str]) -> None:
        self._next: dict[str, list[str]] = defaultdict(list)
        for word in words:
            if word.isalpha() and 2 < len(word) < 14:
                spelled = f"^^^{word.lower()}$"
                for at in range(3, len(spelled)):
                    self._next[spelled[at - 3 : at]].append(spelled[at])

    def word(self, rng: random.Random) -> str:
        for _ in range(20):
            spelled = "^^^"
            while len(spelled) < 16:
                letter = rng.choice(self._next[spelled[-3:]])
                if letter == "$":
                    break
                spelled += letter
            if 6 < len(spelled) < 15:
                return spelled[3:].capitalize()
        return "Marlow"


class Values:
    """Draws values for slots; `rng` is passed in, so that examples can be drawn in any order."""

    def __init__(self, seed: int) -> None:
        self.words: dict[str, list[str]] = {}
        """Words by slot."""
        self._patterns: dict[str, tuple[list[str], list[float]]] = {}
        self._read(WORDS_FILE)
        self._pools = {group: [_pool(locale, seed) for locale in names.split()] for group, names in _LOCALES.items()}
        plain = [pool for group, pools in self._pools.items() if group != "script" for pool in pools]
        self._chains = {
            name: Chain([w for pool in plain for v in pool.get(part, ()) for w in v.split()] + self.words[own])
            for name, (part, own) in _CHAINS.items()
        }
        self._makers: dict[str, Callable[[str, random.Random, str], str]] = {
            "9": lambda rest, rng, _: str(rng.randint(*map(int, rest.split("-")))),
            "#": lambda rest, rng, _: re.sub(r"[#?]", lambda m: rng.choice(_DIGITS if m[0] == "#" else _LETTERS), rest),
            "faker": self._part,
            "chain": lambda rest, rng, _: self._chains[rest].word(rng),
            "ascii": lambda rest, rng, lang: re.sub(r"[^a-z0-9]", "", self.draw(rest, rng, lang).lower()) or "info",
            "upper": lambda rest, rng, lang: self.draw(rest, rng, lang).upper(),
            "lines": lambda rest, rng, lang: re.sub(r"[;\n]", lambda _: rest, self.draw("lines", rng, lang)),
        }

    def draw(self, slot: str, rng: random.Random, language: str) -> str:
        """Draw a value for a slot in a text of `language`. Raises: KeyError, if there is no such slot."""
        maker, is_made, rest = slot.partition(":")
        if is_made:
            return self._makers[maker](rest, rng, language)
        patterns = self._patterns.get(f"{language}.{slot}") or self._patterns.get(slot)
        if patterns is not None:
            return self._filled(rng.choices(*patterns)[0], rng, language)
        return self._filled(rng.choice(self.words.get(f"{language}.{slot}") or self.words[slot]), rng, language)

    def known_words(self) -> set[str]:
        """Return every word of a person, town or country that Faker gave, in small letters."""
        parts = ("first_name", "last_name", "city", "country")
        pools = [pool for group in self._pools.values() for pool in group]
        return {w.lower() for pool in pools for part in parts for v in pool.get(part, ()) for w in v.split()}

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8").splitlines():
            name, sign, rest = line.partition(" ")
            if name.endswith(":"):
                self.words[name[:-1]] = f"{sign}{rest}".strip().split(", ")
            elif rest.startswith("= "):
                weight, _, pattern = rest[2:].partition(" ")
                patterns = self._patterns.setdefault(name, ([], []))
                patterns[0].append(pattern.replace("\\n", "\n"))
                patterns[1].append(float(weight))

    def _filled(self, pattern: str, rng: random.Random, language: str) -> str:
        if "{" not in pattern and "[" not in pattern:
            return pattern
        return _SLOT.sub(lambda slot: self.draw(slot[1], rng, language), chosen(pattern, rng))

    def _part(self, part: str, rng: random.Random, language: str) -> str:
        while True:
            group = language
            if language == "en" or rng.random() > _AT_HOME:
                group = rng.choices(list(_SHARES), list(_SHARES.values()))[0]
            found = rng.choice(self._pools[group]).get(part)
            if found:
                return rng.choice(found)


def _pool(locale: str, seed: int) -> dict[str, list[str]]:
    """Draw parts of names of one country from Faker, leaving out what it lacks for that country."""
    source = Faker(locale)
    source.seed_instance(f"{seed} {locale}")
    draws = {name: getattr(source, name, None) for name in _PARTS}
    return {name: [str(draw()) for _ in range(_PARTS[name])] for name, draw in draws.items() if draw is not None}
