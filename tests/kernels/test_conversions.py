"""Test kernels on every value of the small types: conversions against tables made here (and against ml_dtypes if it is
installed), and integer ops of two and four bits on every pair of values.

The tables are exact fractions, computed from the definitions of the types (sign, exponent, mantissa) without
gen/hlo/dtypes.py. With SETT_SWEEP=1 every type runs on every target (`ninja test-whole`; `ninja test-peer` runs about a
third of these cases). By default only a few types run.
"""

from __future__ import annotations

import bisect
import math
import os
import struct
from fractions import Fraction
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple

import pytest

from gen_run import run

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ("c", "opencl", "cuda-on-cpu")
SWEEP = os.environ.get("SETT_SWEEP", "") != ""

# By type: exponent bits, mantissa bits, bias, and its special values. 'ieee': infinities and NaNs at the top exponent;
# 'fn': one NaN of each sign, no infinity; 'fnuz': one NaN in place of minus zero, no infinity; 'finite': none.
FLOATS: Dict[str, Tuple[int, int, int, str]] = {
    "f8e5m2": (5, 2, 15, "ieee"), "f8e4m3": (4, 3, 7, "ieee"), "f8e3m4": (3, 4, 3, "ieee"), "f8e4m3fn": (4, 3, 7, "fn"),
    "f8e5m2fnuz": (5, 2, 16, "fnuz"), "f8e4m3fnuz": (4, 3, 8, "fnuz"), "f8e4m3b11fnuz": (4, 3, 11, "fnuz"), "f4e2m1fn": (2, 1, 1, "finite"),
    "f16": (5, 10, 15, "ieee"), "bf16": (8, 7, 127, "ieee")}
SMALL = [name for name in FLOATS if name not in ("f16", "bf16")] + ["f8e8m0fnu"]
ML_DTYPES = {name: "float" + name[1] + "_" + name[2:] for name in SMALL}
WIDTH = {**{name: 8 for name in SMALL}, "f4e2m1fn": 4, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "s2": 2, "u2": 2, "s4": 4, "u4": 4,
         "s8": 8, "pred": 8, "s32": 32}


class Table:
    """A type's finite values from zero up, the midpoints between neighbours, and the value that would follow the
    largest.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        if name == "f8e8m0fnu":
            self.values = [Fraction(2) ** (k - 127) for k in range(255)]
            self.beyond, self.over, self.nan = self.values[-1] * Fraction(3, 2), 255, 255
        else:
            e, m, bias, style = FLOATS[name]
            codes = (1 << (e + m)) - {"ieee": 1 << m, "fn": 1, "fnuz": 0, "finite": 0}[style]
            self.values = [Fraction(k % (1 << m) + (1 << m if k >> m else 0)) * Fraction(2) ** (max(k >> m, 1) - bias - m) for k in range(codes)]
            self.beyond = self.values[-1] + (self.values[-1] - self.values[-2]) / 2
            self.over = {"ieee": codes, "fn": codes, "fnuz": 1 << (e + m), "finite": codes - 1}[style]
            self.nan = {"ieee": codes + 1, "fn": codes, "fnuz": 1 << (e + m), "finite": 1 << (e + m)}[style]
        self.middles = [float((a + b) / 2) for a, b in zip(self.values, self.values[1:])]
        self.numbers = [float(v) for v in self.values]

    def is_nan(self, code: int) -> bool:
        if self.name == "f8e8m0fnu":
            return code == 255
        e, m, _, style = FLOATS[self.name]
        low = code & ((1 << (e + m)) - 1)
        return low > self.over if style == "ieee" else low == self.nan if style == "fn" else style == "fnuz" and code == self.nan

    def decode(self, code: int) -> float:
        if self.is_nan(code):
            return math.nan
        top = 1 << (WIDTH[self.name] - 1)
        sign, low = (1, code) if self.name == "f8e8m0fnu" else (-1.0 if code & top else 1.0, code & (top - 1))
        return sign * (self.numbers[low] if low < len(self.numbers) else math.inf)

    def nearest(self, x: float) -> int:
        """Return the code of the nearest value. A tie goes to the even code. For f8e8m0fnu (powers of two only) a tie
        goes up, and a value that is not positive gives NaN.
        """
        if self.name == "f8e8m0fnu":
            return 255 if not 0 < x < self.beyond else bisect.bisect_right(self.middles, x)
        if x != x:
            return self.nan
        a, style = abs(x), FLOATS[self.name][3]
        sign = 1 << (WIDTH[self.name] - 1) if math.copysign(1, x) < 0 else 0
        if a > self.beyond or (a == self.beyond and len(self.values) % 2 == 0):
            return self.over if style == "fnuz" else sign | self.over
        code = bisect.bisect_left(self.middles, a)
        if code < len(self.middles) and a == self.middles[code]:
            code += code % 2
        return 0 if style == "fnuz" and code == 0 else sign | code


TABLES = {name: Table(name) for name in [*FLOATS, "f8e8m0fnu"]}
CODES = {"f32": "f", "f64": "d"}


def pack(name: str, codes: Sequence[int]) -> bytes:
    """Pack codes into a buffer. Codes of narrow types share a byte, the first in the low bits."""
    width = WIDTH[name]
    if width < 8:
        return sum(code << k * width for k, code in enumerate(codes)).to_bytes(-(-len(codes) * width // 8), "little")
    return b"".join(code.to_bytes(width // 8, "little") for code in codes)


def unpack(name: str, data: bytes) -> List[int]:
    width = WIDTH[name]
    if width < 8:
        return [byte >> k * width & ((1 << width) - 1) for byte in data for k in range(8 // width)]
    return [int.from_bytes(data[k:k + width // 8], "little") for k in range(0, len(data), width // 8)]


def module(parameters: "Sequence[Tuple[str, int]]", results: "Sequence[Tuple[str, int, str]]") -> str:
    """Return a module of one fusion. parameters: (type, size) of p0, p1, ..; results: (type, size, op)."""
    lines = [f"  p{k} = {name}[{size}] parameter({k})" for k, (name, size) in enumerate(parameters)]
    lines += [f"  r{k} = {name}[{size}] {op}" for k, (name, size, op) in enumerate(results)]
    shapes = ", ".join(f"{name}[{size}]" for name, size, _ in results)
    return "f {\n" + "\n".join(lines) + f"\n  ROOT t = ({shapes}) tuple({', '.join(f'r{k}' for k in range(len(results)))})\n}}\n"


def probes(*more: str) -> List[float]:
    """Return doubles for rounding tests: every value of every small type and of the types `more`, every midpoint
    between two values, and the doubles directly above and below each of these numbers. All occur with both signs.
    """
    found = {0.0, math.inf, 1e-300, 1e300, 5e-324, 65504.0, 65519.0, 65520.0}
    for name in {*SMALL, *more}:
        table = TABLES[name]
        step = 7 if name in more and len(table.numbers) > 255 else 1    # of the many values of a 16-bit type, only every seventh
        for x in [*table.numbers[::step], *table.middles[::step], float(table.beyond)]:
            found |= {x, x * (1 + 2 ** -52), x * (1 - 2 ** -53)}
    return [math.nan, *sorted(found | {-x for x in found}), -0.0]


def as_f32(x: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def codes_of(name: str, values: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}{CODES[name]}", *values)


def same(name: str, got: Sequence[int], wanted: Sequence[int], sources: Sequence[object]) -> None:
    """Return whether the codes are equal or both mean NaN."""
    table = TABLES[name]
    wrong = [(s, g, w) for s, g, w in zip(sources, got, wanted) if g != w and not (table.is_nan(g) and table.is_nan(w))]
    assert not wrong, f"{name}: {len(wrong)} wrong; source, found, expected: {wrong[:5]}"


def ours(name: str, code: int) -> float:
    return TABLES[name].decode(code)


@pytest.mark.parametrize("name, target", [(name, target) for name in [*SMALL, "f16", "bf16"] for target in TARGETS]
                         if SWEEP else [pytest.param("f8e4m3fn", "opencl", marks=pytest.mark.peer), ("f8e5m2fnuz", "c")])
def test_every_conversion(name: str, target: str, tmp_path: Path) -> None:
    """Every value of a small float converts correctly to f32, f64, f16, bf16 and every other small float. Every f16 and
    bf16 value, and midpoints between two values, convert correctly to the small float.
    """
    wide = probes(name)
    single = [as_f32(x) for x in wide]
    small = SMALL if SWEEP else [name, "f8e5m2"]
    sizes = {**{one: 1 << WIDTH[one] for one in small}, "f16": 65536, "bf16": 65536, "f32": len(wide), "f64": len(wide)}
    names = list(sizes)
    data = [pack(one, range(sizes[one])) if one in TABLES else codes_of(one, single if one == "f32" else wide) for one in names]
    cases = [(a, b) for a in names for b in names if a != b and name in (a, b)]
    text = module([(one, sizes[one]) for one in names], [(b, sizes[a], f"convert(p{names.index(a)})") for a, b in cases])
    for (a, b), answer in zip(cases, run(text, data, target, tmp_path)):
        sources = [ours(a, code) for code in range(sizes[a])] if a in TABLES else single if a == "f32" else wide
        if b in TABLES:
            same(b, unpack(b, answer), [TABLES[b].nearest(x) for x in sources], sources)
        else:
            got = struct.unpack(f"<{len(sources)}{CODES[b]}", answer)
            assert all(x == y or (x != x and y != y) for x, y in zip(got, sources)), (a, b)
            assert all(math.copysign(1, x) == math.copysign(1, y) for x, y in zip(got, sources) if x == x), (a, b)


def test_tables_are_ml_dtypes() -> None:
    """The tables above equal those of ml_dtypes, the package from which JAX and XLA's interpreter take these types."""
    numpy = pytest.importorskip("numpy", reason="SKIP: no numpy")
    theirs = pytest.importorskip("ml_dtypes", reason="SKIP: no ml_dtypes")
    values = numpy.array(probes())
    half = numpy.arange(65536, dtype=numpy.uint16)
    with numpy.errstate(all="ignore"):
        single = values.astype(numpy.float32)
    sources = [single, *([half.view(numpy.float16), half.view(theirs.bfloat16)] if SWEEP else [])]
    for name in SMALL:
        kind = getattr(theirs, ML_DTYPES[name])
        codes = numpy.arange(1 << WIDTH[name], dtype=numpy.uint8)
        for code, value in zip(codes, codes.view(kind).astype(float)):
            mine = ours(name, int(code))
            assert mine == value or (mine != mine and value != value), (name, code)
        for source in sources:
            with numpy.errstate(all="ignore"):
                got = source.astype(numpy.float32).astype(kind).view(numpy.uint8)
                floats = [float(x) for x in source.astype(float)]
            kept = list(range(len(floats)))
            if name == "f4e2m1fn":    # f4e2m1fn has no NaN: ml_dtypes gives a zero of either sign, sett gives minus zero
                kept = [k for k in kept if floats[k] == floats[k]]
            if name == "f8e8m0fnu":    # between 2^-127 and 2^-126 ml_dtypes rounds everything up, sett only from the midpoint on
                kept = [k for k in kept if not 2.0 ** -127 < floats[k] < 1.5 * 2.0 ** -127]
            same(name, [int(got[k]) for k in kept], [TABLES[name].nearest(floats[k]) for k in kept], [floats[k] for k in kept])


# ---- integers of two and four bits --------------------------------------------------------------------------------------------

def signed(code: int, width: int, name: str) -> int:
    return code - (1 << width) if name[0] == "s" and code >> (width - 1) else code


def divided(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a: int, b: int) -> int:
    return a ** b if b >= 0 else {1: 1, -1: (-1) ** -b}.get(a, 0)


BINARY: Dict[str, Callable[[int, int, int], int]] = {    # functions of two values a and b and the width w
    "add": lambda a, b, w: a + b, "subtract": lambda a, b, w: a - b, "multiply": lambda a, b, w: a * b,
    "divide": lambda a, b, w: divided(a, b) if b else -1, "remainder": lambda a, b, w: a - divided(a, b) * b if b else a,
    "maximum": lambda a, b, w: max(a, b), "minimum": lambda a, b, w: min(a, b), "and": lambda a, b, w: a & b, "or": lambda a, b, w: a | b,
    "xor": lambda a, b, w: a ^ b, "power": lambda a, b, w: power(a, b),
    "mulhi": lambda a, b, w: a * b >> w,
    "shift-left": lambda a, b, w: a << b % (1 << w) if b % (1 << w) < w else 0,
    "shift-right-logical": lambda a, b, w: a % (1 << w) >> b % (1 << w) if b % (1 << w) < w else 0,
    "shift-right-arithmetic": lambda a, b, w: ((a + (1 << (w - 1))) % (1 << w) - (1 << (w - 1))) >> min(b % (1 << w), w)}
UNARY: Dict[str, Callable[[int, int], int]] = {
    "not": lambda a, w: ~a, "negate": lambda a, w: -a, "popcnt": lambda a, w: bin(a % (1 << w)).count("1"),
    "count-leading-zeros": lambda a, w: w - (a % (1 << w)).bit_length()}


@pytest.mark.parametrize("name, target", [(name, target) for name in ("s4", "u4", "s2", "u2") for target in TARGETS]
                         if SWEEP else [("s4", "opencl"), ("u2", "c"), ("s2", "c")])
def test_narrow_integers(name: str, target: str, tmp_path: Path) -> None:
    """Every op is right for every pair of narrow integers, packed in buffers whose last byte is partly used, with
    conversions before and after.
    """
    results: List[Tuple[str, int, str]] = []
    wanted: List[Tuple[str, List[int]]] = []
    w = WIDTH[name]
    pairs = [(a, b) for a in range(1 << w) for b in range(1 << w)] + [(1, 1), (2, 1), (3, 3)]
    n = len(pairs)
    values = [(signed(a, w, name), signed(b, w, name)) for a, b in pairs]
    floats = [k / 4 - 20 for k in range(160)] + [math.nan, math.inf, -math.inf, 1e30, -1e30]
    parameters = [(name, n), (name, n), ("f32", len(floats)), ("s32", 601)]
    data = [pack(name, [a for a, _ in pairs]), pack(name, [b for _, b in pairs]), codes_of("f32", floats), struct.pack("<601i", *range(-300, 301))]
    low, high = (-(1 << (w - 1)), (1 << (w - 1)) - 1) if name[0] == "s" else (0, (1 << w) - 1)

    def result(kind: str, size: int, op: str, answers: Sequence[int]) -> None:
        results.append((kind, size, op))
        wanted.append((kind, [x % (1 << WIDTH[kind]) for x in answers]))

    for op, function in BINARY.items():
        result(name, n, f"{op}(p0, p1)", [function(a, b, w) for a, b in values])
    for op, unary in UNARY.items():
        result(name, n, f"{op}(p0)", [unary(a, w) for a, _ in values])
    if name[0] == "s":
        result(name, n, "abs(p0)", [abs(a) for a, _ in values])
        result(name, n, "sign(p0)", [(a > 0) - (a < 0) for a, _ in values])
    result("pred", n, "compare(p0, p1), direction=LT", [int(a < b) for a, b in values])
    result("s8", n, "convert(p0)", [a for a, _ in values])
    result("s32", n, "convert(p0)", [a for a, _ in values])
    result(name, len(floats), "convert(p2)", [0 if x != x else int(min(max(x, low), high)) for x in floats])
    result(name, 601, "convert(p3)", range(-300, 301))
    result(name, n, "reverse(p0), dimensions={0}", [a for a, _ in values[::-1]])
    result(name, n - 2, f"slice(p0), slice={{[1:{n - 1}]}}", [a for a, _ in values[1:-1]])
    other = ("u" if name[0] == "s" else "s") + name[1:]
    result(other, n, "bitcast-convert(p0)", [a for a, _ in values])
    for (kind, size, op), (_, codes), answer in zip(results, wanted, run(module(parameters, results), data, target, tmp_path)):
        got = unpack(kind, answer)
        assert got[:len(codes)] == codes, (kind, op, [(k, g, c) for k, (g, c) in enumerate(zip(got, codes)) if g != c][:5])
        assert not any(got[len(codes):]), f"{kind} {op}: bits after the end"


NEIGHBOURS = {
    "pair": ("c128[3]", 6, "  n = c64[3] convert(x)\n  ROOT r = c128[3] convert(n)"),
    "parts": ("c128[1]", 2, "  a = f64[1] real(x)\n  b = f64[1] imag(x)\n  c = f32[1] convert(a)\n  d = f32[1] convert(b)\n  e = f64[1] convert(c)\n"
              "  f = f64[1] convert(d)\n  ROOT r = c128[1] complex(e, f)"),
    "sums": ("f64[1,2]", 2, "  z = f64[] constant(0)\n  s = f64[2] reduce(x, z), dimensions={0}, to_apply=add\n  c = f32[2] convert(s)\n"
             "  ROOT r = f64[2] convert(c)")}


@pytest.mark.parametrize("target", TARGETS if SWEEP else ["c"])
@pytest.mark.parametrize("case", NEIGHBOURS)
def test_neighbours_round(case: str, target: str, tmp_path: Path) -> None:
    """Each f64 value rounds to its own nearest f32. (gcc 12 wrongly removes the rounding of two adjacent conversions
    when it vectorizes them.)
    """
    shape, count, lines = NEIGHBOURS[case]
    values = [k + 0.1 for k in range(count)]
    add = "add {\n  a = f64[] parameter(0)\n  b = f64[] parameter(1)\n  ROOT r = f64[] add(a, b)\n}\n" if case == "sums" else ""
    text = f"{add}f {{\n  x = {shape} parameter(0)\n{lines}\n}}\n"
    (answer,) = run(text, [struct.pack(f"<{count}d", *values)], target, tmp_path)
    assert list(struct.unpack(f"<{count}d", answer)) == [as_f32(value) for value in values]


@pytest.mark.parametrize("target", TARGETS if SWEEP else ["c"])
def test_packed_moves(target: str, tmp_path: Path) -> None:
    """Arrays of 4-bit and 2-bit elements have the right packed bytes: parameters, a transpose, a concatenation and a
    constant. This holds whether or not a layout states the element size by E(4).
    """
    text = ("f {\n  a = s4[3,5]{0,1:E(4)} parameter(0)\n  b = s4[3,5] parameter(1)\n"
            "  c = s4[6,5] concatenate(a, b), dimensions={0}\n  t = s4[5,3] transpose(a), dimensions={1,0}\n"
            "  ROOT r = (s4[6,5]{1,0:E(4)}, s4[6,5]{0,1}, s4[5,3]) tuple(c, d, t)\n}\n")
    text = text.replace("  ROOT", "  d = s4[6,5]{0,1} copy(c)\n  ROOT")
    a = [[(5 * i + j) % 16 for j in range(5)] for i in range(3)]
    b = [[(7 * i + 3 * j + 1) % 16 for j in range(5)] for i in range(3)]
    data = [pack("s4", [a[i][j] for j in range(5) for i in range(3)]), pack("s4", [x for row in b for x in row])]
    both = a + b
    wanted = [[x for row in both for x in row], [both[i][j] for j in range(5) for i in range(6)], [a[i][j] for j in range(5) for i in range(3)]]
    for answer, codes in zip(run(text, data, target, tmp_path), wanted):
        assert answer == pack("s4", codes)
    (tmp_path / "again").mkdir()
    text = ("HloModule m\nf {\n  x = u2[7] parameter(0)\n  y = u2[7] parameter(1)\n  ROOT r = u2[7] add(x, y)\n}\nENTRY e {\n  p = u2[7] parameter(0)\n"
            "  k = u2[7] constant({0, 1, 2, 3, 1, 2, 3})\n  ROOT z = u2[7] fusion(p, k), kind=kLoop, calls=f\n}\n")
    assert run(text, [pack("u2", [3] * 7)], target, tmp_path / "again") == [pack("u2", [3, 0, 1, 2, 0, 1, 2])]
