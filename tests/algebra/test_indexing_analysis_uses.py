"""Compare the answers about accesses (`sett coalescing`, `banks`, `utilisation`, `reuse`, `tile`) with plain counts over
all points of random maps.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter

from indexing_analysis_eval import Index, box, read

from gen import algebra

COUNT = 60


def ask(*words: str) -> tuple[int, str]:
    status, answer = algebra.run(*words)
    assert status < 2, (words, answer)
    return status, answer


def access(rng: random.Random, lanes: int, dims: Index) -> str:
    """Return a random map from a lane and a step to an index. Remainders keep the index inside `dims`."""
    steps = rng.randint(1, 4)
    results = []
    for d in dims:
        a, b, c = rng.randint(0, 5), rng.randint(0, 5), rng.randint(0, 7)
        results.append(rng.choice([f"(t * {a} + i * {b} + {c}) mod {d}", f"((t floordiv {a + 1}) + i * {b}) mod {d}", f"(t + i) mod {d}"]))
    guard = rng.choice(["", f", t + i in [0, {rng.randint(1, lanes)}]"])
    return f"(t, i) -> ({', '.join(results)}), domain: t in [0, {lanes - 1}], i in [0, {steps - 1}]{guard}"


def warps(text: str, lanes: int) -> list[list[tuple[int, Index]]]:
    found = read(text)
    (lo, hi), (first, last) = found.bounds["t"], found.bounds["i"]
    answer = []
    for start in range(lo, hi + 1, lanes):
        for i in range(first, last + 1):
            warp = [(t - start, next(iter(found.at((t, i))), None)) for t in range(start, min(start + lanes, hi + 1))]
            answer.append([(lane, at) for lane, at in warp if at is not None])
    return [warp for warp in answer if warp]


def test_coalescing() -> None:
    rng = random.Random(1)
    seen = Counter()
    for _ in range(COUNT):
        dims, size, lanes = (rng.randint(1, 9), rng.choice([8, 32, 33])), rng.choice([16, 32, 64]), rng.choice([8, 32])
        type, bits = rng.choice([("f32", 32), ("bf16", 16), ("s8", 8), ("f64", 64), ("c128", 128)])
        text = access(rng, rng.choice([lanes, 2 * lanes + 3]), dims)
        status, answer = ask("coalescing", text, f"{type}[{dims[0]},{dims[1]}]", str(size), str(lanes))
        moved = least = used = 0
        for warp in warps(text, lanes):
            positions = {row * dims[1] + column for _, (row, column) in warp}
            moved += len({byte // size for p in positions for byte in range(p * bits // 8, (p + 1) * bits // 8)})
            least += -(-len(positions) * bits // 8 // size)
            used += len(positions) * bits // 8
        assert status == (0 if moved == least else 1), (text, answer)
        seen[status] += 1
        if status:
            share = f"{100 * used / (moved * size):.1f}%"
            assert f"moved: {moved * size} bytes, {share} of them used" in answer, (text, answer, share)
    assert seen[0] and seen[1]


def moved(positions: list[set[int]], bits: int, size: int) -> int:
    """Return the bytes that these accesses move, in transactions of `size` bytes."""
    return sum(len({byte // size for p in one for byte in range(p * bits // 8, (p + 1) * bits // 8)}) for one in positions) * size


def test_better() -> None:
    """Each suggested improvement helps: the test changes the access as suggested and counts the bytes moved. The changed
    access reaches the same elements.
    """
    rng = random.Random(5)
    seen: Counter = Counter()
    for _ in range(3 * COUNT):
        type, bits = rng.choice([("f32", 32), ("bf16", 16), ("s8", 8), ("f64", 64)])
        size, lanes, steps = rng.choice([32, 128]), rng.choice([8, 32, 64]), rng.choice([1, 2, 3, 4, 8])
        a, b, c = rng.choice([1, steps, 8, 33, 64]), rng.choice([1, 1, lanes, 100]), rng.choice([0, 0, 1, 4, 8])
        text = f"(t, i) -> (t * {a} + i * {b} + {c}), domain: t in [0, {lanes - 1}], i in [0, {steps - 1}]"
        status, answer = ask("coalescing", text, type, str(size))
        before = [{p for _, (p,) in warp} for warp in warps(text, 32)]
        for line in answer.splitlines()[3:]:
            what, rest = line.split(": ", 1)
            if what == "helps":    # no suggestion helps
                shifted = [[{p + k for p in one} for one in before] for k in range(1, min(64, 8 * size // bits))]
                assert len(answer.splitlines()) == 4 and min(moved(now, bits, size) for now in shifted) >= moved(before, bits, size), (text, line)
                seen[what] += 1
                continue
            bytes_now, share = re.search(r"(\d+) bytes moved, ([\d.]+)% of them used$", line).groups()
            if what == "lanes":
                dealt = re.search(r"\(t, i\) -> .*\](?=: \d)", rest)[0]
                now, width = [{p for _, (p,) in warp} for warp in warps(dealt, 32)], 1
                assert set().union(*now) == set().union(*before), (text, line)
            elif what == "vectors":
                width = int(re.search(r"one access of (\d+) elements, (\d+) bytes, along i", rest)[1])
                assert width * bits <= 128 and steps % width == 0
                now = []
                for first in range(0, lanes, 32):
                    for i in range(0, steps, width):
                        starts = [t * a + i * b + c for t in range(first, min(first + 32, lanes))]
                        assert b == 1 and all(p % width == 0 for p in starts), "a vector is one run, aligned"
                        now.append({p + k for p in starts for k in range(width)})
                assert set().union(*now) == set().union(*before), (text, line)
            else:
                width, now = 1, [{p + int(re.match(r"(\d+) elements? further on", rest)[1]) for p in one} for one in before]
            assert moved(now, bits, size) == int(bytes_now) < moved(before, bits, size), (text, line)
            assert share == f"{100 * sum(map(len, now)) * bits / 8 / int(bytes_now):.1f}", (text, line)
            seen[what] += 1
        if not status:
            assert len(answer.splitlines()) == 1
    assert seen["lanes"] and seen["vectors"] and seen["start"] and seen["helps"], seen


def test_better_banks() -> None:
    """A suggested vector access needs fewer turns (memory cycles) than the original. Accesses of 16 bytes per lane are
    served in phases of 8 lanes.
    """
    seen = 0
    for a in (2, 4, 8, 16, 33):
        for type, bits in (("f32", 32), ("bf16", 16), ("s8", 8)):
            answer = ask("banks", f"(t)[v] -> (t * {a} + v), domain: t in [0, 31], v in [0, 7]", type)[1]
            found = re.search(r"vectors: one access of (\d+) elements, (\d+) bytes, along v: degree (\d+), (\d+) turns", answer)
            if not found:
                continue
            width, turns, worst = int(found[1]), 0, 0
            assert a % width == 0 and width * bits == 8 * int(found[2]) <= 128
            phase = 32 if width * bits <= 32 else 32 * 32 // (width * bits)
            for v in range(0, 8, width):
                for first in range(0, 32, phase):
                    words = {(t * a + v + k) * bits // 32 for t in range(first, first + phase) for k in range(width)}
                    most = max(Counter(word % 32 for word in words).values())
                    turns, worst = turns + most, max(worst, most)
            assert (worst, turns) == (int(found[3]), int(found[4])), answer
            assert turns < int(re.search(r"conflict, (\d+) turns", answer)[1])
            seen += 1
    assert seen > 3


def degree(text: str, place, bits: int) -> int:
    """Return the conflict degree: the maximum number of different 4-byte words that one phase reads from one of the 32
    banks.
    """
    worst = 0
    phase = 32 if bits <= 32 else 32 * 32 // bits
    for warp in warps(text, 32):
        for first in range(0, 32, phase):
            words = {byte // 4 for lane, at in warp if first <= lane < first + phase
                     for byte in range(place(at) * bits // 8, (place(at) + 1) * bits // 8)}
            worst = max([worst, *Counter(word % 32 for word in words).values()])
    return worst


def swizzled(answer: str, dims: Index) -> "tuple[dict[Index, int], int]":
    """Return the position of each element under the swizzle in the answer, and the degree that the answer promises.
    Check that the answer's formula and its S<B,M,S> are the same permutation.
    """
    said = re.search(r"xor (?:(\d+) \* )?\(row (?:floordiv (\d+) )?mod (\d+)\), S<(\d+),(\d+),(\d+)>: degree (\d+)", answer)
    if not said:
        return {}, 0
    unit, every, count = int(said[1] or 1), int(said[2] or 1), int(said[3])
    bits, base, shift = map(int, said.groups()[3:6])
    moved = {(r, c): r * dims[1] + (c ^ (r // every % count * unit)) for r in range(dims[0]) for c in range(dims[1])}
    assert sorted(moved.values()) == list(range(dims[0] * dims[1])), "a swizzle is a permutation"
    for (r, c), place in moved.items():
        plain = r * dims[1] + c
        assert plain ^ ((plain >> shift) & ((1 << bits) - 1) << base) == place, answer
    return moved, int(said[7])


def vector_degree(text: str, place, bits: int, width: int) -> int:
    """Return the conflict degree of accesses of `width` elements. The map gives the first element of an access, and
    `place` the position of each element. Check that the positions are contiguous and begin at a multiple of the
    width.
    """
    worst, phase = 0, 32 if bits * width <= 32 else 32 * 32 // (bits * width)
    for warp in warps(text, 32):
        for first in range(0, 32, phase):
            words = set()
            for lane, (row, column) in warp:
                if not first <= lane < first + phase:
                    continue
                places = [place((row, column + k)) for k in range(width)]
                assert places[0] % width == 0 and places == list(range(places[0], places[0] + width))
                words |= {p * bits // 32 for p in places}
            worst = max([worst, *Counter(word % 32 for word in words).values()])
    return worst


def test_vectors_and_elements_in_one_tile() -> None:
    """`banks --vector` with several accesses to one tile: rows are stored in vectors, then read in vectors by other
    lanes or element by element. The degree in the answer holds for each access, and every vector stays contiguous.
    """
    rng = random.Random(7)
    seen: Counter = Counter()
    for _ in range(COUNT):
        type, bits = rng.choice([("f32", 32), ("bf16", 16), ("s8", 8)])
        width = 128 // bits
        dims = (rng.choice([16, 32, 64]), rng.choice([8, 24, 32, 64]) * 16 // bits * 2)
        per_row = dims[1] // width
        domain = f"domain: t in [0, 31], j in [0, {max(1, dims[0] * per_row // 32) - 1}]"
        store = f"((j * 32 + t) floordiv {per_row} mod {dims[0]}, (j * 32 + t) mod {per_row} * {width}"
        load = rng.choice([f"(t mod {dims[0]}, j mod {per_row} * {width}", f"((t floordiv 8 + j * 4) mod {dims[0]}, t mod 8 mod {per_row} * {width}"])
        column = f"(t, j) -> (t mod {dims[0]}, j mod {dims[1]}), {domain}"
        words, singles = [], [(f"(t, i) -> {store}), {domain.replace('j', 'i')}".replace("j *", "i *"), width)]
        words.append(f"(t, j, e) -> {store} + e), {domain}, e in [0, {width - 1}]")
        if rng.random() < 0.7:
            words.append(f"(t, j, e) -> {load} + e), {domain}, e in [0, {width - 1}]")
            singles.append((f"(t, i) -> {load}), {domain}".replace("j ", "i "), width))
        else:
            words.append(column)
            singles.append((column.replace("j", "i"), 1))
        singles = [(text.replace("j * 4", "i * 4").replace("j in", "i in"), w) for text, w in singles]
        status, answer = ask("banks", "--vector", "e", words[0], f"{type}[{dims[0]},{dims[1]}]", *words[1:])

        def worst(place) -> int:
            return max(vector_degree(text, place, bits, w) for text, w in singles)

        plain = worst(lambda at: at[0] * dims[1] + at[1])
        assert status == (plain > 1), (words, answer, plain)
        seen["free"] += not status
        if not status:
            continue
        assert answer.startswith(f"no: {plain}-way conflict"), (words, answer, plain)
        for pitch, best in re.findall(r"rows of (\d+): degree (\d+)[^m]*$", answer, re.M):
            assert worst(lambda at: at[0] * int(pitch) + at[1]) == int(best) < plain, (words, answer)
            seen["padding"] += 1
        moved, best = swizzled(answer, dims)
        if moved:
            assert worst(moved.__getitem__) == best < plain, (words, answer)
            seen["swizzle"] += 1
    assert seen["free"] and seen["padding"] and seen["swizzle"], seen


def test_ldmatrix() -> None:
    """A tile of f16[64,64] is stored by rows in vectors of 16 bytes and read by ldmatrix.x4. Rows padded to 72 elements
    or the swizzle S<3,3,3> remove all conflicts.
    """
    store = "(t, j, e) -> (j * 4 + t floordiv 8, (t mod 8) * 8 + e), domain: t in [0, 31], j in [0, 15], e in [0, 7]"
    load = "(t, m, k, e) -> (m * 16 + t mod 16, (k * 2 + t floordiv 16) * 8 + e), domain: t in [0, 31], m in [0, 3], k in [0, 3], e in [0, 7]"
    status, answer = ask("banks", "--vector", "e", store, "f16[64,64]", load)
    assert status == 1 and answer.startswith("no: 8-way conflict of access 2, 512 turns instead of 64 (16 accesses of a warp, lanes along t)")
    assert "rows of 72: degree 1, costs 1024 bytes" in answer and "column xor 8 * (row mod 8), S<3,3,3>: degree 1" in answer
    assert "vectors: one access of 8 elements, 16 bytes, along e: --vector e" in ask("banks", store, "f16[64,64]", load)[1]
    # the swizzle in the answer, composed with the access, has no conflict
    layout = algebra.run("layout", "map", "S<3,3,3> o 0 o (64,64):(64,1)")[1]
    chunks = "(t, m, k) -> (m * 16 + t mod 16, (k * 2 + t floordiv 16) * 8), domain: t in [0, 31], m in [0, 3], k in [0, 3]"
    places = algebra.run("map", "compose", chunks, layout)[1]
    assert ask("banks", places.replace(" -> (", " -> ((", 1).replace("), domain", ") floordiv 8), domain", 1), "c128")[0] == 0


def test_banks() -> None:
    rng = random.Random(2)
    seen: Counter = Counter()
    for _ in range(COUNT):
        dims = (rng.choice([8, 32, 33]), rng.choice([16, 32, 24, 64]))
        type, bits = rng.choice([("f32", 32), ("bf16", 16), ("s8", 8), ("f64", 64), ("c128", 128)])
        text = rng.choice([access(rng, 32, dims), f"(t, i) -> (t mod {dims[0]}, i), domain: t in [0, 31], i in [0, 3]"])
        status, answer = ask("banks", text, f"{type}[{dims[0]},{dims[1]}]")
        plain = degree(text, lambda at: at[0] * dims[1] + at[1], bits)
        assert status == (plain > 1), (text, answer, plain)
        if not status:
            seen["free"] += 1
            continue
        assert answer.startswith(f"no: {plain}-way conflict"), (text, answer, plain)
        padding = re.search(r"padding: (\d+) elements? a row, rows of (\d+): degree (\d+)", answer)
        if padding:
            pitch = int(padding[2])
            assert pitch == dims[1] + int(padding[1])
            assert degree(text, lambda at: at[0] * pitch + at[1], bits) == int(padding[3]) < plain, (text, answer)
        moved, best = swizzled(answer, dims)
        if moved:
            assert degree(text, moved.__getitem__, bits) == best < plain, (text, answer)
        seen["padding"] += bool(padding)
        seen["swizzle"] += bool(moved)
    assert seen["free"] and seen["padding"] and seen["swizzle"], seen


def test_classic() -> None:
    """A 32 x 32 tile is written by rows and read by columns. Padding by one element removes the conflict, and so does an
    XOR of the column with the row.
    """
    rows, columns = ("(t, i) -> (i, t), domain: t in [0, 31], i in [0, 31]", "(t, i) -> (t, i), domain: t in [0, 31], i in [0, 31]")
    status, answer = ask("banks", rows, "f32[32,32]", columns)
    assert status == 1 and "no: 32-way conflict of access 2" in answer
    assert "padding: 1 element a row, rows of 33: degree 1" in answer and "swizzle: column xor (row mod 32), S<5,0,5>: degree 1" in answer
    assert ask("banks", rows, "f32[32,32]")[0] == 0 and ask("banks", columns, "f32[32,33]")[0] == 0


def random_map(rng: random.Random) -> tuple[str, Index, Index]:
    """Return a random map from an output index of two dimensions and a range variable to an operand index of two
    dimensions.
    """
    out = (rng.randint(1, 9), rng.randint(1, 9))
    window, stride = rng.randint(1, 3), rng.randint(1, 3)
    form = rng.choice(["window", "swap", "reshape", "broadcast", "mirror"])
    if form == "window":
        return (f"(d0, d1)[s0] -> (d0, d1 * {stride} + s0), domain: d0 in [0, {out[0] - 1}], d1 in [0, {out[1] - 1}], s0 in [0, {window - 1}]",
                out, (out[0], out[1] * stride + window))
    if form == "swap":
        return f"(d0, d1) -> (d1, d0 * {stride}), domain: d0 in [0, {out[0] - 1}], d1 in [0, {out[1] - 1}]", out, (out[1], out[0] * stride)
    if form == "reshape":
        inner = rng.choice([d for d in range(1, out[0] * out[1] + 1) if (out[0] * out[1]) % d == 0])
        return (f"(d0, d1) -> ((d0 * {out[1]} + d1) floordiv {inner}, (d0 * {out[1]} + d1) mod {inner}), "
                f"domain: d0 in [0, {out[0] - 1}], d1 in [0, {out[1] - 1}]", out, (out[0] * out[1] // inner, inner))
    if form == "broadcast":
        return f"(d0, d1) -> (d0, 0), domain: d0 in [0, {out[0] - 1}], d1 in [0, {out[1] - 1}]", out, (out[0], 2)
    return (f"(d0, d1) -> ({out[0] - 1} - d0, d1), domain: d0 in [0, {out[0] - 1}], d1 in [0, {out[1] - 1}], d0 + d1 in [0, {rng.randint(2, 12)}]",
            out, out)


def test_utilisation_and_reuse() -> None:
    rng = random.Random(3)
    for _ in range(2 * COUNT):
        text, out, operand = random_map(rng)
        reads = [at for index in box(out) for at in read(text).at(index)]
        shape = f"f32[{operand[0]},{operand[1]}]"
        status, answer = ask("utilisation", text, shape)
        share = 100 * len(set(reads)) / (operand[0] * operand[1])
        assert status == 0 and answer.startswith(f"{share:.1f}%: {len(set(reads))} of {operand[0] * operand[1]} elements"), (text, answer)
        status, answer = ask("reuse", text, shape)
        assert status == 0 and f" times: {len(reads)} reads of {len(set(reads))} elements" in answer, (text, answer)
        assert len(reads) != len(set(reads)) or answer.endswith("each once"), answer


def test_lane() -> None:
    """`--lane d` gives the same answer as the map with d moved to the front. Without the option the lane is the
    dimension with a thread's name, else the only dimension with several values, else the last one if the names are
    d0, d1, ..
    """
    rng = random.Random(6)
    for _ in range(COUNT):
        sizes = [rng.choice([1, 4, 8, 32]) for _ in range(3)]
        strides = [rng.choice([0, 1, 2, 32]) for _ in range(3)]
        dims, shape = ["a", "b", "c"], str(rng.choice(["f32", "bf16"]))

        def text(order: list[int], names: list[str]) -> str:
            return (f"({', '.join(names[k] for k in order)}) -> ({' + '.join(f'{names[k]} * {strides[k]}' for k in range(3))}), domain: "
                    + ", ".join(f"{names[k]} in [0, {sizes[k] - 1}]" for k in order))

        def first(*words: str) -> tuple[int, str]:
            status, answer = ask(*words)
            return status, re.sub(r"\bt\b", dims[k], answer.split("\nlanes: ")[0])

        for command in ("coalescing", "banks"):
            several = [k for k in range(3) if sizes[k] > 1]
            for k in range(3):
                names = [*dims]
                names[k] = "t"
                want = first(command, text([k] + [j for j in range(3) if j != k], names), shape)
                assert first(command, "--lane", dims[k], text([0, 1, 2], dims), shape) == want
                assert first(command, text([0, 1, 2], dims), shape, "--lane", dims[k]) == want
                assert first(command, text([0, 1, 2], names), shape) == want
            plain = ["d0", "d1", "d2"]
            last = several[-1] if several else 2
            assert ask(command, text([0, 1, 2], plain), shape) == ask(command, "--lane", plain[last], text([0, 1, 2], plain), shape)
            status, answer = algebra.run(command, text([0, 1, 2], dims), shape)
            assert (status == 2 and answer.endswith("one of a, b, c")) == (len(several) > 1), answer


def test_lane_of_op() -> None:
    """In a map that `sett op` prints, neighbouring lanes step along the last dimension. So a row-major copy is coalesced
    and a transpose is not.
    """
    copy = algebra.call("op", "copy", "0", "out=64,64", "in=64,64")
    transpose = algebra.call("op", "transpose", "0", "out=64,64", "in=64,64", "dimensions=1,0")
    assert ask("coalescing", copy, "f32[64,64]")[0] == 0 and ask("coalescing", transpose, "f32[64,64]")[0] == 1
    assert ask("coalescing", "--lane", "d0", copy, "f32[64,64]")[0] == 1 and ask("coalescing", "--lane", "d0", transpose, "f32[64,64]")[0] == 0
    assert ask("banks", copy, "f32[64,64]")[0] == 0 and ask("banks", "--lane", "d0", copy, "f32[64,64]")[0] == 1
    status, answer = ask("coalescing", transpose, "f32[64,64]")
    dealt = read(re.search(r"lanes: neighbours along d0, (.*\])(?=: \d)", answer)[1])
    assert {v for p in box((64, 64)) for v in dealt.at(p)} == {(64 * i + j,) for i in range(64) for j in range(64)}


def test_padding_stays_aligned() -> None:
    """With the suggested padding, each row starts at a multiple of 4 bytes and of the size of a vector (the elements
    along a range variable). If a padding misaligns vectors, the answer says so.
    """
    seen: Counter = Counter()
    for type, bits in (("f32", 32), ("f16", 16), ("s8", 8)):
        for columns in (32, 64, 65, 96):
            for width in (1, 2, 4, 8):
                for rows, text in ((64, f"(t)[v] -> (t * 2, v), domain: t in [0, 31], v in [0, {width - 1}]"),
                                   (32, f"(t)[v] -> (t mod 8, (t floordiv 8) * {width} + v), domain: t in [0, 31], v in [0, {width - 1}]"),
                                   (32, "(t, v) -> (t, v), domain: t in [0, 31], v in [0, 7]")):
                    answer = ask("banks", text, f"{type}[{rows},{columns}]")[1]
                    vector = width if "[v]" in text and columns % width == 0 else 1
                    while columns % vector or vector * bits > 128:
                        vector //= 2
                    aligned = max(vector, 32 // bits)
                    while columns % aligned:
                        aligned //= 2
                    for pitch, rest in re.findall(r"padding: .* rows of (\d+): (.*)", answer):
                        unit = aligned if "misaligns" not in rest else min(aligned, 32 // bits)
                        assert int(pitch) % unit == 0, (text, type, columns, answer)
                        seen[type, "misaligns" in rest] += 1
                        assert degree_of_ranges(text, int(pitch), bits) == int(re.match(r"degree (\d+)", rest)[1]), (text, answer)
    assert all(seen[type, False] for type in ("f32", "f16", "s8")) and seen["f16", True], seen


def degree_of_ranges(text: str, pitch: int, bits: int) -> int:
    """Return the maximum conflict degree of a warp's accesses. In the map, t is the lane, and each value of the range v
    is one access.
    """
    found, worst = read(text.replace(")[v]", ", v)")), 0
    for v in range(found.bounds["v"][1] + 1):
        places = [next(iter(found.at((t, v)))) for t in range(32)]
        words = {(row * pitch + column) * bits // 32 for row, column in places}
        worst = max([worst, *Counter(word % 32 for word in words).values()])
    return worst


def test_image() -> None:
    """`map image`, `injective`, `covers`, `bijective` and `runs` agree with counts over all points."""
    rng = random.Random(7)
    seen: Counter = Counter()
    for _ in range(2 * COUNT):
        text, out, _ = random_map(rng)
        points = read(text)
        names = list(points.bounds)
        space = [tuple(p) for p in box(tuple(points.bounds[n][1] + 1 for n in names))]
        flat = read(text.replace(")[s0] ->", ", s0) ->"))
        image = {p: v for p in space for v in flat.at(p)}
        values = set(image.values())
        if not values:
            continue
        status, answer = ask("map", "image", text)
        assert status == 0 and re.match(rf"{len(values)} points?\b", answer), (text, answer)
        bounds = [(min(v[k] for v in values), max(v[k] for v in values)) for k in range(2)]
        for k, inside, lo, hi, by in re.findall(r"result (\d): (inside )?(-?\d+) to (-?\d+)(?: by (\d+))?", answer):
            assert (int(lo), int(hi)) == bounds[int(k)] or inside, (text, answer)
            assert all((v[int(k)] - int(lo)) % int(by or 1) == 0 and int(lo) <= v[int(k)] <= int(hi) for v in values), (text, answer)
        status, answer = ask("map", "injective", text)
        one = len(values) == len(image)
        assert status == (not one) and answer.startswith("yes" if one else "no: "), (text, answer)
        if "two points have one image: " in answer:
            a, b = (tuple(map(int, p.split(","))) for p in re.findall(r"\(([^)]*)\)", answer))
            assert a != b and image[a] == image[b], (text, answer)
        corner = [(lo - rng.randint(0, 1), hi) for lo, hi in bounds] if rng.random() < 0.3 else bounds
        word = ",".join(f"{lo}..{hi}" for lo, hi in corner)
        whole = {(i, j) for i in range(corner[0][0], corner[0][1] + 1) for j in range(corner[1][0], corner[1][1] + 1)}
        status, answer = ask("map", "covers", text, word)
        assert status == (not whole <= values) and answer.startswith("no: " if status else "yes"), (text, word, answer)
        missed = re.search(r"\(([^)]*)\)$", answer)
        if missed:
            assert tuple(map(int, missed[1].split(","))) in whole - values, (text, answer)
        both = ask("map", "bijective", text, word)
        assert both[0] == (not (one and whole == values)) and both[1].startswith("no: " if both[0] else "yes"), (text, word, both)
        seen["injective", one] += 1
        seen["covers", status] += 1
        name = rng.choice(names)
        v = names.index(name)
        status, answer = ask("map", "runs", text, name)
        for k, part in enumerate(answer.split("\t")):
            for what, inexact, length in re.findall(r"(contiguous|broadcast) (at least )?(\d+)", part):
                step = what == "contiguous"
                breaks = [p[v] for p in space if p[v] and p in image and (q := p[:v] + (p[v] - 1,) + p[v + 1:]) in image and image[p][k] != image[q][k] + step]
                want = points.bounds[name][1] + 1 if not breaks else math.gcd(*breaks)
                assert want % int(length) == 0 and (int(length) == want or inexact), (text, name, answer, want)
                seen["runs", what] += 1
    assert len(seen) == 6, seen
    for words in (("covers", "(d0) -> (d0), domain: d0 in [0, 3]", "0"), ("covers", "(d0) -> (d0), domain: d0 in [0, 3]", "0..3,0..1"), ("covers", "KNOWN EMPTY", "0..1"),
                  ("bijective", "(d0) -> (d0), domain: d0 in [0, 3]", "0.3"), ("image", "UNDEFINED"), ("runs", "(d0) -> (d0), domain: d0 in [0, 3]", "x")):
        status, answer = algebra.run("map", *words)
        assert status == 2 and answer.startswith("error: "), (words, answer)
    assert algebra.run("map", "image", "KNOWN EMPTY") == (0, "0 points")


def test_tile() -> None:
    """For each whole tile of the output, the answer's block is exactly the set of elements that the tile reads. A "no"
    has a reason.
    """
    rng = random.Random(4)
    done = Counter()
    for _ in range(4 * COUNT):
        text, out, _ = random_map(rng)
        if "d0 + d1 in" in text:
            continue
        sizes = tuple(rng.randint(1, d) for d in out)
        status, answer = ask("tile", text, ",".join(map(str, sizes)))
        done[status] += 1
        if status:
            assert answer.startswith("no: "), answer
            continue
        offset, size, stride = answer.split("\n")
        offsets = read(offset[len("offset "):])
        extent = [int(v) for v in size.split()[1].split(",")]
        step = [int(v) for v in stride.split()[1].split(",")]
        whole = read(text)
        for block in box(tuple(d // s for d, s in zip(out, sizes))):
            want = {at for j in box(sizes) for at in whole.at(tuple(b * s + k for b, s, k in zip(block, sizes, j)))}
            (start,) = offsets.at(block)
            got = {tuple(o + k * s for o, k, s in zip(start, index, step)) for index in box(tuple(extent))}
            assert got == want, (text, sizes, block, answer)
    assert done[0] > COUNT and done[1], done


def test_tiled_layouts() -> None:
    """With a tiled shape, accesses are judged by the elements' positions in memory."""
    text = "(t, i) -> (i, t), domain: t in [0, 31], i in [0, 7]"
    assert ask("coalescing", text, "f32[8,128]{1,0:T(8,128)}")[0] == 0
    assert "neighbouring lanes are 8 elements apart" in ask("coalescing", text, "f32[8,128]{0,1}")[1]
    assert "neighbouring lanes are 2 elements apart" in ask("coalescing", text, "bf16[8,128]{1,0:T(8,128)(2,1)}")[1]


def test_large_and_positions() -> None:
    """If a map has too many points to visit all, improvements are judged on a part of them. A map with one result gives
    positions directly, whatever the rank of the array. If lanes access groups of adjacent elements, the
    answer describes the groups.
    """
    text = "(t, b, vec) -> (b * 8192 + t * 8 + vec), domain: t in [0, 255], vec in [0, 7], b in [0, 8191]"
    answer = ask("coalescing", text, "f16")[1]
    assert "what helps is judged in a part" in answer and "vectors: one access of 8 elements, 16 bytes, along vec" in answer and "lanes: neighbours along vec" in answer
    assert ask("coalescing", "--vector", "vec", text, "f16")[0] == 0
    flat = "(t, i) -> (i * 64 + t * 2), domain: t in [0, 31], i in [0, 7]"
    assert ask("coalescing", flat, "f32[8,64]") == ask("coalescing", "(t, i) -> (i, t * 2), domain: t in [0, 31], i in [0, 7]", "f32[8,64]")
    assert "found 2 results and a type alone" in algebra.run("coalescing", "(t, i) -> (i, t), domain: t in [0, 31], i in [0, 7]", "f32")[1]
    assert "found 1 result" not in algebra.run("coalescing", flat, "f32[8,64]")[1]
    groups = "(t, i) -> (t floordiv 4 * 4096 + t mod 4 * 2 + i), domain: t in [0, 31], i in [0, 1]"
    assert "why: lanes go in groups of 4, 2 elements apart, groups 4096 elements apart" in ask("coalescing", groups, "f32")[1]
    answer = ask("coalescing", "--vector", "v", "(t, i)[v] -> (t * 4096 + i * 4 + v), domain: t in [0, 31], i in [0, 31], v in [0, 3]", "f32")[1]
    assert "\nlanes: neighbours along i, " in answer and "helps: " not in answer, answer    # lanes that already access vectors can be renumbered, too
    answer = ask("coalescing", "--vector", "v", "(t)[v] -> (t * 4096 + v), domain: t in [0, 31], v in [0, 3]", "f32")[1]
    assert "\nhelps: no wider vector, no other lanes and no other start" in answer, answer
    assert algebra.run("banks", "(t, i) -> (t, i), domain: t in [0, 31], i in [0, 99]", "f16[64,64]")[1].endswith(": result 2 reaches 99, the dimension is 64")
    for wrong, says in (("q", "no map has q"), ("t", "t of map 1 is the lane"), ("i", "i of map 1 does not step from an element to the next")):
        status, answer = algebra.run("banks", "--vector", wrong, "(t, i, e) -> (t, i * 2), domain: t in [0, 31], i in [0, 3], e in [0, 1]", "f32[32,8]")
        assert status == 2 and says in answer, answer
    store = "(t, j, e) -> (j * 4 + t floordiv 8, t mod 8 * 8 + e), domain: t in [0, 31], j in [0, 15], e in [0, 7]"
    assert ask("banks", "--vector", "e", store, "f16[64,72]")[0] == 0    # rows of 66 elements would split vectors of 8
    assert algebra.run("banks", "--vector", "e", store, "f16[64,66]")[1].endswith("e of map 1 has vectors of 8 elements, which begin at multiples of 2 only")
    pairs = "(t, i) -> (t floordiv 2 * 4096 + t mod 2 * 2 + i), domain: t in [0, 31], i in [0, 1]"
    assert "groups of 2, each of 16 bytes without a gap, groups 4096 elements apart" in ask("coalescing", "--vector", "i", pairs, "f32")[1]
    assert "lanes 0, 8, 16, 24 meet" in ask("banks", "(t, i) -> (t floordiv 8, i), domain: t in [0, 31], i in [0, 31]", "f32[32,32]")[1]


def test_refused() -> None:
    cases = [("coalescing",), ("coalescing", "(t) -> (t), domain: t in [0, 3]"), ("coalescing", "(t) -> (t), domain: t in [0, 3]", "f99"),
             ("coalescing", "(t) -> (t, t), domain: t in [0, 3]", "f32"), ("coalescing", "(t) -> (t + 1), domain: t in [0, 3]", "f32[4]"),
             ("coalescing", "(t) -> (t), domain: t in [0, 3]", "f32", "0"), ("coalescing", "() -> (0)", "f32"), ("coalescing", "UNDEFINED", "f32"),
             ("banks", "(t) -> (t), domain: t in [0, 3]"), ("banks", "(t) -> (t", "f32"), ("tile", "(t) -> (t), domain: t in [0, 3]", "0"),
             ("tile", "(t) -> (t), domain: t in [0, 3]", "1,1"), ("tile", "(t) -> (t), domain: t in [0, 3]", "x"),
             ("utilisation", "(t) -> (t), domain: t in [0, 3]", "f32[2,2]"), ("utilisation", "(t) -> (t + 8), domain: t in [0, 3]", "f32[10]"),
             ("coalescing", "(t) -> (t), domain: t in [-9000000000000000000, 9000000000000000000]", "f32"), ("reuse", "(t) -> (t), domain: t in [0, 3]", "f32[")]
    for words in cases:
        status, answer = algebra.run(*words)
        assert status == 2 and answer.startswith("error: "), (words, status, answer)
    for command in ("banks", "coalescing"):    # inside the shape, but the position in bits does not fit in 64 bits
        assert algebra.run(command, "(t) -> (t, 0), domain: t in [0, 1]", "f64[2,500000000000000000]") == (2, "error: expected sizes whose products fit in 64 bits")
