"""Measure two times sixty questions about real footage: is the answer of the right type, and true to what was seen?

    python -m hearth_bench.measure.video.footage_answers             writes results/footage_questions.json
    python -m hearth_bench.measure.video.footage_answers --show      prints each question with its answer, too

Of the second sixty, written from the sightings alone, one half may be looked at (`--show` shows no other) and the
other is only counted. The hall is the public clip, in which nobody is enrolled; at the front door are photographs of
people, not those they are enrolled with. Questions go through the whole agent. An answer is right if its type is the
question's (a number, yes or no, names, times, a length, activities) and its content is what the sightings of that
time and room say, read here from the index and not from the plan. What the sightings themselves are worth is measured
in `video_index` and `video_identity`. The floor answers every question with the list of sightings of detect_people;
the oracle is the index.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import hashlib
import json
import os
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hearth.agent import Agent
from hearth.demo.demo_home import build_demo_home
from hearth.guard.policy.question import RefusingApprover
from hearth.protocols import Sighting
from hearth.testing import FIXED_NOW
from hearth_bench.measure.result_file import OWN_DATA, write_result
from hearth_video.demo.photo_visits import enrolment_photos, film_visits, gallery_in
from hearth_video.experts.identity import IdentityExpert
from hearth_video.footage.library import Library
from hearth_video.footage.people import Consent, People
from hearth_video.tools.people_seen import said_activity, stays

MEDIA = Path(os.environ.get("HEARTH_DATA", "../shared/data")) / "media"
HALL = MEDIA / "one-by-one-person-detection.mp4"
QUESTIONS, AGAIN = OWN_DATA / "footage_questions.json", OWN_DATA / "footage_questions_again.json"
NAMES = ("Alex", "Kit", "Barack", "Joe")
ACTIVITIES = ("stand", "sit", "walk", "wave", "reach", "lie", "fall")
_CLOCK = re.compile(r"\b(\d\d:\d\d)(?::\d\d)?\b")
_UNKNOWN = re.compile(r"I don't know|I do not know|nobody I know", re.IGNORECASE)


@contextlib.contextmanager
def filmed_home() -> Iterator[Agent]:
    """Make a home with both recordings of yesterday evening, its people enrolled and all of it looked at."""
    now = FIXED_NOW
    gallery = gallery_in(MEDIA)
    if gallery is None or not HALL.exists():
        raise SystemExit(f"the footage is not in {str(MEDIA)!r}; set HEARTH_DATA to the folder with the public data")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        build_demo_home(home, now)
        agent = Agent.open(home, RefusingApprover(), environ=os.environ, clock=lambda: now)
        try:
            for _ in agent.learn_shipped():
                pass
            footage = agent.footage
            assert isinstance(footage, Library)
            film_visits(gallery, home / "door.mp4")
            people, faces = People(agent.store), IdentityExpert()
            for name, photos in enrolment_photos(gallery).items():
                people.enroll(name, photos, faces, Consent(name, now))
            evening = now.replace(hour=18, minute=30, second=0, microsecond=0) - dt.timedelta(days=1)
            footage.kept.add(home / "door.mp4", "front door", "front door", evening)
            footage.kept.add(HALL, "hall", "hall", evening.replace(minute=59, second=30))
            for room in ("front door", "hall"):
                footage.people(room, evening, now, threading.Event())
            yield agent
        finally:
            agent.close()


def seen_in(agent: Agent, question: Mapping[str, Any]) -> list[Sighting]:
    """Return what the index says of the question's room and time, of the person it names."""
    day = agent.clock().date() - dt.timedelta(days=1)

    def moment(text: str) -> dt.datetime:
        hours, minutes = map(int, text.split(":"))
        return dt.datetime.combine(day, dt.time(), agent.clock().tzinfo) + dt.timedelta(hours=hours, minutes=minutes)

    footage, end = agent.footage, moment(question["to"])
    assert footage is not None
    found = footage.people(question["room"], moment(question["from"]), end, threading.Event())
    ids = [one.id for one in found]
    done = footage.named(ids) if question["kind"] in ("length", "visits") else footage.doing(ids)
    cut = [one for one in done if one.start < end and one.end > moment(question["from"])]
    named = [one for one in cut if one.name == question.get("name", one.name)]
    return [one for one in named if question["kind"] != "who" or one.activity == question.get("activity", one.activity)]


def judge(question: Mapping[str, Any], answer: str, seen: Sequence[Sighting], zone: dt.tzinfo | None) -> str:
    """Return `right`, `wrong type` or `untrue`."""
    plain = "\n".join(line for line in answer.splitlines() if not line.startswith("Note:"))
    return _JUDGES[question["kind"]](question, plain, answer, seen, zone)


def _verdict(is_type: bool, is_true: bool) -> str:
    return "right" if is_type and is_true else "untrue" if is_type else "wrong type"


def _count(question: Mapping[str, Any], plain: str, _: str, seen: Sequence[Sighting], __: object) -> str:
    said = re.match(r"(\d+) (?:person|people)|Nobody: (0) people", plain)
    n_unknown = len({one.id.partition(".")[0] for one in seen if not one.name})
    n = len({one.name for one in seen if one.name}) + n_unknown
    if question["kind"] == "strangers":
        told = re.search(r"(\d+|one) I don't know", plain)
        return _verdict(told is not None, told is not None and told[1].replace("one", "1") == str(n_unknown))
    return _verdict(said is not None, said is not None and int(said[1] or said[2]) == n)


def _yes_no(question: Mapping[str, Any], plain: str, _: str, seen: Sequence[Sighting], __: object) -> str:
    is_so = any(one.activity == question["activity"] for one in seen)
    said = re.match(r"(Yes|No)\b", plain)
    has_moment = bool(_CLOCK.search(plain)) and "%" in plain
    return _verdict(said is not None, said is not None and (said[1] == "Yes") == is_so and (has_moment or not is_so))


def _anybody(_: Mapping[str, Any], plain: str, __: str, seen: Sequence[Sighting], ___: object) -> str:
    is_no = re.match(r"No\b|Nobody\b|Nothing was recorded", plain) is not None
    is_yes = re.match(r"Yes\b|\d+ (?:person|people)\b", plain) is not None
    return _verdict(is_no or is_yes, is_yes is bool(seen))


def _visits(_: Mapping[str, Any], plain: str, __: str, seen: Sequence[Sighting], ___: object) -> str:
    said = re.search(r"\b(\d+) times\b|\b(once|twice)\b", plain, re.IGNORECASE)
    n = int(said[1] or {"once": 1, "twice": 2}[said[2].lower()]) if said is not None else 0
    return _verdict(said is not None, n == len(stays((one.start, one.end) for one in seen)))


def _present(question: Mapping[str, Any], plain: str, _: str, seen: Sequence[Sighting], __: object) -> str:
    is_named = re.search(rf"\b{question['name']}\b", plain.partition("(I looked for")[0]) is not None
    is_no = plain.startswith(("Nobody like that", "No"))
    is_so = bool(seen)
    return _verdict(is_named or is_no, is_named is is_so and is_no is not is_so)


def _who(_: Mapping[str, Any], plain: str, __: str, seen: Sequence[Sighting], ___: object) -> str:
    said = {name for name in NAMES if re.search(rf"\b{name}\b", plain)}
    has_unknown = _UNKNOWN.search(plain) is not None
    known = {one.name for one in seen if one.name}
    return _verdict(bool(said) or has_unknown, said == known and has_unknown is any(not one.name for one in seen))


def _when(question: Mapping[str, Any], plain: str, _: str, seen: Sequence[Sighting], zone: dt.tzinfo | None) -> str:
    said = set(_CLOCK.findall(plain))
    wanted = [one for one in seen if one.activity == question.get("activity", one.activity)]
    clocks = {f"{moment.astimezone(zone):%H:%M}" for one in seen for moment in (one.start, one.end)}
    if not wanted:
        is_no = plain.startswith(("No", "Nothing like that"))
        return _verdict(is_no or bool(said), is_no)
    starts = sorted(f"{one.start.astimezone(zone):%H:%M}" for one in wanted)
    expected = starts[-1] if question.get("which") == "last" else starts[0]
    return _verdict(bool(said), expected in said and said <= clocks)


def _length(_: Mapping[str, Any], plain: str, __: str, seen: Sequence[Sighting], ___: object) -> str:
    said = re.search(r"(?:(\d+) min)?(?: ?(\d+) s)? in all", plain)
    known = [(one.start, one.end) for one in seen if one.name]
    unknown = [(one.start, one.end) for one in seen if not one.name]  # strangers are not one person
    length_s = sum((end - start).total_seconds() for start, end in (*stays(known), *unknown))
    if not seen:
        return _verdict(plain.startswith("No"), plain.startswith("No"))
    told_s = int(said[1] or 0) * 60 + int(said[2] or 0) if said is not None else -1
    return _verdict(said is not None, abs(told_s - length_s) <= 1.5)


def _doing(question: Mapping[str, Any], plain: str, _: str, seen: Sequence[Sighting], __: object) -> str:
    said = {one for one in ACTIVITIES if re.search(rf"\b{said_activity(one)}\b", plain)}
    done = {one.activity for one in seen if one.activity}
    if not done:
        is_no = plain.startswith(("No", "Nothing like that"))
        return _verdict(is_no or bool(said), is_no and not said)
    named = question.get("name", "")
    return _verdict(bool(said), said == done and (not named or named in plain))


_JUDGES = {
    "count": _count,
    "strangers": _count,
    "yesno": _yes_no,
    "ispresent": _present,
    "anybody": _anybody,
    "visits": _visits,
    "who": _who,
    "when": _when,
    "length": _length,
    "doing": _doing,
}


def measure(agent: Agent, path: Path, half: str = "", *, shows: bool = False) -> dict[str, object]:
    """Ask the questions of a file, all or those of a half."""
    questions: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["questions"]
    verdicts: dict[str, Counter[str]] = {}
    floor: Counter[str] = Counter()
    wrong = []
    for question in questions:
        if question.get("half", "") != half:
            continue
        seen = seen_in(agent, question)
        episode = agent.run(agent.request(question["text"]))
        zone = agent.clock().tzinfo
        said = judge(question, episode.answer.text, seen, zone)
        listed = "\n".join(f"somebody, yesterday at {one.start:%H:%M}" for one in seen) or "Nobody was seen."
        floor[judge(question, listed, seen, zone)] += 1
        verdicts.setdefault(question["kind"], Counter())[said] += 1
        if said != "right":
            wrong.append({"id": question["id"], "verdict": said})
        if shows:
            steps = " | ".join(step.tool for step in episode.plan.steps) if episode.plan else "no plan"
            print(f"{said:<10} {question['id']:<4} {question['text']}\n{'':16}{steps}\n{'':16}{episode.answer.text}")
    total = sum(verdicts.values(), Counter())
    return {
        "n": total.total(),
        "right": round(total["right"] / total.total(), 3),
        "wrong_type": total["wrong type"],
        "untrue": total["untrue"],
        "oracle": {"right": 1.0},
        "floor_lists_sightings": {"right": round(floor["right"] / total.total(), 3)},
        "by_kind": {kind: dict(counted) for kind, counted in sorted(verdicts.items())},
        "not_right": [] if half == "held" else wrong,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print the half that may be looked at; writes nothing")
    given = parser.parse_args()
    began, cpu = time.perf_counter(), time.process_time()
    with filmed_home() as agent:
        if given.show:
            print(json.dumps(measure(agent, AGAIN, "looked_at", shows=True), indent=1))
            return
        results = {
            "questions_sha256": hashlib.sha256(QUESTIONS.read_bytes() + AGAIN.read_bytes()).hexdigest(),
            "clip_sha256": hashlib.sha256(HALL.read_bytes()).hexdigest(),
            "asked": {"right": 0.9},
            **measure(agent, QUESTIONS),
            "again": {half: measure(agent, AGAIN, half) for half in ("looked_at", "held")},
        }
    write_result(
        "footage_questions", results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - began
    )


if __name__ == "__main__":
    main()
