"""Compute intervals beside values: after each op of the reference, steps that compute the intervals of its result."""

from __future__ import annotations

from typing import Dict, FrozenSet, List, NamedTuple, Sequence, Tuple

from gen.bounds.intervals import Intervals, keeps_bits
from gen.bounds.types import full_range, interval_of, kind_of, Known, Options, Ranged
from gen.statements import Assign, Let, Statement
from gen.hlo import Computation, Instruction
from gen.reference.emitter import Emitter, plain
from gen.reference.loops import Index, indices_of, loops_over, position_of, strides_of
from gen.reference.values import Array, Scalar


class Called(NamedTuple):
    """The bound of a computation that a loop or a branch calls, and the arrays of the computation's results."""

    bounds: "Bounds"
    results: List[Array]


class Bounds:
    """A bound under construction: the reference's steps, and what is known about its arrays.

    unknown: reasons, in words, why any value is allowed
    called: the computations that loops and branches call. The key also has the indices of the parameters that are not
        exact.
    """

    def __init__(self, options: Options) -> None:
        self.e, self.options = Emitter(), options
        self.called: Dict[Tuple[Computation, FrozenSet[int]], Called] = {}
        self.known: Dict[Array, Known] = {}
        self.unknown: List[str] = []
        self.of_points: Dict[Array, Array] = {}

    @property
    def intervals(self) -> Intervals:
        """Return a writer of intervals for the C text of the current step."""
        return Intervals(self.e.call, self.options)

    def of(self, array: Array) -> Known:
        return self.known.get(array, Known())

    def exact(self, *arrays: Array) -> bool:
        return all(self.of(array).ranges is None for array in arrays)

    def element(self, array: Array, position: Index) -> Ranged:
        about = self.of(array)
        return Ranged(f"{array}[{position}]", array.dtype,
                      None if about.ranges is None else f"{about.ranges}[{position}]", about.bits)

    def interval(self, array: Array, position: Index) -> str:
        return interval_of(self.e.call, self.element(array, position))

    def ranges(self, i: Instruction, out: Array, bits: bool = True) -> Array:
        """Return a new array for the intervals of a result. The caller must add a step that fills it."""
        ranges = self.e.array(i.name, kind_of(out.dtype), out.dims)
        self.known[out] = Known(ranges, bits)
        return ranges

    def anything(self, i: Instruction, out: Array, bits: bool) -> None:
        """Add a step that allows any value in a result."""
        ranges = self.ranges(i, out, bits)
        self.step(i.name, ranges.each(full_range(out.dtype)), [ranges], [])

    def decided(self, i: Instruction, outs: Sequence[Array], bits: Sequence[bool], sure: bool, why: str) -> None:
        """Set the bounds of results that are either exact or unknown.

        sure: if true, the results equal the reference's; if false, any value is allowed
        bits: for each result, true if the bits of an exact element are those of the reference
        why: the reason, as a clause, in case `sure` is false
        """
        for out, known in zip(outs, bits):
            if sure:
                self.known[out] = Known(None, known)
            else:
                self.anything(i, out, known)
        self.unknown += [] if sure else [why]

    def points(self, array: Array) -> Array:
        """Return the array that contains the intervals of an array's elements. If the array is exact, the intervals are
        points.
        """
        about = self.of(array)
        if about.ranges:
            return about.ranges
        if array not in self.of_points:
            out = self.of_points[array] = self.e.array(f"{array.name}_points", kind_of(array.dtype), array.dims)
            self.e.step(f"{array.name} as intervals", out.each(self.interval(array, array.all())), [out], [array])
        return self.of_points[array]

    def with_ranges(self, arrays: Sequence[Array]) -> List[Array]:
        """Return the arrays, followed by the arrays of their intervals."""
        return [*arrays, *(about.ranges for about in map(self.of, arrays) if about.ranges)]

    def step(self, what: str, lines: Sequence[Statement], defines: Sequence[Array], uses: Sequence[Array]) -> None:
        self.e.step(f"{what}: intervals", lines, defines, self.with_ranges(uses))

    def inline(self, computation: Computation, arguments: Sequence[Scalar], lines: List[Statement]) -> List[Ranged]:
        """Append a scalar computation to `lines` as statements for its values and intervals; return its results."""
        results = self.e.inline(computation, arguments, lines, self.scalar)
        return [s if isinstance(s, Ranged) else Ranged(s.v, s.dtype) for s in results]

    def scalar(self, i: Instruction, x: List[Scalar], value: Scalar, lines: List[Statement]) -> Ranged:
        interval = self.intervals.op(i, x, value.v)
        if interval is not None:
            name = self.e.unique(f"r_{plain(i.name)}")
            lines.append(Let(kind_of(value.dtype), name, interval))
            interval = name
        return Ranged(value.v, value.dtype, interval, keeps_bits(i, x))

    def introduces(self, computation: Computation, dtypes: Sequence[str]) -> bool:
        """Return true if a scalar computation may have an error although its arguments are exact."""
        trial = Bounds(self.options)  # it is used only to find out whether results are exact
        return any(s.interval is not None
                   for s in trial.inline(computation, [Scalar(f"x{k}", d) for k, d in enumerate(dtypes)], []))


def elementwise(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    (out,), operands = outs, [b.element(a, a.all()) for a in x]
    at = out.all()
    interval = b.intervals.op(i, operands, f"{out}[{at}]")
    bits = keeps_bits(i, operands)
    if interval is None:
        b.known[out] = Known(None, bits)
        return
    ranges = b.ranges(i, out, bits)
    b.step(i.name, ranges.each(interval), [ranges], [*x, out])


def mapped(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    lines: List[Statement] = []
    results = b.inline(i.attributes["to_apply"], [b.element(a, a.all()) for a in x], lines)
    defines = []
    for out, result in zip(outs, results):
        b.known[out] = Known(None, result.bits)
        if result.interval is not None:
            defines.append(b.ranges(i, out, result.bits))
            lines.append(Assign(f"{defines[-1]}[{out.all()}]", result.interval))
    if defines:
        b.step(i.name, loops_over((outs[0].count,), lines), defines, x)
    else:
        b.e.begin()


def iota(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    """Set the bounds of an iota. Large indices are not exact in f16 and bf16, but a kernel may keep them in float."""
    (out,), d = outs, i.attributes["iota_dimension"]
    size = i.shape.dims[d]
    if not b.options.excess_precision or size <= {"f16": 2048, "bf16": 256}.get(i.shape.dtype, size):
        return
    indices = indices_of(out.dims)
    at, index = position_of(indices, strides_of(out.dims)), f"(double)(float){indices[d]}"
    ranges = b.ranges(i, out)
    interval = b.intervals.kept(f"range_of({index}, {index})", out.dtype, f"{out}[{at}]")
    b.step(i.name, loops_over(out.dims, [Assign(f"{ranges}[{at}]", interval)]), [ranges], [out])
