"""Write the code that stores a function's results (roots) in buffers."""

from __future__ import annotations

from gen import algebra
from gen.emit.accesses import from_register
from gen.emit.loads import Loads
from gen.statements import Assign, Block, Call, Declare
from gen.emit.values import Touched, Value
from gen.hlo import dtypes
from gen.plan.buffers import buffer_of, memory_map
from gen.plan.partition import Root, compose
from gen.schedule import VECTOR_BITS, LoopSchedule
from gen.targets import SMALL, bits


class Stores(Loads):
    """Writes the C text that stores the results (roots) of a function."""

    def _result(self, root: Root) -> Value:
        return self.without_excess(self.read(self.partition.root_read(root), self.function.body), root.buffer.pointer)

    def final(self, root: Root) -> str:
        """Return the C text of a root's value as it is stored."""
        return self.to_memory(self._result(root))

    def register_bits(self, root: Root) -> str:
        """Return the C text of a root's register as unsigned integers, with the bits that are stored."""
        text = self.splat(self.moved(self._result(root)))
        if self.lanes > 1:
            return self.to_bits(self.element_type(root.shape.dtype), text, self.lanes)
        text, dtype = self.final(root), self.element_type(root.shape.dtype)
        return text if self.d.memory(dtype) == self.d.types[f"u{bits(dtype)}"] else self.d.reinterpret(
            text, dtype, f"u{bits(dtype)}")

    def _store_interleaved(self, root: Root) -> None:
        """Write a step that moves whole cache lines between two arrays. One array has the rows; the other has words in
        which the elements of several rows are interleaved.
        """
        read, n, dtype = self.partition.root_read(root), self.loop.interleaved, self.element_type(root.shape.dtype)
        buffer, whole = buffer_of(self.partition, read), VECTOR_BITS // bits(root.shape.dtype)
        assert buffer is not None
        accesses = [Touched(verb, of, self.mapped(compose(index, memory_map(of.shape))))
                    for verb, of, index in (("read", buffer, read.map), ("write", root.buffer, root.map))]
        self.touched += accesses
        sides = [(access.buffer.pointer, access.position) for access in accesses]
        words = [self.stride(flat, "lane")[0] == n for _, flat in sides]
        kind, names = self.d.register(dtype, whole), [self.name(pointer, "w_") for pointer, _ in sides]
        self.before.add(*(Declare(kind, name, count=n * self.loop.fused_steps) for name in names))
        registers = []
        for (pointer, flat), in_words in zip(sides, words):
            steps = [{"down" if in_words else "vec": k, **({"fused": i} if self.loop.fused_steps > 1 else {})}
                     for i in range(self.loop.fused_steps) for k in range(n)]
            at = [f"({self.d.pointer}{kind} *)({self.address(pointer, flat, **{**self.start, **step})})"
                  for step in steps]
            # go through the rows in order; number % n is the row
            order = range(len(at)) if in_words else sorted(range(len(at)), key=lambda number: number % n)
            registers.append([(number, at[number]) for number in order])
        loop = self.loop
        assert isinstance(loop, LoopSchedule), "whose schedule has interleaved rows"
        pointer, flat = sides[0]
        if words[0]:
            self._prefetch(pointer, self.address(pointer, flat, **self.start), dtype)
        elif loop.burst:
            for k in range(n):
                self._prefetch(pointer, self.address(pointer, flat, **{**self.start, "vec": k}), dtype,
                               self.loop.step // n)
        elif self.loop.order_prefetch:    # at this point, all rows have been read
            walked = loop.thread_map(root.shape.elements)
            for k in range(n):
                first = self.address(pointer, walked, **{**self.start, "down": k})
                self.before.add(self.d.prefetch("L2", first, self.loop.order_prefetch, bits(dtype) // 8))
        self.before.add(*(Assign(f"{names[0]}[{number}]", f"*{text}") for number, text in registers[0]))
        for number in range(0, n * self.loop.fused_steps, n):
            to, of = (from_register(name, number) for name in reversed(names))
            self.before.add(Call(self.helpers.interleave(bits(dtype), n, words[0]), to, of))
        self.after.add(*(Call(self.d.store_word(self.loop.stream), f"{names[1]}[{number}]", text)
                         for number, text in registers[1]))

    def store(self, root: Root) -> None:
        if self.interleaves_words:
            self._store_interleaved(root)
            return
        value = self._result(root)
        pointer, dtype = root.buffer.pointer, self.element_type(root.shape.dtype)
        flat = self.mapped(compose(root.at or root.map, memory_map(root.shape)))
        words = self._words_of(pointer, flat, dtype, self.function.body)
        self.accessed("write", root.buffer, flat, words.bytes if words else 0)
        if dtype in dtypes.PACKED:
            self._store_packed(value, pointer, dtype, flat)
            return
        if (pointer, flat) in self.staged:
            self.text.add(Assign(self.staged[pointer, flat], self.to_memory(value)))
            return
        if self.lanes == 1:
            element = words.element if words else f"{pointer}[{self.c(flat)[0]}]"
            self.text.add(Assign(element, self.to_memory(value)))
            self.after.add(*(self.d.word_store(*place) for place in (words.places if words else ())))
            return
        self.store_wide(value, pointer, dtype, flat)

    def _store_packed(self, value: Value, pointer: str, dtype: str, flat: str) -> None:
        """Store packed elements. A whole step writes whole bytes. A step that the end of the array cuts short writes
        one element at a time.
        """
        per, step, text = dtypes.per_byte(dtype), self.loop.step, self.to_memory(value)
        u8 = self.d.types["u8"]
        if step == 1:
            self.text.add(Call(self.helpers.need("packed_store", dtype, self.index_type), pointer, self.c(flat)[0],
                               f"({u8}){text}"))
            return
        name, width, at = self.name(pointer, "w_"), dtypes.TABLE[dtype].bits, self.c(flat, vec=0)[0]
        byte, mask = f"{name}[vec / {per}]", (1 << width) - 1
        self.before.add(Declare(u8, name, "{0}", step // per))
        self.text.add(Assign(byte, f"({u8})({byte} | (({u8}){text} & {mask}) << vec % {per} * {width})"))
        self.after.add(*(Assign(f"{pointer}[({at}) / {per}{f' + {k}' if k else ''}]", f"{name}[{k}]")
                         for k in range(step // per)))

    def store_wide(self, value: Value, pointer: str, dtype: str, flat: str) -> None:
        value = self.moved(value)
        n, text = self.lanes, self.splat(value)
        stream = self.loop.stream
        if self.registers_down == 1 and self.in_words(flat, dtype, self.loop.interleaved * n):
            width = bits(dtype)
            name = self.name(pointer, "w_")
            kind = self.d.register("u32", n)
            self.before.add(Declare(kind, name, self.d.zero(n)))
            if dtype == "bf16":
                words = self.d.reinterpret(text, "f32", "u32", n)
                self.text.add(Assign(name, f"{words} >> (16u - {self._part(16)})", "|="))
            else:
                text = self.to_bits(dtype, text, n)
                text = self.d.convert("u16", n, text) if width == 8 else text
                self.text.add(Assign(name, f"{self.d.convert('u32', n, text)} << {self._part(width)}", "|="))
            at = self.address(pointer, flat, lane=0, vec=0)
            self.after.add(Call(self.d.store_word(stream), name, f"({self.space(pointer)}{kind} *)({at})"))
            return
        if self.is_along_rows(flat, self.function.body):
            self._store_tile(pointer, dtype, self.to_bits(dtype, text, n), flat)
            return
        if self.is_interleaved(flat, self.function.body):
            self._store_spread(pointer, dtype, self.to_bits(dtype, text, n), flat)
            return
        if self.is_contiguous(flat, dtype) and not self.stored_lanes:
            at = self._element(pointer, dtype, flat)
            align = self.stride(flat, "lane")[1] // self.loop.joined
            t = self.d.memory(dtype, n)
            text = self.to_bits(dtype, text, n) if dtype == "bf16" else text
            if self.registers_down > 1 and not self.loop.tile and n * self.registers_down * bits(dtype) == VECTOR_BITS \
                    and self.stride(algebra.substitute(flat, down=0), "lane")[1] % (n * self.registers_down) == 0:
                self._store_joined(pointer, dtype, text, flat)
                return
            if align % n == 0:
                self.text.add(Call(self.d.store_word(stream), text, f"({self.space(pointer)}{t} *)({at})"))
            elif self.d.loads_anywhere:
                self.text.add(self.d.scatter("u16" if dtype in SMALL else dtype, n, text, at))
            else:
                word = "stage" if pointer in self._arrays else "store"
                self.text.add(Call(self.helpers.need(word, dtype, str(n)), text, at))
            return
        assert self.loop.joined == 1 and not self.moves, "Form.vectors says that moves store whole vectors"
        wide = self.declare(pointer, dtype, n, text, value.bits)
        lane = Value(self._lane_array(wide, f"{pointer}_x"), dtype, 1, value.bits)
        self.text.add(self.each_lane(Assign(f"{pointer}[{self.c(flat)[0]}]", self.to_memory(lane)), "",
                                     *(self.stored_lanes or ())))

    def _store_tile(self, pointer: str, dtype: str, text: str, flat: str) -> None:
        """Collect the registers of a result, transpose them, and store them along the rows of their tile."""
        n, rows, width, pitch = self.lanes, self.loop.vec, f"u{bits(dtype)}", self.pitch(flat)
        assert pitch is not None
        name = self.name(pointer, "w_")
        store = self.helpers.tile("store", dtype, n, rows, self.index_type, group=pitch.group)
        self.before.add(Declare(self.d.register(width, n), name, count=rows * self.registers_down))
        self.text.add(Assign(f"{name}[{self._in_tile}]", text))
        for down, at in enumerate(self._tiles(pointer, flat)):
            self.after.add(Call(store, f"({self.d.pointer}{self.d.types[width]} *)({at})", *map(str, pitch.strides),
                                from_register(name, down * rows)))

    def _store_spread(self, pointer: str, dtype: str, text: str, flat: str) -> None:
        """Collect the registers of a result, interleave them by shuffles, and store whole vectors of adjacent elements.
        """
        n, rows, width, name = self.lanes, self.loop.interleaved_rows, f"u{bits(dtype)}", self.name(pointer, "w_")
        interleave, kind = self.helpers.interleave(bits(dtype), rows, False, n), self.d.register(width, n)
        self.before.add(Declare(kind, name, count=rows * self.registers_down))
        self.text.add(Assign(f"{name}[{self._in_tile}]", text))
        for down in range(self.registers_down):
            places, aligned = self._spread_registers(pointer, flat, down)
            with self.after.nested(Block()):
                self.after.add(Declare(kind, "words", count=rows),
                               Call(interleave, "words", from_register(name, down * rows)))
                for k, at in enumerate(places):
                    memory = f"({self.d.pointer}{self.d.types[width]} *)({at})"
                    if aligned:
                        self.after.add(Call(self.d.store_word(self.loop.stream), f"words[{k}]",
                                            f"({self.d.pointer}{kind} *)({at})"))
                    elif self.d.loads_anywhere:
                        self.after.add(self.d.scatter(width, n, f"words[{k}]", memory))
                    else:
                        self.after.add(Call(self.helpers.need("store", width, str(n)), f"words[{k}]", memory))

    def _store_joined(self, pointer: str, dtype: str, text: str, flat: str) -> None:
        """Join registers of a step that are adjacent in memory, and store them as whole cache lines."""
        n, down, vec, width = self.lanes, self.registers_down, self.loop.vec, f"u{bits(dtype)}"
        name, join, whole = self.name(pointer,
                                      "w_"), self.helpers.join(width, n, down), self.d.register(width, n * down)
        self.before.add(Declare(self.d.register(width, n), name, count=vec * down))
        bits_of = text if dtype in ("bf16", "f16", "pred", width) else self.d.reinterpret(text, dtype, width, n)
        self.text.add(Assign(f"{name}[vec * {down} + down]", bits_of))
        for k in range(vec):
            at = self.address(pointer, flat, lane=0, vec=k, down=0)
            self.after.add(Call(self.d.store_word(self.loop.stream),
                                f"{join}({from_register(name, k * down)})",
                                f"({self.space(pointer)}{whole} *)({at})"))
