"""The second stage of gen, from graph to graph: it replaces ops and layouts that kernels do not have, so that a fusion
consists of ops on plain arrays.
"""

from __future__ import annotations

from typing import List, Tuple

from gen.hlo import Computation, Fusion, Leaf
from gen.lower import counted, parts, select_and_scatter, single_elements, tiled_layouts, widths, windows


def lowered(fusion: Fusion) -> "Tuple[Computation, List[Leaf]]":
    """Return the graph after all replacements, and the arrays that kernels write."""
    plain = counted.lowered(single_elements.lowered(widths.lowered(parts.lowered(fusion.computation))))
    return tiled_layouts.lowered(windows.lowered(select_and_scatter.lowered(plain)))
