"""Distil plans into language models: a LoRA adapter, or a whole small model, learns from demonstrations.

The model learns the line of `planning.llm.line_planner`, with that planner's own prompts, so that it plans as it was
taught. Covered: earlier demonstrations are replayed beside new ones; the folder appears whole or not at all, with a
record of data, parent, base and options; the same seed on the same machine gives the same weights; an adapter moves to
another base by learning its demonstrations anew there. Not covered: whether the result is better
(`learning.versions.promotion_gate` judges).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import os
import random
import re
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hearth.atomic_files import write_bytes
from hearth.errors import ConfigError, RequestError
from hearth.formats.plan_json import plan_to_json
from hearth.models.llm.huggingface import RECORD, grow, load, load_tokenizer, prompt_tokens, reads_tools
from hearth.planning.llm.line_planner import N_TOOLS, plan_line, plan_messages
from hearth.types import Demonstration, Plan, Step, ToolSpec

if TYPE_CHECKING:
    import torch


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
    _check(lessons, folder)
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


def _check(lessons: Lessons, folder: Path) -> None:
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
