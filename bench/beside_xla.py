"""Time modules and XLA:CPU alternately. Print a row for each file, then geometric means.
    python3 bench/beside_xla.py [--target T] [--json F] FILE|FOLDER ..

The columns of the table:
    time     time of one call, which runs all kernels of a module's fusion
    XLA:CPU  time of one call from Python, including some 10 us of dispatch
    times    XLA:CPU's time divided by ours: the median of the alternations
    share    our throughput relative to the fastest copy or read of the same number of bytes

The results of both are compared before the times are measured. If another order of summation does not explain their
difference, the row is measured again, and the error bound of `gen check` decides whether both results are right
(bench/README.md, Libraries). A folder stands for its .hlo files.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Dict, List, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen import algebra, hlo, run
from gen.program import build as programs
from gen.run import bench, rivals

XLA = "XLA:CPU"
FAST = bench.BenchOptions(rounds=25, seconds=1.5, with_check=False)


def of_xla(row: bench.Row) -> Dict[str, Any]:
    return next((x for x in row["libraries"] if x["name"] == XLA), {"status": "SKIP", "reason": "it does nothing alike"})


def row_of(file: str, report: bench.Report) -> bench.Row:
    """Return the row of a file. If the file cannot be read or built, the row states the reason."""
    try:
        program = programs.program(run.load(file))
        row = bench.bench_program(program, report)
        if of_xla(row)["status"] == "SKIP" and bench.DIFFERS.search(of_xla(row)["reason"]):
            checked = replace(report, options=replace(report.options, with_check=True))
            row = bench.bench_program(program, checked)
    except (hlo.HloError, run.RunError) as error:
        row = {"kernel": Path(file).stem, "status": "SKIP", "reason": str(error), "libraries": []}
    except Exception as error:  # whatever is wrong with one program, the others are still measured
        row = {"kernel": Path(file).stem, "status": "FAIL", "reason": str(error), "libraries": []}
    return {**row, "file": file}


COLUMNS = (("kernel", 50), ("time", 9), (XLA, 9), ("times", 7), ("share", 5))


def cells(*texts: str) -> str:
    """Return the cells as a line of a Markdown table."""
    return "| " + " | ".join(f"{text:<{width}}" for text, (_, width) in zip(texts, COLUMNS)) + " |"


def line(row: bench.Row) -> str:
    """Return the table's line for a row."""
    theirs, name = of_xla(row), row["kernel"]
    if "median_s" not in row:
        return cells(name, row["status"], "", "", "") + " " + (row.get("reason", "").splitlines() or [""])[0]
    share = row.get("read_share" if row["yardstick"] == "read" else "share")
    ours = bench.seconds_text(row["median_s"]), f"{share:.2f}" if share else "-"
    if theirs["status"] != "PASS":
        return cells(name, ours[0], theirs["status"], "", ours[1]) + " " + theirs["reason"]
    return cells(name, ours[0], bench.seconds_text(theirs["median_s"]),
                 f"{theirs['ahead']:.2f}{'*' if theirs['differs'] else ''}", ours[1])


HEADING = [cells(*(name for name, _ in COLUMNS)), "|".join(["", *("-" * (width + 2) for _, width in COLUMNS), ""])]


def means(rows: Sequence[bench.Row]) -> List[str]:
    """Return the lines with the geometric means of the speedups over XLA:CPU, then a line for each kernel that is
    slower than XLA:CPU.
    """
    timed = [row for row in rows if of_xla(row)["status"] == "PASS"]
    products = [row for row in timed if row["matrix_products"]]
    rest = [row for row in timed if not row["matrix_products"]]
    lines = []
    for what, group in ((f"{len(timed)} kernels", timed), (f"{len(products)} with products", products),
                        (f"{len(rest)} without", rest),
                        ("of these above 1 MiB", [row for row in rest if row["bytes"] > bench.SMALL])):
        if group:
            lines.append(f"{geometric_mean(of_xla(row)['ahead'] for row in group):9.2f}  times {XLA}, {what}")
    slower = sorted((of_xla(row)["ahead"], row["kernel"]) for row in timed if of_xla(row)["ahead"] < 1)
    return lines + [f"{ahead:9.2f}  {name}" for ahead, name in slower]


def differing(rows: Sequence[bench.Row]) -> List[str]:
    return [f"* {row['kernel']}: {of_xla(row)['differs']}" for row in rows if of_xla(row).get("differs")]


def files_of(words: Sequence[str]) -> List[str]:
    return [str(file) for word in words
            for file in (sorted(Path(word).glob("*.hlo")) if Path(word).is_dir() else [Path(word)])]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--target", default="c")
    parser.add_argument("--json", metavar="F")
    given = parser.parse_args()
    options = replace(FAST, run=run.Options())
    files = files_of(given.files)
    algebra.build()
    begun = time.monotonic()
    try:
        report = bench.Report(given.target, run.find_device(given.target, options.run), bench.compiler_version(), options)
    except run.RunError as error:
        print(f"SKIP: {error}")
        return 0
    with tempfile.TemporaryDirectory(prefix="sett_rivals_") as folder:
        report.libraries = rivals.find(Path(folder), [XLA]) if report.device["on_host"] else []
        missing = [x.missing for x in report.libraries if x.missing]
        if missing or not report.libraries:
            print(f"SKIP {XLA}: {missing[0] if missing else 'the device is not the host'}")
            return 0
        print("\n".join([*bench.head(report)[:1], *HEADING]), flush=True)
        for file in files:
            for row in [row_of(file, report)]:
                report.rows.append(row)
                print(line(row), flush=True)
    print("\n".join([f"{len(files)} files in {time.monotonic() - begun:.0f} s", *means(report.rows), *differing(report.rows)]))
    if given.json:
        Path(given.json).write_text(json.dumps({**bench.about(report), "kernels": report.rows}, indent=1) + "\n")
    return 1 if any(row["status"] == "FAIL" for row in report.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
