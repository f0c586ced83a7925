"""Custom calls that are ops of HLO under another name."""

from __future__ import annotations

from gen.hlo.graph import Instruction, Module

_TOP_K = ('"TopK"', '"__gpu$TopK"')


def without_known_calls(module: Module) -> None:
    """Makes each custom call of XLA's for top-k the op topk."""
    for computation in module.computations:
        for i in computation.instructions:
            if i.opcode == "custom-call" and i.attributes.get("raw", {}).get("custom_call_target") in _TOP_K:
                _top_k(i)


def _top_k(i: Instruction) -> None:
    """Values and indices of the last dimension's largest elements: k is the result's size there. XLA's calls name the
    comparator, which says whether these are the largest or the smallest ones."""
    leaves = i.shape.leaves()
    if len(i.operands) != 1 or i.operands[0].shape.kind != "array" or len(leaves) != 2 or not leaves[0].dims:
        return
    of, (values, indices) = i.operands[0].shape, leaves
    if (values.dtype, indices.dtype) != (of.dtype, "s32") or values.dims != indices.dims or \
            values.dims[:-1] != of.dims[:-1] or values.dims[-1] > of.dims[-1]:
        return
    root = i.called[0].root if i.called else None
    direction = root.attributes.get("direction", "GT") if root is not None else "GT"
    i.opcode, i.called = "topk", []
    i.attributes = {"k": values.dims[-1], "largest": direction in ("GT", "GE")}
