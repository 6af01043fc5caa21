"""What language models on this machine share: constraints by llguidance, no control tokens, limits."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearth.errors import PlannerError


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
