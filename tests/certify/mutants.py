"""Mutants of generated texts: one change of a constant, an operator, a guard or a barrier, drawn from a seed.

    PYTHONPATH=. python3 tests/certify/mutants.py [SEED] [COUNT]

prints each mutant that changes an access and is not refuted, then the number of mutants by what they change and by verdict.
"""

from __future__ import annotations

import collections
import itertools
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Tuple

from gen import pipeline, run
from gen.certify import certify, terms
from gen.certify.cases import MACROS, _Places
from gen.certify.reader import Reader
from gen.certify.text import Preprocessor, Unknown
from gen.certify.walk import Walk
from gen.program import build as programs

ROOT = Path(__file__).resolve().parent.parent.parent
OTHER = {"+": "-", "-": "+", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "*": "+", "/": "*", "%": "/", ">>": "<<",
         "&": "|", "==": "!=", "&&": "||"}
TARGETS = ("opencl", "cuda", "c")
# Fixtures whose kernels are small enough to compare the places that they access.
FILES = ("add_bf16", "add_f32", "column_max_bf16", "concatenate_bf16", "finite_pred", "layouts_f32", "log_transpose_add",
         "moves_u16", "row_sum_f32", "slice_pad_add", "softmax_f32", "transpose_f32", "triangle_f32", "tuples_f32")
POINTS = 4000    # values of an access's variables that a comparison of two texts evaluates


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


def accessed(text: str, launch: "Mapping[str, Any]", manifest: "Mapping[str, Any]", target: str) -> "FrozenSet[object]":
    """Return a sample of the places that a kernel accesses, each with its work-item and the number of barriers before it."""
    reader = Reader(Preprocessor(MACROS[target]).tokens(text), target != "c")
    found = Walk(reader, target).kernel(launch["kernel"], _Places(manifest).of(launch), launch["blocks"], launch["threads"])
    sample: "Dict[object, None]" = {}
    for access in found.accesses:
        atoms = sorted(terms.all_free([access.offset, access.phase, *access.path]), key=lambda a: a.number)
        ranges = [range(a.lo, a.hi + 1) if a.hi - a.lo < 8 else (a.lo, a.lo + 1, a.lo + 2, a.lo + 5, a.hi // 2, a.hi - 1, a.hi)
                  for a in atoms]
        for values in itertools.islice(itertools.product(*ranges), POINTS):
            given = dict(zip(atoms, values))
            if all(terms.holds(c, given) for c in access.path):
                who = tuple(value for atom, value in given.items() if atom in found.groups | found.items)
                sample[access.memory.name, access.write, terms.evaluate(access.offset, given) * access.unit,
                       access.width * access.unit, terms.evaluate(access.phase, given), who] = None
    return frozenset(sample)


def programs_of(names: "Tuple[str, ...]") -> "Iterator[Tuple[str, Dict[str, str], Dict[str, Any]]]":
    """Yield the name, the texts and the manifest of each fixture."""
    for name in names:
        module = run.load(str(ROOT / f"tests/kernels/{name}.hlo"), None, {})
        for source in programs.programs(module, False):
            texts, about = pipeline.files(source, list(TARGETS), None, False, None)
            yield name, {key: text for key, text in texts.items() if isinstance(text, str)}, about


def drawn(seed: int, count: int, names: "Tuple[str, ...]" = FILES) -> "Iterator[Tuple[str, Mutant, str, str]]":
    """Yield drawn mutants: the fixture and target, the mutant, the accesses that it changes (as in `changed`), and the verdict."""
    random_ = random.Random(seed)
    known = list(programs_of(names))
    before: "Dict[object, FrozenSet[object]]" = {}
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
        one = {"aliases": manifest["aliases"], "results": manifest["results"], "files": manifest["files"],
               "targets": {target: {"launches": manifest["targets"][target]["launches"]}}}
        key = name, target, launch["kernel"]
        if key not in before:
            before[key] = accessed(text, launch, one, target)
        try:
            after = accessed(mutant.text, launch, one, target)
        except Unknown:
            after = frozenset()
        change = changed(before[key], after)
        verdicts = certify({file: mutant.text}, one, [target])
        kinds = {verdict.kind for verdict in verdicts}
        verdict = "REFUTED" if "REFUTED" in kinds else "UNKNOWN" if "UNKNOWN" in kinds else "PROVED"
        count -= 1
        yield f"{name} {target}", mutant, change, verdict


def changed(before: "FrozenSet[Any]", after: "FrozenSet[Any]") -> str:
    """Return which accesses a mutant changes: "nothing", "reads" or "writes"."""
    if before == after:
        return "nothing"
    return "writes" if {p for p in before if p[1]} != {p for p in after if p[1]} else "reads"


def main() -> None:
    seed, count = (int(word) for word in [*sys.argv[1:], *("1", "100")[len(sys.argv) - 1:]])
    counts: "collections.Counter[Tuple[str, str]]" = collections.Counter()
    for where, mutant, change, verdict in drawn(seed, count):
        counts[change, verdict] += 1
        if change != "nothing" and verdict != "REFUTED":
            print(f"{verdict} {where} {change} {mutant.kind} {mutant.what}", flush=True)
    for (change, verdict), number in sorted(counts.items()):
        print(f"{number} mutants change {change}: {verdict}")


if __name__ == "__main__":
    main()
