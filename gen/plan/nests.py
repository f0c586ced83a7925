"""The nests of a fusion, each of which becomes one kernel, in the order in which they run."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Dict, List, Optional, Tuple

from gen import hlo
from gen.hlo import Computation, Fusion, Instruction, Shape, distribution, dtypes
from gen.lower import single_elements, tiled_layouts, widths
from gen.plan import concatenation, grouping, plan, rows, scan, scatter, update as update_nests
from gen.plan.buffers import buffers_of
from gen.plan.nest import Nest
from gen.plan.partition import Partition


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


@lru_cache(maxsize=4)
def nests(fusion: Fusion) -> List[Nest]:
    """Kernels to be, in the order in which they run: what goes through scratch, then the results."""
    computation = single_elements.lowered(widths.lowered(fusion.computation))
    computation, leaves = tiled_layouts.lowered(computation, result_leaves(computation))
    update, _ = update_nests.find(fusion, computation, leaves, f"sett_{fusion.name}")
    if update and update.aliases:
        return [update]
    leaves = update.kept if update else leaves
    planned = plan.plan(computation, leaves)
    groups: "Dict[Tuple[int, Any, str, Any, str, Any], List[Tuple[int, Shape, Instruction, int]]]" = {}
    direct = {number for numbers in planned.scatters.values() for number in numbers}
    for number, shape, instruction, leaf in leaves:
        if shape.elements and number not in direct:
            heroes = planned.fused.get(number, [])
            alone = number if shape.dtype in dtypes.PACKED else None    # walked in its own order, whole bytes at a time
            layout = distribution.layout_of(instruction)
            alike = (shape.elements, plan.key_of(heroes[0]) if heroes else None, shape.place, alone, layout,
                     (shape.dims, shape.minor_to_major) if layout else ())
            groups.setdefault(alike, []).append((number, shape, instruction, leaf))
    parts = [(part, key, group, layout) for (_, key, _, _, layout, _), group in groups.items()
             for part in (grouping.arranged(computation, group, planned.cuts) if key is None and not layout
                          else [grouping.linear(group)])]
    scattered = [i for i in [*planned.cuts, *planned.scatters] if i.opcode == "scatter"]
    count = (len(planned.cuts) + len(parts) + len(planned.scatters) + sum(len(i.shape.leaves()) for i in scattered)
             + (update is not None))
    names = iter(f"sett_{fusion.name}" + (f"_part{n}" if count > 1 else "") for n in range(count))
    result: List[Nest] = []
    for reduce, number in planned.cuts.items():
        others = {i: n for i, n in planned.cuts.items() if i is not reduce}
        if reduce.opcode == "scatter":
            result += scatter.nests(computation, reduce,
                                    [plan.whole(reduce, k, number + k, True)
                                     for k in range(len(reduce.shape.leaves()))], others,
                                    [next(names) for _ in range(len(reduce.shape.leaves()) + 1)])
            continue
        name = next(names)
        roots = [plan.whole(reduce, k, number + k, True) for k in range(len(reduce.shape.leaves()))]
        nest = Nest(name, roots[0].shape, Partition(computation, roots, name, roots[0].shape.dims, cuts=others))
        result.append(_led(nest, [reduce]) if plan.leads(reduce) else nest)
    for (space, roots), key, group, layout in parts:
        name = next(names)
        nest = Nest(name, space, Partition(computation, roots, name, space.dims, cuts=planned.cuts))
        if key is not None:
            nest = _led(nest, list(dict.fromkeys(i for number, *_ in group for i in planned.fused[number])))
        nest.layout = layout
        result.append(concatenation.parted(nest) if key is None and not layout else nest)
    result = rows.joined(_with_sides(result), planned.cuts, f"sett_{fusion.name}")
    for instruction, numbers in planned.scatters.items():
        result += scatter.nests(computation, instruction,
                                [plan.whole(instruction, k, number) for k, number in enumerate(numbers)], planned.cuts,
                                [next(names) for _ in range(len(numbers) + 1)])
    if update:
        result.append(update_nests.renamed(update, next(names)))
    return result


def _led(nest: Nest, heroes: List[Instruction]) -> Nest:
    """A nest around reduces, or around scans."""
    return scan.scan(nest, heroes) if scan.prefix(heroes[0]) else plan.reduction(nest, heroes)


def how_updated(fusion: Fusion) -> str:
    """Which way dynamic-update-slices that are results go, and why; "" where there are none."""
    computation = single_elements.lowered(widths.lowered(fusion.computation))
    update, why = update_nests.find(fusion, *tiled_layouts.lowered(computation, result_leaves(computation)), "e")
    if update is None:
        return why and f"no kernel for the update alone: {why}"
    return ", ".join(f"result {k} is parameter {n}, updated in place" for k, n in update.aliases.items()) or \
        f"the operand is written, then the update over it; not in place: {update.why}"


def misplaced(module: hlo.Module) -> "Optional[hlo.HloError]":
    """The first layout to distribute by that stands with no result of a fusion, or with one that lies in tiles."""
    leaves = [leaf for fusion in hlo.fusions(module) for leaf in result_leaves(fusion.computation)]
    for shape, instruction, _ in leaves:
        if shape.tiled and distribution.layout_of(instruction):
            return hlo.HloError(
                module.filename,
                instruction.line,
                instruction.col,
                f"expected sett_distribute on a result that is not in tiles, '{instruction.name}' is {shape.text} there; "
                "instead, copy it to a layout without tiles in the fusion",
            )
    results = {(i.line, i.col) for _, i, _ in leaves}
    for instruction in (i for computation in module.computations for i in computation.instructions):
        if distribution.layout_of(instruction) and (instruction.line, instruction.col) not in results:
            return hlo.HloError(
                module.filename,
                instruction.line,
                instruction.col,
                f"expected sett_distribute on a result of a fused computation, '{instruction.name}' is none; "
                "instead, write it on the op that gives the result",
            )
    return None


def _with_sides(kernels: List[Nest]) -> List[Nest]:
    """Results that are as large as a reduction's input, and read what it reads, are written in its pass."""
    written: List[Nest] = []
    for n, nest in enumerate(kernels):
        if isinstance(nest, plan.Reduction):
            sides = [o for o in kernels if type(o) is Nest and o.shape.elements == nest.space.elements
                     and o not in written and not o.layout
                     and not any(root.scratch or root.shape.dtype in dtypes.PACKED for root in o.partition.roots)
                     and plan.reads_same(o.partition, nest.inputs)
                     and not any(e.instruction.opcode in ("reduce", *hlo.LOOPS)
                                 for e in o.partition.entry.body.entries)]
            if sides and not any(q[0] == "q" for o in sides for q in buffers_of(o.partition, o.partition.entry)):
                written += sides
                kernels[n] = plan.reduction(nest, nest.heroes, sides)
    return [nest for nest in kernels if nest not in written]


def param_leaves(fusion: Fusion) -> List[Shape]:
    return [leaf for p in fusion.computation.parameters for leaf in p.shape.leaves()]


def param_names(fusion: Fusion) -> List[str]:
    """What the text calls each buffer of param_leaves; of a tuple, its parameter with the number in it."""
    return [
        p.name if p.shape.kind == "array" else f"{p.name}.{n}"
        for p in fusion.computation.parameters
        for n, _ in enumerate(p.shape.leaves())
    ]
