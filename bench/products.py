"""Time products and convolutions in C alternately with XLA:CPU, OpenBLAS, oneDNN and LIBXSMM, in one process.
    python3 bench/products.py [--json F] [WORD ..]

With words, only the rows whose names contain one of the words are timed. The columns of the table:
    ours       time of one call of the generated function on the machine's threads; caches keep what the previous call
               left
    XLA:CPU    as in programs.py
    libraries  time of one call from C; "-" if the library is absent or has no such function
    times      time of the fastest library or XLA:CPU, divided by ours
    peak       our operations per second, relative to independent multiply-adds of f32 (in f64 rows: f64) in the same
               run
    read       for rows with few operations per byte: bytes of parameters and results per second, relative to a sum
               over the same number of bytes
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import jax
import numpy as np
from programs import EMPTY, ROOT, Ours, Theirs, aligned, inputs, turns, wrong

from gen import algebra
from gen.program import build
from gen.run import bench
from gen.run.sources import load
from gen.targets.tools import c_compiler

os.environ["OPENBLAS_THREAD_TIMEOUT"] = "4"    # otherwise its threads look for work during the next contender's turn
LIBRARIES = {"OpenBLAS": ["-DOPENBLAS", "-lopenblas"], "oneDNN": ["-DONEDNN", "-ldnnl"], "LIBXSMM": ["-DXSMM", "-lxsmm", "-lblas", "-ldl"]}
TYPES = {"f32": 0, "f64": 1, "bf16": 2, "s8": 3, "u8": 4, "s32": 5}
FEW = 16    # products and convolutions with fewer operations per byte than this are limited by reading memory
FEW_BYTES = 1 << 18    # minimum number of bytes that each thread of the sum reads
DIMS = ctypes.c_int64 * 12


class Product(ctypes.Structure):
    """The arguments of a product: `struct product` of products.c."""

    _fields_ = [*((name, ctypes.c_int64) for name in ("batch", "m", "n", "k")),
                *((name, ctypes.c_int) for name in ("a_is_transposed", "b_is_transposed", "dtype", "result")),
                *((name, ctypes.c_void_p) for name in ("a", "b", "c"))]


class Convolution(ctypes.Structure):
    """The arguments of a convolution: `struct convolution` of products.c."""

    _fields_ = [("kind", ctypes.c_int), *((name, DIMS) for name in ("input", "input_strides", "weights", "output", "output_strides",
                                                                     "strides", "low", "high")),
                *((name, ctypes.c_void_p) for name in ("x", "w", "y"))]


@dataclass(frozen=True)
class Case:
    """A row of the table.

    alike: the arguments of the libraries' function for this row; None if they have no such function.

    pointers: the names of the pointers in these arguments, each with the number of the parameter that it points to
    (-1: the result).
    """

    name: str
    text: str
    operations: int
    peak: str = "f32"
    alike: Any = None
    pointers: Tuple[Tuple[str, int], ...] = ()


def shape(dtype: str, dims: Sequence[int]) -> str:
    return f"{dtype}[{','.join(map(str, dims))}]{{{','.join(map(str, reversed(range(len(dims)))))}}}"


def module(name: str, params: Sequence[str], *lines: str) -> str:
    given = [f"  p{n} = {of} parameter({n})" for n, of in enumerate(params)]
    return "\n".join([f"HloModule {name}", "", "ENTRY e {", *given, *lines[:-1], f"  ROOT {lines[-1].strip()}", "}", ""])


def product(m: int, n: int, k: int, batch: int = 1, dtype: str = "f32", result: str = "", ta: bool = False, tb: bool = False) -> Case:
    """Return the row of the product of A (m by k) and B (k by n). Each is row-major, or the transpose of a row-major
    matrix.
    """
    result, b = result or dtype, [batch] * (batch > 1)
    given = [shape(dtype, [*b, *((k, m) if ta else (m, k))]), shape(dtype, [*b, *((n, k) if tb else (k, n))])]
    at, batches = len(b), ", lhs_batch_dims={0}, rhs_batch_dims={0}" * len(b)
    name = f"{'product' if m > 1 else 'gemv'}_{f'{batch}x' * len(b)}{m}x{n}x{k}_{dtype}{'_at' * ta}{'_bt' * tb}"
    text = module(name, given, f"d = {shape(result, [*b, m, n])} dot(p0, p1){batches}, lhs_contracting_dims={{{at + (not ta)}}}, "
                               f"rhs_contracting_dims={{{at + tb}}}")
    alike = Product(batch, m, n, k, ta, tb, TYPES[dtype], TYPES[result]) if dtype in TYPES and result in TYPES else None
    return Case(name, text, (8 if dtype[0] == "c" else 2) * batch * m * n * k, "f64" if dtype == "f64" else "f32", alike, (("a", 0), ("b", 1), ("c", -1)))


def convolution(name: str, batch: int, size: int, channels: int, filters: int, window: int, stride: int = 1, groups: int = 1,
                order: str = "nhwc", kind: str = "forward") -> Case:
    """Return the row of a convolution. The images have size pixels per side, the outputs size / stride. kind:
    "forward", or "input" or "weights" for the gradient of these, in the form into which XLA rewrites JAX's gradient.
    The groups of a gradient must have one channel each.
    """
    out, low = -(-size // stride), (window - 1) // 2
    high = (out - 1) * stride + window - size - low
    image = {"nhwc": lambda s, c: [batch, s, s, c], "nchw": lambda s, c: [batch, c, s, s]}[order]
    labels = {"nhwc": "b01f", "nchw": "bf01"}[order]
    weights = [window, window, channels // groups, filters] if order == "nhwc" else [filters, channels // groups, window, window]
    of_weights = "01io" if order == "nhwc" else "oi01"
    x, w, y = shape("f32", image(size, channels)), shape("f32", weights), shape("f32", image(out, filters))

    def pads(a: int, b: int) -> str:
        return f"{a}_{b}x{a}_{b}"

    strides = f" stride={stride}x{stride}" * (stride > 1)
    grouped = f", feature_group_count={groups}" * (groups > 1)
    if kind == "forward":
        line = (f"c = {y} convolution(p0, p1), window={{size={window}x{window} pad={pads(low, high)}{strides}}}, "
                f"dim_labels={labels}_{of_weights}->{labels}{grouped}")
        given, pointers = [x, w], (("x", 0), ("y", -1))
    elif kind == "input":    # the output's gradient, dilated by the stride, is convolved with the reversed weights
        spread = f" lhs_dilate={stride}x{stride}" * (stride > 1)
        turned = of_weights if groups > 1 else of_weights.replace("i", "?").replace("o", "i").replace("?", "o")
        line = (f"c = {x} convolution(p0, p1), window={{size={window}x{window} pad={pads(window - 1 - low, window - 1 - high + (size + low + high - window) % stride)}"
                f"{spread} rhs_reversal=1x1}}, dim_labels={labels}_{turned}->{labels}{grouped}")
        given, pointers = [y, w], (("y", 0), ("x", -1))
    else:    # the convolution sums over the images, as a forward convolution sums over the input channels
        spread = f" rhs_dilate={stride}x{stride}" * (stride > 1)
        as_sum, last = labels.replace("b", "?").replace("f", "b").replace("?", "f"), window - size - low + (out - 1) * stride
        of_y = labels.replace("b", "i").replace("f", "o")
        line = (f"c = {w} convolution(p0, p1), window={{size={out}x{out} pad={pads(low, last)}{spread}}}, "
                f"dim_labels={as_sum}_{of_y}->{of_weights.replace('i', 'b').replace('o', 'f')}{grouped.replace('feature', 'batch')}")
        given, pointers = [x, y], (("x", 0), ("y", 1))
    alike = Convolution({"forward": 0, "input": 1, "weights": 2}[kind])

    def of_image(dims: Any, steps: Any, s: int, c: int) -> None:
        dims[:4] = batch, c, s, s
        steps[:4] = (s * s * c, 1, s * c, c) if order == "nhwc" else (s * s * c, s * s, s, 1)

    of_image(alike.input, alike.input_strides, size, channels)
    of_image(alike.output, alike.output_strides, out, filters)
    alike.weights[:5] = groups, filters // groups, channels // groups, window, window
    alike.strides[:2], alike.low[:2], alike.high[:2] = (stride,) * 2, (low,) * 2, (high,) * 2
    full = f"conv_{name}_{order}{'' if kind == 'forward' else '_of_' + kind}"
    return Case(full, module(full, given, line), 2 * batch * out * out * filters * window * window * channels // groups, "f32", alike, pointers)


def attention(name: str, heads: int, queries: int, keys: int, size: int, causal: bool) -> Case:
    q, k = shape("f32", [heads, queries, size]), shape("f32", [heads, keys, size])
    s, r = shape("f32", [heads, queries, keys]), shape("f32", [heads, queries])
    masked = [f"  i = {shape('s32', [heads, queries, keys])} iota(), iota_dimension=1",
              f"  j = {shape('s32', [heads, queries, keys])} iota(), iota_dimension=2",
              f"  before = {shape('pred', [heads, queries, keys])} compare(i, j), direction=GE",
              "  low = f32[] constant(-1e30)", f"  lows = {s} broadcast(low), dimensions={{}}", f"  masked = {s} select(before, t, lows)"]
    text = f"""HloModule {name}

larger {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}}

sum {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}}

""" + module(name, [q, k, k],
             f"  d = {s} dot(p0, p1), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_contracting_dims={{2}}",
             f"  scale = f32[] constant({size ** -0.5})", f"  scales = {s} broadcast(scale), dimensions={{}}", f"  t = {s} multiply(d, scales)",
             *(masked if causal else []), "  least = f32[] constant(-inf)",
             f"  top = {r} reduce({'masked' if causal else 't'}, least), dimensions={{2}}, to_apply=larger",
             f"  tops = {s} broadcast(top), dimensions={{0,1}}", f"  u = {s} subtract({'masked' if causal else 't'}, tops)", f"  e = {s} exponential(u)",
             "  zero = f32[] constant(0)", f"  total = {r} reduce(e, zero), dimensions={{2}}, to_apply=sum",
             f"  totals = {s} broadcast(total), dimensions={{0,1}}", f"  share = {s} divide(e, totals)",
             f"y = {q} dot(share, p2), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}"
             ).split("\n\n", 1)[1]
    return Case(name, text, 4 * heads * queries * keys * size // (2 if causal else 1))


def layer(name: str, m: int, n: int, k: int) -> Case:
    """Return the row of a product followed by a bias and GELU (by tanh)."""
    y = shape("f32", [m, n])
    numbers = {"half": 0.5, "one": 1.0, "cube": 0.044715, "root": 0.7978845608}
    return Case(name, module(
        name, [shape("f32", [m, k]), shape("f32", [k, n]), shape("f32", [n])],
        f"  d = {y} dot(p0, p1), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}", f"  b = {y} broadcast(p2), dimensions={{1}}", f"  x = {y} add(d, b)",
        *(line for key, value in numbers.items() for line in (f"  {key} = f32[] constant({value})", f"  {key}s = {y} broadcast({key}), dimensions={{}}")),
        f"  x2 = {y} multiply(x, x)", f"  x3 = {y} multiply(x2, x)", f"  c = {y} multiply(x3, cubes)", f"  i = {y} add(x, c)", f"  j = {y} multiply(i, roots)",
        f"  t = {y} tanh(j)", f"  u = {y} add(t, ones)", f"  h = {y} multiply(x, halfs)", f"y = {y} multiply(h, u)"), 2 * m * n * k)


def cases() -> Iterator[Case]:
    for size in (16, 32, 64, 100, 128, 256, 512, 1024, 2048, 4096):
        yield product(size, size, size)
    for m, n, k in ((1000, 1000, 1000), (333, 333, 333), (200, 2000, 2000), (2000, 200, 2000), (30, 3000, 3000), (97, 1537, 777),
                    (1024, 2048, 2048)):
        yield product(m, n, k)
    yield product(100, 200, 150, 16)
    for size in (16, 64, 256, 512, 1024):
        yield product(size, size, size, dtype="f64")
    for size in (16, 64, 256, 512):
        yield product(size, size, size, dtype="c64")
    for m in (1, 4):
        yield product(m, 1000, 1000, dtype="c64")
    yield product(1000, 4, 1000, dtype="c64")
    for m in (1, 2, 4, 8, 12, 16, 17, 32, 64):
        yield product(m, 4096, 4096)
    for m in (1, 2, 8, 17):
        yield product(m, 4096, 4096, tb=True)
    for m, n, k in ((100000, 3, 3), (100000, 8, 8), (40960, 5, 64)):
        yield product(m, n, k)
    yield product(65536, 64, 64)
    yield product(4096, 4096, 16)
    yield product(64, 64, 65536)
    yield product(1024, 1024, 1024, ta=True)
    yield product(1024, 1024, 1024, tb=True)
    for batch, size in ((86268, 3), (40000, 4), (10000, 6), (256, 64)):
        yield product(size, size, size, batch)
    yield product(1024, 1024, 1024, dtype="bf16", result="f32")
    yield product(1024, 1024, 1024, dtype="bf16")
    yield product(1024, 1024, 1024, dtype="s8", result="s32")
    for dtype, result in (("bf16", "f32"), ("s8", "s32")):
        yield product(1024, 1024, 1024, dtype=dtype, result=result, tb=True)
    yield product(8, 4096, 4096, dtype="bf16", result="f32")
    for m in (2, 4, 8, 16, 32):
        yield product(m, 4096, 4096, dtype="bf16", result="f32", tb=True)
    yield product(8, 4096, 4096, dtype="s8", result="s32", tb=True)
    for size in (128, 256, 512):
        yield product(size, size, size, dtype="bf16", result="f32")
    for dtype, result in (("bf16", "f32"), ("s8", "s32")):
        yield product(64, 4096, 4096, dtype=dtype, result=result)
    yield product(1, 11008, 4096)
    yield product(1, 4096, 4096, dtype="bf16", result="f32")
    yield product(128, 11008, 4096)
    yield product(128, 3072, 768)
    yield layer("bert_layer_128x3072x768", 128, 3072, 768)
    yield attention("attention_8x512x512x64", 8, 512, 512, 64, False)
    yield attention("attention_causal_8x512x512x64", 8, 512, 512, 64, True)
    yield attention("attention_decode_32x1x2048x128", 32, 1, 2048, 128, False)
    for order in ("nhwc", "nchw"):
        for name, *sizes in LAYERS:
            for kind in ("forward", "input", "weights"):
                if name != "resnet_first_7x7" or kind != "input":
                    yield convolution(name, *sizes, order=order, kind=kind)
        for name, *sizes in (*GROUPED, *ODD):
            yield convolution(name, *sizes, order=order)


# Layers of ResNet-50 and MobileNet-v2: name, images, pixels per side, channels, filters, window, stride, groups.
LAYERS = [("resnet_first_7x7", 2, 224, 3, 64, 7, 2), ("resnet_3x3_64", 2, 56, 64, 64, 3), ("resnet_1x1_64", 2, 56, 64, 256, 1),
          ("resnet_3x3_128_stride", 2, 56, 128, 128, 3, 2), ("resnet_3x3_256", 2, 14, 256, 256, 3), ("resnet_1x1_512_stride", 2, 28, 512, 1024, 1, 2),
          ("resnet_3x3_512", 2, 7, 512, 512, 3), ("resnet_1x1_2048", 2, 7, 2048, 512, 1), ("mobilenet_1x1_24", 2, 56, 24, 144, 1),
          ("mobilenet_1x1_144", 2, 56, 144, 24, 1), ("mobilenet_1x1_160", 2, 7, 160, 960, 1), ("mobilenet_depthwise_144", 2, 56, 144, 144, 3, 1, 144),
          ("mobilenet_depthwise_192_stride", 2, 28, 192, 192, 3, 2, 192)]
# Layers with groups of few features: ResNeXt-50's, and depthwise convolutions with two features per channel.
GROUPED = [("resnext_3x3_32x4", 2, 56, 128, 128, 3, 1, 32), ("resnext_3x3_32x8", 2, 28, 256, 256, 3, 1, 32),
           ("depthwise_96x2", 2, 28, 96, 192, 3, 1, 96)]
# Layers whose features fill no whole vectors, or whose rows of pixels fill no whole tiles.
ODD = [("3x3_37", 2, 32, 37, 50, 3), ("3x3_384", 1, 13, 384, 384, 3)]


class Library:
    """Calls a library's function for a case, on the operands of our function."""

    def __init__(self, made: Any, case: Case, ours: Ours, spare: Any) -> None:
        self.asked = type(case.alike).from_buffer_copy(case.alike)
        for name, n in case.pointers:
            setattr(self.asked, name, (spare if n < 0 else ours.kept[n]).ctypes.data)
        self.call = made.spend_product if isinstance(self.asked, Product) else made.spend_convolution
        self.call.restype = ctypes.c_double

    def spend(self, calls: int) -> float:
        return float(self.call(ctypes.byref(self.asked), ctypes.c_int64(calls)))


class Reading:
    """Reads an array and sums it up. The array's size is the number of bytes that a row's computation reads and writes.
    The time is for the column `read`.
    """

    def __init__(self, limits: Any, size: int, threads: int) -> None:
        self.limits, self.threads, self.buffer = limits, threads if size > FEW_BYTES else 1, np.ones(max(size, 4096), np.uint8)
        limits.read_all.restype = ctypes.c_double

    def spend(self, calls: int) -> float:
        return float(self.limits.read_all(ctypes.c_void_p(self.buffer.ctypes.data), ctypes.c_int64(self.buffer.size), self.threads, ctypes.c_int64(calls)))


def compiled(folder: Path, name: str, options: "List[str]") -> "Optional[ctypes.CDLL]":
    library = folder / f"{name}.so"
    done = subprocess.run([c_compiler(), "-O2", "-march=native", "-fopenmp", "-fPIC", "-shared", "-w", "-o", str(library),
                           str(ROOT / "bench" / "products.c"), *options], capture_output=True, check=False)
    return None if done.returncode else ctypes.CDLL(str(library))


def row_of(case: Case, libraries: "Dict[str, Any]", limits: Any, peaks: "Dict[str, float]", empty: float) -> "Dict[str, Any]":
    row: Dict[str, Any] = {"name": case.name, "operations": case.operations}
    try:
        with tempfile.TemporaryDirectory() as work:
            text = Path(work) / f"{case.name}.hlo"
            text.write_text(case.text)
            program = build.program(load(str(text)))
            given = inputs(program, None)
            ours = Ours(program, Path(work), given)
            theirs = Theirs(case.text, given)
            row["differs"] = wrong(ours, program, None, theirs.call())
            spare = aligned(np.zeros_like(ours.results[0]))
            beside = {"XLA:CPU": theirs}
            for name, made in libraries.items():
                if case.alike and (isinstance(case.alike, Product) or hasattr(made, "spend_convolution")):
                    library = Library(made, case, ours, spare)
                    if library.spend(1) >= 0:
                        beside[name] = library
            row["bytes"] = sum(x.shape.bytes for x in (*program.plain_params, *program.results))
            row["ours"], reading, *others = turns(ours, Reading(limits, row["bytes"], os.cpu_count() or 1), *beside.values())
            row["others"] = dict(zip(beside, others))
            row["others"]["XLA:CPU"] = max(row["others"]["XLA:CPU"] - empty, 1e-9)
            row["peak"] = case.operations / row["ours"] / peaks[case.peak]
            row["read"], row["times"] = reading / row["ours"], min(row["others"].values()) / row["ours"]
    except Exception as error:  # whatever is wrong with one row, the others are still measured
        row["reason"] = (str(error).splitlines() or [type(error).__name__])[0][:160]
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    parser.add_argument("words", nargs="*")
    asked = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    threads = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as work:
        limits = compiled(Path(work), "limits", ["-DLIMITS"])
        assert limits, "cc has no OpenMP"
        made = {name: compiled(Path(work), name, options) for name, options in LIBRARIES.items()}
    limits.peak.restype = ctypes.c_double
    peaks = {dtype: limits.peak(dtype == "f64", threads) for dtype in ("f32", "f64")}
    empty, = turns(Theirs(EMPTY, [np.float32(1)]))
    for name, library in made.items():
        if not library:
            print(f"SKIP {name}: it cannot be linked")
    print(f"jax {jax.__version__}, {threads} threads; peak {peaks['f32'] / 1e9:.0f} GFLOP/s in f32, {peaks['f64'] / 1e9:.0f} in f64; "
          f"a call of an empty function takes XLA {bench.seconds_text(empty)}, which is taken off")
    names = ["XLA:CPU", *made]
    print(f"| product | ours | {' | '.join(names)} | times | peak | read |\n|{'---|' * (5 + len(names))}", flush=True)
    rows = []
    for case in cases():
        if asked.words and not any(word in case.name for word in asked.words):
            continue
        rows.append(row := row_of(case, {name: x for name, x in made.items() if x}, limits, peaks, empty))
        if "ours" not in row:
            print(f"| {row['name']} | {row['reason']} |", flush=True)
            continue
        cells = [bench.seconds_text(row["ours"]), *(bench.seconds_text(row["others"][x]) if x in row["others"] else "-" for x in names),
                 f"{row['times']:.2f}", f"{row['peak']:.2f}", f"{row['read']:.2f}" if row["operations"] < FEW * row["bytes"] else "-"]
        print(f"| {row['name']} | {' | '.join(cells)} |{' differs by ' + row['differs'] if row['differs'] else ''}", flush=True)
    timed = [row for row in rows if "times" in row]
    if timed:
        of_xla = geometric_mean(row["others"]["XLA:CPU"] / row["ours"] for row in timed)
        print(f"{len(timed)} rows: {of_xla:.2f} times XLA:CPU, {geometric_mean(row['times'] for row in timed):.2f} times the fastest other (geometric means); "
              f"behind the fastest: {', '.join(row['name'] for row in timed if row['times'] < 1) or 'none'}")
    if asked.json:
        Path(asked.json).write_text(json.dumps({"empty_s": empty, "peaks": peaks, "rows": rows}, indent=1))


if __name__ == "__main__":
    algebra.call("shape", "fields", "f32[]")
    main()
