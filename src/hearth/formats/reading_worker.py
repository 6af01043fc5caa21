"""The program of the process that reads strangers' bytes: `python -m hearth.formats.reading_worker BYTES`.

`bounded_reading` starts it and speaks with it over its pipes. An item is two lengths, a line of JSON (the
reader as `module:function`, its options, its bounds) and the bytes to read; the answer is a mark, a length, and the
result or a fault in words. The process ends when its input ends, when it was idle, and when an item left it damaged or
large.

Covered: memory and processor time (limits of the system, which no library can catch), dumps of a crash; files that
Python code would write, processes and connections that it would open.
Not covered: native code that an item takes over: it runs as this user, and what it is given next is another one's.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import select
import struct
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO

from hearth.errors import Unreadable

ASKED = struct.Struct(">II")
"""Lengths of the line and of the bytes."""
SAID = struct.Struct(">BI")
"""`READ` or `FAULT`, and the length of what follows."""
READ, FAULT = 0, 1
IDLE_S = 60.0
_LARGE_BYTES = 400_000_000
"""A process that has become larger than this gives its memory back: the next item has a new one."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_FORBIDDEN = ("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.remove", "os.rename")


def main(n_most_bytes: int) -> None:
    """Read items until there are no more."""
    with open(0, "rb", buffering=0) as asked, open(1, "wb", buffering=0) as said:
        _confine(n_most_bytes)
        while select.select([asked], [], [], IDLE_S)[0]:
            try:
                n_line, n_data = ASKED.unpack(_exactly(asked, ASKED.size))
                request = json.loads(_exactly(asked, n_line))
                data = _exactly(asked, n_data)
            except EOFError:
                return
            mark, result, is_sound = _read(request, data)
            _write(said, SAID.pack(mark, len(result)))
            _write(said, result)
            if not is_sound or _n_bytes() > _LARGE_BYTES:
                return


def _confine(n_most_bytes: int) -> None:
    """Give up what no reader needs."""
    resource.setrlimit(resource.RLIMIT_AS, (n_most_bytes, n_most_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.addaudithook(_refuse)


def _refuse(event: str, values: tuple[Any, ...]) -> None:
    """Raises: PermissionError: It is nothing that reading needs."""
    if event.startswith(_FORBIDDEN):
        raise PermissionError(f"{event} while a stranger's bytes are read")
    if event == "open" and isinstance(values[2], int) and values[2] & _WRITES:
        raise PermissionError("writing while a stranger's bytes are read")


def _read(request: Mapping[str, Any], data: bytes) -> tuple[int, bytes, bool]:
    """Return the mark of the answer, the result, and whether this process may read another item."""
    _allow_cpu(request["cpu_s"])
    pieces: list[bytes] = []
    n_left = request["n_most_bytes"]
    try:
        module, _, function = request["reader"].partition(":")
        for piece in getattr(importlib.import_module(module), function)(data, request["options"]):
            n_left -= len(piece)
            if n_left < 0:
                return FAULT, f"what it holds is over {request['n_most_bytes']:,} bytes".encode(), False
            pieces.append(piece)
    except Unreadable as error:
        return FAULT, str(error)[:300].encode(errors="replace"), True
    except (MemoryError, RecursionError):
        pieces.clear()
        return FAULT, b"reading it takes more memory than a reader is given", False
    except Exception as error:
        # Whatever a library breaks on: the bytes are a stranger's.
        return FAULT, f"damaged: {type(error).__name__}".encode(), True
    return READ, b"".join(pieces), True


def _allow_cpu(cpu_s: int) -> None:
    """Give the next item its processor time; beyond it, the system ends the process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    ends = int(used.ru_utime + used.ru_stime) + 1 + cpu_s
    resource.setrlimit(resource.RLIMIT_CPU, (ends, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _n_bytes() -> int:
    """Return what this process holds; the most that it ever held would count that of the one that started it."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def _exactly(file: BinaryIO, n_bytes: int) -> bytes:
    """Raises: EOFError: Whoever asked has ended."""
    data = bytearray()
    while len(data) < n_bytes:
        if not (piece := file.read(min(n_bytes - len(data), 1 << 20))):
            raise EOFError
        data += piece
    return bytes(data)


def _write(file: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


if __name__ == "__main__":
    main(int(sys.argv[1]))
