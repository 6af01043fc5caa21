"""Measure how far a value walks: files entered and calls made by a request, a masked sentence, a correction, a forget.

    python -m hearth_bench.measure.walks          writes packages/hearth-bench/results/walks.json

Each walk is taken twice on the demo home, in one process, and counted the second time: what is loaded once is left out.
A file counts when a function of it is called; `n_calls` are the calls of Python functions of any file, `n_moves` those
from one file of the core into another. `closure` is the number of the core's modules in memory after `hearth ask`, in
a process of its own. The first figures ever written stay under `before`.

Not covered: calls of C functions; files whose values alone are read; what a thread did that was running before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import hearth
from hearth.agent import Agent
from hearth.demo.demo_home import build_demo_home
from hearth.guard.egress.masking_door import MaskingDoor, Part
from hearth.learning.corrections import correct
from hearth.learning.unlearning import Sought, find, forget
from hearth.learning.versions.learned_state import Offer, State
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.testing import FIXED_NOW, FixedApprover
from hearth.types import OWNER
from hearth_bench.measure.result_file import RESULTS, write_result

CORE = str(Path(hearth.__file__).parent)
SENTENCES = (
    "Ask Jonas Weber to come to 12 Garden Street at five, his number is 0171 2345678.",
    "Tell Anna Keller that the parcel is at 7 Mill Lane; call 030 9876543 or write anna@keller.example.",
)
REQUESTS = ("remind me to buy oat milk tomorrow at nine", "remind me to buy rye bread on Friday at six")
CLOSURE = """\
import sys
from hearth.cli.root import run
run(["--home", sys.argv[1], "ask", "what is on my calendar tomorrow"])
print(sum(name.startswith("hearth.") and hasattr(m, "__file__") for name, m in sys.modules.items()), file=sys.stderr)
"""


@dataclass(slots=True)
class Walk:
    """What was entered while a walk was watched."""

    files: dict[str, int] = field(default_factory=dict)
    """The core's files, with the number of calls into each."""
    n_calls: int = 0
    n_moves: int = 0

    def profile(self, frame: FrameType, event: str, _argument: object) -> None:
        """Count one event of `sys.setprofile`."""
        if event != "call":
            return
        self.n_calls += 1
        name = frame.f_code.co_filename
        if not name.startswith(CORE):
            return
        self.files[name] = self.files.get(name, 0) + 1
        caller = frame.f_back.f_code.co_filename if frame.f_back is not None else name
        self.n_moves += caller != name and caller.startswith(CORE)

    def row(self) -> dict[str, object]:
        entered = {Path(name).relative_to(CORE).as_posix(): n for name, n in sorted(self.files.items())}
        return {"n_files": len(entered), "n_calls": self.n_calls, "n_moves": self.n_moves, "files": entered}


def walked(step: Callable[[int], object]) -> dict[str, object]:
    """Take a step twice, with 0 and 1, and return what the second entered."""
    step(0)
    walk = Walk()
    threading.setprofile(walk.profile)
    sys.setprofile(walk.profile)
    try:
        step(1)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # None ends it
    return walk.row()


def main() -> None:
    started, cpu_s = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        build_demo_home(home, FIXED_NOW)
        results = _walks(home)
        done = subprocess.run([sys.executable, "-c", CLOSURE, str(home)], capture_output=True, text=True, check=True)
        results["closure"] = int(done.stderr.split()[-1])
    path = RESULTS / "walks.json"
    if path.exists():
        written = json.loads(path.read_text())
        results["before"] = written["results"].get("before") or {"commit": written["commit"], **written["results"]}
    write_result("walks", results, seed=0, cpu_s=time.process_time() - cpu_s, wall_s=time.perf_counter() - started)


def _walks(home: Path) -> dict[str, object]:
    encoder = MiniLMEncoder.open()
    approver = FixedApprover(answer=True)
    agent = Agent.open(home, approver, environ=os.environ, clock=lambda: FIXED_NOW, encoder=encoder)
    try:
        door = MaskingDoor.of_owner(agent.opened)
        found: dict[str, object] = {"mask": walked(lambda k: door.masked([Part(SENTENCES[k], OWNER)]))}
        episodes = [agent.run(agent.request("what is on my calendar tomorrow"))]
        found["ask"] = walked(lambda k: episodes.append(agent.run(agent.request(REQUESTS[k]))))
        state = State.open(home, encoder, Offer(agent.tools.specs), store=agent.store)
        asked = episodes[-2:]
        assert all(one.plan for one in episodes), "a request of this measure is not planned any more"
        other = episodes[0].plan
        found["correct"] = walked(lambda k: correct(state, agent.recall, asked[k], other, agent.tools.specs))
    finally:
        agent.close()
    with State.open(home, encoder, Offer(agent.tools.specs)) as state:
        found["forget"] = walked(
            lambda k: forget(state, find(state.store, Sought(matching=("oat milk", "rye bread")[k]), encoder))
        )
    return found


if __name__ == "__main__":
    main()
