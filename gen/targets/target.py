"""A target: the keywords and functions in which the languages differ, and the text of types, literals, loads and
stores.

A value in a register has the type in which it is computed. f16, bf16 and the tiny types (f8, f4) are floats that hold a
value of the type; pred is a byte of 0 or 1; s4, u4, s2 and u2 are bytes that hold a value of the type; c64 and c128 are
structs of two floats. `lanes` is 1 for a scalar; otherwise a value is one vector of `lanes` lanes.

OpenCL C and GNU C have vector types of the same names. OpenCL has operators, conversions and vloadn for them. In GNU C,
small functions that are named after the type (`splat_float16`) do the same; templates/files/c.j2 defines the functions
that a file uses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Set, Tuple, Union

from gen.hlo import dtypes
from gen.statements import Assign, Call

SMALL = ("f16", "bf16")
TINY = tuple(name for name in sorted(dtypes.SUPPORTED) if dtypes.TABLE[name].kind == "float"
             and dtypes.TABLE[name].bits <= 8)
FLOATS = ("f16", "bf16", "f32", "f64", *TINY)
SIGNED = ("s2", "s4", "s8", "s16", "s32", "s64")
UNSIGNED = ("u2", "u4", "u8", "u16", "u32", "u64")
COMPLEX = ("c64", "c128")             # a struct of two floats; there are no vectors of them
NARROW = ("s2", "u2", "s4", "u4")     # in registers, a value of one of these types is a byte
INTEGERS = SIGNED + UNSIGNED
# names of vector types, without the number of lanes at their end
VECTOR = {"s8": "char", "u8": "uchar", "s16": "short", "u16": "ushort", "s32": "int", "u32": "uint", "s64": "long",
          "u64": "ulong", "f32": "float", "f64": "double"}


def bits(dtype: str) -> int:
    return 8 * dtypes.storage_bytes(dtype)


class VectorWord(NamedTuple):
    """A vector type or, if `word` is not empty, the function `word` on it: as, convert, splat, .."""

    dtype: str
    lanes: int
    word: str = ""


@dataclass(frozen=True)
class Target:
    """One language and its devices. Each target is an instance in a file of this folder. Subclasses override methods
    where the fields are not enough.

    types: names of the element types in memory.
    index: names of the index types (uint, int, long).
    wide: true if the language has vectors.
    suffix: end of the name of a generated file.
    template: template of the file around the kernels.
    """

    name: str
    comment: str
    types: Dict[str, str]
    index: Dict[str, str]
    suffix: str
    kernel: str                       # qualifiers of a kernel
    function: str                     # qualifiers of a function that kernels call
    pointer: str                      # address space of a buffer
    restrict: str
    constant: str                     # qualifiers of a constant table
    group: str  # expressions for the number of a work-group, and for the number of a work-item in its group
    item: str
    global_item: str  # expression for the number of a work-item among all groups; "" if a call runs one group
    unroll_word: str
    wide: bool
    suffix64: Tuple[str, str]         # suffixes of 64-bit literals, signed and unsigned
    external: str = ""                # prefix of `kernel` if other files may call the kernel by name
    last: str = ""                    # parameters that follow a kernel's pointers
    inlined: str = ""  # qualifiers of a function that must be inlined, so that its array parameters stay in registers
    shared: str = ""    # GPUs: qualifier of an array in shared memory; `barrier` synchronises the work-group
    shared_pointer: str = ""          # address space of a pointer to an array in shared memory
    aligned: str = "__attribute__((aligned({bytes})))"     # attribute of an array that is aligned to `bytes`
    barrier: str = ""
    memory_barrier: str = ""          # a barrier that also orders accesses to buffers in memory
    shared_bytes: int = 0             # bytes of shared memory that every device has for a work-group

    # expression for the value of the lane {distance} lanes after this one, within parts of {width} lanes of a warp; ""
    # if the language has no shuffles
    shuffle: str = ""
    vector_test: str = ""             # macro that is defined by compilers with vectors of any length
    may_alias: str = ""               # attribute of a vector type whose pointers may alias elements
    longest_vector: int = 0           # number of lanes of the longest vector type with a name
    declares_vectors: bool = False    # true if the file's template defines the vector types

    # true if the language itself loads and stores vectors at addresses that are aligned to one element only
    loads_anywhere: bool = False
    words: bool = True                # true if several elements are loaded as one word, through a union

    # true if each launch chooses between accesses of whole words and of single elements, by the alignment of its
    # pointers
    chooses_words: bool = False
    # true if a program's C function takes pointers, false if it takes objects of a runtime (cl_mem)
    takes_pointers: bool = True
    vector_functions: bool = True     # true if the math library's functions take vectors
    has_rsqrt: bool = True
    has_remainder: bool = True        # true if the math library's remainder of doubles is exact
    integer_functions: bool = False   # true if max, min and abs are defined for integers and integer vectors
    shifts_modulo: bool = False       # true if the language defines a shift by s as a shift by s mod the width
    zeros: int = 256                  # number of zeros at the address `unknown_zeros`
    half_by_bits: bool = False        # true if f16 is converted by integer operations

    # If half_by_bits is false: an expression that converts the bits {x} of an f16 to a float, and expressions that
    # convert a float and a double to the bits of an f16 ("": through memory).
    half_value: str = "vload_half(0, (const half *)&{x})"
    half_bits: str = ""
    half_narrowed: str = ""
    atomic_bits: int = 0              # bits of the widest word with atomic operations; 0: none
    atomic_space: str = ""            # address space of a pointer to an atomic word
    compare_and_swap: str = ""        # name of the atomic compare-and-swap (word, expected, new) -> old value
    atomic_read: str = ""             # expression for a `word` that other threads may write at the same time
    block_chains: bool = False        # true if one block of threads can run all kernels of a small loop
    chains: bool = False              # true if one launch can run several small kernels (gen/program/chains.py)
    matrix_instructions: bool = False  # true if kernels may use mma, ldmatrix and cp.async of PTX
    prepares: bool = False            # true if NAME_prepare computes the values that depend only on weights
    has_libraries: bool = False       # true if kernels may call libraries on the host

    # alignment, in bytes, of arrays in the scratch block. For OpenCL, it is the largest alignment that a device may
    # require of a sub-buffer.
    alignment: int = 64
    scratch_in_results: bool = True   # true if scratch arrays may be in result buffers until the results are written
    local_bytes: int = 0              # maximum bytes of a program's small arrays that are local variables
    headers: Tuple[str, ...] = ()     # headers of a GPU's runtime and of its f16 type
    api_headers: Tuple[str, ...] = ()  # headers that the API header includes

    # line by which a file forbids fused multiply-add; "" for languages in which only `product` prevents it
    unfused: str = ""
    flushes: bool = False             # true if atomic sums of f32 flush subnormals to zero

    # the same language without vectors, if the file has a second program for compilers without vectors; else None
    plain: "Optional[Target]" = None
    embedded: bool = False            # true for small machines: no compiler extensions, no threads

    # for one file: the sizes, in bytes, of the arrays that its kernels have on the stack
    rooms: "List[int]" = field(default_factory=list, compare=False, repr=False)
    # for one file: the words (types, functions, macros) that its text uses, so that its template defines them
    used: "Set[Union[str, VectorWord]]" = field(default_factory=set, compare=False, repr=False)

    def of_file(self, used: "Iterable[Union[str, VectorWord]]" = ()) -> "Target":
        """Return the same target for another file, with its own `used` and `rooms`."""
        return replace(self, used=set(used), rooms=[])

    def on(self, small: bool) -> "Target":
        """Return the language for small machines if `small` is true, else this language."""
        return self

    def room(self, type: str, count: int, times: int = 1) -> int:
        """Add the bytes of an array on the stack to `rooms`, and return the array's element count. times: number of
        such arrays.
        """
        widths = {name: bits(dtype) // 8 for dtype, name in self.types.items()}
        self.rooms.append(widths.get(type, 16) * max(1, count) * times)
        return count

    def of_functions(self) -> "Target":
        """Return the target for kernels that become functions of the file. Their parameter `number` is the number of
        the work-group that a call runs.
        """
        if self.last:
            return self
        item = self.item if self.block_chains else "0"
        return replace(self, external="", kernel=self.function, group="number", item=item, global_item="number",
                       last=", size_t number")

    def head(self, words: bool) -> str:
        """Return the qualifiers of a kernel. words: true if the kernel accesses words of several elements."""
        return self.external + self.kernel

    def of_chain(self, name: str, words: bool) -> str:
        """Return the C function by which a chain (several kernels in one launch) calls a kernel. words: see `head`."""
        return name

    def word_load(self, to: str, kind: str, at: str, number: int = 0) -> "Union[Assign, Call]":
        """Return the statement that loads a word: word `number` of type `kind` after the address `at`. A word has
        several elements.
        """
        return Assign(to, self._word(f"const {self.pointer}{kind}", at, number))

    def word_store(self, value: str, kind: str, at: str, number: int = 0) -> "Union[Assign, Call]":
        """Return the statement that stores a word; see `word_load`."""
        return Assign(self._word(f"{self.pointer}{kind}", at, number), value)

    @staticmethod
    def _word(kind: str, at: str, number: int) -> str:
        return f"*(({kind} *)({at}) + {number})" if number else f"*({kind} *)({at})"

    @property
    def unroll(self) -> str:
        """Return the line that is written before a loop so that a compiler unrolls it."""
        self.used.add("unroll")
        return self.unroll_word

    @property
    def counted_function(self) -> str:
        """Return the qualifiers of an inlined function whose arguments are the trip counts of its loops."""
        return self.inlined

    @property
    def called_function(self) -> str:
        """Return the qualifiers of a function that is not inlined. Constants of such a function do not occupy registers
        in a loop that calls it.
        """
        return "static __attribute__((noinline))"

    @property
    def unroll_counted(self) -> str:
        """Return the line before a loop that is to be unrolled. The loop's trip count is an argument of an inlined
        function.
        """
        return self.unroll

    @property
    def unroll_loops(self) -> str:
        """Return the line that unrolls the loop after it, also in kernels without vectors."""
        return self.unroll

    @property
    def unroll_twice(self) -> str:
        """Return the line before a long loop that is to be unrolled by 2; "" if the language has no such line."""
        return ""

    @property
    def unroll_few(self) -> str:
        """Return the line before a loop so that a compiler unrolls it by 4; "" if the language has no such line."""
        return ""

    @property
    def unknown_zeros(self) -> str:
        """Return an address of zeros whose values the compiler does not know; "" if no compiler needs them."""
        return ""

    def store_word(self, stream: bool) -> str:
        """Return the macro that stores a vector. stream: true if the store bypasses the caches."""
        self.used.add("stream" if stream else "store")
        return "STREAM" if stream else "STORE"

    def union_word(self, name: str, kind: str, size: int, dtype: str) -> Tuple[str, List[str]]:
        """Return the type of the words in a union `name` of words and elements, and the lines that declare the type.
        kind: the usual type of words of `size` bytes.
        """
        return kind, []

    @property
    def template(self) -> str:
        return f"files/{self.name}.j2"

    @property
    def api(self) -> str:
        """Return the name of the template for the target's part of the API header."""
        return f"files/api_{self.name}.h.j2"

    def launch_bounds(self, threads: int, blocks: int = 0) -> str:
        """Return the attribute that limits a kernel's work-groups. blocks: minimum number of groups per multiprocessor
        (0: the compiler chooses). With 1, the compiler does not spill registers to make more groups fit.
        """
        return ""

    def unrolled(self, lanes: int) -> List[str]:
        """Return the lines before a loop over registers of `lanes` elements."""
        return [self.unroll]

    def product(self, a: str, b: str, dtype: str) -> str:
        """Return C text of a float product that no compiler fuses with a sum, whatever its options."""
        return f"{a} * {b}"

    def hypotenuse(self, a: str, b: str, dtype: str) -> str:
        """Return the square root of the sum of the squares of two floats."""
        return f"{self.math('hypot', dtype)}({a}, {b})"

    def finite(self, text: str, dtype: str, lanes: int) -> "Optional[str]":
        """Return a comparison that is true in lanes with finite values; None: the caller tests the bits instead."""
        return None

    def typed_vector(self, width: int, lanes: int) -> str:
        """Return the attribute that makes a vector type from an element type of `width` bits."""
        return f"vector_size({width // 8 * lanes})"

    def vectors(self) -> "List[Any]":
        """Return the vector types that the file uses and that its template declares."""
        return []

    def atomic(self, op: str, dtype: str, sums_only: bool) -> "Optional[str]":
        """Return the name of the function that atomically combines an element in memory with a value; None if there is
        none. sums_only: true if all results are sums whose error bound allows for flushed subnormals.
        """
        return None

    def memory(self, dtype: str, lanes: int = 1) -> str:
        """Return the C type of an element in memory, or of a vector of elements."""
        return self.register("u8" if dtype in TINY or dtype in NARROW
                             else {"f16": "u16", "bf16": "u16"}.get(dtype, dtype), lanes)

    def register(self, dtype: str, lanes: int = 1) -> str:
        """Return the C type of a value in a register."""
        if dtype in COMPLEX:
            self.used.add(dtype)
            return dtype
        name = self.register_type(dtype)
        if name == "f64":
            self.used.add("double")
        return self.types[name] if lanes == 1 else self.vector(name, lanes)

    def vector(self, dtype: str, lanes: int, word: str = "") -> str:
        """Return the name of a vector type or, if `word` is given, of the function `word` on it."""
        self.used.add(VectorWord(dtype, lanes, word))
        return f"{word}_{VECTOR[dtype]}{lanes}" if word else f"{VECTOR[dtype]}{lanes}"

    def word(self, word: str, dtype: str, lanes: int) -> str:
        """Return the name of the function `word` on the vector type of a register."""
        return self.vector(self.register_type(dtype), lanes, word)

    @staticmethod
    def register_type(dtype: str) -> str:
        """Return the HLO type of the elements that a register of this type holds."""
        return "f32" if dtype in TINY else f"{dtype[0]}8" if dtype in NARROW else {
            "pred": "u8", "f16": "f32", "bf16": "f32"}.get(dtype, dtype)

    def unsigned(self, dtype: str, lanes: int = 1) -> str:
        """Return the unsigned integer type that is as wide as a register of this type."""
        return self.register(f"u{self.register_bits(dtype)}", lanes)

    def signed(self, dtype: str, lanes: int = 1) -> str:
        return self.register(f"s{self.register_bits(dtype)}", lanes)

    @staticmethod
    def register_bits(dtype: str) -> int:
        return 32 if dtype in SMALL or dtype in TINY else bits(dtype)

    @property
    def has_shuffles(self) -> bool:
        return bool(self.shuffle)

    def shuffle_down(self, text: str, dtype: str, distance: str, width: int) -> str:
        """Return the value that the lane `distance` lanes after this one has, within parts of `width` lanes of a warp.
        All lanes of the warp must execute this expression.
        """
        narrow = self.register_bits(dtype) < 32
        shuffled = self.shuffle.format(value=f"(int){text}" if narrow else text, distance=distance, width=width)
        return f"({self.register(dtype)}){shuffled}" if narrow else shuffled

    def space(self, own: bool) -> str:
        """Return the address space of a buffer. own: true for an array of the work-item."""
        return "" if own else self.pointer

    def array(self, dtype: str, read_only: bool, own: bool = False) -> str:
        """Return the type of a kernel's pointer parameter. own: true for an array of the work-item."""
        return f"{self.space(own)}{'const ' if read_only else ''}{self.memory(dtype)} *"

    def reinterpret(self, text: str, source: str, to: str, lanes: int = 1) -> str:
        """Return the bits of a register as another type of the same width."""
        return f"as_{self.register(to)}({text})" if lanes == 1 else f"{self.word('as', to, lanes)}({text})"

    # ---- vectors ----

    def convert(self, dtype: str, lanes: int, text: str) -> str:
        """Return the lanes of a vector converted to another type."""
        return f"{self.word('convert', dtype, lanes)}({text})"

    def splat(self, dtype: str, lanes: int, text: str) -> str:
        """Return a vector with the same scalar, bit by bit, in all lanes."""
        return f"({self.register(dtype, lanes)})({text})"

    def zero(self, lanes: int) -> str:
        """Return C text of a register whose bits are all 0, as an initial value."""
        return "0"

    def choose(self, dtype: str, lanes: int, mask: str, a: str, b: str) -> str:
        """Return a vector that has a's lane if the mask (the result of a comparison) is set, else b's lane."""
        return f"{mask} ? {a} : {b}"

    def any(self, dtype: str, lanes: int, text: str) -> str:
        """Return a C condition that is true if any lane of an integer vector is not 0."""
        return f"any({text} != {self.splat(dtype, lanes, '0')})"

    def compared(self, dtype: str, lanes: int, a: str, sign: str, b: str) -> str:
        """Return the mask of a comparison: -1 in the lanes for which it is true, else 0."""
        return f"({a} {sign} {b})"

    def gather(self, dtype: str, lanes: int, array: str) -> str:
        """Return a vector that is loaded from a C array of its lanes; `scatter` stores it to such an array."""
        return f"vload{lanes}(0, {array})"

    def scatter(self, dtype: str, lanes: int, value: str, array: str) -> Call:
        return Call(f"vstore{lanes}", value, "0", array)

    def math(self, name: str, dtype: str) -> str:
        """Return the name of a math function. name: the function's name for doubles. dtype: the type of its arguments.
        """
        return name if dtype == "f64" else name + "f"

    # ---- the rest ----

    def prefetch(self, word: str, at: str, distance: int, size: int) -> str:
        """Return a prefetch of the cache line `distance` bytes after an element of `size` bytes."""
        self.used.add("prefetch")
        return f"PREFETCH_{word}({at} + {distance // size});"

    @property
    def bursts(self) -> str:
        """Return a C condition that is true on processors on which bursts of prefetches are faster (Intel's)."""
        self.used.add("prefetch")
        return "SETT_BURSTS"

    def parts(self, pattern: int, dtype: str) -> str:
        """Return the initialiser of a complex number, in braces."""
        return f"{{{', '.join(self.literal(part, dtypes.TABLE[dtype].part) for part in dtypes.parts(pattern, dtype))}}}"

    def compound(self, type: str, values: str) -> str:
        """Return a struct value made from an initialiser in braces."""
        return f"({type}){values}"

    def special(self, pattern: int, dtype: str) -> str:
        """Return an infinity or NaN of f32 or f64."""
        number = f"0x{pattern:x}u{self.suffix64[0] if dtype == 'f64' else ''}"
        return self.reinterpret(number, "u64" if dtype == "f64" else "u32", dtype)

    def literal(self, pattern: int, dtype: str) -> str:
        """Return a C constant of the register type with exactly the value of the bit pattern."""
        if dtype in COMPLEX:
            return self.compound(dtype, self.parts(pattern, dtype))
        if dtype in FLOATS:
            wide = "f64" if dtype == "f64" else "f32"
            if dtypes.is_nan(pattern, dtype) or dtypes.is_infinite(pattern, dtype):
                if wide != dtype:
                    pattern = pattern << 16 if dtype == "bf16" else _widen(pattern) if dtype == "f16" else _widen_tiny(
                        pattern, dtype)
                return self.special(pattern, wide)
            number = dtypes.decode_real(pattern, dtype)
            text = dtypes.c_float(dtypes.encode(number, wide), wide)
            return f"({text})" if math.copysign(1, number) < 0 else text
        value = int(dtypes.decode_real(pattern, dtype))
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
    """Return the f32 bit pattern of an infinite or NaN f16."""
    return (pattern & 0x8000) << 16 | 0x7F800000 | (pattern & 0x3FF) << 13


def _widen_tiny(pattern: int, dtype: str) -> int:
    """Return the f32 bit pattern of an infinite or NaN value of an 8-bit type; NaN payloads are kept."""
    kind = dtypes.TABLE[dtype]
    sign = (pattern >> 7 & 1) << 31 if kind.style in ("ieee", "fn") else 0
    return sign | 0x7F800000 | ((pattern & ((1 << kind.mantissa) - 1)) << (23 - kind.mantissa) if kind.style == "ieee"
                                else 0x400000)
