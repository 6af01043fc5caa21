"""Measure the owner's things at size: a question among 20,000 passages, and the first look at 1 GB of mail.

    python -m hearth_bench.measure.memory.home_at_scale [--mb 1000] [--passages 20000] [--only question|look]
        [--home FOLDER]

The mails are drawn (short ones, each of one passage; for the first look, of 5 to 110 kB, most of it a picture), as time
and memory depend on their number and length. Each part runs in a process of its own, so that its memory is its own.
Before the questions the home is built ahead as `hearth memory tend` does it, so that they find passages by their
meaning, too; `build_s` says what that costs. The first look is killed once in its middle and goes on; at its end each
mail is there once.

`--only question --passages 100000` measures another size and writes none of the large mails; its figures are kept
beside the others, under `question_100000`. With `--home FOLDER` that home stays there: a later run goes on with it, so
that questions can be asked anew of a home that took an hour to build; `build_s` is the sum of all runs. Beside other
work `question_cpu_p95_ms` tells more than the time by the clock: what a question takes of the processors.

Not covered: vectors for 1 GB of mail, which are made while nothing is asked (`build_s` says what 20,000 cost).
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import datetime as dt
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hearth.config import cache_folder
from hearth.memory.answers.home_answers import HomeAnswers
from hearth.memory.inquiry.answer_reading import AnswerReader
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import make_call
from hearth_bench.measure.result_file import RESULTS, write_result

ASKED: Mapping[str, float] = {
    "question_p95_ms": 300.0,
    "index_p95_ms": 50.0,
    "bytes_per_passage": 1024.0,
    "changed_note_s": 1.0,
    "first_look_s": 600.0,
    "first_look_mb": 400.0,
}
NOW = dt.datetime(2026, 11, 23, 9, tzinfo=dt.UTC)
N_QUESTIONS = 60
N_PASSAGES = 20_000
_BUILT = "built.json"
"""Beside the home's database: what making it took."""
_KILLED_AT = 0.5
"""Share of the mails after which the first look is killed."""
_SYLLABLES = [f"{consonant}{vowel}" for consonant in "bdklmnr" for vowel in "aeiou"]


def words(draw: random.Random, n: int) -> list[str]:
    """Draw invented words, few of them often, as in a language."""
    return ["".join(draw.choices(_SYLLABLES, k=2 + (k % 2))) for k in range(n)]


def write_mails(home: Path, n: int, most_bytes: int, *, attached: bool) -> int:
    """Write mails that each state one price until there are `n` or their bytes reach `most_bytes`; return how many."""
    draw = random.Random(0)
    vocabulary = words(draw, 30_000)
    rates = [1 / (k + 10) for k in range(len(vocabulary))]
    folder = home / "owner" / "mail" / "cur"
    folder.mkdir(parents=True)
    n_bytes = k = 0
    while k < n and n_bytes < most_bytes:
        at = NOW - dt.timedelta(minutes=7 * k)
        thing = f"{vocabulary[-1 - k % 9000]} {vocabulary[-1 - (k // 9) % 9000]}"
        said = draw.choices(vocabulary, rates, k=draw.randint(300, 3000) if attached else 40)
        body = f"The {thing} costs £{k % 900 + 10}.00 now.\n\n" + " ".join(said)
        head = f"From: {vocabulary[k % 400].title()} <p{k % 400}@post.example>\nTo: me@home.example\n"
        head += f"Subject: {said[0]} {said[1]}\n"
        head += f"Date: {at:%a, %d %b %Y %H:%M:%S +0000}\nMessage-ID: <{k}@post.example>\nMIME-Version: 1.0\n"
        if attached:
            picture = base64.encodebytes(draw.randbytes(draw.randint(2_000, 75_000))).decode()
            text = (
                f'{head}Content-Type: multipart/mixed; boundary="b"\n\n--b\n'
                f"Content-Type: text/plain; charset=utf-8\n\n{body}\n"
                f'--b\nContent-Type: image/jpeg; name="p.jpg"\nContent-Transfer-Encoding: base64\n'
                f'Content-Disposition: attachment; filename="p.jpg"\n\n{picture}--b--\n'
            )
        else:
            text = f"{head}Content-Type: text/plain; charset=utf-8\n\n{body}\n"
        raw = text.encode()
        (folder / f"{k}.m:2,S").write_bytes(raw)
        n_bytes += len(raw)
        k += 1
    return k


def look(home: Path) -> dict[str, float]:
    """Look at everything that was not read yet; return time and memory."""
    began = time.perf_counter()
    with Store.open(home / "hearth.db") as store:
        answers = HomeAnswers(store, None, AnswerReader(cache_folder()))
        n_read = sum(1 for _ in answers.refresh(Folder(home / "owner", store).for_call(""), dt.UTC))
    return {"n_read": n_read, "s": round(time.perf_counter() - began, 1), "peak_mb": _peak_mb()}


def ask(home: Path) -> dict[str, float]:
    """Ask questions of a home that was looked at; return quantiles, and how long a changed note takes to count."""
    draw = random.Random(1)
    with Store.open(home / "hearth.db") as store:
        answers = HomeAnswers(store, MiniLMEncoder.open(), AnswerReader(cache_folder()))
        workspace = Folder(home / "owner", store).for_call("")
        call = make_call(workspace=workspace, now=NOW)
        note = home / "owner" / "notes" / "gate.md"
        note.unlink(missing_ok=True)
        began = time.perf_counter()
        for _ in answers.build(workspace, dt.UTC):
            pass
        built = json.loads((home / _BUILT).read_text())
        build_s = built["build_s"] + time.perf_counter() - began
        (home / _BUILT).write_text(json.dumps({**built, "build_s": build_s}))
        assert answers.passages.n_waiting() == 0
        known = answers.passages.all(("mail",), limit=N_QUESTIONS * 50)
        asked = [
            f"how much does the {one.text.partition('The ')[2].partition(' costs')[0]} cost"
            for one in draw.sample(known, N_QUESTIONS)
        ]
        answers.find_answer(asked[0], call)  # opens the models
        index_ms, whole_ms, cpu_ms, n_found = [], [], [], 0
        for question in asked:
            began = time.perf_counter()
            answers.passages.find(question)
            index_ms.append((time.perf_counter() - began) * 1000)
            began, began_cpu = time.perf_counter(), time.process_time()
            n_found += answers.find_answer(question, call).kind != "unknown"
            whole_ms.append((time.perf_counter() - began) * 1000)
            cpu_ms.append((time.process_time() - began_cpu) * 1000)
        note.parent.mkdir(exist_ok=True)
        changed_s = []
        for code in ("4711", "4712"):
            note.write_text(f"# Gate\n\nThe gate code is {code}.\n")
            began = time.perf_counter()
            assert code in answers.find_answer("what is the gate code", call).value
            changed_s.append(time.perf_counter() - began)
        n_passages = answers.passages.counts()["passage"]
    size = sum(path.stat().st_size for path in home.glob("hearth.db*"))
    return {
        "n_passages": n_passages,
        "build_s": round(build_s, 1),
        "question_p50_ms": round(float(np.quantile(whole_ms, 0.5)), 1),
        "question_p95_ms": round(float(np.quantile(whole_ms, 0.95)), 1),
        "question_cpu_p95_ms": round(float(np.quantile(cpu_ms, 0.95)), 1),
        "index_p50_ms": round(float(np.quantile(index_ms, 0.5)), 1),
        "index_p95_ms": round(float(np.quantile(index_ms, 0.95)), 1),
        "answered": round(n_found / len(asked), 3),
        "changed_note_s": round(max(changed_s), 3),
        "bytes_per_passage": round(size / n_passages, 1),
        "peak_mb": _peak_mb(),
    }


def _peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def _in_child(what: str, home: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, "--child", what, str(home)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _killed_in_the_middle(home: Path, n_mails: int) -> int:
    """Begin the first look in a child and kill it; return how many mails it had read."""
    child = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, "--child", "look", str(home)], stdout=subprocess.DEVNULL
    )
    n_read = 0
    while n_read < _KILLED_AT * n_mails and child.poll() is None:
        time.sleep(0.5)
        if (home / "hearth.db").exists():
            n_read = _n_files(home)
    child.send_signal(signal.SIGKILL)
    child.wait()
    return _n_files(home)


def _n_files(home: Path) -> int:
    with Store.open(home / "hearth.db") as store:
        return int(store.query("SELECT count(*) FROM passage_file")[0][0])


def measure_question(n_passages: int, kept: Path | None) -> dict[str, object]:
    with contextlib.ExitStack() as stack:
        home = kept or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if not (home / _BUILT).exists():
            n_mails = write_mails(home, n_passages, 1 << 40, attached=False)
            first = _in_child("look", home)
            (home / _BUILT).write_text(json.dumps({"n_mails": n_mails, "look_s": first["s"], "build_s": 0.0}))
        built = json.loads((home / _BUILT).read_text())
        if built["n_mails"] != n_passages:
            raise SystemExit(f"{str(home)!r} holds {built['n_mails']} mails, not {n_passages}; name another --home")
        return {**built, **_in_child("ask", home)}


def measure_look(n_bytes: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        n_mails = write_mails(home, 1 << 40, n_bytes, attached=True)
        began = time.perf_counter()
        n_before = _killed_in_the_middle(home, n_mails)
        rest = _in_child("look", home)
        whole_s = time.perf_counter() - began
        n_after = _n_files(home)
    return {
        "n_mails": n_mails,
        "mb": n_bytes // 1_000_000,
        "killed_after_mails": n_before,
        "read_again": rest["n_read"] - (n_mails - n_before),
        "mails_there": n_after,
        "first_look_s": round(whole_s, 1),
        "first_look_mb": rest["peak_mb"],
    }


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--mb", type=int, default=1000)
    options.add_argument("--passages", type=int, default=N_PASSAGES)
    options.add_argument("--only", choices=("question", "look"), help="one part; the other's figures are kept")
    options.add_argument("--home", type=Path, help="where the home of the questions is kept, or taken from")
    options.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        print(json.dumps({"look": look, "ask": ask}[given.child[0]](Path(given.child[1]))))
        return
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    load = [round(one, 2) for one in os.getloadavg()]
    kept = RESULTS / "home_at_scale.json"
    results: dict[str, object] = json.loads(kept.read_text())["results"] if given.only and kept.exists() else {}
    results["asked"] = dict(ASKED)
    if given.only != "look":
        key = "question" if given.passages == N_PASSAGES else f"question_{given.passages}"
        results[key] = measure_question(given.passages, given.home)
    if given.only != "question":
        results["look"] = measure_look(given.mb * 1_000_000)
    results["load_before_and_after"] = [load, [round(one, 2) for one in os.getloadavg()]]
    write_result(
        "home_at_scale", results, seed=0, cpu_s=time.process_time() - cpu_s, wall_s=time.perf_counter() - wall_s
    )


if __name__ == "__main__":
    main()
