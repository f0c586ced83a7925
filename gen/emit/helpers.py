"""The helpers of a generated file: small functions, and tables of constants."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Sequence, Tuple

from gen.emit import ops, register_tiles
from gen.emit.templates import macro
from gen.hlo import Instruction, c_identifier, dtypes
from gen.schedule import PIECES, VECTOR_BITS
from gen.targets import COMPLEX, NARROW, SMALL, TINY, Target, bits


@dataclass
class Helpers:
    """The small functions and tables that the code of a file uses. Each is written once, after those that it calls."""

    target: Target
    texts: Dict[str, str] = field(default_factory=dict)
    tables: Dict[str, Tuple[str, str]] = field(default_factory=dict)
    # for each function, the arguments with which its text was written
    _made_for: Dict[str, object] = field(default_factory=dict)

    def need(self, name: str, *about: str) -> str:
        title = "_".join((name, *about))
        if title not in self.texts:
            text = ops.helper(self.target, self.need, name, *about)
            self.texts.pop(title, None)
            self.texts[title] = text
        return title

    def _of_registers(self, name: str, dtype: str, lanes: int, write: "Callable[..., str]", *about: Any,
                      **more: Any) -> str:
        """Add a C function to the file if it is not there yet, and return its name.

        write: the function of gen/emit/register_tiles.py that returns the C text.
        about: the arguments of `write` after the target.
        """
        self.vector(dtype, lanes)
        self.texts.setdefault("tiles", register_tiles.prelude())
        assert self._made_for.setdefault(name, (about, more)) == (about, more), f"two functions are called {name}"
        if name not in self.texts:
            self.texts[name] = write(self.target, *about, name=name, **more)
        return name

    def tile(self, verb: str, dtype: str, lanes: int, rows: int, index_type: str, piece: int = 16, group: int = 0,
             distance: int = 0) -> str:
        """Return the name of a function that loads or stores a tile.

        piece: the maximum number of bytes of a row that one load reads.
        group: the number of adjacent lanes whose elements are at a constant distance in memory; 0: all lanes.
        distance: the prefetch distance in elements.
        """
        d, width = self.target, bits(dtype)
        # Tiles of small elements, whose rows are whole cache lines, are read a line at a time. If a line were read in
        # parts, loads of other rows could evict it from L1 before the next part is read. (This happens if rows are a
        # power of two apart in memory.)
        if verb == "load" and 8 * piece == lanes * width == rows * width == VECTOR_BITS and width < 32 and not group:
            return self._load_lines(dtype, index_type, distance)
        name = f"{verb}_u{width}_{lanes}x{rows}" + (f"_by{piece}" if piece < lanes * width // 8
                                                    else "") + ("" if index_type == "uint" else f"_{index_type}")
        name += (f"_each{group}" if group else "") + (f"_prefetch{distance}" if distance else "")
        about = width, lanes, rows, d.index[index_type]
        if verb == "store":
            return self._of_registers(name, f"u{width}", lanes, register_tiles.store_tile, *about, group=group)
        return self._of_registers(name, f"u{width}", lanes, register_tiles.load_tile, *about, piece=piece, group=group,
                                  distance=distance)

    def load_pieces(self, dtype: str, spacing: int, index_type: str, distance: int) -> str:
        """Return the name of a function that loads rows of one cache line each. distance: the prefetch distance in
        elements.
        """
        width = bits(dtype)
        return self._of_registers(f"load_pieces_{_about_pieces(width, spacing, index_type, distance)}", f"u{width}",
                                  VECTOR_BITS // width, register_tiles.load_pieces, width, spacing,
                                  self.target.index[index_type], distance)

    def _load_lines(self, dtype: str, index_type: str, distance: int) -> str:
        """Return the name of a function that loads a tile of small elements whose rows are whole cache lines."""
        width, load = bits(dtype), self.load_pieces(dtype, PIECES, index_type, distance)
        about = _about_pieces(width, PIECES, index_type, distance)
        return self._of_registers(f"load_lines_{about}", f"u{width}", VECTOR_BITS // width, register_tiles.load_lines,
                                  width, self.target.index[index_type], load, self.join_pieces(width))

    def join_pieces(self, width: int) -> str:
        """Return the name of a function that transposes the 16-byte pieces of four cache lines: line p of its results
        consists of piece p of each of the four lines.
        """
        return self._of_registers(f"join_pieces_u{width}", f"u{width}", VECTOR_BITS // width,
                                  register_tiles.join_pieces, width)

    def interleave(self, width: int, rows: int, inverse: bool, lanes: int = 0) -> str:
        """Return the name of a function that interleaves registers, or, if `inverse`, separates interleaved registers.

        lanes: the number of lanes of a register; 0: a register is a cache line.
        """
        lanes = lanes or VECTOR_BITS // width
        name = f"{'separate' if inverse else 'interleave'}_u{width}_{rows}" + f"x{lanes}" * (lanes * width != VECTOR_BITS)
        if lanes * width == VECTOR_BITS and rows & (rows - 1) == 0:
            return self._of_registers(name, f"u{width}", lanes, register_tiles.interleave, width, rows, inverse)
        return self._of_registers(name, f"u{width}", lanes, register_tiles.spread, width, lanes, rows, inverse)

    def need_parts(self, kind: str) -> None:
        """Add the type parts_KIND and its functions to the file. kind: a vector type of 16 floats."""
        self.texts.setdefault("tiles", register_tiles.prelude())
        self.texts.setdefault(f"parts_{kind}", macro("parts/reduction_cpu.j2", "parts_of", kind=kind))

    def shuffle(self, name: str, dtype: str, lanes: int, picks: "Sequence[int]", two: bool = True,
                lane: str = "") -> str:
        """Return the name of a function that picks lanes of one register or of two."""
        self.texts.setdefault("tiles", register_tiles.prelude())
        if name not in self.texts:
            self.texts[name] = register_tiles.shuffle(self.target, dtype, lanes, picks, two, lane, name)
        return name

    def load_strided(self, width: int, lanes: int, stride: int) -> str:
        """Return the name of a function that loads a vector of elements that are `stride` apart; -1: in reverse."""
        name = f"load_u{width}_{lanes}_{f'each{stride}' if stride > 0 else 'backwards'}"
        return self._of_registers(name, f"u{width}", lanes, register_tiles.load_strided, width, lanes, stride)

    def join(self, dtype: str, lanes: int, parts: int) -> str:
        """Return the name of a function that joins several registers to one."""
        return self._of_registers(f"join_{dtype}_{lanes}x{parts}", dtype, lanes * parts, register_tiles.join,
                                  bits(dtype), lanes, parts)

    def numbers(self, lanes: int) -> str:
        """Return the name of a function that returns 0, 1, 2, .. in the lanes of a vector."""
        name = f"numbers_{lanes}"
        if name not in self.texts:
            self.texts[name] = register_tiles.numbers(self.target, lanes, name)
        return name

    def vector(self, dtype: str, lanes: int) -> None:
        """Add the definition of a vector type if the language does not have the type."""
        text = "" if self.target.declares_vectors else register_tiles.typedef(self.target, bits(dtype), lanes)
        if text:
            self.texts = {f"type_{dtype}_{lanes}": text, **self.texts}

    def table(self, instruction: Instruction) -> str:
        """Add the table of a constant array, in the order of its layout, and return its name."""
        for name, (key, _) in self.tables.items():
            if key == str(id(instruction)):
                return name
        d = self.target
        name = f"c_{c_identifier(instruction.name)}"
        while name in self.tables:
            name += "_"
        literal = instruction.literal or []
        dtype = table_type(instruction)
        items = [f"{pattern}" if dtype in SMALL + TINY else d.parts(pattern, dtype) if dtype in COMPLEX
                 else d.literal(pattern, dtype) for pattern in literal]
        lines, line = [], ""
        for item in items:
            if len(line) + len(item) > 100:
                lines.append(line)
                line = ""
            line += ", " * bool(line) + item
        self.add_table(name, str(id(instruction)), d.memory(dtype), [*lines, line])
        return name

    def add_table(self, name: str, key: str, type: str, lines: "Sequence[str]") -> None:
        """Add a table. key: identifies the content. type: the C type of an element. lines: the values, as C text."""
        self.tables[name] = key, macro("parts/table.j2", "table", d=self.target, type=type, name=name, lines=lines)


def _about_pieces(width: int, spacing: int, index_type: str, distance: int) -> str:
    """Return the suffix of the name of a function that loads rows of one cache line."""
    return f"u{width}_by{spacing}" + f"_{index_type}" * (index_type != "uint") + f"_prefetch{distance}" * bool(distance)


def table_type(constant: Instruction) -> str:
    """Return the type of the elements in a constant's table. A packed integer takes a byte. If a float is infinite or
    NaN, the table contains bits, because such values are not constant expressions in C.
    """
    dtype = constant.shape.dtype
    if dtype in NARROW:
        return f"{dtype[0]}8"
    if dtype in ("f32", "f64") and any(dtypes.is_nan(x, dtype) or dtypes.is_infinite(x, dtype) for x in constant.literal
                                       or []):
        return f"u{bits(dtype)}"
    return dtype
