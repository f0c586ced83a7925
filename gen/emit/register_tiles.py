"""Transposes of small tiles in registers, as functions of OpenCL C and GNU C: the lanes that each step picks. The text
is in templates/parts/register_tiles.j2. Elements are unsigned integers of 8 to 64 bits.

    load_tile   static inline void load_u32_16x4(uint16 *out, const __global uint *from, uint stride)
                `lanes` rows of `rows` elements each, `stride` elements apart, become `rows` registers of `lanes`
                elements: out[r][l] = from[l * stride + r]
    store_tile  static inline void store_u32_16x4(__global uint *to, uint stride, const uint16 *in)
                the inverse: to[l * stride + r] = in[r][l]
    load_pieces, join_pieces
                load_tile in two steps, for rows of one cache line each; the caller may load and store in between;
                load_lines does both steps
    line_tile   to[r * pitch + l] = out[r][l] in whole cache lines, for a pitch that is not a multiple of a line

Memory needs the alignment of an element only. `out` and `in` are arrays of `rows` registers; their typedef is
`typedef(d, bits, lanes)`, empty if the language has the type. `prelude()` goes before the first tile of a file. Sizes
are powers of two, at least 2; a register has at most 64 bytes. A tile uses about `rows` registers at a time.

The method: the number of a lane in its register and the number of the register are bits of one index. After loading,
some bits of r are lane bits, and equally many bits of l are register bits. A step combines two registers whose numbers
differ in one bit: this bit is inserted at one end of a field of the lane bits, and the bit at the other end of the
field becomes the register bit. If it is inserted lowest, within 16 bytes, the step is an interleave, which every x86
has as one cheap instruction. If it is inserted highest, above 16 bytes, the step picks quarters of 64 bytes. With
pieces of 16 bytes and registers of 64 bytes, four loads fill a register and only interleaves remain: the "lane tile".
With pieces as long as a register, all steps are needed: the "full network". The generator tracks every element, and
asserts that each one arrives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from gen.emit.templates import macro
from gen.schedule import PIECE, PIECES, VECTOR_BITS
from gen.targets import Target

Element = Tuple[int, int]                   # (l, r)
Register = Tuple[str, Tuple[Element, ...]]  # name in the text, and the element in each lane
Step = Tuple[int, int]  # position at which a bit is inserted into the lane number, and position of the bit that leaves

_text = partial(macro, "parts/register_tiles.j2")


class Mix(NamedTuple):
    """A step on two registers: the registers `low` and `high` are each a shuffle of a and b. shuffles: the two
    shuffle macros.
    """

    low: str
    high: str
    shuffles: Tuple[str, str]
    a: str
    b: str


class Square(NamedTuple):
    """A square of `side` rows.

    loads: the pieces that are loaded, each with its row.
    mixes: the steps.
    results: the registers of the columns, in order.
    shuffles: the macros of the steps.
    """

    side: int
    shuffles: "List[Tuple[str, List[int]]]"
    loads: List[Tuple[str, int]]
    mixes: List[Mix]
    results: List[str]


@dataclass(frozen=True)
class Block:
    """The columns of a tile from `first` on. loads: for each register, the rows whose pieces it contains. results: the
    registers of the columns. stores: a register, its first stored lane, and the row."""

    first: int
    mixes: List[Mix]
    loads: Sequence[Tuple[str, List[int]]] = ()
    results: Sequence[str] = ()
    stores: Sequence[Tuple[str, int, int]] = ()


def prelude() -> str:
    """Return the lines before the first function of a file."""
    return _text("prelude")


def typedef(d: Any, width: int, lanes: int) -> str:
    """Return the definition of a register's type; "" if the language has the type."""
    return "" if lanes <= d.longest_vector else _text("typedef", d=d, width=width, lanes=lanes)


def _log2(n: int) -> int:
    assert n > 0 and n & (n - 1) == 0, f"{n} is no power of two"
    return n.bit_length() - 1


def _check(width: int, lanes: int, rows: int) -> int:
    """Check the sizes of a tile; return the number of lane bits within 16 bytes."""
    assert (width in (8, 16, 32, 64) and min(lanes, rows) > 1
            and width * lanes <= VECTOR_BITS), f"no tile {lanes}x{rows} of {width} bits"
    _log2(rows)
    return min(_log2(lanes), _log2(8 * PIECE // width))


def _pick(step: Step, which: int, lanes: int) -> List[int]:
    """Return the lanes that form result number `which` of a step; lanes of the second operand count from `lanes`."""
    insert, leave = step
    picked = []
    for lane in range(lanes):
        second, rest = lane >> insert & 1, lane >> insert + 1 << insert | lane & (1 << insert) - 1
        picked.append(second * lanes | rest >> leave << leave + 1 | which << leave | rest & (1 << leave) - 1)
    return picked


def _names(steps: "Sequence[Step]", step: Step) -> "Tuple[str, str]":
    return ("LOW", "HIGH") if step == steps[0] else ("EVEN", "ODD")


def _shuffles(steps: "Sequence[Step]", lanes: int) -> "List[Tuple[str, List[int]]]":
    """Return the macros of steps, and the lanes that they pick."""
    return [(name, _pick(step, which, lanes)) for step in dict.fromkeys(steps)
            for which, name in enumerate(_names(steps, step))]


def _network(first: int, registers: "List[Register]", steps: "Sequence[Step]",
             lanes: int) -> "Tuple[List[Register], List[Mix]]":
    """Mix registers: step number s mixes those whose numbers differ in bit s. Return the final registers with their
    contents, and the mixes."""
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
    """Return a number whose bits, lowest first, are moved to the given positions."""
    return sum((number >> n & 1) << place for n, place in enumerate(places))


def _columns(registers: "List[Register]", lanes: int, first: int = 0) -> List[str]:
    """Return the registers of columns from `first` on, in order."""
    found = sorted(registers, key=lambda x: x[1][0][1])
    for r, (_, held) in enumerate(found, first):
        assert held == tuple((l, r) for l in range(lanes)), (lanes, r, held)
    return [name for name, _ in found]


def _square(width: int) -> Square:
    """Return the square with as many rows as 16 bytes have elements."""
    side = 8 * PIECE // width
    bits = _log2(side)
    steps = [(0, bits - 1)] * bits
    loads = [(f"a{i}", _spread(i, [*reversed(range(bits))])) for i in range(side)]
    registers, mixes = _network(0, [(name, tuple((l, r) for r in range(side))) for name, l in loads], steps, side)
    return Square(side, _shuffles(steps, side), loads, mixes, _columns(registers, side))


def _squares(width: int, lanes: int, rows: int) -> Optional[Square]:
    """Return the squares of a tile for compilers with vectors of 16 bytes only; None if the tile has no such
    squares."""
    side = 8 * PIECE // width
    return _square(width) if width * lanes // 8 > PIECE and side <= min(lanes, rows) else None


def load_tile(d: Any, width: int, lanes: int, rows: int, index: str = "uint", piece: int = 16, name: str = "",
              group: int = 0, distance: int = 0) -> str:
    """Return the function out[r][l] = from[l * stride + r].

    piece: the maximum bytes of a row that one load reads. group: lanes after the first `group` continue at `further`, a
    further argument (0: all lanes are `stride` apart). distance: prefetch distance in elements, for processors where
    bursts are off.
    """
    low = _check(width, lanes, rows)
    bits, run = _log2(lanes), _log2(min(8 * piece // width, rows, lanes))
    within, above, size = min(run, low), max(run - low, 0), 1 << run
    steps = [(bits - 1, low)] * above + [(0, within - 1)] * within
    inserted = [*range(bits - above, bits), *reversed(range(within))]   # the bit of l that each step inserts
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
    """Return the function to[l * stride + r] = in[r][l], by plain stores."""
    low = _check(width, lanes, rows)
    bits, run = _log2(lanes), min(_log2(rows), _log2(lanes))
    if low < run < bits:
        run = low          # a whole piece must be contiguous
    within, above, size = min(run, low), max(run - low, 0), 1 << run
    steps = [(0, low - 1)] * within + [(bits - 1, low)] * above
    inserted = [*reversed(range(within)), *range(low, low + above)]     # the bit of r that each step inserts
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
    """Return the function that loads E rows of one line each and transposes each block of E rows by one piece.

    A piece is 16 bytes, and E is the number of elements in it.

    spacing: the number of registers from one result to the next. distance: see load_tile.
    """
    lanes, square = VECTOR_BITS // width, _square(width)
    bits = _log2(square.side)
    return _text("load_pieces", d=d, t=index, n=name, width=width, lanes=lanes, spacing=spacing, distance=distance,
                 square=square,
                 sizes=[(held, _shuffles([(0, bits - 1)], held)) for held in (lanes, lanes // 2, lanes // 4)])


def join_pieces(d: Any, width: int, name: str) -> str:
    """Return the function that gathers 16 bytes (a piece) from each of four lines: out[p] is piece p of in[0], in[1],
    in[2], in[3]."""
    steps = [(1, 1), (1, 0)]
    registers, mixes = _network(0, [(f"a{g}", tuple((p, g) for p in range(4))) for g in range(4)], steps, 4)
    assert [held for _, held in registers] == [tuple((p, g) for g in range(4)) for p in range(4)]
    words = [(macro_, [word for piece in picked for word in (2 * piece, 2 * piece + 1)])
             for macro_, picked in _shuffles(steps, 4)]
    return _text("join_pieces", d=d, n=name, width=width, lanes=VECTOR_BITS // width, shuffles=words, mixes=mixes,
                 results=[result for result, _ in registers])


def load_lines(d: Any, width: int, index: str, load: str, join: str, name: str) -> str:
    """Return the function of load_tile for rows of one line each. It is load_pieces, with the pieces of a line side
    by side, followed by join_pieces.
    """
    return _text("load_lines", d=d, t=index, n=name, width=width, lanes=VECTOR_BITS // width,
                 rows=8 * PIECE // width, pieces=PIECES, load=load, join=join)


# ---- shuffles ----

class Pick(NamedTuple):
    """A part of a shuffle's result. First it takes the chosen lanes of the operands' parts a and b; then the parts in
    `more` are merged in, one at a time.
    """

    a: str
    b: str
    lanes: List[int]
    more: "List[Tuple[str, List[int]]]"


class Part(NamedTuple):
    """A shuffle in registers of `bytes` bytes."""

    bytes: int
    picks: List[Pick]


class Shuffle(NamedTuple):
    """A shuffle of one register, or of two. lanes: the lanes that it picks. parts: the same shuffle in narrower
    registers, for compilers with vectors wider than the machine's."""

    two: bool
    lanes: Sequence[int]
    parts: List[Part]


def _shuffled(d: Target, dtype: str, lanes: int, picks: "Sequence[int]", two: bool) -> Shuffle:
    whole = d.register_bits(dtype) // 8 * lanes
    return Shuffle(two, picks, [_in_parts(d, dtype, lanes, picks, size) for size in (64, 32, 16)
                                if d.declares_vectors and size < whole])


def _in_parts(d: Target, dtype: str, lanes: int, picks: "Sequence[int]", size: int) -> Part:
    """Return each part of the result, built from the operands' parts whose lanes it contains."""
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
    """Return the function that picks lanes of one register or two. lane: C text of the lane that is picked for lane i,
    if that is simpler than a list."""
    return _text("shuffle", d=d, n=name, dtype=dtype, lanes=lanes, bytes=d.register_bits(dtype) // 8 * lanes,
                 shuffle=_shuffled(d, dtype, lanes, picks, two), lane=lane)


class _Shuffles:
    """The shuffle functions that another function calls, by the lanes that they pick."""

    def __init__(self, d: Target, width: int, lanes: int, name: str) -> None:
        self.d, self.dtype, self.lanes, self.name = d, f"u{width}", lanes, name
        self.known: List[Tuple[bool, Tuple[int, ...]]] = []     # true if two registers are read, and the lanes

    def __call__(self, a: str, b: str, picks: "Sequence[int]") -> str:
        """Return the text of a call; a and b may be the same register."""
        key = a != b, tuple(picks)
        if key not in self.known:
            self.known.append(key)
        return f"{self.name}_{self.known.index(key)}({a}{f', {b}' if a != b else ''})"

    def all(self) -> "List[Shuffle]":
        return [_shuffled(self.d, self.dtype, self.lanes, picks, two) for two, picks in self.known]


def _words(shuffle: _Shuffles) -> "Tuple[List[Tuple[str, str]], List[str]]":
    """Return twelve steps that separate four lines of bytes, and the names of the results. A line has 4 parts of 16
    bytes, a part 4 words. First the bytes are sorted by row, so that each word belongs to one row; then whole words
    move."""
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
    """Return the function that interleaves the elements of `rows` registers of 64 bytes: out[k][l * rows + r] = in[r][k
    * lanes / rows + l]. inverse: return the function that separates them."""
    lanes = VECTOR_BITS // width
    low, top, count, each = _check(width, lanes, rows), _log2(lanes), _log2(rows), lanes // rows

    def wanted(k: int, l: int) -> Element:
        return (l // each, l % each * rows + k) if inverse else (l % rows, k * each + l // rows)
    goals = [tuple(wanted(k, l) for l in range(lanes)) for k in range(rows)]
    shuffles = _Shuffles(d, width, lanes, name)
    texts: "List[Tuple[str, str]]" = []
    # without byte permutations of whole registers, compilers turn the steps below into 64 instructions
    if inverse and rows == 4 and width == 8:
        texts, names = _words(shuffles)
    elif rows == 2 and width > 8:     # one permutation of two registers is enough
        names = [shuffles("in[0]", "in[1]", [k * lanes + l for k, l in goal]) for goal in goals]
    else:
        # The bits of a row are inserted lowest, and the highest bit within 16 bytes leaves; then the quarters are put
        # in order.
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
    """Return the text of a register whose lane l is lane places[l][1] of register names[places[l][0]]. The registers
    are merged one after another.
    """
    first, *others = dict.fromkeys(operand for operand, _ in places)
    merged, held = names[first], [(first, l) for l in range(lanes)]
    for operand in others or [first]:
        both = [*held, *((operand, l) for l in range(lanes))]
        # lanes of later operands keep their content
        picked = [both.index(place) if place in both else l for l, place in enumerate(places)]
        merged, held = shuffles(merged, names[operand], picked), [both[l] for l in picked]
    assert held == list(places), (names, places)
    return merged


def spread(d: Any, width: int, lanes: int, rows: int, inverse: bool, name: str) -> str:
    """Return the function of `interleave` for registers of `lanes` elements and any number of rows. Each result is
    merged from the operands, one operand after another.
    """
    shuffles, results = _Shuffles(d, width, lanes, name), []
    for k in range(rows):
        places = [divmod(l * rows + k, lanes) if inverse else ((k * lanes + l) % rows, (k * lanes + l) // rows)
                  for l in range(lanes)]
        results.append(_merged([f"in[{r}]" for r in range(rows)], places, lanes, shuffles))
    return _text("interleave", d=d, n=name, width=width, lanes=lanes, rows=rows, each=0, inverse=inverse,
                 shuffles=shuffles.all(), steps=[], results=results)


def load_strided(d: Any, width: int, lanes: int, stride: int, name: str) -> str:
    """Return the function whose result has from[l * stride] in lane l, picked from whole vectors, the last of which
    ends with the last of these elements; for stride -1, one vector in reverse order."""
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
    """Return the function that joins `parts` registers of `lanes` elements to one."""
    return _text("join", d=d, n=name, width=width, lanes=lanes, parts=parts)


def numbers(d: Any, lanes: int, name: str) -> str:
    """Return the function whose result is 0, 1, 2, .. in the lanes."""
    return _text("numbers", d=d, n=name, lanes=lanes)


# ---- whole lines for rows that begin anywhere ----

@dataclass(frozen=True)
class Store:
    """A store, to a position, of lanes of the registers a and b, or of a alone.

    whole: true if a whole line is stored.
    carried: true if the whole register is stored to carry[position].
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
    """Return one of three functions that store tiles into rows `pitch` elements apart, which may begin anywhere in a line.

    Each line is merged from a tile and the tile before it, and written whole by the caller's STREAM; only the two ends
    of a row are written in pieces. The function is

        static inline void NAME(__global uint *to, uint16 *carry, const uint16 *in)

    in[i] is the register of row i that load_tile made. carry has `rows` registers. `to` is the address of the first
    element of the first row of `in`, `start` elements after the beginning of a line; `start` is the same for all calls
    if rows * pitch is a multiple of `lanes`. The parts:

        first   the tile at the beginning of the rows: stores the elements before row i's first whole line, and sets
                carry[i] = in[i]
        next    the `down` tiles after the tile in carry (in[w * rows + i]): stores the lines that end in them, and sets
                carry to the last of these tiles
        last    the last `lanes` elements of the rows, which begin `rest` elements (the length mod lanes) after those in
                carry: stores all that is left; here `to` is the address of carry[0]

    With these, a work-item walks down; if it has several carries side by side, it also walks along.
    """
    low = _check(width, lanes, rows)
    assert low and rows * pitch % lanes == 0 and 0 <= rest < lanes and part in ("first", "next", "last")
    stores: List[Store] = []

    def whole(i: int, start: int, before: "Tuple[str, int]", after: "Tuple[str, int]") -> None:
        """Store the line at `start`, merged from two registers, each given with the position in the row where it
        begins; overlapping elements are taken from the second."""
        lane = [k - after[1] + lanes if k >= after[1] else k - before[1] for k in range(start, start + lanes)]
        stores.append(Store(i * pitch + start, before[0], after[0], lane))

    def partial_line(i: int, start: int, count: int, source: "Tuple[str, int]") -> None:
        """Store a part of a line, as one piece or two overlapping pieces."""
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
    """Return the function that takes the rows' offset within a line as its first argument, and calls the variant for
    that offset."""
    return _text("by_start", d=d, t=index, n=name, width=width, lanes=lanes, variants=variants)
