"""HLO text: read, checked, printed, and cut into the fusions that become kernels.

`parse` reads the text form of XLA's HLO and checks every op it knows the rules of against its operands, the way XLA's shape
verifier does; what it cannot check (collectives, custom calls, ..) it reads and keeps. `print_module` writes what `parse` reads
back to an equal graph. `unsupported` says where a module asks for more than the generator makes code for today. `fusions` and
`steps` give the computations that become kernels, with nested fusions, calls and maps inlined.

Shapes are read by the C headers alone (gen/algebra): the reader here only finds where the text of a shape ends.
Nothing here recurses on the input but tuples in shapes and operands written inline, and both have a limit.
"""

from __future__ import annotations

import bisect
import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, NoReturn, Optional, Sequence, Set, Tuple, Union

from gen import algebra
from gen.hlo import distribution, dtypes

TUPLE_DEPTH = 64  # tuples in tuples
TUPLE_TEXT = 1 << 20  # characters of a tuple's shape that the text does not write but its operands add up to
OPERAND_DEPTH = 64  # operands written inline in operands
BODY_DEPTH = 32  # computations written inline in attributes
MOST_REACH = 1 << 60  # elements: padding and windows, and what they are counted by on the way
SPLAT_LIMIT = 1 << 24  # elements of a constant that is one value for all
CALL_DEPTH = 128  # computations that call computations
INLINE_LIMIT = 200000  # instructions of a fusion once everything nested is inlined


# ---- the graph ---------------------------------------------------------------------------------------------

class HloError(Exception):
    """A fault in the text, at a position counted from one; str() of it is what a user sees after `error: `."""

    def __init__(self, filename: str, line: int, col: int, message: str) -> None:
        super().__init__(f"{filename}:{line}:{col}: {message}")
        self.filename, self.line, self.col, self.message = filename, line, col, message


@dataclass(frozen=True)
class Shape:
    """A shape as a value. `text` is canonical; `kind` is 'array', 'tuple' or 'token' (opaque types and buffers are 'token' too). place: of
    an array that is a part of a larger buffer, the map from its positions to the buffer's."""

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

    def leaves(self) -> "List[Shape]":
        """The shapes inside that are no tuples, in order; of an array: itself."""
        if self.kind != "tuple":
            return [self]
        return [leaf for child in self.children for leaf in child.leaves()]

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def depth(self) -> int:
        """How many tuples are in one another; of an array: 0."""
        return 1 + max((child.depth for child in self.children), default=0) if self.kind == "tuple" else 0


@dataclass(frozen=True)
class Window:
    """Places where a small box stands in a padded one: a number for each dimension. reversal: 1 where a convolution reads its kernel from the end."""

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
        lists = [("size", self.size, None), ("stride", self.stride, ones), ("pad", tuple(zip(self.low, self.high)), tuple(zip(zeros, zeros))),
                 ("lhs_dilate", self.base_dilation, ones), ("rhs_dilate", self.dilation, ones), ("rhs_reversal", self.reversal, zeros)]
        words = ["x".join("_".join(map(str, one)) if name == "pad" else str(one) for one in values)  # type: ignore[arg-type]
                 for name, values, _ in lists]
        return " ".join(f"{name}={word}" for (name, values, plain), word in zip(lists, words) if values and values != plain)

    def places(self, k: int, base: int) -> int:
        """How many places dimension k has in a base of that many elements."""
        line = (base - 1) * self.base_dilation[k] + 1 if base else 0
        line += self.low[k] + self.high[k]
        reach = (self.size[k] - 1) * self.dilation[k] + 1 if self.size[k] else 0
        return 0 if line <= 0 or reach > line else (line - reach) // self.stride[k] + 1


@dataclass(frozen=True)
class Labels:
    """dim_labels of a convolution: dimension numbers of batch and feature (of the kernel: input and output feature), then the spatial ones."""

    text: str
    lhs: Tuple[int, ...]
    rhs: Tuple[int, ...]
    out: Tuple[int, ...]


@dataclass(eq=False)
class Instruction:
    """One op. Attributes that the reader understands have parsed values; all others stay text in attributes['raw']."""

    name: str
    opcode: str
    shape: Shape
    operands: "List[Instruction]" = field(default_factory=list)
    attributes: Dict[str, Any] = field(default_factory=dict)
    users: "List[Instruction]" = field(default_factory=list)
    called: "List[Computation]" = field(default_factory=list)
    parameter_number: Optional[int] = None
    literal: Optional[List[int]] = None
    line: int = 0
    col: int = 0
    computation: "Optional[Computation]" = None
    places: "Dict[str, Tuple[int, int]]" = field(default_factory=dict)    # line and column of attributes that are read after the text

    def __repr__(self) -> str:
        return f"<{self.opcode} {self.name} {self.shape.text}>"


@dataclass(eq=False)
class Computation:
    """Instructions in an order where operands come first. `depth` counts how deep calls nest below (1: none)."""

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


@dataclass(eq=False)
class Module:
    """`explicit_entry` is false where no computation is marked ENTRY: the last one is the entry, and is the fusion."""

    name: str
    computations: List[Computation] = field(default_factory=list)
    entry: Optional[Computation] = None
    filename: str = ""
    explicit_entry: bool = False
    attributes: Dict[str, str] = field(default_factory=dict)
    places: "Dict[str, Tuple[int, int]]" = field(default_factory=dict)  # of attributes: line and column of their values
    plan: "Optional[_Plan]" = None  # made once, when fusions or steps are first asked for
    filled: str = ""    # which constants have drawn values (gen/hlo/fill.py), "" where none has


@dataclass(eq=False)
class Fusion:
    """A computation that becomes kernels. name: a C identifier; kind: 'kLoop', .. or '' where no fusion instruction names one. aliases: results that
    the module lets take a parameter's buffer, donated: parameters whose buffers any result may take, same: parameters whose buffer each launch gives
    for an earlier one too, which is read in their place (all of flattened numbers). filled: the module's."""

    name: str
    computation: Computation
    kind: str
    aliases: Dict[int, int] = field(default_factory=dict)
    donated: FrozenSet[int] = frozenset()
    same: Dict[int, int] = field(default_factory=dict)
    filled: str = ""


@dataclass(frozen=True)
class Value:
    """A buffer of a run: leaf number `leaf` of what `producer`, an instruction of the entry, gives (parameter, constant or a step)."""

    producer: Instruction
    leaf: int = 0

    @property
    def shape(self) -> Shape:
        return self.producer.shape.leaves()[self.leaf]


@dataclass(eq=False)
class Step:
    """One launch: the fusion, the buffers its flattened parameters read and the buffers its flattened results write."""

    fusion: Fusion
    operands: List[Value]
    results: List[Value]


# ---- shapes: the C headers read them -----------------------------------------------------------------------

def _dim(word: str) -> int:
    """A dimension out of `shape fields`: `<=N` counts as N, an unbounded one as -1."""
    number = word[2:] if word.startswith("<=") else word
    return int(number) if number.lstrip("-").isdigit() else -1


def _split_tuple(text: str) -> List[str]:
    """The members of a canonical tuple's text, cut at its own commas."""
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
    if dtype in dtypes.PACKED and ":T" not in canonical:      # E(..) says what is so without it
        tiling, size = "plain", str(-(-_dim(elements) // dtypes.per_byte(dtype)))
    return Shape(canonical, "array", dtype, tuple(_dim(d) for d in dims.split(",") if d),
                 tuple(int(d) for d in order.split(",") if d), _dim(elements), _dim(size), tiling == "tiled",
                 dynamic=re.search(r"\[[^\]]*[<?]", canonical) is not None)


@lru_cache(maxsize=None)
def _scan_shape(text: str) -> "Tuple[int, Shape]":
    """Bytes that the shape at the start of `text` takes, and the shape; AlgebraError carries the column."""
    consumed, canonical = algebra.call("shape", "scan", text).split("\t")[:2]
    return int(consumed), _canonical_shape(re.sub(r"/\*.*?\*/", "", canonical))


def shape(text: str) -> Shape:
    """The shape that `text` spells; AlgebraError when it spells none."""
    return _scan_shape(text)[1]


@lru_cache(maxsize=None)
def array_shape(dtype: str, dims: "Tuple[int, ...]", minor_to_major: "Optional[Tuple[int, ...]]" = None) -> Shape:
    """An array shape from its parts; row-major where no order is given."""
    layout = "{" + ",".join(map(str, minor_to_major)) + "}" if minor_to_major else ""
    return shape(f"{dtype}[{','.join(map(str, dims))}]{layout}")


def tuple_shape(children: "Sequence[Shape]") -> Shape:
    """The tuple of some shapes."""
    return shape("(" + ", ".join(child.text for child in children) + ")")


def layout_map(to: Shape, of: Shape) -> str:
    """The map of a bitcast: from an index of the result to that of the operand's element at the same position."""
    return algebra.compose(algebra.call("shape", "map", to.text), algebra.call("shape", "unmap", of.text))


def same_positions(to: Shape, of: Shape) -> bool:
    """Whether every element of one array is at the position of an element of the other, and as many are there."""
    if to.elements != of.elements or to.bytes != of.bytes:
        return False
    found = layout_map(to, of) if to.elements else ""
    return to.elements == 0 or (found != "KNOWN EMPTY" and algebra.domain(found)[1] == () and
                                tuple(v.hi + 1 for v in algebra.info(found).of("dim")) == to.dims)


def same_shape(a: Shape, b: Shape) -> bool:
    """Equal types and dimensions, whatever the layouts."""
    if a is b:
        return True
    if a.kind != b.kind or a.dtype != b.dtype or a.dims != b.dims or len(a.children) != len(b.children):
        return False
    return all(same_shape(x, y) for x, y in zip(a.children, b.children))


# ---- what is known of opcodes ------------------------------------------------------------------------------

_FLOAT_UNARY = frozenset("""sqrt rsqrt cbrt exponential exponential-minus-one log log-plus-one tanh logistic sine cosine tan
    acos acosh asin asinh atanh cosh sinh erf""".split())
_REAL_UNARY = frozenset("floor ceil round-nearest-afz round-nearest-even".split())
_ARITHMETIC = frozenset("add subtract multiply divide remainder maximum minimum power".split())
_LOGIC = frozenset("and or xor".split())
_SHIFT = frozenset("shift-left shift-right-arithmetic shift-right-logical".split())
_UNARY = _FLOAT_UNARY | _REAL_UNARY | frozenset("negate abs sign not is-finite popcnt count-leading-zeros".split())
_BINARY = _ARITHMETIC | _LOGIC | _SHIFT | frozenset(["atan2"])

# One value of the result comes from the values at the same index of each operand (clamp and select take scalars too).
ELEMENTWISE = _UNARY | _BINARY | frozenset("convert copy compare select clamp reduce-precision bitcast-convert real imag complex".split())
# Of complex numbers: what has a form in gen/emit and a meaning in gen/reference.
COMPLEX = frozenset("""add subtract multiply divide negate abs real imag complex compare select copy convert exponential
    exponential-minus-one log log-plus-one sqrt rsqrt cbrt power logistic sine cosine tan sinh cosh tanh sign atan2""".split())

_MOVES = frozenset("""parameter constant iota broadcast transpose reshape bitcast slice reverse pad concatenate reduce tuple
    get-tuple-element fusion call map opt-barrier dynamic-slice dynamic-update-slice gather scatter""".split())
# An element comes from many of the operands', by a loop nest.
CONTRACTIONS = frozenset(["dot", "scaled-dot", "convolution"])
LOOPS = CONTRACTIONS | frozenset(["reduce-window", "select-and-scatter"])
SUPPORTED = ELEMENTWISE | _MOVES | LOOPS

_CHECKED = ELEMENTWISE | _MOVES | LOOPS
_UNCHECKED = frozenset("""add-dependency after-all all-gather all-gather-done all-gather-start all-reduce all-reduce-done
    all-reduce-start all-to-all async-done async-start async-update batch-norm-grad batch-norm-inference batch-norm-training
    cholesky collective-broadcast collective-permute collective-permute-done collective-permute-start conditional
    copy-done copy-start custom-call domain dynamic-reshape fft
    get-dimension-size infeed optimization-barrier outfeed partition-id ragged-all-to-all ragged-dot recv
    recv-done reduce-scatter replica-id rng rng-bit-generator rng-get-and-update-state scan send send-done
    set-dimension-size sort stochastic-convert topk triangular-solve while""".split())
OPCODES = _CHECKED | _UNCHECKED

_ARITY = {**{op: 1 for op in _UNARY}, **{op: 2 for op in _BINARY}, "convert": 1, "copy": 1, "compare": 2, "select": 3,
          "clamp": 3, "reduce-precision": 1, "bitcast-convert": 1, "real": 1, "imag": 1, "complex": 2, "iota": 0, "broadcast": 1, "transpose": 1,
          "reshape": 1, "bitcast": 1, "slice": 1, "reverse": 1, "pad": 2, "get-tuple-element": 1, "opt-barrier": 1, "dot": 2, "convolution": 2,
          "select-and-scatter": 3, "scaled-dot": 4}

_DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")
_COMPARE_TYPES = ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")

# Attributes with a parsed value: opcode -> name -> reader. What a name is not listed for is kept as text.
_DIMENSIONS = {"dimensions": "integers"}
_TYPED: Dict[str, Dict[str, str]] = {
    "broadcast": _DIMENSIONS, "transpose": _DIMENSIONS, "concatenate": _DIMENSIONS, "reverse": _DIMENSIONS,
    "reduce": {"dimensions": "integers", "to_apply": "computation"},
    "map": {"dimensions": "integers", "to_apply": "computation"},
    "call": {"to_apply": "computation"},
    "fusion": {"kind": "kind", "calls": "computation"},
    "iota": {"iota_dimension": "integer"},
    "slice": {"slice": "slices"},
    "pad": {"padding": "padding"},
    "dynamic-slice": {"dynamic_slice_sizes": "integers"},
    "gather": {**{key: "integers" for key in ("offset_dims", "collapsed_slice_dims", "start_index_map", "slice_sizes",
                                              "operand_batching_dims", "start_indices_batching_dims")}, "index_vector_dim": "integer"},
    "scatter": {**{key: "integers" for key in ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "input_batching_dims",
                                               "scatter_indices_batching_dims")}, "index_vector_dim": "integer", "to_apply": "computation"},
    "compare": {"direction": "direction", "type": "compare_type"},
    "get-tuple-element": {"index": "integer"},
    "reduce-precision": {"exponent_bits": "integer", "mantissa_bits": "integer"},
    **{op: {f"{side}_{what}_dims": "integers" for side in ("lhs", "rhs") for what in ("batch", "contracting")} for op in ("dot", "scaled-dot")},
    "convolution": {"window": "window", "dim_labels": "labels", "feature_group_count": "integer", "batch_group_count": "integer"},
    "reduce-window": {"window": "window", "to_apply": "computation"},
    "select-and-scatter": {"window": "window", "select": "computation", "scatter": "computation"},
}
_OPTIONAL = {("broadcast", "dimensions"), ("map", "dimensions"), ("compare", "type"), ("gather", "operand_batching_dims"),
             ("gather", "start_indices_batching_dims"), *((op, key) for op in ("dot", "scaled-dot") for key in _TYPED[op]),
             *(("convolution", key) for key in ("window", "feature_group_count", "batch_group_count")), ("reduce-window", "window"),
             ("select-and-scatter", "window"), ("scatter", "input_batching_dims"), ("scatter", "scatter_indices_batching_dims")}
_COMMON = frozenset("""metadata backend_config sharding frontend_attributes origin original_value control-predecessors statistics
    parameter_replication result_accuracy operand_precision outer_dimension_partitions inner_dimension_partitions
    execution_thread async_execution_thread output_to_operand_aliasing is_composite buffer_alignment
    indices_are_sorted unique_indices schedule_annotation algorithm""".split())
_CALLING = frozenset("""to_apply calls condition body true_computation false_computation branch_computations select scatter
    called_computations""".split())


# ---- the scanner -------------------------------------------------------------------------------------------

_BLANK = re.compile(r"(?:[ \t\r\n\f\v]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_NAME = re.compile(r"%[A-Za-z0-9_.\-]+|[A-Za-z_][A-Za-z0-9_.\-]*")
# Where an instruction was written: tables of numbered lines between the header and the computations.
_SOURCES = re.compile(r"(?:FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*\r?\n(?:[ \t]*[0-9]+[ \t][^\n]*(?:\n|$))*(?!\s*[({])")
_ATTRIBUTE = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_INTEGER = re.compile(r"-?[0-9]+")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_RAW_RUN = re.compile(r"[^\[\]{}()\"/, \t\r\n\f\v]+")
_DIMS = re.compile(r"\[(?:[0-9,<=?\- \t\r\n\f\v]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SLICE = re.compile(r"\[\s*(-?[0-9]+)\s*:\s*(-?[0-9]+)\s*(?::\s*(-?[0-9]+)\s*)?\]")
_PADDING = re.compile(r"(-?[0-9]+)_(-?[0-9]+)(?:_(-?[0-9]+))?\Z")
_WHOLE = re.compile(r"-?[0-9]+\Z")
_WINDOW = re.compile(r"(size|stride|pad|lhs_dilate|rhs_dilate|rhs_reversal)=([0-9_x\-]*)")
_LABELS = re.compile(r"([0-9bf?]+)_([0-9io?]+)->([0-9bf?]+)(?![A-Za-z0-9_?])")
_VALUE = re.compile(r"-?nan\([^)\s]*\)|[^\s{}(),/]+")
_CLOSE = {"(": ")", "[": "]", "{": "}"}


class _Scanner:
    """A position in the text, with the few moves that the grammar needs. All faults leave through `fail`."""

    def __init__(self, text: str, filename: str) -> None:
        self.text, self.filename, self.pos = text, filename, 0
        self._lines = [0] + [m.end() for m in re.finditer("\n", text)]

    def place(self, pos: int) -> "Tuple[int, int]":
        line = bisect.bisect_right(self._lines, pos)
        return line, pos - self._lines[line - 1] + 1

    def fail(self, pos: int, message: str) -> NoReturn:
        pos = min(pos, len(self.text))
        raise HloError(self.filename, *self.place(pos), message)

    def found(self, pos: int) -> str:
        """What stands at a position, in words."""
        if pos >= len(self.text):
            return "the end of the file"
        match = _NAME.match(self.text, pos) or _INTEGER.match(self.text, pos)
        word = match.group() if match else self.text[pos]
        if not word.isprintable():
            return f"the character U+{ord(word[0]):04X}"
        return f"'{word}'" if len(word) <= 40 else f"'{word[:37]}...'"

    def expected(self, what: str, pos: "Optional[int]" = None) -> NoReturn:
        pos = self.pos if pos is None else pos
        self.fail(pos, f"expected {what}, found {self.found(pos)}")

    def skip(self) -> int:
        """Moves over blanks and comments; the position reached."""
        match = _BLANK.match(self.text, self.pos)
        assert match is not None
        self.pos = match.end()
        if self.text.startswith("/*", self.pos):
            self.fail(self.pos, "expected '*/' to close this comment, found the end of the file")
        return self.pos

    def peek(self) -> str:
        """The next character after blanks, '' at the end."""
        pos = self.skip()
        return self.text[pos:pos + 1]

    def accept(self, token: str) -> bool:
        self.skip()
        if not self.text.startswith(token, self.pos):
            return False
        self.pos += len(token)
        return True

    def need(self, token: str, purpose: str = "") -> int:
        """Reads a token that must come; the position it stood at."""
        pos = self.skip()
        if not self.accept(token):
            self.expected(f"'{token}'" + (f" {purpose}" if purpose else ""))
        return pos

    def match(self, pattern: "re.Pattern[str]", what: str) -> "re.Match[str]":
        self.skip()
        found = pattern.match(self.text, self.pos)
        if found is None:
            self.expected(what)
        self.pos = found.end()
        return found

    def name(self, what: str) -> str:
        return self.match(_NAME, what).group().lstrip("%")

    def keyword(self, word: str) -> bool:
        """Reads a word if a name follows it, so that the word can be a name too."""
        start = self.skip()
        found = _WORD.match(self.text, start)
        if found is None or found.group() != word:
            return False
        self.pos = found.end()
        self.skip()
        if _NAME.match(self.text, self.pos):
            return True
        self.pos = start
        return False

    def integer(self, what: str) -> int:
        pos = self.skip()
        text = self.match(_INTEGER, what).group()
        return self.small(text, pos)

    def small(self, text: str, pos: int) -> int:
        """An integer's text as a number that fits 64 signed bits."""
        if len(text.lstrip("-0")) < 20:
            number = int(text)
            if -(1 << 63) <= number < 1 << 63:
                return number
        self.fail(pos, f"expected an integer of 64 bits, found '{text[:40]}'")

    def balanced(self, pos: int) -> int:
        """The position after the bracket that closes the one at `pos`; strings and comments are passed over."""
        stack: "List[Tuple[str, int]]" = []
        while pos < len(self.text):
            char = self.text[pos]
            if char in _CLOSE:
                stack.append((_CLOSE[char], pos))
                pos += 1
            elif char in ")]}":
                close, opened = stack.pop()
                if char != close:
                    line, col = self.place(opened)
                    self.fail(pos, f"expected '{close}' to close the '{self.text[opened]}' of {line}:{col}, found '{char}'")
                pos += 1
                if not stack:
                    return pos
            elif char == '"':
                pos = self.string(pos)
            else:
                found = _COMMENT.match(self.text, pos) or _RAW_RUN.match(self.text, pos)
                pos = found.end() if found else pos + 1
        close, opened = stack[-1]
        line, col = self.place(opened)
        self.fail(len(self.text), f"expected '{close}' to close the '{self.text[opened]}' of {line}:{col}, "
                                  f"found the end of the file")

    def string(self, pos: int) -> int:
        found = _STRING.match(self.text, pos)
        if found is None:
            self.fail(pos, "expected '\"' to close this string, found the end of the file")
        return found.end()

    def raw(self, what: str, empty: bool = False) -> str:
        """An attribute's value as text: up to a comma, a blank or a closing bracket outside brackets and strings."""
        start = pos = self.skip()
        while pos < len(self.text):
            char = self.text[pos]
            if char in _CLOSE:
                pos = self.balanced(pos)
            elif char == '"':
                pos = self.string(pos)
            elif char == "/" and not self.text.startswith(("//", "/*"), pos):
                pos += 1
            else:
                found = _RAW_RUN.match(self.text, pos)
                if found is None:
                    break
                pos = found.end()
        if pos == start and not empty:
            self.expected(what)
        self.pos = pos
        return self.text[start:pos]

    def at_shape(self) -> bool:
        """Whether a shape starts here: '(', or a type name with its '['."""
        pos = self.skip()
        if self.text.startswith("(", pos):
            return True
        found = _WORD.match(self.text, pos)
        if found is None:
            return False
        end = found.end()
        if found.group() in dtypes.TABLE:
            blank = _BLANK.match(self.text, end)
            end = blank.end() if blank else end
        return self.text.startswith("[", end) or (found.group() == "b" and self.text.startswith("(", end))

    def _shape_end(self, pos: int) -> int:
        """Where the text of the shape at `pos` ends; nothing inside is judged but that it is closed."""
        if self.text[pos] == "(" or self.text.startswith("b(", pos):
            end = self.balanced(self.text.index("(", pos))
            self._tuple_depth(pos, end)
            return end
        word = _WORD.match(self.text, pos)
        assert word is not None
        blank = _BLANK.match(self.text, word.end())
        assert blank is not None
        dims = _DIMS.match(self.text, blank.end())
        assert dims is not None
        if not self.text.startswith("]", dims.end()):
            self.expected("a dimension, ',' or ']'", dims.end())
        end = dims.end() + 1
        blank = _BLANK.match(self.text, end)
        assert blank is not None
        opening = blank.end()
        if self.text.startswith("{", opening):
            blank = _BLANK.match(self.text, opening + 1)
            if blank is not None and self.text[blank.end():blank.end() + 1] in tuple("0123456789:}"):
                return self.balanced(opening)
        return end

    def _tuple_depth(self, pos: int, end: int) -> None:
        depth = 0
        for found in re.finditer(r"[()]", self.text[pos:end]):
            depth += 1 if found.group() == "(" else -1
            if depth > TUPLE_DEPTH:
                self.fail(pos + found.start(), f"expected at most {TUPLE_DEPTH} tuples in one another")

    def shape(self) -> Shape:
        """Reads a shape. The C headers judge it; their column is taken to the file's."""
        if not self.at_shape():
            self.expected("a shape")
        start = self.pos
        end = self._shape_end(start)
        text = _COMMENT.sub(lambda m: " " * len(m.group()), self.text[start:end])
        text = re.sub(r"[\r\n\t\f\v]", " ", text)
        text = re.sub(r"(\[ *\] *)\{ *\}", lambda m: m.group(1).ljust(len(m.group())), text)  # a scalar's empty layout
        odd = re.search(r"[^ -~]", text)
        if odd:
            self.expected("a shape", start + odd.start())
        try:
            consumed, result = _scan_shape(text)
        except algebra.AlgebraError as error:
            if error.column is None:
                raise
            self.fail(start + error.column - 1, error.message)
        if text[consumed:].strip():
            self.expected("the end of the shape", start + consumed)
        self.pos = end
        return result


# ---- literals ----------------------------------------------------------------------------------------------

def _number(text: str, dtype: str) -> int:
    """The bits of one value's text; ValueError says what was expected."""
    kind = dtypes.TABLE[dtype].kind
    if kind == "pred":
        if text in ("true", "1"):
            return 1
        if text in ("false", "0"):
            return 0
        raise ValueError(f"expected true, false, 0 or 1, found '{text}'")
    if kind in ("sint", "uint"):
        if not re.fullmatch(r"-?[0-9]+", text):
            raise ValueError(f"expected an integer of {dtype}, found '{text}'")
        low, high = dtypes.integer_range(dtype)
        if len(text.lstrip("-0")) > 20 or not low <= int(text) <= high:
            raise ValueError(f"expected an integer of {dtype}, from {low} to {high}, found '{text[:40]}'")
        return dtypes.encode(int(text), dtype)
    return _float(text, dtype)


def _float(text: str, dtype: str) -> int:
    negative = text.startswith("-")
    bare = text[1:] if negative else text
    if bare == "inf":
        if dtypes.TABLE[dtype].style != "ieee":
            raise ValueError(f"expected a number of {dtype}, which has no infinity")
        return dtypes.encode(float("-inf") if negative else float("inf"), dtype)
    if bare == "nan":
        return dtypes.encode_nan(negative, None, dtype)
    payload = re.fullmatch(r"nan\(0x([0-9a-fA-F]{1,16})\)", bare)
    if payload:
        return dtypes.encode_nan(negative, int(payload.group(1), 16), dtype)
    try:
        if text.startswith("+"):
            raise ValueError
        bits = dtypes.encode_text(text, dtype)
    except ValueError:
        raise ValueError(f"expected a number of {dtype}, found '{text[:40]}'") from None
    if dtypes.is_infinite(bits, dtype) or dtypes.is_nan(bits, dtype):
        raise ValueError(f"expected a number in the range of {dtype}, found '{text[:40]}'")
    return bits


class _Literal:
    """Reads the value of a constant: as many values as the shape has, no more, no fewer, level by level."""

    def __init__(self, scanner: _Scanner) -> None:
        self.scanner = scanner
        self.known: "Dict[Tuple[str, str], int]" = {}

    def read(self, of: Shape) -> List[int]:
        if of.kind == "tuple":
            return self._tuple(of)
        if of.kind != "array" or of.dynamic:
            self.scanner.fail(self.scanner.skip(), f"expected no constant of {of.text}: it has no text form")
        if of.dims and self.scanner.peek() == "{":
            return self._array(of)
        if of.elements > SPLAT_LIMIT:
            self.scanner.fail(self.scanner.skip(), f"expected at most {SPLAT_LIMIT} elements of one value, {of.text} has more")
        return [self._value(of.dtype)] * of.elements

    def _tuple(self, of: Shape) -> List[int]:
        bits: List[int] = []
        self.scanner.need("(", "to open the tuple's values")
        for number, child in enumerate(of.children):
            if number:
                self.scanner.need(",", f"and value {number} of the tuple")
            bits += self.read(child)
        self.scanner.need(")", f"after {len(of.children)} values of the tuple")
        return bits

    def _value(self, dtype: str) -> int:
        scanner = self.scanner
        if dtypes.TABLE[dtype].kind == "complex" and scanner.accept("("):
            part = dtypes.TABLE[dtype].part
            real = self._value(part)
            scanner.need(",", "and the imaginary part")
            imaginary = self._value(part)
            scanner.need(")", "after the imaginary part")
            return real | imaginary << dtypes.TABLE[part].bits
        pos = scanner.skip()
        found = scanner.match(_VALUE, f"a value of {dtype}")
        key = (dtype, found.group())
        bits = self.known.get(key)
        if bits is None:
            part = dtypes.TABLE[dtype].part or dtype
            try:
                bits = self.known[key] = _number(found.group(), part)
            except ValueError as error:
                scanner.fail(pos, str(error))
        return bits

    def _array(self, of: Shape) -> List[int]:
        """Nested braces without recursion: counts[k] is how many items the open brace of level k has had."""
        scanner, dims, bits = self.scanner, of.dims, []  # type: ignore[var-annotated]
        scanner.need("{", f"to open the values of {of.text}")
        counts = [0]
        while counts:
            level, size = len(counts) - 1, dims[len(counts) - 1]
            pos, char = scanner.skip(), scanner.peek()
            if char == "}":
                if counts[-1] != size:
                    scanner.fail(pos, f"expected {size} values in dimension {level} of {of.text}, found {counts[-1]}")
                scanner.pos += 1
                counts.pop()
                if counts:
                    counts[-1] += 1
                continue
            if counts[-1]:
                scanner.need(",", f"or '}}' in the values of {of.text}")
                pos = scanner.skip()
            if counts[-1] == size:
                scanner.fail(pos, f"expected {size} values in dimension {level} of {of.text}, found more")
            if level + 1 < len(dims):
                scanner.need("{", f"to open dimension {level + 1} of {of.text}")
                counts.append(0)
            else:
                if scanner.peek() == "{":
                    scanner.fail(pos, f"expected a value of {of.dtype} in dimension {level}, found '{{': "
                                      f"{of.text} has {len(dims)} dimensions")
                bits.append(self._value(of.dtype))
                counts[-1] += 1
        return bits


# ---- the reader --------------------------------------------------------------------------------------------

@dataclass
class _Draft:
    """An instruction while it is read: what its checks need to point at the text."""

    instruction: Instruction
    written: Optional[Shape]
    op_pos: int
    shape_pos: int
    operand_pos: List[int] = field(default_factory=list)
    attribute_pos: Dict[str, int] = field(default_factory=dict)
    distribute_pos: Optional[int] = None    # of the text of a layout


class _Parser:
    def __init__(self, text: str, filename: str) -> None:
        self.scanner = _Scanner(text, filename)
        self.literal = _Literal(self.scanner)
        self.module = Module("", filename=filename)
        self.computations: Dict[str, Computation] = {}
        self.names: Dict[str, Instruction] = {}
        self.computation = Computation("")
        self._spoken = set(_WORD.findall(text)) if ".inline." in text else set()
        self._count = 0  # names given to what is written inline
        self._bodies = 0  # computations written inline that are open
        self.numbers: Set[int] = set()  # of the parameters of this computation

    # module

    def parse(self) -> Module:
        scanner = self.scanner
        if scanner.keyword("HloModule"):
            self._header()
            scanner.skip()
            while found := _SOURCES.match(scanner.text, scanner.pos):
                scanner.pos = found.end()
                scanner.skip()
        while scanner.peek():
            self._computation()
        if not self.module.computations:
            scanner.expected("a computation: NAME { instructions }")
        if self.module.entry is None:
            self.module.entry = self.module.computations[-1]
        return self.module

    def _header(self) -> None:
        scanner = self.scanner
        self.module.name = scanner.name("the module's name")
        scanner.accept(":")
        while scanner.accept(","):
            pos = scanner.skip()
            key = scanner.match(_ATTRIBUTE, "an attribute of the module").group()
            scanner.need("=", f"after the attribute '{key}'")
            if key in self.module.attributes:
                scanner.fail(pos, f"expected each attribute once, found '{key}' again")
            self.module.places[key] = scanner.place(scanner.skip())
            self.module.attributes[key] = scanner.raw(f"a value of '{key}'")

    def _computation(self) -> None:
        scanner = self.scanner
        entry = scanner.keyword("ENTRY")
        pos = scanner.skip()
        name = scanner.name("a computation: [ENTRY] NAME { instructions }")
        if name in self.computations:
            scanner.fail(pos, f"expected a new name, found '{name}', the computation of line {self.computations[name].line}")
        if entry and self.module.explicit_entry:
            scanner.fail(pos, "expected one ENTRY in a module, found a second")
        line, col = scanner.place(pos)
        self.computation = Computation(name, line=line, col=col)
        self.names, self.numbers = {}, set()
        signature = self._signature()
        self._body(pos)
        self._parameters(pos)
        if signature:
            self._check_signature(*signature)
        if scanner.peek() == ",":
            self._computation_attributes()
        self.computations[name] = self.computation
        self.module.computations.append(self.computation)
        if entry:
            self.module.entry, self.module.explicit_entry = self.computation, True

    def _computation_attributes(self) -> None:
        scanner = self.scanner
        while scanner.accept(","):
            key = scanner.match(_ATTRIBUTE, "an attribute of the computation").group()
            scanner.need("=", f"after the attribute '{key}'")
            self.computation.attributes[key] = scanner.raw(f"a value of '{key}'")

    def _signature(self) -> "Optional[Tuple[List[Tuple[int, Shape]], int, Shape]]":
        """`(a: shape, ..) -> shape` before the body: the parameters' places and shapes, the result's place and shape."""
        scanner = self.scanner
        if not scanner.accept("("):
            return None
        parameters: List[Tuple[int, Shape]] = []
        while scanner.peek() != ")":
            if parameters:
                scanner.need(",", "or ')' in the computation's parameters")
            scanner.name("a parameter's name")
            scanner.need(":", "after the parameter's name")
            parameters.append((scanner.skip(), scanner.shape()))
        scanner.need(")")
        scanner.need("->", "and the computation's result shape")
        return parameters, scanner.skip(), scanner.shape()

    def _check_signature(self, parameters: "List[Tuple[int, Shape]]", pos: int, result: Shape) -> None:
        have = self.computation.parameters
        assert self.computation.root is not None
        for number, (place, wanted) in enumerate(parameters):
            if number >= len(have):
                self.scanner.fail(place, f"parameter {number} is not in the body of '{self.computation.name}'")
            if not same_shape(wanted, have[number].shape):
                self.scanner.fail(place, f"expected {have[number].shape.text}, the shape of parameter {number} in the body, "
                                         f"found {wanted.text}")
        if len(have) > len(parameters):
            self.scanner.fail(pos, f"expected {len(have)} parameters before '->' as in the body, found {len(parameters)}")
        if not same_shape(result, self.computation.root.shape):
            self.scanner.fail(pos, f"expected {self.computation.root.shape.text}, the shape of the root "
                                   f"'{self.computation.root.name}', found {result.text}")

    def _body(self, start: int) -> None:
        scanner, computation = self.scanner, self.computation
        scanner.need("{", f"to open the body of '{computation.name}'")
        while not scanner.accept("}"):
            if not scanner.peek():
                scanner.expected(f"an instruction or '}}' to close the body of '{computation.name}'")
            root = scanner.keyword("ROOT")
            pos = scanner.skip()
            instruction = self._instruction(pos)
            if root and computation.root is not None:
                scanner.fail(pos, f"expected one ROOT in '{computation.name}', found a second after '{computation.root.name}'")
            if root:
                computation.root = instruction
        if not computation.instructions:
            scanner.fail(scanner.pos - 1, f"expected at least one instruction in '{computation.name}', found '}}'")
        if computation.root is None:
            computation.root = computation.instructions[-1]

    def _parameters(self, pos: int) -> None:
        """Parameters in order of their numbers, which must be 0 to n-1."""
        found: Dict[int, Instruction] = {}
        for instruction in self.computation.instructions:
            if instruction.parameter_number is not None:
                found[instruction.parameter_number] = instruction
        for number in range(len(found)):
            if number not in found:
                highest = found[max(found)]
                raise HloError(self.scanner.filename, highest.line, highest.col,
                               f"expected parameters 0, 1, .. without a gap in '{self.computation.name}', "
                               f"found {highest.parameter_number} but no {number}")
        self.computation.parameters = [found[number] for number in range(len(found))]

    # instructions

    def _instruction(self, pos: int) -> Instruction:
        scanner = self.scanner
        name = scanner.name("an instruction: [ROOT] NAME = SHAPE OPCODE(operands), attributes")
        if name in self.names:
            scanner.fail(pos, f"expected a new name in '{self.computation.name}', found '{name}', the instruction of "
                              f"line {self.names[name].line}")
        scanner.need("=", f"after the instruction's name '{name}'")
        shape_pos = scanner.skip()
        written = scanner.shape() if scanner.at_shape() else None
        op_pos = scanner.skip()
        opcode = self._opcode(written)
        draft = self._draft(name, pos, opcode, written, op_pos, shape_pos)
        self._operation(draft, 0)
        self._attributes(draft)
        return self._finish(draft)

    def _draft(self, name: str, pos: int, opcode: str, written: Optional[Shape], op_pos: int, shape_pos: int) -> _Draft:
        line, col = self.scanner.place(pos)
        nothing = written if written is not None else Shape("")
        instruction = Instruction(name, opcode, nothing, line=line, col=col, computation=self.computation)
        return _Draft(instruction, written, op_pos, shape_pos)

    def _opcode(self, written: Optional[Shape]) -> str:
        scanner = self.scanner
        pos = scanner.skip()
        found = _WORD.match(scanner.text, pos)
        if found is None:
            scanner.expected("an opcode" if written is not None else "a shape and an opcode")
        word = found.group()
        if not _known(word):
            if written is None and word in dtypes.TABLE:
                scanner.fail(found.end(), f"expected '[' after the type '{word}', found {scanner.found(found.end())}")
            scanner.fail(pos, f"expected an opcode of HLO, found '{word[:60]}'")
        scanner.pos = found.end()
        return word

    def _operation(self, draft: _Draft, depth: int) -> None:
        """`(operands)`: a number, a literal or instructions, as the opcode asks."""
        scanner, instruction = self.scanner, draft.instruction
        scanner.need("(", f"and the operands of '{instruction.opcode}'")
        if instruction.opcode == "parameter":
            self._parameter(draft)
        elif instruction.opcode == "constant":
            self._constant(draft)
        elif scanner.peek() != ")":
            self._operand(draft, depth)
            while scanner.accept(","):
                self._operand(draft, depth)
        scanner.need(")", f"after the operands of '{instruction.opcode}'")

    def _parameter(self, draft: _Draft) -> None:
        pos = self.scanner.skip()
        number = self.scanner.integer("the parameter's number")
        if number < 0 or number in self.numbers:
            self.scanner.fail(pos, f"expected a number that no other parameter of '{self.computation.name}' has, "
                                   f"from 0, found {number}")
        draft.instruction.parameter_number = number
        self.numbers.add(number)

    def _constant(self, draft: _Draft) -> None:
        scanner = self.scanner
        if draft.written is None:
            scanner.fail(draft.op_pos, "expected a shape before 'constant'")
        pos = scanner.skip()
        if scanner.accept("{"):
            if scanner.accept("..."):
                scanner.need("}", "after '...'")
                return
            scanner.pos = pos
        draft.instruction.literal = self.literal.read(draft.written)

    def _operand(self, draft: _Draft, depth: int) -> None:
        """`[shape] [%]name`, or `[shape] opcode(operands)` written inline, without attributes."""
        scanner = self.scanner
        shape_pos = scanner.skip()
        written = scanner.shape() if scanner.at_shape() else None
        pos = scanner.skip()
        found = scanner.match(_NAME, f"an operand of '{draft.instruction.opcode}'")
        word = found.group()
        if not word.startswith("%") and scanner.peek() == "(":
            operand = self._inline(word, written, pos, shape_pos, depth + 1)
        else:
            operand = self._lookup(word.lstrip("%"), pos)
            if written is not None and not same_shape(written, operand.shape):
                scanner.fail(shape_pos, f"expected {operand.shape.text}, the shape of '{operand.name}', found {written.text}")
        draft.operand_pos.append(shape_pos)
        draft.instruction.operands.append(operand)

    def _inline(self, word: str, written: Optional[Shape], pos: int, shape_pos: int, depth: int) -> Instruction:
        scanner = self.scanner
        if depth > OPERAND_DEPTH:
            scanner.fail(pos, f"expected at most {OPERAND_DEPTH} operands written in one another")
        scanner.pos = pos
        opcode = self._opcode(written)
        draft = self._draft(self._unused(opcode, self.names), pos, opcode, written, pos, shape_pos)
        self._operation(draft, depth)
        return self._finish(draft)

    def _unused(self, wanted: str, taken: "Dict[str, Any]") -> str:
        """A name for what the text gives none. Names that the whole text has anywhere are avoided too."""
        while True:
            self._count += 1
            name = f"{wanted}.inline.{self._count}"
            if name not in taken and name not in self._spoken:
                return name

    def _lookup(self, name: str, pos: int) -> Instruction:
        operand = self.names.get(name)
        if operand is None:
            later = re.compile(r"[\s%}]" + re.escape(name) + r"\s*=").search(self.scanner.text, self.scanner.pos)
            own = re.compile(r"[\s%]" + re.escape(name) + r"\s*=[^=]*\Z").search(self.scanner.text[max(0, pos - 4000):pos])
            end = self.scanner.text.find("\n}", pos)
            if own or (later and (end < 0 or later.start() < end)):
                self.scanner.fail(pos, f"expected an operand that is defined before its use: '{name}' is not (a cycle)")
            self.scanner.fail(pos, f"expected the name of an instruction defined before, found '{name}'")
        return operand

    def _anonymous(self, instruction: Instruction, key: str) -> Computation:
        """A computation written in place of its name: `to_apply={ .. }`. It gets a name and goes before the one it is in."""
        scanner, pos = self.scanner, self.scanner.skip()
        outer = self.computation, self.names, self.numbers
        self._bodies += 1
        if self._bodies > BODY_DEPTH:
            scanner.fail(pos, f"expected at most {BODY_DEPTH} computations written in one another")
        line, col = scanner.place(pos)
        self.computation = Computation(self._unused(f"{instruction.name}.{key}", self.computations), line=line, col=col)
        self.names, self.numbers = {}, set()
        self._body(pos)
        self._parameters(pos)
        computation = self.computation
        self.computations[computation.name] = computation
        self.module.computations.append(computation)
        self.computation, self.names, self.numbers = outer
        self._bodies -= 1
        return computation

    def _called(self, instruction: Instruction, key: str) -> Computation:
        scanner = self.scanner
        pos = scanner.skip()
        if scanner.peek() == "{":
            return self._deepen(self._anonymous(instruction, key), pos)
        name = scanner.name(f"the computation of '{key}'")
        computation = self.computations.get(name)
        if computation is None:
            if name == self.computation.name:
                scanner.fail(pos, f"expected a computation defined before: '{name}' would call itself (a cycle)")
            scanner.fail(pos, self._no_computation(name))
        return self._deepen(computation, pos)

    def _no_computation(self, name: str) -> str:
        later = re.compile(r"(?:^|[\s}])%?" + re.escape(name) + r"\s*[({]").search(self.scanner.text, self.scanner.pos)
        if later:
            return f"expected a computation defined before its use: '{name}' comes later (line {self.scanner.place(later.end())[0]})"
        return f"expected the name of a computation defined before, found '{name}'"

    def _deepen(self, computation: Computation, pos: int) -> Computation:
        self.computation.depth = max(self.computation.depth, computation.depth + 1)
        if self.computation.depth > CALL_DEPTH:
            self.scanner.fail(pos, f"expected computations that call one another at most {CALL_DEPTH} deep")
        return computation

    # attributes

    def _attributes(self, draft: _Draft) -> None:
        scanner, instruction = self.scanner, draft.instruction
        typed = _TYPED.get(instruction.opcode, {})
        raw: Dict[str, str] = {}
        while scanner.accept(","):
            pos = scanner.skip()
            key = scanner.match(_ATTRIBUTE, f"an attribute of '{instruction.opcode}'").group()
            if key in draft.attribute_pos:
                scanner.fail(pos, f"expected each attribute once, found '{key}' again")
            draft.attribute_pos[key] = pos
            scanner.need("=", f"after the attribute '{key}'")
            if key in typed:
                getattr(self, f"_read_{typed[key]}")(instruction, key)
            elif instruction.opcode in _CHECKED and key not in _COMMON and not (
                    instruction.opcode in ("fusion", "call", "parameter") or key.startswith("_") or key.startswith("xla")):
                names = ", ".join(sorted(typed)) or "none of its own"
                scanner.fail(pos, f"expected an attribute of '{instruction.opcode}' ({names}), found '{key}'")
            else:
                self._raw_attribute(instruction, key, raw)
                if key == "frontend_attributes" and "sett_distribute" in raw[key]:
                    found = distribution.ATTRIBUTE.search(scanner.text, pos, scanner.pos)
                    draft.distribute_pos = found.start(1) if found else scanner.fail(pos, 'expected sett_distribute="LAYOUT" or "INTRINSIC.OPERAND"')
        if raw:
            instruction.attributes["raw"] = raw

    def _raw_attribute(self, instruction: Instruction, key: str, raw: Dict[str, str]) -> None:
        start = self.scanner.skip()
        if key == "output_to_operand_aliasing":
            instruction.places[key] = self.scanner.place(start)
        raw[key] = self.scanner.raw(f"a value of '{key}'")
        if key not in _CALLING:
            return
        if re.match(r"\{\s*(?:ROOT\s+)?%?[A-Za-z0-9_.\-]+\s*=", raw[key]):
            self.scanner.pos = start
            computation = self._anonymous(instruction, key)
            raw[key] = "%" + computation.name
            instruction.called.append(self._deepen(computation, start))
            return
        for found in re.finditer(r"%?([A-Za-z0-9_.\-]+)", raw[key]):
            if found.group(1) in self.computations:
                instruction.called.append(self._deepen(self.computations[found.group(1)], start))
            else:
                self.scanner.fail(start + found.start(), self._no_computation(found.group(1)))

    def _read_integer(self, instruction: Instruction, key: str) -> None:
        instruction.attributes[key] = self.scanner.integer(f"the integer of '{key}'")

    def _read_integers(self, instruction: Instruction, key: str) -> None:
        """`{0,2,1}`."""
        scanner, numbers = self.scanner, []  # type: ignore[var-annotated]
        scanner.need("{", f"to open '{key}'")
        while scanner.peek() != "}":
            if numbers:
                scanner.need(",", f"or '}}' in '{key}'")
            numbers.append(scanner.integer(f"an integer of '{key}'"))
        scanner.need("}")
        instruction.attributes[key] = tuple(numbers)

    def _read_slices(self, instruction: Instruction, key: str) -> None:
        """`{[start:limit:stride], ..}`, the stride left out where it is one."""
        scanner, slices = self.scanner, []  # type: ignore[var-annotated]
        scanner.need("{", f"to open '{key}'")
        while scanner.peek() != "}":
            if slices:
                scanner.need(",", f"or '}}' in '{key}'")
            pos = scanner.skip()
            found = scanner.match(_SLICE, "[START:LIMIT] or [START:LIMIT:STRIDE]")
            slices.append(tuple(scanner.small(text or "1", pos) for text in found.groups()))
        scanner.need("}")
        instruction.attributes[key] = tuple(slices)

    def _read_padding(self, instruction: Instruction, key: str) -> None:
        """`low_high_interior` a dimension, joined by `x`; empty for a scalar."""
        pos = self.scanner.skip()
        text = self.scanner.raw(f"the value of '{key}'", empty=True)
        padding = []
        for part in text.split("x") if text else []:
            found = _PADDING.match(part)
            if found is None:
                self.scanner.fail(pos, f"expected LOW_HIGH or LOW_HIGH_INTERIOR for each dimension, joined by x, "
                                       f"found '{text[:60]}'")
            padding.append(tuple(self.scanner.small(number or "0", pos) for number in found.groups()))
        instruction.attributes[key] = tuple(padding)

    def _read_window(self, instruction: Instruction, key: str) -> None:
        """`{size=3x5 stride=1x2 pad=0_0x1_-1 lhs_dilate=2x1 rhs_dilate=1x1 rhs_reversal=0x1}`, all but the size as it is by default where left out."""
        scanner, found, where = self.scanner, {}, {}  # type: ignore[var-annotated]
        scanner.need("{", f"to open '{key}'")
        while scanner.peek() != "}":
            pos = scanner.skip()
            name, text = scanner.match(_WINDOW, "size=, stride=, pad=, lhs_dilate=, rhs_dilate= or rhs_reversal= with numbers joined by x").groups()
            if name in found:
                scanner.fail(pos, f"expected '{name}' once in '{key}'")
            pattern, form = (_PADDING, "LOW_HIGH") if name == "pad" else (_WHOLE, "a number")
            parts = [pattern.match(part) for part in text.split("x")]
            if None in parts or (name == "pad" and any(part and part[3] for part in parts)):
                scanner.fail(pos, f"expected {form} for each dimension of '{name}', joined by x, found '{text[:60]}'")
            where[name] = pos
            found[name] = tuple((scanner.small(part[1], pos), scanner.small(part[2], pos)) if name == "pad" else scanner.small(part[0], pos)
                                for part in parts if part)
        scanner.need("}")
        size = found.get("size", ())
        for name, values in found.items():
            if len(values) != len(size):
                scanner.fail(where[name], f"expected {len(size)} numbers in '{name}', as 'size' has, found {len(values)}")
        low, high = zip(*found["pad"]) if "pad" in found else ((0,) * len(size),) * 2
        ones = (1,) * len(size)
        window = Window(size, found.get("stride", ones), low, high, found.get("lhs_dilate", ones), found.get("rhs_dilate", ones),
                        found.get("rhs_reversal", (0,) * len(size)))
        for name, values, least in (("size", size, 1), ("stride", window.stride, 1), ("lhs_dilate", window.base_dilation, 1),
                                    ("rhs_dilate", window.dilation, 1), ("rhs_reversal", window.reversal, 0)):
            if any(value < least for value in values) or (name == "rhs_reversal" and any(value > 1 for value in values)):
                scanner.fail(where[name], f"expected {'0 or 1' if name == 'rhs_reversal' else f'at least {least}'} in each dimension of '{name}'")
        instruction.attributes[key] = window

    def _read_labels(self, instruction: Instruction, key: str) -> None:
        """`b01f_01io->b01f`: the dimension numbers of batch, feature (input and output feature) and the spatial ones, for each part."""
        pos = self.scanner.skip()
        parts = self.scanner.match(_LABELS, "dim_labels like b01f_01io->b01f").groups()
        numbers = []
        for part, letters in zip(parts, ("bf", "io", "bf")):
            labels = [*letters, *(str(k) for k in range(len(part) - 2))]
            if sorted(part) != sorted(labels) or len(part) != len(parts[0]):
                self.scanner.fail(pos, f"expected '{letters[0]}', '{letters[1]}' and the numbers of the spatial dimensions once in each part, found '{part}'")
            numbers.append(tuple(part.index(label) for label in labels))
        instruction.attributes[key] = Labels("_".join(parts[:2]) + "->" + parts[2], *numbers)

    def _word_of(self, instruction: Instruction, key: str, words: "Sequence[str]") -> None:
        pos = self.scanner.skip()
        word = self.scanner.match(_WORD, f"one of {', '.join(words)}").group()
        if word not in words:
            self.scanner.fail(pos, f"expected one of {', '.join(words)}, found '{word}'")
        instruction.attributes[key] = word

    def _read_direction(self, instruction: Instruction, key: str) -> None:
        self._word_of(instruction, key, _DIRECTIONS)

    def _read_compare_type(self, instruction: Instruction, key: str) -> None:
        self._word_of(instruction, key, _COMPARE_TYPES)

    def _read_kind(self, instruction: Instruction, key: str) -> None:
        self._word_of(instruction, key, ("kLoop", "kInput", "kOutput", "kCustom"))

    def _read_computation(self, instruction: Instruction, key: str) -> None:
        computation = self._called(instruction, key)
        instruction.attributes[key] = computation
        instruction.called.append(computation)

    def _check_distribution(self, instruction: Instruction, pos: int) -> None:
        try:
            layout = distribution.layout_of(instruction)
        except algebra.AlgebraError as error:
            self.scanner.fail(pos + (error.column or 1) - 1, error.message)
        if instruction.shape.kind != "array" or instruction.shape.tiled:
            self.scanner.fail(pos, f"expected sett_distribute on an array that is not in tiles, found {instruction.shape.text}")
        if instruction.shape.dtype in dtypes.PACKED:
            self.scanner.fail(pos, f"expected sett_distribute on elements of whole bytes, found {instruction.shape.text}")
        if instruction.opcode == "scatter":
            self.scanner.fail(pos, "expected sett_distribute on an op that computes its elements one by one: a scatter's updates go where indices say")
        message = distribution.misfit(layout, instruction.shape.dims)
        if message:
            self.scanner.fail(pos, message)

    # the finished instruction

    def _finish(self, draft: _Draft) -> Instruction:
        instruction = draft.instruction
        instruction.shape = _Check(self.scanner, draft).result()
        if draft.distribute_pos is not None:
            self._check_distribution(instruction, draft.distribute_pos)
        instruction.computation = self.computation
        self.computation.instructions.append(instruction)
        self.names[instruction.name] = instruction
        for operand in dict.fromkeys(instruction.operands):
            operand.users.append(instruction)
        return instruction


def _known(opcode: str) -> bool:
    """An opcode of HLO, or one in its asynchronous clothes: `slice-start`, `slice-done`."""
    if opcode in OPCODES:
        return True
    base, _, suffix = opcode.rpartition("-")
    return suffix in ("start", "update", "done") and base in OPCODES


# ---- checks: an op against its operands --------------------------------------------------------------------

class _Check:
    """The shape that an op must have, from its operands and attributes; each fault points at the text."""

    def __init__(self, scanner: _Scanner, draft: _Draft) -> None:
        self.scanner, self.draft, self.i = scanner, draft, draft.instruction
        self.shapes = [operand.shape for operand in self.i.operands]

    def fail(self, message: str, operand: "Optional[int]" = None, attribute: "Optional[str]" = None) -> NoReturn:
        pos = self.draft.op_pos
        if operand is not None:
            pos = self.draft.operand_pos[operand]
        if attribute is not None:
            pos = self.draft.attribute_pos.get(attribute, pos)
        self.scanner.fail(pos, f"{self.i.opcode}: {message}")

    def result(self) -> Shape:
        opcode, written = self.i.opcode, self.draft.written
        if opcode not in _CHECKED or any(s.dynamic for s in self.shapes) or (written is not None and written.dynamic):
            return self.written()
        self._needs()
        try:
            inferred = self._rule()()
        except algebra.AlgebraError as error:
            self.fail(f"the result has no shape: {error.message}")
        if written is None:
            return inferred
        if not same_shape(written, inferred):
            self.scanner.fail(self.draft.shape_pos, f"expected {inferred.text}, the result of '{opcode}' here, "
                                                    f"found {written.text}")
        return written

    def _needs(self) -> None:
        """The number of operands and the attributes that the op cannot do without."""
        have, want = len(self.i.operands), _ARITY.get(self.i.opcode)
        if want is not None and have != want:
            self.fail(f"expected {want} operand{'' if want == 1 else 's'}, found {have}")
        for key in _TYPED.get(self.i.opcode, {}):
            if key not in self.i.attributes and (self.i.opcode, key) not in _OPTIONAL:
                self.fail(f"expected the attribute '{key}'")

    def _rule(self) -> "Callable[[], Shape]":
        opcode = self.i.opcode
        if opcode in _UNARY:
            return self._unary
        if opcode in _BINARY:
            return self._binary
        return getattr(self, "_" + opcode.replace("-", "_"))

    # helpers

    def written(self) -> Shape:
        if self.draft.written is None:
            self.scanner.fail(self.draft.op_pos, f"expected a shape before '{self.i.opcode}': it cannot be inferred")
        return self.draft.written

    def array(self, number: int) -> Shape:
        """Operand `number`, which must be there and an array."""
        if number >= len(self.shapes):
            self.fail(f"expected at least {number + 1} operand{'s' * (number > 0)}, found {len(self.shapes)}")
        of = self.shapes[number]
        if of.kind != "array":
            self.fail(f"expected an array as operand {number}, found {of.text}", operand=number)
        return of

    def written_array(self) -> Shape:
        of = self.written()
        if of.kind != "array":
            self.scanner.fail(self.draft.shape_pos, f"{self.i.opcode}: expected an array as the result, found {of.text}")
        return of

    def kinds(self, number: int, allowed: "Sequence[str]", words: str) -> Shape:
        of = self.array(number)
        if dtypes.TABLE[of.dtype].kind not in allowed:
            self.fail(f"expected {words} as operand {number}, found {of.text}", operand=number)
        return of

    def alike(self, number: int, other: int = 0) -> Shape:
        """Operand `number` must have the type and the dimensions of operand `other`."""
        of, like = self.array(number), self.array(other)
        if not same_shape(of, like):
            self.fail(f"expected {_bare(like)} as operand {number}, as operand {other} is, found {_bare(of)}", operand=number)
        return of

    def scalar(self, number: int, dtype: str) -> None:
        of = self.array(number)
        if of.dims or of.dtype != dtype:
            self.fail(f"expected the scalar {dtype}[] as operand {number}, found {_bare(of)}", operand=number)

    def distinct(self, key: str, rank: int) -> Tuple[int, ...]:
        """An attribute's dimension numbers: each below rank, none twice."""
        numbers: Tuple[int, ...] = self.i.attributes.get(key, ())
        for number in numbers:
            if not 0 <= number < rank:
                self.fail(f"expected dimensions from 0 to {rank - 1}, found {number}" if rank else
                          f"expected no dimension of a scalar, found {number}", attribute=key)
        if len(set(numbers)) != len(numbers):
            self.fail(f"expected each dimension once in '{key}'", attribute=key)
        return numbers

    def typed_like(self, of: Shape, dtype: str) -> Shape:
        if of.dtype == dtype:
            return of
        return array_shape(dtype, of.dims, of.minor_to_major)

    # elementwise

    def _unary(self) -> Shape:
        opcode, of = self.i.opcode, self.array(0)
        if opcode in _FLOAT_UNARY:
            self.kinds(0, ("float", "complex"), "floats")
        elif opcode in _REAL_UNARY or opcode == "is-finite":
            self.kinds(0, ("float",), "floats")
        elif opcode == "not":
            self.kinds(0, ("pred", "sint", "uint"), "pred or integers")
        elif opcode in ("popcnt", "count-leading-zeros"):
            self.kinds(0, ("sint", "uint"), "integers")
        elif opcode == "negate":
            self.kinds(0, ("sint", "uint", "float", "complex"), "integers or floats")
        else:
            self.kinds(0, ("sint", "float", "complex"), "signed integers or floats")
        if opcode == "is-finite":
            return self.typed_like(of, "pred")
        if opcode == "abs" and dtypes.TABLE[of.dtype].kind == "complex":
            return self.typed_like(of, dtypes.TABLE[of.dtype].part)
        return of

    def _binary(self) -> Shape:
        opcode = self.i.opcode
        if opcode in _LOGIC:
            self.kinds(0, ("pred", "sint", "uint"), "pred or integers")
        elif opcode in _SHIFT:
            self.kinds(0, ("sint", "uint"), "integers")
        elif opcode == "atan2":
            self.kinds(0, ("float", "complex"), "floats")
        elif opcode in ("maximum", "minimum", "remainder"):
            self.kinds(0, ("pred", "sint", "uint", "float"), "no complex numbers")
        self.alike(1)
        return self.shapes[0]

    def _compare(self) -> Shape:
        of = self.alike(1)
        kind, written = dtypes.TABLE[of.dtype].kind, self.i.attributes.get("type")
        allowed = {"float": ("FLOAT", "TOTALORDER"), "complex": ("FLOAT",), "sint": ("SIGNED",)}.get(kind, ("UNSIGNED",))
        if written is not None and written not in allowed:
            self.fail(f"expected the type {' or '.join(allowed)} for operands of {of.dtype}, found {written}", attribute="type")
        if kind == "complex" and self.i.attributes["direction"] not in ("EQ", "NE"):
            self.fail("expected the direction EQ or NE for complex operands", attribute="direction")
        return self.typed_like(self.shapes[0], "pred")

    def _select(self) -> Shape:
        of, choice = self.alike(2, 1), self.array(0)
        if choice.dtype != "pred" or (choice.dims and choice.dims != of.dims):
            self.fail(f"expected {_bare(of).replace(of.dtype, 'pred', 1)} as operand 0, found {_bare(choice)}", operand=0)
        return self.shapes[1]

    def _clamp(self) -> Shape:
        of = self.kinds(1, ("pred", "sint", "uint", "float"), "no complex numbers")
        for number in (0, 2):
            bound = self.array(number)
            if bound.dtype != of.dtype or (bound.dims and bound.dims != of.dims):
                self.fail(f"expected {of.dtype}[] or {_bare(of)} as operand {number}, found {_bare(bound)}", operand=number)
        return of

    def _convert(self) -> Shape:
        of, to = self.array(0), self.written_array()
        if dtypes.TABLE[of.dtype].kind == "complex" and dtypes.TABLE[to.dtype].kind != "complex":
            self.fail(f"expected a complex result of the complex operand, found {to.text}")
        return self.typed_like(of, to.dtype)

    def _real(self) -> Shape:
        of = self.kinds(0, ("float", "complex"), "floats")
        return self.typed_like(of, dtypes.TABLE[of.dtype].part or of.dtype)

    _imag = _real

    def _complex(self) -> Shape:
        of = self.kinds(0, ("float",), "floats")
        if of.dtype not in ("f32", "f64"):
            self.fail(f"expected f32 or f64 as operand 0, found {_bare(of)}", operand=0)
        self.alike(1)
        return self.typed_like(of, "c64" if of.dtype == "f32" else "c128")

    def _copy(self) -> Shape:
        return self.array(0) if self.shapes[0].kind == "array" else self.shapes[0]

    def _opt_barrier(self) -> Shape:
        return self.shapes[0]

    def _reduce_precision(self) -> Shape:
        of = self.kinds(0, ("float",), "floats")
        if self.i.attributes["exponent_bits"] < 1:
            self.fail("expected at least 1 exponent bit", attribute="exponent_bits")
        if self.i.attributes["mantissa_bits"] < 0:
            self.fail("expected at least 0 mantissa bits", attribute="mantissa_bits")
        return of

    def _bitcast_convert(self) -> Shape:
        of, to = self.array(0), self.written_array()
        if (dtypes.TABLE[of.dtype].kind == "complex") != (dtypes.TABLE[to.dtype].kind == "complex"):
            self.fail(f"expected both or none to be complex, found {of.dtype} and {to.dtype}")
        have, want = (1 if d == "pred" else dtypes.TABLE[d].bits for d in (of.dtype, to.dtype))
        if have == want:
            return self.typed_like(of, to.dtype)
        if have > want and have % want == 0:
            return array_shape(to.dtype, of.dims + (have // want,))
        if have < want and want % have == 0:
            if not of.dims or of.dims[-1] != want // have:
                self.fail(f"expected a last dimension of {want // have}, {want} bits of {of.dtype}, found {_bare(of)}", operand=0)
            return array_shape(to.dtype, of.dims[:-1])
        self.fail(f"expected widths that divide one another, found {of.dtype} and {to.dtype}")

    # leaves and moves

    def _parameter(self) -> Shape:
        return self.written()

    def _constant(self) -> Shape:
        return self.written()

    def _iota(self) -> Shape:
        of, dimension = self.written_array(), self.i.attributes["iota_dimension"]
        if dtypes.TABLE[of.dtype].kind == "pred":
            self.scanner.fail(self.draft.shape_pos, f"iota: expected numbers, found {of.text}")
        if not 0 <= dimension < of.rank:
            self.fail(f"expected a dimension of {_bare(of)}, found {dimension}", attribute="iota_dimension")
        return of

    def _broadcast(self) -> Shape:
        of, to = self.array(0), self.written_array()
        if "dimensions" not in self.i.attributes:
            if of.dims:
                self.fail("expected the attribute 'dimensions'")
            self.i.attributes["dimensions"] = ()
        dimensions = self.distinct("dimensions", to.rank)
        if len(dimensions) != of.rank:
            self.fail(f"expected {of.rank} dimensions, as operand 0 {_bare(of)} has, found {len(dimensions)}",
                      attribute="dimensions")
        for number, dimension in enumerate(dimensions):
            if of.dims[number] != to.dims[dimension]:
                self.fail(f"dimension {number} of operand 0 has size {of.dims[number]}, dimension {dimension} of the result "
                          f"{to.dims[dimension]}: expected equal sizes", attribute="dimensions")
        return self.typed_like(to, of.dtype)

    def _transpose(self) -> Shape:
        of = self.array(0)
        dimensions = self.distinct("dimensions", of.rank)
        if len(dimensions) != of.rank:
            self.fail(f"expected a permutation of {of.rank} dimensions, found {len(dimensions)}", attribute="dimensions")
        return array_shape(of.dtype, tuple(of.dims[d] for d in dimensions))

    def _reshape(self) -> Shape:
        of, to = self.array(0), self.written_array()
        if of.elements != to.elements:
            self.fail(f"expected {of.elements} elements, as operand 0 {_bare(of)} has, found {to.elements} in {_bare(to)}")
        return self.typed_like(to, of.dtype)

    def _bitcast(self) -> Shape:
        to = self.written()
        if self.shapes[0].kind != "array" or to.kind != "array":
            self.fail(f"expected arrays, found {self.shapes[0].text} and {to.text}")
        of = self.shapes[0]
        if not (of.tiled or to.tiled) and of.bytes != to.bytes:
            self.fail(f"expected a result of {of.bytes} bytes, as operand 0 {_bare(of)} has, found {to.bytes} in {_bare(to)}")
        return to

    def _slice(self) -> Shape:
        of, slices = self.array(0), self.i.attributes["slice"]
        if len(slices) != of.rank:
            self.fail(f"expected {of.rank} slices, as operand 0 {_bare(of)} has dimensions, found {len(slices)}",
                      attribute="slice")
        dims = []
        for number, (start, limit, stride) in enumerate(slices):
            if not 0 <= start <= limit <= of.dims[number]:
                self.fail(f"expected 0 <= start <= limit <= {of.dims[number]} in dimension {number}, "
                          f"found [{start}:{limit}]", attribute="slice")
            if stride < 1:
                self.fail(f"expected a stride of at least 1 in dimension {number}, found {stride}", attribute="slice")
            dims.append((limit - start + stride - 1) // stride)
        return array_shape(of.dtype, tuple(dims))

    def _reverse(self) -> Shape:
        of = self.array(0)
        self.distinct("dimensions", of.rank)
        return of

    def _pad(self) -> Shape:
        of, padding = self.array(0), self.i.attributes["padding"]
        self.scalar(1, of.dtype)
        if len(padding) != of.rank:
            self.fail(f"expected padding for {of.rank} dimensions, as operand 0 {_bare(of)} has, found {len(padding)}",
                      attribute="padding")
        dims = []
        for number, (low, high, interior) in enumerate(padding):
            if interior < 0:
                self.fail(f"expected an interior of at least 0 in dimension {number}, found {interior}", attribute="padding")
            spread = of.dims[number] + max(of.dims[number] - 1, 0) * interior
            self.within("padding", number, low, high, interior, spread)
            size = low + high + spread
            if size < 0:
                self.fail(f"expected a size of at least 0 in dimension {number}, found {size}", attribute="padding")
            dims.append(size)
        return array_shape(of.dtype, tuple(dims))

    def _concatenate(self) -> Shape:
        first = self.array(0)
        dimensions = self.distinct("dimensions", first.rank)
        if len(dimensions) != 1:
            self.fail(f"expected one dimension, found {len(dimensions)}", attribute="dimensions")
        along, total = dimensions[0], 0
        for number in range(len(self.shapes)):
            of = self.array(number)
            fits = of.rank == first.rank and all(a == b for k, (a, b) in enumerate(zip(of.dims, first.dims)) if k != along)
            if of.dtype != first.dtype or not fits:
                self.fail(f"expected {_bare(first)} but for dimension {along} as operand {number}, found {_bare(of)}",
                          operand=number)
            total += of.dims[along]
        return array_shape(first.dtype, first.dims[:along] + (total,) + first.dims[along + 1:])

    # at an index that is read

    def integer_type(self, number: int) -> Shape:
        return self.kinds(number, ("sint", "uint"), "integers")

    def starts(self, first: int, rank: int) -> None:
        """Operands from `first` on: a scalar a dimension, all of one integer type, or one array of them."""
        count = len(self.shapes) - first
        if count == 1 and self.array(first).rank == 1:
            if self.integer_type(first).dims != (rank,):
                self.fail(f"expected {rank} start indices in operand {first}, found {_bare(self.shapes[first])}", operand=first)
            return
        if count != rank:
            self.fail(f"expected {rank} start indices, as operand 0 {_bare(self.shapes[0])} has dimensions, or an array of them, found {count}")
        for number in range(first, len(self.shapes)):
            self.scalar(number, self.integer_type(first).dtype)

    def sizes(self, key: str, of: Shape) -> Tuple[int, ...]:
        """An attribute's sizes of a slice of an operand."""
        sizes: Tuple[int, ...] = self.i.attributes[key]
        if len(sizes) != of.rank:
            self.fail(f"expected {of.rank} sizes, as operand 0 {_bare(of)} has dimensions, found {len(sizes)}", attribute=key)
        for number, (size, most) in enumerate(zip(sizes, of.dims)):
            if not 0 <= size <= most:
                self.fail(f"expected a size from 0 to {most} in dimension {number}, found {size}", attribute=key)
        return sizes

    def _dynamic_slice(self) -> Shape:
        of = self.array(0)
        self.starts(1, of.rank)
        return array_shape(of.dtype, self.sizes("dynamic_slice_sizes", of))

    def _dynamic_update_slice(self) -> Shape:
        of, update = self.array(0), self.array(1)
        if update.dtype != of.dtype or update.rank != of.rank or any(a > b for a, b in zip(update.dims, of.dims)):
            self.fail(f"expected a part of {_bare(of)} as operand 1, found {_bare(update)}", operand=1)
        self.starts(2, of.rank)
        return of

    def _gather(self) -> Shape:
        if len(self.shapes) != 2:
            self.fail(f"expected 2 operands, found {len(self.shapes)}")
        of, indices, attributes = self.array(0), self.integer_type(1), self.i.attributes
        vector = attributes["index_vector_dim"]
        if not 0 <= vector <= indices.rank:
            self.fail(f"expected a dimension from 0 to {indices.rank}, found {vector}", attribute="index_vector_dim")
        rows = [size for d, size in enumerate(indices.dims) if d != vector]
        length = indices.dims[vector] if vector < indices.rank else 1
        offset, sizes = self.distinct("offset_dims", len(rows) + len(attributes["offset_dims"])), self.sizes("slice_sizes", of)
        collapsed, batching = self.distinct("collapsed_slice_dims", of.rank), self.distinct("operand_batching_dims", of.rank)
        of_rows = self.distinct("start_indices_batching_dims", indices.rank)
        for key in ("offset_dims", "collapsed_slice_dims", "operand_batching_dims"):
            if list(attributes.get(key, ())) != sorted(attributes.get(key, ())):
                self.fail(f"expected '{key}' in increasing order", attribute=key)
        if set(collapsed) & set(batching):
            self.fail("expected dimensions that are not in 'collapsed_slice_dims'", attribute="operand_batching_dims")
        if len(offset) + len(collapsed) + len(batching) != of.rank:
            self.fail(f"expected an offset dimension for each of operand 0 {_bare(of)} that is neither collapsed nor batching, "
                      f"{of.rank - len(collapsed) - len(batching)}, found {len(offset)}", attribute="offset_dims")
        if len(self.distinct("start_index_map", of.rank)) != length:
            self.fail(f"expected {length} dimensions, as many as an index has, found {len(attributes['start_index_map'])}", attribute="start_index_map")
        if set(attributes["start_index_map"]) & set(batching):
            self.fail("expected dimensions that are not in 'operand_batching_dims'", attribute="start_index_map")
        for d in (*collapsed, *batching):
            if sizes[d] != 1:
                self.fail(f"expected a size of 1 in dimension {d}, which is collapsed or batching, found {sizes[d]}", attribute="slice_sizes")
        if len(of_rows) != len(batching) or vector in of_rows:
            self.fail(f"expected {len(batching)} dimensions of operand 1 other than index_vector_dim", attribute="start_indices_batching_dims")
        for d, row in zip(batching, of_rows):
            if of.dims[d] != indices.dims[row]:
                self.fail(f"dimension {row} of operand 1 has size {indices.dims[row]}, dimension {d} of operand 0 {of.dims[d]}: expected equal sizes",
                          attribute="start_indices_batching_dims")
        windows = iter([size for d, size in enumerate(sizes) if d not in collapsed and d not in batching])
        batches = iter(rows)
        return array_shape(of.dtype, tuple(next(windows) if d in offset else next(batches) for d in range(len(rows) + len(offset))))

    def _scatter(self) -> Shape:
        if len(self.shapes) < 3 or len(self.shapes) % 2 == 0:
            self.fail(f"expected operands, indices, and as many updates as operands, found {len(self.shapes)} operands")
        count, attributes = len(self.shapes) // 2, self.i.attributes
        of, indices, updates = self.array(0), self.integer_type(count), self.array(count + 1)
        for number in range(count):
            if self.array(number).dims != of.dims:
                self.fail(f"expected the dimensions of {_bare(of)} as operand {number}, found {_bare(self.shapes[number])}", operand=number)
            if self.array(count + 1 + number).dims != updates.dims:
                self.fail(f"expected the dimensions of {_bare(updates)} as operand {count + 1 + number}, found "
                          f"{_bare(self.shapes[count + 1 + number])}", operand=count + 1 + number)
        vector = attributes["index_vector_dim"]
        if not 0 <= vector <= indices.rank:
            self.fail(f"expected a dimension from 0 to {indices.rank}, found {vector}", attribute="index_vector_dim")
        rows = [size for d, size in enumerate(indices.dims) if d != vector]
        length = indices.dims[vector] if vector < indices.rank else 1
        window, inserted = self.distinct("update_window_dims", updates.rank), self.distinct("inserted_window_dims", of.rank)
        batching, of_rows = self.distinct("input_batching_dims", of.rank), self.distinct("scatter_indices_batching_dims", indices.rank)
        for key in ("update_window_dims", "inserted_window_dims", "input_batching_dims"):
            if list(attributes.get(key, ())) != sorted(attributes.get(key, ())):
                self.fail(f"expected '{key}' in increasing order", attribute=key)
        if set(inserted) & set(batching):
            self.fail("expected dimensions that are not in 'inserted_window_dims'", attribute="input_batching_dims")
        windowed = [d for d in range(of.rank) if d not in inserted and d not in batching]
        if len(window) != len(windowed):
            self.fail(f"expected a window dimension for each of operand 0 {_bare(of)} that is neither inserted nor batching, "
                      f"{len(windowed)}, found {len(window)}", attribute="update_window_dims")
        if [size for d, size in enumerate(updates.dims) if d not in window] != rows:
            self.fail(f"expected the dimensions of operand {count} {_bare(indices)} without {vector} as those of operand {count + 1} {_bare(updates)} "
                      "that are not in 'update_window_dims'", operand=count + 1)
        for d, k in zip(windowed, window):
            if updates.dims[k] > of.dims[d]:
                self.fail(f"expected at most {of.dims[d]} in dimension {k} of operand {count + 1}, as dimension {d} of operand 0 has, "
                          f"found {updates.dims[k]}", operand=count + 1)
        if len(self.distinct("scatter_dims_to_operand_dims", of.rank)) != length:
            self.fail(f"expected {length} dimensions, as many as an index has, found {len(attributes['scatter_dims_to_operand_dims'])}",
                      attribute="scatter_dims_to_operand_dims")
        if set(attributes["scatter_dims_to_operand_dims"]) & set(batching):
            self.fail("expected dimensions that are not in 'input_batching_dims'", attribute="scatter_dims_to_operand_dims")
        if len(of_rows) != len(batching) or vector in of_rows:
            self.fail(f"expected {len(batching)} dimensions of operand {count} other than index_vector_dim", attribute="scatter_indices_batching_dims")
        for d, row in zip(batching, of_rows):
            if of.dims[d] != indices.dims[row]:
                self.fail(f"dimension {row} of operand {count} has size {indices.dims[row]}, dimension {d} of operand 0 {of.dims[d]}: "
                          "expected equal sizes", attribute="scatter_indices_batching_dims")
        for key in ("unique_indices", "indices_are_sorted"):
            if attributes.get("raw", {}).get(key, "true") not in ("true", "false"):
                self.fail("expected true or false", attribute=key)
        types = [self.array(number).dtype for number in range(count)]
        results = self._scalars(types + [self.array(count + 1 + number).dtype for number in range(count)])
        if [one.dtype for one in results] != types or (count > 1) != (attributes["to_apply"].root.shape.kind == "tuple"):
            self.fail(f"expected {', '.join(d + '[]' for d in types)} as the result of '{attributes['to_apply'].name}', "
                      f"found {attributes['to_apply'].root.shape.text}", attribute="to_apply")
        arrays = [array_shape(dtype, of.dims) for dtype in types]
        return arrays[0] if count == 1 else tuple_shape(arrays)

    # tuples and calls

    def _tuple(self) -> Shape:
        if sum(len(of.text) + 2 for of in self.shapes) > TUPLE_TEXT or any(of.depth >= TUPLE_DEPTH for of in self.shapes):
            self.fail(f"expected a result of at most {TUPLE_TEXT} characters and {TUPLE_DEPTH} tuples in one another")
        return tuple_shape(self.shapes)

    def _get_tuple_element(self) -> Shape:
        of, index = self.shapes[0], self.i.attributes["index"]
        if of.kind != "tuple":
            self.fail(f"expected a tuple as operand 0, found {of.text}", operand=0)
        if not 0 <= index < len(of.children):
            self.fail(f"expected an index from 0 to {len(of.children) - 1} into {of.text}, found {index}" if of.children else
                      f"expected no index into the empty tuple, found {index}", attribute="index")
        return of.children[index]

    def _arguments(self, computation: Computation, key: str) -> Shape:
        """Operands against a computation's parameters; its result."""
        parameters = computation.parameters
        if len(parameters) != len(self.shapes):
            self.fail(f"expected {len(parameters)} operands, as '{computation.name}' has parameters, found {len(self.shapes)}",
                      attribute=key)
        for number, (parameter, of) in enumerate(zip(parameters, self.shapes)):
            if not same_shape(parameter.shape, of):
                self.fail(f"expected {parameter.shape.text} as operand {number}, as parameter {number} of "
                          f"'{computation.name}' is, found {of.text}", operand=number)
        assert computation.root is not None
        return computation.root.shape

    def _fusion(self) -> Shape:
        return self._arguments(self.i.attributes["calls"], "calls")

    def _call(self) -> Shape:
        return self._arguments(self.i.attributes["to_apply"], "to_apply")

    def _scalars(self, wanted: "Sequence[str]", key: str = "to_apply") -> List[Shape]:
        """The computation of an attribute must take these scalars; the arrays it gives."""
        computation: Computation = self.i.attributes[key]
        have = [parameter.shape for parameter in computation.parameters]
        if len(have) != len(wanted):
            self.fail(f"expected {len(wanted)} parameters of '{computation.name}', found {len(have)}", attribute=key)
        for number, (of, dtype) in enumerate(zip(have, wanted)):
            if of.kind != "array" or of.dims or of.dtype != dtype:
                self.fail(f"expected {dtype}[] as parameter {number} of '{computation.name}', found {of.text}",
                          attribute=key)
        assert computation.root is not None
        root = computation.root.shape
        results = list(root.children) if root.kind == "tuple" else [root]
        for of in results:
            if of.kind != "array" or of.dims:
                self.fail(f"expected scalars as the result of '{computation.name}', found {root.text}", attribute=key)
        return results

    def _map(self) -> Shape:
        first = self.array(0)
        for number in range(len(self.shapes)):
            if self.array(number).dims != first.dims:
                self.fail(f"expected the dimensions of {_bare(first)} as operand {number}, found "
                          f"{_bare(self.shapes[number])}", operand=number)
        self.distinct("dimensions", first.rank)
        results = self._scalars([of.dtype for of in self.shapes])
        if len(results) != 1 or self.i.attributes["to_apply"].root.shape.kind == "tuple":
            self.fail("expected one scalar as the result of its computation", attribute="to_apply")
        return self.typed_like(first, results[0].dtype)

    def _reduce(self) -> Shape:
        sums, first = self._combined()
        dimensions = self.distinct("dimensions", first.rank)
        return self._several(sums, tuple(size for number, size in enumerate(first.dims) if number not in dimensions))

    def _several(self, kinds: "Sequence[str]", dims: Tuple[int, ...]) -> Shape:
        arrays = [array_shape(dtype, dims) for dtype in kinds]
        return arrays[0] if len(kinds) == 1 else tuple_shape(arrays)

    def _combined(self) -> "Tuple[List[str], Shape]":
        """Inputs of equal dimensions, an initial value for each, and a computation that combines them: the sums' types, the first input."""
        if not self.shapes or len(self.shapes) % 2:
            self.fail(f"expected as many inputs as initial values, found {len(self.shapes)} operands")
        count = len(self.shapes) // 2
        first = self.array(0)
        if "dimensions" in self.i.attributes:
            self.distinct("dimensions", first.rank)
        for number in range(count):
            if self.array(number).dims != first.dims:
                self.fail(f"expected the dimensions of {_bare(first)} as operand {number}, found "
                          f"{_bare(self.shapes[number])}", operand=number)
        sums = [self.array(number).dtype for number in range(count, 2 * count)]
        results = self._scalars(sums + [of.dtype for of in self.shapes[:count]])
        for number in range(count):
            self.scalar(count + number, sums[number])
        if [of.dtype for of in results] != sums or (count > 1) != (self.i.attributes["to_apply"].root.shape.kind == "tuple"):
            self.fail(f"expected {', '.join(d + '[]' for d in sums)} as the result of '{self.i.attributes['to_apply'].name}', "
                      f"found {self.i.attributes['to_apply'].root.shape.text}", attribute="to_apply")
        return sums, first

    # loop nests

    def within(self, key: str, number: int, *sizes: int) -> None:
        """Amounts in a dimension, and what becomes of them, that are no larger than the algebra's numbers."""
        if max(map(abs, sizes)) > MOST_REACH:
            self.fail(f"expected a reach of at most {MOST_REACH} elements in dimension {number}, found {max(sizes, key=abs)}", attribute=key)

    def places(self, window: Window, k: int, base: int) -> int:
        self.within("window", k, window.low[k], window.high[k], window.stride[k], window.base_dilation[k], window.dilation[k], base * window.base_dilation[k],
                    window.size[k] * window.dilation[k])
        return window.places(k, base)

    def _window(self, rank: int, of: str) -> Window:
        window: Window = self.i.attributes.setdefault("window", Window())
        if len(window.size) != rank:
            self.fail(f"expected a window of {rank} dimensions, as {of}, found {len(window.size)}", attribute="window")
        return window

    def _reduce_window(self) -> Shape:
        sums, first = self._combined()
        window = self._window(first.rank, f"operand 0 {_bare(first)} has")
        return self._several(sums, tuple(self.places(window, k, size) for k, size in enumerate(first.dims)))

    def _select_and_scatter(self) -> Shape:
        of, source = self.array(0), self.array(1)
        window = self._window(of.rank, f"operand 0 {_bare(of)} has")
        places = tuple(self.places(window, k, size) for k, size in enumerate(of.dims))
        if (source.dtype, source.dims) != (of.dtype, places):
            self.fail(f"expected {of.dtype}[{','.join(map(str, places))}] as operand 1, a value for each place of the window, found {_bare(source)}",
                      operand=1)
        self.scalar(2, of.dtype)
        for key, dtype in (("select", "pred"), ("scatter", of.dtype)):
            results = self._scalars([of.dtype] * 2, key)
            if self.i.attributes[key].root.shape.kind == "tuple" or results[0].dtype != dtype:
                self.fail(f"expected {dtype}[] as the result of '{self.i.attributes[key].name}', found {self.i.attributes[key].root.shape.text}", attribute=key)
        return of

    def _product(self) -> str:
        """The type of sums of products: the written one, which may be no narrower than operands that are no floats."""
        kind = self.written_array().dtype
        for number, of in enumerate([self.array(k) for k in range(len(self.shapes))]):
            if dtypes.TABLE[of.dtype].kind != "float" and dtypes.TABLE[kind].bits < dtypes.TABLE[of.dtype].bits:
                self.scanner.fail(self.draft.shape_pos, f"{self.i.opcode}: expected a result of at least {dtypes.TABLE[of.dtype].bits} bits, as operand {number} "
                                                        f"{_bare(of)} has, found {kind}")
        return kind

    def _dot(self) -> Shape:
        a, b, kind = self.array(0), self.array(1), self._product()
        lists = {}
        for side, of in (("lhs", a), ("rhs", b)):
            for what in ("batch", "contracting"):
                lists[side, what] = self.i.attributes.setdefault(f"{side}_{what}_dims", ())
                self.distinct(f"{side}_{what}_dims", of.rank)
            both = set(lists[side, "batch"]) & set(lists[side, "contracting"])
            if both:
                self.fail(f"expected dimension {min(both)} in one of {side}_batch_dims and {side}_contracting_dims", attribute=f"{side}_contracting_dims")
        for what in ("batch", "contracting"):
            left, right = lists["lhs", what], lists["rhs", what]
            key = f"rhs_{what}_dims"
            if len(left) != len(right):
                self.fail(f"expected {len(left)} dimensions in {key}, as lhs_{what}_dims has, found {len(right)}", attribute=key)
            for i, j in zip(left, right):
                if a.dims[i] != b.dims[j]:
                    self.fail(f"expected the size {a.dims[i]} of dimension {i} of {_bare(a)} in dimension {j} of {_bare(b)}", attribute=key)
        dims = [a.dims[d] for d in lists["lhs", "batch"]]
        for side, of in (("lhs", a), ("rhs", b)):
            dims += [size for d, size in enumerate(of.dims) if d not in lists[side, "batch"] + lists[side, "contracting"]]
        return array_shape(kind, tuple(dims))

    def _scaled_dot(self) -> Shape:
        """A dot; an element of a scale serves a block of its factor's elements: its sizes divide the factor's."""
        for number in (2, 3):
            of, scale = self.array(number - 2), self.array(number)
            if scale.rank != of.rank or any(size % blocks if blocks else size for size, blocks in zip(of.dims, scale.dims)):
                self.fail(f"expected a scale whose sizes divide those of operand {number - 2} {_bare(of)}, found {_bare(scale)}", operand=number)
        return self._dot()

    def _convolution(self) -> Shape:
        a, b, kind, labels = self.array(0), self.array(1), self._product(), self.i.attributes["dim_labels"]
        for number, (of, part) in enumerate(((a, labels.lhs), (b, labels.rhs))):
            if of.rank != len(part):
                self.fail(f"expected {len(part)} dimensions, as dim_labels has, in operand {number} {_bare(of)}", operand=number)
        window = self._window(a.rank - 2, "dim_labels has spatial ones")
        groups = [self.i.attributes.setdefault(f"{name}_group_count", 1) for name in ("feature", "batch")]
        for name, count in zip(("feature", "batch"), groups):
            if count < 1:
                self.fail(f"expected {name}_group_count of at least 1, found {count}", attribute=f"{name}_group_count")
        if min(groups) > 1:
            self.fail("expected one of feature_group_count and batch_group_count to be 1", attribute="batch_group_count")
        batch, features = (a.dims[d] for d in labels.lhs[:2])
        inputs, outputs = (b.dims[d] for d in labels.rhs[:2])
        if features != inputs * groups[0]:
            self.fail(f"expected {inputs * groups[0]} input features, {inputs} of the kernel for each of {groups[0]} groups, found {features} in {_bare(a)}",
                      operand=0)
        if batch % groups[1]:
            self.fail(f"expected a batch that {groups[1]} groups divide, found {batch} in {_bare(a)}", operand=0)
        if outputs % max(groups):
            self.fail(f"expected output features that {max(groups)} groups divide, found {outputs} in {_bare(b)}", operand=1)
        dims = [0] * a.rank
        dims[labels.out[0]], dims[labels.out[1]] = batch // groups[1], outputs
        for k, size in enumerate(window.size):
            if b.dims[labels.rhs[2 + k]] != size:
                self.fail(f"expected the kernel's size {b.dims[labels.rhs[2 + k]]} in dimension {k} of the window, found {size}", attribute="window")
            dims[labels.out[2 + k]] = self.places(window, k, a.dims[labels.lhs[2 + k]])
        return array_shape(kind, tuple(dims))


def _bare(of: Shape) -> str:
    """An array shape without its layout, for messages."""
    return f"{of.dtype}[{','.join(map(str, of.dims))}]" if of.kind == "array" else of.text


def read(path: str, filename: Optional[str] = None) -> Module:
    """`parse` of a file; bytes that are no UTF-8 are judged like any other odd character. OSError where it cannot be read."""
    text = Path(path).read_bytes().decode("utf-8-sig", "replace")
    return parse(text, path if filename is None else filename)


def parse(text: str, filename: str) -> Module:
    """Reads and checks a module; HloError at the first fault."""
    return _Parser(text, filename).parse()


# ---- printing and comparing --------------------------------------------------------------------------------

def _literal_text(of: Shape, bits: "Iterator[int]") -> str:
    """The values of a constant; a brace a level. Recursion is as deep as the shape's tuples, loops as its rank."""
    if of.kind == "tuple":
        return "(" + ", ".join(_literal_text(child, bits) for child in of.children) + ")"
    values = [next(bits) for _ in range(max(of.elements, 0))]
    if len(values) > 64 and values.count(values[0]) == len(values):
        return dtypes.format_value(values[0], of.dtype)
    items = [dtypes.format_value(value, of.dtype) for value in values]
    for level in range(len(of.dims) - 1, -1, -1):
        outer = 1
        for size in of.dims[:level]:
            outer *= size
        size = of.dims[level]
        items = ["{" + ", ".join(items[k * size:(k + 1) * size]) + "}" for k in range(outer)]
    return items[0]


def _attribute_text(key: str, value: Any) -> str:
    if isinstance(value, Computation):
        return f"{key}=%{value.name}"
    if key == "slice":
        parts = [f"[{start}:{limit}]" if stride == 1 else f"[{start}:{limit}:{stride}]" for start, limit, stride in value]
        return f"slice={{{', '.join(parts)}}}"
    if key == "padding":
        parts = [f"{low}_{high}" if not interior else f"{low}_{high}_{interior}" for low, high, interior in value]
        return f"padding={'x'.join(parts)}"
    if isinstance(value, Window):
        return f"{key}={{{value.text}}}"
    if isinstance(value, Labels):
        return f"{key}={value.text}"
    if isinstance(value, tuple):
        return f"{key}={{{','.join(map(str, value))}}}"
    return f"{key}={value}"


def print_instruction(instruction: Instruction) -> str:
    """One instruction as text, without ROOT."""
    if instruction.opcode == "parameter":
        inside = str(instruction.parameter_number)
    elif instruction.opcode == "constant":
        inside = "{...}"
        if instruction.literal is not None:
            inside = _literal_text(instruction.shape, iter(instruction.literal))
    else:
        inside = ", ".join("%" + operand.name for operand in instruction.operands)
    words = [f"%{instruction.name} = {instruction.shape.text} {instruction.opcode}({inside})"]
    for key, value in instruction.attributes.items():
        if key != "raw":
            words.append(_attribute_text(key, value))
    words += [f"{key}={value}" for key, value in instruction.attributes.get("raw", {}).items()]
    return ", ".join(words)


def print_computation(computation: Computation, entry: bool = False) -> str:
    """One computation as text."""
    lines = [f"{'ENTRY ' if entry else ''}%{computation.name} {{"]
    for instruction in computation.instructions:
        lines.append(f"  {'ROOT ' if instruction is computation.root else ''}{print_instruction(instruction)}")
    tail = "".join(f", {key}={value}" for key, value in computation.attributes.items())
    return "\n".join(lines) + "\n}" + tail + "\n"


def print_module(module: Module) -> str:
    """The module as text which `parse` reads back to an equal graph."""
    parts = []
    if module.name:
        parts.append(f"HloModule {module.name}" + "".join(f", {k}={v}" for k, v in module.attributes.items()) + "\n")
    for computation in module.computations:
        parts.append(print_computation(computation, module.explicit_entry and computation is module.entry))
    return "\n".join(parts)


def _plain_attributes(instruction: Instruction) -> Dict[str, Any]:
    return {key: value.name if isinstance(value, Computation) else value for key, value in instruction.attributes.items()}


def instruction_key(instruction: Instruction) -> "Tuple[Any, ...]":
    """All of an instruction but its position, as a value to compare; instructions and computations stand by name."""
    return (instruction.name, instruction.opcode, instruction.shape, tuple(o.name for o in instruction.operands),
            _plain_attributes(instruction), tuple(u.name for u in instruction.users),
            tuple(c.name for c in instruction.called), instruction.parameter_number, instruction.literal)


def difference(a: Module, b: Module) -> str:
    """The first difference of two graphs in words, '' when they are equal. Positions and comments do not count."""
    if (a.name, a.attributes, a.explicit_entry) != (b.name, b.attributes, b.explicit_entry):
        return "the module's name, attributes or entry"
    if [c.name for c in a.computations] != [c.name for c in b.computations] or _entry(a).name != _entry(b).name:
        return "the computations"
    for first, second in zip(a.computations, b.computations):
        if len(first.instructions) != len(second.instructions) or first.attributes != second.attributes:
            return f"the computation {first.name}"
        if [p.name for p in first.parameters] != [p.name for p in second.parameters]:
            return f"the parameters of {first.name}"
        if _root(first).name != _root(second).name:
            return f"the root of {first.name}"
        for x, y in zip(first.instructions, second.instructions):
            if instruction_key(x) != instruction_key(y):
                return f"the instruction {x.name} of {first.name}"
    return ""


def _entry(module: Module) -> Computation:
    assert module.entry is not None
    return module.entry


def _root(computation: Computation) -> Instruction:
    assert computation.root is not None
    return computation.root


# ---- what the generator makes code for ---------------------------------------------------------------------

def reachable(module: Module) -> List[Computation]:
    """The entry and all that it calls, in the order of the text."""
    seen: Set[int] = set()
    stack = [_entry(module)]
    while stack:
        computation = stack.pop()
        if id(computation) not in seen:
            seen.add(id(computation))
            stack += [called for i in computation.instructions for called in i.called]
    return [computation for computation in module.computations if id(computation) in seen]


def unsupported(module: Module) -> Optional[HloError]:
    """The first instruction that the generator makes no code for yet, as an error at its position."""
    for computation in reachable(module):
        for instruction in computation.instructions:
            message = _why_not(instruction) or _why_not_called(instruction, module.filename) or _entry_layouts(module, instruction)
            if message:
                return HloError(module.filename, instruction.line, instruction.col, message)
    return _misfits_signature(module)


def _misfits_signature(module: Module) -> Optional[HloError]:
    """A parameter or result of the entry that is not laid out as entry_computation_layout says: before XLA assigns layouts, that attribute
    alone is true. Shapes that it writes without a layout, and text of it that is no shapes, say nothing."""
    scanner, entry = _Scanner(module.attributes.get("entry_computation_layout", ""), module.filename), _entry(module)
    wanted: List[Tuple[Shape, bool]] = []
    try:
        scanner.need("{")
        scanner.need("(")
        while scanner.peek() not in ("}", ""):
            if not scanner.accept(")") and not scanner.accept("->") and not scanner.accept(","):
                start = scanner.skip()
                wanted.append((scanner.shape(), "{" in scanner.text[start:scanner.pos]))
    except HloError:
        return None
    for (shape, written), instruction in zip(wanted, [*entry.parameters, _root(entry)] if len(wanted) == len(entry.parameters) + 1 else []):
        if written and same_shape(shape, instruction.shape) and [*map(_places, shape.leaves())] != [*map(_places, instruction.shape.leaves())]:
            return HloError(module.filename, instruction.line, instruction.col,
                            f"expected the layout of entry_computation_layout, {shape.text}, found {instruction.shape.text}")
    return None


def _places(of: Shape) -> "Tuple[Tuple[int, ...], str]":
    """What decides where an array's elements lie: the order of its dimensions but those of one element, and its tiles."""
    tiles = re.search(r":((?:T\([^()]*\)(?:\([^()]*\))*)?(?:L\([0-9]+\))?)", of.text)
    return tuple(d for d in of.minor_to_major if of.dims[d] != 1), tiles.group(1) if tiles else ""


# Why no kernel is made for an op, and what to write instead.
_NOT_OURS = {reason: frozenset(ops.split()) for reason, ops in {
    "is between devices, and a kernel runs on one: expected the module cut before and after it":
        """all-gather all-reduce all-to-all collective-broadcast collective-permute ragged-all-to-all reduce-scatter partition-id replica-id send recv
        infeed outfeed""",
    "is control flow: expected its computations as modules of their own, which the caller runs as often as is due": "while conditional",
    "calls code from elsewhere: expected ops of HLO, or the module cut before and after it": "custom-call",
    "is for a library, no loop over its result's elements: expected the module cut before and after it":
        "sort topk triangular-solve cholesky fft scan ragged-dot",
    "draws from a hidden state: expected the numbers as a parameter, or a generator written in integer ops": "rng rng-get-and-update-state",
    "leaves its algorithm to the device: expected the bits as a parameter, or a generator written in integer ops": "rng-bit-generator",
    "is several ops in one: expected its arithmetic written out": "batch-norm-training batch-norm-inference batch-norm-grad stochastic-convert",
    "only orders other ops: expected its operand in its place": "after-all add-dependency domain optimization-barrier",
    "is of sizes that are known at run time: expected fixed ones": "dynamic-reshape get-dimension-size set-dimension-size",
}.items()}


def _why_not_op(opcode: str) -> str:
    base, _, half = opcode.rpartition("-")
    apart = half in ("start", "update", "done") and opcode not in SUPPORTED
    for reason, ops in _NOT_OURS.items():
        if opcode in ops or (apart and base in ops):
            return f"'{opcode}' {reason}"
    if apart:
        return f"'{opcode}' is half of an op that runs beside others: expected {'the op that it wraps' if base == 'async' else repr(base)} itself"
    return f"the op '{opcode}' is not supported yet"


def unique_indices(scatter: Instruction) -> bool:
    """Whether no two updates are of one element, as the text promises."""
    return bool(scatter.attributes.get("raw", {}).get("unique_indices") == "true")


def index_parameter(scatter: Instruction) -> "Optional[Instruction]":
    """The parameter whose elements, in the order of memory, are a scatter's indices and nothing else's; None where there is none."""
    one = scatter.operands[len(scatter.operands) // 2]
    while len(one.users) == 1 and one.shape.kind == "array" and not one.shape.tiled and one.shape.minor_to_major == tuple(range(one.shape.rank))[::-1] \
            and dtypes.TABLE[one.shape.dtype].kind in ("sint", "uint") and dtypes.TABLE[one.shape.dtype].bits >= 32:
        if one.opcode == "parameter":
            return one
        if one.opcode not in ("reshape", "copy", "convert") and not (one.opcode == "bitcast" and _width(one.shape) == _width(one.operands[0].shape)):
            return None
        one = one.operands[0]
    return None


def sorted_indices(scatter: Instruction) -> bool:
    """Whether rows of indices do not decrease, as the text promises."""
    return bool(scatter.attributes.get("raw", {}).get("indices_are_sorted") == "true")


def in_order(scatter: Instruction) -> "Optional[List[int]]":
    """Where a scatter promises sorted indices and they are a parameter: how a check sorts them. Between an index's components in memory, how many
    there are, and these in the order of the operand's dimensions."""
    a, indices = scatter.attributes, scatter.operands[len(scatter.operands) // 2]
    to = a["scatter_dims_to_operand_dims"]
    if not sorted_indices(scatter) or indices.opcode != "parameter" or indices.shape.kind != "array" or not 0 < len(to) <= 8 \
            or dtypes.TABLE[indices.shape.dtype].bits < 8 or indices.shape.minor_to_major != tuple(range(indices.shape.rank))[::-1]:
        return None
    return [math.prod(indices.shape.dims[a["index_vector_dim"] + 1:]), len(to), *sorted(range(len(to)), key=lambda k: to[k])]


def apart(scatter: Instruction) -> "Optional[List[int]]":
    """Where a scatter promises unique indices and they are a parameter of its own: how a check draws them, below 2^31 or all ones. Between an
    index's components in memory, how many there are, and for each of them its places that windows do not share, and the window's size."""
    a, half = scatter.attributes, len(scatter.operands) // 2
    indices, of = scatter.operands[half], scatter.operands[0].shape
    if not unique_indices(scatter) or index_parameter(scatter) is None or not 0 < len(a["scatter_dims_to_operand_dims"]) <= 8 \
            or max(of.dims) >= 1 << 31:
        return None
    windowed = [d for d in range(of.rank) if d not in a["inserted_window_dims"] and d not in a.get("input_batching_dims", ())]
    sizes = {d: scatter.operands[half + 1].shape.dims[k] for d, k in zip(windowed, a["update_window_dims"])}
    found = [math.prod(indices.shape.dims[a["index_vector_dim"] + 1:]), len(a["scatter_dims_to_operand_dims"])]
    for d in a["scatter_dims_to_operand_dims"]:
        width = max(1, sizes.get(d, 1))
        found += [of.dims[d] // width, width]
    return found


def _why_not(instruction: Instruction) -> str:
    opcode = instruction.opcode
    if opcode not in SUPPORTED:
        return _why_not_op(opcode)
    for leaf in instruction.shape.leaves():
        message = _why_not_shape(leaf)
        if message:
            return f"{message}, in {leaf.text} of '{opcode}'"
    if opcode == "constant" and instruction.literal is None:
        return "the values of this constant are left out of the text ('...'): expected a module that is printed with its large constants " \
            "(--fill-constants N takes drawn values, for tests and timing)"
    if opcode == "constant" and instruction.shape.kind != "array":
        return "expected a constant for each element of this tuple, and the op 'tuple'"
    shapes = [operand.shape for operand in instruction.operands]
    if opcode in ("bitcast", "bitcast-convert"):
        message = _why_not_widths(opcode, shapes[0], instruction.shape)
        if message:
            return message
    if opcode == "bitcast" and (shapes[0].tiled or instruction.shape.tiled) and not same_positions(instruction.shape, shapes[0]):
        return f"expected a bitcast whose elements are at the positions of its operand's: {instruction.shape.text} and {shapes[0].text} differ"
    if opcode == "reduce-precision" and dtypes.TABLE[instruction.shape.dtype].bits <= 8:
        return f"expected 'reduce-precision' of a float of 16 bits or more, found {instruction.shape.dtype}"
    if opcode in ("real", "imag") and dtypes.TABLE[shapes[0].dtype].kind != "complex":
        return f"expected '{opcode}' of a complex number, found {shapes[0].dtype}: of a real one it is {'itself' if opcode == 'real' else 'zero'}"
    of = [shape for shape in [instruction.shape, *shapes] if dtypes.is_complex(shape.dtype)]
    if of and opcode in ELEMENTWISE and opcode not in COMPLEX:
        return f"expected '{opcode}' of real numbers, found {of[0].dtype}: of complex ones there are {', '.join(sorted(COMPLEX))}"
    if opcode == "parameter" and instruction.shape.kind == "tuple" and any(dtypes.is_complex(leaf.dtype) for leaf in instruction.shape.leaves()):
        return "expected complex numbers as parameters of their own, found them in a tuple"
    if of and opcode == "constant" and any(dtypes.is_nan(part, kind) or dtypes.is_infinite(part, kind) for kind in [dtypes.TABLE[of[0].dtype].part]
                                           for bits in instruction.literal for part in dtypes.parts(bits, of[0].dtype)):
        return f"expected finite numbers in a constant of {of[0].dtype}"
    if opcode in CONTRACTIONS:
        return _why_not_product(instruction)
    if opcode == "select-and-scatter" and instruction.attributes["window"].dilated:
        return "expected a select-and-scatter whose window is not dilated"
    if opcode == "select-and-scatter" and of:
        return f"expected '{opcode}' of real numbers, found {of[0].dtype}"
    if opcode == "scatter" and any(of.dtype != update.dtype for of, update in zip(shapes, shapes[len(shapes) // 2 + 1:])):
        return "expected a scatter's updates of its operand's type"
    if opcode == "scatter" and any(of.tiled for of in [*instruction.shape.leaves(), *shapes]):
        return "expected a scatter's arrays in layouts without tiles"
    if instruction.shape.dtype == "pred" and opcode in ("subtract", "divide", "remainder", "power"):
        return f"'{opcode}' of pred has no meaning"
    return ""


def _why_not_widths(opcode: str, of: Shape, to: Shape) -> str:
    """Of a bitcast, whether it is between types of different widths in a way that there is no code for."""
    same = _width(of) == _width(to)
    if "pred" in (of.dtype, to.dtype) and of.dtype != to.dtype and not (same and opcode == "bitcast"):
        return f"expected a {opcode} of pred to a type of as many bits: pred has one as a type and eight in memory; convert says which is meant"
    if same:
        return ""
    if dtypes.is_complex(of.dtype) or dtypes.is_complex(to.dtype):
        return f"expected a {opcode} of {of.dtype} to a type of as many bits, found {to.text}: take its parts by real and imag"
    if opcode == "bitcast" and (of.tiled or to.tiled or of.elements * _width(of) != to.elements * _width(to)):
        return f"expected a bitcast between types of different widths whose elements have the same bits, without tiles: found {of.text} and {to.text}"
    return ""


def _why_not_product(instruction: Instruction) -> str:
    """What sums of products are made of: floats, integers or complex numbers, not mixed but for integers that floats multiply."""
    to, kinds = instruction.shape.dtype, [operand.shape.dtype for operand in instruction.operands]
    if dtypes.is_complex(to) or any(map(dtypes.is_complex, kinds)):
        good = set(kinds) == {to} and instruction.opcode != "scaled-dot"
    elif "pred" in (to, *kinds):
        good = set(kinds) == {to}
    else:
        good = dtypes.TABLE[to].kind == "float" or all(dtypes.TABLE[kind].kind != "float" for kind in kinds)
    complex_ones = "" if instruction.opcode == "scaled-dot" else "complex ones of one type, "
    return "" if good else (f"expected a {instruction.opcode} of numbers of one kind (floats, integers, {complex_ones}pred) that gives such, found "
                            f"{', '.join(kinds[:-1])} and {kinds[-1]} that give {to}")


def accumulator(instruction: Instruction) -> str:
    """The type in which a dot (with its scales) or convolution multiplies and adds: f64 where it is or gives that, f32 for other floats, else the result's."""
    to, kinds = instruction.shape.dtype, [operand.shape.dtype for operand in instruction.operands]
    if dtypes.TABLE[to].kind != "float":
        return to
    return "f64" if "f64" in (to, *kinds) else "f32"


def _why_not_shape(leaf: Shape) -> str:
    if leaf.kind != "array":
        return f"expected arrays, found the type '{leaf.dtype}'"
    if leaf.dtype not in dtypes.SUPPORTED:
        wider = {"f6e2m3fn": "f8e4m3fn", "f6e3m2fn": "f8e4m3fn", "s1": "s2", "u1": "u2"}[leaf.dtype]
        return f"expected a type whose elements fill bytes by a power of two, found '{leaf.dtype}': {wider} holds its values" if leaf.dtype[0] == "f" else \
            f"expected pred or integers of two bits or more, found '{leaf.dtype}': {wider} holds its values"
    if leaf.dynamic:
        return "expected fixed sizes, found a dynamic dimension"
    suffix = re.search(r":([^}]*)\}", leaf.text)
    if suffix and suffix.group(1).startswith("T") and (leaf.dtype in dtypes.PACKED or dtypes.is_complex(leaf.dtype)):
        return f"expected a layout without tiles for {leaf.dtype}"
    width = dtypes.TABLE[leaf.dtype].bits if leaf.dtype in dtypes.PACKED else 8 * dtypes.storage_bytes(leaf.dtype)
    rest = re.sub(r"S\([0-9]+\)|L\([0-9]+\)|T(\([0-9*,]+\))+" + f"|E\\({width}\\)", "", suffix.group(1)) if suffix else ""
    if rest.startswith("SC"):
        return f"expected an array in one memory, found one that '{rest}' splits over several: a kernel has one pointer to it"
    if rest.startswith("E"):
        return f"expected elements of {width} bits, as {leaf.dtype} has them in memory, found '{rest}'"
    return f"expected a layout of order, tiles, L, E and S, found '{rest}'" if rest else ""


def _width(of: Shape) -> int:
    return 8 if of.dtype == "pred" else dtypes.TABLE[of.dtype].bits


_SCALAR_OPS = ELEMENTWISE | {"parameter", "constant", "tuple", "get-tuple-element"}


def _why_not_called(instruction: Instruction, filename: str) -> str:
    """What an op applies to scalars (a map, a reduce, a window's, a scatter's computations) may hold scalar ops only."""
    if instruction.opcode not in ("map", "reduce", "reduce-window", "select-and-scatter", "scatter"):
        return ""
    for inner in (inner for called in instruction.called for inner in inlined(called, filename).instructions):
        if inner.opcode not in _SCALAR_OPS or any(leaf.dims for leaf in inner.shape.leaves()):
            return f"expected scalar ops in the computation of this {instruction.opcode}, found '{inner.opcode}' of {inner.shape.text}"
    return ""


def _entry_layouts(module: Module, instruction: Instruction) -> str:
    """A kernel reads its operand as the layout of its own parameter says, so both must agree where a fusion is handed buffers. A call's
    layouts bind nobody: before XLA assigns layouts, computations are printed with the default ones."""
    if not module.explicit_entry or instruction.computation is not module.entry or instruction.opcode != "fusion":
        return ""
    called = instruction.called[0]
    for number, (operand, parameter) in enumerate(zip(instruction.operands, called.parameters)):
        if operand.shape != parameter.shape:
            return f"operand {number} has the layout of {operand.shape.text}, parameter {number} of '{called.name}' that of " \
                   f"{parameter.shape.text}"
    if instruction.shape != _root(called).shape:
        return f"the result has the layout of {instruction.shape.text}, the root of '{called.name}' that of " \
               f"{_root(called).shape.text}"
    return ""


# ---- fusions and steps -------------------------------------------------------------------------------------

class _Inliner:
    """A copy of a computation without fusion, call, map and opt-barrier, without copies of tuples and tuples that are only taken apart again;
    a scalar that selects for all elements is broadcast, start indices in an array become scalars. A layout that changes where a computation
    is entered or left is a copy. launches: only calls of computations with fusions in them go, for an entry whose fusions become kernels."""

    def __init__(self, source: Computation, filename: str, launches: bool = False) -> None:
        self.filename, self.launches = filename, launches
        self.source = source
        self.target = Computation(source.name, line=source.line, col=source.col, attributes=dict(source.attributes))
        self.taken = {instruction.name for instruction in source.instructions}
        self.counts: Dict[str, int] = {}
        self.inner: Dict[int, Computation] = {}
        self.size = 0

    def run(self) -> Computation:
        root = self._body(self.source, None, None)
        self.target.root = root
        self.target.parameters = [i for i in self.target.instructions if i.opcode == "parameter"]
        self.target.parameters.sort(key=lambda i: i.parameter_number or 0)
        self._sweep(root)
        for instruction in self.target.instructions:
            for operand in dict.fromkeys(instruction.operands):
                operand.users.append(instruction)
        return self.target

    def _body(self, body: Computation, arguments: "Optional[List[Instruction]]", spread: Optional[Shape]) -> Instruction:
        """Copies a body. arguments: what its parameters stand for; spread: the shape of the map it is in."""
        known: Dict[int, Instruction] = {}
        self._count(sum(i.opcode != "parameter" for i in body.instructions), body)
        for instruction in body.instructions:
            operands = [known[id(operand)] for operand in instruction.operands]
            if instruction.opcode == "parameter" and arguments is not None:
                given = arguments[instruction.parameter_number or 0]
                known[id(instruction)] = given if spread else self._laid_out(given, instruction.shape)
            elif self.launches and not _launches(instruction):
                known[id(instruction)] = self._copy(instruction, operands, instruction.shape)
            elif instruction.opcode in ("fusion", "call"):
                given = self._body(instruction.called[0], operands, spread)
                known[id(instruction)] = given if spread else self._laid_out(given, instruction.shape)
            elif instruction.opcode == "map":
                known[id(instruction)] = self._body(instruction.called[0], operands, instruction.shape)
            elif instruction.opcode == "opt-barrier" or (instruction.opcode == "copy" and instruction.shape.kind == "tuple"):
                known[id(instruction)] = operands[0]
            elif instruction.opcode == "get-tuple-element" and operands[0].opcode == "tuple":
                known[id(instruction)] = operands[0].operands[instruction.attributes["index"]]
            elif spread is not None:
                known[id(instruction)] = self._spread(instruction, operands, spread)
            else:
                if _selects_by_scalar(instruction):
                    operands[0] = self._broadcast(operands[0], instruction.shape)
                if _starts_in_array(instruction):
                    operands[-1:] = self._scalars(operands[-1])
                known[id(instruction)] = self._copy(instruction, operands, instruction.shape)
        return known[id(_root(body))]

    def _count(self, more: int, at: "Union[Computation, Instruction]") -> None:
        self.size += more
        if self.size > INLINE_LIMIT:
            raise HloError(self.filename, at.line, at.col, f"'{self.source.name}' has more than {INLINE_LIMIT} instructions once all it calls is inlined")

    def _laid_out(self, value: Instruction, of: Shape) -> Instruction:
        """The value in the layout of a shape that is the same otherwise."""
        if value.shape == of or of.kind == "token":
            return value
        if of.kind == "array":
            return self._add(value, "copy", of, [value])
        parts = value.operands if value.opcode == "tuple" else [
            self._add(value, "get-tuple-element", child, [value], index=number) for number, child in enumerate(value.shape.children)]
        return self._add(value, "tuple", of, [self._laid_out(part, child) for part, child in zip(parts, of.children)])

    def _add(self, like: Instruction, opcode: str, of: Shape, operands: List[Instruction], **attributes: Any) -> Instruction:
        """An instruction that the text does not have, at the place of one that it has."""
        self._count(1, like)
        added = Instruction(self._name(like.name), opcode, of, operands, attributes, line=like.line, col=like.col, computation=self.target)
        self.target.instructions.append(added)
        return added

    def _copy(self, instruction: Instruction, operands: List[Instruction], of: Shape) -> Instruction:
        own = instruction.computation is self.source and instruction.name in self.taken
        attributes = {key: self._called(value) if isinstance(value, Computation) else value for key, value in instruction.attributes.items()}
        copy = Instruction(instruction.name if own else self._name(instruction.name), instruction.opcode, of, operands,
                           attributes, [], [self._called(one) for one in instruction.called], instruction.parameter_number,
                           instruction.literal, instruction.line, instruction.col, self.target, instruction.places)
        self.target.instructions.append(copy)
        return copy

    def _called(self, computation: Computation) -> Computation:
        """What an op applies to scalars, likewise inlined."""
        if self.launches:
            return computation
        return self.inner.setdefault(id(computation), inlined(computation, self.filename))

    def _spread(self, instruction: Instruction, operands: List[Instruction], to: Shape) -> Instruction:
        """A scalar op inside a map, done for all elements."""
        of = array_shape(instruction.shape.dtype, to.dims, to.minor_to_major)
        if instruction.opcode != "constant":
            return self._copy(instruction, operands, of)
        return self._broadcast(self._copy(instruction, [], instruction.shape), to)

    def _broadcast(self, scalar: Instruction, to: Shape) -> Instruction:
        return self._add(scalar, "broadcast", array_shape(scalar.shape.dtype, to.dims, to.minor_to_major), [scalar], dimensions=())

    def _scalars(self, array: Instruction) -> List[Instruction]:
        """The elements of an array of rank 1."""
        found = []
        for k in range(array.shape.dims[0]):
            one = array
            for opcode, dims, attributes in (("slice", (1,), {"slice": ((k, k + 1, 1),)}), ("reshape", (), {})):
                one = self._add(array, opcode, array_shape(array.shape.dtype, dims), [one], **attributes)  # type: ignore[arg-type]
            found.append(one)
        return found

    def _name(self, wanted: str) -> str:
        name = wanted
        while name in self.taken:
            self.counts[wanted] = self.counts.get(wanted, 0) + 1
            name = f"{wanted}.in{self.counts[wanted]}"
        self.taken.add(name)
        return name

    def _sweep(self, root: Instruction) -> None:
        """Drops what nothing uses any more; parameters stay."""
        live, stack = {id(root)}, [root]
        while stack:
            for operand in stack.pop().operands:
                if id(operand) not in live:
                    live.add(id(operand))
                    stack.append(operand)
        self.target.instructions = [i for i in self.target.instructions if id(i) in live or i.opcode == "parameter"]


def _selects_by_scalar(instruction: Instruction) -> bool:
    return instruction.opcode == "select" and instruction.operands[0].shape.dims != instruction.shape.dims


def _starts_in_array(instruction: Instruction) -> bool:
    """Whether a dynamic-slice or dynamic-update-slice has its start indices in one operand."""
    first = {"dynamic-slice": 1, "dynamic-update-slice": 2}.get(instruction.opcode)
    return first is not None and len(instruction.operands) == first + 1 and instruction.operands[first].shape.rank == 1


def _launches(instruction: Instruction) -> bool:
    """Whether an entry's instruction is a call of what has fusions in it, itself or in what it calls: each becomes a kernel."""
    waiting = list(instruction.called) if instruction.opcode == "call" else []
    seen: Set[int] = set()
    while waiting:
        computation = waiting.pop()
        if id(computation) not in seen:
            seen.add(id(computation))
            if any(i.opcode == "fusion" for i in computation.instructions):
                return True
            waiting += [called for i in computation.instructions if i.opcode == "call" for called in i.called]
    return False


_INLINED = ("fusion", "call", "map", "opt-barrier")


def _to_inline(instruction: Instruction) -> bool:
    return instruction.opcode in _INLINED or _selects_by_scalar(instruction) or _starts_in_array(instruction) or any(
        i.opcode in _INLINED for called in instruction.called for i in called.instructions) or (
        instruction.opcode == "copy" and instruction.shape.kind == "tuple") or (
        instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "tuple")


def inlined(computation: Computation, filename: str = "") -> Computation:
    """The computation with nested fusions, calls and maps put in, and the rest that _Inliner does; itself where there is nothing to do."""
    if not any(_to_inline(i) for i in computation.instructions):
        return computation
    return _Inliner(computation, filename).run()


_C_WORDS = frozenset("""auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool half
    kernel global local constant private true false class new delete this template operator namespace main""".split())


def c_identifier(text: str) -> str:
    """A C identifier near to the text."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    if not name or not (name[0].isalpha()):
        name = "k" + ("" if name.startswith("_") else "_") + name
    return name + "_" if name in _C_WORDS else name


def _wrapped(instruction: Instruction) -> Computation:
    """A computation of one op: its operands become parameters, but for scalar constants, which come along."""
    computation = Computation(instruction.name, line=instruction.line, col=instruction.col)
    copies: Dict[int, Instruction] = {}
    for operand in instruction.operands:
        if id(operand) in copies:
            continue
        constant = operand.opcode == "constant" and operand.shape.kind == "array" and not operand.shape.dims
        copy = Instruction(operand.name, "constant" if constant else "parameter", operand.shape, line=operand.line,
                           col=operand.col, computation=computation, literal=operand.literal if constant else None)
        if not constant:
            copy.parameter_number = len(computation.parameters)
            computation.parameters.append(copy)
        computation.instructions.append(copy)
        copies[id(operand)] = copy
    root = Instruction(instruction.name, instruction.opcode, instruction.shape, [copies[id(o)] for o in instruction.operands],
                       dict(instruction.attributes), [], list(instruction.called), None, instruction.literal,
                       instruction.line, instruction.col, computation)
    for copy in copies.values():
        copy.users.append(root)
    computation.instructions.append(root)
    computation.root = root
    return computation


_PASSED = frozenset("parameter constant tuple get-tuple-element opt-barrier".split())


@dataclass
class _Plan:
    """The fusions of a module and, for an entry that launches several, which instruction of it each one is."""

    fusions: List[Fusion]
    launches: "List[Tuple[Fusion, Instruction, List[Instruction]]]"  # fusion, instruction of the entry, operands
    entry: Computation  # the module's, without calls of what has fusions in it


def _plan(module: Module) -> _Plan:
    if module.plan is None:
        module.plan = _make_plan(module)
        for fusion in module.plan.fusions:
            fusion.filled = module.filled
    return module.plan


def _make_plan(module: Module) -> _Plan:
    entry = _entry(module)
    stem = c_identifier((PurePath(module.filename).stem or module.name) + ("_filled" if module.filled else ""))
    if module.explicit_entry and any(_launches(i) for i in entry.instructions):
        entry = _Inliner(entry, module.filename, True).run()
    if not (module.explicit_entry and any(i.opcode == "fusion" for i in entry.instructions)):
        return _Plan([Fusion(stem, inlined(entry, module.filename), "", _module_aliases(module))], [], entry)
    fusions: List[Fusion] = []
    launches: List[Tuple[Fusion, Instruction, List[Instruction]]] = []
    known: Dict[int, Fusion] = {}
    for instruction in entry.instructions:
        if instruction.opcode in _PASSED:
            continue
        if instruction.opcode in ("fusion", "call") and not _laid_out_anew(instruction):
            called, operands = instruction.called[0], instruction.operands
            if id(called) not in known:
                known[id(called)] = Fusion(called.name, inlined(called, module.filename), instruction.attributes.get("kind", ""))
                fusions.append(known[id(called)])
            launches.append((known[id(called)], instruction, operands))
        else:
            computation = _wrapped(instruction)
            own = [o for o in dict.fromkeys(instruction.operands)
                   if not (o.opcode == "constant" and o.shape.kind == "array" and not o.shape.dims)]
            fusions.append(Fusion(instruction.name, inlined(computation, module.filename), ""))
            launches.append((fusions[-1], instruction, own))
    _give_names(fusions, stem)
    _share_buffers(launches)
    _give_buffers(module, entry, launches)
    return _Plan(fusions, launches, entry)


def _laid_out_anew(call: Instruction) -> bool:
    """Whether a computation's own layouts are others than those that a call's operands and result have."""
    called = call.called[0]
    return _root(called).shape != call.shape or any(p.shape != o.shape for p, o in zip(called.parameters, call.operands))


_PATH = r"\{(\s*(?:[0-9]{1,9}\s*(?:,\s*[0-9]{1,9}\s*)*)?)\}"
_ALIAS = re.compile(rf"{_PATH}\s*:\s*\(\s*([0-9]{{1,9}})\s*,\s*{_PATH}\s*(?:,\s*(?:may|must)-alias\s*)?\)")
_ALIASES = re.compile(rf"\{{\s*(?:{_ALIAS.pattern}\s*(?:,\s*{_ALIAS.pattern}\s*)*)?\}}")


def _leaf(of: Shape, path: str) -> int:
    """The number of the leaf at a shape index; -1 where there is none."""
    before = 0
    for word in path.split(",") if path.strip() else []:
        if of.kind != "tuple" or int(word) >= len(of.children):
            return -1
        before += sum(len(child.leaves()) for child in of.children[:int(word)])
        of = of.children[int(word)]
    return -1 if of.kind == "tuple" else before


def _pairs(text: str, result: Shape, operands: "Sequence[Shape]", key: str, where: "Tuple[str, int, int]") -> Dict[int, int]:
    """`{ {0}: (1, {}), .. }`: from flattened results to flattened operands."""
    found: Dict[int, int] = {}
    if not _ALIASES.fullmatch(text or "{}"):
        raise HloError(*where, f"{key}: expected {{ {{RESULT}}: (OPERAND, {{INDEX}}), .. }}, found {text[:60]}")
    for to, number, of in _ALIAS.findall(text):
        leaf = _leaf(result, to)
        inner = _leaf(operands[int(number)], of) if int(number) < len(operands) else -1
        if leaf < 0 or inner < 0:
            raise HloError(*where, f"{key}: expected arrays of the result and of an operand, found {{{to}}}: ({number}, {{{of}}})")
        if leaf in found:
            raise HloError(*where, f"{key}: expected each result once, found {{{to}}} again")
        found[leaf] = sum(len(shape.leaves()) for shape in operands[:int(number)]) + inner
    return found


def _module_aliases(module: Module) -> Dict[int, int]:
    entry = _entry(module)
    return _pairs(module.attributes.get("input_output_alias", ""), _root(entry).shape, [p.shape for p in entry.parameters], "input_output_alias",
                  (module.filename, *module.places.get("input_output_alias", (1, 1))))


def _share_buffers(launches: "List[Tuple[Fusion, Instruction, List[Instruction]]]") -> None:
    """Arrays that each launch of a fusion takes from one buffer are one parameter to it, the first; the others are left, and not read."""
    given: "Dict[Fusion, List[List[Value]]]" = {}
    for fusion, _, operands in launches:
        given.setdefault(fusion, []).append([value for operand in operands for value in _values(operand)])
    for fusion, rows in given.items():
        first: "Dict[Tuple[Value, ...], Tuple[int, Instruction]]" = {}
        stands: Dict[Instruction, Instruction] = {}
        number = 0
        for parameter in fusion.computation.parameters:
            if parameter.shape.kind == "array":
                known, one = first.setdefault(tuple(row[number] for row in rows), (number, parameter))
                if one is not parameter:
                    fusion.same[number], stands[parameter] = known, one
            number += len(parameter.shape.leaves())
        if stands:
            fusion.computation = _with_one_for(fusion.computation, stands)


def _with_one_for(computation: Computation, stands: "Dict[Instruction, Instruction]") -> Computation:
    """The computation with some parameters read in place of others."""
    made = Computation(computation.name, line=computation.line, col=computation.col, depth=computation.depth, attributes=computation.attributes)
    known: Dict[Instruction, Instruction] = {}
    for instruction in [*computation.parameters, *(i for i in computation.instructions if i.opcode != "parameter")]:
        operands = [known[stands.get(operand, operand)] for operand in instruction.operands]
        known[instruction] = replace(instruction, operands=operands, users=[], computation=made)
        made.instructions.append(known[instruction])
        for operand in dict.fromkeys(operands):
            operand.users.append(known[instruction])
    made.parameters = [known[parameter] for parameter in computation.parameters]
    root = _root(computation)
    made.root = known[stands.get(root, root)]
    return made


def _give_buffers(module: Module, entry: Computation, launches: "List[Tuple[Fusion, Instruction, List[Instruction]]]") -> None:
    """What each fusion may overwrite, in all of its launches: what the fusion itself says, what the module's aliases come down to, and copies that the
    entry makes for it alone."""
    root = _root(entry)
    parameters = [Value(p, leaf) for p in entry.parameters for leaf in range(len(p.shape.leaves()))]
    results = _values(root)
    given = {results[k]: parameters[n] for k, n in _module_aliases(module).items()}
    reads = Counter(value for fusion, _, operands in launches
                    for n, value in enumerate(value for operand in operands for value in _values(operand)) if n not in fusion.same)
    kept = set(results)
    first: Set[int] = set()
    for fusion, instruction, operands in launches:
        text = instruction.attributes.get("raw", {}).get("output_to_operand_aliasing", "")
        own = _pairs(text, instruction.shape, [o.shape for o in operands], "output_to_operand_aliasing",
                     (module.filename, *instruction.places.get("output_to_operand_aliasing", (instruction.line, instruction.col))))
        own = {k: fusion.same.get(n, n) for k, n in own.items()}
        values = [value for operand in operands for value in _values(operand)]
        alone = {value: n for n, value in enumerate(values) if n not in fusion.same and reads[value] == 1 and value not in kept}
        for leaf in range(len(instruction.shape.leaves())):
            value = given.get(Value(instruction, leaf))
            if value in alone:
                own[leaf] = alone[value]
        donated = frozenset(n for value, n in alone.items() if value.producer.opcode == "copy")
        if id(fusion) in first:
            own, donated = {k: n for k, n in own.items() if fusion.aliases.get(k) == n}, donated & fusion.donated
        first.add(id(fusion))
        fusion.aliases, fusion.donated = own, donated


def _give_names(fusions: List[Fusion], stem: str) -> None:
    taken: Set[str] = set()
    for fusion in fusions:
        base = stem if len(fusions) == 1 else c_identifier(f"{stem}_{fusion.name}")
        name, count = base, 1
        while name in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name)
        fusion.name = name


def fusions(module: Module) -> List[Fusion]:
    """The computations that become kernels. An entry without fusion instructions is the fusion, calls inlined, and so is a bare
    computation; else each computation that a fusion (or call) of the entry names is one, and each other op of the entry is one of its own.
    A call of a computation with fusions in it is as if these were in the entry."""
    return _plan(module).fusions


def _resolve(instruction: Instruction, leaf: int) -> Value:
    """The buffer behind a leaf of an instruction of the entry, through tuples and their elements."""
    while instruction.opcode in ("tuple", "get-tuple-element", "opt-barrier"):
        if instruction.opcode == "opt-barrier":
            instruction = instruction.operands[0]
            continue
        if instruction.opcode == "get-tuple-element":
            children = instruction.operands[0].shape.children
            leaf += sum(len(child.leaves()) for child in children[:instruction.attributes["index"]])
            instruction = instruction.operands[0]
            continue
        for operand in instruction.operands:
            size = len(operand.shape.leaves())
            if leaf < size:
                instruction = operand
                break
            leaf -= size
    return Value(instruction, leaf)


def _values(instruction: Instruction) -> List[Value]:
    return [_resolve(instruction, leaf) for leaf in range(len(instruction.shape.leaves()))]


def steps(module: Module) -> List[Step]:
    """The launches of a run in order. Values name parameters and constants of the entry, and results of earlier steps."""
    plan = _plan(module)
    if not plan.launches:
        return [Step(plan.fusions[0], module_parameters(module), module_results(module))]
    return [Step(fusion, [value for operand in operands for value in _values(operand)],
                 [Value(instruction, leaf) for leaf in range(len(instruction.shape.leaves()))])
            for fusion, instruction, operands in plan.launches]


def module_parameters(module: Module) -> List[Value]:
    """The buffers of the module's flattened parameters."""
    return [Value(p, leaf) for p in _plan(module).entry.parameters for leaf in range(len(p.shape.leaves()))]


def module_results(module: Module) -> List[Value]:
    """The buffers of the module's flattened result. Of a module that is one fusion: the leaves of the entry's root."""
    root = _root(_plan(module).entry)
    if not _plan(module).launches:
        return [Value(root, leaf) for leaf in range(len(root.shape.leaves()))]
    return _values(root)
