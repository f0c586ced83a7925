"""Place the buffers of hard inputs in one block of memory, and print the block's size relative to the maximum of live
bytes.
    python3 bench/arena.py [--seconds S,..] FILE.csv ..

A file has a header line, then a line per buffer: its name, its first step, the step after its last step, and its
bytes. The column `first` is for `place` without its search: the smallest of three placements, one for each of three
fixed orders of the buffers. The search has S seconds of processor time for each input, on one core.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from statistics import mean
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen.program.arena import Live, place


def read(file: Path) -> List[Live]:
    """Return the buffers of a file."""
    with file.open(newline="") as lines:
        return [Live(row["id"], int(row["size"]), int(row["lower"]), int(row["upper"])) for row in csv.DictReader(lines)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", default="1,10")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    seconds = [float(text) for text in options.seconds.split(",")]
    print("| input | buffers | bound | first | " + " | ".join(f"{s:g} s" for s in seconds) + " |")
    print("|---|---|---|" + "---|" * (1 + len(seconds)))
    rows: List[List[float]] = []
    for file in options.files:
        lives = read(file)
        placements = [place(lives, effort=0), *(place(lives, seconds=s) for s in seconds)]
        rows.append([placement.bytes / placement.bound for placement in placements])
        print(f"| {file.name.split('.')[0]} | {len(lives)} | {placements[0].bound} | "
              + " | ".join(f"{ratio:.3f}" for ratio in rows[-1]) + " |", flush=True)
    print("| mean | | | " + " | ".join(f"{mean(column):.3f}" for column in zip(*rows)) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
