"""The ends of loops, as C text."""

from __future__ import annotations

from typing import Tuple


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
