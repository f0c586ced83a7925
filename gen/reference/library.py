"""The C functions and tables that a reference calls. Functions are pieces of values.c in this folder; tables have the
values of floats of at most 8 bits. Statements are pieces of steps.c."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Dict, List, Mapping, Sequence, Tuple, Union

from gen.statements import printed, Statement

VALUES, STEPS = (Path(__file__).with_name(name) for name in ("values.c", "steps.c"))
COLUMNS = 108   # columns of a list of values in C


class Calls:
    """Records the functions and tables that a text calls."""

    def __init__(self) -> None:
        self.texts: Dict[str, str] = {}     # texts of functions and tables, by name

    def __call__(self, name: str, *arguments: str) -> str:
        """Return the text of a call, of a recorded function or of C's library."""
        if name in functions(VALUES):
            self.texts[name] = functions(VALUES)[name]
        return f"{name}({', '.join(arguments)})"

    def table(self, about: "Tuple[str, str, Sequence[str]]") -> str:
        """Return the name of a table, given as (name, C type, values)."""
        name, kind, values = about
        self.texts[name] = "\n".join(wrapped_list(f"static const {kind} {name}[{len(values)}] =", values))
        return name


@lru_cache(maxsize=None)
def functions(file: Path) -> Mapping[str, str]:
    """Return the pieces of a file by the name of their function, which is before the first parenthesis of its
    definition; types are pieces of their own."""
    _, *sections = file.read_text().split("\n/* ---- ")
    found = {}
    for piece in (piece.strip("\n") for section in sections for piece in section.split("\n\n")[1:]):
        definition = next((line for line in piece.split("\n") if line.startswith("static ")), "")
        found[definition[:definition.index("(")].split()[-1] if definition else piece] = piece
    return found


def statements(piece: str, **words: "str | int | Sequence[Statement]") -> List[str]:
    """Return the statements of a piece of steps.c with its words replaced. A list replaces a word that is a whole
    line."""
    lines: List[str] = []
    for line in _steps()[piece]:
        indentation, alone, word = line.partition("$")
        of = words.get(word) if alone and not indentation.strip() else None
        lines += [indentation + each for each in printed(of)] if isinstance(of, list) \
            else [Template(line).substitute(words)]
    return lines


@lru_cache(maxsize=None)
def _steps() -> Mapping[str, List[str]]:
    """Return the lines of each piece of steps.c, by the name at the beginning of the comment above it."""
    _, *sections = STEPS.read_text().split("\n/* ---- ")
    heads = (section.split(" ---- */\n") for section in sections)
    return {about.split(":")[0]: text.strip("\n").split("\n") for about, text in heads}


def floats_text(value: "Union[float, Fraction]", suffix: str = "") -> str:
    """Return a float's value as C text."""
    number = float(value)
    if number != number:
        return "NAN"
    if number in (float("inf"), float("-inf")):
        return "INFINITY" if number > 0 else "-INFINITY"
    digits, exponent = number.hex().split("p")
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}p{exponent}{suffix}"


def wrapped_list(head: str, values: Sequence[str], opening: str = "{", closing: str = "}") -> List[str]:
    """Return C text of a list of values, broken into lines."""
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
