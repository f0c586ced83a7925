"""How the elements of a step lie in memory: as words, as whole vectors, as rows of a register tile."""

from __future__ import annotations

from typing import List, Optional, Tuple

from gen import algebra
from gen.emit.registers import Registers
from gen.emit.statements import Declare
from gen.emit.text import joined, offset, term
from gen.plan.partition import compose
from gen.targets import bits


class Accesses(Registers):
    """What maps say of a step's accesses; loads and stores ask the same."""

    def _element(self, pointer: str, dtype: str, at: str, constant: str = "") -> str:
        """Where an element is; of the type as which it is moved."""
        return f"({constant}{self.d.pointer}{self.d.types[dtype]} *)({offset(pointer, at)})" if self.moves else offset(
            pointer, at)

    def _in_rows(self) -> str:
        """The number of an interleaved step's element, where the rows lie one after the other."""
        n = self.loop.interleaved_rows
        return f"vec % {n} * {self.loop.step // n} + vec / {n}"

    def _row_words(self, pointer: str, flat: str, dtype: str, name: str, constant: str) -> "List[Tuple[str, str]]":
        """The words of an interleaved step: in the union that is declared here, and in memory."""
        n = self.loop.interleaved_rows
        words_per_row = self.loop.step * bits(dtype) // 8 // 16 // n
        kind = self.d.register("u32", 4)
        self.before.add(self._union(kind, n * words_per_row, dtype, name))
        return [(f"{name}.word[{row * words_per_row + k}]",
                 f"*(({constant}{self.d.pointer}{kind} *)({joined(self.d, pointer, self.c(flat, vec=row)[0])})"
                 + (f" + {k})" if k else ")")) for row in range(n) for k in range(words_per_row)]

    def _union(self, kind: str, count: int, dtype: str, name: str) -> Declare:
        """The union of `count` words and a step's elements."""
        return Declare(f"union {{ {kind} word[{count}]; {self.d.memory(dtype)} at[{self.loop.step}]; }}", name)

    @property
    def _in_tile(self) -> str:
        """The number of a register among those of all tiles of a step."""
        return f"down * {self.loop.vec} + vec" if self.registers_down > 1 else "vec"

    def _tiles(self, pointer: str, flat: str) -> List[str]:
        """Where each tile begins."""
        return [offset(pointer, self.c(flat, lane=0, vec=0, **({"down": down} if self.registers_down > 1 else {}))[0])
                for down in range(self.registers_down)]

    def _at_turn(self, flat: str) -> str:
        """The map to where the rows of a turn begin."""
        variables, turns = algebra.info(flat).variables, self.loop.turns
        across = turns // self.registers_down
        first = {"vec": "0", "lane": f"turn mod {across} * {self.lanes // across}", "down": f"turn floordiv {across}"}
        domain = [f"{v.name} in [{v.lo}, {v.hi}]" for v in variables if v.name not in first] + [f"turn in [0, {turns - 1}]"]
        place = algebra.simplify(f"({', '.join([*(v.name for v in variables if v.name not in first), 'turn'])}) -> "
                                 f"({', '.join(first.get(v.name, v.name) for v in variables)}), domain: {', '.join(domain)}")
        return compose(place, algebra.rename(algebra.call("map", "dims", flat), *(f"x{k}" for k in range(len(variables)))))

    def _spread_registers(self, pointer: str, flat: str, down: int) -> "Tuple[List[str], bool]":
        """Where the registers of neighbours lie, and whether each is aligned to its size."""
        n, known = self.loop.interleaved_rows, {
            "lane": 0,
            "vec": 0,
            **({"down": down} if self.registers_down > 1 else {}),
        }
        align = self.stride(algebra.substitute(flat, lane=0), "vec")[1]
        at = self.c(flat, **known)[0]
        return [offset(pointer, f"{term(at)} + {k * self.lanes}" if k else at) for k in range(n)], align % self.lanes == 0

    def _part(self, width: int) -> str:
        """The first bit of a register's elements in the 32-bit words of an interleaved step."""
        return f"{width}u * " + ("vec" if self.index_type == "uint" else f"({self.d.types['u32']})vec")

    def _word(self, flat: str, dtype: str) -> "Optional[Tuple[str, int]]":
        """The widest word, at most 16 bytes, whose alignment the map proves for a step's elements."""
        size = self.word_bytes(flat, dtype)
        if not size or not self.d.words:
            return None
        return self.d.register("u16") if size == 2 else self.d.register("u32", size // 4), size
