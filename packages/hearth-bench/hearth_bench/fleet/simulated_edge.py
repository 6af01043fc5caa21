"""Simulate one edge of a fleet: a student on a device, a teacher in the cloud, an owner who sometimes corrects.

The student is `fleet.repeat_index` (earlier requests in nearly the same words) with solved heads
(`models.ridge` over the student's text features) that score which tools a request wants. A plan that is sure enough
runs; otherwise the teacher is asked, and its answer is learnt. A random share of the sure plans is put to the teacher
as well. The owner corrects a share of the wrong plans that ran; corrections are learnt too.

Covered: exactly the same course for the same seed; the bytes of real messages that each request costs.
Not covered: running the plans, latency, failing links (the edge's own tests cover those).
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth.formats.edge_protocol import PlanAsked, PlanGiven, Refused
from hearth.formats.plans import plan_to_json
from hearth.models.ridge import Heads
from hearth.planning.adaptation import values_of
from hearth.planning.ranking.features import ReadingOptions, targets_of
from hearth.planning.repeat_planner import WEIGHTS, Repeat
from hearth.types import Argument, Demonstration, Plan, Ref, Request, Step
from hearth_bench.fleet.fleet_prior import Guide, shape_of
from hearth_bench.fleet.habits import Asked
from hearth_bench.fleet.repeat_index import Repeats
from hearth_bench.metrics.plan_metrics import f1
from hearth_bench.suites.q2a.q2a_suite import is_same

FloatRows = NDArray[np.float32]
Sequence_ = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Device:
    """Capacity of an edge's machine: a profile."""

    name: str
    reading: ReadingOptions
    most_demonstrations: int
    without: tuple[str, ...] = ()
    """Domains of the tools it lacks."""
    weight_bytes: int = 4
    """Bytes of one weight of the heads, as stored and sent."""


DEVICES = (
    Device("small", ReadingOptions(32, 64), 150, ("video",), 1),
    Device("medium", ReadingOptions(64, 128), 400, (), 2),
    Device("large", ReadingOptions(128, 256), 1_000, (), 4),
)


@dataclass(frozen=True, slots=True)
class Cloud:
    """Use of the teacher by an edge, and its prices."""

    sure: float = 0.5
    """Sureness from which a plan runs without asking."""
    compared_share: float = 0.01
    """Share of the sure plans put to the teacher, at random."""
    corrected_share: float = 0.5
    """Share of the wrong plans that ran which the owner corrects."""
    teacher_errors: float = 0.0
    """Share of the teacher's plans that are wrong."""
    usd_in: float = 0.15
    """US dollars for a million tokens of requests."""
    usd_out: float = 0.6
    """US dollars for a million tokens of answers."""
    prompt_tokens: int = 6_000
    """Tokens that the teacher's model reads with each request: the tools and how to plan."""


CHARACTERS_A_TOKEN = 4
MEASURES = (
    *("n", "own_exact", "own_node_f1", "own_tools", "exact", "node_f1", "asked", "compared", "corrected"),
    *("up_bytes", "down_bytes", "usd", "copied_exact"),
)
STRATA = ("new", "other_words", "verbatim")
"""Relation to what this edge was taught before: nothing of the kind; the kind in other words; the very words."""


@dataclass
class Counts:
    """Sums of `MEASURES` by day, stratum and whether a convention was used, shape [n_days, 3, 2, n_measures]."""

    sums: NDArray[np.float64]

    @classmethod
    def empty(cls, n_days: int) -> Counts:
        return cls(np.zeros((n_days, len(STRATA), 2, len(MEASURES))))

    def add(self, asked: Asked, stratum: int, values: Mapping[str, float]) -> None:
        row = self.sums[asked.day, stratum, int(asked.is_convention)]
        row[0] += 1
        for name, value in values.items():
            row[MEASURES.index(name)] += value


@dataclass(frozen=True)
class Texts:
    """Vectors and features of every text of a fleet, made once."""

    place: Mapping[str, int]
    vectors: FloatRows
    features: Mapping[str, FloatRows]
    """Features by device."""
    rarity: Mapping[str, float]

    def vector(self, text: str) -> FloatRows:
        row: FloatRows = self.vectors[self.place[text]]
        return row


_LEAST_SCORE = 0.05
"""Smallest score at which a tool is considered."""
_OF_ARGUMENTS = 0.5
"""Factor on a prior's sureness for the chance that every argument is right as well.

Small enough that a remembered plan sure enough to run (`Cloud.sure`) always takes precedence.
"""
_LIKELIER_THAN_NOT = 0.5
"""Confidence from which a prior's tools are planned although the remembered plan has no steps."""
_ALIKE = 0.7
"""Likeness from which a wrong plan's demonstrations are contradicted."""


# ── The student ───────────────────────────────────────────────────────────────────────────────────────────


class Pupil:
    """The knowledge of one device. Not thread-safe."""

    def __init__(self, texts: Texts, device: Device, heads: Heads | None = None, guide: Guide | None = None) -> None:
        """Create a student that was taught nothing yet.

        Args:
            heads: Heads merged from others, which the student takes over; None: blank ones.
            guide: A prior that says which tools are wanted.
        """
        self._texts, self._device = texts, device
        self._features = texts.features[device.name]
        self.repeats = Repeats(texts.rarity, texts.vectors.shape[1], device.most_demonstrations)
        self.heads = heads if heads is not None else blank_heads(texts, device)
        self._guide = guide
        self._waiting: list[tuple[int, Plan]] = []
        self.history: list[tuple[int, str]] = []
        """Lessons of the heads: place of the text, shape of the plan."""
        self.kinds: set[str] = set()
        self.said: set[str] = set()

    def propose(self, asked: Asked, cosines: FloatRows | None = None) -> Repeat | None:
        """Return the surest plan, or a plan with the prior's tools if the prior is surer of those.

        A plan from the prior never runs unasked: nothing says yet how sure its arguments are.
        """
        found = self._repeated(asked, self._wanted(asked.wording.text), cosines, 1)
        best = found[0] if found else None
        likely = self._guide.likely(asked.wording.text) if self._guide is not None else None
        if self._guide is None or likely is None:
            return best
        is_likely = best is None or bool(best.plan.steps) or likely.confidence >= _LIKELIER_THAN_NOT
        if best is None or (is_likely and best.sureness < _OF_ARGUMENTS * likely.confidence):
            return Repeat(self._guide.plan(likely, asked), "", 0.0, _NO_SIGNS)
        return best

    def proposals(self, asked: Asked, most: int) -> list[Repeat]:
        """Return plans that were taught for similar requests, the surest first."""
        return self._repeated(asked, self._wanted(asked.wording.text), None, most)

    def _repeated(
        self, asked: Asked, wanted: Mapping[str, float], cosines: FloatRows | None, most: int
    ) -> list[Repeat]:
        text = asked.wording.text
        vector = self._texts.vector(text)
        request = Request(text, asked.now)
        return self.repeats.propose(request, vector, lambda plan: _soft_f1(wanted, tools_of(plan)), cosines, most)

    def _wanted(self, text: str) -> dict[str, float]:
        return {tool: min(score, 1.0) for tool, score in self.scores(text).items() if score > _LEAST_SCORE}

    def scores(self, text: str) -> dict[str, float]:
        """Return the score of each tool: how likely it is wanted."""
        if not self.heads.outputs:
            return {}
        row = self.heads.predict(self._features[self._texts.place[text]][None])[0]
        return {name[2:]: float(row[k]) for k, name in enumerate(self.heads.outputs) if name.startswith("t ")}

    def learn(self, asked: Asked, plan: Plan, id: str) -> None:
        """Take a demonstration; it counts at once among the repeated plans, and from the night on in the heads."""
        text = asked.wording.text
        self.repeats.add(Demonstration(id, text, plan, source="teacher", now=asked.now), self._texts.vector(text))
        self._waiting.append((self._texts.place[text], plan))
        self.kinds.add(asked.kind)
        self.said.add(text)

    def told(self, asked: Asked, plan: Plan, proposed: Repeat | None, id: str) -> None:
        """Learn the right plan, and forget what contradicts it for such words."""
        text = asked.wording.text
        was_wrong = proposed is not None and proposed.id and proposed.plan.steps != plan.steps
        if proposed is not None and was_wrong and proposed.likeness >= _ALIKE:
            self.repeats.contradict(text, self._texts.vector(text), proposed, plan)
        self.learn(asked, plan, id)

    def nearest_plan(self, text: str) -> Plan | None:
        """Return the plan of the demonstration nearest by its vector, unchanged."""
        return self.repeats.nearest(self._texts.vector(text))

    def sleep(self) -> None:
        """Teach the heads what was learnt during the day."""
        planned = [(row, plan) for row, plan in self._waiting if plan.steps]
        self._waiting = []
        if planned:
            rows = self._features[[row for row, _ in planned]]
            self.heads.learn(rows, [targets_of(tools_of(plan)) for _, plan in planned])
            self.history += [(row, shape_of(plan)) for row, plan in planned]


def blank_heads(texts: Texts, device: Device) -> Heads:
    """Return heads for a device that learnt nothing."""
    return Heads(texts.features[device.name].shape[1], fingerprint=device.name)


def tools_of(plan: Plan) -> Sequence_:
    return tuple(step.tool for step in plan.steps)


def _soft_f1(wanted: Mapping[str, float], tools: Sequence_) -> float:
    """Return the F1 of a set of tools against tools wanted with these probabilities."""
    mine = set(tools)
    whole = len(mine) + sum(wanted.values())
    return 2 * sum(wanted.get(tool, 0.0) for tool in mine) / whole if whole else 0.0


_NO_SIGNS = -WEIGHTS * (50 / float(WEIGHTS @ WEIGHTS))
"""Signs of a plan that nobody taught; they make it never sure."""


# ── The teacher ───────────────────────────────────────────────────────────────────────────────────────────


def taught(asked: Asked, rng: np.random.Generator, errors: float) -> Plan:
    """Return the teacher's plan: the right one, empty where asking or refusing is right; at random a wrong one."""
    right = asked.plan or Plan(())
    if rng.random() >= errors:
        return right
    if not right.steps:
        return Plan((Step("list_abilities"),))
    steps = list(right.steps)
    k = int(rng.integers(len(steps)))
    values = [v for v in values_of(right) if not isinstance(v, bool)]
    if len(steps) > 1 and not any(k in step.needs() for step in steps) and rng.random() < 0.5:
        return Plan(tuple(_shifted(step, k) for place, step in enumerate(steps) if place != k))
    name, value = next(((n, v) for n, v in steps[k].arguments.items() if not isinstance(v, Ref)), ("", None))
    wrong: Argument = f"not {value}" if isinstance(value, str) else 1 if not isinstance(value, int) else value + 1
    changed = {**steps[k].arguments, name: wrong} if name and values else {"text": "?"}
    steps[k] = Step(steps[k].tool, changed, steps[k].after)
    return Plan(tuple(steps))


def _shifted(step: Step, gone: int) -> Step:
    def of(value: Argument) -> Argument:
        if isinstance(value, Ref):
            return Ref(value.step - (value.step > gone), value.path)
        return [of(one) for one in value] if isinstance(value, list) else value

    return Step(
        step.tool, {name: of(v) for name, v in step.arguments.items()}, tuple(k - (k > gone) for k in step.after)
    )


class Wire:
    """Count the bytes of the messages that would be sent: their JSON, packed with gzip, tools named by their hash."""

    def __init__(self) -> None:
        self._up: dict[str, tuple[int, int]] = {}

    def asked(self, asked: Asked, tools_sha256: str) -> tuple[int, int]:
        """Return the bytes of a request as sent, and its characters as a model reads them."""
        text = asked.wording.text
        if text not in self._up:
            message = PlanAsked(id="r" * 12, request=text, now=asked.now, tools=(), tools_sha256=tools_sha256)
            body = message.model_dump_json().encode()
            self._up[text] = _packed(body), len(text) + 40
        return self._up[text]

    def cost(self, asked: Asked, plan: Plan, cloud: Cloud) -> dict[str, float]:
        """Return the cost of asking the teacher."""
        (up, n_in), (down, n_out) = self.asked(asked, "0" * 64), self.given(plan)
        tokens_in = n_in / CHARACTERS_A_TOKEN + cloud.prompt_tokens
        usd = (tokens_in * cloud.usd_in + n_out / CHARACTERS_A_TOKEN * cloud.usd_out) / 1e6
        return {"up_bytes": up, "down_bytes": down, "usd": usd}

    def given(self, plan: Plan) -> tuple[int, int]:
        refusal = None if plan.steps else Refused(kind="needs", reason="something is missing")
        body = PlanGiven(id="r" * 12, plan=plan_to_json(plan) if plan.steps else None, refusal=refusal, confidence=0.9)
        data = body.model_dump_json(exclude_none=True).encode()
        return _packed(data), len(data)


def _packed(data: bytes) -> int:
    pack = zlib.compressobj(6, zlib.DEFLATED, 31)
    return len(pack.compress(data)) + len(pack.flush())


# ── A life ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Judgement:
    exact: bool
    node_f1: float
    tools: bool


def judged(plan: Plan | None, asked: Asked) -> Judgement:
    """Judge a plan against the right one; where asking or refusing is right, an empty plan is right."""
    steps = plan.steps if plan is not None else ()
    if asked.plan is None:
        right = plan is not None and not steps
        return Judgement(right, float(right), right)
    gold = asked.plan.steps
    mine, wanted = tuple(s.tool for s in steps), tuple(s.tool for s in gold)
    same = Counter(mine) == Counter(wanted)
    return Judgement(same and is_same(steps, gold), f1(mine, wanted), same)


def copied_exact(plan: Plan | None, asked: Asked) -> bool:
    """Return whether a demonstration's plan is right unchanged, its times not moved: the floor."""
    if plan is None:
        return False
    if asked.plan is None:
        return not plan.steps
    return len(plan.steps) == len(asked.plan.steps) and is_same(plan.steps, asked.plan.steps)


def live(
    life: Sequence[Asked],
    pupil: Pupil,
    cloud: Cloud,
    rng: np.random.Generator,
    n_days: int,
    watch: Callable[[int, int, Pupil], None] | None = None,
) -> Counts:
    """Simulate all days of one edge with its own student.

    Args:
        watch: Called before each request with the number of earlier requests and the day.
    """
    counts, wire = Counts.empty(n_days), Wire()
    at = 0
    for day in range(n_days):
        while at < len(life) and life[at].day == day:
            if watch is not None:
                watch(at, day, pupil)
            counts.add(life[at], *_live_once(life[at], at, pupil, cloud, wire, rng))
            at += 1
        pupil.sleep()
    return counts


def _live_once(
    asked: Asked, number: int, pupil: Pupil, cloud: Cloud, wire: Wire, rng: np.random.Generator
) -> tuple[int, dict[str, float]]:
    """Simulate one request, and return its stratum with what is counted of it."""
    text = asked.wording.text
    stratum = stratum_of(asked, pupil)
    best = pupil.propose(asked)
    own = judged(best.plan if best else None, asked)
    is_sure = best is not None and best.sureness >= cloud.sure
    is_compared = bool(rng.random() < cloud.compared_share) and is_sure
    is_corrected = rng.random() < cloud.corrected_share
    values = {"own_exact": own.exact, "own_node_f1": own.node_f1, "own_tools": own.tools}
    values["copied_exact"] = copied_exact(pupil.nearest_plan(text), asked)
    final = own
    if is_compared or not is_sure:
        plan = taught(asked, rng, cloud.teacher_errors)
        final = judged(plan, asked)
        values |= {"asked": 1, "compared": is_compared} | wire.cost(asked, plan, cloud)
        pupil.told(asked, plan, best, f"{number}")
    elif not own.exact and is_corrected:
        values["corrected"] = 1
        pupil.told(asked, asked.plan or Plan(()), best, f"{number}")
    elif best is not None:
        pupil.repeats.used(best.id)
    return stratum, values | {"exact": final.exact, "node_f1": final.node_f1}


def stratum_of(asked: Asked, pupil: Pupil) -> int:
    """Return the request's place in `STRATA`."""
    return 0 if asked.kind not in pupil.kinds else 2 if asked.wording.text in pupil.said else 1
