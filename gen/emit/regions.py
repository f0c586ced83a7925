"""Write the code of a function's regions: values, loops, guards, calls and runtime variables. An entry (class `Entry`)
is a value that a region computes.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gen import algebra
from gen.emit import functions, ops
from gen.emit.element_loops import ElementLoops
from gen.emit.maps import conditions, guarded, narrowed, tested
from gen.statements import Assign, Block, Call, Case, Declare, For, If, Let, interchange
from gen.emit.form import Near
from gen.emit.values import Value
from gen.hlo import CONTRACTIONS, Instruction, accumulator, array_shape, combiner, dtypes
from gen.plan import element_loops
from gen.plan.buffers import buffers_of, leads_of, memory_map
from gen.plan.partition import EMPTY, PADS, RUNTIME, Entry, Region, Runtime, loop_sizes
from gen.targets import SMALL


class When(NamedTuple):
    """The conditions under which a guarded region runs, as C text. "" means always, None means never.

    every: all lanes of a register are in the region.
    lane: the lane with the number `lane` is in the region.
    some: a condition that is true if any lane is in the region; it may also be true if no lane is.
    differs: true if some lanes may be in the region while other lanes are outside.
    varied: loop variables, each with its maximum. The C compiler must not write separate code for single values of
        these variables.
    """

    every: Optional[str]
    lane: Optional[str]
    some: Optional[str]
    differs: bool = False
    varied: Mapping[str, int] = {}


class Regions(ElementLoops):
    """Writes the code of regions. A region has entries, which are the values that it computes. An entry of reduce, pad
    or a similar op contains further regions.
    """

    def region(self, region: Region) -> None:
        """Write the code of a region's entries (the values that it computes), in order."""
        for entry in region.entries:
            self._env[entry.instruction, region, entry.map] = self._entry(entry)

    def values_of(self, instruction: Instruction, region: Region, index: str) -> List[Value]:
        """Return the values of a region's entry, given its instruction and map. Their code is already written."""
        return self._env[instruction, region, index]

    def _entry(self, entry: Entry) -> List[Value]:
        instruction = entry.instruction
        opcode = instruction.opcode
        if entry.callee is not None:
            return self._call(entry)
        if opcode in ("reduce", "reduce-window"):
            return self._reduce(entry)
        if opcode in CONTRACTIONS:
            return [self._product(entry)]
        if opcode == "window-choice":
            return [self._window_choice(entry)]
        if opcode == "window-scatter":
            return [self._window_scatter(entry)]
        if opcode in PADS:
            return [self._pad(entry)]
        if opcode == "concatenate":
            return [self._concatenate(entry)]
        if opcode == "dynamic-update-slice":
            return [self._update(entry)]
        if opcode == element_loops.OPCODE:
            return self.element_loop(entry)
        if opcode in RUNTIME:
            self.bind(entry.regions[0].runtimes, entry.region)
            self.region(entry.regions[0])
            return [self.read(self.partition.operand(entry, 0, entry.regions[0]), entry.regions[0])]
        x = [self.read(self.partition.operand(entry, k), entry.region) for k in range(len(instruction.operands))]
        if opcode == "map":
            return self.scalar(instruction.called[0], x)
        paired = self._paired(entry, x)
        if paired:
            return [paired]
        return [self.apply(opcode, instruction.attributes, instruction.shape.dtype,
                           [o.shape.dtype for o in instruction.operands], x, instruction.name)]

    def _paired(self, entry: Entry, x: "Sequence[Value]") -> Optional[Value]:
        """Return the value of an entry if one C function computes it together with another entry of the region, for
        example a sine together with the cosine of the same argument. Otherwise, return None.
        """
        instruction, region = entry.instruction, entry.region
        value = self._together.pop((instruction, region, entry.map), None)
        pair = next((pair for pair in functions.PAIRS if instruction.opcode in pair), None)
        if value or not pair or instruction.shape.dtype != "f32" or x[0].lanes == 1:
            return value
        other = next((e for e in region.entries if e.callee is None and e.map == entry.map
                      and {instruction.opcode, e.instruction.opcode} == set(pair)
                      and e.instruction.operands == instruction.operands), None)
        function = functions.named(self.d, self.helpers.need, functions.PAIRS[pair], "f32", self.lanes) if other else ""
        if not other or not function:
            return None
        entries = (entry, other) if instruction.opcode == pair[0] else (other, entry)
        names = [self.name(e.instruction.name) for e in entries]
        kind = self.type("f32", self.lanes)
        self.text.add(Declare(kind, names[1]), Let(kind, names[0], f"{function}({x[0].text}, &{names[1]})"))
        for e, name in zip(entries, names):
            within, nan = ops.bounds(e.instruction.opcode, "f32", ["f32"], x)
            self._together[e.instruction, region, e.map] = Value(name, "f32", self.lanes, within=within, nan=nan)
        return self._together.pop((instruction, region, entry.map))

    # ---- calls ----

    def _call(self, entry: Entry) -> List[Value]:
        assert entry.callee is not None
        instruction = entry.instruction
        shape = instruction.shape.leaves()
        index = self.mapped(entry.map)
        same = self.is_uniform_call(entry)
        results = self.c(index, lane=0) if same and self.lanes > 1 else self.c(index)
        buffers = buffers_of(self.partition, entry.callee)
        arguments = [*(buffer.pointer for buffer in buffers), *leads_of(buffer.shape for buffer in buffers), *results]
        if len(shape) > 1:
            return self._call_many(entry, arguments, same, index)
        call = f"{entry.callee.name}({', '.join(arguments)})"
        half = shape[0].dtype == "f16"
        if same:
            return [self.declare(instruction.name, shape[0].dtype, 1, call, half)]
        return [self.by_lane(instruction.name, shape[0].dtype, call, half, index)]

    def _call_many(self, entry: Entry, arguments: "Sequence[str]", same: bool, index: str) -> List[Value]:
        """Write the call of a function with several results, which it stores through pointers."""
        assert entry.callee is not None
        leaves = entry.instruction.shape.leaves()
        names = [self.name(f"{entry.instruction.name}_l") for _ in leaves]
        count = 1 if same else self.lanes
        self.text.add(*(Declare(self.type(leaf.dtype, 1, leaf.dtype == "f16"), name, count=count)
                        for name, leaf in zip(names, leaves)))
        outputs = names if same else [f"{name} + lane" for name in names]
        call = Call(entry.callee.name, *arguments, *outputs)
        self.text.add(call if same else self.each_lane(call, index))
        if same:
            return [Value(f"{name}[0]", leaf.dtype, 1, leaf.dtype == "f16") for name, leaf in zip(names, leaves)]
        return [
            self.declare(
                entry.instruction.name,
                leaf.dtype,
                count,
                self.d.gather("u16" if leaf.dtype == "f16" else leaf.dtype, count, name),
                leaf.dtype == "f16",
            )
            for name, leaf in zip(names, leaves)
        ]

    # ---- guards ----

    def condition(self, region: Region) -> "Optional[str]":
        """Return the condition, as C text, under which a guarded region runs: "" for always, None for never."""
        tests = self._conditions(region)
        return None if tests is None else " && ".join(tests)

    def _conditions(self, region: Region) -> "Optional[List[str]]":
        index = self.uniform(region) if self.lanes > 1 else self.mapped(region.map)
        assert index is not None, "Form.vectors says that the guard is the same in all lanes"
        if index == EMPTY:
            return None
        self._tested |= tested(index, self.box)
        return [c for c in conditions(index, self.box, self.index_type) if c not in self._thread_guards
                and c not in self._held]

    def _when(self, region: Region) -> When:
        """Return the conditions under which a guarded region runs."""
        if self.lanes == 1 or self.uniform(region) is not None:
            every = self.condition(region)
            varied = tested(self.mapped(region.map), self.box) & {*self.partition.ranges, "vec"} if every else set()
            return When(every, every, every, varied={name: self.box[name][1] for name in varied if self.lanes == 1})
        uneven = self.uneven(region)
        assert uneven is not None, "Form.vectors says that the guard changes rarely along the lanes"
        if uneven.some is None:
            return When(None, None, None)
        some = [self._near(near) for near in uneven.some]
        self._tested |= tested(uneven.index, self.box) - {"lane"}
        return When(self._inside(uneven.every), " && ".join(conditions(uneven.index, self.box, self.index_type)), None
                    if None in some else " && ".join(filter(None, some)), True)

    def _every(self, when: When) -> str:
        """Return the C text of the condition that all lanes are in a region."""
        return self._unknown(str(when.every), when.varied) if when.varied else str(when.every)

    def _unknown(self, condition: str, varied: Mapping[str, int]) -> str:
        """Return the condition in a form that the C compiler cannot evaluate in advance for particular values of loop
        variables. varied: these variables, each with its maximum.

        Compilers would otherwise write separate code for such values. The condition is therefore compared with a zero
        that is read from an array, so that the compiler does not know its value. The variables are the index into the
        array: if every iteration read the same zero, gcc would write the loop twice, once for zero and once for other
        numbers.
        """
        if not self.d.unknown_zeros:
            return condition
        zeros = self._zeros or self.name("none", "")
        if self._before_loops is None:
            self.text.add(Let("int", f"*{zeros}", self.d.unknown_zeros))
        elif not self._zeros:
            self._zeros = zeros
            self._before_loops.append(Let("int", f"*{zeros}", self.d.unknown_zeros))
        at: List[str] = []
        for name in sorted(varied, key=lambda name: (varied[name], name)):
            # leave out longer loops: compilers do not write separate code for the values of their variables
            if sum(varied[other] for other in [*at, name]) < self.d.zeros:
                at.append(name)
        return f"({condition}) > {zeros}[{' + '.join(at) or '0'}]"

    def _near(self, near: Near) -> Optional[str]:
        unbroken, inside = self._inside(near.unbroken), self._inside(near.near)
        if unbroken is None:
            return ""
        return f"(!({unbroken}) || ({inside}))" if inside and unbroken else inside

    def _inside(self, where: "Optional[str]") -> Optional[str]:
        """Return the condition, as C text, that a point is in the domain of a map: "" for always, None for never."""
        if where is None:
            return None
        self._tested |= tested(where, self.box)
        tests = conditions(where, self.box, self.index_type) if narrowed(where, self.box) else guarded(
            where, self.box, self.index_type)
        return " && ".join(c for c in tests if c not in self._thread_guards)

    def _guarded(self, entry: Entry, operand: int, region: Region, name: str, dtype: str) -> None:
        self.region(region)
        value = self.moved(self.read(self.partition.operand(entry, operand, region), region))
        self.text.add(Assign(name, value.text if self.lanes == 1 else self.splat(value)))

    def _pad(self, entry: Entry) -> Value:
        padding = self.moved(self.read(self.partition.operand(entry, 1), entry.region))
        return self._or_else(entry, 0, padding)

    def _or_else(self, entry: Entry, operand: int, other: Value) -> Value:
        """The entry has one region. Return a register with the value of an operand in the lanes that are in this
        region, and with `other` in the remaining lanes.
        """
        instruction, region = entry.instruction, entry.regions[0]
        when = self._when(region)
        if when.some is None:
            return other
        dtype = instruction.shape.dtype
        name, half = self.name(instruction.name), dtype == "f16"
        first = other.text if self.lanes == 1 else self.splat(other)
        self.text.add(Declare(self.type(dtype, self.lanes, half), name, first))
        cases: "List[Case]" = []
        if when.every is not None:
            cases.append((self._every(when), lambda: self._guarded(entry, operand, region, name, dtype)))
        if when.differs:
            cases.append((when.some, lambda: self._lane_by_lane(entry, [(operand, region, when)], name, dtype)))
        self.text.cases(cases)
        return Value(name, dtype, self.lanes, half)

    def _lane_by_lane(self, entry: Entry, sides: "Sequence[Tuple[int, Region, When]]", name: str, dtype: str) -> None:
        """Write a loop over the lanes of a register. For a lane in one of the regions, the loop computes the operand of
        that region. The other lanes keep their values.
        """
        half, array, lanes, t = dtype == "f16", self.name(f"{name}_l", ""), self.lanes, self.d.index[self.index_type]
        stored = "u16" if half else dtype
        self.text.add(Declare(self.type(dtype, 1, half), array, count=lanes))
        complete = entry.instruction.opcode == "concatenate"
        if not complete:
            self.text.add(self.d.scatter(stored, lanes, name, array))
        kept, self._loads, self.lanes = self._loads, {}, 1
        # the last operand of a concatenate needs no test, because all remaining lanes are in its region
        asked = sides[:-1] if complete else sides
        tests = [str(when.lane and self._unknown(when.lane, {"lane": lanes - 1})) for _, _, when in asked]
        with self.text.nested(For(t, "lane", str(lanes))):
            self.text.cases([(test, partial(self._guarded, entry, operand, region, f"{array}[lane]", dtype))
                             for test, (operand, region, _) in zip([*tests, ""], sides)])
        self._loads, self.lanes = kept, lanes
        self.text.add(Assign(name, self.d.gather(stored, lanes, array)))

    def _concatenate(self, entry: Entry) -> Value:
        instruction = entry.instruction
        dtype = instruction.shape.dtype
        name = self.name(instruction.name)
        sides = [(k, region, self._when(region)) for k, region in enumerate(entry.regions)]
        sides = [side for side in sides if side[2].some is not None]
        always = [side for side in sides if not side[2].every and side[2].every is not None]
        sides = always[:1] or sides     # if a region always runs, the regions after it never run
        half, differ = dtype == "f16", any(when.differs for _, _, when in sides) and not always
        self.text.add(Declare(self.type(dtype, self.lanes, half), name, "" if sides else self.d.zero(self.lanes)))
        wide = [side for side in sides if side[2].every is not None]
        cases: "List[Case]" = [("" if number == len(wide) - 1 and not differ else self._every(when),
                                partial(self._guarded, entry, operand, region, name, dtype))
                               for number, (operand, region, when) in enumerate(wide)]
        if differ:
            cases.append(("", lambda: self._lane_by_lane(entry, sides, name, dtype)))
        self.text.cases(cases)
        return Value(name, dtype, self.lanes, half)

    def _update(self, entry: Entry) -> Value:
        """Return the value of a dynamic-update-slice: the update inside its region, and the operand outside."""
        region = entry.regions[0]
        kept = self.moved(self.read(self.partition.operand(entry, 0), entry.region))
        if region.map == EMPTY:
            return kept
        self.bind(region.runtimes, entry.region)
        return self._or_else(entry, 1, kept)

    # ---- runtime variables ----

    def bind(self, runtimes: "Sequence[Runtime]", where: Region) -> None:
        """Write the definitions of runtime variables. Each value is read, clamped to the variable's bounds, and then
        converted to the index type. The definitions precede the step if possible.
        """
        before = self.bound_before(tuple(runtimes), where)
        if before:
            text, loads = self.text, self._loads
            self.text, self._loads = self.before, {}     # read the runtime variables before the step, and not in it
        self._bind(runtimes, where)
        if before:
            self.text, self._loads = text, {**self._loads, **loads}

    def _bind(self, runtimes: "Sequence[Runtime]", where: Region) -> None:
        for runtime in runtimes:
            value = self.read(runtime.read, where)
            t, dtype = self.d.index[self.index_type], value.dtype
            signed = dtypes.TABLE[dtype].kind == "sint"
            bounded = runtime.last < 1 << (dtypes.TABLE[dtype].bits - signed)
            if value.lanes == 1:
                x = value.text
                low = f"{x} < 0 ? 0 : " if signed else ""
                last = str(runtime.last) if runtime.last < 1 << 31 else self.d.literal(runtime.last, dtype)
                high = f"{x} > {last} ? {last} : " if bounded else ""
                self.text.add(Let(t, runtime.name, f"({t})({low}{high}{x})"))
            else:
                def nearer(opcode: str, limit: int) -> Value:
                    return self.apply(opcode, {}, dtype, [dtype, dtype], [value, ops.constant(self.d, limit, dtype)],
                                      "index")

                value = nearer("maximum", 0) if signed else value
                value = nearer("minimum", runtime.last) if bounded else value
                name = self._lanes_of[runtime.name] = self.name(f"{runtime.name}_l", "")
                self.text.add(Declare(t, name, count=self.lanes),
                              self.each_lane(Assign(f"{name}[lane]",
                                                    f"({t}){self._lane_array(value, runtime.name + '_x')}")))

    # ---- loops ----

    @contextmanager
    def _loops(
        self, entry: Entry, loop: Region, inside: Region, down: bool = False, free: bool = False
    ) -> "Iterator[bool]":
        """Open the loops of a region, and the condition of a guard inside them. Yield False if the condition never
        holds, else True.

        down: true if the loops count down.
        free: true if the loops may be in any order. Then the innermost loop is the one with the smallest distance in
            memory.
        """
        names = loop.ranges[:len(loop_sizes(entry.instruction))]
        sizes = [self.partition.ranges[name] for name in names]
        tests = self._conditions(inside) if inside is not loop else []
        if 0 in sizes or tests is None:
            yield False
            return
        loops = [For(self.d.index[self.index_type], v, str(n), falling=down) for v, n in zip(names, sizes)]
        outermost, reads = self._before_loops is None, len(self.touched)
        if outermost:
            self._before_loops = []
        self._held += tests
        with self.text.nested(*loops, *([If(" && ".join(tests))] if tests else [])) as (around, at):
            yield True
        if free and len(names) > 1:
            steps = self._steps(names, [access.position for access in self.touched[reads:] if access.verb == "read"])
            interchange(loops, sorted(range(len(names)), key=lambda n: -steps[n]))
        del self._held[len(self._held) - len(tests):]
        if outermost:
            around[at:at], self._before_loops, self._zeros = self._before_loops or [], None, ""

    def _steps(self, names: "Sequence[str]", flats: "Sequence[str]") -> List[int]:
        """Return, for each loop, the distance in memory between its iterations. The distances are those of the first
        read with constant strides, or zeros if there is none.
        """
        for flat in flats:
            variables = {v.name for v in algebra.info(flat).variables}
            strides = [self.stride(flat, name)[0] if name in variables else 0 for name in names]
            if None not in strides and any(strides):
                return [abs(stride or 0) for stride in strides]
        return [0] * len(names)

    def _variable(self, of: str, start: Value) -> Value:
        """Declare a variable with its first value."""
        name, start = self.name(of), self.real(start)
        self.text.add(Declare(self.type(start.dtype, self.lanes), name, self.splat(start)))
        return Value(name, start.dtype, self.lanes)

    def _reduce(self, entry: Entry) -> List[Value]:
        instruction, loop, inside = entry.instruction, entry.regions[0], entry.regions[-1]
        count = len(instruction.operands) // 2
        sums = [self._variable(instruction.name, self.read(self.partition.operand(entry, count + k), entry.region))
                for k in range(count)]
        if self.partition.operand(entry, 0, inside).map == EMPTY:
            return sums
        with self._loops(entry, loop, inside, free=combiner.analyse(instruction).free) as some:
            if some:
                self.region(inside)
                x = sums + [self.read(self.partition.operand(entry, k, inside), inside) for k in range(count)]
                names = [v.text for v in sums]
                for name, value in zip(names, self._settled([self.real(v)
                                                             for v in self.scalar(instruction.called[0], x)], names)):
                    self.text.add(Assign(name, self.splat(value)))
        return [replace(v, rounded=not (self.excess and v.dtype in SMALL)) for v in sums]

    def _product(self, entry: Entry) -> Value:
        """Write the loop of a sum of products, and return the sum. The operands are converted to the accumulator's
        type. The sum is rounded to the result's type after the loop.
        """
        instruction, loop, inside = entry.instruction, entry.regions[0], entry.regions[-1]
        kind = accumulator(instruction)

        def convert(value: Value, of: str, to: str) -> Value:
            return value if of == to else self.apply("convert", {}, to, [of], [value], instruction.name)
        total = self._variable(instruction.name, Value(self.d.literal(0, kind), kind))
        with self._loops(entry, loop, inside) as some:
            if some:
                self.region(inside)
                x = [convert(self.read(self.partition.operand(entry, k, inside), inside), o.shape.dtype, kind) for k,
                     o in enumerate(instruction.operands)]
                # operands 2 and 3 of scaled-dot are scales
                x = [self.apply("multiply", {}, kind, [kind, kind], [value, scale], "scaled") for value,
                     scale in zip(x, x[2:])] or x
                product = self.apply("multiply", {}, kind, [kind, kind], x, "product")
                self.text.add(Assign(total.text, self.splat(self.apply("add", {}, kind, [kind, kind], [total, product],
                                                                       "next"))))
        return convert(total, kind, instruction.shape.dtype)

    def _number(self, sizes: "Sequence[int]", names: "Sequence[str]") -> str:
        """Return the C text of the row-major number of a window's element. names: the variables of its index."""
        shape = array_shape("s32", tuple(sizes))
        flat = algebra.rename(memory_map(shape), *names) if names else memory_map(shape)
        return algebra.c_text(flat, self.index_type).results[0]

    def _window_choice(self, entry: Entry) -> Value:
        """Write a loop over the elements of a window. Return the row-major number of the selected element (0 for the
        first), or the window's element count if all elements are padding.
        """
        instruction, (loop, inside) = entry.instruction, entry.regions
        dtype, sizes = instruction.operands[0].shape.dtype, loop_sizes(instruction)
        # The element's number has a type as wide as the compared values, so that one mask selects the better value and
        # the number of its element.
        number = f"u{self.d.register_bits(dtype)}"
        best_number = self._variable(instruction.name, Value(self.d.literal(math.prod(sizes), number), number))
        if self.partition.operand(entry, 0, inside).map == EMPTY:
            return self.apply("convert", {}, "s32", [number], [best_number], instruction.name)
        best = self._variable(f"{instruction.name}_best", Value(self.d.literal(0, dtype), dtype))
        seen = self.name(f"{instruction.name}_seen")   # a flag that is set after the first element
        self.text.add(Declare("int", seen, "0"))
        with self._loops(entry, loop, inside) as some:
            if some:
                self.region(inside)
                new = self.real(self.read(self.partition.operand(entry, 0, inside), inside))
                element_number = Value(f"({self.d.register(number)})({self._number(sizes, loop.ranges)})", number)
                keep = self.scalar(instruction.attributes["select"], [best, new])[0]
                pairs = ((best, new), (best_number, element_number))

                def first() -> None:
                    self.text.add(*(Assign(kept.text, self.splat(other)) for kept, other in pairs))

                def next_one() -> None:
                    for kept, other in pairs:
                        of = ["pred", kept.dtype, kept.dtype]
                        chosen = self.apply("select", {}, kept.dtype, of, [keep, kept, other], "chosen")
                        self.text.add(Assign(kept.text, self.splat(chosen)))
                self.text.cases([(f"!{seen}", first), ("", next_one)])
                self.text.add(Assign(seen, "1"))
        return self.apply("convert", {}, "s32", [number], [best_number], instruction.name)

    def _window_scatter(self, entry: Entry) -> Value:
        """Write a loop over the windows that contain an element. The source of each window that selects the element is
        combined into the result, in the order of the windows' positions.
        """
        instruction, (places, at_place) = entry.instruction, entry.regions
        dtype = instruction.shape.dtype
        total = self._variable(instruction.name, self.read(self.partition.operand(entry, 2), entry.region))
        if self.partition.operand(entry, 0, at_place).map == EMPTY:
            return total
        # The element's number in the window has a type as wide as the result: a comparison of numbers then gives a mask
        # that can select results.
        number = f"u{self.d.register_bits(dtype)}"
        # Count down the element's number in the window, so that the windows are visited by ascending position.
        with self._loops(entry, places, at_place, True) as some:
            if some:
                self.region(at_place)
                choice = self.real(self.read(self.partition.operand(entry, 0, at_place), at_place))
                place_number = self._number(loop_sizes(instruction), places.ranges)
                with self.text.nested(If(f"{choice.text} == ({self.d.register('s32')})({place_number})") if self.lanes == 1
                                      else Block()):
                    source = self.read(self.partition.operand(entry, 1, at_place), at_place)
                    scattered = self.real(self.scalar(instruction.attributes["scatter"], [source, total])[0])
                    if self.lanes > 1:
                        here = self.apply("convert", {}, number, ["s32"], [choice], "choice")
                        element = Value(f"({self.d.register(number)})({place_number})", number)
                        chosen = self.apply("compare", {"direction": "EQ"}, "pred", [number, number], [here, element],
                                            "chosen")
                        scattered = self.apply("select", {}, dtype, ["pred", dtype, dtype],
                                               [chosen, scattered, total], "scattered")
                    self.text.add(Assign(total.text, self.splat(scattered)))
        return replace(total, rounded=not (self.excess and total.dtype in SMALL))
