"""Compare sizes and times of simplified maps: ours, TVM's (PyPI: apache-tvm), Halide's (PyPI: halide) and XLA's
(1e203b53, stored in ../shared/peer/random_maps.tsv).
    python3 bench/rivals.py [COUNT]

The maps are COUNT random maps per class (default 200), simplify_pairs.tsv, and random_maps.tsv by classes. The script
needs build/sett and build/algebra. If another simplifier is not installed, its line says SKIP.

A size is the number of operators, variables and constants in the results. A time is the minimum over several calls of
simplify, in microseconds. Our simplify also handles the domain; TVM's *whole* includes creating an analyzer that
knows the domain. Halide's integers have 32 bits, and its remainders differ from ours for negative divisors, so it
does not get maps with such divisors.
"""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "algebra"))
sys.path.insert(0, str(ROOT))

from test_indexing_map import Map
from test_sizes import PEER, ask, differs, peer_rows, random, symbols

SETT, ALGEBRA = str(ROOT / "build/sett"), str(ROOT / "build/algebra")
CLASSES = {"LATTICE": "minima of maxima", "COMMON": "minima with common terms", "MONOTONE": "functions of minima", "CLAMPS": "clamps and padded loops",
           "PRODUCTS": "sums of products", "SYMBOLIC": "positive symbolic divisors", "NEIGHBOURS": "neighbouring quotients"}
REPEATS = 7



@dataclass
class Answer:
    """A map as another simplifier simplified it, and the times."""
    text: str    # the map with the other simplifier's results
    simplify: float     # microseconds
    whole: float    # microseconds of simplify and of the preparation for this map


def tvm(texts: "list[str]") -> "Optional[dict[str, Answer]]":
    try:
        import rivals_tvm
    except ImportError:
        return None
    made = {}
    for text in texts:
        results, took, whole = rivals_tvm.simplified(text, REPEATS)
        made[text] = Answer(with_results(text, results), took, whole)
    return made


WORDS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%"}


def postfix(text: str) -> str:
    """Return an expression in the postfix form that Halide's program reads."""
    for word, sign in (("floordiv", "//"), ("ceildiv", "@"), ("mod", "%")):
        text = text.replace(word, sign)

    def of(node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.UnaryOp):
            return f"-{node.operand.value}" if isinstance(node.operand, ast.Constant) else f"0 {of(node.operand)} -"
        if isinstance(node, ast.Call):
            return f"{of(node.args[0])} {of(node.args[1])} {node.func.id}"
        if isinstance(node.op, ast.MatMult):
            return f"0 0 {of(node.left)} - {of(node.right)} / -"
        return f"{of(node.left)} {of(node.right)} {WORDS[type(node.op)]}"

    return of(ast.parse(text, mode="eval").body)


def halide(texts: "list[str]") -> "Optional[dict[str, Answer]]":
    try:
        import halide as package
    except ImportError:
        return None
    folder = Path(package.__file__).parent
    with tempfile.TemporaryDirectory() as made:
        program = f"{made}/halide"
        library = next(folder.glob("lib*/libHalide.so")).parent
        subprocess.run(["c++", "-std=c++17", "-O2", f"-I{folder}/include", f"{ROOT}/bench/rivals_halide.cpp", "-o", program, f"-L{library}", "-lHalide",
                        f"-Wl,-rpath,{library}"], check=True)
        lines, taken = [], []
        for text in texts:
            m = Map(text)
            if re.search(r"(floordiv|mod|ceildiv) \(?-", text) or max((abs(v) for v in map(int, re.findall(r"-?\d+", text))), default=0) > 2**20:
                continue
            fields = [" ".join(f"{name} {lo} {hi}" for name, (lo, hi) in m.bounds.items())]
            fields += [f"A {lo} {hi} {postfix(e)}" for e, lo, hi in m.constraints] + [f"R {postfix(e)}" for e in m.results]
            lines.append("\t".join(fields) + "\n")
            taken.append(text)
        said = subprocess.run([program, str(REPEATS)], input="".join(lines), capture_output=True, text=True, check=True).stdout.splitlines()
    made = {}
    for text, line in zip(taken, said):
        took, *results = line.split("\t")
        results = [result.replace("/", " floordiv ").replace("%", " mod ") for result in results]
        # leave out results with operators that maps do not have (select, comparisons)
        if not any(re.search(r"[<>=!&|?]|\b(select|let|uint1)\b", result) for result in results):
            made[text] = Answer(with_results(text, results), float(took), float(took))
    return made


def ours(texts: "list[str]") -> "list[float]":
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines(text + "\n" for text in texts)
        file.flush()
        return [float(line) for line in subprocess.run([ALGEBRA, "times", file.name], capture_output=True, text=True, check=True).stdout.splitlines()]


def with_results(text: str, results: "list[str]") -> str:
    head, rest = text.split(" -> ", 1)
    return f"{head} -> ({', '.join(results)})" + (", domain: " + rest.split(", domain: ", 1)[1] if ", domain: " in rest else "")


def quantile(values: "list[float]", q: float) -> float:
    return sorted(values)[int((len(values) - 1) * q)]


def times(values: "list[float]") -> str:
    return f"{statistics.median(values):.1f} / {quantile(values, .9):.1f} / {sum(values):.0f}"


def faster(theirs: "list[float]", mine: "list[float]") -> str:
    return f"{statistics.median(theirs) / statistics.median(mine):.1f} / {quantile(theirs, .9) / quantile(mine, .9):.1f} / {sum(theirs) / sum(mine):.1f}"


def compare(name: str, sets: "dict[str, list[str]]", answers: "dict[str, Answer]", simple: "dict[str, str]", took: "dict[str, float]") -> None:
    """Print a table that compares our results with another simplifier's. Each row is a set of maps. Maps that the other
    simplifier does not accept are left out.
    """
    whole = any(answer.whole > answer.simplify for answer in answers.values())
    print(f"\n| {name} | maps | wrong | symbols | ours | ours smaller | larger | us: median / p90 / sum | ours | times faster |"
          + " whole | times faster |" * whole + "\n" + "|---" * (12 if whole else 10) + "|")
    printed = dict(zip(answers, ask(SETT, "parse", [answer.text for answer in answers.values()])))
    rng = random.Random(3)
    for title, texts in sets.items():
        here = [text for text in texts if text in answers and "KNOWN EMPTY" not in (simple[text], answers[text].text)]
        if not here:
            continue
        sizes = [(symbols(simple[text]), symbols(answers[text].text if printed[text].startswith("error") else printed[text])) for text in here]
        wrong = sum(bool(differs(text, answers[text].text, rng)) for text in here)
        mine, theirs = [took[text] for text in here], [answers[text].simplify for text in here]
        cells = [title, len(here), wrong, sum(b for _, b in sizes), sum(a for a, _ in sizes), sum(a < b for a, b in sizes), sum(a > b for a, b in sizes),
                 times(theirs), times(mine), faster(theirs, mine)]
        if whole:
            theirs = [answers[text].whole for text in here]
            cells += [times(theirs), faster(theirs, mine)]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    sets = {title: subprocess.run([ALGEBRA, "texts", key, str(count)], capture_output=True, text=True, check=True).stdout.splitlines()
            for key, title in CLASSES.items()}
    sets = {title: [text for text in texts if text != "KNOWN EMPTY"] for title, texts in sets.items()}
    sets["all of these"] = [text for texts in sets.values() for text in texts]
    xla = {}
    if PEER.exists():
        sets["TVM's and Halide's tests"] = [row[1] for row in peer_rows()]
        for line in (PEER / "random_maps.tsv").read_text().splitlines():
            if line.startswith("#"):
                continue
            text, written, kind, _, _, sound, _, took = line.split("\t")
            sets.setdefault(f"random maps: {re.sub('_.*', '', kind)}", []).append(text)
            if sound == "ok":
                xla[text] = Answer(written, int(took) / 1e3, int(took) / 1e3)
    every = list(dict.fromkeys(text for texts in sets.values() for text in texts))
    simple, microseconds = dict(zip(every, ask(SETT, "simplify", every))), dict(zip(every, ours(every)))
    for name, answers in (("TVM", tvm(every)), ("Halide", halide(every)), ("XLA", xla)):
        if answers:
            compare(name, sets, answers, simple, microseconds)
        else:
            print(f"SKIP: no {name}")


if __name__ == "__main__":
    main()
