"""Find the fusions of a module, the buffers that each fusion reads and writes, and the order of their launches."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath
from typing import Dict, List, NamedTuple, Sequence, Set, Tuple

from gen.hlo.copy import read_from
from gen.hlo.graph import (Computation, Fusion, FusionCall, HloError, Instruction, Module, Shape, Value, entry_of,
                           is_row_major, root_of, same_positions)
from gen.hlo.inliner import Inliner, inlined, launches_fusions
from gen.hlo.leaves import leaf_names
from gen.hlo.opcodes import CONTROL, is_whole
from gen.hlo.reserved import program_name, unique

STANDARD_INPUT = "<stdin>"  # file name of standard input

def _wrapped(instruction: Instruction) -> Computation:
    """Return a computation that contains only this op. Its operands become parameters; scalar constants are copied
    into it.
    """
    computation = Computation(instruction.name, line=instruction.line, col=instruction.col)
    copies: Dict[int, Instruction] = {}
    for operand in instruction.operands:
        if id(operand) in copies:
            continue
        constant = operand.opcode == "constant" and operand.shape.kind == "array" and not operand.shape.dims
        copy = computation.add_copy(operand, []) if constant else computation.add_parameter(operand.name, operand.shape)
        copy.line, copy.col = operand.line, operand.col
        copies[id(operand)] = copy
    computation.root = computation.add_copy(instruction, [copies[id(o)] for o in instruction.operands],
                                            attributes=dict(instruction.attributes), places={})
    return computation


_PASSED = frozenset("parameter constant tuple get-tuple-element opt-barrier".split())


class Launch(NamedTuple):
    """A launch of a fusion by a module's entry.

    instruction: the entry's instruction
    operands: the values of the fusion's parameters
    """

    fusion: Fusion
    instruction: Instruction
    operands: List[Instruction]


@dataclass
class Launches:
    """The fusions of a module.

    launches: in order of execution; empty if the module is a single fusion
    """

    fusions: List[Fusion]
    launches: List[Launch]
    entry: Computation  # the module's entry; calls of computations that contain fusions are inlined


def plain_stem(module: Module) -> str:
    """Return the name of a module's file, or the module's own name if its file has several modules or is standard
    input."""
    if module.several or module.filename in ("", STANDARD_INPUT):
        return module.name or "stdin"
    return PurePath(module.filename).stem


def stem(module: Module) -> str:
    """Return the prefix of the names of the files that are generated for a module: `plain_stem` as a C identifier that
    clashes with no name of C's headers."""
    return program_name(plain_stem(module))


def _plan(module: Module) -> Launches:
    if module.plan is None:
        module.plan = _make_plan(module)
        for fusion in module.plan.fusions:
            fusion.filled = module.filled
    return module.plan


def _make_plan(module: Module) -> Launches:
    entry = entry_of(module)
    stem = program_name(plain_stem(module) + ("_filled" if module.filled else ""))
    if has_steps(entry):
        return Launches([Fusion(stem, inlined(entry, module.filename), "", _module_aliases(module))], [], entry)
    if module.explicit_entry and any(launches_fusions(i) for i in entry.instructions):
        entry = Inliner(entry, module.filename, True).run()
    if not (module.explicit_entry and any(i.opcode == "fusion" for i in entry.instructions)):
        return Launches([Fusion(stem, inlined(entry, module.filename), "", _module_aliases(module))], [], entry)
    fusions: List[Fusion] = []
    launches: List[Launch] = []
    known: Dict[int, Fusion] = {}
    for instruction in entry.instructions:
        if instruction.opcode in _PASSED or _is_view(instruction):
            continue
        if instruction.opcode in ("fusion", "call") and not _laid_out_anew(instruction):
            called, operands = instruction.called[0], instruction.operands
            if id(called) not in known:
                known[id(called)] = Fusion(called.name, inlined(called, module.filename),
                                           instruction.attributes.get("kind", ""))
                fusions.append(known[id(called)])
            launches.append(Launch(known[id(called)], instruction, operands))
        else:
            computation = _wrapped(instruction)
            own = [o for o in dict.fromkeys(instruction.operands)
                   if not (o.opcode == "constant" and o.shape.kind == "array" and not o.shape.dims)]
            fusions.append(Fusion(instruction.name, inlined(computation, module.filename), ""))
            launches.append(Launch(fusions[-1], instruction, own))
    _give_names(fusions, stem)
    _share_buffers(launches)
    _give_buffers(module, entry, launches)
    return Launches(fusions, launches, entry)


def is_step(instruction: Instruction) -> bool:
    """Return true for an op that is a step of a program by itself: a loop, a branch, or an op on whole arrays."""
    return instruction.opcode in CONTROL or is_whole(instruction.opcode)


def has_steps(computation: Computation) -> bool:
    """Return true if a computation, or a computation that it calls, contains an op for which is_step is true."""
    waiting, seen = [computation], set()    # type: List[Computation], Set[int]
    while waiting:
        computation = waiting.pop()
        if id(computation) not in seen:
            seen.add(id(computation))
            if any(map(is_step, computation.instructions)):
                return True
            waiting += [called for i in computation.instructions if i.opcode in ("call", "fusion")
                        for called in i.called]
    return False


def _laid_out_anew(call: Instruction) -> bool:
    """Return true if a called computation's parameters or root have other layouts than the call's operands or result.
    """
    called = call.called[0]
    return root_of(called).shape != call.shape or any(p.shape != o.shape
                                                      for p, o in zip(called.parameters, call.operands))


_PATH = r"\{(\s*(?:[0-9]{1,9}\s*(?:,\s*[0-9]{1,9}\s*)*)?)\}"
_ALIAS = re.compile(rf"{_PATH}\s*:\s*\(\s*([0-9]{{1,9}})\s*,\s*{_PATH}\s*(?:,\s*(?:may|must)-alias\s*)?\)")
_ALIASES = re.compile(rf"\{{\s*(?:{_ALIAS.pattern}\s*(?:,\s*{_ALIAS.pattern}\s*)*)?\}}")


class Place(NamedTuple):
    """A position in a text, as in an HloError's message."""

    file: str
    line: int
    col: int


def _leaf(of: Shape, path: str) -> int:
    """Return the index, among all arrays of a shape, of the array at shape index `path` ("1,0"); -1 if there is none.
    """
    before = 0
    for word in path.split(",") if path.strip() else []:
        if of.kind != "tuple" or int(word) >= len(of.children):
            return -1
        before += sum(len(child.leaves()) for child in of.children[:int(word)])
        of = of.children[int(word)]
    return -1 if of.kind == "tuple" else before


def _pairs(text: str, result: Shape, operands: "Sequence[Shape]", key: str, place: Place) -> Dict[int, int]:
    """Parse `{ {0}: (1, {}), .. }` to a dict: index of an array of the result -> index of an array of the operands."""
    aliases: Dict[int, int] = {}
    if not _ALIASES.fullmatch(text or "{}"):
        raise HloError(*place, f"{key}: expected {{ {{RESULT}}: (OPERAND, {{INDEX}}), .. }}, found {text[:60]}")
    for to, number, of in _ALIAS.findall(text):
        leaf = _leaf(result, to)
        inner = _leaf(operands[int(number)], of) if int(number) < len(operands) else -1
        if leaf < 0 or inner < 0:
            raise HloError(
                *place, f"{key}: expected arrays of the result and of an operand, found {{{to}}}: ({number}, {{{of}}})")
        if leaf in aliases:
            raise HloError(*place, f"{key}: expected each result once, found {{{to}}} again")
        aliases[leaf] = sum(len(shape.leaves()) for shape in operands[:int(number)]) + inner
    return aliases


def _module_aliases(module: Module) -> Dict[int, int]:
    entry = entry_of(module)
    return _pairs(module.attributes.get("input_output_alias", ""), root_of(entry).shape,
                  [p.shape for p in entry.parameters], "input_output_alias",
                  Place(module.filename, *module.places.get("input_output_alias", (1, 1))))


def _share_buffers(launches: List[Launch]) -> None:
    """Find parameters of a fusion that have the same buffer in every launch. Kernels read only the first of these
    parameters; the others stay as unused parameters.
    """
    given: "Dict[Fusion, List[List[Value]]]" = {}
    for fusion, _, operands in launches:
        given.setdefault(fusion, []).append([value for operand in operands for value in _values(operand)])
    for fusion, rows in given.items():
        first: "Dict[Tuple[Value, ...], Tuple[int, Instruction]]" = {}
        others: Dict[Instruction, Instruction] = {}
        number = 0
        for parameter in fusion.computation.parameters:
            if parameter.shape.kind == "array":
                known, same = first.setdefault(tuple(row[number] for row in rows), (number, parameter))
                if same is not parameter:
                    fusion.same[number], others[parameter] = known, same
            number += len(parameter.shape.leaves())
        if others:
            fusion.computation = read_from(fusion.computation, others)


def _give_buffers(module: Module, entry: Computation, launches: List[Launch]) -> None:
    """Find the parameters whose buffers a fusion may overwrite in all of its launches. In each launch, the aliases of
    the fusion or of the module must allow it, or the buffer must be a copy that the entry makes and nothing else reads.
    """
    root = root_of(entry)
    parameters = [Value(p, leaf) for p in entry.parameters for leaf in range(len(p.shape.leaves()))]
    results = _values(root)
    given = {results[k]: parameters[n] for k, n in _module_aliases(module).items()}
    reads = Counter(value for fusion, _, operands in launches
                    for n, value in enumerate(value for operand in operands for value in _values(operand))
                    if n not in fusion.same)
    kept = set(results)
    first: Set[int] = set()
    for fusion, instruction, operands in launches:
        text = instruction.attributes.get("raw", {}).get("output_to_operand_aliasing", "")
        own = _pairs(text, instruction.shape, [o.shape for o in operands], "output_to_operand_aliasing",
                     Place(module.filename, *instruction.places.get("output_to_operand_aliasing",
                                                                    (instruction.line, instruction.col))))
        own = {k: fusion.same.get(n, n) for k, n in own.items()}
        values = [value for operand in operands for value in _values(operand)]
        alone = {value: n for n, value in enumerate(values) if n not in fusion.same and reads[value] == 1
                 and value not in kept}
        for leaf in range(len(instruction.shape.leaves())):
            value = given.get(Value(instruction, leaf))
            if value in alone:
                own[leaf] = alone[value]
        donated = frozenset(n for value, n in alone.items() if value.producer.opcode == "copy")
        if id(fusion) in first:
            own, donated = {k: n for k, n in own.items() if fusion.aliases.get(k) == n}, donated & fusion.donated
        first.add(id(fusion))
        fusion.aliases, fusion.donated = own, donated


def _give_names(fusions: List[Fusion], stem: str) -> None:
    used: Set[str] = set()
    for fusion in fusions:
        base = stem if len(fusions) == 1 else program_name(f"{stem}_{fusion.name}")
        fusion.name = unique(base, used)


def fusions(module: Module) -> List[Fusion]:
    """Return the computations that become kernels.

    - If the entry has no fusion instructions, or no computation is marked ENTRY, the only fusion is the entry, with
      calls inlined.
    - Else each computation that a fusion (or call) of the entry names is a fusion, and each other op of the entry
      becomes a fusion of its own. The ops of a called computation that contains fusions count as ops of the entry.
    """
    return _plan(module).fusions


def whole(module: Module) -> Fusion:
    """Return all of a module as one fusion: its only fusion, or the entry with all that it calls."""
    plan = _plan(module)
    if not plan.launches:
        return plan.fusions[0]
    return Fusion(stem(module) + ("_filled" if module.filled else ""), inlined(entry_of(module), module.filename), "",
                  _module_aliases(module), filled=module.filled)


def _is_view(instruction: Instruction) -> bool:
    """Return true if an op is a bitcast or reshape that moves nothing, so that its result can use the operand's buffer.
    """
    if instruction.opcode not in ("bitcast", "reshape") or instruction.shape.kind != "array":
        return False
    of = instruction.operands[0].shape
    return of.dtype == instruction.shape.dtype and same_positions(instruction.shape, of)


def resolved(instruction: Instruction, leaf: int, views: bool = False) -> Value:
    """Return the buffer of array `leaf` of an instruction's result. Follow tuples and opt-barriers to the op that
    computes the array; if `views` is true, also follow bitcasts and reshapes that move nothing.
    """
    while instruction.opcode in ("tuple", "get-tuple-element", "opt-barrier") or views and _is_view(instruction):
        if instruction.opcode not in ("tuple", "get-tuple-element"):
            instruction = instruction.operands[0]
            continue
        if instruction.opcode == "get-tuple-element":
            children = instruction.operands[0].shape.children
            leaf += sum(len(child.leaves()) for child in children[:instruction.attributes["index"]])
            instruction = instruction.operands[0]
            continue
        for operand in instruction.operands:
            size = len(operand.shape.leaves())
            if leaf < size:
                instruction = operand
                break
            leaf -= size
    return Value(instruction, leaf)


def _values(instruction: Instruction) -> List[Value]:
    return [resolved(instruction, leaf, True) for leaf in range(len(instruction.shape.leaves()))]


def steps(module: Module) -> List[FusionCall]:
    """Return the launches of a run in order. Their buffers are parameters and constants of the entry and results of
    earlier launches.
    """
    plan = _plan(module)
    if not plan.launches:
        return [FusionCall(plan.fusions[0], module_parameters(module), module_results(module))]
    return [FusionCall(fusion, [value for operand in operands for value in _values(operand)],
                 [Value(instruction, leaf) for leaf in range(len(instruction.shape.leaves()))])
            for fusion, instruction, operands in plan.launches]


def module_parameters(module: Module) -> List[Value]:
    """Return the buffers of the module's flattened parameters."""
    return [Value(p, leaf) for p in _plan(module).entry.parameters for leaf in range(len(p.shape.leaves()))]


def parameter_names(module: Module) -> List[str]:
    """Return a name for each buffer of module_parameters, by the parameter's number: p0; for a tuple p0_0, p0_1."""
    return [name for n, p in enumerate(_plan(module).entry.parameters) for name in leaf_names(f"p{n}", p.shape)]


NOTED = 10  # maximum number of buffers that layout_note names


def layout_note(module: Module) -> str:
    """Return a note that names the parameters and results that are not row-major; "" if all are."""
    buffers = [*((f"parameter {n}", value) for n, value in enumerate(module_parameters(module))),
               *((f"result {n}", value) for n, value in enumerate(module_results(module)))]
    others = [f"{name} {value.shape.text}" for name, value in buffers if not is_row_major(value.shape)]
    more = f" and {len(others) - NOTED} more" if len(others) > NOTED else ""
    return f"not row-major: {', '.join(others[:NOTED])}{more}" if others else ""


def module_results(module: Module) -> List[Value]:
    """Return the buffers of the module's flattened result. If the module is one fusion, these are the arrays of the
    entry's root.
    """
    root = root_of(_plan(module).entry)
    if not _plan(module).launches:
        return [Value(root, leaf) for leaf in range(len(root.shape.leaves()))]
    return _values(root)
