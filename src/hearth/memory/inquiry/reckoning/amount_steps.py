"""Reckons with amounts that records state: numbers times prices, sums, differences, shares in per cent, an amount for
each of several, and the mean, the largest and the smallest of a series.

How an amount was reckoned is told with it. Two amounts of different currencies are never reckoned together.

Records of one kind (invoices, receipts) are ordered and bounded by their amounts as the rows of a table are.

Covered: amounts of one record or of several. Each answer is told with doubt: of homes that were not looked at, as many
were wrong as right.
Not covered: more than one of these steps in a question, but for something added to a product ("with the deposit").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hearth import patterns as re
from hearth.language.text.tokens import spoken_number, tokens
from hearth.memory.inquiry.amounts.table_questions import TableAsked, asked_of_table
from hearth.memory.inquiry.money import MOST_DIGITS, money_in, money_text, number_text
from hearth.memory.inquiry.reckoning.meant_moments import Moments, periods_meant
from hearth.memory.inquiry.reckoning.stated_amounts import Stated, StatedAmounts, amount_keys, same_currency
from hearth.memory.inquiry.reckoning.time_spans import AUX
from hearth.memory.search.time_mentions import times_named, without_times
from hearth.protocols import HomeAnswer, Witness
from hearth.tools.memory import DOUBTED, N_SHOWN

_CENT = r"per ?cent(?:age)?|percentage|%"
_PARTS = {"half": 1 / 2, "a third": 1 / 3, "a quarter": 1 / 4, "a fifth": 1 / 5, "a tenth": 1 / 10}
_PARTS |= {"twice": 2, "double": 2}
_PART_OF = re.compile(
    rf"(?:\b(?P<n>\d+(?:[.,]\d+)?) ?(?:per ?cent|%)|\b(?P<part>{'|'.join(_PARTS)}))(?: of)? (?P<whole>[^,?]+)", re.I
)
_SHARE = re.compile(
    rf"\s*(?:in )?(?:what|which|how many) (?:{_CENT}|proportion|share|part|fraction) of (?P<whole>.+?)"
    rf" (?:{AUX}|to) (?P<part>.+)",
    re.I,
)
_MORE_CENT = re.compile(
    rf"\s*(?:by )?(?:how many|what) (?:{_CENT})(?: \w+)? (?:{AUX}|to) (?P<one>.+?)"
    r" (?:dearer|more|higher|cheaper|less|lower|costs?)(?: expensive)? than (?P<other>.+)",
    re.I,
)
_APART = re.compile(
    rf"\s*(?:by )?how much(?: (?:more|less|dearer|cheaper|higher|lower))?(?: expensive)? (?:{AUX}|to) (?P<one>.+?)"
    rf"(?: (?:dearer|cheaper|more(?: expensive)?|less(?: expensive)?|higher|lower|cost|costs))* than (?P<other>.+?)"
    r"(?: (?:was|did|is|cost|costs))?"
    r"|\s*what(?:['’]s| is| was) the (?:price )?difference between (?P<this>.+?) and (?P<that>.+)",
    re.I,
)
_LARGEST = re.compile(r"\b(?:largest|biggest|highest|dearest|most expensive)\b", re.I)
_SMALLEST = re.compile(r"\b(?:smallest|lowest|cheapest|least expensive)\b", re.I)
_MEAN = re.compile(r"\b(?:on average|average|mean)\b", re.I)
_WHOLE = re.compile(r"\b(?:altogether|in all|in total|total|together|combined|all told|both|sum of)\b", re.I)
_SUM = re.compile(
    r"\b(?:total|sum|altogether|in all|together|combined|(?:did|have) i (?:spen[dt]|pay|paid)|come to)\b", re.I
)
_DIFFERENCE = re.compile(r"\bdifference between (?:the|my) two\b", re.I)
_IN_A_YEAR = re.compile(
    r"\b(?P<half>half )?(?:a|per|whole|full|one) year(?:['’]s)?\b|\b(?:yearly|annual(?:ly)?)\b", re.I
)
_SERIES = re.compile(r"\b(?P<place>receipt|invoice|bill|quote|order|statement|payslip)s?\b", re.I)
_ASKS_AMOUNT = re.compile(
    r"\b(?:how much(?= (?:is|are|was|were|do|does|did|will|would|has|have|had|for|money|rent)\b|\Z)"
    r"|what(?:['’]?s)?|worth|costs?|owe|pay|price|damage|come to|set me back|value)\b",
    re.I,
)
_BOTH = re.compile(
    r"(?:.*[,:]\s*|.*?\b(?:for|from|of|are|is|do|does)\s+)?(?P<one>[\w'’ -]+?) (?:and|plus|&) (?P<other>[\w'’ -]+)",
    re.I,
)
_UNITS = "days|nights|weeks|months|hours|years|lessons|sessions|visits|persons|people"
_PLUS = re.compile(
    r"\b(?:add(?:ing)?|plus|with|including|and|on top of) (?:the |a |an |my |in )*(?P<what>[^\W\d_]+)", re.I
)
_NO_PRODUCT = re.compile(
    r"\bhow (?:many|long|old|often)\b|\b(?:each|every|only|without|except|but not|no|per ?cent|%) [^\W\d_]+", re.I
)
"""Asks for no product, or for more than one."""
_EACH = re.compile(r"\b(?:per|each|a) (?P<who>guest|person|head|people|child|member|each|of us)\b|\beach\b", re.I)


def amounts_answer(question: str, moments: Moments) -> HomeAnswer | None:
    """Reckon the amount that a question asks for; None where no step is asked for, or an amount is not known."""
    asked, stated = question.strip(" ?.!"), StatedAmounts(moments.things)
    first = (_share, _more_in_cent, _of_cent, _apart, _of_series, _for_each)
    steps = (*first, _product, _over_months, _in_a_year, _together)
    return next((told for step in steps if (told := step(asked, stated, moments)) is not None), None)


def _share(asked: str, stated: StatedAmounts, _moments: Moments) -> HomeAnswer | None:
    """Return what one amount is of another, in per cent."""
    found = _SHARE.fullmatch(re.sub(r",? in (?:%|per ?cent)\Z", "", asked, flags=re.I))
    if found is None or (part := stated.meant(found["part"], found["whole"])) is None:
        return None
    whole = stated.meant(found["whole"], but=(part.value,), is_meant=lambda one: one.unit == part.unit)
    return _in_cent(part, whole, 0.0) if whole is not None else None


def _more_in_cent(asked: str, stated: StatedAmounts, _moments: Moments) -> HomeAnswer | None:
    """Return by how many per cent one amount is more than another."""
    found = _MORE_CENT.fullmatch(asked)
    if found is None:
        return None
    one, other = stated.meant(found["one"], found["other"]), stated.meant(found["other"], found["one"])
    return _in_cent(one, other, 1.0) if one is not None and other is not None else None


def _in_cent(part: Stated, whole: Stated, less: float) -> HomeAnswer | None:
    if part.value == whole.value or not whole.value or same_currency((part, whole)) is None:
        return None
    if part.is_percent or whole.is_percent:
        return None
    share = abs(part.value / whole.value - less) * 100
    value = f"{share:.1f}% ({number_text(part.value)} {'against' if less else 'of'} {number_text(whole.value)})"
    return _answer("number", value, (part, whole))


def _of_cent(asked: str, stated: StatedAmounts, _moments: Moments) -> HomeAnswer | None:
    """Return a stated share of an amount that the question names."""
    if (part := _PART_OF.search(asked)) is not None and not _IN_A_YEAR.search(asked):
        return _part_of(part, stated)
    amounts = money_in(asked)
    if len(amounts) != 1 or not _ASKS_AMOUNT.search(asked):
        return None
    share = stated.meant(re.sub(r"\b(?:on|of|for) .*", "", asked), asked, is_meant=lambda one: one.is_percent)
    if share is None:
        return None
    value, currency, _ = amounts[0]
    whole, some = money_text(value, currency), money_text(value * share.value / 100, currency)
    return _answer("amount", f"{some} ({number_text(share.value)}% of {whole})", (share,))


def _part_of(part: re.Match[str], stated: StatedAmounts) -> HomeAnswer | None:
    """Return a half, a quarter or some per cent of a stated amount."""
    whole = stated.meant(re.sub(r" (?:be|cost|is|come to)\Z", "", part["whole"]), is_meant=_is_price)
    if whole is None:
        return None
    share = float(part["n"].replace(",", ".")) / 100 if part["n"] else _PARTS[part["part"].casefold()]
    some, of_all = (money_text(value, whole.currency) for value in (whole.value * share, whole.value))
    return _answer("amount", f"{some} ({share:.0%} of {of_all})", (whole,))


def _apart(asked: str, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return how far two amounts are apart, of two things or of one in two times."""
    found = _APART.fullmatch(asked)
    if found is None:
        return None
    now, sides = moments.call.now, (found["one"] or found["this"], found["other"] or found["that"])
    when = [periods_meant(side, now) for side in sides]
    if all(when) and not amount_keys(without_times(sides[1], now)):
        what = without_times(sides[0], now)
        pair = [stated.meant(what, within=period[0], is_meant=_is_price) for period in when]
    else:
        pair = _pair(*sides, "", stated)
    one, other = pair
    if one is None or other is None or one.value == other.value:
        return None
    if (currency := same_currency((one, other))) is None or one.unit or other.unit:
        return None
    told = [money_text(each.value, currency) for each in (one, other)]
    value = f"{money_text(abs(one.value - other.value), currency)} ({' and '.join(told)})"
    return _answer("amount", value, (one, other))


def _of_series(asked: str, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return the sum, the mean, the largest or the smallest amount of records of one kind: receipts, invoices."""
    place = _SERIES.search(asked)
    rows_asked = asked_of_table(asked) if place is not None else None
    if place is not None and rows_asked is not None and (rows_asked.bound is not None or rows_asked.n > 1):
        return _records_chosen(rows_asked, place["place"], stated, moments)
    forms = (_LARGEST, _SMALLEST, _MEAN, _SUM, _DIFFERENCE)
    how = next((form for form in forms if form.search(asked)), None)
    if place is None or how is None:
        return None
    found = stated.series(re.sub(r"\b(?:month|going|i|have|got)\b", "", asked, flags=re.I), place["place"])
    if (named := periods_meant(asked, moments.call.now)) and named[0].start < moments.call.now:
        found = [one for one in found if one.is_within(named[0])]
    rows = list({(one.value, one.at): one for one in found}.values())
    if not rows or (currency := same_currency(rows)) is None:
        return None
    if how in (_LARGEST, _SMALLEST):
        chosen = (max if how is _LARGEST else min)(rows, key=lambda one: one.value)
        return _answer("amount", f"{chosen.quote} ({money_text(chosen.value, currency)})", [chosen])
    if how is _DIFFERENCE:
        return _answer_apart(rows, currency)
    return _all_of(rows, currency, asked, is_mean=how is _MEAN)


def _records_chosen(asked: TableAsked, place: str, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return the records of one kind whose amounts are the largest or lie within a bound, in order, or their mean."""
    if asked.is_by_day or asked.operation == "sum":
        return None
    period = next((one for one in periods_meant(asked.words, moments.call.now) if one.start < moments.call.now), None)
    found = stated.series(without_times(asked.words, moments.call.now), place)
    rows = wholes = _wholes([one for one in found if one.is_within(period)])
    if not wholes or (currency := same_currency(wholes)) is None:
        return None
    if asked.bound is not None:
        if asked.bound.currency not in ("", currency):
            return None
        rows = [one for one in rows if asked.bound.holds(one.value)]
    if asked.operation == "mean":
        return _all_of(rows, currency, "", is_mean=True) if rows else None
    if asked.operation in ("most", "least"):
        rows = sorted(rows, key=lambda one: one.value, reverse=asked.operation == "most")[: asked.n]
    named = [f"{one.passage.title} ({money_text(one.value, currency)})" for one in rows[:N_SHOWN]]
    if asked.operation == "count" or not rows:
        told = f"{len(rows)} of {len(wholes)}" + (f": {'; '.join(named)}" if named else "")
        return _answer("number", told, rows or wholes)
    return replace(_answer("amount", "; ".join(named), rows), kind="list" if len(rows) > 1 else "amount")


def _wholes(found: Sequence[Stated]) -> list[Stated]:
    """Return one amount for each record: of several the largest, which is the whole."""
    wholes: dict[str, Stated] = {}
    for one in found:
        kept = wholes.setdefault(one.passage.record, one)
        if one.value > kept.value:
            wholes[one.passage.record] = one
    return list(wholes.values())


def _all_of(rows: Sequence[Stated], currency: str, asked: str, *, is_mean: bool) -> HomeAnswer | None:
    """Return the sum or the mean of amounts; "the two quotes" are all of them only where there are two."""
    counts = [n for n, _ in _numbers(asked)]
    if not is_mean and (len(rows) < 2 or (counts and counts[0] != len(rows))):
        return None
    total = sum(one.value for one in rows) / (len(rows) if is_mean else 1)
    return _answer("amount", f"{money_text(total, currency)} ({len(rows)} amounts)", rows)


def _answer_apart(rows: Sequence[Stated], currency: str) -> HomeAnswer | None:
    """Return how far two amounts are apart, where there are two."""
    if len(rows) != 2:
        return None
    told = " and ".join(money_text(one.value, currency) for one in rows)
    value = f"{money_text(abs(rows[0].value - rows[1].value), currency)} ({told})"
    return _answer("amount", value, rows)


def _for_each(asked: str, stated: StatedAmounts, _moments: Moments) -> HomeAnswer | None:
    """Return an amount for each of the number of people that the question says."""
    each = _EACH.search(asked)
    numbers = _numbers(asked[each.end() :]) if each else []
    if each is None or len(numbers) != 1 or numbers[0][0] < 2 or not _ASKS_AMOUNT.search(asked[: each.start()]):
        return None
    what, n = stated.meant(asked[: each.start()], is_meant=lambda one: one.is_price and not one.rate), numbers[0][0]
    if what is None:
        return None
    told = f"{money_text(what.value / n, what.currency)} ({money_text(what.value, what.currency)} ÷ {number_text(n)})"
    return _answer("amount", told, (what,))


def _product(asked: str, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return numbers times the prices of what they count, and what is added to it."""
    plain = without_times(asked, moments.call.now) if times_named(asked, moments.call.now) else asked
    counts = _numbers(plain if _numbers(plain) else asked)
    if not counts or not _ASKS_AMOUNT.search(asked) or _NO_PRODUCT.search(asked):
        return None
    priced: list[tuple[float, Stated]] = []
    for n, what in counts:
        unit = re.match(rf"(?:{_UNITS})\b", what, re.I)
        if unit is not None:
            rated = {"people": "person", "persons": "person"}.get(unit.group().casefold(), unit.group().casefold()[:-1])
            price = _rated(rated, asked, stated)
        else:
            price = _price_of(what, n, asked, stated)
        if price is None:
            return None
        priced.append((n, price))
    added = _added(asked, stated, priced[0][1]) if len(priced) == 1 else []
    rows = [price for _, price in priced] + added
    if (currency := same_currency(rows)) is None:
        return None
    total = sum(n * price.value for n, price in priced) + sum(one.value for one in added)
    parts = [f"{money_text(price.value, currency)} × {number_text(n)}" for n, price in priced]
    parts += [money_text(one.value, currency) for one in added]
    return _answer("amount", f"{money_text(total, currency)} ({' + '.join(parts)})", rows)


def _rated(unit: str, asked: str, stated: StatedAmounts) -> Stated | None:
    """Return the price for a day, a person or the like that a question speaks of."""
    return stated.meant(_without_numbers(asked), least=0.0, is_meant=lambda one: one.is_price and one.rate == unit)


def _price_of(what: str, n: float, asked: str, stated: StatedAmounts) -> Stated | None:
    """Return the price of what is counted: of all its words, else of the last."""
    for said in dict.fromkeys((what, *what.split()[-1:])):
        found = stated.meant(
            said, _without_numbers(asked), but=(n,), is_meant=lambda one: one.is_price and one.rate in ("", "kilo")
        )
        if found is not None:
            return found
    return None


def _is_price(one: Stated) -> bool:
    return one.is_price and not one.is_percent


def _over_months(asked: str, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return a monthly amount for all months of a period."""
    named = periods_meant(asked, moments.call.now)
    if not named or not (_ASKS_AMOUNT.search(asked) or _WHOLE.search(asked)):
        return None
    start, end = named[0].start, named[0].end
    n = 12 * (end.year - start.year) + end.month - start.month
    if n < 2 or (start.day, end.day) != (1, 1):
        return None
    return _monthly(asked, n, stated, moments)


def _in_a_year(asked: str, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return a monthly amount for a year, or half of it."""
    found = _IN_A_YEAR.search(asked)
    if found is None or not _ASKS_AMOUNT.search(asked):
        return None
    return _monthly(asked, 6 if found["half"] else 12, stated, moments)


def _monthly(asked: str, n: int, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return what a question's words mean for a number of months, where it is an amount for each month."""
    what = stated.meant(_IN_A_YEAR.sub(" ", without_times(asked, moments.call.now)), is_meant=_is_price)
    if what is None or not any(one.rate == "month" and one.value == what.value for one in stated.all):
        return None
    told = f"{money_text(n * what.value, what.currency)} ({money_text(what.value, what.currency)} × {n})"
    return _answer("amount", told, (what,))


def _added(asked: str, stated: StatedAmounts, price: Stated) -> list[Stated]:
    """Return the amounts of a price's record that the question adds: "with the deposit"."""
    words = [found["what"] for found in _PLUS.finditer(asked)]
    found = [stated.meant(word, is_meant=lambda one: one.passage.record == price.passage.record) for word in words]
    return [one for one in found if one is not None and one.value != price.value]


def _together(asked: str, stated: StatedAmounts, _moments: Moments) -> HomeAnswer | None:
    """Return the sum of two amounts that the question names."""
    found = _BOTH.fullmatch(re.sub(rf"(?:,? ?{_WHOLE.pattern}| cost)+\Z", "", asked, flags=re.I))
    is_sum = _WHOLE.search(asked) is not None and _ASKS_AMOUNT.search(asked) is not None
    if found is None or not (is_sum or " plus " in asked.casefold()):
        return None
    one, other = _pair(found["one"], found["other"], asked[: found.start("one")], stated)
    if one is None or other is None or one.value == other.value or one.rate != other.rate:
        return None
    if (currency := same_currency((one, other))) is None:
        return None
    told = " + ".join(money_text(each.value, currency) for each in (one, other))
    return _answer("amount", f"{money_text(one.value + other.value, currency)} ({told})", (one, other))


def _pair(one: str, other: str, around: str, stated: StatedAmounts) -> list[Stated | None]:
    """Return the prices of two things: of the record that states both, where one does."""
    for prices in stated.prices_by_record.values():
        pair = [stated.meant(side, least=1.0, among=prices) for side in (one, other)]
        if None not in pair and pair[0] != pair[1]:
            return pair
    return [
        stated.meant(side, f"{around} {beside}", is_meant=_is_price) for side, beside in ((one, other), (other, one))
    ]


def _numbers(text: str) -> list[tuple[float, str]]:
    """Return the numbers that a text counts with, each with the words behind it."""
    said, found = tokens(text), []
    index = 0
    while index < len(said):
        number = spoken_number(said, index) if said[index].low not in ("half", "one") else None
        if number is None:
            index += 1
            continue
        value, index = number
        if value >= 10**MOST_DIGITS:
            return []
        behind = text[said[index].start :] if index < len(said) else ""
        words = re.match(r"(?:kilos?|kg|pieces?|cups?|loaves|boxes|bags)?(?: ?of )?(?:[\w'’-]+ ?){0,3}", behind, re.I)
        what = re.split(
            r"\b(?:and|at|for|if|on|in|with|of|from|every|each|worth|cost|to)\b", words.group() if words else ""
        )
        found.append(
            (value, next((part.strip() for part in what if amount_keys(part) or re.match(_UNITS, part.strip())), ""))
        )
    return found


def _without_numbers(asked: str) -> str:
    return re.sub(r"\d[\d.,]*", " ", asked)


def _answer(kind: str, value: str, rows: Sequence[Stated]) -> HomeAnswer:
    witnesses: dict[str, Witness] = {}
    for one in rows:
        witnesses.setdefault(f"{one.passage.record} {one.quote}", one.witness)
    return HomeAnswer("amount" if kind == "amount" else "number", value, "", tuple(witnesses.values()), DOUBTED)
