"""Functions that the rows heroes of CPUs and GPUs share. They write a stage as a reduction, and pass values from a stage
to later stages. A stage is one pass over a row (gen/plan/rows.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Dict, Iterable, List, Sequence, Set

from gen.emit.body import Body
from gen.emit.form import Given
from gen.emit.values import Value
from gen.heroes.hero import S, Choice, Context, Hero, Refused
from gen.heroes.kernel import Grid, Kernel, Report, Text, kernel_of
from gen.heroes.reduction import Digits, ReductionWriter
from gen.hlo import Instruction, dtypes
from gen.plan.buffer import Buffer
from gen.plan.buffers import buffers_of, touches
from gen.plan.plan import Reduction
from gen.plan.rows import Rows, Stage
from gen.targets import COMPLEX, SMALL, TINY


@dataclass(frozen=True)
class RegisterArray:
    """An array of registers of a work-item: its C type, its name and its length."""

    type: str
    name: str
    count: int


class RowsHero(Hero[Rows, S]):
    """The base of the heroes that write all stages (passes over the same rows) as one kernel."""

    name, sides, members, leads = "rows", True, True, True
    nest_class = Rows
    columns = False  # true if the hero also computes totals over the rows, one for each column

    def takes(self, nest: Rows, context: Context) -> bool:
        if any(touches(member, {*COMPLEX, *TINY, *dtypes.PACKED}) for member in nest.members):
            raise Refused("some elements are complex or floats of 8 bits, or share bytes")
        if nest.columns and not self.columns:
            raise Refused("columns are reduced in kernels of their own")
        return True

    def describe(self, choice: Choice[Rows, S], grid: Grid, context: Context) -> "List[str]":
        nest = choice.nest
        lines = []
        for number, stage in enumerate(nest.stages):
            words = [f"reduces {', '.join(hero.name for hero in stage.heroes)}"] * bool(stage.heroes)
            words += [f"reduces columns {', '.join(i.name for i in stage.columns)}"] * bool(stage.columns)
            words += [f"keeps {', '.join(i.name for i in stage.kept)}"] * bool(stage.kept)
            words += [f"leaves {', '.join(i.name for i in stage.row_values)} of each row"] * bool(stage.row_values)
            writes = [*stage.writes, *stage.row_writes]
            words += [f"writes {', '.join(root.buffer.pointer for root in writes)}"] * bool(writes)
            lines.append(f"stage {number}: {'; '.join(words)}")
        moved = sum(buffer.shape.bytes for buffer in [*reads_of(nest), *writes_of(nest)])
        return [*lines, f"memory: {moved / nest.space.elements:.3g} bytes an element of the rows"]


def digits_of(nest: Rows) -> "Digits | None":
    """Split the position in the rows into the digits of a mixed-radix number, and return the digits. `Digits.out` has
    their strides in the totals.
    """
    space = nest.iteration_space()
    steps = space.accesses[0].strides if space else None
    return Digits(space.sizes, space.weights(), steps) if space and steps else None


def reads_of(nest: Rows) -> "Set[Buffer]":
    """Return the buffers that the stages (passes over the same rows) read."""
    return {buffer for stage in nest.stages for partition in (stage.inputs, stage.totals)
            for buffer in buffers_of(partition, partition.entry)}


def writes_of(nest: Rows) -> "Set[Buffer]":
    return {root.buffer for stage in nest.stages for root in [*stage.writes, *stage.row_writes]}


def kernel_of_stages(context: Context, nest: Rows, grid: Grid, text: Text, report: Report,
                     partial: "Iterable[Buffer]" = ()) -> Kernel:
    """Return the kernel of all stages (passes over the same rows). partial: buffers that this kernel writes for another
    kernel.
    """
    partitions = [partition for stage in nest.stages for partition in (stage.inputs, stage.totals)]
    return kernel_of(context.target, context.helpers, context.excess, grid, nest, partitions, text, report,
                     writes=[*writes_of(nest), *partial])


def view(nest: Rows, stage: Stage) -> Reduction:
    """Return a stage in the form of a reduction, so that the methods of reduction writers can be used."""
    return Reduction(nest.name, nest.rows, stage.totals, [], stage.heroes, stage.inputs, stage.totals, nest.space)


def without_excess(context: Context, body: Body, value: Value) -> Value:
    """Return a value as later stages read it: rounded to its type, unless excess precision is kept."""
    value = body.real(value)
    return value if context.excess else body.without_excess(value, "x")


def later_values(context: Context, i: Instruction, text: str, lanes: int = 1) -> "List[Value]":
    """Return the value of op `i` as later stages read it, from the C variable `text` (see `without_excess`)."""
    dtype = i.shape.leaves()[0].dtype
    return [Value(text, dtype, lanes, rounded=not (context.excess and dtype in SMALL))]


def totals(writers: "Sequence[ReductionWriter]", form: str) -> "Dict[Instruction, Given]":
    """Return a function for each reduce op of the stages. It returns the op's total as a C value. form: the pattern of
    the names of the totals' variables, with {} for the accumulator's id.
    """
    return {hero: partial(writer.total, h=h, texts=[form.format(writer.name(h, 0, ""))])
            for writer in writers for h, hero in enumerate(writer.nest.heroes)}
