"""Test IREE's nested layouts against loops written from the definition, and against tables that IREE's code gave. The
tests cover the text, the element of a slot, the owners of an element, maps, operations and fragments.
"""

from __future__ import annotations

import ast
import fnmatch
import itertools
import random
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from indexing_analysis_eval import PEER, ROOT, Index, box, read

import pytest

from gen import algebra

FIELDS = ["subgroup_tile", "batch_tile", "outer_tile", "thread_tile", "element_tile", "subgroup_strides", "thread_strides"]
HEADER = (ROOT / "include" / "sett_nested_layout.h").read_text()
MMA = (ROOT / "include" / "sett_mma_layouts.h").read_text()
Lists = "list[list[int]]"


def peer(name: str) -> "list[list[str]]":
    path = PEER / name
    if not path.exists():
        raise unittest.SkipTest(f"{name}: not beside this checkout")
    return [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("# ")]


def answer(*words: str) -> str:
    status, text = algebra.run("nested", *words)
    assert status == 0, (words, text)
    return text


def refusal(*words: str) -> str:
    status, text = algebra.run("nested", *words)
    assert status == 2, (words, text)
    return text


def text_of(lists: Lists) -> str:
    return "#iree_vector_ext.nested_layout<" + ", ".join(f"{key} = {value}" for key, value in zip(FIELDS, lists)) + ">"


def short(s: str) -> str:
    """Return a layout from a short text of its five tiles and two strides, for instance "2,1 2,4 1,1 16,4 1,4 1,0
    1,16"; "-" is an empty list.
    """
    return text_of([[] if word == "-" else [int(n) for n in word.split(",")] for word in s.split()])


def lists_of(text: str) -> Lists:
    return [ast.literal_eval(part) for part in re.findall(r"\[[^\]]*\]", text)]


def canonical(text: str) -> str:
    lists = lists_of(text)
    for tile, stride in ((0, 5), (3, 6)):
        lists[stride] = [0 if t == 1 else s for t, s in zip(lists[tile], lists[stride])]
    return text_of(lists)


def ints(text: str) -> "list[int]":
    return [int(word) for word in text.split(",") if word]


def commas(values: "object") -> str:
    return ",".join(map(str, values))  # type: ignore[call-overload]


def manual_says(words: str) -> str:
    """Return the paragraph in the manual of sett_mma_layouts.h that begins with `words` and describes one difference
    from the documents.
    """
    found = re.search(rf"^    {words}: .*\n(?:^     .*\n)*", MMA, re.M)
    assert found, words
    return found[0]


def matching(text: str) -> "set[str]":
    """Return the names of the matrix instructions that the patterns in a text match."""
    names = [line.split("\t")[0] for line in answer("mma").split("\n")]
    matches = [fnmatch.filter(names, pattern) for pattern in re.findall(r"\b[A-Z][A-Z0-9]*_[\w*]+", text)]
    assert matches and all(matches), text
    return set().union(*matches)


# ---- the definition, by loops ----------------------------------------------------------------------------------


def held(lists: Lists, subgroup: int, thread: int) -> "list[Index]":
    """Return the elements that thread `thread` of subgroup `subgroup` has, in the order of its slots."""
    sub, batch, outer, thr, element, sub_stride, thr_stride = lists
    r = range(len(sub))
    s = [subgroup // sub_stride[d] % sub[d] if sub_stride[d] else 0 for d in r]
    t = [thread // thr_stride[d] % thr[d] if thr_stride[d] else 0 for d in r]
    return [tuple((((s[d] * batch[d] + b[d]) * outer[d] + o[d]) * thr[d] + t[d]) * element[d] + e[d] for d in r)
            for b in box(tuple(batch)) for o in box(tuple(outer)) for e in box(tuple(element))]


def shape_of(lists: Lists) -> "list[int]":
    return [s * b * o * t * e for s, b, o, t, e in zip(*lists[:5])]


def periods(lists: Lists) -> "tuple[int, int]":
    return tuple(max([1, *(t * s for t, s in zip(lists[tile], lists[stride]) if t > 1)]) for tile, stride in ((0, 5), (3, 6)))  # type: ignore


def random_lists(rng: random.Random) -> Lists:
    while True:
        r = rng.randint(0, 3)
        lists = [[rng.choice([1, 1, 2, 2, 3]) for _ in range(r)] for _ in range(5)] + [[0] * r, [0] * r]
        for tile, stride in ((0, 5), (3, 6)):
            used = 1
            for d in rng.sample(range(r), r):
                if lists[tile][d] > 1 and rng.random() < 0.9:
                    used *= rng.choice([1, 1, 1, 2, 3])
                    lists[stride][d] = used
                    used *= lists[tile][d]
        if len(list(box(tuple(shape_of(lists))))) <= 200 and periods(lists)[0] <= 12 and periods(lists)[1] <= 40:
            return lists


# ---- text ------------------------------------------------------------------------------------------------------


def test_literals_peer() -> None:
    """Every literal in IREE's tests parses and prints, and the shapes are those that IREE derives. Tiles of unequal rank
    are refused.
    """
    rows, refused = peer("iree_nested_layouts.txt"), 0
    for text, *_ in rows:
        if len({len(part) for part in lists_of(text)}) > 1:
            assert "the same rank" in refusal(text)
            refused += 1
            continue
        printed, shape, distributed = answer(text).split("\t")
        lists = lists_of(text)
        assert printed == canonical(text) and answer(printed).split("\t")[0] == printed, text
        assert ints(shape) == shape_of(lists) and ints(distributed) == lists[1] + lists[2] + lists[4], text
        assert answer(text.replace("#iree_vector_ext.", "")) == answer(text)
    assert len(rows) > 60, refused
    for text, shape, distributed, unpacked, *_ in peer("iree_nested_layouts_derived.tsv"):
        assert answer(text).split("\t")[1:] == [shape.strip("[]").replace(" ", ""), distributed.strip("[]").replace(" ", "")], text
        info = dict(line.partition(" ")[::2] for line in answer("info", text).split("\n"))
        assert info["unpacked"] == unpacked.strip("[]").replace(" ", ""), text


def test_basis_peer() -> None:
    """The bases that IREE passes to delinearize agree with the formula: both give the same digits of an id. IREE's bases
    have an extra digit for a gap between ids.
    """
    checked = 0
    for text, _, _, _, *bases in peer("iree_nested_layouts_derived.tsv"):
        lists = lists_of(text)
        for (tile, stride), column, ids in zip(((0, 5), (3, 6)), bases, periods(lists)):
            basis, places = ast.literal_eval(column)
            if any(t > 1 and s == 0 for t, s in zip(lists[tile], lists[stride])):
                continue
            for ident in {0, ids - 1, ids // 2, ids // 3}:
                digits, rest = [], ident
                for size in reversed(basis):
                    digits.append(rest % size)
                    rest //= size
                digits = [rest, *reversed(digits)]
                for d, place in enumerate(places):
                    one = [[1] * len(lists[0]) for _ in range(5)] + [[0] * len(lists[0]) for _ in range(2)]
                    one[tile], one[stride] = lists[tile], lists[stride]
                    words = (str(ident), "0") if tile == 0 else ("0", str(ident))
                    assert ints(answer("element", text_of(one), *words, "0"))[d] == digits[place], (text, ident)
                    checked += 1
    assert checked > 200, checked


def test_canonical() -> None:
    empty = "nested_layout<" + ", ".join(f"{key} = []" for key in FIELDS) + ">"
    assert answer(empty) == f"#iree_vector_ext.{empty}\t\t"
    assert answer("element", empty, "3", "7", "0") == "" and answer("owner", empty, "") == "0,0,0"
    spread = re.sub(r"([\[\]<>=,])", r" \1 // x\n\t", short("2 1 1 4 1 1 1"))
    assert answer(spread).split("\t")[0] == short("2 1 1 4 1 1 1")
    assert answer(short("1,1 1,1 1,1 1,1 1,1 1,1 7,9")).split("\t")[0] == short("1,1 1,1 1,1 1,1 1,1 0,0 0,0")
    huge = answer("info", short("1 1 1 4294967296 1 0 2147483647")).split("\n")
    assert "threads 9223372032559808512" in huge and "copies 2147483647" in huge


def test_errors() -> None:
    """The error of a malformed text has the column, the dimension if there is one, and words about what was expected.
    """
    good = short("1,1 1,1 1,1 4,2 1,1 0,0 1,4")
    cases = [
        ("", 1, "nested_layout"),
        ("#iree_vector_ext.layout<>", 1, "nested_layout"),
        ("nested_layouts<>", 1, "nested_layout"),
        ("nested_layout", 14, "'<'"),
        ("nested_layout<", 15, "'subgroup_tile'"),
        ("nested_layout<batch_tile = []", 15, "'subgroup_tile'"),
        ("nested_layout<subgroup_tile [", 29, "'='"),
        ("nested_layout<subgroup_tile = 1", 31, "'['"),
        ("nested_layout<subgroup_tile = [", 32, "an integer"),
        ("nested_layout<subgroup_tile = [1,]", 34, "an integer"),
        ("nested_layout<subgroup_tile = [9223372036854775808]", 32, "64 bits"),
        ("nested_layout<subgroup_tile = [1 2]", 34, "',' or ']'"),
        ("nested_layout<subgroup_tile = [1] batch_tile", 35, "the next key"),
        ("nested_layout<subgroup_tile = [1], outer_tile", 36, "'batch_tile'"),
        ("nested_layout<subgroup_tile = [" + "1," * 24 + "1]", 80, "24 dimensions"),
        ("nested_layout<subgroup_tile = [1], batch_tile = [1, 1]", 49, "1 numbers: all seven lists must have the same rank"),
        (good[:-1], len(good), "'>'"),
        (good + "x", len(good) + 1, "the end"),
        (good.replace("thread_tile = [4, 2]", "thread_tile = [4, 0]"), good.index("4, 2]") + 4, "dimension 1: expected a tile of 1 or more"),
        (good.replace("thread_strides = [1, 4]", "thread_strides = [-1, 4]"), good.index("1, 4]") + 1, "dimension 0: expected a stride of 0 or"),
        (good.replace("thread_strides = [1, 4]", "thread_strides = [1, 2]"), good.index("1, 4]") + 4, "dimension 1: thread strides overlap: "
         "expected a multiple of 4"),
        (good.replace("subgroup_tile = [1, 1]", "subgroup_tile = [3, 2]").replace("subgroup_strides = [0, 0]", "subgroup_strides = [2, 3]"),
         good.index("subgroup_strides = [") + 24, "dimension 1: subgroup strides overlap: expected a multiple of 6"),
        (good.replace("element_tile = [1, 1]", "element_tile = [4611686018427387904, 1]"), good.index("element_tile = [") + 17, "64 bits"),
        (short("1 1 1 4 1 0 4611686018427387904"), 170, "64 bits"),
    ]
    for text, column, words in cases:
        said = refusal(text)
        assert said.startswith(f"error: {column}: ") and words in said, (text, said)
    layout = short("1,1 1,1 1,1 4,2 1,1 0,0 1,4")
    for words, said in [(("element", layout, "0", "0", "1"), "a slot"), (("element", layout, "-1", "0", "0"), "subgroup"),
                        (("element", layout, "0", "x", "0"), "integer"), (("owner", layout, "0"), "one index for each dimension"),
                        (("owner", layout, "0,2"), "inside"), (("permute", layout, "0,0"), "permutation"), (("apply", layout, "2"), "dimension"),
                        (("reshape", layout, "9"), "as many elements as the layout: 8"), (("frob", layout), "unknown verb 'frob' of nested, did you mean 'from'\\? sett help nested lists them"),
                        (("mma", "X", "a"), "intrinsic"), (("MFMA_F32_16x16x4_F32.d",), "error: 22: expected lhs, rhs, acc"), (("MFMA.a",), "error: 1: expected nested_layout<..>, or an intrinsic"), (("mma", "NV_WMMA_F32_16x16x16_F16", "a"), "opaque"),
                        (("ptx", "MFMA_F32_16x16x4_F32", "a"), "mma.sync"), (("mma", "MFMA_F32_16x16x4_F32", "rhs_scale"), "no such operand"),
                        (("from", "(d0) -> (d0), domain: d0 in [0, 3]"), "not the map"), (("on", layout, "1", "7"), "dimension 1: .* needs 8"),
                        (("held", layout, "1"), "expected: nested held LAYOUT SUBGROUPS THREADS"), (("draw", short("1 65537 1 1 1 0 0")), "65536")]:
        assert re.search(said, refusal(*words)), words


def test_command_lines() -> None:
    """`-` reads one input per line. The answers have the same order, errors appear in their place, and the exit status
    says whether there was an error.
    """
    command = ROOT / "build" / "sett"
    if not command.exists():
        raise unittest.SkipTest("build/sett is not built")
    layout = short("2,1 2,4 1,1 16,4 1,4 1,0 1,16")
    done = subprocess.run([str(command), "nested", "-"], input=f"{layout}\nx\n{layout}\n", capture_output=True, text=True)
    assert done.returncode == 2 and [line[:7] for line in done.stdout.split("\n")] == ["#iree_v", "error: ", "#iree_v", ""]
    done = subprocess.run([str(command), "nested", "element", "-"], input=f"{layout}\t1\t21\t6\n" * 3, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "37,22\n" * 3
    done = subprocess.run([str(command), "nested", "owner", "-"], input=f"{layout}\t37,22\n{layout}\t64,0\n", capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == "1,21,6\nerror: 1: expected indices inside the vector, found '64,0', in I,J,..\n"


# ---- the document ----------------------------------------------------------------------------------------------


def test_document_pictures() -> None:
    """The pictures in the header's manual agree with the definition and with the functions."""
    example = short("2,1 2,4 1,1 16,4 1,4 1,0 1,16")
    first = re.search(r"const char \*text = (.*?);", HEADER, re.S)
    assert first and "".join(re.findall(r'"([^"]*)"', first[1])) == example.replace("#iree_vector_ext.", "")
    lists = lists_of(example)
    subgroups = [ints(commas(row.split())) for row in re.findall(r"^       (\d  \d)$", HEADER, re.M)]
    assert len(subgroups) == 4
    order = short("4,2 1,1 1,1 1,1 1,1 1,4 0,0")
    for (i, row), j in itertools.product(enumerate(subgroups), range(2)):
        assert held(lists_of(order), row[j], 0) == [(i, j)] and answer("owner", order, f"{i},{j}") == f"{row[j]},0,0"
    assert [n for row in subgroups for n in row] == [0, 4, 1, 5, 2, 6, 3, 7]
    assert answer("held", order, "4", "1") == "4" and answer("held", order, "8", "1") == "8"
    right = [answer("element", order, str(g), "0", "0") for g in range(4)]
    assert right == ["0,0", "1,0", "2,0", "3,0"] and "dimension 1" in refusal("on", order, "4", "1")
    assert answer("element", order, "13", "0", "0") == answer("element", order, "5", "0", "0")

    outer = [ints(commas(row.split())) for row in re.findall(r"^       (\d  \d  \d  \d  \d)(?:      outer digit \d)?$", HEADER, re.M)]
    assert len(outer) == 4
    layout = short("1,1 1,1 2,1 2,5 1,1 0,0 5,1")
    for (i, row), j in itertools.product(enumerate(outer), range(5)):
        assert (i, j) in held(lists_of(layout), 0, row[j]) and answer("owner", layout, f"{i},{j}") == f"0,{row[j]},{i // 2}"

    runs = re.search(r"^ +0-3   4-7  8-11 12-15$", HEADER, re.M)
    rows = re.findall(r"^       row +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$", HEADER, re.M)
    assert runs and [int(row[0]) for row in rows] == [0, 1, 15]
    for row, *threads in rows:
        for k, thread in enumerate(threads):
            for column in range(4 * k, 4 * k + 4):
                assert (int(row), column) in held(lists, 0, int(thread)) and answer("owner", example, f"{row},{column}").startswith(f"0,{thread},")

    slices = re.findall(r"^       thread +(\d+) of subgroup (\d)    rows +([\d ]+?)    columns ([\d -]+)$", HEADER, re.M)
    assert [(int(t), int(g)) for t, g, _, _ in slices] == [(0, 0), (1, 0), (16, 0), (16, 1)]
    for thread, subgroup, rows_held, columns in slices:
        wanted = [(int(row), column) for row in rows_held.split() for a, b in re.findall(r"(\d+)-(\d+)", columns) for column in range(int(a), int(b) + 1)]
        assert sorted(held(lists, int(subgroup), int(thread))) == sorted(wanted)
        for again in (0, 2):
            said = [answer("element", example, str(int(subgroup) + again), thread, str(slot)) for slot in range(32)]
            assert sorted(tuple(ints(index)) for index in said) == sorted(wanted)
    assert answer(example).split("\t")[2] == "2,4,1,1,1,4" and "unpacked 2,16" in answer("info", example)


def test_document_inverse() -> None:
    """IREE's document computes the owner of an element as (sum mod product), which is wrong if the ids have gaps.
    `nested owner` gives the sum, and all copies.
    """
    for text, copies in (("1 1 1 4 1 0 16", 16), ("3 1 1 1 1 8 0", 8), ("1,1 1,1 1,1 2,4 1,1 0,0 8,2", 2)):
        lists = lists_of(short(text))
        wrong = 0
        for index in box(tuple(shape_of(lists))):
            digits = index  # one element per thread, so the index is the position in the grid of threads or subgroups
            total = [sum(s * v for s, v in zip(lists[stride], digits)) if max(lists[tile]) > 1 else 0 for tile, stride in ((0, 5), (3, 6))]
            owners = answer("owner", short(text), commas(index)).split("; ")
            assert ints(owners[0]) == [*total, 0] and len(owners) == copies, (text, index, owners)
            for g, t, _ in map(ints, owners):
                assert held(lists, g, t) == [index]
            product = 1
            for tile in lists[0] if max(lists[0]) > 1 else lists[3]:
                product *= tile
            wrong += held(lists, *(n % product if n else 0 for n in total)) != [index]
        assert wrong, text


def test_defects() -> None:
    """If IREE's code gives a wrong result for a layout, `sett` gives the right result or refuses the layout."""
    no = "no nested layout of that shape has this ownership"
    assert answer("reshape", short("1,1 1,2 1,1 2,1 1,1 0,0 1,0"), "4").split("\t")[0] == short("1 1 1 2 2 0 1")  # thread 0 has elements 0 and 1; IREE gives 0 and 2
    example = short("2,1 2,4 1,1 16,4 1,4 1,0 1,16")
    assert no in refusal("reshape", example, "4096")
    turned = lists_of(answer("reshape", example, "128,32").split("\t")[0])
    for g, t in box((2, 64)):
        assert sorted(64 * i + j for i, j in held(lists_of(example), g, t)) == sorted(32 * i + j for i, j in held(turned, g, t))
    assert answer("reshape", example, "64,16,4").split("\t")[0] == short("2,1,1 2,4,1 1,1,1 16,4,1 1,1,4 1,0,0 1,16,0")
    wide = short("2,1 3,1 2,1 4,4 1,2 1,0 1,4")  # the factors do not divide each other; IREE returns 24x8
    status, text = algebra.run("nested", "reshape", wide, "32,12")
    assert status == 2 and no in text
    # a bound inside thread 1's elements: thread 0 keeps 2 elements, thread 1 gets 1
    assert [answer("bound", short("1 1 2 2 1 0 1"), "0", "0", thread, "3") for thread in "01"] == ["2", "1"]
    # mma.sync e4m3 A has 16 values, not 2x2x2
    assert ints(answer("mma", "NV_MMA_SYNC_F32_16x8x32_F8E4M3FN", "a").split("\t")[2]) == [1, 1, 2, 2, 1, 4]
    # layouts with the same owners; IREE would move the data through shared memory
    assert answer("same", short("1 1 1 1 4 0 0"), short("1 4 1 1 1 0 0")) == "same slots"
    assert answer("same", short("1,1 1,2 1,1 1,1 2,1 0,0 0,0"), short("1,1 2,2 1,1 1,1 1,1 0,0 0,0")) == "same owners"
    assert answer("same", short("2 1 1 32 1 1 1"), short("1 1 1 64 1 0 1"), "2", "32") == "same slots"
    assert algebra.run("nested", "same", short("2 1 1 32 1 1 1"), short("1 1 1 64 1 0 1")) == (1, "different")
    # a tile above 1 with stride 0: some elements have no owner
    assert answer("owner", short("1 1 1 4 2 0 0"), "2") == "nobody" and answer("owner", short("1 1 1 4 2 0 0"), "1") == "0,0,1"
    # overlapping strides: IREE accepts the text, and refuses them only when it distributes an array
    assert "overlap" in refusal(short("1,1 1,1 1,1 4,2 1,1 0,0 1,2"))
    # the error names the dimension that needs more threads than the machine has
    assert "dimension 0: expected a machine with more threads: this dimension needs 64" in refusal("on", short("1 1 1 64 1 0 1"), "1", "32")
    assert answer("on", short("1 1 1 64 1 0 1"), "2", "32").split("\t")[1] == "64"
    assert "as its subgroup digits" in refusal("on", short("2 1 1 64 1 1 1"), "2", "32")


# ---- operations ------------------------------------------------------------------------------------------------


def test_operations_peer() -> None:
    seen = set()
    for op, layout, arguments, expected, *_ in peer("iree_layout_ops.tsv"):
        if op == "recombine" or layout.startswith("["):
            continue  # nested_test.c tests recombine with random layouts
        values = ast.literal_eval(arguments.replace("true", "1").replace("false", "0"))
        assert answer(op, layout, commas(values)).split("\t")[0] == canonical(expected), (op, layout)
        seen.add(op)
    assert seen >= {"permute", "project", "apply", "reshape"}


def test_contractions_peer() -> None:
    checked = 0
    for intrinsic, kinds, bounds, maps, subgroups, operand, expected, *_ in peer("iree_contraction_layouts.tsv"):
        if intrinsic == "lane_basis":
            parts = dict(re.findall(r"(\w+)=(\[.*?\])(?: |$)", kinds))
            limits = ast.literal_eval(bounds)
            (counts, places), (lanes, lane_places) = (ast.literal_eval(parts[key]) for key in ("subgroup_basis", "lane_basis"))
            made = answer("basis", commas(limits), commas(counts), commas(places), commas(lanes), commas(lane_places),
                          commas(ast.literal_eval(parts["thread"])))
            dims = re.search(r"\((.*)\)", operand)
            if dims:
                made = answer("apply", made.split("\t")[0], dims[1].replace("d", ""))
        else:
            assert len(set(kinds)) == len(kinds)
            letters = dict(zip(("lhs", "rhs", "acc"), maps.split("/")))[operand]
            made = answer("contract", intrinsic, operand, kinds, bounds.strip("[]").replace(" ", ""), subgroups.strip("[]").replace(" ", ""),
                          commas(kinds.index(letter) for letter in letters))
        if operand == "acc" and intrinsic in matching(manual_says("slots of C")):
            assert answer("same", made.split("\t")[0], expected) == "same owners"
        else:
            assert made.split("\t")[0] == canonical(expected), (intrinsic, operand, made)
        checked += 1
    assert checked > 8


def test_contraction() -> None:
    """A contraction of 64 x 64 results has two subgroups along m and four along n, so the element in row 32 and column
    0 belongs to subgroup 4. A scaled product has two loops over k.
    """
    made = answer("contract", "MFMA_F32_16x16x16_F16", "acc", "mnk", "64,64,32", "2,4,1", "0,1").split("\t")[0]
    assert made == short("2,4 2,1 1,1 4,16 4,1 4,1 16,1") and answer("owner", made, "32,0") == "4,0,0"
    bad = refusal("contract", "MFMA_F32_16x16x16_F16", "acc", "mk", "64,64", "1,1", "0,1")
    assert "loops of the kinds" in bad
    scaled = ("contract", "MFMA_SCALE_F32_16x16x128_B32", "lhs")
    assert answer(*scaled, "mnkk", "32,32,8,32", "1,1,1,1", "0,2,3").split("\t")[1] == "32,8,32"
    assert answer("contract", "MFMA_SCALE_F32_16x16x128_B32", "lhs_scale", "mnkk", "32,32,8,32", "1,1,1,1", "0,2").split("\t")[1] == "32,8"


def test_contraction_definition() -> None:
    """The layout of a contraction agrees with its definition. Each loop is divided equally between subgroups. The part of
    a subgroup is a sequence of tiles, each as large as the fragment; batch b is tile number b.
    """
    rng = random.Random(7)
    for _ in range(60):
        name = rng.choice(["MFMA_F32_16x16x16_F16", "MFMA_F32_32x32x8_F16", "NV_MMA_SYNC_F32_16x8x16_F16", "WMMAR3_F32_16x16x16_F16"])
        operand, kinds = rng.choice([("lhs", "mk"), ("rhs", "kn"), ("acc", "mn")])
        loops = [*"mnk", rng.choice("bmnk")]
        rng.shuffle(loops)
        bounds, counts = [rng.randint(1, 40) for _ in loops], [rng.choice([1, 1, 2, 3]) for _ in loops]
        inner = [max(i for i, kind in enumerate(loops) if kind == letter) for letter in kinds]
        places = inner + [i for i, kind in enumerate(loops) if i not in inner and kind in kinds + "b"]
        made, shape, _ = answer("contract", name, operand, "".join(loops), commas(bounds), commas(counts), commas(places)).split("\t")
        fragment = answer("mma", name, operand).split("\t")[0]
        tile = shape_of(lists_of(fragment)) + [1] * (len(places) - 2)
        batches = [-(-(-(-bounds[loop] // counts[loop])) // tile[d]) for d, loop in enumerate(places)]
        assert ints(shape) == [counts[loop] * batch * tile[d] for d, (loop, batch) in enumerate(zip(places, batches))]
        digits = list(box(tuple(counts)))
        g, lane = rng.randrange(len(digits)), rng.randrange(32)
        wanted = {tuple((digits[g][loop] * batches[d] + b[d]) * tile[d] + (index[d] if d < 2 else 0) for d, loop in enumerate(places))
                  for b in box(tuple(batches)) for index in held(lists_of(fragment), 0, lane)}
        assert set(held(lists_of(made), g, lane)) == wanted, (name, operand, loops, bounds, counts)


def test_recombine() -> None:
    """The result of a contraction takes m from the first operand's layout and n from the second's. Operands that
    disagree or overlap are refused.
    """
    first, second = short("1,2 2,1 1,1 4,1 1,2 0,1 1,0"), short("2,1 1,3 1,1 1,8 2,2 1,0 0,4")
    other = short("2,1 2,3 1,1 1,8 2,2 1,0 0,4")
    assert "two operands" in refusal("recombine", "0,1", first, "0,2", other, "2,1")
    assert answer("recombine", "1,0", first, "0,-1", second, "-1,1").split("\t")[0] == short("1,1 3,2 1,1 8,4 2,1 0,0 4,1")
    assert "no operand" in refusal("recombine", "0,3", first, "0,2", second, "-1,1")
    assert "overlap" in refusal("recombine", "0,1", first, "0,-1", first.replace("[1, 0]", "[2, 0]"), "1,-1")


# ---- fragments -------------------------------------------------------------------------------------------------


def test_fragments_peer() -> None:
    """Every row of IREE's table of fragments agrees in shape, tiles, types and copies. The order of slots differs only
    where the manual says so.
    """
    operands = {"Lhs": "lhs", "Rhs": "rhs", "Acc": "acc", "LhsScale": "lhs_scale", "RhsScale": "rhs_scale"}
    listed = {line.split("\t")[0]: line.split("\t")[1:] for line in answer("mma").split("\n")}
    names, (_, *rows), slots_differ = set(), peer("iree_mma_layouts.tsv"), set()
    for row in rows:
        _, name, code, lanes, m, n, k, blocks, types, operand, _, outer, thread, strides, element, registers, copies = row
        names.add(name)
        said_types = [part.split("(")[0].lower().replace("*", "") for part in types.split("/")]
        assert listed[name] == [str(int(code, 0)), lanes, f"{m}x{n}x{k}x{blocks}", *said_types], name
        if operand == "-":
            assert "opaque" in refusal("mma", name, "a")
            continue
        text, _, distributed = answer("mma", name, operands[operand]).split("\t")
        lists = [ast.literal_eval(part) for part in (outer, thread, element)]
        ones = [1] * len(lists[0])
        upstream = canonical(text_of([ones, ones, lists[0], lists[1], lists[2], ones, ast.literal_eval(strides)]))
        if text != upstream:
            assert operand == "Acc" and answer("same", text, upstream) == "same owners", row
            slots_differ.add(name)
        slots = 1
        for tile in ints(distributed):
            slots *= tile
        assert slots == int(registers) and answer("on", text, "1", lanes), row
        elements = 1
        for size in ints(answer(text).split("\t")[1]):
            elements *= size
        assert elements * int(copies) == slots * int(lanes), row  # each element has equally many copies; tests/layouts/nested_test.c counts them
    assert names == {name for name in listed if not name.startswith("PTX_")} and len(names) > 100
    assert slots_differ == matching(manual_says("slots of C"))


# ---- maps ------------------------------------------------------------------------------------------------------


def test_maps_agree() -> None:
    """The map of a layout, the map's inverse, and the layout that is made from the map are one function. The test
    evaluates their texts.
    """
    rng = random.Random(5)
    for _ in range(150):
        lists = random_lists(rng)
        text = text_of(lists)
        forward, backward = read(answer("map", text)), read(answer("unmap", text))
        subgroups, threads = periods(lists)
        assert len(forward.dims) == 2 and len(forward.ranges) == 3 * len(lists[0]) and len(backward.dims) == len(lists[0])
        first: "dict[Index, Index]" = {}
        for g, t in box((subgroups, threads)):
            mine = held(lists, g, t)
            if rng.random() < 0.2:
                assert list(forward.at((g, t))) == mine, (text, g, t)
            for slot, index in enumerate(mine):
                first.setdefault(index, (g, t, slot))
        for index in box(tuple(shape_of(lists))):
            assert list(backward.at(index)) == ([first[index]] if index in first else []), (text, index)
        wide = (str(subgroups + rng.randint(0, 3)), str(threads * rng.randint(1, 2) + rng.randint(0, 5)))
        last = tuple(int(count) - 1 for count in wide)
        machine = answer("map", text, *wide)
        assert list(read(machine).at(last)) == held(lists, *last) and not list(read(machine).at((0, int(wide[1])))), (text, wide)
        assert answer("map", answer("from", machine).split("\t")[0], *wide) == machine
        again = answer("from", answer("map", text)).split("\t")[0]
        assert answer("map", again) == answer("map", text), text
        if len(first) == len(list(box(tuple(shape_of(lists))))):
            assert again == canonical(text)


def test_map_that_is_none() -> None:
    text = answer("map", short("2 2 1 4 2 1 1"))
    for old, new in (("thread *", "thread * 3 -"), ("subgroup * 16", "subgroup * 17"), ("e0", "1 - e0"), ("-> (", "-> (1 + ")):
        if old in text:
            assert algebra.run("nested", "from", text.replace(old, new, 1))[0] == 2, (old, text)
    assert "ids below 65536" in refusal("from", answer("map", short("1 1 1 131072 1 0 1")))


def test_addresses() -> None:
    """The map composed with a tiled layout gives the position of each slot's element in memory. Elements outside the
    array are outside the domain.
    """
    for layout, shape in ((short("2,1 2,4 1,1 16,4 1,4 1,0 1,16"), "bf16[64,64]{1,0:T(8,128)(2,1)}"),
                          (short("1,1 1,1 2,1 8,4 1,2 0,0 4,1"), "f32[16,8]{0,1}"), (short("1,1 1,1 2,1 8,4 1,2 0,0 4,1"), "f32[13,7]{1,0:T(2,4)}")):
        address = read(answer("address", layout, shape))
        lists = lists_of(layout)
        dims = ints(re.search(r"\[([\d,]+)\]", shape)[1])  # type: ignore[index]
        for g, t in itertools.product(range(periods(lists)[0]), range(0, periods(lists)[1], 5)):
            wanted = []
            for index in held(lists, g, t):
                if all(i < d for i, d in zip(index, dims)):
                    status, position = algebra.run("shape", "index", shape, commas(index))
                    assert status == 0
                    wanted.append((int(position),))
            assert list(address.at((g, t))) == wanted, (layout, shape, g, t)


# ---- draw ------------------------------------------------------------------------------------------------------


def test_draw() -> None:
    """Each cell of a picture names the owners and slots of its element."""
    rng = random.Random(6)
    for _ in range(60):
        lists = random_lists(rng)
        text = text_of(lists)
        title, *lines = answer("draw", text).split("\n")
        shape = shape_of(lists)
        assert title.startswith(("x".join(map(str, shape)) or "scalar") + ", ")
        cells = [cell for line in lines if not line.startswith("[") for cell in line.split()[(len(shape) > 1):]] if shape else lines
        rows = [line for line in lines if line and not line.startswith((" ", "["))] if len(shape) > 1 else lines[-1:]
        cells = [cell for line in rows for cell in line.split()[(len(shape) > 1):]]
        run = lists[4][-1] if shape else 1
        wanted = []
        for index in list(box(tuple(shape)))[::run]:
            owner = answer("owner", text, commas(index)).split("; ")[0]
            if owner == "nobody":
                wanted.append(".")
                continue
            g, t, slot = ints(owner)
            name = (f"{g}:" if periods(lists)[0] > 1 else "") + f"{t}.{slot}"
            wanted.append(name + (f"-{slot + run - 1}" if run > 1 else ""))
        assert cells == wanted, (text, answer("draw", text))


# ---- index -----------------------------------------------------------------------------------------------------


def test_index() -> None:
    """The index tables list, by the definition, the owners of each element and the elements of each thread."""
    rng = random.Random(8)
    for _ in range(60):
        lists = random_lists(rng)
        text = text_of(lists)
        subgroups, threads = periods(lists)
        owners: "dict[Index, list[str]]" = {index: [] for index in box(tuple(shape_of(lists)))}
        rows = []
        for g, t in itertools.product(range(subgroups), range(threads)):
            rows.append(f"thread {g},{t}\t" + "; ".join(commas(index) for index in held(lists, g, t)))
            for slot, index in enumerate(held(lists, g, t)):
                owners[tuple(index)].append(f"{g},{t},{slot}")
        wanted = [f"element {commas(index)}\t" + ("; ".join(who) or "nobody") for index, who in owners.items()] + rows
        assert answer("index", text).split("\n") == wanted, text
    assert "65536" in refusal("index", short("1 65537 1 1 1 0 0"))


# ---- the headers themselves ------------------------------------------------------------------------------------

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout + done.stderr


KERNEL = """
#include "sett_nested_layout.h"
__global__ void where(const sett_nested_plan plan, int *out) {
  unsigned slot;
  for (slot = 0; slot < plan.thread_slots; ++slot)
    out[(blockIdx.x * blockDim.x + threadIdx.x) * plan.thread_slots + slot] = sett_nested_offset(plan, blockIdx.x, threadIdx.x, slot);
}
int main() {
  sett_nested_layout layout = sett_nested_parse("", 0);
  return (int)sett_nested_prepare(&layout, 0).error == 0;
}
"""


@pytest.mark.peer
def test_cuda() -> None:
    """nvcc compiles a kernel that uses a plan, next to the whole header on the host, without a warning, a stack frame or
    a spill.
    """
    if not shutil.which("nvcc"):
        raise unittest.SkipTest("no nvcc")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "where.cu").write_text(KERNEL)
        said = run("nvcc", "-std=c++17", "-arch=sm_80", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra", f"-I{ROOT / 'include'}", "-Xptxas", "-v",
                   "-c", f"{folder}/where.cu", "-o", f"{folder}/where.o")
        assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said, said


def test_opencl() -> None:
    """A kernel in OpenCL C 1.2 that uses a plan runs on every device."""
    with tempfile.TemporaryDirectory() as folder:
        binary = f"{folder}/opencl"
        done = subprocess.run(["cc", "-std=c11", *WARNINGS, str(ROOT / "tests" / "layouts" / "nested" / "opencl.c"), "-lOpenCL", "-o", binary], capture_output=True,
                              text=True)
        if "CL/cl.h" in done.stderr or "cannot find -lOpenCL" in done.stderr:
            raise unittest.SkipTest("no OpenCL headers or library")
        assert done.returncode == 0, done.stderr
        said = run(binary, str(ROOT / "include"))
        if said.startswith("SKIP"):
            raise unittest.SkipTest(said.strip())
        assert said.startswith("PASS"), said
