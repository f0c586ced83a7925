"""The nested layout that an instruction names to distribute its result over GPU threads, and the conditions that such
a layout must meet (gen/heroes/distribute.py makes the kernel).
"""

from __future__ import annotations

import math
import re
from typing import Any, Dict, List, Sequence, Tuple

from gen import algebra

ATTRIBUTE = re.compile(r'\bsett_distribute\s*=\s*"([^"\\]*)"')
MOST_SLOTS = 1 << 16    # maximum number of elements per thread; each thread loops over its elements
MOST_THREADS = 1024    # maximum number of threads in a block: the limit of every CUDA and HIP device
MOST_BLOCKS = (1 << 31) - 1


def layout_of(instruction: Any) -> str:
    """Return the layout that an instruction names for its result, or ""."""
    written = ATTRIBUTE.search(instruction.attributes.get("raw", {}).get("frontend_attributes", ""))
    return canonical(written[1]) if written else ""


def canonical(text: str) -> str:
    """Return a layout in IREE's canonical form. The text is a layout, or INTRINSIC.OPERAND: the layout of an operand of
    a matrix instruction.
    """
    return algebra.call("nested", text).split("\t")[0]


def info(layout: str) -> "Dict[str, List[int]]":
    """Return the output of the command `sett nested info` as lists of numbers, by name. A number of more than 64 bits
    becomes -1.
    """
    lines = (line.partition(" ") for line in algebra.call("nested", "info", layout).splitlines()[1:])
    return {name: [-1 if n == "-" else int(n) for n in words.split(",") if n] for name, _, words in lines}


def misfit(layout: str, dims: "Sequence[int]") -> str:
    """Return the reason why a result of these dimensions cannot be distributed by a layout; "" if it can."""
    facts = info(layout)
    tile, threads = facts["undistributed"], facts["subgroups"][0] * facts["threads"][0]
    if len(tile) > len(dims):
        return f"expected a layout of rank {len(dims)} or less, that of the result, found rank {len(tile)}"
    if facts["held"] != facts["elements"]:
        return f"expected a complete layout: {facts['held'][0]} of {facts['elements'][0]} elements are held, the rest would be computed by nobody"
    if max(facts["subgroups"][0], facts["threads"][0], threads) > MOST_THREADS:
        return f"expected at most {MOST_THREADS} threads in a block, found {facts['subgroups'][0]} subgroups of {facts['threads'][0]}"
    if not 0 <= facts["slots"][0] <= MOST_SLOTS:
        return f"expected at most {MOST_SLOTS} slots for a thread" + (f", found {facts['slots'][0]}"
                                                                      if facts["slots"][0] > 0 else "")
    if math.prod(tiles(tile, dims)) > MOST_BLOCKS:
        return f"expected at most {MOST_BLOCKS} blocks, found {math.prod(tiles(tile, dims))} tiles"
    return ""


def tiles(tile: "Sequence[int]", dims: "Sequence[int]") -> "Tuple[int, ...]":
    """Return the number of tiles along each dimension of the result. If the result has more dimensions than
    the layout, its leading dimensions have one tile for each index.
    """
    sizes = [1] * (len(dims) - len(tile)) + list(tile)
    return tuple(-(-n // size) for n, size in zip(dims, sizes))
