"""Test fusions whose result is distributed to threads by a nested layout (gen/heroes/distribute.py). The kernel's map is
compared with loops that follow the layout's definition, and the kernels with the scalar reference. Refusals, the
output of `explain` and the manifest are tested too.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import pytest

from drawn import device_or_skip
from gen import algebra, explain, hlo, pipeline, run
from gen.heroes import distribute
from gen.hlo import distribution

ROOT = Path(__file__).resolve().parents[2]
KEYS = "subgroup_tile batch_tile outer_tile thread_tile element_tile subgroup_strides thread_strides".split()
ON = [("cuda-on-cpu", None), ("opencl", "opencl-gpu")]


class Layout(NamedTuple):
    """A nested layout: five tiles and two lists of strides."""

    subgroup: Sequence[int]
    batch: Sequence[int]
    outer: Sequence[int]
    thread: Sequence[int]
    element: Sequence[int]
    subgroup_strides: Sequence[int]
    thread_strides: Sequence[int]

    @property
    def text(self) -> str:
        return f"nested_layout<{', '.join(f'{key} = [{chr(44).join(map(str, values))}]' for key, values in zip(KEYS, self))}>"

    @property
    def tile(self) -> List[int]:
        return [math.prod(sizes) for sizes in zip(*self[:5])]

    def ids(self) -> Tuple[int, int]:
        """Return the periods of subgroup ids and of thread ids: ids that differ by a multiple of the period have the
        same elements.
        """
        return (max([s * n for s, n in zip(self.subgroup_strides, self.subgroup) if n > 1], default=1),
                max([s * n for s, n in zip(self.thread_strides, self.thread) if n > 1], default=1))

    def held(self, subgroup: int, thread: int) -> "List[Tuple[int, ...]]":
        """Return the elements of a thread, by the definition of nested layouts."""
        sizes = [range(n) for level in (self.batch, self.outer, self.element) for n in level]
        rank, found = len(self.batch), []
        for digits in itertools.product(*sizes):
            index = []
            for d in range(rank):
                s = subgroup // self.subgroup_strides[d] % self.subgroup[d] if self.subgroup_strides[d] else 0
                t = thread // self.thread_strides[d] % self.thread[d] if self.thread_strides[d] else 0
                b, o, e = digits[d], digits[rank + d], digits[2 * rank + d]
                index.append((((s * self.batch[d] + b) * self.outer[d] + o) * self.thread[d] + t) * self.element[d] + e)
            found.append(tuple(index))
        return found


README = Layout([2, 1], [2, 4], [1, 1], [16, 4], [1, 4], [1, 0], [1, 16])    # the example in section A FIRST LOOK of sett_nested_layout.h
TURNED = Layout([1, 1], [1, 1], [2, 1], [4, 8], [1, 2], [0, 0], [1, 4])    # threads run down the columns
COPIES = Layout([2, 1], [2, 1], [1, 1], [4, 2], [1, 4], [2, 0], [4, 32])    # each element has sixteen owners
DEEP = Layout([1, 2, 1], [2, 1, 1], [1, 1, 3], [2, 2, 4], [1, 2, 3], [0, 1, 0], [8, 4, 1])
LONG = Layout([1], [1], [1], [2], [40], [0], [1])    # a thread has more elements than one step of the kernel
SCALAR = Layout([], [], [], [], [], [], [])
ACC = "MFMA_F32_16x16x16_F16.acc"


def drawn(rng: random.Random, rank: int) -> Layout:
    """Return a random layout of few elements, in which every element has an owner. Some strides leave gaps between ids;
    then several threads own the same element (copies).
    """
    def tiles(most: int) -> List[int]:
        return [rng.choice((1, 1, 2, 3, most)) for _ in range(rank)]

    def strides(sizes: Sequence[int]) -> List[int]:
        found, used = [0] * rank, 1
        for d in rng.sample(range(rank), rank):
            if sizes[d] > 1:
                found[d] = used * rng.choice((1, 1, 1, 2))
                used = found[d] * sizes[d]
        return found
    subgroup, thread = [rng.choice((1, 1, 2)) for _ in range(rank)], tiles(4)
    return Layout(subgroup, [rng.choice((1, 1, 2)) for _ in range(rank)], [rng.choice((1, 1, 3)) for _ in range(rank)], thread, tiles(4),
                  strides(subgroup), strides(thread))


def written(layout: Layout, dims: Sequence[int]) -> "Dict[Tuple[int, ...], Tuple[int, int]]":
    """Return a dictionary from the index of each element of a result to the thread that must write it, as (block,
    thread in the block). By the definition this is the element's owner with the smallest number.
    """
    subgroups, threads = layout.ids()
    owners: Dict[Tuple[int, ...], int] = {}
    for th in reversed(range(subgroups * threads)):
        owners.update((index, th) for index in layout.held(th // threads, th % threads))
    tile = [1] * (len(dims) - len(layout.tile)) + layout.tile
    found = {}
    grid = [-(-n // size) for n, size in zip(dims, tile)]
    for block, corner in enumerate(itertools.product(*map(range, grid))):
        for index, th in owners.items():
            at = tuple(c * size + i for c, size, i in zip(corner, tile, (0,) * (len(dims) - len(index)) + index))
            if all(i < n for i, n in zip(at, dims)):
                found[at] = block, th
    return found


def walked(made: distribute.Distributed) -> "Dict[Tuple[int, ...], Tuple[int, int]]":
    """Evaluate a schedule's map: return a dictionary from each index to the thread that writes it, as (block, thread in
    the block). Check that no index is written twice.
    """
    found: Dict[Tuple[int, ...], Tuple[int, int]] = {}
    for block, th, chunk, vec in itertools.product(range(made.grid), range(made.threads), range(made.chunks), range(made.vec)):
        at = algebra.run("map", "eval", made.index, ",".join(map(str, (th, block, *([chunk] if made.chunks > 1 else []), vec))))[1]
        if at != "outside":
            index = tuple(int(n) for n in at.split(",") if n)
            assert index not in found, index
            found[index] = block, th
    return found


NAMED = [(README, (64, 64)), (TURNED, (19, 33)), (COPIES, (20, 18)), (DEEP, (2, 5, 9, 7)), (LONG, (3, 100)), (SCALAR, (2, 3))]


@pytest.mark.parametrize("layout, dims", NAMED)
def test_map_is_the_definition(layout: Layout, dims: "Tuple[int, ...]") -> None:
    text = distribution.canonical(layout.text)
    assert not distribution.misfit(text, dims)
    made = distribute.schedule(text, dims, tuple(reversed(range(len(dims)))))
    assert walked(made) == written(layout, dims)
    assert set(written(layout, dims)) == set(itertools.product(*map(range, dims)))


def test_random_maps_are_the_definition() -> None:
    rng, replicated, cut = random.Random(5), 0, 0
    for _ in range(60):
        layout = drawn(rng, rng.randint(0, 3))
        dims = tuple([rng.randint(1, 3)] * rng.randint(0, 1)) + tuple(rng.randint(1, size + size // 2 + 1) for size in layout.tile)
        text = distribution.canonical(layout.text)
        order = rng.sample(range(len(dims)), len(dims))
        made = distribute.schedule(text, dims, order)
        if math.prod(dims) * made.threads * made.grid > 200000 or made.threads > distribution.MOST_THREADS:
            continue
        assert walked(made) == written(layout, dims), (text, dims, order)
        replicated += math.prod(layout.ids()) > math.prod(layout.subgroup) * math.prod(layout.thread)
        cut += not made.whole
    assert replicated > 5 and cut > 5


def fusion(name: str, shape: str, body: str, layout: str) -> str:
    return f"{name} {{\n{body}  ROOT y = {shape}, frontend_attributes={{sett_distribute=\"{layout}\"}}\n}}\n"


def add(name: str, dtype: str, dims: str, order: str, layout: str) -> str:
    """Return a fusion that adds two arrays with different orders of dimensions into a result with a third order."""
    rank = dims.count(",") + 1
    minor = ",".join(map(str, range(rank)))
    body = f"  a = {dtype}[{dims}] parameter(0)\n  b = {dtype}[{dims}]{{{minor}}} parameter(1)\n"
    return fusion(name, f"{dtype}[{dims}]{{{order}}} add(a, b)", body, layout)


PADDED = """  a = bf16[30,21] parameter(0)
  b = bf16[3,50] parameter(1)
  zero = bf16[] constant(2)
  p = bf16[35,50] pad(a, zero), padding=2_3x-1_30
"""
REDUCED = """  a = f32[30,6,40] parameter(0)
  zero = f32[] constant(0)
  s = f32[30,40] reduce(a, zero), dimensions={1}, to_apply=plus
  e = f32[30,40] negate(s)
"""
TILED = "  a = f32[260,300]{1,0:T(8,128)} parameter(0)\n"    # without sett_distribute, another schedule would divide the result between blocks
SOFTMAX = """  a = f32[36,50] parameter(0)
  zero = f32[] constant(0)
  e = f32[36,50] exponential(a)
  s = f32[36] reduce(e, zero), dimensions={1}, to_apply=plus
  t = f32[36,50] broadcast(s), dimensions={0}
"""
HEAD = "HloModule m\nplus { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
SEVERAL = """several {
  a = f16[24,48] parameter(0)
  u = f16[24,48] negate(a), frontend_attributes={sett_distribute="%s"}
  v = f16[24,48] abs(a), frontend_attributes={xla="other", sett_distribute="%s"}
  w = f16[48,24] transpose(a), dimensions={1,0}
  ROOT t = (f16[24,48], f16[24,48], f16[48,24]) tuple(u, v, w)
}
"""
FUSIONS = {
    "mma": add("mma", "f32", "40,50", "1,0", "NV_MMA_SYNC_F32_16x8x16_F16.acc"),
    "mfma": add("mfma", "f32", "64,48", "1,0", ACC),
    "readme": add("readme", "f32", "128,64", "1,0", README.text),
    "turned": add("turned", "f16", "19,33", "0,1", TURNED.text),
    "copies": add("copies", "s8", "20,18", "1,0", COPIES.text),
    "deep": add("deep", "u16", "3,5,9,17", "3,1,2,0", DEEP.text),
    "long": add("long", "f64", "3,100", "1,0", LONG.text),
    "less": add("less", "f32", "5,3", "1,0", README.text),
    "scalar": fusion("scalar", "s32[] add(a, a)", "  a = s32[] parameter(0)\n", SCALAR.text),
    "edges": fusion("edges", "bf16[38,50] concatenate(p, b), dimensions={0}", PADDED, README.text),
    "reduced": fusion("reduced", "f32[30,40] exponential(e)", REDUCED, ACC),
    "tiled": fusion("tiled", "f32[260,300] negate(a)", TILED, ACC),
    "softmax": fusion("softmax", "f32[36,50] divide(e, t)", SOFTMAX, ACC),
    "several": SEVERAL % (README.text, ACC),
}


def module(folder: Path, *names: str) -> str:
    """Write an HLO file that contains one fusion, or several and an entry that calls them. Return its path."""
    text, lines, operands = HEAD + "".join(FUSIONS[name] for name in names), [], 0
    for name in names if len(names) > 1 else ():
        called = hlo.parse(HEAD + FUSIONS[name], "").computations[-1]
        shapes = [parameter.shape.text for parameter in called.parameters]
        own = [f"p{operands + k}" for k in range(len(shapes))]
        lines += [f"  p{operands + k} = {shape} parameter({operands + k})\n" for k, shape in enumerate(shapes)]
        lines.append(f"  {name} = {called.root.shape.text} fusion({', '.join(own)}), kind=kLoop, calls={name}\n")    # type: ignore[union-attr]
        operands += len(shapes)
    path = folder / f"{names[0]}.hlo"
    path.write_text(text + (f"ENTRY e {{\n{''.join(lines)}  ROOT all = tuple({', '.join(names)})\n}}\n" if lines else ""))
    return str(path)


@pytest.mark.parametrize("target, device", [pytest.param(*pair, marks=[] if pair[0] == "c" else pytest.mark.peer) for pair in ON])
def test_beside_the_reference(target: str, device: Optional[str], tmp_path: Path) -> None:
    device_or_skip(target)
    results = run.check(module(tmp_path, *FUSIONS), target, run.Options(schedule=device))
    assert [(result.status, result.reason) for result in results] == [("PASS", "")] * len(FUSIONS)
    assert [result.hero for result in results] == ["loop"] * (len(FUSIONS) - 2) + ["reduction loop", "loop transpose"]


def test_the_manifest_says_the_layout(tmp_path: Path) -> None:
    loaded = run.load(module(tmp_path, "several"))
    made, about = pipeline.files(hlo.fusions(loaded)[0], ["cuda", "opencl"])
    kernels = json.loads(made["several.json"])["targets"]["cuda"]["kernels"]
    assert about["targets"]["cuda"]["kernels"] == kernels
    layouts = [k.get("layout") for k in kernels]
    assert layouts == [distribution.canonical(README.text), distribution.canonical(ACC), None]
    assert all(layout in made["several.cu"] for layout in layouts[:2])
    assert [k["threads"] for k in kernels][:2] == [128, 64]
    assert all("layout" not in k for k in about["targets"]["opencl"]["kernels"]) and "sett_distribute is for GPUs" in made["several.cl"]


def test_vectors_come_from_the_element_digits(tmp_path: Path) -> None:
    texts = {name: pipeline.target_file(hlo.fusions(run.load(module(tmp_path, name)))[0], "cuda").text for name in ("readme", "mma", "mfma")}
    assert "uint4" in texts["readme"] and "uint2" in texts["mma"]
    # b is column-major, so four rows of a column are contiguous in it
    assert re.findall(r"union { (\w+) word\[\d\]; .*} (w_\w+);", texts["mfma"]) == [("uint4", "w_p1")] and "store_word<aligned>(" not in texts["mfma"]


def test_explain_shows_who_holds_what(tmp_path: Path) -> None:
    text = explain.stages(run.load(module(tmp_path, "mma")), ["cuda"], run.Options())["schedule"]
    assert "16x8, thread.slot" in text and "15  28.2-3  29.2-3" not in text and "13  20.2-3  21.2-3  22.2-3  23.2-3" in text
    assert "th_x 3 (subgroup 0, thread 3) of block 0: (0,6) (0,7) (8,6) (8,7)" in text
    assert "layout: (subgroup, thread)[b0, b1, o0, o1, e0, e1] -> (o0 * 8 + thread floordiv 4, (thread mod 4) * 2 + e1)" in text


WHERE = "  ROOT y = f32[6,8] negate(a), frontend_attributes={sett_distribute=\""


@pytest.mark.parametrize("layout, column, message", [
    ("nested_layout<subgroup_tile = [1, 1], bach", len(WHERE) + 39, "expected 'batch_tile', found 'bach'"),
    ("MFMA_F32_9x9.acc", len(WHERE) + 1, "expected nested_layout<..>, or an intrinsic, a dot and its operand lhs, rhs or acc, such as MFMA_F32_16x16x4_F32.acc "
     "(`nested mma` lists the intrinsics), found 'MFMA_F32_9x9.acc'"),
    (Layout([1] * 3, [1] * 3, [1] * 3, [1] * 3, [2] * 3, [0] * 3, [0] * 3).text, len(WHERE) + 1,
     "expected a layout of rank 2 or less, that of the result, found rank 3"),
    (Layout([1, 1], [1, 1], [1, 1], [4, 2], [1, 1], [0, 0], [1, 0]).text, len(WHERE) + 1,
     "expected a complete layout: 4 of 8 elements are held, the rest would be computed by nobody"),
    (Layout([1, 4], [1, 1], [1, 1], [32, 16], [1, 1], [0, 1], [1, 32]).text, len(WHERE) + 1,
     "expected at most 1024 threads in a block, found 4 subgroups of 512"),
    (Layout([1, 1], [1 << 16, 1], [1, 1], [2, 1], [1, 2], [0, 0], [1, 0]).text, len(WHERE) + 1,
     "expected at most 65536 slots for a thread, found 131072"),
])
def test_refused(layout: str, column: int, message: str) -> None:
    text = f"HloModule m\nf {{\n  a = f32[6,8] parameter(0)\n{WHERE}{layout}\"}}\n}}\n"
    with pytest.raises(hlo.HloError) as error:
        hlo.parse(text, "f.hlo")
    assert (error.value.line, error.value.col, error.value.message) == (4, column, message)


@pytest.mark.parametrize("line, place, message", [
    ("  b = f32[6,8] abs(a), frontend_attributes={sett_distribute=\"%s\"}\n  ROOT y = f32[6,8] negate(b)", (4, 3),
     "expected sett_distribute on a result of a fused computation, 'b' is none; instead, write it on the op that gives the result"),
    ("  ROOT y = f32[6,8]{1,0:T(2,4)} negate(a), frontend_attributes={sett_distribute=\"%s\"}", (4, 82),
     "expected sett_distribute on an array that is not in tiles, found f32[6,8]{1,0:T(2,4)}"),
    ("  i = s4[6,8] convert(a)\n  ROOT y = s4[6,8] negate(i), frontend_attributes={sett_distribute=\"%s\"}", (5, 69),
     "expected sett_distribute on elements of whole bytes, found s4[6,8]{1,0}"),
    ("  b = f32[6,8] abs(a), frontend_attributes={sett_distribute=\"%s\"}\n  ROOT y = (f32[6,8]{1,0:T(2,4)}) tuple(b)", (4, 3),
     "expected sett_distribute on a result that is not in tiles, 'b' is f32[6,8]{1,0:T(2,4)} there; instead, copy it to a layout without tiles in the fusion"),
    ("  i = s32[3,1] parameter(1)\n  u = f32[3,8] parameter(2)\n  ROOT y = f32[6,8] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=plus, frontend_attributes={sett_distribute=\"%s\"}", (6, 196),
     "expected sett_distribute on an op that computes its elements one by one: a scatter's updates go where indices say"),
    ("  ROOT y = f32[6,8] negate(a), frontend_attributes={sett_distribute=%s}", (4, 32), 'expected sett_distribute="LAYOUT" or "INTRINSIC.OPERAND"'),
])
def test_refused_where_it_stands(line: str, place: "Tuple[int, int]", message: str, tmp_path: Path) -> None:
    path = tmp_path / "f.hlo"
    head = HEAD.replace("\n", " ")
    path.write_text(f"{head}\nf {{\n  a = f32[6,8] parameter(0)\n{line % ACC}\n}}\n")
    with pytest.raises(hlo.HloError) as error:
        run.load(str(path))
    assert ((error.value.line, error.value.col), error.value.message) == (place, message)
