"""Batch norms as arithmetic, as StableHLO's specification defines them: the variance is the mean of the squared
differences from the mean. Types narrower than f32 are computed in f32."""

from __future__ import annotations

import math
import struct
from gen.hlo import dtypes
from gen.hlo.expansion import Expander
from gen.hlo.graph import Instruction


def batch_norm(x: Expander, instruction: Instruction) -> Instruction:
    """Return the result of a batch norm, computed by elementwise ops and sums."""
    norm = _Norm(x, instruction)
    operands = [x.convert(operand, norm.dtype) for operand in instruction.operands]
    if instruction.opcode == "batch-norm-inference":
        return norm.given(norm.normalised(*operands), 0)
    return norm.training(*operands) if instruction.opcode == "batch-norm-training" else norm.gradient(*operands)


class _Norm:
    """The ops of one batch norm.

    dtype: the type of the arithmetic
    rest: the dimensions other than the features' dimension
    count: the number of elements of a feature
    """

    def __init__(self, x: Expander, instruction: Instruction) -> None:
        of = instruction.operands[0].shape
        self.x, self.to = x, instruction.shape
        self.dtype = of.dtype if dtypes.TABLE[of.dtype].bits >= 32 else "f32"
        self.feature = instruction.attributes["feature_index"]
        # XLA stores epsilon as f32
        (self.epsilon,) = struct.unpack("<f", struct.pack("<f", instruction.attributes["epsilon"]))
        self.rest = tuple(d for d in range(of.rank) if d != self.feature)
        self.count = float(math.prod(of.dims[d] for d in self.rest))

    def given(self, value: Instruction, number: int) -> Instruction:
        """Return a value converted to the type and layout of result `number` of the batch norm."""
        to = self.to.children[number] if self.to.kind == "tuple" else self.to
        return self.x.laid_out(self.x.convert(value, to.dtype), to)

    def number(self, value: float, like: Instruction) -> Instruction:
        return self.x.splat(dtypes.encode(value, self.dtype), like.shape)

    def spread(self, vector: Instruction, like: Instruction) -> Instruction:
        """Return a vector of one number per feature, broadcast to all elements."""
        return self.x.broadcast(vector, like.shape, (self.feature,))

    def total(self, value: Instruction) -> Instruction:
        """Return the sum over all dimensions except the features' dimension."""
        return self.x.sum(value, self.rest)

    def mean(self, value: Instruction) -> Instruction:
        total = self.total(value)
        return self.x.op("divide", total, self.number(self.count, total))

    def deviation(self, variance: Instruction) -> Instruction:
        return self.x.op("sqrt", self.x.op("add", variance, self.number(self.epsilon, variance)))

    def normalised(self, value: Instruction, scale: Instruction, offset: Instruction, mean: Instruction,
                   variance: Instruction) -> Instruction:
        op = self.x.op
        centred = op("subtract", value, self.spread(mean, value))
        unit = op("divide", centred, self.spread(self.deviation(variance), value))
        return op("add", op("multiply", unit, self.spread(scale, value)), self.spread(offset, value))

    def training(self, value: Instruction, scale: Instruction, offset: Instruction) -> Instruction:
        mean = self.mean(value)
        centred = self.x.op("subtract", value, self.spread(mean, value))
        variance = self.mean(self.x.op("multiply", centred, centred))
        results = (self.normalised(value, scale, offset, mean, variance), mean, variance)
        return self.x.tuple([self.given(result, n) for n, result in enumerate(results)])

    def gradient(self, value: Instruction, scale: Instruction, mean: Instruction, variance: Instruction,
                 gradient: Instruction) -> Instruction:
        op = self.x.op
        centred = op("subtract", value, self.spread(mean, value))
        deviation, total = self.deviation(variance), self.total(gradient)
        along = self.total(op("multiply", gradient, centred))
        of_scale = op("divide", along, deviation)
        # `left` is `count` times the gradient, minus the parts that pass through the mean (`total`) and through the
        # variance (`steady`). `factor` contains the division by `count`.
        steady = op("divide", along, op("add", variance, self.number(self.epsilon, variance)))
        left = op("subtract", op("subtract", op("multiply", gradient, self.number(self.count, gradient)),
                                 self.spread(total, value)), op("multiply", centred, self.spread(steady, value)))
        factor = op("divide", op("divide", scale, deviation), self.number(self.count, scale))
        results = (op("multiply", left, self.spread(factor, value)), of_scale, total)
        return self.x.tuple([self.given(result, n) for n, result in enumerate(results)])
