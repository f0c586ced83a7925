"""Write a file's fusions to private folders, and compile them to shared objects that the harness loads. Compile the
harness too.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gen import bounds, child, jobs, manifest as manifests, pipeline
from gen.emit.templates import environment
from gen.hlo import Computation, Fusion, dtypes
from gen.hlo.order import may_be_nan, reads_nan_bits
from gen.program.ir import Call, Program, all_trips
from gen.program.parts import parts_of
from gen.program.limits import is_limited, unlimited
from gen.pipeline import Oracle
from gen.program.trace import Trace, traced
from gen.program.weights import ALIGNMENT
from gen.reference.assembly import File, joined
from gen.run import cost as costs
from gen.run.options import MOST_ROUNDS, Options, runner_of
from gen.schedule import DEVICES, PlanClass, device_for
from gen.targets import RUNNERS, RunError, Runner, c_compiler

ROOT = Path(__file__).resolve().parent.parent.parent
HARNESS = Path(__file__).resolve().parent / "harness"
Manifest = Dict[str, Any]
# A check stops a loop of unknown trip count after a limited number of iterations. It then compares the calls that were
# made, and not the result of the whole program. The limit is ITERATIONS, or LAUNCHED_ITERATIONS on targets other than
# C. A loop inside a kernel has a lower limit if its iterations would take more than ELEMENT_OPERATIONS operations over
# all elements. No limit is below FEWEST_ITERATIONS.
ITERATIONS = 100000
LAUNCHED_ITERATIONS = 1000
ELEMENT_OPERATIONS = 10 ** 8
FEWEST_ITERATIONS = 10
CPUS = [name for name, device in DEVICES.items() if device.cpu]


def call(command: Sequence[str], what: str) -> None:
    """Run a compiler. If it fails, raise RunError with its diagnostics."""
    done = child.compiler(command)
    if done.status == 0:
        return
    said = done.out + done.err
    for word, missing in (item for runner in RUNNERS.values() for item in runner.missing.items()):
        if re.search(re.escape(word) + r"\b.*(No such file|not found)|cannot find " + re.escape(word), said):
            raise RunError(missing, 3)
    raise RunError(f"{what} does not compile\n{said.strip()[:4000]}", 1)


HARNESS_SOURCES = ("harness.c", "say.c", "data.c", "bench.c", "copies.c", "worker.c")


def harness(target: str) -> Path:
    """Return the path of the harness for a target's runtime. It is compiled into build/ if it is missing or out of
    date.
    """
    runner = runner_of(target)
    output = ROOT / "build" / f"harness_{runner.harness_name}"
    sources = [str(HARNESS / name) for name in (*HARNESS_SOURCES, runner.harness_source)]
    newest = max(path.stat().st_mtime_ns for path in HARNESS.iterdir() if path.suffix in (".c", ".h", ".cu"))
    if output.exists() and output.stat().st_mtime_ns >= newest:
        return output
    output.parent.mkdir(parents=True, exist_ok=True)
    flags = ["-O3", f"-DPART_ALIGN={ALIGNMENT}"]
    with jobs.replacing(output, 0o755) as name:
        try:
            call(runner.harness(Path(name), sources, [*flags, "-march=native"]), "the harness")
        except RunError as error:
            if error.status == 3:
                raise
            call(runner.harness(Path(name), sources, flags), "the harness")
    return output


BITS_AND_KIND = {
    "pred": (8, "PRED"),
    **{f"s{b}": (b, "SINT") for b in (2, 4, 8, 16, 32, 64)},
    **{f"u{b}": (b, "UINT") for b in (2, 4, 8, 16, 32, 64)},
    **{f"f{b}": (b, "FLOAT") for b in (16, 32, 64)},
    "bf16": (16, "BFLOAT"),
    **{name: (dtypes.TABLE[name].bits, name.upper()) for name in dtypes.TABLE if re.match(r"f[48]", name)},
    "c64": (32, "FLOAT"), "c128": (64, "FLOAT"),
}


@dataclass
class Built:
    """The files that gen build wrote for a program: their folder and the manifest.

    source: the whole program as one fusion
    library, number: the shared object that contains it, and its index there
    traced: a program that returns the results of all calls, made from `trace` (gen/program/trace.py). A check of a
        program of several calls runs it.
    oracle, oracles: the references of the whole program, and of its calls
    larger: true if arrays with leading dimensions are placed inside larger arrays
    """

    folder: Path
    manifest: Manifest
    source: Any = None
    problem: str = ""  # the reason why the program cannot be run
    library: Optional[str] = None
    program: Optional[Program] = None
    traced: "Optional[Built]" = None
    trace: Optional[Trace] = None
    oracle: Optional[Oracle] = None
    oracles: Sequence[Oracle] = ()
    larger: bool = True

    @property
    def calls(self) -> "List[Call]":
        return self.program.calls if self.program else []

    @property
    def name(self) -> str:
        return self.manifest["name"]

    @property
    def hero(self) -> str:
        return self.manifest.get("hero", "")

    def count(self, side: str) -> int:
        return len(self.manifest[side])


class Buffer(NamedTuple):
    """A parameter or a result, as in `struct sett_buffer` of gen/run/harness/fusion.h."""

    bytes: int
    elements: int
    bits: int
    kind: str
    exact: int
    below: int
    distinct: Sequence[int]
    sorted: Sequence[int]
    varies: int
    definite: int
    file: str
    alignment: int


def _buffers(entries: Sequence[Dict[str, Any]], aligned: "Optional[Sequence[int]]" = None) -> List[Buffer]:
    """Return the manifest's entries as Buffers.

    aligned: the alignment that each pointer needs; None if there are no pointers
    """
    buffers = []
    for entry, alignment in zip(entries, aligned or [0] * len(entries)):
        if entry["dtype"] not in BITS_AND_KIND:
            raise RunError(f"the harness does not know dtype {entry['dtype']}")
        # a complex number counts as two elements
        elements = entry["positions"] * (2 if dtypes.is_complex(entry["dtype"]) else 1)
        buffers.append(Buffer(entry["bytes"], elements, *BITS_AND_KIND[entry["dtype"]], int(bool(entry.get("exact"))),
                              entry.get("index_below", 0), entry.get("distinct", [0]), entry.get("sorted", [0]),
                              int("varies" in entry), entry.get("definite", 0), entry.get("file", "0"), alignment))
    return buffers


class Lead(NamedTuple):
    """A leading dimension of a parameter or a result, as in `struct sett_lead` of gen/run/harness/leads.h."""

    result: int
    number: int
    rows: int
    row: int
    lead: int
    element: int


# elements added between rows when a check places an array in a larger one; no multiple of a vector's length, so that
# rows are unaligned
WIDER = 3


def _leads(manifest: Manifest) -> List[Lead]:
    """Return the leading dimensions that a program takes, in argument order."""
    found = {of["lead"]["number"]: Lead(side, n, of["elements"] // of["lead"]["least"], of["lead"]["least"],
                                        of["lead"]["least"] + WIDER, dtypes.storage_bytes(of["dtype"]))
             for side, key in enumerate(("params", "results")) for n, of in enumerate(manifest[key]) if "lead" in of}
    return [found[number] for number in sorted(found)]


class ComparedFusion(NamedTuple):
    """A fusion of a traced program.

    proof: true if its maps prove the results, so that they are not compared with a reference
    """

    name: str
    results: List[Buffer]
    proof: bool


class ComparedCall(NamedTuple):
    """A call of a ComparedFusion, as in `struct sett_call` of gen/run/harness/fusion.h.

    read: for each parameter of the call, a C expression of its array
    """

    name: str
    proof: bool
    read: List[str]
    written: List[int]
    done: int


@dataclass
class Compared:
    """The way in which a program is compared: with a reference and an error bound, or by a proof that replaces both.

    traced: the name of the program that makes the calls in `calls` and returns all their results
    limited, cut, nan_bits: see gen/run/harness/fusion.h
    """

    reference: bool = False
    bound: bool = False
    proof: bool = False
    traced: str = ""
    fusions: Sequence[ComparedFusion] = ()
    calls: Sequence[ComparedCall] = ()
    limited: int = 0
    cut: int = 0
    nan_bits: Sequence[int] = ()


def given_params(manifest: Manifest, folder: Path) -> List[Dict[str, Any]]:
    """Return the parameters that are passed as pointers, including the block of weights, which is read from a file."""
    weights, given = manifest.get("weights"), list(manifest["params"])
    if weights:
        given.insert(weights["pointer"], {"bytes": weights["bytes"], "positions": weights["bytes"], "dtype": "u8",
                                          "file": json.dumps(str(weights_file(manifest, folder)))})
    return given


def weights_file(manifest: Manifest, folder: Path) -> Path:
    return (folder / manifest["files"]["weights"]).resolve()


@dataclass
class Entry:
    """A program in a library, as templates/files/harness.c.j2 prints it.

    at: the prefix of the names of its functions
    header: the path of its API
    weights: the index of the weights' pointer among the parameters; 0 if there is none
    leads: its leading dimensions
    larger: true if its arrays are placed inside larger arrays
    """

    at: str
    name: str
    header: str
    params: List[Buffer]
    results: List[Buffer]
    alias: List[int]
    may_alias: List[int]
    compared: Compared
    weights: int
    leads: List[Lead]
    larger: bool


def _entry(at: str, built: Built, runner: Runner, compared: Compared) -> Entry:
    manifest = built.manifest

    def numbers(key: str) -> List[int]:
        of_result = {alias["result"]: alias["parameter"] for alias in manifest.get(key, ())}
        return [of_result.get(k, -1) for k in range(len(manifest["results"]))]

    aligned = manifest["targets"][runner.target.name].get("alignment", {})
    return Entry(at, manifest["name"], str((built.folder / f"{manifest['name']}.h").resolve()),
                 _buffers(given_params(manifest, built.folder), aligned.get("params")),
                 _buffers(manifest["results"], aligned.get("results")), numbers("aliases"),
                 numbers("may_alias") if "may_alias" in manifest else [], compared,
                 manifest.get("weights", {"pointer": 0})["pointer"], _leads(manifest), built.larger)


def glue(all_: "Sequence[Built]", runner: Runner, with_reference: bool = False) -> str:
    """Return the C text that describes programs to the harness, as `sett_entries`."""
    entries = []
    for number, built in enumerate(all_):
        traced = built.traced if with_reference else None
        if traced:
            entries.append(_entry(f"traced_{number}", traced, runner, _compared_calls(built)))
        compared = _compared(built, entries[-1].at if traced else "") if with_reference else Compared()
        entries.append(_entry(f"entry_{number}", built, runner, compared))
    return environment().get_template("files/harness.c.j2").render(
        head=runner.head, entries=entries, count=len(all_), backend=runner.template, language=runner.target.name)


def _compared(built: Built, traced: str) -> Compared:
    """Return the way in which a program is compared.

    traced: the name of its traced program, if it has one
    """
    oracle = _own_oracle(built)
    bound = bool(oracle and oracle.bound)
    return Compared(bool(oracle), bound, bool(bound and built.source and bounds.is_proved(built.source.computation)),
                    traced)


def _compared_calls(built: Built) -> Compared:
    """Describe how a check compares a traced program: each call with the reference of its fusion. A loop whose trip
    count is not known stops at a limit (see ITERATIONS).
    """
    assert built.program and built.trace
    trace, seen = built.trace, built.trace.seen
    place = dict(trace.program.pointers)
    place.update((array, (-1 - n, 0)) for n, array in enumerate(trace.program.results))
    on_gpus = not all(about["device"] in CPUS for about in built.manifest["targets"].values())
    proved = {fusion: bounds.is_proved(fusion.computation) for fusion in dict.fromkeys(each.fusion for each in seen)}
    fusions = [ComparedFusion(fusion.name, _buffers(manifests.results(fusion, built.manifest["excess_precision"],
                                                                      on_gpus)), proof)
               for fusion, proof in proved.items()]
    calls = [ComparedCall(each.fusion.name, proved[each.fusion],
                          [f"{{{place[array][0]}, {place[array][1]}u}}" if array else "{NO_ARRAY, 0}"
                           for array in each.operands], [-1 - place[array][0] for array in each.results],
                          -1 - place[each.done][0] if each.done else -1) for each in seen]
    by_bits = {array for each in seen if reads_nan_bits(each.fusion.computation) for array in each.operands
               if array and may_be_nan(array.shape)}
    compared = Compared(fusions=fusions, calls=calls,
                        nan_bits=[n for n, array in enumerate(trace.program.results) if array in by_bits])
    if trace.cut is not None:
        least = ITERATIONS if "c" in built.manifest["targets"] else LAUNCHED_ITERATIONS
        most = max([least, *(trips + 1 for trips in all_trips(built.program.body))])
        loops = [loop for call in built.program.calls for loop in [unlimited(call.fusion)] if loop]
        for operations in map(costs.operations_of_iteration, loops):
            most = min(most, max(FEWEST_ITERATIONS, ELEMENT_OPERATIONS // max(1, operations)))
        compared.limited, compared.cut = min(most, 2 ** 32 - 1), trace.program.results.index(trace.cut)
    return compared


LONG_SOURCE = 1 << 20  # minimum bytes of a file of kernels that is compiled with less optimisation


def _compiled(command: Sequence[str], source: Path) -> str:
    """Compile a source; return the path of the object."""
    output = f"{source}.o"
    call([*command, "-o", output, str(source)], source.name)
    return output


def _compiled_once(command: Sequence[str], source: Path) -> str:
    """Compile a source that includes system headers only; return the path of the object. If $SETT_OBJECTS names a
    folder, this folder caches the objects. The key is a hash of the command and the source.
    """
    if not os.environ.get("SETT_OBJECTS"):
        return _compiled(command, source)
    kept = Path(os.environ["SETT_OBJECTS"]) / hashlib.sha256(
        "\0".join([*command, source.read_text()]).encode()).hexdigest()
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        os.replace(shutil.copy(_compiled(command, source), f"{kept}.{os.getpid()}"), kept)
    return str(kept)


@lru_cache(maxsize=None)
def precompiled(command: Tuple[str, ...], header: str, newest: int) -> Tuple[str, ...]:
    """Return compiler arguments that include a precompiled header before a source; () if the header cannot be compiled.
    The header is compiled into build/, by the same command, if it is missing or older than `newest` or the compiler.
    """
    path = ROOT / "build" / f"precompiled_{hashlib.sha256(' '.join([*command, header]).encode()).hexdigest()[:16]}.h"
    output, language = Path(f"{path}.gch"), "c++-header" if "c++" in command else "c-header"
    try:
        newest = max(newest, Path(shutil.which(command[0]) or "").stat().st_mtime_ns)
        if not output.exists() or output.stat().st_mtime_ns < newest:
            pipeline.write(path, header)
            with jobs.replacing(output) as name:
                call([*command, "-x", language, "-o", name, str(path)], header)
    except (OSError, RunError):     # build/ is not writable, or the compiler does not find the header
        return ()
    return "-include", str(path)


class KernelFile(NamedTuple):
    """A file of kernels.

    long: compile it with less optimisation
    about: the target's part of the manifest, of one of the programs in the file
    """

    path: Path
    long: bool
    about: "Dict[str, Any]"


def compiled_kernels(runner: Runner, folder: Path, name: str, source: KernelFile, flags: "Sequence[str]" = ()) -> str:
    """Compile a file of kernels; return the path of the object.

    flags: additional compiler flags
    """
    command = [*runner.compile(folder, name, source.long, DEVICES[source.about["device"]]), *flags]
    header, newest = runner.slow_header(source.about)
    if header:
        command += precompiled(tuple(word for word in command if word not in ("-I", str(folder))), header, newest)
    return _compiled(command, source.path)


# If all rounds of a reference and its bound take less than this, in seconds, gcc -O2 costs more time than it saves.
SHORT_SECONDS = 0.03
SHORT_OF_100_OPS = 0.25  # as SHORT_SECONDS, for 100 ops; gcc's time grows with the square of their number


def _reference_level(source: Optional[Fusion], rounds: int) -> str:
    """Return the optimisation level for compiling a fusion's reference and bound. Their values do not depend on it."""
    if source is None:
        return "-O2"
    seconds = costs.cost(source).check_seconds(False) * (abs(rounds) or MOST_ROUNDS)
    return "-O0" if seconds < max(SHORT_SECONDS, SHORT_OF_100_OPS * (_longest(source.computation) / 100) ** 2) else "-O2"


def _longest(computation: Computation) -> int:
    """Return the number of ops of the longest computation: this one, or one that it calls directly or indirectly."""
    return max([len(computation.instructions), *(_longest(c) for i in computation.instructions for c in i.called)])


def _is_comparable(built: Built) -> bool:
    """Return true if the whole program can be compared with a reference. Loops and branches have no error bound, so a
    program that has them qualifies only if it has no floats.
    """
    return built.program is None or built.program.straight or not any(
        dtypes.TABLE[array.shape.dtype].kind in ("float", "complex")
        for call in built.calls for array in call.results)


TOGETHER = 4    # minimum number of C++ kernels in a file; fewer only if there are fewer in all


def _kernel_files(all_: Sequence[Built], runner: Runner, stem: Path) -> List[KernelFile]:
    """Return the files of the programs' kernels. Several programs share a file if the runner allows it."""
    files: Dict[Tuple[bool, str], List[KernelFile]] = {}
    for built in all_:
        kernels = built.folder / (runner.kernels(built.name) or ".")
        for header, text in runner.headers().items():
            for folder in {built.folder, stem.parent}:
                pipeline.write(_made(folder / header), text)
        if kernels != built.folder:
            long, about = kernels.stat().st_size >= LONG_SOURCE, built.manifest["targets"][runner.target.name]
            files.setdefault((long, about["device"]), []).append(KernelFile(kernels, long, about))
    found: List[KernelFile] = []
    for (long, _), sources in files.items():
        count = len(sources)
        if runner.together([source.path for source in sources]) and not long:
            count = min(os.cpu_count() or 1, -(-count // TOGETHER))
        for first, *rest in (sources[number::count] for number in range(count)):
            if rest:
                path = Path(f"{stem}{len(found)}{first.path.suffix}")
                path.write_text(runner.together([source.path for source in (first, *rest)]))
                first = first._replace(path=path)
            found.append(first)
    return found


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _own_oracle(built: Built) -> Optional[Oracle]:
    return built.oracle if built.oracle and _is_comparable(built) else None


def _oracle_files(all_: Sequence[Built], rounds: int) -> "List[Tuple[str, File]]":
    """Return the references of programs, joined to few files, each with its optimisation level."""
    files: Dict[str, List[File]] = {}
    for built in all_:
        own = _own_oracle(built)
        for oracle in {of.name: of for of in (*built.oracles, own) if of}.values():
            files.setdefault(_reference_level(oracle.fusion, rounds), []).extend(oracle.files)
    return [(level, file) for level, of_level in files.items() for file in joined(of_level)]


def compile_fusion(built: Built, target: str, with_reference: bool = False, rounds: int = 0) -> str:
    """Compile a program to a shared object in its folder; return the path.

    with_reference: include its references
    rounds: the number of rounds of the check; 0: the size of the inputs decides
    """
    compile_fusions([built], target, with_reference, rounds)
    assert built.library
    return built.library


def compile_fusions(all_: Sequence[Built], target: str, with_reference: bool = False, rounds: int = 0) -> None:
    """Compile programs with different names into one shared object, in the folder of the first."""
    runner, folder, stem = runner_of(target), all_[0].folder, f"{all_[0].name}_{target}"
    command = [c_compiler(), "-std=c11", "-ffp-contract=off", "-fPIC", "-w", "-c"]
    steps: List[Callable[[], str]] = []
    text, oracles = glue(all_, runner, with_reference), _oracle_files(all_, rounds) if with_reference else []
    # The names of the reference's functions must not clash with those of a program's API.
    if len(oracles) == 1 and oracles[0][0] == "-O0" and not any(
            name.startswith(built.name) for name in oracles[0][1].library for built in all_):
        # compiling the reference in the same file takes less time than another start of the compiler
        text += oracles.pop()[1].text
    for number, (level, file) in enumerate(oracles):
        path = folder / f"{stem}_oracle{number}.c"
        path.write_text(file.text)
        steps.append(partial(_compiled_once, [*command, level], path))
    path = folder / f"{stem}_glue.c"
    path.write_text(text)
    steps.append(partial(_compiled, [*command, "-O0", "-I", str(HARNESS)], path))
    both = [of for built in all_ for of in (built, built.traced if with_reference else None) if of]
    steps += [partial(compiled_kernels, runner, source.path.parent, stem, source)
              for source in _kernel_files(both, runner, folder / f"{stem}_kernels")]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        try:
            with jobs.held():  # delay interrupts: after one, the pool would not wait for a thread that has just started
                answers = pool.map(lambda step: step(), steps)
            objects = list(answers)
        except KeyboardInterrupt:
            child.end_all()
            raise
    output = folder / f"{stem}.so"
    libraries = dict.fromkeys(word for built in all_ for word in built.manifest.get("libraries", ()))
    call([runner.linker(), "-shared", "-o", str(output), *objects, *runner.libraries, *libraries, "-lm"],
         f"{', '.join(built.name for built in all_)} for {target}")
    for number, built in enumerate(all_):
        built.library = f"{output}#{number}"


def build(source: pipeline.Source, folder: Path, target: str, options: Options, checked: bool = True) -> Built:
    """Generate a fusion or a program in a private folder.

    checked: also generate the references, and the traced program, with which a check compares its results
    """
    program, runner = pipeline.program_of(source), runner_of(target)
    whole = program.whole
    options.step(f"generate {program.name} ({len(whole.computation.instructions)} ops)")
    folder.mkdir(parents=True, exist_ok=True)
    if program.leads and options.larger and target in ("cuda", "hip"):
        raise RunError(f"{target}: leading dimensions are checked in the host's memory only: use {target}-on-cpu", 3)

    def written(of: Program, known: "Optional[Dict[PlanClass, pipeline.Plans]]" = None) -> Built:
        about = pipeline.build_all(of, str(folder), [runner.target.name], options.schedule, options.excess_precision,
                                   options.most_bytes, known)
        return Built(folder, about, of.whole, program=of, larger=options.larger)

    of = device_for(runner.target.name, options.schedule).plan_class
    plans = pipeline.plan_of(program, of)
    built, flushes = written(program, {of: plans}), runner.target.flushes
    if checked:
        parts = {fusion: parts_of(fusion, plan) for fusion, plan in plans.items()}
        if not program.is_one or any(parts.values()) or is_limited(program):
            built.trace = traced(program, parts)
            built.traced = written(built.trace.program)
            built.oracles = [pipeline.oracle(fusion, options.excess_precision, flushes)
                             for fusion in dict.fromkeys(call.fusion for call in built.trace.seen)]
        built.oracle = pipeline.oracle(program, options.excess_precision, flushes)
    return built
