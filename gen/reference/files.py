"""The C file of a fusion's reference."""

from __future__ import annotations

from typing import List

from gen.statements import Assign, Call, Statement
from gen.hlo import Computation
from gen.reference.assembly import assemble, File, Function
from gen.reference.computation import Pointers, Result, walked
from gen.reference.emitter import Emitter
from gen.reference.loops import indices_of, is_row_major, loops_over, position_of, room_of, strides_of
from gen.reference.types import bits_of, PACKED
from gen.reference.values import Argument, Array


def reference(computation: Computation, name: str, pointers: Pointers = None) -> str:
    """Return the C11 text of `int NAME_ref(const void *const *params, void *const *results)`. Raise ValueError for ops
    and types that have no reference. pointers: None if each parameter has a pointer of its own; else the index of the
    pointer and the offset for each parameter.
    """
    return reference_file(computation, name, pointers).text


def reference_file(computation: Computation, name: str, pointers: Pointers = None) -> File:
    """Return the reference as a File, which can be joined with others."""
    e = Emitter()
    outs = [put(e, result) for result in walked(e, computation, pointers=pointers)]
    return assemble(f"{name}_ref: the scalar reference, one loop nest an HLO op.",
                    Function(f"{name}_ref", {"params": "const void *const *", "results": "void *const *"}),
                    e.steps, outs)


def put(e: Emitter, result: Result) -> Array:
    """Return the array of a result in its memory layout. If the layout is not the one in which the result was computed,
    add a step that copies it.
    """
    number, shape, half, array = result
    given = Argument("results", number)
    if array.on_heap and is_row_major(shape) and half is None and array.dtype not in PACKED:
        array.given = given     # no copy: the op writes directly into the caller's array
        return array
    packed = array.dtype in PACKED
    out = e.array(f"result_{number}", "u8" if packed else array.dtype, array.dims, given)
    value = f"{array}[{position_of(indices_of(array.dims), strides_of(array.dims))}]"
    line: Statement = Assign(f"{out}[{result.place()}]", value)
    if packed:
        e.call("pack")
        line = Call("pack", str(out), result.place(), value, str(bits_of(array.dtype)))
    room = f"{-(-room_of(shape) * bits_of(array.dtype) // 8)}" if packed else f"{room_of(shape)} * sizeof({out.kind})"
    clear: List[Statement] = [Call("memset", str(out), "0", room)] if shape.tiled or packed else []
    e.step(f"result {number}: {shape.text}" + ", packed" * packed + ", its padding 0" * shape.tiled,
           clear + loops_over(array.dims, [line]), [out], [array])
    return out
