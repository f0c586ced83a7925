"""gen explain: the stages of a fusion, from HLO text to kernels, as text."""

from __future__ import annotations

from typing import Any, Counter, Dict, Iterator, List, Optional, Sequence

from gen import algebra, hlo, pipeline
from gen.statements import printed
from gen.heroes.hero import Choice, Context
from gen.heroes.kernel import Grid, Kernel
from gen.hlo.trips import trips
from gen.plan.buffers import memory_map, reads_of
from gen.plan.nest import Nest
from gen.plan.nests import Planned
from gen.plan.partition import EMPTY, Function, compose, regions
from gen.plan.plan import TILED
from gen.plan.products import WHY_LOOP
from gen.plan.scatter import Scatter
from gen.plan.storing import Storage
from gen.program import build as programs
from gen.program import pictures
from gen.program.ir import Array, Call, Loop, Node, Program
from gen.render import TargetFile
from gen.schedule import PlanClass, device_for

STAGES = ("parse", "program", "partition", "maps", "schedule", "flatten", "vectorize", "kernel", "arena")


PLANNED = ("partition", "maps", "schedule")
EMITTED = ("flatten", "vectorize", "kernel", "arena")


def stages(module: hlo.Module, targets: Sequence[str], options: Any,
           wanted: Sequence[str] = STAGES) -> Dict[str, str]:
    """Return the text of the wanted stages of a module. Some stages are shown for each fusion, and some for each
    target. A stage is run only if a wanted stage needs it.
    """
    of_stage: Dict[str, List[str]] = {stage: [] for stage in wanted}
    program = pipeline.with_leads(programs.program(module), options.leads)
    if "parse" in wanted:
        of_stage["parse"].append(hlo.print_module(module).rstrip())
    if "program" in wanted:
        of_stage["program"].append(_ProgramLines().text(program))
    if {*PLANNED, *EMITTED} & {*wanted}:
        _planned(of_stage, program, targets, options)
    return {stage: "\n\n".join(texts) + "\n" for stage, texts in of_stage.items()}


def _devices(of: PlanClass, cpus: int) -> str:
    """Return words for the devices of a plan. If there are several plans for CPUs, the words also describe the register
    tiles of this plan. cpus: the number of different plans for CPUs.
    """
    if not of.cpu:
        return "GPUs"
    groups = f", groups of {', '.join(of.panels.groups)}" if of.panels else ""
    return "CPUs" + (f", in register tiles{groups}" if of.panels and cpus > 1 else "")


def _planned(of_stage: "Dict[str, List[str]]", program: Program, targets: Sequence[str], options: Any) -> None:
    """Add the text of the stages that need plans."""
    classes = dict.fromkeys(device_for(target, options.schedule).plan_class for target in targets)
    plans = {of: pipeline.plan_of(program, of) for of in sorted(classes, key=lambda of: (not of.cpu, bool(of.panels)))}
    for fusion in program.fusions if {"partition", "maps"} & {*of_stage} else ():
        of_class = {of: plan[fusion] for of, plan in plans.items()}
        stored = [plan.storage.stored if plan.storage else [] for plan in of_class.values()]
        if all(values == stored[0] for values in stored):   # all have the same plan, so show it once
            of_class = dict([*of_class.items()][:1])
        shown = {of: (_partition(fusion, plan), _maps(plan)) for of, plan in of_class.items()}
        # key: whether the devices are CPUs, and the text; value: the first class of devices with this text
        alike: "Dict[Any, PlanClass]" = {}
        for of, both in shown.items():
            alike.setdefault((of.cpu, both), of)
        cpus = sum(of.cpu for of in alike.values())
        for (_, both), of in alike.items():
            title = f"on {_devices(of, cpus)}:\n" if len(alike) > 1 else ""
            for stage, part in zip(("partition", "maps"), both):
                if stage in of_stage:
                    of_stage[stage].append(title + part)
    for target in targets:
        device = device_for(target, options.schedule)
        place, plan_ = f"{device.name}, target {target}", plans[device.plan_class]
        if "schedule" in of_stage:
            for choice in pipeline.choices(program, target, options.schedule, options.excess_precision, plan_):
                of_stage["schedule"] += _choices(*choice, place)
        if {*EMITTED} & {*of_stage}:
            file = pipeline.target_file(program, target, options.schedule, options.excess_precision, plan_)
            kernels = [part for kernel in file.kernels for part in kernel.scheduled]
            texts = {"flatten": [_flatten(kernel, place) for kernel in kernels],
                     "vectorize": [_vectorize(kernel, place) for kernel in kernels],
                     "kernel": [file.text.rstrip()],
                     "arena": ["\n".join([f"scratch for {place}:", *_arena(file)])]}
            for stage in texts:
                if stage in of_stage:
                    of_stage[stage] += texts[stage]


class _ProgramLines:
    """The text of a program: its calls, loops and branches, with the arrays that they read and write. If two arrays
    have the same name, the second is printed as NAME#2.
    """

    def __init__(self) -> None:
        self._names: "Dict[Array, str]" = {}
        self._times: "Counter[str]" = Counter()

    def name(self, array: Array) -> str:
        if array not in self._names:
            self._times[array.name] += 1
            times = self._times[array.name]
            self._names[array] = f"{array.name}#{times}" if times > 1 else array.name
        return self._names[array]

    def names(self, arrays: "Sequence[Optional[Array]]") -> str:
        return ", ".join(self.name(array) if array else "-" for array in arrays)

    def text(self, program: Program) -> str:
        lines = [f"{program.name}({', '.join(f'{self.name(array)}: {array.shape.text}' for array in program.params)}):"]
        lines += [f"  {line}" for line in self.nodes(program.body)]
        return "\n".join([*lines, f"  return {self.names(program.results)}"])

    def nodes(self, nodes: "Sequence[Node]") -> "Iterator[str]":
        for node in nodes:
            if isinstance(node, Call):
                read = self.names(node.operands)
                yield f"{self.names(node.results)} = {node.fusion.name}({read}){_inside(node)}"
            elif isinstance(node, Loop):
                begins = self.names(node.begins)
                yield (f"{self.names(node.results)} = {node.name}: "
                       + (f"{node.trips} times" if node.trips is not None else "a loop")
                       + f" from {self.names(node.state)} = {begins}"
                       + (f", outside of kernels: {node.outside}" if node.outside else ""))
                if node.trips is None:
                    condition = [*self.nodes(node.condition), f"while {self.name(node.predicate)}"]
                    yield from (f"  {line}" for line in condition)
                yield from (f"    {line}" for line in [*self.nodes(node.body), f"next {self.names(node.ends)}"])
            else:
                selector = self.name(node.selector)
                yield f"{self.names(node.results)} = {node.name}: by {selector}"
                for number, (arm, ends) in enumerate(zip(node.arms, node.ends)):
                    if node.selector.shape.dtype == "pred":
                        yield f"  {'false' if number else 'true'}:"
                    else:
                        yield f"  {number}{' and others' if number == len(node.arms) - 1 else ''}:"
                    yield from (f"    {line}" for line in [*self.nodes(arm), f"give {self.names(ends)}"])


def _inside(call: Call) -> str:
    """Return a description of the loops that the kernel of a call contains; "" if it contains none."""
    counts = [trips(i) for i in call.fusion.computation.instructions if i.opcode == "while"]
    return "".join(f", element by element, {f'{count} times' if count is not None else 'a loop'}" for count in counts)


def _arena(file: TargetFile) -> List[str]:
    """Return the lines about memory: the arrays that NAME_prepare computes, with their bytes; the arrays that are
    passed between launches, with the launches that need them and their bytes; and a picture of the bytes.
    """
    placement = file.storage.placement
    lines = [f"  state, bytes {place.offset} to {place.offset + array.shape.bytes}: {array.name}"
             for array, place in file.storage.places.items() if place.buffer == "state"]
    for live in placement.lives:
        at = placement.offsets[live.name]
        lines.append(f"  bytes {at} to {at + live.bytes}, launches {live.begin} to {live.end - 1}: {live.name}")
    lines += [f"  result {place.number}, bytes {place.offset} to {place.offset + array.shape.bytes}: {array.name}"
              for array, place in file.storage.places.items() if place.buffer == "results" and array not in file.given]
    return [*lines, *pictures.drawn(placement)]


def arena_svg(module: hlo.Module, target: str, options: Any) -> str:
    """Return the picture of the arrays that are passed between launches, as SVG."""
    file = pipeline.target_file(programs.program(module), target, options.schedule, options.excess_precision)
    return pictures.svg(file.storage.placement)


def _input_slices(fusion: hlo.Fusion) -> bool:
    """Return true if all results are unstrided slices of values of the same shape. XLA has an emitter of its own for
    such fusions. Here, each slice is written by a loop of its own, which reads only the elements that it writes. A
    single loop over the whole input would therefore not be faster.
    """
    results = [leaf.value for leaf in hlo.result_leaves(fusion.computation)]
    return len(results) > 1 and len({i.operands[0].shape.dims if i.opcode == "slice" else () for i in results}) == 1 \
        and all(i.opcode == "slice" and all(stride == 1 for _, _, stride in i.attributes["slice"]) for i in results)


def _title(function: Function) -> str:
    return f"{function.name}({', '.join(f'i{k}' for k in range(len(function.dims)))})"


def _partition(fusion: hlo.Fusion, plan: Planned) -> str:
    """Return, for each nest, its kind and its functions with their ops. A list of the values that are stored or
    computed several times follows.
    """
    lines = [f"{fusion.name}: {how}" for how in [plan.updated] if how]
    lines += [
        f"{fusion.name}: parameter {number} is parameter {first}, in each launch: that is read"
        for number, first in fusion.same.items()
    ]
    for nest in plan.nests:
        functions = [function for partition in nest.partitions for function in partition.functions]
        kind = f" ({type(nest).__name__})" if type(nest) is not Nest else ""
        lines.append(f"{fusion.name}: {len(functions)} function{'s' if len(functions) > 1 else ''}{kind}")
        for function in functions:
            lines.append(f"{_title(function)}:")
            for region in regions(function.body):
                for entry in region.entries:
                    where = "  " * (region.depth + 1)
                    what = (
                        f"call {entry.callee.name}"
                        if entry.callee
                        else hlo.print_instruction(entry.instruction).strip()
                    )
                    lines.append(f"{where}{'' if region.kind == 'body' else region.kind + ': '}{what}")
        if not any(function.body.entries for function in functions):
            lines.append("  (moves alone, which --stage maps shows)")
        lines += [
            f"  side result {root.result}: {hlo.print_instruction(root.value).strip()}"
            for side in nest.sides
            for root in side.partition.roots
        ]
    return "\n".join(lines + (_storage(fusion.name, plan.storage) if plan.storage else []))


def _storage(name: str, storage: Storage) -> "List[str]":
    """Return a line with the number of operations, also relative to those of the HLO graph, then a line for each value
    that is stored or computed several times, with the reason.
    """
    lines = [f"{name}: {storage.operations:.3g} operations, {storage.factor:.3g} times the graph's"]
    for value, reads, evaluations, stored, saved in storage.values():
        elements = max(1, value.shape.leaves()[0].elements)
        how = "stored" if stored else f"computed {evaluations / elements:.3g} times an element"
        why = f"storing it {'saves' if saved > 0 else 'would cost'} {abs(saved) / 1000:.3g} us, by estimate"
        lines.append(f"  {value.name}: read {reads / elements:.3g} times an element, {how}: {why}")
    return lines


def _maps(plan: Planned) -> str:
    """Return, for each function, the map of every operand. Ops that only move data are composed into the maps."""
    lines = []
    for nest, partition in ((nest, partition) for nest in plan.nests for partition in nest.partitions):
        for function in partition.functions:
            lines.append(f"{_title(function)}:")
            for region in regions(function.body):
                for entry in region.entries:
                    if entry.callee is not None:
                        lines.append(f"  {entry.instruction.name} = {entry.callee.name} at {entry.map}")
                        continue
                    for operand, inner in partition.operands(entry):
                        read = partition.operand(entry, operand, inner)
                        lines.append(f"  {entry.instruction.name} operand {operand} -> {read.source.name}: {read.map}")
                    lines += [
                        f"  {entry.instruction.name} {runtime.name} -> {runtime.read.source.name}, in 0 .. {runtime.last}: {runtime.read.map}"
                        for inner in entry.regions
                        for runtime in inner.runtimes
                    ]
            if function is partition.entry:
                for root in partition.roots:
                    read = partition.root_read(root)
                    what = "update" if isinstance(nest, Scatter) else "result"
                    lines.append(
                        f"  {what} {root.result} -> {read.source.name}: {read.map}"
                        + (f"; written at {root.at}" if root.at else "")
                    )
                    lines += [
                        f"  result {root.result} {runtime.name} -> {runtime.read.source.name}, in 0 .. {runtime.last}: {runtime.read.map}"
                        for runtime in partition.starts(root)
                    ]
        lines += nest.mapped() if partition is nest.partition else []
    return "\n".join(lines)


def _choices(fusion: hlo.Fusion, choices: "Sequence[Choice[Any, Any]]", context: Context, place: str) -> "List[str]":
    """Return, for each kernel of a fusion, its hero and the heroes that refused it. The schedule of each kernel
    follows.
    """
    slices = " (input slices: each walked in its own space)" if _input_slices(fusion) else ""
    leaves = [leaf for choice in choices for leaf in choice.leaves()]
    lines = []
    for leaf in leaves:
        for number, grid in enumerate(leaf.grids):
            refusals = [] if number else [f"  {line}" for line in [*leaf.refusals, *_loops(leaf.nest)]]
            joined = [f"  {line}" for line in leaf.hero.describe(leaf, grid, context)] if leaf.parts else []
            lines.append("\n".join([f"{grid.name}: {grid.written_by or leaf.hero.name}{slices}", *joined, *refusals]))
    return lines + [_schedule(choice, of, context, place) for leaf in leaves for grid in leaf.grids
                    for choice, of in leaf.scheduled(grid)]


def _loops(nest: Nest) -> "List[str]":
    """Return a line for each product in the nest that plain loops compute, with the reason why no product hero
    computes it.
    """
    products = dict.fromkeys(entry.instruction for partition in nest.partitions for function in partition.functions
                             for region in regions(function.body) for entry in region.entries if entry.callee is None)
    reasons = {i: i.attributes.get(WHY_LOOP, nest.loops if TILED in i.attributes else "") for i in products}
    return [f"product {i.name}: a loop, {why}" for i, why in reasons.items() if why]


def _schedule(choice: Choice[Any, Any], grid: Grid, context: Context, place: str) -> str:
    lines = [f"{grid.name} for {place}: {grid.loop.text()}, {grid.blocks} blocks, index type {grid.index}"]
    lines += [f"  {line}" for line in choice.hero.describe(choice, grid, context)]
    lines.append(f"  index: {grid.thread}")
    guards = algebra.guards(grid.thread)
    lines.append(
        "  guard: "
        + (" and ".join(f"{g.text} in [{g.lo}, {g.hi}]" for g in guards) if guards else "none, the map proves it")
    )
    lines += [f"  {access.text}" for access in choice.accesses]
    if context.target.chooses_words and any(access.elements > 1 for access in choice.accesses):
        lines.append("  at the call: several elements at once where pointers are aligned to them, else one by one")
    return "\n".join(lines)


def _flatten(kernel: "Kernel", place: str) -> str:
    """Return every access as the map to the element's position in its buffer."""
    lines = [f"{kernel.name} for {place}:"]
    lines += [f"  {access.words}: {access.position}" for access in dict.fromkeys(kernel.report.touched)]
    partition = kernel.nest.partition
    for function in partition.functions[1:]:
        for read, _ in reads_of(partition, function):
            if read.source.opcode == "parameter" and read.map != EMPTY:
                shape = read.source.shape.leaves()[read.output]
                lines.append(f"  {function.name} read {read.source.name}: {compose(read.map, memory_map(shape))}")
    return "\n".join(lines)


def _vectorize(kernel: "Kernel", place: str) -> str:
    """Return a text about a kernel's steps. It has the stride of each access along the variables of a step. The code of
    a step follows, if there is one, with the number of times that it is unrolled.
    """
    loop = kernel.loop
    lines = [f"{kernel.name} for {place}: a step is {loop.vec} x {loop.lanes} elements"]
    for touched in dict.fromkeys(kernel.report.touched):
        for variable in [
            v.name for v in algebra.info(touched.position).variables if v.name in ("vec", "lane")[: 1 + (loop.lanes > 1)]
        ]:
            access = algebra.access(touched.position, variable)[0]
            how = "varies" if access.stride is None else f"stride {access.stride}, aligned to {access.align}"
            lines.append(f"  {touched.words} along {variable}: {how}")
    step = kernel.report.code
    if step:
        lines.append("  before:" if step.repeated else "  before the unrolled loop over vec (whole vectors):")
        lines += ["    " + line for line in printed(step.before)] or ["    nothing"]
        lines.append(f"  {step.repeated or f'unrolled {step.vec} times'}:")
        lines += ["    " + line for line in printed(step.text)]
        lines.append("  after:")
        lines += ["    " + line for line in printed(step.after)] or ["    nothing"]
    return "\n".join(lines)
