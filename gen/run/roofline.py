"""The page of `gen bench FILES --html F`: the roofline as a figure, and all figures as a table.

The vertical axis is bytes per second, the horizontal axis operations per byte. The bound of a kernel is level on the
left, where memory limits it, and falls on the right, where arithmetic does. Both limits are measured in the same run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

from gen.emit.templates import environment
from gen.run import bench

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 420, 280, 40, 12, 14, 36     # the figure and its margins, in pixels


@dataclass
class Point:
    """A kernel in the figure.

    number: its row in the table
    roof: the maximum GB/s that memory and arithmetic allow
    share: the kernel's throughput divided by the roof
    """

    number: int
    row: bench.Row
    intensity: float
    roof: float
    share: float
    x: float = 0
    y: float = 0


@dataclass
class Roof:
    """A bound of the kernels' throughput, drawn as a line.

    label: the position of its name
    """

    name: str
    line: List[Tuple[float, float]]
    label: Tuple[float, float]


@dataclass
class Chart:
    points: List[Point]
    roofs: List[Roof]    # the bounds by memory, and last the bound by arithmetic
    arithmetic: bool    # true if `roofs` has the bound by arithmetic
    across: List[Tuple[float, str]]    # ticks of the horizontal axis: positions and texts
    up: List[Tuple[float, str]]


def memory_roof(row: bench.Row) -> Optional[bench.Row]:
    """Return the row with the memory throughput that limits a kernel: the fastest read if the kernel writes little,
    else a copy.
    """
    return row.get(row.get("yardstick", ""))


def points(report: bench.Report) -> List[Point]:
    rates = [row["arithmetic_rate"] for row in report.rows if row.get("arithmetic_rate")]
    timed = []
    for number, row in enumerate(report.rows, 1):
        memory = memory_roof(row)
        if "median_s" not in row or memory is None:
            continue
        intensity = row["operations"] / row["bytes"] if row["bytes"] else 0.0
        roof = min(memory["GBps"], max(rates) / 1e9 / intensity) if rates and intensity else memory["GBps"]
        timed.append(Point(number, row, intensity, roof, row["GBps"] / roof))
    return timed


def chart(report: bench.Report) -> Optional[Chart]:
    """Return the figure; None if nothing was timed."""
    timed = points(report)
    if not timed:
        return None
    rate = max((row["arithmetic_rate"] for row in report.rows if row.get("arithmetic_rate")), default=0.0) / 1e9
    memory = {name: max((row[name]["GBps"] for row in report.rows if row.get("yardstick") == name and name in row),
                        default=0.0) for name in ("copy", "read")}
    speeds = [point.row["GBps"] for point in timed] + [speed for speed in memory.values() if speed]
    low, high = _decades(min(speeds) / 1.3, max(speeds) * 1.3)
    least, most = 1 / 32, max(4.0, *(2 * point.intensity for point in timed), 4 * rate / max(speeds) if rate else 0.0)

    def across(intensity: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(max(least, intensity) / least) / math.log(most / least)

    def up(speed: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(max(low, speed) / low) / math.log(high / low)

    for point in timed:
        point.x, point.y = across(point.intensity), up(point.row["GBps"])
    roofs: List[Roof] = []
    falls = False
    for name, speed in memory.items():
        if speed:
            knee = min(most, rate / speed) if rate else most
            roofs.append(Roof(f"fastest {name}, {speed:.1f} GB/s",
                              [(across(least), up(speed)), (across(knee), up(speed))],
                              (across(least) + 4, up(speed) + (-4 if speed == max(memory.values()) else 12))))
    if rate:
        start = max(least, rate / max(memory.values()))
        end = min(most, rate / low)
        falls = start < end
        if falls:
            roofs.append(Roof(f"f32 arithmetic, {rate:.0f} G/s",
                              [(across(start), up(rate / start)), (across(end), up(rate / end))],
                              (WIDTH - RIGHT, up(rate / start) - 4)))
    ticks = [2.0 ** k for k in range(-5, math.floor(math.log2(most)) + 1, 1 if most <= 16 else 2)]
    return Chart(timed, roofs, falls,
                 [(across(t), "0" if t == least else f"{t:g}" if t >= 1 else f"1/{1 / t:g}") for t in ticks],
                 [(up(v), f"{v:g}") for v in _marks(low, high)])


def _decades(low: float, high: float) -> Tuple[float, float]:
    """Return the ends of a logarithmic axis that contains the values: each is 1, 2 or 5 times a power of ten."""
    steps = [m * 10.0 ** e for e in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
             for m in (1, 2, 5)]
    return max(s for s in steps if s <= low), min(s for s in steps if s >= high)


def _marks(low: float, high: float) -> Sequence[float]:
    return [m * 10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            for m in (1, 2, 5) if low <= m * 10.0 ** e <= high * 1.001]


def as_html(report: bench.Report) -> str:
    """Return a self-contained page, from templates/files/roofline.html.j2."""
    shown = chart(report)
    return (
        environment()
        .get_template("files/roofline.html.j2")
        .render(
            report=report,
            chart=shown,
            points={point.number: point for point in shown.points} if shown else {},
            head=bench.head(report),
            width=WIDTH,
            height=HEIGHT,
            left=LEFT,
            right=WIDTH - RIGHT,
            top=TOP,
            bottom=HEIGHT - BOTTOM,
            seconds=bench.seconds_text,
            bytes=bench.bytes_text,
            skipped=bench.skipped(report),
            behind=bench.behind,
        )
    )
