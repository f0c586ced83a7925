"""NAME.json: what a program that launches a fusion's kernels, or checks and times them, must know."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Sequence, Set, Tuple

from gen import algebra, bounds, hlo
from gen.heroes import scatter
from gen.chains import Chain
from gen.hlo import Computation, Fusion, Instruction, Shape, dtypes, is_row_major, param_leaves, param_names, \
    result_leaves
from gen.lower import tiled_layouts
from gen.plan.buffers import first_leaf, reads_of
from gen.plan.nest import Nest
from gen.plan.nests import planned
from gen.plan.partition import EMPTY, RUNTIME, Partition
from gen.plan.update import bound_in


def bytes_read(fusion: Fusion, kernels: Sequence[Nest]) -> int:
    """Bytes of the parameters' elements that are read, each once: at most all, at most one for each read that there
    is."""
    reads: Dict[int, int] = {}
    for nest in kernels:
        for partition, function in ((p, f) for p in (nest.partition, *nest.further) for f in p.functions):
            for read, region in reads_of(partition, function):
                if read.source.opcode == "parameter" and read.map != EMPTY:
                    number = first_leaf(read.source) + read.output
                    reads[number] = reads.get(number, 0) + points(read.map, nest.partition)
    leaves = param_leaves(fusion)
    return sum(-(-min(leaves[n].elements, count) * (dtypes.TABLE[leaves[n].dtype].bits
                                                    if leaves[n].dtype in dtypes.PACKED
                                                    else 8 * dtypes.storage_bytes(leaves[n].dtype)) // 8)
               for n, count in reads.items())


def index_sizes(computation: Computation) -> Dict[int, int]:
    """Parameters' buffers that hold indices, as they are or after a few ops on integers: below which size they are in
    range."""
    bounds: Dict[int, int] = {}
    waiting: List[Tuple[Instruction, int]] = []
    for i in computation.instructions:
        if i.opcode == "scatter":
            of, half = i.operands[0].shape.dims, len(i.operands) // 2
            waiting.append((i.operands[half],
                            max((of[d] for d in i.attributes["scatter_dims_to_operand_dims"]), default=0)))
        if i.opcode in RUNTIME:
            of = i.operands[0].shape.dims
            sizes = of if i.opcode != "gather" else [of[d] for d in i.attributes["start_index_map"]]
            first = RUNTIME[i.opcode] + 1
            waiting += [(o, max(sizes, default=0) if i.opcode == "gather" else of[k])
                        for k, o in enumerate(i.operands[first:])]
    seen = set(waiting)
    while waiting:
        i, size = waiting.pop()
        leaf = 0
        if i.opcode == "get-tuple-element" and i.operands[0].opcode == "parameter":
            i, leaf = i.operands[0], sum(len(c.leaves()) for c in i.operands[0].shape.children[:i.attributes["index"]])
        if i.opcode == "parameter":
            if i.shape.leaves()[leaf].dtype != "pred":
                bounds[first_leaf(i) + leaf] = max(size, bounds.get(first_leaf(i) + leaf, 0))
            continue
        more = {(o, size) for o in i.operands if o.shape.kind == "array"
                and dtypes.TABLE[o.shape.dtype].kind in ("sint", "uint")} - seen
        seen |= more
        waiting += more
    return bounds


def distinct(computation: Computation) -> Dict[int, List[int]]:
    """Parameters' buffers of indices that are drawn so that no two updates meet."""
    ways: Dict[int, List[int]] = {}
    for i in computation.instructions:
        how, source = (hlo.unshared_places(i), hlo.index_parameter(i)) if i.opcode == "scatter" else (None, None)
        if how and source:
            ways[first_leaf(source)] = how
    return ways


def in_order(computation: Computation) -> Dict[int, List[int]]:
    """Parameters' buffers of indices that are sorted once they are drawn."""
    ways = {first_leaf(i.operands[len(i.operands) // 2]): hlo.in_order(i) for i in computation.instructions
            if i.opcode == "scatter" and hlo.in_order(i)}
    return {n: how for n, how in ways.items() if how}


def _bytes_written(kernels: "Sequence[Nest]", results: "Sequence[Shape]") -> int:
    in_place = [nest for nest in kernels if nest.aliases]
    return sum(
        nest.shape.elements * dtypes.storage_bytes(root.shape.dtype)
        for nest in in_place
        for root in nest.partition.roots
    ) or sum(shape.bytes for shape in results)


def points(index: str, partition: Partition) -> int:
    """Points of a map's box that can differ in its results: the product over the variables that appear, also in the
    maps that runtime variables are read at."""
    info, runtimes = algebra.info(index), {runtime.name: runtime.read.map for runtime in bound_in(partition)}
    used: "Set[str]" = set()
    waiting = [index]
    while waiting:
        names = {name for result in algebra.info(waiting.pop()).results for name in result.variables} - used
        used |= names
        waiting += [runtimes[name] for name in names if name in runtimes]
    return math.prod(v.hi - v.lo + 1 for v in info.variables if v.name in used and v.kind != "rt")


def _layout(shape: Shape) -> Dict[str, Any]:
    """row_major; else also the number of an element in the buffer, in C, by its index d0, d1, ..; strides: bytes between
    neighbours along each dimension, where elements are whole bytes at constant distances."""
    strides = "no" if shape.dtype in dtypes.PACKED else algebra.call("shape", "strides", shape.text)
    return {
        "row_major": is_row_major(shape),
        **({} if is_row_major(shape) else {"element": algebra.c_text(algebra.call("shape", "map", shape.text)).results[0]}),
        **({} if strides.startswith("no") else {"strides": [int(n) for n in strides.split(",") if n]}),
    }


def manifest(fusion: Fusion, programs: Sequence[Any], excess: bool) -> Dict[str, Any]:
    kernels = planned(fusion, all(p.device.cpu for p in programs[:1])).nests
    leaves = result_leaves(fusion.computation)
    indices, places, ordered = index_sizes(fusion.computation), distinct(fusion.computation), in_order(
        fusion.computation)
    varying, drawn = (set() if all(p.device.cpu for p in programs) else scatter.varying(fusion.computation, drawn)
                      for drawn in (False, True))

    def entry(shape: Shape) -> Dict[str, Any]:
        return {"shape": shape.text, "dtype": shape.dtype, "dims": list(shape.dims), **_layout(shape),
                "bytes": shape.bytes, "elements": shape.elements, "positions": tiled_layouts.positions(shape)}

    return {
        "name": fusion.name,
        "hero": " ".join(dict.fromkeys(k.hero for p in programs[:1] for k in p.kernels)) or "loop",
        "params": [
            {
                "name": name,
                **entry(shape),
                **({"index_below": indices[n]} if n in indices else {}),
                **({"distinct": places[n]} if n in places else {}),
                **({"sorted": ordered[n]} if n in ordered else {}),
                **({"same_as": fusion.same[n]} if n in fusion.same else {}),
            }
            for n, (name, shape) in enumerate(zip(param_names(fusion), param_leaves(fusion)))
        ],
        "results": [
            {
                **entry(shape),
                **({"padding": "zeros"} if tiled_layouts.positions(shape) > shape.elements else {}),
                "exact": moved,
                **(
                    {"varies": "between runs on a GPU, in the order of updates"}
                    if instruction in varying
                    else (
                        {"varies": "in a check on a GPU, which cannot draw the indices unique"}
                        if instruction in drawn
                        else {}
                    )
                ),
            }
            for (_, shape, instruction, _), moved in zip(leaves, bounds.bitwise(fusion.computation, excess))
        ],
        "aliases": [
            {"result": result.number, "parameter": parameter.number}
            for nest in kernels for result, parameter in nest.aliases.items()
        ],
        "excess_precision": excess,
        **({"filled": fusion.filled} if fusion.filled else {}),
        "bytes_read": bytes_read(fusion, kernels),
        "bytes_written": _bytes_written(kernels, [leaf.shape for leaf in leaves]),
        "functions": {nest.name: [f.name for f in nest.partition.functions] for nest in kernels},
        "targets": {
            p.target.name: {
                "device": p.device.name,
                "kernels": [
                    {
                        "name": k.name,
                        "hero": k.hero,
                        "schedule": k.loop.text(),
                        "blocks": k.blocks,
                        "threads": k.threads,
                        "index": k.index,
                        **({"chain": chained[k.name]} if k.name in chained else {}),
                        **k.by.manifest(k),
                    }
                    for chained in [{k.name: launch.name for launch in p.launches if isinstance(launch, Chain)
                                     for k in launch.kernels}]
                    for k in p.kernels
                ],
            }
            for p in programs
        },
        "schedule": "; ".join(k.loop.text() for p in programs[:1] for k in p.kernels),
    }
