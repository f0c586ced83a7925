"""The parser of HLO text. It checks each instruction as soon as it is parsed. It recurses only into inline operands
and inline computations, and both have a depth limit.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from gen import algebra
from gen.hlo import distribution, dtypes
from gen.hlo.checker import Check, Draft
from gen.hlo.graph import Computation, HloError, Instruction, Labels, Module, Shape, Window, same_shape
from gen.hlo.kept import Kept
from gen.hlo.literals import Literal
from gen.hlo.opcodes import CALLING, COMMON, OPCODES, TABLE, is_opcode
from gen.hlo.scanner import NAME, WORD, Scanner
from gen.suggest import did_you_mean

OPERAND_DEPTH = 64  # maximum depth of inline operands
BODY_DEPTH = 32  # maximum depth of inline computations
CALL_DEPTH = 128  # maximum depth of nested calls

_ATTRIBUTE = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
# headings of the source tables, which are numbered lines between the module's header and its computations
_SOURCES = re.compile(
    r"(?:FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*\r?\n(?:[ \t]*[0-9]+[ \t][^\n]*(?:\n|$))*(?!\s*[({])")
# the start of a module, in a file with several modules
MODULE = re.compile(r"HloModule\s+%?([A-Za-z0-9_.\-]+)")
# the start of a jaxpr, which JAX prints by default
_JAXPR = re.compile(r"\s*(\{ lambda\b)")
_SLICE = re.compile(r"\[\s*(-?[0-9]+)\s*:\s*(-?[0-9]+)\s*(?::\s*(-?[0-9]+)\s*)?\]")
_PADDING = re.compile(r"(-?[0-9]+)_(-?[0-9]+)(?:_(-?[0-9]+))?\Z")
_WHOLE = re.compile(r"-?[0-9]+\Z")
_WINDOW = re.compile(r"(size|stride|pad|lhs_dilate|rhs_dilate|rhs_reversal)=([0-9_x\-]*)")
_LABELS = re.compile(r"([0-9bf?]+)_([0-9io?]+)->([0-9bf?]+)(?![A-Za-z0-9_?])")
_DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")
_COMPARE_TYPES = ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")


class Signature(NamedTuple):
    """A computation's signature, which precedes its body: the position and shape of each parameter and of the result.
    """

    parameters: List[Tuple[int, Shape]]
    result_pos: int
    result: Shape


class Parser:
    """Parses one text; `scanner` holds the current position."""

    def __init__(self, text: str, filename: str) -> None:
        self.scanner = Scanner(text, filename)
        self.literal = Literal(self.scanner)
        self.module = Module("", filename=filename)
        self.computations: Dict[str, Computation] = {}
        self.names: Dict[str, Instruction] = {}
        self.computation = Computation("")
        self._spoken = set(WORD.findall(text)) if ".inline." in text else set()
        self._count = 0  # number of names generated for inline computations and operands
        self._bodies = 0  # depth of the current inline computation
        self.numbers: Set[int] = set()  # numbers of the current computation's parameters

    # ---- module ----

    def parse(self) -> Module:
        scanner = self.scanner
        if start := _JAXPR.match(scanner.text):
            scanner.fail(start.start(1), "expected HLO text, found a jaxpr: JAX prints StableHLO text by .lower(..).as_text()")
        if scanner.keyword("HloModule"):
            self._header()
            scanner.skip()
            while start := _SOURCES.match(scanner.text, scanner.pos):
                scanner.pos = start.end()
                scanner.skip()
        while scanner.peek() and not MODULE.match(scanner.text, scanner.skip()):
            self._computation()
        if not self.module.computations:
            scanner.expected("a computation: NAME { instructions }")
        if self.module.entry is None:
            self.module.entry = self.module.computations[-1]
        return self.module

    def _header(self) -> None:
        scanner = self.scanner
        self.module.line, self.module.col = scanner.place(scanner.skip())
        self.module.name = scanner.name("the module's name")
        scanner.accept(":")
        while scanner.accept(","):
            pos = scanner.skip()
            key = scanner.match(_ATTRIBUTE, "an attribute of the module").group()
            scanner.need("=", f"after the attribute '{key}'")
            if key in self.module.attributes:
                scanner.fail(pos, f"expected each attribute once, found '{key}' again")
            self.module.places[key] = scanner.place(scanner.skip())
            self.module.attributes[key] = scanner.raw(f"a value of '{key}'")

    def _computation(self) -> None:
        scanner = self.scanner
        entry = scanner.keyword("ENTRY")
        pos = scanner.skip()
        name = scanner.name("a computation: [ENTRY] NAME { instructions }")
        if name in self.computations:
            scanner.fail(
                pos, f"expected a new name, found '{name}', the computation of line {self.computations[name].line}")
        if entry and self.module.explicit_entry:
            scanner.fail(pos, "expected one ENTRY in a module, found a second")
        line, col = scanner.place(pos)
        self.computation = Computation(name, line=line, col=col)
        self.names, self.numbers = {}, set()
        signature = self._signature()
        self._body(pos)
        self._parameters(pos)
        if signature:
            self._check_signature(signature)
        if scanner.peek() == ",":
            self._computation_attributes()
        self.computations[name] = self.computation
        self.module.computations.append(self.computation)
        if entry:
            self.module.entry, self.module.explicit_entry = self.computation, True

    def _computation_attributes(self) -> None:
        scanner = self.scanner
        while scanner.accept(","):
            key = scanner.match(_ATTRIBUTE, "an attribute of the computation").group()
            scanner.need("=", f"after the attribute '{key}'")
            self.computation.attributes[key] = scanner.raw(f"a value of '{key}'")

    def _signature(self) -> "Optional[Signature]":
        """Parse the signature `(a: shape, ..) -> shape` that precedes a body."""
        scanner = self.scanner
        if not scanner.accept("("):
            return None
        parameters: List[Tuple[int, Shape]] = []
        while scanner.peek() != ")":
            if parameters:
                scanner.need(",", "or ')' in the computation's parameters")
            scanner.name("a parameter's name")
            scanner.need(":", "after the parameter's name")
            parameters.append((scanner.skip(), scanner.shape()))
        scanner.need(")")
        scanner.need("->", "and the computation's result shape")
        return Signature(parameters, scanner.skip(), scanner.shape())

    def _check_signature(self, signature: Signature) -> None:
        have, parameters = self.computation.parameters, signature.parameters
        assert self.computation.root is not None
        for number, (place, wanted) in enumerate(parameters):
            if number >= len(have):
                self.scanner.fail(place, f"parameter {number} is not in the body of '{self.computation.name}'")
            if not same_shape(wanted, have[number].shape):
                self.scanner.fail(place,
                                  f"expected {have[number].shape.text}, the shape of parameter {number} in the body, "
                                  f"found {wanted.text}")
        if len(have) > len(parameters):
            self.scanner.fail(signature.result_pos,
                              f"expected {len(have)} parameters before '->' as in the body, found {len(parameters)}")
        if not same_shape(signature.result, self.computation.root.shape):
            self.scanner.fail(signature.result_pos, f"expected {self.computation.root.shape.text}, the shape of the "
                              f"root '{self.computation.root.name}', found {signature.result.text}")

    def _body(self, start: int) -> None:
        scanner, computation = self.scanner, self.computation
        scanner.need("{", f"to open the body of '{computation.name}'")
        while not scanner.accept("}"):
            if not scanner.peek():
                scanner.expected(f"an instruction or '}}' to close the body of '{computation.name}'")
            root = scanner.keyword("ROOT")
            pos = scanner.skip()
            instruction = self._instruction(pos)
            if root and computation.root is not None:
                scanner.fail(
                    pos, f"expected one ROOT in '{computation.name}', found a second after '{computation.root.name}'")
            if root:
                computation.root = instruction
        if not computation.instructions:
            scanner.fail(scanner.pos - 1, f"expected at least one instruction in '{computation.name}', found '}}'")
        if computation.root is None:
            computation.root = computation.instructions[-1]

    def _parameters(self, pos: int) -> None:
        """Order the parameters by their numbers, which must be 0 to n-1."""
        numbered: Dict[int, Instruction] = {}
        for instruction in self.computation.instructions:
            if instruction.parameter_number is not None:
                numbered[instruction.parameter_number] = instruction
        for number in range(len(numbered)):
            if number not in numbered:
                highest = numbered[max(numbered)]
                raise HloError(self.scanner.filename, highest.line, highest.col,
                               f"expected parameters 0, 1, .. without a gap in '{self.computation.name}', "
                               f"found {highest.parameter_number} but no {number}")
        self.computation.parameters = [numbered[number] for number in range(len(numbered))]

    # ---- instructions ----

    def _instruction(self, pos: int) -> Instruction:
        scanner = self.scanner
        name = scanner.name("an instruction: [ROOT] NAME = SHAPE OPCODE(operands), attributes")
        if name in self.names:
            scanner.fail(pos, f"expected a new name in '{self.computation.name}', found '{name}', the instruction of "
                              f"line {self.names[name].line}")
        scanner.need("=", f"after the instruction's name '{name}'")
        shape_pos = scanner.skip()
        written = scanner.shape() if scanner.at_shape() else None
        op_pos = scanner.skip()
        opcode = self._opcode(written)
        draft = self._draft(name, pos, opcode, written, op_pos, shape_pos)
        self._operation(draft, 0)
        self._attributes(draft)
        return self._finish(draft)

    def _draft(self, name: str, pos: int, opcode: str, written: Optional[Shape], op_pos: int, shape_pos: int) -> Draft:
        line, col = self.scanner.place(pos)
        nothing = written if written is not None else Shape("")
        instruction = Instruction(name, opcode, nothing, line=line, col=col, computation=self.computation)
        return Draft(instruction, written, op_pos, shape_pos)

    def _opcode(self, written: Optional[Shape]) -> str:
        scanner = self.scanner
        pos = scanner.skip()
        match = WORD.match(scanner.text, pos)
        if match is None:
            scanner.expected("an opcode" if written is not None else "a shape and an opcode")
        word = match.group()
        if not is_opcode(word):
            if written is None and word in dtypes.TABLE:
                scanner.fail(match.end(), f"expected '[' after the type '{word}', found {scanner.words_at(match.end())}")
            scanner.fail(pos, f"expected an opcode of HLO, found '{word[:60]}'{did_you_mean(word[:60], OPCODES)}")
        scanner.pos = match.end()
        return word

    def _operation(self, draft: Draft, depth: int) -> None:
        """Read `(operands)`: a number, a literal or instructions, depending on the opcode."""
        scanner, instruction = self.scanner, draft.instruction
        scanner.need("(", f"and the operands of '{instruction.opcode}'")
        if instruction.opcode == "parameter":
            self._parameter(draft)
        elif instruction.opcode == "constant":
            self._constant(draft)
        elif scanner.peek() != ")":
            self._operand(draft, depth)
            while scanner.accept(","):
                self._operand(draft, depth)
        scanner.need(")", f"after the operands of '{instruction.opcode}'")

    def _parameter(self, draft: Draft) -> None:
        pos = self.scanner.skip()
        number = self.scanner.integer("the parameter's number")
        if number < 0 or number in self.numbers:
            self.scanner.fail(pos, f"expected a number that no other parameter of '{self.computation.name}' has, "
                                   f"from 0, found {number}")
        draft.instruction.parameter_number = number
        self.numbers.add(number)

    def _constant(self, draft: Draft) -> None:
        scanner = self.scanner
        if draft.written is None:
            scanner.fail(draft.op_pos, "expected a shape before 'constant'")
        pos = scanner.skip()
        if scanner.accept("{"):
            if scanner.accept("..."):
                scanner.need("}", "after '...'")
                return
            scanner.pos = pos
        draft.instruction.literal = self.literal.read(draft.written)

    def _operand(self, draft: Draft, depth: int) -> None:
        """Read `[shape] [%]name`, or an inline `[shape] opcode(operands)` without attributes."""
        scanner = self.scanner
        shape_pos = scanner.skip()
        written = scanner.shape() if scanner.at_shape() else None
        pos = scanner.skip()
        name = scanner.match(NAME, f"an operand of '{draft.instruction.opcode}'")
        word = name.group()
        if not word.startswith("%") and scanner.peek() == "(":
            operand = self._inline(word, written, pos, shape_pos, depth + 1)
        else:
            operand = self._lookup(word.lstrip("%"), pos)
            if written is not None and not same_shape(written, operand.shape):
                scanner.fail(
                    shape_pos, f"expected {operand.shape.text}, the shape of '{operand.name}', found {written.text}")
        draft.operand_pos.append(shape_pos)
        draft.instruction.operands.append(operand)

    def _inline(self, word: str, written: Optional[Shape], pos: int, shape_pos: int, depth: int) -> Instruction:
        scanner = self.scanner
        if depth > OPERAND_DEPTH:
            scanner.fail(pos, f"expected operands nested at most {OPERAND_DEPTH} deep")
        scanner.pos = pos
        opcode = self._opcode(written)
        draft = self._draft(self._unused(opcode, self.names), pos, opcode, written, pos, shape_pos)
        self._operation(draft, depth)
        return self._finish(draft)

    def _unused(self, wanted: str, used: "Dict[str, Any]") -> str:
        """Return a generated name for a computation or operand without a name; it occurs nowhere in the text."""
        while True:
            self._count += 1
            name = f"{wanted}.inline.{self._count}"
            if name not in used and name not in self._spoken:
                return name

    def _lookup(self, name: str, pos: int) -> Instruction:
        operand = self.names.get(name)
        if operand is None:
            definition = re.compile(r"[\s%}]" + re.escape(name) + r"\s*=").search(self.scanner.text, self.scanner.pos)
            own = re.compile(r"[\s%]" + re.escape(name) + r"\s*=[^=]*\Z").search(
                self.scanner.text[max(0, pos - 4000) : pos])
            end = self.scanner.text.find("\n}", pos)
            if own or (definition and (end < 0 or definition.start() < end)):
                self.scanner.fail(pos, f"expected an operand that is defined before its use: '{name}' is not (a cycle)")
            self.scanner.fail(pos, f"expected the name of an instruction defined before, found '{name}'")
        return operand

    def _anonymous(self, instruction: Instruction, key: str) -> Computation:
        """Parse an inline computation, `to_apply={ .. }`. It gets a generated name and precedes the computation that
        contains it.
        """
        scanner, pos = self.scanner, self.scanner.skip()
        outer = self.computation, self.names, self.numbers
        self._bodies += 1
        if self._bodies > BODY_DEPTH:
            scanner.fail(pos, f"expected computations nested at most {BODY_DEPTH} deep")
        line, col = scanner.place(pos)
        self.computation = Computation(self._unused(f"{instruction.name}.{key}", self.computations), line=line, col=col)
        self.names, self.numbers = {}, set()
        self._body(pos)
        self._parameters(pos)
        computation = self.computation
        self.computations[computation.name] = computation
        self.module.computations.append(computation)
        self.computation, self.names, self.numbers = outer
        self._bodies -= 1
        return computation

    def _called(self, instruction: Instruction, key: str) -> Computation:
        scanner = self.scanner
        pos = scanner.skip()
        if scanner.peek() == "{":
            return self._deepen(self._anonymous(instruction, key), pos)
        name = scanner.name(f"the computation of '{key}'")
        computation = self.computations.get(name)
        if computation is None:
            if name == self.computation.name:
                scanner.fail(pos, f"expected a computation defined before: '{name}' would call itself (a cycle)")
            scanner.fail(pos, self._no_computation(name))
        return self._deepen(computation, pos)

    def _no_computation(self, name: str) -> str:
        definition = re.compile(r"(?:^|[\s}])%?" + re.escape(name) + r"\s*[({]").search(self.scanner.text, self.scanner.pos)
        if definition:
            return f"expected a computation defined before its use: '{name}' comes later (line {self.scanner.place(definition.end())[0]})"
        return f"expected the name of a computation defined before, found '{name}'"

    def _deepen(self, computation: Computation, pos: int) -> Computation:
        self.computation.depth = max(self.computation.depth, computation.depth + 1)
        if self.computation.depth > CALL_DEPTH:
            self.scanner.fail(pos, f"expected computations that call one another at most {CALL_DEPTH} deep")
        return computation

    # ---- attributes ----

    def _attributes(self, draft: Draft) -> None:
        scanner, instruction = self.scanner, draft.instruction
        row = TABLE.get(instruction.opcode) or TABLE.get(instruction.opcode.removesuffix("-start"))
        typed = row.attributes if row else {}
        raw: Dict[str, str] = {}
        while scanner.accept(","):
            pos = scanner.skip()
            key = scanner.match(_ATTRIBUTE, f"an attribute of '{instruction.opcode}'").group()
            if key in draft.attribute_pos:
                scanner.fail(pos, f"expected each attribute once, found '{key}' again")
            draft.attribute_pos[key] = pos
            scanner.need("=", f"after the attribute '{key}'")
            if key in typed:
                getattr(self, f"_read_{typed[key]}")(instruction, key)
            elif (row and key not in COMMON
                  and not (instruction.opcode in ("fusion", "call", "parameter") or key.startswith(("_", "xla")))):
                names = ", ".join(sorted(typed)) or "none of its own"
                scanner.fail(
                    pos,
                    f"expected an attribute of '{instruction.opcode}' ({names}), found '{key}'{did_you_mean(key, typed)}")
            else:
                self._raw_attribute(draft, key, raw)
                if key == "frontend_attributes" and "sett_distribute" in raw[key]:
                    layout = distribution.ATTRIBUTE.search(scanner.text, pos, scanner.pos)
                    draft.distribute_pos = (
                        layout.start(1) if layout
                        else scanner.fail(pos, 'expected sett_distribute="LAYOUT" or "INTRINSIC.OPERAND"'))
        if raw:
            instruction.attributes["raw"] = raw

    def _raw_attribute(self, draft: Draft, key: str, raw: Dict[str, str]) -> None:
        instruction = draft.instruction
        start = self.scanner.skip()
        if key == "output_to_operand_aliasing":
            instruction.places[key] = self.scanner.place(start)
        raw[key] = self.scanner.raw(f"a value of '{key}'")
        if key not in CALLING:
            return
        if re.match(r"\{\s*(?:ROOT\s+)?%?[A-Za-z0-9_.\-]+\s*=", raw[key]):
            self.scanner.pos = start
            computation = self._anonymous(instruction, key)
            raw[key] = "%" + computation.name
            draft.called[key] = [self._deepen(computation, start)]
            instruction.called += draft.called[key]
            return
        draft.called[key] = []
        for name in re.finditer(r"%?([A-Za-z0-9_.\-]+)", raw[key]):
            if name.group(1) in self.computations:
                draft.called[key].append(self._deepen(self.computations[name.group(1)], start))
            else:
                self.scanner.fail(start + name.start(), self._no_computation(name.group(1)))
        instruction.called += draft.called[key]

    def _read_integer(self, instruction: Instruction, key: str) -> None:
        instruction.attributes[key] = self.scanner.integer(f"the integer of '{key}'")

    def _read_integers(self, instruction: Instruction, key: str) -> None:
        """Read `{0,2,1}`."""
        scanner = self.scanner
        numbers: List[int] = []
        scanner.need("{", f"to open '{key}'")
        while scanner.peek() != "}":
            if numbers:
                scanner.need(",", f"or '}}' in '{key}'")
            numbers.append(scanner.integer(f"an integer of '{key}'"))
        scanner.need("}")
        instruction.attributes[key] = tuple(numbers)

    def _read_slices(self, instruction: Instruction, key: str) -> None:
        """Read `{[start:limit:stride], ..}`; the default stride is 1."""
        scanner = self.scanner
        slices: List[Tuple[int, ...]] = []
        scanner.need("{", f"to open '{key}'")
        while scanner.peek() != "}":
            if slices:
                scanner.need(",", f"or '}}' in '{key}'")
            pos = scanner.skip()
            part = scanner.match(_SLICE, "[START:LIMIT] or [START:LIMIT:STRIDE]")
            slices.append(tuple(scanner.small(text or "1", pos) for text in part.groups()))
        scanner.need("}")
        instruction.attributes[key] = tuple(slices)

    def _read_padding(self, instruction: Instruction, key: str) -> None:
        """Read `low_high_interior` for each dimension, joined by `x`; empty for a scalar."""
        pos = self.scanner.skip()
        text = self.scanner.raw(f"the value of '{key}'", empty=True)
        padding = []
        for part in text.split("x") if text else []:
            numbers = _PADDING.match(part)
            if numbers is None:
                self.scanner.fail(pos, f"expected LOW_HIGH or LOW_HIGH_INTERIOR for each dimension, joined by x, "
                                       f"found '{text[:60]}'")
            padding.append(tuple(self.scanner.small(number or "0", pos) for number in numbers.groups()))
        instruction.attributes[key] = tuple(padding)

    def _read_window(self, instruction: Instruction, key: str) -> None:
        """Parse `{size=3x5 stride=1x2 pad=0_0x1_-1 lhs_dilate=2x1 rhs_dilate=1x1 rhs_reversal=0x1}`; only `size` is
        required.
        """
        scanner, places = self.scanner, {}
        numbers: Dict[str, Tuple[Any, ...]] = {}
        scanner.need("{", f"to open '{key}'")
        while scanner.peek() != "}":
            pos = scanner.skip()
            name, text = scanner.match(
                _WINDOW,
                "size=, stride=, pad=, lhs_dilate=, rhs_dilate= or rhs_reversal= with numbers joined by x").groups()
            if name in numbers:
                scanner.fail(pos, f"expected '{name}' once in '{key}'")
            pattern, form = (_PADDING, "LOW_HIGH") if name == "pad" else (_WHOLE, "a number")
            parts = [pattern.match(part) for part in text.split("x")]
            if None in parts or (name == "pad" and any(part and part[3] for part in parts)):
                scanner.fail(pos, f"expected {form} for each dimension of '{name}', joined by x, found '{text[:60]}'")
            places[name] = pos
            numbers[name] = tuple(((scanner.small(part[1], pos), scanner.small(part[2], pos)) if name == "pad"
                                   else scanner.small(part[0], pos))
                                  for part in parts if part)
        scanner.need("}")
        size = numbers.get("size", ())
        for name, values in numbers.items():
            if len(values) != len(size):
                scanner.fail(
                    places[name], f"expected {len(size)} numbers in '{name}', as 'size' has, found {len(values)}")
        low, high = zip(*numbers["pad"]) if "pad" in numbers else ((0,) * len(size),) * 2
        ones = (1,) * len(size)
        window = Window(size, numbers.get("stride", ones), low, high, numbers.get("lhs_dilate", ones),
                        numbers.get("rhs_dilate", ones), numbers.get("rhs_reversal", (0,) * len(size)))
        for name, values, least in (("size", size, 1), ("stride", window.stride, 1),
                                    ("lhs_dilate", window.base_dilation, 1), ("rhs_dilate", window.dilation, 1),
                                    ("rhs_reversal", window.reversal, 0)):
            if any(value < least for value in values) or (
                    name == "rhs_reversal" and any(value > 1 for value in values)):
                scanner.fail(
                    places[name],
                    f"expected {'0 or 1' if name == 'rhs_reversal' else f'at least {least}'} in each dimension of '{name}'")
        instruction.attributes[key] = window

    def _read_labels(self, instruction: Instruction, key: str) -> None:
        """Parse `b01f_01io->b01f`: the dimension labels of the input, the kernel and the result of a convolution (b:
        batch, f: feature, i and o: input and output feature, digits: spatial dimensions).
        """
        pos = self.scanner.skip()
        parts = self.scanner.match(_LABELS, "dim_labels like b01f_01io->b01f").groups()
        numbers = []
        for part, letters in zip(parts, ("bf", "io", "bf")):
            labels = [*letters, *(str(k) for k in range(len(part) - 2))]
            if sorted(part) != sorted(labels) or len(part) != len(parts[0]):
                self.scanner.fail(
                    pos,
                    f"expected '{letters[0]}', '{letters[1]}' and the numbers of the spatial dimensions once in each part, found '{part}'")
            numbers.append(tuple(part.index(label) for label in labels))
        instruction.attributes[key] = Labels("_".join(parts[:2]) + "->" + parts[2], *numbers)

    def _word_of(self, instruction: Instruction, key: str, words: "Sequence[str]") -> None:
        pos = self.scanner.skip()
        word = self.scanner.match(WORD, f"one of {', '.join(words)}").group()
        if word not in words:
            self.scanner.fail(pos, f"expected one of {', '.join(words)}, found '{word}'")
        instruction.attributes[key] = word

    def _read_direction(self, instruction: Instruction, key: str) -> None:
        self._word_of(instruction, key, _DIRECTIONS)

    def _read_boolean(self, instruction: Instruction, key: str) -> None:
        self._word_of(instruction, key, ("true", "false"))
        instruction.attributes[key] = instruction.attributes[key] == "true"

    def _read_transpose(self, instruction: Instruction, key: str) -> None:
        self._word_of(instruction, key, ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"))

    def _read_compare_type(self, instruction: Instruction, key: str) -> None:
        self._word_of(instruction, key, _COMPARE_TYPES)

    def _read_generator(self, instruction: Instruction, key: str) -> None:
        self._word_of(instruction, key, ("rng_default", "rng_three_fry", "rng_philox"))

    def _read_transform(self, instruction: Instruction, key: str) -> None:
        self._word_of(instruction, key, ("FFT", "IFFT", "RFFT", "IRFFT"))

    def _read_number(self, instruction: Instruction, key: str) -> None:
        pos = self.scanner.skip()
        text = self.scanner.raw(f"the number of '{key}'")
        try:
            instruction.attributes[key] = float(text)
        except ValueError:
            self.scanner.fail(pos, f"expected a number as '{key}', found '{text[:60]}'")

    def _read_kind(self, instruction: Instruction, key: str) -> None:
        self._word_of(instruction, key, ("kLoop", "kInput", "kOutput", "kCustom"))

    def _read_computation(self, instruction: Instruction, key: str) -> None:
        computation = self._called(instruction, key)
        instruction.attributes[key] = computation
        instruction.called.append(computation)

    def _check_distribution(self, instruction: Instruction, pos: int) -> None:
        try:
            layout = distribution.layout_of(instruction)
        except algebra.AlgebraError as error:
            self.scanner.fail(pos + (error.column or 1) - 1, error.message)
        if instruction.shape.kind != "array" or instruction.shape.tiled:
            self.scanner.fail(
                pos, f"expected sett_distribute on an array that is not in tiles, found {instruction.shape.text}")
        if instruction.shape.dtype in dtypes.PACKED:
            self.scanner.fail(
                pos, f"expected sett_distribute on elements of whole bytes, found {instruction.shape.text}")
        if instruction.opcode == "scatter":
            self.scanner.fail(
                pos,
                "expected sett_distribute on an op that computes its elements one by one: a scatter's updates go where indices say")
        message = distribution.misfit(layout, instruction.shape.dims)
        if message:
            self.scanner.fail(pos, message)

    # ---- finished instructions ----

    def _finish(self, draft: Draft) -> Instruction:
        instruction = draft.instruction
        check = Check if instruction.opcode in TABLE else Kept
        instruction.shape = check(self.scanner, draft).result()
        if instruction.opcode not in TABLE:
            self._check_started(draft)
        if draft.distribute_pos is not None:
            self._check_distribution(instruction, draft.distribute_pos)
        self.names[instruction.name] = instruction
        return self.computation.add(instruction)

    def _check_started(self, draft: Draft) -> None:
        """Check that the shape of an asynchronous start op such as `slice-start` is a tuple of its operands' and its
        result's shapes.
        """
        base, _, half = draft.instruction.opcode.rpartition("-")
        of = draft.instruction.shape
        if half != "start" or base not in TABLE or base == "copy" or of.kind != "tuple" or len(of.children) < 2:
            return
        started = replace(draft.instruction, opcode=base)
        Check(self.scanner, replace(draft, instruction=started, written=of.children[1])).result()


def read(path: str, filename: Optional[str] = None) -> Module:
    """Parse the module in a file. Invalid UTF-8 is reported like any unexpected character. Raise OSError if the file
    cannot be read.
    """
    text = Path(path).read_bytes().decode("utf-8-sig", "replace")
    return parse(text, path if filename is None else filename)


def parse(text: str, filename: str) -> Module:
    """Parse and check a module; raise HloError at the first fault."""
    module, *others = modules(text, filename)
    if others:
        raise HloError(filename, others[0].line, others[0].col,
                       f"expected one module, found a second; instead, name one: {filename}#{others[0].name}")
    return module


def modules(text: str, filename: str) -> List[Module]:
    """Read and check the modules of a text, one after another."""
    parsers = [Parser(text, filename)]
    read_ones = [parsers[0].parse()]
    while parsers[-1].scanner.peek():
        parsers.append(Parser(text, filename))
        parsers[-1].scanner.pos = parsers[-2].scanner.pos
        read_ones.append(parsers[-1].parse())
    named: Dict[str, Module] = {}
    for module in read_ones:
        module.several = len(read_ones) > 1
        if module.several and named.setdefault(module.name, module) is not module:
            raise HloError(
                filename, module.line, module.col, "expected modules of different names in one file, found "
                f"'{module.name}', the module of line {named[module.name].line}")
    return read_ones


def module_names(text: str) -> List[str]:
    """Return the names of the modules that start in the given lines."""
    return [match.group(1) for match in re.finditer(rf"^{MODULE.pattern}", text, re.M)]
