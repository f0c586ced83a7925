"""Test sort and topk: every form agrees with the reference and with NumPy, and the generator recognises a comparator's
order from its graph alone.
"""

from __future__ import annotations

import random
import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

import pytest

import drawn
import gen_run
import stated
from gen import hlo, pipeline, schedule
from gen.hlo import order
from gen.plan.buffer import Role
from gen.program import build

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

with_numpy = pytest.mark.skipif(numpy is None, reason="no NumPy")
FLOATS = ("f16", "bf16", "f32", "f64", "f8e4m3fn")
TYPES = (*FLOATS, "pred", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")


def canonical(x: str, t: str) -> str:
    """Return the value by which JAX compares a float: all zeros are equal, and so are all NaNs."""
    return f"""
  n{x} = pred[] compare({x}, {x}), direction=NE
  nan{x} = {t}[] constant(nan)
  zero{x} = {t}[] constant(0)
  e{x} = pred[] compare({x}, zero{x}), direction=EQ
  s{x} = {t}[] select(e{x}, zero{x}, {x})
  k{x} = {t}[] select(n{x}, nan{x}, s{x})"""


def comparator(types: Sequence[str], keys: int, direction: str = "LT", plain: bool = False) -> str:
    """Return the comparator that JAX writes for operands of these types. The first `keys` operands are the sort keys.
    plain: floats are compared as they are. Otherwise, they are compared by TOTALORDER, after each zero has become 0 and
    each NaN the same NaN.
    """
    lines = [f"  {side}{k} = {t}[] parameter({2 * k + n})" for k, t in enumerate(types) for n, side in enumerate("ab")]
    before = ""
    for k in reversed(range(keys)):
        t, a, b, kind = types[k], f"a{k}", f"b{k}", ""
        if t in FLOATS and not plain:
            lines += [canonical(a, t), canonical(b, t)]
            a, b, kind = f"k{a}", f"k{b}", ", type=TOTALORDER"
        lines.append(f"  lt{k} = pred[] compare({a}, {b}), direction={direction}{kind}")
        if before:
            lines += [f"  eq{k} = pred[] compare({a}, {b}), direction=EQ{kind}", f"  and{k} = pred[] and(eq{k}, {before})",
                      f"  or{k} = pred[] or(lt{k}, and{k})"]
        before = f"or{k}" if before else f"lt{k}"
    head, _, last = "\n".join(lines).rpartition("\n")
    return f"c {{\n{head}\n  ROOT {last.strip()}\n}}\n"


def sort(types: Sequence[str], dims: Sequence[int], along: int, body: str, layout: str = "") -> str:
    shapes = [f"{t}[{','.join(map(str, dims))}]{layout}" for t in types]
    result = shapes[0] if len(shapes) == 1 else f"({', '.join(shapes)})"
    lines = [f"  p{k} = {shape} parameter({k})" for k, shape in enumerate(shapes)]
    names = ", ".join(f"p{k}" for k in range(len(types)))
    return f"{body}e {{\n" + "\n".join(lines) + f"\n  ROOT s = {result} sort({names}), dimensions={{{along}}}, to_apply=c\n}}\n"


def topk(t: str, dims: Sequence[int], k: int, largest: bool = True) -> str:
    rest = ",".join(map(str, (*dims[:-1], k)))
    return f"e {{\n  p = {t}[{','.join(map(str, dims))}] parameter(0)\n" \
        f"  ROOT s = ({t}[{rest}], s32[{rest}]) topk(p), k={k}, largest={'true' if largest else 'false'}\n}}\n"


ODD = """c {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  x = s32[] xor(a, b)
  five = s32[] constant(5)
  y = s32[] and(x, five)
  zero = s32[] constant(0)
  ROOT r = pred[] compare(y, zero), direction=NE
}
"""


def of_bits(t: str, bits: str, most: int) -> str:
    """Return the comparator that XLA makes of TOTALORDER: it compares the bits as integers, with the bits of negative
    numbers inverted.
    """
    sides = "".join(f"""  i{x} = {bits}[] bitcast({x})
  n{x} = pred[] compare(i{x}, zero), direction=LT
  x{x} = {bits}[] xor(most, i{x})
  k{x} = {bits}[] select(n{x}, x{x}, i{x})
""" for x in "ab")
    return f"""c {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  zero = {bits}[] constant(0)
  most = {bits}[] constant({most})
{sides}  ROOT r = pred[] compare(ka, kb), direction=LT
}}
"""


FORMS: Dict[str, str] = {
    "bits": sort(["f32"], [300], 0, of_bits("f32", "s32", 2147483647)),
    "short": sort(["f32"], [40, 9], 1, comparator(["f32"], 1)),
    "short_alone": sort(["f32"], [3, 9], 1, comparator(["f32"], 1)),
    "side_by_side": sort(["s32"], [37, 23], 1, comparator(["s32"], 1, "GT")),
    "side_by_side_pairs": sort(["f16", "s64"], [37, 40], 1, comparator(["f16", "s64"], 1)),
    "side_by_side_keys": sort(["u8", "s16", "pred"], [3, 66, 7], 1, comparator(["u8", "s16", "pred"], 2), "{0,2,1}"),
    "side_by_side_columns": sort(["f64"], [30, 41], 0, comparator(["f64"], 1)),
    "side_by_side_by_value": sort(["f32", "s32"], [40, 9], 1, comparator(["f32", "s32"], 1, plain=True)),
    "two": sort(["bf16", "u8"], [33, 2], 1, comparator(["bf16", "u8"], 1)),
    "one": sort(["f32", "s8"], [7, 1], 1, comparator(["f32", "s8"], 1)),
    "words": sort(["f32", "s32"], [3, 300], 1, comparator(["f32", "s32"], 1)),
    "indices": sort(["f16", "s64"], [3, 300], 1, comparator(["f16", "s64"], 1)),
    "keys": sort(["s32", "f64", "u8"], [2, 90], 1, comparator(["s32", "f64", "u8"], 3)),
    "columns": sort(["s64"], [50, 4, 3], 0, comparator(["s64"], 1, "GT"), "{0,2,1}"),
    "long": sort(["u32", "s32"], [5000], 0, comparator(["u32", "s32"], 1)),
    "by_value": sort(["f32", "s32"], [3, 90], 1, comparator(["f32", "s32"], 1, plain=True)),
    "no_order": sort(["s32"], [3, 90], 1, ODD),
    "few_of_many": topk("f32", [2, 3000], 5),
    "few_of_equal": topk("s8", [5, 900], 20),
    "few_wide": topk("f64", [2, 1000], 32, False),
    "one_of_many": topk("u16", [3, 4500], 1),
    "many_of_many": topk("u64", [2, 1500], 1100, False),
    "all_of_few": topk("bf16", [9, 4], 4),
    "none": sort(["f32"], [0, 3], 0, comparator(["f32"], 1)),
    "none_of_some": topk("f32", [3, 4], 0),
    "bits_side_by_side": sort(["bf16"], [37, 40], 1, of_bits("bf16", "s16", 32767)),
    "bits_of_keys": sort(["f64"], [2, 300], 1, of_bits("f64", "s64", 9223372036854775807)),
}


@pytest.mark.parametrize("target, device", drawn.marked(drawn.ON))
@drawn.in_parts
def test_forms(target: str, device: str, part: str, tmp_path: Path) -> None:
    drawn.agree(FORMS, target, device, tmp_path, part)


def random_sort(rng: random.Random) -> str:
    types = [rng.choice(TYPES) for _ in range(rng.randint(1, 4))]
    keys, rank = rng.randint(1, len(types)), rng.randint(1, 3)
    along = rng.randrange(rank)
    dims = [rng.choice([1, 2, 17, 33, 100, 600]) if d == along else rng.randint(1, 5) for d in range(rank)]
    layout = "{" + ",".join(map(str, rng.sample(range(rank), rank))) + "}"
    return sort(types, dims, along, comparator(types, keys, rng.choice(["LT", "GT"]), rng.random() < 0.2), layout)


@pytest.mark.parametrize("target, device", drawn.marked(drawn.ON))
@pytest.mark.parametrize("seed", range(2))
def test_drawn(seed: int, target: str, device: str, tmp_path: Path) -> None:
    rng = random.Random(seed)
    drawn.agree({f"d{n}": random_sort(rng) for n in range(6)}, target, device, tmp_path)


# ---- ranges and constants ----

def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use schedules that sort even short rows by ranges of keys, and in parts."""
    for name, device in schedule.DEVICES.items():
        numbers = replace(device.sort_cpu, held_bytes=256, inserted=4, parted=300, sampled=32, range_digit=3, range_size=16, words=16, long_range=32)
        monkeypatch.setitem(schedule.DEVICES, name, replace(device, sort_cpu=numbers))


def schedule_of(text: str, target: str = "c") -> str:
    """Return the schedule of the sort in a text, then the types and sizes of its scratch arrays."""
    kernels = pipeline.target_file(drawn.fusions(text)[0], target).kernels
    scratch = {buffer: f"{buffer.shape.dtype}[{buffer.shape.elements}]" for kernel in kernels for buffer in kernel.buffers if buffer.role is Role.SCRATCH}
    return "; ".join([kernels[0].loop.text(), *scratch.values()])


def by(key: str, t: str = "s32", others: Sequence[str] = ()) -> str:
    """Return a comparator "less than" on keys; `key` is the text of the ops that compute a key k from x."""
    sides = ""
    for n, side in enumerate("ab"):
        sides += f"  {side} = {t}[] parameter({n})\n" + re.sub(r"\b([a-z]\w*)(?= =|[,)])", rf"{side}\1", key).replace(f"{side}x", side)
    rest = "".join(f"  o{k} = {other}[] parameter({k + 2})\n" for k, other in enumerate(other for other in others for _ in "ab"))
    return f"c {{\n{sides}{rest}  ROOT r = pred[] compare(ak, bk), direction=LT\n}}\n"


# Ops that compute a sort key k from x. The key is x itself, except for some values of x, whose key is a constant. In
# "swapped" the key of 5 is 7, and the key of 7 is 5.
KEYS = {
    "constant": "  five = s32[] constant(5)\n  e = pred[] compare(x, five), direction=EQ\n  seven = s32[] constant(7)\n  k = s32[] select(e, seven, x)\n",
    "small": "  z = s32[] constant(-1)\n  e = pred[] compare(x, z), direction=GT\n  k = s32[] select(e, x, z)\n",
    "swapped": "  five = s32[] constant(5)\n  e = pred[] compare(x, five), direction=EQ\n  seven = s32[] constant(7)\n  k1 = s32[] select(e, seven, x)\n"
               "  e2 = pred[] compare(x, seven), direction=EQ\n  k = s32[] select(e2, five, k1)\n",
}


@pytest.mark.parametrize("target", ["c", pytest.param("opencl", marks=pytest.mark.peer)])
@pytest.mark.parametrize("short", [pytest.param(False, marks=pytest.mark.peer), True])
def test_constants(target: str, short: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements with a constant key keep their order and their bits."""
    if short:
        narrow(monkeypatch)
    cases = {}
    for name, key in KEYS.items():
        for types in (["s32"], ["s32", "u32"]):
            body = by(key, "s32", types[1:])
            for dims in ([400], [3, 200]):
                cases[f"{name}{len(types)}_{len(dims)}"] = text = sort(types, dims, len(dims) - 1, body)
                wanted = "ranges" if short and (len(types) == 1 or len(dims) == 1) else "words"
                assert wanted in schedule_of(text, target), text
    drawn.agree(cases, target, {"c": "cpu", "opencl": "pocl-cpu"}[target], tmp_path)


def test_other_keys() -> None:
    """Keys that are neither an element nor a constant, and several keys with constants, are sorted together with their
    indices.
    """
    twice = "  k = s32[] add(x, x)\n"
    assert "indices" in schedule_of(sort(["s32"], [300], 0, by(twice)))
    other = "  five = s32[] constant(5)\n  e = pred[] compare(x, five), direction=EQ\n  y = s32[] negate(x)\n  k = s32[] select(e, x, y)\n"
    assert "indices" in schedule_of(sort(["s32"], [300], 0, by(other)))
    assert "keys" in schedule_of(sort(["f32", "f32"], [300], 0, comparator(["f32", "f32"], 2)))
    assert "words" in schedule_of(sort(["s32", "f32"], [300], 0, comparator(["s32", "f32"], 1)))


def test_scratch() -> None:
    """One operand needs no scratch array of the caller, except in the embedded profile. Two operands with one key share
    an array of 64-bit words. Two keys need four arrays. Short arrays are on the stack.
    """
    for text, wanted in (
        (sort(["f32"], [1 << 20], 0, comparator(["f32"], 1)), "1 row in 2 parts, ranges, digits of 11 bits"),
        (sort(["f64"], [5000], 0, comparator(["f64"], 1)), "1 item of 1 row, ranges, digits of 11 bits"),
        (sort(["f32"], [1000], 0, comparator(["f32"], 1)), "1 item of 1 row, words, digits of 9 bits"),
        (sort(["s32", "f32"], [4096], 0, comparator(["s32", "f32"], 1)), "1 item of 1 row, words, digits of 11 bits"),
        (sort(["s32", "f32"], [5000], 0, comparator(["s32", "f32"], 1)), "1 item of 1 row, words, digits of 11 bits; u64[5000]"),
        (sort(["s32"] * 3, [1000], 0, comparator(["s32"] * 3, 2)), "1 item of 1 row, keys, digits of 9 bits"),
        (sort(["s32"] * 3, [2000], 0, comparator(["s32"] * 3, 2)),
         "1 item of 1 row, keys, digits of 9 bits; u64[2000]; u64[2000]; u32[2000]; u32[2000]"),
    ):
        assert schedule_of(text) == wanted
    small = pipeline.target_file(drawn.fusions(sort(["f32"], [1000], 0, comparator(["f32"], 1)))[0], "c", "embedded")
    assert [b.shape.bytes for b in small.kernels[0].buffers if b.role is Role.SCRATCH] == [4000]


def random_ranges(rng: random.Random) -> str:
    types = [rng.choice(TYPES), *rng.sample(("u8", "s16", "bf16"), rng.randint(0, 1))]
    dims, along = rng.choice([([rng.randint(280, 700)], 0), ([3, 310], 1), ([290, 2], 0)])
    layout = "{" + ",".join(map(str, rng.sample(range(len(dims)), len(dims)))) + "}"
    return sort(types, dims, along, comparator(types, 1, rng.choice(["LT", "GT"])), layout)


@pytest.mark.parametrize("seed, target, device", [pytest.param(seed, *pair, marks=[] if (seed, pair[0]) == (0, "c") else pytest.mark.peer)
                                                  for seed in range(6) for pair in drawn.ON_CPUS])
def test_ranges(seed: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow(monkeypatch)
    rng = random.Random(seed)
    drawn.agree({f"d{n}": random_ranges(rng) for n in range(8)}, target, device, tmp_path)


def test_places(tmp_path: Path) -> None:
    """An operand that is an iota along the sorted dimension is not read but computed from the index. Any other iota is
    an array.
    """
    for iota, kernels in (("s32[5,300] iota(), iota_dimension=1", 1), ("s32[5,300] iota(), iota_dimension=0", 2),
                          ("s8[5,300] iota(), iota_dimension=1", 2), ("s32[5,300] broadcast(n), dimensions={1}", 1)):
        t = iota[:iota.index("[")]
        text = f"HloModule m\n{comparator(['f32', t], 1)}ENTRY e {{\n  x = f32[5,300] parameter(0)\n  n = s32[300] iota(), iota_dimension=0\n" \
            f"  p = {iota}\n  s = (f32[5,300], {t}[5,300]) sort(x, p), dimensions={{1}}, is_stable=true, to_apply=c\n" \
            f"  ROOT r = {t}[5,300] get-tuple-element(s), index=1\n}}\n"
        program = build.program(hlo.parse(text, "m.hlo"))
        assert len(pipeline.target_file(program, "c").kernels) == kernels, iota
        x = [9 - n % 10 for n in range(1500)]
        if kernels == 1:
            (folder := tmp_path / str(len(iota))).mkdir()
            (got,) = gen_run.run(text, [struct.pack("1500f", *x)], "c", folder)
            assert got == struct.pack("1500i", *(place for row in range(5) for place in sorted(range(300), key=x[300 * row:].__getitem__)))


@with_numpy
@pytest.mark.parametrize("target", ["c", "opencl"])
def test_over_the_operand(target: str, tmp_path: Path) -> None:
    """A short row is sorted in its operand's buffer if the operand is not needed later. Zeros of both signs and NaNs
    keep their order.
    """
    rng = numpy.random.default_rng(4)
    x = rng.integers(-4, 4, (40, 201)).astype(numpy.float32)
    x[rng.random(x.shape) < 0.1] = -0.0
    x.view(numpy.uint32)[rng.random(x.shape) < 0.1] = 0xffc01234
    want = numpy.take_along_axis(-x, numpy.argsort(-x, axis=1, kind="stable"), 1)[:, ::-1]
    for results, arrays in (("r", 1), ("r, y", 2)):
        shape = "(f32[40,201])" if arrays == 1 else "(f32[40,201], f32[40,201])"
        text = f"HloModule m\n{comparator(['f32'], 1)}ENTRY e {{\n  x = f32[40,201] parameter(0)\n  y0 = f32[40,201] negate(x)\n" \
            f"  s = f32[40,201] sort(y0), dimensions={{1}}, is_stable=true, to_apply=c\n  r = f32[40,201] reverse(s), dimensions={{1}}\n" \
            f"  y = f32[40,201] reverse(y0), dimensions={{0}}\n  ROOT t = {shape} tuple({results})\n}}\n"
        texts, _ = pipeline.files(build.program(hlo.parse(text, "m.hlo")), ["c"])
        scratch, = {int(number) for name, code in texts.items() for number in re.findall(r"SCRATCH = (\d+)", code)}
        assert scratch // x.nbytes == arrays
        (folder := tmp_path / str(arrays)).mkdir()
        assert gen_run.run(text, [x.tobytes()], target, folder)[0] == numpy.ascontiguousarray(want).tobytes()


# ---- orders ----

def keys_of(body: str) -> "List[order.Key]":
    (fusion,) = drawn.fusions(sort(["f32", "s32"], [4], 0, body))
    return order.keys(fusion.computation.root.attributes["to_apply"]) or []  # type: ignore[union-attr]


def test_orders() -> None:
    """The analysis finds the keys of a comparator, each with its direction (ascending or descending). It finds none if
    the graph does not prove an order.
    """
    pair = ["f32", "s32"]
    assert [(k.dtype, k.descending) for k in keys_of(comparator(pair, 2))] == [("f32", False), ("s32", False)]
    assert [k.descending for k in keys_of(comparator(pair, 1, "GT"))] == [True]
    (key,) = order.keys(drawn.fusions(FORMS["bits"])[0].computation.root.attributes["to_apply"])  # type: ignore[union-attr, misc]
    assert (key.dtype, key.descending) == ("s32", False)
    swapped = comparator(pair, 1).replace("compare(ka0, kb0)", "compare(kb0, ka0)")
    assert [k.descending for k in keys_of(swapped)] == [True]
    for no_order in (
        comparator(pair, 1, plain=True),                                                        # NaN
        comparator(pair, 1, "LE"),
        comparator(pair, 1).replace("compare(ka0, kb0)", "compare(ka0, ka0)"),
        comparator(pair, 1).replace("compare(ka0, kb0)", "compare(ka0, sb0)"),                  # the comparator compares two different keys
        comparator(pair, 2).replace("compare(ka0, kb0), direction=EQ, type=TOTALORDER", "compare(a0, b0), direction=EQ"),
        comparator(pair, 2).replace("and(eq0", "or(eq0"),
        ODD.replace("b = s32[] parameter(1)", "b = s32[] parameter(3)").replace("a = s32[] parameter(0)",
            "a = s32[] parameter(2)\n  f = f32[] parameter(0)\n  g = f32[] parameter(1)"),
    ):
        assert not keys_of(no_order), no_order


# ---- compared with NumPy ----

LONG = ("few", "equal", "bytes", "in_order", "floats", "zeros", "doubles")
Case = Tuple[str, List[Any], List[Any]]    # a text, the parameters, the results


def right(cases: "Dict[str, Case]", target: str, folder: Path) -> None:
    """Check that the results equal NumPy's, bit by bit."""
    found = stated.results({name: (text, [x.tobytes() for x in params]) for name, (text, params, _) in cases.items()}, target, folder)
    for name, (_, _, wanted) in cases.items():
        assert found[name] == [x.tobytes() for x in wanted], name


@with_numpy
@pytest.mark.parametrize("target", ["c", "opencl"])
def test_beside_numpy(target: str, tmp_path: Path) -> None:
    """Ties, NaNs and zeros of both signs have the order of numpy.argsort(kind="stable"), and elements keep every bit.
    """
    rng, cases = numpy.random.default_rng(0), {}
    for name, size in (("plain", 700), ("odd", 700), ("short", 20)):
        x = rng.integers(-9, 9, size).astype(numpy.float32)
        if name != "plain":
            x[rng.integers(0, size, size // 9)] = -0.0
            x[rng.integers(0, size, size // 9)] = numpy.nan
            x.view(numpy.uint32)[rng.integers(0, size, size // 9)] = 0xffc01234
        else:
            x = numpy.abs(x)
        y, want = numpy.arange(size, dtype=numpy.int32), numpy.argsort(x, kind="stable")
        cases[name] = sort(["f32", "s32"], [size], 0, comparator(["f32", "s32"], 1)), [x, y], [x[want], y[want]]
    right(cases, target, tmp_path)


@with_numpy
@pytest.mark.parametrize("target, kinds", [*((target, ("few", "doubles")) for target in ("c", "opencl")), *(pytest.param(target, LONG[1:-1], marks=pytest.mark.peer) for target in ("c", "opencl"))])
def test_long_rows(target: str, kinds: Sequence[str], tmp_path: Path) -> None:
    """Long rows are sorted in parts: random elements, few different values, all equal, already sorted, and with zeros
    and NaNs that compare as equal.
    """
    rng, size, cases = numpy.random.default_rng(3), (1 << 18) + 5, {}
    drawn_floats = rng.standard_normal(size)
    for name, x in {"few": rng.integers(-3, 3, size).astype(numpy.int32), "equal": numpy.full(size, 7, numpy.int32),
                    "bytes": rng.integers(0, 200, size).astype(numpy.uint8), "in_order": numpy.arange(size, 0, -1).astype(numpy.uint32),
                    "floats": drawn_floats.astype(numpy.float32), "zeros": numpy.where(drawn_floats > 1, -0.0, drawn_floats).astype(numpy.float32),
                    "doubles": numpy.where(drawn_floats > 2, numpy.nan, drawn_floats)}.items():
        if name not in kinds:
            continue
        kind = {"i": "s", "u": "u", "f": "f"}[x.dtype.kind] + str(8 * x.itemsize)
        want, y = numpy.argsort(x, kind="stable"), numpy.arange(size, dtype=numpy.int32)
        for types in ([kind], [kind, "s32"]):
            cases[f"{name}{len(types)}"] = sort(types, [size], 0, comparator(types, 1)), [x, y][:len(types)], [x[want], y[want]][:len(types)]
    right(cases, target, tmp_path)


@with_numpy
@pytest.mark.parametrize("target, sizes", [("c", range(2, 17)), ("opencl", (7, 16)), pytest.param("opencl", range(2, 16), marks=pytest.mark.peer)])
def test_networks(target: str, sizes: Sequence[int], tmp_path: Path) -> None:
    """The sorting networks sort all rows of zeros and ones, so they sort all rows (the 0-1 principle)."""
    cases = {}
    for size in sizes:
        rows = max(16, 1 << size)
        x = (numpy.arange(rows)[:, None] >> numpy.arange(size) & 1).astype(numpy.uint8)
        text = sort(["u8"], [rows, size], 1, comparator(["u8"], 1))
        (kernel,) = pipeline.target_file(drawn.fusions(text)[0], target).kernels
        assert "network" in kernel.loop.text()
        cases[f"rows_of_{size}"] = text, [x], [numpy.sort(x, axis=1)]
    right(cases, target, tmp_path)


@with_numpy
@pytest.mark.parametrize("target, sizes", [("c", (17, 31, 32, 33, 63, 100, 127, 128)), ("opencl", (128,)),
                                           pytest.param("opencl", (17, 31, 32, 33, 63, 100, 127), marks=pytest.mark.peer)])
def test_longer_networks(target: str, sizes: Sequence[int], tmp_path: Path) -> None:
    """Sorting networks for longer rows sort rows with one 1 or one 0 at any place, sorted halves, and random rows. Rows
    with zeros of both signs and NaNs also show that the sort is stable.
    """
    rng, cases = numpy.random.default_rng(2), {}
    for size in sizes:
        ones = numpy.tri(size + 1, size, -1)
        halves = [numpy.concatenate([ones[a, :size // 2], ones[b, :size - size // 2]]) for a in range(size // 2) for b in range(0, size, 7)]
        x = numpy.concatenate([numpy.eye(size), 1 - numpy.eye(size), ones, ones[:, ::-1], numpy.array(halves), rng.integers(-5, 5, (300, size))])
        x = x.astype(numpy.float32)
        x[-100:][rng.random((100, size)) < 0.2] = -0.0
        x[-50:][rng.random((50, size)) < 0.1] = numpy.nan
        x.view(numpy.uint32)[-50:][rng.random((50, size)) < 0.1] = 0xffc01234
        want = numpy.take_along_axis(x, numpy.argsort(x, axis=1, kind="stable"), 1)
        cases[f"rows_of_{size}"] = sort(["f32"], list(x.shape), 1, comparator(["f32"], 1)), [x], [want]
    right(cases, target, tmp_path)


@with_numpy
def test_topk_in_any_order(tmp_path: Path) -> None:
    """topk is right for ascending rows, descending rows, rows of equal elements, and rows that contain only the
    smallest and the largest key. Equal elements keep their order.
    """
    rows, size, cases = 6, 333, {}
    x = numpy.zeros((rows, size), numpy.uint32)
    x[0], x[1] = numpy.arange(size), numpy.arange(size)[::-1]
    x[2, ::7], x[3] = 0xffffffff, 0xffffffff
    x[4], x[5] = numpy.arange(size) // 50, numpy.random.default_rng(1).integers(0, 40, size)
    for k in (1, 2, 31, 32, 33, size):
        for largest in (True, False):
            places = numpy.argsort(~x if largest else x, axis=1, kind="stable")[:, :k].astype(numpy.int32)
            cases[f"{'largest' if largest else 'least'}_{k}"] = topk("u32", [rows, size], k, largest), [x], [numpy.take_along_axis(x, places, 1), places]
    right(cases, "c", tmp_path)


def test_custom_call(tmp_path: Path) -> None:
    """XLA's custom call for top-k is treated like the op."""
    text = """HloModule m
g {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GT, type=TOTALORDER
}
ENTRY e {
  x = f32[6] parameter(0)
  ROOT t = (f32[3], s32[3]) custom-call(x), custom_call_target="TopK", called_computations={g}
}
"""
    got = gen_run.run(text, [struct.pack("6f", 1, 5, 5, -2, 7, 5)], "c", tmp_path)
    assert got == [struct.pack("3f", 7, 5, 5), struct.pack("3i", 4, 1, 2)]


PACKED = """HloModule m
less { a = s4[] parameter(0)  b = s4[] parameter(1)  x = f32[] parameter(2)  y = f32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT }
odd_first { a = u4[] parameter(0)  b = u4[] parameter(1)  one = u4[] constant(1)  x = u4[] and(a, one)  y = u4[] and(b, one)
  ROOT r = pred[] compare(x, y), direction=GT }
ENTRY e {
  x = s4[7] parameter(0)
  y = f32[7] parameter(1)
  u = u4[7] parameter(2)
  w = s2[1,7] parameter(3)
  s = (s4[7], f32[7]) sort(x, y), dimensions={0}, to_apply=less, is_stable=true
  keys = s4[7] get-tuple-element(s), index=0
  values = f32[7] get-tuple-element(s), index=1
  odd = u4[7] sort(u), dimensions={0}, to_apply=odd_first, is_stable=true
  t = (s2[1,3], s32[1,3]) topk(w), k=3, largest=true
  top = s2[1,3] get-tuple-element(t), index=0
  places = s32[1,3] get-tuple-element(t), index=1
  ROOT r = (s4[7], f32[7], u4[7], s2[1,3], s32[1,3]) tuple(keys, values, odd, top, places)
}
"""


def packed(elements: Sequence[int], bits: int) -> bytes:
    """Return elements of 2 or 4 bits as bytes, the first element in the low bits."""
    whole = sum((x & (1 << bits) - 1) << bits * n for n, x in enumerate(elements))
    return whole.to_bytes((len(elements) * bits + 7) // 8, "little")


@pytest.mark.parametrize("target", ["c", pytest.param("opencl", marks=pytest.mark.peer)])
def test_packed(target: str, tmp_path: Path) -> None:
    """Packed elements are sorted as wider ones, also if the comparator computes with them."""
    x, y, u, w = [3, -8, 7, -1, -8, 0, 3], [float(n) for n in range(7)], [4, 7, 15, 0, 9, 2, 1], [-1, 0, -2, 1, 0, 1, -2]
    got = gen_run.run(PACKED, [packed(x, 4), struct.pack("7f", *y), packed(u, 4), packed(w, 2)], target, tmp_path)
    order_of = sorted(range(7), key=lambda n: x[n])
    assert got == [packed([x[n] for n in order_of], 4), struct.pack("7f", *(y[n] for n in order_of)),
                   packed([7, 15, 9, 1, 4, 0, 2], 4), packed([1, 1, 0], 2), struct.pack("3i", 3, 5, 1)]


@pytest.mark.parametrize("config", ['{"aggregate_to_topk":"false","reduction_dim":"1","top_k":"3"}',
                                    "{is_fallback = true, reduction_dim = 1 : i64, top_k = 3 : i64}"])
def test_approximate_topk(config: str, tmp_path: Path) -> None:
    """XLA's custom call for an approximate top-k gives exact results. The attributes are those of HLO or StableHLO."""
    text = """HloModule m
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=LT
}
ENTRY e {
  x = f32[2,6] parameter(0)
  places = s32[2,6] iota(), iota_dimension=1
  last = f32[] constant(inf)
  none = s32[] constant(-1)
  ROOT t = (f32[2,3], s32[2,3]) custom-call(x, places, last, none), custom_call_target="ApproxTopK", called_computations={less},
    backend_config=CONFIG
}
""".replace("CONFIG", config)
    got = gen_run.run(text, [struct.pack("12f", 1, 5, 4, -2, 7, 3, 9, 8, 7, 6, 5, 4)], "c", tmp_path)
    assert got == [struct.pack("6f", -2, 1, 3, 4, 5, 6), struct.pack("6i", 3, 0, 5, 5, 4, 3)]


def test_approximate_topk_of_other_shapes() -> None:
    """A call whose results are longer than its arrays is refused, as other custom calls are."""
    text = """HloModule m
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e { x = f32[6] parameter(0)  last = f32[] constant(inf)
  ROOT t = (f32[7]) custom-call(x, last), custom_call_target="ApproxTopK", called_computations={less}, backend_config="{reduction_dim=0}" }
"""
    refused = hlo.unsupported(hlo.parse(text, "m.hlo"))
    assert refused is not None and 'calls "ApproxTopK", code from elsewhere' in str(refused)
