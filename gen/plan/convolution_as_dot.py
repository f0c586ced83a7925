"""Convolutions that are products of matrices.

Along each spatial dimension, the window of such a convolution has a single element, or the result has size 1. There is
no low padding and no base dilation. The product keeps a dimension along which the window has one element, and sums over
every other spatial dimension. It reads a slice of the base in place.

If the contiguous dimension of the result is spatial, a product on a CPU reads rows of pixels. They are copied first if
they are not contiguous. If a row has few pixels compared with the number of features, the op stays a convolution, which
reads rows of its kernel operand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, List, Optional, Sequence, Tuple

from gen.hlo import Instruction, array_shape
from gen.hlo.expansion import Expander
from gen.plan.partition import STORED

# A function that returns the stride in memory along each dimension of an array. It returns None if the positions of the
# elements do not have constant strides.
Strides = Callable[[Instruction], Optional[Sequence[int]]]


@dataclass(frozen=True)
class AsDot:
    """A convolution as a dot.

    dot: the product. Its result has the dimensions [batch, image, features], where `image` may be several dimensions.
    dims: the sizes of these dimensions, as they were before image dimensions were merged.
    order: a permutation. Dimension k of the convolution's result, without the dimensions that the product sums over, is
        dimension order[k] of `dims`.
    """

    dot: Instruction
    dims: Tuple[int, ...]
    order: Tuple[int, ...]

    def back(self, x: Expander, value: Instruction, convolution: Instruction) -> Instruction:
        """Return the convolution's result, computed from the dot's result `value`."""
        value = x.reshape(value, self.dims)
        to = array_shape(value.shape.dtype, tuple(self.dims[d] for d in self.order))
        turned = x.add("transpose", to, [value], dimensions=self.order)
        return x.laid_out(x.reshape(turned, convolution.shape.dims), convolution.shape)


def as_dot(x: Expander, convolution: Instruction, operands: "Sequence[Instruction]", strides: Strides,
           longer: int = 0) -> Optional[AsDot]:
    """Return a convolution with one feature group as a dot, or None if it is not a product of matrices. longer: 0, or
    the maximum ratio of features to pixels in a row. If the result's contiguous dimension is spatial and the ratio is
    larger, return None.
    """
    window, labels, shape = convolution.attributes["window"], convolution.attributes["dim_labels"], convolution.shape
    kept: "List[int]" = []
    summed: "List[int]" = []
    bounds = [(0, size, 1) for size in operands[0].shape.dims]
    for k, (at, out) in enumerate(zip(labels.lhs[2:], labels.out[2:])):
        taps = window.size[k]
        count, step = (shape.dims[out], window.stride[k]) if taps == 1 else (taps, window.dilation[k])
        if taps > 1 and (shape.dims[out] > 1 or window.reversal[k]) or window.low[k] or window.base_dilation[k] > 1 \
                or (count - 1) * step >= operands[0].shape.dims[at]:
            return None
        bounds[at] = (0, (count - 1) * step + 1, step)
        (kept if taps == 1 else summed).append(k)
    image, sums = ([labels.lhs[2 + k] for k in some] for some in (kept, summed))
    base = _turned(x, _sliced(x, operands[0], bounds), (labels.lhs[0], *image, labels.lhs[1], *sums))
    kernel = _turned(x, operands[1], (labels.rhs[0], *(labels.rhs[2 + k] for k in summed), labels.rhs[1],
                                      *(labels.rhs[2 + k] for k in kept)))
    kernel = x.reshape(kernel, kernel.shape.dims[:len(summed) + 2])
    # the dimensions of the convolution's result, in the order of the dot's result
    result = (labels.out[0], *(labels.out[2 + k] for k in kept), labels.out[1])
    order = tuple(result.index(d) for d in sorted(result))
    minor = [result.index(d) for d in shape.minor_to_major if d in result]
    dims = tuple(shape.dims[d] for d in result)
    first = next((d for d in minor if dims[d] > 1), 0)      # the contiguous dimension
    pixels, joined, count = 0 < first < len(dims) - 1, dims, len(kept)
    if count > 1 and _neighbours(base, minor, count, strides):
        joined, count = (dims[0], math.prod(dims[1:-1]), dims[-1]), 1
        base = x.reshape(base, (*joined[:2], *base.shape.dims[1 + len(kept):]))
        minor = [d if d == 0 else 1 if d < len(dims) - 1 else 2 for d in minor if d in (0, 1, len(dims) - 1)]
    if len(summed) > 1 and _in_a_row(base, base.shape.rank - len(summed), len(summed), strides) \
            and _in_a_row(kernel, 1, len(summed), strides):       # merge the summed dimensions into one
        taps = math.prod(base.shape.dims[base.shape.rank - len(summed):])
        base = x.reshape(base, (*base.shape.dims[:base.shape.rank - len(summed)], taps))
        kernel, summed = x.reshape(kernel, (kernel.shape.dims[0], taps, kernel.shape.dims[-1])), summed[:1]
    if longer and pixels:
        apart = bounds[image[first - 1]][2] > 1
        row = math.prod(dims[1:-1]) if apart else joined[min(first, count)]
        if dims[-1] > longer * row and _is_row(kernel, strides) \
                or apart and minor[minor.index(len(kept)):][:len(kept)] != [*range(len(kept), 0, -1)]:
            return None
        if apart:       # copy the pixels so that they become contiguous
            base, joined, count = _of_pixels(x, base, len(kept)), (dims[0], row, dims[-1]), 1
            minor = list(dict.fromkeys(d if d == 0 else 1 if d < len(dims) - 1 else 2 for d in minor))
    dot = Instruction(
        convolution.name, "dot", array_shape(shape.dtype, joined, tuple(minor)), [base, kernel],
        {**{name: convolution.attributes[name] for name in convolution.attributes if name not in CONVOLUTION},
         "lhs_batch_dims": (), "rhs_batch_dims": (), "lhs_contracting_dims": tuple(range(1 + count, base.shape.rank)),
         "rhs_contracting_dims": tuple(range(len(summed) + 1))},
        line=convolution.line, col=convolution.col, computation=convolution.computation)
    return AsDot(dot, dims, order)


# attributes that a dot does not have
CONVOLUTION = ("window", "dim_labels", "feature_group_count", "batch_group_count")


def _is_row(value: Instruction, strides: Strides) -> bool:
    """Return true if the last dimension is contiguous in memory."""
    found = strides(value)
    return found is not None and found[-1] == 1


def _of_pixels(x: Expander, base: Instruction, count: int) -> Instruction:
    """Return a copy of the base in which neighbouring pixels are contiguous. Its dimensions 1 to `count` are merged."""
    dims, rank = base.shape.dims, base.shape.rank
    order = (*range(count, 0, -1), *range(rank - 1, count, -1), 0)
    copy = x.add("copy", array_shape(base.shape.dtype, dims, order), [base], **{STORED: True})
    return x.reshape(copy, (dims[0], math.prod(dims[1:count + 1]), *dims[count + 1:]))


def _in_a_row(value: Instruction, first: int, count: int, strides: Strides) -> bool:
    """Return true if `count` dimensions, from dimension `first` on, have strides that allow them to be merged into one.
    """
    found = strides(value)
    return found is not None and all(found[d] == found[d + 1] * value.shape.dims[d + 1]
                                     for d in range(first, first + count - 1))


def _neighbours(base: Instruction, minor: "Sequence[int]", count: int, strides: Strides) -> bool:
    """Return true if dimensions 1 to `count` can be merged, both in the base and in the result. minor: the dimensions
    of the result, from the contiguous one to the slowest.
    """
    found = strides(base)
    at = minor.index(count)
    return found is not None and list(minor[at:at + count]) == list(range(count, 0, -1)) \
        and all(found[d] == found[d + 1] * base.shape.dims[d + 1] for d in range(1, count))


def _sliced(x: Expander, value: Instruction, bounds: "Sequence[Tuple[int, int, int]]") -> Instruction:
    if all(bound == (0, size, 1) for bound, size in zip(bounds, value.shape.dims)):
        return value
    dims = tuple(-(-limit // step) for _, limit, step in bounds)
    return x.add("slice", array_shape(value.shape.dtype, dims), [value], slice=tuple(bounds))


def _turned(x: Expander, value: Instruction, order: "Sequence[int]") -> Instruction:
    """Return the transpose of `value` whose dimension k is dimension order[k] of `value`."""
    if list(order) == list(range(value.shape.rank)):
        return value
    to = array_shape(value.shape.dtype, tuple(value.shape.dims[d] for d in order))
    return x.add("transpose", to, [value], dimensions=tuple(order))
