"""Phrases tools as questions to a text: parameters, options and fields of earlier results in the form the reader sees.

Training and planning build their forms here, so that the reader always sees what it was trained on.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hearth.formats.plan_validation import canonical, fits
from hearth.models.span_extractor import N_SIGNS, Form, Question
from hearth.protocols import Encoder
from hearth.types import TYPE_NAMES, Parameter, ToolSpec

_MOST_FIELDS = 10
"""Number of fields of earlier results shown beside one call: the most similar."""
_MOST_STEPS = 12
_MOST_FIELDS_READ = 200
_TYPE_WORDS = {
    "text": "",
    "any": "",
    "integer": "number",
    "boolean": "yes or no",
    "datetime": "date and time",
}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_QUOTED_VALUE = re.compile(r"(?<!\w)(?:'([^'\n]{1,30})'|\"([^\"\n]{1,30})\"|`([^`\n]{1,30})`)(?!\w)")
_NUMBER_MEANT = re.compile(
    r"(?<![\w'.])(\d{1,4})(?= (?:for|is|represents|means|corresponds to|refers to) | ?[=:(] ?[a-z])", re.I
)
_IS_MEANT = re.compile(
    r"['\"`]?\s*(?:[=:(-]|(?:is|are|for|to|as|gives?|represents|means|meaning|corresponds to|refers to|provides|"
    r"indicates|stands for)\b)\s*(?:an? |the )?([^'\"`.;,()]{2,60})",
    re.IGNORECASE,
)
"""What stands behind a value in a description and says what it means: `'2' for ironing`, `1 = Monday`."""
_FORM_LETTERS = re.compile(r"[{}<>\[\]]|\b[YMDHhms]{2,4}\b|^n(?:ull|one)$", re.IGNORECASE)
_OF_FORM = re.compile(r"\bformat(?:ted)?(?: of| as| like| is|:)? ?\(?$", re.IGNORECASE)
_MOST_CHOICES = 40


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an earlier step's result, or (no name) the result itself."""

    step: int
    name: str
    type: str
    tool: str
    description: str = ""

    @property
    def text(self) -> str:
        rest = f": {self.description}" if self.description else ""
        return f"step {self.step + 1} {words(self.tool)} gives {words(self.name) or 'its result'}{rest}"


def words(name: str) -> str:
    """Return an identifier as words: `Hotels_1.checkInDate` is `hotels check in date`."""
    apart = re.sub(r"[\W_]+", " ", _CAMEL.sub(" ", name)).lower()
    return " ".join(word for word in apart.split() if not word.isdigit())


def is_yes_or_no(parameter: Parameter) -> bool:
    """Return whether a parameter is boolean, by its type or by its two options."""
    if parameter.enum:
        return {option.lower() for option in parameter.enum} == {"true", "false"}
    return canonical(parameter.type) == "boolean"


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that a parameter's options or description name."""

    value: str
    text: str
    """The value as words, with what the description says it means."""


@functools.lru_cache(maxsize=4096)
def choices(kind: str, enum: tuple[str, ...], description: str) -> tuple[Choice, ...]:
    """Return the values a parameter may have by its options, else those that its description quotes or numbers.

    A single quoted value is an example or a default, and forms (`YYYY-MM-DD`) are no values. What a description quotes
    need not be all that is allowed.
    """
    quoted = [m for m in _QUOTED_VALUE.finditer(description) if _OF_FORM.search(description, 0, m.start()) is None]
    named = {m[1] or m[2] or m[3]: m.end() for m in reversed(quoted)}
    if enum:
        meant = [Choice(one, _with_meaning(one, description, named)) for one in enum]
        return tuple(meant[:_MOST_CHOICES])
    if canonical(kind) in ("integer", "number"):
        named = {one: at for one, at in named.items() if one.isdecimal()}
        named = {m[1]: m.end() for m in reversed(list(_NUMBER_MEANT.finditer(description)))} | named
        found = [Choice(one, _with_meaning(one, description, named)) for one in reversed(named)]
        found = [one for one in found if one.text != one.value]
    elif canonical(kind) == "text":
        able = [one for one in reversed(named) if "," not in one and _FORM_LETTERS.search(one) is None]
        found = [Choice(one, _with_meaning(one, description, named)) for one in able]
    else:
        return ()
    return tuple(found[:_MOST_CHOICES]) if len(found) > 1 else ()


def _with_meaning(value: str, description: str, named: Mapping[str, int]) -> str:
    said = value.replace("_", " ")
    meant = _IS_MEANT.match(description, named[value]) if value in named else None
    if meant is None:
        return said
    return f"{said} {re.split(r' (?:and|or)$| (?:and|or) (?=[0-9])', meant[1].strip())[0]}"


def choices_of(parameter: Parameter) -> tuple[Choice, ...]:
    """Return the values that a parameter's options or description name; none of a yes or no."""
    if is_yes_or_no(parameter):
        return ()
    return choices(parameter.type, parameter.enum, parameter.description)


def question(parameter: Parameter, *, is_named: bool = True, is_described: bool = True) -> Question:
    kind = canonical(parameter.type)
    hint = "yes or no" if is_yes_or_no(parameter) else _TYPE_WORDS.get(kind, kind)
    if kind.startswith("list["):
        hint = "list"
    elif kind not in TYPE_NAMES:
        hint = words(kind)
    parts = [
        "required" if parameter.is_required else "optional",
        words(parameter.name) if is_named or not parameter.description else "",
        f"({hint})" if hint else "",
        parameter.description if is_described or not is_named else "",
    ]
    options = choices_of(parameter) if is_described else choices_of(replace(parameter, description=""))
    return Question(" ".join(part for part in parts if part), tuple(choice.text for choice in options))


def tool_text(spec: ToolSpec) -> str:
    return f"{words(spec.name)}: {spec.description}"


def form(spec: ToolSpec, fields: Sequence[Field] = ()) -> Form:
    """Return the questions of one call."""
    questions = tuple(question(parameter) for parameter in spec.parameters)
    return Form(tool_text(spec), questions, tuple(f.text for f in fields))


def match_text(spec: ToolSpec) -> str:
    """Return a tool as a text that requests are compared with."""
    asked = ", ".join(words(parameter.name) for parameter in spec.parameters)
    return f"{tool_text(spec)}. {asked}" if asked else tool_text(spec)


def fields_of(steps: Sequence[ToolSpec], place: int) -> list[Field]:
    """Return the fields that the steps before `place` give; the nearest steps when there are very many."""
    found: list[Field] = []
    for k in range(max(0, place - _MOST_STEPS), place):
        spec = steps[k]
        if not spec.fields:
            found.append(Field(k, "", spec.returns, spec.name, spec.description))
        for name, kind in spec.fields.items():
            found.append(Field(k, name, kind, spec.name, spec.field_texts.get(name, "")))
    return found[-_MOST_FIELDS_READ:]


class Likeness:
    """Similarity of parameters and fields, by a sentence encoder; texts of tools are embedded once."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._kept: dict[str, NDArray[np.float32]] = {}

    def fields(self, spec: ToolSpec, fields: Sequence[Field]) -> tuple[list[Field], NDArray[np.float32]]:
        """Return the fields to show beside a call, likeliest first, and their similarity features to its parameters.

        Returns:
            Signs of shape [n_parameters, n_fields, N_SIGNS]: likeness of name and description, of names, of the
            parameter with tool and field; whether names are the same, whether descriptions are, whether types fit,
            whether the field is of the step just before.
        """
        if not fields or not spec.parameters:
            return [], np.zeros((len(spec.parameters), 0, N_SIGNS), np.float32)
        full = [f"{words(p.name)}: {p.description}" for p in spec.parameters]
        named = [words(p.name) for p in spec.parameters]
        of_full = [f"{words(f.name or f.tool)}: {f.description}" for f in fields]
        of_named = [words(f.name or f.tool) for f in fields]
        of_tool = [f"{words(f.tool)} {words(f.name)}" for f in fields]
        self._keep({*full, *named, *of_full, *of_named, *of_tool})
        signs = np.zeros((len(full), len(fields), N_SIGNS), np.float32)
        signs[:, :, 0] = self._rows(full) @ self._rows(of_full).T
        signs[:, :, 1] = self._rows(named) @ self._rows(of_named).T
        signs[:, :, 2] = self._rows(named) @ self._rows(of_tool).T
        last = max(f.step for f in fields)
        for i, parameter in enumerate(spec.parameters):
            for j, one in enumerate(fields):
                signs[i, j, 3] = one.name != "" and of_named[j] == named[i]
                signs[i, j, 4] = one.description != "" and one.description.lower() == parameter.description.lower()
                signs[i, j, 5] = fits(one.type, parameter.type)
                signs[i, j, 6] = one.step == last
        best = signs[:, :, :6].sum(axis=2)
        shown = np.argsort(-best.max(axis=0), kind="stable")[:_MOST_FIELDS].tolist()
        return [fields[j] for j in shown], signs[:, shown]

    def of_texts(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the likeness of a text, which is not kept, to others, which are."""
        self._keep(set(others))
        return [float(one) for one in self._rows(others) @ self._encoder.encode([text])[0]] if others else []

    def _keep(self, texts: set[str]) -> None:
        new = sorted(texts - self._kept.keys())
        if len(self._kept) + len(new) > 50_000:
            self._kept.clear()
            new = sorted(texts)
        if new:
            self._kept.update(zip(new, self._encoder.encode(new)))

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._kept[text] for text in texts])
