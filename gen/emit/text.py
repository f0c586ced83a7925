"""Addresses, and the ends of loops, as C text."""

from __future__ import annotations

from typing import Tuple

from gen.targets import Target


def offset(pointer: str, at: str) -> str:
    """pointer + at, where `at` wraps around in its own unsigned type if it subtracts."""
    return f"{pointer} + ({at})" if "-" in at else f"{pointer} + {term(at)}"


def term(text: str) -> str:
    """An expression as a term of a sum: in parentheses where one of its operators binds less than a sum does."""
    return f"({text})" if _has_outside(text, "&|^?<>=!") else text


def factor(text: str) -> str:
    """An expression as a factor of a product: in parentheses where it has an operator of two operands."""
    return f"({text})" if _has_outside(text, "&|^?<>=! ") else text


def _has_outside(text: str, characters: str) -> bool:
    """True if one of the characters stands outside of all parentheses."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if not depth and character in characters:
            return True
    return False


def joined(d: Target, pointer: str, at: str) -> str:
    """pointer + at for an access of several elements: nvcc keeps a store of them one where the index is one number."""
    return f"{pointer} + ({at})" if not d.wide and " " in at else offset(pointer, at)


def share(number: str, size: int, count: int, total: int) -> Tuple[str, str]:
    """The first of a share's units, and the first after them. number: of the share, of `count` that have `size` units
    each; the last one has all that are left of `total`."""
    first, end = f"{number} * {size}", f"{number} * {size} + {size}"
    if count * size != total:
        end = f"({number} < {count - 1} ? {end} : {total})" if count > 1 else str(total)
    return first, end


def piece_end(first: str, size: int, total: str, even: bool) -> str:
    """The end of a piece that begins at `first`. even: all pieces have `size` units, else the total cuts the last one."""
    return f"{first} + {size}" if even else f"({first} + {size} < {total} ? {first} + {size} : {total})"
