"""Defines the closed vocabulary of facts: relations between people with their inverses, and the words for them.

Besides these there are relations made of a noun the owner uses (`favourite colour`, `shoe size`, `locker number`).
"""

from __future__ import annotations

from collections.abc import Mapping

from hearth.language.text.tokens import listed, word_set
from hearth.memory.facts.fact_store import ME

KIN: Mapping[str, str] = {
    **{word: word for word in listed("wife husband partner spouse girlfriend boyfriend fiancé fiancée parent")},
    **{word: word for word in listed("mother father sister brother daughter son child aunt uncle cousin niece nephew")},
    **{word: word for word in listed("twin grandmother grandfather granddaughter grandson stepmother stepfather")},
    **{word: word for word in listed("godmother godfather friend neighbour colleague boss manager assistant flatmate")},
    **{word: word for word in listed("roommate landlord landlady dentist doctor gp lawyer accountant therapist vet")},
    **{word: word for word in listed("hairdresser plumber electrician teacher tutor coach trainer cleaner nanny")},
    **{word: word for word in listed("babysitter gardener mechanic optician physiotherapist ex sibling")},
    **{f"{word}-in-law": f"{word}-in-law" for word in listed("mother father sister brother daughter son")},
    **dict.fromkeys(listed("mum mom mama"), "mother"),
    **dict.fromkeys(listed("dad papa"), "father"),
    **dict.fromkeys(listed("grandma granny"), "grandmother"),
    **dict.fromkeys(listed("grandpa granddad"), "grandfather"),
    **dict.fromkeys(listed("co-worker coworker"), "colleague"),
    "kid": "child",
    "neighbor": "neighbour",
    "best friend": "best friend",
    "physio": "physiotherapist",
    "tax adviser": "accountant",
    "better half": "partner",
}
"""Word → the relation of that person to the owner."""
PLURALS: Mapping[str, str] = {
    "kids": "child",
    "children": "child",
    "wives": "wife",
    "parents": "parent",
    "siblings": "sibling",
    **{f"{word}s": word for word in listed("sister brother daughter son aunt uncle cousin niece nephew friend twin")},
    **{f"{word}s": word for word in listed("neighbour colleague flatmate roommate grandson granddaughter")},
}
PETS = word_set("dog cat rabbit hamster parrot budgie horse pony tortoise turtle guinea-pig goldfish puppy kitten")

DIETS = word_set(
    "vegan vegetarian pescatarian halal kosher teetotal gluten-free dairy-free lactose-free sugar-free keto "
    "paleo low-carb plant-based macrobiotic flexitarian"
)
CONDITIONS = word_set(
    "asthma diabetes epilepsy migraine migraines arthritis hypertension hayfever eczema tinnitus adhd "
    "dyslexia insomnia anaemia psoriasis coeliac vertigo glaucoma"
)
NATIONALITIES = word_set(
    "american argentinian armenian asian australian austrian belgian brazilian british bulgarian canadian catalan "
    "catholic chinese colombian croatian cuban czech danish dutch egyptian english estonian ethiopian european "
    "filipino finnish flemish french german ghanaian greek hindu hungarian icelandic indian indonesian iranian iraqi "
    "irish israeli italian japanese jewish kenyan korean latvian lebanese lithuanian maltese mexican moroccan muslim "
    "nigerian norwegian pakistani persian peruvian polish portuguese protestant romanian russian scottish serbian "
    "slovak slovenian spanish swedish swiss syrian thai tunisian turkish ukrainian vietnamese welsh"
)
"""Words that follow "is" and are not names."""
JOBS = word_set(
    "accountant actor actress architect artist baker banker barber bartender biologist builder butcher carpenter "
    "cashier chef chemist cleaner clerk composer consultant cook dancer dentist designer developer director doctor "
    "driver economist editor electrician engineer farmer firefighter fisherman florist gardener geologist "
    "hairdresser historian journalist judge lawyer lecturer librarian locksmith manager mechanic midwife miner "
    "musician nurse optician painter paramedic pharmacist photographer physicist physiotherapist pilot plumber "
    "policeman policewoman postman potter priest professor programmer psychologist receptionist researcher roofer "
    "sailor salesman saleswoman scientist sculptor secretary singer soldier solicitor statistician student surgeon "
    "surveyor tailor teacher therapist trader translator tutor vet vicar violinist pianist waiter waitress welder "
    "writer zoologist apprentice beekeeper analyst administrator officer technician"
)
"""Last words of the names of occupations."""
MAKES = word_set(
    "audi bmw byd citroen citroën dacia fiat ford honda hyundai jaguar jeep kia lexus mazda mercedes mini "
    "mitsubishi nissan opel peugeot polestar porsche renault saab seat skoda škoda smart subaru suzuki tesla "
    "toyota vauxhall volkswagen volvo vw golf polo yaris corolla passat"
)
OPPOSITES: Mapping[str, tuple[str, ...]] = {
    "likes": ("dislikes", "avoids"),
    "dislikes": ("likes",),
    "avoids": ("likes", "habit"),
}
"""Relations whose facts a new fact of a relation ends, if the value is the same."""
PREFERENCES = frozenset({"likes", "dislikes", "avoids", "prefers", "allergic to", "diet", "wants", "health"})


def said_of(relation: str, subject: str, value: str, name: str = "you") -> str:
    """Write a fact as a sentence: `you live in Ghent`, `your sister is Ana`, `Ben lives in Ghent`."""
    who = name if subject == ME else subject
    verb = _VERBS.get(relation)
    if verb is not None:
        mine, theirs = verb
        return f"{who} {mine if subject == ME else theirs} {value}"
    whose = "your" if subject == ME else f"{subject}'s"
    return f"{whose} {relation} is {value}"


_VERBS: Mapping[str, tuple[str, str]] = {
    **{name: (name[:-1], name) for name in ("likes", "dislikes", "avoids", "prefers", "wants", "speaks", "studies")},
    "lives in": ("live in", "lives in"),
    "works at": ("work at", "works at"),
    "studies at": ("study at", "studies at"),
    "allergic to": ("are allergic to", "is allergic to"),
    "located at": ("are", "is"),
    "called": ("are called", "is called"),
    "from": ("are from", "is from"),
    "health": ("have", "has"),
    "habit": ("have the habit:", "has the habit:"),
    "studies": ("study", "studies"),
    "goes to": ("go to", "goes to"),
}
