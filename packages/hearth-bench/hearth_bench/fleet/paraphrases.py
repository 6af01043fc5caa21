"""Reword an instruction: politeness, shorter and longer forms, typing errors, other values.

Every change keeps the right plan certain: words that are part of a value of the plan are never altered, only exchanged
together with it, and nothing is added behind a value that ends the request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hearth.planning.adaptation import exchanged, values_of
from hearth.types import Argument, Plan

if TYPE_CHECKING:
    from hearth_bench.data.q2a_instructions import Sample

Pools = Mapping[str, Sequence[Argument]]

_BEFORE = ("please ", "hey hearth, ", "ok, ", "right, ", "quickly: ", "hi, ", "um ", "so ", "hello, ", "now then, ")
_AFTER = (" please", " thanks", ", ta", " when you can", " :)", " now", ", thank you", " - cheers")
_PHRASES = (
    ("turn off", "switch off"), ("turn on", "switch on"), ("switch off", "turn off"), ("switch on", "turn on"),
    ("what's", "what is"), ("whats", "what's"), ("what is", "what's"), ("tomorrow", "tmrw"), ("tmrw", "tomorrow"),
    ("tonight", "this evening"), ("please", "pls"), ("pls", "please"), ("minutes", "min"), ("show me", "let me see"),
    ("find", "look up"), ("look up", "find"), ("send it", "send that"), ("send that", "send it"), ("and", "&"),
    ("tell me", "let me know"), ("remind me", "give me a reminder"), ("put", "stick"), ("add", "put"),
    ("is there", "have we got"), ("any", "some"), ("mail", "email"), ("photo", "picture"), ("who was", "who's been"),
    ("did anybody", "did anyone"), ("anybody", "anyone"), ("somebody", "someone"), ("i am", "i'm"), ("i'm", "i am"),
    ("do i have", "have i got"), ("have i got", "do i have"),
)  # fmt: skip
_TEXTS = (
    "back by six", "the tap drips again", "all quiet today", "ask about the spare key", "paid the gas bill",
    "two parcels came", "slept badly", "need new batteries", "the meeting went well", "left the umbrella on the bus",
    "running ten minutes late", "soup is in the fridge", "the window is mended", "bring a warm coat",
    "no milk left", "the dentist moved it", "talked to the neighbours", "half an hour of walking done",
    "tyres pumped up", "first frost this morning", "the printer works again", "cake was a success",
    "call me when you can", "the bins are out", "spent too much today", "power was out for an hour",
    "the plumber comes again", "sorted the shelf", "forgot the tickets", "the boiler makes a noise",
)  # fmt: skip
_ITEMS = (
    "apples", "rice", "soap", "tea", "butter", "onions", "lemons", "flour", "oats", "cheese", "tomatoes", "candles",
    "pasta", "honey", "carrots", "matches", "olive oil", "paper towels", "black beans", "yeast",
)  # fmt: skip
_FREE = {
    **dict.fromkeys(
        ("append_to_note.text", "draft_mail.text", "draft_reply.text", "draft_forward.text", "remember.text"), _TEXTS
    ),
    **dict.fromkeys(("add_reminder.text", "add_event.title"), _TEXTS),
    "add_to_list.items": _ITEMS,
}
"""Replacement values for parameters of free text."""
_BY_POOL = frozenset({"find_contact.name", "find_mail.sender", "identify_people.name"})
"""Parameters whose value may be exchanged for another of the persona's."""
_NUMBERS: Mapping[str, Sequence[int]] = {
    "set_brightness.percent": range(10, 101, 5),
    "set_volume.percent": range(5, 81, 5),
    "set_temperature.temperature": range(15, 25),
}
_DEVICES = ("turn_on.device", "turn_off.device", "set_brightness.device")


def others_like(tool: str, name: str, value: Argument, pools: Pools) -> list[Argument]:
    """Return the other values of the same sort."""
    key = f"{tool}.{name}"
    if key in _NUMBERS:
        found: Sequence[Argument] = _NUMBERS[key]
    elif key == "add_to_list.items":
        found = _ITEMS
    elif key == "set_timer.length":
        found = [f"PT{minutes}M" for minutes in (20, 25, 30, 40, 45, 50, 60, 75, 90, 120)]
    elif key in _DEVICES:
        found = sorted({str(one): one for other in _DEVICES for one in pools.get(other, ())}.values(), key=str)
    else:
        found = pools.get(key, ())
    return [one for one in found if repr(one) != repr(value)]


def said_otherwise(
    sample: Sample, variant: int, pools: Pools, fixed: frozenset[str] = frozenset()
) -> tuple[str, Plan | None]:
    """Reword an instruction, the same way for the same `variant`, and return the text with its right plan.

    Args:
        fixed: Forms of the values that the convention stands for; they are not exchanged.
    """
    rng = np.random.Generator(np.random.PCG64([variant, *sample.id.encode()]))
    text, plan = sample.request.text, sample.plan
    if plan is not None and rng.random() < 0.6:
        text, plan = _with_another_value(text, plan, rng, pools, fixed)
    guarded = _guarded(text, plan)
    if rng.random() < 0.6:
        text = _with_another_phrase(text, guarded, rng)
    if rng.random() < 0.45:
        text = _with_an_error(text, guarded, rng)
    if rng.random() < 0.45:
        text = _politely(text, plan, rng)
    if rng.random() < 0.3 and guarded == frozenset():
        text = text.lower() if rng.random() < 0.5 else text.rstrip(".!")
    return text, plan


def _exchangeable(plan: Plan, fixed: frozenset[str]) -> Iterator[tuple[str, str, str | int]]:
    """Yield tool, argument and value of each text and number that may be another one."""
    for step in plan.steps:
        for name, value in step.arguments.items():
            key = f"{step.tool}.{name}"
            if not (key in _FREE or key in _BY_POOL or key in _NUMBERS):
                continue
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, str | int) and not isinstance(one, bool) and repr(one) not in fixed:
                    yield step.tool, name, one


def _with_another_value(
    text: str, plan: Plan, rng: np.random.Generator, pools: Pools, fixed: frozenset[str]
) -> tuple[str, Plan]:
    """Exchange a value that occurs once in the words and once in the plan, in both."""
    choices: list[tuple[Argument, tuple[int, int], list[Argument]]] = []
    for tool, name, one in _exchangeable(plan, fixed):
        spots = [m.span() for m in re.finditer(rf"(?<!\w){re.escape(str(one).lower())}(?!\w)", text.lower())]
        if len(spots) != 1 or sum(str(one).lower() in str(other).lower() for other in values_of(plan)) != 1:
            continue
        key = f"{tool}.{name}"
        others = list(_FREE[key]) if key in _FREE else others_like(tool, name, one, pools)
        others = [other for other in others if _is_apart(str(other).lower(), str(one).lower(), text.lower())]
        if others:
            choices.append((one, spots[0], others))
    if not choices:
        return text, plan
    old, (start, end), others = choices[int(rng.integers(len(choices)))]
    new = others[int(rng.integers(len(others)))]
    changed = exchanged(plan, lambda value: new if repr(value) == repr(old) else value)
    return f"{text[:start]}{new}{text[end:]}", changed


def _is_apart(new: str, old: str, text: str) -> bool:
    """Return whether a value can replace another without being mistaken for it or for other words of the text."""
    return new not in text and not set(re.findall(r"\w+", new)) & set(re.findall(r"\w+", old))


def _guarded(text: str, plan: Plan | None) -> frozenset[str]:
    """Return the words of the request that occur in a value of the plan and must stay unchanged."""
    if plan is None:
        return frozenset()
    held = {word for value in values_of(plan) for word in re.findall(r"\w+", str(value).lower())}
    return frozenset(re.findall(r"\w+", text.lower())) & held


def _with_another_phrase(text: str, guarded: frozenset[str], rng: np.random.Generator) -> str:
    for k in rng.permutation(len(_PHRASES)):
        old, new = _PHRASES[int(k)]
        if guarded & set(re.findall(r"\w+", old)):
            continue
        changed = re.sub(rf"(?<![\w&']){re.escape(old)}(?![\w'])", new, text, count=1, flags=re.IGNORECASE)
        if changed != text:
            return changed
    return text


def _with_an_error(text: str, guarded: frozenset[str], rng: np.random.Generator) -> str:
    words = [m for m in re.finditer(r"[A-Za-z]{5,}", text) if m[0].lower() not in guarded]
    if not words:
        return text
    match = words[int(rng.integers(len(words)))]
    word, at = match[0], int(rng.integers(1, len(match[0]) - 1))
    wrong = (
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
    )[int(rng.integers(3))]
    return text[: match.start()] + wrong + text[match.end() :]


def _politely(text: str, plan: Plan | None, rng: np.random.Generator) -> str:
    values = [str(v).lower().rstrip(".!?") for v in values_of(plan)] if plan is not None else []
    end = text.lower().rstrip(" .!?\"”'")
    ends_with_value = any(v and end.endswith(v) for v in values)
    if rng.random() < 0.6 or ends_with_value:
        return _BEFORE[int(rng.integers(len(_BEFORE)))] + text[0].lower() + text[1:]
    return text.rstrip(".!") + _AFTER[int(rng.integers(len(_AFTER)))]
