"""Decide which values of a fusion are stored in scratch buffers, and which reductions are computed together with the
results that read them.

A reduce is computed once. If a result reads each element of a reduce exactly once, at its own position in memory, the
reduce and the ops after it form one nest. The reduce is the hero of the nest, and the ops after it are the epilogue. If
a reduce is read at other positions or more often, a kernel of its own stores it in a scratch buffer. In a softmax, for
example, every element of a row reads the row's maximum.

Reductions over the same dimensions of equally large operands share a nest, and with it one pass over the input. A
result that is as large as this input and reads it is written in the same pass. Sums of products and windows are also
computed once: in the nest of a result that reads each element exactly once at its own position, or into a scratch
buffer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Collection, Dict, List, NamedTuple, Sequence, Set, Tuple, Union

from gen import algebra
from gen.plan.buffers import buffers_of, memory_map, reads_of
from gen.hlo import LOOPS, Computation, Instruction, Leaf, Shape, combiner
from gen.plan import element_loops
from gen.plan.nest import Nest
from gen.plan.partition import EMPTY, INLINE, STORED, Partition, Read, Root, compose, identity, loop_sizes
from gen.plan.scan import Prefix, prefix


# Attribute of a product that is computed in tiles (gen/plan/products.py). Its value is the index of the operand that
# register tiles read vector by vector, or None for tiles in shared memory.
TILED = "tiled"


class Key(NamedTuple):
    """The properties that reductions, or scans, must share to be computed in one pass.

    dims, minor_to_major: the operand's dimensions and their order in memory.
    along: the reduced dimensions, or the dimension and the direction of a scan.
    orders: the orders of the results' dimensions in memory. If a reduction has several, it is not combined with an
        epilogue.
    """

    dims: Tuple[int, ...]
    minor_to_major: Tuple[int, ...]
    along: "Union[Tuple[int, ...], Prefix]"
    orders: Tuple[Tuple[int, ...], ...]


@dataclass(eq=False)
class Reduction(Nest):
    """A nest around reduces.

    sides: the nests of the side results. These are as large as the operands and are written in the same pass.
    heroes: the reduces.
    inputs: computes, at an index of the operands, the operands of the reduces and the results of `sides`.
    space: the shape of the first operand. The other operands have the same dimensions.
    epilogue: computes the nest's results from the values of the reduces. `partition` computes the reduces as well.
    """

    sides: List[Nest]
    heroes: List[Instruction]
    inputs: Partition
    epilogue: Partition
    space: Shape

    def written_roots(self, divided: bool) -> "List[Tuple[Shape, Root]]":
        if not divided:
            return super().written_roots(divided)
        count = sum(len(side.partition.roots) for side in self.sides)
        return [(self.shape, root) for root in self.partition.roots if not root.at] + [
            (self.space, root) for root in self.inputs.roots[len(self.inputs.roots) - count:]]

    @property
    def reduced(self) -> Tuple[int, ...]:
        dimensions = key_of(self.heroes[0]).along
        assert isinstance(dimensions, tuple)
        return dimensions


def key_of(hero: Instruction) -> Key:
    """Return the properties that a reduction or a scan must share with others to be computed in the same pass."""
    shape = hero.operands[0].shape
    orders = {tuple(d for d in leaf.minor_to_major if leaf.dims[d] > 1) for leaf in hero.shape.leaves()}
    return Key(shape.dims, tuple(shape.minor_to_major), prefix(hero) or tuple(sorted(hero.attributes["dimensions"])),
               tuple(sorted(orders)))


def stops(instruction: Instruction) -> bool:
    """Return true if a value must be stored, because its elements must not be computed again at each read. That holds
    for scatters, for element loops, for values that the graph marks as stored, and for reductions, windows and products
    of more than one element.
    """
    if instruction.opcode == "scatter":
        return instruction.shape.leaves()[0].elements > 0
    if instruction.opcode == element_loops.OPCODE or instruction.attributes.get(STORED):
        return True
    if instruction.opcode in LOOPS:
        return math.prod(loop_sizes(instruction)) > 1 and instruction.shape.leaves()[0].elements > 0
    if instruction.opcode != "reduce":
        return False
    dims = instruction.operands[0].shape.dims
    return math.prod(dims[k] for k in instruction.attributes["dimensions"]) > 1 and math.prod(dims) > 0


def value_root(root: Instruction, output: int, number: int, scratch: bool = False) -> Root:
    """Return the Root that stores a value. The kernel's index is the index in the value."""
    shape = root.shape.leaves()[output]
    return Root(number, shape, root, output, identity(shape.dims), scratch)


def is_free(reduce: Instruction) -> bool:
    """Return true if a reduce may combine its elements in any order, and partial results can start from a known
    constant. Return true also if the order matters only when an element is a NaN.
    """
    if reduce.opcode != "reduce":
        return False
    order = combiner.analyse(reduce)
    return (order.free or order.free_but_nan) and order.starts_known


def leads(instruction: Instruction) -> bool:
    """Return true if a nest can be built around an op. The op must be a reduce whose order is free, or a scan."""
    return is_free(instruction) or (prefix(instruction) is not None and stops(instruction))


def same_place(read: Read, shape: Shape) -> bool:
    """Return true if element p of an array of `shape` is computed from element p of the value that is read, for every
    p. In both arrays, elements are numbered in memory order.
    """
    source = read.source.shape.leaves()[read.output]
    if read.map == EMPTY or source.elements != shape.elements:
        return False
    flat = compose(algebra.call("shape", "unmap", shape.text), compose(read.map, memory_map(source)))
    info = algebra.info(flat)
    return shape.elements == 1 or info.results[0].text == info.variables[0].name


def _reads(computation: Computation, roots: Sequence[Root], shape: Shape,
           ends: Dict[Instruction, int]) -> "List[Tuple[Read, bool]]":
    """Return the reads of the values in `ends`. Each read comes with a flag. The flag is true if the kernel's own body
    makes the read unconditionally. It is false if the read is under a condition or in a function that the body calls.
    """
    partition = Partition(computation, list(roots), "", shape.dims, cuts=ends)
    return [(read, function is partition.entry and region is function.body) for function in partition.functions
            for read, region in reads_of(partition, function) if read.source in ends]


@dataclass
class Plan:
    """The plan of a computation.

    cuts: reduces, loops, scatters and other values that are stored in scratch buffers, each with the index of its first
        buffer.
    fused: for each result, the reduces or scans that are computed in its nest. These reduces may combine their elements
        in any order.
    products: for each result, the product that is computed in tiles in its nest.
    scatters: scatters that write results directly, without a scratch buffer, each with the indices of these results.
    """

    cuts: Dict[Instruction, int]
    fused: Dict[int, List[Instruction]]
    products: Dict[int, Instruction] = field(default_factory=dict)
    scatters: Dict[Instruction, List[int]] = field(default_factory=dict)


def plan(computation: Computation, leaves: "Sequence[Leaf]", stored: "Collection[Instruction]" = (),
         apart: "Collection[Instruction]" = ()) -> Plan:
    """Return the plan of a computation. stored: values that are stored in scratch buffers in any case. apart: products
    that have kernels of their own, which store them in scratch buffers.
    """
    ends = {i: 0 for i in computation.instructions if stops(i) or i in stored}
    cut: Set[Instruction] = set(stored)
    wanted: Dict[int, List[Instruction]] = {}
    waiting: List[Instruction] = []
    whole_: Dict[Instruction, Dict[int, int]] = {}
    if len(ends) == len(stored):
        return Plan({value: number for number, value in enumerate(ends)}, {})
    for number, shape, instruction, output in leaves:
        if not shape.elements:
            continue
        own = memory_map(shape) == memory_map(instruction.shape.leaves()[output])
        if instruction.opcode == "scatter" and own and output not in whole_.get(instruction, {}):
            whole_.setdefault(instruction, {})[output] = number
            waiting.append(instruction)
            continue
        reads = _reads(computation, [value_root(instruction, output, number)], shape, ends)
        here = list(dict.fromkeys(read.source for read, _ in reads))
        cut |= {read.source for read, open_ in reads if read.source in apart or read.source.attributes.get(STORED)
                or not (open_ and same_place(read, shape))}
        keys = {key_of(i) for i in here if leads(i) and i not in cut}
        products = sorted((i for i in here if TILED in i.attributes), key=lambda i: math.prod(loop_sizes(i)))
        for read, open_ in reads:
            loops = read.source.opcode in (*LOOPS, element_loops.OPCODE) and not leads(read.source)
            if read.source in cut or read.source in products[:-1] or read.source.opcode == "scatter" \
                    or len(keys) > 1 - loops or (not loops and len(key_of(read.source).orders) > 1):
                cut.add(read.source)
        wanted[number] = here
        waiting += here
    waiting += stored
    done: Set[Instruction] = set()
    while waiting:
        reduce = waiting.pop()
        if reduce in done:
            continue
        done.add(reduce)
        count = len(reduce.operands) // (2 if reduce.opcode in ("reduce", "reduce-window") else 1)
        roots = [value_root(o, 0, k) for k, o in enumerate(reduce.operands[:count])]
        inner = [read.source for root in roots for read, _ in _reads(computation, [root], root.shape, ends)]
        cut.update(inner)
        waiting += inner
    direct = {i: [of[k] for k in sorted(of)] for i, of in whole_.items() if i not in cut
              and len(of) == len(i.shape.leaves())}
    cut.update(i for i in whole_ if i not in direct)
    cuts, number = {}, 0
    for instruction in computation.instructions:
        if instruction in cut:
            cuts[instruction] = number
            number += len(instruction.shape.leaves())
    left = {n: [i for i in here if i not in cut] for n, here in wanted.items()}
    return Plan(cuts, {n: [i for i in here if leads(i)] for n, here in left.items()},
                {n: i for n, here in left.items() for i in here if TILED in i.attributes}, direct)


def reduction(nest: Nest, heroes: List[Instruction], sides: "Sequence[Nest]" = ()) -> Reduction:
    """Return the nest as a Reduction. heroes: the reduces that it computes. sides: nests whose results the same pass
    writes.
    """
    computation, cuts = nest.partition.computation, nest.partition.cuts
    space = heroes[0].operands[0].shape
    index = identity(space.dims)
    roots = [Root(n, o.shape, o, 0, index) for n, o in enumerate(
        o for hero in heroes for o in hero.operands[:len(hero.operands) // 2])]
    for root in (root for side in sides for root in side.partition.roots):
        step = algebra.call("op", "bitcast", "0", f"out={algebra.numbers(space.dims)}",
                            f"in={algebra.numbers(root.shape.dims)}",
                            f"out_layout={algebra.numbers(space.minor_to_major)}",
                            f"in_layout={algebra.numbers(root.shape.minor_to_major)}")
        roots.append(Root(root.result, root.shape, root.value, root.output, compose(index, step)))
    inputs = Partition(computation, roots, nest.name + "_inputs", space.dims, INLINE, cuts)
    inits = [o for hero in heroes for o in hero.operands[len(hero.operands) // 2:]]
    epilogue = Partition(computation, nest.partition.roots, nest.name, nest.partition.entry.dims, INLINE, cuts,
                         heroes, inits)
    return Reduction(nest.name, nest.shape, nest.partition, list(sides), heroes, inputs, epilogue, space)


def reads_same(a: Partition, b: Partition) -> bool:
    return bool(set(buffers_of(a, a.entry)) & set(buffers_of(b, b.entry)))
