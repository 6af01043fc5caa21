"""Language models on this machine, by transformers (extra `hf`) or llama.cpp (extra `gguf`), held to a JSON schema."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hearth.errors import ConfigError, MissingExtraError, PlannerError
from hearth.protocols import Written

if TYPE_CHECKING:
    import torch


# ── Constrained ───────────────────────────────────────────────────────────────────────────────────────────
# What language models on this machine share: constraints by llguidance, no control tokens, limits.


def grammar_of(schema: Mapping[str, object] | None) -> str:
    """Return the grammar of a JSON schema; empty for none."""
    if schema is None:
        return ""
    from llguidance import LLMatcher  # with the extra

    # Without free white space a model cannot write blanks for ever.
    grammar: str = LLMatcher.grammar_from_json_schema(
        json.dumps(schema), overrides={"whitespace_flexible": False, "item_separator": ", "}
    )
    return grammar


def matcher_of(vocabulary: Any, grammar: str, name: str) -> Any:
    """Return a matcher of a grammar for the model `name`. Raises: PlannerError: It cannot be compiled."""
    from llguidance import LLMatcher  # with the extra

    matcher = LLMatcher(vocabulary, grammar)
    if matcher.is_error():
        said = " ".join(matcher.get_error().split())[:300]
        raise PlannerError(
            f"the constraint on {name!r} cannot be compiled: {said}; offer fewer tools or simpler parameters"
        )
    return matcher


def allowed_tokens(matcher: Any, n_vocabulary: int, ends: Collection[int]) -> NDArray[np.bool_]:
    """Say of each token whether it may come next, shape [n_vocabulary]; any may without a matcher."""
    if matcher is None:
        return np.ones(n_vocabulary, dtype=bool)
    bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8), bitorder="little")
    allowed = np.zeros(n_vocabulary, dtype=bool)
    n = min(n_vocabulary, len(bits))
    allowed[:n] = bits[:n]
    if matcher.is_accepting():
        allowed[list(ends)] = True
    return allowed


def take(matcher: Any, token: int) -> None:
    """Move a matcher on. Raises: PlannerError: The grammar does not allow `token` although it was masked."""
    if matcher is not None and not matcher.consume_token(token):
        raise PlannerError(f"the constraint failed while writing: {matcher.get_error()[:200]}; try again")


def defused(text: str, control_words: Iterable[str]) -> str:
    """Return `text` without anything the tokenizer would read as a control token."""
    for word in control_words:
        if word in text:
            text = text.replace(word, f"{word[:1]} {word[1:]}")
    return text


def check_room(name: str, n_prompt: int, n_context: int) -> None:
    """Check that a prompt leaves room for an answer. Raises: PlannerError."""
    if n_prompt >= n_context:
        raise PlannerError(
            f"the prompt has {n_prompt} tokens and {name!r} reads at most {n_context - 1}; "
            "say it more briefly, offer fewer tools or use a model with a longer context"
        )


def unfinished(name: str, n_tokens: int, timeout_s: float | None = None) -> PlannerError:
    """Return the error of an answer that ran out of time, or of tokens when no time is given."""
    if timeout_s is None:
        return PlannerError(
            f"the answer of {name!r} was cut off after {n_tokens} tokens; ask for less at once or use another model"
        )
    return PlannerError(
        f"{name!r} did not answer within {timeout_s:g} s ({n_tokens} tokens written); "
        "raise timeout_s in [models.language] or use a smaller model"
    )


# ── Hugging Face ──────────────────────────────────────────────────────────────────────────────────────────
# Run a transformers language model on this machine: from a folder, or from the local Hugging Face cache.
#
# Covered: nothing is fetched (a name that is not in the cache is refused), no code and no pickles of a model folder
# are run; words of a message never become control tokens; decoding is constrained to a JSON schema or a Lark grammar
# by llguidance, within a number of tokens and a time. Not covered: bounds that grammars leave out (the caller checks
# the text), what the text means, memory (a model larger than it ends the process).

MAX_TOKENS = 2048
"""Most tokens of one answer."""
N_GRAMMARS = 8
"""Number of compiled grammars kept."""
HF_EXTRA = "pip install 'hearth-agent[hf]'"

RECORD = "record.json"
"""File beside weights that `learning.finetune.adapters` made."""
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
        """True when it has learnt to write plans as lines (`planning.llm`) and nothing else."""
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
            adapter: A folder as `learning.finetune.adapters` writes it.
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
        raise MissingExtraError("a local transformers model", HF_EXTRA) from None
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
    """Return the adapter in use among those of `folder` (`learning.finetune.adapters`); None when there is none.

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
        raise MissingExtraError("a local transformers model", HF_EXTRA) from None
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


# ── llama.cpp ─────────────────────────────────────────────────────────────────────────────────────────────
# Run a language model in a GGUF file on this machine, with llama.cpp.
#
# Covered: nothing is fetched; words of a message never become control tokens; decoding is constrained to a JSON
# schema or a Lark grammar by llguidance (llama.cpp's own grammars were seen to ignore bounds), within a number of
# tokens and a time. Not covered: bounds that grammars leave out (the caller checks the text), what the text means, a
# damaged file that makes llama.cpp itself fail. It writes only the most probable line: it keeps a single state, so
# there is no beam search.

"""Most tokens of one answer."""
N_CONTEXT = 8192
"""Tokens of prompt and answer that memory is reserved for; fewer when the model's context is shorter."""
GGUF_EXTRA = "pip install 'hearth-agent[gguf]'"

_MAGIC = b"GGUF"


class LlamaCppModel:
    """Satisfies `protocols.LanguageModel` and `protocols.GrammarModel`. Make it with `LlamaCppModel.open`."""

    def __init__(
        self,
        llama: Any,
        name: str,
        *,
        timeout_s: float = 60.0,
        max_tokens: int = MAX_TOKENS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wrap a loaded `llama_cpp.Llama`; `open` is the usual way."""
        import llama_cpp  # seconds to import: only when a model of this kind is used
        from llguidance.llamacpp import lltokenizer_from_vocab

        self.name = name
        self._llama = llama
        self._timeout_s = timeout_s
        self._max_tokens = max_tokens
        self._clock = clock
        vocab = llama_cpp.llama_model_get_vocab(llama.model)
        n_tokens = llama_cpp.llama_vocab_n_tokens(vocab)
        self._ends = frozenset(t for t in range(n_tokens) if llama_cpp.llama_vocab_is_eog(vocab, t))
        self._control = _control_words(llama, vocab, n_tokens)
        self._vocabulary = lltokenizer_from_vocab(vocab, eos_token=sorted(self._ends) or None)
        known = llama.metadata.get(f"{llama.metadata.get('general.architecture')}.context_length")
        self._n_context = min(llama.n_ctx(), int(known) if known else N_CONTEXT)

    def __repr__(self) -> str:
        return f"LlamaCppModel({self.name!r})"

    @classmethod
    def open(cls, path: Path, *, timeout_s: float = 60.0, max_tokens: int = MAX_TOKENS) -> LlamaCppModel:
        """Load a GGUF file.

        Raises:
            MissingExtraError: llama-cpp-python or llguidance is not installed.
            ConfigError: No such file, no GGUF, or one that llama.cpp cannot load.
        """
        path = path.expanduser()
        try:
            with path.open("rb") as file:
                magic = file.read(4)
        except OSError as error:
            raise ConfigError(
                f"cannot read the model {str(path)!r}: {error.strerror}; mend path in [models.language]"
            ) from None
        if magic != _MAGIC:
            raise ConfigError(f"{str(path)!r} is no GGUF file; name one, or use kind = 'huggingface' for a folder")
        try:
            import llama_cpp
            import llguidance  # noqa: F401  told of here and not at the first request
        except ImportError:
            raise MissingExtraError("a GGUF model", GGUF_EXTRA) from None
        try:
            llama = llama_cpp.Llama(str(path), n_ctx=N_CONTEXT, verbose=False)
        except (ValueError, RuntimeError, AssertionError) as error:
            raise ConfigError(
                f"llama.cpp cannot load {path.name!r} ({' '.join(str(error).split())[:200]}); fetch it anew, or update "
                "llama-cpp-python if the model is newer"
            ) from None
        return cls(llama, path.stem, timeout_s=timeout_s, max_tokens=max_tokens)

    def close(self) -> None:
        """Free its memory."""
        self._llama.close()

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        """Answer `messages`, constrained to `schema` as far as a grammar can; the text is not checked against it.

        Raises:
            PlannerError: Too long a prompt, a schema that is no grammar, not finished within length and time.
        """
        return self._decode(messages, grammar_of(schema)).text

    def write(self, messages: Sequence[Mapping[str, str]], grammar: str, n_best: int = 1) -> tuple[Written, ...]:  # noqa: ARG002
        """Write the most probable line of `grammar`, word by word; never more than one.

        Raises:
            PlannerError: As `complete`.
        """
        from llguidance import LLMatcher  # with the extra

        return (self._decode(messages, LLMatcher.grammar_from_lark(grammar)),)

    def _decode(self, messages: Sequence[Mapping[str, str]], grammar: str) -> Written:
        from llama_cpp import LogitsProcessorList  # with the extra

        prompt = self._llama.tokenize(self._prompt(messages).encode(), add_bos=False, special=True)
        check_room(self.name, len(prompt), self._n_context)
        held = _Held(matcher_of(self._vocabulary, grammar, self.name) if grammar else None, self._ends)
        deadline = self._clock() + self._timeout_s
        n_most = min(self._max_tokens, self._n_context - len(prompt))
        tokens: list[int] = []
        steps = self._llama.generate(prompt, temp=0.0, logits_processor=LogitsProcessorList([held.masked]))
        for token in steps:
            held.take(int(token))
            if token in self._ends or (held.matcher is not None and held.matcher.is_stopped()):
                tokens += [] if token in self._ends else [int(token)]
                text = self._llama.detokenize(tokens).decode("utf-8", "replace")
                return Written(text, held.log_probability)
            tokens.append(int(token))
            if len(tokens) >= n_most:
                break
            if self._clock() > deadline:
                raise unfinished(self.name, len(tokens), self._timeout_s)
        raise unfinished(self.name, len(tokens))

    def _prompt(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Return `messages` in the model's own chat template, as text."""
        safe = [{"role": m["role"], "content": defused(m["content"], self._control)} for m in messages]
        template = self._llama.metadata.get("tokenizer.chat_template")
        begin, end = (self._word(self._llama.token_bos()), self._word(self._llama.token_eos()))
        if not template:
            return begin + "".join(f"{message['content']}\n\n" for message in safe)
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter  # with the extra

        formatted = Jinja2ChatFormatter(template, eos_token=end, bos_token=begin)(messages=safe)
        return str(formatted.prompt)

    def _word(self, token: int) -> str:
        return str(self._llama.detokenize([token], special=True).decode("utf-8", "replace")) if token >= 0 else ""


class _Held:
    """Constrains a model's choices to a grammar, and keeps their probability."""

    def __init__(self, matcher: Any, ends: frozenset[int]) -> None:
        self.matcher = matcher
        self._ends = ends
        self._log_probabilities: NDArray[np.float64] = np.zeros(0)
        self.log_probability = 0.0

    def masked(self, tokens: NDArray[np.intc], scores: NDArray[np.single]) -> NDArray[np.single]:  # noqa: ARG002
        """Set the scores of forbidden tokens to minus infinity: llama.cpp calls this before each choice."""
        if self.matcher is not None:
            scores = np.where(allowed_tokens(self.matcher, len(scores), self._ends), scores, np.float32(-np.inf))
        shifted = scores.astype(np.float64) - scores.max()
        self._log_probabilities = shifted - np.log(np.exp(shifted).sum())
        return scores

    def take(self, token: int) -> None:
        """Accept the chosen token. Raises: PlannerError: The grammar does not allow `token` although it was masked."""
        self.log_probability += float(self._log_probabilities[token])
        if token not in self._ends:
            take(self.matcher, token)


def _control_words(llama: Any, vocab: Any, n_tokens: int) -> tuple[str, ...]:
    import llama_cpp  # with the extra

    mask = llama_cpp.LLAMA_TOKEN_ATTR_CONTROL
    control = [t for t in range(n_tokens) if llama_cpp.llama_vocab_get_attr(vocab, t) & mask]
    words = (llama.detokenize([t], special=True).decode("utf-8", "replace") for t in control)
    return tuple(sorted({word for word in words if len(word) > 1}, key=len, reverse=True))
