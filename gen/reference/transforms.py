"""Discrete Fourier transforms, computed in long double along one dimension after another."""

from __future__ import annotations

import math
from typing import List, Sequence, Tuple

from gen.statements import Assign, Call
from gen.hlo import Instruction
from gen.reference.emitter import Emitter, title
from gen.reference.loops import indices_of, loops_over, position_of, strides_of
from gen.reference.values import Array, Value


def passes(i: Instruction, dims: Sequence[int]) -> "List[Tuple[int, int, bool]]":
    """Return the transformed dimensions in the order of the computation. For each, return its number, its length, and
    true if its rows are real before (RFFT) or after (IRFFT) the transform.
    """
    kind, lengths = i.attributes["fft_type"], i.attributes["fft_length"]
    first = len(dims) - len(lengths)
    order = [(first + k, length, kind in ("RFFT", "IRFFT") and k == len(lengths) - 1)
             for k, length in enumerate(lengths)]
    return order if kind == "IRFFT" else order[::-1]


def fft(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    """Add the steps of an fft, and return the real and imaginary parts of the result."""
    kind, dims = i.attributes["fft_type"], x[0].dims
    shapes = i.shape.leaves()
    outs = [e.array(f"{i.name}{part}", shape.dtype, shape.dims)
            for shape, part in zip(shapes, ("_re", "_im") if len(shapes) > 1 else ("",))]
    work = e.array(f"{i.name}_work", "long double", (*dims, 2))
    at = position_of(indices_of(dims), strides_of(dims))
    lines = loops_over(dims, [Assign(f"{work}[({at}) * 2]", f"{x[0]}[{at}]"),
                              Assign(f"{work}[({at}) * 2 + 1]", f"{x[1]}[{at}]" if len(x) > 1 else "0.0L")])
    arrays = [work]
    for d, n, halved in passes(i, dims):
        given, dims = dims, tuple(size if k != d or not halved else n // 2 + 1 if kind == "RFFT" else n
                                  for k, size in enumerate(dims))
        goal = e.array(f"{i.name}_work", "long double", (*dims, 2))
        room = e.array(f"{i.name}_room", "long double", (n, 8))
        sizes = (math.prod(dims[:d]), given[d], n, dims[d], math.prod(dims[d + 1:]))
        flags = (int(kind in ("IFFT", "IRFFT")), int(kind == "IRFFT" and halved))
        e.call("transform_rows")
        lines.append(Call("transform_rows", *map(str, (*sizes, *flags, work, goal, room))))
        arrays += [goal, room]
        work = goal
    at = position_of(indices_of(dims), strides_of(dims))
    lines += loops_over(dims, [
        Assign(f"{out}[{at}]", f"({out.kind}){work}[({at}) * 2 + {part}]") for part, out in enumerate(outs)])
    e.step(f"{title(i)}, fft_type={kind}, fft_length={i.attributes['fft_length']}", lines, [*outs, *arrays], x)
    return outs[0] if len(outs) == 1 else list(outs)
