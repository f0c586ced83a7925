"""Code that the heroes of sort and topk share: rows of arrays, and the C text of keys and comparators.

A row is the sequence of elements along the sorted dimension. Rows are numbered in the row-major order of the other
dimensions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Dict, List, Optional, Sequence, Tuple, Union

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form
from gen.emit.helpers import Helpers
from gen.statements import Let, Return
from gen.emit.values import Touched, Value
from gen.heroes.hero import Context
from gen.heroes.kernel import CFunction
from gen.hlo import Computation, Instruction, Shape, array_shape, dtypes
from gen.hlo.order import Key, by_total_order, computation_of, keys, needed, reached
from gen.plan.buffer import Buffer
from gen.plan.buffers import memory_map, strides_of
from gen.plan.partition import Function, compose
from gen.plan.whole import Whole
from gen.targets import Target, bits


@dataclass(frozen=True)
class Order:
    """The order of the elements of a row. keys: the sort keys; None if it cannot be proven that the comparator is an
    order.
    """

    comparator: Computation
    keys: Optional[Tuple[Key, ...]]

    @property
    def bits(self) -> int:
        """Return the number of bits of all keys together."""
        return sum(key.bits for key in self.keys or ())

    def groups(self) -> "List[Tuple[Key, ...]]":
        """Return the keys in groups of at most 64 bits, the most significant group first. Each group is sorted as one
        key.
        """
        groups: List[List[Key]] = []
        for key in self.keys or ():
            if groups and sum(other.bits for other in groups[-1]) + key.bits <= 64:
                groups[-1].append(key)
            else:
                groups.append([key])
        return [tuple(group) for group in groups]


@lru_cache(maxsize=1024)
def order_of(op: Instruction) -> Order:
    if op.opcode == "topk":
        comparator = by_total_order(op.operands[0].shape.dtype, op.attributes.get("largest", True))
    else:
        comparator = op.attributes["to_apply"]
    found = keys(comparator)
    return Order(comparator, None if found is None else tuple(found))


@dataclass(frozen=True)
class Lane:
    """The rows of an array in memory.

    base: C text of the position of the first element of row `row`; "" if there is only one row.
    stride: distance between adjacent elements of a row.
    """

    buffer: Buffer
    base: str
    stride: int

    def at(self, place: str, base: str) -> str:
        """Return the element at index `place` of the row, as C text. base: the name of the C variable that has the
        position of the row's first element. It is unused if the field `base` is empty.
        """
        step = place if self.stride == 1 else f"({place}) * {self.stride}"
        return f"{self.buffer.pointer}[{base} + {step}]" if self.base else f"{self.buffer.pointer}[{step}]"


@dataclass(frozen=True)
class Places:
    """An operand (an iota) whose elements are equal to their indices in the row. It is not in memory. type: the type of
    an element.
    """

    type: str
    base: str = ""
    stride: int = 1

    def at(self, place: str, base: str) -> str:
        return f"({self.type})({place})"


class SortedRows:
    """The rows of a sort or topk. size: number of elements of a row. kept: number of elements of a row in the results.
    """

    def __init__(self, nest: Whole) -> None:
        self.nest, self.op = nest, nest.op
        dims = nest.op.operands[0].shape.dims
        self.along = nest.op.attributes["dimensions"][0] if nest.op.opcode == "sort" else len(dims) - 1
        self.size, self.kept = dims[self.along], nest.results[0].shape.dims[self.along]
        self.others = [size for d, size in enumerate(dims) if d != self.along]
        self.count = math.prod(self.others)

    def maps(self, shape: Shape) -> str:
        """Return the map (row, index in the row) -> (position in the array's memory)."""
        index, rest = [], self.count
        for d, size in enumerate(shape.dims):
            if d == self.along:
                index.append("place")
                continue
            rest //= max(1, size)
            index.append(f"row floordiv {rest} mod {size}" if size else "0")
        return compose(f"(row, place) -> ({', '.join(index)}), domain: row in [0, {max(0, self.count - 1)}], "
                       f"place in [0, {max(0, shape.dims[self.along] - 1)}]", memory_map(shape))

    def all_maps(self) -> List[str]:
        """Return the maps from (row, index in the row) to positions (`maps`), one for each array in memory."""
        return [self.maps(buffer.shape) for buffer in self.buffers if buffer.shape.elements]

    def lane(self, buffer: Buffer, index_type: str) -> Lane:
        base = algebra.substitute(self.maps(buffer.shape), place=0)
        (text,) = algebra.c_text(algebra.simplify(base), index_type).results
        return Lane(buffer, text if self.count > 1 else "", strides_of(buffer.shape)[self.along])

    def lanes(self, d: Target, index_type: str) -> "List[Union[Lane, Places]]":
        """Return the rows of the operands, then the rows of the results."""
        buffers = iter(self.buffers)
        operands = [self.lane(next(buffers), index_type) if o.opcode == "parameter" else Places(d.memory(o.shape.dtype))
                    for o in self.op.operands]
        return [*operands, *(self.lane(buffer, index_type) for buffer in buffers)]

    @property
    def buffers(self) -> List[Buffer]:
        return [*self.nest.operands, *self.nest.results]

    def touched(self, results: bool = True) -> List[Touched]:
        """Return the memory accesses of the kernel, which `gen explain` prints."""
        return [Touched(verb, buffer, self.maps(buffer.shape))
                for verb, buffers in (("read", self.nest.operands), ("write", self.nest.results if results else []))
                for buffer in buffers]


class SortWriter:
    """The writer of C functions and expressions that read, compare and pack elements of the operands."""

    def __init__(self, nest: Whole, context: Context, index_type: str) -> None:
        self.nest, self.d, self.index_type = nest, context.target, index_type
        self.helpers: Helpers = context.helpers
        self.order = order_of(nest.op)

    def body(self, name: str) -> Body:
        return Body(self.d, self.helpers, Form(self.nest.partition, Function(name, ())), self.index_type)

    def used(self, computation: Computation) -> List[int]:
        """Return the indices of the operands that a computation reads."""
        numbers = {i.parameter_number or 0 for i in computation.instructions if i.opcode == "parameter"}
        return [k for k in range(len(self.nest.op.operands)) if numbers & {2 * k, 2 * k + 1}]

    def key_function(self, name: str, group: Sequence[Key]) -> "Tuple[CFunction, List[int]]":
        """Return two values: a C function that computes this group of keys for one index of the row, and the indices of
        the operands whose elements are the function's arguments.
        """
        body, computation = self.body(name), computation_of(group, self.order.comparator)
        used = self.used(computation)
        values = [self.loaded(body, f"x{k}", k) if k in used else Value("0", "u8")
                  for k in range(len(self.nest.op.operands))]
        found = body.scalar(computation, [value for value in values for _ in (0, 1)])
        total = sum(key.bits for key in group)
        text, done = "", 0
        for key, value in zip(group, found):
            part = self.ordered(body, key, value, total > 32)
            done += key.bits
            part = f"({part} << {total - done})" if total > done else part
            text = f"{text} | {part}" if text else part
        parameters = [f"{self.memory(k)} x{k}" for k in used]
        return CFunction(name, self.key_type(group), ", ".join(parameters) or "void", [*body.text.lines, Return(text)]), used

    def key_type(self, group: Sequence[Key]) -> str:
        return self.d.types["u64" if sum(key.bits for key in group) > 32 else "u32"]

    def less_function(self, name: str) -> "Tuple[CFunction, List[int]]":
        """Return the comparator as a C function, and the indices of the operands that it reads. For each of these
        operands, the function has two arguments: the elements x and y.
        """
        body, comparator = self.body(name), needed(self.order.comparator)
        used = self.used(comparator)
        values = [self.loaded(body, f"{side}{k}", k) if k in used else Value("0", "u8")
                  for k in range(len(self.nest.op.operands)) for side in "xy"]
        (value,) = body.scalar(comparator, values)
        parameters = [f"{self.memory(k)} {side}{k}" for side in "xy" for k in used]
        return CFunction(name, "int", ", ".join(parameters) or "void",
                         [*body.text.lines, Return(f"{value.text} != 0")]), used

    def memory(self, k: int) -> str:
        return self.d.memory(self.nest.op.operands[k].shape.dtype)

    def loaded(self, body: Body, text: str, k: int) -> Value:
        """Return an element of an operand, loaded from memory."""
        dtype = self.nest.op.operands[k].shape.dtype
        return body.declare("x", dtype, 1, body.from_memory(dtype, text), dtype == "f16")

    def ordered(self, body: Body, key: Key, value: Value, wide: bool) -> str:
        """Return the key as an unsigned integer of the same number of bits and the same order."""
        kind, width = dtypes.TABLE[key.dtype].kind, key.bits
        u, value = self.d.types["u64" if width == 64 else "u32"], body.moved(value)
        last = self.d.literal((1 << width) - 1, "u64" if width == 64 else "u32")
        half = self.d.literal(1 << (width - 1), "u64" if width == 64 else "u32")
        text = f"({u}){value.text}"
        if kind == "float":
            text = f"({u}){self.helpers.need('total_order', key.dtype)}({value.text})"
        if kind in ("float", "sint"):
            text = f"({text} + {half})"
        if key.descending:
            text = f"({last} - {text})"
        name = body.name("key", "")
        body.text.add(Let(u, name, text))
        return f"({self.d.types['u64']}){name}" if wide and width < 64 else name


@dataclass(frozen=True)
class Field:
    """The bits of one operand in a word: `bits` bits from bit `shift` on.

    key: the sort key that these bits represent, mapped so that integer order is the key's order. None: the bits are the
        operand's bits, unchanged.
    """

    operand: int
    dtype: str
    shift: int
    bits: int
    key: Optional[Key]

    def ordered(self, text: str, u: str, mask: str, half: str) -> str:
        """Return the operand's bits `text` as an unsigned integer in the key's ascending order, as C text of type `u`.
        mask: all bits of the field. half: the sign bit."""
        about = dtypes.TABLE[self.dtype]
        if about.style == "fnuz":  # the bits of -0 are a NaN, the lowest value
            return f"({text} & {half} ? (0u - {text}) & 127u : {text} ^ {half})"
        if about.kind == "float" and about.style != "scale":  # invert negative numbers by arithmetic, without a branch
            return f"({text} ^ ({_narrow(f'(({u})0 - ({text} >> {self.bits - 1}))', self.bits, mask)} | {half}))"
        return f"({text} ^ {half})" if about.kind == "sint" else text

    def unordered(self, text: str, mask: str, half: str) -> str:
        """Return the operand's bits for an integer that `ordered` returned."""
        about = dtypes.TABLE[self.dtype]
        if about.style == "fnuz":
            return f"({text} & {half} ? {text} ^ {half} : ((0u - {text}) & 127u) | {half})"
        if about.kind == "float" and about.style != "scale":
            return f"({text} ^ ({_narrow(f'(({text} >> {self.bits - 1}) - 1)', self.bits, mask)} | {half}))"
        return f"({text} ^ {half})" if about.kind == "sint" else text


def _narrow(text: str, bits: int, mask: str) -> str:
    """Return the low `bits` bits of an integer of at least 32 bits, as C text."""
    return text if bits in (32, 64) else f"({text} & {mask})"


@dataclass(frozen=True)
class Word:
    """The elements of all operands at one index of the row, packed into one unsigned integer. The operands from which
    keys are computed are in the high bits. If every element is its own key, the order of these integers is the order of
    the elements. If there are several operands, different words may have equal keys, so the sort must be stable.

    sure: true if every element is its own key.
    constants: constants that may be the key in place of an element. For example, JAX's comparators replace all zeros by
        one zero and all NaNs by one NaN. Empty if `sure` is true. Otherwise None if there are several keys, or if the
        key may be anything else than the element or a constant.
    """

    d: Target
    fields: Tuple[Field, ...]
    sure: bool
    constants: Optional[Tuple[Key, ...]]

    @staticmethod
    def of(d: Target, nest: Whole) -> "Optional[Word]":
        shapes, found = [operand.shape for operand in nest.op.operands], order_of(nest.op).keys
        total = sum(bits(shape.dtype) for shape in shapes)
        if found is None or any(dtypes.is_complex(shape.dtype) for shape in shapes) or total > 64:
            return None
        keyed: Dict[int, Key] = {}
        for key in found:
            used = _parameters(key.value)
            number = used[0] // 2 if len(used) == 1 else -1
            if number < 0 or number in keyed or shapes[number].dtype != key.dtype:
                return None
            keyed[number] = key
        fields, shift = [], total
        for k in [*keyed, *(k for k in range(len(shapes)) if k not in keyed)]:
            shift -= bits(shapes[k].dtype)
            fields.append(Field(k, shapes[k].dtype, shift, bits(shapes[k].dtype), keyed.get(k)))
        sure = all(key.value.opcode == "parameter" for key in found)
        constants = _constants(found[0].value) if len(found) == 1 else None
        return Word(d, tuple(fields), sure, () if sure else None if constants is None else
                    tuple(Key(value, found[0].descending) for value in constants))

    @property
    def one(self) -> bool:
        """Return true if there is only one operand. Words with equal keys are then equal."""
        return len(self.fields) == 1

    @property
    def bytes(self) -> int:
        return bits(self.dtype) // 8

    @property
    def saved(self) -> int:
        """Return the bytes of an element in the buffer that saves elements before the sort; 0 if there is none. An
        element is saved if its key is a constant, because this key does not tell which element it was computed from.
        """
        return self.fields[0].bits // 8 if self.constants else 0

    @property
    def dtype(self) -> str:
        return "u64" if sum(field.bits for field in self.fields) > 32 else "u32"

    @property
    def type(self) -> str:
        return self.d.types[self.dtype]

    @property
    def rest(self) -> int:
        """Return the number of bits of a word that belong to no key. They are its lowest bits."""
        return sum(field.bits for field in self.fields if field.key is None)

    def number(self, value: int, bits: int) -> str:
        return self.d.literal(value, "u64" if bits == 64 else "u32")

    def _by_key(self, field: Field, key: str) -> bool:
        """Return true if the field has the value of the key function `key` for every element. If this is false for
        the first field, the field has this value only for elements for which the value is one of the constants.
        """
        return bool(key) and field is self.fields[0] and (field.bits >= 32 or dtypes.TABLE[field.dtype].kind != "float")

    def function(self, name: str, memory: Sequence[str], key: str = "", constants: Sequence[str] = ()) -> CFunction:
        """Return the C function that computes a word from one element of each operand.

        memory: the C types that the elements have in memory.
        key: the name of the comparator's key function, whose value becomes the first field. The key function converts
            floats of less than 32 bits, which changes some NaNs. For such floats, the value is used only if it is in
            `constants`; otherwise the first field is computed from the element's bits.
        """
        lines: List[Let] = []
        parts: List[str] = []
        for field in self.fields:
            k, u = field.operand, self.d.types["u64" if field.bits == 64 else "u32"]
            text = self.d.reinterpret(f"x{k}", field.dtype, f"u{field.bits}") if field.dtype in ("f32", "f64") \
                else f"({self.d.types[f'u{field.bits}']})x{k}"
            if not self._by_key(field, key):
                lines.append(Let(u, f"bits{k}", text))
            last, half = (self.number(value, field.bits) for value in ((1 << field.bits) - 1, 1 << field.bits - 1))
            text = field.ordered(f"bits{k}", u, last, half) if field.key else f"bits{k}"
            if field.key and field.key.descending:
                text = f"({last} - {text})"
            if key and not parts:
                lines.append(Let(u, "key", f"{key}(x{k})"))
                same = " || ".join(f"key == {constant}" for constant in constants)
                text = "key" if self._by_key(field, key) else f"({same} ? key : {text})"
            text = f"({self.type}){text}" if self.dtype == "u64" and field.bits < 64 else text
            parts.append(f"({text} << {field.shift})" if field.shift else text)
        parameters = ", ".join(f"{memory[k]} x{k}" for k in range(len(self.fields)))
        return CFunction(name, self.type, parameters, [*lines, Return(" | ".join(parts))])

    def part(self, name: str, field: Field, memory: str) -> CFunction:
        """Return the C function that extracts an operand's element from a word. The element has the C type that it has
        in memory.
        """
        u = self.d.types["u64" if field.bits == 64 else "u32"]
        text = f"w >> {field.shift}" if field.shift else "w"
        if field.bits not in (32, 64):
            text = f"({text}) & {(1 << field.bits) - 1}u" if field.shift else f"{text} & {(1 << field.bits) - 1}u"
        last, half = (self.number(value, field.bits) for value in ((1 << field.bits) - 1, 1 << field.bits - 1))
        lines = [Let(u, "x", f"({u})({text})")]
        text = "x"
        if field.key and field.key.descending:
            lines.append(Let(u, "y", f"{last} - x"))
            text = "y"
        if field.key:
            text = field.unordered(text, last, half)
        text = self.d.reinterpret(text, f"u{field.bits}", field.dtype) if field.dtype in ("f32", "f64") else \
            f"({memory})({self.d.types[f'u{field.bits}']}){text}"
        return CFunction(name, memory, f"{self.type} w", [*lines, Return(text)])


def _constants(value: Instruction) -> Optional[List[Instruction]]:
    """If `value` is a parameter, or selects between a parameter and constants, return the constants; else None."""
    found = []
    while value.opcode == "select":
        arms = sorted(value.operands[1:], key=lambda arm: arm.opcode != "constant")
        if arms[0].opcode != "constant":
            return None
        found.append(arms[0])
        value = arms[1]
    return found if value.opcode == "parameter" else None


def _parameters(value: Instruction) -> List[int]:
    """Return the parameter numbers of the parameters that a value depends on."""
    return sorted({i.parameter_number or 0 for i in reached(value) if i.opcode == "parameter"})


def scratch(dtype: str, count: int) -> Shape:
    return array_shape(dtype, (max(1, count),))
