"""Rewrite products so that kernels compute them in register tiles, or in tiles of a GPU's shared memory.

An element of a product is a sum of x[b, i, k] y[b, k, j] over k. Let j be the contiguous dimension of the result. The
operand with dimension j is read in units. A unit is 64 contiguous bytes along j. The elements of the other operand are
read one by one. Below, J and K are the sizes of the dimensions j and k.

* Both operands are converted to the type of the sum, and the result to its own type. Integers of up to 32 bits are
  added as s32, because the low bits of a sum do not depend on the type.
* If there are few rows, the operand with j is read in place. Its elements may have a narrower type (WIDENED), which
  tiles convert while they load units. If the operand is contiguous along the sum, each lane of a unit has a sum of its
  own, and the lanes' sums are added at the end. An operand that is computed once for many launches is stored in panels
  in any case.
* Operands of narrow numbers keep their type if the machine multiplies groups of them: two bf16, or four numbers of 8
  bits. The elements of a group are adjacent along the sum. Panels of `width` columns are then an array
  [.., J / width, K / group, width, group]. If there are few rows, and the columns are contiguous in memory, each
  work-item copies its columns to such panels.
* If one operand of narrow numbers has few rows, and the other is large and contiguous along the sum, the large one is
  read in place. The operand with few rows is stored in panels, even if it is not the one with j. The result is
  transposed.
* An operand that is computed is stored first, because each of its elements is read for many results.
* The operand with j is stored in panels of `width` columns, as an array [.., J / width, K, width], if it has no
  contiguous units in memory, or if it is too large to be read in place. A panel is as many units wide as a tile if that
  width divides J. Reads of panels are moves, which are composed into the maps of the product.
* The other operand is stored with adjacent elements along the sum, if it is large and its elements along the sum are
  far apart in memory.
* A product of complex numbers becomes a product of real numbers with twice the rows or columns and twice the steps,
  unless it is small. If it has few rows or columns, the larger operand is read in place, as an array of real and
  imaginary parts.
* Columns that are several dimensions, all neighbours in memory, become one dimension if the last of them does not fill
  vectors. If rows are still too short, the product is computed transposed. It is also computed transposed if a large
  operand, such as the weights of attention, need not be copied then.
* A product of many rows by a matrix of few columns becomes a batch of products of small matrices.
* Products of small matrices become code without loops, whose vectors are along rows of the result. The exception is a
  product whose batch is the contiguous dimension of both operands and of the result: loops compute it, in vectors along
  the batch.
* A product by a vector becomes a reduce of elementwise products. The reduce takes only the time in which the matrix is
  read.
* The result of a convolution is computed with contiguous output features, and a copy transposes it to its own layout.
  The filter is read in units along the output features. If each group has one input feature and one output feature, the
  base is read in units too. If a unit contains several groups, each lane reads the base's element for its group. A
  convolution whose window has one element is a dot (gen/plan/convolution_as_dot.py). With few output features, a dot
  multiplies every pixel by every tap of the window, and its parts are added (gen/plan/convolution_by_taps.py). A
  convolution that sums over large images becomes a sum of convolutions, each over some of the images.
* For a GPU, the operands keep their types and may have any strides, because tiles are converted while they are loaded.
"""

from __future__ import annotations

import copy as copies
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Collection, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from gen import algebra
from gen.hlo import Computation, Instruction, Shape, accumulator, array_shape, dtypes
from gen.hlo.copy import copied
from gen.hlo.expansion import Expander
from gen.hlo.opcodes import ELEMENTWISE
from gen.plan.buffers import memory_map
from gen.plan.cells import Phase, phases
from gen.plan.convolution_as_dot import as_dot
from gen.plan.convolution_by_taps import by_taps
from gen.plan.leads import has_strides, stride_map
from gen.plan.partition import EMPTY, PARTS, STORED, compose, identity, loop_sizes, moves_only, operand_map
from gen.plan.plan import TILED, stops
from gen.plan.row_order import chain_of, of_contiguous_rows, users_of
from gen.schedule import LINE, Panels, PlanClass, SharedTiles


# types that register tiles convert to the type of the sum while they load elements
WIDENED = {"f32": ("bf16", "s8", "u8")}
# the value of the attribute TILED for a product of small matrices
SMALL = "small"
PRODUCTS = ("dot", "convolution")
# the attribute with the reason why a product is computed by loops, which `gen explain` prints
WHY_LOOP = "why_loop"

WORD = 16       # bytes of a GPU's widest access
# the types in which shared-memory tiles add, each with the types that are converted to it while tiles are loaded
TILED_OPERANDS = {"f32": ("bf16", "f16"), "f64": ("f32",), "s32": ("s8", "u8", "s16", "u16", "u32")}


@dataclass(frozen=True)
class Sides:
    """The dimensions of a product's operand: batch dimensions, contracted dimensions, and all others (`kept`). The
    result has the kept dimensions too. For a convolution, all of these are dimensions of the filter (the right
    operand).
    """

    batch: Tuple[int, ...]
    kept: Tuple[int, ...]
    contracted: Tuple[int, ...]

    @staticmethod
    def of(product: Instruction, operand: int) -> Sides:
        if product.opcode == "convolution":
            of = product.attributes["dim_labels"].rhs       # the input features, the output features, and the window
            return Sides((), (of[1],), (*of[2:], of[0]))
        side = ("lhs", "rhs")[operand]
        rank, batch = product.operands[operand].shape.rank, tuple(product.attributes[f"{side}_batch_dims"])
        contracted = tuple(product.attributes[f"{side}_contracting_dims"])
        return Sides(batch, tuple(d for d in range(rank) if d not in (*batch, *contracted)), contracted)


def arranged(computation: Computation, of: PlanClass, lasting: "Collection[int]" = ()) -> Computation:
    """Return the computation with its products rewritten for tiles. Return the computation itself if it has no
    products, or if the class of devices has no such kernels. lasting: the indices of the parameters (after tuples are
    flattened) whose values many launches share. A copy that depends only on these parameters is made once.
    """
    if not of.panels and not of.shared_tiles or not any(i.opcode in PRODUCTS for i in computation.instructions):
        return computation
    computation = of_contiguous_rows(computation) if of.panels else computation
    names, users = {i.name: 0 for i in computation.instructions}, users_of(computation)
    lasts = _lasting(computation, lasting)

    def arranged_as(x: Expander, product: Instruction, operands: "Sequence[Instruction]",
                    in_place: bool) -> Optional[Instruction]:
        if product.opcode == "dot" and math.prod(loop_sizes(product)) == 1:
            return _of_one_term(x, product, operands)
        if not _is_product(product, of):
            return None
        if dtypes.is_complex(accumulator(product)):
            return _of_complex(x, product, operands, of)
        if of.panels:
            # The generated code of a convolution contains the operands' strides as numbers. An operand whose leading
            # dimension is known only at run time is therefore copied first.
            if product.opcode == "convolution":
                operands = [value if _strides(value, leads=False) or not _strides(value) else _stored(x, value)
                            for value in operands]
            read = _as_read(product, operands, users, of.panels)
            read = _with_smaller_copies(read, operands, of.panels)
            value = _of_short_rows(x, read, operands, of.panels, of.panels.least_short_rows) or _of_long_rows(
                x, read, operands, of.panels, in_place) or _arranged(
                x, _in_whole_units(read, of.panels), operands, of.panels, in_place) or _of_short_rows(
                x, read, operands, of.panels, 1)
            return value and x.laid_out(value, product.shape)
        return _for_gpus(x, product, operands, of.shared_tiles) if of.shared_tiles else None

    def put(into: Computation, product: Instruction, operands: "List[Instruction]") -> Optional[Instruction]:
        if product.opcode not in PRODUCTS or not product.shape.elements:
            return None
        x = Expander(product, names, into.instructions, [])
        before, in_place, value = len(into.instructions), not lasts.intersection(product.operands), None
        if product.opcode == "convolution" and group_count(product) == 1:
            found = as_dot(x, product, operands, partial(_memory_strides, leads=False),
                           of.panels.longer_features if of.panels else 0)
            value = arranged_as(x, found.dot, found.dot.operands, in_place) if found else None
            if found and value:
                value = found.back(x, value, product)
            else:
                del into.instructions[before:]
            few = of.panels is not None and value is None and _has_few_features(product, of.panels)
            taps = by_taps(product, operands) if few else None
            value = arranged_as(x, taps.dot, taps.dot.operands, in_place) if taps else value
            if taps and value:
                value = taps.back(x, value, product)
        value = value or arranged_as(x, product, operands, in_place)
        for added in into.instructions[before:]:
            added.computation = into
        return value or _left(into, product, operands, of)

    return copied(computation, put)


def _lasting(computation: Computation, lasting: "Collection[int]") -> "Set[Instruction]":
    """Return the parameters whose values many launches share, and the instructions that depend only on these and on
    constants.
    """
    found: "Set[Instruction]" = set()
    leaf = 0
    for i in computation.parameters:
        count = len(i.shape.leaves())
        if all(n in lasting for n in range(leaf, leaf + count)):
            found.add(i)
        leaf += count
    for i in computation.instructions:
        if i.opcode != "parameter" and found.issuperset(i.operands):
            found.add(i)
    return found


def _left(into: Computation, product: Instruction, operands: "List[Instruction]", of: PlanClass) -> Instruction:
    """Return the product as it is, with an attribute that says why it is computed by loops."""
    left = into.add_copy(product, operands)
    left.attributes = {**left.attributes, WHY_LOOP: _why_loop(product, of)}
    return left


def _why_loop(product: Instruction, of: PlanClass) -> str:
    """Return the reason why a product is computed by loops, rather than in tiles or as code without loops."""
    steps, kind, is_dot = math.prod(loop_sizes(product)), accumulator(product), product.opcode == "dot"
    count = product.shape.elements * steps
    if not all(operand.shape.elements for operand in product.operands):
        return "one of its operands has no elements"
    if steps == 1:
        return "its sums have one term"
    if dtypes.is_complex(kind) and is_dot:
        numbers = of.panels or Panels()
        sizes = {"rows": _kept_size(product, 0), "columns": _kept_size(product, 1), "steps": steps}
        few = [f"{size} {what}" for what, size in sizes.items() if size < numbers.complex_least]
        each = math.prod(sizes.values())
        return f"{each} multiplications of complex numbers; tiles need at least {numbers.least_steps}" \
            if each < numbers.least_steps else f"{' and '.join(few)} of complex numbers do not fill vectors"
    if not _sum_type(product):
        return f"tiles do not add {kind}"
    if of.shared_tiles:
        return f"{count} multiplications; tiles need at least {of.shared_tiles.least_steps}" \
            if count < of.shared_tiles.least_steps else _why_not_for_gpus(product, of.shared_tiles)
    found, panels = contiguous(product) if is_dot else None, of.panels or Panels()
    if is_dot and found is None:
        return "neighbours in its result are of the batch"
    if found:
        size = product.shape.dims[next(d for d in product.shape.minor_to_major if product.shape.dims[d] > 1)]
        return _too_small(product, size, _kept_size(product, 1 - found[0]), panels)
    groups, features = group_count(product), product.shape.dims[product.attributes["dim_labels"].out[1]]
    size = features if groups in (1, features) else features // groups
    return _too_small(product, size, product.shape.elements // features, panels) or \
        f"groups of {features // groups} features do not fill vectors"


def _arranged(x: Expander, product: Instruction, operands: "Sequence[Instruction]", panels: Panels,
              in_place: bool = False) -> Optional[Instruction]:
    """Return the product rewritten for register tiles, or as small products, or as a reduce. Return None if none of
    them applies. in_place: true allows two forms that read the large operand in place. These are products of few rows,
    and products whose work-items copy their columns to panels.
    """
    value = _small(x, product, operands, panels) or in_place and (
        _turned(x, product, operands, panels) or _of_few_rows(x, product, operands, panels)) or None
    if product.opcode == "dot":
        value = value or _by_vector(x, product, operands, panels.vector_steps)
    return value or _in_parts(x, product, operands, panels) or _tiled(
        x, product, operands, panels if in_place else panels._replace(item_rows=0))


def _sum_type(product: Instruction) -> str:
    """Return the type in which tiles add the summands of a product; "" if tiles cannot add them."""
    kind = accumulator(product)
    if dtypes.TABLE[kind].kind in ("sint", "uint") and dtypes.TABLE[kind].bits <= 32:
        return "s32"
    if all(i.shape.dtype == "pred" for i in (product, *product.operands)):
        return "s32" if math.prod(loop_sizes(product)) < 1 << 31 else ""    # counts the summands that are true
    return kind if kind in ("f32", "f64") else ""


def _is_product(i: Instruction, of: PlanClass) -> bool:
    if i.opcode == "dot" and dtypes.is_complex(accumulator(i)):
        return i.shape.elements > 0 and math.prod(loop_sizes(i)) > 1
    return i.opcode in PRODUCTS and _sum_type(i) != "" and i.shape.elements > 0 and math.prod(loop_sizes(i)) > 1 \
        and all(operand.shape.elements for operand in i.operands)


def _kept_size(dot: Instruction, operand: int) -> int:
    return math.prod(dot.operands[operand].shape.dims[d] for d in Sides.of(dot, operand).kept)


# ---- products of complex numbers ----

def _of_complex(x: Expander, dot: Instruction, operands: "Sequence[Instruction]",
                of: PlanClass) -> Optional[Instruction]:
    """Return a product of complex numbers as a product of real numbers, (re -im; im re) by (re; im). Its results are
    the real and imaginary parts. If there are few rows, columns or steps, use `_of_parts` instead. Return None if the
    product of real numbers would be computed by loops.
    """
    kind, numbers, steps = accumulator(dot), of.panels or Panels(), math.prod(loop_sizes(dot))
    count = dot.shape.elements * steps
    if min(steps, *(_kept_size(dot, k) for k in (0, 1))) < numbers.complex_least or count < numbers.least_steps:
        each = _kept_size(dot, 0) * _kept_size(dot, 1) * steps
        return _of_parts(x, dot, operands, of.panels) if of.panels and each >= numbers.least_steps else None
    part, sides, batch = dtypes.TABLE[kind].part, [Sides.of(dot, k) for k in (0, 1)], len(Sides.of(dot, 0).batch)
    twice = int(operands[1].shape.elements < operands[0].shape.elements)
    both, attributes, before = [], dict(dot.attributes), len(x.into)
    for k, (name, side, value) in enumerate(zip(("lhs", "rhs"), sides, operands)):
        d = side.contracted[-1]
        re, im = _parts_of(x, value)
        if k == twice:
            rows = [x.concatenate(row, d) for row in ((re, x.op("negate", im)), (im, re))]
            both.append(x.concatenate([x.reshape(row, (1, *row.shape.dims)) for row in rows], 0))
            attributes[f"{name}_batch_dims"] = tuple(n + 1 for n in side.batch)
            attributes[f"{name}_contracting_dims"] = tuple(n + 1 for n in side.contracted)
        else:
            both.append(x.concatenate((re, im), d))
    at = batch + twice * len(sides[0].kept)     # the dimension that separates real and imaginary parts
    dims = (*dot.shape.dims[:at], 2, *dot.shape.dims[at:])
    order = (*(n + (n >= at) for n in dot.shape.minor_to_major), at)
    real = Instruction(dot.name, "dot", array_shape(part, dims, order), both, attributes, line=dot.line, col=dot.col,
                       computation=dot.computation)
    made = _arranged(x, real, both, of.panels) if of.panels else \
        _for_gpus(x, real, both, of.shared_tiles) if of.shared_tiles else None
    if made is None:
        del x.into[before:]
        return None
    parts = [x.reshape(x.slice(made, at, n, n + 1), dot.shape.dims) for n in (0, 1)]
    return x.laid_out(x.add("complex", array_shape(kind, dot.shape.dims), parts), dot.shape)


def _of_parts(x: Expander, dot: Instruction, operands: "Sequence[Instruction]", panels: Panels) -> Optional[Instruction]:
    """Return a product of complex numbers with few rows or columns as a product of real numbers. The larger operand is
    read in place: real and imaginary parts alternate along its contiguous dimension.

    If that dimension is summed over, the other operand is (re -im; im re), with alternating parts too, and the results
    are the real and imaginary parts. If not, the other operand is (re; im). A result is then a product of one part of
    each operand, and these products are added or subtracted afterwards. Return None if the product of real numbers
    would be computed by loops.
    """
    large, before, batch = int(operands[1].shape.elements > operands[0].shape.elements), len(x.into), \
        len(Sides.of(dot, 0).batch)
    small, z, of, other = 1 - large, operands[large], Sides.of(dot, large), Sides.of(dot, 1 - large)
    if z.opcode != "parameter" or any(_strides(z, d) and z.shape.dims[d] > 1 for d in of.batch):
        z = _stored(x, z, [d for d in of.kept if z.shape.dims[d] > 1] or of.contracted)
    j = next(d for d in z.shape.minor_to_major if z.shape.dims[d] > 1)
    if j in of.batch:
        del x.into[before:]
        return None
    left, dims, attributes = len(Sides.of(dot, 0).kept), list(dot.shape.dims), dict(dot.attributes)
    re, im = _parts_of(x, operands[small])
    both = [_beside(x, _parts_of(x, z), j, z)] * 2
    if j in of.contracted and len(other.kept) != 1:
        del x.into[before:]
        return None
    if j in of.contracted:
        # `wide` is the dimension of the result that comes from the smaller operand
        d, wide = other.contracted[of.contracted.index(j)], batch + small * left
        rows = [_beside(x, row, d) for row in ((re, x.op("negate", im)), (im, re))]
        both[small] = _beside(x, rows, other.kept[0])
    else:
        at, wide = batch + small * left, batch + large * left + of.kept.index(j)
        both[small] = x.concatenate([x.reshape(part, (1, *part.shape.dims)) for part in (re, im)], 0)
        for name, ds in (("batch", other.batch), ("contracting", other.contracted)):
            attributes[f"{('lhs', 'rhs')[small]}_{name}_dims"] = tuple(n + 1 for n in ds)
    dims[wide] *= 2
    order = [wide, *(n for n in reversed(range(len(dims))) if n != wide)]
    if j not in of.contracted:
        dims.insert(at, 2)
        order = [*(n + (n >= at) for n in order), at]
    real = Instruction(dot.name, "dot", array_shape(re.shape.dtype, tuple(dims), tuple(order)), both, attributes,
                       line=dot.line, col=dot.col, computation=dot.computation)
    made = _arranged(x, real, both, panels)
    if made is None:
        del x.into[before:]
        return None
    if j in of.contracted:
        parts = _halves(x, made, wide, dot)
    else:
        rows = [x.reshape(x.slice(made, at, n, n + 1), (*dims[:at], *dims[at + 1:])) for n in (0, 1)]
        (rr, ri), (ir, ii) = (_halves(x, row, wide, dot) for row in rows)
        parts = [x.op("subtract", rr, ii), x.op("add", ri, ir)]
    return x.laid_out(x.add("complex", array_shape(accumulator(dot), dot.shape.dims), parts), dot.shape)


def _halves(x: Expander, value: Instruction, d: int, dot: Instruction) -> "List[Instruction]":
    """Return the even and the odd elements along dimension d, reshaped to the dimensions of the product."""
    dims = value.shape.dims
    pairs = x.reshape(value, (*dims[:d], dims[d] // 2, 2, *dims[d + 1:]))
    return [x.reshape(x.slice(pairs, d + 1, n, n + 1), dot.shape.dims) for n in (0, 1)]


def _parts_of(x: Expander, value: Instruction) -> "List[Instruction]":
    """Return the real and the imaginary parts of a value."""
    shape = array_shape(dtypes.TABLE[value.shape.dtype].part, value.shape.dims, value.shape.minor_to_major)
    return [x.add(opcode, shape, [value]) for opcode in ("real", "imag")]


def _beside(x: Expander, both: "Sequence[Instruction]", d: int, of: Optional[Instruction] = None) -> Instruction:
    """Return two values with their elements interleaved along dimension d. of: None, or an array of complex numbers,
    contiguous along d, whose real and imaginary parts are the two values. The parts are then read from this array in
    place.
    """
    dims = both[0].shape.dims
    new = [x.reshape(value, (*dims[:d + 1], 1, *dims[d + 1:])) for value in both]
    order = (d + 1, *(n + (n > d) for n in of.shape.minor_to_major)) if of else None
    shape = array_shape(both[0].shape.dtype, (*dims[:d + 1], 2, *dims[d + 1:]), order)
    made = x.add("concatenate", shape, new, dimensions=(d + 1,), **({PARTS: True} if of else {}))
    return x.reshape(made, (*dims[:d], 2 * dims[d], *dims[d + 1:]))


# ---- products whose sums have one term ----

def _of_one_term(x: Expander, dot: Instruction, operands: "Sequence[Instruction]") -> Instruction:
    """Return a product whose sums have one term, such as an outer product, as elementwise ops on broadcast operands."""
    kind, left, spread = accumulator(dot), len(Sides.of(dot, 0).batch), []
    to = array_shape(kind, dot.shape.dims, dot.shape.minor_to_major)
    for k, operand in enumerate(operands):
        of = Sides.of(dot, k)
        order, first = (*of.batch, *of.kept), left + k * len(Sides.of(dot, 0).kept)
        value = _transposed(x, x.convert(operand, kind), (*order, *of.contracted))
        value = x.reshape(value, [operand.shape.dims[d] for d in order])
        spread.append(x.broadcast(value, to, (*range(left), *range(first, first + len(of.kept)))))
    # A sum begins with zero: a product of -0 gives a sum of +0.
    value = x.op("and", *spread) if kind == "pred" else x.op("add", x.op("multiply", *spread), x.splat(0, to))
    return x.convert(value, dot.shape.dtype)


# ---- products by a vector ----

def _by_vector(x: Expander, dot: Instruction, operands: "Sequence[Instruction]",
               least: int) -> Optional[Instruction]:
    """Return a product of a matrix and a vector as a reduce. Return None if neither operand is a vector, or if the
    matrix has fewer than `least` elements.
    """
    sizes = [_kept_size(dot, k) for k in (0, 1)]
    if min(sizes) > 1 or max(sizes) * math.prod(loop_sizes(dot)) < least:
        return None
    kind, m = _sum_type(dot), int(sizes[1] > sizes[0])
    matrix, vector = (Sides.of(dot, k) for k in (m, 1 - m))
    x_matrix, x_vector = (x.convert(operands[k], kind) for k in (m, 1 - m))
    dims = x_matrix.shape.dims
    # along[i]: the dimension of the matrix that corresponds to dimension order[i] of the vector
    along = (*matrix.batch, *matrix.contracted)
    order = (*vector.batch, *vector.contracted)
    turned = _transposed(x, x_vector, (*order, *vector.kept))
    flat = x.reshape(turned, tuple(dims[d] for d in along))
    # the dimensions attribute of a broadcast must increase
    by_place = sorted(range(len(along)), key=lambda k: along[k])
    flat = _transposed(x, flat, by_place)
    spread = x.broadcast(flat, x_matrix.shape, sorted(along))
    total = x.sum(x.op("multiply", x_matrix, spread), matrix.contracted)
    left = [d for d in range(len(dims)) if d not in matrix.contracted]
    total = _transposed(x, total, [left.index(d) for d in (*matrix.batch, *matrix.kept)])
    total = x.reshape(total, dot.shape.dims)
    return x.laid_out(x.convert(total, dot.shape.dtype), dot.shape)


def _transposed(x: Expander, value: Instruction, order: "Sequence[int]") -> Instruction:
    """Return the transpose of `value` whose dimension k is dimension order[k] of `value`."""
    if list(order) == list(range(value.shape.rank)):
        return value
    to = array_shape(value.shape.dtype, tuple(value.shape.dims[d] for d in order))
    return x.add("transpose", to, [value], dimensions=tuple(order))


# ---- many small products ----

def _small(x: Expander, dot: Instruction, operands: "Sequence[Instruction]", panels: Panels,
           of_one: bool = False) -> Optional[Instruction]:
    """Return a batch of products of small matrices in the form that becomes code without loops. The code computes one
    matrix after another. An operand whose matrices are not contiguous is copied first.

    Return None for other products, and for products that are faster in tiles. Return None also if the batch is the
    contiguous dimension of both operands and of the result, because vectors then go along the batch.

    of_one: true if the batch is cut from one product (see `_of_short_rows`). The minimum sizes and the comparison with
    tiles then do not apply.
    """
    if dot.opcode != "dot":
        return None
    turned = copies.copy(dot)
    if not _in_matrices(dot):
        turned.shape = array_shape(dot.shape.dtype, dot.shape.dims)
    found, kind, steps = contiguous(turned), _sum_type(dot), math.prod(loop_sizes(dot))
    if found is None or not kind:
        return None
    rows, columns = _kept_size(dot, 1 - found[0]), _kept_size(dot, found[0])
    if not 2 <= columns <= LINE // dtypes.storage_bytes(kind) or rows > panels.small_rows \
            or rows * steps > panels.small_steps:
        return None
    if not of_one and (rows < 2 or rows * columns * steps < panels.least_small_steps
                       or contiguous(dot) is not None and _is_worth_it(dot, columns, rows, panels)):
        return None
    both = [x.convert(operand, kind) for operand in operands]
    apart = [not _strides(value, leads=False)
             or any(_strides(value, d) and value.shape.dims[d] > 1 for d in Sides.of(dot, k).batch)
             for k, value in enumerate(both)]
    if all(apart) and contiguous(dot) is None:
        return None
    both = [_stored(x, value, (*Sides.of(dot, k).kept, *Sides.of(dot, k).contracted)) if apart[k] else value
            for k, value in enumerate(both)]
    shape = array_shape(kind, dot.shape.dims, turned.shape.minor_to_major)
    return x.laid_out(x.convert(x.add("dot", shape, both, **{**dot.attributes, TILED: SMALL}), dot.shape.dtype),
                      dot.shape)


def _of_short_rows(x: Expander, dot: Instruction, operands: "Sequence[Instruction]", panels: Panels,
                   least: int) -> Optional[Instruction]:
    """Return a product of many rows by a matrix of few columns, such as points by a rotation, as a batch of small
    products (see `_small`): each has some adjacent rows, and all have the same matrix. Return None for other products,
    and if sums are so long that a small product could not have `least` rows.
    """
    found, kind = contiguous(dot) if dot.opcode == "dot" else None, _sum_type(dot)
    if found is None or not kind or Sides.of(dot, 0).batch:
        return None
    of, before, steps = found[0], len(x.into), math.prod(loop_sizes(dot))
    count, columns = _kept_size(dot, 1 - of), _kept_size(dot, of)
    most = min(count, panels.short_rows, panels.small_steps // steps)
    if columns * 2 > LINE // dtypes.storage_bytes(kind) or count * columns * steps < panels.least_steps \
            or most < min(least, count):
        return None
    rows = next(n for n in range(most, 0, -1) if count % n == 0)
    sides, both = [Sides.of(dot, k) for k in (1 - of, of)], []
    for k, side in zip((1 - of, of), sides):
        both.append(_transposed(x, operands[k], (*side.kept, *side.contracted)))
    sums = both[0].shape.dims[len(sides[0].kept):]
    kept = [value.shape.dims[:len(side.kept)] for value, side in zip(both, sides)]
    both[0] = x.reshape(both[0], (count // rows, rows, *sums))
    matrix = (count // rows, *both[1].shape.dims)
    both[1] = x.broadcast(both[1], array_shape(both[1].shape.dtype, matrix), range(1, len(matrix)))
    attributes = {"lhs_batch_dims": (0,), "rhs_batch_dims": (0,), "lhs_contracting_dims": tuple(range(2, 2 + len(sums))),
                  "rhs_contracting_dims": tuple(range(len(kept[1]) + 1, len(matrix)))}
    small = Instruction(dot.name, "dot", array_shape(dot.shape.dtype, (count // rows, rows, *kept[1])), both,
                        {**dot.attributes, **attributes}, line=dot.line, col=dot.col, computation=dot.computation)
    value = _small(x, small, both, panels, True)
    if value is None:
        del x.into[before:]
        return None
    value = x.reshape(value, (*kept[0], *kept[1]))
    turned = (*range(len(kept[0]), value.shape.rank), *range(len(kept[0])))
    return x.laid_out(_transposed(x, value, turned) if of == 0 else value, dot.shape)


def _in_matrices(dot: Instruction) -> bool:
    """Return true if the result stores one matrix after another, and if in each matrix all dimensions of one operand
    are more major than those of the other operand.
    """
    of, sides = contiguous(dot), [Sides.of(dot, k) for k in (0, 1)]
    if of is None:
        return False
    batch, left, right = len(sides[0].batch), len(sides[0].kept), len(sides[1].kept)
    level = [0] * batch + [2 - of[0]] * left + [1 + of[0]] * right
    levels = [level[d] for d in reversed(dot.shape.minor_to_major) if dot.shape.dims[d] > 1]
    return levels == sorted(levels)


# ---- products of few rows ----

def _of_few_rows(x: Expander, dot: Instruction, operands: "Sequence[Instruction]",
                 panels: Panels) -> Optional[Instruction]:
    """Return a product of few rows by a matrix that is read in place. Return None if `_tiled` reads the matrix in place
    as well, or if the matrix must be copied.
    """
    kind, of = _sum_type(dot), int(_kept_size(dot, 1) > _kept_size(dot, 0))
    before, matrix = len(x.into), _loaded(operands[of], kind)
    if dot.opcode != "dot" or matrix is None \
            or _kept_size(dot, 1 - of) > (panels.few_rows if matrix.shape.dtype == kind else panels.few_narrow_rows):
        return None
    value = _along_sum(x, dot, operands, of, matrix, panels) or _widened(x, dot, operands, of, matrix)
    if value is None:
        del x.into[before:]
    return value


def _loaded(value: Instruction, kind: str) -> Optional[Instruction]:
    """Return the value that tiles load for the operand `value`. It is the operand itself or, if the operand is a
    conversion that tiles make while they load, the value before the conversion. Return None if tiles cannot load the
    operand's type. kind: the type in which tiles add.
    """
    types = (kind, *WIDENED.get(kind, ()))
    if value.opcode == "convert" and value.operands[0].shape.dtype in types and value.shape.dtype == kind:
        return value.operands[0]
    return value if value.shape.dtype in types else None


def _along_sum(x: Expander, dot: Instruction, operands: "Sequence[Instruction]", of: int, matrix: Instruction,
               panels: Panels) -> Optional[Instruction]:
    """Return a product by `matrix` whose sum is split into steps of one vector each. The lanes of the vector become a
    batch dimension, and a reduce adds them at the end. Return None if `matrix` is not contiguous along the sum, or if
    another way is as fast.
    """
    kind, bytes_, steps = _sum_type(dot), dtypes.storage_bytes(matrix.shape.dtype), math.prod(loop_sizes(dot))
    sides, unit = [Sides.of(dot, k) for k in (0, 1)], LINE // dtypes.storage_bytes(kind)
    rows = _kept_size(dot, 1 - of)
    if rows == 1 or steps * bytes_ < LINE * rows or rows * _kept_size(dot, of) * steps < panels.least_steps:
        # Return None for a single row (a reduction is as fast), for a matrix that takes less memory than the sums of
        # all lanes, and for a small product.
        return None
    along = next((k for k, d in enumerate(sides[of].contracted) if _strides(matrix, d)), None)
    if along is None or loop_sizes(dot)[along] % unit:
        return None
    both, attributes, batch = [], {**dot.attributes, TILED: of}, len(sides[0].batch)
    for k, (name, side) in enumerate(zip(("lhs", "rhs"), sides)):
        value, d = matrix if k == of else x.convert(operands[k], kind), side.contracted[along]
        dims = value.shape.dims
        value = x.reshape(value, (*dims[:d], dims[d] // unit, unit, *dims[d + 1:]))
        # Store the rows next to each other, because rows that are far apart in memory may compete for one cache set.
        if k != of:
            value = _stored(x, value, (*(n + (n > d) for n in side.kept), d + 1))
        both.append(value)
        attributes[f"{name}_batch_dims"] = (*(n + (n > d) for n in side.batch), d + 1)
        attributes[f"{name}_contracting_dims"] = tuple(n + (n > d) for n in side.contracted)
    dims = (*dot.shape.dims[:batch], unit, *dot.shape.dims[batch:])
    middle = batch + 1 + len(sides[0].kept)
    left, right = range(batch + 1, middle)[::-1], range(middle, len(dims))[::-1]
    order = (batch, *(left if of == 0 else right), *(right if of == 0 else left), *range(batch)[::-1])
    lanes = x.add("dot", array_shape(kind, dims, order), both, **attributes)
    return x.laid_out(x.convert(x.sum(lanes, [batch]), dot.shape.dtype), dot.shape)


def _widened(x: Expander, dot: Instruction, operands: "Sequence[Instruction]", of: int,
             matrix: Instruction) -> Optional[Instruction]:
    """Return the product in a form for tiles that read the matrix in place. They convert its elements to the type of
    the sum, which is wider. Return None if the matrix already has this type, or is not contiguous along the result's
    contiguous dimension.
    """
    kind, found = _sum_type(dot), contiguous(dot)
    if matrix.shape.dtype == kind or found is None or found[0] != of \
            or _last_size(dot) < LINE // dtypes.storage_bytes(kind) or not _strides(matrix, found[1]):
        return None
    single = x.convert(operands[1 - of], kind)
    both = [single, single]
    both[of] = matrix
    if not _strides(single):
        both[1 - of] = _stored(x, single)
    value = x.add("dot", array_shape(kind, dot.shape.dims, dot.shape.minor_to_major), both,
                  **{**dot.attributes, TILED: of})
    return x.laid_out(x.convert(value, dot.shape.dtype), dot.shape)


# ---- products with long sums ----

def _in_parts(x: Expander, dot: Instruction, operands: "Sequence[Instruction]",
              panels: Panels) -> Optional[Instruction]:
    """Return a product with a long sum as a sum of products over parts of the sum. The parts become a batch dimension.
    Each part then has fewer roundings one after another than the long sum, and threads can share the parts. Return None
    if the sum is short, or if the results of all parts would be large.
    """
    if dot.opcode != "dot":
        return None
    sizes, kind = loop_sizes(dot), _sum_type(dot)
    along = max(range(len(sizes)), key=lambda k: sizes[k], default=0)
    most = min(panels.parts_bytes // (dot.shape.elements * dtypes.storage_bytes(kind)), _most_parts(dot, panels))
    count = max((n for n in range(2, most + 1) if sizes[along] % n == 0), default=1)
    if count == 1:
        return None
    batch, both, attributes, before = len(Sides.of(dot, 0).batch), [], dict(dot.attributes), len(x.into)
    for k, (side, value) in enumerate(zip(("lhs", "rhs"), operands)):
        sides, of = Sides.of(dot, k), value.shape.dims
        d = sides.contracted[along]
        both.append(x.reshape(value, (*of[:d], count, of[d] // count, *of[d + 1:])))
        attributes[f"{side}_batch_dims"] = (*(n + (n > d) for n in sides.batch), d)
        attributes[f"{side}_contracting_dims"] = tuple(n + (n >= d) for n in sides.contracted)
    dims = (*dot.shape.dims[:batch], count, *dot.shape.dims[batch:])
    order = (*(n + (n >= batch) for n in dot.shape.minor_to_major), batch)
    parts = Instruction(dot.name, "dot", array_shape(kind, dims, order), both, attributes, line=dot.line, col=dot.col,
                        computation=dot.computation)
    made = _arranged(x, parts, both, panels)
    if made is None:
        del x.into[before:]
        return None
    return x.laid_out(x.convert(x.sum(made, [batch]), dot.shape.dtype), dot.shape)


def _most_parts(dot: Instruction, panels: Panels) -> int:
    """Return the maximum number of parts into which a product's sum is divided. It is more than 1 if the sum is long,
    or if the result has so few elements that work-items would be too few.
    """
    steps, kind, count = math.prod(loop_sizes(dot)), _sum_type(dot), dot.shape.elements
    if steps >= panels.long_sum:
        return panels.sum_parts
    few = count <= panels.few_results and count * steps >= panels.many_products
    return steps // panels.part_steps if few and all(of.shape.dtype == kind for of in dot.operands) else 1


# ---- products in rows of few columns ----

def _of_long_rows(x: Expander, dot: Instruction, operands: "Sequence[Instruction]", panels: Panels,
                  in_place: bool) -> Optional[Instruction]:
    """Return a product whose rows do not fill vectors, such as the channels of a pixel, as a product of longer rows.
    The dimensions of the columns that are neighbours in memory become one dimension. If the rows are still too short
    for tiles, the product is computed transposed, and a copy of the result transposes it back. Return None for other
    products.
    """
    if dot.opcode != "dot" or contiguous(dot) is None or not _sum_type(dot):
        return None
    unit, before = LINE // dtypes.storage_bytes(_sum_type(dot)), len(x.into)
    if _last_size(dot) % unit == 0:
        return None
    merged, both = _merged(x, dot, operands)
    if _last_size(merged) < unit // 2 and _kept_size(dot, 0) >= unit and _kept_size(dot, 1) >= unit:
        merged, both = _merged(x, _transposed_result(merged), both)
    value = _arranged(x, _in_whole_units(merged, panels), both, panels, in_place) if merged is not dot else None
    if value is None:
        del x.into[before:]
        return None
    return x.laid_out(x.reshape(value, dot.shape.dims), dot.shape)


def _transposed_result(dot: Instruction) -> Instruction:
    """Return the product with another result layout. The dimensions of the operand that has the contiguous dimension
    become more major than those of the other operand.
    """
    found, left, right = contiguous(dot), *(Sides.of(dot, k) for k in (0, 1))
    assert found is not None
    first = len(left.batch) + len(left.kept)
    sides = [range(len(left.batch), first), range(first, first + len(right.kept))]
    turned = copies.copy(dot)
    turned.shape = array_shape(dot.shape.dtype, dot.shape.dims, tuple(
        d for ds in (sides[1 - found[0]], sides[found[0]], range(len(left.batch)))
        for d in dot.shape.minor_to_major if d in ds))
    return turned


def _merged(x: Expander, dot: Instruction,
            operands: "Sequence[Instruction]") -> "Tuple[Instruction, Sequence[Instruction]]":
    """Return a product and its operands. The dimensions of the result's columns become one dimension if they are
    neighbours in memory, both in the result and in the operand. Return the product itself if there is only one.
    """
    found = contiguous(dot)
    assert found is not None
    of, j = found
    sides, value = Sides.of(dot, of), operands[of]
    # the dimension of the result that is dimension `sides.kept[0]` of the operand
    base, steps = len(sides.batch) + of * len(Sides.of(dot, 0).kept), _memory_strides(value)
    first, sizes = j, value.shape.dims  # dimensions `first` to j become one
    for d in (d for d in dot.shape.minor_to_major if dot.shape.dims[d] > 1 and d != base + sides.kept.index(j)):
        k = max((k for k in range(first) if sizes[k] > 1), default=-1)
        if k not in sides.kept or d != base + sides.kept.index(k) or not set(range(k, j)) <= set(sides.kept) \
                or steps is not None and steps[k] != steps[j] * math.prod(sizes[k + 1:j + 1]):
            break
        first = k
    if first == j:
        return dot, operands
    lost = j - first

    def without(ds: "Sequence[int]", after: int) -> "Tuple[int, ...]":
        """Return the indices of the dimensions, without the `lost` dimensions that follow the dimension `after`."""
        return tuple(d - lost * (d > after) for d in ds if not after < d <= after + lost)

    def dims(of: "Sequence[int]", at: int) -> "Tuple[int, ...]":
        return (*of[:at], math.prod(of[at:at + lost + 1]), *of[at + lost + 1:])

    both, at, name = [*operands], base + sides.kept.index(first), ("lhs", "rhs")[of]
    both[of] = x.reshape(value, dims(sizes, first))
    attributes = {**dot.attributes, f"{name}_batch_dims": without(sides.batch, first),
                  f"{name}_contracting_dims": without(sides.contracted, first)}
    shape = array_shape(dot.shape.dtype, dims(dot.shape.dims, at), without(dot.shape.minor_to_major, at))
    return Instruction(dot.name, "dot", shape, both, attributes, line=dot.line, col=dot.col,
                       computation=dot.computation), both


# ---- products in register tiles ----

def _as_read(product: Instruction, operands: "Sequence[Instruction]",
             users: "Mapping[Instruction, Sequence[Instruction]]", panels: Panels) -> Instruction:
    """Return the product with another result layout, so that its users need no transpose. The users must be a chain of
    elementwise ops and moves. The layout then follows the order in memory of the chain's result. Return the product
    itself if there is no such chain, or if an operand would have to be copied that is not much smaller than the result.
    """
    path = chain_of(product, users) if product.opcode == "dot" else [product]
    index = identity(path[-1].shape.dims)
    for user in reversed(path[1:]):
        index = index if user.opcode in ELEMENTWISE else compose(index, operand_map(user, 0))
    back = algebra.inverse(index) if len(path) > 1 and path[-1].shape.kind == "array" else None
    if back is None:
        return product
    flat, dims = compose(back, memory_map(path[-1].shape)), product.shape.dims
    steps = [algebra.access(flat, variable.name)[0].stride for variable in algebra.info(flat).variables]
    if None in steps or len(steps) < len(dims):
        return product
    order = tuple(sorted(range(len(dims)), key=lambda d: (dims[d] == 1, steps[d] or 0)))
    turned = copies.copy(product)
    turned.shape = array_shape(product.shape.dtype, dims, order)
    found, own = contiguous(turned), contiguous(product)
    if not found or found != own and not _strides(operands[found[0]], found[1]) \
            and operands[found[0]].shape.elements * panels.smaller_copies > product.shape.elements:
        return product
    return turned


def _with_smaller_copies(product: Instruction, operands: "Sequence[Instruction]", panels: Panels) -> Instruction:
    """Return the product with a transposed result layout, if fewer elements are then copied: an operand that is not
    contiguous along the columns is copied, and so is a transposed result. Return the product itself otherwise.
    """
    found = contiguous(product) if product.opcode == "dot" else None
    if found is None or not _sum_type(product):
        return product
    of, j = found
    turned = _transposed_result(product)
    other = contiguous(turned)
    if other is None or other[0] == of or _last_size(turned) * dtypes.storage_bytes(_sum_type(product)) < LINE:
        return product
    copied = 0 if _minor(operands[of]) == j else operands[of].shape.elements
    others = 0 if _minor(operands[1 - of]) == other[1] else operands[1 - of].shape.elements
    return turned if (others + product.shape.elements) * panels.smaller_copies <= copied else product


def _minor(value: Instruction) -> "Optional[int]":
    """Return the dimension along which the value is contiguous in memory, or would be if it were stored."""
    steps, sizes = _memory_strides(value), value.shape.dims
    if steps is None:
        return next((d for d in value.shape.minor_to_major if sizes[d] > 1), None)
    return next((d for d, step in enumerate(steps) if step == 1 and sizes[d] > 1), None)


def _in_whole_units(product: Instruction, panels: Panels) -> Instruction:
    """Return the product with a transposed result layout, if the result's rows then fill their last vectors (units)
    better. The result must then be copied to its own layout. Return the product itself if the transpose saves little,
    or if the result is not small compared with the operands.
    """
    found = contiguous(product) if product.opcode == "dot" else None
    sides = [Sides.of(product, k) for k in (0, 1)]
    if found is None or not _sum_type(product) or any(len(side.kept) != 1 for side in sides) \
            or product.shape.elements * math.prod(loop_sizes(product)) < panels.many_products \
            or product.shape.elements * panels.turned_result > sum(each.shape.elements for each in product.operands):
        return product
    rows, columns = (_kept_size(product, k) for k in (1 - found[0], found[0]))
    unit = LINE // dtypes.storage_bytes(_sum_type(product))
    if rows < unit or -(-rows // unit) * columns * panels.whole_units > -(-columns // unit) * rows:
        return product
    last = len(sides[0].batch) + 1 - found[0]
    turned = copies.copy(product)
    turned.shape = array_shape(product.shape.dtype, product.shape.dims,
                               (last, *(d for d in product.shape.minor_to_major if d != last)))
    return turned


def _tiled(x: Expander, product: Instruction, operands: "Sequence[Instruction]",
           panels: Panels) -> Optional[Instruction]:
    """Return the product for register tiles. Return None if the result's contiguous dimension is a batch dimension, or
    too short.
    """
    kind = _sum_type(product)
    if product.opcode == "convolution":
        return _by_pixels(x, product, operands, panels) or _by_images(x, product, operands, panels) \
            or _by_features(x, product, operands, panels)
    found = contiguous(product)
    if found is None:
        return None
    of, j = found
    size, rows = _last_size(product), _kept_size(product, 1 - of)
    if not _is_worth_it(product, size, rows, panels):
        return None
    unit = LINE // dtypes.storage_bytes(kind)
    if math.prod(loop_sizes(product)) >= 2 * LINE // unit:
        width = _panel_width(size, kind, panels.group_units) if rows > panels.item_rows or size < unit else 0
        value = _grouped(x, product, operands, of, j, width, panels)
        if value:
            return x.laid_out(x.convert(value, product.shape.dtype), product.shape)
    both, contracted = [x.convert(operand, kind) for operand in operands], Sides.of(product, 1 - of).contracted
    both[of] = _units(x, product, both[of], of, j, size, rows, panels)
    single = both[1 - of]
    apart = size >= panels.in_place_columns and not any(_strides(single, k) for k in contracted) \
        and _is_far(single, contracted, panels) \
        and single.shape.elements * dtypes.storage_bytes(kind) > panels.in_place_bytes
    if apart or not _strides(single):
        both[1 - of] = _stored(x, single, contracted if apart else ())
    shape = array_shape(kind, product.shape.dims, product.shape.minor_to_major)
    value = x.add("dot", shape, both, **{**product.attributes, TILED: of})
    return x.laid_out(x.convert(value, product.shape.dtype), product.shape)


def _is_far(value: Instruction, contracted: "Sequence[int]", panels: Panels) -> bool:
    """Return true if adjacent elements along the sum are far apart in memory."""
    steps = _memory_strides(value)
    return steps is None or min((abs(steps[d]) for d in contracted if value.shape.dims[d] > 1), default=0) \
        * dtypes.storage_bytes(value.shape.dtype) > panels.near_bytes


def _is_worth_it(product: Instruction, size: int, rows: int, panels: Panels) -> bool:
    """Return true if the product is large enough for tiles."""
    return not _too_small(product, size, rows, panels)


def _too_small(product: Instruction, size: int, rows: int, panels: Panels) -> str:
    """Return the reason why a product is too small for tiles; "" if it is not. size: the number of columns. rows: the
    number of rows.
    """
    unit, steps = LINE // dtypes.storage_bytes(_sum_type(product)), math.prod(loop_sizes(product))
    if size < unit // 2 and product.opcode == "dot":
        return f"rows of {size} columns; tiles need at least {unit // 2}"
    least = panels.least_steps if size >= unit else panels.filled_steps
    return f"{rows * size * steps} multiplications in rows of {size} columns; tiles need at least {least}" \
        if rows * size * steps < least else ""


def _panel_width(size: int, kind: str, units: "Sequence[int]") -> int:
    """Return the number of columns of a panel, if there are `size` columns in all. units: the possible numbers of
    vectors in a row of a panel, the best first.
    """
    unit = LINE // dtypes.storage_bytes(kind)
    return next((unit * n for n in units if size % (unit * n) == 0), unit)


def _units(x: Expander, product: Instruction, value: Instruction, of: int, j: int, size: int, rows: int,
           panels: Panels) -> Instruction:
    """Return the operand that is read in vectors (units) along its dimension j, of size `size`. It is copied to panels,
    unless these vectors are contiguous in memory and one of two conditions holds. The first is that the product has few
    rows, or that the operand is small and rows are not many. The second is that the operand's elements already have the
    order of a panel.
    """
    kind, bytes_ = value.shape.dtype, dtypes.storage_bytes(value.shape.dtype)
    matrix = math.prod(loop_sizes(product)) * size * bytes_
    most = panels.dot_rows if product.opcode == "dot" else panels.in_place_rows
    in_place = size >= LINE // bytes_ and (rows <= most or matrix <= panels.in_place_bytes and rows < panels.many_rows)
    # the sizes of a part of the operand: `size` elements along dimension j, all elements along the other dimensions
    box = tuple(size if d == j else count for d, count in enumerate(value.shape.dims))
    sides, steps, width = Sides.of(product, of), _memory_strides(value, box), _panel_width(size, kind, panels.units)
    is_panel = size == width and steps is not None and \
        min((abs(steps[d]) for d in sides.contracted if value.shape.dims[d] > 1), default=width) == width
    if (in_place or is_panel) and steps is not None and steps[j] == 1:
        return value
    if product.opcode == "convolution" and steps:       # in this order, the copy to panels reads long contiguous runs
        sides = replace(sides, contracted=tuple(sorted(sides.contracted, key=lambda d: -abs(steps[d]))))
    return _in_panels(x, value, sides, j, width)


# ---- products of groups of narrow numbers ----

def narrow_type(dtype: str, sums: str) -> str:
    """Return a type that a machine multiplies in groups, and that represents all numbers of type `dtype`. sums: the
    type of the sum. Return "" if there is no such type.
    """
    if sums == "f32":
        return "bf16" if dtype == "bf16" else ""
    of = dtypes.TABLE[dtype]
    return {"sint": "s8", "uint": "u8", "pred": "u8"}.get(of.kind, "") if sums == "s32" and of.bits <= 8 else ""


def _groups(x: Expander, dot: Instruction, operands: "Sequence[Instruction]",
            panels: Panels) -> "List[Instruction]":
    """Return the operands with the dimensions [batch, kept, K / group, group]. K is the number of summands, and `group`
    is the number of adjacent summands (two of 16 bits or four of 8 bits) that one machine instruction multiplies and
    adds. `kept` is the dimension of the operand that the result has too. Return an empty list if there is no such
    instruction for the operands' types.
    """
    types = [narrow_type(operand.shape.dtype, _sum_type(dot)) for operand in operands]
    if not set(types) <= set(panels.groups):
        return []
    group = 4 // dtypes.storage_bytes(types[0])
    return [_in_groups(x, x.convert(operand, narrow), Sides.of(dot, k), group)
            for k, (operand, narrow) in enumerate(zip(operands, types))]


def _grouped(x: Expander, dot: Instruction, operands: "Sequence[Instruction]", of: int, j: int,
             width: int, panels: Panels) -> Optional[Instruction]:
    """Return the product for tiles that multiply groups of narrow numbers: two adjacent summands of 16 bits, or four of
    8 bits, in one instruction. Return None if tiles have no such instruction for the operands' types.

    width: the number of columns of a panel. If it is 0, each work-item copies its columns to a panel of its own. This
        requires that the operand is in memory, and that the columns are contiguous; otherwise a width is chosen.
    """
    both, side = _groups(x, dot, operands, panels), Sides.of(dot, of)
    if not both:
        return None
    if not _strides(both[1 - of], both[1 - of].shape.rank - 1):
        both[1 - of] = _stored(x, both[1 - of])
    batch, count = len(side.batch), len(side.batch) + len(side.kept)
    grouped = Sides(tuple(range(batch)), tuple(range(batch, count)), (count, count + 1))
    column = (*side.batch, *side.kept).index(j)
    if width or not _strides(both[of], column):
        width = width or _panel_width(both[of].shape.dims[column], _sum_type(dot), panels.group_units)
        both[of] = _in_panels(x, both[of], grouped, column, width, both[of].shape.dims[-1])
    return _of_groups(x, array_shape(_sum_type(dot), dot.shape.dims, dot.shape.minor_to_major), both, of, batch)


def _of_groups(x: Expander, shape: Shape, both: "Sequence[Instruction]", of: int, batch: int) -> Instruction:
    """Return the product of the two operands `both`, whose dimensions are [batch, kept, K / group, group], as `_groups`
    returns them. batch: the number of batch dimensions.
    """
    attributes: Dict[str, object] = {TILED: of}
    for side, value in zip(("lhs", "rhs"), both):
        attributes[f"{side}_batch_dims"] = tuple(range(batch))
        attributes[f"{side}_contracting_dims"] = (value.shape.rank - 2, value.shape.rank - 1)
    return x.add("dot", shape, both, **attributes)


def _turned(x: Expander, dot: Instruction, operands: "Sequence[Instruction]", panels: Panels) -> Optional[Instruction]:
    """Return a product of an operand with few rows and a large matrix. Both have numbers of 16 or 8 bits, which are
    multiplied in groups (see `_groups`). The matrix is contiguous along the contracted dimension and is read in place.
    The operand with few rows is stored in panels, and the result is transposed. Return None for other products.
    """
    of, kind = int(_kept_size(dot, 1) <= _kept_size(dot, 0)), _sum_type(dot)
    rows, columns, steps = _kept_size(dot, of), _kept_size(dot, 1 - of), math.prod(loop_sizes(dot))
    if dot.opcode != "dot" or rows < (panels.turned_rows if kind == "f32" else 2) or rows * panels.turned_share > columns \
            or rows * columns * steps < panels.filled_steps:
        return None
    before, batch = len(x.into), len(Sides.of(dot, of).batch)
    both = _groups(x, dot, operands, panels)
    if not both or not _strides(both[1 - of], both[1 - of].shape.rank - 1):
        del x.into[before:]
        return None
    dims, kept = both[of].shape.dims, both[1 - of].shape.dims[batch:-2]
    flat = x.reshape(both[of], (*dims[:batch], rows, *dims[-2:]))
    sides = Sides(tuple(range(batch)), (batch,), (batch + 1, batch + 2))
    both[of] = _in_panels(x, flat, sides, batch, _panel_width(rows, kind, panels.group_units), dims[-1])
    at = batch + of * len(kept)     # the dimension of the rows
    shape = array_shape(kind, (*dims[:batch], *kept[:at - batch], rows, *kept[at - batch:]))
    order = (at, *(d for d in shape.minor_to_major if d != at))
    value = x.reshape(_of_groups(x, array_shape(kind, shape.dims, order), both, of, batch), dot.shape.dims)
    return x.laid_out(x.convert(value, dot.shape.dtype), dot.shape)


def _in_groups(x: Expander, value: Instruction, sides: Sides, group: int) -> Instruction:
    """Return the operand with the dimensions [batch, kept, K / group, group]. `kept` is the dimension of the operand
    that the result has too. The contracted dimensions are merged into one dimension of K elements, and zeros are
    appended until K is a multiple of `group`.
    """
    order = (*sides.batch, *sides.kept, *sides.contracted)
    dims = tuple(value.shape.dims[d] for d in order[:len(order) - len(sides.contracted)])
    steps = math.prod(value.shape.dims[d] for d in sides.contracted)
    flat = x.reshape(_transposed(x, value, order), (*dims, steps))
    flat = _filled(x, flat, len(dims), -steps % group)
    return x.reshape(flat, (*dims, -(-steps // group), group))


def _filled(x: Expander, value: Instruction, along: int, count: int) -> Instruction:
    """Return the value with `count` zeros appended along a dimension."""
    if not count:
        return value
    dims = tuple(size + count * (d == along) for d, size in enumerate(value.shape.dims))
    padding = [(0, count * (d == along), 0) for d in range(len(dims))]
    return x.add("pad", array_shape(value.shape.dtype, dims), [value, x.constant(value.shape.dtype, 0)], padding=padding)


# ---- products in shared-memory tiles ----

def _for_gpus(x: Expander, product: Instruction, operands: "Sequence[Instruction]",
              tiles: SharedTiles) -> Optional[Instruction]:
    """Return the product for shared-memory tiles, or a product by a vector as a reduce. Return None if the product is
    small, or if it does not multiply rows by columns. An operand that is computed is stored first. Operands of
    different types are converted to the type of the sum.
    """
    by_vector = _by_vector(x, product, operands, tiles.vector_steps) if product.opcode == "dot" else None
    if by_vector or product.shape.elements * math.prod(loop_sizes(product)) < tiles.least_steps \
            or _why_not_for_gpus(product, tiles):
        return by_vector
    kind, types = _sum_type(product), {operand.shape.dtype for operand in operands}
    own = len(types) == 1 and types <= {kind, *TILED_OPERANDS[kind]}
    both = [operand if own else x.convert(operand, kind) for operand in operands]
    if product.opcode == "convolution" and max(product.attributes["window"].base_dilation, default=1) > 1:
        return _by_phases(x, product, both, tiles)
    if product.opcode == "convolution":
        both = _features_beside(x, product, both, tiles)
    both = [value if _strides(value, leads=False) else _stored(x, value) for value in both]
    shape = array_shape(kind, product.shape.dims, product.shape.minor_to_major)
    value = x.add(product.opcode, shape, both, **{**product.attributes, TILED: None})
    return x.laid_out(x.convert(value, product.shape.dtype), product.shape)


def _features_beside(x: Expander, product: Instruction, operands: "Sequence[Instruction]",
                     tiles: SharedTiles) -> "List[Instruction]":
    """Return the operands of a convolution, or copies in which the features are contiguous. They are copied if the base
    is contiguous along a dimension of the image and the window moves along this dimension. Without the copy, each
    element of the base would be copied to shared memory by itself. That takes as long as the copy of a whole word.
    """
    base, kernel = operands
    labels, window = product.attributes["dim_labels"], product.attributes["window"]
    size, features = dtypes.storage_bytes(base.shape.dtype), kernel.shape.dims[labels.rhs[0]]
    image = any(_strides(base, d) and base.shape.dims[d] > 1 for d, *along in zip(
        labels.lhs[2:], window.size, window.stride, window.low, window.high) if along != [1, 1, 0, 0])
    if not image or size > tiles.few_bytes or features % (WORD // size):
        return [*operands]
    return [_stored(x, base, (labels.lhs[1],)), _stored(x, kernel, (labels.rhs[0], labels.rhs[1]))]


def _by_phases(x: Expander, product: Instruction, operands: "Sequence[Instruction]", tiles: SharedTiles) -> Instruction:
    """Return a convolution whose base has holes as several convolutions of the base without holes, one for each phase
    of the window (gen/plan/cells.py). No hole is then multiplied. The results are interleaved.
    """
    labels, shape = product.attributes["dim_labels"], product.shape
    along = [phases(product, k) for k in range(len(labels.out) - 2)]

    def part(of: "Sequence[Phase]") -> Instruction:
        dims = list(shape.dims)
        for phase, d in zip(of, labels.out[2:]):
            dims[d] = phase.places
        to = array_shape(shape.dtype, tuple(dims), shape.minor_to_major)
        if not all(phase.taps for phase in of):
            return x.splat(0, to)
        window, kernel = product.attributes["window"], operands[1]
        bounds = [(0, size, 1) for size in kernel.shape.dims]
        for k, (phase, d) in enumerate(zip(of, labels.rhs[2:])):
            last = phase.tap + phase.taps_every * (phase.taps - 1)
            first = window.size[k] - 1 - last if window.reversal[k] else phase.tap
            bounds[d] = first, first + last - phase.tap + 1, phase.taps_every
        taps = tuple(-(-(end - first) // step) for first, end, step in bounds)
        kernel = x.add("slice", array_shape(kernel.shape.dtype, taps), [kernel], slice=bounds)
        size, stride, dilation, low, high = zip(*((p.taps, p.stride, p.dilation, p.low, p.high) for p in of))
        moved = replace(window, size=size, stride=stride, dilation=dilation, low=low, high=high,
                        base_dilation=(1,) * len(of))
        made = Instruction(product.name, "convolution", to, [operands[0], kernel], {**product.attributes, "window": moved},
                           line=product.line, col=product.col, computation=product.computation)
        return _for_gpus(x, made, made.operands, tiles) or x.add("convolution", to, made.operands, **made.attributes)

    def joined(of: "Tuple[Phase, ...]") -> Instruction:
        if len(of) == len(along):
            return part(of)
        d, parts = labels.out[2 + len(of)], [joined((*of, phase)) for phase in along[len(of)]]
        most, dims = parts[0].shape.dims[d], parts[0].shape.dims
        beside = [x.reshape(_filled(x, value, d, most - value.shape.dims[d]), (*dims[:d + 1], 1, *dims[d + 1:]))
                  for value in parts]
        flat = x.reshape(x.concatenate(beside, d + 1), (*dims[:d], most * len(parts), *dims[d + 1:]))
        return x.slice(flat, d, 0, shape.dims[d])
    return x.laid_out(joined(()), shape)


def _why_not_for_gpus(product: Instruction, tiles: SharedTiles) -> str:
    """Return the reason why a product does not multiply rows by columns in shared-memory tiles; "" if it does."""
    if product.opcode == "dot":
        return "" if min(_kept_size(product, k) for k in (0, 1)) > 1 else "one of its operands is a vector"
    features, groups = product.shape.dims[product.attributes["dim_labels"].out[1]], group_count(product)
    count = math.prod(len(phases(product, k)) for k in range(product.shape.rank - 2))
    if count > tiles.phases:
        return f"the holes of its base make {count} phases of places; kernels are made for at most {tiles.phases}"
    if features == groups:
        return "its groups have one feature each" if groups > 1 else "its result has one feature"
    return "" if product.shape.elements > features else "its window has one place"


# ---- convolutions ----

def _has_few_features(product: Instruction, panels: Panels) -> bool:
    """Return true if the output features of a convolution fill less than half a vector, and if its tiles cannot read
    the base in vectors along pixels (`_along_pixels`).
    """
    kind, features = _sum_type(product), product.shape.dims[product.attributes["dim_labels"].out[1]]
    return kind != "" and features < LINE // dtypes.storage_bytes(kind) // 2 \
        and product.shape.elements * math.prod(loop_sizes(product)) >= panels.filled_steps \
        and _along_pixels(product, panels) is None


def _along_pixels(product: Instruction, panels: Panels) -> Optional[int]:
    """Return the dimension of the window along which tiles read a convolution's base in vectors. It is the contiguous
    dimension of the result. Return None if the result's contiguous dimension is not spatial, if the window has another
    stride than 1 or the base has padding or holes along it, or if there are several feature groups or few products.
    """
    shape, labels, window = product.shape, product.attributes["dim_labels"], product.attributes["window"]
    at = next((d for d in shape.minor_to_major if shape.dims[d] > 1), labels.out[0])
    if at not in labels.out[2:] or group_count(product) > 1:
        return None
    k, size = labels.out.index(at) - 2, shape.dims[at]
    plain = window.low[k] == window.high[k] == 0 and window.stride[k] == window.base_dilation[k] == 1
    wide = size >= LINE // dtypes.storage_bytes(_sum_type(product))
    return k if plain and wide and _is_worth_it(product, size, shape.elements // size, panels) else None


def _by_pixels(x: Expander, product: Instruction, operands: "Sequence[Instruction]",
               panels: Panels) -> Optional[Instruction]:
    """Return the convolution in a form whose tiles read the base in vectors along one dimension of the image. Return
    None if there is no such dimension.
    """
    k, shape, labels = _along_pixels(product, panels), product.shape, product.attributes["dim_labels"]
    if k is None:
        return None
    kind = _sum_type(product)
    base, kernel = (x.convert(operand, kind) for operand in operands)
    if not _strides(base, labels.lhs[2 + k]):
        base = _stored(x, base, (labels.lhs[2 + k],))
    return _laid_out(x, product, [base, kernel if _strides(kernel) else _stored(x, kernel)], shape.minor_to_major, 0)


def _by_images(x: Expander, product: Instruction, operands: "Sequence[Instruction]",
               panels: Panels) -> Optional[Instruction]:
    """Return a convolution that sums over images as the sum of several convolutions, each over some of the images. A
    gradient of weights is such a convolution. The images of a part stay in cache while the window moves over all
    positions. The parts become feature groups. Return None for other convolutions, and if the results of all parts
    would not be small compared with the operands.
    """
    labels, kind = product.attributes["dim_labels"], _sum_type(product)
    (base, kernel), (inputs, outputs), dims = operands, labels.rhs[:2], product.shape.dims
    count, bytes_ = kernel.shape.dims[inputs], dtypes.storage_bytes(kind)
    read = (base.shape.elements + kernel.shape.elements) * bytes_
    most = read // (panels.images_share * product.shape.elements * bytes_)
    parts = max((n for n in range(1, min(count, most) + 1) if count % n == 0), default=1)
    places, taps = math.prod(dims[d] for d in labels.out[2:]), math.prod(product.attributes["window"].size)
    groups, features = group_count(product), kernel.shape.dims[outputs]
    depthwise = product.attributes["batch_group_count"] == base.shape.dims[labels.lhs[0]] == features > 1
    if depthwise:       # accept only operands that need no copy: a copy takes longer than the division into parts saves
        depthwise = _strides(base, labels.lhs[0]) and _strides(kernel, outputs) and features % (LINE // bytes_) == 0
    if groups > 1 and not depthwise or parts == 1 or read < panels.images_bytes or not 1 < places < taps:
        return None
    before = len(x.into)
    turned = _in_groups_of_images(x, kernel, inputs, outputs, parts)
    grouped = {"feature_group_count": parts}
    if depthwise:
        base = _in_groups_of_images(x, base, labels.lhs[1], labels.lhs[0], parts)
        grouped = {"batch_group_count": parts * groups}
    f = labels.out[1]
    sums = Instruction(product.name, "convolution", array_shape(kind, (*dims[:f], parts * dims[f], *dims[f + 1:])),
                       [base, turned], {**product.attributes, **grouped}, line=product.line,
                       col=product.col, computation=product.computation)
    value = _by_features(x, sums, [base, turned], panels, features)
    if value is None:
        del x.into[before:]
        return None
    value = x.sum(x.reshape(value, (*dims[:f], parts, *dims[f:])), [f])
    return x.laid_out(x.convert(value, product.shape.dtype), product.shape)


def _in_groups_of_images(x: Expander, value: Instruction, images: int, features: int, parts: int) -> Instruction:
    """Return the value with its images divided into parts. Dimension `images` then counts the images of one part. The
    number of the part becomes the major digit of dimension `features`.
    """
    of = value.shape.dims
    apart = x.reshape(value, (*of[:images], parts, of[images] // parts, *of[images + 1:]))
    order = [d + (d > images) for d in range(len(of))]
    order[images] = images + 1
    order.insert(features, images)
    grouped = list(of)
    grouped[images], grouped[features] = of[images] // parts, parts * of[features]
    return x.reshape(_transposed(x, apart, order), grouped)


def _by_features(x: Expander, product: Instruction, operands: "Sequence[Instruction]", panels: Panels,
                 part: int = 0) -> Optional[Instruction]:
    """Return a convolution whose filter (the right operand) is read in vectors along the output features, which are
    contiguous in the result. Return None if a feature group has too few features. part: the number of features that
    belong to one part of the images; 0 if the images are not divided.
    """
    shape, labels, kind = product.shape, product.attributes["dim_labels"], _sum_type(product)
    groups, features = group_count(product), shape.dims[labels.out[1]]
    each, unit, rows = features // groups, LINE // dtypes.storage_bytes(kind), shape.elements // features
    part_of_unit = parts_of_unit(groups, features, unit)
    if not _is_worth_it(product, features if each == 1 or part_of_unit else each, rows, panels):
        return None
    order = (labels.out[1], *(d for d in shape.minor_to_major if d != labels.out[1]))
    base, kernel = operands
    if groups > 1 and each == 1:
        wide = labels.lhs[0 if product.attributes["batch_group_count"] > 1 else 1]
        if features < unit or kernel.shape.dims[labels.rhs[0]] > 1 and wide == labels.lhs[1] \
                or base.shape.dims[wide] != features:
            return None
        base, kernel = (x.convert(operand, kind) for operand in operands)
        both = [value if _strides(value, d) or part % unit == 0 and _are_neighbours(value, d, part) else
                _stored(x, value, (d,)) for value, d in ((base, wide), (kernel, labels.rhs[1]))]
        return _laid_out(x, product, both, order, 1)
    if groups > 1 and each % unit and not part_of_unit:
        return None
    base, kernel = (x.convert(operand, kind) for operand in operands)
    kernel = _units(x, product, kernel, 1, labels.rhs[1], features if part_of_unit else each, rows, panels)
    if part_of_unit:
        return _by_parts(x, product, base, kernel, order)
    # If no loop of the sum is longer than the one over the input features, store the base (the convolution's input)
    # with contiguous input features.
    steps = loop_sizes(product)
    if max(steps) == steps[-1] >= unit and not _strides(base, labels.lhs[1]):
        base = _stored(x, base, (labels.lhs[1],))
    return _laid_out(x, product, [base if _strides(base) else _stored(x, base), kernel], order, 1)


def parts_of_unit(groups: int, features: int, unit: int) -> int:
    """Return the number of features in a group if a vector of features contains several whole groups; else 0."""
    each = features // groups
    return each if groups > 1 and 1 < each < unit and unit % each == 0 and features % unit == 0 else 0


def _by_parts(x: Expander, product: Instruction, base: Instruction, kernel: Instruction,
              order: "Sequence[int]") -> Instruction:
    """Return the convolution for vectors that contain output features of several feature groups. Each lane of a vector
    reads the base's element that its own group needs.
    """
    labels = product.attributes["dim_labels"]
    wide = labels.lhs[0 if product.attributes["batch_group_count"] > 1 else 1]
    base = base if _strides(base, wide) else _stored(x, base, (wide,))
    return _laid_out(x, product, [base, kernel], order, 1)


def _laid_out(x: Expander, convolution: Instruction, both: "Sequence[Instruction]", order: "Sequence[int]",
              of: int) -> Instruction:
    """Return the convolution for tiles, and a copy of its result to the result's own layout. order: the dimensions in
    memory (minor to major) of the result that the tiles write. of: the index of the operand that is read vector by
    vector.
    """
    shape = array_shape(both[of].shape.dtype, convolution.shape.dims, tuple(order))
    value = x.add("convolution", shape, both, **{**convolution.attributes, TILED: of})
    return x.laid_out(x.convert(value, convolution.shape.dtype), convolution.shape)


def group_count(product: Instruction) -> int:
    """Return the number of groups of a convolution's features; 1 for other products."""
    return max(product.attributes.get(f"{kind}_group_count", 1) for kind in ("feature", "batch"))


def _stored(x: Expander, value: Instruction, minor: "Sequence[int]" = ()) -> Instruction:
    """Add a copy op of the value, and return it. Its result is stored in a buffer, so readers do not compute it again.
    minor: the dimensions that become contiguous, major first.
    """
    order = (*minor[::-1], *(d for d in reversed(range(value.shape.rank)) if d not in minor))
    return x.add("copy", array_shape(value.shape.dtype, value.shape.dims, order), [value], **{STORED: True})


def contiguous(product: Instruction) -> "Optional[Tuple[int, int]]":
    """Return the index of the operand that has the result's contiguous dimension, and this dimension in the operand.
    Return None if the result's contiguous dimension is a batch dimension.
    """
    at = next((d for d in product.shape.minor_to_major if product.shape.dims[d] > 1), None)
    if at is None:
        return None
    left, right = Sides.of(product, 0), Sides.of(product, 1)
    if at < len(left.batch):
        return None
    at -= len(left.batch)
    return (0, left.kept[at]) if at < len(left.kept) else (1, right.kept[at - len(left.kept)])


def _last_size(product: Instruction) -> int:
    """Return the size of the result's contiguous dimension."""
    return product.shape.dims[next(d for d in product.shape.minor_to_major if product.shape.dims[d] > 1)]


def _strides(value: Instruction, contiguous: "Optional[int]" = None, leads: bool = True) -> bool:
    """Return true if a value is stored in memory with a constant stride along each dimension. contiguous: the dimension
    whose stride must be 1, or None. leads: true if the caller may give the leading dimension at run time.
    """
    steps = _memory_strides(value, leads=leads)
    return steps is not None and (contiguous is None or steps[contiguous] == 1)


def _are_neighbours(value: Instruction, d: int, count: int) -> bool:
    """Return true if the first `count` elements along dimension d are contiguous in memory."""
    box = tuple(min(size, count) if k == d else size for k, size in enumerate(value.shape.dims))
    steps = _memory_strides(value, box)
    return steps is not None and steps[d] == 1


def _memory_strides(value: Instruction, box: "Tuple[int, ...]" = (), leads: bool = True) -> "Optional[List[int]]":
    """Return the stride in memory along each dimension of a value. Return None if the value is not stored, or if a
    stride is not constant. The stride along a dimension of size 1 is 0.

    box: the sizes of a block of the value that begins at index 0. Only the elements of this block must have constant
        strides.
    leads: true if the caller may give the leading dimension at run time.
    """
    index, of = identity(box or value.shape.dims), value
    while moves_only(of) and of.opcode != "get-tuple-element" and not of.attributes.get(STORED):
        index, of = compose(index, operand_map(of, 0)), of.operands[0]
    if index == EMPTY or of.shape.kind != "array" or not (
            of.opcode == "parameter" or stops(of) or of.attributes.get(PARTS)):
        return None
    if of.shape.lead and not leads or not has_strides(of.shape):
        return None
    flat = compose(index, stride_map(of.shape))
    if flat == EMPTY or algebra.guards(flat):
        return None
    steps = {v.name: algebra.access(flat, v.name)[0].stride for v in algebra.info(flat).variables}
    found = [steps.get(f"i{d}", 0) for d in range(value.shape.rank)]
    return None if None in steps.values() else [step or 0 for step in found]


def _in_panels(x: Expander, value: Instruction, sides: Sides, j: int, width: int, group: int = 1) -> Instruction:
    """Copy the value to panels, and return the value as read from the panels. If `width` does not divide the columns,
    the last panel begins earlier and shares columns with the panel before it. A value with fewer columns than a panel
    is padded with zeros. group: the size of the last contracted dimension, if its elements are to be contiguous; else
    1.
    """
    dims = value.shape.dims
    others = tuple(d for d in (*sides.batch, *sides.kept) if d != j)
    order = (*others, *sides.contracted, j)
    outer, inner = (tuple(dims[d] for d in some) for some in (others, sides.contracted))
    o, i, size, steps = len(outer), len(inner), dims[j], len(inner) - (group > 1)
    # dimensions of the array of panels: outer dimensions, panel, contracted dimensions, column in the panel, group
    to_panels = (*range(o), o + i, *range(o, o + steps), o + i + 1, *range(o + steps, o + i))
    from_panels = tuple(to_panels.index(d) for d in range(o + i + 2))
    turned = _transposed(x, value, order)
    turned = _filled(x, turned, o + i, max(width - size, 0))
    whole = max(size // width, 1)

    def panels(start: int, count: int) -> Instruction:
        part = x.slice(turned, o + i, start, start + count * width)
        return _transposed(x, x.reshape(part, (*outer, *inner, count, width)), to_panels)

    parts = [panels(0, whole)] + [panels(size - width, 1)] * (size > width and size % width > 0)
    made = x.concatenate(parts, o) if len(parts) > 1 else parts[0]
    kept = x.add("copy", made.shape, [made], **{STORED: True})

    def columns(start: int, count: int, first: int, end: int) -> Instruction:
        part = _transposed(x, x.slice(kept, o, start, start + count), from_panels)
        return x.slice(x.reshape(part, (*outer, *inner, count * width)), o + i, first, end)

    back = columns(0, whole, 0, min(size, whole * width))
    if len(parts) > 1:
        back = x.concatenate([back, columns(whole, 1, width - size % width, width)], o + i)
    return _transposed(x, back, [order.index(d) for d in range(len(dims))])
