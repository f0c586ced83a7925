"""Times kernels beside the fastest copy of the same bytes on the same device, in turns with it, in one process a kernel."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Dict, List, Optional, Sequence

from . import run

SMALL = 1 << 20  # below so many bytes a launch costs more than the moving: a row of latency
NOISY = 0.25  # a spread from which something else had the machine
MIB = float(1 << 20)

Row = Dict[str, Any]


@dataclass
class BenchOptions:
    """rounds: timed turns; slot_ms: least length of a turn; footprint 0: twice the last-level cache."""

    rounds: int = 15
    slot_ms: int = 10
    footprint: int = 0
    with_check: bool = True
    run: run.Options = field(default_factory=run.Options)


@dataclass
class Report:
    """What a bench found: the device, and a row for each kernel."""

    target: str
    device: run.Event
    compiler: str
    rounds: int
    rows: List[Row] = field(default_factory=list)

    def status(self) -> str:
        return "FAIL" if any(row["status"] == "FAIL" for row in self.rows) else "PASS"


def compiler_version() -> str:
    """The first line of the C compiler's --version: it made the host's copies."""
    done = subprocess.run([run.c_compiler(), "--version"], stdout=subprocess.PIPE, text=True)
    return (done.stdout.splitlines() or [""])[0]


def footprint(device: run.Event, wanted: int) -> int:
    """Bytes of rotated buffers: beyond the cache, within a sixth of the host's and a quarter of the device's memory."""
    most = min(run.machine_memory() // 6, int(device["memory"]) // 4)
    return min(wanted or 2 * int(device["cache"]) or 256 << 20, most)


def _time(event: run.Event) -> Row:
    return {"name": event["name"], "median_s": event["median"], "low_s": event["low"], "high_s": event["high"],
            "least_s": event["least"], "calls": int(event["calls"]), "GBps": event["bytes"] / event["median"] / 1e9}


def _fastest(events: Sequence[run.Event]) -> Optional[run.Event]:
    return min(events, key=lambda e: e["median"] / max(1.0, e["bytes"]), default=None)


def _share(kernel: run.Event, rival: run.Event) -> float:
    """The median over the turns of the kernel's speed in the rival's: both of a turn meet the same noise of the machine."""
    speed = kernel["bytes"] / rival["bytes"]
    return speed * median(theirs / ours for ours, theirs in zip(kernel["times"], rival["times"]))


def _timed_row(row: Row, answer: run.Answer, device: run.Event) -> Row:
    """Adds the figures of a harness answer to a row."""
    times = answer.of("time")
    kernel = next(e for e in times if e["kind"] == "kernel")
    copies = [e for e in times if e["kind"] == "copy"]
    reads = [e for e in times if e["kind"] == "read"]
    rotation = answer.of("rotation")[0]
    row.update(_time(kernel), status="PASS")
    row.update(name=row["kernel"], rounds=int(kernel["rounds"]), latency_s=rotation["latency"], sets=int(rotation["sets"]),
               footprint=int(rotation["footprint"]), fits_cache=bool(rotation["footprint"] <= device["cache"]),
               copies=[_time(e) for e in copies], reads=[_time(e) for e in reads])
    copy, read = _fastest(copies), _fastest(reads)
    if copy:
        row["copy"], row["share"] = _time(copy), _share(kernel, copy)
    if read:
        row["read"], row["read_share"] = _time(read), _share(kernel, read)
    return row


def bench_built(built: run.Built, target: str, device: run.Event, options: BenchOptions) -> Row:
    """One kernel's row; its check first, so that no wrong kernel is timed."""
    manifest = built.manifest
    moved = int(manifest["bytes_read"]) + int(manifest["bytes_written"])
    row: Row = {"kernel": built.name, "hero": built.hero, "schedule": manifest.get("schedule", ""), "bytes": moved,
                "status": "FAIL"}
    if options.with_check:
        result = run.check_built([built], target, options.run)[0]
        row.update(max_abs=result.max_abs, max_ulp=result.max_ulp, error=result.error_text())
        if result.status != "PASS":
            row.update(status=result.status, reason=result.reason)
            return row
    elif built.library is None:
        run.compile_fusion(built, target)
    answer = run.call_harness(
        target, ["bench", options.run.device, options.rounds, options.slot_ms, footprint(device, options.footprint), moved,
                 built.library], options.run.process_seconds)
    run.raise_for_start(answer)
    if not answer.of("rotation") or not any(e["kind"] == "kernel" for e in answer.of("time")):
        ended = answer.of("result")
        row["status"] = ended[0]["status"] if ended else "FAIL"
        row["reason"] = ended[0]["reason"] if ended else run.ending(answer, options.run.process_seconds)
        return row
    return _timed_row(row, answer, device)


def bench(files: Sequence[str], target: str, options: Optional[BenchOptions] = None) -> Report:
    """`gen bench`: all fusions of all files. RunError with status 3 where there is no device."""
    from gen import hlo

    options = options or BenchOptions()
    report = Report(target, run.find_device(target, options.run), compiler_version(), options.rounds)
    for file in files:
        for number, fusion in enumerate(hlo.fusions(run.load(file))):
            with tempfile.TemporaryDirectory(prefix="sett_bench_") as work:
                built = run.build(fusion, Path(work) / str(number), target, options.run)
                row = bench_built(built, target, report.device, options)
            row["file"] = Path(file).name
            report.rows.append(row)
    return report


# ---- text ----


def _quantity(value: float, units: Sequence[str], step: float) -> str:
    for unit in units[:-1]:
        if value < step:
            return f"{value:.3g} {unit}"
        value /= step
    return f"{value:.3g} {units[-1]}"


def seconds_text(value: float) -> str:
    return _quantity(value * 1e6, ("us", "ms", "s"), 1000.0)


def bytes_text(value: float) -> str:
    return _quantity(value, ("B", "KiB", "MiB", "GiB"), 1024.0)


def _spread(row: Row) -> float:
    """The middle half of the turns, as a share of the median."""
    return (row["high_s"] - row["low_s"]) / row["median_s"]


def _note(row: Row) -> str:
    notes = []
    if row["bytes"] < SMALL:
        notes.append(f"latency: {seconds_text(row['latency_s'])} a launch")
    if row["fits_cache"]:
        notes.append("buffers fit in the cache")
    if _spread(row) > NOISY:
        notes.append("noisy")
    return "; ".join(notes)


HEADINGS = ("kernel", "hero", "moved", "time", "spread", "GB/s", "copy", "share", "max error", "fastest copy", "")


def _cells(row: Row) -> Sequence[str]:
    if "median_s" not in row:
        why = row.get("reason", "").splitlines() or [""]
        return (row["kernel"], row["hero"], bytes_text(row["bytes"]), row["status"], "", "", "", "", row.get("error", ""), "",
                why[0])
    copy = row.get("copy")
    return (row["kernel"], row["hero"], bytes_text(row["bytes"]), seconds_text(row["median_s"]), f"{100 * _spread(row):.0f}%",
            f"{row['GBps']:.1f}", f"{copy['GBps']:.1f}" if copy else "-", f"{row['share']:.2f}" if copy else "-",
            row.get("error", "not checked"), copy["name"] if copy else "-", _note(row))


def table(report: Report) -> str:
    """A line for the device, then a row for each kernel. Time: the median; spread: the middle half of the turns."""
    device = report.device
    lines = [_cells(row) for row in report.rows]
    widths = [max(len(line[i]) for line in (HEADINGS, *lines)) for i in range(len(HEADINGS))]
    right = {2, 3, 4, 5, 6, 7}

    def text(cells: Sequence[str]) -> str:
        return "  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths))).rstrip()

    head = (f"{report.target} on {device['name']}, {int(device['units'])} compute units, {device['runtime']}; "
            f"host copies by {report.compiler}\n{report.rounds} turns after warm-up, buffers rotated through "
            f"{max((row.get('footprint', 0) for row in report.rows), default=0) / MIB:.0f} MiB, "
            f"last-level cache {device['cache'] / MIB:.0f} MiB")
    return "\n".join([head, text(HEADINGS), *(text(line) for line in lines)])


def as_json(report: Report) -> str:
    """Everything measured, without dates and paths."""
    return json.dumps({"target": report.target, "device": {k: v for k, v in report.device.items() if k != "event"},
                       "compiler": report.compiler, "rounds": report.rounds, "kernels": report.rows}, indent=1) + "\n"


def write_json(report: Report, path: str) -> None:
    """Under a temporary name first."""
    with tempfile.TemporaryDirectory(prefix="sett_json_") as work:
        made = Path(work) / "bench.json"
        made.write_text(as_json(report))
        run.publish(made, Path(path).absolute())
