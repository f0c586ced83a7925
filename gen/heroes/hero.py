"""What a hero is: one way to write a nest as kernels. gen/heroes/__init__.py lists them in the order in which they are
asked.

How one is added (tests/docs/test_guide.py holds these names against the tree, as those of gen/README.md):

`python3 -m gen explain tests/kernels/row_sum_f32.hlo --stage partition` shows the nests of a fusion, and the class of
those that are no plain `Nest` (`gen/plan/nest.py`). A result that is also reduced is mostly no nest of its own, but a
side result of the `Reduction` (`gen/plan/plan.py`). A nest of a new kind is a subclass of `Nest` (`gen/plan/nest.py`)
that `planned` (`gen/plan/nests.py`) makes; the hero that takes it asks for its type.

The interface, `gen/heroes/hero.py`:
- `Hero.name` is in reports and manifests. `Hero.sides` says whether the hero's kernels write side results too;
  `Hero.members` whether it takes nests that are made of others, and only these; `Hero.walks` whether its kernel is a
  walk that the concatenate hero may join to others; `Hero.overwrites` whether its kernels read an element before they
  write at its place, `Hero.reads_first` (`gen/heroes/hero.py`) whether those of a choice do; `Hero.leads` whether all
  addresses are C text of maps, so that leading dimensions may be given at run time.
- `Hero.takes` says whether the hero may write a nest. It asks the nest, `Context.device` and `Context.target`: not what
  a fusion, device or target is called, but what it can do. `Device.cpu` (`gen/schedule/`) tells CPUs from GPUs,
  `Device.wide` (`gen/schedule/`) says whether kernels are written in a CPU's vectors. The hero refuses what it is not
  made for: subclasses of `Nest` (`gen/plan/nest.py`), nests with `layout`, `reads_first` or `aliases`, the types
  `PACKED` (`gen/hlo/dtypes.py`), of which a byte has several.
- A nest may be of the hero's kind and still not be for it: its size, its types, the device. Then `Hero.takes`
  (`gen/heroes/hero.py`) or `Hero.schedules` raises `Refused` with the reason, in a few words for `gen explain`.
- `Hero.schedules` gives what may be tried, the best first. A hero with the steps of the loop hero takes those of its
  `HERO` (`gen/heroes/loop.py`) that suit it: a simple one takes `LoopSchedule.without_bursts` (`gen/schedule/`) in place of one
  that has it, then leaves out those whose `Schedule.streams` or `Schedule.interleaved` is above 1. Where
  `Context.threads` (`gen/heroes/hero.py`) is not 0, a schedule has that number of threads.
- `Hero.forms` gives what the bodies of a schedule's kernels compute, each a `Form` (`gen/emit/form.py`): a function,
  the map from a thread and its step to the index, and the counts of a step. `Hero.maps` (`gen/heroes/hero.py`) gives
  the maps that are C text beside them. `Hero.choices` asks both: `Form.vectors` (`gen/emit/form.py`) says whether
  guards and accesses allow the vectors, else it is the next schedule's turn; `Form.fits` says whether an index type
  holds all maps, of those that `Hero.index_types` (`gen/heroes/hero.py`) gives. The first `Choice` is taken.
- `Hero.grids` gives the kernels as they are launched, each a `Grid` (`gen/heroes/kernel.py`): name, schedule, blocks,
  threads. `Hero.accesses` (`gen/heroes/hero.py`) gives what a step accesses, with the elements of each at once.
- `Hero.build` gives the kernels of a choice, each with its grid, and cannot fail: what a body prints, it must print
  from the forms and maps that were asked. The first kernel of a nest has the nest's name, a further kernel that name
  with a suffix. A buffer between them is one of `Choice.scratch`, whose shapes `Hero.scratch_shapes` gives, each an
  `array_shape` (`gen/hlo/graph.py`). A further kernel without a walk has a plain `Schedule` (`gen/schedule/`) and a `StepCode`
  (`gen/heroes/kernel.py`) as its code.
- `Hero.describe` (`gen/heroes/hero.py`) says what is special of a choice, `Hero.manifest` of a kernel; `Hero.refusal`
  says why no schedule fits.

The computation of a step, with `gen/heroes/loop.py` as the example: `thread_map` gives the map from a thread and its
step to the index, `guard` the condition that the map needs. `step_form` makes a `Form` (`gen/emit/form.py`) of the
function, that map and the schedule, `step_body` (`gen/heroes/loop.py`) a `Body` (`gen/emit/body.py`) of that.
`Regions.region` (`gen/emit/regions.py`) emits the function, `Stores.store` (`gen/emit/stores.py`) a root;
`Stores.final` is the value that it stores, as C text: a vector where a step's registers have several lanes. In
`gen/emit/state.py`, `before`, `text` and `after` hold the statements for the record; `Code.add`
(`gen/statements.py`) adds one of the hero's. The template declares the numbers of group and work-item only where
the lines name them, else nvcc warns: `uses` (`gen/emit/state.py`) says so for a body's maps, `tested`
(`gen/emit/maps.py`) for a guard. If `LoopSchedule.cut` (`gen/schedule/`) says that the end may cut a step, a second body
computes one element: `LoopSchedule.scalar` has its thread map and its guard. Each body names its values from the beginning, so
lines of two bodies in one scope may clash: the template puts those of the second in braces.

For a reduction, the function is that of `Reduction.inputs` (`gen/plan/plan.py`), whose roots are what is reduced, then
the side results. Its elements are those of `Reduction.space`: `Nest.shape` (`gen/plan/nest.py`) is that of the reduced
result, so the loop hero's functions do not serve, and a side result is what to ask its schedules with.
`gen/hlo/combiner.py` `analyse` says what the combiner allows and what a partial result starts from.
`gen/heroes/reduction.py` `ReductionWriter` emits both, and what follows the totals: `plain` refuses what it cannot,
`digits_of` gives what it is made with, `ReductionWriter.values` a step's elements, with the side results stored,
`ReductionWriter.start` and `ReductionWriter.combined` an accumulator, `ReductionWriter.epilogue` the results from
totals, `ReductionWriter.kernel` the kernel. `parts_kernel` (`gen/heroes/reduction_cpu.py`) is a short example: it adds what
parts left in a scratch buffer.

The hero gives all of this in a `Kernel` (`gen/heroes/kernel.py`): its `Text` is what is printed, its `Report` what
people are told. `kernel_of` makes one from the partitions that it evaluates: its arguments are the buffers of
`buffers_of` (`gen/plan/buffers.py`) and of the roots, as `arguments` (`gen/heroes/kernel.py`) sorts them, what is read,
then what is written; `function_text` gives the functions that it calls. `environment`
(`gen/emit/templates.py`) says what a template may call: `//%` begins a statement, `${ }` prints, and a hole alone on its line
prints lines at its indentation. `templates/parts/registers.j2` has the loop over the registers of a step, in the words
of each target.

A test: `target_file` (`gen/pipeline.py`) gives a fusion's kernels for the names of a target and of a device, and
`Kernel.hero` (`gen/heroes/kernel.py`) says who wrote each: yours for the fusions that it must take, another for some
just outside. `agree` (`tests/drawn.py`) checks them against the reference, on the devices of `ON`, with NaNs and
infinities in some inputs; `ptx` compiles them for CUDA. `marked` marks the devices that `ninja test` leaves to
`ninja test-peer`, and `in_turn` shares drawn fusions among the rest; a second line in `build.ninja`, with another
`part`, runs what is marked.
`tests/kernels/test_kernels.py` says in `HEROES` and `GPU_HEROES` who writes the catalogue's kernels where it is not the
loop hero. If `gen explain` names another hero than yours, the lines below it say why yours refused; without such a line it
did not take the nest, or gave no schedule.
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
    """What a hero is given beside a nest. helpers: functions and tables of the file so far. scratch: the buffers
    between kernels so far. choose: gives the choices for a part of a nest. threads: of a block, where they are settled
    (0: the hero chooses): a schedule must then have that number."""

    target: Target
    device: Device
    helpers: Helpers
    excess: bool
    scratch: List[Buffer]
    choose: "Callable[[Nest, Context], List[Choice[Any, Any]]]"
    threads: int = 0

    def new(self, shape: Shape) -> Buffer:
        """A new buffer between kernels."""
        self.scratch.append(Buffer(Role.SCRATCH, len(self.scratch), shape, "x"))
        return self.scratch[-1]


N = TypeVar("N", bound=Nest)
S = TypeVar("S")        # a schedule, alone or in a record with what a hero has found out about a nest


@dataclass
class Choice(Generic[N, S]):
    """How a nest is written, complete before a statement exists.

    schedule: alone or in a record with what the hero has found out about the nest. index: the type of its indices.
    accesses: what a step accesses, and how many elements at once. scratch: the buffers between its kernels. grids: its
    kernels as they are launched; none where its parts have kernels of their own. parts: the choices for the nests that
    it is made of. refusals: who does not write the nest although it is made for its kind, and why, for people.
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
        """The choices that have kernels: this one, or its parts where each has kernels of its own."""
        if self.grids:
            yield self
            return
        first, *others = self.parts
        yield from replace(first, refusals=[*self.refusals, *first.refusals]).leaves()
        for part in others:
            yield from part.leaves()

    def scheduled(self, grid: Grid) -> "List[Tuple[Choice[Any, Any], Grid]]":
        """The grids that have a schedule of their own in a kernel, each with its choice: those of the parts whose
        blocks the kernel has, or its own and the one where bursts are off."""
        if self.parts:
            return [(part, of) for part in self.parts for of in part.grids]
        return [(self, of) for of in (grid, grid.plain) if of]

    def kernels(self, context: Context) -> List[Kernel]:
        """The kernels, as they were chosen."""
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
    """Why a hero does not write a nest of the kind that it is made for: a size, a type, the device. `gen explain` says
    it."""


class Hero(Generic[N, S]):
    """The interface of all heroes.

    name: one word in reports and manifests; its kernels have it as their `hero`, and heroes may share a name.
    nest_class: of the nests that it may take. sides: whether its kernels write a nest's side results too (else each
    side is a nest of its own). members: whether it takes nests that are made of others, and these alone. walks: whether
    its one kernel is a walk, which another kernel may do in a range of its blocks. overwrites: whether its kernels read
    an element before they write at its place, so that a result may lie over an operand where the maps allow it
    (gen/plan/overwrite.py). leads: whether all addresses of its kernels are C text of maps, which may name a leading
    dimension (gen/program/leads.py).
    """

    name = ""
    nest_class: "Type[N]"
    sides = False
    members = False
    walks = False
    overwrites = False
    leads = False

    def takes(self, nest: N, context: Context) -> bool:
        """Whether it may write this nest of its class; it may still find that no schedule fits. Refused: it is of the
        hero's kind, but not for it."""
        return True

    def schedules(self, nest: N, context: Context) -> "Iterable[S]":
        """What may be tried, best first: a schedule, alone or in a record with what the hero has found out about the
        nest. Refused: as `takes`."""
        raise NotImplementedError

    def index_types(self, schedule: S) -> "Sequence[str]":
        """The types that an index may have, the preferred one first."""
        return INDEX_TYPES

    def forms(self, nest: N, schedule: S, context: Context) -> "Iterable[Form]":
        """What the bodies of its kernels compute. Where the maps do not allow a form's vectors, it is another
        schedule's turn."""
        raise NotImplementedError

    def maps(self, nest: N, schedule: S, context: Context) -> "Iterable[str]":
        """The maps that are C text beside those of the forms: they decide which index type holds."""
        return ()

    def scratch_shapes(self, nest: N, schedule: S, context: Context) -> "List[Shape]":
        """The shapes of the buffers between its kernels."""
        return []

    def accesses(self, nest: N, schedule: S, context: Context) -> "List[Access]":
        """The accesses of a step, each once."""
        forms = self.forms(nest, schedule, context)
        return list(dict.fromkeys(access for form in forms for access in form.accesses(context.target)))

    def grids(self, choice: Choice[N, S], context: Context) -> "List[Grid]":
        """The kernels of a choice as they are launched."""
        raise NotImplementedError

    def choices(self, nest: N, context: Context) -> "Iterator[Choice[N, S]]":
        """The choices that the maps allow, best first. Refused: there are schedules, but the maps allow none."""
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
        """The kernels of a choice."""
        raise NotImplementedError

    def describe(self, choice: Choice[N, S], grid: Grid, context: Context) -> "List[str]":
        """Lines for people about a kernel's schedule, below the line that all have."""
        return []

    def reads_first(self, choice: Choice[N, S], context: Context) -> bool:
        """Return true if this choice's kernels may write results over operands; asked only of a hero whose kernels may."""
        return True

    def manifest(self, kernel: Kernel) -> "Dict[str, str]":
        """What a manifest says of a kernel beside its name, schedule and launch."""
        return {}

    def refusal(self, nest: N) -> str:
        """Why no schedule fits, where this hero is the last that may take the nest."""
        return TOO_LARGE
