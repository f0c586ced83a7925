"""Transposes of small tiles in registers, as functions of OpenCL C and GNU C.

This file decides which lanes each step of a transpose picks; templates/parts/register_tiles.j2 has the text of the
functions. Elements are unsigned integers of 8 to 64 bits.

    load_tile   static inline void load_u32_16x4(uint16 *out, const __global uint *from, uint stride)
                reads `lanes` rows of `rows` elements each, `stride` elements apart, and returns `rows` registers of
                `lanes` elements: out[r][l] = from[l * stride + r]
    store_tile  static inline void store_u32_16x4(__global uint *to, uint stride, const uint16 *in)
                is the inverse: to[l * stride + r] = in[r][l]
    load_pieces, join_pieces
                are the two halves of load_tile for rows of one cache line each, so that the caller can load and store
                between them; load_lines calls both
    line_tile   stores whole cache lines, to[r * pitch + l] = out[r][l], for a pitch that is not a multiple of a line

Memory needs only the alignment of an element. `out` and `in` are arrays of `rows` registers. Their type is defined by
`typedef(d, bits, lanes)`, which is empty if the language has the type. `prelude()` must come before the first tile of
a file. Sizes are powers of two, at least 2, and a register has at most 64 bytes. A tile needs about `rows` registers
at a time.

The method. At the end, element (l, r) of the tile is in lane l of register r. After the load, the element is in another
lane of another register: some bits of r are in the lane's number, and equally many bits of l are in the register's
number. Each step exchanges one bit between the two numbers. It combines two registers whose numbers differ in one bit,
and inserts this bit into the lane's number, at one end of a field of bits. The bit at the other end of the field is
removed, and becomes the bit of the register's number. If the bit is inserted at the low end, within 16 bytes, the step
is an interleave, for which every x86 has a cheap instruction. If it is inserted at the high end, above 16 bytes, the
step moves quarters of 64 bytes.

If a load reads 16 bytes and registers have 64 bytes, four loads fill a register, and only interleaves are needed. If a
load reads a whole register, all steps are needed. The generator follows every element through the steps, and asserts
that each arrives at its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from gen.emit.templates import macro
from gen.schedule import PIECE, PIECES, VECTOR_BITS
from gen.targets import Target

Element = Tuple[int, int]                   # (l, r): row l and column r of a tile
Register = Tuple[str, Tuple[Element, ...]]  # its name in the C text, and for each lane the element (l, r) in it
# position at which a bit is inserted into the lane number, and position of the bit that is removed
Step = Tuple[int, int]

_text = partial(macro, "parts/register_tiles.j2")


class Mix(NamedTuple):
    """One step on two registers `a` and `b`. Its results, `low` and `high`, are shuffles of both.

    shuffles: the macros of the two shuffles.
    """

    low: str
    high: str
    shuffles: Tuple[str, str]
    a: str
    b: str


class Square(NamedTuple):
    """The transpose of a square of `side` rows and columns.

    shuffles: the macros of the shuffles, with the lanes that they pick.
    loads: the registers that are loaded, each with the number of its row.
    mixes: the steps.
    results: the registers of the columns, in order.
    """

    side: int
    shuffles: "List[Tuple[str, List[int]]]"
    loads: List[Tuple[str, int]]
    mixes: List[Mix]
    results: List[str]


@dataclass(frozen=True)
class Block:
    """Adjacent columns of a tile, beginning with column `first`.

    mixes: the steps that make the columns from loaded registers.
    loads: for each loaded register, the rows whose pieces it contains.
    results: the registers of the columns.
    stores: for each store, the register, the first lane that is stored, and the row.
    """

    first: int
    mixes: List[Mix]
    loads: Sequence[Tuple[str, List[int]]] = ()
    results: Sequence[str] = ()
    stores: Sequence[Tuple[str, int, int]] = ()


def prelude() -> str:
    """Return the text that a file needs before its first function."""
    return _text("prelude")


def typedef(d: Any, width: int, lanes: int) -> str:
    """Return the definition of a vector type; "" if the language has the type."""
    return "" if lanes <= d.longest_vector else _text("typedef", d=d, width=width, lanes=lanes)


def _log2(n: int) -> int:
    assert n > 0 and n & (n - 1) == 0, f"{n} is no power of two"
    return n.bit_length() - 1


def _check(width: int, lanes: int, rows: int) -> int:
    """Check the sizes of a tile. Return log2 of a number of lanes: those in a register, but at most those in 16 bytes.
    """
    assert (width in (8, 16, 32, 64) and min(lanes, rows) > 1
            and width * lanes <= VECTOR_BITS), f"no tile {lanes}x{rows} of {width} bits"
    _log2(rows)
    return min(_log2(lanes), _log2(8 * PIECE // width))


def _pick(step: Step, which: int, lanes: int) -> List[int]:
    """Return the lanes that a step picks for its first result (`which` 0) or its second (`which` 1). The lanes of the
    second operand are numbered from `lanes` on.
    """
    insert, leave = step
    picked = []
    for lane in range(lanes):
        second, rest = lane >> insert & 1, lane >> insert + 1 << insert | lane & (1 << insert) - 1
        picked.append(second * lanes | rest >> leave << leave + 1 | which << leave | rest & (1 << leave) - 1)
    return picked


def _names(steps: "Sequence[Step]", step: Step) -> "Tuple[str, str]":
    return ("LOW", "HIGH") if step == steps[0] else ("EVEN", "ODD")


def _shuffles(steps: "Sequence[Step]", lanes: int) -> "List[Tuple[str, List[int]]]":
    """Return the names of the shuffle macros that the steps use, each with the lanes that the macro picks."""
    return [(name, _pick(step, which, lanes)) for step in dict.fromkeys(steps)
            for which, name in enumerate(_names(steps, step))]


def _network(first: int, registers: "List[Register]", steps: "Sequence[Step]",
             lanes: int) -> "Tuple[List[Register], List[Mix]]":
    """Apply steps to registers. Step number s combines registers whose numbers differ in bit s. Return the resulting
    registers with their contents, and the steps.
    """
    mixes = []
    for number, step in enumerate(steps):
        letter, after = chr(ord("b") + number), list(registers)
        for i in (i for i in range(len(registers)) if not i >> number & 1):
            j = i | 1 << number
            (a, held), (b, more) = registers[i], registers[j]
            after[i], after[j] = ((f"{letter}{first + at}", tuple((held + more)[k] for k in _pick(step, which, lanes)))
                                  for at, which in ((i, 0), (j, 1)))
            mixes.append(Mix(after[i][0], after[j][0], _names(steps, step), a, b))
        registers = after
    return sorted(registers, key=lambda x: x[1]), mixes


def _spread(number: int, places: "Sequence[int]") -> int:
    """Return a number whose bits are those of `number`, moved to the positions `places`, beginning with the lowest bit.
    """
    return sum((number >> n & 1) << place for n, place in enumerate(places))


def _columns(registers: "List[Register]", lanes: int, first: int = 0) -> List[str]:
    """Return the names of the registers that contain columns, beginning with column `first`, in order."""
    found = sorted(registers, key=lambda x: x[1][0][1])
    for r, (_, held) in enumerate(found, first):
        assert held == tuple((l, r) for l in range(lanes)), (lanes, r, held)
    return [name for name, _ in found]


def _square(width: int) -> Square:
    """Return the transpose of a square of n x n elements, where n elements fill 16 bytes."""
    side = 8 * PIECE // width
    bits = _log2(side)
    steps = [(0, bits - 1)] * bits
    loads = [(f"a{i}", _spread(i, [*reversed(range(bits))])) for i in range(side)]
    registers, mixes = _network(0, [(name, tuple((l, r) for r in range(side))) for name, l in loads], steps, side)
    return Square(side, _shuffles(steps, side), loads, mixes, _columns(registers, side))


def _squares(width: int, lanes: int, rows: int) -> Optional[Square]:
    """Return the squares that a tile consists of, for compilers whose vectors have at most 16 bytes. Return None if the
    tile does not consist of such squares.
    """
    side = 8 * PIECE // width
    return _square(width) if width * lanes // 8 > PIECE and side <= min(lanes, rows) else None


def load_tile(d: Any, width: int, lanes: int, rows: int, index: str = "uint", piece: int = 16, name: str = "",
              group: int = 0, distance: int = 0) -> str:
    """Return the C function that loads a tile: out[r][l] = from[l * stride + r].

    piece: the maximum number of bytes of a row that one load reads.
    group: if not 0, the function has one more argument, `further`: the lanes from number `group` on are read from there
        instead of from `from`.
    distance: the prefetch distance in elements, for processors on which burst prefetches are off.
    """
    low = _check(width, lanes, rows)
    bits, run = _log2(lanes), _log2(min(8 * piece // width, rows, lanes))
    within, above, size = min(run, low), max(run - low, 0), 1 << run
    steps = [(bits - 1, low)] * above + [(0, within - 1)] * within
    # for each step, the bit of the row's number `l` that the step inserts into the lane number
    inserted = [*range(bits - above, bits), *reversed(range(within))]
    loaded = [bit for bit in range(bits) if bit not in inserted]
    blocks = []
    for first in range(0, rows, size):
        loads = [(f"a{first + i}", [_spread(i, inserted) | _spread(part, loaded) for part in range(lanes // size)])
                 for i in range(size)]
        registers, mixes = _network(
            first, [(a, tuple((l, first + k) for l in at for k in range(size))) for a, at in loads], steps, lanes)
        blocks.append(Block(first, mixes, loads, _columns(registers, lanes, first)))
    return _text("load_tile", d=d, t=index, n=name or f"load_u{width}_{lanes}x{rows}", width=width, lanes=lanes,
                 rows=rows, group=group, distance=distance, size=size,
                 joins=[size << n for n in range(1, bits - run + 1)], shuffles=_shuffles(steps, lanes), blocks=blocks,
                 square=_squares(width, lanes, rows))


def store_tile(d: Any, width: int, lanes: int, rows: int, index: str = "uint", name: str = "", group: int = 0) -> str:
    """Return the C function that stores a tile: to[l * stride + r] = in[r][l]."""
    low = _check(width, lanes, rows)
    bits, run = _log2(lanes), min(_log2(rows), _log2(lanes))
    if low < run < bits:
        run = low          # each stored piece must be contiguous
    within, above, size = min(run, low), max(run - low, 0), 1 << run
    steps = [(0, low - 1)] * within + [(bits - 1, low)] * above
    # for each step, the bit of the register's number `r` that the step inserts into the lane number
    inserted = [*reversed(range(within)), *range(low, low + above)]
    blocks = []
    for first in range(0, rows, size):
        numbers = [first | _spread(i, inserted) for i in range(size)]
        registers, mixes = _network(first, [(f"in[{r}]", tuple((l, r) for l in range(lanes))) for r in numbers], steps,
                                    lanes)
        stores = []
        for result, held in registers:
            for part in range(0, lanes, size):
                l, _ = held[part]
                assert held[part:part + size] == tuple((l, first + k) for k in range(size)), (width, lanes, rows, held)
                stores.append((result, part, l))
        blocks.append(Block(first, mixes, stores=stores))
    return _text("store_tile", d=d, t=index, n=name or f"store_u{width}_{lanes}x{rows}", width=width, lanes=lanes,
                 rows=rows, group=group, size=size, shuffles=_shuffles(steps, lanes), blocks=blocks,
                 square=_squares(width, lanes, rows))


def load_pieces(d: Any, width: int, spacing: int, index: str, distance: int, name: str) -> str:
    """Return the C function that loads E rows of one cache line each, where E is the number of elements in 16 bytes.
    The function divides the rows into squares of E by E elements, and transposes each square.

    spacing: the number of registers between a result and the next result in `out`.
    distance: the prefetch distance in elements, for processors on which burst prefetches are off.
    """
    lanes, square = VECTOR_BITS // width, _square(width)
    bits = _log2(square.side)
    return _text("load_pieces", d=d, t=index, n=name, width=width, lanes=lanes, spacing=spacing, distance=distance,
                 square=square,
                 sizes=[(held, _shuffles([(0, bits - 1)], held)) for held in (lanes, lanes // 2, lanes // 4)])


def join_pieces(d: Any, width: int, name: str) -> str:
    """Return the C function that gathers pieces of 16 bytes from four lines: out[p] is piece p of in[0], in[1], in[2]
    and in[3].
    """
    steps = [(1, 1), (1, 0)]
    registers, mixes = _network(0, [(f"a{g}", tuple((p, g) for p in range(4))) for g in range(4)], steps, 4)
    assert [held for _, held in registers] == [tuple((p, g) for g in range(4)) for p in range(4)]
    words = [(macro_, [word for piece in picked for word in (2 * piece, 2 * piece + 1)])
             for macro_, picked in _shuffles(steps, 4)]
    return _text("join_pieces", d=d, n=name, width=width, lanes=VECTOR_BITS // width, shuffles=words, mixes=mixes,
                 results=[result for result, _ in registers])


def load_lines(d: Any, width: int, index: str, load: str, join: str, name: str) -> str:
    """Return the C function of `load_tile` for rows of one cache line each. It calls the functions of `load_pieces` and
    `join_pieces`.
    """
    return _text("load_lines", d=d, t=index, n=name, width=width, lanes=VECTOR_BITS // width,
                 rows=8 * PIECE // width, pieces=PIECES, load=load, join=join)


# ---- shuffles ----

class Pick(NamedTuple):
    """The computation of a part of a shuffle's result. First, the parts `a` and `b` of the operands are shuffled by
    `lanes`. Then, each entry of `more` shuffles the result so far with one more part.
    """

    a: str
    b: str
    lanes: List[int]
    more: "List[Tuple[str, List[int]]]"


class Part(NamedTuple):
    """Shuffles of registers of `bytes` bytes that together do the same as one shuffle of wider registers."""

    bytes: int
    picks: List[Pick]


class Shuffle(NamedTuple):
    """A shuffle of one register, or of two (`two`).

    lanes: the lanes that it picks.
    parts: the same shuffle in narrower registers, for a compiler whose vectors are wider than the machine's.
    """

    two: bool
    lanes: Sequence[int]
    parts: List[Part]


def _shuffled(d: Target, dtype: str, lanes: int, picks: "Sequence[int]", two: bool) -> Shuffle:
    whole = d.register_bits(dtype) // 8 * lanes
    return Shuffle(two, picks, [_in_parts(d, dtype, lanes, picks, size) for size in (64, 32, 16)
                                if d.declares_vectors and size < whole])


def _in_parts(d: Target, dtype: str, lanes: int, picks: "Sequence[int]", size: int) -> Part:
    """Return shuffles of registers of `size` bytes that together do the same as a shuffle of wider registers."""
    each, parts = size * 8 // d.register_bits(dtype), []
    for number in range(lanes // each):
        wanted = picks[number * each:(number + 1) * each]
        sources = sorted({pick // each for pick in wanted})
        names = [f"{'ab'[source * each // lanes]}_in.part[{source % (lanes // each)}]" for source in sources]
        known = sources[:2]
        places = [known.index(pick // each) * each + pick % each if pick // each in known else 0 for pick in wanted]
        more = [(name, [each + pick % each if pick // each == source else lane for lane, pick in enumerate(wanted)])
                for source, name in zip(sources[2:], names[2:])]
        parts.append(Pick(names[0], names[min(1, len(names) - 1)], places, more))
    return Part(size, parts)


def shuffle(d: Target, dtype: str, lanes: int, picks: "Sequence[int]", two: bool, lane: str, name: str) -> str:
    """Return the C function that picks lanes of one register or of two. lane: the C text of the lane that is picked for
    lane i, if it is simpler than a list.
    """
    return _text("shuffle", d=d, n=name, dtype=dtype, lanes=lanes, bytes=d.register_bits(dtype) // 8 * lanes,
                 shuffle=_shuffled(d, dtype, lanes, picks, two), lane=lane)


class _Shuffles:
    """The shuffles that a function calls. Each set of picked lanes becomes one function."""

    def __init__(self, d: Target, width: int, lanes: int, name: str) -> None:
        self.d, self.dtype, self.lanes, self.name = d, f"u{width}", lanes, name
        # the shuffles that are called, each as (true if it has two operands, the lanes that it picks)
        self.known: List[Tuple[bool, Tuple[int, ...]]] = []

    def __call__(self, a: str, b: str, picks: "Sequence[int]") -> str:
        """Return the C text of the call of a shuffle. If the shuffle has only one operand, `a` and `b` are equal."""
        key = a != b, tuple(picks)
        if key not in self.known:
            self.known.append(key)
        return f"{self.name}_{self.known.index(key)}({a}{f', {b}' if a != b else ''})"

    def all(self) -> "List[Shuffle]":
        return [_shuffled(self.d, self.dtype, self.lanes, picks, two) for two, picks in self.known]


def _words(shuffle: _Shuffles) -> "Tuple[List[Tuple[str, str]], List[str]]":
    """Return the twelve steps that separate four interleaved rows of bytes in four cache lines, and the names of the
    results. A cache line has 4 parts of 16 bytes, and a part has 4 words. The first steps sort the bytes of each part
    by row, so that each word belongs to one row. The other steps move whole words.
    """
    def words(a: str, b: str, picked: "Sequence[int]") -> str:
        return shuffle(a, b, [4 * w + k for w in picked for k in range(4)])

    turn = [part * 16 + k % 4 * 4 + k // 4 for part in range(4) for k in range(16)]
    steps = [(f"a{k}", shuffle(f"in[{k}]", f"in[{k}]", turn)) for k in range(4)]
    for k, row in ((k, row) for k in (0, 2) for row in (0, 2)):
        two = [line * 16 + part * 4 + r for r in (row, row + 1) for line in (0, 1) for part in range(4)]
        steps.append((f"b{k + row // 2}", words(f"a{k}", f"a{k + 1}", two)))
    steps += [(f"c{r}", words(f"b{r // 2}", f"b{2 + r // 2}", [r % 2 * 8 + w for w in (*range(8), *range(16, 24))]))
              for r in range(4)]
    return steps, [f"c{r}" for r in range(4)]


def interleave(d: Any, width: int, rows: int, inverse: bool, name: str) -> str:
    """Return the function that interleaves the elements of `rows` registers of 64 bytes, `lanes` elements each. With
    n = lanes / rows and r, k < rows, it computes out[k][l * rows + r] = in[r][k * n + l] for each l < n.

    inverse: return the function that separates interleaved elements.
    """
    lanes = VECTOR_BITS // width
    low, top, count, each = _check(width, lanes, rows), _log2(lanes), _log2(rows), lanes // rows

    def wanted(k: int, l: int) -> Element:
        return (l // each, l % each * rows + k) if inverse else (l % rows, k * each + l // rows)
    goals = [tuple(wanted(k, l) for l in range(lanes)) for k in range(rows)]
    shuffles = _Shuffles(d, width, lanes, name)
    texts: "List[Tuple[str, str]]" = []
    # If the machine cannot permute the bytes of a register, compilers turn the steps of the last branch into 64
    # instructions. So this case has steps of its own.
    if inverse and rows == 4 and width == 8:
        texts, names = _words(shuffles)
    elif rows == 2 and width > 8:     # one permutation of two registers is enough
        names = [shuffles("in[0]", "in[1]", [k * lanes + l for k, l in goal]) for goal in goals]
    else:
        # Each step replaces pairs of registers a, b by two new registers. The first `count` steps treat each 16 bytes
        # alike: the first new register interleaves the elements of the low halves of a and b (a0 b0 a1 b1 ..), and the
        # second those of the high halves, like the x86 instructions punpckl and punpckh. The other `count` steps treat
        # pieces of 16 bytes like elements, and interleave the halves of whole registers in the same way.
        steps = [(bit, (0, low - 1)) for bit in reversed(range(count))]
        steps += [(bit, (low, top - 1)) for bit in reversed(range(count))]
        if inverse:
            steps = [(bit, (leave, insert)) for bit, (insert, leave) in reversed(steps)]
        registers: List[Register] = [(f"in[{k}]", tuple((k, l) for l in range(lanes))) for k in range(rows)]
        for number, (bit, step) in enumerate(steps):
            letter, after = chr(ord("a") + number), list(registers)
            for i in (i for i in range(rows) if not i >> bit & 1):
                j = i | 1 << bit
                (a, held), (b, more) = registers[i], registers[j]
                for which, at in enumerate((i, j)):
                    picked = _pick(step, which, lanes)
                    after[at] = (f"{letter}{at}", tuple((held + more)[k] for k in picked))
                    texts.append((f"{letter}{at}", shuffles(a, b, picked)))
            registers = after
        names = [next(name for name, held in registers if held == goal) for goal in goals]
    return _text("interleave", d=d, n=name, width=width, lanes=lanes, rows=rows, each=each, inverse=inverse,
                 shuffles=shuffles.all(), steps=texts, results=names)


def _merged(names: "Sequence[str]", places: "Sequence[Element]", lanes: int, shuffles: _Shuffles) -> str:
    """Return the C text of a register whose lane l is lane places[l][1] of register names[places[l][0]]. It is shuffled
    from the first register and one further register at a time.
    """
    first, *others = dict.fromkeys(operand for operand, _ in places)
    merged, held = names[first], [(first, l) for l in range(lanes)]
    for operand in others or [first]:
        both = [*held, *((operand, l) for l in range(lanes))]
        # a lane whose element is in a later operand is left unchanged here
        picked = [both.index(place) if place in both else l for l, place in enumerate(places)]
        merged, held = shuffles(merged, names[operand], picked), [both[l] for l in picked]
    assert held == list(places), (names, places)
    return merged


def spread(d: Any, width: int, lanes: int, rows: int, inverse: bool, name: str) -> str:
    """Return the C function of `interleave` for registers of `lanes` elements and any number of rows. Each result is
    built by shuffles that add the elements of one operand at a time.
    """
    shuffles, results = _Shuffles(d, width, lanes, name), []
    for k in range(rows):
        places = [divmod(l * rows + k, lanes) if inverse else ((k * lanes + l) % rows, (k * lanes + l) // rows)
                  for l in range(lanes)]
        results.append(_merged([f"in[{r}]" for r in range(rows)], places, lanes, shuffles))
    return _text("interleave", d=d, n=name, width=width, lanes=lanes, rows=rows, each=0, inverse=inverse,
                 shuffles=shuffles.all(), steps=[], results=results)


def load_strided(d: Any, width: int, lanes: int, stride: int, name: str) -> str:
    """Return the C function that loads a vector with from[l * stride] in lane l. It picks the elements from whole
    vectors. The last vector ends with the last element, and may overlap the vector before it, so that nothing after
    the last element is read. For stride -1, the function loads one vector and reverses it.
    """
    shuffles = _Shuffles(d, width, lanes, name)
    if stride == -1:
        starts, merged = [("a", 1 - lanes)], shuffles("a", "a", [*reversed(range(lanes))])
    else:
        last = (lanes - 1) * (stride - 1)
        starts = [(f"a{k}", min(k * lanes, last)) for k in range(-(-last // lanes) + 1)]
        places = [(k, l * stride - starts[k][1])
                  for l in range(lanes) for k in [min(l * stride // lanes, len(starts) - 1)]]
        merged = _merged([a for a, _ in starts], places, lanes, shuffles)
    return _text("load_strided", d=d, n=name, width=width, lanes=lanes, stride=stride, shuffles=shuffles.all(),
                 starts=starts, result=merged)


def join(d: Any, width: int, lanes: int, parts: int, name: str) -> str:
    """Return the C function that joins `parts` registers of `lanes` elements to one register."""
    return _text("join", d=d, n=name, width=width, lanes=lanes, parts=parts)


def numbers(d: Any, lanes: int, name: str) -> str:
    """Return the C function that returns 0, 1, 2, .. in the lanes of a vector."""
    return _text("numbers", d=d, n=name, lanes=lanes)


# ---- whole lines for rows that begin anywhere ----

@dataclass(frozen=True)
class Store:
    """A store of lanes of a register `a`, or of two registers `a` and `b`, to a position in memory.

    lanes: the lanes that are stored; those of `b` are numbered after those of `a`.
    carried: true if the whole of `a` is stored in the array of registers `carry`, at index `position`.
    whole: true if a whole cache line is stored.
    """

    position: int
    a: str
    b: str = ""
    lanes: Sequence[int] = ()
    carried: bool = False

    @property
    def whole(self) -> bool:
        return bool(self.b)


def line_tile(d: Any, width: int, lanes: int, rows: int, pitch: int, part: str, rest: int = 0, down: int = 1,
              name: str = "", start: int = 0) -> str:
    """Return one of three C functions that store tiles into rows that are `pitch` elements apart. A row may begin
    anywhere in a cache line.

    Each line is merged from a tile and the tile before it, and is written whole by the macro STREAM of the caller. Only
    the two ends of a row are written in pieces. The function is

        static inline void NAME(__global uint *to, uint16 *carry, const uint16 *in)

    in[i] is the register of row i from load_tile. carry has `rows` registers. `to` is the address of the first element
    of the first row of `in`. It is `start` elements after the beginning of a line. `start` is the same for all calls,
    because rows * pitch is a multiple of `lanes`. The value of `part` selects the function:

        first   for the tile at the beginning of the rows: stores the elements before the first whole line of each row,
                and sets carry[i] = in[i]
        next    for the `down` tiles in[w * rows + i], w < down, which follow the tile in carry: stores the lines that
                end in these tiles, and sets carry to the last tile
        last    for the last `lanes` elements of the rows: stores all elements that are not stored yet. These `lanes`
                elements begin `rest` elements (the length of a row mod lanes) after the elements in carry. Here, `to`
                is the address in memory of the first element in carry[0]

    With these functions, a work-item goes from tile to tile along the rows. With several carries, it can also go
    through several groups of rows at once.
    """
    low = _check(width, lanes, rows)
    assert low and rows * pitch % lanes == 0 and 0 <= rest < lanes and part in ("first", "next", "last")
    stores: List[Store] = []

    def whole(i: int, start: int, before: "Tuple[str, int]", after: "Tuple[str, int]") -> None:
        """Store the line that begins at `start`, from two registers. before, after: the registers, each with the
        position of its first element in the row. Elements that both contain are taken from `after`.
        """
        lane = [k - after[1] + lanes if k >= after[1] else k - before[1] for k in range(start, start + lanes)]
        stores.append(Store(i * pitch + start, before[0], after[0], lane))

    def partial_line(i: int, start: int, count: int, source: "Tuple[str, int]") -> None:
        """Store a part of a cache line, as one piece or as two overlapping pieces."""
        size, (x, begin) = 1 << count.bit_length() - 1 if count else 0, source
        for first in dict.fromkeys((start, start + count - size)) if count else ():
            stores.append(Store(i * pitch + first, x, lanes=range(first - begin, first - begin + size)))

    for i in range(rows):
        shift = -(start + i * pitch) % lanes
        if part == "first":
            partial_line(i, 0, shift, (f"in[{i}]", 0))
            stores.append(Store(i, f"in[{i}]", carried=True))
        elif part == "next":
            tiles = [(f"carry[{i}]", -lanes), *((f"in[{w * rows + i}]", w * lanes) for w in range(down))]
            for before, after in zip(tiles, tiles[1:]):
                whole(i, before[1] + shift, before, after)
            stores.append(Store(i, tiles[-1][0], carried=True))
        else:
            end, line = lanes + rest, shift + lanes if shift <= rest else shift
            if shift <= rest:
                whole(i, shift, (f"carry[{i}]", 0), (f"in[{i}]", rest))
            partial_line(i, line, end - line, (f"in[{i}]", rest))
    sizes = {len(store.lanes) for store in stores if not store.whole and len(store.lanes) > 1}
    return _text("line_tile", d=d, n=name or f"{part}_u{width}_{lanes}x{rows}", width=width, lanes=lanes, rows=rows,
                 pitch=pitch, part=part, rest=rest, down=down, start=start, pieces=sorted(sizes), stores=stores,
                 far=d.suffix64[0] if rows * pitch >> 31 else "")


def by_start(d: Any, width: int, lanes: int, index: str, variants: "dict[int, str]", name: str) -> str:
    """Return the C function that takes the offset of the rows within a cache line as its first argument, and
    calls the variant for that offset.
    """
    return _text("by_start", d=d, t=index, n=name, width=width, lanes=lanes, variants=variants)
