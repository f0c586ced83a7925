"""The second stage: graph to graph. What a fusion computes, as ops between plain arrays."""

from __future__ import annotations

from typing import List, Tuple

from gen.hlo import Computation, Fusion, Leaf
from gen.lower import counted, parts, select_and_scatter, single_elements, tiled_layouts, widths, windows


def lowered(fusion: Fusion) -> "Tuple[Computation, List[Leaf]]":
    """The graph, and the arrays that kernels write."""
    plain = counted.lowered(single_elements.lowered(widths.lowered(parts.lowered(fusion.computation))))
    return tiled_layouts.lowered(windows.lowered(select_and_scatter.lowered(plain)))
