"""What containers run, as processes: the commands of the manifests with the variables that Sedna injects, on folders as it
mounts them, from a working directory that cannot be written. Each writes to what it is given and nowhere else.

python -m pytest -q tests/whole/test_containers.py
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from hearth.agent import make_home
from hearth.formats.plans import plan_to_json, tool_to_json
from hearth.storage.database import Store
from tests import ROOT
from tests.small_world import TOOLS, lessons, wrong_trains
from tests.warm_process import WarmProcesses

JOB = next(yaml.safe_load_all((ROOT / "deploy/kubeedge/sedna/lifelong.yaml").read_text()))["spec"]
JOINT = next(yaml.safe_load_all((ROOT / "deploy/kubeedge/sedna/joint.yaml").read_text()))["spec"]


class Node:
    """A node as Sedna sees it: its folders, mounted into workers below a prefix, and its local controller."""

    def __init__(self, folder: Path, controller: str, hearth: Path) -> None:
        self.hearth = hearth
        self.mounts = folder / "home/data"
        self.folder = folder
        self.controller = controller
        self.read_only = folder / "root"
        self.read_only.mkdir(parents=True)
        self.read_only.chmod(0o500)
        for name in ("var/cache", "var/lib", "tmp", "plans"):
            (folder / name).mkdir(parents=True)

    def path(self, url: str) -> Path:
        """A path of the node as it is mounted."""
        return Path(f"{self.mounts}{url}")

    def environment(self, **more: str) -> dict[str, str]:
        """What a container has: nothing of this machine's but where the test's own files are."""
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(self.folder / "var/lib"),
            "HEARTH_HOME": str(self.folder / "var/lib"),
            "HEARTH_CACHE": os.environ["HEARTH_CACHE"],
            "TMPDIR": str(self.folder / "tmp"),
            "DATA_PATH_PREFIX": str(self.mounts),
            "LC_SERVER": self.controller,
            "NAMESPACE": "hearth-homes",
            **more,
        }

    def start(self, args: list[str], **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.hearth), *args],
            cwd=self.read_only,
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, args: list[str], **more: str) -> tuple[int, str, str]:
        with self.start(args, **more) as process:
            try:
                out, err = process.communicate(timeout=120)
            finally:
                process.kill()
            return process.returncode, out, err


def container(template: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    (one,) = template["spec"]["containers"]
    return one["args"], {variable["name"]: variable["value"] for variable in one.get("env", ())}


@pytest.fixture
def reports() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Sedna's local controller: what workers told it."""
    told: list[dict[str, Any]] = []

    class Controller(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            is_right = self.path == f"/sedna/workers/{body['name']}/info"
            told.append(body)
            self.send_response(200 if is_right else 400)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Controller)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", told
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def node(tmp_path: Path, reports: tuple[str, list[dict[str, Any]]], warm: WarmProcesses) -> Node:
    return Node(tmp_path, reports[0], warm.bin / "hearth")


def samples(path: Path, n: int, start: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"id": d.id, "user_request": d.request, **plan_to_json(d.plan)} for d in lessons(n, start)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.slow
def test_a_lifelong_job_from_the_first_sample_to_the_deployed_model(
    node: Node, reports: tuple[str, list[dict[str, Any]]]
) -> None:
    """Sedna's part is played as its controllers do: rounds, folders, what is copied where, what is injected."""
    told = reports[1]
    out = JOB["outputDir"]
    tools = node.folder / "tools.json"
    tools.write_text(json.dumps({"nodes": [tool_to_json(spec) for spec in TOOLS.values()]}))
    train_args, train_env = container(JOB["trainSpec"]["template"])
    model = ""
    for n_round in (1, 2):
        data = f"{out}/data/train/{n_round}/data.txt"
        samples(node.path(data), 16, 100 * n_round)
        node.path(f"{out}/train").mkdir(parents=True, exist_ok=True)
        index = {"CLOUD_KB_INDEX": model} if model else {}
        code, said, fault = node.run(
            [*train_args, "--tools", str(tools)],
            WORKER_NAME=f"train-worker-{n_round}",
            JOB_NAME="hearth",
            TRAIN_DATASET_URL=str(node.path(data)),
            ORIGINAL_DATASET_URL=str(node.path("/var/lib/hearth-sedna/demonstrations.txt")),
            OUTPUT_URL=str(node.path(f"{out}/train/{n_round}")),
            HAS_COMPLETED_INITIAL_TRAINING=str(bool(model)).lower(),
            KB_SERVER="http://127.0.0.1:9020",
            **index,
            **train_env,
        )
        assert (code, _serious(fault)) == (0, "")
        assert f"{16 * n_round} in all" in said
        (report,) = told
        assert (report["kind"], report["status"], report["ownerKind"]) == ("train", "completed", "lifelonglearningjob")
        model = report["results"][0]["url"]
        assert model == f"{out}/train/{n_round}/model.hearth"
        told.clear()

    samples(node.path(f"{out}/data/eval/2/data.txt"), 8, 500)
    eval_args, eval_env = container(JOB["evalSpec"]["template"])
    code, _, fault = node.run(
        eval_args,
        WORKER_NAME="eval-worker-1",
        JOB_NAME="hearth",
        MODEL_URLS=str(node.path(model)),
        TEST_DATASET_URL=str(node.path(f"{out}/data/eval/2/data.txt")),
        OUTPUT_URL=str(node.path(f"{out}/eval/2")),
        **eval_env,
    )
    assert (code, _serious(fault)) == (0, "")
    (report,) = told
    assert report["results"][0]["metrics"]["tool_f1"][0] >= float(eval_env["model_threshold"])
    assert json.loads(node.path(f"{out}/eval/2/metrics.json").read_text())["metric"] == eval_env["metrics"]

    deployed = node.path(f"{out}/deploy/index.pkl")  # what Sedna's local controller does with the first result
    deployed.parent.mkdir(parents=True)
    shutil.copyfile(node.path(report["results"][0]["url"]), deployed)
    infer_args, infer_env = container(JOB["deploySpec"]["template"])
    here = {name: value.replace("/plans", str(node.folder / "plans")) for name, value in infer_env.items()}
    Path(here["infer_dataset_url"]).write_text(f"{lessons(1, 103)[0].request}\n")
    with node.start(infer_args, MODEL_URLS=str(deployed), OUTPUT_URL=out, WORKER_NAME="inferworker", **here) as process:
        plans = Path(here["RESULT_SAVED_URL"])
        _until(plans.exists, process)
        process.send_signal(signal.SIGTERM)
        _, fault = process.communicate(timeout=30)
    assert (process.returncode, _serious(fault)) == (0, "")
    (plan,) = map(json.loads, plans.read_text().splitlines())
    assert [one["task"] for one in plan["plan"]["task_nodes"]] == ["cancel_train"]
    assert list(node.read_only.iterdir()) == []


@pytest.mark.slow
def test_joint_inference_asks_the_big_model_about_what_is_hard(
    node: Node, reports: tuple[str, list[dict[str, Any]]]
) -> None:
    """Both started as Sedna starts them, here with the same student; what is sure enough is set so that all is hard."""
    tools = node.folder / "tools.json"
    tools.write_text(json.dumps({"nodes": [tool_to_json(spec) for spec in TOOLS.values()]}))
    samples(node.folder / "set/all.txt", 16)
    here = {"TRAIN_DATASET_URL": str(node.folder / "set/all.txt"), "OUTPUT_URL": str(node.folder / "out")}
    code, _, fault = node.run(["sedna", "train", "--tools", str(tools)], **here)
    assert (code, _serious(fault)) == (0, "")
    model = str(node.folder / "out/model.hearth")
    reports[1].clear()
    port = _free_port()
    args, env = container(JOINT["cloudWorker"]["template"])
    big_env = {
        "MODEL_URL": model,
        "SERVICE_NAME": "hearth",
        "BIG_MODEL_BIND_IP": "127.0.0.1",
    }
    with node.start(args, BIG_MODEL_BIND_PORT=str(port), **big_env, **env) as big:
        _until(lambda: _answers(f"http://127.0.0.1:{port}/healthz"), big)
        little_args, little_env = container(JOINT["edgeWorker"]["template"])
        here = {name: value.replace("/plans", str(node.folder / "plans")) for name, value in little_env.items()}
        Path(here["infer_dataset_url"]).write_text(f"{lessons(1, 3)[0].request}, ask anna.schmidt@example.org\n")
        mining = JOINT["edgeWorker"]["hardExampleMining"]
        with node.start(
            little_args,
            MODEL_URL=model,
            BIG_MODEL_IP="127.0.0.1",
            BIG_MODEL_PORT=str(port),
            HEM_NAME=mining["name"],
            HEM_PARAMETERS=json.dumps([{"key": "threshold", "value": "1.0"}]),
            SERVICE_NAME="hearth",
            WORKER_NAME="edgeworker",
            **here,
        ) as little:
            answered = Path(here["RESULT_SAVED_URL"])
            _until(answered.exists, little)
            _until(lambda: bool(reports[1]), little)
            little.send_signal(signal.SIGTERM)
            _, fault = little.communicate(timeout=30)
        assert (little.returncode, _serious(fault)) == (0, "")
        big.send_signal(signal.SIGTERM)
        big.communicate(timeout=30)
    (row,) = map(json.loads, answered.read_text().splitlines())
    assert row["is_hard"]
    assert "fault" not in row, row["fault"]
    assert row["cloud"]["plan"]["user_request"].endswith("anna.schmidt@example.org")
    ledger = node.run(["ledger", "show", "--json"])[1]
    assert f'"port": {port}' in ledger
    assert reports[1][0]["ownerInfo"]["hardExampleNumber"] == 1


@pytest.mark.parametrize(
    ("args", "more", "code", "part"),
    [
        (["sedna", "train"], {}, 78, "TRAIN_DATASET_URL is not set"),
        (["sedna", "train"], {"TRAIN_DATASET_URL": "/none.txt", "OUTPUT_URL": "/tmp/x"}, 3, "cannot read the samples"),
        (["sedna", "infer"], {"MODEL_URLS": "/none"}, 78, "RESULT_SAVED_URL is not set"),
        (["sedna", "big-model"], {"MODEL_URL": "/none"}, 74, "cannot read the model '/none'"),
        (["sedna", "big-model"], {"MODEL_URL": "/x", "BIG_MODEL_BIND_PORT": "http"}, 78, "expected a number from 1"),
        (["sedna", "little-model"], {"HEM_NAME": "CrossEntropy"}, 78, "the little model knows"),
        (["edge", "run"], {}, 78, "no home in"),
        (["edge", "health"], {}, 74, "`hearth edge run` writes it"),
        (["edge", "run", "--init"], {"HEARTH_EDGE_URL": "https://cloud.example.org"}, 78, "the fingerprint of its key"),
    ],
)
def test_what_cannot_work_says_why_and_ends(
    args: list[str], more: dict[str, str], code: int, part: str, node: Node
) -> None:
    ended, _, fault = node.run(args, **more)
    assert (ended, part in fault) == (code, True), fault
    assert "Traceback" not in fault


def test_the_agent_of_a_device_runs_is_well_and_ends(node: Node) -> None:
    """As the deployment, the image and the unit start it; the home is there already and has learnt."""
    deployment = yaml.safe_load((ROOT / "deploy/kubeedge/edge/deployment.yaml").read_text())
    (one,) = deployment["spec"]["template"]["spec"]["containers"]
    home = node.folder / "var/lib"
    make_home(home, {"name": "", "email": "", "time_zone": "", "country": ""})
    Store.open(home / "hearth.db").close()
    health = {"HEARTH_HEALTH": str(node.folder / "run/health.json")}
    probe = [*one["livenessProbe"]["exec"]["command"][1:]]
    with node.start([*one["args"], "--quiet", "1000000"], **health) as process:
        _until((node.folder / "run/health.json").exists, process)
        code, said, _ = node.run(probe, **health)
        assert (code, said.startswith("well: ")) == (0, True)
        _until(lambda: "memory tend" in (node.folder / "run/health.json").read_text().partition("commands")[2], process)
        process.send_signal(signal.SIGTERM)
        out, fault = process.communicate(timeout=45)
    assert (process.returncode, _serious(fault)) == (0, "")
    assert "memory tend --at-most 240: 0 events became part of 0 summaries" in out
    assert json.loads((node.folder / "run/health.json").read_text())["state"] == "ended"
    assert node.run(["edge", "health", "--max-age", "0.01"], **health)[0] == 1


# ── Helping ───────────────────────────────────────────────────────────────────────────────────────────────


def _serious(said: str) -> str:
    """What was said on standard error but for how far it is, which a slow machine says."""
    return "".join(line for line in said.splitlines(True) if not line.startswith(("judging", "learning", "settling")))


def _until(is_so: Any, process: subprocess.Popen[str], limit_s: float = 60.0) -> None:
    until = time.monotonic() + limit_s
    while not is_so():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.05)


def _answers(url: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2) as answer:
        return bool(answer.status == 200)
    return False


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_samples_of_the_tests_are_no_accident() -> None:
    """The third lesson of each four is the one about tickets; wrong trains are about trains."""
    assert [d.plan.steps[0].tool for d in (*lessons(1, 3), *lessons(1, 103))] == ["cancel_train"] * 2
    assert wrong_trains(1)[0].plan.steps[0].tool == "order_pizza"
