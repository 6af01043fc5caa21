"""Count the words that people use: `python -m training.word_list_make` (a minute).

Real people's requests (all but the tenth held out for ever), questions with the texts they are about, and requests of
public benchmarks, as named in `$HEARTH_DATA/README.md`, under MIT, Apache-2.0, CC BY or CC BY-SA alone; what may only
be measured with is not read. To them the whole words of the shipped encoder's vocabulary, in its own order
(Apache-2.0). A rare word that is not in that vocabulary and a slip away from a far commoner one is left out.

Writes src/hearth/data/words.txt: words in lower case, the commonest first; those that requests to an assistant use, an
empty line, and the others. No text is in it, only single words.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hearth.agent import shipped_demonstrations
from hearth.language.temporal.time_words import MONTHS, WEEKDAYS
from hearth.language.thesaurus import one_slip_from, two_slips_price
from hearth.language.tokens import UNIT_WORDS, listed
from hearth.models.sentence_encoder import model_dir
from hearth_bench.data.request_corpus import is_held_out, read_real_requests

_SOURCES = (
    "qa",
    "plans/ultratool",
    "plans/sgd",
    "plans/nestools",
    "plans/nestful",
    "plans/bfcl",
    "plans/taskbench_requests",
    "intents",
)
_LEAST = 3
"""Least number of times a word is seen."""
_LEAST_OF_FIELD = 4
"""Least number of times a word of the field is seen in requests."""
_SLIP_SHARE = 10
"""A word so many times rarer than one it is a slip of is taken for the slip."""
_SURELY_MEANT = 10
"""A word seen so often is no slip, whatever it is near to."""
_LONG, _FAR_COMMONER = 8, 500
"""Least letters, and count of a word of the field, for two slips to be thought of."""
_FIRST_PIECE = 1996
"""Where whole words begin in the encoder's vocabulary, the commonest first."""
_OF_A_HOME = listed(
    "anorak aubergine aubergines babysitter bauble baubles beetroot blackcurrant blackcurrants blender bunting "
    "cagoule cardigan cardigans carer carers childminder chiropodist cistern cloche cloches commode compost "
    "cooker cookers courgette courgettes crockery crumble crumpet crumpets cutlery decking decorator downpipe "
    "dungarees duster dusters duvet duvets fertiliser flapjack flapjacks fryer gilet glazier gooseberries "
    "gooseberry grater gravy grout grouting guttering haddock heater hob hobs hosepipe joiner joiners juicer "
    "kipper kippers ladle lagging lawnmower leek leeks lino lodger lodgers marmalade mincemeat mincer mower mulch "
    "nappies nappy optician parsnip parsnips peeler plasterer podiatrist porridge pushchair radish radishes "
    "sander satsuma satsumas saucepan saucepans scone scones sealant secateurs seedling seedlings settee "
    "shortbread shredder skirting slicer slippers spanner spanners sprout sprouts stairlift strainer strimmer "
    "swede swedes sweeper teacake teacakes tiler tilers tinsel toaster trellis trifle turnip turnips twine washer "
    "washers wellies wheelbarrow whisk"
)
"""Things and trades of a home that the sources seldom name, each a slip away from another word: a cooker is no
cooler."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--out", type=Path, default=Path("src/hearth/data/words.txt"))
    chosen = options.parse_args()
    counts, of_field = _counted(Path(os.environ.get("HEARTH_DATA", "../shared/data")))
    pieces = json.loads((model_dir() / "tokenizer.json").read_bytes())["model"]["vocab"]
    field = [w for w, n in of_field.most_common() if n >= _LEAST_OF_FIELD and w in pieces]
    slips = _slips(counts, field, pieces)
    ranked = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if word not in slips]
    known = set(ranked) | slips
    more = sorted((place, word) for word, place in pieces.items() if place >= _FIRST_PIECE and len(word) > 2)
    ranked += [word for _, word in more if word.isalpha() and word.isascii() and word not in known]
    of_grammar = {word for word in {*WEEKDAYS, *MONTHS, *UNIT_WORDS} if word.isalpha() and word.isascii()}
    others = [word for word in ranked if word not in set(field)]
    others += sorted({*of_grammar, *_OF_A_HOME} - {*field, *others})
    chosen.out.write_text("\n".join([*field, "", *others]) + "\n")
    print(f"{chosen.out}: {len(field):,} words of the field, {len(others):,} others", file=sys.stderr)
    print("some slips left out:", " ".join(sorted(slips)[:: max(1, len(slips) // 60)]), file=sys.stderr)


def _counted(data: Path) -> tuple[Counter[str], Counter[str]]:
    """Count the words of all texts that are not too rare, and all words of requests."""
    counts: Counter[str] = Counter()
    of_field: Counter[str] = Counter()
    for text, is_request in texts_of(data):
        words = [word for word in map(_plain, _WORD.findall(text)) if word.isascii() and len(word) > 1]
        counts.update(words)
        of_field.update(words if is_request else ())
    return Counter({word: n for word, n in counts.items() if n >= _LEAST}), of_field


def _slips(counts: Counter[str], field: Sequence[str], pieces: Mapping[str, int]) -> set[str]:
    """Return the rare words that are likely slips: one away from a commoner word, two from a word of the field."""
    rare = {w: n for w, n in counts.items() if w not in pieces and n < _SURELY_MEANT}
    common = [f for f in field if counts[f] >= _FAR_COMMONER]
    slips = {w for w, n in rare.items() if _is_slip(w, n, counts)}
    return slips | {w for w in rare if len(w) >= _LONG and any(two_slips_price(w, f) < math.inf for f in common)}


def texts_of(data: Path) -> Iterator[tuple[str, bool]]:
    """Yield every text that may be counted, and whether it is a request to an assistant."""
    for demonstration in shipped_demonstrations():
        yield demonstration.request, True
    for one in read_real_requests(data / "requests"):
        if not is_held_out(one):
            yield one.text, True
    for source in _SOURCES:
        for path in sorted((data / source).rglob("*.json*")):
            yield from ((text, False) for text in _strings_in(path.read_text()))


def _strings_in(text: str) -> Iterator[str]:
    """Yield the strings of one JSON document, or of one a line, whatever the file is called."""
    try:
        yield from _strings(json.loads(text))
    except ValueError:
        for line in text.split("\n"):
            yield from _strings(json.loads(line or "null"))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def _plain(word: str) -> str:
    return word.lower().replace("’", "'")


def _is_slip(word: str, n: int, counts: Counter[str]) -> bool:
    return len(word) >= 4 and any(counts[other] >= n * _SLIP_SHARE for other in one_slip_from(word) if other in counts)


if __name__ == "__main__":
    main()
