"""Functions that the reduction heroes of CPUs and GPUs share. They find the digits of the input, combine accumulators,
and compute results from totals.

The position in the input is a mixed-radix number, whose digits are either kept or reduced (gen/plan/digits.py).
Accumulators start from the values that gen/hlo/combiner.py gives. Sums of f16 and bf16 are accumulated in f32 and
rounded once.

For some combiners, such as most forms of argmax, the order of the elements matters only if an element is NaN. The
kernel then records NaNs, and computes a result again, in the order of the elements, if one of them was NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form, Given
from gen.statements import Assign
from gen.emit.values import Touched, Value
from gen.heroes.hero import Context, Refused
from gen.heroes.kernel import Grid, Kernel, Report, Text, kernel_of
from gen.hlo import Instruction, Shape, array_shape, combiner, dtypes
from gen.plan.buffer import Buffer
from gen.plan.buffers import buffers_of, reads_of, touches
from gen.plan.digits import IterationSpace, iteration_space
from gen.plan.nest import Nest
from gen.plan.partition import Partition, Root, compose
from gen.plan.plan import Reduction
from gen.schedule import Schedule
from gen.targets import COMPLEX, SMALL, TINY


@dataclass
class Digits:
    """The digits of the position in the input, as a mixed-radix number.

    sizes: sizes of the digits.
    weights: strides of the digits in the input.
    out: strides of the digits in the result; 0 for a reduced digit.
    """

    sizes: Tuple[int, ...]
    weights: Tuple[int, ...]
    out: Tuple[int, ...]

    @property
    def minor(self) -> int:
        return len(self.sizes) - 1

    def kept(self) -> List[int]:
        return [k for k, step in enumerate(self.out) if step]

    def reduced(self) -> List[int]:
        return [k for k, step in enumerate(self.out) if not step]


def digits_of(nest: Reduction) -> "Tuple[Digits, IterationSpace]":
    """Split the position in the input into digits (a mixed-radix number), and return them with the accesses along them.
    Raise Refused if a result or side result has no constant stride along a digit.
    """
    dims, gone = nest.space.dims, nest.reduced
    names = [f"i{k}" for k in range(len(dims))]
    kept = [n for k, n in enumerate(names) if k not in gone]
    domain = ", ".join(f"{n} in [0, {size - 1}]" for n, size in zip(names, dims))
    drop = algebra.simplify(f"({', '.join(names)}) -> ({', '.join(kept)}), domain: {domain}")
    result = nest.heroes[0].shape.leaves()[0]
    out = compose(drop, algebra.call("shape", "map", result.text))
    heroes = sum(len(hero.operands) // 2 for hero in nest.heroes)
    space = iteration_space(nest.inputs, nest.space, [("out", out)], nest.inputs.roots[heroes:])
    if space is None:
        raise Refused("some result has no stride along the input")
    steps = space.accesses[0].strides
    assert steps is not None
    return Digits(space.sizes, space.weights(), steps), space


def plain(nest: Nest) -> bool:
    """Return true if the nest is a reduction. Raise Refused for elements that share a byte, and for complex and 8-bit
    float elements.
    """
    if not isinstance(nest, Reduction):
        return False
    leaves = [root.shape for root in nest.partition.roots] + [leaf for hero in nest.heroes
                                                              for leaf in hero.shape.leaves()]
    if touches(nest, COMPLEX) or any(leaf.dtype in dtypes.PACKED or leaf.dtype in TINY for leaf in leaves):
        raise Refused("some elements are complex or floats of 8 bits, or share bytes")
    return True


class ReductionWriter:
    """The writer of the kernels of a reduction.

    sweep: the schedule.
    accumulators: the components of all reduce ops of the nest.
    results: the number of results.
    watched: the reduce ops whose results depend on the order if an element is NaN.
    partial: the scratch buffers for the totals of parts; the last buffer has flags of the NaNs that were found.
    seen: memory accesses, for `gen explain`.
    """

    def __init__(self, context: Context, nest: Reduction, digits: Digits, sweep: Schedule, index_type: str) -> None:
        self.context, self.d, self.helpers, self.excess = context, context.target, context.helpers, context.excess
        self.nest, self.digits, self.sweep, self.index_type = nest, digits, sweep, index_type
        self.t = self.d.index.get(index_type, "")
        self.combiners = [combiner.analyse(hero) for hero in nest.heroes]
        self.accumulators = combiner.components(nest.heroes)
        self.results = math.prod(digits.sizes[k] for k in digits.kept())
        self.seen: List[Touched] = []
        # the map from a work-item's step to the index, which reports print; set by the first call of `form`
        self.of_thread = ""
        self.partial: List[Buffer] = []
        self.watched = [h for h, analysed in enumerate(self.combiners) if not analysed.free]

    def name(self, h: int, k: int, of: str = "a") -> str:
        return f"{of}{h}_{k}" if len(self.nest.heroes) > 1 else f"{of}{k}"

    @staticmethod
    def kept_as(dtype: str) -> str:
        """Return the type in which partial results are stored in memory."""
        return "f32" if dtype in SMALL else dtype

    def start(self, h: int, k: int) -> str:
        return self.d.literal(self.combiners[h].start_of(k), self.types_of(h)[k])

    def types_of(self, h: int) -> List[str]:
        return [dtype for hero, _, dtype in self.accumulators if hero == h]

    def combined(self, body: Body, h: int, a: Sequence[str], b: Sequence[str], lanes: int) -> List[str]:
        """Add the statements that compute f(a, b), for the combiner f of op h, to body.text. Return C texts of the
        results, one for each component.
        """
        dtypes_ = self.types_of(h)
        values = [Value(text, dtype, lanes) for text, dtype in zip([*a, *b], [*dtypes_, *dtypes_])]
        new = body.with_excess().scalar(self.nest.heroes[h].called[0], values)
        new = [body.declare("next", v.dtype, v.lanes, v.text) for v in new] if len(new) > 1 else new
        return [v.text if v.lanes == lanes else self.d.splat(v.dtype, lanes, v.text) for v in new]

    def form(self, thread: str, box: "Dict[str, Tuple[int, int]]", sweep: Schedule, partition: Partition,
             given: "Optional[Mapping[Instruction, Given]]" = None) -> Form:
        stores = self.sides if partition is self.nest.inputs else None
        self.of_thread = self.of_thread or thread
        return Form(partition, partition.entry, thread, sweep, box, given=given or {}, stores=stores)

    def body(self, thread: str, box: "Dict[str, Tuple[int, int]]", sweep: Schedule, partition: Partition,
             given: "Optional[Mapping[Instruction, Given]]" = None) -> Body:
        return self.body_for(self.form(thread, box, sweep, partition, given))

    def body_for(self, form: Form) -> Body:
        return Body(self.d, self.helpers, form, self.index_type, self.excess)

    def plain(self, lanes: int = 1) -> Body:
        """Return a body (a writer of C statements) for statements that read no memory. Its variables may have the same
        names as those of another body, so its statements need braces of their own.
        """
        partition = self.nest.epilogue
        form = Form(partition, partition.entry, loop=Schedule(lanes=lanes))
        return Body(self.d, self.helpers, form, self.index_type, self.excess)

    # ---- positions ----

    def out_position(self, at: "Dict[int, str]", inner: str = "") -> str:
        """Return the position of a result in the array of all results, as a map expression."""
        digits = self.digits
        parts = [f"({at[k]}) * {digits.out[k]}" for k in digits.kept()]
        return " + ".join(parts + ([inner] if inner else [])) or "0"

    def map(self, position: str, box: "Dict[str, Tuple[int, int]]", ranges: Sequence[str]) -> str:
        names = [n for n in box if n not in ranges]
        domain = ", ".join(f"{n} in [{low}, {high}]" for n, (low, high) in box.items())
        head = f"({', '.join(names)})" + (f"[{', '.join(ranges)}]" if ranges else "")
        return algebra.simplify(f"{head} -> ({position})" + (f", domain: {domain}" if domain else ""))

    def thread(self, position: str, box: "Dict[str, Tuple[int, int]]", ranges: Sequence[str]) -> str:
        return compose(self.map(position, box, ranges), algebra.call("shape", "unmap", self.nest.space.text))

    # ---- elements ----

    def values(self, body: Body) -> List[Value]:
        """Write the side results of a step, and return the step's elements, which are the values to reduce."""
        body.region(body.function.body)
        roots = self.nest.inputs.roots
        values = [body.real(body.without_excess(body.read(self.nest.inputs.root_read(root), body.function.body), "x"))
                  for root in roots[:len(self.accumulators)]]
        for root in self.sides:
            body.store(root)
        self.seen += [a for a in body.touched if a not in self.seen]
        return values

    @property
    def sides(self) -> List[Root]:
        return self.nest.inputs.roots[len(self.accumulators):]

    # ---- results ----

    def epilogue(self, position: str, box: "Dict[str, Tuple[int, int]]", sweep: Schedule,
                 texts: "List[List[str]]") -> Body:
        """Return the code that computes the results from the totals and stores them."""
        partition = self.nest.epilogue
        body = self.body(compose(position, algebra.call("shape", "unmap", self.nest.shape.text)), box, sweep, partition,
                         {hero: partial(self.total, h=h, texts=texts[h]) for h, hero in enumerate(self.nest.heroes)})
        body.region(partition.entry.body)
        for root in partition.roots:
            body.store(root)
        self.seen += [a for a in body.touched if a not in self.seen]
        return body

    def unread(self) -> "List[Tuple[int, int]]":
        """Return the totals that no result needs, such as the maximum in an argmax: the number of the reduce op, and of
        the component.
        """
        of = self.nest.epilogue
        read = {(read.source, read.output) for function in of.functions for read, _ in reads_of(of, function)}
        return [(h, k) for h, hero in enumerate(self.nest.heroes) for k in range(len(self.types_of(h)))
                if (hero, k) not in read and not self.combiners[h].apply_init]

    def total(self, body: Body, h: int, texts: List[str]) -> List[Value]:
        """Return the totals of reduce op h. If the parts did not start from the op's initial value, this value is
        combined with the totals.
        """
        hero, kinds, lanes = self.nest.heroes[h], self.types_of(h), body.lanes
        if self.combiners[h].apply_init:
            partition = self.nest.epilogue
            inits = [body.real(body.read(partition.scalar_read(init), partition.entry.body))
                     for init in hero.operands[len(kinds):]]
            first = [v.text if v.lanes == lanes else self.d.splat(v.dtype, lanes, v.text) for v in inits]
            texts = self.combined(body, h, first, texts, lanes)
        values = [Value(text, dtype, lanes, rounded=dtype not in SMALL) for text, dtype in zip(texts, kinds)]
        return [v if self.excess else body.without_excess(v, "total") for v in values]

    def store_totals(self, position: str, box: "Dict[str, Tuple[int, int]]", sweep: Schedule, texts: "List[List[str]]",
                     odd: str) -> Body:
        """Return the code that stores totals in the scratch buffers of parts; if there are no parts, the code that
        computes the results from the totals and stores them.

        texts: C texts of the totals, by reduce op and component.
        odd: C text that is not 0 if a NaN was found.
        """
        ranges = ("vec", "lane") if sweep.lanes > 1 else ()
        if not self.partial:
            return self.epilogue(self.map(position, box, ranges), box, sweep, texts)
        thread = self.map(f"part * {self.results} + {position}", box, ranges)
        body = self.body(thread, box, sweep, self.nest.epilogue)
        for buffer, text in zip(self.partial, [text for hero in texts for text in hero] + [odd]):
            kept = buffer.shape.dtype
            if sweep.lanes > 1:
                body.store_wide(Value(text, kept, sweep.lanes), buffer.pointer, kept, thread)
            else:
                body.text.add(Assign(f"{buffer.pointer}[{algebra.c_text(thread, self.index_type).results[0]}]", text))
        return body

    def stored_forms(self, position: str, box: "Dict[str, Tuple[int, int]]", sweep: Schedule) -> "List[Form]":
        """Return a plan for each piece of code that the methods `store_totals` and `in_order` write."""
        ranges = ("vec", "lane") if sweep.lanes > 1 else ()
        if self.partial:
            # the totals of parts are stored unchanged, so the code only computes their positions
            empty = Partition(self.nest.epilogue.computation, [], "", self.nest.epilogue.entry.dims)
            return [self.form(self.map(f"part * {self.results} + {position}", box, ranges), box, sweep, empty)]
        thread = compose(self.map(position, box, ranges), algebra.call("shape", "unmap", self.nest.shape.text))
        forms = [self.form(thread, box, sweep, self.nest.epilogue)]
        return forms + [self.form(thread, box, Schedule(), self.nest.partition)] * bool(self.watched)

    def in_order(self, position: str, box: "Dict[str, Tuple[int, int]]", ranges: Sequence[str] = ()) -> Body:
        """Return the code that computes results again, in the order of the elements."""
        partition = self.nest.partition
        thread = compose(self.map(position, box, ranges), algebra.call("shape", "unmap", self.nest.shape.text))
        body = self.body(thread, box, Schedule(), partition)
        body.region(partition.entry.body)
        for root in partition.roots:
            body.store(root)
        return body

    def results_of(self) -> List[Partition]:
        """Return the parts of the graph (partitions) that compute results."""
        return [self.nest.epilogue] + [self.nest.partition] * bool(self.watched)

    def read_for_results(self) -> "List[Buffer]":
        return [buffer for partition in self.results_of() for buffer in buffers_of(partition, partition.entry)]

    def parts(self, count: int) -> "List[Shape]":
        """Return the shapes of the scratch buffers for the totals of `count` parts."""
        kinds = [self.kept_as(dtype) for _, _, dtype in self.accumulators] + ["s32"] * bool(self.watched)
        return [array_shape(dtype, (count, self.results)) for dtype in kinds]

    def kernel(self, grid: Grid, reads: "Sequence[Buffer]", writes: "Sequence[Buffer]",
               partitions: Sequence[Partition]) -> Kernel:
        """Return a kernel that evaluates these parts of the graph (partitions). Template and record are added later."""
        return kernel_of(self.d, self.helpers, self.excess, grid, self.nest, partitions,
                         Text("", None, attribute=self.d.launch_bounds(grid.threads)), Report(list(self.seen)), reads,
                         writes)
