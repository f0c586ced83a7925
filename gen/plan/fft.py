"""The stages of a discrete Fourier transform of one length: by mixed radices, or as a convolution.

A length whose prime factors are at most 13 is written as n1 * n2. Element j1 * n2 + j2 is in row j1. First all columns
are transformed (stages of length n1, with the inner loop along j2). Then result k1 of each column j2 is multiplied by
w^(k1 * j2), the matrix is transposed, and all of its columns are transformed (length n2, along k1). Result
k1 + n1 * k2 is then at its place. Stages are Stockham's: each goes from one buffer to another, and nothing needs
reordering at the end.

Any other length n becomes a convolution (Bluestein): the elements are multiplied by c(j), convolved with
b(k) = 1 / c(k), and multiplied by c(k) again, with c(k) = exp(-pi i k^2 / n). Transforms whose length has small prime
factors compute the convolution.

The generator computes each root of unity separately; w = exp(-2 pi i / n).
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
    """A stage that combines `stride` transforms, interleaved, of `length` elements each. It reads `radix` elements at
    distances of stride * length / radix, and writes them at distances of `stride`.
    """

    radix: int
    length: int
    stride: int

    @property
    def blocks(self) -> int:
        return self.length // self.radix


def root(index: int, length: int) -> complex:
    """Return w^index, reduced to an eighth of the circle so that its parts are accurate to about the last bit."""
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
    """Return the radices of a length of small prime factors; 8 and 4 replace twos if possible."""
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
    """Return n1 and n2 for a length: about equal, and multiples of a vector's lanes if that is close."""
    def cost(a: int) -> Tuple[int, int]:
        return a + n // a + lanes * (a % lanes > 0) + lanes * (n // a % lanes > 0), a

    if len(radices(n)) < 2:
        return n, 1
    small = [a for a in range(2, math.isqrt(n) + 1) if n % a == 0]
    first = min((a for d in small for a in (d, n // d)), key=cost)
    return first, n // first


def padded(n: int) -> int:
    """Return the length of the transforms in a convolution for length n."""
    best = 1 << (2 * n - 2).bit_length()
    for odd in (3, 5, 9, 15):
        twos = max(1, -(-(2 * n - 1) // odd))
        best = min(best, odd << (twos - 1).bit_length())
    return best


def chirp(k: int, n: int) -> complex:
    """Return c(k)."""
    return root(k * k % (2 * n), 2 * n)


def transformed(values: Sequence[complex]) -> List[complex]:
    """Return the transform of values, computed by the same radices."""
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
    """Return the transform of b, divided by m, the length of the transforms."""
    b = [0j] * m
    for k in range(n):
        b[k] = b[-k if k else 0] = chirp(k, n).conjugate() / m
    return tuple(transformed(b))
