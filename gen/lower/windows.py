"""Split windows of several dimensions into two ops: windows of the outer dimensions, then windows of the contiguous
dimension.

This is possible if the combiner allows regrouping: the rows of a window are then combined separately. Along the
contiguous dimension, adjacent lanes of a vector belong to different windows. Therefore the outer dimensions are
combined first, in vectors of adjacent elements, and little work is left for the contiguous dimension. Overlapping
windows share the combinations of their rows. Outer windows without gaps or overlap become a reduce.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, List, Sequence, Tuple

from gen.hlo import Computation, Instruction, Shape, Window, array_shape, combiner
from gen.hlo.copy import replaced
from gen.schedule import WINDOW_ELEMENTS, WINDOW_OVERLAP, WINDOW_STRIDE


def lowered(computation: Computation) -> Computation:
    """Split those reduce-windows of a computation for which `splits` is true, and return the new computation. If there
    are none, return the computation itself.
    """
    return replaced(computation, splits, _split)


def _contiguous(shape: Shape) -> int:
    """Return the dimension along which adjacent elements are adjacent in memory."""
    return next((d for d in shape.minor_to_major if shape.dims[d] > 1), 0)


def splits(instruction: Instruction) -> bool:
    """Return true if a reduce-window is split: its combiner allows regrouping, and two ops cost less than one."""
    if instruction.opcode != "reduce-window" or len(instruction.operands) != 2:
        return False
    operand, window = instruction.operands[0].shape, instruction.attributes["window"]
    if operand.elements < WINDOW_ELEMENTS or not instruction.shape.elements:
        return False
    d, whole = _contiguous(operand), math.prod(window.size)
    if window.size[d] == 1 or whole == window.size[d]:
        return False
    order = combiner.analyse(instruction)
    if not order.free or order.start is None or order.start[0] is None:
        return False
    outer = whole // window.size[d]
    spacing = operand.dims[d] // instruction.shape.dims[d]
    return window.stride[d] >= WINDOW_STRIDE or (
        whole >= WINDOW_OVERLAP and 2 * (outer * spacing + window.size[d]) <= whole)


def _split(copied: Computation, instruction: Instruction, operands: "List[Instruction]") -> Instruction:
    operand, init = operands
    window, shape, d = instruction.attributes["window"], operand.shape, _contiguous(operand.shape)
    order = combiner.analyse(instruction)
    assert order.start is not None and order.start[0] is not None

    def add(name: str, opcode: str, to: Shape, of: "List[Instruction]", literal: "List[int] | None" = None,
            **attributes: Any) -> Instruction:
        return copied.add(Instruction(f"{instruction.name}.{name}", opcode, to, of, attributes, literal=literal,
                                      called=instruction.called if "to_apply" in attributes else [],
                                      line=instruction.line, col=instruction.col))

    middle = tuple(size if k == d else n for k, (n, size) in enumerate(zip(instruction.shape.dims, shape.dims)))
    start = add("start", "constant", array_shape(shape.dtype, ()), [], [order.start[0]])
    applied = {"to_apply": instruction.attributes["to_apply"]}
    outer = replace(window, **{name: _but(getattr(window, name), d, plain) for name, plain in _PLAIN.items()})
    inner = replace(window, **{name: tuple(value if k == d else plain for k, value in enumerate(getattr(window, name)))
                               for name, plain in _PLAIN.items()})
    rows_shape = array_shape(shape.dtype, middle, shape.minor_to_major)
    if _follow(outer):
        # Reshape each dimension to (windows, elements of a window); a reduce then combines the elements of a window.
        cut = tuple(n * size for n, size in zip(middle, outer.size))
        box = tuple((0, n, 1) for n in cut)
        whole = operand if cut == shape.dims else add(
            "whole", "slice", array_shape(shape.dtype, cut, shape.minor_to_major), [operand], slice=box)
        parts: List[int] = []
        gone, place = [], {}
        for k, (n, size) in enumerate(zip(middle, outer.size)):
            place[k] = len(parts)
            parts += [n, size] if size > 1 else [n]
            gone += [len(parts) - 1] if size > 1 else []
        minor = [at for k in shape.minor_to_major
                 for at in ([place[k] + 1] if outer.size[k] > 1 else []) + [place[k]]]
        blocks = add("blocks", "reshape", array_shape(shape.dtype, tuple(parts), tuple(minor)), [whole])
        rows = add("rows", "reduce", rows_shape, [blocks, start], dimensions=tuple(gone), **applied)
    else:
        rows = add("rows", "reduce-window", rows_shape, [operand, start], window=outer, **applied)
    return copied.add_copy(instruction, [rows, init], attributes={**instruction.attributes, "window": inner})


_PLAIN = {"size": 1, "stride": 1, "low": 0, "high": 0, "base_dilation": 1, "dilation": 1, "reversal": 0}


def _but(values: "Sequence[int]", d: int, plain: int) -> "Tuple[int, ...]":
    return tuple(plain if k == d else value for k, value in enumerate(values))


def _follow(window: Window) -> bool:
    """Return true if the windows tile the array without gaps, overlap, padding or dilation."""
    return window.stride == window.size and not window.dilated and not any((*window.low, *window.high,
                                                                           *window.reversal))
