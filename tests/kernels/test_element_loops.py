"""Test loops that are inside a kernel, where each element runs its own loop. Results are compared with those of
plain loops over NumPy arrays. Other tests check which loops of a module become such kernels.

A case is HLO text and a function of NumPy arrays with the same meaning. All arithmetic is exact, so results must
agree bit by bit after any number of steps. Loops whose arithmetic is not exact (INEXACT) are compared by `gen check`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Sequence

import pytest

import stated
from drawn import ON, device_or_skip, in_parts, marked, of_part
from gen_run import gen
from gen import hlo, pipeline, run
from gen.bounds.files import bounded
from gen.bounds.types import Options
from gen.plan.nests import planned
from gen.program import build
from gen.program.ir import Call, Loop, Program
from gen.program.limits import limited, unlimited

try:
    import numpy as np
except ImportError:
    pytest.skip("no numpy, which computes what is right", allow_module_level=True)

Arrays = List[Any]
TARGETS = [pytest.param(t, marks=[] if t == "c" else pytest.mark.peer) for t in ("c", "opencl", "cuda-on-cpu")]
F32 = np.float32


class Case(NamedTuple):
    """A module, its parameters, and a function that computes its results."""

    text: str
    given: Arrays
    does: Callable[..., Sequence[Any]]


def text_of(state: "Sequence[str]", begins: str, body: str, ends: str, condition: str, entry: str, results: str,
            more: str = "") -> str:
    """Return a module with one loop.
    - state: the types of the loop variables, which are s0, s1, .. in body and condition
    - begins, ends: the names of their values before the loop and after a step
    - entry: the ops before the loop
    - results: names; w0, w1, .. are the loop's final values
    """
    of = f"({', '.join(state)})"
    taken = "\n".join(f"  s{k} = {type_} get-tuple-element(p), index={k}" for k, type_ in enumerate(state))
    given = "\n".join(f"  w{k} = {type_} get-tuple-element(w), index={k}" for k, type_ in enumerate(state))
    types = {f"w{k}": type_ for k, type_ in enumerate(state)}
    wanted = results.split(", ")
    return f"""HloModule m
either {{ a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] or(a, b) }}
both {{ a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] and(a, b) }}
sum {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}
{more}
body {{
  p = {of} parameter(0)
{taken}
{body}
  ROOT all = {of} tuple({ends})
}}
condition {{
  p = {of} parameter(0)
{taken}
{condition}
}}
ENTRY e {{
{entry}
  start = {of} tuple({begins})
  w = {of} while(start), condition=condition, body=body
{given}
  ROOT all = ({', '.join(types[name] for name in wanted)}) tuple({results})
}}
"""


def counted(n: int, number: int = 0) -> str:
    return f"  n = s32[] constant({n})\n  ROOT less = pred[] compare(s{number}, n), direction=LT"


NEXT = "  one = s32[] constant(1)\n  next = s32[] add(s0, one)\n"


def drawn(*dims: int, low: float = -2.0, high: float = 2.0, seed: int = 1) -> Any:
    return np.random.default_rng(seed).uniform(low, high, dims).astype(F32)


def pairs(rows: int, columns: int, results: str) -> Case:
    """Return the loop of the Mandelbrot set as jax prints it. The minor dimension has size 2 and holds the real and the
    imaginary part of a complex number. |z|^2 is a sum over this dimension.
    """
    z, s = f"f32[{rows},{columns},2]", f"[{rows},{columns}]"
    part = f"slice={{{{[0:{rows}], [0:{columns}], [%d:%d]}}}}".replace("{{", "{").replace("}}", "}")
    body = NEXT + f"""  square = {z} multiply(s1, s1)
  zero = f32[] constant(0)
  size = f32{s} reduce(square, zero), dimensions={{2}}, to_apply=sum
  four = f32[] constant(4)
  fours = f32{s} broadcast(four), dimensions={{}}
  inside = pred{s} compare(size, fours), direction=LT
  wide = {z.replace('f32', 'pred')} broadcast(inside), dimensions={{0,1}}
  re1 = f32[{rows},{columns},1] slice(s1), {part % (0, 1)}
  re = f32{s} reshape(re1)
  im1 = f32[{rows},{columns},1] slice(s1), {part % (1, 2)}
  im = f32{s} reshape(im1)
  rr = f32{s} multiply(re, re)
  ii = f32{s} multiply(im, im)
  real = f32{s} subtract(rr, ii)
  real1 = f32[{rows},{columns},1] reshape(real)
  two = f32[] constant(2)
  twos = f32{s} broadcast(two), dimensions={{}}
  re2 = f32{s} multiply(re, twos)
  imag = f32{s} multiply(re2, im)
  imag1 = f32[{rows},{columns},1] reshape(imag)
  both = {z} concatenate(real1, imag1), dimensions={{2}}
  moved = {z} add(both, s3)
  kept = {z} select(wide, moved, s1)
  count = s32{s} convert(inside)
  counts = s32{s} add(s2, count)"""
    entry = f"""  c = {z} parameter(0)
  zero = f32[] constant(0)
  zeros = {z} broadcast(zero), dimensions={{}}
  none = s32[] constant(0)
  nones = s32{s} broadcast(none), dimensions={{}}"""
    text = text_of(["s32[]", z, f"s32{s}", z], "none, zeros, nones, c", body, "next, kept, counts, s3", counted(30),
                   entry, results)

    def does(c: Any) -> "List[Any]":
        z_, count = np.zeros_like(c), np.zeros(c.shape[:2], np.int32)
        for _ in range(30):
            inside = z_[..., 0] * z_[..., 0] + z_[..., 1] * z_[..., 1] < F32(4)
            both = np.stack([z_[..., 0] * z_[..., 0] - z_[..., 1] * z_[..., 1], z_[..., 0] * F32(2) * z_[..., 1]], -1)
            z_, count = np.where(inside[..., None], both + c, z_), count + inside
        return [{"w1": z_, "w2": count.astype(np.int32), "w0": np.int32(30)}[name] for name in results.split(", ")]
    return Case(text, [drawn(rows, columns, 2)], does)


def logistic_map(n: int) -> Case:
    """Return a loop of a chaotic map on n numbers, in which one wrong bit changes all later steps. The counter is a
    result too.
    """
    of = f"f32[{n}]"
    body = NEXT + f"""  ones = {of} broadcast(s3), dimensions={{}}
  rest = {of} subtract(ones, s1)
  xr = {of} multiply(s1, rest)
  x = {of} multiply(xr, s2)"""
    entry = f"  x0 = {of} parameter(0)\n  r = {of} parameter(1)\n  i = s32[] constant(3)\n  unit = f32[] constant(1)"
    text = text_of(["s32[]", of, of, "f32[]"], "i, x0, r, unit", body, "next, x, s2, s3", counted(103), entry,
                   "w1, w0, w2")

    def does(x: Any, r: Any) -> "List[Any]":
        for _ in range(100):
            x_next = x * (F32(1) - x) * r
            x = x_next
        return [x, np.int32(103), r]
    return Case(text, [drawn(n, low=0.1, high=0.9), drawn(n, low=3.6, high=4.0, seed=2)], does)


def newton(n: int, all_: bool) -> Case:
    """Return a loop that computes the cube root of each element by Newton's method. An element stops when its own step
    is small; with all_, the loop stops when the steps of all elements are small.
    """
    of, p = f"f32[{n}]", f"pred[{n}]"
    test = f"""  size = {of} abs(s1)
  eps = f32[] constant(1e-5)
  small = {of} broadcast(eps), dimensions={{}}
  far = {p} compare(size, small), direction=GT
  most = s32[] constant(40)
  mosts = s32[{n}] broadcast(most), dimensions={{}}
  few = {p} compare(s2, mosts), direction=LT
  goes = {p} and(far, few)
"""
    condition = test + ("  done = pred[%d] not(goes)\n  t = pred[] constant(true)\n"
                        "  every = pred[] reduce(done, t), dimensions={0}, to_apply=both\n  ROOT more = pred[] not(every)" % n
                        if all_ else "  f = pred[] constant(false)\n"
                        "  ROOT more = pred[] reduce(goes, f), dimensions={0}, to_apply=either")
    body = test + f"""  xx = {of} multiply(s0, s0)
  xxx = {of} multiply(xx, s0)
  over = {of} subtract(xxx, s3)
  three = f32[] constant(3)
  threes = {of} broadcast(three), dimensions={{}}
  slope = {of} multiply(xx, threes)
  step = {of} divide(over, slope)
  x = {of} subtract(s0, step)
  one = s32[] constant(1)
  ones = s32[{n}] broadcast(one), dimensions={{}}
  next = s32[{n}] add(s2, ones)
  k0 = {of} select(goes, x, s0)
  k1 = {of} select(goes, step, s1)
  k2 = s32[{n}] select(goes, next, s2)"""
    entry = f"""  a = {of} parameter(0)
  big = f32[] constant(9)
  bigs = {of} broadcast(big), dimensions={{}}
  none = s32[] constant(0)
  nones = s32[{n}] broadcast(none), dimensions={{}}"""
    text = text_of([of, of, f"s32[{n}]", of], "a, bigs, nones, a", body, "k0, k1, k2, s3", condition, entry, "w0, w1, w2")

    def does(a: Any) -> "List[Any]":
        x, step, count = a.copy(), np.full_like(a, 9), np.zeros(n, np.int32)
        while True:
            goes = (np.abs(step) > F32(1e-5)) & (count < 40)
            if not goes.any():
                return [x, step, count]
            new = (x * x * x - a) / (x * x * F32(3))
            x, step, count = np.where(goes, x - new, x), np.where(goes, new, step), count + goes
    return Case(text, [drawn(n, low=0.5, high=900.0)], lambda a: [v.astype(t) for v, t in zip(does(a), (F32, F32, np.int32))])


def rounds(n: int) -> Case:
    """Return a loop with the rounds of a cipher on pairs of words, in which the counter is the key and the words are
    exchanged.
    """
    of = f"u32[{n}]"
    body = NEXT + f"""  low = {of} add(s1, s2)
  seven = u32[] constant(7)
  sevens = {of} broadcast(seven), dimensions={{}}
  rest = u32[] constant(25)
  rests = {of} broadcast(rest), dimensions={{}}
  left = {of} shift-left(s2, sevens)
  right = {of} shift-right-logical(s2, rests)
  turned = {of} or(left, right)
  key = u32[] convert(s0)
  keys = {of} broadcast(key), dimensions={{}}
  mixed = {of} xor(turned, low)
  high = {of} add(mixed, keys)"""
    entry = f"  a = {of} parameter(0)\n  b = {of} parameter(1)\n  i = s32[] constant(0)"
    text = text_of(["s32[]", of, of], "i, a, b", body, "next, high, low", counted(20), entry, "w1, w2")

    def does(a: Any, b: Any) -> "List[Any]":
        for i in range(20):
            low = a + b
            a, b = (((b << np.uint32(7)) | (b >> np.uint32(25))) ^ low) + np.uint32(i), low
        return [a, b]
    draw = np.random.default_rng(3)
    return Case(text, [draw.integers(0, 2 ** 32, n, np.uint32), draw.integers(0, 2 ** 32, n, np.uint32)], does)


def invariants() -> Case:
    """Return a loop whose steps read, but do not change, a row and a column; they also read an iota. A parameter gives
    the number of steps.
    """
    of = "f64[6,40]{0,1}"
    body = NEXT + f"""  row = {of} broadcast(s2), dimensions={{1}}
  column = {of} broadcast(s3), dimensions={{0}}
  place = {of} iota(), iota_dimension=1
  a = {of} multiply(s1, row)
  b = {of} add(a, column)
  half = f64[] constant(0.5)
  halves = {of} broadcast(half), dimensions={{}}
  c = {of} multiply(b, halves)
  d = {of} add(c, place)"""
    entry = f"""  x = {of} parameter(0)
  r = f64[40] parameter(1)
  c = f64[6] parameter(2)
  n = s32[] parameter(3)
  i = s32[] constant(0)"""
    text = text_of(["s32[]", of, "f64[40]", "f64[6]", "s32[]"], "i, x, r, c, n", body, "next, d, s2, s3, s4",
                   "  ROOT less = pred[] compare(s0, s4), direction=LT", entry, "w1")

    def does(x: Any, r: Any, c: Any, n: Any) -> "List[Any]":
        for _ in range(int(n)):
            x = (x * r + c[:, None]) * 0.5 + np.arange(40.0)
        return [x]
    return Case(text, [drawn(6, 40).astype(float), drawn(40).astype(float), drawn(6).astype(float), np.int32(17)], does)


def vectors(n: int) -> Case:
    """Return a batch of loops on vectors of three elements, as vmap prints it. The loops end after at most 6 steps. A
    64-bit number and a predicate are loop variables too.
    """
    of, p = f"f32[{n},3]", f"pred[{n}]"
    test = f"""  x0 = f32[{n},1] slice(s1), slice={{[0:{n}], [0:1]}}
  x = f32[{n}] reshape(x0)
  one = f32[] constant(1)
  ones = f32[{n}] broadcast(one), dimensions={{}}
  goes = {p} compare(x, ones), direction=GT
"""
    body = test + f"""  wide = pred[{n},3] broadcast(goes), dimensions={{0}}
  y0 = f32[{n},1] slice(s1), slice={{[0:{n}], [1:2]}}
  z0 = f32[{n},1] slice(s1), slice={{[0:{n}], [2:3]}}
  half = f32[] constant(0.5)
  halves = f32[{n},1] broadcast(half), dimensions={{}}
  nx = f32[{n},1] multiply(x0, halves)
  ny = f32[{n},1] add(x0, y0)
  nz = f32[{n},1] multiply(y0, z0)
  new = {of} concatenate(nx, ny, nz), dimensions={{1}}
  k1 = {of} select(wide, new, s1)
  i = s32[] constant(1)
  next = s32[] add(s0, i)
  l = s64[] convert(next)
  ls = s64[{n}] broadcast(l), dimensions={{}}
  sum = s64[{n}] add(s2, ls)
  k2 = s64[{n}] select(goes, sum, s2)
  not = {p} not(s3)
  k3 = {p} select(goes, not, s3)"""
    condition = test + """  f = pred[] constant(false)
  some = pred[] reduce(goes, f), dimensions={0}, to_apply=either
  six = s32[] constant(6)
  few = pred[] compare(s0, six), direction=LT
  ROOT more = pred[] and(few, some)"""
    entry = f"""  a = {of} parameter(0)
  i = s32[] constant(0)
  none = s64[] constant(7)
  nones = s64[{n}] broadcast(none), dimensions={{}}
  b = {p} parameter(1)"""
    text = text_of(["s32[]", of, f"s64[{n}]", p], "i, a, nones, b", body, "next, k1, k2, k3", condition, entry, "w1, w2, w3")

    def does(a: Any, b: Any) -> "List[Any]":
        x, total, flag = a.copy(), np.full(n, 7), b.astype(bool)
        for i in range(6):
            goes = x[:, 0] > 1
            new = np.stack([x[:, 0] * F32(0.5), x[:, 0] + x[:, 1], x[:, 1] * x[:, 2]], 1)
            x, total, flag = np.where(goes[:, None], new, x), np.where(goes, total + i + 1, total), np.where(goes, ~flag, flag)
        return [x, total, flag]
    return Case(text, [drawn(n, 3, low=0.5, high=100.0), drawn(n) > 0], does)


def many(n: int) -> Case:
    """Return a loop with as many variables as a kernel may have per element. A parameter gives the number of steps.
    (`gen check` adds variables that count and limit the steps. With these, the loop may exceed the maximum.)
    """
    of, arrays = f"s32[{n}]", range(2, 16)
    body = NEXT + "\n".join(f"  x{k} = {of} add(s{k}, s{k % 15 + 1 if k < 15 else 2})" for k in arrays)
    entry = "\n".join(["  i = s32[] constant(0)", "  n = s32[] parameter(0)", *(f"  a{k} = {of} parameter({k - 1})" for k in arrays)])
    text = text_of(["s32[]", "s32[]", *[of] * 14], f"i, n, {', '.join(f'a{k}' for k in arrays)}", body,
                   f"next, s1, {', '.join(f'x{k}' for k in arrays)}", "  ROOT less = pred[] compare(s0, s1), direction=LT", entry,
                   ", ".join(f"w{k}" for k in arrays))

    def does(steps: Any, *x: Any) -> "List[Any]":
        for _ in range(int(steps)):
            x = tuple(value + x[(k + 1) % 14] for k, value in enumerate(x))
        return list(x)
    draw = np.random.default_rng(5)
    return Case(text, [np.int32(9), *(draw.integers(-9, 9, n, np.int32) for _ in arrays)], does)


def nested() -> Case:
    """Return a loop whose state is tuples in a tuple. A parameter gives the number of steps."""
    of = "(s32[], (f32[70], (s32[], f32[70])))"
    text = f"""HloModule m
body {{
  p = {of} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  q = (f32[70], (s32[], f32[70])) get-tuple-element(p), index=1
  x = f32[70] get-tuple-element(q), index=0
  r = (s32[], f32[70]) get-tuple-element(q), index=1
  n = s32[] get-tuple-element(r), index=0
  y = f32[70] get-tuple-element(r), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  a = f32[70] add(x, y)
  b = f32[70] subtract(x, y)
  s = (s32[], f32[70]) tuple(n, b)
  t = (f32[70], (s32[], f32[70])) tuple(a, s)
  ROOT u = {of} tuple(next, t)
}}
condition {{
  p = {of} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  q = (f32[70], (s32[], f32[70])) get-tuple-element(p), index=1
  r = (s32[], f32[70]) get-tuple-element(q), index=1
  n = s32[] get-tuple-element(r), index=0
  ROOT less = pred[] compare(i, n), direction=LT
}}
ENTRY e {{
  n = s32[] parameter(0)
  x = f32[70] parameter(1)
  y = f32[70] parameter(2)
  i = s32[] constant(0)
  s = (s32[], f32[70]) tuple(n, y)
  t = (f32[70], (s32[], f32[70])) tuple(x, s)
  start = {of} tuple(i, t)
  w = {of} while(start), condition=condition, body=body
  v = (f32[70], (s32[], f32[70])) get-tuple-element(w), index=1
  z = (s32[], f32[70]) get-tuple-element(v), index=1
  ROOT b = f32[70] get-tuple-element(z), index=1
}}
"""

    def does(steps: Any, x: Any, y: Any) -> "List[Any]":
        for _ in range(int(steps)):
            x, y = x + y, x - y
        return [y]
    return Case(text, [np.int32(21), drawn(70), drawn(70, seed=2)], does)


def carried(n: int) -> Case:
    """Return a loop in which each element doubles until it is large. The predicate that continues the loop is a loop
    variable.
    """
    of, p = f"f32[{n}]", f"pred[{n}]"
    body = f"""  t = f32[] constant(100)
  ts = {of} broadcast(t), dimensions={{}}
  double = {of} add(s0, s0)
  below = {p} compare(double, ts), direction=LT
  x = {of} select(s1, double, s0)
  more = {p} select(s1, below, s1)"""
    condition = "  f = pred[] constant(false)\n  ROOT some = pred[] reduce(s1, f), dimensions={0}, to_apply=either"
    entry = f"  x0 = {of} parameter(0)\n  t = pred[] constant(true)\n  first = {p} broadcast(t), dimensions={{}}"
    text = text_of([of, p], "x0, first", body, "x, more", condition, entry, "w0")

    def does(x: Any) -> "List[Any]":
        goes = np.ones(n, bool)
        while goes.any():
            x, goes = np.where(goes, x + x, x), goes & (x + x < 100)
        return [x]
    return Case(text, [drawn(n, low=0.1, high=2.0)], does)


def long_step(n: int) -> Case:
    """Return a loop with `n` ops per step, in which each element stops independently."""
    of = "f32[40]"
    asks = f"""  t = f32[] constant(1000)
  ts = {of} broadcast(t), dimensions={{}}
  goes = pred[40] compare(s0, ts), direction=LT
"""
    ops = [f"  x{k} = {of} {'multiply' if k % 2 else 'add'}({f'x{k - 1}' if k else 's0'}, s1)" for k in range(n)]
    condition = asks + "  f = pred[] constant(false)\n  ROOT some = pred[] reduce(goes, f), dimensions={0}, to_apply=either"
    text = text_of([of, of], "a, b", asks + "\n".join(ops) + f"\n  kept = {of} select(goes, x{n - 1}, s0)", "kept, s1", condition,
                   f"  a = {of} parameter(0)\n  b = {of} parameter(1)", "w0")

    def does(a: Any, b: Any) -> "List[Any]":
        while (a < 1000).any():
            x = a
            for k in range(n):
                x = x * b if k % 2 else x + b
            a = np.where(a < 1000, x, a)
        return [a]
    return Case(text, [drawn(40, low=0.5, high=1.0), drawn(40, low=1.0, high=1.01, seed=2)], does)


def halvings(n: int) -> Case:
    """Return a loop that counts in 16 bits how often each element is halved until it is 0. The result's type is as wide
    as those of a kernel that looks values up in a table.
    """
    of, counts, p = f"s32[{n}]", f"u16[{n}]", f"pred[{n}]"
    asks = f"""  zero = s32[] constant(0)
  zeros = {of} broadcast(zero), dimensions={{}}
  goes = {p} compare(s0, zeros), direction=GT
"""
    body = asks + f"""  one = s32[] constant(1)
  ones = {of} broadcast(one), dimensions={{}}
  half = {of} shift-right-logical(s0, ones)
  x = {of} select(goes, half, s0)
  step = u16[] constant(1)
  steps = {counts} broadcast(step), dimensions={{}}
  more = {counts} add(s1, steps)
  count = {counts} select(goes, more, s1)"""
    condition = asks + "  f = pred[] constant(false)\n  ROOT some = pred[] reduce(goes, f), dimensions={0}, to_apply=either"
    entry = f"  x0 = {of} parameter(0)\n  no = u16[] constant(0)\n  none = {counts} broadcast(no), dimensions={{}}"
    text = text_of([of, counts], "x0, none", body, "x, count", condition, entry, "w1")
    given = np.random.default_rng(1).integers(0, 2 ** 31, n).astype(np.int32) >> np.arange(n, dtype=np.int32) % 31
    return Case(text, [given], lambda x: [np.array([int(value).bit_length() for value in x], np.uint16)])


def one_asks(n: int, value: int) -> Case:
    """Return a loop whose condition reads one element, `value`, of an array that no step changes. The elements have no
    conditions of their own.
    """
    of = f"s32[{n}]"
    body = NEXT + f"  x = {of} subtract(s2, s1)"
    condition = """  end = s32[] constant(3)
  less = pred[] compare(s0, end), direction=LT
  third = s32[1] slice(s2), slice={[2:3]}
  number = s32[] reshape(third)
  most = s32[] constant(40)
  small = pred[] compare(number, most), direction=LT
  ROOT both = pred[] and(less, small)"""
    entry = f"  x = {of} parameter(0)\n  y = {of} parameter(1)\n  i = s32[] constant(0)"
    text = text_of(["s32[]", of, of], "i, x, y", body, "next, x, s2", condition, entry, "w1, w0")
    x, y = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32) * 7 + value - 14

    def does(x: Any, y: Any) -> "List[Any]":
        steps = 3 if y[2] < 40 else 0
        for _ in range(steps):
            x = y - x
        return [x, np.int32(steps)]
    return Case(text, [x, y], does)


def doubled(n: int) -> Case:
    """Return a loop whose condition reads one element of an array that changes. Each element computes that one, too."""
    of = f"s32[{n}]"
    body = NEXT + f"  x = {of} subtract(s2, s1)\n  z = {of} add(s3, s3)"
    condition = """  third = s32[1] slice(s3), slice={[2:3]}
  number = s32[] reshape(third)
  most = s32[] constant(40)
  ROOT small = pred[] compare(number, most), direction=LT"""
    entry = f"  x = {of} parameter(0)\n  y = {of} parameter(1)\n  z = {of} parameter(2)\n  i = s32[] constant(0)"
    text = text_of(["s32[]", of, of, of], "i, x, y, z", body, "next, x, s2, z", condition, entry, "w1")
    x, y, z = (np.arange(n, dtype=np.int32) * times + 1 for times in (1, 7, 2))

    def does(x: Any, y: Any, z: Any) -> "List[Any]":
        while z[2] < 40:
            x, z = y - x, z + z
        return [x]
    return Case(text, [x, y, z], does)


def one_array(n: int) -> Case:
    """Return a loop whose state is an array, not a tuple."""
    of = f"s32[{n}]"
    asks = f"""  most = s32[] constant(40)
  mosts = {of} broadcast(most), dimensions={{}}
  goes = pred[{n}] compare(s, mosts), direction=LT
"""
    text = f"""HloModule m
either {{ a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] or(a, b) }}
body {{ s = {of} parameter(0)
{asks}  twice = {of} add(s, s)  ROOT next = {of} select(goes, twice, s) }}
condition {{ s = {of} parameter(0)
{asks}  f = pred[] constant(false)  ROOT some = pred[] reduce(goes, f), dimensions={{0}}, to_apply=either }}
ENTRY e {{ x = {of} parameter(0)  ROOT w = {of} while(x), condition=condition, body=body }}
"""

    def does(x: Any) -> "List[Any]":
        while (x < 40).any():
            x = np.where(x < 40, x + x, x)
        return [x]
    return Case(text, [np.arange(n, dtype=np.int32) + 1], does)


CASES: "Dict[str, Case]" = {
    "one_array": one_array(90),
    "doubled": doubled(5),
    "one_says_no": one_asks(5, 40), "one_says_no_long": one_asks(333, 41), "one_says_yes": one_asks(37, 39),
    "carried": carried(70), "long_step": long_step(507),
    "nested": nested(),
    "many": many(50),
    "vectors": vectors(90), "vectors_few": vectors(3), "both_results": pairs(8, 20, "w1, w2, w0"),
    "pairs": pairs(8, 20, "w2"), "pairs_ragged": pairs(3, 7, "w2"), "logistic_map": logistic_map(1000),
    "logistic_map_short": logistic_map(5), "logistic_map_even": logistic_map(256), "newton": newton(333, False),
    "newton_all": newton(64, True), "newton_few": newton(10, False), "rounds": rounds(100), "invariants": invariants(),
    "halvings": halvings(53)}


def program(text: str, name: str = "m") -> Program:
    parsed = hlo.parse(text, f"{name}.hlo")
    refused = hlo.unsupported(parsed)
    assert refused is None, f"{refused}\n{text}"
    return build.program(parsed)


def in_layout(array: Any, shape: Any) -> bytes:
    return bytes(np.ascontiguousarray(np.asarray(array).transpose(tuple(reversed(shape.minor_to_major)))).tobytes())


@pytest.mark.parametrize("name", CASES)
def test_is_one_call(name: str) -> None:
    """The program consists of calls of kernels, without a loop: the loop is inside a kernel."""
    assert [type(node) for node in program(CASES[name].text).body].count(Call) == len(program(CASES[name].text).body)


@pytest.mark.parametrize("name", CASES)
def test_is_limited(name: str) -> None:
    """A check gives a loop a limit of its iterations. The limited loop is inside a kernel, too."""
    for fusion in program(CASES[name].text).fusions:
        if unlimited(fusion):
            planned(limited(fusion))


@pytest.mark.parametrize("target", TARGETS)
def test_results(target: str, tmp_path: Path) -> None:
    """The results are NumPy's, bit by bit."""
    options = run.Options()
    device_or_skip(target, options)
    builts = []
    for name, case in CASES.items():
        of = program(case.text, name)
        (tmp_path / f"{name}.in").write_bytes(b"".join(in_layout(array, param.shape) for array, param in zip(case.given, of.params)))
        builts.append(stated.built(of, tmp_path, target))
    (tmp_path / "results").mkdir()
    failed = stated.ran(stated.compiled(builts, tmp_path, target), list(CASES), target, tmp_path, tmp_path / "results", options)
    assert not failed, failed
    for name, case in CASES.items():
        wanted = b"".join(in_layout(array, result.shape) for array, result in zip(case.does(*case.given), program(case.text).results))
        assert (tmp_path / "results" / f"{name}.out").read_bytes() == wanted, name


@pytest.mark.peer
@in_parts
@pytest.mark.parametrize("target, device", marked(ON))
def test_checked(target: str, device: str, part: str, tmp_path: Path) -> None:
    """`gen check` passes, and demands exactly the reference's values."""
    options = run.Options(rounds=2, schedule=device)
    device_or_skip(target, options)
    builts = [run.build(program(case.text, name), tmp_path / name, target, options) for name, case in of_part(CASES.items(), part)]
    for result in run.check_built(builts, target, options):
        assert result.status == "PASS" and not result.max_abs and not result.unbounded, result.line()


def swung() -> str:
    """Return a loop with a sine, an exponential and a division: a pendulum whose friction grows with its speed."""
    body = NEXT + """  hundredth = f32[] constant(0.01)
  small = f32[70] broadcast(hundredth), dimensions={}
  pull = f32[70] sine(s1)
  away = f32[70] exponential(s2)
  slower = f32[70] divide(s2, away)
  change = f32[70] add(pull, slower)
  push = f32[70] multiply(change, small)
  speed = f32[70] subtract(s2, push)
  turn = f32[70] multiply(speed, small)
  angle = f32[70] add(s1, turn)"""
    return text_of(["s32[]", "f32[70]", "f32[70]"], "i, q, p", body, "next, angle, speed", counted(12),
                   "  q = f32[70] parameter(0)\n  p = f32[70] parameter(1)\n  i = s32[] constant(0)", "w1, w2")


def kept_longer() -> str:
    """Return a loop that each element leaves at its own step. The step is counted exactly, beside values with errors."""
    body = NEXT + """  goes = pred[70] compare(s1, s3), direction=LT
  ones = s32[70] broadcast(one), dimensions={}
  count = s32[70] add(s1, ones)
  counted = s32[70] select(goes, count, s1)
  log = f32[70] log-plus-one(s2)
  value = f32[70] select(goes, log, s2)"""
    condition = """  goes = pred[70] compare(s1, s3), direction=LT
  f = pred[] constant(false)
  ROOT more = pred[] reduce(goes, f), dimensions={0}, to_apply=either"""
    return text_of(["s32[]", "s32[70]", "f32[70]", "s32[70]"], "i, n, x, most", body, "next, counted, value, s3", condition,
                   "  n = s32[70] parameter(0)\n  x = f32[70] parameter(1)\n  most = s32[70] parameter(2)\n  i = s32[] constant(0)", "w1, w2")


INEXACT = {"swung": swung(), "kept_longer": kept_longer()}


@pytest.mark.parametrize("target, device", marked(ON))
def test_values_with_errors(target: str, device: str, tmp_path: Path) -> None:
    """A loop whose ops have errors is one call, if its number of steps is exact. `gen check` passes, and compares most
    values.
    """
    options = run.Options(rounds=2, schedule=device)
    device_or_skip(target, options)
    for name, text in INEXACT.items():
        of = program(text, name)
        assert [type(node) for node in of.body] == [Call], name
        built = run.build(of, tmp_path / name, target, options)
        (result,) = run.check_built([built], target, options)
        assert result.status == "PASS" and result.compared > result.unbounded, result.line()


@pytest.mark.parametrize("name, rows", [("newton_few", 10), ("logistic_map_even", 4), ("vectors_few", 3), ("few_steps", 1)])
def test_runs_together(name: str, rows: int) -> None:
    """A loop of many iterations computes several vectors per step, or all elements if there are only a few. A loop of
    few iterations computes one vector per step.
    """
    text = CASES[name].text if name in CASES else CASES["logistic_map_short"].text.replace("constant(103)", "constant(8)")
    files, _ = pipeline.files(program(text), ["c"])
    loops = str(files["m.c"]).split("without vectors")[0].split("for (;;) {")[-1]
    assert (f"vec < {rows}; ++vec" in loops) == (rows > 1)


def simple(body: str, condition: str = "", ends: str = "next, x", state: str = "f32[64]", more: "Sequence[str]" = ()) -> str:
    """Return a module with a loop whose variables are the counter s0 and an array s1."""
    types = ["s32[]", state, *more]
    entry = "\n".join(["  i = s32[] constant(0)", *(f"  a{k} = {of} parameter({k})" for k, of in enumerate(types[1:]))])
    begins = ", ".join(["i", *(f"a{k}" for k in range(len(types) - 1))])
    return text_of(types, begins, NEXT + body, ends, condition or counted(20), entry, ", ".join(f"w{k}" for k in range(1, len(types))))


ANY = """  t = f32[] constant(9)
  ts = f32[64] broadcast(t), dimensions={}
  goes = pred[64] compare(s1, ts), direction=LT
"""
ASKS = ANY + """  f = pred[] constant(false)
  ROOT more = pred[] reduce(goes, f), dimensions={0}, to_apply=either"""
GOES = ANY.replace("compare(s1, ts)", "compare(sine, ts)").replace("  goes", "  sine = f32[64] sine(s1)\n  goes")
REFUSED = {
    "a neighbour": (simple("""  low = f32[1] slice(s1), slice={[0:1]}
  high = f32[63] slice(s1), slice={[1:64]}
  turned = f32[64] concatenate(high, low), dimensions={0}
  x = f32[64] add(s1, turned)"""), "turned is a concatenate"),
    "a place from the end": (simple("  r = f32[64] reverse(s1), dimensions={0}\n  x = f32[64] add(s1, r)"), "an element reads elements of others"),
    "a transposed read": (simple("  r = f32[8,8] transpose(s1), dimensions={1,0}\n  x = f32[8,8] add(s1, r)", state="f32[8,8]"),
                          "an element reads elements of others"),
    "one element for all": (simple("  h = f32[1] slice(s1), slice={[5:6]}\n  g = f32[] reshape(h)\n  b = f32[64] broadcast(g), dimensions={}\n"
                                   "  x = f32[64] add(s1, b)"), "an element reads elements of others"),
    "a sum": (simple("  z = f32[] constant(0)\n  r = f32[] reduce(s1, z), dimensions={0}, to_apply=sum\n  b = f32[64] broadcast(r), dimensions={}\n"
                     "  x = f32[64] subtract(s1, b)"), "r combines elements"),
    "a carried sum": (simple("  z = f32[] constant(0)\n  r = f32[] reduce(s1, z), dimensions={0}, to_apply=sum\n  b = f32[64] broadcast(s2), dimensions={}\n"
                             "  x = f32[64] subtract(s1, b)", ends="next, x, r", more=["f32[]"]), "r combines elements"),
    "a predicate with an error": (simple(GOES + "  e = f32[64] exponential(s1)\n  x = f32[64] select(goes, e, s1)",
                                         GOES + "  f = pred[] constant(false)\n  ROOT more = pred[] reduce(goes, f), dimensions={0}, to_apply=either"),
                                  "the number of steps depends on sine, which is not exact"),
    "an indirect predicate with an error": (simple(ANY + "  e = f32[64] exponential(s1)\n  x = f32[64] select(goes, e, s1)", ASKS),
                                            "the number of steps depends on exponential, which is not exact"),
    "a choice by another predicate": (simple(ANY.replace("LT", "LE") + "  d = f32[64] add(s1, ts)\n  x = f32[64] select(goes, d, s1)", ASKS),
                                      "a finished element does not keep its values"),
    "a finished element that goes on": (simple(ANY + "  x = f32[64] add(s1, ts)", ASKS), "a finished element does not keep its values"),
    "another old value": (simple(ANY + "  d = f32[64] add(s1, ts)\n  x = f32[64] select(goes, d, ts)", ASKS),
                          "a finished element does not keep its values"),
    "all elements' count": (simple(ANY + "  d = f32[64] add(s1, ts)\n  x = f32[64] select(goes, d, s1)", ASKS).replace(
        "ROOT all = (f32[64]) tuple(w1)", "ROOT all = (f32[64], s32[]) tuple(w1, w0)"), "s32[] has no element for each of [64]"),
    "a predicate of what goes on": (simple(
        "  t = s32[] constant(9)\n  ts = s32[64] broadcast(t), dimensions={}\n  goes = pred[64] compare(s2, ts), direction=LT\n"
        "  d = f32[64] add(s1, s1)\n  x = f32[64] select(goes, d, s1)\n  c = s32[64] add(s2, ts)",
        "  t = s32[] constant(9)\n  ts = s32[64] broadcast(t), dimensions={}\n  goes = pred[64] compare(s2, ts), direction=LT\n"
        "  f = pred[] constant(false)\n  ROOT more = pred[] reduce(goes, f), dimensions={0}, to_apply=either",
        "next, x, c", more=["s32[64]"]).replace("ROOT all = (f32[64], s32[64]) tuple(w1, w2)", "ROOT all = (f32[64]) tuple(w1)"),
        "a finished element does not keep its values")}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """A loop that cannot be inside a kernel becomes a loop of the program. The program states the reason."""
    text, why = REFUSED[name]
    (loop,) = (node for node in program(text).body if isinstance(node, Loop))
    assert why in loop.outside


def test_branches_beside_a_loop() -> None:
    """A loop that runs in a kernel may carry values that no result needs. The bounds then follow ops that no kernel
    computes, such as a conditional with two results.
    """
    body = NEXT + """  c = (s32[], f32[64]) conditional(s2, s1, s1), branch_computations={same, twice}
  k = s32[] get-tuple-element(c), index=0
  y = f32[64] get-tuple-element(c), index=1
  x = f32[64] multiply(s1, s1)"""
    more = """same { a = f32[64] parameter(0)  z = s32[] constant(1)  ROOT r = (s32[], f32[64]) tuple(z, a) }
twice { a = f32[64] parameter(0)  z = s32[] constant(2)  b = f32[64] add(a, a)  ROOT r = (s32[], f32[64]) tuple(z, b) }"""
    text = text_of(["s32[]", "f32[64]", "s32[]", "f32[64]"], "i, x, i, x", body, "next, x, k, y", counted(5),
                   "  x = f32[64] parameter(0)\n  i = s32[] constant(0)", "w1, w0", more)
    (fusion,) = program(text).fusions
    made = bounded(fusion.computation, Options())
    assert made.bounds.exact(*(result.array for result in made.results))


def test_iterations_of_a_check(tmp_path: Path) -> None:
    """If the number of iterations of a loop depends on values, a check limits it. The limit is such that all iterations
    together have a fixed number of ops. So if a step has twice as many ops, the limit is about half as large.
    """
    limits = []
    for ops in (8, 20):
        step = ANY.replace("64", "4096") + "\n".join(
            f"  d{k} = f32[4096] add({f'd{k - 1}' if k else 's1'}, ts)" for k in range(ops)) + f"\n  x = f32[4096] select(goes, d{ops - 1}, s1)"
        of = program(simple(step, ASKS.replace("64", "4096"), state="f32[4096]"), f"n{ops}")
        text = run.glue([run.build(of, tmp_path / str(ops), "c", run.Options())], run.runner_of("c"), True)
        limits.append(int(re.findall(r"\.limited = (\d+)u", text)[0]))
    assert 1.8 < limits[0] / limits[1] < 2.2, limits


def test_says_so(tmp_path: Path) -> None:
    """`gen explain` says which loop is inside a kernel, and why another one is not."""
    said = {}
    for name, text in (("newton", CASES["newton"].text), ("rounds", CASES["rounds"].text), ("sum", REFUSED["a sum"][0])):
        (tmp_path / f"{name}.hlo").write_text(text)
        said[name] = gen("explain", tmp_path / f"{name}.hlo", "--stage", "program").stdout
    assert "newton_e(a), element by element, a loop\n" in said["newton"] and "element by element, 20 times\n" in said["rounds"]
    assert "20 times from" in said["sum"] and "outside of kernels: r combines elements" in said["sum"]
