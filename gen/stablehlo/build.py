"""Convert functions of StableHLO to computations of HLO.

Each function, and each region of an op, becomes a computation. A computation of HLO cannot read values from outside.
So constants from outside are repeated inside, and each other outside value becomes an additional value that a loop
carries or a branch receives. `gen.hlo.checker` checks each op as for HLO text, but its messages name ops and types as
in StableHLO.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Set, Tuple, Union

from gen.hlo.checker import Check, Draft
from gen.hlo.dtypes import TABLE as TABLE_OF_TYPES
from gen.hlo.graph import (Computation, HloError, Instruction, Module, Shape, array_shape, is_row_major, row_major,
                           same_shape, tuple_shape)
from gen.hlo.kept import Kept
from gen.hlo.opcodes import TABLE
from gen.stablehlo.scanner import MlirScanner, type_text
from gen.stablehlo.sizes import values_of
from gen.stablehlo.syntax import Argument, Function, Key, Op, Region, Text, Use, free_values
from gen.stablehlo.table import RETURNS

DEPTH = 96  # maximum depth of nested calls and regions

NO_NAMES: "Mapping[str, str]" = MappingProxyType({})
_ODD = re.compile(r"[^A-Za-z0-9_.\-]")
# ops that are copied into each region that reads their results; a broadcast only if its operand is copied too
_REPEATED = frozenset(("constant", "iota", "broadcast"))

# an instruction; or, for an element of a tuple that has no get-tuple-element yet, the tuple and the element's index
Value = Union[Instruction, Tuple[Instruction, int]]


class Scope:
    """A computation under construction.

    outer: for a region, the scope that contains the region's op; else None
    """

    def __init__(self, name: str, line: int, col: int, outer: "Optional[Scope]" = None) -> None:
        self.computation = Computation(name, line=line, col=col)
        self.outer = outer
        self.values: Dict[Key, Value] = {}
        self.names: Set[str] = set()
        self.numbers: Dict[str, int] = {}

    def name(self, wanted: str) -> str:
        """Return the wanted name, with a number appended if another instruction has it."""
        name = wanted
        while name in self.names:
            self.numbers[wanted] = self.numbers.get(wanted, 0) + 1
            name = f"{wanted}.{self.numbers[wanted]}"
        self.names.add(name)
        return name


class Called(NamedTuple):
    """An attribute that names computations.

    key: its name in HLO
    """

    key: str
    computations: List[Computation]


class Builder(ABC):
    """Builds the computations of a module. `lower` returns the value of an op (gen/stablehlo/ops.py implements it)."""

    def __init__(self, text: Text, module: Module) -> None:
        self.text, self.module = text, module
        self.scanner: MlirScanner = text.scanner
        # names of computations
        self.taken: Set[str] = set()
        # finished computations. The key: the function's name, and the shapes and known values of its arguments
        self.made: Dict[Tuple[Any, ...], Computation] = {}
        self.open: List[str] = []  # names of the functions whose construction has not ended, to find recursion
        self.depth = 0
        # true if the module has open sizes; a function is then built for each set of argument sizes of its calls
        self.open_sizes = any(argument.of.dynamic for function in text.functions.values()
                              for argument in function.body.arguments)

    # ---- names and positions ----

    def fail(self, pos: int, message: str) -> NoReturn:
        self.scanner.fail(pos, message)

    def computation_name(self, wanted: str) -> str:
        wanted = _ODD.sub("_", wanted) or "region"
        name, number = wanted, 0
        while name in self.taken:
            number += 1
            name = f"{wanted}.{number}"
        self.taken.add(name)
        return name

    # ---- functions ----

    def function(self, function: Function, shapes: "Sequence[Shape]", known: "Tuple[Any, ...]" = ()) -> Computation:
        """Return the computation of a function for arguments of these shapes.

        known: for each argument its value, or None if it is not known
        """
        key = (function.name, *(shape.text for shape in shapes), *known)
        if key in self.made:
            return self.made[key]
        if function.name in self.open:
            self.fail(function.pos, f"expected functions that do not call themselves: '@{function.name}' does (a cycle)")
        self.enter(function.pos)
        self.open.append(function.name)
        line, col = self.scanner.place(function.pos)
        scope = Scope(self.computation_name(function.name), line, col)
        for number, (argument, shape) in enumerate(zip(function.body.arguments, shapes)):
            made = self.parameter(scope, argument, shape, self.argument_name(argument))
            if known and known[number] is not None:
                scope.values[argument.key] = self.integers_of(made, known[number], scope)
        self.ops(function.body, scope)
        returned = self.returned(function.body, scope)
        self.against(function, returned)
        self.finish(scope, returned, function.body.ops[-1])
        self.open.pop()
        self.depth -= 1
        self.made[key] = scope.computation
        return scope.computation

    def integers_of(self, value: Instruction, known: "Sequence[int]", scope: Scope) -> Instruction:
        """Add a constant that replaces `value`, and return it. It has the shape of `value` and the integers `known`."""
        mask = (1 << TABLE_OF_TYPES[value.shape.dtype].bits) - 1
        return scope.computation.add(Instruction(scope.name(value.name), "constant", value.shape, line=value.line,
                                                 col=value.col, literal=[number & mask for number in known]))

    def enter(self, pos: int) -> None:
        self.depth += 1
        if self.depth > DEPTH:
            self.fail(pos, f"expected functions and regions at most {DEPTH} deep")

    def argument_name(self, argument: Argument) -> str:
        """Return an argument's name: the one that JAX or its location gives it, else the one in the text."""
        told = argument.attributes.get("jax.arg_info") or argument.location
        name = re.sub("_+", "_", _ODD.sub("_", told)).strip("_") if isinstance(told, str) else ""
        return name or "arg." + argument.key[0] if argument.key[0].isdigit() else name or argument.key[0]

    def against(self, function: Function, returned: "List[Instruction]") -> None:
        """Raise HloError if the values that a function returns do not have its result types."""
        end = function.body.ops[-1]
        if len(returned) != len(function.results):
            self.fail(end.pos, f"expected {len(function.results)} values, as '@{function.name}' has results, found "
                               f"{len(returned)}")
        for use, value, of in zip(end.operands, returned, function.results):
            if not of.dynamic and not same_shape(value.shape, of):
                self.fail(use.pos, f"expected {type_text(of)}, a result of '@{function.name}', found "
                                   f"{type_text(value.shape)}")

    # ---- regions ----

    def ops(self, region: Region, scope: Scope) -> None:
        for number, op in enumerate(region.ops[:-1]):
            if op.name in RETURNS:
                self.fail(region.ops[number + 1].pos, f"expected the end of the region after '{op.name}', found "
                                                      f"'{region.ops[number + 1].name}'")
            self.bind(op, scope, self.lower(op, scope))
        if not region.ops:
            self.fail(region.pos, "expected an op that returns at the end of the region, found none")
        end = region.ops[-1]
        if end.name not in RETURNS:
            self.fail(end.pos, f"expected an op that returns at the end of the region, found '{end.name}'")

    @abstractmethod
    def lower(self, op: Op, scope: Scope) -> "Optional[Instruction]":
        """Return the value of an op: a tuple if it has several results, None if it has none."""

    def bind(self, op: Op, scope: Scope, value: "Optional[Instruction]") -> None:
        names = op.names
        for name in names:
            if name in scope.values:
                self.fail(op.line_pos, f"expected a new name, found '%{name[0]}' again")
        if value is None:
            return
        if self.open_sizes and len(op.results) == 1:
            value = self.folded(value, scope)
        if len(op.results) == 1:
            for name in names:
                scope.values[name] = value
        else:
            for number, name in enumerate(names):
                scope.values[name] = (value, number)

    def folded(self, value: Instruction, scope: Scope) -> Instruction:
        """Return a constant that replaces a value whose integers are known; else the value itself."""
        known = values_of(value) if value.opcode != "constant" else None
        return value if known is None else self.integers_of(value, known, scope)

    def returned(self, region: Region, scope: Scope) -> List[Instruction]:
        return [self.value(use, scope) for use in region.ops[-1].operands]

    def finish(self, scope: Scope, returned: "List[Instruction]", end: Op) -> None:
        """Set the computation's root to the returned value, or to a tuple of several."""
        computation = scope.computation
        computation.root = returned[0] if len(returned) == 1 else self.tuple(scope, returned, end)

    def combiner(self, op: Op, number: int, scope: Scope, name: str) -> Computation:
        """Return the computation of a region that takes scalars or arrays and reads only constants from outside."""
        region = op.regions[number]
        inner = self.inner(op, region, scope, name)
        for argument in region.arguments:
            self.parameter(inner, argument, argument.of, self.argument_name(argument))
        self.ops(region, inner)
        self.finish(inner, self.returned(region, inner), region.ops[-1])
        self.depth -= 1
        return inner.computation

    def inner(self, op: Op, region: Region, scope: Scope, name: str) -> Scope:
        self.enter(region.pos)
        line, col = self.scanner.place(region.pos)
        return Scope(self.computation_name(name), line, col, scope)

    def with_captures(self, op: Op, number: int, scope: Scope, name: str, shapes: "Sequence[Shape]",
                      captures: "Sequence[Tuple[Key, Instruction]]", closes: bool,
                      fixed: "Sequence[Optional[Instruction]]" = (),
                      results: "Optional[Sequence[Shape]]" = None) -> Computation:
        """Return the computation of a region, with a single parameter. The parameter has the region's arguments,
        followed by the values that the region reads from outside; it is a tuple if there are several.

        closes: the region returns values with the shapes of its arguments; the outside values are appended to them
        fixed: for each argument the constant that it always equals, or None
        results: the shapes of the result; None if any are allowed
        """
        region = op.regions[number]
        inner = self.inner(op, region, scope, name)
        if len(region.arguments) != len(shapes):
            self.fail(region.pos, f"{op.name}: expected {len(shapes)} arguments of the region, found {len(region.arguments)}")
        for argument, shape in zip(region.arguments, shapes):
            if not argument.of.dynamic and not same_shape(argument.of, shape):
                self.fail(argument.pos, f"{op.name}: expected {type_text(shape)} as this argument, found "
                                        f"{type_text(argument.of)}")
        keys = [*(argument.key for argument in region.arguments), *(key for key, _ in captures)]
        whole = [*shapes, *(value.shape for _, value in captures)]
        one = len(whole) == 1
        given = inner.computation.add_parameter(inner.name("arg" if one else "args"), whole[0] if one else tuple_shape(whole))
        given.line, given.col = inner.computation.line, inner.computation.col
        for place, key in enumerate(keys):
            always = fixed[place] if place < len(fixed) else None
            inner.values[key] = self._repeat(always, inner) if always else given if one else (given, place)
        self.ops(region, inner)
        returned = self.returned(region, inner)
        self.returns(op, region, returned, shapes if closes else results)
        if closes:
            returned += [self.value(Use(key, region.pos), inner) for key, _ in captures]
        self.finish(inner, returned, region.ops[-1])
        self.depth -= 1
        return inner.computation

    def returns(self, op: Op, region: Region, returned: "Sequence[Instruction]", wanted: "Optional[Sequence[Shape]]") -> None:
        """Raise HloError if the values that a region returns do not have the shapes that its op requires."""
        if wanted is None:
            return
        end = region.ops[-1]
        if len(returned) != len(wanted):
            self.fail(end.pos, f"{op.name}: expected {len(wanted)} values from this region, found {len(returned)}")
        for use, value, of in zip(end.operands, returned, wanted):
            if not of.dynamic and not same_shape(value.shape, of):
                self.fail(use.pos, f"{op.name}: expected {type_text(of)} from this region, found {type_text(value.shape)}")

    def captures(self, regions: "Sequence[Region]", scope: Scope) -> "List[Tuple[Key, Instruction]]":
        """Return the values that regions read from outside, except values of which the regions have copies."""
        keys: Dict[Key, int] = {}
        for region in regions:
            for key, pos in free_values(region).items():
                keys.setdefault(key, pos)
        found = [(key, self.value(Use(key, pos), scope)) for key, pos in keys.items()]
        return [(key, value) for key, value in found if not self.repeated(value)]

    def repeated(self, value: Instruction) -> bool:
        """Return true if each region that reads the value gets its own copy: for a constant, an iota, and a broadcast
        of a constant or iota.
        """
        while value.opcode == "broadcast":
            value = value.operands[0]
        return value.opcode in _REPEATED and not value.operands

    # ---- values ----

    def value(self, use: Use, scope: Scope) -> Instruction:
        """Return the value of an operand, as an instruction of this computation."""
        found = scope.values.get(use.key)
        if found is None:
            found = self._from_outside(use, scope)
        if isinstance(found, Instruction):
            return found
        of, number = found
        line, col = of.line, of.col
        made = Instruction(scope.name(f"{of.name}.{number}"), "get-tuple-element", of.shape.children[number], [of],
                           {"index": number}, line=line, col=col)
        scope.computation.add(made)
        if self.open_sizes:
            made = self.folded(made, scope)
        scope.values[use.key] = made
        return made

    def _from_outside(self, use: Use, scope: Scope) -> Instruction:
        outer = scope.outer
        name = f"%{use.key[0]}" + (f"#{use.key[1]}" if use.key[1] else "")
        while outer is not None and use.key not in outer.values:
            outer = outer.outer
        if outer is None:
            self.fail(use.pos, f"expected a value that is defined before, found '{name}'")
        value = self.value(use, outer)
        if not self.repeated(value):
            self.fail(use.pos, f"expected an argument of the region, or a constant: '{name}' is computed outside of it")
        made = self._repeat(value, scope)
        scope.values[use.key] = made
        return made

    def _repeat(self, value: Instruction, scope: Scope) -> Instruction:
        operands = [self._repeat(operand, scope) for operand in value.operands]
        return scope.computation.add_copy(value, operands, name=scope.name(value.name))

    # ---- instructions ----

    def parameter(self, scope: Scope, argument: Argument, shape: Shape, name: str) -> Instruction:
        made = scope.computation.add_parameter(scope.name(name), shape)
        made.line, made.col = self.scanner.place(argument.pos)
        scope.values[argument.key] = made
        return made

    def operands(self, op: Op, scope: Scope) -> List[Instruction]:
        """Return the values of an op's operands. Raise HloError if they do not have the types in the text."""
        values = [self.value(use, scope) for use in op.operands]
        for use, value, of in zip(op.operands, values, op.types):
            if value.shape is not of and not of.dynamic and not same_shape(value.shape, of):
                self.fail(op.types_pos, f"expected {type_text(value.shape)}, the type of '%{use.key[0]}', found "
                                        f"{type_text(of)}")
        return values

    def written(self, op: Op) -> Optional[Shape]:
        """Return the shape that the text gives for an op's result; None if some of its sizes are open."""
        if any(of.dynamic for of in op.results):
            return None
        return op.results[0] if len(op.results) == 1 else tuple_shape(op.results)

    def emit(self, scope: Scope, op: Op, opcode: str, operands: "Sequence[Instruction]", written: Optional[Shape] = None,
             names: "Mapping[str, str]" = NO_NAMES, called: "Sequence[Called]" = (), raw: "Optional[Dict[str, str]]" = None,
             **attributes: Any) -> Instruction:
        """Add an instruction for an op or a part of an op.

        names: HLO's name of an attribute -> its name in the text, or STRUCTURE/FIELD for a field of a structure
        """
        line, col = self.scanner.place(op.line_pos)
        made = Instruction(self.instruction_name(scope, op, opcode), opcode, written if written is not None else Shape(""),
                           list(operands), attributes, line=line, col=col, computation=scope.computation)
        uses = [use.pos for use in op.operands]
        draft = Draft(made, written, op.pos, op.types_pos or op.pos, uses + [op.pos] * (len(operands) - len(uses)),
                      {key: op.attributes.places.get(name.split("/")[0], op.pos) for key, name in names.items()}, spoken=op.name)
        for key, computations in called:
            made.called += computations
            if TABLE.get(opcode) is not None and key in TABLE[opcode].attributes:
                made.attributes[key] = computations[0]
            else:
                draft.called[key] = computations
                listed = ", ".join("%" + computation.name for computation in computations)
                raw = {**(raw or {}), key: f"{{{listed}}}" if key.endswith("s") else listed}
            for computation in computations:
                scope.computation.depth = max(scope.computation.depth, computation.depth + 1)
        if raw:
            made.attributes["raw"] = raw
        if not opcode.startswith("chlo."):
            made.shape = self.checked(draft, names)
        return scope.computation.add(made)

    def checked(self, draft: Draft, names: "Mapping[str, str]") -> Shape:
        """Return the shape that HLO's checker computes for an op. Its errors name attributes as in the text."""
        try:
            return (Check if draft.instruction.opcode in TABLE else Kept)(self.scanner, draft).result()
        except HloError as error:
            message = error.message
            for key, name in names.items():
                message = message.replace(f"'{key}'", f"'{name.split('/')[-1]}'")
            raise HloError(error.filename, error.line, error.col, message) from None

    def instruction_name(self, scope: Scope, op: Op, opcode: str) -> str:
        name = op.names[0][0] if op.names else ""
        if not name or name[0].isdigit():
            return scope.name(f"{opcode.removeprefix('chlo.')}.{name}" if name else opcode)
        return scope.name(_ODD.sub("_", name))

    def tuple(self, scope: Scope, values: "Sequence[Instruction]", op: Op) -> Instruction:
        line, col = self.scanner.place(op.line_pos)
        return scope.computation.add(Instruction(scope.name("tuple"), "tuple", tuple_shape([v.shape for v in values]),
                                                 list(values), line=line, col=col))

    def bundle(self, scope: Scope, values: "Sequence[Instruction]", op: Op) -> Instruction:
        """Return a single value as it is, and several values as a tuple."""
        return values[0] if len(values) == 1 else self.tuple(scope, values, op)

    def constant(self, scope: Scope, op: Op, of: Shape, bits: "Sequence[int]") -> Instruction:
        line, col = self.scanner.place(op.line_pos)
        return scope.computation.add(Instruction(self.instruction_name(scope, op, "constant"), "constant", of,
                                                 literal=list(bits), line=line, col=col))

    # ---- the entry ----

    def row_major_results(self, computation: Computation) -> None:
        """Make the results row-major. Results of custom calls and transposes that have another layout are copied; a
        transpose with no other use becomes row-major itself.
        """
        root = computation.root
        assert root is not None
        leaves = [root] if root.shape.kind == "array" else root.operands if root.opcode == "tuple" else []
        copies: Dict[Instruction, Instruction] = {}
        for leaf in leaves:
            if leaf.shape.kind != "array" or leaf.opcode == "parameter" or is_row_major(leaf.shape):
                continue
            if leaf.opcode == "transpose" and all(user is root for user in leaf.users):
                leaf.shape = row_major(leaf.shape)
            else:
                copies[leaf] = Instruction(f"{leaf.name}.row_major", "copy", row_major(leaf.shape), [leaf], line=leaf.line,
                                           col=leaf.col)
        if root in copies:
            computation.root = computation.add(copies[root])
            return
        if root.opcode != "tuple":
            return
        computation.instructions.remove(root)
        for made in copies.values():
            computation.add(made)
        root.operands = [copies.get(operand, operand) for operand in root.operands]
        root.shape = tuple_shape([operand.shape for operand in root.operands])
        computation.instructions.append(root)
        computation.count_users()


def shape_like(of: Shape, dtype: str) -> Shape:
    """Return a row-major shape of the same sizes with another element type."""
    return array_shape(dtype, of.dims)
