"""Divide a fusion into functions. In a function, one indexing map for each value says which element is computed.

If all users of a value need it at the same index, it is computed where its users are computed. If they need it at a few
different indices, it is computed once for each index. If there are more, it becomes a function, which is called at each
index. Ops that only move data (transpose, slice, broadcast, ..) never become functions: they are composed into the maps
of the reads. The size of the code is therefore linear in the size of the graph.

The code of a function is divided into regions, which say when code runs: the body, the loop of a reduce, or the guarded
code of an operand of pad or concatenate. The loop of a window, or of a sum of products, contains a guarded region. It
runs for positions inside the base, the array over which the window moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gen import algebra
from gen.hlo import dtypes
from gen.hlo import CONTRACTIONS, LOOPS, Computation, Instruction, Shape, Window, c_identifier
from gen.plan.buffer import Buffer, Role
from gen.schedule import MOST_DIVISIONS

MOVES = frozenset("broadcast transpose reshape bitcast slice reverse copy get-tuple-element".split())
LEAVES = frozenset("parameter constant iota".split())
# Ops that select between two operands. At an index where the first operand's map is defined, the value is the first
# operand; elsewhere, it is the second operand. For `tile` see gen/lower/tiled_layouts.py.
PADS = ("pad", "tile")
# If a value is read at several indices, the code may compute it once for each index. This is the maximum number of
# such repeated computations in one function.
INLINE = 256
MOST_REGIONS = 24    # maximum depth of regions within regions

EMPTY = "KNOWN EMPTY"
# attribute of a concatenate that interleaves the real and imaginary parts of complex numbers, as in memory
PARTS = "parts"
STORED = "stored"    # attribute of a copy whose result gets a buffer; readers then do not compute it again


@dataclass(frozen=True)
class Runtime:
    """A variable of a map whose value is read at run time and clamped to 0 .. last. The map belongs to an entry. The
    value is read in the region that contains this entry.
    """

    name: str
    read: "Read"
    last: int


@dataclass(eq=False)
class Region:
    """Code that runs under the same conditions. The kinds are:

    body: the code of a function.
    loop: the body of a loop over summed or reduced elements, or over the elements of a window.
    guard: code that runs where a condition holds. It reads an operand of pad or concatenate, the update of a
        dynamic-update-slice, or the elements of a window inside the base.
    read: code that reads an operand at an index that is known only at run time.
    """

    kind: str
    function: "Function"
    parent: "Optional[Region]" = None
    map: str = ""  # only for a guard: the map to the operand's index; the guard's condition is that map's domain
    # the names of the loop variables, outermost first; only for a loop, and for a guard inside a loop
    ranges: Tuple[str, ...] = ()
    entries: "List[Entry]" = field(default_factory=list)
    runtimes: "Tuple[Runtime, ...]" = ()               # in a read and a guard: the runtime variables of the map `step`
    step: str = ""    # the map from the entry's index to the operand's index, with the variables `runtimes`
    owner: "Optional[Entry]" = None     # the entry whose operand is read in this region

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1


@dataclass(eq=False)
class Entry:
    """A value that a region computes, by an op or by the call of a function. map: the map from the function's index to
    the value's index.
    """

    instruction: Instruction
    region: Region
    map: str
    callee: "Optional[Function]" = None
    # A reduce has a loop. A pad has a guard. A concatenate has one guard per operand. Ops in LOOPS have a loop with a
    # guard inside.
    regions: "List[Region]" = field(default_factory=list)


@dataclass(eq=False)
class Function:
    """A function of the index variables i0, i1, .. root: the value that it returns; None for the body of the kernel,
    which may compute several values.
    """

    name: str
    dims: Tuple[int, ...]
    root: Optional[Instruction] = None
    body: Region = field(init=False)
    ops: int = 0
    # the number of repeated computations: a value that is computed once for each of n indices counts n - 1
    again: int = 0

    def __post_init__(self) -> None:
        self.body = Region("body", self)

    @property
    def index(self) -> str:
        """Return the identity map on the function's index space."""
        return identity(self.dims)

    @property
    def nowhere(self) -> str:
        """Return the map from the function's index to (), the index of a scalar's only element."""
        return to_scalar(self.dims)


@dataclass(frozen=True)
class Read:
    """The value from which an operand's element comes. Ops that only move data are composed into the map.

    source: the instruction that computes the value, or a parameter or a constant.
    map: the map to the element's index in the value.
    output: if the instruction's result is a tuple, the index of the array in it.
    """

    source: Instruction
    map: str
    output: int = 0


@dataclass(frozen=True)
class Root:
    """An array of the fusion's result, and how the kernel writes it.

    result: the index of the array among all arrays of the result, or the index of the scratch buffer.
    value, output: the instruction that computes the array, and the index of the array in the instruction's result.
    map: the map from the kernel's index to the array's index.
    scratch: true for a buffer between kernels.
    own: true for an array that each work-item has for itself.
    """

    result: int
    shape: Shape
    value: Instruction
    output: int
    map: str
    scratch: bool = False
    # the map, with runtime variables, to the index where the element is written; "" if `map` gives this index
    at: str = ""
    # the runtime variables of the map `at`
    starts: "Tuple[Start, ...]" = ()
    own: bool = False

    @property
    def buffer(self) -> Buffer:
        return Buffer(Role.SCRATCH if self.scratch else Role.RESULT, self.result, self.shape, self.value.name,
                      self.own)


def window_words(window: Window) -> "List[str]":
    """Return a window as arguments for the command of gen/algebra."""
    lists = {"window": window.size, "stride": window.stride, "low": window.low, "high": window.high,
             "base_dilation": window.base_dilation, "window_dilation": window.dilation, "reversal": window.reversal}
    return [f"{name}={algebra.numbers(values)}" for name, values in lists.items()]


def pad_words(padding: "Sequence[Tuple[int, int, int]]") -> "List[str]":
    """Return the padding of each dimension as arguments for the command of gen/algebra."""
    low, high, interior = zip(*padding) if padding else ((), (), ())
    return [f"low={algebra.numbers(low)}", f"high={algebra.numbers(high)}", f"interior={algebra.numbers(interior)}"]


def loop_sizes(instruction: Instruction) -> "Tuple[int, ...]":
    """Return the trip counts of an op's loops. The loops of a reduce go over the reduced dimensions, those of a dot
    over the contracted dimensions, and those of a window over its elements. A convolution also has a loop over the
    input features of a group.
    """
    attributes = instruction.attributes
    if instruction.opcode == "reduce":
        return tuple(instruction.operands[0].shape.dims[k] for k in sorted(attributes["dimensions"]))
    if instruction.opcode in ("dot", "scaled-dot"):
        return tuple(instruction.operands[0].shape.dims[k] for k in attributes["lhs_contracting_dims"])
    if instruction.opcode == "convolution":
        return (*attributes["window"].size, instruction.operands[1].shape.dims[attributes["dim_labels"].rhs[0]])
    return tuple(attributes["window"].size) if instruction.opcode in LOOPS else ()


@lru_cache(maxsize=65536)
def operand_map(instruction: Instruction, operand: int) -> str:
    """Return the map from an op's output index to the index of an operand."""
    opcode, attributes = instruction.opcode, instruction.attributes
    source = instruction.operands[operand].shape
    out = instruction.shape.leaves()[0]
    words = [f"out={algebra.numbers(out.dims)}"]
    if "map" in attributes:      # a bitcast between arrays with different tiled layouts
        return attributes["map"]
    if opcode == "tile" and operand == 0:
        return algebra.call("shape", "unmap", attributes["layout"])
    if opcode == "get-tuple-element":
        return identity(out.dims)
    if opcode == "concatenate":
        words += [f"in{k}={algebra.numbers(o.shape.dims)}" for k, o in enumerate(instruction.operands)]
        return algebra.call("op", opcode, str(operand), *words,
                            f"dimension={algebra.numbers(attributes['dimensions'])}")
    if opcode in CONTRACTIONS:
        words += [f"in{k}={algebra.numbers(o.shape.dims)}" for k, o in enumerate(instruction.operands)] + ["joint=1"]
        if opcode != "convolution":
            words += [f"{side}_{what}={algebra.numbers(attributes[f'{side}_{what}_dims'])}" for side in ("lhs", "rhs")
                      for what in ("batch", "contracting")]
        else:
            labels = attributes["dim_labels"]
            words += [*window_words(attributes["window"]), f"lhs_labels={algebra.numbers(labels.lhs)}",
                      f"rhs_labels={algebra.numbers(labels.rhs)}", f"out_labels={algebra.numbers(labels.out)}",
                      f"feature_groups={attributes['feature_group_count']}",
                      f"batch_groups={attributes['batch_group_count']}"]
        return algebra.call("op", opcode, str(operand), *words)
    words.append(f"in={algebra.numbers(source.dims)}")
    if opcode in RUNTIME and operand == RUNTIME[opcode]:
        return runtime_map(instruction)[0]
    if opcode in RUNTIME and (operand or opcode != "dynamic-update-slice"):
        return algebra.call("op", "scalar", str(operand), f"out={algebra.numbers(out.dims)}", "in=")
    if opcode == "window-choice" or (opcode == "reduce-window" and operand < len(instruction.operands) // 2):
        return algebra.call("op", "reduce-window", "0", *words, "joint=1", *window_words(attributes["window"]))
    if opcode == "window-scatter" and operand < 2:
        return algebra.call("op", "select-and-scatter", "1", f"out={algebra.numbers(out.dims)}",
                            f"in0={algebra.numbers(out.dims)}", f"in1={algebra.numbers(source.dims)}", "joint=1",
                            *window_words(attributes["window"]))
    if opcode == "reduce":
        if operand >= len(instruction.operands) // 2:
            return algebra.call("op", "scalar", str(operand), *words)
        return algebra.call("op", opcode, str(operand), *words,
                            f"dimensions={algebra.numbers(attributes['dimensions'])}")
    if opcode == "pad" and operand == 0:
        return algebra.call("op", opcode, "0", *words, *pad_words(attributes["padding"]))
    if opcode in ("broadcast", "transpose", "reverse"):
        return algebra.call("op", opcode, "0", *words,
                            f"dimensions={algebra.numbers(attributes.get('dimensions', ()))}")
    if opcode == "slice":
        start, _, stride = zip(*attributes["slice"]) if attributes["slice"] else ((), (), ())
        return algebra.call("op", opcode, "0", *words, f"start={algebra.numbers(start)}",
                            f"stride={algebra.numbers(stride)}")
    if opcode == "bitcast":
        return algebra.call("op", opcode, "0", *words, f"out_layout={algebra.numbers(out.minor_to_major)}",
                            f"in_layout={algebra.numbers(source.minor_to_major)}")
    if opcode == "reshape":
        return algebra.call("op", opcode, "0", *words)
    assert opcode != "scatter", "a scatter is cut out, or kernels of its own"
    if not source.dims and out.dims:
        return algebra.call("op", "scalar", str(operand), *words)
    return algebra.call("op", "elementwise", str(operand), *words)


# ops that read an operand at an index known only at run time, each with the position of this operand
RUNTIME = {"dynamic-slice": 0, "dynamic-update-slice": 1, "gather": 0}


class IndexRead(NamedTuple):
    """The value of a runtime variable of an op.

    name: the name of the variable.
    operand: the index of the operand from which the value is read.
    map: the map from the op's output index to the index in that operand.
    """

    name: str
    operand: int
    map: str


class Start(NamedTuple):
    """A runtime variable whose value is the scalar `operand`, clamped to 0 .. last."""

    name: str
    operand: Instruction
    last: int


def runtime_map(instruction: Instruction) -> "Tuple[str, List[IndexRead]]":
    """Return the map from the op's output index to an operand's index, and the reads of the map's runtime variables.
    The operand is the one that the op reads at run-time indices.
    """
    opcode, attributes, out = instruction.opcode, instruction.attributes, instruction.shape.dims
    operand = RUNTIME[opcode]
    words = [f"out={algebra.numbers(out)}",
             *(f"in{k}={algebra.numbers(o.shape.dims)}" for k, o in enumerate(instruction.operands[:2])), "all=1"]
    if opcode == "gather":
        words += [f"{key}={algebra.numbers(attributes.get(name, ()))}"
                  for key, name in (("offset_dims", "offset_dims"), ("collapsed", "collapsed_slice_dims"),
                                    ("start_index_map", "start_index_map"),
                                    ("operand_batching", "operand_batching_dims"),
                                    ("indices_batching", "start_indices_batching_dims"),
                                    ("slice_sizes", "slice_sizes"))]
        words.append(f"index_vector_dim={attributes['index_vector_dim']}")
    index, reads = algebra.indexing(opcode, operand, *words)
    if index == EMPTY:
        return EMPTY, []
    variables = algebra.info(index).of_kind("rt")
    first = {v.name: v.lo for v in variables}
    return index, [IndexRead(v.name, number, algebra.substitute(at, **first))
                   for v, (number, at) in zip(variables, reads)]


def _known(source: Instruction, last: int) -> Optional[int]:
    """Return the start index if it is a constant; None if its value is known only at run time."""
    values = set(source.literal or []) if source.opcode == "constant" else set()
    if last == 0 or len(values) != 1:
        return 0 if last == 0 else None
    return min(max(int(dtypes.decode_real(values.pop(), source.shape.dtype)), 0), last)


def update_map(dus: Instruction, prefix: str) -> "Tuple[str, Tuple[Start, ...]]":
    """Return the map from the index of an update to an index of the result, and the map's runtime variables. Their
    names begin with `prefix`.
    """
    index = algebra.call("op", "dynamic-update-slice", "1", f"out={algebra.numbers(dus.shape.dims)}",
                         f"in={algebra.numbers(dus.operands[1].shape.dims)}", "from=operand")
    known: Dict[str, int] = {}
    starts: List[Start] = []
    for k, v in enumerate(algebra.info(index).of_kind("rt")):
        scalar = dus.operands[2 + k]
        while moves_only(scalar):
            scalar = scalar.operands[0]
        start = _known(scalar, v.hi)
        if start is None:
            starts.append(Start(f"{prefix}{k}", dus.operands[2 + k], v.hi))
        else:
            known[v.name] = start
    index = algebra.substitute(index, **known) if known else index
    names = iter(name for name, _, _ in starts)
    return algebra.rename(index,
                          *(next(names) if v.kind == "rt" else v.name
                            for v in algebra.info(index).variables)), tuple(starts)


@lru_cache(maxsize=1024)
def _named(op: str, dims: "Tuple[int, ...]", operand: "Tuple[int, ...]") -> str:
    """Return the map from an op's output index to the operand's index. The map's variables are i0, i1, .. ."""
    text = algebra.call("op", op, "0", f"out={algebra.numbers(dims)}", f"in={algebra.numbers(operand)}")
    return algebra.rename(text, *(f"i{k}" for k in range(len(dims)))) if dims and text != EMPTY else text


def identity(dims: "Tuple[int, ...]") -> str:
    """Return the identity map on an index space."""
    return _named("elementwise", dims, dims)


def to_scalar(dims: "Tuple[int, ...]") -> str:
    """Return the map from an index space to the only element of a scalar."""
    return _named("scalar", dims, ())


def numbers_of(parts: Instruction) -> Instruction:
    """Return the complex numbers whose real and imaginary parts a concatenate interleaves."""
    real = parts.operands[0]
    while real.opcode != "real":
        real = real.operands[0]
    return real.operands[0]


def moves_only(instruction: Instruction) -> bool:
    """Return true if each element of an op is an unchanged element of its operand. A bitcast to another type changes
    elements.
    """
    if instruction.opcode == "bitcast":
        return instruction.shape.dtype == instruction.operands[0].shape.dtype
    return instruction.opcode in MOVES


def only_side(instruction: Instruction, index: str) -> Optional[int]:
    """If all elements at the indices `index` come unchanged from one operand, return that operand's number. This is so
    for a move, and for a concatenate or pad if all these indices fall on one operand. Return None if the op computes
    elements, or if the operand differs from element to element.
    """
    if moves_only(instruction):
        return 0
    if index == EMPTY or instruction.opcode not in ("concatenate", *PADS):
        return None
    if instruction.opcode in PADS:
        inside = compose(index, operand_map(instruction, 0))
        return 1 if inside == EMPTY else 0 if algebra.domain(inside) == algebra.domain(index) else None
    sides = [k for k in range(len(instruction.operands)) if compose(index, operand_map(instruction, k)) != EMPTY]
    return sides[0] if len(sides) == 1 else None


class Partition:
    """The functions of one kernel. The first is `entry`, the body of the kernel. The functions that it calls follow,
    callers before callees.
    """

    def __init__(self, computation: Computation, roots: "List[Root]", name: str, dims: "Tuple[int, ...]",
                 inline: int = INLINE, cuts: "Optional[Dict[Instruction, int]]" = None,
                 given: "Sequence[Instruction]" = (), scalars: "Sequence[Instruction]" = ()) -> None:
        """For each value on which a root depends, decide in which region or function it is computed. The roots are the
        arrays that the kernel writes.

        inline: the maximum number of repeated computations in one function. A value that is needed at several indices
            is computed once for each index. If this would repeat too many computations, the value becomes a function.
        cuts: the values that other kernels store in scratch buffers, each with the index of its first buffer.
        given: values that the caller of the code has already computed.
        scalars: scalars that are computed in addition to the roots.
        """
        self.computation, self.inline, self.cuts, self.given = computation, inline, cuts or {}, frozenset(given)
        self.scalars = tuple(scalars)
        # for each value whose buffer has fewer elements than the value: the map from a position in the value to the
        # position in the buffer
        self.places: Dict[Instruction, str] = {}
        self.entry = Function(name, dims)
        self.functions: List[Function] = [self.entry]
        self._names: Set[str] = set()
        self._reads: Dict[Tuple[Entry, int, Optional[Region]], Read] = {}
        self.roots = roots
        self._uses: Dict[Instruction, Dict[Tuple[Region, str], None]] = {}
        self._found: List[Instruction] = []     # values that are used, but not yet placed
        # for each loop variable, its trip count; for each runtime variable, its number of possible values
        self.ranges: Dict[str, int] = {}
        self._use_roots()
        self._place_values()

    def _use_roots(self) -> None:
        for root in self.roots:
            self._use(self.root_read(root), self.entry.body)
            for name, scalar, last in root.starts:
                self.ranges[name] = last + 1
                self._use(self.scalar_read(scalar), self.entry.body)
        for scalar in self.scalars:
            self._use(self.scalar_read(scalar), self.entry.body)

    def _place_values(self) -> None:
        """Decide in which regions or functions each used value is computed. Users are decided before their operands.
        Then sort the entries of each region by the order of their instructions in the computation.
        """
        order = order_of(self.computation)
        waiting: "List[int]" = []
        while waiting or self._found:
            while self._found:
                heappush(waiting, -order[self._found.pop()])
            instruction = self.computation.instructions[-heappop(waiting)]
            self._place(instruction, list(self._uses[instruction]))
        for function in self.functions:
            for region in regions(function.body):
                region.entries.sort(key=lambda entry: order[entry.instruction])

    def root_read(self, root: Root) -> Read:
        return self._resolve(root.value, root.map, root.output, self.entry)

    def scalar_read(self, scalar: Instruction) -> Read:
        return self._resolve(scalar, self.entry.nowhere, 0, self.entry)

    def starts(self, root: Root) -> "Tuple[Runtime, ...]":
        """Return the runtime variables on which the index depends where the root is written (`root.at`)."""
        return tuple(Runtime(name, self.scalar_read(scalar), last) for name, scalar, last in root.starts)

    def operand(self, entry: Entry, operand: int, region: Optional[Region] = None) -> Read:
        """Return the read of an entry's operand. region: the region of the entry in which the operand is read; None if
        it is read in the region that contains the entry.
        """
        key = (entry, operand, region)
        if key not in self._reads:
            moved = self._into(entry, operand, region)
            self._reads[key] = self._resolve(entry.instruction.operands[operand], moved, 0, entry.region.function)
        return self._reads[key]

    def home(self, read: Read, region: Region) -> Region:
        """Return the region in which the value of a read is computed. It is `region` or, if the value is a scalar, the
        function's body.
        """
        return region if read.source.shape.leaves()[read.output].dims else region.function.body

    # ---- placing ----

    def _into(self, entry: Entry, operand: int, region: Optional[Region]) -> str:
        if region is not None and region.step:
            return compose(entry.map, region.step)
        step = operand_map(entry.instruction, operand)
        if region is not None and region.ranges:
            step = algebra.rename(step, *(v.name for v in algebra.info(step).of_kind("dim")), *region.ranges) \
                if step != EMPTY else step
        return compose(entry.map, step)

    def _bind(self, entry: Entry, kind: str) -> Region:
        """Return a region in which an entry reads its operand at an index that is known only at run time. Start indices
        that are constants become part of the map.
        """
        instruction, function = entry.instruction, entry.region.function
        step, indices = runtime_map(instruction)
        runtimes: Dict[str, Runtime] = {}
        known: Dict[str, int] = {}
        lasts = {v.name: v.hi for v in algebra.info(step).of_kind("rt")} if step != EMPTY else {}
        for name, operand, index in indices:
            read = self._resolve(instruction.operands[operand], compose(entry.map, index), 0, function)
            start = 0 if read.map == EMPTY else _known(read.source, lasts[name])
            if start is not None:
                known[name] = start
            else:
                runtimes[name] = Runtime(f"t{len(self.ranges)}", read, lasts[name])
                self.ranges[runtimes[name].name] = lasts[name] + 1
        step = algebra.substitute(step, **known) if known else step
        if runtimes and step != EMPTY:
            step = algebra.rename(step,
                                  *(runtimes[v.name].name if v.name in runtimes else v.name
                                    for v in algebra.info(step).variables))
        return Region(kind, function, entry.region, step=step, runtimes=tuple(runtimes.values()))

    def _resolve(self, instruction: Instruction, index: str, output: int, function: Function) -> Read:
        while instruction not in self.cuts and instruction not in self.given:
            side = only_side(instruction, index)
            if side is None:
                break
            if instruction.opcode == "get-tuple-element":
                children = instruction.operands[0].shape.children
                output += sum(len(child.leaves()) for child in children[:instruction.attributes["index"]])
            else:
                index = compose(index, operand_map(instruction, side))
            instruction = instruction.operands[side]
        if index != EMPTY and not instruction.shape.leaves()[output].dims:
            index = function.nowhere
        return Read(instruction, index, output)

    def _use(self, read: Read, region: Region) -> None:
        if (
            read.source.opcode not in LEAVES
            and read.source not in self.cuts
            and read.source not in self.given
            and read.map != EMPTY
        ):
            if read.source not in self._uses:
                self._uses[read.source] = {}
                self._found.append(read.source)
            self._uses[read.source][self.home(read, region), read.map] = None

    def _place(self, instruction: Instruction, uses: "List[Tuple[Region, str]]") -> None:
        region, index = uses[0]
        if len(uses) == 1 and self._inlined(instruction, region):
            self._compute(instruction, region, index)
            return
        if all(region.function.again + len(uses) <= self.inline and region.depth < MOST_REGIONS
               and divisions(index) <= MOST_DIVISIONS for region, index in uses):
            region.function.again += len(uses) - 1
            for region, index in uses:
                self._compute(instruction, region, index)
            return
        shape = instruction.shape.leaves()[0]
        name = f"{self.entry.name}_{c_identifier(instruction.name)}"
        while name in self._names:      # instructions with different names may have the same C identifier
            name += "_"
        self._names.add(name)
        function = Function(name, shape.dims, instruction)
        self.functions.append(function)
        for region, index in uses:
            region.entries.append(Entry(instruction, region, index, function))
            region.function.ops += 1
        self._compute(instruction, function.body, function.index)

    def _inlined(self, instruction: Instruction, region: Region) -> bool:
        """Return true if a value may be computed in the region that uses it, because this region is not nested too
        deeply.
        """
        return region.depth < MOST_REGIONS

    def _compute(self, instruction: Instruction, region: Region, index: str) -> None:
        function = region.function
        function.ops += 1
        entry = Entry(instruction, region, index)
        region.entries.append(entry)
        if instruction.opcode == "reduce" or instruction.opcode in LOOPS:
            self._loop(entry, region)
            if instruction.opcode not in ("reduce", "dot", "scaled-dot"):
                entry.regions.append(Region("guard", function, entry.regions[-1], ranges=entry.regions[-1].ranges))
        elif instruction.opcode in PADS:
            entry.regions.append(Region("guard", function, region))
        elif instruction.opcode == "concatenate":
            entry.regions += [Region("guard", function, region) for _ in instruction.operands]
        elif instruction.opcode in RUNTIME:
            entry.regions.append(self._bind(entry, "guard" if instruction.opcode == "dynamic-update-slice" else "read"))
            if entry.regions[0].kind == "read":
                self._keep_read(entry, entry.regions[0])
            for runtime in entry.regions[0].runtimes:
                self._use(runtime.read, region)
        for operand_region in entry.regions:
            operand_region.owner = entry
        for operand, inner in self.operands(entry):
            if inner is not None and not inner.map:
                inner.map = self._into(entry, operand, inner)
            self._use(self.operand(entry, operand, inner), inner or region)

    def _keep_read(self, entry: Entry, region: Region) -> None:
        """Remove the region's runtime variables that the map of its read does not use."""
        index = self.operand(entry, 0, region).map
        names = set() if index == EMPTY else {name for of in algebra.info(index).results for name in of.variables}
        region.runtimes = tuple(runtime for runtime in region.runtimes if runtime.name in names)

    def _loop(self, entry: Entry, parent: Region) -> None:
        """Add a loop region to an entry."""
        sizes = loop_sizes(entry.instruction)
        names = tuple(f"s{len(self.ranges) + k}" for k in range(len(sizes)))
        self.ranges.update(zip(names, sizes))
        entry.regions.append(Region("loop", parent.function, parent, ranges=names))

    def operands(self, entry: Entry) -> "Iterator[Tuple[int, Optional[Region]]]":
        """Yield the index of each operand of an entry, with the region of the entry in which the operand is read. The
        region is None if the operand is read in the region that contains the entry. The call of a function has no
        operands.
        """
        if entry.callee is not None:
            return
        instruction = entry.instruction
        count = len(instruction.operands)
        if instruction.opcode == "reduce":
            for operand in range(count):
                yield operand, entry.regions[0] if operand < count // 2 else None
        elif instruction.opcode in LOOPS:
            windows = {"reduce-window": count // 2, "window-scatter": 2}.get(instruction.opcode, count)
            for operand in range(count):
                yield operand, entry.regions[-1] if operand < windows else None
        elif instruction.opcode in PADS:
            yield 0, entry.regions[0]
            yield 1, None
        elif instruction.opcode == "concatenate":
            for operand in range(count):
                yield operand, entry.regions[operand]
        elif instruction.opcode in RUNTIME:      # index operands are left out: runtime variables read them
            for operand in range(RUNTIME[instruction.opcode] + 1):
                yield operand, entry.regions[0] if operand == RUNTIME[instruction.opcode] else None
        else:
            for operand in range(count):
                yield operand, None


@lru_cache(maxsize=4)
def order_of(computation: Computation) -> "Dict[Instruction, int]":
    """Return the position of each instruction in the computation."""
    return {instruction: n for n, instruction in enumerate(computation.instructions)}


def regions(region: Region) -> "Iterator[Region]":
    """Yield a region and all regions inside it, outer regions before inner regions."""
    waiting = [region]
    while waiting:
        here = waiting.pop()
        yield here
        for entry in here.entries:
            if entry.callee is None:
                waiting.extend(entry.regions)


def divisions(index: str) -> int:
    """Return the number of divisions and remainders in a map."""
    return 0 if index == EMPTY else len(algebra.divisions(index))


def compose(first: str, second: str) -> str:
    return EMPTY if EMPTY in (first, second) else algebra.compose(first, second)
