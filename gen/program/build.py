"""Turn a module into a program: the calls of fusions in order, and the arrays on which they are called."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from gen import hlo
from gen.hlo import Computation, Fusion, FusionCall, Instruction, Module, Shape, Value
from gen.hlo.copy import read_from
from gen.hlo.graph import root_of
from gen.hlo.launches import has_steps
from gen.hlo.reserved import unique
from gen.plan.whole import whole_of
from gen.program.cut import Cutter
from gen.program.extract import copy_of
from gen.program.forms import form
from gen.program.ir import Array, Call, Node, Program, holds_loop
from gen.program.once import with_lasting
from gen.program.weights import Block, taken_out
from gen.schedule import SMALL_BYTES


def program(module: Module, block: "Optional[Block]" = None) -> Program:
    """Return the program of a module. block: the block of large constants if several programs share it; None for a new
    block.
    """
    whole = hlo.whole(module)
    if has_steps(whole.computation) and whole_of(whole.computation) is None:
        return _stepped(module, whole, block)
    leaves = [leaf for parameter in whole.computation.parameters for leaf in parameter.shape.leaves()]
    params = [Array(name, shape) for name, shape in zip(hlo.param_names(whole), leaves)]
    results = [Array(leaf.value.name, leaf.shape) for leaf in hlo.result_leaves(hlo.entry_of(module))]
    steps = hlo.steps(module)
    if _is_one(module, steps):
        return single(steps[0].fusion, block)
    arrays: Dict[Value, Array] = dict(zip(hlo.module_parameters(module), params))
    copies: List[Tuple[Value, Array]] = []
    for value, result in zip(hlo.module_results(module), results):
        if value in arrays or value.producer.opcode == "constant":
            copies.append((value, result))
        else:
            arrays[value] = result
    distinct = _Distinct(whole.name)
    body: List[Node] = []

    def call(of: Fusion, operands: "Sequence[Value]", given: "Sequence[Array]") -> None:
        fusion, read = distinct.fusion(of, operands)
        for value in read:
            if value is not None and value not in arrays:    # a constant that is an element of a tuple has no array yet
                constant = Array(value.producer.name, value.shape)
                write(value, constant)
                arrays[value] = constant
        body.append(Call(fusion, [arrays[value] if value else None for value in read], list(given)))

    def write(value: Value, to: Array) -> None:
        known = value in arrays
        call(copied(value.shape, f"copy_{value.producer.name}", None if known else value.producer.literal),
             [value] if known else [], [to])

    for step in steps:
        call(step.fusion, step.operands,
             [arrays.setdefault(value, Array(value.producer.name, value.shape)) for value in step.results])
    for value, result in copies:
        write(value, result)
    return _finished(Program(whole.name, params, results, body, whole, dict(whole.aliases)), block).with_symbols()


def _stepped(module: Module, whole: Fusion, block: "Optional[Block]") -> Program:
    """Return the program of a module that has loops, branches or ops on whole arrays."""
    params = [Array(name, shape) for name, shape in zip(hlo.param_names(whole), hlo.param_leaves(whole))]
    distinct = _Distinct(whole.name)
    cutter = Cutter(module.filename, distinct.named)
    body, ends = cutter.nodes(whole.computation, params, False)
    leaves = hlo.result_leaves(whole.computation)
    results = [Array(leaf.value.name, leaf.shape) for leaf in leaves]
    written = {array: node for node in body for array in node.results}
    straight = all(isinstance(node, Call) and not holds_loop(node.fusion) for node in body)
    aliases = {} if straight else whole.aliases
    copies: List[Tuple[Array, Array]] = []
    for n, (array, result) in enumerate(zip(ends, results)):
        # if an array is several results, it is stored as one of them, and the others are copies of this result
        node = written.pop(array, None)
        if n not in aliases and isinstance(node, Call) and array.shape == result.shape:
            array.name = result.name
            results[n] = array
        elif n in aliases:
            copies.append((array, result))
        else:
            copies.insert(0, (array, result))
    for source, to in [*_set_aside(copies, params, {results[n]: params[p] for n, p in aliases.items()}), *copies]:
        body.append(Call(distinct.named(copy_of(source.shape, to.shape), "copy", {}), [source], [to]))
    return _finished(Program(whole.name, params, results, body, whole, dict(whole.aliases)), block).with_symbols()


def _set_aside(copies: "List[Tuple[Array, Array]]", params: "Sequence[Array]",
               donors: "Mapping[Array, Array]") -> "List[Tuple[Array, Array]]":
    """Return additional copies of parameters, which must be made before `copies`. A parameter needs one if an entry of
    `copies` reads it after an earlier entry may have overwritten it. The entry is changed to read the additional copy.

    copies: pairs (source, result).
    donors: for each result that may be stored in a parameter's buffer, the parameter.
    """
    made: Dict[Array, Array] = {}
    for n, (source, to) in enumerate(copies):
        if to in donors and source in params and (source is not donors[to] or source.shape != to.shape):
            made.setdefault(source, Array(f"copy of {source.name}", source.shape))
            copies[n] = made[source], to
    return list(made.items())


def programs(module: Module, apart: bool) -> List[Program]:
    """Return a list that contains the program of a module or, if `apart`, one program for each fusion of the module."""
    if not apart:
        return [program(module)]
    stepped = has_steps(hlo.whole(module).computation)
    return [single(fusion) for fusion in (program(module).fusions if stepped else hlo.fusions(module))]


def single(fusion: Fusion, block: "Optional[Block]" = None) -> Program:
    """Return a program with one call of a fusion."""
    params = [Array(name, shape) for name, shape in zip(hlo.param_names(fusion), hlo.param_leaves(fusion))]
    results = [Array(leaf.value.name, leaf.shape) for leaf in hlo.result_leaves(fusion.computation)]
    return _finished(Program(fusion.name, params, results, [Call(fusion, list(params), results)], fusion), block)


def _finished(program: Program, block: "Optional[Block]" = None) -> Program:
    """Return the program with its large constants in a block, and with `Fusion.lasting` set."""
    return with_lasting(taken_out(program, block))


def _is_one(module: Module, steps: "Sequence[FusionCall]") -> bool:
    """Return true if a module is a single fusion. The fusion's operands must be the module's parameters, in order, and
    its results the module's results.
    """
    return len(steps) == 1 and (steps[0].operands, steps[0].results) == (hlo.module_parameters(module),
                                                                         hlo.module_results(module))


def copied(shape: Shape, name: str, literal: "Optional[Sequence[int]]" = None) -> Fusion:
    """Return a fusion that copies an array; if `literal` is given, one that writes this constant."""
    return Fusion(name, copy_of(shape, shape, name, literal), "")


class _Distinct:
    """The fusions of a program. If several calls compute the same function, they share one fusion."""

    def __init__(self, stem: str) -> None:
        self.stem = stem
        self.known: Dict[Any, Fusion] = {}
        self.names: "Set[str]" = set()

    def fusion(self, of: Fusion, operands: "Sequence[Value]") -> "Tuple[Fusion, List[Optional[Value]]]":
        """Move constant operands into the fusion. Return the fusion and the operands, in which each moved constant is
        replaced by None, because the fusion no longer reads the parameter.
        """
        leaves = [parameter if parameter.shape.kind == "array" else None for parameter in of.computation.parameters
                  for _ in parameter.shape.leaves()]
        inside = {leaf: value.producer for leaf, value in zip(leaves, operands)
                  if leaf is not None and value.producer.opcode == "constant"}
        made = replace(of, computation=_with_constants(of.computation, inside)) if inside else of
        key = (form(made.computation), tuple(sorted(made.aliases.items())), made.donated,
               tuple(sorted(made.same.items())))
        if key not in self.known:
            self.known[key] = replace(made, name=self._name(of))
        return self.known[key], [None if leaf in inside else value for leaf, value in zip(leaves, operands)]

    def named(self, computation: Computation, name: str, aliases: "Dict[int, int]") -> Fusion:
        """Return the fusion that computes what `computation` computes. Make a new fusion if there is none yet.

        name: the end of the name of a new fusion.
        aliases: results that may be written over an operand, each with the index of the operand.
        """
        key = (form(computation), *aliases.items())
        if key not in self.known:
            self.known[key] = Fusion(unique(hlo.c_identifier(f"{self.stem}_{name}"), self.names), computation, "", aliases,
                                     small=_bytes(computation) <= SMALL_BYTES)
        return self.known[key]

    def _name(self, of: Fusion) -> str:
        own = of.name.startswith(f"{self.stem}_")
        return unique(of.name if own else hlo.c_identifier(f"{self.stem}_{of.computation.name}"), self.names)


def _bytes(computation: Computation) -> int:
    """Return the number of bytes of a computation's parameters and results."""
    return sum(leaf.bytes for i in [*computation.parameters, root_of(computation)] for leaf in i.shape.leaves())


def _with_constants(computation: Computation, inside: "Mapping[Instruction, Instruction]") -> Computation:
    """Return a copy of a computation that reads constants instead of some of its parameters. These parameters are kept,
    but not read.
    """
    own = {parameter: replace(constant, users=[], computation=computation) for parameter, constant in inside.items()}
    with_own = replace(computation, instructions=[*own.values(), *computation.instructions])
    return read_from(with_own, own)
