"""Property: parameters and results of any fusion may have tiled layouts. Padding is written as zeros and never read as
data.

Random fusions (loops, transposes, reductions, several results) agree with the reference on each class of device.
Inputs have random values in their padding too, and results are compared at every position. `gen run` on files is
compared with a model of the definition in this file.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import re
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

import pytest

from drawn import BATCH, COUNT, ON, SEED, agree, device_or_skip, fusions, uncached
from gen import algebra, hlo, pipeline, run
from gen.emit import register_tiles
from gen.targets import c as c_target
from gen.lower import tiled_layouts
from gen.targets import TARGETS
from gen.schedule import DEVICES, LoopSchedule

TILINGS = Path(__file__).resolve().parents[1] / "tilings"
ALL = bool(os.environ.get("SETT_ALL"))
DTYPES = ["pred", "s8", "u16", "bf16", "f16", "f32", "f64", "s32", "u64"]
FLOATS = ["bf16", "f16", "f32", "f64"]
DIMS = [1, 2, 3, 5, 8, 16, 17, 31, 32, 33, 64, 100, 128, 130, 256, 300]
FORMATS = ["(8,128)", "(2,128)", "(4,128)", "(8,128)(2,1)", "(8,128)(4,1)", "(32,128)(32,1)", "(256)", "(8,16)", "(4,32)(2,1)", "(3,5)", "(2,3,4)",
           "(2)", "(4,4)(2,2)", "(1024)(128)(2,1)", "(*,8)", "(2,*,16)", "(4,1)", "(5)(2)(3)", "(16,16)(4,4)(2,1)"]
MOST = 40000    # maximum number of positions of an array


def layout(order: "Sequence[int]", tiles: str = "", tail: int = 0) -> str:
    more = (f"T{tiles}" if tiles else "") + (f"L({tail})" if tail else "")
    return "{" + ",".join(map(str, order)) + (f":{more}" if more else "") + "}"


class Draw:
    """A random fusion whose arrays have random layouts."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines: List[str] = []
        self.parameters = self.count = 0
        self.dtype = self.r.choice(DTYPES)

    def shape(self, dtype: str, dims: "List[int]", share: float = 0.7) -> str:
        """Return a shape with a random layout that adds little padding."""
        while True:
            order = list(range(len(dims)))[::-1]
            if self.r.random() < 0.4:
                self.r.shuffle(order)
            tiles = self.r.choice(FORMATS) if self.r.random() < share and dims else ""
            text = f"{dtype}[{','.join(map(str, dims))}]" + (layout(order, tiles, self.r.choice([0] * 6 + [1000])) if dims else "")
            if tiles.startswith("(*") and len(dims) < 2:
                continue
            if hlo.shape(text).bytes <= MOST * 8:
                return text

    def emit(self, dtype: str, dims: "List[int]", text: str, share: float = 0.7) -> "Tuple[str, str, List[int]]":
        name = f"v{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {self.shape(dtype, dims, share)} {text}")
        return name, dtype, dims

    def parameter(self, dtype: str, dims: "List[int]") -> "Tuple[str, str, List[int]]":
        self.parameters += 1
        return self.emit(dtype, dims, f"parameter({self.parameters - 1})")

    def step(self, of: "Tuple[str, str, List[int]]") -> "Tuple[str, str, List[int]]":
        """Append a random op on a value; return the op's result."""
        name, dtype, dims = of
        kind = self.r.choice(["copy", "unary", "binary", "transpose", "slice", "broadcast", "convert", "reshape", "reverse", "pad"])
        if kind == "unary":
            return self.emit(dtype, dims, f"{'negate' if dtype in FLOATS else 'not'}({name})")
        if kind == "binary":
            other = self.parameter(dtype, dims)
            return self.emit(dtype, dims, f"{'xor' if dtype == 'pred' else 'add'}({name}, {other[0]})")
        if kind == "transpose":
            order = self.r.sample(range(len(dims)), len(dims))
            return self.emit(dtype, [dims[k] for k in order], f"transpose({name}), dimensions={{{','.join(map(str, order))}}}")
        if kind == "slice":
            low = [self.r.randint(0, n // 3) for n in dims]
            text = ", ".join(f"[{a}:{n}]" for a, n in zip(low, dims))
            return self.emit(dtype, [n - a for a, n in zip(low, dims)], f"slice({name}), slice={{{text}}}")
        if kind == "broadcast" and math.prod(dims) * 3 < MOST:
            return self.emit(dtype, [3, *dims], f"broadcast({name}), dimensions={{{','.join(str(k + 1) for k in range(len(dims)))}}}")
        if kind == "convert":
            to = self.r.choice([t for t in DTYPES if t != dtype])
            return self.emit(to, dims, f"convert({name})")
        if kind == "reshape":
            return self.emit(dtype, [math.prod(dims)], f"reshape({name})")
        if kind == "reverse":
            return self.emit(dtype, dims, f"reverse({name}), dimensions={{{self.r.randrange(len(dims))}}}")
        if kind == "pad":
            zero, grown = f"z{self.count}", [n + 3 for n in dims]
            self.lines.append(f"  {zero} = {dtype}[]{self.r.choice(['', '{:T(128)}'])} constant(1)")
            return self.emit(dtype, grown, f"pad({name}, {zero}), padding={'x'.join(['1_2'] * len(dims))}")
        return self.emit(dtype, dims, f"copy({name})")

    def reduced(self, of: "Tuple[str, str, List[int]]") -> "Tuple[str, str, List[int]]":
        name, dtype, dims = of
        gone = sorted(self.r.sample(range(len(dims)), self.r.randint(1, len(dims))))
        zero = f"z{self.count}"
        self.lines.append(f"  {zero} = {dtype}[] constant(0)")
        return self.emit(dtype, [n for k, n in enumerate(dims) if k not in gone],
                         f"reduce({name}, {zero}), dimensions={{{','.join(map(str, gone))}}}, to_apply=combine_{dtype}")

    def fusion(self) -> str:
        rank = self.r.choice([1, 2, 2, 2, 3, 3, 4])
        while True:
            dims = [self.r.choice(DIMS) for _ in range(rank)]
            if 2 <= math.prod(dims) <= MOST // 4:
                break
        value = self.parameter(self.dtype, dims)
        results = []
        for _ in range(self.r.randint(1, 3)):
            value = self.step(value)
            if self.r.random() < 0.3:
                results.append(value)
        if self.r.random() < 0.4 and math.prod(value[2]) > 1:
            value = self.reduced(value)
            if self.r.random() < 0.5 and value[2]:
                value = self.step(value)
        results = [r for r in results if r is not value] + [value]
        combine = "".join(f"combine_{t} {{\n  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n"
                          f"  ROOT c = {t}[] {'or' if t == 'pred' else 'maximum' if t in FLOATS else 'add'}(a, b)\n}}\n"
                          for t in DTYPES if f"to_apply=combine_{t}" in "".join(self.lines))
        shapes = [next(line.split(" = ")[1].split(" ")[0] for line in self.lines if line.startswith(f"  {r[0]} = ")) for r in results]
        if len(results) == 1:
            self.lines = [line.replace(f"  {results[0][0]} = ", f"  ROOT {results[0][0]} = ") for line in self.lines]
        else:
            self.lines.append(f"  ROOT all = ({', '.join(shapes)}) tuple({', '.join(r[0] for r in results)})")
        return combine + "e {\n" + "\n".join(self.lines) + "\n}\n"


@pytest.mark.parametrize("target, device", ON)
@pytest.mark.parametrize("batch", range(0, COUNT if ALL else COUNT // 2, BATCH))
def test_drawn(batch: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiled_layouts, "TILED_ELEMENTS", 1)
    if batch // BATCH % 2:
        uncached(monkeypatch)
    agree({f"t{n}": Draw(SEED * 1000 + n).fusion() for n in range(batch, min(COUNT, batch + BATCH))}, target, device, tmp_path)


# Copies between the two layouts, in both directions. The first few always run; with SETT_ALL, all of them run.
COPIES = [("bf16[33,390]{1,0}", "bf16[33,390]{1,0:T(8,128)(2,1)}"), ("f32[30,300]{0,1}", "f32[30,300]{1,0:T(8,128)}"),
          ("s8[64,256]{1,0}", "s8[64,256]{1,0:T(8,128)(4,1)}"), ("bf16[32,384]{0,1}", "bf16[32,384]{1,0:T(8,128)(2,1)}"),
          ("f32[24,256]{1,0}", "f32[24,256]{1,0:T(8,128)}"), ("f32[24,256]{0,1}", "f32[24,256]{1,0:T(8,128)}"), ("f32[30,300]{1,0}", "f32[30,300]{1,0:T(8,128)}"),
          ("f32[30,300]{0,1}", "f32[30,300]{1,0:T(4,128)}"), ("f32[64,256]{0,1}", "f32[64,256]{1,0:T(2,128)}"), ("f32[3,17]{1,0}", "f32[3,17]{1,0:T(8,128)}"),
          ("bf16[32,384]{1,0}", "bf16[32,384]{1,0:T(8,128)(2,1)}"), ("bf16[31,390]{0,1}", "bf16[31,390]{1,0:T(8,128)(2,1)}"),
          ("bf16[30,390]{0,1}", "bf16[30,390]{1,0:T(8,128)(2,1)}"), ("f16[40,260]{1,0}", "f16[40,260]{1,0:T(8,128)(2,1)}"),
          ("s8[64,256]{0,1}", "s8[64,256]{1,0:T(8,128)(4,1)}"), ("s8[70,250]{1,0}", "s8[70,250]{1,0:T(8,128)(4,1)}"),
          ("u8[32,128]{1,0}", "u8[32,128]{1,0:T(8,128)(4,1)}"), ("s16[16,160]{1,0}", "s16[16,160]{1,0:T(8,32)(2,1)}"),
          ("pred[64,256]{1,0}", "pred[64,256]{1,0:T(32,128)(32,1)}"), ("pred[64,256]{0,1}", "pred[64,256]{1,0:T(32,128)(32,1)}"),
          ("pred[70,250]{1,0}", "pred[70,250]{1,0:T(32,128)(32,1)}"), ("f32[24,256]{1,0:T(8,128)}", "f32[24,256]{0,1:T(8,128)}"),
          ("bf16[2,30,260]{2,1,0:T(8,128)(2,1)}", "bf16[2,30,260]{2,1,0:T(4,128)}"), ("f32[2048]{0}", "f32[2048]{0:T(1024)}"),
          ("f64[3,33,40]{2,1,0}", "f64[3,33,40]{0,2,1:T(4,2,8)}"), ("u64[30,130]{1,0}", "u64[30,130]{0,1:T(8,128)(2,2)}")]


@pytest.mark.parametrize("target, device", ON if ALL else [on for on in ON if on[1] not in ("opencl-gpu", "cpu-scalar")])
def test_copies(target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies to and from the formats of TPUs and others agree with the reference: whole and partial tiles, with the
    schedules for data larger than any cache.
    """
    uncached(monkeypatch)
    monkeypatch.setattr(tiled_layouts, "TILED_ELEMENTS", 1)
    texts = {}
    for n, (a, b) in enumerate(COPIES if ALL else COPIES[:4]):
        texts[f"to{n}"] = f"e {{\n  p = {a} parameter(0)\n  ROOT c = {b} copy(p)\n}}\n"
        texts[f"from{n}"] = f"e {{\n  p = {b} parameter(0)\n  ROOT c = {a} copy(p)\n}}\n"
    agree(texts, target, device, tmp_path)


SEVERAL = {"sum": """e {
  p = f32[30,300]{1,0:T(8,128)} parameter(0)
  q = bf16[30,300]{1,0:T(8,128)(2,1)} parameter(1)
  w = f32[30,300]{1,0} convert(q)
  s = f32[30,300]{1,0} add(p, w)
  ROOT r = bf16[30,300]{1,0:T(8,128)(2,1)} convert(s)
}
""", "apart": """e {
  p = bf16[32,384]{1,0:T(8,128)(2,1)} parameter(0)
  ROOT r = bf16[32,384]{1,0} negate(p)
}
""", "wider": """e {
  p = s8[32,384]{1,0:T(8,128)(4,1)} parameter(0)
  ROOT r = f32[32,384]{1,0} convert(p)
}
""", "bytes": """e {
  p = s8[32,384]{1,0} parameter(0)
  q = u8[32,384]{1,0:T(8,128)(4,1)} parameter(1)
  b = s8[32,384]{1,0} bitcast-convert(q)
  s = s8[32,384]{1,0} add(p, b)
  ROOT r = s8[32,384]{1,0:T(8,128)(4,1)} not(s)
}
"""}


@pytest.mark.parametrize("target, device", ON)
def test_several_formats(target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Computations on arrays with different tiles agree with the reference. The kernels compute whole tiles with
    vectors.
    """
    uncached(monkeypatch)
    monkeypatch.setattr(tiled_layouts, "TILED_ELEMENTS", 1)
    agree(SEVERAL, target, device, tmp_path)


def test_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole tiles are moved in whole cache lines. If a large array has partial tiles at its ends, only the partial tiles
    are moved in another way.
    """
    for name, schedules in (("f32_8_128", ("lanes 16", "lanes 16", "16 x 32", "16 x 32")), ("bf16_8_128_2_1", ("2 rows interleaved", "2 rows interleaved", "2 elements joined", "2 elements joined")),
                            ("s8_8_128_4_1", ("4 rows interleaved", "4 rows interleaved", "4 elements joined", "4 elements joined"))):
        for fusion, wanted in zip(hlo.fusions(hlo.parse((TILINGS / f"{name}.hlo").read_text(), name)), schedules):
            for target in ("opencl", "c"):
                assert wanted in pipeline.target_file(fusion, target).kernels[0].loop.text(), (fusion.name, target)
    monkeypatch.setattr(tiled_layouts, "TILED_ELEMENTS", 1)
    (ragged,) = fusions("e {\n  p = bf16[100,400]{1,0} parameter(0)\n  ROOT c = bf16[100,400]{1,0:T(8,128)(2,1)} copy(p)\n}\n")
    made = pipeline.target_file(ragged, "c")
    assert len(made.kernels) == 4 and all("2 rows interleaved" in made.kernels[n].loop.text() for n in (0, 2))  # four kernels: 96 x 384 elements in whole tiles; the last rows; the last 16 columns; padding
    assert "padding of result 0" in made.text


def told_of_bursts(bursts: Optional[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the schedules for data larger than any cache. In C, use prefetches in bursts of several lines (1), without
    bursts (0), or as this processor prefers (None).
    """
    uncached(monkeypatch)
    native = c_target.native()
    monkeypatch.setattr(c_target, "native", lambda: native if bursts is None else (*native, f"-DSETT_BURSTS={bursts}"))


@pytest.mark.parametrize("bursts", [0, 1])
def test_both_walks(bursts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kinds of prefetch give right results: in bursts of lines, and one line at a time."""
    told_of_bursts(bursts, monkeypatch)
    monkeypatch.setattr(tiled_layouts, "TILED_ELEMENTS", 1)
    texts = {}
    for n, (shape, tiling) in enumerate((("bf16[128,256]", "(8,128)(2,1)"), ("s8[256,512]", "(8,128)(4,1)"), ("u16[64,1024]", "(8,128)(2,1)"))):
        texts[f"to{n}"] = f"e {{\n  p = {shape}{{1,0}} parameter(0)\n  ROOT c = {shape}{{1,0:T{tiling}}} copy(p)\n}}\n"
        texts[f"from{n}"] = f"e {{\n  p = {shape}{{1,0:T{tiling}}} parameter(0)\n  ROOT c = {shape}{{1,0}} copy(p)\n}}\n"
    for text in texts.values():
        (fusion,) = fusions(text)
        made = pipeline.target_file(fusion, "c")
        assert made.kernels[0].without_bursts and "if (SETT_BURSTS)" in made.text
    agree(texts, "c", "cpu", tmp_path)


@pytest.mark.parametrize("bursts", [0, 1])
def test_tiles_prefetch_without_bursts(bursts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If prefetches are not made in bursts, large transposes prefetch lines of later tiles. These prefetches must
    survive gcc's optimiser.
    """
    told_of_bursts(bursts, monkeypatch)
    monkeypatch.setitem(DEVICES, "cpu", replace(DEVICES["cpu"], cache=1 << 16))
    shape, tiling = "f32[176,384]", "{1,0:T(8,128)}"
    texts = {name: f"e {{\n  p = {shape}{source} parameter(0)\n  ROOT c = {shape}{result} copy(p)\n}}\n"
             for name, source, result in (("from", "{0,1}", tiling), ("to", tiling, "{0,1}"), ("plain", "{0,1}", "{1,0}"))}
    assembly = {}
    for name, text in texts.items():
        (fusion,) = fusions(text)
        kernel = pipeline.target_file(fusion, "c").kernels[0]
        assert kernel.hero == "transpose" and kernel.loop.row_prefetch and "prefetch" in kernel.loop.text()
        (tmp_path / name).mkdir()
        pipeline.build_all(fusion, str(tmp_path / name), ["c"])
        done = subprocess.run([run.c_compiler(), "-O3", "-std=c11", "-w", *c_target.native(), "-S", "-o", "-", str(tmp_path / name / f"{fusion.name}.c")],
                              stdout=subprocess.PIPE, universal_newlines=True, check=True)
        assembly[name] = done.stdout
    if not bursts:
        agree(texts, "c", "cpu", tmp_path)
    if not all(re.search(r"zmm\d", text) for text in assembly.values()):
        pytest.skip("this machine's vectors are narrower than the tile's: it is loops, which do not ask")
    for name, text in assembly.items():
        assert (len(re.findall(r"\bprefetch", text)) >= 16) == (bursts == 0), name


@pytest.mark.parametrize("target,bursts", [("opencl", None), ("c", 0), ("c", 1)])  # in OpenCL the device class decides about bursts
def test_tiles_of_bytes_take_whole_lines(target: str, bursts: Optional[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large transposes of bytes read each cache line of a row once, with and without bursts, also if sizes do not divide
    evenly.
    """
    told_of_bursts(bursts, monkeypatch)
    device = "cpu" if target == "c" else "pocl-cpu"
    monkeypatch.setitem(DEVICES, device, replace(DEVICES[device], cache=1 << 16))
    texts = {f"t{n}": f"e {{\n  p = {shape}{{{source}}} parameter(0)\n  ROOT c = {shape}{{{result}}} copy(p)\n}}\n" for n, (shape, source, result) in
             enumerate((("s8[256,384]", "1,0", "0,1"), ("u8[192,4160]", "1,0", "0,1"), ("s8[320,333]", "1,0", "0,1"), ("s8[16,8,1024]", "2,1,0", "0,1,2"),
                        ("bf16[8,8,1024]", "2,1,0", "0,1,2"), ("s8[64,4160]", "1,0", "0,1"), ("bf16[32,2080]", "1,0", "0,1"), ("s8[200,333]", "1,0", "0,1"), ("s8[8,16,1024]", "2,1,0", "0,1,2")))}
    for name, text in texts.items():
        (fusion,) = fusions(text)
        made = pipeline.target_file(fusion, target)
        assert ("load_pieces" in made.text) == (name != "t8"), name    # in t8 only eight rows are adjacent
        assert ("pieces[tile % 2]" in made.text) == (name < "t7"), name    # the kernels of t0 to t6 load a tile while they store the previous one
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("bursts", [0, 1])
def test_lines_are_carried_one_or_two_tiles_down(bursts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transposes whose rows do not begin at cache lines agree with the reference. With bursts, most of these kernels
    process two tiles at a time. In some batches all matrices begin at the same position in a cache line. In others
    they begin at one of several positions, or at any position.
    """
    told_of_bursts(bursts, monkeypatch)
    texts = {f"t{n}": f"e {{\n  p = {dtype}[{a},{b},{c}] parameter(0)\n  ROOT c = {dtype}[{a},{c},{b}] transpose(p), dimensions={{0,2,1}}\n}}\n"
             for n, (dtype, a, b, c) in enumerate((("f32", 1, 95, 129), ("f32", 3, 95, 129), ("f32", 18, 51, 67), ("bf16", 3, 99, 101)))}
    for name, text in texts.items():
        (fusion,) = fusions(text)
        made = pipeline.target_file(fusion, "c")
        assert made.kernels[0].text.template == "kernels/transpose_lines_cpu" and ("SETT_BURSTS && k + 2" in made.text) == (name != "t3"), name
        assert ("switch (start)" in made.text) == (name != "t0"), name
    agree(texts, "c", "cpu", tmp_path)


@pytest.mark.parametrize("dtype,columns,block", [("bf16", 2048, 8192), ("bf16", 16384, 65536), ("bf16", 32768, 131072), ("s8", 8192, 32768)])
@pytest.mark.parametrize("target", ["opencl", "c"])
def test_rows_are_read_block_by_block(dtype: str, columns: int, block: int, target: str) -> None:
    """A kernel that reads a block of adjacent rows prefetches the addresses 32 KiB after those that it reads. If the
    block is larger than 64 KiB, it prefetches nothing.
    """
    size = 2 if dtype == "bf16" else 1
    elements = (1 << 24) // size
    shape = f"{dtype}[{elements // columns},{columns}]"
    (fusion,) = fusions(f"e {{\n  p = {shape}{{1,0}} parameter(0)\n  ROOT c = {shape}{{1,0:T(8,128)({4 // size},1)}} copy(p)\n}}\n")
    made = pipeline.target_file(fusion, target)
    asking, kernel = made.kernels[0].scheduled
    loop, reads = kernel.loop, next(access.position for access in kernel.report.touched if access.words == "read p0")
    assert isinstance(asking.loop, LoopSchedule) and asking.loop.burst and (asking.blocks, asking.threads) == (kernel.blocks, kernel.threads)
    assert loop.order_prefetch == (0 if block > 65536 else 32768)
    assert ("PREFETCH_L2(p0" in made.text) == (loop.order_prefetch > 0)
    walked, box, r = loop.thread_map(elements), loop.box(elements), random.Random(SEED)
    for _ in range(100):
        at = [r.randint(low, high) for low, high in box.values()]
        position, read = algebra.evaluate(walked, *at), algebra.evaluate(reads, *at)
        assert position and read and position[0] * size // block == read[0] * size // block, at


@pytest.mark.parametrize("name", sorted(path.stem for path in TILINGS.glob("*.hlo")) if ALL else ["f32_2_128", "pred_32_128_32_1"])
@pytest.mark.parametrize("target", ["opencl", "c", "cuda-on-cpu"] if ALL else ["opencl"])
def test_tilings(name: str, target: str) -> None:
    """The catalogue of tiled formats passes its checks."""
    device_or_skip(target)
    results = run.check(str(TILINGS / f"{name}.hlo"), target, run.Options())
    assert [r.status for r in results] == ["PASS"] * 4, [r.line() for r in results]


@pytest.mark.parametrize("name", sorted(path.stem for path in TILINGS.glob("*.hlo")) if ALL else ["s8_8_128_4_1"])
def test_c_without_warnings(name: str, tmp_path: Path) -> None:
    for fusion in hlo.fusions(hlo.parse((TILINGS / f"{name}.hlo").read_text(), name)):
        pipeline.build_all(fusion, str(tmp_path), ["c"])
        done = subprocess.run([run.c_compiler(), *"-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Werror -c -o /dev/null".split(),
                               f"{fusion.name}.c"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_there_and_back(tmp_path: Path) -> None:
    """An array copied into tiles and back is unchanged."""
    data = [bytes(random.Random(n).randrange(2) for _ in range(96 * 512)) for n in range(2)]
    for n, one in enumerate(data):
        (tmp_path / f"p{n}.bin").write_bytes(one)
    run.run(str(TILINGS / "pred_32_128_32_1.hlo"), "c", str(tmp_path), str(tmp_path))
    assert [(tmp_path / f"r{n}.bin").read_bytes() for n in range(2)] == data


# ---- functions on registers ----

LAW = r"""
#define INTERLEAVED(interleave, separate, N, T)                                                  \
  {                                                                                              \
    T in[N][64 / sizeof(T)], out[N][64 / sizeof(T)], back[N][64 / sizeof(T)];                    \
    V(T) x[N], y[N], z[N];                                                                       \
    const int lanes = 64 / sizeof(T);                                                            \
    for (size_t i = 0; i < sizeof in; ++i) ((unsigned char *)in)[i] = (unsigned char)rand();     \
    memcpy(x, in, sizeof in);                                                                    \
    interleave(y, x), separate(z, y);                                                            \
    memcpy(out, y, sizeof out), memcpy(back, z, sizeof back);                                    \
    bad |= memcmp(back, in, sizeof in) != 0;                                                     \
    for (int k = 0; k < N * lanes; ++k) bad |= ((T *)out)[k] != in[k % N][k / N];                \
  }
#define SPREAD(interleave, separate, N, L, V, T)                                                 \
  {                                                                                              \
    T in[N][L], out[N][L], back[N][L];                                                           \
    V x[N], y[N], z[N];                                                                          \
    for (size_t i = 0; i < sizeof in; ++i) ((unsigned char *)in)[i] = (unsigned char)rand();     \
    memcpy(x, in, sizeof in);                                                                    \
    interleave(y, x), separate(z, y);                                                            \
    memcpy(out, y, sizeof out), memcpy(back, z, sizeof back);                                    \
    bad |= memcmp(back, in, sizeof in) != 0;                                                     \
    for (int k = 0; k < N * L; ++k) bad |= ((T *)out)[k] != in[k % N][k / N];                    \
  }
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("machine", ["native", "x86-64-v3", "x86-64"])
def test_words_are_interleaved(compiler: str, machine: str, tmp_path: Path) -> None:
    """The functions on registers are right: those that interleave or separate elements, those that join registers, and
    those that load and store a tile with several rows per register.
    """
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    if machine == "x86-64-v3" and not {"avx2", "fma"} <= set(Path("/proc/cpuinfo").read_text().split()):
        pytest.skip(f"not a processor of {machine}")
    d, shapes = TARGETS["c"], [(8, 2), (8, 4), (8, 8), (16, 2), (16, 4), (32, 2)]
    text = ["#include <stdint.h>", "#include <stdlib.h>", "#include <string.h>", register_tiles.prelude(), *(register_tiles.typedef(d, w, b // w) for w in (8, 16, 32, 64) for b in (128, 512)),
            register_tiles.typedef(d, 16, 16), LAW]
    body = []
    for width, n in shapes:
        text += [register_tiles.interleave(d, width, n, inverse, f"{'separate' if inverse else 'interleave'}_{width}_{n}") for inverse in (False, True)]
        text.append(f"#define V_uint{width}_t " + d.register(f"u{width}", 512 // width))
        body.append(f"INTERLEAVED(interleave_{width}_{n}, separate_{width}_{n}, {n}, uint{width}_t)")
    for width, lanes, n in [(w, b // w, n) for w in (8, 16, 32, 64) for b in (128, 512) for n in range(2, 9)]:
        kind, names = d.register(f"u{width}", lanes), [f"{verb}_{width}_{lanes}_{n}" for verb in ("interleave", "separate")]
        text += [register_tiles.spread(d, width, lanes, n, inverse, name) for inverse, name in enumerate(names)]
        body.append(f"SPREAD({names[0]}, {names[1]}, {n}, {lanes}, {kind}, uint{width}_t)")
    for width, lanes, stride in [(w, 16, s) for w in (8, 16, 32) for s in range(2, 5)]:
        kind, name = d.register(f"u{width}", lanes), f"apart_{width}_{stride}"
        text.append(register_tiles.load_strided(d, width, lanes, stride, name))
        body.append(f"  {{ uint{width}_t from[{15 * stride + 1}], to[16]; for (size_t i = 0; i < sizeof from; ++i) ((unsigned char *)from)[i] = (unsigned char)rand();"
                    f" const {kind} x = {name}(from); memcpy(to, &x, sizeof to); for (int l = 0; l < 16; ++l) bad |= to[l] != from[l * {stride}]; }}")
    text += ["#define V(T) V_##T", register_tiles.join(d, 16, 16, 2, "join_16"), register_tiles.join(d, 8, 16, 4, "join_8"),
             register_tiles.load_tile(d, 32, 16, 16, "uint32_t", 64, "load", 4), register_tiles.store_tile(d, 32, 16, 16, "uint32_t", "store", 4),
             "int main(void)\n{\n  int bad = 0;", *body,
             "  { uint16_t in[32]; for (int i = 0; i < 32; ++i) in[i] = (uint16_t)rand(); ushort16 x[2]; memcpy(x, in, 64);"
             " ushort32 y = join_16(x); bad |= memcmp(&y, in, 64) != 0; }",
             "  { uint8_t in[64]; for (int i = 0; i < 64; ++i) in[i] = (uint8_t)rand(); uchar16 x[4]; memcpy(x, in, 64);"
             " uchar64 y = join_8(x); bad |= memcmp(&y, in, 64) != 0; }",
             "  { static uint32_t from[1000], to[1000], flat[16][16]; uint16 x[16];",
             "    for (int i = 0; i < 1000; ++i) from[i] = (uint32_t)rand();",
             "    load(x, from + 1, 17, 200), memcpy(flat, x, sizeof flat), store(to + 3, 18, 210, x);",
             "    for (int l = 0; l < 16; ++l) for (int r = 0; r < 16; ++r) {",
             "      const uint32_t one = from[1 + l % 4 * 17 + l / 4 * 200 + r];",
             "      bad |= flat[r][l] != one || to[3 + l % 4 * 18 + l / 4 * 210 + r] != one; } }",
             "  return bad;\n}"]
    (tmp_path / "law.c").write_text("\n".join(text))
    done = subprocess.run([compiler, "-O1", "-std=c11", f"-march={machine}", "-Wno-psabi", str(tmp_path / "law.c"), "-o", str(tmp_path / "law")],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([str(tmp_path / "law")]).returncode == 0


# ---- compared with a model of the definition ----

def positions(dims: "Sequence[int]", order: "Sequence[int]", tiles: "Sequence[Sequence[int]]") -> "Tuple[List[Optional[Tuple[int, ...]]], int]":
    """Return the index of the element at every position: the list of all indices, padded, reshaped and transposed by
    each tile in turn.
    """
    sizes = [dims[d] for d in reversed(order)]
    cells: "List[Optional[Tuple[int, ...]]]" = [tuple(x for _, x in sorted(zip(reversed(order), index))) for index in itertools.product(*map(range, sizes))]
    for tile in tiles:
        front = len(sizes) - len(tile)
        outer = math.prod(sizes[:front])
        last, counts = sizes[front:], [-(-n // t) for n, t in zip(sizes[front:], tile)]
        inner = math.prod(last)
        made: "List[Optional[Tuple[int, ...]]]" = []
        for o in range(outer):
            for count in itertools.product(*map(range, counts)):
                for rest in itertools.product(*map(range, tile)):
                    at = [c * t + r for c, t, r in zip(count, tile, rest)]
                    flat = 0
                    for x, n in zip(at, last):
                        flat = flat * n + x
                    made.append(cells[o * inner + flat] if all(x < n for x, n in zip(at, last)) else None)
        cells, sizes = made, [*sizes[:front], *counts, *tile]
    return cells, len(cells)


@pytest.mark.parametrize("dims, order, tiles", [
    ((30, 200), (1, 0), "(8,128)"), ((30, 200), (0, 1), "(8,128)(2,1)"), ((3, 5), (1, 0), "(2,2)"), ((2, 9, 10), (2, 0, 1), "(4,4)(2,1)"), ((7,), (0,), "(4)"),
    ((33, 128), (1, 0), "(32,128)(32,1)")])
def test_run_agrees_with_the_definition(dims: "Tuple[int, ...]", order: "Tuple[int, ...]", tiles: str, tmp_path: Path) -> None:
    """`gen run` reads and writes raw buffers in the layouts of the shapes."""
    model = [[int(n) for n in tile.split(",")] for tile in re.findall(r"\(([^)]*)\)", tiles)]
    cells, count = positions(dims, order, model)
    plain = layout(range(len(dims))[::-1])
    size = ",".join(map(str, dims))
    for name, a, b in (("to", plain, layout(order, tiles)), ("from", layout(order, tiles), plain)):
        (tmp_path / f"{name}.hlo").write_text(f"e {{\n  p = s32[{size}]{a} parameter(0)\n  ROOT c = s32[{size}]{b} copy(p)\n}}\n")
    rows = {index: n for n, index in enumerate(itertools.product(*map(range, dims)))}
    numbers = [1000 + n for n in range(len(rows))]
    laid = [0 if cell is None else numbers[rows[cell]] for cell in cells]
    dirty = [-1 if cell is None else numbers[rows[cell]] for cell in cells]
    for name, given, wanted in (("to", numbers, laid), ("from", dirty, numbers)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "p0.bin").write_bytes(struct.pack(f"<{len(given)}i", *given))
        run.run(str(tmp_path / f"{name}.hlo"), "c", str(folder), str(folder))
        data = (folder / "r0.bin").read_bytes()
        assert list(struct.unpack(f"<{len(data) // 4}i", data)) == wanted, name
    assert count == hlo.shape(f"s32[{size}]{layout(order, tiles)}").bytes // 4


def test_what_is_refused() -> None:
    for text, wanted in (
            ("e {\n  p = f32[8,8]{1,0:E(16)} parameter(0)\n  ROOT c = f32[8,8] copy(p)\n}\n", "2:3: 'parameter': expected elements of 32 bits, as f32 has them in memory, found 'E(16)'"),
            ("e {\n  p = f32[8,8]{1,0:T(8,128)SC(0:4)} parameter(0)\n  ROOT c = f32[8,8] copy(p)\n}\n", "2:3: 'parameter': expected an array in one memory, to which a kernel has one pointer, found one that 'SC(0:4)' splits"),
            ("e {\n  p = f32[12,128]{1,0:T(8,128)} parameter(0)\n  ROOT c = f32[2,6,128]{2,1,0:T(8,128)} bitcast(p)\n}\n", "3:8: 'bitcast': expected elements at")):
        assert wanted in str(hlo.unsupported(hlo.parse(text, "x.hlo")))


@pytest.mark.parametrize("a, b", [("f32[16,256]{1,0:T(8,128)}", "f32[2,8,2,128]{3,1,2,0}"), ("f32[8,256]{1,0:T(8,128)}", "f32[8,2,128]{2,0,1:T(8,128)}"),
                                  ("bf16[16,256]{1,0:T(8,128)(2,1)}", "bf16[2,2,4,128,2]{4,3,2,1,0}")])
def test_bitcasts(a: str, b: str, tmp_path: Path) -> None:
    agree({"b0": f"e {{\n  p = {a} parameter(0)\n  n = {a} negate(p)\n  ROOT c = {b} bitcast(n)\n}}\n",
           "b1": f"e {{\n  p = {b} parameter(0)\n  n = {b} negate(p)\n  ROOT c = {a} bitcast(n)\n}}\n"}, "c", "cpu", tmp_path)
