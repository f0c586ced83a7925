"""Check a custom call of LAPACK against its routine, before the call becomes an op."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, NamedTuple, NoReturn, Optional, Tuple

from gen.hlo.graph import HloError, Instruction, Shape

Array = Tuple[str, Tuple[int, ...]]     # element type, and sizes of the dimensions


class Op(NamedTuple):
    """The op that replaces a call.

    operands, results: the types and sizes that its operands and results must have
    """

    opcode: str
    attributes: Dict[str, Any]
    operands: "List[Array]"
    results: "List[Array]"


class CheckedCall:
    """A custom call of a LAPACK routine.

    routine: LAPACK's name without its first letter, which stands for the element type
    dtype: the element type
    """

    def __init__(self, filename: str, call: Instruction, routine: str, dtype: str) -> None:
        self.filename, self.call, self.routine, self.dtype = filename, call, routine, dtype

    def fail(self, message: str) -> NoReturn:
        raise HloError(self.filename, self.call.line, self.call.col, f"{self.routine}: {message}")

    def op(self) -> Op:
        """Return the op of the routine. Raise HloError if the call's operands or results do not fit it."""
        op: Op = getattr(self, f"_{self.routine}")()
        if len(self.call.operands) != len(op.operands):
            self.fail(f"expected {len(op.operands)} operands, found {len(self.call.operands)}")
        self._check("operand", [operand.shape for operand in self.call.operands], op.operands)
        self._check("result", self.call.shape.leaves(), op.results)
        return op

    def _check(self, what: str, found: "List[Shape]", wanted: "List[Array]") -> None:
        if len(found) != len(wanted):
            self.fail(f"expected {len(wanted)} {what}s, found {len(found)}")
        for number, (of, (dtype, dims)) in enumerate(zip(found, wanted)):
            if of.kind != "array" or (of.dtype, of.dims) != (dtype, dims):
                self.fail(f"expected {dtype}[{','.join(map(str, dims))}] as {what} {number}, found {of.text}")

    def matrix(self, number: int = 0) -> "Tuple[Tuple[int, ...], int, int]":
        """Return the batch dimensions, the number of rows and the number of columns of an operand."""
        if number >= len(self.call.operands):
            self.fail(f"expected at least {number + 1} operands, found {len(self.call.operands)}")
        of = self.call.operands[number].shape
        if of.kind != "array" or of.rank < 2:
            self.fail(f"expected matrices as operand {number}, found {of.text}")
        return of.dims[:-2], of.dims[-2], of.dims[-1]

    def square(self, number: int = 0) -> "Tuple[Tuple[int, ...], int]":
        batch, rows, columns = self.matrix(number)
        if rows != columns:
            self.fail(f"expected square matrices as operand {number}, found {self.call.operands[number].shape.text}")
        return batch, rows

    def reflectors(self, batch: "Tuple[int, ...]", m: int, n: int) -> int:
        """Return k, the length of tau (operand 1): the reflectors are in the first k columns of an m x n matrix."""
        tau = self.call.operands[1].shape if len(self.call.operands) > 1 else None
        if tau is None or tau.kind != "array" or tau.rank != len(batch) + 1 or not tau.dims[-1] <= n <= m:
            self.fail("expected matrices with at least as many rows as columns, and at most as many factors tau")
        return tau.dims[-1]

    def code(self, key: str, meanings: "Mapping[str, Any]") -> Any:
        """Decode an attribute that holds the ASCII code of a letter: return that letter's entry in `meanings`."""
        letters = " or ".join(f"{ord(letter)} ('{letter}')" for letter in meanings)
        found = self.word(key)
        if found is None or not found.isdigit():
            self.fail(f"expected '{key}' in backend_config, as {letters}")
        letter = chr(int(found)) if int(found) < 128 else ""
        if letter not in meanings:
            self.fail(f"expected {letters} as '{key}', found {found}")
        return meanings[letter]

    def truth(self, key: str) -> bool:
        """Return the value of an attribute that is true or false."""
        found = self.word(key)
        if found not in ("true", "false"):
            self.fail(f"expected '{key}' in backend_config, as true or false")
        return found == "true"

    def word(self, key: str) -> "Optional[str]":
        """Return an attribute's value as text; None if the attribute is missing."""
        raw = self.call.attributes["raw"]
        found = re.search(rf"\b{key}\s*=\s*(\w+)", raw.get("backend_config", "") + raw.get("mhlo.backend_config", ""))
        return found[1] if found else None
