"""Measure the worth of reading ahead: how many reads begun while the teacher is asked the settled plan also needs.

    python -m hearth_bench.measure.agent.reading_ahead [--split dev|test]

Writes `packages/hearth-bench/results/ahead.json`. Recall learns each Q2A owner's stream and drafts the owner's
instructions of the split; where it is not sure, the teacher is asked and answers with the right plan. A read counts as
used when the right plan makes the same call. Waiting is computed for a teacher of 1.5 s and reads of 0.02, 0.5 and 2 s
one after another, since the demo home's own tools answer in milliseconds. Floor: nothing is read ahead. Oracle: the
draft is right.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.deferral import Cascade
from hearth.testing import ScriptedPlanner
from hearth.types import Argument, Plan, Ref, Step, ToolSpec
from hearth_bench.data.q2a_instructions import OWNERS
from hearth_bench.measure.result_file import write_result
from hearth_bench.suites.q2a.q2a_suite import ASK_BELOW, OwnerRun, Pupil, demonstration_of

TEACHER_S = 1.5
READS_S = (0.02, 0.5, 2.0)


def reads_of(plan: Plan, tools: dict[str, ToolSpec]) -> dict[str, tuple[int, ...]]:
    """Return the calls that only read and depend only on such calls, each as text with the steps it waits for."""
    written: dict[int, str] = {}
    found: dict[str, tuple[int, ...]] = {}
    for index, step in enumerate(plan.steps):
        is_read = step.tool in tools and tools[step.tool].effect == "none"
        if is_read and step.needs() <= written.keys():
            written[index] = _call(step, written)
            found.setdefault(written[index], tuple(step.needs()))
    return found


def _call(step: Step, written: dict[int, str]) -> str:
    def text(value: Argument) -> str:
        if isinstance(value, Ref):
            return f"({written[value.step]}).{'.'.join(value.path)}"
        return repr([text(item) for item in value]) if isinstance(value, list) else repr(value)

    return f"{step.tool} {sorted((name, text(value)) for name, value in step.arguments.items())}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m hearth_bench.measure.agent.reading_ahead", description="What reading ahead is worth."
    )
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="which instructions are drafted")
    split = parser.parse_args(arguments).split
    started, cpu = time.perf_counter(), time.process_time()
    encoder = MiniLMEncoder.open()
    n_asked = n_begun = n_used = n_wanted = 0
    waits = {read_s: [0.0, 0.0, 0.0] for read_s in READS_S}
    for owner in OWNERS:
        run = OwnerRun.of(owner)
        tools = dict(run.world.specs)
        pupil = Pupil(encoder)
        pupil.learn([demonstration_of(sample) for sample in run.asked("stream")])
        for sample in run.asked(split):
            if sample.plan is None:
                continue
            request = run.request_of(sample)
            cascade = Cascade([pupil.planner], confident=ASK_BELOW, teacher=ScriptedPlanner({}))
            draft = cascade.draft(request, run.world.known(request.now), tools)
            if not draft.asks_teacher:
                continue
            begun = reads_of(draft.best, tools) if isinstance(draft.best, Plan) else {}
            wanted = reads_of(sample.plan, tools)
            used = begun.keys() & wanted.keys()
            n_asked, n_begun = n_asked + 1, n_begun + len(begun)
            n_used, n_wanted = n_used + len(used), n_wanted + len(wanted)
            for read_s, sums in waits.items():
                done = min(len(used), int(TEACHER_S / read_s))
                sums[0] += TEACHER_S + read_s * len(wanted)
                sums[1] += TEACHER_S + read_s * (len(wanted) - done)
                sums[2] += max(TEACHER_S, read_s * len(wanted))
    results = {
        "split": split,
        "n_asked": n_asked,
        "reads_begun": n_begun,
        "reads_wanted": n_wanted,
        "used_of_begun": round(n_used / max(n_begun, 1), 4),
        "foreseen_of_wanted": round(n_used / max(n_wanted, 1), 4),
        "teacher_s": TEACHER_S,
        **{
            f"seconds_with_reads_of_{read_s:g}_s": {
                name: round(total / max(n_asked, 1), 3)
                for name, total in zip(("floor", "reading_ahead", "oracle"), sums, strict=True)
            }
            for read_s, sums in waits.items()
        },
    }
    write_result("ahead", results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - started)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
