"""Builds fusions in private folders, runs them on a device through gen/run/harness, compares them with their
references."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence

from gen import child, jobs, pipeline
from gen.hlo import dtypes
from gen.run import cost as costs
from gen.schedule import DEVICES
from gen.targets import RUNNERS, RunError, Runner, c_compiler

ROOT = Path(__file__).resolve().parent.parent.parent
HARNESS = Path(__file__).resolve().parent / "harness"

Manifest = Dict[str, Any]


MOST_ROUNDS = 24    # of a check, as gen/run/harness/harness.c has it
LONG_SECONDS = 10   # what is expected to take longer is said before it begins
LAUNCH_SECONDS = 30     # that a launch may take of each processor, where it is not expected to take a tenth of that
PROCESS_LAUNCHES = 20   # of the longest launches allowed: what a process may take, with its reference
START = child.Limit.of(60)      # of a runtime that says what its device is


@dataclass
class Options:
    """seed and rounds of check (0 rounds: enough for the size; less than 0: at most that number)."""

    seed: int = 1
    rounds: int = 0
    device: str = ""  # part of the name of the device or runtime to run on; "": the first
    schedule: Optional[str] = None  # the device class to generate for, as gen build's --device
    excess_precision: bool = False
    fill_constants: Optional[int] = None  # the seed of values for constants that the text leaves out; None: refused
    limit: Optional[int] = None  # seconds of processor time that a launch may take; None: as launch_limit says
    row_major: bool = False  # files of run are row-major, whatever the layouts
    memory: Optional[int] = None  # bytes that a check may take; None: a third of the machine's
    # for fusions that are too large: what is wrong, or None
    check_maps: Optional[Callable[[Any], Optional[str]]] = None
    say: Callable[[str], None] = lambda text: None  # told what takes long before it begins
    step: Callable[[str], None] = lambda text: None  # told what begins, for a line of progress


@dataclass
class CheckResult:
    """One fusion's answer."""

    fusion: str
    hero: str
    status: str  # PASS, FAIL, SKIP
    reason: str = ""
    max_abs: float = 0.0
    max_ulp: float = 0.0
    max_share: float = 0.0  # the largest error as a share of the allowed one
    # the element that has it: its value, the reference's, how far they are apart, and how far they may be
    nearest: str = ""
    compared: int = 0
    unbounded: int = 0  # of these, values for which anything is allowed
    unbounded_nan: int = 0  # floats that are NaN in the reference
    unbounded_integers: int = 0  # integers and preds
    unbounded_moderate: int = 0  # in rounds of ordinary inputs, all types
    unknown: Sequence[str] = ()  # what makes floats unbounded besides overflow, as gen/reference says it
    rounds: int = 0
    device: str = ""

    def share_text(self) -> str:
        """The largest error: 0 where all values are equal."""
        return f"{self.max_share:.2g} of the allowed error" if self.max_share else "0"

    def line(self) -> str:
        """The line for a fusion; all figures are in the file's line."""
        if self.status == "PASS" and not self.reason:
            return f"  PASS {self.fusion} {self.hero} {self.share_text() if self.compared else '-'}, {counted(self.rounds, 'round')}"
        return f"  {self.status} {self.fusion} {self.hero}" + (f": {self.reason}" if self.reason else "")


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + "s" * (count != 1)


def error_text(results: Sequence[CheckResult]) -> str:
    """The largest error as a share of the allowed one, how many values were compared, how many could not be and why,
    which was the worst."""
    if not any(r.compared for r in results):
        return "-"
    total, unbounded = sum(r.compared for r in results), sum(r.unbounded for r in results)
    worst = max(results, key=lambda r: r.max_share)
    bounded = total - unbounded
    text = f"{worst.share_text()} ({counted(bounded, 'value')} compared"
    if unbounded and not any(r.unbounded_moderate for r in results):
        text += ", among them all of ordinary inputs"
    text += ", all equal" if bounded and not worst.max_share else ""
    text += f"; {_unbounded_text(results, total)}" if unbounded else ""
    return text + (f"; worst: {f'{worst.fusion}, ' if len(results) > 1 else ''}{worst.nearest})" if worst.nearest
                   else ")")


def _unbounded_text(results: Sequence[CheckResult], total: int) -> str:
    """How many values have no limit, of which inputs, and why."""
    nans, integers, ordinary, unbounded = (sum(getattr(r, name) for r in results) for name in
                                           ("unbounded_nan", "unbounded_integers", "unbounded_moderate", "unbounded"))
    numbers = ["overflow or a pole", *dict.fromkeys(why for r in results for why in r.unknown)]
    reasons = [(nans, "NaN or a number"), (integers, "a comparison, a conversion or an index"),
               (unbounded - nans - integers, ", or where ".join(numbers))]
    counted = [(count, why) for count, why in reasons if count]
    whys = ", ".join(why + (f" ({count})" if len(counted) > 1 else "") for count, why in counted)
    share = f"{float('%.2g' % (100 * unbounded / total)):g}%"
    whose = (
        f" were not compared ({share}, {ordinary} of ordinary inputs)"
        if ordinary
        else f" of special inputs were not compared ({share})"
    )
    return f"{unbounded}{whose}: rounding decides {whys}"


def overall_status(results: Sequence[CheckResult]) -> str:
    """FAIL if one failed, else SKIP if one was skipped, else PASS."""
    statuses = {r.status for r in results}
    return "FAIL" if "FAIL" in statuses else "SKIP" if "SKIP" in statuses else "PASS"


EXIT_STATUS = {"PASS": 0, "FAIL": 1, "SKIP": 3}


def file_line(file: str, target: str, results: Sequence[CheckResult]) -> str:
    """The last line of `gen check`: PASS|FAIL|SKIP FILE target n/n hero.. max-error."""
    status = overall_status(results)
    passed = [r for r in results if r.status == "PASS"]
    heroes = list(dict.fromkeys(r.hero for r in results if r.hero))
    parts = [status, file, target, f"{len(passed)}/{len(results)}", *heroes, error_text(passed)]
    why = next((r.reason for r in results if r.status == status and r.reason), "")
    return " ".join(parts) + (f": {why.splitlines()[0]}" if why else "")


# ---- tools ----


def call(command: Sequence[str], what: str) -> None:
    """Runs a compiler; its diagnostics become the error."""
    done = child.compiler(command)
    if done.status == 0:
        return
    said = done.out + done.err
    for word, missing in (item for runner in RUNNERS.values() for item in runner.missing.items()):
        if re.search(re.escape(word) + r"\b.*(No such file|not found)|cannot find " + re.escape(word), said):
            raise RunError(missing, 3)
    raise RunError(f"{what} does not compile\n{said.strip()[:4000]}", 1)


HARNESS_SOURCES = ("harness.c", "say.c", "data.c", "bench.c", "copies.c", "worker.c")


def runner_of(target: str) -> Runner:
    if target not in RUNNERS:
        raise RunError(f"target {target} cannot be run: {', '.join(RUNNERS)} can")
    return RUNNERS[target]


def harness(target: str) -> Path:
    """The harness that speaks to a target's runtime, compiled into build/ when missing or older than its sources."""
    runner = runner_of(target)
    output = ROOT / "build" / f"harness_{runner.harness_name}"
    sources = [str(HARNESS / name) for name in (*HARNESS_SOURCES, runner.harness_source)]
    newest = max(path.stat().st_mtime_ns for path in HARNESS.iterdir() if path.suffix in (".c", ".h", ".cu"))
    if output.exists() and output.stat().st_mtime_ns >= newest:
        return output
    output.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=output.name, dir=output.parent)
    os.close(handle)
    try:
        try:
            call(runner.harness(Path(name), sources, ["-O3", "-march=native"]), "the harness")
        except RunError as error:
            if error.status == 3:
                raise
            call(runner.harness(Path(name), sources, ["-O3"]), "the harness")
        os.chmod(name, 0o755)
        os.replace(name, output)
    finally:
        if os.path.exists(name):
            os.unlink(name)
    return output


# ---- a fusion as a shared object ----

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
    """A fusion's files, as gen build wrote them: its folder and its manifest."""

    folder: Path
    manifest: Manifest
    source: Any = None  # the Fusion it was made from
    problem: str = ""  # why there is nothing to run
    library: Optional[Path] = None

    @property
    def name(self) -> str:
        return self.manifest["name"]

    @property
    def hero(self) -> str:
        return self.manifest.get("hero", "")

    def count(self, side: str) -> int:
        return len(self.manifest[side])


def _buffer_table(name: str, entries: Sequence[Dict[str, Any]]) -> str:
    rows = []
    for entry in entries:
        if entry["dtype"] not in BITS_AND_KIND:
            raise RunError(f"the harness does not know dtype {entry['dtype']}")
        bits, kind = BITS_AND_KIND[entry["dtype"]]
        elements = entry["positions"] * (2 if dtypes.is_complex(entry["dtype"]) else 1)     # the parts, one by one
        rows.append(
            f"  {{ {entry['bytes']}u, {elements}u, {bits}, SETT_{kind}, {int(bool(entry.get('exact')))}, {entry.get('index_below', 0)}u, "
            f"{{ {', '.join(f'{n}u' for n in entry.get('distinct', [0]))} }}, {{ {', '.join(f'{n}u' for n in entry.get('sorted', [0]))} }}, "
            f"{int('varies' in entry)} }},\n"
        )
    return f"static const struct sett_buffer {name}[] = {{\n{''.join(rows) or '  { 0, 0, 8, SETT_UINT, 0, 0, { 0 }, { 0 }, 0 },' + chr(10)}}};\n"


def glue(manifest: Manifest, runner: Runner, has_reference: bool, has_bound: bool) -> str:
    """The C text that hands a fusion to the harness, with its reference and bound where these are linked to it."""
    name = manifest["name"]
    text = f'{runner.head}#include <stdlib.h>\n#include "fusion.h"\n#include "{name}.h"\n'
    if has_bound:
        text += f"int {name}_bound(const void *const *params, double *const *bounds);\n"
    text += _buffer_table("param", manifest["params"]) + _buffer_table("result", manifest["results"])
    text += runner.glue.format(name=name)
    of_result = {alias["result"]: alias["parameter"] for alias in manifest.get("aliases", ())}
    text += f"static const int alias[] = {{{', '.join(str(of_result.get(k, -1)) for k in range(max(1, len(manifest['results']))))}}};\n"
    ref, bound = f"{name}_ref" if has_reference else "0", f"{name}_bound" if has_bound else "0"
    return text + (
        f"extern const struct sett_fusion sett_entry;\nconst struct sett_fusion sett_entry = {{\n"
        f'  SETT_FUSION_ABI, "{name}", {len(manifest["params"])}, {len(manifest["results"])}, param, result, alias,\n'
        f"  {ref}, {bound}, create, program, run, release\n}};\n"
    )


LONG_SOURCE = 1 << 20  # bytes of C beyond which one long function is optimised less


def _compiled(command: Sequence[str], source: Path, alone: bool = False) -> str:
    """The object of a source. One that stands alone is kept in $SETT_OBJECTS, where that names a folder, for all of the
    same text."""
    output = Path(f"{source}.o")
    kept: Optional[Path] = None
    if alone and os.environ.get("SETT_OBJECTS"):
        kept = Path(os.environ["SETT_OBJECTS"]) / hashlib.sha256(
            "\0".join([*command, source.read_text()]).encode()).hexdigest()
        if kept.exists():
            return str(kept)
    call([*command, "-o", str(output), str(source)], source.name)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        os.replace(shutil.copy(output, f"{kept}.{os.getpid()}"), kept)
    return str(output)


SHORT_SECONDS = 0.03    # of all rounds of a reference and its bound; gcc -O2 takes longer than it would save


def _reference_level(built: Built, rounds: int) -> str:
    """The optimisation level of a reference and its bound; their values do not depend on it."""
    seconds = costs.cost(built.source).check_seconds(False) * (abs(rounds) or MOST_ROUNDS) if built.source else math.inf
    return "-O0" if seconds < SHORT_SECONDS else "-O2"


def compile_fusion(built: Built, target: str, with_reference: bool = False, rounds: int = 0) -> Path:
    """The shared object of a fusion, in its folder; with its reference and bound where it is to be compared with them
    in `rounds` rounds (0: as many as its size asks for)."""
    name, folder, runner = built.name, built.folder, runner_of(target)
    sources = [file for file in (f"{name}_ref.c", f"{name}_bound.c") if with_reference and (folder / file).exists()]
    glue_file = f"{name}_glue_{target}.c"
    (folder / glue_file).write_text(glue(built.manifest, runner, f"{name}_ref.c" in sources,
                                         f"{name}_bound.c" in sources))
    output = folder / f"{name}_{target}.so"
    command = [c_compiler(), "-std=c11", "-ffp-contract=off", "-fPIC", "-w", "-c"]
    level = _reference_level(built, rounds) if sources else ""
    steps: List[Callable[[], str]] = [partial(_compiled, [*command, level], folder / source, True)
                                      for source in sources]
    steps.append(lambda: _compiled([*command, "-O2", "-I", str(HARNESS), "-I", str(folder)], folder / glue_file))
    for header, text in runner.headers().items():
        (folder / header).parent.mkdir(parents=True, exist_ok=True)
        (folder / header).write_text(text)
    kernels = runner.kernels(name)
    if kernels:
        long = (folder / kernels).stat().st_size >= LONG_SOURCE
        device = DEVICES[built.manifest["targets"][runner.target.name]["device"]]
        steps.append(lambda: _compiled(runner.compile(folder, name, long, device), folder / kernels))
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        try:
            with jobs.held():   # a thread that was just started would not be waited for
                answers = pool.map(lambda step: step(), steps)
            objects = list(answers)
        except KeyboardInterrupt:
            child.end_all()
            raise
    call([runner.linker(), "-shared", "-o", str(output), *objects, *runner.libraries, "-lm"], f"{name} for {target}")
    built.library = output
    return output


# ---- the harness process ----

Event = Dict[str, Any]


@dataclass
class Answer:
    events: List[Event] = field(default_factory=list)
    status: int = 0
    exceeded: str = ""  # the limit that ended the process
    errors: str = ""

    def of(self, kind: str) -> List[Event]:
        return [e for e in self.events if e["event"] == kind]


def _events(text: str) -> List[Event]:
    events = []
    for line in text.splitlines():
        if line.startswith('{"event"'):
            try:
                events.append(json.loads(line))
            except ValueError:
                continue  # cut off by the end of the process
    return events


def call_harness(target: str, arguments: Iterable[object], limit: child.Limit) -> Answer:
    """Runs the harness; never raises for what happens in there."""
    done = child.run([str(harness(target)), *(str(a) for a in arguments)], limit,
                     {"POCL_AFFINITY": "1", **os.environ})
    return Answer(_events(done.out), done.status, done.exceeded, done.err.strip())


def seconds_of(limit: child.Limit) -> List[int]:
    """A limit of launches as words of the harness."""
    return [math.ceil(limit.processor), math.ceil(limit.passing)]


def raise_for_start(answer: Answer) -> None:
    if answer.status == 3 or answer.status == 2:
        reasons = [e["reason"] for e in answer.of("error")]
        raise RunError(reasons[0] if reasons else answer.errors or "the harness did not start", answer.status)


def find_device(target: str, options: Options) -> Event:
    """What the harness says of its device: name, runtime, units, cache, memory. RunError with status 3: none."""
    runner = runner_of(target)
    runner.headers(), runner.linker()       # what is missing is said first
    answer = call_harness(target, ["device", options.device], START)
    raise_for_start(answer)
    devices = answer.of("device")
    if not devices:
        raise RunError(f"the {target} runtime: {ending(answer, START)}", 3)
    return devices[0]


def launch_limit(target: str, options: Options, expected: float = 0) -> child.Limit:
    """The limit of one launch: what the user says, else LAUNCH_SECONDS on each processor, or ten times what is expected
    where that is more."""
    if options.limit:
        return child.Limit.of(options.limit)
    seconds = max(LAUNCH_SECONDS * runner_of(target).patience, int(10 * expected))
    return child.Limit.of(seconds, os.cpu_count() or 1)


def process_limit(options: Options, expected: float = 0) -> child.Limit:
    """The limit of a process with all its launches and the reference."""
    seconds = max(PROCESS_LAUNCHES * max(LAUNCH_SECONDS, options.limit or 0), int(10 * expected))
    return child.Limit.of(seconds, os.cpu_count() or 1)


def longest(options: Options) -> int:
    """Seconds that a round of a check, or a bench of a kernel, may be expected to take."""
    return max(costs.MOST_SECONDS, options.limit or 0)


HOW = "--limit SECONDS sets what a launch may take"


def ending(answer: Answer, process: child.Limit, launch: Optional[child.Limit] = None, known: str = "") -> str:
    """The end of a process that did not answer, in words. launch: the limit of its launches, which the user may set;
    known: the cost of a launch."""
    known = (f"; {known}" if known else "") + (f"; {HOW}" if launch else "")
    for event in answer.of("fault"):
        return f"{event['reason']} (in {event['phase']})"
    for event in answer.of("limit"):
        used = f"{event['processor']:g} s of processor time"
        if event["of"] == "wait" and launch:
            return (f"the {event['phase']} did not end within {launch.passing:g} s, in which it had {used}: it waits for "
                    f"ever, or the machine is busy{known}")
        limit = process if event["of"] == "process" or not launch else launch
        whose = ", the limit of the whole process" if limit is process else ""
        return f"the {event['phase']} did not end within {limit.processor:g} s of processor time{whose}{known}"
    if answer.exceeded:
        return f"no answer within {answer.exceeded}{known}"
    if answer.status < 0:
        return f"signal {-answer.status}"
    last = answer.errors.splitlines()[-1:] or [""]
    return f"exit status {answer.status} {last[0]}".strip()


# ---- check ----


def _with_indices(reason: str, manifest: Manifest) -> str:
    """Adds the logical index to `result R, element E`, where the algebra can say it."""
    match = re.match(r"result (\d+), element (\d+)", reason)
    shape = manifest["results"][int(match[1])].get("shape", "") if match else ""
    if not match or not shape:
        return reason
    from gen import algebra

    try:
        element = int(match[2]) // (2 if dtypes.is_complex(manifest["results"][int(match[1])]["dtype"]) else 1)
        index = algebra.call("shape", "element", shape, str(element))
    except algebra.AlgebraError:
        return reason
    return f"result {match[1]}, element {match[2]} [{index}]{reason[match.end():]}"


def unknown(built: Built, excess_precision: bool) -> List[str]:
    """Where in a fusion gen/reference lets a kernel give any value."""
    from gen import reference

    return reference.unknown(built.source.computation, excess_precision) if built.source else []


def _result(built: Built, event: Event, device: str, excess_precision: bool) -> CheckResult:
    unbounded = [int(event.get(name, 0)) for name in ("unbounded", "unbounded_nan", "unbounded_integers",
                                                      "unbounded_moderate")]
    return CheckResult(built.name, built.hero, event["status"], _with_indices(event["reason"], built.manifest),
                       event.get("max_abs", 0.0), event.get("max_ulp", 0.0), event.get("max_share", 0.0),
                       _with_indices(event.get("nearest", ""), built.manifest), int(event.get("compared", 0)),
                       *unbounded, unknown(built, excess_precision) if unbounded[0] > unbounded[1] + unbounded[2]
                       else (), int(event.get("rounds", 0)), device)


def _known(built: Built, emulated: bool, on_host: bool) -> str:
    """The cost of a launch of a fusion, in words; "" where there is no graph."""
    if built.source is None:
        return ""
    cost = costs.cost(built.source)
    seconds = costs.duration(cost.launch_seconds(emulated, on_host))
    return f"the graph has {cost.text()}, about {seconds} for a launch that does each once"


def check_built(fusions: Sequence[Built], target: str, options: Options, round_seconds: float = 0,
                all_seconds: float = 0) -> List[CheckResult]:
    """Compiles and checks fusions whose files exist. One process for all; after a crash, a new one for the rest.
    round_seconds, all_seconds: that the longest round and all rounds are expected to take."""
    results: Dict[int, CheckResult] = {}
    waiting: List[int] = []
    for number, built in enumerate(fusions):
        try:
            if built.problem:
                raise RunError(built.problem, 1)
            options.step(f"compile {built.name}, {number + 1} of {len(fusions)}")
            compile_fusion(built, target, True, options.rounds)
            waiting.append(number)
        except RunError as error:
            if error.status == 3:
                raise
            results[number] = CheckResult(built.name, built.hero, "FAIL", error.message)
    launch, process = launch_limit(target, options, round_seconds), process_limit(options, all_seconds)
    while waiting:
        options.step(f"run {', '.join(fusions[n].name for n in waiting)} beside the reference")
        answer = call_harness(target, ["check", options.device, options.seed, options.rounds, *seconds_of(launch),
                                       *(fusions[n].library for n in waiting)], process)
        raise_for_start(answer)
        device = next((e["name"] for e in answer.of("device")), "")
        done = answer.of("result")
        for number, event in zip(waiting, done):
            results[number] = _result(fusions[number], event, device, options.excess_precision)
            said = [line for line in answer.errors.splitlines()
                    if re.match(rf"cuda_on_cpu: (after )?sett_{fusions[number].name}", line)]
            if event["status"] == "FAIL" and said:
                results[number].reason += f": {said[0]}"
        rest = waiting[len(done):]
        if rest:
            broken = fusions[rest[0]]
            known = _known(broken, not runner_of(target).timed, any(e["on_host"] for e in answer.of("device")))
            results[rest[0]] = CheckResult(broken.name, broken.hero, "FAIL", ending(answer, process, launch, known))
        waiting = rest[1:]
    return [results[n] for n in range(len(fusions))]


def load(file: str, fill_constants: Optional[int] = None) -> Any:
    """The module of a file that the generator supports. HloError for anything else."""
    from gen import hlo
    from gen.hlo import fill

    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{file}: {getattr(error, 'strerror', None) or 'is not text'}") from None
    module = hlo.parse(text, hlo.STANDARD_INPUT if file == "-" else file)
    if fill_constants is not None:
        fill.fill_constants(module, fill_constants)
    hlo.without_single_steps(module)
    unsupported = hlo.unsupported(module) or hlo.misplaced(module)
    if unsupported:
        raise unsupported
    return module


def build(fusion: Any, folder: Path, target: str, options: Options) -> Built:
    """gen build of one fusion into a folder of its own."""
    options.step(f"generate {fusion.name} ({len(fusion.computation.instructions)} ops)")
    folder.mkdir(parents=True, exist_ok=True)
    about = pipeline.build_fusion(fusion, str(folder), [runner_of(target).target.name], options.schedule,
                                 options.excess_precision)
    manifest = about if "params" in about else about.get("manifest", about)
    if not isinstance(manifest, dict):
        manifest = json.loads(Path(manifest).read_text())
    return Built(folder, manifest, fusion)


def compile_only(built: Built, target: str, options: Options, why: str = "too large for memory") -> CheckResult:
    """For what does not fit into memory, or takes too long: compiled for the device, and its maps checked."""
    compile_fusion(built, target)
    answer = call_harness(target, ["compile", options.device, built.library], process_limit(options))
    raise_for_start(answer)
    done = answer.of("result")
    if not done or done[0]["status"] != "PASS":
        reason = done[0]["reason"] if done else ending(answer, process_limit(options), launch_limit(target, options))
        return CheckResult(built.name, built.hero, "FAIL", reason)
    wrong = options.check_maps(built.source) if options.check_maps else None
    if wrong:
        return CheckResult(built.name, built.hero, "FAIL", wrong)
    how = "checked by its maps and by compiling" if options.check_maps else "checked by compiling"
    return CheckResult(built.name, built.hero, "PASS", f"{why}: {how}")


def check_what_fits(fusions: Sequence[Built], target: str, options: Options) -> List[CheckResult]:
    """Checks fusions beside their references, as often as MOST_SECONDS allow; those that memory or time do not allow by
    their maps and by compiling."""
    limit = options.memory if options.memory is not None else costs.machine_memory() // 3
    results: Dict[int, CheckResult] = {}
    alike: Dict[int, List[int]] = {}    # fusions that one process runs, by rounds (less than 0: at most)
    seconds = {number: 0.0 for number in range(len(fusions))}
    for number, built in enumerate(fusions):
        cost = costs.cost(built.source)
        seconds[number] = cost.check_seconds(not runner_of(target).timed)
        if cost.bytes > limit:
            results[number] = compile_only(built, target, options)
        elif seconds[number] > longest(options):
            why = f"{cost.text()} are too many to run, about {costs.duration(seconds[number])} beside the reference " \
                "(--limit SECONDS allows more)"
            results[number] = compile_only(built, target, options, why)
        else:
            rounds = (
                1
                if cost.steps > costs.MUCH_STEPS
                else -max(1, min(MOST_ROUNDS, int(costs.MOST_SECONDS / max(1.0, seconds[number]))))
            )
            alike.setdefault(options.rounds or rounds, []).append(number)
            if seconds[number] > LONG_SECONDS:
                options.say(
                    f"{built.name}: {cost.text()}, about {costs.duration(seconds[number])} beside the reference"
                )
    for rounds, numbers in alike.items():
        most, all_ = max(seconds[n] for n in numbers), sum(seconds[n] * max(1, abs(rounds)) for n in numbers)
        some = replace(options, rounds=rounds)
        results.update(zip(numbers, check_built([fusions[n] for n in numbers], target, some, most, all_)))
    return [results[number] for number in range(len(fusions))]


def check(file: str, target: str, options: Optional[Options] = None) -> List[CheckResult]:
    """`gen check`: every fusion of a file against its reference. HloError, RunError for what cannot be checked."""
    from gen import hlo

    options = options or Options()
    fusions = hlo.fusions(load(file, options.fill_constants))
    find_device(target, options)
    with jobs.temporary_folder("sett_check_") as work:
        built = [build(fusion, Path(work) / str(number), target, options) for number, fusion in enumerate(fusions)]
        return check_what_fits(built, target, options)


# ---- run ----


def run_built(built: Built, target: str, params: Sequence[Path], results: Sequence[Path], options: Options,
              expected: float = 0) -> None:
    """One launch on files. expected: its seconds. RunError: wrong sizes (2), a fault (1), no device (3)."""
    if built.library is None:
        compile_fusion(built, target)
    launch, process = launch_limit(target, options, expected), process_limit(options, expected)
    answer = call_harness(target, ["run", options.device, *seconds_of(launch), built.library, *params, *results], process)
    raise_for_start(answer)
    done = answer.of("result")
    if not done:
        known = _known(built, not runner_of(target).timed, any(e["on_host"] for e in answer.of("device")))
        raise RunError(f"{built.name}: {ending(answer, process, launch, known)}", 1)
    if done[0]["status"] != "PASS":
        raise RunError(f"{built.name}: {done[0]['reason']}", 3 if done[0]["status"] == "SKIP" else 1)


def _check_sizes(files: Sequence[Path], shapes: Sequence[Any]) -> None:
    for path, shape in zip(files, shapes):
        try:
            length = path.stat().st_size
        except OSError as error:
            raise RunError(f"{path}: {error.strerror}: expected the {shape.bytes} bytes of {shape.text}") from None
        if length != shape.bytes:
            raise RunError(f"{path}: expected the {shape.bytes} bytes of {shape.text}, found {length}")


def constant_bytes(shape: Any, literal: Sequence[int]) -> bytes:
    """The buffer of a constant: bit patterns in logical order, put where the shape's layout has them; padding is
    zero."""
    from gen import algebra

    bits, _ = BITS_AND_KIND[shape.dtype]
    if shape.tiled and (bits < 8 or shape.bytes % (bits // 8)):
        raise RunError(f"a constant {shape.text} as an operand of a fusion cannot be written yet")
    per, plain = dtypes.per_byte(shape.dtype), tuple(reversed(range(len(shape.dims))))
    patterns = list(literal)

    def joined(patterns: "List[int]") -> bytes:
        if per == 1:
            return b"".join(value.to_bytes(dtypes.storage_bytes(shape.dtype), "little") for value in patterns)
        return bytes(sum(value << k * bits for k, value in enumerate(patterns[i:i + per]))
                     for i in range(0, len(patterns), per))

    if tuple(shape.minor_to_major) == plain and not shape.tiled:
        return joined(patterns)
    at = [int(algebra.call("shape", "index", shape.text, ",".join(map(str, index))))
          for index in itertools.product(*map(range, shape.dims))]
    placed = dict(zip(at, patterns))
    return joined([placed.get(i, 0) for i in range(shape.bytes * per // dtypes.storage_bytes(shape.dtype) if shape.tiled
                                                   else len(patterns))])


def parameter_files(module: Any, folder: Path) -> List[Path]:
    """The files of a module's parameters: p0.bin, of a tuple p0_0.bin, p0_1.bin, ..; where there are none of a tuple's,
    but files that count all arrays, p0.bin, p1.bin, .., those."""
    from gen import hlo

    named = [folder / f"{name}.bin" for name in hlo.parameter_names(module)]
    counted = [folder / f"p{number}.bin" for number in range(len(named))]
    is_counted = all(path.exists() for path in counted) and not any(path.exists() for path in {*named} - {*counted})
    return counted if is_counted else named


def run(file: str, target: str, in_dir: str, out_dir: str, options: Optional[Options] = None) -> List[Path]:
    """`gen run`: p0.bin, p1.bin, .. of in_dir through all steps of a module to r0.bin, .. of out_dir, in the layouts of
    the module or row-major."""
    from gen import hlo

    options = options or Options()
    module = load(file, options.fill_constants)
    steps = hlo.steps(module)
    values = hlo.module_parameters(module)
    files = dict(zip(values, parameter_files(module, Path(in_dir))))
    _check_sizes(list(files.values()), [hlo.row_major(value.shape) if options.row_major else value.shape
                                        for value in values])
    device, emulated = find_device(target, options), not runner_of(target).timed
    if not options.row_major and hlo.layout_note(module):
        options.say(f"{file}: {hlo.layout_note(module)}: --row-major reads and writes row-major files")
    with jobs.temporary_folder("sett_run_") as work:

        def relaid(path: Path, name: str, source: Any, target: Any) -> Path:
            if not options.row_major or hlo.is_row_major(source) and hlo.is_row_major(target):
                return path
            moved = Path(work) / name
            moved.write_bytes(hlo.relaid(path.read_bytes(), source, target))
            return moved

        for value in values:
            files[value] = relaid(files[value], files[value].name, hlo.row_major(value.shape), value.shape)

        def find(value: Any) -> Path:
            if value not in files:  # a constant of the entry
                files[value] = Path(work) / f"c{len(files)}.bin"
                files[value].write_bytes(constant_bytes(value.shape, value.producer.literal))
            return files[value]

        built: Dict[str, Built] = {}
        for number, step in enumerate(steps):
            name = step.fusion.name
            if name not in built:
                built[name] = build(step.fusion, Path(work) / str(number), target, options)
            results = [Path(work) / f"s{number}_{k}.bin" for k in range(len(step.results))]
            cost = costs.cost(step.fusion)
            expected = cost.launch_seconds(emulated, bool(device["on_host"]))
            if expected > LONG_SECONDS:
                options.say(f"{name}: {cost.text()}, about {costs.duration(expected)}")
            run_built(built[name], target, [find(v) for v in step.operands], results, options, expected)
            files.update(zip(step.results, results))
        final = [relaid(find(value), f"r{number}.bin", value.shape, hlo.row_major(value.shape))
                 for number, value in enumerate(hlo.module_results(module))]
        Path(out_dir).mkdir(parents=True, exist_ok=True)
        outputs = [Path(out_dir) / f"r{number}.bin" for number in range(len(final))]
        for path, output in zip(final, outputs):
            publish(path, output)
    return outputs


def publish(source: Path, target: Path) -> None:
    """Copies under a temporary name in the target's folder, then renames."""
    handle, name = tempfile.mkstemp(prefix=target.name, dir=target.parent)
    os.close(handle)
    try:
        shutil.copyfile(source, name)
        os.chmod(name, 0o644)
        os.replace(name, target)
    finally:
        if os.path.exists(name):
            os.unlink(name)
