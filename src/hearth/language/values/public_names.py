"""Knows names that everybody knows: countries, large cities, well-known firms and sights.

Countries and cities are those of the IANA time zone database that `tzdata` packages, with the large cities that share a
zone with another; firms and sights are a short list of our own. Such a name says nothing of anybody by itself.
Not covered: other languages than English; smaller towns; firms known in one country alone.
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

import functools
import importlib.resources
import re
from collections.abc import Mapping

from hearth.language.text.word_match import folded

LARGE_CITIES: Mapping[str, str] = {
    "Africa/Algiers": "oran",
    "Africa/Cairo": "alexandria, giza",
    "Africa/Casablanca": "rabat, marrakesh, marrakech, fez",
    "Africa/Johannesburg": "cape town, durban, pretoria, soweto",
    "Africa/Lagos": "abuja, ibadan, kano",
    "Africa/Nairobi": "mombasa",
    "America/Bogota": "medellin, cali",
    "America/Chicago": "dallas, houston, austin, san antonio, new orleans, minneapolis, st louis, milwaukee, "
    "nashville, memphis, kansas city, oklahoma city, cst, cdt, central time",
    "America/Denver": "salt lake city, colorado springs, albuquerque, mst, mdt, mountain time",
    "America/Edmonton": "calgary",
    "America/Los_Angeles": "san francisco, san diego, san jose california, seattle, portland, las vegas, sacramento, "
    "oakland, silicon valley, la, sf, pst, pdt, pacific time",
    "America/Mexico_City": "guadalajara, puebla",
    "America/New_York": "nyc, boston, washington, washington dc, miami, atlanta, philadelphia, orlando, pittsburgh, "
    "baltimore, charlotte, cleveland, tampa, est, edt, eastern time",
    "America/Sao_Paulo": "rio de janeiro, rio, brasilia, belo horizonte, porto alegre, curitiba",
    "America/Toronto": "montreal, ottawa, quebec",
    "America/Vancouver": "victoria",
    "Asia/Dubai": "abu dhabi, sharjah",
    "Asia/Ho_Chi_Minh": "hanoi, da nang, hue",
    "Europe/Istanbul": "turkey, ankara, izmir, antalya",
    "Asia/Jakarta": "bandung, surabaya",
    "Asia/Karachi": "lahore, islamabad",
    "Asia/Kolkata": "mumbai, bombay, delhi, new delhi, bangalore, bengaluru, chennai, hyderabad, pune, calcutta, ist",
    "Asia/Makassar": "bali, denpasar",
    "Asia/Riyadh": "jeddah, mecca, medina",
    "Asia/Seoul": "busan",
    "Asia/Shanghai": "china, beijing, peking, shenzhen, guangzhou, chengdu, wuhan, xian, hangzhou, nanjing",
    "Asia/Jerusalem": "haifa",
    "Asia/Tokyo": "osaka, kyoto, yokohama, nagoya, sapporo, kobe, fukuoka, hiroshima, jst",
    "Atlantic/Canary": "tenerife, las palmas, gran canaria",
    "Australia/Brisbane": "gold coast, cairns",
    "Australia/Sydney": "canberra, newcastle, aest",
    "Europe/Berlin": "munich, muenchen, hamburg, cologne, koeln, koln, frankfurt, stuttgart, dusseldorf, duesseldorf, "
    "leipzig, dresden, hanover, hannover, nuremberg, bremen, bonn, dortmund, essen, cet, cest",
    "Europe/Brussels": "antwerp, ghent, bruges",
    "Europe/Amsterdam": "rotterdam, the hague, utrecht, eindhoven",
    "Europe/Lisbon": "portugal, porto",
    "Europe/London": "manchester, edinburgh, glasgow, birmingham, liverpool, leeds, bristol, cardiff, oxford, "
    "cambridge, uk, britain, england, scotland, wales, bst",
    "Europe/Madrid": "spain, barcelona, valencia, seville, sevilla, malaga, bilbao, palma",
    "Europe/Moscow": "st petersburg, saint petersburg",
    "Europe/Paris": "lyon, marseille, nice, toulouse, bordeaux, strasbourg, lille, nantes",
    "Europe/Rome": "milan, milano, naples, napoli, florence, venice, turin, bologna, palermo, genoa, pisa",
    "Europe/Stockholm": "gothenburg, malmo",
    "Europe/Vienna": "salzburg, graz, linz, innsbruck",
    "Europe/Warsaw": "krakow, cracow, gdansk, wroclaw, poznan",
    "Europe/Zurich": "geneva, basel, bern, lausanne",
    "Pacific/Auckland": "new zealand, wellington, christchurch, queenstown",
    "Europe/Kyiv": "ukraine",
    "Pacific/Honolulu": "hawaii, maui",
}

_COUNTRIES = (
    "UK, USA, US, EU, England, Scotland, Wales, Northern Ireland, Great Britain, America, Holland, Czech Republic, "
    "Korea, Congo, Samoa, Burma, Swaziland, Europe, Asia, Africa, Australia, Antarctica, Scandinavia, the Alps, the "
    "Balkans, the Baltic, the Mediterranean, the Sahara, the Himalayas, the Middle East, Bosnia, Trinidad, "
    "Svalbard, Ivory Coast"
)
_MORE_CITIES = (
    "Washington, Bern, Brasilia, Canberra, Ottawa, Beijing, New Delhi, Delhi, Hanoi, Wellington, Pretoria, Ankara, "
    "Islamabad, Abuja, Rabat, Yamoussoukro, Astana, Jerusalem, Barcelona, Seville, Valencia, Munich, Hamburg, "
    "Cologne, Frankfurt, Dresden, Leipzig, Milan, Venice, Florence, Naples, Turin, Edinburgh, Glasgow, Geneva, "
    "Basel, Zurich, Rotterdam, The Hague, Antwerp, Lyon, Marseille, Nice, Porto, Krakow, Salzburg, Gothenburg, "
    "Bergen, San Francisco, Seattle, Boston, Miami, Las Vegas, Montreal, Osaka, Kyoto, Mumbai, New York City, "
    "Hollywood"
)
_FIRMS = (
    "Adidas, Adobe, Airbnb, Airbus, Aldi, Alphabet, Amazon, AMD, American Express, Apple, Audi, BBC, BMW, Boeing, "
    "Booking, Bosch, Burger King, Canon, Cisco, CNN, Coca-Cola, Costco, Dell, DHL, Disney, eBay, Facebook, FedEx, "
    "Ferrari, Fiat, Ford, Google, Gucci, H&M, Honda, HP, Huawei, Hyundai, IBM, IKEA, Instagram, Intel, Kia, Lego, "
    "LG, Lidl, LinkedIn, Lufthansa, Mastercard, McDonald's, McDonalds, Mercedes, Mercedes-Benz, Meta, Microsoft, "
    "Mozilla, Nestle, Netflix, Nike, Nintendo, Nokia, Nvidia, OpenAI, Oracle, Panasonic, PayPal, Pepsi, Peugeot, "
    "Philips, Porsche, Reddit, Renault, Ryanair, Samsung, SAP, Shell, Siemens, Skoda, Skype, Sony, SpaceX, Spotify, "
    "Starbucks, Subway, Tesla, TikTok, Toyota, Twitter, Uber, UPS, Visa, Volkswagen, Volvo, VW, Walmart, WhatsApp, "
    "Wikipedia, X, Yahoo, YouTube, Zalando, Zara, Zoom"
)
_SIGHTS = (
    "Eiffel Tower, Colosseum, Big Ben, Louvre, Buckingham Palace, Brandenburg Gate, Statue of Liberty, Taj Mahal, "
    "Great Wall, Sagrada Familia, Vatican, Kremlin, White House, Mount Everest, Everest, Matterhorn, Nile, Amazon "
    "River, Danube, Rhine, Thames, Atlantic, Pacific, North Sea, Champions League, World Cup, Olympics, Oscars, "
    "Eurovision, NATO, UNESCO, NASA, United Nations, European Union"
)
_ALSO_PEOPLE = frozenset(
    "adelaide aden alexandria asia austin beulah brooklyn cali carolina casey chad charlotte chelsea creston "
    "dakota dallas darwin davis dawson denver florence french geneva georgia houston israel jordan kenya knox la "
    "lima luis madeira madison mahe marengo marie mawson mercedes milan nice orlando palmer philips phoenix "
    "regina rep rio roma salvador samara santiago savannah sf shell sofia stanley sydney troll valencia vera "
    "verona victoria vincennes vincent virginia winamac x".split()
)
"""Names of people as well: as likely somebody's as not."""
_SPLIT = re.compile(r"\s*(?:,|/|&|\band\b|\bor\b)\s*", re.IGNORECASE)


def is_public(name: str) -> bool:
    """Return whether `name` is known to everybody, or several such names ("Canada and Mexico").

    >>> is_public("Paris"), is_public("Canada and Mexico"), is_public("Crewe")
    (True, True, False)
    """
    known = _known()
    return _key(name) in known or all(_key(part) in known for part in _SPLIT.split(name))


@functools.lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    files = importlib.resources.files("tzdata").joinpath("zoneinfo")
    names: list[str] = []
    for line in files.joinpath("iso3166.tab").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            country = line.partition("\t")[2]
            names += [country, re.sub(r"\s*\(.*?\)", "", country), *re.findall(r"\((.*?)\)", country)]
    for line in files.joinpath("zone.tab").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            zone = line.split("\t")[2]
            if zone.count("/") == 1 and not zone.startswith("Antarctica/"):  # stations, and small towns in Indiana
                names.append(zone.rpartition("/")[2].replace("_", " "))
    for listed in (_COUNTRIES, _MORE_CITIES, _FIRMS, _SIGHTS, *LARGE_CITIES.values()):
        names += listed.split(",")
    return frozenset(key for name in names if (key := _key(name))) - _ALSO_PEOPLE


def _key(name: str) -> str:
    return " ".join(folded(name).removesuffix("'s").removesuffix("’s").split()).removeprefix("the ").strip(" .")
