"""Remove tokens. They order side effects, and kernels have none. Tuples lose their token elements, calls their token
operands, computations their token parameters. Tokens in the entry's parameters or result stay, and are refused
later.
"""

from __future__ import annotations

from typing import Dict, List, Set

from gen.hlo.graph import Computation, Instruction, Module, Shape, entry_of, root_of, tuple_shape

_CARRIERS = ("while", "conditional")    # a token as operand of these ops becomes an empty tuple
_CALLS = (*_CARRIERS, "call", "fusion")
# these ops are removed if their result is a token
_MOVES = ("after-all", "parameter", "get-tuple-element", "opt-barrier", "copy")


def without_tokens(module: Module) -> None:
    """Remove all tokens, unless a parameter or the result of the entry contains a token."""
    instructions = [i for computation in module.computations for i in computation.instructions]
    entry = entry_of(module)
    if not any(_has_token(i.shape) for i in instructions) or any(
            _has_token(i.shape) for i in (*entry.parameters, root_of(entry))):
        return
    shapes = {instruction: instruction.shape for instruction in instructions}
    carried = {called for i in instructions if i.opcode in _CARRIERS for called in i.called}
    for computation in module.computations:
        _strip(computation, shapes, computation in carried)


def _is_token(shape: Shape) -> bool:
    return shape.kind == "token" and shape.dtype == "token"


def _has_token(shape: Shape) -> bool:
    return any(_is_token(leaf) for leaf in shape.leaves())


def _stripped(shape: Shape) -> Shape:
    """Return a shape without its tokens; for a token itself, the empty tuple."""
    if _is_token(shape):
        return tuple_shape([])
    if shape.kind != "tuple" or not _has_token(shape):
        return shape
    return tuple_shape([_stripped(child) for child in shape.children if not _is_token(child)])


def _strip(computation: Computation, shapes: "Dict[Instruction, Shape]", carried: bool) -> None:
    instructions: List[Instruction] = []
    dropped: Set[Instruction] = set()

    def empty(like: Instruction) -> Instruction:
        """Return an empty tuple that replaces a token."""
        made = Instruction(f"{like.name}.nothing{len(instructions)}", "tuple", tuple_shape([]), line=like.line,
                           col=like.col, computation=computation)
        instructions.append(made)
        return made

    for instruction in computation.instructions:
        shape, opcode = instruction.shape, instruction.opcode
        if opcode == "get-tuple-element":
            before = shapes[instruction.operands[0]].children[:instruction.attributes["index"]]
            instruction.attributes["index"] -= sum(map(_is_token, before))
        token = _is_token(shape)
        if token and opcode in _MOVES and not (opcode == "parameter" and carried):
            dropped.add(instruction)
            continue
        if opcode in _CARRIERS:
            instruction.operands = [empty(instruction) if operand in dropped else operand
                                    for operand in instruction.operands]
        instruction.operands = [operand for operand in instruction.operands if operand not in dropped]
        if not token or opcode in (*_CALLS, "parameter"):
            instruction.shape = _stripped(shape)
        instructions.append(instruction)
    root = root_of(computation)
    if root in dropped:
        computation.root = empty(root)
    computation.instructions = instructions
    computation.parameters = [parameter for parameter in computation.parameters if parameter not in dropped]
    for number, parameter in enumerate(computation.parameters):
        parameter.parameter_number = number
    for instruction in instructions:
        instruction.users = [user for user in instruction.users if user not in dropped]
