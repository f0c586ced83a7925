"""Compare `sett layout same` and `convert` with models of the notations. A model is written from the notation's
definition, shares no code with the headers, and gives the complete table from coordinates to values.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import random
import re
import subprocess

import pytest

from test_notation import ROOT, SEED, TIMES, answers, chain_of, leaves, model, one, peer, product, trimmed, tuple_of, xor


# ---- models of the notations: the inputs, and the value at each input
# ---------------------------------------------------

class Table:
    """The values of a layout.

    owners: true for a distribution to threads, from (register, lane, warp, block) to the index in an array; false for
    a layout in memory, from the index to the offset.

    dims: the sizes of the array. For CuTe's distributions only their number is known.

    first: true if the first input is the fastest.
    """

    def __init__(self, kind: str, owners: bool, first: bool, inputs: "list[int]", value, dims: "list[int]" = ()) -> None:
        self.kind, self.owners, self.first, self.inputs, self.value, self.dims = kind, owners, first, inputs, functools.lru_cache(None)(value), list(dims)
        self.wraps = kind == "iree"

    def points(self, inputs: "list[int] | None" = None):
        """Return all coordinates, in the order in which the notation counts them."""
        inputs = self.inputs if inputs is None else inputs
        if not self.first:
            return itertools.product(*map(range, inputs))
        return (tuple(reversed(point)) for point in itertools.product(*map(range, reversed(inputs))))


def strides_table(text: str) -> Table:
    dims, steps, offset = re.fullmatch(r"([\dx]+)@strides\(([-\d,]+)\)\+?(-?\d+)?", text).groups()
    steps = [int(step) for step in steps.split(",")]
    return Table("strides", False, False, [int(size) for size in dims.split("x")],
                 lambda at: sum(i * step for i, step in zip(at, steps)) + int(offset or 0))


def tag_table(text: str) -> Table:
    dims, tag = text.split("@")
    dims = [int(size) for size in dims.split("x")]
    letters = re.match("[a-zA-Z]+?(?=\\d|$)", tag)[0].lower()
    blocks = [(ord(letter) - 97, int(size)) for size, letter in re.findall(r"(\d+)([a-z])", tag)]
    padded = [math.ceil(size / math.prod(b for e, b in blocks if e == d)) for d, size in enumerate(dims)]

    def value(at):
        digits, rest = [], list(at)
        for d, size in reversed(blocks):
            digits.append((rest[d] % size, size))
            rest[d] //= size
        digits += [(rest[ord(letter) - 97], padded[ord(letter) - 97]) for letter in reversed(letters)]
        total, step = 0, 1
        for digit, size in digits:
            total, step = total + digit * step, step * size
        return total
    return Table("onednn", False, False, dims, value)


def xla_table(text: str) -> Table:
    dims, order, tiles = re.fullmatch(r"\w+\[([\d,]*)\]\{([\d,]*)(?::T((?:\([\d,]+\))+))?\}", text).groups()
    dims, order = [[int(n) for n in part.split(",") if n] for part in (dims, order)]
    tiles = [[int(n) for n in tile.split(",")] for tile in re.findall(r"\(([\d,]+)\)", tiles or "")]

    def value(at):
        sizes, digits = [dims[d] for d in reversed(order)], [at[d] for d in reversed(order)]
        for tile in tiles:
            while len(sizes) < len(tile):
                sizes, digits = [1, *sizes], [0, *digits]
            front = len(sizes) - len(tile)
            counts = [math.ceil(size / t) for size, t in zip(sizes[front:], tile)]
            sizes = [*sizes[:front], *counts, *tile]
            digits = [*digits[:front], *(i // t for i, t in zip(digits[front:], tile)), *(i % t for i, t in zip(digits[front:], tile))]
        total = 0
        for digit, size in zip(digits, sizes):
            total = total * size + digit
        return total
    return Table("xla", False, False, dims, value)


def cute_table(text: str) -> Table:
    chain = chain_of(text)
    shape = chain[-1][0]
    modes = shape if isinstance(shape, tuple) else (shape,)
    owners = any(isinstance(leaf, dict) for leaf in leaves(chain[-1][1]))
    rank = 1 + max([key[0] for leaf in leaves(chain[-1][1]) if isinstance(leaf, dict) for key in leaf], default=0)

    def value(at):
        got = model(chain, at if isinstance(shape, tuple) else at[0])
        return tuple(got.get((d,), 0) if isinstance(got, dict) else got for d in range(rank)) if owners else got
    return Table("cute", owners, True, [product(mode) for mode in modes], value, [0] * rank)


def linear_table(text: str) -> Table:
    ins, outs = text.split(" -> ")
    names = re.findall(r"(\w+) = \[((?:\[[-\d, ]+\](?:, )?)*)\]", ins)
    bases = [json.loads(f"[{basis}]") for _, basis in names]
    sizes = {name: int(size) for name, size in re.findall(r"(\w+) = (\d+)", outs)}
    inputs = [1 << len(basis) for basis in bases]

    def value(at):
        return tuple(map(int, xor(sum(bases, []), sum(i << sum(map(len, bases[:k])) for k, i in enumerate(at)), len(sizes))))
    if names[0][0] == "offset":
        found = {value(at): at[0] for at in itertools.product(*map(range, inputs))}
        return Table("triton", False, False, list(sizes.values()), found.__getitem__)
    if list(sizes) == ["offset"]:
        return Table("triton", False, False, inputs, lambda at: value(at)[0])
    return Table("triton", True, True, inputs, value, list(sizes.values()))


def mosaic_fields(text: str) -> "tuple[list[int], list[list[int]], list, list, int]":
    """Parse DIMS@TiledLayout(..). Return the sizes of the array, the tiles, the (dimension, copies) of the warps and of
    the lanes, and the dimension of the vector. Dimensions are those of the tiled array, counted from the end (-1, -2,
    ..).
    """
    dims, text = text.split("@", 1)
    dims = [int(size) for size in dims.split("x")]
    tiles = [[int(n) for n in re.findall(r"\d+", tile)] for tile in re.findall(r"\(([\d, ]+)\)", re.search(r"tiles=\((.*?)\)\)", text)[1] + ")")]
    warps, lanes = ([(int(n or 0), int(copies or 0)) for copies, n in re.findall(r"Replicated\(times=(\d+)\)|(-\d+)", re.search(rf"{key}_dims=\((.*?)\), (?:lane|vector)_dim", text)[1] + ",")]
                    for key in ("warp", "lane"))
    return dims, tiles, warps, lanes, int(re.search(r"vector_dim=(-\d+)", text)[1])


def tiled_shape(dims: "list[int]", tiles: "list[list[int]]") -> "tuple[list[int], list[int]]":
    """Return the sizes of the dimensions into which the tiles split an array, most major first, and the array's
    dimension from which each of them comes.
    """
    sizes, source = list(dims), list(range(len(dims)))
    for tile in tiles:
        front = len(sizes) - len(tile)
        sizes = [*sizes[:front], *(size // t for size, t in zip(sizes[front:], tile)), *tile]
        source += source[front:]
    return sizes, source


def mosaic_table(text: str) -> Table:
    dims, tiles, warps, lanes, vector = mosaic_fields(text)
    sizes, source = tiled_shape(dims, tiles)
    taken = {len(sizes) + n: (key, i) for key, entries in (("w", warps), ("l", lanes)) for i, (n, copies) in enumerate(entries) if not copies}
    taken[len(sizes) + vector] = ("v", 0)
    rest = [k for k in range(len(sizes)) if k not in taken]

    def split(number: int, parts: "list[int]") -> "list[int]":
        digits = []
        for size in reversed(parts):
            digits.append(number % size)
            number //= size
        return digits[::-1]

    def value(at):
        register, lane, warp = at
        digits = [0] * len(sizes)
        for k, digit in zip(rest, split(register // sizes[vector], [sizes[k] for k in rest])):
            digits[k] = digit
        digits[len(sizes) + vector] = register % sizes[vector]
        for number, entries in ((lane, lanes), (warp, warps)):
            for (n, copies), digit in zip(entries, split(number, [copies or sizes[n] for n, copies in entries])):
                if not copies:
                    digits[n] = digit
        index = [0] * len(dims)
        for k, digit in enumerate(digits):
            index[source[k]] = index[source[k]] * sizes[k] + digit
        return tuple(index)
    return Table("mosaic", True, True, [math.prod(sizes[k] for k in rest) * sizes[vector], 32, 4], value, dims)


def iree_table(text: str) -> Table:
    field = {key: [int(n) for n in numbers.split(",") if n.strip()] for key, numbers in re.findall(r"(\w+) = \[([-\d, ]*)\]", text)}
    rank = len(field["element_tile"])
    slots = [n for key in ("batch_tile", "outer_tile", "element_tile") for n in field[key]]

    def value(at):
        slot, thread, group = at
        digits = []
        for size in reversed(slots):
            digits.append(slot % size)
            slot //= size
        digits.reverse()
        index = []
        for d in range(rank):
            lane = thread // field["thread_strides"][d] % field["thread_tile"][d] if field["thread_strides"][d] else 0
            own = group // field["subgroup_strides"][d] % field["subgroup_tile"][d] if field["subgroup_strides"][d] else 0
            total = own
            for key, digit in (("batch_tile", digits[d]), ("outer_tile", digits[rank + d]), ("thread_tile", lane), ("element_tile", digits[2 * rank + d])):
                total = total * field[key][d] + digit
            index.append(total)
        return tuple(index)
    period = [math.prod(slots), *(max([1, *(s * t for s, t in zip(field[f"{key}_strides"], field[f"{key}_tile"]))]) for key in ("thread", "subgroup"))]
    dims = [math.prod(field[f"{key}_tile"][d] for key in ("subgroup", "batch", "outer", "thread", "element")) for d in range(rank)]
    return Table("iree", True, True, period, value, dims)


def padded_table(text: str) -> Table:
    dims = [int(size) for size in text.split("@")[0].split("x")]
    pads = [(int(interval), int(pad)) for interval, pad in re.findall(r"(\d+):\+(\d+)", text)]
    if "order" in text:
        order = [int(d) for d in re.search(r"order = \[([\d, ]*)\]", text)[1].split(",")]
        bases = [[(1 << k) * (e == d) for e in range(len(dims))] for d in order for k in range(dims[d].bit_length() - 1)]
    else:
        bases = json.loads(re.search(r"offset = (\[.*?\]), block", text)[1])
    found = {xor(bases, number, len(dims)): number for number in range(math.prod(dims))}
    return Table("padded", False, False, dims, lambda at: found[tuple(at)] + sum(found[tuple(at)] // interval * pad for interval, pad in pads))


@functools.lru_cache(None)
def table_of(text: str) -> Table:
    """Return the table of a text that `sett` printed, by the model of its notation."""
    return (iree_table if text.startswith("#iree") else padded_table if "padded_shared" in text else linear_table if text.startswith("{") else mosaic_table if "TiledLayout" in text else strides_table if "@strides" in text
            else xla_table if re.match(r"\w+\[", text) else tag_table if re.match(r"[\dx]+@[a-zA-Z]+\d*", text) else cute_table)(text)


def compare(a: Table, b: Table):
    """Return "yes", "no", or (point, value, value) at the first difference. In distributions to threads, inputs of size
    1 do not count.
    """
    if a.owners != b.owners:
        return "no"
    inputs = [list(a.inputs), list(b.inputs)]
    for mine, other in (0, 1), (1, 0):
        for k in range(1, min(map(len, inputs))):
            if (a, b)[mine].wraps and inputs[mine][k] < inputs[other][k] and inputs[other][k] % inputs[mine][k] == 0:
                inputs[mine][k] = inputs[other][k]
    kept = [[k for k, size in enumerate(sizes) if size > 1 or not a.owners] for sizes in inputs]
    if len(kept[0]) != len(kept[1]):
        return "no"
    for (k, j) in zip(*kept):
        if a.kind != "cute" and b.kind != "cute" and a.owners and k != j:
            return "no"
        if inputs[0][k] != inputs[1][j]:
            return "no"
    if a.owners:
        rank = max(len(a.dims), len(b.dims))
        dims = [table.dims + [0] * (rank - len(table.dims) if table.kind == "cute" else 0) for table in (a, b)]
        if len(dims[0]) != len(dims[1]) or any(x and y and x != y for x, y in zip(*dims)):
            return "no"
    for point in a.points(inputs[0]):
        other = [0] * len(inputs[1])
        for k, j in zip(*kept):
            other[j] = point[k]
        x, y = a.value(point), b.value(tuple(other))
        if a.owners:
            x, y = (value + (0,) * (rank - len(value)) for value in (x, y))
        if x != y:
            return [point[k] for k in kept[0]], x, y
    return "yes"


# ---- random layouts
# -----------------------------------------------------------------------------------------------------

def draw_dims(rng: random.Random, two: bool = False) -> "list[int]":
    return [rng.choice([1, 2, 4, 8, 16] if two else [1, 2, 3, 4, 5, 6, 8, 12, 17]) for _ in range(rng.randint(1, 3))]


def draw_place(rng: random.Random, dims: "list[int]") -> str:
    """Return a random layout in memory (from the index to the offset) of an array with these dimensions."""
    kind, rank = rng.randrange(5), len(dims)
    shown = "x".join(map(str, dims))
    if all(size & size - 1 == 0 for size in dims) and math.prod(dims) > 1 and rng.random() < 0.2:
        intervals = rng.sample([1, 2, 4, 8, 16, 64], rng.randint(1, 3))
        pads = ", ".join(f"{interval}:+{rng.choice([1, 2, 4, 8])}" for interval in intervals)
        if rng.random() < 0.4:
            return f"{shown}@#ttg.padded_shared<[{pads}] {{order = {rng.sample(range(rank), rank)}, shape = {dims}}}>"
        bases = [[(1 << k) * (e == d) for e in range(rank)] for d in range(rank) for k in range(dims[d].bit_length() - 1)]
        rng.shuffle(bases)
        if len(bases) > 1 and rng.random() < 0.4:
            i, j = rng.sample(range(len(bases)), 2)
            bases[i] = [a ^ b for a, b in zip(bases[i], bases[j])]
        return f"{shown}@#ttg.padded_shared<[{pads}] {{offset = {bases}, block = []}}>"
    if kind == 0:
        order, step, steps = rng.sample(range(rank), rank), 1, [0] * rank
        for d in order:
            steps[d] = step
            step *= dims[d] * rng.choice([1, 1, 1, 2])
        return f"{shown}@strides({','.join(map(str, steps))})+{rng.choice([0, 0, 3])}"
    if kind == 1:
        blocks = [(rng.randrange(rank), rng.choice([2, 2, 4, 3, 8])) for _ in range(rng.randint(0, 3))]
        letters = "".join(chr((65 if any(d == e for e, _ in blocks) else 97) + d) for d in rng.sample(range(rank), rank))
        return f"{shown}@{letters}{''.join(f'{size}{chr(97 + d)}' for d, size in blocks)}"
    if kind == 2:
        tiles, most = [], rank
        for _ in range(rng.randint(0, 3)):
            most = rng.randint(1, most)
            tiles.append([rng.choice([1, 2, 4, 8, 3]) for _ in range(most)])
        shown = "".join("(" + ",".join(map(str, tile)) + ")" for tile in tiles)
        return f"f32[{','.join(map(str, dims))}]{{{','.join(map(str, rng.sample(range(rank), rank)))}{':T' + shown if shown else ''}}}"
    digits = []
    for d, size in enumerate(dims):
        parts = []
        while size > 1:
            part = rng.choice([p for p in range(2, size + 1) if size % p == 0])
            parts.append(part)
            size //= part
        digits += [(d, k, part) for k, part in enumerate(parts)] or [(d, 0, 1)]
    step, stride = 1, {}
    for digit in (digits if rng.random() < 0.3 else rng.sample(digits, len(digits))):
        stride[digit] = step
        step *= digit[2] * rng.choice([1] * 9 + [2])
    modes = [[digit for digit in digits if digit[0] == d] for d in range(rank)]
    show = [",".join(f"({','.join(map(str, map(part, mode)))})" if len(mode) > 1 else str(part(mode[0])) for mode in modes) for part in (lambda digit: digit[2], stride.get)]
    text = f"({show[0]}):({show[1]})"
    swizzle = rng.choice(["", "", "", "S<1,0,1>", "S<2,0,2>", "S<1,1,3>", "S<2,1,-2>"]) if kind == 4 else ""
    return f"{swizzle} o {rng.choice([0, 0, 0, 64])} o {text}" if swizzle else text


def draw_owner(rng: random.Random) -> str:
    """Return a random distribution to threads (from register, lane, warp and block to the index)."""
    kind = rng.randrange(4)
    if kind == 0:
        sizes = {f"dim{d}": rng.choice([2, 4, 8, 16]) for d in range(rng.randint(1, 2))}
        bits = sum(size.bit_length() - 1 for size in sizes.values())
        bases = [[1 << k if e == d else 0 for e in range(len(sizes))] for d, size in enumerate(sizes.values()) for k in range(size.bit_length() - 1)]
        rng.shuffle(bases)
        if rng.random() < 0.3:
            bases[rng.randrange(bits)] = [rng.randrange(size) for size in sizes.values()]
        for _ in range(rng.choice([0, 0, 1])):
            bases.insert(rng.randrange(bits + 1), [0] * len(sizes))
        cut = sorted(rng.randint(0, len(bases)) for _ in range(2))
        spans = [bases[:cut[0]], bases[cut[0]:cut[1]], bases[cut[1]:], []]
        return "{" + ", ".join(f"{name} = {span}" for name, span in zip(("register", "lane", "warp", "block"), spans)) + "} -> {" + ", ".join(
            f"{name} = {size}" for name, size in sizes.items()) + "}"
    if kind == 1:
        rank = rng.randint(1, 2)
        field = {key: [rng.choice([1, 1, 1, 2, 4, 3]) for _ in range(rank)] for key in ("subgroup_tile", "batch_tile", "outer_tile", "thread_tile", "element_tile")}
        if math.prod(sum(field.values(), [])) > 1000:
            return draw_owner(rng)
        for key in ("subgroup", "thread"):
            step, steps = 1, [0] * rank
            for d in rng.sample(range(rank), rank):
                steps[d] = step
                step *= field[f"{key}_tile"][d]
            field[f"{key}_strides"] = steps
        return "#iree_vector_ext.nested_layout<" + ", ".join(f"{key} = {numbers}" for key, numbers in field.items()) + ">"
    if kind == 2:
        texts = [("64,8),(16,8),(8,8),(2,", "(-7,)", "(-3, -2)", "-1", [64, 8]), ("64,),(16,),(8,),(1,", "(-4,)", "(-2, Replicated(times=4))", "-1", [64]),
                 ("64,16),(16,16),(8,16),(4,", "(-7,)", "(-3, -2)", "-1", [64, 16]), ("64,8),(16,8),(8,8),(2,2),(2,1", "(-10,)", "(-6, -3, -5)", "-2", [64, 8]),
                 ("32,8),(4,", "(Replicated(times=4),)", "(-3,)", "-1", [32, 8])]
        tiles, warps, lanes, vector, dims = rng.choice(texts)
        shape = [dims[0] * rng.choice([1, 1, 3]), *(size * rng.choice([1, 2]) for size in dims[1:])]
        tiles = tiles.replace("),(", "), (")
        return f"{'x'.join(map(str, shape))}@TiledLayout(tiling=Tiling(tiles=(({tiles}))), warp_dims={warps}, lane_dims={lanes}, vector_dim={vector})"
    modes, rank = rng.randint(1, 3), rng.randint(1, 2)
    weight = [1] * rank
    shape, stride = [], []
    for _ in range(modes):
        parts, steps = [], []
        for _ in range(rng.randint(1, 2)):
            d, size = rng.randrange(rank), rng.choice([2, 2, 4, 3])
            parts.append(size)
            steps.append(f"{weight[d]}@{d}")
            weight[d] *= size
        shape.append(parts)
        stride.append(steps)
    return "(" + ",".join("(" + ",".join(map(str, part)) + ")" for part in shape) + "):(" + ",".join("(" + ",".join(part) + ")" for part in stride) + ")"


def canonical(texts: "list[str]") -> "list[str]":
    """Return the texts as `sett` prints them. Check that none is refused."""
    said = answers("", [[text] for text in texts])
    assert not [line for line in said if line.startswith("error")], [pair for pair in zip(texts, said) if pair[1].startswith("error")][:3]
    return [line.split("\t")[1] for line in said]


def drawn_pairs(rng: random.Random, count: int) -> "list[list[str]]":
    """Return random pairs of layouts. Most pairs are two layouts of one array in memory, the remaining pairs two
    distributions to threads.
    """
    pairs = []
    while len(pairs) < count:
        dims = draw_dims(rng, rng.random() < 0.5)
        if math.prod(dims) <= 600:
            pairs.append([draw_place(rng, dims), draw_place(rng, dims)])
        if len(pairs) % 3 == 0:
            pairs.append([draw_owner(rng), draw_owner(rng)])
    return pairs


def numbers(text: str):
    return tuple(map(int, re.findall(r"-?\d+", text)))


def assert_same(pairs: "list[list[str]]") -> "dict[str, int]":
    """Compare the answers of `layout same`, and the points in them, with those found by comparing complete tables."""
    counts = {"yes": 0, "at": 0, "no": 0}
    for (a, b), said in zip(pairs, answers("same", pairs)):
        x, y = table_of(a), table_of(b)
        wanted = compare(x, y)
        if isinstance(wanted, str):
            assert said.split(":")[0] == wanted and (wanted == "yes" or ": at" not in said), (a, b, said, wanted)
            counts[wanted] += 1
            continue
        flat = lambda value: value if isinstance(value, tuple) else (value,)  # noqa: E731
        assert said.startswith("no: at "), (a, b, said, wanted)
        assert numbers(said) == (*wanted[0], *flat(wanted[1]), *flat(wanted[2])), (a, b, said, wanted)
        counts["at"] += 1
    return counts


@pytest.mark.drawn
def test_same() -> None:
    """`layout same` is right for random pairs, and answers yes for pairs that are one function in two notations."""
    rng = random.Random(31 + SEED)
    pairs = drawn_pairs(rng, 1500 * TIMES)
    pairs = [list(pair) for pair in zip(canonical([a for a, _ in pairs]), canonical([b for _, b in pairs]))]
    # leave out two CuTe layouts with different modes: `same` compares them as functions of an integer, but the model's
    # table has the modes
    pairs = [pair for pair in pairs if not all(table_of(text).kind == "cute" for text in pair) or table_of(pair[0]).inputs == table_of(pair[1]).inputs]
    counts = assert_same(pairs)
    assert counts["at"] > 500 and counts["yes"] > 30 and counts["no"] > 30, counts


SAME = [("f32[64,64]{1,0:T(32,32)(16,16)}", "((16,2,2),(16,2,2)):((16,512,2048),(1,256,1024))"), ("f32[70,300]{1,0:T(8,128)}", "70x300@AB8a128b"),
        ("8x64@#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>", "S<3,3,3> o 0 o (8,64):(64,1)"),
        ("64x16@TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))), warp_dims=(-7,), lane_dims=(-3, -2), vector_dim=-1)",
         "64x16@#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8, 16]}>"),
        ("16x8@#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>", "((2,2),(4,8)):((1@1,8@0),(2@1,1@0))"),
        ("16x16@#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]}>",
         "#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 1], outer_tile = [1, 1], thread_tile = [4, 8], element_tile = [1, 2], "
         "subgroup_strides = [1, 1], thread_strides = [8, 1]>"),
        ("(12):(1)", "(4,3):(1,4)"),
        ("NV_MMA_SYNC_F32_16x8x16_F16.acc", "16x8@#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"), ("f32[1000000007,998244353]{1,0:T(8,128)}", "1000000007x998244353@AB8a128b"), ("S<2,0,2> o 0 o S<2,0,2> o 0 o (4,4):(4,1)", "(4,4):(4,1)"),
        ("64x64@T(32,32)(16,16)", "((16,2,2),(16,2,2)):((16,512,2048),(1,256,1024))"),
        ("64x64@#ttg.padded_shared<[64:+8] {order = [1, 0], shape = [64, 64]}>", "(64,64):(72,1)"),
        ("16x8@#mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>",
         "16x8@#triton_gpu.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], CTAsPerCGA = [1, 1], CTASplitNum = [1, 1], CTAOrder = [1, 0], instrShape = [16, 8]}>"),
        ("8x8@#shared<{vec = 2, perPhase = 2, maxPhase = 4, order = [1, 0], hasLeadingOffset = false}>",
         "8x8@#ttg.swizzled_shared<{vec = 2, perPhase = 2, maxPhase = 4, order = [1, 0]}>"),
        ("f32[6,10]{1,0:T(4,4)(3,2)}", "f32[6,10]{1,0:T(4,4)(3,2)}"), ("f32[60000,10000]{1,0:T(4,4)(3,2)}", "bf16[60000,10000]{1,0:T(4,4)(3,2)}"),
        ("64x128@#ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1], CTAsPerCGA = [1, 2], CTASplitNum = [1, 2], CTAOrder = [1, 0]}>",
         "64x128@#ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1], CGALayout = [[0, 1]]}>"),
        ("64x128@#ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1], CTAsPerCGA = [4, 2], CTASplitNum = [2, 2], CTAOrder = [0, 1]}>",
         "64x128@#ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1], CGALayout = [[1, 0], [0, 0], [0, 1]]}>"), ("f32[4,6]{1,0:T(*,8)}", "4x6@strides(6,1)")]
# Pairs of layouts with the first difference that `layout same` must name.
DIFFER = [("f32[64,64]{1,0:T(32,32)(16,16)}", "f32[64,64]{1,0:T(32,32)}", "at (0,16): 256, 16"), ("(2,2):(1,1)", "{dim0 = [[1]], dim1 = [[1]]} -> {offset = 2}", "at (1,1): 2, 0"),
          ("4:1", "{dim0 = [[1], [3]]} -> {offset = 4}", "at (2): 2, 3"), ("4x8@strides(8,1)", "4x8@strides(8,1)+1", "at (0,0): 0, 1"),
          ("S<2,0,2> o 4 o 4:1", "4 o 0 o 4:1", ""), ("1000000007x3@strides(3,1)", "f32[1000000007,3]{1,0:T(8,4)}", "at (1,0): 3, 4"),
          ("f32[4,6]{1,0}", "f32[6,4]{1,0}", "different sizes"), ("4:1", "2:1@0", "one gives the offset")]


@pytest.mark.parametrize("a, b", SAME, ids=lambda value: None)
def test_same_text(a: str, b: str) -> None:
    assert one("same", a, b) == (0, "yes") and one("same", b, a) == (0, "yes")


@pytest.mark.parametrize("a, b, where", DIFFER, ids=lambda value: None)
def test_differs(a: str, b: str, where: str) -> None:
    status, said = one("same", a, b)
    assert status in (1, 2) if not where else (status == 1 and said.startswith(f"no: {where}")), said


def test_mosaic_cases() -> None:
    """In Mosaic's layouts each element is in the right registers, lanes and warps."""
    rows = [row for row in peer(["mosaic"]) if row["op"] == "mosaic_tiled"]
    texts = [["x".join(map(str, row["args"][1])) + "@" + row["args"][0]] for row in rows]
    for row, said in zip(rows, answers("table", texts)):
        value = [[list(part)] if isinstance(part[0], int) else [list(owner) for owner in part] for part in tuple_of(f"({said})")]
        assert value == row["meaning"]["values"], row["args"]
    again = answers("", texts)
    assert answers("", [[line.split("\t")[1]] for line in again]) == again


@pytest.mark.drawn
def test_tables() -> None:
    """`layout table` equals the model in every notation, and `layout map` has the values of `layout at`."""
    rng = random.Random(7 + SEED)
    texts = canonical([draw_place(rng, draw_dims(rng)) for _ in range(300 * TIMES)] + [draw_owner(rng) for _ in range(300 * TIMES)])
    for text, said in zip(texts, answers("table", [[text] for text in texts])):
        table = table_of(text)
        if table.kind == "mosaic":
            continue
        if table.kind == "iree":
            values = [trimmed(table.value(tuple(reversed(point)))) for point in itertools.product(*map(range, reversed(table.inputs)))]
        else:
            values = [trimmed(table.value(point)) for point in table.points()]
        got = [trimmed(value) for value in tuple_of(f"({said})")]
        assert got == [value[0] if isinstance(value, list) and len(value) == 1 else value for value in values] or got == values, (text, said)


# ---- conversion ---------------------------------------------------------------------------------------------------------------------------------------

PLACES = ["cute", "triton", "onednn", "strides", "xla"]
OWNERS = ["cute", "triton", "mosaic", "iree"]
CONVERT = [("f32[64,64]{1,0:T(32,32)(16,16)}", "cute", "((16,2,2),(16,2,2)):((16,512,2048),(1,256,1024))"), ("f32[70,300]{1,0:T(8,128)}", "onednn", "70x300@AB8a128b"),
           ("70x300@AB8a128b", "xla", "f32[70,300]{1,0:T(8,128)}"), ("{dim0 = [[1], [3]]} -> {offset = 4}", "cute", "S<1,0,1> o 0 o 4:1"),
           ("8x64@#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>", "cute", "S<3,3,3> o 0 o (8,64):(64,1)"),
           ("S<2,0,2> o 0 o (4,4):(4,1)", "triton", "{offset = [[0, 1], [0, 2], [1, 1], [2, 2]], block = []} -> {dim0 = 4, dim1 = 4}"), ("4x8@strides(8,1)+3", "cute", "S<0,4,3> o 3 o (4,8):(8,1)"),
           ("():()", "xla", "f32[]"), ("(4,8):(8,1)", "map", "(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]"), ("300x70@AB8a128b", "xla", "f32[300,70]{1,0:T(128)}"),
           ("2x17x3x3@aBcd16b", "xla", "f32[2,17,3,3]{3,2,1,0:T(16,1,1)}"), ("f32[5,3]{1,0:T(128)}", "onednn", "5x3@aB128b"),
           ("f32[4096,1048576]{1,0:T(8,128)(2,1)}", "onednn", "4096x1048576@AB4a128b2a"),
           ("{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []} -> {dim0 = 64, dim1 = 16}", "mosaic",
            "64x16@TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))), warp_dims=(-7,), lane_dims=(-3, -2), vector_dim=-1)"),
           ("((2,2),(4,8)):((1@1,8@0),(2@1,1@0))", "triton", "{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []} -> {dim0 = 16, dim1 = 8}")]
# A layout, a notation that cannot write it, and the expected answer. The answer gives the reason, and if possible points whose values prove it.
NO = [("3:1", "triton", "no: a size is no power of two"), ("4:3", "triton", "no: the values of these are not the XOR of each other: at (2) 6, at (1) 3, at (3) 9"),
      ("(2,2):(1,3)", "triton", "no: the values of these are not the XOR of each other: at (0,1) 3, at (1,0) 1, at (1,1) 4"),
      ("17x3@Ab16a", "cute", "no: the digits do not divide the size of their dimension: at (1,0) 1, at (16,0) 48"), ("4:1", "iree", "no: an offset is no register of a thread"),
      ("{register = [[1]]} -> {dim0 = 2}", "xla", "no: an owner is no offset"), ("4x4@strides(4,0)", "onednn", "no: two indices have one offset: at (0,0) 0, at (0,1) 0"),
      ("{register = [[1, 1], [0, 1]]} -> {dim0 = 2, dim1 = 2}", "cute", "no: an XOR is no sum of digits: at (1) (1,1), at (2) (0,1), at (3) (1,0)"),
      ("(2,2,2):(1,3,7)", "triton", "no: the values of these are not the XOR of each other: at (0,1,0) 3, at (1,0,0) 1, at (1,1,0) 4"),
      ("{dim0 = [[1], [2], [3]]} -> {offset = 8}", "cute", "no: an XOR that is no swizzle S<B,M,S> of a shape:stride layout: at (1) 1, at (4) 3, at (5) 2")]


@pytest.mark.parametrize("text, notation, expected", CONVERT, ids=lambda value: None)
def test_convert_text(text: str, notation: str, expected: str) -> None:
    assert one("convert", text, notation) == (0, expected)


@pytest.mark.parametrize("text, notation, expected", NO, ids=lambda value: None)
def test_convert_no(text: str, notation: str, expected: str) -> None:
    assert one("convert", text, notation) == (1, expected)


def test_convert_words() -> None:
    assert one("convert", "8x8@aB4b", "--to", "xla") == one("convert", "8x8@aB4b", "xla") and one("convert", "8x8@aB4b", "--to", "xla")[0] == 0
    assert one("same", "4:1", "--to", "xla")[0] == 2
    assert one("convert", "4:1", "numpy") == (2, "error: 1: expected cute, triton, mosaic, onednn, strides, xla, iree or map, found 'numpy', in NOTATION")


def shows(reason: str, points: "list[tuple[int, ...]]", values: "list[tuple[int, ...]]", table: Table) -> bool:
    """Return true if the values at these points alone prove REASON, in an answer "no: REASON"."""
    zero = table.value(tuple([0] * len(table.inputs)))
    zero = zero if isinstance(zero, tuple) else (zero,)
    if reason.startswith("an XOR"):
        return any(z + s != x + y for x, y, s, z in zip(*values, zero))
    if reason.startswith("the values of these"):
        return len(values) == 3 and any(s != x ^ y for x, y, s in zip(*values))
    if reason.startswith("the offsets along"):
        (d, k), = [(d, k) for d, k in enumerate(points[2]) if k]
        return values[2][0] - values[0][0] != k * (values[1][0] - values[0][0]) and points[1][d] == 1
    if reason.startswith(("two indices", "two registers")):
        return values[0] == values[1] and points[0] != points[1]
    if reason.startswith("the first"):
        return not any(points[0]) and any(values[0])
    if reason.startswith("the digits do not divide"):
        return any(k > 1 and size % k for point in points for k, size in zip(point, table.inputs))
    if reason.startswith("one number moves"):
        return any(sum(value != 0 for value in got) > 1 for got in values) or len(values) == 1
    return True


def assert_converted(texts: "list[str]", notations: "list[str]") -> "dict[str, int]":
    """Convert each text to each notation. The result has the same table, and can be converted back. If the answer is
    "no: REASON", often with points and values, the layout has these values at these points, and they prove REASON.
    """
    rows = [[text, notation] for text in texts for notation in notations]
    counts = {"yes": 0, "no": 0, "open": 0, "back": 0}
    back = []
    for (text, notation), said in zip(rows, answers("convert", rows)):
        table = table_of(text)
        if said.startswith("not decided"):
            counts["open"] += 1
        elif not said.startswith("no: "):
            counts["yes"] += 1
            made = table_of(said)
            if made.kind == "padded":  # a padded layout, which is in Triton's notation but not linear, stays as it is
                assert said == text
                continue
            assert made.kind in (notation, "padded" if notation == "triton" else notation) and compare(table, made) == "yes", (text, notation, said)
            back.append((text, said, table.kind))
        else:
            counts["no"] += 1
            reason, *rest = said[4:].split(": at ")
            shown = re.findall(r"\(([\d,]*)\) (-?\d+|\([-\d,]+\))", rest[0]) if rest else []
            points, values = [numbers(point) for point, _ in shown], [numbers(value) for _, value in shown]
            for point, value in zip(points, values):
                got = table.value(point)
                assert (got if isinstance(got, tuple) else (got,)) == value, (text, notation, said)
            assert shows(reason, points, values, table) or not shown, (text, notation, said)
    for (text, middle, kind), said in zip(back, answers("convert", [[middle, "cute" if kind == "padded" else kind] for _, middle, kind in back])):
        assert not said.startswith("no: "), (text, middle, said)
        counts["back"] += not said.startswith("not decided") and compare(table_of(text), table_of(said)) == "yes"
    return counts


@pytest.mark.drawn
def test_convert_places() -> None:
    rng = random.Random(41 + SEED)
    texts = []
    while len(texts) < 400 * TIMES:
        dims = draw_dims(rng, rng.random() < 0.5)
        texts += [draw_place(rng, dims)] if math.prod(dims) <= 400 else []
    counts = assert_converted(canonical(texts), PLACES)
    assert counts["yes"] > 900 and counts["no"] > 300 and counts["open"] < 200 * TIMES and counts["back"] > 0.95 * counts["yes"], counts


@pytest.mark.peer
@pytest.mark.drawn
def test_convert_owners() -> None:
    rng = random.Random(43 + SEED)
    counts = assert_converted(canonical([draw_owner(rng) for _ in range(200 * TIMES)]), OWNERS)
    assert counts["yes"] > 250 and counts["no"] > 150 and counts["open"] < 50 * TIMES and counts["back"] > 0.95 * counts["yes"], counts


@pytest.mark.drawn
def test_sizes_that_are_no_powers_of_two() -> None:
    """If the sizes of an array are not powers of two, its distribution to threads is that of an array with the next
    larger powers of two. The text has the array's own shape, and indices outside the array have no values. Layouts in
    memory, and operations on linear layouts, refuse such arrays.
    """
    rng = random.Random(41 + SEED)
    texts, dims = [], []
    for _ in range(40 * TIMES):
        size = [rng.choice([3, 5, 6, 7, 12, 24]), rng.choice([3, 4, 6, 8, 20])]
        encoding = (f"#ttg.blocked<{{sizePerThread = [{rng.choice([1, 2])}, {rng.choice([1, 4])}], threadsPerWarp = [{(lanes := rng.choice([1, 4, 16]))}, {16 // lanes}], "
                    f"warpsPerCTA = [{rng.choice([1, 2])}, 1], order = [1, 0]}}>")
        texts.append(f"{size[0]}x{size[1]}@{encoding}")
        dims.append(size)
    texts.append("24x16@#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 1], instrShape = [16, 8]}>")
    dims.append([24, 16])
    shown = [said.split("\t")[1] for said in answers("", [[text] for text in texts])]
    assert [said.split("\t")[1] for said in answers("", [[text] for text in shown])] == shown
    whole = ["x".join(str(1 << (n - 1).bit_length()) for n in size) + text[text.index("@"):] for text, size in zip(texts, dims)]
    maps = answers("map", [[text] for text in texts])
    points, wanted = [], []
    for text, size, said, table, of_all, map_text in zip(texts, dims, shown, answers("table", [[text] for text in texts]), answers("", [[text] for text in whole]), maps):
        linear = of_all.split("\t")[1]
        assert said == f"{size[0]}x{size[1]}@#ttg.linear<{linear.split(' -> ')[0]}>"
        model_of = linear_table(linear)
        values = [model_of.value(at) for at in model_of.points()]
        want = ["none" if any(i >= n for i, n in zip(value, size)) else f"({','.join(map(str, value))})" for value in values]
        assert table == ",".join(want), text
        for at in rng.sample(list(model_of.points()), 5):
            value = model_of.value(at)
            points.append([map_text, ",".join(map(str, at))])
            wanted.append("outside" if any(i >= n for i, n in zip(value, size)) else ",".join(map(str, value)))
    given = "".join("\t".join(row) + "\n" for row in points)
    got = subprocess.run([str(ROOT / "build" / "sett"), "map", "eval", "-"], input=given, capture_output=True, text=True, timeout=300).stdout.splitlines()
    assert got == wanted and wanted.count("outside") > 20
    for words, error in [(["convert", texts[0], "triton"], "error: expected powers of two"), (["same", texts[0], texts[0]], "error: expected powers of two"),
                         (["invert", texts[0]], "error: expected a layout of the kind"), (["at", "3@#ttg.linear<{register = [[1], [2]]}>", "3"], "error: expected a register that holds"),
                         (["24x16@#ttg.swizzled_shared<{vec = 2, perPhase = 2, maxPhase = 4, order = [1, 0]}>"], "error: 7: expected powers of two"),
                         (["3@#ttg.linear<{register = [[1], [4]]}>"], "error: 15: expected bases of one length, their components below"),
                         (["4@#ttg.linear<{register = [[1], [4]]}>"], "error: 15: expected bases of one length, their components below"),
                         (["24x16@#ttg.shared_linear<{offset = [[0, 1], [0, 2]]}>"], "error: 53: expected powers of two")]:
        status, said = one(*words)
        assert status == 2 and said.startswith(error), (words, said)


# ---- size 0 -------------------------------------------------------------------------------------------------------------------------------------------

def empties(count: int, seed: int) -> "list[tuple[str, list[int], list[int]]]":
    """Return arrays without elements, in the four notations that allow them, as (text, sizes of the dimensions, numbers
    of the dimensions from the outermost to the innermost).
    """
    rng, found = random.Random(seed), []
    for _ in range(count):
        rank = rng.randint(1, 5)
        dims = [rng.choice([0, 1, 2, 3, 8, 17]) for _ in range(rank)]
        dims[rng.randrange(rank)] = 0
        order = rng.sample(range(rank), rank)
        steps, step = [0] * rank, 1
        for d in reversed(order):
            steps[d], step = step, step * max(dims[d], 2)
        shape = "x".join(map(str, dims))
        if 1 not in dims:  # the stride of a size of 1 is arbitrary, so strides would not tell the order of the dimensions
            found.append((f"{shape}@strides({','.join(map(str, steps))})+{rng.choice([0, 3])}", dims, order))
            found.append((f"{chain_text(dims)}:{chain_text(steps)}", dims, order))
        block = rng.choice(["", "T(8,128)", "T(2)"]) if rank > 1 else ""
        found.append((f"f32[{','.join(map(str, dims))}]{{{','.join(map(str, reversed(order)))}{':' if block else ''}{block}}}", dims, order))
        blocked = rng.choice([None, *range(rank)])
        letters = "".join(chr((65 if d == blocked else 97) + d) for d in order)
        found.append((f"{shape}@{letters}{'' if blocked is None else f'16{chr(97 + blocked)}'}", dims, order))
    return found


def chain_text(numbers: "list[int]") -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"({','.join(map(str, numbers))})"


def notation_of(text: str) -> str:
    return "xla" if text[0] == "f" else "strides" if "@strides" in text else "onednn" if "@" in text else "cute"


@pytest.mark.drawn
def test_empty_arrays() -> None:
    """Arrays without elements are read and printed, have no values, and are equal if their dimensions are equal. They
    convert to compact arrays with the same order of dimensions; there a size of 0 counts as 1 in the strides. Notations
    for threads cannot express arrays without elements.
    """
    cases = empties(150 * TIMES, 31 + SEED)
    texts = [[text] for text, _, _ in cases]
    for (text, dims, _), said in zip(cases, answers("", texts)):
        kind, printed, facts = said.split("\t")
        assert printed == text and facts in ("size 0, one-to-one", "size 0, cosize 0, one-to-one"), (text, said)
    assert set(answers("map", texts)) == {"KNOWN EMPTY"}
    assert set(answers("table", texts)) == {""}
    kinds = {"cute": 0, "strides": 0, "onednn": 0, "xla": 0}
    for target in kinds:
        for (text, dims, order), said in zip(cases, answers("convert", [[text, target] for text, _, _ in cases])):
            steps, step = [0] * len(dims), 1
            for d in reversed(order):
                steps[d], step = step, step * max(dims[d], 1)
            shape = "x".join(map(str, dims))
            want = {"cute": f"{chain_text(dims)}:{chain_text(steps)}", "strides": f"{shape}@strides({','.join(map(str, steps))})+0",
                    "onednn": f"{shape}@{''.join(chr(97 + d) for d in order)}",
                    "xla": f"f32[{','.join(map(str, dims))}]{{{','.join(map(str, reversed(order)))}}}"}[target]
            own = notation_of(text)
            assert said == (text if own == target else want), (text, target)
            kinds[own] += own == target
    assert min(kinds.values()) > 50
    for target in ("triton", "mosaic", "iree"):
        assert set(answers("convert", [[text, target] for text, _, _ in cases])) == {"no: an array without elements, and that notation has none"}
    pairs = [(a, b) for a in cases for b in cases[:40]]
    for (a, b), said in zip(pairs, answers("same", [[a[0], b[0]] for a, b in pairs])):
        want = "yes" if a[1] == b[1] else "no: different numbers of dimensions" if len(a[1]) != len(b[1]) else "no: different sizes"
        if notation_of(a[0]) == notation_of(b[0]) == "cute":
            want = "yes"  # compared as functions of an integer: empty layouts have no values, so all are equal
        assert said == want, (a, b, said)


EMPTY = [  # words of the command, exit status, the answer or its beginning
    (["f32[1,8,0,128]"], 0, "xla\tf32[1,8,0,128]{3,2,1,0}\tsize 0, one-to-one"),
    (["convert", "f32[1,8,0,128]", "cute"], 0, "(1,8,0,128):(1024,128,128,1)"),
    (["convert", "(0):(1)", "strides"], 0, "0@strides(1)+0"),
    (["convert", "1x8x0x128@strides(0,0,128,1)", "onednn"], 0, "1x8x0x128@abcd"),
    (["convert", "0x4@ab", "xla"], 0, "f32[0,4]{1,0}"),
    (["convert", "S<1,0,1> o 0 o (0,4):(4,1)", "strides"], 0, "0x4@strides(4,1)+0"),
    (["convert", "((0,2),(4,2)):((8,8),(1,4))", "onednn"], 0, "0x8@ab"),
    (["convert", "(0,4):(1@0,1@1)", "xla"], 1, "no: an owner is no offset"),
    (["convert", "(0,4):(1@0,1@1)", "iree"], 1, "no: an array without elements"),
    (["convert", "0x1x1x1x1x1x1x1x1x1x1x1@abcdefghijkl", "xla"], 0, "f32[0,1,1,1,1,1,1,1,1,1,1,1]{11,10,9,8,7,6,5,4,3,2,1,0}"),
    (["convert", "f32[0,1,1,1,1,1,1,1,1,1,1,1,1]", "strides"], 1, "no: tags and strides have 1 to 12 dimensions"),
    (["convert", "0x4@ab", "map"], 0, "KNOWN EMPTY"),
    (["0x64@T(32,32)(16,16)"], 0, "xla\tf32[0,64]{1,0:T(32,32)(16,16)}\tsize 0, one-to-one"),
    (["0x32@#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [2, 2], warpsPerCTA = [1, 2], order = [1, 0]}>"], 2, "Triton and Mosaic have no empty arrays"),
    (["0x8@#ttg.padded_shared<[2:+1] {order = [1, 0], shape = [0, 8]}>"], 2, "Triton and Mosaic have no empty arrays"),
    (["64x0@TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))), warp_dims=(-7,), lane_dims=(-3, -2), vector_dim=-1)"], 2, "Triton and Mosaic have no empty"),
    (["{register = []} -> {dim0 = 0}"], 2, "expected powers of two"),
    (["at", "0x4@ab", "0,0"], 2, "error: expected a coordinate below the sizes of the layout"),
    (["at", "(4,0):(1,4)", "9"], 0, "9"),  # as in CuTe, an integer index may exceed the size: the last mode takes the whole quotient
    (["at", "(0,4):(4,1)", "9"], 2, "error: expected sizes of 1 or more in this operation"),
    (["same", "0x4@ab", "f32[0,4]{0,1:T(8,128)}"], 0, "yes"),
    (["same", "0x4@ab", "4x0@ab"], 1, "no: different sizes"),
    (["same", "0x4@ab", "8x4@ab"], 1, "no: different sizes"),
    (["coalesce", "(4,0):(1,4)"], 0, "0:1"),
    (["composition", "(4,8):(1,4)", "0:1"], 2, "error: expected sizes of 1 or more in this operation"),
    (["complement", "0:1"], 2, "error: expected sizes of 1 or more in this operation"),
    (["left_inverse", "0:1"], 2, "error: expected sizes of 1 or more in this operation"),
    (["right_inverse", "0:1"], 2, "error: expected sizes of 1 or more in this operation"),
    (["logical_divide", "(4,8):(1,4)", "0:1"], 2, "error: expected sizes of 1 or more in this operation"),
    (["move", "0:1", "0:1"], 2, "expected layouts from (register"),
    (["move", "(4,0):(1,4)", "(4,0):(1,4)"], 2, "error: expected layouts of at least one element"),
    (["move", "(0,4):(1@0,1@1)", "(0,4):(1@0,1@1)"], 2, "error: expected layouts of at least one element"),
]


@pytest.mark.parametrize("words, status, said", EMPTY, ids=[" ".join(words)[:50] for words, _, _ in EMPTY])
def test_size_0(words: "list[str]", status: int, said: str) -> None:
    got = one(*words)
    assert got[0] == status and (said in got[1] if status else got[1] == said), got
