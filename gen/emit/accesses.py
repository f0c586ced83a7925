"""Access the elements of a step: as words, as whole vectors, or as rows of a register tile."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from gen import algebra
from gen.emit.registers import Registers
from gen.statements import Declare
from gen.hlo import dtypes
from gen.plan.partition import Region, compose
from gen.targets import bits


class Words(NamedTuple):
    """The words in which the elements of a step are accessed.

    element: the C text of an element, as a member of a union of words and elements.
    places: for each word, the arguments of `Target.word_load` and `Target.word_store`.
    bytes: the number of bytes of a word.
    """

    element: str
    places: "List[Tuple[str, str, str, int]]"
    bytes: int


def from_register(array: str, number: int) -> str:
    """Return the C text of a pointer to element `number` of an array of registers."""
    return f"{array} + {number}" if number else array


class Accesses(Registers):
    """The addresses and words of a step's accesses. Loads and stores both use them."""

    def _element(self, pointer: str, dtype: str, flat: str, constant: str = "") -> str:
        """Return the address of the element at lane 0. If the step only moves elements, the address is a pointer to
        unsigned integers.
        """
        at = self.first_address(pointer, flat)
        return f"({constant}{self.space(pointer)}{self.d.types[dtype]} *)({at})" if self.moves else at

    def _in_rows(self) -> str:
        """Return, as C text, the index of element `vec` of a step in the union of `_words_of`. The elements of a step
        belong to the rows in turn: element 0 to row 0, element 1 to row 1, and so on. The union contains the rows one
        after the other.
        """
        n = self.loop.interleaved_rows
        return f"vec % {n} * {self.loop.step // n} + vec / {n}"

    def _words_of(self, pointer: str, flat: str, dtype: str, region: Region) -> "Optional[Words]":
        """Return the words in which a step of single elements is accessed, and declare a union of these words and the
        elements. A word is as wide as the map's alignment allows, and at most 16 bytes. Return None if the elements are
        accessed one by one.
        """
        step, size, rows, element = self.loop.step, 0, 1, "vec"
        if self.lanes > 1 or step == 1 or not self.d.words or dtype in dtypes.PACKED \
                or (pointer, flat) in self.staged or not self.open(region):
            return None
        if self.stride(flat, "vec")[0] == 1:
            size = self.word_bytes(flat, dtype)
        elif self.rows_of_words(flat, dtype):
            size, rows, element = 16, self.loop.interleaved_rows, self._in_rows()
        if not size:
            return None
        name, kind = self.name(pointer, "w_"), self.d.register("u16") if size == 2 else self.d.register("u32", size // 4)
        kind, declared = self.d.union_word(name, kind, size, dtype)
        per_row = step * bits(dtype) // 8 // size // rows
        self.before.add(*declared, Declare(
            f"union {{ {kind} word[{rows * per_row}]; {self.d.memory(dtype)} at[{step}]; }}", name))
        return Words(f"{name}.at[{element}]", [
            (f"{name}.word[{row * per_row + k}]", kind, self.word_address(pointer, flat, vec=row), k) for row in range(rows) for k in range(per_row)], size)

    @property
    def _in_tile(self) -> str:
        """Return the number of the current register among the registers of all tiles of a step."""
        return f"down * {self.loop.vec} + vec" if self.registers_down > 1 else "vec"

    def _tiles(self, pointer: str, flat: str) -> List[str]:
        """Return, for each tile of a step, the address of its first element."""
        return [self.address(pointer, flat, lane=0, vec=0, **({"down": down} if self.registers_down > 1 else {}))
                for down in range(self.registers_down)]

    def _at_turn(self, flat: str) -> str:
        """Return the map from the number of a load to the position of the first row that it reads. A tile is loaded by
        `turns` loads, each of several rows.
        """
        variables, turns = algebra.info(flat).variables, self.loop.turns
        across = turns // self.registers_down
        first = {"vec": "0", "lane": f"turn mod {across} * {self.lanes // across}", "down": f"turn floordiv {across}"}
        domain = [f"{v.name} in [{v.lo}, {v.hi}]" for v in variables if v.name not in first] + [f"turn in [0, {turns - 1}]"]
        place = algebra.simplify(f"({', '.join([*(v.name for v in variables if v.name not in first), 'turn'])}) -> "
                                 f"({', '.join(first.get(v.name, v.name) for v in variables)}), domain: {', '.join(domain)}")
        return compose(place, algebra.rename(algebra.call("map", "dims", flat), *(f"x{k}" for k in range(len(variables)))))

    def _spread_registers(self, pointer: str, flat: str, down: int) -> "Tuple[List[str], bool]":
        """Return the addresses of the whole vectors that contain a step's interleaved elements. Also return true if
        each address is aligned to a vector.
        """
        n, known = self.loop.interleaved_rows, {
            "lane": 0,
            "vec": 0,
            **({"down": down} if self.registers_down > 1 else {}),
        }
        align = self.stride(algebra.substitute(flat, lane=0), "vec")[1]
        at = self.address(pointer, flat, **known)
        return [f"{at} + {k * self.lanes}" if k else at for k in range(n)], align % self.lanes == 0

    def _part(self, width: int) -> str:
        """Return, as C text, the bit at which the current register's element begins in a 32-bit word. The word contains
        one element of each of several registers.
        """
        return f"{width}u * " + ("vec" if self.index_type == "uint" else f"({self.d.types['u32']})vec")
