"""Decode strangers' bytes with a fixed list of text encodings.

Python's codecs also include ones that are no encodings of text (`idna`, `unicode_escape`) or take time quadratic in
their input (`punycode`); a mail that names one would otherwise have it run on megabytes.
Covered: the encodings that mails and cards are written in. Not covered: UTF-7, EBCDIC; such text is read as the
fallback of whoever asks.
"""

from __future__ import annotations

import codecs
import functools

_CODECS = frozenset(
    "ascii utf-8 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be koi8-r koi8-u mac-roman cp437 cp850 "  # noqa: SIM905
    "cp852 cp866 cp874 cp932 cp949 cp950 shift-jis shift-jisx0213 shift-jis-2004 euc-jp euc-jis-2004 iso2022-jp "
    "iso2022-jp-1 iso2022-jp-2 iso2022-kr euc-kr johab gb2312 gbk gb18030 hz big5 big5hkscs tis-620".split()
    + [f"iso8859-{part}" for part in range(1, 17)]
    + [f"cp125{page}" for page in range(9)]
)


@functools.lru_cache(maxsize=256)
def _codec(charset: str) -> str:
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError, UnicodeError):
        return ""
    return name if name.replace("_", "-") in _CODECS else ""


def text_codec(charset: str) -> str:
    """Return Python's name of a text encoding, however it is spelled; empty for one that is not on the list.

    >>> text_codec("Windows-1252"), text_codec("punycode")
    ('cp1252', '')
    """
    return _codec(charset) if 0 < len(charset) <= 40 and charset.isascii() else ""
