"""Test `sett draw`. Each cell of the text is compared with models in plain Python that share no code with the headers,
and the SVG has the same cells. The marks of differing cells, cut pictures, errors and the bytes of files are tested
too.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import subprocess
from pathlib import Path
from typing import Callable, Dict, List, Tuple
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
Cells = Dict[Tuple[int, ...], str]
SVG = "{http://www.w3.org/2000/svg}"


def sett(*words: str, **how: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(ROOT / "build" / "sett"), *words], capture_output=True, text=True, timeout=900, **how)


def drawn(*words: str) -> str:
    done = sett("draw", *words)
    assert done.returncode == 0 and not done.stderr, (words, done.stderr)
    return done.stdout


def table(text: str, rank: int) -> "Cells":
    """Return the cells of a text picture by their indices. In a picture of rank 1, the second line of text continues the
    first.
    """
    cells: "Cells" = {}
    page: "Tuple[int, ...]" = ()
    columns: "List[int]" = []
    for line in text.split("\n\n", 1)[1].splitlines():
        words = line.replace("|", " ").split()
        if " = " in line and "," not in line.replace(", d", ""):
            page = tuple(int(n) for n in re.findall(r"= (-?\d+)", line))
        elif re.match(r"^\w+(\\\w+)?( +-?\d+)+\s*$", line.replace("|", " ")) and not words[0].lstrip("-").isdigit():
            columns = [int(n) for n in words[1:]]
        elif line.startswith("left out"):
            break
        elif words and set(line) - set(" -+"):
            row = int(words[0])
            for column, word in zip(columns, words[1:]):
                cells[(row + column,) if rank == 1 else (*page, row, column)] = word
    return cells


def svg_cells(text: str) -> "List[str]":
    """Return the texts of the cells of an SVG, from top to bottom."""
    tree = ElementTree.fromstring(text)
    found = [(float(item.get("y", 0)), float(item.get("x", 0)), item.text or "") for group in tree.iter(SVG + "g") if group.get("class") == "ink" for item in group]
    return [word for _, _, word in sorted(found)]


def same(words: "List[str]", sizes: "Tuple[int, ...]", at: "Callable[..., str]") -> None:
    """Check that the text and the SVG have exactly these cells."""
    wanted = {index: at(*index) for index in itertools.product(*(range(size) for size in sizes))}
    assert table(drawn(*words), len(sizes)) == wanted, words
    assert sorted(svg_cells(drawn_svg(*words))) == sorted(word for word in wanted.values() if word != "."), words


def drawn_svg(*words: str) -> str:
    path = ROOT / "build" / "test_draw.svg"
    assert drawn(*words, "--svg", str(path)) == ""
    return path.read_text()


# ---- models ------------------------------------------------------------------------------------------------------

def tiled(dims: "Tuple[int, int]", minor: "Tuple[int, int]", tile: "Tuple[int, int]") -> "Callable[..., str]":
    """Return the position of each element of a tiled array of rank 2, by the definition: tiles are row-major, and so are
    the elements of a tile, both in the order of the physical dimensions.
    """
    order = minor[::-1]

    def at(i: int, j: int) -> str:
        if i >= dims[0] or j >= dims[1]:
            return "."
        index = [(i, j)[d] for d in order]
        count = -(-dims[order[1]] // tile[1])
        return str(((index[0] // tile[0] * count + index[1] // tile[1]) * tile[0] + index[0] % tile[0]) * tile[1] + index[1] % tile[1])
    return at


def padded(dims: "Tuple[int, int]", minor: "Tuple[int, int]", tile: "Tuple[int, int]") -> "Tuple[int, int]":
    sizes = list(dims)
    for d, t in zip(minor[::-1], tile):
        sizes[d] = -(-dims[d] // t) * t
    return sizes[0], sizes[1]


@pytest.mark.parametrize("seed", range(6))
def test_tiled_shapes(seed: int) -> None:
    drawn_by = random.Random(seed)
    dims, tile = (drawn_by.randint(1, 9), drawn_by.randint(1, 9)), (drawn_by.randint(1, 4), drawn_by.randint(1, 4))
    minor = drawn_by.choice([(1, 0), (0, 1)])
    same([f"f32[{dims[0]},{dims[1]}]{{{minor[0]},{minor[1]}:T({tile[0]},{tile[1]})}}"], padded(dims, minor, tile), tiled(dims, minor, tile))


@pytest.mark.parametrize("seed", range(6))
def test_cute(seed: int) -> None:
    """The picture of a CuTe layout with a swizzle is right. Each of the two modes has two sizes, of which the first is
    the fastest.
    """
    drawn_by = random.Random(seed)
    shape, stride = [drawn_by.randint(1, 4) for _ in range(4)], [drawn_by.randint(0, 20) for _ in range(4)]
    bits, base = drawn_by.randint(0, 2), drawn_by.randint(0, 2)
    shift = bits + drawn_by.randint(0, 2)

    def at(i: int, j: int) -> str:
        value = i % shape[0] * stride[0] + i // shape[0] * stride[1] + j % shape[2] * stride[2] + j // shape[2] * stride[3]
        return str(value ^ (value >> shift & ((1 << bits) - 1) << base))

    text = "S<{},{},{}> o 0 o (({},{}),({},{})):(({},{}),({},{}))".format(bits, base, shift, *shape, *stride)
    same([text], (shape[0] * shape[1], shape[2] * shape[3]), at)


def test_strides_of_every_rank() -> None:
    same(["7@strides(3)+1"], (7,), lambda i: str(3 * i + 1))
    same(["40@strides(-2)+90"], (40,), lambda i: str(90 - 2 * i))
    same(["3x4@strides(5,1)+0"], (3, 4), lambda i, j: str(5 * i + j))
    same(["2x3x4@strides(20,1,4)+0"], (2, 3, 4), lambda i, j, k: str(20 * i + j + 4 * k))


def test_blocks_of_onednn() -> None:
    """A picture shows the blocks of a oneDNN tag: aB4b on 3 x 6 has two blocks of four columns, and the second is
    padded.
    """
    same(["3x6@aB4b"], (3, 8), lambda a, b: str(a * 8 + b) if b < 6 else ".")
    same(["6x3@Ab4a"], (8, 3), lambda a, b: str((a // 4 * 3 + b) * 4 + a % 4) if a < 6 else ".")


def test_triton_owners() -> None:
    """In the picture of a blocked encoding, each cell names the register, lane and warp that hold the element. If the
    tensor is larger than the block of all warps, further registers hold the rest. If it is smaller, several lanes or
    warps hold the same element.
    """
    text = "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [2, 2], warpsPerCTA = [1, 2], order = [1, 0]}>"
    same([f"4x8@{text}"], (4, 8), lambda i, j: f"{j // 4}:{j // 2 % 2 + i % 2 * 2}.{j % 2 + i // 2 * 2}")
    same([f"2x2@{text}"], (2, 2), lambda i, j: f"0:{i * 2}.{j}")
    assert "the smallest of 4 owners" in drawn(f"2x2@{text}")
    same(["8x8@#ttg.swizzled_shared<{vec = 2, perPhase = 2, maxPhase = 4, order = [1, 0]}>"], (8, 8), lambda r, c: str(r * 8 + (c ^ 2 * (r // 2 % 4))))
    same(["{in = [[1], [3]]} -> {out = 4}"], (4,), lambda i: str([0, 1, 3, 2].index(i)))


def test_fragments() -> None:
    same(["NV_MMA_SYNC_F32_16x8x16_F16.acc"], (16, 8), lambda i, j: f"{i % 8 * 4 + j // 2}.{j % 2 + i // 8 * 2}")
    layout = ("#iree_vector_ext.nested_layout<subgroup_tile = [2], batch_tile = [1], outer_tile = [1], thread_tile = [4], element_tile = [2], "
              "subgroup_strides = [1], thread_strides = [1]>")
    same([layout], (16,), lambda i: f"{i // 8}:{i // 2 % 4}.{i % 2}")


def test_maps() -> None:
    same(["(d0, d1) -> (d1, 7 - d0), domain: d0 in [0, 7], d1 in [0, 3]"], (8, 4), lambda i, j: f"{j},{7 - i}")
    same(["(d0)[s0] -> (d0 * 3 + s0), domain: d0 in [0, 3], s0 in [0, 2], d0 + s0 in [1, 4]"], (4, 3), lambda i, j: str(3 * i + j) if 1 <= i + j <= 4 else ".")
    same(["(d0) -> (d0 floordiv 10, d0 mod 10), domain: d0 in [0, 59]"], (60,), lambda i: f"{i // 10},{i % 10}")
    text = drawn("(d0, d1) -> (d0 * d1), domain: d0 in [3, 5], d1 in [-1, 1]")
    assert table(text, 2) == {(i, j): str(i * j) for i in range(3, 6) for j in range(-1, 2)}


def test_schedules() -> None:
    """If the map has a variable for a thread, such as th_x or t, each cell names the thread that writes the element, or
    is a dot if no thread writes it.
    """
    same(["(th_x, bl_x)[vec] -> (bl_x floordiv 2, (bl_x mod 2) * 8 + th_x * 2 + vec), domain: th_x in [0, 3], bl_x in [0, 7], vec in [0, 1]"], (4, 16),
         lambda i, j: f"{i * 2 + j // 8}:{j // 2 % 4}.{j % 2}")
    same(["(t) -> (t * 2), domain: t in [0, 3]"], (7,), lambda i: "." if i % 2 else str(i // 2))
    same(["(t)[s0] -> (t + s0), domain: t in [0, 3], s0 in [0, 1]"], (5,), lambda i: f"{max(i - 1, 0)}.{min(i, 1)}")


def test_accesses() -> None:
    """A picture of accesses has a column for each lane, a row for each step, and positions in the cells. A second
    picture shows the first step in the banks.
    """
    text = drawn("(t, b) -> (t, b), domain: t in [0, 31], b in [0, 3]", "f32[32,64]")
    lanes, banks = re.split(r"\n\nlanes of the first", text)
    assert table(lanes, 2) == {(b, t): str(t * 64 + b) for b in range(4) for t in range(32)}
    rows = [line.split() for line in banks.splitlines() if re.match(r" +\d+ ", line)]
    assert rows == [[str(t * 256), str(t)] for t in range(32)]
    assert "32 transactions of 32 bytes, 4 could hold it" in text and "32-way bank conflict" in text
    text = drawn("(t) -> (t), domain: t in [0, 31]", "bf16")
    assert [f"{t}+1" for t in range(0, 32, 2)] == text.split("\n\nlanes of the first")[1].split("byte\\bank")[1].splitlines()[1].split()[1:]
    assert "at most 2 transactions" in text and "no bank conflict" in text
    assert drawn("--lane", "a", "(a, b) -> (a * 2 + b), domain: a in [0, 3], b in [0, 1]", "f32").split("\n\n")[1].startswith("b\\a")


# ---- pairs -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(4))
def test_pairs(seed: int) -> None:
    """Cells that differ are marked in both pictures and counted, and the text names the first of them."""
    drawn_by = random.Random(seed)
    shape = (drawn_by.randint(1, 6), drawn_by.randint(1, 6))
    a, b = [tuple(drawn_by.randint(0, 3) for _ in range(2)) for _ in range(2)]
    words = [f"{shape[0]}x{shape[1]}@strides({x},{y})+0" for x, y in (a, b)]
    other = {(i, j): i * a[0] + j * a[1] != i * b[0] + j * b[1] for i in range(shape[0]) for j in range(shape[1])}
    text, svg = drawn(*words), drawn_svg(*words)
    count = sum(other.values())
    assert text.count("*") == 2 * count and svg.count('class="bold"') == 2 * count
    if not count:
        assert text.endswith("no cell differs\n")
        return
    i, j = next(index for index, differs in other.items() if differs)
    assert text.endswith(f"{count} of {len(other)} cells differ, the first at ({i}, {j}): {i * a[0] + j * a[1]} and {i * b[0] + j * b[1]}\n")


def test_pairs_of_notations() -> None:
    mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
    assert drawn(f"16x8@{mma}", f"16x8@{mma}").endswith("no cell differs\n")
    assert drawn("f32[4,6]{0,1}", "(4,6):(1,4)").endswith("no cell differs\n")
    # a fragment of a matrix instruction has no input `block`, so it is compared only with layouts of a single block
    fragment, turned = "NV_MMA_SYNC_F32_16x8x16_F16.acc", "16x8@#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [16, 2], warpsPerCTA = [1, 1], order = [1, 0]}>"
    assert drawn(fragment, f"16x8@{mma}").endswith("no cell differs\n") and drawn(f"16x8@{mma}", fragment).endswith("no cell differs\n")
    assert drawn(fragment, turned).endswith("124 of 128 cells differ, the first at (0, 2): 1.0 and 0.2\n")
    blocks = "{register = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2]], lane = [[8, 0]], warp = [], block = [[0, 4]]} -> {dim0 = 16, dim1 = 8}"
    done = sett("draw", blocks, fragment)
    assert done.returncode == 2 and "as many numbers of the same kind in each cell" in done.stderr
    assert drawn("(4,2):(1,4)", "(4,3):(1,4)").endswith("4 of 12 cells differ\n")


# ---- cuts, colours, bytes, errors --------------------------------------------------------------------------------

def test_cut() -> None:
    """Large pictures are cut: the cells that are drawn are right, and the numbers of rows and columns left out are
    stated.
    """
    text = drawn("f32[100000,100000]{1,0:T(8,128)}")
    cells = table(text, 2)
    rows, columns = (len({index[d] for index in cells}) for d in range(2))
    assert f"left out: {100096 - columns} of 100096 columns, {100000 - rows} of 100000 rows" in text
    at = tiled((100000, 100000), (1, 0), (8, 128))
    assert cells == {index: at(*index) for index in cells} and rows >= 32 and columns >= 16
    assert max(map(len, text.splitlines())) <= 240
    assert "left out: 992 of 1000 pages" in drawn("1000x2x2@strides(4,2,1)+0")
    for text in ("f32[0,5]", "f32[]", "1:0", "(d0) -> (7), domain: d0 in [0, 0]"):
        assert drawn(text) and ElementTree.fromstring(drawn_svg(text)) is not None
    assert len(svg_cells(drawn_svg("f32[300,300]"))) == 128 * 128


def test_far_values() -> None:
    """Values and indices at the ends of 64-bit integers are drawn."""
    low, high = -(1 << 63), (1 << 63) - 1
    cells = table(drawn(f"(d0, d1) -> (d0 * {1 << 62}, d1), domain: d0 in [-2, 1], d1 in [0, 1]"), 2)
    assert cells == {(i, j): f"{i * (1 << 62)},{j}" for i in range(-2, 2) for j in range(2)}
    cells = table(drawn(f"(d0, d1) -> (d0), domain: d0 in [{low}, {high}], d1 in [0, 1]"), 2)
    assert len(cells) > 32 and cells == {(i, j): str(i) for i, j in cells} and (low, 0) in cells
    assert table(drawn(f"(t) -> (t * {1 << 62}), domain: t in [-2, 1]"), 1)[low,] == "-2"


def test_same_bytes() -> None:
    words = ["(4,(2,4)):(2,(1,8))", "(4,8):(8,1)"]
    assert drawn(*words) == drawn(*words) and drawn_svg(*words) == drawn_svg(*words)
    assert drawn_svg("f32[3,5]{1,0:T(2,2)}").encode().isascii()


@pytest.mark.parametrize("text", ["<&\">", "(d0) -> (d0), domain: d0 in [0, 3]"])
def test_svg_is_xml(text: str, tmp_path: Path) -> None:
    done = sett("draw", text, "--svg", str(tmp_path / "x.svg"))
    assert (done.returncode == 0) == (tmp_path / "x.svg").exists()
    if done.returncode == 0:
        assert ElementTree.fromstring((tmp_path / "x.svg").read_text()).get("aria-label") == text


def test_svg_file(tmp_path: Path) -> None:
    """The SVG file appears only when it is complete, and no temporary file remains. A path that cannot be written is an
    error.
    """
    assert sett("draw", "4:1", "--svg", str(tmp_path / "x.svg")).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["x.svg"]
    done = sett("draw", "4:1", "--svg", str(tmp_path / "none" / "x.svg"))
    assert done.returncode == 2 and done.stderr == f"error: {tmp_path}/none/x.svg cannot be written: No such file or directory\n"
    assert sett("draw", "4:2", f"--svg={tmp_path / 'x.svg'}").returncode == 0 and "4:2" in (tmp_path / "x.svg").read_text()
    (tmp_path / "link.svg").symlink_to("x.svg")
    assert sett("draw", "4:3", "--svg", str(tmp_path / "link.svg")).returncode == 0    # /dev/stdout is a symbolic link, too; it must not be replaced
    assert (tmp_path / "link.svg").is_symlink() and "4:3" in (tmp_path / "x.svg").read_text()
    (tmp_path / "link.svg").unlink()
    done = sett("draw", "4:", "--svg", str(tmp_path / "y.svg"))
    assert done.returncode == 2 and [path.name for path in tmp_path.iterdir()] == ["x.svg"]
    done = sett("draw", "--svg", str(tmp_path / "z.svg"), "-", input="4:1\n")
    assert done.returncode == 2 and "expected --svg with one picture" in done.stderr


def terminal(**environment: str) -> str:
    """Return the output of the command on a terminal."""
    import pty

    side, other = pty.openpty()
    done = subprocess.run([str(ROOT / "build" / "sett"), "draw", "f32[3,5]{1,0:T(2,2)}"], stdout=other, env={"TERM": "xterm-256color", **environment}, timeout=900)
    os.close(other)
    text = os.read(side, 1 << 16).decode().replace("\r\n", "\n")
    os.close(side)
    assert done.returncode == 0
    return text


def test_colours() -> None:
    """On a terminal the cells have colours, unless NO_COLOR is set. Elsewhere the text is the same without colours."""
    plain = drawn("f32[3,5]{1,0:T(2,2)}")
    assert "\x1b" not in plain and terminal(NO_COLOR="1") == plain
    coloured = terminal()
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines()]
    assert lines == plain.splitlines() and len(set(re.findall(r"\x1b\[30;48;5;(\d+)m", coloured))) == 6


@pytest.mark.parametrize("words, said", [
    (["f32[3,"], "error: 7: expected a dimension"), (["(4,8):(8,1"], "error: 11: expected"), (["foo"], "error: 1: expected a layout"),
    (["(d0) -> (d0"], "error: 12: expected"), (["4:1", "foo"], "error: 1: expected a layout.*in OTHER"), (["S<2,0,2>"], "error: 1: expected a layout with a size"),
    (["4:1", "(2,2):(1,2)"], "error: 1: expected a layout with as many dimensions"), (["KNOWN EMPTY"], "error: 1: expected a map with points"),
    (["4:1", "{in = [[1], [3]]} -> {out = 4}"], "error: 1: expected .* places or owners"), (["4:1", "--svg"], "error: expected one --svg"),
    (["(t) -> (t), domain: t in [0, 9999999]"], "error: 1: expected a map of threads with at most 524288 points"), ([], "error: expected: draw "),
    (["--lane", "t", "4:1"], "error: expected --lane with an access"), (["4:1", "4:1", "4:1"], "error: expected: draw ")])
def test_errors(words: "List[str]", said: str) -> None:
    done = sett("draw", *words)
    assert done.returncode == 2 and not done.stdout and re.match(said, done.stderr), done.stderr


@pytest.mark.parametrize("text, said", [("f32[0,4]", "0 x 4: position in memory"), ("(4,0):(1,4)", "4 x 0: offset in memory"), ("0:1", "0: offset in memory"),
                                        ("S<1,0,1> o 0 o (0,4):(4,1)", "0 x 4: offset in memory"), ("0x4@aB16b", "0 x 4, padded to 0 x 16: offset in memory"),
                                        ("0x4@strides(4,1)", "0 x 4: offset in memory"), ("(0,4):(1@0,1@1)", "0 x 4: offset in memory")])
def test_empty(text: str, said: str) -> None:
    """The picture of an array without elements has its title and its sizes."""
    assert drawn(text).splitlines()[:2] == [text, said]


@pytest.mark.parametrize("text", ["f32[N,N]{1,0:T(8,128)}", "S<3,3,3> o 0 o (N,N):(N,1)",
                                  "NxN@#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"])
def test_time(text: str, tmp_path: Path) -> None:
    """A picture of 128 x 128 has 16 times as many cells as a picture of 32 x 32, and takes at most 40 times as long.
    The time is the processor time of the whole process, the best of five runs.
    """
    def seconds(size: int) -> float:
        times = []
        for _ in range(5):
            child = subprocess.Popen([str(ROOT / "build" / "sett"), "draw", text.replace("N", str(size)), "--svg", str(tmp_path / "x.svg")])
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = status
            times.append(used.ru_utime + used.ru_stime)
            assert status == 0
        return min(times)
    assert seconds(128) < 40 * seconds(32)
