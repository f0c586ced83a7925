"""A kernel before it becomes text: the values that the template of its emitter (hero) prints."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Collection, Dict, Iterable, List, Optional, Sequence, Tuple

from gen import algebra
from gen.targets import Target
from gen.emit.body import Body
from gen.emit.form import Form
from gen.emit.helpers import Helpers
from gen.emit.maps import INDEX_TYPES, conditions
from gen.statements import Assign, Call, Return, Statement
from gen.emit.values import Touched
from gen.heroes.walk import Walk
from gen.hlo import dtypes
from gen.plan.buffer import Buffer, Role
from gen.plan.buffers import buffers_of, leads_of
from gen.plan.digits import place
from gen.plan.nest import TOO_LARGE, BuildError, Nest
from gen.plan.partition import EMPTY, Function, Partition
from gen.schedule import Schedule


@dataclass(frozen=True)
class Grid:
    """A kernel with its launch; all fields are decided before the first statement is written.

    name: name of the C function.
    loop: the schedule.
    index: the index type.
    blocks: number of blocks of the launch.
    thread: the map from a work-item's step to the index, which reports print.
    own_threads: threads of a block; 0: the schedule's number.
    written_by: the name of the hero, if it differs from the choice's hero.
    plain: the kernel to use if the C macro SETT_BURSTS is 0; None: this kernel.
    dynamic_bytes: bytes of shared memory that the launch gives to each block.
    """

    name: str
    loop: Schedule
    index: str
    blocks: int
    thread: str = ""
    own_threads: int = 0
    written_by: str = ""
    plain: "Optional[Grid]" = None
    dynamic_bytes: int = 0

    @property
    def threads(self) -> int:
        """Return the number of threads of a block."""
        return self.own_threads or self.loop.threads


@dataclass
class CFunction:
    """A C function that kernels call. leads: its arguments that are leading dimensions of arrays."""

    name: str
    type: str
    arguments: str
    lines: List[Statement]
    leads: "Sequence[str]" = ()


@dataclass(frozen=True)
class Argument:
    """A buffer among a kernel's parameters.

    type: type of the pointer, as C text, with its star.
    restrict: the keyword for a pointer without aliases, or "".
    word: bytes of the widest word by which the kernel accesses several elements at once.
    atomic: bytes of the words of atomic operations, to which the pointer must be aligned.

    `word` and `atomic` are used if each launch chooses the widths of accesses (`Target.chooses_words`).
    """

    type: str
    buffer: Buffer
    read_only: bool
    restrict: str = ""
    word: int = 0
    atomic: int = 0

    def __str__(self) -> str:
        return f"{self.type}{self.restrict}{self.buffer.pointer}"


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of a work-item: a variable and its value, as C text."""

    name: str
    text: str


@dataclass(frozen=True)
class Placing:
    """The coordinates of a work-item, printed by templates/parts/frame.j2.

    group, item: true if the C text uses the number of the work-group, and of the work-item in its group.
    coordinates: the variables and their values.
    guard: the condition that a work-item has something to compute; "" if it always has.
    spare: true if the C text may leave some coordinates unused.
    """

    group: bool
    item: bool
    coordinates: List[Coordinate]
    guard: str = ""
    spare: bool = False

    @staticmethod
    def of(counts: "Sequence[Tuple[str, int]]", threads: int, index_type: str) -> "Tuple[Placing, int]":
        """Return the coordinates of a work-item and the number of work-groups. The coordinates are the digits of the
        work-item's number, a mixed-radix number; `counts` has the name and size of each digit.
        """
        index, blocks = place(counts, threads)
        c = algebra.c_text(index, index_type)
        coordinates = [Coordinate(name, text) for (name, _), text in zip(counts, c.results)]
        launched = {"th_x": (0, threads - 1), "bl_x": (0, blocks - 1)}
        return Placing(blocks > 1, threads > 1, coordinates, " && ".join(conditions(index, launched, index_type))), blocks


@dataclass(frozen=True)
class StepCode:
    """The C lines of a step, which computes `vec` registers of `lanes` elements (parts/step.j2).

    before: loads of whole vectors.
    text: the computation of one register.
    after: stores of whole vectors.
    repeated: words for reports that say how often `text` runs ("for each update"); "" if it runs once for each
        register.
    """

    before: Sequence[Statement]
    text: Sequence[Statement]
    after: Sequence[Statement]
    vec: int = 1
    lanes: int = 1
    repeated: str = ""

    @staticmethod
    def of_body(body: Body, vec: int) -> "StepCode":
        return StepCode(body.before.lines, body.text.lines, body.after.lines, vec, body.lanes)


@dataclass
class Table:
    """A table of all values of a function of one 16-bit number.

    fill: name of the kernel that fills the table.
    value: C text of the function's value.
    number: number of the table in the file.
    """

    fill: str
    value: str
    number: int = 0


@dataclass
class Text:
    """The text of a kernel, without its name and its arguments.

    template: the file in templates/.
    record: the hero's dataclass that the template prints.
    functions: the functions that the kernel calls.
    attribute: C text that follows the kernel's qualifiers.
    table: the table that the kernel reads.
    inlined: true if the compiler must inline the kernel into the program's function.
    """

    template: str
    record: Any
    functions: "List[CFunction]" = field(default_factory=list)
    attribute: str = ""
    table: "Optional[Table]" = None
    inlined: bool = False


@dataclass
class Report:
    """The facts about a kernel that `gen explain` and the manifest print.

    touched: the memory accesses, each with its buffer and the map to the position in the buffer.
    code: code of a step or of an element; None if the kernels in `Kernel.scheduled` have it.
    refusals: the heroes that could write this kind of nest but refused, with their reasons.
    manifest: entries of the manifest in addition to name, schedule and launch.
    leads: leading dimensions in the text that are not in the maps of `touched`.
    """

    touched: "List[Touched]" = field(default_factory=list)
    code: "Optional[StepCode]" = None
    refusals: "List[str]" = field(default_factory=list)
    manifest: "Dict[str, str]" = field(default_factory=dict)
    leads: "Sequence[str]" = ()


def leads_named(accesses: "Iterable[Touched]", functions: "Iterable[CFunction]", buffers: "Iterable[Buffer]",
                others: "Iterable[str]" = ()) -> List[str]:
    """Return the leading dimensions of `buffers` that the accesses or the functions use, or that are in `others`."""
    named = {name for access in accesses if access.position != EMPTY
             for result in algebra.info(access.position).results for name in result.variables}
    named.update(others, *(function.leads for function in functions))
    return [name for name in leads_of(buffer.shape for buffer in buffers) if name in named]


@dataclass
class Kernel:
    """A kernel that writes a nest, or a part of it.

    sections: the kernels whose blocks this kernel contains, one after another (gen/heroes/concatenate.py).
    walk: the kernel's loop, if another kernel may run this loop in a range of its own blocks.
    without_bursts: the kernel to use if the C macro SETT_BURSTS is 0; None: this kernel.
    hero: the name of the hero that wrote it.
    overwrites: true if it reads an element before it writes at the same position.
    matrix: the C macro that is 1 if the compiler has the matrix instructions that the kernel uses; "" if it uses none.
    """

    grid: Grid
    nest: Nest
    arguments: List[Argument]
    text: Text
    report: Report = field(default_factory=Report)
    sections: "List[Kernel]" = field(default_factory=list)
    walk: "Optional[Walk]" = None
    without_bursts: "Optional[Kernel]" = None
    hero: str = ""
    overwrites: bool = False
    matrix: str = ""

    @property
    def name(self) -> str:
        return self.grid.name

    @property
    def loop(self) -> Schedule:
        return self.grid.loop

    @property
    def index(self) -> str:
        return self.grid.index

    @property
    def blocks(self) -> int:
        return self.grid.blocks

    @property
    def dynamic_bytes(self) -> int:
        return self.grid.dynamic_bytes

    @property
    def threads(self) -> int:
        return self.grid.threads

    @property
    def table(self) -> "Optional[Table]":
        return self.text.table

    def as_function(self) -> "Kernel":
        """Return the kernel as an ordinary function of the file, without `restrict`. If clang inlines a function with
        `restrict`, it emits an intrinsic that oclgrind 21.10 does not know.
        """
        return replace(self, text=replace(self.text, attribute=""),
                       arguments=[replace(argument, restrict="") for argument in self.arguments])

    @property
    def is_loop(self) -> bool:
        """Return true if the kernel is printed by templates/kernels/loop.j2. Such a kernel has no barriers."""
        return self.text.template == "kernels/loop"

    @property
    def buffers(self) -> List[Buffer]:
        return [argument.buffer for argument in self.arguments]

    @property
    def leads(self) -> List[str]:
        """Return the leading dimensions that are the kernel's arguments after the pointers, because its accesses or its
        functions use them.
        """
        return leads_named(self.report.touched, self.text.functions, self.buffers, self.report.leads)

    @property
    def chooses_words(self) -> bool:
        """Return true if each launch chooses the widths of the kernel's memory accesses."""
        return any(argument.word for argument in self.arguments)

    def arguments_in_words(self) -> "List[Argument]":
        """Return the arguments, with the widths of the kernel's accesses filled in."""
        def widest(buffer: Buffer, atomic: bool) -> int:
            return max((access.word for access in self.report.touched
                        if access.buffer == buffer and (access.verb == "combine") == atomic), default=0)
        return [replace(a, word=widest(a.buffer, False), atomic=widest(a.buffer, True)) for a in self.arguments]

    @property
    def params(self) -> List[Buffer]:
        return [buffer for buffer in self.buffers if buffer.role is Role.PARAMETER]

    @property
    def scheduled(self) -> "List[Kernel]":
        """Return the kernels that have schedules of their own: the sections, or the kernel itself and its version
        without bursts.
        """
        return self.sections or [kernel for kernel in (self, self.without_bursts) if kernel]


def arguments(d: Target, reads: "Iterable[Buffer]", writes: "Iterable[Buffer]",
              shared: "Collection[Buffer]" = ()) -> "List[Argument]":
    """Return a kernel's arguments: first the buffers that it reads, then those that it writes, each group sorted.
    shared: buffers that can also be reached through other pointers, so that `restrict` would be wrong.
    """
    return [Argument(d.array(_numbers(buffer), read_only, buffer.own), buffer, read_only,
                     "" if buffer in shared else d.restrict)
            for buffers, read_only in ((reads, True), (writes, False)) for buffer in sorted(set(buffers))]


def _numbers(buffer: Buffer) -> str:
    """Return the element type of a buffer: the complex type if the buffer's shape is an array of real and imaginary
    parts.
    """
    dtype = buffer.shape.dtype
    return next(name for name, of in dtypes.TABLE.items() if of.kind == "complex" and of.part == dtype) \
        if buffer.parts else dtype


def elements_of(d: Target, buffer: Buffer) -> str:
    """Return the pointer for reading elements of a buffer, as C text."""
    return f"({d.array(buffer.shape.dtype, True, buffer.own)}){buffer.pointer}" if buffer.parts else buffer.pointer


def function_text(d: Target, helpers: Helpers, partition: Partition, function: Function, excess: bool) -> CFunction:
    """Return a function of a part of the graph (partition) as C, with the narrowest index type that is wide enough."""
    form = Form(partition, function)
    index_type = next((kind for kind in INDEX_TYPES if form.fits(d, kind)), None)
    if not index_type:
        raise BuildError(f"{function.name}: {TOO_LARGE}")
    body = Body(d, helpers, form, index_type, excess)
    body.region(function.body)
    assert function.root is not None
    values = body.values_of(function.root, function.body, function.index)
    leaves = function.root.shape.leaves()
    buffers = buffers_of(partition, function)
    leads = list(leads_of(buffer.shape for buffer in buffers))
    parameters = [*map(str, arguments(d, buffers, ())), *(f"{d.index['long']} {name}" for name in leads),
                  *(f"{d.index[index_type]} i{k}" for k in range(len(function.dims)))]
    moved = [body.moved(value) for value in values]
    types = [body.type(value.dtype, 1, value.bits) for value in moved]
    unread = [Call("(void)", name) for name in leads if not body.uses(name)]
    if len(leaves) == 1:
        return CFunction(function.name, types[0], ", ".join(parameters) or "void",
                         [*unread, *body.text.lines, Return(moved[0].text)], leads)
    parameters += [f"{t} *o{k}" for k, t in enumerate(types)]
    return CFunction(function.name, "void", ", ".join(parameters),
                     [*unread, *body.text.lines, *(Assign(f"*o{k}", value.text) for k, value in enumerate(moved))],
                     leads)


def kernel_of(d: Target, helpers: Helpers, excess: bool, grid: Grid, nest: Nest, partitions: "Sequence[Partition]",
              text: Text, report: Report, reads: "Optional[Iterable[Buffer]]" = None,
              writes: "Optional[Iterable[Buffer]]" = None) -> Kernel:
    """Return a kernel that evaluates partitions. Its text contains the functions that the partitions call, each once.

    reads: the buffers that the kernel reads; default: those that the partitions read.
    writes: the buffers that the kernel writes; default: those of the nest's results.
    """
    called = {f.name: (partition, f) for partition in partitions for f in reversed(partition.functions[1:])}
    text.functions = [function_text(d, helpers, partition, f, excess) for partition, f in called.values()]
    if reads is None:
        reads = [buffer for partition in partitions for buffer in buffers_of(partition, partition.entry)]
    if writes is None:
        writes = [root.buffer for root in nest.partition.roots]
    return Kernel(grid, nest, arguments(d, reads, writes, nest.shared), text, report)


# ---- C text of the ends of loops ----

def share(number: str, size: int, count: int, total: int) -> Tuple[str, str]:
    """Divide `total` items into `count` shares of `size` items; the last share has the rest. Return two C texts: the
    first item of share `number`, and the first item after this share.
    """
    first, end = f"{number} * {size}", f"{number} * {size} + {size}"
    if count * size != total:
        end = f"({number} < {count - 1} ? {end} : {total})" if count > 1 else str(total)
    return first, end


def even_share(number: str, count: int, total: int, first: str) -> Tuple[str, str]:
    """Divide `total` items into `count` shares whose sizes differ by at most one, larger shares first. Return two C
    texts: the first item of share `number`, and the first item after this share. The second text reads the first item
    from the variable `first`.
    """
    size, longer = divmod(total, count)
    before, one = (f" + ({number} < {longer} ? {number} : {longer})", f" + ({number} < {longer})") if longer else ("", "")
    return f"{number} * {size}{before}", f"{first} + {size}{one}"


def piece_end(first: str, size: int, total: str, even: bool) -> str:
    """Return C text of the end of a piece that begins at `first` and has `size` items. even: true if all pieces have
    `size` items; if false, the last piece ends at `total`.
    """
    return f"{first} + {size}" if even else f"({first} + {size} < {total} ? {first} + {size} : {total})"
