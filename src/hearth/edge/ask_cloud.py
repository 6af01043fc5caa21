"""Questions of general knowledge: asked of the cloud, answered with what only the device knows."""

from __future__ import annotations

import datetime as dt
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hearth.edge import enrolment
from hearth.errors import HearthError, LinkError, ToolError, UnknownStandInError
from hearth.formats import edge_protocol
from hearth.formats.edge_protocol import AnswerGiven, Item
from hearth.formats.tool_signature import FunctionTool, tool
from hearth.guard.egress.masking_door import MaskingDoor, Part, sending
from hearth.language.tokens import folded, stem
from hearth.memory.facts import KIN, ME, FactStore
from hearth.protocols import CallContext
from hearth.storage.workspace import Home
from hearth.tools.pim.calendar import find_events
from hearth.tools.pim.contacts import entities
from hearth.types import OWNER

# ── Food ontology ─────────────────────────────────────────────────────────────────────────────────────────
# Tables of what foods contain, as far as allergies and diets need it: families of words, and what dishes usually
# hold.
#
# Written by hand from the fourteen allergens that European law names, common diets and common dishes. Words are
# compared without case, accents and plural endings. Not covered: most of the world's dishes; amounts; languages but
# English.


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _table(text: str) -> dict[str, tuple[str, ...]]:
    """Read `dish: family, family; dish: …`."""
    rows = (row.partition(":") for row in text.split(";"))
    return {name.strip(): _listed(held) for name, _, held in rows}


_NUTS: Mapping[str, tuple[str, ...]] = {
    "almond": _listed("almond, marzipan, frangipane, amaretti, amaretto, macaron, nougat, turron"),
    "hazelnut": _listed("hazelnut, nutella, chocolate spread, praline, gianduja, nougat, filbert"),
    "walnut": _listed("walnut"),
    "cashew": _listed("cashew"),
    "pistachio": _listed("pistachio"),
    "pecan": _listed("pecan"),
    "macadamia": _listed("macadamia"),
    "brazil nut": _listed("brazil nut"),
    "pine nut": _listed("pine nut, pinenut, pine kernel"),
}
_ANY_NUT = _listed("nut, mixed nut, tree nut, trail mix")
_MILK = _listed(
    "milk, cream, butter, cheese, yoghurt, yogurt, parmesan, mozzarella, mascarpone, ricotta, feta, cheddar, "
    "ghee, whey, casein, custard, curd, quark, kefir, buttermilk, paneer, brie, camembert, gorgonzola, "
    "halloumi, gouda, gruyere, pecorino, creme fraiche, latte, cappuccino, lassi, ice cream, bechamel, dairy, "
    "lactose, burrata, cheesecake, gelato, milkshake, cheeseburger"
)
_WHEAT = _listed(
    "wheat, flour, bread, pasta, couscous, bulgur, semolina, seitan, spelt, noodle, spaghetti, toast, bun, "
    "breadcrumb, croissant, filo, phyllo, pastry, biscuit, cake, cracker, baguette, bagel, pita, panko, soy "
    "sauce, pizza, sandwich, macaroni, penne, lasagne, tagliatelle, ravioli, gnocchi, orzo, freekeh, naan, "
    "brioche, pretzel, cookie, waffle, pancake, crepe, udon, ramen, cheeseburger, crouton, dumpling, crust, "
    "dough, focaccia, ciabatta, batter"
)
_FISH = _listed(
    "fish, salmon, cod, tuna, anchovy, sardine, mackerel, trout, herring, haddock, halibut, hake, "
    "worcestershire, sole, plaice, eel, caviar, sea bass, fish sauce, seafood, swordfish, monkfish, pollock, "
    "kipper, sashimi, ceviche, seabream"
)
_CRUSTACEANS = _listed(
    "prawn, shrimp, crab, lobster, crayfish, langoustine, scampi, krill, shellfish, seafood, crustacean"
)
_MOLLUSCS = _listed(
    "mussel, oyster, clam, squid, octopus, scallop, calamari, cockle, whelk, shellfish, seafood, mollusc"
)
_PORK = _listed(
    "pork, ham, bacon, prosciutto, salami, chorizo, pancetta, lard, charcuterie, guanciale, speck, mortadella, "
    "gammon, pepperoni, sausage"
)
_RED_MEAT = (
    *_PORK,
    *_listed("beef, veal, lamb, mutton, venison, goat, steak, mince, burger, goulash, meat, brisket, pastrami"),
)
_POULTRY = _listed("chicken, turkey, duck, goose, quail, poultry, pheasant, meatball, rabbit")
_MEAT = (*_RED_MEAT, *_POULTRY, *_listed("gelatine, gelatin, liver, foie gras, kebab, bone broth"))
_ALCOHOL = _listed(
    "alcohol, wine, beer, rum, brandy, vodka, gin, whisky, whiskey, liqueur, champagne, prosecco, cider, "
    "amaretto, sherry, port, marsala, sake, cognac, grappa, tequila, sangria, stout, ale, bourbon, kirsch"
)
_EGG = _listed(
    "egg, mayonnaise, meringue, omelette, omelet, aioli, custard, hollandaise, frittata, egg white, egg yolk, eggnog"
)

FAMILIES: Mapping[str, tuple[str, ...]] = {
    **{nut: (*words, *_ANY_NUT) for nut, words in _NUTS.items()},
    "nut": (*_ANY_NUT, *(word for words in _NUTS.values() for word in words)),
    "peanut": _listed("peanut, groundnut, satay, mixed nut, trail mix, arachis"),
    "milk": _MILK,
    "egg": _EGG,
    "wheat": _WHEAT,
    "gluten": (*_WHEAT, *_listed("gluten, barley, rye, malt, beer, ale, stout")),
    "fish": _FISH,
    "crustacean": _CRUSTACEANS,
    "mollusc": _MOLLUSCS,
    "shellfish": (*_CRUSTACEANS, *_MOLLUSCS),
    "seafood": (*_FISH, *_CRUSTACEANS, *_MOLLUSCS),
    "soy": _listed("soy, soya, soybean, tofu, tempeh, edamame, miso, soy sauce, teriyaki, tamari, natto"),
    "sesame": _listed("sesame, tahini, hummus, halva, gomasio"),
    "celery": _listed("celery, celeriac"),
    "mustard": _listed("mustard, dijon, piccalilli"),
    "lupin": _listed("lupin"),
    "sulphite": _listed("sulphite, sulfite, wine, dried apricot, cider"),
    "corn": _listed("corn, maize, sweetcorn, polenta, popcorn, nacho, cornflake, grits, cornmeal, cornstarch"),
    "pork": _PORK,
    "red meat": _RED_MEAT,
    "poultry": _POULTRY,
    "meat": _MEAT,
    "alcohol": _ALCOHOL,
    "sugar": _listed("sugar, syrup, honey, caramel, sweets, candy, cola, lemonade, fudge, toffee, jam, chocolate"),
    "honey": _listed("honey, mead"),
}
CALLED: Mapping[str, str] = {
    word: family
    for family, words in _table(
        "nut: tree nut; milk: dairy, lactose, cow milk, milk protein, cheese; soy: soya, soybean; corn: maize; "
        "crustacean: shrimp, prawn; mollusc: mollusk; celery: celeriac; gluten: coeliac, celiac; peanut: groundnut"
    ).items()
    for word in words
}
"""Other words for a family."""

DIETS: Mapping[str, tuple[str, ...]] = _table(
    "vegetarian: meat, seafood; vegan: meat, seafood, milk, egg, honey; plant-based: meat, seafood, milk, egg, honey; "
    "pescatarian: meat; halal: pork, alcohol; kosher: pork, shellfish; teetotal: alcohol; gluten-free: gluten; "
    "dairy-free: milk; lactose-free: milk; sugar-free: sugar"
)
"""Families a diet leaves out. Kosher also keeps meat and milk apart; `ask_cloud` checks that."""
CONDITIONS: Mapping[str, str] = {"coeliac": "gluten", "celiac": "gluten"}

USUALLY: Mapping[str, tuple[str, ...]] = _table(
    "pesto: pine nut, nut, milk; carbonara: egg, pork, meat, red meat, milk, gluten, wheat; "
    "tiramisu: egg, milk, gluten, wheat, alcohol; bouillabaisse: fish, crustacean, mollusc, shellfish, seafood; "
    "paella: shellfish, crustacean, mollusc, seafood; baklava: nut, walnut, pistachio, almond, gluten, wheat; "
    "macaron: nut, almond, egg; korma: nut, cashew, almond, milk; waldorf: nut, walnut, celery, egg; "
    "pad thai: peanut, fish, seafood, egg, crustacean, shellfish; satay: peanut; "
    "french toast: egg, milk, gluten, wheat; pancake: egg, milk; crepe: egg, milk; waffle: egg, milk; lasagne: milk; "
    "sushi: fish, seafood, soy; tempura: gluten, wheat; schnitzel: gluten, wheat, egg; "
    "caesar: egg, fish, seafood, milk, gluten, wheat; quiche: egg, milk, gluten, wheat; "
    "quiche lorraine: pork, meat, red meat; brownie: gluten, wheat, egg, milk; muffin: gluten, wheat, egg, milk; "
    "cake: egg; torte: gluten, wheat, egg, milk; tart: gluten, wheat; pie: gluten, wheat; crumble: gluten, wheat; "
    "ramen: egg, soy; teriyaki: gluten, wheat; gratin: milk; alfredo: milk, gluten, wheat; stroganoff: milk; "
    "risotto: milk; moussaka: milk; panna cotta: milk, meat; bolognese: meat, red meat; con carne: meat, red meat; "
    "cassoulet: pork, meat, red meat; taco: corn; granola: nut; muesli: nut; mousse: egg, milk; meringue: sugar; "
    "pizza: milk; ice cream: sugar, egg; puttanesca: fish, seafood; beer: gluten; mole: peanut, nut; "
    "gazpacho: gluten, wheat; fish finger: gluten, wheat; gado gado: peanut, egg, soy; maafe: peanut; "
    "kung pao: peanut, soy; massaman: peanut; bakewell: almond, nut, gluten, wheat, egg; "
    "financier: almond, nut, egg, gluten, wheat; linzer: almond, hazelnut, nut, gluten, wheat; "
    "romesco: almond, hazelnut, nut; ajo blanco: almond, nut, gluten, wheat; "
    "nusskuchen: hazelnut, walnut, nut, gluten, wheat, egg; ferrero: hazelnut, nut, milk; "
    "dukkah: hazelnut, nut, sesame; za atar: sesame; baba ganoush: sesame; "
    "okonomiyaki: gluten, wheat, egg, fish, soy; tonkatsu: pork, meat, gluten, wheat, egg; "
    "takoyaki: gluten, wheat, mollusc, seafood, egg; agedashi: soy, fish; sukiyaki: soy, egg, gluten, wheat; "
    "textured vegetable protein: soy; saltimbocca: meat, pork, red meat, alcohol; "
    "vongole: mollusc, shellfish, seafood; amatriciana: pork, meat, red meat; dauphinoise: milk; mash: milk; "
    "fish pie: milk, fish, gluten, wheat; shakshuka: egg; huevo: egg; benedict: egg, gluten, wheat, milk; "
    "bearnaise: egg, milk; remoulade: egg, mustard; tartare sauce: egg, mustard; tonnato: fish, seafood, egg; "
    "kedgeree: fish, seafood, egg; tapenade: fish; gumbo: shellfish, crustacean, seafood, celery, meat; "
    "jambalaya: shellfish, crustacean, celery, meat; "
    "fritto misto: shellfish, crustacean, mollusc, seafood, gluten, wheat; "
    "laksa: shellfish, crustacean, seafood, fish; coq au vin: alcohol, meat, pork; "
    "black pudding: pork, meat, gluten, wheat; english breakfast: pork, meat; choucroute: pork, meat, alcohol; "
    "kimchi: fish, crustacean, shellfish, seafood; haggis: meat, red meat; suet: meat, red meat; "
    "zabaglione: egg, alcohol; sabayon: egg, alcohol; spanakopita: milk, gluten, wheat; bap: gluten, wheat; "
    "mojito: alcohol; aperol: alcohol; irish coffee: alcohol, milk; margarita: alcohol; "
    "bloody mary: celery, alcohol, fish; soffritto: celery; mirepoix: celery; holy trinity: celery"
)
"""Dish → families it usually holds, unless it is said to be free of them."""

NOT_WHAT_IT_SAYS: tuple[tuple[str, str], ...] = tuple(
    (words, means)
    for words, (means,) in _table(
        "peanut butter: peanut; nut butter: nut; almond butter: almond; cocoa butter: cocoa; apple butter: apple; "
        "almond milk: almond; almond flour: almond; coconut milk: coconut; coconut cream: coconut; "
        "coconut yoghurt: coconut; oat milk: oat; rice milk: rice; soy milk: soy; soya milk: soy; rice noodle: rice; "
        "glass noodle: mung bean; rice flour: rice; corn flour: corn; chickpea flour: chickpea; "
        "buckwheat flour: buckwheat; corn tortilla: corn; rice cake: rice; fish cake: fish breadcrumb; "
        "crab cake: crab breadcrumb; potato cake: potato; rice paper: rice; ginger beer: ginger; ginger ale: ginger; "
        "root beer: root; wine vinegar: vinegar; cider vinegar: vinegar; prawn cocktail: prawn mayonnaise; "
        "water chestnut: water; corned beef: beef; sweet potato: potato; crab apple: apple; egg plant: aubergine; "
        "cream of tartar: tartar; kidney bean: bean; butter bean: bean; beef tomato: tomato; "
        "beefsteak tomato: tomato; fish mint: mint"
    ).items()
)
"""Phrases that name another food than one of their words alone does."""

FOOD_WORDS = frozenset(
    _listed(
        "cook, eat, bake, dinner, lunch, breakfast, supper, dish, recipe, meal, snack, dessert, cake, picnic, "
        "sandwich, drink, menu, starter, restaurant, potluck, brunch, food, soup, flavour, wine, barbecue, grill, "
        "salad, sweet, appetizer"
    )
)
NO_INGREDIENT = frozenset(
    _listed(
        "seasonal, quick, easy, healthy, festive, popular, cheap, traditional, classic, spicy, warm, cold, hot, "
        "main, fresh, homemade, light, hearty, surprise, various, mixed, special, dish, food, snack, dessert, "
        "starter, minute, hour"
    )
)
"""Tags that name nothing edible."""

# ── Reading words ─────────────────────────────────────────────────────────────────────────────────────────


def stems_of(text: str) -> list[str]:
    """Return the stems of the words of a text, case and accents folded."""
    return [stem(word) for word in re.findall(r"\w+", folded(text))]


def is_adjective(diet: str) -> bool:
    """Say whether a person *is* this diet (`vegan`), rather than eats it."""
    return folded(diet).strip() in DIETS or folded(diet).endswith(("-free", "arian"))


def family_of(said: str) -> str:
    """Return the family a word means, or the word itself, in stems."""
    plain = " ".join(stems_of(re.sub(r"\b(?:all|any|some|the|raw|kinds? of|products?)\b", " ", said)))
    return CALLED.get(plain, plain)


def terms_of(family: str) -> tuple[str, ...]:
    """Return the words of a family, in stems; a word that is no family is returned itself."""
    return tuple(" ".join(stems_of(word)) for word in FAMILIES.get(family, (family,)))


def left_out_by(diet: str) -> tuple[str, ...]:
    """Return the families a diet leaves out; empty for a diet no table knows."""
    plain = folded(diet).strip()
    if plain in DIETS:
        return DIETS[plain]
    without = re.fullmatch(r"(?:no|without|not eating|free of) (.+)|(.+?)[- ]free", plain)
    return (family_of(without[1] or without[2]),) if without else ()


# ── Ask cloud ─────────────────────────────────────────────────────────────────────────────────────────────
# Provide the tool `ask_cloud`: a general question is asked of the cloud and joined with what this device knows.
#
# It exists only where this home joined a cloud and the owner lets it answer (`[edge] answers`). Only the question
# leaves: without what tells of health or conviction (`outgoing`), then masked as all that goes to the cloud,
# including the names that facts hold. Facts, contacts and calendar are looked at on the device.
#
# Covered: a question about the owner's own health (it stays here), a cloud that cannot be reached (what is known here
# is said), pseudonyms in the answer (replaced by the real values), an answer with a pseudonym that nobody gave it
# (not used). Not covered: what a question tells by being asked; facts of taste that the owner's own question names.

# ── What stays on the device ───────────────────────────────────────────────────────────────────────────
# Find what a question tells about the people it is for, and remove what must not leave this device.
# A question tells by what it asks for ("without nuts"). What tells of somebody's health or conviction counts for the
# answer (`stated`) and stays here (`outgoing`); where nothing is left without it, nothing is sent.
# Covered: known values of health and conviction, in any case and number; words of their family after "without";
# clauses that state an allergy, a diet, a condition; questions about somebody's own health.
# Not covered: what is told between the lines; languages but English.


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


# ── Joining answers with what the device knows ─────────────────────────────────────────────────────────
# Join the cloud's general answer with what this device knows of its owner: filter by rules, re-rank, name the sources.
# Nothing here sends or stores; the section above says what may leave. The rules (`RULES`) are tried in order on each
# proposed thing; the first that excludes it decides, the others move it up or down. Facts of health are strict: what
# holds an allergen, or usually does, is left out unless it is said to be free of it. Where nobody said what is in it,
# the answer says so and it comes last; where nobody declared what it holds, the answer says that, too. The cloud is
# asked to declare it of every food, whoever asks. Preferences, place and time only move things.
# Covered: allergies, diets, conditions, what is avoided, liked and disliked, of the owner and of those the question
# names; the owner's place; free time; the cloud's own sentences (those that praise what was left out are left out).
# Not covered: what the cloud does not say and no table knows; amounts, cross-contamination; languages but English. It
# is advice, not medicine: the answer says to check the packet where an allergy counts.


YOU = "you"
LIKED, DISLIKED, NEAR, TOO_LONG = 2.0, -2.0, 1.0, -1.5
RuleName = Literal["allergen", "condition", "diet", "avoided", "unknown", "disliked", "liked", "place", "time"]
RULES: tuple[RuleName, ...] = (
    *("allergen", "condition", "diet", "avoided"),
    *("unknown", "disliked", "liked", "place", "time"),
)
STRICT: frozenset[RuleName] = frozenset({"allergen", "condition", "diet", "unknown"})
"""Rules on health or conviction: what they do not allow is never proposed as if it suited."""


@dataclass(frozen=True, slots=True)
class Eater:
    """One person the answer is for, with the facts about their food."""

    name: str = YOU
    allergies: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    diets: tuple[str, ...] = ()
    avoids: tuple[str, ...] = ()
    dislikes: tuple[str, ...] = ()
    likes: tuple[str, ...] = ()

    @property
    def being(self) -> str:
        return "you are" if self.name == YOU else f"{self.name} is"

    def does(self, verb: str) -> str:
        return f"{YOU} {verb}" if self.name == YOU else f"{self.name} {verb}s"


@dataclass(frozen=True, slots=True)
class Private:
    """Private facts of the owner that an answer is joined with; they never leave the device."""

    eaters: tuple[Eater, ...] = ()
    place: str = ""
    free_minutes: int | None = None
    until: str = ""
    """The event after the free time, in the owner's words."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One proposed thing, with its present place in the ranking."""

    name: str
    text: str
    place: int
    """Its rank in the cloud's answer, from 1."""
    moved: tuple[str, ...] = ()
    """Reasons why it moved, a clause each."""
    unsure: tuple[str, ...] = ()
    """Matters on which nobody said whether it is free of them."""
    is_undeclared: bool = False
    """True when it is for somebody with an allergy or a diet, and nobody declared what it holds."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One thing that is not proposed, and the rule that excluded it."""

    name: str
    rule: RuleName
    reason: str


@dataclass(frozen=True, slots=True)
class Fused:
    """The joined answer."""

    text: str
    """The cloud's sentences, without those about what was left out."""
    kept: tuple[Kept, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    used: tuple[str, ...] = ()
    """Facts that counted, as said to the owner."""
    n_sentences_left_out: int = 0


@dataclass(frozen=True, slots=True)
class _Read:
    """Contents of a proposal as it states them, in stems."""

    item: Item
    said: str
    """Stems separated by spaces, parts by bars."""
    absent: frozenset[str]
    """Families and words it is said to be free of."""
    tags: tuple[str, ...]
    is_told: bool
    """True when somebody said what is in it."""
    is_declared: bool
    """True when somebody said which allergens are in it (`contains: nuts`, `contains: none`)."""


@dataclass(slots=True)
class _Weighed:
    read: _Read
    place: int
    score: float = 0.0
    moved: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    is_undeclared: bool = False


# ── Joining ───────────────────────────────────────────────────────────────────────────────────────────────


def fuse(given: AnswerGiven, private: Private, question: str) -> Fused:
    """Join an answer with the facts about those it is for."""
    reads = [_read(item) for item in given.items]
    is_food = _is_about_food(question, reads)
    kept: list[_Weighed] = []
    left_out: list[LeftOut] = []
    used: dict[str, None] = {}
    for place, read in enumerate(reads, 1):
        refused = next(_refusals(read, private), None)
        if refused is not None:
            rule, reason, fact = refused
            left_out.append(LeftOut(read.item.name, rule, reason))
            used[fact] = None
            continue
        weighed = _Weighed(read, place)
        _weigh(weighed, private, used, is_food=is_food)
        kept.append(weighed)
    kept.sort(key=lambda one: (bool(one.unsure), -one.score, one.place))
    sentences, n_gone = _sentences(given.text, private, left_out)
    listed = tuple(
        Kept(
            *(one.read.item.name, one.read.item.text, one.place, tuple(one.moved), tuple(one.unsure)),
            is_undeclared=one.is_undeclared,
        )
        for one in kept
    )
    return Fused(sentences, listed, tuple(left_out), tuple(used), n_gone)


def eaters_for(question: str, facts: Sequence[tuple[str, str, str]], names: Sequence[str] = ()) -> tuple[Eater, ...]:
    """Find the people a question is for, with their facts: the owner and those it names; for a gift, only those.

    Args:
        facts: Subject (`me` is the owner), relation, value; believed ones only.
        names: Others whom the owner knows.
    """
    words = f" {' '.join(stems_of(question))} "
    known = dict.fromkeys([*(subject for subject, _, _ in facts if subject.casefold() != "me"), *names])
    meant = [name for name in known if _is_named(name, words)]
    for subject, relation, value in facts:
        is_asked = f" {stem(folded(relation))} " in words or _is_household(relation, words)
        if subject.casefold() == "me" and is_asked and value not in meant and value in known:
            meant.append(value)
    is_gift = bool(re.search(r"\b(?:gifts?|presents?)\b", question, re.IGNORECASE)) and bool(meant)
    people = [*([] if is_gift else ["me"]), *meant]
    return tuple(_eater(person, facts) for person in people)


_HOUSEHOLD = frozenset({"spouse", "partner", "husband", "wife", "son", "daughter", "child", "kid"})
_TOGETHER = re.compile(r" (?:u|us|family|everybody|everyone|all of u) ")


def _is_household(relation: str, words: str) -> bool:
    return stem(folded(relation)) in _HOUSEHOLD and _TOGETHER.search(words) is not None


def _is_named(name: str, words: str) -> bool:
    first = stems_of(name)[:1]
    return any(f" {part} " in words for part in (" ".join(stems_of(name)), *first) if len(part) > 1)


def _eater(person: str, facts: Sequence[tuple[str, str, str]]) -> Eater:
    held: dict[str, list[str]] = {}
    for subject, relation, value in facts:
        if subject.casefold() == person.casefold():
            held.setdefault(relation, []).append(value)

    def of(relation: str) -> tuple[str, ...]:
        return tuple(held.get(relation, ()))

    return Eater(
        YOU if person == "me" else person,
        *(_parts(of("allergic to")), of("health"), _parts(of("diet")), _parts(of("avoids"))),
        *(_parts(of("dislikes")), _parts((*of("likes"), *of("prefers")))),
    )


def _parts(values: Sequence[str]) -> tuple[str, ...]:
    """Split a value such as "hazelnuts and walnuts" into its parts."""
    found = [part.strip(" .") for value in values for part in re.split(r",|;|\band\b|\bor\b|&", value)]
    return tuple(dict.fromkeys(part for part in found if part))


# ── The rules ─────────────────────────────────────────────────────────────────────────────────────────────


def _refusals(read: _Read, private: Private) -> Iterator[tuple[RuleName, str, str]]:
    """Yield the reasons to leave a thing out: rule, reason, and the fact it rests on, as said to the owner."""
    for who in private.eaters:
        for allergen in who.allergies:
            fact = f"{who.being} allergic to {allergen}"
            if why := _holds(read, family_of(allergen)):
                yield "allergen", f"{why}, and {fact}", fact
        for condition in who.conditions:
            family = CONDITIONS.get(folded(condition).strip())
            fact = f"{who.being} {condition}"
            if family and (why := _holds(read, family)):
                yield "condition", f"{why}, and {fact}", fact
        for diet in who.diets:
            fact = f"{who.being} {diet}" if is_adjective(diet) else f"{who.does('eat')} {diet}"
            for family in left_out_by(diet):
                if why := _holds(read, family):
                    yield "diet", f"{why}, and {fact}", fact
            if folded(diet) == "kosher" and _holds(read, "meat") and _holds(read, "milk"):
                yield "diet", f"meat and milk together, and {fact}", fact
        for avoided in who.avoids:
            fact = f"{who.does('avoid')} {avoided}"
            if why := _holds(read, family_of(avoided)):
                yield "avoided", f"{why}, and {fact}", fact


def _note_unsaid(one: _Weighed, who: Eater, used: dict[str, None]) -> None:
    """Note what matters to somebody's health or diet and nobody said of a dish."""
    of_health = [*who.allergies, *(c for c in who.conditions if folded(c) in CONDITIONS)]
    asked = [*of_health, *(diet for diet in who.diets if left_out_by(diet))]
    unsaid = [matter for matter in asked if not _is_said_free(one.read, matter)]
    if unsaid and not one.read.is_declared:
        one.is_undeclared = True
    if not one.read.is_told:
        for matter in unsaid:
            one.unsure.append(f"nobody said whether it suits {_suits(who, matter)}")
            used[f"{who.being} {'allergic to ' if matter in who.allergies else ''}{matter}"] = None


def _weigh(one: _Weighed, private: Private, used: dict[str, None], *, is_food: bool) -> None:
    """Score a thing by preference, place and time, and note what nobody said of it."""
    for who in private.eaters:
        if is_food:
            _note_unsaid(one, who, used)
        for things, score, verb in ((who.dislikes, DISLIKED, "dislike"), (who.likes, LIKED, "like")):
            for thing in things:
                if _holds(one.read, family_of(thing), with_usual=False):
                    one.score += score
                    one.moved.append(f"{who.does(verb)} {thing}")
                    used[f"{who.does(verb)} {thing}"] = None
    if private.place and f" {' '.join(stems_of(private.place))} " in one.read.said:
        one.score += NEAR
        one.moved.append(f"it is in {private.place}, where you live")
        used[f"you live in {private.place}"] = None
    needed = _minutes(one.read)
    if private.free_minutes is not None and needed is not None and needed > private.free_minutes:
        one.score += TOO_LONG
        until = f" before {private.until}" if private.until else ""
        one.moved.append(f"it takes {needed} minutes and you have {private.free_minutes}{until}")
        used[f"you have {private.free_minutes} minutes{until}"] = None


def _suits(who: Eater, matter: str) -> str:
    if matter in who.allergies:
        return f"an allergy to {matter}"
    return f"somebody who is {matter}" if is_adjective(matter) else f"a diet of {matter}"


def _holds(read: _Read, family: str, *, with_usual: bool = True) -> str:
    """Return why a thing is thought to hold a family (`it contains walnut`); empty when nothing says so."""
    if not family or family in read.absent:
        return ""
    for term in terms_of(family):
        if f" {term} " in read.said and term not in read.absent:
            return f"it contains {term}"
    if with_usual:
        for dish, families in USUALLY.items():
            if family in families and f" {' '.join(stems_of(dish))} " in read.said:
                return f"{dish} usually contains {family}"
    return ""


def _is_said_free(read: _Read, matter: str) -> bool:
    families = left_out_by(matter) or (CONDITIONS.get(folded(matter), family_of(matter)),)
    return all(family in read.absent for family in families) or folded(matter) in (folded(tag) for tag in read.tags)


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────

_FREE = re.compile(
    r"\b([\w]+(?: [\w]+)?)[- ]free\b|\b(?:without|free (?:of|from)|contains no|no|non)[- ](?:any |added )?"
    r"([\w]+(?:(?: or | and |, )[\w]+)*)"
)
_VEGAN = re.compile(r"\b(?:vegan|plant-based|vegetarian|veggie|mock|meat-free) ([\w]+)|\bvirgin (?:mojito|mary|colada)")
_DECLARED = re.compile(r"\s*(?:contains|allergens)\b")
_LENGTH = re.compile(r"\b(\d{1,4}(?:[.,]\d)?) ?(minutes?|mins?|hours?|h)\b")


def _read(item: Item) -> _Read:
    parts = [folded(part) for part in (item.name, *item.tags, item.text) if part]
    absent: set[str] = set()
    said = []
    for part in parts:
        said.append(_spaced(_without(part, absent)))
    tags = tuple(folded(tag) for tag in item.tags)
    is_declared = any(_DECLARED.match(tag) for tag in tags)
    return _Read(item, f" {' | '.join(said)} ", frozenset(absent), tags, _is_told(item), is_declared)


def _without(text: str, absent: set[str]) -> str:
    """Return the text without what it says it is free of, which is added to `absent`."""

    def free(match: re.Match[str]) -> str:
        words = match[1] or match[2]
        for word in re.split(r" or | and |, ", words):
            stems = stems_of(word)
            for term in (" ".join(stems), stems[-1] if stems else ""):
                if term:
                    absent.update((term, CALLED.get(term, term)))
        return " "

    def mock(match: re.Match[str]) -> str:
        if match[1] is None:
            return " "
        return " " if stem(match[1]) in _MOCKED else match.group()

    return _VEGAN.sub(mock, _FREE.sub(free, text))


_MOCKED = frozenset(
    {"cheese", "butter", "cream", "sausage", "burger", "mayonnaise", "mince", "milk", "bacon", "yoghurt", "steak"}
)
"""Foods that also exist made of plants."""


def _spaced(text: str) -> str:
    """Return stems with spaces; phrases that name another food are replaced."""
    plain = f" {' '.join(stems_of(text))} "
    for words, means in NOT_WHAT_IT_SAYS:
        plain = plain.replace(f" {words} ", f" {means} ")
    return plain.strip()


def _is_told(item: Item) -> bool:
    """Say whether the item's tags tell what is in it: two of them, or the one thing that it is."""
    if any(_DECLARED.match(folded(tag)) for tag in item.tags):
        return True
    told = [" ".join(stems_of(tag)) for tag in item.tags if not set(stems_of(tag)) & NO_INGREDIENT]
    name = stems_of(item.name)
    return len(told) >= 2 or (len(told) == 1 and len(name) <= 3 and bool(set(told[0].split()) & set(name)))


def _is_about_food(question: str, reads: Sequence[_Read]) -> bool:
    if {stem(word) for word in stems_of(question)} & FOOD_WORDS:
        return True
    eaten = [read for read in reads if any(_holds(read, family) for family in FAMILIES)]
    return len(eaten) * 2 >= len(reads) > 0


def _minutes(read: _Read) -> int | None:
    for text in (*read.tags, folded(read.item.text)):
        if match := _LENGTH.search(text):
            number = float(match[1].replace(",", "."))
            return round(number * (60 if match[2].startswith("h") else 1))
    return None


_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


def _sentences(text: str, private: Private, left_out: Sequence[LeftOut]) -> tuple[str, int]:
    """Return the cloud's sentences that mention nothing left out or to be left out, and the number of those removed."""
    gone = [" ".join(stems_of(one.name)) for one in left_out]
    kept, n_gone = [], 0
    for sentence in (match.group().strip() for match in _SENTENCE.finditer(text)):
        if not sentence:
            continue
        read = _read(Item(name=sentence[:200], text=sentence[200:2000]))
        if any(f" {name} " in read.said for name in gone) or next(_refusals(read, private), None) is not None:
            n_gone += 1
        else:
            kept.append(sentence)
    return " ".join(kept), n_gone


# ── Words ─────────────────────────────────────────────────────────────────────────────────────────────────

MAX_SAID = 8


def said_of_cloud(fused: Fused, teacher: str) -> str:
    """Name what the cloud proposed: `from the cloud (gpt): Tomato risotto; Lentil soup`."""
    who = f" ({teacher})" if teacher else ""
    names = [one.name for one in fused.kept] + [one.name for one in fused.left_out]
    what = "; ".join(names[:MAX_SAID]) if names else fused.text
    return f"from the cloud{who}: {what or 'nothing that suits'}"


def said_of_facts(fused: Fused) -> str:
    """Name the facts used: `from your facts: you are allergic to nuts, so one was left out`; empty for none."""
    parts = []
    for fact in fused.used:
        n = sum(one.reason.endswith(fact) for one in fused.left_out)
        parts.append(f"{fact}, so {_counted(n)} left out" if n else fact)
    return f"from your facts: {'; '.join(parts)}" if parts else ""


def _counted(n: int) -> str:
    words: Mapping[int, str] = {1: "one was", 2: "two were", 3: "three were", 4: "four were"}
    return words.get(n, f"{n} were")


def answer_text(fused: Fused) -> str:
    """Write the whole answer for the owner."""
    lines = [fused.text] if fused.text else []
    for one in fused.kept:
        why = "; ".join((*one.moved, *one.unsure, *(["not declared what it holds"] if one.is_undeclared else [])))
        text = f": {one.text.rstrip('.')}" if one.text else ""
        lines.append(f"  · {one.name}{text}{f' ({why})' if why else ''}")
    if fused.left_out:
        lines.append(f"Left out: {'; '.join(f'{one.name} ({one.reason})' for one in fused.left_out)}.")
    if n := fused.n_sentences_left_out:
        lines.append(
            f"({n} of the cloud's sentences spoke of what does not suit, and {'is' if n == 1 else 'are'} left out.)"
        )
    if not fused.kept and fused.left_out:
        lines.append("Nothing that was proposed suits; ask for something else.")
    if any(one.is_undeclared for one in fused.kept):
        lines.append("Nobody declared what all of these hold: check before anybody eats.")
    elif any(one.rule in ("allergen", "condition") for one in fused.left_out):
        lines.append("Check the packet all the same: I know only what was said.")
    return "\n".join(lines)


# ── The tool ───────────────────────────────────────────────────────────────────────────────────────────


HEALTH = frozenset({"allergic to", "health", "diet", "avoids"})
"""Relations whose values never leave, in whatever form."""
_NAMES: Mapping[str, str] = {
    "lives in": "place", "from": "place", "works at": "organisation", "studies at": "organisation", "name": "person",
    "called": "person", "phone": "phone", "email": "email", "address": "address", "partner": "person",
    "spouse": "person",
}  # fmt: skip
"""Relations whose values are names, with the kind they are masked as."""
_SOON = re.compile(r"\b(?:tonight|now|quick\w*|today|this (?:morning|afternoon|evening)|before)\b", re.IGNORECASE)
MAX_QUESTION_CHARS = 4_000
_EVENING = dt.timedelta(hours=8)


@dataclass(frozen=True, slots=True)
class Rest:
    """A source an answer rests on, and what it says."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class JoinedAnswer:
    """The cloud's answer, joined with what is known here."""

    text: str
    asked: str
    """The question as it was sent; empty when nothing left the device."""
    rests_on: list[Rest] = field(default_factory=list)
    """The sources of the answer's parts."""


def answering_tool(home: Home) -> FunctionTool | None:
    """Return the tool of a home that joined a cloud and lets it answer; None for any other home."""
    if not home.settings.edge.answers or enrolment.joined(home.store, home.path) is None:
        return None

    @tool(source="teacher", domain="knowledge", answer="{text}", answer_none="Nothing is known of that.", timeout_s=60)
    def ask_cloud(question: str, call: CallContext) -> JoinedAnswer:
        """Answer a question of general knowledge, or propose things: dishes, places, films, gifts.

        Args:
            question: The question, as it was said.
        """
        return answer(question, call, home)

    return ask_cloud


def answer(question: str, call: CallContext, at: Home) -> JoinedAnswer:
    """Ask the cloud and join its answer with local facts. Raises: ToolError: Nothing may leave, or nothing is known."""
    question = question[:MAX_QUESTION_CHARS]
    facts = [(fact.subject, fact.relation, fact.value) for fact in FactStore(at.store).believed()]
    facts += [fact for fact in stated(question) if fact not in facts]
    hidden = [value for _, relation, value in facts if relation in HEALTH]
    private = _private(question, facts, call)
    sent = outgoing(question, hidden)
    if not sent:
        reason = "the question itself tells of somebody's health or conviction, so it was not sent"
        return _local(reason, private, question)
    try:
        given, asked = _asked(sent, call, at)
    except LinkError as error:
        return _local(f"the cloud was not asked: {error}", private, question)
    fused = fuse(given, private, question)
    rests = [Rest("cloud", said_of_cloud(fused, given.teacher))]
    if mine := said_of_facts(fused):
        rests.append(Rest("your facts", mine))
    text = answer_text(fused) or "The cloud knows nothing of that."
    where = "; ".join([f"From the cloud{f' ({given.teacher})' if given.teacher else ''}", *([mine] if mine else [])])
    return JoinedAnswer(f"{text}\n{where}.", asked, rests)


def _asked(question: str, call: CallContext, at: Home) -> tuple[edge_protocol.AnswerGiven, str]:
    """Return the cloud's answer with the owner's own names put back, and the text sent. Raises: LinkError."""
    from hearth.edge.cloud_teacher import open_link  # needed by few requests

    link = open_link(at, call.egress)
    if link is None:
        raise LinkError("this home has left its cloud", code="closed")
    masked = _door(at).masked([Part(question, OWNER)])
    try:
        with link, sending(masked.values):
            given = link.answer(edge_protocol.AnswerAsked(id=secrets.token_hex(12), question=masked.text))
    except LinkError as error:
        # That nothing is known of it is an answer, too.
        enrolment.note_heard(at.store, call.now, "" if error.status == 404 else str(error))
        raise
    enrolment.note_heard(at.store, call.now)
    try:
        items = tuple(
            item.model_copy(
                update={
                    "name": masked.restore(item.name, link.host),
                    "text": masked.restore(item.text, link.host),
                    "tags": tuple(masked.restore(tag, link.host) for tag in item.tags),
                }
            )
            for item in given.items
        )
        text = masked.restore(given.text, link.host)
    except UnknownStandInError as error:
        raise LinkError(str(error), code="shape") from None
    return given.model_copy(update={"text": text, "items": items}), masked.text


def _door(at: Home) -> MaskingDoor:
    """Return the way out, which knows the names that facts hold beside those of contacts and calendar."""
    held = FactStore(at.store).believed()
    names = [(fact.subject, "person") for fact in held if fact.subject != ME]
    names += [(fact.value, _NAMES[fact.relation]) for fact in held if fact.relation in _NAMES]
    names += [(fact.value, "person") for fact in held if fact.relation in KIN.values()]
    return MaskingDoor.of_owner(at, names=names)


def _local(reason: str, private: Private, question: str) -> JoinedAnswer:
    """Answer from local facts where nothing was asked of the cloud. Raises: ToolError: Nothing is known here."""
    known = _known(private)
    if not known:
        raise ToolError(f"{reason}; nothing here answers {question.strip()[:100]!r} either")
    said = "; ".join(known)
    text = f"I can't propose anything now: {reason}. What is known here: {said}."
    return JoinedAnswer(text, "", [Rest("your facts", f"from your facts: {said}")])


def _known(private: Private) -> list[str]:
    return [line for who in private.eaters for line in _lines(who)] + (
        [f"you have {private.free_minutes} minutes before {private.until}"] if private.free_minutes is not None else []
    )


def _lines(who: Eater) -> list[str]:
    found = [f"{who.being} allergic to {one}" for one in who.allergies]
    found += [f"{who.being} {one}" for one in (*who.conditions, *who.diets)]
    found += [f"{who.does('avoid')} {one}" for one in who.avoids]
    found += [f"{who.does('like')} {one}" for one in who.likes]
    return found + [f"{who.does('dislike')} {one}" for one in who.dislikes]


# ── What is known here ────────────────────────────────────────────────────────────────────────────────────


def _private(question: str, facts: list[tuple[str, str, str]], call: CallContext) -> Private:
    people = [one for one in entities(call.workspace) if one.kind == "person"]
    names = [one.name for one in people]
    called = [one.name for one in people if any(_is_word(alias, question) for alias in one.aliases)]
    place = next((value for who, relation, value in facts if who == ME and relation == "lives in"), "")
    free_minutes, until = _free(question, call)
    return Private(
        eaters_for(" ".join((question, *called)), facts, names), place.split(",")[0].strip(), free_minutes, until
    )


def _is_word(alias: str, question: str) -> bool:
    return re.search(rf"\b{re.escape(alias)}\b", question, re.IGNORECASE) is not None


def _free(question: str, call: CallContext) -> tuple[int | None, str]:
    """Return minutes until the next event, and its title; None and "" where the question is not about now."""
    if not _SOON.search(question):
        return None, ""
    try:
        coming = find_events(call, start=call.now, end=call.now + _EVENING)
    except HearthError:  # an answer without the calendar is still an answer
        return None, ""
    for event in coming:
        if event.start > call.now:
            return int((event.start - call.now).total_seconds() // 60), f"“{event.title}”"
    return None, ""
