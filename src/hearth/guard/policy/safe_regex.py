"""Accepts only regular expressions that cannot run away, for the patterns of a policy.

A pattern is refused unless its syntax shows that the number of ways to try it on a text of `MAX_TEXT_CHARS` has a small
bound: no back-references, no lookaround, no repetition of something that itself varies, few open repetitions side by
side. Accepted patterns are matched by the standard library, against the whole text.

Covered: catastrophic backtracking, by exponential and by polynomial patterns.
Not covered: whether a pattern says what was meant.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

MAX_PATTERN_CHARS = 500
MAX_TEXT_CHARS = 1000
"""Longer texts are not matched at all: `fits` returns None for them."""
MAX_COST = 2_000_000
"""Ways to try a pattern on the longest text; about as many steps are taken at worst."""

_parser: Any = importlib.import_module("re._parser")
_FORBIDDEN = {
    "GROUPREF": "a back-reference",
    "GROUPREF_EXISTS": "a back-reference",
    "ASSERT": "looking ahead or behind",
    "ASSERT_NOT": "looking ahead or behind",
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A checked pattern."""

    text: str
    compiled: re.Pattern[str]

    def fits(self, text: str) -> bool | None:
        """Return whether the whole of `text` matches; None if the text is too long to be checked."""
        return None if len(text) > MAX_TEXT_CHARS else self.compiled.fullmatch(text) is not None

    def may_fit(self, text: str, *, is_any_case: bool) -> bool | None:
        """Return the same as a rule that denies reads it: the dot stands for ends of lines, too, letters that are
        written in two ways are one, and in a thing's name case does not count."""
        composed = unicodedata.normalize("NFC", text)
        if len(composed) > MAX_TEXT_CHARS:
            return None
        flags = re.DOTALL | (re.IGNORECASE if is_any_case else re.NOFLAG)
        return re.compile(unicodedata.normalize("NFC", self.text), flags).fullmatch(composed) is not None


def checked_pattern(text: str) -> Pattern:
    """Compile `text`. Raises: ValueError: Not a pattern, or one that may run away; says what to write instead."""
    if len(text) > MAX_PATTERN_CHARS:
        raise ValueError(f"the pattern has {len(text)} characters; at most {MAX_PATTERN_CHARS}, so list values instead")
    try:
        tree = _parser.parse(text)
        cost = _cost(tree, is_repeated=False)
        compiled = re.compile(text)
    except (re.error, OverflowError) as error:
        raise ValueError(f"{text!r} is no regular expression: {error}; mend it or use `one_of`") from None
    except RecursionError:
        raise ValueError("the pattern is nested too deeply; write a simpler one") from None
    if cost > MAX_COST:
        raise ValueError(
            f"{text!r} could take too long on some texts; use fewer `*`, `+` and `?`, or a fixed count such as {{1,20}}"
        )
    return Pattern(text, compiled)


def _cost(tree: Iterable[Any], *, is_repeated: bool) -> int:
    """Bound the number of ways a sequence can be tried. Raises: ValueError."""
    cost = 1
    for operator, argument in tree:
        cost *= _cost_of(str(operator), argument, is_repeated=is_repeated)
        if cost > MAX_COST:
            return cost
    return cost


def _cost_of(name: str, argument: Any, *, is_repeated: bool) -> int:
    if name in _FORBIDDEN:
        raise ValueError(f"the pattern uses {_FORBIDDEN[name]}, which can take forever; write it without")
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        low, high, inner = argument
        n_ways = min(int(high), MAX_TEXT_CHARS) - min(int(low), MAX_TEXT_CHARS) + 1
        within = _cost(inner, is_repeated=is_repeated or high > 1)
        if high > 1 and within > 1:
            raise ValueError("the pattern repeats something that itself varies, such as (a+)*; repeat a single class")
        return n_ways * within
    if name == "BRANCH":
        branches = argument[1]
        if is_repeated and not _start_differently(branches):
            raise ValueError("the pattern repeats alternatives that begin alike, such as (a|ab)*; write a class [ab]*")
        return (
            len(branches) * max(_cost(branch, is_repeated=is_repeated) for branch in branches) if not is_repeated else 1
        )
    if name == "SUBPATTERN":
        return _cost(argument[-1], is_repeated=is_repeated)
    if name == "ATOMIC_GROUP":
        return _cost(argument, is_repeated=is_repeated)
    return 1


def _start_differently(branches: Iterable[Any]) -> bool:
    """Return whether each alternative is a text with a different first letter, so that at most one can be tried."""
    firsts = []
    for branch in branches:
        if not branch or any(str(operator) != "LITERAL" for operator, _ in branch):
            return False
        firsts.append(branch[0][1])
    return len(set(firsts)) == len(firsts)
