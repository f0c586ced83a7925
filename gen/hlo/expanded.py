"""A module without ops that compute nothing, and with simpler ops in place of those that stand for several. That comes
before the check for what gets no kernel."""

from __future__ import annotations

from typing import Optional

from gen.hlo import one_device
from gen.hlo.batch_norm import batch_norm
from gen.hlo.expansion import Expander, expand
from gen.hlo.graph import Instruction, Module
from gen.hlo.random_bits import random_bits
from gen.hlo.tokens import without_tokens

RULES = {"rng-bit-generator": random_bits, "batch-norm-training": batch_norm, "batch-norm-inference": batch_norm,
         "batch-norm-grad": batch_norm}


def expanded(module: Module) -> None:
    """Leaves out what computes nothing on one device, and writes out ops that stand for several."""
    expand(module, one_device.rule(module))
    without_tokens(module)
    expand(module, _in_place)


def _in_place(x: Expander, instruction: Instruction) -> Optional[Instruction]:
    rule = RULES.get(instruction.opcode)
    return x.call(rule) if rule else None
