"""Plans a request that was made before in nearly the same words, with the values that it has now."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hearth.formats.plans import is_moment, literals, only_reads
from hearth.language.reading import Utterance
from hearth.language.tokens import Slot
from hearth.planning.adaptation import (
    POLITE,
    Adapted,
    Case,
    Fitted,
    Misfit,
    Said,
    adapt,
    case_of,
    fit,
    is_gone,
    is_turned,
    planned,
    spellings_of,
    telling,
    words_of,
)
from hearth.types import Demonstration, Plan, Request, ToolSpec

# ── Likeness ──────────────────────────────────────────────────────────────────────────────────────────────
# Says which demonstration in nearly the same words a request repeats, and how surely its plan is the right one.
#
# People ask for the same few things again and again, in other words, on other days, with another name or text in
# them. A request is laid word by word beside each similar demonstration (`planning.adaptation`); the features of the
# match (`SIGNS`) give a probability that the adapted plan is right.
#
# Covered: repetition with other politeness, order, spelling. Not covered: requests of a kind never taught: for these
# the sureness is low, and another planner must be asked.

Floats = NDArray[np.float64]
N_NEAREST, N_SHARED = 6, 6
"""Candidates looked at closely: so many by the sentence's vector, so many by shared rare words."""
SIGNS = (
    *("bias", "cosine", "kept", "new", "both", "exchanged", "unfilled", "agreed", "margin", "hour", "nothing"),
    *("likely", "short"),
)
WEIGHTS = np.array([-4.65, 0.4, 0.48, -0.28, 3.06, -1.94, -3.29, 0.93, 4.18, -2.57, 3.01, 3.26, 5.06])
"""Weights of the signs in the log-odds that a plan is right: `hearth_bench.measure.learning.fleet_sureness`."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """One plan for a request: that of a demonstration, adapted to it."""

    plan: Plan
    """Plan for the request; without steps when nothing is to be done."""
    id: str
    """Id of the demonstration."""
    likeness: float
    signs: Floats
    """Features of the match, in the order of `SIGNS`."""

    @property
    def sureness(self) -> float:
        """Return the probability that the plan is right, as fitted (`hearth_bench.measure.learning.fleet_sureness`)."""
        return float(1 / (1 + math.exp(-float(self.signs @ WEIGHTS))))


def rarity_of(requests: Iterable[str]) -> dict[str, float]:
    """Weigh words by how few of many people's requests have them."""
    counts: Counter[str] = Counter()
    n = 0
    for text in requests:
        counts.update(set(words_of(text)[0]))
        n += 1
    return {word: 0.2 + math.log((n + 1) / (count + 0.5)) / math.log(n + 2) for word, count in counts.items()}


Candidate = tuple[Case, Fitted, float, float]
"""A demonstration, how the request lies beside it, the cosine of their vectors, their likeness."""


def weighing(rarity: Mapping[str, float]) -> Callable[[str], float]:
    """Return how much a word counts when requests are compared."""
    unknown = max(rarity.values(), default=1.0)
    return lambda word: 0.1 if word in POLITE else rarity.get(word, unknown)


def candidate(case: Case, said: Said, cosine: float, now: dt.datetime) -> Candidate:
    """Lay a request beside a demonstration."""
    fitted = fit(case, said, now)
    return case, fitted, cosine, 0.5 * cosine + 0.5 * fitted.kept * fitted.new


def ranked(
    found: Sequence[Candidate],
    likely: Callable[[Plan], float] | None,
    now: dt.datetime,
    n_words: int,
    most: int,
) -> list[Repeat]:
    """Return the plans of candidates, the most alike first, by how surely each is right; of one form only the best."""
    best: dict[object, Candidate] = {}
    mass: dict[object, float] = {}
    for each in found:
        form = each[0].form
        best.setdefault(form, each)  # the most similar comes first
        mass[form] = mass.get(form, 0.0) + math.exp(12 * (each[3] - found[0][3]))
    whole = sum(mass.values())
    top = sorted((each[3] for each in best.values()), reverse=True)[:2]
    judged = []
    for one, fitted, cosine, likeness in best.values():
        other = top[0] if likeness < top[0] else top[1] if len(top) > 1 else 0.0
        signs = np.array([
            1.0, cosine, fitted.kept, fitted.new, fitted.kept * fitted.new, float(bool(fitted.changes)),
            fitted.unfilled, mass[one.form] / whole, likeness - other, fitted.hours / 12, float(not one.plan.steps),
            likely(one.plan) if likely else 0.0, 1 / (1 + n_words),
        ])  # fmt: skip
        judged.append((float(signs @ WEIGHTS), likeness, one, fitted, signs))
    judged.sort(key=lambda each: (-each[0], -each[1]))
    return [
        Repeat(planned(one, fitted.changes, now), one.id, likeness, signs)
        for _, likeness, one, fitted, signs in judged[:most]
    ]


# ── Repeat planner ────────────────────────────────────────────────────────────────────────────────────────
# Plans a request that the owner made before in nearly the same words. If anything is left over, nothing is proposed,
# and another planner is asked.

SURE, SURE_WHOLE = 0.8, 0.5
"""Least sureness of a repeated plan, and of one for a request in the very same words.

In the lives of a pilot fleet .998 of such plans are right, and more than half of what owners ask is so sure.
"""
N_NEAR = 12
"""Number of demonstrations compared with a request."""
_CLOSE = 0.5
"""Least share of words that are the same in two requests of which one may be the other turned round."""


def said_again(
    request: Utterance,
    form: NDArray[np.float32],
    near: Sequence[tuple[Demonstration, NDArray[np.float32]]],
    rarity: Mapping[str, float],
    tools: Mapping[str, ToolSpec],
) -> Adapted | None:
    """Return the plan that was taught for a request like this one, when it is surely meant.

    Args:
        form: The request's form vector.
        near: The owner's demonstrations most similar to it, oldest first, each with its form vector.
        rarity: Weight of each word (`rarity_of`).
    """
    likeliest = _likeliest(request, form, near, rarity)
    if likeliest is None:
        return None
    best, one = likeliest
    adapted = adapt(one, request, tools)
    if isinstance(adapted, Misfit) or (best.sureness < SURE and (adapted.is_exchanged or adapted.left)):
        return None
    if adapted.left and not adapted.plan.steps:
        return None
    steps = tuple(replace(step, text=request.text) if adapted.taken else step for step in adapted.plan.steps)
    confidence = round(best.sureness, 4) if steps else adapted.plan.confidence
    return replace(adapted, plan=replace(adapted.plan, steps=steps, confidence=confidence, rests_on=(one.id,)))


def _newest_of_each(
    near: Sequence[tuple[Demonstration, NDArray[np.float32]]],
) -> dict[tuple[str, ...], tuple[Demonstration, NDArray[np.float32]]]:
    """Keep the newest of the demonstrations in the same words, polite ones aside.

    A correction by the owner also stands against later actions that nobody objected to.
    """
    found: dict[tuple[str, ...], tuple[Demonstration, NDArray[np.float32]]] = {}
    for one in near:
        words = tuple(telling(one[0].request)) or words_of(one[0].request)[0]
        known = found.get(words)
        if known is None or one[0].source == "owner" or known[0].source != "owner":
            found.pop(words, None)
            found[words] = one
    return found


def does_the_opposite(
    answer: Plan,
    request: Request,
    near: Sequence[tuple[Demonstration, NDArray[np.float32]]],
    tools: Mapping[str, ToolSpec],
) -> bool:
    """Return whether a plan does what the owner taught for the same words with one turned round: on for off.

    Heads and votes find a long request almost the same although one word of it says the contrary. What is done for one
    act of several is compared with what that act says.
    """
    if only_reads(answer, tools):
        return False
    done = {request.text: [(step.tool, dict(step.arguments)) for step in answer.steps]}
    for step in answer.steps:
        if step.text and step.text != request.text:
            done.setdefault(step.text, []).append((step.tool, dict(step.arguments)))
    for one, _ in near:
        taught = [(step.tool, dict(step.arguments)) for step in one.plan.steps]
        said = [text for text, steps in done.items() if taught and steps == taught]
        if any(_is_close(one.request, text) and is_turned(one.request, text) for text in said):
            return True
    return False


def _is_close(taught: str, text: str) -> bool:
    words, said = set(telling(taught)), set(telling(text))
    return len(words & said) >= _CLOSE * max(len(words), len(said), 1)


def holds_what_is_gone(plan: Plan, tools: Mapping[str, ToolSpec], slots: Sequence[Slot], now: dt.datetime) -> bool:
    """Return whether a step that changes or sends something has a past moment that nobody said.

    Such a moment belongs to the day on which it was taught.
    """
    said = {str(view)[:16] for slot in slots for view in slot.views.values()}
    steps = [step for step in plan.steps if tools[step.tool].effect != "none"]
    return any(
        isinstance(value, str) and is_moment(value) and value[:16] not in said and is_gone(value, now)
        for step in steps
        for argument in step.arguments.values()
        for value in literals(argument)
    )


def _likeliest(
    request: Request,
    form: NDArray[np.float32],
    near: Sequence[tuple[Demonstration, NDArray[np.float32]]],
    rarity: Mapping[str, float],
) -> tuple[Repeat, Demonstration] | None:
    """Return the repeat that is likeliest meant, with what was taught for it; None where none is sure enough."""
    taught, weight = list(_newest_of_each(near).values()), weighing(rarity)
    said, cases = Said(request.text, weight), [case_of(one, weight) for one, _ in taught]
    own = telling(request.text)
    likeness = [1.0 if telling(one.request) == own else float(its_form @ form) for one, its_form in taught]
    cosines = np.array(likeness, dtype=np.float32)  # forms leave out values: those of the same words differ
    rows = _worth_a_look(said, cases, cosines)
    found = [(candidate(cases[row], said, float(cosines[row]), request.now), row) for row in rows]
    found.sort(key=lambda each: (-each[0][3], -each[1]))
    best = next(iter(ranked([one for one, _ in found], None, request.now, len(said.words), 1)), None)
    if best is None or best.sureness < SURE_WHOLE:
        return None
    return best, next(one for one, _ in taught if one.id == best.id)


def _worth_a_look(said: Said, cases: Sequence[Case], cosines: NDArray[np.float32]) -> list[int]:
    """Return the nearest demonstrations by their vectors, and those that share most of the words."""
    n = min(N_NEAREST, len(cosines))
    near = np.argpartition(-cosines, n - 1)[:n] if len(cosines) > n else np.arange(len(cosines))
    spellings = [{key for word in set(case.said) - POLITE for key in spellings_of(word)} for case in cases]
    shared: dict[int, float] = {}
    for word, weight in dict(zip(said.words, said.weights)).items():
        for row, known in enumerate(spellings):
            if word not in POLITE and not known.isdisjoint(spellings_of(word)):
                shared[row] = shared.get(row, 0.0) + weight
    best = sorted(shared, key=lambda row: (-shared[row], -row))[:N_SHARED]
    return list(dict.fromkeys([*map(int, sorted(near)), *best]))
