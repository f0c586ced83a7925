"""The semantics of HLO, which certificates trust: for each op, the elements of its operands from which it computes an
element.

This file was written from the definition of the ops. It shares nothing with the rest of gen but the parsed graph. If
an op is missing here, the semantics of a kernel with this op are `not proved`.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from gen.certify import expressions, terms
from gen.certify.expressions import Expression
from gen.certify.terms import ZERO, Atom, Condition, Term, both, number
from gen.hlo.graph import Computation, Instruction, Shape

Index = Tuple[Term, ...]

BITS: "Dict[str, int]" = {
    "pred": 8,
    "s8": 8,
    "u8": 8,
    "s16": 16,
    "u16": 16,
    "s32": 32,
    "u32": 32,
    "s64": 64,
    "u64": 64,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
    "f8e5m2": 8,
    "f8e4m3fn": 8,
    "c64": 64,
    "c128": 128,
}
# Elementwise ops: an element is computed from the operands' elements at the same index.
SAME_INDEX = set(
    """abs acos acosh add and asin asinh atan2 atanh cbrt ceil clamp compare convert cosh cosine count-leading-zeros divide erf exponential
    exponential-minus-one floor imag is-finite log log-plus-one logistic maximum minimum multiply negate not or popcnt
    power real reduce-precision remainder round-nearest-afz round-nearest-even rsqrt select shift-left
    shift-right-arithmetic shift-right-logical sign sine sinh sqrt stochastic-convert subtract tan tanh xor complex
    bitcast-convert""".split()
)
MOST_LISTED = 64  # maximum number of elements of a reduction that is written as one operation on all elements


class Unsupported(Exception):
    """An op, a type or a layout that this module does not support. The text is the reason."""


def bytes_of(shape: Shape) -> int:
    """Return the size of an element in bytes."""
    if shape.dtype not in BITS:
        raise Unsupported(f"elements of {shape.dtype}")
    return BITS[shape.dtype] // 8


# ---- layouts ----


def _tiles(shape: Shape) -> "List[Tuple[int, ...]]":
    """Return the tiles of a layout, the outermost first."""
    found = re.search(r"\{[^{}]*\}$", shape.text)
    rest = found[0][1:-1].split(":", 1)[1] if found and ":" in found[0] else ""
    tiles: "List[Tuple[int, ...]]" = []
    tiled = re.match(r"T((\([\d,]*\))+)", rest)
    if tiled:
        tiles = [tuple(int(n) for n in part.split(",") if n) for part in re.findall(r"\(([\d,]*)\)", tiled[1])]
        rest = rest[tiled.end() :]
    if re.sub(r"S\(\d+\)", "", rest):
        raise Unsupported(f"layout {shape.text}")
    return tiles


def position(shape: Shape, index: Index) -> Term:
    """Return the position of an element in memory, as a number of elements."""
    if shape.place or shape.dynamic:
        raise Unsupported(f"an array {'in a larger buffer' if shape.place else 'of dynamic size'}")
    order = shape.minor_to_major if len(shape.minor_to_major) == shape.rank else tuple(range(shape.rank))[::-1]
    dims = [shape.dims[d] for d in reversed(order)]
    at = [index[d] for d in reversed(order)]
    for tile in _tiles(shape):
        count = len(tile)
        if count > len(dims):
            dims, at = [1] * (count - len(dims)) + dims, [ZERO] * (count - len(at)) + at
        outer, inner = len(dims) - count, list(zip(dims[-count:], at[-count:], tile)) if count else []
        dims = dims[:outer] + [-(-n // t) for n, _, t in inner] + list(tile)
        at = at[:outer] + [terms.quotient(i, t) for _, i, t in inner] + [terms.modulo(i, t) for _, i, t in inner]
    total = ZERO
    for n, i in zip(dims, at):
        total = total.times(n) + i
    return total


def element_at(shape: Shape, place: Term) -> Index:
    """Return the index of the element at a position in memory. For padding, the index is outside of the shape."""
    order = shape.minor_to_major if len(shape.minor_to_major) == shape.rank else tuple(range(shape.rank))[::-1]
    dims = [shape.dims[d] for d in reversed(order)]
    # for each tiling: the dimensions that it divides, and the tile
    tilings: "List[Tuple[List[int], Tuple[int, ...]]]" = []
    for tile in _tiles(shape):
        dims = [1] * (len(tile) - len(dims)) + dims
        tilings.append((dims, tile))
        outer = len(dims) - len(tile)
        dims = dims[:outer] + [-(-n // t) for n, t in zip(dims[outer:], tile)] + list(tile)
    at: "List[Term]" = []
    for n, size in reversed(list(enumerate(dims))):
        at.insert(0, terms.modulo(place, size) if n else place)
        place = terms.quotient(place, size) if n else place
    for before, tile in reversed(tilings):
        outer, count = len(before) - len(tile), len(tile)
        inside = [at[outer + k].times(t) + at[outer + count + k] for k, t in enumerate(tile)]
        at = at[:outer] + inside
    at = at[len(at) - shape.rank :] if shape.rank else []
    found: "List[Term]" = [ZERO] * shape.rank
    for d, index in zip(reversed(order), at):
        found[d] = index
    return tuple(found)


def reshaped(dims: "Sequence[int]", index: Index, to: "Sequence[int]") -> Index:
    """Return the index that an element has after a reshape of a row-major array from the dimensions `dims` to the
    dimensions `to`. index: its index before. `dims` and `to` are split into the same number of groups of adjacent
    dimensions, so that corresponding groups have the same number of elements.
    """
    found: "List[Term]" = []
    at, here = 0, 0
    while here < len(to) or at < len(dims):
        group: "List[int]" = []
        own: "List[int]" = []
        while not own or math.prod(dims[n] for n in own) != math.prod(to[n] for n in group) or not group:
            if (
                own
                and (
                    at == len(dims)
                    or group
                    and here < len(to)
                    and math.prod(to[n] for n in group) < math.prod(dims[n] for n in own)
                )
                or at == len(dims)
            ):
                if here == len(to):
                    break
                group.append(here)
                here += 1
            elif at < len(dims):
                own.append(at)
                at += 1
        place = ZERO
        for n in own:
            place = place.times(dims[n]) + index[n]
        part: "List[Term]" = []
        sizes = [to[n] for n in group]
        for n in range(len(sizes) - 1, -1, -1):
            part.insert(0, terms.modulo(place, sizes[n]) if n else place)
            place = terms.quotient(place, sizes[n]) if n else place
        found += part
    return tuple(found)


# ---- ops ----


class Element:
    """Computes elements of instructions, as expressions over elements of the parameters.

    parameter: a function that returns the expression of an element of a parameter. Its arguments are the array's
        number and shape, and the index.
    """

    def __init__(self, computation: Computation, parameter: "Callable[[int, Shape, Index], Expression]") -> None:
        self.parameter = parameter
        self.known: "Dict[Tuple[Instruction, int, Index], Expression]" = {}
        # for each variable that stands for an integer in memory: the element that holds the integer
        self.of_atom: "Dict[Atom, Expression]" = {}
        self.integers: "Dict[Tuple[Expression, str], Term]" = {}
        self.first: "Dict[int, int]" = {}
        # for each parameter of a called computation: the operands of its calls. Calls with other operands are refused.
        self.given: "Dict[Instruction, Tuple[Instruction, ...]]" = {}
        count = 0
        for parameter_of in computation.parameters:
            self.first[id(parameter_of)] = count
            count += len(parameter_of.shape.leaves())

    def of(self, instruction: Instruction, index: Index, output: int = 0) -> Expression:
        """Return the expression of an element of an instruction. output: the number of the array, if the instruction
        returns a tuple.
        """
        key = instruction, output, index
        if key not in self.known:
            if len(self.known) > 20_000:
                raise Unsupported("a computation of too many elements")
            self.known[key] = self._element(instruction, index, output)
        return self.known[key]

    def _element(self, i: Instruction, index: Index, output: int) -> Expression:
        opcode = i.opcode
        if opcode == "parameter":
            if i in self.given:
                return self.of(self.given[i][i.parameter_number or 0], index, output)
            return self.parameter(self.first[id(i)] + output, i.shape.leaves()[output], index)
        if opcode == "tuple":
            for operand in i.operands:
                count = len(operand.shape.leaves())
                if output < count:
                    return self.of(operand, index, output)
                output -= count
        if opcode == "get-tuple-element":
            before = sum(len(c.leaves()) for c in i.operands[0].shape.children[: i.attributes["index"]])
            return self.of(i.operands[0], index, before + output)
        if opcode in ("fusion", "call") and i.called:
            inner = i.called[0]
            for parameter in inner.parameters:
                if self.given.setdefault(parameter, tuple(i.operands)) != tuple(i.operands):
                    raise Unsupported("a computation that is called twice")
            assert inner.root is not None
            return self.of(inner.root, index, output)
        if opcode in SAME_INDEX:
            return self._same_index(i, index)
        if opcode == "reduce":
            return self._reduce(i, index, output)
        if opcode == "reduce-window":
            return self._reduce_window(i, index, output)
        method = getattr(self, "_" + opcode.replace("-", "_"), None)
        if method is None:
            raise Unsupported(opcode)
        return method(i, index)

    def _same_index(self, i: Instruction, index: Index) -> Expression:
        if i.opcode in ("bitcast-convert", "complex", "real", "imag") and len(
            {o.shape.dtype for o in [i, *i.operands]} & {"c64", "c128"}
        ):
            raise Unsupported(f"{i.opcode} of complex numbers")
        if i.opcode == "bitcast-convert" and i.shape.dims != i.operands[0].shape.dims:
            raise Unsupported("a bitcast-convert to another width")
        of = [self.of(operand, index if operand.shape.dims else ()) for operand in i.operands]
        if i.opcode == "select":
            chosen = decided(of[0])
            if chosen in (terms.TRUE, terms.FALSE):    # the kernel may read either operand, or both
                raise Unsupported("a select by a constant")
            if chosen is not None:
                return expressions.either(chosen, of[1], of[2])
        name = i.opcode
        if name == "compare":
            name += " " + str(i.attributes["direction"])
            made = compared(str(i.attributes["direction"]), i.operands[0].shape.dtype, *of)
            if made is not None:
                return made
        if name in ("and", "or", "not") and i.shape.dtype == "pred":
            sides = [decided(each) for each in of]
            if all(side is not None for side in sides):
                conditions = [side for side in sides if side is not None]
                holds = (
                    terms.negated(conditions[0])
                    if name == "not"
                    else (both if name == "and" else terms.either)(*conditions)
                )
                return expressions.index(terms.chosen(holds, terms.ONE, ZERO), 1)
        if name == "convert":
            source = i.operands[0].shape.dtype
            if source == i.shape.dtype:
                return of[0]
            name = f"{source} to {i.shape.dtype}"
            if (
                of[0].kind == "index"
                and source[0] in "su"
                and i.shape.dtype[0] in "su"
                and _fits(of[0].parts[0], i.shape.dtype)
            ):
                return expressions.index(of[0].parts[0], bytes_of(i.shape))
        if (
            of
            and all(each.kind == "index" for each in of)
            and name in ("add", "subtract", "multiply", "maximum", "minimum")
        ):
            made = _of_indices(name, i.shape.dtype, *(each.parts[0] for each in of))
            if made is not None:
                return made
        return expressions.apply(name, bytes_of(i.shape), *of)

    def _copy(self, i: Instruction, index: Index) -> Expression:
        return self.of(i.operands[0], index)

    _optimization_barrier = _copy

    def _constant(self, i: Instruction, index: Index) -> Expression:
        assert i.literal is not None
        if len(set(i.literal)) <= 1:
            value = i.literal[0] if len(i.literal) else 0
            return expressions.index(number(int(value)), bytes_of(i.shape))
        place = ZERO
        for n, at in zip(i.shape.dims, index):
            place = place.times(n) + at
        if place.is_constant:
            return expressions.index(number(int(i.literal[place.constant])), bytes_of(i.shape))
        return expressions.apply(f"constant {i.name}", bytes_of(i.shape), expressions.index(place, 8))

    def _iota(self, i: Instruction, index: Index) -> Expression:
        at = index[i.attributes["iota_dimension"]]
        if i.shape.dtype[0] in "su" and _fits(at, i.shape.dtype):
            return expressions.index(at, bytes_of(i.shape))
        return expressions.apply("iota", bytes_of(i.shape), expressions.index(at, 8))

    def _broadcast(self, i: Instruction, index: Index) -> Expression:
        return self.of(i.operands[0], tuple(index[d] for d in i.attributes["dimensions"]))

    def _transpose(self, i: Instruction, index: Index) -> Expression:
        found: "List[Term]" = [ZERO] * len(index)
        for d, source in enumerate(i.attributes["dimensions"]):
            found[source] = index[d]
        return self.of(i.operands[0], tuple(found))

    def _reshape(self, i: Instruction, index: Index) -> Expression:
        return self.of(i.operands[0], reshaped(i.shape.dims, index, i.operands[0].shape.dims))

    def _bitcast(self, i: Instruction, index: Index) -> Expression:
        of = i.operands[0].shape
        if bytes_of(of) != bytes_of(i.shape):
            raise Unsupported("a bitcast to another width")
        if (
            of.dims == i.shape.dims
            and of.minor_to_major == i.shape.minor_to_major
            and not _tiles(of)
            and not _tiles(i.shape)
        ):
            return self.of(i.operands[0], index)
        if _tiles(of) or _tiles(i.shape):
            return self.of(i.operands[0], element_at(of, position(i.shape, index)))
        # With its dimensions ordered from major to minor, each array is row-major. So the reshape keeps positions.
        own, to = (tuple(reversed(shape.minor_to_major)) for shape in (i.shape, of))
        found = reshaped([i.shape.dims[d] for d in own], tuple(index[d] for d in own), [of.dims[d] for d in to])
        back: "List[Term]" = [ZERO] * of.rank
        for d, at in zip(to, found):
            back[d] = at
        return self.of(i.operands[0], tuple(back))

    def _reverse(self, i: Instruction, index: Index) -> Expression:
        return self.of(
            i.operands[0],
            tuple(
                number(n - 1) - at if d in i.attributes["dimensions"] else at
                for d, (n, at) in enumerate(zip(i.shape.dims, index))
            ),
        )

    def _slice(self, i: Instruction, index: Index) -> Expression:
        return self.of(
            i.operands[0],
            tuple(at.times(step) + number(start) for (start, _, step), at in zip(i.attributes["slice"], index)),
        )

    def _pad(self, i: Instruction, index: Index) -> Expression:
        inside: "List[Condition]" = []
        found: "List[Term]" = []
        for (low, _, between), n, at in zip(i.attributes["padding"], i.operands[0].shape.dims, index):
            moved = at - number(low)
            inside.append(terms.at_most(ZERO, moved))
            if between:
                inside.append(terms.equal(terms.modulo(moved, between + 1), ZERO))
            moved = terms.quotient(moved, between + 1)
            inside.append(terms.less(moved, number(n)))
            found.append(moved)
        return expressions.either(both(*inside), self.of(i.operands[0], tuple(found)), self.of(i.operands[1], ()))

    def integer(self, of: Expression, dtype: str) -> Term:
        """Return the value of an integer as a term."""
        if of.kind == "index":
            return _signed(of.parts[0], dtype)
        key = of, dtype
        if key not in self.integers:
            bits = BITS[dtype]
            lo, hi = (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype[0] == "s" else (0, (1 << bits) - 1)
            made = self.integers[key] = terms.variable("read", lo, hi, False)
            (atom,) = made.free
            self.of_atom[atom] = of
        return self.integers[key]

    def _start(self, of: Instruction, index: Index, size: int, part: int) -> Term:
        """Return the start of a dynamic slice along a dimension. It is an integer in memory, clamped so that the slice
        stays inside of the array. If the slice has the size of the dimension, the start is 0, and nothing is read.

        size: the dimension's size.
        part: the slice's size.
        """
        if size == part:
            return ZERO
        at = self.integer(self.of(of, index), of.shape.dtype)
        at = terms.chosen(terms.less(at, ZERO), ZERO, at)
        most = number(size - part)
        return terms.chosen(terms.less(most, at), most, at)

    def _starts(self, i: Instruction, operands: "Sequence[Instruction]", sizes: "Sequence[int]") -> "List[Term]":
        if len(operands) == 1 and operands[0].shape.dims:  # one operand contains the starts of all dimensions
            return [
                self._start(operands[0], (number(d),), n, part)
                for d, (n, part) in enumerate(zip(i.operands[0].shape.dims, sizes))
            ]
        return [self._start(of, (), n, part) for of, n, part in zip(operands, i.operands[0].shape.dims, sizes)]

    def _dynamic_slice(self, i: Instruction, index: Index) -> Expression:
        starts = self._starts(i, i.operands[1:], i.shape.dims)
        return self.of(i.operands[0], tuple(start + at for start, at in zip(starts, index)))

    def _dynamic_update_slice(self, i: Instruction, index: Index) -> Expression:
        of, update = i.operands[:2]
        starts = self._starts(i, i.operands[2:], update.shape.dims)
        inside: "List[Condition]" = []
        for start, at, n in zip(starts, index, update.shape.dims):
            inside += [terms.at_most(start, at), terms.less(at, start + number(n))]
        return expressions.either(
            both(*inside), self.of(update, tuple(at - start for start, at in zip(starts, index))), self.of(of, index)
        )

    def _gather(self, i: Instruction, index: Index) -> Expression:
        a, (of, indices) = i.attributes, i.operands
        offsets, collapsed, to = a["offset_dims"], a["collapsed_slice_dims"], a["start_index_map"]
        batching, paired = a.get("operand_batching_dims", ()), a.get("start_indices_batching_dims", ())
        batch = [at for d, at in enumerate(index) if d not in offsets]
        vector = a["index_vector_dim"]
        found: "List[Term]" = [ZERO] * of.shape.rank
        for k, d in enumerate(to):
            place = (*batch[:vector], number(k), *batch[vector:]) if vector < indices.shape.rank else tuple(batch)
            found[d] = self._start(indices, tuple(place), of.shape.dims[d], a["slice_sizes"][d])
        for d, pair in zip(batching, paired):
            found[d] = batch[pair - (pair > vector)]
        inside = [d for d in range(of.shape.rank) if d not in collapsed and d not in batching]
        for d, at in zip(inside, offsets):
            found[d] = found[d] + index[at]
        return self.of(of, tuple(found))

    def _folded(
        self,
        op: str,
        width: int,
        sizes: "Sequence[int]",
        first: "List[Expression]",
        element: "Callable[[Index], List[Expression]]",
    ) -> Expression:
        """Combine by `op` the elements that `element` returns for all indices in a box. Return the expression."""
        if math.prod(sizes) <= MOST_LISTED:
            listed = []
            for at in itertools.product(*(range(n) for n in sizes)):
                of = element(tuple(map(number, at)))
                listed.append(of[0] if len(of) == 1 else expressions.apply("multiply", width, *of))
            return expressions.apply(f"reduce {op}", width, *first, *listed)
        steps = tuple(terms.variable("r", 0, n - 1, True) if n > 1 else ZERO for n in sizes)
        return Expression(
            "fold",
            width,
            expressions.apply(f"reduce {op}", width, *first),
            tuple(atom for step in steps for atom in step.free),
            *element(steps),
        )

    def _reduce(self, i: Instruction, index: Index, output: int) -> Expression:
        half, gone = len(i.operands) // 2, i.attributes["dimensions"]
        op, used = combiner(i.called[0], output)

        def element(steps: Index) -> "List[Expression]":
            at, over = iter(index), dict(zip(gone, steps))
            place = tuple(over[d] if d in over else next(at) for d in range(i.operands[0].shape.rank))
            return [self.of(i.operands[n], place) for n in used]

        return self._folded(
            op,
            bytes_of(i.shape.leaves()[output]),
            [i.operands[0].shape.dims[d] for d in gone],
            [self.of(i.operands[half + n], ()) for n in used],
            element,
        )

    def _reduce_window(self, i: Instruction, index: Index, output: int) -> Expression:
        half, window = len(i.operands) // 2, i.attributes["window"]
        op, used = combiner(i.called[0], output)
        first = [self.of(i.operands[half + n], ()) for n in used]

        def element(steps: Index) -> "List[Expression]":
            place, inside = [], []  # type: List[Term], List[Condition]
            for d, (at, step, n) in enumerate(zip(index, steps, i.operands[0].shape.dims)):
                moved, within = _in_window(window, d, at, step, n)
                place.append(moved)
                inside += within
            return [
                expressions.either(both(*inside), self.of(i.operands[n], tuple(place)), start)
                for n, start in zip(used, first)
            ]

        return self._folded(op, bytes_of(i.shape.leaves()[output]), window.size, first, element)

    def _convolution(self, i: Instruction, index: Index) -> Expression:
        a, (of, kernel) = i.attributes, i.operands[:2]
        window, labels = a["window"], a["dim_labels"]
        groups, batches = a.get("feature_group_count", 1), a.get("batch_group_count", 1)
        batch, feature = index[labels.out[0]], index[labels.out[1]]
        inputs, width = kernel.shape.dims[labels.rhs[0]], bytes_of(i.shape)
        per_group = i.shape.dims[labels.out[1]] // (groups if batches == 1 else batches)
        group = terms.quotient(feature, per_group)

        def element(steps: Index) -> "List[Expression]":
            channel, inside = steps[-1], []  # type: Term, List[Condition]
            there: "List[Term]" = [ZERO] * of.shape.rank
            within: "List[Term]" = [ZERO] * kernel.shape.rank
            there[labels.lhs[0]], there[labels.lhs[1]] = batch, channel
            if groups > 1:
                there[labels.lhs[1]] = group.times(inputs) + channel
            if batches > 1:
                there[labels.lhs[0]] = group.times(of.shape.dims[labels.lhs[0]] // batches) + batch
            within[labels.rhs[0]], within[labels.rhs[1]] = channel, feature
            for k, step in enumerate(steps[:-1]):
                d = labels.lhs[2 + k]
                at = number(window.size[k] - 1) - step if k < len(window.reversal) and window.reversal[k] else step
                moved, limits = _in_window(window, k, index[labels.out[2 + k]], step, of.shape.dims[d])
                there[d], within[labels.rhs[2 + k]] = moved, at
                inside += limits
            pair = expressions.apply("multiply", width, self.of(of, tuple(there)), self.of(kernel, tuple(within)))
            return [expressions.either(both(*inside), pair, expressions.index(ZERO, width))]

        return self._folded("add", width, (*window.size, inputs), [], element)

    def _dot(self, i: Instruction, index: Index) -> Expression:
        a, sides = i.attributes, i.operands[:2]
        if len(i.operands) > 2:
            raise Unsupported("dot with more than two operands")
        batch = [a.get(f"{side}_batch_dims", ()) for side in ("lhs", "rhs")]
        over = [a.get(f"{side}_contracting_dims", ()) for side in ("lhs", "rhs")]
        count = len(batch[0])

        def element(steps: Index) -> "List[Expression]":
            found, at = [], count
            for side, of in enumerate(sides):
                place: "List[Term]" = [ZERO] * of.shape.rank
                for n, d in enumerate(batch[side]):
                    place[d] = index[n]
                for n, d in enumerate(over[side]):
                    place[d] = steps[n]
                for d in range(of.shape.rank):
                    if d not in batch[side] and d not in over[side]:
                        place[d] = index[at]
                        at += 1
                found.append(self.of(of, tuple(place)))
            return found

        return self._folded("add", bytes_of(i.shape), [sides[0].shape.dims[d] for d in over[0]], [], element)

    def _concatenate(self, i: Instruction, index: Index) -> Expression:
        d = i.attributes["dimensions"][0]
        starts = [0]
        for operand in i.operands:
            starts.append(starts[-1] + operand.shape.dims[d])
        made: "Optional[Expression]" = None
        for operand, start in reversed(list(zip(i.operands, starts))):
            if not operand.shape.dims[d]:
                continue
            of = self.of(operand, (*index[:d], index[d] - number(start), *index[d + 1 :]))
            made = (
                of
                if made is None
                else expressions.either(terms.less(index[d], number(start + operand.shape.dims[d])), of, made)
            )
        if made is None:
            raise Unsupported("a concatenation of nothing")
        return made


def _in_window(window: "Any", d: int, at: Term, step: Term, size: int) -> "Tuple[Term, List[Condition]]":
    """A window at a position covers several elements of an operand. Return the index of one of them along dimension
    `d`, and the conditions under which the element is not padding.

    at: the position of the window.
    step: the number of the element in the window.
    size: the operand's size along the dimension.
    """
    moved = at.times(window.stride[d]) + step.times(window.dilation[d]) - number(window.low[d])
    inside = [terms.at_most(ZERO, moved)]
    apart = window.base_dilation[d]
    if apart > 1:
        inside.append(terms.equal(terms.modulo(moved, apart), ZERO))
        moved = terms.quotient(moved, apart)
    return moved, [*inside, terms.less(moved, number(size))]


# ---- combiners ----

_COMBINES = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
# ops of combiners that choose: they compare their operands, or return one of them
_CHOICES = set("parameter constant compare select maximum minimum and or not tuple get-tuple-element convert".split())


def combiner(computation: Computation, output: int) -> "Tuple[str, List[int]]":
    """Return the op that a reduction uses to combine the values of one of its results, and the numbers of the operands
    on which this result depends. The op is "choice" if the combiner only compares and selects. It is "custom" if
    the combiner is any other combination of ops.
    """
    root, half = computation.root, len(computation.parameters) // 2
    assert root is not None
    parts = root.operands if root.opcode == "tuple" else [root]
    if len(parts) != half:
        return "custom", list(range(half))
    used, waiting = set(), [output]  # type: Set[int], List[int]
    opcodes: "Set[str]" = set()
    while waiting:
        part = waiting.pop()
        if part in used:
            continue
        used.add(part)
        inside, seen = [parts[part]], set()  # type: List[Instruction], Set[int]
        while inside:
            of = inside.pop()
            if id(of) not in seen:
                seen.add(id(of))
                opcodes.add(of.opcode)
                inside += of.operands
                if of.opcode == "parameter":
                    waiting.append((of.parameter_number or 0) % half)
    top = _converted(parts[output])
    sides = {_converted(of).parameter_number for of in top.operands if _converted(of).opcode == "parameter"}
    if top.opcode in _COMBINES and sides == {output, half + output}:
        return top.opcode, [output]
    return "choice" if opcodes <= _CHOICES else "custom", sorted(used)


def _converted(of: Instruction) -> Instruction:
    while of.opcode == "convert":
        of = of.operands[0]
    return of


# ---- values that indices determine ----


def _fits(term: Term, dtype: str) -> bool:
    bits = BITS[dtype]
    lo, hi = (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype[0] == "s" else (0, (1 << bits) - 1)
    low, high = terms.bounds(term)
    return lo <= low and high <= hi


def _of_indices(name: str, dtype: str, a: Term, b: Term) -> "Optional[Expression]":
    """Return the result of an integer operation on known values. Return None if it may wrap around."""
    if dtype[0] not in "su":
        return None
    a, b = _signed(a, dtype), _signed(b, dtype)
    if name in ("maximum", "minimum"):
        least = terms.chosen(terms.at_most(a, b), a, b)
        made = least if name == "minimum" else a + b - least
    else:
        made = a + b if name == "add" else a - b if name == "subtract" else terms.product(a, b)
    return (
        expressions.index(made, BITS[dtype] // 8)
        if _fits(made, dtype) and _fits(a, dtype) and _fits(b, dtype)
        else None
    )


def compared(direction: str, dtype: str, a: Expression, b: Expression) -> "Optional[Expression]":
    """Return 0 or 1, the result of a comparison of known integers. Return None if the integers are not known."""
    if dtype[0] not in "su" or a.kind != "index" or b.kind != "index":
        return None
    x, y = (_signed(each.parts[0], dtype) for each in (a, b))
    if not (_fits(x, dtype) and _fits(y, dtype)):
        return None
    condition = {
        "EQ": terms.equal(x, y),
        "NE": terms.negated(terms.equal(x, y)),
        "LT": terms.less(x, y),
        "LE": terms.at_most(x, y),
        "GT": terms.less(y, x),
        "GE": terms.at_most(y, x),
    }[direction]
    return expressions.index(terms.chosen(condition, terms.ONE, ZERO), 1)


def _signed(term: Term, dtype: str) -> Term:
    """Return a term with the same value modulo 2^bits. A constant above a signed type's maximum becomes negative."""
    bits = BITS[dtype]
    if dtype[0] == "s" and term.is_constant and term.constant >> bits - 1:
        return number(term.constant - (1 << bits))
    return term


def decided(of: Expression) -> "Optional[Condition]":
    """Return the condition under which a pred is true. Return None if ids and steps do not determine the pred."""
    if of.kind != "index":
        return None
    return terms.negated(terms.equal(of.parts[0], ZERO))
