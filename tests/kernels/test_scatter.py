"""Test the scatter hero: every form of scatter gives the right results, GPUs use the right atomic operations, CPUs keep
the order of updates, and contradictory scatters are refused.
"""

from __future__ import annotations

import ctypes
import random
import re
import struct
import subprocess
from pathlib import Path
from typing import Dict, List, Sequence

import pytest

import drawn
import gen_run
from gen import bounds, hlo, pipeline, reference, run
from gen.statements import printed
from gen.heroes import scatter
from gen import manifest
from gen.targets import TARGETS
from reference_calls import call, compiled, within

ROOT = Path(__file__).resolve().parents[2]
BODIES = {
    "add": "ROOT r = {t}[] add(a, b)", "multiply": "ROOT r = {t}[] multiply(b, a)", "maximum": "ROOT r = {t}[] maximum(a, b)",
    "minimum": "ROOT r = {t}[] minimum(a, b)", "overwrite": "ROOT r = {t}[] copy(b)", "and": "ROOT r = {t}[] and(a, b)", "or": "ROOT r = {t}[] or(b, a)",
    "xor": "ROOT r = {t}[] xor(a, b)", "kept": "ROOT r = {t}[] copy(a)", "far": "m = {t}[] add(b, b)\n  ROOT r = {t}[] maximum(a, m)",
    "subtract": "ROOT r = {t}[] subtract(a, b)"}
OF_INTEGERS = ("and", "or", "xor")


def combiner(body: str, t: str) -> str:
    return f"c {{\n  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n  {BODIES[body].format(t=t)}\n}}\n"


def text(t: str, operand: str, indices: str, updates: str, body: str = "add", kind: str = "s32", layout: str = "", unique: bool = False, ordered: bool = False,
         **lists: str) -> str:
    """Return a module with a scatter. Dims and attributes are given as text. lists: the attributes by short names, such
    as `window` for update_window_dims, `inserted` for inserted_window_dims and `to` for scatter_dims_to_operand_dims.
    """
    names = {"window": "update_window_dims", "inserted": "inserted_window_dims", "to": "scatter_dims_to_operand_dims",
             "batching": "input_batching_dims", "rows": "scatter_indices_batching_dims"}
    given = {"window": "", "inserted": "", "to": "0", **lists}
    vector = given.pop("vector", "1")
    words = ", ".join(f"{names[key]}={{{value}}}" for key, value in given.items())
    return combiner(body, t) + f"""
e {{
  x = {t}[{operand}]{layout} parameter(0)
  i = {kind}[{indices}] parameter(1)
  u = {t}[{updates}] parameter(2)
  ROOT s = {t}[{operand}]{layout} scatter(x, i, u), {words}, index_vector_dim={vector}{", unique_indices=true" * unique}{", indices_are_sorted=true" * ordered}, to_apply=c
}}
"""


# name: operand, indices, updates, attributes
FORMS = {
    "rows": ("300,20", "2000,1", "2000,20", {"window": "1", "inserted": "0"}),
    "scalars": ("1000", "5000,1", "5000", {"inserted": "0"}),
    "windows": ("64,30", "40,1", "40,9,30", {"window": "1,2"}),
    "corners": ("9,33,7", "50,2", "50,4,5,7", {"window": "1,2,3", "to": "1,0"}),
    "turned": ("20,40", "3,2,6", "3,20,6", {"window": "1", "inserted": "1", "to": "1,0", "vector": "1"}),
    "implicit": ("100", "7,5", "7,5", {"inserted": "0", "vector": "2"}),
    "batching": ("6,50", "6,30,1", "6,30", {"inserted": "1", "to": "1", "batching": "0", "rows": "0", "vector": "2"}),
    "batches": ("8,6,50", "6,8,3", "6,8,3,5", {"window": "3", "to": "2", "batching": "0,1", "rows": "1,0", "vector": "3"}),
    "one": ("1", "4,1", "4", {"inserted": "0"}),
    "no index": ("5", "3,0", "3,5", {"window": "1", "to": ""}),
    "scalar": ("", "3,0", "3", {"to": ""}),
    "no update": ("7", "0,1", "0", {"inserted": "0"}),
    "nothing": ("0,4", "5,1", "5,4", {"window": "1", "inserted": "0"}),
    "no window": ("3,4", "5,1", "5,0", {"window": "1", "inserted": "0"}),
}


def of(form: str, t: str, **more: object) -> str:
    operand, indices, updates, lists = FORMS[form]
    return text(t, operand, indices, updates, **{**lists, **more})  # type: ignore[arg-type]


def some() -> "Dict[str, str]":
    """Return scatters of every form, of every type with each of its combiners, and with every kind of indices."""
    r, found = random.Random(drawn.SEED), {}
    for n, form in enumerate(FORMS):
        found[f"f{n}"] = of(form, r.choice(["f32", "s32", "u8", "bf16", "f64"]), kind=r.choice(["s32", "s64", "u32"]))
    for t in ("pred", "s8", "u16", "s32", "u32", "s64", "u64", "f16", "bf16", "f32", "f64", "s4", "u2", "f8e4m3fn", "f4e2m1fn"):
        floats = t[0] in "fb"
        for body in BODIES:
            if (floats and body in OF_INTEGERS) or (t == "pred" and body == "subtract"):
                continue
            kind = r.choice(["s32", "s64", "u32", "u64", "s8", "u8", "s16"])
            form = r.choice(["rows", "scalars", "windows", "corners"]) if r.random() < 0.15 else r.choice(["turned", "implicit", "batching", "batches"])
            found[f"{t}_{body}"] = of(form, t, body=body, kind=kind)
    found["layout"] = of("windows", "f32", layout="{0,1}", kind="s64")
    found.update({f"{t}_{body}{once}": of(form, t, body=body, unique=once == "_once") for t, body, form, once in (
        ("c64", "add", "rows", ""), ("c128", "add", "implicit", ""), ("c64", "multiply", "turned", ""), ("c128", "overwrite", "batches", ""),
        ("c64", "overwrite", "corners", "_once"), ("c64", "subtract", "implicit", ""))})
    return found


def unique() -> "Dict[str, str]":
    """Return scatters with unique indices that overwrite or add. They need no atomic operations and give the same bits
    everywhere.
    """
    return {f"{body}_{n}_{t}": of(form, t, body=body, kind="s32", unique=True) for body in ("overwrite", "far", "add") for n, form in enumerate(
        ["rows", "scalars", "windows", "corners", "batching", "turned"]) for t in (("f32", "u8", "s4") if body == "far" else ("f64",))}


def ordered() -> "Dict[str, str]":
    """Return scatters with sorted indices, with and without the promise indices_are_sorted. GPUs combine runs of equal
    indices first; other cases are done update by update.
    """
    found = {f"{n}_{t}_{body}": of(form, t, body=body, kind=kind, ordered=True) for n, (form, t, body, kind) in enumerate([
        ("rows", "f32", "add", "s32"), ("scalars", "s32", "add", "s64"), ("scalars", "f16", "maximum", "u32"), ("scalars", "pred", "or", "s16"),
        ("scalars", "u8", "multiply", "s32"), ("scalars", "c64", "add", "s32"), ("rows", "f64", "minimum", "s32"), ("scalars", "bf16", "add", "s32"), ("rows", "f32", "overwrite", "s32"),
        ("rows", "u16", "xor", "u64"), ("scalars", "s4", "add", "s32"), ("scalars", "f32", "far", "s32"), ("implicit", "f32", "add", "s32")])}
    many = {"pairs": ("9,33,7", "700,2", "700,2,1,3", {"window": "1,2,3", "to": "1,0"}), "turned": ("3,40", "500,2,4", "500,4", {"inserted": "0,1", "to": "1,0"}),
            "batching": ("3,9", "3,300,1", "3,300", {"inserted": "1", "to": "1", "batching": "0", "rows": "0", "vector": "2"})}
    found.update({name: text("s32", operand, indices, updates, ordered=True, **lists) for name, (operand, indices, updates, lists) in many.items()})
    found["unsorted"] = found["0_f32_add"].replace("i = s32", "n = s32").replace("  u =", "  i = s32[2000,1] reverse(n), dimensions={0}\n  u =")
    found["both"] = BOTH.replace("400", "900").replace("to_apply=both", "indices_are_sorted=true, to_apply=both")
    found["apart"] = BOTH.replace("400", "900").replace("ROOT t = (f32[], s32[]) tuple(m, j)", "n = s32[] xor(i, j)\n  ROOT t = (f32[], s32[]) tuple(m, n)").replace(
        "to_apply=both", "indices_are_sorted=true, to_apply=apart")
    return found


COMPUTED = """
e {
  x = f32[40,30] parameter(0)
  i = s32[50] parameter(1)
  u = f32[30,50] parameter(2)
  z = f32[] constant(0)
  start = f32[40,30] negate(x)
  two = s32[50] constant({%s})
  at = s32[50] and(i, two)
  t = f32[50,30] transpose(u), dimensions={1,0}
  values = f32[50,30] exponential(t)
  s = f32[40,30] scatter(start, at, values), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=c
  more = f32[40,30] scatter(s, i, t), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=c
  sum = f32[40] reduce(more, z), dimensions={1}, to_apply=c
  wide = f32[40,30] broadcast(sum), dimensions={0}
  y = f32[40,30] add(wide, more)
  ROOT r = (f32[40,30], f32[40,30], f32[40]) tuple(more, y, sum)
}
""" % ", ".join(["63"] * 50)


def pair(name: str, *lines: str) -> str:
    """Return a combiner of two results."""
    given = [f"{of} = {t}[] parameter({n})" for n, (of, t) in enumerate(zip("aibj", ("f32", "s32") * 2))]
    return f"{name} {{\n  " + "\n  ".join([*given, *lines]) + "\n}\n"


BOTH = pair("both", "m = f32[] maximum(a, b)", "p = pred[] compare(m, a), direction=EQ", "k = s32[] select(p, i, j)",
            "ROOT t = (f32[], s32[]) tuple(m, k)") + pair("apart", "m = f32[] multiply(b, a)", "ROOT t = (f32[], s32[]) tuple(m, j)") + """
e {
  x = f32[50] parameter(0)
  n = s32[50] parameter(1)
  i = s32[400,1] parameter(2)
  u = f32[400] parameter(3)
  v = s32[400] parameter(4)
  ROOT s = (f32[50], s32[50]) scatter(x, n, i, u, v), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=both
}
"""
CPUS = ("pocl-cpu", "cpu", "cpu-scalar")
TORN = BOTH.replace("tuple(m, k)", "tuple(b, j)")    # two results that must come from the same update
TURNED = text("f32", "60,40", "30,1", "30,40", window="1", inserted="0").replace("ROOT s", "s")[:-2] + "  ROOT r = (f32[60,40]{0,1}) tuple(s)\n}\n"
EVERY = text("f32", "256", "9", "9", kind="u8", inserted="0").replace("parameter(2)", "convert(i)")    # no index can be out of range
NONE = text("f32", "0,4", "3,1", "3,4", window="1", inserted="0").replace("ROOT s", "s")[:-2] + """  z = f32[] constant(3)
  n = f32[4] reduce(s, z), dimensions={0}, to_apply=c
  k = f32[2,4] parameter(3)
  j = f32[2,4] concatenate(k, s), dimensions={0}
  b = f32[2,4] broadcast(n), dimensions={1}
  ROOT r = f32[2,4] add(j, b)
}
"""
WHOLE = {"computed": combiner("add", "f32") + COMPUTED, "both": BOTH, "apart": BOTH.replace("to_apply=both", "to_apply=apart"), "torn": TORN,
         "turned": TURNED, "every": EVERY, "none": NONE}


@pytest.mark.drawn
@pytest.mark.parametrize("target, device", drawn.marked(drawn.ON))
def test_agreement(target: str, device: str, tmp_path: Path) -> None:
    """All cases agree on every GPU class, and each case on one of the CPU classes, which SETT_SEED selects. Rare
    combinations of type and combiner run on one class each.
    """
    every, shared = {**some(), **unique()}, [on for on in drawn.ON if on[1] in CPUS or drawn.COUNT < 60]
    if drawn.COUNT < 60:
        kept = random.Random(drawn.SEED).sample(sorted(set(every) - {f"f{n}" for n in range(len(FORMS))}), 16)
        every = {name: source for name, source in every.items() if name in kept or name[1:].isdigit()}
    mine = {name: source for n, (name, source) in enumerate(every.items())
            if (target, device) not in shared or shared[(n + drawn.SEED) % len(shared)] == (target, device)}
    drawn.agree({**mine, **WHOLE}, target, device, tmp_path)


@pytest.mark.parametrize("target, device", drawn.marked(drawn.ON_CPUS))
@drawn.in_parts
def test_updates_are_read_in_the_order_of_memory(target: str, device: str, part: str, tmp_path: Path) -> None:
    """If a dimension of the window has a longer stride in memory than the rows of updates, its loop is outside the
    rows' loop. This is not done if an index depends on the dimension. Updates of one element are done in order: f32
    sums and overwriting updates would give other results in another order.
    """
    every = {
        "shared": (text("f32", "6,40", "700,1", "6,700", window="0", inserted="1", to="1"), ["i0", "i1"]),
        "last": (text("s32", "6,40", "700,1", "6,700", window="0", inserted="1", to="1", body="overwrite"), ["i0", "i1"]),
        "both": (text("f32", "4,9,5", "90,1", "4,90,5", window="0,2", inserted="1", to="1"), ["i0", "i1"]),
        "moved": (text("s32", "6,40", "700,2", "2,700", window="0", inserted="1", to="0,1", body="overwrite"), ["i1"]),
        "rows": (text("f32", "40,300", "70,1", "70,300", window="1", inserted="0"), ["i0"]),
    }
    for name, (source, rows) in every.items():
        (fusion,) = drawn.fusions(source)
        record = pipeline.target_file(fusion, target, device).kernels[-1].text.record
        assert [loop.name for loop in record.rows] == rows, name
    drawn.agree({name: source for name, (source, _) in every.items()}, target, device, tmp_path, part)


@pytest.mark.parametrize("target, device", drawn.marked(drawn.ON_CPUS))
@drawn.in_parts
def test_rows_are_picked_by_owner(target: str, device: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are divided into two parts, and a work-item for each part does the updates of its rows. The results are
    right for indices in range and out of range. The cases have index types of all widths, several dimensions, a smaller
    last part, and rows so short that one cache line contains rows of both parts. If the result fits in the cache, one
    work-item does all updates.
    """
    every = {
        "bytes": text("s32", "200", "5003,1", "5003", inserted="0", kind="s8"),
        "unsigned": text("bf16", "300", "4999,1", "4999", inserted="0", kind="u8", body="overwrite"),
        "long": text("f32", "1000", "4100,1", "4100", inserted="0", kind="s64", body="far"),
        "cells": text("u16", "71,90", "83,61,2", "83,61", inserted="0,1", to="1,0", vector="2", body="overwrite"),
        "one row": text("f64", "1001,4", "2000,1", "2000,4", inserted="0", window="1", kind="u64"),
        "batch": text("f32", "3,500", "3,1700,1", "3,1700", inserted="1", to="1", batching="0", rows="0", vector="2"),
    }
    read = {name: drawn.fusions(source)[0] for name, source in every.items()}
    assert all(drawn.decided(fusion, target, device)[-1][1].loop.items == 1 for name, fusion in read.items() if name != "batch")
    drawn.uncached(monkeypatch)
    for name, fusion in read.items():
        loop = drawn.decided(fusion, target, device)[-1][1].loop
        assert (loop.items, loop.picked) == (2, 0 if name == "batch" else 64), (name, loop)
    drawn.agree({name.replace(" ", "_"): source for name, source in every.items()}, target, device, tmp_path, part)


@pytest.mark.parametrize("target, device", drawn.marked([("cuda-on-cpu", "sm_80"), ("opencl", "opencl-gpu"), ("c", "cpu")]))
def test_sorted(target: str, device: str, tmp_path: Path) -> None:
    every = ordered()
    drawn.agree(every if target != "c" else {name: every[name] for name in ("pairs", "apart")}, target, device, tmp_path)


@pytest.mark.parametrize("source, words", [
    (of("rows", "f32", ordered=True), "atomicAdd: may differ between runs in the order that updates of one element are taken, subnormals of f32 are zero; sorted: 2 rows a thread"),
    (text("f32", "100", "5000000,1", "5000000", inserted="0", ordered=True), "sorted: 22 rows a thread"),
    (text("s32", "100000", "5000000,1", "5000000", inserted="0", ordered=True), "atomicAdd; sorted: 22 rows a thread"),
    (text("s32", "3000000", "5000000,1", "5000000", inserted="0", ordered=True), "sorted: 2 rows a thread"),
    (text("s32", "5000000", "5000000,1", "5000000", inserted="0", ordered=True), "sorted, but 5000000 rows for 5000000 places are no runs"),
    (of("implicit", "f32", ordered=True), "sorted, but 35 rows are too few for runs"),
    (of("rows", "f32", body="overwrite", ordered=True), "sorted, but result 0 is not combined by one op"),
    (of("rows", "f32", body="far", ordered=True), "sorted, but result 0 is not combined by one op"),
    (of("rows", "s4", ordered=True), "sorted, but sums of s4 are not kept")])
def test_when_sorted_rows_are_runs(source: str, words: str) -> None:
    found = how(source, "cuda")
    assert words in found, found
    assert "sorted" not in how(source.replace(", indices_are_sorted=true", ""), "cuda")


class Buffer(ctypes.Structure):
    """struct sett_buffer of gen/run/harness/fusion.h."""

    _fields_ = [("bytes", ctypes.c_size_t), ("elements", ctypes.c_size_t), ("bits", ctypes.c_int), ("kind", ctypes.c_int), ("exact", ctypes.c_int),
                ("index", ctypes.c_ulonglong), ("apart", ctypes.c_ulonglong * 18), ("sorted", ctypes.c_ulonglong * 10), ("varies", ctypes.c_int), ("definite", ctypes.c_ulonglong), ("file", ctypes.c_char_p)]


def test_sorted_indices_are_drawn(tmp_path: Path) -> None:
    """The sorted indices that a check draws do not decrease. Their components are compared in the order of the
    operand's dimensions. Any dimension of the index array may hold the components.
    """
    library = tmp_path / "data.so"
    subprocess.run([run.c_compiler(), "-shared", "-fPIC", "-o", str(library), str(ROOT / "gen" / "run" / "harness" / "data.c"), "-lm"], check=True)
    draw = ctypes.CDLL(str(library)).data_fill
    draw.argtypes = [ctypes.POINTER(Buffer), ctypes.c_void_p, ctypes.c_int, ctypes.c_ulonglong]
    for kind, vector, indices, rows in (("s32", "1", "60,2", (60, 1)), ("s16", "1", "5,2,12", (5, 12)), ("u8", "0", "2,60", (1, 60)), ("s64", "1", "60,2", (60, 1))):
        updates = ",".join(n for k, n in enumerate(indices.split(",")) if str(k) != vector)
        (fusion,) = drawn.fusions(text("f32", "7,9", indices, updates, inserted="0,1", to="1,0", vector=vector, kind=kind, ordered=True))
        about = manifest.manifest(pipeline.program_of(fusion), [pipeline.target_file(fusion, "c")], False)["params"][1]
        assert about["sorted"] == [rows[1], 2, 1, 0]
        bits, word = int(kind[1:]), {8: "B", 16: "h", 32: "i", 64: "q"}[int(kind[1:])]
        buffer = Buffer(15 * bits, 120, bits, 1 if kind[0] == "s" else 2, 0, about["index_below"])
        buffer.sorted[:4] = about["sorted"]
        for style in range(3):
            data = ctypes.create_string_buffer(15 * bits)
            draw(ctypes.byref(buffer), data, style, 7 + style)
            found = struct.unpack(f"<120{word}", data.raw)
            pairs = [(found[(2 * r + 1) * rows[1] + k], found[2 * r * rows[1] + k]) for r in range(rows[0]) for k in range(rows[1])]
            assert pairs == sorted(pairs) and len(set(pairs)) > 10


def test_refused_index_is_dropped_whole(tmp_path: Path) -> None:
    """An update is dropped as a whole if its index is out of range at either end, if its window reaches beyond the
    operand, or if one of two index components is wrong.
    """
    indices = [(0, 0), (4, 0), (0, 4), (-1, 1), (3, 3)]
    given = [range(30), [n for pair in indices for n in pair], [100] * 30]
    wanted = list(range(30))
    for row, column in [(0, 0), (3, 3)]:
        for r in range(2):
            for c in range(3):
                wanted[(row + r) * 6 + column + c] += 100
    assert answer(text("s32", "5,6", "5,2", "5,2,3", window="1,2", to="0,1"), given, "c", tmp_path) == wanted


def answer(source: str, given: "Sequence[Sequence[int]]", target: str, folder: Path) -> "List[int]":
    """Return the only result, which is s32 like all parameters."""
    (data,) = gen_run.run(source, [struct.pack(f"<{len(values)}i", *values) for values in given], target, folder)
    return list(struct.unpack(f"<{len(data) // 4}i", data))


@pytest.mark.parametrize("target", ["c", pytest.param("opencl", marks=pytest.mark.peer)])
@pytest.mark.parametrize("rows, places", [(6000, 50), (300, 7), (9000, 9)])
def test_cpus_take_updates_in_order(target: str, rows: int, places: int, tmp_path: Path) -> None:
    """The last update of an element wins, whichever thread does it."""
    r = random.Random(rows)
    at, wanted = [r.randint(-2, places + 1) for _ in range(rows)], list(range(places))
    for n, one in enumerate(at):
        if 0 <= one < places:
            wanted[one] = 1000 + n
    source = text("s32", f"{places}", f"{rows},1", f"{rows}", body="overwrite", inserted="0")
    assert answer(source, [range(places), at, range(1000, 1000 + rows)], target, tmp_path) == wanted


@pytest.mark.parametrize("target, device", drawn.marked(drawn.ON_CPUS))
@drawn.in_parts
def test_later_updates_are_prefetched(target: str, device: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later updates are prefetched if the result is larger than the cache, for rows of any length. Conditional reads are
    not prefetched, nor are updates in a loop.
    """
    drawn.uncached(monkeypatch)
    rows = {name: text(t, f"90,{size}", "70,1", f"70,{size}", window="1", body=body, inserted="0")
            for name, t, size, body in (("whole", "f32", 256, "add"), ("odd", "bf16", 333, "add"), ("bytes", "s8", 1000, "overwrite"), ("maps", "f64", 77, "maximum"))}
    rows["computed"] = """HloModule m
c { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e {
  o = f32[90,100] parameter(0)
  i = s32[70,1] parameter(1)
  u = f32[70,96] parameter(2)
  x = f32[70,100,3] parameter(3)
  z = f32[] constant(2)
  d = f32[70,100] pad(u, z), padding=0_0x1_3
  r = f32[70,100] reduce(x, z), dimensions={2}, to_apply=c
  v = f32[70,100] add(d, r)
  ROOT s = f32[90,100] scatter(o, i, v), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=c
}
"""
    for name, source in rows.items():
        kernel = pipeline.target_file(drawn.fusions(source)[0], target, device).kernels[-1]
        lines = "\n".join(printed(kernel.text.record.prefetch))
        assert ("prefetch 32 updates ahead" in kernel.loop.text()) == bool(lines) == (device != "cpu-scalar"), source
        assert not lines or ("(p2 +" in lines) == (name != "computed") and "(r0 +" in lines and "(p3" not in lines, lines
    drawn.agree(rows, target, device, tmp_path, part)


def how(source: str, target: str, device: "str | None" = None) -> str:
    """Return the schedule of the kernel that does the updates. Check that the code has exactly the atomic operations
    that the schedule names.
    """
    (fusion,) = drawn.fusions(source)
    program = pipeline.target_file(fusion, target, device)
    (kernel,) = [k for k in program.kernels if k.hero == "scatter"]
    if isinstance(kernel.loop, scatter.Updates):
        swap = {"cuda": "atomicCAS", "opencl": "atomic_cmpxchg"}[target]
        words = re.split("[:;]", kernel.loop.how)[0].replace("compare and swap", swap).split(", ")
        code = re.split(r"__global__|__kernel", program.text, maxsplit=1)[1]
        assert set(re.findall(r"\b(atomic\w+)\(", code)) == {word for word in words if word.startswith("atomic")}, code
    return kernel.loop.text()


@pytest.mark.parametrize("t, body, target, words", [
    ("f32", "add", "cuda", "atomicAdd: may differ between runs"), ("f64", "add", "cuda", "atomicAdd: may differ"), ("s64", "maximum", "cuda", "atomicMax"),
    ("u32", "or", "cuda", "atomicOr"), ("f32", "maximum", "cuda", "compare and swap: may differ"), ("bf16", "add", "cuda", "compare and swap: may differ"),
    ("s4", "add", "cuda", "compare and swap"), ("f32", "overwrite", "cuda", "plain store: may differ"), ("f64", "minimum", "cuda", "compare and swap: may differ"),
    ("s32", "add", "opencl", "atomic_add"), ("f32", "add", "opencl", "compare and swap: may differ"), ("s64", "add", "opencl", "in order"),
    ("c64", "add", "cuda", "atomicAdd: may differ"), ("c64", "multiply", "cuda", "in order"), ("c128", "overwrite", "cuda", "in order"), ("c64", "add", "opencl", "in order"),
    ("u8", "far", "opencl", "compare and swap: may differ"), ("u16", "add", "opencl", "compare and swap"),
    ("s32", "multiply", "cuda", "compare and swap"), ("u32", "multiply", "opencl", "compare and swap")])
def test_how_gpus_combine(t: str, body: str, target: str, words: str) -> None:
    found = how(of("rows", t, body=body), target, {"cuda": "sm_80", "opencl": "opencl-gpu"}[target])
    assert words in found and ("differ" in words) == ("differ" in found), found


def test_what_is_done_in_order() -> None:
    assert "in order, 1 item" in how(of("rows", "f32"), "c")     # the result fits in the cache
    assert "in order, 3 items" in how(text("f32", "40,300", "700,1", "700,300", window="1", inserted="0"), "c")
    assert "in order, 1 item" in how(text("u8", "7", "9,1", "9", inserted="0"), "opencl", "opencl-gpu")     # the elements do not fill whole words
    assert "in order" in how(WHOLE["both"], "cuda") and "compare and swap" in how(WHOLE["apart"], "cuda")
    assert "in order" in how(TORN, "cuda") and "unique" in how(TORN.replace("to_apply=both", "unique_indices=true, to_apply=both"), "cuda")
    assert "compare and swap, plain" in how(BOTH.replace("maximum(a, b)", "add(a, b)").replace("tuple(m, k)", "tuple(m, j)"), "cuda")
    assert "unique" in how(of("rows", "f32", unique=True), "cuda") and "compare" in how(of("rows", "s4", unique=True), "cuda")


def test_manifest_says_what_varies() -> None:
    (fusion,) = drawn.fusions(WHOLE["computed"])
    assert all("varies" in entry for entry in pipeline.files(fusion, ["cuda"])[1]["results"])
    assert not any("varies" in entry for entry in pipeline.files(fusion, ["c"])[1]["results"])


@pytest.mark.parametrize("step, apart", [
    ("s32[300,1] reshape(i)", True), ("s64[300,1] convert(r)", True), ("s32[300,1] bitcast(i)", True), ("s32[300,1] copy(r)", True),
    ("s32[300,1] and(r, r)", False), ("s16[300,1] convert(r)", False), ("s32[300,1]{0,1} copy(r)", False)])
def test_unique_indices_are_drawn_apart(step: str, apart: bool) -> None:
    """A check draws unique indices even if they pass through ops that keep their order. If other ops compute the
    indices, the check cannot draw unique ones, and two runs may give different bits.
    """
    source = text("f32", "8", "300,1", "300", body="overwrite", unique=True, inserted="0").replace("i = s32[300,1]", "i = s32[300]") \
        .replace("  ROOT s", ("  r = s32[300,1] reshape(i)\n" if "(r" in step else "") + f"  j = {step}\n  ROOT s").replace("(x, i, u)", "(x, j, u)")
    (fusion,) = drawn.fusions(source)
    about = pipeline.files(fusion, ["cuda"])[1]
    assert ("distinct" in about["params"][1], "varies" in about["results"][0]) == (apart, not apart)
    assert how(source, "cuda").startswith("threads 128") and "unique indices" in how(source, "cuda") and "differ" not in how(source, "cuda")


def test_nothing_is_known_where_unique_indices_meet() -> None:
    source = text("s32", "3", "4,1", "4", unique=True, inserted="0").replace("  ROOT s", "  j = s32[4,1] and(i, i)\n  ROOT s").replace("(x, i, u)", "(x, j, u)")
    (fusion,) = drawn.fusions(source)
    data = [struct.pack(f"<{len(values)}i", *values) for values in ([1, 2, 3], [0, 2, 0, 9], [4, 5, 6, 7])]
    (allowed,) = call(compiled(bounds.bound(fusion.computation, "t")).t_bound, data, [24])
    first, *others = struct.unpack("<3d", allowed)
    assert first > 1e9 and others == [0, 0]


def test_subnormals_of_sums_in_cuda() -> None:
    """atomicAdd of f32 in CUDA flushes subnormals to zero. Only the bound for that target allows this."""
    assert "subnormals of f32 are zero" in how(of("rows", "f32"), "cuda") and "subnormals" not in how(of("rows", "f64"), "cuda")
    least, normal = 2.0 ** -149, 2.0 ** -126
    (fusion,) = drawn.fusions(text("f32", "3", "5,1", "5", inserted="0"))
    data = [struct.pack("<3f", least, 1.0, normal), struct.pack("<5i", 0, 0, 1, 2, 3), struct.pack("<5f", normal - least, least, -1.0, -normal + least, 7.0)]
    (got,) = call(compiled(reference.reference(fusion.computation, "t")).t_ref, data, [12])
    assert struct.unpack("<3f", got) == (normal + least, 0.0, least)
    flushed = (0.0, 0.0, normal)
    for target, covered in (("cuda", True), ("c", False)):
        (allowed,) = call(compiled(bounds.bound(fusion.computation, "t", flushes=target == "cuda")).t_bound, data, [24])
        assert all(within(*one) for one in zip(flushed, struct.unpack("<3f", got), struct.unpack("<3d", allowed))) == covered
    assert "2 * 0x1p-126" in bound_file(fusion, "cuda") and "2 * 0x1p-126" not in bound_file(fusion, "c")


def bound_file(fusion: hlo.Fusion, target: str) -> str:
    found = pipeline.oracle(fusion, False, TARGETS[target].flushes).bound
    assert found
    return found.text


BAD = {
    "as many updates as operands": text("f32", "5", "4,1", "4", inserted="0").replace("(x, i, u)", "(x, i)"),
    "integers": text("f32", "5", "4,1", "4", inserted="0", kind="f32"),
    "from 0 to 2": text("f32", "5", "4,1", "4", inserted="0", vector="3"),
    "window dimension for each": text("f32", "5,6", "4,1", "4,6", inserted="", window="1"),
    "are not in 'update_window_dims'": text("f32", "5", "4,1", "3", inserted="0"),
    "at most 5": text("f32", "5", "4,1", "4,6", window="1"),
    "as many as an index has": text("f32", "5,6", "4,1", "4", inserted="0,1", to="0,1"),
    "increasing": text("f32", "5,6", "4,2", "4", inserted="1,0", to="0,1"),
    "other than index_vector_dim": text("f32", "5,6", "5,1", "5", inserted="1", to="1", batching="0", rows="1"),
    "equal sizes": text("f32", "5,6", "4,1", "4", inserted="1", to="1", batching="0", rows="0"),
    "are not in 'inserted_window_dims'": text("f32", "5,6", "5,1", "5", inserted="0,1", to="1", batching="0", rows="0"),
    "expected 2 parameters|found 1": text("f32", "5", "4,1", "4", inserted="0").replace("  b = f32[] parameter(1)\n", "").replace("add(a, b)", "negate(a)"),
    "as the result of": text("f32", "5", "4,1", "4", inserted="0").replace("ROOT r = f32[] add(a, b)", "ROOT r = pred[] compare(a, b), direction=EQ"),
    "expected true or false": text("f32", "5", "4,1", "4", inserted="0").replace("to_apply", "unique_indices=maybe, to_apply"),
    "expected f32\\[5\\]": text("f32", "5", "4,1", "4", inserted="0").replace("ROOT s = f32[5]", "ROOT s = f32[6]"),
}


@pytest.mark.parametrize("expected", BAD)
def test_refused(expected: str) -> None:
    with pytest.raises(hlo.HloError, match=expected) as caught:
        hlo.parse(BAD[expected], "e.hlo")
    assert caught.value.line > 6 and caught.value.col > 1


@pytest.mark.parametrize("source, expected", [
    (text("f32", "16,128", "4,1", "4,128", inserted="0", window="1", layout="{1,0:T(8,128)}"), "without tiles")])
def test_not_yet(source: str, expected: str) -> None:
    module = hlo.parse(source, "e.hlo")
    problem = hlo.unsupported(module)
    assert problem is not None and expected in str(problem)
