"""Tables of what foods contain, as far as allergies and diets need it: families of words, and what dishes usually hold.

Written by hand from the fourteen allergens that European law names, common diets and common dishes. Words are compared
without case, accents and plural endings. Not covered: most of the world's dishes; amounts; languages but English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hearth.language.text.word_match import folded, stem


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
