"""Lower the ops of StableHLO to HLO. An op has a method here if its row in the table (table.py) is not enough to lower
it.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

from gen.hlo import dtypes
from gen.hlo.graph import Instruction, Labels, Shape, Window, array_shape, permuted, shape, tuple_shape
from gen.hlo.opcodes import ELEMENTWISE, TABLE
from gen.stablehlo import sizes
from gen.stablehlo.build import Builder, Called, Scope, shape_like
from gen.stablehlo.literals import dense_bits, value_bits
from gen.stablehlo.scanner import Attributes, Dense, Symbol, type_text
from gen.stablehlo.syntax import Op
from gen.stablehlo.table import OF_LAYOUT, Row, row_of, unknown
from gen.suggest import did_you_mean

_FORMAT = re.compile(r"e([0-9]{1,3})m([0-9]{1,3})\Z")
_DOT_NAMES = (("lhs_batch_dims", "lhs_batching_dimensions"), ("rhs_batch_dims", "rhs_batching_dimensions"),
              ("lhs_contracting_dims", "lhs_contracting_dimensions"),
              ("rhs_contracting_dims", "rhs_contracting_dimensions"))
_GENERATORS = {"DEFAULT": "rng_default", "THREE_FRY": "rng_three_fry", "PHILOX": "rng_philox"}
_TRANSPOSES = ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
_DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")
_COMPARE_TYPES = ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
_PRECISIONS = ("DEFAULT", "HIGH", "HIGHEST")


class Lowering(Builder):
    """Lowers each op to a value of HLO."""

    def lower(self, op: Op, scope: Scope) -> "Optional[Instruction]":
        row = row_of(op.name)
        if row is None:
            self.fail(op.pos, unknown(op.name))
        self._judge(op, row)
        if row.operands not in (-1, len(op.operands)):
            self.fail(op.pos, f"{op.name}: expected {row.operands} operand{'s' * (row.operands != 1)}, "
                              f"found {len(op.operands)}")
        operands = self.operands(op, scope)
        if not row.own:
            return self._plain(op, row, scope, operands)
        dialect, _, name = op.name.partition(".")
        if dialect == "chlo" and name.startswith("broadcast_"):
            return self._broadcasting(op, row, scope, operands)
        method: "Callable[[Op, Row, Scope, List[Instruction]], Optional[Instruction]]" = getattr(self, f"_{name}")
        return method(op, row, scope, operands)

    def _judge(self, op: Op, row: Row) -> None:
        """Raise HloError if an op's attributes or its number of regions do not fit its row in the table."""
        for key in op.attributes:
            if key not in (*row.attributes, *row.optional, *OF_LAYOUT) and not row.others and "." not in key:
                own = ", ".join(row.attributes) or "none of its own"
                self.fail(op.attributes.places[key], f"expected an attribute of '{op.name}' ({own}), found '{key[:60]}'"
                                                     f"{did_you_mean(key[:60], row.attributes)}")
        for key in row.attributes:
            if key not in op.attributes and key not in row.optional:
                self.fail(op.pos, f"{op.name}: expected the attribute '{key}'")
        if row.regions >= 0 and len(op.regions) != row.regions:
            self.fail(op.pos, f"{op.name}: expected {row.regions} region{'s' * (row.regions != 1)}, "
                              f"found {len(op.regions)}")

    # ---- attributes ----

    def place(self, op: Op, key: str) -> int:
        return op.attributes.places.get(key, op.pos)

    def wrong(self, op: Op, key: str, wanted: str) -> NoReturn:
        value = op.attributes.get(key)
        self.fail(self.place(op, key), f"{op.name}: expected {wanted} as '{key}'"
                                       + (", found none" if value is None else f", found {self.told(op, key)}"))

    def told(self, op: Op, key: str) -> str:
        start, end = op.attributes.values_at(key)
        text = self.scanner.text[start:end].strip()
        return text if 0 < len(text) <= 60 else text[:57] + "..." if text else "nothing"

    def integers(self, op: Op, key: str, count: "Optional[int]" = None, default: "Optional[Sequence[int]]" = None,
                 value: Any = None) -> Tuple[int, ...]:
        """Return the integers of an attribute.

        value: if not None, a field of the attribute, whose integers are returned instead
        """
        value = op.attributes.get(key, default) if value is None else value
        if isinstance(value, Dense):
            bits = dense_bits(self.scanner, value, self.text.resources)
            if bits is None:
                self.wrong(op, key, "integers")
            value = [signed(number, value.of.dtype) for number in bits or ()]
        if not isinstance(value, (list, tuple)) or any(type(number) is not int for number in value):
            self.wrong(op, key, "a list of integers")
        if count is not None and len(value) != count:
            self.wrong(op, key, f"{count} integer{'s' * (count != 1)}")
        return tuple(value)

    def pairs(self, op: Op, key: str, count: int) -> "Tuple[Tuple[int, int], ...]":
        """Return an attribute that is a list of pairs of integers, such as padding."""
        value = op.attributes.get(key)
        if value is None:
            return ((0, 0),) * count
        if isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            numbers: Tuple[int, ...] = self.integers(op, key, value=[number for pair in value for number in pair])
        else:
            numbers = self.integers(op, key)
        if len(numbers) == 2 and count > 1 and isinstance(value, Dense) and value.of.elements == 2 * count:
            numbers = numbers * count
        if len(numbers) != 2 * count:
            self.wrong(op, key, f"{count} pair{'s' * (count != 1)} of integers")
        return tuple(zip(numbers[::2], numbers[1::2]))

    def integer(self, op: Op, key: str, default: "Optional[int]" = None) -> int:
        value = op.attributes.get(key, default)
        if type(value) is not int:
            self.wrong(op, key, "an integer")
        return int(value)

    def boolean(self, op: Op, key: str, default: bool = False) -> bool:
        value = op.attributes.get(key, default)
        if not isinstance(value, bool):
            self.wrong(op, key, "true or false")
        return bool(value)

    def word(self, op: Op, key: str, words: "Sequence[str]") -> str:
        value = op.attributes.get(key)
        if not isinstance(value, str) or value not in words:
            self.wrong(op, key, f"one of {', '.join(words)}")
        return str(value)

    def fields(self, op: Op, key: str, *names: str) -> "Dict[str, Any]":
        """Return the fields of a structure by name. A field with a plural name is a list of integers, other fields are
        integers.
        """
        value = op.attributes.get(key)
        if not isinstance(value, Attributes):
            self.wrong(op, key, "dimension numbers")
        found: Dict[str, Any] = {}
        for name, given in value.items():
            if name not in names:
                self.fail(value.places.get(name, self.place(op, key)),
                          f"{op.name}: expected one of {', '.join(names)} in '{key}', found '{name[:60]}'")
        for name in names:
            given = value.get(name)
            if name == "index_vector_dim":
                found[name] = given if given is not None else 0
                if type(found[name]) is not int:
                    self.wrong(op, key, "an integer as index_vector_dim")
            else:
                found[name] = self.integers(op, key, value=given if given is not None else [])
        return found

    # ---- ops without a method: their row in the table is enough ----

    def _plain(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        attributes: Dict[str, Any] = {}
        names = {}
        kinds = TABLE[row.opcode].attributes if row.opcode in TABLE else {}
        for key, name in row.attributes.items():
            if name and key in op.attributes:
                value = self._kind(op, key, kinds.get(name, "integer"))
                if value is False and row.opcode in TABLE and name in TABLE[row.opcode].optional:
                    continue
                attributes[name] = value
                names[name] = key
        written = self.written(op)
        if written is None:
            written = self.open_result(op, row.opcode, operands)
        if row.opcode.startswith("chlo."):
            return self._composed(op, row, scope, operands, attributes)
        if row.opcode in ELEMENTWISE and dtypes.is_complex(operands[0].shape.dtype if operands else "") \
                and "chlo." + row.opcode in _COMPOSED and op.name.startswith("chlo."):
            return self._composed(op, row, scope, operands, attributes)
        made = self.emit(scope, op, row.opcode, operands, written, names, **attributes)
        if row.opcode == "exponential" and dtypes.is_complex(made.shape.dtype):
            # checked as HLO's op, but computed by the formula of chlo.py, which gives XLA's values
            made.opcode = "chlo.exponential"
        return made

    def open_result(self, op: Op, opcode: str, operands: "Sequence[Instruction]") -> Optional[Shape]:
        """Return the shape of a result whose sizes are open in the text; None if HLO's checker infers it."""
        of = op.results[0]
        if opcode in ("convert", "copy") and operands:
            return array_shape(of.dtype, operands[0].shape.dims)
        if opcode == "bitcast-convert" and operands:
            have, want = (max(dtypes.TABLE[dtype].bits, 8 * (dtype == "pred")) for dtype in (operands[0].shape.dtype, of.dtype))
            dims = operands[0].shape.dims
            return array_shape(of.dtype, dims if have == want else dims + (have // want,) if have > want else dims[:-1])
        return None

    def _kind(self, op: Op, key: str, kind: str) -> Any:
        if kind == "integers":
            return self.integers(op, key)
        if kind == "integer":
            return self.integer(op, key)
        if kind == "boolean":
            return self.boolean(op, key)
        if kind == "number":
            value = op.attributes[key]
            return float(value) if type(value) in (int, float) else self.wrong(op, key, "a number")
        if kind == "transpose":
            return self.word(op, key, _TRANSPOSES)
        assert kind == "transform", kind
        return self.word(op, key, ("FFT", "IFFT", "RFFT", "IRFFT"))

    def _composed(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]", attributes: "Dict[str, Any]") -> Instruction:
        """Emit an op of chlo that gen/stablehlo/chlo.py expands later. Such ops are elementwise, on floats or complex
        numbers.
        """
        name = op.name.partition(".")[2]
        arity = 2 if name in ("next_after", "polygamma", "zeta", "broadcast_next_after", "broadcast_polygamma",
                              "broadcast_zeta") else 1
        if len(operands) != arity:
            self.fail(op.pos, f"{op.name}: expected {arity} operand{'s' * (arity > 1)}, found {len(operands)}")
        of = operands[0].shape
        if of.kind != "array" or dtypes.TABLE[of.dtype].kind not in ("float", "complex") and name != "square":
            self.fail(op.operands[0].pos, f"{op.name}: expected floats as operand 0, found {type_text(of)}")
        for use, operand in zip(op.operands[1:], operands[1:]):
            if (operand.shape.dtype, operand.shape.dims) != (of.dtype, of.dims):
                self.fail(use.pos, f"{op.name}: expected {type_text(of)} as operand 1, found {type_text(operand.shape)}")
        to = shape_like(of, "pred" if name.startswith("is_") else of.dtype)
        written = self.written(op)
        if written is not None and (written.dtype, written.dims) != (to.dtype, to.dims):
            self.fail(op.types_pos, f"expected {type_text(to)}, the result of '{op.name}' here, found {type_text(written)}")
        return self.emit(scope, op, row.opcode if row.opcode.startswith("chlo.") else f"chlo.{name}", operands, to, **attributes)

    # ---- elementwise ----

    def _convert(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        """Emit a conversion. From a complex to a real type, it takes the real part."""
        to = self.result_of(op)
        if len(operands) == 1 and dtypes.is_complex(operands[0].shape.dtype) and not dtypes.is_complex(to.dtype):
            of = operands[0].shape
            part = dtypes.TABLE[of.dtype].part
            operands = [self.emit(scope, op, "real", operands, shape_like(of, part))]
        if len(operands) == 1 and operands[0].shape.kind == "array" and operands[0].shape.dtype == to.dtype and \
                (to.dynamic or operands[0].shape.dims == to.dims):
            return operands[0]
        return self.emit(scope, op, "convert", operands, self.written(op) or self.open_result(op, "convert", operands))

    def _compare(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        attributes: Dict[str, Any] = {"direction": self.word(op, "comparison_direction", _DIRECTIONS)}
        if op.attributes.get("compare_type", "NOTYPE") != "NOTYPE":
            attributes["type"] = self.word(op, "compare_type", _COMPARE_TYPES)
        return self.emit(scope, op, "compare", operands, self.written(op),
                         {"direction": "comparison_direction", "type": "compare_type"},
                         **attributes)

    def _reduce_precision(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        if "format" in op.attributes:
            match = _FORMAT.match(str(op.attributes["format"]))
            if match is None:
                self.wrong(op, "format", "eEXPONENTmMANTISSA, like e5m10,")
            bits = tuple(map(int, match.groups() if match else ()))
        else:
            bits = self.integer(op, "exponent_bits"), self.integer(op, "mantissa_bits")
        return self.emit(scope, op, "reduce-precision", operands, self.written(op), exponent_bits=bits[0],
                         mantissa_bits=bits[1])

    # ---- constants and iota ----

    def _constant(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        value = op.attributes["value"]
        if not isinstance(value, Dense):
            self.wrong(op, "value", "dense<..>")
        to = self.result_of(op)
        if to != value.of and to.dims != value.of.dims:
            self.fail(op.types_pos, f"expected {type_text(value.of)}, the type of the value, found {type_text(to)}")
        bits = dense_bits(self.scanner, value, self.text.resources)
        made = self.constant(scope, op, value.of, bits or [])
        if bits is None:
            made.literal = None
        return made

    def _constant_like(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        of = operands[0].shape
        start, end = op.attributes.values_at("value")
        token = self.scanner.text[start:end].split(":")[0].strip()
        try:
            bits = value_bits(token, of.dtype)
        except (ValueError, KeyError) as error:
            self.fail(start, f"{op.name}: {error}")
        return self._spread(op, scope, self.constant(scope, op, array_shape(of.dtype, ()), [bits]), (), of)

    def _dynamic_iota(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        to = self.sized(op, operands[0], 0)
        return self._numbers(op, scope, to)

    def _iota(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self._numbers(op, scope, self.written(op) or self.fail(op.types_pos, f"{op.name}: expected known sizes"))

    def _numbers(self, op: Op, scope: Scope, to: Shape) -> Instruction:
        """Emit an iota. For several dimensions, it is a broadcast of an iota of one dimension."""
        along = self.integer(op, "iota_dimension")
        names = {"iota_dimension": "iota_dimension"}
        if to.kind != "array" or to.rank < 2 or not 0 <= along < to.rank:
            return self.emit(scope, op, "iota", [], to, names, iota_dimension=along)
        line = self.emit(scope, op, "iota", [], array_shape(to.dtype, (to.dims[along],)), names, iota_dimension=0)
        return self.emit(scope, op, "broadcast", [line], to, dimensions=(along,))

    # ---- ops that move elements ----

    def _broadcast(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        of = operands[0].shape
        dims = self.integers(op, "broadcast_sizes") + of.dims
        return self.emit(scope, op, "broadcast", operands, self.written(op) or array_shape(of.dtype, dims),
                         dimensions=tuple(range(len(dims) - of.rank, len(dims))))

    def _broadcast_in_dim(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        to = self.written(op)
        if to is None:
            self.fail(op.types_pos, f"{op.name}: expected a result of known sizes, found {type_text(op.results[0])}")
        return self._spread(op, scope, operands[0], self.integers(op, "broadcast_dimensions"), to)

    def _dynamic_broadcast_in_dim(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self._spread(op, scope, operands[0], self.integers(op, "broadcast_dimensions"), self.sized(op, operands[1], 1))

    def _spread(self, op: Op, scope: Scope, value: Instruction, dimensions: "Sequence[int]", to: Shape) -> Instruction:
        """Broadcast a value to a shape. HLO's broadcast only adds dimensions, so a dimension of size 1 that grows is
        first removed by a reshape.
        """
        of, names = value.shape, {"dimensions": "broadcast_dimensions"}
        if of.kind != "array" or to.kind != "array":
            self.fail(op.pos, f"{op.name}: expected arrays, found {type_text(of)} and {type_text(to)}")
        given = to
        if to.dtype != of.dtype:
            self.fail(op.types_pos, f"expected a result of the operand's element type, found {type_text(to)}")
        dimensions = tuple(dimensions)
        right = len(dimensions) == len(set(dimensions)) == of.rank and all(0 <= d < to.rank for d in dimensions)
        spread = [n for n, d in enumerate(dimensions) if right and of.dims[n] == 1 != to.dims[d]]
        if right and of.elements == to.elements and list(dimensions) == sorted(dimensions) and not spread:
            if of.dims == to.dims:
                return value
            return self.emit(scope, op, "reshape", [value], given)
        if spread:
            kept = [n for n in range(of.rank) if n not in spread]
            value = self.emit(scope, op, "reshape", [value], array_shape(of.dtype, tuple(of.dims[n] for n in kept)))
            dimensions = tuple(dimensions[n] for n in kept)
        return self.emit(scope, op, "broadcast", [value], given, names, dimensions=dimensions)

    def sized(self, op: Op, sizes_of: Instruction, number: int) -> Shape:
        """Return the result's shape. Its sizes come from the text, or, if they are open there, from an operand."""
        of = self.result_of(op)
        if not of.dynamic:
            return of
        found = self.known(op, sizes_of, number, "sizes")
        return array_shape(of.dtype, tuple(found))

    def result_of(self, op: Op) -> Shape:
        """Return the type of the op's only result."""
        if len(op.results) != 1:
            self.fail(op.pos, f"{op.name}: expected one result, found {len(op.results) or 'none'}")
        return op.results[0]

    def known(self, op: Op, value: Instruction, number: int, what: str) -> List[int]:
        """Return the integers of an operand. Raise HloError if they are not known at generation time."""
        found = sizes.values_of(value)
        if found is None:
            self.fail(op.operands[number].pos if number < len(op.operands) else op.pos,
                      f"{op.name}: expected {what} that are known when the code is generated: "
                      f"'%{op.operands[number].key[0]}' depends on values")
        return found

    def _transpose(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        """Emit a transpose that moves no byte: its layout keeps the operand's order in memory."""
        dimensions = self.integers(op, "permutation")
        made = self.emit(scope, op, "transpose", operands, self.written(op), {"dimensions": "permutation"},
                         dimensions=dimensions)
        made.shape = permuted(operands[0].shape, dimensions)
        return made

    def _dynamic_reshape(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self.emit(scope, op, "reshape", operands[:1], self.sized(op, operands[1], 1))

    def _slice(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        lists = [self.integers(op, key) for key in ("start_indices", "limit_indices", "strides")]
        if len({len(numbers) for numbers in lists}) != 1:
            self.fail(self.place(op, "start_indices"), f"{op.name}: expected as many starts as limits and strides")
        return self.emit(scope, op, "slice", operands, self.written(op), {"slice": "start_indices"},
                         slice=tuple(zip(*lists)))

    def _real_dynamic_slice(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        lists = [self.known(op, operands[number], number, "starts, limits and strides") for number in (1, 2, 3)]
        return self.emit(scope, op, "slice", operands[:1], self.written(op), slice=tuple(zip(*lists)))

    def _pad(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        lists = [self.integers(op, key) for key in ("edge_padding_low", "edge_padding_high", "interior_padding")]
        if len({len(numbers) for numbers in lists}) != 1:
            self.fail(self.place(op, "edge_padding_low"), f"{op.name}: expected as many numbers in low, high and interior")
        return self.emit(scope, op, "pad", operands, self.written(op), {"padding": "edge_padding_low"},
                         padding=tuple(zip(*lists)))

    def _dynamic_pad(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        lists = [self.known(op, operands[number], number, "amounts of padding") for number in (2, 3, 4)]
        return self.emit(scope, op, "pad", operands[:2], self.written(op), padding=tuple(zip(*lists)))

    def _concatenate(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self.emit(scope, op, "concatenate", operands, self.written(op), {"dimensions": "dimension"},
                         dimensions=(self.integer(op, "dimension"),))

    # ---- ops whose indices are runtime values ----

    def _sorted(self, op: Op, *keys: str) -> "Dict[str, str]":
        """Return the boolean attributes of `keys` that are true, in the form of HLO: each name with the text "true"."""
        return {key: "true" for key in keys if self.boolean(op, key)}

    def _gather_of(self, op: Op, scope: Scope, operands: "List[Instruction]", slice_sizes: "Tuple[int, ...]") -> Instruction:
        numbers = self.fields(op, "dimension_numbers", "offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                              "start_indices_batching_dims", "start_index_map", "index_vector_dim")
        numbers = {key: value for key, value in numbers.items() if value != () or "batching" not in key}
        names = {**{key: f"dimension_numbers/{key}" for key in numbers}, "slice_sizes": "slice_sizes"}
        return self.emit(scope, op, "gather", operands, self.written(op), names, slice_sizes=slice_sizes,
                         raw=self._sorted(op, "indices_are_sorted"), **numbers)

    def _gather(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self._gather_of(op, scope, operands, self.integers(op, "slice_sizes"))

    def _dynamic_gather(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self._gather_of(op, scope, operands[:2], tuple(self.known(op, operands[2], 2, "sizes of slices")))

    def _scatter(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        names = {"inserted_window_dims": "inserted_window_dims", "update_window_dims": "update_window_dims",
                 "input_batching_dims": "input_batching_dims", "index_vector_dim": "index_vector_dim",
                 "scatter_indices_batching_dims": "scatter_indices_batching_dims",
                 "scatter_dims_to_operand_dims": "scatter_dims_to_operand_dims"}
        numbers = {key: value for key, value in self.fields(op, "scatter_dimension_numbers", *names).items()
                   if value != () or "batching" not in key}
        combine = self.combiner(op, 0, scope, "scatter")
        return self.emit(scope, op, "scatter", operands, self.written(op),
                         {key: f"scatter_dimension_numbers/{key}" for key in numbers},
                         [Called("to_apply", [combine])], self._sorted(op, "indices_are_sorted", "unique_indices"), **numbers)

    # ---- loops ----

    def _reduce(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self.emit(scope, op, "reduce", operands, self.written(op), {"dimensions": "dimensions"},
                         [Called("to_apply", [self.combiner(op, 0, scope, "reduce")])],
                         dimensions=self.integers(op, "dimensions"))

    def _window_of(self, op: Op, size: "Tuple[int, ...]", base: str, dilation: str, reversal: str = "") -> Window:
        count = len(size)
        ones = (1,) * count
        padding = self.pairs(op, "padding", count)
        flags: Tuple[int, ...] = (0,) * count
        if reversal and reversal in op.attributes:
            value = op.attributes[reversal]
            given = list(self.integers(op, reversal)) if isinstance(value, Dense) else value
            if not isinstance(given, list) or any(flag not in (True, False) for flag in given):
                self.wrong(op, reversal, "true or false for each dimension")
            flags = tuple(map(int, given * count if isinstance(value, Dense) and len(given) == 1 else given))
            if len(flags) != count:
                self.wrong(op, reversal, f"{count} flags")
        window = Window(size, self.integers(op, "window_strides", count, ones), tuple(low for low, _ in padding),
                        tuple(high for _, high in padding), self.integers(op, base, count, ones) if base else ones,
                        self.integers(op, dilation, count, ones) if dilation else ones, flags)
        for key, values in (("window_dimensions", size), ("window_strides", window.stride), (base, window.base_dilation),
                            (dilation, window.dilation)):
            if any(number < 1 for number in values) and key in op.attributes:
                self.wrong(op, key, "at least 1 in each dimension")
        return window

    def _reduce_window(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        window = self._window_of(op, self.integers(op, "window_dimensions"), "base_dilations", "window_dilations")
        return self.emit(scope, op, "reduce-window", operands, self.written(op),
                         {"window": "window_dimensions"},
                         [Called("to_apply", [self.combiner(op, 0, scope, "reduce_window")])], window=window)

    def _select_and_scatter(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        rank = operands[0].shape.rank if operands else 0
        window = self._window_of(op, self.integers(op, "window_dimensions", default=(1,) * rank), "", "")
        return self.emit(scope, op, "select-and-scatter", operands, self.written(op),
                         {"window": "window_dimensions"},
                         [Called("select", [self.combiner(op, 0, scope, "select")]),
                          Called("scatter", [self.combiner(op, 1, scope, "scatter")])], window=window)

    # ---- products ----

    def _precision(self, op: Op) -> "Dict[str, str]":
        words = op.attributes.get("precision_config") or []
        if not isinstance(words, list) or any(word not in _PRECISIONS for word in words):
            self.wrong(op, "precision_config", f"a list of {', '.join(_PRECISIONS)}")
        if any(word != "DEFAULT" for word in words):
            return {"operand_precision": "{" + ",".join(word.lower() for word in words) + "}"}
        return {}

    def _dot(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        rank = operands[0].shape.rank if operands else 0
        return self.emit(scope, op, "dot", operands, self.written(op), raw=self._precision(op),
                         lhs_contracting_dims=(max(rank - 1, 0),), rhs_contracting_dims=(0,))

    def _dot_numbers(self, op: Op, value: Any, key: str) -> "Dict[str, Any]":
        if not isinstance(value, dict):
            self.wrong(op, key, "dimension numbers")
        for name in value:
            if name not in [generic for _, generic in _DOT_NAMES]:
                self.fail(self.place(op, key), f"{op.name}: expected one of {', '.join(g for _, g in _DOT_NAMES)} in "
                                               f"'{key}', found '{name[:60]}'")
        return {name: self.integers(op, key, value=value[generic]) for name, generic in _DOT_NAMES
                if value.get(generic)}

    def _dot_general(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        if "dot_dimension_numbers" in op.attributes:
            numbers = self._dot_numbers(op, op.attributes["dot_dimension_numbers"], "dot_dimension_numbers")
        else:
            numbers = {}
            for what in ("batching", "contracting"):
                given = op.attributes.get(f"{what}_dims", ([], []))
                if not isinstance(given, tuple):
                    self.wrong(op, f"{what}_dims", "two lists of integers")
                for side, value in zip(("lhs", "rhs"), given):
                    found = self.integers(op, f"{what}_dims", value=value)
                    if found:
                        numbers[f"{side}_{'batch' if what == 'batching' else what}_dims"] = found
        if "dot_dimension_numbers" in op.attributes:
            names = {key: f"dot_dimension_numbers/{generic}" for key, generic in _DOT_NAMES}
        else:
            names = {key: "batching_dims" if "batch" in key else "contracting_dims" for key, _ in _DOT_NAMES}
        written = self.written(op)
        if written is None:
            written = self.open_product(op, operands, numbers)
        return self.emit(scope, op, "dot", operands, written, names, raw=self._precision(op), **numbers)

    def open_product(self, op: Op, operands: "List[Instruction]", numbers: "Dict[str, Any]") -> Shape:
        """Return the shape of a product whose sizes are open in the text. The text gives the element type."""
        left, right = (operand.shape for operand in operands)
        dims = [left.dims[d] for d in numbers.get("lhs_batch_dims", ())]
        for side, of in (("lhs", left), ("rhs", right)):
            bound = numbers.get(f"{side}_batch_dims", ()) + numbers.get(f"{side}_contracting_dims", ())
            dims += [size for d, size in enumerate(of.dims) if d not in bound]
        return array_shape(op.results[0].dtype, tuple(dims))

    def _ragged_dot(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        key = "ragged_dot_dimension_numbers"
        given = op.attributes[key]
        if not isinstance(given, dict):
            self.wrong(op, key, "dimension numbers")
        numbers = self._dot_numbers(op, given.get("dot_dimension_numbers"), key)
        raw = {name: "{" + ",".join(map(str, value)) + "}" for name, value in numbers.items()}
        for name, generic in (("lhs_ragged_dims", "lhs_ragged_dimensions"), ("rhs_group_dims", "rhs_group_dimensions")):
            raw[name] = "{" + ",".join(map(str, self.integers(op, key, value=given.get(generic) or []))) + "}"
        return self.emit(scope, op, "ragged-dot", operands, self.written(op), raw={**raw, **self._precision(op)})

    def _labels(self, op: Op) -> Labels:
        parts = op.attributes["dimension_numbers"]
        if not isinstance(parts, list) or len(parts) != 3:
            self.wrong(op, "dimension_numbers", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]")
        numbers = []
        for part, letters in zip(parts, ("bf", "io", "bf")):
            labels = [*letters, *(str(k) for k in range(len(part) - 2))]
            if sorted(part) != sorted(labels) or len(part) != len(parts[0]):
                self.fail(self.place(op, "dimension_numbers"),
                          f"{op.name}: expected '{letters[0]}', '{letters[1]}' and the numbers of the spatial dimensions "
                          f"once in each part, found [{', '.join(part)}]")
            numbers.append(tuple(part.index(label) for label in labels))
        texts = ["".join(part) for part in parts]
        return Labels(f"{texts[0]}_{texts[1]}->{texts[2]}", *numbers)

    def _convolution_of(self, op: Op, scope: Scope, operands: "List[Instruction]", padding: "Optional[List[int]]" = None) -> Instruction:
        labels = self._labels(op)
        kernel = operands[1].shape
        if kernel.rank != len(labels.rhs):
            self.fail(op.operands[1].pos, f"{op.name}: expected {len(labels.rhs)} dimensions, as the dimension numbers have, "
                                          f"found {type_text(kernel)}")
        size = tuple(kernel.dims[d] for d in labels.rhs[2:])
        window = self._window_of(op, size, "lhs_dilation", "rhs_dilation", "window_reversal")
        if padding is not None:
            window = Window(window.size, window.stride, tuple(padding[::2]), tuple(padding[1::2]), window.base_dilation,
                            window.dilation, window.reversal)
        groups: Dict[str, Any] = {name: self.integer(op, name, 1) for name in ("feature_group_count", "batch_group_count")}
        names = {"window": "window_strides", "dim_labels": "dimension_numbers", **{name: name for name in groups}}
        return self.emit(scope, op, "convolution", operands, self.written(op), names, raw=self._precision(op), window=window,
                         dim_labels=labels, **groups)

    def _convolution(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self._convolution_of(op, scope, operands)

    def _dynamic_conv(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self._convolution_of(op, scope, operands[:2], self.known(op, operands[2], 2, "amounts of padding"))

    # ---- ops on whole arrays ----

    def _sort(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        rank = operands[0].shape.rank if operands else 0
        along = self.integer(op, "dimension", -1)
        attributes: Dict[str, Any] = {"dimensions": (along + rank if along < 0 else along,)}
        if self.boolean(op, "is_stable"):
            attributes["is_stable"] = True
        return self.emit(scope, op, "sort", operands, self.written(op), {"dimensions": "dimension"},
                         [Called("to_apply", [self.combiner(op, 0, scope, "compare")])], **attributes)

    def _top_k(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self.emit(scope, op, "topk", operands, self.written(op), {"k": "k"}, k=self.integer(op, "k"),
                         largest=True)

    def _rng_bit_generator(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        algorithm = _GENERATORS[self.word(op, "rng_algorithm", tuple(_GENERATORS))]
        return self.emit(scope, op, "rng-bit-generator", operands, self.written(op), algorithm=algorithm)

    def _rng(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        kind = self.word(op, "rng_distribution", ("UNIFORM", "NORMAL"))
        return self.emit(scope, op, "rng", operands[:2], self.sized(op, operands[2], 2),
                         raw={"distribution": f"rng_{kind.lower()}"})

    # ---- tuples, control flow, calls ----

    def _optimization_barrier(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Optional[Instruction]:
        if not operands:
            return None
        return self.emit(scope, op, "opt-barrier", [self.bundle(scope, operands, op)])

    def _map(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self.emit(scope, op, "map", operands, self.written(op), {"dimensions": "dimensions"},
                         [Called("to_apply", [self.combiner(op, 0, scope, "map")])],
                         dimensions=self.integers(op, "dimensions"))

    def _while(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        captures = self.captures(op.regions, scope)
        whole = [*operands, *(value for _, value in captures)]
        if not whole:
            self.fail(op.pos, f"{op.name}: expected at least one value")
        shapes = [operand.shape for operand in operands]
        fixed = self._fixed(op, operands) if self.open_sizes else []
        condition = self.with_captures(op, 0, scope, "condition", shapes, captures, closes=False, fixed=fixed,
                                       results=[array_shape("pred", ())])
        body = self.with_captures(op, 1, scope, "body", shapes, captures, closes=True, fixed=fixed)
        made = self.emit(scope, op, "while", [self.bundle(scope, whole, op)],
                         called=[Called("condition", [condition]), Called("body", [body])])
        return made

    def _fixed(self, op: Op, operands: "List[Instruction]") -> "List[Optional[Instruction]]":
        """Return, for each value of a loop, its initial constant if the body returns the value unchanged; else None."""
        body = op.regions[1]
        after = [use.key for use in body.ops[-1].operands] if body.ops else []
        return [operand if operand.opcode == "constant" and [argument.key] == after[number:number + 1] else None
                for number, (argument, operand) in enumerate(zip(body.arguments, operands))]

    def _branches(self, op: Op, scope: Scope, index: Instruction, key: str) -> Instruction:
        branches, given = [], []
        for number, region in enumerate(op.regions):
            captures = self.captures([region], scope)
            branches.append(self.with_captures(op, number, scope, "branch", (), captures, closes=False, results=op.results))
            given.append(self.bundle(scope, [value for _, value in captures], op))
        called = ([Called("branch_computations", branches)] if key else
                  [Called("true_computation", branches[:1]), Called("false_computation", branches[1:])])
        return self.emit(scope, op, "conditional", [index, *given], called=called)

    def _if(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self._branches(op, scope, operands[0], "")

    def _case(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        if len(operands) != 1 or not op.regions:
            self.fail(op.pos, f"{op.name}: expected 1 operand and at least 1 region, found {len(operands)} and "
                              f"{len(op.regions)}")
        return self._branches(op, scope, operands[0], "branch_computations")

    def called_function(self, op: Op, scope: Scope, name: Any, place: int, operands: "List[Instruction]") -> Instruction:
        function = self.text.functions.get(str(name))
        if function is None:
            self.fail(place, f"expected a function of this module, found '@{str(name)[:60]}'"
                             f"{did_you_mean(str(name)[:60], self.text.functions)}")
        arguments = function.body.arguments
        if len(arguments) != len(operands):
            self.fail(op.pos, f"expected {len(arguments)} operands, as '@{function.name}' has arguments, found {len(operands)}")
        for number, (argument, value) in enumerate(zip(arguments, operands)):
            if not argument.of.dynamic and not same_type(argument.of, value.shape):
                self.fail(op.operands[number].pos, f"expected {type_text(argument.of)} as operand {number}, as '%{argument.key[0]}' "
                                                   f"of '@{function.name}' is, found {type_text(value.shape)}")
        known: Tuple[Any, ...] = ()
        if self.open_sizes:
            known = tuple(tuple(found) if (found := sizes.values_of(value)) is not None else None for value in operands)
        computation = self.function(function, [value.shape for value in operands], known)
        return self.emit(scope, op, "call", operands, called=[Called("to_apply", [computation])])

    def _call(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Optional[Instruction]:
        made = self.called_function(op, scope, op.attributes["callee"], self.place(op, "callee"), operands)
        return made if op.results else None

    def _composite(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self.called_function(op, scope, op.attributes["decomposition"], self.place(op, "decomposition"), operands)

    def _custom_call(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Optional[Instruction]:
        target = str(op.attributes["call_target_name"])
        if target == "shape_assertion" and not op.results:
            self._assertion(op, operands)
            return None
        if target.startswith("mhlo.") and "mhlo.attributes" in op.attributes:
            return self._exported(op, scope, operands, target.removeprefix("mhlo."))
        raw = {"custom_call_target": f'"{target}"'}
        for key, name in (("backend_config", "backend_config"), ("mhlo.backend_config", "backend_config")):
            if op.attributes.get(key) not in (None, ""):
                start, end = op.attributes.values_at(key)
                raw[name] = self.scanner.text[start:end].strip()
        if self.boolean(op, "has_side_effect"):
            raw["custom_call_has_side_effect"] = "true"
        called = []
        functions = op.attributes.get("called_computations") or []
        if functions:
            computations = []
            for name in functions:
                function = self.text.functions.get(str(name))
                if not isinstance(name, Symbol) or function is None:
                    self.wrong(op, "called_computations", "functions of this module")
                else:
                    computations.append(self.function(function, [argument.of for argument in function.body.arguments]))
            called = [Called("called_computations", computations)]
        written = self._laid_out(op)
        return self.emit(scope, op, "custom-call", operands, written, called=called, raw=raw)

    def _laid_out(self, op: Op) -> Optional[Shape]:
        """Return the shape of the results, with the layouts that the custom call specifies."""
        layouts = op.attributes.get("result_layouts")
        if self.written(op) is None:
            self.fail(op.types_pos, f"{op.name}: expected results of known sizes from "
                                    f"'@{op.attributes['call_target_name']}'")
        if layouts is None:
            return self.written(op) if op.results else tuple_shape([])
        if not isinstance(layouts, list) or len(layouts) != len(op.results):
            self.wrong(op, "result_layouts", f"{len(op.results)} layouts")
        shapes = []
        for of, layout in zip(op.results, layouts):
            order = self.integers(op, "result_layouts", value=layout)
            if sorted(order) != list(range(of.rank)):
                self.wrong(op, "result_layouts", f"a permutation of {of.rank} dimensions")
            shapes.append(array_shape(of.dtype, of.dims, order) if of.kind == "array" and order else of)
        return shapes[0] if len(shapes) == 1 else tuple_shape(shapes)

    def _assertion(self, op: Op, operands: "List[Instruction]") -> None:
        """Check an assertion about sizes, `shape_assertion(%condition, %values..)`; raise HloError if it is false."""
        found = sizes.values_of(operands[0]) if operands else None
        if found is None:
            self.fail(op.pos, f"{op.name}: expected a condition on sizes, which are known when the code is generated")
        if found != [1]:
            numbers = [sizes.values_of(operand) for operand in operands[1:]]
            message = str(op.attributes.get("error_message", ""))
            for place, number in enumerate(numbers):
                message = message.replace("{" + str(place) + "}", str(number[0]) if number else "?")
            self.fail(op.pos, f"expected sizes for which the function was made: {message}")

    def _exported(self, op: Op, scope: Scope, operands: "List[Instruction]", name: str) -> Instruction:
        """Emit an op that is newer than the StableHLO version of a file. jax.export writes it as a call such as
        `@mhlo.erf`.
        """
        given = op.attributes["mhlo.attributes"]
        opcode = name.replace("_", "-")
        attributes = dict(given) if isinstance(given, dict) else {}
        if opcode not in TABLE:
            self.fail(self.place(op, "call_target_name"), f"{op.name}: there is no kernel for '@mhlo.{name}'")
        known = {key: value for key, value in attributes.items() if key in TABLE[opcode].attributes}
        return self.emit(scope, op, opcode, operands, self.written(op), **known)

    # ---- sizes ----

    def _get_dimension_size(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        of, along = operands[0].shape, self.integer(op, "dimension")
        if of.kind == "array" and not of.dynamic and 0 <= along < of.rank:
            return self.constant(scope, op, array_shape("s32", ()), [of.dims[along]])
        if of.kind != "array" or not 0 <= along < of.rank:
            self.fail(self.place(op, "dimension"), f"{op.name}: expected a dimension of {type_text(of)}, found {along}")
        return self.emit(scope, op, "get-dimension-size", operands, array_shape("s32", ()),
                         {"dimensions": "dimension"}, raw={"dimensions": f"{{{along}}}"})

    def _set_dimension_size(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        along = self.integer(op, "dimension")
        return self.emit(scope, op, "set-dimension-size", operands, self.result_of(op),
                         raw={"dimensions": f"{{{along}}}"})

    # ---- collectives; the program runs on one device ----

    def _after_all(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self.emit(scope, op, "after-all", operands, shape("token[]"))

    _create_token = _after_all

    def _partition_id(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        return self.emit(scope, op, row.opcode, operands, array_shape("u32", ()))

    _replica_id = _partition_id

    def _sharding_constraint(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        to = self.result_of(op)
        if not to.dynamic and not same_type(to, operands[0].shape):
            self.fail(op.types_pos, f"{op.name}: expected {type_text(operands[0].shape)}, the operand's type, as the "
                                    "result's")
        return operands[0]

    _reshard = _sharding_constraint

    def _collective(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        raw = {}
        groups = op.attributes.get("replica_groups")
        if isinstance(groups, Dense) and groups.of.rank == 2:
            numbers = self.integers(op, "replica_groups")
            width = groups.of.dims[1]
            rows = [numbers[at:at + width] for at in range(0, len(numbers), width)] if width else []
            raw["replica_groups"] = "{" + ",".join("{" + ",".join(map(str, row)) + "}" for row in rows) + "}"
        if "channel_handle" in op.attributes:
            raw["channel_id"] = "1"
        for key, name in (("all_gather_dim", "dimensions"), ("scatter_dimension", "dimensions"),
                          ("split_dimension", "dimensions")):
            if key in op.attributes:
                raw[name] = f"{{{self.integer(op, key)}}}"
        if "source_target_pairs" in op.attributes:
            pairs = self.integers(op, "source_target_pairs")
            raw["source_target_pairs"] = "{" + ",".join(f"{{{a},{b}}}" for a, b in zip(pairs[::2], pairs[1::2])) + "}"
        called = [Called("to_apply", [self.combiner(op, 0, scope, "combine")])] if op.regions else []
        return self.emit(scope, op, row.opcode, operands, self.written(op), called=called, raw=raw)

    _all_reduce = _all_gather = _all_to_all = _reduce_scatter = _collective
    _collective_permute = _collective_broadcast = _collective

    # ---- broadcasting ops of chlo ----

    def _broadcasting(self, op: Op, row: Row, scope: Scope, operands: "List[Instruction]") -> Instruction:
        """Broadcast the operands, which may have different ranks and sizes, to one shape. Dimensions of size 1 grow to
        the other operand's size. Missing dimensions are added in front, or where broadcast_dimensions says.
        """
        ranks = [operand.shape.rank for operand in operands]
        rank = max(ranks, default=0)
        given = op.attributes.get("broadcast_dimensions")
        numbers = []
        for of in ranks:
            last = tuple(range(rank - of, rank))
            numbers.append(self.integers(op, "broadcast_dimensions", of) if given is not None and of < rank else last)
        dims = [1] * rank
        for use, operand, places in zip(op.operands, operands, numbers):
            for size, d in zip(operand.shape.dims, places):
                if not 0 <= d < rank or (size != dims[d] and 1 not in (size, dims[d])):
                    self.fail(use.pos, f"{op.name}: expected sizes that broadcast to each other, found "
                                       f"{' and '.join(type_text(o.shape) for o in operands)}")
                dims[d] = size if dims[d] == 1 else dims[d]
        wide = [self._spread(op, scope, operand, places, array_shape(operand.shape.dtype, tuple(dims)))
                for operand, places in zip(operands, numbers)]
        if row.opcode == "compare":
            return self._compare(op, row, scope, wide)
        if row.opcode.startswith("chlo."):
            return self._composed(op, row, scope, wide, {})
        return self.emit(scope, op, row.opcode, wide, self.written(op))


_COMPOSED = frozenset(f"chlo.{name}" for name in "acos acosh asin asinh atan atanh".split())


def same_type(a: Shape, b: Shape) -> bool:
    """Return true if two shapes have the same element types and sizes, leaf by leaf."""
    if a.kind != b.kind or len(a.children) != len(b.children):
        return False
    return (a.dtype, a.dims) == (b.dtype, b.dims) and all(map(same_type, a.children, b.children))


def signed(bits: int, dtype: str) -> int:
    """Return the signed or unsigned number that an integer's bits represent."""
    row = dtypes.TABLE[dtype]
    return bits - (1 << row.bits) if row.kind == "sint" and bits >> row.bits - 1 else bits

