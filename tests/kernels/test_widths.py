"""Test bitcast-convert and bitcast between types of different widths: bits keep their place, for all types and layouts.
"""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import List, Sequence, Tuple

import pytest

from gen import hlo
from gen.hlo import dtypes
from gen.lower import counted as counted_values
from drawn import ON, agree, fusions, plain, shape
from gen_run import run

TARGETS = ("opencl", "c", "cuda-on-cpu")
PAIRS = [("f32", "u8"), ("f32", "s16"), ("f32", "bf16"), ("f64", "f32"), ("f64", "s8"), ("u64", "f8e4m3fn"), ("f16", "f8e5m2"), ("u8", "s4"),
         ("f8e4m3", "u2"), ("bf16", "f4e2m1fn"), ("s4", "u2"), ("u32", "s2"), ("s64", "f16"), ("f8e8m0fnu", "u4")]
DIMS: "List[Tuple[int, ...]]" = [(3, 5), (), (2, 0, 3), (1,)]


def many(wide: str, narrow: str) -> int:
    return dtypes.TABLE[wide].bits // dtypes.TABLE[narrow].bits


def array(dtype: str, dims: "Sequence[int]") -> str:
    return f"{dtype}[{','.join(map(str, dims))}]"


def module(lines: "List[str]", results: "List[Tuple[str, str]]") -> str:
    return "\n".join(["ENTRY e {", *lines, f"  ROOT r = ({', '.join(of for _, of in results)}) tuple({', '.join(name for name, _ in results)})", "}", ""])


@pytest.mark.parametrize("target", TARGETS)
def test_bytes_stay(target: str, tmp_path: Path) -> None:
    """In row-major order the result's bytes are the operand's bytes, for any bits including NaNs."""
    draw, lines, results, params = random.Random(3), [], [], []
    for number, (wide, narrow) in enumerate(PAIRS):
        for opcode in ("bitcast-convert", "bitcast"):
            for k, dims in enumerate(DIMS if number < 2 else DIMS[:1]):
                first, second = array(wide, dims), array(narrow, (*dims, many(wide, narrow)))
                if math.prod(dims) * dtypes.TABLE[wide].bits % 8:
                    continue
                for there, of, to in ((0, first, second), (1, second, first)):
                    name = f"{len(params)}"
                    lines += [f"  p{name} = {of} parameter({name})", f"  x{name} = {to} {opcode}(p{name})"]
                    results.append((f"x{name}", to))
                    params.append(draw.randbytes(math.prod(dims) * dtypes.TABLE[wide].bits // 8))
    assert len(params) > 60
    assert run(module(lines, results), params, target, tmp_path) == params


@pytest.mark.parametrize("target, device", ON)
def test_layouts(target: str, device: str, tmp_path: Path) -> None:
    """A bitcast takes elements in the order of memory, a bitcast-convert in the order of the dimensions. Both can be
    used in the middle of a fusion.
    """
    draw, texts = random.Random(4), {}
    for part in range(2):
        lines: "List[str]" = []
        results: "List[Tuple[str, str]]" = []

        def add(text: str, of: str) -> str:
            lines.append(f"  v{len(lines)} = {of} {text}")
            return f"v{len(lines) - 1}"

        for number, (wide, narrow) in enumerate(PAIRS[part::2]):
            n = many(wide, narrow)

            def laid(dtype: str, *dims: int) -> str:
                return shape(dtype, dims, draw.sample(range(len(dims)), len(dims)))

            a, b = add(f"parameter({3 * number})", laid(wide, 3, 8)), add(f"parameter({3 * number + 1})", laid(narrow, 3, 8, n))
            c = add(f"parameter({3 * number + 2})", laid(wide, 16))
            for text, of in ((f"bitcast-convert({a})", laid(narrow, 3, 8, n)), (f"bitcast-convert({b})", laid(wide, 3, 8)),
                             (f"bitcast({a})", laid(narrow, 3 * n, 8)), (f"bitcast({c})", laid(narrow, 4, n, 4))):
                results.append((add(text, of), of))
            of = laid(wide, 2, 8)
            results.append((add(f"bitcast({results[-1][0]})", of), of))
        texts[f"layouts_{part}"] = module(lines, results)
    texts["computed"] = module([f"  x = {plain('f32', (6, 7))} parameter(0)", "  e = f32[6,7] exponential(x)", "  d = f32[6,7] divide(x, e)",
                                "  q = u8[6,7,4] bitcast-convert(e)", "  b = f32[6,7] bitcast-convert(q)", "  h = bf16[6,7,2] bitcast-convert(d)",
                                "  s = f32[6,7] add(b, d)"], [("q", "u8[6,7,4]"), ("b", "f32[6,7]"), ("h", "bf16[6,7,2]"), ("s", "f32[6,7]")])
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("lines, reason", [
    (["p = pred[4] parameter(0)", "ROOT r = f32[] bitcast(p)"], "2:6: 'bitcast': expected pred and a type of eight bits"),
    (["p = f32[8]{0:T(4)} parameter(0)", "ROOT r = u8[32] bitcast(p)"], "2:6: 'bitcast': expected types of different widths whose elements"),
    (["p = s4[3] parameter(0)", "ROOT r = s8[2] bitcast(p)"], "2:6: 'bitcast': expected types of different widths whose elements"),
])
def test_refused(lines: "List[str]", reason: str) -> None:
    error = hlo.unsupported(hlo.parse("e {\n" + "\n".join(lines) + "\n}\n", "m.hlo"))
    assert error is not None and f"{error.line - 1}:{error.col}: {error.message}".startswith(reason), error


def counted(rng: random.Random, dims: "Sequence[int]", number: int) -> "List[str]":
    """Return lines that compute a 64-bit value from iotas and constants, then take 32 bits of it as x{number}."""
    wide, narrow = rng.choice(["u64", "s64"]), rng.choice(["u32", "s32"])
    of, name, values = array(wide, dims), f"v{number}", []
    lines = []
    for k in range(rng.randint(2, 7)):
        if k < 2:
            if rng.random() < 0.6:
                text = f"{of} iota(), iota_dimension={rng.randrange(len(dims))}"
            else:
                edges = [0, 1, 7, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**63 - 1]
                lines.append(f"  {name}c{k} = {wide}[] constant({rng.choice(edges)})")
                text = f"{of} broadcast({name}c{k}), dimensions={{}}"
        else:
            a, b = rng.choices(values, k=2)
            text = f"{of} {rng.choice(['add', 'multiply', 'subtract', 'and', 'or', 'xor'])}({a}, {b})"
        lines.append(f"  {name}x{k} = {text}")
        values.append(f"{name}x{k}")
    lines += [f"  {name}n = {wide}[] constant({rng.choice([0, 3, 5, 31, 32, 33, 63])})", f"  {name}by = {of} broadcast({name}n), dimensions={{}}",
              f"  {name}s = {of} shift-right-logical({values[-1]}, {name}by)"]
    return [*lines, f"  x{number} = {array(narrow, dims)} convert({rng.choice([values[-1], name + 's'])})"]


@pytest.mark.parametrize("target, device", ON)
def test_counted(target: str, device: str, tmp_path: Path) -> None:
    """If only 32 bits of a 64-bit value are used and the value depends only on iotas and constants, kernels compute 32
    bits. (This is how positions of random numbers are made.)
    """
    rng, texts = random.Random(5), {}
    for part in range(3):
        dims = rng.choice([(40,), (3, 50), (2, 3, 17)])
        lines = [line for number in range(6) for line in counted(rng, dims, number)]
        results = [(f"x{number}", next(line for line in lines if line.startswith(f"  x{number} = ")).split()[2]) for number in range(6)]
        texts[f"counted{part}"] = module(lines, results)
    agree(texts, target, device, tmp_path)


def test_counts_in_32_bits() -> None:
    """A counter that is shifted right by at least the bit length of its maximum becomes a constant of 32 bits. With one
    more element the maximum is longer, and the shift stays in 64 bits.
    """
    def opcodes(size: int, by: int) -> "List[Tuple[str, str]]":
        text = f"""ENTRY e {{
  i = u64[{size}] iota(), iota_dimension=0
  n = u64[] constant({by})
  b = u64[{size}] broadcast(n), dimensions={{}}
  s = u64[{size}] shift-right-logical(i, b)
  ROOT r = u32[{size}] convert(s)
}}
"""
        (fusion,) = fusions(text)
        root = counted_values.lowered(fusion.computation).root
        assert root is not None
        return [(i.opcode, i.shape.dtype) for i in (root, *root.operands)]
    assert opcodes(1 << 20, 20) == [("broadcast", "u32"), ("constant", "u32")]
    assert opcodes((1 << 20) + 1, 20) == [("convert", "u32"), ("shift-right-logical", "u64")]
    assert opcodes(9, 10**12) == [("broadcast", "u32"), ("constant", "u32")]
