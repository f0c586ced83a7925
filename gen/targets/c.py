"""C11 with the vectors of GNU C. A file also contains the program without vectors, for other compilers."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Dict, FrozenSet, List, Set, Tuple

from gen.schedule import Device
from gen.statements import Call
from gen.targets.runner import Runner
from gen.targets.target import FLOATS, UNSIGNED, VECTOR, Target, VectorWord, bits
from gen.targets.tools import c_compiler, native


class C(Target):
    """C11, with GNU vectors or (`wide` is false) without. Each call of a kernel runs one work-group, whose number is
    the argument `number`.
    """

    def on(self, small: bool) -> Target:
        return EMBEDDED_C if small else self

    def reinterpret(self, text: str, source: str, to: str, lanes: int = 1) -> str:
        if lanes > 1:
            return super().reinterpret(text, source, to, lanes)
        real, number = (side in FLOATS for side in (source, to))
        if real:
            self.used.add(f"{self.register(source)}_bits")
            text = f"bits_of_{self.register(source)}({text})"
            return text if to in UNSIGNED else f"({self.register(to)}){text}"
        if number:
            self.used.add(f"{self.register(to)}_bits")
        return f"{self.register(to)}_of_bits({text})" if number else f"({self.register(to)})({text})"

    def splat(self, dtype: str, lanes: int, text: str) -> str:
        return f"{self.word('splat', dtype, lanes)}({text})"

    def zero(self, lanes: int) -> str:
        return "0" if lanes == 1 else "{0}"

    def choose(self, dtype: str, lanes: int, mask: str, a: str, b: str) -> str:
        return super().choose(dtype, lanes, mask, a,
                              b) if lanes == 1 else f"{self.word('choose', dtype, lanes)}({mask}, {a}, {b})"

    def any(self, dtype: str, lanes: int, text: str) -> str:
        return f"{self.word('any', dtype, lanes)}({text})"

    def compared(self, dtype: str, lanes: int, a: str, sign: str, b: str) -> str:
        if lanes == 1:
            return super().compared(dtype, lanes, a, sign, b)
        self.used.update(["register", "unroll"])
        return f"{self.word(COMPARISONS[sign], dtype, lanes)}({a}, {b})"

    def gather(self, dtype: str, lanes: int, array: str) -> str:
        return f"{self.word('load', dtype, lanes)}({array})"

    def scatter(self, dtype: str, lanes: int, value: str, array: str) -> Call:
        return Call(self.word("store", dtype, lanes), value, array)

    def prefetch(self, word: str, at: str, distance: int, size: int) -> str:
        self.used.add("prefetch")
        return f"PREFETCH_{word}({at}, {distance});"

    def hypotenuse(self, a: str, b: str, dtype: str) -> str:
        """Squares of f32 are exact in f64 and do not overflow. Compilers vectorise this, but do not vectorise hypotf."""
        if dtype != "f32" or self.embedded:
            return super().hypotenuse(a, b, dtype)
        self.used.add("f64_to_f32")
        return f"(float)sqrt((double){a} * {a} + (double){b} * {b})"

    @property
    def unroll_loops(self) -> str:
        self.used.add("unroll_loops")
        return "UNROLL_LOOPS"

    @property
    def unroll_twice(self) -> str:
        self.used.add("unroll_twice")
        return "UNROLL_TWICE"

    @property
    def unroll_few(self) -> str:
        if self.embedded:       # small machines need small code
            return ""
        self.used.add("unroll_few")
        return "UNROLL_FEW"

    @property
    def unknown_zeros(self) -> str:
        if self.embedded:       # only masked loads need the zeros, and compilers for small machines use none
            return ""
        self.used.add("unknown_zeros")
        return "unknown_zeros()"

    def unrolled(self, lanes: int) -> List[str]:
        """Return the line that unrolls a loop, for loops over vectors; scalar loops have none."""
        return [self.unroll] if lanes > 1 else []

    def vectors(self) -> "List[Vector]":
        """Return the vector types that the text uses, and those that the functions on these types need."""
        words: "Dict[Tuple[str, int], Set[str]]" = {}
        for use in self.used:
            if isinstance(use, VectorWord):
                words.setdefault((use.dtype, use.lanes), set()).add(use.word)
                if use.word == "choose" or use.word in COMPARISONS.values():
                    words.setdefault((f"s{bits(use.dtype)}", use.lanes), set())
        vectors = []
        for (dtype, lanes), own in words.items():
            mask = f"s{bits(dtype)}"
            vectors.append(Vector(f"{VECTOR[dtype]}{lanes}", self.types[dtype], lanes, bits(dtype) // 8 * lanes,
                                  f"{VECTOR[mask]}{lanes}", self.types[mask], frozenset(own)))
        return sorted(vectors, key=lambda vector: vector.name)


_C_TYPES = {**{f"s{b}": f"int{b}_t" for b in (8, 16, 32, 64)}, **{f"u{b}": f"uint{b}_t" for b in (8, 16, 32, 64)},
            "f32": "float", "f64": "double"}

_GNU_C = C(name="c", comment="GNU C11", suffix=".c", types=_C_TYPES,
           index={"uint": "uint32_t", "int": "int32_t", "long": "int64_t"}, kernel="static", function="static inline",
           inlined="static inline __attribute__((always_inline))", pointer="", restrict="restrict ",
           constant="static const", group="number", item="0", global_item="", unroll_word="UNROLL", wide=True,
           suffix64=("ll", "ull"), last=", size_t number", vector_test="__GNUC__",
           may_alias=", may_alias", declares_vectors=True, loads_anywhere=True, words=False, vector_functions=False,
           has_rsqrt=False, half_by_bits=True, has_libraries=True, prepares=True,
           local_bytes=16384)
SCALAR_C = replace(_GNU_C, comment="C11", wide=False, inlined="")
# sizes are chosen, not measured
EMBEDDED_C = replace(SCALAR_C, embedded=True, has_libraries=False, prepares=False, local_bytes=2048, alignment=8)
TARGET = replace(_GNU_C, plain=SCALAR_C)

COMPARISONS = {"<": "less", ">": "greater", "<=": "at_most", ">=": "at_least", "==": "equal", "!=": "unequal"}


@dataclass(frozen=True)
class Vector:
    """A vector type of a file in GNU C.

    element, lanes, bytes: type and number of its elements, and its size.
    mask, mask_element: the vector type of its comparisons, and that type's element.
    words: the names of the functions on this vector type, if the text uses them.
    """

    name: str
    element: str
    lanes: int
    bytes: int
    mask: str
    mask_element: str
    words: FrozenSet[str]

    @property
    def halves(self) -> "List[int]":
        """Return the sizes, in bytes, of half the vector, a quarter of it and so on, down to 16."""
        sizes = [self.bytes]
        while sizes[-1] > 16:
            sizes.append(sizes[-1] // 2)
        return sizes[1:]

    @property
    def comparisons(self) -> "List[Tuple[str, str]]":
        """Return (name, operator) for each comparison that the text uses."""
        return [(word, sign) for sign, word in COMPARISONS.items() if word in self.words]


INTRINSICS = "#include <immintrin.h>\n"


class _OnCpu(Runner):
    """The runner of C on this machine's CPU. The harness' threads share the work-groups of each kernel; the number of
    threads depends on the kernel's work. The environment variable SETT_LEVEL replaces -O3: tests that only compare
    values compile with less optimisation, and with warnings.
    """

    name, target, template = "c", TARGET, "files/harness_c.j2"
    missing = {"-llapack": "the LAPACK library is missing"}

    def compile(self, folder: Path, name: str, long: bool, device: Device) -> List[str]:
        level = os.environ.get("SETT_LEVEL", "-O3").split()
        return [c_compiler(), "-std=c11", *level, *(["-O1"] if long else []), *native(), "-fno-math-errno", "-fPIC",
                "-Werror=implicit-function-declaration", "-I", str(folder), "-c"]

    def slow_header(self, about: "Dict[str, Any]") -> "Tuple[str, int]":
        return INTRINSICS if about.get("intrinsics") else "", 0


RUNNERS = [_OnCpu()]
