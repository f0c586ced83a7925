"""Values for constants that a module's text leaves out: `constant({...})`."""

from __future__ import annotations

import random
from typing import Callable, List, Sequence, Union, overload

from gen.hlo import dtypes
from gen.hlo.graph import Module

PERIOD = 4093   # number of values before they repeat; a prime, so that rows differ


class Filled(Sequence[int]):
    """Repeating bit patterns of moderate values: floats between -1 and 1 (scales: from 1/8 to 8), integers from 0 to 63
    as far as the type allows. The memory does not grow with the number of elements."""

    def __init__(self, dtype: str, count: int, seed: str) -> None:
        draw = random.Random(seed).random     # random() with a text seed is the same in every Python version
        self.elements = count
        self.values = [_pattern(dtype, draw) for _ in range(min(count, PERIOD))]

    def __len__(self) -> int:
        return self.elements

    @overload
    def __getitem__(self, at: int) -> int: ...

    @overload
    def __getitem__(self, at: slice) -> List[int]: ...

    def __getitem__(self, at: "Union[int, slice]") -> "Union[int, List[int]]":
        if isinstance(at, slice):
            return [self.values[k % PERIOD] for k in range(*at.indices(self.elements))]
        if not -self.elements <= at < self.elements:
            raise IndexError(at)
        return self.values[at % self.elements % PERIOD]


def _pattern(dtype: str, draw: Callable[[], float]) -> int:
    about = dtypes.TABLE[dtype]
    if about.kind == "complex":
        real, imaginary = (dtypes.decode_real(_pattern(about.part, draw), about.part) for _ in range(2))
        return dtypes.encode(complex(real, imaginary), dtype)
    if about.kind == "float":
        return dtypes.encode(8.0 ** (2 * draw() - 1) if about.style == "scale" else 2 * draw() - 1, dtype)
    most = 1 if about.kind == "pred" else min(63, dtypes.integer_range(dtype)[1])
    return int(draw() * (most + 1))


def fill_constants(module: Module, seed: int) -> None:
    """Give random values to the constants whose values the text leaves out. The values depend only on `seed` and on the
    constant's number. If there are such constants, the module's field `filled` becomes a sentence about them.
    """
    left_out = [i for computation in module.computations for i in computation.instructions if i.opcode == "constant"
                and i.literal is None and i.shape.kind == "array" and i.shape.dtype in dtypes.TABLE]
    for number, constant in enumerate(left_out):
        constant.literal = Filled(constant.shape.dtype, constant.shape.elements, f"{seed} {number}")
    if left_out:
        values = f"{len(left_out)} constant" + ("s have" if len(left_out) > 1 else " has")
        module.filled = f"{values} drawn values, as the text leaves out its own (--fill-constants {seed}): results are of no use but for tests and timing"
