"""Compare the verdicts of gen certify with runs of mutants. A mutant is a generated text in which one constant,
operator, guard, bound of a loop or barrier is changed.

    PYTHONPATH=. python3 tests/certify/mutants.py [SEED] [COUNT] [SEMANTICS]

draws mutants until COUNT of them have a fault (default: seed 1, 100 mutants). Each mutant is judged twice: by its
accesses in a run (observed.py, which shares nothing with gen/certify), and by gen certify. Mutants for which the
judgements contradict each other are printed, then the counts. The exit status is 1 if less than 99 % of the mutants
with a fault are refuted, or if a mutant without a fault is refuted.

The constant EACH is the number of mutants that are drawn from a kernel before another kernel is drawn. For at most
SEMANTICS of these mutants, gen certify also judges the semantics; it never does so for mutants with a fault.
"""

from __future__ import annotations

import collections
import random
import re
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from gen import pipeline, run
from gen.certify import Verdict, certify
from gen.hlo.graph import Computation, HloError
from gen.program import build as programs
from gen.targets.tools import RunError
from tests.certify.observed import NotRun, Seen, observed, prepared

ROOT = Path(__file__).resolve().parent.parent.parent
OTHER = {"+": "-", "-": "+", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "*": "+", "/": "*", "%": "/", ">>": "<<",
         "&": "|", "==": "!=", "&&": "||"}
TARGETS = ("opencl", "cuda", "c")
MOST_BYTES = 1 << 20    # maximum size of all buffers of a kernel together, in bytes; larger kernels are not drawn
EACH = 12              # number of mutants that are drawn from a kernel at a time
SEMANTICS = 1           # maximum number of those mutants of a kernel for which gen certify also proves semantics
# maximum processor time in seconds for proving the unchanged kernel's semantics; mutants of a slower kernel are judged
# without semantics
SECONDS = 0.5
FAULTS = ("outside", "race", "barrier", "unwritten", "overwritten")
# contents of memory as in SETT_FILL: drawn ones, and 1 in bf16 (and about 1 in f32), f16, f64, s32 and s8
CONTENTS = ("seed:1", "seed:2", f"{0x3f803f80}:4", f"{0x3c003c00}:4", f"{0x3ff0000000000000}:8", "1:4", f"{0x01010101}:4")
NO_FAULTS = ("elements", "accesses", "values", "nothing")


@dataclass(frozen=True)
class Mutant:
    """A generated text with one change. what: a description of the change for people. kind: the kind of the change, as
    in `places`.
    """

    text: str
    what: str
    kind: str


@dataclass
class Kernel:
    """A kernel of a file, with everything that its mutants are judged by.

    manifest: the program's manifest, reduced to this target and, if the kernel shares no array with others, to this
        launch.
    seen: the result of a run of the unchanged text.
    meant: true if the semantics of the unchanged text are proved; None if that was not tried.
    slow: true if it takes longer than SECONDS to prove them.
    """

    name: str
    target: str
    file: str
    texts: "Dict[str, str]"
    header: str
    launch: "Mapping[str, Any]"
    manifest: "Dict[str, Any]"
    computation: Computation
    baseline: Path
    seen: Seen
    meant: "Optional[bool]"
    changes: "Dict[str, List[Tuple[int, int, str]]]"
    slow: bool = False
    tried: "Set[str]" = field(default_factory=set)


@dataclass(frozen=True)
class Judged:
    """A mutant with both judgements.

    change: what the run shows (see `changed`).
    verdict: PROVED, UNKNOWN, REFUTED; or "REFUTED (semantics)" if no other property is refuted.
    why: the line that gen certify prints.
    meant: true if the semantics of the unchanged kernel are proved; None if gen certify judges without semantics.
    """

    where: str
    target: str
    mutant: Mutant
    change: str
    verdict: str
    why: str
    meant: "Optional[bool]"


def body_of(text: str, kernel: str) -> "Tuple[int, int]":
    """Return the offsets of the beginning and the end of a kernel's body in the text."""
    found = list(re.finditer(rf"\b{re.escape(kernel)}\([^;{{]*\)\s*\{{", text))
    start = found[-1].end() if found else 0
    depth, at = 1, start
    while depth and at < len(text):
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
    return start, at


def places(text: str, kernel: str) -> "Dict[str, List[Tuple[int, int, str]]]":
    """Return the changes that are possible in a kernel's body, by kind. A change is given by the offset of the first
    character that it replaces, the offset after the last, and the new characters.
    """
    start, end = body_of(text, kernel)
    found: "Dict[str, List[Tuple[int, int, str]]]" = {}
    for line in re.finditer(r"[^\n]*\n", text[start:end]):
        words = line[0]
        if words.lstrip().startswith(("#", "//")) or "PREFETCH" in words:
            continue
        at = start + line.start()
        loop = re.search(r"\bfor \([^;]*;([^;]*);", words)
        for number in re.finditer(r"(?<![\w.])(\d+)(?![\w.])", words):
            value = int(number[1])
            kind = "bound" if loop and loop.start(1) <= number.start() < loop.end(1) else "constant"
            for other in sorted({value + 1, value - 1, value * 2} - {value, -1}):
                found.setdefault(kind, []).append((at + number.start(), at + number.end(), str(other)))
        for operator in re.finditer(r" (<=|>=|==|&&|>>|[-+*/%<>&]) ", words):
            kind = "bound" if loop and loop.start(1) <= operator.start() < loop.end(1) else "operator"
            found.setdefault(kind, []).append((at + operator.start(1), at + operator.end(1), OTHER[operator[1]]))
        for guard in re.finditer(r"\bif \(", words):
            for more in ("1 || ", "0 && "):
                found.setdefault("guard", []).append((at + guard.end(), at + guard.end(), more))
        for barrier in re.finditer(r"__syncthreads\(\);|barrier\(CLK_\w+\);", words):
            found.setdefault("barrier", []).append((at + barrier.start(), at + barrier.end(), ";"))
    return found


def changed(before: Seen, after: Seen) -> str:
    """Return the effect of a change, as the runs before and after it show.

    outside, race, barrier: a fault that ends the run (see observe.cpp).
    unwritten: an element is not written.
    overwritten: an element is read after its place was overwritten.
    lanes, misaligned, division, trap, endless: the run ends for another reason.
    uninitialised: shared memory is read before it is written.
    wraps: integer arithmetic overflows on a line where it did not overflow before, and the run has no fault.
    elements: the accesses and the results differ.
    accesses: only the accesses differ.
    values: only the results differ.
    nothing: accesses and results are the same.
    """
    if after.fault:
        return after.fault.split()[0]
    if after.unwritten > before.unwritten:
        return "unwritten"
    if after.overwritten > before.overwritten:
        return "overwritten"
    if after.uninitialised > before.uninitialised:
        return "uninitialised"
    if after.lines - before.lines:
        return "wraps"
    if after.places != before.places:
        return "elements" if after.values != before.values else "accesses"
    return "values" if after.values != before.values else "nothing"


def verdict_of(kernel: Kernel, text: str, semantics: bool) -> "Tuple[str, str, bool]":
    """Return the verdict of gen certify on a text, the line that gen certify prints, and true if gen certify proves the
    semantics.
    """
    verdicts = certify({**kernel.texts, kernel.file: text}, kernel.manifest, [kernel.target], None,
                       kernel.computation if semantics else None)
    meant = [verdict.meant.failure for verdict in verdicts if verdict.meant is not None]
    others = [failure for verdict in verdicts for failure in verdict.failures
              if failure.kind == "refuted" and failure not in meant]
    kinds = {verdict.kind for verdict in verdicts}
    kind = "REFUTED" if others else "REFUTED (semantics)" if "REFUTED" in kinds else \
        "UNKNOWN" if "UNKNOWN" in kinds else "PROVED"
    line = others[0].text(kernel.file) if others else \
        next((verdict.line() for verdict in verdicts if verdict.kind != "PROVED"), verdicts[0].line())
    return kind, line, all(_is_meant(verdict) for verdict in verdicts)


def _is_meant(verdict: Verdict) -> bool:
    return verdict.meant is not None and verdict.meant.text() == "semantics proved"


def _alone(manifest: "Mapping[str, Any]", target: str, launch: "Mapping[str, Any]") -> "Dict[str, Any]":
    """Return a manifest reduced to one target. It is reduced to one launch, too, if this launch shares no array with
    others.
    """
    launches = manifest["targets"][target]["launches"]
    results = manifest["results"]
    passed = {"scratch", "local", "state"}
    if not any(argument["buffer"] in passed for argument in launch["arguments"]):
        own = {argument["number"] for argument in launch["arguments"] if argument["buffer"] == "results"}
        launches = [launch]
        results = [{**result, "bytes": result["bytes"] * (number in own)} for number, result in enumerate(results)]
    return {"aliases": manifest["aliases"], "results": results, "files": manifest["files"],
            "targets": {target: {"launches": launches}}}


class Kernels:
    """Builds kernels, each once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: "Dict[Path, List[Tuple[Any, Dict[str, str], Dict[str, Any]]]]" = {}
        self.kernels: "Dict[object, Optional[Kernel]]" = {}
        self.left_out: "collections.Counter[str]" = collections.Counter()

    def built(self, file: Path) -> "List[Tuple[Any, Dict[str, str], Dict[str, Any]]]":
        if file not in self.known:
            self.known[file] = []
            try:
                for source in programs.programs(run.load(str(file), None, {}), False):
                    texts, about = pipeline.files(source, list(TARGETS), None, False, None)
                    if set(about["targets"]) >= set(TARGETS):
                        words = {key: text for key, text in texts.items() if isinstance(text, str)}
                        self.known[file].append((source, words, about))
            except (HloError, RunError) as error:    # gen does not support the file
                self.left_out[type(error).__name__] += 1
        return self.known[file]

    def drawn(self, file: Path, random_: random.Random) -> "Optional[Kernel]":
        """Return a random kernel of a file. Return None if its mutants cannot be judged."""
        built = self.built(file)
        if not built:
            return None
        number = random_.randrange(len(built))
        target = random_.choice(TARGETS)
        source, texts, about = built[number]
        launch = random_.choice(about["targets"][target]["launches"])
        key = file, number, target, launch["kernel"]
        if key not in self.kernels:
            try:
                self.kernels[key] = self._kernel(file, source, texts, about, target, launch)
            except NotRun as reason:
                self.left_out[str(reason).strip().split("\n")[0][-60:]] += 1
                self.kernels[key] = None
        return self.kernels[key]

    def _kernel(self, file: Path, source: "Any", texts: "Dict[str, str]", about: "Dict[str, Any]", target: str,
                launch: "Mapping[str, Any]") -> Kernel:
        if sum(argument["bytes"] for argument in launch["arguments"]) > MOST_BYTES:
            raise NotRun("larger than is run")
        own = {argument["number"] for argument in launch["arguments"] if argument["buffer"] == "results"}
        if any(argument["number"] in own for other in about["targets"][target]["launches"] if other is not launch
               for argument in other["arguments"] if argument["buffer"] == "results"):
            raise NotRun("a result of several launches")
        name = about["files"][target]
        header = texts.get(about["files"].get("header", ""), "")
        if "atomic" in texts[name]:
            raise NotRun("atomic operations")
        baseline = self.folder / f"baseline_{len(self.kernels)}"
        seen = observed(self.folder, texts[name], header, launch, about, target, baseline)
        if seen is None:
            raise NotRun("the text does not compile")
        if seen.fault:
            raise NotRun(f"the unchanged kernel has a fault: {seen.fault}")
        changes = places(texts[name].split("/* ---- without vectors", 1)[0], launch["kernel"])
        made = Kernel(file.stem, target, name, texts, header, launch, _alone(about, target, launch),
                      source.whole.computation, baseline, seen, None, changes)
        kind, _, _ = verdict_of(made, texts[name], False)
        if kind != "PROVED":
            raise NotRun(f"the unchanged kernel is {kind}")
        return made


def files(random_: random.Random) -> "List[Path]":
    """Return the files from which kernels are drawn: fixtures, benchmarks, and up to 80 fusions of other projects."""
    own = sorted([*(ROOT / "tests/kernels").glob("*.hlo"), *(ROOT / "bench").glob("*.hlo")])
    peer = sorted((ROOT.parent / "shared/peer/fusions").glob("*.hlo"))
    return own + random_.sample(peer, min(len(peer), 80))


def drawn(seed: int, faults: int, names: "Sequence[str]" = (), semantics: int = SEMANTICS) -> "Iterator[Judged]":
    """Draw mutants until `faults` of them have a fault.

    names: the fixtures from which kernels are drawn; (): all files.
    semantics: the maximum number of a kernel's mutants whose semantics are judged, too. EACH mutants are drawn from a
        kernel at a time.
    """
    random_ = random.Random(seed)
    chosen = [ROOT / f"tests/kernels/{name}.hlo" for name in names] or files(random_)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        prepared(folder)
        kernels = Kernels(folder)
        while faults > 0:
            kernel = kernels.drawn(random_.choice(chosen), random_)
            if kernel is None or not kernel.changes:
                continue
            asked = 0
            for _ in range(EACH):
                judged = _judged(kernel, folder, random_, asked < semantics)
                if judged is not None:
                    faults -= judged.change in FAULTS
                    asked += judged.meant is not None
                    yield judged
                if faults <= 0:
                    break
        print(f"files and kernels that are not drawn: {dict(kernels.left_out)}", file=sys.stderr)


def _judged(kernel: Kernel, folder: Path, random_: random.Random, semantics: bool) -> "Optional[Judged]":
    kind = random_.choice(sorted(kernel.changes))
    at, end, words = random_.choice(kernel.changes[kind])
    text = kernel.texts[kernel.file]
    line = text.count("\n", 0, at) + 1
    what = f"{kernel.file}:{line}: {text[at:end] or 'guard'} -> {words}"
    mutant = Mutant(text[:at] + words + text[end:], what, kind)
    if mutant.text in kernel.tried:
        return None
    kernel.tried.add(mutant.text)
    try:
        seen = observed(folder, mutant.text, kernel.header, kernel.launch, kernel.manifest, kernel.target,
                        kernel.baseline)
    except NotRun:
        return None
    if seen is None:        # the text does not compile
        return None
    change = changed(kernel.seen, seen)
    semantics = semantics and change in NO_FAULTS
    if semantics and kernel.meant is None and not kernel.slow:
        start = time.thread_time()
        kernel.meant = verdict_of(kernel, text, True)[2]
        kernel.slow = time.thread_time() - start > SECONDS
    semantics = semantics and not kernel.slow
    verdict, why, _ = verdict_of(kernel, mutant.text, semantics)
    if verdict == "REFUTED" and change not in FAULTS:
        change = _replayed(kernel, mutant.text, why, folder) or change
    if verdict == "REFUTED (semantics)" and change in ("accesses", "nothing"):
        change = _with_other_contents(kernel, mutant.text, folder) or change
    return Judged(f"{kernel.name} {kernel.launch['kernel']}", kernel.target, mutant, change, verdict, why,
                  kernel.meant if semantics else None)


def _with_other_contents(kernel: Kernel, text: str, folder: Path) -> str:
    """Run a changed kernel again, with other contents of memory. Return the effect of the change if results differ from
    those of the unchanged kernel, else "". With the first contents, a difference may be lost in rounding, or an element
    may have the value of another one by chance.
    """
    for fill in CONTENTS:
        baseline = kernel.baseline.with_suffix(f".{fill}")
        seen = [observed(folder, each, kernel.header, kernel.launch, kernel.manifest, kernel.target, baseline, fill)
                for each in (kernel.texts[kernel.file], text)]
        if seen[0] is not None and seen[1] is not None and changed(seen[0], seen[1]) in ("elements", "values"):
            return changed(seen[0], seen[1])
    return ""


def _replayed(kernel: Kernel, text: str, why: str, folder: Path) -> str:
    """Run the kernel again: with all checks of bounds, and with parameters that hold the integer of the counterexample in
    every element. Return the fault of a run, or "" if none has one.
    """
    checked = observed(folder, text, kernel.header, kernel.launch, kernel.manifest, kernel.target, kernel.baseline, ends=True)
    if checked is not None and changed(kernel.seen, checked) in FAULTS:
        return changed(kernel.seen, checked)
    for given in re.findall(r"(?:\bp\d+(?:@\d)? =|parameter's value is) (-?\d+)", why):
        for size in (4, 8):
            baseline = kernel.baseline.with_suffix(f".{given}.{size}")
            seen = [observed(folder, each, kernel.header, kernel.launch, kernel.manifest, kernel.target, baseline,
                             f"{given}:{size}") for each in (kernel.texts[kernel.file], text)]
            if seen[0] is not None and seen[1] is not None and changed(seen[0], seen[1]) in FAULTS:
                return changed(seen[0], seen[1])
    return ""


def wrong(judged: Judged) -> str:
    """Return the reason why the two judgements of a mutant contradict each other. Return "" if they do not."""
    if judged.change in FAULTS:
        return "" if judged.verdict == "REFUTED" else "a fault that is not refuted"
    if judged.verdict == "REFUTED" and judged.change in NO_FAULTS:
        return "refuted without a fault"
    if judged.verdict == "REFUTED (semantics)" and judged.change in ("accesses", "nothing"):
        return "semantics refuted without a change"
    return ""


def main() -> int:
    words = [*sys.argv[1:], *("1", "100", str(SEMANTICS))[len(sys.argv) - 1:]]
    seed, count, semantics = (int(word) for word in words)
    start, every = time.time(), []      # type: float, List[Judged]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for judged in drawn(seed, count, (), semantics):
            every.append(judged)
            reason = wrong(judged)
            if reason:
                print(f"{reason}: {judged.where} {judged.target} {judged.change} {judged.mutant.kind} "
                      f"{judged.mutant.what}: {judged.verdict} {judged.why}", flush=True)
            if len(every) % 50 == 0:
                faults = sum(judged.change in FAULTS for judged in every)
                print(f"{len(every)} mutants, {faults} with a fault, {time.time() - start:.0f} s",
                      file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    return summary(every, time.time() - start)


def summary(every: "Sequence[Judged]", seconds: float) -> int:
    """Print the number of mutants by change and verdict, and of those with a fault that are refuted. Return the exit
    status.
    """
    meant = {True: " (semantics of the unchanged kernel proved)", None: " (without semantics)",
             False: " (semantics of the unchanged kernel not proved)"}
    by = collections.Counter((judged.change, judged.verdict + ("" if judged.change in FAULTS else meant[judged.meant]))
                             for judged in every)
    for (change, verdict), number in sorted(by.items()):
        print(f"{number} mutants, {change}: {verdict}")
    faults = [judged for judged in every if judged.change in FAULTS]
    kinds = collections.Counter((judged.mutant.kind, judged.target, judged.verdict) for judged in faults)
    for (kind, target, verdict), number in sorted(kinds.items()):
        print(f"{number} mutants with a fault, {kind}, {target}: {verdict}")
    refuted = sum(1 for judged in faults if judged.verdict == "REFUTED")
    false = sum(1 for judged in every if judged.change not in FAULTS and wrong(judged))
    print(f"{refuted} of {len(faults)} mutants with a fault are refuted; "
          f"{false} of {len(every) - len(faults)} other mutants are refuted wrongly; {seconds:.0f} s")
    return int(refuted < 0.99 * len(faults) or false > 0)


if __name__ == "__main__":
    sys.exit(main())
