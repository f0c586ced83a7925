"""Remove ops that compute nothing on one device: annotations, barriers, the start and done ops of asynchronous ops,
and collectives whose groups have a single member. Ops that exchange data between several devices stay and are
refused later.
"""

from __future__ import annotations

import re
from typing import List, Optional

from gen.hlo.expansion import Expander, Rule
from gen.hlo.graph import Instruction, Module, Shape, array_shape, same_shape
from gen.hlo.opcodes import TABLE

# custom calls that return their operand
_ANNOTATIONS = frozenset(
    """Sharding SPMDFullToShardShape SPMDShardToFullShape annotate_device_placement MoveToHost MoveToDevice Pin Unpin
    PinToDevice PinToDeviceSram xla.sdy.FuncResultSharding xla.sdy.GlobalToLocalShape
    xla.sdy.LocalToGlobalShape""".split())
_COLLECTIVES = frozenset(
    """all-gather all-reduce all-to-all collective-broadcast collective-permute reduce-scatter""".split())
_NUMBERS = {"partition-id": "num_partitions", "replica-id": "replica_count"}


def rule(module: Module) -> Rule:
    """Return the rule of this module that maps a removable instruction to the value that replaces it."""
    devices = {key: _count(module, key) for key in _NUMBERS.values()}

    def of(x: Expander, instruction: Instruction) -> Optional[Instruction]:
        opcode = instruction.opcode
        if opcode in ("add-dependency", "domain", "optimization-barrier") or opcode == "copy" and instruction.shape.kind == "tuple":
            return _handed_on(x, instruction.operands[:1], instruction.shape)
        if opcode == "custom-call":
            return _custom_call(x, instruction)
        if opcode in _NUMBERS:
            return x.constant("u32", 0) if devices[_NUMBERS[opcode]] == 1 else None
        if opcode == "get-dimension-size" and not instruction.operands[0].shape.dynamic:
            (dimension,) = re.findall(r"[0-9]+", instruction.attributes["raw"]["dimensions"])
            return x.constant("s32", instruction.operands[0].shape.dims[int(dimension)])
        base, _, half = opcode.rpartition("-")
        if half in ("update", "done") and opcode not in TABLE:
            start = instruction.operands[0]
            return None if start.opcode.endswith(("-start", "-update")) else start
        ends = [user.opcode in (f"{base}-update", f"{base}-done") for user in instruction.users]
        if half == "start" and not (ends and all(ends)):
            return None
        if opcode in _COLLECTIVES or half == "start" and base in _COLLECTIVES:
            return _collective(x, instruction, devices["num_partitions"], devices["replica_count"])
        return _started(x, instruction, base) if half == "start" else None

    return of


def _count(module: Module, key: str) -> int:
    text = module.attributes.get(key, "1")
    return int(text) if text.isdecimal() else 0


def _handed_on(x: Expander, values: "List[Instruction]", to: Shape) -> Optional[Instruction]:
    """Return the operands as an array or tuple of the result's shape; None if the operands' shapes do not match it."""
    if len(values) == 1 and same_shape(values[0].shape, to):
        return x.laid_out(values[0], to) if to.kind == "array" else values[0]
    if to.kind != "tuple" or len(to.children) != len(values):
        return None
    if not all(same_shape(value.shape, of) and of.kind == "array" for value, of in zip(values, to.children)):
        return None
    return x.tuple([x.laid_out(value, of) for value, of in zip(values, to.children)])


def _custom_call(x: Expander, instruction: Instruction) -> Optional[Instruction]:
    target = instruction.attributes.get("raw", {}).get("custom_call_target", "").strip('"')
    if target in _ANNOTATIONS and len(instruction.operands) == 1:
        return _handed_on(x, instruction.operands, instruction.shape)
    if target == "AllocateBuffer" and not instruction.operands and instruction.shape.kind == "array":
        return _zeros(x, instruction.shape)    # the content of this buffer is undefined until the module writes it
    return None


def _zeros(x: Expander, to: Shape) -> Instruction:
    return x.laid_out(x.broadcast(x.constant(to.dtype, 0), array_shape(to.dtype, to.dims)), to)


def _collective(x: Expander, instruction: Instruction, partitions: int, replicas: int) -> Optional[Instruction]:
    """Return the operands of a collective if each of its groups has only one member, else None."""
    raw, to, values = instruction.attributes.get("raw", {}), instruction.shape, instruction.operands
    base = instruction.opcode.removesuffix("-start")
    if base != instruction.opcode and base in ("all-gather", "collective-permute") and to.kind == "tuple":
        to = to.children[1]
    if base == "collective-permute":
        pairs = re.findall(r"\{\s*([0-9]+)\s*,\s*([0-9]+)\s*\}", raw.get("source_target_pairs", ""))
        alone = partitions * replicas == 1
        if alone and not pairs and to.kind == "array":
            return _zeros(x, to)
        if any(source != target for source, target in pairs) or not (alone or len(pairs) == partitions * replicas):
            return None
    elif partitions * replicas != 1 and not _single_members(raw, partitions):
        return None
    return _handed_on(x, values, to)


def _single_members(raw: "dict[str, str]", partitions: int) -> bool:
    """Return true if each group of a collective has one member. With a channel but without use_global_device_ids, a
    group contains its replicas in every partition.
    """
    if partitions != 1 and "channel_id" in raw and raw.get("use_global_device_ids") != "true":
        return False
    groups = raw.get("replica_groups", "")
    listed = re.fullmatch(r"\[([0-9]+),([0-9]+)\]<=.*", groups)
    if listed:
        return listed[2] == "1"
    return re.fullmatch(r"\{(\s*\{\s*[0-9]+\s*\}\s*,?)+\s*\}", groups) is not None


def _started(x: Expander, instruction: Instruction, base: str) -> Optional[Instruction]:
    """Return the op that a start op, such as copy-start, starts. It replaces the start op."""
    to, attributes = instruction.shape, instruction.attributes
    if base == "copy":
        to = to.children[0] if to.kind == "tuple" else to
        return x.add("copy", to, instruction.operands) if same_shape(to, instruction.operands[0].shape) else None
    if to.kind != "tuple" or len(to.children) < 2:
        return None
    if base == "async":
        called = instruction.called[0]
        started = x.add("call", to.children[1], instruction.operands, to_apply=called)
        started.called = [called]
        return started
    if base not in TABLE:
        return None
    started = x.add(base, to.children[1], instruction.operands, **attributes)
    started.called = list(instruction.called)
    return started
