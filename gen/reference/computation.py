"""Turn a computation into steps: first its parameters, then its instructions in order."""

from __future__ import annotations

from functools import partial
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gen.statements import Assign
from gen.hlo import Computation, dtypes as table, Instruction, Shape
from gen.hlo.graph import root_of
from gen.hlo.opcodes import MATRIX_OPS
from gen.reference import control, elementwise, indexed, moves, products, reductions, sorts
from gen.reference.complex_numbers import real_computation
from gen.reference.control import regrouped
from gen.reference.elements import cut
from gen.reference.emitter import Emitter, number_of, reachable
from gen.reference.lapack import lapack
from gen.reference.loops import indices_of, is_row_major, loops_over, place_of, position_of, strides_of
from gen.reference.matrices import matrices
from gen.reference.scatter import scatter
from gen.reference.select_and_scatter import select_and_scatter
from gen.reference.transforms import fft
from gen.reference.types import bits_of, PACKED
from gen.reference.values import Argument, Array, leaves_of, Value

# For each opcode, the function that adds the steps of an op and returns the arrays that they define. All other opcodes
# are elementwise.
OPS: Dict[str, Callable[[Emitter, Instruction, List[Array]], Value]] = {
    "constant": lambda e, i, x: e.constant(i), "iota": moves.iota, "broadcast": moves.broadcast,
    "transpose": moves.transpose, "reshape": moves.reshape, "copy": moves.reshape, "bitcast": moves.bitcast,
    "bitcast-convert": moves.bitcast, "slice": moves.sliced, "reverse": moves.reverse, "pad": moves.pad,
    "concatenate": moves.concatenate, "dynamic-slice": indexed.dynamic_slice,
    "dynamic-update-slice": indexed.dynamic_update_slice, "gather": indexed.gather, "reduce": reductions.reduce,
    "reduce-window": reductions.reduce, "scatter": scatter, "select-and-scatter": select_and_scatter,
    "dot": products.contract, "scaled-dot": products.scaled_dot, "convolution": products.contract, "fft": fft,
    "map": elementwise.mapped, "sort": sorts.sort, "topk": sorts.topk, **dict.fromkeys(MATRIX_OPS, matrices), "lapack": lapack}

# called after the steps of an op are added, with the instruction, the arrays of its operands and those of its results
Follow = Callable[[Instruction, List[Array], List[Array]], None]


def walk(e: Emitter, computation: Computation, arguments: Sequence[Value], follow: Optional[Follow] = None) -> Value:
    """Add the steps of all instructions on which the root depends, and return the root's value."""
    live = reachable(computation)
    known: Dict[int, Value] = {}
    for i in computation.instructions:
        if id(i) not in live:
            continue
        x = [known[id(o)] for o in i.operands]
        if i.opcode == "parameter":
            known[id(i)] = arguments[number_of(i)]
        elif i.opcode == "tuple":
            known[id(i)] = list(x)
        elif i.opcode == "get-tuple-element":
            (elements,) = x
            assert isinstance(elements, list)
            known[id(i)] = elements[i.attributes["index"]]
        elif i.opcode in ("fusion", "call"):
            known[id(i)] = walk(e, i.attributes["calls" if i.opcode == "fusion" else "to_apply"], x, follow)
        elif i.opcode == "copy" and not isinstance(x[0], Array):
            known[id(i)] = x[0]
        else:
            operands = leaves_of(list(x))
            known[id(i)] = OPS.get(i.opcode, elementwise.elementwise)(e, i, operands)
            if follow:
                follow(i, operands, leaves_of(known[id(i)]))
    return known[id(root_of(computation))]


OPS.update({"while": partial(control.loop, walk), "conditional": partial(control.branch, walk)})


class Result(NamedTuple):
    """An array that contains a result, or a part of it.

    number, shape: the index and the shape of the result.
    half: the part of a complex result: 0 for the real part, 1 for the imaginary part; None for real numbers.
    array: the array.
    """

    number: int
    shape: Shape
    half: Optional[int]
    array: Array

    def place(self) -> str:
        """Return the position in memory of a result's element, as C text. The element's index consists of the variables
        of the loops.
        """
        at = place_of(self.shape, indices_of(self.shape.dims))
        return f"{at}" if self.half is None else f"({at}) * 2 + {self.half}"


# for each parameter, the index of its pointer, and the offset of the array from that pointer
Pointers = Optional[Sequence[Tuple[int, int]]]


def walked(e: Emitter, computation: Computation, follow: Optional[Follow] = None,
           pointers: Pointers = None) -> List[Result]:
    """Add the steps of a computation, and return its results. Its parameters are those of the C function.

    pointers: for each parameter, the index of its pointer and the offset from that pointer; None if each parameter has
        a pointer of its own
    """
    real = real_computation(computation)
    arguments: List[Value] = []
    number = 0
    for parameter in computation.parameters:
        leaves: List[Array] = []
        for shape in parameter.shape.leaves():
            place = pointers[number] if pointers else (number, 0)
            leaves += parameter_arrays(e, parameter, shape, Argument("params", *place))
            number += 1
        arguments += [regrouped(parameter.shape, iter(leaves))] if real is computation else leaves
    arrays = iter(leaves_of(walk(e, real, arguments, follow)))
    return [Result(number, shape, k, next(arrays)) for number, shape in enumerate(root_of(computation).shape.leaves())
            for k in ((0, 1) if table.is_complex(shape.dtype) else (None,))]


def parameter_arrays(e: Emitter, parameter: Instruction, shape: Shape, given: Argument) -> List[Array]:
    """Return the arrays of a leaf of a parameter. If the leaf is complex, packed, or not row-major in memory, add a
    step that copies it to a row-major array. A complex leaf is copied to two arrays, one for each part.
    """
    name, dtype = parameter.name, table.TABLE[shape.dtype].part or shape.dtype
    if is_row_major(shape) and dtype == shape.dtype and dtype not in PACKED:
        return [e.array(name, dtype, shape.dims, given)]
    indices = indices_of(shape.dims)
    source, to = place_of(shape, indices), position_of(indices, strides_of(shape.dims))
    memory, arrays = e.array(f"{name}_memory", "u8" if dtype in PACKED else dtype, shape.dims, given), []
    for k, part in enumerate(("_re", "_im") if dtype != shape.dtype else ("",)):
        out = e.array(f"{name}{part}", dtype, shape.dims)
        value = f"{memory}[({source}) * 2 + {k}]" if part else f"{memory}[{source}]"
        if dtype in PACKED:
            value = cut(e.call, dtype, e.call("unpack", str(memory), str(source), str(bits_of(dtype))))
        said = f"{name} = {shape.text} parameter({parameter.parameter_number}), to row-major"
        e.step(f"{part[1:]} of {said}" if part else said, loops_over(shape.dims, [Assign(f"{out}[{to}]", value)]), [out],
               [memory])
        arrays.append(out)
    return arrays
