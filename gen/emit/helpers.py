"""The small functions and constant tables of a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Sequence, Tuple

from gen.emit import ops, register_tiles
from gen.hlo import Instruction, c_identifier, dtypes
from gen.schedule import PIECES, VECTOR_BITS
from gen.targets import COMPLEX, NARROW, SMALL, TINY, Target, bits


@dataclass
class Helpers:
    """The small functions and tables that bodies need, each once, callees first."""

    target: Target
    texts: Dict[str, str] = field(default_factory=dict)
    tables: Dict[str, Tuple[str, str]] = field(default_factory=dict)

    def need(self, name: str, *about: str) -> str:
        title = "_".join((name, *about))
        if title not in self.texts:
            text = ops.helper(self.target, self.need, name, *about)
            self.texts.pop(title, None)
            self.texts[title] = text
        return title

    def tile(self, verb: str, dtype: str, lanes: int, rows: int, index_type: str, piece: int = 16, group: int = 0,
             distance: int = 0) -> str:
        """A function of gen/emit/register_tiles.py: load or store. group: lanes that follow one another evenly, where
        not all do. distance: prefetch distance in elements."""
        d, width = self.target, bits(dtype)
        # small elements whose rows are lines, read whole: rows a power of two apart do not stay in the first level of a
        # cache while a line is read in parts
        if verb == "load" and 8 * piece == lanes * width == rows * width == VECTOR_BITS and width < 32 and not group:
            return self._load_lines(dtype, index_type, distance)
        name = f"{verb}_u{width}_{lanes}x{rows}" + (f"_by{piece}" if piece < lanes * width // 8
                                                    else "") + ("" if index_type == "uint" else f"_{index_type}")
        name += (f"_each{group}" if group else "") + (f"_prefetch{distance}" if distance else "")
        self.vector(f"u{width}", lanes)
        self.texts.setdefault("tiles", register_tiles.PRELUDE)
        if name not in self.texts:
            self.texts[name] = (
                register_tiles.load_tile(d, width, lanes, rows, d.index[index_type], piece, name, group, distance)
                if verb == "load"
                else register_tiles.store_tile(d, width, lanes, rows, d.index[index_type], name, group)
            )
        return name

    def load_pieces(self, dtype: str, spacing: int, index_type: str, distance: int) -> str:
        """A function of gen/emit/register_tiles.py. distance: prefetch distance in elements."""
        d, width = self.target, bits(dtype)
        name = f"load_pieces_u{width}_by{spacing}" + ("" if index_type == "uint" else f"_{index_type}")
        name += f"_prefetch{distance}" if distance else ""
        self.vector(f"u{width}", VECTOR_BITS // width)
        self.texts.setdefault("tiles", register_tiles.PRELUDE)
        if name not in self.texts:
            self.texts[name] = register_tiles.load_pieces(d, width, spacing, d.index[index_type], distance, name)
        return name

    def _load_lines(self, dtype: str, index_type: str, distance: int) -> str:
        """The tile of small elements whose rows are lines."""
        d, width = self.target, bits(dtype)
        load, join = self.load_pieces(dtype, PIECES, index_type, distance), self.join_pieces(width)
        name = load.replace("pieces", "lines")
        if name not in self.texts:
            self.texts[name] = register_tiles.load_lines(d, width, d.index[index_type], load, join, name)
        return name

    def join_pieces(self, width: int) -> str:
        """A function of gen/emit/register_tiles.py."""
        name = f"join_pieces_u{width}"
        self.vector(f"u{width}", VECTOR_BITS // width)
        self.texts.setdefault("tiles", register_tiles.PRELUDE)
        if name not in self.texts:
            self.texts[name] = register_tiles.join_pieces(self.target, width, name)
        return name

    def interleave(self, width: int, rows: int, inverse: bool, lanes: int = 0) -> str:
        """A function of gen/emit/register_tiles.py. lanes: of a register (0: of a line)."""
        lanes = lanes or VECTOR_BITS // width
        name = f"{'separate' if inverse else 'interleave'}_u{width}_{rows}" + f"x{lanes}" * (lanes * width < VECTOR_BITS)
        self.vector(f"u{width}", lanes)
        self.texts.setdefault("tiles", register_tiles.PRELUDE)
        if name not in self.texts:
            whole = lanes * width == VECTOR_BITS and rows & (rows - 1) == 0
            self.texts[name] = register_tiles.interleave(self.target, width, rows, inverse, name) if whole \
                else register_tiles.spread(self.target, width, lanes, rows, inverse, name)
        return name

    def shuffle(self, name: str, dtype: str, lanes: int, picks: "Sequence[int]", two: bool = True,
                lane: str = "") -> str:
        """A function that picks lanes of one register, or of two. lane: C text of the lane that is picked for lane i,
        where that is simpler than a list."""
        d, order = self.target, ", ".join(map(str, picks))
        kind, element = d.register(dtype, lanes), d.register(dtype)
        arguments = f"{kind} a, {kind} b" if two else f"{kind} a"
        self.texts.setdefault("tiles", register_tiles.PRELUDE)
        self.texts.setdefault(name, (
            f"{d.function} {kind} {name}({arguments})\n{{\n{register_tiles.shuffled(d, dtype, lanes, picks, two)}#else\n"
            + ("" if lane else f"  const int pick[{lanes}] = {{{order}}};\n") +
            f"  {element} x[{lanes * (1 + two)}], y[{lanes}];\n  {d.scatter(dtype, lanes, 'a', 'x')}\n"
            + (f"  {d.scatter(dtype, lanes, 'b', f'(x + {lanes})')}\n" if two else "") +
            f"  for (int i = 0; i < {lanes}; ++i) y[i] = x[{lane or 'pick[i]'}];\n"
            f"  return {d.gather(dtype, lanes, 'y')};\n#endif\n}}\n"))
        return name

    def load_apart(self, width: int, lanes: int, stride: int) -> str:
        """A function of gen/emit/register_tiles.py."""
        name = f"load_u{width}_{lanes}_{f'each{stride}' if stride > 0 else 'backwards'}"
        self.vector(f"u{width}", lanes)
        self.texts.setdefault("tiles", register_tiles.PRELUDE)
        if name not in self.texts:
            self.texts[name] = register_tiles.load_apart(self.target, width, lanes, stride, name)
        return name

    def join(self, dtype: str, lanes: int, parts: int) -> str:
        """A function that makes one register of several."""
        name = f"join_{dtype}_{lanes}x{parts}"
        self.vector(dtype, lanes * parts)
        self.texts.setdefault("tiles", register_tiles.PRELUDE)
        if name not in self.texts:
            self.texts[name] = register_tiles.join(self.target, bits(dtype), lanes, parts, name)
        return name

    def numbers(self, lanes: int) -> str:
        """A function that gives 0, 1, 2, .. in the lanes."""
        d, name = self.target, f"numbers_{lanes}"
        self.texts.setdefault(
            name,
            (
                f"{d.function} {d.register('s32', lanes)} {name}(void)\n{{\n  const int x[{lanes}] = {{"
                f"{', '.join(map(str, range(lanes)))}}};\n  return {d.gather('s32', lanes, 'x')};\n}}\n"
            ),
        )
        return name

    def vector(self, dtype: str, lanes: int) -> None:
        """Registers that the language has no name for get one."""
        text = "" if self.target.declares_vectors else register_tiles.typedef(self.target, bits(dtype), lanes)
        if text:
            self.texts = {f"type_{dtype}_{lanes}": text, **self.texts}

    def table(self, instruction: Instruction) -> str:
        """A constant array, elements in the order of its layout."""
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
                lines.append(line.rstrip())
                line = ""
            line += item + ", "
        lines.append(line.rstrip(", "))
        body = "\n".join("  " + text for text in lines)
        self.tables[name] = (str(id(instruction)), f"{d.constant} {d.memory(dtype)} {name}[] = {{\n{body}\n}};\n")
        return name


def table_type(constant: Instruction) -> str:
    """The type of a constant's table: its own, of packed integers a byte each; infinities and NaNs are no constant
    expressions in C, so floats among them as bits."""
    dtype = constant.shape.dtype
    if dtype in NARROW:
        return f"{dtype[0]}8"
    if dtype in ("f32", "f64") and any(dtypes.is_nan(x, dtype) or dtypes.is_infinite(x, dtype) for x in constant.literal
                                       or []):
        return f"u{bits(dtype)}"
    return dtype
