"""Check an op against its operands, as XLA's shape verifier does: find the shape that its result must have, or report a
fault at its place in the text.

If the text leaves out a result's shape, the inferred shape is used. Its layout follows XLA: an elementwise op has the
layout of operand 0 (clamp: of operand 1), a transpose permutes the layout so that no byte moves, and all other ops are
row-major. Ops without a kernel have their rules in kept.py. If an op has no rule (collectives, custom calls, ..), the
text must give its shape. Valid HLO that has no kernel is refused in refusals.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

from gen import algebra
from gen.hlo import dtypes, opcodes
from gen.hlo.graph import (TUPLE_DEPTH, Computation, Instruction, Shape, Window, array_shape, permuted, same_shape,
                           shape, tuple_shape)
from gen.hlo.scanner import Scanner

TUPLE_TEXT = 1 << 20  # maximum number of characters of an inferred tuple shape's text
_COMPLEX = {"f32": "c64", "f64": "c128"}
# maximum extent of a dimension in elements, with padding and dilation included
MOST_REACH = 1 << 60


@dataclass
class Draft:
    """An instruction that is being parsed, with the text positions at which its checks report faults."""

    instruction: Instruction
    written: Optional[Shape]
    op_pos: int
    shape_pos: int
    operand_pos: List[int] = field(default_factory=list)
    attribute_pos: Dict[str, int] = field(default_factory=dict)
    # for each attribute that stays text, the computations that it names
    called: Dict[str, List[Computation]] = field(default_factory=dict)
    distribute_pos: Optional[int] = None    # position of the text of a distributed layout
    spoken: str = ""    # the op's name in messages, if it is not the opcode


class Check:
    """Finds the shape of an op's result from its operands and attributes; each fault points at the text."""

    def __init__(self, scanner: Scanner, draft: Draft) -> None:
        self.scanner, self.draft, self.i = scanner, draft, draft.instruction
        self.shapes = [operand.shape for operand in self.i.operands]

    def fail(self, message: str, operand: "Optional[int]" = None, attribute: "Optional[str]" = None) -> NoReturn:
        pos = self.draft.op_pos
        if operand is not None:
            pos = self.draft.operand_pos[operand]
        if attribute is not None:
            pos = self.draft.attribute_pos.get(attribute, pos)
        self.scanner.fail(pos, f"{self.name}: {message}")

    @property
    def name(self) -> str:
        """Return the op's name as it is written in the text."""
        return self.draft.spoken or self.i.opcode

    def result(self) -> Shape:
        written = self.draft.written
        if any(s.dynamic for s in self.shapes) or (written is not None and written.dynamic):
            return self.written()
        self._needs()
        rule = self._rule()
        if rule is None:
            return self.written()
        try:
            inferred = rule()
        except algebra.AlgebraError as error:
            self.fail(f"the result has no shape: {error.message}")
        if written is None:
            return inferred
        if not same_shape(written, inferred):
            self.scanner.fail(self.draft.shape_pos, f"expected {inferred.text}, the result of '{self.name}' here, "
                                                    f"found {written.text}")
        return written

    def _needs(self) -> None:
        """Check the number of operands and the required attributes."""
        row = opcodes.TABLE[self.i.opcode]
        have, want = len(self.i.operands), row.arity
        if want is not None and have != want:
            self.fail(f"expected {want} operand{'' if want == 1 else 's'}, found {have}")
        for key in row.attributes:
            if key not in self.i.attributes and key not in row.optional:
                self.fail(f"expected the attribute '{key}'")

    def _rule(self) -> "Optional[Callable[[], Shape]]":
        row = opcodes.ELEMENTWISE.get(self.i.opcode)
        if row and row.result != "rule":
            return self._elementwise
        rule: "Callable[[], Shape]" = getattr(self, "_" + self.i.opcode.replace("-", "_"))
        return rule

    # ---- helpers ----

    def written(self) -> Shape:
        if self.draft.written is None:
            self.scanner.fail(self.draft.op_pos, f"expected a shape before '{self.name}': it cannot be inferred")
        return self.draft.written

    def array(self, number: int) -> Shape:
        """Return the shape of operand `number`, which must exist and be an array."""
        if number >= len(self.shapes):
            self.fail(f"expected at least {number + 1} operand{'s' * (number > 0)}, found {len(self.shapes)}")
        of = self.shapes[number]
        if of.kind != "array":
            self.fail(f"expected an array as operand {number}, found {of.text}", operand=number)
        return of

    def written_array(self) -> Shape:
        of = self.written()
        if of.kind != "array":
            self.scanner.fail(self.draft.shape_pos,
                              f"{self.name}: expected an array as the result, found {of.text}")
        return of

    def kinds(self, number: int, allowed: str) -> Shape:
        """Return the shape of operand `number`, which must be an array. The kind of its element type must be in
        `allowed`, letters of opcodes.KINDS."""
        of, words = self.array(number), opcodes.WORDS[allowed]
        if opcodes.letter(of.dtype) not in allowed:
            self.fail(f"expected {words} as operand {number}, found {of.text}", operand=number)
        return of

    def alike(self, number: int, model: int = 0) -> Shape:
        """Check that operand `number` has the same type and dimensions as operand `model`; return its shape."""
        of, like = self.array(number), self.array(model)
        if not same_shape(of, like):
            self.fail(f"expected {bare(like)} as operand {number}, as operand {model} is, found {bare(of)}",
                      operand=number)
        return of

    def scalar(self, number: int, dtype: str) -> None:
        of = self.array(number)
        if of.dims or of.dtype != dtype:
            self.fail(f"expected the scalar {dtype}[] as operand {number}, found {bare(of)}", operand=number)

    def distinct(self, key: str, rank: int) -> Tuple[int, ...]:
        """Return an attribute's dimension numbers, which must be below rank and distinct."""
        numbers: Tuple[int, ...] = self.i.attributes.get(key, ())
        for number in numbers:
            if not 0 <= number < rank:
                self.fail(f"expected dimensions from 0 to {rank - 1}, found {number}" if rank else
                          f"expected no dimension of a scalar, found {number}", attribute=key)
        if len(set(numbers)) != len(numbers):
            self.fail(f"expected each dimension once in '{key}'", attribute=key)
        return numbers

    def computation(self, key: str) -> Computation:
        """Return the computation that an attribute names."""
        of: Computation = self.i.attributes[key]
        return of

    def typed_like(self, of: Shape, dtype: str) -> Shape:
        if of.dtype == dtype:
            return of
        if of.tiled:
            return shape(dtype + of.text[of.text.index("["):])
        return array_shape(dtype, of.dims, of.minor_to_major)

    def square(self, number: int) -> Shape:
        of = self.kinds(number, "fc")
        if of.rank < 2 or of.dims[-1] != of.dims[-2]:
            self.fail(f"expected square matrices as operand {number}, found {bare(of)}", operand=number)
        return of

    # ---- elementwise ----

    def _elementwise(self) -> Shape:
        """Check an elementwise op by its row in opcodes.ELEMENTWISE; return the result's shape."""
        row, of = opcodes.ELEMENTWISE[self.i.opcode], self.shapes[0]
        if row.takes != opcodes.ANY:
            self.kinds(0, row.takes)
        for number in range(1, row.arity):
            self.alike(number)
        if row.result == "pred":
            return self.typed_like(of, "pred")
        return self.typed_like(of, dtypes.TABLE[of.dtype].part or of.dtype) if row.result == "part" else of

    def _compare(self) -> Shape:
        of = self.alike(1)
        kind, written = dtypes.TABLE[of.dtype].kind, self.i.attributes.get("type")
        allowed = {"float": ("FLOAT", "TOTALORDER"), "complex": ("FLOAT",),
                   "sint": ("SIGNED",)}.get(kind, ("UNSIGNED",))
        if written is not None and written not in allowed:
            self.fail(f"expected the type {' or '.join(allowed)} for operands of {of.dtype}, found {written}",
                      attribute="type")
        if kind == "complex" and self.i.attributes["direction"] not in ("EQ", "NE"):
            self.fail("expected the direction EQ or NE for complex operands", attribute="direction")
        return self.typed_like(self.shapes[0], "pred")

    def _select(self) -> Shape:
        of, choice = self.alike(2, 1), self.array(0)
        if choice.dtype != "pred" or (choice.dims and choice.dims != of.dims):
            self.fail(f"expected {bare(of).replace(of.dtype, 'pred', 1)} as operand 0, found {bare(choice)}",
                      operand=0)
        return self.typed_like(choice, of.dtype) if choice.dims else self.shapes[1]

    def _clamp(self) -> Shape:
        of = self.array(1)
        for number in (0, 2):
            bound = self.array(number)
            if bound.dtype != of.dtype or (bound.dims and bound.dims != of.dims):
                self.fail(f"expected {of.dtype}[] or {bare(of)} as operand {number}, found {bare(bound)}",
                          operand=number)
        return of

    def _convert(self) -> Shape:
        of, to = self.array(0), self.written_array()
        if dtypes.TABLE[of.dtype].kind == "complex" and dtypes.TABLE[to.dtype].kind != "complex":
            self.fail(f"expected a complex result of the complex operand, found {to.text}")
        return self.typed_like(of, to.dtype)

    def _complex(self) -> Shape:
        of = self.kinds(0, "f")
        if of.dtype not in ("f32", "f64"):
            self.fail(f"expected f32 or f64 as operand 0, found {bare(of)}", operand=0)
        self.alike(1)
        return self.typed_like(of, "c64" if of.dtype == "f32" else "c128")

    def _copy(self) -> Shape:
        return self.array(0) if self.shapes[0].kind == "array" else self.shapes[0]

    def _opt_barrier(self) -> Shape:
        return self.shapes[0]

    def _reduce_precision(self) -> Shape:
        of = self.kinds(0, "f")
        if self.i.attributes["exponent_bits"] < 1:
            self.fail("expected at least 1 exponent bit", attribute="exponent_bits")
        if self.i.attributes["mantissa_bits"] < 0:
            self.fail("expected at least 0 mantissa bits", attribute="mantissa_bits")
        return of

    def _bitcast_convert(self) -> Shape:
        of, to = self.array(0), self.written_array()
        if (dtypes.TABLE[of.dtype].kind == "complex") != (dtypes.TABLE[to.dtype].kind == "complex"):
            self.fail(f"expected both or none to be complex, found {of.dtype} and {to.dtype}")
        have, want = (8 if d == "pred" else dtypes.TABLE[d].bits for d in (of.dtype, to.dtype))
        if have == want:
            return self.typed_like(of, to.dtype)
        if have > want and have % want == 0:
            return array_shape(to.dtype, of.dims + (have // want,))
        if have < want and want % have == 0:
            if not of.dims or of.dims[-1] != want // have:
                self.fail(f"expected a last dimension of {want // have}, {want} bits of {of.dtype}, found {bare(of)}",
                          operand=0)
            return array_shape(to.dtype, of.dims[:-1])
        self.fail(f"expected widths that divide one another, found {of.dtype} and {to.dtype}")

    # ---- matrices ----

    def _cholesky(self) -> Shape:
        return self.square(0)

    def _triangular_solve(self) -> Shape:
        a, b = self.square(0), self.array(1)
        at = -2 if self.i.attributes.get("left_side") else -1
        if b.dtype != a.dtype or b.rank != a.rank or b.dims[:-2] != a.dims[:-2] or b.dims[at] != a.dims[-1]:
            self.fail(f"expected {a.dtype} in as many matrices as operand 0 {bare(a)} has, of size {a.dims[-1]} in "
                      f"dimension {b.rank + at if b.rank > 1 else 0}, as operand 1, found {bare(b)}", operand=1)
        return b

    # ---- leaves and moves ----

    def _parameter(self) -> Shape:
        return self.written()

    def _constant(self) -> Shape:
        return self.written()

    def _iota(self) -> Shape:
        of, dimension = self.written_array(), self.i.attributes["iota_dimension"]
        if dtypes.TABLE[of.dtype].kind == "pred":
            self.scanner.fail(self.draft.shape_pos, f"{self.name}: expected numbers, found {of.text}")
        if not 0 <= dimension < of.rank:
            self.fail(f"expected a dimension of {bare(of)}, found {dimension}", attribute="iota_dimension")
        return of

    def _broadcast(self) -> Shape:
        of, to = self.array(0), self.written_array()
        if "dimensions" not in self.i.attributes:
            if of.dims:
                self.fail("expected the attribute 'dimensions'")
            self.i.attributes["dimensions"] = ()
        dimensions = self.distinct("dimensions", to.rank)
        if len(dimensions) != of.rank:
            self.fail(f"expected {of.rank} dimensions, as operand 0 {bare(of)} has, found {len(dimensions)}",
                      attribute="dimensions")
        for number, dimension in enumerate(dimensions):
            if of.dims[number] != to.dims[dimension]:
                self.fail(
                    f"dimension {number} of operand 0 has size {of.dims[number]}, dimension {dimension} of the result "
                    f"{to.dims[dimension]}: expected equal sizes", attribute="dimensions")
        return self.typed_like(to, of.dtype)

    def _transpose(self) -> Shape:
        of = self.array(0)
        dimensions = self.distinct("dimensions", of.rank)
        if len(dimensions) != of.rank:
            self.fail(f"expected a permutation of {of.rank} dimensions, found {len(dimensions)}",
                      attribute="dimensions")
        return permuted(of, dimensions)

    def _reshape(self) -> Shape:
        of, to = self.array(0), self.written_array()
        if of.elements != to.elements:
            self.fail(
                      f"expected {of.elements} elements, as operand 0 {bare(of)} has, found {to.elements} in {bare(to)}")
        return self.typed_like(to, of.dtype)

    def _bitcast(self) -> Shape:
        to = self.written()
        if self.shapes[0].kind != "array" or to.kind != "array":
            self.fail(f"expected arrays, found {self.shapes[0].text} and {to.text}")
        of = self.shapes[0]
        if not (of.tiled or to.tiled) and of.bytes != to.bytes:
            self.fail(
                      f"expected a result of {of.bytes} bytes, as operand 0 {bare(of)} has, found {to.bytes} in {bare(to)}")
        return to

    def _slice(self) -> Shape:
        of, slices = self.array(0), self.i.attributes["slice"]
        if len(slices) != of.rank:
            self.fail(f"expected {of.rank} slices, as operand 0 {bare(of)} has dimensions, found {len(slices)}",
                      attribute="slice")
        dims = []
        for number, (start, limit, stride) in enumerate(slices):
            if not 0 <= start <= limit <= of.dims[number]:
                self.fail(f"expected 0 <= start <= limit <= {of.dims[number]} in dimension {number}, "
                          f"found [{start}:{limit}]", attribute="slice")
            if stride < 1:
                self.fail(f"expected a stride of at least 1 in dimension {number}, found {stride}", attribute="slice")
            dims.append((limit - start + stride - 1) // stride)
        return array_shape(of.dtype, tuple(dims))

    def _reverse(self) -> Shape:
        of = self.array(0)
        self.distinct("dimensions", of.rank)
        return of

    def _pad(self) -> Shape:
        of, padding = self.array(0), self.i.attributes["padding"]
        self.scalar(1, of.dtype)
        if len(padding) != of.rank:
            self.fail(f"expected padding for {of.rank} dimensions, as operand 0 {bare(of)} has, found {len(padding)}",
                      attribute="padding")
        dims = []
        for number, (low, high, interior) in enumerate(padding):
            if interior < 0:
                self.fail(f"expected an interior of at least 0 in dimension {number}, found {interior}",
                          attribute="padding")
            spread = of.dims[number] + max(of.dims[number] - 1, 0) * interior
            self.within("padding", number, low, high, interior, spread)
            size = low + high + spread
            if size < 0:
                self.fail(f"expected a size of at least 0 in dimension {number}, found {size}", attribute="padding")
            dims.append(size)
        return array_shape(of.dtype, tuple(dims))

    def _concatenate(self) -> Shape:
        first = self.array(0)
        dimensions = self.distinct("dimensions", first.rank)
        if len(dimensions) != 1:
            self.fail(f"expected one dimension, found {len(dimensions)}", attribute="dimensions")
        along, total = dimensions[0], 0
        for number in range(len(self.shapes)):
            of = self.array(number)
            fits = of.rank == first.rank and all(a == b for k, (a, b) in enumerate(zip(of.dims, first.dims))
                                                 if k != along)
            if of.dtype != first.dtype or not fits:
                self.fail(f"expected {bare(first)} but for dimension {along} as operand {number}, found {bare(of)}",
                          operand=number)
            total += of.dims[along]
        return array_shape(first.dtype, first.dims[:along] + (total,) + first.dims[along + 1:])

    # ---- ops whose indices are runtime values ----

    def integer_type(self, number: int) -> Shape:
        return self.kinds(number, "su")

    def starts(self, first: int, rank: int) -> None:
        """Check the start indices: the operands from `first` on. They are one scalar per dimension, all of the
        same integer type, or a single array that has one index per dimension.
        """
        count = len(self.shapes) - first
        if count == 1 and self.array(first).rank == 1:
            if self.integer_type(first).dims != (rank,):
                self.fail(f"expected {rank} start indices in operand {first}, found {bare(self.shapes[first])}",
                          operand=first)
            return
        if count != rank:
            self.fail(
                f"expected {rank} start indices, as operand 0 {bare(self.shapes[0])} has dimensions, or an array of them, found {count}")
        for number in range(first, len(self.shapes)):
            self.scalar(number, self.integer_type(first).dtype)

    def sizes(self, key: str, of: Shape) -> Tuple[int, ...]:
        """Return an attribute's slice sizes, which must fit the operand."""
        sizes: Tuple[int, ...] = self.i.attributes[key]
        if len(sizes) != of.rank:
            self.fail(f"expected {of.rank} sizes, as operand 0 {bare(of)} has dimensions, found {len(sizes)}",
                      attribute=key)
        for number, (size, most) in enumerate(zip(sizes, of.dims)):
            if not 0 <= size <= most:
                self.fail(f"expected a size from 0 to {most} in dimension {number}, found {size}", attribute=key)
        return sizes

    def _dynamic_slice(self) -> Shape:
        of = self.array(0)
        self.starts(1, of.rank)
        return array_shape(of.dtype, self.sizes("dynamic_slice_sizes", of))

    def _dynamic_update_slice(self) -> Shape:
        of, update = self.array(0), self.array(1)
        if update.dtype != of.dtype or update.rank != of.rank or any(a > b for a, b in zip(update.dims, of.dims)):
            self.fail(f"expected a part of {bare(of)} as operand 1, found {bare(update)}", operand=1)
        self.starts(2, of.rank)
        return of

    def _gather(self) -> Shape:
        if len(self.shapes) != 2:
            self.fail(f"expected 2 operands, found {len(self.shapes)}")
        of, indices, attributes = self.array(0), self.integer_type(1), self.i.attributes
        rows, length = self._index_rows(indices)
        offset, sizes = self.distinct("offset_dims",
                                      len(rows) + len(attributes["offset_dims"])), self.sizes("slice_sizes", of)
        collapsed, batching = self.distinct("collapsed_slice_dims",
                                            of.rank), self.distinct("operand_batching_dims", of.rank)
        of_rows = self.distinct("start_indices_batching_dims", indices.rank)
        self._increasing("offset_dims", "collapsed_slice_dims", "operand_batching_dims")
        if set(collapsed) & set(batching):
            self.fail("expected dimensions that are not in 'collapsed_slice_dims'", attribute="operand_batching_dims")
        if len(offset) + len(collapsed) + len(batching) != of.rank:
            self.fail(
                f"expected an offset dimension for each of operand 0 {bare(of)} that is neither collapsed nor batching, "
                f"{of.rank - len(collapsed) - len(batching)}, found {len(offset)}", attribute="offset_dims")
        if len(self.distinct("start_index_map", of.rank)) != length:
            self.fail(
                      f"expected {length} dimensions, as many as an index has, found {len(attributes['start_index_map'])}",
                      attribute="start_index_map")
        if set(attributes["start_index_map"]) & set(batching):
            self.fail("expected dimensions that are not in 'operand_batching_dims'", attribute="start_index_map")
        for d in (*collapsed, *batching):
            if sizes[d] != 1:
                self.fail(f"expected a size of 1 in dimension {d}, which is collapsed or batching, found {sizes[d]}",
                          attribute="slice_sizes")
        self._batched(batching, of_rows, 1, "start_indices_batching_dims")
        windows = iter([size for d, size in enumerate(sizes) if d not in collapsed and d not in batching])
        batches = iter(rows)
        return array_shape(of.dtype,
                           tuple(next(windows) if d in offset else next(batches)
                                 for d in range(len(rows) + len(offset))))

    def _index_rows(self, indices: Shape) -> "Tuple[List[int], int]":
        """Return the dimensions of `indices` without index_vector_dim, and the size of index_vector_dim (1 if it is
        absent).
        """
        vector = self.i.attributes["index_vector_dim"]
        if not 0 <= vector <= indices.rank:
            self.fail(f"expected a dimension from 0 to {indices.rank}, found {vector}", attribute="index_vector_dim")
        return [size for d, size in enumerate(indices.dims) if d != vector], (*indices.dims, 1)[vector]

    def _increasing(self, *keys: str) -> None:
        for key in keys:
            if list(self.i.attributes.get(key, ())) != sorted(self.i.attributes.get(key, ())):
                self.fail(f"expected '{key}' in increasing order", attribute=key)

    def _batched(self, batching: "Sequence[int]", of_rows: "Sequence[int]", number: int, attribute: str) -> None:
        """Check that the batching dimensions of operand 0 match those of the indices, which are operand `number`."""
        of, indices = self.shapes[0], self.shapes[number]
        if len(of_rows) != len(batching) or self.i.attributes["index_vector_dim"] in of_rows:
            self.fail(f"expected {len(batching)} dimensions of operand {number} other than index_vector_dim",
                      attribute=attribute)
        for d, row in zip(batching, of_rows):
            if of.dims[d] != indices.dims[row]:
                self.fail(
                    f"dimension {row} of operand {number} has size {indices.dims[row]}, dimension {d} of operand 0 {of.dims[d]}: "
                    "expected equal sizes", attribute=attribute)

    def _scatter(self) -> Shape:
        if len(self.shapes) < 3 or len(self.shapes) % 2 == 0:
            self.fail(f"expected operands, indices, and as many updates as operands, found {len(self.shapes)} operands")
        count, attributes = len(self.shapes) // 2, self.i.attributes
        of, indices, updates = self.array(0), self.integer_type(count), self.array(count + 1)
        for number in range(count):
            if self.array(number).dims != of.dims:
                self.fail(
                          f"expected the dimensions of {bare(of)} as operand {number}, found {bare(self.shapes[number])}",
                          operand=number)
            if self.array(count + 1 + number).dims != updates.dims:
                self.fail(f"expected the dimensions of {bare(updates)} as operand {count + 1 + number}, found "
                          f"{bare(self.shapes[count + 1 + number])}", operand=count + 1 + number)
        rows, length = self._index_rows(indices)
        window, inserted = self.distinct("update_window_dims",
                                         updates.rank), self.distinct("inserted_window_dims", of.rank)
        batching, of_rows = self.distinct("input_batching_dims",
                                          of.rank), self.distinct("scatter_indices_batching_dims", indices.rank)
        self._increasing("update_window_dims", "inserted_window_dims", "input_batching_dims")
        if set(inserted) & set(batching):
            self.fail("expected dimensions that are not in 'inserted_window_dims'", attribute="input_batching_dims")
        windowed = [d for d in range(of.rank) if d not in inserted and d not in batching]
        if len(window) != len(windowed):
            self.fail(
                f"expected a window dimension for each of operand 0 {bare(of)} that is neither inserted nor batching, "
                f"{len(windowed)}, found {len(window)}", attribute="update_window_dims")
        if [size for d, size in enumerate(updates.dims) if d not in window] != rows:
            self.fail(
                f"expected the dimensions of operand {count} {bare(indices)} without {attributes['index_vector_dim']} as those of operand {count + 1} {bare(updates)} "
                "that are not in 'update_window_dims'", operand=count + 1)
        for d, k in zip(windowed, window):
            if updates.dims[k] > of.dims[d]:
                self.fail(
                    f"expected at most {of.dims[d]} in dimension {k} of operand {count + 1}, as dimension {d} of operand 0 has, "
                    f"found {updates.dims[k]}", operand=count + 1)
        if len(self.distinct("scatter_dims_to_operand_dims", of.rank)) != length:
            self.fail(
                f"expected {length} dimensions, as many as an index has, found {len(attributes['scatter_dims_to_operand_dims'])}",
                attribute="scatter_dims_to_operand_dims")
        if set(attributes["scatter_dims_to_operand_dims"]) & set(batching):
            self.fail("expected dimensions that are not in 'input_batching_dims'",
                      attribute="scatter_dims_to_operand_dims")
        self._batched(batching, of_rows, count, "scatter_indices_batching_dims")
        for key in ("unique_indices", "indices_are_sorted"):
            if attributes.get("raw", {}).get(key, "true") not in ("true", "false"):
                self.fail("expected true or false", attribute=key)
        types = [self.array(number).dtype for number in range(count)]
        results = self._scalars(types + [self.array(count + 1 + number).dtype for number in range(count)])
        if [result.dtype
            for result in results] != types or (count > 1) != (attributes["to_apply"].root.shape.kind == "tuple"):
            self.fail(
                      f"expected {', '.join(d + '[]' for d in types)} as the result of '{attributes['to_apply'].name}', "
                      f"found {attributes['to_apply'].root.shape.text}", attribute="to_apply")
        arrays = [array_shape(dtype, of.dims) for dtype in types]
        return arrays[0] if count == 1 else tuple_shape(arrays)

    # ---- tuples and calls ----

    def _tuple(self) -> Shape:
        if sum(len(of.text) + 2
               for of in self.shapes) > TUPLE_TEXT or any(of.depth >= TUPLE_DEPTH for of in self.shapes):
            self.fail(f"expected a result of at most {TUPLE_TEXT} characters, with tuples nested at most "
                      f"{TUPLE_DEPTH} deep")
        return tuple_shape(self.shapes)

    def _get_tuple_element(self) -> Shape:
        of, index = self.shapes[0], self.i.attributes["index"]
        if of.kind != "tuple":
            self.fail(f"expected a tuple as operand 0, found {of.text}", operand=0)
        if not 0 <= index < len(of.children):
            self.fail(f"expected an index from 0 to {len(of.children) - 1} into {of.text}, found {index}" if of.children
                      else f"expected no index into the empty tuple, found {index}", attribute="index")
        return of.children[index]

    def _arguments(self, computation: Computation, key: str) -> Shape:
        """Check that the operands have the shapes of a computation's parameters; return the shape of its root."""
        parameters = computation.parameters
        if len(parameters) != len(self.shapes):
            self.fail(
                f"expected {len(parameters)} operands, as '{computation.name}' has parameters, found {len(self.shapes)}",
                attribute=key)
        for number, (parameter, of) in enumerate(zip(parameters, self.shapes)):
            if not same_shape(parameter.shape, of):
                self.fail(f"expected {parameter.shape.text} as operand {number}, as parameter {number} of "
                          f"'{computation.name}' is, found {of.text}", operand=number)
        assert computation.root is not None
        return computation.root.shape

    def _fusion(self) -> Shape:
        return self._arguments(self.i.attributes["calls"], "calls")

    def _call(self) -> Shape:
        return self._arguments(self.i.attributes["to_apply"], "to_apply")

    def _scalars(self, wanted: "Sequence[str]", key: str = "to_apply") -> List[Shape]:
        """Check that the computation's parameters are scalars of the types `wanted`; return the shapes of its results.
        """
        computation = self.computation(key)
        have = [parameter.shape for parameter in computation.parameters]
        if len(have) != len(wanted):
            self.fail(f"expected {len(wanted)} parameters of '{computation.name}', found {len(have)}", attribute=key)
        for number, (of, dtype) in enumerate(zip(have, wanted)):
            if of.kind != "array" or of.dims or of.dtype != dtype:
                self.fail(f"expected {dtype}[] as parameter {number} of '{computation.name}', found {of.text}",
                          attribute=key)
        assert computation.root is not None
        root = computation.root.shape
        results = list(root.children) if root.kind == "tuple" else [root]
        for of in results:
            if of.kind != "array" or of.dims:
                self.fail(f"expected scalars as the result of '{computation.name}', found {root.text}", attribute=key)
        return results

    def _map(self) -> Shape:
        first = self.array(0)
        for number in range(len(self.shapes)):
            if self.array(number).dims != first.dims:
                self.fail(f"expected the dimensions of {bare(first)} as operand {number}, found "
                          f"{bare(self.shapes[number])}", operand=number)
        self.distinct("dimensions", first.rank)
        results = self._scalars([of.dtype for of in self.shapes])
        if len(results) != 1 or self.i.attributes["to_apply"].root.shape.kind == "tuple":
            self.fail("expected one scalar as the result of its computation", attribute="to_apply")
        return array_shape(results[0].dtype, first.dims)

    def _reduce(self) -> Shape:
        sums, first = self._combined()
        dimensions = self.distinct("dimensions", first.rank)
        return self._several(sums, tuple(size for number, size in enumerate(first.dims) if number not in dimensions))

    def _several(self, kinds: "Sequence[str]", dims: Tuple[int, ...]) -> Shape:
        arrays = [array_shape(dtype, dims) for dtype in kinds]
        return arrays[0] if len(kinds) == 1 else tuple_shape(arrays)

    def _combined(self) -> "Tuple[List[str], Shape]":
        """Check the operands of a reduction, and that its computation takes their types. The operands are inputs of
        equal dimensions, followed by one initial value per input. Return the types of the accumulators and the shape of
        the first input.
        """
        if not self.shapes or len(self.shapes) % 2:
            self.fail(f"expected as many inputs as initial values, found {len(self.shapes)} operands")
        count = len(self.shapes) // 2
        first = self.array(0)
        if "dimensions" in self.i.attributes:
            self.distinct("dimensions", first.rank)
        for number in range(count):
            if self.array(number).dims != first.dims:
                self.fail(f"expected the dimensions of {bare(first)} as operand {number}, found "
                          f"{bare(self.shapes[number])}", operand=number)
        sums = [self.array(number).dtype for number in range(count, 2 * count)]
        results = self._scalars(sums + [of.dtype for of in self.shapes[:count]])
        for number in range(count):
            self.scalar(count + number, sums[number])
        if [of.dtype
            for of in results] != sums or (count > 1) != (self.i.attributes["to_apply"].root.shape.kind == "tuple"):
            self.fail(
                f"expected {', '.join(d + '[]' for d in sums)} as the result of '{self.i.attributes['to_apply'].name}', "
                f"found {self.i.attributes['to_apply'].root.shape.text}", attribute="to_apply")
        return sums, first

    # ---- ops on whole arrays ----

    def _sort(self) -> Shape:
        first = self.array(0)
        for number in range(1, len(self.shapes)):
            if self.array(number).dims != first.dims:
                self.fail(f"expected the dimensions of {bare(first)} as operand {number}, found "
                          f"{bare(self.shapes[number])}", operand=number)
        dimensions = self.i.attributes["dimensions"]
        if len(dimensions) != 1:
            self.fail(f"expected one dimension in 'dimensions', found {len(dimensions)}", attribute="dimensions")
        if not 0 <= dimensions[0] < first.rank:
            self.fail(f"expected a dimension of {bare(first)}, found {dimensions[0]}", attribute="dimensions")
        results = self._scalars([of.dtype for of in self.shapes for _ in range(2)])
        if [of.dtype for of in results] != ["pred"]:
            self.fail(f"expected pred[] as the result of '{self.computation('to_apply').name}'", attribute="to_apply")
        return first if len(self.shapes) == 1 else tuple_shape(self.shapes)

    def _topk(self) -> Shape:
        of, count = self.array(0), self.i.attributes["k"]
        if not of.dims or not 0 <= count <= of.dims[-1]:
            self.fail(f"expected a k of at most the last dimension of {bare(of)}, found {count}", attribute="k")
        dims = of.dims[:-1] + (count,)
        return tuple_shape([array_shape(of.dtype, dims), array_shape("s32", dims)])

    # ---- loop nests ----

    def within(self, key: str, number: int, *sizes: int) -> None:
        """Check that sizes in dimension `number` do not exceed MOST_REACH, so that index arithmetic does not overflow.
        """
        if max(map(abs, sizes)) > MOST_REACH:
            self.fail(
                f"expected a reach of at most {MOST_REACH} elements in dimension {number}, found {max(sizes, key=abs)}",
                attribute=key)

    def places(self, window: Window, k: int, base: int) -> int:
        self.within("window", k, window.low[k], window.high[k], window.stride[k], window.base_dilation[k],
                    window.dilation[k], base * window.base_dilation[k], window.size[k] * window.dilation[k])
        return window.places(k, base)

    def _window(self, rank: int, of: str) -> Window:
        window: Window = self.i.attributes.setdefault("window", Window())
        if len(window.size) != rank:
            self.fail(f"expected a window of {rank} dimensions, as {of}, found {len(window.size)}", attribute="window")
        return window

    def _reduce_window(self) -> Shape:
        sums, first = self._combined()
        window = self._window(first.rank, f"operand 0 {bare(first)} has")
        return self._several(sums, tuple(self.places(window, k, size) for k, size in enumerate(first.dims)))

    def _select_and_scatter(self) -> Shape:
        of, source = self.array(0), self.array(1)
        window = self._window(of.rank, f"operand 0 {bare(of)} has")
        places = tuple(self.places(window, k, size) for k, size in enumerate(of.dims))
        if (source.dtype, source.dims) != (of.dtype, places):
            self.fail(
                f"expected {of.dtype}[{','.join(map(str, places))}] as operand 1, a value for each place of the window, found {bare(source)}",
                operand=1)
        self.scalar(2, of.dtype)
        for key, dtype in (("select", "pred"), ("scatter", of.dtype)):
            results = self._scalars([of.dtype] * 2, key)
            if self.i.attributes[key].root.shape.kind == "tuple" or results[0].dtype != dtype:
                self.fail(
                    f"expected {dtype}[] as the result of '{self.i.attributes[key].name}', found {self.i.attributes[key].root.shape.text}",
                    attribute=key)
        return of

    def _product(self) -> str:
        """Return the type of a sum of products. This is the result type in the text, which must have at least as many
        bits as each operand that is not a float. If the text gives none, it is the wider factor's type.
        """
        if self.draft.written is None:
            return dtypes.wider(self.array(0).dtype, self.array(1).dtype)
        kind = self.written_array().dtype
        for number, of in enumerate([self.array(k) for k in range(len(self.shapes))]):
            if dtypes.TABLE[of.dtype].kind != "float" and dtypes.TABLE[kind].bits < dtypes.TABLE[of.dtype].bits:
                self.scanner.fail(
                    self.draft.shape_pos,
                    f"{self.name}: expected a result of at least {dtypes.TABLE[of.dtype].bits} bits, as operand {number} "
                    f"{bare(of)} has, found {kind}")
        return kind

    def _dot(self) -> Shape:
        a, b, kind = self.array(0), self.array(1), self._product()
        lists = {}
        for side, of in (("lhs", a), ("rhs", b)):
            for what in ("batch", "contracting"):
                lists[side, what] = self.i.attributes.setdefault(f"{side}_{what}_dims", ())
                self.distinct(f"{side}_{what}_dims", of.rank)
            both = set(lists[side, "batch"]) & set(lists[side, "contracting"])
            if both:
                self.fail(f"expected dimension {min(both)} in one of {side}_batch_dims and {side}_contracting_dims",
                          attribute=f"{side}_contracting_dims")
        for what in ("batch", "contracting"):
            left, right = lists["lhs", what], lists["rhs", what]
            key = f"rhs_{what}_dims"
            if len(left) != len(right):
                self.fail(f"expected {len(left)} dimensions in {key}, as lhs_{what}_dims has, found {len(right)}",
                          attribute=key)
            for i, j in zip(left, right):
                if a.dims[i] != b.dims[j]:
                    self.fail(
                              f"expected the size {a.dims[i]} of dimension {i} of {bare(a)} in dimension {j} of {bare(b)}",
                              attribute=key)
        dims = [a.dims[d] for d in lists["lhs", "batch"]]
        for side, of in (("lhs", a), ("rhs", b)):
            dims += [size for d, size in enumerate(of.dims)
                     if d not in lists[side, "batch"] + lists[side, "contracting"]]
        return array_shape(kind, tuple(dims))

    def _scaled_dot(self) -> Shape:
        """Check a dot with scales. Each scale array divides its factor into equal blocks and has one element for each
        block.
        """
        for number in (2, 3):
            of, scale = self.array(number - 2), self.array(number)
            if scale.rank != of.rank or any(size % blocks if blocks else size
                                            for size, blocks in zip(of.dims, scale.dims)):
                self.fail(
                    f"expected a scale whose sizes divide those of operand {number - 2} {bare(of)}, found {bare(scale)}",
                    operand=number)
        return self._dot()

    def _convolution(self) -> Shape:
        a, b, kind, labels = self.array(0), self.array(1), self._product(), self.i.attributes["dim_labels"]
        for number, (of, part) in enumerate(((a, labels.lhs), (b, labels.rhs))):
            if of.rank != len(part):
                self.fail(f"expected {len(part)} dimensions, as dim_labels has, in operand {number} {bare(of)}",
                          operand=number)
        window = self._window(a.rank - 2, "dim_labels has spatial ones")
        groups = [self.i.attributes.setdefault(f"{name}_group_count", 1) for name in ("feature", "batch")]
        for name, count in zip(("feature", "batch"), groups):
            if count < 1:
                self.fail(f"expected {name}_group_count of at least 1, found {count}", attribute=f"{name}_group_count")
        if min(groups) > 1:
            self.fail("expected one of feature_group_count and batch_group_count to be 1",
                      attribute="batch_group_count")
        batch, features = (a.dims[d] for d in labels.lhs[:2])
        inputs, outputs = (b.dims[d] for d in labels.rhs[:2])
        if features != inputs * groups[0]:
            self.fail(
                f"expected {inputs * groups[0]} input features, {inputs} of the kernel for each of {groups[0]} groups, found {features} in {bare(a)}",
                operand=0)
        if batch % groups[1]:
            self.fail(f"expected a batch that {groups[1]} groups divide, found {batch} in {bare(a)}", operand=0)
        if outputs % max(groups):
            self.fail(f"expected output features that {max(groups)} groups divide, found {outputs} in {bare(b)}",
                      operand=1)
        dims = [0] * a.rank
        dims[labels.out[0]], dims[labels.out[1]] = batch // groups[1], outputs
        for k, size in enumerate(window.size):
            if b.dims[labels.rhs[2 + k]] != size:
                self.fail(
                    f"expected the kernel's size {b.dims[labels.rhs[2 + k]]} in dimension {k} of the window, found {size}",
                    attribute="window")
            dims[labels.out[2 + k]] = self.places(window, k, a.dims[labels.lhs[2 + k]])
        return array_shape(kind, tuple(dims))

    # ---- ops on whole arrays, and composite ops ----

    def _fft(self) -> Shape:
        of, kind, lengths = self.array(0), self.i.attributes["fft_type"], self.i.attributes["fft_length"]
        if not 1 <= len(lengths) <= min(3, of.rank):
            self.fail(f"expected lengths of 1 to {min(3, of.rank)} dimensions, found {len(lengths)}",
                      attribute="fft_length")
        self.kinds(0, "f" if kind == "RFFT" else "c")
        if kind == "RFFT" and of.dtype not in _COMPLEX:
            self.fail(f"expected f32 or f64 as operand 0, found {bare(of)}", operand=0)
        if min(lengths) < 0:
            self.fail("expected lengths of at least 0", attribute="fft_length")
        half = lengths[-1] // 2 + 1 if lengths[-1] else 0
        have = lengths if kind != "IRFFT" else (*lengths[:-1], half)
        if of.dims[of.rank - len(lengths):] != have:
            self.fail(f"expected the sizes {', '.join(map(str, have))} of the last dimensions, as 'fft_length' has, "
                      f"found {bare(of)}", operand=0)
        if kind in ("FFT", "IFFT"):
            return of
        dtype, last = (_COMPLEX[of.dtype], half) if kind == "RFFT" else (dtypes.TABLE[of.dtype].part, lengths[-1])
        return array_shape(dtype, of.dims[:-1] + (last,), of.minor_to_major)

    def _rng_bit_generator(self) -> Shape:
        to, state = self.written(), self.array(0)
        sizes = ((2,),) if self.i.attributes["algorithm"] == "rng_three_fry" else ((2,), (3,))
        if state.dtype != "u64" or state.dims not in sizes:
            self.fail(f"expected {' or '.join(f'u64[{size}]' for size, in sizes)}, a state of "
                      f"{self.i.attributes['algorithm']}, as operand 0, found {bare(state)}", operand=0)
        if (to.kind != "tuple" or len(to.children) != 2 or to.children[1].kind != "array"
                or opcodes.letter(to.children[1].dtype) not in "su" or dtypes.TABLE[to.children[1].dtype].bits < 8):
            self.scanner.fail(self.draft.shape_pos, f"{self.name}: expected a state and integers of 8 to 64 bits as "
                                                    f"the result, found {to.text}")
        return tuple_shape([state, to.children[1]])

    def _features(self, vectors: "Sequence[int]") -> Shape:
        """Check operand 0 of a batch norm, and that each operand in `vectors` has one number per feature; return the
        vectors' shape."""
        of = self.kinds(0, "f")
        feature = self.i.attributes["feature_index"]
        if not 0 <= feature < of.rank:
            self.fail(f"expected a dimension of {bare(of)}, found {feature}", attribute="feature_index")
        count = of.dims[feature]
        for number in vectors:
            vector = self.array(number)
            if vector.dtype != of.dtype or vector.dims != (count,):
                self.fail(f"expected {of.dtype}[{count}], a number for each feature, as operand {number}, found "
                          f"{bare(vector)}", operand=number)
        return array_shape(of.dtype, (count,))

    def _batch_norm_training(self) -> Shape:
        vector = self._features((1, 2))
        return tuple_shape([self.shapes[0], vector, vector])

    def _batch_norm_inference(self) -> Shape:
        self._features((1, 2, 3, 4))
        return self.shapes[0]

    def _batch_norm_grad(self) -> Shape:
        vector = self._features((1, 2, 3))
        self.alike(4)
        return tuple_shape([self.shapes[0], vector, vector])


def bare(of: Shape) -> str:
    """Return an array shape without its layout, for messages."""
    return f"{of.dtype}[{','.join(map(str, of.dims))}]" if of.kind == "array" else of.text
