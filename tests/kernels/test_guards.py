"""Property: if the operands of a concatenate, pad or update meet inside a register, the kernels use whole vectors and
agree with the reference.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import List

import pytest

from drawn import ON, SEED, agree, fusions, in_parts, marked, plain
from gen import pipeline, run
from gen.schedule import DEVICES

COUNT = 6    # number of random fusions for each device
WIDE = [(target, device) for target, device in ON if DEVICES[device].lanes > 1 and DEVICES[device].cpu]
ROWS = [33, 40, 48, 64, 75, 100, 127, 128, 320, 512]
TYPES = ["f32", "f32", "bf16", "f16", "s8", "u8", "s32", "u16", "s64", "f64", "pred"]


class Graph:
    """The lines of an HLO text. All values have one type."""

    def __init__(self, dtype: str) -> None:
        self.dtype, self.lines = dtype, ["  z = " + plain(dtype, []) + " constant(" + ("true" if dtype == "pred" else "1") + ")"]

    def add(self, dims: "List[int]", text: str, name: str = "") -> str:
        name = name or f"v{len(self.lines)}"
        self.lines.append(f"  {name} = {plain(self.dtype, dims)} {text}")
        return name

    def part(self, x: str, dims: "List[int]", axis: int, first: int, last: int) -> str:
        bounds = ", ".join(f"[{first}:{last}]" if k == axis else f"[0:{n}]" for k, n in enumerate(dims))
        return self.add([last - first if k == axis else n for k, n in enumerate(dims)], f"slice({x}), slice={{{bounds}}}")

    def joined(self, parts: "List[str]", dims: "List[int]", axis: int) -> str:
        return self.add(dims, f"concatenate({', '.join(parts)}), dimensions={{{axis}}}")

    def moved(self, x: str, dims: "List[int]", random_: random.Random) -> str:
        """Return the array `x` moved by some elements along one dimension: by a roll, a shift that fills with a
        constant, a pad of a slice, or an update.
        """
        axis = random_.choice([len(dims) - 1, random_.randrange(len(dims))])
        size = dims[axis]
        k = random_.choice([1, size - 1, random_.randint(1, size - 1)]) if size > 1 else 0
        kind = random_.choice(["roll", "roll", "shift", "pad", "update", "three"])
        if size < 3 or kind == "roll":
            return self.joined([self.part(x, dims, axis, size - k, size), self.part(x, dims, axis, 0, size - k)], dims, axis) if k else x
        if kind == "pad":
            low = random_.randint(0, k)
            inner = self.part(x, dims, axis, low, low + size - k)
            edges = "x".join(f"{k - low}_{low}" if d == axis else "0_0" for d in range(len(dims)))
            return self.add(dims, f"pad({inner}, z), padding={edges}")
        if kind == "update":
            return self.add(dims, f"dynamic-update-slice({x}, {self.part(self.twice(x, dims), dims, axis, 0, size - k)}, "
                                  + ", ".join("at" if d == axis else "zero" for d in range(len(dims))) + ")")
        filled = self.add([k if d == axis else n for d, n in enumerate(dims)], "broadcast(z), dimensions={}")
        if kind == "shift":
            return self.joined([filled, self.part(x, dims, axis, 0, size - k)], dims, axis)
        k = random_.randint(1, size - 2)
        first, computed = self.part(x, dims, axis, size - 1, size), self.part(self.twice(x, dims), dims, axis, 0, k)
        return self.joined([first, computed, self.part(x, dims, axis, k, size - 1)], dims, axis)

    def twice(self, x: str, dims: "List[int]") -> str:
        return self.add(dims, f"not({x})" if self.dtype == "pred" else f"add({x}, {x})")


def _drawn(random_: random.Random) -> str:
    """Return a random fusion that combines an array with a few moved copies of it."""
    dims = [random_.choice([1, 2, 5, 16]) for _ in range(random_.randint(0, 2))] + [random_.choice(ROWS)]
    dims[0] = max(dims[0], -(-700 // dims[-1]) if len(dims) > 1 else 700)
    dtype = random_.choice(TYPES)
    graph = Graph(dtype)
    graph.add(dims, "parameter(0)", "x")
    graph.lines += ["  at = s32[] parameter(1)", "  zero = s32[] constant(0)"]
    total = "x"
    for _ in range(3):
        moved = graph.moved("x", dims, random_)
        total = graph.add(dims, f"{'xor' if dtype == 'pred' else 'add'}({total}, {moved})")
    graph.lines[-1] = "  ROOT" + graph.lines[-1][1:]
    return "HloModule m\nENTRY e {\n" + "\n".join(graph.lines) + "\n}\n"


@pytest.mark.parametrize("target,device", marked(WIDE))
@in_parts
def test_bounds_inside_of_a_register(target: str, device: str, part: str, tmp_path: Path) -> None:
    random_ = random.Random(f"{SEED} guards")
    agree({f"e{k}": _drawn(random_) for k in range(COUNT)}, target, device, tmp_path, part)


@pytest.mark.parametrize("device", ["cpu", "pocl-cpu"])
@pytest.mark.parametrize("dims", [[4096], [64, 48], [50, 300]])
def test_neighbours_are_computed_in_vectors(device: str, dims: "List[int]") -> None:
    """A roll along rows is computed in whole vectors. Only the registers at a row's end are computed lane by lane."""
    graph, size = Graph("f32"), dims[-1]
    graph.add(dims, "parameter(0)", "x")
    axis = len(dims) - 1
    rolled = graph.joined([graph.part("x", dims, axis, size - 1, size), graph.part("x", dims, axis, 0, size - 1)], dims, axis)
    graph.lines.append(f"  ROOT r = {plain('f32', dims)} add(x, {rolled})")
    (fusion,) = fusions("HloModule m\nENTRY e {\n" + "\n".join(graph.lines) + "\n}\n")
    (kernel,) = pipeline.target_file(fusion, DEVICES[device].language, device).kernels
    assert kernel.loop.lanes > 1


# gcc 12 with AVX-512 reads beyond the end of an array here, for lanes of a vector that are unused
SUM = """HloModule m
sum { a = u32[] parameter(0)  b = u32[] parameter(1)  ROOT c = u32[] add(a, b) }
ENTRY e {
  v0 = u32[64]{0} parameter(0)
  z = u32[] constant(0)
  v9 = u32[64]{0} pad(v0, z), padding=-26_26
  v11 = u32[64]{0} pad(v0, z), padding=-16_16
  v12 = s32[64]{0} parameter(1)
  v13 = u32[64]{0} gather(v0, v12), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
  v14 = u32[64]{0} subtract(v0, v9)
  v15 = u32[64]{0} maximum(v14, v11)
  v16 = u32[64]{0} maximum(v15, v13)
  ROOT s = u32[] reduce(v16, z), dimensions={0}, to_apply=sum
}
"""

TAIL = """HloModule m
ENTRY e {
  v0 = f32[64]{0} parameter(0)
  v1 = f32[24]{0} slice(v0), slice={[40:64]}
  v2 = f32[40]{0} slice(v0), slice={[0:40]}
  v3 = f32[64]{0} concatenate(v1, v2), dimensions={0}
  v4 = f32[64]{0} minimum(v0, v3)
  q = f32[] constant(0.25)
  v6 = f32[64]{0} broadcast(q), dimensions={}
  v7 = f32[64]{0} multiply(v4, v6)
  z = f32[] constant(0)
  v20 = f32[64]{0} pad(v7, z), padding=-6_6
  v21 = f32[64]{0} add(v7, v20)
  ROOT v26 = f32[64]{0} multiply(v21, v6)
}
"""

# gcc splits this loop into two, one where the condition holds and one where it does not
UNSWITCHED = """HloModule m
ENTRY e {
  v0 = f32[64,3] parameter(0)
  v1 = f32[] constant(0)
  v2 = f32[64,3] pad(v0, v1), padding=28_-28x0_0
  v3 = f32[64,3] add(v0, v2)
  v4 = f32[] constant(0.25)
  v5 = f32[64,3] broadcast(v4), dimensions={}
  v6 = f32[64,3] multiply(v3, v5)
  v7 = f32[32,3] slice(v6), slice={[0:64:2], [0:3]}
  v8 = f32[32,3] slice(v6), slice={[1:64:2], [0:3]}
  v9 = f32[64,3] concatenate(v7, v8), dimensions={0}
  v10 = f32[64,3] add(v6, v9)
  v11 = f32[] constant(0.25)
  v12 = f32[64,3] broadcast(v11), dimensions={}
  v13 = f32[64,3] multiply(v10, v12)
  v21 = f32[] constant(0)
  v22 = f32[64,3] pad(v13, v21), padding=-10_10x0_0
  v23 = f32[64,3] reverse(v13), dimensions={0}
  v24 = f32[64,3] subtract(v13, v22)
  ROOT v25 = f32[64,3] maximum(v24, v23)
}
"""


@pytest.mark.parametrize("text", (SUM, TAIL, UNSWITCHED), ids=("sum", "tail", "unswitched"))
def test_nothing_beyond_the_end_is_loaded(text: str, tmp_path: Path) -> None:
    """Reads under a condition stay inside the array. The array ends at the end of a page, and the next page is not
    mapped, so a read beyond the end would crash.
    """
    path = tmp_path / "guarded.hlo"
    path.write_text(text)
    for result in run.check(str(path), "c"):
        assert result.status == "PASS", result.line()
