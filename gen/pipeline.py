"""gen build: a fusion's kernels, its C API, its scalar reference and its manifest, written whole or not at all."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

import jinja2

from gen import algebra, hlo, reference
from gen.emit import ops
from gen.heroes import concatenate, distribute, reduction_cpu, reduction_gpu, scatter, transpose_cpu, update_in_place
from gen.hlo import dtypes
from gen.lower import tiled_layouts, widths
from gen.plan import grouping, plan
from gen.targets import COMPLEX, DIALECTS, SCALAR_C, TINY, Dialect, vectors
from gen.emit.body import Body, Helpers, Value, conditions, NotWide, Text, offset
from gen.plan.buffers import first_leaf, memory_map, buffer_of, buffers_of, reads_of
from gen.hlo import Computation, Fusion, Instruction, Shape
from gen.heroes.kernel import CFunction, Kernel, arguments, attribute, function_text, narrowest
from gen.plan.nest import BuildError, Nest
from gen.plan.partition import EMPTY, RUNTIME, Partition, compose
from gen.schedule import FOUND, LATER, Device, Loop, candidates, device_for
from gen.plan.digits import block, walk, woven

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ("cuda", "opencl", "c")


def environment() -> jinja2.Environment:
    """Templates stay readable as C: statements are //% lines, expressions ${ }, comments //#. What Jinja makes of them is kept."""
    kept = ROOT / "build" / "templates"
    try:
        kept.mkdir(parents=True, exist_ok=True)
        cache = jinja2.FileSystemBytecodeCache(str(kept)) if os.access(kept, os.W_OK) else None
    except OSError:
        cache = None
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(ROOT / "templates"), undefined=jinja2.StrictUndefined, bytecode_cache=cache,
                              line_statement_prefix="//%", line_comment_prefix="//#", variable_start_string="${",
                              variable_end_string="}", trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
                              autoescape=False)
    made.filters["indented"] = lambda lines, depth: "\n".join("  " * depth + line if line else line for line in lines)
    made.filters["c_string"] = _c_string
    return made


def _c_string(line: str) -> str:
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


# ---- roots ----

def result_leaves(computation: Computation) -> "List[Tuple[Shape, Instruction, int]]":
    """Each leaf of the result with the instruction and the leaf of its shape that gives it."""
    assert computation.root is not None
    leaves: List[Tuple[Instruction, int]] = []
    waiting = [(computation.root, 0, len(computation.root.shape.leaves()))]
    while waiting:
        instruction, first, count = waiting.pop(0)
        if instruction.opcode == "tuple":
            inner = []
            at = 0
            for operand in instruction.operands:
                size = len(operand.shape.leaves())
                low, high = max(first, at), min(first + count, at + size)
                if low < high:
                    inner.append((operand, low - at, high - low))
                at += size
            waiting = inner + waiting
        elif instruction.opcode == "get-tuple-element":
            children = instruction.operands[0].shape.children
            before = sum(len(c.leaves()) for c in children[:instruction.attributes["index"]])
            waiting.insert(0, (instruction.operands[0], before + first, count))
        else:
            leaves += [(instruction, k) for k in range(first, first + count)]
    return [(shape, *leaf) for shape, leaf in zip(computation.root.shape.leaves(), leaves)]


def nests(fusion: Fusion) -> List[Nest]:
    """Kernels to be, in the order in which they run: what goes through scratch, then the results."""
    computation = widths.lowered(fusion.computation)
    computation, leaves = tiled_layouts.lowered(computation, result_leaves(computation))
    update, _ = update_in_place.find(fusion, computation, leaves, f"sett_{fusion.name}")
    if update and update.aliases:
        return [update]
    leaves = update.kept if update else leaves
    planned = plan.plan(computation, leaves)
    groups: "Dict[Tuple[int, Any, str, Any, str, Any], List[Tuple[int, Shape, Instruction, int]]]" = {}
    direct = {number for numbers in planned.scatters.values() for number in numbers}
    for number, shape, instruction, leaf in leaves:
        if shape.elements and number not in direct:
            heroes = planned.fused.get(number, [])
            alone = number if shape.dtype in dtypes.PACKED else None     # walked in its own order, whole bytes at a time
            layout = distribute.layout_of(instruction)
            alike = (shape.elements, plan.key_of(heroes[0]) if heroes else None, shape.place, alone, layout,
                     (shape.dims, shape.minor_to_major) if layout else ())
            groups.setdefault(alike, []).append((number, shape, instruction, leaf))
    parts = [(part, key, group, layout) for (_, key, _, _, layout, _), group in groups.items()
             for part in (grouping.arranged(computation, group, planned.cuts) if key is None and not layout else [grouping.linear(group)])]
    scattered = [i for i in [*planned.cuts, *planned.scatters] if i.opcode == "scatter"]
    count = (len(planned.cuts) + len(parts) + len(planned.scatters) + sum(len(i.shape.leaves()) for i in scattered) + (update is not None))
    names = iter(f"sett_{fusion.name}" + (f"_part{n}" if count > 1 else "") for n in range(count))
    made: List[Nest] = []
    for reduce, number in planned.cuts.items():
        others = {i: n for i, n in planned.cuts.items() if i is not reduce}
        if reduce.opcode == "scatter":
            made += scatter.nests(computation, reduce, [plan.whole(reduce, k, number + k, True) for k in range(len(reduce.shape.leaves()))], others,
                                  [next(names) for _ in range(len(reduce.shape.leaves()) + 1)])
            continue
        name = next(names)
        roots = [plan.whole(reduce, k, number + k, True) for k in range(len(reduce.shape.leaves()))]
        nest = Nest(name, roots[0].shape, Partition(computation, roots, name, roots[0].shape.dims, cuts=others))
        made.append(plan.reduction(nest, [reduce]) if plan.is_free(reduce) else nest)
    for (space, roots), key, group, layout in parts:
        name = next(names)
        nest = Nest(name, space, Partition(computation, roots, name, space.dims, cuts=planned.cuts))
        if key is not None:
            nest = plan.reduction(nest, list(dict.fromkeys(i for number, *_ in group for i in planned.fused[number])))
        nest.layout = layout
        made.append(concatenate.parted(nest) if key is None and not layout else nest)
    made = _sides_taken(made)
    for instruction, numbers in planned.scatters.items():
        made += scatter.nests(computation, instruction, [plan.whole(instruction, k, number) for k, number in enumerate(numbers)], planned.cuts,
                              [next(names) for _ in range(len(numbers) + 1)])
    if update:
        made.append(update_in_place.renamed(update, next(names)))
    return made


def how_updated(fusion: Fusion) -> str:
    """Which way dynamic-update-slices that are results go, and why; "" where there are none."""
    computation = widths.lowered(fusion.computation)
    update, why = update_in_place.find(fusion, *tiled_layouts.lowered(computation, result_leaves(computation)), "e")
    if update is None:
        return why and f"no kernel for the update alone: {why}"
    return ", ".join(f"result {k} is parameter {n}, updated in place" for k, n in update.aliases.items()) or \
        f"the operand is written, then the update over it; not in place: {update.why}"


def misplaced(module: hlo.Module) -> "Optional[hlo.HloError]":
    """The first layout to distribute by that stands with no result of a fusion, or with one that lies in tiles."""
    leaves = [leaf for fusion in hlo.fusions(module) for leaf in result_leaves(fusion.computation)]
    for shape, instruction, _ in leaves:
        if shape.tiled and distribute.layout_of(instruction):
            return hlo.HloError(module.filename, instruction.line, instruction.col,
                                f"expected sett_distribute on a result that is not in tiles, '{instruction.name}' is {shape.text} there")
    results = {(i.line, i.col) for _, i, _ in leaves}
    for instruction in (i for computation in module.computations for i in computation.instructions):
        if distribute.layout_of(instruction) and (instruction.line, instruction.col) not in results:
            return hlo.HloError(module.filename, instruction.line, instruction.col,
                                f"expected sett_distribute on a result of a fused computation, '{instruction.name}' is none")
    return None


def _sides_taken(made: List[Nest]) -> List[Nest]:
    """Results that are as large as a reduction's input, and read what it reads, are written in its pass."""
    taken: List[Nest] = []
    for n, one in enumerate(made):
        if isinstance(one, plan.Reduction):
            sides = [o for o in made if type(o) is Nest and o.shape.elements == one.space.elements and o not in taken
                     and not o.layout and not any(root.scratch or root.shape.dtype in dtypes.PACKED for root in o.partition.roots)
                     and plan.reads_same(o.partition, one.inputs)
                     and not any(e.instruction.opcode in ("reduce", *hlo.LOOPS) for e in o.partition.entry.body.entries)]
            if sides and not any(q[0] == "q" for o in sides for q in buffers_of(o.partition, o.partition.entry)):
                taken += sides
                made[n] = plan.reduction(one, one.heroes, sides)
    return [one for one in made if one not in taken]


# ---- kernels ----

def _widths(nest: Nest) -> Tuple[List[int], int]:
    """Bytes of the elements that neighbouring outputs read or write side by side, and the bytes moved in all."""
    widths, traffic = [], 0
    unmap = algebra.call("shape", "unmap", nest.shape.text)
    for root in nest.partition.roots:
        widths.append(dtypes.storage_bytes(root.shape.dtype))
        traffic += root.shape.bytes
    for read, region in reads_of(nest.partition, nest.partition.entry):
        if read.source.opcode != "parameter" or read.map == EMPTY:
            continue
        shape = read.source.shape.leaves()[read.output]
        traffic += shape.bytes
        flat = compose(unmap, compose(read.map, memory_map(shape)))
        if region is nest.partition.entry.body and flat != EMPTY and _mostly_contiguous(flat, nest.shape.elements):
            widths.append(dtypes.storage_bytes(shape.dtype))
    return widths, traffic


def _along(flat: str, elements: int, run: int) -> "Optional[int]":
    """The stride of a map within runs of positions (all, where there are fewer): asked with the position split."""
    run = min(run, elements)
    split = f"(run)[lane] -> (run * {run} + lane), domain: run in [0, {elements // run - 1}], lane in [0, {run - 1}]"
    return algebra.access(compose(split, flat), "lane")[0].stride


def _mostly_contiguous(flat: str, elements: int) -> bool:
    return _along(flat, elements, 16) == 1


def _at_one_index(nest: Nest, loop: Loop) -> Loop:
    """The schedule with so many registers a step, up to FOUND bytes, as read where one index says: the address is made once for them all, and
    lines of later steps are asked for."""
    elements, unmap = nest.shape.elements, algebra.call("shape", "unmap", nest.shape.text)
    indices = []
    if loop.step != loop.vec * loop.lanes or loop.lanes == 1 or loop.woven > 1 or loop.row:
        return loop
    for one in update_in_place.bound_in(nest.partition):
        buffer = buffer_of(nest.partition, one.read)
        if buffer is None or one.read.map == EMPTY:
            return loop
        indices.append(compose(unmap, compose(one.read.map, memory_map(buffer.shape))))
    if not any(algebra.info(index).results[0].lo < algebra.info(index).results[0].hi for index in indices):
        return loop
    line = loop.step * dtypes.storage_bytes(nest.partition.roots[0].shape.dtype)
    wider = max(1, FOUND // line)
    while elements % (loop.step * wider) or loop.chunks % wider or any(_along(index, elements, loop.step * wider) != 0 for index in indices):
        wider //= 2
        if not wider:
            return loop
    return replace(loop, vec=loop.vec * wider, chunks=loop.chunks // wider, streams=1, burst=0, far=0, near=0,
                   later=LATER // (line * wider) if loop.stream else 0)


def _thread_map(nest: Nest, loop: Loop) -> str:
    """(th_x, bl_x)[..] -> the index of the first root, in its memory order or as a layout distributes it."""
    if isinstance(loop, distribute.Distributed):
        return loop.index
    return compose(loop.thread_map(nest.shape.elements), algebra.call("shape", "unmap", nest.shape.text))


def _guard(thread: str, box: "Dict[str, Tuple[int, int]]", index_type: str, loop: Loop, whole: bool) -> str:
    """When a step is whole (or an element is inside): C text, "" for always."""
    if whole:
        known = {"vec": loop.vec - 1, **({"lane": loop.lanes - 1} if loop.lanes > 1 else {}), **({"down": loop.down - 1} if loop.down > 1 else {})}
        thread = algebra.substitute(thread, **known)
    return " && ".join(conditions(thread, box, index_type))


def kernel(d: Dialect, device: Device, helpers: Helpers, nest: Nest, excess: bool, threads: int = 0) -> Kernel:
    """The best schedule's kernel that the maps allow; threads: of a loop's blocks, where they are settled."""
    at_index = isinstance(nest, update_in_place.Update) or bool(update_in_place.bound_in(nest.partition))
    packed: List[int] = []
    if nest.layout and not device.cpu:
        loops: "Sequence[Loop]" = [distribute.schedule(nest.layout, nest.shape.dims, nest.shape.minor_to_major)]
    else:
        plain = not touches(nest, {*dtypes.PACKED, *TINY, *COMPLEX}) and not isinstance(nest, update_in_place.Update)
        weave, down, moves, side_by_side = _woven(nest) if device.lanes > 1 and plain else (1, 1, False, 0)
        turned = transpose_cpu.kernel(d, device, helpers, nest, excess) if weave == 1 and plain else None
        if turned:
            return turned
        widths, traffic = _widths(nest)
        loops = candidates(device, nest.shape.elements, widths, traffic, weave, down, moves, _row(nest) if device.cpu and plain else 0, side_by_side)
        packed = [dtypes.per_byte(root.shape.dtype) for root in nest.partition.roots if root.shape.dtype in dtypes.PACKED]
        if packed:      # a work-item writes whole bytes; fewer elements than one byte holds, one after another
            few = nest.shape.elements < max(packed)
            loops = [Loop(chunks=nest.shape.elements, blocked=True) if few else replace(loops[-1], vec=max(packed))]
        if touches(nest, COMPLEX) or (isinstance(nest, update_in_place.Update) and not device.cpu):     # written from any element on
            loops = loops[-1:]
        if at_index or any(e.instruction.opcode in hlo.CONTRACTIONS for e in nest.partition.entry.body.entries):    # neighbours are wanted side by side
            loops = [loop for loop in loops if not loop.paired]
        if at_index and device.cpu:
            loops = [_at_one_index(nest, loop) for loop in loops]
        loops = [replace(loop.other or loop, threads=threads) for loop in loops] if threads else loops
    for loop in loops:
        try:
            made = narrowest(helpers, lambda index_type, trial: (_table_kernel(d, trial, nest, loop, index_type, excess) if loop.paired else None) or
                             _kernel_in(d, trial, nest, loop, index_type, excess))
        except NotWide:
            continue
        if made:
            return made
    if packed:
        raise BuildError(f"{nest.name}: results of {nest.shape.dtype} whose layouts differ share a kernel")
    raise BuildError(f"{nest.name}: the index does not fit 64 bits")


def _woven(nest: Nest) -> "Tuple[int, int, bool, int]":
    """Neighbours that are apart elsewhere, in how many registers; how many of each, so that what is written of each is a line; whether
    all they do is move, by as many lines; and bytes of the rows that are read side by side, where block follows block."""
    found = walk(nest.partition, nest.shape)
    n = woven(found) if found else 1
    if n == 1 or found is None:
        return 1, 1, False, 0
    moves = transpose_cpu.moves(nest.partition, found) and woven(found, True) > 1
    if any(a.write and a.strides and a.strides[-1] != 1 for a in found.accesses):
        return n, woven(found, True), moves, 0
    return n, 1, moves, max((block(a, found.sizes) for a in found.accesses if not a.write), default=0)


def _row(nest: Nest) -> int:
    """Elements that are side by side in every access, where rows of as many are written apart; 0 where that is not so."""
    found = walk(nest.partition, nest.shape)
    if found is None or len(found.sizes) < 2 or any(a.strides is None or a.strides[-1] not in (0, 1) for a in found.accesses):
        return 0
    row = found.sizes[-1]
    return row if any(a.write and a.strides and a.strides[-2] != row for a in found.accesses) else 0


def touches(nest: Nest, kinds: "Iterable[str]") -> bool:
    """Whether a nest reads, computes or writes one of some types."""
    roots = {root.shape.dtype for root in nest.partition.roots}
    inner = {leaf.dtype for f in nest.partition.functions for read, _ in reads_of(nest.partition, f) for leaf in read.source.shape.leaves()}
    return not (roots | inner).isdisjoint(kinds)


def _found_later(d: Dialect, helpers: Helpers, nest: Nest, loop: Loop, index_type: str, excess: bool) -> List[str]:
    """Asks for what the step that comes `later` finds by its indices, where there is such a step."""
    elements, far = nest.shape.elements, loop.later * loop.step
    if not loop.later or far >= elements:
        return []
    shift = f"(position) -> (position + {far}), domain: position in [0, {elements - 1 - far}]"
    thread = compose(compose(loop.thread_map(elements), shift), algebra.call("shape", "unmap", nest.shape.text))
    body, out = _body(d, helpers, nest, index_type, thread, loop, excess), Text()
    if body.found:
        with out.block(f"if ({_guard(thread, loop.box(elements), index_type, loop, True)})"):      # the last steps have no such step
            out.add(*body.before.lines, *body.found)
    return out.lines


def _kernel_in(d: Dialect, helpers: Helpers, nest: Nest, loop: Loop, index_type: str, excess: bool) -> Kernel:
    partition, elements = nest.partition, nest.shape.elements
    thread = _thread_map(nest, loop)
    body = _body(d, helpers, nest, index_type, thread, loop, excess)
    if loop.burst and not body.ahead:   # nothing is read side by side: plain steps
        return _kernel_in(d, helpers, nest, loop.other or replace(loop, streams=1, burst=0, far=0, near=0), index_type, excess)
    cut = loop.cut(elements)
    tail: List[str] = []
    tail_guard = ""
    if cut and loop.step > 1:
        scalar = loop.scalar()
        tail_thread = _thread_map(nest, scalar)
        tail = _body(d, helpers, nest, index_type, tail_thread, scalar, excess, whole=False).text.lines
        tail_guard = _guard(tail_thread, scalar.box(elements), index_type, scalar, False) or "1"
    other = _kernel_in(d, helpers, nest, loop.other, index_type, excess) if loop.other else None
    functions = [function_text(d, helpers, partition, f, excess) for f in reversed(partition.functions[1:])]
    reads, writes = buffers_of(partition, partition.entry), {root.pointer: root.shape for root in partition.roots}
    shared = nest.shared if isinstance(nest, update_in_place.Update) else []
    return Kernel(nest.name, nest, loop, index_type, loop.blocks(elements), ", ".join(arguments(d, reads, writes, shared)), functions,
                  _guard(thread, loop.box(elements), index_type, loop, True),
                  [*_found_later(d, helpers, nest, loop, index_type, excess), *body.before.lines], body.text.lines, body.after.lines, tail, tail_guard,
                  attribute(d, loop.threads), thread, [*reads, *sorted(writes)], body.flat, None, [body.ahead[key] for key in sorted(body.ahead)],
                  *((update_in_place.HERO, "loop") if isinstance(nest, update_in_place.Update) else ()), other=other)


TABLE_COST = 60        # vector instructions for 16 lanes, above which looking up beats computing
TABLE_ELEMENTS = 1 << 20


def _table_source(nest: Nest) -> "Optional[Instruction]":
    """The 16-bit parameter that a nest is a function of, element by element, where that function is worth a table."""
    entry = nest.partition.entry
    if len(nest.partition.roots) != 1 or dtypes.storage_bytes(nest.partition.roots[0].shape.dtype) != 2 \
            or nest.shape.elements < TABLE_ELEMENTS or nest.partition.roots[0].shape.place or any(e.callee or e.regions for e in entry.body.entries):
        return None
    sources: Dict[Tuple[Instruction, str], None] = {}
    for read, _ in reads_of(nest.partition, entry):
        source = read.source
        if source.opcode == "iota" or (source.opcode == "constant" and len(set(source.literal or [])) > 1) or read.map == EMPTY:
            return None
        if source.opcode == "parameter":
            sources[source, read.map] = None
    cost = sum(ops.COST.get(e.instruction.opcode, 1) + 5 * ops.rounds(e.instruction.opcode, e.instruction.shape.dtype)
               for e in entry.body.entries)
    if len(sources) != 1 or cost < TABLE_COST:
        return None
    source, index = next(iter(sources))
    if source.shape.kind != "array" or dtypes.storage_bytes(source.shape.dtype) != 2:
        return None
    unmap, root = algebra.call("shape", "unmap", nest.shape.text), nest.partition.roots[0]
    read_at, written_at = (compose(unmap, compose(m, memory_map(s))) for m, s in ((index, source.shape), (root.map, root.shape)))
    return source if read_at == written_at else None


def _table_kernel(d: Dialect, helpers: Helpers, nest: Nest, loop: Loop, index_type: str, excess: bool) -> Optional[Kernel]:
    """A function of one 16-bit value, looked up: the function itself fills its table, once, on the device."""
    source = _table_source(nest)
    if source is None:
        return None
    partition, root, elements = nest.partition, nest.partition.roots[0], nest.shape.elements
    dtype = source.shape.dtype
    body = Body(d, helpers, partition, partition.entry, index_type, excess=excess)
    at = Value("x", dtype, 1, True) if dtype == "f16" else Value(f"{helpers.need('value', dtype)}(x)", dtype) if dtype == "bf16" \
        else Value(f"({d.register(dtype)})x", dtype)
    body.give(source, at)
    body.region(partition.entry.body)
    value = f"{nest.name}_value"
    u16, u32, space = d.types["u16"], d.types["u32"], d.pointer
    function = CFunction(value, u16, f"{u16} x", body.text.lines + [f"return ({u16})({body.final(root)});"])
    number = first_leaf(source)
    scalar = loop.scalar()
    flats = [compose(_thread_map(nest, one), memory_map(nest.shape)) for one in (loop, scalar)]
    whole = algebra.c_text(algebra.substitute(flats[0], lane=0, vec=0), index_type).results[0]
    single = algebra.c_text(flats[1], index_type).results[0]
    lines = [f"const uint16 w_p{number} = *(const {space}uint16 *)({offset(f'p{number}', whole)});"]
    ahead = [[d.ahead(word, offset(f"p{number}", whole), distance, 2)] for word, distance in loop.asks()[:1] if distance]
    after = [f"{'STREAM' if loop.stream else 'STORE'}(look_up(table, w_p{number} & 0xffffu) | look_up(table, w_p{number} >> 16) << 16, "
             f"({space}uint16 *)({offset(f'r{root.result}', whole)}));"]
    cut = elements % loop.step != 0
    tail_thread, thread = _thread_map(nest, scalar), _thread_map(nest, loop)
    arguments = (f"{space}const {u16} *restrict p{number}, {space}{u16} *restrict r{root.result}, "
                 f"{space}const {u32} *restrict table")
    return Kernel(nest.name, nest, replace(loop, table=True, vec=1, lanes=loop.step, paired=False), index_type, loop.blocks(elements),
                  arguments, [function], _guard(thread, loop.box(elements), index_type, loop, True), lines, [], after,
                  [f"r{root.result}[{single}] = ({u16})table[p{number}[{single}]];"] if cut else [],
                  _guard(tail_thread, scalar.box(elements), index_type, scalar, False) or "1" if cut else "",
                  attribute(d, loop.threads), thread, [f"p{number}", f"r{root.result}"],
                  [(f"read p{number}", flats[0]), (f"write r{root.result}", flats[0])], {"fill": f"{nest.name}_fill", "value": value}, ahead)


def _body(d: Dialect, helpers: Helpers, nest: Nest, index_type: str, thread: str, loop: Loop, excess: bool, whole: bool = True) -> Body:
    """A step's code: whole vectors where they can be, or (the tail) element by element."""
    body = Body(d, helpers, nest.partition, nest.partition.entry, index_type, thread, loop if whole else None, excess,
                loop.box(nest.shape.elements))
    body.steady = whole
    body.region(nest.partition.entry.body)
    if isinstance(nest, update_in_place.Update):      # all is read before anything is written
        for root in nest.partition.roots:
            body.read(nest.partition.root_read(root), nest.partition.entry.body)
            body.bind(nest.partition.starts(root), nest.partition.entry.body)
    for root in nest.partition.roots:
        body.store(root)
    return body


# ---- files ----

@dataclass
class Program:
    """A fusion's kernels in one language."""

    dialect: Dialect
    device: Device
    kernels: List[Kernel]
    text: str
    scratch: List[Shape]   # buffers between kernels


@dataclass
class Rendered:
    """A fusion's kernels and their text in one dialect, before the head of its file. scratch: the buffers between kernels."""

    dialect: Dialect
    kernels: List[Kernel]
    body: str
    needs: "Dict[str, bool]"
    scratch: List[Shape]

    @property
    def tables(self) -> "List[Dict[str, Any]]":
        return [made.table for made in self.kernels if made.table]

    def offset(self, number: int) -> int:
        """Where a scratch buffer begins in C's one block of memory, after the tables; after the last, where the block ends."""
        return len(self.tables) * 4 * 65536 + sum(-(-shape.bytes // 64) * 64 for shape in self.scratch[:number])

    def about(self) -> str:
        """The kernels' schedules and maps, as comment lines."""
        lines = []
        for made in self.kernels:
            for one in made.walks:
                lines += [f"{one.name}: {one.loop.text()}", f"  index: {one.thread}"]
                lines += [f"  {what}: {index}" for what, index in one.accesses]
        return "\n".join("// " + line for line in lines)


def _step(d: Dialect, made: Kernel) -> List[str]:
    """One step: whole where it is, else element by element."""
    t, out = d.index[made.index], Text()

    def whole() -> None:
        out.add(*made.before)
        if made.vec > 1 and made.text:
            out.add(*[d.unroll] * (d.name != "c" or made.loop.lanes > 1))     # C without vectors has no word for it
            with out.block(f"for ({t} vec = 0; vec < {made.vec}; ++vec)"):
                if made.loop.down > 1:
                    out.add(d.unroll)
                    with out.block(f"for ({t} down = 0; down < {made.loop.down}; ++down)"):
                        out.add(*made.text)
                else:
                    out.add(*made.text)
        else:
            out.add(*made.text)
        out.add(*made.after)

    if not made.guard:
        whole()
        return out.lines
    with out.block(f"if ({made.guard})"):
        whole()
    if made.tail:
        with out.block("else"):
            with out.block(f"for ({t} vec = 0; vec < {made.step} && {made.tail_guard}; ++vec)"):
                out.add(*made.tail)
    return out.lines


def _walks(d: Dialect, made: Kernel) -> "List[Tuple[Kernel, str, List[str], int, int]]":
    """The walks of a kernel: each with its index type, its step, its first block and that of the next."""
    found, last = [], 0
    for one in made.walks:
        first, last = last, last + one.blocks
        found.append((one, d.index[one.index], _step(d, one), first, last))
    return found


def _preamble(fusion: Fusion, device: Device, made: Rendered, excess: bool) -> str:
    through = ", ".join(dict.fromkeys(f"templates/{k.template or k.hero}.j2" for k in made.kernels))
    lines = [f"// generated by sett from fusion {fusion.name} through {through} for {device.name}: do not edit"]
    lines += [f"// {fusion.filled}"] if fusion.filled else []
    lines += [f"// padding of result {n}, {shape.text}, is written with zeros" for n, (shape, _, _) in enumerate(result_leaves(fusion.computation))
              if tiled_layouts.positions(shape) > shape.elements]
    if device.cpu and any(k.nest.layout for k in made.kernels):
        lines.append("// sett_distribute is for GPUs: the walk is this device's own")
    if excess:
        lines.append("// f16 and bf16 are kept as f32 between ops (--excess-precision)")
    return "\n".join([*lines, made.about()]).rstrip("\n")


def _needs(text: str) -> "Dict[str, bool]":
    return {"double": re.search(r"\bdouble\b|\bdouble16\b", text) is not None, "stream": "STREAM(" in text, "store": "STORE(" in text,
            "prefetch": "PREFETCH_" in text, "table": "look_up(" in text, "half": "__half" in text,
            "float_bits": re.search(r"bits_of_float\(|float_of_bits\(", text) is not None,
            "double_bits": re.search(r"bits_of_double\(|double_of_bits\(", text) is not None, "unroll": "UNROLL" in text,
            "native": re.search(r"STREAM\(|look_up\(|_mm512_", text) is not None}


def program(fusion: Fusion, target: str, device_name: Optional[str] = None, excess: bool = False) -> Program:
    d, device = DIALECTS[target], device_for(target, device_name)
    made = _rendered(d, device, fusion, excess)
    halves = [made]
    if target == "c":       # where there are vectors the file has a second program, without them
        plain = _rendered(SCALAR_C, device.scalar(), fusion, excess)
        halves += [plain] if any(k.loop.lanes > 1 for k in made.kernels) else []
    text = environment().get_template(f"{target}.j2").render(
        preamble=_preamble(fusion, device, made, excess), aliases=[alias for k in made.kernels if isinstance(k.nest, update_in_place.Update) for alias in k.nest.aliases.items()],
        needs=made.needs, body=made.body, name=fusion.name, kernels=made.kernels, scratch=made.scratch,
        params=len(param_leaves(fusion)), results=len(result_leaves(fusion.computation)), halves=halves, words=vectors(made.body)).lstrip()
    return Program(d, device, made.kernels, text, made.scratch)


def _rendered(d: Dialect, device: Device, fusion: Fusion, excess: bool) -> Rendered:
    helpers = Helpers(d)
    scratch: List[Shape] = []
    kernels: List[Kernel] = []
    made = nests(fusion)
    for nest in (n for n in made if not isinstance(n, scatter.Scatter)):
        scratch += [root.shape for root in nest.partition.roots if root.scratch]
    for nest in made:
        form = (reduction_cpu if d.wide else None) if device.cpu else reduction_gpu
        plain = isinstance(nest, plan.Reduction) and not touches(nest, COMPLEX) and not (nest.layout and not device.cpu) and not any(
            leaf.dtype in dtypes.PACKED or leaf.dtype in TINY for leaf in [root.shape for root in nest.partition.roots] +
            [leaf for hero in nest.heroes for leaf in hero.shape.leaves()])
        swept = form.kernels(d, device, helpers, nest, excess, scratch) if form and plain else None
        if isinstance(nest, concatenate.Concatenate):
            swept = concatenate.kernels(nest, lambda part, threads: kernel(d, device, helpers, part, excess, threads), d)
        if isinstance(nest, scatter.Scatter):
            swept = [scatter.kernel(d, device, helpers, nest, excess)]
        kernels += swept or [kernel(d, device, helpers, one, excess) for one in (nest, *nest.sides)]
    for number, looked_up in enumerate(k for k in kernels if k.table):
        looked_up.table["number"] = number  # type: ignore[index]
    body = "\n".join([text for _, text in helpers.tables.values()] + list(helpers.texts.values()) + [
        environment().get_template(f"{made.template or made.hero}.j2").render(d=d, kernel=made, t=d.index[made.index], step=_step(d, made),
                                                                              walks=_walks(d, made)) for made in kernels])
    structs = [f"typedef struct {{ {d.types[part]} re, im; }} {name};\n" for name, part in (("c64", "f32"), ("c128", "f64"))
               if re.search(rf"\b{name}\b", body)]
    body = "\n".join([*structs, body])
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in body.splitlines())).strip("\n") + "\n"
    return Rendered(d, kernels, body, _needs(body), scratch)


def param_leaves(fusion: Fusion) -> List[Shape]:
    return [leaf for p in fusion.computation.parameters for leaf in p.shape.leaves()]


def bytes_read(fusion: Fusion, made: Sequence[Nest]) -> int:
    """Bytes of the parameters' elements that are read, each once: at most all, at most one for each read that there is."""
    reads: Dict[int, int] = {}
    for nest in made:
        for partition, function in ((p, f) for p in (nest.partition, *nest.further) for f in p.functions):
            for read, region in reads_of(partition, function):
                if read.source.opcode == "parameter" and read.map != EMPTY:
                    number = first_leaf(read.source) + read.output
                    reads[number] = reads.get(number, 0) + points(read.map, nest.partition)
    leaves = param_leaves(fusion)
    return sum(-(-min(leaves[n].elements, count) * (dtypes.TABLE[leaves[n].dtype].bits if leaves[n].dtype in dtypes.PACKED
                                                    else 8 * dtypes.storage_bytes(leaves[n].dtype)) // 8) for n, count in reads.items())


def index_sizes(computation: Computation) -> Dict[int, int]:
    """Parameters' buffers that hold indices, as they are or after a few ops on integers: below which size they are in range."""
    found: Dict[int, int] = {}
    waiting: List[Tuple[Instruction, int]] = []
    for i in computation.instructions:
        if i.opcode == "scatter":
            of, half = i.operands[0].shape.dims, len(i.operands) // 2
            waiting.append((i.operands[half], max((of[d] for d in i.attributes["scatter_dims_to_operand_dims"]), default=0)))
        if i.opcode in RUNTIME:
            of = i.operands[0].shape.dims
            sizes = of if i.opcode != "gather" else [of[d] for d in i.attributes["start_index_map"]]
            first = RUNTIME[i.opcode] + 1
            waiting += [(o, max(sizes, default=0) if i.opcode == "gather" else of[k]) for k, o in enumerate(i.operands[first:])]
    seen = set(waiting)
    while waiting:
        i, size = waiting.pop()
        leaf = 0
        if i.opcode == "get-tuple-element" and i.operands[0].opcode == "parameter":
            i, leaf = i.operands[0], sum(len(c.leaves()) for c in i.operands[0].shape.children[:i.attributes["index"]])
        if i.opcode == "parameter":
            if i.shape.leaves()[leaf].dtype != "pred":
                found[first_leaf(i) + leaf] = max(size, found.get(first_leaf(i) + leaf, 0))
            continue
        more = {(o, size) for o in i.operands if o.shape.kind == "array" and dtypes.TABLE[o.shape.dtype].kind in ("sint", "uint")} - seen
        seen |= more
        waiting += more
    return found


def distinct(computation: Computation) -> Dict[int, List[int]]:
    """Parameters' buffers of indices that are drawn so that no two updates meet."""
    found: Dict[int, List[int]] = {}
    for i in computation.instructions:
        how, source = (hlo.apart(i), hlo.index_parameter(i)) if i.opcode == "scatter" else (None, None)
        if how and source:
            found[first_leaf(source)] = how
    return found


def in_order(computation: Computation) -> Dict[int, List[int]]:
    """Parameters' buffers of indices that are sorted once they are drawn."""
    found = {first_leaf(i.operands[len(i.operands) // 2]): hlo.in_order(i) for i in computation.instructions if i.opcode == "scatter" and hlo.in_order(i)}
    return {n: how for n, how in found.items() if how}


def _bytes_written(made: "Sequence[Nest]", results: "Sequence[Shape]") -> int:
    in_place = [nest for nest in made if isinstance(nest, update_in_place.Update) and nest.aliases]
    return sum(nest.shape.elements * dtypes.storage_bytes(root.shape.dtype) for nest in in_place for root in nest.partition.roots) or \
        sum(shape.bytes for shape in results)


def points(index: str, partition: Partition) -> int:
    """Points of a map's box that can differ in its results: the product over the variables that appear, also in the maps that runtime variables
    are read at."""
    info, runtimes = algebra.info(index), {one.name: one.read.map for one in update_in_place.bound_in(partition)}
    words: "Set[str]" = set()
    waiting = [index]
    while waiting:
        found = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", " ".join(r.text for r in algebra.info(waiting.pop()).results))) - words
        words |= found
        waiting += [runtimes[name] for name in found if name in runtimes]
    return math.prod(v.hi - v.lo + 1 for v in info.variables if v.name in words and v.kind != "rt")


def manifest(fusion: Fusion, programs: Sequence[Program], excess: bool) -> Dict[str, Any]:
    made = nests(fusion)
    leaves = result_leaves(fusion.computation)
    indices, apart, ordered = index_sizes(fusion.computation), distinct(fusion.computation), in_order(fusion.computation)
    varying, drawn = (set() if all(p.device.cpu for p in programs) else scatter.varying(fusion.computation, drawn) for drawn in (False, True))

    def entry(shape: Shape) -> Dict[str, Any]:
        return {"shape": shape.text, "dtype": shape.dtype, "bytes": shape.bytes, "elements": shape.elements, "positions": tiled_layouts.positions(shape)}

    return {
        "name": fusion.name, "hero": " ".join(dict.fromkeys(k.hero for p in programs[:1] for k in p.kernels)) or "loop",
        "params": [{**entry(shape), **({"index_below": indices[n]} if n in indices else {}), **({"distinct": apart[n]} if n in apart else {}), **({"sorted": ordered[n]} if n in ordered else {}),
                    **({"same_as": fusion.same[n]} if n in fusion.same else {})}
                   for n, shape in enumerate(param_leaves(fusion))],
        "results": [{**entry(shape), **({"padding": "zeros"} if tiled_layouts.positions(shape) > shape.elements else {}), "exact": moved,
                     **({"varies": "between runs on a GPU, in the order of updates"} if instruction in varying else
                        {"varies": "in a check on a GPU, which cannot draw the indices unique"} if instruction in drawn else {})}
                    for (shape, instruction, _), moved in zip(leaves, reference.bitwise(fusion.computation, excess))],
        "aliases": [{"result": result, "parameter": number} for nest in made if isinstance(nest, update_in_place.Update) for result, number in nest.aliases.items()],
        "excess_precision": excess, **({"filled": fusion.filled} if fusion.filled else {}),
        "bytes_read": bytes_read(fusion, made), "bytes_written": _bytes_written(made, [shape for shape, _, _ in leaves]),
        "functions": {nest.name: [f.name for f in nest.partition.functions] for nest in made},
        "targets": {p.dialect.name: {
            "device": p.device.name, "kernels": [
                {"name": k.name, "hero": k.hero, "schedule": k.loop.text(), "blocks": k.blocks, "threads": k.threads, "index": k.index,
                 **({"layout": k.loop.layout, "map": k.thread} if isinstance(k.loop, distribute.Distributed) else {})}
                for k in p.kernels]} for p in programs},
        "schedule": "; ".join(k.loop.text() for p in programs[:1] for k in p.kernels),
    }


def files(fusion: Fusion, targets: Sequence[str], device: Optional[str] = None, excess: bool = False) -> "Tuple[Dict[str, str], Dict[str, Any]]":
    """The text of every file of a fusion by its name, and the manifest."""
    name = fusion.name
    made: Dict[str, str] = {}
    programs = [program(fusion, target, device, excess) for target in targets]
    about = manifest(fusion, programs, excess)
    suffix = {"opencl": ".cl", "cuda": ".cu", "c": ".c"}
    for one in programs:
        made[name + suffix[one.dialect.name]] = one.text
    by_target = {one.dialect.name: one for one in programs}
    opencl = by_target.get("opencl")
    made[f"{name}.h"] = environment().get_template("api.h.j2").render(
        name=name, filled=fusion.filled, guard=f"SETT_FUSION_{name.upper()}_H", aliases=about["aliases"], params=about["params"], results=about["results"], targets=list(by_target),
        kernels=opencl.kernels if opencl else [], scratch=opencl.scratch if opencl else [],
        tables=[k.table for k in opencl.kernels if k.table] if opencl else [], source=opencl.text.splitlines() if opencl else [])
    made[f"{name}_ref.c"] = reference.reference(fusion.computation, name)
    about["files"] = {"header": f"{name}.h", "reference": f"{name}_ref.c", "bound": f"{name}_bound.c",
                      **{one: name + suffix[one] for one in by_target}}
    made[f"{name}.json"] = json.dumps(about, indent=2) + "\n"
    return made, about


def write(path: Path, text: str) -> None:
    """Whole or not at all, and only when changed."""
    if path.exists() and path.read_text() == text:
        return
    handle, name = tempfile.mkstemp(prefix=".", suffix=path.suffix, dir=path.parent)
    try:
        with os.fdopen(handle, "w") as out:
            out.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def build_fusion(fusion: Fusion, out_dir: str, targets: Iterable[str], device: Optional[str] = None,
                 excess_precision: bool = False) -> Dict[str, Any]:
    """All files of one fusion, with the bound for a check; the manifest."""
    made, about = files(fusion, list(targets), device, excess_precision)
    made[f"{fusion.name}_bound.c"] = reference.bound(fusion.computation, fusion.name, excess_precision=excess_precision, flushes="cuda" in about["targets"])
    for name, text in made.items():
        write(Path(out_dir) / name, text)
    return about


def sources() -> List[Path]:
    """What generated text depends on: the generator, its templates, the headers."""
    return sorted([*ROOT.glob("gen/**/*.py"), *ROOT.glob("templates/*.j2"), *ROOT.glob("include/*.h"), *ROOT.glob("gen/command/*.c")])
