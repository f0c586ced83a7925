"""Arrays, names and steps of a reference under way, and computations on scalars, which become statements."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence, Set, Tuple

from gen.hlo import Computation, Instruction, Shape
from gen.reference.elements import value_of
from gen.reference.intervals import interval_of_op, own_error
from gen.reference.library import wrapped_list
from gen.reference.types import (
    as_double,
    bits_of,
    FLOATS,
    from_double,
    key_of,
    literal_text,
    load,
    of_key,
    SMALL,
    STORAGE,
    TINY,
)
from gen.reference.values import Array, Options, Scalar, Step


class Emitter:
    """Turns a computation into steps, each an HLO op; then into a C function."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.steps: List[Step] = []
        self.names: Set[str] = set()
        self.constants: Dict[str, List[str]] = {}
        self.parameters: Dict[str, str] = {}
        self.touched: List[Array] = []  # constants that inlined computations read
        self.unknown: List[str] = []  # where any value is allowed, in words

    # names and arrays

    def unique(self, name: str) -> str:
        base = re.sub(r"\W", "_", name, flags=re.ASCII)
        name, n = base, 1
        while name in self.names:
            n += 1
            name = f"{base}_{n}"
        self.names.add(name)
        return name

    def array(self, name: str, shape: Shape, exact: bool) -> Array:
        if shape.dtype not in STORAGE:
            raise ValueError(f"the type {shape.dtype} has no reference")
        return Array(self.unique(name), shape.dtype, tuple(shape.dims), exact or not self.options.intervals)

    def interval_type(self, dtype: str) -> str:
        return "float" if (dtype in SMALL and self.options.excess_precision) or dtype in TINY else STORAGE[dtype]

    def step(self, title: str, lines: Sequence[str], defines: Sequence[Array], uses: Sequence[Array]) -> None:
        self.steps.append(Step(title, list(lines), list(defines), list(uses) + self.touched))
        self.touched = []

    def element(self, array: Array, position: str) -> Scalar:
        """An array's element as a value for an op."""
        v = f"v_{array.name}[{position}]"
        if array.exact:
            return Scalar(v, array.dtype, None, array.bits)
        ends = [f"{end}_{array.name}[{position}]" for end in ("lo", "hi")]
        if array.dtype not in FLOATS:
            return Scalar(v, array.dtype, f"irange_of({key_of(array.dtype, ends[0])}, {key_of(array.dtype, ends[1])})")
        kept = (array.dtype in SMALL and self.options.excess_precision) or array.dtype in TINY
        ends = [f"(double){end}" if kept else as_double(array.dtype, end) for end in ends]
        return Scalar(v, array.dtype, f"range_of({ends[0]}, {ends[1]})", array.bits)

    def put_interval(self, array: Array, position: str, r: str) -> List[str]:
        lines = []
        for end in ("lo", "hi"):
            value = f"{r}.{end}"
            if array.dtype not in FLOATS:
                value = of_key(array.dtype, value)
            elif (array.dtype in SMALL and self.options.excess_precision) or array.dtype in TINY:
                value = f"(float){value}"
            else:
                value = from_double(array.dtype, value)
            lines.append(f"{end}_{array.name}[{position}] = {value};")
        return lines

    def move(self, to: Array, to_position: str, of: Array, of_position: str) -> List[str]:
        """Statements that copy one element, with its interval."""
        lines = [f"v_{to.name}[{to_position}] = v_{of.name}[{of_position}];"]
        if to.exact:
            return lines
        for end in ("lo", "hi"):
            value = f"{end}_{of.name}[{of_position}]"
            if of.exact:
                value = f"v_{of.name}[{of_position}]"
                if (to.dtype in SMALL and self.options.excess_precision) or to.dtype in TINY:
                    value = load(to.dtype, value)
            lines.append(f"{end}_{to.name}[{to_position}] = {value};")
        return lines

    def copy_all(self, to: Array, of: Array) -> List[str]:
        """Statements that copy a whole array whose bytes stay what they are."""
        if to.count == 0:
            return [f"(void)v_{to.name}, (void)v_{of.name};"]
        prefixes = ["v"] + ([] if to.exact else ["lo", "hi"])
        return [f"memcpy({p}_{to.name}, {p}_{of.name}, {self.size(to, p)});" for p in prefixes]

    def size(self, array: Array, prefix: str) -> str:
        kind = STORAGE[array.dtype] if prefix == "v" else self.interval_type(array.dtype)
        return f"{array.count} * sizeof({kind})"

    def title(self, i: Instruction) -> str:
        operands = ", ".join(o.name for o in i.operands)
        if i.opcode == "constant":
            operands = "..." if i.shape.elements > 1 else ""
        words = [f"{i.name} = {i.shape.text} {i.opcode}({operands})"]
        for key in ("dimensions", "slice", "padding", "direction", "iota_dimension", "dynamic_slice_sizes",
                    "offset_dims", "collapsed_slice_dims", "start_index_map", "operand_batching_dims",
                    "start_indices_batching_dims", "index_vector_dim", "slice_sizes", "lhs_batch_dims",
                    "lhs_contracting_dims", "rhs_batch_dims", "rhs_contracting_dims", "update_window_dims",
                    "inserted_window_dims", "scatter_dims_to_operand_dims", "input_batching_dims",
                    "scatter_indices_batching_dims"):
            if key in i.attributes:
                words.append(f"{key}={plain(i.attributes[key])}")
        words += [f"window={{{i.attributes['window'].text}}}"] if "window" in i.attributes else []
        words += [f"dim_labels={i.attributes['dim_labels'].text}"] if "dim_labels" in i.attributes else []
        if "to_apply" in i.attributes:
            words.append(f"to_apply={i.attributes['to_apply'].name}")
        return ", ".join(words)

    def moved(self, i: Instruction, x: Sequence[Array]) -> Array:
        out = self.array(i.name, i.shape, all(a.exact for a in x))
        out.bits = all(a.bits for a in x)
        return out

    def constant(self, i: Instruction) -> Array:
        out = self.array(i.name, i.shape, True)
        out.home = "given"
        values = [literal_text(out.dtype, bits) for bits in i.literal]
        raw = any(value is None for value in values)
        kind, bits = STORAGE[out.dtype], bits_of(out.dtype)
        if raw:  # NaNs keep their payload
            values = [f"0x{b:0{bits // 4}x}u" for b in i.literal]
            size = max(1, out.count)
            head = f"static const union {{ uint{bits}_t bits[{size}]; {kind} value[{size}]; }} bits_{out.name} ="
        else:
            head = f"static const {kind} v_{out.name}[{max(1, out.count)}] ="
        lines = wrapped_list(head, [str(v) for v in values] or ["0"], "{{" if raw else "{", "}}" if raw else "}")
        if raw:
            lines.append(f"const {kind} *const v_{out.name} = bits_{out.name}.value;")
        self.constants[out.name] = lines
        return out

    def op(self, i: Instruction, x: Sequence[Scalar], v: str) -> Tuple[str, Optional[str]]:
        """C text of an op's value, and of its interval (which may name the value v), None where it is exact."""
        opcode, to = i.opcode, i.shape.dtype
        value = value_of(opcode, i.attributes, to, x)
        if not self.options.intervals:
            return value, None
        own = own_error(opcode, i.attributes, to, [s.dtype for s in x], self.options)
        by_bits = i.attributes.get("type") == "TOTALORDER" and not all(s.bits for s in x)
        if not own and not by_bits and all(s.interval is None for s in x):
            return value, None
        same = len(i.operands) == 2 and i.operands[0] is i.operands[1]
        return value, interval_of_op(opcode, i.attributes, to, x, v, same, self.options)

    def inline(self, computation: Computation, arguments: Sequence[Scalar], lines: List[str]) -> List[Scalar]:
        """A computation on scalars as statements, appended to lines; its results."""
        live = reachable(computation)
        known: Dict[int, List[Scalar]] = {}
        for i in computation.instructions:
            if id(i) not in live:
                continue
            x = [known[id(o)] for o in i.operands]
            if i.opcode == "parameter":
                known[id(i)] = [arguments[i.parameter_number]]
            elif i.opcode == "tuple":
                known[id(i)] = [s for group in x for s in group]
            elif i.opcode == "get-tuple-element":
                known[id(i)] = [x[0][i.attributes["index"]]]
            elif i.opcode in ("fusion", "call", "map"):
                key = "calls" if i.opcode == "fusion" else "to_apply"
                known[id(i)] = self.inline(i.attributes[key], [s for group in x for s in group], lines)
            elif i.opcode in ("copy", "broadcast", "reshape", "bitcast",
                              "transpose") and i.operands[0].shape.dtype == i.shape.dtype:
                known[id(i)] = x[0]
            else:
                known[id(i)] = [self.local(i, [group[0] for group in x], lines)]
        return known[id(computation.root)]

    def local(self, i: Instruction, x: Sequence[Scalar], lines: List[str]) -> Scalar:
        if i.shape.dims:
            raise ValueError(f"'{i.name}' in a scalar computation is {i.shape.text}")
        if i.opcode == "constant":
            array = self.constant(i)
            self.touched.append(array)
            return Scalar(f"v_{array.name}[0]", array.dtype)
        name = self.unique(i.name)
        value, interval = self.op(i, x, f"s_{name}")
        lines.append(f"const {STORAGE[i.shape.dtype]} s_{name} = {value};")
        if interval is None:
            return Scalar(f"s_{name}", i.shape.dtype, None, keeps_bits(i, x))
        lines.append(f"const {'range' if i.shape.dtype in FLOATS else 'irange'} r_{name} = {interval};")
        return Scalar(f"s_{name}", i.shape.dtype, f"r_{name}", keeps_bits(i, x))


def keeps_bits(i: Instruction, x: Sequence[Array | Scalar]) -> bool:
    """Whether an elementwise op's result has no NaN of its own making."""
    return i.shape.dtype not in FLOATS or (i.opcode in ("select", "copy") and all(a.bits for a in x[-2:]))


def reachable(computation: Computation) -> Set[int]:
    """The instructions that the root needs, by id."""
    seen: Set[int] = set()
    waiting = [computation.root]
    while waiting:
        instruction = waiting.pop()
        if id(instruction) not in seen:
            seen.add(id(instruction))
            waiting.extend(instruction.operands)
    return seen


def plain(value: object) -> str:
    if isinstance(value, tuple):
        return "{" + ",".join(plain(v) for v in value) + "}"
    return str(value)
