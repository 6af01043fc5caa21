"""Measure how far a value walks: files entered and calls made by a request, a masked sentence, a correction, a forget.

    python -m hearth_bench.measure.walks     writes results/walks.json, draws the walks into the architecture's page

Each walk is taken twice on the demo home, in one process, and counted the second time: what is loaded once is left out.
A file counts when a function of it is called; `n_calls` are the calls of Python functions of any file, `n_moves` those
from one file into another. `entered` has the files in the order of their first calls, each with the file that called
it. `closure` is the number of the core's modules in memory after `hearth ask`, in a process of its own. The first
figures ever written stay under `before`.

Two walks lead to a cloud and back, a question that is masked (`question`) and a prior (`prior`, taken once): its
service listens on loopback in this process, so that its files are seen, too.

Not covered: calls of C functions; files whose values alone are read. Until 30 November 2026 the threads that run tools
were not watched: an ask's figures before that lack the tool.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import httpx
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import hearth
import hearth_cloud
from hearth.agent import Agent, make_home, shipped_demonstrations
from hearth.cli.root import run
from hearth.config import read_settings
from hearth.config.settings_edit import with_values
from hearth.demo.demo_home import build_demo_home
from hearth.formats import edge_protocol
from hearth.guard.egress.masking_door import MaskingDoor, Part
from hearth.learning.corrections import correct
from hearth.learning.unlearning import Sought, find, forget
from hearth.learning.versions.learned_state import Offer, State
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.ranking.ranker import PROFILES, Ranker
from hearth.planning.ranking.sufficient_statistics import encode, public_tools
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW, FixedApprover
from hearth.types import OWNER, Demonstration
from hearth_bench.measure.result_file import RESULTS, write_result
from hearth_bench.measure.walk_pictures import PAGE, Walks, with_pictures
from hearth_cloud.cloud_settings import CloudSettings
from hearth_cloud.service.general_answers import RecordedAnswers
from hearth_cloud.service.service import Teachers, create_app
from hearth_cloud.storage.access_tokens import issue
from hearth_cloud.storage.cloud_storage import Storage

CORE = str(Path(hearth.__file__).parent)
CLOUD = str(Path(hearth_cloud.__file__).parent)
SENTENCES = (
    "Ask Jonas Weber to come to 12 Garden Street at five, his number is 0171 2345678.",
    "Tell Anna Keller that the parcel is at 7 Mill Lane; call 030 9876543 or write anna@keller.example.",
)
REQUESTS = ("remind me to buy oat milk tomorrow at nine", "remind me to buy rye bread on Friday at six")
QUESTIONS = ("what could I cook for Anna Keller tonight", "what could I give Anna Keller for her birthday")
CLOSURE = """\
import sys
from hearth.cli.root import run
run(["--home", sys.argv[1], "ask", "what is on my calendar tomorrow"])
print(sum(name.startswith("hearth.") and hasattr(m, "__file__") for name, m in sys.modules.items()), file=sys.stderr)
"""
N_TAUGHT = 40
"""Demonstrations of each of the two devices whose sums make the prior."""


@dataclass(slots=True)
class Walk:
    """What was entered while a walk was watched."""

    files: dict[str, int] = field(default_factory=dict)
    """The files of the core and the cloud in the order of their first calls, with the number of calls into each."""
    callers: dict[str, str] = field(default_factory=dict)
    """File → the file of the first call into it; empty where a thread or this program called."""
    n_calls: int = 0
    n_moves: int = 0

    def profile(self, frame: FrameType, event: str, _argument: object) -> None:
        """Count one event of `sys.setprofile`."""
        if event != "call":
            return
        self.n_calls += 1
        name = frame.f_code.co_filename
        if not name.startswith((CORE, CLOUD)):
            return
        self.files[name] = self.files.get(name, 0) + 1
        if name not in self.callers:
            self.callers[name] = _caller(frame)
        caller = frame.f_back.f_code.co_filename if frame.f_back is not None else name
        self.n_moves += caller != name and caller.startswith((CORE, CLOUD))

    def row(self) -> dict[str, object]:
        return {
            "n_files": len(self.files),
            "n_calls": self.n_calls,
            "n_moves": self.n_moves,
            "files": {_shown(name): n for name, n in sorted(self.files.items())},
            "entered": [[_shown(name), _shown(self.callers[name])] for name in self.files],
        }


def _caller(frame: FrameType) -> str:
    """Return the nearest file of the core or the cloud from which a call came, past those of libraries."""
    above = frame.f_back
    while above is not None and not above.f_code.co_filename.startswith((CORE, CLOUD)):
        above = above.f_back
    return above.f_code.co_filename if above is not None else ""


def _shown(name: str) -> str:
    """Return a file's path below the core, or below the folder of the companion with its name."""
    if not name:
        return ""
    path = Path(name)
    return path.relative_to(CORE if name.startswith(CORE + os.sep) else Path(CLOUD).parent).as_posix()


@dataclass(slots=True)
class Watch:
    """Hands what is called to the walk that is taken now, in threads that began before, too."""

    walk: Walk | None = None

    def profile(self, frame: FrameType, event: str, argument: object) -> None:
        """Count one event of `sys.setprofile`."""
        if self.walk is not None:
            self.walk.profile(frame, event, argument)

    def walked(self, step: Callable[[int], object], *, is_repeated: bool = True) -> dict[str, object]:
        """Take a step twice, with 0 and 1, and return what the second entered; of one not repeated, the first."""
        if is_repeated:
            step(0)
        self.walk = walk = Walk()
        sys.setprofile(self.profile)
        try:
            step(1)
        finally:
            sys.setprofile(None)
            self.walk = None
        return walk.row()


def main() -> None:
    started, cpu_s = time.perf_counter(), time.process_time()
    watch = Watch()
    threading.setprofile(watch.profile)  # the threads that run tools begin before a walk does
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        build_demo_home(home, FIXED_NOW)
        results = _at_home(home, watch)
        done = subprocess.run([sys.executable, "-c", CLOSURE, str(home)], capture_output=True, text=True, check=True)
        results["closure"] = int(done.stderr.split()[-1])
        results |= _to_a_cloud(home, Path(folder), watch)
    path = RESULTS / "walks.json"
    if path.exists():
        written = json.loads(path.read_text())
        results["before"] = written["results"].get("before") or {"commit": written["commit"], **written["results"]}
    write_result("walks", results, seed=0, cpu_s=time.process_time() - cpu_s, wall_s=time.perf_counter() - started)
    PAGE.write_text(with_pictures(PAGE.read_text(), Walks.read(path)))


def _at_home(home: Path, watch: Watch) -> dict[str, object]:
    encoder = MiniLMEncoder.open()
    approver = FixedApprover(answer=True)
    agent = Agent.open(home, approver, environ=os.environ, clock=lambda: FIXED_NOW, encoder=encoder)
    try:
        door = MaskingDoor.of_owner(agent.opened)
        found: dict[str, object] = {"mask": watch.walked(lambda k: door.masked([Part(SENTENCES[k], OWNER)]))}
        episodes = [agent.run(agent.request("what is on my calendar tomorrow"))]
        found["ask"] = watch.walked(lambda k: episodes.append(agent.run(agent.request(REQUESTS[k]))))
        specs = agent.tools.specs
        state = State.open(home, encoder, Offer(specs), store=agent.store)
        asked = episodes[-2:]
        assert all(one.plan for one in episodes), "a request of this measure is not planned any more"
        other = episodes[0].plan
        found["correct"] = watch.walked(lambda k: correct(state, agent.recall, asked[k], other, specs))
    finally:
        agent.close()
    with State.open(home, encoder, Offer(specs)) as state:
        found["forget"] = watch.walked(
            lambda k: forget(state, find(state.store, Sought(matching=("oat milk", "rye bread")[k]), encoder))
        )
    return found


def _to_a_cloud(home: Path, folder: Path, watch: Watch) -> dict[str, object]:
    """Take the walks to a cloud: of the demo home that asks it, and of a device that was taught little."""
    answers = [{"question": text.replace("Anna Keller", "Person1"), "text": "Soup."} for text in QUESTIONS]
    (folder / "answers.jsonl").write_text("".join(json.dumps(one) + "\n" for one in answers))
    settings = CloudSettings.model_validate(
        {"statistics": {"mode": "plain", "owners": "one", "k": 2, "every_s": 1.0, "with_public": False}}
    )
    teachers = Teachers(None, RecordedAnswers(folder / "answers.jsonl"))
    with Storage.open(f"sqlite:///{folder / 'cloud.db'}") as storage, _serving(settings, storage, teachers) as url:
        device = folder / "device"
        make_home(device, {"name": "Ada", "email": "", "time_zone": "Europe/Berlin", "country": ""})
        for one in (home, device):
            _said(one, "edge", "join", url, issue(storage, one.name, None).text, "--yes")
        written = home / "hearth.toml"
        written.write_text(with_values(written, written.read_text(), {("edge", "answers"): True}))
        agent = Agent.open(home, FixedApprover(answer=True), environ=os.environ, clock=lambda: FIXED_NOW)
        try:
            found: dict[str, object] = {"question": watch.walked(lambda k: _answered(agent, QUESTIONS[k]))}
        finally:
            agent.close()
        specs, profile = load_tools(device).specs, PROFILES[read_settings(device / "hearth.toml").learning.profile]
        ours, theirs = _taught()
        with State.open(device, MiniLMEncoder.open(), Offer(specs)) as state:
            state.learn(ours, must_pass=False)
        other = Ranker(MiniLMEncoder.open(), specs, profile)
        other.learn(theirs)
        _given(url, issue(storage, "other", None).text, encode(other.statistics(public_tools())))
        reader = issue(storage, "reader", None).text
        found["prior"] = watch.walked(lambda _: _taken(device, url, reader), is_repeated=False)
    return found


def _answered(agent: Agent, question: str) -> None:
    episode = agent.run(agent.request(question))
    assert "Soup." in episode.answer.text, f"the cloud was not asked {question!r}: {episode.answer.text}"


def _taught() -> tuple[list[Demonstration], list[Demonstration]]:
    """Return what the owner of each of two devices taught it."""
    shown = [one for one in shipped_demonstrations() if one.plan.steps][: 2 * N_TAUGHT]
    own = [Demonstration(f"own-{one.id}", one.request, one.plan, source="owner", tools=one.tools) for one in shown]
    return own[:N_TAUGHT], own[N_TAUGHT:]


def _taken(home: Path, url: str, token: str) -> None:
    """Give what was learnt, wait until the service made a prior of it, fetch it and plan with it."""
    _said(home, "edge", "give", "--yes")
    headers = {edge_protocol.PROTOCOL_HEADER: str(edge_protocol.VERSION), "Authorization": f"Bearer {token}"}
    until = time.monotonic() + 60
    profile = read_settings(home / "hearth.toml").learning.profile
    while httpx.get(f"{url}/v1/prior?profile={profile}", headers=headers, trust_env=False).status_code != 200:
        assert time.monotonic() < until, "no prior was made"
        time.sleep(0.5)
    _said(home, "edge", "sync", "--take", "prior")
    _said(home, "learn", "prior", "--force")


def _given(url: str, token: str, body: bytes) -> None:
    headers = {edge_protocol.PROTOCOL_HEADER: str(edge_protocol.VERSION), "Authorization": f"Bearer {token}"}
    headers[edge_protocol.IDEMPOTENCY_HEADER] = "s1"
    httpx.post(f"{url}/v1/statistics", content=body, headers=headers, trust_env=False, timeout=60).raise_for_status()


def _said(home: Path, *line: str) -> None:
    code = run(["--home", str(home), *line])
    assert code == 0, f"hearth {' '.join(line[:2])} ended with exit code {code}"


@contextlib.contextmanager
def _serving(settings: CloudSettings, storage: Storage, teachers: Teachers) -> Iterator[str]:
    """Serve on loopback in a thread, and yield the address."""
    app = create_app(settings, storage, teachers=teachers, key=Ed25519PrivateKey.generate())
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, lifespan="on"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the service did not start"
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main()
