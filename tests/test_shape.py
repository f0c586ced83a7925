"""Shapes with layouts: text, sizes, positions; against a model of the definition (pad, reshape, transpose by loops)."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Optional

from indexing_analysis_eval import PEER, ROOT, Index, box, read, run_as_script

from gen import algebra

HEADERS = ["sett_tile.h", "sett.h", "sett_indexing_analysis.h"]


def peer(name: str) -> list[str]:
    path = PEER / name
    if not path.exists():
        raise unittest.SkipTest(f"{name}: not beside this checkout")
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def answer(*words: str) -> str:
    status, text = algebra.run("shape", *words)
    assert status == 0, (words, text)
    return text


def ints(text: str) -> Index:
    return tuple(int(word) for word in text.split(",") if word)


# ---- text ------------------------------------------------------------------------------------------------------


def test_print_parse_peer() -> None:
    """Law 1 on every shape of upstream's tests; comments and blanks aside the text says the same."""
    rows = peer("xla_shape_literals.txt")
    for row in rows:
        text = row.split("\t")[0]
        printed, size = answer(text).split("\t")
        assert answer(printed) == f"{printed}\t{size}", text
        plain = re.sub(r"/\*.*?\*/|\s|[SEM]\(0\)|L\(1\)", "", text).replace(":}", "}")
        full = re.sub(r"/\*.*?\*/|\s|D\([^)]*\)", "", printed)
        assert re.sub(r"\{[\d,]*\}", "", plain) == re.sub(r"\{[\d,]*\}", "", full), (text, printed)
    assert len(rows) > 4000


def test_refused_peer() -> None:
    for row in peer("xla_shape_literals_bad.txt"):
        status, text = algebra.run("shape", row.split("\t")[0])
        assert status == 2 and re.match(r"error: \d+: expected ", text), (row, text)


def test_canonical() -> None:
    cases = [
        ("f32[2,3]", "f32[2,3]{1,0}", "24"), ("F32[2,3]{0,1}", "f32[2,3]{0,1}", "24"), ("f32[]", "f32[]", "4"),
        (" BF16 [ 2 ] { 0 : T( 4 ) } ", "bf16[2]{0:T(4)}", "8"), ("f32[]{:T(256)}", "f32[]{:T(256)}", "1024"),
        ("pred[7]", "pred[7]{0}", "7"),
        ("s4[10,20]{1,0:E(4)}", "s4[10,20]{1,0:E(4)}", "100"),
        ("s4[3]", "s4[3]{0}", "3"),
        ("s4[3]{0:E(4)}", "s4[3]{0:E(4)}", "2"),
        ("token[]", "token[]", "-"),
        ("opaque[]", "opaque[]", "-"),
        ("opaque_type[]", "opaque[]", "-"),
        ("()", "()", "0"),
        ("(f32[2], token[])", "(f32[2]{0}, token[])", "8"),
        ("(f32[?], s8[3])", "(f32[?]{0}, s8[3]{0})", "-"),
        ("((),((f64[])))", "((), ((f64[])))", "8"),
        ("b(f32[3])", "b(f32[3]{0})", "12"),
        ("f32[<=8,?]", "f32[<=8,?]{1,0}", "-"),
        ("f32[<=8]", "f32[<=8]{0}", "32"),
        ("f32[2]{0:L(1)E(0)S(0)M(0)}", "f32[2]{0}", "8"),
        ("f32[100]{0:L(1024)}", "f32[100]{0:L(1024)}", "4096"),
        ("f32[9]{0:T(-1,4)}", "f32[9]{0:T(*,4)}", "48"),
        ("f32[2,2]{1,0:D(D+~,C)T(2)}", "f32[2,2]{1,0:T(2)}", "16"),
        ("s32[6]{0:T(128)S(1)SC(0:3)}", "s32[6]{0:T(128)S(1)SC(0:3)}", "512"),
        ("f32[4]{0:SC(0:)}", "f32[4]{0:SC(0:)}", "16"),
        ("f32[150,200,100]{0,1,2:SC(0:30)(1:40,130)}", "f32[150,200,100]{0,1,2:SC(0:30)(1:40,130)}", str(945000 * 4)),
        ("(" + "s8[1]," * 6 + "s8[2])", "(" + ", ".join(["s8[1]{0}"] * 5) + ", /*index=5*/s8[1]{0}, s8[2]{0})", "8"),
        ("f32[0,9223372036854775807,9223372036854775807]", "f32[0,9223372036854775807,9223372036854775807]{2,1,0}", "0"),
        ("bf16[3,5]{1,0:T(2,4)(4,1)}", "bf16[3,5]{1,0:T(2,4)(4,1)}", "128"),
        ("f32[3,5]{1,0:T(2,2)}", "f32[3,5]{1,0:T(2,2)}", "96"),
        ("f32[200001,128]{1,0:T(8)L(1024)}", "f32[200001,128]{1,0:T(8)L(1024)}", "102404096"),
        ("s4[9216,6144]{1,0:T(64,128)(8,1)E(4)}", "s4[9216,6144]{1,0:T(64,128)(8,1)E(4)}", "28311552"),
        ("c128[2]// the rest\n", "c128[2]{0}", "32"), ("f8e4m3b11fnuz[3]/*x*/", "f8e4m3b11fnuz[3]{0}", "3"),
    ]
    for text, printed, size in cases:
        assert answer(text) == f"{printed}\t{size}", (text, answer(text))


def test_errors() -> None:
    """Each malformed text: the column, and words of what was expected."""
    cases = [
        ("", 1, "element type"),
        ("f33[2]", 1, "element type"),
        ("f32", 4, "'['"),
        ("f32[", 5, "a dimension"),
        ("f32[2", 6, "',' or ']'"),
        ("f32[2,]", 7, "a dimension"),
        ("f32[x]", 5, "a dimension"),
        ("f32[-1]", 5, "a dimension"),
        ("f32[<3]", 5, "a dimension"),
        ("f32[1" + "0" * 30 + "]", 5, "64 bits"), ("f32[<=9223372036854775808]", 7, "64 bits"),
        ("f32[4294967296,4294967296]", 5, "elements"),
        ("f64[4611686018427387904]", 5, "bytes"),
        ("f32[2]{0:T(9223372036854775807)}", 10, "bytes"),
        ("f32[2]{", 8, "dimension number"),
        ("f32[2]{}", 8, "dimension number"),
        ("f32[]{}", 7, "dimension number"),
        ("f32[2,3]{0}", 11, "every dimension"),
        ("f32[2]{0,1}", 10, "more entries"),
        ("f32[2,3]{1,2}", 12, "of this shape"),
        ("f32[2,3]{1,1}", 12, "once"),
        ("f32[2]{0", 9, "'}'"),
        ("f32[2]{:T(2)}", 8, "every dimension"),
        ("f32[2]{0:T}", 11, "'('"),
        ("f32[2]{0:T()}", 12, "tile dimension"),
        ("f32[2]{0:T(-2)}", 12, "tile dimension"),
        ("f32[2]{0:T(0)}", 12, "tile dimension"),
        ("f32[2]{0:T(*)}", 12, "more minor"),
        ("f32[2]{0:T(9223372036854775808)}", 12, "64 bits"),
        ("f32[2]{0:T(2}", 13, "',' or ')'"),
        ("f32[2]{0:L(0)}", 12, "positive"),
        ("f32[2]{0:L(-1)}", 12, "not negative"),
        ("f32[2]{0:E(4)L(2)}", 14, "order"),
        ("f32[2]{0:T(2)T(2)}", 14, "order"),
        ("f32[2]{0:S(128)}", 12, "memory space"),
        ("f32[2]{0:Q(1)}", 10, "order"),
        ("f32[2]{0:#(u32)}", 10, "dense"),
        ("f32[2]{0:*(u32)}", 10, "dense"),
        ("f32[2]{0:P(f32[2])}", 10, "dense"),
        ("f32[2]{0:SC(1:1)}", 13, "physical dimension"),
        ("f32[2]{0:SC(0:2)}", 15, "increasing"),
        ("f32[9]{0:SC(0:4,4)}", 17, "increasing"),
        ("f32[9]{0:SC(0:0)}", 15, "increasing"),
        ("f32[9]{0:SC(0)}", 14, "':'"),
        ("f32[9]{0:SC(0:1)(0:2)}", 18, "only once"),
        ("f32[9]{0:D(X)}", 12, "level"),
        ("(f32[2]", 8, "',' or ')'"),
        ("(f32[2],)", 9, "element type"),
        (")", 1, "element type"),
        ("f32[2])", 7, "the end"),
        ("f32[2] x", 8, "the end"),
        ("b()", 3, "array in b"),
        ("b((f32[]))", 3, "array in b"),
        ("b(token[])", 3, "array in b"),
        ("b(f32[], s8[])", 8, "')'"),
        ("token[2]", 7, "']'"),
        ("f32[2] /* x", 8, "comment"),
        ("(" * 65, 65, "64 deep"),
        ("f32[" + "1," * 24 + "1]", 53, "24 dimensions"),
        ("f32[2]{0:T(1)(1)(1)(1)(1)}", 23, "4 tiles"),
        ("f32[2]{0:E(4x)}", 12, "integer"),
        ("(f64[1152921504606846975],f64[1])", 32, "bytes"),
    ]
    for text, column, words in cases:
        status, said = algebra.run("shape", text)
        assert status == 2 and said.startswith(f"error: {column}: expected ") and words in said, (text, said)


def test_scan() -> None:
    cases = [
        ("f32[4,5]{0,1} parameter(0)", "f32[4,5]{0,1}", 13),
        ("f32[4]{x}", "f32[4]{0}", 6),
        ("(f32[2], s8[]) tuple", "(f32[2]{0}, s8[])", 14),
        ("f32[] add", "f32[]", 5),
        ("f32[2]/*a*/{0}x", "f32[2]{0}", 14),
        ("token[]{}", "token[]", 7),
        ("() x", "()", 2),
        ("f32[2]{:x", None, 8),
    ]
    for text, printed, at in cases:
        status, said = algebra.run("shape", "scan", text)
        if printed is None:
            assert status == 2 and said.startswith(f"error: {at}: "), (text, said)
        else:
            assert (status, said) == (0, f"{at}\t{printed}"), (text, said)


def test_fields_and_info() -> None:
    text = "(f32[2,3]{0,1}, (token[], u32[<=3,?]), f32[]{:T(256)}, s4[3,3]{1,0:E(4)}, b(f32[9]))"
    assert answer("fields", text).split("\n") == [
        "f32\t2,3\t0,1\t6\t24\tplain\tf32[2,3]{0,1}",
        "token\t\t\t-\t-\tplain\ttoken[]",
        "u32\t3,?\t1,0\t-\t-\tplain\tu32[<=3,?]{1,0}",
        "f32\t\t\t1\t1024\ttiled\tf32[]{:T(256)}",
        "s4\t3,3\t1,0\t9\t5\ttiled\ts4[3,3]{1,0:E(4)}",
        "f32\t9\t0\t9\t36\tplain\tb(f32[9]{0})",
    ]
    assert answer("fields", "()") == ""
    info = dict(line.split(" ", 1) for line in answer("info", "f32[3,5]{1,0:T(2,2)}").split("\n"))
    assert info == {"shape": "f32[3,5]{1,0:T(2,2)}", "logical": "3,5", "physical": "2,3,2,2", "tiles": "(2,2)",
                    "elements": "15", "positions": "24", "bits": "32", "bytes": "96", "padding": "37.50%"}
    refused = ["info token[]", "info f32[?]", "info (f32[])", "index f32[2] 2", "index f32[2] 0,0", "index f32[2] x",
               "index f32[] 0", "element f32[2] 2", "element f32[2] -1", "element f32[2] ", "index f32[4]{0:SC(0:1)} 1",
               "map f32[?]", "unmap opaque[]", "nothing f32[]", "index f32[2]", "fields f32[2"]
    for words in refused:
        status, said = algebra.run("shape", *words.split(" "))
        assert status == 2 and said.startswith("error: "), (words, said)
    assert algebra.run("shape", "index", "f32[]", "") == (0, "0")


# ---- positions -------------------------------------------------------------------------------------------------


def count(dims: list[int]) -> int:
    product = 1
    for d in dims:
        product *= d
    return product


def transpose(cells: list, dims: list[int], order: list[int]) -> tuple[list, list[int]]:
    """An array stored row-major in another order of its dimensions, by loops."""
    strides = [count(dims[k + 1 :]) for k in range(len(dims))]
    new = [dims[k] for k in order]
    return [cells[sum(i * strides[k] for i, k in zip(index, order))] for index in box(tuple(new))], new


def pad(cells: list, dims: list[int], new: list[int]) -> list:
    strides = [count(dims[k + 1 :]) for k in range(len(dims))]
    return [cells[sum(i * s for i, s in zip(index, strides))] if all(i < d for i, d in zip(index, dims)) else None
            for index in box(tuple(new))]


def model(dims: Index, minor_to_major: Index, tiles: list[list[Optional[int]]], tail: int) -> tuple[list, list[int]]:
    """What stands at each position: an index, or None for padding. Pad, reshape, transpose; nothing of the header."""
    cells: list = list(box(dims))
    cells, shape = transpose(cells, list(dims), list(reversed(minor_to_major)))
    for tile in tiles:
        shape = [1] * max(0, len(tile) - len(shape)) + shape
        front, rest = shape[: len(shape) - len(tile)], shape[len(shape) - len(tile) :]
        merged, sizes, product = [], [], 1
        for d, t in zip(rest, tile):  # reshape: * merges a dimension into the next
            product *= d
            if t is not None:
                merged.append(product)
                sizes.append(t)
                product = 1
        full = [-(-d // t) * t for d, t in zip(merged, sizes)]
        cells = pad(cells, front + merged, front + full)
        shape = list(front)
        for d, t in zip(full, sizes):  # reshape: each dimension becomes tiles and a place in the tile
            shape += [d // t, t]
        n, k = len(front), len(sizes)
        order = list(range(n)) + [n + 2 * i for i in range(k)] + [n + 2 * i + 1 for i in range(k)]
        cells, shape = transpose(cells, shape, order)
    return cells + [None] * (-len(cells) % max(tail, 1)), shape


def random_layout(rng: random.Random) -> tuple[str, Index, Index, list[list[Optional[int]]], int]:
    """A small shape with up to three tiles, * among them."""
    while True:
        rank = rng.randint(0, 4)
        dims = tuple(rng.choice([rng.randint(0, 9), rng.randint(1, 9), rng.randint(1, 4), 1]) for _ in range(rank))
        order = tuple(rng.sample(range(rank), rank))
        tiles: list[list[Optional[int]]] = []
        for _ in range(rng.choice([0, 1, 1, 2, 2, 3])):
            k = rng.randint(1, 3)
            sizes = [1, 2, 2, 3, 4, 5, 8]
            tile: list[Optional[int]] = [None if rng.random() < 0.2 else rng.choice(sizes) for _ in range(k)]
            if tile[-1] is None:
                tile[-1] = 2
            tiles.append(tile)
        tail = rng.choice([1, 1, 1, 5])
        bound = count([max(d, 1) for d in dims])
        for tile in tiles:
            bound *= 2
        if bound > 3000:
            continue
        layout = ",".join(map(str, order)) + (":" if tiles or tail > 1 else "")
        if tiles:
            layout += "T" + "".join("(" + ",".join("*" if t is None else str(t) for t in tile) + ")" for tile in tiles)
        if tail > 1:
            layout += f"L({tail})"
        return f"f32[{','.join(map(str, dims))}]" + ("{" + layout + "}" if layout else ""), dims, order, tiles, tail


def test_positions() -> None:
    """Laws 2 to 5 on a thousand random layouts, every index and every position."""
    rng = random.Random(11)
    positions = tiled = 0
    for _ in range(1000):
        text, dims, order, tiles, tail = random_layout(rng)
        cells, physical = model(dims, order, tiles, tail)
        if len(cells) > 4000:
            continue
        for at, index in enumerate(cells):
            expected = "padding" if index is None else ",".join(map(str, index))
            assert answer("element", text, str(at)) == expected, (text, at, expected)
            if index is not None:
                assert answer("index", text, ",".join(map(str, index))) == str(at), (text, index, at)
        assert len([c for c in cells if c is not None]) == count(list(dims))
        assert algebra.run("shape", "element", text, str(len(cells)))[0] == 2, text
        info = dict(line.partition(" ")[::2] for line in answer("info", text).split("\n"))
        assert ints(info["physical"]) == tuple(physical), (text, info, physical)
        assert int(info["positions"]) == len(cells) and int(info["bytes"]) == 4 * len(cells), (text, info)
        positions += len(cells)
        tiled += bool(tiles)
    assert positions > 50000 and tiled > 600, (positions, tiled)


def test_maps_agree() -> None:
    """The layout as a map and its inverse: the model's positions, and its padding outside the domain."""
    rng = random.Random(12)
    checked = 0
    for _ in range(800):
        text, dims, order, tiles, tail = random_layout(rng)
        cells, _ = model(dims, order, tiles, tail)
        if len(cells) > 1500:
            continue
        forward, backward = read(answer("map", text)), read(answer("unmap", text))
        if not count(list(dims)):
            assert forward.empty and backward.empty, text
            continue
        for at, index in enumerate(cells):
            expected = [] if index is None else [index]
            assert list(backward.at((at,))) == expected, (text, at, index, answer("unmap", text))
            if index is not None:
                assert list(forward.at(index)) == [(at,)], (text, index, at, answer("map", text))
        checked += 1
    assert checked > 500, checked


def test_peer_numbers() -> None:
    """Upstream's numbers. Where its answer counts the first tile only, ours is the exact footprint: listed in exact."""
    exact = {}  # (kind, shape): exact bytes where upstream's differ
    seen = 0
    for row in peer("xla_layout_numeric.tsv"):
        kind, arguments, expected, *_ = row.split("\t")
        shape, _, rest = (part.strip() for part in arguments.partition("|"))
        if kind in ("linear_index_nested", "linear_index_untiled"):
            assert answer("index", shape, rest) == expected, row
        elif kind in ("delinearize_nested", "multi_index_untiled"):
            assert answer("element", shape, rest) == expected, row
        elif kind == "roundtrip_untiled":
            assert answer("index", shape, answer("element", shape, rest)) == expected, row
        elif kind == "linear_index_grid":
            rows = [[int(word) for word in line.split(",")] for line in expected.split(";")]
            for i, line in enumerate(rows):
                assert [int(answer("index", shape, f"{i},{j}")) for j in range(len(line))] == line, row
        elif kind == "combined_dims":
            assert answer("info", shape).split("\n")[2] == "physical 56,37,2,3" and expected == "112,110", row
        elif kind in ("array_size", "byte_size_of"):
            assert answer(shape).split("\t")[1] == exact.get((kind, shape), expected), row
        elif kind == "array_data_size":
            assert int(answer(shape).split("\t")[1]) >= int(expected), row
        else:
            continue
        seen += 1
    assert seen > 50, seen


# ---- the headers themselves ------------------------------------------------------------------------------------


def compilers() -> list[tuple[str, str]]:
    found = [(c, cxx) for c, cxx in (("gcc", "g++"), ("clang", "clang++")) if shutil.which(c) and shutil.which(cxx)]
    if not found:
        raise unittest.SkipTest("no gcc or clang with its C++ compiler")
    return found


WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def test_headers_compile() -> None:
    """Each header alone, C11 and C++17, freestanding, without a warning; and its bodies, in the command."""
    with tempfile.TemporaryDirectory() as folder:
        for header in HEADERS:
            before = '#include "sett_indexing_map.h"\n' if header == "sett_indexing_analysis.h" else ""
            source = Path(folder) / "one.c"
            source.write_text(f'{before}#include "{header}"\nint one;\n')
            for c, cxx in compilers():
                include = f"-I{ROOT / 'include'}"
                out = [include, "-c", str(source), "-o", os.devnull]
                run(c, "-std=c11", "-Wstrict-prototypes", *WARNINGS, "-ffreestanding", *out)
                run(cxx, "-x", "c++", "-std=c++17", *WARNINGS, *out)
    for c, _ in compilers():
        run(c, "-std=c11", "-O2", "-Wstrict-prototypes", *WARNINGS, str(ROOT / "gen" / "sett.c"), "-c", "-o", os.devnull)


def test_first_look() -> None:
    """The first program in each header's manual prints what the manual says."""
    for header in ["sett_tile.h", "sett_indexing_analysis.h", "sett.h"]:
        text = (ROOT / "include" / header).read_text()
        found = re.search(r"\nA FIRST LOOK\n(.*?)\n  prints\n(.*?)\n\n", text, re.S)
        assert found, header
        program, expected = ("\n".join(line[4:] for line in part.split("\n")) for part in found.groups())
        with tempfile.TemporaryDirectory() as folder:
            source, binary = Path(folder) / "look.c", str(Path(folder) / "look")
            source.write_text(program + "\n")
            run(compilers()[0][0], "-std=c11", *WARNINGS, f"-I{ROOT / 'include'}", str(source), "-o", binary)
            assert run(binary).rstrip("\n") == expected, header


def test_fuzz() -> None:
    """A second of random texts under sanitizers."""
    with tempfile.TemporaryDirectory() as folder:
        binary = str(Path(folder) / "fuzz")
        run(compilers()[0][0], "-std=c11", "-g", "-O1", "-Wstrict-prototypes", *WARNINGS, "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all", str(ROOT / "tests" / "tile_fuzz.c"), "-o", binary)
        assert "PASS" in run(binary, "1", "7")


if __name__ == "__main__":
    sys.exit(run_as_script(globals()))
