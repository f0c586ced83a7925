"""How the elements of a step lie in memory: as words, as whole vectors, as rows of a register tile."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

from gen import algebra
from gen.emit.registers import Registers
from gen.emit.statements import Declare
from gen.emit.text import joined, offset, term
from gen.emit.values import NotWide
from gen.plan.partition import Region, compose
from gen.targets import bits


class Pitch(NamedTuple):
    """What a tile's lanes are apart in memory, in joined elements: one stride; or, where `each` is not 0, that of `each`
    lanes, then that from the first of these to the first of the next."""

    strides: Tuple[int, ...]
    each: int = 0


class Accesses(Registers):
    """What maps say of a step's accesses; loads and stores ask the same."""

    def stored(self, dtype: str) -> str:
        """The type of an element in this body: its own, or its bits."""
        return f"u{bits(dtype) * self.loop.joined}" if self.moves else dtype

    def _element(self, pointer: str, dtype: str, at: str, constant: str = "") -> str:
        """Where an element is; of the type as which it is moved."""
        return f"({constant}{self.d.pointer}{self.d.types[dtype]} *)({offset(pointer, at)})" if self.moves else offset(
            pointer, at)

    def open(self, region: Region) -> bool:
        """Whether what a region reads can be read before a step's loops."""
        return region is self.function.body or region in self._open

    def turned(self, flat: str, region: Region) -> bool:
        """Whether an access of a tile is contiguous along the tile's rows, not along its lanes."""
        if not self.loop.tile or not self.open(region):
            return False
        return self.pitch(flat) is not None and self.stride(flat, "vec")[0] == self.loop.joined

    def pitch(self, flat: str) -> Optional[Pitch]:
        """What a tile's lanes are apart in memory, where they are not neighbours."""
        unit, (stride, align) = self.loop.joined, self.stride(flat, "lane")
        if stride is not None and align % unit:
            raise NotWide
        if stride is not None:
            return Pitch((stride // unit,)) if stride > unit and stride % unit == 0 else None
        each = 2
        while each < self.lanes:
            (low, align), (high, _) = self._split(flat, "lane", each)
            if low is not None and high is not None and low > 0 and high > 0 and not (
                    low % unit or high % unit or align % unit):
                return Pitch((low // unit, high // unit), each)
            each *= 2
        return None

    def _split(self, flat: str, name: str, each: int) -> "Tuple[Tuple[Optional[int], int], Tuple[Optional[int], int]]":
        """Stride and alignment of a map along a variable modulo `each`, and along the quotient by `each`."""
        variables, size = algebra.info(flat).variables, self.box[name][1] + 1
        others = [v for v in variables if v.name != name]
        domain = [f"{v.name} in [{v.lo}, {v.hi}]"
                  for v in others] + [f"low in [0, {each - 1}]", f"high in [0, {size // each - 1}]"]
        split = ", ".join(f"low + high * {each}" if v.name == name else v.name for v in variables)
        whole = algebra.rename(algebra.call("map", "dims", flat), *(f"x{k}" for k in range(len(variables))))
        digits = compose(
            algebra.simplify(
                f"({', '.join([*(v.name for v in others), 'low', 'high'])}) -> ({split}), domain: {', '.join(domain)}"
            ),
            whole,
        )
        return self.stride(digits, "low"), self.stride(digits, "high")

    def _rows_of_words(self, flat: str, dtype: str) -> bool:
        """Whether each row of an interleaved step of single elements is 16 contiguous bytes."""
        n, size = self.loop.interleaved_rows, bits(dtype) // 8
        if n == 1 or self.loop.step * size % (16 * n):
            return False
        (low, _), (high, align) = self._split(flat, "vec", n)
        return low is not None and high == 1 and align * size % 16 == 0

    def _in_rows(self) -> str:
        """The number of an interleaved step's element, where the rows lie one after the other."""
        n = self.loop.interleaved_rows
        return f"vec % {n} * {self.loop.step // n} + vec / {n}"

    def _row_words(self, pointer: str, flat: str, dtype: str, name: str, constant: str) -> "List[Tuple[str, str]]":
        """The words of an interleaved step: in the union that is declared here, and in memory."""
        n, each = self.loop.interleaved_rows, self.loop.step * bits(dtype) // 8 // 16 // self.loop.interleaved_rows
        kind = self.d.register("u32", 4)
        self.before.add(self._union(kind, n * each, dtype, name))
        return [(f"{name}.word[{row * each + k}]",
                 f"*(({constant}{self.d.pointer}{kind} *)({joined(self.d, pointer, self.c(flat, vec=row)[0])})"
                 + (f" + {k})" if k else ")")) for row in range(n) for k in range(each)]

    def _union(self, kind: str, count: int, dtype: str, name: str) -> Declare:
        """The union of `count` words and a step's elements."""
        return Declare(f"union {{ {kind} word[{count}]; {self.d.memory(dtype)} at[{self.loop.step}]; }}", name)

    @property
    def registers_down(self) -> int:
        """Registers along the lanes in each row of a step."""
        return self.box["down"][1] + 1 if "down" in self.box else 1

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
        variables, turns, each = algebra.info(flat).variables, self.loop.turns, self.loop.turns // self.registers_down
        first = {"vec": "0", "lane": f"turn mod {each} * {self.lanes // each}", "down": f"turn floordiv {each}"}
        domain = [f"{v.name} in [{v.lo}, {v.hi}]" for v in variables if v.name not in first] + [f"turn in [0, {turns - 1}]"]
        place = algebra.simplify(f"({', '.join([*(v.name for v in variables if v.name not in first), 'turn'])}) -> "
                                 f"({', '.join(first.get(v.name, v.name) for v in variables)}), domain: {', '.join(domain)}")
        return compose(place, algebra.rename(algebra.call("map", "dims", flat), *(f"x{k}" for k in range(len(variables)))))

    def _in_words(self, dtype: str, stride: "Optional[int]") -> bool:
        """Whether the elements that are interleaved fill 32-bit words."""
        return self.loop.interleaved > 1 and stride == self.loop.interleaved and not self.moves and bits(
            dtype) * self.loop.interleaved == 32

    def _spread(self, flat: str, region: Region) -> bool:
        """Whether neighbours of an access are spread over the registers of a step, by shuffles."""
        if (
            self.loop.interleaved_rows == 1
            or not self.open(region)
            or self.stride(flat, "lane")[0] != self.loop.interleaved_rows
        ):
            return False
        start = algebra.substitute(flat, lane=0)
        return self.stride(start, "vec")[0] == 1

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

    @property
    def _start(self) -> "Dict[str, int]":
        """The variables of a step at its first element."""
        return {"lane": 0, "vec": 0, **({"down": 0} if self.registers_down > 1 else {}),
                **({"fused": 0} if self.loop.fused_steps > 1 else {})}

    def _word(self, flat: str, dtype: str) -> "Optional[Tuple[str, int]]":
        """The widest word, at most 16 bytes, whose alignment the map proves for a step's elements."""
        align = self.stride(flat, "vec")[1]
        size, total = 16, self.loop.step * bits(dtype) // 8
        while size > bits(dtype) // 8 and (total % size or align * (bits(dtype) // 8) % size):
            size //= 2
        if size <= bits(dtype) // 8 or not self.d.words:
            return None
        return self.d.register("u16") if size == 2 else self.d.register("u32", size // 4), size
