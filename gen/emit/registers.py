"""Values in registers: their declarations, splats, rounding, and conversions from and to the format in memory."""

from __future__ import annotations

from typing import List

from gen.emit.state import State
from gen.statements import Assign, Declare, If, Let, Statement
from gen.emit.values import Value
from gen.targets import TINY, bits


class Registers(State):
    """A `State` with the methods that declare, round and convert values in registers."""

    def type(self, dtype: str, lanes: int = 1, bits: bool = False) -> str:
        return self.d.register("u16" if bits else dtype, lanes)

    def splat(self, value: Value) -> str:
        if value.lanes == self.lanes:
            return value.text
        return self.d.splat("u16" if value.bits else value.dtype, self.lanes, value.text)

    def declare(self, of: str, dtype: str, lanes: int, text: str, bits: bool = False) -> Value:
        name = self.name(of)
        self.text.add(self._let(self.type(dtype, lanes, bits), name, text))
        return Value(name, dtype, lanes, bits)

    def _let(self, kind: str, name: str, text: str) -> Statement:
        """Return the declaration of a variable that never changes. It is `const`, except in templates of C++: nvcc
        substitutes a `const` variable's value at each use there, so that its compile time doubles with each step of a
        long chain.
        """
        return (Declare if self.d.chooses_words else Let)(kind, name, text)

    def real(self, value: Value) -> Value:
        """Return an f16 in memory format as a float. Other values are returned unchanged."""
        if not value.bits:
            return value
        wide = () if value.lanes == 1 else (str(value.lanes),)
        # a value from memory is rounded already
        return Value(f"{self.helpers.need('value', 'f16', *wide)}({value.text})", "f16", value.lanes)

    def without_excess(self, value: Value, of: str) -> Value:
        """Return a value rounded to its type."""
        return value if value.rounded else self.declare(of, value.dtype, value.lanes,
                                                        self.round(value.text, value.dtype, value.lanes,
                                                                   value.short_nan and value.lanes > 1))

    def moved(self, value: Value) -> Value:
        """Return a value in the form in which a move stores it: rounded to its type, and in memory format if it is an
        f16.
        """
        value = self.without_excess(value, "rounded")
        if value.dtype != "f16" or value.bits:
            return value
        wide = () if value.lanes == 1 else (str(value.lanes),)
        return Value(f"{self.helpers.need('bits', 'f16', *wide)}({value.text})", "f16", value.lanes, True)

    def by_lane(self, of: str, dtype: str, text: str, bits: bool = False, index: str = "", where: str = "",
                whole: str = "") -> Value:
        """Return a vector whose lanes are computed one after another.

        text: a scalar expression that contains the variable `lane`.
        index: the map from which the expression was printed.
        where, whole: if the condition `where` holds, the expression `whole` computes all lanes at once.
        """
        name, lanes, t = self.name(of), self.name(f"{of}_l"), self.type(dtype, 1, bits)
        wide, gathered = self.type(dtype, self.lanes, bits), self.d.gather("u16" if bits else dtype, self.lanes, lanes)
        lane_by_lane: "List[Statement]" = [Declare(t, lanes, count=self.lanes),
                                           self.each_lane(Assign(f"{lanes}[lane]", text), index)]
        if whole:
            one_by_one = [*lane_by_lane, Assign(name, gathered)]
            self.text.add(Declare(wide, name), If(where, [Assign(name, whole)], one_by_one, brief=True))
        else:
            self.text.add(*lane_by_lane, self._let(wide, name, gathered))
        return Value(name, dtype, self.lanes, bits)

    def round(self, text: str, dtype: str, lanes: int, plain: bool = False) -> str:
        wide = () if lanes == 1 else (str(lanes),)
        return f"{self.helpers.need('round_plain' if plain else 'round', dtype, *wide)}({text})"

    def _lane_array(self, value: Value, of: str) -> str:
        """Store the lanes of a value in an array, and return the C text of lane `lane`. of: the beginning of the
        array's name.
        """
        if value.lanes == 1:
            return value.text
        name = self.name(of)
        self.text.add(Declare(self.type(value.dtype, 1, value.bits), name, count=self.lanes),
                      self.d.scatter("u16" if value.bits else value.dtype, self.lanes, value.text, name))
        return f"{name}[lane]"

    def of_bits(self, dtype: str, text: str, lanes: int) -> str:
        """Return a vector from the bits that represent it in memory."""
        width = f"u{bits(dtype)}"
        if dtype == "bf16":
            return self.d.reinterpret(f"{self.d.convert('u32', lanes, text)} << 16", "u32", "f32", lanes)
        return text if dtype in ("f16", "pred", width) else self.d.reinterpret(text, width, dtype, lanes)

    def to_bits(self, dtype: str, text: str, lanes: int) -> str:
        """Return the bits that represent a vector in memory."""
        width = f"u{bits(dtype)}"
        if dtype == "bf16":
            return self.d.convert("u16", lanes, f"{self.d.reinterpret(text, 'f32', 'u32', lanes)} >> 16")
        return text if dtype in ("f16", "pred", width) else self.d.reinterpret(text, dtype, width, lanes)

    def from_memory(self, dtype: str, text: str) -> str:
        """Return the C text of a register's value from an element in memory. An f16 stays in memory format."""
        return f"{self.helpers.need('value', dtype)}({text})" if dtype == "bf16" or dtype in TINY else text

    def to_memory(self, value: Value) -> str:
        value = self.moved(value)
        return (f"{self.helpers.need('bits', value.dtype)}({value.text})" if value.dtype == "bf16"
                or value.dtype in TINY else value.text)
