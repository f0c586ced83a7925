"""Convolutions with few output features, computed by taps. A tap is an element of the window.

The rows of such a convolution's result do not fill vectors of output features. It is computed in two steps: a dot
multiplies every pixel of the base by every tap of the filter, and the result is the sum of the dot's parts, one for
each tap, shifted to the pixels that the tap belongs to. Vectors go along pixels in both steps. Zeros are padded around
a part, not around the base, so that a filter with NaN or infinities is not multiplied by padding.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

from gen.hlo import Instruction, accumulator, array_shape
from gen.hlo.expansion import Expander
from gen.plan.convolution_as_dot import CONVOLUTION
from gen.plan.partition import STORED

MOST_TAPS = 49      # maximum number of parts that are added: the code of the sum has a statement for each
NONE = (0, 0, 0)     # no padding
MOST_PIXELS = 4     # maximum ratio of the pixels of the base to those of the result


@dataclass(frozen=True)
class ByTaps:
    """A convolution by taps.

    dot: the product of taps and pixels. Its result has the dimensions [output feature and window, in the filter's
        order; batch and image, in the base's order].
    taps, pixels: the dimensions of the filter and of the base that dimensions of the dot's result come from.
    """

    dot: Instruction
    taps: Tuple[int, ...]
    pixels: Tuple[int, ...]

    def back(self, x: Expander, value: Instruction, convolution: Instruction) -> Instruction:
        """Return the convolution's result, computed from the dot's result `value`."""
        window, labels, shape = convolution.attributes["window"], convolution.attributes["dim_labels"], convolution.shape
        # dimension k of the sum is dimension order[k] of the convolution's result
        of_result = {labels.lhs[0]: labels.out[0], **dict(zip(labels.lhs[2:], labels.out[2:]))}
        order = (labels.out[1], *(of_result[d] for d in self.pixels))
        dims = tuple(shape.dims[d] for d in order)
        strides = [dict(zip(labels.out[2:], window.stride)).get(d, 1) for d in order]
        minor = [order.index(d) for d in shape.minor_to_major if d != labels.out[1]]
        total: Optional[Instruction] = None
        for tap in itertools.product(*map(range, window.size)):
            paddings = {d: _padding(convolution, k, n) for k, (d, n) in enumerate(zip(labels.out[2:], tap))}
            if None in paddings.values():
                continue
            part, at = value, dict(zip(labels.rhs[2:], tap))
            for k, d in enumerate(self.taps):
                part = x.slice(part, k, at[d], at[d] + 1) if d in at else part
            part = x.reshape(part, (dims[0], *value.shape.dims[len(self.taps):]))
            part = _shifted(x, part, [paddings.get(d) or NONE for d in order], strides, dims)
            total = part if total is None else x.op("add", total, part)
        if total is None:
            return x.splat(0, shape)
        if dims[0] > 1 and shape.minor_to_major[0] == labels.out[1]:    # vectors of pixels first, then a copy
            total = x.add("copy", array_shape(total.shape.dtype, dims, (*minor, 0)), [total], **{STORED: True})
        turned = tuple(order.index(d) for d in range(shape.rank))
        if turned != tuple(range(shape.rank)):
            total = x.add("transpose", array_shape(total.shape.dtype, shape.dims), [total], dimensions=turned)
        return x.laid_out(x.convert(total, shape.dtype), shape)


def _padding(convolution: Instruction, k: int, tap: int) -> "Optional[Tuple[int, int, int]]":
    """Return the padding of a base along dimension k of the window, after which pixel `stride * p` is the pixel that the
    tap reads for place p. Return None if the tap reads padding only.
    """
    window, labels = convolution.attributes["window"], convolution.attributes["dim_labels"]
    base, spread = convolution.operands[0].shape.dims[labels.lhs[2 + k]], window.base_dilation[k]
    tap = window.size[k] - 1 - tap if window.reversal[k] else tap
    low, places = window.low[k] - tap * window.dilation[k], convolution.shape.dims[labels.out[2 + k]]
    last, size = (places - 1) * window.stride[k], (base - 1) * spread + 1
    if not any(at % window.stride[k] == 0 and 0 <= at <= last for at in range(low, low + size, spread)):
        return None
    return low, last + 1 - size - low, spread - 1


def _shifted(x: Expander, part: Instruction, pads: "Sequence[Tuple[int, int, int]]", strides: "Sequence[int]",
             dims: "Sequence[int]") -> Instruction:
    """Return every stride-th element of the padded part. Its dimensions are then `dims`."""
    sizes = tuple((size - 1) * (inside + 1) + 1 + low + high
                  for size, (low, high, inside) in zip(part.shape.dims, pads))
    if any(any(pad) for pad in pads):
        zero = x.constant(part.shape.dtype, 0)
        part = x.add("pad", array_shape(part.shape.dtype, sizes), [part, zero], padding=list(pads))
    bounds = tuple((0, size, stride) for size, stride in zip(sizes, strides))
    return part if sizes == tuple(dims) else x.add("slice", array_shape(part.shape.dtype, tuple(dims)), [part], slice=bounds)


def by_taps(convolution: Instruction, operands: "Sequence[Instruction]") -> Optional[ByTaps]:
    """Return a convolution with one feature group by taps. Return None if its window has too many taps, or if the base
    has many more pixels than the result.
    """
    window, labels, shape = convolution.attributes["window"], convolution.attributes["dim_labels"], convolution.shape
    (base, kernel), features = operands, shape.dims[labels.out[1]]
    taps, pixels = (tuple(d for d in range(shape.rank) if d != summed) for summed in (labels.rhs[0], labels.lhs[1]))
    if math.prod(window.size) > MOST_TAPS or not shape.elements or not base.shape.elements \
            or math.prod(base.shape.dims[d] for d in pixels) * features > MOST_PIXELS * shape.elements:
        return None
    # the pixels are in the order of the convolution's result, from the contiguous dimension to the slowest
    of_base = {labels.out[0]: labels.lhs[0], **dict(zip(labels.out[2:], labels.lhs[2:]))}
    minor: "List[int]" = [shape.rank - 1 + pixels.index(of_base[d]) for d in shape.minor_to_major if d in of_base]
    dims = (*(kernel.shape.dims[d] for d in taps), *(base.shape.dims[d] for d in pixels))
    dot = Instruction(
        convolution.name, "dot", array_shape(accumulator(convolution), dims, (*minor, *reversed(range(shape.rank - 1)))),
        [kernel, base], {**{name: value for name, value in convolution.attributes.items() if name not in CONVOLUTION},
                         "lhs_batch_dims": (), "rhs_batch_dims": (), "lhs_contracting_dims": (labels.rhs[0],),
                         "rhs_contracting_dims": (labels.lhs[1],)},
        line=convolution.line, col=convolution.col, computation=convolution.computation)
    return ByTaps(dot, taps, pixels)
