"""The graph of a module as data: shapes, instructions, computations, fusions and launches. Shape texts are parsed by
the C headers only (through gen/algebra).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

from gen import algebra
from gen.hlo import dtypes

TUPLE_DEPTH = 64  # maximum depth of nested tuples


class HloError(Exception):
    """A fault in the text, with line and column, both from 1. str() of it is what a user sees after `error: `."""

    def __init__(self, filename: str, line: int, col: int, message: str) -> None:
        super().__init__(f"{filename}:{line}:{col}: {message}")
        self.filename, self.line, self.col, self.message = filename, line, col, message


@dataclass(frozen=True)
class Shape:
    """A shape.

    text: the canonical text
    kind: 'array', 'tuple' or 'token' (opaque types and buffers count as 'token')
    place: for an array inside a larger buffer, the map from its positions to the buffer's positions
    lead: the runtime variable in `place` that is the distance between the buffer's rows; "" if that distance is
        constant
    """

    text: str
    kind: str = "array"
    dtype: str = ""
    dims: Tuple[int, ...] = ()
    minor_to_major: Tuple[int, ...] = ()
    elements: int = 0
    bytes: int = 0
    tiled: bool = False
    children: Tuple["Shape", ...] = ()
    dynamic: bool = False
    place: str = ""
    lead: str = ""

    @property
    def dense(self) -> "Shape":
        """Return the shape that this array would have if it had a buffer of its own."""
        return replace(self, place="", lead="")

    def leaves(self) -> "List[Shape]":
        """Return the shapes inside a tuple that are not tuples, in order; an array has one leaf, itself."""
        if self.kind != "tuple":
            return [self]
        return [leaf for child in self.children for leaf in child.leaves()]

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def depth(self) -> int:
        """Return the depth of nested tuples; 0 for an array."""
        return 1 + max((child.depth for child in self.children), default=0) if self.kind == "tuple" else 0


@dataclass(frozen=True)
class Window:
    """The window of a reduce-window or a convolution, as in HLO's text. Each field has one number for each dimension.

    reversal: 1 if a convolution reads its kernel operand backwards
    """

    size: Tuple[int, ...] = ()
    stride: Tuple[int, ...] = ()
    low: Tuple[int, ...] = ()
    high: Tuple[int, ...] = ()
    base_dilation: Tuple[int, ...] = ()
    dilation: Tuple[int, ...] = ()
    reversal: Tuple[int, ...] = ()

    @property
    def dilated(self) -> bool:
        return any(n > 1 for n in self.base_dilation + self.dilation)

    @property
    def text(self) -> str:
        ones, zeros = (1,) * len(self.size), (0,) * len(self.size)
        lists: List[Tuple[str, Tuple[Any, ...], Any]] = [("size", self.size, None), ("stride", self.stride, ones),
                 ("pad", tuple(zip(self.low, self.high)), tuple(zip(zeros, zeros))),
                 ("lhs_dilate", self.base_dilation, ones), ("rhs_dilate", self.dilation, ones),
                 ("rhs_reversal", self.reversal, zeros)]
        words = ["x".join("_".join(map(str, value)) if isinstance(value, tuple) else str(value) for value in values)
                 for _, values, _ in lists]
        return " ".join(f"{name}={word}" for (name, values, plain), word in zip(lists, words) if values
                        and values != plain)

    def places(self, k: int, base: int) -> int:
        """Return the number of window positions along dimension k, for an operand of `base` elements along it."""
        line = (base - 1) * self.base_dilation[k] + 1 if base else 0
        line += self.low[k] + self.high[k]
        reach = (self.size[k] - 1) * self.dilation[k] + 1 if self.size[k] else 0
        return 0 if line <= 0 or reach > line else (line - reach) // self.stride[k] + 1


@dataclass(frozen=True)
class Labels:
    """dim_labels of a convolution. lhs, rhs and out are lists of dimension numbers: of batch and feature (rhs: of input
    and output feature), then of the spatial dimensions.
    """

    text: str
    lhs: Tuple[int, ...]
    rhs: Tuple[int, ...]
    out: Tuple[int, ...]


@dataclass(eq=False)
class Instruction:
    """An op. `attributes` holds parsed values; attributes that the parser does not understand stay text in
    attributes['raw'].
    """

    name: str
    opcode: str
    shape: Shape
    operands: "List[Instruction]" = field(default_factory=list)
    attributes: Dict[str, Any] = field(default_factory=dict)
    users: "List[Instruction]" = field(default_factory=list)
    called: "List[Computation]" = field(default_factory=list)
    parameter_number: Optional[int] = None
    literal: Optional[Sequence[int]] = None
    line: int = 0
    col: int = 0
    computation: "Optional[Computation]" = None
    # line and column of attributes that are checked only after the whole text is parsed
    places: "Dict[str, Tuple[int, int]]" = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<{self.opcode} {self.name} {self.shape.text}>"


@dataclass(eq=False)
class Computation:
    """A list of instructions in which operands precede their users.

    depth: the depth of nested calls; 1 if there are none
    """

    name: str
    instructions: List[Instruction] = field(default_factory=list)
    root: Optional[Instruction] = None
    parameters: List[Instruction] = field(default_factory=list)
    line: int = 0
    col: int = 0
    depth: int = 1
    attributes: Dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<computation {self.name}>"

    def add(self, instruction: Instruction) -> Instruction:
        """Add an instruction at the end, and to the users of its operands; return it."""
        instruction.computation = self
        self.instructions.append(instruction)
        for operand in dict.fromkeys(instruction.operands):
            operand.users.append(instruction)
        return instruction

    def add_copy(self, of: Instruction, operands: "List[Instruction]", **changes: Any) -> Instruction:
        """Add a copy of an instruction with other operands.

        changes: new values of its other fields
        """
        return self.add(replace(of, operands=operands, users=[], **changes))

    def add_parameter(self, name: str, shape: Shape) -> Instruction:
        """Add the next parameter."""
        made = self.add(Instruction(name, "parameter", shape, parameter_number=len(self.parameters)))
        self.parameters.append(made)
        return made

    def count_users(self) -> None:
        """Recompute the users of all instructions."""
        for instruction in self.instructions:
            instruction.users = []
        for instruction in self.instructions:
            for operand in dict.fromkeys(instruction.operands):
                operand.users.append(instruction)


@dataclass(eq=False)
class Module:
    """A module.

    explicit_entry: true if a computation is marked ENTRY. If false, the last computation is the entry, and the entry is
        the only fusion.
    several: true if its file has other modules
    line, col: the position of its name
    """

    name: str
    computations: List[Computation] = field(default_factory=list)
    entry: Optional[Computation] = None
    filename: str = ""
    explicit_entry: bool = False
    several: bool = False
    line: int = 1
    col: int = 1
    attributes: Dict[str, str] = field(default_factory=dict)
    places: "Dict[str, Tuple[int, int]]" = field(default_factory=dict)  # line and column of each attribute's value
    plan: Any = None    # None until the first call of `fusions` or `steps`, then a launches.Launches
    filled: str = ""    # a sentence about constants that have random values (gen/hlo/fill.py); "" if none has


@dataclass(eq=False)
class Fusion:
    """A computation that becomes kernels. Parameters and results are numbered after tuples are flattened.

    name: a C identifier
    kind: 'kLoop', ..; "" if no fusion instruction names a kind
    aliases: for each result that may share a parameter's buffer, as the module allows, the parameter's number
    donated: parameters whose buffers any result may reuse
    same: for each parameter that has the buffer of an earlier parameter in every launch, the earlier parameter's
        number; kernels read only the earlier parameter
    lasting: parameters that many launches read unchanged: weights and loop-invariant arrays
    filled: a sentence about the module's constants that have random values; "" if none has
    small: true if the fusion is a part of a larger program, and its parameters and results have at most SMALL_BYTES
        bytes (gen/schedule/devices.py); on a CPU, a single work-item then runs its whole kernel
    symbol: the prefix of its kernels' and functions' names, if it differs from `name`
    placed: the shapes of the results that are parts of larger buffers, by the result's number; the field `place` of
        such a shape says where the part is
    """

    name: str
    computation: Computation
    kind: str
    aliases: Dict[int, int] = field(default_factory=dict)
    donated: FrozenSet[int] = frozenset()
    same: Dict[int, int] = field(default_factory=dict)
    filled: str = ""
    small: bool = False
    lasting: FrozenSet[int] = frozenset()
    symbol: str = ""
    placed: "Dict[int, Shape]" = field(default_factory=dict)


@dataclass(frozen=True)
class Value:
    """A buffer of a run: array number `leaf` in the result of `producer`, which is a parameter, a constant or a step
    of the entry.
    """

    producer: Instruction
    leaf: int = 0

    @property
    def shape(self) -> Shape:
        return self.producer.shape.leaves()[self.leaf]


@dataclass(eq=False)
class FusionCall:
    """A launch: the fusion, the buffers that its parameters read, and the buffers that its results write."""

    fusion: Fusion
    operands: List[Value]
    results: List[Value]


def entry_of(module: Module) -> Computation:
    assert module.entry is not None
    return module.entry


def literal_of(constant: Instruction) -> Sequence[int]:
    assert constant.literal is not None
    return constant.literal


def root_of(computation: Computation) -> Instruction:
    assert computation.root is not None
    return computation.root


def reachable(module: Module) -> List[Computation]:
    """Return the entry and all computations that it calls, in the order of the text."""
    seen: Set[int] = set()
    stack = [entry_of(module)]
    while stack:
        computation = stack.pop()
        if id(computation) not in seen:
            seen.add(id(computation))
            stack += [called for i in computation.instructions for called in i.called]
    return [computation for computation in module.computations if id(computation) in seen]


# ---- shapes, which the C headers parse -----------------------------------------------------------------------

def _dim(word: str) -> int:
    """Parse a dimension in the output of `shape fields`: `<=N` gives N, an unbounded dimension -1."""
    number = word[2:] if word.startswith("<=") else word
    return int(number) if number.lstrip("-").isdigit() else -1


def _split_tuple(text: str) -> List[str]:
    """Split a canonical tuple's text at its top-level commas."""
    parts, depth, start = [], 0, 1
    for position, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        if (char == "," and depth == 1) or (depth == 0 and position > start):
            parts.append(text[start:position].strip())
            start = position + 1
    return parts


@lru_cache(maxsize=None)
def _canonical_shape(text: str) -> Shape:
    if text.startswith("("):
        children = tuple(_canonical_shape(part) for part in _split_tuple(text))
        return Shape(text, "tuple", children=children, elements=sum(c.elements for c in children),
                     bytes=sum(c.bytes for c in children), dynamic=any(c.dynamic for c in children))
    if text.startswith(("token", "opaque", "b(")):
        return Shape(text, "token", dtype="buffer" if text.startswith("b(") else text.split("[")[0])
    words = algebra.call("shape", "fields", text).split("\t")
    dtype, dims, order, elements, size, tiling, canonical = words[:7]
    if dtype in dtypes.PACKED and ":T" not in canonical:    # packed even without E(..) in the layout
        tiling, size = "plain", str(-(-_dim(elements) // dtypes.per_byte(dtype)))
    return Shape(canonical, "array", dtype, tuple(_dim(d) for d in dims.split(",") if d),
                 tuple(int(d) for d in order.split(",") if d), _dim(elements), _dim(size), tiling == "tiled",
                 dynamic=re.search(r"\[[^\]]*[<?]", canonical) is not None)


@lru_cache(maxsize=None)
def scan_shape(text: str) -> "Tuple[int, Shape]":
    """Parse the shape at the start of `text`; return the length of its text, and the shape. A fault raises
    AlgebraError, which has the column.
    """
    consumed, canonical = algebra.call("shape", "scan", text).split("\t")[:2]
    return int(consumed), _canonical_shape(re.sub(r"/\*.*?\*/", "", canonical))


def shape(text: str) -> Shape:
    """Parse a shape. Raise AlgebraError if `text` is not a shape."""
    return scan_shape(text)[1]


@lru_cache(maxsize=None)
def array_shape(dtype: str, dims: "Tuple[int, ...]", minor_to_major: "Optional[Tuple[int, ...]]" = None) -> Shape:
    """Return an array shape from its parts; row-major by default."""
    layout = "{" + ",".join(map(str, minor_to_major)) + "}" if minor_to_major else ""
    return shape(f"{dtype}[{','.join(map(str, dims))}]{layout}")


def permuted(of: Shape, dimensions: "Tuple[int, ...]") -> Shape:
    """Return a shape whose dimension i is dimension `dimensions[i]` of `of`, with the layout permuted so that no byte
    moves.
    """
    return shape(algebra.call("shape", "permute", of.text, ",".join(map(str, dimensions)))) if of.dims else of


def tuple_shape(children: "Sequence[Shape]") -> Shape:
    """Return the tuple of some shapes."""
    return shape("(" + ", ".join(child.text for child in children) + ")")


def layout_map(to: Shape, of: Shape) -> str:
    """Return the map of a bitcast from `of` to `to`. It maps an index of the result to the operand's index whose
    element has the same position in memory.
    """
    return algebra.compose(algebra.call("shape", "map", to.text), algebra.call("shape", "unmap", of.text))


@lru_cache(maxsize=None)
def row_major(shape: Shape) -> Shape:
    """Return the shape of the same array in row-major order, without tiles."""
    return array_shape(shape.dtype, shape.dims)


@lru_cache(maxsize=None)
def is_row_major(shape: Shape) -> bool:
    """Return true if an array's bytes are in row-major order."""
    plain = row_major(shape)
    return shape.bytes == plain.bytes and (algebra.call("shape", "map", shape.text)
                                           == algebra.call("shape", "map", plain.text))


def relaid(data: bytes, source: Shape, target: Shape) -> bytes:
    """Move the elements of an array, given as bytes, to another layout."""
    return algebra.relaid(data, _packed_text(source), _packed_text(target))


def _packed_text(shape: Shape) -> str:
    """Return the shape's text. If elements are packed, its layout contains their width in memory, as E(bits)."""
    if shape.dtype not in dtypes.PACKED:
        return shape.text
    return f"{array_shape(shape.dtype, shape.dims, shape.minor_to_major).text[:-1]}:E({memory_bits(shape)})}}"


def same_positions(to: Shape, of: Shape) -> bool:
    """Return true if the elements of two arrays occupy the same set of positions."""
    if to.elements != of.elements or to.bytes != of.bytes:
        return False
    index = layout_map(to, of) if to.elements else ""
    return to.elements == 0 or (index != "KNOWN EMPTY" and algebra.domain(index)[1] == () and
                                tuple(v.hi + 1 for v in algebra.info(index).of_kind("dim")) == to.dims)


def same_shape(a: Shape, b: Shape) -> bool:
    """Return true if types and dimensions are equal; layouts may differ."""
    if a is b:
        return True
    if a.kind != b.kind or a.dtype != b.dtype or a.dims != b.dims or len(a.children) != len(b.children):
        return False
    return all(same_shape(x, y) for x, y in zip(a.children, b.children))


def memory_bits(of: Shape) -> int:
    """Return the bits of an element in memory, as bitcasts count them: 8 for pred."""
    return 8 if of.dtype == "pred" else dtypes.TABLE[of.dtype].bits


# ---- properties of single ops ------------------------------------------------------------------------------

def accumulator(instruction: Instruction) -> str:
    """Return the type in which a dot (with its scales) or a convolution multiplies and adds: f64 if an operand or the
    result is f64, f32 for other floats, else the result's type."""
    to, kinds = instruction.shape.dtype, [operand.shape.dtype for operand in instruction.operands]
    if dtypes.TABLE[to].kind != "float":
        return to
    return "f64" if "f64" in (to, *kinds) else "f32"


def unique_indices(scatter: Instruction) -> bool:
    """Return true if the text promises that no two updates hit one element."""
    return bool(scatter.attributes.get("raw", {}).get("unique_indices") == "true")


def index_parameter(scatter: Instruction) -> "Optional[Instruction]":
    """Return the parameter that supplies a scatter's indices in memory order and has no other use; None if there is
    none.
    """
    indices = scatter.operands[len(scatter.operands) // 2]
    while (len(indices.users) == 1 and indices.shape.kind == "array" and not indices.shape.tiled
           and indices.shape.minor_to_major == tuple(range(indices.shape.rank))[::-1]
           and dtypes.TABLE[indices.shape.dtype].kind in ("sint", "uint")
           and dtypes.TABLE[indices.shape.dtype].bits >= 32):
        if indices.opcode == "parameter":
            return indices
        same_bits = (
            indices.opcode == "bitcast" and memory_bits(indices.shape) == memory_bits(indices.operands[0].shape))
        if indices.opcode not in ("reshape", "copy", "convert") and not same_bits:
            return None
        indices = indices.operands[0]
    return None


def sorted_indices(scatter: Instruction) -> bool:
    """Return true if the text promises that rows of indices do not decrease."""
    return bool(scatter.attributes.get("raw", {}).get("indices_are_sorted") == "true")


def in_order(scatter: Instruction) -> "Optional[List[int]]":
    """Return the numbers that a check needs to draw sorted random indices for a scatter. Return None if the indices
    need not be sorted, because the text does not promise it. Also return None if the check cannot sort them, for
    example because they are not a parameter.

    The numbers are: the distance in memory between the components of an index; the number of components; and for each
    dimension of the operand that an index selects, in order, the number of the component that selects it.
    """
    a, indices = scatter.attributes, scatter.operands[len(scatter.operands) // 2]
    to = a["scatter_dims_to_operand_dims"]
    if (not sorted_indices(scatter) or indices.opcode != "parameter" or indices.shape.kind != "array"
            or not 0 < len(to) <= 8 or dtypes.TABLE[indices.shape.dtype].bits < 8
            or indices.shape.minor_to_major != tuple(range(indices.shape.rank))[::-1]):
        return None
    return [math.prod(indices.shape.dims[a["index_vector_dim"] + 1:]), len(to),
            *sorted(range(len(to)), key=lambda k: to[k])]


def unshared_places(scatter: Instruction) -> "Optional[List[int]]":
    """Return the numbers by which a check draws random indices of a scatter such that its windows do not overlap. If no
    place for a window is left, the check draws an index with all bits set, which is out of range. Return None if the
    text does not promise unique indices, or if the check cannot draw them, for example because an op computes them.

    The numbers are: the distance in memory between the components of an index; the number of components; and for each
    component two numbers: how many windows fit without overlap, and the size of a window.
    """
    a, half = scatter.attributes, len(scatter.operands) // 2
    indices, of = scatter.operands[half], scatter.operands[0].shape
    if (not unique_indices(scatter) or index_parameter(scatter) is None
            or not 0 < len(a["scatter_dims_to_operand_dims"]) <= 8 or max(of.dims) >= 1 << 31):
        return None
    windowed = [d for d in range(of.rank) if d not in a["inserted_window_dims"]
                and d not in a.get("input_batching_dims", ())]
    sizes = {d: scatter.operands[half + 1].shape.dims[k] for d, k in zip(windowed, a["update_window_dims"])}
    numbers = [math.prod(indices.shape.dims[a["index_vector_dim"] + 1:]), len(a["scatter_dims_to_operand_dims"])]
    for d in a["scatter_dims_to_operand_dims"]:
        width = max(1, sizes.get(d, 1))
        numbers += [of.dims[d] // width, width]
    return numbers


# Ops to which the sign of a zero matters: with an operand -0 instead of +0, the result may differ by more than the sign
# of a zero. Ops that contain other ops are in the set, too.
_TELL_ZEROS_APART = frozenset(["divide", "atan2", "rsqrt", "power", "bitcast-convert", "bitcast", "fusion", "call",
                               "map"])


def zero_sign_matters(instruction: Instruction) -> bool:
    """Return true if the sign of a zero in this op's result may matter: with -0 instead of +0, the result of a later op
    may differ by more than the sign of a zero.
    """
    seen: Set[int] = set()
    waiting = list(instruction.users)
    while waiting:
        user = waiting.pop()
        if id(user) in seen:
            continue
        seen.add(id(user))
        if user.opcode in _TELL_ZEROS_APART or user.attributes.get("type") == "TOTALORDER":
            return True
        waiting.extend(user.users)
    return False
