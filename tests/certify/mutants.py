"""Mutants of generated texts: one change of a constant, an operator, a guard or a barrier, drawn from a seed.

    PYTHONPATH=. python3 tests/certify/mutants.py [SEED] [COUNT]

prints each mutant with a fault that is not refuted, then the number of mutants by what they change and by verdict.
"""

from __future__ import annotations

import collections
import itertools
import math
import random
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from gen import pipeline, run
from gen.certify import certify, terms
from gen.certify.cases import MACROS, _Places
from gen.certify.reader import Reader
from gen.certify.text import Preprocessor, Unknown
from gen.certify.walk import Walk
from gen.hlo.graph import Computation
from gen.program import build as programs

ROOT = Path(__file__).resolve().parent.parent.parent
OTHER = {"+": "-", "-": "+", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "*": "+", "/": "*", "%": "/", ">>": "<<",
         "&": "|", "==": "!=", "&&": "||"}
TARGETS = ("opencl", "cuda", "c")
# Fixtures whose kernels are small enough to compare the places that they access.
FILES = ("add_bf16", "add_f32", "column_max_bf16", "concatenate_bf16", "finite_pred", "layouts_f32", "log_transpose_add",
         "moves_u16", "row_sum_f32", "slice_pad_add", "softmax_f32", "transpose_f32", "triangle_f32", "tuples_f32")
POINTS = 2000    # maximum number of points at which an access is evaluated (a point: a value for each of its variables)


@dataclass(frozen=True)
class Mutant:
    """A generated text with one change. what: a description of the change, for people."""

    text: str
    what: str
    kind: str


def body_of(text: str, kernel: str) -> "Tuple[int, int]":
    """Return the offsets in the text at which a kernel's body begins and ends."""
    found = list(re.finditer(rf"\b{re.escape(kernel)}\([^;{{]*\)\s*\{{", text))
    start = found[-1].end() if found else 0
    depth, at = 1, start
    while depth and at < len(text):
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
    return start, at


def places(text: str, kernel: str) -> "List[Tuple[int, int, str, str]]":
    """Return each change that a kernel's text allows: the offsets of the first character and after the last character, the new words, and the kind of
    the change.
    """
    start, end = body_of(text, kernel)
    found: "List[Tuple[int, int, str, str]]" = []
    for line in re.finditer(r"[^\n]*\n", text[start:end]):
        words = line[0]
        if words.lstrip().startswith(("#", "//")) or "PREFETCH" in words:
            continue
        at = start + line.start()
        for number in re.finditer(r"(?<![\w.])(\d+)(?![\w.])", words):
            value = int(number[1])
            for other in {value + 1, value - 1, value * 2} - {value, -1}:
                found.append((at + number.start(), at + number.end(), str(other), "constant"))
        for operator in re.finditer(r" (<=|>=|==|&&|>>|[-+*/%<>&]) ", words):
            found.append((at + operator.start(1), at + operator.end(1), OTHER[operator[1]], "operator"))
        for guard in re.finditer(r"\bif \(", words):
            found.append((at + guard.end(), at + guard.end(), "1 || ", "guard"))
        for barrier in re.finditer(r"__syncthreads\(\);|barrier\(CLK_\w+\);", words):
            found.append((at + barrier.start(), at + barrier.end(), ";", "barrier"))
    return found


@dataclass(frozen=True)
class Places:
    """The places that a kernel accesses, as (array, first byte, number of bytes).

    written: places of writes to global memory.
    outside: accesses outside of their array, and integers outside of the range that they must keep (an index of a
        private array, an index type).
    meets: true if two work-items access a place between the same two barriers, and one of them writes it.
    all: all accesses, each with its work-item.
    whole: true if all points were evaluated, not a sample.
    """

    written: "FrozenSet[object]"
    outside: "FrozenSet[object]"
    meets: bool
    all: "FrozenSet[object]"
    whole: bool


def accessed(text: str, launch: "Mapping[str, Any]", manifest: "Mapping[str, Any]", target: str) -> Places:
    """Return the places that a kernel accesses. An access with more than POINTS points is evaluated at a sample of
    them.
    """
    reader = Reader(Preprocessor(MACROS[target]).tokens(text), target != "c")
    found = Walk(reader, target).kernel(launch["kernel"], _Places(manifest).of(launch), launch["blocks"], launch["threads"])
    every: "Dict[object, None]" = {}
    written, outside = set(), set()
    touched: "Dict[object, Set[Tuple[object, bool]]]" = {}
    whole = True

    def points(of: "List[Any]", path: "Sequence[Any]") -> "Iterator[Dict[Any, int]]":
        nonlocal whole
        atoms = sorted(terms.all_free([*of, *path]), key=lambda a: a.number)
        ranges: "List[Sequence[int]]" = [range(a.lo, a.hi + 1) for a in atoms]
        if math.prod(len(values) for values in ranges) > POINTS:
            whole = False
            ranges = [of if len(of) < 9 else (a.lo, a.lo + 1, a.lo + 2, a.lo + 5, a.hi // 2, a.hi - 1, a.hi)
                      for a, of in zip(atoms, ranges)]
        for values in itertools.islice(itertools.product(*ranges), POINTS):
            given = dict(zip(atoms, values))
            if all(terms.holds(c, given) for c in path):
                yield given

    for needed in found.obligations:
        for given in points([needed.term], needed.path):
            if not needed.lo <= terms.evaluate(needed.term, given) <= needed.hi:
                outside.add((needed.at.line, needed.at.column, needed.lo, needed.hi))
    for access in found.accesses:
        memory, width = access.memory, access.width * access.unit
        for given in points([access.offset, access.phase], access.path):
            who = tuple((atom.name.split("!")[0], value) for atom, value in given.items() if atom in found.groups | found.items)
            at = terms.evaluate(access.offset, given) * access.unit
            place, phase = (memory.name, at, width), terms.evaluate(access.phase, given)
            every[place, access.write, phase, who] = None
            if access.known and (at < 0 or memory.bytes is not None and at + width > memory.bytes):
                outside.add(place)
            if access.write and memory.space == "global":
                written.add(place)
            if memory.space in ("global", "shared") and access.known and not access.atomic:
                group = tuple(part for part in who if part[0] == "group")
                key = (memory.name, group, phase) if memory.space == "shared" else (memory.name, phase if len(group) == len(who) else 0)
                for unit in range(at, at + width):
                    touched.setdefault((key, unit), set()).add((who, access.write))
    meets = any(len({who for who, _ in by}) > 1 and any(write for _, write in by) for by in touched.values())
    return Places(frozenset(written), frozenset(outside), meets, frozenset(every), whole)


def programs_of(names: "Tuple[str, ...]") -> "Iterator[Tuple[str, Dict[str, str], Dict[str, Any]]]":
    """Yield the name, the texts and the manifest of each fixture."""
    for name in names:
        module = run.load(str(ROOT / f"tests/kernels/{name}.hlo"), None, {})
        for source in programs.programs(module, False):
            texts, about = pipeline.files(source, list(TARGETS), None, False, None)
            yield name, {key: text for key, text in texts.items() if isinstance(text, str)}, about


@lru_cache(maxsize=None)
def graph_of(name: str) -> Computation:
    """Return the graph of a fixture."""
    (source,) = programs.programs(run.load(str(ROOT / f"tests/kernels/{name}.hlo"), None, {}), False)
    return source.whole.computation


def drawn(seed: int, count: int, names: "Tuple[str, ...]" = FILES) -> "Iterator[Tuple[str, Mutant, str, str]]":
    """Yield drawn mutants: the fixture and target, the mutant, the accesses that it changes (as in `changed`), and the verdict."""
    random_ = random.Random(seed)
    known = list(programs_of(names))
    before: "Dict[object, Places]" = {}
    tried: "Set[str]" = set()
    while count:
        name, texts, manifest = random_.choice(known)
        target = random_.choice(TARGETS)
        launch = random_.choice(manifest["targets"][target]["launches"])
        file = manifest["files"][target]
        text = texts[file]
        changes = places(text.split("/* ---- without vectors", 1)[0], launch["kernel"])
        if not changes:
            continue
        at, end, words, kind = random_.choice(changes)
        line = text.count("\n", 0, at) + 1
        mutant = Mutant(text[:at] + words + text[end:], f"{file}:{line}: {text[at:end] or 'guard'} -> {words}", kind)
        if mutant.text in tried:
            continue
        tried.add(mutant.text)
        one = {"aliases": manifest["aliases"], "results": manifest["results"], "files": manifest["files"],
               "targets": {target: {"launches": manifest["targets"][target]["launches"]}}}
        key = name, target, launch["kernel"]
        if key not in before:
            before[key] = accessed(text, launch, one, target)
        try:
            after = accessed(mutant.text, launch, one, target)
        except (Unknown, AssertionError, KeyError):
            after = None
        change = changed(before[key], after)
        verdicts = certify({file: mutant.text}, one, [target], None, graph_of(name))
        kinds = {verdict.kind for verdict in verdicts}
        meant = [verdict.meant.failure for verdict in verdicts if verdict.meant is not None]
        others = any(failure.kind == "refuted" and failure not in meant for verdict in verdicts for failure in verdict.failures)
        verdict = "REFUTED" if others else "REFUTED (semantics)" if "REFUTED" in kinds else \
            "UNKNOWN" if "UNKNOWN" in kinds else "PROVED"
        count -= 1
        yield f"{name} {target}", mutant, change, verdict


def changed(before: Places, after: "Optional[Places]") -> str:
    """Return what a mutant changes. "fault": an access leaves its array or an integer its range, two work-items access an element in conflict,
    or the set of all written elements differs. "elements": the kernel has no fault, but accesses other elements.
    "nothing": all accesses are the same.
    """
    if after is None:
        return "nothing"
    if before.all == after.all and not after.outside:
        return "nothing"
    if after.outside or after.meets and not before.meets or _bytes(before.written) != _bytes(after.written):
        return "fault"
    return "elements"


def _bytes(places: "FrozenSet[Any]") -> "Set[object]":
    return {(name, unit) for name, at, width in places for unit in range(at, at + width)}


def main() -> None:
    seed, count = (int(word) for word in [*sys.argv[1:], *("1", "100")[len(sys.argv) - 1:]])
    counts: "collections.Counter[Tuple[str, str]]" = collections.Counter()
    for where, mutant, change, verdict in drawn(seed, count):
        counts[change, verdict] += 1
        if change == "fault" and verdict != "REFUTED":
            print(f"{verdict} {where} {change} {mutant.kind} {mutant.what}", flush=True)
    for (change, verdict), number in sorted(counts.items()):
        print(f"{number} mutants change {change}: {verdict}")


if __name__ == "__main__":
    main()
