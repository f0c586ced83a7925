"""Divide a fusion into nests, each of which becomes one kernel, in the order in which they run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Collection, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from gen import hlo, lower
from gen.hlo import Computation, Fusion, Instruction, Leaf, distribution, dtypes
from gen.plan import (concatenation, contraction, element_loops, grouping, plan, products, rows, scan, scatter, storing,
                      strips, update as update_nests, whole)
from gen.plan.buffer import Role
from gen.plan.buffers import buffers_of
from gen.plan.nest import Nest
from gen.plan.partition import STORED, Partition
from gen.plan.storing import Storage
from gen.plan.update import Update
from gen.schedule import CPU_COSTS, GPU_COSTS, SMALL_COSTS, Costs, Panels, PlanClass


MOST_STORED = 4     # maximum number of stored values that one nest computes


@dataclass(frozen=True)
class Planned:
    """A fusion's nests in the order in which they run. Nests that write scratch buffers come before nests that write
    results.

    updated: says how dynamic-update-slice results are written, and why; "" if there are none.
    storage: the choice of stored values; None if the fusion consists of an update in place, or of one op on whole
        arrays.
    """

    nests: List[Nest]
    updated: str
    storage: Optional[Storage] = None


def planned(fusion: Fusion, of: PlanClass = PlanClass()) -> Planned:
    """Return the plan of a fusion for a class of devices."""
    op = whole.whole_of(fusion.computation)
    if op is not None:
        return Planned([whole.nest(fusion, op)] if any(leaf.elements for leaf in op.shape.leaves()) else [], "")
    graph = products.arranged(fusion.computation, of, fusion.lasting)
    computation, leaves = lower.lowered(replace(fusion, computation=element_loops.lowered(graph)))
    # Parameters keep their leading dimensions, which the caller passes. The results of ops are dense.
    for instruction in computation.instructions:
        if instruction.shape.lead and instruction.opcode != "parameter":
            instruction.shape = instruction.shape.dense
    leaves = [leaf._replace(shape=fusion.placed.get(leaf.number, leaf.shape)) for leaf in leaves]
    name = f"sett_{fusion.symbol or fusion.name}"
    update, why = update_nests.find(fusion, computation, leaves, name)
    costs = GPU_COSTS if not of.cpu else SMALL_COSTS if fusion.small else CPU_COSTS
    if update is None:
        nests, storage = _nests(name, computation, leaves, costs, of.panels)
        return Planned(nests, why and f"no kernel for the update alone: {why}", storage)
    if update.aliases:
        return Planned([update], ", ".join(f"result {result.number} is parameter {parameter.number}, updated in place"
                                           for result, parameter in update.aliases.items()))
    nests, storage = _nests(name, computation, update.kept, costs, of.panels, update)
    return Planned(nests, f"the operand is written, then the update over it; not in place: {update.why}", storage)


class Alike(NamedTuple):
    """The properties that results must share to be planned as one group.

    elements: the number of elements.
    key: what the results' reductions or scans have in common (class Key in gen/plan/plan.py); None if the results are
        not computed from reductions or scans.
    place: if a result is a part of a larger array, the map from the result's positions to positions of that array; else
        "".
    alone: results share a group only if their values of `alone` are equal. For a result with packed elements, it is the
        result's number. For results of a product that is computed in tiles, it is the product. Else it is None.
    layout: the nested layout that distributes the results over threads; "" if there is none.
    order: the dimensions of the results and their order in memory, if there is a layout.
    """

    elements: int
    key: Optional[plan.Key]
    place: str
    alone: "Union[int, Instruction, None]"
    layout: str
    order: Tuple[Any, ...]


def _nests(title: str, computation: Computation, leaves: "List[Leaf]", costs: Costs, panels: Optional[Panels],
           update: "Optional[Update]" = None,
           apart: "Sequence[Instruction]" = ()) -> "Tuple[List[Nest], Storage]":
    """Return two values: the nests, and the choice of stored values. The nests write the result arrays in `leaves`.

    update: a dynamic-update-slice, which is written after all other results.
    title: the prefix of the nests' names.
    apart: products that have kernels of their own.
    """
    storage = storing.storage(computation, leaves, costs)
    stored = dict.fromkeys(storage.stored)
    divided = plan.plan(computation, leaves, stored, apart)
    groups: Dict[Alike, List[Leaf]] = {}
    direct = {number for numbers in divided.scatters.values() for number in numbers}
    # stored values that are results too; one nest writes both the scratch buffer and the result
    both = {leaf.number: leaf.value for leaf in leaves if leaf.value in stored and leaf.shape == leaf.value.shape
            and not distribution.layout_of(leaf.value)}
    direct.update(both)
    for leaf in leaves:
        shape = leaf.shape
        if shape.elements and leaf.number not in direct:
            heroes = divided.fused.get(leaf.number, [])
            # packed elements need a nest of their own, which writes whole bytes in the result's order
            alone = leaf.number if shape.dtype in dtypes.PACKED else divided.products.get(leaf.number)
            layout = distribution.layout_of(leaf.value)
            alike = Alike(shape.elements, plan.key_of(heroes[0]) if heroes else None, shape.place, alone, layout,
                          (shape.dims, shape.minor_to_major) if layout else ())
            groups.setdefault(alike, []).append(leaf)
    parts = [(part, alike, group) for alike, group in groups.items()
             for part in (grouping.arranged(computation, group, divided.cuts) if alike.key is None and not alike.layout
                          else [grouping.linear(group)])]
    scattered = [i for i in [*divided.cuts, *divided.scatters] if i.opcode == "scatter"]
    passes = _passes(computation, divided, stored)
    count = (len(passes) + len(parts) + len(divided.scatters) + sum(len(i.shape.leaves()) for i in scattered)
             + (update is not None))
    names = iter(title + (f"_part{n}" if count > 1 else "") for n in range(count))
    result: List[Nest] = []
    for cut in passes:
        reduce, number = cut[0], divided.cuts[cut[0]]
        others = {i: n for i, n in divided.cuts.items() if i not in cut}
        if reduce in stored:
            results = [number for number, value in both.items() if value in cut]
            result.append(_stored(computation, [*cut, *(both[n] for n in results)], divided.cuts, next(names), results))
            continue
        if reduce.opcode == "scatter":
            result += scatter.nests(computation, reduce,
                                    [plan.value_root(reduce, k, number + k, True)
                                     for k in range(len(reduce.shape.leaves()))], others,
                                    [next(names) for _ in range(len(reduce.shape.leaves()) + 1)])
            continue
        name = next(names)
        roots = [plan.value_root(reduce, k, number + k, True) for k in range(len(reduce.shape.leaves()))]
        if reduce.attributes.get(STORED):       # the value is a copy: to store it, write its operand
            roots = [replace(roots[0], value=reduce.operands[0])]
        nest = Nest(name, roots[0].shape, Partition(computation, roots, name, roots[0].shape.dims, cuts=others))
        result.append(_led(nest, [reduce]) if plan.leads(reduce) else contraction.tiled(nest))
    for (space, roots), alike, group in parts:
        name = next(names)
        nest = Nest(name, space, Partition(computation, roots, name, space.dims, cuts=divided.cuts))
        if alike.key is not None:
            nest = _led(nest, list(dict.fromkeys(i for leaf in group for i in divided.fused[leaf.number])))
        nest.layout = alike.layout
        nest = contraction.tiled(nest)
        result.append(concatenation.with_parts(nest, False)
                      if type(nest) is Nest and alike.key is None and not alike.layout else nest)
    lost = [product for nest in result for product in contraction.lost(nest) if product not in apart]
    if lost:
        return _nests(title, computation, leaves, costs, panels, update, [*apart, *lost])
    after: List[Nest] = []
    for instruction, numbers in divided.scatters.items():
        targets = [plan.value_root(instruction, k, number) for k, number in enumerate(numbers)]
        after += scatter.nests(computation, instruction, targets, divided.cuts,
                               [next(names) for _ in range(len(numbers) + 1)])
    result = rows.joined(_with_sides(result), divided.cuts, title, after)
    result = [concatenation.with_parts(nest, True) if type(nest) is Nest else nest
              for nest in (strips.joined(result, panels, divided.cuts, after) if panels else result)]
    result += after
    if update:
        result.append(update_nests.renamed(update, next(names)))
    return result, storage


def _stored(computation: Computation, values: "Sequence[Instruction]", cuts: "Dict[Instruction, int]",
            name: str, results: "Sequence[int]" = ()) -> Nest:
    """Return a nest that stores values of the same shape. No value depends on another of them. The last `len(results)`
    values are results of the fusion; `results` contains the indices of these results.
    """
    count = len(values) - len(results)
    roots = [plan.value_root(value, 0, cuts[value], True) for value in values[:count]]
    roots += [plan.value_root(value, 0, number) for value, number in zip(values[count:], results)]
    others = {i: n for i, n in cuts.items() if i not in values}
    nest = Nest(name, roots[0].shape, Partition(computation, roots, name, roots[0].shape.dims, cuts=others))
    nest.stored = True
    return concatenation.with_parts(nest, False)


def _passes(computation: Computation, divided: plan.Plan,
            stored: "Collection[Instruction]") -> "List[List[Instruction]]":
    """Return the values that are stored in scratch buffers, as lists in the order in which they can be computed. Each
    list contains the values that one nest computes.
    """
    if not stored:
        return [[cut] for cut in divided.cuts]
    levels = storing.levels(computation, divided.cuts)
    passes: "List[List[Instruction]]" = []
    open_: "Dict[Tuple[int, Tuple[int, ...], Tuple[int, ...]], List[List[Instruction]]]" = {}
    reads = {}
    for value in stored:
        partition = _stored(computation, [value], divided.cuts, "").partition
        reads[value] = set(buffers_of(partition, partition.entry))
    for cut in sorted(divided.cuts, key=lambda i: levels[i]):
        open_groups = open_.setdefault((levels[cut], cut.shape.dims, tuple(cut.shape.minor_to_major)), []) \
            if cut in reads else []
        found = next((others for others in open_groups if len(others) < MOST_STORED
                      and any(reads[other] & reads[cut] for other in others)), None)
        if found:
            found.append(cut)
        else:
            passes.append([cut])
            if cut in reads:
                open_groups.append(passes[-1])
    return passes


def _led(nest: Nest, heroes: List[Instruction]) -> Nest:
    """Return a reduction or a scan nest that computes `heroes`, the reduces or scans of a nest."""
    return scan.scan(nest, heroes) if scan.prefix(heroes[0]) else plan.reduction(nest, heroes)


def _with_sides(kernels: List[Nest]) -> List[Nest]:
    """Merge other nests into a reduction, so that its pass writes their results, too. Such a nest reads the same
    elements, and its results are as large as the reduction's input. Return the nests without those that were merged.
    """
    written: List[Nest] = []
    for n, nest in enumerate(kernels):
        if isinstance(nest, plan.Reduction):
            sides = [o for o in kernels if type(o) is Nest and o.shape.elements == nest.space.elements
                     and o not in written and not o.layout
                     and not any(root.scratch or root.shape.dtype in dtypes.PACKED for root in o.partition.roots)
                     and plan.reads_same(o.partition, nest.inputs)
                     and not any(e.instruction.opcode in ("reduce", *hlo.LOOPS)
                                 for e in o.partition.entry.body.entries)]
            if sides and not any(buffer.role is Role.SCRATCH for o in sides
                                 for buffer in buffers_of(o.partition, o.partition.entry)):
                written += sides
                kernels[n] = plan.reduction(nest, nest.heroes, sides)
    return [nest for nest in kernels if nest not in written]
