"""Adapters of a local language model: distilled from the home's demonstrations, judged, kept as versions."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import math
import os
import random
import re
import shutil
import tarfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hearth.atomic_files import write_bytes
from hearth.errors import ConfigError, NotFound, PlannerError, RequestError, StoreError, StoreFullError
from hearth.formats.edge_protocol import MAX_ADAPTER_BYTES, Profile
from hearth.formats.plans import plan_to_json
from hearth.learning.versions import promotion_gate
from hearth.models.llm.local_models import (
    CURRENT,
    RECORD,
    HuggingFaceModel,
    check_speaks_alike,
    grow,
    load,
    load_tokenizer,
    prompt_tokens,
    reads_tools,
)
from hearth.planning.llm import N_TOOLS, CompactPlanner, plan_line, plan_messages
from hearth.protocols import GrammarModel
from hearth.types import Context, Demonstration, Plan, Request, Step, ToolSpec

if TYPE_CHECKING:
    import torch


# ── Distillation ──────────────────────────────────────────────────────────────────────────────────────────
# Distil plans into language models: a LoRA adapter, or a whole small model, learns from demonstrations.
#
# The model learns the line of `planning.llm`, with that planner's own prompts, so that it plans as it was taught.
# Covered: earlier demonstrations are replayed beside new ones; the folder appears whole or not at all, with a record
# of data, parent, base and options; the same seed on the same machine gives the same weights; an adapter moves to
# another base by learning its demonstrations anew there. Not covered: whether the result is better
# (`learning.versions.promotion_gate` judges).

# ── Samples ────────────────────────────────────────────────────────────────────────────────────────────
# Build training samples for a language student: demonstrations as prompt and line, in batches, varied each epoch.


LEAST_REPLAYED = 32
"""Least replayed: a single new demonstration must not dominate the training."""
_STEP_PREFIX = re.compile(r"^\s*(?:step\s*\d+\s*[:.)]?\s*)?(?:call\s+)?", re.IGNORECASE)
_JOINTS = (", then ", " and then ", ". After that, ", ", and ", "; ", ". Also ", ". ")


@dataclass(frozen=True, slots=True)
class LanguageOptions:
    """Options of learning. The defaults suit LoRA on a model that already speaks."""

    method: Literal["lora", "full"] = "lora"
    """`full` changes all weights: for small models trained from scratch."""
    n_epochs: float = 3.0
    lr: float = 2e-4
    rank: int = 16
    batch: int = 16
    weight_decay: float = 0.01
    warm_up: float = 0.05
    """Share of all updates."""
    smoothing: float = 0.0
    request_loss: float = 0.0
    """Weight of predicting the request's own words, beside the plan's."""
    word_dropout: float = 0.0
    """Share of the request's words left out, drawn anew each epoch."""
    step_texts: float = 0.0
    """Extra samples per epoch, as a share of the demonstrations, made of the steps' own texts."""
    replay: float = 1.0
    """Earlier demonstrations per new one, drawn anew each epoch; at least `LEAST_REPLAYED`, where there are so many."""
    tool_tokens: bool = False
    """Give each tool's name a token of its own; else names are written in pieces."""
    n_offered: int = N_TOOLS
    """Number of tools described to the model, including those the plan uses."""
    max_tokens: int = 1024
    """Most tokens of prompt and plan together; longer samples are left out."""


class Samples:
    """Demonstrations as tokens, with variants drawn anew each epoch."""

    def __init__(
        self,
        tokenizer: Any,
        tools: Mapping[str, ToolSpec],
        options: LanguageOptions,
        drawn: random.Random,
        own: frozenset[str] = frozenset(),
    ) -> None:
        """Prepare the samples. `own`: ids of the demonstrations taught to the adapter that is gone on from."""
        self._own = own
        self._tokenizer = tokenizer
        self._tools = tools
        self.options = options
        self.drawn = drawn
        self._reads_tools = reads_tools(tokenizer)

    def _prompt(self, request: str, offered: Sequence[str]) -> list[int]:
        return prompt_tokens(self._tokenizer, plan_messages(request, {name: self._tools[name] for name in offered}))

    def tokens(self, demonstration: Demonstration, drop: float = 0.0) -> tuple[list[int], list[int]] | None:
        """Return prompt and plan; None when they are too long together."""
        request = demonstration.request
        if drop:
            words = request.split(" ")
            request = " ".join(word for word in words if self.drawn.random() >= drop) or request
        prompt = self._prompt(request, self._offered(demonstration))
        line = self._tokenizer.encode(plan_line(demonstration.plan), add_special_tokens=False)
        line.append(self._tokenizer.eos_token_id)
        return None if len(prompt) + len(line) > self.options.max_tokens else (prompt, line)

    def _offered(self, demonstration: Demonstration) -> list[str]:
        if not self._reads_tools:
            return []
        used = [step.tool for step in demonstration.plan.steps]
        others = [name for name in demonstration.tools or self._tools if name in self._tools and name not in used]
        n = max(0, self.options.n_offered - len(set(used)))
        offered = [*dict.fromkeys(used), *self.drawn.sample(others, min(n, len(others)))]
        self.drawn.shuffle(offered)
        return offered

    def epoch(
        self, new: Sequence[Demonstration], old: Sequence[Demonstration]
    ) -> Iterator[list[tuple[list[int], list[int]]]]:
        """Yield the batches of one epoch: all new, some old, variants; samples of similar length together."""
        options = self.options
        chosen = [*new, *self._replayed(old, self._n_old(new, old))]
        for d in self.drawn.choices(chosen, k=round(options.step_texts * len(chosen))) if options.step_texts else []:
            chosen.append(self._from_steps(d))
        found = [tokens for d in chosen if (tokens := self.tokens(d, options.word_dropout)) is not None]
        self.drawn.shuffle(found)
        pool = 20 * options.batch
        batches = []
        for start in range(0, len(found), pool):
            part = sorted(found[start : start + pool], key=lambda pair: len(pair[0]) + len(pair[1]))
            batches += [part[k : k + options.batch] for k in range(0, len(part), options.batch)]
        self.drawn.shuffle(batches)
        yield from batches

    def _n_old(self, new: Sequence[Demonstration], old: Sequence[Demonstration]) -> int:
        if not self.options.replay:
            return 0
        return min(len(old), max(LEAST_REPLAYED, round(self.options.replay * len(new))))

    def _replayed(self, old: Sequence[Demonstration], n: int) -> list[Demonstration]:
        """Draw half of them from what the adapter itself was taught, which only it holds, the others from before it."""
        own = [d for d in old if d.id in self._own]
        rest = [d for d in old if d.id not in self._own]
        n_own = max(min(len(own), n // 2), n - len(rest))
        return [*self.drawn.sample(own, n_own), *self.drawn.sample(rest, n - n_own)]

    def n_batches(self, new: Sequence[Demonstration], old: Sequence[Demonstration]) -> int:
        n = len(new) + self._n_old(new, old)
        return math.ceil((n + round(self.options.step_texts * n)) / self.options.batch)

    def _from_steps(self, demonstration: Demonstration) -> Demonstration:
        """Make a request from the words of the plan's steps, of all of them or of some that stand together."""
        steps = demonstration.plan.steps
        if not steps or any(not step.text or step.refs() for step in steps):
            return demonstration
        is_chain = all(step.after == ((k - 1,) if k else ()) for k, step in enumerate(steps))
        first, last = 0, len(steps)
        if is_chain and self.drawn.random() < 0.6:
            first = self.drawn.randrange(len(steps))
            last = self.drawn.randint(first + 1, len(steps))
        part = steps[first:last]
        said = [_said(step) for step in part]
        request = said[0] + "".join(self.drawn.choice(_JOINTS) + text for text in said[1:])
        plan = Plan(tuple(replace(s, after=(k - 1,) if k else ()) for k, s in enumerate(part)) if is_chain else steps)
        return replace(demonstration, request=request, plan=plan)


def _said(step: Step) -> str:
    """Return a step's text without its number and the tool's name."""
    text = _STEP_PREFIX.sub("", step.text)
    if text.startswith(step.tool):
        text = re.sub(r"^\s*(?:to|for)\s+", "", text[len(step.tool) :])
    return text.strip().rstrip(".") or step.text


# ── Training ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class LanguageRecord:
    """The origin of an adapter: the `record.json` beside its weights."""

    method: str
    base: str
    """Folder or name of the model it was made on."""
    base_sha256: str
    data_sha256: str
    """Hash of the demonstrations, in order of their ids."""
    ids: tuple[str, ...]
    """The demonstrations it was taught, including its parent's."""
    replayed: tuple[str, ...]
    """Earlier demonstrations it saw beside them."""
    seed: int
    parent: str
    """The version it went on from; empty when it was made on its base alone."""
    options: Mapping[str, object]
    n_parameters: int
    n_trained: int
    n_left_out: int
    """Number of demonstrations longer than a sample may be."""
    n_updates: int
    loss: float
    """Mean over the last tenth of updates, nats per token."""
    cpu_s: float
    made: str
    scores: Mapping[str, float] = field(default_factory=dict)
    held: tuple[str, ...] = ()
    """Demonstrations held back to judge it by; adapters that go on from it hold them back, too."""

    @property
    def seen(self) -> frozenset[str]:
        """Return all demonstrations that left a trace in its weights, for forgetting."""
        return frozenset((*self.ids, *self.replayed))


@dataclass(frozen=True, slots=True)
class Lessons:
    """Demonstrations that a model is taught."""

    new: Sequence[Demonstration]
    tools: Mapping[str, ToolSpec]
    replay: Sequence[Demonstration] = ()
    """Those learnt before; `LanguageOptions.replay` says how many of them are seen beside the new ones."""
    seed: int = 0
    """Decides in which order and in which words they are seen, and from which weights an adapter begins."""


def distill(
    base: str | Path,
    lessons: Lessons,
    folder: Path,
    *,
    options: LanguageOptions | None = None,
    start_from: Path | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> LanguageRecord:
    """Teach a model and write what it learnt to `folder`: an adapter, or the whole model.

    Args:
        base: As `HuggingFaceModel.open` takes it.
        start_from: An adapter on the same base to go on from.
        progress: Called with updates done and in all.
    Raises:
        MissingExtraError: torch, transformers, peft or llguidance is not installed.
        ConfigError: The base or the adapter cannot be used, or `folder` exists.
        RequestError: No demonstration, one of an unknown tool, or none short enough. Nothing was written.
    """
    options = options or LanguageOptions()
    _check_lessons(lessons, folder)
    started = time.process_time()
    model, tokenizer = load(base)
    import torch  # after `load`, which says what to install

    torch.manual_seed(lessons.seed)
    known = [*lessons.new, *lessons.replay]
    n_before = len(tokenizer)
    if options.tool_tokens:
        _add_tool_tokens(model, tokenizer, known, start_from)
    learner = _learner(model, tokenizer, n_before, options, start_from)
    before = frozenset(read_record(start_from).ids if start_from else ())
    samples = Samples(tokenizer, lessons.tools, options, random.Random(lessons.seed), before)  # noqa: S311  nothing secret
    left_out = [d for d in known if samples.tokens(d) is None]
    kept = set(map(id, known)) - set(map(id, left_out))
    new, old = [d for d in lessons.new if id(d) in kept], [d for d in lessons.replay if id(d) in kept]
    if not new:
        raise RequestError(f"no demonstration has at most {options.max_tokens} tokens; raise max_tokens")
    taught = {d.id for d in new} | before
    losses = _train(learner, model, samples, new, old, progress)
    record = LanguageRecord(
        method=options.method,
        base=str(base),
        base_sha256=folder_sha256(Path(base)) if Path(base).is_dir() else "",
        data_sha256=data_sha256([*new, *old]),
        ids=tuple(sorted(taught)),
        replayed=tuple(sorted({d.id for d in old} - taught)),
        seed=lessons.seed,
        parent=start_from.name if start_from else "",
        options=asdict(options),
        n_parameters=sum(p.numel() for p in learner.parameters()),
        n_trained=sum(p.numel() for p in learner.parameters() if p.requires_grad),
        n_left_out=len(left_out),
        n_updates=len(losses),
        loss=round(sum(losses[-max(1, len(losses) // 10) :]) / max(1, len(losses) // 10), 4),
        cpu_s=round(time.process_time() - started, 1),
        made=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )
    _write(folder, learner, tokenizer, record)
    return record


def move(
    adapter: Path,
    base: str | Path,
    buffer: Sequence[Demonstration],
    tools: Mapping[str, ToolSpec],
    folder: Path,
    *,
    progress: Callable[[int, int], object] | None = None,
) -> LanguageRecord:
    """Make `adapter` anew on another base, with its options and seed, from those of its demonstrations still kept.

    Forgotten demonstrations are not in `buffer` and so not in the new adapter.

    Raises:
        As `distill`; ConfigError: `adapter` has no readable record.
    """
    record = read_record(adapter)
    known, old = ([d for d in buffer if d.id in ids] for ids in map(frozenset, (record.ids, record.replayed)))
    options = LanguageOptions(**record.options)  # type: ignore[arg-type]  # checked by `read_record`
    made = distill(base, Lessons(known, tools, old, record.seed), folder, options=options, progress=progress)
    moved = replace(made, parent=adapter.name)
    write_record(folder, moved)
    return moved


# ── Records ───────────────────────────────────────────────────────────────────────────────────────────────


def read_record(folder: Path) -> LanguageRecord:
    """Read an adapter's record. Raises: ConfigError: No record there, or not one of this form."""
    path = folder / RECORD
    try:
        data = json.loads(path.read_bytes())
        LanguageOptions(**data["options"])
        return LanguageRecord(**{**data, **{name: tuple(data[name]) for name in ("ids", "replayed", "held")}})
    except OSError as error:
        raise ConfigError(f"cannot read {str(path)!r}: {error.strerror}; name the folder of an adapter") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{str(path)!r} is not the record of an adapter ({error}); make the adapter anew") from None


def write_record(folder: Path, record: LanguageRecord) -> None:
    """Replace the record, whole or not at all."""
    write_bytes(folder / RECORD, (json.dumps(asdict(record), indent=1) + "\n").encode())


def data_sha256(demonstrations: Sequence[Demonstration]) -> str:
    digest = hashlib.sha256()
    for d in sorted(demonstrations, key=lambda d: d.id):
        digest.update(json.dumps([d.id, d.request, plan_to_json(d.plan)], sort_keys=True).encode())
    return digest.hexdigest()


def folder_sha256(folder: Path) -> str:
    """Hash a model's weights and settings."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name != RECORD:
            digest.update(path.name.encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _check_lessons(lessons: Lessons, folder: Path) -> None:
    if not lessons.new:
        raise RequestError("there is no demonstration to learn from; give at least one")
    for d in (*lessons.new, *lessons.replay):
        for step in d.plan.steps:
            if step.tool not in lessons.tools:
                raise RequestError(
                    f"demonstration {d.id!r} uses the unknown tool {step.tool!r}; add it to the tools or leave it out"
                )
    if folder.exists():
        raise ConfigError(f"{str(folder)!r} exists already; choose a new folder for what is learnt")


def _write(folder: Path, learner: Any, tokenizer: Any, record: LanguageRecord) -> None:
    beside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    # Only an adapter knows this argument; without it, peft asks the Hub whether the base has grown.
    more = {"save_embedding_layers": False} if record.method == "lora" else {}
    learner.save_pretrained(beside, **more)
    tokenizer.save_pretrained(beside)
    write_record(beside, record)
    for path in beside.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    beside.replace(folder)


# ── The model that learns ─────────────────────────────────────────────────────────────────────────────────


def _add_tool_tokens(
    model: Any, tokenizer: Any, demonstrations: Sequence[Demonstration], start_from: Path | None
) -> None:
    """Add a token ` /name` for each tool in the plans; its vector is the mean of those of its name's words.

    Tokens of an adapter that is gone on from come first, in its order, so that its rows fit.
    """
    from tokenizers import AddedToken  # with the extra

    names = [f" /{tool}" for tool in sorted({step.tool for d in demonstrations for step in d.plan.steps})]
    vocabulary = tokenizer.get_vocab()
    if start_from is not None:
        earlier = load_tokenizer(start_from).get_vocab()
        names = [*sorted((name for name in earlier if name.startswith(" /")), key=lambda name: earlier[name]), *names]
    missing = [name for name in dict.fromkeys(names) if name not in vocabulary]
    pieces = [tokenizer.encode(f" {name[2:].replace('_', ' ')}", add_special_tokens=False) for name in missing]
    tokenizer.add_tokens([AddedToken(name, normalized=False, special=False) for name in missing])
    grow(model, tokenizer)
    vectors = model.get_input_embeddings().weight.data
    rows = tokenizer.convert_tokens_to_ids(missing)
    for row, piece in zip(rows, pieces):
        vectors[row] = vectors[piece].mean(dim=0)
        heads = model.get_output_embeddings().weight.data
        if heads.data_ptr() != vectors.data_ptr():
            heads[row] = heads[piece].mean(dim=0)


def _learner(model: Any, tokenizer: Any, n_before: int, options: LanguageOptions, start_from: Path | None) -> Any:
    """Return the model, or an adapter on it, ready to train."""
    if options.method == "full":
        if start_from is not None:
            raise ConfigError("only an adapter can be gone on from; give the earlier model as base instead")
        return model.train()
    import peft  # with the extra

    new_rows = list(range(n_before, len(tokenizer)))
    names = {"embed_tokens": new_rows} if new_rows else None
    config = peft.LoraConfig(
        r=options.rank,
        lora_alpha=2 * options.rank,
        lora_dropout=0.05,
        target_modules="all-linear",
        trainable_token_indices=names,
        task_type="CAUSAL_LM",
    )
    with warnings.catch_warnings(action="ignore"):  # warnings of the libraries about each other
        learner = peft.get_peft_model(model, config)
    if start_from is not None:
        _continue(learner, start_from)
    return learner.train()


def _continue(learner: Any, start_from: Path) -> None:
    """Load the weights of an earlier adapter; rows of tokens it did not have stay as they are."""
    from peft import get_peft_model_state_dict, set_peft_model_state_dict  # with the extra
    from safetensors.torch import load_file

    try:
        earlier = load_file(start_from / "adapter_model.safetensors")
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the adapter {str(start_from)!r} ({error}); start without it") from None
    state = get_peft_model_state_dict(learner, save_embedding_layers=False)
    for name, value in earlier.items():
        mine = state.get(name)
        if mine is None or mine.shape[1:] != value.shape[1:]:
            raise ConfigError(f"the adapter {start_from.name!r} was made for another base or rank; start without it")
        mine = mine.clone()
        mine[: len(value)] = value
        state[name] = mine
    set_peft_model_state_dict(learner, state)


# ── Training ──────────────────────────────────────────────────────────────────────────────────────────────


def _train(
    learner: Any,
    model: Any,
    samples: Samples,
    new: Sequence[Demonstration],
    old: Sequence[Demonstration],
    progress: Callable[[int, int], object] | None,
) -> list[float]:
    """Train and return the loss of each update, nats per token of a plan."""
    import torch  # as in `distill`

    options = samples.options
    n_updates = max(1, round(options.n_epochs * samples.n_batches(new, old)))
    trained = [p for p in learner.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=options.lr, weight_decay=options.weight_decay, betas=(0.9, 0.98))
    device = model.device.type
    is_half = device == "cuda" or _has_bf16()
    losses: list[float] = []
    while len(losses) < n_updates:
        for batch in samples.epoch(new, old):
            for group in optimizer.param_groups:
                group["lr"] = options.lr * _rate(len(losses) / n_updates, options.warm_up)
            with torch.autocast(device, dtype=torch.bfloat16, enabled=is_half):
                loss, plan_loss = _loss(model, batch, options)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(plan_loss)
            if progress is not None:
                progress(len(losses), n_updates)
            if len(losses) == n_updates:
                break
    return losses


def _loss(
    model: Any, batch: Sequence[tuple[list[int], list[int]]], options: LanguageOptions
) -> tuple[torch.Tensor, float]:
    """Return the loss (cross-entropy of the plans' tokens plus, weighted, the requests') and the plans' part."""
    import torch  # as in `distill`

    # Plans stand at the right edge, so that logits are computed for the last columns alone.
    width = max(len(prompt) + len(line) for prompt, line in batch)
    n_kept = width if options.request_loss else max(len(line) for _, line in batch) + 1
    ids = torch.zeros(len(batch), width, dtype=torch.long)
    is_real = torch.zeros(len(batch), width, dtype=torch.long)
    is_plan = torch.zeros(len(batch), width, dtype=torch.bool)
    for row, (prompt, line) in enumerate(batch):
        ids[row, width - len(prompt) - len(line) :] = torch.tensor(prompt + line)
        is_real[row, width - len(prompt) - len(line) :] = 1
        is_plan[row, width - len(line) :] = True
    places = (is_real.cumsum(dim=1) - 1).clamp(min=0)
    device = model.device
    given = {"input_ids": ids.to(device), "attention_mask": is_real.to(device), "position_ids": places.to(device)}
    logits = model(**given, logits_to_keep=n_kept, use_cache=False).logits
    targets = ids[:, width - n_kept + 1 :].to(device)
    each = torch.nn.functional.cross_entropy(
        logits[:, :-1].float().transpose(1, 2), targets, reduction="none", label_smoothing=options.smoothing
    )
    plans = is_plan[:, width - n_kept + 1 :].to(device)
    loss = each[plans].mean()
    plan_loss = float(loss.detach())
    if options.request_loss:
        requests = is_real[:, 1:].bool().to(device) & is_real[:, :-1].bool().to(device) & ~plans
        loss = loss + options.request_loss * each[requests].mean()
    return loss, plan_loss


def _rate(done: float, warm_up: float) -> float:
    """Return the share of the learning rate: linear up, then a half cosine down to a twentieth."""
    if done < warm_up:
        return (done + 1e-3) / (warm_up + 1e-3)
    return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * (done - warm_up) / (1 - warm_up)))


def _has_bf16() -> bool:
    """Say whether this processor computes bfloat16 natively; otherwise it is slower than float32."""
    import torch  # as in `distill`

    return bool(torch.cpu._is_avx512_bf16_supported()) or bool(torch.cpu._is_amx_tile_supported())


# ── Adapter versions ──────────────────────────────────────────────────────────────────────────────────────
# Keep the versions of a language student: each a folder with its record; one of them is current, or none.
#
#     FOLDER/1/  2/  3/      adapters as `learning.finetune.adapters` writes them
#     FOLDER/current.json    the number that plans, and those before it
#
# A version becomes current only through the gate: judged on demonstrations held back from it, beside the current one.
# Covered: a crash at any point leaves the old current one and no half version; a version that learnt something
# forgotten is removed with its files, and the last one that never saw it becomes current. Not covered: two processes
# that change the same folder (the home's lock keeps them apart).

# ── One file to offer or take ──────────────────────────────────────────────────────────────────────────
# Pack a language adapter into one file, offered by a cloud and taken by a device: a tar of a few named files.
# The packed adapter is what `learning.finetune.adapters` wrote, without the ids of its demonstrations, which are
# personal; the same adapter always gives the same bytes. Only a plain LoRA adapter is unpacked.
# Covered: names other than these (paths, links, pickles), a file twice or too large, a record or a configuration of
# another shape, peft options that load other models or import modules, an archive that is cut off; the folder appears
# whole or not at all. Not covered: whether it plans well (the gate judges), whether weights and tokenizer can be read
# (the libraries find out when the gate opens them: no code and no pickle of it is run).


_CONFIG, _WEIGHTS, _TOKENIZER = "adapter_config.json", "adapter_model.safetensors", "tokenizer.json"
_NEEDED = (RECORD, _CONFIG, _WEIGHTS)
_MOST_BYTES: Mapping[str, int] = {
    RECORD: 100_000,
    _CONFIG: 1_000_000,
    _WEIGHTS: MAX_ADAPTER_BYTES,
    _TOKENIZER: 50_000_000,
    "tokenizer_config.json": 1_000_000,
    "special_tokens_map.json": 100_000,
    "chat_template.jinja": 100_000,
}
"""The files of an adapter, with the largest size of each."""


class _Lora(BaseModel):
    """The part of peft's configuration that is kept; the rest must be empty or default."""

    model_config = ConfigDict(extra="allow", strict=True)

    peft_type: str = Field(pattern=r"^LORA$")
    task_type: str = Field(pattern=r"^CAUSAL_LM$")
    r: int = Field(ge=1, le=512)
    lora_alpha: float = Field(gt=0, le=100_000, allow_inf_nan=False)
    lora_dropout: float = Field(default=0.0, ge=0, lt=1, allow_inf_nan=False)
    bias: str = Field(default="none", pattern=r"^none$")
    inference_mode: bool = True
    use_rslora: bool = False
    fan_in_fan_out: bool = False
    target_modules: list[str] = Field(min_length=1, max_length=10_000)
    trainable_token_indices: dict[str, list[int]] | None = None


_SAYS_NOTHING: Mapping[str, object] = {"init_lora_weights": True, "megatron_core": "megatron.core"}
"""Keys of peft's whose default is not empty, with that default."""
_PASSED_OVER = ("base_model_name_or_path", "revision", "peft_version", "qalora_group_size")
"""Keys that say where it was made."""


def fingerprint_of(record: LanguageRecord, profile: Profile) -> str:
    """Return the fingerprint, as in a manifest, of devices it fits; those of other devices are numbered apart."""
    return f"lora {record.base_sha256} {profile}"


def pack(folder: Path) -> tuple[bytes, LanguageRecord]:
    """Pack an adapter's folder into one file; also return the record that goes in it.

    Raises:
        ConfigError: It is no LoRA adapter of a model's folder, is too large, or cannot be read.
    """
    made = read_record(folder)
    if made.method != "lora" or not made.base_sha256:
        what = "a whole model" if made.method != "lora" else f"made on {made.base!r}, a name and not a folder"
        raise ConfigError(f"{str(folder)!r} is {what}; expected an adapter that was made on the folder of a model")
    record = replace(made, ids=(), replayed=(), held=(), parent="", scores={}, base=Path(made.base).name)
    files: dict[str, bytes] = {}
    for name in _MOST_BYTES:
        try:
            files[name] = (folder / name).read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ConfigError(f"cannot read {str(folder / name)!r}: {error.strerror}; mend its permissions") from None
    files[RECORD] = TypeAdapter(LanguageRecord).dump_json(record)
    if _CONFIG in files:
        files[_CONFIG] = json.dumps(_lora(files[_CONFIG]), sort_keys=True).encode()
    _check(files.keys(), str(folder))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o600
            archive.addfile(member, io.BytesIO(data))
    if len(packed.getvalue()) > MAX_ADAPTER_BYTES:
        raise ConfigError(
            f"the adapter in {str(folder)!r} has {len(packed.getvalue()):,} bytes, and devices take at most "
            f"{MAX_ADAPTER_BYTES:,}; make one of a lower rank"
        )
    return packed.getvalue(), record


def read_packed(file: Path) -> LanguageRecord:
    """Return the record of a packed adapter, after checking all of it. Raises: ConfigError: It is none; why."""
    return _record(_files(file))


def unpack(file: Path, folder: Path, base: str) -> LanguageRecord:
    """Unpack an adapter into a new folder, for the model `base` of this device.

    Raises:
        ConfigError: It is none, or the folder exists. StoreFullError: It cannot be written; nothing is left.
    """
    files = _files(file)
    record = replace(_record(files), base=base)
    if folder.exists():
        raise ConfigError(f"{str(folder)!r} exists already; choose a new folder for what is taken")
    beside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        beside.mkdir(parents=True)
        for name, data in files.items():
            with open(beside / name, "wb") as written:
                written.write(data)
                written.flush()
                os.fsync(written.fileno())
        write_record(beside, record)
        beside.replace(folder)
    except OSError as error:
        shutil.rmtree(beside, ignore_errors=True)
        raise StoreFullError(f"cannot write {str(folder)!r}: {error.strerror}; nothing was taken") from None
    return record


def _files(file: Path) -> dict[str, bytes]:
    """Return the files of a packed adapter, each checked. Raises: ConfigError."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(file, mode="r:") as archive:
            for member in archive:
                name, most = member.name, _MOST_BYTES.get(member.name, -1)
                if not member.isreg() or member.issparse() or most < 0 or name in found:
                    raise _none(file, f"it holds {name[:80]!r}, which has no place in one, or has it twice")
                if member.size > most:
                    raise _none(file, f"its {name} has {member.size:,} bytes; expected at most {most:,}")
                body = archive.extractfile(member)
                found[name] = body.read() if body is not None else b""
                if len(found[name]) != member.size:
                    raise _none(file, f"its {name} is cut off")
    except OSError as error:
        raise ConfigError(f"cannot read {str(file)!r}: {error.strerror or error}") from None
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise _none(file, str(error)[:200]) from None
    _check(found.keys(), str(file))
    found[_CONFIG] = json.dumps(_lora(found[_CONFIG])).encode()
    return found


def _check(names: Any, where: str) -> None:
    """Check that all needed files are there. Raises: ConfigError."""
    if missing := [name for name in _NEEDED if name not in names]:
        raise ConfigError(f"{where!r} is no adapter: {', '.join(missing)} is missing; it was not taken")


def _record(files: Mapping[str, bytes]) -> LanguageRecord:
    """Read and check the record. Raises: ConfigError."""
    try:
        record = TypeAdapter(LanguageRecord).validate_json(files[RECORD])
        TypeAdapter(LanguageOptions).validate_python(record.options)
    except ValidationError as error:
        raise ConfigError(f"the adapter's {RECORD} is not one: {_first(error)}; it was not taken") from None
    if record.method != "lora":
        raise ConfigError(
            f"the adapter's {RECORD} is of a whole model, made with method {record.method[:40]!r}; it was not taken"
        )
    if len(record.base_sha256) != 64 or not set(record.base_sha256) <= set(_HEX):
        raise ConfigError(f"the adapter's {RECORD} names no model that it was made on; it was not taken")
    try:
        made = dt.datetime.fromisoformat(record.made).isoformat(timespec="seconds")
    except ValueError:
        raise ConfigError(f"the adapter's {RECORD} does not say when it was made; it was not taken") from None
    # It comes from others: nothing here may rest on ids and scores that are not this home's.
    return replace(record, ids=(), replayed=(), held=(), parent="", scores={}, made=made)


_HEX = "0123456789abcdef"


def _lora(data: bytes) -> dict[str, Any]:
    """Return the kept part of an `adapter_config.json`. Raises: ConfigError: It is more or other than plain LoRA."""
    try:
        config = _Lora.model_validate_json(data)
    except ValidationError as error:
        raise ConfigError(f"the adapter's {_CONFIG} is not plain LoRA: {_first(error)}; it was not taken") from None
    for name, value in (config.model_extra or {}).items():
        if name not in _PASSED_OVER and value and value != _SAYS_NOTHING.get(name):
            raise ConfigError(f"the adapter's {_CONFIG} is not plain LoRA: {name[:60]!r} is set; it was not taken")
    return config.model_dump(include=set(_Lora.model_fields))


def _first(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))[:100] or 'it'}: {first['msg'][:200]}"


def _none(file: Path, why: str) -> ConfigError:
    return ConfigError(f"{str(file)!r} is no packed adapter: {why}; it was not taken")


# ── Versions ───────────────────────────────────────────────────────────────────────────────────────────


N_HELD = 40
"""Most demonstrations held back to judge a version by; at most a fifth of them."""
_NOON = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
"""Time assumed for a demonstration without one."""


@dataclass(frozen=True, slots=True)
class AdapterVersion:
    number: int
    folder: Path
    record: LanguageRecord
    is_current: bool


@dataclass(frozen=True, slots=True)
class Distilled:
    """Outcome of teaching: the version, and whether it plans now."""

    version: AdapterVersion
    verdict: promotion_gate.Verdict


class Adapters:
    """The versions below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    # ── What there is ─────────────────────────────────────────────────────────────────────────────────────

    def versions(self) -> tuple[AdapterVersion, ...]:
        """Return all versions, oldest first. Raises: ConfigError: A record cannot be read."""
        return tuple(map(self.version, self._numbers()))

    def version(self, number: int) -> AdapterVersion:
        """Return one version. Raises: NotFound: No such version; names those there are."""
        if number not in self._numbers():
            known = ", ".join(map(str, self._numbers())) or "none"
            raise NotFound(f"no adapter {number}; there are: {known}")
        return AdapterVersion(number, self._of(number), read_record(self._of(number)), self._past()[-1:] == [number])

    def current(self) -> AdapterVersion | None:
        """Return the version that plans; None: the base alone does."""
        past = self._past()
        return self.version(past[-1]) if past else None

    # ── Making one ────────────────────────────────────────────────────────────────────────────────────────

    def distil(
        self,
        base: str | Path,
        lessons: Lessons,
        *,
        options: LanguageOptions | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Distilled:
        """Teach a new version, going on from the current one when its base is the same, and judge it.

        Raises:
            As `learning.finetune.adapters.distill`; nothing of the version is left then.
        """
        now = self.current()
        if now is not None and (now.record.base != str(base) or now.record.method != "lora"):
            now = None
        known = _by_id([*lessons.replay, *lessons.new])
        tasks = tasks_of(known.values(), lessons.tools)
        held = _held(lessons.new, known, tasks, now.record if now is not None else None)
        new, replay = ([d for d in some if d.id not in held] for some in (lessons.new, lessons.replay))
        number = self._next()
        taught, start = replace(lessons, new=new, replay=replay), now.folder if now is not None else None
        distill(base, taught, self._of(number), options=options, start_from=start, progress=progress)
        return self._judged(number, [known[id] for id in sorted(held)], tasks, lessons.tools, base)

    def move(
        self,
        number: int,
        base: str | Path,
        buffer: Sequence[Demonstration],
        tools: Mapping[str, ToolSpec],
        *,
        progress: Callable[[int, int], object] | None = None,
    ) -> Distilled:
        """Make version `number` anew on another base, from its demonstrations still in `buffer`, and judge it.

        Raises:
            NotFound: No such version. RequestError: Nothing of what it learnt is kept. As
                `learning.finetune.adapters.move`.
        """
        old = self.version(number)
        known = _by_id(buffer)
        if not known.keys() & set(old.record.ids):
            raise RequestError(f"nothing of what adapter {number} learnt is still kept; teach the new base anew")
        tasks = tasks_of(known.values(), tools)
        held = [known[id] for id in sorted(known.keys() - old.record.seen)[:N_HELD]]
        made = self._next()
        move(old.folder, base, buffer, tools, self._of(made), progress=progress)
        return self._judged(made, held, tasks, tools, base)

    def take(self, file: Path, base: Path, buffer: Sequence[Demonstration], tools: Mapping[str, ToolSpec]) -> Distilled:
        """Make a version of a packed adapter that was made elsewhere on the same model, and judge it by `buffer`.

        Raises:
            ConfigError: It is none, was made on another model, or speaks in another form. MissingExtraError.
            PlannerError: It wrote not a single plan. StoreFullError. Nothing of the version is left then.
        """
        record = read_packed(file)
        if not base.is_dir() or folder_sha256(base) != record.base_sha256:
            raise ConfigError(
                f"the adapter was made on the model {record.base[:100]!r} (SHA-256 {record.base_sha256[:12]}…), which "
                f"{str(base)!r} is not; name the folder of that model with --base"
            )
        now = self.current()
        known = _by_id(buffer)
        tasks = tasks_of(known.values(), tools)
        unseen = known.keys() - (now.record.seen if now else frozenset()) or known.keys()
        able = {name: [id for id in ids if id in unseen] for name, ids in tasks.items()}
        held = [known[id] for id in sorted(promotion_gate.choose(able, min(N_HELD, len(unseen))))]
        number = self._next()
        unpack(file, self._of(number), str(base))
        try:
            check_speaks_alike(self._of(number), base)
            return self._judged(number, held, tasks, tools, base)
        except BaseException:
            shutil.rmtree(self._of(number))
            raise

    def _judged(
        self,
        number: int,
        held: Sequence[Demonstration],
        tasks: Mapping[str, Sequence[str]],
        tools: Mapping[str, ToolSpec],
        base: str | Path,
    ) -> Distilled:
        """Judge a version beside the one that plans; if the gate lets it, it plans from now on."""
        made, before = self.version(number), self.current()
        after = scores(_opened(made), held, tools)
        old = scores(_opened(before) if before else HuggingFaceModel.open(base), held, tools, may_fail=True)
        verdict = promotion_gate.judge(old, after, tasks, taught_new=True)
        measured = {"node_f1_before": verdict.before, "node_f1": verdict.after, "n": float(verdict.n)}
        rounded = {name: round(value, 4) for name, value in measured.items()}
        write_record(made.folder, replace(made.record, scores=rounded, held=tuple(d.id for d in held)))
        if verdict.is_promoted:
            self.promote(number)
        return Distilled(self.version(number), verdict)

    # ── Which one plans ───────────────────────────────────────────────────────────────────────────────────

    def promote(self, number: int) -> None:
        """Make `number` the version that plans; the owner may do so against the gate. Raises: NotFound."""
        self.version(number)
        self._write([*(n for n in self._past() if n != number), number])

    def rollback(self, number: int | None = None) -> AdapterVersion | None:
        """Let the version before the current one plan again, or `number`; None: the base alone.

        Raises:
            NotFound: Nothing is current, or no such version.
        """
        past = self._past()
        if number is not None:
            self.promote(number)
        elif not past:
            raise NotFound(
                "no adapter plans, so there is none to roll back; `hearth adapters list` shows what there is"
            )
        else:
            self._write(past[:-1])
        return self.current()

    def that_learnt(self, ids: Iterable[str]) -> tuple[int, ...]:
        """Return the versions that learnt one of `ids`, or went on from such a one."""
        wanted = frozenset(ids)
        found: list[int] = []
        for version in self.versions():
            if wanted & version.record.seen or version.record.parent in map(str, found):
                found.append(version.number)
        return tuple(found)

    def forget(self, ids: Iterable[str]) -> tuple[int, ...]:
        """Remove each version that learnt one of `ids`, or went on from such a one; return which."""
        wanted = frozenset(ids)
        gone = self.that_learnt(wanted)
        self._write([n for n in self._past() if n not in gone])  # first: the version that plans must not miss its files
        for number in gone:
            shutil.rmtree(self._of(number))
        for version in self.versions():
            if wanted & set(version.record.held):
                held = tuple(id for id in version.record.held if id not in wanted)
                write_record(version.folder, replace(version.record, held=held))
        return gone

    # ── Files ─────────────────────────────────────────────────────────────────────────────────────────────

    def _of(self, number: int) -> Path:
        return self._folder / str(number)

    def _numbers(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        return sorted(int(path.name) for path in self._folder.iterdir() if path.name.isdecimal() and path.is_dir())

    def _next(self) -> int:
        return max([*self._numbers(), *self._past(), 0]) + 1

    def _past(self) -> list[int]:
        """Return the numbers that were current, the present one last."""
        try:
            return [int(n) for n in json.loads((self._folder / CURRENT).read_bytes())["past"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"cannot read {str(self._folder / CURRENT)!r} ({error}); remove it, then `hearth adapters promote`"
            ) from None

    def _write(self, past: Sequence[int]) -> None:
        write_bytes(self._folder / CURRENT, (json.dumps({"past": list(past)}) + "\n").encode())


def scores(
    model: GrammarModel,
    demonstrations: Sequence[Demonstration],
    tools: Mapping[str, ToolSpec],
    *,
    may_fail: bool = False,
) -> dict[str, float]:
    """Return the Node-F1 of the plan that `model` writes for each demonstration, by id; no plan counts as an empty one.
    Args: may_fail: Whether a model that writes not a single plan is scored, too: one that was not taught yet.
    Raises: PlannerError: It wrote not a single plan."""
    planner = CompactPlanner(model)
    found, n_written = dict[str, float](), 0
    failed: PlannerError | None = None
    for d in demonstrations:
        offered = {name: tools[name] for name in d.tools if name in tools} or tools
        try:
            plan = planner.plan(Request(d.request, d.now or _NOON), Context(), offered)
            n_written += 1
        except PlannerError as error:
            plan, failed = Plan(()), error
        planned = [step.tool for step in plan.steps] if isinstance(plan, Plan) else []
        found[d.id] = promotion_gate.node_f1(planned, [step.tool for step in d.plan.steps])
    if failed is not None and not n_written and not may_fail:
        raise failed
    return found


def tasks_of(demonstrations: Iterable[Demonstration], tools: Mapping[str, ToolSpec]) -> dict[str, list[str]]:
    """Group ids by the domain of the plan's first tool, or by that tool where tools have no domains."""
    tasks: dict[str, list[str]] = {}
    for d in demonstrations:
        first = tools[d.plan.steps[0].tool] if d.plan.steps else None
        tasks.setdefault((first.domain or first.name) if first else "(none)", []).append(d.id)
    return tasks


def _held(
    new: Sequence[Demonstration],
    known: Mapping[str, Demonstration],
    tasks: Mapping[str, Sequence[str]],
    before: LanguageRecord | None,
) -> frozenset[str]:
    """Choose ids to judge by, from all tasks: those `before` held back, none it learnt, at most a fifth of the new."""
    learnt = before.seen if before else frozenset()
    able = {name: [id for id in ids if id not in learnt] for name, ids in tasks.items()}
    chosen = promotion_gate.choose(able, min(N_HELD, len(known) // 5))
    earlier = frozenset(before.held) & known.keys() if before else frozenset()
    fresh = {d.id for d in new} - earlier
    return (
        earlier
        | (frozenset(chosen) - fresh)
        | frozenset(promotion_gate.drawn(fresh & frozenset(chosen), len(fresh) // 5))
    )


def _by_id(demonstrations: Sequence[Demonstration]) -> dict[str, Demonstration]:
    return {d.id: d for d in demonstrations}


def _opened(version: AdapterVersion) -> HuggingFaceModel:
    if version.record.method == "full":
        return HuggingFaceModel.open(version.folder)
    base = Path(version.record.base) if Path(version.record.base).is_dir() else version.record.base
    return HuggingFaceModel.open(base, adapter=version.folder)
