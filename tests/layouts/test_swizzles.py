"""Compare the answers of `sett banks` and `sett layout swizzle` with other layouts of shared memory: all other paddings
and swizzles S<B,M,S>, and the swizzles of CuTe and Triton, each for the accesses for which it was made. No other layout
may be better. Turns (memory cycles per access) are counted here with arrays, without code of the headers. SETT_COUNT is
the number of random sets of accesses.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import subprocess
from pathlib import Path

import pytest

try:
    import numpy as np
except ImportError:
    np = None

from test_notation import bases_of, chain_of, linear_of, model, one, packed, peer, show_linear, xor

ROOT = Path(__file__).resolve().parents[2]
COUNT = int(os.environ.get("SETT_COUNT", "24"))
pytestmark = pytest.mark.skipif(np is None, reason="SKIP: no numpy, whose arrays count the turns")


def named(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"


def banks(*words: str) -> "tuple[int, str]":
    done = subprocess.run([str(ROOT / "build" / "sett"), "banks", *words], capture_output=True, text=True, timeout=900)
    return done.returncode, (done.stdout + done.stderr).rstrip("\n")


# ---- counting -----------------------------------------------------------------------------------------------------------------------------------------

def counted(places: np.ndarray, width: int, bits: int) -> np.ndarray:
    """Return the number of turns (memory cycles) of each phase. A phase is a group of lanes whose accesses of `width`
    elements together have at most 32 words. A row of `places` has the offsets of a warp's lanes; -1 is an
    inactive lane.
    """
    wide = width * bits
    phase = max(1, 32 * 32 // wide) if wide > 32 else 32
    turns = []
    for first in range(0, 32, phase):
        part = places[:, first:first + phase].astype(np.int64)
        words = np.concatenate([np.where(part < 0, -1, (part * bits + k) // 32) for k in range(0, wide, min(32, wide))], axis=1)
        words.sort(axis=1)
        new = np.concatenate([words[:, :1] >= 0, (words[:, 1:] != words[:, :-1]) & (words[:, 1:] >= 0)], axis=1)
        count = np.zeros((len(words), 32), np.int64)
        np.add.at(count, (np.nonzero(new)[0], words[new] % 32), 1)
        most = count.max(axis=1)
        turns.append(most[most > 0])
    return np.concatenate(turns)


def cost(accesses: list, place, bits: int) -> "tuple[int, int]":
    """Return the conflict degree and the number of memory cycles of all accesses if the element at row-major offset p
    is stored at place(p). An access is (row-major offsets, width).
    """
    turns = np.concatenate([counted(np.where(at < 0, -1, place(np.maximum(at, 0))), width, bits) for at, width in accesses])
    return int(turns.max()), int(turns.sum())


def bound(accesses: list, bits: int) -> int:
    """Return a lower bound on the number of memory cycles: the banks deliver at most 1024 bits per cycle."""
    total = 0
    for at, width in accesses:
        wide = width * bits
        phase = max(1, 1024 // wide) if wide > 32 else 32
        for warp in at:
            for first in range(0, 32, phase):
                total += -(-len({p for p in warp[first:first + phase] if p >= 0}) * wide // 1024)
    return total


def swizzle(bits: int, base: int, shift: int):
    from_bit, to_bit = (base + shift, base) if shift >= 0 else (base, base - shift)
    return lambda p: p ^ (p >> from_bit & (1 << bits) - 1) << to_bit


def all_swizzles(size: int, width: int):
    """Yield every S<B,M,S> that uses only the bits of offsets below `size` and keeps accesses of `width` elements
    contiguous.
    """
    top = (size - 1).bit_length()
    for shift in range(1, top + 1):
        for base in range(top + 1):
            for count in range(1, shift + 1):
                if base + shift + count <= top and (1 << base) % width == 0:
                    yield count, base, shift
                    yield count, base, -shift


# ---- accesses -----------------------------------------------------------------------------------------------------------------------------------------

def draw_access(rng: random.Random, rows: int, columns: int, width: int) -> "tuple[str, np.ndarray]":
    """Return a random access as a map of the lane t, the step i and, if width > 1, the vector's element e. Return also
    the row-major offset of each vector's first element, with a row for each warp.
    """
    wide = columns // width
    form = rng.randrange(4)
    steps = rng.choice([1, 2, 4])
    if form == 0:    # lanes go down a column
        by = rng.choice([1, 1, 2, 3])
        row, column = f"(t * {by} + i) mod {rows}", f"i mod {wide}"
        at = lambda t, i: ((t * by + i) % rows, i % wide)  # noqa: E731
    elif form == 1:  # lanes go along a row, then along the next row
        row, column = f"(t floordiv {wide} + i) mod {rows}", f"t mod {wide}"
        at = lambda t, i: ((t // wide + i) % rows, t % wide)  # noqa: E731
    elif form == 2:  # as in ldmatrix: neighbouring lanes go down a column, groups of lanes go along a row
        down = rng.choice([4, 8, 16])
        row, column = f"t mod {min(down, rows)}", f"(t floordiv {down} + i) mod {wide}"
        at = lambda t, i: (t % min(down, rows), (t // down + i) % wide)  # noqa: E731
    else:            # lanes go along a row, `by` columns apart
        by = rng.choice([2, 4, 8])
        row, column = f"i mod {rows}", f"t * {by} mod {wide}"
        at = lambda t, i: (i % rows, t * by % wide)  # noqa: E731
    last = f"({column}) * {width} + e" if width > 1 else column
    domain = f"t in [0, 31], i in [0, {steps - 1}]" + (f", e in [0, {width - 1}]" if width > 1 else "")
    text = f"(t, i{', e' if width > 1 else ''}) -> ({row}, {last}), domain: {domain}"
    places = np.array([[at(t, i)[0] * columns + at(t, i)[1] * width for t in range(32)] for i in range(steps)])
    return text, places


def text_places(line: str, rows: int, columns: int) -> "dict[str, np.ndarray]":
    """Return the offsets of all elements, in row-major order, for each layout that `line` names. Models of the
    notations compute the offsets.
    """
    cute = re.search(r"CuTe (.*?)(?:, Triton|$)", line)[1]
    chain = chain_of(cute)
    found = {"CuTe": np.array([model(chain, (i, j)) for i in range(rows) for j in range(columns)])}
    triton = re.search(r"Triton (.*)$", line)
    if triton and "padded" in triton[1]:
        row, pad, r, c = map(int, re.fullmatch(r"#ttg.padded_shared<\[(\d+):\+(\d+)\] \{order = \[1, 0\], shape = \[(\d+), (\d+)\]\}>", triton[1]).groups())
        assert (r, c) == (rows, columns)
        found["Triton"] = np.array([p + p // row * pad for p in range(rows * columns)])
    elif triton and "swizzled" in triton[1]:
        vec, per, most = map(int, re.fullmatch(r"#ttg.swizzled_shared<\{vec = (\d+), perPhase = (\d+), maxPhase = (\d+), order = \[1, 0\]\}>", triton[1]).groups())
        found["Triton"] = np.array([i * columns + (j ^ vec * (i // per % most)) for i in range(rows) for j in range(columns)])
    elif triton:
        bases = [tuple(map(int, pair)) for pair in re.findall(r"\[(\d+), (\d+)\]", triton[1])]
        place = [0] * (rows * columns)
        for offset in range(rows * columns):
            i, j = xor(bases, offset, 2)
            place[i * columns + j] = offset
        found["Triton"] = np.array(place)
    return found


KINDS = {"f32": 32, "f16": 16, "s8": 8, "f64": 64}


def check_best(seen: "dict[str, int]", kind: str, rows: int, columns: int, drawn: "list[tuple[str, np.ndarray]]", widths: "list[int]") -> None:
    """Check that no other padding, and no other S<B,M,S>, has a lower conflict degree than the answer, or the same
    degree and fewer memory cycles. Check also that the lower bound is right and that the texts describe this layout.
    """
    bits = KINDS[kind]
    accesses = [(places, width) for (_, places), width in zip(drawn, widths)]
    words = ["--vector", "e"] if max(widths) > 1 else []
    status, said = banks(*words, drawn[0][0], f"{kind}[{rows},{columns}]", *(text for text, _ in drawn[1:]))
    plain = cost(accesses, lambda p: p, bits)
    assert status == (plain[0] > 1), (drawn, said, plain)
    if not status:
        return
    least = bound(accesses, bits)
    lines = said.split("\n")
    members = [(0, 0, 0), *all_swizzles(rows * columns, max(widths))]
    costs = [cost(accesses, swizzle(*member), bits) for member in members]
    best = min(costs)
    found = next((k for k, line in enumerate(lines) if line.startswith("swizzle: ")), -1)
    assert (found >= 0) == (best < plain), (drawn, kind, rows, columns, said, best, plain)
    unit = max(*widths, 32 // bits)
    while columns % unit:
        unit //= 2
    unit = max(unit, *widths)
    padded = {pad: cost(accesses, lambda p: p + p // columns * pad, bits) for pad in range(0, 32 * 32 // bits, unit)}
    pads = [k for k, line in enumerate(lines) if line.startswith("padding: ")]
    assert bool(pads) == (min(padded.values()) < plain), (drawn, kind, rows, columns, said, padded)
    for k in [found, *pads]:
        if k < 0:
            continue
        degree, memory = re.search(r": degree (\d+), costs (\d+|no)", lines[k]).groups()
        turns = int(re.match(r"  (\d+) turns?: ", lines[k + 1])[1])
        for name, place in text_places(lines[k + 2], rows, columns).items():
            assert cost(accesses, place.__getitem__, bits) == (int(degree), turns), (name, lines[k:k + 3], drawn)
            assert len(set(place)) == rows * columns
            assert memory == "no" or (max(place) + 1) * bits <= rows * columns * bits + int(memory) * 8
        if "no layout of these elements takes fewer" in lines[k + 1]:
            assert turns == least, (lines, least)
            seen["bound"] += 1
        else:
            assert re.match(rf"  \d+ turns?: the fewest at the lowest degree of all \d+ .*; no layout takes fewer than {least}$", lines[k + 1]) and least < turns, (lines, least)
            seen["all"] += 1
        if k in pads and "misaligns" not in lines[k]:
            pad = int(re.match(r"padding: (\d+) ", lines[k])[1])
            assert padded[pad] == (int(degree), turns) == min(padded.values()), (lines, padded)
            seen["padding"] += 1
        elif k == found:
            assert (int(degree), turns) == best, (lines, best, drawn)
            blocks = [1 << base + count + max(0, -shift) for count, base, shift in members]  # number of elements that each swizzle permutes
            more = min(-rows * columns % block for block, one_of in zip(blocks, costs) if one_of == best)
            assert memory == (str(-(-more * bits // 8)) if more else "no"), (lines, more, drawn)
            seen["by rows" if "column xor" in lines[k] else "of the offset"] += 1
            seen["extended"] += memory != "no"
    if not pads and found < 0:
        assert f"nothing helps: no lower degree, and at this one no fewer turns, among all {named(len(padded), 'padding')} and {named(len(members), 'swizzle')}" in said and said.split("than ")[-1].split("\n")[0] == str(least), said
        seen["nothing"] += 1


def test_drawn_best() -> None:
    """The answer is the best for random sets of accesses, and for two sets that random draws rarely produce."""
    rng = random.Random(int(os.environ.get("SETT_SEED", "51")))
    seen = dict.fromkeys(["padding", "by rows", "of the offset", "bound", "all", "nothing", "extended"], 0)
    # One access of 32 lanes: 16 adjacent banks in one row, and the 16 even banks in the next row. No padding or swizzle
    # makes these two sets of banks disjoint.
    check_best(seen, "f32", 2, 32, [("(t) -> (t floordiv 16, (t mod 16) * (t floordiv 16 + 1)), domain: t in [0, 31]",
                                     np.array([[t // 16 * 32 + t % 16 * (t // 16 + 1) for t in range(32)]]))], [1])
    assert seen["nothing"] == 1
    # two elements of one row, 32 apart, in an array of 99 elements: no power of two divides the array into equal blocks
    check_best(seen, "f32", 3, 33, [("(t) -> (0, t mod 2 * 32), domain: t in [0, 31]", np.array([[t % 2 * 32 for t in range(32)]]))], [1])
    assert seen["extended"] == 1
    for _ in range(COUNT):
        kind = rng.choice(list(KINDS))
        columns, rows = rng.choice([8, 16, 32, 64, 24, 48, 128]), rng.choice([4, 8, 16, 32, 12])
        if rows * columns > 1024:
            continue
        widths = [width if columns % width == 0 else 1 for width in rng.choices([1, 1, 128 // KINDS[kind]], k=rng.choice([1, 2, 2]))]
        check_best(seen, kind, rows, columns, [draw_access(rng, rows, columns, width) for width in widths], widths)
    assert COUNT < 200 or min(seen.values()) > 0, seen
    assert seen["padding"] and seen["by rows"] and seen["bound"], seen


# ---- CuTe's and Triton's own swizzles
# -----------------------------------------------------------------------------------

@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("row_bytes, atom", [(32, 1), (64, 2), (128, 3)])
def test_atoms(row_bytes: int, atom: int, bits: int) -> None:
    """CuTe's SW32, SW64 and SW128 are S<1,4,3>, S<2,4,3> and S<3,4,3> of bytes. For ldmatrix from rows of 32, 64 or 128
    bytes, the swizzle of `banks` needs no more memory cycles than CuTe's.
    """
    width, columns = 128 // bits, row_bytes * 8 // bits
    chunks = columns // width
    text = f"(t, k, e) -> (t, k * {width} + e), domain: t in [0, 31], k in [0, {chunks - 1}], e in [0, {width - 1}]"
    kind = {8: "s8", 16: "f16", 32: "f32"}[bits]
    status, said = banks("--vector", "e", text, f"{kind}[32,{columns}]")
    places = np.array([[t * columns + k * width for t in range(32)] for k in range(chunks)])
    theirs = cost([(places, width)], swizzle(atom, 4 - (bits // 8).bit_length() + 1, 3), bits)
    assert status == 1 and theirs[0] == 1
    lines = said.split("\n")
    k = next(k for k, line in enumerate(lines) if line.startswith("swizzle: "))
    assert int(re.match(r"  (\d+) turns", lines[k + 1])[1]) <= theirs[1] and "least, no layout" in lines[k + 1], said
    assert cost([(places, width)], text_places(lines[k + 2], 32, columns)["CuTe"].__getitem__, bits)[1] <= theirs[1]


def test_triton_shared() -> None:
    """For a tile that is written by rows and read by mma fragments, the swizzle of `banks` needs no more memory cycles
    than Triton's swizzled_shared for this operand.
    """
    for columns, (vec, per, most) in ((32, (8, 2, 4)), (64, (8, 1, 8)), (16, (8, 4, 2))):
        rows = 64
        store = f"(t, j, e) -> (j * {256 // columns} + t floordiv {columns // 8}, t mod {columns // 8} * 8 + e), domain: t in [0, 31], j in [0, {rows * columns // 256 - 1}], e in [0, 7]"
        load = f"(t, m, k, e) -> (m * 16 + t mod 16, (k * 2 + t floordiv 16) * 8 + e), domain: t in [0, 31], m in [0, 3], k in [0, {columns // 16 - 1}], e in [0, 7]"
        accesses = [(np.array([[(j * 256 // columns + t // (columns // 8)) * columns + t % (columns // 8) * 8 for t in range(32)] for j in range(rows * columns // 256)]), 8),
                    (np.array([[(m * 16 + t % 16) * columns + (k * 2 + t // 16) * 8 for t in range(32)] for m in range(4) for k in range(columns // 16)]), 8)]
        theirs = cost(accesses, lambda p: p // columns * columns + (p % columns ^ vec * (p // columns // per % most)), 16)
        said = banks("--vector", "e", store, f"f16[{rows},{columns}]", load)[1]
        k = next(k for k, line in enumerate(said.split("\n")) if line.startswith("swizzle: "))
        ours = int(re.match(r"  (\d+) turns", said.split("\n")[k + 1])[1])
        assert ours <= theirs[1] and ours == bound(accesses, 16), (said, theirs)


# ---- shared memory between two distributions
# ----------------------------------------------------------------------------

def exchanged(store: str, load: str, bits: int) -> "tuple[list, int, list[int]]":
    """Return the answer's shared layout (its bases), its number of elements per vector, and its numbers of memory
    cycles of the store and of the load.
    """
    status, said = one("swizzle", store, load, str(bits))
    assert status == 0 and said.endswith("least, no layout takes fewer"), said
    layout, facts = said.split("\t")
    vector, *turns = map(int, re.match(r"vectors of (\d+) elements?; .* takes (\d+) turns?, one that loads (\d+)", facts).groups())
    return bases_of(layout)["offset"], vector, turns


def check_exchange(store: str, load: str, bits: int) -> "tuple[int, int]":
    """Return the number of bank conflicts of the store and that of the load, over all accesses of all warps. Check that
    vectors are contiguous in the registers of both sides and that every element has an offset.
    """
    offsets, vector, said = exchanged(store, load, bits)
    sizes = linear_of(store)[1]
    index = [packed(xor(offsets, offset, len(sizes)), sizes) for offset in range(1 << len(offsets))]
    assert sorted(index) == list(range(len(index)))
    place = {element: offset for offset, element in enumerate(index)}
    conflicts = []
    for text, turns in zip((store, load), said):
        bases = bases_of(text)
        flat = sum(bases.values(), [])
        names = {name: [1 << sum(len(part) for part in list(bases.values())[:k]) + j for j in range(len(bases[name]))] for k, name in enumerate(bases)}
        inner = {packed(tuple(offsets[k]), sizes) for k in range(vector.bit_length() - 1)}
        taken = [bit for bit, basis in zip(names["register"], bases["register"]) if packed(tuple(basis), sizes) in inner]
        others = [bit for bit in [*names["register"], *names["warp"], *names["block"]] if bit not in taken]
        assert len(taken) >= vector.bit_length() - 1
        total = []
        for chosen in itertools.chain.from_iterable(itertools.combinations(others, k) for k in range(len(others) + 1)):
            base = sum(chosen)
            warp = []
            for lane in range(1 << len(names["lane"])):
                x = base | sum(bit for j, bit in enumerate(names["lane"]) if lane >> j & 1)
                warp.append(place[packed(xor(flat, x, len(sizes)), sizes)])
                assert warp[-1] % vector == 0
            warp += [-1] * (32 - len(warp))
            total.append(counted(np.array([warp]), vector, bits))
        assert all(part.sum() == turns for part in total), (store, load, bits)
        conflicts.append(sum(int(part.sum()) - len(part) for part in total))
    return tuple(conflicts)


def test_optimal_swizzle_cases() -> None:
    """For the pairs of register layouts in Triton's cases, the shared layout has as many conflicts as Triton's: none.
    """
    rows = [row for row in peer(["triton_encodings"]) if row["op"] == "optimal_swizzle"]
    for row in rows:
        store, load, bits = row["args"]
        assert dict(zip(("store_conflicts", "load_conflicts"), check_exchange(store, load, bits))) == row["expect"], row["name"]
    assert len(rows) >= 4


def test_drawn_exchanges() -> None:
    """For two random distributions, the shared-memory layout that `sett` finds has no bank conflicts. The distributions
    permute the bits of the index; in some, a basis is XORed with another one, or zero bases make copies.
    """
    rng = random.Random(52)
    for _ in range(COUNT):
        sizes = {"dim0": rng.choice([4, 8, 16, 32]), "dim1": rng.choice([2, 8, 16])}
        bits = sum(size.bit_length() - 1 for size in sizes.values())
        pair = []
        for _ in range(2):
            bases = [[1 << k if d == e else 0 for e in range(2)] for d, size in enumerate(sizes.values()) for k in range(size.bit_length() - 1)]
            rng.shuffle(bases)
            for _ in range(rng.choice([0, 0, 1, 2])):
                i, j = rng.sample(range(bits), 2)
                bases[i] = [a ^ b for a, b in zip(bases[i], bases[j])]
            for _ in range(rng.choice([0, 0, 1])):
                bases.insert(rng.randrange(len(bases)), [0, 0])
            registers = rng.randint(0, min(3, len(bases)))
            lanes = min(registers + 5, len(bases))
            pair.append(show_linear({"register": bases[:registers], "lane": bases[registers:lanes], "warp": bases[lanes:], "block": []}, sizes))
        assert check_exchange(*pair, rng.choice([8, 16, 32, 64])) == (0, 0)
