"""Compare the examples in XLA's document on emitters with `gen explain`.

The document's kernels are schedules for its GPU. If our schedule differs on purpose, the test says why, and checks
what both must do: write each element once, in blocks of threads that move whole vectors, and read the elements that
the op needs.
"""

from __future__ import annotations

import re
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Iterable, List, Tuple

import pytest

from gen import algebra, hlo, pipeline
from gen_run import gen
from gen.schedule import LoopSchedule

ROOT = Path(__file__).resolve().parents[2]
HEAD = "HloModule m\n\n"


def entry(body: str, operand: str, result: str) -> str:
    return HEAD + body + f"\nENTRY main {{\n  p0 = {operand} parameter(0)\n  ROOT fusion = {result} fusion(p0), kind=kLoop, calls=fused\n}}\n"


TRANSPOSE = entry("""fused {
  p0 = f32[20,40] parameter(0)
  ROOT t = f32[40,20] transpose(p0), dimensions={1,0}
}
""", "f32[20,40]", "f32[40,20]")

PARTITION = entry("""fused {
  p0 = f32[512,512] parameter(0)
  log = f32[512,512] log(p0)
  transpose = f32[512,512] transpose(log), dimensions={1,0}
  ROOT add = f32[512,512] add(log, transpose)
}
""", "f32[512,512]", "f32[512,512]")

EXP_ABS = entry("""fused {
  p0 = f32[20,160,170] parameter(0)
  exp = f32[20,160,170] exponential(p0)
  transpose = f32[170,160,20] transpose(exp), dimensions={2,1,0}
  ROOT abs = f32[170,160,20] abs(transpose)
}
""", "f32[20,160,170]", "f32[170,160,20]")

GELU = ROOT / "tests" / "kernels" / "gelu_bf16.hlo"
# The document's maps of gelu's loop: to an index, and to a position.
GELU_INDEX = ("(th_x, bl_x)[vector_index] -> (bl_x floordiv 4096, (bl_x floordiv 8) mod 512, (bl_x mod 8) * 512 + th_x * 4 + vector_index), "
              "domain: th_x in [0, 127], bl_x in [0, 24575], vector_index in [0, 3]")
GELU_FLAT = "(th_x, bl_x)[vector_index] -> (th_x * 4 + bl_x * 512 + vector_index), domain: th_x in [0, 127], bl_x in [0, 24575], vector_index in [0, 3]"


def explain(file: Path, stage: str) -> str:
    done = gen("explain", file, "--stage", stage, "--target", "cuda", "--device", "sm_90")
    assert done.returncode == 0, done.stderr
    return done.stdout


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.M)
    assert match, (pattern, text)
    return match[1]


def points(text: str, wanted: str) -> List[Tuple[int, ...]]:
    """Evaluate `wanted` at every point of the map's domain, the last variable fastest. In `wanted`, the word `results`
    means the map's results.
    """
    head, domain = text.split(", domain: ")
    parts = re.findall(r"(?:^|, )((?:[^,\[\]()]|\([^)]*\))+) in \[(-?\d+), (-?\d+)\]", domain)
    code = f"[({wanted.replace('results', head.split('-> ')[1][1:-1])},)"
    for name, lo, hi in parts:
        code += f" for {name} in range({lo}, {int(hi) + 1})" if name.isidentifier() else f" if {lo} <= {name} <= {hi}"
    return eval(re.sub(r"\bpass\b", "pass_", code.replace("floordiv", "//").replace("mod", "%") + "]"), {})


def each_once(found: Iterable[int], count: int) -> bool:
    return sorted(found) == list(range(count))


def test_transpose_map(tmp_path: Path) -> None:
    """The map of a transpose from [20,40] to [40,20] is the document's (d0, d1) -> (d1, d0)."""
    file = tmp_path / "t.hlo"
    file.write_text(TRANSPOSE)
    text = explain(file, "maps")
    assert found(r"^  result 0 -> p0: (.*)$", text) == "(i0, i1) -> (i1, i0), domain: i0 in [0, 39], i1 in [0, 19]"
    op = algebra.call("op", "transpose", "0", "out=40,20", "in=20,40", "dimensions=1,0")
    assert op == "(d0, d1) -> (d1, d0), domain: d0 in [0, 39], d1 in [0, 19]"


def test_partition(tmp_path: Path) -> None:
    """The document has three functions (add, transpose, log), because log is needed at (i, j) and at (j, i). Here there
    is one function: the transpose is only the index at which add reads log. log is computed at both indices, as in
    the document, because storing it would cost more.
    """
    file = tmp_path / "p.hlo"
    file.write_text(PARTITION)
    text = explain(file, "partition")
    assert text.startswith("p: 1 function\n") and len(re.findall(r" log\(", text)) == 2, text
    assert "\n  log: read 2 times an element, computed 2 times an element: storing it would cost " in text, text
    maps = explain(file, "maps")
    domain = "domain: i0 in [0, 511], i1 in [0, 511]"
    assert sorted(re.findall(r"^  log operand 0 -> p0: (.*)$", maps, re.M)) == [f"(i0, i1) -> (i0, i1), {domain}", f"(i0, i1) -> (i1, i0), {domain}"]


def test_gelu() -> None:
    """gelu is one function in blocks of 128 threads, whose vectors are contiguous. The document's vectors have 4 bf16
    elements; ours have 8, which is one access of 16 bytes, so we have half as many blocks. With vectors of 4 the map
    is the document's.
    """
    assert explain(GELU, "partition").startswith("gelu_bf16: 1 function\n")
    count = 6 * 512 * 4096
    schedule = explain(GELU, "schedule")
    index, position = found(r"^  index: (.*)$", schedule), found(r"^  position: (.*)$", schedule)
    assert "threads 128" in schedule and "guard: none, the map proves it" in schedule
    (fusion,) = hlo.fusions(hlo.read(str(GELU)))
    (kernel,) = pipeline.target_file(fusion, "cuda", "sm_90", False).kernels
    assert isinstance(kernel.loop, LoopSchedule) and (kernel.loop.threads, kernel.loop.vec, kernel.loop.chunks, kernel.blocks) == (128, 8, 1, 12288)
    # the document's schedule (vectors of 4), computed by our algebra
    theirs = replace(kernel.loop, vec=4)
    flat = algebra.rename(algebra.simplify(theirs.thread_map(count)), "th_x", "bl_x", "vector_index")
    assert theirs.blocks(count) == 24576 and flat == GELU_FLAT
    unflat = f"(d0) -> (d0 floordiv 2097152, (d0 floordiv 4096) mod 512, d0 mod 4096), domain: d0 in [0, {count - 1}]"
    assert algebra.compose(flat, unflat) == GELU_INDEX
    # our map visits every element once: bl_x, th_x and vec are the position's digits in mixed radix; one of our blocks
    # has the elements of two blocks of the document's kernel
    assert position == "(th_x, bl_x)[vec] -> (th_x * 8 + bl_x * 1024 + vec), domain: th_x in [0, 127], bl_x in [0, 12287], vec in [0, 7]"
    sizes = {name: int(high) + 1 for name, high in re.findall(r"(\w+) in \[0, (\d+)\]", position)}
    strides = {name: int(stride or 1) for name, stride in re.findall(r"(\w+)(?: \* (\d+))?[ )]", found(r"-> (\(.*\)), domain", position))}
    step = 1
    for name in ("vec", "th_x", "bl_x"):
        assert strides[name] == step, position
        step *= sizes[name]
    assert step == count
    for th_x, bl_x, vec in [(0, 0, 0), (127, 12287, 7), *((3 * k % 128, 7919 * k % 12288, k % 8) for k in range(500))]:
        at = th_x * 8 + bl_x * 1024 + vec
        assert algebra.evaluate(index, th_x, bl_x, vec) == (at // 2097152, at // 4096 % 512, at % 4096)
    # The read and the write have the same flattened map. A vector is read before the unrolled loop over its elements, and
    # written after this loop.
    flattened = explain(GELU, "flatten")
    assert found(r"^  read p0: (.*)$", flattened) == found(r"^  write r0: (.*)$", flattened) == position
    vectors = explain(GELU, "vectorize")
    assert "  read p0 along vec: stride 1, aligned to 8\n" in vectors and "  write r0 along vec: stride 1, aligned to 8\n" in vectors
    before, rest = vectors.split("  unrolled 8 times:\n")
    after = rest.split("  after:\n")[1]
    assert before.count("load_word<aligned>(") == 1 and after.count("store_word<aligned>(") == 1


@pytest.mark.peer
def test_transpose_tile(tmp_path: Path) -> None:
    """A transpose from 20x160x170 to 170x160x20 uses tiles in shared memory, as in the document: it reads along the
    operand's rows, passes a barrier, and writes along the output's rows. Each row of a tile has one more element,
    against bank conflicts.

    The document has 128 threads, tiles of 32 x 1 x 32 and 960 blocks. 12 of 32 columns are empty, because 20 is not a
    multiple of 32. Here 160 and 20 are merged into one dimension of 3200, so no column is empty: 600 blocks of 32 x
    32 with 256 threads and vectors of 4.
    """
    file = tmp_path / "x.hlo"
    file.write_text(EXP_ABS)
    count = 20 * 160 * 170
    schedule, flat = explain(file, "schedule"), explain(file, "flatten")
    tile = re.search(r"threads 256, tile (\d+) x (\d+), vec 4, tile_p0 in rows of (\d+) words of 4 bytes: 1-way", schedule)
    assert tile, schedule
    rows, lanes, pitch = map(int, tile.groups())
    assert (rows, lanes, pitch) == (32, 32, 33)
    assert int(found(r"(\d+) blocks", schedule)) == ceil(160 * 20 / lanes) * ceil(170 / rows)
    index = found(r"^  index: (.*)$", schedule)
    load, read, write = (found(rf"^  {what}: (.*)$", flat) for what in ("load p0", "read p0", "write r0"))
    blocks = "row_tile, lane_tile"
    at = [i for (i,) in points(index, "(results)")]
    written = [i0 * 3200 + i1 * 20 + i2 for i0, i1, i2 in at]
    assert each_once(written, count), "every element of the output once"
    assert written == [position for (position,) in points(write, "results")]
    reads = points(read, f"results, ({blocks})")
    assert [position for position, _ in reads] == [i2 * 27200 + i1 * 170 + i0 for i0, i1, i2 in at], "and it is the operand's at the index turned around"
    loads = points(load, f"results, ({blocks})")
    assert each_once((position for position, _ in loads), count), "every element of the operand goes to shared memory once"
    assert sorted(loads) == sorted(reads), "in the block that reads it"
    vectors = explain(file, "vectorize")
    assert "load p0 along vec: stride 1, aligned to 2" in vectors and "write r0 along vec: stride 1, aligned to 4" in vectors
    kernel = explain(file, "kernel")
    assert int(found(r"__shared__ float tile_p0\[(\d+)\];", kernel)) == rows * pitch and kernel.count("__syncthreads();") == 1
    first, second = kernel.split("__syncthreads();")
    assert "expf" not in first and "expf" in second and "fabsf" in second  # the document computes exp before the store to the tile, our kernel after the load from it
