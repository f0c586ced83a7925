"""Compare the sizes of simplified maps with those that the tests of other systems expect.
    python3 tests/algebra/test_sizes.py [--rows REGEX] [--sett COMMAND] [--all]

This prints a line for each class of rows, then each row that is wrong, larger than expected or not proved equal.
--rows selects rows by name, --sett names another command than build/sett, --all also prints the rows that are equal
or smaller.

The tables:
- `../shared/peer/simplify_pairs.tsv` has maps of one result with the result that TVM or Halide expects;
  simplified.tsv, beside this file, is a table of our own in the same form.
- `../shared/peer/random_maps.tsv` has maps with XLA's simplified text. For each of its rows, sizes_before.tsv gives
  the number of symbols in the results of our header at commit 8df6257 and of TVM 0.27 (-: not run).
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
import pytest

from test_indexing_map import NO_VALUE, Map, map_nodes

PEER = ROOT.parent / "shared" / "peer"
POINTS = 150    # points at which a row with a large domain is compared

HERE = Path(__file__).resolve().parent

# The reasons why the results of some rows may stay larger than expected.
SMALL = "on a domain of few points another form has as few terms, with a number more"
INNER = "the merged quotient has no digit, because terms of two digits have one sum"
CONSTANT = "a result of one value is that number, whose sign is a symbol; the other keeps a variable"
NODES = "no larger in symbols: the other system counts a subtraction as a sum and a product"
LARGER = {
    "expr_neg:77": SMALL, "expr_negdiv:132": INNER, "expr_neg:85": NODES,
    "expr_negdiv_con:152": CONSTANT, "expr_negdiv_con:156": CONSTANT,
}


def symbols(text: str) -> int:
    """Return the number of operators, variables and constants in the results of a map. The sign of a constant counts as
    an operator.
    """
    if text == "KNOWN EMPTY":
        return 0
    results = text.split(" -> ", 1)[1].split(", domain:")[0]
    return len(re.findall(r"\w+|[-+*]", results))


def in_constraints(text: str) -> int:
    """Return the number of operators, variables and constants in the constraints of a map. Bounds of variables and the
    ends of intervals do not count.
    """
    if text == "KNOWN EMPTY":
        return 0
    return sum(len(re.findall(r"\w+|[-+*]", expression)) for expression, _, _ in Map(text).constraints)


def ask(command: str, verb: str, lines: "list[str]") -> "list[str]":
    """Run one process that answers many questions."""
    done = subprocess.run([command, "map", verb, "-"], input="".join(line + "\n" for line in lines), capture_output=True, text=True)
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines), done.stderr
    return answers


def points(box: "list[tuple[int, int]]", rng: random.Random) -> "Iterator[tuple[int, ...]]":
    """Yield all points of a small box. For a large box yield random points, most of them with variables that are close
    to each other, because minima change there.
    """
    sizes = 1
    for lo, hi in box:
        sizes *= max(0, hi - lo + 1)
    if sizes <= POINTS:
        yield from itertools.product(*(range(lo, hi + 1) for lo, hi in box))
        return
    for _ in range(POINTS):
        near, width = rng.choice([0, 0, rng.randint(-1000, 1000)]), rng.choice([3, 12, 60])
        yield tuple(min(max(near + rng.randint(-width, width), lo), hi) if rng.random() < 0.8 else rng.choice([lo, hi, rng.randint(lo, hi)])
                    for lo, hi in box)


def differs(before: str, after: str, rng: random.Random) -> str:
    """Return, as text, a point where two maps differ, or "". Points where the first map has no value are ignored."""
    a, b = Map(before), Map(after)
    for point in points(a.box(), rng):
        if a(point) not in (b(point), NO_VALUE):
            return f"at {point}: {a(point)} and {b(point)}"
    return ""


@dataclass
class Row:
    name: str
    text: str
    got: str
    sizes: "dict[str, tuple[int, int]]"    # for each simplifier: (size of our result, size of that simplifier's result)
    wrong: str    # a point where the result differs from the map
    undecided: str    # the answer of `equal`, if it is not "equal"
    shown: str                              # the expected text

    @property
    def larger(self) -> "list[str]":
        return [who for who, (ours, other) in self.sizes.items() if ours > other]

    @property
    def smaller(self) -> bool:
        return all(ours < other for ours, other in self.sizes.values())

    def line(self) -> str:
        sizes = ", ".join(f"{ours} for {who} {other}" for who, (ours, other) in self.sizes.items())
        marks = [f"LARGER than {' and '.join(self.larger)}"] if self.larger else []
        marks += [self.undecided[:40]] if self.undecided else []
        marks += [f"WRONG {self.wrong}"] if self.wrong else []
        return f"{self.name}: {'; '.join([sizes] + marks)}\n    map   {self.text}\n    ours  {self.got}\n    {self.shown}"


def own_rows() -> "list[list[str]]":
    """Return the rows of simplified.tsv as [name, map, expected map]."""
    made = []
    for line in (HERE / "simplified.tsv").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, domain, result, expected = line.split("\t")
        if domain.isdigit():
            domain = ", ".join(f"d{i} in [-1000, 1000]" for i in range(int(domain)))
        names = ", ".join(dict.fromkeys(re.findall(r"\bd\d", domain)))
        made.append([name] + [f"({names}) -> ({text}), domain: {domain}" for text in (result, expected)])
    return made


def peer_rows() -> "list[list[str]]":
    return [line.split("\t") for line in (PEER / "simplify_pairs.tsv").read_text().splitlines()]


def pairs(every: "list[list[str]]", command: str, wanted: str) -> "list[Row]":
    """Compare the simplified map with the expected map of each row. The expected size is that of the expected text, or
    of the same map as `sett` prints it, whichever is smaller.
    """
    rows = [row for row in every if re.search(wanted, row[0])]
    got = ask(command, "simplify", [row[1] for row in rows])
    printed = ask(command, "parse", [row[2] for row in rows])
    equal = ask(command, "equal", [f"{row[1]}\t{row[2]}" for row in rows])
    rng = random.Random(1)
    return [Row(name, text, ours, {"expected": (symbols(ours), min(symbols(expected), symbols(again)))}, differs(text, ours, rng),
                "" if answer == "equal" else answer, f"wants {expected}")
            for (name, text, expected), ours, again, answer in zip(rows, got, printed, equal)]


def random_maps(command: str, wanted: str) -> "list[Row]":
    """Return a Row for each row of random_maps.tsv, named by class and line. XLA's result counts only if it is sound.
    Two sizes are compared with XLA's: the number of symbols, and the number of nodes as XLA counts them. Both include
    the constraints.
    """
    before = {line.split("\t")[0]: line.split("\t")[1:] for line in (HERE / "sizes_before.tsv").read_text().splitlines()
              if not line.startswith("#")}
    rows = []
    for number, line in enumerate((PEER / "random_maps.tsv").read_text().splitlines(), 1):
        fields = line.split("\t")
        if not line.startswith("#") and re.search(wanted, f"{fields[2]}:{number}"):
            rows.append((str(number), *fields))
    got = ask(command, "simplify", [row[1] for row in rows])
    # our result is compared with XLA's text, or with the map itself if XLA's text is wrong
    equal = ask(command, "equal", [f"{row[1]}\t{row[2] if row[6] == 'ok' else ours}" for row, ours in zip(rows, got)])
    rng, made = random.Random(1), []
    for (number, text, xla, kind, _, _, sound, _, _), ours, answer in zip(rows, got, equal):
        sizes = {who: (symbols(ours), int(size)) for who, size in zip(("8df6257", "TVM"), before[number]) if size != "-"}
        if sound == "ok":
            sizes["XLA"] = symbols(ours) + in_constraints(ours), symbols(xla) + in_constraints(xla)
            sizes["XLA by nodes"] = map_nodes(ours), map_nodes(xla)
        made.append(Row(f"{kind}:{number}", text, ours, sizes, differs(text, ours, rng), "" if answer == "equal" else answer, f"XLA   {xla}"))
    return made


def report(title: str, rows: "list[Row]", every: bool, out: "list[str]") -> None:
    """Add to `out` the counts for each class of rows, then the rows that are larger, wrong or not proved equal (all
    rows if `every`).
    """
    classes: "dict[str, list[Row]]" = {}
    for row in rows:
        classes.setdefault(re.sub(r"(_r\d+_k\d+)?[:_]\d+$", "", row.name), []).append(row)
    if len(classes) > 1:
        classes["all"] = rows
    whose = sorted({who for row in rows for who in row.sizes})
    out.append(f"{title + ', rows':32}  rows   wrong  not decided equal   larger  equal  smaller" + "".join(f"  larger than {who}" for who in whose))
    for name, some in classes.items():
        larger, smaller = sum(bool(r.larger) for r in some), sum(r.smaller and not r.larger for r in some)
        out.append(f"  {name:32} {len(some):4} {sum(bool(r.wrong) for r in some):6} {sum(bool(r.undecided) for r in some):18} {larger:8} "
                   f"{len(some) - larger - smaller:6} {smaller:8}" + "".join(f"{sum(who in r.larger for r in some):{14 + len(who)}}" for who in whose))
    out += [row.line() for row in rows if every or row.larger or row.undecided or row.wrong]


COMMAND = str(ROOT / "build/sett")


def hold(rows: "list[Row]") -> None:
    """Check that no row is wrong or undecided, and that only the rows in LARGER are larger than expected."""
    assert rows and not [row.line() for row in rows if row.wrong or row.undecided]
    assert not [row.line() for row in rows if row.larger and row.name not in LARGER]


def test_own_rows() -> None:
    rows = own_rows()
    hold(pairs(rows, COMMAND, ""))
    # each expected text has the values of its map: both are computed in Python, without our simplifier
    rng = random.Random(2)
    assert not [(name, wrong) for name, text, expected in rows for wrong in [differs(text, expected, rng)] if wrong]


@pytest.mark.skipif(not PEER.exists(), reason="no ../shared/peer")
def test_peer_rows() -> None:
    hold(pairs(peer_rows(), COMMAND, ""))


@pytest.mark.skipif(not PEER.exists(), reason="no ../shared/peer")
def test_random_maps() -> None:
    hold(random_maps(COMMAND, ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", default="", metavar="REGEX")
    parser.add_argument("--sett", default=COMMAND, metavar="COMMAND")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    out: "list[str]" = []
    sets = {"simplified.tsv": pairs(own_rows(), options.sett, options.rows)}
    if PEER.exists():
        sets |= {"simplify_pairs.tsv": pairs(peer_rows(), options.sett, options.rows), "random_maps.tsv": random_maps(options.sett, options.rows)}
    else:
        out.append("SKIP: no ../shared/peer")
    for title, rows in sets.items():
        if rows:
            report(title, rows, options.all, out)
    print("\n".join(out))


if __name__ == "__main__":
    main()
