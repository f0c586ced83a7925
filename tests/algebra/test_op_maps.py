"""Compare the maps of HLO ops, from output to operand and back, with plain loops that tag the source of each output
element. SETT_COUNT is the number of random instances of each op.
"""

from __future__ import annotations

import itertools
import os
import random
from typing import Any, Callable, Iterator, Optional, Sequence

from indexing_analysis_eval import Index, box, read

from gen import algebra

INSTANCES = int(os.environ.get("SETT_COUNT", "50"))


def words(values: Index) -> str:
    return ",".join(map(str, values))


class Text(str):
    """The text of the map from output to operand.

    lines: the text of this map, then the lines about its runtime variables.
    back, back_lines: text and lines of the map from operand to output.
    """

    back: str
    operand: Index
    lines: list[str]
    back_lines: list[str]


def op(opcode: str, operand: int, **lists: Index) -> Text:
    given = [f"{key}={words(value)}" for key, value in lists.items()]
    answers = []
    for more in ([], ["from=operand"]):
        status, answer = algebra.run("op", opcode, str(operand), "all=1", *given, *more)
        assert status == 0, (opcode, operand, lists, answer)
        answers.append(answer.split("\n"))
    status, plain = algebra.run("op", opcode, str(operand), *given)
    assert status == 0
    text = Text(plain)
    text.lines, text.back_lines = answers[0], answers[1]
    text.back = answers[1][0]
    text.operand = lists.get(f"in{operand}", lists.get("in", ()))
    if opcode in ("scalar", "reduce-init") or (opcode == "pad" and operand == 1):
        text.operand = ()
    return text


def shape(rng: random.Random, rank: Optional[int] = None, limit: int = 6, zero: float = 0.04) -> Index:
    """Return a small shape, often with sizes of 1 and sometimes of 0."""
    rank = rng.randint(0, 4) if rank is None else rank
    return tuple(0 if rng.random() < zero else rng.choice([1, rng.randint(1, limit), rng.randint(2, limit)])
                 for _ in range(rank))


def flat(index: Index, dims: Index) -> int:
    """Return the row-major number of an index."""
    number = 0
    for i, d in zip(index, dims):
        number = number * d + i
    return number


def table(dims: Index) -> list[Index]:
    """Return all indices of an array in row-major order."""
    return list(box(dims))


def runtimes(lines: list[str], tensors: dict[int, dict[Index, int]]):
    """Return a function from a point to the values of its runtime variables. The function reads them from the index
    operands; `lines` states at which indices. It returns None if the update at the point is dropped.
    """
    found = read(lines[0])
    readers = []
    for line in lines[1:]:
        word, _, rest = line.partition(" ")
        if word in ("clamped", "checked"):
            operand, _, text = rest.partition(" ")
            readers.append((word, tensors[int(operand)], read(text)))
    assert len(readers) == len(found.rts), lines

    def values(dims: Index, ranges: Index) -> Optional[Index]:
        known = []
        for name, (word, tensor, where) in zip(found.rts, readers):
            point = dict(zip(found.dims + found.ranges, (*dims, *ranges)))
            value = tensor[eval(where.results, {}, point)]
            lo, hi = found.bounds[name]
            if word == "checked" and not lo <= value <= hi:
                return None
            known.append(min(max(value, lo), hi))
        return tuple(known)

    return values


def check_pairs(text: Text, out: Index, pairs: set[tuple[Index, Index]], tensors: Optional[dict[int, dict[Index, int]]] = None) -> None:
    """Check that the maps in both directions have exactly these pairs (output index, operand index)."""
    for lines, source, turn in ((text.lines, out, False), (text.back_lines, text.operand, True)):
        found = read(lines[0])
        runtime = runtimes(lines, tensors or {}) if found.rts else None
        mine = {(value, index) if turn else (index, value) for index in box(source) for value in found.at(index, runtime)}
        assert mine == pairs, (lines, out, text.operand, sorted(mine ^ pairs)[:5])


def check(text: Text, out: Index, reads: dict[Index, list[Index]]) -> None:
    """Check law 1: the map relates each output index to exactly the operand indices in `reads`, each once, and the map
    back has the same pairs.
    """
    check_pairs(text, out, {(index, value) for index in box(out) for value in reads.get(index, [])})
    found = read(text)
    total = 0
    for index in box(out):
        values = sorted(found.at(index))
        assert values == sorted(reads.get(index, [])), (text, out, index, values, reads.get(index))
        total += len(values)
    if total == 0:
        assert found.empty, ("an op that reads nothing is KNOWN EMPTY", text, out)
    if not found.empty:
        assert len(found.dims) == len(out), text
        for name, d in zip(found.dims, out):
            lo, hi = found.bounds[name]
            assert 0 <= lo <= hi < d, ("a bound leaves the output", text, out)


def test_elementwise() -> None:
    rng = random.Random(1)
    for _ in range(INSTANCES):
        out = shape(rng)
        check(op("elementwise", 1, out=out, **{"in": out}), out, {i: [i] for i in box(out)})
        check(op("elementwise", 0, out=out, **{"in": ()}), out, {i: [()] for i in box(out)})
        check(op("scalar", 0, out=out), out, {i: [()] for i in box(out)})
        check(op("reduce-init", 1, out=out), out, {i: [()] for i in box(out)})


def test_broadcast() -> None:
    rng = random.Random(2)
    for _ in range(INSTANCES):
        out = shape(rng)
        dimensions = tuple(rng.sample(range(len(out)), rng.randint(0, len(out))))
        operand = tuple(out[d] for d in dimensions)
        text = op("broadcast", 0, out=out, dimensions=dimensions, **{"in": operand})
        check(text, out, {i: [tuple(i[d] for d in dimensions)] for i in box(out)})


def test_transpose() -> None:
    rng = random.Random(3)
    for _ in range(INSTANCES):
        operand = shape(rng)
        dimensions = tuple(rng.sample(range(len(operand)), len(operand)))
        out = tuple(operand[d] for d in dimensions)
        reads: dict[Index, list[Index]] = {}
        for index in box(operand):
            reads.setdefault(tuple(index[d] for d in dimensions), []).append(index)
        check(op("transpose", 0, out=out, dimensions=dimensions, **{"in": operand}), out, reads)


def regrouped(rng: random.Random, dims: Index) -> Index:
    """Return a random shape with equally many elements: the prime factors are regrouped, with some sizes of 1 between
    them.
    """
    if 0 in dims:
        return tuple(rng.sample([0, *shape(rng, rng.randint(0, 3))], k=1)) + (0,)
    factors = []
    for d in dims:
        p = 2
        while d > 1:
            while d % p == 0:
                factors.append(p)
                d //= p
            p += 1
    if rng.random() < 0.3:
        rng.shuffle(factors)
    out: list[int] = []
    for factor in factors:
        if out and rng.random() < 0.5:
            out[-1] *= factor
        else:
            out.append(factor)
    while rng.random() < 0.3:
        out.insert(rng.randint(0, len(out)), 1)
    return tuple(out)


def test_reshape() -> None:
    rng = random.Random(4)
    for _ in range(2 * INSTANCES):
        operand = shape(rng, limit=12)
        out = regrouped(rng, operand)
        text = op("reshape", 0, out=out, **{"in": operand})
        check(text, out, {o: [i] for o, i in zip(table(out), table(operand))})
        found = read(text)  # law 2: a reshape keeps the row-major number
        for index in box(out):
            assert [flat(i, operand) for i in found.at(index)] == [flat(index, out)]


def test_reshape_forms() -> None:
    """A reshape has as few divisions as possible: an identity, a collapse or an expansion of dimensions is printed as
    such.
    """
    cases = [
        ((4, 8), (32,), "(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]"),
        ((32,), (4, 8), "(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]"),
        ((4, 4, 8), (16, 8), "(d0, d1, d2) -> (d0 * 4 + d1, d2), domain: d0 in [0, 3], d1 in [0, 3], d2 in [0, 7]"),
        ((5, 7), (5, 7), "(d0, d1) -> (d0, d1), domain: d0 in [0, 4], d1 in [0, 6]"),
    ]
    for out, operand, expected in cases:
        assert op("reshape", 0, out=out, **{"in": operand}) == expected


def memory(dims: Index, minor_to_major: Index) -> list[Index]:
    """Return the indices in memory order: the most minor dimension is the fastest."""
    order = list(reversed(minor_to_major))
    found = []
    for digits in box(tuple(dims[d] for d in order)):
        index = [0] * len(dims)
        for d, digit in zip(order, digits):
            index[d] = digit
        found.append(tuple(index))
    return found


def test_bitcast() -> None:
    rng = random.Random(5)
    for _ in range(2 * INSTANCES):
        operand = shape(rng, limit=8)
        out = regrouped(rng, operand)
        a = tuple(rng.sample(range(len(out)), len(out)))
        b = tuple(rng.sample(range(len(operand)), len(operand)))
        text = op("bitcast", 0, out=out, out_layout=a, in_layout=b, **{"in": operand})
        check(text, out, {o: [i] for o, i in zip(memory(out, a), memory(operand, b))})


def test_slice() -> None:
    rng = random.Random(6)
    for _ in range(INSTANCES):
        operand = shape(rng, limit=9)
        start, limit, stride = [], [], []
        for d in operand:
            a, b = sorted((rng.randint(0, d), rng.randint(0, d)))
            start.append(a)
            limit.append(b)
            stride.append(rng.randint(1, 4))
        taken = [list(range(a, b, s)) for a, b, s in zip(start, limit, stride)]
        out = tuple(len(t) for t in taken)
        text = op("slice", 0, out=out, start=tuple(start), stride=tuple(stride), **{"in": operand})
        check(text, out, {i: [tuple(t[k] for t, k in zip(taken, i))] for i in box(out)})


def test_reverse() -> None:
    rng = random.Random(7)
    for _ in range(INSTANCES):
        out = shape(rng)
        dimensions = tuple(rng.sample(range(len(out)), rng.randint(0, len(out))))
        lines = [list(range(d))[::-1] if k in dimensions else list(range(d)) for k, d in enumerate(out)]
        text = op("reverse", 0, out=out, dimensions=dimensions, **{"in": out})
        check(text, out, {i: [tuple(line[k] for line, k in zip(lines, i))] for i in box(out)})


def padded(size: int, low: int, high: int, interior: int) -> list[Optional[int]]:
    """Pad one dimension. Return the element at each position, None for padding."""
    line: list[Optional[int]] = []
    for element in range(size):
        line += [element] + [None] * (interior if element + 1 < size else 0)
    line = [None] * low + line if low >= 0 else line[-low:]
    return line + [None] * high if high >= 0 else line[:high]


def test_pad() -> None:
    rng = random.Random(8)
    done = 0
    while done < 2 * INSTANCES:
        operand = shape(rng)
        config = [(rng.randint(-3, 4), rng.randint(-3, 4), rng.choice([0, 0, 1, 2, 3])) for _ in operand]
        if any(low + high + max(0, d + (d - 1) * interior) < 0 or
               (d + max(0, d - 1) * interior + min(low, 0) + min(high, 0) < 0)
               for d, (low, high, interior) in zip(operand, config)):
            continue
        done += 1
        lines = [padded(d, *c) for d, c in zip(operand, config)]
        out = tuple(len(line) for line in lines)
        reads = {}
        for index in box(out):
            found = [line[k] for line, k in zip(lines, index)]
            if None not in found:
                reads[index] = [tuple(found)]
        lists = {"low": tuple(c[0] for c in config), "high": tuple(c[1] for c in config),
                 "interior": tuple(c[2] for c in config)}
        check(op("pad", 0, out=out, **{"in": operand}, **lists), out, reads)
        check(op("pad", 1, out=out, **lists), out, {i: [()] for i in box(out)})


def test_concatenate() -> None:
    rng = random.Random(9)
    for _ in range(INSTANCES):
        base = shape(rng, rng.randint(1, 3))
        dimension = rng.randrange(len(base))
        operands = [base[:dimension] + (rng.randint(0, 4),) + base[dimension + 1 :] for _ in range(rng.randint(1, 4))]
        line = [(k, i) for k, operand in enumerate(operands) for i in range(operand[dimension])]
        out = base[:dimension] + (len(line),) + base[dimension + 1 :]
        given = {f"in{k}": operand for k, operand in enumerate(operands)}
        for k in range(len(operands)):
            reads = {}
            for index in box(out):
                source, at = line[index[dimension]]
                if source == k:
                    reads[index] = [index[:dimension] + (at,) + index[dimension + 1 :]]
            check(op("concatenate", k, out=out, dimension=(dimension,), **given), out, reads)


def test_reduce() -> None:
    rng = random.Random(10)
    for _ in range(INSTANCES):
        operand = shape(rng)
        dimensions = tuple(rng.sample(range(len(operand)), rng.randint(0, len(operand))))
        out = tuple(d for k, d in enumerate(operand) if k not in dimensions)
        reads: dict[Index, list[Index]] = {}
        for index in box(operand):
            reads.setdefault(tuple(i for k, i in enumerate(index) if k not in dimensions), []).append(index)
        operand_number = rng.randint(0, 2)
        text = op("reduce", operand_number, out=out, dimensions=dimensions, **{"in": operand})
        check(text, out, reads)
        found = read(text)
        kept = [operand[d] for d in sorted(dimensions)]
        if not found.empty:
            assert [found.bounds[s][1] + 1 for s in found.ranges] == kept, ("ranges in order", text)


# ---- windows, products, runtime values ----


def tiny(rng: random.Random, rank: int, most: int = 3, zero: float = 0.03) -> Index:
    return tuple(0 if rng.random() < zero else rng.randint(1, most) for _ in range(rank))


def windows(rng: random.Random, base: Index) -> Optional[tuple[dict[str, Index], Index, list[list[list[tuple[int, Optional[int]]]]]]]:
    """Draw a random window over `base`. Return its attributes, the dimensions of the output, and, for each dimension and
    output position, the pairs (window index, element) that are read.
    """
    keys: dict[str, list[int]] = {k: [] for k in ("window", "stride", "low", "high", "base_dilation", "window_dilation")}
    lines = []
    for size in base:
        one = {"window": rng.randint(1, 3), "stride": rng.randint(1, 3), "low": rng.randint(-1, 2), "high": rng.randint(-1, 2),
               "base_dilation": rng.choice([1, 1, 2, 3]), "window_dilation": rng.choice([1, 1, 2])}
        line = padded(size, one["low"], one["high"], one["base_dilation"] - 1)
        if size and len(line) != size + (size - 1) * (one["base_dilation"] - 1) + one["low"] + one["high"]:
            return None
        if not size and one["low"] + one["high"] != len(line):
            return None
        for key, value in one.items():
            keys[key].append(value)
        places, at = [], 0
        while line and at + (one["window"] - 1) * one["window_dilation"] < len(line):
            places.append([(w, line[at + w * one["window_dilation"]]) for w in range(one["window"])])
            at += one["stride"]
        lines.append(places)
    return {key: tuple(value) for key, value in keys.items()}, tuple(map(len, lines)), lines


def windowed(rng: random.Random, dilated: bool = True) -> Iterator[tuple[Index, dict[str, Index], Index, list[list[list[tuple[int, Optional[int]]]]]]]:
    """Yield a random base with a random window over it (see `windows`)."""
    done = 0
    while done < INSTANCES:
        base = tiny(rng, rng.randint(0, 2), 4)
        drawn = windows(rng, base)
        if drawn is not None and (dilated or drawn[0]["base_dilation"] == (1,) * len(base)):
            done += 1
            yield (base, *drawn)


def check_joint(opcode: str, operands: Sequence[int], out: Index, sizes: Index, pairs: Callable[[Index, Index, int], Optional[Index]], **lists: Any) -> None:
    """Check the maps that `op .. joint=1` gives. The first ranges of each operand's map have the sizes `sizes`, in
    order. pairs(output index, values of these ranges, operand) is the index that is read, or None outside the
    operand.
    """
    for operand in operands:
        found = read(algebra.call("op", opcode, str(operand), "joint=1", f"out={words(out)}", *(f"{key}={words(value)}" for key, value in lists.items())))
        wanted = {(index, at): pairs(index, at, operand) for index in box(out) for at in box(sizes)}
        if found.empty:
            assert not any(value is not None for value in wanted.values())
            continue
        assert len(found.ranges) == len(sizes), (opcode, operand, lists)
        for (index, at), value in wanted.items():
            values = dict(zip(found.dims + found.ranges, (*index, *at)))
            assert (eval(found.results, {}, values) if found.inside(values) else None) == value, (opcode, operand, lists, index, at)


def test_reduce_window() -> None:
    rng = random.Random(11)
    for base, attributes, out, lines in windowed(rng):
        pairs = set()
        for index in box(out):
            for taken in itertools.product(*([e for _, e in line[i] if e is not None] for line, i in zip(lines, index))):
                pairs.add((index, taken))
        check_pairs(op("reduce-window", 0, out=out, in0=base, **attributes), out, pairs)

        def seen(index: Index, at: Index, operand: int) -> Optional[Index]:
            elements = tuple(dict(line[i])[w] for line, i, w in zip(lines, index, at))
            return None if None in elements else elements
        check_joint("reduce-window", [0], out, attributes["window"], seen, in0=base, **attributes)
        check_pairs(op("reduce-window", 1, out=out, in1=(), **attributes), out, {(i, ()) for i in box(out)})


def test_select_and_scatter() -> None:
    """The selected element of a window is known only at run time, so the maps have all elements of the window."""
    rng = random.Random(12)
    for base, attributes, source, lines in windowed(rng, dilated=False):
        both, one = set(), set()
        for index in box(source):
            seen = list(itertools.product(*([e for _, e in line[i] if e is not None] for line, i in zip(lines, index))))
            both |= {(a, b) for a in seen for b in seen}
            one |= {(a, index) for a in seen}
        first = op("select-and-scatter", 0, out=base, in0=base, in1=source, in2=(), **attributes)
        check_pairs(first, base, both)
        assert first == "KNOWN EMPTY" or first.lines[1].startswith("covering: ")
        check_pairs(op("select-and-scatter", 1, out=base, in0=base, in1=source, in2=(), **attributes), base, one)
        check_pairs(op("select-and-scatter", 2, out=base, in0=base, in1=source, in2=(), **attributes), base, {(i, ()) for i in box(base)})


def test_dot() -> None:
    rng = random.Random(13)
    for _ in range(INSTANCES):
        batch, free_l, free_r, contracted = (tiny(rng, rng.randint(0, 1), 3) for _ in range(4))
        contracted += tiny(rng, rng.randint(0, 1), 3)
        names = [("b", i) for i in range(len(batch))] + [("k", i) for i in range(len(contracted))]
        sides = []
        for free, mark in ((free_l, "l"), (free_r, "r")):
            side = names + [(mark, i) for i in range(len(free))]
            rng.shuffle(side)
            sides.append(side)
        size = {**{("b", i): d for i, d in enumerate(batch)}, **{("k", i): d for i, d in enumerate(contracted)},
                **{("l", i): d for i, d in enumerate(free_l)}, **{("r", i): d for i, d in enumerate(free_r)}}
        order = [("b", i) for i in range(len(batch))]
        order += [n for n in sides[0] if n[0] == "l"] + [n for n in sides[1] if n[0] == "r"]
        out = tuple(size[n] for n in order)
        shapes = [tuple(size[n] for n in side) for side in sides]
        blocks = {n: rng.choice([b for b in range(1, d + 1) if d % b == 0] or [1]) for n, d in size.items()}
        scales = [tuple(size[n] // blocks[n] for n in side) for side in sides]
        pick = [tuple(side.index(("b", i)) for i in range(len(batch))) for side in sides]
        sums = [tuple(side.index(("k", i)) for i in range(len(contracted))) for side in sides]
        lists = {"lhs_batch": pick[0], "rhs_batch": pick[1], "lhs_contracting": sums[0], "rhs_contracting": sums[1]}
        pairs: list[set] = [set(), set(), set(), set()]
        everything = list(size)
        for values in box(tuple(size.values())):
            at = dict(zip(everything, values))
            o = tuple(at[n] for n in order)
            for s in range(2):
                pairs[s].add((o, tuple(at[n] for n in sides[s])))
                pairs[2 + s].add((o, tuple(at[n] // blocks[n] for n in sides[s])))
        for operand in range(4):
            given = {f"in{k}": shape_ for k, shape_ in enumerate(shapes + scales)}
            if operand < 2:
                # an operand is not read if a contracted dimension has size 0, or a free dimension of the other operand
                check_pairs(op("dot", operand, out=out, in0=shapes[0], in1=shapes[1], **lists), out, pairs[operand])

                def factor(index: Index, at: Index, operand: int) -> Optional[Index]:
                    value = {**dict(zip(order, index)), **{("k", i): k for i, k in enumerate(at)}}
                    return tuple(value[n] for n in sides[operand])
                check_joint("dot", [operand], out, contracted, factor, in0=shapes[0], in1=shapes[1], **lists)
            check_pairs(op("scaled-dot", operand, out=out, **given, **lists), out, pairs[operand])


def test_convolution() -> None:
    rng = random.Random(14)
    for spatial, attributes, places, lines in windowed(rng):
        fg, bg = rng.choice([(1, 1), (1, 1), (2, 1), (1, 2), (3, 1)])
        batch, features, outs = rng.randint(1, 2), rng.randint(1, 2), rng.randint(1, 2) * fg * bg
        reversal = tuple(rng.randint(0, 1) for _ in spatial)
        n = len(spatial)
        labels = [rng.sample(range(n + 2), n + 2) for _ in range(3)]

        def arranged(label: list[int], values: Index) -> Index:
            found = [0] * len(label)
            for where, value in zip(label, values):
                found[where] = value
            return tuple(found)

        lhs = arranged(labels[0], (batch * bg, features * fg, *spatial))
        rhs = arranged(labels[1], (features, outs, *attributes["window"]))
        out = arranged(labels[2], (batch, outs, *places))
        pairs: list[set] = [set(), set()]
        for b, o, *at in box((batch, outs, *places)):
            index = arranged(labels[2], (b, o, *at))
            for f in range(features):
                for seen in itertools.product(*(line[i] for line, i in zip(lines, at))):
                    kernel = tuple(size - 1 - w if turned else w for (w, _), size, turned in zip(seen, attributes["window"], reversal))
                    pairs[1].add((index, arranged(labels[1], (f, o, *kernel))))
                    if all(e is not None for _, e in seen):
                        group_b, group_f = o // (outs // bg), o // (outs // fg)
                        pairs[0].add((index, arranged(labels[0], (group_b * batch + b, group_f * features + f, *(e for _, e in seen)))))
        given = dict(attributes, reversal=reversal, lhs_labels=tuple(labels[0]), rhs_labels=tuple(labels[1]), out_labels=tuple(labels[2]),
                     feature_groups=(fg,), batch_groups=(bg,))
        for operand in range(2):
            check_pairs(op("convolution", operand, out=out, in0=lhs, in1=rhs, **given), out, pairs[operand])

        def factor(index: Index, at: Index, operand: int) -> Optional[Index]:
            b, o, *place = (index[k] for k in labels[2])
            within, f = at[:n], at[n]
            if operand:
                return arranged(labels[1], (f, o, *(s - 1 - w if turned else w for w, s, turned in zip(within, attributes["window"], reversal))))
            elements = tuple(dict(line[i])[w] for line, i, w in zip(lines, place, within))
            return None if None in elements else arranged(labels[0], (o // (outs // bg) * batch + b, o // (outs // fg) * features + f, *elements))
        check_joint("convolution", [0, 1], out, (*attributes["window"], features), factor, in0=lhs, in1=rhs, **given)


def tensor(rng: random.Random, dims: Index, lo: int, hi: int) -> dict[Index, int]:
    return {index: rng.randint(lo, hi) for index in box(dims)}


def test_dynamic_slice() -> None:
    rng = random.Random(15)
    for _ in range(INSTANCES):
        large = tiny(rng, rng.randint(0, 3), 5)
        small = tuple(rng.randint(min(1, d), d) for d in large)
        starts = {k: {(): rng.randint(-2, 6)} for k in range(1, 2 + len(large) + 1)}
        scalars = {f"in{k}": () for k in range(1, len(large) + 1)}
        begin = [min(max(starts[1 + k][()], 0), d - s) for k, (d, s) in enumerate(zip(large, small))]
        pairs = {(i, tuple(b + k for b, k in zip(begin, i))) for i in box(small)}
        check_pairs(op("dynamic-slice", 0, out=small, in0=large, **scalars), small, pairs, starts)
        for start in range(1, len(large) + 1):
            check_pairs(op("dynamic-slice", start, out=small, in0=large, **scalars), small, {(i, ()) for i in box(small)})
        begin = [min(max(starts[2 + k][()], 0), d - s) for k, (d, s) in enumerate(zip(large, small))]
        pairs = {(tuple(b + k for b, k in zip(begin, i)), i) for i in box(small)}
        scalars = {f"in{k}": () for k in range(2, len(large) + 2)}
        check_pairs(op("dynamic-update-slice", 1, out=large, in0=large, in1=small, **scalars), large, pairs, starts)
        kept = op("dynamic-update-slice", 0, out=large, in0=large, in1=small, **scalars)
        check_pairs(kept, large, {(i, i) for i in box(large)})
        assert kept.lines[1].startswith("covering: ") and kept.back_lines[1].startswith("covering: ")
        for start in range(2, len(large) + 2):
            check_pairs(op("dynamic-update-slice", start, out=large, in0=large, in1=small, **scalars), large, {(i, ()) for i in box(large)})


def indexed(rng: random.Random, inside: float = 0):
    """Draw the attributes of a gather or scatter. Return the large array, the small one, the indices, the attributes,
    and the function from (row of indices, offset) to the indices of both arrays.

    inside: the fraction of start indices that are certainly in range.
    """
    rank = rng.randint(0, 3)
    large = tiny(rng, rank, 4)
    kinds = [rng.choice(["window", "window", "collapsed", "batching"]) for _ in large]
    rows = tiny(rng, rng.randint(0, 2), 3)
    batching = [d for d in range(rank) if kinds[d] == "batching" and large[d] > 0]
    kinds = ["collapsed" if k == "batching" and large[d] == 0 else k for d, k in enumerate(kinds)]
    rows = rows + tuple(large[d] for d in batching)
    row_of = {d: len(rows) - len(batching) + i for i, d in enumerate(batching)}
    size = [1 if k != "window" else rng.randint(min(1, d), d) for d, k in zip(large, kinds)]
    mapped = [d for d in range(rank) if kinds[d] != "batching" and (kinds[d] == "collapsed" or rng.random() < 0.7)]
    rng.shuffle(mapped)
    vector = rng.randint(0, len(rows))
    has_vector = len(mapped) != 1 or rng.random() < 0.7
    if not has_vector:
        vector = len(rows)
    indices = rows[:vector] + (len(mapped),) + rows[vector:] if has_vector else rows
    kept = [d for d in range(rank) if kinds[d] == "window"]
    few_rank = len(rows) + len(kept)
    offsets = sorted(rng.sample(range(few_rank), len(kept)))
    few, window, row = [0] * few_rank, iter(kept), iter(rows)
    for i in range(few_rank):
        few[i] = size[next(window)] if i in offsets else next(row)
    shift = [r if r < vector or not has_vector else r + 1 for r in range(len(rows))]
    attributes = {"offset_dims": tuple(offsets), "collapsed": tuple(d for d in range(rank) if kinds[d] == "collapsed"),
                  "start_index_map": tuple(mapped), "operand_batching": tuple(batching),
                  "indices_batching": tuple(shift[row_of[d]] for d in batching), "index_vector_dim": (vector,)}
    values = tensor(rng, indices, -2, 5)
    for index in values:
        d = mapped[index[vector] if has_vector else 0]
        if rng.random() < inside:
            values[index] = rng.randint(0, max(large[d] - size[d], 0))

    def starts(r: Index) -> list[int]:
        found = [0] * rank
        for k, d in enumerate(mapped):
            found[d] = values[r[:vector] + (k,) + r[vector:] if has_vector else r]
        for d in batching:
            found[d] = r[row_of[d]]
        return found

    points = []
    for index in box(tuple(few)):
        r = tuple(v for i, v in enumerate(index) if i not in offsets)
        w = [0] * rank
        for d, i in zip(kept, offsets):
            w[d] = index[i]
        points.append((index, starts(r), w))
    return large, tuple(few), indices, attributes, tuple(size), mapped, values, points, offsets, vector, has_vector


def test_gather() -> None:
    rng = random.Random(16)
    for _ in range(2 * INSTANCES):
        large, few, indices, attributes, size, mapped, values, points, offsets, vector, has_vector = indexed(rng)
        if any(s > d for s, d in zip(size, large)):
            continue
        pairs, reads = set(), set()
        for index, start, window in points:
            begin = [min(max(s, 0), d - n) if k in mapped else s for k, (s, d, n) in enumerate(zip(start, large, size))]
            pairs.add((index, tuple(b + w for b, w in zip(begin, window))))
            r = tuple(v for i, v in enumerate(index) if i not in offsets)
            reads |= {(index, r[:vector] + (k,) + r[vector:] if has_vector else r) for k in range(len(mapped) if has_vector else 1)}
        given = dict(attributes, slice_sizes=size, in0=large, in1=indices)
        check_pairs(op("gather", 0, out=few, **given), few, pairs, {1: values})
        check_pairs(op("gather", 1, out=few, **given), few, reads)


def test_scatter() -> None:
    """An update that is partly out of range is dropped as a whole."""
    rng = random.Random(17)
    drawn = written = 0
    for _ in range(2 * INSTANCES):
        large, few, indices, attributes, size, mapped, values, points, *_ = indexed(rng, 0.8)
        inputs = rng.randint(1, 2)
        pairs = set()
        for index, start, window in points:
            if all(0 <= s <= d - n for s, d, n in zip(start, large, size)):
                pairs.add((tuple(s + w for s, w in zip(start, window)), index))
        given = {f"in{k}": large for k in range(inputs)}
        given[f"in{inputs}"] = indices
        given.update({f"in{inputs + 1 + k}": few for k in range(inputs)})
        drawn, written = drawn + 1, written + bool(pairs)
        for k in range(inputs):
            check_pairs(op("scatter", inputs + 1 + k, out=large, **given, **attributes), large, pairs, {inputs: values})
            check_pairs(op("scatter", k, out=large, **given, **attributes), large, {(i, i) for i in box(large)})
        anywhere = op("scatter", inputs, out=large, **given, **attributes)
        check_pairs(anywhere, large, {(i, j) for i in box(large) for j in box(indices)})
        assert anywhere.lines[1].startswith("covering: ")
    assert written > 0.8 * drawn, (written, drawn)


def test_all_gather() -> None:
    rng = random.Random(18)
    for _ in range(INSTANCES):
        shard = tiny(rng, rng.randint(1, 3), 4)
        d, replicas = rng.randrange(len(shard)), rng.randint(1, 3)
        out = shard[:d] + (shard[d] * replicas,) + shard[d + 1 :]
        text = op("all-gather", 0, out=out, dimensions=(d,), in0=shard)
        triples = {(i[:d] + (r * shard[d] + i[d],) + i[d + 1 :], i, r) for r in range(replicas) for i in box(shard)}
        check_pairs(text, out, {(o, i) for o, i, _ in triples})
        if triples:
            found, replica = read(text), read(text.lines[2][len("replica "):])
            assert {(o, i, r) for o in box(out) for i, (r,) in zip(found.at(o), replica.at(o))} == triples


def test_bitcast_convert() -> None:
    rng = random.Random(19)
    for _ in range(INSTANCES):
        wide = shape(rng)
        narrow = wide + (rng.randint(1, 4),)
        check_pairs(op("bitcast-convert", 0, out=narrow, in0=wide), narrow, {(i, i[:-1]) for i in box(narrow)})
        check_pairs(op("bitcast-convert", 0, out=wide, in0=narrow), wide, {(i[:-1], i) for i in box(narrow)})


def test_texts() -> None:
    """The maps equal those in XLA's documents by meaning, and their texts are not longer."""
    cases = [
        ("op transpose 0 out=40,20 in=20,40 dimensions=1,0", "(d0, d1) -> (d1, d0), domain: d0 in [0, 39], d1 in [0, 19]"),
        ("op pad 0 out=12,16 in=4,4 low=1,4 high=4,8 interior=1,0",
         "(d0, d1) -> ((d0 - 1) floordiv 2, d1 - 4), domain: d0 in [1, 7], d1 in [4, 7], (d0 - 1) mod 2 in [0, 0]"),
        ("op pad 1 out=12,16 low=1,4 high=4,8 interior=1,0", "(d0, d1) -> (), domain: d0 in [0, 11], d1 in [0, 15]"),
        ("op pad 0 out=10,8 in=2,8 low=1,0 high=7,0", "(d0, d1) -> (d0 - 1, d1), domain: d0 in [1, 2], d1 in [0, 7]"),
        ("op reduce 0 out=10 in=256,10 dimensions=0", "(d0)[s0] -> (s0, d0), domain: d0 in [0, 9], s0 in [0, 255]"),
        ("op reduce-init 2 out=10", "(d0) -> (), domain: d0 in [0, 9]"),
        ("op reverse 0 out=1,17,9 in=1,17,9 dimensions=1,2",
         "(d0, d1, d2) -> (0, 16 - d1, 8 - d2), domain: d0 in [0, 0], d1 in [0, 16], d2 in [0, 8]"),
        ("op concatenate 1 out=2,33,7 in0=2,5,7 in1=2,11,7 dimension=1",
         "(d0, d1, d2) -> (d0, d1 - 5, d2), domain: d0 in [0, 1], d1 in [5, 15], d2 in [0, 6]"),
        ("op slice 0 out=5,3,25 in=10,20,50 start=5,3,0 stride=1,7,2",
         "(d0, d1, d2) -> (d0 + 5, d1 * 7 + 3, d2 * 2), domain: d0 in [0, 4], d1 in [0, 2], d2 in [0, 24]"),
        ("op broadcast 0 out=10,20,30 in=20 dimensions=1",
         "(d0, d1, d2) -> (d1), domain: d0 in [0, 9], d1 in [0, 19], d2 in [0, 29]"),
    ]
    for command, expected in cases:
        text = algebra.call(*command.split())
        ours, theirs = read(text), read(expected)
        out = tuple(map(int, command.split("out=")[1].split()[0].split(",")))
        assert len(text) <= len(expected) and ours.bounds == theirs.bounds, (command, text)
        for index in box(out):
            assert list(ours.at(index)) == list(theirs.at(index)), (command, text, index)


def test_refused() -> None:
    """Dimensions that contradict each other are errors that say what was expected, never maps."""
    cases = [
        "op transpose 0 out=40,20 in=40,20 dimensions=1,0", "op transpose 0 out=20,20 in=20,20 dimensions=1,1",
        "op transpose 0 out=20 in=20 dimensions=0,0", "op transpose 0 out=20 in=20 dimensions=1",
        "op reshape 0 out=7 in=2,3", "op reshape 0 out=0 in=1", "op broadcast 0 out=3 in=4 dimensions=0",
        "op broadcast 0 out=3 in=3 dimensions=1", "op broadcast 0 out=3 in=3", "op elementwise 0 out=3 in=4",
        "op elementwise 0 out=3", "op slice 0 out=3 in=4 start=2", "op slice 0 out=1 in=4 start=-1",
        "op slice 0 out=1 in=4 start=0 stride=0", "op slice 0 out=2 in=4 start=9223372036854775807",
        "op pad 0 out=5 in=4 low=0 high=0", "op pad 0 out=5 in=4 low=0", "op pad 0 out=1 in=2 low=0 high=0 interior=-1",
        "op pad 0 out=5 in=4 low=9223372036854775807 high=1", "op pad 2 out=5 in=4 low=0 high=1",
        "op concatenate 0 out=5 in0=6 dimension=0", "op concatenate 1 out=5 in0=6 dimension=0",
        "op concatenate 0 out=5 in0=5 dimension=1", "op reduce 0 out=5 in=5,6 dimensions=0",
        "op reduce 0 out=5 in=5,6 dimensions=2", "op reduce 0 out=5,6 in=5,6,7 dimensions=2,2",
        "op reverse 0 out=5 in=5 dimensions=1", "op bitcast 0 out=5 in=5 out_layout=1", "op bitcast 0 out=5 in=6",
        "op reshape 0 out=-5 in=-5", "op nothing 0 out=5", "op reshape x out=5 in=5", "op reshape -1 out=5 in=5",
        "op reshape 0 out=5 in=5 strange=1", "op reshape 0 out=5, in=5", "op reshape 0 out=9999999999999999999 in=5",
        "op reshape 0 out=" + ",".join(["1"] * 33) + " in=1", "op reshape 0", "op reshape", "op",
        "op reshape 0 out=4294967296,4294967296 in=4294967296,4294967296,1,1", "op reshape 0 out=1 in99999=1",
    ]
    for command in cases:
        status, answer = algebra.run(*command.split())
        assert status == 2 and answer.startswith("error: "), (command, status, answer)
