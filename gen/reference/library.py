"""The C functions, tables and statements that a reference uses. Functions are pieces of values.c. Statements of several
lines are pieces of steps.c. Tables contain the values of float types of at most 8 bits.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Dict, List, Mapping, Sequence, Tuple, Union

from gen.statements import printed, Statement

VALUES, STEPS = (Path(__file__).with_name(name) for name in ("values.c", "steps.c"))
COLUMNS = 108   # maximum length of a line in a list of values


class Calls:
    """Records the functions and tables that a text uses."""

    def __init__(self) -> None:
        self.texts: Dict[str, str] = {}     # the texts of functions and tables, by name

    def __call__(self, name: str, *arguments: str) -> str:
        """Return the text of a call. Record the function if it is one of values.c, and not of C's library."""
        if name in functions(VALUES):
            self.texts[name] = functions(VALUES)[name]
        return f"{name}({', '.join(arguments)})"

    def table(self, about: "Tuple[str, str, Sequence[str]]") -> str:
        """Record a table, given as (name, C type, values), and return its name."""
        name, kind, values = about
        self.texts[name] = "\n".join(wrapped_list(f"static const {kind} {name}[{len(values)}] =", values))
        return name


@lru_cache(maxsize=None)
def functions(file: Path) -> Mapping[str, str]:
    """Return the pieces of a file. The key of a piece is the name of the function that it defines; the key of a type is
    its text.
    """
    _, *sections = file.read_text().split("\n/* ---- ")
    found = {}
    for piece in (piece.strip("\n") for section in sections for piece in section.split("\n\n")[1:]):
        definition = next((line for line in piece.split("\n") if line.startswith("static ")), "")
        found[definition[:definition.index("(")].split()[-1] if definition else piece] = piece
    return found


def statements(piece: str, **words: "str | int | Sequence[Statement]") -> List[str]:
    """Return the statements of a piece of steps.c, in which each $NAME is replaced by the word of that name. A $NAME
    alone on its line may also become a list of statements.
    """
    lines: List[str] = []
    for line in _steps()[piece]:
        indentation, alone, word = line.partition("$")
        of = words.get(word) if alone and not indentation.strip() else None
        lines += [indentation + each for each in printed(of)] if isinstance(of, list) \
            else [Template(line).substitute(words)]
    return lines


@lru_cache(maxsize=None)
def _steps() -> Mapping[str, List[str]]:
    """Return the lines of each piece of steps.c. The name of a piece is the first word of the comment above it."""
    _, *sections = STEPS.read_text().split("\n/* ---- ")
    heads = (section.split(" ---- */\n") for section in sections)
    return {about.split(":")[0]: text.strip("\n").split("\n") for about, text in heads}


def floats_text(value: "Union[float, Fraction]", suffix: str = "") -> str:
    """Return the C text of a float."""
    number = float(value)
    if number != number:
        return "NAN"
    if number in (float("inf"), float("-inf")):
        return "INFINITY" if number > 0 else "-INFINITY"
    digits, exponent = number.hex().split("p")
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}p{exponent}{suffix}"


def wrapped_list(head: str, values: Sequence[str], opening: str = "{", closing: str = "}") -> List[str]:
    """Return the C text of a list of values, broken into lines."""
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
