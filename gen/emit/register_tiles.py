"""Transposes of small tiles in registers, as text of functions in OpenCL C and GNU C. Elements are unsigned integers of
8 to 64 bits.

    load_tile   static inline void load_u32_16x4(uint16 *out, const __global uint *from, uint stride)
                `lanes` rows of `rows` elements each, `stride` elements apart, become `rows` registers of `lanes`
                elements: out[r][l] = from[l * stride + r]
    store_tile  static inline void store_u32_16x4(__global uint *to, uint stride, const uint16 *in)
                the way back: to[l * stride + r] = in[r][l]
    load_pieces, join_pieces
                load_tile for rows of a line each in two steps, between which a caller may load and store; load_lines does
                both
    line_tile   to[r * pitch + l] = out[r][l] in whole lines, where pitch is not a multiple of them

Memory needs no alignment but the element's. `out` and `in` are arrays of `rows` registers of type `d.register("u32",
lanes)`; their typedef is `typedef(d, bits, lanes)`, empty where the language has the type. `PRELUDE` goes before the
first tile of a file. Sizes are powers of two, 2 and more; a register has at most 64 bytes. A tile works in about `rows`
registers at a time.

How: a register's lane number and its own number are bits of an index. A loaded register has some bits of r in its
lanes; as many bits of l are in its number. A step takes two registers that differ in one of these: the number's bit is
inserted into the lane's bits at one end of a field, and the bit at the field's other end leaves them. Inserted lowest
within 16 bytes that is an interleave, one cheap instruction on every x86; inserted highest above 16 bytes it picks
quarters of 64 bytes. Where a piece is 16 bytes and a register 64, four loads fill it and only interleaves are left: the
"lane tile"; where a piece is the whole register it is the "full network". The generator follows each element, and
asserts that all arrive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, List, Sequence, Tuple

from gen.schedule import PIECE, PIECES, VECTOR_BITS
from gen.targets import Target

Element = Tuple[int, int]                   # (l, r)
Register = Tuple[str, Tuple[Element, ...]]  # its name in the text, and what its lanes hold
Step = Tuple[int, int]                      # where in the lane's bits one is inserted, and which one leaves

# SHUFFLES: the bytes of `Target.widest`, 0 where the compiler has no word for a shuffle.
PRELUDE = f"""\
#define SHUFFLES 0
#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#undef SHUFFLES
{Target.widest("SHUFFLES")}#endif
#endif
"""


def register(d: Any, width: int, lanes: int) -> str:
    """The type of a register."""
    return d.register(f"u{width}", lanes)


def typedef(d: Any, width: int, lanes: int) -> str:
    """Its definition, with a struct where the compiler has no such vectors; empty where the language has the type."""
    t, name = d.types[f"u{width}"], register(d, width, lanes)
    if lanes <= d.longest_vector:
        return ""
    return (f"#ifdef {d.vector_test}\ntypedef {t} {name} __attribute__(({_vector(d, width, lanes)}));\n"
            f"#else\ntypedef struct {{\n  {t} lane[{lanes}];\n}} {name};\n#endif\n")


def _vector(d: Any, width: int, lanes: int) -> str:
    return str(d.typed_vector(width, lanes))


def _piece(d: Any, width: int, lanes: int, name: str = "piece") -> str:
    """The local type of a piece of a row: a vector at any element."""
    return f"  typedef {d.types[f'u{width}']} {name} __attribute__(({_vector(d, width, lanes)}, aligned({width // 8}){d.may_alias}));\n"


def _log2(n: int) -> int:
    assert n > 0 and n & (n - 1) == 0, f"{n} is no power of two"
    return n.bit_length() - 1


def _check(width: int, lanes: int, rows: int) -> int:
    """How many bits of the lane's number count within 16 bytes."""
    assert (
        width in (8, 16, 32, 64) and min(lanes, rows) > 1 and width * lanes <= VECTOR_BITS
    ), f"no tile {lanes}x{rows} of {width} bits"
    _log2(rows)
    return min(_log2(lanes), _log2(128 // width))


def _pick(step: Step, which: int, lanes: int) -> List[int]:
    """The lanes that make a step's result number `which`; those of the second operand count from `lanes`."""
    insert, leave = step
    picked = []
    for lane in range(lanes):
        second, rest = lane >> insert & 1, lane >> insert + 1 << insert | lane & (1 << insert) - 1
        picked.append(second * lanes | rest >> leave << leave + 1 | which << leave | rest & (1 << leave) - 1)
    return picked


def _macros(steps: "Sequence[Step]", lanes: int) -> "Tuple[str, str]":
    """What the steps are called in the text: their definitions, and the end of these."""
    names = [name for step in dict.fromkeys(steps) for name in _names(steps, step)]
    lists = [", ".join(map(str, _pick(step, which, lanes))) for step in dict.fromkeys(steps) for which in (0, 1)]
    return ("".join(f"#define {name}(a, b) __builtin_shufflevector(a, b, {text})\n"
                    for name, text in zip(names, lists)), "".join(f"#undef {name}\n" for name in names))


def _names(steps: "Sequence[Step]", step: Step) -> "Tuple[str, str]":
    return ("LOW", "HIGH") if step == steps[0] else ("EVEN", "ODD")


def _network(kind: str, first: int, registers: "List[Register]", steps: "Sequence[Step]",
             lanes: int, indentation: str = "  ") -> "Tuple[List[Register], str]":
    """Step number s mixes the registers whose numbers differ in bit s. The registers afterwards, by their contents, and
    the text."""
    text = ""
    for number, step in enumerate(steps):
        (low, high), letter, after = _names(steps, step), chr(ord("b") + number), list(registers)
        for i in (i for i in range(len(registers)) if not i >> number & 1):
            j = i | 1 << number
            (a, held), (b, more) = registers[i], registers[j]
            after[i], after[j] = ((f"{letter}{first + at}", tuple((held + more)[k] for k in _pick(step, which, lanes)))
                                  for at, which in ((i, 0), (j, 1)))
            text += f"{indentation}const {kind} {after[i][0]} = {low}({a}, {b}), {after[j][0]} = {high}({a}, {b});\n"
        registers = after
    return sorted(registers, key=lambda x: x[1]), text


def _spread(number: int, places: "Sequence[int]") -> int:
    """The bits of a number, lowest first, put where they belong."""
    return sum((number >> n & 1) << place for n, place in enumerate(places))


def _memory(d: Any, constant: str, t: str, name: str) -> str:
    return f"{constant}{d.pointer}{t} *{name}"


def _row(d: Any, constant: str, memory: str, group: int) -> str:
    return f"#define ROW(l, r) (*({_memory(d, constant, 'piece', '')})({memory} + {_apart(group)} + r))\n"


def _apart(group: int, lane: str = "l") -> str:
    """Where a lane begins."""
    return f"{lane} % {group} * stride + {lane} / {group} * further" if group else f"{lane} * stride"


def _square(width: int, source: "Callable[[int], str]", target: "Callable[[int], str]") -> "Tuple[List[Step], str]":
    """A square of as many rows as 16 bytes have elements, from `source(l)` to `target(r)`: the steps, and the text. Of
    longer vectors each 16 bytes are such a square."""
    side = 8 * PIECE // width
    bits = _log2(side)
    steps, text, registers = [(0, bits - 1)] * bits, "", []
    for i in range(side):
        l = _spread(i, [*reversed(range(bits))])
        text += f"    const piece a{i} = {source(l)};\n"
        registers.append((f"a{i}", tuple((l, r) for r in range(side))))
    registers, network = _network("piece", 0, registers, steps, side, "    ")
    text += network
    for r, (result, held) in enumerate(sorted(registers, key=lambda x: x[1][0][1])):
        assert held == tuple((l, r) for l in range(side)), (width, r, held)
        text += f"    {target(r)} = {result};\n"
    return steps, text


def _function(d: Any, width: int, lanes: int, rows: int, index: str, name: str, parameters: str, before: str, fast: str,
              memory: "Callable[[str, str], str]", held: "Callable[[str, str], str]", store: bool) -> str:
    """The function of a tile: `before`, then `fast` where the compiler has its registers, else by squares of 16-byte
    vectors, else element by element. memory, held: an element, in memory and in the registers, from the texts of l and
    r. store: the second goes to the first."""
    each, bytes, squares = 8 * PIECE // width, width * lanes // 8, ""
    if bytes > PIECE and each <= min(lanes, rows):
        constant, private = "" if store else "const ", replace(d, pointer="")

        def line(k: int) -> str:
            return f"*({_memory(d, constant, 'piece', '')})&{memory(f'(l + {k})', 'r')}"

        def register_part(k: int) -> str:
            return f"*({_memory(private, 'const ' if store else '', 'piece', '')})&{held('l', f'(r + {k})')}"
        steps, text = _square(width, *((register_part, line) if store else (line, register_part)))
        define, undefine = _macros(steps, each)
        squares = (f"#elif SHUFFLES >= {PIECE}\n{_piece(d, width, each)}{define}  for ({index} l = 0; l < {lanes}; l += {each})\n"
                   f"    for ({index} r = 0; r < {rows}; r += {each}) {{\n{text}    }}\n{undefine}")
    texts = [memory("l", "r"), held("l", "r")]
    plain = " = ".join(texts if store else reversed(texts))
    return (
        f"{d.inlined or d.function} void {name}({parameters})\n{{\n{before}#if SHUFFLES >= {bytes}\n{fast}{squares}#else\n"
        f"  for ({index} l = 0; l < {lanes}; ++l)\n    for ({index} r = 0; r < {rows}; ++r) {plain};\n#endif\n}}\n"
    )


def load_tile(d: Any, width: int, lanes: int, rows: int, index: str = "uint", piece: int = 16, name: str = "",
              group: int = 0, distance: int = 0) -> str:
    """The function out[r][l] = from[l * stride + r].

    piece: the most bytes of a row that one load reads. group: after this many lanes at `stride` continue at `further`,
    one more argument (0: all lanes are at `stride`). distance: prefetch distance in elements, where bursts are off; the
    prefetch stands here because gcc leaves out calls of functions that do nothing else."""
    low, kind = _check(width, lanes, rows), register(d, width, lanes)
    bits, run = _log2(lanes), _log2(min(8 * piece // width, rows, lanes))
    within, above, size = min(run, low), max(run - low, 0), 1 << run
    steps = [(bits - 1, low)] * above + [(0, within - 1)] * within
    inserted = [*range(bits - above, bits), *reversed(range(within))]   # the bit of l that each step brings in
    loaded = [bit for bit in range(bits) if bit not in inserted]
    joins = [size << n for n in range(1, bits - run + 1)]
    define, undefine = _macros(steps, lanes)
    text = _piece(d, width, size) + _row(d, "const ", "from", group)
    text += "".join(f"#define JOIN{n}(a, b) __builtin_shufflevector(a, b, {', '.join(map(str, range(n)))})\n"
                    for n in joins) + define
    for first in range(0, rows, size):
        registers: List[Register] = []
        for i in range(size):
            at = [_spread(i, inserted) | _spread(part, loaded) for part in range(lanes // size)]
            parts = [f"ROW({l}, {first})" for l in at]
            for n in joins:
                parts = [f"JOIN{n}({a}, {b})" for a, b in zip(parts[::2], parts[1::2])]
            text += f"  const {kind} a{first + i} = {parts[0]};\n"
            registers.append((f"a{first + i}", tuple((l, first + k) for l in at for k in range(size))))
        registers, network = _network(kind, first, registers, steps, lanes)
        text += network
        for number, (result, held) in enumerate(sorted(registers, key=lambda x: x[1][0][1]), first):
            assert held == tuple((l, number) for l in range(lanes)), (width, lanes, rows, held)
            text += f"  out[{number}] = {result};\n"
    text += "#undef ROW\n" + "".join(f"#undef JOIN{n}\n" for n in joins) + undefine
    t, before = d.types[f"u{width}"], _prefetches(d, width, lanes, group, distance) if distance else ""
    parameters = f"{kind} *out, {_memory(d, 'const ', t, 'from')}, {index} stride" + f", {index} further" * bool(group)
    return _function(d, width, lanes, rows, index, name or f"load_u{width}_{lanes}x{rows}", parameters, before, text,
                     lambda l, r: f"from[{_apart(group, l)} + {r}]", lambda l, r: f"(({t} *)(out + {r}))[{l}]", False)


def _prefetches(d: Any, width: int, lanes: int, group: int, distance: int) -> str:
    """The lines that prefetch each row of a later tile, where bursts are off."""
    lines = (d.prefetch("L2", f"from + {_apart(group, str(lane))}", distance * width // 8, width // 8)
             for lane in range(lanes))
    return f"  if (!{d.bursts}) {{\n" + "".join(f"    {line}\n" for line in lines) + "  }\n"


def load_pieces(d: Any, width: int, spacing: int, index: str, distance: int, name: str) -> str:
    """The function that loads as many rows of a line as there are elements in 16 bytes (a piece), and transposes them
    within each piece: piece p of out[k * spacing] holds element p * rows + k of each row.

    spacing: registers from one result to the next. distance: as for load_tile."""
    t, lanes, rows = d.types[f"u{width}"], VECTOR_BITS // width, 8 * PIECE // width
    steps, square = _square(width, lambda l: f"ROW({l}, at)",
                            lambda r: f"*(piece *)(({t} *)(out + {r * spacing}) + at)")
    sizes = [(held, f"#{word} SHUFFLES >= {held * width // 8}\n")
             for word, held in (("if", lanes), ("elif", lanes // 2), ("elif", lanes // 4))]
    text = "".join(f"{condition}{_piece(d, width, held)}{_macros(steps, held)[0]}" for held, condition in sizes)
    text += "#endif\n#if SHUFFLES\n" + _row(d, "const ", "from", 0)
    text += _prefetches(d, width, rows, 0, distance) if distance else ""
    text += f"  for ({index} at = 0; at < {lanes}; at += ({index})sizeof(piece) / {width // 8}) {{\n{square}"
    text += "  }\n#undef ROW\n#undef LOW\n#undef HIGH\n"
    parameters = f"{register(d, width, lanes)} *out, {_memory(d, 'const ', t, 'from')}, {index} stride"
    return (
        f"{d.inlined or d.function} void {name}({parameters})\n{{\n{text}#else\n"
        f"  for ({index} l = 0; l < {rows}; ++l)\n    for ({index} r = 0; r < {lanes}; ++r)"
        f" (({t} *)(out + r % {rows} * {spacing}))[r / {rows} * {rows} + l] = from[l * stride + r];\n#endif\n}}\n"
    )


def join_pieces(d: Any, width: int, name: str) -> str:
    """The function that gathers 16 bytes (a piece) of each of four lines: out[p] is piece p of in[0], in[1], in[2],
    in[3]."""
    kind, u64 = register(d, width, VECTOR_BITS // width), d.types["u64"]

    def words(pieces: "Sequence[int]") -> str:
        return ", ".join(f"{2 * piece}, {2 * piece + 1}" for piece in pieces)
    steps, text = [(1, 1), (1, 0)], ""
    registers, network = _network("words", 0, [(f"a{g}", tuple((p, g) for p in range(4))) for g in range(4)], steps, 4)
    whole = "".join(f"#define {macro}(a, b) __builtin_shufflevector(a, b, {words(_pick(step, which, 4))})\n"
                    for step in steps for which, macro in enumerate(_names(steps, step)))
    whole += "".join(f"  const words a{g} = *(const words *)(in + {g});\n" for g in range(4)) + network
    for p, (result, held) in enumerate(registers):
        assert held == tuple((p, g) for g in range(4)), held
        whole += f"  *(words *)(out + {p}) = {result};\n"
    whole += "".join(f"#undef {macro}\n" for step in steps for macro in _names(steps, step))
    for p in range(4):
        halves = (f"((const words *)(in + {2 * half}))[{p // 2}], ((const words *)(in + {2 * half + 1}))[{p // 2}]"
                  for half in range(2))
        text += "".join(f"  ((words *)(out + {p}))[{half}] = __builtin_shufflevector({pair}, {words((p % 2, 2 + p % 2))});\n"
                        for half, pair in enumerate(halves))
    types = [f"  typedef {u64} words __attribute__(({_vector(d, 64, size // 8)}{d.may_alias}));\n" for size in (64, 32, 16)]
    return (
        f"{d.inlined or d.function} void {name}({kind} *out, const {kind} *in)\n{{\n#if SHUFFLES >= 64\n{types[0]}{whole}"
        f"#elif SHUFFLES >= 32\n{types[1]}{text}#elif SHUFFLES >= 16\n{types[2]}"
        f"  for (int p = 0; p < 4; ++p)\n    for (int g = 0; g < 4; ++g) ((words *)(out + p))[g] = ((const words *)(in + g))[p];\n"
        f"#else\n  for (int p = 0; p < 4; ++p)\n    for (int w = 0; w < 8; ++w)"
        f" (({u64} *)(out + p))[w] = ((const {u64} *)(in + w / 2))[p * 2 + w % 2];\n#endif\n}}\n"
    )


def load_lines(d: Any, width: int, index: str, load: str, join: str, name: str) -> str:
    """load_tile for rows of a line each, by load_pieces, the pieces of a line side by side, and join_pieces."""
    t, lanes, rows = d.types[f"u{width}"], VECTOR_BITS // width, 8 * PIECE // width
    kind = register(d, width, lanes)
    return (
        f"{d.inlined or d.function} void {name}({kind} *out, {_memory(d, 'const ', t, 'from')}, {index} stride)\n{{\n"
        f"  {kind} pieces[{lanes}], joined[{PIECES}];\n"
        f"  {d.unroll}\n  for ({index} group = 0; group < {PIECES}; ++group) {load}(pieces + group, from + group * {rows} * stride, stride);\n"
        f"  {d.unroll}\n  for (int r = 0; r < {rows}; ++r) {{\n    {join}(joined, pieces + r * {PIECES});\n"
        f"    for (int p = 0; p < {PIECES}; ++p) out[p * {rows} + r] = joined[p];\n  }}\n}}\n"
    )


def store_tile(d: Any, width: int, lanes: int, rows: int, index: str = "uint", name: str = "", group: int = 0) -> str:
    """The function to[l * stride + r] = in[r][l], by plain stores."""
    low = _check(width, lanes, rows)
    t, kind = d.types[f"u{width}"], register(d, width, lanes)
    bits, run = _log2(lanes), min(_log2(rows), _log2(lanes))
    if low < run < bits:
        run = low          # a whole piece must lie side by side
    within, above, size = min(run, low), max(run - low, 0), 1 << run
    steps = [(0, low - 1)] * within + [(bits - 1, low)] * above
    inserted = [*reversed(range(within)), *range(low, low + above)]     # the bit of r that each step brings in
    define, undefine = _macros(steps, lanes)
    text = _piece(d, width, size) + _row(d, "", "to", group) + define
    for first in range(0, rows, size):
        numbers = [first | _spread(i, inserted) for i in range(size)]
        registers, network = _network(kind, first, [(f"in[{r}]", tuple((l, r) for l in range(lanes))) for r in numbers],
                                      steps, lanes)
        text += network
        for result, held in registers:
            for part in range(0, lanes, size):
                (l, r), picked = held[part], f"{result}, {result}, {', '.join(map(str, range(part, part + size)))}"
                assert r == first and held[part:part
                                           + size] == tuple((l, r + k) for k in range(size)), (width, lanes, rows, held)
                text += f"  ROW({l}, {r}) = {result if size == lanes else f'__builtin_shufflevector({picked})'};\n"
    parameters = f"{_memory(d, '', t, 'to')}, {index} stride, {f'{index} further, ' * bool(group)}const {kind} *in"
    return _function(d, width, lanes, rows, index, name or f"store_u{width}_{lanes}x{rows}", parameters,
                     "", text + "#undef ROW\n" + undefine,
                     lambda l, r: f"to[{_apart(group, l)} + {r}]", lambda l, r: f"((const {t} *)(in + {r}))[{l}]", True)


def shuffled(d: Target, dtype: str, lanes: int, picks: "Sequence[int]", two: bool) -> str:
    """The text of a function that returns lanes of a register `a`, or of two, `b` too, up to where the compiler has no
    word for it: whole, or in parts where its registers are narrower."""
    whole, operands = d.register_bits(dtype) // 8 * lanes, "a, b" if two else "a, a"
    parts = [size for size in (64, 32, 16) if size < whole] if d.declares_vectors else []
    return (f"#if SHUFFLES >= {whole if parts else 1}\n  return __builtin_shufflevector({operands}, {', '.join(map(str, picks))});\n"
            + "".join(_in_parts(d, dtype, lanes, picks, two, size) for size in parts))


def _in_parts(d: Target, dtype: str, lanes: int, picks: "Sequence[int]", two: bool, size: int) -> str:
    """The branch of a shuffle for registers of `size` bytes: each part of the result of the parts that it has lanes
    of, two at first, then one more each time."""
    each = size * 8 // d.register_bits(dtype)
    kind, lines = d.register(dtype, lanes), []
    for number in range(lanes // each):
        wanted = picks[number * each:(number + 1) * each]
        sources = sorted({pick // each for pick in wanted})
        names = [f"{'ab'[source * each // lanes]}_in.part[{source % (lanes // each)}]" for source in sources]
        a, b = names[0], names[min(1, len(names) - 1)]
        known = sources[:2]
        places = [known.index(pick // each) * each + pick % each if pick // each in known else 0 for pick in wanted]
        text = f"__builtin_shufflevector({a}, {b}, {', '.join(map(str, places))})"
        for source, name in zip(sources[2:], names[2:]):
            places = [each + pick % each if pick // each == source else lane for lane, pick in enumerate(wanted)]
            text = f"__builtin_shufflevector({text}, {name}, {', '.join(map(str, places))})"
        lines.append(f"  out.part[{number}] = {text};\n")
    sides = "a_in = {a}, b_in = {b}" if two else "a_in = {a}"
    union = f"union {{ {kind} all; values part[{lanes // each}]; }}"
    return (f"#elif SHUFFLES >= {size}\n  typedef {d.register(dtype)} values __attribute__((vector_size({size})));\n"
            f"  {union} {sides}, out;\n{''.join(lines)}  return out.all;\n")


class _Shuffles:
    """The functions that another one shuffles its registers with, by what they pick."""

    def __init__(self, d: Target, width: int, lanes: int, name: str) -> None:
        self.d, self.dtype, self.lanes, self.name = d, f"u{width}", lanes, name
        self.known: List[Tuple[bool, Tuple[int, ...]]] = []     # whether of two registers, and lanes

    def __call__(self, a: str, b: str, picks: "Sequence[int]") -> str:
        """The text of a call; a and b may be the same."""
        key = a != b, tuple(picks)
        if key not in self.known:
            self.known.append(key)
        return f"{self.name}_{self.known.index(key)}({a}{f', {b}' if a != b else ''})"

    def text(self) -> str:
        kind = self.d.register(self.dtype, self.lanes)
        functions = (f"{self.d.inlined or self.d.function} {kind} {self.name}_{number}({kind} a{f', {kind} b' if two else ''})\n{{\n"
                     f"{shuffled(self.d, self.dtype, self.lanes, picks, two)}#endif\n}}\n"
                     for number, (two, picks) in enumerate(self.known))
        return "#if SHUFFLES\n" + "".join(functions) + "#endif\n"


def _words(kind: str, shuffle: _Shuffles) -> "Tuple[str, List[str]]":
    """Four lines of bytes taken apart in twelve steps: the text, and the results' names. A line has 4 parts of 16
    bytes, a part 4 words; first its bytes are sorted by rows, so that a word has one row's, then whole words change
    places."""
    def words(a: str, b: str, picked: "Sequence[int]") -> str:
        return shuffle(a, b, [4 * w + k for w in picked for k in range(4)])

    turn = [part * 16 + k % 4 * 4 + k // 4 for part in range(4) for k in range(16)]
    steps = [f"a{k} = {shuffle(f'in[{k}]', f'in[{k}]', turn)}" for k in range(4)]
    for k, row in ((k, row) for k in (0, 2) for row in (0, 2)):
        two = [line * 16 + part * 4 + r for r in (row, row + 1) for line in (0, 1) for part in range(4)]
        steps.append(f"b{k + row // 2} = {words(f'a{k}', f'a{k + 1}', two)}")
    steps += [f"c{r} = {words(f'b{r // 2}', f'b{2 + r // 2}', [r % 2 * 8 + w for w in (*range(8), *range(16, 24))])}"
              for r in range(4)]
    return "".join(f"  const {kind} {step};\n" for step in steps), [f"c{r}" for r in range(4)]


def interleave(d: Any, width: int, rows: int, inverse: bool, name: str) -> str:
    """The function that interleaves the elements of `rows` registers of 64 bytes: out[k][l * rows + r] = in[r][k *
    lanes / rows + l].
    inverse: the function that separates them again."""
    lanes, t = VECTOR_BITS // width, d.types[f"u{width}"]
    kind = register(d, width, lanes)
    low, top, count = _check(width, lanes, rows), _log2(lanes), _log2(rows)
    # A row's bits enter lowest, and leave the highest of 16 bytes; the quarters are put in order after that.
    steps = [(bit, (0, low - 1))
             for bit in reversed(range(count))] + [(bit, (low, top - 1)) for bit in reversed(range(count))]
    if inverse:
        steps = [(bit, (leave, insert)) for bit, (insert, leave) in reversed(steps)]
    start = [tuple((k, l) for l in range(lanes)) for k in range(rows)]
    registers: List[Register] = [(f"in[{k}]", held) for k, held in enumerate(start)]
    shuffle, text = _Shuffles(d, width, lanes, name), ""
    for number, (bit, step) in enumerate(steps):
        letter, after = chr(ord("a") + number), list(registers)
        for i in (i for i in range(rows) if not i >> bit & 1):
            j = i | 1 << bit
            (a, held), (b, more) = registers[i], registers[j]
            for which, at in enumerate((i, j)):
                picked = _pick(step, which, lanes)
                after[at] = (f"{letter}{at}", tuple((held + more)[k] for k in picked))
                text += f"  const {kind} {letter}{at} = {shuffle(a, b, picked)};\n"
        registers = after
    each = lanes // rows

    def wanted(k: int, l: int) -> Element:
        return (l // each, l % each * rows + k) if inverse else (l % rows, k * each + l // rows)
    goals = [tuple(wanted(k, l) for l in range(lanes)) for k in range(rows)]
    names = [next(name for name, held in registers if held == goal) for goal in goals]
    # without byte permutations of whole registers a compiler makes 64 of the steps above
    if inverse and rows == 4 and width == 8:
        shuffle = _Shuffles(d, width, lanes, name)
        text, names = _words(kind, shuffle)
    if rows == 2 and width > 8:     # one permutation of two registers does it
        shuffle, text = _Shuffles(d, width, lanes, name), ""
        names = [shuffle("in[0]", "in[1]", [k * lanes + l for k, l in goal]) for goal in goals]
    text += "".join(f"  out[{k}] = {name};\n" for k, name in enumerate(names))
    plain = (
        f"((const {t} *)(in + l / {each}))[l % {each} * {rows} + k]"
        if inverse
        else f"((const {t} *)(in + l % {rows}))[k * {each} + l / {rows}]"
    )
    return (
        f"{shuffle.text()}{d.function} void {name}({kind} *out, const {kind} *in)\n{{\n#if SHUFFLES\n{text}#else\n"
        f"  for (int k = 0; k < {rows}; ++k)\n    for (int l = 0; l < {lanes}; ++l) (({t} *)(out + k))[l] = {plain};\n#endif\n}}\n"
    )


def _merged(names: "Sequence[str]", places: "Sequence[Element]", lanes: int, shuffle: _Shuffles) -> str:
    """A register, as text: lane l holds lane places[l][1] of the register names[places[l][0]]; merged from one after
    the other."""
    first, *others = dict.fromkeys(operand for operand, _ in places)
    merged, held = names[first], [(first, l) for l in range(lanes)]
    for operand in others or [first]:
        both = [*held, *((operand, l) for l in range(lanes))]
        # lanes whose operand comes later keep what they have
        picked = [both.index(place) if place in both else l for l, place in enumerate(places)]
        merged, held = shuffle(merged, names[operand], picked), [both[l] for l in picked]
    assert held == list(places), (names, places)
    return merged


def spread(d: Any, width: int, lanes: int, rows: int, inverse: bool, name: str) -> str:
    """`interleave` for registers of `lanes` elements and any number of rows: each result is merged from one operand
    after the other."""
    t, kind = d.types[f"u{width}"], register(d, width, lanes)
    shuffle, fast = _Shuffles(d, width, lanes, name), ""
    for k in range(rows):
        places = [divmod(l * rows + k, lanes) if inverse else ((k * lanes + l) % rows, (k * lanes + l) // rows)
                  for l in range(lanes)]
        fast += f"  out[{k}] = {_merged([f'in[{r}]' for r in range(rows)], places, lanes, shuffle)};\n"
    flat = (
        f"((const {t} *)in)[l * {rows} + k]"
        if inverse
        else f"((const {t} *)(in + (k * {lanes} + l) % {rows}))[(k * {lanes} + l) / {rows}]"
    )
    return (
        f"{shuffle.text()}{d.function} void {name}({kind} *out, const {kind} *in)\n{{\n#if SHUFFLES\n{fast}#else\n"
        f"  for (int k = 0; k < {rows}; ++k)\n    for (int l = 0; l < {lanes}; ++l) (({t} *)(out + k))[l] = {flat};\n#endif\n}}\n"
    )


def load_apart(d: Any, width: int, lanes: int, stride: int, name: str) -> str:
    """The function whose result has from[l * stride] in lane l: picked from whole vectors, the last of which ends with
    the last of these elements; for stride -1 one vector, turned around."""
    t, kind, piece = d.types[f"u{width}"], register(d, width, lanes), _memory(d, "const ", "piece", "")
    shuffle = _Shuffles(d, width, lanes, name)
    if stride == -1:
        text = f"  const {kind} a = *({piece})(from - {lanes - 1});\n"
        merged = shuffle("a", "a", [*reversed(range(lanes))])
    else:
        last = (lanes - 1) * (stride - 1)
        starts = [min(k * lanes, last) for k in range(-(-last // lanes) + 1)]
        places = [(k, l * stride - starts[k])
                  for l in range(lanes) for k in [min(l * stride // lanes, len(starts) - 1)]]
        text = "".join(f"  const {kind} a{k} = *({piece})(from + {start});\n" for k, start in enumerate(starts))
        merged = _merged([f"a{k}" for k in range(len(starts))], places, lanes, shuffle)
    return (
        f"{shuffle.text()}{d.function} {kind} {name}({_memory(d, 'const ', t, 'from')})\n{{\n#if SHUFFLES\n{_piece(d, width, lanes)}"
        f"{text}  return {merged};\n#else\n  {kind} out;\n  for (int l = 0; l < {lanes}; ++l) (({t} *)&out)[l] = from[l * {stride}];\n"
        f"  return out;\n#endif\n}}\n"
    )


def join(d: Any, width: int, lanes: int, parts: int, name: str) -> str:
    """The function that puts `parts` registers of `lanes` elements side by side in one."""
    kind, whole = register(d, width, lanes), register(d, width, lanes * parts)
    names, size = [f"in[{k}]" for k in range(parts)], lanes
    while len(names) > 1:
        size *= 2
        names = [f"__builtin_shufflevector({a}, {b}, {', '.join(map(str, range(size)))})"
                 for a, b in zip(names[::2], names[1::2])]
    plain = f"  {whole} out;\n  for (int k = 0; k < {parts}; ++k) (({kind} *)&out)[k] = in[k];\n  return out;\n"
    return (
        f"{d.function} {whole} {name}(const {kind} *in)\n{{\n#if SHUFFLES >= {width * lanes * parts // 8}\n  return {names[0]};\n"
        f"#else\n{plain}#endif\n}}\n"
    )


# ---- whole lines where rows begin anywhere ----

def line_tile(d: Any, width: int, lanes: int, rows: int, pitch: int, part: str, rest: int = 0, down: int = 1,
              name: str = "", start: int = 0) -> str:
    """One of three functions that store tiles into rows `pitch` elements apart, which need not begin on a line.

    Each line is put together from a tile and the tile before it, and written whole by the caller's STREAM; only the two
    ends of a row are written in pieces. The functions

        static inline void NAME(__global uint *to, uint16 *carry, const uint16 *in)

    where in[i] is what load_tile made for row i, carry has `rows` registers, and `to` is where the first element of the
    first row of `in` belongs, `start` elements into a line: always the same if rows * pitch is a multiple of `lanes`.

        first   the tile at the rows' beginning: what lies before row i's first line is stored; carry[i] = in[i]
        next    the `down` tiles after that of carry (in[w * rows + i]): the lines that end in them, side by side; carry
                = the last
        last    the rows' last `lanes` elements, `rest` elements (the length mod lanes) after those of carry: all that
                is left; here `to` is where carry[0] belongs

    A work-item walks down so; carry may be one of many side by side, so that it also walks along.
    """
    low, t, kind = _check(width, lanes, rows), d.types[f"u{width}"], register(d, width, lanes)
    assert low and rows * pitch % lanes == 0 and 0 <= rest < lanes and part in ("first", "next", "last")
    text, pieces = "", set()

    def at(position: int) -> str:
        return f"to {'-' if position < 0 else '+'} {abs(position)}"

    def whole(i: int, start: int, before: "Tuple[str, int]", after: "Tuple[str, int]") -> str:
        """The line at `start`, out of two registers and where in the row each begins; what both hold is taken from the
        second."""
        lane = [k - after[1] + lanes if k >= after[1] else k - before[1] for k in range(start, start + lanes)]
        return (f"  {d.store_word(True)}(__builtin_shufflevector({before[0]}, {after[0]}, {', '.join(map(str, lane))}),"
                f" ({d.pointer}{kind} *)({at(i * pitch + start)}));\n")

    def partial(i: int, start: int, count: int, source: "Tuple[str, int]") -> str:
        """In two pieces that overlap, or one."""
        if not count:
            return ""
        size, (x, begin), stores = 1 << count.bit_length() - 1, source, ""
        for first in dict.fromkeys((start, start + count - size)):
            lane = range(first - begin, first - begin + size)
            value = f"__builtin_shufflevector({x}, {x}, {', '.join(map(str, lane))})" if size > 1 else f"{x}[{lane[0]}]"
            stores += f"  *({d.pointer}{f'piece{size}' if size > 1 else t} *)({at(i * pitch + first)}) = {value};\n"
        pieces.add(size)
        return stores

    for i in range(rows):
        shift = -(start + i * pitch) % lanes
        if part == "first":
            text += partial(i, 0, shift, (f"in[{i}]", 0)) + f"  carry[{i}] = in[{i}];\n"
        elif part == "next":
            tiles = [(f"carry[{i}]", -lanes), *((f"in[{w * rows + i}]", w * lanes) for w in range(down))]
            text += "".join(whole(i, before[1] + shift, before, after) for before, after in zip(tiles, tiles[1:]))
            text += f"  carry[{i}] = {tiles[-1][0]};\n"
        else:
            end, line = lanes + rest, shift + lanes if shift <= rest else shift
            text += whole(i, shift, (f"carry[{i}]", 0), (f"in[{i}]", rest)) if shift <= rest else ""
            text += partial(i, line, end - line, (f"in[{i}]", rest))
    types = "".join(_piece(d, width, size, f"piece{size}") for size in sorted(pieces) if size > 1)
    far = d.suffix64[0] if rows * pitch >> 31 else ""
    begin, count = (f"{rest} + ", 1) if part == "last" else ("", down if part == "next" else 1)
    # Narrower vectors go through memory, and all rows are there before the first line is read: a load of what two
    # stores have just written waits for them.
    if part == "next":
        in_memory = (
            f"  {kind} both[{rows}][{1 + down}];\n  for (int i = 0; i < {rows}; ++i) {{\n    both[i][0] = carry[i];\n"
            f"    for (int w = 0; w < {down}; ++w) both[i][1 + w] = in[w * {rows} + i];\n    carry[i] = both[i][{down}];\n  }}\n"
            f"  for (int i = 0; i < {rows}; ++i)\n    for (int w = 0; w < {down}; ++w) {{\n"
            f"      const int shift = {lanes - 1} - ({start + lanes - 1} + i * {pitch % lanes}) % {lanes};\n"
            f"      {d.store_word(True)}(*(const piece *)((const {t} *)(both[i] + w) + shift),"
            f" ({d.pointer}{kind} *)(to + i * {pitch}{far} + (w - 1) * {lanes} + shift));\n    }}\n"
        )
    else:
        held = "carry[i] = in[i]" if part == "first" else f"*({d.pointer}piece *)(to + i * {pitch}{far}) = carry[i]"
        in_memory = (f"  for (int i = 0; i < {rows}; ++i) {{\n    {held};\n"
                     f"    *({d.pointer}piece *)(to + i * {pitch}{far} + {rest if part == 'last' else 0}) = in[i];\n  }}\n")
    in_memory = f"#elif SHUFFLES\n{_piece(d, width, lanes)}{in_memory}"
    return (
        f"{d.inlined or d.function} void {name or f'{part}_u{width}_{lanes}x{rows}'}({_memory(d, '', t, 'to')}, {kind} *carry, const {kind} *in)\n{{\n"
        f"  (void)to, (void)carry;\n#if SHUFFLES >= {width * lanes // 8}\n{types}{text}{in_memory}#else\n"
        f"  for (int i = 0; i < {rows}; ++i)\n    for (int l = 0; l < {count * lanes}; ++l)"
        f" to[i * {pitch}{far} + {begin}l] = ((const {t} *)(in + i + l / {lanes} * {rows}))[l % {lanes}];\n#endif\n}}\n"
    )
