"""What a target is: the words in which languages differ, and the text of types, literals, loads and stores.

A value in a register has the type of its arithmetic: f16, bf16 and the tiny types (f8, f4) are floats that hold a value
of the type, pred is a byte of 0 or 1, s4, u4, s2 and u2 are bytes that hold a value of the type, c64 and c128 are
structs of two floats. `lanes` is 1 for a scalar; else a value is one vector of that many lanes: OpenCL's, or GNU C's
under the same name. What OpenCL says of vectors by operators, conversions and vloadn, GNU C says by small words with a
type's name in them (`splat_float16`), which templates/files/c.j2 defines where they are used.
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
COMPLEX = ("c64", "c128")             # a struct of two floats, always scalar
NARROW = ("s2", "u2", "s4", "u4")     # in registers a byte that holds a value of theirs
INTEGERS = SIGNED + UNSIGNED
# Names of vectors, before their lanes.
VECTOR = {"s8": "char", "u8": "uchar", "s16": "short", "u16": "ushort", "s32": "int", "u32": "uint", "s64": "long",
          "u64": "ulong", "f32": "float", "f64": "double"}


def bits(dtype: str) -> int:
    return 8 * dtypes.storage_bytes(dtype)


class VectorWord(NamedTuple):
    """A vector type, or (word: not empty) one of the words that are functions of it: as, convert, splat, .."""

    dtype: str
    lanes: int
    word: str = ""


@dataclass(frozen=True)
class Target:
    """One language, and what its kernels run on. Each target is a file here that makes one of these, with methods of
    its own where words do not do.

    types: element types in memory. index: the index types of the algebra. wide: whether it has vectors. suffix: of a
    generated file. template: what writes the file around the kernels.
    """

    name: str
    comment: str
    types: Dict[str, str]
    index: Dict[str, str]
    suffix: str
    kernel: str                       # what stands before a kernel
    function: str                     # and before a function that kernels call
    pointer: str                      # the address space of a buffer
    restrict: str
    constant: str                     # what stands before a table
    group: str                        # the number of a work-group, and of a work-item in it
    item: str
    global_item: str                  # the number of a work-item of all groups; "": one call is a group
    unroll_word: str
    wide: bool
    suffix64: Tuple[str, str]         # of literals of 64 bits, signed and unsigned
    external: str = ""                # what stands before `kernel` where other files may call it by its name
    last: str = ""                    # what follows a kernel's pointers
    inlined: str = ""                 # before a function that takes registers as arrays, which calls would put in memory
    shared: str = ""    # what stands before an array that a work-group shares, and where its work-items meet: GPUs
    shared_pointer: str = ""          # the address space of such an array, before what a pointer to it points to
    aligned: str = "__attribute__((aligned({bytes})))"     # of an array that begins at a multiple of so many bytes
    barrier: str = ""
    memory_barrier: str = ""          # the same where they also wait for what others read and write in buffers
    shared_bytes: int = 0             # that any work-group may have
    # what a lane of a warp reads of the one that is {distance} on in its part of {width} lanes; "": not in this
    # language
    shuffle: str = ""
    vector_test: str = ""             # the macro of compilers that have vectors of any length
    may_alias: str = ""               # what an attribute says so that a pointer to a vector may point to elements
    longest_vector: int = 0           # lanes of the longest vector type that the language names
    declares_vectors: bool = False    # whether the template of the file defines the vector types that it uses
    # whether vectors are loaded from and stored to any element by the language's own words
    loads_anywhere: bool = False
    words: bool = True                # whether several elements are loaded as one word of a union
    # whether a call chooses, by the alignment of its pointers, how a kernel accesses words: as such, or by elements
    chooses_words: bool = False
    takes_pointers: bool = True       # whether a program's function takes pointers, not objects of a runtime
    vector_functions: bool = True     # whether the library's functions take vectors
    has_rsqrt: bool = True
    has_remainder: bool = True        # whether the library's remainder of doubles is exact
    integer_functions: bool = False   # max, min, abs of integers, scalars and vectors
    shifts_modulo: bool = False       # whether a shift by the width or more is by the amount modulo the width
    zeros: int = 256                  # at `unknown_zeros`
    half_by_bits: bool = False        # whether conversions of f16 are written out in integers
    # else {x} from an f16's bits to a float, and a float, or a double, to them ("": through memory)
    half_value: str = "vload_half(0, (const half *)&{x})"
    half_bits: str = ""
    half_narrowed: str = ""
    atomic_bits: int = 0              # of the widest word that atomic operations take; 0: none
    atomic_space: str = ""            # what stands before the type that a pointer for them points to
    compare_and_swap: str = ""        # their function (word, expected, new), which gives what was there
    atomic_read: str = ""             # the value of `word` where others may write it
    block_chains: bool = False        # whether a small loop is one kernel of one block of threads
    chains: bool = False              # whether small kernels are chained in one launch (gen/program/chains.py)
    matrix_instructions: bool = False  # whether kernels have PTX's mma, ldmatrix and cp.async
    prepares: bool = False            # whether NAME_prepare computes what depends on the weights alone
    has_libraries: bool = False       # whether kernels may call functions of the host's libraries
    alignment: int = 64               # bytes, of arrays in a block: what devices may ask for, of a sub-buffer in OpenCL
    scratch_in_results: bool = True   # whether they may lie in the buffers of results that are written later
    local_bytes: int = 0              # of small arrays of a program that are variables of its function
    headers: Tuple[str, ...] = ()     # of a GPU's runtime, and of its f16
    api_headers: Tuple[str, ...] = ()  # of what the header of a fusion says of its file
    # the line by which a file says that no product is fused with a sum, where `product` does not say so
    unfused: str = ""
    flushes: bool = False             # whether sums by atomic operations lose subnormals of f32
    plain: "Optional[Target]" = None  # the same without vectors, where the file has a program for such compilers too
    embedded: bool = False            # whether files are for small machines: no words of a compiler, no threads
    # of one file: bytes of its kernels' arrays on the stack
    rooms: "List[int]" = field(default_factory=list, compare=False, repr=False)
    # of one file: what its text uses, and its template declares
    used: "Set[Union[str, VectorWord]]" = field(default_factory=set, compare=False, repr=False)

    def of_file(self, used: "Iterable[Union[str, VectorWord]]" = ()) -> "Target":
        """The same target for one file: `used` and `rooms` are its own."""
        return replace(self, used=set(used), rooms=[])

    def on(self, small: bool) -> "Target":
        """The language that is written for small machines, or for all others."""
        return self

    def room(self, type: str, count: int, times: int = 1) -> int:
        """The number of elements in the declaration of an array on the stack, which is counted. times: number of such
        arrays."""
        widths = {name: bits(dtype) // 8 for dtype, name in self.types.items()}
        self.rooms.append(widths.get(type, 16) * max(1, count) * times)
        return count

    def of_functions(self) -> "Target":
        """The same for the file's kernels that are functions: `number` is the group that a call does."""
        if self.last:
            return self
        item = self.item if self.block_chains else "0"
        return replace(self, external="", kernel=self.function, group="number", item=item, global_item="number",
                       last=", size_t number")

    def head(self, words: bool) -> str:
        """What stands before a kernel. words: whether it accesses words of several elements."""
        return self.external + self.kernel

    def of_chain(self, name: str, words: bool) -> str:
        """The function that a chain calls for a kernel of that name. words: as for `head`."""
        return name

    def word_load(self, to: str, kind: str, at: str, number: int = 0) -> "Union[Assign, Call]":
        """The statement that loads a word of several elements: of those from the address `at` on, the one of that
        number. kind: its type."""
        return Assign(to, self._word(f"const {self.pointer}{kind}", at, number))

    def word_store(self, value: str, kind: str, at: str, number: int = 0) -> "Union[Assign, Call]":
        """The statement that stores such a word."""
        return Assign(self._word(f"{self.pointer}{kind}", at, number), value)

    @staticmethod
    def _word(kind: str, at: str, number: int) -> str:
        return f"*(({kind} *)({at}) + {number})" if number else f"*({kind} *)({at})"

    @property
    def unroll(self) -> str:
        """The word before a loop that is to be unrolled."""
        self.used.add("unroll")
        return self.unroll_word

    @property
    def counted_function(self) -> str:
        """The words before a function that is inlined, whose arguments are the counts of its loops."""
        return self.inlined

    @property
    def unroll_counted(self) -> str:
        """The word before such a loop."""
        return self.unroll

    @property
    def unroll_loops(self) -> str:
        """The word before a loop that is to be unrolled, in kernels without vectors too."""
        return self.unroll

    @property
    def unroll_twice(self) -> str:
        """The word before a loop of many steps that does two steps at once; "" where there is none."""
        return ""

    @property
    def unroll_few(self) -> str:
        """The word before a loop that does four steps at once; "" where there is none."""
        return ""

    @property
    def unknown_zeros(self) -> str:
        """The address of zeros that the compiler does not know; "" where no compiler needs it."""
        return ""

    def store_word(self, stream: bool) -> str:
        """The macro that stores a vector, past the caches or as any other."""
        self.used.add("stream" if stream else "store")
        return "STREAM" if stream else "STORE"

    def union_word(self, name: str, kind: str, size: int, dtype: str) -> Tuple[str, List[str]]:
        """The type of the words of `size` bytes in the union `name` of elements, and the lines that declare it. kind:
        the word of that size that all have."""
        return kind, []

    @property
    def template(self) -> str:
        return f"files/{self.name}.j2"

    @property
    def api(self) -> str:
        """The template of what the header of a fusion says of its file."""
        return f"files/api_{self.name}.h.j2"

    def launch_bounds(self, threads: int, blocks: int = 0) -> str:
        """What a kernel's declaration says of its work-groups. blocks: number of them that a processor has at least (0:
        the compiler's choice); with 1, registers are not spilt to make room for more."""
        return ""

    def unrolled(self, lanes: int) -> List[str]:
        """The line before a loop over registers of `lanes` elements that is to be unrolled."""
        return [self.unroll]

    def product(self, a: str, b: str, dtype: str) -> str:
        """A product of floats that no compiler fuses with a sum, whatever its flags."""
        return f"{a} * {b}"

    def finite(self, text: str, dtype: str, lanes: int) -> "Optional[str]":
        """Whether the lanes of a vector are finite, as a comparison; None: by their bits."""
        return None

    def typed_vector(self, width: int, lanes: int) -> str:
        """The attribute that makes a vector of an element type."""
        return f"vector_size({width // 8 * lanes})"

    def vectors(self) -> "List[Any]":
        """The vector types that the text of the file uses and its template declares."""
        return []

    def atomic(self, op: str, dtype: str, sums_only: bool) -> "Optional[str]":
        """The function that combines an element in memory with a value by an op; None: there is none. sums_only: all
        results are sums of the kind whose bound knows that subnormals may be lost."""
        return None

    def memory(self, dtype: str, lanes: int = 1) -> str:
        """The type of an element in memory, or of that many."""
        return self.register("u8" if dtype in TINY or dtype in NARROW
                             else {"f16": "u16", "bf16": "u16"}.get(dtype, dtype), lanes)

    def register(self, dtype: str, lanes: int = 1) -> str:
        """The type of a value in a register."""
        if dtype in COMPLEX:
            self.used.add(dtype)
            return dtype
        name = self.register_type(dtype)
        if name == "f64":
            self.used.add("double")
        return self.types[name] if lanes == 1 else self.vector(name, lanes)

    def vector(self, dtype: str, lanes: int, word: str = "") -> str:
        """The name of a vector type, or of a word that is a function of it."""
        self.used.add(VectorWord(dtype, lanes, word))
        return f"{word}_{VECTOR[dtype]}{lanes}" if word else f"{VECTOR[dtype]}{lanes}"

    def word(self, word: str, dtype: str, lanes: int) -> str:
        """The name of a word that is a function of a register's vector type."""
        return self.vector(self.register_type(dtype), lanes, word)

    @staticmethod
    def register_type(dtype: str) -> str:
        """The element type of a register."""
        return "f32" if dtype in TINY else f"{dtype[0]}8" if dtype in NARROW else {
            "pred": "u8", "f16": "f32", "bf16": "f32"}.get(dtype, dtype)

    def unsigned(self, dtype: str, lanes: int = 1) -> str:
        """The unsigned integer as wide as a register of that type."""
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
        """A register of the lane that is `distance` on, in parts of `width` lanes of a warp. All lanes of the warp must
        get here."""
        narrow = self.register_bits(dtype) < 32
        shuffled = self.shuffle.format(value=f"(int){text}" if narrow else text, distance=distance, width=width)
        return f"({self.register(dtype)}){shuffled}" if narrow else shuffled

    def space(self, own: bool) -> str:
        """The address space of a buffer. own: of an array of the work-item."""
        return "" if own else self.pointer

    def array(self, dtype: str, read_only: bool, own: bool = False) -> str:
        """The type of a kernel's pointer parameter. own: as for `space`."""
        return f"{self.space(own)}{'const ' if read_only else ''}{self.memory(dtype)} *"

    def reinterpret(self, text: str, source: str, to: str, lanes: int = 1) -> str:
        """The bits of a register taken as another type of the same width."""
        return f"as_{self.register(to)}({text})" if lanes == 1 else f"{self.word('as', to, lanes)}({text})"

    # ---- vectors ----

    def convert(self, dtype: str, lanes: int, text: str) -> str:
        """The lanes of a vector as values of another type."""
        return f"{self.word('convert', dtype, lanes)}({text})"

    def splat(self, dtype: str, lanes: int, text: str) -> str:
        """A scalar in all lanes, bit by bit."""
        return f"({self.register(dtype, lanes)})({text})"

    def zero(self, lanes: int) -> str:
        """What a register starts from: all bits 0."""
        return "0"

    def choose(self, dtype: str, lanes: int, mask: str, a: str, b: str) -> str:
        """Lane by lane a where the mask (a comparison) is set, else b."""
        return f"{mask} ? {a} : {b}"

    def any(self, dtype: str, lanes: int, text: str) -> str:
        """Whether any lane of a vector of integers is not 0."""
        return f"any({text} != {self.splat(dtype, lanes, '0')})"

    def compared(self, dtype: str, lanes: int, a: str, sign: str, b: str) -> str:
        """A mask of vectors: -1 in the lanes where it is true."""
        return f"({a} {sign} {b})"

    def gather(self, dtype: str, lanes: int, array: str) -> str:
        """A vector from an array of its lanes; `scatter`, the way back."""
        return f"vload{lanes}(0, {array})"

    def scatter(self, dtype: str, lanes: int, value: str, array: str) -> Call:
        return Call(f"vstore{lanes}", value, "0", array)

    def math(self, name: str, dtype: str) -> str:
        """A function of the language's library, by its name for doubles; `dtype`: what it takes."""
        return name if dtype == "f64" else name + "f"

    # ---- the rest ----

    def prefetch(self, word: str, at: str, distance: int, size: int) -> str:
        """A prefetch, `distance` bytes on from an element of `size` bytes."""
        self.used.add("prefetch")
        return f"PREFETCH_{word}({at} + {distance // size});"

    @property
    def bursts(self) -> str:
        """Whether the processor is one on which bursts of prefetches pay (Intel's): a condition."""
        self.used.add("prefetch")
        return "SETT_BURSTS"

    def parts(self, pattern: int, dtype: str) -> str:
        """What a complex number's struct is initialised with."""
        return f"{{{', '.join(self.literal(part, dtypes.TABLE[dtype].part) for part in dtypes.parts(pattern, dtype))}}}"

    def compound(self, type: str, values: str) -> str:
        """A struct of values in braces."""
        return f"({type}){values}"

    def special(self, pattern: int, dtype: str) -> str:
        """An infinity or NaN of f32 or f64."""
        number = f"0x{pattern:x}u{self.suffix64[0] if dtype == 'f64' else ''}"
        return self.reinterpret(number, "u64" if dtype == "f64" else "u32", dtype)

    def literal(self, pattern: int, dtype: str) -> str:
        """A constant of the register type that holds exactly the value of a bit pattern."""
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
    """The f32 pattern of an infinite or NaN f16."""
    return (pattern & 0x8000) << 16 | 0x7F800000 | (pattern & 0x3FF) << 13


def _widen_tiny(pattern: int, dtype: str) -> int:
    """The f32 pattern of an infinite or NaN value of a type of 8 bits; payloads are kept."""
    kind = dtypes.TABLE[dtype]
    sign = (pattern >> 7 & 1) << 31 if kind.style in ("ieee", "fn") else 0
    return sign | 0x7F800000 | ((pattern & ((1 << kind.mantissa) - 1)) << (23 - kind.mantissa) if kind.style == "ieee"
                                else 0x400000)
