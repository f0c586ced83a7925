"""A reference under construction: its arrays, names and steps, and computations on scalars as statements."""

from __future__ import annotations

from typing import Callable, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

from gen.statements import Let, Statement
from gen.hlo import c_identifier, Computation, Instruction
from gen.hlo.graph import root_of
from gen.hlo.reserved import unique
from gen.reference.elements import value_of
from gen.reference.library import Calls, wrapped_list
from gen.reference.types import bits_of, literal_texts, STORAGE
from gen.reference.values import Argument, Array, Scalar, Step

# Called after an op on scalars, with the instruction, its operands, its value, and the statements so far. It may add
# statements, and returns the value to use.
Follow = Callable[[Instruction, List[Scalar], Scalar, List[Statement]], Scalar]

# attributes that are part of a step's title
TITLED = """dimensions slice padding direction iota_dimension dynamic_slice_sizes offset_dims collapsed_slice_dims
    start_index_map operand_batching_dims start_indices_batching_dims index_vector_dim slice_sizes lhs_batch_dims
    lhs_contracting_dims rhs_batch_dims rhs_contracting_dims update_window_dims inserted_window_dims
    scatter_dims_to_operand_dims input_batching_dims scatter_indices_batching_dims""".split()


class Emitter:
    """Turns a computation into steps. Each step is one HLO op."""

    def __init__(self) -> None:
        self.steps: List[Step] = []
        self.names: Set[str] = set()
        # The computations that loops and branches call, as C functions. functions: their names. bodies: for each name,
        # the texts of the function and of all functions that it calls.
        self.functions: Dict[Tuple[Computation, FrozenSet[int]], str] = {}
        self.bodies: Dict[str, Dict[str, str]] = {}
        # for the current step: the functions that it calls, and the constants that its computations on scalars read
        self.call, self.touched = Calls(), []  # type: Calls, List[Array]

    def unique(self, name: str) -> str:
        return unique(name, self.names)

    def array(self, name: str, dtype: str, dims: Sequence[int], given: Optional[Argument] = None) -> Array:
        return Array(self.unique(f"{'v' if dtype in STORAGE else 'r'}_{plain(name)}"), dtype, tuple(dims), given)

    def result(self, i: Instruction) -> Array:
        """Return a new array for the result of an op."""
        if i.shape.dtype not in STORAGE:
            raise ValueError(f"the type {i.shape.dtype} has no reference")
        return self.array(i.name, i.shape.dtype, i.shape.dims)

    def moved(self, i: Instruction, of: Array) -> Array:
        """Return a new array for the result of an op that moves elements. Its elements have the type of `of`."""
        return self.array(i.name, of.dtype, i.shape.dims)

    def constant(self, i: Instruction) -> Array:
        out = self.result(i)
        literal, size, bits = i.literal or [], max(1, out.count), bits_of(out.dtype)
        values = literal_texts(out.dtype, literal)
        if values is None:  # f32 and f64 NaNs are defined by their bits, so that they keep their payloads
            head = f"static const union {{ uint{bits}_t bits[{size}]; {out.kind} value[{size}]; }} bits_{out.name} ="
            patterns = [f"0x{b:0{bits // 4}x}u" for b in literal]
            out.literal = [*wrapped_list(head, patterns, "{{", "}}"),
                           f"static const {out.kind} *const {out.name} = bits_{out.name}.value;"]
        else:
            out.literal = wrapped_list(f"static const {out.kind} {out.name}[{size}] =", values or ["0"])
        return out

    def step(self, title: str, lines: Sequence[Statement], defines: Sequence[Array], uses: Sequence[Array]) -> None:
        self.steps.append(Step(title, list(lines), list(defines), [*uses, *self.touched], self.call.texts))
        self.begin()

    def begin(self) -> None:
        """Begin a step."""
        self.call, self.touched = Calls(), []

    def inline(self, computation: Computation, arguments: Sequence[Scalar], lines: List[Statement],
               follow: Optional[Follow] = None) -> List[Scalar]:
        """Add the statements of a computation on scalars to `lines`, and return its results."""
        live = reachable(computation)
        known: Dict[int, List[Scalar]] = {}
        for i in computation.instructions:
            if id(i) not in live:
                continue
            x = [known[id(o)] for o in i.operands]
            if i.opcode == "parameter":
                known[id(i)] = [arguments[number_of(i)]]
            elif i.opcode == "tuple":
                known[id(i)] = [s for group in x for s in group]
            elif i.opcode == "get-tuple-element":
                known[id(i)] = [x[0][i.attributes["index"]]]
            elif i.opcode in ("fusion", "call", "map"):
                key = "calls" if i.opcode == "fusion" else "to_apply"
                known[id(i)] = self.inline(i.attributes[key], [s for group in x for s in group], lines, follow)
            elif i.opcode in ("copy", "broadcast", "reshape", "bitcast",
                              "transpose") and i.operands[0].shape.dtype == i.shape.dtype:
                known[id(i)] = x[0]
            else:
                operands = [group[0] for group in x]
                value = self.local(i, operands, lines)
                known[id(i)] = [follow(i, operands, value, lines) if follow else value]
        return known[id(root_of(computation))]

    def local(self, i: Instruction, x: Sequence[Scalar], lines: List[Statement]) -> Scalar:
        dtype = i.shape.dtype
        if i.shape.dims:
            raise ValueError(f"'{i.name}' in a scalar computation is {i.shape.text}")
        if i.opcode == "constant":
            array = self.constant(i)
            self.touched.append(array)
            return Scalar(f"{array}[0]", dtype)
        name = self.unique(f"s_{plain(i.name)}")
        lines.append(Let(STORAGE[dtype], name, value_of(self.call, i.opcode, i.attributes, dtype, x)))
        return Scalar(name, dtype)


def number_of(parameter: Instruction) -> int:
    assert parameter.parameter_number is not None
    return parameter.parameter_number


def plain(name: str) -> str:
    return c_identifier(f"k{name}")[1:]


def title(i: Instruction) -> str:
    """Return the title of an op's step, which resembles the op's line in HLO text."""
    operands = ", ".join(o.name for o in i.operands)
    if i.opcode == "constant":
        operands = "..." if i.shape.elements > 1 else ""
    words = [f"{i.name} = {i.shape.text} {i.opcode}({operands})"]
    words += [f"{key}={listed(i.attributes[key])}" for key in TITLED if key in i.attributes]
    words += [f"window={{{i.attributes['window'].text}}}"] if "window" in i.attributes else []
    words += [f"dim_labels={i.attributes['dim_labels'].text}"] if "dim_labels" in i.attributes else []
    words += [f"to_apply={i.attributes['to_apply'].name}"] if "to_apply" in i.attributes else []
    return ", ".join(words)


def listed(value: object) -> str:
    return "{" + ",".join(map(listed, value)) + "}" if isinstance(value, tuple) else str(value)


def reachable(computation: Computation) -> Set[int]:
    """Return the ids of the instructions on which the root depends."""
    seen: Set[int] = set()
    waiting = [root_of(computation)]
    while waiting:
        instruction = waiting.pop()
        if id(instruction) not in seen:
            seen.add(id(instruction))
            waiting.extend(instruction.operands)
    return seen
