"""Draw SETT_COUNT random layouts of each notation and each kind of encoding, and test four laws:
- Printing a parsed text gives that text again.
- The values are those of a model that is written from the definitions and shares no code with the headers.
- A conversion to another notation and back is the same function.
- Every "no" follows from the values alone.

Values are NumPy arrays with an axis for each input, so that 10^5 layouts of a notation take minutes.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import re

import pytest

try:
    import numpy as np
except ImportError:
    np = None

from test_convert import mosaic_fields, tiled_shape
from test_notation import SEED, answers, chain_of, leaves, product

COUNT = int(os.environ.get("SETT_COUNT", "40"))
pytestmark = pytest.mark.skipif(np is None, reason="SKIP: no numpy, whose arrays are the values")


class Table:
    """The values of a layout.

    owners: true for a distribution to threads, from (register, lane, warp, block) to the coordinates of an element;
    false for a layout in memory, from the index to the offset. Coordinates are on the last axis.

    dims: the sizes of the array, 0 if the notation does not give them.

    In IREE's notation the ids of lanes and warps wrap: they are taken modulo their number.
    """

    def __init__(self, kind: str, values, dims: "list[int]" = (), owners: bool = False) -> None:
        self.kind, self.values, self.dims, self.owners = kind, values, list(dims), owners
        self.inputs = list(values.shape[:-1] if owners else values.shape)


def along(values, axis: int, rank: int):
    """Return a one-dimensional array, reshaped to lie along `axis` of `rank` axes."""
    return np.asarray(values).reshape([-1 if e == axis else 1 for e in range(rank)])


def summed(parts: list):
    """Return the sum of functions: parts[d] is a function of input d alone."""
    total = np.zeros([len(part) for part in parts], dtype=np.int64)
    for d, part in enumerate(parts):
        total += along(part, d, len(parts))
    return total


# ---- models of texts as `sett` prints them ------------------------------------------------------------------------------------------------------------

def strides_table(text: str) -> Table:
    dims, steps, offset = re.fullmatch(r"([\dx]+)@strides\(([-\d,]+)\)\+?(-?\d+)?", text).groups()
    return Table("strides", summed([np.arange(int(size)) * int(step) for size, step in zip(dims.split("x"), steps.split(","))]) + int(offset or 0))


def numbered(digits: list, rank: int, dims: "list[int]"):
    """Return the offset of each index in a layout whose offset is a mixed-radix number. digits: the most major first,
    each as (dimension, the digit's value at each index of the dimension, size). A digit of dimension -1 is always 0.
    """
    parts, step = [np.zeros(size, dtype=np.int64) for size in dims], 1
    for d, values, size in reversed(digits):
        if d >= 0:
            parts[d] = parts[d] + values * step
        step *= size
    return summed(parts)


def tag_table(text: str) -> Table:
    dims, tag = text.split("@")
    dims = [int(size) for size in dims.split("x")]
    letters = re.match("[a-zA-Z]+?(?=\\d|$)", tag)[0].lower()
    digits, rest, sizes = [], [np.arange(size) for size in dims], list(dims)
    for size, letter in reversed(re.findall(r"(\d+)([a-z])", tag)):
        d, size = ord(letter) - 97, int(size)
        digits.append((d, rest[d] % size, size))
        rest[d], sizes[d] = rest[d] // size, -(-sizes[d] // size)
    digits += [(ord(letter) - 97, rest[ord(letter) - 97], sizes[ord(letter) - 97]) for letter in reversed(letters)]
    return Table("onednn", numbered(digits[::-1], len(dims), dims))


def xla_table(text: str) -> Table:
    dims, order, tiles = re.fullmatch(r"\w+\[([\d,]*)\]\{([\d,]*)(?::T((?:\([\d,]+\))+))?[^}]*\}", text).groups()
    dims, order = [[int(n) for n in part.split(",") if n] for part in (dims, order)]
    digits = [(d, np.arange(dims[d]), dims[d]) for d in reversed(order)]
    for tile in re.findall(r"\(([\d,]+)\)", tiles or ""):
        tile = [int(n) for n in tile.split(",")]
        digits = [(-1, 0, 1)] * (len(tile) - len(digits)) + digits
        front = len(digits) - len(tile)
        split = list(zip(digits[front:], tile))
        digits = [*digits[:front], *((d, values // t, -(-size // t)) for (d, values, size), t in split), *((d, values % t, t) for (d, values, _), t in split)]
    return Table("xla", numbered(digits, len(dims), dims))


def leaf_values(shape, stride, at, rank: int) -> list:
    """Return the values of shape:stride at the integers `at`. A value is a coordinate with `rank` components; the
    result has one array for each component. If an integer exceeds the size, the last mode takes the whole quotient.
    """
    if isinstance(shape, tuple):
        total = [0] * rank
        for i, (mode, step) in enumerate(zip(shape, stride)):
            size = product(mode)
            digit = at if i == len(shape) - 1 else at % size
            at = at // size
            total = [a + b for a, b in zip(total, leaf_values(mode, step, digit, rank))]
        return total
    if not isinstance(stride, dict):
        return [at * stride, *([0] * (rank - 1))]
    (place,), step = next(iter(stride.items()))
    return [at * step if o == place else 0 for o in range(rank)]


def swizzle(part: tuple, values):
    _, bits, base, shift = part
    source, target = (base + shift, base) if shift >= 0 else (base, base - shift)
    return values ^ (values >> source & (1 << bits) - 1) << target


def cute_table(text: str) -> Table:
    chain = chain_of(text)
    shape, stride = chain[-1]
    places = [key[0] for leaf in leaves(stride) if isinstance(leaf, dict) for key in leaf]
    rank = 1 + max(places, default=0)
    modes, steps = (shape, stride) if isinstance(shape, tuple) else ((shape,), (stride,))
    sizes = [product(mode) for mode in modes]
    parts = [leaf_values(mode, step, np.arange(size), rank) for mode, step, size in zip(modes, steps, sizes)]
    values = [summed([np.broadcast_to(part[o], (size,)) for part, size in zip(parts, sizes)]) for o in range(rank)]
    if places:
        return Table("cute", np.stack(values, -1), [0] * rank, True)
    values, = values
    for i in range(len(chain) - 3, -1, -2):
        values = values + chain[i + 1]
        values = swizzle(chain[i], values) if chain[i][0] == "S" else leaf_values(*chain[i], values, 1)[0]
    return Table("cute", values)


def xored(bases: list, outs: int):
    """Return the XORs of all subsets of `bases`. Bit i of a subset's number says whether bases[i] is in the subset."""
    values = np.zeros((1, outs), dtype=np.int64)
    for basis in bases:
        values = np.concatenate([values, values ^ np.array(basis, dtype=np.int64)])
    return values


def inverted(values, dims: "list[int]"):
    """Return the offset at each coordinate. values: the coordinates at each offset."""
    offsets = np.full(dims, -1)
    offsets[tuple(values.T)] = np.arange(len(values))
    assert (offsets >= 0).all()
    return offsets


def linear_table(text: str) -> Table:
    ins, outs = text.split(" -> ")
    names = re.findall(r"(\w+) = \[((?:\[[-\d, ]+\](?:, )?)*)\]", ins)
    sizes = {name: int(size) for name, size in re.findall(r"(\w+) = (\d+)", outs)}
    parts = [xored(json.loads(f"[{bases}]"), len(sizes)) for _, bases in names]
    values = np.zeros([*map(len, parts), len(sizes)], dtype=np.int64)
    for d, part in enumerate(parts):
        values ^= part.reshape([-1 if e == d else 1 for e in range(len(parts))] + [len(sizes)])
    if names[0][0] == "offset":
        return Table("triton", inverted(values.reshape(-1, len(sizes)), list(sizes.values())))
    return Table("triton", values[..., 0]) if list(sizes) == ["offset"] else Table("triton", values, list(sizes.values()), True)


def owned(inputs: list, dims: "list[int]", wrap: bool = False):
    """Return the coordinates of each owner. An input is given by its digits (size, dimension, weight), fastest first; a
    digit with dimension -1 does not change the coordinates. wrap: what a digit adds is taken modulo the dimension.
    """
    sizes = [math.prod(size for size, _, _ in digits) for digits in inputs]
    values = np.zeros([*sizes, len(dims)], dtype=np.int64)
    for k, digits in enumerate(inputs):
        rest = np.arange(sizes[k])
        for size, d, weight in digits:
            if d >= 0:
                part = rest % size * weight
                values[..., d] += along(part % dims[d] if wrap else part, k, len(sizes))
            rest = rest // size
    return values


def mosaic_table(text: str) -> Table:
    return mosaic_values(*mosaic_fields(text))


def mosaic_values(dims, tiles, warps, lanes, vector) -> Table:
    sizes, source = tiled_shape(dims, tiles)
    count = len(sizes)
    weight = [math.prod(size for size, d in list(zip(sizes, source))[k + 1:] if d == source[k]) for k in range(count)]
    taken = {count + n for n, copies in [*warps, *lanes] if not copies} | {count + vector}
    register = [vector, *(k - count for k in reversed(range(count)) if k not in taken)]
    digits = [[(copies, -1, 0) if copies else (sizes[n], source[n], weight[n]) for n, copies in entries]
              for entries in ([(n, 0) for n in register], lanes[::-1], warps[::-1])]
    return Table("mosaic", owned(digits, dims), dims, True)


def iree_table(text: str) -> Table:
    field = {key: [int(n) for n in numbers.split(",") if n.strip()] for key, numbers in re.findall(r"(\w+) = \[([-\d, ]*)\]", text)}
    rank = len(field["element_tile"])
    size = {key: field[f"{key}_tile"] for key in ("subgroup", "batch", "outer", "thread", "element")}
    dims = [math.prod(size[key][d] for key in size) for d in range(rank)]
    weight = {"element": [1] * rank, "thread": size["element"]}
    weight["outer"] = [size["thread"][d] * size["element"][d] for d in range(rank)]
    weight["batch"] = [weight["outer"][d] * size["outer"][d] for d in range(rank)]
    weight["subgroup"] = [weight["batch"][d] * size["batch"][d] for d in range(rank)]
    slots = [(size[key][d], d, weight[key][d]) for key in ("element", "outer", "batch") for d in reversed(range(rank))]
    values = owned([slots, [], []], dims)
    for axis, key in ((1, "thread"), (2, "subgroup")):
        period = max([1, *(s * t for s, t in zip(field[f"{key}_strides"], size[key]))])
        ids = np.arange(period)
        part = np.stack([ids // stride % tile * w if stride else 0 * ids for stride, tile, w in zip(field[f"{key}_strides"], size[key], weight[key])], -1)
        values = values + part.reshape([-1 if e == axis else 1 for e in range(3)] + [rank])
    return Table("iree", values, dims, True)


def table_of(text: str) -> Table:
    return (iree_table if text.startswith("#iree") else linear_table if text.startswith("{") else mosaic_table if "TiledLayout" in text else strides_table if "@strides" in text
            else xla_table if re.match(r"\w+\[", text) else tag_table if re.match(r"[\dx]+@[a-zA-Z]+\d*", text) else cute_table)(text)


def stretched(table: Table, sizes: "list[int]"):
    """Return the values repeated for `sizes` lanes and warps: in IREE's notation ids are taken modulo the number of
    lanes or warps.
    """
    values = table.values
    for k, (mine, size) in enumerate(zip(table.inputs, sizes)):
        if k > 0 and mine < size and size % mine == 0:
            values = np.concatenate([values] * (size // mine), k)
    return values


def same(a: Table, b: Table, through: str = "") -> bool:
    """Return whether two tables are the same function. In distributions to threads, inputs of size 1 do not count.

    through: if `b` was converted to this notation and back, what the notation cannot express is not compared. CuTe does
    not give the sizes of the array, the names of the inputs, or a dimension along which nothing moves. In IREE's
    notation ids wrap, so copies in further lanes are lost.
    """
    if a.owners != b.owners:
        return False
    if not a.owners:
        return a.inputs == b.inputs and bool((a.values == b.values).all())
    x, y = a.values, b.values
    if a.kind == "iree":
        x = stretched(a, b.inputs)
    if "iree" in (b.kind, through):
        y = stretched(b, a.inputs)
    kept = [[(k if "cute" not in (a.kind, b.kind, through) else 0, size) for k, size in enumerate(values.shape[:-1]) if size > 1] for values in (x, y)]
    if kept[0] != kept[1]:
        return False
    rank = max(x.shape[-1], y.shape[-1])
    shape, dims = [size for _, size in kept[0]], []
    for values, table in ((x, a), (y, b)):
        lack = rank - values.shape[-1]
        if lack and "cute" not in (table.kind, through):
            return False
        dims.append(table.dims + [0] * lack if through != "cute" else [0] * rank)
    if any(m and n and m != n for m, n in zip(*dims)):
        return False
    x, y = (np.pad(values.reshape([*shape, values.shape[-1]]), [(0, 0)] * len(shape) + [(0, rank - values.shape[-1])]) for values in (x, y))
    return bool((x == y).all())


# ---- does a notation have a layout with these values? ------------------------------------------------------------------------------------------------

def pieces(values) -> "list | None":
    """Split a table into its first value plus one function of each input, with value 0 at input 0. Return these
    functions, or None if the table is no such sum.
    """
    first = values[(0,) * values.ndim]
    parts = [values[tuple(slice(None) if e == d else 0 for e in range(values.ndim))] - first for d in range(values.ndim)]
    return parts if (summed(parts) + first == values).all() else None


def digits_of(part) -> "list[tuple[int, int, int]] | None":
    """Return the digits (low, size, stride) of a function of one input, lowest first: the function is the sum of
    (input // low % size) * stride. Return None if there are no such digits. The digits are as large as possible;
    smaller digits are never needed, because two contiguous digits form one.
    """
    digits, low, n, part = [], 1, len(part), part.tolist()
    while low < n:
        size, stride = 1, part[low]
        while size * low < n and part[size * low] == size * stride:
            size += 1
        digits.append((low, size, stride))
        low *= size
    numbers = np.arange(n)
    total = sum([numbers // low % size * stride for low, size, stride in digits], 0 * numbers)
    return digits if (total == part).all() else None


def plain_digits(values) -> "list | None":
    """Return the digits of every input (see `digits_of`). Return None if the table is not a sum of functions of one
    input, or if one of these functions has no digits.
    """
    parts = pieces(values)
    digits = parts and [digits_of(part) for part in parts]
    return None if digits is None or None in digits else digits


def is_strides(table: Table) -> bool:
    digits = plain_digits(table.values)
    return digits is not None and len(digits) > 0 and all(len(part) < 2 for part in digits)


def is_tag(table: Table) -> bool:
    """Return whether a oneDNN tag has these values, by trying blocks from the innermost outwards. The outermost block of
    a dimension may be padded.
    """
    parts = pieces(table.values)
    if parts is None or table.values.flat[0] != 0:
        return False
    parts = [part.tolist() for part in parts]
    if table.values.min() < 0 or len(np.unique(table.values)) < table.values.size:
        return False

    def fits(d: int, unit: int, size: int, stride: int) -> bool:
        return all(parts[d][i] - parts[d][i // (unit * size) * unit * size] - parts[d][i % unit] == i // unit % size * stride for i in range(len(parts[d])))
    todo, seen = [(tuple([1] * len(parts)), 1)], set()
    while todo:
        units, step = state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        left = [d for d, unit in enumerate(units) if unit < len(parts[d])]
        if not left:
            return True
        d = min(left, key=lambda d: parts[d][units[d]])
        stride = parts[d][units[d]]
        if stride != step and (len(left) == len(units) or stride % step):
            continue
        rest = -(-len(parts[d]) // units[d])
        for size in range(2, rest + 1):
            if not fits(d, units[d], size, stride):
                continue
            grown = (*units[:d], units[d] * size, *units[d + 1:])
            todo.append((grown, stride * size))
            after = min([parts[e][unit] for e, unit in enumerate(grown) if unit < len(parts[e])], default=0)
            if size == rest and after % stride == 0 and after // stride >= size:  # the outermost block of the dimension, padded
                todo.append((grown, after))
    return False


def may_be_tiles(table: Table) -> bool:
    """Return whether the values have two properties that all arrays of XLA have. The offsets are distinct. The digits
    (see `digits_of`) are nested: each stride is a multiple of the next smaller stride, and at least that stride times
    the size of that digit. If a dimension has no digits, because its tiles do not divide each other, the second
    property is not tested.
    """
    if table.values.flat[0] != 0 or table.values.min() < 0 or pieces(table.values) is None or len(np.unique(table.values)) < table.values.size:
        return False
    digits = plain_digits(table.values)
    if digits is None:
        return True
    line = sorted((stride, size) for part in digits for _, size, stride in part)
    return all(b % a == 0 and b >= a * size for (a, size), (b, _) in zip(line, line[1:]))


def is_shape(values) -> bool:
    digits = plain_digits(values)
    return digits is not None and all(size % low == 0 for part, size in zip(digits, values.shape) for low, _, _ in part)


def is_cute(table: Table) -> bool:
    """Return whether a CuTe layout has these values: shape:stride or, in memory, S<B,M,S> o OFFSET o shape:stride. All
    swizzles are tried.
    """
    if table.owners:
        return owner_digits(table) is not None
    values = table.values
    if (values < 0).any():
        return values.flat[0] == 0 and is_shape(values)
    if is_shape(values):
        return True
    width = int(values.max()).bit_length()
    return any(is_shape(swizzle(("S", bits, base, sign * shift), values)) for bits in range(1, width + 1) for shift in range(bits, width + 1)
               for base in range(width - shift + 1) for sign in (1, -1))


def is_linear(table: Table) -> bool:
    sizes = [*table.inputs, *(size for size in table.dims if size)]
    if any(size & size - 1 for size in sizes):
        return False
    values = table.values if table.owners else table.values[..., None]
    if (values < 0).any():
        return False
    total = np.zeros_like(values)
    rank = len(table.inputs)
    for d, size in enumerate(table.inputs):
        bases = [values[tuple(1 << k if e == d else 0 for e in range(rank))] for k in range(size.bit_length() - 1)]
        total ^= xored(bases, values.shape[-1]).reshape([-1 if e == d else 1 for e in range(rank)] + [values.shape[-1]])
    return bool((total == values).all())


def owner_digits(table: Table) -> "list | None":
    """Return for each input its digits (low, size, dimension, stride). A digit adds (input // low % size) * stride to
    the index along one dimension. Digits of stride 0 are left out. Return None if the table is no sum of digits, or if
    an input's digits overlap or do not divide its size.
    """
    outs = [plain_digits(table.values[..., o]) for o in range(table.values.shape[-1])]
    if None in outs or table.values[(0,) * len(table.inputs)].any():
        return None
    found = []
    for k, size in enumerate(table.inputs):
        line = sorted((low, part, o, stride) for o, digits in enumerate(outs) for low, part, stride in digits[k] if stride)
        end = 1
        for low, part, _, _ in line:
            if low % end or size % (low * part):
                return None
            end = low * part
        found.append(line)
    return found


def three(table: Table) -> "Table | None":
    """Return the table over (register, lane, warp), or None if the input block has several values."""
    if any(size > 1 for size in table.inputs[3:]):
        return None
    shape = [*table.inputs[:3], *([1] * (3 - len(table.inputs[:3])))]
    made = Table(table.kind, table.values.reshape([*shape, -1]), table.dims, True)
    return made


def covers(table: Table, digits: list) -> bool:
    """Return whether the inputs' digits (see `owner_digits`) reach each element of the array exactly once, except for
    copies in further lanes and warps.
    """
    for o, size in enumerate(table.dims):
        weight = 1
        for stride, part in sorted((stride, part) for line in digits for _, part, dim, stride in line if dim == o):
            if stride != weight:
                return False
            weight *= part
        if size and weight != size:
            return False
    return math.prod(part for _, part, _, _ in digits[0]) == table.inputs[0]


def is_mosaic(table: Table) -> bool:
    """Return whether a TiledLayout of Mosaic has these values. Its tiles split the dimensions into digits (see
    `owner_digits`). Lanes, warps and the vector may take any digits. The remaining digits form the register number;
    those of one dimension must be in order.
    """
    table = three(table)
    if table is None:
        return False
    if table.kind == "iree":
        table = Table("iree", stretched(table, [0, 32, 4]), table.dims, True)
    digits = owner_digits(table)
    if digits is None or table.inputs[1:] != [32, 4] or not covers(table, digits):
        return False
    slow = [(o, stride) for low, _, o, stride in digits[0] if low > 1]
    return all(a < b for (o, a), (p, b) in itertools.combinations(slow, 2) if o == p)


def divisors(n: int) -> "list[int]":
    return [d for d in range(1, n + 1) if n % d == 0]


def is_iree(table: Table) -> bool:
    """Return whether a nested layout of IREE has these values. The tiles of threads and subgroups follow from the
    values; all tiles of a thread's slots are tried.
    """
    table = three(table)
    digits = table and owner_digits(table)
    if digits is None or not covers(table, digits):
        return False
    rank = len(table.dims)
    tile = [[1] * rank for _ in range(2)]
    weight = [[0] * rank for _ in range(2)]
    for k in (1, 2):
        for _, size, o, stride in digits[k]:
            if weight[k - 1][o]:
                return False  # two digits of the input move along one dimension
            tile[k - 1][o], weight[k - 1][o] = size, stride
    dims = [math.prod(part for line in digits for _, part, dim, _ in line if dim == o) for o in range(rank)]
    ways = []
    for o in range(rank):
        slots = dims[o] // tile[0][o] // tile[1][o]
        ways.append([(element, outer, slots // element // outer) for element in divisors(slots) for outer in divisors(slots // element)
                     if (not weight[0][o] or weight[0][o] == element) and (not weight[1][o] or weight[1][o] == slots * tile[0][o])])
    registers = table.values[:, 0, 0]
    for way in itertools.product(*ways):
        line = [(way[o][0], o, 1) for o in reversed(range(rank))]
        line += [(way[o][1], o, way[o][0] * tile[0][o]) for o in reversed(range(rank))]
        line += [(way[o][2], o, way[o][0] * way[o][1] * tile[0][o]) for o in reversed(range(rank))]
        if (owned([line], dims) == registers).all():
            return True
    return False


EXISTS = {"strides": is_strides, "onednn": is_tag, "xla": may_be_tiles, "cute": is_cute, "triton": is_linear, "mosaic": is_mosaic, "iree": is_iree}
PLACES, OWNERS = ["cute", "triton", "onednn", "strides", "xla"], ["cute", "triton", "mosaic", "iree"]


def may_be(table: Table, notation: str) -> bool:
    """Return False if no layout of this notation can have these values."""
    return notation in (OWNERS if table.owners else PLACES) and EXISTS[notation](table)


# ---- random layouts: for each its text, its model, and what `sett` prints (None for a linear layout) ----

def dims_text(dims: "list[int]") -> str:
    return "x".join(map(str, dims))


def draw_dims(rng: random.Random, most: int = 300, ranks: int = 4) -> "list[int]":
    while True:
        dims = [rng.choice([1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16, 17]) for _ in range(rng.randint(1, ranks))]
        if math.prod(dims) <= most:
            return dims


def draw_strides(rng: random.Random):
    dims = draw_dims(rng)
    steps, step = [0] * len(dims), 1
    for d in rng.sample(range(len(dims)), len(dims)):
        steps[d], step = rng.choice([step] * 8 + [0, -step, rng.randint(-9, 40)]), step * dims[d] * rng.choice([1, 1, 1, 2])
    low = sum(min(0, step * (size - 1)) for step, size in zip(steps, dims))
    text = f"{dims_text(dims)}@strides({','.join(map(str, steps))})"
    offset = rng.choice([0, 0, 3, 64, -low, -7])
    return text + (f"+{offset}" if offset >= 0 else str(offset)), strides_table


ALIASES = {"nchw": "abcd", "nhwc": "acdb", "chwn": "bcda", "nChw8c": "aBcd8b", "nChw16c": "aBcd16b", "OIhw16i16o": "ABcd16b16a", "OIhw4i16o4i": "ABcd4b16a4b", "oihw": "abcd",
           "ncw": "abc", "nwc": "acb", "nCw16c": "aBc16b", "NCw16n16c": "ABc16a16b", "hwio": "cdba"}


def draw_tag(rng: random.Random):
    dims = draw_dims(rng)
    rank = len(dims)
    for alias, tag in rng.sample(sorted(ALIASES.items()), 3):
        if len(re.match("[a-zA-Z]+?(?=\\d|$)", tag)[0]) == rank and rng.random() < 0.2:
            return f"{dims_text(dims)}@{alias}", lambda text: tag_table(f"{text.split('@')[0]}@{tag}"), f"{dims_text(dims)}@{tag}"
    blocks = [(rng.randrange(rank), rng.choice([2, 2, 4, 3, 8, 1])) for _ in range(rng.randint(0, 4))]
    letters = "".join(chr((65 if any(d == e for e, _ in blocks) else 97) + d) for d in rng.sample(range(rank), rank))
    return f"{dims_text(dims)}@{letters}{''.join(f'{size}{chr(97 + d)}' for d, size in blocks)}", tag_table


def draw_xla(rng: random.Random):
    dims = draw_dims(rng)
    rank = len(dims)
    most, tiles = rank + rng.choice([0, 0, 0, 1]), []
    for _ in range(rng.choice([0, 1, 1, 2, 2, 3])):
        tiles.append([rng.choice([1, 2, 4, 8, 3, 16]) for _ in range(rng.randint(1, most))])
        most = len(tiles[-1]) if rng.random() < 0.7 else min(most + len(tiles[-1]), 8)
    shown = "".join("(" + ",".join(map(str, tile)) + ")" for tile in tiles)
    name = rng.choice(["f32", "bf16", "s8", "pred", "f64"])
    return f"{name}[{','.join(map(str, dims))}]{{{','.join(map(str, rng.sample(range(rank), rank)))}{':T' + shown if shown else ''}}}", xla_table


def draw_tenstorrent(rng: random.Random):
    rows, columns = rng.choice([(16, 16), (8, 8), (4, 8), (32, 32)])
    down, across = rng.choice([(1, 1), (2, 2), (1, 2), (2, 1)])
    high, wide = rows * down, columns * across
    dims = [rng.randint(1, 2 * high), rng.randint(1, 2 * wide)]

    def values(_: str) -> Table:
        i, j = np.arange(dims[0])[:, None], np.arange(dims[1])[None, :]
        tile = i // high * -(-dims[1] // wide) + j // wide
        face = i % high // rows * across + j % wide // columns
        return Table("xla", tile * high * wide + face * rows * columns + i % rows * columns + j % columns)
    tiles = f"({high},{wide})({rows},{columns})"
    return f"{dims_text(dims)}@T{tiles}", values, f"f32[{dims[0]},{dims[1]}]{{1,0:T{tiles}}}"


def draw_cute(rng: random.Random):
    """Return a random CuTe layout: its strides are those of a compact array in some order, or arbitrary; some layouts
    have a swizzle and an offset.
    """
    dims = draw_dims(rng, 256, 3)
    digits = []
    for d, size in enumerate(dims):
        parts = []
        while size > 1:
            parts.append(rng.choice([p for p in range(2, size + 1) if size % p == 0]))
            size //= parts[-1]
        digits += [(d, k, part) for k, part in enumerate(parts)] or [(d, 0, 1)]
    step, stride, free = 1, {}, rng.random() < 0.2
    for digit in rng.sample(digits, len(digits)):
        stride[digit] = rng.randint(0, 40) if free else step
        step *= digit[2] * rng.choice([1] * 9 + [2, 3])
    modes = [[digit for digit in digits if digit[0] == d] for d in range(len(dims))]
    show = [",".join(f"({','.join(map(str, map(part, mode)))})" if len(mode) > 1 else str(part(mode[0])) for mode in modes) for part in (lambda digit: digit[2], stride.get)]
    text = f"({show[0]}):({show[1]})"
    if rng.random() < 0.4:
        for _ in range(rng.choice([1, 1, 1, 2])):
            bits = rng.randint(0, 3)
            text = f"S<{bits},{rng.randint(0, 3)},{rng.choice([-1, 1, 1]) * rng.randint(bits, bits + 2)}> o {rng.choice([0, 0, 0, 64, 5])} o {text}"
    return text, cute_table


def draw_cute_owners(rng: random.Random):
    """Return a random CuTe layout from the modes (register, lane, warp) to coordinates."""
    rank = rng.randint(1, 2)
    weight, shape, stride = [1] * rank, [], []
    for _ in range(rng.randint(1, 3)):
        parts, steps = [], []
        for _ in range(rng.randint(1, 3)):
            d, size = rng.randrange(rank), rng.choice([2, 2, 4, 3, 1, 8])
            if math.prod(sum(shape, parts)) * size > 256:
                continue
            skip = rng.random()
            parts.append(size)
            steps.append(f"{0 if skip < 0.05 else weight[d]}@{d}")
            weight[d] *= size * (2 if skip > 0.95 else 1)
        shape.append(parts or [1])
        stride.append(steps or ["1@0"])
    show = [",".join(f"({','.join(map(str, part))})" if len(part) > 1 else str(part[0]) for part in parts) for parts in (shape, stride)]
    return f"({show[0]}):({show[1]})", cute_table


def draw_mosaic(rng: random.Random):
    while True:
        rank = rng.randint(1, 3)
        dims = [rng.choice([1, 2, 4, 8, 16, 32, 64, 3]) for _ in range(rank)]
        tiles, last = [], list(dims)
        for _ in range(rng.randint(1, 4)):
            tile = [rng.choice(divisors(size)) for size in last[len(last) - rng.randint(1, len(last)):]]
            while len(tile) > 1 and tile[0] == 1:
                tile = tile[1:]
            if tile == last[len(last) - len(tile):] or (tiles and tile == [1]):
                continue
            tiles.append(tile)
            last = tile
        if not tiles or math.prod(dims) > 1024:
            continue
        sizes, _ = tiled_shape(dims, tiles)
        count = len(sizes)
        room = rng.sample(range(count), count)
        vector = room.pop() - count
        entries = []
        for total in (4, 32):
            taken = []
            for k in list(room):
                if sizes[k] > 1 and total % sizes[k] == 0 and rng.random() < 0.9:
                    taken.append((k - count, 0))
                    total //= sizes[k]
                    room.remove(k)
            if total > 1:
                taken.insert(rng.randint(0, len(taken)), (0, total))
            entries.append(taken)
        registers = sizes[vector] * math.prod(sizes[k] for k in room)
        if registers <= 16 and (rng.random() < 0.2 or all(math.prod(copies or 1 for _, copies in taken) < 4 for taken in entries)):
            break
    warps, lanes = entries

    def python(numbers: list) -> str:
        return "(" + ", ".join(map(str, numbers)) + ("," if len(numbers) == 1 else "") + ")"
    shown = [[f"Replicated(times={copies})" if copies else n for n, copies in taken] for taken in entries]
    text = f"{dims_text(dims)}@TiledLayout(tiling=Tiling(tiles={python([python(tile) for tile in tiles])}), warp_dims={python(shown[0])}, lane_dims={python(shown[1])}, vector_dim={vector})"
    if rng.random() < 0.3:
        mlir = [", ".join(f"#mosaic_gpu.Replicated<times = {copies}>" if copies else str(n) for n, copies in taken) for taken in entries]
        return f"{dims_text(dims)}@#mosaic_gpu.TiledLayout<{tiles}, warp_dims = [{mlir[0]}], lane_dims = [{mlir[1]}], vector_dim = {vector}>", lambda _: mosaic_table(text), text
    return text, mosaic_table


def draw_iree(rng: random.Random):
    rank = rng.randint(1, 3)
    while True:
        field = {key: [rng.choice([1, 1, 1, 2, 4, 3]) for _ in range(rank)] for key in ("subgroup_tile", "batch_tile", "outer_tile", "thread_tile", "element_tile")}
        if math.prod(sum(field.values(), [])) <= 400:
            break
    for key in ("subgroup", "thread"):
        step, steps = 1, [0] * rank
        for d in rng.sample(range(rank), rank):
            tile = field[f"{key}_tile"][d]
            steps[d] = 0 if tile == 1 and rng.random() < 0.3 else step
            step *= tile
        field[f"{key}_strides"] = steps
    text = "#iree_vector_ext.nested_layout<" + ", ".join(f"{key} = {numbers}" for key, numbers in field.items()) + ">"
    for key in ("subgroup", "thread"):  # `sett` prints stride 0 if the tile has size 1
        field[f"{key}_strides"] = [0 if tile == 1 else step for step, tile in zip(field[f"{key}_strides"], field[f"{key}_tile"])]
    return text, iree_table, "#iree_vector_ext.nested_layout<" + ", ".join(f"{key} = {numbers}" for key, numbers in field.items()) + ">"


def power(rng: random.Random, most: int, least: int = 0) -> int:
    return 1 << rng.randint(least, most)


def power_dims(rng: random.Random, rank: int, most: int = 6, total: int = 10) -> "list[int]":
    while True:
        dims = [power(rng, most) for _ in range(rank)]
        if math.prod(dims) <= 1 << total:
            return dims


def draw_linear(rng: random.Random):
    sizes = power_dims(rng, rng.randint(1, 3), 4, 6)
    bases = [[1 << k if e == d else 0 for e in range(len(sizes))] for d, size in enumerate(sizes) for k in range(size.bit_length() - 1)]
    rng.shuffle(bases)
    for _ in range(rng.choice([0, 0, 1, 2])):
        if bases:
            bases[rng.randrange(len(bases))] = [rng.randrange(size) for size in sizes]
    for _ in range(rng.choice([0, 0, 1])):
        bases.insert(rng.randint(0, len(bases)), [0] * len(sizes))
    cut = sorted(rng.randint(0, len(bases)) for _ in range(2))
    spans = dict(zip(("register", "lane", "warp", "block"), (bases[:cut[0]], bases[cut[0]:cut[1]], bases[cut[1]:], [])))
    inner = "{" + ", ".join(f"{name} = {span}" for name, span in spans.items()) + "}"
    text = inner + " -> {" + ", ".join(f"dim{d} = {size}" for d, size in enumerate(sizes)) + "}"
    if rng.random() < 0.3:
        return f"{dims_text(sizes)}@#ttg.linear<{inner}>", lambda _: linear_table(text), text
    return text, linear_table


def draw_shared_linear(rng: random.Random):
    """Return a random one-to-one linear layout in memory: unit bases, some of them XORed with others."""
    sizes = power_dims(rng, rng.randint(1, 3), 4, 7)
    bases = [[1 << k if e == d else 0 for e in range(len(sizes))] for d, size in enumerate(sizes) for k in range(size.bit_length() - 1)]
    rng.shuffle(bases)
    for _ in range(rng.choice([0, 1, 3, 6]) if len(bases) > 1 else 0):
        i, j = rng.sample(range(len(bases)), 2)
        bases[i] = [a ^ b for a, b in zip(bases[i], bases[j])]
    text = f"{{offset = {bases}, block = []}} -> {{{', '.join(f'dim{d} = {size}' for d, size in enumerate(sizes))}}}"
    if rng.random() < 0.4:
        return f"{dims_text(sizes)}@#ttg.shared_linear<{{offset = {bases}, block = []}}, alignment = 16>", lambda _: linear_table(text), text
    return text, linear_table


def padded_values(dims, bases, pads):
    number = inverted(xored(bases, len(dims)), dims)
    return number + sum(number // interval * pad for interval, pad in pads)


def draw_padded(rng: random.Random):
    dims = power_dims(rng, rng.randint(1, 3), 4, 7)
    if math.prod(dims) == 1:
        return draw_padded(rng)
    rank = len(dims)
    pads = [(interval, rng.choice([1, 2, 4, 8])) for interval in rng.sample([1, 2, 4, 8, 16, 64], rng.randint(1, 3))]
    shown = ", ".join(f"{interval}:+{pad}" for interval, pad in pads)
    if rng.random() < 0.4:
        order = rng.sample(range(rank), rank)
        bases = [[(1 << k) * (e == d) for e in range(rank)] for d in order for k in range(dims[d].bit_length() - 1)]
        text = f"{dims_text(dims)}@#ttg.padded_shared<[{shown}] {{order = {order}, shape = {dims}}}>"
    else:
        bases = [[(1 << k) * (e == d) for e in range(rank)] for d in range(rank) for k in range(dims[d].bit_length() - 1)]
        rng.shuffle(bases)
        if len(bases) > 1 and rng.random() < 0.4:
            i, j = rng.sample(range(len(bases)), 2)
            bases[i] = [a ^ b for a, b in zip(bases[i], bases[j])]
        text = f"{dims_text(dims)}@#ttg.padded_shared<[{shown}] {{offset = {bases}, block = []}}>"
    return text, lambda _: Table("padded", padded_values(dims, bases, pads)), None


# Distributions to threads, given as the digits (size, dimension, weight) of each input, fastest first. If the tile is
# smaller than the array, further registers repeat it until it covers the array.

def spread(shape: list, tile: list, order: list, registers: list, lanes: list, warps: list, blocks: list = ()):
    repeats = [(max(1, shape[d] // tile[d]), d, tile[d]) for d in order]
    return [registers + repeats, lanes, warps, list(blocks)]


class Encoding:
    """An encoding of Triton. keys: the attributes in its text; digits(shape): its distribution of an array of this
    shape, as digits for `owned`.
    """

    def __init__(self, name: str, keys: str, digits, rank: int) -> None:
        self.text, self.digits, self.rank = f"#ttg.{name}<{{{keys}}}>", digits, rank

    def values(self, shape: list):
        return owned(self.digits(shape), shape, wrap=True)


def blocked(rng: random.Random, rank: int) -> Encoding:
    size, threads, warps = [[1] * rank for _ in range(3)]
    for part, bits in ((size, rng.randint(0, 3)), (threads, 5), (warps, rng.randint(0, 2))):
        for _ in range(bits):
            part[rng.randrange(rank)] *= 2
    order = rng.sample(range(rank), rank)
    ctas, split, cta_order, keys = [1] * rank, [1] * rank, order, ""
    form = rng.random()
    bases = []
    if form < 0.2:
        ctas, cta_order = [power(rng, 1) for _ in range(rank)], rng.sample(range(rank), rank)
        split = [rng.choice([1, n]) for n in ctas]
        keys = f", CTAsPerCGA = {ctas}, CTASplitNum = {split}, CTAOrder = {cta_order}"
    elif form < 0.4:
        for _ in range(rng.randint(1, 2)):
            d = rng.randrange(rank + 1)
            bases.append([split[d] if e == d else 0 for e in range(rank)] if d < rank else [0] * rank)
            if d < rank:
                split[d] *= 2
        keys = f", CGALayout = {bases}"

    def digits(shape: list) -> list:
        own = [max(1, n // parts) for n, parts in zip(shape, split)]
        found = spread(own, [a * b * c for a, b, c in zip(size, threads, warps)], order, [(size[d], d, 1) for d in order], [(threads[d], d, size[d]) for d in order],
                       [(warps[d], d, size[d] * threads[d]) for d in order])
        found = [[digit for n, d, weight in line for digit in ([(min(n, max(1, own[d] // weight)), d, weight), (max(1, n // max(1, own[d] // weight)), -1, 0)])] for line in found]
        if form < 0.2:
            found[3] = [part for d in cta_order for part in ((split[d], d, own[d]), (ctas[d] // split[d], -1, 0))]
        else:
            found[3] = [(2, max(range(rank), key=lambda d: basis[d]), max(basis) * own[max(range(rank), key=lambda d: basis[d])]) if any(basis) else (2, -1, 0) for basis in bases]
        return found
    return Encoding("blocked", f"sizePerThread = {size}, threadsPerWarp = {threads}, warpsPerCTA = {warps}, order = {order}{keys}", digits, rank)


def warps_of(rng: random.Random, rank: int = 2) -> list:
    warps = [1] * rank
    for _ in range(rng.randint(0, 3)):
        warps[rng.randrange(rank)] *= 2
    return warps


class Mma:
    """An encoding of a matrix instruction, for the result or an operand."""

    def __init__(self, name: str, keys: str, rank: int, warps: list, first: bool, tile: list, registers: list, lanes: list, operand=None) -> None:
        self.name, self.keys, self.rank, self.warps, self.first, self.tile, self.registers, self.lanes, self.operand = name, keys, rank, warps, first, tile, registers, lanes, operand

    def warp_digits(self, tile: list, without: int = -1) -> list:
        order = range(self.rank) if self.first else range(self.rank - 1, -1, -1)
        return [(self.warps[d], -1 if d == without else d, tile[d]) for d in order]

    def result(self) -> Encoding:
        tile = [a * b for a, b in zip(self.tile, self.warps)]
        return Encoding(self.name, self.keys, lambda shape: spread(shape, tile, list(range(self.rank))[::-1], self.registers, self.lanes, self.warp_digits(self.tile)), self.rank)

    def dot(self, operand: int, width: int) -> Encoding:
        k, other = self.rank - 1 - operand, self.rank - 2 + operand
        tile, registers, lanes = self.operand(operand, width, k, other)
        whole = [a * b if d != k else a for d, (a, b) in enumerate(zip(tile, self.warps))]
        order = [k, other, *range(self.rank - 3, -1, -1)]
        parent = Encoding(self.name, self.keys, None, self.rank).text
        return Encoding("dot_op", f"opIdx = {operand}, parent = {parent}, kWidth = {width}",
                        lambda shape: spread(shape, whole, order, registers, lanes, self.warp_digits(tile, k)), self.rank)


def nvidia(rng: random.Random, version: int) -> Mma:
    rank = 3 if version == 2 and rng.random() < 0.2 else 2
    warps = warps_of(rng, rank) if version == 2 else [4, power(rng, 1)]
    m, n = rank - 2, rank - 1
    wide = 8 if version == 2 else power(rng, 5, 3)
    shape = [1] * (rank - 2) + [16, 8] if version == 2 else [16, wide, 16]
    tile = [1] * (rank - 2) + [16, wide]

    def operand(which: int, width: int, k: int, other: int):
        size = [1] * rank
        size[k], size[other] = 8 * width, 16 if which == 0 else 8
        middle = [(2, other, 8)] if which == 0 else []
        return size, [(width, k, 1), *middle, (2, k, 4 * width)], [(4, k, width), (8, other, 1)]
    return Mma("nvidia_mma", f"versionMajor = {version}, versionMinor = 0, warpsPerCTA = {warps}, instrShape = {shape}", rank, warps, version == 3, tile,
               [(2, n, 1), (2, m, 8), (wide // 8, n, 8)], [(4, n, 2), (8, m, 1)], operand)


def mfma(rng: random.Random) -> Mma:
    warps, size, turned = warps_of(rng), rng.choice([16, 32]), rng.random() < 0.5
    m, n = (1, 0) if turned else (0, 1)

    def operand(which: int, width: int, k: int, other: int):
        tile = [0, 0]
        tile[k], tile[other] = width * 64 // size, size
        return tile, [(width, k, 1)], [(size, other, 1), (64 // size, k, width)]
    return Mma("amd_mfma", f"version = 3, warpsPerCTA = {warps}, instrShape = [{size}, {size}, {256 // size}], isTransposed = {'true' if turned else 'false'}", 2, warps, False, [size, size],
               [(4, m, 1), (size * size // 256, m, 256 // size)], [(size, n, 1), (64 // size, m, 4)], operand)


def wmma(rng: random.Random) -> Mma:
    warps, version, turned = warps_of(rng), rng.choice([1, 2]), rng.random() < 0.5
    m, n = (1, 0) if turned else (0, 1)

    def operand(which: int, width: int, k: int, other: int):
        tile = [0, 0]
        tile[k], tile[other] = 16 if version == 1 else 2 * width, 16
        return tile, [(width, k, 1)], [(16, other, 1), (2, -1, 0) if version == 1 else (2, k, width)]
    return Mma("amd_wmma", f"version = {version}, isTranspose = {'true' if turned else 'false'}, warpsPerCTA = {warps}, instrShape = [16, 16, 16]", 2, warps, False, [16, 16],
               [(8, m, 2 if version == 1 else 1)], [(16, n, 1), (2, m, 1 if version == 1 else 8)], operand)


def dot_of(rng: random.Random) -> Encoding:
    kind = rng.randrange(5)
    if kind < 2:
        made = nvidia(rng, 2 + (kind == 1))
        return made.dot(0 if kind == 1 else rng.randrange(2), power(rng, 3, 1))
    if kind == 2:
        return mfma(rng).dot(rng.randrange(2), power(rng, 3, 2))
    if kind == 3:
        made = wmma(rng)
        return made.dot(rng.randrange(2), 16 if "version = 1" in made.keys else 8)
    rank = rng.randint(2, 3)
    parent = blocked(rng, rank)
    while "CTA" in parent.text.replace("warpsPerCTA", "") or "CGA" in parent.text:
        parent = blocked(rng, rank)
    operand = rng.randrange(2)
    k = rank - 1 - operand
    size, threads, warps, order = (json.loads(numbers) for numbers in re.findall(r"= (\[[\d, ]+\])", parent.text))

    def digits(shape: list) -> list:
        own = [shape[d] if d == k else size[d] for d in range(rank)]
        tile = [shape[d] if d == k else size[d] * threads[d] * warps[d] for d in range(rank)]
        return spread(shape, tile, order, [(own[d], d, 1) for d in order], [(threads[d], -1 if d == k else d, own[d]) for d in order],
                      [(warps[d], -1 if d == k else d, own[d] * threads[d]) for d in order])
    return Encoding("dot_op", f"opIdx = {operand}, parent = {parent.text}", digits, rank)


def encoding(rng: random.Random, kind: str) -> Encoding:
    return (blocked(rng, rng.randint(1, 3)) if kind == "blocked" else nvidia(rng, 2).result() if kind == "mma2" else nvidia(rng, 3).result() if kind == "mma3" else mfma(rng).result()
            if kind == "mfma" else wmma(rng).result() if kind == "wmma" else dot_of(rng))


def draw_encoding(rng: random.Random, kind: str):
    while True:
        made = encoding(rng, kind)
        shape = power_dims(rng, made.rank, 7, 10)
        if math.prod(size for line in made.digits(shape) for size, _, _ in line) <= 2048:
            return f"{dims_text(shape)}@{made.text}", lambda _: Table("triton", made.values(shape), shape, True), None


def draw_slice(rng: random.Random):
    """Return a slice of an encoding, rarely a slice of a slice. Registers that would move only along the removed
    dimension are dropped.
    """
    while True:
        made = encoding(rng, rng.choice(["blocked", "mma2", "mma3", "mfma", "wmma", "dot"]))
        cut = rng.randrange(made.rank)
        shape = power_dims(rng, made.rank, 7, 10)
        shape[cut] = 1
        if made.rank > 1 and math.prod(size for line in made.digits(shape) for size, _, _ in line) <= 2048:
            break

    def values(_: str) -> Table:
        found = np.delete(made.values(shape), cut, -1)
        kept = np.arange(found.shape[0])
        for k in range(found.shape[0].bit_length() - 1):
            if not found[1 << k, 0, 0, 0].any():
                kept = kept[kept >> k & 1 == 0]
        return Table("triton", found[kept], [size for d, size in enumerate(shape) if d != cut], True)
    return f"{dims_text([size for d, size in enumerate(shape) if d != cut])}@#ttg.slice<{{dim = {cut}, parent = {made.text}}}>", values, None


def draw_swizzled(rng: random.Random):
    """Return a swizzled layout: the element in row r and column c has the offset r * columns + (c xor vec * phase). The
    phase depends on r; rotating layouts compute it in another way. vec is an attribute of the layout.
    """
    rank = rng.choice([1, 2, 2, 2, 3])
    dims, order = power_dims(rng, rank, 5, 8), rng.sample(range(rank), rank)
    vec, per, most = power(rng, 3), power(rng, 2), power(rng, 3)
    rotating = rng.random() < 0.4

    def values(_: str) -> Table:
        at = [along(np.arange(size), d, rank) for d, size in enumerate(dims)]
        column, columns = at[order[0]], dims[order[0]]
        if rank > 1:
            row = at[order[1]] // per
            phase = row % most ^ row // most % most if rotating else row % most
            column = column ^ vec * phase % columns
        step, total = columns, column
        for d in order[1:]:
            total, step = total + at[d] * step, step * dims[d]
        return Table("triton", np.broadcast_to(total, dims))
    name = "amd_rotating_shared" if rotating else rng.choice(["swizzled_shared", "shared"])
    return f"{dims_text(dims)}@#ttg.{name}<{{vec = {vec}, perPhase = {per}, maxPhase = {most}, order = {order}}}>", values, None


def draw_nvmma(rng: random.Random):
    """Return an nvmma layout: rows of max(16, swizzlingByteWidth) bytes, swizzled in groups of 16 bytes. If the array
    has more columns, each further group of columns is another block of all rows.
    """
    wide, bits, turned = rng.choice([0, 32, 64, 128]), rng.choice([8, 16, 32]), rng.random() < 0.4
    columns = max(16, wide) * 8 // bits
    shape = [8 * power(rng, 1), columns * power(rng, 1)]

    def values(_: str) -> Table:
        row, column = np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]
        phase = row // (128 // wide) % (wide // 16) if wide else 0 * row
        offset = (column // columns * shape[0] + row) * columns + (column % columns ^ 128 // bits * phase)
        return Table("triton", offset.T if turned else offset)
    dims = shape[::-1] if turned else shape
    return (f"{dims_text(dims)}@#ttg.nvmma_shared<{{swizzlingByteWidth = {wide}, transposed = {'true' if turned else 'false'}, elementBitWidth = {bits}}}>", values, None)


DRAW = {"strides": draw_strides, "onednn": draw_tag, "xla": draw_xla, "tenstorrent": draw_tenstorrent, "cute": draw_cute, "cute_owners": draw_cute_owners, "mosaic": draw_mosaic,
        "iree": draw_iree, "linear": draw_linear, "shared_linear": draw_shared_linear, "padded": draw_padded, "swizzled": draw_swizzled, "nvmma": draw_nvmma, "slice": draw_slice,
        **{kind: (lambda rng, kind=kind: draw_encoding(rng, kind)) for kind in ("blocked", "mma2", "mma3", "mfma", "wmma", "dot")}}


def witnessed(said: str, table: Table) -> bool:
    """Return true if the points in an answer "no: REASON" have the stated values, and these values prove REASON."""
    reason, *rest = said[4:].split(": at ")
    values = []
    for point, value in re.findall(r"\(([\d,]*)\) (-?\d+|\([-\d,]+\))", rest[0]) if rest else []:
        at = tuple(int(n) for n in point.split(",") if n)
        got = table.values[tuple(i % n for i, n in zip(at, table.inputs)) if table.kind == "iree" else at]
        values.append(np.atleast_1d(got).tolist())
        if values[-1] != [int(n) for n in re.findall(r"-?\d+", value)]:
            return False
    zero = np.atleast_1d(table.values[(0,) * len(table.inputs)]).tolist()
    if reason.startswith("an XOR"):
        return any(z + s != x + y for x, y, s, z in zip(*values, zero))
    if reason.startswith("the values of these"):
        return any(s != x ^ y for x, y, s in zip(*values))
    if reason.startswith(("two indices", "two registers")):
        return values[0] == values[1]
    return not reason.startswith("the first") or any(values[0])


def batch(kind: str, rng: random.Random, count: int, counts: "dict[str, int]") -> None:
    """Draw `count` layouts of one notation and check their texts, values and conversions. Count the answers in `counts`.
    """
    drawn = [DRAW[kind](rng) for _ in range(count)]
    texts = [row[0] for row in drawn]
    wanted = [row[1](row[0]) for row in drawn]
    said = answers("", [[text] for text in texts])
    assert not (bad := [(text, line) for text, line in zip(texts, said) if line.startswith("error")]), bad[:3]
    printed = [line.split("\t")[1] for line in said]
    assert answers("", [[text] for text in printed]) == said
    for row, text in zip(drawn, printed):
        assert len(row) == 3 and row[2] is None or text == row[-1 if len(row) == 3 else 0], row[0]
    for text, shown, table in zip(texts, printed, wanted):
        assert kind == "padded" or same(table, table_of(shown)), (text, shown)
    if kind == "padded":
        for text, table, line in zip(texts, wanted, answers("table", [[text] for text in printed])):
            assert [int(n) for n in line.split(",")] == table.values.ravel().tolist(), text
    own = "xla" if kind == "tenstorrent" else "cute" if kind in ("cute_owners", "padded") else kind if kind in EXISTS else "triton"
    rows = [(text, notation) for text, table in zip(texts, wanted) for notation in (*(OWNERS if table.owners else PLACES), rng.choice([*PLACES, *OWNERS]))]
    tables = dict(zip(texts, wanted))
    back = []
    for (text, notation), line in zip(rows, answers("convert", [list(row) for row in rows])):
        table = tables[text]
        assert not line.startswith("error"), (text, notation, line)
        if line.startswith("not decided"):
            counts["open"] += 1
            counts.setdefault(line, (text, notation))
        elif line.startswith("no: "):
            counts["no"] += 1
            assert not may_be(table, notation) and witnessed(line, table), (text, notation, line)
        else:
            counts["yes"] += 1
            if kind == "padded" and notation == "triton":  # a padded layout is already in Triton's notation
                assert line == printed[texts.index(text)]
                continue
            assert same(table, table_of(line)), (text, notation, line)
            back.append((text, line))
    for (text, middle), line in zip(back, answers("convert", [[middle, own] for _, middle in back])):
        if line.startswith("not decided"):
            counts["back open"] += 1
            counts.setdefault("back " + line, (text, middle))
        elif line.startswith("no: ") and text.count("S<") > 1:    # a composition of two swizzles is not always a swizzle
            counts["back no"] += 1
            assert not may_be(tables[text], own) and witnessed(line, tables[text]), (text, middle, line)
        else:
            assert not line.startswith(("no", "error")) and same(tables[text], table_of(line), table_of(middle).kind), (text, middle, line)
            counts["back"] += 1


@pytest.mark.parametrize("kind", DRAW)
def test_drawn(kind: str) -> None:
    rng = random.Random(f"{kind} {SEED}")
    counts = dict.fromkeys(["drawn", "yes", "no", "open", "back", "back no", "back open"], 0)
    while counts["drawn"] < COUNT:
        count = min(1000, COUNT - counts["drawn"])
        batch(kind, rng, count, counts)
        counts["drawn"] += count
    print(kind, counts)
    assert counts["yes"] + counts["no"] > 4 * counts["open"] and counts["back"] > 20 * counts["back open"], counts
