"""Write `data/`: two owners of Q2A as Ianvs reads them, the tools on offer, and what a teacher answered.

`python examples/ianvs/make_data.py` exports the split `stream` for learning and `dev` for asking; `test` is left alone.
A line has `question` and `answer`, each a JSON text; together they are a line of the plan format. The answer also says
whose home it is right in and what is private in the question (contacts' names, addresses, numbers). With `--teacher` a
student that was taught everything shipped and every owner's stream answers the questions of `dev` (some minutes) and is
put on record.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from hearth.config import Settings
from hearth.formats.plans import plan_to_json, tool_to_json
from hearth.guard.deidentify.names import gathered
from hearth.types import Context, Plain, Plan
from hearth_bench.data.q2a_homes import World, read_world
from hearth_bench.data.q2a_instructions import OWNERS, Sample, read_owner
from hearth_bench.injection.guard_world import Contact

DATA = Path(__file__).resolve().parent / "data"
SHOWN = ("mara", "tomas")
NOW = dt.datetime(2026, 9, 7, tzinfo=dt.UTC)
"""The week of the first instructions: contacts are the same in all."""
PLAN = ("task_steps", "task_nodes", "task_links")


def write_lines(name: str, lines: Iterable[object]) -> None:
    """One JSON text a line."""
    (DATA / name).write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def asked(sample: Sample) -> dict[str, Plain]:
    return {"id": sample.id, "user_request": sample.request.text, "now": sample.request.now.isoformat()}


def private_words(world: World) -> list[str]:
    """What must not leave of an owner's contacts: names, addresses and numbers, and of people each name alone.

    A contact is a person where their address at home says one of their names ("ruth.hale@…"). Found without the guard's
    own reading of names, which is what is measured with it.
    """
    found = [world.file.owner.name, world.file.owner.email, *world.file.owner.name.split()]
    for contact in (record for record in world.file.records if isinstance(record, Contact)):
        found += [contact.name, contact.email, contact.phone]
        roles = " ".join(name for name in contact.nicknames if name.startswith("the ")).split()
        words = [w for w in re.findall(r"[^\W\d_]+", contact.name) if len(w) > 2 and w.lower() not in roles]
        told = [word for word in words if word.lower() in contact.email.partition("@")[0].lower()]
        found += words if told and len(words) == 2 else told
    return sorted(set(filter(None, found)))


def private_in(text: str, words: Iterable[str]) -> list[str]:
    """Those that a text says, large or small; of two of which one holds the other, both."""
    return [word for word in words if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.I)]


def exported(sample: Sample, words: Iterable[str]) -> dict[str, str]:
    where = {"owner": sample.owner, "now": sample.request.now.isoformat()}
    answer = {key: sample.line.get(key, []) for key in PLAN}
    answer |= {**where, "private": private_in(sample.request.text, words)}
    return {
        "question": json.dumps(asked(sample), ensure_ascii=False),
        "answer": json.dumps(answer, ensure_ascii=False),
    }


def record_teacher() -> None:
    """Answers of a student that knows all that the project may teach."""
    sys.path.insert(0, str(DATA.parent / "modules"))
    from hearth.agent import shipped_demonstrations
    from hearth_bench.ianvs.ianvs_modules import stand_ins
    from hearth_bench.suites.q2a.q2a_suite import demonstration_of

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
        samples, world = read_owner(owner), read_world(owner)
        words = private_words(world)
        for split in ("stream", "dev"):
            write_lines(f"{owner}_{split}.jsonl", (exported(s, words) for s in samples if s.split == split))
        own = gathered(world.workspace(NOW), Settings())
        names = [[name.text, name.kind] for name in own]
        (DATA / f"{owner}_names.json").write_text(json.dumps(names, ensure_ascii=False, indent=0) + "\n")
    if options.teacher:
        record_teacher()


if __name__ == "__main__":
    main()
