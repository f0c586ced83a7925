"""dot, scaled-dot and convolution: each element of the result is a sum of products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

from gen.statements import Assign, Declare, Statement
from gen.hlo import Instruction
from gen.reference.elements import value_of
from gen.reference.emitter import Emitter, title
from gen.reference.loops import (affine, guarded, Index, indices_of, loops, loops_over, position_of, strides_of, Sum,
                                 window_index)
from gen.reference.types import FLOATS
from gen.reference.values import Array, Scalar


@dataclass
class Products:
    """The loops of a dot or a convolution.

    dims: the sizes of the result's dimensions.
    sizes: the sizes of the loops over the products that are summed.
    orders: for each operand, the order of its dimensions in the array from which its factors are read.
    at: for each operand, the position of the factor in that array.
    """

    dims: Sequence[int]
    sizes: List[int]
    orders: List[List[int]]
    at: List[Index]
    # for a window: the statements before a product, and the conditions under which there is a product
    before: Sequence[Statement] = ()
    tests: Sequence[str] = ()

    @property
    def result(self) -> Index:
        return position_of(indices_of(self.dims), strides_of(self.dims))

    def loops(self, start: Sequence[Statement], step: Sequence[Statement], end: Sequence[Statement]) -> List[Statement]:
        r, windowed = indices_of(self.sizes, "r"), len(self.before)
        inner = loops(r[windowed:], self.sizes[windowed:], step)
        if windowed:
            inner = loops(r[:windowed], self.sizes[:windowed], guarded(self.before, self.tests, inner))
        return loops_over(self.dims, [*start, *inner, *end])


def products(i: Instruction) -> Products:
    return (convolution_products if i.opcode == "convolution" else dot_products)(i)


def dot_products(i: Instruction) -> Products:
    """Return the loops of a dot. An array of factors has first the batch dimensions, then the dimensions that only this
    operand has, then the contracted dimensions.
    """
    a, index = i.attributes, indices_of(i.shape.dims)
    batch = len(a["lhs_batch_dims"])
    orders, at, first = [], [], batch
    sizes = [i.operands[0].shape.dims[d] for d in a["lhs_contracting_dims"]]
    for side, operand in zip(("lhs", "rhs"), i.operands):
        joint, gone = list(a[f"{side}_batch_dims"]), list(a[f"{side}_contracting_dims"])
        own = [d for d in range(len(operand.shape.dims)) if d not in joint and d not in gone]
        orders.append(joint + own + gone)
        position = [*index[:batch], *index[first:first + len(own)], *indices_of(sizes, "r")]
        at.append(position_of(position, strides_of([operand.shape.dims[d] for d in orders[-1]])))
        first += len(own)
    return Products(i.shape.dims, sizes, orders, at)


def convolution_products(i: Instruction) -> Products:
    """Return the loops of a convolution, over the elements of the window and the input features."""
    window, labels, index = i.attributes["window"], i.attributes["dim_labels"], indices_of(i.shape.dims)
    lhs, rhs = (operand.shape.dims for operand in i.operands)
    n, outputs, batches = len(window.size), i.shape.dims[labels.out[1]], i.shape.dims[labels.out[0]]
    by_feature, by_batch = i.attributes["feature_group_count"], i.attributes["batch_group_count"]
    inputs = rhs[labels.rhs[0]]
    *within, r = indices_of([*window.size, inputs], "r")
    batch, feature = index[labels.out[0]], index[labels.out[1]]
    left, right = [0] * (n + 2), [0] * (n + 2)      # type: List[Index], List[Index]
    left[labels.lhs[0]] = Sum(f"{feature} / {max(1, outputs // by_batch)} * {batches} + {batch}") if by_batch > 1 \
        else batch
    left[labels.lhs[1]] = Sum(f"{feature} / {max(1, outputs // by_feature)} * {inputs} + {r}") if by_feature > 1 else r
    right[labels.rhs[0]], right[labels.rhs[1]] = r, feature
    before, tests, at = window_index(window, [index[labels.out[2 + k]] for k in range(n)], within,
                                     [lhs[labels.lhs[2 + k]] for k in range(n)])
    for k in range(n):
        left[labels.lhs[2 + k]] = at[k]
        right[labels.rhs[2 + k]] = affine(within[k], -1, window.size[k] - 1) if window.reversal[k] else within[k]
    return Products(i.shape.dims, [*window.size, inputs], [list(range(n + 2))] * 2,
                    [position_of(left, strides_of(lhs)), position_of(right, strides_of(rhs))], before, tests)


def contract(e: Emitter, i: Instruction, x: List[Array], scales: Sequence[Optional[Array]] = (None, None)) -> Array:
    kind, p = accumulator_of(i), products(i)
    a, b = (factor(e, i, k, p.orders[k], kind, x[k], scales[k]) for k in (0, 1))
    out, total = e.result(i), Scalar("t", kind)
    product = value_of(e.call, "multiply", {}, kind, [Scalar(f"{a}[{p.at[0]}]", kind), Scalar(f"{b}[{p.at[1]}]", kind)])
    lines = p.loops([Declare(a.kind, "t", "0")], [Assign("t", value_of(e.call, "add", {}, kind, [total, Scalar(product, kind)]))],
                    [Assign(f"{out}[{p.result}]", value_of(e.call, "convert", {}, out.dtype, [total]))])
    e.step(title(i), lines, [out], [a, b])
    return out


def scaled_dot(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    """Add a dot whose operands are first multiplied by their scales."""
    return contract(e, i, x, x[2:])


def factor(e: Emitter, i: Instruction, k: int, order: List[int], kind: str, x: Array, scale: Optional[Array]) -> Array:
    """Return an operand converted to the accumulator's type and multiplied by its scale, with its dimensions in the
    order of the loops.
    """
    if x.dtype == kind and order == sorted(order) and scale is None:
        return x
    out = e.array(f"{i.name}_{k}", kind, [x.dims[d] for d in order])
    to, of = factor_places(order, x.dims)
    value = value_of(e.call, "convert", {}, kind, [Scalar(f"{x}[{position_of(of, strides_of(x.dims))}]", x.dtype)])
    if scale:
        scaling = Scalar(f"{scale}[{position_of(blocks(of, x.dims, scale.dims), strides_of(scale.dims))}]", scale.dtype)
        value = value_of(e.call, "multiply", {}, kind,
                         [Scalar(value, kind), Scalar(value_of(e.call, "convert", {}, kind, [scaling]), kind)])
    e.step(f"operand {k} of {i.name} as {kind}" + ", times its scale" * (scale is not None),
           loops_over(out.dims, [Assign(f"{out}[{to}]", value)]), [out], [x, *([scale] if scale else [])])
    return out


def factor_places(order: List[int], dims: Sequence[int]) -> "Tuple[Index, List[Index]]":
    """Return two values, both as text of the variables of the loops over an operand's factors: the position of a factor
    in the array of factors, and the index of the same element in the operand.
    """
    sizes = [dims[d] for d in order]
    indices, of = indices_of(sizes), indices_of(dims)
    for d, index in zip(order, indices):
        of[d] = index
    return position_of(indices, strides_of(sizes)), of


def blocks(index: Sequence[Index], dims: Sequence[int], scales: Sequence[int]) -> List[Index]:
    """Return the index of the scale that applies to the element at `index`. Each scale applies to a block of elements.
    """
    return [Sum(f"{at} / {size // each}") if 0 < each < size else at for at, size, each in zip(index, dims, scales)]


def accumulator_of(i: Instruction) -> str:
    kinds = (i.shape.dtype, *(operand.shape.dtype for operand in i.operands))
    if i.shape.dtype not in FLOATS:
        return i.shape.dtype
    return "f64" if "f64" in kinds else "f32"
