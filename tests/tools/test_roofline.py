"""Test `gen bench --html`: the figure and the table of the roofline, the count of operations, and the estimated time of
a bench.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any, Dict, List

import pytest

from drawn import device_or_skip, fusions
from gen import run
from gen.run import bench, cost, roofline

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def row(name: str, speed: float, intensity: float, yardstick: str = "copy", **more: Any) -> "Dict[str, Any]":
    """Return the row of a kernel that moves 10^6 bytes, on a machine that copies 40 GB/s, reads 30 GB/s and computes 100
    G operations/s.
    """
    return {"kernel": name, "hero": "loop", "schedule": "", "bytes": 10 ** 6, "operations": int(intensity * 10 ** 6), "status": "PASS", "libraries": [], "GBps": speed,
            "median_s": 1e-3 / speed, "arithmetic_rate": 1e11, "yardstick": yardstick, "share": speed / 40, "read_share": speed / 30,
            "copy": {"name": "memcpy", "GBps": 40.0}, "read": {"name": "vector sum", "GBps": 30.0}, **more}


def report(rows: "List[Dict[str, Any]]") -> bench.Report:
    device = {"name": "a <device>", "units": 2, "runtime": "none", "cache": 1 << 20, "memory": 1 << 30, "on_host": 1}
    return bench.Report("c", device, "cc", bench.BenchOptions(), [], rows)


ROWS = [row("move", 40, 0), row("sum", 15, 0.25, "read"), row("costly", 10, 10), row("half & half", 20, 0.25), {**row("bad", 1, 1), "status": "FAIL", "reason": "wrong"}]
del ROWS[-1]["median_s"]


def test_points() -> None:
    """A kernel's roof is the smaller of two speeds: what memory allows, and what arithmetic allows. In the figure, the
    distance of the kernel's point below the roof is the ratio of the kernel's speed to the roof.
    """
    chart = roofline.chart(report(ROWS))
    assert chart and [(p.number, p.roof, p.share) for p in chart.points] == [(1, 40, 1), (2, 30, 0.5), (3, 10, 1), (4, 40, 0.5)]
    move, total, costly, half = chart.points
    copy, read, falling = (roof.line for roof in chart.roofs)
    assert move.y == copy[0][1] == copy[1][1] < read[0][1] and falling[0] == pytest.approx(copy[1])
    along = (costly.x - falling[0][0]) / (falling[1][0] - falling[0][0])
    assert 0 < along < 1 and costly.y == pytest.approx(falling[0][1] + along * (falling[1][1] - falling[0][1]))
    assert half.x == total.x > move.x and half.y - move.y == pytest.approx(total.y - read[0][1])    # the scale is logarithmic: half the speed is the same distance everywhere
    assert all(roofline.LEFT <= p.x <= roofline.WIDTH and roofline.TOP <= p.y <= roofline.HEIGHT - roofline.BOTTOM for p in chart.points)


def test_without_arithmetic() -> None:
    """If the device's arithmetic was not measured, there is no arithmetic roof, and the page says so."""
    rows = [{**one, "arithmetic_rate": None} for one in ROWS]
    chart = roofline.chart(report(rows))
    assert chart and not chart.arithmetic and len(chart.roofs) == 2 and chart.points[2].roof == 40
    assert "measured where the device is the host" in roofline.as_html(report(rows)) and "measured where the device is the host" not in roofline.as_html(report(ROWS))
    assert roofline.chart(report(ROWS[-1:])) is None and "fail: wrong" in roofline.as_html(report(ROWS[-1:]))


def test_page() -> None:
    """The page is one well-formed file that fetches nothing. It works in light and dark mode and on a phone, and has a
    point for each timed kernel and a row for each kernel.
    """
    text = roofline.as_html(report(ROWS))
    page = ElementTree.fromstring(text.replace("<!DOCTYPE html>", ""))
    assert len(page.findall(f".//{SVG}circle")) == 4 and len(page.findall(f".//{SVG}polyline")) == 3
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"]
    assert not re.search(r"<(script|link|img|iframe)|@import|url\(", text)
    assert "prefers-color-scheme: dark" in text and "width=device-width" in text and "a &lt;device&gt;" in text and "half &amp; half" in text
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in text.splitlines() if re.match(r"<tr.*<td", line)]
    assert [line[:6] for line in cells[:4]] == [["1", "move", "40.0", "1.00", "0", "1.00"], ["2", "sum", "15.0", "0.50", "0.25", "0.50"],
                                                ["3", "costly", "10.0", "0.25", "10", "1.00"], ["4", "half &amp; half", "20.0", "0.50", "0.25", "0.50"]]
    assert cells[4] == ["5", "bad", "fail: wrong"]


def test_operations() -> None:
    """An op counts one operation per element, a step of a dot two; moves and conversions count none."""
    add = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
    for body, count in (("ROOT t = f32[8,4] transpose(p), dimensions={1,0}", 0), ("ROOT t = f16[4,8] convert(p)", 0), ("e = f32[4,8] exponential(p)\n  ROOT t = f32[4,8] add(e, p)", 64),
                        ("ROOT t = f32[4,4] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={1}", 2 * 16 * 8),
                        ("z = f32[] constant(0)\n  ROOT t = f32[4] reduce(p, z), dimensions={1}, to_apply=add", 32),
                        ("z = f32[] constant(0)\n  ROOT t = f32[4,7] reduce-window(p, z), window={size=1x2}, to_apply=add", 4 * 7 * 2)):
        (fusion,) = fusions(f"{add}ENTRY e {{\n  p = f32[4,8] parameter(0)\n  {body}\n}}\n")
        assert cost.arithmetic(fusion) == count, body


def test_measured(tmp_path: Path) -> None:
    """A bench prints its estimated time, then the current kernel and the remaining time. It measures the device's
    arithmetic.
    """
    device_or_skip("c")
    said: "List[str]" = []
    steps: "List[str]" = []
    for name in "ab":
        (tmp_path / f"{name}.hlo").write_text("e {\n  p = f32[4000] parameter(0)\n  ROOT t = f32[4000] multiply(p, p)\n}\n")
    options = bench.BenchOptions(rounds=2, slot_ms=1, footprint=1 << 20, with_libraries=False, run=run.Options(rounds=1, say=said.append, step=steps.append))
    found = bench.bench([str(tmp_path / "a.hlo"), str(tmp_path / "b.hlo")], "c", options)
    assert said == ["2 programs, about 8.7 s"]
    assert steps[0].startswith("1/2: generate a") and any(re.match(r"2/2, about .* left: generate b", step) for step in steps)
    assert all(1e8 < one["arithmetic_rate"] < 1e14 and one["operations"] == 4000 for one in found.rows)
    assert roofline.as_html(found).count("<circle") == 2
