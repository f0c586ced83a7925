"""Expand a module before the check for unsupported ops: remove ops that compute nothing, and replace composite ops by
simpler ones, and comparisons whose result is known by constants."""

from __future__ import annotations

from typing import Optional

from gen.hlo import dtypes, one_device
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
    if _tests_sign_of_unsigned(instruction):
        return x.splat(instruction.attributes["direction"] == "GE", instruction.shape)
    rule = packed_sort if is_packed_sort(instruction) else RULES.get(instruction.opcode)
    return x.call(rule) if rule else None


def _tests_sign_of_unsigned(instruction: Instruction) -> bool:
    """Return true if an op compares unsigned integers with zero by < or >=. JAX writes such ops for remainders, and C
    compilers warn of them.
    """
    if instruction.opcode != "compare" or instruction.attributes["direction"] not in ("LT", "GE") \
            or instruction.shape.tiled or dtypes.TABLE[instruction.operands[0].shape.dtype].kind != "uint":
        return False
    zero = instruction.operands[1]
    zero = zero.operands[0] if zero.opcode == "broadcast" else zero
    return zero.opcode == "constant" and not zero.shape.dims and zero.literal == [0]
