"""The common part of tests of the reference: compile its C and call it on buffers."""

from __future__ import annotations

import atexit
import ctypes
import itertools
import math
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, List, Sequence

WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror".split()
FLAGS = ["-std=c11", "-O1", "-ffp-contract=off", "-fPIC", "-shared"] + WARNINGS
NARROW = ["s2", "u2", "s4", "u4"]  # types with several elements per byte, the first element in the low bits
INTS = NARROW + ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]
BITS = {"pred": 8, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, **{d: int(d[1:]) for d in INTS}}

FOLDER = Path(tempfile.mkdtemp(prefix="sett_reference_"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
COUNTER = itertools.count()


def compiled(text: str, extra: Sequence[str] = (), compiler: str = "cc") -> ctypes.CDLL:
    base = FOLDER / f"case{next(COUNTER)}"
    base.with_suffix(".c").write_text(text)
    done = subprocess.run([compiler, *FLAGS, *extra, str(base.with_suffix(".c")), "-o", str(base.with_suffix(".so")), "-lm"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000] + "\n" + text[-3000:]
    return ctypes.CDLL(str(base.with_suffix(".so")))


def packed(bits: Sequence[int], dtype: str) -> bytes:
    if dtype in NARROW:
        joined = sum(b << k * BITS[dtype] for k, b in enumerate(bits))
        return joined.to_bytes(-(-len(bits) * BITS[dtype] // 8), "little")
    return b"".join(b.to_bytes(BITS[dtype] // 8, "little") for b in bits)


def unpacked(data: bytes, dtype: str) -> List[int]:
    if dtype in NARROW:
        per = 8 // BITS[dtype]
        return [data[k // per] >> k % per * BITS[dtype] & ((1 << BITS[dtype]) - 1) for k in range(len(data) * per)]
    width = BITS[dtype] // 8
    return [int.from_bytes(data[k:k + width], "little") for k in range(0, len(data), width)]


def call(function: Any, inputs: Sequence[bytes], outputs: Sequence[int]) -> List[bytes]:
    """Call the function and return its results. Check that the guard band behind each result is unchanged."""
    ins = [ctypes.create_string_buffer(data + b"\0", len(data) + 1) for data in inputs]
    outs = [ctypes.create_string_buffer(b"\xa5" * (size + 64), size + 64) for size in outputs]
    params = (ctypes.c_void_p * max(1, len(ins)))(*[ctypes.addressof(b) for b in ins])
    results = (ctypes.c_void_p * max(1, len(outs)))(*[ctypes.addressof(b) for b in outs])
    assert function(params, results) == 0
    for buffer, size in zip(outs, outputs):
        assert buffer.raw[size:] == b"\xa5" * 64, "written past the end"
    return [buffer.raw[:size] for buffer, size in zip(outs, outputs)]


def within(value: float, reference: float, allowed: float) -> bool:
    if allowed == math.inf or value == reference or (value != value and reference != reference):
        return True
    return abs(value - reference) <= allowed  # false for NaN and for infinities
