"""The file of a fusion's bound. Also two facts that need no compilation: the results that must agree bit by bit, and
the ops for which any value is allowed.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from gen.bounds import control, following, moves, products, reductions, sorts
from gen.bounds.following import Bounds
from gen.bounds.intervals import RANGES
from gen.bounds.lapack import lapack, with_proof
from gen.bounds.matrices import matrices
from gen.bounds.scatter import scatter
from gen.bounds.select_and_scatter import select_and_scatter
from gen.bounds.transforms import fft
from gen.bounds.types import key_of, Options
from gen.statements import Assign, Call, Statement
from gen.hlo import Computation, Instruction
from gen.hlo.opcodes import MATRIX_OPS
from gen.reference.assembly import assemble, File, Function
from gen.reference.computation import Follow, Pointers, Result, walk, walked
from gen.reference.library import functions, VALUES
from gen.reference.loops import indices_of, loops_over, position_of, room_of, strides_of
from gen.reference.types import FLOATS, SMALL, to_double
from gen.reference.values import Argument, Array, Value

# by opcode, the function that sets the intervals of an op's results; opcodes that are missing here are elementwise
OPS: Dict[str, Callable[[Bounds, Instruction, List[Array], List[Array]], None]] = {
    **{opcode: moves.moved for opcode in ("broadcast", "transpose", "reshape", "copy", "slice", "reverse", "pad",
                                          "concatenate", "dynamic-slice", "dynamic-update-slice", "gather")},
    "bitcast": moves.bitcast, "bitcast-convert": moves.bitcast, "iota": following.iota, "map": following.mapped,
    "reduce": reductions.reduce, "reduce-window": reductions.reduce, "scatter": scatter,
    "select-and-scatter": select_and_scatter, "dot": products.contract, "scaled-dot": products.contract,
    "convolution": products.contract, "sort": sorts.sorted_, "topk": sorts.sorted_, "fft": fft,
    "constant": lambda b, i, x, outs: None,
    **dict.fromkeys(MATRIX_OPS, matrices), "lapack": lapack}
HEAD = Path(__file__).with_name("head.c").read_text().strip()


class Bounded(NamedTuple):
    """The steps of a computation's bound, and its results."""

    bounds: Bounds
    results: List[Result]


def bounded(computation: Computation, options: Options, pointers: Pointers = None) -> Bounded:
    b = Bounds(options)
    return Bounded(b, walked(b.e, computation, _follow(b), pointers))


def _walk(b: Bounds, computation: Computation, arguments: Sequence[Value]) -> Value:
    return walk(b.e, computation, arguments, _follow(b))


def _follow(b: Bounds) -> Follow:
    return lambda i, x, outs: OPS.get(i.opcode, following.elementwise)(b, i, x, outs)


OPS.update({"while": partial(control.loop, _walk), "conditional": partial(control.branch, _walk)})


def bound(computation: Computation, name: str, *, excess_precision: bool = False, reassociate: bool = True,
          flushes: bool = False, ulps: Optional[Mapping[str, float]] = None, pointers: Pointers = None) -> str:
    """Return the C11 text of `int NAME_bound(const void *const *params, double *const *bounds)`.

    excess_precision: kernels may keep a float between ops on f16 and bf16
    reassociate: kernels may add and multiply the elements of a reduce in any order
    ulps: error budgets by opcode that replace those in ULPS, such as divide 2.5 and sqrt 3 for OpenCL devices that do
        not promise correct rounding; for f16 and bf16 they are ulps of float
    flushes: a scatter's sums of f32 may flush subnormals
    pointers: see gen.reference
    """
    return bound_file(computation, name, Options(excess_precision, reassociate, flushes, dict(ulps or {})),
                      pointers).text


def bound_file(computation: Computation, name: str, options: Options, pointers: Pointers = None) -> File:
    """Return a bound as a File. If the fusion is a call of LAPACK, the file has a proof too (see lapack.with_proof)."""
    b, results = bounded(computation, options, pointers)
    outs = [put(b, result) for result in results]
    exact = b.exact(*(result.array for result in results))
    what = "exact everywhere" if exact else "what a right kernel may differ by"
    function = Function(f"{name}_bound", {"params": "const void *const *", "bounds": "double *const *"})
    file = assemble(f"{name}_bound: {what}.", function, b.e.steps, outs,
                    {} if exact else {"": HEAD, **functions(VALUES), **functions(RANGES)})
    return with_proof(file, computation, name)


def put(b: Bounds, result: Result) -> Array:
    """Append a step that writes a result's bounds; return their array."""
    number, shape, half, array = result
    out = b.e.array(f"bounds_{number}", "f64", array.dims, Argument("bounds", number))
    if b.exact(array):
        count = room_of(shape) if shape.tiled else array.count
        place = "0" if count == 1 else "i"
        place = place if half is None else f"{place} * 2 + {half}"
        b.e.step(f"result {number}: {shape.text}, exact", loops_over((count,), [Assign(f"{out}[{place}]", "0.0")]), [out], [])
        return out
    at = position_of(indices_of(array.dims), strides_of(array.dims))
    interval = b.interval(array, at)
    if array.dtype in SMALL and b.options.excess_precision:
        # the kernel rounds a result to its type when it stores it, even if it computes with excess precision
        interval = f"range_round_{array.dtype}({interval})"
    value = f"range_bound({interval}, {to_double(b.e.call, array.dtype, f'{array}[{at}]')})" if array.dtype in FLOATS \
        else f"irange_bound({interval}, {key_of(array.dtype, f'{array}[{at}]')})"
    lines: List[Statement] = [Call("memset", str(out), "0", f"{room_of(shape)} * sizeof(double)")] if shape.tiled else []
    lines += loops_over(array.dims, [Assign(f"{out}[{result.place()}]", value)])
    b.e.step(f"result {number}: {shape.text}", lines, [out], b.with_ranges([array]))
    return out


def bitwise(computation: Computation, excess_precision: bool = False) -> List[bool]:
    """Return, for each flattened result, true if kernels must return exactly the reference's bits. This holds for
    integers, for pred, and for floats that are only moved, including NaNs and zeros.
    """
    b, results = bounded(computation, Options(excess_precision))
    return [all(b.of(result.array).bits and b.exact(result.array) for result in results if result.number == number)
            for number in range(len({result.number for result in results}))]


def unknown(computation: Computation, excess_precision: bool = False) -> List[str]:
    """Return the reasons why `bound` allows any value. Each is a clause, like "rounding decides an index of NAME"."""
    return list(dict.fromkeys(bounded(computation, Options(excess_precision)).bounds.unknown))
