"""Read and check Q2A: instructions of six owners in order of time, each with the right plan, hand-written for Hearth.

`data/q2a/OWNER.jsonl` holds one owner's instructions in the plan format, `OWNER.world.json` the owner's home (read by
`q2a_homes`); the card beside them says how they were made. `python -m hearth_bench.data.q2a_instructions --check`
checks the set: no near-duplicates, known tools, arguments of the right types, valid references, and every plan runs in
its owner's home to its end. The split follows from a hash of the instruction's name: `stream` is learnt from in order,
`dev` is for tuning, `test` for the final measurement. No test instruction may enter demonstrations, word lists or
prompts.

Covered: shape, types, times, shares of kinds, repetition, execution.
Not covered: whether a plan is what the owner meant; that was judged by its writer alone.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hearth.agent import shipped_demonstrations
from hearth.errors import HearthError, PlanError, RequestError
from hearth.formats.plans import check_plan, plan_from_json, read_jsonl
from hearth.types import Plan, Refusal, Request, ToolSpec
from hearth_bench.data.q2a_homes import World, execute, read_world

OWNERS = ("mara", "tomas", "aisha", "jun", "ingrid", "sam")
N_EACH = 200
SIMILAR_WITHIN, SIMILAR_ACROSS = 0.7, 0.85
"""Jaccard index of two instructions' words above which one repeats the other: for one owner, for two owners."""
Split = Literal["stream", "dev", "test"]
_OF_TEN: tuple[Split, ...] = ("stream", "stream", "stream", "stream", "stream", "stream", "dev", "dev", "test", "test")


class _RefusalLine(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: Literal["needs", "out_of_scope"]
    reason: Annotated[str, Field(min_length=8)]
    missing: tuple[str, ...] = ()


class _Line(BaseModel):
    """Fields of a Q2A line beyond the plan format."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    id: Annotated[str, Field(pattern=r"^[a-z]+-\d{3}$")]
    user_request: Annotated[str, Field(min_length=2, max_length=600)]
    now: dt.datetime
    convention: str = ""
    style: tuple[Literal["typo", "ellipsis", "paraphrase", "dictated", "indirect", "terse"], ...] = ()
    follows: str = ""
    finds_nothing: bool = False
    refusal: _RefusalLine | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One instruction with its right plan or refusal."""

    id: str
    owner: str
    request: Request
    plan: Plan | None
    """None where the right answer is to ask or to refuse."""
    refusal: Refusal | None
    convention: str
    """Name of the owner's convention that the words rely on; empty: none."""
    style: tuple[str, ...]
    follows: str
    """Id of the earlier instruction that this one refers to ("same for tomorrow"); empty: none."""
    finds_nothing: bool
    """True when a step of the right plan may return nothing."""
    line: Mapping[str, object]
    """Line as in the file, with unknown fields."""

    @property
    def split(self) -> Split:
        return split_of(self.id)

    @property
    def kind(self) -> Literal["single", "chain", "dag", "ask", "refuse"]:
        """Kind of the instruction. `chain`: several steps; `dag`: a result used by two steps, or a step that uses
        two results."""
        if self.plan is None:
            return "ask" if self.refusal is not None and self.refusal.kind == "needs" else "refuse"
        if len(self.plan.steps) == 1:
            return "single"
        needs = [step.needs() for step in self.plan.steps]
        used = Counter(source for sources in needs for source in sources)
        return "dag" if any(len(sources) > 1 for sources in needs) or max(used.values(), default=0) > 1 else "chain"


def split_of(id: str) -> Split:
    """Return an instruction's split, from its name alone: six in ten `stream`, two `dev`, two `test`."""
    return _OF_TEN[int(hashlib.sha256(f"q2a {id}".encode()).hexdigest(), 16) % 10]


def read_owner(owner: str, folder: Path | None = None) -> list[Sample]:
    """Read an owner's instructions in order of time.

    Args:
        folder: Folder with `OWNER.jsonl`; the shipped one by default.
    Raises:
        RequestError: A line has the wrong shape; names file, line and field.
    """
    with as_file(files("hearth_bench") / "data" / "q2a") as shipped:
        path = (folder or shipped) / f"{owner}.jsonl"
        return [_sample(owner, data, f"{path.name}:{number}") for number, data in read_jsonl(path)]


def read_all(split: Split | None = None, folder: Path | None = None) -> Iterator[Sample]:
    """Yield every owner's instructions, of one split or of all."""
    for owner in OWNERS:
        yield from (sample for sample in read_owner(owner, folder) if split is None or sample.split == split)


def _sample(owner: str, data: Mapping[str, object], where: str) -> Sample:
    try:
        line = _Line.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise RequestError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if line.now.tzinfo is None:
        raise RequestError(f"{where}: {data['now']!r} has no offset from UTC; write e.g. 2026-09-07T08:00:00+02:00")
    try:
        plan = plan_from_json(data)
    except PlanError as error:
        raise RequestError(f"{where}: {error}") from None
    if bool(plan.steps) == (line.refusal is not None):
        raise RequestError(f"{where}: an instruction has either steps or a refusal, and not both")
    refused = line.refusal
    return Sample(
        id=line.id,
        owner=owner,
        request=Request(line.user_request, line.now, line.id),
        plan=plan if plan.steps else None,
        refusal=Refusal(refused.kind, refused.reason, refused.missing) if refused else None,
        convention=line.convention,
        style=line.style,
        follows=line.follows,
        finds_nothing=line.finds_nothing,
        line=dict(data),
    )


# ── Proof ─────────────────────────────────────────────────────────────────────────────────────────────────


def faults_of(
    samples: Sequence[Sample], world: World, tools: Mapping[str, ToolSpec], *, is_run: bool = True
) -> Iterator[str]:
    """Yield each fault of an owner's instructions as one line.

    Args:
        is_run: Also run every plan in the owner's home.
    """
    known = {sample.id: sample for sample in samples}
    if len(known) != len(samples):
        yield f"{world.owner}: two instructions have one name"
    before: Sample | None = None
    for sample in samples:
        if before is not None and sample.request.now < before.request.now:
            yield f"{sample.id}: is said before {before.id}, which stands above it"
        before = sample
        if sample.follows and (sample.follows not in known or known[sample.follows].request.now > sample.request.now):
            yield f"{sample.id}: follows {sample.follows!r}, which is no earlier instruction"
        if sample.convention and not world.convention_at(sample.convention, sample.request.now):
            yield f"{sample.id}: no convention {sample.convention!r} holds on {sample.request.now:%Y-%m-%d}"
        yield from _plan_faults(sample, world, tools, is_run)
    yield from repetitions(samples, SIMILAR_WITHIN)
    taught = [frozenset(_words(one.request)) for one in shipped_demonstrations()]
    for sample in samples:
        words = _words(sample.request.text)
        if any(len(words & theirs) > SIMILAR_WITHIN * len(words | theirs) for theirs in taught):
            yield f"{sample.id}: says nearly what a shipped demonstration says: {sample.request.text!r}"


def _plan_faults(sample: Sample, world: World, tools: Mapping[str, ToolSpec], is_run: bool) -> Iterator[str]:
    if sample.plan is None:
        for missing in sample.refusal.missing if sample.refusal else ():
            tool, _, parameter = missing.partition(".")
            if tool not in tools or tools[tool].parameter(parameter) is None:
                yield f"{sample.id}: asks for {missing!r}, which is no tool's parameter"
        return
    if any(not step.text for step in sample.plan.steps):
        yield f"{sample.id}: a step has no words"
    try:
        plan = check_plan(sample.plan, tools)
    except PlanError as error:
        yield f"{sample.id}: {error}"
        return
    if not is_run:
        return
    try:
        outcome = execute(plan, world, sample.request.now)
    except HearthError as error:
        yield f"{sample.id}: {error}"
    else:
        for result in outcome.results:
            is_empty = sample.finds_nothing and result.error_kind in ("NotFound", "skipped")
            if result.status != "done" and not is_empty:
                yield f"{sample.id}: step {result.step}: {result.error}"
        if not sample.finds_nothing:
            empty = [result for result in outcome.results if result.status == "done" and result.value in (None, [], "")]
            yield from (f"{sample.id}: step {one.step}: {plan.steps[one.step].tool} found nothing" for one in empty)


def repetitions(samples: Sequence[Sample], most: float) -> Iterator[str]:
    """Yield a line for each pair of instructions that share too many words."""
    words = [_words(sample.request.text) for sample in samples]
    for k, (sample, mine) in enumerate(zip(samples, words, strict=True)):
        for other, theirs in zip(samples[:k], words[:k], strict=True):
            if len(mine & theirs) > most * len(mine | theirs):
                yield f"{sample.id}: says nearly what {other.id} says: {sample.request.text!r}"


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))


def counts_of(samples: Sequence[Sample]) -> dict[str, int]:
    """Count instructions by kind, style and split."""
    found: Counter[str] = Counter({"all": len(samples)})
    for sample in samples:
        found.update([f"kind {sample.kind}", f"split {sample.split}", *(f"style {name}" for name in sample.style)])
        found["with a convention"] += bool(sample.convention)
        found["leaning on another"] += bool(sample.follows)
        found["several steps"] += sample.plan is not None and len(sample.plan.steps) > 1
    return dict(sorted(found.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the whole set, or some owners' part of it; print the faults and the counts."""
    parser = argparse.ArgumentParser(
        prog="python -m hearth_bench.data.q2a_instructions", description="Check the Q2A set."
    )
    parser.add_argument("--check", action="store_true", help="check and count")
    parser.add_argument("--owner", action="append", choices=OWNERS, help="only this owner (may be given again)")
    parser.add_argument("--folder", type=Path, help="another folder with the same files")
    options = parser.parse_args(arguments)
    n_faults, everything = 0, []
    for owner in options.owner or OWNERS:
        world = read_world(owner, options.folder)
        samples = read_owner(owner, options.folder)
        everything += samples
        for fault in faults_of(samples, world, world.specs):
            n_faults += 1
            print(fault)
        print(f"{owner}: " + ", ".join(f"{name} {n}" for name, n in counts_of(samples).items()))
    for fault in repetitions(everything, SIMILAR_ACROSS):
        n_faults += 1
        print(fault)
    print(f"{len(everything)} instructions, {n_faults} faults")
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main())
