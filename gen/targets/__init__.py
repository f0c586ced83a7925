"""The words in which OpenCL C 1.2, CUDA and C11 differ, and the text of types, literals, loads and stores.

A value in a register has the type of its arithmetic: f16, bf16 and the tiny types (f8, f4) are floats that hold a value of the
type, pred is a byte of 0 or 1, s4, u4, s2 and u2 are bytes that hold a value of the type, c64 and c128 are structs of two floats.
`lanes` is 1 for a scalar; else a value is one vector of that many lanes: OpenCL's, or GNU C's under the same name. What OpenCL
says of vectors by operators, conversions and vloadn, GNU C says by small words with a type's name in them (`splat_float16`),
which templates/c.j2 defines where they are used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Dict, FrozenSet, List, Set, Tuple

from gen.hlo import dtypes

SMALL = ("f16", "bf16")
TINY = tuple(name for name in sorted(dtypes.SUPPORTED) if dtypes.TABLE[name].kind == "float" and dtypes.TABLE[name].bits <= 8)
FLOATS = ("f16", "bf16", "f32", "f64", *TINY)
SIGNED = ("s2", "s4", "s8", "s16", "s32", "s64")
UNSIGNED = ("u2", "u4", "u8", "u16", "u32", "u64")
COMPLEX = ("c64", "c128")             # a struct of two floats, always scalar
NARROW = ("s2", "u2", "s4", "u4")     # in registers a byte that holds a value of theirs
INTEGERS = SIGNED + UNSIGNED
# Names of vectors, before their lanes.
VECTOR = {"s8": "char", "u8": "uchar", "s16": "short", "u16": "ushort", "s32": "int", "u32": "uint", "s64": "long", "u64": "ulong",
          "f32": "float", "f64": "double"}


def bits(dtype: str) -> int:
    return 8 * dtypes.storage_bytes(dtype)


@dataclass(frozen=True)
class Dialect:
    """One language. `types`: element types in memory; `index`: the index types of the algebra; `wide`: it has vectors; `either`: the
    or of two vector comparisons; `last`: what follows a kernel's pointers."""

    name: str
    comment: str
    types: Dict[str, str]
    index: Dict[str, str]
    kernel: str
    function: str
    pointer: str
    restrict: str
    constant: str
    group: str
    item: str
    unroll: str
    wide: bool
    suffix64: Tuple[str, str]
    either: str = "||"
    last: str = ""
    shared: str = ""      # memory of a block, and where its threads meet: GPUs
    barrier: str = ""

    def memory(self, dtype: str, lanes: int = 1) -> str:
        """The type of an element in memory, or of that many."""
        return self.register("u8" if dtype in TINY or dtype in NARROW else {"f16": "u16", "bf16": "u16"}.get(dtype, dtype), lanes)

    def register(self, dtype: str, lanes: int = 1) -> str:
        """The type of a value in a register."""
        if dtype in COMPLEX:
            return dtype
        name = "f32" if dtype in TINY else f"{dtype[0]}8" if dtype in NARROW else {"pred": "u8", "f16": "f32", "bf16": "f32"}.get(dtype, dtype)
        return self.types[name] if lanes == 1 else f"{VECTOR[name]}{lanes}"

    def unsigned(self, dtype: str, lanes: int = 1) -> str:
        """The unsigned integer as wide as a register of that type."""
        return self.register(f"u{self.register_bits(dtype)}", lanes)

    def signed(self, dtype: str, lanes: int = 1) -> str:
        return self.register(f"s{self.register_bits(dtype)}", lanes)

    @staticmethod
    def register_bits(dtype: str) -> int:
        return 32 if dtype in SMALL or dtype in TINY else bits(dtype)

    def array(self, dtype: str, read_only: bool, restrict: bool) -> str:
        """The type of a kernel's pointer parameter."""
        return f"{self.pointer}{'const ' if read_only else ''}{self.memory(dtype)} *{self.restrict if restrict else ''}"

    def reinterpret(self, text: str, source: str, to: str, lanes: int = 1) -> str:
        """The bits of a register taken as another type of the same width."""
        if self.wide:
            return f"as_{self.register(to, lanes)}({text})"
        words = {("f32", "s32"): "__float_as_int", ("f32", "u32"): "__float_as_uint", ("s32", "f32"): "__int_as_float",
                 ("u32", "f32"): "__uint_as_float", ("f64", "s64"): "__double_as_longlong", ("s64", "f64"): "__longlong_as_double"}
        if (source, to) in words:
            return f"{words[source, to]}({text})"
        if (source, to) == ("f64", "u64"):
            return f"({self.types['u64']})__double_as_longlong({text})"
        if (source, to) == ("u64", "f64"):
            return f"__longlong_as_double((long long)({text}))"
        return f"({self.types[to]})({text})"

    # ---- vectors ----

    def splat(self, dtype: str, lanes: int, text: str) -> str:
        """A scalar in all lanes, bit by bit."""
        return f"({self.register(dtype, lanes)})({text})"

    def zero(self, lanes: int) -> str:
        """What a register starts from: all bits 0."""
        return "0"

    def choose(self, dtype: str, lanes: int, mask: str, a: str, b: str) -> str:
        """Lane by lane a where the mask (a comparison) is set, else b."""
        return f"{mask} ? {a} : {b}"

    def gather(self, dtype: str, lanes: int, array: str) -> str:
        """A vector from an array of its lanes; `scatter`, the way back."""
        return f"vload{lanes}(0, {array})"

    def scatter(self, dtype: str, lanes: int, value: str, array: str) -> str:
        return f"vstore{lanes}({value}, 0, {array});"

    def math(self, name: str, dtype: str) -> str:
        """A function of the language's library, by its name for doubles; `dtype`: what it takes."""
        return name if self.name == "opencl" or dtype == "f64" else name + "f"

    # ---- the rest ----

    def ahead(self, word: str, at: str, distance: int, size: int) -> str:
        """A prefetch, `distance` bytes on from an element of `size` bytes."""
        return f"PREFETCH_{word}({at} + {distance // size});"

    def parts(self, pattern: int, dtype: str) -> str:
        """What a complex number's struct is initialised with."""
        return f"{{{', '.join(self.literal(part, dtypes.TABLE[dtype].part) for part in dtypes.parts(pattern, dtype))}}}"

    def literal(self, pattern: int, dtype: str) -> str:
        """A constant of the register type that holds exactly the value of a bit pattern."""
        if dtype in COMPLEX:
            return f"{dtype}{self.parts(pattern, dtype)}" if self.name == "cuda" else f"({dtype}){self.parts(pattern, dtype)}"
        if dtype in FLOATS:
            wide = "f64" if dtype == "f64" else "f32"
            if dtypes.is_nan(pattern, dtype) or dtypes.is_infinite(pattern, dtype):
                if wide != dtype:
                    pattern = pattern << 16 if dtype == "bf16" else _widen(pattern) if dtype == "f16" else _widen_tiny(pattern, dtype)
                if self.name == "cuda":
                    return _special(pattern, wide)
                number = f"0x{pattern:x}u{self.suffix64[0] if wide == 'f64' else ''}"
                return self.reinterpret(number, "u64" if wide == "f64" else "u32", wide)
            text = dtypes.format_value(dtypes.encode(dtypes.decode(pattern, dtype), wide), wide)
            text = text if any(c in text for c in ".en") else text + ".0"
            text += "" if wide == "f64" else "f"
            return f"({text})" if text.startswith("-") else text
        value = int(dtypes.decode(pattern, dtype))
        if dtype in ("pred", "s8", "s16", "u8", "u16", *NARROW):
            return f"({self.register(dtype)}){value}" if value >= 0 else f"({self.register(dtype)})({value})"
        if dtype == "u32":
            return f"{value}u"
        if dtype == "u64":
            return f"{value}{self.suffix64[1]}"
        suffix = self.suffix64[0] if dtype == "s64" else ""
        if value == -(1 << (bits(dtype) - 1)):
            return f"(-{-value - 1}{suffix} - 1)"
        return f"{value}{suffix}" if value >= 0 else f"({value}{suffix})"


def _widen(pattern: int) -> int:
    """The f32 pattern of an infinite or NaN f16."""
    return (pattern & 0x8000) << 16 | 0x7F800000 | (pattern & 0x3FF) << 13


def _widen_tiny(pattern: int, dtype: str) -> int:
    """The f32 pattern of an infinite or NaN value of a type of 8 bits; payloads are kept."""
    kind = dtypes.TABLE[dtype]
    sign = (pattern >> 7 & 1) << 31 if kind.style in ("ieee", "fn") else 0
    return sign | 0x7F800000 | ((pattern & ((1 << kind.mantissa) - 1)) << (23 - kind.mantissa) if kind.style == "ieee" else 0x400000)


def _special(pattern: int, dtype: str) -> str:
    """An infinity or NaN of f32 or f64 as a C++ constant expression: a table may hold it. (Compilers make a signalling NaN quiet.)"""
    mantissa, letter, cast = (52, "", "(double)") if dtype == "f64" else (23, "f", "")
    payload, quiet = pattern & ((1 << mantissa) - 1), 1 << (mantissa - 1)
    text = f"{cast}INFINITY" if not payload else f"{cast}NAN" if payload == quiet \
        else f'__builtin_nan{letter}("{payload & (quiet - 1):#x}")' if payload & quiet else f'__builtin_nans{letter}("{payload:#x}")'
    return f"(-{text})" if pattern >> (bits(dtype) - 1) else text


class C(Dialect):
    """C11 with the vectors of GNU C, and (wide: no) without. A work-group is one call with its `number`."""

    def reinterpret(self, text: str, source: str, to: str, lanes: int = 1) -> str:
        if lanes > 1:
            return f"as_{self.register(to, lanes)}({text})"
        real, number = (side in FLOATS for side in (source, to))
        if real:
            text = f"bits_of_{self.register(source)}({text})"
            return text if to in UNSIGNED else f"({self.register(to)}){text}"
        return f"{self.register(to)}_of_bits({text})" if number else f"({self.register(to)})({text})"

    def splat(self, dtype: str, lanes: int, text: str) -> str:
        return f"splat_{self.register(dtype, lanes)}({text})"

    def zero(self, lanes: int) -> str:
        return "0" if lanes == 1 else "{0}"

    def choose(self, dtype: str, lanes: int, mask: str, a: str, b: str) -> str:
        return super().choose(dtype, lanes, mask, a, b) if lanes == 1 else f"choose_{self.register(dtype, lanes)}({mask}, {a}, {b})"

    def gather(self, dtype: str, lanes: int, array: str) -> str:
        return f"load_{self.register(dtype, lanes)}({array})"

    def scatter(self, dtype: str, lanes: int, value: str, array: str) -> str:
        return f"store_{self.register(dtype, lanes)}({value}, {array});"

    def ahead(self, word: str, at: str, distance: int, size: int) -> str:
        return f"PREFETCH_{word}({at}, {distance});"


OPENCL = Dialect(
    name="opencl", comment="OpenCL C 1.2",
    types={"s8": "char", "u8": "uchar", "s16": "short", "u16": "ushort", "s32": "int", "u32": "uint", "s64": "long", "u64": "ulong",
           "f32": "float", "f64": "double"},
    index={"uint": "uint", "int": "int", "long": "long"},
    kernel="__kernel", function="static inline", pointer="__global ", restrict="restrict ", constant="__constant",
    group="get_group_id(0)", item="get_local_id(0)", unroll="#pragma unroll", shared="__local ",
    barrier="barrier(CLK_LOCAL_MEM_FENCE);", wide=True, suffix64=("l", "ul"))

CUDA = Dialect(
    name="cuda", comment="CUDA C++",
    types={"s8": "signed char", "u8": "unsigned char", "s16": "short", "u16": "unsigned short", "s32": "int", "u32": "unsigned",
           "s64": "long long", "u64": "unsigned long long", "f32": "float", "f64": "double"},
    index={"uint": "unsigned", "int": "int", "long": "long long"},
    kernel='extern "C" __global__', function="static __device__ inline", pointer="", restrict="__restrict__ ",
    constant="static __device__ const", group="blockIdx.x", item="threadIdx.x", unroll="#pragma unroll",
    shared="__shared__ ", barrier="__syncthreads();", wide=False,
    suffix64=("ll", "ull"))

_C_TYPES = {**{f"s{b}": f"int{b}_t" for b in (8, 16, 32, 64)}, **{f"u{b}": f"uint{b}_t" for b in (8, 16, 32, 64)}, "f32": "float",
            "f64": "double"}

GNU_C = C(
    name="c", comment="GNU C11", types=_C_TYPES, index={"uint": "uint32_t", "int": "int32_t", "long": "int64_t"},
    kernel="static", function="static inline", pointer="", restrict="restrict ", constant="static const", group="number", item="0",
    unroll="UNROLL", wide=True, suffix64=("ll", "ull"), either="|", last=", size_t number")
SCALAR_C = replace(GNU_C, comment="C11", wide=False)

_VECTOR = re.compile(rf"\b(?:(as|convert|splat|choose|load|store)_)?(({'|'.join(VECTOR.values())})(\d+))\b")


@dataclass(frozen=True)
class Vector:
    """A vector type that a text in GNU C uses, its element, bytes, the comparisons' type; `words`: what is done with it."""

    name: str
    element: str
    lanes: int
    bytes: int
    mask: str
    words: FrozenSet[str]


def vectors(text: str) -> List[Vector]:
    """The vectors of a text, and those that they need."""
    found: Dict[str, Set[str]] = {}
    for word, name, base, lanes in _VECTOR.findall(text):
        found.setdefault(name, set()).add(word)
        if word == "choose":
            found.setdefault(_mask(base) + lanes, set())
    kinds = {base: dtype for dtype, base in VECTOR.items()}
    made = []
    for name in sorted(found):
        base, lanes = re.match(r"([a-z]+)(\d+)", name).groups()   # type: ignore[union-attr]
        dtype = kinds[base]
        made.append(Vector(name, GNU_C.types[dtype], int(lanes), bits(dtype) // 8 * int(lanes), _mask(base) + lanes, frozenset(found[name])))
    return made


def _mask(base: str) -> str:
    """The signed integers as wide as an element."""
    dtype = next(dtype for dtype, name in VECTOR.items() if name == base)
    return VECTOR[f"s{bits(dtype)}"]


DIALECTS = {"opencl": OPENCL, "cuda": CUDA, "c": GNU_C}
