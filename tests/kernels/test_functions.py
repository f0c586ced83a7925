"""Test the vector functions of generated C: their errors in ulp on samples of all floats, compiled for different
instruction sets.

SETT_SWEEP=1 (`ninja test-peer`) tries more compilers and instruction sets. `ninja bench-functions` takes every float.
"""

from __future__ import annotations

import itertools
import math
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Dict

import pytest

import stated
from gen_run import gen, run
from gen import hlo
from gen.emit import functions
from gen.emit.pieces import pieces
from gen.hlo.opcodes import ELEMENTWISE
from gen.bounds import LIBM_ULPS, ULPS

ROOT = Path(__file__).resolve().parents[2]
SWEEP = os.environ.get("SETT_SWEEP", "") != ""
# compiler, flags, and the emulator that runs the result
FLAGS = [("gcc", "-msse2", ""), pytest.param("gcc", "-mavx512f -mfma", "", marks=pytest.mark.peer)]
MORE = [("clang", "-mavx2 -mfma", ""), ("gcc", "-mavx2", ""), ("gcc", "-mavx2 -mfma", ""), ("clang", "-msse2", ""), ("clang", "-mavx512f", ""),
        ("clang-19", "-mavx512f", ""), ("gcc", "-O3 -march=native -ffp-contract=fast", ""), ("i686-linux-gnu-gcc", "-msse2 -mfpmath=sse", "qemu-i386"),
        ("i686-linux-gnu-gcc", "", "qemu-i386"), ("aarch64-linux-gnu-gcc", "", "qemu-aarch64"), ("s390x-linux-gnu-gcc", "", "qemu-s390x")]
BENCHED = hlo.parse((ROOT / "bench" / "functions.hlo").read_text(), "functions.hlo")
OPCODES: Dict[str, str] = {c.name: c.root.opcode for c in BENCHED.computations if c.root is not None and c.root.opcode in ULPS}


def runs(flags: str) -> bool:
    """Return whether this machine has the instructions that the flags select."""
    if "avx" not in flags:
        return True
    info = Path("/proc/cpuinfo")
    words = info.read_text().split() if info.exists() else []
    return all(word[2:] in words for word in flags.split() if re.match("-m(avx|fma)", word))


@pytest.mark.peer
@pytest.mark.parametrize("cc, flags, emulator", FLAGS + (MORE if SWEEP else []))
def test_errors(cc: str, flags: str, emulator: str) -> None:
    for name in filter(None, (cc, emulator)):
        if not shutil.which(name):
            pytest.skip(f"SKIP: no {name}")
    if not emulator and not runs(flags):
        pytest.skip(f"SKIP: this machine has no {flags}")
    step = 1000003 if emulator else 20011 if SWEEP else 100003
    names = sorted(OPCODES)[::1 if SWEEP else 3]
    command = [sys.executable, str(ROOT / "bench" / "functions.py"), "--cc", cc, f"--flags={flags}", f"--run={emulator}",
               "--step", str(step), "--only", ",".join(names)]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    found = {line.split()[0]: line for line in made.stdout.splitlines()}
    assert set(found) == set(names)
    for name, line in found.items():
        slack = LIBM_ULPS if name.endswith("f64") else 0.0
        error = math.inf if line.split()[1] == "wrong" else float(line.split()[1])
        assert error <= ULPS[OPCODES[name]] + slack + 0.5, f"{cc} {flags}: {line}"


@pytest.mark.parametrize("vectors", ["vectors.c", "vectors.cl"])
def test_vectors_of_each_language(vectors: str) -> None:
    """Each vector helper that functions.c uses is defined in functions.c itself, or in both vectors.c (for C) and
    vectors.cl (for OpenCL).
    """
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "gen" / "emit" / "functions.c").read_text(), flags=re.S)
    used = set(re.findall(r"\b\w+_(?:floats|doubles|ints|uints|longs|ulongs)\b", text))
    assert len(used) > 50 and not used - set(pieces(vectors, "functions.c")), f"not in gen/emit/{vectors}"


def test_no_library(tmp_path: Path) -> None:
    """Vector functions call no function of the C library."""
    from gen import pipeline
    for fusion in hlo.fusions(BENCHED):
        dtype, opcode = fusion.name[-3:], OPCODES[fusion.name.removeprefix("functions_")]
        if opcode not in functions.FUNCTIONS.get(dtype, {}):
            continue
        text = pipeline.target_file(fusion, "c").text.split("#else\n/* ---- without vectors")[0]
        assert not re.search(r"\b(exp|log|tanh|erf|sin|cos|tan|cbrt|pow|atan2)f?\(", re.sub(r"/\*.*?\*/", "", text, flags=re.S)), text


@pytest.mark.parametrize("target", ["c", *(pytest.param(target, marks=pytest.mark.peer) for target in ("opencl", "cuda-on-cpu"))])
def test_power_of_signaling_nan(target: str, tmp_path: Path) -> None:
    """x^0 and 1^y are 1 for all x and y, even signalling NaNs, in whole vectors and in the elements left over."""
    count = 37
    x, y = [0x7FA00000, 0x3F800000, 0xFFA00001, 0x3F800000] * count, [0x00000000, 0x7FA00000, 0x80000000, 0xFFC00000] * count
    text = f"f {{\n  x = f32[{len(x)}] parameter(0)\n  y = f32[{len(x)}] parameter(1)\n  ROOT r = f32[{len(x)}] power(x, y)\n}}\n"
    result = run(text, [struct.pack(f"<{len(x)}I", *words) for words in (x, y)], target, tmp_path)[0]
    assert struct.unpack(f"<{len(x)}f", result) == (1.0,) * len(x)


@pytest.mark.parametrize("target", ["c", pytest.param("opencl", marks=pytest.mark.peer)])
def test_nans_rounded_to_bf16(target: str, tmp_path: Path) -> None:
    """A NaN stays a NaN when a result is rounded to bf16. Rounding by an addition to the bits would turn some NaNs
    into numbers. Vectors are rounded in this way only if they were converted from bf16.
    """
    named = {opcode: name for opcode, name in functions.FUNCTIONS["f32"].items() if opcode in ELEMENTWISE}    # only functions that an op calls directly
    opcodes = [opcode for opcode, name in named.items() if name not in functions.BINARY]
    binary = [opcode for opcode, name in named.items() if name in functions.BINARY] + ["add", "multiply", "divide"]
    nans = [n for n in range(65536) if n & 0x7F80 == 0x7F80 and n & 0x7F] * 4      # signaling NaNs too
    nans += [0x7FC0] * (-len(nans) % 64)
    given = struct.pack(f"<{len(nans)}H", *nans)
    full = struct.pack(f"<{len(nans)}I", *(n << 16 | 0xFFFF for n in nans))
    kinds = ", ".join([f"bf16[{len(nans)}]"] * (len(opcodes) + len(binary)))
    for dtype, data in (("bf16", given), ("f32", full)):
        (tmp_path / dtype).mkdir()
        shape = f"{{}}[{len(nans)}]".format
        lines = [f"  y = {shape(dtype)} parameter(0)\n", f"  x = {shape('f32')} {'convert' if dtype == 'bf16' else 'copy'}(y)\n",
                 f"  two = f32[] constant(2)\n  c = {shape('f32')} broadcast(two), dimensions={{}}\n"]
        lines += [f"  a{n} = {shape('f32')} {opcode}({'x' if n < len(opcodes) else 'x, c'})\n  b{n} = {shape('bf16')} convert(a{n})\n"
                  for n, opcode in enumerate(opcodes + binary)]
        names = ", ".join(f"b{n}" for n in range(len(opcodes + binary)))
        for opcode, result in zip(opcodes + binary, run(f"f {{\n{''.join(lines)}  ROOT t = ({kinds}) tuple({names})\n}}\n", [data], target, tmp_path / dtype)):
            for found, nan in zip(struct.unpack(f"<{len(nans)}H", result), nans):
                assert found & 0x7F80 == 0x7F80 and found & 0x7F, (dtype, opcode, hex(nan), hex(found))
    for dtype in ("bf16", "f32"):
        from gen import pipeline
        x = "x = f32[2048] parameter(0)" if dtype == "f32" else "y = bf16[2048] parameter(0)\n  x = f32[2048] convert(y)"
        (fusion,) = hlo.fusions(hlo.parse(f"f {{\n  {x}\n  a = f32[2048] exponential(x)\n  ROOT b = bf16[2048] convert(a)\n}}\n", "f.hlo"))
        text = pipeline.target_file(fusion, target).text.split("#else\n/* ---- without vectors")[0]
        assert ("round_plain_bf16_16(" in text) == (dtype == "bf16"), (target, text)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_sine_and_cosine_of_one_argument(target: str, tmp_path: Path) -> None:
    """Sine and cosine of one argument are computed by one function that reduces the argument once. It gives the same
    bits as the separate functions.
    """
    from gen import pipeline
    words = [(k * 2654435761) & 0xFFFFFFFF for k in range(4096)]    # floats with all kinds of signs, exponents and mantissas
    data, shape = struct.pack(f"<{len(words)}I", *words), f"f32[{len(words)}]"
    names = {"sine": "s", "cosine": "c"}
    lines = {opcode: f"  {name} = {shape} {opcode}(x)\n" for opcode, name in names.items()}
    texts = {opcode: f"f {{\n  x = {shape} parameter(0)\n  ROOT{lines[opcode][1:]}}}\n" for opcode in names}
    texts["both"] = together = f"f {{\n  x = {shape} parameter(0)\n{''.join(lines.values())}  ROOT t = ({shape}, {shape}) tuple(s, c)\n}}\n"
    found = stated.results({name: (text, [data]) for name, text in texts.items()}, target, tmp_path)
    assert found["both"] == found["sine"] + found["cosine"]
    (fusion,) = hlo.fusions(hlo.parse(together, "f.hlo"))
    text = pipeline.target_file(fusion, target).text.split("#else\n/* ---- without vectors")[0]
    called = re.findall(r" = (\w*(?:sin|cos)\w*)\(v_x", text)
    assert called == ["sincos_f32_16" if target == "c" else "sincos_floats"], text


FLAGS_OF_EXP = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <xmmintrin.h>
#include "e.h"
enum { COUNT = 1024, DENORMAL = 2, UNDERFLOW = 16 };
int main(void)
{
  static TYPE x[COUNT] __attribute__((aligned(64))), y[COUNT] __attribute__((aligned(64)));
  const void *params[] = {x};
  void *results[] = {y};
  int subnormal = 0;
  for (int i = 0; i < COUNT; ++i) x[i] = i % 5 ? LEAST - (TYPE)i / 80 : (TYPE)i / 16;
  _mm_setcsr(_mm_getcsr() & ~0x3fu);
  if (e_c_run(params, results, NULL)) return 1;
  const unsigned flags = _mm_getcsr();
  for (int i = 0; i < COUNT; ++i) subnormal += y[i] > 0 && y[i] < SMALLEST;
  printf("%d %u\n", subnormal, flags & (DENORMAL | UNDERFLOW));
  return 0;
}
"""


@pytest.mark.parametrize("dtype, words", [("f32", "-DTYPE=float -DLEAST=-87.4f -DSMALLEST=0x1p-126f"),
                                          pytest.param("f64", "-DTYPE=double -DLEAST=-708.5 -DSMALLEST=0x1p-1022", marks=pytest.mark.peer)])
def test_exp_has_no_subnormal_step(dtype: str, words: str, tmp_path: Path) -> None:
    """Computing a subnormal exponential uses no operation with a subnormal operand or result (these are
    slow). The processor's status flags show it.
    """
    (tmp_path / "e.hlo").write_text(f"e {{\n  x = {dtype}[1024] parameter(0)\n  ROOT y = {dtype}[1024] exponential(x)\n}}\n")
    assert gen("build", tmp_path / "e.hlo", "-o", tmp_path, "--target", "c").returncode == 0
    (tmp_path / "main.c").write_text(FLAGS_OF_EXP)
    if "__SSE2__" not in subprocess.run(["cc", "-dM", "-E", "-x", "c", "/dev/null"], capture_output=True, text=True).stdout:
        pytest.skip("SKIP: the flags of SSE are asked")
    for cc, machine in itertools.product(filter(shutil.which, ("gcc", "clang")), ("-march=x86-64", "-march=native")):
        subprocess.run([cc, "-O2", machine, "-w", *words.split(), "-I", str(tmp_path), str(tmp_path / "main.c"), str(tmp_path / "e.c"), "-lm",
                        "-o", str(tmp_path / cc)], check=True, capture_output=True)
        subnormal, flags = map(int, subprocess.run([tmp_path / cc], check=True, capture_output=True, text=True).stdout.split())
        assert subnormal > 100 and flags == 0, (cc, machine, subnormal, flags)


def rounded(x: float) -> float:
    """Return the f32 nearest to a double."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_quotients_by_a_value_that_lanes_share(target: str, tmp_path: Path) -> None:
    """Quotients by a value that all lanes share are those of IEEE, also if a quotient or an operand is subnormal."""
    from gen import pipeline
    count, divisors = 4096, (1.0, 3.0, 0.7, -1e30, 1e-30, 2.0 ** -126, 1e-40, math.inf)
    small = [rounded((-1) ** (k // 16) * (k + 1) * 1.1377 * 2.0 ** (k % 200 - 160)) for k in range(count)]
    xs = [0.0 if k % 7 == 0 else -math.inf if k == 100 else x for k, x in enumerate(small)]
    text = f"f {{\n  x = f32[{count}] parameter(0)\n  s = f32[] parameter(1)\n  b = f32[{count}] broadcast(s), dimensions={{}}\n  ROOT y = f32[{count}] divide(x, b)\n}}\n"
    (fusion,) = hlo.fusions(hlo.parse(text, "f.hlo"))
    assert "quotient_" in pipeline.target_file(fusion, target).text
    data = struct.pack(f"<{count}f", *xs)
    found = stated.results({f"f{n}": (text, [data, struct.pack("<f", s)]) for n, s in enumerate(divisors)}, target, tmp_path)
    for n, s in enumerate(map(rounded, divisors)):
        got = struct.unpack(f"<{count}f", found[f"f{n}"][0])
        wrong = [(x, s, y, rounded(x / s)) for x, y in zip(xs, got) if not (math.isnan(y) and math.isnan(x / s)) and
                 struct.pack("<f", y) != struct.pack("<f", rounded(x / s))]
        assert not wrong, wrong[:4]


WHOLE = {"round-nearest-even": round, "round-nearest-afz": lambda x: math.copysign(math.floor(abs(x) + 0.5), x),
         "floor": math.floor, "ceil": math.ceil}
INTEGERS = {"s8": "b", "u8": "B", "s16": "h", "u16": "H", "s32": "i"}


def whole(opcode: str, x: float) -> float:
    """Return x rounded to a whole number by an op such as floor. The result has the sign of x, even if it is zero."""
    return x if not math.isfinite(x) else math.copysign(WHOLE[opcode](x), x)


def saturated(kind: str, x: float) -> int:
    """Convert a float to an integer: rounded towards zero, clamped to the type's range, 0 for a NaN."""
    bits, signed = int(kind[1:]), kind[0] == "s"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return 0 if x != x else int(max(low, min(high, x)))


@pytest.mark.parametrize("target", ["c", pytest.param("opencl", marks=pytest.mark.peer)])
def test_whole_numbers(target: str, tmp_path: Path) -> None:
    """Vectors are rounded to whole numbers and converted to integers correctly: halves, limits, zeros, infinities and
    NaNs.
    """
    near = [k + part for k in (0, 1, 2, 127, 128, 129, 255, 256, 32767, 32768, 65535, 65536, 4194303, 8388607, 8388608, 16777215)
            for part in (-0.5, -2.0 ** -20, 0.0, 2.0 ** -20, 0.25, 0.5, 0.75)]
    ends = [0.49999997, 0.50000006, 1e-40, 1e-30, 2147483520.0, 2147483648.0, 2147483904.0, 3e38, math.inf, math.nan]
    data = b"".join(struct.pack("<f", sign * x) for x in near + ends for sign in (1, -1)) + struct.pack("<2I", 0x7FA00001, 0xFF800002)
    data += b"".join(struct.pack("<I", k * 0x9E3779B1 & 0xFFFFFFFF) for k in range(2048 - len(data) // 4))
    x = struct.unpack("<2048f", data)
    lines = [f"  a{n} = f32[2048] {opcode}(x)\n" for n, opcode in enumerate(WHOLE)] + [f"  {kind} = {kind}[2048] convert(x)\n" for kind in INTEGERS]
    kinds = ", ".join(["f32[2048]"] * len(WHOLE) + [f"{kind}[2048]" for kind in INTEGERS])
    names = ", ".join([f"a{n}" for n in range(len(WHOLE))] + list(INTEGERS))
    text = f"f {{\n  x = f32[2048] parameter(0)\n{''.join(lines)}  ROOT t = ({kinds}) tuple({names})\n}}\n"
    results = run(text, [data], target, tmp_path)
    for opcode, result in zip(WHOLE, results):
        for given, found in zip(x, struct.unpack("<2048f", result)):
            wanted = whole(opcode, given)
            assert (wanted != wanted and found != found) or struct.pack("<f", wanted) == struct.pack("<f", found), (opcode, given, found)
    for kind, result in zip(INTEGERS, results[len(WHOLE):]):
        assert [saturated(kind, value) for value in x] == list(struct.unpack(f"<2048{INTEGERS[kind]}", result)), kind


def test_whole_numbers_come_in_vectors() -> None:
    """Rounding and conversion to integers use vectors only; no element is computed alone."""
    from gen import pipeline
    lines = [f"  a{n} = f32[2048] {opcode}(x)\n" for n, opcode in enumerate(WHOLE)] + [f"  {kind} = {kind}[2048] convert(x)\n" for kind in INTEGERS]
    for line in lines:
        (fusion,) = hlo.fusions(hlo.parse(f"f {{\n  x = f32[2048] parameter(0)\n{line.replace('  ', '  ROOT ', 1)}}}\n", "f.hlo"))
        for target in ("c", "opencl"):
            assert "lane < " not in pipeline.target_file(fusion, target).text.split("#else\n/* ---- without vectors")[0], (target, line)


def extreme(opcode: str, a: float, b: float) -> float:
    """Return HLO's maximum or minimum: NaN if either operand is NaN, and the first operand if both are equal."""
    return a if a != a else b if b != b else a if (a >= b if opcode == "maximum" else a <= b) else b


@pytest.mark.parametrize("target", ["c", pytest.param("opencl", marks=pytest.mark.peer)])
def test_bounds(target: str, tmp_path: Path) -> None:
    """The maximum or minimum of a vector and a constant is a single comparison. For 0 and -0, kernels in C return the
    first operand. Values that are known to fit an integer type are converted without range checks; NaNs become 0.
    """
    from gen import pipeline
    numbers = {"m": "-127", "z": "0", "n": "-0.0", "h": "127.5", "i": "inf", "w": "255.75", "b": "-300"}
    values = {name: float(text) for name, text in numbers.items()}
    near = [0.0, 1e-40, 0.5, 1.0, 126.5, 127.0, 127.5, 128.0, 254.9, 255.0, 255.5, 256.0, 300.0, 32767.5, 3e9, 3e38, math.inf, math.nan]
    x = [sign * value for value in near for sign in (1, -1)]
    x += [(k * 7919 % 2003 - 1000) / 3 for k in range(2048 - len(x))]
    data = struct.pack("<2048f", *x)
    x = list(struct.unpack("<2048f", data))
    lines = ["x = f32[2048] parameter(0)"] + [f"c_{n} = f32[] constant({t})\n  {n} = f32[2048] broadcast(c_{n}), dimensions={{}}" for n, t in numbers.items()]
    wanted = {}    # for each result by name: its type and the expected numbers
    for opcode in ("maximum", "minimum"):
        for name, c in values.items():
            for first in (True, False):
                of = f"{opcode[:3]}_{name}{first:d}"
                lines.append(f"{of} = f32[2048] {opcode}({name + ', x' if first else 'x, ' + name})")
                wanted[of] = "f32", [extreme(opcode, *((c, v) if first else (v, c))) for v in x]
    held = {}
    for low, high in (("m", "h"), ("z", "w"), ("b", "w"), ("n", "i")):
        of = f"clamp_{low}{high}"
        lines.append(f"{of} = f32[2048] clamp(c_{low}, x, c_{high})")
        held[of] = [extreme("minimum", extreme("maximum", v, values[low]), values[high]) for v in x]
        wanted[of] = "f32", held[of]
        lines.append(f"whole_{of} = f32[2048] round-nearest-even({of})")
        held[f"whole_{of}"] = [whole("round-nearest-even", v) for v in held[of]]
    for of, values_ in held.items():
        for kind in ("s8", "u8", "s16", "u16", "s32"):
            lines.append(f"{kind}_{of} = {kind}[2048] convert({of})")
            wanted[f"{kind}_{of}"] = kind, [saturated(kind, v) for v in values_]
    kinds = ", ".join(f"{kind}[2048]" for kind, _ in wanted.values())
    text = "f {\n" + "".join(f"  {line}\n" for line in lines) + f"  ROOT t = ({kinds}) tuple({', '.join(wanted)})\n}}\n"
    for (of, (kind, numbers_)), result in zip(wanted.items(), run(text, [data], target, tmp_path)):
        found = struct.unpack(f"<2048{INTEGERS.get(kind, 'f')}", result)
        for given, good, bad in zip(x, numbers_, found):
            # the sign of a zero is compared only in C; elsewhere, LLVM takes both zeros for the same constant
            signed = target == "c" or good != 0
            assert good == bad and (not signed or math.copysign(1, good) == math.copysign(1, bad)) or good != good and bad != bad, (of, given, good, bad)
    (fusion,) = hlo.fusions(hlo.parse(text, "f.hlo"))
    made = pipeline.target_file(fusion, target).text.split("#else\n/* ---- without vectors")[0]
    for kind, of, fits in (("s8", "clamp_mh", True), ("u8", "whole_clamp_zw", False), ("u8", "clamp_zw", True), ("s8", "clamp_zw", False), ("s16", "whole_clamp_bw", True)):
        assert f"v_{kind}_{of} = to_integer_{'within_' if fits else ''}f32_{kind}_16(" in made, (kind, of)


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32", "f64", "s16", "u32", "s64"])
def test_choices_need_no_bytes(dtype: str) -> None:
    """A select by comparisons uses the comparisons' vector masks; no predicates are stored as bytes. A conversion of a
    comparison uses the mask, too.
    """
    from gen import pipeline
    lines = [f"{name} = {dtype}[2048] parameter({n})" for n, name in enumerate("xyz")]
    lines += ["p = pred[2048] compare(x, y), direction=LT", "q = pred[2048] compare(y, z), direction=EQ", "r = pred[2048] xor(p, q)",
              f"s = {dtype}[2048] select(r, x, z)", f"t = {dtype}[2048] convert(r)",
              f"ROOT u = ({dtype}[2048], {dtype}[2048]) tuple(s, t)"]
    (fusion,) = hlo.fusions(hlo.parse("f {\n" + "".join(f"  {line}\n" for line in lines) + "}\n", "f.hlo"))
    for target in ("c", "opencl"):
        text = pipeline.target_file(fusion, target).text.split("#else\n/* ---- without vectors")[0]
        assert "v_r" in text and "v_t" in text and "char16" not in text, (target, text)


ESCAPING = """HloModule m

body {
  t = (c64[480,640], s32[], c64[480,640]) parameter(0)
  z = c64[480,640] get-tuple-element(t), index=0
  i = s32[] get-tuple-element(t), index=1
  c = c64[480,640] get-tuple-element(t), index=2
  square = c64[480,640] multiply(z, z)
  next = c64[480,640] add(square, c)
  size = f32[480,640] abs(z)
  two = f32[] constant(2)
  limit = f32[480,640] broadcast(two), dimensions={}
  inside = pred[480,640] compare(size, limit), direction=LT
  new = c64[480,640] select(inside, next, z)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT u = (c64[480,640], s32[], c64[480,640]) tuple(new, j, c)
}

more {
  t = (c64[480,640], s32[], c64[480,640]) parameter(0)
  i = s32[] get-tuple-element(t), index=1
  last = s32[] constant(50)
  ROOT l = pred[] compare(i, last), direction=LT
}

ENTRY m {
  x = f32[640] parameter(0)
  y = f32[480] parameter(1)
  along = c64[640] convert(x)
  along_all = c64[480,640] broadcast(along), dimensions={1}
  real = c64[480] convert(y)
  unit = c64[] constant((0, 1))
  units = c64[480] broadcast(unit), dimensions={}
  across = c64[480] multiply(real, units)
  across_all = c64[480,640] broadcast(across), dimensions={0}
  c = c64[480,640] add(along_all, across_all)
  zero = c64[] constant((0, 0))
  z = c64[480,640] broadcast(zero), dimensions={}
  i = s32[] constant(0)
  t = (c64[480,640], s32[], c64[480,640]) tuple(z, i, c)
  w = (c64[480,640], s32[], c64[480,640]) while(t), condition=more, body=body
  ROOT r = c64[480,640] get-tuple-element(w), index=0
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("gcc"), reason="SKIP: needs gcc for x86-64")
def test_vzeroupper_before_calls(tmp_path: Path) -> None:
    """gcc writes vzeroupper between code with vectors and a call of a function of the file. Otherwise, the SSE code of
    the libm functions that this function calls is slow.
    """
    (tmp_path / "m.hlo").write_text(ESCAPING)
    done = gen("build", tmp_path / "m.hlo", "-o", tmp_path, "--target", "c")
    assert done.returncode == 0, done.stderr
    text = subprocess.run(["gcc", "-std=c11", "-O3", "-mavx2", "-mfma", "-fno-math-errno", "-w", "-S", "-o", "-", str(tmp_path / "m.c")], check=True,
                          capture_output=True, text=True).stdout
    function = text[text.index("\nm_c_run_on:"):text.index(".size\tm_c_run_on")]
    assert "%ymm" in function and function.count("vzeroupper") >= len(re.findall(r"\bcall\tcall_", function)) > 0
