"""Find the launches in the files of a build, and give a verdict on each."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from gen.certify import programs, queries, smt, terms
from gen.certify import walk as walk_of
from gen.certify.reader import Reader
from gen.certify.programs import Call, Program
from gen.certify.queries import Failure, Questions
from gen.certify.semantics import Meant, Semantics
from gen.certify.smt import Answer, Solvers
from gen.certify.text import FAULTS, Preprocessor, Unknown, fault
from gen.certify.types import Int
from gen.certify.values import Access, Memory
from gen.certify.walk import Walk
from gen.hlo.graph import Computation

SEMANTICS_SECONDS = 20.0    # time that the queries about one launch's semantics may take
SUFFIXES = {"c": ".c", "opencl": ".cl", "cuda": ".cu", "hip": ".hip"}
# The macros that each target's compiler predefines. A C text is read and proved twice: with GNU C's macros for a
# processor without vector instructions, and without the macros of any compiler.
_ENDIAN = {"__BYTE_ORDER__": "1234", "__ORDER_LITTLE_ENDIAN__": "1234", "__ORDER_BIG_ENDIAN__": "4321"}
MACROS: "Mapping[str, Mapping[str, str]]" = {
    "c": {"__GNUC__": "12", "SETT_BURSTS": "1", "__has_builtin": "__has_builtin", "NULL": "0", **_ENDIAN}, "c plain": {"NULL": "0", **_ENDIAN},
    "opencl": {"__clang__": "14", "__has_builtin": "__has_builtin", "__ENDIAN_LITTLE__": "1"}, "cuda": {"__CUDACC__": "1"}, "hip": {"__HIP__": "1"},
}


@dataclass
class Verdict:
    """The verdict on a launch.

    kind: PROVED, REFUTED or UNKNOWN. It is REFUTED if a failure or the semantics are refuted. Semantics that are not
        proved do not change it.
    queries: the number of queries that were asked.
    meant: the verdict on the semantics; None if the graph is not known.
    """

    kernel: str
    target: str
    kind: str
    queries: int
    seconds: float
    file: str
    failures: "List[Failure]" = field(default_factory=list)
    reason: str = ""
    meant: "Optional[Meant]" = None

    def line(self) -> str:
        head = f"{self.kind} {self.kernel} {self.target} {self.queries} queries {self.seconds:.2f} s"
        head += f", {self.meant.text()}" if self.meant else ""
        first = self.reason or next((f.text(self.file) for f in self.failures if f.kind == self.kind.lower()), "")
        return f"{head}: {first}" if first else head


def missing() -> str:
    """Return the reason why nothing can be proved on this machine, or ""."""
    return "" if smt.solvers() else "neither z3 (pip install z3-solver) nor cvc5 (pip install cvc5) is installed"


def certify(texts: "Mapping[str, str]", manifest: "Mapping[str, Any]", targets: "Sequence[str]",
            folder: "Optional[Path]" = None, computation: "Optional[Computation]" = None) -> "List[Verdict]":
    """Return a verdict for each launch of a program in each target.

    texts: the files of the build, by name.
    folder: the folder in which queries are kept.
    computation: the program's graph. Without it, semantics are not judged.
    """
    verdicts: "List[Verdict]" = []
    for target in targets:
        about = manifest["targets"].get(target)
        if about is None:
            continue
        file = manifest["files"][target]
        for view, launches in ((target, about["launches"]), (f"{target} plain", about.get("plain_launches"))):
            if launches is not None:
                verdicts += _program(texts[file], texts.get(manifest["files"].get("header", ""), ""), file, manifest, view, launches,
                                     folder, computation)
    return verdicts


def _program(text: str, header: str, file: str, manifest: "Mapping[str, Any]", view: str,
             launches: "Sequence[Mapping[str, Any]]", folder: "Optional[Path]", computation: "Optional[Computation]" = None) -> "List[Verdict]":
    target = view.split()[0]
    verdicts: "List[Verdict]" = []
    terms.restart()
    walk_of.restart()
    places = _Places(manifest)
    try:
        reader = Reader(Preprocessor(MACROS[view]).tokens(text), target != "c")
    except Unknown as error:
        return [Verdict(launch["kernel"], view, "UNKNOWN", 0, 0.0, file, reason=error.place(file)) for launch in launches]
    walk = Walk(reader, target)
    calls: "List[Call]" = []
    known: "Dict[str, Answer]" = {}    # the answers by query: launches of a program ask some queries repeatedly
    for launch in launches:
        solvers = Solvers(folder, f"{launch['kernel']}_{view.replace(' ', '_')}", known=known)
        verdicts.append(Verdict(launch["kernel"], view, "PROVED", 0, 0.0, file))
        calls.append(Call(None, solvers, verdicts[-1].failures))
        _asked(walk, launch, places, calls[-1], verdicts[-1])
    walk.given = _ranges(calls, manifest)
    for launch, call, verdict in zip(launches, calls, verdicts):
        read = {access.memory for access in call.found.accesses if not access.write} if call.found else set()
        if any(failure.kind == "unknown" for failure in verdict.failures) and any(memory in read for memory, _ in walk.given):
            _asked(walk, launch, places, call, verdict)
    done = [(verdict, call.solvers, call.found.accesses if call.found else [])
            for verdict, call in zip(verdicts, calls)]
    _written(manifest, places, done)
    if computation is not None:
        _meant(Semantics(computation, reader, target, manifest["aliases"]), launches, verdicts, view, folder)
    _in_order(reader, target, header, launches, calls, {alias["result"] for alias in manifest["aliases"]})
    for verdict, solvers, _ in done:
        verdict.queries += solvers.count
        kinds = {failure.kind for failure in verdict.failures}
        if "refuted" in kinds:
            verdict.kind, verdict.reason = "REFUTED", ""
        elif kinds and verdict.kind == "PROVED":
            verdict.kind = "UNKNOWN"
    return verdicts


def _asked(walk: Walk, launch: "Mapping[str, Any]", places: "_Places", call: Call, verdict: Verdict) -> None:
    """Walk the kernel of a launch, and ask the questions about it."""
    start = time.perf_counter()
    call.found = None
    verdict.failures.clear()
    try:
        if launch["kernel"] not in walk.reader.functions:
            raise Unknown(f"no kernel {launch['kernel']} in this text")
        call.found = walk.kernel(launch["kernel"], places.of(launch), launch["blocks"], launch["threads"])
        Questions(call.found, call.solvers, verdict.failures).all()
    except Unknown as error:
        verdict.kind, verdict.reason = "UNKNOWN", error.place(verdict.file)
    except FAULTS as error:     # the kernel's text is not understood, so nothing is proved
        verdict.kind, verdict.reason = "UNKNOWN", f"{verdict.file}: {fault(error)}"
    verdict.seconds += time.perf_counter() - start


def _ranges(calls: "Sequence[Call]", manifest: "Mapping[str, Any]") -> "Dict[Tuple[Memory, Int], Tuple[int, int]]":
    """Return the ranges of the integers that launches write to arrays between them. It is proved separately that all of
    an array is written before it is read, so a read returns an integer in this range. A result that overwrites a
    parameter has no range, because it may still hold the parameter's values. If a kernel could not be walked, no array
    has a range.
    """
    in_place = {alias["result"] for alias in manifest["aliases"]}
    found: "Dict[Tuple[Memory, Int], Tuple[int, int]]" = {}
    if any(call.found is None for call in calls):
        return found
    written: "Dict[Memory, List[Optional[Tuple[Int, int, int]]]]" = {}
    for call in calls:
        for memory, stored in call.found.stored.items() if call.found else ():
            written.setdefault(memory, []).append(stored)
    for memory, all_stored in written.items():
        known = [of for of in all_stored if of is not None]
        buffer, number = memory.key[:2]     # type: ignore[index]
        if len(known) == len(all_stored) and len({of[0] for of in known}) == 1 and not (buffer == "results" and number in in_place) \
                and buffer != "params" and (min(of[1] for of in known), max(of[2] for of in known)) != known[0][0].range:
            found[memory, known[0][0]] = min(of[1] for of in known), max(of[2] for of in known)
    return found


def _meant(semantics: Semantics, launches: "Sequence[Mapping[str, Any]]", verdicts: "Sequence[Verdict]", view: str,
           folder: "Optional[Path]") -> None:
    """Add to the verdict on each launch the verdict on its semantics."""
    asked: "List[Solvers]" = []

    def solvers(launch: "Mapping[str, Any]") -> Solvers:
        asked.append(Solvers(folder, f"{launch['kernel']}_{view.replace(' ', '_')}_semantics", limit=SEMANTICS_SECONDS))
        return asked[-1]
    for verdict, meant, of in zip(verdicts, semantics.program(launches, solvers), asked):
        verdict.meant = meant
        verdict.queries += of.count
        verdict.seconds += meant.seconds
        if meant.failure is not None:
            verdict.failures.append(meant.failure)


def _in_order(reader: Reader, target: str, header: str, launches: "Sequence[Mapping[str, Any]]", calls: "Sequence[Call]",
              in_place: "Set[int]") -> None:
    """Ask about the calls in the order in which the host's text runs them. If this order cannot be read, record a
    failure of the last launch.
    """
    for call in calls:
        try:
            programs.overwritten(call)
        except Unknown as error:
            call.failures.append(Failure("unknown", error.message, 0, 0))
    if not any(argument["buffer"] in ("scratch", "local", "state") for launch in launches for argument in launch["arguments"]) \
            and len(launches) == 1:
        tree: "programs.Tree" = [0]    # no array passes between kernels, so their order does not matter
    else:
        try:
            tree = programs.order_of(reader, target, [launch["kernel"] for launch in launches], header)
        except Unknown as error:
            at = error.at
            calls[-1].failures.append(Failure("unknown", error.message, at.line if at else 0, at.column if at else 0))
            return
    try:
        Program(calls, in_place).follow(tree)
    except Unknown as error:    # the solvers' time is used up, so no call is proved
        for call in calls:
            call.failures.append(Failure("unknown", error.message, 0, 0))


Done = Tuple[Verdict, Solvers, List[Access]]


def _written(manifest: "Mapping[str, Any]", places: "_Places", done: "Sequence[Done]") -> None:
    """Ask about each array between launches, and about each result that does not overwrite a parameter: is all of it
    written? A failure is reported for the last launch that writes the array.
    """
    in_place = {alias["result"] for alias in manifest["aliases"]}
    for (buffer, number, offset), memory in list(places.known.items()):
        if buffer == "results" and not offset and number not in in_place:
            _all_of(f"result {number}", memory, done)
        elif buffer in ("scratch", "local", "state") or buffer == "results" and offset:
            _all_of(memory.name, memory, done)
    if done and not any(verdict.reason for verdict, _, _ in done):
        written = {access.memory.key[:2] for _, _, accesses in done for access in accesses     # type: ignore[index]
                   if access.write and access.memory.space == "global"}
        for number, result in enumerate(manifest["results"]):
            if number not in in_place and result["bytes"] and ("results", number) not in written:
                done[-1][0].failures.append(Failure("refuted", f"nothing writes result {number}", 0, 0))


def _all_of(name: str, memory: Memory, done: "Sequence[Done]") -> None:
    writers = [each for each in done if any(access.memory is memory and access.write for access in each[2])]
    if not writers or not memory.bytes:
        return
    verdict, solvers, accesses = writers[-1]
    start = time.perf_counter()
    try:
        of_all = [access for _, _, of in writers for access in of if access.memory is memory]
        kind, why = queries.all_written(of_all, memory.bytes, solvers)
    except Unknown as error:
        kind, why = "unknown", error.message
    verdict.seconds += time.perf_counter() - start
    if why:
        at = next(access.at for access in reversed(accesses) if access.memory is memory)
        said = "is written" if kind == "refuted" else "is proved written"
        verdict.failures.append(Failure(kind, f"not all of {name} {said}: {why}", at.line, at.column))


class _Places:
    """Make a Memory for each buffer of a program. Pointers to the same place get the same Memory. But a result that
    overwrites a parameter in place has a Memory of its own.
    """

    def __init__(self, manifest: "Mapping[str, Any]") -> None:
        self.same = {("results", alias["result"]): ("params", alias["parameter"]) for alias in manifest["aliases"]}
        self.known: "Dict[Tuple[str, int, int], Memory]" = {}
        self.blocks: "Dict[Tuple[str, int], List[Memory]]" = {}

    def of(self, launch: "Mapping[str, Any]") -> "Dict[str, Memory]":
        """Return the memory behind each pointer of a launch's kernel, by the pointer's name."""
        found: "Dict[str, Memory]" = {}
        for argument in launch["arguments"]:
            key = argument["buffer"], argument["number"], argument["offset"]
            memory = self.known.get(key)
            bytes_of = None if argument.get("lead") else argument["bytes"]
            if memory is None or memory.bytes != bytes_of:
                memory = self.known[key] = Memory(argument["name"], "global", bytes_of, key, base=argument["offset"])
                self._share(("scratch", 0) if key[0] == "scratch" else self.same.get(key[:2], key[:2]), memory)
            found[argument["name"]] = memory
        return found

    def _share(self, block: "Tuple[str, int]", memory: Memory) -> None:
        """Record which arrays of a block of memory share bytes with a new array of this block."""
        for other in self.blocks.setdefault(block, []):
            if memory.bytes is None or other.bytes is None or (memory.base < other.base + other.bytes
                                                               and other.base < memory.base + memory.bytes):
                memory.shares.append(other)
                other.shares.append(memory)
        self.blocks[block].append(memory)
