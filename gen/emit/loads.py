"""Loads of operands from buffers, tables of constants and variables, and the prefetches of a step."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable, Optional, Tuple

from gen import algebra
from gen.emit import ops
from gen.emit.accesses import Accesses, from_register
from gen.emit.helpers import table_type
from gen.statements import Assign, Block, Call, Declare, Let
from gen.emit.values import IndexRow, Value
from gen.hlo import dtypes
from gen.plan.buffer import Buffer
from gen.plan.buffers import buffer_of, memory_map
from gen.plan.partition import EMPTY, Read, Region, compose
from gen.schedule import LINE, PIECES
from gen.targets import NARROW, SMALL, TINY, bits


class Loads(Accesses):
    """Writes the C text that reads an operand, from memory or from a variable."""

    def read(self, read: Read, region: Region) -> Value:
        source = read.source
        shape = source.shape.leaves()[read.output]
        if source in self._given:
            values = self._given[source]
            if callable(values):
                values = self._given[source] = values(self)
            return values[read.output]
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
        # load an f16 NaN as bits, so that its payload is not changed
        if len(set(literal)) == 1 and source.shape.dtype == "f16" and dtypes.is_nan(literal[0], "f16"):
            return Value(self.d.literal(literal[0], "u16"), "f16", 1, True)
        if len(set(literal)) == 1:
            return replace(ops.constant(self.d, literal[0], source.shape.dtype),
                           short_nan=not dtypes.is_nan(literal[0], source.shape.dtype))
        table_map = self.position(read)
        index = self.mapped(table_map)
        name = self.helpers.table(source)
        dtype = source.shape.dtype
        table = table_type(source)

        def at(index: str) -> str:
            text = self.from_memory(dtype, f"{name}[{index}]")
            return text if table == dtype or dtype in NARROW else self.d.reinterpret(text, table, dtype)
        return self._gather(source.name, dtype, index, at, dtype == "f16", self._unbroken(table_map))

    def _iota(self, read: Read) -> Value:
        source = read.source
        dtype, picked = source.shape.dtype, self.position(read)
        index = self.mapped(picked)

        def convert(at: str) -> str:
            text = ops.expression(self.d, self.helpers.need, "convert", {}, dtype, ["s64"], [f"({at})"], 1)
            assert text is not None, "of one lane"
            if dtype == "pred":
                text = f"({self.d.register('pred')})(({at}) != 0)"
            return self.round(text, dtype, 1) if dtype in SMALL + TINY else text

        def counted(stride: int) -> str:
            first = self.d.splat(dtype, self.lanes, f"({self.d.types[dtype]})({self._first(index)})")
            lane = f"{self.helpers.numbers(self.lanes)}()"
            lane = self.d.reinterpret(lane, "s32", dtype, self.lanes) if dtype == "u32" else lane
            return f"{first} + {lane}" + (f" * {self.d.splat(dtype, self.lanes, str(stride))}" if stride != 1 else "")
        if self.lanes == 1 or dtype not in ("s32", "u32"):
            return self._gather(source.name, dtype, index, convert, unbroken=self._unbroken(picked))
        stride = self.stride(index, "lane")[0]
        if stride:
            return self.declare(source.name, dtype, self.lanes, counted(stride))
        return self._gather(source.name, dtype, index, convert, unbroken=self._unbroken(picked), whole=counted)

    def _gather(self, of: str, dtype: str, index: str, at: "Callable[[str], str]", bits: bool = False,
                unbroken: "Optional[Tuple[str, int]]" = None, whole: "Optional[Callable[[int], str]]" = None) -> Value:
        """Return a value that each lane reads at its own position. If the position is the same for all lanes, it is
        read once.

        at: returns the C text of the value at a position.
        unbroken: the result of `_unbroken` for the position. If its condition holds and its stride is 0, all lanes read
            the same element.
        whole: if that condition holds, returns the C text of all lanes for a stride; "" if there is no such text.
        """
        if self.lanes == 1 or self.stride(index, "lane")[0] == 0:
            return self.declare(of, dtype, 1, at(self._first(index)), bits)
        if unbroken and not unbroken[1]:
            text = self.d.splat("u16" if bits else dtype, self.lanes, at(self._first(index)))
        else:
            text = whole(unbroken[1]) if unbroken and whole else ""
        return self.by_lane(of, dtype, at(self._hoisted_positions(of, index)), bits, index, unbroken[0] if unbroken else "", text)

    def _unbroken(self, index: str) -> "Optional[Tuple[str, int]]":
        """Return the C text of the condition that all lanes are in one row, and the stride of the map along the row. A
        row is a range of elements along which the map's stride is constant (Form.unbroken). Return None inside loops,
        or if there are no rows.
        """
        runs = self.unbroken(index) if self.lanes > 1 and self._before_loops is None else None
        return (f"{self.c(runs.place)[0]} <= {runs.last}", runs.stride) if runs else None

    def _hoisted_positions(self, of: str, index: str) -> str:
        """Return the C text of a lane's position. If the text would contain divisions inside loops, the positions of
        all lanes are computed before the loops, with loop variables of 0. The text then adds multiples of the loop
        variables.
        """
        whole = self.c(index)[0]
        steps = {v.name: self.stride(index, v.name)[0] for v in algebra.info(index).variables
                 if v.name in self.partition.ranges}
        met = {name for guard in algebra.guards(index) for name in guard.variables}
        if self._before_loops is None or self.differing(index) \
                or all(division.shifts for division in algebra.divisions(index)) \
                or met & set(steps) or any(n is None or n < 0 for n in steps.values()) \
                or any(v.lo for v in algebra.info(index).variables if v.name in steps):
            return whole
        name, first = self.name(of, "at_"), self.c(index, **{step: 0 for step in steps})[0]
        self._before_loops += [Declare(self.d.index[self.index_type], name, count=self.lanes),
                               self.each_lane(Assign(f"{name}[lane]", first))]
        return " + ".join([f"{name}[lane]", *(f"{step} * {n}" if n != 1 else step for step, n in steps.items() if n)])

    def load(self, buffer: Buffer, index: str, region: Region) -> Value:
        flat = self.mapped(compose(index, memory_map(buffer.shape)))
        scope: Optional[Region] = region
        while scope is not None:
            if (buffer.pointer, flat, scope) in self._loads:
                return self._loads[buffer.pointer, flat, scope]
            scope = scope.parent
        value = self.load_flat(buffer, flat, region, self._unbroken(compose(index, memory_map(buffer.shape))))
        # the name is valid in this region and in the regions inside it
        self._loads[buffer.pointer, flat, region] = value
        return value

    def load_flat(self, parameter: Buffer, flat: str, region: Region,
                  unbroken: "Optional[Tuple[str, int]]" = None) -> Value:
        dtype, pointer = self.element_type(parameter.shape.dtype), parameter.pointer
        union = self._words_of(pointer, flat, dtype, region)
        self.accessed("read", parameter, flat, union.bytes if union else 0)
        if dtype in dtypes.PACKED:
            load = self.helpers.need("packed_load", dtype, self.index_type)
            return self._gather(parameter.name, dtype, flat, lambda at: f"{load}({pointer}, {at})", unbroken=unbroken)
        if (pointer, flat) in self.staged:
            return self.declare(parameter.name, dtype, 1, self.from_memory(dtype, self.staged[pointer, flat]),
                                dtype == "f16")
        if self.lanes == 1:
            self.before.add(*(self.d.word_load(*place) for place in (union.places if union else ())))
            element = union.element if union else f"{pointer}[{self.c(flat)[0]}]"
            return self.declare(parameter.name, dtype, 1, self.from_memory(dtype, element), dtype == "f16")
        step, (stride, align) = self.loop.step, self.stride(flat, "lane")
        if self.is_along_rows(flat, region):
            return self._load_tile(parameter, pointer, dtype, flat)
        if self.in_words(flat, dtype, self.loop.interleaved) and self.open(region):
            words, n = self.name(pointer, "w_"), self.lanes
            if region is self.function.body:
                self._prefetch(pointer, self.address(pointer, flat, **self.start), dtype)
            loads = [self._words(pointer, flat, down) for down in range(self.registers_down)]
            kind = self.d.register("u32", n)
            self.before.add(Let(kind, words, loads[0]) if self.registers_down == 1
                            else Let(kind, words, f"{{{', '.join(loads)}}}", self.registers_down))
            word = words if self.registers_down == 1 else f"{words}[down]"
            if dtype == "bf16":
                high = f"{word} << (16u - {self._part(16)}) & 0xffff0000u"
                return self.declare(parameter.name, dtype, n, self.d.reinterpret(high, "u32", "f32", n))
            width = bits(dtype)
            text = self.d.convert("u16", n, f"{word} >> {self._part(width)}")
            # convert in two steps, which gcc can vectorize
            text = self.d.convert("u8", n, text) if width == 8 else text
            return self.declare(parameter.name, dtype, n,
                                text if dtype in ("pred", "f16", f"u{width}")
                                else self.d.reinterpret(text, f"u{width}", dtype, n), dtype == "f16")
        if self.is_interleaved(flat, region):
            return self._load_spread(parameter, pointer, dtype, flat)
        if self.is_contiguous(flat, dtype):
            at = self._element(pointer, dtype, flat, "const ")
            if region is self.function.body and self.loop.interleaved_rows > 1:
                for k in range(self.loop.vec):
                    self._prefetch(pointer, self.address(pointer, flat, **{**self.start, "vec": k}), dtype,
                                   self.lanes * self.registers_down)
            elif region is self.function.body:
                if any(distance for _, distance in self.loop.prefetches()):
                    self._prefetch(pointer, self.address(pointer, flat, **self.start), dtype)
            elif self.loop.gathered_prefetch_steps and self.open(region):
                size = bits(dtype) // 8
                together = step if self.loop.vec == 1 or self.stride(algebra.substitute(flat, lane=0),
                                                                     "vec")[0] == self.lanes else self.lanes
                for k in range(step // together):
                    first = self.address(pointer, flat, **{**self.start, "vec": k})
                    self.index_rows.append(IndexRow(pointer, dtype, first, together * size))
            return self.declare(parameter.name, dtype, self.lanes,
                                self._wide_load(pointer, dtype, at, align % (self.lanes * self.loop.joined) == 0),
                                dtype == "f16")
        assert self.loop.joined == 1, "Form.vectors says that what is joined is whole"
        if stride is not None and self.is_picked(flat, parameter):
            return self.declare(parameter.name, dtype, self.lanes, self._load_strided(pointer, dtype, flat, stride),
                                dtype == "f16")

        def whole(stride: int) -> str:
            if stride == -1:
                return self._load_strided(pointer, dtype, flat, stride)
            return self._wide_load(pointer, dtype, self.first_address(pointer, flat), False) if stride == 1 else ""
        return self._gather(parameter.name, dtype, flat, lambda at: self.from_memory(dtype, f"{pointer}[{at}]"),
                            dtype == "f16", unbroken, whole if dtype not in TINY else None)

    def _load_tile(self, parameter: Buffer, pointer: str, dtype: str, flat: str) -> Value:
        """Write the code that loads the rows of a register tile and transposes them, before the loop over the tile's
        registers. Return the register of the loop's current iteration. If a tile is loaded in several turns
        (`Schedule.turns`), write only the load of one turn; templates/kernels/transpose_cpu.j2 transposes the rows.
        """
        n, rows, width, pitch = self.lanes, self.loop.vec, f"u{bits(dtype)}", self.pitch(flat)
        assert pitch is not None
        distance = self._row_prefetch(flat, bits(dtype) // 8, pitch.strides[0])

        def elements(at: str) -> str:
            return f"(const {self.d.pointer}{self.d.types[width]} *)({at})"
        if self.loop.turns > 1:
            load = self.helpers.load_pieces(dtype, self.loop.turns, self.index_type, distance)
            at = elements(self.address(pointer, self._at_turn(flat)))
            self.before.add(Call(load, "pieces[tile % 2] + turn", at, str(pitch.strides[0])))
            return self._from_bits(parameter, dtype, f"joined[down * {PIECES} + piece]")
        name = self.name(pointer, "w_")
        load = self.helpers.tile("load", dtype, n, rows, self.index_type, self.loop.load_bytes, pitch.group, distance)
        self.before.add(Declare(self.d.register(width, n), name, count=rows * self.registers_down))
        for down, at in enumerate(self._tiles(pointer, flat)):
            self.before.add(Call(load, from_register(name, down * rows), elements(at), *map(str, pitch.strides)))
        return self._from_bits(parameter, dtype, f"{name}[{self._in_tile}]")

    def _load_strided(self, pointer: str, dtype: str, flat: str, stride: int) -> str:
        """Return the C text of a load of elements that are a few elements apart: they are picked from whole vectors.
        For stride -1, one vector is loaded and reversed.
        """
        load, t = self.helpers.load_strided(bits(dtype), self.lanes, stride), self.d.types[f"u{bits(dtype)}"]
        at = self.first_address(pointer, flat)
        return self.of_bits(dtype, f"{load}((const {self.d.pointer}{t} *)({at}))", self.lanes)

    def _load_spread(self, parameter: Buffer, pointer: str, dtype: str, flat: str) -> Value:
        """Load adjacent elements as whole vectors, distribute them over the registers of a step by shuffles, and return
        the current register.
        """
        n, rows, width, name = self.lanes, self.loop.interleaved_rows, f"u{bits(dtype)}", self.name(pointer, "w_")
        separate = self.helpers.interleave(bits(dtype), rows, True, n)
        self._prefetch(pointer, self.address(pointer, flat, **self.start), dtype)
        kind = self.d.register(width, n)
        self.before.add(Declare(kind, name, count=rows * self.registers_down))
        for down in range(self.registers_down):
            places, aligned = self._spread_registers(pointer, flat, down)
            with self.before.nested(Block()):
                words = [
                    (
                        f"*(const {self.d.pointer}{kind} *)({at})"
                        if aligned
                        else self._load_anywhere(pointer, width, f"(const {self.d.pointer}{self.d.types[width]} *)({at})")
                    )
                    for at in places
                ]
                self.before.add(Let(kind, "words", f"{{{', '.join(words)}}}", rows),
                                Call(separate, from_register(name, down * rows), "words"))
        return self._from_bits(parameter, dtype, f"{name}[{self._in_tile}]")

    def _from_bits(self, parameter: Buffer, dtype: str, text: str) -> Value:
        """Declare a register that contains a parameter's value, and return it. text: the bits of the value, as C text.
        """
        return self.declare(parameter.name, dtype, self.lanes, self.of_bits(dtype, text, self.lanes), dtype == "f16")

    def _row_prefetch(self, flat: str, size: int, pitch: int) -> int:
        """Return the prefetch distance along each row of a tile, in elements; 0 for no prefetch. If a memory page
        contains several rows, it is the distance to the next tile along the lanes.
        """
        if pitch * size >= self.loop.page or not self.loop.row_prefetch:
            return self.loop.row_prefetch // size
        return (self.stride(flat, self.strip)[0] or 0) // self.loop.joined

    def _words(self, pointer: str, flat: str, down: int = 0) -> str:
        """Return the C text of a load of the 32-bit words that contain the interleaved elements of a step."""
        at = self.address(pointer, flat, **{**self.start, **({"down": down} if self.registers_down > 1 else {})})
        align = self.stride(algebra.substitute(flat, lane=0), "vec")[1]
        if align % (self.loop.interleaved * self.lanes) == 0:
            return f"*(const {self.space(pointer)}{self.d.register('u32', self.lanes)} *)({at})"
        return self._load_anywhere(pointer, "u32", f"(const {self.space(pointer)}{self.d.types['u32']} *)({at})")

    def _load_anywhere(self, pointer: str, dtype: str, at: str) -> str:
        """Return the C text of a load of a whole vector that need not be aligned."""
        if self.d.loads_anywhere:
            return self.d.gather("u16" if dtype in SMALL else dtype, self.lanes, at)
        word = "fetch" if pointer in self._arrays else "load"
        return f"{self.helpers.need(word, dtype, str(self.lanes))}({at})"

    def _prefetch(self, pointer: str, at: str, dtype: str, elements: int = 0) -> None:
        """Add the prefetches of an access to `prefetches`, one per cache line and cache level.

        at: the address of the first element that this step accesses. The prefetch distance is added to it.
        elements: the number of elements to prefetch; 0 for the elements of a step.
        """
        size = bits(dtype) // 8
        for number, (word, distance) in enumerate(self.loop.prefetches()):
            if distance:
                lines = range(0, max(LINE, (elements or self.loop.step) * size), LINE)
                self.prefetches[number, pointer, at] = [self.d.prefetch(word, at, distance + line, size)
                                                        for line in lines]

    def _wide_load(self, pointer: str, dtype: str, at: str, aligned: bool) -> str:
        """Return the C text of a load of a whole vector. An aligned vector is loaded through a pointer, because PoCL's
        vloadn loads it in pieces.
        """
        text = f"*(const {self.space(pointer)}{self.d.memory(dtype, self.lanes)} *)({at})" if aligned \
            else self._load_anywhere(pointer, dtype, at)
        return self.of_bits(dtype, text, self.lanes) if dtype == "bf16" else text
