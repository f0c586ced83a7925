"""A computation as steps: its parameters, its instructions in order, each by the meaning of its op."""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence

from gen.hlo import Computation, dtypes as table, Instruction, Shape
from gen.reference import elementwise, indexed, moves, products, reductions
from gen.reference.complex_numbers import real_computation
from gen.reference.emitter import Emitter, reachable
from gen.reference.loops import indices_of, is_row_major, loops_over, place_of, position_of, strides_of
from gen.reference.scatter import scatter
from gen.reference.select_and_scatter import select_and_scatter
from gen.reference.types import PACKED, STORAGE
from gen.reference.values import Array, leaves_of, Options, Value


# What an op adds to a reference: the arrays that it defines, by opcode. Every other opcode is elementwise.
OPS: Dict[str, Callable[[Emitter, Instruction, List[Array]],
                        Value]] = {"constant": lambda e, i, x: e.constant(i), "iota": moves.iota,
                                   "broadcast": moves.broadcast, "transpose": moves.transpose, "reshape": moves.reshape,
                                   "copy": moves.reshape, "bitcast": moves.bitcast, "bitcast-convert": moves.bitcast,
                                   "slice": moves.sliced, "reverse": moves.reverse, "pad": moves.pad,
                                   "concatenate": moves.concatenate, "dynamic-slice": indexed.dynamic_slice,
                                   "dynamic-update-slice": indexed.dynamic_update_slice, "gather": indexed.gather,
                                   "reduce": reductions.reduce, "reduce-window": reductions.reduce, "scatter": scatter,
                                   "select-and-scatter": select_and_scatter, "dot": products.dot,
                                   "scaled-dot": products.scaled_dot, "convolution": products.convolution,
                                   "map": elementwise.mapped,}


def walk(e: Emitter, computation: Computation, arguments: Sequence[Value]) -> Value:
    """The root's value; every instruction that it needs adds its steps."""
    live = reachable(computation)
    known: Dict[int, Value] = {}
    for instruction in computation.instructions:
        if id(instruction) in live:
            known[id(instruction)] = _instruction(e, instruction, [known[id(o)] for o in instruction.operands],
                                                  arguments)
    return known[id(computation.root)]


def _instruction(e: Emitter, i: Instruction, x: List[Value], arguments: Sequence[Value]) -> Value:
    if i.opcode == "parameter":
        return arguments[i.parameter_number]
    if i.opcode == "tuple":
        return list(x)
    if i.opcode == "get-tuple-element":
        return x[0][i.attributes["index"]]
    if i.opcode in ("fusion", "call"):
        return walk(e, i.attributes["calls" if i.opcode == "fusion" else "to_apply"], x)
    if i.opcode == "copy" and not isinstance(x[0], Array):
        return x[0]
    return OPS.get(i.opcode, elementwise.elementwise)(e, i, leaves_of(x))


class Result(NamedTuple):
    """What an array of the steps is of the results: the result's number, its shape, and which half of a complex one it
    is (0: real, 1: imaginary)."""

    number: int
    shape: Shape
    half: Optional[int]


class Emitted(NamedTuple):
    """A computation's steps, and the arrays that its results are, with what each is."""

    emitter: Emitter
    results: List[Result]
    arrays: List[Array]


def emit_all(computation: Computation, options: Options) -> Emitted:
    """All steps of a computation."""
    emitter = Emitter(options)
    arguments: List[Value] = []
    number, real = 0, real_computation(computation)
    for parameter in computation.parameters:
        leaves: List[Value] = []
        for shape in parameter.shape.leaves():
            if table.is_complex(shape.dtype):
                for k, name in enumerate(("re", "im")):
                    array = Array(emitter.unique(f"{parameter.name}_{name}"), table.TABLE[shape.dtype].part,
                                  tuple(shape.dims), True)
                    kind, indices = STORAGE[array.dtype], indices_of(array.dims)
                    at, source = position_of(indices,
                                             strides_of(array.dims)), position_of(
                        indices, strides_of(array.dims, shape.minor_to_major))
                    line = f"v_{array.name}[{at}] = ((const {kind} *)params[{number}])[({source}) * 2 + {k}];"
                    emitter.step(
                        f"{array.name} of {parameter.name} = {shape.text} parameter({parameter.parameter_number})",
                        loops_over(array.dims, [line]),
                        [array],
                        [],
                    )
                    leaves.append(array)
                number += 1
                continue
            array = emitter.array(parameter.name, shape, True)
            array.home = "given"
            kind = STORAGE[array.dtype]
            if array.dtype in PACKED:
                array.home = "heap"
                indices = indices_of(array.dims)
                source = f"{array.dtype}_unpack(params[{number}], {position_of(indices, strides_of(array.dims, shape.minor_to_major))})"
                title = f"{parameter.name} = {shape.text} parameter({parameter.parameter_number}), to row-major, an element a byte"
                emitter.step(
                    title,
                    loops_over(
                        array.dims, [f"v_{array.name}[{position_of(indices, strides_of(array.dims))}] = {source};"]
                    ),
                    [array],
                    [],
                )
            elif is_row_major(shape):
                emitter.parameters[array.name] = f"const {kind} *const v_{array.name} = params[{number}];"
            else:
                array.home = "heap"
                indices = indices_of(array.dims)
                source = place_of(shape, indices)
                line = f"v_{array.name}[{position_of(indices, strides_of(array.dims))}] = ((const {kind} *)params[{number}])[{source}];"
                title = f"{parameter.name} = {shape.text} parameter({parameter.parameter_number}), to row-major"
                emitter.step(title, loops_over(array.dims, [line]), [array], [])
            leaves.append(array)
            number += 1
        arguments += [regroup(parameter.shape, leaves)] if real is computation else leaves
    result = walk(emitter, real, arguments)
    results = [Result(number, shape, k) for number, shape in enumerate(computation.root.shape.leaves())
               for k in ((0, 1) if table.is_complex(shape.dtype) else (None,))]
    return Emitted(emitter, results, leaves_of(result))


def regroup(shape: Shape, leaves: List[Value]) -> Value:
    if shape.kind == "array":
        return leaves.pop(0)
    return [regroup(child, leaves) for child in shape.children]
