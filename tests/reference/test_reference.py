"""Compile and run the scalar reference and its bound, and compare them with expectations computed here in Python. The
graphs are built by hand, so that neither the reader nor the algebra takes part.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from gen import bounds as of_bounds, hlo, reference as ref
from gen.bounds.files import bounded
from gen.bounds.intervals import RANGES
from gen.bounds.types import Options
from gen.reference import assembly, library
from gen.reference.computation import walked
from gen.reference.emitter import Emitter
from gen.hlo.dtypes import decode, encode
from gen.hlo.opcodes import ELEMENTWISE
from gen.hlo import Computation, Instruction, Shape
from reference_calls import BITS, FOLDER, INTS, WARNINGS, call, compiled, packed, unpacked, within

FLOATS = ["f16", "bf16", "f32", "f64"]
ALL = ["pred"] + INTS + FLOATS
MANTISSA = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
LEAST_EXPONENT = {"f16": -14, "bf16": -126, "f32": -126, "f64": -1022}


# ---- graphs ----------------------------------------------------------------------------------------------------------------


def array(dtype: str, *dims: int, layout: "Optional[Sequence[int]]" = None) -> Shape:
    order = tuple(range(len(dims) - 1, -1, -1)) if layout is None else tuple(layout)
    count = math.prod(dims)
    return Shape(f"{dtype}[{','.join(map(str, dims))}]", "array", dtype, tuple(dims), order, count, -(-count * BITS[dtype] // 8))


class Graph:
    """A computation under construction. Each method adds an instruction and returns it."""

    def __init__(self, name: str = "f") -> None:
        self.computation = Computation(name)

    def add(self, opcode: str, shape: Shape, *operands: Instruction, **attributes: Any) -> Instruction:
        name = f"{opcode}.{len(self.computation.instructions)}"
        i = Instruction(name, opcode, shape, list(operands), attributes, computation=self.computation)
        for operand in operands:
            operand.users.append(i)
        self.computation.instructions.append(i)
        self.computation.root = i
        return i

    def parameter(self, dtype: str, *dims: int, layout: "Optional[Sequence[int]]" = None) -> Instruction:
        i = self.add("parameter", array(dtype, *dims, layout=layout))
        i.parameter_number = len(self.computation.parameters)
        self.computation.parameters.append(i)
        return i

    def constant(self, dtype: str, bits: "int | Sequence[int]", *dims: int) -> Instruction:
        i = self.add("constant", array(dtype, *dims))
        i.literal = [bits] if isinstance(bits, int) else list(bits)
        return i

    def op(self, opcode: str, *operands: Instruction, to: "Optional[str]" = None, **attributes: Any) -> Instruction:
        like = operands[-1].shape
        return self.add(opcode, array(to or like.dtype, *like.dims), *operands, **attributes)

    def tuple(self, *operands: Instruction) -> Instruction:
        shape = Shape("(...)", "tuple", children=tuple(o.shape for o in operands))
        return self.add("tuple", shape, *operands)


# ---- running --------------------------------------------------------------------------------------------------

def run(g: Graph, *inputs: Sequence[int]) -> List[List[int]]:
    """Run the reference and return its results as bit patterns in memory order."""
    library = compiled(ref.reference(g.computation, "t"))
    return evaluate(library, g, inputs)


def evaluate(library: ctypes.CDLL, g: Graph, inputs: Sequence[Sequence[int]]) -> List[List[int]]:
    data = [packed(bits, p.shape.dtype) for bits, p in zip(inputs, g.computation.parameters)]
    leaves = g.computation.root.shape.leaves()
    answers = call(library.t_ref, data, [leaf.bytes for leaf in leaves])
    for a, leaf in zip(answers, leaves):  # the unused bits of the last byte are zero
        assert not any(unpacked(a, leaf.dtype)[leaf.elements:]), leaf.dtype
    return [unpacked(a, leaf.dtype)[:leaf.elements] for a, leaf in zip(answers, leaves)]


def bounds(g: Graph, *inputs: Sequence[int], **options: Any) -> List[List[float]]:
    library = compiled(of_bounds.bound(g.computation, "t", **options))
    data = [packed(bits, p.shape.dtype) for bits, p in zip(inputs, g.computation.parameters)]
    leaves = g.computation.root.shape.leaves()
    answers = call(library.t_bound, data, [8 * leaf.elements for leaf in leaves])
    return [[x for (x,) in struct.iter_unpack("<d", a)] for a in answers]


def test_files_are_joined() -> None:
    """Two reference files can be joined only if equal names in them mean equal code. The joined file gives the results
    of each file.
    """
    a, b = (assembly.File([name], {"one": "static int one(void) { return 1; }", **more}, [f"int {name}(void) {{ return one() + {word}; }}"])
            for name, word, more in (("a", "1", {}), ("b", "two()", {"two": "static int two(void) { return 2; }"})))
    other = assembly.File(["c"], {"one": "static int one(void) { return 5; }"}, ["int c(void) { return one(); }"])
    alone = assembly.File(["d"], {}, ["int d(void) { return 4; }"], alone=True)
    files = assembly.joined([a, other, alone, b])
    assert [file.titles for file in files] == [["a", "b"], ["c"], ["d"]]
    library = compiled(files[0].text, ["-Wno-missing-prototypes", "-Wno-strict-prototypes"])
    assert (library.a(), library.b()) == (2, 3)


# ---- HLO's arithmetic on bit patterns, in Python
# -----------------------------------------------------------------------------------

NAN, INF = math.nan, math.inf


def is_nan(bits: int, dtype: str) -> bool:
    return dtype in FLOATS and math.isnan(decode(bits, dtype))


def same(a: int, b: int, dtype: str) -> bool:
    return a == b or (is_nan(a, dtype) and is_nan(b, dtype))


def wrapped(value: int, dtype: str) -> int:
    return value & ((1 << BITS[dtype]) - 1)


def ulp(value: float, dtype: str) -> float:
    exponent = math.frexp(value)[1] - 1 if value else LEAST_EXPONENT[dtype]
    return math.ldexp(1.0, max(exponent, LEAST_EXPONENT[dtype]) - MANTISSA[dtype])


def float_binary(opcode: str, a: float, b: float, dtype: str) -> int:
    if opcode in ("maximum", "minimum"):
        pick = a if a != a else b if b != b else a if (a >= b if opcode == "maximum" else a <= b) else b
        return encode(pick, dtype)
    if opcode in OF_TWO:
        return encode(OF_TWO[opcode](a, b), dtype)
    if opcode == "remainder":
        return encode(NAN if a != a or b != b or math.isinf(a) or b == 0 else math.fmod(a, b), dtype)
    finite = math.isfinite(a) and math.isfinite(b)
    if opcode == "divide" and b == 0:
        return encode(NAN if a == 0 or a != a else math.copysign(INF, a) * math.copysign(1.0, b), dtype)
    if not finite:
        return encode({"add": lambda: a + b, "subtract": lambda: a - b, "multiply": lambda: a * b,
                       "divide": lambda: a / b}[opcode](), dtype)
    exact = {"add": lambda: Fraction(a) + Fraction(b), "subtract": lambda: Fraction(a) - Fraction(b),
             "multiply": lambda: Fraction(a) * Fraction(b), "divide": lambda: Fraction(a) / Fraction(b)}[opcode]()
    if exact == 0:  # a sum of zeros is +0, unless both terms are -0
        zero = {"add": lambda: a + b, "subtract": lambda: a - b, "multiply": lambda: math.copysign(0.0, a) * math.copysign(1.0, b),
                "divide": lambda: math.copysign(0.0, a) * math.copysign(1.0, b)}[opcode]()
        return encode(zero, dtype)
    negative = exact < 0
    bits = encode(abs(exact), dtype)
    return bits | (int(negative) << (BITS[dtype] - 1))


def c_pow(a: float, b: float) -> float:
    odd = math.isfinite(b) and b % 2 == 1
    try:
        return math.pow(a, b)
    except OverflowError:
        return -INF if a < 0 and odd else INF
    except ValueError:  # a negative base, or zero to a negative power
        if a == 0:
            return math.copysign(INF, a) if odd else INF
        return NAN


def guarded(function: Callable[[float], float], pole: "Optional[float]" = None) -> Callable[[float], float]:
    """Return a function that evaluates `function`, a function of Python's math. Where Python raises an error, it
    returns C's result: infinity for an overflow, -inf at `pole`, otherwise NaN.
    """

    def wrapped_function(x: float) -> float:
        if x != x:
            return x
        try:
            return function(x)
        except OverflowError:
            return INF
        except ValueError:
            return -INF if x == pole else NAN

    return wrapped_function


def cbrt(x: float) -> float:
    if x == 0 or math.isinf(x):
        return x
    with localcontext() as context:
        context.prec = 40
        return math.copysign(float(Decimal(abs(x)) ** (Decimal(1) / Decimal(3))), x)


def round_away(x: float) -> float:
    if not math.isfinite(x) or abs(x) >= 2.0 ** 52:
        return x
    whole = math.floor(abs(Fraction(x)) + Fraction(1, 2))
    return math.copysign(float(whole), x)


def whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: math.copysign(float(function(x)), x) if math.isfinite(x) else x


FUNCTIONS: Dict[str, Callable[[float], float]] = {
    "exponential": guarded(math.exp), "exponential-minus-one": guarded(math.expm1), "log": guarded(math.log, 0.0),
    "log-plus-one": guarded(math.log1p, -1.0), "tanh": guarded(math.tanh),
    "logistic": guarded(lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0), "sine": guarded(math.sin),
    "cosine": guarded(math.cos), "tan": guarded(math.tan), "cbrt": guarded(cbrt),
    "rsqrt": guarded(lambda x: 1 / math.sqrt(x) if x else math.copysign(INF, x)), "erf": guarded(math.erf),
    "sinh": guarded(lambda x: math.copysign(INF, x) if abs(x) > 711 else math.sinh(x)), "cosh": guarded(math.cosh),
    "asin": guarded(math.asin), "acos": guarded(math.acos), "asinh": guarded(math.asinh), "acosh": guarded(math.acosh),
    "atanh": guarded(lambda x: math.copysign(INF, x) if abs(x) == 1 else math.atanh(x)),
}
EXACT_UNARY: Dict[str, Callable[[float], float]] = {
    "floor": whole(math.floor), "ceil": whole(math.ceil), "round-nearest-afz": round_away, "round-nearest-even": whole(round),
    "sign": lambda x: x if x != x or x == 0 else math.copysign(1.0, x), "negate": lambda x: -x, "abs": abs,
    "sqrt": guarded(math.sqrt),
}
OF_TWO: Dict[str, Callable[[float, float], float]] = {"power": c_pow, "atan2": math.atan2}
FLOAT_BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", *OF_TWO]
INT_BINARY = ["add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power", "and", "or", "xor",
              "mulhi", "shift-left", "shift-right-arithmetic", "shift-right-logical"]
INT_UNARY = ["negate", "abs", "sign", "not", "popcnt", "count-leading-zeros"]
PRED_BINARY = ["add", "multiply", "maximum", "minimum", "and", "or", "xor"]


def int_binary(opcode: str, x: int, y: int, dtype: str) -> int:
    """Compute an integer operation on bit patterns."""
    bits = BITS[dtype]
    a, b = decode(x, dtype), decode(y, dtype)
    least = -(1 << (bits - 1))
    if opcode in ("divide", "remainder"):
        if b == 0:
            return wrapped(-1 if opcode == "divide" else a, dtype)
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return wrapped(quotient if opcode == "divide" else a - quotient * b, dtype)
    if opcode == "power":
        if b < 0:
            return wrapped({1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0), dtype)
        return pow(x, b, 1 << bits)
    if opcode.startswith("shift"):
        if y >= bits:
            return wrapped(-1, dtype) if opcode == "shift-right-arithmetic" and x >> (bits - 1) else 0
        signed = x + 2 * least if x >> (bits - 1) else x
        return wrapped({"shift-left": x << y, "shift-right-logical": x >> y, "shift-right-arithmetic": signed >> y}[opcode], dtype)
    return wrapped({"add": a + b, "subtract": a - b, "multiply": a * b, "maximum": max(a, b), "minimum": min(a, b),
                    "and": x & y, "or": x | y, "xor": x ^ y, "mulhi": a * b >> bits}[opcode], dtype)


def int_unary(opcode: str, x: int, dtype: str) -> int:
    a = decode(x, dtype)
    return wrapped({"negate": -a, "abs": abs(a), "sign": (a > 0) - (a < 0), "not": ~a, "popcnt": bin(x).count("1"),
                    "count-leading-zeros": BITS[dtype] - x.bit_length()}[opcode], dtype)


def order_key(x: int, dtype: str) -> int:
    top = 1 << (BITS[dtype] - 1)
    return -(x & (top - 1)) - 1 if x & top else x


def compare(direction: str, kind: "Optional[str]", x: int, y: int, dtype: str) -> int:
    a, b = decode(x, dtype), decode(y, dtype)
    if kind == "TOTALORDER":
        a, b = order_key(x, dtype), order_key(y, dtype)
    return int({"EQ": a == b, "NE": a != b, "LT": a < b, "LE": a <= b, "GT": a > b, "GE": a >= b}[direction])


def converted(x: int, of: str, to: str) -> int:
    a = bool(x) if of == "pred" else decode(x, of)
    if to == "pred":
        return int(a != 0)
    if to in FLOATS:
        if of in INTS and to in ("f16", "bf16"):
            a = decode(encode(a, "f32"), "f32")
        return encode(float(a) if of == "pred" else a, to)
    if of in FLOATS:
        if a != a:
            return 0
        least, most = (-(1 << (BITS[to] - 1)), (1 << (BITS[to] - 1)) - 1) if to[0] == "s" else (0, (1 << BITS[to]) - 1)
        return wrapped(min(max(a, least), most) if math.isinf(a) else min(max(math.trunc(a), least), most), to)
    return wrapped(int(a), to)


def reduced_precision(x: int, dtype: str, exponent_bits: int, mantissa_bits: int) -> int:
    """Return the value with fewer mantissa bits and a smaller range of exponents, as reduce-precision defines."""
    value = decode(x, dtype)
    if value != value or math.isinf(value):
        return x
    sign, m = x >> (BITS[dtype] - 1), MANTISSA[dtype]
    size = x & ((1 << (BITS[dtype] - 1)) - 1)
    if mantissa_bits < m:
        step = 1 << (m - mantissa_bits)
        size = round(Fraction(size, step)) * step
    width = BITS[dtype] - 1 - m
    if exponent_bits < width and size:
        bias, small = (1 << (width - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        exponent = (size >> m) - bias
        if exponent > small:
            size = ((1 << width) - 1) << m
        elif exponent <= -small:
            size = 0
    return size | sign << (BITS[dtype] - 1)


# ---- values ----------------------------------------------------------------------------------------------------------------


def values(dtype: str, seed: int = 1, count: int = 24) -> List[int]:
    """Return the special bit patterns of a type, followed by random ones."""
    rng = random.Random(f"{dtype} {seed}")
    bits = BITS[dtype]
    if dtype == "pred":
        return [0, 1, 1, 0]
    if dtype in INTS:
        top = 1 << (bits - 1)
        special = [0, 1, 2, 3, 7, (1 << bits) - 1, (1 << bits) - 2, top, top - 1, top + 1, bits - 1, bits, bits + 1]
        return [s & ((1 << bits) - 1) for s in special] + [rng.getrandbits(bits) for _ in range(count)]
    m = MANTISSA[dtype]
    infinity = ((1 << (bits - 1 - m)) - 1) << m
    special = [0, 1, (1 << m) - 1, 1 << m, infinity - 1, infinity, infinity + 1, infinity | 1 << (m - 1)]
    special += [encode(v, dtype) for v in (0.5, 1.0, 1.5, 2.5, 3.0, 0.1, 88.5, 100.0, 1000.0, 2147483648.0, 1e19)]
    special += [s | 1 << (bits - 1) for s in special]
    near = [encode(rng.uniform(-4, 4), dtype) for _ in range(count)]
    return special + near + [rng.getrandbits(bits) for _ in range(count)]


def pairs(dtype: str) -> Tuple[List[int], List[int]]:
    """Return all pairs of special values, followed by random pairs."""
    chosen = values(dtype, 2, 6)
    both = list(itertools.product(chosen, chosen))
    both += list(zip(values(dtype, 3, 60), values(dtype, 4, 60)[::-1]))
    return [a for a, _ in both], [b for _, b in both]


def agree(dtype: str, got: int, expected: int, ulps: float = 0) -> bool:
    if same(got, expected, dtype):
        return True
    if not ulps:
        return False
    a, b = decode(got, dtype), decode(expected, dtype)
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= ulps * ulp(b, dtype)


def check(dtype: str, label: str, got: Sequence[int], expected: Sequence[int], inputs: Sequence[Sequence[int]], ulps: float = 0) -> None:
    assert len(got) == len(expected), label
    for k, (a, b) in enumerate(zip(got, expected)):
        assert agree(dtype, a, b, ulps), f"{label} at {k}: {[hex(x[k]) for x in inputs]} -> {a:#x}, expected {b:#x}"


# ---- every op and dtype ----------------------------------------------------------------------------------------------------


def elementwise_graph(dtype: str, count: int) -> Tuple[Graph, List[Tuple[str, Dict[str, Any], str, Sequence[int]]]]:
    """Return a graph with all elementwise ops of a type as one tuple, and a list of (opcode, attributes, result type,
    operands).
    """
    g = Graph()
    a, b = g.parameter(dtype, count), g.parameter(dtype, count)
    p = g.parameter("pred", count)
    made: List[Tuple[str, Dict[str, Any], str, Sequence[int]]] = []
    binary = PRED_BINARY if dtype == "pred" else INT_BINARY if dtype in INTS else FLOAT_BINARY
    unary = ["not"] if dtype == "pred" else INT_UNARY if dtype in INTS else list(FUNCTIONS) + list(EXACT_UNARY)
    made += [(opcode, {}, dtype, (0, 1)) for opcode in binary] + [(opcode, {}, dtype, (0,)) for opcode in unary]
    made += [("compare", {"direction": d}, "pred", (0, 1)) for d in ("EQ", "NE", "LT", "LE", "GT", "GE")]
    made += [("convert", {}, to, (0,)) for to in ALL]
    made += [("select", {}, dtype, (2, 0, 1)), ("clamp", {}, dtype, (1, 0, 0)), ("clamp", {}, dtype, (0, 1, 0))]
    if dtype in FLOATS:
        made += [("compare", {"direction": d, "type": "TOTALORDER"}, "pred", (0, 1)) for d in ("EQ", "LT", "GE")]
        made += [("is-finite", {}, "pred", (0,))]
        made += [("reduce-precision", {"exponent_bits": e, "mantissa_bits": m}, dtype, (0,))
                 for e, m in ((8, 7), (5, 10), (4, 3), (11, 0), (3, 52))]
    three = (a, b, p)
    g.tuple(*[g.op(opcode, *[three[k] for k in used], to=to, **attributes) for opcode, attributes, to, used in made])
    return g, made


def expected_element(opcode: str, attributes: Dict[str, Any], of: str, to: str, x: Sequence[int]) -> int:
    if opcode == "compare":
        return compare(attributes["direction"], attributes.get("type"), x[0], x[1], of)
    if opcode == "convert":
        return converted(x[0], of, to)
    if opcode == "select":
        return x[1] if x[0] else x[2]
    if opcode == "clamp":
        return expected_element("minimum", {}, of, to, [expected_element("maximum", {}, of, to, [x[1], x[0]]), x[2]])
    if opcode == "reduce-precision":
        return reduced_precision(x[0], of, attributes["exponent_bits"], attributes["mantissa_bits"])
    if of == "pred":
        a, b = x[0], x[-1]
        return {"add": a | b, "maximum": a | b, "or": a | b, "multiply": a & b, "minimum": a & b, "and": a & b, "xor": a ^ b,
                "not": 1 - a}[opcode]
    if of in INTS:
        return int_binary(opcode, x[0], x[1], of) if len(x) == 2 else int_unary(opcode, x[0], of)
    a = [decode(v, of) for v in x]
    if opcode == "is-finite":
        return int(math.isfinite(a[0]))
    return float_binary(opcode, a[0], a[1], of) if len(x) == 2 else encode({**FUNCTIONS, **EXACT_UNARY}[opcode](a[0]), of)


def elementwise_inputs(dtype: str) -> List[List[int]]:
    a, b = pairs(dtype)
    return [a, b, [k % 3 % 2 for k in range(len(a))]]


def check_elementwise(dtype: str) -> None:
    inputs = elementwise_inputs(dtype)
    g, made = elementwise_graph(dtype, len(inputs[0]))
    answers = run(g, *inputs)
    for (opcode, attributes, to, used), got in zip(made, answers):
        x = [inputs[k] for k in used]
        known: Dict[Tuple[int, ...], int] = {}
        for column in zip(*x):
            if column not in known:
                known[column] = expected_element(opcode, attributes, dtype, to, column)
        expected = [known[column] for column in zip(*x)]
        inexact = dtype == "f64" and opcode in {**FUNCTIONS, **OF_TWO}
        check(to, f"{opcode} {attributes} of {dtype}", got, expected, x, 4 if inexact else 0)


def test_every_float_op_has_a_value_here() -> None:
    """This file computes the expected value of every float op, and the reference's values and intervals agree with it.
    """
    rows = {row.opcode for row in ELEMENTWISE.values() if "f" in row.kernels and row.result == "operand"}
    assert rows <= {*FUNCTIONS, *EXACT_UNARY, *FLOAT_BINARY}, "no row of FUNCTIONS, OF_TWO, EXACT_UNARY or FLOAT_BINARY"


def test_elementwise_pred() -> None:
    check_elementwise("pred")


def test_elementwise_integers() -> None:
    for dtype in INTS:
        check_elementwise(dtype)


def test_elementwise_f16() -> None:
    check_elementwise("f16")


def test_elementwise_bf16() -> None:
    check_elementwise("bf16")


def test_elementwise_f32() -> None:
    check_elementwise("f32")


def test_elementwise_f64() -> None:
    check_elementwise("f64")


def test_conversions_of_every_small_float() -> None:
    """All 65536 patterns of f16 and of bf16 are converted correctly: to f32 and back, and to each other."""
    every = list(range(65536))
    for dtype, other in (("f16", "bf16"), ("bf16", "f16")):
        g = Graph()
        a = g.parameter(dtype, 65536)
        wide = g.op("convert", a, to="f32")
        g.tuple(wide, g.op("convert", wide, to=dtype), g.op("convert", a, to=other))
        wide_bits, back, across = run(g, every)
        expected = [struct.unpack("<I", struct.pack("<f", x))[0] if x == x else 0x7FC00000 for x in (decode(b, dtype) for b in every)]
        check("f32", f"{dtype} to f32", wide_bits, expected, [every])
        check(dtype, f"{dtype} to f32 and back", back, every, [every])
        check(other, f"{dtype} to {other}", across, [encode(decode(b, dtype), other) for b in every], [every])


def test_rounding_to_small_floats() -> None:
    """Values halfway between two small floats, and their neighbours, are rounded correctly. f64 is rounded once;
    rounding it to f32 first would give other results.
    """
    rng = random.Random(5)
    for dtype in ("f16", "bf16"):
        inputs: List[float] = []
        for _ in range(400):
            low = rng.randrange(0, 0x7B00 if dtype == "f16" else 0x7F00)
            a, b = decode(low, dtype), decode(low + 1, dtype)
            middle = (a + b) / 2
            inputs += [middle, math.nextafter(middle, INF), math.nextafter(middle, 0.0), -middle, middle * (1 + 2.0 ** -40)]
        inputs += [65519.999, 65520.0, 3.3961e38, 3.3895313892515355e38, 2.0 ** -25, 2.0 ** -134, 1e-300, 1e300, -1e300]
        bits = [encode(x, "f64") for x in inputs]
        g = Graph()
        g.op("convert", g.parameter("f64", len(bits)), to=dtype)
        check(dtype, f"f64 to {dtype}", run(g, bits)[0], [encode(Fraction(x), dtype) for x in inputs], [bits])


# ---- moves -----------------------------------------------------------------------------------------------------------------


def position(index: Sequence[int], dims: Sequence[int], layout: "Optional[Sequence[int]]" = None) -> int:
    order = range(len(dims) - 1, -1, -1) if layout is None else layout
    step, total = 1, 0
    for d in order:
        total += index[d] * step
        step *= dims[d]
    return total


def indices(dims: Sequence[int]) -> "Iterable[Tuple[int, ...]]":
    return itertools.product(*[range(size) for size in dims])


def laid_out(element: "Callable[[Tuple[int, ...]], int]", dims: Sequence[int], layout: "Optional[Sequence[int]]" = None) -> List[int]:
    result = [0] * math.prod(dims)
    for index in indices(dims):
        result[position(index, dims, layout)] = element(index)
    return result


def test_moves_in_layouts() -> None:
    """Broadcast, transpose, slice, reverse, reshape and copy move every element correctly in every layout, compared with
    an enumeration.
    """
    dims = (2, 3, 4)
    data = {index: 1000 + n for n, index in enumerate(indices(dims))}
    for layout, out_layout in (((2, 1, 0), (0, 1, 2)), ((0, 2, 1), (2, 1, 0)), ((1, 0, 2), (1, 2, 0))):
        cases: List[Tuple[Graph, Tuple[int, ...], Callable[[Tuple[int, ...]], int]]] = []

        def case(opcode: str, out: Tuple[int, ...], element: "Callable[[Tuple[int, ...]], int]", **attributes: Any) -> None:
            g = Graph()
            p = g.parameter("s32", *dims, layout=layout)
            order = out_layout if len(out) == 3 else tuple(range(len(out)))
            g.add(opcode, array("s32", *out, layout=order), p, **attributes)
            cases.append((g, out, element))

        case("copy", dims, lambda i: data[i])
        case("transpose", (4, 2, 3), lambda i: data[(i[1], i[2], i[0])], dimensions=(2, 0, 1))
        case("broadcast", (4, 5, 2, 3), lambda i: data[(i[2], i[3], i[0])], dimensions=(2, 3, 0))
        case("slice", (1, 2, 2), lambda i: data[(i[0] + 1, i[1], 2 * i[2] + 1)], slice=((1, 2, 1), (0, 2, 1), (1, 4, 2)))
        case("reverse", dims, lambda i: data[(1 - i[0], i[1], 3 - i[2])], dimensions=(0, 2))
        case("reshape", (6, 4), lambda i: 1000 + i[0] * 4 + i[1])
        for g, out, element in cases:
            order = g.computation.root.shape.minor_to_major
            got = run(g, laid_out(lambda i: data[i], dims, layout))[0]
            assert got == laid_out(element, out, order), (g.computation.root.opcode, layout)


def test_bitcast_keeps_memory() -> None:
    """A bitcast keeps the bytes, for all layouts and to another type of the same width."""
    rng = random.Random(3)
    for layout, out_layout, out in (((0, 1, 2), (2, 1, 0), (4, 3, 2)), ((1, 2, 0), (0, 1), (6, 4)), ((2, 1, 0), (2, 0, 1), (2, 2, 6))):
        data = [rng.getrandbits(16) for _ in range(24)]
        for to in ("s16", "f16"):
            g = Graph()
            middle = g.add("bitcast", array(to, *out, layout=out_layout), g.parameter("s16", 2, 3, 4, layout=layout))
            assert run(g, data) == [data]
            if to == "s16":  # in every layout the element at the last index is the last one in memory
                g.add("slice", array(to, *[1] * len(out)), middle, slice=tuple((size - 1, size, 1) for size in out))
                assert run(g, data) == [[data[-1]]]
    g = Graph()
    g.add("bitcast-convert", array("u32", 4), g.parameter("f32", 4))
    assert run(g, [0x7FC12345, 1, 0x80000000, 0x7F800001]) == [[0x7FC12345, 1, 0x80000000, 0x7F800001]]
    g = Graph()
    g.add("bitcast-convert", array("u8", 2, 4), g.parameter("f32", 2))
    assert run(g, [0x04030201, 0x08070605]) == [[1, 2, 3, 4, 5, 6, 7, 8]]


def test_pad_and_concatenate() -> None:
    rng = random.Random(7)
    for _ in range(12):
        dims = (rng.randrange(1, 5), rng.randrange(1, 5))
        padding = []
        for size in dims:
            while True:
                low, high, interior = rng.randrange(-2, 4), rng.randrange(-2, 4), rng.randrange(0, 3)
                if low + high + size + (size - 1) * interior >= 0:
                    break
            padding.append((low, high, interior))
        out = tuple(lo + hi + size + (size - 1) * interior for size, (lo, hi, interior) in zip(dims, padding))
        g = Graph()
        p, v = g.parameter("u16", *dims), g.parameter("u16")
        g.add("pad", array("u16", *out), p, v, padding=tuple(padding))

        def element(index: Tuple[int, ...]) -> int:
            source = []
            for i, size, (low, _, interior) in zip(index, dims, padding):
                whole_steps, rest = divmod(i - low, interior + 1)
                if rest or not 0 <= whole_steps < size:
                    return 9
                source.append(whole_steps)
            return 100 + position(source, dims)

        assert run(g, [100 + n for n in range(math.prod(dims))], [9])[0] == laid_out(element, out), (dims, padding)
    g = Graph()
    a, b, c = g.parameter("s8", 2, 1, 2), g.parameter("s8", 2, 3, 2), g.parameter("s8", 2, 0, 2)
    g.add("concatenate", array("s8", 2, 4, 2), a, c, b, dimensions=(1,))
    assert run(g, [1, 2, 3, 4], list(range(10, 22)), [])[0] == [1, 2, 10, 11, 12, 13, 14, 15, 3, 4, 16, 17, 18, 19, 20, 21]


def test_iota_and_constants() -> None:
    for dtype in INTS + FLOATS:
        g = Graph()
        g.tuple(g.add("iota", array(dtype, 3, 300), iota_dimension=1), g.add("iota", array(dtype, 3, 2), iota_dimension=0))
        want = [encode(float(k), dtype) if dtype in FLOATS else wrapped(k, dtype) for k in range(300)]
        assert run(g) == [want * 3, [w for w in want[:3] for _ in range(2)]], dtype
    for dtype in ALL:
        bits = values(dtype, 9, 40)
        g = Graph()
        c = g.constant(dtype, bits, len(bits))
        g.tuple(c, g.add("reverse", array(dtype, len(bits)), c, dimensions=(0,)))
        assert run(g) == [bits, bits[::-1]], dtype
    g = Graph()
    g.add("broadcast", array("f64", 2, 2), g.constant("f64", encode(0.1, "f64")), dimensions=())
    assert run(g) == [[encode(0.1, "f64")] * 4]


def test_empty_and_scalar() -> None:
    g = Graph()
    a, s = g.parameter("f32", 3, 0, 2), g.parameter("f32")
    total = g.add("reduce", array("f32", 3), a, s, dimensions=(1, 2), to_apply=combiner("add", "f32"))
    g.tuple(g.op("tanh", a), total, g.op("negate", s), g.add("reshape", array("f32", 0), a), g.op("copy", s))
    one = encode(1.5, "f32")
    assert run(g, [], [one]) == [[], [one] * 3, [one | 0x80000000], [], [one]]
    assert bounds(g, [], [one]) == [[], [0.0] * 3, [0.0], [], [0.0]]


def test_results_that_are_parameters_or_equal() -> None:
    g = Graph()
    p = g.parameter("s32", 3)
    n = g.op("negate", p)
    inner = Shape("(..)", "tuple", children=(n.shape, p.shape))
    t = g.add("tuple", inner, n, p)
    g.tuple(t, g.add("get-tuple-element", n.shape, t, index=0), p)
    minus = [wrapped(-k, "s32") for k in (1, 2, 3)]
    assert run(g, [1, 2, 3]) == [minus, [1, 2, 3], minus, [1, 2, 3]]


# ---- reduce, map, calls ----------------------------------------------------------------------------------------------------


def combiner(opcode: str, dtype: str) -> Computation:
    g = Graph(opcode)
    g.op(opcode, g.parameter(dtype), g.parameter(dtype))
    return g.computation


def test_reduce_order_and_rounding() -> None:
    """A reduction visits elements in row-major order of the reduced dimensions and rounds after every op, for each type.
    """
    dims, layout, opcodes = (3, 4, 5), (1, 2, 0), ("add", "multiply", "maximum", "minimum")
    for dtype in FLOATS + ["s8", "u64"]:
        data = values(dtype, 11, 60)[-60:] if dtype in INTS else [encode(random.Random(k).uniform(-3, 3), dtype) for k in range(60)]
        init = encode(1.0, dtype) if dtype in FLOATS else 1
        g = Graph()
        p, start = g.parameter(dtype, *dims, layout=layout), g.parameter(dtype)
        cases = list(itertools.product(opcodes, ((0, 2), (1,), (0, 1, 2), ())))
        made = []
        for opcode, gone in cases:
            kept = [size for d, size in enumerate(dims) if d not in gone]
            made.append(g.add("reduce", array(dtype, *kept), p, start, dimensions=gone, to_apply=combiner(opcode, dtype)))
        g.tuple(*made)
        for (opcode, gone), got in zip(cases, run(g, data, [init])):
            want: Dict[Tuple[int, ...], int] = {}
            for index in indices(dims):
                key = tuple(i for d, i in enumerate(index) if d not in gone)
                want[key] = expected_element(opcode, {}, dtype, dtype, [want.get(key, init), data[position(index, dims, layout)]])
            assert got == list(want.values()), (dtype, opcode, gone)


def argmax_graph(count: int) -> Graph:
    """Return a graph of the maximum of each row and its index. The combiner has several ops, a tuple and a constant."""
    c = Graph("argmax")
    m, k, x, n = c.parameter("f32"), c.parameter("s32"), c.parameter("f32"), c.parameter("s32")
    take = c.op("compare", m, x, to="pred", direction="GE")
    zero = c.constant("s32", 0)
    best = c.add("select", array("f32"), take, m, x)
    index = c.op("add", c.add("select", array("s32"), take, k, n), zero)
    c.tuple(best, index)
    g = Graph()
    p = g.parameter("f32", 2, count)
    i = g.add("iota", array("s32", 2, count), iota_dimension=1)
    low, first = g.constant("f32", 0xFF800000), g.constant("s32", wrapped(-1, "s32"))
    shapes = (array("f32", 2), array("s32", 2))
    g.add("reduce", Shape("(..)", "tuple", children=shapes), p, i, low, first, dimensions=(1,), to_apply=c.computation)
    return g


def test_reduce_variadic() -> None:
    data = [float(x) for x in (3, 1, 4, 1, 5, 9, 2, 6, 9, 3, 5, 8)]
    bits = [encode(x, "f32") for x in data]
    assert run(argmax_graph(6), bits) == [[encode(9.0, "f32")] * 2, [5, 2]]
    assert bounds(argmax_graph(6), bits) == [[0.0, 0.0], [0.0, 0.0]]
    # A combiner whose results read each other: (a, b) -> (b + x, a). Both results must change at the same time.
    c = Graph("swap")
    a, b, x, y = [c.parameter("s32") for _ in range(4)]
    c.tuple(c.op("add", b, x), a)
    g = Graph()
    p, zero = g.parameter("s32", 4), g.constant("s32", 0)
    g.add("reduce", Shape("(..)", "tuple", children=(array("s32"), array("s32"))), p, p, zero, zero, dimensions=(0,),
          to_apply=c.computation)
    assert run(g, [1, 10, 100, 1000]) == [[1010], [101]]


def test_map_call_and_fusion() -> None:
    body = Graph("body")
    x, y = body.parameter("f32"), body.parameter("f32")
    product = body.op("multiply", x, y)
    body.op("subtract", product, body.constant("f32", encode(0.5, "f32")))
    inner = Graph("inner")
    p, q = inner.parameter("f32", 2, 2), inner.parameter("f32", 2, 2)
    inner.add("map", array("f32", 2, 2), p, q, dimensions=(0, 1), to_apply=body.computation)
    g = Graph()
    a, b = g.parameter("f32", 2, 2), g.parameter("f32", 2, 2)
    first = g.add("fusion", array("f32", 2, 2), a, b, calls=inner.computation, kind="kLoop")
    g.add("call", array("f32", 2, 2), first, a, to_apply=inner.computation)
    data = [encode(v, "f32") for v in (1.0, 2.0, 3.0, 4.0)]
    want = [(v * v - 0.5) * v - 0.5 for v in (1.0, 2.0, 3.0, 4.0)]
    assert run(g, data, data) == [[encode(v, "f32") for v in want]]
    assert bounds(g, data, data) == [[0.0] * 4]


# ---- the bound -------------------------------------------------------------------------------------------------------------


def test_exact_graphs_have_trivial_bounds() -> None:
    g = Graph()
    a, b = g.parameter("bf16", 8), g.parameter("bf16", 8)
    s = g.op("add", g.op("multiply", a, b), a)
    t = g.op("maximum", g.op("sqrt", s), g.op("divide", a, b))
    g.tuple(t, g.op("compare", s, t, to="pred", direction="LT"), g.op("convert", t, to="s8"))
    text = of_bounds.bound(g.computation, "t")
    assert "range" not in text and "malloc" not in text and "params[" not in text
    data = values("bf16", 1, 10)[:8]
    assert bounds(g, data, data) == [[0.0] * 8] * 3
    assert "range" in of_bounds.bound(g.computation, "t", excess_precision=True)
    assert "range" in of_bounds.bound(g.computation, "t", ulps={"divide": 2.5})


def test_function_bounds_are_the_ulps() -> None:
    for dtype in ("f32", "f64"):
        opcodes = [opcode for opcode in sorted(of_bounds.ULPS) if opcode not in ("divide", "sqrt", "hypot")]
        g = Graph()
        x, above_one = g.parameter(dtype, 1), g.parameter(dtype, 1)
        g.tuple(*[g.op(opcode, *[above_one if opcode == "acosh" else x] * ELEMENTWISE[opcode].arity) for opcode in opcodes])
        inputs = [encode(0.625, dtype)], [encode(1.25, dtype)]
        slack = 6 if dtype == "f64" else 1
        for opcode, (value,), (got,) in zip(opcodes, run(g, *inputs), bounds(g, *inputs)):
            unit, budget = ulp(decode(value, dtype), dtype), of_bounds.ULPS[opcode]
            assert budget * unit <= got * (1 + 1e-12) <= (budget + slack) * unit, (dtype, opcode, got / unit)


def test_bound_of_small_types_only_at_boundaries() -> None:
    """In bf16 the bound of tanh is one ulp if an error of 5 ulps of f32 can cross a rounding boundary of bf16.
    Otherwise the bound is 0.
    """
    g = Graph()
    g.op("tanh", g.parameter("bf16", 4000))
    data = [encode(random.Random(k).uniform(-2, 2), "bf16") for k in range(4000)]
    got, results = bounds(g, data)[0], run(g, data)[0]
    moved = 0
    for b, r, x in zip(got, results, data):
        v, y = decode(r, "bf16"), math.tanh(decode(x, "bf16"))
        step = 5 * ulp(y, "f32")
        ends = [decode(encode(y + k * step, "bf16"), "bf16") for k in (-1, 1)]
        assert abs(b - max(ends[1] - v, v - ends[0])) <= 1e-12 or step * 0.99 > abs(y - v), (v, y, b)
        moved += b > 0
        assert b <= 2 * ulp(v, "bf16")
    assert moved < 40, moved


def test_bound_special_values() -> None:
    g = Graph()
    a = g.parameter("f32", 6)
    e = g.op("exponential", a)
    d = g.op("subtract", e, e)
    g.tuple(e, g.op("log", a), d, g.op("compare", e, g.op("exponential", g.op("copy", a)), to="pred", direction="LT"),
            g.op("compare", d, d, to="pred", direction="NE"), g.op("floor", e), g.op("convert", e, to="s32"))
    x = [NAN, INF, -INF, -1.0, 0.0, 88.72284]  # e^88.72284 is near the largest float, so a kernel may overflow
    got = bounds(g, [encode(v, "f32") for v in x], ulps={"exponential": 200})
    assert got[0][:2] == [0.0, 0.0] and got[0][2] < 1e-42 and got[0][5] == INF, got[0]
    assert got[1][:4] == [0.0, 0.0, 0.0, 0.0], got[1]    # the bound is 0 where the result must be NaN or an infinity
    assert got[2][1] == 0.0 and got[2][5] == INF    # inf - inf is certainly NaN; the last value may be NaN, so its bound is infinite
    assert got[3][3] == 1.0 and got[3][1] == 0.0
    assert got[4][:5] == [0.0] * 5 and got[4][5] == 1.0    # only NaN differs from itself
    assert got[5][4] == 1.0 and got[5][3] == 0.0           # exp(0) may be just below 1
    assert got[6][4] == 1.0


def perturbed(opcode: str, value: float, dtype: str, rng: random.Random) -> float:
    """Return values that correct kernels may have computed in place of an exact result, before rounding to the type."""
    if opcode not in of_bounds.ULPS or opcode in ("divide", "sqrt") or not math.isfinite(value):
        return value
    wide = "f64" if dtype == "f64" else "f32"
    budget = of_bounds.ULPS[opcode] * rng.choice([-1, 1, 0, rng.uniform(-1, 1)])
    return value + budget * ulp(value, wide)


def random_graph(rng: random.Random, dtype: str, count: int) -> Graph:
    """Return a random chain of float ops on two parameters, in which each op reads earlier values."""
    g = Graph()
    made = [g.parameter(dtype, count), g.parameter(dtype, count)]
    unary = list(FUNCTIONS) + list(EXACT_UNARY)
    for _ in range(rng.randrange(2, 7)):
        if rng.random() < 0.5:
            made.append(g.op(rng.choice(unary), made[-1]))
        elif rng.random() < 0.15:
            p = g.op("compare", made[-1], rng.choice(made), to="pred", direction=rng.choice(["LT", "GE", "EQ"]))
            made.append(g.op("select", p, rng.choice(made), made[-1]))
        else:
            made.append(g.op(rng.choice(FLOAT_BINARY), *rng.sample([made[-1], rng.choice(made)], 2)))
    return g


def simulate(g: Graph, row: Sequence[int], dtype: str, rng: random.Random, excess: bool) -> float:
    """Return the root's value for one element as one possible correct kernel would compute it."""
    known: Dict[int, Any] = {}
    for i in g.computation.instructions:
        x = [known[id(o)] for o in i.operands]
        if i.opcode == "parameter":
            known[id(i)] = decode(row[i.parameter_number], dtype)
            continue
        if i.opcode == "compare":
            known[id(i)] = {"LT": x[0] < x[1], "GE": x[0] >= x[1], "EQ": x[0] == x[1]}[i.attributes["direction"]]
            continue
        if i.opcode == "select":
            known[id(i)] = x[1] if x[0] else x[2]
            continue
        arithmetic = "f32" if excess and rng.random() < 0.5 and i is not g.computation.root else dtype
        if len(x) == 2:
            if i.opcode in OF_TWO:
                y = OF_TWO[i.opcode](*x)
                known[id(i)] = decode(encode(perturbed(i.opcode, y, dtype, rng), arithmetic), arithmetic)
            else:
                known[id(i)] = decode(float_binary(i.opcode, x[0], x[1], arithmetic), arithmetic)
        else:
            y = {**FUNCTIONS, **EXACT_UNARY}[i.opcode](x[0])
            known[id(i)] = decode(encode(perturbed(i.opcode, y, dtype, rng), arithmetic), arithmetic)
    value = known[id(g.computation.root)]
    return decode(encode(value, dtype), dtype)


def check_sound(dtype: str, seeds: "Iterable[int]", excess: bool) -> None:
    """Check that simulated kernels stay within the bound, and that the bound is finite for most elements."""
    finite = total = 0
    for seed in seeds:
        rng = random.Random(f"{dtype} {seed}")
        rows = [[encode(rng.uniform(-3, 3), dtype), encode(rng.choice([rng.uniform(0, 2), rng.uniform(-9, 9)]), dtype)] for _ in range(60)]
        specials = values(dtype, seed, 0)
        rows += [[rng.choice(specials), rng.choice(specials)] for _ in range(20)]
        g = random_graph(rng, dtype, len(rows))
        columns = [[row[k] for row in rows] for k in (0, 1)]
        reference, allowed = run(g, *columns)[0], bounds(g, *columns, excess_precision=excess)[0]
        for row, bits, limit in zip(rows, reference, allowed):
            assert limit >= 0
            total += 1
            finite += limit < INF
            for _ in range(4):
                got = simulate(g, row, dtype, rng, excess)
                assert within(got, decode(bits, dtype), limit), (
                    seed, [i.opcode for i in g.computation.instructions], [decode(r, dtype) for r in row], got, decode(bits, dtype), limit)
    assert finite > total * 0.6, (finite, total)


def test_bound_is_sound_f32() -> None:
    check_sound("f32", range(9), False)


def test_bound_is_sound_bf16() -> None:
    check_sound("bf16", range(6), False)


def test_bound_is_sound_f64() -> None:
    check_sound("f64", range(6), False)


def test_bound_is_sound_excess_precision() -> None:
    check_sound("bf16", range(4), True)
    check_sound("f16", range(4), True)


def rounded_sum(order: Sequence[float], opcode: str, dtype: str) -> float:
    """Return a sum computed in random order: neighbours are added until one value is left."""
    row = list(order)
    rng = random.Random(len(row))
    while len(row) > 1:
        k = rng.randrange(len(row) - 1)
        row[k:k + 2] = [decode(float_binary(opcode, row[k], row[k + 1], dtype), dtype)]
    return row[0]


def test_reduce_bound_in_any_order() -> None:
    rng = random.Random(17)
    for dtype, opcode in (("f32", "add"), ("bf16", "add"), ("f64", "add"), ("f32", "multiply"), ("f16", "multiply")):
        n = 40
        spread = (lambda: rng.uniform(0.7, 1.4)) if opcode == "multiply" else (lambda: rng.uniform(-1, 1) * 2.0 ** rng.randrange(6))
        rows = [[decode(encode(spread(), dtype), dtype) for _ in range(n)] for _ in range(8)]
        init = 0.0 if opcode == "add" else 1.0
        g = Graph()
        g.add("reduce", array(dtype, 8), g.parameter(dtype, 8, n), g.constant(dtype, encode(init, dtype)), dimensions=(1,),
              to_apply=combiner(opcode, dtype))
        data = [encode(x, dtype) for row in rows for x in row]
        results, allowed = run(g, data)[0], bounds(g, data)[0]
        unit = 2.0 ** -(MANTISSA[dtype] + 1)
        for row, bits, limit in zip(rows, results, allowed):
            v = decode(bits, dtype)
            mass = sum(map(abs, row)) if opcode == "add" else abs(v) * 1.3
            assert limit <= (3.3 if dtype == "f64" else 1.1) * (n + 1) * unit * mass + ulp(v, dtype), (dtype, limit)
            for _ in range(12):
                assert within(rounded_sum(rng.sample(row, n) + [init], opcode, dtype), v, limit), (dtype, opcode)
        assert bounds(g, data, reassociate=False)[0] == [0.0] * 8
    g = Graph()
    g.add("reduce", array("f32"), g.parameter("f32", 3), g.constant("f32", 0), dimensions=(0,), to_apply=combiner("add", "f32"))
    big = 3e38
    for row, want in (([big, big, -big], INF), ([INF, 1.0, 2.0], 0.0), ([INF, -INF, 2.0], 0.0), ([NAN, INF, 1.0], 0.0)):
        assert bounds(g, [encode(x, "f32") for x in row])[0] == [want], row


def test_reduce_of_inexact_values() -> None:
    """The bound of a sum of functions includes the errors of the sum and of the functions. The bound of a maximum of
    functions includes the functions' errors.
    """
    rng = random.Random(23)
    for opcode in ("add", "maximum"):
        g = Graph()
        e = g.op("exponential", g.parameter("f32", 6, 30))
        g.add("reduce", array("f32", 6), e, g.constant("f32", 0), dimensions=(1,), to_apply=combiner(opcode, "f32"))
        data = [encode(rng.uniform(-2, 2), "f32") for _ in range(180)]
        results, allowed = run(g, data)[0], bounds(g, data)[0]
        for k in range(6):
            row = [math.exp(decode(x, "f32")) for x in data[30 * k:30 * k + 30]]
            assert 0 < allowed[k] < 1e-4 * sum(row)
            for _ in range(12):
                shaken = [decode(encode(perturbed("exponential", y, "f32", rng), "f32"), "f32") for y in row]
                got = rounded_sum(rng.sample(shaken, 30) + [0.0], opcode, "f32")
                assert within(got, decode(results[k], "f32"), allowed[k])


def test_bounds_follow_the_layout() -> None:
    g = Graph()
    p = g.parameter("f32", 2, 3, layout=(0, 1))
    g.add("tanh", array("f32", 2, 3, layout=(0, 1)), p)
    xs = [0.0, 0.1, 1e-3, 1e3, 1e-6, 0.5]
    got = bounds(g, [encode(x, "f32") for x in xs])[0]
    for x, b in zip(xs, got):
        assert abs(b - 5 * ulp(math.tanh(x), "f32")) <= 1.01 * ulp(math.tanh(x), "f32"), (x, b)


def test_bound_through_moves_and_integers() -> None:
    """Intervals pass through every kind of move. Integers made from uncertain floats have sound intervals too."""
    g = Graph()
    x = g.parameter("f32", 2, 4)
    e = g.op("exponential", x)
    t = g.add("transpose", array("f32", 4, 2), e, dimensions=(1, 0))
    r = g.add("reverse", array("f32", 4, 2), t, dimensions=(0,))
    s = g.add("slice", array("f32", 2, 2), r, slice=((0, 4, 2), (0, 2, 1)))
    b = g.add("bitcast", array("f32", 2, 2, layout=(0, 1)), s)
    c = g.add("concatenate", array("f32", 2, 6), b, x, dimensions=(1,))
    d = g.add("pad", array("f32", 2, 8), c, g.constant("f32", encode(2.0, "f32")), padding=((0, 0, 0), (1, 1, 0)))
    n = g.op("convert", d, to="s32")
    m = g.op("add", g.op("multiply", n, n), g.op("negate", n))
    g.tuple(d, m, g.op("shift-left", n, n), g.op("convert", m, to="f32"))
    data = [encode(v, "f32") for v in (0.0, 1.0, 2.0, 3.0, math.log(2.0), 0.25, 0.5, 0.75)]
    results = run(g, data)
    got = bounds(g, data)
    values_d = [decode(v, "f32") for v in results[0]]
    for k, (v, limit) in enumerate(zip(values_d, got[0])):
        assert (limit == 0) == (k % 8 in (0, 3, 4, 5, 6, 7)), (k, v, limit)
        n_low, n_high = int(v - limit), int(v + limit)
        assert (got[1][k] > 0) == (n_low != n_high) and got[3][k] == got[1][k]
        assert (got[2][k] > 0) == (n_low != n_high)


def test_bits_of_arithmetic_nans_are_free() -> None:
    """Moves keep NaN payloads. The payload of a NaN that an add makes is arbitrary, so its bits as an integer are
    unbounded; the bits of numbers are not.
    """
    g = Graph()
    a, b = g.parameter("f32", 2), g.parameter("f32", 2)
    total = g.op("add", a, b)
    g.tuple(g.add("reverse", array("f32", 2), a, dimensions=(0,)), total, g.add("bitcast-convert", array("s32", 2), total),
            g.op("compare", total, a, to="pred", direction="LT", type="TOTALORDER"), g.op("compare", total, a, to="pred", direction="EQ"))
    assert of_bounds.bitwise(g.computation) == [True, False, False, False, True]
    got = bounds(g, [encode(v, "f32") for v in (INF, 1.0)], [encode(v, "f32") for v in (-INF, 2.0)])
    assert got[0] == got[1] == [0.0, 0.0] and got[2][0] > 2 ** 31 and got[2][1] == 0.0
    assert got[3] == [1.0, 0.0] and got[4] == [0.0, 0.0]


def test_sign_of_zero_from_a_maximum() -> None:
    """The sign of a maximum of both zeros depends on the order, and a later division makes the sign visible. So the
    bound must allow the results of both signs.
    """
    g = Graph()
    m = g.add("reduce", array("f32", 2), g.parameter("f32", 2, 3), g.constant("f32", 0xFF800000), dimensions=(1,),
              to_apply=combiner("maximum", "f32"))
    g.tuple(m, g.op("divide", g.constant("f32", [encode(1.0, "f32")] * 2, 2), m))
    data = [encode(v, "f32") for v in (-0.0, 0.0, -1.0, 1.0, 2.0, 4.0)]
    assert bounds(g, data) == [[0.0, 0.0], [INF, 0.0]]
    assert bounds(g, data, reassociate=False) == [[0.0, 0.0], [0.0, 0.0]]


def integer_graph(dtype: str, count: int) -> Tuple[Graph, List[str]]:
    """Return a graph of every integer op, on integers that are made from uncertain floats."""
    g = Graph()
    x, y = g.parameter("f32", count), g.parameter("f32", count)
    a, b = (g.op("convert", g.op("exponential", p), to=dtype) for p in (x, y))
    binary, unary = (PRED_BINARY, ["not"]) if dtype == "pred" else (INT_BINARY, INT_UNARY)
    made = [g.op(opcode, a, b) for opcode in binary] + [g.op(opcode, a) for opcode in unary]
    made += [g.op("compare", a, b, to="pred", direction=d) for d in ("EQ", "NE", "LT", "LE", "GT", "GE")]
    made += [g.op("clamp", b, a, a), g.op("convert", a, to="pred"), g.op("convert", a, to="u8"), g.op("convert", a, to="s64"),
             g.op("convert", a, to="u64"), g.op("convert", a, to="f32"), g.op("convert", a, to="bf16")]
    g.tuple(*made)
    return g, [i.opcode for i in made]


def test_integer_intervals() -> None:
    """A graph converts results of exp to integers and applies ops to these integers. For every op, the result of a
    kernel whose exp differs in the last bits is within the bound.
    """
    rng = random.Random(31)
    trap = ["-O0", "-fsanitize=undefined,float-cast-overflow", "-fsanitize-undefined-trap-on-error"]
    logs = [math.log(k) for k in (1, 2, 3, 5, 7, 8, 100, 127, 128, 255, 256, 2 ** 31 - 129, 2 ** 40, 2 ** 63, 2 ** 64)]
    xs = [[encode(rng.choice(logs + [0.0, rng.uniform(-1, 3)]), "f32") for _ in range(40)] for _ in range(2)]
    shaken = []
    for column in xs:
        exact = [math.exp(decode(x, "f32")) for x in column]
        shaken.append([[decode(encode(perturbed("exponential", y, "f32", rng), "f32"), "f32") for y in exact] for _ in range(3)])
    for dtype in ["pred", "s8", "u16", "s32", "u32", "s64", "u64"]:
        g, opcodes = integer_graph(dtype, 40)
        types = [o.shape.dtype for o in g.computation.root.operands]
        results, library = run(g, *xs), compiled(of_bounds.bound(g.computation, "t"), trap)
        data = [packed(column, "f32") for column in xs]
        assert in_child(lambda: call(library.t_bound, data, [8 * 40] * len(opcodes)) and None) == 0, dtype
        answers = call(library.t_bound, data, [8 * 40] * len(opcodes))
        allowed = [[v for (v,) in struct.iter_unpack("<d", answer)] for answer in answers]
        for first, second in zip(*shaken):
            floats = [[encode(v, "f32") for v in column] for column in (first, second)]
            ints = [[converted(bits, "f32", dtype) for bits in column] for column in floats]
            for i, opcode, to, expected, limits in zip(g.computation.root.operands, opcodes, types, results, allowed):
                for k in range(40):
                    x = [ints[0][k], ints[1][k]][:len(i.operands)] if opcode != "clamp" else [ints[1][k], ints[0][k], ints[0][k]]
                    got = decode(expected_element(opcode, i.attributes, dtype, to, x), to)
                    assert float(abs(got - decode(expected[k], to))) <= limits[k], (dtype, opcode, to, x, got, limits[k])


# ---- no undefined behaviour, other compilers, size -------------------------------------------------------------------------


def in_child(work: "Callable[[], None]") -> int:
    """Run the work in a forked child and return its wait status."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # the child must not continue as a test run
            print(error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def test_no_undefined_behaviour() -> None:
    trap = ["-O0", "-fsanitize=undefined,float-cast-overflow", "-fsanitize-undefined-trap-on-error"]
    for dtype in ["s8", "s32", "s64", "u32", "f16", "f32"]:
        inputs = elementwise_inputs(dtype)
        g, _ = elementwise_graph(dtype, len(inputs[0]))
        library = compiled(ref.reference(g.computation, "t"), trap)
        assert in_child(lambda: evaluate(library, g, inputs) and None) == 0, dtype
    for dtype in ["f32", "f64"]:
        inputs = elementwise_inputs(dtype)
        g, made = elementwise_graph(dtype, len(inputs[0]))
        library = compiled(of_bounds.bound(g.computation, "t"), trap)
        data = [packed(bits, p.shape.dtype) for bits, p in zip(inputs, g.computation.parameters)]
        assert in_child(lambda: call(library.t_bound, data, [8 * len(inputs[0])] * len(made)) and None) == 0, dtype


def test_clang_takes_it() -> None:
    if shutil.which("clang") is None:
        print("SKIP: no clang")
        return
    for dtype in ("s16", "bf16"):
        g, _ = elementwise_graph(dtype, 8)
        compiled(ref.reference(g.computation, "t"), compiler="clang")
        compiled(of_bounds.bound(g.computation, "t"), compiler="clang")


def test_same_bytes_and_no_paths() -> None:
    g, _ = elementwise_graph("f16", 8)
    for make in (ref.reference, of_bounds.bound):
        text = make(g.computation, "t")
        assert text == make(g.computation, "t")
        assert "sett_" not in text and max(map(len, text.splitlines())) < 400


def test_library_compiles_alone() -> None:
    """values.c and ranges.c compile alone as C11 without a warning. Each function of values.c compiles without the other
    functions, so it calls none of them.
    """
    head = library.VALUES.read_text().split("/* ---- ")[0]
    assert len(library.functions(library.VALUES)) > 40 and len(library.functions(RANGES)) > 60
    alone = "".join(f"#if PIECE == {number}\n{text}\n#endif\n" for number, text in enumerate(library.functions(library.VALUES).values()))
    (FOLDER / "alone.c").write_text(head + alone)
    pieces = [[f"-DPIECE={number}", str(FOLDER / "alone.c")] for number in range(len(library.functions(library.VALUES)))]
    for compiler in ["cc", *filter(shutil.which, ["clang"])]:
        for words in [[str(library.VALUES)], [str(RANGES)], *pieces]:
            said = subprocess.run([compiler, "-std=c11", *WARNINGS, "-fsyntax-only", *words], capture_output=True, text=True)
            assert said.returncode == 0, f"{words}: {said.stderr}"


def test_library_lists() -> None:
    """If a reference calls a library function, the function's text is recorded, except for functions of C's library. A
    list that is too long for a line is wrapped.
    """
    call = library.Calls()
    assert call("f16_to_float", "x[0]") == "f16_to_float(x[0])" and call("exp", "y") == "exp(y)"
    assert list(call.texts) == ["f16_to_float"] and call.texts["f16_to_float"].startswith("static inline float f16_to_float(uint16_t h) {\n")
    assert call.table(("t", "float", list(map(str, range(40))))) == "t"
    lines = call.texts["t"].split("\n")
    assert lines[0] == "static const float t[40] = {" and lines[1].startswith("  0, 1,") and lines[-2].endswith("39,") and lines[-1] == "};"
    assert max(map(len, lines)) <= library.COLUMNS + 2
    assert [library.floats_text(x) for x in (0.0, -0.0, 1.0, -0.1, math.inf, -math.inf, math.nan)] \
        == ["0x0p+0", "-0x0p+0", "0x1p+0", "-0x1.999999999999ap-4", "INFINITY", "-INFINITY", "NAN"]


def test_reference_knows_the_graph_alone() -> None:
    """From the generator, the reference imports only the graph and the printing of C. The packages that make kernels do
    not import the reference. The reference for values imports nothing from the one for bounds.
    """
    common = "gen.hlo", "gen.statements", "gen.reference"
    for package, known in ((ref, common), (of_bounds, (*common, "gen.bounds"))):
        for file in Path(package.__file__).parent.glob("*.py"):
            for module in re.findall(r"^ *(?:from|import) (gen[\w.]*)", file.read_text(), re.M):
                assert module.startswith(known), f"{file.name} imports {module}"
    for file in Path(ref.__file__).parent.parent.rglob("*.py"):
        if file.parent.name in ("plan", "emit", "heroes", "schedule", "targets", "algebra", "lower", "hlo"):
            assert not re.search(r"^ *(from|import) gen(\.| import .*\b)(reference|bounds)", file.read_text(), re.M), f"{file} imports gen.reference"


def test_values_of_a_bound_are_the_reference() -> None:
    """The code of a bound contains every piece of the reference's code, in the same order."""
    for graph in (elementwise_graph("bf16", 8)[0], elementwise_graph("s16", 8)[0]):
        e = Emitter()
        walked(e, graph.computation)
        steps = iter([step.lines for step in bounded(graph.computation, Options(excess_precision=True)).bounds.e.steps])
        assert len(e.steps) > 20 and all(step.lines in steps for step in e.steps)


def test_unknown() -> None:
    """If the bound allows any value for a reason other than rounding, `gen check` states the reason."""
    text = """grow {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  p = f32[] power(a, b)
  ROOT m = f32[] multiply(a, p)
}
f {
  a = f32[8] parameter(0)
  i = s32[8,1] parameter(1)
  e = f32[8] exponential(a)
  c = s32[8] convert(e)
  cc = s32[8,1] reshape(c)
  g = f32[8] gather(a, %s), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
  s = f32[8] scatter(a, i, e), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=%s
  ROOT t = (f32[8], f32[8]) tuple(g, s)
}
"""
    total = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
    for table, combiner, wanted in (("i", "add", []), ("cc", "add", ["rounding decides an index of g"]), ("i", "grow", ["updates of one element meet in s"]),
                                    ("cc", "grow", ["rounding decides an index of g", "updates of one element meet in s"])):
        computation = hlo.fusions(hlo.parse(total + text % (table, combiner), "m.hlo"))[0].computation
        assert of_bounds.unknown(computation) == wanted
