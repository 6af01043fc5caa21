"""Write `data/`: two owners of Q2A as Ianvs reads them, the tools on offer, and what a teacher answered.

`python examples/ianvs/make_data.py` exports the split `stream` for learning and `dev` for asking; `test` is left alone.
A line has `question` and `answer`, each a JSON text; together they are a line of the plan format. With `--teacher` a
student that was taught everything shipped and every owner's stream answers the questions of `dev` (some minutes) and is
put on record.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from hearth.bench.q2a import OWNERS, Sample, read_owner
from hearth.bench.q2a_world import read_world
from hearth.plan_format import plan_to_json, tool_to_json
from hearth.types import Context, Plain, Plan

DATA = Path(__file__).resolve().parent / "data"
SHOWN = ("mara", "tomas")
PLAN = ("task_steps", "task_nodes", "task_links")


def write_lines(name: str, lines: Iterable[object]) -> None:
    """One JSON text a line."""
    (DATA / name).write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def asked(sample: Sample) -> dict[str, Plain]:
    return {"id": sample.id, "user_request": sample.request.text, "now": sample.request.now.isoformat()}


def exported(sample: Sample) -> dict[str, str]:
    answer = {key: sample.line.get(key, []) for key in PLAN}
    return {
        "question": json.dumps(asked(sample), ensure_ascii=False),
        "answer": json.dumps(answer, ensure_ascii=False),
    }


def record_teacher() -> None:
    """Answers of a student that knows all that the project may teach."""
    sys.path.insert(0, str(DATA.parent / "modules"))
    from hearth.agent import shipped_demonstrations
    from hearth.bench.ianvs_modules import stand_ins
    from hearth.bench.suites.q2a import demonstration_of

    with stand_ins():
        from hearth_plans import tools
        from hearth_student import taught_planner

        stream = [s for owner in OWNERS for s in read_owner(owner) if s.split == "stream"]
        teacher = taught_planner("student", [*shipped_demonstrations(), *map(demonstration_of, stream)])
        lines = []
        for owner in SHOWN:
            for sample in (s for s in read_owner(owner) if s.split == "dev"):
                found = teacher.plan(sample.request, Context(), tools())
                plan = plan_to_json(found if isinstance(found, Plan) else Plan(()))
                lines.append({**asked(sample), **{key: plan[key] for key in PLAN}, "source": "teacher"})
        write_lines("teacher.jsonl", lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the data of the examples.")
    parser.add_argument("--teacher", action="store_true", help="record a teacher's answers, too")
    options = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    nodes = [tool_to_json(spec) for spec in read_world(SHOWN[0]).specs.values()]
    (DATA / "tools.json").write_text(json.dumps({"nodes": nodes}, indent=1) + "\n")
    for owner in SHOWN:
        samples = read_owner(owner)
        for split in ("stream", "dev"):
            write_lines(f"{owner}_{split}.jsonl", (exported(s) for s in samples if s.split == split))
    if options.teacher:
        record_teacher()


if __name__ == "__main__":
    main()
