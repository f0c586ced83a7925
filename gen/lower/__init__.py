"""The second stage, from graph to graph: a fusion becomes ops on plain arrays."""

from __future__ import annotations

from typing import List, Tuple

from gen.hlo import Computation, Fusion, Leaf
from gen.lower import counted, parts, select_and_scatter, single_elements, tiled_layouts, widths, windows


def lowered(fusion: Fusion) -> "Tuple[Computation, List[Leaf]]":
    """Return the lowered graph, and the arrays that kernels write."""
    plain = counted.lowered(single_elements.lowered(widths.lowered(parts.lowered(fusion.computation))))
    return tiled_layouts.lowered(windows.lowered(select_and_scatter.lowered(plain)))
