"""Refuse valid HLO that has no kernel. `unsupported` returns an error at the first instruction without a kernel; its
message also names the further ones. Each refusal says why the op has no kernel, and what to write instead.
gen/errors.md has an example of each.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

from gen.hlo import distribution, dtypes
from gen.hlo.graph import (HloError, Instruction, Module, Shape, entry_of, memory_bits, reachable, root_of,
                           same_positions, same_shape)
from gen.hlo.inliner import inlined
from gen.hlo.launches import fusions
from gen.hlo.leaves import result_leaves
from gen.hlo.opcodes import CONTRACTIONS, CONTROL, ELEMENTWISE, MATRIX_OPS, TABLE, TRIDIAGONAL
from gen.hlo.scanner import Scanner

_SCALAR_OPS = {*ELEMENTWISE, "parameter", "constant", "tuple", "get-tuple-element"}


class Refusal(NamedTuple):
    """The reason why an op is refused.

    why: the text that follows the op's name, such as " is between devices" or ": expected .., found .."
    instead: a hint what to write instead
    """

    why: str
    instead: str

    def of(self, opcode: str) -> str:
        return f"'{opcode}'{self.why}; instead, {self.instead}"


CUT = "cut the module before and after it (gen/errors.md shows how in JAX)"


def unsupported(module: Module) -> Optional[HloError]:
    """Return an error at the first instruction without a kernel; None if all instructions have kernels. The message
    also names the further ops without a kernel.
    """
    for instruction in (i for computation in reachable(module) for i in computation.instructions):
        refusal = _why_not(instruction) or _why_not_called(instruction, module.filename) or _entry_layouts(module,
                                                                                                         instruction)
        if refusal:
            return HloError(module.filename, instruction.line, instruction.col,
                            refusal.of(instruction.opcode) + _further(module, instruction))
    return _misfits_signature(module)


def _further(module: Module, first: Instruction) -> str:
    """Name each further unsupported op with its first position."""
    places: "Dict[str, List[Instruction]]" = {}
    for instruction in (i for computation in reachable(module) for i in computation.instructions):
        if instruction is not first and instruction.opcode not in TABLE and instruction.opcode not in CONTROL:
            target = instruction.attributes.get("raw", {}).get("custom_call_target")
            places.setdefault(f"'{instruction.opcode}'{f' of {target}' if target else ''}", []).append(instruction)
    named = [f"{what} at {instructions[0].line}:{instructions[0].col}" + (f" ({len(instructions)} times)" if len(instructions) > 1 else "")
             for what, instructions in places.items()]
    return f"; further ops that get no kernel: {', '.join(named)}" if named else ""


def _misfits_signature(module: Module) -> Optional[HloError]:
    """Return an error if a parameter or the result of the entry has another layout than in the attribute
    entry_computation_layout. In text that XLA printed before it assigned layouts, only the attribute is right. If the
    attribute cannot be parsed, it is ignored. A shape without a layout in the attribute is ignored, too.
    """
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
    for (shape, written), instruction in zip(wanted, [*entry.parameters, root_of(entry)]
                                             if len(wanted) == len(entry.parameters) + 1 else []):
        if (written and same_shape(shape, instruction.shape)
                and [*map(_places, shape.leaves())] != [*map(_places, instruction.shape.leaves())]):
            refusal = Refusal(
                f": expected the layout of entry_computation_layout, {shape.text}, found {instruction.shape.text}",
                "write one layout in both places, as XLA does once it has assigned layouts")
            return HloError(module.filename, instruction.line, instruction.col, refusal.of(instruction.opcode))
    return None


def _places(of: Shape) -> "Tuple[Tuple[int, ...], str]":
    """Return the parts of a layout that decide element positions: the order of the dimensions without those of size 1,
    and the tiles.
    """
    tiles = re.search(r":((?:T\([^()]*\)(?:\([^()]*\))*)?(?:L\([0-9]+\))?)", of.text)
    return tuple(d for d in of.minor_to_major if of.dims[d] != 1), tiles.group(1) if tiles else ""


# the refusals of opcodes that have no row in opcodes.TABLE
_NOT_OURS = {
    Refusal(" " + why, instead): frozenset(ops.split())
    for why, instead, ops in (
        ("is between devices, and a kernel runs on one", CUT,
         "all-gather all-reduce all-to-all collective-broadcast collective-permute ragged-all-to-all reduce-scatter "
         "send recv"),
        ("is the number of one of several devices", "pass it as a parameter", "partition-id replica-id"),
        ("exchanges data with the host while the module runs", "make the data a parameter or a result of the module",
         "infeed outfeed"),
        ("is a loop in a form of its own", "write a while", "scan"),
        ("calls code from elsewhere", f"write ops of HLO, or {CUT}", "custom-call"),
        ("is a product of groups whose sizes are known at run time", "fix the sizes, and write a dot for each group",
         "ragged-dot"),
        ("draws from a hidden state", "pass the numbers as a parameter, or write a generator in integer ops",
         "rng rng-get-and-update-state"),
        ("rounds by random bits", "write out its arithmetic", "stochastic-convert"),
        ("only orders other ops", "leave it and its token out, and write what it passes on in its place",
         "after-all add-dependency domain optimization-barrier"),
        ("is of sizes that are known at run time", "fix the sizes",
         "dynamic-reshape get-dimension-size set-dimension-size"))}


def _why_no_kernel(instruction: Instruction) -> Refusal:
    """Return the refusal of an unsupported op. The refusal may depend on the op's attributes."""
    raw = instruction.attributes.get("raw", {})
    if instruction.opcode.startswith("custom-call") and "custom_call_target" in raw:
        return Refusal(f" calls {raw['custom_call_target']}, code from elsewhere", f"write ops of HLO, or {CUT}")
    return why_not_op(instruction.opcode)


def why_not_op(opcode: str) -> Refusal:
    base, _, half = opcode.rpartition("-")
    is_half = half in ("start", "update", "done") and opcode not in TABLE
    for refusal, ops in _NOT_OURS.items():
        if opcode in ops or (is_half and base in ops):
            return refusal
    if is_half:
        return Refusal(" is half of an op that runs beside others",
                       f"write {'the op that it wraps' if base == 'async' else repr(base)} itself")
    return Refusal(" is not supported yet", CUT)


def _why_not(instruction: Instruction) -> Optional[Refusal]:
    opcode, to = instruction.opcode, instruction.shape
    if opcode not in TABLE and opcode not in CONTROL:
        return _why_no_kernel(instruction)
    for leaf in to.leaves():
        refusal = _why_not_shape(leaf)
        if refusal:
            return Refusal(f"{refusal.why}, in {leaf.text}", refusal.instead)
    shapes = [operand.shape for operand in instruction.operands]
    if opcode == "constant":
        return _why_not_constant(instruction)
    wrong_bitcast = _why_not_bitcast(shapes[0], to) if opcode == "bitcast" else None
    if wrong_bitcast:
        return wrong_bitcast
    if opcode == "reduce-precision" and dtypes.TABLE[to.dtype].bits <= 8:
        return Refusal(f": expected a float of 16 bits or more, found {to.dtype}",
                       "convert to bf16 before it and back after it")
    complex_ones = [shape for shape in [to, *shapes] if dtypes.is_complex(shape.dtype)]
    row = ELEMENTWISE.get(opcode)
    if complex_ones and row and "c" not in row.kernels:
        return Refusal(
            f": expected real numbers, found {complex_ones[0].dtype}",
            f"write it with ops that take complex ones: {', '.join(sorted(row.opcode for row in ELEMENTWISE.values() if 'c' in row.kernels))}")
    if opcode in CONTRACTIONS:
        return _why_not_product(instruction)
    if opcode in MATRIX_OPS:
        return _why_not_matrices([*to.leaves(), *shapes], opcode == "lapack", opcode in TRIDIAGONAL)
    if opcode == "select-and-scatter" and instruction.attributes["window"].dilated:
        return Refusal(": expected a window that is not dilated", CUT)
    if opcode == "select-and-scatter" and complex_ones:
        return Refusal(f": expected real numbers, found {complex_ones[0].dtype}", CUT)
    if opcode in ("sort", "topk"):
        return _why_not_sorted(instruction)
    if opcode == "fft" and any(of.tiled for of in [to, *shapes]):
        return Refusal(": expected arrays in layouts without tiles",
                       "copy to a layout without tiles before it, and back after it")
    if opcode == "scatter" and any(of.dtype != update.dtype
                                   for of, update in zip(shapes, shapes[len(shapes) // 2 + 1:])):
        return Refusal(": expected updates of its operand's type", "convert the updates before it")
    if opcode == "scatter" and any(of.tiled for of in [*to.leaves(), *shapes]):
        return Refusal(": expected arrays in layouts without tiles",
                       "copy to a layout without tiles before it, and back after it")
    if row and row.result == "operand" and to.dtype == "pred" and "p" not in row.kernels:
        return Refusal(" of pred has no meaning", "convert to an integer type before it, and back after it")
    return None


def _why_not_sorted(instruction: Instruction) -> Optional[Refusal]:
    """Return the refusal of a sort or a topk, if any: elements must be at constant distances, and indices in a row must
    fit 31 bits.
    """
    of = instruction.operands[0].shape
    for leaf in [*(operand.shape for operand in instruction.operands), *instruction.shape.leaves()]:
        if leaf.tiled:
            return Refusal(f": expected arrays in layouts without tiles, found {leaf.text}",
                           "copy to a layout without tiles before it, and back after it")
    if instruction.opcode == "topk" and dtypes.is_complex(of.dtype):
        return Refusal(f": expected real numbers, found {of.dtype}", "sort by the parts of the numbers, and slice")
    size = of.dims[instruction.attributes["dimensions"][0] if instruction.opcode == "sort" else -1]
    if size >= 1 << 31:
        return Refusal(f": expected rows of at most {(1 << 31) - 1} elements, found {size}",
                       "sort parts, and merge them")
    return None


def _why_not_matrices(shapes: List[Shape], any_numbers: bool, complex_too: bool) -> Optional[Refusal]:
    """Return the refusal of an op on matrices whose element types, layouts or sizes have no kernel."""
    for of in shapes:
        if of.dtype not in ("f32", "f64", "s32", *("c64", "c128") * complex_too) and not any_numbers:
            return Refusal(f": expected f32 or f64, found {of.dtype}", "convert to f32 before it, and back after it")
        if of.tiled:
            return Refusal(": expected arrays in layouts without tiles",
                           "copy to a layout without tiles before it, and back after it")
        if not of.elements and not (any_numbers and shapes[0].elements):
            return Refusal(f": expected matrices that have elements, found {of.text}",
                           "leave it out: its matrices are empty")
    return None


def _why_not_constant(instruction: Instruction) -> Optional[Refusal]:
    to = instruction.shape
    if instruction.literal is None:
        return Refusal(
            ": the values are left out of the text ('...')",
            "print the module with its large constants (--fill-constants N takes drawn values, for tests and timing)")
    if to.kind != "array":
        return Refusal(": expected an array, found a tuple", "write a constant for each element, and the op 'tuple'")
    return None


def _why_not_bitcast(of: Shape, to: Shape) -> Optional[Refusal]:
    """Return the refusal of a bitcast that has no kernel, because of the types or the layouts."""
    same = memory_bits(of) == memory_bits(to)
    if not same and "pred" in (of.dtype, to.dtype):
        return Refusal(f": expected pred and a type of eight bits, found {of.text} and {to.text}",
                       "write bitcast-convert")
    if of.dtype != to.dtype and (dtypes.is_complex(of.dtype) or dtypes.is_complex(to.dtype)):
        return Refusal(f": expected {of.dtype} as its result's type, found {to.text}",
                       "take its parts by real and imag, or write bitcast-convert to another complex type")
    if not same and (of.tiled or to.tiled or of.elements * memory_bits(of) != to.elements * memory_bits(to)):
        return Refusal(
            f": expected types of different widths whose elements have the same bits, without tiles: found {of.text} and {to.text}",
            "copy to a layout without tiles before it, or write bitcast-convert")
    if (of.tiled or to.tiled) and not same_positions(to, of):
        return Refusal(f": expected elements at the positions of its operand's: {to.text} and {of.text} differ",
                       "write reshape or transpose, and copy for the layout")
    return None


def _why_not_product(instruction: Instruction) -> Optional[Refusal]:
    """Return the refusal of a sum of products, if any. If an operand or the result is complex or pred, all of them must
    have the same type. Floats and integers may be mixed if the result is a float.
    """
    to, kinds = instruction.shape.dtype, [operand.shape.dtype for operand in instruction.operands]
    if dtypes.is_complex(to) or any(map(dtypes.is_complex, kinds)):
        good = set(kinds) == {to} and instruction.opcode != "scaled-dot"
    elif "pred" in (to, *kinds):
        good = set(kinds) == {to}
    else:
        good = dtypes.TABLE[to].kind == "float" or all(dtypes.TABLE[kind].kind != "float" for kind in kinds)
    complex_ones = "" if instruction.opcode == "scaled-dot" else "complex ones of one type, "
    return (None if good
            else Refusal(
                f": expected numbers of one kind (floats, integers, {complex_ones}pred) for operands and result, found "
                f"{', '.join(kinds[:-1])} and {kinds[-1]} that give {to}",
                "convert the operands before it, or the result after it"))


def _why_not_shape(leaf: Shape) -> Optional[Refusal]:
    if leaf.kind != "array":
        return Refusal(f": expected arrays, found the type '{leaf.dtype}'",
                       "cut the module so that it takes and gives arrays alone")
    if leaf.dtype not in dtypes.SUPPORTED:
        wider = {"f6e2m3fn": "f8e4m3fn", "f6e3m2fn": "f8e4m3fn", "s1": "s2", "u1": "u2"}[leaf.dtype]
        wanted = ("a type of which a byte holds a whole number of elements" if leaf.dtype[0] == "f"
                  else "pred or integers of two bits or more")
        return Refusal(f": expected {wanted}, found '{leaf.dtype}'", f"write {wider}, which holds its values")
    if leaf.dynamic:
        return Refusal(": expected fixed sizes, found a dynamic dimension",
                       "write the largest size, and pass the true one as a parameter")
    suffix = re.search(r":([^}]*)\}", leaf.text)
    if suffix and suffix.group(1).startswith("T") and (leaf.dtype in dtypes.PACKED or dtypes.is_complex(leaf.dtype)):
        return Refusal(f": expected a layout without tiles for {leaf.dtype}",
                       f"leave '{suffix.group(1)}' out, or convert to another type outside")
    width = dtypes.TABLE[leaf.dtype].bits if leaf.dtype in dtypes.PACKED else 8 * dtypes.storage_bytes(leaf.dtype)
    rest = re.sub(r"S\([0-9]+\)|L\([0-9]+\)|T(\([0-9*,]+\))+" + f"|E\\({width}\\)", "",
                  suffix.group(1)) if suffix else ""
    if not rest:
        return None
    leave_out = f"leave '{rest}' out of the layout"
    if rest.startswith("SC"):
        return Refusal(
            f": expected an array in one memory, to which a kernel has one pointer, found one that '{rest}' splits over several",
            leave_out)
    if rest.startswith("E"):
        return Refusal(f": expected elements of {width} bits, as {leaf.dtype} has them in memory, found '{rest}'",
                       leave_out)
    return Refusal(f": expected a layout of order, tiles, L, E and S, found '{rest}'", leave_out)


def _why_not_called(instruction: Instruction, filename: str) -> Optional[Refusal]:
    """Return the refusal of an op whose scalar computation (of a map, a reduce, a window, a scatter) contains ops that
    are not scalar.
    """
    if instruction.opcode not in ("map", "reduce", "reduce-window", "select-and-scatter", "scatter", "sort"):
        return None
    for inner in (inner for called in instruction.called for inner in inlined(called, filename).instructions):
        if inner.opcode not in _SCALAR_OPS or any(leaf.dims for leaf in inner.shape.leaves()):
            return Refusal(f": expected scalar ops in its computation, found '{inner.opcode}' of {inner.shape.text}",
                           f"compute that before or after the {instruction.opcode}")
    return None


def _entry_layouts(module: Module, instruction: Instruction) -> Optional[Refusal]:
    """Refuse a fusion in the entry if an operand and its parameter, or the result and the root, have different layouts.
    The reason is that a kernel accesses the operand by the parameter's layout. Calls are not refused: in text that XLA
    printed before it assigned layouts, computations have default layouts.
    """
    if not module.explicit_entry or instruction.computation is not module.entry or instruction.opcode != "fusion":
        return None
    called, instead = instruction.called[0], "give both the same layout, or write a copy between them"
    for number, (operand, parameter) in enumerate(zip(instruction.operands, called.parameters)):
        if operand.shape != parameter.shape:
            return Refusal(
                f": operand {number} has the layout of {operand.shape.text}, parameter {number} of '{called.name}' that of "
                f"{parameter.shape.text}", instead)
    if instruction.shape != root_of(called).shape:
        return Refusal(
            f": the result has the layout of {instruction.shape.text}, the root of '{called.name}' that of {root_of(called).shape.text}",
            instead)
    return None


def misplaced(module: Module) -> "Optional[HloError]":
    """Return an error at the first distributed layout that is not on a fusion's result, or is on a tiled result."""
    leaves = [leaf for fusion in fusions(module) for leaf in result_leaves(fusion.computation)]
    for _, shape, instruction, _ in leaves:
        if shape.tiled and distribution.layout_of(instruction):
            return HloError(
                module.filename, instruction.line, instruction.col,
                f"expected sett_distribute on a result that is not in tiles, '{instruction.name}' is {shape.text} there; "
                "instead, copy it to a layout without tiles in the fusion")
    results = {(i.line, i.col) for _, _, i, _ in leaves}
    for instruction in (i for computation in module.computations for i in computation.instructions):
        if distribution.layout_of(instruction) and (instruction.line, instruction.col) not in results:
            return HloError(module.filename, instruction.line, instruction.col,
                            f"expected sett_distribute on a result of a fused computation, '{instruction.name}' is none; "
                            "instead, write it on the op that gives the result")
    return None
