"""NAME.json, the manifest: what a program must know to launch the kernels of a fusion, and to check and time them."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Sequence, Set, Tuple

from gen import algebra, bounds, hlo
from gen.heroes import scatter
from gen.hlo import Computation, Fusion, Instruction, Shape, dtypes, is_row_major, param_leaves, param_names, \
    result_leaves
from gen.hlo.launches import has_steps
from gen.lower import tiled_layouts
from gen.plan.buffers import first_leaf, leads_of, reads_of
from gen.plan.nest import Nest
from gen.plan.partition import EMPTY, RUNTIME, Partition
from gen.plan.update import bound_in
from gen.plan.whole import Whole, whole_of
from gen.program.ir import Array, Call, Program
from gen.program.steps import Chain, Launch
from gen.render import Dialect, TargetFile


def bytes_read(fusion: Fusion, kernels: Sequence[Nest]) -> int:
    """Return an upper bound of the number of bytes that are read from parameters, where each element counts once. It is
    computed from the sizes of the parameters and the number of reads.
    """
    reads: Dict[int, int] = {}
    for nest in kernels:
        if isinstance(nest, Whole):     # an op on whole arrays: it reads all elements
            reads.update({buffer.number: buffer.shape.elements for buffer in nest.operands})
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
    """Return, for each parameter that is used as an index, the size of the largest dimension that it indexes. The index
    is the parameter itself, or integer ops compute it from the parameter.
    """
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
    """Return the parameters that are the indices of a scatter with unique indices. A check draws their random values so
    that no two updates have the same target. Each parameter comes with the numbers that the check needs for this
    (`hlo.unshared_places`).
    """
    ways: Dict[int, List[int]] = {}
    for i in computation.instructions:
        how, source = (hlo.unshared_places(i), hlo.index_parameter(i)) if i.opcode == "scatter" else (None, None)
        if how and source:
            ways[first_leaf(source)] = how
    return ways


def in_order(computation: Computation) -> Dict[int, List[int]]:
    """Return the parameters that are the indices of a scatter with sorted indices. A check draws random values for them
    and sorts these. Each parameter comes with the numbers that the check needs for this (`hlo.in_order`).
    """
    ways = {first_leaf(i.operands[len(i.operands) // 2]): hlo.in_order(i) for i in computation.instructions
            if i.opcode == "scatter" and hlo.in_order(i)}
    return {n: how for n, how in ways.items() if how}


# ops that keep a symmetric matrix symmetric, and a definite matrix definite in most cases
_KEEPS_DEFINITE = frozenset(["add", "copy", "divide", "multiply", "transpose"])


def definite(computation: Computation) -> Dict[int, int]:
    """Return the parameters for which a check prefers definite matrices, each with its number of rows. Such a parameter
    is the operand of a Cholesky factorisation or the matrix of a triangular solve, or a few ops compute this matrix
    from the parameter.
    """
    found: Dict[int, int] = {}
    waiting = [i.operands[0] for i in computation.instructions if i.opcode in ("cholesky", "triangular-solve")]
    seen = set(waiting)
    while waiting:
        i = waiting.pop()
        if i.opcode == "parameter" and set(i.shape.minor_to_major[:2]) == {i.shape.rank - 1, i.shape.rank - 2}:
            found[first_leaf(i)] = i.shape.dims[-1]
        more = {o for o in i.operands if i.opcode in _KEEPS_DEFINITE and o.shape.dims == i.shape.dims} - seen
        seen |= more
        waiting += more
    return found


def _bytes_written(kernels: "Sequence[Nest]", results: "Sequence[Shape]") -> int:
    in_place = [nest for nest in kernels if nest.aliases]
    return sum(nest.shape.elements * dtypes.storage_bytes(root.shape.dtype) for nest in in_place
               for root in nest.partition.roots) or sum(shape.bytes for shape in results)


def points(index: str, partition: Partition) -> int:
    """Return an upper bound of the number of different results of a map: the product of the sizes of the variables on
    which its results depend. A runtime variable is a value that is read from an array. It is not counted itself: the
    variables of the index at which it is read are counted instead.
    """
    info, runtimes = algebra.info(index), {runtime.name: runtime.read.map for runtime in bound_in(partition)}
    used: "Set[str]" = set()
    waiting = [index]
    while waiting:
        names = {name for result in algebra.info(waiting.pop()).results for name in result.variables} - used
        used |= names
        waiting += [runtimes[name] for name in names if name in runtimes]
    return math.prod(v.hi - v.lo + 1 for v in info.variables if v.name in used and v.kind != "rt")


def _layout(shape: Shape) -> Dict[str, Any]:
    """Return the layout of a shape for the manifest.

    row_major: true if it is row-major.
    element: the C expression for the position of the element with the index d0, d1, ..; only if it is not row-major.
    strides: the bytes between neighbours along each dimension; only if elements are whole bytes at constant distances.
    """
    strides = None if shape.dtype in dtypes.PACKED else algebra.strides(shape.text)
    return {
        "row_major": is_row_major(shape),
        **({} if is_row_major(shape) else {"element": algebra.c_text(algebra.call("shape", "map", shape.text)).results[0]}),
        **({} if strides is None else {"strides": list(strides)}),
    }


def params(fusion: Fusion) -> List[Dict[str, Any]]:
    """Return the parameters of a fusion for the manifest, with what a check must know to draw their values."""
    graph = fusion.computation
    indices, places, ordered, matrices = index_sizes(graph), distinct(graph), in_order(graph), definite(graph)
    return [{
        "name": name,
        **entry(shape),
        **({"index_below": indices[n]} if n in indices else {}),
        **({"distinct": places[n]} if n in places else {}),
        **({"sorted": ordered[n]} if n in ordered else {}),
        **({"definite": matrices[n]} if n in matrices else {}),
        **({"same_as": fusion.same[n]} if n in fusion.same else {}),
    } for n, (name, shape) in enumerate(zip(param_names(fusion), param_leaves(fusion)))]


def results(fusion: Fusion, excess: bool, on_gpus: bool) -> List[Dict[str, Any]]:
    """Return the results of a fusion for the manifest. exact: true if elements are only moved. varies: the reason why a
    result may differ from run to run.
    """
    graph = fusion.computation
    varying, drawn = (scatter.varying(graph, drawn) if on_gpus else set() for drawn in (False, True))

    def varies(instruction: Instruction) -> Dict[str, str]:
        if instruction in varying:
            return {"varies": "between runs on a GPU, in the order of updates"}
        if instruction in drawn:
            return {"varies": "in a check on a GPU, which cannot draw the indices unique"}
        return {}

    return [{
        **entry(shape),
        **({"padding": "zeros"} if tiled_layouts.positions(shape) > shape.elements else {}),
        "exact": moved,
        **varies(instruction),
    } for (_, shape, instruction, _), moved in zip(result_leaves(graph), _moved(graph, excess))]


def _moved(graph: Computation, excess: bool) -> "Sequence[bool]":
    """Return, for each result, true if its elements are only moved. For a program with loops or branches, return false.
    """
    if has_steps(graph) and whole_of(graph) is None:
        return [False] * len(result_leaves(graph))
    return bounds.bitwise(graph, excess)


def entry(shape: Shape) -> Dict[str, Any]:
    return {"shape": shape.text, "dtype": shape.dtype, "dims": list(shape.dims), **_layout(shape),
            "bytes": shape.bytes, "elements": shape.elements, "positions": tiled_layouts.positions(shape)}


def manifest(program: Program, files: "Sequence[TargetFile]", excess: bool) -> Dict[str, Any]:
    fusion, first, given = program.whole, files[:1], len(param_leaves(program.whole)) - len(program.weights)
    nests = [nest for file in first for each in program.fusions for nest in file.plan[each].nests]
    factors = [of.storage.factor for file in files for of in file.plan.values() if of.storage]
    one, on_gpus = program.is_one, not all(file.device.cpu for file in files)
    unused = _unused_aliases(program, files)
    return {
        "name": program.name,
        "hero": " ".join(dict.fromkeys(k.hero for file in first for k in file.kernels)) or "loop",
        "params": _with_leads(program, program.plain_params, [
            *params(fusion)[:given],
            *({"name": array.name, **entry(array.shape)} for array in program.plain_params[given:])]),
        "results": _with_leads(program, program.results, [*results(fusion, excess, on_gpus),
                                                          *_more_results(program, excess, on_gpus)]),
        "aliases": [{"result": result, "parameter": number} for file in first
                    for result, number in file.aliases.items()],
        **({"may_alias": [{"result": program.results.index(result), "parameter": program.params.index(parameter)}
                          for result, parameter in program.donors.items()]} if program.donors else {}),
        **({"unused_aliases": unused} if unused else {}),
        **({"weights": _weights(program)} if program.weights else {}),
        "excess_precision": excess,
        **({"libraries": ["-llapack"]} if any(i.opcode == "lapack" for each in program.fusions
                                              for i in each.computation.instructions) else {}),
        **({"filled": fusion.filled} if fusion.filled else {}),
        "bytes_read": bytes_read(program.calls[0].fusion, nests) if one else sum(array.shape.bytes for array in program.params),
        "bytes_written": _bytes_written(nests, [array.shape for array in program.results]),
        **({} if one else {"calls": [_call(call, first) for call in program.calls]}),
        "recomputed": max(factors, default=1.0),
        "functions": {nest.name: [f.name for f in nest.partition.functions] for nest in nests},
        "targets": {file.target.name: _target(file) for file in files},
        "schedule": "; ".join(k.loop.text() for file in first for k in file.kernels),
    }


def _with_leads(program: Program, arrays: "Sequence[Array]", entries: "List[Dict[str, Any]]") -> "List[Dict[str, Any]]":
    """Return the entries of `arrays` in the manifest. If the caller passes the leading dimension of an array, the
    array's entry gets `lead`: the number of this leading dimension (counted among all that the caller passes), its
    minimum and its maximum.
    """
    leads = {array: {"number": n, "least": least, "most": most} for n, array in enumerate(program.leads)
             for least, most in leads_of([array.shape]).values()}
    return [{**of, "lead": leads[array]} if array in leads else of for array, of in zip(arrays, entries)]


def _unused_aliases(program: Program, files: "Sequence[TargetFile]") -> "List[Dict[str, Any]]":
    """Return the results that are not stored in a parameter's buffer although the module allows it, each with the
    reason. Return an empty list if the program has loops or branches.
    """
    found: List[Dict[str, Any]] = []
    for result, parameter in program.whole.aliases.items() if program.straight else ():
        calls = [call for call in program.calls if program.results[result] in call.results]
        if not calls or result in files[0].aliases:
            continue
        of = files[0].plan[calls[-1].fusion]
        readers = sum(program.params[parameter] in call.operands for call in program.calls)
        why = "the parameter is read by several calls" if readers > 1 else (
            not any(nest.aliases for nest in of.nests) and of.updated) or (
                "no dynamic-update-slice of the parameter gives the result")
        found.append({"result": result, "parameter": parameter, "why": why})
    return found


def _weights(program: Program) -> Dict[str, Any]:
    """Return the block of large constants for the manifest. pointer: the block's index among the pointers to
    parameters.
    """
    last = list(program.weights.values())[-1]
    return {"pointer": next(program.pointers[array][0] for array in program.weights),
            "bytes": last.offset + len(last.bytes),
            "arrays": [{"name": array.name, "offset": weight.offset, **entry(array.shape)}
                       for array, weight in program.weights.items()]}


def _more_results(program: Program, excess: bool, on_gpus: bool) -> List[Dict[str, Any]]:
    """Return the results of a traced program that are not results of the module."""
    varying: Set[Array] = set()
    for call in program.calls if on_gpus else ():
        varies = any(array in varying for array in call.operands)
        found = results(call.fusion, excess, True)
        varying.update(array for array, of in zip(call.results, found) if varies or "varies" in of)
        varying.update(call.kept.values() if varies or any("varies" in of for of in found) else ())
    more = program.results[len(result_leaves(program.whole.computation)):]
    return [{**entry(array.shape), "exact": False, **({"varies": "between runs on a GPU"} if array in varying else {})}
            for array in more]


def _call(call: Call, files: "Sequence[TargetFile]") -> Dict[str, Any]:
    """Return a call of a fusion for the manifest. operands: the names of arrays; null for a parameter that the fusion
    does not read.
    """
    heroes = dict.fromkeys(k.hero for file in files for k in file.dialects[0].units[call.fusion].kernels)
    return {"fusion": call.fusion.name, "hero": " ".join(heroes), "operands": [array and array.name for array in call.operands],
            "results": [array.name for array in call.results]}


def _target(file: TargetFile) -> Dict[str, Any]:
    """Return the part of the manifest about one target.

    scratch_bytes: the size of the block that the caller passes.
    state_bytes: the size of the part at the beginning of the block that `prepare` fills.
    stack_bytes: an upper bound of the stack that a call needs, in bytes.
    alignment: the alignment of each pointer, in bytes.
    intrinsics: true if the file includes the header of the machine's vector instructions.
    least_bytes: a lower bound of scratch_bytes: the most bytes of arrays between kernels that are in use at one time.
    dynamic_bytes: the shared memory that a launch gives to each block, in bytes.
    words: for each pointer of a kernel, the bytes of one access. The kernel makes accesses of these sizes if all its
        pointers are aligned to them, else narrower ones.
    launches: the launches of kernels; plain_launches: those for compilers without vectors.
    """
    chained = {kernel.name: launch.kernel.name for launch in file.launches if isinstance(launch.kernel, Chain)
               for kernel in launch.kernel.kernels}
    return {
        "device": file.device.name,
        "scratch_bytes": file.scratch_bytes,
        "state_bytes": file.state_bytes,
        **({"stack_bytes": file.stack_bytes} if file.target.embedded else {}),
        **({"alignment": file.alignment} if file.target.takes_pointers else {}),
        **({"intrinsics": True} if file.intrinsics else {}),
        "least_bytes": file.storage.placement.bound,
        "kernels": [{
            "name": k.name,
            "hero": k.hero,
            "schedule": k.loop.text(),
            "blocks": k.blocks,
            "threads": k.threads,
            **({"dynamic_bytes": k.dynamic_bytes} if k.dynamic_bytes else {}),
            "index": k.index,
            **({"chain": chained[k.name]} if k.name in chained else {}),
            **({"words": {a.buffer.pointer: a.word for a in k.arguments if a.word}} if k.chooses_words else {}),
            **k.report.manifest,
        } for k in file.kernels],
        "launches": _launches(file.dialects[0]),
        **({"plain_launches": _launches(file.dialects[1])} if len(file.dialects) > 1 else {}),
    }


def _launches(dialect: Dialect) -> "List[Dict[str, Any]]":
    """Return the launches in order, with the buffer for each pointer of the kernel."""
    def arguments(launch: Launch) -> "List[Dict[str, Any]]":
        pointers = [argument.buffer.pointer for argument in launch.kernel.arguments]
        found = [{"name": name, "buffer": place.buffer, "number": place.number, "offset": place.offset,
                  "bytes": array.shape.bytes, **({"lead": True} if array.shape.lead else {})}
                 for name, place, array in zip(pointers, dialect.places(launch), launch.arrays)]
        of_table = [{"name": "table", "buffer": "table", "number": table.number, "offset": 0, "bytes": 2 * 65536}
                    for table in [launch.kernel.table] if table]
        return found + of_table
    return [{"kernel": launch.kernel.name, "blocks": launch.kernel.blocks, "threads": launch.kernel.threads,
             "arguments": arguments(launch)} for launch in dialect.launches]
