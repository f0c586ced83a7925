"""Property: windows that are prefix sums (scans) agree with the reference: any rank, dimension, size, type and combiner,
forwards and in reverse, alone and among other ops, on each class of device. Exactly the right windows are recognised
as scans.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import random
import subprocess
from pathlib import Path
from typing import List, Sequence

import pytest

from drawn import BATCH, COUNT, SEED, agree, fusions, in_turn, plain, ptx, shape, uncached
from gen import algebra, bounds, run
from gen.pipeline import choices, files, target_file
from gen.plan.nests import planned
from gen.plan.partition import operand_map
from gen.plan.scan import Scan, prefix
from test_reduction import ARGMAX, PAIR, PLAIN

FLOATS = ["f32", "f32", "bf16", "f16", "f64"]
WHOLE = ["s8", "u8", "s16", "s32", "u64"]
SCALAR = ["c64", "f8e4m3fn", "f8e5m2"]
DIMS = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100, 129, 1023, 4097]
MOST = 40000
ROOT = Path(__file__).resolve().parents[2]

# cumlogsumexp's combiner as JAX writes it
LOGADDEXP = """{name} {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  d = {t}[] subtract(a, b)
  nan = pred[] compare(d, d), direction=NE
  sum = {t}[] add(a, b)
  high = {t}[] maximum(a, b)
  size = {t}[] abs(d)
  less = {t}[] negate(size)
  e = {t}[] exponential(less)
  l = {t}[] log-plus-one(e)
  out = {t}[] add(high, l)
  ROOT r = {t}[] select(nan, sum, out)
}}
"""
# the recurrence x[i] = a[i] * x[i - 1] + b[i], as a combiner of two steps, which is not commutative
LINEAR = """{name} {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  c = {t}[] parameter(2)
  d = {t}[] parameter(3)
  ac = {t}[] multiply(a, c)
  bc = {t}[] multiply(b, c)
  bcd = {t}[] add(bc, d)
  ROOT r = ({t}[], {t}[]) tuple(ac, bcd)
}}
"""


class Draw:
    """One random fusion around a scan of its parameters."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines: List[str] = []
        self.combiners = ""
        self.parameters = self.count = 0
        self.dtype = self.r.choice([*FLOATS, *FLOATS, *WHOLE, "pred", *SCALAR])
        while True:
            self.dims = [self.r.choice(DIMS) for _ in range(self.r.choice([1, 2, 2, 3, 3, 4, 5]))]
            if 1 < math.prod(self.dims) <= MOST:
                break
        wide = [k for k, n in enumerate(self.dims) if n > 1]
        self.along, self.reverse = self.r.choice([*wide, wide[-1]]), self.r.random() < 0.4

    def emit(self, dtype: str, dims: "Sequence[int]", text: str, type_text: str = "") -> str:
        self.count += 1
        self.lines.append(f"  v{self.count} = {type_text or plain(dtype, dims)} {text}")
        return f"v{self.count}"

    def order(self, odds: float) -> "List[int]":
        order = list(range(len(self.dims)))[::-1]
        if self.r.random() < odds:
            self.r.shuffle(order)
        return order

    def parameter(self, dtype: str, dims: "Sequence[int]") -> str:
        self.parameters += 1
        return self.emit(dtype, dims, f"parameter({self.parameters - 1})", shape(dtype, dims, self.order(0.2) if dims else []))

    def constant(self, dtype: str, text: str) -> str:
        kind = self.r.random()
        if kind < 0.1:
            return self.parameter(dtype, [])
        if kind < 0.2 and dtype != "pred":
            return self.emit(dtype, [], f"negate({self.parameter(dtype, [])})")
        return self.emit(dtype, [], f"constant({text})")

    def computed(self, name: str) -> str:
        kind = self.r.choice(["", "unary", "operand", "same"])
        if kind == "unary":
            return self.emit(self.dtype, self.dims, f"{'not' if self.dtype in ('pred', *WHOLE) else 'negate'}({name})")
        if kind in ("operand", "same"):
            other = "v1" if kind == "same" else self.parameter(self.dtype, self.dims)
            return self.emit(self.dtype, self.dims, f"{'xor' if self.dtype == 'pred' else 'subtract'}({name}, {other})")
        return name

    def window(self) -> str:
        size, low, high = [1] * len(self.dims), [0] * len(self.dims), [0] * len(self.dims)
        n = self.dims[self.along] + self.r.choice([0, 0, 0, 5])
        size[self.along], (high if self.reverse else low)[self.along] = n, n - 1
        return f"window={{size={'x'.join(map(str, size))} pad={'x'.join(f'{a}_{b}' for a, b in zip(low, high))}}}"

    def scan(self, name: str) -> "List[str]":
        t, combiner = self.dtype, f"combine{self.count}"
        pairs = [ARGMAX, PAIR] if t in (*FLOATS, *WHOLE) else []
        form = self.r.choice([PLAIN] * 4 + pairs + [LOGADDEXP, LINEAR] * (t in FLOATS))
        if form in (PLAIN, LOGADDEXP):
            op = self.r.choice(["and", "or", "xor"] if t == "pred" else ["add", "add", "multiply"] if t == "c64" else
                               ["add", "add", "maximum", "minimum"] + ["multiply"] * (t in WHOLE or "f" in t) + ["subtract"] * (self.r.random() < 0.2))
            init = self.constant(t, {"pred": "false", "c64": "(0, 0)"}.get(t, self.r.choice(["0", "1"]) if form is PLAIN else "-inf"))
            self.combiners += form.format(name=combiner, t=t, op=op)
            order = self.order(0.1)
            return [self.emit(t, self.dims, f"reduce-window({name}, {init}), {self.window()}, to_apply={combiner}", shape(t, self.dims, order))]
        kind = "s32" if form is ARGMAX else t
        second = self.emit("s32", self.dims, f"iota(), iota_dimension={self.along}") if form is ARGMAX else self.parameter(t, self.dims)
        inits = [self.constant(t, "1"), self.emit(kind, [], "constant(0)")]
        self.combiners += form.format(name=combiner, t=t)
        both = self.emit("", [], f"reduce-window({name}, {second}, {', '.join(inits)}), {self.window()}, to_apply={combiner}",
                         f"({plain(t, self.dims)}, {plain(kind, self.dims)})")
        return [self.emit(u, self.dims, f"get-tuple-element({both}), index={k}") for k, u in enumerate((t, kind))]

    def fusion(self) -> str:
        x = self.parameter(self.dtype, self.dims)
        found = self.scan(self.computed(x))
        if self.r.random() < 0.15:
            found += self.scan(self.computed(x))
        if self.r.random() < 0.15:
            self.reverse = not self.reverse
            found += self.scan(self.computed(x))
        outs = [(self.computed(found[0]), self.dtype)] + [(v, None) for v in found[1:]]
        if self.r.random() < 0.3:
            outs.append((found[0], self.dtype))
        if self.r.random() < 0.15 and len(self.dims) > 1:
            order = self.r.sample(range(len(self.dims)), len(self.dims))
            dims = [self.dims[k] for k in order]
            outs.append((self.emit(self.dtype, dims, f"transpose({found[0]}), dimensions={{{','.join(map(str, order))}}}"), None))
        types = {line.split(" = ")[0].strip(): line.split(" = ")[1].split(" ")[0] for line in self.lines}
        self.lines.append(f"  ROOT r = ({', '.join(types[v] for v, _ in outs)}) tuple({', '.join(v for v, _ in outs)})")
        return self.combiners + "ENTRY e {\n" + "\n".join(self.lines) + "\n}\n"


@pytest.mark.parametrize("streamed", [False, True], ids=["cached", "streamed"])
@pytest.mark.drawn
@pytest.mark.parametrize("batch, target, device", in_turn(range(-(-COUNT // BATCH))))
def test_agrees(target: str, device: str, batch: int, streamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if streamed:
        uncached(monkeypatch)
    seeds = range(SEED * 1000 + batch * BATCH, SEED * 1000 + min(COUNT, (batch + 1) * BATCH))
    agree({f"n{seed}": Draw(seed).fusion() for seed in seeds}, target, device, tmp_path)


def test_which_windows_are_prefixes() -> None:
    """A window op is a scan if and only if, by its map, window n consists of the elements 0 to n for every n, or of the
    elements from n to the last one for every n. (An op with a stride is no scan, even if dilations cancel the stride
    out.)
    """
    met = set()
    for size, stride, dilation, base, low, high in itertools.product(range(1, 9), (1, 2), (1, 2), (1, 2), range(9), range(9)):
        reach, padded = (size - 1) * dilation + 1, 4 * base + 1 + low + high
        if size == 1 or padded < reach or (padded - reach) // stride + 1 != 5:
            continue
        window = f"size=1x{size} stride=1x{stride} pad=0_0x{low}_{high} lhs_dilate=1x{base} rhs_dilate=1x{dilation}"
        (fusion,) = fusions(PLAIN.format(name="f", t="s32", op="add") + "ENTRY e {\n  x = s32[2,5] parameter(0)\n  z = s32[] constant(0)\n"
                            f"  ROOT r = s32[2,5] reduce-window(x, z), window={{{window}}}, to_apply=f\n}}\n")
        (instruction,) = [i for i in fusion.computation.instructions if i.opcode == "reduce-window"]
        places = []    # for each window, the indices of its elements
        for place in range(5):
            found = [algebra.evaluate(operand_map(instruction, 0), 1, place, 0, w) for w in range(size)]
            places.append([at[1] for at in found if at is not None])
        is_prefix = {"forwards": [list(range(n + 1)) for n in range(5)], "reverse": [list(range(n, 5)) for n in range(5)]}
        expected = next((name for name, elements in is_prefix.items() if elements == places and stride == 1), "")
        of = prefix(instruction)
        assert (of and ("reverse" if of.reverse else "forwards") or "") == expected, window
        met.add(expected)
    assert met == {"forwards", "reverse", ""}


def test_rank_and_dimension() -> None:
    """A window along two dimensions is not a scan. A window along one dimension may be a scan, even if it is longer
    than the dimension.
    """
    def first(dims: str, window: str) -> object:
        (fusion,) = fusions(PLAIN.format(name="f", t="s32", op="add") + f"ENTRY e {{\n  x = s32[{dims}] parameter(0)\n  z = s32[] constant(0)\n"
                            f"  ROOT r = s32[{dims}] reduce-window(x, z), window={{{window}}}, to_apply=f\n}}\n")
        (nest,) = planned(fusion).nests
        return (nest.outer, nest.size, nest.below, nest.reverse) if isinstance(nest, Scan) else None
    assert first("3,5,7", "size=1x5x1 pad=0_0x4_0x0_0") == (3, 5, 7, False)
    assert first("3,5,7", "size=3x1x1 pad=0_2x0_0x0_0") == (1, 3, 35, True)
    assert first("3,5,7", "size=1x5x7 pad=0_0x4_0x6_0") is None
    assert first("3,5,7", "size=1x5x1 pad=0_0x2_2x0_0") is None
    assert first("3,5,7", "size=1x5x1 pad=0_0x4_0x0_0 rhs_reversal=0x1x0") is None


def test_bound_is_the_same_optimised(tmp_path: Path) -> None:
    """Optimised code of the bound rounds the intervals, too. (gcc 12 drops the rounding of (double)(float)x for
    adjacent values when it vectorizes.)
    """
    text = LOGADDEXP.format(name="f", t="f32") + ("ENTRY e {\n  x = f32[16,64] parameter(0)\n  z = f32[] constant(-inf)\n"
                                                 "  ROOT r = f32[16,64] reduce-window(x, z), window={size=1x64 pad=0_0x63_0}, to_apply=f\n}\n")
    (fusion,) = fusions(text)
    (tmp_path / "e_bound.c").write_text(bounds.bound(fusion.computation, "e"))
    r = random.Random(SEED)
    x, found = (ctypes.c_float * 1024)(*(r.uniform(-4, 4) for _ in range(1024))), []
    for level in ("-O0", "-O2"):
        library = tmp_path / f"e{level}.so"
        subprocess.run([run.c_compiler(), level, "-std=c11", "-ffp-contract=off", "-fPIC", "-shared", "-w", "-o", library, tmp_path / "e_bound.c", "-lm"], check=True)
        allowed = (ctypes.c_double * 1024)()
        arrays = [(ctypes.c_void_p * 1)(ctypes.addressof(one)) for one in (x, allowed)]
        assert ctypes.CDLL(str(library)).e_bound(*arrays) == 0
        found.append(list(allowed))
    assert found[0] == found[1] and any(found[0])


@pytest.mark.peer
@pytest.mark.parametrize("dtype, dims, window, form", [
    ("f32", "64,4100", "size=1x4100 pad=0_0x4099_0", PLAIN), ("bf16", "64,4096", "size=1x4096 pad=0_0x0_4095", PLAIN),
    ("f64", "64,100", "size=1x100 pad=0_0x99_0", PLAIN), ("s8", "64,9000", "size=1x9000 pad=0_0x8999_0", PLAIN),
    ("f32", "500,640", "size=500x1 pad=499_0x0_0", LOGADDEXP), ("f32", "500,640", "size=1x640 pad=0_0x0_639", LOGADDEXP)])
def test_nvcc(dtype: str, dims: str, window: str, form: str, tmp_path: Path) -> None:
    """Carried values and a thread's own elements stay in registers."""
    ptx(form.format(name="f", t=dtype, op="add") + f"ENTRY e {{\n  x = {dtype}[{dims}] parameter(0)\n  z = {dtype}[] constant(0)\n"
        f"  ROOT r = {dtype}[{dims}] reduce-window(x, z), window={{{window}}}, to_apply=f\n}}\n", "sm_80", tmp_path)


@pytest.mark.parametrize("size, step", [(33, "1 x 1"), (300, "2 x 1"), (4100, "4 x 1")])
def test_explained_on_gpus(size: int, step: str) -> None:
    """`explain` states how many elements and registers a step has, and the bytes of memory and shared memory. A step is
    at most a row, and the printed accesses stay inside the row.
    """
    (fusion,) = fusions(PLAIN.format(name="f", t="f32", op="add") + f"""ENTRY e {{
  x = f32[7,{size}] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[7,{size}] reduce-window(x, z), window={{size=1x{size} pad=0_0x{size - 1}_0}}, to_apply=f
}}
""")
    (kernel,) = target_file(fusion, "cuda", "sm_80").kernels
    ((_, (choice,), context),) = choices(fusion, "cuda", "sm_80")
    lines = choice.hero.describe(choice, kernel.grid, context)
    assert f"{step} elements a step" in kernel.loop.text()
    assert f"a block of threads for each row, {step[0]} registers hold a thread's elements" in lines
    assert "memory: 8 bytes an element" in lines and f"shared: {kernel.threads // 32 * 4} bytes of a block" in lines
    positions = [algebra.ranges(access.position)[0] for access in kernel.report.touched]
    assert min(low for low, _ in positions) == 0 and max(high for _, high in positions) == 7 * size - 1, positions


@pytest.mark.parametrize("level", ["-O2", pytest.param("-Os", marks=pytest.mark.peer)])
def test_no_register_is_passed(level: str, tmp_path: Path) -> None:
    """Shuffles are inlined, so gcc does not warn about functions that return vectors wider than the processor's."""
    (fusion,) = fusions((ROOT / "bench" / "cumsum_f32.hlo").read_text())
    for name, text in files(fusion, ["c"])[0].items():
        (tmp_path / name).write_text(text)
    (source,) = (path for path in tmp_path.glob("*.c") if not path.stem.endswith("_ref"))
    done = subprocess.run([run.c_compiler(), level, "-Werror", "-c", str(source), "-o", str(tmp_path / "o")], capture_output=True, text=True)
    assert not done.returncode and not done.stderr, done.stderr
