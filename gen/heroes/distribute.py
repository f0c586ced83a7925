"""The distribute hero (kernel emitter): a nested layout in the HLO text decides which elements of a result each GPU
thread computes.

    ROOT y = f32[64,64]{1,0} add(a, b), frontend_attributes={sett_distribute="NV_MMA_SYNC_F32_16x8x16_F16.acc"}

The attribute belongs to the instruction of the result. Every verb of gen reads it and reports its errors with line and
column. The layout describes one tile of the result's last dimensions. A block computes one tile, with one thread for
each pair (subgroup, thread) of the layout: th_x = subgroup * threads + thread.

The map (th_x, bl_x)[chunk, vec] -> index is the map of `nested map`, moved by the start of the block's tile. vec
numbers the elements of a vector, and chunk the vectors of a thread. Elements beyond the end of the result are outside
the map's domain. If the layout gives an element to several threads, only the first of these threads is in the domain.
To find this thread, `nested map` gives the thread's element, and `nested unmap` gives the element's first thread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Dict, Iterable, List, Sequence

from gen import algebra
from gen.heroes import loop
from gen.heroes.hero import Choice, Context
from gen.heroes.kernel import Grid, Kernel
from gen.hlo import distribution
from gen.plan.nest import Nest
from gen.schedule import LANES, LoopSchedule

SHOWN = (16, 110)  # maximum number of lines and of columns of a drawing


@dataclass(frozen=True)
class Distributed(LoopSchedule):
    """A loop schedule that follows a nested layout.

    layout: the layout in canonical print.
    grid: the number of tiles.
    index: the map (th_x, bl_x)[(chunk,) vec] -> the result's index.
    whole: true if the end of the result cuts no step.
    """

    layout: str = ""
    grid: int = 1
    index: str = ""
    whole: bool = True

    def blocks(self, elements: int) -> int:
        return self.grid

    def cut(self, elements: int) -> bool:
        return not self.whole

    def text(self) -> str:
        return f"{super().text()}, {self.grid} tiles distributed by {self.layout}"

    def picture(self) -> "List[str]":
        """Return the beginning of the text of `nested draw`, then the elements that the kernel's own map gives to the
        first threads in the first tile.
        """
        (lines, columns), info = SHOWN, distribution.info(self.layout)
        try:
            drawn = algebra.call("nested", "draw", self.layout).splitlines()
        except algebra.AlgebraError:
            drawn = ["x".join(map(str, info["undistributed"])) + ", too large to draw"]
        picture = [line if len(line) <= columns else line[:columns].rsplit("  ", 1)[0].rstrip() + "  .."
                   for line in drawn[:lines]]
        picture += [".."] * (len(drawn) > lines)
        threads = info["threads"][0]
        for th in range(min(self.threads, 4)):
            held = [algebra.evaluate(self.index, th, 0, *([chunk] if self.chunks > 1 else []), vec)
                    for chunk in range(min(self.chunks, 8)) for vec in range(self.vec)][:8]
            texts = ["-" if at is None else "(" + ",".join(map(str, at)) + ")" for at in held]
            picture.append(f"th_x {th} (subgroup {th // threads}, thread {th % threads}) of block 0: {' '.join(texts)}"
                           + (" .." if self.chunks * self.vec > len(held) else ""))
        return picture


class DistributeHero(loop.LoopHero):
    """A loop hero in which a nested layout decides which GPU thread computes which elements."""

    def takes(self, nest: Nest, context: Context) -> bool:
        return bool(nest.layout) and not context.device.cpu

    def schedules(self, nest: Nest, context: Context) -> "Iterable[LoopSchedule]":
        return [schedule(nest.layout, nest.shape.dims, nest.shape.minor_to_major)]

    def describe(self, choice: Choice[Nest, LoopSchedule], grid: Grid, context: Context) -> "List[str]":
        assert isinstance(grid.loop, Distributed)
        return ["tile: " + "\n    ".join(grid.loop.picture()),
                f"layout: {algebra.call('nested', 'map', grid.loop.layout)}"]

    def manifest(self, kernel: Kernel) -> "Dict[str, str]":
        assert isinstance(kernel.loop, Distributed)
        return {"layout": kernel.loop.layout, "map": kernel.grid.thread}


HERO = DistributeHero()


def schedule(layout: str, dims: "Sequence[int]", minor_to_major: "Sequence[int]") -> Distributed:
    """Return the schedule that follows `layout`, for a result with these dimensions that is stored in the order
    `minor_to_major`.
    """
    info = distribution.info(layout)
    tile, subgroups, threads = info["undistributed"], info["subgroups"][0], info["threads"][0]
    nested = algebra.call("nested", "map", layout)
    slots = {v.name: v.hi + 1 for v in algebra.info(nested).of_kind("range")}
    first = len(dims) - len(tile)  # the result's dimension that corresponds to the layout's first dimension
    minor = next((d for d in minor_to_major if d >= first and slots[f"e{d - first}"] > 1), -1)
    element = f"e{minor - first}" if minor >= 0 else ""
    # `vec` is at most the size of the minor dimension, so that at least some steps are whole
    vec = max(n for n in range(1, LANES + 1) if slots.get(element, 1) % n == 0 and (n == 1 or n <= dims[minor]))
    counts = {name: size // vec if name == element else size for name, size in slots.items()}
    chunks, below, digits = math.prod(counts.values()), math.prod(counts.values()), []
    for name, size in counts.items():
        below //= size
        digit = f"(chunk floordiv {below}) mod {size}" if size > 1 else "0"
        digits.append(f"({digit}) * {vec} + vec" if name == element else digit)
    grid = distribution.tiles(tile, dims)
    box = {"th_x": subgroups * threads, "bl_x": math.prod(grid), **({"chunk": chunks} if chunks > 1 else {}),
           "vec": vec}
    names = f"(th_x, bl_x)[{', '.join(list(box)[2:])}]"
    domain = [f"{name} in [0, {size - 1}]" for name, size in box.items()]
    ids = f"{names} -> ({', '.join([f'th_x floordiv {threads}', f'th_x mod {threads}', *digits])}), domain: {', '.join(domain)}"
    held = algebra.compose(ids, algebra.call("map", "dims", nested))
    results, below = [], math.prod(grid)
    inside = [r.text for r in algebra.info(held).results]
    for d, tiles in enumerate(grid):
        below //= tiles
        at = f"((bl_x floordiv {below}) mod {tiles})"
        results.append(f"{at} * {tile[d - first]} + ({inside[d - first]})" if d >= first else at)
    domain += [f"{text} in [0, {n - 1}]" for text, n in zip(results, dims)]
    if info["copies"] != [1]:
        owner = algebra.info(algebra.compose(held, algebra.call("nested", "unmap", layout))).results
        domain += [f"th_x floordiv {threads} - ({owner[0].text}) in [0, 0]",
                   f"th_x mod {threads} - ({owner[1].text}) in [0, 0]"]
    index = algebra.simplify(f"{names} -> ({', '.join(results)}), domain: {', '.join(domain)}")
    return Distributed(subgroups * threads, chunks, vec, layout=layout, grid=math.prod(grid), index=index,
                       whole=minor < 0 or dims[minor] % vec == 0)
