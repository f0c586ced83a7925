"""The output-to-operand maps of ops against plain loops that tag which element each output element comes from."""

from __future__ import annotations

import random
import sys
from typing import Optional

from indexing_analysis_eval import Index, box, read, run_as_script

from gen import algebra

INSTANCES = 250


def words(values: Index) -> str:
    return ",".join(map(str, values))


def op(opcode: str, operand: int, **lists: Index) -> str:
    status, answer = algebra.run("op", opcode, str(operand), *(f"{key}={words(value)}" for key, value in lists.items()))
    assert status == 0, (opcode, operand, lists, answer)
    return answer


def shape(rng: random.Random, rank: Optional[int] = None, limit: int = 6, zero: float = 0.04) -> Index:
    """A small shape; ones are frequent, zeros are not rare."""
    rank = rng.randint(0, 4) if rank is None else rank
    return tuple(0 if rng.random() < zero else rng.choice([1, rng.randint(1, limit), rng.randint(2, limit)])
                 for _ in range(rank))


def flat(index: Index, dims: Index) -> int:
    """Row-major number by counting, not by a formula of strides."""
    number = 0
    for i, d in zip(index, dims):
        number = number * d + i
    return number


def table(dims: Index) -> list[Index]:
    """Row-major list of all indices: the inverse of flat by enumeration."""
    return list(box(dims))


def check(text: str, out: Index, reads: dict[Index, list[Index]]) -> None:
    """The pairs of the map are exactly those of reads (law 1)."""
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
    """Another shape with as many elements: prime factors put together anew, with ones in between."""
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
        found = read(text)  # law 2: row-major numbers agree
        for index in box(out):
            assert [flat(i, operand) for i in found.at(index)] == [flat(index, out)]


def test_reshape_forms() -> None:
    """The smallest pieces: a plain identity, collapse or expansion is printed as such."""
    cases = [
        ((4, 8), (32,), "(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]"),
        ((32,), (4, 8), "(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]"),
        ((4, 4, 8), (16, 8), "(d0, d1, d2) -> (d0 * 4 + d1, d2), domain: d0 in [0, 3], d1 in [0, 3], d2 in [0, 7]"),
        ((5, 7), (5, 7), "(d0, d1) -> (d0, d1), domain: d0 in [0, 4], d1 in [0, 6]"),
    ]
    for out, operand, expected in cases:
        assert op("reshape", 0, out=out, **{"in": operand}) == expected


def memory(dims: Index, minor_to_major: Index) -> list[Index]:
    """Indices in the order of memory, by counting with the most minor dimension fastest."""
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
    """One padded line: which element stands where; None is padding."""
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


def test_texts() -> None:
    """Maps of the documents: equal by meaning, and no longer than there."""
    cases = [
        ("op transpose 0 out=40,20 in=20,40 dimensions=1,0", "(d0, d1) -> (d1, d0), domain: d0 in [0, 39], d1 in [0, 19]"),
        ("op pad 0 out=12,16 in=4,4 low=1,4 high=4,8 interior=1,0",
         "(d0, d1) -> ((d0 - 1) floordiv 2, d1 - 4), domain: d0 in [1, 7], d1 in [4, 7], (d0 - 1) mod 2 in [0, 0]"),
        ("op pad 1 out=12,16 low=1,4 high=4,8 interior=1,0", "(d0, d1) -> (), domain: d0 in [0, 11], d1 in [0, 15]"),
        ("op pad 0 out=10,8 in=2,8 low=1,0 high=7,0", "(d0, d1) -> (d0 - 1, d1), domain: d0 in [1, 2], d1 in [0, 7]"),
        ("op reduce 0 out=10 in=256,10 dimensions=0", "(d0)[s0] -> (s0, d0), domain: d0 in [0, 9], s0 in [0, 255]"),
        ("op reduce-init 2 out=10", "(d0) -> (), domain: d0 in [0, 9]"),
        ("op reverse 0 out=1,17,9 in=1,17,9 dimensions=1,2",
         "(d0, d1, d2) -> (0, -d1 + 16, -d2 + 8), domain: d0 in [0, 0], d1 in [0, 16], d2 in [0, 8]"),
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


if __name__ == "__main__":
    sys.exit(run_as_script(globals()))
