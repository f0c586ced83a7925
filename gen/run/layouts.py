"""gen bench --layouts: time copies between every pair of layouts of an array, and reads of the array in each layout by
rows, columns and tiles.

This file writes HLO text and shows the results as a matrix: as text, as JSON and as a page. The kernels are ordinary
generated ones; gen/run/bench.py checks and times them.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gen import algebra, hlo, pipeline, run
from gen.emit.templates import environment
from gen.hlo import dtypes
from gen.plan.nest import BuildError
from gen.run import bench, cost as costs

Row = bench.Row
# the tile size for the order of reads "tiles", if no layout has a tile
TILE = (8, 128)
# the order of a read: along the last dimension, along the second to last one, or tile by tile
READS = ("rows", "columns", "tiles")


@dataclass(frozen=True)
class Layout:
    """A layout of the array.

    text: such as {1,0:T(8,128)}
    padding: the fraction of its bytes that is padding
    tile: its first tile, one size per logical dimension, or ()
    walk: indices (row, column) near the start of the last two dimensions, in memory order; the page draws a line
        through them
    """

    text: str
    shape: hlo.Shape
    padding: float
    tile: Tuple[int, ...]
    walk: Tuple[Tuple[int, int], ...]


@dataclass
class Matrix:
    """The results of `gen bench --layouts`: copies between all pairs of layouts, and reads of each layout.

    report: the rows of all copies and reads
    tile: the size of the tiles in reads by tiles
    copies: the rows of copies, with the fields `from` and `to`
    reads: the rows of reads, with the fields `layout` and `by`
    """

    report: bench.Report
    shape: hlo.Shape
    layouts: List[Layout]
    tile: Tuple[int, ...]
    command: str
    copies: List[Row] = field(default_factory=list)
    reads: List[Row] = field(default_factory=list)


# ---- arguments ----


def _fault(what: str, text: str, column: int, message: str) -> run.RunError:
    return run.RunError(f"{column}: {what} '{text}': {message}")


def _shape(text: str) -> hlo.Shape:
    """Parse the array's shape; its layout is row-major."""
    try:
        shape = hlo.shape(algebra.shape(text))
    except algebra.AlgebraError as error:
        raise _fault("shape", text, error.column or 1, error.message) from None
    if shape.kind != "array" or shape.dynamic or not shape.dims or shape.elements < 1:
        raise _fault("shape", text, 1,
                     "expected an array of one or more elements and fixed dimensions, such as f32[4096,4096]")
    if "{" in text:
        raise _fault("shape", text, text.index("{") + 1,
                     "expected no layout here: the layouts are the arguments that follow")
    return shape


def _first_tile(shape: hlo.Shape, tiles: str) -> Tuple[int, ...]:
    """Return the first tile in the output of `shape info`, one size per logical dimension; () if there is no tile, or
    if it combines dimensions.
    """
    match = re.match(r"\((\d+(?:,\d+)*)\)", tiles)
    if not match:
        return ()
    sizes = dict(zip(shape.minor_to_major, map(int, reversed(match[1].split(",")))))
    return tuple(min(sizes.get(d, 1), extent) for d, extent in enumerate(shape.dims))


def _picked(extent: int) -> List[int]:
    """Return all numbers below `extent` if it is at most eight, else four evenly spaced pairs of neighbours."""
    return list(range(extent)) if extent <= 8 else [k * (extent // 4) + step for k in range(4) for step in (0, 1)]


def _walk(shape: hlo.Shape, tile: Sequence[int]) -> Tuple[Tuple[int, int], ...]:
    """Return indices (row, column) along the last two dimensions, in memory order. They lie in the first 2 x 2 tiles.
    """
    rows, columns = [1, *(min(2 * t, d) for t, d in zip(tile, shape.dims))][-2:]
    points = []
    for i, row in enumerate(_picked(rows)):
        for j, column in enumerate(_picked(columns)):
            index = [*[0] * (shape.rank - 2), row, column][-shape.rank:]
            points.append((int(algebra.call("shape", "index", shape.text, _commas(index))), i, j))
    return tuple((i, j) for _, i, j in sorted(points))


def _layout(array: hlo.Shape, text: str, number: int, before: Sequence[Layout]) -> Layout:
    what = f"layout {number}"
    if not text.startswith("{"):
        raise _fault(what, text, 1, "expected a layout, such as {1,0} or {1,0:T(8,128)}")
    bare = array.text.split("{")[0]
    try:
        shape = hlo.shape(algebra.shape(bare + text))
        info = dict(line.partition(" ")[::2] for line in algebra.call("shape", "info", shape.text).splitlines())
    except algebra.AlgebraError as error:
        raise _fault(what, text, max(1, (error.column or 1) - len(bare)), error.message) from None
    canonical = shape.text[len(bare):]
    for k, other in enumerate(before, 1):
        if other.text == canonical:
            raise _fault(what, text, 1, f"expected another layout than layout {k}")
    tile = _first_tile(shape, info["tiles"])
    return Layout(canonical, shape, float(info["padding"].rstrip("%")) / 100, tile,
                  _walk(shape, tile or _clipped(shape)))


def _clipped(shape: hlo.Shape) -> Tuple[int, ...]:
    return tuple(map(min, (1,) * (shape.rank - 2) + TILE[-shape.rank:], shape.dims))


def parse(words: Sequence[str]) -> Tuple[hlo.Shape, List[Layout]]:
    """Parse SHAPE LAYOUT LAYOUT ..; a RunError names the column in the faulty argument."""
    shape = _shape(words[0])
    layouts: List[Layout] = []
    for number, word in enumerate(words[1:], 1):
        layouts.append(_layout(shape, word.strip(), number, layouts))
    if not layouts:
        raise _fault("shape", words[0], len(words[0]) + 1, "expected one or more layouts after it, such as {1,0} {0,1}")
    return shape, layouts


# ---- kernels, as HLO text ----


def copy_text(source: Layout, to: Layout) -> str:
    return f"HloModule copy\n\nENTRY copy {{\n  p = {source.shape.text} parameter(0)\n  ROOT c = {to.shape.text} copy(p)\n}}\n"


def read_text(layout: Layout, order: str, tile: Sequence[int]) -> str:
    """Return the HLO text of a kernel that reads every element. It combines the elements of each row, column or tile
    by xor, which is exact in any order. If tiles extend beyond the array, the text pads the array with zeros. The
    zeros are not stored in memory.
    """
    dtype = layout.shape.dtype
    bits = "pred" if dtype == "pred" else f"u{dtypes.TABLE[dtype].bits}"
    dims, rank = layout.shape.dims, layout.shape.rank
    steps, value = [], "p"
    if order == "tiles":
        over = [-d % t for d, t in zip(dims, tile)]
        padded = [d + o for d, o in zip(dims, over)]
        if any(over):
            steps.append(f"filled = {bits}[{_commas(padded)}] pad(p, zero), padding={'x'.join(f'0_{o}' for o in over)}")
            value = "filled"
        split = [part for d, t in zip(padded, tile) for part in (d // t, t)]
        steps.append(f"tiles = {bits}[{_commas(split)}] reshape({value})")
        value, kept, reduced = "tiles", split[::2], range(1, 2 * rank, 2)
    else:
        gone = rank - 1 if order == "rows" else rank - 2
        kept, reduced = [d for k, d in enumerate(dims) if k != gone], range(gone, gone + 1)
    steps.append(
        f"ROOT r = {bits}[{_commas(kept)}] reduce({value}, zero), dimensions={{{_commas(reduced)}}}, to_apply=combine"
    )
    body = "\n".join(f"  {step}" for step in steps)
    return f"""HloModule read_by_{order}

combine {{
  a = {bits}[] parameter(0)
  b = {bits}[] parameter(1)
  ROOT c = {bits}[] xor(a, b)
}}

ENTRY read_by_{order} {{
  p = {bits}[{_commas(dims)}]{layout.text} parameter(0)
  zero = {bits}[] constant({'false' if bits == 'pred' else '0'})
{body}
}}
"""


def _commas(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _row(text: str, name: str, report: bench.Report) -> Row:
    """Return the bench's row of one kernel. If the kernel cannot be generated, the status is REFUSED, with the reason.
    """
    row: Row = {"kernel": name, "status": "REFUSED", "bytes": 0, "libraries": []}
    try:
        module = hlo.parse(text, f"{name}.hlo")
        unsupported = hlo.unsupported(module)
        if unsupported:
            raise unsupported
        fusion, = hlo.fusions(module)
        needed, most = costs.memory(fusion.computation), costs.machine_memory() // 3
        if needed > most and report.options.with_check:
            row.update(
                status="SKIP",
                reason=f"its check needs {bench.bytes_text(needed)}, a third of this machine's memory is {bench.bytes_text(most)}",
            )
        else:
            row = bench.bench_program(fusion, report)
    except hlo.HloError as error:
        row["reason"] = error.message
    except (BuildError, algebra.AlgebraError) as error:
        row["reason"] = str(error)
    except run.RunError as error:
        if error.status == 3:
            raise
        row.update(status="FAIL" if error.status == 1 else "REFUSED", reason=error.message)
    return {**row, "hlo": text}


class Cell(NamedTuple):
    """A cell of the matrix that will be measured.

    rows: the list to which the cell's results are appended
    which: the fields that identify the cell in `rows`
    text, name: the HLO text, and the name of its fusion
    """

    rows: List[Row]
    which: Row
    text: str
    name: str


def measure(words: Sequence[str], target: str, options: bench.BenchOptions,
            progress: Callable[[str], None] = lambda text: None) -> Matrix:
    """Run `gen bench --layouts`. Raise RunError with status 2 for bad arguments or if no kernel can be generated, 3 if
    there is no device or no kernel can run.
    """
    shape, layouts = parse(words)
    report = bench.Report(target, run.find_device(target, options.run), bench.compiler_version(), options)
    tile = next((x.tile for x in layouts if x.tile), _clipped(shape))
    matrix = Matrix(report, shape, layouts, tile, _command(words, target, options))
    cells: List[Cell] = []
    for i, source in enumerate(layouts):
        for j, to in enumerate(layouts):
            cells.append(Cell(matrix.copies, {"from": source.text, "to": to.text}, copy_text(source, to),
                              f"copy_{i + 1}_{j + 1}"))
        for order in ways(matrix):
            cells.append(Cell(matrix.reads, {"layout": source.text, "by": order}, read_text(source, order, tile),
                              f"read_{order}_{i + 1}"))
    for number, cell in enumerate(cells, 1):
        progress(f"{number}/{len(cells)} {' '.join(f'{key} {value}' for key, value in cell.which.items())}")
        cell.rows.append({**cell.which, **_row(cell.text, cell.name, report)})
        report.rows.append(cell.rows[-1])
    if all(row["status"] in ("REFUSED", "SKIP") for row in report.rows):
        raise run.RunError(report.rows[0]["reason"], 3 if report.rows[0]["status"] == "SKIP" else 2)
    return matrix


def ways(matrix: Matrix) -> List[str]:
    """Return the orders of READS that are measured; an array of rank 1 is read only by rows."""
    return [order for order in READS if matrix.shape.rank > 1 or order == "rows"]


def _command(words: Sequence[str], target: str, options: bench.BenchOptions) -> str:
    """Return the command line that repeats the measurement."""
    usual = bench.BenchOptions()
    extra = [f"--target {target}"]
    extra += [f"--device {options.run.schedule}"] if options.run.schedule else []
    extra += [f"--rounds {options.rounds}"] if options.rounds != usual.rounds else []
    extra += [f"--spread {100 * options.spread:g}"] if options.spread != usual.spread else []
    extra += ["--no-check"] if not options.with_check else []
    return f"python3 -m gen bench --layouts {' '.join(map(shlex.quote, words))} {' '.join(extra)}"


# ---- texts of a cell ----


def share(row: Row) -> Optional[float]:
    """Return the kernel's throughput divided by that of the yardstick: the fastest copy or, if the kernel writes
    little, the fastest read.
    """
    return row.get("read_share" if row.get("yardstick") == "read" else "share")


def yardstick(row: Row) -> str:
    """Describe the yardstick: its name and its throughput."""
    best = row.get("read" if row.get("yardstick") == "read" else "copy")
    return f"{best['GBps']:.1f} GB/s ({best['name']})" if best else "-"


def cell(row: Row) -> str:
    if "median_s" not in row:
        return row["status"].lower() if row["status"] != "FAIL" else "FAIL"
    part = share(row)
    return f"{row['GBps']:5.1f} {part:5.2f}" if part is not None else f"{row['GBps']:5.1f}     -"


def name(row: Row) -> str:
    return f"copy {row['from']} to {row['to']}" if "from" in row else f"read {row['layout']} by {row['by']}"


def reasons(matrix: Matrix) -> List[str]:
    """Return a line for each reason why cells are empty."""
    kernels: Dict[str, List[str]] = {}
    for row in matrix.report.rows:
        if "median_s" not in row:
            kernels.setdefault(f"{row['status']} {(row.get('reason', '').splitlines() or [''])[0]}",
                               []).append(name(row))
    return [f"{reason} ({'; '.join(names)})" for reason, names in kernels.items()]


def notes(matrix: Matrix) -> List[str]:
    """Return notes that help to interpret the figures."""
    measured = [row for row in matrix.report.rows if "median_s" in row]
    rows = []
    if any(row["bytes"] < bench.SMALL for row in measured):
        worst = max(row["latency_s"] for row in measured)
        rows.append(
            f"so few bytes measure the launch, not the layout: {bench.seconds_text(worst)} a launch and the wait for it"
        )
    if any(row["fits_cache"] for row in measured):
        rows.append("the buffers fit in the cache")
    spreads = [row["share_spread"] for row in measured]
    wide = [s for s in spreads if s is None or s > matrix.report.options.spread]
    if wide:
        known = "not known at all" if None in wide else f"known within {100 * max(wide):.0f}%"
        rows.append(
            f"in {len(wide)} of {len(measured)} cells turns ended before the share was known so well; the worst is {known}"
        )
    if not matrix.report.options.with_check:
        rows.append("the kernels were not checked (--no-check)")
    return rows


def _grid(cells: "Sequence[Sequence[str]]") -> List[str]:
    widths = [max(map(len, column)) for column in zip(*cells)]
    return ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]).rstrip()
            for row in cells]


def table(matrix: Matrix) -> str:
    """Return lines: the device and the method, the matrix of copies, a table of the layouts and their reads, and the
    reasons for empty cells.
    """
    copies = {(row["from"], row["to"]): row for row in matrix.copies}
    reads = {(row["layout"], row["by"]): row for row in matrix.reads}
    layouts, orders = [x.text for x in matrix.layouts], ways(matrix)
    part = " or ".join(word[:-1] for word in orders)
    headings = [f"by {word}" + (f" {tile_text(matrix)}" if word == "tiles" else "") for word in orders]
    return "\n".join(
        [
            *bench.head(matrix.report),
            "",
            f"copy of {bare(matrix)}: GB/s, share of the fastest copy of as many bytes in the same run",
            *_grid([["from, to", *layouts], *([a, *(cell(copies[a, b]) for b in layouts)] for a in layouts)]),
            "",
            f"read of {bare(matrix)}: GB/s, share of the fastest read; a kernel that xors the bits of each {part} into one value",
            *_grid(
                [
                    ["layout", "bytes", "padding", *headings],
                    *(
                        [
                            x.text,
                            bench.bytes_text(x.shape.bytes),
                            f"{100 * x.padding:.3g}%",
                            *(cell(reads[x.text, word]) for word in orders),
                        ]
                        for x in matrix.layouts
                    ),
                ]
            ),
            *[f"note: {note}" for note in notes(matrix)],
            *reasons(matrix),
        ]
    )


def bare(matrix: Matrix) -> str:
    return matrix.shape.text.split("{")[0]


def tile_text(matrix: Matrix) -> str:
    return "x".join(map(str, matrix.tile))


# ---- files ----


def as_json(matrix: Matrix) -> str:
    """Return all measurements as JSON text, without dates and paths."""
    layouts = [{"layout": x.text, "bytes": x.shape.bytes, "padding": x.padding, "first_tile": x.tile}
               for x in matrix.layouts]
    return json.dumps({"command": matrix.command, **bench.about(matrix.report),
                       "checked": matrix.report.options.with_check, "shape": bare(matrix), "layouts": layouts,
                       "tile": matrix.tile, "copies": matrix.copies, "reads": matrix.reads}, indent=1) + "\n"


def as_html(matrix: Matrix) -> str:
    """Return a self-contained page, from templates/files/layouts.html.j2."""
    return environment().get_template("files/layouts.html.j2").render(m=matrix, bare=bare(matrix),
                                                                             tile=tile_text(matrix), ways=ways(matrix),
                                                                             name=name, share=share,
                                                                             yardstick=yardstick, notes=notes(matrix),
                                                                             reasons=reasons(matrix),
                                                                             head=bench.head(matrix.report),
                                                                             seconds=bench.seconds_text,
                                                                             bytes=bench.bytes_text)


def places(json_path: Optional[str], html_path: Optional[str]) -> Tuple[Optional[Path], Path]:
    """Return the paths of the output files. The page goes to the folder of the JSON file, or to build/. Raise RunError
    if a file cannot be written. (This is called before anything is measured.)
    """
    if html_path is None and json_path is None:
        (run.ROOT / "build").mkdir(exist_ok=True)
    data = Path(json_path).absolute() if json_path is not None else None
    page = (
        Path(html_path).absolute()
        if html_path is not None
        else data.with_suffix(".html") if data else run.ROOT / "build" / "layouts.html"
    )
    bench.writable(data, page)
    return data, page


def write(matrix: Matrix, data: Optional[Path], page: Path) -> None:
    """Write the files. Each is replaced as a whole, or stays as it was."""
    texts = [(page, as_html(matrix)), *([(data, as_json(matrix))] if data else [])]
    for path, text in texts:
        pipeline.write(path, text)
