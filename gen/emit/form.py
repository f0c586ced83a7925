"""Describe the code of a function before any of its statements exists: what it computes, and which vectors, guards and
index types its maps allow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Callable, Collection, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, \
    Tuple, Union

from gen import algebra
from gen.emit.maps import narrowed
from gen.emit.values import Access, Value
from gen.hlo import LOOPS, Instruction, Shape, dtypes
from gen.plan import element_loops
from gen.plan.buffer import Buffer
from gen.plan.buffers import buffer_of, leads_of, memory_map
from gen.plan.digits import strides
from gen.plan.partition import EMPTY, PADS, RUNTIME, Entry, Function, Partition, Read, Region, Root, Runtime, compose, \
    loop_sizes, regions
from gen.schedule import GUARD_REGISTERS, PICKED_STRIDE, VECTOR_BITS, Schedule
from gen.targets import TINY, Target, bits

# the values of an instruction, one for each output, or a function of the body that computes them
Given = Union[List[Value], Callable[[Any], List[Value]]]


class Pitch(NamedTuple):
    """The distances in memory between the lanes of a tile, in units of `Schedule.joined` elements. If `group` is 0,
    `strides` has a single distance, that of all neighbouring lanes. Otherwise it has two: the distance of neighbouring
    lanes in a group of `group` lanes, then the distance between the first lanes of neighbouring groups.
    """

    strides: Tuple[int, ...]
    group: int = 0


class Near(NamedTuple):
    """Conditions about a register and a guard that only some of its lanes may satisfy. Each condition is the domain of
    a map without results; None if the condition never holds.

    unbroken: the guard's expression has a constant stride along the lanes.
    near: true wherever `unbroken` holds and some lane satisfies the guard.
    """

    unbroken: Optional[str]
    near: Optional[str]


@dataclass(frozen=True)
class Uneven:
    """The conditions of a guarded region in which some lanes of a register may be inside while other lanes are outside.

    every: a map without results. In its domain, all lanes are inside. None if the domain is empty.
    index: the map from the lane to the index of the guarded operand.
    some: for each guard, a condition that is true wherever any lane is inside; None if no lane is ever inside.
    """

    every: Optional[str]
    index: str
    some: "Optional[Tuple[Near, ...]]"


class Runs(NamedTuple):
    """Rows of equal length. Within a row, a map has a constant stride along the lanes.

    place: the map to the position of the first lane in its row.
    last: the last position from which all lanes of a register fit into the row.
    stride: the stride.
    """

    place: str
    last: int
    stride: int


class Visit(NamedTuple):
    """A read, a call or a guard in a body.

    region: the region that contains it.
    wide: true if it runs for whole vectors, false if it runs for single lanes.
    in_loop: true if it is inside the loop of a reduce, window or sum.
    """

    read: Optional[Read]
    call: Optional[Entry]
    guard: Optional[Region]
    region: Region
    wide: bool
    in_loop: bool


class Rows(NamedTuple):
    """The registers of a step that an `element-loop` runs in one loop. end: the number of registers, as C text. most:
    the maximum of this number.
    """

    end: str
    most: int


@dataclass(eq=False)
class Form:
    """The plan of a function's code: for whole vectors or for single elements, and with index variables of its own or
    those of a kernel's work-items.

    thread: the map from a work-item and its step to the function's index; "" if the function has its own index
        variables.
    box: the bounds of the variables of `thread`.
    loop: the schedule of a step.
    steady: true if runtime variables that are the same for a whole step are read before the step.
    strip: the name of the variable that counts register tiles along the dimension of the lanes.
    walked: an array shape; successive steps compute elements that follow each other in its memory order.
    staged: the elements that are in a shared-memory tile. Key: pointer and position in the buffer. Value: C text of the
        element in the tile.
    given: the values of instructions that other code computes, by instruction; or a function that computes the values
        at the first read.
    shared: buffers that the kernel also accesses through another pointer.
    reads_first: true if a step makes all its reads before its first write.
    stores: the roots that are stored; None if all roots are.
    stored_lanes: the C texts of the first stored lane and of the lane after the last one; None if all lanes are stored.
    rows: the registers that an `element-loop` runs in one loop, or None.
    """

    partition: Partition
    function: Function
    thread: str = ""
    loop: Schedule = field(default_factory=Schedule)
    box: "Dict[str, Tuple[int, int]]" = field(default_factory=dict)
    steady: bool = False
    strip: str = ""
    walked: "Optional[Shape]" = None
    staged: "Mapping[Tuple[str, str], str]" = field(default_factory=dict)
    given: "Mapping[Instruction, Given]" = field(default_factory=dict)
    shared: "Collection[Buffer]" = ()
    reads_first: bool = False
    stores: "Optional[Sequence[Root]]" = None
    stored_lanes: "Optional[Tuple[str, str]]" = None
    rows: "Optional[Rows]" = None

    def __post_init__(self) -> None:
        self.lanes = self.loop.lanes
        self._varying: "Dict[Tuple[Read, Region], bool]" = {}
        own = {f"i{k}": (0, size - 1) for k, size in enumerate(self.function.dims)}
        self.box = {**(self.box or own), **{name: (0, size - 1) for name, size in self.partition.ranges.items()},
                    **leads_of([*(leaf for p in self.partition.computation.parameters for leaf in p.shape.leaves()),
                                *(root.shape for root in self.partition.roots)])}

    def mapped(self, index: str) -> str:
        return compose(self.thread, index) if self.thread else index

    @property
    def moves(self) -> bool:
        """Return true if the body only moves elements. It then treats them as unsigned integers of the same width."""
        return self.loop.moves

    # ---- accesses ----

    def element_type(self, dtype: str) -> str:
        """Return the type that elements have in the body: `dtype`, or an unsigned integer if the body only moves
        elements.
        """
        return f"u{bits(dtype) * self.loop.joined}" if self.moves else dtype

    def stride(self, index: str, variable: str) -> "Tuple[Optional[int], int]":
        if variable == "lane" and self.differing(index):
            return None, 1
        access = algebra.access(index, variable)[0]
        return access.stride, access.align

    def open(self, region: Region) -> bool:
        """Return true if the reads of a region may be made before the loops of a step. That holds for the function's
        body, and for a region whose runtime variables are read before the step.
        """
        return region is self.function.body or (
            region.kind == "read" and region.parent is not None and self.bound_before(region.runtimes, region.parent))

    def bound_before(self, runtimes: "Tuple[Runtime, ...]", where: Region) -> bool:
        """Return true if runtime variables are read before the loops of a step. This is possible if each of them is
        read from memory, at one position for the whole step.
        """
        if not self.steady or not self.open(where):
            return False
        buffers = [(buffer_of(self.partition, runtime.read), runtime.read.map) for runtime in runtimes]
        flats = [self.mapped(compose(index, memory_map(buffer.shape))) if buffer else EMPTY
                 for buffer, index in buffers]
        return all(flat != EMPTY and not {"vec", "lane", "down", "row"} & set(algebra.info(flat).results[0].variables)
                   for flat in flats)

    def is_along_rows(self, flat: str, region: Region) -> bool:
        """Return true if an access of a tile is contiguous along the rows of the tile, and not along its lanes."""
        if not self.loop.tile or not self.open(region):
            return False
        return self.pitch(flat) is not None and self.stride(flat, "vec")[0] == self.loop.joined

    def pitch(self, flat: str) -> Optional[Pitch]:
        """Return the strides between a tile's lanes in memory. Return None if the lanes are adjacent, or if the strides
        are not constant.
        """
        unit, (stride, align) = self.loop.joined, self.stride(flat, "lane")
        if stride is not None:
            return Pitch((stride // unit,)) if stride > unit and not stride % unit and not align % unit else None
        group = 2
        while group < self.lanes:
            (low, align), (high, _) = self.split(flat, "lane", group)
            if low is not None and high is not None and low > 0 and high > 0 and not (
                    low % unit or high % unit or align % unit):
                return Pitch((low // unit, high // unit), group)
            group *= 2
        return None

    def split(self, flat: str, name: str, group: int) -> "Tuple[Tuple[Optional[int], int], Tuple[Optional[int], int]]":
        """Split a variable of a map into a remainder mod `group` and a quotient. Return the map's stride and alignment
        along the remainder, then along the quotient.
        """
        variables, size = algebra.info(flat).variables, self.box[name][1] + 1
        others = [v for v in variables if v.name != name]
        domain = [f"{v.name} in [{v.lo}, {v.hi}]"
                  for v in others] + [f"low in [0, {group - 1}]", f"high in [0, {size // group - 1}]"]
        split = ", ".join(f"low + high * {group}" if v.name == name else v.name for v in variables)
        whole = algebra.rename(algebra.call("map", "dims", flat), *(f"x{k}" for k in range(len(variables))))
        digits = compose(
            algebra.simplify(
                f"({', '.join([*(v.name for v in others), 'low', 'high'])}) -> ({split}), domain: {', '.join(domain)}"
            ),
            whole,
        )
        return self.stride(digits, "low"), self.stride(digits, "high")

    def rows_of_words(self, flat: str, dtype: str) -> bool:
        """Return true if a step interleaves rows by single elements, and each of its rows is contiguous, aligned to 16
        bytes, and a multiple of 16 bytes long.
        """
        n, size = self.loop.interleaved_rows, bits(dtype) // 8
        if n == 1 or self.loop.step * size % (16 * n):
            return False
        (low, _), (high, align) = self.split(flat, "vec", n)
        return low is not None and high == 1 and align * size % 16 == 0

    def word_bytes(self, flat: str, dtype: str) -> int:
        """Return the width in bytes of the words in which the elements of a step can be accessed. It is at most 16, and
        limited by the map's alignment. Return 0 if that is not wider than an element.
        """
        align, size, total = self.stride(flat, "vec")[1], 16, self.loop.step * bits(dtype) // 8
        while size > bits(dtype) // 8 and (total % size or align * (bits(dtype) // 8) % size):
            size //= 2
        return size if size > bits(dtype) // 8 else 0

    @property
    def registers_down(self) -> int:
        """Return the number of registers in each row of a step. They are adjacent along the dimension of the lanes."""
        return self.box["down"][1] + 1 if "down" in self.box else 1

    @property
    def interleaves_words(self) -> bool:
        """Return true if a step moves whole cache lines from interleaved words to rows, or from rows to words, in
        registers.
        """
        return self.moves and self.registers_down == self.loop.interleaved > 1

    def in_words(self, flat: str, dtype: str, unit: int) -> bool:
        """Return true if each group of interleaved elements fills one 32-bit word, and the first word of a step is
        aligned to `unit` elements.
        """
        if self.loop.interleaved == 1 or self.stride(flat, "lane")[0] != self.loop.interleaved or self.moves \
                or bits(dtype) * self.loop.interleaved != 32:
            return False
        stride, align = self.stride(algebra.substitute(flat, lane=0), "vec")
        return stride == 1 and align % unit == 0

    def is_interleaved(self, flat: str, region: Region) -> bool:
        """Return true if adjacent elements of an access belong to different registers of a step, so that shuffles
        distribute them.
        """
        if (self.loop.interleaved_rows == 1 or not self.open(region)
            or self.stride(flat, "lane")[0] != self.loop.interleaved_rows):
            return False
        start = algebra.substitute(flat, lane=0)
        return self.stride(start, "vec")[0] == 1

    def is_contiguous(self, flat: str, dtype: str) -> bool:
        """Return true if the elements of a register are adjacent in memory. If the schedule joins several elements to
        one, the joined elements must be adjacent.
        """
        stride, align = self.stride(flat, "lane")
        return stride == self.loop.joined and dtype not in TINY and align % self.loop.joined == 0

    def is_picked(self, flat: str, buffer: Buffer) -> bool:
        """Return true if a register's elements are picked from whole vectors that are loaded. Such a load also reads
        the elements in between. It is not used if a result is updated in place, because another work-item may write
        the elements in between at the same time.
        """
        stride = self.stride(flat, "lane")[0]
        return stride is not None and self.element_type(buffer.shape.dtype) not in TINY and (
            stride == -1 or (2 <= stride <= PICKED_STRIDE and buffer not in self.shared))

    @property
    def start(self) -> "Dict[str, int]":
        """Return, for each variable of a step, its value at the step's first element."""
        return {"lane": 0, "vec": 0, **({"down": 0} if self.registers_down > 1 else {}),
                **({"fused": 0} if self.loop.fused_steps > 1 else {})}

    def unbroken(self, index: str) -> Optional[Runs]:
        """Return rows such that a map has a constant stride along the lanes within each row, but another stride across
        the end of a row. Return None if the stride is constant everywhere, if there are no such rows, or if a row is
        shorter than the lanes of a register. index: a map of the function's index.
        """
        if (self.walked is None or len(algebra.info(index).variables) != len(self.function.dims) or index == EMPTY
            or self.stride(self.mapped(index), "lane")[0] is not None):
            return None
        position = self.mapped(algebra.call("shape", "map", self.walked.text))
        step = self.stride(position, "lane")[0]
        digits = strides(compose(algebra.call("shape", "unmap", self.walked.text), index))
        if not step or not digits:
            return None
        (*_, row), (*_, stride) = digits
        last = row - 1 - step * (self.loop.lanes - 1)
        if last < 0:
            return None
        size = algebra.info(position).results[0].hi + 1
        return Runs(compose(algebra.substitute(position, lane=0),
                            f"(position) -> (position mod {row}), domain: position in [0, {size - 1}]"),
                    last, step * stride)

    def has_prefetches(self) -> bool:
        """Return true if a step of whole vectors prefetches some of its reads."""
        if self.loop.lanes == 1 or not any(distance for _, distance in self.loop.prefetches()):
            return False
        if self.interleaves_words:
            return True
        for visit in self.visits:
            buffer = buffer_of(self.partition, visit.read) if visit.read and visit.wide else None
            flat = self.mapped(self.position(visit.read)) if visit.read and buffer else EMPTY
            if buffer and flat != EMPTY and not self.is_along_rows(flat, visit.region):
                dtype, own = self.element_type(buffer.shape.dtype), visit.region is self.function.body
                if self.is_interleaved(flat, visit.region) or own and (
                        self.in_words(flat, dtype, self.loop.interleaved) or self.is_contiguous(flat, dtype)):
                    return True
        return False

    def beyond_registers(self) -> bool:
        """Return true if a step of whole vectors has a load or a store that fills or stores several registers at once.
        """
        body, unit = self.function.body, self.loop.interleaved
        reads = [(visit.read, buffer_of(self.partition, visit.read), visit.region) for visit in self.visits
                 if visit.read and visit.wide]
        accesses = [(self.mapped(self.position(read)), self.element_type(buffer.shape.dtype), region, unit)
                    for read, buffer, region in reads if buffer]
        accesses += [(self.mapped(compose(root.at or root.map, memory_map(root.shape))),
                      self.element_type(root.shape.dtype),
                      body, unit * self.lanes) for root in self.written_roots]
        return any(self.is_along_rows(flat, region) or self.is_interleaved(flat, region)
                   or self.open(region) and self.in_words(flat, dtype, of) for flat, dtype, region, of in accesses)

    # ---- lanes ----

    def differing(self, index: str) -> "List[str]":
        """Return the runtime variables of a map that differ between lanes."""
        return [v.name for v in algebra.info(index).variables if v.name in self.of_lanes] if self.of_lanes else []

    @cached_property
    def of_lanes(self) -> "Set[str]":
        """Return all runtime variables that differ between lanes."""
        found: "Set[str]" = set()
        if self.loop.lanes == 1:
            return found
        # `_varies` reads this property while it is still incomplete, because an index may depend on earlier runtime
        # variables
        self.of_lanes = found
        for region in regions(self.function.body):
            if region.runtimes:
                where = region.parent or self.function.body
                found |= {runtime.name for runtime in region.runtimes if self._varies(runtime.read, where)}
        return found

    def _varies(self, read: Read, region: Region) -> bool:
        """Return true if the value of a read differs between lanes."""
        waiting = [(read, region)]
        while waiting:
            key = waiting[-1]
            own, operands = self._own_lanes(*key)
            missing = [operand for operand in operands if operand not in self._varying]
            if not missing:
                self._varying[key] = own or any(self._varying[operand] for operand in operands)
                waiting.pop()
            waiting += missing
        return self._varying[read, region]

    def _own_lanes(self, read: Read, region: Region) -> "Tuple[bool, List[Tuple[Read, Region]]]":
        """Return true if a value differs between lanes whatever its operands are. Otherwise return false, and a list of
        operands: the value differs between lanes if one of these operands does.
        """
        source = read.source
        if read.map == EMPTY:
            return False, []
        if source in self.given or source in self.partition.given:
            return True, []
        index = self.position(read)
        if index:
            return self.stride(self.mapped(index), "lane")[0] != 0, []
        if source.opcode == "constant":
            return False, []
        entry = self._entries[source, self.partition.home(read, region), read.map]
        if entry.callee is not None:
            return not self.is_uniform_call(entry), []
        opcode = entry.instruction.opcode
        if opcode == "reduce" or opcode in LOOPS or opcode in PADS or opcode in (
                "concatenate", "dynamic-update-slice", element_loops.OPCODE):
            return True, []
        if opcode in RUNTIME:
            return False, [(self.partition.operand(entry, 0, entry.regions[0]), entry.regions[0])]
        return False, [(self.partition.operand(entry, k), entry.region)
                       for k in range(len(entry.instruction.operands))]

    @cached_property
    def _entries(self) -> "Dict[Tuple[Instruction, Region, str], Entry]":
        return {(entry.instruction, region, entry.map): entry
                for region in regions(self.function.body) for entry in region.entries}

    def is_uniform_call(self, entry: Entry) -> bool:
        """Return true if the arguments of a call are the same for all lanes."""
        index = self.mapped(entry.map)
        return self.lanes == 1 or (
            not self.differing(index) and all(a.stride == 0 for a in algebra.access(index, "lane")))

    def position(self, read: Read) -> str:
        """Return the map from the function's index to the position of a read in a buffer or in a table of constants;
        for an iota, the map to its value. Return "" for other reads.
        """
        buffer, source = buffer_of(self.partition, read), read.source
        if buffer:
            return compose(read.map, memory_map(buffer.shape))
        if source.opcode == "constant" and len(set(source.literal or [])) > 1:
            row_major = f"{source.shape.dtype}[{','.join(map(str, source.shape.dims))}]"
            return compose(read.map, algebra.call("shape", "map", row_major))
        if source.opcode == "iota":
            dims, dimension = source.shape.dims, source.attributes["iota_dimension"]
            pick = algebra.call("op", "broadcast", "0", f"out={algebra.numbers(dims)}", f"in={dims[dimension]}",
                                f"dimensions={dimension}")
            return compose(read.map, pick)
        return ""

    # ---- guards ----

    def uniform(self, region: Region) -> Optional[str]:
        """Return the map to the index of the guarded operand for lane 0, if the guard is the same for all lanes. Return
        EMPTY if the guard never holds, and None if the guard differs between lanes.
        """
        index = self.mapped(region.map)
        if index == EMPTY or self.loop.lanes == 1:
            return index
        if self.differing(index):
            return None
        of_thread = algebra.guards(self.thread) if self.thread else ()
        lane = next(v for v in algebra.info(index).variables if v.name == "lane")
        if (lane.lo, lane.hi) != self.box["lane"] or any("lane" in guard.variables for guard in algebra.guards(index)
                                                         if guard not in of_thread):
            return None
        return algebra.substitute(index, lane=0)

    def uneven(self, region: Region) -> Optional[Uneven]:
        """Return the conditions of a region whose guard may be true for some lanes of a register and false for others.
        Return None if these conditions do not allow vectors. For example, the guarded index must have a constant stride
        along the lanes of at least GUARD_REGISTERS adjacent registers.
        """
        index = self.mapped(region.map)
        if self.differing(index) or self.walked is None \
                or len(algebra.info(region.map).variables) != len(self.function.dims):
            return None
        position, lanes = self.mapped(algebra.call("shape", "map", self.walked.text)), self.loop.lanes
        step = self.stride(position, "lane")[0]
        if not step:
            return None
        first, reach = algebra.substitute(position, lane=0), step * (lanes - 1)
        of_position = compose(algebra.call("shape", "unmap", self.walked.text), region.map)
        if of_position == EMPTY:
            return Uneven(None, index, None)
        (variable,), guards = algebra.info(of_position).variables, algebra.guards(of_position)
        size = self.walked.elements
        if narrowed(of_position, {variable.name: (0, size - 1)}):
            guards = (algebra.Guard((variable.name,), variable.lo, variable.hi, variable.name), *guards)
        every, some = [], []
        for guard in guards:
            value = f"({variable.name}) -> ({guard.text}), domain: {variable.name} in [0, {size - 1}]"
            digits = strides(algebra.simplify(value))
            if not digits or (digits[1][-1] and digits[0][-1] < GUARD_REGISTERS * lanes * step):
                return None
            (*_, row), (*_, stride) = digits
            start, change = compose(first, value), stride * reach
            up, down = max(change, 0), min(change, 0)
            run = (compose(first, f"(position) -> (position mod {row}), domain: position in [0, {size - 1}]"),
                   0, row - 1 - reach)
            every += [run, (start, guard.lo - down, guard.hi - up)]
            some.append(Near(_inside(run), _inside((start, guard.lo - up, guard.hi - down))))
        return Uneven(_inside(*every), index, tuple(some))

    def vectors(self) -> bool:
        """Return true if the guards and the accesses allow the vectors of the schedule."""
        for visit in self.visits:
            if visit.guard and visit.wide and self.uniform(visit.guard) is None \
                    and (visit.in_loop or self.uneven(visit.guard) is None):
                return False
            if visit.read and visit.wide and self.moves and not self._is_moved(visit.read, visit.region):
                return False
        return all(map(self._stores, self.written_roots))

    @property
    def written_roots(self) -> "Sequence[Root]":
        if self.function is not self.partition.entry:
            return ()
        return self.partition.roots if self.stores is None else self.stores

    def _is_moved(self, read: Read, region: Region) -> bool:
        """Return true if whole vectors can be loaded for a read in a function that only moves elements. The elements
        must be adjacent, in ascending or descending order, or interleaved. If the schedule joins no elements, they may
        also be picked from whole vectors.
        """
        buffer = buffer_of(self.partition, read)
        flat = self.mapped(self.position(read)) if buffer else EMPTY
        return buffer is None or self.is_along_rows(flat, region) or self.is_interleaved(flat, region) \
            or self.is_contiguous(flat, self.element_type(buffer.shape.dtype)) \
            or self.loop.joined == 1 and self.is_picked(flat, buffer)

    def _stores(self, root: Root) -> bool:
        """Return true if the schedule can store the elements of a root."""
        dtype, body = self.element_type(root.shape.dtype), self.function.body
        flat = self.mapped(compose(root.at or root.map, memory_map(root.shape)))
        if self.moves and self.registers_down == self.loop.interleaved > 1:
            return self._interleaved(root, flat)
        if dtype in dtypes.PACKED:
            per, step = dtypes.per_byte(dtype), self.loop.step
            stride, align = self.stride(flat, "vec") if self.box.get("vec", (0, 0)) != (0, 0) else (1, per)
            return self.lanes == 1 and stride == 1 and (step == 1 or not (step % per or align % per))
        # a kernel that only moves bits must store vectors: storing a lane would convert its bits to a number
        by_lane = self.loop.joined == 1 and not self.moves
        return by_lane or self.is_along_rows(flat, body) or self.is_interleaved(flat, body) \
            or self.is_contiguous(flat, dtype)

    def _interleaved(self, root: Root, flat: str) -> bool:
        """Return true if a step that interleaves rows reads and writes whole cache lines. In one of the two
        arrays, a line contains interleaved words of several rows; in the other array, a line belongs to one row.
        """
        whole, read = VECTOR_BITS // bits(root.shape.dtype), self.partition.root_read(root)
        flats = [self.mapped(self.position(read)), flat]
        words = [self.stride(flat, "lane")[0] == self.loop.interleaved for flat in flats]
        for flat, in_words in zip(flats, words):
            stride, align = self.stride(algebra.substitute(flat, lane=0, **{"vec" if in_words else "down": 0}),
                                        "down" if in_words else "vec")
            if stride is None or stride % whole or align % whole:
                return False
        return words[0] != words[1]

    # ---- reads, calls and guards ----

    @cached_property
    def visits(self) -> "List[Visit]":
        """Return the reads, calls and guards of the body, in the order of its code."""
        return list(self._of_body())

    def _of_body(self) -> "Iterator[Visit]":
        wide, body = self.loop.lanes > 1, self.function.body
        yield from self._visited(body, wide, False)
        roots = self.partition.roots if self.function is self.partition.entry else []
        for root in roots:
            yield Visit(self.partition.root_read(root), None, None, body, wide, False)
            for runtime in self.partition.starts(root):
                yield Visit(runtime.read, None, None, body, wide, False)
        if self.function is self.partition.entry:
            for scalar in self.partition.scalars:
                yield Visit(self.partition.scalar_read(scalar), None, None, body, wide, False)

    def _visited(self, region: Region, wide: bool, in_loop: bool) -> "Iterator[Visit]":
        for entry in region.entries:
            if entry.callee is not None:
                yield Visit(None, entry, None, region, wide, in_loop)
                continue
            loops = entry.instruction.opcode == "reduce" or entry.instruction.opcode in LOOPS
            for of in [] if loops else entry.regions:
                for runtime in of.runtimes:
                    yield Visit(runtime.read, None, None, region, wide, in_loop)
            # for each region, whether its code is written for whole vectors (True), for single lanes (False), or for
            # both
            entered: "Dict[Region, Tuple[bool, ...]]" = {}
            for operand, inner in self.partition.operands(entry):
                if inner is None:
                    yield Visit(self.partition.operand(entry, operand), None, None, region, wide, in_loop)
                    continue
                read, within = self.partition.operand(entry, operand, inner), in_loop or loops
                if inner not in entered:
                    if inner.kind == "guard" and read.map != EMPTY:
                        yield Visit(None, None, inner, region, wide, within)
                    entered[inner] = self._enters(entry, inner, wide, loops)
                    for lanes in entered[inner]:
                        yield from self._visited(inner, lanes, within)
                for lanes in entered[inner]:
                    yield Visit(read, None, None, inner, lanes, within)

    def _enters(self, entry: Entry, inner: Region, wide: bool, loops: bool) -> "Tuple[bool, ...]":
        """Return how the code of a region is written: for whole vectors (True), for single lanes (False), for both, or
        not at all if nothing is inside its guard.
        """
        if loops and (0 in loop_sizes(entry.instruction)
                      or self.partition.operand(entry, 0, entry.regions[-1]).map == EMPTY):
            return ()
        if inner.kind != "guard":
            return (wide,)
        if inner.map == EMPTY or self.mapped(inner.map) == EMPTY:
            return ()
        if not wide or self.uniform(inner) is not None:
            return (wide,)
        uneven = self.uneven(inner)
        return (True, False) if uneven is None or uneven.every is not None else (False,) if uneven.some else ()

    # ---- widths of accesses ----

    def accesses(self, d: Target) -> "List[Access]":
        """Return the accesses to buffers, each with the number of elements that it accesses at once. d: the language.
        """
        found: "Dict[Access, None]" = {}
        for visit in self.visits:
            buffer = buffer_of(self.partition, visit.read) if visit.read else None
            if visit.read and buffer:
                flat = self.mapped(self.position(visit.read))
                if flat != EMPTY and (buffer.pointer, flat) not in self.staged:
                    of = self._read_at_once(d, visit, buffer, flat)
                    found[Access("read", buffer, flat, of)] = None
        for root in self.written_roots:
            flat = self.mapped(compose(root.at or root.map, memory_map(root.shape)))
            if flat != EMPTY and (root.buffer.pointer, flat) not in self.staged:
                found[Access("write", root.buffer, flat, self._written_at_once(d, root, flat))] = None
        return list(found)

    def _read_at_once(self, d: Target, visit: Visit, buffer: Buffer, flat: str) -> int:
        dtype, open_ = self.element_type(buffer.shape.dtype), self.open(visit.region)
        if dtype in dtypes.PACKED:
            return 1
        if not visit.wide:
            return self._step_at_once(d, flat, dtype, open_)
        whole = self.is_along_rows(flat, visit.region) or open_ and self.in_words(flat, dtype, self.loop.interleaved) \
            or self.is_interleaved(flat, visit.region) or self.is_contiguous(flat, dtype) \
            or self.is_picked(flat, buffer)
        return self.lanes * self.loop.joined if whole else 1

    def _written_at_once(self, d: Target, root: Root, flat: str) -> int:
        dtype, body = self.element_type(root.shape.dtype), self.function.body
        if dtype in dtypes.PACKED:
            return dtypes.per_byte(dtype) if self.loop.step > 1 else 1
        if self.lanes == 1:
            return self._step_at_once(d, flat, dtype, True)
        whole = self.moves and self.registers_down == self.loop.interleaved > 1 \
            or self.in_words(flat, dtype, self.loop.interleaved * self.lanes) or self.is_along_rows(flat, body) \
            or self.is_interleaved(flat, body) or self.is_contiguous(flat, dtype) and not self.stored_lanes
        return self.lanes * self.loop.joined if whole else 1

    def _step_at_once(self, d: Target, flat: str, dtype: str, open_: bool) -> int:
        """Return the number of elements per access in a step of single elements (without vectors). It is the number of
        elements in a word if the step is accessed in words, and 1 otherwise.
        """
        if not open_ or self.loop.step == 1 or not d.words:
            return 1
        if self.stride(flat, "vec")[0] == 1:
            return max(1, self.word_bytes(flat, dtype) * 8 // bits(dtype))
        return 16 * 8 // bits(dtype) if self.rows_of_words(flat, dtype) else 1

    # ---- maps that become C text ----

    def fits(self, d: Target, index_type: str) -> bool:
        """Return true if all values in the maps that become C text fit an index type. d: the language."""
        return all(algebra.fits(index, index_type) for index in self.printed(d) if index != EMPTY)

    def printed(self, d: Target) -> "Iterator[str]":
        """Yield the maps that become C text. d: the language."""
        if self.thread:
            yield self.thread
        for visit in self.visits:
            if visit.call:
                yield self._at_first(self.mapped(visit.call.map), visit.wide and self.is_uniform_call(visit.call))
            elif visit.guard:
                yield from self._of_guard(visit.guard, visit.wide)
            elif visit.read and visit.read.source not in self.given and visit.read.source not in self.partition.given:
                yield from self._of_read(d, visit)
        for root in self.written_roots:
            yield from self._of_root(d, root)

    def names(self, d: Target, variable: str) -> bool:
        """Return true if the C text of a step contains the variable. d: the language."""
        own = {self.thread}
        return any(variable in result.variables for index in self.printed(d) if index not in own and index != EMPTY
                   for result in algebra.info(index).results)

    @staticmethod
    def _at_first(index: str, first: bool) -> str:
        return algebra.substitute(index, lane=0) if first else index

    def _of_guard(self, region: Region, wide: bool) -> "Iterator[str]":
        index = self.mapped(region.map)
        if index == EMPTY:
            return
        same = self.uniform(region) if wide else index
        uneven = self.uneven(region) if same is None else None
        yield index if same is None else same
        if uneven:
            places = [uneven.every, *(where for near in uneven.some or () for where in near)]
            yield from (where for where in places if where)

    def _of_read(self, d: Target, visit: Visit) -> "Iterator[str]":
        assert visit.read is not None
        index, buffer = self.position(visit.read), buffer_of(self.partition, visit.read)
        flat = self.mapped(index) if index else EMPTY
        if flat == EMPTY:
            return
        if buffer is None or buffer.shape.dtype in dtypes.PACKED:
            yield from self._of_gather(flat, index, visit)
            return
        dtype = self.element_type(buffer.shape.dtype)
        if (buffer.pointer, flat) in self.staged:
            return
        if not visit.wide:
            yield from self._of_step(d, flat, dtype, self.open(visit.region))
        elif self.is_along_rows(flat, visit.region) or (
                self.in_words(flat, dtype, self.loop.interleaved) and self.open(visit.region)) \
                or self.is_interleaved(flat, visit.region):
            yield from self._of_tiles(flat)
        elif self.is_contiguous(flat, dtype) or self.is_picked(flat, buffer):
            yield algebra.substitute(flat, lane=0)
            if visit.region is self.function.body and any(distance for _, distance in self.loop.prefetches()):
                yield algebra.substitute(flat, **self.start)
        else:
            yield from self._of_gather(flat, index, visit)

    def _of_step(self, d: Target, flat: str, dtype: str, open_: bool) -> "Iterator[str]":
        """Yield the maps that become C text for an access in a step that computes element by element. If the step
        accesses the elements as contiguous words, this is the map to the first element. If words hold elements of
        several rows, these are the maps to the first element of each row. Otherwise, it is the map itself, in a loop
        over the elements.
        """
        open_ = open_ and self.loop.step > 1
        if open_ and self.stride(flat, "vec")[0] == 1 and d.words and self.word_bytes(flat, dtype):
            yield algebra.substitute(flat, vec=0)
        elif open_ and self.rows_of_words(flat, dtype):
            yield from (algebra.substitute(flat, vec=row) for row in range(self.loop.interleaved_rows))
        else:
            yield flat

    def _of_tiles(self, flat: str) -> "Iterator[str]":
        for down in range(self.registers_down):
            yield algebra.substitute(flat, **{**self.start, **({"down": down} if self.registers_down > 1 else {})})

    def _of_gather(self, flat: str, index: str, visit: Visit) -> "Iterator[str]":
        if not visit.wide:
            yield flat
            return
        if self.stride(flat, "lane")[0] == 0:
            yield algebra.substitute(flat, lane=0)
            return
        yield flat
        runs, read = None if visit.in_loop else self.unbroken(index), visit.read
        if runs and read:
            yield runs.place
            buffer = buffer_of(self.partition, read)
            vectors = buffer is not None and runs.stride in (1, -1) and buffer.shape.dtype not in (
                *TINY, *dtypes.PACKED)
            counted = read.source.opcode == "iota" and read.source.shape.dtype in ("s32", "u32")
            if not runs.stride or vectors or counted:
                yield algebra.substitute(flat, lane=0)

    def _of_root(self, d: Target, root: Root) -> "Iterator[str]":
        dtype = self.element_type(root.shape.dtype)
        flat, body = self.mapped(compose(root.at or root.map, memory_map(root.shape))), self.function.body
        if flat == EMPTY or (root.buffer.pointer, flat) in self.staged:
            return
        if self.moves and self.registers_down == self.loop.interleaved > 1:
            yield from self._of_tiles(flat)
        elif dtype in dtypes.PACKED:
            yield algebra.substitute(flat, vec=0) if self.loop.step > 1 else flat
        elif self.lanes == 1:
            yield from self._of_step(d, flat, dtype, True)
        elif self.in_words(flat, dtype, self.loop.interleaved * self.lanes) or self.is_along_rows(flat, body) \
                or self.is_interleaved(flat, body):
            yield from self._of_tiles(flat)
        else:
            yield self._at_first(flat, self.is_contiguous(flat, dtype) and not self.stored_lanes)


def _inside(*bounds: "Tuple[str, int, int]") -> Optional[str]:
    """Return a map without results. Its domain is the points where low <= map <= high for all given triples (map, low,
    high). Return None if the domain is empty.
    """
    if any(low > high for _, low, high in bounds):
        return None
    index = bounds[0][0]
    domain = [f"{v.name} in [{v.lo}, {v.hi}]" for v in algebra.info(index).variables]
    for index, low, high in bounds:
        domain += [f"{guard.text} in [{guard.lo}, {guard.hi}]" for guard in algebra.guards(index)]
        domain.append(f"{algebra.info(index).results[0].text} in [{low}, {high}]")
    names = ", ".join(v.name for v in algebra.info(index).variables)
    where = algebra.simplify(f"({names}) -> (), domain: {', '.join(domain)}")
    return None if where == EMPTY else where
