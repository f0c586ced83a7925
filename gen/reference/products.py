"""Sums of products: dot, scaled-dot and convolution."""

from __future__ import annotations

from typing import Callable, List, NamedTuple, Optional, Sequence

from gen.hlo import Instruction
from gen.reference.elements import value_of
from gen.reference.emitter import Emitter
from gen.reference.intervals import interval_of, interval_of_op, rounded_to
from gen.reference.loops import count_of, indices_of, loops_in_window, loops_over, position_of, strides_of, window_index
from gen.reference.types import FLOATS, LARGEST, LEAST, SIGNIFICANT, STORAGE
from gen.reference.values import Array, Scalar


def dot(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    a, b = x
    kind = accumulator_of(i.shape.dtype, [a.dtype, b.dtype])
    if kind not in FLOATS and not (a.exact and b.exact):
        return contract(e, i, x, kind)
    batch, contracted = ([i.attributes[f"{side}_{what}_dims"] for side in ("lhs", "rhs")]
                         for what in ("batch", "contracting"))
    free = [[d for d in range(len(o.dims)) if d not in (*batch[k], *contracted[k])] for k, o in enumerate(x)]
    sizes = {"b": [a.dims[d] for d in batch[0]], "k": [a.dims[d] for d in contracted[0]],
             "m": [a.dims[d] for d in free[0]], "n": [b.dims[d] for d in free[1]]}
    count = {name: count_of(dims) for name, dims in sizes.items()}
    wide = max(1, min(16, count["n"]))
    blocks = -(-count["n"] // wide)
    factors = []
    for k, (order, room) in enumerate((("bmk", count["b"] * count["m"] * count["k"]),
                                       ("bkn", count["b"] * blocks * count["k"] * wide))):
        index = [""] * len(x[k].dims)
        for name, dims in (("b", batch[k]), ("k", contracted[k]), ("mn"[k], free[k])):
            for d, text in zip(dims, indices_of(sizes[name], name)):
                index[d] = text
        number = {name: position_of(indices_of(sizes[name], name), strides_of(sizes[name])) for name in order}
        at = (
            f"(({number['b']}) * {count['m']} + {number['m']}) * {count['k']} + {number['k']}"
            if k == 0
            else f"((({number['b']}) * {blocks} + ({number['n']}) / {wide}) * {count['k']} + {number['k']}) * {wide} + ({number['n']}) % {wide}"
        )

        def nest(lines: List[str], order: str = order) -> List[str]:
            for name in reversed(order):
                lines = loops_over(sizes[name], lines, name)
            return ["{", *("  " + line for line in lines), "}"]
        factors.append(factor(e, i, k, x[k], kind, position_of(index, strides_of(x[k].dims)), at, nest, room))
    intervals = e.options.intervals and kind in FLOATS and count["k"] > 0
    out = e.array(i.name, i.shape, not intervals)
    out.bits = out.dtype not in FLOATS
    pointers = [
        (
            f.dtype,
            f"{'ab'[k]}{n}",
            f"v_{f.name} + {('(g * %d + m) * %d' % (count['m'], count['k']), '(g * %d + n) * %d' % (blocks, count['k'] * wide))[k]}",
        )
        for k, group in enumerate(factors)
        for n, f in enumerate(group)
    ]
    total, left, right = (Scalar(text, kind) for text in ("t[j]", "a0[k]", f"b0[k * {wide} + j]"))
    sums = ProductSums(kind, [[f"a{n}[k]" for n in range(len(factors[0]))],
                              [f"b{n}[k * {wide} + j]" for n in range(len(factors[1]))]]) if intervals else None
    body = [f"const {STORAGE[dtype]} *const {name} = {text};" for dtype, name, text in pointers]
    body.append(f"{STORAGE[kind]} t[{wide}] = {{0}};")
    body += [f"double {name}[{wide}] = {{0}};" for name in sums.names] if sums else []
    body.append(f"for (int64_t k = 0; k < {count['k']}; ++k) {{")
    body.append(
        f"  for (int64_t j = 0; j < {wide}; ++j) t[j] = {value_of('add', {}, kind, [total, Scalar(value_of('multiply', {}, kind, [left, right]), kind)])};"
    )
    if sums:
        body += [f"  for (int64_t j = 0; j < {wide}; ++j) {{", *("    " + line for line in sums.add("[j]")), "  }"]
    body.append("}")
    result = [f"const int64_t at = (g * {count['m']} + m) * {count['n']} + n * {wide} + j;",
              *put_sum(e, i, out, total, sums, "[j]", count["k"], "at")]
    body += [f"for (int64_t j = 0; j < {wide} && n * {wide} + j < {count['n']}; ++j) {{",
             *("  " + line for line in result), "}"]
    lines = body
    for name, size in (("m", count["m"]), ("n", blocks), ("g", count["b"])):
        lines = [f"for (int64_t {name} = 0; {name} < {size}; ++{name}) {{", *("  " + line for line in lines), "}"]
    e.step(e.title(i), lines, [out], [f for group in factors for f in group])
    return out


def scaled_dot(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    """A dot of what its scales make of the operands."""
    kind = accumulator_of(i.shape.dtype, [a.dtype for a in x])
    return dot(e, i, [scaled(e, i, k, of, scale, kind) for k, (of, scale) in enumerate(zip(x, x[2:]))])


def scaled(e: Emitter, i: Instruction, k: int, x: Array, scale: Array, kind: str) -> Array:
    """An operand in the accumulator's type, each element times that of the scale in whose block it is."""
    index, lines, sides = indices_of(x.dims), [], []
    blocks = [f"{at} / {size // each}" if 0 < each < size else at for at, size, each in zip(index, x.dims, scale.dims)]
    for name, array, where in (("x", x, index), ("scale", scale, blocks)):
        element = e.element(array, position_of(where, strides_of(array.dims)))
        value, interval = (element.v,
                           element.interval) if array.dtype == kind else (value_of("convert", {}, kind, [element]),
                                                                          None)
        if element.interval is not None and interval is None:
            interval = interval_of_op("convert", {}, kind, [element], name, False, e.options)
        lines.append(f"const {STORAGE[kind]} {name} = {value};")
        sides.append(Scalar(name, kind, interval))
    vague = any(side.interval is not None for side in sides)
    out = Array(e.unique(f"{i.name}_scaled{k}"), kind, x.dims, not vague, bits=kind not in FLOATS)
    at = position_of(index, strides_of(x.dims))
    lines += [f"const {STORAGE[kind]} v = {value_of('multiply', {}, kind, sides)};", f"v_{out.name}[{at}] = v;"]
    if vague:
        r = interval_of_op("multiply", {}, kind, sides, "v", False, e.options)
        lines += [f"const {'range' if kind in FLOATS else 'irange'} r = {r};", *e.put_interval(out, at, "r")]
    e.step(f"operand {k} of {i.name} times its scale", loops_over(x.dims, lines), [out], [x, scale])
    return out


def factor(e: Emitter, i: Instruction, k: int, x: Array, kind: str, source: str, at: str,
           nest: Callable[[List[str]], List[str]], size: int) -> List[Array]:
    """An operand of a product as its factors are wanted: converted to the accumulator's type and, where it has an error
    of its own, its middles and the most of its magnitudes."""
    element, inexact = e.element(x, source), kind in FLOATS and not x.exact
    copies = [Array(e.unique(f"{i.name}_{name}{k}"), dtype, (size,), True)
            for name, dtype in [("factor", kind)] + [("middle", "f64"), ("most", "f64")] * inexact]
    value = value_of("convert", {}, kind, [element])
    lines = [f"v_{copies[0].name}[{at}] = {value};"]
    if inexact:
        r = interval_of_op("convert", {}, kind, [element], value, False,
                           e.options) if x.dtype != kind else interval_of(element)
        lines = [f"const range r = {r};", *lines, f"v_{copies[1].name}[{at}] = range_middle(r);",
                 f"v_{copies[2].name}[{at}] = range_most(r);"]
    clear = [f"memset(v_{a.name}, 0, {max(1, size)} * sizeof v_{a.name}[0]);" for a in copies]
    e.step(f"operand {k} of {i.name} as {kind}", clear + nest(lines), copies, [x])
    return copies


def put_sum(e: Emitter, i: Instruction, out: Array, total: Scalar, sums: Optional[ProductSums], each: str, count: int,
            at: str) -> List[str]:
    """Statements that convert a sum of products to the result, with its interval."""
    lines = [f"const {STORAGE[out.dtype]} v = {value_of('convert', {}, out.dtype, [total])};",
             f"v_{out.name}[{at}] = v;"]
    if out.exact:
        return lines
    if sums:
        r = rounded_to(sums.result(each, count * int(i.attributes.get("sums", 1))), out.dtype, "v", e.options)
    else:
        r = interval_of_op("convert", {}, out.dtype, [total], "v", False,
                           e.options) if out.dtype != total.dtype else str(total.interval)
    return lines + [f"const {'range' if out.dtype in FLOATS else 'irange'} r = {r};", *e.put_interval(out, at, "r")]


def convolution(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    return contract(e, i, x, accumulator_of(i.shape.dtype, [a.dtype for a in x]))


def contract(e: Emitter, i: Instruction, x: List[Array], kind: str) -> Array:
    """A dot or convolution, element by element of the result."""
    dims = tuple(i.shape.dims)
    index = [f"i{d}" for d in range(len(dims))]
    before, tests, loops, at = (convolution_indices if i.opcode == "convolution" else dot_indices)(i, x, index)
    intervals = e.options.intervals and (kind in FLOATS or not (x[0].exact and x[1].exact)) and count_of(loops) > 0
    factors = [factor(e, i, k, a, kind, "i", "i",
                      lambda lines, n=a.count: [f"for (int64_t i = 0; i < {n}; ++i) {{",
                                                *("  " + line for line in lines), "}"], a.count)
               for k, a in enumerate(x)]
    out = e.array(i.name, i.shape, not intervals)
    out.bits = out.dtype not in FLOATS
    sums = ProductSums(kind,
                       [[f"v_{f.name}[{p}]" for f in group]
                        for group, p in zip(factors, at)]) if intervals and kind in FLOATS else None
    total = Scalar("t", kind, "rt" if intervals and not sums else None)
    product = Scalar(value_of("multiply", {}, kind,
                              [Scalar(f"v_{group[0].name}[{p}]", kind) for group, p in zip(factors, at)]), kind)
    inner = [f"t = {value_of('add', {}, kind, [total, product])};"]
    start = [f"{STORAGE[kind]} t = 0;"]
    if sums:
        start += [f"double {name} = 0.0;" for name in sums.names]
        inner += sums.add("")
    elif intervals:
        start.append("irange rt = irange_of(0, 0);")
        sides = [interval_of_op("convert", {}, kind, [e.element(a, p)], "", False, e.options) if a.dtype != kind
                 else interval_of(e.element(a, p)) for a, p in zip(x, at)]
        inner += [
            f"const irange rp = {interval_of_op('multiply', {}, kind, [Scalar('', kind, r) for r in sides], '', False, e.options)};",
            f"rt = {interval_of_op('add', {}, kind, [total, Scalar('', kind, 'rp')], '', False, e.options)};",
        ]
    body = start + loops_in_window(loops, "r", before, tests,
                                   inner) + put_sum(e, i, out, total, sums, "", count_of(loops),
                                                    position_of(index, strides_of(dims)))
    lines = ["{", *("  " + line for line in body), "}"]
    for d in reversed(range(len(dims))):
        lines = [f"for (int64_t i{d} = 0; i{d} < {dims[d]}; ++i{d}) {{", *("  " + line for line in lines), "}"]
    e.step(e.title(i), lines, [out], [f for group in factors for f in group]
           + (list(x) if intervals and not sums else []))
    return out


class SumLoops(NamedTuple):
    """The loops over the products of an element. before, tests: statements in them, and whether there is a product;
    counts: how often each loop runs; at: the operands' positions in them."""

    before: List[str]
    tests: List[str]
    counts: List[int]
    at: List[str]


def dot_indices(i: Instruction, x: List[Array], index: List[str]) -> SumLoops:
    """The loops over what a dot contracts, for the element at an index of the result."""
    free, at = len(i.attributes["lhs_batch_dims"]), []
    for side, a in zip(("lhs", "rhs"), x):
        position = [""] * len(a.dims)
        for d, text in zip(i.attributes[f"{side}_batch_dims"], index):
            position[d] = text
        for k, d in enumerate(i.attributes[f"{side}_contracting_dims"]):
            position[d] = f"r{k}"
        for d, text in enumerate(position):
            if not text:
                position[d], free = index[free], free + 1
        at.append(position_of(position, strides_of(a.dims)))
    return SumLoops([], [], [x[0].dims[d] for d in i.attributes["lhs_contracting_dims"]], at)


def convolution_indices(i: Instruction, x: List[Array], index: List[str]) -> SumLoops:
    """The loops over a convolution's window and input features, for the element at an index of the result."""
    window, labels = i.attributes["window"], i.attributes["dim_labels"]
    n, outputs, batches = len(window.size), i.shape.dims[labels.out[1]], i.shape.dims[labels.out[0]]
    by_feature, by_batch = i.attributes["feature_group_count"], i.attributes["batch_group_count"]
    inputs = x[1].dims[labels.rhs[0]]
    left, right = [""] * (n + 2), [""] * (n + 2)
    left[labels.lhs[0]] = (
        f"{index[labels.out[1]]} / {max(1, outputs // by_batch)} * {batches} + {index[labels.out[0]]}"
        if by_batch > 1
        else index[labels.out[0]]
    )
    left[labels.lhs[1]] = (
        f"{index[labels.out[1]]} / {max(1, outputs // by_feature)} * {inputs} + r{n}" if by_feature > 1 else f"r{n}"
    )
    right[labels.rhs[0]], right[labels.rhs[1]] = f"r{n}", index[labels.out[1]]
    base = [x[0].dims[labels.lhs[2 + k]] for k in range(n)]
    before, tests, at = window_index(window, [index[labels.out[2 + k]] for k in range(n)], [f"r{k}" for k in range(n)],
                                     base)
    for k in range(n):
        left[labels.lhs[2 + k]] = at[k]
        right[labels.rhs[2 + k]] = f"{window.size[k] - 1} - r{k}" if window.reversal[k] else f"r{k}"
    return SumLoops(before, tests, [*window.size, inputs],
                    [position_of(side, strides_of(a.dims)) for side, a in zip((left, right), x)])


class ProductSums:
    """The sums in double beside a sum of products, for its interval. factors: of each side the text of the factor and,
    where it has an error of its own, of its middle and the most of its magnitude."""

    def __init__(self, kind: str, factors: List[List[str]]) -> None:
        self.kind, self.factors = kind, factors
        self.exact = all(len(side) == 1 for side in factors)
        self.names = ["sum", "mass"] if self.exact else ["sum", "mass", "core"]

    def add(self, each: str) -> List[str]:
        middles = [side[1] if len(side) > 1 else f"(double){side[0]}" for side in self.factors]
        most = [side[2] if len(side) > 1 else f"fabs((double){side[0]})" for side in self.factors]
        lines = [f"const double p = {middles[0]} * {middles[1]};", f"sum{each} += p;"]
        if self.exact:      # of finite products: NaN and infinities are certain
            return lines + [f"mass{each} += fabs(p) < INFINITY ? fabs(p) : 0.0;"]
        return lines + [f"mass{each} += {most[0]} * {most[1]};", f"core{each} += fabs(p);"]

    def result(self, each: str, terms: int) -> str:
        slack = "0.0" if self.exact else f"mass{each} - core{each}"
        return f"range_of_products(sum{each}, mass{each}, {slack}, {terms}.0, 0x1p-{SIGNIFICANT[self.kind]}, {LEAST[self.kind]}, {LARGEST[self.kind]})"


def accumulator_of(to: str, kinds: Sequence[str]) -> str:
    if to not in FLOATS:
        return to
    return "f64" if "f64" in (to, *kinds) else "f32"
