"""The pipeline of a fusion from HLO text to files, stage by stage. `gen explain` prints the result of each stage.

    read, check   gen/hlo        text -> Module -> Fusion: a graph that the generator supports
    lower         gen/lower      tiled layouts and bit widths become ops on plain arrays
    plan          gen/plan       nests, each of which becomes a kernel, in the order in which they run, with the maps of
                                 all reads and writes
    choose        gen/heroes     the first hero that takes a nest, with the first of its schedules (gen/schedule) that
                                 the maps allow
    emit          gen/emit       the code of a step, and the hero's record for its template
    place         gen/program    calls, loops and branches of a program become steps, arrays get their places; each read
                                 is proved to find its value
    render        gen/render.py  kernels through templates/kernels, files through templates/files
    write                        each file completely or not at all
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable, Collection, Dict, Iterable, List, Optional, Sequence, Set, Tuple, Union

from gen import bounds, heroes, jobs, reference, render
from gen.emit.helpers import Helpers
from gen.heroes.hero import Choice, Context
from gen.hlo import Fusion
from gen.manifest import manifest
from gen.plan.buffer import Role
from gen.plan.nest import BuildError
from gen.plan.nests import Planned, planned
from gen.plan.overwrite import copied
from gen.program import build, chains, flow, leads, once, order, proof, storage, weights
from gen.program.ir import Array, Call, Program
from gen.program.steps import Launch, Move, Step, launches_of, leaves
from gen.reference.assembly import File
from gen.render import Dialect, TargetFile, Unit
from gen.schedule import SMALL_BYTES, Device, PlanClass, device_for
from gen.schedule.devices import LOCAL_ARRAY
from gen.suggest import did_you_mean
from gen.targets import TARGETS, Target
from gen.targets.target import VectorWord
from gen.targets.tools import ROOT
from gen.threads import threads

# maximum ratio of the operations that a plan computes to those of the graph; above it, `gen build` prints a warning
RECOMPUTED = 10

Source = Union[Fusion, Program]     # a single fusion stands for a program with one call


def program_of(source: Source) -> Program:
    return source if isinstance(source, Program) else build.single(source)


def with_leads(program: Program, names: "Sequence[str]") -> Program:
    """Return the program whose caller passes the leading dimensions of some arrays. names: the names of these arrays in
    the program's header. A single result may also be called `result`.
    """
    arrays = {of.name: of.array for of in render.named(program) if of.side != "weights"}
    if len(program.results) == 1:
        arrays.setdefault("result", program.results[0])
    for name in names:
        if name not in arrays:
            raise BuildError(f"--lead {name}: {program.name} has no array of this name"
                             f"{did_you_mean(name, arrays) or ','} expected one of {', '.join(arrays)}")
    return leads.with_leads(program, {name: arrays[name] for name in names})


Plans = Dict[Fusion, Planned]


def plan_of(program: Program, of: PlanClass) -> Plans:
    """Return the plan of each fusion of a program, for a class of devices."""
    return {fusion: planned(fusion, of) for fusion in program.fusions}


def target_file(source: Source, target: str, device_name: Optional[str] = None, excess: bool = False,
                plan: Optional[Plans] = None) -> TargetFile:
    """Return the file of a program in one language. plan: the plans for the device's class, if they are known already.
    """
    program, device = program_of(source), device_for(target, device_name)
    language = _language(target, device)
    body, plan = with_copies(program, plan or plan_of(program, device.plan_class), device)
    dialects = [dialect(program, body, plan, language, device, excess)]
    if _has_vectors(language):
        assert language.plain
        dialects.append(dialect(program, body, plan, language.plain.of_file(), device.scalar(), excess))
    return render.target_file(program, plan, body.aliases, device, dialects, excess)


def _has_vectors(language: Target) -> bool:
    """Return true if the file needs a second version of its code, for compilers without vectors and prefetches."""
    return language.plain is not None and any(
        isinstance(word, VectorWord) or word in ("prefetch", "functions") for word in language.used)


def library(sources: "Sequence[Program]", stem: str, device_name: Optional[str] = None, excess: bool = False,
            most_bytes: Optional[int] = None) -> "Tuple[Texts, List[Dict[str, Any]]]":
    """Return the files of several programs that share one C file and one header, and the manifest of each program. The
    programs share functions. They share the weights if these are in one block. The caller may pass the same block of
    scratch to all of them.
    """
    device = device_for("c", device_name)
    language = _language("c", device)
    plans = [with_copies(program, plan_of(program, device.plan_class), device) for program in sources]
    dialects: List[List[Dialect]] = [[] for _ in sources]

    def part(words: Target, of: Device) -> None:
        helpers = Helpers(words)
        for made, program, (body, plan) in zip(dialects, sources, plans):
            before = [*helpers.tables, *helpers.texts, *(name for name in ("c64", "c128") if name in words.used)]
            made.append(dialect(program, body, plan, words, of, excess, helpers, before))

    part(language, device)
    if _has_vectors(language):
        assert language.plain
        part(language.plain.of_file(), device.scalar())
    files = [render.unprinted(program, plan, body.aliases, device, made)
             for program, (body, plan), made in zip(sources, plans, dialects)]
    seen: Dict[str, str] = {}
    for program, file in zip(sources, files):
        for kernel in file.kernels:
            if seen.setdefault(kernel.name, program.name) != program.name:
                raise BuildError(f"{stem}: '{seen[kernel.name]}' and '{program.name}' both have a function {kernel.name}: "
                                 "build them into separate files")
    texts: Texts = {f"{stem}.c": render.printed(list(zip(sources, files)), stem, excess)}
    abouts = []
    for program, file in zip(sources, files):
        _check_room(program, [file], most_bytes)
        about = manifest(program, [file], excess)
        about["files"] = {"header": f"{stem}.h", "reference": f"{program.name}_ref.c",
                          **({"weights": f"{stem}.weights"} if program.weights else {}), "c": f"{stem}.c"}
        texts[f"{program.name}.json"] = json.dumps(about, indent=2) + "\n"
        texts[f"{program.name}_ref.c"] = reference.reference(program.whole.computation, program.name,
                                                             list(program.pointers.values()))
        if program.weights:     # the block of the last program contains the weights of all programs
            texts[f"{stem}.weights"] = weights.block(program.weights)
        abouts.append(about)
    texts[f"{stem}.h"] = render.library_header(list(zip(sources, abouts, files)), stem)
    return texts, abouts


def _language(target: str, device: Device) -> Target:
    """Return the language of a target's files for a device."""
    return TARGETS[target].on(device.most_bytes > 0).of_file()


def with_copies(program: Program, plan: Plans, device: Device) -> "Tuple[storage.Body, Plans]":
    """Return the calls of a program, and the plans of all called fusions. If a call overwrites an array
    that is needed later, the array is copied before the call.
    """
    aliases = {fusion: {result.number: parameter.number for nest in of.nests
                        for result, parameter in nest.aliases.items()}
               for fusion, of in plan.items()}
    body = storage.in_place(program, aliases) if program.straight else storage.Body(program.calls)
    return body, {call.fusion: plan.get(call.fusion) or planned(call.fusion, device.plan_class) for call in body.calls}


def choices(source: Source, target: str, device_name: Optional[str] = None, excess: bool = False,
            plan: Optional[Plans] = None) -> "List[Tuple[Fusion, List[Choice[Any, Any]], Context]]":
    """Return the fusions of a program in one language, each with the choices for its nests and the context of its code.
    No C code is written yet.
    """
    program, device = program_of(source), device_for(target, device_name)
    language = _language(target, device)
    _, plan = with_copies(program, plan or plan_of(program, device.plan_class), device)
    return [(fusion, *choose(of, language, device.alone() if fusion.small else device, Helpers(language), excess))
            for fusion, of in plan.items()]


def dialect(program: Program, body: storage.Body, plan: Plans, language: Target, device: Device, excess: bool,
            helpers: "Optional[Helpers]" = None, before: "Collection[str]" = ()) -> Dialect:
    """Return the kernels of a program in one language, and their launches on arrays in memory.

    helpers: the collection of the file's helper functions, to which this program's are added; None: a new collection.
    before: the names of the helper functions that earlier programs of the file have printed.
    """
    helpers = helpers or Helpers(language)
    units = {fusion: emit(of, language, device.alone() if fusion.small else device, helpers, excess)
             for fusion, of in plan.items()}
    if not program.straight:
        return _with_flow(program, plan, units, helpers, language, device, excess, before)
    text = [launch for call in body.calls for launch in _launches(call, units[call.fusion])]
    program, first, left = _prepared(program, text, language, {*body.taken, *body.taken.values()})
    meant = order.ordered(program, launches_of(left), body.owner)
    launches = [replace(launch, arrays=[body.owner(array) for array in launch.arrays]) for launch in meant]
    body = body.over(storage.over_operands(program, launches, language.scratch_in_results))
    launches = [replace(launch, arrays=[body.owner(array) for array in launch.arrays]) for launch in launches]
    steps: List[Step] = [*launches]
    if language.chains and device.cpu and not program.leads:
        steps = chains.chained(program, launches, language, device)
    placed = storage.stored(program, storage.spans_of([launch.arrays for launch in launches_of(steps)]), body.aliases,
                            language.alignment, language.scratch_in_results, once=first)
    meant = [*first, *meant]
    proof.prove(program, meant, _lying(program, meant, body.owner, placed))
    return Dialect(language, helpers, units, steps, placed, program.weights, first, program.leads, before)


def _prepared(program: Program, steps: "Sequence[Step]", language: Target,
              shared: "Collection[Array]" = ()) -> "Tuple[Program, List[Launch], Sequence[Step]]":
    """Divide the steps into the launches that the function NAME_prepare does once, and the other steps
    (`once.prepared`). If the language has no NAME_prepare, there are no such launches. A traced program has none
    either, because a check needs all arrays of a run.
    """
    return once.prepared(program, steps, shared) if language.prepares and not program.traced else (program, [], steps)


def _lying(program: Program, steps: "Sequence[Step]", owner: "Callable[[Array], Array]",
           placed: storage.Storage) -> "Dict[Array, storage.Place]":
    """Return the place (buffer and offset) of each array of the steps. owner: returns the array that represents all
    arrays in the same memory.
    """
    arrays = {*program.params, *program.results, *flow.all_arrays(steps)}
    return {array: placed.places[owner(array)] for array in arrays if owner(array) in placed.places}


def _with_flow(program: Program, plan: Plans, units: "Dict[Fusion, Unit]", helpers: Helpers, language: Target,
               device: Device, excess: bool, before: "Collection[str]") -> Dialect:
    """Return the Dialect of a program that has loops or branches."""
    steps = flow.steps_of(program.body, lambda call: _launches(call, units[call.fusion]))
    block = device.block if language.block_chains and not program.leads else None
    if not program.traced:      # traced launches stay in their loops: a check needs the arrays of every iteration
        steps = once.before_loops(steps, lambda loop: block is not None and chains.fits(loop, block))
    program, first, left = _prepared(program, steps, language)
    steps = [*left]
    places = flow.placed(program, steps, min(language.local_bytes, LOCAL_ARRAY))
    moved = dict.fromkeys(step.to.shape for step in leaves(steps) if isinstance(step, Move) and not step.left_out)
    copies = {shape: Fusion(f"{program.name}_copy{n}", build.copy_of(shape, shape), "",
                            small=2 * shape.bytes <= SMALL_BYTES) for n, shape in enumerate(moved)}
    units.update((copy, emit(planned(copy, device.plan_class), language, device.alone() if copy.small else device,
                             helpers, excess)) for copy in copies.values())
    meant = [*first, *steps]
    steps = flow.final(steps, places, program.donors, lambda move, shape: _launches(
        Call(copies[shape], [move.source], [move.to]), units[copies[shape]]))
    if (language.chains and device.cpu or block) and not (program.traced or program.leads):
        steps = chains.chained(program, steps, language, device)
    local = storage.local(program, launches_of(steps), language.local_bytes, first)
    placed = storage.stored(program, places.spans, program.aliases, language.alignment, language.scratch_in_results,
                            local, first)
    proof.prove(program, meant, _lying(program, meant, places.owner, placed))
    if program.donors:
        proof.prove(program, meant, proof.as_one(program, _lying(program, meant, places.owner, placed)))
    return Dialect(language, helpers, units, steps, placed, program.weights, first, program.leads, before)


def _launches(call: Call, unit: Unit) -> "List[Launch]":
    """Return the launches of a call's kernels on its arrays."""
    own = {(Role.SCRATCH, buffer.number): call.kept.get(buffer.number) or Array(
        f"{call.fusion.name} {buffer.number}", buffer.shape) for buffer in unit.scratch}
    for role, arrays in ((Role.PARAMETER, call.operands), (Role.RESULT, call.results)):
        own.update(((role, n), array) for n, array in enumerate(arrays) if array)
    launches: List[Launch] = []
    written: Set[Array] = set()
    for kernel, count, matrix_count in zip(unit.kernels, unit.threads, unit.matrix_threads):
        arguments = [a for a in kernel.arguments if a.buffer.role is not Role.TABLE]
        arrays = [own[a.buffer.role, a.buffer.number] for a in arguments]
        writes = [array for array, a in zip(arrays, arguments) if not a.read_only]
        same = {own[of.role, of.number]: own[result.role, result.number] for result, of in kernel.nest.aliases.items()}
        # The kernel may write only a part of an array. If earlier kernels of the call have written the array, it
        # therefore counts as read.
        reads = [*(array for array in arrays if array not in writes), *same, *(a for a in writes if a in written)]
        copies = [(own[of.role, of.number], own[result.role, result.number]) for of, result in copied(kernel.nest)]
        launches.append(Launch(kernel, arrays, count, reads, writes, same, matrix_threads=matrix_count, copies=copies))
        written.update(writes)
    return launches


def emit(plan: Planned, language: Target, device: Device, helpers: Helpers, excess: bool) -> Unit:
    """Return the kernels of a fusion in one language."""
    choices, context = choose(plan, language, device, helpers, excess)
    kernels = [kernel for choice in choices for kernel in choice.kernels(context)]
    several = device.cpu and not language.embedded
    counts = [threads(kernels, device, matrix) if several else [1] * len(kernels) for matrix in (False, True)]
    return Unit(kernels, context.scratch, *counts)


def choose(plan: Planned, language: Target, device: Device, helpers: Helpers,
           excess: bool) -> "Tuple[List[Choice[Any, Any]], Context]":
    """Choose a hero, a schedule and an index type for each nest of a fusion. Return these choices and the context,
    which has the buffers between the fusion's kernels. No C code is written yet.
    """
    nests = plan.nests
    between = {root.buffer for nest in nests for member in nest.undivided()
               for root in member.partition.roots if root.scratch}
    context = Context(language, device, helpers, excess, sorted(between), heroes.choose)
    return [choice for nest in nests for choice in heroes.choose(nest, context)], context


Texts = Dict[str, Union[str, bytes]]    # the contents of files, by name


def files(source: Source, targets: Sequence[str], device: Optional[str] = None, excess: bool = False,
          most_bytes: Optional[int] = None,
          known: "Optional[Dict[PlanClass, Plans]]" = None) -> "Tuple[Texts, Dict[str, Any]]":
    """Return the contents of all files of a program, by name, and its manifest. most_bytes: the limit of scratch and
    stack; None for the limit of the device, if it has one. known: plans of the program that are known already.
    """
    program = program_of(source)
    plans = {of: (known or {}).get(of) or plan_of(program, of)
             for of in {device_for(target, device).plan_class for target in targets}}
    name, made = program.name, [target_file(program, target, device, excess,
                                            plans[device_for(target, device).plan_class]) for target in targets]
    if not program.traced:      # no limit for a traced program, which runs only in a check
        _check_room(program, made, most_bytes)
    about = manifest(program, made, excess)
    pointers = list(program.pointers.values())
    about["files"] = {"header": f"{name}.h", "reference": f"{name}_ref.c",
                      **({"weights": f"{name}.weights"} if program.weights else {}),
                      **{built.target.name: name + built.target.suffix for built in made}}
    return {**{name + built.target.suffix: built.text for built in made},
            f"{name}.h": render.header(program, about, made),
            f"{name}_ref.c": reference.reference(program.whole.computation, name, pointers),
            **({f"{name}.weights": weights.block(program.weights)} if program.weights else {}),
            f"{name}.json": json.dumps(about, indent=2) + "\n"}, about


def _check_room(program: Program, made: "Sequence[TargetFile]", most_bytes: Optional[int]) -> None:
    """Raise BuildError if a program needs more scratch and stack than the limit."""
    for file in made:
        limit = (most_bytes or file.device.most_bytes) if file.device.most_bytes else 0
        needed = file.scratch_bytes + file.stack_bytes if limit else 0
        if needed > limit:
            raise BuildError(f"{program.name}: {needed} bytes are needed, {file.scratch_bytes} of scratch and "
                             f"{file.stack_bytes} of stack, where {limit} are allowed: --most-bytes N allows more")


def recomputed(about: Dict[str, Any]) -> str:
    """Return a warning if a plan computes many more operations than the graph has; else ""."""
    if about["recomputed"] <= RECOMPUTED:
        return ""
    return (f"{about['name']}: {about['recomputed']:.3g} times the operations of the graph are computed: "
            "gen explain --stage partition says why")


def unused_aliases(about: Dict[str, Any]) -> List[str]:
    """Return a message for each result that is not stored in a parameter's buffer, although the module allows it."""
    return [f"{about['name']}: result {of['result']} needs a buffer of its own, though input_output_alias lets it be "
            f"parameter {of['parameter']}: {of['why']}"
            for of in about.get("unused_aliases", ())]


def build_all(source: Source, out_dir: str, targets: Iterable[str], device: Optional[str] = None,
              excess_precision: bool = False, most_bytes: Optional[int] = None,
              known: "Optional[Dict[PlanClass, Plans]]" = None) -> Dict[str, Any]:
    """Write all files of a program, and return its manifest. known: plans of the program that are known already."""
    texts, about = files(source, list(targets), device, excess_precision, most_bytes, known)
    write_all(texts, out_dir)
    return about


@dataclass(frozen=True)
class Oracle:
    """The C functions with which a check judges results: the reference, and the function that bounds the error of each
    result, if there is one. fusion: the checked program as one fusion.
    """

    name: str
    reference: File
    bound: Optional[File] = None
    fusion: Optional[Fusion] = None

    @property
    def files(self) -> List[File]:
        return [self.reference, *([self.bound] if self.bound else [])]


def oracle(source: "Union[Fusion, Program]", excess_precision: bool, flushes: bool) -> Oracle:
    """Return the C functions with which a check judges the results of a program or a fusion."""
    fusion, pointers, is_bounded = source, None, True   # type: Any, Any, bool
    if isinstance(source, Program):
        fusion, pointers, is_bounded = source.whole, list(source.pointers.values()), source.straight
    options = bounds.Options(excess_precision, flushes=flushes)
    return Oracle(source.name, reference.reference_file(fusion.computation, source.name, pointers),
                  bounds.bound_file(fusion.computation, source.name, options, pointers) if is_bounded else None, fusion)


def write_all(texts: Texts, out_dir: str) -> None:
    for name, text in texts.items():
        write(Path(out_dir) / name, text)


def write(path: Path, content: "Union[str, bytes]") -> None:
    """Write a file completely or not at all, and only if its content has changed. A special file, such as /dev/stdout
    or a link, is written in place.
    """
    # a depfile names files, whose names may be any bytes
    data = content.encode(errors="surrogateescape") if isinstance(content, str) else content
    with jobs.naming(path):
        if path.is_symlink() or path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(data)
        elif not path.exists() or path.stat().st_size != len(data) or path.read_bytes() != data:
            with jobs.replacing(path) as name:
                Path(name).write_bytes(data)


@lru_cache(maxsize=None)
def sources() -> "Sequence[Path]":
    """Return the files on which generated text depends: the generator, its templates and the headers."""
    return sorted([*ROOT.glob("gen/**/*.py"), *ROOT.glob("templates/**/*.j2"), *ROOT.glob("include/*.h"),
                   *ROOT.glob("gen/*/*.c*")])
