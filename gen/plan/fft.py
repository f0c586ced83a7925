"""The stages of a discrete Fourier transform of a given length, by mixed radices or as a convolution.

A length whose prime factors are at most 13 is written as n1 * n2. Element j1 * n2 + j2 is in row j1 and column j2 of a
matrix. There are three steps:
1. Transform all columns, by stages of length n1 whose inner loop is along j2.
2. Multiply result k1 of column j2 by w^(k1 * j2), and transpose the matrix.
3. Transform all columns, by stages of length n2 whose inner loop is along k1.

Result k1 + n1 * k2 is then at position k1 + n1 * k2. The stages are Stockham's: each reads one buffer and writes
another, and the results need no reordering.

Any other length n becomes a convolution, by Bluestein's algorithm. With c(k) = exp(-pi i k^2 / n), the elements are
multiplied by c(j), convolved with b(k) = 1 / c(k), and multiplied by c(k). The convolution is computed by transforms
whose lengths have small prime factors.

w = exp(-2 pi i / n). The generator computes each power of w by itself, because products of roots would add up errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import List, Sequence, Tuple

from gen.hlo import Instruction

LARGEST_RADIX = 13


@dataclass(frozen=True)
class RadixStage:
    """A stage on `stride` interleaved transforms of `length` elements each. Each butterfly reads `radix` elements at a
    distance of stride * length / radix, and writes `radix` elements at a distance of `stride`.
    """

    radix: int
    length: int
    stride: int

    @property
    def blocks(self) -> int:
        return self.length // self.radix


def root(index: int, length: int) -> complex:
    """Return exp(-2 pi i index / length). The angle is reduced to an eighth of the circle, so that both parts are
    accurate to about the last bit.
    """
    eighth, rest = divmod(8 * (index % length), length)
    if eighth % 2:
        rest = length - rest
    angle = math.pi * rest / (4 * length)
    c, s = math.cos(angle), math.sin(angle)
    real, imaginary = ((c, s), (s, c), (-s, c), (-c, s), (-c, -s), (-s, -c), (s, -c), (c, -s))[eighth]
    return complex(real, -imaginary)


@lru_cache(maxsize=None)
def factors(n: int) -> Tuple[int, ...]:
    """Return the prime factors of a number, in ascending order."""
    found, p = [], 2
    while p * p <= n:
        while n % p == 0:
            found.append(p)
            n //= p
        p += 1
    return tuple(found + [n] * (n > 1))


def operations(op: Instruction) -> int:
    """Return the number of real operations of an fft, by the usual count 5 n log2(n)."""
    elements = max(op.operands[0].shape.elements, op.shape.elements)
    return int(5 * elements * sum(math.log2(max(1, length)) for length in op.attributes["fft_length"]))


def is_smooth(n: int) -> bool:
    return all(p <= LARGEST_RADIX for p in factors(n))


def radices(n: int) -> List[int]:
    """Return the radices of a length with small prime factors. Radices 8 and 4 replace factors of 2 where possible."""
    twos, odd = factors(n).count(2), [p for p in factors(n) if p > 2]
    fours = {0: 0, 1: 2, 2: 1}[twos % 3] if twos > 1 else 0
    return [8] * ((twos - 2 * fours) // 3) + [4] * fours + [2] * (twos == 1) + odd


def stages(n: int, stride: int) -> List[RadixStage]:
    made, length = [], n
    for radix in radices(n):
        made.append(RadixStage(radix, length, stride))
        length //= radix
        stride *= radix
    return made


def split(n: int, lanes: int) -> Tuple[int, int]:
    """Return two factors n1 and n2 of a length that are about equal. Multiples of a vector's lanes are preferred if
    they are almost as close to each other.
    """
    def cost(a: int) -> Tuple[int, int]:
        return a + n // a + lanes * (a % lanes > 0) + lanes * (n // a % lanes > 0), a

    if len(radices(n)) < 2:
        return n, 1
    small = [a for a in range(2, math.isqrt(n) + 1) if n % a == 0]
    first = min((a for d in small for a in (d, n // d)), key=cost)
    return first, n // first


def padded(n: int) -> int:
    """Return the length of the transforms by which Bluestein's algorithm for length n computes its convolution."""
    best = 1 << (2 * n - 2).bit_length()
    for odd in (3, 5, 9, 15):
        twos = max(1, -(-(2 * n - 1) // odd))
        best = min(best, odd << (twos - 1).bit_length())
    return best


def chirp(k: int, n: int) -> complex:
    """Return the factor c(k) = exp(-pi i k^2 / n) of the chirp transform."""
    return root(k * k % (2 * n), 2 * n)


def transformed(values: Sequence[complex]) -> List[complex]:
    """Return the discrete Fourier transform of some numbers."""
    n = len(values)
    if n == 1:
        return list(values)
    p = factors(n)[0]
    m = n // p
    parts = [transformed(values[j::p]) for j in range(p)]
    roots = [root(e, n) for e in range(n)]
    return [sum(roots[j * k % n] * parts[j][k % m] for j in range(p)) for k in range(n)]


@lru_cache(maxsize=8)
def kernel_of_convolution(n: int, m: int) -> Tuple[complex, ...]:
    """Return the transform of length m of b(k) / m, where b(k) = 1 / c(k) and c is `chirp`. Bluestein's algorithm for
    length n convolves with b.
    """
    b = [0j] * m
    for k in range(n):
        b[k] = b[-k if k else 0] = chirp(k, n).conjugate() / m
    return tuple(transformed(b))
