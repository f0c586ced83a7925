"""Compare the reference and the bound of dot, convolution, reduce-window and select-and-scatter with loops over every
index.
"""

from __future__ import annotations

import itertools
import math
import random
import struct
from fractions import Fraction
from typing import Callable, Dict, List, Sequence, Tuple

import pytest

from gen import hlo
from gen.hlo import dtypes
from gen import bounds as of_bounds, reference as ref
from reference_calls import call, compiled, packed, unpacked, within

Index = Tuple[int, ...]
Tensor = Dict[Index, int]
COMBINERS = """add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }
minus { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] subtract(a, b) }
ge { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }
"""


def box(dims: Sequence[int]) -> "itertools.product[Index]":
    return itertools.product(*map(range, dims))


def drawn(rng: random.Random, dims: Sequence[int]) -> Tensor:
    return {index: rng.randint(-9, 9) for index in box(dims)}


def text(dtype: str, dims: Sequence[int]) -> str:
    return f"{dtype}[{','.join(map(str, dims))}]"


def results(module: str, inputs: Sequence[Tensor]) -> List[int]:
    """Run the reference and return its results in row-major order. Check that the bound is 0 everywhere, because these
    graphs are exact.
    """
    (fusion,) = hlo.fusions(hlo.parse(module, "t.hlo"))
    computation = fusion.computation
    leaf, kinds = computation.root.shape, [p.shape.dtype for p in computation.parameters]
    data = [packed([value & ((1 << dtypes.TABLE[kind].bits) - 1) for value in tensor.values()], kind) for tensor, kind in zip(inputs, kinds)]
    (answer,) = call(compiled(ref.reference(computation, "t")).t_ref, data, [leaf.bytes])
    (bound,) = call(compiled(of_bounds.bound(computation, "t")).t_bound, data, [8 * leaf.elements])
    assert bound == bytes(8 * leaf.elements)
    size = 1 << dtypes.TABLE[leaf.dtype].bits
    return [value - size if leaf.dtype[0] == "s" and value >= size // 2 else value for value in unpacked(answer, leaf.dtype)[:leaf.elements]]


def module(result: str, opcode: str, operands: Sequence[str], attributes: str) -> str:
    lines = [f"  p{k} = {shape} parameter({k})" for k, shape in enumerate(operands)]
    return COMBINERS + "e {\n" + "\n".join(lines) + f"\n  ROOT r = {result} {opcode}({', '.join(f'p{k}' for k in range(len(operands)))}){attributes}\n}}\n"


def arranged(places: Sequence[int], values: Sequence[int]) -> Index:
    found = [0] * len(places)
    for place, value in zip(places, values):
        found[place] = value
    return tuple(found)


@pytest.mark.parametrize("scaled", [False, True])
def test_dot(scaled: bool) -> None:
    """dot agrees with loops. In scaled-dot, an element of a scale applies to a block of its factor."""
    rng = random.Random(1 + scaled)
    for _ in range(12):
        sizes = {name: [rng.choice([0, 1, 2, 3, 17]) if rng.random() < 0.9 else 20 for _ in range(rng.randint(0, 2 - (name == "b")))] for name in "bkmn"}
        sides = []
        for last in "mn":
            side = [(name, d) for name in ("b", "k", last) for d in range(len(sizes[name]))]
            rng.shuffle(side)
            sides.append(side)
        dims = [[sizes[name][d] for name, d in side] for side in sides]
        free = [[d for name, d in side if name in "mn"] for side in sides]
        out = sizes["b"] + [sizes["m"][d] for d in free[0]] + [sizes["n"][d] for d in free[1]]
        lists = "".join(f", {side}_{what}_dims={{{','.join(str(sides[k].index((name, d))) for d in range(len(sizes[name])))}}}"
                        for k, side in enumerate(("lhs", "rhs")) for what, name in (("batch", "b"), ("contracting", "k")))
        a, b = (drawn(rng, d) for d in dims)
        blocks = [[rng.choice([n for n in range(1, size + 1) if size % n == 0] or [1]) for size in d] for d in dims]
        scales = [drawn(rng, [size // n for size, n in zip(d, each)]) for d, each in zip(dims, blocks)]
        sums = {index: 0 for index in box(out)}
        for at in itertools.product(*(box(sizes[name]) for name in "bkmn")):
            one = dict(zip("bkmn", at))
            x, y = (tensor[tuple(one[name][d] for name, d in side)] for tensor, side in zip((a, b), sides))
            if scaled:
                places = [[one[name][d] // n for (name, d), n in zip(side, each)] for side, each in zip(sides, blocks)]
                x, y = (value * scale[tuple(place)] for value, scale, place in zip((x, y), scales, places))
            sums[(*one["b"], *(one["m"][d] for d in free[0]), *(one["n"][d] for d in free[1]))] += x * y
        shapes = [text("s8", dims[0]), text("s16", dims[1])]
        shapes += [text(kind, [size // n for size, n in zip(d, each)]) for kind, d, each in zip(("s32", "s8"), dims, blocks)] if scaled else []
        assert results(module(text("s32", out), "scaled-dot" if scaled else "dot", shapes, lists), [a, b, *scales] if scaled else [a, b]) \
            == list(sums.values())


def window(rng: random.Random, base: Sequence[int], dilated: bool) -> "Tuple[str, List[int], List[int], Callable[[Index, Index], Index]]":
    """Draw a window over an array with the sizes `base`. Return its attribute, its sizes, the number of its positions
    in each dimension, and a function from a position and an element of the window to the index of the array's element.
    The index is negative if there is no element.
    """
    words: List[List[str]] = [[], [], [], [], []]
    size, places, lines, steps = [], [], [], []
    for n in base:
        one, stride, low, high = rng.randint(1, 3), rng.randint(1, 3), rng.randint(-1, 2), rng.randint(-1, 3)
        holes, gap = (rng.randint(1, 3), rng.randint(1, 2)) if dilated else (1, 1)
        line = [-1] * max(low, 0)
        for k in range(n):
            line += [k] + [-1] * (holes - 1) * (k < n - 1)
        line = (line + [-1] * max(high, 0))[max(-low, 0):]
        line = line[:len(line) - max(-high, 0)]
        places.append(sum(k * stride + (one - 1) * gap < len(line) for k in range(len(line) + 1)) if line else 0)
        size.append(one)
        lines.append(line)
        steps.append((stride, gap))
        for word, value in zip(words, (one, stride, f"{low}_{high}", holes, gap)):
            word.append(str(value))

    def seen(place: Index, within: Index) -> Index:
        return tuple(line[p * stride + w * gap] for line, p, w, (stride, gap) in zip(lines, place, within, steps))
    names = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate")
    return " ".join(f"{name}={'x'.join(word)}" for name, word in zip(names, words) if word), size, places, seen


def test_convolution() -> None:
    rng = random.Random(2)
    for _ in range(12):
        spatial = [rng.randint(0, 5) for _ in range(rng.randint(0, 2))]
        shown, size, places, seen = window(rng, spatial, True)
        turned = [rng.randint(0, 1) for _ in spatial]
        by_feature, by_batch = rng.choice([(1, 1), (2, 1), (1, 2)])
        batch, features, outs = rng.randint(1, 2), rng.randint(1, 2), rng.randint(1, 2) * by_feature * by_batch
        orders = [rng.sample(range(len(spatial) + 2), len(spatial) + 2) for _ in range(3)]
        dims = [arranged(order, sizes) for order, sizes in zip(orders, ([batch * by_batch, features * by_feature, *spatial], [features, outs, *size],
                                                                       [batch, outs, *places]))]
        a, b = drawn(rng, dims[0]), drawn(rng, dims[1])
        sums = {index: 0 for index in box(dims[2])}
        for n, o, f, *rest in box([batch, outs, features, *places, *size]):
            place, inside = tuple(rest[:len(spatial)]), tuple(rest[len(spatial):])
            at = seen(place, inside)
            if min(at, default=0) >= 0:
                kernel = [s - 1 - w if turn else w for s, w, turn in zip(size, inside, turned)]
                row, feature = o // (outs // by_batch) * batch + n, o // (outs // by_feature) * features + f
                sums[arranged(orders[2], (n, o, *place))] += a[arranged(orders[0], (row, feature, *at))] * b[arranged(orders[1], (f, o, *kernel))]
        labels = ["".join(letter for _, letter in sorted(zip(order, [*pair, *map(str, range(len(spatial)))]))) for order, pair in zip(orders, ("bf", "io", "bf"))]
        shown += f" rhs_reversal={'x'.join(map(str, turned))}" if turned else ""
        attributes = f", window={{{shown}}}, dim_labels={labels[0]}_{labels[1]}->{labels[2]}, feature_group_count={by_feature}, batch_group_count={by_batch}"
        assert results(module(text("s32", dims[2]), "convolution", [text("s8", dims[0]), text("s32", dims[1])], attributes), [a, b]) == list(sums.values())


def test_reduce_window() -> None:
    rng = random.Random(3)
    for _ in range(12):
        base = [rng.randint(0, 6) for _ in range(rng.randint(0, 2))]
        shown, size, places, seen = window(rng, base, True)
        a, init = drawn(rng, base), drawn(rng, ())
        found = []
        for place in box(places):
            total = init[()]
            for inside in box(size):
                at = seen(place, inside)
                total -= a[at] if min(at, default=0) >= 0 else 0
            found.append(total)
        assert results(module(text("s32", places), "reduce-window", [text("s32", base), "s32[]"], f", window={{{shown}}}, to_apply=minus"), [a, init]) == found


def test_select_and_scatter() -> None:
    rng = random.Random(4)
    for _ in range(12):
        base = [rng.randint(0, 6) for _ in range(rng.randint(0, 2))]
        shown, size, places, seen = window(rng, base, False)
        a, source, init = drawn(rng, base), drawn(rng, places), drawn(rng, ())
        found = {index: init[()] for index in box(base)}
        for place in box(places):
            inside = [at for at in (seen(place, w) for w in box(size)) if min(at, default=0) >= 0]
            if inside:    # of equal elements the select chooses the first
                best = max(inside, key=lambda at: (a[at], -inside.index(at)))
                found[best] = source[place] - found[best]
        shapes = [text("s32", base), text("s32", places), "s32[]"]
        assert results(module(text("s32", base), "select-and-scatter", shapes, f", window={{{shown}}}, select=ge, scatter=minus"), [a, source, init]) \
            == list(found.values())


def f32(x: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", x))[0])


@pytest.mark.parametrize("scaled", [False, True])
def test_bound_of_sums_of_products(scaled: bool) -> None:
    """Results stay within the bound, whether products are rounded or fused, in any order of the sum, and with errors in
    the factors. The bound is not much larger than the largest error. If the factors have scales of 1/2, results and
    bounds have a quarter of their size.
    """
    rng, k, n = random.Random(5), 40, 19
    opcode, scales, times = ("scaled-dot", ", half, half", 0.25) if scaled else ("dot", "", 1.0)
    for prologue, inexact in (("copy", 0.0), ("exponential", 3 * 2.0 ** -23)):
        source = f"e {{ p = f32[2,{k}] parameter(0) b = f32[{k},{n}] parameter(1) a = f32[2,{k}] {prologue}(p) half = f32[1,1] constant({{{{0.5}}}})\n" \
                 f" ROOT d = f32[2,{n}] {opcode}(a, b{scales}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}"
        (fusion,) = hlo.fusions(hlo.parse(source, "t.hlo"))
        a, b = ([f32(rng.uniform(-2, 2) * 10 ** rng.uniform(-2, 2)) for _ in range(count)] for count in (2 * k, k * n))
        a = [min(x, 20.0) for x in a]
        data = [struct.pack(f"<{len(x)}f", *x) for x in (a, b)]
        (got,) = call(compiled(ref.reference(fusion.computation, "t")).t_ref, data, [8 * n])
        (allowed,) = call(compiled(of_bounds.bound(fusion.computation, "t")).t_bound, data, [16 * n])
        values, allowances = struct.unpack(f"<{2 * n}f", got), struct.unpack(f"<{2 * n}d", allowed)
        for m, j in box((2, n)):
            left = [f32(math.exp(x)) if inexact else x for x in a[m * k:(m + 1) * k]]
            mass = times * sum(abs(x * b[i * n + j]) for i, x in enumerate(left))
            assert allowances[m * n + j] < 2 * mass * ((k + 3) * 2.0 ** -24 + inexact)
            for _ in range(6):
                total, fused = 0.0, rng.random() < 0.5
                for i in rng.sample(range(k), k):
                    x, y = f32(left[i] * (1 + rng.choice([-1, 0, 1]) * inexact)), b[i * n + j]
                    x *= times
                    total = f32(float(Fraction(x) * Fraction(y) + Fraction(total))) if fused else f32(f32(x * y) + total)
                assert within(total, values[m * n + j], allowances[m * n + j]), (prologue, m, j)


def test_special_values() -> None:
    """If every order of a sum gives NaN or an infinity, this value is required. If only some orders overflow, any value
    is allowed.
    """
    source = "e { a = f32[6,2] parameter(0) b = f32[2] parameter(1)\n ROOT d = f32[6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"
    (fusion,) = hlo.fusions(hlo.parse(source, "t.hlo"))
    rows = [(math.nan, 1.0), (math.inf, 1.0), (math.inf, -math.inf), (3e38, 3e38), (3e38, -3e38), (0.0, -0.0)]
    data = [struct.pack("<12f", *(x for row in rows for x in row)), struct.pack("<2f", 1.0, 1.0)]
    (got,) = call(compiled(ref.reference(fusion.computation, "t")).t_ref, data, [24])
    (allowed,) = call(compiled(of_bounds.bound(fusion.computation, "t")).t_bound, data, [48])
    values, allowances = struct.unpack("<6f", got), struct.unpack("<6d", allowed)
    assert values[0] != values[0] and values[1] == math.inf and values[2] != values[2] and values[5] == 0
    assert allowances[:3] == (0, 0, 0) and allowances[3] == allowances[4] == math.inf and allowances[5] < 1e-40


def test_bound_of_an_unsure_choice() -> None:
    """If the values that a select compares have errors, the bound includes every choice that the errors allow. If the
    errors cannot change a choice, the result must be exact.
    """
    rng, n, size = random.Random(6), 40, 3
    source = "ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }\n" \
             "plus { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n" \
             f"e {{ p = f32[{n}] parameter(0) s = f32[{n - size + 1}] parameter(1) z = f32[] constant(0) x = f32[{n}] exponential(p)\n" \
             f" ROOT r = f32[{n}] select-and-scatter(x, s, z), window={{size={size}}}, select=ge, scatter=plus }}"
    (fusion,) = hlo.fusions(hlo.parse(source, "t.hlo"))
    bound = compiled(of_bounds.bound(fusion.computation, "t"))
    ulps, unsure, sure = 3 * 2.0 ** -23, 0, 0
    for _ in range(12):
        a = [f32(rng.choice([0.5, 0.5, 2.0, 3.0]) + rng.choice([0, 1, 2]) * 2.0 ** -23) for _ in range(n)]
        s = [float(rng.randint(1, 99)) for _ in range(n - size + 1)]
        data = [struct.pack(f"<{len(x)}f", *x) for x in (a, s)]
        (got,) = call(compiled(ref.reference(fusion.computation, "t")).t_ref, data, [4 * n])
        (allowed,) = call(bound.t_bound, data, [8 * n])
        values, allowances = struct.unpack(f"<{n}f", got), struct.unpack(f"<{n}d", allowed)
        assert max(allowances) <= size * 99
        changed = [False] * n
        for _ in range(40):
            x = [f32(math.exp(v) * (1 + rng.choice([-1, 0, 1]) * ulps)) for v in a]
            found = [0.0] * n
            for k, value in enumerate(s):
                found[max(range(k, k + size), key=lambda at: (x[at], -at))] += value
            for k in range(n):
                assert within(found[k], values[k], allowances[k]), (a, k)
                changed[k] |= found[k] != values[k]
        unsure += sum(changed)
        sure += sum(allowance == 0 for allowance in allowances)
    assert unsure > 30 and sure > 30


def test_bound_of_integers_from_floats() -> None:
    """If rounding may change an integer that is made from a float, the bound of a product of such integers allows for
    this change. If rounding cannot change the integers, the product must be exact.
    """
    (fusion,) = hlo.fusions(hlo.parse("""e {
  x = f32[2,2] parameter(0)
  y = s16[2] parameter(1)
  grown = f32[2,2] exponential(x)
  whole = s16[2,2] convert(grown)
  ROOT r = s16[2] dot(whole, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
""", "t.hlo"))
    ends = math.log(20)
    data = [struct.pack("<4f", 1.0, 0.5, ends, 0.0), struct.pack("<2h", 3, -5)]
    (got,) = call(compiled(ref.reference(fusion.computation, "t")).t_ref, data, [4])
    (allowed,) = call(compiled(of_bounds.bound(fusion.computation, "t")).t_bound, data, [16])
    single = struct.unpack("<f", struct.pack("<f", ends))[0]
    assert struct.unpack("<2h", got) == (3 * 2 - 5 * 1, 3 * int(struct.unpack("<f", struct.pack("<f", math.exp(single)))[0]) - 5)
    assert struct.unpack("<2d", allowed)[0] == 0 and 3 <= struct.unpack("<2d", allowed)[1] < 65536
