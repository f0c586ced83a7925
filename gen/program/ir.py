"""A module as a program: a list of calls, each of a fusion on arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional

from gen.hlo import Fusion, Shape


@dataclass(eq=False)
class Array:
    """An array of a program: a parameter, a result, or what one call leaves for another. name: for people."""

    name: str
    shape: Shape


@dataclass(eq=False)
class Call:
    """A fusion done once. operands, results: the arrays of its flattened parameters and results; None: a parameter that
    the fusion does not read."""

    fusion: Fusion
    operands: List[Optional[Array]]
    results: List[Array]


@dataclass(eq=False)
class Program:
    """A module. name: of its files and functions. whole: all of it as one computation, for the reference and for costs;
    of a program of one call this is the fusion itself. aliases: results that the module lets take a parameter's buffer,
    with the parameter's number."""

    name: str
    params: List[Array]
    results: List[Array]
    body: List[Call]
    whole: Fusion
    aliases: Dict[int, int] = field(default_factory=dict)

    @property
    def fusions(self) -> List[Fusion]:
        """Those that it calls, each once."""
        return list(dict.fromkeys(call.fusion for call in self.body))
