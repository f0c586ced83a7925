"""The window scatter hero (kernel emitter) on CPUs: each window has selected one element of the result, and the
window's source is combined with this element (the second half of select-and-scatter).

This hero takes windows along the contiguous dimension, where adjacent lanes of a vector would belong to different
windows. Work-items share the result along its outermost dimension. Each work-item fills its part with the initial
value. Then it visits the windows that contain its rows, in the order of their positions. If the element that a window
has selected is in the work-item's part, the work-item combines the window's source with this element.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Iterable, List, Sequence, Tuple

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form
from gen.statements import Assign, Let, Statement
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Grid, Kernel, Report, StepCode, Text, kernel_of
from gen.hlo import Instruction, array_shape, dtypes
from gen.lower.select_and_scatter import SCATTER
from gen.plan.buffers import memory_map, touches
from gen.plan.nest import Nest
from gen.plan.partition import EMPTY, Partition, Root, compose, identity, loop_sizes, window_words
from gen.schedule import Schedule
from gen.targets import COMPLEX, TINY


@dataclass(frozen=True)
class WindowScatterSchedule(Schedule):
    """The schedule. items: number of work-items. chunks: number of rows of a work-item; a row is one index of
    `dimension`, the result's outermost dimension.
    """

    dimension: int = 0
    items: int = 1

    def text(self) -> str:
        return f"{super().text()}, {self.chunks} of dimension {self.dimension} of the result a work-item"


@dataclass(frozen=True)
class PlaceLoop:
    """A loop over a dimension of the windows' positions: its variable, and its bounds as C text."""

    name: str
    first: str
    end: str


@dataclass(frozen=True)
class WindowScatterRecord:
    """The record that templates/kernels/window_scatter_cpu.j2 prints. A row is one index of the result's outermost
    dimension.

    group: true if there are several work-items.
    chunk, size: number of rows of a work-item, and of the result.
    row: number of elements of a row.
    pointer: pointer to the result.
    begin, value: the lines that compute the result's initial value, and C text of the value.
    places: the loops over windows.
    window: the lines that read which element a window has selected.
    chosen: the C variable with the index of the selected element in the window.
    none: the value of `chosen` for a window that contains no element.
    at_row: C text of the row of the selected element.
    combine: the lines that combine the window's source with the selected element.
    """

    group: bool
    chunk: int
    size: int
    row: int
    pointer: str
    begin: Sequence[Statement]
    value: str
    places: List[PlaceLoop]
    window: Sequence[Statement]
    chosen: str
    none: int
    at_row: str
    combine: Sequence[Statement]


class WindowScatterHero(Hero[Nest, WindowScatterSchedule]):
    name = "window-scatter"
    nest_class = Nest

    def takes(self, nest: Nest, context: Context) -> bool:
        return context.device.cpu and type(nest) is Nest and not nest.layout and not nest.reads_first \
            and not touches(nest, {*dtypes.PACKED, *COMPLEX, *TINY}) and nest.only(SCATTER) is not None

    def schedules(self, nest: Nest, context: Context) -> "Iterable[WindowScatterSchedule]":
        device, dims = context.device, nest.shape.dims
        hero = nest.only(SCATTER)
        outer = [d for d in nest.shape.minor_to_major[::-1] if dims[d] > 1]
        if hero is None or not outer or not hero.operands[1].shape.elements or _seen(hero) == EMPTY:
            return []
        d = outer[0]
        # two work-items visit a window that reaches into the parts of both
        least = 4 * loop_sizes(hero)[d] if hero.attributes["window"].size[d] > 1 else 1
        rows = max(-(-dims[d] // (device.unit_items * device.units)), least)
        return [WindowScatterSchedule(chunks=min(rows, dims[d]), dimension=d, items=-(-dims[d] // min(rows, dims[d])))]

    def index_types(self, schedule: WindowScatterSchedule) -> "Sequence[str]":
        """Return signed types, because the first window position that could contain a row may be negative."""
        return "int", "long"

    def forms(self, nest: Nest, schedule: WindowScatterSchedule, context: Context) -> "Iterable[Form]":
        return _forms(nest)

    def maps(self, nest: Nest, schedule: WindowScatterSchedule, context: Context) -> "Iterable[str]":
        hero = nest.only(SCATTER)
        assert hero is not None
        element, bounds = _element(hero)[0], _bounds(schedule, hero)
        return [compose(element, memory_map(nest.partition.roots[0].shape)), element, *([bounds] if bounds else [])]

    def grids(self, choice: Choice[Nest, WindowScatterSchedule], context: Context) -> "List[Grid]":
        _, window = _forms(choice.nest)
        return [Grid(choice.nest.name, choice.schedule, choice.index, choice.schedule.items, window.function.index)]

    def build(self, choice: Choice[Nest, WindowScatterSchedule], context: Context) -> "List[Kernel]":
        return [_kernel(choice.nest, choice.schedule, choice.grids[0], context)]


HERO = WindowScatterHero()


def _seen(hero: Instruction) -> str:
    """Return the map from a window's position and an index in the window to the result's index; EMPTY if windows cover
    only padding.
    """
    return algebra.call("op", "reduce-window", "0", f"out={algebra.numbers(hero.operands[1].shape.dims)}",
                        f"in={algebra.numbers(hero.shape.dims)}", "joint=1", *window_words(hero.attributes["window"]))


def _element(hero: Instruction) -> "Tuple[str, Tuple[str, ...]]":
    """Return a map and the names of its variables. It maps a window's position, and the index of an element in the
    window, to the result's index.
    """
    sizes, places, seen = loop_sizes(hero), hero.operands[1].shape.dims, _seen(hero)
    place, digit = [f"i{k}" for k in range(len(places))], [f"s{k}" for k in range(len(sizes))]
    info = algebra.info(algebra.rename(seen, *place, *digit))
    flat = ", ".join(f"{v.name} in [{v.lo}, {v.hi}]" for v in info.variables)
    inside = [f"{g.text} in [{g.lo}, {g.hi}]" for g in algebra.guards(algebra.rename(seen, *place, *digit))]
    results = ", ".join(result.text for result in info.results)
    joint = algebra.simplify(f"({', '.join([*place, *digit])}) -> ({results}), domain: {', '.join([flat, *inside])}")
    unmap = algebra.rename(algebra.call("shape", "unmap", array_shape("s32", sizes).text), "w")
    digits = [result.text for result in algebra.info(unmap).results]
    domain = [f"{name} in [0, {size - 1}]" for name, size in zip([*place, "w"], [*places, math.prod(sizes)])]
    given = f"({', '.join([*place, 'w'])}) -> ({', '.join([*place, *digits])}), domain: {', '.join(domain)}"
    return compose(algebra.simplify(given), joint), (*place, "w")


def _forms(nest: Nest) -> "List[Form]":
    """Return two forms (plans of C code). The first computes the result's initial value. The second reads two values
    for a window: the number of the selected element, and the source.
    """
    hero = nest.only(SCATTER)
    assert hero is not None
    choice, source, init = hero.operands
    places, index = source.shape.dims, identity(source.shape.dims)
    values = Partition(nest.partition.computation, [Root(0, choice.shape, choice, 0, index),
                                                    Root(1, source.shape, source, 0, index)],
                       nest.name + "_places", places, cuts=nest.partition.cuts)
    start = Partition(nest.partition.computation, [Root(0, init.shape, init, 0, identity(()))],
                      nest.name + "_start", (), cuts=nest.partition.cuts)
    return [Form(start, start.entry), Form(values, values.entry)]


def _kernel(nest: Nest, form: WindowScatterSchedule, grid: Grid, context: Context) -> Kernel:
    d, hero, forms, index_type = context.target, nest.only(SCATTER), _forms(nest), grid.index
    assert hero is not None
    places, k, window = hero.operands[1].shape.dims, form.dimension, hero.attributes["window"]
    start, values = (of.partition for of in forms)
    begin, body = (Body(d, context.helpers, of, index_type, context.excess) for of in forms)
    begin.region(start.entry.body)
    value = begin.to_memory(begin.read(start.root_read(start.roots[0]), start.entry.body))
    body.region(values.entry.body)
    chosen = body.read(values.root_read(values.roots[0]), values.entry.body)
    lines = body.text.take()
    update = body.read(values.root_read(values.roots[1]), values.entry.body)
    element, _ = _element(hero)
    target = nest.partition.roots[0]
    flat, dtype = compose(element, memory_map(target.shape)), target.shape.dtype
    body.accessed("combine", target.buffer, flat)
    at = f"{target.buffer.pointer}[at]"
    body.text.add(Let(d.index[index_type], "at", body.c(flat)[0]))
    old = body.declare("old", dtype, 1, body.from_memory(dtype, at), dtype == "f16")
    new = body.without_excess(body.scalar(hero.attributes["scatter"], [update, old])[0], "next")
    body.text.add(Assign(at, body.to_memory(new)))
    record = WindowScatterRecord(
        form.items > 1,
        form.chunks,
        nest.shape.dims[k],
        nest.shape.elements // nest.shape.dims[k],
        target.buffer.pointer,
        begin.text.lines,
        value,
        [_loop(n, size, form, hero, index_type) for n, size in enumerate(places)],
        [*lines, Let(d.index[index_type], "w", chosen.text)],
        "w",
        math.prod(window.size),
        body.c(element)[k],
        body.text.lines,
    )
    return kernel_of(d, context.helpers, context.excess, grid, nest, [start, values],
                     Text("kernels/window_scatter_cpu", record, attribute=d.launch_bounds(1)),
                     Report([*begin.touched, *body.touched],
                            StepCode(record.window, record.combine, [], repeated="for each window")))


def _loop(n: int, size: int, form: WindowScatterSchedule, hero: Instruction, index_type: str) -> PlaceLoop:
    """Return the loop over window positions along dimension n. If work-items share this dimension, the loop covers the
    windows that contain the work-item's rows; otherwise it covers all windows.
    """
    if n != form.dimension or form.items == 1:
        return PlaceLoop(f"i{n}", "0", str(size))
    begin, end = algebra.c_text(_bounds(form, hero), index_type).results
    return PlaceLoop(f"i{n}", f"({begin} > 0 ? {begin} : 0)", f"({end} < {size} ? {end} : {size})")


def _bounds(form: WindowScatterSchedule, hero: Instruction) -> str:
    """Return the map from a work-item to two positions of windows: the first one at which a window contains some of the
    work-item's rows, and the one after the last of these. Return "" if there is only one work-item.
    """
    if form.items == 1:
        return ""
    window, n = hero.attributes["window"], form.dimension
    wide, stride, low = window.size[n], window.stride[n], window.low[n]
    first, last = f"bl_x * {form.chunks}", f"bl_x * {form.chunks} + {form.chunks - 1}"
    return algebra.simplify(
        f"(bl_x) -> (({first} + {low + stride - wide}) floordiv {stride}, ({last} + {low}) floordiv {stride} + 1), "
        f"domain: bl_x in [0, {form.items - 1}]"
    )
