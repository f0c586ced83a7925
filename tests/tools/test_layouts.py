"""Test `gen bench --layouts`: its arguments, the kernels that it writes, the table, the JSON and the page."""

from __future__ import annotations

import json
import random
import re
import xml.etree.ElementTree as ElementTree
from functools import reduce
from operator import xor
from pathlib import Path

import pytest

from drawn import device_or_skip
from gen_run import gen
from gen import run
from gen.plan.nest import BuildError
from gen.run import bench, layouts

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
WORDS = ["f32[100,200]", "{1,0}", "{0,1}"]
QUICK = bench.BenchOptions(rounds=2, slot_ms=1, footprint=1 << 20)


@pytest.fixture(scope="module")
def measured() -> layouts.Matrix:
    """Return the measurements of two layouts on the CPU. The tile does not divide the array, so reading by tiles
    includes padding.
    """
    device_or_skip("c")
    return layouts.measure(WORDS, "c", QUICK)


# ---- arguments ----


@pytest.mark.parametrize("words, expected", [
    (["f32[4,4]"], "9: shape 'f32[4,4]': expected one or more layouts"),
    (["f32[4,x]", "{1,0}"], "7: shape 'f32[4,x]': expected a dimension"),
    (["", "{1,0}"], "1: shape '': expected an element type"),
    (["f32[4,4]{1,0}", "{1,0}"], "9: shape 'f32[4,4]{1,0}': expected no layout here"),
    (["(f32[4,4])", "{1,0}"], "1: shape '(f32[4,4])': expected an array"),
    (["f32[4,<=4]", "{1,0}"], "1: shape 'f32[4,<=4]': expected an array"),
    (["f32[0,4]", "{1,0}"], "1: shape 'f32[0,4]': expected an array of one or more elements"),
    (["f32[]", "{}"], "1: shape 'f32[]': expected an array"),
    (["f32[4,4]", "1,0"], "1: layout 1 '1,0': expected a layout"),
    (["f32[4,4]", "{1,0}", "{1,1}"], "4: layout 2 '{1,1}': expected minor_to_major to name each dimension once"),
    (["f32[4,4]", "{1,0:T(8,128"], "13: layout 1 '{1,0:T(8,128': expected ',' or ')'"),
    (["f32[4,4]", "{1,0} x"], "7: layout 1 '{1,0} x': expected the end of the shape"),
    (["f32[4,4]", "{1,0}", "{0,1}", "{1, 0}"], "1: layout 3 '{1, 0}': expected another layout than layout 1"),
], ids=" ".join)
def test_bad_layouts(words: "list[str]", expected: str) -> None:
    with pytest.raises(run.RunError) as raised:
        layouts.parse(words)
    assert raised.value.status == 2 and raised.value.message.startswith(expected), raised.value.message


@pytest.mark.parametrize("words, expected", [
    ([], "expected files to time, or --layouts"),
    (["a.hlo", "--layouts", "f32[4,4]", "{1,0}"], "expected files to time, or --layouts"),
    (["a.hlo", "--html", "none/a.html"], "--html .*none/a.html: expected the name of a file"),
    (["--layouts", "f32[4,4]", "{1,0}", "--html", "none/a.html"], "--html .*none/a.html: expected the name of a file"),
    (["--layouts", "f32[4,4]", "{1,0}", "--json", "a.html"], "--html .*a.html: expected another file than that of --json"),
    (["--layouts", "f32[4,4]", "{1,0", "--json", "a.json"], r"5: layout 1 '\{1,0': expected"),
], ids=lambda words: " ".join(words) if isinstance(words, list) else "")
def test_bad_commands(words: "list[str]", expected: str, tmp_path: Path) -> None:
    """A wrong command has status 2 and writes nothing."""
    done = gen("bench", *words, cwd=tmp_path)
    assert done.returncode == 2 and re.match(f"error: {expected}", done.stderr), done.stdout + done.stderr
    assert done.stdout == "" and not list(tmp_path.iterdir())


# ---- layouts and kernels ----


def test_tile_and_walk() -> None:
    """The sizes of a tile are given in the order of logical dimensions. The positions in README's picture follow the
    order in memory.
    """
    _, (tiled, plain, turned) = layouts.parse(["f32[512,1024]", "{1,0:T(8,128)(2,1)}", "{1,0}", "{0,1:T(8,128)}"])
    assert (tiled.tile, plain.tile, turned.tile) == ((8, 128), (), (128, 8))
    _, (small,) = layouts.parse(["f32[3,5]", "{1,0:T(2,2)}"])
    assert small.text == "{1,0:T(2,2)}" and small.tile == (2, 2) and small.shape.bytes == 96 and round(small.padding, 3) == 0.375
    assert small.walk == ((0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 0), (2, 1), (2, 2), (2, 3))
    _, (line, ) = layouts.parse(["s8[5]", "{0}"])
    assert line.walk == ((0, 0), (0, 1), (0, 2), (0, 3), (0, 4))


@pytest.mark.parametrize("shape, layout, tile, by", [
    ("f32[9,20]", "{0,1}", (8, 16), "tiles"), ("s8[9,20]", "{1,0}", (3, 5), "tiles"), ("bf16[9,20]", "{0,1}", (8, 16), "rows"),
    ("f64[2,9,5]", "{0,2,1}", (1, 8, 5), "columns"), ("pred[40]", "{0}", (8,), "rows"), ("u16[3,9,20]", "{2,1,0}", (2, 4, 20), "tiles")])
def test_reads(shape: str, layout: str, tile: "tuple[int, ...]", by: str, tmp_path: Path) -> None:
    """A read returns the XOR of each row, column or tile. The test computes it from the array's strides."""
    array, (one,) = layouts.parse([shape, layout])
    dims, size = array.dims, one.shape.bytes // array.elements
    strides, step = [0] * len(dims), 1
    for d in map(int, layout[1:-1].split(",")):
        strides[d], step = step, step * dims[d]
    draw = random.Random(3)
    values = [draw.randrange(2 if shape.startswith("pred") else 256 ** size) for _ in range(array.elements)]
    groups: "dict[tuple[int, ...], list[int]]" = {}
    for flat in range(array.elements):
        index, rest = [0] * len(dims), flat
        for d in reversed(range(len(dims))):
            index[d], rest = rest % dims[d], rest // dims[d]
        gone = len(dims) - (1 if by == "rows" else 2)
        group = tuple(i // t for i, t in zip(index, tile)) if by == "tiles" else tuple(i for d, i in enumerate(index) if d != gone)
        groups.setdefault(group, []).append(values[sum(i * s for i, s in zip(index, strides))])
    expected = [reduce(xor, groups[group]) for group in sorted(groups)]
    (tmp_path / "read.hlo").write_text(layouts.read_text(one, by, tile))
    (tmp_path / "p0.bin").write_bytes(b"".join(v.to_bytes(size, "little") for v in values))
    (result,) = run.run(str(tmp_path / "read.hlo"), "c", str(tmp_path), str(tmp_path))
    data = result.read_bytes()
    assert [int.from_bytes(data[k:k + size], "little") for k in range(0, len(data), size)] == expected


def test_copies() -> None:
    _, (a, b) = layouts.parse(["bf16[64,256]", "{1,0}", "{1,0:T(8,128)(2,1)}"])
    assert "ROOT c = bf16[64,256]{1,0:T(8,128)(2,1)} copy(p)" in layouts.copy_text(a, b)
    assert "p = bf16[64,256]{1,0} parameter(0)" in layouts.copy_text(a, b)


# ---- results ----


@pytest.mark.peer
def test_matrix(measured: layouts.Matrix) -> None:
    """Every copy between two layouts and every read is checked and timed. Throughputs are relative to a plain copy or
    read of the same bytes.
    """
    assert [(row["from"], row["to"]) for row in measured.copies] == [(a, b) for a in WORDS[1:] for b in WORDS[1:]]
    assert [(row["layout"], row["by"]) for row in measured.reads] == [(a, by) for a in WORDS[1:] for by in ("rows", "columns", "tiles")]
    for row in measured.report.rows:
        assert row["status"] == "PASS" and row["error"] == "0" and row["GBps"] > 0, row
        assert layouts.share(row) == (row["read_share"] if "by" in row else row["share"])
    assert {row["bytes"] for row in measured.copies} == {2 * 4 * 100 * 200}
    assert [row["bytes"] for row in measured.reads[:3]] == [4 * (100 * 200 + n) for n in (100, 200, 13 * 2)]


@pytest.mark.peer
def test_table(measured: layouts.Matrix) -> None:
    lines = layouts.table(measured).splitlines()
    heads = [k for k, line in enumerate(lines) if line.startswith(("from, to", "layout "))]
    assert lines[heads[0]].split() == ["from,", "to", "{1,0}", "{0,1}"]
    assert re.split("  +", lines[heads[1]]) == ["layout", "bytes", "padding", "by rows", "by columns", "by tiles 8x128"]
    for at, rows in ((heads[0], measured.copies), (heads[1], measured.reads)):
        cells = [re.findall(r" (\d+\.\d) +(\d+\.\d\d)\b", line) for line in lines[at + 1:at + 3]]
        assert sum(cells, []) == [(f"{row['GBps']:.1f}", f"{layouts.share(row):.2f}") for row in rows]
        assert [line.split()[0] for line in lines[at + 1:at + 3]] == WORDS[1:]
    assert any(line.endswith("xors the bits of each row or column or tile into one value") for line in lines)
    assert any(line.startswith("note: so few bytes") for line in lines)


@pytest.mark.peer
def test_files(measured: layouts.Matrix, tmp_path: Path) -> None:
    """The JSON has all figures. The page is one well-formed file without external references, with a cell for each copy
    and each read.
    """
    data, page = layouts.places(str(tmp_path / "a.json"), None)
    assert page == tmp_path / "a.html"
    layouts.write(measured, data, page)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.json"]
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["command"] == "python3 -m gen bench --layouts 'f32[100,200]' '{1,0}' '{0,1}' --target c --rounds 2"
    assert found["shape"] == "f32[100,200]" and found["tile"] == [8, 128] and found["target"] == "c" and found["device"]["name"]
    assert found["layouts"][1] == {"layout": "{0,1}", "bytes": 80000, "padding": 0, "first_tile": []}
    assert len(found["copies"]) == 4 and len(found["reads"]) == 6
    assert all({"GBps", "share", "copy", "hlo", "median_s"} <= set(row) for row in found["copies"] + found["reads"])

    text = (tmp_path / "a.html").read_text()
    root = ElementTree.fromstring(text)
    assert "@media (prefers-color-scheme: dark)" in text and found["command"].replace("'", "&#39;") in text
    assert not re.search(r"<script|<link|<img|\bhref=|\bsrc=|\burl\(|@import", text) and str(ROOT) not in text
    assert set(re.findall(r"https?://[^\"]+", text)) == {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"}
    assert not re.search(r"\b20\d\d-\d\d", text)
    svg = next(root.iter(f"{SVG}svg"))
    assert svg.get("role") == "img" and svg.get("aria-labelledby") == svg.find(f"{SVG}title").get("id")
    for kind, rows in (("copy", measured.copies), ("read", measured.reads)):
        cells = [g for g in svg.iter(f"{SVG}g") if g.get("class", "").split()[:2] == ["cell", kind]]
        assert [[t.text for t in g.findall(f"{SVG}text")] for g in cells] == [[f"{r['GBps']:.1f}", f"{layouts.share(r):.2f}"] for r in rows]
        assert [g.find(f"{SVG}title").text.split(":")[0] for g in cells] == [layouts.name(row) for row in rows]
        places = {(g.find(f"{SVG}rect").get("x"), g.find(f"{SVG}rect").get("y")) for g in cells}
        assert len(places) == len(rows)


def test_without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """If gen refuses a kernel, or a kernel is wrong, its cell states the reason. All other kernels are measured."""
    bench_row = {"median_s": 1e-3, "low_s": 1e-3, "high_s": 1e-3, "GBps": 7.0, "share": 0.5, "yardstick": "copy", "bytes": 1 << 25,
                 "share_spread": 0.5, "copy": {"GBps": 14.0, "name": "memcpy"}, "fits_cache": False, "latency_s": 1e-5, "schedule": "", "status": "PASS"}

    def fake(fusion: object, report: bench.Report) -> bench.Row:
        name = fusion.name  # type: ignore[attr-defined]
        if name == "copy_1_2":
            raise BuildError("no <such> & such")
        if name == "copy_2_1":
            return {"status": "FAIL", "reason": "result 0, element 1: 2 instead of 3", "bytes": 8}
        return dict(bench_row)

    monkeypatch.setattr(layouts.bench, "bench_program", fake)
    monkeypatch.setattr(layouts.run, "find_device", lambda *_: {"name": "it", "units": 1, "runtime": "r", "cache": 1, "memory": 1 << 30})
    monkeypatch.setattr(layouts.bench, "compiler_version", lambda: "cc")
    matrix = layouts.measure(WORDS, "opencl", bench.BenchOptions())
    assert matrix.report.status() == "FAIL"
    text, page = layouts.table(matrix), layouts.as_html(matrix)
    assert re.search(r"^\{1,0\} +7\.0 +0\.50 +refused$", text, re.M) and re.search(r"^\{0,1\} +FAIL +7\.0 +0\.50$", text, re.M), text
    assert "note: in 8 of 8 cells turns ended before the share was known so well; the worst is known within 50%" in text
    assert "REFUSED no <such> & such (copy {1,0} to {0,1})" in text
    assert "FAIL result 0, element 1: 2 instead of 3 (copy {0,1} to {1,0})" in text
    root = ElementTree.fromstring(page)
    titles = [t.text for t in root.iter(f"{SVG}title")]
    assert "copy {1,0} to {0,1}: refused, no <such> & such" in titles
    assert "copy {0,1} to {1,0}: fail, result 0, element 1: 2 instead of 3" in titles

    def refuses(fusion: object, report: bench.Report) -> bench.Row:
        raise BuildError("nothing of this")

    monkeypatch.setattr(layouts.bench, "bench_program", refuses)
    with pytest.raises(run.RunError, match="nothing of this") as raised:
        layouts.measure(WORDS, "opencl", bench.BenchOptions())
    assert raised.value.status == 2


def test_command(tmp_path: Path) -> None:
    """One command prints a table and writes the page and the JSON."""
    done = gen("bench", "--layouts", "u8[64]", "{0}", "--target", "c", "--rounds", "1", "--json", "line.json", cwd=tmp_path)
    if done.returncode == 3:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\{0\} +\d+\.\d +\d+\.\d\d$", done.stdout, re.M) and "by rows\n" in done.stdout
    assert done.stdout.endswith("wrote line.html and line.json\n") and done.stderr == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["line.html", "line.json"]
    ElementTree.parse(tmp_path / "line.html")
