"""From a partition and a schedule to the text of a kernel's bodies: every index is a map that the algebra composes and prints."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

from gen import algebra
from gen.emit import ops, register_tiles
from gen.hlo import CONTRACTIONS, Computation, Instruction, Shape, accumulator, c_identifier, dtypes
from gen.plan import combiner
from gen.plan.buffers import Buffer, buffer_of, buffers_of, memory_map
from gen.plan.partition import (EMPTY, PADS, RUNTIME, Entry, Function, Partition, Read, Region, Root, Runtime, compose,
                                loop_sizes)
from gen.schedule import Schedule
from gen.targets import COMPLEX, NARROW, SMALL, TINY, Target, bits

INDEX_TYPES = ("uint", "int", "long")


class NotWide(Exception):
    """A body whose guards differ between lanes: it has no vector form."""


@dataclass(frozen=True)
class Value:
    """A register: C text, element type, lanes (1: the same for all lanes). bits: an f16 as it is in memory, so that a NaN that is
    only moved keeps its payload; otherwise an f16 is a float. rounded: no, where excess precision is still in it."""

    text: str
    dtype: str
    lanes: int = 1
    bits: bool = False
    rounded: bool = True


def conditions(index: str, box: "Dict[str, Tuple[int, int]]", index_type: str) -> List[str]:
    """What a point of a box must satisfy to lie in a map's domain, as C texts."""
    found = []
    for v in algebra.info(index).variables:
        low, high = box[v.name]
        if v.lo > low and v.lo == v.hi:
            found.append(f"{v.name} == {v.lo}")
            continue
        found += [f"{v.name} >= {v.lo}"] * (v.lo > low) + [f"{v.name} <= {v.hi}"] * (v.hi < high)
    return found + list(algebra.c_text(index, index_type).constraints)


def tested(index: str, box: "Dict[str, Tuple[int, int]]") -> "Set[str]":
    """The variables that those conditions name."""
    return {v.name for v in algebra.info(index).variables if (v.lo, v.hi) != box[v.name]} | {name for c in algebra.guards(index) for name in c.variables}


@dataclass
class Helpers:
    """Small functions and tables that bodies ask for, each once, in an order where callees come first."""

    target: Target
    texts: Dict[str, str] = field(default_factory=dict)
    tables: Dict[str, Tuple[str, str]] = field(default_factory=dict)

    def need(self, name: str, *about: str) -> str:
        title = "_".join((name, *about))
        if title not in self.texts:
            text = ops.helper(self.target, self.need, name, *about)
            self.texts.pop(title, None)
            self.texts[title] = text
        return title

    def tile(self, verb: str, dtype: str, lanes: int, rows: int, index_type: str, piece: int = 16, each: int = 0, ahead: int = 0) -> str:
        """A function of gen/emit/register_tiles.py: load or store. each: lanes that follow one another evenly, where not all do. ahead: elements."""
        d, width = self.target, bits(dtype)
        name = f"{verb}_u{width}_{lanes}x{rows}" + (f"_by{piece}" if piece < lanes * width // 8 else "") + ("" if index_type == "uint" else f"_{index_type}")
        name += (f"_each{each}" if each else "") + (f"_ahead{ahead}" if ahead else "")
        self.vector(f"u{width}", lanes)
        self.texts.setdefault("tiles", register_tiles.PRELUDE)
        if verb == "load" and ahead and piece == 16 and lanes * width == rows * width == 512 and name not in self.texts:
            part = 128 // width
            self.vector(f"u{width}", rows)
            buffered, index = f"{verb}_u{width}_{lanes}x{part}_private", d.index[index_type]
            self.texts[buffered] = register_tiles.load_tile(d, width, lanes, part, index, piece, buffered, private=True)
            self.texts[name] = register_tiles.load_lines(d, width, lanes, index, ahead, name, buffered, part, each)
        if name not in self.texts:
            self.texts[name] = register_tiles.load_tile(d, width, lanes, rows, d.index[index_type], piece, name, each, ahead) if verb == "load" \
                else register_tiles.store_tile(d, width, lanes, rows, d.index[index_type], name, each)
        return name

    def weave(self, width: int, rows: int, inverse: bool) -> str:
        """A function of gen/emit/register_tiles.py."""
        name = f"{'unweave' if inverse else 'weave'}_u{width}_{rows}"
        self.vector(f"u{width}", 512 // width)
        self.texts.setdefault("tiles", register_tiles.PRELUDE)
        if name not in self.texts:
            self.texts[name] = register_tiles.weave(self.target, width, rows, inverse, name)
        return name

    def join(self, dtype: str, lanes: int, parts: int) -> str:
        """A function that makes one register of several."""
        name = f"join_{dtype}_{lanes}x{parts}"
        self.vector(dtype, lanes * parts)
        self.texts.setdefault("tiles", register_tiles.PRELUDE)
        if name not in self.texts:
            self.texts[name] = register_tiles.join(self.target, bits(dtype), lanes, parts, name)
        return name

    def numbers(self, lanes: int) -> str:
        """A function that gives 0, 1, 2, .. in the lanes."""
        d, name = self.target, f"numbers_{lanes}"
        self.texts.setdefault(name, (f"{d.function} {d.register('s32', lanes)} {name}(void)\n{{\n  const int x[{lanes}] = {{"
                                     f"{', '.join(map(str, range(lanes)))}}};\n  return {d.gather('s32', lanes, 'x')};\n}}\n"))
        return name

    def vector(self, dtype: str, lanes: int) -> None:
        """Registers that the language has no name for get one."""
        text = "" if self.target.declares_vectors else register_tiles.typedef(self.target, bits(dtype), lanes)
        if text:
            self.texts = {f"type_{dtype}_{lanes}": text, **self.texts}

    def table(self, instruction: Instruction) -> str:
        """A constant array, elements in the order of its layout."""
        for name, (key, _) in self.tables.items():
            if key == str(id(instruction)):
                return name
        d = self.target
        name = f"c_{c_identifier(instruction.name)}"
        while name in self.tables:
            name += "_"
        literal = instruction.literal or []
        dtype = table_type(instruction)
        items = [f"{pattern}" if dtype in SMALL + TINY else d.parts(pattern, dtype) if dtype in COMPLEX else d.literal(pattern, dtype)
                 for pattern in literal]
        lines, line = [], ""
        for item in items:
            if len(line) + len(item) > 100:
                lines.append(line.rstrip())
                line = ""
            line += item + ", "
        lines.append(line.rstrip(", "))
        body = "\n".join("  " + text for text in lines)
        self.tables[name] = (str(id(instruction)), f"{d.constant} {d.memory(dtype)} {name}[] = {{\n{body}\n}};\n")
        return name


def table_type(constant: Instruction) -> str:
    """The type of a constant's table: its own, of packed integers a byte each; infinities and NaNs are no constant expressions in C, so
    floats among them as bits."""
    dtype = constant.shape.dtype
    if dtype in NARROW:
        return f"{dtype[0]}8"
    if dtype in ("f32", "f64") and any(dtypes.is_nan(x, dtype) or dtypes.is_infinite(x, dtype) for x in constant.literal or []):
        return f"u{bits(dtype)}"
    return dtype


def _row_major(shape: Shape) -> str:
    return f"{shape.dtype}[{','.join(map(str, shape.dims))}]"


def offset(pointer: str, at: str) -> str:
    """pointer + at, where `at` wraps around in its own unsigned type if it subtracts."""
    return f"{pointer} + ({at})" if "-" in at else f"{pointer} + {at}"


def joined(d: Target, pointer: str, at: str) -> str:
    """pointer + at for an access of several elements: nvcc keeps a store of them one where the index is one number."""
    return f"{pointer} + ({at})" if not d.wide and " " in at else offset(pointer, at)


@dataclass
class Text:
    """Lines with an indentation."""

    lines: List[str] = field(default_factory=list)
    depth: int = 0

    def add(self, *lines: str) -> None:
        self.lines += ["  " * self.depth + line for line in lines]

    @contextmanager
    def block(self, head: str) -> "Iterator[None]":
        self.add(f"{head} {{".lstrip())
        self.depth += 1
        yield
        self.depth -= 1
        self.add("}")


class Body:
    """One form of a function's body: the kernel's (through a thread map, scalar or wide), or a scalar function's.

    `before`, `text` and `after` are the loads of whole vectors, the computation of one register, and the stores of whole vectors.
    """

    def __init__(self, dialect: Target, helpers: Helpers, partition: Partition, function: Function, index_type: str,
                 thread: Optional[str] = None, loop: Optional[Schedule] = None, excess: bool = False,
                 box: "Optional[Dict[str, Tuple[int, int]]]" = None) -> None:
        self.d, self.helpers, self.partition, self.function = dialect, helpers, partition, function
        self.index_type, self.thread, self.loop, self.excess = index_type, thread, loop or Schedule(), excess
        self.lanes = self.loop.lanes
        self.moves = self.loop.moves                     # elements are unsigned integers of their width, whatever they mean
        self.before, self.text, self.after = Text(), Text(), Text()
        self.ahead: Dict[str, List[str]] = {}            # prefetches of a step, by pointer
        self.flat: List[Tuple[str, str]] = []            # (what, map): for explain
        self._env: Dict[Tuple[Instruction, Region, str], List[Value]] = {}
        self._loads: Dict[Tuple[str, str, Region], Value] = {}   # buffer, position, where its name is known
        self._given: Dict[Instruction, Value] = {}
        self.staged: Dict[Tuple[str, str], str] = {}     # what is read or written in a tile instead: pointer, position; C text
        # what the partition takes as given: values, or how they are made when they are first wanted
        self.made: "Dict[Instruction, Union[List[Value], Callable[[], List[Value]]]]" = {}
        self._printed: List[str] = []                    # maps that are C text here
        self._tested: Set[str] = set()                   # variables of the conditions here
        self._names: Dict[str, int] = {}
        self._lanes_of: Dict[str, str] = {}              # runtime variables that differ between lanes, as arrays
        self.strip = ""                                  # the variable that counts tiles along the lanes
        self.steady = False                              # runtime variables that are the same for all of a step are bound before it
        self._open: "set[Region]" = set()                # regions of such: read as the body's own are
        self.found: List[str] = []                       # prefetches of a step's lines in these
        self._before_loops: List[int] = []      # the loops that are open: where in the text each begins, and how deep
        self._depths: List[int] = []
        self._held: List[str] = []              # the conditions of their guards
        self.box = box or {f"i{k}": (0, size - 1) for k, size in enumerate(function.dims)}
        self.box.update((name, (0, size - 1)) for name, size in partition.ranges.items())
        self._thread_guards = frozenset(conditions(thread, self.box, index_type)) if thread else frozenset()

    # ---- names, maps ----

    def name(self, of: str, prefix: str = "v_") -> str:
        """A name that nothing else in this body has."""
        base = found = prefix + c_identifier(of)
        count = self._names.get(base, 0)
        while found in self._names:
            count += 1
            found = f"{base}_{count}"
        self._names[base] = count
        self._names.setdefault(found, 0)
        return found

    def mapped(self, index: str) -> str:
        return compose(self.thread, index) if self.thread else index

    def c(self, index: str, **known: int) -> Tuple[str, ...]:
        index = algebra.substitute(index, **known) if known else index
        self._printed.append(index)
        return algebra.c_text(index, self.index_type).results

    def uses(self, variable: str) -> bool:
        """Whether the body's text names a variable of its maps."""
        return variable in self._tested or any(variable in result.variables for index in self._printed for result in algebra.info(index).results)

    def _first(self, index: str) -> str:
        """The one result of a map at lane 0."""
        return self.c(index, lane=0)[0] if self.lanes > 1 else self.c(index)[0]

    def stride(self, index: str, variable: str) -> "Tuple[Optional[int], int]":
        if variable == "lane" and self._by_lane(index):
            return None, 1
        access = algebra.access(index, variable)[0]
        return access.stride, access.align

    def _by_lane(self, index: str) -> "List[str]":
        """The runtime variables of a map that each lane has for itself."""
        return [v.name for v in algebra.info(index).variables if v.name in self._lanes_of] if self._lanes_of else []

    def _own(self, text: str) -> str:
        """Definitions of those that a text for one lane names."""
        t = self.d.index[self.index_type]
        return "".join(f"const {t} {name} = {array}[lane]; " for name, array in self._lanes_of.items() if re.search(rf"\b{name}\b", text))

    def _each_lane(self, count: int, text: str) -> str:
        """A loop over the lanes."""
        own = self._own(text)
        return f"for ({self.d.index[self.index_type]} lane = 0; lane < {count}; ++lane) " + (f"{{ {own}{text} }}" if own else text)

    # ---- values ----

    def type(self, dtype: str, lanes: int = 1, bits: bool = False) -> str:
        return self.d.register("u16" if bits else dtype, lanes)

    def splat(self, value: Value) -> str:
        if value.lanes == self.lanes:
            return value.text
        return self.d.splat("u16" if value.bits else value.dtype, self.lanes, value.text)

    def declare(self, of: str, dtype: str, lanes: int, text: str, bits: bool = False) -> Value:
        name = self.name(of)
        self.text.add(f"const {self.type(dtype, lanes, bits)} {name} = {text};")
        return Value(name, dtype, lanes, bits)

    def real(self, value: Value) -> Value:
        """An f16 as a float."""
        if not value.bits:
            return value
        wide = () if value.lanes == 1 else (str(value.lanes),)
        return Value(f"{self.helpers.need('value', 'f16', *wide)}({value.text})", "f16", value.lanes)   # bits are always rounded

    def settled(self, value: Value, of: str) -> Value:
        """A value with its excess precision rounded away."""
        return value if value.rounded else self.declare(of, value.dtype, value.lanes, self.round(value.text, value.dtype, value.lanes))

    def moved(self, value: Value) -> Value:
        """A value in the form that moves keep: rounded, and an f16 as its bits."""
        value = self.settled(value, "rounded")
        if value.dtype != "f16" or value.bits:
            return value
        wide = () if value.lanes == 1 else (str(value.lanes),)
        return Value(f"{self.helpers.need('bits', 'f16', *wide)}({value.text})", "f16", value.lanes, True)

    def by_lane(self, of: str, dtype: str, text: str, bits: bool = False) -> Value:
        """A wide value whose lanes are each computed by a scalar expression of `lane`."""
        name, lanes, t = self.name(of), self.name(f"{of}_l"), self.type(dtype, 1, bits)
        out = self.text
        out.add(f"{t} {lanes}[{self.lanes}];")
        out.add(self._each_lane(self.lanes, f"{lanes}[lane] = {text};"))
        out.add(f"const {self.type(dtype, self.lanes, bits)} {name} = {self.d.gather('u16' if bits else dtype, self.lanes, lanes)};")
        return Value(name, dtype, self.lanes, bits)

    def round(self, text: str, dtype: str, lanes: int, plain: bool = False) -> str:
        wide = () if lanes == 1 else (str(lanes),)
        return f"{self.helpers.need('round_plain' if plain else 'round', dtype, *wide)}({text})"

    def apply(self, opcode: str, attributes: Dict[str, object], to: str, sources: Sequence[str], x: Sequence[Value], of: str) -> Value:
        """One elementwise op, rounded as its type wants."""
        if opcode == "select" and to == "f16" and any(v.bits for v in x[1:]):
            x, to, sources = [x[0], *(self.moved(v) for v in x[1:])], "u16", [sources[0], "u16", "u16"]
            made = self.apply(opcode, attributes, to, sources, [Value(v.text, s, v.lanes) for v, s in zip(x, sources)], of)
            return Value(made.text, "f16", made.lanes, True)
        if opcode in ("bitcast", "bitcast-convert") and "f16" in (sources[0], to):
            return self._f16_bits(to, self.moved(x[0]), of)
        if opcode == "copy":
            return x[0]
        by_bits = opcode == "compare" and attributes.get("type") == "TOTALORDER"
        x = [self.moved(v) if by_bits else self.real(v) for v in x]
        keeps = all(v.rounded for v in x) and not (self.excess and ops.rounds(opcode, to) and opcode != "convert")
        need, lanes = self.helpers.need, max((v.lanes for v in x), default=1)
        texts = [v.text if lanes == 1 else self.splat(v) for v in x]
        narrows = opcode == "convert" and (sources[0] == "f64" or (sources[0] in SMALL and _holds(to, sources[0])))
        rounding = ops.rounds(opcode, to) and not narrows and not (self.excess and to in SMALL and opcode not in ("convert",))
        text = ops.expression(self.d, need, opcode, attributes, to, sources, texts, lanes)
        if text is None:
            names = [self._lane_array(v) for v in x]
            text = ops.expression(self.d, need, opcode, attributes, to, sources, names, 1)
            assert text is not None, opcode
            made = self.by_lane(of, to, self.round(text, to, 1) if rounding else text)
            return replace(made, rounded=keeps or rounding or to not in SMALL)
        # Such a NaN of bf16 operands has an empty lower half: rounding by addition keeps it a NaN.
        plain = to == "bf16" and lanes > 1 and ops.row(opcode).keeps_nan and set(sources) == {"bf16"} and not self.excess
        made = self.declare(of, to, lanes, self.round(text, to, lanes, plain) if rounding else text)
        return replace(made, rounded=keeps or rounding or to not in SMALL)

    def _f16_bits(self, to: str, x: Value, of: str) -> Value:
        """A bitcast that starts or ends at f16: its bits are at hand."""
        if to == "f16":
            text = x.text if x.dtype == "f16" else self.helpers.need("bits", "bf16") + f"({x.text})" if x.dtype == "bf16" and x.lanes == 1 \
                else f"convert_ushort{x.lanes}(as_uint{x.lanes}({x.text}) >> 16)" if x.dtype == "bf16" \
                else self.d.reinterpret(x.text, x.dtype, "u16", x.lanes)
            return Value(text, "f16", x.lanes, True)
        if to == "bf16":
            text = f"{self.helpers.need('value', 'bf16')}({x.text})" if x.lanes == 1 else f"as_float{x.lanes}(convert_uint{x.lanes}({x.text}) << 16)"
            return self.declare(of, to, x.lanes, text)
        return self.declare(of, to, x.lanes, self.d.reinterpret(x.text, "u16", to, x.lanes))

    def _lane_array(self, value: Value) -> str:
        if value.lanes == 1:
            return value.text
        name = self.name(f"{value.text if value.text.isidentifier() else 't'}_x", "")
        self.text.add(f"{self.type(value.dtype, 1, value.bits)} {name}[{self.lanes}];")
        self.text.add(self.d.scatter("u16" if value.bits else value.dtype, self.lanes, value.text, name))
        return f"{name}[lane]"

    # ---- reads ----

    def read(self, read: Read, region: Region) -> Value:
        source = read.source
        shape = source.shape.leaves()[read.output]
        if source in self._given:
            return self._given[source]
        if source in self.made:
            made = self.made[source]
            if callable(made):
                made = self.made[source] = made()
            return made[read.output]
        if read.map == EMPTY:
            return Value(self.d.literal(0, shape.dtype), shape.dtype)
        buffer = buffer_of(self.partition, read)
        if buffer:
            return self.load(buffer, read.map, region)
        if source.opcode == "constant":
            return self._constant(read, region)
        if source.opcode == "iota":
            return self._iota(read)
        return self._env[source, self.partition.home(read, region), read.map][read.output]

    def _constant(self, read: Read, region: Region) -> Value:
        source = read.source
        literal = source.literal or []
        if len(set(literal)) == 1 and source.shape.dtype == "f16" and dtypes.is_nan(literal[0], "f16"):     # with its payload
            return Value(self.d.literal(literal[0], "u16"), "f16", 1, True)
        if len(set(literal)) == 1:
            return Value(self.d.literal(literal[0], source.shape.dtype), source.shape.dtype)
        index = self.mapped(compose(read.map, algebra.call("shape", "map", _row_major(source.shape))))
        name = self.helpers.table(source)
        dtype = source.shape.dtype
        table = table_type(source)

        def at(index: str) -> str:
            text = self._from_memory(dtype, f"{name}[{index}]")
            return text if table == dtype or dtype in NARROW else self.d.reinterpret(text, table, dtype)
        return self._gather(source.name, dtype, index, at, dtype == "f16")

    def _iota(self, read: Read) -> Value:
        source = read.source
        dtype, dimension = source.shape.dtype, source.attributes["iota_dimension"]
        pick = algebra.call("op", "broadcast", "0", f"out={','.join(map(str, source.shape.dims))}",
                            f"in={source.shape.dims[dimension]}", f"dimensions={dimension}")
        index = self.mapped(compose(read.map, pick))

        def convert(at: str) -> str:
            text = ops.expression(self.d, self.helpers.need, "convert", {}, dtype, ["s64"], [f"({at})"], 1)
            if dtype == "pred":
                text = f"({self.d.register('pred')})(({at}) != 0)"
            return self.round(text, dtype, 1) if dtype in SMALL + TINY else str(text)
        if self.lanes > 1 and dtype in ("s32", "u32") and self.stride(index, "lane")[0] not in (None, 0):
            stride, first = self.stride(index, "lane")[0], self.d.splat(dtype, self.lanes, f"({self.d.types[dtype]})({self._first(index)})")
            lane = self.d.reinterpret(f"{self.helpers.numbers(self.lanes)}()", "s32", dtype, self.lanes) if dtype == "u32" else f"{self.helpers.numbers(self.lanes)}()"
            return self.declare(source.name, dtype, self.lanes, f"{first} + {lane}" + (f" * {self.d.splat(dtype, self.lanes, str(stride))}" if stride != 1 else ""))
        return self._gather(source.name, dtype, index, convert)

    def _gather(self, of: str, dtype: str, index: str, at: "Callable[[str], str]", bits: bool = False) -> Value:
        """A value that each lane finds for itself; once, where all lanes find the same."""
        if self.lanes == 1 or self.stride(index, "lane")[0] == 0:
            return self.declare(of, dtype, 1, at(self._first(index)), bits)
        return self.by_lane(of, dtype, at(self._apart(of, index)), bits)

    def _apart(self, of: str, index: str) -> str:
        """Each lane's position in a loop: what takes it apart (/ and %) is done before the loops, which only add to it."""
        whole = self.c(index)[0]
        steps = {v.name: self.stride(index, v.name)[0] for v in algebra.info(index).variables if v.name in self.partition.ranges}
        met = {name for guard in algebra.guards(index) for name in guard.variables}
        if not self._before_loops or not re.search("[/%]", whole) or met & set(steps) or any(n is None or n < 0 for n in steps.values()) \
                or any(v.lo for v in algebra.info(index).variables if v.name in steps):
            return whole
        name, kept, t = self.name(of, "at_"), self.text, self.d.index[self.index_type]
        self.text = Text([], self._depths[0])
        self.text.add(f"{t} {name}[{self.lanes}];")
        self.text.add(f"for ({t} lane = 0; lane < {self.lanes}; ++lane) {name}[lane] = {self.c(index, **{step: 0 for step in steps})[0]};")
        kept.lines[self._before_loops[0]:self._before_loops[0]] = self.text.lines
        self._before_loops = [begin + len(self.text.lines) for begin in self._before_loops]
        self.text = kept
        return " + ".join([f"{name}[lane]", *(f"{step} * {n}" if n != 1 else step for step, n in steps.items() if n)])

    def _from_memory(self, dtype: str, text: str) -> str:
        """An element as it is in memory to a register; an f16 stays as it is."""
        return f"{self.helpers.need('value', dtype)}({text})" if dtype == "bf16" or dtype in TINY else text

    def _to_memory(self, value: Value) -> str:
        value = self.moved(value)
        return f"{self.helpers.need('bits', value.dtype)}({value.text})" if value.dtype == "bf16" or value.dtype in TINY else value.text

    def load(self, buffer: Buffer, index: str, region: Region) -> Value:
        flat = self.mapped(compose(index, memory_map(buffer.shape)))
        scope: Optional[Region] = region
        while scope is not None:
            if (buffer.pointer, flat, scope) in self._loads:
                return self._loads[buffer.pointer, flat, scope]
            scope = scope.parent
        value = self.load_flat(buffer, flat, region)
        self._loads[buffer.pointer, flat, region] = value   # a name of this region's text, and of those inside
        return value

    def load_flat(self, parameter: Buffer, flat: str, region: Region) -> Value:
        dtype, pointer = self.stored(parameter.shape.dtype), parameter.pointer
        self.flat.append((f"read {pointer}", flat))
        step = self.loop.step
        if dtype in dtypes.PACKED:
            load = self.helpers.need("packed_load", dtype, self.index_type)
            return self._gather(parameter.name, dtype, flat, lambda at: f"{load}({pointer}, {at})")
        if (pointer, flat) in self.staged:
            return self.declare(parameter.name, dtype, 1, self._from_memory(dtype, self.staged[pointer, flat]), dtype == "f16")
        if self.lanes == 1:
            if step > 1 and self.open(region) and self.stride(flat, "vec")[0] == 1:
                pack = self._load_pack(parameter, flat)
                if pack:
                    return self.declare(parameter.name, dtype, 1, self._from_memory(dtype, f"{pack}[vec]"), dtype == "f16")
            elif step > 1 and self.open(region) and self._rows_of_words(flat, dtype):
                name = self.name(pointer, "w_")
                self.before.add(*(f"{word} = {memory};" for word, memory in self._row_words(pointer, flat, dtype, name, "const ")))
                return self.declare(parameter.name, dtype, 1, self._from_memory(dtype, f"{name}.at[{self._in_rows()}]"), dtype == "f16")
            return self.declare(parameter.name, dtype, 1, self._from_memory(dtype, f"{pointer}[{self.c(flat)[0]}]"), dtype == "f16")
        stride, align = self.stride(flat, "lane")
        if self.turned(flat, region):
            return self._load_tile(parameter, pointer, dtype, flat)
        if self._in_words(dtype, stride) and self.open(region):
            start = algebra.substitute(flat, lane=0)
            if self.stride(start, "vec")[0] == 1 and self.stride(start, "vec")[1] % self.loop.woven == 0:
                words, n = self.name(pointer, "w_"), self.lanes
                if region is self.function.body:
                    self._prefetch(pointer, self.c(flat, **self._start)[0], dtype)
                found = [self._words(pointer, flat, down) for down in range(self.down)]
                self.before.add(f"const uint{n} {words} = {found[0]};" if self.down == 1 else f"const uint{n} {words}[{self.down}] = {{{', '.join(found)}}};")
                word = words if self.down == 1 else f"{words}[down]"
                if dtype == "bf16":
                    return self.declare(parameter.name, dtype, n, f"as_float{n}({word} << (16u - {self._part(16)}) & 0xffff0000u)")
                width = bits(dtype)
                text = f"convert_ushort{n}({word} >> {self._part(width)})"
                text = f"convert_uchar{n}({text})" if width == 8 else text      # in steps: gcc knows these
                return self.declare(parameter.name, dtype, n, text if dtype in ("pred", "f16", f"u{width}") else self.d.reinterpret(text, f"u{width}", dtype, n), dtype == "f16")
        if stride == self.loop.unit and dtype not in TINY and align % self.loop.unit == 0:
            at = self._element(pointer, dtype, self._first(flat), "const ")
            if region is self.function.body:
                self._prefetch(pointer, self.c(flat, **self._start)[0], dtype)
            elif self.loop.later and region in self._open:
                size = bits(dtype) // 8
                together = step if self.loop.vec == 1 or self.stride(algebra.substitute(flat, lane=0), "vec")[0] == self.lanes else self.lanes
                for k in range(step // together):
                    first = offset(pointer, self.c(flat, **{**self._start, "vec": k})[0])
                    self.found += [self.d.ahead("FAR", first, line, size) for line in range(0, together * size, 64)]
            return self.declare(parameter.name, dtype, self.lanes, self._wide_load(dtype, at, align % (self.lanes * self.loop.unit) == 0), dtype == "f16")
        if self.loop.unit > 1:
            raise NotWide
        return self._gather(parameter.name, dtype, flat, lambda at: self._from_memory(dtype, f"{pointer}[{at}]"), dtype == "f16")

    def stored(self, dtype: str) -> str:
        """The type of an element in this body: its own, or its bits."""
        return f"u{bits(dtype) * self.loop.unit}" if self.moves else dtype

    def _element(self, pointer: str, dtype: str, at: str, constant: str = "") -> str:
        """Where an element is; of the type as which it is moved."""
        return f"({constant}{self.d.pointer}{self.d.types[dtype]} *)({offset(pointer, at)})" if self.moves else offset(pointer, at)

    def turned(self, flat: str, region: Region) -> bool:
        """Whether an access of a tile is contiguous along the tile's rows, not along its lanes."""
        if not self.loop.tile or not self.open(region):
            return False
        return self.pitch(flat) is not None and self.stride(flat, "vec")[0] == self.loop.unit

    def pitch(self, flat: str) -> "Optional[Tuple[int, ...]]":
        """What a tile's lanes are apart in memory, where they are not neighbours: one stride, or that of `each` lanes, that from one such
        part to the next, and `each`."""
        unit, (stride, align) = self.loop.unit, self.stride(flat, "lane")
        if stride is not None and align % unit:
            raise NotWide
        if stride is not None:
            return (stride // unit,) if stride > unit and stride % unit == 0 else None
        each = 2
        while each < self.lanes:
            (low, align), (high, _) = self._split(flat, "lane", each)
            if low is not None and high is not None and low > 0 and high > 0 and not (low % unit or high % unit or align % unit):
                return low // unit, high // unit, each
            each *= 2
        return None

    def _split(self, flat: str, name: str, each: int) -> "Tuple[Tuple[Optional[int], int], Tuple[Optional[int], int]]":
        """How a map moves along a variable taken modulo `each`, and along what is left of it."""
        variables, size = algebra.info(flat).variables, self.box[name][1] + 1
        others = [v for v in variables if v.name != name]
        domain = [f"{v.name} in [{v.lo}, {v.hi}]" for v in others] + [f"low in [0, {each - 1}]", f"high in [0, {size // each - 1}]"]
        split = ", ".join(f"low + high * {each}" if v.name == name else v.name for v in variables)
        whole = algebra.rename(algebra.call("map", "dims", flat), *(f"x{k}" for k in range(len(variables))))
        found = compose(algebra.simplify(f"({', '.join([*(v.name for v in others), 'low', 'high'])}) -> ({split}), domain: {', '.join(domain)}"), whole)
        return self.stride(found, "low"), self.stride(found, "high")

    def _rows_of_words(self, flat: str, dtype: str) -> bool:
        """Whether a woven step of single elements is, row by row, 16 bytes side by side."""
        n, size = self.loop.weave, bits(dtype) // 8
        if n == 1 or self.loop.step * size % (16 * n):
            return False
        (low, _), (high, align) = self._split(flat, "vec", n)
        return low is not None and high == 1 and align * size % 16 == 0

    def _in_rows(self) -> str:
        """A woven step's element among its rows'."""
        n = self.loop.weave
        return f"vec % {n} * {self.loop.step // n} + vec / {n}"

    def _row_words(self, pointer: str, flat: str, dtype: str, name: str, constant: str) -> "List[Tuple[str, str]]":
        """The words of a woven step, as held (declared here) and in memory."""
        n, each = self.loop.weave, self.loop.step * bits(dtype) // 8 // 16 // self.loop.weave
        self.before.add(f"union {{ uint4 word[{n * each}]; {self.d.memory(dtype)} at[{self.loop.step}]; }} {name};")
        return [(f"{name}.word[{row * each + k}]", f"*(({constant}{self.d.pointer}uint4 *)({joined(self.d, pointer, self.c(flat, vec=row)[0])})" + (f" + {k})" if k else ")"))
                for row in range(n) for k in range(each)]

    def _load_tile(self, parameter: Buffer, pointer: str, dtype: str, flat: str) -> Value:
        """A transposed part of the tile: loaded along its rows, turned in registers."""
        n, rows, width, pitch = self.lanes, self.loop.vec, f"u{bits(dtype)}", self.pitch(flat) or ()
        name = self.name(pointer, "w_")
        load = self.helpers.tile("load", dtype, n, rows, self.index_type, self.loop.piece, (*pitch[2:], 0)[0], self._soon(flat, bits(dtype) // 8, pitch[0]))
        self.before.add(f"{self.d.register(width, n)} {name}[{rows * self.down}];")
        for down, at in enumerate(self._tiles(pointer, flat)):
            self.before.add(f"{load}({offset(name, str(down * rows)) if down else name}, (const {self.d.pointer}{self.d.types[width]} *)({at}), "
                            f"{', '.join(map(str, pitch[:2]))});")
        text = f"{name}[{self._in_tile}]"
        if dtype == "bf16":
            text = f"as_float{n}(convert_uint{n}({text}) << 16)"
        elif dtype not in ("f16", "pred", width):
            text = self.d.reinterpret(text, width, dtype, n)
        return self.declare(parameter.name, dtype, n, text, dtype == "f16")

    def _soon(self, flat: str, size: int, pitch: int) -> int:
        """Elements ahead that a tile's rows ask for: soon in each row, or in one page what the next tile along the lanes reads. 0: nothing."""
        if pitch * size >= self.loop.page or not self.loop.soon:
            return self.loop.soon // size
        return (self.stride(flat, self.strip)[0] or 0) // self.loop.unit

    def _store_tile(self, pointer: str, dtype: str, text: str, flat: str) -> None:
        """A result in the tile's other order: turned back in registers."""
        n, rows, width, pitch = self.lanes, self.loop.vec, f"u{bits(dtype)}", self.pitch(flat) or ()
        name, store = self.name(pointer, "w_"), self.helpers.tile("store", dtype, n, rows, self.index_type, 16, *pitch[2:])
        self.before.add(f"{self.d.register(width, n)} {name}[{rows * self.down}];")
        self.text.add(f"{name}[{self._in_tile}] = {text if dtype in ('bf16', 'f16', 'pred', width) else self.d.reinterpret(text, dtype, width, n)};")
        for down, at in enumerate(self._tiles(pointer, flat)):
            self.after.add(f"{store}(({self.d.pointer}{self.d.types[width]} *)({at}), {', '.join(map(str, pitch[:2]))}, "
                           f"{offset(name, str(down * rows)) if down else name});")

    @property
    def down(self) -> int:
        """Tiles side by side along the lanes."""
        return self.box["down"][1] + 1 if "down" in self.box else 1

    @property
    def _in_tile(self) -> str:
        """A step's register among those of all tiles."""
        return f"down * {self.loop.vec} + vec" if self.down > 1 else "vec"

    def _tiles(self, pointer: str, flat: str) -> List[str]:
        """Where each tile begins."""
        return [offset(pointer, self.c(flat, lane=0, vec=0, **({"down": down} if self.down > 1 else {}))[0]) for down in range(self.down)]

    def _in_words(self, dtype: str, stride: "Optional[int]") -> bool:
        """Whether a woven step's elements are words of as many."""
        return self.loop.woven > 1 and stride == self.loop.woven and bits(dtype) * self.loop.woven == 32

    def _part(self, width: int) -> str:
        """Where a register's elements are in a woven step's words: bits."""
        return f"{width}u * " + ("vec" if self.index_type == "uint" else f"({self.d.types['u32']})vec")

    @property
    def _start(self) -> "Dict[str, int]":
        """The variables of a step at its first element."""
        return {"lane": 0, "vec": 0, **({"down": 0} if self.down > 1 else {}), **({"abreast": 0} if self.loop.abreast > 1 else {})}

    def _words(self, pointer: str, flat: str, down: int = 0) -> str:
        """All registers' elements of a woven step at once."""
        at = offset(pointer, self.c(flat, **{**self._start, **({"down": down} if self.down > 1 else {})})[0])
        align = self.stride(algebra.substitute(flat, lane=0), "vec")[1]
        if align % (self.loop.woven * self.lanes) == 0:
            return f"*(const {self.d.pointer}uint{self.lanes} *)({at})"
        return self._load_anywhere("u32", f"(const {self.d.pointer}{self.d.types['u32']} *)({at})")

    def _load_anywhere(self, dtype: str, at: str) -> str:
        """A whole vector as it is in memory, from any element."""
        if self.d.loads_anywhere:
            return self.d.gather("u16" if dtype in SMALL else dtype, self.lanes, at)
        return f"{self.helpers.need('load', dtype, str(self.lanes))}({at})"

    def _prefetch(self, pointer: str, at: str, dtype: str, elements: int = 0) -> None:
        """Lines of a later step (elements: of so many, not all): far ones to the second level, near ones to the first."""
        size = bits(dtype) // 8
        for word, distance in self.loop.asks():
            if distance:
                lines = range(0, max(64, (elements or self.loop.step) * size), 64)
                self.ahead[f"{word} {pointer} {at}"] = [self.d.ahead(word, offset(pointer, at), distance + line, size) for line in lines]

    def _wide_load(self, dtype: str, at: str, aligned: bool) -> str:
        """A whole vector: PoCL's vloadn goes piece by piece, so it is not used where a pointer says the same."""
        n, t = self.lanes, self.d.memory(dtype, self.lanes)
        text = f"*(const {self.d.pointer}{t} *)({at})" if aligned else self._load_anywhere(dtype, at)
        return f"as_float{n}(convert_uint{n}({text}) << 16)" if dtype == "bf16" else text

    def _load_pack(self, parameter: Buffer, flat: str) -> str:
        """A step's elements as aligned words in a union, loaded before the loop over vec; the name of its elements."""
        dtype, pointer = parameter.shape.dtype, parameter.pointer
        word = self._word(flat, dtype)
        if word is None:
            return ""
        kind, size = word
        name = self.name(pointer, "w_")
        count = self.loop.step * bits(dtype) // 8 // size
        at = self.c(flat, vec=0)[0]
        self.before.add(f"union {{ {kind} word[{count}]; {self.d.memory(dtype)} at[{self.loop.step}]; }} {name};")
        space = f"const {self.d.pointer}"
        for k in range(count):
            further = f" + {k}" if k else ""
            self.before.add(f"{name}.word[{k}] = *(({space}{kind} *)({joined(self.d, pointer, at)}){further});")
        return f"{name}.at"

    def _word(self, flat: str, dtype: str) -> "Optional[Tuple[str, int]]":
        """The widest word, at most 16 bytes, whose alignment the map proves for a step's elements."""
        align = self.stride(flat, "vec")[1]
        size, total = 16, self.loop.step * bits(dtype) // 8
        while size > bits(dtype) // 8 and (total % size or align * (bits(dtype) // 8) % size):
            size //= 2
        if size <= bits(dtype) // 8 or not self.d.words:
            return None
        kinds = {16: "uint4", 8: "uint2", 4: self.d.types["u32"], 2: self.d.types["u16"]}
        return kinds[size], size

    def give(self, parameter: Instruction, value: Value) -> None:
        """A parameter's element that is at hand, whatever the index."""
        self._given[parameter] = self.declare(parameter.name, value.dtype, 1, value.text, value.bits)

    # ---- stores ----

    def _result(self, root: Root) -> Value:
        return self.settled(self.read(self.partition.root_read(root), self.function.body), root.pointer)

    def final(self, root: Root) -> str:
        """A root's value as it is stored."""
        return self._to_memory(self._result(root))

    def _store_woven(self, root: Root) -> None:
        """A woven step that only moves: whole lines of words, and as much of each row, turned in registers."""
        read, n, dtype = self.partition.root_read(root), self.loop.woven, self.stored(root.shape.dtype)
        buffer, whole = buffer_of(self.partition, read), 512 // bits(root.shape.dtype)
        assert buffer is not None
        sides = [(pointer, self.mapped(compose(index, memory_map(shape)))) for pointer, index, shape in
                 ((buffer.pointer, read.map, buffer.shape), (root.pointer, root.map, root.shape))]
        self.flat += [(f"{what} {pointer}", flat) for what, (pointer, flat) in zip(("read", "write"), sides)]
        words = [self.stride(flat, "lane")[0] == n for _, flat in sides]
        kind, names = self.d.register(dtype, whole), [self.name(pointer, "w_") for pointer, _ in sides]
        self.before.add(*(f"{kind} {name}[{n * self.loop.abreast}];" for name in names))
        lines = []
        for (pointer, flat), in_words in zip(sides, words):
            stride, align = self.stride(algebra.substitute(flat, lane=0, **{"vec" if in_words else "down": 0}), "down" if in_words else "vec")
            if words[0] == words[1] or stride is None or stride % whole or align % whole:
                raise NotWide
            steps = [{"down" if in_words else "vec": k, **({"abreast": i} if self.loop.abreast > 1 else {})} for i in range(self.loop.abreast) for k in range(n)]
            at = [self._element(pointer, dtype, self.c(flat, **{**self._start, **step})[0]) for step in steps]
            found = [text.replace(f"({self.d.pointer}{self.d.types[dtype]} *)", f"({self.d.pointer}{kind} *)", 1) for text in at]
            order = range(len(at)) if in_words else sorted(range(len(at)), key=lambda number: number % n)     # row by row
            lines.append([(number, found[number]) for number in order])
        pointer, flat = sides[0]
        if words[0]:
            self._prefetch(pointer, self.c(flat, **self._start)[0], dtype)
        elif self.loop.burst:
            for k in range(n):
                self._prefetch(pointer, self.c(flat, **{**self._start, "vec": k})[0], dtype, self.loop.step // n)
        elif self.loop.lead:    # as many lines have been read as positions were walked
            walked = self.loop.thread_map(root.shape.elements)
            for k in range(n):
                at = self.c(walked, **{**self._start, "down": k})[0]
                self.before.add(self.d.ahead("FAR", offset(pointer, at), self.loop.lead, bits(dtype) // 8))
        self.before.add(*(f"{names[0]}[{number}] = *{text};" for number, text in lines[0]))
        for number in range(0, n * self.loop.abreast, n):
            to, of = (offset(name, str(number)) if number else name for name in reversed(names))
            self.before.add(f"{self.helpers.weave(bits(dtype), n, words[0])}({to}, {of});")
        self.after.add(*(f"{self.d.store_word(self.loop.stream)}({names[1]}[{number}], {text});" for number, text in lines[1]))

    def store(self, root: Root) -> None:
        if self.moves and self.loop.woven > 1:
            self._store_woven(root)
            return
        value = self._result(root)
        pointer, dtype = root.pointer, self.stored(root.shape.dtype)
        flat = self.mapped(compose(root.at or root.map, memory_map(root.shape)))
        self.flat.append((f"write {pointer}", flat))
        step = self.loop.step
        if dtype in dtypes.PACKED:
            self._store_packed(value, pointer, dtype, flat)
            return
        if (pointer, flat) in self.staged:
            self.text.add(f"{self.staged[pointer, flat]} = {self._to_memory(value)};")
            return
        if self.lanes == 1:
            word = self._word(flat, dtype) if step > 1 and self.stride(flat, "vec")[0] == 1 else None
            if word is None and step > 1 and self._rows_of_words(flat, dtype):
                name = self.name(pointer, "w_")
                self.text.add(f"{name}.at[{self._in_rows()}] = {self._to_memory(value)};")
                self.after.add(*(f"{memory} = {word};" for word, memory in self._row_words(pointer, flat, dtype, name, "")))
                return
            if word is None:
                self.text.add(f"{pointer}[{self.c(flat)[0]}] = {self._to_memory(value)};")
                return
            kind, size = word
            name = self.name(pointer, "w_")
            count = step * bits(dtype) // 8 // size
            self.before.add(f"union {{ {kind} word[{count}]; {self.d.memory(dtype)} at[{step}]; }} {name};")
            self.text.add(f"{name}.at[vec] = {self._to_memory(value)};")
            at = self.c(flat, vec=0)[0]
            space = self.d.pointer
            for k in range(count):
                further = f" + {k}" if k else ""
                self.after.add(f"*(({space}{kind} *)({joined(self.d, pointer, at)}){further}) = {name}.word[{k}];")
            return
        self.store_wide(value, pointer, dtype, flat)

    def _store_packed(self, value: Value, pointer: str, dtype: str, flat: str) -> None:
        """Several elements to a byte: a whole step writes its bytes; one that the end cuts, element by element."""
        per, step, text = dtypes.per_byte(dtype), self.loop.step, self._to_memory(value)
        stride, align = self.stride(flat, "vec") if self.box.get("vec", (0, 0)) != (0, 0) else (1, per)
        if self.lanes > 1 or stride != 1 or (step > 1 and (step % per or align % per)):
            raise NotWide
        u8 = self.d.types["u8"]
        if step == 1:
            self.text.add(f"{self.helpers.need('packed_store', dtype, self.index_type)}({pointer}, {self.c(flat)[0]}, ({u8}){text});")
            return
        name, width, at = self.name(pointer, "w_"), dtypes.TABLE[dtype].bits, self.c(flat, vec=0)[0]
        self.before.add(f"{u8} {name}[{step // per}] = {{0}};")
        self.text.add(f"{name}[vec / {per}] = ({u8})({name}[vec / {per}] | (({u8}){text} & {(1 << width) - 1}) << vec % {per} * {width});")
        self.after.add(*(f"{pointer}[({at}) / {per}{f' + {k}' if k else ''}] = {name}[{k}];" for k in range(step // per)))

    def store_wide(self, value: Value, pointer: str, dtype: str, flat: str) -> None:
        stride, _ = self.stride(flat, "lane")
        value = self.moved(value)
        n, text = self.lanes, self.splat(value)
        stream = self.loop.stream
        if self._in_words(dtype, stride) and self.down == 1:
            start, width = algebra.substitute(flat, lane=0), bits(dtype)
            if self.stride(start, "vec")[0] == 1 and self.stride(start, "vec")[1] % (self.loop.woven * n) == 0:
                name = self.name(pointer, "w_")
                self.before.add(f"uint{n} {name} = {self.d.zero(n)};")
                if dtype == "bf16":
                    self.text.add(f"{name} |= as_uint{n}({text}) >> (16u - {self._part(16)});")
                else:
                    text = text if dtype in ("pred", "f16", f"u{width}") else self.d.reinterpret(text, dtype, f"u{width}", n)
                    text = f"convert_ushort{n}({text})" if width == 8 else text
                    self.text.add(f"{name} |= convert_uint{n}({text}) << {self._part(width)};")
                self.after.add(f"{self.d.store_word(stream)}({name}, ({self.d.pointer}uint{n} *)({offset(pointer, self.c(flat, lane=0, vec=0)[0])}));")
                return
        if self.turned(flat, self.function.body):
            self._store_tile(pointer, dtype, f"convert_ushort{n}(as_uint{n}({text}) >> 16)" if dtype == "bf16" else text, flat)
            return
        if stride == self.loop.unit and dtype not in TINY and self.stride(flat, "lane")[1] % self.loop.unit == 0:
            at = self._element(pointer, dtype, self._first(flat))
            align = self.stride(flat, "lane")[1] // self.loop.unit
            t = self.d.memory(dtype, n)
            text = f"convert_ushort{n}(as_uint{n}({text}) >> 16)" if dtype == "bf16" else text
            if self.down > 1 and not self.loop.tile and n * self.down * bits(dtype) == 512 \
                    and self.stride(algebra.substitute(flat, down=0), "lane")[1] % (n * self.down) == 0:
                self._store_joined(pointer, dtype, text, flat)
                return
            if align % n == 0:
                self.text.add(f"{self.d.store_word(stream)}({text}, ({self.d.pointer}{t} *)({at}));")
            elif self.d.loads_anywhere:
                self.text.add(self.d.scatter("u16" if dtype in SMALL else dtype, n, text, at))
            else:
                self.text.add(f"{self.helpers.need('store', dtype, str(n))}({text}, {at});")
            return
        if self.loop.unit > 1:
            raise NotWide
        wide = self.declare(pointer, dtype, n, text, value.bits)
        lane = Value(self._lane_array(wide), dtype, 1, value.bits)
        self.text.add(f"for ({self.d.index[self.index_type]} lane = 0; lane < {n}; ++lane) {pointer}[{self.c(flat)[0]}] = {self._to_memory(lane)};")

    def _store_joined(self, pointer: str, dtype: str, text: str, flat: str) -> None:
        """A step's registers that are side by side in memory, as whole lines."""
        n, down, vec, width = self.lanes, self.down, self.loop.vec, f"u{bits(dtype)}"
        name, join, whole = self.name(pointer, "w_"), self.helpers.join(width, n, down), self.d.register(width, n * down)
        self.before.add(f"{self.d.register(width, n)} {name}[{vec * down}];")
        self.text.add(f"{name}[vec * {down} + down] = {text if dtype in ('bf16', 'f16', 'pred', width) else self.d.reinterpret(text, dtype, width, n)};")
        for k in range(vec):
            at = offset(pointer, self.c(flat, lane=0, vec=k, down=0)[0])
            self.after.add(f"{self.d.store_word(self.loop.stream)}({join}({offset(name, str(k * down)) if k else name}), ({self.d.pointer}{whole} *)({at}));")

    # ---- regions ----

    def region(self, region: Region) -> None:
        for entry in region.entries:
            self._env[entry.instruction, region, entry.map] = self._entry(entry)

    def _entry(self, entry: Entry) -> List[Value]:
        instruction = entry.instruction
        opcode = instruction.opcode
        if entry.callee is not None:
            return self._call(entry)
        if opcode in ("reduce", "reduce-window"):
            return self._reduce(entry)
        if opcode in CONTRACTIONS:
            return [self._product(entry)]
        if opcode == "select-and-scatter":
            return [self._select_and_scatter(entry)]
        if opcode in PADS:
            return [self._pad(entry)]
        if opcode == "concatenate":
            return [self._concatenate(entry)]
        if opcode == "dynamic-update-slice":
            return [self._update(entry)]
        if opcode in RUNTIME:
            if self.bind(entry.regions[0].runtimes, entry.region):
                self._open.add(entry.regions[0])
            self.region(entry.regions[0])
            return [self.read(self.partition.operand(entry, 0, entry.regions[0]), entry.regions[0])]
        x = [self.read(self.partition.operand(entry, k), entry.region) for k in range(len(instruction.operands))]
        if opcode == "map":
            return self.scalar(instruction.called[0], x)
        return [self.apply(opcode, instruction.attributes, instruction.shape.dtype, [o.shape.dtype for o in instruction.operands], x,
                           instruction.name)]

    def scalar(self, computation: Computation, arguments: Sequence[Value]) -> List[Value]:
        """The scalar computation of a reduce or a map on registers."""
        env: Dict[Instruction, List[Value]] = {}
        for instruction in computation.instructions:
            opcode = instruction.opcode
            x = [env[o] for o in instruction.operands]
            if opcode == "parameter":
                env[instruction] = [arguments[instruction.parameter_number or 0]]
            elif opcode == "constant":
                env[instruction] = [Value(self.d.literal((instruction.literal or [0])[0], instruction.shape.dtype), instruction.shape.dtype)]
            elif opcode == "tuple":
                env[instruction] = [v for values in x for v in values]
            elif opcode == "get-tuple-element":
                env[instruction] = [x[0][instruction.attributes["index"]]]
            else:
                env[instruction] = [self.apply(opcode, instruction.attributes, instruction.shape.dtype,
                                               [o.shape.dtype for o in instruction.operands], [v[0] for v in x], instruction.name)]
        assert computation.root is not None
        return env[computation.root]

    def _call(self, entry: Entry) -> List[Value]:
        assert entry.callee is not None
        instruction = entry.instruction
        shape = instruction.shape.leaves()
        index = self.mapped(entry.map)
        pointers = "".join(f"{p}, " for p in self.arguments(entry.callee))
        same = self.lanes == 1 or (not self._by_lane(index) and all(a.stride == 0 for a in algebra.access(index, "lane")))
        results = self.c(index, lane=0) if same and self.lanes > 1 else self.c(index)
        call = f"{entry.callee.name}({(pointers + ', '.join(results)).rstrip(', ')}"
        if len(shape) > 1:
            return self._call_many(entry, call, same)
        call += ")"
        half = shape[0].dtype == "f16"
        if same:
            return [self.declare(instruction.name, shape[0].dtype, 1, call, half)]
        return [self.by_lane(instruction.name, shape[0].dtype, call, half)]

    def _call_many(self, entry: Entry, call: str, same: bool) -> List[Value]:
        """A function of several outputs writes them through pointers."""
        leaves = entry.instruction.shape.leaves()
        names = [self.name(f"{entry.instruction.name}_l") for _ in leaves]
        count = 1 if same else self.lanes
        for name, leaf in zip(names, leaves):
            self.text.add(f"{self.type(leaf.dtype, 1, leaf.dtype == 'f16')} {name}[{count}];")
        separator = "" if call.endswith("(") else ", "
        if same:
            self.text.add(f"{call}{separator}{', '.join(f'{name}' for name in names)});")
            return [Value(f"{name}[0]", leaf.dtype, 1, leaf.dtype == "f16") for name, leaf in zip(names, leaves)]
        outputs = ", ".join(f"{name} + lane" for name in names)
        self.text.add(self._each_lane(count, f"{call}{separator}{outputs});"))
        return [self.declare(entry.instruction.name, leaf.dtype, count, self.d.gather("u16" if leaf.dtype == "f16" else leaf.dtype, count, name), leaf.dtype == "f16") for name, leaf in zip(names, leaves)]

    def arguments(self, function: Function) -> List[str]:
        """The pointers that a function and those it calls read."""
        return list(buffers_of(self.partition, function))

    def condition(self, region: Region) -> "Optional[str]":
        """When a guarded region runs: C text, "" for always, None for never."""
        found = self._conditions(region)
        return None if found is None else " && ".join(found)

    def _conditions(self, region: Region) -> "Optional[List[str]]":
        if region.map == EMPTY:
            return None
        index = self.mapped(region.map)
        if index == EMPTY:
            return None
        if self.lanes > 1:
            if self._by_lane(index):
                raise NotWide
            lane = next(v for v in algebra.info(index).variables if v.name == "lane")
            if (lane.lo, lane.hi) != self.box["lane"] or any("lane" in g.variables for g in algebra.guards(index)
                                                             if not self._of_thread(g)):
                raise NotWide
            index = algebra.substitute(index, lane=0)
        self._tested |= tested(index, self.box)
        return [c for c in conditions(index, self.box, self.index_type) if c not in self._thread_guards and c not in self._held]

    def _of_thread(self, guard: algebra.Guard) -> bool:
        return self.thread is not None and guard in algebra.guards(self.thread)

    def _guarded(self, entry: Entry, operand: int, region: Region, name: str, dtype: str) -> None:
        self.region(region)
        value = self.moved(self.read(self.partition.operand(entry, operand, region), region))
        self.text.add(f"{name} = {value.text if self.lanes == 1 else self.splat(value)};")

    def _pad(self, entry: Entry) -> Value:
        instruction, region = entry.instruction, entry.regions[0]
        dtype = instruction.shape.dtype
        padding = self.moved(self.read(self.partition.operand(entry, 1), entry.region))
        condition = self.condition(region)
        if condition is None:
            return padding
        name = self.name(instruction.name)
        half = dtype == "f16"
        self.text.add(f"{self.type(dtype, self.lanes, half)} {name} = {padding.text if self.lanes == 1 else self.splat(padding)};")
        with self.text.block(f"if ({condition})" if condition else ""):
            self._guarded(entry, 0, region, name, dtype)
        return Value(name, dtype, self.lanes, half)

    def open(self, region: Region) -> bool:
        """Whether what a region reads can be read before a step's loops."""
        return region is self.function.body or region in self._open

    def _is_steady(self, runtime: Runtime) -> bool:
        """Whether a runtime variable is read from memory, at one place for all of a step."""
        buffer = buffer_of(self.partition, runtime.read)
        flat = self.mapped(compose(runtime.read.map, memory_map(buffer.shape))) if buffer else EMPTY
        return flat != EMPTY and not {"vec", "lane", "down", "row"} & set(algebra.info(flat).results[0].variables)

    def bind(self, runtimes: "Sequence[Runtime]", where: Region) -> bool:
        """Runtime variables: indices as they are read, brought into their bounds in their own type. Whether that is done before the step."""
        steady = self.steady and self.open(where) and all(self._is_steady(one) for one in runtimes)
        if steady:
            text, loads = self.text, self._loads
            self.text, self._loads = self.before, {}     # what the step has loaded is not there yet
        self._bind(runtimes, where)
        if steady:
            self.text, self._loads = text, {**self._loads, **loads}
        return steady

    def _bind(self, runtimes: "Sequence[Runtime]", where: Region) -> None:
        for runtime in runtimes:
            value = self.read(runtime.read, where)
            x, t, kind = self._lane_array(value), self.d.index[self.index_type], dtypes.TABLE[value.dtype]
            low = f"{x} < 0 ? 0 : " if kind.kind == "sint" else ""
            last = str(runtime.last) if runtime.last < 1 << 31 else self.d.literal(runtime.last, value.dtype)
            high = f"{x} > {last} ? {last} : " if runtime.last < 1 << (kind.bits - (kind.kind == "sint")) else ""
            clamped = f"({t})({low}{high}{x})"
            if value.lanes == 1:
                self.text.add(f"const {t} {runtime.name} = {clamped};")
            else:
                name = self._lanes_of[runtime.name] = self.name(f"{runtime.name}_l", "")
                self.text.add(f"{t} {name}[{self.lanes}];", f"for ({t} lane = 0; lane < {self.lanes}; ++lane) {name}[lane] = {clamped};")

    def _update(self, entry: Entry) -> Value:
        """dynamic-update-slice: the operand, or the update where it lies."""
        instruction, region = entry.instruction, entry.regions[0]
        dtype = instruction.shape.dtype
        kept = self.moved(self.read(self.partition.operand(entry, 0), entry.region))
        if region.map == EMPTY:
            return kept
        self.bind(region.runtimes, entry.region)
        condition = self.condition(region)
        if condition is None:
            return kept
        name, half = self.name(instruction.name), dtype == "f16"
        self.text.add(f"{self.type(dtype, self.lanes, half)} {name} = {kept.text if self.lanes == 1 else self.splat(kept)};")
        with self.text.block(f"if ({condition})" if condition else ""):
            self._guarded(entry, 1, region, name, dtype)
        return Value(name, dtype, self.lanes, half)

    def _concatenate(self, entry: Entry) -> Value:
        instruction = entry.instruction
        dtype = instruction.shape.dtype
        name = self.name(instruction.name)
        sides = [(k, region, self.condition(region)) for k, region in enumerate(entry.regions)]
        sides = [side for side in sides if side[2] is not None]
        always = [side for side in sides if not side[2]]
        sides = always[:1] or sides     # a side that always holds leaves the others nothing
        half = dtype == "f16"
        self.text.add(f"{self.type(dtype, self.lanes, half)} {name}{' = ' + self.d.zero(self.lanes) if not sides else ''};")
        for number, (operand, region, condition) in enumerate(sides):
            head = "else " if number else ""
            head += "" if number == len(sides) - 1 else f"if ({condition})"
            with self.text.block(head.strip()):
                self._guarded(entry, operand, region, name, dtype)
        return Value(name, dtype, self.lanes, half)

    @contextmanager
    def _loops(self, entry: Entry, loop: Region, inside: Region, down: bool = False, free: bool = False) -> "Iterator[bool]":
        """The loops of a region, first to last or last to first, and the condition of a guard in them; False: nothing is ever inside.
        free: in any order, then with short steps in memory inside."""
        names = loop.ranges[:len(loop_sizes(entry.instruction))]
        sizes = [self.partition.ranges[name] for name in names]
        found = self._conditions(inside) if inside is not loop else []
        if 0 in sizes or found is None:
            yield False
            return
        t = self.d.index[self.index_type]
        heads = [f"for ({t} {v} = {n}; {v}-- > 0;)" if down else f"for ({t} {v} = 0; {v} < {n}; ++{v})" for v, n in zip(names, sizes)]
        heads += [f"if ({' && '.join(found)})"] if found else []
        self._before_loops.append(len(self.text.lines))
        self._depths.append(self.text.depth)
        self._held += found
        reads = len(self.flat)
        for head in heads:
            self.text.add(f"{head} {{")
            self.text.depth += 1
        yield True
        at = self._before_loops.pop()
        if free and len(names) > 1:
            steps = self._steps(names, [flat for what, flat in self.flat[reads:] if what.startswith("read ")])
            for k, n in enumerate(sorted(range(len(names)), key=lambda n: -steps[n])):
                self.text.lines[at + k] = f"{'  ' * (self._depths[-1] + k)}{heads[n]} {{"
        self._depths.pop()
        del self._held[len(self._held) - len(found):]
        for _ in heads:
            self.text.depth -= 1
            self.text.add("}")

    def _steps(self, names: "Sequence[str]", flats: "Sequence[str]") -> List[int]:
        """How far each loop goes in memory, of the first read that says so for all; else nothing."""
        for flat in flats:
            variables = {v.name for v in algebra.info(flat).variables}
            strides = [self.stride(flat, name)[0] if name in variables else 0 for name in names]
            if None not in strides and any(strides):
                return [abs(stride or 0) for stride in strides]
        return [0] * len(names)

    def _variable(self, of: str, start: Value) -> Value:
        """A variable with its first value."""
        name, start = self.name(of), self.real(start)
        self.text.add(f"{self.type(start.dtype, self.lanes)} {name} = {self.splat(start)};")
        return Value(name, start.dtype, self.lanes)

    def _reduce(self, entry: Entry) -> List[Value]:
        instruction, loop, inside = entry.instruction, entry.regions[0], entry.regions[-1]
        count = len(instruction.operands) // 2
        sums = [self._variable(instruction.name, self.read(self.partition.operand(entry, count + k), entry.region)) for k in range(count)]
        if self.partition.operand(entry, 0, inside).map == EMPTY:
            return sums
        with self._loops(entry, loop, inside, free=combiner.analyse(instruction).free) as some:
            if some:
                self.region(inside)
                x = sums + [self.read(self.partition.operand(entry, k, inside), inside) for k in range(count)]
                names = [v.text for v in sums]
                for name, value in zip(names, self._settled([self.real(v) for v in self.scalar(instruction.called[0], x)], names)):
                    self.text.add(f"{name} = {self.splat(value)};")
        return [replace(v, rounded=not (self.excess and v.dtype in SMALL)) for v in sums]

    def _product(self, entry: Entry) -> Value:
        """A sum of products in the accumulator's type, which the operands are converted to; at the end rounded to the result's."""
        instruction, loop, inside = entry.instruction, entry.regions[0], entry.regions[-1]
        kind = accumulator(instruction)

        def convert(value: Value, of: str, to: str) -> Value:
            return value if of == to else self.apply("convert", {}, to, [of], [value], instruction.name)
        total = self._variable(instruction.name, Value(self.d.literal(0, kind), kind))
        with self._loops(entry, loop, inside) as some:
            if some:
                self.region(inside)
                x = [convert(self.read(self.partition.operand(entry, k, inside), inside), o.shape.dtype, kind) for k, o in enumerate(instruction.operands)]
                x = [self.apply("multiply", {}, kind, [kind, kind], [value, scale], "scaled") for value, scale in zip(x, x[2:])] or x     # of scaled-dot
                product = self.apply("multiply", {}, kind, [kind, kind], x, "product")
                self.text.add(f"{total.text} = {self.splat(self.apply('add', {}, kind, [kind, kind], [total, product], 'next'))};")
        return convert(total, kind, instruction.shape.dtype)

    def _select_and_scatter(self, entry: Entry) -> Value:
        """Of the windows that see an element, in the order of their places, those that select it scatter their value there."""
        instruction, (places, at_place, window, at_element) = entry.instruction, entry.regions
        rank, lanes = len(instruction.shape.dims), self.lanes
        if lanes > 1:
            raise NotWide
        total = self._variable(instruction.name, self.read(self.partition.operand(entry, 2), entry.region))
        with self._loops(entry, places, at_place, True) as some:
            if some:
                best = self._variable(f"{instruction.name}_best", Value(self.d.literal(0, total.dtype), total.dtype))
                seen, here = self.name(f"{instruction.name}_seen"), self.name(f"{instruction.name}_here")
                self.text.add(f"int {seen} = 0, {here} = 0;")     # whether a first element was met; whether the best one is this one
                with self._loops(entry, window, at_element) as any_element:
                    if any_element:
                        self.region(at_element)
                        new = self.real(self.read(self.partition.operand(entry, 0, at_element), at_element))
                        keep = self.scalar(instruction.attributes["select"], [best, new])[0]
                        with self.text.block(f"if (!{seen} || !({keep.text}))"):
                            same = " && ".join(f"{a} == {b}" for a, b in zip(window.ranges[:rank], window.ranges[rank:]))
                            self.text.add(f"{best.text} = {new.text};", f"{seen} = 1;", f"{here} = {same or '1'};")
                with self.text.block(f"if ({here})"):
                    self.region(at_place)
                    source = self.read(self.partition.operand(entry, 1, at_place), at_place)
                    self.text.add(f"{total.text} = {self.real(self.scalar(instruction.attributes['scatter'], [source, total])[0]).text};")
        return replace(total, rounded=not (self.excess and total.dtype in SMALL))

    def _settled(self, values: List[Value], names: List[str]) -> List[Value]:
        """Values none of which is an accumulator that is assigned before it is read."""
        return [self.declare("next", v.dtype, v.lanes, v.text) if v.text in names and len(names) > 1 else v for v in values]


def _holds(wide: str, narrow: str) -> bool:
    """Whether every value of a small float is one of the other type."""
    return wide == narrow or wide in ("f32", "f64")
