"""The ops of a module that other ops stand for, put in their place."""

from __future__ import annotations

from typing import Optional

from gen.hlo.batch_norm import batch_norm
from gen.hlo.expansion import Expander, expand
from gen.hlo.graph import Instruction, Module
from gen.hlo.random_bits import random_bits


def expanded(module: Module) -> None:
    """Puts simpler ops in place of those that stand for several."""
    expand(module, _in_place)


def _in_place(x: Expander, instruction: Instruction) -> Optional[Instruction]:
    return random_bits(x, instruction) or batch_norm(x, instruction)
