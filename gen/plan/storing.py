"""Choose the values that are stored in scratch buffers because that takes less time than computing them at each read.

The choice concerns values that are read more often than they have elements, or by several nests. For example, each step
of a stencil computation is read at several indices by the next step. A value with few elements may be broadcast, or be
the operand of a product. Such a value is either computed once and stored, or computed again at each read.

`Evaluations` counts from the maps how often each value is computed. `Evaluations.nanoseconds` estimates the time of a
choice for a class of devices. `chosen` decides about one value after another, operands before users. It stores a value
if that takes less time than computing the value at each read. Each computation of the value includes the values on
which it depends, unless they are stored. The estimate of the result is never above the estimate of storing all values,
nor above that of storing none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Collection, Dict, FrozenSet, List, NamedTuple, Sequence, Set, Tuple

from gen import algebra
from gen.hlo import CONTRACTIONS, Computation, Instruction, Leaf, dtypes
from gen.hlo.opcodes import ELEMENTWISE
from gen.plan import element_loops
from gen.plan.partition import (EMPTY, INLINE, PADS, PARTS, RUNTIME, STORED, Entry, Function, Partition, Read, Region,
                                divisions, moves_only)
from gen.plan.plan import stops
from gen.plan.scan import prefix
from gen.schedule import CALLED_COST, DIVISION_COST, SCATTERED_COST, SIDES_COST, STEP_COST, Costs


MOST_ENTRIES = 1 << 20
# `_improved` tries to remove each stored value from a choice only if (stored values * functions) is at most this
MOST_TRIED = 1 << 16


class Evaluation(NamedTuple):
    """The decision about a value that may be stored.

    reads: the number of reads in all.
    evaluations: the number of computations of single elements in all.
    stored: true if the value is stored.
    saved: the nanoseconds that storing this value saves, with all other decisions unchanged.
    """

    value: Instruction
    reads: float
    evaluations: float
    stored: bool
    saved: float


@dataclass(eq=False)
class _Work:
    """The work of one call of a function.

    instructions: the number of vector instructions, without those of called functions.
    calls: the part of `instructions` that a loop over single elements computes by calls of functions of math.h.
    ops: the number of ops of the graph that these instructions compute.
    entries: the number of entries (values in the code), without those of called functions.
    sides: true if it contains a pad or a concatenate.
    across: true if it contains one whose sides adjacent elements may need, because it is along the dimension that is
        contiguous in the function's value, or, in a reduce, in the operand.
    reads: for each other function, the number of times that it is called.
    sites: for each other function, the number of places in the code that call it.
    """

    instructions: float = 0.0
    calls: float = 0.0
    ops: float = 0.0
    entries: int = 0
    sides: bool = False
    across: bool = False
    reads: "Dict[Function, float]" = field(default_factory=dict)
    sites: "Dict[Function, int]" = field(default_factory=dict)


class Evaluations(Partition):
    """All values of a computation as one partition. Each value that is written in any case, and each value that may be
    stored, is a function. Results and the values in `ends` are written in any case.
    """

    def __init__(self, computation: Computation, leaves: "Sequence[Leaf]", ends: "Collection[Instruction]",
                 rows: bool = True) -> None:
        """rows: true if the values that depend only on a row's totals are computed once per row, by kernels of rows
        (gen/plan/rows.py).
        """
        self.leaves = leaves
        self.written: "Dict[Function, int]" = {}
        self._reached: "Set[Instruction]" = set()
        self._weights: "Dict[Region, float]" = {}
        # functions that compute the indices or the updates of a scatter, whose kernel has loops over single elements
        self._scattered: "Set[Function]" = set()
        self._reduced: "Set[Function]" = set()      # functions that compute reduces
        self._sides = _with_sides(computation, ends)
        self._totals, self._known = _totals(computation, ends) if rows else {}, _known(computation)
        super().__init__(computation, [], "", (), inline=0, cuts={end: 0 for end in ends})
        self.work = {function: self._work(function) for function in self.functions}
        # functions that a result's function reads directly
        self.last = {callee for function in self.written for callee in self.work[function].reads}
        self.candidates = [function for function in self.functions
                           if function.root is not None and storable(function.root)
                           and function.root not in self._known and not _reads_back(function.root)]

    # ---- the partition ----

    def _use_roots(self) -> None:
        self.functions.clear()
        walks: "Dict[Tuple[int, ...], Function]" = {}       # results with the same dimensions are computed in one loop
        for leaf in self.leaves:
            if leaf.shape.elements:
                dims = leaf.value.shape.leaves()[leaf.output].dims
                function = walks[dims] if dims in walks else walks.setdefault(dims, self._function(dims))
                self._use(self._resolve(leaf.value, function.index, leaf.output, function), function.body)

    def _use_all(self, values: "Sequence[Instruction]") -> Function:
        """Return a new function that computes values with the same dimensions in one loop."""
        function = self._function(values[0].shape.dims)
        for value in values:
            self._use(self._resolve(value, function.index, 0, function), function.body)
        return function

    def _function(self, dims: "Tuple[int, ...]") -> Function:
        """Add a function for a value that is written in any case, with the dimensions `dims`."""
        function = Function("", dims)
        self.functions.append(function)
        self.written[function] = math.prod(dims)
        return function

    def _use(self, read: Read, region: Region) -> None:
        if read.source in self.cuts and read.map != EMPTY:
            self._reached.add(read.source)
        super()._use(read, region)

    def _place_values(self) -> None:
        for instruction in reversed(self.computation.instructions):
            if instruction in self._reached and instruction.opcode == "scatter":
                count = len(instruction.operands) // 2
                for operand in instruction.operands[:count]:    # results begin as copies of these operands
                    if operand.shape.elements:
                        self._use_all([operand])
                for values in (instruction.operands[count:count + 1], instruction.operands[count + 1:]):
                    if values[0].shape.elements:
                        self._scattered.add(self._use_all(values))
            elif instruction in self._reached:
                function = self._function(instruction.shape.leaves()[0].dims)
                self._compute(instruction, function.body, function.index)
                if instruction.opcode == "reduce":
                    self._reduced.add(function)
            elif instruction in self._uses:
                self._place(instruction, list(self._uses[instruction]))

    def _inlined(self, instruction: Instruction, region: Region) -> bool:
        """Return true if a value is computed where it is read. That holds if it is read less than twice per element, or
        if a kernel of rows computes it once per row. The indices and updates of a scatter are functions, so that they
        may be stored, and so are operands of a reduce that have sides.
        """
        if region.function in self._scattered or (
                region.owner and region.owner.instruction.opcode == "reduce" and instruction in self._sides):
            return False
        reads, elements = self._weight(region) * math.prod(region.function.dims), instruction.shape.leaves()[0].elements
        return super()._inlined(instruction, region) and (reads < 2 * elements
                                                          or elements <= self._totals.get(instruction, 0))

    # ---- counting ----

    def _weight(self, region: Region) -> float:
        """Return the number of times that a region runs in one execution of its function."""
        if region not in self._weights:
            weight = 1.0 if region.parent is None else self._weight(region.parent)
            self._weights[region] = weight * self._share(region)
        return self._weights[region]

    def _share(self, region: Region) -> float:
        """Return the number of times that a region runs in one execution of the enclosing region."""
        entry = region.owner
        if entry is None:
            return 1.0
        instruction = entry.instruction
        if region.kind == "loop":
            own = [name for name in region.ranges if region.parent is None or name not in region.parent.ranges]
            return 1.0 if prefix(instruction) else math.prod(float(self.ranges[name]) for name in own)
        if region.kind != "guard" or instruction.opcode not in (*PADS, "concatenate", "dynamic-update-slice"):
            return 1.0
        number = {"dynamic-update-slice": 1, "concatenate": entry.regions.index(region)}.get(instruction.opcode, 0)
        return min(1.0, instruction.operands[number].shape.elements / max(1, instruction.shape.elements))

    def _work(self, function: Function) -> _Work:
        work, lane = _Work(), self._lane(function)
        waiting = [function.body]
        while waiting:
            region = waiting.pop()
            weight = self._weight(region)
            for entry in region.entries:
                if entry.callee is not None:
                    work.reads[entry.callee] = work.reads.get(entry.callee, 0.0) + weight
                    work.sites[entry.callee] = work.sites.get(entry.callee, 0) + 1
                    work.instructions += weight * DIVISION_COST * divisions(entry.map)
                    continue
                inner = self._weight(entry.regions[-1]) if _loops(entry) else weight
                if entry.instruction not in self._known:
                    work.instructions += inner * instructions(entry.instruction)
                    if calls(entry.instruction):
                        work.calls += inner * instructions(entry.instruction)
                    work.ops += inner * operations(entry.instruction)
                work.entries += 1
                work.sides = work.sides or entry.instruction.opcode in (*PADS, "concatenate")
                work.across = work.across or _is_across(entry, lane)
                waiting += entry.regions
        return work

    def _lane(self, function: Function) -> str:
        """Return the variable along which adjacent elements are contiguous, in the operand of a function's reduce, or
        in its value; "" if there is none.
        """
        if function in self._reduced:
            entry = function.body.entries[0]
            read = self.operand(entry, 0, entry.regions[-1])
            index, shape = read.map, read.source.shape.leaves()[read.output]
        elif function.root is not None:
            index, shape = function.index, function.root.shape.leaves()[0]
        else:
            return ""
        if index == EMPTY:
            return ""
        d = next((d for d in shape.minor_to_major if shape.dims[d] > 1), None)
        return "" if d is None else next((v.name for v in algebra.info(index).variables
                                          if algebra.access(index, v.name)[d].stride == 1), "")

    def counted(self, stored: "FrozenSet[Function]") -> "Dict[Function, Tuple[float, float]]":
        """Return, for each function, how often its value is read and how often it is computed, if the functions in
        `stored` are stored.
        """
        counts: "Dict[Function, Tuple[float, float]]" = {}
        reads: "Dict[Function, float]" = {}
        once: "Set[Function]" = set()
        passes = set(self.written)      # functions that a nest computes once per element
        for function in self.functions:     # callers come before the functions that they call
            elements = float(math.prod(function.dims))
            if function not in reads or (function in stored and function in self.last):
                passes.add(function)
            total = elements if function in self.written else reads.get(function, 0.0) + elements * (function in once)
            times = elements if function in self.written or function in stored else total
            counts[function] = total, times
            for callee, weight in self.work[function].reads.items():
                if self._shared(function in passes, function, callee):
                    once.add(callee)
                else:
                    reads[callee] = reads.get(callee, 0.0) + weight * times
        return counts

    def _shared(self, passes: bool, function: Function, callee: Function) -> bool:
        """Return true if calls of `callee` by `function` do not compute its value again. There are two cases: either
        `function` reads each element of the value once, in a nest that is shared with other readers of the value; or
        the value depends elementwise on a reduction's totals and is then broadcast, so that it is computed once per
        row. The kernel of a scatter shares nothing with other kernels.
        """
        if function in self._scattered:
            return False
        work, elements = self.work[function], math.prod(callee.dims)
        reads = work.reads[callee] * math.prod(function.dims)
        if callee.root and elements <= self._totals.get(callee.root, 0):
            return reads / work.sites[callee] >= 2 * elements
        return passes and abs(reads - elements) < 0.5

    def nanoseconds(self, stored: "FrozenSet[Function]", costs: Costs) -> float:
        """Return the estimated time of the whole computation in nanoseconds, if the functions in `stored` are stored.
        """
        counts, again = self.counted(stored), self._again(stored)
        # for each function that is not stored: the factor of its instructions' cost, which is the largest of its
        # callers' factors
        factors: "Dict[Function, float]" = {}
        scattered = set(self._scattered)    # functions that are computed in the kernel of a scatter
        across: "Set[Function]" = set()     # functions whose adjacent elements may need different sides
        for function in reversed(self.functions):
            work = self.work[function]
            if work.across or any(callee in across and callee not in stored for callee in work.reads):
                across.add(function)
        time = 0.0
        for function in self.functions:
            factor = factors.get(function, 1.0)
            if (function in self.written or function in stored) and again[function] > INLINE:
                factor = costs.called
            elif self.work[function].sides:
                factor = max(factor, costs.sides)
            if function in self._reduced and function in across:
                factor = max(factor, costs.single)
            reads, times = counts[function]
            time += times * self.work[function].instructions * costs.instruction * factor
            if function in scattered:
                time += times * self.work[function].calls * costs.instruction * (costs.scalar - 1)
            for callee in self.work[function].reads:
                if callee not in stored:
                    if function in scattered:
                        scattered.add(callee)
                    factors[callee] = max(factor, factors.get(callee, 1.0))
            if function in stored:
                time += costs.kernel + _bytes(function) * _per_byte(function, costs)
                time += reads * _loaded(function, costs)
        return time

    def _again(self, stored: "FrozenSet[Function]") -> "Dict[Function, int]":
        """Return, for each function, the number of values in its code that are copies of an earlier value, if all
        functions that are not stored are inlined.
        """
        entries: "Dict[Function, int]" = {}
        again: "Dict[Function, int]" = {}
        for function in reversed(self.functions):
            self._inline(function, [callee for callee in self.work[function].sites if callee not in stored], entries,
                         again)
        return again

    def _inline(self, function: Function, callees: "Sequence[Function]", entries: "Dict[Function, int]",
                again: "Dict[Function, int]") -> None:
        """Count the values in the code of `function` if `callees` are inlined. Write their number to entries[function],
        and the number of those that are copies of an earlier one to again[function]; at most MOST_ENTRIES each.
        """
        sites = self.work[function].sites
        entries[function] = self.work[function].entries + sum(entries[callee] * sites[callee] for callee in callees)
        entries[function] = min(entries[function], MOST_ENTRIES)
        again[function] = min(MOST_ENTRIES, sum((sites[callee] - 1) * entries[callee] + sites[callee] * again[callee]
                                                for callee in callees))

    def chosen(self, costs: Costs) -> "FrozenSet[Function]":
        """Return the functions whose values are to be stored."""
        stored: "Set[Function]" = set()
        readers: "Dict[Function, Dict[Function, float]]" = {}
        for function in self.functions:
            for callee, weight in self.work[function].reads.items():
                readers.setdefault(callee, {})[function] = weight
        # for each function: the time of one call, including calls of functions whose values are not stored
        time: "Dict[Function, float]" = {}
        # for each function: the time that a call takes longer in the kernel of a scatter
        slower: "Dict[Function, float]" = {}
        entries: "Dict[Function, int]" = {}
        repeated: "Dict[Function, int]" = {}
        sides: "Dict[Function, bool]" = {}
        across: "Dict[Function, bool]" = {}
        possible = set(self.candidates)
        passes = {function for function, (reads, _) in self.counted(frozenset()).items()
                  if function in self.written or reads <= math.prod(function.dims)}
        for function in reversed(self.functions):   # functions come before their callers
            work, elements = self.work[function], float(math.prod(function.dims))
            factor = costs.sides if work.sides else 1.0
            time[function] = factor * work.instructions * costs.instruction + sum(
                weight * (_loaded(callee, costs) if callee in stored
                          else time[callee] * (1 if sides[callee] else factor))
                for callee, weight in work.reads.items())
            slower[function] = (costs.scalar - 1) * work.calls * costs.instruction + sum(
                weight * slower[callee] for callee, weight in work.reads.items() if callee not in stored)
            sides[function] = work.sides or any(sides[callee] for callee in work.reads if callee not in stored)
            across[function] = work.across or any(across[callee] for callee in work.reads if callee not in stored)
            self._inline(function, [callee for callee in work.sites if callee not in stored], entries, repeated)
            if function not in possible:
                continue
            # assume that each caller is computed once per element
            of = readers.get(function, {})
            alone = [weight * math.prod(reader.dims) for reader, weight in of.items()
                     if not self._shared(reader in passes or reader in stored, reader, function)]
            reads = elements * (len(alone) < len(of)) + sum(alone)
            sites = sum(self.work[reader].sites[function] for reader in of)
            again = reads * time[function] + slower[function] * sum(
                weight * math.prod(reader.dims) for reader, weight in of.items() if reader in self._scattered)
            if across[function]:
                again += (costs.single - 1) * time[function] * sum(
                    weight * math.prod(reader.dims) for reader, weight in of.items() if reader in self._reduced)
            if (sites - 1) * entries[function] + sites * repeated[function] > INLINE:
                again *= costs.called
            once_ = (elements * time[function] + costs.kernel + _bytes(function) * _per_byte(function, costs)
                     + reads * _loaded(function, costs))
            if once_ < again:
                stored.add(function)
        return self._improved(frozenset(stored), costs)

    def _improved(self, stored: "FrozenSet[Function]", costs: Costs) -> "FrozenSet[Function]":
        """Return the fastest of four choices: `stored`, all values, the values that results read directly, and no
        values. From each choice, the values that take more time than they save are removed first.
        """
        best, least = frozenset(), math.inf     # type: FrozenSet[Function], float
        tried = [stored, frozenset(self.candidates), frozenset(self.last.intersection(self.candidates)),
                 best]     # type: List[FrozenSet[Function]]
        for some in dict.fromkeys(tried):
            time = self.nanoseconds(some, costs)
            if len(some) * len(self.functions) <= MOST_TRIED:
                for function in (function for function in self.functions if function in some):
                    without = self.nanoseconds(some - {function}, costs)
                    if without < time:
                        some, time = some - {function}, without
            if time < least:
                best, least = some, time
        return best

    def operations(self, stored: "FrozenSet[Function]") -> float:
        """Return the number of ops on single elements if the functions in `stored` are stored. Moves do not count."""
        return sum(times * self.work[function].ops for function, (_, times) in self.counted(stored).items())

    def graph_operations(self) -> float:
        """Return the number of ops on single elements if each value is computed once. Moves do not count."""
        return sum(float(math.prod(function.dims)) * self.work[function].ops for function in self.functions)


def _totals(computation: Computation, ends: "Collection[Instruction]") -> "Dict[Instruction, int]":
    """Return, for each value that depends on reduces in `ends`, the number of totals of the largest of these reduces.
    """
    most: "Dict[Instruction, int]" = {}
    for instruction in computation.instructions:
        counts = [max(most.get(o, 0), o.shape.leaves()[0].elements if o.opcode == "reduce" and o in ends else 0)
                  for o in instruction.operands]
        if any(counts):
            most[instruction] = max(counts)
    return most


@dataclass(frozen=True)
class Storage:
    """The choice of the stored values. evaluations: all values. chosen: the functions whose values are stored."""

    evaluations: "Evaluations"
    chosen: "FrozenSet[Function]"
    costs: Costs

    @property
    def stored(self) -> "List[Instruction]":
        return [function.root for function in reversed(self.evaluations.functions)
                if function in self.chosen and function.root is not None]

    @property
    def operations(self) -> float:
        """Return the number of ops on single elements that the plan computes. Moves do not count."""
        return self.evaluations.operations(self.chosen)

    @property
    def factor(self) -> float:
        """Return the mean number of times that an op of the graph is computed."""
        graph = self.evaluations.graph_operations()
        return self.operations / graph if graph else 1.0

    def values(self) -> "List[Evaluation]":
        """Return the decisions about the values that are stored, and about the values that are read more often than
        they have elements.
        """
        counts = self.evaluations.counted(self.chosen)

        def time(stored: "FrozenSet[Function]") -> float:
            return self.evaluations.nanoseconds(stored, self.costs)

        return [Evaluation(function.root, *counts[function], function in self.chosen,
                           time(self.chosen - {function}) - time(self.chosen | {function}))
                for function in reversed(self.evaluations.candidates) if function.root is not None
                and (function in self.chosen or counts[function][0] > math.prod(function.dims))]


def storage(computation: Computation, leaves: "Sequence[Leaf]", costs: Costs) -> Storage:
    """Return the values that a computation of `leaves` stores, chosen by `costs`."""
    evaluations = Evaluations(computation, leaves, {i for i in computation.instructions if stops(i)},
                              costs.rows)
    return Storage(evaluations, evaluations.chosen(costs), costs)


def levels(computation: Computation, cuts: "Collection[Instruction]") -> "Dict[Instruction, int]":
    """Return the level of each value. It is the maximum number of values in `cuts` on a path from the value to its
    operands, their operands, and so on.
    """
    level: "Dict[Instruction, int]" = {}
    for instruction in computation.instructions:
        level[instruction] = max((level[o] + (o in cuts) for o in instruction.operands), default=0)
    return level


def _known(computation: Computation) -> "Set[Instruction]":
    """Return the scalars that depend only on constants. A C compiler computes them at compile time."""
    known: "Set[Instruction]" = set()
    for instruction in computation.instructions:
        if not instruction.shape.dims and instruction.shape.kind == "array" and (
                instruction.opcode == "constant"
                or instruction.operands and all(o in known for o in instruction.operands)):
            known.add(instruction)
    return known


def storable(instruction: Instruction) -> bool:
    """Return true if a value may be stored in a scratch buffer. It must be one array of whole bytes. It must
    not be a real or imaginary part that is read from a complex array in place.
    """
    return instruction.shape.kind == "array" and instruction.shape.dtype not in dtypes.PACKED \
        and not instruction.attributes.get(PARTS)


def _reads_back(instruction: Instruction) -> bool:
    """Return true if a value only rearranges elements of values that are stored in any case, so that storing it would
    save nothing.
    """
    waiting, seen = [instruction], {instruction}
    while waiting:
        value = waiting.pop()
        if value.attributes.get(STORED):
            continue
        if not moves_only(value) and value.opcode != "concatenate":
            return False
        waiting += [operand for operand in value.operands if operand not in seen]
        seen.update(value.operands)
    return True


def instructions(instruction: Instruction) -> float:
    """Return the number of vector instructions that compute one element, or one step of a loop. Elements wider
    than 4 bytes count more.
    """
    dtype = instruction.shape.leaves()[0].dtype
    factor = max(1.0, dtypes.storage_bytes(dtype) / 4) * (3 if dtypes.TABLE[dtype].kind == "complex" else 1)
    row = ELEMENTWISE.get(instruction.opcode)
    if row is not None:
        return row.cost * factor
    if instruction.opcode in RUNTIME:
        return SCATTERED_COST * factor
    if instruction.opcode in (*PADS, "concatenate"):
        return SIDES_COST * factor
    if instruction.opcode in CONTRACTIONS:
        return STEP_COST * factor
    return factor * max(1.0, operations(instruction))


def calls(instruction: Instruction) -> bool:
    """Return true if a loop over single elements computes an op by a call of a function of math.h."""
    row = ELEMENTWISE.get(instruction.opcode)
    return row is not None and row.cost >= CALLED_COST and dtypes.TABLE[instruction.shape.dtype].kind in ("float",
                                                                                                       "complex")


def operations(instruction: Instruction) -> float:
    """Return the number of ops that compute one element, or one step of a loop. A move counts 0."""
    if instruction.opcode in ELEMENTWISE:
        return 1.0
    if instruction.opcode in CONTRACTIONS:
        return 2.0
    times = element_loops.steps(instruction) if instruction.opcode == element_loops.OPCODE else 1
    return times * sum(operations(inner) for called in instruction.called for inner in called.instructions
                       if inner.opcode in ELEMENTWISE)


def _with_sides(computation: Computation, ends: "Collection[Instruction]") -> "Set[Instruction]":
    """Return the values whose computation from stored values contains a pad or a concatenate."""
    found: "Set[Instruction]" = set()
    for instruction in computation.instructions:
        if instruction not in ends and (instruction.opcode in ("pad", "concatenate")
                                        or not found.isdisjoint(instruction.operands)):
            found.add(instruction)
    return found


def _is_across(entry: Entry, lane: str) -> bool:
    """Return true if the entry is a pad or a concatenate along a dimension in which the variable `lane` moves."""
    instruction = entry.instruction
    if not lane or instruction.opcode not in ("pad", "concatenate"):
        return False
    along = instruction.attributes["dimensions"] if instruction.opcode == "concatenate" else [
        d for d, sides in enumerate(instruction.attributes["padding"]) if any(sides)]
    strides = algebra.access(entry.map, lane)
    return any(strides[d].stride != 0 for d in along)


def _loops(entry: Entry) -> bool:
    return bool(entry.regions) and entry.regions[0].kind == "loop"


def _bytes(function: Function) -> float:
    assert function.root is not None
    return float(function.root.shape.bytes)


def _per_byte(function: Function, costs: Costs) -> float:
    return costs.byte if _bytes(function) > costs.cache else costs.cached_byte


def _loaded(function: Function, costs: Costs) -> float:
    """Return the time in nanoseconds to read one element of a stored value."""
    elements = math.prod(function.dims)
    return costs.instruction + _bytes(function) / max(1, elements) * _per_byte(function, costs)
