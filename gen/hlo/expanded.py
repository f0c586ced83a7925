"""Expand a module before the check for unsupported ops: remove ops that compute nothing, and replace composite ops by
simpler ones."""

from __future__ import annotations

from typing import Optional

from gen.hlo import one_device
from gen.hlo.batch_norm import batch_norm
from gen.hlo.expansion import Expander, expand
from gen.hlo.graph import Instruction, Module
from gen.hlo.packed_sort import is_packed_sort, packed_sort
from gen.hlo.random_bits import random_bits
from gen.hlo.tokens import without_tokens

RULES = {"rng-bit-generator": random_bits, "batch-norm-training": batch_norm, "batch-norm-inference": batch_norm,
         "batch-norm-grad": batch_norm}


def expanded(module: Module) -> None:
    """Remove ops that compute nothing on one device, and expand composite ops."""
    expand(module, one_device.rule(module))
    without_tokens(module)
    expand(module, _in_place)


def _in_place(x: Expander, instruction: Instruction) -> Optional[Instruction]:
    rule = packed_sort if is_packed_sort(instruction) else RULES.get(instruction.opcode)
    return x.call(rule) if rule else None
