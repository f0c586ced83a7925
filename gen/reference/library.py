"""The C functions that references and bounds call, cut from library.c and typed.c beside this file.

A piece is the text between two blank lines: a function or a type, with the comment right above it. Those of typed.c are
read once for each type, and once for each function of FUNCTION: a word in capitals stands for a fact of it (`words`),
which #if may test. The files are C and compile alone.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Dict, List, Mapping, Sequence, Set

from gen.hlo import dtypes as table
from gen.hlo.opcodes import ELEMENTWISE
from gen.reference.elements import FUNCTIONS
from gen.reference.types import (
    FLOATS,
    NARROW,
    PACKED,
    SIGNIFICANT,
    SMALL,
    STORAGE,
    TINY,
    bits_of,
    integer_limits,
    is_signed,
    wide_of,
)

HERE = Path(__file__).resolve().parent
FILES = [HERE / "library.c", HERE / "typed.c"]
# Functions of double that are monotone on their domain, so that the ends of an interval decide.
MONOTONE = sorted(FUNCTIONS.get(opcode, row.function) for opcode, row in ELEMENTWISE.items() if row.monotone)
COLUMNS = 108   # of a list of values in C

_NAME = re.compile(r"^(?:\} (\w+);|static (?:const )?[^(]*?(\w+)\()", re.M)
_CALL = re.compile(r"\b([a-z]\w*)\(|\b(i?range(?:_sum|_product)?)\b")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)


class Library:
    """The functions that a file uses, found by their names in its text, each with all that it calls before it."""

    def __init__(self) -> None:
        self.texts: Dict[str, str] = {}
        self.seen: Set[str] = set()

    def scan(self, text: str) -> None:
        for match in _CALL.finditer(_COMMENT.sub("", text)):
            name = match.group(1) or match.group(2)
            if name not in self.seen:
                self.seen.add(name)
                if name in pieces():    # else of C's library, or a keyword
                    self.scan(pieces()[name])
                    self.texts[name] = pieces()[name]


@lru_cache(maxsize=None)
def pieces() -> Mapping[str, str]:
    """All functions and types by name."""
    plain, typed = (path.read_text() for path in FILES)
    texts: Dict[str, str] = {}
    for row in rows():
        texts.update(_cut(typed, row))
    return {**texts, **_cut(plain, {})}     # library.c has those functions whose intervals mind their domain


def _cut(text: str, row: Mapping[str, str]) -> Dict[str, str]:
    """The pieces of a file by name, with a row's words put in."""
    word = re.compile(rf"(?<![A-Z])({'|'.join(sorted(row, key=len, reverse=True))})(?![A-Z])") if row else None
    blocks = {}
    for block in re.split(r"\n\n+", _chosen(text, row) if row else text):
        name = _NAME.search(block)
        if name and not block.lstrip().startswith("#"):
            if word:
                block = "\n".join(_wrapped(word.sub(lambda match: row[match[0]], line)) for line in block.split("\n"))
                name = _NAME.search(block)
            assert name is not None
            blocks[name[1] or name[2]] = block.strip("\n")
    return blocks


def _chosen(text: str, row: Mapping[str, str]) -> str:
    """The lines that #if WORD || WORD, #elif, #else and #endif leave, where a word that the row has is true."""
    lines: List[str] = []
    stack: List[List[bool]] = []    # of each #if: whether its lines are taken, whether any of its branches was
    for line in text.split("\n"):
        directive = re.match(r"#(if|elif|else|endif)\b([A-Z_ |]*)", line)
        if directive is None:
            if all(inside for inside, _ in stack):
                lines.append(line)
        elif directive[1] == "endif":
            stack.pop()
        else:
            holds = directive[1] == "else" or any(name.strip() in row for name in directive[2].split("||"))
            before = False if directive[1] == "if" else stack.pop()[1]
            stack.append([holds and not before, holds or before])
    return "\n".join(lines)


def _wrapped(line: str) -> str:
    """A line that a list of values makes too long, as several."""
    values = re.fullmatch(r"( *)(.*=) \{(.*)\};", line)
    if values is None or len(line) <= COLUMNS:
        return line.rstrip()
    return "\n".join(values[1] + part for part in wrapped_list(values[2], values[3].split(", "), "{", "}"))


def wrapped_list(head: str, values: Sequence[str], opening: str, closing: str) -> List[str]:
    """C text of a list of values, in lines."""
    text = f"{head} {opening}{', '.join(values)}{closing};"
    if len(text) <= COLUMNS:
        return [text]
    lines, line = [f"{head} {opening}"], " "
    for value in values:
        if len(line) + len(value) + 2 > COLUMNS:
            lines.append(line)
            line = " "
        line += f" {value},"
    return lines + [line, f"{closing};"]


def rows() -> List[Dict[str, str]]:
    """The words of each reading of typed.c."""
    return [*(words(dtype) for dtype in STORAGE if dtype != "range_sum"),
            *({"MONOTONE": "1", "FUNCTION": name} for name in MONOTONE)]


def words(dtype: str) -> Dict[str, str]:
    """The facts of a type that the words of typed.c stand for; a word that #if tests is there if it holds."""
    bits = bits_of(dtype)
    row = {"DTYPE": dtype, "TYPE": STORAGE[dtype], "BITS": str(bits), "TOP_BIT": str(bits - 1),
           "UNSIGNED": f"uint{max(8, bits)}_t", "WIDE": wide_of(bits)}
    if dtype in PACKED:
        row.update(PACKED="1", EACH=str(8 // bits), MASK=f"{(1 << bits) - 1}u")
    if dtype in NARROW:
        row.update(NARROW="1", HALF=f"{(1 << bits - 1) - 1}u", WHOLE=str(1 << bits))
    if dtype in TINY:
        row.update(TINY="1", SHIFT=str(8 - bits), ORDER="int8_t", ORDER_MAX="INT8_MAX", **_values(dtype))
    elif dtype in FLOATS:
        mantissa = SIGNIFICANT[dtype] - 1
        exponent = bits - 1 - mantissa
        row.update(FORMAT="1", MANTISSA=str(mantissa), EXPONENT=str(exponent), INFINITE=str((1 << exponent) - 1),
                   BIAS=str((1 << exponent - 1) - 1), ORDER=f"int{bits}_t", ORDER_MAX=f"INT{bits}_MAX")
        row.update({"STORED": "1"} if dtype in SMALL else {})
    elif dtype != "pred":
        least, most = integer_limits(dtype)
        row.update(INTEGER="1", LEAST=least, MOST=most, LIMIT=f"0x1p{bits - is_signed(dtype)}")
        row.update({"SIGNED": "1"} if is_signed(dtype) else {})
    return row


def _values(dtype: str) -> Dict[str, str]:
    """Of a float of 8 bits or less: its values, and the middles between them where it rounds."""
    bits, style, top = bits_of(dtype), table.TABLE[dtype].style, table.largest_finite(dtype)
    sign = 0 if style == "scale" else 1 << (bits - 1)
    finite = [Fraction(table.decode(pattern, dtype)) for pattern in range(top + 1)]
    beyond = finite[-1] * Fraction(3, 2) if style == "scale" else finite[-1] + (finite[-1] - finite[-2]) / 2
    nan = table.quiet_nan(dtype) if style == "ieee" else {"fn": top + 1, "scale": top + 1}.get(style, sign)
    over = {"fnuz": sign, "finite": top}.get(style, top + 1)
    return {"COUNT": str(1 << bits),
            "VALUES": ", ".join(_exactly(table.decode(pattern, dtype), "f") for pattern in range(1 << bits)),
            "TOP": str(top), "MIDDLES": ", ".join(_exactly((a + b) / 2) for a, b in zip(finite, finite[1:])),
            "BEYOND": _exactly(beyond), "SIGN": str(sign), "OVER": str(over), "QUIET_NAN": str(nan),
            **({"SCALE": "1"} if style == "scale" else {"FNUZ": "1"} if style == "fnuz" else {})}


def _exactly(value: object, suffix: str = "") -> str:
    """A float's value as C text."""
    number = float(value)  # type: ignore[arg-type]
    if number != number:
        return "NAN"
    return ("-" if number < 0
            else "") + "INFINITY" if number in (float("inf"), float("-inf")) else number.hex() + suffix
