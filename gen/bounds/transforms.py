"""Discrete Fourier transforms. The error of each element is at most the 2-norm of all errors, and that norm is
bounded.
"""

from __future__ import annotations

import math
from typing import List

from gen.bounds.following import Bounds
from gen.bounds.types import LARGEST, LEAST, SIGNIFICANT
from gen.statements import Assign
from gen.hlo import Instruction
from gen.reference.library import statements
from gen.reference.loops import Index, loops, position_of, strides_of
from gen.reference.transforms import passes
from gen.reference.types import to_double
from gen.reference.values import Array

# a length with a larger prime factor is transformed by a convolution of at most four times as many elements
LARGEST_FACTOR = 13


def rounding(n: int) -> float:
    """Return c, where c * u * (2-norm of the exact transform) bounds the 2-norm of the error of a transform of n
    elements. u is half an ulp of 1.

    A stage of radix 2 adds less than 8 to c if the roots of unity are accurate to 1.5 u (Higham, Accuracy and
    Stability of Numerical Algorithms, 2nd ed., theorem 24.2). By the same proof, a stage of a prime radix p, with sums
    of p terms, adds (p + 6) sqrt(p). A multiplication by roots that are products of three roots adds at most 24. A
    convolution consists of two transforms and three multiplications. One of these is by the transform of a fixed
    sequence; the magnitudes in this transform are at most 4 times their mean.
    """
    if n < 2:
        return 1.0
    total, rest, p = 24.0, n, 2
    while rest > 1 and p <= LARGEST_FACTOR:
        if rest % p:
            p += 1
        else:
            rest //= p
            total += 8.0 if p == 2 else (p + 6) * math.sqrt(p)
    return total if rest == 1 else 4 * (2 * (24.0 + 11.0 * math.log2(4 * n)) + 16)


def fft(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    axes, dtype = passes(i, x[0].dims), outs[0].dtype
    count = math.prod(n for _, n, _ in axes)
    first = min(d for d, _, _ in axes)
    ranges = [b.ranges(i, out, False) for out in outs]
    inverse, twice = i.attributes["fft_type"] in ("IFFT", "IRFFT"), i.attributes["fft_type"] == "IRFFT"

    def within(dims: "tuple[int, ...]") -> "tuple[List[Index], Index]":
        """Return the index variables of the transformed dimensions, and an element's position as a C expression."""
        names: List[Index] = [0 if size == 1 else f"i{d}" for d, size in enumerate(dims)]
        return names[first:], position_of(names, strides_of(dims))

    names, at = within(x[0].dims)
    weight = "2.0 * " if twice else ""
    inner: List[str] = []
    for part in x:
        value = to_double(b.e.call, part.dtype, f"{part}[{at}]")
        inner += statements("sum_of_error", value=value)
        inner += [] if b.exact(part) else statements("sum_of_slack", value=value, interval=b.interval(part, at))
    sums, limits = loops(names, x[0].dims[first:], inner), sum(rounding(n) for _, n, _ in axes)
    names, at = within(outs[0].dims)
    lines = []
    for out, interval in zip(outs, ranges):
        value = to_double(b.e.call, dtype, f"{out}[{at}]")
        near = f"fits ? range_of({value} - error, {value} + error) : range_all()"
        lines.append(Assign(f"{interval}[{at}]", b.intervals.rounded(near, dtype, f"{out}[{at}]")))
    body = statements("transform", sums=sums, significant=SIGNIFICANT[dtype], weight=weight, limits=f"{limits:.6g}",
                      root=f"{math.sqrt(count):.17g}", scale=f" / {count}.0" if inverse else "",
                      subnormals=f"{32 * count}.0", least=LEAST[dtype], largest=LARGEST[dtype],
                      intervals=loops(names, outs[0].dims[first:], lines))
    batch = x[0].dims[:first]
    b.step(i.name, loops([f"i{d}" for d in range(first)], batch, body), ranges, [*x, *outs])
