"""Measure that no request and no record of a home ends in a traceback: mutated words through the whole agent.

    python -m hearth_bench.measure.guard.hostile_requests     writes packages/hearth-bench/results/hostile_requests.json

Each request is one of the shipped demonstrations' or of a few that only a person in a hurry, a paste or a broken
encoding would make, changed at some places: letters exchanged, pieces doubled, numbers and dates made impossible,
control, direction and half characters put in. It goes to an agent on the demo home, whose folder holds a few files of
`hostile_inputs`, too; questions are answered by chance, so that plans run. Every 200 requests the home is made anew.

Counted: how requests ended; what is no answer: an exception that leaves the agent, or an answer that names a fault of
Hearth's own (`faults.txt`); answers that show a traceback; episodes that are read back from the record as others than
they were; the longest processor time of one. Together with the files of `hostile_inputs` these are the 100,000.
Not covered: what a network answers; the terminal's and the page's own surfaces (their tests).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hearth.agent import Agent, shipped_demonstrations
from hearth.demo.demo_home import build_demo_home
from hearth.errors import HearthError
from hearth.formats.plans import episode_to_json
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import Encoder, Reply
from hearth.testing import FIXED_NOW
from hearth.types import Ruling
from hearth_bench.measure.guard.hostile_inputs import KINDS, inputs
from hearth_bench.measure.result_file import write_result

N_REQUESTS = 20_000
N_IN_A_HOME = 200
N_RECORDS = 12
LIMIT_S = 5.0
_ODD = (
    *("", " ", ".", "?", "\x00", "\ud800", "\u202e", "\u200b", "\ufeff", "🙂" * 40, "a" * 5_000, "(" * 400, '"' * 99),
    *("<script>alert(1)</script>", "'; DROP TABLE episode; --", "{{7*7}}", "<node-0.id>", "../../etc/passwd", "~", "*"),
    *("no", "no, on Friday", "same for tomorrow", "the second one", "take that back", "and at six?", "him too"),
    *("-1 days ago", "on 31 February", "at 25:61", "in 10000000000 years", "every 0 days", "1/0", "9" * 400),
    *("remind me to remind me to remind me", "delete everything", "send it to everyone at 3 am", "move it to it"),
    *("what is 9 ** 9 ** 9", "set a timer for NaN seconds", "add  to the list", "email @ hello", "call +++++"),
)
"""Requests that no demonstration holds."""
_PIECES = (
    *("\x00", "\x1b[2J", "\u202e", "\u2066", "\u200d", "\u3164", "\ud800", "\udfff", "é", "ё", "ß", "İ", "ﬁ", "٣", "½"),
    *("\r\n", "\t", "\\", '"', "'", "“", "`", "<", ">", "{", "}", "[", "%s", "%n", "$(x)", "<node-1.x>", "\\<node-0>"),
    *(" 31 February ", " 29/02/2027 ", " 25:61 ", " 0000-00-00 ", " 9999-12-31 ", " in -5 minutes ", " next never "),
    *(" 1e400 ", " NaN ", " ∞ ", " -0 ", " 10000000000000000000000 ", " one hundred thousand million billion "),
    *(
        " and ",
        " then ",
        " or ",
        " not ",
        " except ",
        " all ",
        " it ",
        " him ",
        " same ",
        " no, ",
        " a@b ",
        " @ ",
        " // ",
    ),
)


@dataclass(slots=True)
class _Drawn:
    """Answers questions by chance (a `protocols.Approver`)."""

    rng: random.Random
    n_asked: int = 0

    def approve(self, question: str, ruling: Ruling) -> Reply:
        self.n_asked += 1
        return self.rng.choice(("once", "once", "once", "always", "no", "never", "nobody"))


@dataclass(slots=True)
class Found:
    """What became of the requests so far."""

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    slowest: str = ""
    n_over_limit: int = 0
    n_asked: int = 0
    n_steps: int = 0


def mutated(text: str, rng: random.Random) -> str:
    """Return a request changed at one to five places."""
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(text) + 1)
        to = min(len(text), at + rng.choice((1, 2, 6, 25)))
        match rng.randrange(9):
            case 0:
                text = text[:at] + rng.choice(_PIECES) + text[at:]
            case 1:
                text = text[:at] + text[to:]
            case 2:
                text = text[:to] + text[at:to] * rng.choice((1, 2, 30)) + text[to:]
            case 3:
                text = text[:at] + text[at:to][::-1] + text[to:]
            case 4:
                text = text[:at] + chr(rng.choice((rng.randrange(32, 0x3000), rng.randrange(0x110000)))) + text[at:]
            case 5:
                number = str(rng.choice((0, -1, 31, 61, 10**9, 10**40, 0.1, 1e300)))
                text = text[:at] + number + text[to:]
            case 6:
                text = rng.choice((text.upper(), text.title(), text.replace(" ", ""), text.replace("e", "3")))
            case 7:
                words = text.split(" ")
                rng.shuffle(words)
                text = " ".join(words)
            case _:
                text += rng.choice((" and ", ", then ", ". ", "\n")) + rng.choice(_ODD)
    return text[:20_000]


def requests(n: int, seed: int) -> Iterator[str]:
    """Yield `n` requests; the same for the same seed."""
    rng = random.Random(seed)
    seeds = [one.request for one in shipped_demonstrations()]
    for _ in range(n):
        text = rng.choice(_ODD) if rng.random() < 0.1 else rng.choice(seeds)
        yield mutated(text, rng) if rng.random() < 0.95 else text


def ask(agent: Agent, text: str, *, is_talk: bool, found: Found) -> None:
    """Put one request to the agent, and count what became of it."""
    faults = agent.home / "faults.txt"
    n_before = faults.stat().st_size if faults.exists() else 0
    began, outcome = time.process_time(), ""
    try:
        episode = agent.run(agent.request_after(text) if is_talk else agent.request(text))
        outcome = episode.answer.status
        said = json.dumps(episode_to_json(episode))
        found.n_steps += sum(result.n_attempts > 0 for result in episode.results)
        if agent.trace.has(episode.id) and agent.trace.episode(episode.id).answer != episode.answer:
            found.faults.append(f"{text[:200]!r}: read back from the record as another")
        if "Traceback (most recent" in said:
            found.faults.append(f"{text[:200]!r}: its answer shows a traceback")
    except HearthError as error:
        outcome = f"error in words: {type(error).__name__}"
    except Exception as error:
        outcome = type(error).__name__
        found.faults.append(f"{text[:200]!r}: {type(error).__name__}: {str(error)[:200]}")
    spent_s = time.process_time() - began
    if faults.exists() and faults.stat().st_size > n_before:
        outcome = "fault"
        found.faults.append(f"{text[:200]!r}: {faults.read_text(errors='replace')[-600:]}")
    found.outcomes[outcome] += 1
    found.n_over_limit += spent_s > LIMIT_S
    if spent_s > found.slowest_s:
        found.slowest_s, found.slowest = spent_s, text[:200]


def measure(n: int, seed: int, folder: Path, encoder: Encoder) -> Found:
    """Ask `n` requests, each lot in a fresh home with hostile files in it; Ctrl-C ends it with those asked so far."""
    found, rng = Found(), random.Random(seed)
    model = folder / "model"
    build_demo_home(model, FIXED_NOW)
    agent = _opened(model, encoder, _Drawn(rng))
    for _ in agent.learn_shipped():
        pass
    agent.close()
    texts, records = list(requests(n, seed)), list(inputs(n // N_IN_A_HOME * N_RECORDS + N_RECORDS, seed + 1))
    for lot, start in enumerate(range(0, n, N_IN_A_HOME)):
        home = folder / "home"
        shutil.copytree(model, home, symlinks=True)
        _write_records(home / "owner", records[lot * N_RECORDS : (lot + 1) * N_RECORDS])
        approver = _Drawn(rng)
        agent = _opened(home, encoder, approver)
        is_stopped = False
        try:
            for text in texts[start : start + N_IN_A_HOME]:
                ask(agent, text, is_talk=rng.random() < 0.5, found=found)
                if rng.random() < 0.1:
                    agent.tend()
        except KeyboardInterrupt:
            is_stopped = True
        finally:
            agent.close()
        found.n_asked += approver.n_asked
        shutil.rmtree(home)
        if is_stopped:
            break
    return found


def _opened(home: Path, encoder: Encoder, approver: _Drawn) -> Agent:
    return Agent.open(home, approver, environ={}, clock=lambda: FIXED_NOW, encoder=encoder)


def _write_records(owner: Path, records: Sequence[tuple[str, bytes]]) -> None:
    for number, (kind, data) in enumerate(records):
        path = owner / KINDS[kind].path.format(f"{number}.bad")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--requests", type=int, default=N_REQUESTS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print the faults; nothing is written")
    chosen = parser.parse_args()
    started, cpu = time.perf_counter(), os.times()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(chosen.requests, chosen.seed, Path(folder), MiniLMEncoder.open())
    if chosen.show:
        print("\n\n".join(found.faults), found.outcomes, found.slowest_s, repr(found.slowest), sep="\n")
        return
    results = {
        "n": found.outcomes.total(),
        "n_records_beside": -(-found.outcomes.total() // N_IN_A_HOME) * N_RECORDS,
        "outcomes": dict(found.outcomes.most_common()),
        "n_faults": len(found.faults),
        "faults": [ascii(one) for one in found.faults[:20]],
        "n_asked": found.n_asked,
        "n_steps_run": found.n_steps,
        "slowest_s": round(found.slowest_s, 3),
        "slowest": ascii(found.slowest),
        "n_over_limit": found.n_over_limit,
        "limit_s": LIMIT_S,
    }
    cpu_s = sum(os.times()[:4]) - sum(cpu[:4])
    write_result("hostile_requests", results, seed=chosen.seed, cpu_s=cpu_s, wall_s=time.perf_counter() - started)


if __name__ == "__main__":
    main()
