"""The shared library of the C headers, with one function that takes a command as text and returns the answer as text.
The library is built if it is missing or out of date.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shlex
import threading
from pathlib import Path
from typing import Optional

from gen import child, jobs
from gen.terminal import PROGRESS

ROOT = Path(__file__).resolve().parent.parent.parent
LIBRARY = ROOT / "build" / "libsett.so"
SOURCE = ROOT / "gen" / "command" / "sett.c"
_lock = threading.Lock()


class AlgebraError(Exception):
    """A command refused its input. The message says what was expected.

    column: column of the error in the argument (None: unknown).
    """

    def __init__(self, message: str, column: Optional[int] = None):
        super().__init__(f"error: {column}: {message}" if column else f"error: {message}")
        self.message = message
        self.column = column


def _sources() -> list[Path]:
    return sorted(ROOT.glob("include/*.h")) + sorted(ROOT.glob("gen/command/*.c"))


def _stale() -> bool:
    if not LIBRARY.exists():
        return True
    built = LIBRARY.stat().st_mtime_ns
    return any(path.stat().st_mtime_ns > built for path in _sources())


def build() -> Path:
    """Compile the library if it is missing or older than a source. The file is replaced atomically, so that no other
    process reads half a file.
    """
    if not _stale():
        return LIBRARY
    PROGRESS.note(f"compiling {LIBRARY.relative_to(ROOT)}, once, ..")
    command = [*shlex.split(os.environ.get("CC", "cc")), "-std=c11", "-Og", "-fPIC", "-shared", "-fvisibility=hidden"]
    try:
        LIBRARY.parent.mkdir(parents=True, exist_ok=True)
        with jobs.replacing(LIBRARY, 0o755) as name:
            done = child.compiler([*command, str(SOURCE), "-o", name])
            if done.status:
                raise AlgebraError(f"the library does not compile:\n{done.err}")
    except FileNotFoundError as error:
        raise AlgebraError(f"no C compiler: {error.filename} not found, set CC") from error
    except OSError as error:
        raise AlgebraError(f"{LIBRARY} cannot be written: {error.strerror}; instead, run `ninja build/libsett.so` in "
                           f"{ROOT} as somebody who may write there") from error
    return LIBRARY


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(build()))
    library.sett_command.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p), ctypes.c_char_p, ctypes.c_size_t]
    library.sett_command.restype = ctypes.c_int
    library.sett_relaid.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p,
                                    ctypes.c_int64]
    library.sett_relaid.restype = ctypes.c_char_p
    return library


def run(*words: str) -> tuple[int, str]:
    """Run one command, without looking in the cache; return its exit status and its answer."""
    argv = (ctypes.c_char_p * len(words))(*[word.encode() for word in words])
    size = 1 << 16
    with _lock:
        while True:
            out = ctypes.create_string_buffer(size)
            status = _library().sett_command(len(words), argv, out, size)
            if status != 3:
                return status, out.value.decode()
            size = int(out.value) + 1


@functools.lru_cache(maxsize=65536)
def call(*words: str) -> str:
    """Return the answer of one command, from the cache if possible. Raise AlgebraError for bad input."""
    status, answer = run(*words)
    if status == 2:
        error = re.fullmatch(r"error: (?:(\d+): )?(.*)", answer, re.S)
        assert error is not None
        raise AlgebraError(error[2], int(error[1]) if error[1] else None)
    return answer


def relaid(data: bytes, source: str, target: str) -> bytes:
    """Return the bytes of an array, moved from the layout of shape `source` to that of shape `target`. Padding is zero.
    """
    moved = ctypes.create_string_buffer(int(call("shape", target).split("\t")[1]))
    why = _library().sett_relaid(source.encode(), target.encode(), data, len(data), moved, len(moved))
    if why:
        raise AlgebraError(why.decode())
    return moved.raw
