"""Run a transformers language model on this machine: from a folder, or from the local Hugging Face cache.

Covered: nothing is fetched (a name that is not in the cache is refused), no code and no pickles of a model folder are
run; words of a message never become control tokens; decoding is constrained to a JSON schema or a Lark grammar by
llguidance, within a number of tokens and a time. Not covered: bounds that grammars leave out (the caller checks the
text), what the text means, memory (a model larger than it ends the process).
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hearth.errors import ConfigError, MissingExtraError
from hearth.models.llm.constrained import allowed_tokens, check_room, defused, grammar_of, matcher_of, take, unfinished
from hearth.protocols import Written

if TYPE_CHECKING:
    import torch

MAX_TOKENS = 2048
"""Most tokens of one answer."""
N_GRAMMARS = 8
"""Number of compiled grammars kept."""
EXTRA = "pip install 'hearth-agent[hf]'"

RECORD = "record.json"
"""File beside weights that `learning.llm.distillation` made."""
CURRENT = "current.json"
"""File in a folder of adapters that names the one in use."""

_LIKELY_PATH = ("/", ".", "~")


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """How long one answer may take and be."""

    timeout_s: float = 60.0
    max_tokens: int = MAX_TOKENS
    """Longer ones are refused as endless."""


class HuggingFaceModel:
    """Satisfies `protocols.LanguageModel` and `protocols.GrammarModel`. Make it with `HuggingFaceModel.open`."""

    def __init__(
        self, model: Any, tokenizer: Any, name: str, limits: AnswerLimits, *, writes_plans: bool = False
    ) -> None:
        """Wrap a loaded model; `open` is the usual way.

        Args:
            model: A causal language model in evaluation mode.
            tokenizer: Its fast tokenizer.
        """
        self.name = name
        self.model = model
        self.tokenizer = tokenizer
        self.writes_plans = writes_plans
        """True when it has learnt to write plans as lines (`planning.llm.line_planner`) and nothing else."""
        self.reads_tools = reads_tools(tokenizer)
        """True when its chat template shows it the tools described to it."""
        self._limits = limits
        self._clock: Callable[[], float] = time.monotonic
        self._ends = _end_tokens(model, tokenizer)
        self._vocabulary: Any = None
        self._matchers: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"HuggingFaceModel({self.name!r})"

    @classmethod
    def open(
        cls, where: str | Path, *, adapter: Path | None = None, timeout_s: float = 60.0, max_tokens: int = MAX_TOKENS
    ) -> HuggingFaceModel:
        """Load a model, and a LoRA adapter on it when one is given.

        Args:
            where: A folder as `save_pretrained` writes it, or a name in the local Hugging Face cache.
            adapter: A folder as `learning.llm.distillation` writes it.
        Raises:
            MissingExtraError: torch, transformers, peft or llguidance is not installed.
            ConfigError: No such model here, no causal language model, or files that cannot be read.
        """
        model, tokenizer = load(where, adapter)
        name = Path(where).name if adapter is None else f"{Path(where).name}+{adapter.name}"
        is_taught = (Path(where).expanduser() / RECORD).exists() or adapter is not None
        return cls(model, tokenizer, name, AnswerLimits(timeout_s, max_tokens), writes_plans=is_taught)

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        """Answer `messages`, constrained to `schema` as far as a grammar can; the text is not checked against it.

        Raises:
            PlannerError: Too long a prompt, a schema that is no grammar, not finished within length and time.
        """
        return self._decode(prompt_tokens(self.tokenizer, messages), grammar_of(schema), 1)[0].text

    def write(self, messages: Sequence[Mapping[str, str]], grammar: str, n_best: int = 1) -> tuple[Written, ...]:
        """Write lines of `grammar` by beam search, most probable first.

        Raises:
            PlannerError: As `complete`.
        """
        from llguidance import LLMatcher  # with the extra

        lark = LLMatcher.grammar_from_lark(grammar)
        return tuple(self._decode(prompt_tokens(self.tokenizer, messages), lark, n_best))

    # ── Decoding ──────────────────────────────────────────────────────────────────────────────────────────

    def _decode(self, prompt: list[int], grammar: str, n_best: int) -> list[Written]:
        """Return up to `n_best` different texts. Scores only fall, so the search ends when no open beam can win."""
        import torch  # seconds to import: only when a model of this kind is used

        check_room(self.name, len(prompt), getattr(self.model.config, "max_position_embeddings", None) or 10**9)
        deadline = self._clock() + self._limits.timeout_s
        beams = [_Beam([], 0.0, self._matcher(grammar))]
        done: dict[str, float] = {}
        with torch.inference_mode():
            logits, cache = self._forward([prompt], None)
            for _ in range(self._limits.max_tokens):
                if self._clock() > deadline:
                    break
                beams, parents = self._grown(beams, logits, n_best, done)
                best = sorted(done.values(), reverse=True)[:n_best]
                if not beams or (len(best) == n_best and best[-1] >= beams[0].score):
                    return self._ranked(done, n_best)
                if parents != list(range(len(logits))):
                    cache.batch_select_indices(torch.tensor(parents, device=logits.device))
                logits, cache = self._forward([beam.tokens[-1:] for beam in beams], cache)
        if done:
            return self._ranked(done, n_best)
        n_tokens = len(beams[0].tokens)
        raise unfinished(self.name, n_tokens, self._limits.timeout_s if n_tokens < self._limits.max_tokens else None)

    def _grown(
        self, beams: list[_Beam], logits: torch.Tensor, n_best: int, done: dict[str, float]
    ) -> tuple[list[_Beam], list[int]]:
        """Return the best `n_best` open continuations and their parent beams; finished ones go into `done`."""
        import torch  # as above

        allowed = torch.from_numpy(
            np.stack([allowed_tokens(beam.matcher, logits.shape[1], self._ends) for beam in beams])
        )
        scores = logits.float().masked_fill(~allowed.to(logits.device), -torch.inf).log_softmax(dim=1)
        scores = scores + torch.tensor([[beam.score] for beam in beams], device=logits.device)
        top = scores.flatten().topk(min(2 * n_best + len(self._ends), scores.numel()))
        grown, parents = list[_Beam](), list[int]()
        for score, place in zip(top.values.tolist(), top.indices.tolist()):
            if not score > -np.inf or len(grown) == n_best:
                break
            parent, token = divmod(place, logits.shape[1])
            beam = beams[parent].with_token(token, score, is_end=token in self._ends)
            if beam is None:
                self._finish(beams[parent].tokens, score, done)
            elif beam.matcher is not None and beam.matcher.is_stopped():
                self._finish(beam.tokens, score, done)
            else:
                grown.append(beam)
                parents.append(parent)
        return grown, parents

    def _finish(self, tokens: list[int], score: float, done: dict[str, float]) -> None:
        text = self.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        done[text] = float(np.logaddexp(done.get(text, -np.inf), score))

    def _ranked(self, done: Mapping[str, float], n_best: int) -> list[Written]:
        ranked = sorted(done.items(), key=lambda item: -item[1])[:n_best]
        return [Written(text, score) for text, score in ranked]

    def _forward(self, rows: list[list[int]], cache: Any) -> tuple[torch.Tensor, Any]:
        """Return logits of the next token, shape [rows, vocabulary], and the cache with `rows` in it."""
        import torch  # as above

        tokens = torch.tensor(rows, device=self.model.device)
        out = self.model(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
        return out.logits[:, -1], out.past_key_values

    def _matcher(self, grammar: str) -> Any:
        """Return a fresh matcher. Raises: PlannerError: The grammar cannot be compiled."""
        if not grammar:
            return None
        if grammar not in self._matchers:
            if self._vocabulary is None:
                from llguidance.hf import from_tokenizer  # imports transformers

                n_vocabulary = self.model.get_output_embeddings().weight.shape[0]
                self._vocabulary = from_tokenizer(self.tokenizer, n_vocab=n_vocabulary, eos_token=sorted(self._ends))
            matcher = matcher_of(self._vocabulary, grammar, self.name)
            if len(self._matchers) >= N_GRAMMARS:
                self._matchers.pop(next(iter(self._matchers)))
            self._matchers[grammar] = matcher
        return self._matchers[grammar].deep_copy()


@dataclass(slots=True)
class _Beam:
    tokens: list[int]
    score: float
    matcher: Any
    """llguidance's matcher, in the state after `tokens`; None without a grammar."""

    def with_token(self, token: int, score: float, *, is_end: bool) -> _Beam | None:
        """Return the beam one token longer; None when the token ends it."""
        if is_end:
            return None
        matcher = self.matcher.deep_copy() if self.matcher is not None else None
        take(matcher, token)
        return _Beam([*self.tokens, token], score, matcher)


# ── Prompts and files, for training as for planning ───────────────────────────────────────────────────────


def prompt_tokens(tokenizer: Any, messages: Sequence[Mapping[str, str]]) -> list[int]:
    """Return the tokens of `messages` in the model's own chat template, up to where its answer begins."""
    safe = [{"role": m["role"], "content": defused(m["content"], tokenizer.all_special_tokens)} for m in messages]
    if tokenizer.chat_template:
        # Models that think aloud by default would use up the answer's tokens; templates without the switch ignore it.
        text = tokenizer.apply_chat_template(safe, tokenize=False, add_generation_prompt=True, enable_thinking=False)
    else:
        text = "".join(f"{message['content']}\n\n" for message in safe)
        text = f"{tokenizer.bos_token or ''}{text}"
    return list(tokenizer.encode(text, add_special_tokens=False))


def load(where: str | Path, adapter: Path | None = None) -> tuple[Any, Any]:
    """Load a model in evaluation mode with its tokenizer, the adapter's weights merged in. Raises: As
    `HuggingFaceModel.open`."""
    folder = _folder(where)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the library is imported: it opens no connection
    try:
        import llguidance  # noqa: F401  reported here and not at the first request
        import peft
        import torch
        import transformers
    except ImportError:
        raise MissingExtraError("a local transformers model", EXTRA) from None
    transformers.utils.logging.disable_progress_bar()  # bars are the caller's to draw
    tokenizer = load_tokenizer(adapter if adapter and (adapter / "tokenizer.json").exists() else folder)
    try:
        dtype = "auto" if torch.cuda.is_available() else torch.float32
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True, dtype=dtype, **_LOCAL)
    except Exception as error:  # the library raises whatever its files make it raise
        raise _unreadable(where, error) from None
    if torch.cuda.is_available():
        model = model.to("cuda")
    if adapter is not None:
        if not (adapter / "adapter_config.json").exists():
            raise ConfigError(f"no adapter in {str(adapter)!r}; make one with `hearth learn` or name another folder")
        grow(model, tokenizer)
        try:
            with warnings.catch_warnings(action="ignore"):  # warnings of the libraries about each other
                model = peft.PeftModel.from_pretrained(model, str(adapter)).merge_and_unload()
        except Exception as error:  # as above
            raise ConfigError(
                f"the adapter {adapter.name!r} does not fit {str(where)!r} ({_line(error)}); "
                "distil it again on that model"
            ) from None
    return model.eval(), tokenizer


def current_adapter(folder: Path) -> Path | None:
    """Return the adapter in use among those of `folder` (`learning.llm.adapter_versions`); None when there is none.

    Raises:
        ConfigError: The file that names it cannot be read.
    """
    try:
        past = json.loads((folder / CURRENT).read_bytes())["past"]
        return folder / str(int(past[-1])) if past else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"cannot read {str(folder / CURRENT)!r} ({error}); remove it, then `hearth adapters promote` one"
        ) from None


def reads_tools(tokenizer: Any) -> bool:
    """Say whether the chat template shows the model the system message; one that knows its tools need not see it."""
    said = [[{"role": "system", "content": words}, {"role": "user", "content": "a"}] for words in ("b", "c")]
    return prompt_tokens(tokenizer, said[0]) != prompt_tokens(tokenizer, said[1])


def load_tokenizer(where: str | Path) -> Any:
    """Load a tokenizer. Raises: ConfigError: None there, or not a fast one with an end token."""
    import transformers  # after `load` has seen that it is there

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(where, **_LOCAL)
    except Exception as error:  # as above
        raise _unreadable(where, error) from None
    if not tokenizer.is_fast or tokenizer.eos_token_id is None:
        raise ConfigError(f"the tokenizer of {str(where)!r} is not a fast one with an end token; use another model")
    return tokenizer


def check_speaks_alike(adapter: Path, base: Path) -> None:
    """Check that an adapter made elsewhere brings its model's own chat template: a template is a kind of program.

    Raises:
        ConfigError: It brings another. MissingExtraError.
    """
    if not (adapter / "tokenizer.json").exists():
        return
    try:
        import transformers  # noqa: F401  reported here
    except ImportError:
        raise MissingExtraError("a local transformers model", EXTRA) from None
    forms = [getattr(load_tokenizer(where), "chat_template", None) for where in (adapter, base)]
    if forms[0] != forms[1]:
        raise ConfigError("the adapter brings a chat form of its own, which its model has not; it was not taken")


_LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


def grow(model: Any, tokenizer: Any) -> None:
    """Add rows for tokens that the tokenizer has and the model has not."""
    if len(tokenizer) > model.get_input_embeddings().weight.shape[0]:
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)


def _folder(where: str | Path) -> str:
    path = Path(where).expanduser()
    if path.is_dir():
        if not (path / "config.json").exists():
            raise ConfigError(f"{str(path)!r} holds no config.json; name the folder of a transformers model")
        return str(path)
    if isinstance(where, Path) or str(where).startswith(_LIKELY_PATH) or path.exists() or str(where).count("/") > 1:
        raise ConfigError(f"no model folder at {str(path)!r}; mend path in [models.language]")
    return str(where)


def _unreadable(where: str | Path, error: Exception) -> ConfigError:
    name, said = str(where), _line(error)
    if isinstance(error, OSError) and not Path(where).expanduser().is_dir():
        return ConfigError(
            f"the model {name!r} is not on this machine and Hearth fetches none by itself; "
            f"get it with `hf download {name}` or name a folder in [models.language] path"
        )
    if "Unrecognized configuration class" in said or "model type" in said or "model_type" in said:
        return ConfigError(f"{name!r} is no causal language model that transformers knows ({said}); use another")
    return ConfigError(f"cannot load the language model {name!r}: {said}; fetch it anew or use another")


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return tokens that end an answer: the tokenizer's, and those the model's maker names (end of turn)."""
    named = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    more = named if isinstance(named, list) else [named]
    return frozenset(int(token) for token in (tokenizer.eos_token_id, *more) if token is not None)
