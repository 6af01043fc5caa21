"""Compares names exactly: in any case and however their letters are stored, but accents and words count.

For what a person allows another by name. `keyword_match.fold`, which takes "café" for "cafe", is for searching.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable


def same_name(name: str) -> str:
    """Return a name as it is compared.

    >>> same_name("José") == same_name("JOSE\\u0301")
    True
    >>> same_name("José") == same_name("Jose")
    False
    """
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())


def by_same_name(names: Iterable[str]) -> dict[str, str]:
    """Return names by how they are compared, without those of which there are several."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(same_name(name), []).append(name)
    return {key: several[0] for key, several in found.items() if len(several) == 1}
