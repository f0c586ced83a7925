"""Test the analysis of combiners (a combiner is the computation of a reduce). Each combiner must get the expected
verdict. The laws that a verdict promises must hold in a plain evaluation of the HLO text.

The evaluator shares no code with the generator. It uses Python numbers, and bit patterns only for TOTALORDER.
SETT_SEED selects other random combiners, SETT_COUNT their number.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import struct
from typing import Any, Dict, List, Sequence, Tuple

import pytest

from gen import bounds, hlo
from gen.hlo import dtypes
from gen.hlo import combiner

SEED = int(os.environ.get("SETT_SEED", "1"))
COUNT = int(os.environ.get("SETT_COUNT", "150"))
NAN, INF = math.nan, math.inf


def module(types: str, body: str, inits: Sequence[str], after: str = "") -> hlo.Module:
    """Return a module with a reduce of arrays of `types`. `body` is the combiner: it names the accumulators a0, a1, ..
    and the elements x0, x1, ..; the last line is its root. An init value "init" is a parameter.
    """
    kinds = types.split()
    heads = [f"  a{k} = {t}[] parameter({k})\n" for k, t in enumerate(kinds)]
    heads += [f"  x{k} = {t}[] parameter({len(kinds) + k})\n" for k, t in enumerate(kinds)]
    lines = [line.strip() for line in body.strip().splitlines()]
    entry = [f"  in{k} = {t}[7] parameter({k})\n" for k, t in enumerate(kinds)]
    for k, (t, value) in enumerate(zip(kinds, inits)):
        number = len(kinds) + inits[:k].count("init")
        entry.append(f"  init{k} = {t}[] " + (f"parameter({number})\n" if value == "init" else f"constant({value})\n"))
    of = f"{kinds[0]}[]" if len(kinds) == 1 else "(" + ", ".join(f"{t}[]" for t in kinds) + ")"
    operands = ", ".join([f"in{k}" for k in range(len(kinds))] + [f"init{k}" for k in range(len(kinds))])
    last = "" if after else "ROOT "
    return hlo.parse(f"HloModule m\nf {{\n{''.join(heads)}  {chr(10).join(lines[:-1])}\n  ROOT {lines[-1]}\n}}\nENTRY e {{\n{''.join(entry)}"
                     f"  {last}r = {of} reduce({operands}), dimensions={{0}}, to_apply=f\n{after}}}\n", "m.hlo")


def analysed(types: str, body: str, inits: Sequence[str], after: str = "") -> "Tuple[hlo.Instruction, combiner.Combiner]":
    reduce = next(i for i in module(types, body, inits, after).entry.instructions if i.opcode == "reduce")   # type: ignore[union-attr]
    return reduce, combiner.analyse(reduce)


# ---- plain evaluation ----------------------------------------------------------------------------------------------


def key(value: Any, dtype: str) -> Any:
    """Return the key by which TOTALORDER compares a value."""
    if isinstance(value, float):
        bits = struct.unpack("<q", struct.pack("<d", value))[0]
        return bits if bits >= 0 else -(bits & (1 << 63) - 1) - 1
    return value


def wrapped(value: Any, dtype: str) -> Any:
    if dtype == "pred":
        return bool(value)
    if isinstance(value, float):
        return struct.unpack("<f", struct.pack("<f", value))[0] if dtype == "f32" and abs(value) < 3e38 else value
    low, high = dtypes.integer_range(dtype)
    return (value - low) % (high - low + 1) + low


def larger(a: Any, b: Any) -> Any:
    return a if a != a else b if b != b else a if a >= b else b


def smaller(a: Any, b: Any) -> Any:
    return a if a != a else b if b != b else a if a <= b else b


PLAIN = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "maximum": larger, "minimum": smaller,
         "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "select": lambda p, a, b: a if p else b,
         "copy": lambda a: a, "tuple": lambda *all: all, "clamp": lambda low, x, high: smaller(larger(x, low), high)}
SIGNS = {"EQ": lambda a, b: a == b, "NE": lambda a, b: a != b, "LT": lambda a, b: a < b, "LE": lambda a, b: a <= b,
         "GT": lambda a, b: a > b, "GE": lambda a, b: a >= b}


def evaluate(computation: hlo.Computation, arguments: Sequence[Any]) -> "Tuple[Any, ...]":
    values: Dict[str, Any] = {}
    for i in computation.instructions:
        v, dtype = [values[o.name] for o in i.operands], i.shape.dtype
        if i.opcode == "parameter":
            values[i.name] = arguments[i.parameter_number or 0]
        elif i.opcode == "constant":
            values[i.name] = dtypes.decode(i.literal[0], dtype)   # type: ignore[index]
        elif i.opcode == "get-tuple-element":
            values[i.name] = v[0][i.attributes["index"]]
        elif i.opcode == "not":
            values[i.name] = not v[0] if dtype == "pred" else wrapped(~v[0], dtype)
        elif i.opcode == "compare":
            total = i.attributes.get("type") == "TOTALORDER"
            values[i.name] = SIGNS[i.attributes["direction"]](*([key(x, dtype) for x in v] if total else v))
        else:
            values[i.name] = PLAIN[i.opcode](*v)
            if i.shape.kind == "array":
                values[i.name] = wrapped(values[i.name], dtype)
    result = values[computation.root.name]   # type: ignore[union-attr]
    return result if isinstance(result, tuple) else (result,)


def same(a: Any, b: Any, near: float = 0.0) -> bool:
    """Return whether values are equal; NaN equals NaN and -0 equals 0."""
    return a == b or (a != a and b != b) or (near > 0 and abs(a - b) <= near)


# ---- verdicts ------------------------------------------------------------------------------------------------------

ARGMAX_JAX = """gt = pred[] compare(a0, x0), direction=GT
    nan = pred[] compare(a0, a0), direction=NE
    first = pred[] or(gt, nan)
    eq = pred[] compare(a0, x0), direction=EQ
    lt = pred[] compare(a1, x1), direction=LT
    tie = pred[] and(eq, lt)
    before = pred[] or(first, tie)
    v = {t}[] select(first, a0, x0)
    i = s32[] select(before, a1, x1)
    r = ({t}[], s32[]) tuple(v, i)"""
ARGMAX_XLA = """ge = pred[] compare(a0, x0), direction=GE
    v = {t}[] select(ge, a0, x0)
    eq = pred[] compare(a0, x0), direction=EQ
    low = s32[] minimum(a1, x1)
    one = s32[] select(ge, a1, x1)
    i = s32[] select(eq, low, one)
    r = ({t}[], s32[]) tuple(v, i)"""
ARGMAX_TIES = """ge = pred[] compare(a0, x0), direction=GE
    v = {t}[] select(ge, a0, x0)
    i = s32[] select(ge, a1, x1)
    r = ({t}[], s32[]) tuple(v, i)"""
ARGMAX_NAN = """gt = pred[] compare(a0, x0), direction=GT
    an = pred[] compare(a0, a0), direction=NE
    xn = pred[] compare(x0, x0), direction=NE
    nx = pred[] not(xn)
    only = pred[] and(an, nx)
    one = pred[] or(gt, only)
    eq = pred[] compare(a0, x0), direction=EQ
    both = pred[] and(an, xn)
    even = pred[] or(eq, both)
    lt = pred[] compare(a1, x1), direction=LT
    tie = pred[] and(even, lt)
    p = pred[] or(one, tie)
    v = {t}[] select(p, a0, x0)
    i = s32[] select(p, a1, x1)
    r = ({t}[], s32[]) tuple(v, i)"""
TOTAL_MAX = """gt = pred[] compare(a0, x0), direction=GT, type=TOTALORDER
    r = {t}[] select(gt, a0, x0)"""
FIRST_NAN = """inf = f32[] constant(inf)
    an = pred[] compare(a0, inf), direction=GT, type=TOTALORDER
    xn = pred[] compare(x0, inf), direction=GT, type=TOTALORDER
    both = pred[] and(an, xn)
    gt = pred[] compare(a0, x0), direction=GT, type=TOTALORDER
    p = pred[] or(both, gt)
    r = f32[] select(p, a0, x0)"""
NEGATIVE_ZERO = """ge = pred[] compare(a0, x0), direction=GE
    v = f32[] select(ge, a0, x0)
    zero = f32[] constant(0)
    minus = pred[] compare(v, zero), direction=LT, type=TOTALORDER
    none = pred[] compare(v, zero), direction=EQ
    both = pred[] and(minus, none)
    some = pred[] or(a1, x1)
    q = pred[] or(some, both)
    r = (f32[], pred[]) tuple(v, q)"""
ROUNDED = """s = f32[] add(a0, x0)
    h = f16[] convert(s)
    r = f32[] convert(h)"""
PAIR = """s = f32[] {0}(a0, x0)
    q = f32[] {1}(x1, a1)
    r = (f32[], f32[]) tuple(s, q)"""
COUNTED = """n = s32[] add(x2, a2)
    """ + ARGMAX_XLA.format(t="f32").replace("r = (f32[], s32[]) tuple(v, i)", "r = (f32[], s32[], s32[]) tuple(v, i, n)")
PLUMBED = """t = (f32[], f32[]) tuple(x0, a0)
    c = (f32[], f32[]) copy(t)
    y = f32[] get-tuple-element(c), index=0
    b = f32[] get-tuple-element(t), index=1
    z = f32[] copy(y)
    s = f32[] add(z, b)
    r = f32[] copy(s)"""
BOUNDED = """low = s32[] constant(-3)
    high = s32[] constant(90)
    m = s32[] maximum(a0, x0)
    r = s32[] clamp(low, m, high)"""
FREE, BUT_NAN, PARTS, ORDER = (True, True, True), (False, True, True), (False, False, True), (False, False, False)

# Each row: the name, the types, the combiner, the init values, then the fields that the verdict (gen/hlo/combiner.py)
# must have: (free, free_but_nan, associative), start, apply_init, and words that its reason must contain.
VERDICTS: "List[Tuple[str, str, str, List[str], Tuple[bool, bool, bool], Any, bool, str]]" = [
    ("sum", "f32", "r = f32[] add(a0, x0)", ["0"], FREE, [0], False, "up to rounding"),
    ("sum turned", "f32", "r = f32[] add(x0, a0)", ["-0.0"], FREE, [0x80000000], False, "any order"),
    ("sum from 2.5", "f32", "r = f32[] add(a0, x0)", ["2.5"], FREE, [0x80000000], True, "any order"),
    ("sum from -inf", "f32", "r = f32[] add(a0, x0)", ["-inf"], FREE, [0xff800000], False, "any order"),
    ("sum from NaN", "f32", "r = f32[] add(a0, x0)", ["nan"], FREE, [0x7fc00000], False, "any order"),
    ("sum from a parameter", "f32", "r = f32[] add(a0, x0)", ["init"], FREE, [0x80000000], True, "any order"),
    ("sum of f16", "f16", "r = f16[] add(a0, x0)", ["1"], FREE, [0x8000], True, "up to rounding"),
    ("sum of bf16", "bf16", "r = bf16[] add(a0, x0)", ["0"], FREE, [0], False, "bf16"),
    ("sum of f64", "f64", "r = f64[] add(a0, x0)", ["init"], FREE, [1 << 63], True, "f64"),
    ("sum of s32", "s32", "r = s32[] add(a0, x0)", ["5"], FREE, [0], True, "add of s32"),
    ("sum of pred", "pred", "r = pred[] add(a0, x0)", ["true"], FREE, [1], False, "any order"),
    ("sum of c64", "c64", "r = c64[] add(a0, x0)", ["init"], FREE, [0x8000000080000000], True, "up to rounding"),
    ("product", "f32", "r = f32[] multiply(a0, x0)", ["1"], FREE, [0x3f800000], False, "multiply"),
    ("product from -0", "f32", "r = f32[] multiply(a0, x0)", ["-0.0"], FREE, [0x3f800000], True, "multiply"),
    ("product of u8", "u8", "r = u8[] multiply(a0, x0)", ["3"], FREE, [1], True, "multiply"),
    ("product of u8 from 0", "u8", "r = u8[] multiply(a0, x0)", ["0"], FREE, [0], False, "multiply"),
    ("maximum", "f32", "r = f32[] maximum(a0, x0)", ["-inf"], FREE, [0xff800000], False, "maximum"),
    ("maximum from 0", "f32", "r = f32[] maximum(x0, a0)", ["0"], FREE, [0], False, "maximum"),
    ("maximum from a parameter", "bf16", "r = bf16[] maximum(a0, x0)", ["init"], FREE, [0xff80], True, "maximum"),
    ("minimum", "f16", "r = f16[] minimum(a0, x0)", ["init"], FREE, [0x7c00], True, "minimum"),
    ("maximum of s32", "s32", "r = s32[] maximum(a0, x0)", ["init"], FREE, [1 << 31], True, "maximum"),
    ("minimum of s8", "s8", "r = s8[] minimum(a0, x0)", ["init"], FREE, [0x7f], True, "minimum"),
    ("minimum of u16", "u16", "r = u16[] minimum(a0, x0)", ["init"], FREE, [0xffff], True, "minimum"),
    ("all", "pred", "r = pred[] and(a0, x0)", ["init"], FREE, [1], True, "and"),
    ("any", "pred", "r = pred[] or(a0, x0)", ["false"], FREE, [0], False, "or"),
    ("and of u32", "u32", "r = u32[] and(a0, x0)", ["init"], FREE, [0xffffffff], True, "and"),
    ("parity", "u64", "r = u64[] xor(a0, x0)", ["7"], FREE, [0], True, "xor"),
    ("plumbing", "f32", PLUMBED, ["0"], FREE, [0], False, "add of f32"),
    ("mean and variance", "f32 f32", PAIR.format("add", "add"), ["0", "init"], FREE, [0, 0x80000000], True, "add"),
    ("least and largest", "f32 f32", PAIR.format("minimum", "maximum"), ["inf", "-inf"], FREE, [0x7f800000, 0xff800000], False, "minimum"),
    ("largest and sum", "f32 f32", PAIR.format("maximum", "add"), ["-inf", "0"], FREE, [0xff800000, 0], False, "add"),
    ("argmax", "f32 s32", ARGMAX_JAX.format(t="f32"), ["-inf", "0"], BUT_NAN, [0xff800000, 0], False, "nan"),
    ("argmax from parameters", "f32 s32", ARGMAX_JAX.format(t="f32"), ["init", "init"], BUT_NAN, [None, None], False, "nan"),
    ("argmin", "f32 s32", ARGMAX_JAX.format(t="f32").replace("GT", "LT"), ["inf", "0"], BUT_NAN, [0x7f800000, 0], False, "nan"),
    ("argmax of bf16", "bf16 s32", ARGMAX_JAX.format(t="bf16"), ["-inf", "0"], BUT_NAN, [0xff80, 0], False, "nan"),
    ("argmax of s8", "s8 s32", ARGMAX_JAX.format(t="s8"), ["-128", "0"], FREE, [0x80, 0], False, "proved"),
    ("argmax of u64", "u64 s32", ARGMAX_XLA.format(t="u64"), ["0", "0"], FREE, [0, 0], False, "proved"),
    ("argmax, least index", "f32 s32", ARGMAX_XLA.format(t="f32"), ["-inf", "0"], (False, True, False), [0xff800000, 0], False, "nan"),
    ("argmax, NaN first", "f32 s32", ARGMAX_NAN.format(t="f32"), ["-inf", "0"], FREE, [0xff800000, 0], False, "proved"),
    ("argmax, first of ties", "s32 s32", ARGMAX_TIES.format(t="s32"), ["-2147483648", "0"], PARTS, [1 << 31, 0], False, "is not f("),
    ("maximum by TOTALORDER", "f32", TOTAL_MAX.format(t="f32"), ["-nan"], FREE, [0xffc00000], False, "proved"),
    ("NaN first by TOTALORDER", "f32", FIRST_NAN, ["-nan"], BUT_NAN, [0xffc00000], False, "nan"),
    ("a negative zero", "f32 pred", NEGATIVE_ZERO, ["0", "false"], ORDER, None, True, "is not f("),
    ("select by GT", "f32", TOTAL_MAX.format(t="f32").replace(", type=TOTALORDER", ""), ["0"], (False, True, False), [0], False, "nan"),
    ("bounded maximum", "s32", BOUNDED, ["7"], FREE, [7], False, "proved"),
    ("bounded maximum from below", "s32", BOUNDED, ["-9"], FREE, None, True, "proved"),
    ("argmax and a count", "f32 s32 s32", COUNTED, ["-inf", "0", "0"], (False, True, False), [0xff800000, 0, 0], False, "nan"),
    ("argmax and a count from 4", "s8 s32 s32", COUNTED.replace("f32", "s8"), ["0", "0", "4"], FREE, [0, 0, 0], True, "add of s32"),
    ("argmax and a sum", "f32 s32 f32", COUNTED.replace("n = s32", "n = f32").replace("s32[], s32[])", "s32[], f32[])"), ["0", "0", "0"], ORDER, None,
     True, "'add' of f32"),
    ("the last", "f32", "r = f32[] copy(x0)", ["0"], PARTS, None, True, "is not f("),
    ("the first", "f32", "r = f32[] copy(a0)", ["0"], PARTS, [0], False, "is not f("),
    ("difference", "f32", "r = f32[] subtract(a0, x0)", ["0"], ORDER, None, True, "'subtract' of f32"),
    ("sum of squares", "f32", "q = f32[] multiply(x0, x0)\nr = f32[] add(a0, q)", ["0"], ORDER, None, True, "'multiply' of f32"),
    ("rounded sum", "f32", ROUNDED, ["0"], ORDER, None, True, "'add' of f32"),
    ("maximum of a sum", "f32", "s = f32[] add(a0, x0)\nr = f32[] maximum(s, a0)", ["0"], ORDER, None, True, "'add' of f32"),
    ("neither", "pred", "o = pred[] or(a0, x0)\nr = pred[] not(o)", ["false"], ORDER, None, True, "f(f(a, b), c)"),
    ("doubled", "s32", "r = s32[] add(x0, x0)", ["0"], ORDER, None, True, "'add' of s32"),
    ("crossed", "s32 s32", "m = s32[] maximum(a0, a1)\nn = s32[] maximum(x0, x1)\nr = (s32[], s32[]) tuple(m, n)", ["0", "0"], ORDER, None,
     True, "f("),
    ("many", "s32 s32 s32 s32", """lt = pred[] compare(a0, x0), direction=LT
        u = s32[] select(lt, a1, x1)
        v = s32[] select(lt, a2, x2)
        w = s32[] select(lt, a3, x3)
        m = s32[] minimum(a0, x0)
        z = s32[] constant(0)
        c = s32[] maximum(u, z)
        d = s32[] maximum(v, z)
        r = (s32[], s32[], s32[], s32[]) tuple(m, c, d, w)""", ["0", "0", "0", "0"], ORDER, None, True, "more than"),
]
BY_NAME = {row[0]: row for row in VERDICTS}


@pytest.mark.parametrize("name", BY_NAME)
def test_verdict(name: str) -> None:
    _, types, body, inits, laws, start, apply_init, word = BY_NAME[name]
    _, found = analysed(types, body, inits)
    assert (found.free, found.free_but_nan, found.associative) == laws, found
    assert (found.start, found.apply_init) == (start, apply_init), found
    assert word in found.reason and found.reason.startswith("any order" if found.free else "in order"), found


def test_zero_sign() -> None:
    """An argmax that keeps the first of two equal elements also keeps the first of two zeros of different sign. If a
    later op divides by the result, the sign matters, so the order of elements must be kept. For a single maximum
    the order need not be kept, because the reference's bound allows either zero.
    """
    for body, types, of in ((ARGMAX_NAN.format(t="f32"), "f32 s32", "get-tuple-element(r), index=0"),
                            ("r = f32[] maximum(a0, x0)", "f32", "copy(r)")):
        inits = ["-inf", "0"][:len(types.split())]
        for op, free in (("divide", types == "f32"), ("add", True)):
            after = f"  v = f32[] {of}\n  ROOT w = f32[] {op}(v, v)\n"
            found = analysed(types, body, inits, after)[1]
            assert found.free is free and (free or "sign of a zero" in found.reason), (body, op, found)


def test_bound_of_any_order() -> None:
    """If kernels may add floats in any order, the reference's bound allows for any order."""
    for name, *_ in VERDICTS:
        reduce, found = analysed(*BY_NAME[name][1:4])
        if "up to rounding" in found.reason and "c64" not in BY_NAME[name][1]:
            text = bounds.bound(reduce.computation, "k")   # type: ignore[arg-type]
            assert all(f"range_{word} total" in text for op, word in (("add of", "sum"), ("multiply of", "product")) if op in found.reason), name


def test_other_element_type() -> None:
    """If the accumulator's type differs from the element's, partial results cannot be combined."""
    text = """f {\n a = f32[] parameter(0)\n x = bf16[] parameter(1)\n y = f32[] convert(x)\n ROOT r = f32[] add(a, y)\n}
ENTRY e {\n p = bf16[7] parameter(0)\n i = f32[] constant(0)\n ROOT r = f32[] reduce(p, i), dimensions={0}, to_apply=f\n}\n"""
    found = combiner.analyse(hlo.parse(text, "m.hlo").entry.root)   # type: ignore[union-attr, arg-type]
    assert not (found.free or found.free_but_nan or found.associative) and "bf16" in found.reason


# ---- the laws, on random arrays ------------------------------------------------------------------------------------


def drawn(dtype: str, draw: random.Random, nan: bool) -> Any:
    """Return random elements with few different values, so that ties are frequent."""
    if dtype == "pred":
        return draw.random() < 0.5
    if dtype in ("f16", "bf16", "f32", "f64"):
        return draw.choice([-0.0, 0.0, 1.0, 1.5, -2.0, 3.0, INF, -INF, *([NAN, -NAN] if nan else [])])
    low, high = dtypes.integer_range(dtype)
    return draw.choice([low, high, max(low, -3), min(high, 3), min(high, 7), 0])


def in_order(computation: hlo.Computation, elements: Sequence[Tuple[Any, ...]], init: Tuple[Any, ...]) -> Tuple[Any, ...]:
    for x in elements:
        init = evaluate(computation, [*init, *x])
    return init


def grouped(computation: hlo.Computation, parts: "List[Tuple[Any, ...]]", draw: random.Random, shuffle: bool) -> Tuple[Any, ...]:
    """Combine two random neighbours of the partial results, until one result is left. With `shuffle`, the two are
    sometimes exchanged.
    """
    while len(parts) > 1:
        at = draw.randrange(len(parts) - 1)
        first, second = parts[at], parts.pop(at + 1)
        if shuffle and draw.random() < 0.5:
            first, second = second, first
        parts[at] = evaluate(computation, [*first, *second])
    return parts[0]


def differs(reduce: hlo.Instruction, found: combiner.Combiner, draw: random.Random, shuffle: bool, nan: bool) -> str:
    """Reduce random elements in order, and in parts as a kernel does. Return a difference between the results as text,
    or "".
    """
    half = len(reduce.operands) // 2
    computation = reduce.called[0]
    kinds = [p.shape.dtype for p in computation.parameters[:half]]
    init = tuple(dtypes.decode(o.literal[0], o.shape.dtype) if o.opcode == "constant" and o.literal else drawn(o.shape.dtype, draw, nan)
                 for o in reduce.operands[half:])
    elements = [tuple(drawn(t, draw, nan) for t in kinds) for _ in range(draw.randrange(1, 9))]
    want = in_order(computation, elements, init)
    moved = draw.sample(elements, len(elements)) if shuffle else elements
    cuts = sorted(draw.randrange(len(moved) + 1) for _ in range(3))
    pieces = [moved[a:b] for a, b in zip([0, *cuts], [*cuts, len(moved)])]
    if found.start is None:
        parts = [in_order(computation, p[1:], p[0]) for p in pieces if p]
    else:
        start = tuple(i if s is None else dtypes.decode(s, t) for i, s, t in zip(init, found.start, kinds))
        parts = [in_order(computation, p, start) for p in pieces]
    got = grouped(computation, [init, *parts] if found.apply_init else parts, draw, shuffle)
    rough = "multiply" in found.reason
    if all(same(g, w, 1e-5 * abs(w) if rough and isinstance(w, float) and math.isfinite(w) else 0.0) for g, w in zip(got, want)):
        return ""
    return f"init {init}, elements {elements}, parts {pieces}: {got}, in order {want}"


@pytest.mark.parametrize("name", BY_NAME)
def test_laws(name: str) -> None:
    """A law that the analysis promises holds for random orders and groups of elements. If the analysis denies a law with
    a counterexample, at least one random order or group violates the law.
    """
    _, types, body, inits, laws, *_ = BY_NAME[name]
    if "c64" in types or "convert" in body:   # plain evaluation has no complex numbers and no converts
        return
    reduce, found = analysed(types, body, inits)
    draw = random.Random(f"{SEED}{name}")
    for shuffle, nan, promised in ((True, True, found.free), (True, False, found.free_but_nan), (False, True, found.associative)):
        wrong = next(filter(None, (differs(reduce, found, draw, shuffle, nan) for _ in range(300 if promised else 2000))), "")
        if promised:
            assert not wrong, f"{found}: {wrong}"
        elif "is not f(" in found.reason and name != "the first" and "TOTALORDER" not in body:
            # the drawn elements break none of the laws that are denied for "the first" and TOTALORDER
            assert wrong or (not nan and "f32" not in types), f"{found}: nothing shows it (shuffle {shuffle}, NaN {nan})"


def test_sums_in_any_order() -> None:
    """Sums of small integers are exact in any order, so a difference would show a wrong start value or a wrong use of
    init.
    """
    draw = random.Random(SEED)
    for init in ("0", "2.5", "-0.0", "init"):
        reduce, found = analysed("f32 f32", PAIR.format("add", "maximum"), [init, "init"])
        assert found.free
        assert not list(filter(None, (differs(reduce, found, draw, True, True) for _ in range(500))))


# ---- random combiners, tested on every value of a small type -------------------------------------------------------


def random_body(kinds: Sequence[str], draw: random.Random) -> str:
    """Return the body of a random combiner on small integers: comparisons, selects, minima, maxima and constants."""
    numbers = [f"{v}{k}" for v in "ax" for k in range(len(kinds))]
    of = {f"{v}{k}": t for v in "ax" for k, t in enumerate(kinds)}
    preds: List[str] = []
    lines: List[str] = []

    def add(text: str, dtype: str, to: List[str]) -> str:
        name = f"n{len(lines)}"
        lines.append(f"{name} = {dtype}[] {text}")
        of[name] = dtype
        to.append(name)
        return name

    for t in dict.fromkeys(kinds):
        if draw.random() < 0.4:
            low, high = dtypes.integer_range(t)
            add(f"constant({draw.randrange(low, high + 1)})", t, numbers)
    for _ in range(draw.randrange(1, 5)):
        a = draw.choice(numbers)
        b = draw.choice([n for n in numbers if of[n] == of[a]])
        if draw.random() < 0.6 or not preds:
            add(f"compare({a}, {b}), direction={draw.choice(list(SIGNS))}", "pred", preds)
        elif draw.random() < 0.5:
            add(f"{draw.choice(['and', 'or', 'xor'])}({draw.choice(preds)}, {draw.choice(preds)})", "pred", preds)
        else:
            add(f"{draw.choice(['maximum', 'minimum'])}({a}, {b})", of[a], numbers)
    roots = []
    for t in kinds:
        a, b = (draw.choice([n for n in numbers if of[n] == t]) for _ in "ab")
        roots.append(add(f"select({draw.choice(preds)}, {a}, {b})" if draw.random() < 0.7 else f"minimum({a}, {b})", t, numbers))
    if len(kinds) == 1:
        lines.append(lines[-1].replace(roots[0], "r", 1) if roots[0] == lines[-1].split()[0] else f"r = {kinds[0]}[] copy({roots[0]})")
    else:
        lines.append("r = (" + ", ".join(f"{t}[]" for t in kinds) + ") tuple(" + ", ".join(roots) + ")")
    return "\n".join(lines)


def brute(computation: hlo.Computation, kinds: Sequence[str], init: Tuple[int, ...]) -> Tuple[bool, bool, bool]:
    """Return, by trying all values, whether the combiner is commutative, whether it is associative, and whether
    combining init once more changes nothing.
    """
    def numbers(t: str) -> Sequence[int]:
        low, high = dtypes.integer_range(t)
        return range(low, high + 1)

    points = list(itertools.product(*map(numbers, kinds)))
    f = {(a, b): evaluate(computation, [*a, *b]) for a in points for b in points}
    commutative = all(f[a, b] == f[b, a] for a in points for b in points)
    associative = all(f[f[a, b], c] == f[a, f[b, c]] for a in points for b in points for c in points)
    return commutative, associative, f[init, init] == init and all(f[f[init, x], init] == f[init, x] for x in points)


def test_random_against_all_values() -> None:
    """The analysis allows any order of the elements (`free`) if and only if the combiner is commutative and associative
    for all values. It allows init as a start value if and only if the combiner is associative and combining init a
    second time changes no result.
    """
    draw = random.Random(SEED)
    seen = {"free": 0, "parts": 0, "start": 0, "order": 0}
    for _ in range(COUNT):
        kinds = draw.choice([["s4"], ["u4"], ["s2", "u2"], ["u2", "u2"], ["s2", "pred"]])
        inits = [str(draw.randrange(*dtypes.integer_range(t))) if t != "pred" else "true" for t in kinds]
        body = random_body(kinds, draw)
        reduce, found = analysed(" ".join(kinds), body, inits)
        if "cases an element are" in found.reason:
            continue
        init = tuple(dtypes.decode(o.literal[0], o.shape.dtype) for o in reduce.operands[len(kinds):])   # type: ignore[index]
        commutative, associative, start = brute(reduce.called[0], kinds, init)   # type: ignore[arg-type]
        assert found.free == found.free_but_nan == (commutative and associative) and found.associative == associative, f"{found}\n{body}"
        if "proved" in found.reason or not found.free:  # a combiner that is free without a proof is a single op; it starts at the op's identity
            assert (found.start is not None) == (start and associative), f"{found}\n{body}"
        seen["free" if found.free else "parts" if associative else "order"] += 1
        seen["start"] += found.start is not None
    assert COUNT < 100 or min(seen.values()) > 3, seen


def test_evaluation() -> None:
    """The analysis and this file's evaluator give the same results for the combiners above."""
    draw = random.Random(SEED)
    for name, types, body, inits, *_ in VERDICTS:
        reduce, found = analysed(types, body, inits)
        if "c64" in types or "with other ops" in found.reason:
            continue
        kinds = types.split()
        f = combiner._Body(reduce).function(range(len(kinds)))
        for _ in range(100):
            a, x = (tuple(drawn(t, draw, True) for t in kinds) for _ in "ax")
            want = evaluate(reduce.called[0], [*a, *x])
            got = [dtypes.decode(v, t) for v, t in zip(f(*(tuple(dtypes.encode(v, t) for v, t in zip(p, kinds)) for p in (a, x))), kinds)]
            fine = all(same(g, w) and (w != w or not isinstance(w, float) or math.copysign(1, g) == math.copysign(1, w)) for g, w in zip(got, want))
            assert fine, (name, a, x, got, want)


def test_random_floats() -> None:
    """The laws that the analysis promises for random combiners of f32 comparisons hold on numbers, zeros, infinities and
    NaNs.
    """
    draw = random.Random(SEED)
    seen = 0
    for _ in range(COUNT * 2):
        body = random_body(["s4"], draw).replace("s4[]", "f32[]")
        reduce, found = analysed("f32", body, [draw.choice(["0", "init", "-inf", "nan"])])
        for shuffle, nan, promised in ((True, True, found.free), (True, False, found.free_but_nan), (False, True, found.associative)):
            literal = reduce.operands[1].literal
            if promised and (nan or not literal or not dtypes.is_nan(literal[0], "f32")):
                seen += 1
                for _ in range(40):
                    wrong = differs(reduce, found, draw, shuffle, nan)
                    assert not wrong, f"{found}\n{body}\n{wrong}"
    assert COUNT < 100 or seen > 30, seen
