"""Read the C files in this folder as pieces, from which the small functions of generated files are made.

A piece is the text between two blank lines: a function, type or macro, and the comment right above it. A word in
capitals stands for a property of a type or a target. It is replaced by a text (`TYPE`), or by the result of a function
of its arguments (`MUL(a, b)`). An #if on such a word selects lines. Any other #if is left to the C compiler.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Tuple, Union

HERE = Path(__file__).resolve().parent
Words = Mapping[str, Union[str, bool, Callable[..., str]]]

_NAME = re.compile(r"^(?:typedef \w+ (\w+)\b|union (\w+)|#define (\w+)|static inline [\w()]+ (\w+)\()", re.M)
_WORD = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_CONDITION = re.compile(r"#(if|elif|else|endif)\w*(?: (!?)(\w+)$)?")


@dataclass(frozen=True)
class Piece:
    """A piece of a C file.

    name: the first name that the piece defines.
    text: its text.
    needs: the pieces that it uses, by their first names.
    doubles: true if it computes with doubles.
    """

    name: str
    text: str
    needs: Tuple[str, ...]
    doubles: bool


@lru_cache(maxsize=None)
def pieces(*files: str) -> Dict[str, Piece]:
    """Return the pieces of files, by each name that a piece defines."""
    found: Dict[str, Piece] = {}
    for file in files:
        for block in re.split(r"\n\n+", (HERE / file).read_text().strip("\n")):
            names = [next(filter(None, match.groups())) for match in _NAME.finditer(block)]
            found.update({name: Piece(names[0], block + "\n", (), "double" in block) for name in names})
    return {name: replace(piece, needs=needs(piece.name, piece.text, found)) for name, piece in found.items()}


def needs(name: str, text: str, known: Mapping[str, Piece]) -> "Tuple[str, ...]":
    """Return the first name of each piece that a text uses, in the order of use."""
    words = dict.fromkeys(_WORD.findall(_COMMENT.sub("", text)))
    return tuple(dict.fromkeys(known[word].name for word in words if word in known and known[word].name != name))


def taken(text: str, facts: Words) -> str:
    """Return the lines that remain after each #if .. #endif on a word of `facts` is evaluated."""
    lines: List[str] = []
    # for each open #if: true if it tests a word of `facts`, true if its current branch is taken, true if any of its
    # branches was taken
    open_: "List[Tuple[bool, bool, bool]]" = []
    for line in text.splitlines(keepends=True):
        directive = _CONDITION.match(line.rstrip())
        if directive and directive[1] == "if":
            of_fact = directive[3] in facts
            holds = not of_fact or bool(facts[directive[3]]) != bool(directive[2])
            open_.append((of_fact, holds, holds))
        elif directive and open_[-1][0]:
            _, _, before = open_.pop()
            holds = not before and (directive[1] == "else" or bool(facts.get(directive[3])) != bool(directive[2]))
            open_.append((True, holds, before or holds))
        if directive is None or not open_[-1][0]:
            lines += [line] * all(holds for _, holds, _ in open_)
        if directive and directive[1] == "endif":
            open_.pop()
    return "".join(lines)


def filled(text: str, words: Words) -> str:
    """Return the text with each word replaced by its entry in `words`, a text or a function. A function is called with
    the arguments that follow the word in parentheses, and its result is used.
    """
    word = _words(tuple(words))
    parts, at, match = [], 0, word.search(text)
    while match:
        parts.append(text[at:match.start()])
        of, at = words[match[0]], match.end()
        if callable(of):
            arguments, at = _arguments(text, at)
            parts.append(str(of(*(filled(argument, words) for argument in arguments if argument))))
        else:
            parts.append(str(of))
        match = word.search(text, at)
    return "".join([*parts, text[at:]])


@lru_cache(maxsize=None)
def _words(words: "Tuple[str, ...]") -> "re.Pattern[str]":
    """Return a pattern that finds any of the words, as a whole word or as a part of a name between underscores."""
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(sorted(words, key=len, reverse=True))})(?![A-Za-z0-9])")


def _arguments(text: str, at: int) -> "Tuple[List[str], int]":
    """Return the arguments in the parentheses that begin at position `at`, and the position after them."""
    arguments, depth, begin = [], 0, at + 1
    for end in range(at, len(text)):
        depth += (text[end] == "(") - (text[end] == ")")
        if depth == 0 or (depth == 1 and text[end] == ","):
            arguments.append(text[begin:end].strip())
            begin = end + 1
        if depth == 0:
            return arguments, end + 1
    raise ValueError(f"no closing parenthesis: {text}")
