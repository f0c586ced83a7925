"""Test shapes with layouts (text, sizes, positions) against a model of the definition that pads, reshapes and transposes
arrays by loops.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Optional

from indexing_analysis_eval import PEER, ROOT, Index, box, read

import pytest

from gen import algebra



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
    """Law 1: every shape in XLA's tests parses, and prints as the same text apart from comments and blanks."""
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
    """The error of a malformed text has the column, and words about what was expected."""
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
    """Transpose an array that is stored row-major. Return its cells and sizes."""
    strides = [count(dims[k + 1 :]) for k in range(len(dims))]
    new = [dims[k] for k in order]
    return [cells[sum(i * strides[k] for i, k in zip(index, order))] for index in box(tuple(new))], new


def pad(cells: list, dims: list[int], new: list[int]) -> list:
    strides = [count(dims[k + 1 :]) for k in range(len(dims))]
    return [cells[sum(i * s for i, s in zip(index, strides))] if all(i < d for i, d in zip(index, dims)) else None
            for index in box(tuple(new))]


def model(dims: Index, minor_to_major: Index, tiles: list[list[Optional[int]]], tail: int) -> tuple[list, list[int]]:
    """Return the index of the element at each position (None for padding), by padding, reshaping and transposing as the
    definition says.
    """
    cells: list = list(box(dims))
    cells, shape = transpose(cells, list(dims), list(reversed(minor_to_major)))
    for tile in tiles:
        shape = [1] * max(0, len(tile) - len(shape)) + shape
        front, rest = shape[: len(shape) - len(tile)], shape[len(shape) - len(tile) :]
        merged, sizes, product = [], [], 1
        for d, t in zip(rest, tile):  # in a tile, * merges a dimension with the next one
            product *= d
            if t is not None:
                merged.append(product)
                sizes.append(t)
                product = 1
        full = [-(-d // t) * t for d, t in zip(merged, sizes)]
        cells = pad(cells, front + merged, front + full)
        shape = list(front)
        for d, t in zip(full, sizes):  # split each dimension into the number of tiles and the index within a tile
            shape += [d // t, t]
        n, k = len(front), len(sizes)
        order = list(range(n)) + [n + 2 * i for i in range(k)] + [n + 2 * i + 1 for i in range(k)]
        cells, shape = transpose(cells, shape, order)
    return cells + [None] * (-len(cells) % max(tail, 1)), shape


def random_layout(rng: random.Random) -> tuple[str, Index, Index, list[list[Optional[int]]], int]:
    """Return a small random shape with up to three tiles. Some tiles contain *."""
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
    """Laws 2 to 5 of sett_tile.h hold for every index and position of random layouts. The answers come from the
    command; tests/layouts/tile_test.c calls the functions directly, for thousands of layouts.
    """
    rng = random.Random(11)
    positions = tiled = 0
    for _ in range(200):
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
    assert positions > 10000 and tiled > 120, (positions, tiled)


def test_maps_agree() -> None:
    """The layout's map gives the model's positions, and the inverse map gives the indices. Padding is outside the
    inverse's domain.
    """
    rng = random.Random(12)
    checked = 0
    for _ in range(300):
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
    assert checked > 180, checked


def said(*words: str) -> str:
    """Return the answer whatever the exit status. A "no" is returned without its reason."""
    return re.sub(r"^no: .*", "no", algebra.run("shape", *words)[1], flags=re.S)


def peer_answer(kind: str, shape: str, rest: str) -> Optional[str]:
    """Ask `sett` the question of a row in the table of XLA's results. Return the answer in the form of that table."""
    if kind in ("linear_index_nested", "linear_index_untiled"):
        return answer("index", shape, rest)
    if kind in ("delinearize_nested", "multi_index_untiled"):
        return answer("element", shape, rest)
    if kind == "roundtrip_untiled":
        return answer("index", shape, answer("element", shape, rest))
    if kind == "linear_index_grid":
        height, width = ints(re.search(r"\[(.*?)\]", shape).group(1))
        return ";".join(",".join(answer("index", shape, f"{i},{j}") for j in range(width)) for i in range(height))
    if kind == "combined_dims":
        return answer("steps", shape).split("\n")[1].split(" ")[1]
    if kind in ("array_size", "byte_size_of"):
        return answer(shape).split("\t")[1]
    if kind == "array_data_size":
        return str(int(answer("data", shape)))
    if kind in ("reshape_is_bitcast", "transpose_is_bitcast", "deduce_transpose", "decompose_bitcast", "reshape_is_bitcast_ignoring_type"):
        one, other = (part.strip() for part in shape.split("->"))
        if kind == "reshape_is_bitcast":
            return said("bitcast", one, other)
        if kind == "reshape_is_bitcast_ignoring_type":
            return said("bitcast", one, one.split("[")[0] + "[" + other.split("[", 1)[1])
        if kind == "transpose_is_bitcast":
            return said("transpose", one, other, rest)
        if kind == "deduce_transpose":
            return said("transpose", one, other).replace("no", "none")
        parts = said("decompose", one, other).split("\n")
        if len(parts) == 3:
            first, middle, last = (line.split(" ") for line in parts)
            return f"trt transpose1=[{first[1].replace(',', ', ')}] {first[2]} reshape={middle[1]} transpose2=[{last[1].replace(',', ', ')}]"
        word = parts[0].split(" ")
        return {"no": "none", "reshape": "reshape"}.get(word[0], "transpose " + "".join(word[1:2]))
    if kind == "align_layouts":
        one, dims = (part.strip() for part in shape.split("->"))
        found = said("align", one, dims.strip("[]"))
        return "none" if found == "no" else re.search(r"\{([\d,]*)", found).group(1)
    if kind in ("permute_dimensions_keeps_bytes", "reorder_logical_dimensions"):
        turned = answer("permute", shape, rest)
        assert said("transpose", shape, turned, rest) == "yes"
        return turned
    if kind == "descending_same_physical":
        return answer("descending", shape)
    if kind == "delete_dimensions":
        return answer("delete", shape, rest)
    if kind == "layout_delete_dimension":
        rank = len(ints(re.search(r"[\d,]+", shape).group()))
        return "{" + answer("delete", f"f32[{','.join(['99'] * rank)}]{shape}", rest).partition("{")[2]
    if kind in ("move_dim_to_major", "move_dim_to_minor"):
        rank = len(ints(shape.strip("{}")))
        place = rank - 1 if kind == "move_dim_to_major" else 0
        return answer("move", f"f32[{','.join(['9'] * rank)}]{shape}", f"{rest},{place}").partition("{")[2][:-1]
    if kind in ("byte_strides", "unpacked_byte_strides"):
        if kind == "byte_strides":
            return said("strides", shape).replace("no", "none")
        bits = int(re.search(r"E\((\d+)\)", shape).group(1))
        return answer("strides", shape.replace(f"E({bits})", f"E({-(-bits // 8) * 8})"))
    if kind == "byte_strides_is_major_to_minor":
        dense, given = shape.split(" strides=")
        return "yes" if answer("strides", dense) == given else "no"
    if kind == "is_untiled_layout":
        dims, tile = shape.split(" ")
        return said("untiled", f"f32{dims}{{{','.join(map(str, reversed(range(dims.count(',') + 1))))}:{tile}}}")
    if kind == "max_split_size":
        return answer("parts", shape).split("\t")[1].split("[")[1].split("]")[0].split(",")[int(rest)]
    if kind == "max_elements_per_split":
        return answer("fields", answer("parts", shape).split("\t")[1]).split("\t")[3]
    if kind == "is_effectively_most_major":
        return said("major", shape, rest)
    if kind == "dimensions_unmodified_by_reshape":
        return answer("kept", *re.findall(r"\[(.*?)\]", shape))
    if kind == "normalized_logical_transpose":
        found = re.fullmatch(r"in=\[(.*)\] out=\[(.*)\] dims=(.*)", shape)
        if not found:  # `normal` takes only dimensions, so it cannot answer for arrays that are not row-major
            return None
        dims, out, order = found.groups()
        if [ints(dims)[d] for d in ints(order)] != list(ints(out)):
            return None  # no transpose: the permutation does not give the sizes of the result
        return answer("normal", dims, order).replace("\t", " perm=")
    raise AssertionError(f"unknown kind of row: {kind}")


# Rows where XLA's answer is not exact, with the exact answer. XLA's bitcasts look only at minor_to_major, and XLA's
# sizes only at the first tile. XLA may also put dimensions of size 1 anywhere.
EXACT = {
    ("array_size", "bf16[3,5]{1,0:T(2,4)(4,1)}"): "128",  # XLA gives 64, which leaves out the padding of the inner tile
    ("array_size", "f32[100]{0:L(1024)}"): "4096",  # XLA gives 400, because it ignores L without tiles
    ("array_data_size", "bf16[3,5]{1,0:T(2,4)(4,1)}"): "98",  # XLA looks only at the first tile
    ("byte_size_of", "f32[3,5]{1,0:T(2,2)}"): "96",  # XLA gives 60, the elements without padding
}


def test_peer_numbers() -> None:
    """`sett` agrees with every row of XLA's numbers, except for the rows in EXACT."""
    seen: dict[str, int] = {}
    for row in peer("xla_layout_numeric.tsv"):
        kind, arguments, expected, *_ = row.split("\t")
        shape, _, rest = (part.strip() for part in arguments.partition("|"))
        found = peer_answer(kind, shape, rest)
        if found is not None:
            assert found == EXACT.get((kind, shape), expected), (row, found)
        seen[kind] = seen.get(kind, 0) + 1
    assert sum(seen.values()) > 100 and len(seen) > 25, seen
    for (kind, shape), exact in EXACT.items():
        assert peer_answer(kind, shape, "") == exact, (kind, shape)


def test_same_bytes() -> None:
    """Bitcasts between tiled arrays get the right answer. XLA looks only at minor_to_major. Where XLA's answer differs,
    a comment in brackets states it.
    """
    cases = [
        ("f32[8,256]{1,0:T(8,128)}", "f32[2048]{0:T(1024)}", "element 257 (row-major) is at position 129"),  # [yes]
        ("f32[12,128]{1,0:T(8,128)}", "f32[2,6,128]{2,1,0:T(8,128)}", "element 769 (row-major)"),  # [yes]
        ("f32[8,256]{1,0:T(8,128)}", "f32[8,2,128]{2,0,1:T(8,128)}", ""),  # [no]
        ("f32[16,128]{1,0:T(8,128)}", "f32[2,8,128]{2,1,0:T(8,128)}", ""),
        ("f32[24,128]{1,0:T(8,128)}", "f32[24,128]{1,0}", ""),
        ("f32[3,4]{1,0}", "f32[6,2]{1,0}", ""),
        ("f32[3,4]{0,1}", "f32[6,2]{1,0}", "element 1 (row-major) is at position 3 in the first and 1 in the second"),
        ("f32[3,4]", "f32[13]", "12 and 13 elements"),
        ("f32[6]", "s32[2,3]", ""),
        ("f32[6]", "f64[6]", "elements of 32 and 64 bits"),
        ("s4[6]", "s4[6]{0:E(4)}", "elements of 8 and 4 bits"),
        ("f32[6]", "f32[6]{0:S(1)}", "memory spaces 0 and 1"),
        ("f32[6]", "f32[6]{0:M(64)}", "0 and 64 bytes of dynamic sizes in front"),
        ("f32[100]", "f32[100]{0:L(1024)}", "400 and 4096 bytes of memory"),
        ("f32[6]", "f32[6]{0:SC(0:3)}", "split into 1 and 2 parts"),
        ("f32[6]{0:SC(0:3)}", "f32[6]{0:SC(0:2)}", "12 and 16 bytes"),
        ("u4[3]{0:E(4)}", "u4[3]{0:T(2)E(4)}", ""),  # 12 and 16 bits, both stored in 2 bytes
        ("u4[3]{0:E(4)}", "u4[3]{0:L(4)E(4)}", ""),
        ("u4[3]{0:E(4)}", "u4[3]{0:T(5)E(4)}", "2 and 3 bytes"),
        ("u4[4]{0:E(4)}", "u4[4]{0:T(6)E(4)}", "2 and 3 bytes"),
        ("u4[3]", "u4[3]{0:T(2)}", "3 and 4 bytes"),
        ("u1[5]{0:E(1)}", "u1[5]{0:T(8)E(1)}", ""),
        ("u2[3,1]{1,0:E(2)}", "u2[3]{0:T(2)E(2)}", ""),
        ("u2[2,2]{1,0:E(2)}", "u2[2,2]{0,1:E(2)}", "element 1 (row-major) is at position 1 in the first and 2 in the second"),
        ("f32[6,1]{1,0:SC(0:3)}", "f32[6]{0:SC(0:3)}", ""),
        ("f32[<=6]", "f32[6]", ""),
        ("f32[0,3]{1,0:T(2,2)}", "f32[5,0]", ""),
        ("b(f32[2,3])", "f32[6]", ""),
        ("bf16[1099511627776,1024]{1,0:T(8,128)(2,1)}", "bf16[137438953472,8,1024]{2,1,0:T(8,128)(2,1)}", ""),
        ("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", "f32[112,110]{1,0:T(2,3)}", ""),
        ("f32[2,7,8,11,10]{4,3,2,0,1:T(*,*,2,*,3)}", "f32[112,110]{1,0:T(2,3)}", "element"),
    ]
    for a, b, reason in cases:
        for one, other in ((a, b), (b, a)):
            status, text = algebra.run("shape", "bitcast", one, other)
            assert status == bool(reason) and text.startswith("no: " if reason else "yes"), (one, other, text)
        assert reason in algebra.run("shape", "bitcast", a, b)[1], (a, b, algebra.run("shape", "bitcast", a, b))
    for a, b in (("token[]", "f32[]"), ("f32[?]", "f32[2]"), ("f32[2]", "(f32[2])"), ("f32[2", "f32[2]"), ("f32[2]", "")):
        status, text = algebra.run("shape", "bitcast", a, b)
        assert status == 2 and text.startswith("error: "), (a, b, text)


def test_bitcast_as_a_transpose() -> None:
    """If a bitcast is not possible, the answer says whether it is possible after a transpose of the dimensions, and
    after which transpose.
    """
    for a, b, expected in (
            ("bf16[70,300]{1,0:T(8,128)(2,1)}", "bf16[300,70]{0,1:T(8,128)(2,1)}", "no: element 1 (row-major) is at position 2 in the first and 1 in the second; as a transpose by 1,0: yes"),
            ("f32[2,3,5]{2,1,0}", "f32[5,2,3]{0,2,1}", "no: element 1 (row-major) is at position 1 in the first and 5 in the second; as a transpose by 2,0,1: yes"),
            ("f32[4,6]{1,0}", "f32[6,4]{1,0}", "yes"), ("f32[4,6]{1,0}", "f32[6,4,1]{0,1,2}", "no: element 1 (row-major) is at position 1 in the first and 6 in the second"),
            ("f32[4,6]{1,0:T(2,2)}", "f32[6,4]{1,0:T(2,2)}", "no: element 13 (row-major) is at position 13 in the first and 11 in the second")):
        status, text = algebra.run("shape", "bitcast", a, b)
        assert (status, text) == (int(expected != "yes"), expected)
        found = re.search(r"as a transpose by (\S+): yes", text)
        if found:
            assert answer("transpose", a, b) == found[1]
        elif status:
            assert algebra.run("shape", "transpose", a, b)[0] == 1


def test_outside() -> None:
    """The error for an index outside the array names the range of the dimension, and has the column of the index."""
    for words, expected in (
            ("index f32[70,300] 70,0", "1: expected 0 <= index < 70 in dimension 0"), ("index f32[70,300] 3,300", "3: expected 0 <= index < 300 in dimension 1"),
            ("bits f32[70,300] 69,-1", "4: expected 0 <= index < 300 in dimension 1"), ("index f32[3,0] 2,0", "3: expected 0 <= index < 0 in dimension 1"),
            ("parts f32[9,4]{1,0:SC(0:2,5)} 2,4", "3: expected 0 <= index < 4 in dimension 1"), ("element f32[3,5] 15", "1: expected 0 <= position < 15")):
        status, text = algebra.run("shape", *words.split())
        assert status == 2 and text.startswith(f"error: {expected}, found "), text


def test_bits_strides_parts_formats() -> None:
    assert answer("bits", "s4[3,5]{1,0:E(4)}", "2,1") == "byte 5, bits 4..7"
    assert answer("bits", "s4[3,5]{1,0}", "2,1") == "byte 11, bits 0..7"
    assert answer("bits", "u2[9]{0:E(2)}", "6") == "byte 1, bits 4..5"
    assert answer("strides", "f32[3,5,7]{0,2,1}") == "4,84,12"
    assert answer("strides", "f32[5,100]{1,0:T(8,128)}") == "512,4"
    assert said("strides", "f32[9,100]{1,0:T(8,128)}") == "512,4"
    strides = [
        ("f32[9,200]{1,0:T(8,128)}", "no: strides 128,1 would put [0,128] at position 128; it is at position 1024"),
        ("u8[6]{0:T(2)(*,3)}", "1"), ("u8[5]{0:T(3)(*,4)}", "1"), ("u8[2,3]{1,0:T(2,3)(*,4)}", "3,1"), ("u8[2,2,2]{2,1,0:T(4,2)(*,*,*,3,1)}", "7,1,3"),
        ("u8[7,5]{1,0:T(4,3)(*,2)(2,1)}", "no: strides 3,2 would put [0,2] at position 4; it is at position 1"),
        ("u4[4]{0:E(4)}", "no: elements of 4 bits, not of whole bytes"), ("s8[2,3]{1,0:E(16)}", "6,2"), ("f32[0,3]{1,0:T(2,2)}", "12,4"),
    ]
    for shape, expected in strides:
        assert algebra.run("shape", "strides", shape) == (expected.startswith("no"), expected), shape
    status, text = algebra.run("shape", "strides", "f32[4]{0:SC(0:2)}")
    assert status == 2 and "not split" in text, text
    assert answer("parts", "f32[9,4]{1,0:SC(0:2,5)}") == "3\tf32[4,4]{1,0}"
    assert answer("parts", "f32[9,4]{1,0:SC(0:2,5)}", "5,3") == "2\t0,3"
    rows = [line.split("\t") for line in answer("formats", "f32[3,200]").split("\n")]
    assert [row[0] + row[1] for row in rows] == ["linear", "large 8x128", "*small 4x128", "small 2x128"]
    assert rows[2][2:] == ["f32[3,200]{1,0:T(4,128)}", "4096", "41.41%"]
    assert [line.split("\t")[2] for line in answer("formats", "bf16[16,128]").split("\n")] == ["bf16[16,128]{1,0}", "bf16[16,128]{1,0:T(8,128)(2,1)}"]
    assert answer("formats", "s8[9,9]{0,1}").split("\n")[1] == "*\t8-bit 8x128\ts8[9,9]{0,1:T(8,128)(4,1)}\t2048\t96.04%"
    assert answer("formats", "pred[64,128]").split("\n")[2] == "\t1-bit 32x128\tpred[64,128]{1,0:T(32,128)(32,1)E(1)}\t1024\t0.00%"
    packed = answer("formats", "s4[9,200]{1,0:E(4)S(1)}").split("\n")  # there are no tiles for 4 bits; attributes that do not belong to the format are kept
    assert packed == ["\tlinear\ts4[9,200]{1,0:E(4)S(1)}\t900\t0.00%"], packed
    assert answer("formats", "b(f32[9,4]{1,0:T(2)SC(0:6)M(8)})").split("\n")[1] == "*\tlarge 8x128\tb(f32[9,4]{1,0:T(8,128)SC(0:6)M(8)})\t4096\t97.66%"
    for dims, chosen in (("1,9", "2,128"), ("2,9", "2,128"), ("3,9", "4,128"), ("4,9", "4,128"), ("5,9", "8,128"), ("9", "2,128")):
        row = [line for line in answer("formats", f"s32[{dims}]").split("\n") if line.startswith("*")]
        assert len(row) == 1 and f"T({chosen})" in row[0], (dims, row)
    assert answer("steps", "f32[3,5]{1,0:T(2,2)}").split("\n") == [
        "physical 3,5", "combine 3,5", "pad 4,6", "reshape 2,2,3,2", "transpose 2,3,2,2"]


def transposed(sizes: "list[int]", order: "list[int]") -> "tuple[list[int], list[int]]":
    """Return a transpose in normal form: sizes of 1 are dropped, and dimensions that stay neighbours are merged.
    order[i] is the dimension at output position i, outermost first.
    """
    order = [d for d in order if sizes[d] != 1]
    kept = sorted(order)
    runs: "list[list[int]]" = []
    for d in order:
        if runs and kept.index(runs[-1][-1]) + 1 == kept.index(d):
            runs[-1].append(d)
        else:
            runs.append([d])
    ranks = sorted(range(len(runs)), key=lambda i: runs[i][0])
    return [math.prod(sizes[d] for d in run) for run in runs], [ranks.index(i) for i in range(len(runs))]


def test_orders_of_formats() -> None:
    """`formats --orders` has a row for each choice of the two most minor dimensions, with the cheapest format. The rows
    with the fewest bytes come first. Each row equals the answer of `formats` for an array with this order of
    dimensions. The row also states the transpose into this order, and the bytes that the transpose reads and writes.
    """
    rng, moves = random.Random(5), 0
    for _ in range(40):
        kind, rank = rng.choice(["f32", "bf16", "s8"]), rng.randint(1, 4)
        dims = [rng.choice([1, 2, 3, 4, 5, 9, 33, 128, 200]) for _ in range(rank)]
        given = rng.sample(range(rank), rank)  # the order of dimensions, minor to major
        text = f"{kind}[{','.join(map(str, dims))}]"
        rows = [line.split("\t") for line in answer("formats", f"{text}{{{','.join(map(str, given))}}}", "--orders").split("\n")]
        summary = rows.pop()[0]
        chosen = {}
        for order in itertools.permutations(range(rank)):
            for line in answer("formats", f"{text}{{{','.join(map(str, order))}}}").split("\n"):
                if line.startswith("*"):
                    chosen[order] = line.split("\t")[1:]
        assert len(rows) == max(rank * (rank - 1), 1) and [row[0] for row in rows] == ["*", *[""] * (len(rows) - 1)]
        sizes = [int(row[3]) for row in rows]
        assert sizes == sorted(sizes) and sizes[0] == min(int(size) for _, _, size, _ in chosen.values())
        assert len({re.search(r"\{([\d,]+)", row[2])[1][:3] for row in rows}) == len(rows)
        least = math.prod(dims) * {"f32": 4, "bf16": 2, "s8": 1}[kind]
        for row in rows:
            order = tuple(map(int, re.search(r"\{([\d,]+)", row[2])[1].split(",")))
            assert row[1:5] == chosen[order]
            assert [d for d in given if d not in order[:2]] == list(order[2:])
            outer = given[::-1]
            to, by = transposed([dims[d] for d in outer], [outer.index(d) for d in reversed(order)])
            way = f"a transpose to {','.join(map(str, to))} by {','.join(map(str, by))}" if by != sorted(by) else "a copy in order"
            assert row[5] == f"{way}: reads {least}, writes {row[3]}", (text, given, row)
        mine = chosen[tuple(given)]
        saved = int(mine[2]) - sizes[0]
        moves += saved > 0
        assert summary == (f"least padding {rows[0][4]}, in the given order too" if not saved else
                           f"least padding {rows[0][4]}, in the given order {mine[3]}: each pass over the array moves {saved} bytes less, the way there "
                           f"{least + sizes[0]}, which {(n := -(-(least + sizes[0]) // saved))} pass{'es save' if n > 1 else ' saves'}"), (text, given, summary)
    assert moves > 10
    assert answer("formats", "f32[9,4]{1,0:T(8,128)}", "--orders").split("\n")[1].endswith("\tnothing moves")
    for shape, said in (("s4[9,200]{1,0:E(4)}", "expected elements of 8, 16 or 32 bits"), ("f32[9,4]{1,0:SC(0:6)}", "expected an array in one part")):
        status, text = algebra.run("shape", "formats", "--orders", shape)
        assert status == 2 and said in text


def test_split_transposes() -> None:
    """In split arrays, a transpose must also leave each element in the same part."""
    one, other = "f32[2,2]{1,0:SC(0:1)}", "f32[2,2]{0,1:SC(0:1)}"
    assert said("bitcast", one, other) == "no"
    assert answer("transpose", one, other) == "1,0" and said("transpose", one, other, "0,1") == "no"
    assert answer("decompose", one, other) == "transpose 1,0 f32[2,2]{0,1:SC(0:1)}"
    status, text = algebra.run("shape", "align", one, "4")
    assert status == 2 and "not split" in text, text


def test_verbs_without_words() -> None:
    """A verb without arguments gets a message about its arguments; it is not read as a shape."""
    for verb in ("info", "map", "unmap", "fields", "scan", "formats", "steps", "strides", "data", "untiled", "descending", "index", "bits",
                 "element", "bitcast", "decompose", "transpose", "align", "permute", "delete", "move", "major", "normal", "kept", "parts", "tile", "cut"):
        status, text = algebra.run("shape", verb)
        assert status == 2 and text.startswith(f"error: expected: shape {verb} ") and "element type" not in text, (verb, text)


def test_first_tile_and_cuts() -> None:
    """`shape tile` gives, for each dimension, the multiple at which a cut may begin. `shape cut` gives the layout of a
    part that is cut out: tiles that fit stay, larger tiles shrink, and padding from L(..) is removed.
    """
    for shape, by in [("f32[6,170,160]{2,1,0:T(8,128)}", "1,8,128"), ("f32[170,160,6]{0,2,1:T(8,128)(2,1)}", "128,1,8"), ("f32[18]{0:T(4)}", "4"),
                      ("f32[9,5]{1,0:T(4,2,2)}", "1,1"), ("f32[9,5]{1,0:T(*,4)}", "1,1"), ("f32[9,5]{1,0:T(2,4)(*,2)}", "1,1"), ("f32[9,5]{0,1}", "1,1"), ("f32[]", "")]:
        assert answer("tile", shape) == by, shape
    for shape, dims, wanted in [("f32[170,160]{1,0:T(8,128)L(512)S(1)}", "6,160", "f32[6,160]{1,0:T(6,128)S(1)}"), ("f32[170,160]{0,1:T(8,128)}", "160,6", "f32[160,6]{0,1:T(6,128)}"),
                                ("bf16[170,160]{1,0:T(8,128)(2,1)}", "16,256", "bf16[16,256]{1,0:T(8,128)(2,1)}"), ("f32[<=9,5]{1,0:T(2,4)}", "1,1", "f32[1,1]{1,0:T(1,1)}"),
                                ("f32[9,5]{1,0:T(*,4)}", "2,2", "f32[2,2]{1,0:T(*,4)}"), ("f32[9,5]{0,1}", "3,2", "f32[3,2]{0,1}")]:
        assert answer("cut", shape, dims) == wanted, shape
    for dims in ("3", "3,0", "3,-1", "3,4,5", "x", "9223372036854775807,9223372036854775807"):
        assert algebra.run("shape", "cut", "f32[9,5]{1,0:T(2,4)}", dims)[0] == 2, dims
    assert algebra.run("shape", "cut", "f32[?,5]", "3,4")[0] == 2 and algebra.run("shape", "tile", "token[]")[0] == 2


def test_dimension_to_ask() -> None:
    assert said("major", "f32[1,4,3]", "1") == "yes" and said("major", "f32[1,4,3]", "2") == "no"
    for dim in ("", "3", "-1", "0,1", "x"):
        status, text = algebra.run("shape", "major", "f32[1,4,3]", dim)
        assert status == 2 and text.startswith("error: ") and "expected" in text, (dim, text)


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


def test_figures() -> None:
    """The figures in the manual are right: each number is the position of the element in its cell."""
    text = (ROOT / "include" / "sett_tile.h").read_text()
    figures = re.findall(r"\n    (f32\[\d+,\d+\]\{\S+\}) in memory.*?\n((?:      [-+|.\d ]*\n)+)", text)
    assert [shape for shape, _ in figures] == ["f32[3,5]{1,0:T(2,2)}", "f32[4,8]{1,0:T(2,4)(2,1)}"]
    for shape, drawing in figures:
        rows = [re.findall(r"\d+|\.", line) for line in drawing.split("\n") if re.search(r"\d|\.", line)]
        elements = {(i, j): word for i, row in enumerate(rows) for j, word in enumerate(row)}
        height, width = ints(re.search(r"\[(.*?)\]", shape).group(1))
        for (i, j), word in elements.items():
            assert word == (answer("index", shape, f"{i},{j}") if i < height and j < width else "."), (shape, i, j, word)
        assert len(elements) == int(dict(line.split(" ") for line in answer("info", shape).split("\n"))["positions"]), shape
    assert "index (2,3) -> (1,1,0,1) -> ((1*3+1)*2+0)*2+1 = 17" in text and answer("index", "f32[3,5]{1,0:T(2,2)}", "2,3") == "17"


def test_manual_bitcasts() -> None:
    """Each line of the manual's table of bitcasts is what the command answers."""
    rows = re.findall(r"\n    (\S+\[\S+)  +(\S+\[\S+)  +(yes|no)\b", (ROOT / "include" / "sett_tile.h").read_text())
    assert len(rows) >= 4
    for a, b, expected in rows:
        assert said("bitcast", a, b) == expected, (a, b, expected)


# ---- devices ---------------------------------------------------------------------------------------------------

DEVICE_SHAPES = ["f32[3,5]{1,0:T(2,2)}", "bf16[20,300]{1,0:T(8,128)(2,1)}", "s8[5,7,9]{0,2,1:T(8,4)(4,1)L(100)}", "f32[6]", "f32[2,3,4,5]{1,3,0,2}",
                 "f32[2,6,10]{2,1,0:T(*,2,5)}"]


@pytest.mark.peer
def test_device_cuda() -> None:
    """nvcc compiles the device functions without a warning, and ptxas keeps everything in registers."""
    if not shutil.which("nvcc"):
        raise unittest.SkipTest("no nvcc")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "one.cu"
        manual = (ROOT / "include" / "sett_tile.h").read_text()
        examples = re.findall(r"\n    (__global__ void detile.*?\n    })\n", manual, re.S)
        source.write_text('#include "tile_device.h"\n' + "\n".join(examples))
        done = subprocess.run(["nvcc", "-std=c++17", "-arch=sm_90", "-cubin", "-Xptxas", "-v", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra",
                               f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests' / 'layouts'}", str(source), "-o", os.path.join(folder, "one.cubin")],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        frames = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", done.stdout + done.stderr)
        assert frames == [("0", "0", "0")] * 4, done.stdout + done.stderr


HOST = r"""
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sett_tile.h"
#define MUST(error) do { int e = (error); if (e) { printf("error %d in line %d\n", e, __LINE__); return 1; } } while (0)
static int64_t element[1 << 20], position[1 << 20];
int main(int argc, char **argv) {
  cl_platform_id platform;
  cl_device_id device;
  cl_uint count = 0;
  cl_int error;
  const char *source = "#include \"tile_device.h\"\n";
  if (clGetPlatformIDs(1, &platform, &count) || !count || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
    puts("SKIP: no OpenCL device");
    return 0;
  }
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  MUST(error);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  MUST(error);
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
  MUST(error);
  error = clBuildProgram(program, 1, &device, argv[1], NULL, NULL);
  if (error) {
    static char log[1 << 16];
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    puts(log);
    return 1;
  }
  cl_kernel kernel = clCreateKernel(program, "tile_device", &error);
  MUST(error);
  cl_kernel iterate = clCreateKernel(program, "tile_iterate", &error);
  MUST(error);
  const size_t one = 1; /* PoCL compiles a kernel for each size of a group */
  for (int i = 2; i < argc; ++i) {
    sett_tile_shape shape = sett_tile_parse(argv[i], strlen(argv[i]));
    sett_tile_plan plan = sett_tile_prepare(&shape);
    sett_tile_device_plan flat = sett_tile_device(&plan);
    size_t bytes = (size_t)plan.positions * 8, items = (size_t)plan.positions;
    MUST((int)flat.error);
    memset(element, 0x55, sizeof element);
    memset(position, 0x55, sizeof position);
    cl_mem a = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, element, &error);
    cl_mem b = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, position, &error);
    MUST(clSetKernelArg(kernel, 0, sizeof flat, &flat));
    MUST(clSetKernelArg(kernel, 1, sizeof a, &a));
    MUST(clSetKernelArg(kernel, 2, sizeof b, &b));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &one, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, bytes, element, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, bytes, position, 0, NULL, NULL));
    for (size_t at = 0; at < items; ++at) printf("%lld ", (long long)element[at]);
    puts("");
    for (int64_t at = 0; at < sett_tile_elements(&shape); ++at) printf("%lld ", (long long)position[at]);
    puts("");
    sett_tile_shape rows = sett_tile_make(shape.type, shape.rank, shape.dims, NULL);
    sett_tile_plan rows_plan = sett_tile_prepare(&rows);
    sett_tile_device_iterator both[2] = {sett_tile_device_iterate(&plan, &rows_plan), sett_tile_device_iterate(&rows_plan, &plan)};
    for (int k = 0; k < 2; ++k) {
      cl_long length = 3 + 4 * k;
      MUST((int)both[k].error);
      items = (size_t)((both[k].positions + length - 1) / length);
      memset(element, 0x55, sizeof element);
      MUST(clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, bytes, element, 0, NULL, NULL));
      MUST(clSetKernelArg(iterate, 0, sizeof both[k], &both[k]));
      MUST(clSetKernelArg(iterate, 1, sizeof length, &length));
      MUST(clSetKernelArg(iterate, 2, sizeof a, &a));
      MUST(clEnqueueNDRangeKernel(queue, iterate, 1, NULL, &items, &one, 0, NULL, NULL));
      MUST(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, bytes, element, 0, NULL, NULL));
      for (int64_t at = 0; at < both[k].positions; ++at) printf("%lld ", (long long)element[at]);
      puts("");
    }
  }
  return 0;
}
"""


def test_device_opencl() -> None:
    """The device functions compile as OpenCL C 1.2, and each work-item finds the model's element at its position."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "host.c", str(Path(folder) / "host")
        source.write_text(HOST)
        done = subprocess.run(["cc", "-std=c11", f"-I{ROOT / 'include'}", str(source), "-lOpenCL", "-o", binary], capture_output=True, text=True)
        if done.returncode:
            if "CL/cl.h" not in done.stderr and "lOpenCL" not in done.stderr:
                raise AssertionError(done.stderr)
            raise unittest.SkipTest("no OpenCL headers or loader")
        lines = run(binary, f"-cl-std=CL1.2 -Werror -I{ROOT / 'include'} -I{ROOT / 'tests' / 'layouts'}", *DEVICE_SHAPES).split("\n")
    if lines[0].startswith("SKIP"):
        raise unittest.SkipTest(lines[0][6:])
    for at, text in enumerate(DEVICE_SHAPES):
        found = re.fullmatch(r"\w+\[(.*)\](?:\{([\d,]*)(?::(?:T((?:\(.*?\))+))?(?:L\((\d+)\))?)?\})?", text)
        dims = ints(found.group(1))
        order = ints(found.group(2)) if found.group(2) else tuple(reversed(range(len(dims))))
        tiles = [[None if t == "*" else int(t) for t in tile.split(",")] for tile in re.findall(r"\((.*?)\)", found.group(3) or "")]
        cells, _ = model(dims, order, tiles, int(found.group(4) or 1))
        number = {index: k for k, index in enumerate(box(dims))}
        assert [int(word) for word in lines[4 * at].split()] == [-1 if cell is None else number[cell] for cell in cells], text
        positions = {cell: p for p, cell in enumerate(cells) if cell is not None}
        assert [int(word) for word in lines[4 * at + 1].split()] == [positions[index] for index in box(dims)], text
        assert lines[4 * at + 2:4 * at + 4] == lines[4 * at:4 * at + 2], text  # the iterators give the same elements and positions
