# mypy: ignore-errors
# (the library it measures is not installed in Hearth's own environment)
"""Measure presidio-analyzer's pattern recognisers in characters per CPU-second, run by its own Python.

    .venv-presidio/bin/python presidio_speed.py TEXTS.json     # a JSON list of texts; prints one JSON object

For `hearth_bench.measure.guard.masking_speed`. No language model is loaded, and the recogniser of e-mail addresses is
kept from fetching its list of suffixes: by default it opens a connection when first used. Sockets are refused as well.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any


def refuse(*_: object, **__: object) -> None:
    raise OSError("no connection while measuring")


def main() -> None:
    socket.socket.connect = refuse  # type: ignore[method-assign, assignment]
    import tldextract

    offline = tldextract.TLDExtract(suffix_list_urls=(), fallback_to_snapshot=True, cache_dir=None)
    tldextract.extract = offline
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import NlpArtifacts, NlpEngine

    class NoLanguageModel(NlpEngine):
        def load(self) -> None: ...

        def is_loaded(self) -> bool:
            return True

        def process_text(self, text: str, language: str) -> Any:
            return NlpArtifacts([], [], [], [], self, language)

        def process_batch(self, texts: Any, language: str, **_: Any) -> Iterator[Any]:
            for text in texts:
                yield text, self.process_text(text, language)

        def is_stopword(self, word: str, language: str) -> bool:
            return False

        def is_punct(self, word: str, language: str) -> bool:
            return False

        def get_supported_entities(self) -> list[str]:
            return []

        def get_supported_languages(self) -> list[str]:
            return ["en"]

    registry = RecognizerRegistry()
    registry.load_predefined_recognizers(languages=["en"])
    registry.recognizers = [one for one in registry.recognizers if "Spacy" not in type(one).__name__]
    engine = AnalyzerEngine(registry=registry, nlp_engine=NoLanguageModel(), supported_languages=["en"])
    texts = json.loads(Path(sys.argv[1]).read_bytes())
    for text in texts[:50]:
        engine.analyze(text, language="en")
    started = time.process_time()
    n_found = sum(len(engine.analyze(text, language="en")) for text in texts)
    seconds = time.process_time() - started
    n_characters = sum(map(len, texts))
    print(json.dumps({
        "version": version("presidio-analyzer"), "n_recognizers": len(registry.recognizers), "n_found": n_found,
        "n_characters": n_characters, "cpu_s": round(seconds, 3), "chars_per_s": round(n_characters / seconds),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
