"""Time kernels, in rounds: each round times the kernel, copies and reads of the same bytes on the same device, and
libraries that do the same work, one after another.

Rounds continue until the kernel's throughput relative to the yardstick is known accurately enough. The yardstick is
the fastest copy; for a kernel that writes less than a quarter of what it reads, it is the fastest read.
"""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, Dict, List, Optional, Sequence, Tuple

from gen import child, jobs, pipeline, run
from gen.program import build as programs
from gen.program.ir import Program
from gen.run import cost as costs, nearest, rivals

# the simplest methods that copy and read fast: each thread reads one stream of consecutive bytes
ONE_STREAM = {"copy": "streaming stores", "read": "vector sum"}
# expected seconds to generate, compile and start one kernel; expected rounds per second, for a kernel with a dozen
# rivals
START_SECONDS, TURNS_A_SECOND = 4, 6
DIFFERS = re.compile(r"its result is|values are not the kernel's")
SMALL = 1 << 20  # below this many bytes, the fixed time of a launch dominates, so the row shows latency
MIB = float(1 << 20)

Row = Dict[str, Any]


@dataclass
class BenchOptions:
    """The options of a bench.

    rounds: the maximum number of rounds; each contender is timed once in a round
    spread: the wanted accuracy of the median relative throughput. After 9 rounds or more, the bench stops once half of
        the median's 95% confidence interval is below this
    seconds: after 9 rounds or more, the bench stops once this number of seconds has passed since the first round began
    slot_ms: the minimum time of one contender in one round, in milliseconds
    footprint: total bytes of the buffers that launches use in rotation; 0: see footprint()
    """

    rounds: int = 60
    spread: float = 0.02
    seconds: float = 10.0
    slot_ms: int = 10
    footprint: int = 0
    with_check: bool = True
    with_libraries: bool = True
    run: run.Options = field(default_factory=run.Options)


@dataclass
class Report:
    """The results of a bench: the device, and one row per kernel."""

    target: str
    device: run.Event
    compiler: str
    options: BenchOptions
    libraries: List[rivals.Library] = field(default_factory=list)
    rows: List[Row] = field(default_factory=list)

    def status(self) -> str:
        return "FAIL" if any(row["status"] == "FAIL" for row in self.rows) else "PASS"


def compiler_version() -> str:
    """Return the first line that the C compiler prints for --version. This compiler compiles the host's copies."""
    return (child.run([run.c_compiler(), "--version"]).out.splitlines() or [""])[0]


def footprint(device: run.Event, wanted: int) -> int:
    """Return the total bytes of the buffers that launches use in rotation, so that they are not read from the cache.

    The default is sixteen times the last-level cache, at most 1 GiB, but at least twice the cache (a loop over only
    twice the cache still has some hits). It is at most an eighth of the host's memory and a quarter of the device's.
    """
    cache, most = int(device["cache"]), min(costs.machine_memory() // 8, int(device["memory"]) // 4)
    return min(wanted or max(2 * cache, min(16 * cache, 1 << 30)) or 256 << 20, most)


def _time(event: run.Event) -> Row:
    return {"name": event["name"], "median_s": event["median"], "low_s": event["low"], "high_s": event["high"],
            "least_s": event["least"], "calls": int(event["calls"]), "GBps": event["bytes"] / event["median"] / 1e9}


def _fastest(events: Sequence[run.Event]) -> Optional[run.Event]:
    """Return the event of the fastest rival. Rivals that were dropped before the last round do not count."""
    last = max((e["rounds"] for e in events), default=0)
    return min((e for e in events if e["rounds"] == last), key=lambda e: e["median"] / max(1.0, e["bytes"]),
               default=None)


def _share(kernel: run.Event, rival: run.Event) -> float:
    """Return the kernel's throughput relative to the rival's: the median of the rounds' ratios. Each ratio compares
    two times of one round, because noise affects both alike.
    """
    speed = kernel["bytes"] / rival["bytes"]
    return speed * median(theirs / ours for ours, theirs in zip(kernel["times"], rival["times"]))


def _mixed_share(kernel: run.Event, copy: run.Event, read: run.Event, manifest: run.Manifest) -> float:
    """Return (time of a copy and a read) / (time of the kernel). The copy reads and writes as many bytes as the kernel
    writes. The read covers the other bytes that the kernel reads.
    """
    written = int(manifest["bytes_written"])
    copied, rest = 2 * written / copy["bytes"], max(0, int(manifest["bytes_read"]) - written) / read["bytes"]
    return median((copied * c + rest * r) / k for k, c, r in zip(kernel["times"], copy["times"], read["times"]))


def _libraries(kernel: run.Event, answer: run.Answer, libraries: Sequence[rivals.Library]) -> List[Row]:
    """Return a row for each library: its times, or the reason why it was not timed."""
    times = {e["name"]: e for e in answer.of("time") if e["kind"] == "library"}
    said = {e["name"]: e for e in answer.of("library")}  # of several messages about a library, the last one is used
    rows: List[Row] = []
    for library in libraries:
        event = said.get(library.name, {})
        row: Row = {"name": library.name, "status": "PASS" if library.name in times else "SKIP"}
        if library.name in times:
            row.update(_time(times[library.name]), about=event["about"], ahead=_share(kernel, times[library.name]),
                       differs=event["reason"])
        else:
            row["reason"] = library.missing or event.get("reason", "")
        rows.append(row)
    return rows


def _timed_row(row: Row, answer: run.Answer, device: run.Event, manifest: run.Manifest) -> Row:
    """Return the row with the figures of the harness's answer added."""
    times = answer.of("time")
    kernel = next(e for e in times if e["kind"] == "kernel")
    copies = [e for e in times if e["kind"] == "copy"]
    reads = [e for e in times if e["kind"] == "read"]
    rotation = answer.of("rotation")[0]
    row.update(_time(kernel), status="PASS",
               arithmetic_rate=next((event["rate"] for event in answer.of("arithmetic")), None))
    row.update(name=row["kernel"], rounds=int(kernel["rounds"]), latency_s=rotation["latency"],
               sets=int(rotation["sets"]), footprint=int(rotation["footprint"]),
               fits_cache=bool(rotation["footprint"] <= device["cache"]), yardstick=rotation["yardstick"],
               share_spread=rotation["spread"] if rotation["spread"] < 1e300 else None,
               copies=[_time(e) for e in copies], reads=[_time(e) for e in reads])
    copy, read = _fastest(copies), _fastest(reads)
    if copy:
        row["copy"], row["share"] = _time(copy), _share(kernel, copy)
    if read:
        row["read"], row["read_share"] = _time(read), _share(kernel, read)
    plain = next((e for e in (copies if rotation["yardstick"] == "copy" else reads)
                  if e["name"] == ONE_STREAM[rotation["yardstick"]]), None)
    if plain:
        row["one_stream_share"] = _share(kernel, plain)
    if copy and read:
        row["mixed_share"] = _mixed_share(kernel, copy, read, manifest)
    return row


def _operations(built: run.Built,
                libraries: Sequence[rivals.Library]) -> "List[Tuple[rivals.Library, rivals.Operation]]":
    """Return pairs of a library and the operation that it runs for this fusion. Libraries that cannot compute the
    fusion are left out.
    """
    single = rivals.operation(built.source) if libraries else None
    whole = rivals.whole(built.source, built.folder) if any(x.name in rivals.WHOLE for x in libraries) else None
    pairs = [(x, whole if x.name in rivals.WHOLE else single) for x in libraries]
    return [(library, operation) for library, operation in pairs if operation]


def bench_built(built: run.Built, target: str, device: run.Event, options: BenchOptions,
                libraries: Sequence[rivals.Library] = ()) -> Row:
    """Return one kernel's row. The kernel is checked first, so that a wrong kernel is never timed."""
    manifest = built.manifest
    moved = int(manifest["bytes_read"]) + int(manifest["bytes_written"])
    row: Row = {"kernel": built.name, "hero": built.hero, "schedule": manifest.get("schedule", ""), "bytes": moved,
                "operations": costs.arithmetic(built.source) if built.source else 0, "status": "FAIL", "libraries": []}
    cost = costs.of_program(built.program) if built.program else None
    expected = costs.LAUNCHES * cost.launch_seconds(False, bool(device["on_host"])) if cost else 0.0
    if cost and expected > run.longest(options.run):
        row.update(status="SKIP",
                   reason=f"{cost.text()}, about {costs.duration(expected)} for {costs.LAUNCHES} launches: not timed "
                   "(--limit SECONDS allows more)")
        return row
    if cost and expected > run.LONG_SECONDS:
        options.run.say(f"{built.name}: {cost.text()}, about {costs.duration(expected)} for {costs.LAUNCHES} launches")
    if options.with_check:
        results = (run.check_what_fits if cost else run.check_built)([built], target, options.run)
        result = max(results, key=lambda r: (r.status == "FAIL", r.status != "PASS", r.max_share))
        row.update(max_abs=result.max_abs, max_ulp=result.max_ulp,
                   error=result.share_text() if any(r.compared for r in results) else "not compared")
        if result.status != "PASS":
            row.update(status=result.status, reason=result.reason)
            return row
        if result.compared and not options.run.excess_precision and rivals.may_keep_f32(built.source, libraries):
            built.oracle = pipeline.oracle(built.program or built.source, True, run.runner_of(target).target.flushes)
            run.compile_fusion(built, target, True)
    elif built.library is None:
        run.compile_fusion(built, target)
    bytes_rotated = footprint(device, options.footprint)
    arguments = [options.run.device, options.rounds, options.spread, options.seconds, options.slot_ms, bytes_rotated,
                 moved, built.library]
    operations = _operations(built, libraries)
    if operations:
        files = built.folder / "rival_in.bin", built.folder / "rival_out.bin"
        arguments += files
        for library, operation in operations:
            if library.command:
                arguments += [library.name, operation.result,
                              library.line(operation, int(device["units"]), bytes_rotated, *files)]
    limit = run.process_limit(options.run, expected)
    answer = run.call_harness(target, ["bench", *arguments], limit)
    run.raise_for_start(answer)
    if not answer.of("rotation") or not any(e["kind"] == "kernel" for e in answer.of("time")):
        ended = answer.of("result")
        row["status"] = ended[0]["status"] if ended else "FAIL"
        launch = run.launch_limit(target, options.run)
        row["reason"] = ended[0]["reason"] if ended else run.ending(answer, limit, launch)
        return row
    _timed_row(row, answer, device, manifest)
    row["libraries"] = _libraries(next(e for e in answer.of("time") if e["kind"] == "kernel"), answer,
                                  [x for x, _ in operations])
    for library in row["libraries"]:
        if library["name"] in rivals.WHOLE and library["status"] == "SKIP" and DIFFERS.search(library["reason"]):
            said = nearest.words(built, target, options.run, *files)
            library["reason"] += f"; {said}" if said else ""
    row["matrix_products"] = bool(built.source) and rivals.matrix_products(built.source)
    return row


def bench_program(source: pipeline.Source, report: Report) -> Row:
    """Return a program's row; the program is built in a private folder."""
    with jobs.temporary_folder("sett_bench_") as work:
        built = run.build(source, Path(work), report.target, report.options.run, report.options.with_check)
        return bench_built(built, report.target, report.device, report.options, report.libraries)


def expected_seconds(of: "Sequence[Program]", options: BenchOptions) -> float:
    """Return the expected seconds of a bench on an idle machine. For each program they include its rounds, two rounds
    of its check, and its preparation.
    """
    checks = [costs.of_program(program).check_seconds(False) for program in of if options.with_check]
    return len(of) * (START_SECONDS + min(options.seconds,
                                               options.rounds / TURNS_A_SECOND)) + 2 * sum(
        min(seconds, costs.MOST_SECONDS) for seconds in checks)


def bench(files: Sequence[str], target: str, options: Optional[BenchOptions] = None, apart: bool = False) -> Report:
    """Run `gen bench` on all programs of the files, or, if `apart` is set, on each fusion separately. Raise RunError
    with status 3 if there is no device.
    """
    options = options or BenchOptions()
    # Do not place arrays with leading dimensions in larger arrays: the times would include copies to and from these.
    options.run.larger = False
    if options.run.leads and apart:
        raise run.RunError("expected no --apart beside --lead: it names arrays of the program")
    found = [(Path(file).name, pipeline.with_leads(program, options.run.leads)) for file in files
             for program in programs.programs(run.load(file, options.run.fill_constants, options.run.sizes), apart)]
    report = Report(target, run.find_device(target, options.run), compiler_version(), options)
    with jobs.temporary_folder("sett_rivals_") as folder:
        if options.with_libraries and report.device["on_host"]:
            report.libraries = rivals.find(Path(folder))
        seconds = expected_seconds([program for _, program in found], options)
        options.run.say(f"{run.counted(len(found), 'program')}, about {costs.duration(seconds)}")
        start = time.monotonic()
        for number, (file, program) in enumerate(found):
            left = (time.monotonic() - start) / number * (len(found) - number) if number else 0
            progress = f"{number + 1}/{len(found)}{f', about {costs.duration(left)} left' if number else ''}: "
            step = options.run.step
            report.options = replace(options, run=replace(options.run, step=lambda text: step(progress + text)))
            report.rows.append({**bench_program(program, report), "file": file})
        report.options = options
    return report


# ---- text ----


def _quantity(value: float, units: Sequence[str], step: float) -> str:
    for unit in units[:-1]:
        if value < step:
            return f"{value:.3g} {unit}"
        value /= step
    return f"{value:.3g} {units[-1]}"


def seconds_text(value: float) -> str:
    return _quantity(value * 1e9, ("ns", "us", "ms", "s"), 1000.0)


def bytes_text(value: float) -> str:
    return _quantity(value, ("B", "KiB", "MiB", "GiB"), 1024.0)


def _spread(row: Row) -> float:
    """Return the interquartile range of the times, divided by their median."""
    return (row["high_s"] - row["low_s"]) / row["median_s"]


def behind(row: Row) -> List[str]:
    return [r["name"] for r in row["libraries"] if r["status"] == "PASS" and r["ahead"] < 1]


def _note(row: Row) -> str:
    notes = []
    if row["bytes"] < SMALL:
        notes.append(f"latency: {seconds_text(row['latency_s'])} a launch")
    if row["fits_cache"]:
        notes.append("buffers fit in the cache")
    if behind(row):
        notes.append(f"behind {', '.join(behind(row))}")
    return "; ".join(notes)


def _gbps(event: Optional[Row]) -> str:
    return f"{event['GBps']:{'.1f' if event['GBps'] >= 1 else '.2g'}}" if event else "-"


def _library_cell(row: Row, name: str) -> str:
    library: Row = next((r for r in row["libraries"] if r["name"] == name), {})
    return _gbps(library if library.get("status") == "PASS" else None) + "*" * bool(library.get("differs"))


def _cells(row: Row, libraries: Sequence[str]) -> Dict[str, str]:
    """Return the texts of a row's cells, by column heading."""
    cells = {"kernel": row["kernel"], "hero": row["hero"], "moved": bytes_text(row["bytes"]),
             "max error": row.get("error", "not checked")}
    if "median_s" not in row:
        return {**cells, "time": row["status"], "note": (row.get("reason", "").splitlines() or [""])[0]}
    reduces = row["yardstick"] == "read"
    copy, read = row.get("copy"), row.get("read") if reduces else None
    spread = row["share_spread"]
    cells.update({"time": seconds_text(row["median_s"]), "spread": f"{100 * _spread(row):.0f}%", "GB/s": _gbps(row),
                  "copy": _gbps(copy), "share": f"{row['share']:.2f}" if copy else "-", "read": _gbps(read),
                  "of read": f"{row['read_share']:.2f}" if read else "-",
                  "+-": "?" if spread is None else f"{100 * spread:.0f}%",
                  "of one stream": f"{row['one_stream_share']:.2f}" if "one_stream_share" in row else "-",
                  "memcpy": _gbps(next((c for c in row["copies"] if c["name"] == "memcpy"), None)),
                  "yardstick": (read or copy or {"name": "-"})["name"], "note": _note(row)})
    cells.update({name: _library_cell(row, name) for name in libraries})
    return cells


BUSY = 0.25    # a spread above this means that other work uses the machine at times


def _legend(names: Sequence[str]) -> str:
    """Return an explanation of the table's columns."""
    return (
        f"GB/s, copy, read, memcpy{''.join(f', {name}' for name in names)}: GB/s of the bytes moved; share, of read: the kernel's GB/s in those of "
        "the fastest copy, read; +-: of the share (95%); spread: of the middle half of the turns. bench/README.md explains them"
    )


def _busy(report: Report) -> List[str]:
    most = max((_spread(row) for row in report.rows if "median_s" in row), default=0.0)
    return (
        [
            f"note: the machine is busy: times spread by up to {100 * most:.0f}%; shares, which compare within a turn, less"
        ]
        if most > BUSY
        else []
    )


LEFT = ("kernel", "hero", "max error", "yardstick", "note")


def skipped(report: Report) -> List[str]:
    """Return a line for each reason why a library was not timed. It names the kernels, unless the library is not
    installed.
    """
    lines = [f"SKIP {x.name}: {x.missing}" for x in report.libraries if x.missing]
    absent = {x.name for x in report.libraries if x.missing}
    kernels: Dict[str, List[str]] = {}
    for row in report.rows:
        for library in row["libraries"]:
            if library["status"] == "SKIP" and library["name"] not in absent:
                kernels.setdefault(f"SKIP {library['name']}: {library['reason']}", []).append(row["kernel"])
    return lines + [f"{reason} ({', '.join(names)})" for reason, names in kernels.items()]


def differing(report: Report) -> List[str]:
    """Return a line for each library that was timed although its result differs from a kernel's. Another order of
    summation does not explain the difference, but rounding of other intermediate results may.
    """
    return [
        f"* {library['name']}: {library['differs']}: rounding at other places may cause it ({row['kernel']})"
        for row in report.rows
        for library in row["libraries"]
        if library.get("differs")
    ]


def _summary(report: Report) -> List[str]:
    """Return a line for each library that was timed with several kernels: the geometric mean of the kernels' speedups
    over it.
    """
    lines = []
    for name in rivals.NAMES:
        ahead: Dict[bool, List[Tuple[float, str]]] = {False: [], True: []}
        for row in report.rows:
            for r in row["libraries"]:
                if r["name"] == name and r["status"] == "PASS":
                    ahead[row["matrix_products"]].append((r["ahead"], row["kernel"]))
        for is_product, pairs in ahead.items():
            if len(pairs) > 1:
                what = "kernels with matrix products or convolutions" if is_product else "kernels"
                behind = [f"{kernel} {factor:.2f}" for factor, kernel in sorted(pairs) if factor < 1]
                lines.append(
                    f"{len(pairs)} {what} are {geometric_mean([x for x, _ in pairs]):.2f} times as fast as {name} in the geometric mean; "
                    f"{', '.join(behind) + ' times' if behind else f'the least {min(pairs)[0]:.2f} times ({min(pairs)[1]})'}"
                )
    return lines


def head(report: Report) -> List[str]:
    """Return lines that describe the device and the method."""
    device, options = report.device, report.options
    return [
        f"{report.target} on {device['name']}, {int(device['units'])} compute units, {device['runtime']}; "
        f"host copies by {report.compiler}",
        f"turns until the share is known within {100 * options.spread:g}% (95%), {options.rounds} or {options.seconds:g} s at most; "
        f"buffers rotated through {max((row.get('footprint', 0) for row in report.rows), default=0) / MIB:.0f} MiB, "
        f"last-level cache {device['cache'] / MIB:.0f} MiB",
    ]


def table(report: Report) -> str:
    """Return lines that describe the device and the method, then one row per kernel with its median time and the
    interquartile range of its times.
    """
    names = [x.name for x in report.libraries if not x.missing
             and any(_library_cell(row, x.name) != "-" for row in report.rows)]
    headings = ["kernel", "hero", "moved", "time", "spread", "GB/s", "copy", "share", "read", "of read", "+-",
                "of one stream", "memcpy", *names, "max error", "yardstick", "note"]
    lines = [_cells(row, names) for row in report.rows]
    widths = [max(len(h), *(len(line.get(h, "")) for line in lines), 0) for h in headings]

    def text(cells: Sequence[str]) -> str:
        return "  ".join(c.ljust(w) if h in LEFT else c.rjust(w) for h, c, w in zip(headings, cells, widths)).rstrip()

    said = head(report)
    libraries = sorted({" ".join(r["about"].split()[:2]) for row in report.rows for r in row["libraries"]
                        if r["status"] == "PASS"})
    if libraries:
        said.append(f"beside it, on {int(report.device['units'])} threads: {', '.join(libraries)}")
    said.append(_legend(names))
    return "\n".join([*said, text([h if h != "note" else "" for h in headings]),
                      *(text([line.get(h, "") for h in headings]) for line in lines), *_summary(report),
                      *differing(report), *skipped(report), *_busy(report)])


def about(report: Report) -> Dict[str, Any]:
    """Return the device and the method as data, without dates and paths."""
    options = report.options
    return {"target": report.target, "device": {k: v for k, v in report.device.items() if k != "event"},
            "compiler": report.compiler, "rounds": options.rounds, "spread": options.spread, "seconds": options.seconds}


def as_json(report: Report) -> str:
    """Return all measurements as JSON text, without dates and paths."""
    return json.dumps({**about(report), "kernels": report.rows}, indent=1) + "\n"


def write_json(report: Report, path: str) -> None:
    pipeline.write(Path(path).absolute(), as_json(report))


def writable(data: Optional[Path], page: Optional[Path]) -> None:
    """Raise RunError, before anything is measured, if the files of --json and --html cannot be written."""
    for option, path in (("--json", data), ("--html", page)):
        if path and (path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK)):
            raise run.RunError(f"{option} {path}: expected the name of a file in a folder that can be written")
    if page and data == page:
        raise run.RunError(f"--html {page}: expected another file than that of --json")
