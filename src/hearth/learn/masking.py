"""What a remote teacher reads of a request: values that name someone are replaced, and put back in its plan.

`mask` is the seam: today's replaces what the finders know (e-mail addresses, phone numbers, web addresses, file paths,
names of people the owner knows). Covered: the same value gets the same stand-in throughout one request, a stand-in is
of its value's kind so that a plan with it still checks, and `unmask` gives back the very text that was said.
Not covered: names nobody told Hearth of, addresses of houses, numbers of accounts, what is told by the request's
meaning, and requests that are told apart by their wording.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from hearth.planning.slots import find_slots
from hearth.types import Argument, Context, Entity, Plan, Refusal, Request

_STAND_INS: Mapping[str, str] = {
    "email": "person{n}@masked.example",
    "phone": "+1 555 01{n:02d}",
    "url": "https://masked.example/{n}",
    "file": "masked{n}{suffix}",
    "person": "Person{n}",
    "unknown_person": "Person{n}",
}
"""By the kind of slot. The domain and the numbers are reserved for examples (RFC 2606; NANPA 555-01XX)."""


@dataclass(frozen=True, slots=True)
class Masked:
    """A request fit to leave the device, and the way back."""

    request: Request
    values: Mapping[str, str]
    """Stand-in → what it stands for."""

    def unmask(self, text: str) -> str:
        """`text` with every stand-in put back."""
        if not self.values:
            return text
        pattern = "|".join(re.escape(stand_in) for stand_in in sorted(self.values, key=len, reverse=True))
        # A digit behind would make it another stand-in: Person1 is not the beginning of Person12.
        return re.sub(rf"(?:{pattern})(?!\d)", lambda match: self.values[match[0]], text)

    def unmask_answer(self, answer: Plan | Refusal) -> Plan | Refusal:
        """The teacher's answer in the owner's own values."""
        if isinstance(answer, Refusal):
            return replace(answer, reason=self.unmask(answer.reason))
        steps = tuple(
            replace(
                step,
                arguments={name: self._unmasked(value) for name, value in step.arguments.items()},
                text=self.unmask(step.text),
            )
            for step in answer.steps
        )
        return replace(answer, steps=steps, unserved=tuple(self.unmask(part) for part in answer.unserved))

    def _unmasked(self, value: Argument) -> Argument:
        if isinstance(value, str):
            return self.unmask(value)
        if isinstance(value, list):
            return [self._unmasked(item) for item in value]
        if isinstance(value, dict):
            return {key: self._unmasked(item) for key, item in value.items()}
        return value


Mask = Callable[[Request, Context], Masked]
"""What a remote teacher is handed; `masked` below, until something that finds more takes its place."""


def masked(request: Request, context: Context) -> Masked:
    """Replace what the finders know. Any text; deterministic."""
    text, values, stand_ins = request.text, dict[str, str](), dict[tuple[str, str], str]()
    parts: list[str] = []
    end = 0
    for kind, start, stop in _telling(text, request.now, context):
        key = (kind, text[start:stop])
        if key not in stand_ins:
            stand_ins[key] = _unused(_STAND_INS[kind], text[start:stop], text, values)
            values[stand_ins[key]] = text[start:stop]
        parts += [text[end:start], stand_ins[key]]
        end = stop
    return Masked(replace(request, text="".join([*parts, text[end:]]), id=""), values)


def _telling(text: str, now: dt.datetime, context: Context, offset: int = 0) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each value that names someone, those inside quotation marks too."""
    for slot in find_slots(text, now if now.tzinfo is not None else now.replace(tzinfo=dt.UTC), context):
        if slot.kind in _STAND_INS:
            yield slot.kind, offset + slot.start, offset + slot.end
        elif slot.kind == "quoted" and slot.end - slot.start > 2:
            yield from _telling(text[slot.start + 1 : slot.end - 1], now, context, offset + slot.start + 1)


def _unused(form: str, value: str, text: str, values: Mapping[str, str]) -> str:
    """A stand-in that neither the request nor another value has."""
    suffix = re.search(r"\.\w{1,8}$", value)
    n = len(values) + 1
    while True:
        stand_in = form.format(n=n, suffix=suffix[0] if suffix else "")
        if stand_in not in values and stand_in.casefold() not in text.casefold():
            return stand_in
        n += 1


def known_names(masked: Masked) -> Context:
    """What a remote teacher may know of the owner's world: the stand-ins of people, and nothing else."""
    people = (name for name in masked.values if re.fullmatch(r"Person\d+", name))
    return Context(entities=tuple(Entity(name, "person") for name in people))
