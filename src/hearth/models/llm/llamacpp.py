"""Run a language model in a GGUF file on this machine, with llama.cpp.

Covered: nothing is fetched; words of a message never become control tokens; decoding is constrained to a JSON schema or
a Lark grammar by llguidance (llama.cpp's own grammars were seen to ignore bounds), within a number of tokens and a
time. Not covered: bounds that grammars leave out (the caller checks the text), what the text means, a damaged file that
makes llama.cpp itself fail. It writes only the most probable line: it keeps a single state, so there is no beam search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearth.errors import ConfigError, MissingExtraError
from hearth.models.llm.constrained import allowed_tokens, check_room, defused, grammar_of, matcher_of, take, unfinished
from hearth.protocols import Written

MAX_TOKENS = 2048
"""Most tokens of one answer."""
N_CONTEXT = 8192
"""Tokens of prompt and answer that memory is reserved for; fewer when the model's context is shorter."""
EXTRA = "pip install 'hearth-agent[gguf]'"

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
            raise MissingExtraError("a GGUF model", EXTRA) from None
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
