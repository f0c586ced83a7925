"""Combine reductions and elementwise results into stages that one kernel runs for each row.

A row is the set of elements that one result of a reduction combines; that result is the row's total. In a softmax, the
maximum of a row, the sum of its exponentials and the quotients are three stages. Nests can be combined if each nest
reads the totals of other nests only at the row that it computes; the maps show this. The kernel then runs one stage
after another for each row, and loads the row from memory once.

A value that depends only on the row is computed once per row, between the stages. An expensive value that a later stage
needs at the same position is kept in registers by the stage that computes it first. The hero decides whether rows are
short enough for the device (gen/heroes/rows_cpu.py). If not, the nests become kernels of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Sequence, Set, Tuple

from gen import algebra
from gen.hlo import Instruction, Shape, combiner, dtypes
from gen.hlo.opcodes import ELEMENTWISE
from gen.plan.buffer import Buffer, Role
from gen.plan.buffers import buffer_of, buffers_of, memory_map, reads_of, scheduled_map
from gen.plan.contraction import Contraction
from gen.plan.digits import IterationSpace, MemoryMap, space_of
from gen.plan.nest import Nest
from gen.plan.partition import INLINE, Entry, Partition, Read, Region, Root, compose, identity, regions
from gen.plan.plan import Reduction, reads_same
from gen.plan.update import bound_in
from gen.schedule import KEPT_COST


@dataclass(eq=False)
class Stage:
    """A pass over a row, followed by the values that are computed from the row's totals.

    heroes: the reduces of the pass.
    inputs: computes, at a position: the operands of the reduces, then `writes`, the operands of `columns`, and `kept`.
    writes: the results that the pass writes, one element per position.
    columns: reduces that combine elements of different rows. They have one total for each position within a row.
    kept: the values that the pass keeps in registers for later stages.
    totals: computes, for a row: `row_writes`, then `row_values`. It reads the totals of this and of earlier stages.
    row_writes: the results with one element per row.
    row_values: the values of a row that later stages read.
    """

    heroes: List[Instruction]
    inputs: Partition
    writes: List[Root]
    columns: List[Instruction]
    kept: List[Instruction]
    totals: Partition
    row_writes: List[Root]
    row_values: List[Instruction]


@dataclass(eq=False)
class Rows(Nest):
    """A nest that runs several stages for each row.

    members: the nests that it combines.
    space: the index space of all positions.
    rows: the index space of the rows.
    row_of: the map from an index of `space` to the position of its row.
    first_of: the map from an index of `space` to the first index of its row.
    inner: the scratch buffers that only the stages read. The kernel does not write them.
    columns: the members that reduce across rows. They have one total for each position within a row.
    column_of: for each of these members, the map from an index of `space` to the position of its total.
    strip: the number of elements of a strip, if buffers contain the rows of one strip only (gen/plan/strips.py); else
        0.
    """

    members: List[Nest]
    stages: List[Stage]
    space: Shape
    rows: Shape
    row_of: str
    first_of: str
    columns: List[Reduction]
    column_of: List[str]
    strip: int = field(default=0, init=False)

    @property
    def heroes(self) -> "List[Instruction]":
        return [hero for stage in self.stages for hero in stage.heroes]

    def written_roots(self, divided: bool) -> "List[Tuple[Shape, Root]]":
        if divided:
            return [part for member in self.undivided() for part in member.written_roots(False)]
        return (
            [(self.space, root) for stage in self.stages for root in stage.writes]
            + [(self.rows, root) for stage in self.stages for root in stage.row_writes]
            + [(nest.shape, root) for nest in self.columns for root in nest.partition.roots]
        )

    def iteration_space(self) -> "Optional[IterationSpace]":
        """Return the positions, split into mixed-radix digits along which all accesses have constant strides. The
        accesses are the map to the row, the maps to the totals of `columns`, and the reads and writes, in this order.
        """
        maps = [MemoryMap("row", True, 0, 0, self.row_of)]
        maps += [MemoryMap("column", True, 0, 0, column_of) for column_of in self.column_of]
        for stage in self.stages:
            maps += [MemoryMap(root.buffer.pointer, True, dtypes.storage_bytes(root.shape.dtype), root.shape.bytes,
                               compose(root.map, scheduled_map(root.shape))) for root in stage.writes]
            for read, _ in reads_of(stage.inputs, stage.inputs.entry):
                buffer = buffer_of(stage.inputs, read)
                if buffer and buffer.shape.dims:
                    leaf = buffer.shape
                    maps.append(MemoryMap(buffer.pointer, False, dtypes.storage_bytes(leaf.dtype), leaf.bytes,
                                          compose(read.map, scheduled_map(leaf))))
        return space_of(maps, self.space)


def joined(nests: "Sequence[Nest]", cuts: "Dict[Instruction, int]", name: str,
           after: "Sequence[Nest]" = ()) -> "List[Nest]":
    """Return the nests in an order in which they can run, with nests over the same rows combined. cuts: values that are
    stored in scratch buffers. name: the name of the combined nest if it is the only nest. after: nests that run later
    and may read the scratch buffers.
    """
    groups: "List[List[Nest]]" = []
    needs = _needs(nests)
    for nest in nests:
        for group in groups:
            if (_candidate(nest, group) and not _between(nest, group, groups, needs)
                and _rows(name, [*group, nest], cuts)):
                group.append(nest)
                break
        else:
            groups.append([nest])
    columns = _with_columns(groups, needs, cuts, name)
    result: "List[Nest]" = []
    waiting = list(groups)
    done: "Set[Nest]" = set()
    while waiting:      # a group runs as soon as all nests that it needs have run
        group = next(group for group in waiting if all(need in done or need in group for nest in group
                                                       for need in needs[nest]))
        waiting.remove(group)
        done.update(group)
        title = name if len(groups) == 1 and not after else group[0].name
        of_rows = [nest for nest in group if nest not in columns]
        alone = _stages(title, of_rows, [], [*nests, *after], cuts)
        whole = _stages(title, of_rows, [nest for nest in group if nest in columns], [*nests, *after], cuts)
        if whole and whole.columns:
            whole.members = [*([alone] if alone else of_rows), *whole.columns]
        result += [whole] if whole else [alone] if alone else group
    return result


def alone(nest: Nest, cuts: "Dict[Instruction, int]") -> "Optional[Rows]":
    """Return a nest of a single stage, which computes a reduction over its rows. Return None if stages do not support
    the reduction, or if `nest` is no reduction.
    """
    return _rows(nest.name, [nest], cuts) if isinstance(nest, Reduction) and _plain(nest) else None


def _stages(
    name: str,
    group: "List[Nest]",
    columns: "List[Nest]",
    nests: "Sequence[Nest]",
    cuts: "Dict[Instruction, int]",
) -> "Optional[Rows]":
    """Combine the nests of a group and those in `columns` into one nest of several stages. columns: reductions across
    rows. nests: all nests that may read the scratch buffers. Return None if there are fewer than two stages.
    """
    whole = _rows(name, group, cuts, columns) if len(group) + len(columns) > 1 else None
    if not whole or len(whole.stages) < 2:
        return None
    outside = {buffer for other in nests if other not in [*group, *columns] for buffer in _reads(other)}
    inner = {root.buffer for part in group for root in part.partition.roots if root.scratch} - outside
    return _without(whole, inner)


def _with_columns(
    groups: "List[List[Nest]]", needs: "Dict[Nest, Set[Nest]]", cuts: "Dict[Instruction, int]", name: str
) -> "Set[Nest]":
    """Add a reduction across rows to a group that reads the same input, so that they share a pass. The gradient of a
    layer norm, for example, has totals for the rows, and totals across rows for the weights. Return the nests that were
    added.
    """
    joined_: "Set[Nest]" = set()
    for single in [group for group in groups if len(group) == 1]:
        nest = single[0]
        if not isinstance(nest, Reduction) or not _plain(nest):
            continue
        for group in groups:
            if group is single or not _candidate(nest, group):
                continue
            of_rows, columns = ([n for n in group if (n in joined_) == is_in] for is_in in (False, True))
            merged = [[*group, nest], *(other for other in groups if other is not group and other is not single)]
            whole = _rows(name, of_rows, cuts, [*columns, nest]) if _orderable(merged, needs) else None
            if whole and len(whole.stages) > 1:
                group.append(nest)
                groups.remove(single)
                joined_.add(nest)
                break
    return joined_


def _orderable(groups: "List[List[Nest]]", needs: "Dict[Nest, Set[Nest]]") -> bool:
    """Return true if the groups can run one after another: their needs form no cycle."""
    waiting, done = list(groups), set()     # type: List[List[Nest]], Set[Nest]
    while waiting:
        ready = [g for g in waiting if all(need in done or need in g for nest in g for need in needs[nest])]
        if not ready:
            return False
        done.update(nest for group in ready for nest in group)
        waiting = [group for group in waiting if group not in ready]
    return True


def _reads(nest: Nest) -> "Set[Buffer]":
    """Return the scratch buffers that a nest reads."""
    return {buffer for part in (nest, *nest.sides) for partition in (part.partition, *part.further)
            for buffer in buffers_of(partition, partition.entry) if buffer.role is Role.SCRATCH}


def _needs(nests: "Sequence[Nest]") -> "Dict[Nest, Set[Nest]]":
    """Return, for each nest, the nests that must run before it. These are nests that write what it reads, and nests
    that read or write what it overwrites. A nest that is neither elementwise, a reduction nor a contraction keeps its
    place in the order.
    """
    writers: "Dict[Buffer, Nest]" = {}
    readers: "Dict[Buffer, Set[Nest]]" = {}
    needs: "Dict[Nest, Set[Nest]]" = {}
    others: "Set[Nest]" = set()
    for number, nest in enumerate(nests):
        plain = type(nest) in (Nest, Reduction, Contraction)
        reads, writes = _reads(nest), {root.buffer for root in nest.partition.roots if root.scratch}
        needs[nest] = (
            ({writers[buffer] for buffer in reads | writes if buffer in writers}
             | {reader for buffer in writes for reader in readers.get(buffer, ())} | others) - {nest}
            if plain
            else set(nests[:number])
        )
        others |= set() if plain else {nest}
        for buffer in reads:
            readers.setdefault(buffer, set()).add(nest)
        writers.update({buffer: nest for buffer in writes})
    return needs


def _between(nest: Nest, group: "List[Nest]", groups: "List[List[Nest]]", needs: "Dict[Nest, Set[Nest]]") -> bool:
    """Return true if a nest depends on the group through a nest outside the group. The nest cannot be a stage of the
    group then.
    """
    of = {member: other for other in groups for member in other}
    waiting = [member for member in needs[nest] if member not in group]
    seen: "Set[Nest]" = set()
    while waiting:
        here = waiting.pop()
        if here in group:
            return True
        if here not in seen:
            together = of.get(here, [here])
            seen.update(together)
            waiting += [need for member in together for need in needs[member] if need not in seen]
    return False


def _candidate(nest: Nest, group: "List[Nest]") -> bool:
    """Return true if a nest may be a stage of a group. The nest's maps are not checked here."""
    first = group[0]
    if not isinstance(first, Reduction) or not _plain(first) or not _plain(nest):
        return False
    wants = bool(_reads(nest) & {root.buffer for member in group for root in member.partition.roots})
    if isinstance(nest, Reduction):
        return nest.space.elements == first.space.elements and (
            wants or any(reads_same(nest.inputs, member.partition) for member in group)
        )
    return wants and nest.shape.elements in (first.space.elements, first.heroes[0].shape.leaves()[0].elements)


def _plain(nest: Nest) -> bool:
    """Return true if stages support a nest's kind, types and combiners."""
    if type(nest) not in (Nest, Reduction) or nest.layout or nest.stored:
        return False
    if any(root.at or root.shape.place and not root.shape.lead or root.shape.dtype in dtypes.PACKED
           for part in (nest, *nest.sides) for root in part.partition.roots):
        return False
    if not isinstance(nest, Reduction):
        return True
    if any(len(hero.operands) != 2 for hero in nest.heroes):
        return False
    laws = [combiner.analyse(hero) for hero in nest.heroes]
    return nest.heroes[0].shape.leaves()[0].elements > 1 and all(law.free and law.starts_known for law in laws)


def _without(whole: Rows, inner: "Set[Buffer]") -> Rows:
    """Return the nest without writes to `inner`, the scratch buffers that only its own stages read."""
    whole.inner = inner
    for stage in whole.stages:
        kept = [root for root in stage.row_writes if root.buffer not in inner]
        if len(kept) < len(stage.row_writes):
            of = stage.totals
            values = of.roots[len(stage.row_writes):]
            stage.row_writes = kept
            stage.totals = Partition(of.computation, [*kept, *values], of.entry.name, of.entry.dims, INLINE, of.cuts,
                                     list(of.given), of.scalars)
    whole.further = _partitions(whole)
    return whole


def _partitions(whole: Rows) -> "List[Partition]":
    return [*[partition for stage in whole.stages for partition in (stage.inputs, stage.totals)][1:],
            *(nest.epilogue for nest in whole.columns)]


# ---- stages ----

def _bitcast(of: Shape, to: Shape) -> str:
    """Return the map from an index of `of` to the index of `to` at the same position in memory."""
    step = algebra.call(
        "op",
        "bitcast",
        "0",
        f"out={algebra.numbers(of.dims)}",
        f"in={algebra.numbers(to.dims)}",
        f"out_layout={algebra.numbers(of.minor_to_major)}",
        f"in_layout={algebra.numbers(to.minor_to_major)}",
    )
    return compose(identity(of.dims), step)


def _drop(space: Shape, gone: "Sequence[int]", kept: bool = False) -> str:
    """Return the map from an index of `space` to the index of its row, which lacks the dimensions `gone`. If `kept`,
    the map keeps these dimensions and sets their indices to 0.
    """
    names = [f"i{k}" for k in range(len(space.dims))]
    renamed = [n if k not in gone else "0" for k, n in enumerate(names) if kept or k not in gone]
    return algebra.simplify(
        f"({', '.join(names)}) -> ({', '.join(renamed)}), domain: "
        + ", ".join(f"{n} in [0, {size - 1}]" for n, size in zip(names, space.dims))
    )


class _Refused(Exception):
    """Raised if nests are not stages over the same rows."""


def _rows(
    name: str, group: "List[Nest]", cuts: "Dict[Instruction, int]", columns: "Sequence[Nest]" = ()
) -> "Optional[Rows]":
    try:
        return _Stages(name, group, cuts, columns).as_rows()
    except _Refused:
        return None


@dataclass(eq=False)
class _Stage:
    """A Stage (a pass over a row) under construction.

    row_values: the values of a row that later stages read, each with its Root in the index space of the rows.
    of_row: the values of a row, computed by earlier stages, that this stage reads.
    reads_kept: the values that earlier stages keep in registers and this stage reads.
    """

    heroes: List[Instruction] = field(default_factory=list)
    writes: List[Root] = field(default_factory=list)
    columns: List[Instruction] = field(default_factory=list)
    kept: List[Instruction] = field(default_factory=list)
    row_writes: List[Root] = field(default_factory=list)
    row_values: "Dict[Instruction, Root]" = field(default_factory=dict)
    of_row: List[Instruction] = field(default_factory=list)
    reads_kept: List[Instruction] = field(default_factory=list)


class _Stages:
    """Builds the stages that some nests form together.

    columns: the reductions across rows.
    level: for each reduce, the number of its stage, counted from 1.
    places: for each value that is kept in registers, the map from an index of the space to the value's index.
    """

    def __init__(
        self, name: str, group: "List[Nest]", cuts: "Dict[Instruction, int]", columns: "Sequence[Nest]"
    ) -> None:
        first = group[0]
        assert isinstance(first, Reduction)
        self.columns = [nest for nest in columns if isinstance(nest, Reduction)]
        self.name, self.group, self.computation = name, group, first.partition.computation
        self.space, self.rows = first.space, first.heroes[0].shape
        self.heroes = [hero for nest in group if isinstance(nest, Reduction) for hero in nest.heroes]
        self.cuts = {i: n for i, n in cuts.items() if i not in self.heroes}
        gone, row = first.reduced, [f"i{k}" for k in range(len(self.rows.dims))]
        self.row, kept = identity(self.rows.dims), iter(row)
        self.row_of = compose(_drop(self.space, gone), memory_map(self.rows))
        self.first_of = _drop(self.space, gone, True)
        first_index = ", ".join("0" if k in gone else next(kept) for k in range(len(self.space.dims)))
        self.into = algebra.simplify(
            f"({', '.join(row)}) -> ({first_index}), domain: "
            + ", ".join(f"{n} in [0, {size - 1}]" for n, size in zip(row, self.rows.dims))
        )
        self.stages: "List[_Stage]" = []
        self.level: "Dict[Instruction, int]" = {}
        self.places: "Dict[Instruction, str]" = {}

    def as_rows(self) -> Rows:
        for nest in self.group:
            if isinstance(nest, Reduction):
                self._same_rows(nest)
                level = 1 + self._deepest(nest.inputs)
                self.level.update({hero: level for hero in nest.heroes})
                for hero in nest.heroes:
                    self._at(level).heroes.append(hero)
                self._at(max(level, self._deepest(nest.epilogue))).row_writes += [
                    self._moved(root, self.rows) for root in nest.partition.roots
                ]
            sides = nest.sides if isinstance(nest, Reduction) else [nest] * (nest.shape.elements == self.space.elements)
            for side in sides:
                self._at(1 + self._deepest(side.partition)).writes += [self._moved(root, self.space)
                                                                       for root in side.partition.roots]
            if not isinstance(nest, Reduction) and not sides:
                self._at(max(1, self._deepest(nest.partition))).row_writes += [self._moved(root, self.rows)
                                                                               for root in nest.partition.roots]
        column_of = [self._by_columns(nest) for nest in self.columns]
        known: "Set[Instruction]" = set()
        for number, stage in enumerate(self.stages):
            values = self._of_row(self._inputs(stage))
            for value, root in values.items():
                if value not in known:
                    assert number, "what a row needs before its first stage is computed with its elements"
                    self.stages[number - 1].row_values[value] = root
            known |= set(values)
            stage.of_row = list(values)
            stage.reads_kept = self._kept(number)
        stages = [Stage(stage.heroes, self._inputs(stage), stage.writes, stage.columns, stage.kept, self._totals(stage),
                        stage.row_writes, list(stage.row_values)) for stage in self.stages]
        whole = Rows(self.name, self.space, stages[0].inputs, [*self.group, *self.columns], stages, self.space,
                     self.rows, self.row_of, self.first_of, self.columns, column_of)
        whole.further = _partitions(whole)
        return whole

    def _at(self, level: int) -> _Stage:
        while len(self.stages) < level:
            self.stages.append(_Stage())
        return self.stages[level - 1]

    def _same_rows(self, nest: Reduction) -> None:
        """Raise _Refused unless each result of a reduction combines exactly the positions of one row."""
        own = compose(_bitcast(self.space, nest.space), compose(_drop(nest.space, nest.reduced),
                                                                memory_map(nest.heroes[0].shape.leaves()[0])))
        if own != self.row_of:
            raise _Refused

    def _by_columns(self, nest: Reduction) -> str:
        """Add a reduction across rows to the last stage. The reduction combines each element into one total. Return the
        map from the element's index to the position of that total. Raise _Refused unless the reduction has one total
        for each position within a row.
        """
        totals = nest.heroes[0].shape.leaves()[0]
        everyone = (*self.group, *self.columns)
        scratch = {root.buffer for other in everyone for root in other.partition.roots if root.scratch}
        own = {root.buffer for other in self.columns for root in other.partition.roots}
        if (
            totals.elements * self.rows.elements != self.space.elements
            or scratch & set(buffers_of(nest.epilogue, nest.epilogue.entry))
            or any(own & _reads(other) for other in everyone)
        ):
            raise _Refused
        level = 1 + self._deepest(nest.inputs)
        self._at(level)
        for side in nest.sides:
            self._at(1 + self._deepest(side.partition)).writes += [self._moved(root, self.space)
                                                                   for root in side.partition.roots]
        self.stages[-1].columns += nest.heroes
        return compose(_bitcast(self.space, nest.space), compose(_drop(nest.space, nest.reduced), memory_map(totals)))

    def _deepest(self, partition: Partition) -> int:
        """Return the number, counted from 1, of the last stage whose totals a partition reads; 0 if it reads no totals.
        """
        return max((self.level[read.source] for f in partition.functions for read, _ in reads_of(partition, f)
                    if read.source in self.level), default=0)

    def _moved(self, root: Root, to: Shape) -> Root:
        """Return the root for a kernel with the index space `to`. The kernel writes the element of the result whose
        position in memory equals that of the index in `to`.
        """
        return Root(root.result, root.shape, root.value, root.output, _bitcast(to, root.shape), root.scratch)

    # ---- partitions ----

    def _inputs(self, stage: _Stage) -> Partition:
        """Return the partition of the values that a stage computes at each position."""
        operands = [o for hero in stage.heroes for o in hero.operands[:1]]
        roots = [Root(n, o.shape, o, 0, _bitcast(self.space, o.shape)) for n, o in enumerate(operands)]
        columns = [o for hero in stage.columns for o in hero.operands[:1]]
        roots += stage.writes
        roots += [Root(n, o.shape, o, 0, _bitcast(self.space, o.shape)) for n, o in enumerate(columns)]
        roots += [Root(n, i.shape, i, 0, self.places[i]) for n, i in enumerate(stage.kept)]
        return self._partition(f"{self.name}_stage{self.stages.index(stage)}", roots,
                               [*stage.of_row, *stage.reads_kept], self.space)

    def _totals(self, stage: _Stage) -> Partition:
        """Return the partition whose roots a stage computes once per row: totals of reductions, and values that depend
        only on totals.
        """
        partition = self._partition(
            f"{self.name}_totals{self.stages.index(stage)}",
            [*stage.row_writes, *stage.row_values.values()],
            [],
            self.rows,
            [hero.operands[1] for hero in stage.heroes],
        )
        if bound_in(partition):
            raise _Refused      # refused, because a C variable for a total could have a runtime variable's name
        return partition

    def _partition(
        self,
        name: str,
        roots: "List[Root]",
        given: "Sequence[Instruction]",
        shape: Shape,
        scalars: "Sequence[Instruction]" = (),
    ) -> Partition:
        """Return a partition that reads the totals of earlier stages and does not compute them. Raise _Refused if a
        total might belong to another row than the element that is computed from it.
        """
        partition = Partition(self.computation, roots, name, shape.dims, INLINE, self.cuts, [*self.heroes, *given],
                              scalars)
        row = self.row_of if shape is self.space else compose(self.row, memory_map(self.rows))
        for function in partition.functions:
            for read, region in reads_of(partition, function):
                if read.source in self.level and (region is not partition.entry.body
                                                  or compose(read.map, memory_map(read.source.shape)) != row):
                    raise _Refused
        return partition

    # ---- values per row, and values kept in registers ----

    def _of_row(self, partition: Partition) -> "Dict[Instruction, Root]":
        """Return the values that depend only on the row, and from which a partition computes elements of the row. These
        are totals, and values that are computed only from totals. Each comes with its Root in the index space of the
        rows.
        """
        once = _once(partition)
        alone: "Set[Instruction]" = set()       # values that depend only on totals
        roots: "Dict[Instruction, Root]" = {}
        for entry in partition.entry.body.entries:
            i = entry.instruction
            reads = [partition.operand(entry, operand, inner) for operand, inner in partition.operands(entry)]
            totals = [read for read in reads if read.source in self.level or read.source in alone]
            if i in once and _simple(entry) and totals and compose(self.first_of, entry.map) == entry.map:
                alone.add(i)
        for read, user in _uses(partition):
            if (read.source in alone or read.source in self.level) and user not in alone:
                roots[read.source] = Root(0, read.source.shape, read.source, 0, compose(self.into, read.map))
        return roots

    def _kept(self, number: int) -> "List[Instruction]":
        """Return the values that a stage does not compute, because earlier stages keep them in registers. The first
        stage that computes a value keeps it if computing it costs at least KEPT_COST.
        """
        stage = self.stages[number]
        partition = self._inputs(stage)
        once = _once(partition)
        entries = {entry.instruction: entry for entry in partition.entry.body.entries}
        earlier = [(before, {e.instruction: e.map for e in of.entry.body.entries if e.instruction in _once(of)})
                   for before in self.stages[:number] for of in [self._inputs(before)]]
        values: "List[Instruction]" = []
        waiting = [partition.root_read(root) for root in partition.roots]
        seen: "Set[Instruction]" = set()
        while waiting:
            i = waiting.pop().source
            if i in seen or i not in entries:
                continue
            seen.add(i)
            entry = entries[i]
            if i in once and _simple(entry) and self._cost(partition, entries, entry) >= KEPT_COST:
                if self.places.get(i) == entry.map:
                    values.append(i)
                    continue
                first = next((before for before, has in earlier if has.get(i) == entry.map), None)
                if first and i not in self.places:
                    self.places[i] = entry.map
                    first.kept.append(i)
                    values.append(i)
                    continue
            waiting += [partition.operand(entry, operand, inner) for operand, inner in partition.operands(entry)]
            waiting += [partition.operand(e, operand, inner) for region in _inside(entry) for e in region.entries
                        for operand, inner in partition.operands(e)]
        return values

    def _cost(self, partition: Partition, entries: "Dict[Instruction, Entry]", entry: Entry) -> int:
        """Return the number of vector instructions that compute a value from what the partition reads."""
        waiting, seen = [entry.instruction], set()      # type: List[Instruction], Set[Instruction]
        while waiting:
            i = waiting.pop()
            if i in entries and i not in seen:
                seen.add(i)
                waiting += [partition.operand(entries[i], operand, inner).source for operand,
                            inner in partition.operands(entries[i])]
        return sum(ELEMENTWISE[i.opcode].cost for i in seen if i.opcode in ELEMENTWISE)


def _simple(entry: Entry) -> bool:
    """Return true if one element of an entry is computed from one element of each operand."""
    return (entry.callee is None and not entry.regions and len(entry.instruction.shape.leaves()) == 1
            and entry.instruction.opcode in (*ELEMENTWISE, "map"))


def _once(partition: Partition) -> "Set[Instruction]":
    """Return the values that a partition computes only once, in its body."""
    count: "Dict[Instruction, int]" = {}
    for function in partition.functions:
        for region in regions(function.body):
            for entry in region.entries:
                count[entry.instruction] = count.get(entry.instruction, 0) + 1
    return {e.instruction for e in partition.entry.body.entries if count[e.instruction] == 1}


def _inside(entry: Entry) -> "List[Region]":
    """Return the regions of an entry, nested ones included."""
    return [inner for region in entry.regions for inner in regions(region)] if entry.callee is None else []


def _uses(partition: Partition) -> "List[Tuple[Read, Optional[Instruction]]]":
    """Return the reads in a partition's body. Each comes with the op that reads, or with None if a root is read."""
    reads: "List[Tuple[Read, Optional[Instruction]]]" = [(partition.root_read(root), None) for root in partition.roots]
    for region in regions(partition.entry.body):
        for entry in region.entries:
            if entry.callee is None:
                reads += [(partition.operand(entry, operand, inner), entry.instruction) for operand,
                          inner in partition.operands(entry)]
    return reads
