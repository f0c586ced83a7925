"""A scatter becomes several nests: for each operand, a nest that copies it, and then a nest that combines the updates
into the copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Set, Tuple

from gen import algebra
from gen.hlo import Computation, Instruction, Shape, dtypes, unique_indices, unshared_places
from gen.plan.nest import Nest
from gen.plan.partition import EMPTY, Partition, Root, identity


@dataclass(eq=False)
class Scatter(Nest):
    """A nest that combines updates into copies of the operands. Its shape is that of the updates, and its partition
    computes their values.

    indices: computes the start indices of an update.
    lasts: for each start index, its largest valid value.
    place: the map from an update's index to the results' index. Its runtime variables at0, at1, .. are the start
        indices.
    targets: the results.
    """

    instruction: Instruction
    indices: Partition
    lasts: Tuple[int, ...]
    place: str
    targets: List[Root]

    def __post_init__(self) -> None:
        self.further = [self.indices]

    def written_roots(self, divided: bool) -> "List[Tuple[Shape, Root]]":
        return []       # the nest writes only at indices that are read at run time; earlier nests write all elements

    def mapped(self) -> "List[str]":
        lines = [
            f"  at{root.result}, dropped where it is not in 0 .. {last} -> {self.indices.root_read(root).source.name}: {self.indices.root_read(root).map}"
            for root, last in zip(self.indices.roots, self.lasts)
        ]
        return lines + [f"  update -> {target.buffer.pointer}: {self.place}" for target in self.targets]

    @property
    def unique(self) -> bool:
        return unique_indices(self.instruction)


def nests(computation: Computation, instruction: Instruction, targets: "List[Root]", cuts: "Dict[Instruction, int]",
          names: "Sequence[str]") -> "List[Nest]":
    """Return the nests that copy the operands, followed by the nest of the updates. targets: the buffers of the
    results.
    """
    count, copies = len(targets), []
    for target, operand, name in zip(targets, instruction.operands, names):
        root = Root(target.result, target.shape, operand, 0, identity(target.shape.dims), target.scratch)
        copies.append(Nest(name, target.shape, Partition(computation, [root], name, target.shape.dims, cuts=cuts)))
    updates = instruction.operands[count + 1:]
    shape = updates[0].shape
    place, indices = _place(instruction)
    combiner = instruction.attributes["to_apply"]
    used, changed = parameters_used(combiner), [k for k in range(count) if component(combiner, k).parameter_number != k]
    if not shape.elements or place == EMPTY or not changed:
        return copies
    name, index = names[count], identity(shape.dims)
    values = Partition(computation, [Root(k, o.shape, o, 0, index) for k, o in enumerate(updates) if count + k in used],
                       name, shape.dims, cuts=cuts)
    of = instruction.operands[count]
    read = Partition(computation, [Root(k, of.shape, of, 0, at) for k, (_, at) in enumerate(indices)], name + "_at",
                     shape.dims, cuts=cuts)
    return [*copies, Scatter(name, shape, values, instruction, read, tuple(last for last, _ in indices), place,
                             targets)]


def _place(instruction: Instruction) -> "Tuple[str, List[Tuple[int, str]]]":
    """Return the map from an update's index to the result's index, and a list with one entry for each runtime variable
    of the map: the variable's largest valid value, and the map to the index from which the variable is read.
    """
    a, count = instruction.attributes, len(instruction.operands) // 2
    words = [f"out={algebra.numbers(instruction.operands[0].shape.dims)}",
             *(f"in{k}={algebra.numbers(o.shape.dims)}" for k, o in enumerate(instruction.operands))]
    words += [f"{key}={algebra.numbers(a.get(name, ()))}"
              for key, name in (("offset_dims", "update_window_dims"), ("collapsed", "inserted_window_dims"),
                                ("start_index_map", "scatter_dims_to_operand_dims"),
                                ("operand_batching", "input_batching_dims"),
                                ("indices_batching", "scatter_indices_batching_dims"))]
    index, reads = algebra.indexing("scatter", count + 1, *words, f"index_vector_dim={a['index_vector_dim']}",
                                    "from=operand", "all=1")
    if index == EMPTY:
        return EMPTY, []
    variables, dims = algebra.info(index).of_kind("rt"), [f"i{k}" for k in range(instruction.operands[count + 1].shape.rank)]
    indices = []
    for v, (_, read) in zip(variables, reads):
        at = algebra.substitute(read, **{r.name: r.lo for r in variables})
        indices.append((v.hi, algebra.rename(at, *dims, *(r.name for r in algebra.info(at).of_kind("rt"))) if dims else at))
    assert len(variables) == len(a["scatter_dims_to_operand_dims"])
    names = [*dims, *(f"at{k}" for k in range(len(variables)))]
    return algebra.rename(index, *names) if names else index, indices


def through(instruction: Instruction) -> Instruction:
    """Return the source of a copy or of a chain of copies. If an instruction is no copy, return the instruction."""
    while instruction.opcode == "copy":
        instruction = instruction.operands[0]
    return instruction


def component(combiner: Computation, k: int) -> Instruction:
    assert combiner.root is not None
    return through(combiner.root.operands[k] if combiner.root.opcode == "tuple" else combiner.root)


def combined_by(combiner: Computation, k: int, count: int) -> "Optional[str]":
    """Return the opcode with which a combiner computes result k from the old value and the update, in either order.
    Return "overwrite" if the combiner returns the update. Return None if the combiner does anything else.
    """
    op = component(combiner, k)
    if op.opcode == "parameter":
        return "overwrite" if op.parameter_number == count + k else None
    numbers = sorted(-1 if o.parameter_number is None else o.parameter_number for o in map(through, op.operands))
    known = op.opcode in ("add", "multiply", "maximum", "minimum", "and", "or", "xor") and numbers == [k, count + k]
    return op.opcode if known else None


def _any_order(combiner: Computation, k: int, count: int, dtype: str) -> bool:
    """Return true if a result has the same bits in whatever order its updates are combined. A maximum of floats may
    differ: the order decides between +0 and -0, and between several NaNs.
    """
    return combined_by(combiner, k, count) not in (None,
                                                   "overwrite") and dtypes.TABLE[dtype].kind not in ("float", "complex")


def varying(computation: Computation, drawn: bool = False) -> "Set[Instruction]":
    """Return the values that may differ from run to run, because the updates of one element are combined in any order.
    drawn: true if a check draws the indices at random; they may then repeat although the module says that they are
        unique.
    """
    differing: "Set[Instruction]" = set()
    for instruction in computation.instructions:
        count = len(instruction.operands) // 2
        if instruction.opcode == "scatter" and (unshared_places(instruction) is None if drawn
                                                else not unique_indices(instruction)):
            combiner, shapes = instruction.attributes["to_apply"], instruction.shape.leaves()
            if not all(_any_order(combiner, k, count, shape.dtype) for k, shape in enumerate(shapes)):
                differing.add(instruction)
        if any(o in differing for o in instruction.operands):
            differing.add(instruction)
    return differing


def parameters_used(combiner: Computation) -> "Set[int]":
    """Return the indices of the parameters on which a combiner's result depends."""
    seen, waiting = set(), [combiner.root]
    while waiting:
        instruction = waiting.pop()
        if instruction is not None and instruction not in seen:
            seen.add(instruction)
            waiting += instruction.operands
    return {instruction.parameter_number for instruction in seen if instruction is not None
            and instruction.opcode == "parameter" and instruction.parameter_number is not None}
