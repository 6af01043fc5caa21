"""Train a small language model from random weights to plan, then a LoRA adapter on it that learns further domains.

    python -m hearth_bench.measure.learning.language_student --data FOLDER [--only whole,stream,naive,moved]
        [--keep FOLDER]

Writes results/language_student.json; with `--keep`, models stay in a folder and are not made twice.

FOLDER holds `train.jsonl`, `dev.jsonl` and `tool_desc.json`. The model (Llama's architecture), its tokenizer and all
that it learns come from train alone; options were tried on a part cut from train, dev is for reporting. CPU seconds are
of one process with one thread. Needs the extra `hf`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from hearth.errors import PlannerError
from hearth.learning.finetune.adapters import Adapters, LanguageOptions, LanguageRecord, Lessons, distill, read_record
from hearth.models.llm.local_models import HuggingFaceModel
from hearth.planning.llm import CompactPlanner
from hearth.protocols import GrammarModel
from hearth.types import Context, Demonstration, Plan, Request, ToolSpec
from hearth_bench.data.datasets import PlanData, graph_of, random_split, read_plans, read_tool_file
from hearth_bench.measure.result_file import RESULTS, write_result
from hearth_bench.metrics.plan_metrics import PlanGraph, average_accuracy, backward_transfer, forgetting, plan_scores

SEED = 5
SECTIONS = ("whole", "stream", "naive", "moved")


@dataclass(frozen=True, slots=True)
class Size:
    """Dimensions of the model made here."""

    n_words: int = 4096
    width: int = 256
    inner: int = 704
    n_layers: int = 4
    n_heads: int = 4


FULL = LanguageOptions(
    method="full",
    n_epochs=16,
    lr=1e-3,
    batch=32,
    weight_decay=0.1,
    smoothing=0.05,
    request_loss=0.2,
    word_dropout=0.15,
    step_texts=0.7,
    tool_tokens=True,
    max_tokens=192,
)
SMALL = Size(width=192, inner=512, n_layers=3, n_heads=3)
"""Dimensions of the base that adapters are made on."""
OTHER = Size(width=128, inner=352, n_layers=3, n_heads=2)
"""Dimensions of the base that the last adapter moves to."""
N_BASE_EPOCHS = 6
NEXT = ("Finance", "Repair", "Restaurant")
"""Domains that the adapter learns one after the other; the base has seen none of them."""
LORA = LanguageOptions(
    method="lora",
    n_epochs=10,
    lr=1.5e-3,
    rank=16,
    batch=32,
    word_dropout=0.15,
    step_texts=0.7,
    smoothing=0.05,
    replay=5.0,
    tool_tokens=True,
    max_tokens=192,
)


def make_model(folder: Path, demonstrations: Sequence[Demonstration], size: Size, seed: int) -> None:
    """Make a model with random weights and a tokenizer of the demonstrations' words."""
    import torch
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    texts = [d.request for d in demonstrations] + [step.text for d in demonstrations for step in d.plan.steps]
    special = ["<pad>", "<s>", "</s>", "<plan>"]
    trainer = trainers.BpeTrainer(
        vocab_size=size.n_words,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        additional_special_tokens=["<plan>"],
    )
    fast.chat_template = "{{ bos_token }}{{ messages[-1]['content'] }}<plan>"  # tools are known by name alone
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=size.width,
        intermediate_size=size.inner,
        num_hidden_layers=size.n_layers,
        num_attention_heads=size.n_heads,
        num_key_value_heads=size.n_heads,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        attention_dropout=0.1,
        bos_token_id=fast.bos_token_id,
        eos_token_id=fast.eos_token_id,
        pad_token_id=fast.pad_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)


def judge(
    model: GrammarModel, demonstrations: Sequence[Demonstration], tools: Mapping[str, ToolSpec]
) -> dict[str, float]:
    """Score the plans that `model` writes; a request without a plan counts as an empty one."""
    planner = CompactPlanner(model)
    now = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)
    predicted = []
    for d in demonstrations:
        try:
            found = planner.plan(Request(d.request, now), Context(), tools)
        except PlannerError as error:
            print(f"{d.id}: {error}", file=sys.stderr)
            found = Plan(())
        predicted.append(graph_of(found) if isinstance(found, Plan) else PlanGraph((), ()))
    return plan_scores(predicted, [graph_of(d.plan) for d in demonstrations], frozenset(tools))


def told(done: int, n: int) -> None:
    if done % 100 == 0 or done == n:
        print(f"  {done}/{n} updates, {time.process_time():.0f} CPU-s", file=sys.stderr, flush=True)


def rounded(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in scores.items()}


def taught(
    folder: Path,
    demonstrations: Sequence[Demonstration],
    tools: Mapping[str, ToolSpec],
    options: LanguageOptions,
    size: Size,
    seed: int,
) -> tuple[HuggingFaceModel, LanguageRecord]:
    """Make a model in `folder/made` with random weights, train it fully into `folder/taught`, and return it."""
    if not (folder / "taught").exists():
        make_model(folder / "made", demonstrations, size, seed)
        lessons = Lessons(demonstrations, tools, seed=seed)
        distill(folder / "made", lessons, folder / "taught", options=options, progress=told)
    return HuggingFaceModel.open(folder / "taught"), read_record(folder / "taught")


def whole(data: PlanData, dev: PlanData, folder: Path) -> dict[str, object]:
    """Train on all of train, and judge on dev."""
    model, record = taught(folder / "whole", data.demonstrations, data.tools, FULL, Size(), SEED)
    cpu = time.process_time()
    scores = judge(model, dev.demonstrations, data.tools)
    ms = (time.process_time() - cpu) * 1000 / len(dev.demonstrations)
    return {
        **rounded(scores),
        "n_parameters": record.n_parameters,
        "n_train": len(record.ids),
        "train_cpu_min": round(record.cpu_s / 60, 2),
        "plan_cpu_ms": round(ms, 1),
        "loss": record.loss,
        "n_updates": record.n_updates,
        "size": asdict(Size()),
        "options": asdict(FULL),
    }


class Stream:
    """A base that never saw `NEXT`, then an adapter per domain, each continuing from the last.

    Each domain is judged on dev and on a fifth of train's requests that are never learnt.
    """

    def __init__(self, data: PlanData, dev: PlanData, folder: Path) -> None:
        self.data = data
        self.folder = folder
        self.tasks = [_Task("earlier", [d for d in data.demonstrations if _domain(d, data) not in NEXT], SEED)]
        self.tasks += [_Task(name, [d for d in data.demonstrations if _domain(d, data) == name], SEED) for name in NEXT]
        self.tests = [list(task.held) for task in self.tasks]
        for d in dev.demonstrations:
            domain = _domain(d, dev)
            self.tests[1 + NEXT.index(domain) if domain in NEXT else 0].append(d)
        options = replace(FULL, n_epochs=N_BASE_EPOCHS)
        self.base, self.record = taught(folder / "first", self.tasks[0].known, data.tools, options, SMALL, SEED)

    def run(self, name: str, options: LanguageOptions) -> dict[str, object]:
        first = self.judged(self.base)
        return {
            "tasks": [task.name for task in self.tasks],
            "n_test": [len(test) for test in self.tests],
            "base_cpu_min": round(self.record.cpu_s / 60, 2),
            "base_n_parameters": self.record.n_parameters,
            **_adapted(self, name, first, options),
        }

    def judged(self, model: GrammarModel) -> list[float]:
        """Return the Node-F1 on each task's tests."""
        return [judge(model, test, self.data.tools)["node_f1"] for test in self.tests]

    def adapters(self, name: str) -> Adapters:
        return Adapters(self.folder / f"adapters-{name}")


def stream(data: PlanData, dev: PlanData, folder: Path) -> dict[str, object]:
    """Run the stream with replay."""
    shutil.rmtree(folder / "adapters-replay", ignore_errors=True)
    return Stream(data, dev, folder).run("replay", LORA)


def naive(data: PlanData, dev: PlanData, folder: Path) -> dict[str, object]:
    """Run the stream without replay, to show its effect."""
    shutil.rmtree(folder / "adapters-naive", ignore_errors=True)
    return Stream(data, dev, folder).run("naive", replace(LORA, replay=0.0))


def moved(data: PlanData, dev: PlanData, folder: Path) -> dict[str, object]:
    """Retrain the last adapter of `stream`, from the buffer, on a smaller base with other random weights."""
    parts = Stream(data, dev, folder)
    options = replace(FULL, n_epochs=N_BASE_EPOCHS / 2)
    base, record = taught(folder / "second", parts.tasks[0].known, data.tools, options, OTHER, SEED + 1)
    before = parts.judged(base)
    last = parts.adapters("replay").current()
    if last is None:
        raise SystemExit("`moved` moves what `stream` made: give both to --only, or the same folder to --keep")
    buffer = [d for task in parts.tasks for d in task.known]
    cpu = time.process_time()
    made = parts.adapters("replay").move(last.number, folder / "second" / "taught", buffer, data.tools, progress=told)
    seconds = time.process_time() - cpu
    after = parts.judged(HuggingFaceModel.open(folder / "second" / "taught", adapter=made.version.folder))
    return {
        "n_parameters": record.n_parameters,
        "before": [round(score, 4) for score in before],
        "after": [round(score, 4) for score in after],
        "cpu_s": round(seconds, 1),
        "parent": made.version.record.parent,
    }


def _adapted(parts: Stream, name: str, first: Sequence[float], options: LanguageOptions) -> dict[str, object]:
    adapters = parts.adapters(name)
    base = parts.folder / "first" / "taught"
    rows, made = [list(first)], []
    for k, task in enumerate(parts.tasks[1:], 1):
        earlier = [d for before in parts.tasks[:k] for d in before.known] if options.replay else []
        lessons = Lessons(task.known, parts.data.tools, earlier, SEED)
        found = adapters.distil(base, lessons, options=options, progress=told)
        adapters.promote(found.version.number)  # the matrix needs every adapter, whatever the gate says
        rows.append(parts.judged(HuggingFaceModel.open(base, adapter=found.version.folder)))
        made.append(found)
        print(name, task.name, [round(score, 3) for score in rows[-1]], file=sys.stderr, flush=True)
    matrix = np.array(rows)
    return {
        "r_matrix": [[round(score, 4) for score in row] for row in rows],
        "bwt": round(backward_transfer(matrix), 4),
        "bwt_after_each": [round(backward_transfer(matrix[: k + 1, : k + 1]), 4) for k in range(1, len(rows))],
        "forgetting": round(forgetting(matrix), 4),
        "acc": round(average_accuracy(matrix), 4),
        "learnt": [round(rows[k][k] - rows[k - 1][k], 4) for k in range(1, len(rows))],
        "cpu_s": [found.version.record.cpu_s for found in made],
        "n_trained": [found.version.record.n_trained for found in made],
        "adapter_mb": [
            round((found.version.folder / "adapter_model.safetensors").stat().st_size / 1e6, 2) for found in made
        ],
        "gate": [found.verdict.reason for found in made],
        "options": asdict(options),
    }


class _Task:
    """Demonstrations of one domain, a fifth of them held back for judging."""

    def __init__(self, name: str, demonstrations: Sequence[Demonstration], seed: int) -> None:
        self.name = name
        n_held = 0 if name == "earlier" else len(demonstrations) // 5  # dev holds enough of these
        kept, held = random_split(len(demonstrations), n_held, seed)
        self.known = [demonstrations[row] for row in kept]
        self.held = [demonstrations[row] for row in held]


def _domain(demonstration: Demonstration, data: PlanData) -> str:
    return data.tools[demonstration.plan.steps[0].tool].domain


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    started = time.perf_counter()
    tools = read_tool_file(given.data / "tool_desc.json")
    data, dev = (read_plans(given.data / f"{name}.jsonl", tools) for name in ("train", "dev"))
    path = RESULTS / "language_student.json"
    results: dict[str, object] = json.loads(path.read_text())["results"] if path.exists() else {}
    run = dict(zip(SECTIONS, (whole, stream, naive, moved)))
    with tempfile.TemporaryDirectory() as folder:
        for name in given.only.split(","):
            results[name] = run[name](data, dev, given.keep or Path(folder))
            results["train_sha256"], results["dev_sha256"] = data.sha256, dev.sha256
            wall_s = time.perf_counter() - started
            write_result("language_student", results, seed=SEED, cpu_s=time.process_time(), wall_s=wall_s)


if __name__ == "__main__":
    main()
