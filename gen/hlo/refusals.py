"""What is right HLO but gets no kernel, and why: `unsupported` gives the first such instruction of a module as an error at its place."""

from __future__ import annotations

import re
from typing import List, Optional, Tuple

from gen.hlo import dtypes
from gen.hlo.graph import HloError, Instruction, Module, Shape, entry_of, memory_bits, reachable, root_of, same_positions, same_shape
from gen.hlo.inliner import inlined
from gen.hlo.opcodes import CONTRACTIONS, ELEMENTWISE, TABLE
from gen.hlo.scanner import Scanner

_SCALAR_OPS = {*ELEMENTWISE, "parameter", "constant", "tuple", "get-tuple-element"}


def unsupported(module: Module) -> Optional[HloError]:
    """The first instruction that the generator makes no code for yet, as an error at its position."""
    for computation in reachable(module):
        for instruction in computation.instructions:
            message = _why_not(instruction) or _why_not_called(instruction, module.filename) or _entry_layouts(module, instruction)
            if message:
                return HloError(module.filename, instruction.line, instruction.col, message)
    return _misfits_signature(module)


def _misfits_signature(module: Module) -> Optional[HloError]:
    """A parameter or result of the entry that is not laid out as entry_computation_layout says: before XLA assigns layouts, that attribute
    alone is true. Shapes that it writes without a layout, and text of it that is no shapes, say nothing."""
    scanner, entry = Scanner(module.attributes.get("entry_computation_layout", ""), module.filename), entry_of(module)
    wanted: List[Tuple[Shape, bool]] = []
    try:
        scanner.need("{")
        scanner.need("(")
        while scanner.peek() not in ("}", ""):
            if not scanner.accept(")") and not scanner.accept("->") and not scanner.accept(","):
                start = scanner.skip()
                wanted.append((scanner.shape(), "{" in scanner.text[start:scanner.pos]))
    except HloError:
        return None
    for (shape, written), instruction in zip(wanted, [*entry.parameters, root_of(entry)] if len(wanted) == len(entry.parameters) + 1 else []):
        if written and same_shape(shape, instruction.shape) and [*map(_places, shape.leaves())] != [*map(_places, instruction.shape.leaves())]:
            return HloError(module.filename, instruction.line, instruction.col,
                            f"expected the layout of entry_computation_layout, {shape.text}, found {instruction.shape.text}")
    return None


def _places(of: Shape) -> "Tuple[Tuple[int, ...], str]":
    """What decides where an array's elements lie: the order of its dimensions but those of one element, and its tiles."""
    tiles = re.search(r":((?:T\([^()]*\)(?:\([^()]*\))*)?(?:L\([0-9]+\))?)", of.text)
    return tuple(d for d in of.minor_to_major if of.dims[d] != 1), tiles.group(1) if tiles else ""


# Why no kernel is made for an op, and what to write instead.
_NOT_OURS = {reason: frozenset(ops.split()) for reason, ops in {
    "is between devices, and a kernel runs on one: expected the module cut before and after it":
        """all-gather all-reduce all-to-all collective-broadcast collective-permute ragged-all-to-all reduce-scatter partition-id replica-id send recv
        infeed outfeed""",
    "is control flow: expected its computations as modules of their own, which the caller runs as often as is due": "while conditional",
    "calls code from elsewhere: expected ops of HLO, or the module cut before and after it": "custom-call",
    "is for a library, no loop over its result's elements: expected the module cut before and after it":
        "sort topk triangular-solve cholesky fft scan ragged-dot",
    "draws from a hidden state: expected the numbers as a parameter, or a generator written in integer ops": "rng rng-get-and-update-state",
    "leaves its algorithm to the device: expected the bits as a parameter, or a generator written in integer ops": "rng-bit-generator",
    "is several ops in one: expected its arithmetic written out": "batch-norm-training batch-norm-inference batch-norm-grad stochastic-convert",
    "only orders other ops: expected its operand in its place": "after-all add-dependency domain optimization-barrier",
    "is of sizes that are known at run time: expected fixed ones": "dynamic-reshape get-dimension-size set-dimension-size",
}.items()}


def why_not_op(opcode: str) -> str:
    base, _, half = opcode.rpartition("-")
    apart = half in ("start", "update", "done") and opcode not in TABLE
    for reason, ops in _NOT_OURS.items():
        if opcode in ops or (apart and base in ops):
            return f"'{opcode}' {reason}"
    if apart:
        return f"'{opcode}' is half of an op that runs beside others: expected {'the op that it wraps' if base == 'async' else repr(base)} itself"
    return f"the op '{opcode}' is not supported yet"


def _why_not(instruction: Instruction) -> str:
    opcode = instruction.opcode
    if opcode not in TABLE:
        return why_not_op(opcode)
    for leaf in instruction.shape.leaves():
        message = _why_not_shape(leaf)
        if message:
            return f"{message}, in {leaf.text} of '{opcode}'"
    if opcode == "constant" and instruction.literal is None:
        return "the values of this constant are left out of the text ('...'): expected a module that is printed with its large constants " \
            "(--fill-constants N takes drawn values, for tests and timing)"
    if opcode == "constant" and instruction.shape.kind != "array":
        return "expected a constant for each element of this tuple, and the op 'tuple'"
    shapes = [operand.shape for operand in instruction.operands]
    if opcode in ("bitcast", "bitcast-convert"):
        message = _why_not_widths(opcode, shapes[0], instruction.shape)
        if message:
            return message
    if opcode == "bitcast" and (shapes[0].tiled or instruction.shape.tiled) and not same_positions(instruction.shape, shapes[0]):
        return f"expected a bitcast whose elements are at the positions of its operand's: {instruction.shape.text} and {shapes[0].text} differ"
    if opcode == "reduce-precision" and dtypes.TABLE[instruction.shape.dtype].bits <= 8:
        return f"expected 'reduce-precision' of a float of 16 bits or more, found {instruction.shape.dtype}"
    if opcode in ("real", "imag") and dtypes.TABLE[shapes[0].dtype].kind != "complex":
        return f"expected '{opcode}' of a complex number, found {shapes[0].dtype}: of a real one it is {'itself' if opcode == 'real' else 'zero'}"
    of = [shape for shape in [instruction.shape, *shapes] if dtypes.is_complex(shape.dtype)]
    row = ELEMENTWISE.get(opcode)
    if of and row and "c" not in row.kernels:
        complex_ops = sorted(row.opcode for row in ELEMENTWISE.values() if "c" in row.kernels)
        return f"expected '{opcode}' of real numbers, found {of[0].dtype}: of complex ones there are {', '.join(complex_ops)}"
    if opcode == "parameter" and instruction.shape.kind == "tuple" and any(dtypes.is_complex(leaf.dtype) for leaf in instruction.shape.leaves()):
        return "expected complex numbers as parameters of their own, found them in a tuple"
    if of and opcode == "constant" and any(dtypes.is_nan(part, kind) or dtypes.is_infinite(part, kind) for kind in [dtypes.TABLE[of[0].dtype].part]
                                           for bits in instruction.literal for part in dtypes.parts(bits, of[0].dtype)):
        return f"expected finite numbers in a constant of {of[0].dtype}"
    if opcode in CONTRACTIONS:
        return _why_not_product(instruction)
    if opcode == "select-and-scatter" and instruction.attributes["window"].dilated:
        return "expected a select-and-scatter whose window is not dilated"
    if opcode == "select-and-scatter" and of:
        return f"expected '{opcode}' of real numbers, found {of[0].dtype}"
    if opcode == "scatter" and any(of.dtype != update.dtype for of, update in zip(shapes, shapes[len(shapes) // 2 + 1:])):
        return "expected a scatter's updates of its operand's type"
    if opcode == "scatter" and any(of.tiled for of in [*instruction.shape.leaves(), *shapes]):
        return "expected a scatter's arrays in layouts without tiles"
    if row and row.result == "operand" and instruction.shape.dtype == "pred" and "p" not in row.kernels:
        return f"'{opcode}' of pred has no meaning"
    return ""


def _why_not_widths(opcode: str, of: Shape, to: Shape) -> str:
    """Of a bitcast, whether it is between types of different widths in a way that there is no code for."""
    same = memory_bits(of) == memory_bits(to)
    if "pred" in (of.dtype, to.dtype) and of.dtype != to.dtype and not (same and opcode == "bitcast"):
        return f"expected a {opcode} of pred to a type of as many bits: pred has one as a type and eight in memory; convert says which is meant"
    if same:
        return ""
    if dtypes.is_complex(of.dtype) or dtypes.is_complex(to.dtype):
        return f"expected a {opcode} of {of.dtype} to a type of as many bits, found {to.text}: take its parts by real and imag"
    if opcode == "bitcast" and (of.tiled or to.tiled or of.elements * memory_bits(of) != to.elements * memory_bits(to)):
        return f"expected a bitcast between types of different widths whose elements have the same bits, without tiles: found {of.text} and {to.text}"
    return ""


def _why_not_product(instruction: Instruction) -> str:
    """What sums of products are made of: floats, integers or complex numbers, not mixed but for integers that floats multiply."""
    to, kinds = instruction.shape.dtype, [operand.shape.dtype for operand in instruction.operands]
    if dtypes.is_complex(to) or any(map(dtypes.is_complex, kinds)):
        good = set(kinds) == {to} and instruction.opcode != "scaled-dot"
    elif "pred" in (to, *kinds):
        good = set(kinds) == {to}
    else:
        good = dtypes.TABLE[to].kind == "float" or all(dtypes.TABLE[kind].kind != "float" for kind in kinds)
    complex_ones = "" if instruction.opcode == "scaled-dot" else "complex ones of one type, "
    return "" if good else (f"expected a {instruction.opcode} of numbers of one kind (floats, integers, {complex_ones}pred) that gives such, found "
                            f"{', '.join(kinds[:-1])} and {kinds[-1]} that give {to}")


def _why_not_shape(leaf: Shape) -> str:
    if leaf.kind != "array":
        return f"expected arrays, found the type '{leaf.dtype}'"
    if leaf.dtype not in dtypes.SUPPORTED:
        wider = {"f6e2m3fn": "f8e4m3fn", "f6e3m2fn": "f8e4m3fn", "s1": "s2", "u1": "u2"}[leaf.dtype]
        return f"expected a type whose elements fill bytes by a power of two, found '{leaf.dtype}': {wider} holds its values" if leaf.dtype[0] == "f" else \
            f"expected pred or integers of two bits or more, found '{leaf.dtype}': {wider} holds its values"
    if leaf.dynamic:
        return "expected fixed sizes, found a dynamic dimension"
    suffix = re.search(r":([^}]*)\}", leaf.text)
    if suffix and suffix.group(1).startswith("T") and (leaf.dtype in dtypes.PACKED or dtypes.is_complex(leaf.dtype)):
        return f"expected a layout without tiles for {leaf.dtype}"
    width = dtypes.TABLE[leaf.dtype].bits if leaf.dtype in dtypes.PACKED else 8 * dtypes.storage_bytes(leaf.dtype)
    rest = re.sub(r"S\([0-9]+\)|L\([0-9]+\)|T(\([0-9*,]+\))+" + f"|E\\({width}\\)", "", suffix.group(1)) if suffix else ""
    if rest.startswith("SC"):
        return f"expected an array in one memory, found one that '{rest}' splits over several: a kernel has one pointer to it"
    if rest.startswith("E"):
        return f"expected elements of {width} bits, as {leaf.dtype} has them in memory, found '{rest}'"
    return f"expected a layout of order, tiles, L, E and S, found '{rest}'" if rest else ""


def _why_not_called(instruction: Instruction, filename: str) -> str:
    """What an op applies to scalars (a map, a reduce, a window's, a scatter's computations) may hold scalar ops only."""
    if instruction.opcode not in ("map", "reduce", "reduce-window", "select-and-scatter", "scatter"):
        return ""
    for inner in (inner for called in instruction.called for inner in inlined(called, filename).instructions):
        if inner.opcode not in _SCALAR_OPS or any(leaf.dims for leaf in inner.shape.leaves()):
            return f"expected scalar ops in the computation of this {instruction.opcode}, found '{inner.opcode}' of {inner.shape.text}"
    return ""


def _entry_layouts(module: Module, instruction: Instruction) -> str:
    """A kernel reads its operand as the layout of its own parameter says, so both must agree where a fusion is handed buffers. A call's
    layouts bind nobody: before XLA assigns layouts, computations are printed with the default ones."""
    if not module.explicit_entry or instruction.computation is not module.entry or instruction.opcode != "fusion":
        return ""
    called = instruction.called[0]
    for number, (operand, parameter) in enumerate(zip(instruction.operands, called.parameters)):
        if operand.shape != parameter.shape:
            return f"operand {number} has the layout of {operand.shape.text}, parameter {number} of '{called.name}' that of " \
                   f"{parameter.shape.text}"
    if instruction.shape != root_of(called).shape:
        return f"the result has the layout of {instruction.shape.text}, the root of '{called.name}' that of " \
               f"{root_of(called).shape.text}"
    return ""
