"""A hero (kernel emitter): one way to write a nest as kernels. gen/heroes/__init__.py lists the heroes in the order in
which they are tried.

This text says how to add a hero. tests/docs/test_guide.py checks that the names below exist.

`python3 -m gen explain tests/kernels/row_sum_f32.hlo --stage partition` shows the nests of a fusion, and the class of
each nest that is not a plain `Nest` (`gen/plan/nest.py`). A result that is also reduced is usually not a nest of its
own, but a side result of the `Reduction` (`gen/plan/plan.py`). A new kind of nest is a subclass of `Nest`
(`gen/plan/nest.py`), which `planned` (`gen/plan/nests.py`) makes; its hero checks the nest's type.

The interface, `gen/heroes/hero.py`:
- `Hero.name` is printed in reports and manifests. The following fields are true under these conditions. `Hero.sides`:
  the hero's kernels also write side results. `Hero.members`: the hero writes combined nests, and only these.
  `Hero.walks`: its kernel is a loop that the concatenate hero may join to other loops. `Hero.overwrites`: its kernels
  read an element before they write at the same position (`Hero.reads_first` (`gen/heroes/hero.py`) says so for a
  particular choice). `Hero.leads`: all addresses are printed from maps, so that the caller may give leading dimensions
  at run time.
- `Hero.takes` returns true if the hero may write a nest. The answer depends on the nest and on what `Context.device`
  and `Context.target` can do; the name of a fusion, device or target does not matter. `Device.cpu` (`gen/schedule/`)
  distinguishes CPUs from GPUs; `Device.wide` (`gen/schedule/`) is true if kernels use a CPU's vectors. The hero must
  refuse nests that it was not made for: subclasses of `Nest` (`gen/plan/nest.py`), nests with `layout`, `reads_first`
  or `aliases`, and the types `PACKED` (`gen/hlo/dtypes.py`), which have several elements in a byte.
- A nest of the hero's kind may still be unsuitable because of its size, its types or the device. Then `Hero.takes`
  (`gen/heroes/hero.py`) or `Hero.schedules` raises `Refused` with the reason, in a few words for `gen explain`.
- `Hero.schedules` returns the schedules to try, best first. A hero whose steps are those of the loop hero takes the
  schedules of `HERO` (`gen/heroes/loop.py`). A simple hero replaces each schedule by its `LoopSchedule.without_bursts`
  (`gen/schedule/`), if there is one, and drops schedules whose `Schedule.streams` or `Schedule.interleaved` is above 1.
  If `Context.threads` (`gen/heroes/hero.py`) is not 0, a schedule must have that number of threads.
- `Hero.forms` returns the code that a schedule's kernels contain, each piece as a `Form` (`gen/emit/form.py`): a
  function, the map from a thread and its step to the index, and the counts of a step. `Hero.maps`
  (`gen/heroes/hero.py`) returns the further maps that become C text. `Hero.choices` checks both. `Form.vectors`
  (`gen/emit/form.py`) is true if guards and accesses allow vectors; if it is false, the next schedule is tried.
  `Form.fits` is true if an index type of `Hero.index_types` (`gen/heroes/hero.py`) holds the values of all maps. The
  first `Choice` is taken.
- `Hero.grids` returns the kernels with their launches, each a `Grid` (`gen/heroes/kernel.py`): name, schedule, blocks,
  threads. `Hero.accesses` (`gen/heroes/hero.py`) returns the accesses of a step, with the number of elements of each
  access.
- `Hero.build` returns the kernels of a choice, each with its grid. It cannot fail, so it prints only code whose forms
  and maps were checked. The first kernel has the nest's name; a further kernel has that name with a suffix. Buffers
  between kernels are in `Choice.scratch`; `Hero.scratch_shapes` returns their shapes, each an `array_shape`
  (`gen/hlo/graph.py`). A further kernel usually has a plain `Schedule` (`gen/schedule/`), and a
  `StepCode` (`gen/heroes/kernel.py`) as its code.
- `Hero.describe` (`gen/heroes/hero.py`) describes a choice for people, `Hero.manifest` a kernel for the manifest.
  `Hero.refusal` returns the reason why no schedule fits.

The code of a step, with `gen/heroes/loop.py` as the example: `thread_map` returns the map from a thread and its step to
the index, `guard` the condition that the map needs. `step_form` makes a `Form` (`gen/emit/form.py`) of the function,
that map and the schedule; `step_body` (`gen/heroes/loop.py`) makes a `Body` (`gen/emit/body.py`) of the form.
`Regions.region` (`gen/emit/regions.py`) emits the function, and `Stores.store` (`gen/emit/stores.py`) emits the store
of a root. `Stores.final` is the stored value as C text; it is a vector if a step's registers have several lanes. In
`gen/emit/state.py`, `before`, `text` and `after` have the statements for the record; `Code.add` (`gen/statements.py`)
adds a statement of the hero's own.

The template declares the numbers of group and work-item only if the code uses them, because nvcc warns of unused
variables: `uses` (`gen/emit/state.py`) checks a body's maps, `tested` (`gen/emit/maps.py`) checks a guard. If
`LoopSchedule.cut` (`gen/schedule/`) is true, the end may cut a step, and a second body computes single elements;
`LoopSchedule.scalar` has the second body's thread map and guard. Both bodies may use the same variable names, so the
template puts the statements of the second body in braces.

For a reduction, the function is that of `Reduction.inputs` (`gen/plan/plan.py`). Its roots are the values to reduce,
followed by the side results; its elements are those of `Reduction.space`. `Nest.shape` (`gen/plan/nest.py`) is the
shape of the reduced result, so the loop hero's functions cannot be used directly; its schedules can be used for a side
result. `gen/hlo/combiner.py` `analyse` decides in which order the combiner may be applied, and from which values
partial results start.

`gen/heroes/reduction.py` `ReductionWriter` emits the code of reductions. `plain` refuses unsuitable nests, and
`digits_of` returns the digits that the writer needs. `ReductionWriter.values` returns the elements of a step (it also
stores side results), `ReductionWriter.start` and `ReductionWriter.combined` start and update an accumulator,
`ReductionWriter.epilogue` computes the results from totals, and `ReductionWriter.kernel` returns the kernel.
`parts_kernel` (`gen/heroes/reduction_cpu.py`) is a short example: it combines the totals of parts in a scratch buffer.

The hero returns all of this as a `Kernel` (`gen/heroes/kernel.py`): its `Text` is printed, its `Report` is shown to
people. `kernel_of` makes a kernel of the partitions that it evaluates. Its arguments are the buffers of `buffers_of`
(`gen/plan/buffers.py`) and of the roots. `arguments` (`gen/heroes/kernel.py`) sorts them: first the buffers that are
read, then those that are written. `function_text` returns the functions that the kernel calls. `environment`
(`gen/emit/templates.py`) documents the template language: `//%` begins a statement, `${ }` prints, and a `${ }` alone
on its line prints lines at its indentation. `templates/parts/registers.j2` has the loop over the registers of a step,
in the words of each target.

A test: `target_file` (`gen/pipeline.py`) returns a fusion's kernels, given the names of a target and of a device.
`Kernel.hero` (`gen/heroes/kernel.py`) names the hero of each kernel. Test fusions that the hero must take, and similar
fusions that it must not take. `agree` (`tests/drawn.py`) compares the kernels with the reference, on the devices of
`ON`, with NaNs and infinities in some inputs; `ptx` compiles them for CUDA. `marked` marks the devices that `ninja
test` leaves to `ninja test-peer`, and `in_turn` distributes drawn fusions among the other devices; a second line in
`build.ninja`, with another `part`, runs the marked devices. `tests/kernels/test_kernels.py` lists in `HEROES` and
`GPU_HEROES` the catalogue's kernels that the loop hero does not write, with their heroes.

If `gen explain` names another hero than yours, the lines below it say why yours refused. If there is no such line, your
hero did not take the nest, or had no schedule.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, Generic, Iterable, Iterator, List, Sequence, Tuple, Type, TypeVar

from gen import algebra
from gen.emit.form import Form
from gen.emit.helpers import Helpers
from gen.emit.maps import INDEX_TYPES
from gen.emit.values import Access
from gen.heroes.kernel import Grid, Kernel
from gen.hlo import Shape
from gen.plan.buffer import Buffer, Role
from gen.plan.nest import TOO_LARGE, Nest
from gen.plan.partition import EMPTY
from gen.plan.whole import Whole
from gen.schedule import Device
from gen.targets import Target


@dataclass
class Context:
    """The data, besides the nest, from which an emitter (hero) makes its decisions.

    helpers: C functions and tables that the file contains so far.
    scratch: the scratch buffers between kernels so far.
    choose: function that returns the choices for a nest which is a part of another nest.
    threads: the number of threads of a block, if it is fixed; 0: the hero chooses.
    """

    target: Target
    device: Device
    helpers: Helpers
    excess: bool
    scratch: List[Buffer]
    choose: "Callable[[Nest, Context], List[Choice[Any, Any]]]"
    threads: int = 0

    def new(self, shape: Shape) -> Buffer:
        """Add a scratch buffer of this shape, and return it."""
        self.scratch.append(Buffer(Role.SCRATCH, len(self.scratch), shape, "x"))
        return self.scratch[-1]


N = TypeVar("N", bound=Nest)
S = TypeVar("S")  # a schedule, or a record of a schedule and facts about the nest


@dataclass
class Choice(Generic[N, S]):
    """All decisions about a nest's kernels, complete before the first statement is written.

    schedule: the schedule, or a record of a schedule and facts about the nest.
    index: the type of the kernels' indices.
    accesses: the memory accesses of a step, each with its number of elements.
    scratch: the scratch buffers between the kernels.
    grids: the kernels with their launches; empty if each part has kernels of its own.
    parts: the choices for the nests that are combined in this nest.
    refusals: for `gen explain`: the heroes that could write this kind of nest but refused, with their reasons.
    """

    hero: "Hero[N, S]"
    nest: N
    schedule: S
    index: str
    accesses: "List[Access]" = field(default_factory=list)
    scratch: List[Buffer] = field(default_factory=list)
    grids: "List[Grid]" = field(default_factory=list)
    parts: "List[Choice[Any, Any]]" = field(default_factory=list)
    refusals: List[str] = field(default_factory=list)

    def leaves(self) -> "Iterator[Choice[Any, Any]]":
        """Yield the choices that have kernels: this choice, or its parts if each part has kernels of its own."""
        if self.grids:
            yield self
            return
        first, *others = self.parts
        yield from replace(first, refusals=[*self.refusals, *first.refusals]).leaves()
        for part in others:
            yield from part.leaves()

    def scheduled(self, grid: Grid) -> "List[Tuple[Choice[Any, Any], Grid]]":
        """Return the schedules of a kernel, as pairs of a choice and a grid. A kernel that contains several parts has
        one pair for each part. Any other kernel has one pair, or two if it also has a version without bursts of
        prefetches.
        """
        if self.parts:
            return [(part, of) for part in self.parts for of in part.grids]
        return [(self, of) for of in (grid, grid.plain) if of]

    def kernels(self, context: Context) -> List[Kernel]:
        """Return the kernels of this choice."""
        written = self.hero.build(self, context)
        assert not self.grids or [kernel.grid for kernel in written] == self.grids, (
            f"{self.hero.name}: build gives other grids than grids, for {self.nest.name}")
        for kernel in written if self.grids else ():
            kernel.hero = kernel.grid.written_by or self.hero.name
            kernel.overwrites = self.hero.overwrites and self.hero.reads_first(self, context)
            kernel.report.manifest = self.hero.manifest(kernel)
            if context.target.chooses_words:
                kernel.arguments = kernel.arguments_in_words()
        written[0].report.refusals[:0] = self.refusals
        return written


class Refused(Exception):
    """An emitter (hero) refuses a nest of its kind because of a size, a type or the device. `gen explain` prints the
    reason.
    """


class Hero(Generic[N, S]):
    """The interface of all heroes.

    name: one word for reports and manifests; several heroes may share a name.
    nest_class: the class of nests that the hero may write.
    sides: true if its kernels also write a nest's side results; false if each side result is a nest of its own.
    members: true if the hero writes combined nests, and only these.
    walks: true if its only kernel is a loop, which the concatenate hero may put into one kernel with other loops. Each
        loop then has a range of the kernel's blocks.
    overwrites: true if its kernels read an element before they write at the same position. A result may then overwrite
        an operand if the maps allow it (gen/plan/overwrite.py).
    leads: true if all addresses of its kernels are printed from maps, which may contain a leading dimension
        (gen/program/leads.py).
    """

    name = ""
    nest_class: "Type[N]"
    sides = False
    members = False
    walks = False
    overwrites = False
    leads = False

    def takes(self, nest: N, context: Context) -> bool:
        """Return true if the hero may write this nest, although it may still find no schedule. Raise Refused for a nest
        of the hero's kind that it cannot write.
        """
        return True

    def schedules(self, nest: N, context: Context) -> "Iterable[S]":
        """Return the schedules to try, best first. Raise Refused as in `takes`."""
        raise NotImplementedError

    def index_types(self, schedule: S) -> "Sequence[str]":
        """Return the types that an index may have, the preferred type first."""
        return INDEX_TYPES

    def forms(self, nest: N, schedule: S, context: Context) -> "Iterable[Form]":
        """Return the plans (`Form`) of the code in the hero's kernels. If the maps do not allow the vectors of a form,
        the next schedule is tried.
        """
        raise NotImplementedError

    def maps(self, nest: N, schedule: S, context: Context) -> "Iterable[str]":
        """Return the maps that are printed as C text, except those of the plans that `forms` returns. The index type
        must hold the values of these maps.
        """
        return ()

    def scratch_shapes(self, nest: N, schedule: S, context: Context) -> "List[Shape]":
        """Return the shapes of the scratch buffers between the hero's kernels."""
        return []

    def accesses(self, nest: N, schedule: S, context: Context) -> "List[Access]":
        """Return the memory accesses of a step, without repetition."""
        forms = self.forms(nest, schedule, context)
        return list(dict.fromkeys(access for form in forms for access in form.accesses(context.target)))

    def grids(self, choice: Choice[N, S], context: Context) -> "List[Grid]":
        """Return the launches of a choice's kernels. The code of the kernels is written later."""
        raise NotImplementedError

    def choices(self, nest: N, context: Context) -> "Iterator[Choice[N, S]]":
        """Yield the choices that the maps allow, best first. Raise Refused if there are schedules and the maps allow
        none of them.
        """
        tried = 0
        for tried, schedule in enumerate(self.schedules(nest, context), 1):
            forms = list(self.forms(nest, schedule, context))
            if not all(form.vectors() for form in forms):
                continue
            assert forms or any(self.maps(nest, schedule, context)) or isinstance(nest, Whole), f"{self.name}: no form and no map says which index type holds"
            for index in self.index_types(schedule):
                if all(form.fits(context.target, index) for form in forms) and all(
                        algebra.fits(text, index) for text in self.maps(nest, schedule, context) if text != EMPTY):
                    yield Choice(self, nest, schedule, index, self.accesses(nest, schedule, context))
                    break
        if tried:
            raise Refused(f"the maps allow none of its schedules ({tried})")

    def build(self, choice: Choice[N, S], context: Context) -> "List[Kernel]":
        """Write the kernels of a choice, and return them."""
        raise NotImplementedError

    def describe(self, choice: Choice[N, S], grid: Grid, context: Context) -> "List[str]":
        """Return further lines that `gen explain` prints about a kernel's schedule."""
        return []

    def reads_first(self, choice: Choice[N, S], context: Context) -> bool:
        """Return true if this choice's kernels may overwrite an operand with a result. This is called only if
        `overwrites` is true.
        """
        return True

    def manifest(self, kernel: Kernel) -> "Dict[str, str]":
        """Return the manifest's entries for a kernel, in addition to its name, schedule and launch."""
        return {}

    def refusal(self, nest: N) -> str:
        """Return the reason why no schedule fits. This is called if no other hero can write the nest."""
        return TOO_LARGE
