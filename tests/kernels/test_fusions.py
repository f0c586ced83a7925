"""Property: the kernels of random fusions agree with the scalar reference.

The fusions are graphs of every supported op on all types, with values that are needed at several indices, unusual
layouts, empty dimensions and dimensions of 1, and several results. SETT_SEED selects other fusions, SETT_COUNT their
number, SETT_TARGET and SETT_DEVICE the target. A failure prints the smallest part that fails.
"""

from __future__ import annotations

import math
import os
import random
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import pytest

from drawn import device_or_skip, unoptimised
from gen import hlo, run, schedule

SEED = int(os.environ.get("SETT_SEED", "1"))
COUNT = int(os.environ.get("SETT_COUNT", "12"))
TARGET = os.environ.get("SETT_TARGET", "c")
DEVICE = os.environ.get("SETT_DEVICE")
BATCH = 12

SIGNED = ["s8", "s16", "s32", "s64"]
UNSIGNED = ["u8", "u16", "u32", "u64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
INTEGERS = SIGNED + UNSIGNED
ALL = ["pred", *INTEGERS, *FLOATS]
BYTES = {"pred": 1, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, **{d: int(d[1:]) // 8 for d in INTEGERS}}
DIMS = [1, 1, 2, 3, 3, 17, 31, 33, 64, 255]
MOST_ELEMENTS = 9000
MOST_COST = 3_000_000  # maximum number of scalar ops of a result, if each value is computed again wherever it is used

# op -> the types that it takes; the result has the same type, except for is-finite
UNARY = {"negate": INTEGERS + FLOATS, "abs": SIGNED + FLOATS, "sign": SIGNED + FLOATS, "not": ["pred", *INTEGERS],
         "popcnt": INTEGERS, "count-leading-zeros": INTEGERS, "is-finite": FLOATS, "copy": ALL,
         **{op: FLOATS for op in """floor ceil round-nearest-afz round-nearest-even sqrt rsqrt cbrt exponential
            exponential-minus-one log log-plus-one tanh logistic sine cosine tan""".split()}}
BINARY = {**{op: ALL for op in ("add", "multiply", "maximum", "minimum")},
          **{op: INTEGERS + FLOATS for op in ("subtract", "divide", "remainder", "power")},
          **{op: ["pred", *INTEGERS] for op in ("and", "or", "xor")}, "atan2": FLOATS,
          **{op: INTEGERS for op in ("shift-left", "shift-right-arithmetic", "shift-right-logical")}}
ROUGH = frozenset("""power tan exponential exponential-minus-one log log-plus-one tanh logistic sine cosine cbrt rsqrt atan2
    divide remainder sqrt""".split())    # rarely used on floats, because chains of them make errors grow

# The ops that combine two scalars: the body of a computation with the parameters %a and %b.
COMBINERS = {
    "add": "ROOT %r = {t}[] add(%a, %b)", "maximum": "ROOT %r = {t}[] maximum(%a, %b)", "minimum": "ROOT %r = {t}[] minimum(%b, %a)",
    "second": "ROOT %r = {t}[] copy(%b)", "first": "ROOT %r = {t}[] copy(%a)",
    "larger": "%m = {t}[] maximum(%a, %b)\n  %c = pred[] compare(%a, %m), direction=EQ\n  ROOT %r = {t}[] select(%c, %a, %b)",
}


@dataclass
class Node:
    """A value: its name in the text, type, dims, layout, and cost (the scalar ops for one element). Its lines of text
    are found by its name.
    """

    name: str
    dtype: str
    dims: Tuple[int, ...]
    layout: Tuple[int, ...]
    cost: int
    moved: bool = False    # only moves computed this value, so its bits must equal the reference's

    @property
    def elements(self) -> int:
        return math.prod(self.dims)

    @property
    def text(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.dims))}]" + (f"{{{','.join(map(str, self.layout))}}}" if self.dims else "")


@dataclass
class Line:
    name: str
    text: str                                   # without "ROOT"
    operands: List[str] = field(default_factory=list)


class Rows(NamedTuple):
    """The indices of a gather or scatter, and the windows that they select."""

    rows: List[int]    # sizes of the array of indices without the dimension of an index's components
    indices: List[int]    # sizes of the array of indices with the dimension of an index's components
    vector: int
    batching: List[int]    # batching dimensions in the array of indices
    every: List[int]        # sizes of a gather's result or a scatter's updates: the sizes in `rows` and those of the window, interleaved
    places: List[int]    # the dimensions of `every` that belong to the window


class Draw:
    """One random fusion, built line by line."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines: List[Line] = []
        self.nodes: List[Node] = []
        self.called: List[str] = []
        self.parameters = 0
        self.dtypes = self.r.sample(ALL, self.r.randint(2, 5))
        self.clashes = self.r.random() < 0.3

    # ---- text ----

    def name(self, opcode: str) -> str:
        """Return a name for a value. It may be a word of C or of the generator, or equal another name once both are C
        identifiers.
        """
        n = len(self.lines)
        taken = {line.name for line in self.lines}
        if self.clashes:
            words = ["x", "a.1", "a-1", "a_1", "a", "a_2", "lane", "vec", "p0", "r0", "i0", "s0", "v_a", "a_l", "a_1_x", "round_bf16", "float",
                     "maximum_f32", "value_f16", "0", "chunk", "next", "c_a", "sum_", "_", "__", "get_group_id", "a_x", "a_l_1", "a_1_1"]
            word = self.r.choice(words)
            if word not in taken:
                return word
        return f"{opcode}.{n}"

    def layout(self, rank: int) -> Tuple[int, ...]:
        order = list(range(rank - 1, -1, -1))
        if self.r.random() < 0.2:
            self.r.shuffle(order)
        return tuple(order)

    def emit(self, opcode: str, dtype: str, dims: Sequence[int], operands: "Sequence[Node]" = (), extra: str = "", cost: int = 1,
             inside: Optional[str] = None, layout: Optional[Tuple[int, ...]] = None) -> Node:
        moves = opcode in """broadcast transpose reshape bitcast slice reverse copy pad concatenate parameter constant iota
            dynamic-slice dynamic-update-slice gather""".split()
        node = Node(self.name(opcode), dtype, tuple(dims), self.layout(len(dims)) if layout is None else layout,
                    cost + sum(o.cost for o in operands), moves and all(o.moved for o in operands))
        shown = ", ".join(f"%{o.name}" if self.r.random() < 0.7 else f"{o.text} %{o.name}" for o in operands) if inside is None else inside
        self.lines.append(Line(node.name, f"%{node.name} = {node.text} {opcode}({shown}){extra}", [o.name for o in operands]))
        self.nodes.append(node)
        return node

    def fits(self, dims: Sequence[int], cost: int) -> bool:
        n = math.prod(dims)
        return n <= MOST_ELEMENTS and n * cost <= MOST_COST and cost <= 20000

    # ---- leaves ----

    def dims(self, rank: Optional[int] = None) -> Tuple[int, ...]:
        rank = self.r.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]) if rank is None else rank
        while True:
            dims = tuple(self.r.choice(DIMS) if self.r.random() > 0.02 else 0 for _ in range(rank))
            if math.prod(dims) <= MOST_ELEMENTS:
                return dims

    def leaf(self, dims: Optional[Tuple[int, ...]] = None, dtype: Optional[str] = None) -> Node:
        dims = self.dims() if dims is None else dims
        dtype = dtype or self.r.choice(self.dtypes)
        kind = self.r.random()
        if kind < 0.12 and math.prod(dims) <= 300:
            return self.constant(dims, dtype)
        if kind < 0.2 and dims and dtype != "pred":
            return self.emit("iota", dtype, dims, extra=f", iota_dimension={self.r.randrange(len(dims))}")
        node = self.emit("parameter", dtype, dims, inside=str(self.parameters))
        self.parameters += 1
        return node

    def constant(self, dims: Tuple[int, ...], dtype: str, values: Sequence[str] = ()) -> Node:
        flat = list(values) or [self.literal(dtype) for _ in range(1 if self.r.random() < 0.2 else math.prod(dims))]
        flat = flat * math.prod(dims) if len(flat) == 1 else flat

        def nested(dims: Tuple[int, ...], flat: List[str]) -> str:
            if not dims:
                return flat[0]
            each = math.prod(dims[1:])
            return "{" + ", ".join(nested(dims[1:], flat[k * each:(k + 1) * each]) for k in range(dims[0])) + "}"
        return self.emit("constant", dtype, dims, inside=nested(dims, flat))

    def literal(self, dtype: str) -> str:
        if dtype == "pred":
            return self.r.choice(["true", "false"])
        if dtype in FLOATS:
            return self.r.choice(["0", "-0", "1", "-1.5", "inf", "-inf", "nan", "3.25", "0.1", "1e-7", "-100", f"{self.r.uniform(-8, 8):.4g}"])
        low, high = (0, 2 ** (8 * BYTES[dtype]) - 1) if dtype in UNSIGNED else (-2 ** (8 * BYTES[dtype] - 1), 2 ** (8 * BYTES[dtype] - 1) - 1)
        return str(self.r.choice([0, 1, 2, 7, low, high, self.r.randint(low, high)]))

    # ---- operands ----

    def pick(self, dtypes: Sequence[str] = ALL, rank: int = 0) -> Node:
        """Return a value of one of these types, usually a recent one."""
        found = [n for n in self.nodes if n.dtype in dtypes and len(n.dims) >= rank and n.cost < 5000]
        if not found or self.r.random() < 0.04:
            own = [d for d in self.dtypes if d in dtypes] or list(dtypes)
            return self.leaf(self.dims(max(rank, self.r.randint(0, 3))), self.r.choice(own))
        return self.r.choice(found[-12:] if self.r.random() < 0.6 else found)

    def like(self, node: Node, dtype: Optional[str] = None) -> Node:
        """Return another value with the same dims: an existing one, or one made by a move or conversion."""
        dtype = dtype or node.dtype
        same = [n for n in self.nodes if n.dims == node.dims and n.dtype == dtype and n.cost < 5000]
        way = self.r.random()
        if same and way < 0.35:
            return self.r.choice(same)
        if node.dtype == dtype and node.dims and way < 0.6:
            return self.permuted(node)
        counts = [n for n in self.nodes if n.elements == node.elements and n.dtype == dtype and n.cost < 5000]
        if counts and way < 0.75:
            return self.emit("reshape", dtype, node.dims, [self.r.choice(counts)], cost=0)
        others = [n for n in self.nodes if n.dims == node.dims and n.cost < 5000 and n.dtype != dtype]
        if others and way < 0.85:
            return self.emit("convert", dtype, node.dims, [self.r.choice(others)])
        scalars = [n for n in self.nodes if not n.dims and n.dtype == dtype and n.cost < 5000]
        if scalars and way < 0.93:
            return self.emit("broadcast", dtype, node.dims, [self.r.choice(scalars)], ", dimensions={}", 0)
        return self.leaf(node.dims, dtype)

    def permuted(self, node: Node) -> Node:
        """Return an array with the elements of `node` in another order, and with the same dims."""
        dims, rank = node.dims, len(node.dims)
        order = list(range(rank))
        self.r.shuffle(order)
        if self.r.random() < 0.5 or rank < 2:
            some = sorted(self.r.sample(range(rank), self.r.randint(1, rank)))
            return self.emit("reverse", node.dtype, dims, [node], f", dimensions={{{','.join(map(str, some))}}}", 0)
        turned = self.emit("transpose", node.dtype, [dims[k] for k in order], [node], f", dimensions={{{','.join(map(str, order))}}}", 0)
        return turned if turned.dims == dims else self.emit("reshape", node.dtype, dims, [turned], cost=0)

    # ---- ops ----

    def step(self) -> None:
        self.r.choice([self.unary, self.binary, self.binary, self.binary, self.compare, self.select, self.clamp, self.convert, self.broadcast,
                       self.transpose, self.reshape, self.bitcast, self.slice, self.reverse, self.pad, self.pad, self.concatenate,
                       self.concatenate, self.reduce, self.reduce, self.map, self.both, self.dynamic_slice, self.dynamic_update_slice, self.gather,
                       self.dot, self.convolution, self.reduce_window, self.select_and_scatter, self.scatter])()

    def gentle(self, op: str, dtypes: Sequence[str]) -> Sequence[str]:
        return dtypes if op not in ROUGH or self.r.random() < 0.3 else [d for d in dtypes if d not in FLOATS] or dtypes

    def unary(self) -> None:
        op = self.r.choice(sorted(UNARY))
        a = self.pick(self.gentle(op, UNARY[op]))
        self.emit(op, "pred" if op == "is-finite" else a.dtype, a.dims, [a])

    def binary(self) -> None:
        op = self.r.choice(sorted(BINARY))
        a = self.pick(self.gentle(op, BINARY[op]))
        b = self.like(a)
        x = [a, b] if self.r.random() < 0.5 else [b, a]
        if self.fits(a.dims, a.cost + b.cost + 1):
            self.emit(op, a.dtype, a.dims, x)

    def compare(self) -> None:
        a = self.pick()
        b = self.like(a)
        kind = ", type=TOTALORDER" if a.dtype in FLOATS and self.r.random() < 0.5 else ""
        if self.fits(a.dims, a.cost + b.cost + 1):
            self.emit("compare", "pred", a.dims, [a, b], f", direction={self.r.choice('EQ NE LT LE GT GE'.split())}{kind}")

    def select(self) -> None:
        a = self.pick()
        b = self.like(a)
        choice = self.like(a, "pred") if self.r.random() < 0.8 else self.leaf((), "pred")
        if self.fits(a.dims, a.cost + b.cost + choice.cost):
            self.emit("select", a.dtype, a.dims, [choice, a, b])

    def clamp(self) -> None:
        a = self.pick()
        low, high = (self.like(a) if self.r.random() < 0.5 else self.leaf((), a.dtype) for _ in range(2))
        if self.fits(a.dims, a.cost + low.cost + high.cost):
            self.emit("clamp", a.dtype, a.dims, [low, a, high])

    def convert(self) -> None:
        a = self.pick()
        to = self.r.choice(ALL)
        same = [d for d in ALL if BYTES[d] == BYTES[a.dtype] and (d == "pred") == (a.dtype == "pred")]
        if self.r.random() < 0.3:
            self.emit("bitcast-convert", self.r.choice(same), a.dims, [a])
        else:
            self.emit("convert", to, a.dims, [a])

    def broadcast(self) -> None:
        a = self.pick()
        dims, at = list(a.dims), list(range(len(a.dims)))
        for _ in range(self.r.randint(0, 2)):
            k = self.r.randint(0, len(dims))
            dims.insert(k, self.r.choice([1, 2, 3, 17, 33]))
            at = [p + (p >= k) for p in at]
        if self.r.random() < 0.3 and len(at) > 1:    # exchange two dimensions of the result
            i, j = self.r.sample(range(len(at)), 2)
            dims[at[i]], dims[at[j]] = dims[at[j]], dims[at[i]]
            at[i], at[j] = at[j], at[i]
        if self.fits(dims, a.cost):
            self.emit("broadcast", a.dtype, dims, [a], f", dimensions={{{','.join(map(str, at))}}}", 0)

    def transpose(self) -> None:
        a = self.pick(rank=1)
        order = list(range(len(a.dims)))
        self.r.shuffle(order)
        self.emit("transpose", a.dtype, [a.dims[k] for k in order], [a], f", dimensions={{{','.join(map(str, order))}}}", 0)

    def refactored(self, elements: int) -> Tuple[int, ...]:
        dims: List[int] = []
        while elements > 1 and len(dims) < 4:
            divisors = [k for k in range(2, elements + 1) if elements % k == 0]
            dims.append(self.r.choice(divisors) if len(dims) < 3 else elements)
            elements //= dims[-1]
        if elements != 1:
            dims.append(elements)
        for _ in range(self.r.randint(0, 1)):
            dims.insert(self.r.randint(0, len(dims)), 1)
        self.r.shuffle(dims)
        return tuple(dims)

    def reshape(self) -> None:
        a = self.pick()
        self.emit("reshape", a.dtype, self.refactored(a.elements), [a], cost=0)

    def bitcast(self) -> None:
        a = self.pick()
        same = [d for d in ALL if BYTES[d] == BYTES[a.dtype] and (d == "pred") == (a.dtype == "pred")]
        to = a.dtype if self.r.random() < 0.7 else self.r.choice(same)
        dims = self.refactored(a.elements)
        order = list(range(len(dims)))
        self.r.shuffle(order)
        self.emit("bitcast", to, dims, [a], cost=0 if to == a.dtype else 1, layout=tuple(order))

    def slice(self) -> None:
        a = self.pick(rank=1)
        parts, dims = [], []
        for size in a.dims:
            low = self.r.randint(0, size // 2)
            high = self.r.randint(low + (0 if self.r.random() < 0.02 else min(1, size - low)), size)
            stride = self.r.choice([1, 1, 2, 3, 5])
            parts.append(f"[{low}:{high}:{stride}]" if stride > 1 else f"[{low}:{high}]")
            dims.append(-(-(high - low) // stride))
        self.emit("slice", a.dtype, dims, [a], f", slice={{{', '.join(parts)}}}", 0)

    def reverse(self) -> None:
        a = self.pick(rank=1)
        some = self.r.sample(range(len(a.dims)), self.r.randint(1, len(a.dims)))
        self.emit("reverse", a.dtype, a.dims, [a], f", dimensions={{{','.join(map(str, some))}}}", 0)

    def scalar(self, dtype: str) -> Node:
        found = [n for n in self.nodes if not n.dims and n.dtype == dtype and n.cost < 500]
        return self.r.choice(found) if found and self.r.random() < 0.6 else self.leaf((), dtype)

    def pad(self) -> None:
        a = self.pick(rank=1)
        value, parts, dims = self.scalar(a.dtype), [], []
        for size in a.dims:
            low, high, interior = self.r.choice([0, 0, 1, 3, -1, -2, 15]), self.r.choice([0, 0, 1, 2, -1, 16]), self.r.choice([0, 0, 0, 1, 2, 3])
            total = low + high + size + max(size - 1, 0) * interior
            if total < (0 if self.r.random() < 0.03 else 1) or total > 600:
                low, high, interior, total = 0, 1, 0, size + 1
            parts.append(f"{low}_{high}" + (f"_{interior}" if interior or self.r.random() < 0.2 else ""))
            dims.append(total)
        if self.fits(dims, a.cost + value.cost):
            self.emit("pad", a.dtype, dims, [a, value], f", padding={'x'.join(parts)}")

    def concatenate(self) -> None:
        a = self.pick(rank=1)
        along = self.r.randrange(len(a.dims))
        others = [n for n in self.nodes if n.dtype == a.dtype and len(n.dims) == len(a.dims) and n.cost < 5000
                  and all(x == y for k, (x, y) in enumerate(zip(n.dims, a.dims)) if k != along)]
        sides = [a]
        for _ in range(self.r.choice([0, 1, 1, 2, 5])):
            sides.append(self.r.choice(others) if self.r.random() < 0.6 else self.permuted(a) if self.r.random() < 0.5 else self.leaf(
                a.dims[:along] + (self.r.choice([1, 2, 3, 16, 0]),) + a.dims[along + 1:], a.dtype))
        dims = list(a.dims)
        dims[along] = sum(s.dims[along] for s in sides)
        if self.fits(dims, sum(s.cost for s in sides)):
            self.emit("concatenate", a.dtype, dims, sides, f", dimensions={{{along}}}")

    def starts(self, rank: int) -> List[Node]:
        """Return start indices, as scalars or as one array."""
        dtype = self.r.choice(["s32", "s32", "u32", "s64", *INTEGERS])
        if self.r.random() < 0.2 and rank:
            return [self.leaf((rank,), dtype)]
        return [self.scalar(dtype) for _ in range(rank)]

    def part(self, size: int) -> int:
        return self.r.choice([size, self.r.randint(min(1, size), size), min(1, size), 0 if self.r.random() < 0.1 else size])

    def dynamic_slice(self) -> None:
        a = self.pick()
        starts, sizes = self.starts(len(a.dims)), [self.part(size) for size in a.dims]
        if self.fits(sizes, a.cost + sum(s.cost for s in starts)):
            self.emit("dynamic-slice", a.dtype, sizes, [a, *starts], f", dynamic_slice_sizes={{{','.join(map(str, sizes))}}}")

    def dynamic_update_slice(self) -> None:
        a = self.pick()
        parts = [n for n in self.nodes if n.dtype == a.dtype and len(n.dims) == len(a.dims) and all(x <= y for x, y in zip(n.dims, a.dims)) and n.cost < 5000]
        update = self.r.choice(parts) if self.r.random() < 0.7 else self.leaf(tuple(self.part(size) for size in a.dims), a.dtype)
        starts = self.starts(len(a.dims))
        if self.fits(a.dims, a.cost + update.cost + sum(s.cost for s in starts)):
            self.emit("dynamic-update-slice", a.dtype, a.dims, [a, update, *starts])

    def rows(self, sizes: Sequence[int], components: int, windows: Sequence[int], counts: Sequence[int]) -> Rows:
        """Return an array of indices for a gather or scatter. sizes: the sizes of its batching dimensions; components:
        the number of components of an index; windows: the sizes of the window; counts: the sizes from which those of up
        to two further dimensions of the array are drawn.
        """
        rows = [*sizes, *(self.r.choice(counts) for _ in range(self.r.randint(0, 2)))]
        order = list(range(len(rows)))
        self.r.shuffle(order)
        rows = [rows[k] for k in order]
        vector = self.r.randint(0, len(rows))
        dims = rows[:vector] + [components] + rows[vector:]
        if components == 1 and self.r.random() < 0.3:
            dims, vector = rows, len(rows)    # one component, so the array needs no dimension for components
        batching = [k + (k >= vector) for k in (order.index(k) for k in range(len(sizes)))]
        places = sorted(self.r.sample(range(len(rows) + len(windows)), len(windows)))
        of_window, of_row = iter(windows), iter(rows)
        every = [next(of_window) if k in places else next(of_row) for k in range(len(rows) + len(windows))]
        return Rows(rows, dims, vector, batching, every, places)

    def gather(self) -> None:
        a = self.pick(rank=1)
        rank = len(a.dims)
        batching = [k for k in range(rank) if self.r.random() < 0.15]
        mapped = self.r.sample([k for k in range(rank) if k not in batching], self.r.randint(0, rank - len(batching)))
        collapsed = [k for k in range(rank) if k not in batching and a.dims[k] and self.r.random() < 0.4]
        sizes = [min(1, a.dims[k]) if k in batching else 1 if k in collapsed else self.part(a.dims[k]) for k in range(rank)]
        if any(a.dims[k] == 0 for k in batching):
            return
        windows = [sizes[k] for k in range(rank) if k not in batching and k not in collapsed]
        of = self.rows([a.dims[k] for k in batching], len(mapped), windows, [1, 2, 5, 17])
        indices = self.leaf(tuple(of.indices), self.r.choice(["s32", "s64", *INTEGERS]))
        if self.fits(of.every, a.cost + indices.cost):
            lists = {"offset_dims": of.places, "collapsed_slice_dims": collapsed, "start_index_map": mapped, "slice_sizes": sizes}
            lists.update({"operand_batching_dims": batching, "start_indices_batching_dims": of.batching} if batching else {})
            self.emit("gather", a.dtype, of.every, [a, indices], f", index_vector_dim={of.vector}" + "".join(
                f", {key}={{{','.join(map(str, values))}}}" for key, values in lists.items()))

    def scatter(self) -> None:
        """Append a scatter, whose indices are a parameter."""
        a = self.pick(rank=1)
        rank = len(a.dims)
        batching = [k for k in range(rank) if self.r.random() < 0.15]
        mapped = self.r.sample([k for k in range(rank) if k not in batching], self.r.randint(0, rank - len(batching)))
        inserted = [k for k in range(rank) if k not in batching and self.r.random() < 0.4]
        windows = [self.part(a.dims[k]) for k in range(rank) if k not in batching and k not in inserted]
        of = self.rows([a.dims[k] for k in batching], len(mapped), windows, [1, 2, 5, 17, 70])
        shape = tuple(of.every)
        updates = [n for n in self.nodes if n.dtype == a.dtype and n.dims == shape and n.cost < 5000]
        update = self.r.choice(updates) if updates and self.r.random() < 0.5 else self.leaf(shape, a.dtype)
        indices = self.leaf(tuple(of.indices), self.r.choice(["s32", "s64", *INTEGERS]))
        if not self.fits(shape, update.cost + indices.cost) or not self.fits(a.dims, a.cost):
            return
        body = COMBINERS[self.r.choice(sorted(COMBINERS))].format(t=a.dtype)
        lists = {"update_window_dims": of.places, "inserted_window_dims": inserted, "scatter_dims_to_operand_dims": mapped}
        lists.update({"input_batching_dims": batching, "scatter_indices_batching_dims": of.batching} if batching else {})
        name = self.computation(body, ("a", a.dtype), ("b", a.dtype))
        self.emit("scatter", a.dtype, a.dims, [a, indices, update], f", index_vector_dim={of.vector}, to_apply=%{name}" + "".join(
            f", {key}={{{','.join(map(str, values))}}}" for key, values in lists.items()), a.cost + (update.cost + indices.cost + 4) * math.prod(of.rows))

    def computation(self, body: str, *arguments: Tuple[str, str]) -> str:
        name = f"comp.{len(self.called)}"
        head = "\n".join(f"  %{of} = {dtype}[] parameter({k})" for k, (of, dtype) in enumerate(arguments))
        self.called.append(f"%{name} {{\n{head}\n  {body}\n}}")
        return name

    def reduce(self) -> None:
        a = self.pick(rank=1)
        some = self.r.sample(range(len(a.dims)), self.r.randint(0 if self.r.random() < 0.05 else 1, len(a.dims)))
        kept = [size for k, size in enumerate(a.dims) if k not in some]
        each = math.prod(a.dims[k] for k in some)
        if not self.fits(kept, each * (a.cost + 2)):
            return
        count = self.r.choice([1, 1, 1, 2])
        inputs = [a] + [self.like(a, self.r.choice([a.dtype, "s32", "u8", "f32"])) for _ in range(count - 1)]
        if not self.fits(kept, each * sum(n.cost + 4 for n in inputs)):
            return
        starts = [self.scalar(n.dtype) for n in inputs]
        dimensions = f", dimensions={{{','.join(map(str, some))}}}"
        if count == 1:
            body = COMBINERS[self.r.choice(sorted(COMBINERS))].format(t=a.dtype)
            name = self.computation(body, ("a", a.dtype), ("b", a.dtype))
            self.emit("reduce", a.dtype, kept, [a, starts[0]], f"{dimensions}, to_apply=%{name}", each * (a.cost + 2) + starts[0].cost)
            return
        t, u = (n.dtype for n in inputs)
        swap = self.r.random() < 0.3 and t == u
        names = ("%w", "%v") if swap else ("%v", "%w")
        body = (f"%c = pred[] compare(%a, %x), direction={self.r.choice(['GE', 'LT', 'NE'])}\n  %v = {t}[] select(%c, %a, %x)\n"
                f"  %w = {u}[] select(%c, %b, %y)\n  ROOT %r = ({t}[], {u}[]) tuple({', '.join(names)})")
        if self.r.random() < 0.2 and t == u:
            body = f"ROOT %r = ({t}[], {u}[]) tuple(%b, %a)"
        name = self.computation(body, ("a", t), ("b", u), ("x", t), ("y", u))
        cost = each * sum(n.cost + 4 for n in inputs) + sum(n.cost for n in starts)
        pair, layout = self.name("reduce"), self.layout(len(kept))
        shape = ", ".join(Node("", d, tuple(kept), layout, 0).text for d in (t, u))
        operands = [*inputs, *starts]
        self.lines.append(Line(pair, f"%{pair} = ({shape}) reduce({', '.join('%' + n.name for n in operands)}){dimensions}, to_apply=%{name}",
                               [n.name for n in operands]))
        for k, dtype in enumerate((t, u)):
            of = Node(pair, dtype, tuple(kept), layout, cost)
            made = self.emit("get-tuple-element", dtype, kept, [of], f", index={k}", 0, inside="%" + pair, layout=layout)
            assert made.cost == cost

    # ---- loop nests ----

    def small(self, dtypes: Sequence[str], rank: int = 0) -> Node:
        """Return a value with few elements, an existing one or a new one."""
        found = [n for n in self.nodes if n.dtype in dtypes and n.elements <= 400 and len(n.dims) >= rank and n.cost < 500]
        if found and self.r.random() < 0.6:
            return self.r.choice(found)
        rank = max(rank, self.r.choice([1, 2, 2, 3]))
        return self.leaf(tuple(self.r.choice([1, 2, 3, 4, 5, 17]) if self.r.random() > 0.03 else 0 for _ in range(rank)), self.r.choice(list(dtypes)))

    def product_types(self) -> Tuple[str, str, str]:
        """Return the types of two factors and of the sum of their products."""
        kind = self.r.choice(["same", "same", "float", "integer", "pred"])
        if kind == "float":
            a, b, to = (self.r.choice(FLOATS) for _ in range(3))
            return a, self.r.choice([b, "s8", "u16"]), to
        if kind == "integer":
            return self.r.choice(["s8", "u8", "s16"]), self.r.choice(["s8", "u8"]), self.r.choice(["s32", "s64", "u32", "s16"])
        one = "pred" if kind == "pred" else self.r.choice(INTEGERS + FLOATS)
        return one, one, one

    def dot(self, scaled: bool = False) -> None:
        kinds = self.product_types()
        a = self.small([kinds[0]])
        kind, rank = self.product_types() if a.dtype != kinds[0] else kinds, len(a.dims)
        order = list(range(rank))
        self.r.shuffle(order)
        batch = sorted(order[:self.r.choice([0, 0, 1, 1, 2])])
        rest = [d for d in order if d not in batch]
        contracted = rest[:self.r.choice([0, 1, 1, 1, 2, 3])]
        sides = [("b", k, a.dims[d]) for k, d in enumerate(batch)] + [("k", k, a.dims[d]) for k, d in enumerate(contracted)]
        sides += [("n", k, self.r.choice([1, 2, 3, 16, 33])) for k in range(self.r.choice([0, 1, 1, 2]))]
        self.r.shuffle(sides)
        dims = tuple(size for _, _, size in sides)
        if math.prod(dims) > MOST_ELEMENTS:
            return
        same = [n for n in self.nodes if n.dims == dims and n.dtype == kinds[1] and n.cost < 500]
        b = self.r.choice(same) if same and self.r.random() < 0.7 else self.leaf(dims, kinds[1])
        at = {(mark, k): d for d, (mark, k, _) in enumerate(sides)}
        lists = {"lhs_batch": batch, "rhs_batch": [at["b", k] for k in range(len(batch))], "lhs_contracting": contracted,
                 "rhs_contracting": [at["k", k] for k in range(len(contracted))]}
        out = [a.dims[d] for d in batch] + [size for d, size in enumerate(a.dims) if d not in batch + contracted] + [size for mark, _, size in sides if mark == "n"]
        each = math.prod(a.dims[d] for d in contracted) * (a.cost + b.cost + 2)
        if kind == kinds and self.fits(out, 2 * each if scaled else each):
            scales = [self.scale(n, kinds[2]) for n in (a, b)] if scaled else []
            self.emit("scaled-dot" if scaled else "dot", kinds[2], out, [a, b, *scales],
                      "".join(f", {name}_dims={{{','.join(map(str, dims))}}}" for name, dims in lists.items()), each)

    def scaled_dot(self) -> None:
        self.dot(True)

    def scale(self, node: Node, to: str) -> Node:
        """Return the scales of a scaled-dot operand: one element per block of `node`. They have a type that the op
        accepts for a result of type `to`.
        """
        dims = tuple(size // self.r.choice([k for k in range(1, size + 1) if size % k == 0]) if size else 0 for size in node.dims)
        kinds = [to] if to == "pred" else FLOATS if to in FLOATS else ["s8", "u8", to]
        same = [n for n in self.nodes if n.dims == dims and n.dtype in kinds and n.cost < 500]
        return self.r.choice(same) if same and self.r.random() < 0.5 else self.leaf(dims, self.r.choice(kinds))

    def window(self, base: Sequence[int], dilated: bool = True, reversal: bool = False) -> "Tuple[str, Tuple[int, ...], Tuple[int, ...]]":
        """Return the text of a random window over `base`, its size, and the number of its positions in each dimension,
        counted one by one.
        """
        parts: Dict[str, List[str]] = {name: [] for name in "size stride pad lhs_dilate rhs_dilate rhs_reversal".split()}
        sizes, places = [], []
        for size in base:
            window, stride = self.r.choice([1, 1, 2, 3]), self.r.choice([1, 1, 2, 3])
            low, high = self.r.choice([0, 0, 1, 2, -1, 4]), self.r.choice([0, 0, 1, 3, -1])
            holes, dilation = (self.r.choice([1, 1, 2, 3]) if dilated else 1 for _ in range(2))
            line = list(range(-low, (size - 1) * holes + 1 + high if size else high))
            reach = (window - 1) * dilation + 1
            sizes.append(window)
            places.append(sum(1 for k in range(0, len(line), stride) if k + reach <= len(line)))
            for name, value in zip(parts, (window, stride, f"{low}_{high}", holes, dilation, self.r.choice([0, 1]) if reversal else 0)):
                parts[name].append(str(value))
        plain = {"stride": "1", "pad": "0_0", "lhs_dilate": "1", "rhs_dilate": "1", "rhs_reversal": "0"}
        shown = [f"{name}={'x'.join(words)}" for name, words in parts.items() if words and (set(words) != {plain.get(name)} or self.r.random() < 0.2)]
        return f", window={{{' '.join(shown)}}}", tuple(sizes), tuple(places)

    def convolution(self) -> None:
        kinds = self.product_types()
        spatial = tuple(self.r.choice([1, 2, 3, 5, 7, 0 if self.r.random() < 0.1 else 4]) for _ in range(self.r.choice([0, 1, 1, 2])))
        text, size, places = self.window(spatial, reversal=True)
        by_feature, by_batch = self.r.choice([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2)])
        batch, features, outs = self.r.choice([1, 2, 3]), self.r.choice([1, 2, 3]), self.r.choice([1, 2, 5, 16]) * by_feature * by_batch
        sides = []
        for letters, dims in (("bf", (batch * by_batch, features * by_feature, *spatial)), ("io", (features, outs, *size)), ("bf", (batch, outs, *places))):
            labels = list(zip([*letters, *map(str, range(len(spatial)))], dims))
            self.r.shuffle(labels)
            sides.append(("".join(label for label, _ in labels), tuple(n for _, n in labels)))
        each = features * math.prod(size)
        nodes = []
        for (_, dims), dtype in zip(sides[:2], kinds):
            same = [n for n in self.nodes if n.dims == dims and n.dtype == dtype and n.cost < 500]
            nodes.append(self.r.choice(same) if same and self.r.random() < 0.7 else self.leaf(dims, dtype))
        if self.r.random() < 0.3:
            nodes[0] = self.permuted(nodes[0])
        if self.fits(sides[2][1], each * (sum(n.cost for n in nodes) + 2)):
            groups = [f", feature_group_count={by_feature}"] * (by_feature > 1) + [f", batch_group_count={by_batch}"] * (by_batch > 1)
            self.emit("convolution", kinds[2], sides[2][1], nodes, f"{text}, dim_labels={sides[0][0]}_{sides[1][0]}->{sides[2][0]}{''.join(groups)}",
                      each * (sum(n.cost for n in nodes) + 2))

    def reduce_window(self) -> None:
        a = self.small(ALL)
        text, size, places = self.window(a.dims)
        each = math.prod(size) * (a.cost + 2)
        start = self.scalar(a.dtype)
        if not self.fits(places, each + start.cost):
            return
        body = COMBINERS[self.r.choice(sorted(COMBINERS))].format(t=a.dtype)
        name = self.computation(body, ("a", a.dtype), ("b", a.dtype))
        self.emit("reduce-window", a.dtype, places, [a, start], f"{text}, to_apply=%{name}", each + start.cost)

    def select_and_scatter(self) -> None:
        a = self.small(ALL)
        text, size, places = self.window(a.dims, False)
        if math.prod(places) > MOST_ELEMENTS:
            return
        source, start = self.leaf(places, a.dtype), self.scalar(a.dtype)
        each = math.prod(size) ** 2 * (a.cost + 3) + source.cost + start.cost
        if not self.fits(a.dims, each):
            return
        select = self.computation(f"ROOT %r = pred[] compare(%a, %b), direction={self.r.choice(['GE', 'LT', 'NE', 'GT'])}", ("a", a.dtype), ("b", a.dtype))
        scatter = self.computation(COMBINERS[self.r.choice(["add", "maximum", "second"])].format(t=a.dtype), ("a", a.dtype), ("b", a.dtype))
        self.emit("select-and-scatter", a.dtype, a.dims, [a, source, start], f"{text}, select=%{select}, scatter=%{scatter}", each)

    def map(self) -> None:
        a = self.pick()
        b = self.like(a)
        if not self.fits(a.dims, a.cost + b.cost + 4):
            return
        body = COMBINERS[self.r.choice(sorted(COMBINERS))]
        if self.r.random() < 0.3:
            one = "true" if a.dtype == "pred" else "1"
            body = (f"%k = {{t}}[] constant({one})\n  %a.1 = {{t}}[] add(%a, %k)\n  %a-1 = {{t}}[] maximum(%a.1, %b)\n"
                    "  ROOT %r = {t}[] minimum(%a-1, %a)")
        name = self.computation(body.format(t=a.dtype), ("a", a.dtype), ("b", a.dtype))
        dimensions = ",".join(map(str, range(len(a.dims))))
        self.emit("map", a.dtype, a.dims, [a, b], f", dimensions={{{dimensions}}}, to_apply=%{name}", 4)

    def both(self) -> None:
        """Append an op that reads a computed value at two indices."""
        a = self.pick(rank=1)
        b = self.permuted(a)
        if self.fits(a.dims, 2 * a.cost + 1):
            self.emit(self.r.choice(["maximum", "minimum", "add"]), a.dtype, a.dims, [a, b])

    # ---- whole fusions ----

    def fusion(self) -> "Drawn":
        for _ in range(self.r.randint(1, 4)):
            self.leaf()
        for _ in range(self.r.randint(4, 30)):
            self.step()
        used = {name for line in self.lines for name in line.operands}
        ends = [n for n in self.nodes if n.name not in used and n.elements * n.cost <= MOST_COST] or self.nodes[-1:]
        roots = self.r.sample(ends, min(len(ends), self.r.randint(1, 6)))
        if self.r.random() < 0.1:
            roots.append(self.r.choice(self.nodes))
        return Drawn(self.lines, self.called, {n.name: n for n in self.nodes}, [n.name for n in roots], self.r.random() < 0.2)


@dataclass
class Drawn:
    lines: List[Line]
    called: List[str]
    nodes: Dict[str, Node]
    roots: List[str]
    nested: bool = False    # the result is a tuple in a tuple

    def needed(self) -> "set[str]":
        by_name = {line.name: line for line in self.lines}
        found, waiting = set(), list(self.roots)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += by_name[name].operands
        return found

    def text(self) -> str:
        """Return the module's text. Unused parameters stay, because a fusion may have some."""
        needed = self.needed()
        lines = [line for line in self.lines if line.name in needed or " parameter(" in line.text]
        body = [f"  {line.text}" for line in lines]
        called = [c for c in self.called if any(re.search(rf"{re.escape(c.split(' ')[0])}(?![0-9])", line.text) for line in lines)]
        if len(self.roots) == 1 and not self.nested:
            body = [line.replace("  %", "  ROOT %", 1) if line.startswith(f"  %{self.roots[0]} =") else line for line in body]
        else:
            shapes = [self.nodes[name].text for name in self.roots]
            names = [f"%{name}" for name in self.roots]
            if self.nested:
                body.append(f"  %inner = ({shapes[0]}) tuple({names[0]})")
                names[0], shapes[0] = "%inner", f"({shapes[0]})"
            body.append(f"  ROOT %root = ({', '.join(shapes)}) tuple({', '.join(names)})")
        return "HloModule drawn\n\n" + "\n\n".join([*called, "ENTRY %e {\n" + "\n".join(body) + "\n}"]) + "\n"


def checked(texts: "Dict[str, str]", folder: Path, excess: bool = False, device: Optional[str] = None) -> "List[run.CheckResult]":
    """Check all fusions in one process of the harness, with schedules for `device`."""
    options, built = run.Options(excess_precision=excess, rounds=2, schedule=device), []
    for name, text in texts.items():
        module = hlo.parse(text, f"{name}.hlo")
        unsupported = hlo.unsupported(module)
        assert unsupported is None, f"{unsupported}\n{text}"
        try:
            built += [run.build(fusion, folder / name, TARGET, options) for fusion in hlo.fusions(module)]
        except Exception as error:
            raise AssertionError(f"{name}: {error!r}\n{text}") from error
    with unoptimised(device or ""):
        return run.check_built(built, TARGET, options)


def smallest(drawn: Drawn, folder: Path, excess: bool, device: Optional[str] = None) -> str:
    """Return the text of the smallest failing part: the first value, in the order of the lines, that fails as the only
    result.
    """
    names = [line.name for line in drawn.lines if line.name in drawn.needed() and line.name in drawn.nodes]
    for number, name in enumerate(names):
        text = Drawn([*drawn.lines], drawn.called, drawn.nodes, [name]).text()
        if checked({f"part{number}": text}, folder, excess, device)[0].status == "FAIL":
            return text
    return drawn.text()


@pytest.fixture(scope="module", autouse=True)
def device() -> None:
    device_or_skip(TARGET)


@pytest.mark.drawn
@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_drawn_fusions(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random fusions agree with the reference. Every third dozen uses the schedules of a GPU so small that these fusions
    fill it; every fourth dozen uses excess precision.
    """
    monkeypatch.setitem(schedule.DEVICES, "opencl-gpu", replace(schedule.DEVICES["opencl-gpu"], units=0.02))  # type: ignore[arg-type]
    device = DEVICE or ("opencl-gpu" if first // BATCH % 3 == 1 and TARGET == "opencl" else None)
    drawn = {f"f{k}": Draw(SEED * 1000003 + k).fusion() for k in range(first, min(first + BATCH, COUNT))}
    excess = first // BATCH % 4 == 2
    results = checked({name: one.text() for name, one in drawn.items()}, tmp_path, excess, device)
    failed = [r for r in results if r.status != "PASS"]
    reports = [f"{r.line()}\n{smallest(drawn[r.fusion.split('_')[0]], tmp_path / 'small', excess, device)}" for r in failed]
    assert not failed, "\n\n".join(reports)
    assert {r.fusion.split("_")[0] for r in results} == drawn.keys()    # results of a large fusion are named after the fusion, with a number for each loop nest
