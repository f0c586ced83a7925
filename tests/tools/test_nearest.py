"""Test gen/run/nearest.py: the module that computes a fusion exactly, and the comparison of results with its values."""

from __future__ import annotations

import math
import re
import struct
from pathlib import Path

import pytest

from gen import hlo, run
from gen.run import nearest

SUM = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"


def fusion(body: str) -> "hlo.Fusion":
    return hlo.fusions(hlo.parse(f"HloModule m\n{SUM}ENTRY e {{\n{body}\n}}\n", "m.hlo"))[0]


def exact(body: str, given: bytes, tmp_path: Path) -> "tuple[float, ...]":
    results = nearest.exact_results(fusion(body).computation, [given], tmp_path)
    assert results and results[0][0] == "f64"
    return struct.unpack(f"{len(results[0][1]) // 8}d", results[0][1])


def test_no_op_rounds(tmp_path: Path) -> None:
    """In the exact module, ops do not round: (x + 1e8) - 1e8 is x. The constant 0.1 is still the nearest f32."""
    one, two = exact("""x = f32[2] parameter(0)  c = f32[] constant(1e8)  b = f32[2] broadcast(c), dimensions={}  y = f32[2] add(x, b)
        ROOT z = f32[2] subtract(y, b)""", struct.pack("2f", 1, 0.25), tmp_path)
    assert (one, two) == (1, 0.25)
    tenth = struct.unpack("f", struct.pack("f", 0.1))[0]
    (tmp_path / "other").mkdir()    # a process loads a library only once per name
    assert exact("x = f32[] parameter(0)  c = f32[] constant(0.1)  ROOT y = f32[] multiply(x, c)", struct.pack("f", 3), tmp_path / "other") == (3 * tenth,)


def test_conversions_round(tmp_path: Path) -> None:
    """Conversions that are in the module still round."""
    body = "x = f32[1] parameter(0)  h = bf16[1] convert(x)  ROOT y = f32[1] convert(h)"
    assert exact(body, struct.pack("f", 1 + 2 ** -9), tmp_path) == (1,)


def test_computations_are_exact_too(tmp_path: Path) -> None:
    body = "x = f32[3] parameter(0)  c = f32[] constant(0)  ROOT s = f32[] reduce(x, c), dimensions={0}, to_apply=add"
    assert exact(body, struct.pack("3f", 2 ** 30, 1, -2 ** 30), tmp_path) == (1,)


@pytest.mark.parametrize("body", (
    "x = f32[2] parameter(0)  ROOT y = s32[2] bitcast-convert(x)", "x = (f32[2], f32[2]) parameter(0)  ROOT y = f32[2] get-tuple-element(x), index=0",
    "x = c64[2] parameter(0)  ROOT y = c64[2] add(x, x)", "x = s4[2] parameter(0)  ROOT y = s4[2] add(x, x)",
    "x = f32[2] parameter(0)  ROOT y = f32[2] reduce-precision(x), exponent_bits=5, mantissa_bits=3"))
def test_what_has_no_exact_module(body: str) -> None:
    assert nearest.exact_text(fusion(body).computation) is None


def test_distance() -> None:
    nan, inf = float("nan"), float("inf")
    assert nearest.distance([1, 2], [1, 2]) == 0 and nearest.distance([nan, 1], [nan, 1]) == 0
    assert nearest.distance([3, 5], [3, 4]) == pytest.approx(0.2)
    assert nearest.distance([nan], [1]) == nearest.distance([inf], [1]) == nearest.distance([1], [0]) == inf


@pytest.mark.parametrize("dtype, size", (("f32", 4), ("bf16", 2), ("f16", 2), ("s32", 4)))
def test_elements(dtype: str, size: int) -> None:
    data = {"f32": struct.pack("2f", 1.5, -2), "bf16": struct.pack("2H", 0x3fc0, 0xc000), "f16": struct.pack("2e", 1.5, -2),
            "s32": struct.pack("2i", 3, -4)}[dtype]
    assert len(data) == 2 * size
    assert list(nearest._numbers(data, dtype)) == ([3, -4] if dtype == "s32" else [1.5, -2])


def test_words(tmp_path: Path) -> None:
    """The message is right for a library whose results are exact to the last bit, and for a library that returns half
    of each value.
    """
    of = fusion("x = f32[4] parameter(0)  y = f32[4] exponential(x)  i = s32[4] convert(x)  ROOT r = (f32[4], s32[4]) tuple(y, i)")
    options = run.Options()
    built = run.build(of, tmp_path / "built", "c", options)
    given, values = tmp_path / "in", (0.5, 1.25, 2.0, 3.0)
    given.write_bytes(struct.pack("4f", *values))
    for factor, integers, words in ((1, (0, 1, 2, 3), "nearer|as near"), (0.5, (0, 1, 2, 3), "^the kernel is nearer .* its 5.0e-01"),
                                    (1, (0, 1, 2, 4), "^the kernel is nearer")):
        theirs = tmp_path / "out"
        theirs.write_bytes(struct.pack("4f4i", *(factor * math.exp(v) for v in values), *integers))
        assert re.search(words, nearest.words(built, "c", options, given, theirs)), words
